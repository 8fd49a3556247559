"""Options that several commands share, and leaderboards and saved runs by them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import click

import jaxrate as jr
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.input_options import pop_columns
from jaxrate.cli.option_types import CommandOption, named_values_option, option
from jaxrate.cli.terminal_tables import ProgressReport
from jaxrate.core.text_format import join_names
from jaxrate.data.column_role_definitions import LAYOUT_ROLES


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
    contents = _load_toml(path)
    sections = contents.get("params", {}), contents.get("settings", {})
    if not isinstance(contents.get("system"), str) or not all(isinstance(part, dict) for part in sections):
        raise ValueError(f'{path} must say system = "...", and [params], as `jaxrate fit --save` writes them')
    values = {key: _value_of_toml(x) for part in sections for key, x in part.items()}
    left_open = contents.get("left_open", [])
    if not isinstance(left_open, list):
        raise ValueError(f"{path}: left_open must be a list of names, got {left_open!r}")
    try:
        lazy.make_system(contents["system"], values)
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


NEW_RUNS: dict[str, Any] = {
    "excludes": ("--state",),
    "reason": "it is for new runs; the saved run keeps its system",
}
PLAIN_TEXT = "Learn from results alone, not from the sides, points, seasons and surfaces in the file."
plain_option = option("plain", text=PLAIN_TEXT, **NEW_RUNS)


def complete_systems(context: Any, parameter: Any, incomplete: str) -> list[str]:
    """Names of systems, for the shell."""
    return [name for name in jr.extend.ALL_SYSTEMS if name.startswith(incomplete)]


def system_option(text: str, **settings: Any) -> CommandOption:
    """The option --system, completed by the shell."""
    return option("system", "NAME", text, to="name", shell_complete=complete_systems, **settings)


def param_option(text: str, **settings: Any) -> CommandOption:
    """The option --param."""
    return option("param", "NAME=VALUE|FILE", text, to="params", multiple=True, **settings)


def system_options(param: str = "Set a hyperparameter, or name a FILE.toml of fit --save.") -> list[CommandOption]:
    """The options of a system and its hyperparameters, see `pop_request`."""
    return [
        system_option("Rating system; jaxrate systems lists them.  [default: by the columns of the file]", **NEW_RUNS),
        param_option(param, **NEW_RUNS),
        option("period", "DAYS", "Rate in periods of this length.  [default: match by match]", above=0, **NEW_RUNS),
    ]


class RatingRequest(NamedTuple):
    """The file, the system that the options ask for, and how to read it."""

    file: str  # "" without one
    name: str | None  # of the system
    changes: dict[str, Any]  # of its hyperparameters
    period: float | None  # the length of rating periods
    columns: dict[str, Any]  # arguments of `jr.read`, or of the reader of a format
    fitted: FittedParams | None = None  # the file that system and hyperparameters come from
    plain: bool = False  # whether to learn from results alone

    @property
    def learns_from_all_evidence(self) -> bool:
        """Whether the system and all that it learns from are those of the file: nothing else is named."""
        return not (self.plain or self.name is not None or self.changes)


def pop_request(values: dict[str, Any]) -> RatingRequest:
    """The request of a command with `system_options` and `reading_options`, taken out of its values."""
    columns = pop_columns(values)
    file, name, params, period, plain = map(values.pop, ("file", "name", "params", "period", "plain"))
    if name is not None:
        lazy.make_system(name, {})  # raises errors before the file is read
    changes, files = parse_params(params)
    if len(files) > 1:
        raise ValueError(f"--param names the files {' and '.join(map(str, files))}; name one")
    request = RatingRequest(file or "", name, changes, period, columns, plain=plain)
    if not files:
        return request
    fitted = load_fitted(files[0])
    if name not in (None, fitted.system):
        raise ValueError(f"{fitted.path} is of {fitted.system}, not {name}")
    period, changes = fitted.period if period is None else period, fitted.values | changes
    return request._replace(name=fitted.system, changes=changes, period=period, fitted=fitted)


def _parse_active(context: Any, parameter: click.Parameter, text: str) -> float | str:
    """A length of time, a share of the history, or "all"."""
    if text == "all":
        return text
    with suppress(ValueError):
        if isfinite(value := float(text)) and value > 0:
            return value
    raise ValueError(f"{parameter.opts[0]}={text}: write a number of days above 0, a share below 1, or all")


def _list_rule(name: str, metavar: str, text: str, **settings: Any) -> dict[str, CommandOption]:
    return {name: option(name, metavar, text, within="list", **settings)}


ACTIVE_TEXT = (
    "List players who played in the last DAYS, or below 1, in this share of the history.  [default: 365 if there are "
    "dates, else all]"
)
GAMES_TEXT = "Minimum games to be listed.  [default: 10 if 20 recent players have that many, else 0]"
SINCE_TEXT = "Start date of the changes.  [default: 365 days before the end, or half the history if that is less]"
LIST_RULES = {  # rules of every leaderboard
    **_list_rule("active", "DAYS|all", ACTIVE_TEXT, callback=_parse_active),
    **_list_rule("min_games", "NUMBER", GAMES_TEXT),
}
LEADERBOARD_RULES = {  # and of the leaderboards of `jaxrate rate`
    **LIST_RULES,
    **_list_rule(
        "cautious", "DEVIATIONS", "Rank by the rating minus this many deviations, as 3.  [default: 0]", least=0
    ),
    **_list_rule("category", "NAME", "Rank by strength in this category, as a surface or a mode."),
    **_list_rule("since", "DATE", SINCE_TEXT),
}


def list_option(rules: Mapping[str, CommandOption]) -> CommandOption:
    """The option --list: rules by which a leaderboard is made."""
    text = f"A rule of the leaderboard: {', '.join(rules)}; as active=all."
    return named_values_option("list", text, rules, to="rules")


KEEPS_PREDICTIONS = "it is for new runs; a saved run keeps its kind of predictions"
no_calibrate_option = option(
    "no-calibrate",
    text="Leave chances as a system with default hyperparameters predicts them.",
    excludes=("--state",),
    reason=KEEPS_PREDICTIONS,
)


LAYOUT_OPTIONS = {"format", *LAYOUT_ROLES}  # of which new ones replace all those of the saved run


def split_reading_options(rated: jr.History, options: dict[str, Any]) -> tuple[jr.History, dict[str, Any]]:
    """The run with the options that no function of it takes, as if saved with it; and the others."""
    saved = {name: x for name, x in options.items() if name not in get_type_hints(lazy.FixtureOptions)}
    columns = rated.options.get("columns", {}) | saved
    others = {name: x for name, x in options.items() if name not in saved}
    return rated._replace(options=rated.options | {"columns": columns}), others


def complete_request_from_saved_run(saved: jr.History, request: RatingRequest) -> RatingRequest:
    """The request, completed by the period and the columns of this run."""
    has_new_layout = bool(request.columns.keys() & LAYOUT_OPTIONS)
    replaced = {*LAYOUT_OPTIONS, "team"} if has_new_layout else set()
    columns = {key: x for key, x in saved.options.get("columns", {}).items() if key not in replaced}
    dates = lazy.date_format_of_history_file(saved)
    if dates is not None and "format" not in columns | request.columns:
        columns["dates"] = dates
    return request._replace(period=saved.period, columns=columns | request.columns)


def lock_output_folder(out: Path) -> None:
    """Make the folder if it does not exist; no other process saves into it until the command ends."""
    context = click.get_current_context()
    if not context.meta.get(__name__):
        out.mkdir(parents=True, exist_ok=True)
        context.with_resource(lazy.lock_folder(out))
        context.meta[__name__] = True
