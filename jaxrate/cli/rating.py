"""Rating a file by a system: the history, how well it was predicted, and what the file is about."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import jaxrate as jr
from jaxrate.cli.input_options import is_about_colours, is_about_teams, is_shipped_dataset
from jaxrate.cli.shared_options import RatingRequest
from jaxrate.cli.system_selection import RatingTask, ScoredSystem, prefix_errors_with_file, warn_worse_than_even
from jaxrate.cli.terminal_tables import ProgressReport, warnings_as_notes
from jaxrate.core.text_format import contest_metrics_notes, format_count, metric_heading

if TYPE_CHECKING:
    from jaxrate.extend import RatingSystem


class RateOptions(NamedTuple):
    """What is rated, which questions are asked of it, and where it is saved; see the options of the command."""

    state: Path | None
    out: Path | None
    csv: bool
    no_calibrate: bool
    outlook: bool
    as_of: str | None
    players: tuple[str, ...]
    show: tuple[str, ...]
    top: int | None
    rules: dict[str, Any]  # of the leaderboard


class Rating(NamedTuple):
    """A rated history, and what is known about it beside."""

    history: jr.History
    text: str  # how long it took, and how well it was predicted
    metrics: dict[str, float]  # of the predictions
    tables: dict[str, Any]  # further ones to save, by name
    hindsight: jr.History | None = None


def rate_and_evaluate_task(
    report: ProgressReport, task: RatingTask, request: RatingRequest, saved: jr.History | None = None
) -> Rating:
    """Rate, carrying on from a saved run if there is one, and score the predictions."""
    from jaxrate.evaluation.scored_predictions import describe_constant_forecast, evaluate_predictions

    system, data, period, calibrate = task
    kind, events = ("match", len(data.rows)) if data.of_matches else ("contest", len(data.rounds.player_start) - 1)
    count_text = format_count(events, kind if saved is None else f"new {kind}")
    with report.stage(f"rating {count_text}"), prefix_errors_with_file(request.file), warnings_as_notes(report):
        start = time.perf_counter()
        history = jr.rate(system, data, period=period, onto=saved, calibrate=calibrate)
        seconds = time.perf_counter() - start
    if not data.of_matches:
        count_text += f", {format_count(len(data.rows), 'participation')}"
    metrics = evaluate_predictions(history, data)
    warn_worse_than_even(report, data, ScoredSystem(system.name, request.changes, metrics, period))
    constant = describe_constant_forecast(data, loss=metrics.get("log loss"))
    lines = [
        f"{count_text} in {seconds:.2f} s, compilation included",
        *metric_lines(metrics),
        *(line.replace("FILE", quote(request.file)) for line in constant),
        *calibration_lines(history.system, history.options),
    ]
    return Rating(history, "\n".join(lines), metrics, {})


def check_players_exist(data: jr.data.Dataset, names: Iterable[str]) -> None:
    """ValueError if one of these names is of no player."""
    from jaxrate.history.history import find_player_id

    for name in names:
        find_player_id(data.players, name)


def describe_file(request: RatingRequest, data: jr.data.Dataset, rated: jr.History | None = None) -> dict[str, Any]:
    """Whether a file is about teams, sides and colours, or goes on with a history that is; and where it is from."""
    from jaxrate.data.rounds_from_nested_teams import dataset_has_teams
    from jaxrate.systems.system_construction_by_name import has_sides

    file, columns = request.file, request.columns
    before = {} if rated is None else rated.options
    are_teams = is_about_teams(file, columns) and not dataset_has_teams(data)  # whose members are rated
    facts: dict[str, Any] = {
        "sided": has_sides(data),
        "teams": are_teams or bool(before.get("teams")),
        "colours": is_about_colours(file, columns) or bool(before.get("colours")),
    }
    return facts | ({"source": jr.data.datasets.NFL_SOURCE} if is_shipped_dataset(file) else {})


def metric_lines(metrics: Mapping[str, float | None]) -> list[str]:
    """A line for each metric, and one that explains those of contests."""
    from jaxrate.evaluation.scored_predictions import format_metric

    texts = {metric_heading(name): format_metric(name, value) for name, value in metrics.items()}
    width, digits = max(map(len, texts)) + 1, max(map(len, texts.values()))
    return [*(f"{name:<{width}}{text:>{digits}}" for name, text in texts.items()), *contest_metrics_notes(metrics)]


def calibration_lines(system: RatingSystem, options: Mapping[str, Any]) -> list[str]:
    """Whether and how the predictions of a history with these options are calibrated."""
    from jaxrate.history.online_calibration import OPTION, describe_calibration

    text = describe_calibration(system, options)
    return [text + " (--no-calibrate turns this off.)" * (OPTION in options)] if text else []


def smooth_task(report: ProgressReport, task: RatingTask) -> jr.History:
    """The history with hindsight; ValueError for a system that has none."""
    if task.system.name != "skills":  # of its forms `smooth` says which it lacks
        raise ValueError(f"--show hindsight needs --system skills: {task.system.name} has no hindsight")

    kind = "matches" if task.data.of_matches else "participations"
    with report.stage(f"smoothing {len(task.data.rows):,} {kind}"):
        return jr.smooth(task.system, task.data)


def smoothed_event_columns(smoothed: jr.History, data: jr.data.Dataset) -> dict[str, Any]:
    """Columns of matches, or of participations in contests: ratings after each, and predictions from all others."""
    hidden = {"participants", "teams", "team", *(["time"] if data.clock is None else [])}
    return {name.replace("_after", ""): x for name, x in smoothed.columns().items() if name not in hidden}
