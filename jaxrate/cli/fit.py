"""`jaxrate fit`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import signature
from math import floor, inf, log10
from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli.commands import FILE, SHARE, Output, command, option
from jaxrate.cli.hyperparameters import write_fitted
from jaxrate.cli.input_options import first_rows_option, is_about_teams, read_events
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.library_options import library_choice, library_option
from jaxrate.cli.output_path_checks import check_output_file
from jaxrate.cli.shared_options import RatingRequest, request_options
from jaxrate.cli.system_selection import (
    RatingTask,
    check_system_request,
    choose_system,
    complete_goals_or_points_request,
    count_events_and_players,
    read_events_with_evidence,
    remove_side_advantages,
)
from jaxrate.cli.terminal_tables import ProgressReport, TextTable
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


@command(
    FILE,
    option("free", "NAME ...", "Hyperparameters to fit.  [default: all continuous ones that matter here]",
           multiple=True, most_words=inf),
    request_options("Starting or fixed value of a hyperparameter, or all of them by a file that fit --save wrote."),
    library_option("fit", "loss", "NAME", shell_complete=complete_losses),
    option("outlook", text="Score the chances of win, draw and loss, or of every score."),
    option("calibrated", text="Also fit a calibration of the predictions (a map of the log-odds)."),
    library_option("fit", "warm_up", "GAMES", least=0),
    first_rows_option,
    library_option("fit", "data_share", "SHARE", **SHARE),
    library_option("fit", "validation", "SHARE"),
    library_option("fit", "starts", "NUMBER", least=1),
    library_option("fit", "steps", "NUMBER", least=1),
    library_option("fit", "errors", "METHOD", type=library_choice("fit", "ERROR_METHODS")),
    option("save", "FILE.toml", "Save the result, for jaxrate rate --param."),
    usual=("a", "b", "score", "time", "system", "free", "param", "data-share", "save", "json"),
    groups={
        "Fit": ("free", "loss", "calibrated", "warm-up", "data-share", "validation", "starts", "steps", "errors"),
    },
    examples=(
        "jaxrate fit games.csv --save fitted.toml",
        "jaxrate fit games.csv --system glicko --free c initial_deviation",
        "jaxrate fit games.csv --system skills --season season --data-share 0.8",
    ),
)  # fmt: skip
def fit(
    report: ProgressReport, request: RatingRequest, first: int | None, outlook: bool,
    calibrated: bool, save: Path | None, **settings: Any,
) -> Output:  # fmt: skip
    """Find the hyperparameters with which a system predicts FILE best, by gradient descent.

    Every match is predicted before its result is used, and the mean loss is minimised. Prints the hyperparameters with
    standard errors, and names those that the file does not determine.

    As in rate, the system and the columns of FILE that it learns from are chosen by default; --plain learns from
    results alone.

    Exit code 1: the search did not converge. The result is printed and saved all the same.
    """
    from jaxrate.data.rounds_from_nested_teams import dataset_has_teams
    from jaxrate.fitting.losses import resolve_loss

    resolve_loss(settings["loss"] or "log_loss")
    check_system_request(request)
    check_output_file("--save", save, "fitted.toml")
    data, request = _read_events_to_fit(report, request, first)
    fitting = not settings["free"] or "side_advantage" in settings["free"]
    data_share = settings["data_share"] or 1.0
    task = choose_system(report, request, data, fitting=fitting, data_share=data_share)
    system = _add_predictions(task.system, calibrated=calibrated, outlook=outlook)
    result = _fit_with_progress(report, task._replace(system=system), settings)
    if save is not None:
        write_fitted(save, result, system, task.period, Path(request.file).name)
        values = (
            f"; of {join_names(result.open)}, left open, it has the values of the least loss" if result.open else ""
        )
        report.note(f"saved the hyperparameters to {save}{values}")
    if result.idle:
        report.note(f"no effect here, so not fitted: {', '.join(result.idle)}")
    are_teams = is_about_teams(request.file, request.columns) and not dataset_has_teams(task.data)
    title = f"{system.name}: {count_events_and_players(task, are_teams)}"
    is_done = result.converged or result.reason == "flat"  # the best result, whatever the open hyperparameters are
    sections: list[str | TextTable] = [title, hyperparameter_table(result, system), describe_fit(result)]
    return Output(sections, _json_result(result, system, request.file, task.period), 0 if is_done else 1)


def _read_events_to_fit(
    report: ProgressReport, request: RatingRequest, first: int | None
) -> tuple[jr.data.Dataset, RatingRequest]:
    """The events and what they are rated by, of the first rows alone if there is a number of them."""
    if first is None:
        return read_events_with_evidence(report, request)
    request = complete_goals_or_points_request(request)
    data = read_events(report, request.file, request.columns, first=first)
    return remove_side_advantages(data) if request.plain else data, request


def _add_predictions(system: jr.extend.RatingSystem, *, calibrated: bool, outlook: bool) -> jr.extend.RatingSystem:
    """The system whose predictions are `calibrated`, or of all outcomes, if they are not yet."""
    from jaxrate.systems.draw_probability_wrapper import has_outcome_wrapper
    from jaxrate.systems.prediction_wrapping import wrapper_names

    if calibrated and "calibrated" not in wrapper_names(system):
        system = jr.forecasts.calibrate(system)
    return jr.forecasts.add_outcomes(system) if outlook and not has_outcome_wrapper(system) else system


def _fit_with_progress(report: ProgressReport, task: RatingTask, settings: dict[str, Any]) -> jr.fitting.Fit:
    """`jr.fit` of a task, which shows its steps."""
    import jax

    from jaxrate.fitting.hyperparameter_fit import make_fixed_key

    loss, steps = (settings["loss"] or "log_loss").replace("_", " "), settings["steps"]
    events = task.data.events if task.period is None else jr.periods(task.data.matches, task.period)
    key = jax.random.key(0) if settings["starts"] > 1 else make_fixed_key(task.system)
    with report.stage(f"fitting {task.system.name}") as update_progress:

        def watch(step: int, value: float) -> None:
            update_progress(step, f"step {step} of at most {steps}, {loss} {value:.4f}")

        return jr.fit(task.system, events, **settings | {"free": settings["free"] or None}, key=key, watch=watch)


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
    call = format_factory_call(fit_result.system)
    lines = [
        *_describe_losses(fit_result),
        *([fit_result.describe_ratios()] if fit_result.ratios else []),
        *_describe_open_hyperparameters(fit_result),
        *fit_result.cautions,
        *([f"in Python: {call}"] if call else []),
        f"({len(fit_result.loss_history) - 1} steps in {fit_result.seconds:.1f} s, compilation included)",
    ]
    return "\n".join(lines)


def _describe_losses(fit_result: jr.fitting.Fit) -> Iterator[str]:
    """The losses of the fitted, the validating and the held-out part."""
    loss_name, history = fit_result.options.loss.replace("_", " "), fit_result.loss_history
    ending = STOP_REASONS[fit_result.reason]
    yield f"{loss_name} {history[0]:.5f} at the start, {fit_result.loss:.5f} now: {ending}"
    validation, held_out = fit_result.validation_history, fit_result.held_out
    if validation is not None:
        yield f"of the validation part {validation[0]:.5f} at the start, {np.nanmin(validation):.5f} now"
    if held_out is not None:
        yield f"of the {held_out.scored:,} predictions of the rest, which was not fitted: {loss_name}"
        rest = {"with the start": held_out.start, "fitted": held_out.fitted, "a constant forecast": held_out.constant}
        yield from (f"  {what:<21}{value:.5f}" for what, value in rest.items() if np.isfinite(value))


def _describe_open_hyperparameters(fit_result: jr.fitting.Fit) -> list[str]:
    """Which hyperparameters the file does not determine."""
    open_names = [key for key in fit_result.open if key not in fit_result.scaled_together]
    determined = [key for key in fit_result.free if key not in open_names]
    hint = f"; fit the others alone: --free {' '.join(determined)}" if determined else ""
    return [f"left open: {', '.join(open_names)}, of which this file says next to nothing{hint}"] if open_names else []


def format_factory_call(system: jr.extend.RatingSystem) -> str:
    """The call that makes a system, with what differs from its defaults in 6 digits; "" where it cannot be written."""
    from jaxrate.systems.prediction_wrapping import wrapper_names

    if system.factory is None or wrapper_names(system):
        return ""
    defaults = {name: about.default for name, about in signature(system.factory).parameters.items()}
    changed = _different(system.settings, defaults)
    try:
        first = system.factory(**changed).params._asdict()
    except ValueError:
        return ""
    changed |= _different(system.params._asdict(), first)
    if not _can_be_written(changed):
        return ""
    texts = {name: f"{value:.6g}" if isinstance(value, float) else repr(value) for name, value in changed.items()}
    return f"jr.{system.factory.__name__}({', '.join(f'{name}={text}' for name, text in texts.items())})"


def _different(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value != defaults.get(name)}


def _can_be_written(values: dict[str, Any]) -> bool:
    """Whether the values of a call are few, and numbers or texts."""
    flat = [x for value in values.values() for x in (value if isinstance(value, tuple) else [value])]
    return len(flat) <= MAX_CALL_LENGTH and all(x is None or isinstance(x, (int, float, str)) for x in flat)


def _json_result(
    fit_result: jr.fitting.Fit, system: jr.extend.RatingSystem, file: str, period: float | None
) -> dict[str, Any]:
    """The result for JSON."""
    kept = "free", "idle", "open", "moved_bounds", "standard_error", "loss_history", "validation_history"
    return {
        "file": file,
        "system": system.name,
        "settings": dict(system.settings),
        "period": period,
        "params": fit_result.params._asdict(),
        "start": system.params._asdict(),
        **{name: getattr(fit_result, name) for name in kept},
        "ratios": {x.label: {"value": x.value, "low": x.low, "high": x.high} for x in fit_result.ratios},
        "loss": fit_result.options.loss,
        "data_share": fit_result.options.data_share,
        "rest": None if fit_result.held_out is None else fit_result.held_out._asdict(),
        "converged": fit_result.converged,
        "reason": fit_result.reason,
        "seconds": fit_result.seconds,
    }
