"""The hyperparameters of BlatMMR, with those of functions of one's own."""

from collections import namedtuple
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from jaxrate.parameters import ANY, POSITIVE, SIDE_ADVANTAGE, UNIT_INTERVAL, Parameter
from jaxrate.systems.blat_mmr.function_arguments import FunctionArguments
from jaxrate.types import Array


class Params(NamedTuple):
    beta: float | Array
    prior_mean: float | Array
    prior_deviation: float | Array
    kernel_width: float | Array
    side_advantage: float | Array
    temperature: float | Array


SPACE = Params(
    beta=Parameter("unit", UNIT_INTERVAL, "share", "share of the result that is not luck"),
    prior_mean=Parameter("real", ANY, "strength", "mean of a newcomer's belief"),
    prior_deviation=Parameter("positive", POSITIVE, "strength", "deviation of a newcomer's belief"),
    kernel_width=Parameter(
        "positive", POSITIVE, "strength", "how far a belief spreads per match (or sqrt of unit time)"
    ),
    side_advantage=SIDE_ADVANTAGE,
    temperature=Parameter("positive", POSITIVE, "factor", "scale of the luck function: F(x / temperature, ...)"),
)


@cache
def make_params_class(names: tuple[str, ...]) -> Any:
    """`Params` with further fields: one class for the same names, which pickles."""
    if not names:
        return Params
    plain = namedtuple("Params", (*Params._fields, *names))  # type: ignore[misc]
    return type("Params", (plain,), {"__slots__": (), "__reduce__": _reduce_params})


def _reduce_params(params: Any) -> Any:
    return _restore_params, (params._fields[len(Params._fields) :], tuple(params))


def _restore_params(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return make_params_class(names)(*values)


def extend_params(
    base_values: tuple[Any, ...],
    functions: Iterable[FunctionArguments],
    overrides: Mapping[str, Any],
    reserved_names: Collection[str],
) -> tuple[Any, Any]:
    """Hyperparameters and their space, those of functions after the `base_values` ones.

    `overrides` holds other values than the defaults. Functions may share a name, whose default is then that of the
    first.

    Raises:
      ValueError: if a function has a name that the system knows.
    """
    added: dict[str, tuple[float, Parameter]] = {}
    for function in functions:
        for name, value, about in zip(*function[1:], strict=True):
            if name in reserved_names:
                raise ValueError(f"blat_mmr: {about.meaning} has the name of something else; rename it")
            added.setdefault(name, (value, about))
    kind = make_params_class(tuple(added))
    values = (overrides.get(name, value) for name, (value, _) in added.items())
    return kind(*base_values, *values), kind(*SPACE, *(about for _, about in added.values()))
