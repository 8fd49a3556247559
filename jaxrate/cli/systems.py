"""`jaxrate systems`."""

from __future__ import annotations

import inspect
import sys
from textwrap import dedent

import click

import jaxrate as jr
from jaxrate.cli.options import complete_systems
from jaxrate.text import table


@click.command(short_help="List the rating systems, or describe one.", epilog="Example: jaxrate systems glicko2")
@click.argument("name", required=False, shell_complete=complete_systems)
def systems(name: str | None) -> None:
    """The rating systems: what they rate and where they come from; of the one NAMEd, all that it computes.

    Its parameters are given as --param NAME=VALUE to the other commands.
    """
    if name is not None:
        _print_one(name)
        return
    from jaxrate.systems.choosing import make

    rows = []
    for key in jr.SYSTEMS:
        system = make(key, {})
        events = ", ".join(event.__name__.lower() for event in system.events)
        rows.append((key, events, len(system.params), _about(key).splitlines()[0].rstrip(".")))
    click.echo(table(["system", "rates", "parameters", "source"], rows, left=("system", "rates", "source")))


def _about(name: str) -> str:
    return inspect.getdoc(sys.modules[jr.SYSTEMS[name].__module__]) or ""


def _print_one(name: str) -> None:
    from jaxrate.systems.choosing import make

    system = make(name, {})
    events = ", ".join(event.__name__.lower() for event in system.events)
    click.echo(f"{_about(name)}\n\nRates {events}. Parameters:\n")
    rows = [
        (field, "none" if default is None else f"{default:g}", about.range, about.unit, about.meaning)
        for field, default, about in zip(system.params._fields, system.params, system.space, strict=True)
    ]
    head = ["name", "default", "range", "unit", "meaning"]
    click.echo(table(head, rows, left=("name", "range", "unit", "meaning")))
    settings = [
        f"{key}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for key, value in system.settings.items()
        if value is not None
    ]
    if settings:
        click.echo(f"\nSettings, given in the same way: {', '.join(settings)}.")
    usage = dedent(inspect.getdoc(jr.SYSTEMS[name]) or "").partition("\n\n")[2]
    click.echo(f"\n{usage}" if usage else "", nl=bool(usage))
