"""Hyperparameters as the signature of a factory has them. Class, space, checks and documentation follow from it.

    @system_factory
    def elo(*, k: Annotated[float, Parameter(NOT_NEGATIVE, "points", "largest change")] = 32.0):
        params, space = collect_params(elo, locals())

A factory is the function that makes a system.
"""

import re
from collections.abc import Callable, Mapping
from inspect import cleandoc, get_annotations
from textwrap import fill
from typing import Any, get_args

from jaxrate.core.hyperparameter_definitions import Parameter, check_params, make_params_class

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
    """Enter the hyperparameters of a factory at the end of the arguments in its docstring.

    Its annotations keep the types alone, as people read them in `help`.
    """
    space, annotations = factory_hyperparameter_space(make), get_annotations(make, eval_str=True)
    text = cleandoc(make.__doc__ or "")
    if space and "\nArgs:\n" not in text:
        text = re.sub(r"(?=\n\nRaises:|\Z)", "\n\nArgs:", text, count=1)
    entries = "".join(f"\n{_hyperparameter_docstring_entry(name, about)}" for name, about in space._asdict().items())
    make.__doc__ = ARGUMENTS.sub(lambda arguments: arguments[0] + entries, text, count=1)
    make.__annotations__ = annotations | {name: get_args(annotations[name])[0] for name in space._fields}
    vars(make)["hyperparameters"] = space


def _hyperparameter_docstring_entry(name: str, about: Parameter) -> str:
    unit = "" if about.unit == "1" else f"{about.unit}, "
    text = f"{name}: {about.meaning} ({unit}{about.range})."
    text += f" None: {about.if_none}." if about.if_none else ""
    text += " Not fitted." if not about.fitted else ""
    return fill(text, LINE_WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
