"""Hyperparameters as users write them: the values of --param, and the files of --params."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import jaxrate as jr
from jaxrate.cli.progress import ProgressReport


class FittedParams(NamedTuple):
    """What a file of hyperparameters says."""

    path: Path
    system: str
    values: dict[str, Any]  # of hyperparameters and settings
    period: float | None  # the length of rating periods
    file: str | None  # the name of the one that was fitted
    data_share: float  # the first part of its matches or contests, which was fitted


def parse_params(params: tuple[str, ...]) -> dict[str, Any]:
    """The values of --param NAME=VALUE: see `_value`."""
    values: dict[str, Any] = {}
    for text in params:
        field, found, value = (part.strip() for part in text.partition("="))
        if not found or not value:
            raise ValueError(f"--param {text}: write name=value, as in k=20")
        values[field] = tuple(map(_parse_value, value.strip(",").split(","))) if "," in value else _parse_value(value)
    return values


def _parse_value(text: str) -> Any:
    """A number, none, true, false, or a name such as that of a luck function."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)


# Files are of TOML. Hyperparameters that are switched off, and settings that are None, are the word "none".


def write_fitted(path: Path, fit_result: Any, system: jr.extend.RatingSystem, period: float | None, file: str) -> None:
    """The hyperparameters of a fit to a file of that name."""

    def text(value: Any) -> str:
        if isinstance(value, tuple):
            return f"[{', '.join(map(text, value))}]"
        if isinstance(value, float):
            return repr(value)
        return json.dumps("none" if value is None else value)  # of words, whole numbers and truth the same as in TOML

    head = {"system": system.name} | ({} if period is None else {"period": period})
    head |= {"file": file, "data_share": fit_result.options.data_share}
    parts = {"": head, "[params]": fit_result.params._asdict(), "[settings]": dict(system.settings)}
    lines = [f"# jaxrate fit {file}: {fit_result.options.loss} {fit_result.loss:.6g}"]
    lines += [f"# left open: {', '.join(fit_result.open)}"] if fit_result.open else []
    for title, values in parts.items():
        lines += [*(["", title] if title else []), *(f"{key} = {text(value)}" for key, value in values.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def load_fitted(path: Path) -> FittedParams:
    """What a file says; ValueError, which names it, if it is no such file or its system cannot be made."""
    from jaxrate.league.system_choice import make_system

    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ValueError(f"{path} is a folder; name a file, as fitted.toml") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path} is no TOML file: {error}") from None
    parts = [found.get(key, {}) for key in ("params", "settings")]
    if not isinstance(found.get("system"), str) or not all(isinstance(part, dict) for part in parts):
        raise ValueError(f'{path} must say system = "...", and [params], as `jaxrate fit --save` writes them')
    period, share = found.get("period"), found.get("data_share", 1.0)
    for name, value in (("period", period), ("data_share", share)):
        if value is not None and not (isinstance(value, (int, float)) and 0 < value < float("inf")):
            raise ValueError(f"{path}: {name} must be a number above 0, got {value!r}")
    values = {
        key: None if x == "none" else tuple(x) if isinstance(x, list) else x for y in parts for key, x in y.items()
    }
    try:
        make_system(found["system"], values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return FittedParams(path, found["system"], values, period, found.get("file"), share)


def hint_scored_on_fitted_data(report: ProgressReport, fits: list[FittedParams], file: str, last: float) -> None:
    """A note if hyperparameters are scored on matches or contests to which they were fitted."""
    for fit in fits:
        if fit.file == Path(file).name and last > 1 - fit.data_share + 1e-9:
            some = "all" if fit.data_share == 1 else f"the first {100 * fit.data_share:g} %"
            fitted = f"{fit.path} was fitted to {some} of {fit.file}, of which some are scored here"
            report.note(f"{fitted}; fit with --data-share 0.8 and score with --last 0.2")
