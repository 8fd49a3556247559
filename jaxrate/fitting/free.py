"""Hyperparameters as any real numbers, and back."""

from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.events import Array
from jaxrate.system import Params


class Free(NamedTuple):
    """How free parameters, which may be any number, become those of the system."""

    names: tuple[str, ...]
    spaces: tuple[str, ...]  # "real" | "positive" | "unit" of each, or "above" | "below" its anchors
    anchors: tuple[tuple[str | float, ...], ...]  # what each bound, or what has a least value, lies above or below
    kept: tuple[tuple[str, str, str], ...]  # (bound, parameter, "moves" | "max" | "min"): how bounds not freed give way


def constrain(free: Free, x: Array, unit: Array, params: Params) -> Params:
    """The hyperparameters of x [k]: `unit` x, exp x, or 1 / (1 + exp -x); or exp(+-exp x) times an anchor."""
    space: dict[str, Any] = {"real": lambda x: x, "positive": jnp.exp, "unit": jax.nn.sigmoid}
    for i, (name, kind) in enumerate(zip(free.names, free.spaces, strict=True)):
        if kind in space:
            params = params._replace(**{name: space[kind](x[i]) * unit[i]})
    for i, (name, kind) in enumerate(zip(free.names, free.spaces, strict=True)):
        if kind not in space:
            ends = (getattr(params, y) if isinstance(y, str) else jnp.asarray(y, float) for y in free.anchors[i])
            anchor = reduce(jnp.maximum if kind == "above" else jnp.minimum, ends)
            params = params._replace(**{name: anchor * jnp.exp((1.0 if kind == "above" else -1.0) * jnp.exp(x[i]))})
    keep: dict[str, Any] = {"moves": lambda bound, value: value, "max": jnp.maximum, "min": jnp.minimum}
    for bound, name, how in free.kept:
        params = params._replace(**{bound: keep[how](getattr(params, bound), getattr(params, name))})
    return params
