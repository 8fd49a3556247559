"""Output to the terminal, all of it with control characters escaped: no name in a file can command the terminal."""

from __future__ import annotations

from typing import Any

import click

from jaxrate.text_format import escape_control_characters


def print_escaped(text: Any, err: bool = False) -> None:
    """Print a text, its control characters escaped, on standard output or `err`, standard error."""
    click.echo(escape_control_characters(str(text)), err=err)
