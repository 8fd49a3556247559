"""Games in PGN, the notation of chess: only the tags are read, in pieces."""

import re
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import date, time
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import FilePath, check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import join_names
from jaxrate.data.column_conversion import DistinctCells
from jaxrate.data.column_role_definitions import as_column_list
from jaxrate.data.formats.csv_collections import (
    ExtraReadOptions,
    decode_utf8_or_latin1,
    dictionary_column,
    rating_difference,
    read_derived,
    resolve_existing_path,
)
from jaxrate.data.table_files import open_decompressed, table_in_memory
from jaxrate.data.table_sources import add_location_to_data_errors
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset

CHUNK = 1 << 24  # bytes at a time
TAG = rb'\n\[(%s)[ \t]+"([^"\\\n]*(?:\\.[^"\\\n]*)*)"[ \t]*\]'
ANY_TAG = re.compile(TAG % rb"\w+")
TIME_TAGS = "UTCDate", "UTCTime", "Date"
USED_TAGS = "White", "Black", "Result", *TIME_TAGS, "WhiteElo", "BlackElo"
RESULTS = "1-0", "0-1", "1/2-1/2", "*"
OTHER_DRAWS = "½-½", "0.5-0.5"  # of programs that do not keep to the standard
UNKNOWN = (b"?", b"", None)  # what stands for a value that is not known


@enforce_argument_annotations
def pgn(
    path: FilePath, *, sort: bool = False, times: bool = True, history: Any = None, **options: Unpack[ExtraReadOptions]
) -> Dataset:
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
      times: whether games have times. False: their order does not count, and some may have no date.
      history: whose names keep their ids, as in `read`.
      **options: further options of `read`, which name tags, as category="TimeControl"; all games then have them.
    """
    path = resolve_existing_path(path)
    games = read_games(path, [*dict.fromkeys([*USED_TAGS, *_pgn_tags_named_by_options(options)])])

    def where(row: int) -> str:
        return f"{path.name}: line {games.line[row]}"

    rows = np.flatnonzero(games.tags["Result"].map(lambda text: text != "*", True))
    tags = {name: cells._replace(codes=cells.codes[rows]) for name, cells in games.tags.items()}
    with add_location_to_data_errors(f"{path.name}: ", lambda row: where(rows[row])):
        if not len(rows):
            raise ValueError("no game has a result" if len(games.line) else 'not PGN, no tag such as [White "Ann"]')
        _check_tags(tags, options)
        moments = _times_of_games(tags) if times else {}
    columns = {name: dictionary_column(cells.codes, cells.values) for name, cells in games.tags.items()}
    difference = rating_difference([columns[name].take(rows) for name in ("WhiteElo", "BlackElo")])
    names = [name for name in columns if times or name not in TIME_TAGS]
    table = table_in_memory(columns, names, f"{path.name}: ", where)
    roles: dict[str, Any] = {"a": "White", "b": "Black", "score": "Result", "side": "a", "columns": [*difference]}
    roles |= {"history": history} | ({"time": "time", "sort": sort} if moments else {})
    return read_derived(table, moments | difference, rows, **roles | options)


def _pgn_tags_named_by_options(options: Mapping[str, Any]) -> list[str]:
    """The tags that options of `read` name; ValueError for a name that no tag can have."""
    values = [value for name, value in options.items() if name != "on_faulty"]
    values = [y for x in values for y in (x.values() if isinstance(x, Mapping) else [x])]
    names = [name for name in chain(*map(as_column_list, values)) if name != "rating_difference"]
    for name in names:
        check_that(re.fullmatch(r"[A-Za-z0-9_]+", str(name)), f"{name!r} is no tag of PGN, as TimeControl")
    return names


def _check_tags(tags: Mapping[str, DistinctCells], options: Mapping[str, Any]) -> None:
    """RowError at a game with a result that PGN does not know, or without a player, unless such are left out."""
    results = tags["Result"]
    fail_where(
        ~results.map(lambda text: text.strip() in (*RESULTS, *OTHER_DRAWS), True),
        lambda row: f"the tag Result is {results.values[results.codes[row]]!r}, not {join_names(RESULTS, 'or')}",
    )
    for name in ("White", "Black") if options.get("on_faulty") != "skip" else ():
        message = f"the game has no tag {name}; on_faulty='skip' leaves such games out"
        fail_where((tags[name].codes < 0) & (results.codes >= 0), lambda row: message)  # noqa: B023


# Games


class TaggedGames(NamedTuple):
    """The games in a file."""

    line: HostArray  # [n] on which each begins, counting from 1
    tags: dict[str, DistinctCells]  # [n] the texts of each tag


def read_games(path: Path, names: list[str]) -> TaggedGames:
    """The games in a file with these of their tags."""
    pattern = re.compile(TAG % "|".join(names).encode())
    line, places = array("q"), {name.encode(): array("i") for name in names}
    texts: dict[bytes, dict[bytes, int]] = {name: {} for name in places}
    with add_location_to_data_errors(f"{path.name}: ", str):
        for start, tags in _iterate_game_tags(path, pattern):
            line.append(start)
            for name, codes in texts.items():
                text = tags.get(name)
                places[name].append(-1 if text in UNKNOWN else codes.setdefault(text, len(codes)))
    cells = {}
    for tag, numbers in places.items():
        values = [re.sub(r"\\(.)", r"\1", decode_utf8_or_latin1(text)) for text in texts[tag]]
        cells[tag.decode()] = DistinctCells(values, np.array(numbers, np.int32))
    return TaggedGames(np.array(line, np.int64), cells)


def _iterate_game_tags(path: Path, tag_pattern: re.Pattern[bytes]) -> Iterator[tuple[int, dict[bytes, bytes]]]:
    """The first line of each game, from 1, and its tags that are used; a game begins at a run of lines in brackets."""
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


# Times


def _times_of_games(tags: Mapping[str, DistinctCells]) -> dict[str, HostArray]:
    """[n] the moments of games, in UTC if known; {} if none has a date. RowError where one has none, or a wrong one."""
    utc, local = (
        _parse_or_nan(tags[name], _pgn_date_to_days, "a date of PGN, 2024.01.31") for name in ("UTCDate", "Date")
    )
    clock = np.nan_to_num(_parse_or_nan(tags["UTCTime"], _seconds_since_midnight, "a time of PGN, 18:30:00"))
    seconds = np.where(np.isnan(utc), local * 86_400, utc * 86_400 + clock)
    is_undated = np.isnan(seconds)
    if is_undated.all():
        return {}
    fail_where(is_undated, lambda row: "no date, but other games have one")
    return {"time": seconds.astype("datetime64[s]")}


def _parse_or_nan(cells: DistinctCells, parse: Callable[[str], float], expected: str) -> HostArray:
    """[n] what texts mean, NaN where there is none, or one begins with a question mark; RowError for wrong texts."""

    def parse_known(text: str) -> float:
        with suppress(ValueError):
            return np.nan if text.startswith("?") else parse(text)
        return np.inf

    values = cells.map(parse_known, np.nan)
    fail_where(np.isinf(values), lambda row: f"{cells.values[cells.codes[row]]!r} is not {expected}")
    return values


def _pgn_date_to_days(text: str) -> float:
    """A date of PGN in days since 1970, the first of the year or month if only that is known."""
    known = text.partition(".?")[0].split(".")  # the year alone of 2024.??.??
    year, month, day = (int(x) for x in (*known, "1", "1")[:3])
    return float((date(year, month, day) - date(1970, 1, 1)).days)


def _seconds_since_midnight(text: str) -> float:
    """A time of day in seconds."""
    clock = time.fromisoformat(text)
    return float(clock.hour * 3600 + clock.minute * 60 + clock.second)
