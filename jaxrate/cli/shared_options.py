"""The options that several commands have, and the request that they make."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import click

import jaxrate as jr
from jaxrate.cli.hyperparameters import FittedParams, load_fitted, parse_params
from jaxrate.cli.input_options import reading_options
from jaxrate.cli.path_type import NonEmptyPath

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
