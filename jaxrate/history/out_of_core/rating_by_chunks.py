"""Events in files, more than fit into memory: rated by chunks into a folder, from which a run goes on."""

import logging
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from zlib import crc32

import jax
import numpy as np

from jaxrate.core.argument_checks import check_count
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.system import RatingSystem, check_event_kind, set_default_period
from jaxrate.data.table_files import join_files
from jaxrate.data.table_sources import TableSource
from jaxrate.data.table_writing import write
from jaxrate.events import Matches, Periods, Rounds, period_number
from jaxrate.history.event_columns import no_events
from jaxrate.history.history import History
from jaxrate.history.out_of_core.checkpoints import (
    ResumedRun,
    add_resume_hint_to_errors,
    check_no_other_run,
    fingerprint_files,
    read_checkpoint,
    read_run_to_resume,
    remove_leftover_run_files,
    settings_that_must_match,
    write_checkpoint,
)
from jaxrate.history.out_of_core.chunk_pipeline import (
    PREDICTIONS_FOLDER,
    ChunkedRun,
    Chunks,
    RunProgress,
    catch_stop_signals,
    part_file,
    rate_chunks,
)
from jaxrate.history.out_of_core.event_chunks import (
    OpenedTable,
    PlayerIds,
    find_time_order,
    open_table_sorted_if_needed,
)
from jaxrate.history.out_of_core.table_reading import TableReading, resolve_table_reading
from jaxrate.history.player_records import rating_table
from jaxrate.history.recorded_runs import calibrated_by_end, initial_slope
from jaxrate.history.saved_runs import make_run_metadata
from jaxrate.metrics.calibration_slopes import OnlineSlope
from jaxrate.metrics.running_metrics import ContestMetricSums, MetricSums, metrics_from_sums
from jaxrate.replay.plan import NO_SHAPES
from jaxrate.storage.run_folder import flush_to_disk, lock_folder
from jaxrate.systems.prediction_wrapping import unwrap_predictions, wrapper_names

LOG = logging.getLogger(__name__)
MAX_CHUNK_ROWS = 10**9
CHECKPOINT_SECONDS = 60.0  # seconds between checkpoints
CHECKPOINT_WORK_RATIO = 20.0  # so many times as long as writing one takes, at the least, is worked before the next
ORDERED_FOLDER = ".ordered"
WORK_KINDS = ("ordering", "reading", "scheduling", "rating", "writing")  # of work


@dataclass(frozen=True, eq=False, repr=False)
class RatedFiles(History):
    """The history that `rate` returns of a run by chunks: its events stay in the files of the folder."""

    quality: dict[str, Any] = field(default_factory=dict)  # the measures of `match_metrics` or `ranking_metrics`
    seconds: dict[str, float] = field(default_factory=dict)  # of each kind of work, and "all"
    folder: Path = Path()

    def __repr__(self) -> str:
        measure, value = next(iter(self.quality.items()))
        quality = "" if value is None else f", {measure} {value:.4f}"
        return f"{History.__repr__(self)}\n  files    {self.folder}{quality}"


def rate_by_chunks(
    system: RatingSystem,
    source: Any,
    out: str | os.PathLike[str],
    chunks: Chunks,
    columns: Mapping[str, Any],
    period: float | None = None,
    key: Array | None = None,
    calibrate: bool | None = None,
) -> RatedFiles:
    """`rate` of files of any size, a chunk at a time, into the folder `out`; see there.

    The source may be a table that was resolved already, by these columns.

    Raises:
      OSError: if the disk is full. What had been rated by the last checkpoint is kept.
      KeyboardInterrupt: after Ctrl-C, once all that was rated is kept; at once if it is pressed again.
      ImportError: if pyarrow is not installed, or DuckDB where it is needed.
    """
    start = time.perf_counter()
    system = set_default_period(system, period)
    check_count("chunk", chunks.rows, 1, MAX_CHUNK_ROWS)
    if system.rules.draw is not None and key is None:
        key = jax.random.key(0)
    folder, reading = Path(out), source
    if not isinstance(reading, TableReading):
        reading = resolve_table_reading(join_files(source), columns)
    _check_period(system, reading, period)
    _check_folder_is_apart(folder, reading.source)
    if _is_run_calibrated(system, folder):  # the system is that of the run's own result
        system, calibrate = unwrap_predictions(system), True
    is_calibrated = initial_slope(system, calibrate) is not None
    order = find_time_order(reading)
    options: dict[str, Any] = {
        "period": period,
        "chunk": chunks.rows,
        "brief": chunks.brief,
        "calibrated": is_calibrated,
    }
    options |= {
        "whole_days": order.whole_days,
        "results": getattr(reading.conventions.notation, "label", None),
    }
    settings = settings_that_must_match(system, reading.roles, options, key)
    check_no_other_run(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        files = fingerprint_files(reading.source, order.file_starts)
        resumed = read_run_to_resume(system, folder, files, settings)
        progress, names, initial_rows, may_sort = resumed or _beginning(reading, order.num_rows, is_calibrated)
        if order.faults and not may_sort:
            row, reason = order.faults[0]
            raise ValueError(f"{reading.source.where(row)}: {reason}; rate all anew, in another folder")
        seconds = dict.fromkeys(WORK_KINDS, 0.0)
        ordered = folder / ORDERED_FOLDER / f"{crc32(repr((files, reading.roles, reading.columns)).encode()):08x}"
        table = open_table_sorted_if_needed(reading, order, ordered, chunks.rows, chunks.memory)
        opened = OpenedTable(reading, order, table, PlayerIds(names))
        seconds["ordering"] = time.perf_counter() - start
        metadata = {"how": settings, "files": files, "ordered": bool(order.faults)}
        metadata |= {"at_first": initial_rows, "whole": order.num_rows}
        named = {role: x for role, x in columns.items() if x not in (None, ())}
        run = ChunkedRun(system, opened, folder, chunks, period, key, named, metadata, seconds)
        progress = _rate_and_save(run, progress)
        rated = _history(run, progress, np.asarray(opened.players.names[: progress.known]))
        write(rating_table(rated), folder / "ratings.parquet")
        shutil.rmtree(folder / ORDERED_FOLDER, ignore_errors=True)
    known: dict[str, Any] = {x.name: getattr(rated, x.name) for x in fields(rated)}
    seconds["all"] = time.perf_counter() - start
    return RatedFiles(**known, quality=metrics_from_sums(progress.sums), seconds=seconds, folder=folder)


def _check_period(system: RatingSystem, reading: TableReading, period: float | None) -> None:
    """ValueError unless the system rates these events, in such periods."""
    has_contests = reading.has_contests
    check_event_kind(system.name, system.events, Rounds if has_contests else Matches if period is None else Periods)
    if period is None:
        return
    if has_contests:
        raise ValueError("contests are rated one by one; leave out period")
    period_number(0.0, period)  # which refuses what is no length
    if reading.roles.time is None:
        raise ValueError("rating periods need times; name the column of time")


def _check_folder_is_apart(folder: Path, source: TableSource) -> None:
    """ValueError if the results would lie among the files that are rated."""
    result_folders = folder.resolve(), (folder / PREDICTIONS_FOLDER).resolve()
    if any(path.resolve().parent in result_folders for path in source.paths):
        raise ValueError(f"{folder} has the files that are to be rated; name another folder for the results")


def _is_run_calibrated(system: RatingSystem, folder: Path) -> bool:
    """Whether the run in a folder calibrates its predictions, as this system, perhaps of its result, does."""
    checkpoint = read_checkpoint(folder) if wrapper_names(system) else None
    return checkpoint is not None and bool(checkpoint[0].get("slope"))


def _beginning(reading: TableReading, num_rows: int, is_calibrated: bool) -> ResumedRun:
    """How far a run has come that begins."""
    sums, contests = (ContestMetricSums(), 0) if reading.has_contests else (MetricSums(), None)
    slope, nobody = OnlineSlope() if is_calibrated else None, np.zeros(0, np.int64)
    progress = RunProgress(0, 0, 0, 0, sums, None, NO_SHAPES, contests, None, slope, nobody, nobody, None)
    return ResumedRun(progress, None, num_rows, may_sort=True)


def _rate_and_save(run: ChunkedRun, progress: RunProgress) -> RunProgress:
    """Rate what is left, with checkpoints; the progress at the end."""
    folder, row_count = run.folder, run.opened.order.num_rows
    (folder / PREDICTIONS_FOLDER).mkdir(exist_ok=True)
    remove_leftover_run_files(folder, progress.parts)
    if progress.rows >= row_count:
        return progress
    saved, reached, next_time = progress, progress, time.monotonic() + CHECKPOINT_SECONDS
    with suppress(KeyboardInterrupt), add_resume_hint_to_errors(folder), catch_stop_signals() as signals:
        for reached in rate_chunks(run, progress):
            is_asked_to_stop = bool(signals)
            if is_asked_to_stop or time.monotonic() > next_time:
                begin = time.monotonic()
                saved = _save_checkpoint(run, saved, reached)
                end = time.monotonic()
                next_time = end + max(CHECKPOINT_SECONDS, CHECKPOINT_WORK_RATIO * (end - begin))
            if run.chunks.progress is not None:
                run.chunks.progress(reached.rated)
            if is_asked_to_stop:
                break
        else:
            if not reached.rated:
                raise ValueError(f"{run.opened.reading.source.title}no row has a result")
            saved = _save_checkpoint(run, saved, reached._replace(rows=row_count))
    if saved.rows < row_count:  # after Ctrl-C, or SIGTERM whose handler let the process live
        message = f"{saved.rows:,} of {row_count:,} rows are rated and kept in {folder}; rate again to go on"
        raise KeyboardInterrupt(message)
    return saved


def _save_checkpoint(run: ChunkedRun, saved: RunProgress, progress: RunProgress) -> RunProgress:
    """Save how far a run has come since the last checkpoint; it, with a copy of the state."""
    for number in range(saved.parts, progress.parts):
        flush_to_disk(part_file(run.folder, number))
    flush_to_disk(run.folder / PREDICTIONS_FOLDER)
    state = jax.tree.map(lambda x: np.array(np.asarray(x)[: progress.known]), progress.state)
    progress = progress._replace(state=state)
    metadata = run.metadata | {"run": _run_metadata(run, progress)}
    write_checkpoint(run.folder, metadata, progress, run.opened.players.names)
    LOG.info("%d of %d rows are rated, and saved in %s", progress.rows, run.opened.order.num_rows, run.folder)
    return progress


def _history(run: ChunkedRun, progress: RunProgress, players: HostArray) -> History:
    """The history so far, without its events."""
    system, slope_options = calibrated_by_end(run.system, progress.slope)
    reading = run.opened.reading
    is_sided = reading.roles.side or reading.roles.constant_side
    options = {"columns": dict(run.named)} | ({"sided": True} if is_sided else {}) | slope_options
    seasons = reading.seasons or {}
    return History(
        system,
        progress.state,
        players,
        progress.games[: progress.known],
        run.period,
        progress.last,
        reading.clock,
        no_events(run.has_contests),
        options,
        reading.categories if system.settings.get("categories", 1) > 1 else None,
        seasons if seasons and tuple(seasons.values()) == system.settings.get("seasons") else None,
        num_in_files=(progress.rated, progress.contests),
    )


def _run_metadata(run: ChunkedRun, progress: RunProgress) -> dict[str, Any] | None:
    """The contents of run.json, but for players and the last time; None if the system cannot be saved."""
    with suppress(ValueError):
        nobody = progress._replace(state=None, known=0, last=None)
        return make_run_metadata(_history(run, nobody, np.zeros(0, np.int64)))
    return None
