"""`jaxrate fit`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import jaxrate as jr
from jaxrate.cli import file_rating, options
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.command_framework import Output, command
from jaxrate.cli.options import FILE, SHARE, OutputFile, first_rows_option, library_option, option
from jaxrate.cli.terminal_tables import ProgressReport, TextTable

LOSS_TEXT = (
    "Loss: log_loss, brier, margin (of margins and goals), joint or pairwise (of contests).  "
    "[default: margin of goals, else log_loss]"
)
MAX_CALL_LENGTH = 400  # characters of a call that is printed
HINTS = {  # by the reason why a search ended without the best result
    "steps": "all steps are used; try more --steps",
    "diverged": "this is the best point found; start elsewhere with --param",
}


@command(
    FILE,
    *options.reading_options(),
    options.plain_option,
    first_rows_option,
    "System",
    *options.system_options("Starting or fixed value of a hyperparameter, or a FILE.toml; may be repeated."),
    option("outlook", text="Score the chances of win, draw and loss, or of every score."),
    "Fit",
    option("free", "NAME ...", "Hyperparameters to fit.  [default: all continuous ones that matter here]",
           multiple=True, most_words=inf),
    library_option("ahead", "loss", "NAME", text=LOSS_TEXT,
                   shell_complete=lambda context, option, text: [x for x in lazy.LOSSES if x.startswith(text)]),
    option("calibrated", text="Also fit a calibration of the predictions (a map of the log-odds)."),
    library_option("ahead", "warm_up", "GAMES", least=0),
    library_option("ahead", "data_share", "SHARE", **SHARE),
    library_option("fit", "starts", "NUMBER", least=1),
    library_option("fit", "steps", "NUMBER", least=1),
    library_option("ahead", "errors", "METHOD", type=options.library_choice("ahead", "ERROR_METHODS")),
    "Output",
    option("save", "FILE.toml", "Save the result, for jaxrate rate --param.", type=OutputFile()),
    usual=("a", "b", "score", "time", "system", "free", "param", "data-share", "save", "json"),
    examples=(
        "jaxrate fit games.csv --save fitted.toml",
        "jaxrate fit games.csv --system glicko --free c initial_deviation",
        "jaxrate fit games.csv --system skills --season season --data-share 0.8",
    ),
)  # fmt: skip
def fit(
    report: ProgressReport, first: int | None, outlook: bool, calibrated: bool, save: Path | None, **settings: Any
) -> Output:
    """Find the hyperparameters with which a system predicts FILE best, by the slopes of its loss.

    Every match is predicted before its result is used, and the mean loss is minimised. Prints the hyperparameters with
    standard errors, and names those that the file does not determine.

    As in rate, the system and the columns of FILE that it learns from are chosen by default; --plain learns from
    results alone.

    Exit code 1: the search did not converge. The result is printed and saved all the same.
    """
    request = options.pop_rating_request(settings)
    objective = jr.fitting.ahead(**{name: settings[name] for name in ("loss", "warm_up", "data_share", "errors")})
    data, request = file_rating.read_events_with_evidence(report, request, first)
    fitting = not settings["free"] or "side_advantage" in settings["free"]
    task = file_rating.make_rating_task(report, request, data, fitting=fitting, data_share=settings["data_share"])
    task = task._replace(system=_add_predictions(task.system, calibrated=calibrated, outlook=outlook))
    events = task.data.events if task.period is None else jr.periods(task.data.matches, task.period)
    result = _fit_with_progress(report, task, events, objective, settings)
    if save is not None:
        options.write_hyperparameters(save, result, task.system, task.period, Path(request.file).name)
        report.note(f"saved the hyperparameters to {save}")
    counts = lazy.describe_event_counts(len(task.data.rows), None if task.data.of_matches else len(events.start) - 1)
    nouns = lazy.name_rated({"noun": task.data.noun}).many
    periods = "" if task.period is None else f" in periods of {task.period:g}"
    is_done = result.converged or result.reason == "flat"  # the best result, whatever the open hyperparameters are
    sections: list[str | TextTable] = [
        f"{task.system.name}: {counts} of {len(task.data.players):,} {nouns}{periods}",
        _hyperparameter_table(result, task.system),
        "\n".join(_format_fit_summary(result, lazy.losses_with_parts_switched_off(result, task.system, events))),
    ]
    return Output(sections, _json_result(result, task, request.file), 0 if is_done else 1)


def _hyperparameter_table(fit_result: jr.fitting.Fit, start: jr.extend.RatingSystem) -> TextTable:
    """The fitted hyperparameters, and those of the system that the fit began with."""
    from jaxrate.fitting.fit_results import LEFT_ALIGNED, TABLE_HEADER

    name, *headings = TABLE_HEADER
    rows = [(key, f"{getattr(start.params, key):.5g}", *cells) for key, *cells in fit_result.table_rows()]
    return TextTable([name, "start", *headings], rows, LEFT_ALIGNED)


def _add_predictions(system: jr.extend.RatingSystem, *, calibrated: bool, outlook: bool) -> jr.extend.RatingSystem:
    """The system whose predictions are `calibrated`, or of all outcomes, if they are not yet."""
    if calibrated and "calibrated" not in lazy.wrapper_names(system):
        system = jr.forecasts.calibrate(system)
    return jr.forecasts.add_outcomes(system) if outlook and not lazy.has_outcome_wrapper(system) else system


def _fit_with_progress(
    report: ProgressReport, task: file_rating.RatingTask, events: Any, objective: Any, settings: dict[str, Any]
) -> jr.fitting.Fit:
    """`jr.fit` of a task, which shows its steps."""
    objective = lazy.choose_loss(objective._replace(key=lazy.make_fixed_key(task.system)), task.system)
    loss, steps = objective.loss.replace("_", " "), settings["steps"]
    with report.stage(f"fitting {task.system.name}") as update_progress:

        def watch(step: int, value: float) -> None:
            update_progress(step, f"step {step} of at most {steps}, {loss} {value:.4f}")

        free, starts = settings["free"] or None, settings["starts"]
        return jr.fit(task.system, events, free=free, objective=objective, watch=watch, steps=steps, starts=starts)


def _format_fit_summary(fit_result: jr.fitting.Fit, switch_off_losses: dict[str, Any]) -> Iterator[str]:
    """How good the fit is, why it ended, and how to use it, with the losses of what may be switched off."""
    yield fit_result.summary()
    better_off = [name for name, loss in switch_off_losses.items() if loss.off <= loss.start]
    for name in better_off:
        loss = switch_off_losses[name]
        losses = f"loss {loss.off:.5f} without it, {loss.start:.5f} with the value at the start"
        yield f"{name} is better switched off: --param {name}=none ({losses})"
    determined = [key for key in fit_result.free if key not in fit_result.open]
    if {*better_off} < {*fit_result.open} and determined:
        yield f"fit the others alone: --free {' '.join(determined)}"
    if hint := HINTS.get(fit_result.reason):
        yield hint
    if lazy.has_unclear_trend(fit_result):
        yield "side_trend is not clear; --param side_since=none leaves it out"
    call = re.sub(r"\d+\.\d+(e[-+]?\d+)?", lambda number: f"{float(number[0]):.6g}", repr(fit_result.system))
    if len(call) <= MAX_CALL_LENGTH:
        yield f"in Python: jr.{call}"


def _json_result(fit_result: jr.fitting.Fit, task: file_rating.RatingTask, file: str) -> dict[str, Any]:
    """The fit as values for JSON."""
    kept = "free", "idle", "open", "moved_bounds", "standard_error", "loss_history"
    return {
        "file": file,
        "system": task.system.name,
        "settings": dict(task.system.settings),
        "period": task.period,
        "params": fit_result.params._asdict(),
        "start": task.system.params._asdict(),
        **{name: getattr(fit_result, name) for name in kept},
        "ratios": {x.label: {"value": x.value, "low": x.low, "high": x.high} for x in fit_result.ratios},
        "loss": fit_result.objective.loss,
        "data_share": fit_result.objective.data_share,
        "rest": None if fit_result.held_out is None else fit_result.held_out._asdict(),
        "converged": fit_result.converged,
        "reason": fit_result.reason,
        "seconds": fit_result.seconds,
    }
