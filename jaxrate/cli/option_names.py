"""Options of the command line in messages of the library, which name the arguments of functions.

A hint of the library names an argument and its value as Python writes them, as in `side='a'`, in a clause of its own
behind a semicolon. A command prints its own option, in words that a shell takes. If it has none, it leaves the clause
out. An error that begins with an argument, as "last must be at most 1", begins with its option.
"""

from __future__ import annotations

import re
import shlex
from ast import literal_eval
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import click

from jaxrate.core.text_format import format_number

TEXT = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
ARGUMENT = re.compile(rf"(?<![\w-])([a-z][a-z_]*)=(True|{TEXT}|\d+(?:\.\d+)?|\[(?:{TEXT}(?:, )?)+\])")
ARGUMENTS = re.compile(rf"{ARGUMENT.pattern}(?:(?:,| and|, and) {ARGUMENT.pattern})*")
OTHER_ARGUMENTS = (  # in hints, beside roles of columns
    *("mixtures", "dates", "na_values", "unfinished", "sort", "skip_incomplete", "normalise_names"),
    *("newcomers", "results", "at", "upcoming", "free", "resume"),
)
WORDS_OF_OPTIONS = {  # what stands in messages for options that are no arguments
    "on_faulty='skip'": "skip_incomplete=True",
    "jr.data.unify_names(data)": "normalise_names=True",
}
SUBJECT = re.compile(r"^((?:[^:\n]*\.\w+: )?)([a-z_]+)(?= (?:must|needs?|takes?) )")  # of a message, or after a file
QUOTED = re.compile(r"`([a-z_]+)`")
ALIASES = {"num_players": "players", "num_matches": "matches", "num_rounds": "rounds"}
CLAUSE_END = re.compile(r"\)?(?: \(there are: [^\n]*\))?$")


class _LackingOptionError(Exception):
    """A hint names an argument for which the command has no option."""


def name_options(message: str, command: click.Command | None) -> str:
    """A message of the library with options of the command in place of arguments."""
    options = {} if command is None else {_argument_name(x): x for x in command.params for _ in x.opts[:1]}
    for words, argument in WORDS_OF_OPTIONS.items():
        message = message.replace(words, argument)
    lines = message.split("\n")
    return "\n".join(_name_options_of_line(line, options) for line in lines)


def _name_options_of_line(line: str, options: Mapping[str, click.Parameter]) -> str:
    def name(argument: str) -> str:
        option = options.get(ALIASES.get(argument, argument))
        return option.opts[0] if option is not None and option.opts[0].startswith("--") else ""

    line = SUBJECT.sub(lambda match: match[1] + (name(match[2]) or match[2]), line)
    line = QUOTED.sub(lambda match: name(match[1]) or match[0], line)
    subject, *clauses = line.split("; ")
    shown = [_name_options_of_clause(subject, options) or subject]
    for clause in clauses:
        named = _name_options_of_clause(clause, options)
        if named is None:
            end = CLAUSE_END.search(clause)
            shown[-1] += end[0] if end else ""
        else:
            shown.append(named)
    return "; ".join(shown)


def _name_options_of_clause(clause: str, options: Mapping[str, click.Parameter]) -> str | None:
    """The clause with options in place of arguments; None if the command lacks one."""
    try:
        return ARGUMENTS.sub(lambda hint: _name_options_of_hint(hint[0], options), clause)
    except _LackingOptionError:
        return None


def _name_options_of_hint(hint: str, options: Mapping[str, click.Parameter]) -> str:
    """The words of a command line for arguments and their values; the hint itself if these are of something else."""
    from jaxrate.data.column_role_definitions import COLUMN_ROLES

    words: list[str] = []
    for name, text in ARGUMENT.findall(hint):
        value = literal_eval(text)
        roles = {*COLUMN_ROLES, *OTHER_ARGUMENTS}
        if name not in ({*options} - roles if text[0].isdigit() else {*options} | roles):
            return hint
        is_time = name == "time" and isinstance(value, str) and value[:1].isdigit()
        parameter = options.get("at" if is_time else name)
        if parameter is None or (value is True) != getattr(parameter, "is_flag", False):
            raise _LackingOptionError
        words += _option_words(name, parameter, text if text[0].isdigit() else value)
    return " ".join(words)


def _argument_name(parameter: click.Parameter) -> str:
    return parameter.opts[0].lstrip("-").replace("-", "_")


def _option_words(name: str, parameter: click.Parameter, value: Any) -> Iterable[str]:
    """The words of an option on a command line."""
    option = parameter.opts[0]
    if value is True:
        return [option]
    values = [value] if isinstance(value, str) else value
    if name in ("a", "b", "winner", "loser") and values is value:
        values = [",".join(value) + "," * (len(value) == 1)]
    if parameter.nargs == 2 or name in ("margin", "category", "free"):
        return [option, *map(shlex.quote, values)]
    pairs = ([option, shlex.quote(x)] if x[:1] != "-" else [f"{option}={shlex.quote(x)}"] for x in values)
    return chain.from_iterable(pairs)


def format_reading_options(columns: Mapping[str, Any]) -> str:
    """The options of `jaxrate rate` that read a file by these arguments of `read`, as a shell takes them."""
    group: Any = click.get_current_context().find_root().command
    parameters = {_argument_name(x): x for x in group.load_command("rate").params}
    words: list[str] = []
    for name, value in columns.items():
        if isinstance(value, Mapping):
            value = [_named_parts(key, parts) for key, parts in value.items()]
        elif isinstance(value, (int, float)) and value is not True:
            value = format_number(value)
        words += _option_words(name, parameters[name], value) if name in parameters and value is not False else []
    return " ".join(words)


def _named_parts(name: str, parts: Any) -> str:
    """A statistic or a mixture of categories as an option says it: NAME, NAME=A,B or NAME=A:0.3,B:0.7."""
    if isinstance(parts, Mapping):
        parts = [f"{part}:{format_number(share)}" for part, share in parts.items()]
    return name if not parts else f"{name}={','.join(parts)}"
