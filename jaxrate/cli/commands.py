"""What every command has: options by their kinds, what goes together, and output as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from math import inf, isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from jaxrate.cli.help_pages import ALL_HELP, HelpCommand
from jaxrate.cli.output_path_checks import NonEmptyPath
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, print_escaped, print_sections
from jaxrate.core.text_format import did_you_mean_suffix

Decorator = Callable[[Any], Any]


class OptionBundle(NamedTuple):
    """Options whose values several commands make one thing of."""

    options: Sequence[Decorator]
    collect: Callable[[dict[str, Any]], dict[str, Any]]  # of the arguments of a command those with that thing in place


class Output(NamedTuple):
    """What a command shows, as text and as JSON."""

    sections: Iterable[str | TextTable]
    values: Any = None
    exit_code: int = 0


class Number(click.ParamType[Any]):
    """A finite number within limits; a whole one may be written as 1e6."""

    name = "number"

    def __init__(self, *, least: float = -inf, above: float = -inf, most: float = inf, is_whole: bool = False) -> None:
        self.least, self.above, self.most, self.is_whole = least, above, most, is_whole
        limits = {f"at least {least:g}": least, f"above {above:g}": above, f"at most {most:g}": most}
        self.range = " and ".join(text for text, limit in limits.items() if isfinite(limit))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that the text of an option says."""
        return self.parse("the number" if param is None else param.opts[0], value)

    def parse(self, name: str, value: Any) -> Any:
        """The number that a text says; an error begins with the name."""
        try:
            number: Any = int(value) if self.is_whole and str(value).lstrip("+-").isdigit() else float(value)
        except ValueError:
            raise ValueError(f"{name} must be a {'whole ' * self.is_whole}number, got {value}") from None
        if self.is_whole and number % 1 != 0:
            raise ValueError(f"{name} must be a whole number, got {value}")
        if not isfinite(number):
            raise ValueError(f"{name} must be a finite number, got {value}")
        if not (self.least <= number <= self.most and number > self.above):
            raise ValueError(f"{name} must be {self.range}, got {number:g}")
        return int(number) if self.is_whole else number


KINDS: dict[str, Callable[..., click.ParamType[Any]]] = {  # of values, by how help calls them
    "NUMBER": lambda **limits: Number(is_whole=True, **({"least": 0} | limits)),
    **dict.fromkeys(("DAYS", "POINTS", "SECONDS", "SHARE", "EXPONENT", "GAMES", "DEVIATIONS"), Number),
    **dict.fromkeys(("DIR", "FILE", "FILE.html", "FILE.toml"), lambda: NonEmptyPath(path_type=Path)),
}
LIMITS = "least", "above", "most"
SHARE = {"above": 0.0, "most": 1.0}  # limits of a share of the events


def only_text(name: str, texts: list[str]) -> str:
    """The one value that was given by a name; ValueError for several."""
    if len(texts) > 1:
        raise ValueError(f"{name} takes one value, got {' and '.join(texts)}")
    return texts[0]


class NamedValue(NamedTuple):
    """What is given as NAME=VALUE, or by an option of its own."""

    text: str  # its help
    metavar: str  # of the value; none: it is a flag
    convert: Callable[[str, list[str]], Any] = only_text  # the name and the texts that were given by it, to the value
    settings: Mapping[str, Any] = MappingProxyType({})  # of an option of its own


class CommandOption(click.Option):
    """An option that may need others or exclude them, take several words, or take NAME=VALUE."""

    def __init__(
        self,
        *args: Any,
        needs: str = "",
        excludes: Iterable[str] = (),
        reason: str = "",
        most_words: float = 1,
        values: Mapping[str, NamedValue] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.needs, self.excludes, self.reason = needs, excludes, reason
        self.most_words, self.values = most_words, values or {}


def option(name: str, metavar: str = "", text: str = "", **settings: Any) -> Decorator:
    """An option whose value is of the kind that its `metavar` says; a flag if it has none.

    Args:
      name: as users write it; `to` is the name of the argument of the command, if that is another.
      metavar: of `KINDS`, or the name of another text.
      text: its help, which tells its default where there is one.
      settings: `needs`: the option without which it is nothing; `excludes`: those that it cannot be combined with;
        `reason`: why so, or what to do, which errors say; limits of numbers, and settings of click.
    """
    limits = {key: settings.pop(key) for key in LIMITS if key in settings}
    names = [f"--{name}", *([settings.pop("to")] if "to" in settings else [])]
    kind: dict[str, Any] = {"metavar": metavar} if metavar else {"is_flag": True}
    if metavar in KINDS:
        kind["type"] = KINDS[metavar](**limits)
    return click.option(*names, help=_complete_help(text, settings), cls=CommandOption, **kind | settings)


def _complete_help(text: str, settings: Mapping[str, Any]) -> str:
    """The help of an option, with the option that it needs, its default, and whether it may be repeated."""
    sentence, bracket, default = text.partition("  [default: ")
    needs, value = settings.get("needs", "file"), settings.get("default")
    if needs != "file":
        sentence = f"With --{needs}: {sentence[0].lower()}{sentence[1:]}"
    if settings.get("multiple") and "twice" not in sentence and settings.get("most_words", 1) == 1:
        sentence = f"{sentence.removesuffix('.')}; may be repeated."
    if value is not None and not bracket:
        return f"{sentence}  [default: {f'{value:g}' if isinstance(value, float) else value}]"
    return sentence + bracket + default


def named_values_option(name: str, text: str, values: Mapping[str, NamedValue], **settings: Any) -> Decorator:
    """An option that takes NAME=VALUE, and may be repeated. The command gets a dict of the converted values."""

    def parse(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
        own = {flag for x in context.command.params for flag in x.opts}
        by_name: dict[str, list[str]] = {}
        for one in texts:
            key, _, value = (part.strip() for part in one.partition("="))
            key, flag = key.replace("-", "_"), f"--{key.replace('_', '-')}"
            if key not in values:
                hint = f"; write {flag}" if flag in own else did_you_mean_suffix(key, values)
                raise ValueError(f"--{name} {one}: no name {key!r}{hint} (there are {', '.join(values)})")
            if not value:
                raise ValueError(f"--{name} {one}: write {key}={values[key].metavar or 'yes'}")
            by_name.setdefault(key, []).append(value)
        try:
            return {key: values[key].convert(key, given) for key, given in by_name.items()}
        except ValueError as error:
            raise ValueError(f"--{name} {error}") from None

    return option(name, "NAME=VALUE", text, multiple=True, callback=parse, values=values, **settings)


def number_from_text(**limits: Any) -> Callable[[str, list[str]], Any]:
    """A converter of the text of a number within these limits."""
    return lambda name, texts: Number(**limits).parse(name, only_text(name, texts))


def split_assignments(option: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """The name and the value of each text, NAME=VALUE or NAME; ValueError for one without a name, or named twice."""
    pairs = [text.partition("=")[::2] for text in texts]
    names = [name for name, _ in pairs]
    for name, value in pairs:
        if not name.strip():
            raise ValueError(f"{option} ={value}: write NAME={value}")
        if names.count(name) > 1:
            raise ValueError(f"{option} names {name} twice")
    return pairs


@contextmanager
def prefix_errors(prefix: str) -> Iterator[None]:
    """A ValueError begins with this."""
    try:
        yield
    except ValueError as error:
        hint = ", or use --sort" if str(error).endswith("sort the contests by time") else ""
        raise ValueError(f"{prefix}{error}{hint}") from None


def prefix_errors_with_file(file: str) -> AbstractContextManager[None]:
    """A ValueError names the file."""
    return prefix_errors(f"{Path(file).name}: ")


def argument(name: str, metavar: str, *, is_file: bool = False, **settings: Any) -> Decorator:
    """An argument: the name of a file or a folder, as a text if it `is_file` that is read."""
    kind = NonEmptyPath() if is_file else NonEmptyPath(path_type=Path)
    return click.argument(name, metavar=metavar, type=kind, **settings)


FILE = argument("file", "FILE", is_file=True)
RUN = argument("run", "RUN")
FIXTURES = argument("file", "FIXTURES", is_file=True)


def _print_all_help(context: click.Context, parameter: click.Parameter, is_asked: bool) -> None:
    """Print the page of all options, and end."""
    if is_asked and not context.resilient_parsing:
        context.meta[ALL_HELP] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


MESSAGES = (
    click.option("-q", "--quiet", is_flag=True, help="Print no progress and no hints, only warnings about the data."),
    click.option("-v", "--verbose", is_flag=True, help="Print timings and details, and where errors come from."),
    click.option("--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_print_all_help,
                 help="Show all options and exit."),
)  # fmt: skip


def command(
    *parameters: Decorator | OptionBundle, json: bool = True, **settings: Any
) -> Callable[[Callable[..., Output | None]], click.Command]:
    """A command with these parameters. Its function gets them and a `report`, and returns an `Output`, or nothing.

    Args:
      parameters: arguments and options, and bundles of them.
      json: whether the option --json prints the output as JSON.
      settings: groups of options, the usual ones among them, and examples, see `HelpCommand`.
    """
    bundles = [x for x in parameters if isinstance(x, OptionBundle)]
    own = [one for x in parameters for one in (x.options if isinstance(x, OptionBundle) else (x,))]
    shared = (option("json", text="Print JSON.", to="as_json"),) * json + MESSAGES

    def decorate(function: Callable[..., Output | None]) -> click.Command:
        @wraps(function)
        def run_command(*, quiet: bool, verbose: bool, as_json: bool = False, **options: Any) -> None:
            check_combinations(click.get_current_context())
            for bundle in bundles:
                options = bundle.collect(options)
            output = function(report=ProgressReport(quiet, verbose), **options)
            if output is not None:
                write_output(output, as_json=as_json)

        decorated: Any = run_command
        for parameter in reversed((*own, *shared)):
            decorated = parameter(decorated)
        return click.command(cls=HelpCommand, **settings)(decorated)

    return decorate


def write_output(output: Output, *, as_json: bool) -> None:
    """Print what a command shows; it ends with its exit code."""
    if as_json:
        print_escaped(json.dumps(to_json_values(output.values), indent=1))
    else:
        print_sections(*output.sections)
    if output.exit_code:
        click.get_current_context().exit(output.exit_code)


def to_json_values(value: Any) -> Any:
    """Values of which JSON can be made: arrays as lists, and None for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): to_json_values(x) for key, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_values(x) for x in value]
    if hasattr(value, "tolist"):  # an array, or a number of NumPy
        return to_json_values(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value


def is_on_command_line(name: str) -> bool:
    """Whether the parameter of this name was given, and is not the default."""
    return click.get_current_context().get_parameter_source(name) == ParameterSource.COMMANDLINE


def options_on_command_line(context: click.Context) -> list[click.Parameter]:
    """The parameters that were given."""
    return [
        x for x in context.command.params
        if x.name and context.get_parameter_source(x.name) == ParameterSource.COMMANDLINE
    ]  # fmt: skip


def check_combinations(context: click.Context) -> None:
    """ValueError for an option without the one that it needs, or beside one that it excludes."""
    given = {_plain_name(x): x for x in options_on_command_line(context)}
    for one in given.values():
        if not isinstance(one, CommandOption):
            continue
        reason = f": {one.reason}" if one.reason else ""
        if one.needs and one.needs not in given:
            needed = next(x for x in context.command.params if _plain_name(x) == one.needs)
            name = "a FILE" if isinstance(needed, click.Argument) else needed.opts[0]
            raise ValueError(f"{one.opts[0]} needs {name}{reason}")
        if other := next(filter(given.__contains__, one.excludes), None):
            raise ValueError(f"{one.opts[0]} cannot be combined with --{other}{reason}")


def _plain_name(parameter: click.Parameter) -> str:
    return next((x for x in parameter.opts if x.startswith("--")), parameter.opts[0]).removeprefix("--")


def check_only(allowed: Sequence[str], what: str) -> None:
    """ValueError if an option other than these was given; `what` it cannot be combined with."""
    for one in options_on_command_line(click.get_current_context()):
        if _plain_name(one) not in allowed:
            raise ValueError(f"{one.opts[0]} cannot be combined with {what}")
