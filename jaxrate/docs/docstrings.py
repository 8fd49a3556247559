"""Docstrings in Markdown, as autodoc and napoleon read them."""

import inspect
import re
import textwrap
from collections.abc import Mapping

SECTION_HEADER = re.compile(r"^(?=(?:Args|Fields|Raises|Returns|Warns|Yields):$)", re.MULTILINE)
CODE_BLOCK = re.compile(r"(?:(?<=\n\n)|^)((?:    .*\n?)+(?:\n(?:    .*\n?)+)*)")
INLINE_CODE = re.compile(r"(`[^`]+`)")
END_OF_CODE = re.compile(r"\A(?=[^\s'\")\]}>\-/:.,;!?\\])")  # before a sign at which reStructuredText would not end it
PYTHON_CODE = re.compile(r"\bjr\.|\bimport |\btesting\.")
FIELD = re.compile(r"^    (?!_)(\w+): (?:[^#\n]*(?:\n {8}[^#\n]*)*  # (.*)|.*$)", re.MULTILINE)
FILE_ROW = re.compile(r"^\w+(?:\.py|/) .*\n?", re.MULTILINE)  # of the files of a folder, for those who read its code


def split_examples(docstring: str) -> tuple[list[str], str]:
    """The text and the indented blocks of code of a docstring, in turn, and its sections on arguments and errors."""
    text, *sections = SECTION_HEADER.split(docstring, maxsplit=1)
    return CODE_BLOCK.split(text), "".join(sections)


def to_restructured(docstring: str, outputs: Mapping[str, str]) -> str:
    """A docstring as reStructuredText.

    Indented blocks become code, with the outputs of examples, which are found by their code, below them.
    """
    parts, sections = split_examples(FILE_ROW.sub("", docstring))
    parts[::2] = map(_restructure_text, parts[::2])
    parts[1::2] = [_restructure_code(textwrap.dedent(code).strip("\n"), outputs) for code in parts[1::2]]
    return "".join(parts) + _restructure_text(sections)


def _restructure_text(text: str) -> str:
    """Text with code as literals, and without signs that reStructuredText would read."""
    parts = INLINE_CODE.split(text)
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\_", re.sub(r"([*|`\\])", r"\\\1", x)) for x in parts[::2]]
    parts[1::2] = [f"`{' '.join(x.split())}`" for x in parts[1::2]]
    parts[2::2] = [END_OF_CODE.sub(r"\\ ", x) for x in parts[2::2]]
    return "".join(parts)


def _restructure_code(code: str, outputs: Mapping[str, str]) -> str:
    """A block of code, and one of its output if there is one."""
    blocks = [("python" if PYTHON_CODE.search(code) else "text", code), ("text", outputs.get(code, ""))]
    return "".join(f".. code-block:: {name}\n\n{textwrap.indent(x, '   ')}\n\n" for name, x in blocks if x)


def add_fields(kind: type, docstring: str) -> str:
    """The docstring of a class, with its fields and the comments beside them; none that Python made."""
    text = "" if docstring.startswith(f"{kind.__name__}(") else docstring
    fields = FIELD.findall(inspect.getsource(kind)) if "__annotations__" in vars(kind) else []
    return text + "\n\nFields:\n" * bool(fields) + "".join(f"  {name}: {comment}\n" for name, comment in fields)
