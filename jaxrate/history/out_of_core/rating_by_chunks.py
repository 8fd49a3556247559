"""Events in files, more than fit into memory: rated by chunks into a folder, from which a run goes on."""

import logging
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import jax
import numpy as np

from jaxrate.core.argument_checks import check_count, check_that
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import check_accelerator_predictions_finite
from jaxrate.core.hashable_values import bind
from jaxrate.core.rules import Record
from jaxrate.core.system import RatingSystem, check_event_type, set_period_if_default
from jaxrate.data.faulty_rows import renumber_row_errors
from jaxrate.data.table_files import join_files
from jaxrate.data.table_sources import TableSource, add_location_to_data_errors, atomic_replacement, import_pyarrow
from jaxrate.data.table_writing import compact_parquet_options, write
from jaxrate.events import Matches, Periods, Ragged, Rounds, RowError, count_games, period_number, periods
from jaxrate.events.dataset import Dataset
from jaxrate.history.event_columns import (
    days_to_datetime64,
    empty_event_columns,
    event_prediction_columns,
    make_event_columns,
    to_table_columns,
)
from jaxrate.history.history import History
from jaxrate.history.out_of_core.checkpoints import (
    PREDICTIONS_FOLDER,
    RunProgress,
    add_resume_hint_to_errors,
    check_no_other_run,
    chunk_predictions_path,
    fingerprint_files,
    read_checkpoint,
    read_run_to_resume,
    remove_leftover_run_files,
    settings_that_must_match,
    write_checkpoint,
)
from jaxrate.history.out_of_core.chunk_reading import (
    OpenedTable,
    PlayerIds,
    TableReading,
    TimeOrder,
    find_time_order,
    open_table_sorted_if_needed,
    read_event_chunks,
    resolve_table_reading,
)
from jaxrate.history.player_records import rating_table
from jaxrate.history.recorded_runs import (
    RecordedRun,
    calibrate_by_final_slope,
    calibrate_events,
    do_leads_fade,
    infers_performances,
    initial_calibration_slope,
    mask_performances_of_contests_without_effect,
    record_prediction_and_ratings,
    recorded_columns,
)
from jaxrate.history.saved_runs import make_run_metadata
from jaxrate.metrics.calibration_slopes import OnlineSlope
from jaxrate.metrics.prediction_metrics import (
    ContestMetricSums,
    MetricSums,
    add_contest_metrics,
    add_match_metrics,
    count_ranked_contests,
    metrics_from_sums,
)
from jaxrate.replay.checked_replay import check_system_takes_events
from jaxrate.replay.execution import min_mean_width_for_levels, replay_plan, skips_most_padding_work
from jaxrate.replay.padded_arrays import init_or_copy_padded_state, max_step_matches_in_cache, state_shapes
from jaxrate.replay.plan import NO_SHAPES, CompiledShapes, Plan
from jaxrate.replay.scan_programs import make_replay_rules
from jaxrate.replay.schedule import make_plan
from jaxrate.storage.run_folder import flush_to_disk, lock_folder, to_arrow_if_installed
from jaxrate.systems.prediction_wrapping import unwrap_predictions, wrapper_names

LOG = logging.getLogger(__name__)
MAX_CHUNK_ROWS = 10**9
CHECKPOINT_SECONDS = 60.0  # seconds between checkpoints
CHECKPOINT_WORK_RATIO = 20.0  # so many times as long as writing one takes, at the least, is worked before the next
ORDERED_FOLDER = ".ordered"
WORK_KINDS = ("ordering", "reading", "scheduling", "rating", "writing")  # of work


class Chunks(NamedTuple):
    """How a history that is larger than memory is rated: `chunk` of `jr.rate`, which also takes the first alone."""

    rows: int = 1 << 20  # matches, or participations, that are rated at a time
    brief: bool = False  # whether predictions have the row and the prediction only, which takes a tenth of the room
    memory: str = "2GB"  # what DuckDB may take
    progress: Callable[[int], Any] | None = None  # called after each chunk with the number of those that are rated


class ChunkedRun(NamedTuple):
    """The system and the events of a run, and where the predictions go."""

    system: RatingSystem
    opened: OpenedTable
    folder: Path
    chunks: Chunks
    period: float | None  # the length of rating periods
    key: Array | None
    named: Mapping[str, Any]  # the columns that were named, by role
    metadata: dict[str, Any]  # that each checkpoint has
    seconds: dict[str, float]  # of each kind of work

    @property
    def has_contests(self) -> bool:
        """Whether these are contests."""
        return self.opened.reading.has_contests

    @property
    def needs_ratings(self) -> bool:
        """Whether ratings are recorded: metrics of contests are of them."""
        return self.has_contests or not self.chunks.brief

    @contextmanager
    def timed(self, work: str) -> Iterator[None]:
        """The time of what is done meanwhile counts as that of this kind of work."""
        start = time.perf_counter()
        yield
        self.seconds[work] += time.perf_counter() - start


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
    system = set_period_if_default(system, period)
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
    is_calibrated = initial_calibration_slope(system, calibrate) is not None
    order = find_time_order(reading)
    options = {"period": period, "chunk": chunks.rows, "brief": chunks.brief, "calibrated": is_calibrated}
    options |= {"whole_days": order.whole_days, "results": getattr(reading.example.notation, "label", None)}
    settings = settings_that_must_match(system, reading.roles, options, key)
    check_no_other_run(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        files = fingerprint_files(reading.source, order.file_starts)
        resumed = read_run_to_resume(system, folder, files, settings)
        progress = resumed or _progress_at_start(reading, order, is_calibrated)
        if order.faults and not progress.ordered:
            row, reason = order.faults[0]
            raise ValueError(f"{reading.source.where(row)}: {reason}; rate all anew, in another folder")
        seconds = dict.fromkeys(WORK_KINDS, 0.0)
        ordered = folder / ORDERED_FOLDER / f"{crc32(repr((files, reading.roles, reading.columns)).encode()):08x}"
        table = open_table_sorted_if_needed(reading, order, ordered, chunks.rows, chunks.memory)
        opened = OpenedTable(reading, order, table, PlayerIds(progress.names))
        seconds["ordering"] = time.perf_counter() - start
        metadata = {"how": settings, "files": files, "whole": order.num_rows}
        named = {role: x for role, x in columns.items() if x not in (None, ())}
        run = ChunkedRun(system, opened, folder, chunks, period, key, named, metadata, seconds)
        progress = _rate_and_save(run, progress)
        rated = _history_without_events(run, progress, np.asarray(opened.players.names[: progress.known]))
        write(rating_table(rated), folder / "ratings.parquet")
        shutil.rmtree(folder / ORDERED_FOLDER, ignore_errors=True)
    seconds["all"] = time.perf_counter() - start
    return rated


def _check_period(system: RatingSystem, reading: TableReading, period: float | None) -> None:
    """ValueError unless the system rates these events, in such periods."""
    has_contests = reading.has_contests
    check_event_type(system.name, system.events, Rounds if has_contests else Matches if period is None else Periods)
    if period is None:
        return
    check_that(not has_contests, "contests are rated one by one; leave out period")
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


def _progress_at_start(reading: TableReading, order: TimeOrder, is_calibrated: bool) -> RunProgress:
    """How far a run has come that begins."""
    sums, contests = (ContestMetricSums(), 0) if reading.has_contests else (MetricSums(), None)
    slope, nobody = OnlineSlope() if is_calibrated else None, np.zeros(0, np.int64)
    counts = (order.num_rows, bool(order.faults), 0, 0, 0, 0)
    return RunProgress(*counts, sums, None, NO_SHAPES, contests, None, slope, None, nobody, nobody, None)


def _rate_and_save(run: ChunkedRun, progress: RunProgress) -> RunProgress:
    """Rate what is left, with checkpoints; the progress at the end."""
    folder, row_count = run.folder, run.opened.order.num_rows
    (folder / PREDICTIONS_FOLDER).mkdir(exist_ok=True)
    remove_leftover_run_files(folder, progress.parts)
    if progress.rows >= row_count:
        return progress
    saved, reached, next_time = progress, progress, time.monotonic() + CHECKPOINT_SECONDS
    with suppress(KeyboardInterrupt), add_resume_hint_to_errors(folder), defer_stop_signals() as signals:

        def is_checkpoint_due() -> bool:
            return bool(signals) or time.monotonic() > next_time

        for reached in rate_chunks(run, progress, is_checkpoint_due):
            is_asked_to_stop = bool(signals) and reached.state is not None
            if reached.state is not None and is_checkpoint_due():
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
        flush_to_disk(chunk_predictions_path(run.folder, number))
    flush_to_disk(run.folder / PREDICTIONS_FOLDER)
    state = jax.tree.map(lambda x: np.array(np.asarray(x)[: progress.known]), progress.state)
    progress = progress._replace(state=state, names=run.opened.players.names)
    write_checkpoint(run.folder, run.metadata | {"run": _run_metadata(run, progress)}, progress)
    LOG.info("%d of %d rows are rated, and saved in %s", progress.rows, run.opened.order.num_rows, run.folder)
    return progress


def _history_without_events(run: ChunkedRun, progress: RunProgress, players: HostArray) -> RatedFiles:
    """The history so far, without its events."""
    system, slope_options = calibrate_by_final_slope(run.system, progress.slope)
    reading = run.opened.reading
    is_sided = reading.roles.side or reading.roles.constant_side
    options = {"columns": dict(run.named)} | ({"sided": True} if is_sided else {}) | slope_options
    seasons = reading.seasons or {}
    return RatedFiles(
        system,
        progress.state,
        players,
        progress.games[: progress.known],
        run.period,
        progress.last,
        reading.example.clock,
        empty_event_columns(run.has_contests),
        options,
        reading.categories if system.settings.get("categories", 1) > 1 else None,
        seasons if seasons and tuple(seasons.values()) == system.settings.get("seasons") else None,
        num_in_files=(progress.rated, progress.contests),
        quality=metrics_from_sums(progress.sums),
        seconds=run.seconds,
        folder=run.folder,
    )


def _run_metadata(run: ChunkedRun, progress: RunProgress) -> dict[str, Any] | None:
    """The contents of run.json, but for players and the last time; None if the system cannot be saved."""
    with suppress(ValueError):
        nobody = progress._replace(state=None, known=0, last=None)
        return make_run_metadata(_history_without_events(run, nobody, np.zeros(0, np.int64)))
    return None


# Chunks read, scheduled, rated and written, until a signal asks to stop


class ScheduledChunk(NamedTuple):
    """A chunk, scheduled."""

    end: int  # the row after it
    data: Dataset
    events: Matches | Ragged
    plan: Plan
    shape: CompiledShapes  # for which programs are compiled by its end
    num_players: int  # who have played by its end


def rate_chunks(run: ChunkedRun, progress: RunProgress, is_state_due: Callable[[], bool]) -> Iterator[RunProgress]:
    """Rate the remaining chunks; how far the run has come after each, with the state at the end and where it is due.

    JAX rates a chunk in a thread of its own. Meanwhile the one before it is written, and the one after it is read.
    """
    system, state, capacity, known = run.system, progress.state, 0, progress.known
    progress, rated = progress._replace(state=None), None
    rules = make_replay_rules(system.rules, system.params, _chunk_record_function(run))

    def write_chunk(chunk: ScheduledChunk, predictions: Any) -> RunProgress:
        with run.timed("rating"):
            recorded = jax.tree.map(lambda x: np.asarray(x)[: len(chunk.data.rows)], predictions)
            if run.has_contests:
                check_accelerator_predictions_finite(jax.tree.leaves(recorded)[0])  # the first that is recorded
        with run.timed("writing"):
            return _write_chunk(run, progress, chunk, recorded)

    for number, chunk in enumerate(_schedule_chunks(run, progress), progress.parts):
        if chunk.num_players > capacity:  # more names have come than there is room for
            capacity = run.opened.players.capacity
            state = jax.tree.map(lambda x, known=known: x[:known], state)
            state, _ = init_or_copy_padded_state(system, system.params, state, capacity, known)
            progress = _extend_counts_to_newcomers(progress, capacity)
        known = chunk.num_players
        key = None if run.key is None else jax.random.fold_in(run.key, number)
        with run.timed("rating"):
            state, predictions = replay_plan(rules, system.params, state, chunk.events, chunk.plan, key)
        if rated is not None:
            progress = write_chunk(*rated)
            yield progress
        rated = chunk, predictions
        if is_state_due():
            progress, rated = write_chunk(*rated), None
            yield progress._replace(state=state)
    if rated is not None:
        yield write_chunk(*rated)._replace(state=state)


def _extend_counts_to_newcomers(progress: RunProgress, num_players: int) -> RunProgress:
    """The progress with counts of so many players, those of contests if these are contests."""
    games, ranked = (np.pad(x, (0, num_players - len(x))) for x in (progress.games, progress.ranked))
    return progress._replace(games=games, ranked=progress.ranked if progress.contests is None else ranked)


def _chunk_record_function(run: ChunkedRun) -> Record | None:
    """What a run records: the ratings of each event; nothing where only predictions are needed."""
    if not run.needs_ratings:
        return None
    with_performances = run.has_contests and not run.chunks.brief and infers_performances(run.system)
    fades = do_leads_fade(run.system)
    record: Record = bind(record_prediction_and_ratings, run.system.summary, with_performances, fades)
    return record


def _schedule_chunks(run: ChunkedRun, progress: RunProgress) -> Iterator[ScheduledChunk]:
    """The chunks, all scheduled for one program."""
    shape = progress.shape
    chunks = enumerate(read_event_chunks(run.opened, run.chunks.rows, progress.rows, run.period))
    while True:
        with run.timed("reading"):
            number, (end, data) = next(chunks, (0, (0, None)))
        if data is None:
            return
        with run.timed("scheduling"):
            events = data.events if run.period is None else periods(data.matches, run.period)
            source = run.opened.reading.source
            with add_location_to_data_errors(source.title, source.where), renumber_row_errors(data.rows):
                if number == 0:
                    _check_first_event_is_new(data, progress, run.period)
                check_system_takes_events(run.system, events, run.key)
            plan = _make_chunk_plan(run, events, shape)
            shape = shape.add(plan)
        yield ScheduledChunk(end, data, events, plan, shape, run.opened.players.count)


def _make_chunk_plan(run: ChunkedRun, events: Matches | Ragged, shape: CompiledShapes) -> Plan:
    """A plan for the programs of the chunks before; for the first chunk of matches as `run` makes it."""
    if isinstance(events, Ragged):
        tiled = skips_most_padding_work(run.system, (run.system.params, run.key), events)
        return make_plan(events, tiled=tiled, shapes=shape)
    if shape.blocks:
        return make_plan(events, shapes=shape)
    threshold = min_mean_width_for_levels(run.system, run.system.params, events, _chunk_record_function(run))
    width = max_step_matches_in_cache(state_shapes(run.system, 1))
    return make_plan(events, min_mean_width=threshold, max_width=width)


def _check_first_event_is_new(data: Dataset, progress: RunProgress, period: float | None) -> None:
    """RowError if the first row is of the rating period, or of the contest, of the last row that is rated."""
    split = ""
    if period is not None and progress.last is not None:
        first, last = (period_number(x, period) for x in (data.matches.time[0], progress.last))
        split = "rating period" if first == last else ""
    elif progress.contests and data.contests is not None:
        split = "contest" if data.contests[:1].tolist() == [progress.last_contest] else ""
    if split:
        message = f"it is in the same {split} as the last row that is rated, and a {split} is rated as a whole"
        raise RowError(0, f"{message}; rate all anew, in another folder")


def _write_chunk(run: ChunkedRun, progress: RunProgress, chunk: ScheduledChunk, recorded: Any) -> RunProgress:
    """Write the predictions of a chunk that is rated; the progress with it, whose games count on in place."""
    none: Any = None
    prediction, before, after, inferred = recorded if run.needs_ratings else (recorded, none, none, none)
    data, n, sums, slope = chunk.data, chunk.num_players, progress.sums, progress.slope
    if slope is not None:
        prediction, slope = calibrate_events(prediction, data, run.period, progress.last, slope)
    columns = _prediction_columns(run, chunk, RecordedRun(None, prediction, before, after), inferred)
    _write_predictions_file(chunk_predictions_path(run.folder, progress.parts), columns)
    if isinstance(sums, ContestMetricSums):
        sums = add_contest_metrics(sums, data.rounds, columns["prediction"], before.mean, progress.ranked[:n])
        progress.ranked[:n] += count_ranked_contests(data.rounds, n)
        contests: Any = data.contests
        progress = progress._replace(
            contests=(progress.contests or 0) + len(contests), last_contest=contests[-1:].tolist()[0]
        )
    else:
        sums = add_match_metrics(sums, prediction, data.matches.score, data.matches.context.weight)
    progress.games[:n] += count_games(data.events, n)
    flat: Any = data.events.flat
    return progress._replace(
        rows=chunk.end,
        parts=progress.parts + 1,
        known=n,
        rated=progress.rated + len(data.rows),
        sums=sums,
        last=float(flat.time[-1]) if data.clock else None,
        shape=chunk.shape,
        slope=slope,
    )


def _prediction_columns(run: ChunkedRun, chunk: ScheduledChunk, result: RecordedRun, inferred: Any) -> dict[str, Any]:
    """The columns of the predictions of a chunk, as `rate` has them.

    With `brief` they are the row and the prediction alone, the latter with the probabilities of results if it has them.
    """
    data, reading = chunk.data, run.opened.reading
    if run.chunks.brief:
        return {"row": data.rows} | event_prediction_columns(result.prediction, data)
    if inferred is not None:
        inferred = mask_performances_of_contests_without_effect(run.system, inferred, data.rounds)
    in_teams = reading.roles.team is not None or reading.has_teams
    events = make_event_columns(data, result.prediction, recorded_columns(result, inferred), in_teams=in_teams)
    columns = to_table_columns(events, run.opened.players.names, None)
    if data.clock == "dates":
        columns["time"] = days_to_datetime64(columns["time"], run.opened.order.whole_days)
    return columns


def _write_predictions_file(path: Path, columns: dict[str, Any]) -> None:
    """Write a small file quickly: what is encoded by itself is not compressed, but for times."""
    table = to_arrow_if_installed(columns)
    options = compact_parquet_options(table.schema)
    encoded = options["column_encoding"].keys() - {"time"}
    compression = {name: "none" if name in encoded else "zstd" for name in table.column_names}
    with atomic_replacement(path) as (temporary,):
        import_pyarrow().parquet.write_table(table, temporary, compression=compression, **options)


@contextmanager
def defer_stop_signals() -> Iterator[list[int]]:
    """The signals that have come, of SIGTERM and Ctrl-C, which take their usual course at the end.

    Ctrl-C a second time does not wait. A signal that is ignored, or whose handler is not of Python, stays so.
    """
    received: list[int] = []

    def handle_signal(number: int, frame: Any) -> None:
        if number == signal.SIGINT and number in received:
            raise KeyboardInterrupt
        received.append(number)

    is_main = threading.current_thread() is threading.main_thread()  # which alone may set handlers
    numbers = (signal.SIGTERM, signal.SIGINT) if is_main else ()
    handlers = {number: x for number in numbers if (x := signal.getsignal(number)) not in (None, signal.SIG_IGN)}
    for number in handlers:
        signal.signal(number, handle_signal)
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])
