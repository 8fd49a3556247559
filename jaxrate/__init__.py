"""Competitive rating systems on JAX.

The public names are listed in `__init__.pyi`. Each is imported when it is first used: neither `import jaxrate` alone
nor the command line's help waits for JAX.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_LISTED = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
_HOME = {line.names[0].name: line.module for line in _LISTED if isinstance(line, ast.ImportFrom)}
__all__ = list(_HOME)


class _Package(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'jaxrate' has no attribute {name!r}")
        home = _HOME[name]
        value = None if home == "jaxrate" else getattr(import_module(home), name, None)
        value = import_module(f"{home}.{name}") if value is None else value  # a public module
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and _HOME.get(name, "jaxrate") != "jaxrate"):
            super().__setattr__(name, value)  # importing the module `jaxrate.run` must not hide the function `jr.run`

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *__all__})


sys.modules[__name__].__class__ = _Package
