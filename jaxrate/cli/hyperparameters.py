"""Hyperparameters as users write them: the values and the files of --param."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import jaxrate as jr
from jaxrate.cli.terminal_tables import ProgressReport
from jaxrate.core.text_format import join_names


class FittedParams(NamedTuple):
    """The contents of a file of hyperparameters."""

    path: Path
    system: str
    values: dict[str, Any]  # of hyperparameters and settings
    period: float | None  # the length of rating periods
    file: str | None  # the name of the fitted file
    data_share: float  # the first share of its matches or contests, which was fitted
    left_open: tuple[str, ...] = ()  # hyperparameters that this file hardly determined


def parse_params(params: tuple[str, ...]) -> tuple[dict[str, Any], list[Path]]:
    """The values of --param NAME=VALUE, see `_parse_value`, and the files of hyperparameters that it names."""
    values: dict[str, Any] = {}
    files: list[Path] = []
    for text in params:
        name, equals, value = map(str.strip, text.partition("="))
        is_file = text.endswith(".toml") or not equals
        if is_file and not Path(text).exists():
            raise ValueError(f"--param {text}: there is no such file; write name=value, as in k=20, or name a file")
        if is_file:
            files.append(Path(text))
        elif not value:
            raise ValueError(f"--param {text}: write name=value, as in k=20")
        else:
            parts = [_parse_value(part) for part in value.rstrip(",").split(",")]
            values[name] = tuple(parts) if "," in value else parts[0]
    return values, files


def _parse_value(text: str) -> Any:
    """A number, none, true, false, or a name such as that of a luck function."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)


# Files are of TOML. Hyperparameters that are switched off, and settings that are None, are the word "none".


def write_fitted(path: Path, fit_result: Any, system: jr.extend.RatingSystem, period: float | None, file: str) -> None:
    """Write the hyperparameters of a fit to `path`; `file` is the name of the fitted file."""

    def text(value: Any) -> str:
        if isinstance(value, tuple):
            return f"[{', '.join(map(text, value))}]"
        if isinstance(value, float):
            return repr(value)
        return json.dumps("none" if value is None else value)  # of words, whole numbers and truth the same as in TOML

    header = {"system": system.name} | ({} if period is None else {"period": period})
    header |= {"file": file, "data_share": fit_result.objective.data_share}
    header |= {"left_open": fit_result.open} if fit_result.open else {}
    sections = {"": header, "[params]": fit_result.params._asdict(), "[settings]": dict(system.settings)}
    lines = [f"# jaxrate fit {file}: {fit_result.objective.loss} {fit_result.loss:.6g}"]
    for title, values in sections.items():
        lines += [*(["", title] if title else []), *(f"{key} = {text(value)}" for key, value in values.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def load_fitted(path: Path) -> FittedParams:
    """The contents of a file; ValueError, which names it, if it is no such file or its system cannot be made."""
    from jaxrate.systems.system_construction_by_name import make_system

    contents = _load_toml(path)
    sections = contents.get("params", {}), contents.get("settings", {})
    if not isinstance(contents.get("system"), str) or not all(isinstance(part, dict) for part in sections):
        raise ValueError(f'{path} must say system = "...", and [params], as `jaxrate fit --save` writes them')
    values = {key: _value_of_toml(x) for part in sections for key, x in part.items()}
    left_open = contents.get("left_open", [])
    if not isinstance(left_open, list):
        raise ValueError(f"{path}: left_open must be a list of names, got {left_open!r}")
    try:
        make_system(contents["system"], values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return FittedParams(
        path=path,
        system=contents["system"],
        values=values,
        period=_positive_number(path, contents, "period", None),
        file=contents.get("file"),
        data_share=_positive_number(path, contents, "data_share", 1.0),
        left_open=tuple(name for name in values if name in left_open),
    )


def _load_toml(path: Path) -> dict[str, Any]:
    """The contents of a file; ValueError if it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except IsADirectoryError:
        raise ValueError(f"{path} is a folder; name a file, as fitted.toml") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path} is no TOML file: {error}") from None


def _positive_number(path: Path, contents: dict[str, Any], name: str, default: float | None) -> Any:
    """A number of a file, or the default where it has none."""
    value = contents.get(name, default)
    if value is not None and not (isinstance(value, (int, float)) and 0 < value < float("inf")):
        raise ValueError(f"{path}: {name} must be a number above 0, got {value!r}")
    return value


def _value_of_toml(value: Any) -> Any:
    return None if value == "none" else tuple(value) if isinstance(value, list) else value


def note_open_hyperparameters(report: ProgressReport, fit: FittedParams, values: dict[str, Any]) -> None:
    """A note if values that a fit left open are used; `values` has those of all hyperparameters that are set."""
    names = [name for name in fit.left_open if values.get(name) == fit.values[name]]
    if names:
        text = f"the fit of {fit.path} left {join_names(names)} open, of which {fit.file or 'its file'} says next to"
        report.note(f"{text} nothing; set a value with --param, or fit the others alone with --free")


def hint_scored_on_fitted_data(report: ProgressReport, fits: list[FittedParams], file: str, last: float) -> None:
    """A note if hyperparameters are scored on matches or contests to which they were fitted."""
    for fit in fits:
        if fit.file == Path(file).name and last > 1 - fit.data_share + 1e-9:
            extent = "all" if fit.data_share == 1 else f"the first {100 * fit.data_share:g}%"
            message = f"{fit.path} was fitted to {extent} of {fit.file}, of which some are scored here"
            report.note(f"{message}; fit with --data-share 0.8 and score with --last 0.2")


def fitted_share(fit: FittedParams | None, file: str) -> dict[str, float]:
    """The option of a run with the first share of its file to which hyperparameters were fitted, if they were."""
    return {"fitted_share": fit.data_share} if fit is not None and fit.file == Path(file).name else {}
