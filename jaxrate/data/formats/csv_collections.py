"""Collections of results in CSV and JSON: tennis, football, contests, races, films, games of Lichess."""

import csv
import io
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from jaxrate.core.argument_checks import FilePath, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import (
    add_columns,
    distinct_cells,
    fail_at_cells,
    load_columns,
    numbers_or_nan,
    to_ids,
    to_numbers,
)
from jaxrate.data.column_recognition import ColumnsRecognisedWarning
from jaxrate.data.column_role_definitions import COLUMN_ROLES
from jaxrate.data.dataset_from_table import read
from jaxrate.data.date_parsing import parse_eight_digit_dates, parse_times
from jaxrate.data.faulty_rows import renumber_row_errors
from jaxrate.data.table_files import join_tables, open_csv, open_table_file, table_in_memory
from jaxrate.data.table_sources import Column, TableSource, add_location_to_data_errors, import_pyarrow
from jaxrate.events.dataset import Dataset


class ExtraReadOptions(TypedDict, total=False):
    """Further options of `read` that formats take: roles of columns which they do not know, and of faulty rows."""

    weight: str | None
    category: str | Sequence[str] | None
    margin: str | Sequence[str] | None
    statistics: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None
    shares: Mapping[str, Sequence[str]] | None
    covariates: str | Sequence[str] | None
    age: str | Sequence[str] | None
    season: str | None
    columns: str | Sequence[str] | None
    drop: str | Sequence[str] | None
    on_faulty: Literal["error", "skip"]


COLUMN_OPTIONS = tuple(name for name in COLUMN_ROLES if name in ExtraReadOptions.__annotations__)


def resolve_existing_path(path: FilePath) -> Path:
    resolved = Path(os.path.abspath(path))  # the name of "." too
    if not resolved.exists():
        raise ValueError(f"{resolved.name}: no such file or folder")
    return resolved


def concatenate_csv_files(path: Path, files: Sequence[Path], description: str, needed: Sequence[str]) -> TableSource:
    """The CSV files at a path as one table of text, end to end; columns that some files lack are empty there."""
    arrow, tables = import_pyarrow(), tuple(map(open_table_file, files))
    for table in tables:
        missing = [name for name in needed if name not in table.names]
        if missing:
            raise ValueError(f"{table.title}not {description}, no column {missing[0]!r}")

    def load(names: Sequence[str], text: Sequence[str] = ()) -> Any:
        parts = []
        for table in tables:
            present = [name for name in (needed[0], *names) if name in table.names]
            with add_location_to_data_errors(table.title, table.where):
                parts.append(arrow.table(load_columns(table, present)))
        return arrow.concat_tables(parts, promote_options="default")

    names = [*dict.fromkeys(chain(*(table.names for table in tables)))]
    where = join_tables("", tuple(files), tables).where
    return TableSource(f"{path.name}: " if len(tables) == 1 else "", names, load, where)


def load_texts(table: TableSource, needed: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Column]:
    """Columns as text; optional ones that are not there have no values."""
    arrow, names = import_pyarrow(), [name for name in (*needed, *optional) if name in table.names]
    with add_location_to_data_errors(table.title, table.where):
        loaded = table.load(names, names)
    if not len(loaded):
        raise ValueError(f"{table.title}no rows")
    empty = arrow.chunked_array([arrow.nulls(len(loaded), arrow.large_string())])
    return dict.fromkeys(optional, empty) | {name: loaded[name] for name in loaded.column_names}


def read_table_of_known_columns(table: TableSource, **roles: Any) -> Dataset:
    """`read` of a table whose columns are known, so that no notes say what they were taken for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnsRecognisedWarning)
        return read(table._replace(noted=False), **roles)


def read_derived(table: TableSource, derived: Mapping[str, Any], rows: HostArray, **roles: Any) -> Dataset:
    """`read` of these rows of a table, in their order, and of columns that were derived for each of them."""

    def load(names: Sequence[str], text: Sequence[str] = ()) -> Any:
        return {name: column.take(rows) for name, column in load_columns(table, names, text).items()}

    taken = TableSource(table.title, table.names, load, lambda row: table.where(int(rows[row])))
    data = read_table_of_known_columns(add_columns(taken, derived), **roles)
    fixtures = data.fixtures and data.fixtures._replace(rows=rows[data.fixtures.rows])
    return data._replace(rows=rows[data.rows], fixtures=fixtures)


def dictionary_column(codes: Any, names: Sequence[str]) -> Any:
    """The names by code [n], as an Arrow column; without a value where the code is below 0."""
    arrow = import_pyarrow()
    codes = arrow.array(np.asarray(codes), mask=np.asarray(codes) < 0)
    return arrow.chunked_array([arrow.DictionaryArray.from_arrays(codes, arrow.array(names, arrow.large_string()))])


def unique_names_by_id(names: Mapping[str, str], kind: str) -> dict[str, str]:
    """Names by id: with the id where several have the same, and only that where there is none."""
    count = Counter(names.values())
    return {
        key: f"{kind} {key}" if not name else name if count[name] == 1 else f"{name} ({key})"
        for key, name in names.items()
    }


def map_texts(name: str, column: Column, read_text: Callable[[str], float | None], expected: str) -> HostArray:
    """[n] what the texts in a column mean; RowError where one means nothing."""
    values = distinct_cells(column).map(read_text, np.nan)
    fail_at_cells(np.isnan(values), name, column, f"expected {expected}")
    return values


def rating_difference(ratings: Sequence[Column]) -> dict[str, HostArray]:
    """[n] the lead in rating of the first players, 0 where a rating is not above 0; {} if no match has both ratings."""
    first, second = map(numbers_or_nan, ratings)
    both_rated = (first > 0) & (second > 0)
    return {"rating_difference": np.where(both_rated, first - second, 0.0)} if both_rated.any() else {}


def decode_utf8_or_latin1(text: bytes) -> str:
    """Bytes as text: of UTF-8, or of Latin-1 where they are none."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


# Football


@enforce_argument_annotations
def football(
    path: FilePath, *, sort: bool = False, history: Any = None, **options: Unpack[ExtraReadOptions]
) -> Dataset:
    """International football of martj42's international_results: results.csv.

    The home team is player 0 and has the side, unless the ground is neutral. A win is 1, a draw 0.5, after extra time
    but without penalties. Matches to come, without a score, are `fixtures` of the dataset.

    Args:
      path: the file results.csv.
      sort: put the matches in order of time; the file has them so.
      history: whose names keep their ids, as in `read`.
      **options: further options of `read`, which name columns of the file, as columns="city".
    """
    path, goals = resolve_existing_path(path), ["home_score", "away_score"]
    roles: dict[str, Any] = {"a": "home_team", "b": "away_team", "time": "date", "side": "a", "neutral": "neutral"}
    needed = [*goals, "home_team", "away_team", "date", "neutral"]
    table = concatenate_csv_files(path, [path], "football results", sorted(needed))
    roles |= {"margin": goals, "sort": sort, "history": history}
    return read_table_of_known_columns(table, **{**roles, **options})


# Games of Lichess


@enforce_argument_annotations
def lichess(path: FilePath, *, history: Any = None, **options: Unpack[ExtraReadOptions]) -> Dataset:
    """Lichess games in CSV, as in the data set "chess" of Kaggle's datasnaek: games.csv. Sorted by `created_at`.

    White is player 0 and has the side. By how much they are rated higher is the column `rating_difference`, 0 where
    a rating is missing. A game that is there twice, by its `id`, counts once. For the files of database.lichess.org,
    see `pgn`.

    Args:
      path: the file.
      history: whose names keep their ids, as in `read`.
      **options: further options of `read`, which name columns of the file, as columns="turns".
    """
    path, ratings = resolve_existing_path(path), ["white_rating", "black_rating"]
    needed = ["id", "created_at", "winner", "white_id", "black_id"]
    table = concatenate_csv_files(path, [path], "lichess games", needed)
    columns = load_texts(table, ["id"], ratings)
    with add_location_to_data_errors(table.title, table.where):
        game, _ = to_ids(["id"], columns)
    rows = np.sort(np.unique(game, return_index=True)[1])
    difference = rating_difference([columns[name].take(rows) for name in ratings])
    roles: dict[str, Any] = {"a": "white_id", "b": "black_id", "score": "winner", "side": "a", "time": "created_at"}
    roles |= {"sort": True, "columns": [*difference], "history": history}
    return read_derived(table, difference, rows, **roles | options)


# Films


RATING_COLUMNS = ["userId", "movieId", "rating", "timestamp"]


@enforce_argument_annotations
def movielens(path: FilePath, *, like: float = 4.0, history: Any = None) -> Dataset:
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
    files = [path / name for name in ("ratings.csv", "ratings.dat", "u.data")] if path.is_dir() else [path]
    file = next(filter(Path.is_file, files), None)
    if file is None:
        raise ValueError(f"{path.name}: not MovieLens, no ratings.csv, ratings.dat or u.data")
    is_csv = file.suffix == ".csv"
    table = concatenate_csv_files(file, [file], "MovieLens ratings", RATING_COLUMNS) if is_csv else _open_ratings(file)
    columns = load_texts(table, RATING_COLUMNS)
    with add_location_to_data_errors(table.title, table.where):
        score = to_numbers("rating", columns["rating"]) >= like
        user, users = to_ids(["userId"], columns)
        movie, movies = to_ids(["movieId"], columns)
    titles = unique_names_by_id(dict.fromkeys(movies, "") | _read_titles(file), "movie")
    derived = {
        "movie": dictionary_column(movie[:, 0], [titles[key] for key in movies]),
        "user": dictionary_column(user[:, 0], [f"user {key}" for key in users]),
        "score": score,
    }
    roles: dict[str, Any] = {"a": "movie", "b": "user", "score": "score", "time": "timestamp"}
    return read_derived(table, derived, np.arange(len(score)), sort=True, history=history, **roles)


def _open_ratings(file: Path) -> TableSource:
    """The ratings in a file without a header, whose fields are separated by "::" or tabs."""
    mark = b"::" if file.suffix == ".dat" else b"\t"
    content = ",".join(RATING_COLUMNS).encode() + b"\n" + file.read_bytes().replace(mark, b",")
    table = open_csv(lambda: io.BytesIO(content), f"{file.name}: ", is_tsv=False)
    return table._replace(where=lambda row: f"{file.name}: line {row + 1}")


TITLES = {".csv": ("movies.csv", ","), ".dat": ("movies.dat", "::"), ".data": ("u.item", "|")}  # beside such ratings


def _read_titles(ratings: Path) -> dict[str, str]:
    """The titles of movies by id, from the file in the folder of the ratings; none if there is no such file."""
    name, mark = TITLES.get(ratings.suffix, TITLES[".data"])
    file = ratings.with_name(name)
    lines = decode_utf8_or_latin1(file.read_bytes()).splitlines() if file.is_file() else []
    records = csv.reader(lines) if mark == "," else (line.split(mark) for line in lines)
    return {record[0]: record[1] for record in records if len(record) > 1}


# Races


@enforce_argument_annotations
def ergast(path: FilePath, *, history: Any = None) -> Dataset:
    r"""Formula 1 races of Ergast or Jolpica, in CSV: a folder with races.csv, results.csv and drivers.csv.

    They become rounds, sorted by date. Classified drivers rank by position; the retired, not classified, disqualified
    and excluded (R, N, D, E) tie for last; the withdrawn and not qualified (W, F) are dropped. A driver who is in a
    race twice, as in shared cars, keeps their best place. Drivers are named "forename surname", with their id if
    several have the same name.

    Args:
      path: the folder.
      history: whose names keep their ids, as in `read`.
    """
    folder = resolve_existing_path(path)

    def load(name: str, needed: list[str]) -> tuple[TableSource, dict[str, Column]]:
        table = concatenate_csv_files(folder, [folder / f"{name}.csv"], name, needed)
        return table, load_texts(table, needed)

    race_table, races = load("races", ["raceId", "round", "date"])
    _, drivers = load("drivers", ["driverId", "forename", "surname"])
    table, results = load("results", ["raceId", "driverId", "positionText"])
    with add_location_to_data_errors(race_table.title, race_table.where):
        days = parse_times("date", races["date"]).values
        turn = np.lexsort((to_numbers("round", races["round"]), days))
    keys, *parts = (column.fill_null("").to_pylist() for column in drivers.values())
    full_names = map(str.strip, map(" ".join, zip(*parts, strict=True)))
    names = unique_names_by_id(dict(zip(keys, full_names, strict=True)), "driver")
    races_in_order = dict(zip(races["raceId"].take(turn).to_pylist(), count()))
    drivers_in_order = dict(zip(names, count()))
    with add_location_to_data_errors(table.title, table.where):
        race = map_texts("raceId", results["raceId"], races_in_order.get, "a race of races.csv").astype(int)
        driver = map_texts("driverId", results["driverId"], drivers_in_order.get, "a driver of drivers.csv").astype(int)
        expected = "a place or one of R, N, D, E, W, F"
        rank = map_texts("positionText", results["positionText"], _rank_of_position, expected)
    order = np.lexsort((rank, driver, race))
    best = order[np.unique((race * len(names) + driver)[order], return_index=True)[1]]
    rows = np.sort(best[np.isfinite(rank[best])])
    rows = rows[np.argsort(race[rows], kind="stable")]
    derived = {"contest": race[rows], "player": dictionary_column(driver[rows], [*names.values()]), "rank": rank[rows]}
    derived["time"] = days[turn][race[rows]].astype("datetime64[D]")
    return read_derived(table, derived, rows, history=history)


UNPLACED_RANKS = dict.fromkeys("RNDE", 1e6) | dict.fromkeys("WF", np.inf)  # inf: the row is dropped


def _rank_of_position(text: str) -> float | None:
    """The rank that a position in the results is; None if it is none."""
    return float(text) if text.isdecimal() else UNPLACED_RANKS.get(text)


# Contests


LARGEST_NUMBER = 10**15  # times, weights and places beyond it are taken for a mistake
NUMBER_TYPES = int, float
CONTEST_TYPES = {  # of the parts of a contest
    "time_seconds": (int,),
    "weight": NUMBER_TYPES,
    "perf_ceiling": (*NUMBER_TYPES, NoneType),
    "standings": (list,),
}


@enforce_argument_annotations
def contests(path: FilePath, *, sort: bool = False, history: Any = None) -> Dataset:
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
    numbered = {int(file.stem): file for file in path.glob("*.json") if re.fullmatch("[0-9]+", file.stem)}
    if not numbered:
        raise ValueError(f"{path.name}: not a folder of contests, no file such as 0.json")
    numbers, files = zip(*sorted(numbered.items()), strict=True)
    *parts, standings = zip(*map(_parse_contest, files), strict=True)
    size = [*map(len, standings)]
    end = np.cumsum(size)

    def where(row: int) -> str:
        number = np.searchsorted(end, row, side="right")
        return f"{files[number].name}: standings entry {row - end[number] + size[number]} (counting from 0)"

    handle, first, _ = np.array([*chain(*standings)], object).reshape(-1, 3).T
    seconds, weight, ceiling = np.repeat(np.array(parts, float), size, axis=1)
    table = {"contest": np.repeat(numbers, size), "player": handle, "rank": first.astype(int), "weight": weight}
    if seconds.any():
        table["time"] = seconds.astype("datetime64[s]")
    if not np.isnan(ceiling).all():
        table["ceiling"] = ceiling
    roles: dict[str, Any] = {role: role for role in ("weight", "ceiling") if role in table}
    roles |= {"sort": sort and "time" in table, "history": history}
    return read_table_of_known_columns(table_in_memory(table, [*table], f"{path.name}: ", where), **roles)


def _parse_contest(file: Path) -> list[Any]:
    """The parts of a contest of Elo-MMR, in the order of their types; ValueError unless they are of these."""
    with add_location_to_data_errors(f"{file.name}: ", str):
        try:
            content = json.loads(file.read_bytes())
        except RecursionError:
            raise ValueError("not a contest of Elo-MMR: lists within lists without an end") from None
        contest: dict[str, Any] = {"weight": 1.0, "perf_ceiling": None} | (content if isinstance(content, dict) else {})
        for name, types in CONTEST_TYPES.items():
            value = contest.get(name)
            if type(value) not in types or (isinstance(value, NUMBER_TYPES) and not abs(value) <= LARGEST_NUMBER):
                raise ValueError(f"not a contest of Elo-MMR, {name!r} is {format_value_for_error(value)}")
        for i, entry in enumerate(contest["standings"]):
            if not _is_standing(entry):
                got = format_value_for_error(entry)
                raise ValueError(f"standings entry {i} (counting from 0) is {got}, expected [handle, first, last]")
    return [contest[name] for name in CONTEST_TYPES]


def _is_standing(entry: Any) -> bool:
    """Whether it is [handle, first, last], of the places that those who tie share."""
    is_of_types = isinstance(entry, list) and [type(value) for value in entry] == [str, int, int]
    return is_of_types and 0 <= entry[1] <= entry[2] <= LARGEST_NUMBER


# Tennis


STAGES = ("Q1", "Q2", "Q3", "Q4", "Q5", "RR", "ER", "R256", "R128", "R64", "R32", "R16", "QF", "SF", "BR", "3rd", "F")
SET = re.compile(r"(?<![\[\d-])(\d{1,2})-(\d{1,2})(?!\d|-|\])")  # 7-6(5), and not [10-8]


@enforce_argument_annotations
def tennis(path: FilePath, *, history: Any = None, **options: Unpack[ExtraReadOptions]) -> Dataset:
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
    needed = ["tourney_date", "winner_id", "winner_name", "loser_id", "loser_name"]
    table = concatenate_csv_files(path, _find_tennis_files(path), "tennis matches", needed)
    columns = load_texts(table, needed, ["score", "round", "surface"])
    columns |= {name: columns[name].fill_null("") for name in ("winner_name", "loser_name", "score", "round")}
    compute = import_pyarrow().compute
    walkover = compute.match_substring_regex(columns["score"], r"\bw/?o\b|walkover", ignore_case=True)
    same_player = compute.equal(columns["winner_id"], columns["loser_id"]).fill_null(False)
    rows = np.flatnonzero(~compute.or_(walkover, same_player).to_numpy())
    if not len(rows):
        raise ValueError(f"{path.name}: no rows are left of {len(walkover)}")
    columns = {name: column.take(rows) for name, column in columns.items()}
    with add_location_to_data_errors(table.title, table.where), renumber_row_errors(rows):
        days = parse_eight_digit_dates("tourney_date", columns["tourney_date"])
        ids, keys = to_ids(["winner_id", "loser_id"], columns)
    names = _tennis_player_names(columns, ids, keys)
    stage = distinct_cells(columns["round"]).map(lambda x: STAGES.index(x if x in STAGES else "RR"), 0)
    share = _relative_games_margin(columns["score"])
    derived: dict[str, Any] = {
        "winner": dictionary_column(ids[:, 0], names),
        "loser": dictionary_column(ids[:, 1], names),
        "time": days,
    }
    roles: dict[str, Any] = {"winner": "winner", "loser": "loser", "time": "time", "history": history}
    if columns["surface"].null_count < len(rows):
        derived["surface"], roles["category"] = columns["surface"].fill_null("Unknown"), "surface"
    if any(columns["round"].unique().to_pylist()):
        derived["round"], roles["columns"] = stage, "round"
    if not np.isnan(share).all():
        derived["games"], roles["statistics"] = share, "games"
    order = np.lexsort((stage, days))
    derived = {name: column.take(order) for name, column in derived.items()}
    return read_derived(table, derived, rows[order], **roles | options)


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


def _tennis_player_names(columns: Mapping[str, Column], ids: HostArray, keys: HostArray) -> list[str]:
    """The names of the players with their keys, as they are spelt first; `ids` [n, 2] are numbers of the keys."""
    code, spellings = to_ids(["winner_name", "loser_name"], dict(columns))
    first = np.unique(ids, return_index=True)[1]  # where each player stands first
    return [f"{name or 'player'} ({key})" for key, name in zip(keys, spellings[code.ravel()[first]], strict=True)]


def _relative_games_margin(score: Column) -> HostArray:
    """[n] (w - l) / (w + l) of the games that the winner and the loser won in all sets, NaN where there are none."""

    def share(text: str) -> float:
        won, lost = (sum(int(games[i]) for games in SET.findall(text)) for i in (0, 1))
        return (won - lost) / (won + lost) if won + lost else np.nan

    return distinct_cells(score).map(share, np.nan)
