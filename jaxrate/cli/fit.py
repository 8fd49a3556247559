"""`jaxrate fit`."""

from __future__ import annotations

import json
import sys
from inspect import signature
from itertools import pairwise
from math import floor, log10
from pathlib import Path
from typing import Any

import click

import jaxrate as jr
from jaxrate.cli.hyperparameters import write_fitted
from jaxrate.cli.input_options import VariadicColumnOptionsCommand, first_rows_option, is_about_teams, read_events
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.output_path_checks import NonEmptyPath, check_output_file
from jaxrate.cli.shared_options import RatingRequest, request_options, share_option
from jaxrate.cli.system_selection import (
    check_system_request,
    choose_system,
    complete_goals_or_points_request,
    plain_option,
    read_events_with_evidence,
    remove_side_advantages,
)
from jaxrate.cli.terminal_tables import ProgressReport, TextTable, print_escaped, print_sections, report_options
from jaxrate.core.text_format import join_names

MOVED = "pushed"
MAX_CALL_LENGTH = 40  # values of a call that is printed
STOP_REASONS = {
    "gradient": "converged",
    "no further decrease": "converged",
    "flat": "converged, apart from the hyperparameters left open",
    "validation": "stopped early, as the validation loss no longer fell",
    "steps": "not converged: all steps used; try more --steps",
    "diverged": "diverged: this is the best point found; start elsewhere with --param",
}


def complete_losses(context: Any, parameter: Any, incomplete: str) -> list[str]:
    from jaxrate.fitting.losses import LOSSES

    return [name for name in LOSSES if name.startswith(incomplete)]


class VariadicFreeOptionCommand(VariadicColumnOptionsCommand):
    """--free takes one name or several, as long as another word is left for FILE."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if not any(arg.partition("=")[0] == "--free" for arg in args):
            return super().parse_args(context, args)
        from jaxrate.systems.system_construction_by_name import PREDICTION_WRAPPERS

        names = {field for make in jr.extend.SYSTEMS.values() for field in make().params._fields}
        names |= {field for _, fields in PREDICTION_WRAPPERS.values() for field in fields}
        covariates = [arg.partition("=")[2] for arg in args if arg.startswith("--covariates=")]
        covariates += [arg for before, arg in pairwise(args) if before == "--covariates"]
        names |= {*covariates}  # whose weights have their names
        split: list[str] = []
        for arg in args:
            if split[-2:-1] == ["--free"] and arg in names:
                split.append("--free")
            split += arg.split("=", 1) if arg.startswith("--free=") else [arg]
        return super().parse_args(context, split)


@click.command(
    cls=VariadicFreeOptionCommand,
    groups={
        "Fit": ("free", "loss", "calibrated", "warm-up", "data-share", "validation", "starts", "steps", "errors"),
    },
    examples=(
        "jaxrate fit games.csv --save fitted.toml",
        "jaxrate fit games.csv --system glicko --free c initial_deviation",
        "jaxrate fit games.csv --system skills --season season --data-share 0.8",
    ),
)
@click.argument("file", metavar="FILE", type=NonEmptyPath())
@click.option("--free", multiple=True, metavar="NAME ...",
              help="Hyperparameters to fit.  [default: all continuous ones that matter here]")  # fmt: skip
@plain_option
@request_options("Starting or fixed value of a hyperparameter; may be repeated.", files=False)
@click.option("--loss", metavar="NAME", default="log_loss", show_default=True, shell_complete=complete_losses,
              help="Loss to minimise: log_loss, brier, margin (of margins), joint, pairwise (contests).")  # fmt: skip
@click.option("--outlook", is_flag=True,
              help="Score the chances of win, draw and loss, or of every score.")  # fmt: skip
@click.option("--calibrated", is_flag=True, help="Also fit a calibration of the predictions (a map of the log-odds).")
@click.option("--warm-up", type=click.FloatRange(min=0), default=0, metavar="GAMES",
              help="Do not score each player's first GAMES; below 1, the first share of all events.")  # fmt: skip
@first_rows_option
@share_option("--data-share", default=1.0,
              help="Fit the first SHARE of the file, as 0.8, and score the rest.  [default: all]")  # fmt: skip
@click.option("--validation", type=float, default=0.0, metavar="SHARE",
              help="Hold out the last SHARE of the fitted part for early stopping, as 0.2.")  # fmt: skip
@click.option("--starts", type=click.IntRange(min=1), default=1, show_default=True, metavar="NUMBER",
              help="Number of starting points; all but one are random.")  # fmt: skip
@click.option("--steps", type=click.IntRange(min=1), default=100, show_default=True, metavar="NUMBER",
              help="Maximum number of steps.")  # fmt: skip
@click.option("--errors", type=click.Choice(["information", "products", "sandwich"]), metavar="METHOD",
              help="Standard errors from the curvature (information), the gradients (products) or both (sandwich).  "
              "[default: information; products for long histories; sandwich for contests]")  # fmt: skip
@click.option("--save", type=NonEmptyPath(path_type=Path), metavar="FILE.toml",
              help="Save the result, for jaxrate rate --params.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@report_options
def fit(
    report: ProgressReport,
    file: str,
    free: tuple[str, ...],
    request: RatingRequest,
    loss: str,
    outlook: bool,
    calibrated: bool,
    warm_up: float,
    data_share: float,
    validation: float,
    starts: int,
    steps: int,
    errors: str | None,
    save: Path | None,
    as_json: bool,
    first: int | None,
    plain: bool,
) -> None:
    """Find the hyperparameters with which a system predicts FILE best, by gradient descent.

    Every match is predicted before its result is used, and the mean loss is minimised. Prints the hyperparameters with
    standard errors, and names those that the file does not determine.

    As in rate, the system and the columns of FILE that it learns from are chosen by default; --plain learns from
    results alone.

    Exit code 1: the search did not converge. The result is printed and saved all the same.
    """
    import jax

    from jaxrate.data.rounds_from_nested_teams import dataset_has_teams
    from jaxrate.fitting.hyperparameter_fit import make_fixed_key
    from jaxrate.fitting.losses import resolve_loss
    from jaxrate.systems.draw_probability_wrapper import has_outcome_wrapper
    from jaxrate.systems.prediction_wrapping import wrapper_names

    resolve_loss(loss)
    loss_words = loss.replace("_", " ")
    check_system_request(request)
    if save is not None:
        check_output_file("--save", save, "fitted.toml")
    if first is None:
        data, request = read_events_with_evidence(report, file, request, plain=plain)
    else:
        request = complete_goals_or_points_request(file, request)
        data = read_events(report, file, request.columns, first=first)
        data = remove_side_advantages(data) if plain else data
    fitting = not free or "side_advantage" in free
    system, data, period, _ = choose_system(report, request, data, file, fitting=fitting, data_share=data_share)
    contests = not data.of_matches
    events = data.events if period is None else jr.periods(data.matches, period)
    if calibrated and "calibrated" not in wrapper_names(system):
        system = jr.forecasts.calibrate(system)
    if outlook and not has_outcome_wrapper(system):
        system = jr.forecasts.add_outcomes(system)
    with report.stage(f"fitting {system.name}") as update_progress:
        result = jr.fit(
            system,
            events,
            free=free or None,
            loss=loss,
            warm_up=warm_up,
            data_share=data_share,
            validation=validation,
            starts=starts,
            steps=steps,
            errors=errors,
            key=jax.random.key(0) if starts > 1 else make_fixed_key(system),
            watch=lambda step, value: update_progress(
                step, f"step {step} of at most {steps}, {loss_words} {value:.4f}"
            ),
        )
    if save is not None:
        write_fitted(save, result, system, period, Path(file).name)
        open_names = (
            f"; of {join_names(result.open)}, left open, it has the values of the least loss" if result.open else ""
        )
        report.note(f"saved the hyperparameters to {save}{open_names}")
    if result.idle:
        report.note(f"no effect here, so not fitted: {', '.join(result.idle)}")
    plural = "teams" if is_about_teams(file, request.columns) and not dataset_has_teams(data) else "players"
    count = f"{len(data.rows):,} {'participations' if contests else 'matches'} of {len(data.players):,} {plural}"
    if as_json:
        print_escaped(json.dumps(_json_result(result, system, file, period), indent=2))
    else:
        periods = "" if period is None else f" in periods of {period:g}"
        print_sections(f"{system.name}: {count}{periods}", hyperparameter_table(result, system), describe_fit(result))
    if not (
        result.converged or result.reason == "flat"
    ):  # "flat" is the best result, whatever the open hyperparameters are
        sys.exit(1)


def hyperparameter_table(fit_result: jr.fitting.Fit, system: jr.extend.RatingSystem) -> TextTable:
    """The fitted hyperparameters of the system that the fit began with."""
    head = ["hyperparameter", "start", "fitted", "standard error", "unit"]
    errors = {key: "open" if key in fit_result.open else f"{x:.2g}" for key, x in fit_result.standard_error.items()}
    rows = [
        (
            key,
            f"{getattr(system.params, key):.5g}",
            _format_to_error(getattr(fit_result.params, key), fit_result.standard_error.get(key)),
            errors.get(key, MOVED),
            getattr(system.space, key).unit,
        )
        for key in system.params._fields
        if key in fit_result.free or getattr(fit_result.params, key) != getattr(system.params, key)
    ]
    lines = [f"{row[0]}: {getattr(system.space, row[0]).meaning}" for row in rows]
    if any(MOVED in row for row in rows):
        lines.append(f"{MOVED}: a bound that a fitted hyperparameter has moved")
    caption = "\n".join(lines)
    return TextTable(head, rows, ("hyperparameter", "unit"), caption)


def _format_to_error(value: float, error: float | None) -> str:
    """A value in the digits that its standard error allows, two digits of the error; in five where that is unknown."""
    if error is None or not 0 < error < float("inf"):
        return f"{value:.5g}"
    return f"{value:.{max(0, 1 - floor(log10(error)))}f}"


def describe_fit(fit_result: jr.fitting.Fit) -> str:
    """How good the fit is, why it ended, and how to use it."""
    loss_name = fit_result.options.loss.replace("_", " ")
    lines = [
        f"{loss_name} {fit_result.loss_history[0]:.5f} at the start, {fit_result.loss:.5f} now: "
        f"{STOP_REASONS[fit_result.reason]}"
    ]
    if fit_result.validation_history is not None:
        first, best = fit_result.validation_history[0], np.nanmin(fit_result.validation_history)
        lines.append(f"of the validation part {first:.5f} at the start, {best:.5f} now")
    if fit_result.held_out is not None:
        lines.append(
            f"of the {fit_result.held_out.scored:,} predictions of the rest, which was not fitted: {loss_name}"
        )
        rest = {
            "with the start": fit_result.held_out.start,
            "fitted": fit_result.held_out.fitted,
            "a constant forecast": fit_result.held_out.constant,
        }
        lines += [f"  {what:<21}{value:.5f}" for what, value in rest.items() if np.isfinite(value)]
    if fit_result.ratios:
        lines.append(fit_result.describe_ratios())
    if open_names := [key for key in fit_result.open if key not in fit_result.scaled_together]:
        determined = [key for key in fit_result.free if key not in open_names]
        hint = f"; fit the others alone: --free {' '.join(determined)}" if determined else ""
        lines.append(f"left open: {', '.join(open_names)}, of which this file says next to nothing{hint}")
    lines += fit_result.cautions
    if call := format_factory_call(fit_result.system):
        lines.append(f"in Python: {call}")
    lines.append(f"({len(fit_result.loss_history) - 1} steps in {fit_result.seconds:.1f} s, compilation included)")
    return "\n".join(lines)


def format_factory_call(system: jr.extend.RatingSystem) -> str:
    """The call that makes a system, with what differs from its defaults in 6 digits; "" where it cannot be written."""
    from jaxrate.systems.prediction_wrapping import wrapper_names

    if system.factory is None or wrapper_names(system):
        return ""
    defaults = {name: about.default for name, about in signature(system.factory).parameters.items()}
    changed = {name: value for name, value in system.settings.items() if value != defaults.get(name)}
    try:
        first = system.factory(**changed).params._asdict()
    except ValueError:
        return ""
    changed |= {name: value for name, value in system.params._asdict().items() if value != first.get(name)}
    flat = [x for value in changed.values() for x in (value if isinstance(value, tuple) else [value])]
    if len(flat) > MAX_CALL_LENGTH or not all(x is None or isinstance(x, (int, float, str)) for x in flat):
        return ""
    texts = {name: f"{value:.6g}" if isinstance(value, float) else repr(value) for name, value in changed.items()}
    return f"jr.{system.factory.__name__}({', '.join(f'{name}={text}' for name, text in texts.items())})"


def _json_result(
    fit_result: jr.fitting.Fit, system: jr.extend.RatingSystem, file: str, period: float | None
) -> dict[str, Any]:
    """The result for JSON, in which None stands for what is not finite."""

    def number(x: float) -> float | None:
        return float(x) if np.isfinite(x) else None

    validation = None if fit_result.validation_history is None else [number(x) for x in fit_result.validation_history]
    return {
        "file": file,
        "system": system.name,
        "settings": dict(system.settings),
        "period": period,
        "params": fit_result.params._asdict(),
        "start": system.params._asdict(),
        "free": fit_result.free,
        "idle": fit_result.idle,
        "open": fit_result.open,
        "moved_bounds": fit_result.moved_bounds,
        "ratios": {x.label: {"value": x.value, "low": x.low, "high": x.high} for x in fit_result.ratios},
        "standard_error": {key: number(x) for key, x in fit_result.standard_error.items()},
        "loss": fit_result.options.loss,
        "loss_history": [number(x) for x in fit_result.loss_history],
        "validation_history": validation,
        "data_share": fit_result.options.data_share,
        "rest": None
        if fit_result.held_out is None
        else {key: number(x) for key, x in fit_result.held_out._asdict().items()},
        "converged": fit_result.converged,
        "reason": fit_result.reason,
        "seconds": fit_result.seconds,
    }
