"""Games in PGN, the notation of chess: only the tags are read, in pieces."""

import datetime
import re
from array import array
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.data.formats.csv_collections import (
    RATING_DIFFERENCE,
    FormatOptions,
    Location,
    columns_named_by_options,
    decode_utf8_or_latin1,
    dictionary_column,
    rating_difference,
    read_dataset_from_derived_columns,
    resolve_existing_path,
)
from jaxrate.data.table_files import open_decompressed
from jaxrate.data.table_sources import add_location_to_data_errors, import_pyarrow
from jaxrate.events import RowError, fail_where
from jaxrate.events.dataset import Dataset

CHUNK = 1 << 24  # bytes at a time

TAG = rb'\n\[(%s)[ \t]+"([^"\\\n]*(?:\\.[^"\\\n]*)*)"[ \t]*\]'
ANY_TAG = re.compile(TAG % rb"\w+")
RESULT_SCORES = {b"1-0": 1.0, b"0-1": 0.0, b"1/2-1/2": 0.5}  # of White
USED_TAGS = "White", "Black", "Result", "UTCDate", "UTCTime", "Date", "WhiteElo", "BlackElo"


@enforce_argument_annotations
def pgn(path: Location, *, sort: bool = False, history: Any = None, **options: Unpack[FormatOptions]) -> Dataset:
    """Games in PGN, the notation of chess, as lichess and most other sites publish them.

    White is player 0 and has the side. By how much they are rated higher is the column `rating_difference`, 0 where
    a rating is missing. Only the tags White, Black, Result, WhiteElo, BlackElo and, in this preference for the time,
    UTCDate, UTCTime and Date of a game are read; the moves are skipped, and the file is read in pieces, so its size
    does not matter. Games without a result ("*") are dropped. Where a date lacks the day or the month ("2024.??.??"),
    the first of the month or year is taken; either all games have a date, or there is no time. Names are UTF-8, or else
    Latin-1.

    Args:
      path: a file, .pgn, or compressed: .pgn.gz, .pgn.bz2 or .pgn.zst.
      sort: put the games in order of time.
      history: whose names keep their ids, as in `read`.
      **options: further options of `read`, which name tags, as category="TimeControl"; all games then have them.
    """
    path, further = resolve_existing_path(path), columns_named_by_options(options, [RATING_DIFFERENCE])
    used = _tag_pattern(further)
    texts: dict[str, list[str | None]] = {name: [] for name in further}
    elo = array("i")
    codes: dict[bytes, int] = {}
    number, score, seconds = array("i"), array("d"), array("q")
    line, kept, undated = array("q"), array("q"), array("b")
    games = 0

    def where(row: int) -> str:
        return f"{path.name}: line {line[row]}"

    with add_location_to_data_errors(f"{path.name}: ", where):
        for start, tags in _iterate_game_tags(path, used):
            games += 1
            if tags.get(b"Result") == b"*":
                continue
            line.append(start)
            kept.append(games - 1)
            try:
                game = _parse_game(tags)
            except ValueError as error:
                raise RowError(len(line) - 1, str(error)) from None
            number.extend(codes.setdefault(name, len(codes)) for name in game.players)
            score.append(game.score)
            undated.append(game.seconds is None)
            seconds.append(game.seconds or 0)
            elo.extend(game.ratings)
            for tag, column in texts.items():
                column.append(_tag_text(tags, tag))
        dated = _are_dated(np.array(undated, bool), games)
    names = [_unescape(name) for name in codes]
    player = np.array(number).reshape(-1, 2)
    difference = rating_difference(*np.array(elo, float).reshape(-1, 2).T)
    table: dict[str, Any] = {
        name: import_pyarrow().array(column, import_pyarrow().large_string()) for name, column in texts.items()
    }
    table |= {
        "White": dictionary_column(player[:, 0], names),
        "Black": dictionary_column(player[:, 1], names),
        "score": np.array(score),
    }
    if dated:
        table["time"] = np.array(seconds).astype("datetime64[s]")
    roles = {"a": "White", "b": "Black", "side": "a", "columns": [*difference], "sort": sort and dated}
    rows = np.arange(len(line))
    data = read_dataset_from_derived_columns(
        path, table | difference, where, rows, **roles | {"history": history} | options
    )
    return data._replace(rows=np.array(kept)[data.rows])


def _tag_pattern(further: list[str]) -> re.Pattern[bytes]:
    """The tags that are read; ValueError for a name that no tag can have."""
    for name in further:
        if not re.fullmatch(r"[A-Za-z0-9_]+", name):
            raise ValueError(f"{name!r} is no tag of PGN, as TimeControl")
    return re.compile(TAG % "|".join(dict.fromkeys([*USED_TAGS, *further])).encode())


def _unescape(text: bytes) -> str:
    """The text of a tag, with quotation marks and backslashes as they are meant."""
    return re.sub(r"\\(.)", r"\1", decode_utf8_or_latin1(text))


def _parse_rating(text: bytes) -> int:
    """A rating, 0 where there is none."""
    return int(text) if text.isdigit() and len(text) < 6 else 0


def _iterate_game_tags(path: Path, tag_pattern: re.Pattern[bytes]) -> Iterator[tuple[int, dict[bytes, bytes]]]:
    """The first line of each game, counting from 1, and those of its tags that are used.

    A game is a run of lines that begin with a bracket and hold a tag; lines that begin with % are not looked at.
    """
    file, num_lines = open_decompressed(path), 0
    chunk = file.read(3).removeprefix(b"\xef\xbb\xbf") + file.read(CHUNK)
    text = b"\n" + chunk  # a newline comes before every line
    while True:
        text += b"" if chunk else b"\n"
        data = np.frombuffer(text, np.uint8)
        starts = np.flatnonzero(data == ord("\n"))
        initial = data[starts[:-1] + 1]
        heads = np.flatnonzero((initial == ord("[")) | (initial == ord("%")))
        num_complete = len(starts) - 1  # the line that has not ended
        first, last = (heads[np.diff(heads, **edge) > 1] for edge in ({"prepend": -2}, {"append": num_complete + 2}))
        if chunk and len(heads) and last[-1] == num_complete - 1:  # more tags may follow
            first, last, num_complete = first[:-1], last[:-1], first[-1]
        spans = zip(first.tolist(), starts[first].tolist(), starts[last + 1].tolist(), strict=True)
        for line, start, end in spans:
            tag_pairs = tag_pattern.findall(text, start, end)
            tags = dict(tag_pairs)
            if len(tags) < len(tag_pairs):
                raise ValueError(f"line {num_lines + line + 1}: two games without a line between them, or a tag twice")
            if tags or ANY_TAG.search(text, start, end):
                yield num_lines + line + 1, tags
        if not chunk:
            return
        num_lines += int(num_complete)
        chunk = file.read(CHUNK)
        text = text[starts[num_complete] :] + chunk


def _are_dated(undated: HostArray, games: int) -> bool:
    """Whether games with a result have dates; an error if some lack theirs, or if none of all games has a result."""
    if not len(undated):
        raise ValueError("no game has a result" if games else 'not PGN, no tag such as [White "Ann"]')
    dated = not undated.all()
    fail_where(dated & undated, lambda row: "no date, but other games have one")
    return dated


class Game(NamedTuple):
    """What the tags of a game say."""

    players: list[bytes]  # White and Black
    score: float  # of White
    seconds: int | None  # since 1970; None: there is no date
    ratings: list[int]  # of White and Black


def _parse_game(tags: dict[bytes, bytes]) -> Game:
    """ValueError without players, or for another result than those of games that have ended."""
    result = tags.get(b"Result", b"")
    if result not in RESULT_SCORES:
        raise ValueError(f"Result is {decode_utf8_or_latin1(result)!r}, expected 1-0, 0-1, 1/2-1/2 or *")
    for color in (b"White", b"Black"):
        if tags.get(color, b"") in (b"", b"?"):
            raise ValueError(f"{color.decode()} is unknown; remove the game")
    day, second = (
        _parse_date_to_days(tags.get(b"UTCDate", b"")),
        _parse_time_of_day_to_seconds(tags.get(b"UTCTime", b"")),
    )
    if day is None:
        day, second = _parse_date_to_days(tags.get(b"Date", b"")), 0
    players = [tags[b"White"], tags[b"Black"]]
    ratings = [_parse_rating(tags.get(color, b"")) for color in (b"WhiteElo", b"BlackElo")]
    return Game(players, RESULT_SCORES[result], None if day is None else day * 86_400 + second, ratings)


def _tag_text(tags: dict[bytes, bytes], name: str) -> str | None:
    """The text of a tag of a game; None if it has none."""
    text = tags.get(name.encode())
    return None if text is None else _unescape(text)


@cache
def _parse_date_to_days(text: bytes) -> int | None:
    """A date of PGN in days since 1970, the first of the year or month if only that is known; None if unknown."""
    match = re.fullmatch(rb"([0-9]{4}|\?+)(?:\.([0-9]{1,2}|\?+))?(?:\.([0-9]{1,2}|\?+))?", text or b"?")
    try:
        year, month, day = (int(part) if part and b"?" not in part else 0 for part in match.groups())  # type: ignore[union-attr]
        return (
            (datetime.date(year, month or 1, day or 1 if month else 1) - datetime.date(1970, 1, 1)).days
            if year
            else None
        )
    except (AttributeError, ValueError):
        raise ValueError(f"{decode_utf8_or_latin1(text)!r} is not a date of PGN, 2024.01.31") from None


@cache
def _parse_time_of_day_to_seconds(text: bytes) -> int:
    """A time of day in seconds; 0 if unknown."""
    if not text or b"?" in text:
        return 0
    match = re.fullmatch(rb"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])", text)
    if not match:
        raise ValueError(f"{decode_utf8_or_latin1(text)!r} is not a time of PGN, 18:30:00")
    hours, minutes, seconds = map(int, match.groups())
    return hours * 3600 + minutes * 60 + seconds
