"""`jaxrate compare`."""

from __future__ import annotations

import json
import time
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.common import (
    Report,
    columns,
    hint_side,
    make,
    parse,
    period_option,
    read,
    reporting,
    schedule,
    scores,
    system_option,
)
from jaxrate.text import near, table


@click.command(
    short_help="Rate a file with every system: which predicts best?",
    epilog="Example: jaxrate compare games.csv --last 0.2 --param glicko.c=20 --side home",
)
@click.argument("file", metavar="FILE", type=click.Path())
@system_option(multiple=True, help="Only this one; may be repeated.  [default: all that fit]")
@click.option("--param", "params", multiple=True, metavar="[SYSTEM.]NAME=VALUE",
              help="A hyperparameter of one system, or of all that have it; may be repeated.")  # fmt: skip
@period_option(default=7.0, show_default=True, help="Length of rating periods.")
@columns
@click.option("--last", type=float, default=1.0, metavar="SHARE",
              help="Score this last share of the matches only, as 0.2.  [default: all]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reporting
def compare(
    report: Report,
    file: str,
    name: tuple[str, ...],
    params: tuple[str, ...],
    period: float,
    options: dict[str, Any],
    last: float,
    as_json: bool,
) -> None:
    """Rate FILE with every system, match by match and in rating periods, and say which predicted best.

    Each predicts every match before it learns from it. Times are of a second replay, compilation and schedule apart.
    """
    chosen = {key: make(key, {}) for key in name or jr.SYSTEMS}
    changes: dict[str, dict[str, Any]] = {key: {} for key in chosen}
    given = parse(params)
    for field in sorted(given, key=lambda field: "." in field):  # those of one system last: they win
        only, dot, short = field.rpartition(".")
        named = [key for key in chosen if key == only or not dot]
        fitting = [key for key in named if short in (*chosen[key].params._fields, *chosen[key].settings)]
        if not named:
            raise ValueError(f"--param {field}: no system {only!r} here{near(only, chosen)}")
        if not fitting:
            everything = {x for key in named for x in (*chosen[key].params._fields, *chosen[key].settings)}
            raise ValueError(f"{' and '.join(named)}: no parameter {short!r}{near(short, everything)}")
        for key in fitting:
            changes[key][short] = given[field]
    if not 0 < last <= 1:
        raise ValueError(f"--last must be above 0 and at most 1, got {last:g}")
    data = read(report, file, options)
    kind = type(data.events) if isinstance(data.events, jr.Matches) else type(data.events.events)
    fitting = [key for key, system in chosen.items() if kind in system.events]
    if not fitting:
        raise ValueError(f"none of these systems rates {kind.__name__.lower()}: {', '.join(chosen)}")
    matches = data.matches
    hint_side(report, data, [make(key, changes[key]) for key in fitting])
    if data.clock is None:
        report.note("no column of time, so no rating periods; name one with --time")
    forms = [(key, length) for key in fitting for length in ((None, period) if data.clock else (None,))]
    forms = [(key, length) for key, length in forms if length is None or jr.Periods in chosen[key].events]
    n = len(matches.score)
    scored = np.arange(n) >= min(round((1 - last) * n), n - 1)
    weight = None if matches.context.weight is None else matches.context.weight[scored]
    arranged: dict[float | None, tuple[Any, dict[int, Any]]] = {}
    results = []
    with report.stage(f"rating {n:,} matches in {len(forms)} ways", len(forms)) as done:
        for number, (key, length) in enumerate(forms):
            system = make(key, changes[key], length)
            if length not in arranged:
                arranged[length] = matches if length is None else jr.periods(matches, length), {}
            events, made = arranged[length]
            result, seconds = timed_run(system, events, schedule(system, events, made))
            quality = scores(np.asarray(result.prediction)[scored], matches.score[scored], weight)
            results.append(
                {"system": key, "period": length, "params": system.params._asdict() | dict(system.settings)}
                | quality
                | {"matches/s": n / seconds}
            )
            done(number + 1)
    results.sort(key=lambda result: result["log loss"])
    if as_json:
        about = {"file": file, "matches": n, "players": len(data.players), "scored": int(scored.sum())}
        click.echo(json.dumps(about | {"results": results}, indent=2))
        return
    counted = "" if last == 1 else f", the last {scored.sum():,} scored"
    click.echo(f"{n:,} matches of {len(data.players):,} players{counted}\n")
    rows = [
        (x["system"], "by match" if x["period"] is None else f"periods of {x['period']:g}",
         *(f"{x[key]:.4f}" for key in quality), f"{x['matches/s']:,.0f}")
        for x in results
    ]  # fmt: skip
    click.echo(table(["system", "form", *quality, "matches/s"], rows, left=("system", "form")))


def timed_run(system: jr.RatingSystem, events: Any, plan: Any) -> tuple[Any, float]:
    """What `run` gives, and the seconds of a second run: compiled, with the schedule made."""
    import jax

    for _ in range(2):
        start = time.perf_counter()
        result = jax.block_until_ready(jr.run(system, events, schedule=plan))
        seconds = time.perf_counter() - start
    return result, seconds
