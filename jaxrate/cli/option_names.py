"""Options of the command line in messages of the library, which name the arguments of functions."""

from __future__ import annotations

import re

OPTIONS_IN_MESSAGES = {
    "the option sort": "--sort",
    "by the option na_values": "by --na-values",
    'as unfinished=["DNF"]': "with --unfinished DNF",
    "time is for fixtures": "--at is for fixtures",
}
PYTHON_HINT = re.compile(  # an argument, or two, and its counterpart here
    r"(?:the option \w+|(?:\w+=\S+ and )?\w+=(?:'[^']*'|\[[^]]*\]|\x22[^\x22]*\x22(?: or \x22[^\x22]*\x22)?|[^\s,]+)"
    r"|the margin of jr\.read),? (?:or|and) (--[^;()]*?) on the command line"
)


def name_options(message: str) -> str:
    """A message of the library with options of the command line in place of arguments."""
    for argument, option in OPTIONS_IN_MESSAGES.items():
        message = message.replace(argument, option)
    return PYTHON_HINT.sub(r"\1", message)
