"""Output to the terminal, all of it with control characters escaped: no name in a file can command the terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import Any

import click

from jaxrate.text_format import escape_control_characters


def print_escaped(text: Any, err: bool = False) -> None:
    """Print a text, its control characters escaped, on standard output or `err`, standard error."""
    click.echo(escape_control_characters(str(text)), err=err)


def print_note(text: str) -> None:
    """Print a note on standard error, between words where a terminal is too narrow for it."""
    note = f"jaxrate: {text}"
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        note = textwrap.fill(note, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    print_escaped(note, err=True)
