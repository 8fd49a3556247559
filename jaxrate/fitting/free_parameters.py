"""Free hyperparameters: which they are, and their transformation to unbounded real numbers and back."""

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import did_you_mean_suffix

SPACE_TRANSFORMS: dict[str, tuple[Callable[[float], float], Callable[[Array], Array]]] = {  # to a real number, and back
    "real": (lambda x: x, lambda x: x),
    "positive": (math.log, jnp.exp),
    "unit": (lambda x: math.log(x / (1.0 - x)), jax.nn.sigmoid),
}


class FreeParameterTransform(NamedTuple):
    """The transformation of unbounded free parameters into hyperparameters of the system."""

    names: tuple[str, ...]
    spaces: tuple[str, ...]  # "real" | "positive" | "unit" of each, or "above" | "below" its anchors
    anchors: tuple[tuple[str | float, ...], ...]  # the parameters or least value that each lies above or below
    dependent_bounds: tuple[tuple[str, str, str], ...]  # bounds that are not free: of which, "moves" | "max" | "min"


class ParameterSettings(NamedTuple):
    """Settings of hyperparameters at which losses are computed."""

    free: FreeParameterTransform
    x: Any  # [S, k] the free parameters of each setting
    params: Params  # leaves [S], the others


@partial(jax.jit, static_argnums=0)
def to_hyperparameters(free: FreeParameterTransform, x: Array, params: Params) -> Params:
    """The hyperparameters of x [k]: x, exp x, or 1 / (1 + exp -x); or exp(+-exp x) times an anchor."""
    combine: dict[str, Any] = {"moves": lambda bound, value: value, "max": jnp.maximum, "min": jnp.minimum}
    anchored = [kind not in SPACE_TRANSFORMS for kind in free.spaces]
    for i in np.argsort(anchored, kind="stable"):  # anchors first
        name, kind = free.names[i], free.spaces[i]
        if anchored[i]:
            anchors = [getattr(params, y) if isinstance(y, str) else jnp.asarray(y, float) for y in free.anchors[i]]
            anchor = reduce(jnp.maximum if kind == "above" else jnp.minimum, anchors)
            value = anchor * jnp.exp(jnp.exp(x[i]) if kind == "above" else -jnp.exp(x[i]))
        else:
            value = SPACE_TRANSFORMS[kind][1](x[i])
        params = params._replace(**{name: value})
    for bound, name, rule in free.dependent_bounds:
        params = params._replace(**{bound: combine[rule](getattr(params, bound), getattr(params, name))})
    return params


def make_free_parameters(system: RatingSystem, names: tuple[str, ...]) -> tuple[FreeParameterTransform, HostArray]:
    """The transformation of these parameters, and their starting values [k]."""
    spaces: dict[str, str] = {}
    anchors: dict[str, tuple[str | float, ...]] = {}
    for name in names:
        kind = getattr(system.space, name)
        spaces[name], anchors[name] = ("above", (kind.least,)) if kind.least else (kind.space, ())
    dependent_bounds = []
    for name, bound, rule in _list_bounds_in_use(system):
        differs = getattr(system.params, bound) != getattr(system.params, name)
        if bound in names and not differs:
            raise ValueError(f"{system.name}: {bound} starts at {name}, the border of its space; start it apart")
        if bound in names:
            spaces[bound], anchors[bound] = {"max": "above", "min": "below"}[rule], (*anchors[bound], name)
        elif name in names:
            dependent_bounds.append((bound, name, rule if differs else "moves"))
    start = [_start_in_space(system.params, name, spaces[name], anchors[name]) for name in names]
    of_names = tuple(spaces.values()), tuple(anchors.values())
    return FreeParameterTransform(names, *of_names, tuple(dependent_bounds)), np.array(start)


def hold_parameter(system: RatingSystem, name: str, value: Any) -> Params:
    """The parameters of a system with another value of one, with which bounds that equal it move."""
    params = system.params
    bounds = [y for x, y, _ in _list_bounds_in_use(system) if x == name and getattr(params, x) == getattr(params, y)]
    return params._replace(**dict.fromkeys([name, *bounds], value))


def _start_in_space(params: Params, name: str, kind: str, anchors: tuple[str | float, ...]) -> float:
    """The value of a parameter as an unbounded number, the inverse of `to_hyperparameters`."""
    value = float(getattr(params, name))
    if kind in SPACE_TRANSFORMS:
        return SPACE_TRANSFORMS[kind][0](value)
    anchor_values = [x if isinstance(x, float) else float(getattr(params, x)) for x in anchors]
    ratio = value / max(anchor_values) if kind == "above" else min(anchor_values) / value
    return math.log(math.log(ratio))


def resolve_free_names(system: RatingSystem, free: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the free parameters; ValueError for one that cannot be fitted."""
    fields = system.params._fields
    if free is None:
        bounds = {bound for _, bound, _ in _list_bounds_in_use(system)}
        return tuple(x for x in fields if x not in bounds and not _unfittable_reason(system, x))
    free = (free,) if isinstance(free, str) else tuple(free)
    for name in free:
        if name not in fields:
            raise ValueError(_unknown_parameter_message(system, name))
        if reason := _unfittable_reason(system, name):
            raise ValueError(f"{system.name}: {name} {reason}")
    if len(set(free)) < len(free):
        raise ValueError(f"free names a parameter twice: {', '.join(free)}")
    return tuple(free)


def _unknown_parameter_message(system: RatingSystem, name: Any) -> str:
    """A message that a system has no parameter of this name, with the names that may be meant."""
    fields = system.params._fields
    fittable = ", ".join(x for x in fields if getattr(system.space, x).fitted)
    several = name.replace(",", " ").split() if isinstance(name, str) else []
    hint = f"; name several as free={several}" if len(several) > 1 else did_you_mean_suffix(name, fields)
    return f"{system.name} has no parameter {name!r}{hint} (it can fit {fittable})"


def _unfittable_reason(system: RatingSystem, name: str) -> str:
    """Why a parameter cannot be fitted; "" if it can."""
    value, parameter = getattr(system.params, name), getattr(system.space, name)
    if not parameter.fitted:
        about = f"is fixed ({parameter.meaning}, {parameter.unit}) and is not fitted by slopes"
        return f"{about}; try values of it with `sweep_parameters`"
    if value is None:
        return "is switched off; give the system a value to start from"
    inside = {"positive": parameter.least < value < math.inf, "unit": 0.0 < value < 1.0, "real": math.isfinite(value)}
    if not inside[parameter.space]:
        return f"starts at {value:g}, the border of its space, which no step can leave; start from a value inside"
    return ""


def _list_bounds_in_use(system: RatingSystem) -> list[tuple[str, str, str]]:
    """The parameters that have bounds in use, each with its bound and the rule of that, "min" or "max"."""
    return [
        (name, bound, rule)
        for name in system.params._fields
        for bound, rule in zip(getattr(system.space, name).bounds, ("min", "max"), strict=True)
        if bound is not None and getattr(system.params, bound) is not None
    ]
