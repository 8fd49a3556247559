"""How a file is to be read: the options that say so, and the events that come of them."""

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
from jaxrate.cli.progress import ProgressReport, warnings_as_notes
from jaxrate.text_format import suggest_name


def complete_formats(context: Any, parameter: Any, incomplete: str) -> list[str]:
    return [name for name in jr.data.formats.FORMATS if name.startswith(incomplete)]


COLUMN_OPTIONS: dict[str, dict[str, Any]] = {
    "format": {
        "help": f"A public format, which knows its own columns: {', '.join(jr.data.formats.FORMATS)}.",
        "metavar": "NAME",
        "shell_complete": complete_formats,
    },
    "a": {"help": "Column of the first player.  [default: a]"},
    "b": {"help": "Column of the second player.  [default: b]"},
    "score": {"help": "Column of the first player's score in [0, 1].  [default: score]"},
    "winner": {"help": "Column of the winner, instead of a, b and score.  [default: winner]"},
    "loser": {"help": "Column of the loser.  [default: loser]"},
    "contest": {"help": "Column of ranked contests of many, a row per participant.  [default: contest]"},
    "participant": {"help": "Contests: column of the player.  [default: player]"},
    "rank": {"help": "Contests: column of the rank, lower is better; or give --score.  [default: rank]"},
    "team": {"help": "Contests: column of the team, whose players play together and share the rank."},
    "last-rank": {"help": "Contests: column of the last place of a tie, to be checked."},
    "ceiling": {"help": "Contests: column of what the better performances count as."},
    "noise": {"help": "Contests: column of how much more than usual performances scatter, as 2 in a short contest."},
    "time": {"help": "Column of dates, or numbers of days.  [default: time, date or t]"},
    "dates": {
        "help": 'How dates are written that are not ISO: day-first, month-first, or as "%d %b %Y".',
        "metavar": "HOW",
    },
    "side": {"help": 'Column: 1 if the first player has home or white, -1 if the second; or "a", always.'},
    "neutral": {"help": "Column: true where nobody has the side."},
    "weight": {"help": "Column: a match of weight w counts as w matches. Contests: weight, or partial play."},
    "category": {
        "help": "Column of the category of both players, as a surface; or the two of each player's, as races.",
        "metavar": "COLUMN [COLUMN]",
        "multiple": True,
    },
    "mixtures": {
        "help": "A category that stands for all others in equal parts, or as in Random=Zerg:0.5,Terran:0.5; may be "
        "repeated.",
        "metavar": "NAME[=PARTS]",
        "multiple": True,
    },
    "margin": {
        "help": "Column of by how much a match was won; or the two of each side's points, which are a score as well.",
        "metavar": "COLUMN [COLUMN]",
        "multiple": True,
    },
    "statistics": {
        "help": "Column of what was counted beside the result, as expected goals: by how much the first player was "
        "ahead; or as in xg=xg1,xg2 that of each side. Values may be missing; may be repeated.",
        "metavar": "COLUMN or NAME=COLUMN,COLUMN",
        "multiple": True,
    },
    "shares": {
        "help": "The same, as in games=games1,games2: the share of both that the first player is ahead by.",
        "metavar": "NAME=COLUMN,COLUMN",
        "multiple": True,
    },
    "covariates": {
        "help": "Column of what is known before a match and speaks for the first player, as rest; may be repeated.",
        "multiple": True,
    },
    "rest": {
        "help": "Make a covariate of the days since each player's last match; longer rests count as so many.",
        "metavar": "DAYS",
        "type": float,
    },
    "form": {
        "help": "Make a covariate of recent results against expectation, which fades in so many days.",
        "metavar": "DAYS",
        "type": float,
    },
    "age": {
        "help": "Make a covariate of the ages of a and b, from columns of ages or of dates of birth.",
        "metavar": "COLUMN COLUMN",
        "nargs": 2,
    },
    "season": {"help": "Column of the season, as 2021 or 2020-21: each begins with its first match."},
    "league-season": {"help": "Column of seasons of several leagues, which overlap: names with a year, as 2020-21."},
    "columns": {
        "help": "A further column of numbers, which goes with the matches to a system of one's own; may be repeated.",
        "multiple": True,
    },
    "drop": {"help": "Leave out rows where this column is true; may be repeated.", "multiple": True},
    "na-values": {
        "help": "A text that says that there is no result, beside P, NA, - and the like; may be repeated.",
        "metavar": "TEXT",
        "multiple": True,
    },
    "sort": {"help": "Sort by time first.", "is_flag": True},
    "skip-incomplete": {"help": "Leave out rows in which a column that is used has no value.", "is_flag": True},
    "normalise-names": {
        "help": "Names that differ only by blanks, letter case or Unicode form are the same.",
        "is_flag": True,
    },
}
PAIR_OPTIONS = "--category", "--margin"


class ReadingCommand(click.Command):
    """A command that reads a file: --category and --margin take one column or two, if another word is left for FILE."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        words = [arg.partition("=")[0] for arg in args]
        for option in sorted({*PAIR_OPTIONS} & {*words}, key=words.index):  # the first one takes two first
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
            return isinstance(self.make_parser(context).parse_args(list(args))[0].get("file"), str)
        return False


def column_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options that say how to read a file; the command, a `Reading`, gets those that were given as `options`."""
    return some_column_options(COLUMN_OPTIONS)(command)


def some_column_options(names: Iterable[str]) -> Callable[[Any], Any]:
    """The same of some of the options alone."""
    kept = {name: COLUMN_OPTIONS[name] for name in names}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def wrapped(*args: Any, **options: Any) -> None:
            given = {name: options.pop(name) for name in (option.replace("-", "_") for option in kept)}
            given = {name: x for name, x in given.items() if x not in (None, (), False)}
            if is_shipped(options.get("file")):
                given = SHIPPED_COLUMNS | given
            for name in {"category", "margin"} & given.keys():
                given[name] = given[name][0] if len(given[name]) == 1 else list(given[name])
            for name in {"statistics", "shares"} & given.keys():
                given[name] = _parse_statistics(name, given[name])
            if "mixtures" in given:
                found = list(map(_parse_mixture, given["mixtures"]))
                given["mixtures"] = dict(found)
                if len(given["mixtures"]) < len(found):
                    raise ValueError("--mixtures names one twice")
            command(*args, options=given, **options)

        for name, about in reversed(kept.items()):
            about = about if "is_flag" in about else {"metavar": "COLUMN"} | about
            wrapped = click.option(f"--{name}", **about)(wrapped)
        return wrapped

    return decorate


def _parse_statistics(option: str, texts: Iterable[str]) -> dict[str, list[str]]:
    """The columns of statistics, by name, from COLUMN or NAME=COLUMN,COLUMN."""
    parts = [
        (name, columns.split(",") if columns else [name]) for name, _, columns in (x.partition("=") for x in texts)
    ]
    if len(dict(parts)) < len(parts):
        raise ValueError(f"--{option} names one twice")
    return dict(parts)


SHIPPED_COLUMNS = {"a": "home", "b": "away", "side": "a", "neutral": "neutral"}


def is_shipped(file: Any) -> bool:
    """Whether FILE is the name of the league that ships with the package, and no file."""
    return file == "nfl" and not Path(file).exists()


def _parse_mixture(text: str) -> tuple[str, Any]:
    """NAME, NAME=A,B or NAME=A:0.3,B:0.7."""
    name, found, parts = text.partition("=")
    if not found:
        return name, None
    shares = [part.rpartition(":") if ":" in part else (part, "", "") for part in parts.split(",")]
    if not any(share for *_, share in shares):
        return name, [part for part, *_ in shares]
    try:
        given = {part: float(share) for part, _, share in shares}
        if len(given) < len(shares):
            raise ValueError
        return name, given
    except ValueError:
        raise ValueError(
            f"--mixtures {text}: write as in Random, Random=Zerg,Terran or Random=Zerg:0.3,Terran:0.7"
        ) from None


def first_option(command: Callable[..., None]) -> Callable[..., None]:
    """--first, of commands that look at a part of what is too large."""
    text = "Look at so many rows from the top only, of Parquet or a folder of it.  [default: all]"
    return click.option("--first", type=click.IntRange(min=1), metavar="ROWS", help=text)(command)


def is_multi_file(file: str) -> bool:
    """Whether this is a folder of Parquet files, or a pattern."""
    path = Path(file)
    return any(path.glob("*.parquet")) if path.is_dir() else bool(set("*?[") & set(file)) and not path.exists()


def format_arguments(load: Callable[..., jr.data.Dataset]) -> tuple[str, ...]:
    """The arguments that a format takes: its own, and further options of `read` where it passes these on."""
    from jaxrate.data.formats.format_reading import READ_OPTIONS

    parameters = signature(load).parameters
    return (*parameters, *(READ_OPTIONS if "options" in parameters else ()))


def read_events(
    report: ProgressReport,
    file: str,
    options: dict[str, Any],
    *,
    source: Any = None,
    first: int | None = None,
    **more: Any,
) -> jr.data.Dataset:
    """The events of a file, as the options of `columns` say; `source` is its table if that is open already."""
    options = dict(options)
    if "format" not in options and (first is not None or is_multi_file(file)):
        from jaxrate.data.parquet_table import find_parquet_table, parquet_source

        parts = find_parquet_table(file)
        source = parquet_source(parts, first)
        if first is not None and first < parts.rows:
            report.note(f"this is of the first {first:,} of {parts.rows:,} rows")
    chess = re.search(r"\.pgn(\.\w+)?$", file.lower()) and not more.get("upcoming")
    form = options.pop("format", "pgn" if chess else None)
    with report.stage(f"reading {Path(file).name}"), warnings_as_notes(report):
        if form is None:
            if source is None and Path(file).is_dir():
                raise ValueError(
                    f"{file} is a folder; say what it holds with --format ({', '.join(jr.data.formats.FORMATS)})"
                )
            shipped = jr.data.datasets.nfl_columns() if source is None and is_shipped(file) else file
            return jr.read(shipped if source is None else source, **options, **more)
        if form not in jr.data.formats.FORMATS:
            known = ", ".join(jr.data.formats.FORMATS)
            raise ValueError(
                f"unknown format {form!r}{suggest_name(form, jr.data.formats.FORMATS)} (there are {known})"
            )
        load = jr.data.formats.FORMATS[form]
        foreign = [name for name in (*options, *more) if name not in format_arguments(load)]
        if foreign:
            option = foreign[0].replace("_", "-")
            raise ValueError(f"--{option} does not go with --format {form}, which knows its own columns")
        return load(file, **options, **more)
