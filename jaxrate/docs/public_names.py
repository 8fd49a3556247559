"""The public functions and classes, by section of the reference."""

import inspect
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import Any, NamedTuple

import jaxrate
from jaxrate.docs.docstring_markup import field_comments, to_restructured
from jaxrate.systems import SYSTEMS

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
    """A module and the modules among its public names."""
    own = [n for n, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__ and n[0] != "_"]
    values = {n: getattr(module, n) for n in sorted(getattr(module, "__all__", own))}
    members = [f"{name}.{n}" for n, x in values.items() if is_function_or_class(x)]
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
