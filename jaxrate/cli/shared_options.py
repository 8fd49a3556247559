"""Options that several commands share, and leaderboards and saved runs by them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

import click

import jaxrate as jr
from jaxrate.cli.hyperparameters import FittedParams, load_fitted, parse_params
from jaxrate.cli.input_options import reading_options
from jaxrate.cli.output_path_checks import NonEmptyPath
from jaxrate.cli.terminal_tables import TextTable, first_rows_caption, name_teams, to_text_table
from jaxrate.data.column_role_definitions import LAYOUT_ROLES

if TYPE_CHECKING:
    from jaxrate.history.leaderboards import Leaderboard

SYSTEM_HELP = "Rating system; jaxrate systems lists them.  [default: by the columns of the file]"

PARAMS_FILE_HELP = "System and hyperparameters, as saved by jaxrate fit --save."


class RatingRequest(NamedTuple):
    """The system that the options ask for, and how to read the file."""

    name: str | None  # of the system
    changes: dict[str, Any]  # of its hyperparameters
    period: float | None  # the length of rating periods
    columns: dict[str, Any]  # arguments of `jr.read`, or of the reader of a format
    fitted: FittedParams | None = None  # the file that system and hyperparameters come from


def request_options(param: str = "Set a hyperparameter; may be repeated.", *, files: bool) -> Callable[[Any], Any]:
    """Options --system, --param, --period and those of columns, and --params if there may be `files` of them.

    The command gets a `RatingRequest` as `request`. ValueError if no system can be made of it.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run_command(
            *args: Any,
            name: str | None,
            params: tuple[str, ...],
            period: float | None,
            options: dict[str, Any],
            fit: Path | None = None,
            **arguments: Any,
        ) -> None:
            changes = parse_params(params)
            fitted = None if fit is None else load_fitted(fit)
            if fitted is not None:
                if name not in (None, fitted.system):
                    raise ValueError(f"{fit} is of {fitted.system}, not {name}")
                name, changes = fitted.system, fitted.values | changes
                period = fitted.period if period is None else period
            command(*args, request=RatingRequest(name, changes, period, options, fitted), **arguments)

        options = [
            system_option(help=SYSTEM_HELP),
            click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help=param),
            period_option(help="Rate in periods of this length.  [default: match by match]"),
            reading_options(),
        ]
        if files:
            path = NonEmptyPath(path_type=Path)
            options.insert(1, click.option("--params", "fit", type=path, metavar="FILE.toml", help=PARAMS_FILE_HELP))
        decorated_command: Any = run_command
        for option in reversed(options):
            decorated_command = option(decorated_command)
        return decorated_command

    return decorate


def complete_systems(context: Any, parameter: Any, incomplete: str) -> list[str]:
    return [name for name in jr.extend.SYSTEMS if name.startswith(incomplete)]


def system_option(**options: Any) -> Callable[[Any], Any]:
    """--system, completed by the shell."""
    return click.option("--system", "name", shell_complete=complete_systems, metavar="NAME", **options)


def period_option(**options: Any) -> Callable[[Any], Any]:
    """--period, checked."""

    def check(context: Any, parameter: Any, value: float | None) -> float | None:
        if value is not None and not 0 < value < float("inf"):
            raise ValueError(f"--period must be above 0, got {value:g}")
        return value

    return click.option("--period", type=float, metavar="DAYS", callback=check, **options)


def parse_whole_number(text: str | int) -> int:
    """A whole number, also written as 1e6."""
    try:
        return int(text)
    except ValueError:
        value = _finite_or_none(text)
        if value is None or value % 1:
            raise click.BadParameter(f"{text!r} is no whole number") from None
        return int(value)


def check_finite(context: Any, parameter: Any, value: float | None) -> float | None:
    """A callback of options: click lets nan and inf pass."""
    if value is not None and not isfinite(value):
        raise ValueError(f"{parameter.opts[0]} must be a finite number, got {value:g}")
    return value


def _finite_or_none(text: str | int) -> float | None:
    """A finite number, or None."""
    with suppress(ValueError):
        value = float(text)
        return value if isfinite(value) else None
    return None


def share_option(name: str, **options: Any) -> Callable[[Any], Any]:
    """A share of the matches or contests, such as --last, checked."""

    def check(context: Any, parameter: Any, value: float) -> float:
        if not 0 < value <= 1:
            raise ValueError(f"{name} must be above 0 and at most 1, got {value:g}")
        return value

    return click.option(name, type=float, metavar="SHARE", callback=check, **options)


def _parse_active(context: Any, parameter: Any, text: str | None) -> Any:
    """A length of time, a share of the history, or "all"."""
    if text is None or text == "all":
        return text
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not (isfinite(value) and value > 0):
        raise ValueError(f"--active {text}: write a number of days above 0, a share below 1, or all")
    return value


LEADERBOARD_OPTIONS = (
    click.option("--active", metavar="DAYS|all", callback=_parse_active, help="List players who played in the "
                 "last DAYS, or below 1, in this share of the history.  [default: 365 if there are dates, else all]"),
    click.option("--min-games", type=click.IntRange(min=0), metavar="NUMBER", help="Minimum games to be "
                 "listed.  [default: 10 if 20 recent players have that many, else 0]"),
    click.option("--cautious", type=click.FloatRange(min=0.0), default=0.0, callback=check_finite, metavar="NUMBER",
                 help="Rank by the rating minus NUMBER deviations, as 3.  [default: 0]"),
)  # fmt: skip


def leaderboard_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options of leaderboards; the command gets arguments of `jr.leaderboard` as `leaderboard_arguments`."""

    @wraps(command)
    def run_command(*args: Any, active: Any, min_games: int | None, cautious: float, **arguments: Any) -> None:
        command(
            *args, leaderboard_arguments={"active": active, "min_games": min_games, "cautious": cautious}, **arguments
        )

    decorated: Any = run_command
    for option in reversed(LEADERBOARD_OPTIONS):
        decorated = option(decorated)
    return decorated


def leaderboard_table(board: Leaderboard, *, are_teams: bool = False) -> TextTable:
    """The board to print, of players or of teams; its caption names options where Python names arguments."""
    from jaxrate.history.leaderboards import ALL_PLAYERS_HINT, FEWER_GAMES_HINT

    caption = board.scope.replace(ALL_PLAYERS_HINT, "--active all for everybody")
    caption = caption.replace(FEWER_GAMES_HINT, FEWER_GAMES_HINT.replace("min_games", "--min-games"))
    lines = caption, first_rows_caption(len(board.rank), board.num_listed, "players")
    table = to_text_table(board, "\n".join(filter(None, lines)))
    return name_teams(table) if are_teams else table


LAYOUT_OPTIONS = {"format", *LAYOUT_ROLES}  # of which new ones replace all those of the saved run


def split_reading_options(rated: jr.History, options: dict[str, Any]) -> tuple[jr.History, dict[str, Any]]:
    """The run with the options that no function of it takes, as if saved with it; and the others."""
    from jaxrate.forecasts.upcoming_events import FixtureOptions

    saved = {name: x for name, x in options.items() if name not in get_type_hints(FixtureOptions)}
    columns = rated.options.get("columns", {}) | saved
    others = {name: x for name, x in options.items() if name not in saved}
    return rated._replace(options=rated.options | {"columns": columns}), others


def complete_request_from_saved_run(saved: jr.History, request: RatingRequest) -> RatingRequest:
    """The request, completed by the options of this run; ValueError for another system, hyperparameter or period."""
    from jaxrate.history.ratings_at_times import date_format_of_history_file
    from jaxrate.systems.draw_probability_wrapper import has_outcome_wrapper
    from jaxrate.systems.system_construction_by_name import make_system

    if request.fitted is not None:
        raise ValueError("--params is for new runs; the saved run has its own")
    requested = make_system(request.name or saved.system.name, {})
    if requested.name != saved.system.name:
        raise ValueError(
            f"the saved run is of {saved.system.name}, not {requested.name}; rate its matches again by {requested.name}"
        )
    saved_values = dict(saved.system.settings) | saved.system.params._asdict()
    system = make_system(requested.name, saved_values | request.changes)
    if has_outcome_wrapper(saved.system) and not has_outcome_wrapper(system):
        system = jr.forecasts.add_outcomes(system)
    if (system.params, system.rules) != (saved.system.params, saved.system.rules):
        differing = ", ".join(f"{key}={saved_values[key]}" for key in request.changes)
        raise ValueError(f"the saved run has {differing}; continue without --param, or rate its matches again")
    if request.period not in (None, saved.period):
        manner = "match by match" if saved.period is None else f"in periods of {saved.period:g}"
        raise ValueError(f"the saved run was rated {manner}; continue without --period, or rate its matches again")
    saved_columns = saved.options.get("columns", {})
    kept_columns = {
        key: x
        for key, x in saved_columns.items()
        if not (key in {*LAYOUT_OPTIONS, "team"} and request.columns.keys() & LAYOUT_OPTIONS)
    }
    if (dates := date_format_of_history_file(saved)) is not None and "format" not in kept_columns | request.columns:
        kept_columns["dates"] = dates
    return request._replace(period=saved.period, columns=kept_columns | request.columns)


def lock_output_folder(out: Path) -> None:
    """Make the folder if it does not exist; no other process saves into it until the command ends."""
    from jaxrate.storage.atomic_folder import lock_folder

    context = click.get_current_context()
    if not context.meta.get(__name__):
        out.mkdir(parents=True, exist_ok=True)
        context.with_resource(lock_folder(out))
        context.meta[__name__] = True


def save_run(out: Path, rated: jr.History, tables: dict[str, Any], csv: bool, csv_safe: bool) -> str:
    """Save the run and further tables by name, if `csv_safe` for spreadsheets; those of an earlier run are removed.

    Returns what run with more matches or contests it replaced, in words, or "".
    """
    from jaxrate.history.saved_runs import describe_longer_run, make_run_metadata, write_run
    from jaxrate.storage.atomic_folder import OPTIONAL_FILES

    other_files: dict[str, Any] = dict.fromkeys(OPTIONAL_FILES)
    if csv or csv_safe:
        other_files |= {"ratings.csv": jr.history.rating_table(rated), "predictions.csv": rated.predictions}
    for name, columns in tables.items():
        other_files |= {f"{name}.csv": columns} if csv or csv_safe else {f"{name}.parquet": columns}
    lock_output_folder(out)
    longer_run = describe_longer_run(out, rated)
    write_run(out, rated, make_run_metadata(rated), other_files, csv_safe)
    return longer_run
