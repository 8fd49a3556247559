"""Which hyperparameters are free, and how they become any real numbers, and back."""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.system import Params, RatingSystem
from jaxrate.text_format import suggest_name
from jaxrate.types import Array, HostArray

SPACE_TRANSFORMS: dict[
    str, tuple[Callable[[float], float], Callable[[Array], Array]]
] = {  # to any real number, and back
    "real": (lambda x: x, lambda x: x),
    "positive": (math.log, jnp.exp),
    "unit": (lambda x: math.log(x / (1.0 - x)), jax.nn.sigmoid),
}


class FreeParameters(NamedTuple):
    """How free parameters, which may be any number, become those of the system."""

    names: tuple[str, ...]
    spaces: tuple[str, ...]  # "real" | "positive" | "unit" of each, or "above" | "below" its anchors
    anchors: tuple[tuple[str | float, ...], ...]  # what each bound, or what has a least value, lies above or below
    kept: tuple[tuple[str, str, str], ...]  # (bound, parameter, "moves" | "max" | "min"): how bounds not freed give way


def constrain(free: FreeParameters, x: Array, unit: Array, params: Params) -> Params:
    """The hyperparameters of x [k]: `unit` x, exp x, or 1 / (1 + exp -x); or exp(+-exp x) times an anchor."""
    for i, (name, kind) in enumerate(zip(free.names, free.spaces, strict=True)):
        if kind in SPACE_TRANSFORMS:
            params = params._replace(**{name: SPACE_TRANSFORMS[kind][1](x[i]) * unit[i]})
    for i, (name, kind) in enumerate(zip(free.names, free.spaces, strict=True)):
        if kind not in SPACE_TRANSFORMS:
            ends = (getattr(params, y) if isinstance(y, str) else jnp.asarray(y, float) for y in free.anchors[i])
            anchor = reduce(jnp.maximum if kind == "above" else jnp.minimum, ends)
            params = params._replace(**{name: anchor * jnp.exp((1.0 if kind == "above" else -1.0) * jnp.exp(x[i]))})
    keep: dict[str, Any] = {"moves": lambda bound, value: value, "max": jnp.maximum, "min": jnp.minimum}
    for bound, name, how in free.kept:
        params = params._replace(**{bound: keep[how](getattr(params, bound), getattr(params, name))})
    return params


def make_free_parameters(system: RatingSystem, names: tuple[str, ...]) -> tuple[FreeParameters, HostArray]:
    """How parameters become free, and where they start [k]."""
    params, space = system.params, system.space
    anchors: dict[str, tuple[str | float, ...]] = {}
    above: set[str] = set()  # those that lie above their anchors
    kept = []
    for name in names:
        if least := getattr(space, name).least:
            anchors[name] = (least,)
            above.add(name)
    for name in params._fields:
        for bound, how in _active_bounds(system, name):
            apart = getattr(params, bound) != getattr(params, name)
            if bound in names:
                if not apart:
                    raise ValueError(
                        f"{system.name}: {bound} starts at {name}, the border of its space; start it apart"
                    )
                anchors[bound] = (*anchors.get(bound, ()), name)
                if how == "max":
                    above.add(bound)
            elif name in names:
                kept.append((bound, name, how if apart else "moves"))
    spaces, start = [], []
    for name in names:
        value, kind = float(getattr(params, name)), getattr(space, name).space
        if name in anchors:
            ends = [y if isinstance(y, float) else float(getattr(params, y)) for y in anchors[name]]
            kind = "above" if name in above else "below"
            start.append(math.log(math.log(value / max(ends) if kind == "above" else min(ends) / value)))
        else:
            start.append(SPACE_TRANSFORMS[kind][0](value))
        spaces.append(kind)
    return FreeParameters(names, tuple(spaces), tuple(anchors.get(x, ()) for x in names), tuple(kept)), np.array(start)


def resolve_free_names(system: RatingSystem, free: Sequence[str] | None) -> tuple[str, ...]:
    """Those to be freed; ValueError for one that cannot be."""
    fields, space = system.params._fields, system.space
    if free is None:
        bounds = {bound for x in fields for bound, _ in _active_bounds(system, x)}
        return tuple(x for x in fields if x not in bounds and not _unfittable_reason(system, x))
    for name in free:
        if name not in fields:
            can = ", ".join(x for x in fields if getattr(space, x).fitted)
            raise ValueError(f"{system.name} has no parameter {name!r}{suggest_name(name, fields)} (it can fit {can})")
        if why := _unfittable_reason(system, name):
            raise ValueError(f"{system.name}: {name} {why}")
    if len(set(free)) < len(free):
        raise ValueError(f"free names a parameter twice: {', '.join(free)}")
    return tuple(free)


def _unfittable_reason(system: RatingSystem, name: str) -> str:
    """Why a parameter cannot be freed, or nothing."""
    value, about = getattr(system.params, name), getattr(system.space, name)
    if not about.fitted:
        return f"is fixed ({about.meaning}, {about.unit}) and is not fitted by slopes; compare values of it by `sweep`"
    if value is None:
        return "is switched off; give the system a value to start from"
    inside = {"positive": about.least < value < math.inf, "unit": 0.0 < value < 1.0, "real": math.isfinite(value)}
    if not inside[about.space]:
        return f"starts at {value:g}, the border of its space, which no step can leave; start from a value inside"
    return ""


def _active_bounds(system: RatingSystem, name: str) -> list[tuple[str, str]]:
    """The bounds, in use, of a parameter, with how each keeps to it."""
    pairs = zip(getattr(system.space, name).bounds, ("min", "max"), strict=True)
    return [(x, how) for x, how in pairs if x is not None and getattr(system.params, x) is not None]
