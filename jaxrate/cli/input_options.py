"""The options that say how to read a file, and the events that are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from inspect import signature, unwrap
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jaxrate as jr
from jaxrate.cli.commands import (
    NamedValue,
    OptionBundle,
    named_values_option,
    number_from_text,
    only_text,
    option,
    split_assignments,
)
from jaxrate.cli.terminal_tables import ProgressReport, warnings_as_notes
from jaxrate.core.text_format import did_you_mean_suffix, join_names
from jaxrate.data.column_role_definitions import (
    COLUMN_ROLES,
    FORMAT_NAMES,
    PLAYER_PAIR,
    WINNER_LOSER,
    ColumnRole,
)


def _column_list(name: str, texts: list[str]) -> list[str]:
    return texts


def _one_or_two_columns(name: str, texts: list[str]) -> Any:
    return texts[0] if len(texts) == 1 else texts


def _column_pair(name: str, texts: list[str]) -> list[str]:
    """Two columns: as A,B, or one by one where a name has a comma."""
    return texts[0].split(",") if len(texts) == 1 else texts


def _columns_of_players(name: str, texts: list[str]) -> Any:
    """The column of one player, or those of the members of a team."""
    text = only_text(name, texts)
    return [column for column in text.split(",") if column] if "," in text else text


def _columns_by_name(name: str, texts: list[str]) -> dict[str, list[str]]:
    """The columns of statistics, by name, from COLUMN or NAME=COLUMN,COLUMN."""
    pairs = split_assignments(name, texts)
    return {key: columns.split(",") if columns else [key] for key, columns in pairs}


def _mixtures_by_name(name: str, texts: list[str]) -> dict[str, Any]:
    """The parts of mixtures, by name, from NAME, NAME=A,B or NAME=A:0.3,B:0.7."""
    return {key: _parse_mixture(key, parts) for key, parts in split_assignments(name, texts)}


def _parse_mixture(name: str, parts: str) -> Any:
    """The shares of the parts of a mixture, or their names where they are equal; None: equal parts of all others."""
    if not parts:
        return None
    pairs = [(part, "") if ":" not in part else part.rpartition(":")[::2] for part in parts.split(",")]
    if not any(share for _, share in pairs):
        return [part for part, _ in pairs]
    with suppress(ValueError):
        shares = {part: float(share) for part, share in pairs}
        if len(shares) == len(pairs):
            return shares
    raise ValueError(f"mixtures {name}={parts}: write as in Random, Random=Zerg,Terran or Random=Zerg:0.3,Terran:0.7")


def _flag(name: str, texts: list[str]) -> bool:
    """True, as a flag that is set."""
    if texts != ["yes"]:
        raise ValueError(f"{name} is switched on by {name}=yes, got {' and '.join(texts)}")
    return True


SEVERAL_WORDS = MappingProxyType({"multiple": True, "most_words": 2})
REPEATED = MappingProxyType({"multiple": True})
ROLE_VALUES: dict[str, tuple[str, Any, Mapping[str, Any]]] = {  # by what a role accepts
    "column": ("COLUMN", only_text, MappingProxyType({})),
    "columns": ("COLUMN", _column_list, REPEATED),
    "one or two columns": ("COLUMN ...", _one_or_two_columns, SEVERAL_WORDS),
    "two columns": ("COLUMN,COLUMN", _column_pair, REPEATED),
    "statistics": ("COLUMN | xg=xg1,xg2", _columns_by_name, REPEATED),
    "shares": ("games=games1,games2", _columns_by_name, REPEATED),
}


def _argument_of_role(name: str, role: ColumnRole) -> NamedValue:
    """How the options give the column of a role."""
    meaning = re.sub(r"`(\w+)`", lambda match: f"--{match[1].replace('_', '-')}", role.meaning)
    default = f"  [default: {join_names(role.default, 'or')}]" if role.default else ""
    metavar, convert, settings = ROLE_VALUES[role.accepts]
    convert = _columns_of_players if name in (*PLAYER_PAIR, *WINNER_LOSER) else convert
    return NamedValue(f"{meaning[0].upper()}{meaning[1:]}.{default}", metavar, convert, settings)


def _complete_formats(context: Any, parameter: Any, incomplete: str) -> list[str]:
    return [name for name in FORMAT_NAMES if name.startswith(incomplete)]


READING_ARGUMENTS = {
    "format": NamedValue(
        f"A public format with columns of its own: {', '.join(FORMAT_NAMES)}.",
        "NAME",
        settings={"shell_complete": _complete_formats},
    ),
    **{name: _argument_of_role(name, role) for name, role in COLUMN_ROLES.items()},
    "rest": NamedValue(
        "Add the days since each player's last match as a covariate, at most this many.", "DAYS", number_from_text()
    ),
    "form": NamedValue(
        "Add recent form (results against expectation) as a covariate; it fades in this many days.",
        "DAYS",
        number_from_text(),
    ),
    "mixtures": NamedValue(
        "A category that is a mix of others, in equal parts or as Random=Zerg:0.5,Terran:0.5.",
        "NAME[=PARTS]",
        _mixtures_by_name,
        REPEATED,
    ),
    "dates": NamedValue('Date format, if not ISO: day-first, month-first, or as "%d %b %Y".', "HOW"),
    "na_values": NamedValue(
        "Text or number that means no result, besides P, NA, - and the like; of contests, as DNS.",
        "TEXT",
        _column_list,
        REPEATED,
    ),
    "unfinished": NamedValue(
        "Text in the column of ranks of those who did not finish, as DNF: they tie for last.",
        "TEXT",
        _column_list,
        REPEATED,
    ),
    "sort": NamedValue("Sort the rows by time.", ""),
    "skip_incomplete": NamedValue("Skip rows with missing values in the columns used.", ""),
    "normalise_names": NamedValue(
        "Join players or categories whose names differ only in case, blanks or Unicode.", "", _flag
    ),
}
OWN_OPTIONS = (  # arguments that have an option of their own; the others are names of --column
    *("format", "a", "b", "score", "winner", "loser", "time", "contest", "participant", "rank", "team"),
    *("side", "margin", "season", "category", "sort", "na_values", "skip_incomplete"),
)
FIXTURE_OPTIONS = tuple(name for name in READING_ARGUMENTS if name not in ("format", "unfinished"))
COLUMN_HELP = "Another column, or how columns are read, as weight=w or dates=day-first; --help-all lists the names."


def reading_options(names: Iterable[str] = READING_ARGUMENTS) -> OptionBundle:
    """Options that say how to read a file: some of their own, the others by --column.

    A command gets the arguments of `jr.read` that are in use as `options`.
    """
    arguments = {name: READING_ARGUMENTS[name] for name in names}
    own = {name: arguments[name] for name in OWN_OPTIONS if name in arguments}
    by_name = {name: about for name, about in arguments.items() if name not in own}

    def collect(values: dict[str, Any]) -> dict[str, Any]:
        given = {name: values.pop(name) for name in own}
        given = {name: _value_of_own_option(name, x) for name, x in given.items() if x not in (None, (), False)}
        shipped = SHIPPED_COLUMNS if is_shipped_dataset(values.get("file")) else {}
        return values | {"options": shipped | given | values.pop("column")}

    options = [option(key.replace("_", "-"), x.metavar, x.text, **x.settings) for key, x in own.items()]
    return OptionBundle([*options, named_values_option("column", COLUMN_HELP, by_name)], collect)


def _value_of_own_option(name: str, value: Any) -> Any:
    """The argument of `jr.read` that an option of its own gives."""
    if value is True:
        return True
    return READING_ARGUMENTS[name].convert(name, [value] if isinstance(value, str) else [*value])


OUTPUT_MARKERS = "run.json", "site.json"  # of folders that `jaxrate rate` and `jaxrate site` write
DATA_SUFFIXES = {".csv", ".tsv", ".txt", ".dat", ".parquet", ".json", ".jsonl", ".pgn", ".zip", ".gz", ".zst"}
DATA_SUFFIXES |= {".ndjson", ".xlsx", ".ods"}
SHIPPED_COLUMNS = {"a": "home", "b": "away", "side": "a", "neutral": "neutral"}


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
newcomers_option = option(
    "newcomers", text="Allow new players. Otherwise unknown names are errors; close matches are suggested."
)


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
    from jaxrate.data.table_files import open_table_source

    return {name.lower() for name in open_table_source(file).names}


def open_file_table(file: str) -> Any:
    """The table of a file, or of the league that ships."""
    from jaxrate.data.table_files import open_table_source

    return open_table_source(jr.data.datasets.nfl_columns() if is_shipped_dataset(file) else file)


def load_columns(source: Any, names: Iterable[str], option: str = "", *, as_texts: bool = False) -> dict[str, Any]:
    """Columns of a table by their names; ValueError, which names the option, if it lacks one."""
    from jaxrate.data.table_sources import add_location_to_data_errors

    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in source.names:
            hint = did_you_mean_suffix(name, source.names)
            raise ValueError(f"{option}{': ' * bool(option)}{source.title}no column {name!r}{hint}")
    with add_location_to_data_errors(source.title, source.where):
        loaded = source.load(wanted, wanted if as_texts else ()) if wanted else {}
        return {name: loaded[name] for name in wanted}


def is_pgn_file(file: str) -> bool:
    """Whether the name of a file is that of games in PGN, compressed or not."""
    return re.search(r"\.pgn(\.\w+)?$", file.lower()) is not None


def is_parquet_folder_or_pattern(file: str) -> bool:
    """Whether this is a folder of Parquet files, or a pattern."""
    path = Path(file or "-")
    if not file or is_shipped_dataset(file):
        return False
    return any(path.glob("*.parquet")) if path.is_dir() else bool(set("*?[") & set(file)) and not path.exists()


def reader_argument_names(reader: Callable[..., jr.data.Dataset]) -> tuple[str, ...]:
    """The options that a format takes: its own, and further ones where it passes these on."""
    from jaxrate.data.formats.csv_collections import COLUMN_OPTIONS
    from jaxrate.data.saved_options import DATASET_OPTIONS

    parameters = signature(unwrap(reader)).parameters
    return (*parameters, *((*COLUMN_OPTIONS, *DATASET_OPTIONS, "skip_incomplete") if "options" in parameters else ()))


def read_events(
    report: ProgressReport,
    file: str,
    options: dict[str, Any],
    *,
    source: Any = None,
    first: int | None = None,
    history: jr.History | None = None,
    **arguments: Any,
) -> jr.data.Dataset:
    """The events of a file, as the reading options say; `source` is its table if that is open already.

    They follow the `history`, whose names keep their ids.
    """
    from jaxrate.data.saved_options import read_by_options

    if "format" not in options and (first is not None or is_parquet_folder_or_pattern(file)):
        source = _open_parquet(report, file, first)
    is_pgn = is_pgn_file(file) and not arguments.get("upcoming")
    file_format = options.get("format", "pgn" if is_pgn else None)
    arguments |= {name: x for name, x in options.items() if name != "format"}
    with report.stage(f"reading {Path(file).name}"), warnings_as_notes(report):
        if file_format is not None:
            return read_by_options(file, arguments, history, _find_format(file_format, arguments))
        return read_by_options(_find_table(file) if source is None else source, arguments, history)


def _open_parquet(report: ProgressReport, file: str, first: int | None) -> Any:
    """The table of Parquet files, or its first rows."""
    from jaxrate.data.table_files import join_files

    table = join_files(file)
    if first is not None and first < (count := table.count_rows()):
        report.note(f"read the first {first:,} of {count:,} rows")
    return table.to_source(first)


def _find_table(file: str) -> Any:
    """A file, or the columns of the league that ships; ValueError for a folder of no tables."""
    from jaxrate.data.table_files import list_table_files

    if is_shipped_dataset(file):
        return jr.data.datasets.nfl_columns()
    if Path(file).is_dir() and not list_table_files(Path(file)):
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
