"""Chunks read, scheduled, rated and written, until a signal asks to stop."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import check_accelerator_predictions_finite
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.rules import Record, State
from jaxrate.core.system import RatingSystem
from jaxrate.data.faulty_rows import map_row_errors
from jaxrate.data.table_sources import add_location_to_data_errors, atomic_replacement, import_pyarrow
from jaxrate.data.table_writing import small_file_options
from jaxrate.events import Matches, Ragged, RowError, count_games, period_number, periods
from jaxrate.events.dataset import Dataset
from jaxrate.history.event_columns import (
    days_to_datetime64,
    event_prediction_columns,
    make_event_columns,
    to_table_columns,
)
from jaxrate.history.out_of_core.event_chunks import OpenedTable, read_event_chunks
from jaxrate.history.recorded_runs import (
    RecordedRun,
    calibrate_events,
    do_leads_fade,
    infers_performances,
    mask_performances_of_contests_without_effect,
    record_prediction_and_ratings,
    recorded_columns,
)
from jaxrate.metrics.calibration_slopes import OnlineSlope
from jaxrate.metrics.prediction_metrics import count_ranked_contests
from jaxrate.metrics.running_metrics import ContestMetricSums, MetricSums, add_contest_metrics, add_match_metrics
from jaxrate.replay.checked_replay import check_system_takes_events
from jaxrate.replay.execution import calculates_little_of_padding, min_mean_width_for_levels, replay_plan
from jaxrate.replay.padded_states_and_columns import init_or_copy_padded_state, max_step_matches_in_cache, state_shapes
from jaxrate.replay.plan import NO_SHAPES, CompiledShapes, Plan
from jaxrate.replay.scan_programs import make_replay_rules
from jaxrate.replay.schedule import make_plan, make_plan_of_shapes
from jaxrate.storage.run_folder import to_arrow_if_installed

PREDICTIONS_FOLDER = "predictions"


class RunProgress(NamedTuple):
    """How far a run has come, and all that is needed to go on."""

    rows: int  # of the table that were read
    parts: int  # files of predictions
    known: int  # players who have played
    rated: int  # matches or participations
    sums: MetricSums | ContestMetricSums
    last: float | None  # the time of the last event
    shape: CompiledShapes  # for which programs were compiled
    contests: int | None  # how many; None: these are matches
    last_contest: Any  # its name
    slope: OnlineSlope | None  # that calibrates predictions; None: they stay as the system has them
    games: HostArray  # [at least known]
    ranked: HostArray  # [at least known] contests that rank somebody
    state: State  # leaves [known, ...]; None: nothing was rated, or it is not at hand


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


class ScheduledChunk(NamedTuple):
    """A chunk, scheduled."""

    end: int  # the row after it
    number: int  # of the chunk
    data: Dataset
    events: Matches | Ragged
    plan: Plan
    shape: CompiledShapes  # for which programs are compiled by its end
    num_players: int  # who have played by its end


def part_file(folder: Path, number: int) -> Path:
    """The predictions of a chunk of a run in the folder."""
    return folder / PREDICTIONS_FOLDER / f"part-{number:06d}.parquet"


def rate_chunks(run: ChunkedRun, progress: RunProgress) -> Iterator[RunProgress]:
    """Rate the remaining chunks; how far the run has come after each, whose state the next one overwrites."""
    system, state, capacity = run.system, progress.state, 0
    rules = make_replay_rules(system.rules, system.params, _chunk_record_function(run))
    for chunk in _schedule_chunks(run, progress):
        if chunk.num_players > capacity:  # more names have come than there is room for
            capacity, known = run.opened.players.capacity, progress.known
            state = jax.tree.map(lambda x, known=known: x[:known], state)
            state, _ = init_or_copy_padded_state(system, system.params, state, capacity, known)
            progress = _make_room(progress, capacity)
        with run.timed("rating"):
            n, key = len(chunk.data.rows), None if run.key is None else jax.random.fold_in(run.key, chunk.number)
            state, predictions = replay_plan(rules, system.params, state, chunk.events, chunk.plan, key)
            predictions = jax.tree.map(lambda x, n=n: np.asarray(x)[:n], jax.block_until_ready(predictions))
            if run.has_contests:
                check_accelerator_predictions_finite(jax.tree.leaves(predictions)[0])  # the first that is recorded
        with run.timed("writing"):
            progress = _write_chunk(run, progress, chunk, predictions)
        yield progress._replace(state=state)


def _make_room(progress: RunProgress, num_players: int) -> RunProgress:
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
    chunks = enumerate(read_event_chunks(run.opened, run.chunks.rows, progress.rows, run.period), progress.parts)
    while True:
        with run.timed("reading"):
            number, (end, data) = next(chunks, (0, (0, None)))
        if data is None:
            return
        with run.timed("scheduling"):
            events = data.events if run.period is None else periods(data.matches, run.period)
            source = run.opened.reading.source
            with add_location_to_data_errors(source.title, source.where), map_row_errors(data.rows):
                if number == progress.parts:
                    _check_first_event_is_new(data, progress, run.period)
                check_system_takes_events(run.system, events, run.key)
            plan = _make_chunk_plan(run, events, shape)
            shape = shape.add(plan) if isinstance(events, Ragged) else NO_SHAPES.add(plan)
        yield ScheduledChunk(end, number, data, events, plan, shape, run.opened.players.count)


def _make_chunk_plan(run: ChunkedRun, events: Matches | Ragged, shape: CompiledShapes) -> Plan:
    """A plan for the programs of the chunks before; for the first chunk of matches as `run` makes it."""
    if isinstance(events, Ragged):
        tiled = calculates_little_of_padding(run.system, (run.system.params, run.key), events)
        return make_plan_of_shapes(events, shape, tiled)
    if shape.blocks:
        return make_plan_of_shapes(events, shape)
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
    _write_predictions_file(part_file(run.folder, chunk.number), columns)
    if isinstance(sums, ContestMetricSums):
        sums = add_contest_metrics(sums, data.rounds, columns["prediction"], before.mean, progress.ranked[:n])
        progress.games[:n] += count_games(data.rounds, n)
        progress.ranked[:n] += count_ranked_contests(data.rounds, n)
        contests: Any = data.contests
        progress = progress._replace(
            contests=(progress.contests or 0) + len(contests), last_contest=contests[-1:].tolist()[0]
        )
    else:
        np.add.at(progress.games, data.matches.player.ravel(), 1)
        sums = add_match_metrics(sums, prediction, data.matches.score, data.matches.context.weight)
    flat: Any = data.events.flat
    return progress._replace(
        rows=chunk.end,
        parts=chunk.number + 1,
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
    names = run.opened.players.names
    names = import_pyarrow().array(names[: chunk.num_players]) if isinstance(names, np.ndarray) else names
    if inferred is not None:
        inferred = mask_performances_of_contests_without_effect(run.system, inferred, data.rounds)
    in_teams = reading.roles.team is not None or reading.has_teams
    events = make_event_columns(data, result.prediction, recorded_columns(result, inferred), in_teams=in_teams)
    columns = to_table_columns(events, names, None)
    if data.clock == "dates":
        columns["time"] = days_to_datetime64(columns["time"], run.opened.order.whole_days)
    return columns


def _write_predictions_file(path: Path, columns: dict[str, Any]) -> None:
    """Write a small file quickly: what is encoded by itself is not compressed, but for times."""
    table = to_arrow_if_installed(columns)
    options = small_file_options(table.schema)
    encoded = options["column_encoding"].keys() - {"time"}
    compression = {name: "none" if name in encoded else "zstd" for name in table.column_names}
    with atomic_replacement(path) as (temporary,):
        import_pyarrow().parquet.write_table(table, temporary, compression=compression, **options)


@contextmanager
def catch_stop_signals() -> Iterator[list[int]]:
    """The signals that have come, of SIGTERM and Ctrl-C, which take their usual course at the end.

    Ctrl-C a second time does not wait. A signal that is ignored, or whose handler is not of Python, stays so.
    """
    received: list[int] = []

    def handle_signal(number: int, frame: Any) -> None:
        if number == signal.SIGINT and number in received:
            raise KeyboardInterrupt
        received.append(number)

    is_main = threading.current_thread() is threading.main_thread()  # which alone may set handlers
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT) if is_main}
    handlers = {number: x for number, x in handlers.items() if x not in (None, signal.SIG_IGN)}
    for number in handlers:
        signal.signal(number, handle_signal)
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])
