"""One check of what public functions are given: against their annotations, before anything is computed."""

import math
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from numbers import Real
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, ParamSpec, TypeAlias, TypeVar, Union, get_args, get_origin

import numpy as np

from jaxrate.text_format import format_cell

P = ParamSpec("P")
R = TypeVar("R")


class ArgumentKind(NamedTuple):
    """What no type of Python says of an argument: for `Annotated[Any, Kind(...)]`."""

    text: str  # as a message says it
    holds: Callable[[Any], bool]


OWN = "its function checks it, and says more of it"  # Annotated[int, OWN]: not checked here

WHOLE_LIMIT = 2**63  # whole numbers are below this
MAX_SAMPLES = 10**8  # random ones, which tell probabilities to 0.00005
SIMPLE_TYPES = bool, int, float, complex, str, bytes, NoneType, np.generic  # a message shows the value of these
MAKING_CALLS = {  # what makes the values that people pass on
    "RatingSystem": "jr.glicko()",
    "Rated": "jr.rate",
    "Dataset": "jr.read",
    "Smoothed": "jr.smooth",
    "Fit": "jr.fit",
    "Matches": "jr.matches",
    "Ragged": "jr.rounds",
    "Strengths": "jr.arena.fit_strengths",
    "Comparison": "jr.compare",
    "LossProfile": "jr.fitting.profile_loss",
    "History": "jr.league.rating_history",
    "TournamentForecast": "jr.forecasts.simulate_tournament",
    "SeasonForecast": "jr.forecasts.simulate_season",
    "RankSets": "jr.arena.rank_sets",
    "StrengthDrift": "jr.arena.detect_drift",
    "Matchmaker": "jr.urns.matchmakers.uniform()",
}
TYPE_DESCRIPTIONS = {bool: "True or False", int: "a whole number", float: "a number", str: "text", NoneType: "None"}


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Around a public function: an argument of another kind than its annotation names is a ValueError.

        @check_arguments
        def leaderboard(system: RatingSystem | Rated, *, top: int = 20) -> Leaderboard: ...

    A number is a real one of any library, traced ones too, and is not NaN; a whole number is below 2^63; a path is not
    empty. Defaults are not looked at, nor what is annotated as `Any`, by a string or as `Annotated[..., OWN]`. Missing
    and unknown arguments are Python's TypeError.
    """
    form = signature(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = form.bind(*args, **kwargs).arguments
        except TypeError:  # Python's own message names the function
            return function(*args, **kwargs)
        for name, value in given.items():
            about = form.parameters[name]
            values = value.items() if about.kind is Parameter.VAR_KEYWORD else [(name, value)]
            for key, one in values:
                if one is not about.default:
                    check_argument(function.__name__, key, about.annotation, one)
        return function(*args, **kwargs)

    return checked


def check_argument(function: str, name: str, annotation: Any, value: Any) -> None:
    """ValueError unless the value of an argument of a function is what its annotation names."""
    if not matches_annotation(annotation, value) or (
        annotation in (float, float | None) and isinstance(value, Real) and math.isnan(value)
    ):
        if getattr(annotation, "__name__", "") == "RatingSystem":
            raise ValueError(f"{function}: name the system first, as jr.glicko(), and not {type(value).__name__}")
        raise ValueError(f"{function}: {name} must be {describe_annotation(annotation)}, got {format_value(value)}")


def matches_annotation(annotation: Any, value: Any) -> bool:
    """Whether a value is what an annotation names; True of annotations that say nothing that can be checked."""
    if annotation in (Any, Parameter.empty) or isinstance(annotation, (str, TypeVar)):
        return True
    if annotation is None:
        return value is None
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return OWN in inner or all(about.holds(value) for about in inner if isinstance(about, ArgumentKind))
    if origin in (Union, UnionType):
        if isinstance(value, str) and any(get_origin(one) is os.PathLike for one in inner):
            return bool(value.strip()) and "\0" not in value
        return any(matches_annotation(one, value) for one in inner)
    if annotation is bool:
        return isinstance(value, (bool, np.bool_))
    if annotation is int:
        return is_whole(value) or (hasattr(value, "aval") and is_traced(value))
    if annotation is float:
        return is_number(value)
    if origin is Callable:
        return callable(value)
    if origin is Mapping or origin is dict:
        return isinstance(value, Mapping) and all(
            inner[1] is float or matches_annotation(inner[1], one) for one in value.values()
        )
    if origin is tuple and isinstance(value, (str, bytes)):
        return False
    if origin is tuple and inner[-1:] != (Ellipsis,):
        return is_iterable(value) and len(value) == len(inner) and all(map(matches_annotation, inner, value))
    if origin in (Sequence, Iterable, tuple, list):
        return is_iterable(value) and (
            not isinstance(value, (list, tuple)) or all(matches_annotation(inner[0], x) for x in value)
        )
    if origin is np.ndarray:
        return hasattr(value, "shape")
    try:
        return isinstance(value, origin or annotation)
    except TypeError:  # a protocol
        return True


def is_whole(value: Any) -> bool:
    """Whether it is a whole number of any library, below 2^63."""
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        return abs(operator.index(value)) < WHOLE_LIMIT
    except TypeError:
        return False


def is_traced(tree: Any) -> bool:
    """Whether JAX traces anything of it; the function itself says whether that may be."""
    jax = sys.modules.get("jax")
    return jax is not None and any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(tree))


def is_number(value: Any) -> bool:
    """Whether it is a real number of any library, traced ones too, that a float can hold."""
    if isinstance(value, (bool, np.bool_)):
        return False
    if getattr(value, "shape", None) == ():
        return value.dtype.kind in "iufV"  # V: bfloat16
    try:
        return isinstance(value, Real) and isinstance(float(value), float)
    except OverflowError:  # a whole number beyond all floats
        return False


def is_numeric(value: Any) -> bool:
    """Whether it is a number, or an array or nested sequence of numbers, traced or not, or predictions of them."""
    if value is None:
        return False
    if hasattr(value, "_fields") or hasattr(value, "aval"):
        return True
    try:
        np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def is_key(value: Any) -> bool:
    """Whether it is a key of random numbers, or the numbers themselves."""
    shape = getattr(value, "shape", None)
    return hasattr(value, "dtype") and shape is not None and not isinstance(value, np.generic) and 0 not in shape[1:]


def is_tuple_of_arrays(value: Any) -> bool:
    """Whether it is a NamedTuple with an array for each of some players."""
    if not hasattr(value, "_fields"):
        return False
    from jax.tree_util import tree_leaves

    leaves = tree_leaves(value)
    return bool(leaves) and all(len(getattr(x, "shape", ())) > 0 for x in leaves)


AnyNumber: TypeAlias = Annotated[float, ArgumentKind("a number", is_number)]  # NaN too: its function says its range
Numbers: TypeAlias = Annotated[Any, ArgumentKind("numbers", is_numeric)]
Key: TypeAlias = Annotated[Any, ArgumentKind("a key, as of jax.random.key(0)", is_key)]
PlayerState: TypeAlias = Annotated[Any, ArgumentKind("a state, as jr.run leaves it", is_tuple_of_arrays)]
Hyperparameters: TypeAlias = Annotated[
    Any, ArgumentKind("hyperparameters, as system.params._replace(...)", lambda value: hasattr(value, "_fields"))
]


def to_floats(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Numbers as an array in float64; ValueError for what is none."""
    if not is_numeric(values):
        raise ValueError(f"{name} must be numbers, got {format_value(values)}")
    return np.asarray(values, np.float64)


def check_count(name: str, count: int, minimum: int, maximum: int) -> None:
    """ValueError unless it is a whole number in this range."""
    if not is_whole(count) or not minimum <= count <= maximum:
        raise ValueError(f"{name} must be a whole number from {minimum} to {maximum:,}, got {format_value(count)}")


def is_iterable(value: Any) -> bool:
    """Whether it can be walked through."""
    return hasattr(value, "__iter__") and getattr(value, "ndim", 1) > 0 and not isinstance(value, type)


def describe_annotation(annotation: Any) -> str:
    """How a message says what an annotation names."""
    if annotation is None:
        return "None"
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return " and ".join(about.text for about in inner if isinstance(about, ArgumentKind))
    if origin in (Union, UnionType):
        path = any(get_origin(one) is os.PathLike for one in inner)
        known = [describe_annotation(one) for one in inner if not (path and one is str)]
        return " or ".join([", ".join(known[:-1]), known[-1]]) if len(known) > 1 else known[0]
    if annotation in TYPE_DESCRIPTIONS:
        return TYPE_DESCRIPTIONS[annotation]
    if origin is os.PathLike:
        return "a path"
    if origin is Callable:
        return "a function"
    if origin is Mapping or origin is dict:
        return "a mapping" + describe_items(inner[1])
    if origin is tuple and inner[-1:] != (Ellipsis,):
        return f"{len(inner)} values"
    if origin in (Sequence, Iterable, tuple, list):
        return "a sequence" + describe_items(inner[0])
    if origin is np.ndarray:
        return "an array"
    name = (origin or annotation).__name__
    article = "an" if name[0] in "AEIOU" else "a"
    return f"{article} {name}" + (f" (as of {MAKING_CALLS[name]})" if name in MAKING_CALLS else "")


def describe_items(annotation: Any) -> str:
    """What is in a container, if its annotation says so."""
    if annotation in TYPE_DESCRIPTIONS:
        return {int: " of whole numbers", float: " of numbers", str: " of names"}.get(annotation, "")
    return f" of {annotation.__name__}s" if isinstance(annotation, type) and annotation is not Any else ""


def format_value(value: Any) -> str:
    """A simple value as Python writes it, else of what type it is."""
    return format_cell(value) if isinstance(value, SIMPLE_TYPES) else f"one of type {type(value).__name__}"


TRACED_COLUMNS_ADVICE = "traced columns go into jr.Matches, which jr.scan and jr.predict take"


def check_not_traced(name: str, values: Any, advice: str = TRACED_COLUMNS_ADVICE) -> None:
    """ValueError for what is traced, which says what to do instead."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(values, jax.core.Tracer):
        raise ValueError(f"{name} is traced by jax.jit, grad or vmap, and must be known on the host: {advice}")


def check_concrete(what: str, tree: Any, instead: str) -> None:
    """ValueError if anything is traced: what the caller does needs values, and what to do instead."""
    if is_traced(tree):
        raise ValueError(f"{what} on the host, and these are traced by jax.jit, grad or vmap{instead}")
