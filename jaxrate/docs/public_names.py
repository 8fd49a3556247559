"""The public names, as pages show them: sections, docstrings, fields and examples."""

import ast
import builtins
import inspect
import re
import sys
import textwrap
import tokenize
from collections.abc import Collection, Mapping
from contextlib import suppress
from importlib import import_module
from io import StringIO
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple, get_type_hints

import jaxrate
from jaxrate.systems import SYSTEMS

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


SECTIONS = {  # titles of the reference's sections, and the folders of the package that they show
    "Data": ("data",),
    "Events": ("events",),
    "Rating systems": ("systems",),
    "Rating": ("replay", "live"),
    "Leaderboards and careers": ("history",),
    "Comparisons": ("evaluation",),
    "Predictions": ("forecasts", "metrics"),
    "Fitting": ("fitting",),
    "Smoothing": ("smoothing",),
    "Fixed strengths": ("arena",),
    "Plots and pages": ("plots", "site"),
    "Parts of systems": ("extend",),
    "Worlds of Urnings": ("urns",),
    "Testing a system": ("testing",),
}
PURPOSES = {  # of sections
    "Data": "Tables and public formats become events; simulated leagues; the league that ships.",
    "Events": "Matches, rating periods and rounds, as arrays.",
    "Rating systems": "The thirteen systems, each with its hyperparameters and formulas.",
    "Rating": "A system goes through a history, or learns one result at a time; runs are saved.",
    "Leaderboards and careers": "Ratings by name and date, records of players, saved runs.",
    "Comparisons": "How well systems predict, beside each other and beside ceilings.",
    "Predictions": "Matches, seasons and tournaments to come, and how good predictions were.",
    "Fitting": "Hyperparameters by gradient, with standard errors and intervals.",
    "Smoothing": "Ratings with hindsight.",
    "Fixed strengths": "Players who do not change: strengths, certain ranks, tests of drift.",
    "Plots and pages": "Pictures, reports and sites.",
    "Parts of systems": "What a system of your own needs.",
    "Worlds of Urnings": "Matchmakers, tests and simulated worlds of urns.",
    "Testing a system": "The contract that every system satisfies.",
}


class Namespace(NamedTuple):
    """A public module and the names in it that have pages."""

    name: str  # as after `jaxrate.`, such as "data.formats"
    module: ModuleType
    members: list[str]  # names of functions and classes, as after `jaxrate.`
    constants: list[str]  # names of other values


class Section(NamedTuple):
    """A section of the reference."""

    title: str
    names: list[str]  # functions and classes that are attributes of `jaxrate`
    namespaces: list[Namespace]
    result_types: list[str]  # classes of results that are not public names, as after `jaxrate.`


def get_public(name: str) -> Any:
    """The object of a name as after `jaxrate.`."""
    return attrgetter(name)(jaxrate)


def is_function_or_class(value: Any) -> bool:
    """Whether a value is a function or a class, which has a page of its own."""
    return inspect.isclass(value) or inspect.isroutine(inspect.unwrap(value))


def list_sections() -> list[Section]:
    """All sections, with every public function and class."""
    values = {name: get_public(name) for name in sorted(dir(jaxrate))}
    sections = []
    for title, folders in SECTIONS.items():
        names = [n for n, x in values.items() if not inspect.ismodule(x) and _package_folder(x) in folders]
        modules = {n: x for n, x in values.items() if inspect.ismodule(x) and _package_folder(x) in folders}
        namespaces = [y for name, module in modules.items() for y in _list_namespaces(name, module)]
        sections.append(Section(title, names, namespaces, []))
    public = {id(get_public(name)) for section in sections for name in list_pages(section)}
    for section in sections:
        results = {id(x): x for name in list_pages(section) for x in _result_types(get_public(name))}
        others = [x for number, x in results.items() if number not in public]
        section.result_types.extend(sorted(f"{x.__module__.removeprefix('jaxrate.')}.{x.__name__}" for x in others))
        public |= results.keys()
    return sections


def list_pages(section: Section) -> list[str]:
    """The public names of a section that have pages, as after `jaxrate.`."""
    return [*section.names, *(name for namespace in section.namespaces for name in namespace.members)]


def system_modules_and_state_fields() -> dict[str, dict[str, Any]]:
    """For the full name of each factory of a system, its module, and the fields of its `State` with their meanings."""
    result = {}
    for name, make in SYSTEMS.items():
        state = getattr(import_module(make.__module__), "State", object)
        fields = {x: to_restructured([meaning], ())[0] for x, meaning in field_comments(state).items()}
        result[f"jaxrate.{name}"] = {"module": make.__module__, "fields": fields}
    return result


def _package_folder(value: Any) -> str:
    """The folder of the package that a value is defined in; factories of systems are in `systems`."""
    name = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", "jaxrate.systems")
    return name.split(".")[1]


def _list_namespaces(name: str, module: ModuleType) -> list[Namespace]:
    """A module and the modules among its public names; what `jaxrate` itself has is there."""
    own = [n for n, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__ and n[0] != "_"]
    values = {n: getattr(module, n) for n in sorted(getattr(module, "__all__", own))}
    members = [f"{name}.{n}" for n, x in values.items() if is_function_or_class(x) and getattr(jaxrate, n, 0) is not x]
    modules = {f"{name}.{n}": x for n, x in values.items() if inspect.ismodule(x)}
    constants = [n for n, x in values.items() if not is_function_or_class(x) and not inspect.ismodule(x)]
    found = [Namespace(name, module, members, constants)]
    return found + [y for inner, x in modules.items() for y in _list_namespaces(inner, x)]


def _result_types(value: Any) -> list[type]:
    """The classes of this package that a function returns."""
    if inspect.isclass(value):
        return []
    hint = inspect.get_annotations(inspect.unwrap(value)).get("return")
    kinds = [hint, *getattr(hint, "__args__", ())]
    return [x for x in kinds if inspect.isclass(x) and x.__module__.startswith("jaxrate.") and x.__name__[0] != "_"]
