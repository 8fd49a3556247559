"""Packages that need not be installed, and modules that are loaded at their first use.

An error says what needs a missing package, and how to install it.
"""

from importlib import import_module
from typing import Any

NEEDS = {  # by package: what needs it, and what brings it
    "altair": ("interactive plots need altair", "jaxrate[interactive]"),
    "duckdb": ("putting rows in order needs duckdb", "jaxrate[large]"),
    "jinja2": ("pages need jinja2", "jaxrate[report]"),
    "markupsafe": ("pages need jinja2", "jaxrate[report]"),  # which jinja2 brings
    "matplotlib": ("plots need matplotlib", "jaxrate[plot]"),
    "PIL": ("heat maps of pages need pillow", "jaxrate[plot]"),
    "pyarrow": ("tables need pyarrow", "jaxrate[data]"),
    "python_calamine": ("spreadsheets need python-calamine", "jaxrate[data]"),
    "sphinx": ("the documentation needs sphinx", "jaxrate[docs]"),
    "sklearn": ("boosted trees need scikit-learn", "scikit-learn"),
}


def import_optional(module: str) -> Any:
    """Import a module of one of these packages; ImportError with the command that installs it if it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        subject, requirement = NEEDS[module.partition(".")[0]]
        raise ImportError(f'{subject}: pip install "{requirement}"') from error


class LazyModule:
    """A module that is imported when something of it is first used, and looked up by its name.

    One that loads itself later, as by the lazy loader of Python, would be half loaded where others import parts of it.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # which tools ask of whatever they find
            raise AttributeError(attribute)
        return getattr(import_optional(self._name), attribute)
