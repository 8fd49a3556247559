"""The pages of --help: the usual options, or all in groups, and examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from inspect import cleandoc
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import click

from jaxrate.cli.option_names import name_options

HELP_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
ALL_HELP = "jaxrate.help_all"  # in the notes of a context: whether --help-all was given
NAMES_WIDTH = 26  # of options and their values, before their descriptions
COMMANDS_WIDTH = 12  # of the names of commands, and of the options that need none
FIRST_GUIDE = Path(__file__).parent.parent / "guides" / "start.md"
OPTION_GROUPS: dict[str, Sequence[str]] = {
    "Input": (
        *("format", "a", "b", "score", "winner", "loser", "time", "sort", "na-values", "skip-incomplete", "first"),
        *("contest", "participant", "rank", "team", "names"),
    ),
    "Columns that improve predictions": ("plain", "side", "margin", "season", "category", "column"),
    "System": ("system", "param", "period", "outlook", "no-calibrate"),
    "Saved runs": ("state", "as-of"),
    "Leaderboard and history": ("top", "list", "player", "show"),
    "Large files and several leagues": ("dry-run", "by", "chunk", "brief"),
    "Output": ("out", "csv", "last", "save", "report", "title", "json"),
    "Messages": ("quiet", "verbose", "help", "help-all"),
}
COMMAND_GROUPS = {
    "Rate": ("rate", "compare", "benchmark", "fit", "arena", "systems"),
    "Forecast": ("predict", "season"),
    "Publish": ("report", "site"),
    "Try it": ("simulate",),
}


class HelpCommand(click.Command):
    """A command whose --help has its usual options, and whose --help-all has all of them, in groups.

    Args:
      groups: titles and names of its own groups of options, beside `OPTION_GROUPS`.
      usual: the names of the options that --help shows; none: all.
      examples: lines of the shell.
    """

    def __init__(
        self,
        *args: Any,
        groups: Mapping[str, Sequence[str]] | None = None,
        usual: Sequence[str] = (),
        examples: Sequence[str],
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.examples, self.usual = examples, usual
        self.groups = _group_options(self.params, groups or {})

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
        shows_all = self._shows_all(ctx)
        rows = {name: row for x in self.get_params(ctx) for name, row in _option_rows(x)}
        for title, names in (self.groups if shows_all else {"Options": [*self.usual, "help-all"]}).items():
            write_rows(formatter, title, [rows[name] for name in names])
        for parameter in self.params if shows_all else ():
            if values := getattr(parameter, "values", None):
                named = [(f"{name}={value.metavar or 'yes'}", value.text) for name, value in values.items()]
                write_rows(formatter, f"Names of {parameter.opts[0]}", named)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, with --help the first one."""
        write_examples(formatter, self.examples if self._shows_all(ctx) else self.examples[:1])

    def _shows_all(self, ctx: click.Context) -> bool:
        return ctx.meta.get(ALL_HELP, False) or not self.usual


def _repeat_options_of_several_words(command: click.Command, context: click.Context, args: list[str]) -> list[str]:
    """The words with an option before each of its values, as long as another word is left for FILE.

    Options of two words come before those of any number, and of these the first one on the line takes what it can.
    """
    most_words: dict[str, float] = {x.opts[0]: getattr(x, "most_words", 1) for x in command.params}
    names = dict.fromkeys(arg.partition("=")[0] for arg in args)
    for option in sorted(names, key=lambda name: most_words.get(name, 1)):
        if most_words.get(option, 1) > 1:
            choices = _repetitions(option, most_words[option], args)
            args = next((words for words in choices if _names_file(command, context, words)), args)
    return args


def _repetitions(option: str, most_words: float, args: list[str]) -> Iterator[list[str]]:
    """The words with the option before further words that follow its first value: before most of them first."""
    words = [word for arg in args for word in (arg.split("=", 1) if arg.startswith(f"{option}=") else [arg])]
    start = words.index(option) + 2
    further = list(takewhile(lambda word: not word.startswith("-"), words[start:]))
    for count in range(int(min(len(further), most_words - 1)), 0, -1):
        repeated = [x for word in further[:count] for x in (option, word)]
        yield [*words[:start], *repeated, *words[start + count :]]


def _names_file(command: click.Command, context: click.Context, args: list[str]) -> bool:
    """Whether these words can be parsed, and one of them is FILE."""
    with suppress(click.UsageError):
        values = command.make_parser(context).parse_args(list(args))[0]
        return isinstance(values.get("file"), str) or bool(values.get("files"))
    return False


def _option_rows(parameter: click.Parameter) -> Iterator[tuple[str, tuple[str, str]]]:
    """The name of an option, and how it is written and what it does."""
    if isinstance(parameter, click.Option):
        value = f" <{parameter.metavar}>" if parameter.metavar else ""
        yield parameter.opts[-1].removeprefix("--"), (f"{', '.join(parameter.opts)}{value}", parameter.help or "")


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


class LazyGroup(click.Group):
    """The commands, by name and in a line; their modules are imported when they are called."""

    def __init__(self, *args: Any, summaries: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        for name, text in summaries.items():
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
        for title, names in COMMAND_GROUPS.items():
            rows = [(name, self.commands[name].get_short_help_str(limit=100)) for name in names]
            write_rows(formatter, title, rows, COMMANDS_WIDTH)
        options = [row for x in self.get_params(ctx) for _, row in _option_rows(x)]
        write_rows(formatter, "Options", options, COMMANDS_WIDTH)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write where a beginner begins."""
        write_examples(formatter, ("jaxrate rate nfl", "jaxrate rate games.csv", "jaxrate rate --help"))
        formatter.write(f"\nGuides: {FIRST_GUIDE}\n")


def write_examples(formatter: click.HelpFormatter, lines: Sequence[str]) -> None:
    """Write examples as the last group of a page."""
    with formatter.section("Examples"):
        formatter.write("".join(f"  {line}\n" for line in lines))


def _group_options(
    parameters: Sequence[click.Parameter], own_groups: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """The names of options by the titles of their groups, those of the command before its output; none is empty."""
    own = {*chain.from_iterable(own_groups.values())}
    present = {option.removeprefix("--") for parameter in parameters for option in parameter.opts} | {"help"}
    groups: dict[str, list[str]] = {}
    for title, members in OPTION_GROUPS.items():
        groups |= {name: [*names] for name, names in own_groups.items() if title == "Output"}
        groups.setdefault(title, [name for name in members if name in present - own])
    return {title: names for title, names in groups.items() if names}
