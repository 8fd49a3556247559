"""Collections of results in CSV and JSON: tennis, football, contests, races, films, games of Lichess."""

import io
import json
import os
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from jaxrate.core.argument_checks import FilePath, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import keep_rows, to_days, to_ids, to_numbers
from jaxrate.data.column_role_definitions import Columns, roles_taken_by
from jaxrate.data.dataset_from_table import read
from jaxrate.data.date_parsing import parse_eight_digit_dates
from jaxrate.data.table_files import open_table_file
from jaxrate.data.table_sources import (
    Column,
    TableSource,
    add_location_to_data_errors,
    batches_to_table,
    check_columns_exist_and_unique,
    import_pyarrow,
    iterate_csv_batches,
)
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset

RATING_DIFFERENCE = "rating_difference"
COLUMN_OPTIONS = roles_taken_by("formats")
READ_OPTIONS = (*COLUMN_OPTIONS, "on_faulty")


class FormatOptions(Columns, total=False):
    """Further options of `read`, of which formats take those that name columns which they do not know themselves."""

    on_faulty: Literal["error", "skip"]


RowLocator: TypeAlias = Callable[[int], str]  # the beginning of errors about a row
Location: TypeAlias = FilePath


def columns_named_by_options(options: Mapping[str, Any], derived: Sequence[str] = ()) -> list[str]:
    """The columns of the source that options of `read` name, each once, but for those that the format derives.

    Raises:
      TypeError: for an option that formats do not take.
    """
    for name in options:
        if name not in READ_OPTIONS:
            raise TypeError(f"formats take no {name!r}; beside their own arguments they take {', '.join(READ_OPTIONS)}")
    names = [name for role in COLUMN_OPTIONS for name in _flatten_names(options.get(role))]
    return [name for name in dict.fromkeys(names) if name not in derived]


def _flatten_names(names: Any) -> list[str]:
    """The names in a name, in a list, or in lists by name; None: none."""
    if isinstance(names, Mapping):
        names = list(names.values())
    if isinstance(names, (list, tuple)):
        return [name for one in names for name in _flatten_names(one)]
    return [] if names is None else [names]


def read_dataset_from_derived_columns(
    path: Path, table: dict[str, Any], where: RowLocator, rows: HostArray, **roles: Any
) -> Dataset:
    """`read` of columns derived from rows of a source; `where` gives their place for errors."""
    source = TableSource(
        f"{path.name}: ",
        list(table),
        lambda names, text=(): table,
        lambda row: where(int(rows[row])),
        noted=False,
    )
    data = read(source, **roles)
    return data._replace(rows=rows[data.rows])


def resolve_existing_path(path: Location) -> Path:
    resolved = Path(os.path.abspath(path))  # the name of "." too
    if not resolved.exists():
        raise ValueError(f"{resolved.name}: no such file or folder")
    return resolved


def csv_columns(
    files: Sequence[Path], description: str, needed: Sequence[str], optional: Sequence[str] = ()
) -> tuple[dict[str, Column], RowLocator]:
    """Columns of CSV files as text, the files end to end, and the place of a row; optional ones may be null."""
    sources, tables, first_rows = [open_table_file(file) for file in files], [], [0]
    arrow = import_pyarrow()
    for source in sources:
        with add_location_to_data_errors(source.title, source.where):
            for name in needed:
                if name not in source.names:
                    raise ValueError(f"not {description}, no column {name!r}")
            check_columns_exist_and_unique(source.names, [])
            present = [name for name in (*needed, *optional) if name in source.names]
            columns = columns_as_text(source.load(present, present), present)
        first_rows.append(first_rows[-1] + len(columns[present[0]]))
        null_column = arrow.chunked_array([arrow.nulls(first_rows[-1] - first_rows[-2], arrow.large_string())])
        tables.append([columns.get(name, null_column) for name in (*needed, *optional)])

    def where(row: int) -> str:
        number = bisect_right(first_rows, row) - 1
        return sources[number].where(row - first_rows[number])

    joined = (
        arrow.chunked_array([chunk for part in column for chunk in part.chunks]) for column in zip(*tables, strict=True)
    )
    return dict(zip((*needed, *optional), joined, strict=True)), where


def columns_as_text(table: Any, names: Sequence[str]) -> dict[str, Column]:
    """Columns of an Arrow table as text."""
    if not table.num_rows:
        raise ValueError("no rows")
    return {name: table[name].cast(import_pyarrow().large_string()) for name in names}


def filter_rows_and_indices(
    path: Path, columns: dict[str, Column], mask: HostArray
) -> tuple[dict[str, Column], HostArray]:
    """The rows to keep, and which they are."""
    if not mask.any():
        raise ValueError(f"{path.name}: no rows are left of {len(mask)}")
    return {name: keep_rows(name, column, mask) for name, column in columns.items()}, np.flatnonzero(mask)


def mask_to_numpy(mask: Any) -> HostArray:
    """An Arrow mask; null is False."""
    return np.asarray(mask.fill_null(False).to_numpy())


def dictionary_column(codes: Any, names: Sequence[str]) -> Any:
    """The names by code [n], as an Arrow column."""
    arrow = import_pyarrow()
    return arrow.DictionaryArray.from_arrays(arrow.array(np.asarray(codes)), arrow.array(names, arrow.large_string()))


def unique_names_by_id(names: Mapping[str, str], kind: str) -> dict[str, str]:
    """Names by id: with the id where several have the same, and only that where there is none."""
    count = Counter(names.values())
    return {
        key: f"{kind} {key}" if not name else name if count[name] == 1 else f"{name} ({key})"
        for key, name in names.items()
    }


def map_texts(name: str, column: Column, text_values: Mapping[str, float], expected: str = "") -> HostArray:
    """[n] the values of the texts in a column; an error for other texts."""
    codes, texts = to_ids([name], {name: column})
    values = np.array([text_values.get(text, np.nan) for text in texts])[codes[:, 0]]
    valid_texts = expected or f"one of {', '.join(text_values)}"
    fail_where(np.isnan(values), lambda row: f"column {name!r} is {texts[codes[row, 0]]!r}, expected {valid_texts}")
    return values


def unix_timestamps(name: str, column: Column, unit: str) -> HostArray:
    """Numbers of this unit since 1970 as timestamps."""
    values = to_numbers(name, column)
    fail_where(~(np.abs(values) < 1e15), lambda row: f"column {name!r} is {values[row]}, not a time since 1970")
    return values.astype(np.int64).astype(f"datetime64[{unit}]")


def rating_difference(first: HostArray, second: HostArray) -> dict[str, HostArray]:
    """[n] the lead in rating of the first players, 0 where a rating is not above 0; {} if no match has both ratings."""
    both_rated = (first > 0) & (second > 0)
    return {RATING_DIFFERENCE: np.where(both_rated, first - second, 0.0)} if both_rated.any() else {}


def decode_utf8_or_latin1(text: bytes) -> str:
    """UTF-8, or else Latin-1."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


LARGEST_NUMBER = 10**15  # times, weights and places beyond it are taken for a mistake


@enforce_argument_annotations
def contests(path: Location, *, sort: bool = False, history: Any = None) -> Dataset:
    """Contests of Elo-MMR (EbTech/Elo-MMR and Elo-Datasets): a folder with a file of JSON for each, 0.json, 1.json, ...

    Each holds `time_seconds` (since 1970), perhaps a `weight` and a `perf_ceiling` (a number or null), and `standings`,
    a list of [handle, first, last] with the range of places, from 0, that those who tie with them share. They become
    rounds, in the order of the numbers; the rank is the first place. If the time is 0 in all of them, there is none.
    Other files are ignored.

    Args:
      path: the folder.
      sort: put the contests in order of time; the numbers nearly do.
      history: whose names keep their ids, as in `read`.
    """
    path = resolve_existing_path(path)
    files = sorted(path.glob("*.json"), key=lambda file: (len(file.stem), file.stem)) if path.is_dir() else []
    files = [file for file in files if re.fullmatch("[0-9]+", file.stem)]
    if not files:
        raise ValueError(f"{path.name}: not a folder of contests, no file such as 0.json")
    codes: dict[str, int] = {}
    number, first, last = array("i"), array("q"), array("q")
    start, weight, ceiling, seconds = [0], [], [], []
    for file in files:
        with add_location_to_data_errors(f"{file.name}: ", str):
            contest = _parse_contest(file.read_bytes())
        for handle, first_place, last_place in contest["standings"]:
            number.append(codes.setdefault(handle, len(codes)))
            first.append(first_place)
            last.append(last_place)
        start.append(len(first))
        weight.append(contest["weight"])
        ceiling.append(contest.get("perf_ceiling"))
        seconds.append(contest["time_seconds"])

    def where(row: int) -> str:
        which = bisect_right(start, row) - 1
        return f"{files[which].name}: standings entry {row - start[which]} (counting from 0)"

    size, timed, roles = np.diff(start), any(seconds), {"weight": "weight", "last_rank": "last"}
    table = {
        "contest": np.repeat([int(file.stem) for file in files], size),
        "player": dictionary_column(number, list(codes)),
    }
    table |= {"rank": np.array(first), "last": np.array(last), "weight": np.repeat(np.array(weight, float), size)}
    if timed:
        table["time"] = np.repeat(np.array(seconds).astype("datetime64[s]"), size)
    if set(ceiling) != {None}:
        table["ceiling"], roles["ceiling"] = np.repeat(np.array(ceiling, float), size), "ceiling"
    return read_dataset_from_derived_columns(
        path, table, where, np.arange(len(number)), sort=sort and timed, history=history, **roles
    )


NUMBER_TYPES = int, float
CONTEST_TYPES = {  # of the parts of a contest
    "time_seconds": (int,),
    "weight": NUMBER_TYPES,
    "perf_ceiling": (*NUMBER_TYPES, NoneType),
    "standings": (list,),
}


def _parse_contest(text: bytes) -> dict[str, Any]:
    """A contest of Elo-MMR; ValueError unless its parts are of their types."""
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("not a contest of Elo-MMR: lists within lists without an end") from None
    contest: dict[str, Any] = {"weight": 1.0} | content if isinstance(content, dict) else {}
    for name, types in CONTEST_TYPES.items():
        value = contest.get(name)
        if type(value) not in types or (isinstance(value, NUMBER_TYPES) and not abs(value) <= LARGEST_NUMBER):
            raise ValueError(f"not a contest of Elo-MMR, {name!r} is {format_value_for_error(value)}")
    for i, entry in enumerate(contest["standings"]):
        if not _is_standing(entry):
            text_of_entry = format_value_for_error(entry)
            raise ValueError(
                f"standings entry {i} (counting from 0) is {text_of_entry}, expected [handle, first, last]"
            )
    return contest


def _is_standing(entry: Any) -> bool:
    """Whether it is [handle, first, last], of the places that those who tie share."""
    is_of_types = isinstance(entry, list) and [type(value) for value in entry] == [str, int, int]
    return is_of_types and 0 <= entry[1] <= entry[2] <= LARGEST_NUMBER


@enforce_argument_annotations
def ergast(path: Location, *, history: Any = None) -> Dataset:
    r"""Formula 1 races of Ergast or Jolpica, in CSV: a folder with races.csv, results.csv and drivers.csv.

    They become rounds, sorted by date. Classified drivers rank by position; the retired, not classified, disqualified
    and excluded (R, N, D, E) tie for last; the withdrawn and not qualified (W, F) are dropped. A driver who is in a
    race twice, as in shared cars, keeps their best place. Drivers are named "forename surname", with their id if
    several have the same name.

    Args:
      path: the folder.
      history: whose names keep their ids, as in `read`.
    """
    path = resolve_existing_path(path)
    races, where_race = csv_columns([path / "races.csv"], "races", ["raceId", "round", "date"])
    drivers, _ = csv_columns([path / "drivers.csv"], "drivers", ["driverId", "forename", "surname"])
    columns, where = csv_columns([path / "results.csv"], "results", ["raceId", "driverId", "positionText"])
    with add_location_to_data_errors("races.csv: ", where_race):
        days, _ = to_days("date", races["date"])
        turn = np.lexsort((to_numbers("round", races["round"]), days))
    races_in_order = {races["raceId"][int(row)].as_py(): place for place, row in enumerate(turn)}
    names = unique_names_by_id(
        {
            key: f"{forename or ''} {surname or ''}".strip()
            for key, forename, surname in zip(*(column.to_pylist() for column in drivers.values()), strict=True)
        },
        "driver",
    )
    with add_location_to_data_errors("results.csv: ", where):
        race = map_texts("raceId", columns["raceId"], races_in_order, "a race of races.csv").astype(int)
        keys = {key: i for i, key in enumerate(names)}
        driver = map_texts("driverId", columns["driverId"], keys, "a driver of drivers.csv").astype(int)
        places = {text: float(text) for text in set(columns["positionText"].to_pylist()) if text and text.isdecimal()}
        last, absent = max(places.values(), default=0) + 1, np.inf
        places |= dict.fromkeys("RNDE", last) | dict.fromkeys("WF", absent)
        rank = map_texts("positionText", columns["positionText"], places, "a place or one of R, N, D, E, W, F")
    order = np.lexsort((rank, driver, race))
    best = np.append(True, (np.diff(race[order]) != 0) | (np.diff(driver[order]) != 0))[: len(order)]
    rows = np.sort(order[best])
    rows = rows[rank[rows] != absent]
    rows = rows[np.argsort(race[rows], kind="stable")]
    table = {"contest": race[rows], "player": dictionary_column(driver[rows], list(names.values())), "rank": rank[rows]}
    table["time"] = days[turn][race[rows]].astype("datetime64[D]")
    return read_dataset_from_derived_columns(path, table, where, rows, history=history)


@enforce_argument_annotations
def football(path: Location, *, sort: bool = False, history: Any = None, **options: Unpack[FormatOptions]) -> Dataset:
    """International football of martj42's international_results: results.csv.

    The home team is player 0 and has the side, unless the ground is neutral. A win is 1, a draw 0.5, after extra time
    but without penalties. Matches to come, without a score, are dropped.

    Args:
      path: the file results.csv.
      sort: put the matches in order of time; the file has them so.
      history: whose names keep their ids, as in `read`.
      **options: further options of `read`, which name columns of the file, as columns="city".
    """
    path = resolve_existing_path(path)
    goals = ["home_score", "away_score"]
    needed = ["date", "home_team", "away_team", *goals, "neutral"]
    further = columns_named_by_options(options)
    columns, where = csv_columns([path], "football results", list(dict.fromkeys([*needed, *further])))
    compute = import_pyarrow().compute
    unplayed = [mask_to_numpy(compute.equal(columns[name].fill_null("NA"), "NA")) for name in goals]
    columns, rows = filter_rows_and_indices(path, columns, ~np.any(unplayed, axis=0))
    with add_location_to_data_errors(f"{path.name}: ", lambda row: where(int(rows[row]))):
        home, away = (to_numbers(name, columns[name]) for name in goals)
        neutral = map_texts("neutral", columns["neutral"], {"TRUE": 1, "FALSE": 0, "True": 1, "False": 0})
    table: dict[str, Any] = {name: columns[name] for name in (*further, *needed[:3])}
    table |= {"home_score": home, "away_score": away, "score": (1 + np.sign(home - away)) / 2, "side": 1 - neutral}
    roles = {"a": "home_team", "b": "away_team", "side": "side", "margin": goals, "sort": sort, "history": history}
    return read_dataset_from_derived_columns(path, table, where, rows, **roles | options)


@enforce_argument_annotations
def lichess(path: Location, *, history: Any = None, **options: Unpack[FormatOptions]) -> Dataset:
    """Lichess games in CSV, as in the data set "chess" of Kaggle's datasnaek: games.csv. Sorted by `created_at`.

    White is player 0 and has the side. By how much they are rated higher is the column `rating_difference`, 0 where
    a rating is missing. A game that is there twice, by its `id`, counts once. For the files of database.lichess.org,
    see `pgn`.

    Args:
      path: the file.
      history: whose names keep their ids, as in `read`.
      **options: further options of `read`, which name columns of the file, as columns="turns".
    """
    path = resolve_existing_path(path)
    needed, ratings = ["id", "created_at", "winner", "white_id", "black_id"], ["white_rating", "black_rating"]
    further = columns_named_by_options(options, [RATING_DIFFERENCE])
    needed = list(dict.fromkeys([*needed, *further]))
    columns, where = csv_columns([path], "lichess games", needed, [name for name in ratings if name not in needed])
    with add_location_to_data_errors(f"{path.name}: ", where):
        game, _ = to_ids(["id"], columns)
    once = np.zeros(len(game), bool)
    once[np.unique(game, return_index=True)[1]] = True
    columns, rows = filter_rows_and_indices(path, columns, once)
    with add_location_to_data_errors(f"{path.name}: ", lambda row: where(int(rows[row]))):
        difference = rating_difference(*(to_numbers(name, columns[name], 0.0) for name in ratings))
        table: dict[str, Any] = {name: columns[name] for name in (*further, "white_id", "black_id")}
        table["time"] = unix_timestamps("created_at", columns["created_at"], "ms")
        table["score"] = map_texts("winner", columns["winner"], {"white": 1, "black": 0, "draw": 0.5})
    roles = {"a": "white_id", "b": "black_id", "side": "a", "columns": [*difference], "sort": True}
    return read_dataset_from_derived_columns(
        path, table | difference, where, rows, **roles | {"history": history} | options
    )


@enforce_argument_annotations
def movielens(path: Location, *, like: float = 4.0, history: Any = None) -> Dataset:
    """Ratings of MovieLens (GroupLens) as matches of a movie, player 0, with a user, sorted by time.

    The movie wins, score 1, where the user gave it at least `like` stars, and else it loses. Users are "user 7"; movies
    have their title, with the id if several have the same, if the file of titles stands beside, or else are "movie 12".

    Args:
      path: ratings.csv, ratings.dat or u.data, or the folder that holds one of them. Titles are those of movies.csv,
        movies.dat or u.item.
      like: the least rating that is a win of the movie.
      history: whose names keep their ids, as in `read`.
    """
    path = resolve_existing_path(path)
    file = path
    if path.is_dir():
        present = [path / name for name in ("ratings.csv", "ratings.dat", "u.data") if (path / name).is_file()]
        if not present:
            raise ValueError(f"{path.name}: not MovieLens, no ratings.csv, ratings.dat or u.data")
        file = present[0]
    needed = ["userId", "movieId", "rating", "timestamp"]
    if file.suffix == ".csv":
        columns, where = csv_columns([file], "MovieLens ratings", needed)
    else:
        mark = b"::" if file.suffix == ".dat" else b"\t"
        text = ",".join(needed).encode() + b"\n" + file.read_bytes().replace(mark, b",")

        def where(row: int) -> str:
            return f"{file.name}: line {row + 1}"

        with add_location_to_data_errors(f"{file.name}: ", where):
            columns = columns_as_text(
                batches_to_table(iterate_csv_batches(lambda: io.BytesIO(text), needed), needed), needed
            )
    with add_location_to_data_errors(f"{file.name}: ", where):
        score = to_numbers("rating", columns["rating"]) >= like
        time = unix_timestamps("timestamp", columns["timestamp"], "s")
        user, users = to_ids(["userId"], columns)
        movie, movies = to_ids(["movieId"], columns)
    titles = unique_names_by_id(dict.fromkeys(movies, "") | _read_titles(file), "movie")
    table = {
        "movie": dictionary_column(movie[:, 0], [titles[key] for key in movies]),
        "user": dictionary_column(user[:, 0], [f"user {key}" for key in users]),
        "score": score,
        "time": time,
    }
    return read_dataset_from_derived_columns(
        file, table, where, np.arange(len(score)), a="movie", b="user", sort=True, history=history
    )


def _read_titles(ratings: Path) -> dict[str, str]:
    """The titles of movies by id, from the file in the folder of the ratings; none if there is no such file."""
    file = ratings.with_name({".csv": "movies.csv", ".dat": "movies.dat"}.get(ratings.suffix, "u.item"))
    if not file.is_file():
        return {}
    if file.suffix == ".csv":
        columns, _ = csv_columns([file], "MovieLens movies", ["movieId", "title"])
        pairs = zip(*(column.to_pylist() for column in columns.values()), strict=True)
        return {key: title or "" for key, title in pairs}
    mark = "::" if file.suffix == ".dat" else "|"
    lines = decode_utf8_or_latin1(file.read_bytes()).splitlines()
    return {key: rest.partition(mark)[0] for key, found, rest in (line.partition(mark) for line in lines) if found}


STAGES = ("Q1", "Q2", "Q3", "Q4", "Q5", "RR", "ER", "R256", "R128", "R64", "R32", "R16", "QF", "SF", "BR", "3rd", "F")
SET = re.compile(r"(?<![\[\d-])(\d{1,2})-(\d{1,2})(?!\d|-|\])")  # 7-6(5), and not [10-8]
DERIVED = "games", "round", "surface"


@enforce_argument_annotations
def tennis(path: Location, *, history: Any = None, **options: Unpack[FormatOptions]) -> Dataset:
    """Matches of Jeff Sackmann's tennis_atp or tennis_wta, sorted by the start of the tournament, then by round.

    The winner is player 0. Players are named "Name (id)", by their id in these files: some share a name.
    Retirements and defaults count; walkovers are dropped, and so is an id against itself (unknown players share one).
    Where a date lacks the day or the month, the first of the month or year is taken.

    The surface is the category, "Unknown" where there is none. The statistic `games` is the share of the games by which
    the winner was ahead, as the score tells, and NaN where it tells none; of a tie-break that stands for a set nothing
    counts. The column `round` counts the stages of a tournament, from 0, the first qualifying round, to 16, the final.

    Args:
      path: the folder with the files *_matches_*.csv of one tour (doubles are left out), or one such file.
      history: whose names keep their ids, as in `read`.
      **options: further options of `read`, which name columns of the files, as columns="minutes".
    """
    path = resolve_existing_path(path)
    files = _find_tennis_files(path)
    needed = ["tourney_date", "winner_id", "winner_name", "loser_id", "loser_name"]
    further_columns, optional = columns_named_by_options(options, DERIVED), ["score", "round", "surface"]
    needed = list(dict.fromkeys([*needed, *further_columns]))
    columns, where = csv_columns(files, "tennis matches", needed, [name for name in optional if name not in needed])
    compute = import_pyarrow().compute
    walkover = compute.match_substring_regex(columns["score"], r"\bw/?o\b|walkover", ignore_case=True)
    same_player = compute.equal(columns["winner_id"], columns["loser_id"])
    columns, rows = filter_rows_and_indices(path, columns, ~(mask_to_numpy(walkover) | mask_to_numpy(same_player)))
    with add_location_to_data_errors(f"{path.name}: ", lambda row: where(int(rows[row]))):
        days = parse_eight_digit_dates("tourney_date", columns["tourney_date"])
        ids, keys = to_ids(["winner_id", "loser_id"], columns)
    names = _tennis_player_names(columns, ids, keys)
    stages = columns["round"].fill_null("")
    codes, labels = to_ids(["round"], {"round": stages})
    stage = np.array([STAGES.index(name if name in STAGES else "RR") for name in labels])[codes[:, 0]]
    order = np.lexsort((stage, days))
    winner, loser = (dictionary_column(ids[order, i], names) for i in range(2))
    table: dict[str, Any] = {name: columns[name].take(order) for name in further_columns}
    table |= {"winner": winner, "loser": loser, "time": days[order]}
    roles: dict[str, Any] = {"history": history}
    if compute.any(compute.not_equal(stages, "")).as_py():
        table["round"], roles["columns"] = stage[order], "round"
    if columns["surface"].null_count < len(stage):
        table["surface"] = columns["surface"].fill_null("Unknown").take(order)
        roles["category"] = "surface"
    share = _relative_games_margin(columns["score"].fill_null(""))
    if not np.isnan(share).all():
        table["games"], roles["statistics"] = share[order], "games"
    return read_dataset_from_derived_columns(path, table, where, rows[order], **roles | options)


def _find_tennis_files(path: Path) -> list[Path]:
    """The files of singles of one tour in a folder, or the file; ValueError if there are none, or of several tours."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.glob("*_matches_*.csv") if "doubles" not in file.name)
    tours = sorted({file.name.partition("_matches_")[0] for file in files})
    if not files:
        raise ValueError(f"{path.name}: not tennis matches, no file such as atp_matches_2024.csv")
    if len(tours) > 1:
        raise ValueError(f"{path.name}: {' and '.join(tours)} number their players apart; give a folder for each")
    return files


def _tennis_player_names(columns: dict[str, Column], ids: HostArray, keys: HostArray) -> list[str]:
    """The names of the players with their keys, as they are spelt first; `ids` [n, 2] are numbers of the keys."""
    spelt = {name: columns[name].fill_null("") for name in ("winner_name", "loser_name")}
    code, spellings = to_ids(list(spelt), spelt)
    first = np.unique(ids, return_index=True)[1]  # where each player stands first
    return [f"{name or 'player'} ({key})" for key, name in zip(keys, spellings[code.ravel()[first]], strict=True)]


def _relative_games_margin(score: Column) -> HostArray:
    """[n] (w - l) / (w + l) of the games that the winner and the loser won in all sets, NaN where there are none."""
    codes, texts = to_ids(["score"], {"score": score})
    sets = [SET.findall(text) for text in texts]
    won, lost = (np.array([sum(int(games[i]) for games in played) for played in sets]) for i in (0, 1))
    return np.where(won + lost > 0, (won - lost) / np.maximum(won + lost, 1), np.nan)[codes[:, 0]]
