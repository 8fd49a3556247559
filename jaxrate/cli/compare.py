"""`jaxrate compare`."""

from __future__ import annotations

import json
import time
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.common import Report, columns, hint_side, make, parse, read, reporting, scores, system_option
from jaxrate.text import near, table


@click.command(
    short_help="Rate a file with every system: which predicts best?",
    epilog="Example: jaxrate compare games.csv --last 0.2 --param glicko.c=20 --side home",
)
@click.argument("file", metavar="FILE")
@system_option(multiple=True, help="Only this one; may be repeated.  [default: all that fit]")
@click.option("--param", "params", multiple=True, metavar="[SYSTEM.]NAME=VALUE",
              help="A hyperparameter of one system, or of all that have it; may be repeated.")  # fmt: skip
@click.option("--period", type=float, default=7.0, show_default=True, help="Length (days) of rating periods.")
@columns
@click.option("--last", type=click.FloatRange(0, 1, min_open=True), default=1.0, metavar="SHARE",
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
    if not 0 < period < float("inf"):
        raise ValueError(f"--period must be above 0, got {period:g}")
    chosen = {key: make(key, {}) for key in name or jr.SYSTEMS}
    changes = {key: {} for key in chosen}  # type: dict[str, dict[str, float | None]]
    for field, value in parse(params).items():
        only, _, short = field.rpartition(".")
        fitting = [key for key, system in chosen.items() if only in ("", key) and short in system.params._fields]
        if not fitting:
            everything = [f"{only}.{x}" if only else x for s in chosen.values() for x in s.params._fields]
            raise ValueError(f"no system here has a parameter {field!r}{near(field, everything)}")
        for key in fitting:
            changes[key][short] = value
    data = read(report, file, options)
    kind = type(data.events) if isinstance(data.events, jr.Matches) else type(data.events.events)
    fitting = [key for key, system in chosen.items() if kind in system.events]
    if not fitting:
        raise ValueError(f"none of these systems rates {kind.__name__.lower()}: {', '.join(chosen)}")
    matches = data.matches
    hint_side(report, data, [make(key, changes[key]) for key in fitting])
    timed = bool(matches.time.any())
    if not timed:
        report.note("no column of time, so no rating periods; name one with --time")
    forms = [(key, length) for key in fitting for length in ((None, period) if timed else (None,))]
    forms = [(key, length) for key, length in forms if length is None or jr.Periods in chosen[key].events]
    scored = np.arange(len(matches.score)) >= round((1 - last) * len(matches.score))
    weight = None if matches.context.weight is None else matches.context.weight[scored]
    schedules = {}
    results = []
    with report.stage(f"rating {len(matches.score):,} matches in {len(forms)} ways", len(forms)) as done:
        for number, (key, length) in enumerate(forms):
            system = make(key, changes[key], length)
            if length not in schedules:
                events = matches if length is None else jr.periods(matches, length)
                schedules[length] = events, jr.by_level(events)
            prediction, seconds = timed_run(system, *schedules[length])
            quality = scores(prediction[scored], matches.score[scored], weight)
            results.append(
                {"system": key, "period": length, "params": system.params._asdict()}
                | quality
                | {"matches/s": len(matches.score) / seconds}
            )
            done(number + 1)
    results.sort(key=lambda result: result["log loss"])
    if as_json:
        about = {"file": file, "matches": len(matches.score), "players": len(data.players), "scored": int(scored.sum())}
        click.echo(json.dumps(about | {"results": results}, indent=2))
        return
    counted = "" if last == 1 else f", the last {scored.sum():,} scored"
    click.echo(f"{len(matches.score):,} matches of {len(data.players):,} players{counted}\n")
    rows = [
        (x["system"], "by match" if x["period"] is None else f"periods of {x['period']:g}",
         *(f"{x[key]:.4f}" for key in quality), f"{x['matches/s']:,.0f}")
        for x in results
    ]  # fmt: skip
    click.echo(table(["system", "form", *quality, "matches/s"], rows, left=("system", "form")))


def timed_run(system: jr.RatingSystem, events: Any, schedule: Any) -> tuple[Any, float]:
    """Predictions, and the seconds of a second run: compiled, with the schedule made."""
    for _ in range(2):
        start = time.perf_counter()
        prediction = np.asarray(jr.run(system, events, schedule=schedule).prediction)  # waits for the device
        seconds = time.perf_counter() - start
    return prediction, seconds
