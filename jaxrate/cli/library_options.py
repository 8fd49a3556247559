"""Options that are arguments of the library: their types, defaults and help are those of its functions.

The sources are read and not imported, since help and completion do without NumPy and JAX.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import click

from jaxrate.cli.options import CommandOption, option

PACKAGE = Path(__file__).parent.parent
MODULES = {  # of functions whose arguments are options
    "ahead": "fitting/objectives",
    "benchmark_systems": "evaluation/benchmark",
    "fit": "fitting/hyperparameter_fit",
    "fit_strengths": "arena/strength_fit",
    "leaderboard": "history/leaderboards",
    "probabilities_from_odds": "metrics/bookmaker_odds",
    "simulate_season": "forecasts/season_simulation",
    "write_site": "site/site_writer",
}
ARGUMENT_START = re.compile(r"^ {2}(\w+(?:, \w+)*): ", re.MULTILINE)
DEFAULT_SENTENCE = re.compile(r"\bNone: (.*?)\.(?:\s|$)", re.DOTALL)


class LibraryArgument(NamedTuple):
    """An argument of a function."""

    annotation: str
    default: Any
    text: str  # its first sentence in the docstring, and the default in brackets


@cache
def _parse_module(name: str) -> list[ast.stmt]:
    """The statements of a module of the package."""
    return ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8")).body


@cache
def describe_arguments(function: str) -> dict[str, LibraryArgument]:
    """The arguments of a function that have defaults, by their names."""
    statements = _parse_module(MODULES[function])
    node = next(x for x in statements if isinstance(x, ast.FunctionDef) and x.name == function)
    parts = ARGUMENT_START.split((ast.get_docstring(node) or "").partition("\nArgs:\n")[2])
    texts = {name: text for names, text in zip(parts[1::2], parts[2::2], strict=True) for name in names.split(", ")}
    return {
        x.arg: LibraryArgument(ast.unparse(x.annotation), ast.literal_eval(default), _help_text(texts[x.arg]))
        for x, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if x.annotation is not None and default is not None and x.arg in texts
    }


def _help_text(text: str) -> str:
    """The first sentence about an argument, with options in place of arguments, and what None stands for."""
    text = " ".join(text.split())
    sentence = re.split(r"(?<=[\w)\"])\. |\.$", text)[0]
    sentence = re.sub(r"`(\w+)`", lambda name: f"--{name[1].replace('_', '-')}", sentence)
    stands_for = DEFAULT_SENTENCE.search(text)
    return f"{sentence[0].upper()}{sentence[1:]}." + (f"  [default: {stands_for[1]}]" if stands_for else "")


def library_option(function: str, name: str, metavar: str = "", **settings: Any) -> CommandOption:
    """The option of an argument of a function; settings are those of `option`, in place of what the function says."""
    about = describe_arguments(function)[name]
    text = settings.pop("text", about.text)
    if about.default is not None and about.annotation != "bool":
        settings = {"default": about.default} | settings
    return option(name.replace("_", "-"), metavar, text, **settings)


def library_choice(function: str, *constants: str) -> click.Choice[str]:
    """One of the texts in constants of the module of a function."""
    statements = [x for x in _parse_module(MODULES[function]) if isinstance(x, ast.Assign)]
    values = {ast.unparse(x.targets[0]): x.value for x in statements}
    return click.Choice([*dict.fromkeys(text for name in constants for text in ast.literal_eval(values[name]))])
