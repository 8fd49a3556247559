"""`jaxrate systems`."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.commands import Output, command
from jaxrate.cli.shared_options import complete_systems
from jaxrate.cli.system_selection import SKILLS
from jaxrate.cli.terminal_tables import ProgressReport, TextTable


@command(
    click.Argument(["name"], required=False, shell_complete=complete_systems),
    examples=("jaxrate systems", "jaxrate systems glicko2", "jaxrate systems --json"),
)
def systems(report: ProgressReport, name: str | None) -> Output:
    """List the rating systems, or describe the system NAME: its formulas and hyperparameters.

    Other commands set hyperparameters with --param NAME=VALUE.
    """
    from jaxrate.systems.system_construction_by_name import make_system

    if name is not None:
        system = make_system(name, {})
        return Output(_describe_system(name, system), _json_system(name, system))
    every = {key: make_system(key, {}) for key in jr.extend.SYSTEMS}
    return Output(_list_systems(every), {key: _json_system(key, system) for key, system in every.items()})


def _list_systems(systems_by_name: dict[str, jr.extend.RatingSystem]) -> list[str | TextTable]:
    """The table of all systems, and which are the defaults."""
    from jaxrate.evaluation.comparison import BASELINES, TEAM_BASELINES
    from jaxrate.systems import DEFAULT_SYSTEMS

    rows = []
    for key, system in systems_by_name.items():
        kinds = [event.__name__.lower() for event in system.events]
        events = ", ".join(x for x in kinds if x != "periods" or "matches" not in kinds)  # which have periods
        rows.append((key, events, re.sub(r', ".*?"', "", _system_source(key))))  # without titles of papers
    defaults = ", ".join(f"{key} for {kind}" for kind, key in DEFAULT_SYSTEMS.items())
    defaults += f", and {SKILLS} for matches with points or surfaces"
    compared = f"{', '.join(BASELINES)}; of teams with {', '.join(TEAM_BASELINES)}"
    table = TextTable(["system", "rates", "source"], rows, ("system", "rates", "source"))
    return [table, f"Default systems: {defaults}. Reports compare with {compared}."]


def _describe_parameters(system: jr.extend.RatingSystem) -> list[dict[str, Any]]:
    """The hyperparameters of a system, with what is said of each."""
    return [
        {"name": field, "default": default, "range": x.range.text, "unit": x.unit, "meaning": x.meaning}
        for field, default, x in zip(system.params._fields, system.params, system.space, strict=True)
    ]


def _json_system(name: str, system: jr.extend.RatingSystem) -> dict[str, Any]:
    """The description of a system for JSON."""
    from jaxrate.systems import DEFAULT_SYSTEMS

    return {
        "system": name,
        "rates": [event.__name__.lower() for event in system.events],
        "default_of": [kind for kind, key in DEFAULT_SYSTEMS.items() if key == name],
        "source": _system_source(name),
        "parameters": _describe_parameters(system),
        "settings": dict(system.settings),
    }


def _system_description(name: str) -> str:
    return inspect.getdoc(sys.modules[jr.extend.SYSTEMS[name].__module__]) or ""


def _system_source(name: str) -> str:
    """The first line about a system; of a second system in one module that of its factory."""
    factory = jr.extend.SYSTEMS[name]
    is_first = next(x for x in jr.extend.SYSTEMS.values() if x.__module__ == factory.__module__) is factory
    line = (_system_description(name) if is_first else inspect.getdoc(factory) or "").splitlines()[0]
    return line.partition(":")[0] if not is_first else line.rstrip(".")


def _describe_system(name: str, system: jr.extend.RatingSystem) -> list[str | TextTable]:
    """Formulas, parameters and further arguments of a system."""
    events = ", ".join(event.__name__.lower() for event in system.events)
    parameters = _describe_parameters(system)
    rows = [[_format_default(x["default"]), x["range"], x["unit"], x["meaning"].replace("`", "")] for x in parameters]
    named = [(x["name"], *row) for x, row in zip(parameters, rows, strict=True)]
    table = TextTable(["name", "default", "range", "unit", "meaning"], named, ("name", "range", "unit", "meaning"))
    settings = [
        f"{key}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for key, value in system.settings.items()
        if value not in (None, ())
    ]
    further = f"Settings, also set with --param: {', '.join(settings)}." if settings else ""
    description, usage = map(
        _unwrap_paragraphs, (_system_description(name), _docstring_without_hyperparameters(name, system))
    )
    return [description, f"Rates {events}. Parameters:", table, further, usage]


def _format_default(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _unwrap_paragraphs(text: str) -> str:
    """The text with one line for each paragraph, which a terminal wraps anew; a pipe gets it as it is written."""
    text = text.replace("`", "")
    return re.sub(r"(?<=\S)\n(?!\**\w+: )(?: {2})?(?=\S)", " ", text) if sys.stdout.isatty() else text


def _docstring_without_hyperparameters(name: str, system: jr.extend.RatingSystem) -> str:
    """The docstring of the factory without the hyperparameters, which the table has."""
    lines, is_kept, has_arguments = [], True, False
    excluded = {*system.params._fields, "Args", "Raises", "ValueError"}
    for line in (inspect.getdoc(jr.extend.SYSTEMS[name]) or "").partition("\n\n")[2].splitlines():
        start = line[:3].strip()  # of a paragraph or an entry, not within one
        is_kept = line.partition(":")[0].strip() not in excluded if start else is_kept or not line
        if is_kept and start and line.startswith(" ") and not has_arguments:
            has_arguments = True
            lines.append("Further arguments:")
        lines += [line.removeprefix("  ")] if is_kept else []
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
