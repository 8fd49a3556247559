"""Chunks read, scheduled, rated and written side by side, until a signal asks to stop."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple, cast

import jax
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import check_accelerator_predictions_finite
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.rules import Record, State
from jaxrate.core.system import RatingSystem
from jaxrate.data.table_sources import atomic_replacement, import_pyarrow
from jaxrate.events import Ragged, RowError, count_games, period_number, periods
from jaxrate.events.dataset import Dataset
from jaxrate.history.event_columns import (
    days_to_datetime64,
    event_prediction_columns,
    make_event_columns,
    to_table_columns,
)
from jaxrate.history.online_calibration import calibrate_events
from jaxrate.history.out_of_core.event_chunks import OpenedTable, map_row_errors_to_file, read_event_chunks
from jaxrate.history.recorded_runs import (
    RecordedRun,
    do_leads_fade,
    mask_performances_of_contests_without_effect,
    performance_recording_function,
    record_prediction_and_ratings,
    recorded_columns,
)
from jaxrate.metrics.calibration_slopes import OnlineSlope
from jaxrate.metrics.prediction_metrics import count_ranked_contests
from jaxrate.metrics.running_metrics import ContestMetricSums, MetricSums, add_contest_metrics, add_match_metrics
from jaxrate.replay.blocks import NO_PADDED_SHAPES, BlockPlan, arrange_blocks
from jaxrate.replay.checked_replay import check_system_takes_events
from jaxrate.replay.execution import calculates_little_of_padding, execute_plan, min_mean_width_for_levels
from jaxrate.replay.padded_states_and_columns import init_or_copy_padded_state, max_step_matches_in_cache
from jaxrate.replay.scan_programs import make_replay_rules
from jaxrate.replay.schedule import Plan, PlanShape, make_plan, make_plan_of_shape
from jaxrate.storage.atomic_folder import flush_to_disk
from jaxrate.storage.npz_tables import to_arrow_if_installed

QUEUE_SIZE = 1  # items that wait between two threads
POLL_SECONDS = 0.05  # seconds after which a waiting thread checks whether it is still needed


class _EndOfItems(NamedTuple):
    """Marks the end of the items, and says why they ended."""

    error: BaseException | None = None


def _start_thread_in_same_context(work: Callable[[], None]) -> Thread:
    """Start a thread that works in the precision and the context of this one."""
    double, context = bool(jax.config.read("jax_enable_x64")), copy_context()

    def work_in_precision() -> None:
        with jax.enable_x64(double):
            work()

    thread = Thread(target=context.run, args=[work_in_precision], daemon=True)
    thread.start()
    return thread


@contextmanager
def prefetch(items: Iterator[Any]) -> Iterator[Iterator[Any]]:
    """The items, each made by another thread while the one before it is used. Errors arrive in their place."""
    queue: Queue[Any] = Queue(QUEUE_SIZE)
    over = Event()

    def put(item: Any) -> None:
        while not over.is_set():
            try:
                return queue.put(item, timeout=POLL_SECONDS)
            except Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(item)
                if over.is_set():
                    return
            put(_EndOfItems())
        except BaseException as error:
            put(_EndOfItems(error))

    def receive_items() -> Iterator[Any]:
        while not isinstance(item := queue.get(), _EndOfItems):
            yield item
        if item.error is not None:
            raise item.error

    thread = _start_thread_in_same_context(work)
    try:
        yield receive_items()
    finally:
        over.set()
        thread.join()


@contextmanager
def write_behind(consume: Callable[[Any], None]) -> Iterator[Callable[[Any], None]]:
    """A function that hands items to another thread, which uses them in their order.

    An error of that thread is raised by the next call, or at the end, when all items have been used. After an error of
    this thread the waiting items are used all the same.
    """
    queue: Queue[Any] = Queue(QUEUE_SIZE)
    failed: list[BaseException] = []

    def work() -> None:
        while not isinstance(item := queue.get(), _EndOfItems):
            if not failed:
                try:
                    consume(item)
                except BaseException as error:
                    failed.append(error)

    def put(item: Any) -> None:
        if failed:
            raise failed[0]
        queue.put(item)

    thread = _start_thread_in_same_context(work)
    try:
        yield put
    finally:
        queue.put(_EndOfItems())
        thread.join()
    if failed:
        raise failed[0]


PREDICTIONS_FOLDER = "predictions"


class RunProgress(NamedTuple):
    """How far a run has come, and all that is needed to go on."""

    rows: int  # number of rows rated
    parts: int  # number of files of predictions
    num_players: int  # who have played
    state: State  # leaves [num_players, ...]; None: nothing was rated
    games: HostArray  # [num_players]
    sums: MetricSums | ContestMetricSums
    last: float | None  # the time of the last event
    width: int | None  # of a step of the schedule; 0: a stream; None: to be chosen at the first chunk, or no matches
    contests: int | None = None  # how many; None: these are matches
    last_contest: Any = None  # its name
    ranked: HostArray | None = None  # [num_players] contests that rank somebody; None: these are matches
    slope: OnlineSlope | None = None  # that calibrates predictions; None: they stay as the system has them


class ChunkedRunSpec(NamedTuple):
    """The system and the events of a run, and where the predictions go."""

    system: RatingSystem
    opened: OpenedTable
    folder: Path
    size: int  # matches, or participations, of a chunk
    brief: bool  # whether only the row and the prediction are written
    period: float | None  # the length of rating periods
    key: Array | None

    @property
    def has_contests(self) -> bool:
        """Whether these are contests."""
        return self.opened.roles.layout.contest is not None

    @property
    def needs_ratings(self) -> bool:
        """Whether ratings are recorded: metrics of contests are of them."""
        return self.has_contests or not self.brief


class ScheduledChunk(NamedTuple):
    """A chunk, scheduled."""

    first_row: int
    number: int  # of the chunk
    data: Dataset
    plan: Plan | BlockPlan
    num_players: int  # who have played by its end


def part_file_name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def rate_chunks(
    run: ChunkedRunSpec,
    progress: RunProgress,
    seconds: dict[str, float],
    save_checkpoint: Callable[[RunProgress], None],
    poll_requests: Callable[[], tuple[bool, bool]],
    report_progress: Callable[[int], Any],
) -> None:
    """Rate the remaining chunks.

    Args:
      run: the system, the matches and the folder.
      progress: how far the run has come.
      seconds: the time of each kind of work is added to it, by name.
      save_checkpoint: called with the progress once all results up to it are on the disk; at the end, too.
      poll_requests: returns whether a checkpoint is due, and whether to stop after it.
      report_progress: called after each chunk with the number of matches that are rated.
    """
    system = run.system
    rules = make_replay_rules(system.rules, system.params, _chunk_record_function(run))
    rows = max(run.opened.max_players, progress.num_players)
    state, _ = init_or_copy_padded_state(system, system.params, progress.state, rows, progress.num_players)
    write = _make_chunk_writer(run, progress, seconds, save_checkpoint, report_progress)
    scheduled = _schedule_chunks(run, progress, max_step_matches_in_cache(state), seconds)
    with prefetch(scheduled) as chunks, write_behind(write) as put:
        for chunk in chunks:
            start, n = time.perf_counter(), len(chunk.data.rows)
            key = None if run.key is None else jax.random.fold_in(run.key, chunk.number)
            state, predictions = execute_plan(rules, system.params, state, chunk.plan, key, ids_checked=True)
            predictions = jax.tree.map(lambda x, n=n: np.asarray(x)[:n], jax.block_until_ready(predictions))
            if run.has_contests:
                prediction, *_ = jax.tree.leaves(predictions)  # first of what is recorded
                check_accelerator_predictions_finite(prediction)
            snapshot, (checkpoint_due, stop) = None, poll_requests()
            if checkpoint_due or stop or chunk.first_row + n == run.opened.table.row_count:
                snapshot = jax.tree.map(lambda x, rows=chunk.num_players: np.array(np.asarray(x)[:rows]), state)
            seconds["rating"] += time.perf_counter() - start
            put((chunk, predictions, snapshot))
            if stop:
                break


def _chunk_record_function(run: ChunkedRunSpec) -> Record | None:
    """What a run records: the ratings of each event; nothing where only predictions are needed."""
    if not run.needs_ratings:
        return None
    performance_function = performance_recording_function(run.system) if run.has_contests and not run.brief else None
    fades = do_leads_fade(run.system)
    record: Record = bind(record_prediction_and_ratings, run.system.summary, performance_function, fades)
    return record


def _schedule_chunks(
    run: ChunkedRunSpec, progress: RunProgress, max_step_matches: int, seconds: dict[str, float]
) -> Iterator[ScheduledChunk]:
    """The chunks, all scheduled for one program."""
    system, number = run.system, progress.parts
    plan_shape, block_shapes = None if progress.width is None else PlanShape(progress.width), NO_PADDED_SHAPES
    start = time.perf_counter()
    for first_row, data, num_players in read_event_chunks(run.opened, run.size, progress.rows, run.period):
        end_of_reading = time.perf_counter()
        plan: Plan | BlockPlan
        with map_row_errors_to_file(run.opened.source, data.rows):
            if number == progress.parts:
                _check_first_event_is_new(data, progress, run.period)
            events = data.events if run.period is None else periods(data.matches, run.period)
            check_system_takes_events(system, events, run.key)
        if isinstance(events, Ragged):
            tiled = calculates_little_of_padding(system, (system.params, run.key), events)
            plan = arrange_blocks(events, None, block_shapes, tiled)
            block_shapes = block_shapes.add_history(plan)
        elif plan_shape is None:
            threshold = min_mean_width_for_levels(system, system.params, run.key, events, _chunk_record_function(run))
            plan = make_plan(events, "auto", threshold, max_step_matches)
        else:
            plan = make_plan_of_shape(events, plan_shape)
        plan_shape = PlanShape.of(plan) if isinstance(plan, Plan) else None
        seconds["reading"] += end_of_reading - start
        seconds["scheduling"] += time.perf_counter() - end_of_reading
        yield ScheduledChunk(first_row, number, data, plan, num_players)
        number, start = number + 1, time.perf_counter()


def _check_first_event_is_new(data: Dataset, progress: RunProgress, period: float | None) -> None:
    """RowError if the first row is of the rating period, or of the contest, of the last row that is rated."""
    if period is not None and progress.last is not None:
        first, last = (period_number(x, period) for x in (data.matches.time[0], progress.last))
        message = "it is in the same rating period as the last match that is rated, and a period is rated as a whole"
        if first == last:
            raise RowError(0, f"{message}; rate all matches anew, in another folder")
    if progress.contests and data.contests is not None and data.contests[:1].tolist() == [progress.last_contest]:
        message = "it is in the same contest as the last participation that is rated, and a contest is rated as a whole"
        raise RowError(0, f"{message}; rate all contests anew, in another folder")


def _make_chunk_writer(
    run: ChunkedRunSpec,
    progress: RunProgress,
    seconds: dict[str, float],
    save_checkpoint: Callable[[RunProgress], None],
    report_progress: Callable[[int], Any],
) -> Callable[[tuple[ScheduledChunk, Any, State]], None]:
    """A function that writes a chunk that is rated: its predictions, the metrics and, with a state, a checkpoint."""
    unflushed = list[Path]()
    games = np.zeros(max(run.opened.max_players, progress.num_players), np.int64)
    games[: progress.num_players] = progress.games
    ranked = np.zeros_like(games)
    ranked[: progress.num_players] = 0 if progress.ranked is None else progress.ranked

    def write(item: tuple[ScheduledChunk, Any, State]) -> None:
        nonlocal progress
        start = time.perf_counter()
        chunk, recorded, state = item
        none: Any = None
        prediction, before, after, inferred = recorded if run.needs_ratings else (recorded, none, none, none)
        path, data = run.folder / PREDICTIONS_FOLDER / part_file_name(chunk.number), chunk.data
        slope = progress.slope
        if slope is not None:
            prediction, slope = calibrate_events(prediction, data, run.period, progress.last, slope)
        result = RecordedRun(None, prediction, before, after)
        columns = _prediction_columns(run, chunk, result, inferred)
        _write_predictions_file(path, columns)
        unflushed.append(path)
        contests, sums, n = dict[str, Any](), cast(Any, progress.sums), chunk.num_players
        if data.contests is not None:
            sums = add_contest_metrics(sums, data.rounds, columns["prediction"], before.mean, ranked[:n])
            contests = {"contests": (progress.contests or 0) + len(data.contests)}
            contests |= {"last_contest": data.contests[-1:].tolist()[0], "ranked": ranked[:n]}
            games[:n] += count_games(data.rounds, n)
            ranked[:n] += count_ranked_contests(data.rounds, n)
        else:
            matches = data.matches
            np.add.at(games, matches.player.ravel(), 1)
            sums = add_match_metrics(sums, prediction, matches.score, matches.context.weight)
        last = float(_event_times(data)[-1]) if data.clock else None
        rows = chunk.first_row + len(data.rows)
        width = PlanShape.of(chunk.plan).width if isinstance(chunk.plan, Plan) else None
        counts = rows, chunk.number + 1, n, state, games[:n]
        progress = RunProgress(*counts, sums, last, width, slope=slope, **contests)
        if state is not None:
            for path in (*unflushed, run.folder / PREDICTIONS_FOLDER):
                flush_to_disk(path)
            unflushed.clear()
            save_checkpoint(progress)
        seconds["writing"] += time.perf_counter() - start
        report_progress(rows)

    return write


def _event_times(data: Dataset) -> HostArray:
    """[E] the times of matches or contests."""
    flat: Any = data.matches if data.contests is None else data.rounds.events
    return np.asarray(flat.time)


def _prediction_columns(
    run: ChunkedRunSpec, chunk: ScheduledChunk, result: RecordedRun, inferred: Any
) -> dict[str, Any]:
    """The columns of the predictions of a chunk, as `rate` has them."""
    data = chunk.data
    if run.brief:
        return {"row": data.rows} | event_prediction_columns(result.prediction, data)
    names = run.opened.names
    names = names if run.opened.ids is None else import_pyarrow().array(names[: chunk.num_players])
    if inferred is not None:
        inferred = mask_performances_of_contests_without_effect(run.system, inferred, data.rounds)
    found, in_teams = recorded_columns(result, inferred), run.opened.roles.team is not None
    events = make_event_columns(data, result.prediction, found, in_teams=in_teams)
    columns = to_table_columns(events, names, None)
    if data.clock == "dates":
        columns["time"] = days_to_datetime64(columns["time"], run.opened.whole_days)
    return columns


def _write_predictions_file(path: Path, columns: dict[str, Any]) -> None:
    """Write a small file quickly: whole numbers as differences, other numbers with their bytes in separate streams."""
    arrow = import_pyarrow()
    table = to_arrow_if_installed(columns)
    kinds, encoding = arrow.types, {}
    for field in table.schema:
        if kinds.is_integer(field.type) or kinds.is_temporal(field.type):
            encoding[field.name] = "DELTA_BINARY_PACKED"
        elif kinds.is_floating(field.type) and field.name != "score":
            encoding[field.name] = "BYTE_STREAM_SPLIT"
    others = [name for name in table.column_names if name not in encoding]
    compression = {name: "none" if name in encoding and name != "time" else "zstd" for name in table.column_names}
    with atomic_replacement(path) as (temporary,):
        arrow.parquet.write_table(
            table, temporary, use_dictionary=others, column_encoding=encoding, compression=compression
        )


@contextmanager
def catch_stop_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set. Once the results are saved, the signal takes its usual course."""
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested  # only the main thread receives signals
        return
    received: list[int] = []

    def handle_signal(number: int, frame: Any) -> None:
        if number == signal.SIGINT and number in received:
            raise KeyboardInterrupt  # Ctrl-C a second time does not wait
        received.append(number)
        requested.set()

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    excluded = None, signal.SIG_IGN  # handlers outside Python cannot be restored; a shell's background jobs ignore
    before = {number: handler for number, handler in before.items() if handler not in excluded}
    for number in before:
        signal.signal(number, handle_signal)
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])
