"""`jaxrate plan`."""

from __future__ import annotations

import time
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.cli.choosing import check_period, check_times
from jaxrate.cli.options import period_option, system_option
from jaxrate.cli.progress import Report, reporting
from jaxrate.cli.reading import Reading, columns, read
from jaxrate.cli.terminal import say
from jaxrate.events import part
from jaxrate.memory import in_words, of_device
from jaxrate.text import number, table

SAMPLE = 50_000  # matches from the middle of the history, which are rated to tell how long all of them take
PER_EVENT = 200.0  # bytes of memory that a match or a participation takes at the peak of a run
BASE = 5e8  # bytes that Python and the compiler take


@click.command(
    cls=Reading,
    short_help="What rating a file would take: parallelism, memory, time.",
    epilog="Example: jaxrate plan games.parquet --system glicko --period 30",
)
@click.argument("file", metavar="FILE", type=click.Path())
@system_option(multiple=True, help="Only this one; may be repeated.  [default: all that fit]")
@period_option(help="As for rating periods of this length.")
@columns
@reporting
def plan(report: Report, file: str, name: tuple[str, ...], period: float | None, options: dict[str, Any]) -> None:
    """What rating FILE would take: how much can be rated at once, memory, and time on this machine.

    Rates nothing but a sample from the middle of FILE, to measure the time.
    """
    import jax

    from jaxrate.replay.compiling import blank
    from jaxrate.replay.schedule import levels
    from jaxrate.systems.choosing import adapted, make

    names = [make(key, {}).name for key in name or jr.SYSTEMS]
    data = read(report, file, options)
    check_period(data, period)
    systems = [adapted(name, {}, period, data) for name in names]
    for system in systems:
        check_times(system, data, file)
    events = data.events if period is None else jr.periods(data.matches, period)
    flat = events.events if isinstance(events, jr.Ragged) else events
    players, n = len(data.players), len(data.rows)
    with report.stage("scheduling"):
        start = time.perf_counter()
        widest = jr.by_level(events)
        seconds = time.perf_counter() - start
    what = "participations" if isinstance(flat, jr.Rounds) else "matches"
    say(f"{n:,} {what} of {players:,} players{_span(data)}")
    say(f"{_shape(events, widest)}; made in {seconds:.2f} s")
    memory = of_device(jax.devices()[0])
    say(f"device: {jax.devices()[0].device_kind}{'' if memory is None else f', {memory / 1e9:.1f} GB'}\n")
    rows, short = [], []
    made: dict[int, Any] = {}
    for system in systems:
        if type(flat) not in system.events:
            only = system.events == (jr.Periods,) and isinstance(flat, jr.Matches)
            why = "only with --period" if only else f"does not rate {type(flat).__name__.lower()}"
            rows.append((system.name, why, "", ""))
            continue
        if system.settings.get("categories", 1) > 1 and data.categories is None:
            rows.append((system.name, "only with --category", "", ""))
            continue
        state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(blank(system, players)))
        need = state + PER_EVENT * n + BASE
        if memory is not None and need > 0.9 * memory:
            short.append(system.name)
            expected = "-"
        else:
            with report.stage(f"measuring {system.name}"):
                expected = f"{_expect(system, events, levels(system, events, made), players, seconds):.2g} s"
        rows.append((system.name, in_words(state), in_words(need), expected))
    say(table(["system", "state", "memory", "rating takes"], rows))
    if short:
        report.note(f"memory will not do for {', '.join(short)}: rate fewer players, or on a larger device")


def _span(data: jr.Dataset) -> str:
    from jaxrate.records.rated import to_dates

    if data.clock is None:
        return ", no times"
    times = data.events.time if isinstance(data.events, jr.Matches) else data.events.events.time
    span = np.array([times.min(), times.max()])
    first, last = to_dates(np.floor(span)) if data.clock == "dates" else map(number, span)
    return f", {first} to {last}"


def _shape(events: Any, schedule: Any) -> str:
    """The schedule in words."""
    if isinstance(events, jr.Matches):
        steps, width = schedule.num_steps, schedule.number.shape[1]
        return f"{steps:,} steps of up to {width} matches at once, {schedule.fill:.0%} filled"
    parts = 1 if events.pair_start is None else 2  # a period is of players and pairs
    taken = zip(schedule.blocks, schedule.steps, strict=True)
    slots = sum(steps * block.number.shape[1] * sum(block.size[:parts]) for block, steps in taken)
    work = events.player_start[-1] + (0 if events.pair_start is None else events.pair_start[-1])
    steps, sizes = sum(schedule.steps), len({block.size for block in schedule.blocks})
    kind = type(events.events).__name__.lower()
    return f"{len(events.player_start) - 1:,} {kind} in {steps:,} steps of {sizes} sizes, {work / slots:.0%} filled"


def _expect(system: jr.RatingSystem, events: Any, arranged: Any, players: int, making: float) -> float:
    """Seconds of `run`, from a sample; making the schedule takes so many."""
    import jax

    from jaxrate.records.comparison import fixed_key
    from jaxrate.replay.compiling import worth

    way: Any
    if isinstance(events, jr.Matches):
        n, steps = len(events.score), arranged.num_steps
        if n / steps < worth(system, system.params, fixed_key(system), events):
            sample, way, making = part(events, max(0, (n - SAMPLE) // 2), (n + SAMPLE) // 2), "stream", 0.0
            share = len(sample.score) / n
        else:
            size = min(steps, -(-SAMPLE * steps // n))
            middle = slice((steps - size) // 2, (steps + size) // 2)
            cut = jax.tree.map(lambda x: x[middle], (arranged.events, arranged.number))
            sample, way, share = events, arranged._replace(events=cut[0], number=cut[1], num_steps=size), size / steps
    else:
        start = events.player_start
        low = max(0, np.searchsorted(start, (start[-1] - SAMPLE) / 2, "right") - 1)
        high = np.searchsorted(start[:-1], (start[-1] + SAMPLE) / 2)
        sample = part(events, low, high)
        way, share = jr.by_level(sample), (start[high] - start[low]) / start[-1]
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        np.asarray(jr.run(system, sample, schedule=way, num_players=players, key=fixed_key(system)).prediction)
        times.append(time.perf_counter() - begin)
    return making + times[0] - times[1] + min(times[1:]) / share
