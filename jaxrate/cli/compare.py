"""`jaxrate compare`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.common import (
    TEAMS,
    Reading,
    Report,
    check_period,
    check_times,
    columns,
    duels,
    fitted,
    hint_side,
    in_teams,
    key_of,
    make,
    parse,
    percent,
    period_option,
    rates,
    read,
    reporting,
    schedule,
    scores,
    standings,
    system_option,
)
from jaxrate.text import near, table


@click.command(
    cls=Reading,
    short_help="Rate a file with every system: which predicts best?",
    epilog="Example: jaxrate compare games.csv --last 0.2 --param glicko.c=20 --side home",
)
@click.argument("file", metavar="FILE", type=click.Path())
@system_option(multiple=True, help="Only this one; may be repeated.  [default: all that fit]")
@click.option("--param", "params", multiple=True, metavar="[SYSTEM.]NAME=VALUE",
              help="A hyperparameter of one system, or of all that have it; may be repeated.")  # fmt: skip
@period_option(help="Length of rating periods.  [default: 7]")
@columns
@click.option("--last", type=float, default=1.0, metavar="SHARE",
              help="Score this last share of the matches or contests only, as 0.2.  [default: all]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reporting
def compare(
    report: Report,
    file: str,
    name: tuple[str, ...],
    params: tuple[str, ...],
    period: float | None,
    options: dict[str, Any],
    last: float,
    as_json: bool,
) -> None:
    """Rate FILE with every system, matches also in rating periods, and say which predicted best.

    Each predicts every match before it learns from it. Of contests, its ratings before each say who will be ahead of
    whom (pair inversion, the higher the better), and where everybody will come (rank deviation, the lower the better):
    of all who have played before, and of those who have in at least 5 contests. Where all contests are of two sides,
    they are scored as matches are. Times are of a second replay, compilation and schedule apart.
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
    check_last(last)
    data = read(report, file, options)
    kind = type(data.events) if isinstance(data.events, jr.Matches) else type(data.events.events)
    fitting = candidates(report, file, data, changes, told=bool(name))
    lengths: tuple[float | None, ...] = (None,)
    if kind is jr.Rounds:
        check_period(data, period)
    else:
        hint_side(report, data, [make(key, changes[key]) for key in fitting])
        if data.clock is None:
            report.note("no column of time, so no rating periods; name one with --time")
        else:
            lengths = None, 7.0 if period is None else period
    task, results = compared(report, data, {key: changes[key] for key in fitting}, lengths, last)
    unit = f"{[*task.counts][-1]}/s"
    if as_json:
        found = [
            about | {name: None if x != x else x for name, x in quality.items()} | {unit: speed}
            for about, _, quality, speed in results
        ]
        top = {"file": file, **task.counts, "players": len(data.players), "scored": task.scored}
        click.echo(json.dumps(top | {"results": found}, indent=2))
        return
    said = ", ".join(f"{count:,} {what}" for what, count in task.counts.items())
    counted = "" if last == 1 else f", the last {task.scored:,} scored"
    click.echo(f"{said} of {len(data.players):,} players{counted}\n")
    formed = ["form"] * (kind is not jr.Rounds)
    rows = [
        (about["system"], *[form for _ in formed], *map(task.show, quality.values()), f"{speed:,.0f}")
        for about, form, quality, speed in results
    ]
    click.echo(table(["system", *formed, *results[0].quality, unit], rows, left=("system", "form")))


def check_last(last: float) -> None:
    if not 0 < last <= 1:
        raise ValueError(f"--last must be above 0 and at most 1, got {last:g}")


def candidates(
    report: Report, file: str, data: jr.Dataset, changes: dict[str, dict[str, Any]], *, told: bool
) -> list[str]:
    """Which of these systems, with these changes of hyperparameters, rate these events.

    Unless the user named them (`told`), those whose demands the events do not meet are left out; ValueError if none is
    left.
    """
    kind = type(data.events) if isinstance(data.events, jr.Matches) else type(data.events.events)
    chosen = {key: make(key, {}) for key in changes}
    fitting = [key for key, system in chosen.items() if rates(system, data)]
    if not told and kind is jr.Matches and (data.categories is None or data.clock is None):
        fitting = [key for key in fitting if jr.Matches in chosen[key].events]
    if not fitting:
        raise ValueError(f"none of these systems rates {kind.__name__.lower()}: {', '.join(chosen)}")
    if in_teams(data):
        others, fitting = [key for key in fitting if key not in TEAMS], [key for key in fitting if key in TEAMS]
        if not fitting:
            raise ValueError(f"none of these systems rates teams: {', '.join(others)}; try {' or '.join(TEAMS)}")
        if others:
            report.note(f"left out, since they know no teams: {', '.join(others)}")
    if not told and kind is jr.Matches:
        for key in [*fitting]:
            system = fitted(key, changes[key], None, data)
            try:
                system.check(data.events)
            except ValueError as error:
                report.note(f"left out: {key}, since {error}")
                fitting.remove(key)
    if kind is jr.Rounds:
        for key in fitting:
            check_times(make(key, changes[key]), data, file)
    return fitting


class Result(NamedTuple):
    """How a system did in one form."""

    about: dict[str, Any]  # system, period, params
    form: str
    quality: dict[str, float]
    speed: float  # rows a second


def compared(
    report: Report,
    data: jr.Dataset,
    changes: dict[str, dict[str, Any]],
    lengths: tuple[float | None, ...],
    last: float,
) -> tuple[Task, list[Result]]:
    """Rate by each of these systems, in periods of each of these lengths (None: one by one); the best first."""
    of_matches = isinstance(data.events, jr.Matches)
    task = _matches(data, last) if of_matches else _contests(data, last)
    kind = jr.Matches if of_matches else jr.Rounds
    forms = [
        (key, length)
        for key in changes
        for length in lengths
        if (kind if length is None else jr.Periods) in make(key, {}).events
    ]
    if not forms:
        raise ValueError(f"{' and '.join(changes)} rates rating periods, which need times; name the column with --time")
    what, count = next(iter(task.counts.items()))
    arranged: dict[float | None, tuple[Any, dict[int, Any]]] = {}
    results = []
    with report.stage(f"rating {count:,} {what} in {len(forms)} ways", len(forms)) as done:
        for number, (key, length) in enumerate(forms):
            system = fitted(key, changes[key], length, data)
            if length not in arranged:
                arranged[length] = data.events if length is None else jr.periods(data.matches, length), {}
            events, made = arranged[length]
            result, seconds = timed_run(system, events, schedule(system, events, made), task.run)
            form = "by match" if length is None else f"periods of {length:g}"
            about = {"system": key, "period": length, "params": system.params._asdict() | dict(system.settings)}
            results.append(Result(about, form, task.quality(result), len(data.rows) / seconds))
            done(number + 1)
    return task, sorted(results, key=lambda result: task.order(result.quality))


class Task(NamedTuple):
    """What is compared."""

    counts: dict[str, int]  # of what; the last is what speed counts
    scored: int  # how many of the first
    run: Callable[..., Any]
    quality: Callable[[Any], dict[str, float]]  # of what `run` gives
    order: Callable[[dict[str, float]], float]  # by quality, the best first
    show: Callable[[float], str]  # a quality


def _matches(data: jr.Dataset, last: float) -> Task:
    matches = data.matches
    scored = _last(len(matches.score), last)
    weight = None if matches.context.weight is None else matches.context.weight[scored]

    def quality(result: Any) -> dict[str, float]:
        return scores(np.asarray(result.prediction)[scored], matches.score[scored], weight)

    counts = {"matches": len(scored)}
    return Task(counts, int(scored.sum()), jr.run, quality, lambda q: q["log loss"], lambda x: f"{x:.4f}")


def _contests(data: jr.Dataset, last: float) -> Task:
    size = np.diff(data.rounds.player_start)
    scored = _last(len(size), last)

    counts = {"contests": len(size), "participations": len(data.rows)}
    scored_contests = int(scored.sum())
    if sides := duels(data.rounds):
        one, score = sides[0][scored], sides[1][scored]

        def of_sides(result: Any) -> dict[str, float]:
            return scores(np.asarray(result.prediction)[one], score)

        return Task(counts, scored_contests, jr.run, of_sides, lambda q: q["log loss"], lambda x: f"{x:.4f}")

    def quality(result: Any) -> dict[str, float]:
        return standings(data.rounds, result.before.mean, scored=np.repeat(scored, size))

    return Task(counts, scored_contests, jr.history, quality, lambda q: -np.nan_to_num(q["pair inversion"]), percent)


def _last(n: int, share: float) -> Any:
    """Which are the last share of n events, at least one."""
    return np.arange(n) >= min(round((1 - share) * n), n - 1)


def timed_run(system: jr.RatingSystem, events: Any, plan: Any, run: Callable[..., Any]) -> tuple[Any, float]:
    """What `run` gives, and the seconds of a second run: compiled, with the schedule made."""
    import jax

    for _ in range(2):
        start = time.perf_counter()
        result = jax.block_until_ready(run(system, events, schedule=plan, key=key_of(system)))
        seconds = time.perf_counter() - start
    return result, seconds
