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

from jaxrate.data.column_role_definitions import COLUMN_ROLES, LISTED_ROLES

TEXT = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
ARGUMENT = re.compile(rf"(?<![\w-])([a-z][a-z_]*)=(True|{TEXT}|\d+(?:\.\d+)?|\[(?:{TEXT}(?:, )?)+\])")
ARGUMENTS = re.compile(rf"{ARGUMENT.pattern}(?:(?:,| and|, and) {ARGUMENT.pattern})*")
OTHER_ARGUMENTS = (  # in hints, beside roles of columns
    *("mixtures", "dates", "na_values", "unfinished", "sort", "skip_incomplete", "normalise_names"),
    *("newcomers", "results", "at", "upcoming", "free"),
)
WORDS_OF_OPTIONS = {  # what stands in messages for options that are no arguments
    "on_faulty='skip'": "skip_incomplete=True",
    "jr.data.unify_names(data)": "normalise_names=True",
}
SUBJECT = re.compile(r"^((?:[^:\n]*\.\w+: )?(?:\w+: )?)([a-z_]+)(?= (?:must|needs?|takes?) )")
QUOTED = re.compile(r"`([a-z_]+)`")
ALIASES = {"num_players": "players", "num_matches": "matches", "num_rounds": "rounds"}
CLAUSE_END = re.compile(r"\)?(?: \(there are: [^\n]*\))?$")
LACKING = "\0"  # in place of a hint for which the command has no option


def options_by_argument(command: click.Command | None) -> dict[str, click.Parameter]:
    """The options of a command, by the arguments of the library that they give; arguments have no dashes.

    Those that another option takes as NAME=VALUE are called as "--column weight".
    """
    parameters = [] if command is None else command.params
    named = [x for parameter in parameters for x in getattr(parameter, "named", {}).values()]
    return {x.opts[0].rpartition(" ")[2].lstrip("-").replace("-", "_"): x for x in (*reversed(named), *parameters)}


def name_options(message: str, command: click.Command | None) -> str:
    """A message of the library with options of the command in place of arguments."""
    options = options_by_argument(command)
    for words, argument in WORDS_OF_OPTIONS.items():
        message = message.replace(words, argument)
    lines = message.split("\n")
    return "\n".join(_name_options_of_line(line, options) for line in lines)


def _name_options_of_line(line: str, options: Mapping[str, click.Parameter]) -> str:
    def name(argument: str) -> str:
        option = options.get(ALIASES.get(argument, argument))
        return option.opts[0] if isinstance(option, click.Option) else ""

    line = SUBJECT.sub(lambda match: match[1] + (name(match[2]) or match[2]), line)
    line = QUOTED.sub(lambda match: name(match[1]) or match[0], line)
    subject = line.partition("; ")[0]
    clauses = ARGUMENTS.sub(lambda hint: _name_options_of_hint(hint[0], options), line).split("; ")
    shown = subject if LACKING in clauses[0] else clauses[0]
    for clause in clauses[1:]:
        shown += CLAUSE_END.findall(clause)[0] if LACKING in clause else f"; {clause}"
    return shown


def _name_options_of_hint(hint: str, options: Mapping[str, click.Parameter]) -> str:
    """The words of a command line for arguments and their values; the hint itself if these are of something else."""
    words: list[str] = []
    for name, text in ARGUMENT.findall(hint):
        is_number, value = text[0].isdigit(), literal_eval(text)
        roles = {*COLUMN_ROLES, *OTHER_ARGUMENTS}
        if name not in ({*options} - roles if is_number else {*options} | roles):
            return hint
        is_time = name == "time" and isinstance(value, str) and value[:1].isdigit()
        option = options.get("at" if is_time else name)
        if option is None or (value is True) != getattr(option, "is_flag", False):  # a flag takes the truth alone
            return LACKING
        words += _option_words(name, option, text if is_number else value)
    return " ".join(words)


def _option_words(name: str, option: click.Parameter, value: Any) -> list[str]:
    """The words of an option on a command line, before each of its values; one that begins as an option is joined."""
    flag, _, key = option.opts[0].partition(" ")
    if value is True:
        return [flag, f"{key}=yes"] if key else [flag]
    values = value if isinstance(value, list) else [value]
    if name in LISTED_ROLES and values is value:
        values = [",".join(values) + "," * (len(values) == 1)]
    texts = [f"{key}={x}" if key else x for x in values]
    words = [[f"{flag}={shlex.quote(x)}"] if x.startswith("-") else [flag, shlex.quote(x)] for x in texts]
    return [word for pair in words for word in pair]
