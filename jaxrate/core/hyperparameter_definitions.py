"""Hyperparameters: range, unit and meaning, as factories of systems declare them.

Hyperparameters as the signature of a factory has them. Class, space, checks and documentation follow from it.

    @system_factory
    def elo(*, k: Annotated[float, Parameter(NOT_NEGATIVE, "points", "largest change")] = 32.0):
        params, space = collect_params(elo, locals())

A factory is the function that makes a system.
"""

import math
import re
from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from inspect import cleandoc, get_annotations
from itertools import pairwise
from textwrap import fill
from typing import Any, NamedTuple, get_args

from jaxrate.core.argument_checks import check_not_traced, is_number
from jaxrate.core.text_format import format_value_for_error

RELATIVE_TOLERANCE = 1e-6  # relative: of numbers in float32


class HyperparameterRange(NamedTuple):
    """Which values a hyperparameter may have, and how people say that."""

    text: str
    low: float = -math.inf
    high: float = math.inf
    above: bool = False  # `low` itself is not allowed
    below: bool = False  # `high` itself is not allowed
    whole: bool = False
    allows_inf: bool = False  # inf is allowed
    optional: bool = False  # None is allowed: the parameter is then switched off

    def allows(self, x: float) -> bool:
        """Whether a number lies within."""
        if not (math.isfinite(x) or (self.allows_inf and x == math.inf)):
            return False
        ends = (self.low < x if self.above else self.low <= x) and (x < self.high if self.below else x <= self.high)
        return ends and not (self.whole and x % 1)

    def __str__(self) -> str:
        return self.text


ANY = HyperparameterRange("any number")
POSITIVE = HyperparameterRange("> 0", low=0.0, above=True)
NOT_NEGATIVE = HyperparameterRange(">= 0", low=0.0)
MAYBE_ANY = HyperparameterRange("any number or None", optional=True)
MAYBE_POSITIVE = HyperparameterRange("> 0 or None", low=0.0, above=True, optional=True)
MAYBE_NOT_NEGATIVE = HyperparameterRange(">= 0 or None", low=0.0, optional=True)
UNIT_INTERVAL = HyperparameterRange("0 to 1", low=0.0, high=1.0)
MAYBE_OPEN_UNIT_INTERVAL = HyperparameterRange(
    "above 0, below 1, or None", low=0.0, high=1.0, above=True, below=True, optional=True
)
OPEN_UNIT_INTERVAL = HyperparameterRange("above 0, below 1", low=0.0, high=1.0, above=True, below=True)


class Parameter(NamedTuple):
    """What a hyperparameter means and what `fit` may do with it."""

    range: HyperparameterRange
    unit: str
    meaning: str
    least: float = 0.0  # that the system's settings allow of a positive one
    bounds: tuple[str | None, str | None] = (None, None)  # the parameters that bound it from below and from above
    concerns_draws: bool = False  # it says how often there are draws, so that a history without any says nothing of it
    fitted: bool = True  # whether `fit` may move it
    if_none: str = ""  # what None stands for, where it stands for a value
    caution: str = ""  # what a fit of it says beside its interval, where that does not hold what it promises
    prior: tuple[float, float] | None = (
        None  # of a fit: the most that is usual of a positive one, and the deviation of its logarithm above that
    )

    @property
    def space(self) -> str:
        """The scale of the steps of a fit: "real", "positive" (its logarithm), "unit" (its log-odds), or "fixed"."""
        if not self.fitted:
            return "fixed"
        return "real" if self.range.low < 0 else "positive" if math.isinf(self.range.high) else "unit"

    @property
    def unit_in_print(self) -> str:
        """The unit; "" of a plain number, whose unit is 1."""
        return "" if self.unit == "1" else self.unit


@cache
def make_params_class(fields: tuple[str, ...]) -> Any:
    """A class of hyperparameters of these names."""
    base: Any = namedtuple("Params", fields)  # type: ignore[misc]
    reduce = {"__slots__": (), "__reduce__": lambda params: (_restore_params, (params._fields, *params))}
    return type("Params", (base,), reduce)  # pickle knows no class made on the way


def _restore_params(fields: tuple[str, ...], *values: Any) -> Any:
    return make_params_class(fields)(*values)


def check_params(system_name: str, params: Any, space: Any) -> Any:
    """The hyperparameters of a system of this name as floats."""
    values = {
        field: check_param_value(f"{system_name}: {field}", field, value, about)
        for field, value, about in zip(params._fields, params, space, strict=True)
    }
    for field, about in zip(params._fields, space, strict=True):
        chain = [x for x in (about.bounds[0], field, about.bounds[1]) if x is not None and values[x] is not None]
        if any(values[x] > values[y] for x, y in pairwise(chain)):
            names = ", ".join(chain[:-1])
            numbers = ", ".join(f"{x}={values[x]:g}" for x in chain)
            raise ValueError(f"{system_name}: {names} and {chain[-1]} must not decrease, got {numbers}")
    return params._replace(**values)


def check_param_value(label: str, field: str, value: Any, about: Parameter) -> Any:
    """A hyperparameter as a float, or None; ValueError if it is no real number, or out of its range."""
    check_not_traced(label, value, f"make the system outside, and give params=params._replace({field}=...)")
    if value is None and about.range.optional:
        return None
    number = float(value) if is_number(value) else math.nan
    if not about.range.allows(number):
        required = "a number" if isinstance(value, str) else about.range
        raise ValueError(f"{label} must be {required}, got {format_value_for_error(value)}")
    if about.least and number < about.least * (1.0 - RELATIVE_TOLERANCE):
        raise ValueError(f"{label} must be at least {about.least:g} with these settings, got {value!r}")
    return number


# What many systems have, with the same meaning.

RATING = Parameter(ANY, "points", "rating of a newcomer", fitted=False)
DEVIATION = Parameter(POSITIVE, "points", "deviation of a newcomer")
BOUNDED_DEVIATION = DEVIATION._replace(bounds=("deviation_min", "deviation_max"))
SMALLEST_DEVIATION = Parameter(MAYBE_POSITIVE, "points", "smallest deviation")
LARGEST_DEVIATION = Parameter(MAYBE_POSITIVE, "points", "largest deviation")
PERIOD = Parameter(POSITIVE, "days, or the unit of time", "length of a rating period", fitted=False)
SIDE_ADVANTAGE = Parameter(ANY, "points", "rating points that the better side is worth")
PERFORMANCE_NOISE = Parameter(POSITIVE, "points", "noise of a performance")
SKILL_DRIFT = Parameter(NOT_NEGATIVE, "points", "drift of a skill in every match or round")
CLOCK_DRIFT = Parameter(MAYBE_NOT_NEGATIVE, "points^2 per day", "drift of a skill by the clock")


LINE_WIDTH = 116  # of documentation
ARGUMENTS = re.compile(r"\nArgs:(?:\n  .*)*")  # with their heading


def factory_hyperparameter_space(make: Callable[..., Any]) -> Any:
    """The hyperparameters of a factory, each a `Parameter`: the arguments that it annotates with one."""
    known = vars(make).get("hyperparameters")
    if known is not None:
        return known
    abouts = {
        name: about
        for name, annotation in get_annotations(make, eval_str=True).items()
        for about in getattr(annotation, "__metadata__", ())
        if isinstance(about, Parameter)
    }
    return make_params_class(tuple(abouts))(**abouts)


def collect_params(
    make: Callable[..., Any], values: Mapping[str, Any], extra: Mapping[str, tuple[Any, Parameter]] | None = None
) -> tuple[Any, Any]:
    """The checked hyperparameters of a factory, and their space.

    Args:
      make: the factory.
      values: its arguments by name, such as its `locals()`. Names that are no hyperparameter's do not count.
      extra: hyperparameters that other arguments bring, by name: the value of each, and what it means.

    Raises:
      ValueError: for a value that is no real number or out of its range, or for bounds that cross.
    """
    space = factory_hyperparameter_space(make)
    params = {name: values[name] for name in space._fields}
    if extra:
        space = make_params_class((*space._fields, *extra))(*space, *(about for _, about in extra.values()))
        params |= {name: value for name, (value, _) in extra.items()}
    return check_params(make.__name__, type(space)(**params), space), space


def add_hyperparameters_to_docstring(make: Callable[..., Any]) -> None:
    """Enter the hyperparameters of a factory at the end of the arguments in its docstring."""
    space, annotations = factory_hyperparameter_space(make), get_annotations(make, eval_str=True)
    text = cleandoc(make.__doc__ or "")
    if space and "\nArgs:\n" not in text:
        text = re.sub(r"(?=\n\nRaises:|\Z)", "\n\nArgs:", text, count=1)
    entries = "".join(f"\n{_hyperparameter_docstring_entry(name, about)}" for name, about in space._asdict().items())
    make.__doc__ = ARGUMENTS.sub(lambda arguments: arguments[0] + entries, text, count=1)
    make.__annotations__ = annotations | {name: get_args(annotations[name])[0] for name in space._fields}
    vars(make)["hyperparameters"] = space


def _hyperparameter_docstring_entry(name: str, about: Parameter) -> str:
    text = f"{name}: {about.meaning} ({', '.join(filter(None, [about.unit_in_print, str(about.range)]))})."
    text += f" None: {about.if_none}." if about.if_none else ""
    text += " Not fitted." if not about.fitted else ""
    return fill(text, LINE_WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
