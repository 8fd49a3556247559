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
from math import inf, nextafter
from pathlib import Path
from sys import float_info
from typing import Any, NamedTuple, get_type_hints

import click
from click.shell_completion import CompletionItem

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

    def __init__(
        self, *, least: float = -inf, above: float = -inf, most: float = float_info.max, is_whole: bool = False
    ) -> None:
        self.least, self.most, self.is_whole = max(least, nextafter(above, inf)), most, is_whole
        limits = {f" of at least {least:g}": least, f" above {above:g}": above, f" of at most {most:g}": most}
        kind = "a whole number" if is_whole else "a number"
        self.kind = kind + " and".join(text for text, limit in limits.items() if abs(limit) < float_info.max)

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> Any:
        """The number that a text says."""
        with suppress(ValueError):
            number = float(value)
            if self.least <= number <= self.most and not (self.is_whole and number % 1):
                return int(Decimal(value)) if self.is_whole else number
        raise ValueError(f"{param.opts[0]} must be {self.kind}, got {value}")


class NonEmptyPath(click.Path):
    """A path; an empty one would be the folder where one is, and is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of a text."""
        if value == "":
            self.fail("name a file or a folder.", param, ctx)
        return super().convert(value, param, ctx)


def check_folder(path: Path, parameter: click.Parameter | None, context: click.Context | None) -> None:
    """An error unless this folder can be written, or the nearest one above it that exists."""
    nearest = next(x for x in (path, *path.absolute().parents) if x.exists())
    click.Path(file_okay=False, writable=True).convert(nearest, parameter, context)


FILE_SUFFIXES = ".csv", ".html", ".json", ".xlsx"  # of files, that a folder is not called by


class OutputFolder(NonEmptyPath):
    """A folder that can be written, or made with those above it."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of a text."""
        path = super().convert(value, param, ctx)
        if path.suffix.lower() in FILE_SUFFIXES:
            self.fail(f"a folder is written there; take a name without {path.suffix}.", param, ctx)
        check_folder(path, param, ctx)
        return path


class OutputFile(NonEmptyPath):
    """A file that can be written, whose folder is made; `endings` are those that its name may have, by default all."""

    def __init__(self, *endings: str) -> None:
        super().__init__(path_type=Path, dir_okay=False, writable=True)
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of a text."""
        path = super().convert(value, param, ctx)
        if self.endings and path.suffix.lower() not in self.endings:
            self.fail(f"the name must end in {' or '.join(self.endings)}.", param, ctx)
        check_folder(path.parent, param, ctx)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


class PageFile(OutputFile):
    """A file of HTML; ImportError without jinja2."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of a text, as of any file."""
        lazy.make_template_environment()
        return super().convert(value, param, ctx)


class SystemName(click.ParamType[str]):
    """The name of a rating system, which the shell completes."""

    name = "system"

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> str:
        """The name; ValueError if there is no such system."""
        lazy.make_system(value, {})
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so."""
        return [CompletionItem(name) for name in jr.extend.ALL_SYSTEMS if name.startswith(incomplete)]


KINDS: dict[str, Callable[..., click.ParamType[Any]]] = {  # of values, by how help calls them
    "NUMBER": lambda **limits: Number(is_whole=True, **({"least": 0} | limits)),
    **dict.fromkeys(("DAYS", "POINTS", "SECONDS", "SHARE", "EXPONENT", "GAMES", "DEVIATIONS"), Number),
    **dict.fromkeys(("DIR", "FILE", "FILE.html", "FILE.toml"), lambda: NonEmptyPath(path_type=Path)),
}
LIMITS = "least", "above", "most"
SHARE: dict[str, Any] = {"above": 0.0, "most": 1.0}  # limits of a share of the events
TABLE_FILE = OutputFile(".csv", ".parquet")
PAGE_FILE = PageFile(".html", ".htm")


class CommandOption(click.Option):
    """An option that may need another, or FILE, or exclude some, for a reason, or take several words."""

    named: Mapping[str, CommandOption] = {}  # the options whose values it takes as NAME=VALUE

    def __init__(
        self,
        *args: Any,
        needs: str = "",
        excludes: Iterable[str] = (),
        reason: str = "",
        most_words: float = 1,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.needs, self.excludes, self.most_words = needs, excludes, most_words
        self.reason = f": {reason}" if reason else ""

    def check_combination(self, given: Collection[str]) -> None:
        """ValueError if the option lacks the one that it needs among those that are given, or is excluded by one."""
        if self.needs and self.needs not in given:
            raise ValueError(f"{self.opts[0]} needs {self.needs}{self.reason}")
        if others := [x for x in self.excludes if x in given]:
            raise ValueError(f"{self.opts[0]} cannot be combined with {others[0]}{self.reason}")


class NamedValuesOption(CommandOption):
    """An option that takes NAME=VALUE of other options, and may be repeated. Its value is a dict of theirs."""

    def __init__(self, *args: Any, named: Mapping[str, CommandOption], **settings: Any) -> None:
        super().__init__(*args, multiple=True, **settings)
        self.named = named

    def process_value(self, ctx: click.Context, value: Any) -> dict[str, Any]:
        """The values by name, as lists of those of options that may be repeated."""
        texts: dict[str, list[str]] = {}
        for text in super().process_value(ctx, value):
            name, _, part = map(str.strip, text.partition("="))
            name = name.replace("-", "_")
            if name not in self.named:
                own = [x.opts[0] for x in ctx.command.params if x.name == name and isinstance(x, CommandOption)]
                hint = f"; write {own[0]}" if own else did_you_mean_or_list(name, self.named)
                raise ValueError(f"{self.opts[0]} {text}: no name {name!r}{hint}")
            if not part:
                raise ValueError(f"{self.opts[0]} {text}: write {name}={self.named[name].metavar}")
            texts.setdefault(name, []).append(part)
        options = {name: self.named[name] for name in texts}
        return {
            name: x.process_value(ctx, texts[name] if x.multiple else texts[name][-1]) for name, x in options.items()
        }


def option(
    name: str, metavar: str = "", text: str = "", *, to: str = "", within: str = "", **settings: Any
) -> CommandOption:
    """An option whose value is of the kind that its `metavar` says, of `KINDS` or a text; a flag if it has none.

    It is given to the argument `to` of the command, if not to that of its name; `within` is the option that takes it as
    NAME=VALUE.
    """
    limits = {key: settings.pop(key) for key in LIMITS if key in settings}
    names = [f"--{within} {name}" if within else f"--{name}", to or name.replace("-", "_")]
    kind: dict[str, Any] = {"metavar": metavar} if metavar else {"is_flag": True}
    if metavar in KINDS:
        kind["type"] = KINDS[metavar](**limits)
    default, needs = settings.get("default"), settings.get("needs", "")
    if default is not None and "[default: " not in text:
        text += f"  [default: {str(default).removesuffix('.0')}]"
    if needs.startswith("--"):
        text = f"With {needs}: {text[:1].lower()}{text[1:]}"
    return CommandOption(names, help=text, **kind | settings)


def named_values_option(name: str, text: str, named: Mapping[str, CommandOption], to: str = "") -> CommandOption:
    """An option that is given as NAME=VALUE, each the value of one of the `named` options; `to` names its argument."""
    return NamedValuesOption([f"--{name}", to or name], metavar="NAME=VALUE", help=text, named=named)


def argument(name: str, metavar: str, *, is_file: bool = False, **settings: Any) -> click.Argument:
    """An argument: the name of a file or a folder, as a text if it `is_file` that is read."""
    return click.Argument(
        [name], metavar=metavar, **{"type": NonEmptyPath(path_type=str if is_file else Path)} | settings
    )


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


@cache
def _parse_module(name: str) -> list[ast.stmt]:
    """The statements of a module of the package."""
    return ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8")).body


@cache
def describe_arguments(function: str) -> dict[str, tuple[Any, str]]:
    """The defaults and the help of the arguments of a function by name: of those that its docstring describes."""
    functions = {x.name: x for x in _parse_module(MODULES[function]) if isinstance(x, ast.FunctionDef)}
    arguments = functions[function].args
    nodes = {x.arg: node for x, node in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}
    parts = ARGUMENT_START.split((ast.get_docstring(functions[function]) or "").partition("\nArgs:\n")[2])
    texts = {name: text for names, text in zip(parts[1::2], parts[2::2], strict=True) for name in names.split(", ")}
    return {name: (ast.literal_eval(nodes[name]), _help_text(texts[name])) for name in nodes.keys() & texts.keys()}  # type: ignore[arg-type]


def _help_text(text: str) -> str:
    """The first sentence about an argument, with options in place of arguments, and what None stands for."""
    text = " ".join(text.split())
    sentence = re.split(r"(?<=[\w)\"])\. |\.$", text)[0]
    sentence = re.sub(r"`(\w+)`", lambda name: f"--{name[1].replace('_', '-')}", sentence)
    stands_for = DEFAULT_SENTENCE.search(text)
    return f"{sentence[0].upper()}{sentence[1:]}." + (f"  [default: {stands_for[1]}]" if stands_for else "")


def library_option(function: str, name: str, metavar: str, **settings: Any) -> CommandOption:
    """The option of an argument of a function; settings are those of `option`, in place of what the function says."""
    default, text = describe_arguments(function)[name]
    settings = {"default": default, "text": text} | settings
    return option(name.replace("_", "-"), metavar, **settings)


def library_choice(function: str, *constants: str) -> click.Choice[str]:
    """One of the texts in constants of the module of a function: tuples, or types as `Literal["half", "none"]`."""
    statements = [x for x in _parse_module(MODULES[function]) if isinstance(x, ast.Assign)]
    values = {ast.unparse(x.targets[0]): getattr(x.value, "slice", x.value) for x in statements}
    return click.Choice([*dict.fromkeys(text for name in constants for text in ast.literal_eval(values[name]))])


# How to read a file.


def _as_list(context: Any, parameter: Any, texts: tuple[str, ...]) -> list[str]:
    """The values of an option that may be repeated."""
    return [*texts]


def _parse_one_or_two_columns(context: Any, parameter: Any, texts: tuple[str, ...]) -> Any:
    """One column or two: as A,B, or one by one where a name has a comma."""
    columns = texts[0].split(",") if len(texts) == 1 else [*texts]
    return columns[0] if len(columns) == 1 else columns


def _parse_player_columns(context: Any, parameter: Any, text: str | None) -> Any:
    """The column of one player or contest, or those of the members of a team, or of what names a contest together."""
    return [column for column in text.split(",") if column] if text and "," in text else text


def columns_by_name(context: Any, parameter: Any, texts: tuple[str, ...]) -> dict[str, list[str]]:
    """Columns that belong together, by the name of what they are, from NAME=COLUMN,COLUMN or COLUMN,COLUMN."""
    pairs = (map(str.strip, text.rpartition("=")) for text in texts)
    return {name or columns: re.split(r"\s*,\s*", columns) for name, _, columns in pairs}


def _parse_mixtures(context: Any, parameter: Any, texts: tuple[str, ...]) -> dict[str, Any]:
    """The parts of mixtures by name: None for equal parts of all others, a list of equal ones, or their shares."""
    mixtures: dict[str, Any] = {}
    for text in texts:
        name, _, parts = text.partition("=")
        pairs = [part.rpartition(":") for part in parts.split(",")]
        mixtures[name] = parts.split(",") if parts else None
        if ":" in parts:
            mixtures[name] = {part: Number().convert(share, parameter, context) for part, _, share in pairs}
    return mixtures


def _split_texts(context: Any, parameter: Any, texts: tuple[str, ...]) -> list[str]:
    """Texts one by one, or with commas between them."""
    return re.split(r"\s*,\s*", ",".join(texts)) if texts else []


SEVERAL_COLUMNS: dict[str, Any] = {"multiple": True, "callback": _parse_one_or_two_columns}
COLUMN_KINDS: dict[str, tuple[str, dict[str, Any]]] = {  # how options take a role, by what it accepts
    "column": ("COLUMN", {}),
    "columns": ("COLUMN", {"multiple": True, "callback": _as_list}),
    "one or two columns": ("COLUMN ...", SEVERAL_COLUMNS | {"most_words": 2}),
    "two columns": ("COLUMN,COLUMN", SEVERAL_COLUMNS),
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
    settings = {"callback": _parse_player_columns} if name in LISTED_ROLES else settings
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
    "format": _reading_option("format", "NAME", FORMATS_TEXT, type=click.Choice(FORMAT_NAMES)),
    **{name: _role_option(name) for name in COLUMN_ROLES},
    **{name: _reading_option(name, unit, text) for (name, unit), text in DERIVED_TEXTS.items()},
    "mixtures": _reading_option("mixtures", "NAME[=PARTS]", MIXTURES_TEXT, multiple=True, callback=_parse_mixtures),
    "dates": _reading_option("dates", "HOW", 'Date format, if not ISO: day-first, month-first, or as "%d %b %Y".'),
    "na_values": _reading_option("na_values", "TEXT", NO_RESULT_TEXT, multiple=True, callback=_as_list),
    "unfinished": _reading_option("unfinished", "TEXT", UNFINISHED_TEXT, multiple=True, callback=_split_texts),
    "sort": _reading_option("sort", "", "Sort the rows by time."),
    "skip_incomplete": _reading_option("skip_incomplete", "", "Skip rows with missing values in the columns used."),
    "normalise_names": _reading_option("normalise_names", "yes", NAMES_TEXT, is_flag=True),
}
FIXTURE_OPTIONS = tuple(name for name in READING_OPTIONS if name not in ("format", "unfinished"))
COLUMN_HELP = "Another column, or how columns are read, as weight=w or dates=day-first; may be repeated."


def reading_options(names: Iterable[str] = READING_OPTIONS) -> list[CommandOption | str]:
    """Options that say how to read a file, in their groups: some of their own, the others by --column."""
    options = {name: READING_OPTIONS[name] for name in names}
    groups: list[CommandOption | str] = []
    for title, own in OWN_OPTIONS.items():
        groups += [title, *(options.pop(name) for name in own if name in options)]
    return [*groups, named_values_option("column", COLUMN_HELP, options)]


def pop_column_arguments(values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `jr.read` that options give, taken out of the values of a command."""
    own = {name: values.pop(name) for name in OWN_NAMES if name in values}
    given = {name: x for name, x in own.items() if x not in (None, (), [], False)} | values.pop("column")
    shipped = SHIPPED_COLUMNS if is_shipped_dataset(values.get("file")) else {}
    return shipped | given


SHIPPED_DATASET = "nfl"
SHIPPED_COLUMNS = {"a": "home", "b": "away", "side": "a", "neutral": "neutral"}


def is_shipped_dataset(file: Any) -> bool:
    """Whether FILE is the name of the league that ships with the package, and of no file or folder of the user's."""
    return file == SHIPPED_DATASET and not Path(file).exists()


first_rows_option = option("first", "NUMBER", "Read only the first rows of a table.  [default: all]", least=1)


# What several commands share: hyperparameters, leaderboards and saved runs.


class HyperparameterFileContents(NamedTuple):
    """The contents of a file of hyperparameters, by default of none."""

    path: Path = Path()
    system: str = ""
    values: Mapping[str, Any] = {}  # of hyperparameters and settings
    period: float | None = None  # the length of rating periods
    file: str | None = None  # the name of the fitted file
    data_share: float = 0.0  # the first share of its matches or contests, which was fitted


def parse_params(params: tuple[str, ...]) -> tuple[dict[str, Any], list[Path]]:
    """The values of --param NAME=VALUE, see `_parse_value`, and the files of hyperparameters that it names."""
    values: dict[str, Any] = {}
    files: list[Path] = []
    for text in params:
        name, equals, value = map(str.strip, text.partition("="))
        if text.endswith(".toml") or not equals:
            files.append(Path(text))
        elif name and value:
            values[name] = _parse_value(value)
        else:
            raise ValueError(f"--param {text}: write name=value, as in k=20")
    return values, files


def _parse_value(text: str) -> Any:
    """A number, none, true, false, or a name such as that of a luck function; or several of these, by commas."""
    if "," in text:
        return tuple(map(_parse_value, text.rstrip(",").split(",")))
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)


# Files are of TOML. Hyperparameters that are switched off, and settings that are None, are the word "none".


def write_hyperparameters(
    path: Path, fit_result: Any, system: jr.extend.RatingSystem, period: float | None, file: str
) -> None:
    """Write the hyperparameters of a fit to `path`; `file` is the name of the fitted file."""
    header = {"system": system.name, "file": file, "data_share": fit_result.objective.data_share}
    header |= {"left_open": fit_result.open} | ({} if period is None else {"period": period})
    sections = {"params": fit_result.params._asdict(), "settings": dict(system.settings)}
    lines = [f"# jaxrate fit {file}: {fit_result.objective.loss} {fit_result.loss:.6g}", *_toml_lines(header)]
    for title, values in sections.items():
        lines += ["", f"[{title}]", *_toml_lines(values)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml_lines(values: Mapping[str, Any]) -> list[str]:
    """Lines of TOML, in which words, numbers and lists are written as in JSON."""
    return [f"{key} = {json.dumps('none' if x is None else x)}" for key, x in values.items()]


def load_hyperparameters(path: Path) -> HyperparameterFileContents:
    """The contents of a file; ValueError, which names it, if it is no such file or its system cannot be made."""
    if not path.is_file():
        raise ValueError(f"--param {path}: there is no such file; write name=value, as in k=20, or name a file")
    try:
        contents = tomllib.loads(path.read_text(encoding="utf-8"))
        read = contents.get("params", {}) | contents.get("settings", {})
        values = {key: None if x == "none" else tuple(x) if isinstance(x, list) else x for key, x in read.items()}
        lazy.make_system(contents["system"], values)
    except (KeyError, TypeError):
        raise ValueError(f'{path} must say system = "...", and [params], as `jaxrate fit --save` writes them') from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    period, file = contents.get("period"), contents.get("file")
    return HyperparameterFileContents(path, contents["system"], values, period, file, contents.get("data_share", 1.0))


def hint_scored_on_fitted_data(
    report: ProgressReport, fits: list[HyperparameterFileContents], file: str, last: float
) -> None:
    """A note if hyperparameters are scored on matches or contests to which they were fitted."""
    for fit in fits:
        if fit.file == Path(file).name and last > 1 - fit.data_share + 1e-9:
            extent = "all" if fit.data_share == 1 else f"the first {100 * fit.data_share:g}%"
            message = f"{fit.path} was fitted to {extent} of {fit.file}, of which some are scored here"
            report.note(f"{message}; fit with --data-share 0.8 and score with --last 0.2")


NEW_RUNS: dict[str, Any] = {
    "excludes": ("--state",),
    "reason": "it is for new runs; the saved run keeps its system",
}
PLAIN_TEXT = "Learn from results alone, not from the sides, points, seasons and surfaces in the file."
plain_option = option("plain", text=PLAIN_TEXT, **NEW_RUNS)


def system_option(text: str, **settings: Any) -> CommandOption:
    """The option --system."""
    return option("system", "NAME", text, to="name", type=SystemName(), **settings)


def param_option(text: str, **settings: Any) -> CommandOption:
    """The option --param."""
    return option("param", "NAME=VALUE|FILE", text, to="params", multiple=True, **settings)


def system_options(
    param: str = "Set a hyperparameter, or name a FILE.toml of fit --save; may be repeated.",
) -> list[CommandOption]:
    """The options of a system and its hyperparameters, see `pop_rating_request`."""
    return [
        system_option("Rating system; jaxrate systems lists them.  [default: by the columns of the file]", **NEW_RUNS),
        param_option(param, **NEW_RUNS),
        option("period", "DAYS", "Rate in periods of this length.  [default: match by match]", above=0, **NEW_RUNS),
    ]


class RatingRequest(NamedTuple):
    """The file, the system that the options ask for, and how to read it."""

    file: str  # "" without one
    columns: dict[str, Any]  # arguments of `jr.read`, or of the reader of a format
    name: str | None = None  # of the system
    changes: Mapping[str, Any] = {}  # of its hyperparameters
    period: float | None = None  # the length of rating periods
    fitted: HyperparameterFileContents = (
        HyperparameterFileContents()
    )  # the file that system and hyperparameters come from
    plain: bool = False  # whether to learn from results alone
    no_calibrate: bool = False  # whether predictions stay as the system makes them


def pop_rating_request(values: dict[str, Any]) -> RatingRequest:
    """The request of a command with `system_options` and `reading_options`, taken out of its values."""
    columns = pop_column_arguments(values)
    file, name, params, period, plain = map(values.pop, ("file", "name", "params", "period", "plain"))
    changes, files = parse_params(params)
    if len(files) > 1:
        raise ValueError(f"--param names the files {' and '.join(map(str, files))}; name one")
    fitted = load_hyperparameters(files[0]) if files else HyperparameterFileContents()
    name, period = name or fitted.system, period or fitted.period
    if files and name != fitted.system:
        raise ValueError(f"{fitted.path} is of {fitted.system}, not {name}")
    changes = {**fitted.values, **changes}
    return RatingRequest(file or "", columns, name, changes, period, fitted, plain, values.pop("no_calibrate", False))


def _parse_active(context: Any, parameter: Any, text: str) -> float | str:
    """A length of time, a share of the history, or "all"."""
    if text == "all":
        return text
    with suppress(ValueError):
        return float(Number(above=0).convert(text, parameter, context))
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
    text = f"A rule of the leaderboard: {', '.join(rules)}; as active=all; may be repeated."
    return named_values_option("list", text, rules, "rules")


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
    replaced = {*LAYOUT_OPTIONS, "team"} if request.columns.keys() & LAYOUT_OPTIONS else set()
    columns = {key: x for key, x in saved.options.get("columns", {}).items() if key not in replaced}
    dates = lazy.input_date_format(saved)
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
