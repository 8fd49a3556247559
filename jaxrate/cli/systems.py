"""`jaxrate systems`."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.command_framework import Output, command
from jaxrate.cli.file_rating import SKILLS
from jaxrate.cli.options import SystemName
from jaxrate.cli.terminal_tables import ProgressReport, TextTable


@command(
    click.Argument(["name"], required=False, type=SystemName()),
    examples=("jaxrate systems", "jaxrate systems glicko2", "jaxrate systems --json"),
)
def systems(report: ProgressReport, name: str | None) -> Output:
    """List the rating systems, or describe the system NAME: its formulas and hyperparameters.

    Other commands set hyperparameters with --param NAME=VALUE.
    """
    if name is not None:
        system = lazy.make_system(name, {})
        return Output(_describe_system(name, system), _json_system(name, system))
    every = {key: lazy.make_system(key, {}) for key in jr.extend.ALL_SYSTEMS}
    return Output(_list_systems(every), {key: _json_system(key, system) for key, system in every.items()})


def _list_systems(systems_by_name: dict[str, jr.extend.RatingSystem]) -> list[str | TextTable]:
    """The table of all systems, and which are the defaults."""
    rows = [
        (
            key,
            ", ".join(_kinds_of_events(system)),
            re.sub(r', ".*?"', "", _system_docstring_first_line(key)),
        )  # without titles of papers
        for key, system in systems_by_name.items()
    ]
    defaults = ", ".join(f"{key} for {kind}" for kind, key in lazy.DEFAULT_SYSTEMS.items())
    compared = f"{', '.join(lazy.BASELINES)}; of teams with {', '.join(lazy.TEAM_BASELINES)}"
    text = f"Default systems: {defaults}, and {SKILLS} for matches with points or surfaces."
    table = TextTable(["system", "rates", "source"], rows, ("system", "rates", "source"))
    return [table, f"{text} Reports compare with {compared}."]


def _kinds_of_events(system: jr.extend.RatingSystem) -> list[str]:
    return [event.__name__.lower() for event in system.events]


def _describe_parameters(system: jr.extend.RatingSystem) -> list[dict[str, Any]]:
    """The hyperparameters of a system, with what is said of each; of skills also those of parts that may be added."""
    own = zip(system.params._fields, system.params, system.space, strict=True)
    further = lazy.list_further_hyperparameters() if system.name == SKILLS else ()
    return [
        {"name": field, "default": default, "range": x.range.text, "unit": x.unit_in_print, "meaning": x.meaning}
        for field, default, x in (*own, *further)
    ]


def _json_system(name: str, system: jr.extend.RatingSystem) -> dict[str, Any]:
    """The description of a system for JSON."""
    return {
        "system": name,
        "rates": _kinds_of_events(system),
        "default_of": [kind for kind, key in lazy.DEFAULT_SYSTEMS.items() if key == name],
        "source": _system_docstring_first_line(name),
        "parameters": _describe_parameters(system),
        "settings": dict(system.settings),
    }


def _system_description(name: str) -> str:
    return inspect.getdoc(sys.modules[jr.extend.ALL_SYSTEMS[name].__module__]) or ""


def _system_docstring_first_line(name: str) -> str:
    """The first line about a system; of a second system in one module that of its factory."""
    factory = jr.extend.ALL_SYSTEMS[name]
    is_first = next(x for x in jr.extend.ALL_SYSTEMS.values() if x.__module__ == factory.__module__) is factory
    if is_first:
        return _system_description(name).partition("\n")[0].rstrip(".")
    return (inspect.getdoc(factory) or "").partition("\n")[0].partition(":")[0]


def _describe_system(name: str, system: jr.extend.RatingSystem) -> list[str | TextTable]:
    """Formulas, parameters and further arguments of a system."""
    heads = ["name", "default", "range", "unit", "meaning"]
    rows = [[_format_cell(row[head]) for head in heads] for row in _describe_parameters(system)]
    settings = [f"{key}={_format_cell(value)}" for key, value in system.settings.items() if value not in (None, ())]
    texts = _system_description(name), _describe_further_arguments(name, system)
    description, usage = map(_unwrap_paragraphs, texts)
    return [
        description,
        f"Rates {', '.join(_kinds_of_events(system))}. Parameters:",
        TextTable(heads, rows, [*heads[:1], *heads[2:]]),
        f"Settings, also set with --param: {', '.join(settings)}." * bool(settings),
        usage,
    ]


def _format_cell(value: Any) -> str:
    """A value as --param takes it, or a text."""
    if isinstance(value, tuple):
        return ",".join(map(_format_cell, value))
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value).replace("`", "")


def _unwrap_paragraphs(text: str) -> str:
    """The text with one line for each paragraph, which a terminal wraps anew; a pipe gets it as it is written."""
    text = text.replace("`", "")
    return re.sub(r"(?<=\S)\n(?!\**\w+: )(?: {2})?(?=\S)", " ", text) if sys.stdout.isatty() else text


def _describe_further_arguments(name: str, system: jr.extend.RatingSystem) -> str:
    """The docstring of the factory without its first line, errors, and the hyperparameters, which the table has."""
    text, _, arguments = (inspect.getdoc(jr.extend.ALL_SYSTEMS[name]) or "").partition("\nArgs:\n")
    entries = re.split(r"^  (?=\S)", arguments.partition("\nRaises:\n")[0], flags=re.MULTILINE)
    further = [x.rstrip() for x in entries if x.strip() and x.partition(":")[0] not in system.params._fields]
    return "\n".join([text.partition("\n\n")[2].rstrip(), "", "Further arguments:", *further]).strip()
