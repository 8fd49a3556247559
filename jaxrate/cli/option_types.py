"""Options and arguments of commands: the kinds of their values, what goes together, and paths that are written.

Options that are arguments of the library have the types, defaults and help of its functions. The sources are read and
not imported, since help and completion do without NumPy and JAX.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import Decimal
from functools import cache
from math import inf, isfinite
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import click

from jaxrate.cli import lazy_imports as lazy
from jaxrate.core.text_format import did_you_mean_suffix


class Number(click.ParamType[Any]):
    """A finite number within limits; a whole one may be written as 1e6."""

    name = "number"

    def __init__(self, *, least: float = -inf, above: float = -inf, most: float = inf, is_whole: bool = False) -> None:
        self.least, self.above, self.most = least, above, most
        self.kind = "a whole number" if is_whole else "a number"
        limits = {f"at least {least:g}": least, f"above {above:g}": above, f"at most {most:g}": most}
        self.range = " and ".join(text for text, limit in limits.items() if isfinite(limit))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that a text says."""
        name = "the number" if param is None else param.opts[0]
        try:
            number = float(value)
        except ValueError:
            raise ValueError(f"{name} must be {self.kind}, got {value}") from None
        if not isfinite(number):
            raise ValueError(f"{name} must be a finite number, got {value}")
        if "whole" in self.kind and number % 1 != 0:
            raise ValueError(f"{name} must be {self.kind}, got {value}")
        if not (self.least <= number <= self.most and number > self.above):
            raise ValueError(f"{name} must be {self.range}, got {number:g}")
        return int(Decimal(value)) if "whole" in self.kind else number


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
            check_pages_can_be_made()
        if path.is_dir():
            return f" is a folder; name a file, as {self.example}"
        if self.endings and path.suffix.lower() not in self.endings:
            return f": the name must end in {' or '.join(self.endings)}"
        if not (self.makes_folder or path.parent.is_dir()):
            return f": there is no folder {path.parent}"
        return "" if existing == path else super().find_problem(path, existing)


def check_pages_can_be_made() -> None:
    """ImportError without jinja2."""
    lazy.make_template_environment()


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
            hint = f"; write {flag}" if is_option else did_you_mean_suffix(key, named)
            raise ValueError(f"--{name} {text}: no name {key!r}{hint} (there are {', '.join(named)})")
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


FILE = argument("file", "FILE", is_file=True)
RUN = argument("run", "RUN")


PACKAGE = Path(__file__).parent.parent
MODULES = {  # of functions whose arguments are options
    "ahead": "fitting/objectives",
    "benchmark_systems": "evaluation/benchmark",
    "fit": "fitting/hyperparameter_fit",
    "fit_strengths": "arena/strength_fit",
    "leaderboard": "history/leaderboards",
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
