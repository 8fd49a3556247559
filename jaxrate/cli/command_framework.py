"""What every command has: options in groups, pages of help, and output as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import wraps
from importlib import import_module
from inspect import cleandoc
from itertools import takewhile
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from jaxrate.cli.option_names import name_options
from jaxrate.cli.options import CommandOption, option
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, print_escaped, print_sections

HELP_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
ALL_HELP = "jaxrate.help_all"  # in the notes of a context: whether --help-all was given
NAMES_WIDTH = 26  # of options and their values, before their descriptions
GUIDES = "https://github.com/jaxrate/jaxrate/blob/main/jaxrate/guides/start.md"
COMMANDS_WIDTH = 12  # of the names of commands, and of the options that need none


class Output(NamedTuple):
    """What a command shows, as text and as JSON."""

    sections: Iterable[str | TextTable]
    values: Any = None
    exit_code: int = 0


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


def _print_help(context: click.Context, parameter: click.Parameter, is_asked: bool) -> None:
    """Print the page of the usual options, or of all, and end."""
    if is_asked and not context.resilient_parsing:
        context.meta[ALL_HELP] = parameter is ALL_OPTIONS
        click.echo(context.get_help(), color=context.color)
        context.exit()


HELP_FLAG: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _print_help}
ALL_OPTIONS = CommandOption(["--help-all"], help="Show all options and exit.", **HELP_FLAG)
JSON = option("json", text="Print JSON.", to="as_json")
MESSAGES = (
    CommandOption(
        ["-q", "--quiet"], is_flag=True, help="Print no progress and no hints, only warnings about the data."
    ),
    CommandOption(["-v", "--verbose"], is_flag=True, help="Print timings and details, and where errors come from."),
    CommandOption(["-h", "--help"], help="Show this message and exit.", **HELP_FLAG),
    ALL_OPTIONS,
)


class HelpCommand(click.Command):
    """A command whose --help has its usual options, and whose --help-all has all of them, in groups.

    Args:
      groups: its options by the titles of their groups.
      usual: the names of the options that --help shows; none: all.
      examples: lines of the shell.
    """

    def __init__(
        self,
        *args: Any,
        groups: Mapping[str, Sequence[CommandOption]],
        usual: Sequence[str],
        examples: Sequence[str],
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.groups, self.usual, self.examples = groups, usual, examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line, of which some options take several."""
        return super().parse_args(ctx, _repeat_options_of_several_words(self, ctx, args))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors of the library name its options."""
        try:
            return super().invoke(ctx)
        except ValueError as error:
            raise ValueError(name_options(str(error), self)) from error

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, with --help its first paragraph alone."""
        write_paragraphs(formatter, self.help or "", None if self._shows_all(ctx) else 1)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usual options, or the groups of all with the names that some take."""
        if not self._shows_all(ctx):
            by_name = {_plain_name(x): x for x in self.params if isinstance(x, CommandOption)}
            write_options(formatter, "Options", [*map(by_name.__getitem__, self.usual), ALL_OPTIONS])
            return
        for title, options in self.groups.items():
            write_options(formatter, title, options)
        for one in (x for options in self.groups.values() for x in options if x.named):
            rows = [(f"{name}={x.metavar or 'yes'}", x.help or "") for name, x in one.named.items()]
            write_rows(formatter, f"Names of {one.opts[0]}", rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, with --help the first one."""
        write_examples(formatter, self.examples if self._shows_all(ctx) else self.examples[:1])

    def _shows_all(self, ctx: click.Context) -> bool:
        return ctx.meta.get(ALL_HELP, False) or not self.usual


def _repeat_options_of_several_words(command: click.Command, context: click.Context, args: list[str]) -> list[str]:
    """The words with an option before each of its values, as long as another word is left for FILE.

    Options of two words come before those of any number, and of these the first one on the line takes what it can.
    """
    most_words = {x.opts[0]: x.most_words for x in command.params if isinstance(x, CommandOption)}
    names = dict.fromkeys(arg.partition("=")[0] for arg in args)
    for flag in sorted((x for x in names if most_words.get(x, 1) > 1), key=most_words.__getitem__):
        choices = _repetitions(flag, most_words[flag], args)
        args = next((words for words in choices if _names_file(command, context, words)), args)
    return args


def _repetitions(flag: str, most_words: float, args: list[str]) -> Iterator[list[str]]:
    """The words with the option before further words that follow its first value: before most of them first."""
    words = [word for arg in args for word in (arg.split("=", 1) if arg.startswith(f"{flag}=") else [arg])]
    start = words.index(flag) + 2
    further = list(takewhile(lambda word: not word.startswith("-"), words[start:]))
    for count in range(int(min(len(further), most_words - 1)), 0, -1):
        repeated = [x for word in further[:count] for x in (flag, word)]
        yield [*words[:start], *repeated, *words[start + count :]]


def _names_file(command: click.Command, context: click.Context, args: list[str]) -> bool:
    """Whether these words can be parsed, and one of them is FILE."""
    with suppress(click.UsageError):
        values = command.make_parser(context).parse_args(list(args))[0]
        return isinstance(values.get("file"), str) or bool(values.get("files"))
    return False


def write_paragraphs(formatter: click.HelpFormatter, text: str, count: int | None = None) -> None:
    """Write the first `count` paragraphs of a docstring, or all."""
    for paragraph in cleandoc(text).split("\n\n")[:count]:
        formatter.write_paragraph()
        formatter.write_text(paragraph)


def write_rows(
    formatter: click.HelpFormatter, title: str, rows: Iterable[tuple[str, str]], width: int = NAMES_WIDTH
) -> None:
    """Write a group of names and their descriptions, which begin where those of other groups do."""
    with formatter.section(title):
        formatter.write_dl([(name.ljust(width), text) for name, text in rows], col_max=NAMES_WIDTH + 10)


def write_options(
    formatter: click.HelpFormatter, title: str, options: Iterable[click.Option], width: int = NAMES_WIDTH
) -> None:
    """Write a group of options: how they are written, and what they do."""
    rows = [(f"{', '.join(x.opts)}{f' <{x.metavar}>' if x.metavar else ''}", x.help or "") for x in options]
    write_rows(formatter, title, rows, width)


def write_examples(formatter: click.HelpFormatter, lines: Sequence[str]) -> None:
    """Write examples as the last group of a page."""
    with formatter.section("Examples"):
        formatter.write("".join(f"  {line}\n" for line in lines))


class LazyGroup(click.Group):
    """The commands, whose modules are imported when they are called.

    Args:
      summaries: what each does, in a line, by the titles of groups and their names.
    """

    def __init__(self, *args: Any, summaries: Mapping[str, Mapping[str, str]], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.summaries = summaries
        for texts in summaries.values():
            for name, text in texts.items():
                self.add_command(click.Command(name, short_help=text))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the arguments name, imported, and the other arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else self.load_command(name), rest

    def load_command(self, name: str) -> click.Command:
        """The command of this name, imported."""
        return getattr(import_module(f"jaxrate.cli.{name}"), name)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the program does."""
        write_paragraphs(formatter, self.help or "")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in groups, and the options of all."""
        for title, texts in self.summaries.items():
            write_rows(formatter, title, texts.items(), COMMANDS_WIDTH)
        options = [x for x in self.get_params(ctx) if isinstance(x, click.Option)]
        write_options(formatter, "Options", options, COMMANDS_WIDTH)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write where a beginner begins."""
        write_examples(formatter, ("jaxrate rate nfl", "jaxrate rate games.csv", "jaxrate rate --help"))
        formatter.write(f"\nGuides: {GUIDES}\n")


def command(
    *parameters: click.Parameter | str, json: bool = True, usual: Sequence[str] = (), examples: Sequence[str]
) -> Callable[[Callable[..., Output | None]], click.Command]:
    """A command with these parameters. Its function gets them and a `report`, and returns an `Output`, or nothing.

    Args:
      parameters: arguments and options; a text is the title of the group of the options that follow it.
      json: whether the option --json prints the output as JSON.
      usual: the names of the options that --help shows; none: all.
      examples: lines of the shell.
    """
    groups: dict[str, list[CommandOption]] = {}
    title, arguments = "", list[click.Parameter]()
    for x in (*parameters, *("Output", JSON) * json, "Messages", *MESSAGES):
        if isinstance(x, str):
            title = x
        elif isinstance(x, CommandOption):
            groups.setdefault(title, []).append(x)
        else:
            arguments.append(x)

    def decorate(function: Callable[..., Output | None]) -> click.Command:
        @wraps(function)
        def run_command(*, quiet: bool, verbose: bool, as_json: bool = False, **values: Any) -> None:
            given = given_parameters(click.get_current_context())
            for one in given.values():
                if isinstance(one, CommandOption):
                    one.check_combination(given)
            output = function(report=ProgressReport(quiet, verbose), **values)
            if output is not None:
                write_output(output, as_json=as_json, verbose=verbose)

        options = [x for those in groups.values() for x in those]
        text, name = function.__doc__, function.__name__
        return HelpCommand(name, params=[*arguments, *options], callback=run_command, help=text, groups=groups,
                           usual=usual, examples=examples)  # fmt: skip

    return decorate


def write_output(output: Output, *, as_json: bool, verbose: bool) -> None:
    """Print what a command shows; it ends with its exit code."""
    if as_json:
        print_escaped(json.dumps(to_json_values(output.values), indent=1))
    else:
        print_sections(*output.sections, verbose=verbose)
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


def given_parameters(context: click.Context) -> dict[str, click.Parameter]:
    """The parameters that were given, as users write them: --out, or FILE."""
    given = [x for x in context.command.params if x.name and is_on_command_line(x.name)]
    return {("FILE" if isinstance(x, click.Argument) else f"--{_plain_name(x)}"): x for x in given}


def _plain_name(parameter: click.Parameter) -> str:
    """The name of an option without dashes, as "top" or "quiet"."""
    return parameter.opts[-1].removeprefix("--")


def check_no_other_options(allowed: Iterable[str], what: str) -> None:
    """ValueError if an option other than these was given; `what` it cannot be combined with."""
    for name in given_parameters(click.get_current_context()):
        if name.lstrip("-") not in ("FILE", "json", "quiet", "verbose", *allowed):
            raise ValueError(f"{name} cannot be combined with {what}")
