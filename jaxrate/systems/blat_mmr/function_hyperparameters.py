"""Functions of one's own for kernels and priors: what they take, and which of it becomes a hyperparameter."""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from numbers import Real
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from jaxrate.core.hashable_functions_and_arrays import BoundFunction, display_name
from jaxrate.core.hyperparameter_definitions import ANY, POSITIVE, UNIT_INTERVAL, Parameter

ANNOTATED_SPACES = {"real": ANY, "positive": POSITIVE, "unit": UNIT_INTERVAL}


class FunctionArguments(NamedTuple):
    """Of a function: how many have no default, and the names, values and meaning of those that have a number."""

    num_required: int
    names: tuple[str, ...]
    values: tuple[float, ...]
    spaces: tuple[Parameter, ...]


VARIADIC = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
NO_ARGUMENTS = FunctionArguments(0, (), (), ())


@cache
def inspect_arguments(function: Callable[..., Any]) -> FunctionArguments:
    """What a function takes.

    An argument with a number for its default is a hyperparameter: any number, or what its annotation says, such as
    `Annotated[float, "positive"]`.

    Raises:
      ValueError: if that cannot be told, or is none of "real", "positive" and "unit".
    """
    bare: Any = function
    num_bound = 0
    while isinstance(bare, BoundFunction):
        bare, num_bound = bare.function, num_bound + len(bare.bound_args)
    try:
        every = [x for x in inspect.signature(bare).parameters.values() if x.kind not in VARIADIC]
        hints = get_type_hints(bare, include_extras=True)
    except (TypeError, ValueError, NameError) as error:
        raise ValueError(f"the arguments of {display_name(function)} cannot be told: {error}") from None
    free = [x for x in every[num_bound:] if isinstance(x.default, Real) and not isinstance(x.default, bool)]
    return FunctionArguments(
        sum(x.default is x.empty for x in every[num_bound:]),
        tuple(x.name for x in free),
        tuple(float(x.default) for x in free),
        tuple(_hyperparameter_from_annotation(display_name(function), x.name, hints.get(x.name)) for x in free),
    )


def _hyperparameter_from_annotation(function: str, name: str, hint: Any) -> Parameter:
    space = get_args(hint)[1] if get_origin(hint) is Annotated else "real"
    if space not in ANNOTATED_SPACES:
        raise ValueError(f"{function}: {name} is one of {', '.join(ANNOTATED_SPACES)}, not {space!r}")
    return Parameter(ANNOTATED_SPACES[space], "number", f"{name} of {function}")


def function_params(
    functions: Iterable[FunctionArguments], overrides: Mapping[str, Any], reserved_names: Collection[str]
) -> dict[str, tuple[Any, Parameter]]:
    """The hyperparameters of functions by name: the value of each, and what it means.

    `overrides` holds other values than the defaults. Functions may share a name, whose default is then
    that of the first.

    Raises:
      ValueError: if a function has a name that the system knows.
    """
    extra: dict[str, tuple[Any, Parameter]] = {}
    for function in functions:
        for name, value, about in zip(*function[1:], strict=True):
            if name in reserved_names:
                raise ValueError(f"blat_mmr: {about.meaning} has the name of something else; rename it")
            extra.setdefault(name, (overrides.get(name, value), about))
    return extra
