"""Functions of one's own for kernels and priors: what they take, and which of it becomes a hyperparameter."""

import inspect
from collections.abc import Callable
from functools import cache
from numbers import Real
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from jaxrate.parameters import ANY, POSITIVE, SHARE, Parameter
from jaxrate.plain import Bound, named

SPACES = {"real": ANY, "positive": POSITIVE, "unit": SHARE}


class Arguments(NamedTuple):
    """Of a function: how many have no default, and the names, values and meaning of those that have a number."""

    needed: int
    names: tuple[str, ...]
    values: tuple[float, ...]
    spaces: tuple[Parameter, ...]


OPEN = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
NOTHING = Arguments(0, (), (), ())


@cache
def arguments(function: Callable[..., Any]) -> Arguments:
    """What a function takes.

    An argument with a number for its default is a hyperparameter: any number, or what its annotation says, such as
    `Annotated[float, "positive"]`.

    Raises:
      ValueError: if that cannot be told, or is none of "real", "positive" and "unit".
    """
    bare: Any = function
    given = 0
    while isinstance(bare, Bound):
        bare, given = bare.function, given + len(bare.given)
    try:
        every = [x for x in inspect.signature(bare).parameters.values() if x.kind not in OPEN]
        hints = get_type_hints(bare, include_extras=True)
    except (TypeError, ValueError, NameError) as error:
        raise ValueError(f"the arguments of {named(function)} cannot be told: {error}") from None
    free = [x for x in every[given:] if isinstance(x.default, Real) and not isinstance(x.default, bool)]
    return Arguments(
        sum(x.default is x.empty for x in every[given:]),
        tuple(x.name for x in free),
        tuple(float(x.default) for x in free),
        tuple(_about(named(function), x.name, hints.get(x.name)) for x in free),
    )


def _about(function: str, name: str, hint: Any) -> Parameter:
    space = get_args(hint)[1] if get_origin(hint) is Annotated else "real"
    if space not in SPACES:
        raise ValueError(f"{function}: {name} is one of {', '.join(SPACES)}, not {space!r}")
    return Parameter(space, SPACES[space], "number", f"{name} of {function}")
