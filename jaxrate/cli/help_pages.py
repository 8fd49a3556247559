"""The pages of --help: options in groups, and examples. rich-click draws them, and loads Rich for that alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import chain
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
NAMES_WIDTH, COLUMN_GAP = 30, 2  # of options and their values, before their descriptions
COMMANDS_WIDTH = 14  # of the names of commands, and of the options that need none
FIRST_GUIDE = Path(__file__).parent.parent / "guides" / "start.md"
OPTION_GROUPS: dict[str, Sequence[str]] = {
    "Input": (
        *("format", "a", "b", "score", "winner", "loser", "time", "dates", "sort", "drop", "na-values"),
        *("skip-incomplete", "normalise-names", "first", "names"),
    ),
    "Columns that improve predictions": (
        *("plain", "side", "neutral", "margin", "season", "league-season", "category", "mixtures", "weight"),
        *("statistics", "shares", "expected-goals", "covariates", "rest", "form", "age", "columns"),
    ),
    "Columns of contests": ("contest", "participant", "rank", "unfinished", "team", "last-rank", "ceiling", "noise"),
    "System": ("system", "param", "params", "period", "outlook", "no-calibrate", "smooth", "dry-run"),
    "Saved runs": ("state", "as-of"),
    "Leaderboard": ("top", "active", "min-games", "cautious", "since", "peaks", "ranking-category"),
    "Players and matches": ("player", "all-matches", "against", "upsets"),
    "Large files and several leagues": ("chunk", "brief", "resume", "by"),
    "Output": ("out", "csv", "csv-safe", "last", "save", "report", "title", "json"),
    "Messages": ("quiet", "verbose", "help"),
}
COMMAND_GROUPS = {
    "Rate": ("rate", "compare", "benchmark", "fit", "arena", "systems"),
    "Forecast": ("predict", "season"),
    "Publish": ("report", "site"),
    "Try it": ("demo", "simulate"),
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
    """A command whose help has `groups` of options of its own beside `OPTION_GROUPS`, and `examples`."""

    def __init__(
        self, *args: Any, groups: Mapping[str, Sequence[str]] | None = None, examples: Sequence[str], **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.examples = examples
        self.panels = _option_panels(self.params, groups or {})

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors of the library name its options."""
        try:
            return super().invoke(ctx)
        except ValueError as error:
            raise ValueError(name_options(str(error), self)) from error

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        write_examples(formatter, self.examples)


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
        write_examples(formatter, ("jaxrate demo", "jaxrate rate games.csv", "jaxrate rate --help"))
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
