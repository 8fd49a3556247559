"""Options of the command line in messages of the library, which name the arguments of functions.

A hint of the library names an argument and its value as Python writes them, as in `side='a'`, in a clause of its own
behind a semicolon. A command prints its own option, in words that a shell takes. If it has none, it leaves the clause
out. An error that begins with an argument, as "last must be at most 1", begins with its option.
"""

from __future__ import annotations

import re
import shlex
from ast import literal_eval
from collections.abc import Mapping
from typing import Any

import click

from jaxrate.data.column_role_definitions import COLUMN_ROLES

TEXT = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
ARGUMENT = re.compile(rf"(?<![\w-])([a-z][a-z_]*)=(True|{TEXT}|\d+(?:\.\d+)?|\[(?:{TEXT}(?:, )?)+\])")
ARGUMENTS = re.compile(rf"{ARGUMENT.pattern}(?:(?:,| and|, and) {ARGUMENT.pattern})*")
ROLES = {  # arguments of functions that read, in hints for commands that may have no such option
    *COLUMN_ROLES,
    *("mixtures", "dates", "na_values", "unfinished", "sort", "skip_incomplete", "normalise_names"),
    *("newcomers", "results", "at", "upcoming", "free"),
}
WORDS_OF_OPTIONS = {  # what stands in messages for options that are no arguments
    "on_faulty='skip'": "skip_incomplete=True",
    "jr.data.unify_names(data)": "normalise_names=True",
    "time='1": "at='1",
    "time='2": "at='2",
}
SUBJECT = re.compile(r"^((?:[^:\n]*\.\w+: )?(?:\w+: )?)([a-z_]+)(?= (?:must|needs?|takes?) )", re.MULTILINE)
QUOTED = re.compile(r"`([a-z_]+)`")
ALIASES = {"num_players": "players", "num_matches": "matches", "num_rounds": "rounds"}
LACKING = "\0"  # before a hint for which the command has no option
LACKING_CLAUSE = re.compile(
    rf"; [^;\n{LACKING}]*{LACKING}[^;\n]*?(\)?(?: \(there are: [^\n]*\))?)(?=; |$)", re.MULTILINE
)


def options_by_argument(command: click.Command | None) -> dict[str, click.Parameter]:
    """The options of a command, by the arguments of the library that they give; arguments have no dashes."""
    parameters = [] if command is None else command.params
    named = [x for parameter in parameters for x in getattr(parameter, "named", {}).values()]
    return {x.opts[0].rpartition(" ")[2].lstrip("-").replace("-", "_"): x for x in (*reversed(named), *parameters)}


def name_options(message: str, command: click.Command | None) -> str:
    """A message of the library with options of the command in place of arguments."""
    options = options_by_argument(command)
    for words, argument in WORDS_OF_OPTIONS.items():
        message = re.sub(rf"(?<!\w){re.escape(words)}", argument, message)
    message = SUBJECT.sub(lambda match: match[1] + _option_name(match[2], options, match[2]), message)
    message = QUOTED.sub(lambda match: _option_name(match[1], options, match[0]), message)
    message = ARGUMENTS.sub(lambda match: _name_options_of_hint(match[0], options), message)
    return LACKING_CLAUSE.sub(r"\1", message).replace(LACKING, "")


def _option_name(argument: str, options: Mapping[str, click.Parameter], text: str) -> str:
    """The name of the option of an argument; this text if the command has none."""
    option = options.get(ALIASES.get(argument, argument))
    return option.opts[0] if isinstance(option, click.Option) else text


def _name_options_of_hint(hint: str, options: Mapping[str, click.Parameter]) -> str:
    """The words of a command line for arguments and their values; the hint itself if these are of something else."""
    words: list[str] = []
    for name, text in ARGUMENT.findall(hint):
        if name not in ({*options} - ROLES if text[0].isdigit() else {*options, *ROLES}):
            return hint
        value = literal_eval(text)
        if getattr(options.get(name), "is_flag", None) != (value is True):  # there is none, or it is of something else
            return LACKING + hint
        words.append(_option_words(options[name], value))
    return " ".join(words)


def _option_words(option: Any, value: Any) -> str:
    """The words of an option on a command line, before each of its values; one that begins as an option is joined."""
    flag, _, key = option.opts[0].partition(" ")
    if value is True:
        return f"{flag} {key}=yes".removesuffix(" =yes")
    values = value if isinstance(value, list) else [str(value)]
    if values is value and not option.multiple:  # as columns of the players of a team
        values = [",".join(values) + "," * (len(values) == 1)]
    texts = [f"{key}={x}".removeprefix("=") for x in values]
    return " ".join(f"{flag}{'=' if x.startswith('-') else ' '}{shlex.quote(x)}" for x in texts)
