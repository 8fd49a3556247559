"""`jaxrate plan`."""

from __future__ import annotations

import json
import time
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.input_options import (
    VariadicColumnOptionsCommand,
    is_about_teams,
    is_parquet_folder_or_pattern,
    read_events,
    reading_options,
)
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.path_type import NonEmptyPath
from jaxrate.cli.shared_options import period_option, system_option
from jaxrate.cli.system_selection import check_contest_file_time_order, check_period
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, print_escaped, print_sections, report_options
from jaxrate.core.memory_checks import device_memory_bytes, format_bytes
from jaxrate.core.text_format import format_number

SAMPLE_SIZE = 50_000  # matches from the middle of the history, which are rated to estimate the time of all
BYTES_PER_EVENT = 200.0  # bytes of memory that a match or a participation takes at the peak of a run
CHUNK_MATCHES = 1 << 20  # matches or participations of a chunk, as `rate` has them by default
CHUNKS_HELD = 2  # chunks of a folder that are in memory, about
BASE_BYTES = 5e8  # bytes that Python and the compiler take


@click.command(
    cls=VariadicColumnOptionsCommand,
    examples=("jaxrate plan games.csv", "jaxrate plan games.parquet --system glicko --period 30"),
)
@click.argument("file", metavar="FILE", type=NonEmptyPath())
@system_option(multiple=True, help="Only this system; may be repeated.  [default: all that can rate the file]")
@period_option(help="Assume rating periods of this length.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: memory in bytes, times in seconds.")
@reading_options()
@report_options
def plan(
    report: ProgressReport,
    file: str,
    name: tuple[str, ...],
    period: float | None,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Estimate the parallelism, memory and time that rating FILE would take on this machine.

    Times are measured on a sample from the middle of FILE; of a folder, which is rated by chunks, the first is read.
    """
    import jax

    from jaxrate.data.parquet_table import find_parquet_table
    from jaxrate.replay.padded_states_and_columns import state_shapes
    from jaxrate.replay.schedule import get_or_make_levels_plan
    from jaxrate.systems.system_construction_by_name import make_system, make_system_for_data

    names = [make_system(key, {}).name for key in name or jr.extend.SYSTEMS]
    first = CHUNK_MATCHES if "format" not in options and is_parquet_folder_or_pattern(file) else None
    data = read_events(report, file, options, first=first)
    check_period(data, period)
    systems = [make_system_for_data(name, {}, period, data) for name in names]
    for system in systems:
        check_contest_file_time_order(system, data, file)
    events = data.events if period is None else jr.periods(data.matches, period)
    flat = events.flat
    players, n = len(data.players), len(data.rows) if first is None else find_parquet_table(file).row_count
    scale, held = n / len(data.rows), n if first is None else min(n, CHUNKS_HELD * CHUNK_MATCHES)
    with report.stage("scheduling"):
        start = time.perf_counter()
        widest = jr.extend.schedule_by_level(events)
        seconds = time.perf_counter() - start
    unit = "participations" if isinstance(flat, jr.Rounds) else "matches"
    memory, device = device_memory_bytes(jax.devices()[0]), jax.devices()[0].device_kind
    summary = {unit: n, "players": players, **_time_span(data)}
    shape = _schedule_shape(events, widest)
    if not as_json:
        noun = "teams" if is_about_teams(file, options) else "players"
        span = f"{summary['first']} to {summary['last']}" if "first" in summary else "no times"
        memory_text = "" if memory is None else f", {memory / 1e9:.1f} GB"
        print_sections(
            f"{n:,} {unit} of {'' if scale == 1 else 'at least '}{players:,} {noun}, {span}\n"
            f"{_format_schedule(shape)}; made in {seconds:.2f} s\n"
            f"device: {device}{memory_text}\n"
        )
    rows: list[dict[str, Any]] = []
    schedules: dict[int, Any] = {}
    for system in systems:
        reason = _unsupported_reason(system, flat, data, is_named=bool(name))
        rows.append({"system": system.name, "fits": reason is None} | ({} if reason is None else {"why": reason}))
        if reason is not None:
            continue
        state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state_shapes(system, players)))
        required = state + BYTES_PER_EVENT * held + BASE_BYTES
        rows[-1] |= {"state": state, "memory": required, "seconds": None}
        if memory is None or required <= 0.9 * memory:
            with report.stage(f"measuring {system.name}"):
                schedule = get_or_make_levels_plan(system, events, schedules)
                times = _estimate_run_seconds(system, events, schedule, players, seconds)
            rows[-1] |= {"seconds": scale * times[0], "rating": scale * times[1]}
    if as_json:
        summary |= {"schedule": shape | {"seconds": seconds}, "device": device, "memory": memory, "systems": rows}
        print_escaped(json.dumps(summary, indent=1))
    else:
        heads = ["system", "peak memory", "rating takes", "a replay"]
        cells = [_format_plan_row(row) for row in rows if row["fits"]]
        names_by_reason: dict[str, list[str]] = {}
        for row in rows:
            names_by_reason.setdefault(row.get("why", ""), []).append(row["system"])
        notes = [f"{', '.join(names)}: {why}" for why, names in names_by_reason.items() if why]
        notes.append(f"Peak memory is that of Python and the compiler, {format_bytes(BASE_BYTES)}, {unit} and ratings.")
        print_sections(TextTable(heads, cells, ("system",)) if cells else "", "\n".join(notes))
    if short := [row["system"] for row in rows if row["fits"] and row["seconds"] is None]:
        report.note(f"not enough memory for {', '.join(short)}: rate fewer players, or use a larger device")


def _unsupported_reason(
    system: jr.extend.RatingSystem, flat_events: Any, data: jr.data.Dataset, *, is_named: bool
) -> str | None:
    """Why a system does not rate these events; None if it does."""
    from jaxrate.systems.system_construction_by_name import CONTEST_SYSTEMS

    if type(flat_events) not in system.events:
        only = system.events == (jr.Periods,) and isinstance(flat_events, jr.Matches)
        return "only with --period" if only else f"does not rate {type(flat_events).__name__.lower()}"
    if isinstance(flat_events, jr.Matches) and system.name in CONTEST_SYSTEMS and not is_named:
        return "only with --system"
    if system.settings.get("categories", 1) > 1 and data.categories is None:
        return "only with --category"
    return None


def _format_plan_row(system_plan: dict[str, Any]) -> tuple[str, ...]:
    """The row of a system in the table."""
    durations = ("-" if system_plan.get(x) is None else f"{system_plan[x]:.2g} s" for x in ("seconds", "rating"))
    return system_plan["system"], format_bytes(system_plan["memory"]), *durations


def _time_span(data: jr.data.Dataset) -> dict[str, str]:
    """The first and last time, if there are times."""
    from jaxrate.history.event_columns import days_to_dates

    if data.clock is None:
        return {}
    times = data.events.flat.time
    span = np.array([times.min(), times.max()])
    first, last = map(str, days_to_dates(np.floor(span))) if data.clock == "dates" else map(format_number, span)
    return {"first": first, "last": last}


def _schedule_shape(events: Any, schedule: Any) -> dict[str, Any]:
    """The size of the schedule: its steps, and the filled share of their slots."""
    if isinstance(events, jr.Matches):
        return {"steps": schedule.num_steps, "width": schedule.number.shape[1], "filled": float(schedule.fill)}
    kinds = 1 if events.pair_start is None else 2  # a period is of players and pairs
    blocks = zip(schedule.blocks, schedule.steps, strict=True)
    slots = sum(steps * block.number.shape[1] * sum(block.size[:kinds]) for block, steps in blocks)
    filled = int(events.player_start[-1]) + (0 if events.pair_start is None else int(events.pair_start[-1]))
    count = {type(events.events).__name__.lower(): len(events.player_start) - 1}
    sizes = len({block.size for block in schedule.blocks})
    return count | {"steps": sum(schedule.steps), "sizes": sizes, "filled": filled / slots}


def _format_schedule(shape: dict[str, Any]) -> str:
    """The size of the schedule as text."""
    filled = f"{100 * shape['filled']:.0f}% filled"
    if "width" in shape:
        return f"{shape['steps']:,} steps of up to {shape['width']} matches at once, {filled}"
    kind, count = next(iter(shape.items()))
    return f"{count:,} {kind} in {shape['steps']:,} steps of {shape['sizes']} sizes, {filled}"


def _estimate_run_seconds(
    system: jr.extend.RatingSystem, events: Any, schedule: Any, players: int, schedule_seconds: float
) -> tuple[float, float]:
    """Seconds of `run`, from a sample, and seconds of rating alone; `schedule_seconds` are for making the schedule."""
    import jax

    from jaxrate.events import slice_events
    from jaxrate.fitting.time_limited_fit import make_fixed_key
    from jaxrate.replay.execution import min_mean_width_for_levels

    sample_schedule: Any
    if isinstance(events, jr.Matches):
        n, steps = len(events.score), schedule.num_steps
        if n / steps < min_mean_width_for_levels(system, system.params, make_fixed_key(system), events):
            sample, sample_schedule, schedule_seconds = (
                slice_events(events, max(0, (n - SAMPLE_SIZE) // 2), (n + SAMPLE_SIZE) // 2),
                "stream",
                0.0,
            )
            share = len(sample.score) / n
        else:
            size = min(steps, -(-SAMPLE_SIZE * steps // n))
            middle = slice((steps - size) // 2, (steps + size) // 2)
            steps_of_sample = jax.tree.map(lambda x: x[middle], (schedule.events, schedule.number))
            sample, sample_schedule, share = (
                events,
                schedule._replace(events=steps_of_sample[0], number=steps_of_sample[1], num_steps=size),
                size / steps,
            )
    else:
        start = events.player_start
        low = max(0, np.searchsorted(start, (start[-1] - SAMPLE_SIZE) / 2, "right") - 1)
        high = np.searchsorted(start[:-1], (start[-1] + SAMPLE_SIZE) / 2)
        sample = slice_events(events, low, high)
        sample_schedule, share = jr.extend.schedule_by_level(sample), (start[high] - start[low]) / start[-1]
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        np.asarray(
            jr.run(system, sample, schedule=sample_schedule, num_players=players, key=make_fixed_key(system)).prediction
        )
        times.append(time.perf_counter() - begin)
    rating = min(times[1:]) / share
    return schedule_seconds + max(0.0, times[0] - times[1]) + rating, rating  # the first compiles
