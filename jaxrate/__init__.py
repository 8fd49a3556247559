"""Competitive rating systems on JAX.

The public names are listed in `__init__.pyi`. Each is imported when it is first used: neither `import jaxrate` alone
nor the command line's help waits for JAX. The package logs by `logging` under its own name, and says nothing by itself.
"""

import ast
import logging
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

_LISTED = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
_HOME = {line.names[0].name: line.module for line in _LISTED if isinstance(line, ast.ImportFrom)}
__all__ = list(_HOME)
logging.getLogger("jaxrate").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = version("jaxrate")
    elif name in _HOME:
        home = str(_HOME[name])
        value = None if home == "jaxrate" else getattr(import_module(home), name, None)
        value = import_module(f"{home}.{name}") if value is None else value  # a public module
    else:
        raise AttributeError(f"module 'jaxrate' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
