"""What every command has: options in groups, pages of help, and output as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from glob import iglob
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.option_names import name_options
from jaxrate.cli.options import SHIPPED_DATASET, CommandOption, option
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
    """A command whose --help has its usual options, or all if none are named; --help-all has all of them, in groups."""

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
        most_words = {x.opts[0]: x.most_words for x in self.params if isinstance(x, CommandOption)}
        return super().parse_args(ctx, expand_multi_value_options(args, most_words))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command with a `report`, and print its output; errors of the library name its options."""
        given = given_parameters(ctx)
        for one in given.values():
            if isinstance(one, CommandOption):
                one.check_combination(given)
        verbose, as_json = ctx.params.pop("verbose"), ctx.params.pop("as_json", False)
        report = ProgressReport(ctx.params.pop("quiet"), verbose)
        try:
            output = ctx.invoke(self.callback, report=report, **ctx.params)  # type: ignore[arg-type]
        except ValueError as error:
            raise ValueError(name_options(str(error), self)) from error
        if output is not None:
            write_output(output, as_json=as_json, verbose=verbose)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, with --help its first paragraph alone."""
        write_paragraphs(formatter, self.help or "", None if self._shows_all(ctx) else 1)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usual options, or the groups of all with the names that some take."""
        if not self._shows_all(ctx):
            by_name = {_plain_name(x): x for options in self.groups.values() for x in options}
            write_options(formatter, "Options", [*map(by_name.__getitem__, self.usual), ALL_OPTIONS])
            return
        for title, options in self.groups.items():
            write_options(formatter, title, options)
        for one in self.params:
            if names := getattr(one, "named", {}).items():
                rows = [(f"{name}={x.metavar}", x.help or "") for name, x in names]
                write_rows(formatter, f"Names of {one.opts[0]}", rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, with --help the first one."""
        write_examples(formatter, self.examples if self._shows_all(ctx) else self.examples[:1])

    def _shows_all(self, ctx: click.Context) -> bool:
        return ctx.meta.get(ALL_HELP, False) or not self.usual


def expand_multi_value_options(words: Iterable[str], most_words: Mapping[str, float]) -> list[str]:
    """The words with an option before each of its values, which end before the next option or name of a file."""
    repeated, flag, left, is_further = list[str](), "", 0.0, False
    for word in words:
        if word.startswith("-"):
            flag, equals, _ = word.partition("=")
            left, is_further = most_words.get(flag, 1) - len(equals), bool(equals)
        elif left < 1 or (is_further and _names_file(word)):
            left = 0
        else:
            repeated += [flag] * is_further
            left, is_further = left - 1, True
        repeated.append(word)
    return repeated


def _names_file(word: str) -> bool:
    """Whether a word names a file, perhaps a misspelt one, a sheet, a folder, a pattern or the shipped dataset."""
    is_known = word == SHIPPED_DATASET or lazy.has_readable_suffix(word) or ("*" in word and "/" in word)
    return is_known or any(iglob(word)) or Path(word).exists() or Path(word.rpartition("#")[0]).is_file()


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
    """The commands, whose modules are imported when they are called; `summaries` say what each does, in groups."""

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
    """A command with these parameters, of which a text is the title of the group of the options that follow it.

    Its function gets them and a `report`, and returns an `Output`, or nothing. `usual` options are those of --help.
    """
    groups: dict[str, list[CommandOption]] = {}
    arguments: list[Any] = []
    group = arguments
    for x in (*parameters, *("Output", JSON) * json, "Messages", *MESSAGES):
        if isinstance(x, str):
            group = groups.setdefault(x, [])
        else:
            group.append(x)
    params = [*arguments, *(x for options in groups.values() for x in options)]

    def decorate(function: Callable[..., Output | None]) -> click.Command:
        return HelpCommand(function.__name__, params=params, callback=function, help=function.__doc__, groups=groups,
                           usual=usual, examples=examples)  # fmt: skip

    return decorate


def write_output(output: Output, *, as_json: bool, verbose: bool) -> None:
    """Print the output of a command, in JSON or as text, and exit with its exit code unless that is 0."""
    if as_json:
        print_escaped(format_json(output.values))
    else:
        print_sections(*output.sections, verbose=verbose)
    if output.exit_code:
        click.get_current_context().exit(output.exit_code)


def format_json(values: Any) -> str:
    """JSON of values, with arrays as lists, and null for numbers that are not finite."""
    text = json.dumps(values, default=lambda x: x.tolist())
    return json.dumps(json.loads(text, parse_constant=lambda name: None), indent=1)


def is_on_command_line(name: str) -> bool:
    """Whether the parameter of this name was given, and is not the default."""
    return click.get_current_context().get_parameter_source(name) == ParameterSource.COMMANDLINE


def given_parameters(context: click.Context) -> dict[str, click.Parameter]:
    """The parameters that were given, as users write them: --out, or FILE."""
    given = [x for x in context.command.params if is_on_command_line(str(x.name))]
    return {("FILE" if isinstance(x, click.Argument) else f"--{_plain_name(x)}"): x for x in given}


def _plain_name(parameter: click.Parameter) -> str:
    """The name of an option without dashes, as "top" or "quiet"."""
    return parameter.opts[-1].removeprefix("--")


def check_no_other_options(allowed: Iterable[str], way: str) -> None:
    """ValueError if an option other than these was given; `way` is what it cannot be combined with."""
    for name in given_parameters(click.get_current_context()):
        if name.lstrip("-") not in ("FILE", "json", "quiet", "verbose", *allowed):
            raise ValueError(f"{name} cannot be combined with {way}")
