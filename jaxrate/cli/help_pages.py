"""The pages of --help: options in groups, and examples. rich-click draws them, and loads Rich for that alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import click
from rich_click import RichCommand, RichGroup
from rich_click.rich_panel import RichCommandPanel, RichOptionPanel

from jaxrate.cli.option_names import name_options

HELP_STYLE = {
    "theme": "default-slim",  # without boxes: a pipe gets the same text
    "max_width": 110,
    "force_terminal": None,  # colour is Rich's own decision
    "text_markup": None,
    "text_paragraph_linebreaks": "\n\n",
    "options_table_help_sections": ["help", "required", "default"],
    "style_helptext": "",
    "style_options_panel_border": "",
    "style_commands_panel_border": "",
    "style_options_panel_title_style": "bold",
    "style_commands_panel_title_style": "bold",
    "padding_helptext_first_line": (0, 0, 1, 0),
    "commands_before_options": True,
    "default_string": r" \[default: {}]",
}
ALL_HELP = "jaxrate.help_all"  # in the notes of a context: whether --help-all was given
NAMES_WIDTH, COLUMN_GAP = 30, 2  # of options and their values, before their descriptions
COMMANDS_WIDTH = 14  # of the names of commands, and of the options that need none
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


class AlignedOptionPanel(RichOptionPanel):
    """A group of options, whose descriptions start where those of the other groups do."""

    def get_table(self, command: Any, ctx: Any, formatter: Any) -> Any:
        """The options as a table."""
        from rich.cells import cell_len

        table = super().get_table(command, ctx, formatter)
        widths = [max(cell_len(str(cell)) for cell in column.cells) for column in table.columns[:-1]]
        if widths:
            before = sum(width + COLUMN_GAP for width in widths[:-1])
            table.columns[-2].min_width = max(NAMES_WIDTH - before, widths[-1])
        return table


class AlignedCommandPanel(RichCommandPanel):
    """A group of commands, whose descriptions start where those of the other groups and of the options do."""

    def get_table(self, command: Any, ctx: Any, formatter: Any) -> Any:
        """The commands as a table."""
        table = super().get_table(command, ctx, formatter)
        table.columns[0].min_width = COMMANDS_WIDTH
        return table


class HelpCommand(RichCommand):
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
        self.panels = _option_panels(self.params, groups or {})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line, of which some options take several."""
        return super().parse_args(ctx, _repeat_options_of_several_words(self, ctx, args))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors of the library name its options."""
        try:
            return super().invoke(ctx)
        except ValueError as error:
            raise ValueError(name_options(str(error), self)) from error

    def format_help_text(self, ctx: click.Context, formatter: Any) -> None:
        """Write what the command does, with --help its first paragraph alone."""
        paragraphs = [" ".join(text.split()) for text in (self.help or "").split("\n\n")]
        shown = paragraphs if self._shows_all(ctx) else paragraphs[:1]
        formatter.write("\n\n".join(shown) + "\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the usual options, or the groups of all with the names that some take."""
        usual = [AlignedOptionPanel("Options", [f"--{name}" for name in (*self.usual, "help-all")])]
        for panel in self.panels if self._shows_all(ctx) else usual:
            formatter.write(panel.render(self, ctx, formatter))
        for parameter in self.params if self._shows_all(ctx) else ():
            if values := getattr(parameter, "values", None):
                write_named_values(formatter, parameter.opts[0], values)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, with --help the first two."""
        write_examples(formatter, self.examples if self._shows_all(ctx) else self.examples[:2])

    def _shows_all(self, ctx: click.Context) -> bool:
        return ctx.meta.get(ALL_HELP, False) or not self.usual


def _repeat_options_of_several_words(command: click.Command, context: click.Context, args: list[str]) -> list[str]:
    """The words with an option before each of its values, as long as another word is left for FILE.

    The first such option on the line takes as many words as it can, then the others.
    """
    most_words: dict[str, float] = {x.opts[0]: getattr(x, "most_words", 1) for x in command.params}
    for option in dict.fromkeys(arg.partition("=")[0] for arg in args):
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


def write_named_values(formatter: Any, option: str, values: Mapping[str, Any]) -> None:
    """Write the names that an option takes, as a group of a page."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, COLUMN_GAP, 0, 0))
    table.add_column(min_width=NAMES_WIDTH + COLUMN_GAP)
    for name, value in values.items():
        table.add_row(Text(f"  {name}={value.metavar or 'yes'}", formatter.config.style_option), Text(value.text))
    formatter.write(Text(f"Names of {option}:", formatter.config.style_options_panel_title_style))
    formatter.write(table)
    formatter.write("")


class LazyGroup(RichGroup):
    """The commands, by name and in a line; their modules are imported when they are called."""

    def __init__(self, *args: Any, summaries: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        for name, text in summaries.items():
            self.add_command(click.Command(name, short_help=text))
        self.panels = [AlignedCommandPanel(name, list(members)) for name, members in COMMAND_GROUPS.items()]

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the arguments name, imported, and the other arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else self.load_command(name), rest

    def load_command(self, name: str) -> click.Command:
        """The command of this name, imported."""
        return getattr(import_module(f"jaxrate.cli.{name}"), name)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write where a beginner begins."""
        write_examples(formatter, ("jaxrate rate nfl", "jaxrate rate games.csv", "jaxrate rate --help"))
        formatter.write(f"\nGuides: {FIRST_GUIDE}")


def write_examples(formatter: Any, lines: Sequence[str]) -> None:
    """Write examples as the last group of a page; lines that do not begin with a command stand as they are."""
    from rich.text import Text

    text = Text().append("Examples:\n", formatter.config.style_options_panel_title_style)
    for line in lines:
        program, blank, arguments = line.partition(" ")
        text.append(f"  {program}{blank}", formatter.config.style_usage_command if program == "jaxrate" else "")
        text.append(f"{arguments}\n", "")
    text.rstrip()
    formatter.write(text)


def _option_panels(parameters: Sequence[click.Parameter], own_groups: Mapping[str, Sequence[str]]) -> list[Any]:
    """The groups in order, those of the command before its output; none is empty."""
    own = {*chain.from_iterable(own_groups.values())}
    present = {option.removeprefix("--") for parameter in parameters for option in parameter.opts} | {"help"}
    titles = [*OPTION_GROUPS]
    place = titles.index("Output")
    groups: dict[str, Sequence[str]] = {}
    groups |= {title: [x for x in members if x not in own] for title, members in OPTION_GROUPS.items()}
    groups |= own_groups
    ordered = dict.fromkeys([*titles[:place], *own_groups, *titles[place:]])
    options = {title: [f"--{name}" for name in groups[title] if name in present] for title in ordered}
    return [AlignedOptionPanel(title, names) for title, names in options.items() if names]
