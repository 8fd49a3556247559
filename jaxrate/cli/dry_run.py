"""`jaxrate rate --dry-run`."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import jaxrate as jr
from jaxrate.cli import file_rating
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.commands import Output, check_only, prefix_errors_with_file
from jaxrate.cli.lazy_imports import jax, np
from jaxrate.cli.options import OWN_NAMES, RatingRequest
from jaxrate.cli.terminal_tables import ProgressReport, TextTable
from jaxrate.core.memory_checks import device_memory_bytes, format_bytes
from jaxrate.core.text_format import format_number

SAMPLE_ROWS = 50_000  # matches or participations from the middle of the history, which are rated to measure the rate
BYTES_PER_EVENT = 200.0  # bytes of memory that a match or a participation takes at the peak of a run
CHUNK_MATCHES = 1 << 20  # matches or participations of a chunk, as `rate` has them by default
CHUNKS_HELD = 2  # chunks of a folder that are in memory, about
BASE_BYTES = 5e8  # bytes that Python and the compiler take
ALLOWED_OPTIONS = (
    *("dry-run", "system", "param", "period", "column"),
    *(name.replace("_", "-") for name in OWN_NAMES),
)


class DryRun(NamedTuple):
    """What would be rated, and on what."""

    data: jr.data.Dataset
    events: Any  # of the data, in periods if there are any
    num_rows: int  # of matches or participations in the file
    rows_held: int  # of these, in memory
    memory: float | None  # bytes of the device
    is_named: bool  # whether the system is


def describe_run(report: ProgressReport, request: RatingRequest) -> Output:
    """What a file has, the parallelism and the memory that rating it takes, and the rate of this machine.

    The rate is measured on a sample from the middle of the file; of a folder, which is rated by chunks, the first is
    read. Without a system in the request, all are described.
    """
    check_only(ALLOWED_OPTIONS, "--dry-run, which rates nothing")
    if request.changes and request.name is None:
        raise ValueError("--param with --dry-run sets hyperparameters of one system; name it with --system")
    names = [*jr.extend.SYSTEMS] if request.name is None else [request.name]
    for name in names:
        lazy.make_system(name, request.changes)  # raises errors before the file is read
    device = jax.devices()[0]
    run = _read_run(report, request, device_memory_bytes(device))
    systems = [lazy.make_system_for_data(name, request.changes, request.period, run.data) for name in names]
    with prefix_errors_with_file(request.file):
        for system in systems:
            lazy.check_contests_in_time_order(system, run.data)
    with report.stage("scheduling"):
        schedule, steps = _describe_schedule(run.events)
    rows = _describe_systems(report, systems, run)
    unit, span = "matches" if run.data.of_matches else "participations", _time_span(run)
    summary = {unit: run.num_rows, "players": len(run.data.players), **span, "schedule": schedule}
    summary |= {"device": device.device_kind, "memory": run.memory, "systems": rows}
    nouns = "teams" if file_rating.is_about_teams(request.file, request.columns) else "players"
    about = [_describe_counts(run, unit, nouns, span), steps, f"device: {device.device_kind}"]
    about[-1] += "" if run.memory is None else f", {run.memory / 1e9:.1f} GB"
    return Output(["\n".join([*about, ""]), *_system_sections(rows, unit)], summary)


def _describe_counts(run: DryRun, unit: str, nouns: str, span: dict[str, str]) -> str:
    """What there is, in a line."""
    at_least = "" if run.num_rows == len(run.data.rows) else "at least "
    times = " to ".join(span.values()) or "no times"
    return f"{run.num_rows:,} {unit} of {at_least}{len(run.data.players):,} {nouns}, {times}"


def _read_run(report: ProgressReport, request: RatingRequest, memory: float | None) -> DryRun:
    """The events of a file, or the first of a folder."""
    in_chunks = "format" not in request.columns and file_rating.is_parquet_folder_or_pattern(request.file)
    data = file_rating.read_events(report, request.file, request.columns, first=CHUNK_MATCHES if in_chunks else None)
    file_rating.check_period(data, request.period)
    count = lazy.join_files(request.file).count_rows() if in_chunks else len(data.rows)
    held = min(count, CHUNKS_HELD * CHUNK_MATCHES) if in_chunks else count
    events = data.events if request.period is None else jr.periods(data.matches, request.period)
    return DryRun(data, events, count, held, memory, request.name is not None)


def _describe_schedule(events: Any) -> tuple[dict[str, Any], str]:
    """The size of the schedule, and as text: its steps and, of matches, the filled share of their slots."""
    schedule = jr.extend.schedule_by_level(events)
    if isinstance(events, jr.Matches):
        steps, width, filled = schedule.num_steps, schedule.blocks[0].number.shape[1], schedule.fill
        text = f"{steps:,} steps of up to {width} matches at once, {100 * filled:.0f}% filled"
        return {"steps": steps, "width": width, "filled": filled}, text
    kind, count, steps = type(events.events).__name__.lower(), len(events.player_start) - 1, schedule.num_steps
    return {kind: count, "steps": steps}, f"{count:,} {kind} in {steps:,} steps"


def _time_span(run: DryRun) -> dict[str, str]:
    """The first and last time, if there are times."""
    if run.data.clock is None:
        return {}
    times = run.data.events.flat.time
    span = np.array([times.min(), times.max()])
    ends = map(str, lazy.days_to_dates(np.floor(span))) if run.data.clock == "dates" else map(format_number, span)
    return dict(zip(("first", "last"), ends, strict=True))


def _describe_systems(
    report: ProgressReport, systems: list[jr.extend.RatingSystem], run: DryRun
) -> list[dict[str, Any]]:
    """The systems beside the events, and a note of those for which there is not enough memory."""
    rows = [_describe_system(report, system, run) for system in systems]
    if short := [row["system"] for row in rows if row["fits"] and row["per_second"] is None]:
        report.note(f"not enough memory for {', '.join(short)}: rate fewer players, or use a larger device")
    return rows


def _describe_system(report: ProgressReport, system: jr.extend.RatingSystem, run: DryRun) -> dict[str, Any]:
    """Whether a system rates the events, the memory that it takes, and how fast it is if that is there."""
    if reason := _unsupported_reason(system, run):
        return {"system": system.name, "fits": False, "why": reason}
    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(lazy.state_shapes(system, len(run.data.players))))
    memory, per_second = state + BYTES_PER_EVENT * run.rows_held + BASE_BYTES, None
    if run.memory is None or memory <= 0.9 * run.memory:
        with report.stage(f"measuring {system.name}"):
            per_second = _measure_rows_per_second(system, run)
    return {"system": system.name, "fits": True, "state": state, "memory": memory, "per_second": per_second}


def _unsupported_reason(system: jr.extend.RatingSystem, run: DryRun) -> str:
    """Why a system does not rate these events; "" if it does."""
    kind, of_single_matches = type(run.events.flat), isinstance(run.events.flat, jr.Matches)
    reasons = {
        "only with --period": of_single_matches and system.events == (jr.Periods,),
        f"does not rate {kind.__name__.lower()}": kind not in system.events,
        "only with --system": of_single_matches and system.name in lazy.CONTEST_SYSTEMS and not run.is_named,
        "only with --category": system.settings.get("categories", 1) > 1 and run.data.categories is None,
    }
    return next((text for text, holds in reasons.items() if holds), "")


def _measure_rows_per_second(system: jr.extend.RatingSystem, run: DryRun) -> float:
    """Matches or participations that this machine rates in a second, by a sample from the middle of all."""
    share, num_rows = run.events.start / run.events.start[-1], len(run.data.rows)
    half = min(1.0, SAMPLE_ROWS / num_rows) / 2.0
    low, high = int(np.searchsorted(share, 0.5 - half, "right")) - 1, int(np.searchsorted(share, 0.5 + half))
    sample, seconds, key = lazy.slice_events(run.events, low, high), [], lazy.make_fixed_key(system)
    for _ in range(3):  # the first compiles
        begin = time.perf_counter()
        np.asarray(jr.run(system, sample, num_players=len(run.data.players), key=key).prediction)
        seconds.append(time.perf_counter() - begin)
    return float(num_rows * (share[high] - share[low]) / min(seconds))


def _system_sections(rows: list[dict[str, Any]], unit: str) -> list[str | TextTable]:
    """The systems that rate the events, and why others do not."""

    def format_rate(rate: float | None) -> str:
        return "-" if rate is None else f"{float(format(rate, '.2g')):,g}"  # two digits

    cells = [
        (row["system"], format_bytes(row["memory"]), format_rate(row["per_second"])) for row in rows if row["fits"]
    ]
    names: dict[str, list[str]] = {}  # by the reason
    for row in rows:
        names.setdefault(row.get("why", ""), []).append(row["system"])
    names.pop("", None)
    notes = [f"{', '.join(those)}: {why}" for why, those in names.items()]
    notes.append(f"Peak memory is that of Python and the compiler, {format_bytes(BASE_BYTES)}, {unit} and ratings.")
    table = TextTable(["system", "peak memory", f"{unit} a second"], cells, ("system",))
    return [table if cells else "", "\n".join(notes)]
