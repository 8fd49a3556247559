"""Options that several commands share, and leaderboards and saved runs by them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import click

import jaxrate as jr
from jaxrate.cli.hyperparameters import FittedParams, load_fitted, parse_params
from jaxrate.cli.input_options import pop_columns
from jaxrate.cli.options import CommandOption, named_values_option, option
from jaxrate.data.column_role_definitions import LAYOUT_ROLES

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
    from jaxrate.systems.system_construction_by_name import make_system

    columns = pop_columns(values)
    file, name, params, period, plain = map(values.pop, ("file", "name", "params", "period", "plain"))
    if name is not None:
        make_system(name, {})  # raises errors before the file is read
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
    from jaxrate.forecasts.upcoming_events import FixtureOptions

    saved = {name: x for name, x in options.items() if name not in get_type_hints(FixtureOptions)}
    columns = rated.options.get("columns", {}) | saved
    others = {name: x for name, x in options.items() if name not in saved}
    return rated._replace(options=rated.options | {"columns": columns}), others


def complete_request_from_saved_run(saved: jr.History, request: RatingRequest) -> RatingRequest:
    """The request, completed by the period and the columns of this run."""
    from jaxrate.history.ratings_at_times import date_format_of_history_file

    has_new_layout = bool(request.columns.keys() & LAYOUT_OPTIONS)
    replaced = {*LAYOUT_OPTIONS, "team"} if has_new_layout else set()
    columns = {key: x for key, x in saved.options.get("columns", {}).items() if key not in replaced}
    dates = date_format_of_history_file(saved)
    if dates is not None and "format" not in columns | request.columns:
        columns["dates"] = dates
    return request._replace(period=saved.period, columns=columns | request.columns)


def lock_output_folder(out: Path) -> None:
    """Make the folder if it does not exist; no other process saves into it until the command ends."""
    from jaxrate.storage.atomic_folder import lock_folder

    context = click.get_current_context()
    if not context.meta.get(__name__):
        out.mkdir(parents=True, exist_ok=True)
        context.with_resource(lock_folder(out))
        context.meta[__name__] = True
