"""The API reference as pages of HTML: docstrings, the comments beside fields, and what is known of hyperparameters.

python -m jaxrate.reference FOLDER
"""

import argparse
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxrate.systems import SYSTEMS


def describe(module: ModuleType) -> None:
    """Give the fields of a module's NamedTuples the docstrings that Python has no place for."""
    for kind in vars(module).values():
        if not (inspect.isclass(kind) and hasattr(kind, "_fields") and kind.__module__ == module.__name__):
            continue
        for name, comment in re.findall(r"^    (\w+): .*  # (.+)$", inspect.getsource(kind), re.MULTILINE):
            getattr(kind, name).__doc__ = comment
        for name in kind._fields:
            if (getattr(kind, name).__doc__ or "").startswith("Alias for"):
                getattr(kind, name).__doc__ = ""
    space: Any = getattr(module, "SPACE", None)
    if space is not None:
        for name, about in space._asdict().items():
            fitted = "not fitted by slopes" if about.space == "fixed" else "fitted"
            text = f"{about.meaning} ({about.unit}); {about.range}; {fitted}"
            getattr(type(space), name).__doc__ = text[0].upper() + text[1:] + "."


def write(folder: Path) -> None:
    """Write the pages. ImportError without pdoc."""
    try:
        import pdoc
    except ModuleNotFoundError:
        raise ImportError("the API reference needs pdoc: pip install 'jaxrate[docs]'") from None
    package = import_module("jaxrate")
    public = [getattr(package, name) for name in package.__all__]
    homes = {x.__name__ if inspect.ismodule(x) else x.__module__ for x in public if inspect.ismodule(x) or callable(x)}
    systems = {make.__module__ for make in SYSTEMS.values()} | {x.__name__ for x in public if inspect.ismodule(x)}
    for name in ("jaxrate.system", *homes, *systems):
        describe(import_module(name))
    pdoc.render.configure(docformat="google", math=False, show_source=True)
    pdoc.pdoc("jaxrate", "jaxrate.system", *sorted(systems), output_directory=folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m jaxrate.reference", description="Write the API reference.")
    parser.add_argument("folder", type=Path)
    write(parser.parse_args().folder)
