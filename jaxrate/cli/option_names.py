"""Options of the command line in messages of the library, which name the arguments of functions.

A hint of the library names an argument and its value as Python writes them, as in `side='a'`, in a clause of its own
behind a semicolon. A command prints its own option, in words that a shell takes. If it has none, it leaves the clause
out.
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
ARGUMENT = re.compile(rf"(?<![\w-])([a-z][a-z_]*)=(True|{TEXT}|\[(?:{TEXT}(?:, )?)+\])")
ARGUMENTS = re.compile(rf"{ARGUMENT.pattern}(?:(?:,| and|, and) {ARGUMENT.pattern})*")
OTHER_ARGUMENTS = (  # in hints, beside roles of columns
    *("mixtures", "dates", "na_values", "unfinished", "sort", "skip_incomplete", "normalise_names"),
    *("newcomers", "results", "at", "upcoming", "free", "resume"),
)
WORDS_OF_OPTIONS = {  # what stands in messages for options that are no arguments
    "on_faulty='skip'": "skip_incomplete=True",
    "jr.data.unify_names(data)": "normalise_names=True",
}
CLAUSE_END = re.compile(r"\)?(?: \(there are: [^\n]*\))?$")


def name_options(message: str, command: click.Command | None) -> str:
    """A message of the library with options of the command in place of arguments."""
    options = {} if command is None else {_argument_name(x): x for x in command.params for _ in x.opts[:1]}
    for words, argument in WORDS_OF_OPTIONS.items():
        message = message.replace(words, argument)
    lines = message.split("\n")
    return "\n".join(_name_options_of_line(line, options) for line in lines)


def _name_options_of_line(line: str, options: Mapping[str, click.Parameter]) -> str:
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
    from jaxrate.data.column_role_definitions import COLUMN_ROLES

    known = {*COLUMN_ROLES, *OTHER_ARGUMENTS}
    is_lacking = False

    def replace(hint: re.Match[str]) -> str:
        nonlocal is_lacking
        words: list[str] = []
        for name, text in ARGUMENT.findall(hint[0]):
            value = literal_eval(text)
            is_time = name == "time" and isinstance(value, str) and value[:1].isdigit()
            parameter = options.get("at" if is_time else name)
            if name not in known:
                return hint[0]
            if parameter is None or (value is True) != getattr(parameter, "is_flag", False):
                is_lacking = True
                return hint[0]
            words += _option_words(name, parameter, value)
        return " ".join(words)

    text = ARGUMENTS.sub(replace, clause)
    return None if is_lacking else text


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
