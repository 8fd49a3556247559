"""`jaxrate rate --dry-run`."""

from __future__ import annotations

import time
from typing import Any

import jaxrate as jr
from jaxrate.cli import file_rating
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.command_framework import Output
from jaxrate.cli.lazy_imports import jax, np
from jaxrate.cli.options import RatingRequest
from jaxrate.cli.terminal_tables import ProgressReport
from jaxrate.core.memory_checks import device_memory_bytes, format_bytes
from jaxrate.core.text_format import format_number

SAMPLE_ROWS = 50_000  # matches or participations from the middle of the history, which are rated to measure the rate
BYTES_PER_EVENT = 200.0  # bytes of memory that a match or a participation takes at the peak of a run
ROWS_OF_CHUNKS = 2 << 20  # matches or participations of the chunks that are in memory, by default
BASE_BYTES = 5e8  # bytes that Python and the compiler take


def describe_run(
    report: ProgressReport, request: RatingRequest, task: file_rating.RatingTask, num_rows: int | None
) -> Output:
    """What a file (of `num_rows`; None: the data) has, and parallelism, memory and rate of a run on this machine."""
    system, data, period, _ = task
    events = data.events if period is None else jr.periods(data.matches, period)
    with report.stage("scheduling"):
        steps = jr.extend.schedule_by_level(events).num_steps
    count = len(data.rows) if num_rows is None else num_rows
    device, state = jax.devices()[0], jax.tree.leaves(lazy.state_shapes(system, len(data.players)))
    rows_held = count if num_rows is None else min(count, ROWS_OF_CHUNKS)
    needed = sum(x.size * x.dtype.itemsize for x in state) + BYTES_PER_EVENT * rows_held + BASE_BYTES
    available, per_second = device_memory_bytes(device), None
    if available is None or needed <= 0.9 * available:
        with report.stage(f"measuring {system.name}"):
            per_second = _measure_rows_per_second(system, data, events)
    unit, span = "matches" if data.of_matches else "participations", _time_span(data)
    kind = data.events.nouns if period is None else "periods"
    values = {unit: count, "players": len(data.players), **span, "system": system.name, "steps": steps}
    values |= {"device": device.device_kind, "device_memory": available, "memory": needed, "per_second": per_second}
    nouns = lazy.name_rated({"noun": data.noun}).many
    at_least, times = "at least " * (count > len(data.rows)), " to ".join(span.values()) or "no times"
    rate = "too little memory here: rate fewer players, or use a larger device"
    if per_second is not None:
        rate = f"{float(format(per_second, '.2g')):,g} {unit} a second"  # two digits
    size = "" if available is None else f", {available / 1e9:.1f} GB"
    lines = [
        f"{count:,} {unit} of {at_least}{len(data.players):,} {nouns}, {times}",
        f"{system.name}: {steps:,} steps of {(len(events.start) - 1) / steps:.3g} {kind} on average, "
        f"{format_bytes(needed)} at the peak",
        f"device: {device.device_kind}{size}, {rate}",
    ]
    return Output(["\n".join(lines)], values)


def _time_span(data: jr.data.Dataset) -> dict[str, str]:
    """The first and last time, if there are times."""
    if data.clock is None:
        return {}
    span = np.array([data.events.flat.time.min(), data.events.flat.time.max()])
    ends = map(str, lazy.days_to_dates(np.floor(span))) if data.clock == "dates" else map(format_number, span)
    return dict(zip(("first", "last"), ends, strict=True))


def _measure_rows_per_second(system: jr.extend.RatingSystem, data: jr.data.Dataset, events: Any) -> float:
    """Matches or participations that this machine rates in a second, by a sample from the middle of all."""
    share, num_rows = events.start / events.start[-1], len(data.rows)
    half = min(1.0, SAMPLE_ROWS / num_rows) / 2.0
    low, high = int(np.searchsorted(share, 0.5 - half, "right")) - 1, int(np.searchsorted(share, 0.5 + half))
    sample, seconds, key = lazy.slice_events(events, low, high), [], lazy.make_fixed_key(system)
    for _ in range(3):  # the first compiles
        begin = time.perf_counter()
        np.asarray(jr.run(system, sample, num_players=len(data.players), key=key).prediction)
        seconds.append(time.perf_counter() - begin)
    return float(num_rows * (share[high] - share[low]) / min(seconds))
