"""The options that say how to read a file, and the events that are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from inspect import signature, unwrap
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.lazy_imports import np
from jaxrate.cli.option_types import CommandOption, named_values_option, option, split_assignments
from jaxrate.cli.terminal_tables import ProgressReport, warnings_as_notes
from jaxrate.core.text_format import did_you_mean_suffix, join_names
from jaxrate.data.column_role_definitions import COLUMN_ROLES, FORMAT_NAMES, LISTED_ROLES, PLAYER_PAIR, is_pgn_file


def _one_or_two_columns(context: Any, parameter: Any, texts: tuple[str, ...]) -> Any:
    return texts[0] if len(texts) == 1 else [*texts]


def _column_pair(context: Any, parameter: Any, texts: tuple[str, ...]) -> list[str]:
    """Two columns: as A,B, or one by one where a name has a comma."""
    return texts[0].split(",") if len(texts) == 1 else [*texts]


def _columns_of_players(context: Any, parameter: Any, text: str | None) -> Any:
    """The column of one player or contest, or those of the members of a team, or of what names a contest together."""
    return [column for column in text.split(",") if column] if text and "," in text else text


def _columns_by_name(context: Any, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, list[str]]:
    """The columns of statistics, by name, from COLUMN or NAME=COLUMN,COLUMN."""
    pairs = split_assignments(parameter.opts[0], texts, "NAME=COLUMN,COLUMN").items()
    return {name: columns.split(",") if columns else [name] for name, columns in pairs}


def _mixtures_by_name(context: Any, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """The parts of mixtures by name: None for equal parts of all others, a list of equal ones, or their shares."""
    example = "as in Random, Random=Zerg,Terran or Random=Zerg:0.3,Terran:0.7"
    mixtures: dict[str, Any] = {}
    for name, text in split_assignments(parameter.opts[0], texts, example).items():
        parts = [part.rpartition(":")[::2] if ":" in part else (part, "") for part in text.split(",") if text]
        mixtures[name] = [part for part, _ in parts] or None
        if any(share for _, share in parts):
            mixtures[name] = _numbers_by_name(parts)
            if len(mixtures[name]) != len(parts):
                raise ValueError(f"{parameter.opts[0]} {name}={text}: write {example}")
    return mixtures


def _numbers_by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Numbers by name from their texts; none if one is no number."""
    with suppress(ValueError):
        return {name: float(text) for name, text in pairs}
    return {}


def _split_texts(context: Any, parameter: Any, texts: tuple[str, ...]) -> list[str]:
    """Texts one by one, or with commas between them."""
    return [part.strip() for text in texts for part in text.split(",")]


SEVERAL_WORDS: dict[str, Any] = {"multiple": True, "most_words": 2, "callback": _one_or_two_columns}
COLUMN_KINDS: dict[str, tuple[str, dict[str, Any]]] = {  # how options take a role, by what it accepts
    "column": ("COLUMN", {}),
    "columns": ("COLUMN", {"multiple": True}),
    "one or two columns": ("COLUMN ...", SEVERAL_WORDS),
    "two columns": ("COLUMN,COLUMN", {"multiple": True, "callback": _column_pair}),
    "statistics": ("COLUMN | xg=xg1,xg2", {"multiple": True, "callback": _columns_by_name}),
    "shares": ("games=games1,games2", {"multiple": True, "callback": _columns_by_name}),
}


def _complete_formats(context: Any, parameter: Any, incomplete: str) -> list[str]:
    return [name for name in FORMAT_NAMES if name.startswith(incomplete)]


OWN_OPTIONS = {  # arguments of `jr.read` that have an option of their own, by their groups; --column takes the others
    "Input": (
        *("format", "a", "b", "score", "winner", "loser", "time", "sort", "na_values", "skip_incomplete"),
        *("contest", "participant", "rank", "team"),
    ),
    "Columns that improve predictions": ("side", "margin", "season", "category", "venue"),
}
OWN_NAMES = tuple(name for names in OWN_OPTIONS.values() for name in names)


def _reading_option(name: str, metavar: str, text: str, **settings: Any) -> CommandOption:
    """The option of an argument of `jr.read`, or of a function of the events that are read."""
    if name in OWN_NAMES:
        return option(name.replace("_", "-"), metavar, text, **settings)
    return option(name, metavar, text, within="column", **settings)


def _role_option(name: str) -> CommandOption:
    """The option of the column of a role."""
    role = COLUMN_ROLES[name]
    meaning = re.sub(r"`(\w+)`", lambda match: f"--{match[1].replace('_', '-')}", role.meaning)
    default = f"  [default: {join_names(role.default, 'or')}]" if role.default else ""
    metavar, settings = COLUMN_KINDS[role.accepts]
    settings = {"callback": _columns_of_players} if name in LISTED_ROLES else settings
    return _reading_option(name, metavar, f"{meaning[0].upper()}{meaning[1:]}.{default}", **settings)


FORMATS_TEXT = f"A public format with columns of its own: {', '.join(FORMAT_NAMES)}."
DERIVED_TEXTS = {  # of columns that are computed from the file, by their name and what their span is in
    ("rest", "DAYS"): "Add the days since each player's last match as a covariate, at most this many.",
    ("layoff", "DAYS"): "Add how long each player has been away as a covariate, from this many days on.",
    ("form", "DAYS"): "Add recent form (results against expectation) as a covariate; it fades in this many days.",
    ("ground", "DAYS"): "With --venue: matches on a ground fade in this many days.  [default: 730]",
    ("relative_margin", "GAMES"): "Learn from margins relative to the mean points of about this many matches before.",
}
MIXTURES_TEXT = "A category that is a mix of others, in equal parts or as Random=Zerg:0.5,Terran:0.5."
NO_RESULT_TEXT = "Text or number that means no result, besides P, NA, - and the like; of contests, as DNS."
UNFINISHED_TEXT = "Text in the column of ranks of those who did not finish, as DNF,DSQ: they tie for last."
NAMES_TEXT = "Join players or categories whose names differ only in case, blanks or Unicode."
READING_OPTIONS = {
    "format": _reading_option("format", "NAME", FORMATS_TEXT, shell_complete=_complete_formats),
    **{name: _role_option(name) for name in COLUMN_ROLES},
    **{name: _reading_option(name, unit, text) for (name, unit), text in DERIVED_TEXTS.items()},
    "mixtures": _reading_option("mixtures", "NAME[=PARTS]", MIXTURES_TEXT, multiple=True, callback=_mixtures_by_name),
    "dates": _reading_option("dates", "HOW", 'Date format, if not ISO: day-first, month-first, or as "%d %b %Y".'),
    "na_values": _reading_option("na_values", "TEXT", NO_RESULT_TEXT, multiple=True),
    "unfinished": _reading_option("unfinished", "TEXT", UNFINISHED_TEXT, multiple=True, callback=_split_texts),
    "sort": _reading_option("sort", "", "Sort the rows by time."),
    "skip_incomplete": _reading_option("skip_incomplete", "", "Skip rows with missing values in the columns used."),
    "normalise_names": _reading_option("normalise_names", "", NAMES_TEXT),
}
FIXTURE_OPTIONS = tuple(name for name in READING_OPTIONS if name not in ("format", "unfinished"))
COLUMN_HELP = "Another column, or how columns are read, as weight=w or dates=day-first; --help-all lists the names."


def reading_options(names: Iterable[str] = READING_OPTIONS) -> list[CommandOption | str]:
    """Options that say how to read a file, in their groups: some of their own, the others by --column.

    `pop_columns` takes what they give from the values of a command.
    """
    options = {name: READING_OPTIONS[name] for name in names}
    groups: list[CommandOption | str] = []
    for title, own in OWN_OPTIONS.items():
        groups += [title, *(options.pop(name) for name in own if name in options)]
    return [*groups, named_values_option("column", COLUMN_HELP, options)]


def pop_columns(values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `jr.read` that options give, taken out of the values of a command."""
    own = {name: values.pop(name) for name in OWN_NAMES if name in values}
    given = {name: x for name, x in own.items() if x not in (None, (), [], False)} | values.pop("column")
    shipped = SHIPPED_COLUMNS if is_shipped_dataset(values.get("file")) else {}
    if values.get("plain"):
        shipped = {name: x for name, x in shipped.items() if name in PLAYER_PAIR}
    return shipped | {name: [*x] if isinstance(x, tuple) else x for name, x in given.items()}


OUTPUT_MARKERS = "run.json", "site.json"  # of folders that `jaxrate rate` and `jaxrate site` write
DATA_SUFFIXES = {".csv", ".tsv", ".txt", ".dat", ".parquet", ".json", ".jsonl", ".pgn", ".zip", ".gz", ".zst"}
DATA_SUFFIXES |= {".ndjson", ".xlsx", ".ods"}
SHIPPED_COLUMNS = {"a": "home", "b": "away", "side": "a", "neutral": "neutral"}


ABBREVIATION = re.compile("[b-df-hj-np-tv-xz]{2,4}|atp|wta|nba|wnba|ncaa|epl|ufc|mma|afl|ipl|uefa|fifa|fide")


def title_from_file(file: str) -> str:
    """A title from the name of a file, as "Our league" from our_league.csv, or "NFL" from nfl."""
    words = re.sub(r"[\s_-]+", " ", Path(file).name.partition(".")[0]).split()
    words = [x.upper() if ABBREVIATION.fullmatch(x) else x for x in words]
    return " ".join(x[:1].upper() + x[1:] if i == 0 else x for i, x in enumerate(words)) or "Ratings"


def is_shipped_dataset(file: Any) -> bool:
    """Whether FILE is the name of the league that ships with the package, and neither a file nor a folder of data."""
    if file != "nfl" or Path(file).is_file():
        return False
    folder = Path(file)
    is_output = any((folder / name).exists() for name in OUTPUT_MARKERS)
    return is_output or not any(x.suffix.lower() in DATA_SUFFIXES for x in folder.glob("*"))


def is_saved_run(file: str) -> bool:
    """Whether FILE is a folder that `jaxrate rate --out` has written."""
    return not is_shipped_dataset(file) and (Path(file) / OUTPUT_MARKERS[0]).is_file()


def published_forecasts(file: str, data: jr.data.Dataset) -> dict[str, Any] | None:
    """The forecasts that were published with the shipped league, by name; None for other files."""
    return {"FiveThirtyEight": jr.data.datasets.nfl_forecast()[data.rows]} if is_shipped_dataset(file) else None


first_rows_option = option("first", "NUMBER", "Read only the first rows of Parquet files.  [default: all]", least=1)
TEAM_COLUMN = re.compile(
    "(home|away|visitors?|visiting|winning|losing|winner|loser|[abh12])(team|club|franchise|goals?)(name|id|tag)?"
    "|(team|club|goals?)([ab12]|one|two|home|away)(name|id)?|ft[ha]g"
)


def is_about_teams(file: str, options: dict[str, Any]) -> bool:
    """Whether a file is about teams: the league that ships, results of football, or columns such as home_team."""
    if is_shipped_dataset(file) or options.get("format") == "football":
        return True
    names = {re.sub(r"[^a-z0-9]", "", name) for name in _lower_case_column_names(file, options)}
    return {"home", "away"} <= names or any(map(TEAM_COLUMN.fullmatch, names))


def is_about_colours(file: str, options: dict[str, Any]) -> bool:
    """Whether the side of a file is White: games of chess, or columns such as white and black."""
    if options.get("format") in ("pgn", "lichess") or is_pgn_file(file):
        return True
    return {"white", "black"} <= _lower_case_column_names(file, options)


def _lower_case_column_names(file: str, options: dict[str, Any]) -> set[str]:
    """The names of the columns of a single table, in lower case; none of what else a file may be."""
    if "format" in options or is_shipped_dataset(file) or is_pgn_file(file) or is_parquet_folder_or_pattern(file):
        return set()
    return {name.lower() for name in lazy.open_table_source(file).names}


@cache
def _load_shipped_columns() -> dict[str, Any]:
    """The columns of the league that ships, which a command reads more than once."""
    return jr.data.datasets.nfl_columns()


def open_file_table(file: str) -> Any:
    """The table of a file, or of the league that ships."""
    return lazy.open_table_source(_load_shipped_columns() if is_shipped_dataset(file) else file)


def load_columns(source: Any, names: Iterable[str], option: str = "", *, as_texts: bool = False) -> dict[str, Any]:
    """Columns of a table by their names; ValueError, which begins with the option, as "--by: ", if it lacks one."""
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in source.names:
            hint = did_you_mean_suffix(name, source.names)
            raise ValueError(f"{option}{source.title}no column {name!r}{hint}")
    with lazy.add_location_to_data_errors(source.title, source.where):
        loaded = source.load(wanted, wanted if as_texts else ()) if wanted else {}
        return {name: loaded[name] for name in wanted}


def load_match_columns(
    file: str, data: jr.data.Dataset, columns_by_name: dict[str, list[str]], option: str = ""
) -> dict[str, Any]:
    """[n], or [n, K] of several columns, numbers of the matches by name, NaN where the file has none.

    Args:
      file: what was read.
      data: its matches.
      columns_by_name: which columns belong together.
      option: with which errors begin, as "--odds: ".

    Raises:
      ValueError: for a column that the file does not have, or that holds no numbers, as 0.3 or 30%.
    """
    if not columns_by_name:
        return {}
    numbers = _load_numbers(file, [name for columns in columns_by_name.values() for name in columns], option)
    rows = np.asarray(data.rows)[np.asarray(data.events.start)[:-1]]
    if any(rows.max(initial=0) >= len(x) for x in numbers.values()):
        raise ValueError(f"{option}{file} is read from several tables, whose columns cannot be told apart")
    values = {key: np.stack([numbers[x][rows] for x in columns], axis=1) for key, columns in columns_by_name.items()}
    return {key: x[:, 0] if x.shape[1] == 1 else x for key, x in values.items()}


def _load_numbers(file: str, names: list[str], option: str) -> dict[str, Any]:
    """Columns of a file as numbers, NaN where there is none."""
    arrow, source, numbers = lazy.import_pyarrow(), open_file_table(file), {}
    loaded = load_columns(source, names, option)
    with lazy.add_location_to_data_errors(source.title, source.where):
        for name, x in loaded.items():
            column: Any = lazy.to_column(name, x)
            column = arrow.compute.utf8_rtrim(column, characters=" %") if lazy.is_text(column) else column
            numbers[name] = lazy.to_numbers(name, column, np.nan)
    return numbers


def is_parquet_folder_or_pattern(file: str) -> bool:
    """Whether this is a folder of Parquet files, or a pattern."""
    path = Path(file or "-")
    if not file or is_shipped_dataset(file):
        return False
    return any(path.glob("*.parquet")) if path.is_dir() else bool(set("*?[") & set(file)) and not path.exists()


def reader_argument_names(reader: Callable[..., jr.data.Dataset]) -> tuple[str, ...]:
    """The options that a format takes: its own, and further ones where it passes these on."""
    parameters = signature(unwrap(reader)).parameters
    return (
        *parameters,
        *((*lazy.COLUMN_OPTIONS, *lazy.DATASET_OPTIONS, "skip_incomplete") if "options" in parameters else ()),
    )


def read_events(
    report: ProgressReport,
    file: str,
    options: dict[str, Any],
    *,
    source: Any = None,
    first: int | None = None,
    history: jr.History | None = None,
) -> jr.data.Dataset:
    """The events of a file, as the reading options say; `source` is its table if that is open already.

    They follow the `history`, whose names keep their ids.
    """
    if "format" not in options and (first is not None or is_parquet_folder_or_pattern(file)):
        source = _open_parquet(report, file, first)
    file_format = options.get("format", "pgn" if is_pgn_file(file) else None)
    arguments = {name: x for name, x in options.items() if name != "format"}
    with report.stage(f"reading {Path(file).name}"), warnings_as_notes(report):
        if file_format is not None:
            return lazy.read_by_options(file, arguments, history, _find_format(file_format, arguments))
        return lazy.read_by_options(_find_table(file) if source is None else source, arguments, history)


def _open_parquet(report: ProgressReport, file: str, first: int | None) -> Any:
    """The table of Parquet files, or its first rows."""
    table = lazy.join_files(file)
    if first is not None and first < (count := table.count_rows()):
        report.note(f"read the first {first:,} of {count:,} rows")
    return lazy.first_rows(table, first)


def _find_table(file: str) -> Any:
    """A file, or the columns of the league that ships; ValueError for a folder of no tables."""
    if is_shipped_dataset(file):
        return _load_shipped_columns()
    if Path(file).is_dir() and not lazy.list_table_files(Path(file)):
        raise ValueError(f"{file} is a folder; say what it holds with --format ({', '.join(jr.data.formats.FORMATS)})")
    return file


def _find_format(name: str, arguments: dict[str, Any]) -> Callable[..., jr.data.Dataset]:
    """The reader of a public format; ValueError if there is none, or if it does not take the arguments."""
    formats = jr.data.formats.FORMATS
    if name not in formats:
        hint = did_you_mean_suffix(name, formats)
        raise ValueError(f"unknown format {name!r}{hint} (there are {', '.join(formats)})")
    if foreign := [x for x in arguments if x not in reader_argument_names(formats[name])]:
        option = foreign[0].replace("_", "-")
        raise ValueError(f"--{option} cannot be combined with --format {name}, which knows its own columns")
    return formats[name]
