"""`jaxrate rate --dry-run`."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import jaxrate as jr
from jaxrate.cli.commands import Output, check_only
from jaxrate.cli.input_options import OWN_OPTIONS, is_about_teams, is_parquet_folder_or_pattern, read_events
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.shared_options import RatingRequest
from jaxrate.cli.system_selection import check_contest_file_time_order, check_period
from jaxrate.cli.terminal_tables import ProgressReport, TextTable
from jaxrate.core.memory_checks import device_memory_bytes, format_bytes
from jaxrate.core.text_format import format_number

SAMPLE_ROWS = 50_000  # matches or participations from the middle of the history, which are rated to measure the rate
BYTES_PER_EVENT = 200.0  # bytes of memory that a match or a participation takes at the peak of a run
CHUNK_MATCHES = 1 << 20  # matches or participations of a chunk, as `rate` has them by default
CHUNKS_HELD = 2  # chunks of a folder that are in memory, about
BASE_BYTES = 5e8  # bytes that Python and the compiler take
OTHER_OPTIONS = "dry-run", "file", "system", "param", "period", "column", "json", "quiet", "verbose"
ALLOWED_OPTIONS = *OTHER_OPTIONS, *(name.replace("_", "-") for name in OWN_OPTIONS)


def describe_run(report: ProgressReport, request: RatingRequest) -> Output:
    """What a file has, the parallelism and the memory that rating it takes, and the rate of this machine.

    The rate is measured on a sample from the middle of the file; of a folder, which is rated by chunks, the first is
    read. Without a system in the request, all are described.
    """
    from jaxrate.data.table_files import join_files
    from jaxrate.systems.system_construction_by_name import make_system, make_system_for_data

    check_only(ALLOWED_OPTIONS, "--dry-run, which rates nothing")
    if request.changes and request.name is None:
        raise ValueError("--param with --dry-run sets hyperparameters of one system; name it with --system")
    file, columns = request.file, request.columns
    names, changes = [*jr.extend.SYSTEMS], dict[str, Any]()
    if request.name is not None:
        names, changes = [request.name], request.changes
    for name in names:
        make_system(name, changes)  # raises errors before the file is read
    in_chunks = "format" not in columns and is_parquet_folder_or_pattern(file)
    data = read_events(report, file, columns, first=CHUNK_MATCHES if in_chunks else None)
    check_period(data, request.period)
    systems = [make_system_for_data(name, changes, request.period, data) for name in names]
    for system in systems:
        check_contest_file_time_order(system, data, file)
    n, held = len(data.rows), len(data.rows)
    if in_chunks:
        n = join_files(file).count_rows()
        held = min(n, CHUNKS_HELD * CHUNK_MATCHES)
    events = data.events if request.period is None else jr.periods(data.matches, request.period)
    summary = _summarise_events(report, events, data, n)
    run = DryRun(events, data, held, summary["memory"], is_named=request.name is not None)
    rows = [_describe_system(report, system, run) for system in systems]
    _note_lack_of_memory(report, rows)
    nouns = "teams" if is_about_teams(file, columns) else "players"
    players = f"{'' if n == len(data.rows) else 'at least '}{len(data.players):,} {nouns}"
    return Output(_plan_sections(summary, rows, players), summary | {"systems": rows})


def _note_lack_of_memory(report: ProgressReport, rows: list[dict[str, Any]]) -> None:
    """Name the systems for which there is not enough."""
    if short := [row["system"] for row in rows if row["fits"] and row["per_second"] is None]:
        report.note(f"not enough memory for {', '.join(short)}: rate fewer players, or use a larger device")


class DryRun(NamedTuple):
    """What would be rated, and on what."""

    events: Any
    data: jr.data.Dataset
    rows_held: int  # in memory
    memory: float | None  # bytes of the device
    is_named: bool  # whether the system is


def _summarise_events(report: ProgressReport, events: Any, data: jr.data.Dataset, n: int) -> dict[str, Any]:
    """The numbers of events and players, the time, the schedule and the device."""
    import jax

    with report.stage("scheduling"):
        schedule = _describe_schedule(events)
    device = jax.devices()[0]
    summary: dict[str, Any] = {_event_noun(events): n, "players": len(data.players), **_time_span(data)}
    return summary | {"schedule": schedule, "device": device.device_kind, "memory": device_memory_bytes(device)}


def _event_noun(events: Any) -> str:
    return "participations" if isinstance(events.flat, jr.Rounds) else "matches"


def _describe_system(report: ProgressReport, system: jr.extend.RatingSystem, run: DryRun) -> dict[str, Any]:
    """Whether a system rates the events, the memory that it takes, and how fast it is if that is there."""
    row: dict[str, Any] = {"system": system.name, "fits": True}
    if (reason := _unsupported_reason(system, run.events.flat, run.data, is_named=run.is_named)) is not None:
        return row | {"fits": False, "why": reason}
    row |= _memory_of_run(system, len(run.data.players), run.rows_held) | {"per_second": None}
    if run.memory is None or row["memory"] <= 0.9 * run.memory:
        with report.stage(f"measuring {system.name}"):
            rate = _measure_rows_per_second(system, run.events, len(run.data.rows), len(run.data.players))
            row["per_second"] = rate
    return row


def _plan_sections(summary: dict[str, Any], rows: list[dict[str, Any]], players: str) -> list[str | TextTable]:
    """What there is, the systems that rate it, and why others do not."""
    unit = "matches" if "matches" in summary else "participations"
    span = f"{summary['first']} to {summary['last']}" if "first" in summary else "no times"
    memory = "" if summary["memory"] is None else f", {summary['memory'] / 1e9:.1f} GB"
    about = (
        f"{summary[unit]:,} {unit} of {players}, {span}\n"
        f"{_format_schedule(summary['schedule'])}\ndevice: {summary['device']}{memory}\n"
    )
    fitting = [row for row in rows if row["fits"]]
    cells = [(row["system"], format_bytes(row["memory"]), _format_rate(row["per_second"])) for row in fitting]
    names_by_reason: dict[str, list[str]] = {}
    for row in rows:
        if not row["fits"]:
            names_by_reason.setdefault(row["why"], []).append(row["system"])
    notes = [f"{', '.join(names)}: {why}" for why, names in names_by_reason.items()]
    notes.append(f"Peak memory is that of Python and the compiler, {format_bytes(BASE_BYTES)}, {unit} and ratings.")
    heads = ["system", "peak memory", f"{unit} a second"]
    return [about, TextTable(heads, cells, ("system",)) if cells else "", "\n".join(notes)]


def _format_rate(per_second: float | None) -> str:
    """A rate in two digits."""
    return "-" if per_second is None else f"{float(f'{per_second:.2g}'):,g}"


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


def _time_span(data: jr.data.Dataset) -> dict[str, str]:
    """The first and last time, if there are times."""
    from jaxrate.history.event_columns import days_to_dates

    if data.clock is None:
        return {}
    times = data.events.flat.time
    span = np.array([times.min(), times.max()])
    first, last = map(str, days_to_dates(np.floor(span))) if data.clock == "dates" else map(format_number, span)
    return {"first": first, "last": last}


def _memory_of_run(system: jr.extend.RatingSystem, players: int, rows_held: int) -> dict[str, float]:
    """Bytes of the ratings, and of the memory that a run takes at its peak."""
    import jax

    from jaxrate.replay.padded_states_and_columns import state_shapes

    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state_shapes(system, players)))
    return {"state": state, "memory": state + BYTES_PER_EVENT * rows_held + BASE_BYTES}


def _describe_schedule(events: Any) -> dict[str, Any]:
    """The size of the schedule: its steps and, of matches, the filled share of their slots."""
    schedule: Any = jr.extend.schedule_by_level(events)
    if isinstance(events, jr.Matches):
        return {"steps": schedule.num_steps, "width": schedule.number.shape[1], "filled": float(schedule.fill)}
    kind = type(events.events).__name__.lower()
    return {kind: len(events.player_start) - 1, "steps": sum(schedule.steps)}


def _format_schedule(shape: dict[str, Any]) -> str:
    """The size of the schedule as text."""
    if "width" in shape:
        at_once = f"{shape['width']} matches at once, {100 * shape['filled']:.0f}% filled"
        return f"{shape['steps']:,} steps of up to {at_once}"
    kind, count = next(iter(shape.items()))
    return f"{count:,} {kind} in {shape['steps']:,} steps"


def _measure_rows_per_second(system: jr.extend.RatingSystem, events: Any, num_rows: int, num_players: int) -> float:
    """Matches or participations that this machine rates in a second, by a sample from the middle of all `num_rows`."""
    from jaxrate.events import slice_events
    from jaxrate.fitting.hyperparameter_fit import make_fixed_key

    share = events.start / events.start[-1]
    half = min(1.0, SAMPLE_ROWS / num_rows) / 2.0
    low, high = int(np.searchsorted(share, 0.5 - half, "right")) - 1, int(np.searchsorted(share, 0.5 + half))
    sample, seconds = slice_events(events, low, high), []
    for _ in range(3):  # the first compiles
        begin = time.perf_counter()
        np.asarray(jr.run(system, sample, num_players=num_players, key=make_fixed_key(system)).prediction)
        seconds.append(time.perf_counter() - begin)
    return float(num_rows * (share[high] - share[low]) / min(seconds))
