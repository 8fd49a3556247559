"""Loaders for public collections of results, each in the form that its project publishes.

Every error is a ValueError that names the file and the line. `rows` of what they return count the rows of the source's
files end to end, or its games, from 0.
"""

import datetime
import io
import json
import os
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias

import numpy as np

from jaxrate.data import tables
from jaxrate.data.read import Dataset, read
from jaxrate.data.tables import Column, Source, Values
from jaxrate.events import fail_where

Where: TypeAlias = Callable[[int], str]  # how errors about a row begin
Location: TypeAlias = str | os.PathLike[str]

STAGES = ("Q1", "Q2", "Q3", "Q4", "Q5", "RR", "ER", "R256", "R128", "R64", "R32", "R16", "QF", "SF", "BR", "3rd", "F")
CHUNK = 1 << 24  # bytes of PGN at a time


def tennis(path: Location, *, players: Any = None) -> Dataset:
    """Matches of Jeff Sackmann's tennis_atp or tennis_wta, sorted by the start of the tournament, then by round.

    The winner is player 0. Players are named "Name (id)", by their id in these files: some share a name.
    Retirements and defaults count; walkovers are dropped, and so is an id against itself (unknown players share one).
    Where a date lacks the day or the month, the first of the month or year is taken.

    Args:
      path: the folder with the files *_matches_*.csv of one tour (doubles are left out), or one such file.
      players: names that have ids already, as in `read`.
    """
    path = _found(path)
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.glob("*_matches_*.csv") if "doubles" not in file.name)
        tours = sorted({file.name.partition("_matches_")[0] for file in files})
        if not files:
            raise ValueError(f"{path.name}: not tennis matches, no file such as atp_matches_2024.csv")
        if len(tours) > 1:
            raise ValueError(f"{path.name}: {' and '.join(tours)} number their players apart; give a folder for each")
    needed = ["tourney_date", "winner_id", "winner_name", "loser_id", "loser_name"]
    columns, where = _columns(files, "tennis matches", needed, ["score", "round"])
    compute = tables.pyarrow().compute
    walkover = compute.match_substring_regex(columns["score"], r"\bw/?o\b|walkover", ignore_case=True)
    himself = compute.equal(columns["winner_id"], columns["loser_id"])
    columns, kept = _keep(path, columns, ~(_true(walkover) | _true(himself)))
    with tables.located(f"{path.name}: ", lambda row: where(int(kept[row]))):
        days = _compact_dates("tourney_date", columns["tourney_date"])
        ids, keys = tables.to_ids(["winner_id", "loser_id"], columns)
    spelt = {name: columns[name].fill_null("") for name in ("winner_name", "loser_name")}
    code, spellings = tables.to_ids(list(spelt), spelt)
    first = np.unique(ids, return_index=True)[1]  # where each player stands first
    names = {key: f"{name or 'player'} ({key})" for key, name in zip(keys, spellings[code.ravel()[first]], strict=True)}
    codes, found = tables.to_ids(["round"], {"round": columns["round"].fill_null("")})
    stage = np.array([STAGES.index(name if name in STAGES else "RR") for name in found])[codes[:, 0]]
    order = np.lexsort((stage, days))
    winner, loser = (_spread(ids[order, i], [names[key] for key in keys]) for i in range(2))
    return _read(path, {"winner": winner, "loser": loser, "time": days[order]}, where, kept[order], players=players)


def football(path: Location, *, sort: bool = False, players: Any = None) -> Dataset:
    """International football of martj42's international_results: results.csv.

    The home team is player 0 and has the side, unless the ground is neutral. A win is 1, a draw 0.5, after extra time
    but without penalties. Matches to come, without a score, are dropped.

    Args:
      path: the file results.csv.
      sort: put the matches in order of time; the file has them so.
      players: names that have ids already, as in `read`.
    """
    path = _found(path)
    goals = ["home_score", "away_score"]
    needed = ["date", "home_team", "away_team", *goals, "neutral"]
    columns, where = _columns([path], "football results", needed)
    compute = tables.pyarrow().compute
    unplayed = [_true(compute.equal(columns[name].fill_null("NA"), "NA")) for name in goals]
    columns, kept = _keep(path, columns, ~np.any(unplayed, axis=0))
    with tables.located(f"{path.name}: ", lambda row: where(int(kept[row]))):
        home, away = (tables.to_numbers(name, columns[name]) for name in goals)
        neutral = _meaning("neutral", columns["neutral"], {"TRUE": 1, "FALSE": 0, "True": 1, "False": 0})
    table = {name: columns[name] for name in needed[:3]}
    table |= {"score": (1 + np.sign(home - away)) / 2, "side": 1 - neutral}
    return _read(path, table, where, kept, a="home_team", b="away_team", side="side", sort=sort, players=players)


def pgn(path: Location, *, sort: bool = False, players: Any = None) -> Dataset:
    """Games in PGN, the notation of chess, as lichess and most other sites publish them.

    White is player 0 and has the side. Of each game only the tags White, Black, Result, UTCDate, UTCTime and Date are
    read, in this preference for the time; the moves are skipped, and the file is read in pieces, so its size does not
    matter. Games without a result ("*") are dropped. Where a date lacks the day or the month ("2024.??.??"), the first
    of the month or year is taken; either all games have a date, or there is no time. Names are UTF-8, or else Latin-1.

    Args:
      path: a file, .pgn, or compressed: .pgn.gz, .pgn.bz2 or .pgn.zst.
      sort: put the games in order of time.
      players: names that have ids already, as in `read`.
    """
    path = _found(path)
    codes: dict[bytes, int] = {}
    number, score, seconds = array("i"), array("d"), array("q")
    line, kept, undated = array("q"), array("q"), array("b")
    points = {b"1-0": 1.0, b"0-1": 0.0, b"1/2-1/2": 0.5}
    games = 0

    def where(row: int) -> str:
        return f"{path.name}: line {line[row]}"

    with tables.located(f"{path.name}: ", where):
        for start, tags in _games(path):
            games += 1
            result = tags.get(b"Result", b"")
            if result == b"*":
                continue
            line.append(start)
            kept.append(games - 1)
            try:
                if result not in points:
                    raise ValueError(f"Result is {_decoded(result)!r}, expected 1-0, 0-1, 1/2-1/2 or *")
                for color in (b"White", b"Black"):
                    name = tags.get(color, b"")
                    if name in (b"", b"?"):
                        raise ValueError(f"{color.decode()} is unknown; remove the game")
                    number.append(codes.setdefault(name, len(codes)))
                day, second = _day(tags.get(b"UTCDate", b"")), _second(tags.get(b"UTCTime", b""))
                if day is None:
                    day, second = _day(tags.get(b"Date", b"")), 0
            except ValueError as error:
                raise ValueError(f"row {len(line) - 1} (counting from 0): {error}") from None
            score.append(points[result])
            undated.append(day is None)
            seconds.append((day or 0) * 86_400 + second)
        if not line:
            raise ValueError("no game has a result" if games else 'not PGN, no tag such as [White "Ann"]')
        dated = not all(undated)
        fail_where(dated & np.array(undated, bool), lambda row: "no date, but other games have one")
    names = [re.sub(r"\\(.)", r"\1", _decoded(name)) for name in codes]
    player = np.array(number).reshape(-1, 2)
    table = {"White": _spread(player[:, 0], names), "Black": _spread(player[:, 1], names), "score": np.array(score)}
    if dated:
        table["time"] = np.array(seconds).astype("datetime64[s]")
    roles = {"a": "White", "b": "Black", "side": "a", "sort": sort and dated, "players": players}
    data = _read(path, table, where, np.arange(len(line)), **roles)
    return data._replace(rows=np.array(kept)[data.rows])


def contests(path: Location, *, sort: bool = False, players: Any = None) -> Dataset:
    """Contests of Elo-MMR (EbTech/Elo-MMR and Elo-Datasets): a folder with a file of JSON for each, 0.json, 1.json, ...

    Each holds `time_seconds` (since 1970), perhaps a `weight` and a `perf_ceiling` (a number or null), and `standings`,
    a list of [handle, first, last] with the range of places, from 0, that those who tie with him share. They become
    rounds, in the order of the numbers; the rank is the first place. If the time is 0 in all of them, there is none.
    Other files are ignored.

    Args:
      path: the folder.
      sort: put the contests in order of time; the numbers nearly do.
      players: names that have ids already, as in `read`.
    """
    path = _found(path)
    files = sorted(path.glob("*.json"), key=lambda file: (len(file.stem), file.stem)) if path.is_dir() else []
    files = [file for file in files if re.fullmatch("[0-9]+", file.stem)]
    if not files:
        raise ValueError(f"{path.name}: not a folder of contests, no file such as 0.json")
    codes: dict[str, int] = {}
    number, first, last = array("i"), array("q"), array("q")
    start, weight, ceiling, seconds = [0], [], [], []
    numbers = (int, float)
    kinds = {"time_seconds": (int,), "weight": numbers, "perf_ceiling": (*numbers, NoneType), "standings": (list,)}
    for file in files:
        with tables.located(f"{file.name}: ", str):
            found = json.loads(file.read_bytes())
            contest: dict[str, Any] = {"weight": 1.0} | found if isinstance(found, dict) else {}
            for name, kind in kinds.items():
                value = contest.get(name)
                if type(value) not in kind:
                    raise ValueError(f"not a contest of Elo-MMR, {name!r} is {value!r}")
            for i, entry in enumerate(contest["standings"]):
                if not (
                    isinstance(entry, list)
                    and [type(value) for value in entry] == [str, int, int]
                    and 0 <= entry[1] <= entry[2]
                ):
                    raise ValueError(
                        f"standings entry {i} (counting from 0) is {entry}, expected [handle, first, last]"
                    )
                number.append(codes.setdefault(entry[0], len(codes)))
                first.append(entry[1])
                last.append(entry[2])
        start.append(len(first))
        weight.append(contest["weight"])
        ceiling.append(contest.get("perf_ceiling"))
        seconds.append(contest["time_seconds"])

    def where(row: int) -> str:
        which = bisect_right(start, row) - 1
        return f"{files[which].name}: standings entry {row - start[which]} (counting from 0)"

    size, timed, roles = np.diff(start), any(seconds), {"weight": "weight", "last": "last"}
    table = {"contest": np.repeat([int(file.stem) for file in files], size), "player": _spread(number, list(codes))}
    table |= {"rank": np.array(first), "last": np.array(last), "weight": np.repeat(np.array(weight, float), size)}
    if timed:
        table["time"] = np.repeat(np.array(seconds).astype("datetime64[s]"), size)
    if set(ceiling) != {None}:
        table["ceiling"], roles["ceiling"] = np.repeat(np.array(ceiling, float), size), "ceiling"
    return _read(path, table, where, np.arange(len(number)), sort=sort and timed, players=players, **roles)


def ergast(path: Location, *, players: Any = None) -> Dataset:
    r"""Formula 1 races of Ergast or Jolpica, in CSV: a folder with races.csv, results.csv and drivers.csv.

    They become rounds, sorted by date. Classified drivers rank by position; the retired, not classified, disqualified
    and excluded (R, N, D, E) tie for last; the withdrawn and not qualified (W, F) are dropped. A driver who is in a
    race twice, as in shared cars, keeps his best place. Drivers are named "forename surname", with their id if several
    have the same name.

    Args:
      path: the folder.
      players: names that have ids already, as in `read`.
    """
    path = _found(path)
    races, where_race = _columns([path / "races.csv"], "races", ["raceId", "round", "date"])
    drivers, _ = _columns([path / "drivers.csv"], "drivers", ["driverId", "forename", "surname"])
    columns, where = _columns([path / "results.csv"], "results", ["raceId", "driverId", "positionText"])
    with tables.located("races.csv: ", where_race):
        days, _ = tables.to_days("date", races["date"])
        turn = np.lexsort((tables.to_numbers("round", races["round"]), days))
    races_in_order = {races["raceId"][int(row)].as_py(): place for place, row in enumerate(turn)}
    names = _distinct(
        {
            key: f"{forename or ''} {surname or ''}".strip()
            for key, forename, surname in zip(*(column.to_pylist() for column in drivers.values()), strict=True)
        },
        "driver",
    )
    with tables.located("results.csv: ", where):
        race = _meaning("raceId", columns["raceId"], races_in_order, "a race of races.csv").astype(int)
        keys = {key: i for i, key in enumerate(names)}
        driver = _meaning("driverId", columns["driverId"], keys, "a driver of drivers.csv").astype(int)
        places = {text: float(text) for text in set(columns["positionText"].to_pylist()) if text and text.isdecimal()}
        last, absent = max(places.values(), default=0) + 1, np.inf
        places |= dict.fromkeys("RNDE", last) | dict.fromkeys("WF", absent)
        rank = _meaning("positionText", columns["positionText"], places, "a place or one of R, N, D, E, W, F")
    order = np.lexsort((rank, driver, race))
    best = np.append(True, (np.diff(race[order]) != 0) | (np.diff(driver[order]) != 0))[: len(order)]
    kept = np.sort(order[best])
    kept = kept[rank[kept] != absent]
    kept = kept[np.argsort(race[kept], kind="stable")]
    table = {"contest": race[kept], "player": _spread(driver[kept], list(names.values())), "rank": rank[kept]}
    table["time"] = days[turn][race[kept]].astype("datetime64[D]")
    return _read(path, table, where, kept, players=players)


def movielens(path: Location, *, like: float = 4.0, players: Any = None) -> Dataset:
    """Ratings of MovieLens (GroupLens) as matches of a movie, player 0, with a user, sorted by time.

    The movie wins, score 1, where the user gave it at least `like` stars, and else it loses. Users are "user 7"; movies
    have their title, with the id if several have the same, if the file of titles stands beside, or else are "movie 12".

    Args:
      path: ratings.csv, ratings.dat or u.data, or the folder that holds one of them. Titles are those of movies.csv,
        movies.dat or u.item.
      like: the least rating that is a win of the movie.
      players: names that have ids already, as in `read`.
    """
    path = _found(path)
    file = path
    if path.is_dir():
        there = [path / name for name in ("ratings.csv", "ratings.dat", "u.data") if (path / name).is_file()]
        if not there:
            raise ValueError(f"{path.name}: not MovieLens, no ratings.csv, ratings.dat or u.data")
        file = there[0]
    needed = ["userId", "movieId", "rating", "timestamp"]
    if file.suffix == ".csv":
        columns, where = _columns([file], "MovieLens ratings", needed)
    else:
        mark = b"::" if file.suffix == ".dat" else b"\t"
        text = ",".join(needed).encode() + b"\n" + file.read_bytes().replace(mark, b",")

        def where(row: int) -> str:
            return f"{file.name}: line {row + 1}"

        with tables.located(f"{file.name}: ", where):
            columns = _as_columns(tables.read_csv(lambda: io.BytesIO(text), needed, needed), needed)
    with tables.located(f"{file.name}: ", where):
        score = tables.to_numbers("rating", columns["rating"]) >= like
        time = _instants("timestamp", columns["timestamp"], "s")
        user, users = tables.to_ids(["userId"], columns)
        movie, movies = tables.to_ids(["movieId"], columns)
    titles = _distinct(dict.fromkeys(movies, "") | _titles(file), "movie")
    table = {
        "movie": _spread(movie[:, 0], [titles[key] for key in movies]),
        "user": _spread(user[:, 0], [f"user {key}" for key in users]),
        "score": score,
        "time": time,
    }
    return _read(file, table, where, np.arange(len(score)), a="movie", b="user", sort=True, players=players)


def lichess(path: Location, *, players: Any = None) -> Dataset:
    """Lichess games in CSV, as in the data set "chess" of Kaggle's datasnaek: games.csv. Sorted by `created_at`.

    White is player 0 and has the side. A game that is there twice, by its `id`, counts once. For the files of
    database.lichess.org, see `pgn`.

    Args:
      path: the file.
      players: names that have ids already, as in `read`.
    """
    path = _found(path)
    columns, where = _columns([path], "lichess games", ["id", "created_at", "winner", "white_id", "black_id"])
    with tables.located(f"{path.name}: ", where):
        game, _ = tables.to_ids(["id"], columns)
    once = np.zeros(len(game), bool)
    once[np.unique(game, return_index=True)[1]] = True
    columns, kept = _keep(path, columns, once)
    with tables.located(f"{path.name}: ", lambda row: where(int(kept[row]))):
        table = {name: columns[name] for name in ("white_id", "black_id")}
        table["time"] = _instants("created_at", columns["created_at"], "ms")
        table["score"] = _meaning("winner", columns["winner"], {"white": 1, "black": 0, "draw": 0.5})
    return _read(path, table, where, kept, a="white_id", b="black_id", side="a", sort=True, players=players)


FORMATS: dict[str, Callable[..., Dataset]] = {
    "tennis": tennis,
    "football": football,
    "pgn": pgn,
    "contests": contests,
    "ergast": ergast,
    "movielens": movielens,
    "lichess": lichess,
}


# The one path all of them take


def _read(path: Path, table: dict[str, Any], where: Where, rows: Values, **roles: Any) -> Dataset:
    """`read` of columns derived from rows of a source; `where` tells where those stand."""
    source = Source(f"{path.name}: ", list(table), lambda wanted, text: table, lambda row: where(int(rows[row])))
    data = read(source, **roles)
    return data._replace(rows=rows[data.rows])


def _found(path: Location) -> Path:
    found = Path(os.path.abspath(path))  # the name of "." too
    if not found.exists():
        raise ValueError(f"{found.name}: no such file or folder")
    return found


def _columns(
    files: Sequence[Path], form: str, needed: Sequence[str], perhaps: Sequence[str] = ()
) -> tuple[dict[str, Column], Where]:
    """Columns of CSV files as text, the files end to end, and where a row stands; those `perhaps` there may be null."""
    sources, parts, start = [tables.open_file(file) for file in files], [], [0]
    arrow = tables.pyarrow()
    for source in sources:
        with tables.located(source.title, source.where):
            for name in needed:
                if name not in source.names:
                    raise ValueError(f"not {form}, no column {name!r}")
            tables.check_names(source.names, [])
            there = [name for name in (*needed, *perhaps) if name in source.names]
            columns = _as_columns(source.load(there, there), there)
        start.append(start[-1] + len(columns[there[0]]))
        nothing = arrow.chunked_array([arrow.nulls(start[-1] - start[-2], arrow.large_string())])
        parts.append([columns.get(name, nothing) for name in (*needed, *perhaps)])

    def where(row: int) -> str:
        which = bisect_right(start, row) - 1
        return sources[which].where(row - start[which])

    whole = (
        arrow.chunked_array([chunk for part in column for chunk in part.chunks]) for column in zip(*parts, strict=True)
    )
    return dict(zip((*needed, *perhaps), whole, strict=True)), where


def _as_columns(table: Any, names: Sequence[str]) -> dict[str, Column]:
    """Columns of an Arrow table as text."""
    if not table.num_rows:
        raise ValueError("no rows")
    return {name: table[name].cast(tables.pyarrow().large_string()) for name in names}


def _keep(path: Path, columns: dict[str, Column], keep: Values) -> tuple[dict[str, Column], Values]:
    """The rows to keep, and which they are."""
    if not keep.any():
        raise ValueError(f"{path.name}: no rows are left of {len(keep)}")
    return {name: tables.keep_rows(name, column, keep) for name, column in columns.items()}, np.flatnonzero(keep)


def _true(mask: Any) -> Values:
    """An Arrow mask; null is False."""
    return np.asarray(mask.fill_null(False).to_numpy())


def _spread(codes: Any, names: Sequence[str]) -> Any:
    """The names by code [n], as an Arrow column."""
    arrow = tables.pyarrow()
    return arrow.DictionaryArray.from_arrays(arrow.array(np.asarray(codes)), arrow.array(names, arrow.large_string()))


def _distinct(names: Mapping[str, str], kind: str) -> dict[str, str]:
    """Names by id: with the id where several have the same, and only that where there is none."""
    count = Counter(names.values())
    return {
        key: f"{kind} {key}" if not name else name if count[name] == 1 else f"{name} ({key})"
        for key, name in names.items()
    }


def _meaning(name: str, column: Column, meaning: Mapping[str, float], expected: str = "") -> Values:
    """What each text of a column means; an error where it is none of them."""
    codes, found = tables.to_ids([name], {name: column})
    values = np.array([meaning.get(text, np.nan) for text in found])[codes[:, 0]]
    said = expected or f"one of {', '.join(meaning)}"
    fail_where(np.isnan(values), lambda row: f"column {name!r} is {found[codes[row, 0]]!r}, expected {said}")
    return values


def _instants(name: str, column: Column, unit: str) -> Values:
    """Numbers of this unit since 1970 as timestamps."""
    values = tables.to_numbers(name, column)
    fail_where(~(np.abs(values) < 1e15), lambda row: f"column {name!r} is {values[row]}, not a time since 1970")
    return values.astype(np.int64).astype(f"datetime64[{unit}]")


def _compact_dates(name: str, column: Column) -> Values:
    """Dates written 20240131; a month or day of 0 is the first."""
    values = tables.to_numbers(name, column)

    def say(row: int) -> str:
        return f"column {name!r} is {column[row].as_py()!r}, not a date as 20240131"

    fail_where(~((values >= 1e7) & (values < 1e8) & (values % 1 == 0)), say)
    number = values.astype(np.int64)
    month, day = np.maximum(number // 100 % 100, 1), np.maximum(number % 100, 1)
    months = ((number // 10_000 - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    fail_where((month > 12) | (days.astype("datetime64[M]") != months), say)
    return days


def _titles(ratings: Path) -> dict[str, str]:
    """The titles of movies by id, of the file beside the ratings; none if there is no such file."""
    file = ratings.with_name({".csv": "movies.csv", ".dat": "movies.dat"}.get(ratings.suffix, "u.item"))
    if not file.is_file():
        return {}
    if file.suffix == ".csv":
        columns, _ = _columns([file], "MovieLens movies", ["movieId", "title"])
        pairs = zip(*(column.to_pylist() for column in columns.values()), strict=True)
        return {key: title or "" for key, title in pairs}
    mark = "::" if file.suffix == ".dat" else "|"
    lines = _decoded(file.read_bytes()).splitlines()
    return {key: rest.partition(mark)[0] for key, found, rest in (line.partition(mark) for line in lines) if found}


# PGN

TAG = rb'\n\[(%s)[ \t]+"([^"\\\n]*(?:\\.[^"\\\n]*)*)"[ \t]*\]'
ANY_TAG = re.compile(TAG % rb"\w+")
USED_TAGS = re.compile(TAG % b"White|Black|Result|UTCDate|UTCTime|Date")


def _games(path: Path) -> Iterator[tuple[int, dict[bytes, bytes]]]:
    """The first line of each game, counting from 1, and those of its tags that are used.

    A game is a run of lines that begin with a bracket and hold a tag; lines that begin with % are not looked at.
    """
    file, before = tables.stream(path), 0
    chunk = file.read(3).removeprefix(b"\xef\xbb\xbf") + file.read(CHUNK)
    text = b"\n" + chunk  # a newline comes before every line
    while True:
        text += b"" if chunk else b"\n"
        data = np.frombuffer(text, np.uint8)
        starts = np.flatnonzero(data == ord("\n"))
        initial = data[starts[:-1] + 1]
        heads = np.flatnonzero((initial == ord("[")) | (initial == ord("%")))
        rest = len(starts) - 1  # the line that has not ended
        first, last = (heads[np.diff(heads, **edge) > 1] for edge in ({"prepend": -2}, {"append": rest + 2}))
        if chunk and len(heads) and last[-1] == rest - 1:  # more tags may follow
            first, last, rest = first[:-1], last[:-1], first[-1]
        spans = zip(first.tolist(), starts[first].tolist(), starts[last + 1].tolist(), strict=True)
        for line, start, end in spans:
            found = USED_TAGS.findall(text, start, end)
            tags = dict(found)
            if len(tags) < len(found):
                raise ValueError(f"line {before + line + 1}: two games without a line between them, or a tag twice")
            if tags or ANY_TAG.search(text, start, end):
                yield before + line + 1, tags
        if not chunk:
            return
        before += int(rest)
        chunk = file.read(CHUNK)
        text = text[starts[rest] :] + chunk


def _decoded(text: bytes) -> str:
    """UTF-8, or else Latin-1."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


@cache
def _day(text: bytes) -> int | None:
    """A date of PGN in days since 1970, the first of a year or month of which no more is known; None if unknown."""
    found = re.fullmatch(rb"([0-9]{4}|\?+)(?:\.([0-9]{1,2}|\?+))?(?:\.([0-9]{1,2}|\?+))?", text or b"?")
    try:
        year, month, day = (int(part) if part and b"?" not in part else 0 for part in found.groups())  # type: ignore[union-attr]
        return (
            (datetime.date(year, month or 1, day or 1 if month else 1) - datetime.date(1970, 1, 1)).days
            if year
            else None
        )
    except (AttributeError, ValueError):
        raise ValueError(f"{_decoded(text)!r} is not a date of PGN, 2024.01.31") from None


@cache
def _second(text: bytes) -> int:
    """A time of day in seconds; 0 if unknown."""
    if not text or b"?" in text:
        return 0
    found = re.fullmatch(rb"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])", text)
    if not found:
        raise ValueError(f"{_decoded(text)!r} is not a time of PGN, 18:30:00")
    hours, minutes, seconds = map(int, found.groups())
    return hours * 3600 + minutes * 60 + seconds
