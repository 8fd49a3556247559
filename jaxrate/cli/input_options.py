"""The options that say how to read a file, and the events that are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.help_pages import HelpCommand
from jaxrate.cli.terminal_tables import ProgressReport, warnings_as_notes
from jaxrate.core.text_format import did_you_mean_suffix
from jaxrate.data.column_role_definitions import (
    COLUMN_ROLES,
    FORMAT_NAMES,
    PLAYER_PAIR,
    WINNER_LOSER,
    ColumnRole,
    join_alternatives,
)

ROLE_SETTINGS: dict[str, dict[str, Any]] = {  # of options, by what a role accepts
    "column": {},
    "columns": {"multiple": True},
    "one or two columns": {"multiple": True, "metavar": "COLUMN ..."},
    "two columns": {"nargs": 2, "metavar": "COLUMN ..."},
    "statistics": {"multiple": True, "metavar": "COLUMNS"},
    "shares": {"multiple": True, "metavar": "COLUMNS"},
}
ROLE_EXAMPLES = {"statistics": ", as in xg=xg1,xg2", "shares": ", as in games=games1,games2"}


def _settings(metavar: str, text: str, **settings: Any) -> dict[str, Any]:
    """The settings of an option of `click`; a flag if it has no `metavar`."""
    return {"help": text} | ({"metavar": metavar} if metavar else {"is_flag": True}) | settings


OTHER_OPTIONS = {
    "rest": _settings(
        "DAYS", "Add the days since each player's last match as a covariate, at most this many.", type=float
    ),
    "form": _settings(
        "DAYS", "Add recent form (results against expectation) as a covariate; it fades in this many days.", type=float
    ),
    "mixtures": _settings(
        "NAME[=PARTS]",
        "A category that is a mix of others, equal or as in Random=Zerg:0.5,Terran:0.5; may be repeated.",
        multiple=True,
    ),
    "dates": _settings("HOW", 'Date format, if not ISO: day-first, month-first, or as "%d %b %Y".'),
    "na_values": _settings(
        "TEXT", "Text or number that means no result, besides P, NA, - and the like; may be repeated.", multiple=True
    ),
    "unfinished": _settings(
        "TEXT", "Text in the column of ranks of those who did not finish, as DNF: they tie for last; may be repeated.",
        multiple=True,
    ),
    "sort": _settings("", "Sort the rows by time."),
    "skip_incomplete": _settings("", "Skip rows with missing values in the columns used."),
    "normalise_names": _settings("", "Join players or categories whose names differ only in case, blanks or Unicode."),
}  # fmt: skip


def _click_settings_of_role(role: ColumnRole) -> dict[str, Any]:
    """The settings of the option of a role."""
    meaning = re.sub(r"`(\w+)`", lambda match: f"--{match[1].replace('_', '-')}", role.meaning)
    meaning = f"{meaning}{ROLE_EXAMPLES.get(role.accepts, '')}"
    repeated = "; may be repeated" if role.accepts in ("columns", "statistics", "shares") else ""
    default = f"  [default: {join_alternatives(role.default)}]" if role.default else ""
    return {"help": f"{meaning[0].upper()}{meaning[1:]}{repeated}.{default}"} | ROLE_SETTINGS[role.accepts]


def _complete_formats(context: Any, parameter: Any, incomplete: str) -> list[str]:
    return [name for name in FORMAT_NAMES if name.startswith(incomplete)]


FORMAT_HELP = f"A public format with columns of its own: {', '.join(FORMAT_NAMES)}."
READING_OPTIONS = {
    "format": _settings("NAME", FORMAT_HELP, shell_complete=_complete_formats),
    **{name: _click_settings_of_role(role) for name, role in COLUMN_ROLES.items()},
    **OTHER_OPTIONS,
}
FIXTURE_OPTIONS = tuple(name for name in READING_OPTIONS if name not in ("format", "unfinished"))  # of what is to come
PAIR_OPTIONS = {f"--{name}" for name, role in COLUMN_ROLES.items() if role.accepts == "one or two columns"}


class VariadicColumnOptionsCommand(HelpCommand):
    """A command that reads a file: --category and --margin take one column or two, if another word is left for FILE."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        words = [arg.partition("=")[0] for arg in args]
        for option in sorted(PAIR_OPTIONS & {*words}, key=words.index):  # the first one takes two first
            split: list[str] = []
            for arg in args:
                split += arg.split("=", 1) if arg.startswith(f"{option}=") else [arg]
                if split[-3:-2] == [option] != split[-5:-4] and not arg.startswith("-"):
                    split.insert(-1, option)
            args = split if self._parses_with_file(context, split) else args
        return super().parse_args(context, args)

    def _parses_with_file(self, context: click.Context, args: list[str]) -> bool:
        """Whether these words can be parsed, and one of them is FILE."""
        with suppress(click.UsageError):
            values = self.make_parser(context).parse_args(list(args))[0]
            return isinstance(values.get("file"), str) or bool(values.get("files"))
        return False


def reading_options(names: Iterable[str] = READING_OPTIONS) -> Callable[[Any], Any]:
    """Options that say how to read a file. The `VariadicColumnOptionsCommand` gets those in use as `options`."""
    settings = {name: READING_OPTIONS[name] for name in names}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run_command(*args: Any, **options: Any) -> Any:
            values = {name: options.pop(name) for name in settings}
            values = {name: x for name, x in values.items() if x not in (None, (), False)}
            if is_shipped_dataset(options.get("file")):
                values = SHIPPED_COLUMNS | values
            return command(
                *args, options={name: _option_to_read_argument(name, x) for name, x in values.items()}, **options
            )

        for name, details in reversed(settings.items()):
            details = details if "is_flag" in details else {"metavar": "COLUMN"} | details
            run_command = click.option(f"--{name.replace('_', '-')}", **details)(run_command)
        return run_command

    return decorate


def _option_to_read_argument(name: str, value: Any) -> Any:
    """The value of an option as the argument of `jr.read`."""
    if name == "mixtures":
        mixtures = list(map(_parse_mixture, value))
        if len(dict(mixtures)) < len(mixtures):
            raise ValueError("--mixtures names one twice")
        return dict(mixtures)
    if name in (*PLAYER_PAIR, *WINNER_LOSER) and "," in value:
        return [name for name in value.split(",") if name]
    accepts = COLUMN_ROLES[name].accepts if name in COLUMN_ROLES else None
    if accepts == "one or two columns":
        return value[0] if len(value) == 1 else list(value)
    return _parse_statistics(name, value) if accepts in ("statistics", "shares") else value


def _parse_statistics(option: str, texts: Iterable[str]) -> dict[str, list[str]]:
    """The columns of statistics, by name, from COLUMN or NAME=COLUMN,COLUMN."""
    statistics = [
        (name, columns.split(",") if columns else [name]) for name, _, columns in (x.partition("=") for x in texts)
    ]
    if len(dict(statistics)) < len(statistics):
        raise ValueError(f"--{option} names one twice")
    return dict(statistics)


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


def _parse_mixture(text: str) -> tuple[str, Any]:
    """NAME, NAME=A,B or NAME=A:0.3,B:0.7."""
    name, equals, parts = text.partition("=")
    if not equals:
        return name, None
    shares = [part.rpartition(":") if ":" in part else (part, "", "") for part in parts.split(",")]
    if not any(share for *_, share in shares):
        return name, [part for part, *_ in shares]
    try:
        share_by_part = {part: float(share) for part, _, share in shares}
        if len(share_by_part) < len(shares):
            raise ValueError
        return name, share_by_part
    except ValueError:
        raise ValueError(
            f"--mixtures {text}: write as in Random, Random=Zerg,Terran or Random=Zerg:0.3,Terran:0.7"
        ) from None


def first_rows_option(command: Callable[..., None]) -> Callable[..., None]:
    """The option --first, of commands that read the first rows of a file that is too large."""
    text = "Read only the first rows of Parquet files.  [default: all]"
    return click.option("--first", type=click.IntRange(min=1), metavar="ROWS", help=text)(command)


newcomers_option = click.option(
    "--newcomers",
    is_flag=True,
    help="Allow new players. Otherwise unknown names are errors; close matches are suggested.",
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


def is_pgn_file(file: str) -> bool:
    """Whether the name of a file is that of games in PGN, compressed or not."""
    return re.search(r"\.pgn(\.\w+)?$", file.lower()) is not None


def is_parquet_folder_or_pattern(file: str) -> bool:
    """Whether this is a folder of Parquet files, or a pattern."""
    path = Path(file)
    if is_shipped_dataset(file):
        return False
    return any(path.glob("*.parquet")) if path.is_dir() else bool(set("*?[") & set(file)) and not path.exists()


def reader_argument_names(reader: Callable[..., jr.data.Dataset]) -> tuple[str, ...]:
    """The options that a format takes: its own, and further ones where it passes these on."""
    from jaxrate.data.formats.csv_collections import COLUMN_OPTIONS
    from jaxrate.data.saved_options import DATASET_OPTIONS

    parameters = signature(reader).parameters
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
    from jaxrate.data.parquet_table import find_parquet_table, parquet_source

    table = find_parquet_table(file)
    if first is not None and first < table.row_count:
        report.note(f"read the first {first:,} of {table.row_count:,} rows")
    return parquet_source(table, first)


def _find_table(file: str) -> Any:
    """A file, or the columns of the league that ships; ValueError for a folder of no tables."""
    from jaxrate.data.table_files import csv_files

    if is_shipped_dataset(file):
        return jr.data.datasets.nfl_columns()
    if Path(file).is_dir() and not csv_files(Path(file)):
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
