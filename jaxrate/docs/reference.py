"""The reference: a page for each section of public names, from which autosummary makes a page for each name.

Docstrings are in Markdown, and made what autodoc and napoleon read.
"""

import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping
from inspect import get_annotations
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jaxrate
from jaxrate.systems import ALL_SYSTEMS

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


SECTIONS = {  # by title: what it is for, and the folders of the package that it shows
    "Data": ("Tables and public formats become events; simulated leagues; the league that ships.", "data"),
    "Events": ("Matches, rating periods and rounds, as arrays.", "events"),
    "Rating systems": ("The fifteen systems, each with its hyperparameters and formulas.", "systems", "parts"),
    "Official ratings": ("The rules of federations, as systems.", "federations"),
    "Rating": ("A system goes through a history, or learns one result at a time; runs are saved.", "replay", "live"),
    "Leaderboards and careers": ("Ratings by name and date, records of players, saved runs.", "history"),
    "Comparisons": ("How well systems predict, beside each other and beside ceilings.", "evaluation"),
    "Predictions": (
        "Matches, seasons and tournaments to come, and how good predictions were.",
        "forecasts",
        "metrics",
    ),
    "Fitting": ("Hyperparameters by gradient, with standard errors and intervals.", "fitting"),
    "Fixed strengths": ("Players who do not change: strengths, certain ranks, tests of drift.", "arena"),
    "Plots and pages": ("Pictures, reports and sites.", "plots", "site"),
    "Parts of systems": ("What a system of your own needs.", "extend"),
    "Worlds of Urnings": ("Matchmakers, tests and simulated worlds of urns.", "urns"),
    "Testing a system": ("The contract that every system satisfies.", "testing"),
}


class Section(NamedTuple):
    """A section of the reference."""

    title: str
    purpose: str
    names_by_module: dict[str, list[str]]  # functions and classes by their module, both as after `jaxrate.`

    @property
    def pages(self) -> list[str]:
        """The public names that have pages, as after `jaxrate.`."""
        return [*chain(*self.names_by_module.values())]


def get_public(name: str) -> Any:
    """The object of a name as after `jaxrate.`."""
    return attrgetter(name)(jaxrate)


def list_sections() -> list[Section]:
    """All sections, with every public function and class."""
    sections = {title: Section(title, purpose, {"": []}) for title, (purpose, *_) in SECTIONS.items()}
    title_of_folder = {folder: title for title, (_, *folders) in SECTIONS.items() for folder in folders}
    for name in sorted(dir(jaxrate)):
        value = get_public(name)
        path = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", "jaxrate.systems")
        names = sections[title_of_folder[path.split(".")[1]]].names_by_module
        names |= _list_members(name, value) if inspect.ismodule(value) else {"": [*names[""], name]}
    return [*sections.values()]


def _list_members(name: str, module: ModuleType) -> dict[str, list[str]]:
    """The functions and classes of a module and of the modules among its public names, by module."""
    names: dict[str, list[str]] = {name: []}
    defined = [n for n, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__ and n[0] != "_"]
    for member in sorted(getattr(module, "__all__", defined)):
        value, path = getattr(module, member), f"{name}.{member}"
        if inspect.ismodule(value):
            names |= _list_members(path, value)
        elif callable(value) and getattr(jaxrate, member, None) is not value:
            names[name].append(path)
    return names


def list_result_types(sections: Iterable[Section]) -> dict[str, list[str]]:
    """The classes that the functions of each section return and that have no public name, by the section's title."""
    result, public = {}, {get_public(name) for section in sections for name in section.pages}
    for section in sections:
        hints = [get_annotations(inspect.unwrap(get_public(name))).get("return") for name in section.pages]
        kinds = {x for hint in hints for x in (hint, *getattr(hint, "__args__", ())) if inspect.isclass(x)} - public
        own = {x for x in kinds if x.__module__.startswith("jaxrate.") and x.__name__[0] != "_"}
        result[section.title] = sorted(f"{x.__module__}.{x.__name__}".removeprefix("jaxrate.") for x in own)
        public |= own
    return result


def system_modules_and_states() -> dict[str, tuple[str, str]]:
    """For the full name of each factory of a system, the module with its formulas and the type of its state."""
    systems = {name: (make.__module__, make()) for name, make in ALL_SYSTEMS.items()}
    states = {name: type(system.init(system.params, 1)) for name, (_, system) in systems.items()}
    return {f"jaxrate.{n}": (systems[n][0], f"{x.__module__}.{x.__name__}") for n, x in states.items()}


def write_reference(folder: Path) -> None:
    """Write a page for each section, and their list; autosummary makes the pages of functions and classes."""
    folder.mkdir()
    sections, rows, stems = list_sections(), "", ""
    result_types = list_result_types(sections)
    for section in sections:
        stem, page = section.title.lower().replace(" ", "_"), _heading(section.title, "=")
        for name, members in section.names_by_module.items():
            if name:
                page += _heading(f"jr.{name}", "-")
                page += f".. automodule:: {get_public(name).__name__}\n   :no-index:\n\n"
            page += _summary(members)
        if kinds := result_types[section.title]:
            page += _heading("Types of results", "-") + _summary(f"~{name}" for name in kinds)
        (folder / f"{stem}.rst").write_text(page, encoding="utf-8")
        names = ", ".join(f"``jr.{name}``" for name in (*section.names_by_module[""], *section.names_by_module) if name)
        rows += f"   * - :doc:`{section.title} <{stem}>`\n     - {section.purpose}\n\n       {names}\n"
        stems += f"   {stem}\n"
    text = _heading("Reference", "=") + "Every public function and class has a page, by section.\n\n"
    text += f".. list-table::\n   :widths: 30 70\n\n{rows}\n.. toctree::\n   :hidden:\n\n{stems}"
    (folder / "index.rst").write_text(text, encoding="utf-8")


def _heading(title: str, sign: str) -> str:
    return f"{title}\n{sign * len(title)}\n\n"


def _summary(names: Iterable[str]) -> str:
    """A table of names with the first sentences of their docstrings, for which autosummary makes pages."""
    rows = "".join(f"   {name}\n" for name in names)
    head = ".. currentmodule:: jaxrate\n\n.. autosummary::\n   :toctree: .\n   :nosignatures:\n\n"
    return f"{head}{rows}\n" if rows else ""
