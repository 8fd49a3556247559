"""Hyperparameters as users write them: the values of --param, and the files of --params."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import jaxrate as jr


def parse(params: tuple[str, ...]) -> dict[str, Any]:
    """The values of --param NAME=VALUE: see `_value`."""
    values: dict[str, Any] = {}
    for text in params:
        field, found, value = (part.strip() for part in text.partition("="))
        if not found or not value:
            raise ValueError(f"--param {text}: write name=value, as in k=20")
        values[field] = tuple(map(_value, value.strip(",").split(","))) if "," in value else _value(value)
    return values


def _value(text: str) -> Any:
    """A number, none, true, false, or a name such as that of a luck function."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)


# Files are of TOML. Hyperparameters that are switched off, and settings that are None, are the word "none".


def write(path: Path, found: Any, system: jr.RatingSystem, period: float | None, comment: str) -> None:
    """The hyperparameters of a fit."""

    def text(value: Any) -> str:
        if isinstance(value, tuple):
            return f"[{', '.join(map(text, value))}]"
        if isinstance(value, float):
            return repr(value)
        return json.dumps("none" if value is None else value)  # of words, whole numbers and truth the same as in TOML

    head = {"system": system.name} | ({} if period is None else {"period": period})
    parts = {"": head, "[params]": found.params._asdict(), "[settings]": dict(system.settings)}
    lines = [f"# {comment}"]
    for title, values in parts.items():
        lines += [*(["", title] if title else []), *(f"{key} = {text(value)}" for key, value in values.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def load(path: Path) -> tuple[str, dict[str, Any], float | None]:
    """The system, its hyperparameters and settings, and the length of periods; ValueError if it is no such file."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path} is no TOML file: {error}") from None
    parts = [found.get(key, {}) for key in ("params", "settings")]
    if not isinstance(found.get("system"), str) or not all(isinstance(part, dict) for part in parts):
        raise ValueError(f'{path} must say system = "...", and [params], as `jaxrate fit --save` writes them')
    values = {
        key: None if x == "none" else tuple(x) if isinstance(x, list) else x for y in parts for key, x in y.items()
    }
    return found["system"], values, found.get("period")
