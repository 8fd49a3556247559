"""Options of commands: the kinds of their values, how to read a file, and those that several commands share.

Options that are arguments of the library have the types, defaults and help of its functions. The sources are read and
not imported, since help and completion do without NumPy and JAX.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cache
from math import inf, isfinite, nan
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple, get_type_hints

import click

import jaxrate as jr
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.terminal_tables import ProgressReport
from jaxrate.core.text_format import did_you_mean_or_list, join_names
from jaxrate.data.column_role_definitions import (
    COLUMN_ROLES,
    FORMAT_NAMES,
    LAYOUT_ROLES,
    LISTED_ROLES,
)


class Number(click.ParamType[Any]):
    """A finite number within limits; a whole one may be written as 1e6."""

    name = "number"

    def __init__(self, *, least: float = -inf, above: float = -inf, most: float = inf, is_whole: bool = False) -> None:
        self.least, self.above, self.most, self.is_whole = least, above, most, is_whole
        limits = {f" of at least {least:g}": least, f" above {above:g}": above, f" of at most {most:g}": most}
        kind = "a whole number" if is_whole else "a number"
        self.kind = kind + " and".join(text for text, limit in limits.items() if isfinite(limit))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that a text says."""
        number = nan
        with suppress(ValueError):
            number = float(value)
        is_of_kind = isfinite(number) and not (self.is_whole and number % 1)
        if not (is_of_kind and self.least <= number <= self.most and number > self.above):
            raise ValueError(f"{param.opts[0] if param else 'this'} must be {self.kind}, got {value}")
        return int(Decimal(value)) if self.is_whole else number


class NonEmptyPath(click.Path):
    """A path; an empty one would be the folder where one is, and is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of a text."""
        if value == "":
            self.fail("name a file or a folder.", param, ctx)
        return super().convert(value, param, ctx)


class OutputFolder(NonEmptyPath):
    """A folder that can be written, or made with those above it."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of a text; ValueError if nothing can be written there."""
        path = super().convert(value, param, ctx)
        name = f"{param.opts[0] if isinstance(param, click.Option) else 'FILE'} {path}"
        existing = next(x for x in (path, *path.absolute().parents) if x.exists())
        if problem := self.find_problem(path, existing):
            raise ValueError(f"{name}{problem}")
        try:
            with TemporaryFile(dir=existing) if existing.is_dir() else existing.open("ab"):
                return path
        except OSError as error:
            raise ValueError(f"{name} cannot be written: {(error.strerror or str(error)).lower()}") from None

    def find_problem(self, path: Path, existing: Path) -> str:
        """Why there can be no such folder, of which this path exists, or one above it; "" if there can."""
        if existing.is_dir():
            return ""
        return f"{'' if existing == path else f': {existing}'} is a file; name a folder"


class OutputFile(OutputFolder):
    """A file that can be written.

    Args:
      example: a name of such a file.
      endings: those that its name may have; none: any.
      makes_folder: whether its folder is made if it is not there.
    """

    def __init__(self, example: str, *endings: str, makes_folder: bool = False) -> None:
        super().__init__()
        self.example, self.endings, self.makes_folder = example, endings, makes_folder

    def find_problem(self, path: Path, existing: Path) -> str:
        """Why there can be no such file; ImportError for a page without jinja2."""
        if ".html" in self.endings:
            lazy.make_template_environment()
        if path.is_dir():
            return f" is a folder; name a file, as {self.example}"
        if self.endings and path.suffix.lower() not in self.endings:
            return f": the name must end in {' or '.join(self.endings)}"
        if not (self.makes_folder or path.parent.is_dir()):
            return f": there is no folder {path.parent}"
        return "" if existing == path else super().find_problem(path, existing)


KINDS: dict[str, Callable[..., click.ParamType[Any]]] = {  # of values, by how help calls them
    "NUMBER": lambda **limits: Number(is_whole=True, **({"least": 0} | limits)),
    **dict.fromkeys(("DAYS", "POINTS", "SECONDS", "SHARE", "EXPONENT", "GAMES", "DEVIATIONS"), Number),
    **dict.fromkeys(("DIR", "FILE", "FILE.html", "FILE.toml"), lambda: NonEmptyPath(path_type=Path)),
}
LIMITS = "least", "above", "most"
SHARE: dict[str, Any] = {"above": 0.0, "most": 1.0}  # limits of a share of the events
TABLE_FILE = OutputFile("table.csv", ".csv", ".parquet")
PAGE_FILE = OutputFile("report.html", ".html", ".htm")


class CommandOption(click.Option):
    """An option that may need another or exclude some, take several words, or take NAME=VALUE.

    Args:
      needs: the option without which it is nothing, or FILE.
      excludes: the options that it cannot be combined with.
      reason: why so, or what to do.
      most_words: how many words it takes at most.
      named: the options whose values it takes as NAME=VALUE, by their names.
    """

    def __init__(
        self,
        *args: Any,
        needs: str = "",
        excludes: Iterable[str] = (),
        reason: str = "",
        most_words: float = 1,
        named: Mapping[str, CommandOption] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.needs, self.excludes, self.reason = needs, excludes, reason
        self.most_words, self.named = most_words, named or {}

    def check_combination(self, given: Collection[str]) -> None:
        """ValueError if the option lacks the one that it needs among those that are given, or is excluded by one."""
        reason = f": {self.reason}" if self.reason else ""
        if self.needs and self.needs not in given:
            raise ValueError(f"{self.opts[0]} needs {self.needs}{reason}")
        if other := next(filter(given.__contains__, self.excludes), None):
            raise ValueError(f"{self.opts[0]} cannot be combined with {other}{reason}")

    def process_texts(self, context: click.Context, texts: list[str]) -> Any:
        """The value of these texts; ValueError if there are several of an option that takes one."""
        if len(texts) > 1 and not self.multiple:
            raise ValueError(f"{self.opts[0]} takes one value, got {' and '.join(texts)}")
        return self.process_value(context, texts if self.multiple else texts[0])


def option(
    name: str, metavar: str = "", text: str = "", *, to: str = "", within: str = "", **settings: Any
) -> CommandOption:
    """An option whose value is of the kind that its `metavar` says; a flag if it has none.

    Args:
      name: as users write it.
      metavar: of `KINDS`, or the name of another text.
      text: its help, which tells its default where there is one.
      to: the name of the argument of the command, if it is another.
      within: the option that takes it as NAME=VALUE.
      settings: limits of numbers, and settings of `CommandOption` and of click.
    """
    limits = {key: settings.pop(key) for key in LIMITS if key in settings}
    names = [f"--{within} {name}" if within else f"--{name}", to or name.replace("-", "_")]
    kind: dict[str, Any] = {"metavar": metavar} if metavar else {"is_flag": True}
    if metavar in KINDS:
        kind["type"] = KINDS[metavar](**limits)
    return CommandOption(names, help=_complete_help(text, settings), **kind | settings)


def _complete_help(text: str, settings: Mapping[str, Any]) -> str:
    """The help of an option, with the option that it needs, its default, and whether it may be repeated."""
    sentence, bracket, default = text.partition("  [default: ")
    needs, value = settings.get("needs", "FILE"), settings.get("default")
    if needs != "FILE":
        sentence = f"With {needs}: {sentence[0].lower()}{sentence[1:]}"
    if settings.get("multiple") and "twice" not in sentence and settings.get("most_words", 1) == 1:
        sentence = f"{sentence.removesuffix('.')}; may be repeated."
    if value is not None and not bracket:
        return f"{sentence}  [default: {f'{value:g}' if isinstance(value, float) else value}]"
    return sentence + bracket + default


def named_values_option(name: str, text: str, named: Mapping[str, CommandOption], **settings: Any) -> CommandOption:
    """An option that takes NAME=VALUE of these options, and may be repeated. The command gets a dict of the values."""

    def split(context: click.Context, text: str) -> tuple[str, str]:
        """The name of an option, and the text of its value."""
        key, _, value = (part.strip() for part in text.partition("="))
        key = key.replace("-", "_")
        if key not in named:
            flag = f"--{key.replace('_', '-')}"
            is_option = any(flag in x.opts for x in context.command.params)
            hint = f"; write {flag}" if is_option else did_you_mean_or_list(key, named)
            raise ValueError(f"--{name} {text}: no name {key!r}{hint}")
        if not value:
            raise ValueError(f"--{name} {text}: write {key}={named[key].metavar or 'yes'}")
        return key, value

    def parse(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
        values: dict[str, list[str]] = {}
        for key, value in (split(context, text) for text in texts):
            values.setdefault(key, []).append(value)
        return {key: named[key].process_texts(context, those) for key, those in values.items()}

    return option(name, "NAME=VALUE", text, multiple=True, callback=parse, named=named, **settings)


def split_assignments(option: str, texts: Iterable[str], example: str) -> dict[str, str]:
    """The values, by name, of texts NAME=VALUE, or NAME, whose value is "". A name may hold an equals sign.

    Args:
      option: its name, for errors.
      texts: those that it was given.
      example: how to write one, for errors.

    Raises:
      ValueError: for a text without a name, or without a value behind the equals sign, or a name that is given twice.
    """
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = map(str.strip, text.rpartition("="))
        if not equals:
            name, value = value, ""
        if not name or bool(equals) != bool(value):
            raise ValueError(f"{option} {text}: write {example}")
        if name in values:
            raise ValueError(f"{option} names {name} twice")
        values[name] = value
    return values


def argument(name: str, metavar: str, *, is_file: bool = False, **settings: Any) -> click.Argument:
    """An argument: the name of a file or a folder, as a text if it `is_file` that is read."""
    kind = {"type": NonEmptyPath() if is_file else NonEmptyPath(path_type=Path)}
    return click.Argument([name], metavar=metavar, **kind | settings)


def complete_names(list_names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """What completes an option in a shell: those of the names that begin with what is written."""
    return lambda context, parameter, incomplete: [name for name in list_names() if name.startswith(incomplete)]


complete_systems = complete_names(lambda: jr.extend.ALL_SYSTEMS)
FILE = argument("file", "FILE", is_file=True)
RUN = argument("run", "RUN")


PACKAGE = Path(__file__).parent.parent
MODULES = {  # of functions whose arguments are options
    "ahead": "fitting/losses",
    "benchmark_systems": "evaluation/benchmark",
    "fit": "fitting/hyperparameter_fit",
    "fit_strengths": "arena/strength_fit",
    "probabilities_from_odds": "metrics/bookmaker_odds",
    "simulate_season": "forecasts/season_simulation",
    "write_site": "site/site_writer",
}
ARGUMENT_START = re.compile(r"^ {2}(\w+(?:, \w+)*): ", re.MULTILINE)
DEFAULT_SENTENCE = re.compile(r"\bNone: (.*?)\.(?:\s|$)", re.DOTALL)


class LibraryArgument(NamedTuple):
    """An argument of a function."""

    annotation: str
    default: Any
    text: str  # its first sentence in the docstring, and the default in brackets


@cache
def _parse_module(name: str) -> list[ast.stmt]:
    """The statements of a module of the package."""
    return ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8")).body


@cache
def describe_arguments(function: str) -> dict[str, LibraryArgument]:
    """The arguments of a function that have defaults, by their names."""
    statements = _parse_module(MODULES[function])
    node = next(x for x in statements if isinstance(x, ast.FunctionDef) and x.name == function)
    parts = ARGUMENT_START.split((ast.get_docstring(node) or "").partition("\nArgs:\n")[2])
    texts = {name: text for names, text in zip(parts[1::2], parts[2::2], strict=True) for name in names.split(", ")}
    return {
        x.arg: LibraryArgument(ast.unparse(x.annotation), ast.literal_eval(default), _help_text(texts[x.arg]))
        for x, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if x.annotation is not None and default is not None and x.arg in texts
    }


def _help_text(text: str) -> str:
    """The first sentence about an argument, with options in place of arguments, and what None stands for."""
    text = " ".join(text.split())
    sentence = re.split(r"(?<=[\w)\"])\. |\.$", text)[0]
    sentence = re.sub(r"`(\w+)`", lambda name: f"--{name[1].replace('_', '-')}", sentence)
    stands_for = DEFAULT_SENTENCE.search(text)
    return f"{sentence[0].upper()}{sentence[1:]}." + (f"  [default: {stands_for[1]}]" if stands_for else "")


def library_option(function: str, name: str, metavar: str = "", **settings: Any) -> CommandOption:
    """The option of an argument of a function; settings are those of `option`, in place of what the function says."""
    about = describe_arguments(function)[name]
    text = settings.pop("text", about.text)
    if about.default is not None and about.annotation != "bool":
        settings = {"default": about.default} | settings
    return option(name.replace("_", "-"), metavar, text, **settings)


def library_choice(function: str, *constants: str) -> click.Choice[str]:
    """One of the texts in constants of the module of a function: tuples, or types as `Literal["half", "none"]`."""
    statements = [x for x in _parse_module(MODULES[function]) if isinstance(x, ast.Assign)]
    values = {ast.unparse(x.targets[0]): getattr(x.value, "slice", x.value) for x in statements}
    return click.Choice([*dict.fromkeys(text for name in constants for text in ast.literal_eval(values[name]))])


# How to read a file.


def _one_or_two_columns(context: Any, parameter: Any, texts: tuple[str, ...]) -> Any:
    return texts[0] if len(texts) == 1 else [*texts]


def _column_pair(context: Any, parameter: Any, texts: tuple[str, ...]) -> list[str]:
    """Two columns: as A,B, or one by one where a name has a comma."""
    return texts[0].split(",") if len(texts) == 1 else [*texts]


def _columns_of_players(context: Any, parameter: Any, text: str | None) -> Any:
    """The column of one player or contest, or those of the members of a team, or of what names a contest together."""
    return [column for column in text.split(",") if column] if text and "," in text else text


def columns_by_name(context: Any, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, list[str]]:
    """Columns that belong together, by the name of what they are, from NAME=COLUMN,COLUMN or COLUMN,COLUMN."""
    example = "NAME=COLUMN,COLUMN"
    named: dict[str, list[str]] = {}
    for name, text in split_assignments(parameter.opts[0], texts, example).items():
        named[name] = [column.strip() for column in (text or name).split(",")]
        if "" in named[name]:
            raise ValueError(f"{parameter.opts[0]} {name}={text}: write {example}")
    return named


def _mixtures_by_name(context: Any, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """The parts of mixtures by name: None for equal parts of all others, a list of equal ones, or their shares."""
    example = "as in Random, Random=Zerg,Terran or Random=Zerg:0.3,Terran:0.7"
    mixtures: dict[str, Any] = {}
    for name, text in split_assignments(parameter.opts[0], texts, example).items():
        parts = text.split(",") if text else None
        mixtures[name] = _shares_by_name(text) if ":" in text else parts
        if len(mixtures[name] or ()) != len(parts or ()):
            raise ValueError(f"{parameter.opts[0]} {name}={text}: write {example}")
    return mixtures


def _shares_by_name(text: str) -> dict[str, float]:
    """The shares of NAME:SHARE,NAME:SHARE; none if one is no number."""
    with suppress(ValueError):
        return {name: float(share) for name, _, share in (part.rpartition(":") for part in text.split(","))}
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
    "statistics": ("COLUMN | xg=xg1,xg2", {"multiple": True, "callback": columns_by_name}),
    "shares": ("games=games1,games2", {"multiple": True, "callback": columns_by_name}),
}


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
    ("activity", "DAYS"): "Add how much each player has played of late as a covariate; matches fade in this many days.",
    ("form", "DAYS"): "Add recent form (results against expectation) as a covariate; it fades in this many days.",
    ("ground", "DAYS"): "With --venue: matches on a ground fade in this many days.  [default: 730]",
    (
        "category_lead",
        "GAMES",
    ): "Add how far first players are ahead in the category; earlier matches fade in this many.",
    ("relative_margin", "GAMES"): "Learn from margins relative to the mean points of about this many matches before.",
}
MIXTURES_TEXT = "A category that is a mix of others, in equal parts or as Random=Zerg:0.5,Terran:0.5."
NO_RESULT_TEXT = "Text or number that means no result, besides P, NA, - and the like; of contests, as DNS."
UNFINISHED_TEXT = "Text in the column of ranks of those who did not finish, as DNF,DSQ: they tie for last."
NAMES_TEXT = "Join players or categories whose names differ only in case, blanks or Unicode."
READING_OPTIONS = {
    "format": _reading_option("format", "NAME", FORMATS_TEXT, shell_complete=complete_names(lambda: FORMAT_NAMES)),
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
    return shipped | {name: [*x] if isinstance(x, tuple) else x for name, x in given.items()}


OUTPUT_MARKERS = "run.json", "site.json"  # of folders that `jaxrate rate` and `jaxrate site` write
SHIPPED_DATASET = "nfl"
SHIPPED_COLUMNS = {"a": "home", "b": "away", "side": "a", "neutral": "neutral"}


def is_shipped_dataset(file: Any) -> bool:
    """Whether FILE is the name of the league that ships with the package, and no file or folder of the user's data."""
    if file != SHIPPED_DATASET or Path(file).is_file():
        return False
    names = {x.name for x in Path(file).glob("*")}
    return not names or not names.isdisjoint(OUTPUT_MARKERS)


first_rows_option = option("first", "NUMBER", "Read only the first rows of a table.  [default: all]", least=1)


# What several commands share: hyperparameters, leaderboards and saved runs.


class FittedParams(NamedTuple):
    """The contents of a file of hyperparameters."""

    path: Path
    system: str
    values: dict[str, Any]  # of hyperparameters and settings
    period: float | None  # the length of rating periods
    file: str | None  # the name of the fitted file
    data_share: float  # the first share of its matches or contests, which was fitted


def parse_params(params: tuple[str, ...]) -> tuple[dict[str, Any], list[Path]]:
    """The values of --param NAME=VALUE, see `_parse_value`, and the files of hyperparameters that it names."""
    values: dict[str, Any] = {}
    files: list[Path] = []
    for text in params:
        name, equals, value = map(str.strip, text.partition("="))
        is_file = text.endswith(".toml") or not equals
        if is_file and not Path(text).exists():
            raise ValueError(f"--param {text}: there is no such file; write name=value, as in k=20, or name a file")
        if is_file:
            files.append(Path(text))
        elif not value:
            raise ValueError(f"--param {text}: write name=value, as in k=20")
        else:
            parts = [_parse_value(part) for part in value.rstrip(",").split(",")]
            values[name] = tuple(parts) if "," in value else parts[0]
    return values, files


def _parse_value(text: str) -> Any:
    """A number, none, true, false, or a name such as that of a luck function."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)


# Files are of TOML. Hyperparameters that are switched off, and settings that are None, are the word "none".


def write_fitted(path: Path, fit_result: Any, system: jr.extend.RatingSystem, period: float | None, file: str) -> None:
    """Write the hyperparameters of a fit to `path`; `file` is the name of the fitted file."""

    def text(value: Any) -> str:
        if isinstance(value, tuple):
            return f"[{', '.join(map(text, value))}]"
        if isinstance(value, float):
            return repr(value)
        return json.dumps("none" if value is None else value)  # of words, whole numbers and truth the same as in TOML

    header: dict[str, Any] = {"system": system.name} | ({} if period is None else {"period": period})
    header |= {"file": file, "data_share": fit_result.objective.data_share, "left_open": tuple(fit_result.open)}
    sections = {"": header, "[params]": fit_result.params._asdict(), "[settings]": dict(system.settings)}
    lines = [f"# jaxrate fit {file}: {fit_result.objective.loss} {fit_result.loss:.6g}"]
    for title, values in sections.items():
        lines += [*(["", title] if title else []), *(f"{key} = {text(value)}" for key, value in values.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def load_fitted(path: Path) -> FittedParams:
    """The contents of a file; ValueError, which names it, if it is no such file or its system cannot be made."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file, as fitted.toml")
    try:
        contents = {"data_share": 1.0} | tomllib.loads(path.read_text(encoding="utf-8"))
        read = contents.get("params", {}) | contents.get("settings", {})
        values = {key: None if x == "none" else tuple(x) if isinstance(x, list) else x for key, x in read.items()}
        lazy.make_system(contents["system"], values)
        for name in ("period", "data_share"):
            if not 0 < (number := contents.get(name, 1.0)) < inf:
                raise ValueError(f"{name} must be a number above 0, got {number!r}")
    except (KeyError, TypeError):
        raise ValueError(f'{path} must say system = "...", and [params], as `jaxrate fit --save` writes them') from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    period, file = contents.get("period"), contents.get("file")
    return FittedParams(path, contents["system"], values, period, file, contents["data_share"])


def hint_scored_on_fitted_data(report: ProgressReport, fits: list[FittedParams], file: str, last: float) -> None:
    """A note if hyperparameters are scored on matches or contests to which they were fitted."""
    for fit in fits:
        if fit.file == Path(file).name and last > 1 - fit.data_share + 1e-9:
            extent = "all" if fit.data_share == 1 else f"the first {100 * fit.data_share:g}%"
            message = f"{fit.path} was fitted to {extent} of {fit.file}, of which some are scored here"
            report.note(f"{message}; fit with --data-share 0.8 and score with --last 0.2")


def fitted_share(fit: FittedParams | None, file: str) -> dict[str, float]:
    """The option of a run with the first share of its file to which hyperparameters were fitted, if they were."""
    return {"fitted_share": fit.data_share} if fit is not None and fit.file == Path(file).name else {}


NEW_RUNS: dict[str, Any] = {
    "excludes": ("--state",),
    "reason": "it is for new runs; the saved run keeps its system",
}
PLAIN_TEXT = "Learn from results alone, not from the sides, points, seasons and surfaces in the file."
plain_option = option("plain", text=PLAIN_TEXT, **NEW_RUNS)


def system_option(text: str, **settings: Any) -> CommandOption:
    """The option --system, completed by the shell."""
    return option("system", "NAME", text, to="name", shell_complete=complete_systems, **settings)


def param_option(text: str, **settings: Any) -> CommandOption:
    """The option --param."""
    return option("param", "NAME=VALUE|FILE", text, to="params", multiple=True, **settings)


def system_options(param: str = "Set a hyperparameter, or name a FILE.toml of fit --save.") -> list[CommandOption]:
    """The options of a system and its hyperparameters, see `pop_request`."""
    return [
        system_option("Rating system; jaxrate systems lists them.  [default: by the columns of the file]", **NEW_RUNS),
        param_option(param, **NEW_RUNS),
        option("period", "DAYS", "Rate in periods of this length.  [default: match by match]", above=0, **NEW_RUNS),
    ]


class RatingRequest(NamedTuple):
    """The file, the system that the options ask for, and how to read it."""

    file: str  # "" without one
    name: str | None  # of the system
    changes: dict[str, Any]  # of its hyperparameters
    period: float | None  # the length of rating periods
    columns: dict[str, Any]  # arguments of `jr.read`, or of the reader of a format
    fitted: FittedParams | None = None  # the file that system and hyperparameters come from
    plain: bool = False  # whether to learn from results alone
    no_calibrate: bool = False  # whether predictions stay as the system makes them


def pop_request(values: dict[str, Any]) -> RatingRequest:
    """The request of a command with `system_options` and `reading_options`, taken out of its values."""
    columns = pop_columns(values)
    file, name, params, period, plain = map(values.pop, ("file", "name", "params", "period", "plain"))
    if name is not None:
        lazy.make_system(name, {})  # raises errors before the file is read
    changes, files = parse_params(params)
    if len(files) > 1:
        raise ValueError(f"--param names the files {' and '.join(map(str, files))}; name one")
    no_calibrate = values.pop("no_calibrate", False)
    request = RatingRequest(file or "", name, changes, period, columns, plain=plain, no_calibrate=no_calibrate)
    if not files:
        return request
    fitted = load_fitted(files[0])
    if name not in (None, fitted.system):
        raise ValueError(f"{fitted.path} is of {fitted.system}, not {name}")
    period, changes = fitted.period if period is None else period, fitted.values | changes
    return request._replace(name=fitted.system, changes=changes, period=period, fitted=fitted)


def _parse_active(context: Any, parameter: click.Parameter, text: str) -> float | str:
    """A length of time, a share of the history, or "all"."""
    if text == "all":
        return text
    with suppress(ValueError):
        if isfinite(value := float(text)) and value > 0:
            return value
    raise ValueError(f"{parameter.opts[0]}={text}: write a number of days above 0, a share below 1, or all")


ACTIVE_TEXT = (
    "List players who played in the last DAYS, or below 1, in this share of the history.  [default: 365 if there are "
    "dates, else all]"
)
GAMES_TEXT = "Minimum games to be listed.  [default: 10 if 20 recent players have that many, else 0]"
SINCE_TEXT = "Start date of the changes.  [default: 365 days before the end, or half the history if that is less]"
LIST_RULES = {  # rules of every leaderboard
    "active": option("active", "DAYS|all", ACTIVE_TEXT, within="list", callback=_parse_active),
    "min_games": option("min_games", "NUMBER", GAMES_TEXT, within="list"),
}
CAUTIOUS_TEXT = "Rank by the rating minus this many deviations, as 3.  [default: 0]"
CATEGORY_TEXT = "Rank by strength in this category, as a surface or a mode."
LEADERBOARD_RULES = {  # and of the leaderboards of `jaxrate rate`
    **LIST_RULES,
    "cautious": option("cautious", "DEVIATIONS", CAUTIOUS_TEXT, within="list", least=0),
    "category": option("category", "NAME", CATEGORY_TEXT, within="list"),
    "since": option("since", "DATE", SINCE_TEXT, within="list"),
}


def list_option(rules: Mapping[str, CommandOption]) -> CommandOption:
    """The option --list: rules by which a leaderboard is made."""
    text = f"A rule of the leaderboard: {', '.join(rules)}; as active=all."
    return named_values_option("list", text, rules, to="rules")


KEEPS_PREDICTIONS = "it is for new runs; a saved run keeps its kind of predictions"
no_calibrate_option = option(
    "no-calibrate",
    text="Leave chances as a system with default hyperparameters predicts them.",
    excludes=("--state",),
    reason=KEEPS_PREDICTIONS,
)


LAYOUT_OPTIONS = {"format", *LAYOUT_ROLES}  # of which new ones replace all those of the saved run


def split_reading_options(rated: jr.History, options: dict[str, Any]) -> tuple[jr.History, dict[str, Any]]:
    """The run with the options that no function of it takes, as if saved with it; and the others."""
    saved = {name: x for name, x in options.items() if name not in get_type_hints(lazy.FixtureOptions)}
    columns = rated.options.get("columns", {}) | saved
    others = {name: x for name, x in options.items() if name not in saved}
    return rated._replace(options=rated.options | {"columns": columns}), others


def complete_request_from_saved_run(saved: jr.History, request: RatingRequest) -> RatingRequest:
    """The request, completed by the period and the columns of this run."""
    has_new_layout = bool(request.columns.keys() & LAYOUT_OPTIONS)
    replaced = {*LAYOUT_OPTIONS, "team"} if has_new_layout else set()
    columns = {key: x for key, x in saved.options.get("columns", {}).items() if key not in replaced}
    dates = lazy.date_format_of_history_file(saved)
    if dates is not None and "format" not in columns | request.columns:
        columns["dates"] = dates
    return request._replace(period=saved.period, columns=columns | request.columns)


def lock_output_folder(out: Path) -> None:
    """Make the folder if it does not exist; no other process saves into it until the command ends."""
    context = click.get_current_context()
    if not context.meta.get(__name__):
        out.mkdir(parents=True, exist_ok=True)
        context.with_resource(lazy.lock_folder(out))
        context.meta[__name__] = True
