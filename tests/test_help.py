"""The pages of --help: every option in a group, every command with examples, plain words."""

import re
import shlex
from pathlib import Path

import click
import pytest

from jaxrate.cli import cli
from jaxrate.core.text_format import display_width

COMMANDS = {name: cli.load_command(name) for name in cli.commands}
DIALECT = r"\b(so many|so often|are told|is told|sooner|how good|whoever|known now|stands? (for|apart)|a row per)\b"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_a_group_of_its_own(name):
    """57 options stood in one list."""
    command = COMMANDS[name]
    grouped = [option for panel in command.panels for option in panel.options]
    options = {f"--{flag[2:]}" for x in command.params for flag in x.opts if flag.startswith("--")} | {"--help"}
    assert sorted(grouped) == sorted(options)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_that_it_would_take(name):
    examples = COMMANDS[name].examples
    assert examples and all(len(line) <= 76 for line in examples)
    for line in examples:
        words = shlex.split(line)
        if words[:1] == ["jaxrate"]:
            command = COMMANDS[words[1]]
            command.make_parser(command.make_context("x", [], resilient_parsing=True)).parse_args(words[2:])
    assert any(line.startswith(f"jaxrate {name}") for line in examples)


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help_is_plain_text_of_80_columns_in_a_pipe(jaxrate, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    code, text, errors = jaxrate(*filter(None, [name]), "--help")
    assert code == 0 and errors == "" and text.startswith("Usage: jaxrate") and "\x1b" not in text
    text, _, guide = text.partition("\nGuides: ")
    assert Path(guide.strip()).is_file() == (name is None)
    assert max(map(display_width, text.splitlines())) <= 80 and "\nExamples:\n  jaxrate " in text
    words = " ".join(text.split())
    assert not re.findall(DIALECT, words, re.IGNORECASE)
    options = [x for x in getattr(COMMANDS.get(name), "params", []) if isinstance(x, click.Option)]
    assert all(x.help and x.help[0].isupper() and "." in x.help for x in options)
