"""Docstrings as Sphinx reads them: Markdown becomes reStructuredText, comments beside fields a section."""

import ast
import builtins
import inspect
import re
import sys
import textwrap
import tokenize
from collections.abc import Collection, Mapping
from contextlib import suppress
from io import StringIO
from itertools import pairwise
from types import MappingProxyType, SimpleNamespace
from typing import Any, get_type_hints

SECTION_HEADER = re.compile(r"(?:Args|Fields|Raises|Returns|Warns|Yields):$")
LIST_ITEM = re.compile(r"\s*(?:-|\d+\.) ")
ALIGNED_ROW = re.compile(r"\S+(?:, \S+)* {2,}\S")
FILE_ROW = re.compile(r"\w+(\.py|/) +\S")
PYTHON_CODE = re.compile(r"\bjr\.|\bimport |\btesting\.")
INLINE_CODE = re.compile(r"(`[^`]+`)")


def to_restructured(
    lines: list[str], public: Collection[str], namespace: str = "", outputs: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """A docstring in Markdown as reStructuredText.

    Code and rows of aligned columns become blocks of code, with the output of code below it. Names in backticks lead to
    their pages if they are public.

    Args:
      lines: of the docstring.
      public: names with pages, as after `jaxrate.`.
      namespace: the module in which names are looked up first, as after `jaxrate.`.
      outputs: of examples, by their code.
    """
    result: list[str] = []
    text: list[str] = []
    in_section = False
    rows = [line.rstrip() for line in lines]
    while rows:
        in_section = in_section or SECTION_HEADER.match(rows[0]) is not None
        block = [] if in_section else _leading_code_lines(rows, is_after_blank=not text or not text[-1])
        if block and FILE_ROW.match(block[0]):
            pass  # the files of a folder concern those who read its code
        elif block:
            language = "python" if PYTHON_CODE.search("\n".join(block)) else "text"
            body = textwrap.dedent("\n".join(block)).splitlines()
            result += _inline_markup(text, public, namespace)
            blocks = [(language, body), ("text", outputs.get("\n".join(body), "").splitlines())]
            for name, rows_shown in blocks[: 1 + bool(blocks[1][1])]:
                result += ["", f".. code-block:: {name}", "", *(f"   {x}".rstrip() for x in rows_shown), ""]
            text = []
        else:
            if not in_section and LIST_ITEM.match(rows[0]) and text and text[-1] and not _ends_in_list(text):
                text.append("")
            text.append(rows[0])
        del rows[: len(block) or 1]
    return result + _inline_markup(text, public, namespace)


def _leading_code_lines(rows: list[str], is_after_blank: bool) -> list[str]:
    """The lines of code, or of aligned columns, with which the rows begin."""
    if is_after_blank and rows[0].startswith("    "):
        end = next((i for i, x in enumerate(rows) if x and not x.startswith("    ")), len(rows))
    else:
        end = next((i for i, x in enumerate(rows) if not ALIGNED_ROW.match(x)), len(rows))
        end = end if end > 1 else 0
    while end and not rows[end - 1]:
        end -= 1
    return rows[:end]


def _ends_in_list(lines: list[str]) -> bool:
    """Whether the last line belongs to a list."""
    paragraph = lines[len(lines) - next((i for i, x in enumerate(reversed(lines)) if not x), len(lines)) :]
    return bool(paragraph) and LIST_ITEM.match(paragraph[0]) is not None


def _inline_markup(lines: list[str], public: Collection[str], namespace: str) -> list[str]:
    """Lines of text with code as literals or references, and without signs that reStructuredText would read."""
    parts = INLINE_CODE.split("\n".join(lines))
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\_", re.sub(r"([*|`\\])", r"\\\1", x)) for x in parts[::2]]
    parts[1::2] = [_code_markup(" ".join(x[1:-1].split()), public, namespace) for x in parts[1::2]]
    joined = parts[0]
    for before, part in pairwise(parts):  # code ends and begins at these signs or at one that is not shown
        touches = re.match(r"[\s\'\"([{<\-/:`]?[\s\'\")\]}>\-/:.,;!?`\\]?$", before[-1:] + part[:1]) is None
        joined += ("\\ " if touches else "") + part
    return joined.split("\n")


def _code_markup(code: str, public: Collection[str], namespace: str) -> str:
    """A name as a reference to its page, other code as a literal."""
    name = code.removeprefix("jr.").removesuffix("()").partition("(")[0]
    for found in (f"{namespace}.{name}", name):
        if found in public and (code.startswith("jr.") or "(" not in code or code.endswith("()")):
            return f":py:obj:`{code} <jaxrate.{found}>`"
    return f"``{code}``"


def field_comments(kind: type) -> dict[str, str]:
    """The comment beside each field of a class that the class itself annotates; empty where there is none."""
    try:
        source = textwrap.dedent(inspect.getsource(kind))
    except (OSError, TypeError):
        return {}
    tokens = [x for x in tokenize.generate_tokens(StringIO(source).readline) if x.type == tokenize.COMMENT]
    comments = {x.start[0]: x.string.lstrip("# ") for x in tokens}
    (definition,) = ast.parse(source).body
    return {
        x.target.id: next((comments[i] for i in range(x.lineno, (x.end_lineno or 0) + 1) if i in comments), "")
        for x in getattr(definition, "body", [])
        if isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name) and x.target.id[0] != "_"
    }


def class_docstring(kind: type, lines: list[str]) -> list[str]:
    """The docstring of a class, with its fields as a section. A docstring that Python made is left out."""
    text = [] if lines and lines[0].startswith(f"{kind.__name__}(") else [*lines]
    comments = field_comments(kind)
    if comments:
        text += ["", "Fields:", *(f"  {name}: {comment}".rstrip() for name, comment in comments.items()), ""]
    return text


def strip_annotated_metadata(function_or_class: Any) -> None:
    """Leave types alone in the annotations of a function or class: what checks read stands in no signature.

    An argument of any type has none, since the docstring says more than `Any`.
    """
    target = inspect.unwrap(function_or_class) if inspect.isroutine(function_or_class) else function_or_class
    names = vars(sys.modules.get(getattr(target, "__module__", None) or "", builtins))
    for name, annotation in [*getattr(target, "__annotations__", {}).items()]:
        alone = SimpleNamespace(__annotations__={name: annotation})
        with suppress(NameError):  # of a type that only checkers know
            target.__annotations__[name] = get_type_hints(alone, names)[name]
            if target.__annotations__[name] is Any and name != "return":
                del target.__annotations__[name]
    checked: Any = function_or_class if inspect.isroutine(function_or_class) else None
    signature = getattr(checked, "__signature__", None)  # of functions that check their arguments
    if isinstance(signature, inspect.Signature):
        empty = inspect.Parameter.empty
        parameters = [x.replace(annotation=empty) if x.annotation is Any else x for x in signature.parameters.values()]
        checked.__signature__ = signature.replace(parameters=parameters)
