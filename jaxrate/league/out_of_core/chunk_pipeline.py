"""Matches rated a chunk at a time: the next is read and arranged while one is rated and the last is written."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.data.table_sources import atomic_replacement, import_pyarrow
from jaxrate.events import Matches, Ragged, RowError, period_number, periods
from jaxrate.events.dataset import Dataset
from jaxrate.hashable import bind
from jaxrate.league.dataset_rating import rated_match_columns
from jaxrate.league.event_ratings import History, record_ratings
from jaxrate.league.out_of_core.background_threads import prefetch, write_behind
from jaxrate.league.out_of_core.match_chunks import OpenedMatches, locate_row_errors, read_match_chunks
from jaxrate.league.prediction_columns import match_prediction_columns
from jaxrate.league.rated_history import days_to_datetime64
from jaxrate.metrics.running_metrics import MetricSums, add_matches
from jaxrate.replay.blocks import NO_PADDED_SHAPES, Blocks, arrange_blocks
from jaxrate.replay.compile_options import levels_threshold, matches_in_cache
from jaxrate.replay.pure_scan import execute
from jaxrate.replay.schedule import Plan, PlanShape, arrange_in_shape, make_plan
from jaxrate.replay.state import check_events, make_padded_state
from jaxrate.storage.atomic_folder import flush_to_disk
from jaxrate.system import Rating, RatingSystem, Rules, State, resolve_sizes
from jaxrate.types import Array, HostArray

PREDICTIONS_FOLDER = "predictions"


class RunProgress(NamedTuple):
    """How far a run has come: all that is needed to go on."""

    rows: int  # rated so far
    parts: int  # files of predictions written
    known: int  # players who have played
    state: State  # leaves [known, ...]; None: nothing was rated
    games: HostArray  # [known]
    sums: MetricSums
    last: float | None  # the time of the last match
    width: int | None  # of a step of the schedule; 0: a stream; None: as suits the first chunk, or periods


class ChunkedRun(NamedTuple):
    """What is rated, how, and where the predictions go."""

    system: RatingSystem
    opened: OpenedMatches
    folder: Path
    size: int  # matches of a chunk
    brief: bool  # only the row and the prediction are written
    period: float | None  # the length of rating periods
    key: Array | None


class Chunk(NamedTuple):
    """A chunk, ready to be rated."""

    first: int  # the number of its first row
    number: int  # of the chunk
    data: Dataset
    plan: Plan | Blocks
    known: int  # players who have played by its end


def part_file_name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def rate_chunks(
    run: ChunkedRun,
    progress: RunProgress,
    seconds: dict[str, float],
    save_checkpoint: Callable[[RunProgress], None],
    poll_requests: Callable[[], tuple[bool, bool]],
    report_progress: Callable[[int], Any],
) -> None:
    """Rate what is left.

    Args:
      work: what, how and where.
      begin: what was done before.
      seconds: to which the time of each kind of work is added, by name.
      keep: is given how far the run has come, once all that is on the disk; in the end, too.
      asked: whether that is wanted now, and whether to stop then.
      tell: is told after each chunk how many matches are rated.
    """
    system = run.system
    rules = resolve_sizes(_chunk_rules(run), system.params)
    rows = max(run.opened.players, progress.known)
    state, _ = make_padded_state(system, system.params, progress.state, rows, progress.known)
    write = _make_chunk_writer(run, progress, seconds, save_checkpoint, report_progress)
    arranged = _schedule_chunks(run, progress, matches_in_cache(state), seconds)
    with prefetch(arranged) as chunks, write_behind(write) as put:
        for chunk in chunks:
            start, n = time.perf_counter(), len(chunk.data.rows)
            key = None if run.key is None else jax.random.fold_in(run.key, chunk.number)
            state, predictions = execute(
                rules, system.params, state, chunk.plan, key, ids_checked=True, exact_length=False
            )
            predictions = jax.tree.map(lambda x, n=n: np.asarray(x)[:n], jax.block_until_ready(predictions))
            kept, (wanted, stop) = None, poll_requests()
            if wanted or stop or chunk.first + n == run.opened.table.rows:
                kept = jax.tree.map(lambda x, known=chunk.known: np.array(np.asarray(x)[:known]), state)
            seconds["rating"] += time.perf_counter() - start
            put((chunk, predictions, kept))
            if stop:
                break


def _chunk_rules(run: ChunkedRun) -> Rules:
    """The rules of a run, which record the ratings before each match unless only predictions are written."""
    system = run.system
    return system.rules._replace(record=None if run.brief else bind(record_ratings, system.summary, None, False))


def _schedule_chunks(
    run: ChunkedRun, progress: RunProgress, capacity: int, seconds: dict[str, float]
) -> Iterator[Chunk]:
    """The chunks, all arranged for one program."""
    system, number = run.system, progress.parts
    form, rooms = None if progress.width is None else PlanShape(progress.width), NO_PADDED_SHAPES
    start = time.perf_counter()
    for first, data, known in read_match_chunks(run.opened, run.size, progress.rows, run.period):
        read = time.perf_counter()
        made: Plan | Blocks
        with locate_row_errors(run.opened.source, data.rows):
            if run.period is not None and number == progress.parts:
                _check_new_period(data.matches, progress.last, run.period)
            events = data.matches if run.period is None else periods(data.matches, run.period)
            check_events(system, events, run.key)
        if isinstance(events, Ragged):
            made = arrange_blocks(events, None, rooms)
            rooms = rooms.with_history(made)
        elif form is None:
            looked = system._replace(rules=_chunk_rules(run))
            made = make_plan(events, "auto", levels_threshold(looked, system.params, run.key, events), capacity)
        else:
            made = arrange_in_shape(events, form)
        form = PlanShape.of(made) if isinstance(made, Plan) else None
        seconds["reading"] += read - start
        seconds["scheduling"] += time.perf_counter() - read
        yield Chunk(first, number, data, made, known)
        number, start = number + 1, time.perf_counter()


def _check_new_period(matches: Matches, last: float | None, period: float) -> None:
    """RowError if matches go on with the rating period in which those that are rated ended."""
    if last is not None and period_number(matches.time[0], period) == period_number(last, period):
        said = "it is in the same rating period as the last match that is rated, and a period is rated as a whole"
        raise RowError(0, f"{said}; rate all matches anew, in another folder")


def _make_chunk_writer(
    run: ChunkedRun,
    progress: RunProgress,
    seconds: dict[str, float],
    save_checkpoint: Callable[[RunProgress], None],
    report_progress: Callable[[int], Any],
) -> Callable[[tuple[Chunk, Any, State]], None]:
    """What puts away chunks that are rated: predictions, games, measures and, with a state, a checkpoint."""
    now, written = progress, list[Path]()
    games = np.zeros(max(run.opened.players, progress.known), np.int64)
    games[: progress.known] = progress.games

    def write(item: tuple[Chunk, Any, State]) -> None:
        nonlocal now
        start = time.perf_counter()
        piece, seen, state = item
        guess, before = (seen, None) if run.brief else seen[:2]
        path = run.folder / PREDICTIONS_FOLDER / part_file_name(piece.number)
        _write_predictions_file(path, _prediction_columns(run, piece, guess, before))
        written.append(path)
        matches = piece.data.matches
        np.add.at(games, matches.player.ravel(), 1)
        sums = add_matches(now.sums, guess, matches.score, matches.context.weight)
        last = float(matches.time[-1]) if piece.data.clock else None
        rows, width = piece.first + len(matches.score), None
        if isinstance(piece.plan, Plan):
            width = PlanShape.of(piece.plan).width
        now = RunProgress(rows, piece.number + 1, piece.known, state, games[: piece.known], sums, last, width)
        if state is not None:
            for path in (*written, run.folder / PREDICTIONS_FOLDER):
                flush_to_disk(path)
            written.clear()
            save_checkpoint(now)
        seconds["writing"] += time.perf_counter() - start
        report_progress(rows)

    return write


def _prediction_columns(
    run: ChunkedRun, chunk: Chunk, prediction: Any, ratings_before: Rating | None
) -> dict[str, Any]:
    """The columns of the predictions of a chunk, as `rate` has them."""
    if ratings_before is None:
        return {"row": chunk.data.rows} | match_prediction_columns(prediction)
    names = run.opened.names
    named = names if run.opened.ids is None else import_pyarrow().array(names[: chunk.known])
    columns = rated_match_columns(chunk.data, History(None, prediction, ratings_before), named)
    if chunk.data.clock == "dates":
        columns["time"] = days_to_datetime64(chunk.data.matches.time, run.opened.whole_days)
    return columns


def _write_predictions_file(path: Path, columns: dict[str, Any]) -> None:
    """A small file, quickly: whole numbers by their differences, other numbers with like bytes together."""
    arrow = import_pyarrow()
    table = arrow.table(columns)
    kinds, packed = arrow.types, {}
    for field in table.schema:
        if kinds.is_integer(field.type) or kinds.is_temporal(field.type):
            packed[field.name] = "DELTA_BINARY_PACKED"
        elif kinds.is_floating(field.type) and field.name != "score":
            packed[field.name] = "BYTE_STREAM_SPLIT"
    coded = [name for name in table.column_names if name not in packed]
    compression = {name: "none" if name in packed and name != "time" else "zstd" for name in table.column_names}
    with atomic_replacement(path) as (temporary,):
        arrow.parquet.write_table(
            table, temporary, use_dictionary=coded, column_encoding=packed, compression=compression
        )
