"""Checks of the arguments of public functions against their annotations, before anything is computed."""

import errno
import math
import operator
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce, wraps
from inspect import Parameter, Signature, signature
from numbers import Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from jaxrate.core.text_format import did_you_mean_suffix, format_value_for_error, join_names

P = ParamSpec("P")
R = TypeVar("R")


class ArgumentRequirement(NamedTuple):
    """A requirement that no type of Python expresses: for `Annotated[Any, ArgumentKind(...)]`."""

    description: str  # in an error message
    accepts: Callable[[Any], bool]


CHECKED_BY_FUNCTION = "the function checks it"  # Annotated[int, CHECKED_BY_FUNCTION]: not checked here

INTEGER_LIMIT = 2**63  # integers are below this
HUGE_COUNT = 2**31  # from here on a number of things is too large for most computations
MAX_SAMPLES = 10**8  # random samples; so many give probabilities to 0.00005
SIMPLE_TYPES = bool, int, float, complex, str, bytes, NoneType, np.generic  # types whose values are shown in messages
EXAMPLE_CALLS = {  # calls that make values of these types
    "RatingSystem": "jr.glicko()",
    "History": "jr.rate",
    "Dataset": "jr.read",
    "Fit": "jr.fit",
    "Matches": "jr.matches",
    "Ragged": "jr.rounds",
    "Strengths": "jr.arena.fit_strengths",
    "Comparison": "jr.compare",
    "LossProfile": "jr.fitting.profile_loss",
    "TournamentForecast": "jr.forecasts.simulate_tournament",
    "SeasonForecast": "jr.forecasts.simulate_season",
    "RankSets": "jr.arena.rank_sets",
    "StrengthDrift": "jr.arena.detect_drift",
    "Matchmaker": "jr.urns.matchmakers.uniform_matchmaker()",
}


def enforce_argument_annotations(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function raise ValueError for an argument that does not fit its annotation (a decorator).

        @enforce_argument_annotations
        def leaderboard(rated: History, *, top: int = 20) -> Leaderboard: ...

    A number is a real number of any library, traced or not, and is not NaN; an integer is below 2^63; a path is not
    empty. Defaults are not checked, nor arguments annotated as `Any`, by a string or as
    `Annotated[..., CHECKED_BY_FUNCTION]`. For missing and unknown arguments Python raises TypeError.
    """
    function_signature = signature(function)

    @wraps(function)
    def call_checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = function_signature.bind(*args, **kwargs).arguments
        except TypeError:  # Python's own message names the function
            if args:
                first = next(iter(function_signature.parameters.values()))
                check_argument(function.__name__, first.name, first.annotation, args[0])
            return function(*args, **kwargs)
        for name, value in bound.items():
            parameter = function_signature.parameters[name]
            if parameter.kind is Parameter.VAR_KEYWORD:
                check_keyword_arguments(function.__name__, parameter.annotation, value)
            elif parameter.kind is Parameter.VAR_POSITIONAL:
                for one in value:
                    check_argument(function.__name__, name, parameter.annotation, one)
            elif value is not parameter.default:
                check_argument(function.__name__, name, parameter.annotation, value)
        with argument_errors_as_value_errors(function.__name__, bound):
            return function(*args, **kwargs)

    call_checked.__signature__ = signature_of_types(function_signature)  # type: ignore[attr-defined]
    return call_checked


@contextmanager
def argument_errors_as_value_errors(function_name: str, arguments: Mapping[str, Any]) -> Iterator[None]:
    """ValueError in place of errors of the computer that come of an argument: of too long a path or a huge number."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise ValueError(f"{function_name}: a path is too long for the file system") from error
    except (MemoryError, OverflowError) as error:
        huge = [name for name, x in arguments.items() if is_whole_number(x) and abs(x) >= HUGE_COUNT]
        if not huge:
            raise
        raise ValueError(f"{function_name}: {huge[0]} is {arguments[huge[0]]}, which is too large") from error


def signature_of_types(complete: Signature) -> Signature:
    """A signature as `help` shows it: types alone in the annotations, and a name for each keyword of an `Unpack`."""
    parameters = [shown for x in complete.parameters.values() for shown in _expand_unpacked_parameter(x)]
    return complete.replace(parameters=parameters, return_annotation=_strip_requirements(complete.return_annotation))


class EllipsisDefault:
    """The default of a keyword that a signature does not tell, and its docstring does; it prints as `...`."""

    def __repr__(self) -> str:
        return "..."


def _expand_unpacked_parameter(parameter: Parameter) -> list[Parameter]:
    """A parameter with its type alone; for `**` of `Unpack[a TypedDict]` one for each keyword."""
    if parameter.kind is not Parameter.VAR_KEYWORD or get_origin(parameter.annotation) is not Unpack:
        return [parameter.replace(annotation=_strip_requirements(parameter.annotation))]
    hints = get_type_hints(get_args(parameter.annotation)[0])
    default = EllipsisDefault()
    return [Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint) for name, hint in hints.items()]


def _strip_requirements(annotation: Any) -> Any:
    """An annotation without the requirements that no type of Python expresses."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return inner[0]
    stripped = tuple(map(_strip_requirements, inner))
    return reduce(operator.or_, stripped) if origin in (Union, UnionType) and stripped != inner else annotation


def check_keyword_arguments(function_name: str, annotation: Any, values: Mapping[str, Any]) -> None:
    """Check arguments that are collected by `**`; those of `Unpack[a TypedDict]` each by its own annotation."""
    if get_origin(annotation) is not Unpack:
        annotations = dict.fromkeys(values, annotation)
    else:
        annotations = get_type_hints(get_args(annotation)[0], include_extras=True)
    check_keyword_names(function_name, values, annotations)
    for name, value in values.items():
        check_argument(function_name, name, annotations[name], value)


USUAL_NAMES = {  # what people call arguments that name columns
    **dict.fromkeys(("date", "datetime", "timestamp", "day"), "time"),
    **dict.fromkeys(("home", "player_a", "player1", "team1", "white"), "a"),
    **dict.fromkeys(("away", "player_b", "player2", "team2", "black"), "b"),
    **dict.fromkeys(("result", "outcome", "winner_name"), "score"),
    **dict.fromkeys(("player", "name", "driver"), "participant"),
    **dict.fromkeys(("event", "race", "game", "tournament"), "contest"),
    **dict.fromkeys(("place", "position"), "rank"),
    **dict.fromkeys(("goals", "points"), "margin"),
}


def check_keyword_names(function_name: str, values: Mapping[str, Any], known: Collection[str]) -> None:
    """TypeError for an argument whose name is not known, with the name that may be meant."""
    for name, value in values.items():
        if name not in known:
            usual = USUAL_NAMES.get(name)
            is_usual = usual is not None and usual in known
            hint = f"; it is {usual}, as in {usual}={format_value_for_error(value)}" if is_usual else ""
            hint = hint or did_you_mean_suffix(name, known)
            raise TypeError(f"{function_name}() got an unexpected keyword argument {name!r}{hint}")


def check_argument(function_name: str, name: str, annotation: Any, value: Any) -> None:
    """ValueError unless an argument fits its annotation, and events consist of arrays."""
    if not _has_array_columns(value):
        kind = type(value).__name__
        raise ValueError(f"{function_name}: {name}, a {kind}, has columns that are no arrays; jr.matches makes them")
    refuses_nan = annotation in (float, float | None) and isinstance(value, Real)
    if not matches_annotation(annotation, value) or (refuses_nan and math.isnan(value)):
        hint = did_you_mean_suffix(value, get_args(annotation)) if get_origin(annotation) is Literal else ""
        required = describe_annotation(annotation)
        raise ValueError(f"{function_name}: {name} must be {required}, got {format_value_or_type(value)}{hint}")


def _has_array_columns(value: Any) -> bool:
    """Whether the first columns of matches, periods or rounds are arrays; True for all that is no events."""
    while type(value).__name__ in ("Dataset", "Ragged"):
        value = getattr(value, "events", None)  # others' classes have such names, too
    is_events = isinstance(value, tuple) and type(value).__name__ in ("Matches", "Periods", "Rounds")
    columns = value[:2] if is_events else ()
    return all(isinstance(getattr(x, "dtype", None), np.dtype) for x in columns)


# --- Values. ---


def is_whole_number(value: Any) -> bool:
    """Whether a value is an integer of any library, below 2^63."""
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        return abs(operator.index(value)) < INTEGER_LIMIT
    except TypeError:
        return False


def is_traced(tree: Any) -> bool:
    """Whether JAX traces anything in a tree; the function itself decides whether that is allowed."""
    jax = sys.modules.get("jax")
    if jax is None or isinstance(tree, Iterator):  # a generator is no tree
        return False
    return any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(tree))


def is_number(value: Any) -> bool:
    """Whether a value is a real number of any library, traced or not, that a float can hold."""
    if isinstance(value, (bool, np.bool_)):
        return False
    if getattr(value, "shape", None) == ():
        return value.dtype.kind in "iufV"  # V: bfloat16
    try:
        return isinstance(value, Real) and isinstance(float(value), float)
    except OverflowError:  # a whole number beyond all floats
        return False


def is_number_or_numeric_array(value: Any) -> bool:
    """Whether a value is a number, an array or nested sequence of numbers, traced or not, or predictions."""
    if value is None:
        return False
    if hasattr(value, "_fields") or hasattr(value, "aval"):
        return True
    try:
        np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def is_prng_key_or_random_numbers(value: Any) -> bool:
    """Whether a value is a PRNG key, or random numbers in an array."""
    shape = getattr(value, "shape", None)
    if not hasattr(value, "dtype") or shape is None or isinstance(value, np.generic) or 0 in shape[1:]:
        return False
    kind = getattr(value.dtype, "kind", "V")
    is_raw_key = kind == "u" and shape[-1:] in ((2,), (4,))
    return is_raw_key or (kind == "f" and len(shape) > 0) or not isinstance(value.dtype, np.dtype)  # V: a key of JAX


def is_tuple_of_arrays(value: Any) -> bool:
    """Whether a value is a NamedTuple of arrays, none of them a scalar."""
    if not hasattr(value, "_fields"):
        return False
    from jax.tree_util import tree_leaves

    leaves = tree_leaves(value)
    return bool(leaves) and all(len(getattr(x, "shape", ())) > 0 for x in leaves)


def is_path(value: Any) -> bool:
    """Whether a value is a path that a file system may have: no empty text."""
    return isinstance(value, os.PathLike) or (isinstance(value, str) and bool(value.strip()) and "\0" not in value)


def is_iterable(value: Any) -> bool:
    """Whether a value can be iterated over."""
    return hasattr(value, "__iter__") and getattr(value, "ndim", 1) > 0 and not isinstance(value, type)


def is_sized(value: Any) -> bool:
    """Whether a value can be iterated over again and again, as no generator can."""
    return is_iterable(value) and hasattr(value, "__len__")


def is_list(value: Any) -> bool:
    """Whether a value is a list, a tuple or an array of at least one dimension."""
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


# --- Annotations. ---


class TypeRule(NamedTuple):
    """How values of a type are told from others, and how it is described, by the arguments of the type."""

    accepts: Callable[[Any, tuple[Any, ...]], bool]
    describe: Callable[[tuple[Any, ...]], str]


def matches_annotation(annotation: Any, value: Any) -> bool:
    """Whether a value fits an annotation; True for annotations that cannot be checked."""
    if annotation in (Any, Parameter.empty) or isinstance(annotation, (str, TypeVar)):
        return True
    origin = get_origin(annotation) or annotation
    if rule := TYPE_RULES.get(origin):
        return rule.accepts(value, get_args(annotation))
    try:
        return isinstance(value, NoneType if origin is None else origin)
    except TypeError:  # a protocol
        return True


def describe_annotation(annotation: Any) -> str:
    """An annotation in words, for an error message."""
    origin = get_origin(annotation) or annotation
    if rule := TYPE_RULES.get(origin):
        return rule.describe(get_args(annotation))
    if origin in (None, NoneType):
        return "None"
    name = origin.__name__
    example = f" (as of {EXAMPLE_CALLS[name]})" if name in EXAMPLE_CALLS else ""
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}{example}"


def _select_requirements(inner: tuple[Any, ...]) -> list[ArgumentRequirement]:
    return [x for x in inner if isinstance(x, ArgumentRequirement)]


def _is_iterable_of(value: Any, inner: tuple[Any, ...]) -> bool:
    """Whether a value can be iterated over, and the items of a list, tuple or set fit; others are not looked at."""
    item, kind = inner[0], getattr(getattr(value, "dtype", None), "kind", "f")
    is_of_no_numbers = hasattr(value, "dtype") and (np.ndim(value) != 1 or kind not in "iufV")  # V: bfloat16
    if not is_iterable(value) or isinstance(value, bytes) or (item in (int, float) and is_of_no_numbers):
        return False
    are_checked = isinstance(value, (list, tuple, set)) or get_origin(item) is tuple
    return not are_checked or all(matches_annotation(item, x) for x in value)


def _is_tuple_of(value: Any, inner: tuple[Any, ...]) -> bool:
    if isinstance(value, (str, bytes)) or not is_sized(value):
        return False
    if Ellipsis in inner:
        return _is_iterable_of(value, inner)
    return len(value) == len(inner) and all(map(matches_annotation, inner, value))


def _is_mapping_to(value: Any, inner: tuple[Any, ...]) -> bool:
    """Whether it is a mapping to values of this type; numbers are left to the function."""
    return isinstance(value, Mapping) and all(
        inner[1] is float or matches_annotation(inner[1], x) for x in value.values()
    )


def _item_type_clause(annotation: Any) -> str:
    """The type of a container's items in words, or nothing."""
    if annotation in (int, float, str):
        return {int: " of whole numbers", float: " of numbers", str: " of names"}[annotation]
    return f" of {annotation.__name__}s" if isinstance(annotation, type) and annotation is not Any else ""


def _simple_type_rule(description: str, accepts: Callable[[Any], bool]) -> TypeRule:
    """The rule of a type without arguments."""
    return TypeRule(lambda x, _: accepts(x), lambda _: description)


UNION = TypeRule(
    lambda x, inner: any(matches_annotation(one, x) for one in inner),
    lambda inner: join_names(map(describe_annotation, inner), "or"),
)
MAPPING = TypeRule(_is_mapping_to, lambda inner: "a mapping" + _item_type_clause(inner[1]))
ITERABLE = TypeRule(_is_iterable_of, lambda inner: "a sequence" + _item_type_clause(inner[0]))
SEQUENCE = ITERABLE._replace(accepts=lambda x, inner: is_sized(x) and _is_iterable_of(x, inner))
TYPE_RULES: dict[Any, TypeRule] = {
    bool: _simple_type_rule("True or False", lambda x: isinstance(x, (bool, np.bool_))),
    int: _simple_type_rule("a whole number", lambda x: is_whole_number(x) or (hasattr(x, "aval") and is_traced(x))),
    float: _simple_type_rule("a number", is_number),
    str: _simple_type_rule("text", lambda x: isinstance(x, str)),
    np.ndarray: _simple_type_rule("an array", lambda x: hasattr(x, "shape")),
    Callable: _simple_type_rule("a function", callable),
    Union: UNION,
    UnionType: UNION,
    Mapping: MAPPING,
    dict: MAPPING,
    Sequence: SEQUENCE,
    list: SEQUENCE,
    Iterable: ITERABLE,
    tuple: TypeRule(_is_tuple_of, lambda inner: ITERABLE.describe(inner) if ... in inner else f"{len(inner)} values"),
    Annotated: TypeRule(
        lambda x, inner: CHECKED_BY_FUNCTION in inner or all(one.accepts(x) for one in _select_requirements(inner)),
        lambda inner: " and ".join(x.description for x in _select_requirements(inner)),
    ),
    Literal: TypeRule(
        lambda x, inner: (type(x), x) in [(type(one), one) for one in inner],
        lambda inner: join_names(map(repr, inner), "or"),
    ),
}


FilePath: TypeAlias = Annotated[str | os.PathLike[str], ArgumentRequirement("a path", is_path)]
# NaN too: the function checks the range
AnyNumber: TypeAlias = Annotated[float, ArgumentRequirement("a number", is_number)]
PositiveCount: TypeAlias = Annotated[
    int, ArgumentRequirement("a whole number from 1", lambda value: is_whole_number(value) and value >= 1)
]
Numbers: TypeAlias = Annotated[Any, ArgumentRequirement("numbers", is_number_or_numeric_array)]
Key: TypeAlias = Annotated[Any, ArgumentRequirement("a key, as of jax.random.key(0)", is_prng_key_or_random_numbers)]
PlayerState: TypeAlias = Annotated[Any, ArgumentRequirement("a state, as jr.run leaves it", is_tuple_of_arrays)]
Hyperparameters: TypeAlias = Annotated[
    Any, ArgumentRequirement("hyperparameters, as system.params._replace(...)", lambda value: hasattr(value, "_fields"))
]


def check_that(holds: Any, complaint: str) -> None:
    """ValueError with this complaint unless something holds."""
    if not holds:
        raise ValueError(complaint)


def check_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    """ValueError unless a value is one of the choices; the message lists them, and says which may be meant."""
    if value not in choices:
        shown = f"{format_value_for_error(value)}{did_you_mean_suffix(value, choices)}"
        raise ValueError(f"{name} must be {join_names(map(repr, choices), 'or')}, got {shown}")


def to_floats(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Numbers as an array in float64; ValueError for anything else."""
    check_that(is_number_or_numeric_array(values), f"{name} must be numbers, got {format_value_or_type(values)}")
    return np.asarray(values, np.float64)


def check_count(name: str, count: Any, minimum: int, maximum: int) -> int:
    """A count as an int; ValueError unless it is a whole number from `minimum` to `maximum`."""
    expected = f"{name} must be a whole number from {minimum} to {maximum:,}, got {format_value_or_type(count)}"
    check_that(is_whole_number(count) and minimum <= count <= maximum, expected)
    return int(count)


def format_value_or_type(value: Any) -> str:
    """The repr of a simple value; the type of any other."""
    return format_value_for_error(value) if isinstance(value, SIMPLE_TYPES) else f"one of type {type(value).__name__}"


TRACED_COLUMNS_ADVICE = "traced columns go into jr.Matches, which jr.scan and jr.predict take"


def check_not_traced(name: str, values: Any, advice: str = TRACED_COLUMNS_ADVICE) -> None:
    """ValueError for what is traced, which says what to do instead."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(values, jax.core.Tracer):
        raise ValueError(f"{name} is traced by jax.jit, grad or vmap, and must be known on the host: {advice}")


def check_concrete(operation: str, tree: Any, advice: str) -> None:
    """ValueError if anything is traced: what the caller does needs values, and what to do instead."""
    check_that(not is_traced(tree), f"{operation} on the host, and these are traced by jax.jit, grad or vmap{advice}")
