"""Matches rated a chunk at a time: the next is read and arranged while one is rated and the last is written."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.data.dataset import Dataset
from jaxrate.data.streams import Opened, datasets, rows_named
from jaxrate.data.tables import Values, pyarrow, replacing
from jaxrate.events import Array, Matches, Ragged, RowError, period_number, periods
from jaxrate.records.folder import to_disk
from jaxrate.records.history import History, recording
from jaxrate.records.outlooks import of_matches
from jaxrate.records.rated import moments
from jaxrate.records.rating import match_columns
from jaxrate.records.relays import ahead, behind
from jaxrate.records.sums import Sums, added
from jaxrate.replay.blocks import NO_ROOMS, Blocks, arranged
from jaxrate.replay.compiling import most, worth
from jaxrate.replay.pure import replayed
from jaxrate.replay.schedule import Form, Plan, in_form, plan
from jaxrate.replay.state import check_events, start_roomy
from jaxrate.system import Rating, RatingSystem, State, sized_for

FOLDER = "predictions"


class Progress(NamedTuple):
    """How far a run has come: all that is needed to go on."""

    rows: int  # rated so far
    parts: int  # files of predictions written
    known: int  # players who have played
    state: State  # leaves [known, ...]; None: nothing was rated
    games: Values  # [known]
    sums: Sums
    last: float | None  # the time of the last match
    width: int | None  # of a step of the schedule; 0: a stream; None: as suits the first chunk, or periods


class Work(NamedTuple):
    """What is rated, how, and where the predictions go."""

    system: RatingSystem
    opened: Opened
    folder: Path
    size: int  # matches of a chunk
    brief: bool  # only the row and the prediction are written
    period: float | None  # the length of rating periods
    key: Array | None


class Piece(NamedTuple):
    """A chunk, ready to be rated."""

    first: int  # the number of its first row
    number: int  # of the chunk
    data: Dataset
    plan: Plan | Blocks
    known: int  # players who have played by its end


def part_name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def rate_chunks(
    work: Work,
    begin: Progress,
    seconds: dict[str, float],
    keep: Callable[[Progress], None],
    asked: Callable[[], tuple[bool, bool]],
    tell: Callable[[int], Any],
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
    system = work.system
    rules = sized_for(system.rules, system.params)
    rules = rules if work.brief else recording(rules, system.summary)
    rows = max(work.opened.players, begin.known)
    state, _ = start_roomy(system, system.params, begin.state, rows, begin.known)
    write = _writer(work, begin, seconds, keep, tell)
    arranged = _arranged(work, begin, most(state), seconds)
    with ahead(arranged) as pieces, behind(write) as put:
        for piece in pieces:
            start, n = time.perf_counter(), len(piece.data.rows)
            key = None if work.key is None else jax.random.fold_in(work.key, piece.number)
            state, seen = replayed(rules, system.params, state, piece.plan, key, checked=True, exact=False)
            seen = jax.tree.map(lambda x, n=n: np.asarray(x)[:n], jax.block_until_ready(seen))
            kept, (wanted, stop) = None, asked()
            if wanted or stop or piece.first + n == work.opened.table.rows:
                kept = jax.tree.map(lambda x, known=piece.known: np.array(np.asarray(x)[:known]), state)
            seconds["rating"] += time.perf_counter() - start
            put((piece, seen, kept))
            if stop:
                break


def _arranged(work: Work, begin: Progress, room: int, seconds: dict[str, float]) -> Iterator[Piece]:
    """The chunks, all arranged for one program."""
    system, number = work.system, begin.parts
    form, rooms = None if begin.width is None else Form(begin.width), NO_ROOMS
    start = time.perf_counter()
    for first, data, known in datasets(work.opened, work.size, begin.rows, work.period):
        read = time.perf_counter()
        made: Plan | Blocks
        with rows_named(work.opened.source, data.rows):
            if work.period is not None and number == begin.parts:
                _check_begins(data.matches, begin.last, work.period)
            events = data.matches if work.period is None else periods(data.matches, work.period)
            check_events(system, events, work.key)
        if isinstance(events, Ragged):
            made = arranged(events, None, rooms)
            rooms = rooms.having(made)
        elif form is None:
            looked = system if work.brief else system._replace(rules=recording(system.rules, system.summary))
            made = plan(events, "auto", worth(looked, system.params, work.key, events), room)
        else:
            made = in_form(events, form)
        form = Form.of(made) if isinstance(made, Plan) else None
        seconds["reading"] += read - start
        seconds["scheduling"] += time.perf_counter() - read
        yield Piece(first, number, data, made, known)
        number, start = number + 1, time.perf_counter()


def _check_begins(matches: Matches, last: float | None, period: float) -> None:
    """RowError if matches go on with the rating period in which those that are rated ended."""
    if last is not None and period_number(matches.time[0], period) == period_number(last, period):
        said = "it is in the same rating period as the last match that is rated, and a period is rated as a whole"
        raise RowError(0, f"{said}; rate all matches anew, in another folder")


def _writer(
    work: Work, begin: Progress, seconds: dict[str, float], keep: Callable[[Progress], None], tell: Callable[[int], Any]
) -> Callable[[tuple[Piece, Any, State]], None]:
    """What puts away chunks that are rated: predictions, games, measures and, with a state, a checkpoint."""
    now, written = begin, list[Path]()
    games = np.zeros(max(work.opened.players, begin.known), np.int64)
    games[: begin.known] = begin.games

    def write(item: tuple[Piece, Any, State]) -> None:
        nonlocal now
        start = time.perf_counter()
        piece, seen, state = item
        guess, before = (seen, None) if work.brief else seen
        path = work.folder / FOLDER / part_name(piece.number)
        _write(path, _columns(work, piece, guess, before))
        written.append(path)
        matches = piece.data.matches
        np.add.at(games, matches.player.ravel(), 1)
        sums = added(now.sums, guess, matches.score, matches.context.weight)
        last = float(matches.time[-1]) if piece.data.clock else None
        rows, width = piece.first + len(matches.score), None
        if isinstance(piece.plan, Plan):
            width = Form.of(piece.plan).width
        now = Progress(rows, piece.number + 1, piece.known, state, games[: piece.known], sums, last, width)
        if state is not None:
            for path in (*written, work.folder / FOLDER):
                to_disk(path)
            written.clear()
            keep(now)
        seconds["writing"] += time.perf_counter() - start
        tell(rows)

    return write


def _columns(work: Work, piece: Piece, guess: Any, before: Rating | None) -> dict[str, Any]:
    """The columns of the predictions of a chunk, as `rate` has them."""
    if before is None:
        return {"row": piece.data.rows} | of_matches(guess)
    names = work.opened.names
    named = names if work.opened.ids is None else pyarrow().array(names[: piece.known])
    columns = match_columns(piece.data, History(None, guess, before), named)
    if piece.data.clock == "dates":
        columns["time"] = moments(piece.data.matches.time, work.opened.whole_days)
    return columns


def _write(path: Path, columns: dict[str, Any]) -> None:
    """A small file, quickly: whole numbers by their differences, other numbers with like bytes together."""
    arrow = pyarrow()
    table = arrow.table(columns)
    kinds, packed = arrow.types, {}
    for field in table.schema:
        if kinds.is_integer(field.type) or kinds.is_temporal(field.type):
            packed[field.name] = "DELTA_BINARY_PACKED"
        elif kinds.is_floating(field.type) and field.name != "score":
            packed[field.name] = "BYTE_STREAM_SPLIT"
    coded = [name for name in table.column_names if name not in packed]
    compression = {name: "none" if name in packed and name != "time" else "zstd" for name in table.column_names}
    with replacing(path) as (temporary,):
        arrow.parquet.write_table(
            table, temporary, use_dictionary=coded, column_encoding=packed, compression=compression
        )
