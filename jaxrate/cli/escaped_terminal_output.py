"""Output to the terminal, all of it with control characters escaped: no name in a file can command the terminal."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import Any

import click

from jaxrate.core.text_format import escape_control_characters

LEVEL_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def print_escaped(text: Any, err: bool = False) -> None:
    """Print a text, its control characters escaped, on standard output or `err`, standard error."""
    click.echo(escape_control_characters(str(text)), err=err)


def print_message(level: str, text: str) -> None:
    """Print an error, a warning or a note on standard error, between words where a terminal is too narrow for it.

    A terminal with colours says the level, and any other output the name of the program.
    """
    colour = LEVEL_COLOURS[level] if _has_colours() else None
    message = escape_control_characters(f"{level if colour else 'jaxrate'}: {text}")
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        wrapped = (
            textwrap.fill(line.strip(), width, initial_indent="  " * (number > 0), subsequent_indent="  ",
                          break_long_words=False, break_on_hyphens=False)
            for number, line in enumerate(message.split("\n"))
        )  # fmt: skip
        message = "\n".join(wrapped)
    if colour:
        message = message.replace(f"{level}:", click.style(f"{level}:", colour, bold=True), 1)
    click.echo(message, err=True, color=bool(colour) or None)


def _has_colours() -> bool:
    """Whether standard error shows colours: a terminal that has them, or where FORCE_COLOR asks for them."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (
        sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    )
