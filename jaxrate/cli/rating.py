"""Rating a file by a system: the history, how well it was predicted, what the file is about, and times in it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import isfinite
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import jaxrate as jr
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.commands import prefix_errors_with_file
from jaxrate.cli.input_options import is_about_colours, is_about_teams, is_shipped_dataset
from jaxrate.cli.lazy_imports import np
from jaxrate.cli.shared_options import RatingRequest
from jaxrate.cli.system_selection import RatingTask, note_worse_than_constant
from jaxrate.cli.terminal_tables import ProgressReport, warnings_as_notes
from jaxrate.core.text_format import contest_metrics_notes, format_count, metric_heading


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


class TimeSpan(NamedTuple):
    """The times of --as-of and --list since, on the clock of the history."""

    until: float | None = None
    since: float | None = None


class Rating(NamedTuple):
    """A rated history, and what is known about it beside."""

    history: jr.History
    span: TimeSpan = TimeSpan()
    text: str = ""  # how long it took, and how well it was predicted
    metrics: Mapping[str, Any] = {}  # of the predictions
    hindsight: jr.History | None = None


def rate_and_evaluate_task(
    report: ProgressReport, task: RatingTask, request: RatingRequest, saved: jr.History | None = None
) -> Rating:
    """Rate, carrying on from a saved run if there is one, and score the predictions."""
    system, data, period, calibrate = task
    kind, count = ("match" if data.of_matches else "contest"), len(data.events.start) - 1
    counts = format_count(count, kind if saved is None else f"new {kind}")
    with report.stage(f"rating {counts}"), prefix_errors_with_file(request.file), warnings_as_notes(report):
        start = time.perf_counter()
        history = jr.rate(system, data, period=period, onto=saved, calibrate=calibrate)
        seconds = time.perf_counter() - start
    counts += "" if data.of_matches else f", {format_count(len(data.rows), 'participation')}"
    metrics = lazy.evaluate_predictions(history, data)
    note_worse_than_constant(report, data, system.name, request.changes, metrics)
    lines = [
        f"{counts} in {seconds:.2f} s, compilation included",
        *metric_lines(metrics),
        *lazy.describe_constant_forecast(data, loss=metrics.get("log loss")),
        *calibration_lines(history.system, history.options),
    ]
    return Rating(history, text="\n".join(lines).replace("FILE", quote(request.file)), metrics=metrics)


def metric_lines(metrics: Mapping[str, float | None]) -> list[str]:
    """A line for each metric, and one that explains those of contests."""
    texts = {metric_heading(name): lazy.format_metric(name, value) for name, value in metrics.items()}
    width, digits = max(map(len, texts)) + 1, max(map(len, texts.values()))
    return [*(f"{name:<{width}}{text:>{digits}}" for name, text in texts.items()), *contest_metrics_notes(metrics)]


def calibration_lines(system: jr.extend.RatingSystem, options: Mapping[str, Any]) -> list[str]:
    """Whether and how the predictions of a history with these options are calibrated."""
    text = lazy.describe_calibration(system, options)
    return [text + " (--no-calibrate turns this off.)" * (lazy.OPTION in options)] if text else []


def check_players_exist(data: jr.data.Dataset, names: Iterable[str]) -> None:
    """ValueError if one of these names is of no player."""
    for name in names:
        lazy.find_player_id(data.players, name)


def describe_file(request: RatingRequest, data: jr.data.Dataset, before: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a file is about teams, sides and colours, or goes on with such a run, and where it is from."""
    file, columns = request.file, request.columns
    are_teams = is_about_teams(file, columns) and not lazy.dataset_has_teams(data)  # whose members are rated
    facts: dict[str, Any] = {
        "sided": lazy.has_sides(data),
        "teams": are_teams or bool(before.get("teams")),
        "colours": is_about_colours(file, columns) or bool(before.get("colours")),
    }
    return facts | ({"source": jr.data.datasets.NFL_SOURCE} if is_shipped_dataset(file) else {})


def smooth_task(report: ProgressReport, task: RatingTask) -> jr.History:
    """The history with hindsight; ValueError for a system that has none."""
    if task.system.name != "skills":  # of its forms `smooth` says which it lacks
        raise ValueError(f"--show hindsight needs --system skills: {task.system.name} has no hindsight")
    kind = "matches" if task.data.of_matches else "participations"
    with report.stage(f"smoothing {len(task.data.rows):,} {kind}"):
        return jr.smooth(task.system, task.data)


def parse_span(asked: RateOptions, clock: str | None, dates: str | None) -> TimeSpan:
    """The times that the options name, of a history by this clock whose file writes dates so.

    They are the end of a day or a moment where the matches have dates, else numbers.
    """
    texts = {"--as-of": asked.as_of, "--list since": asked.rules.get("since")}
    if clock is None and (named := [name for name, text in texts.items() if text is not None]):
        raise ValueError(f"{named[0]} needs times; name the column of time with --time")
    values = (parse_library_time(option, text, clock) for option, text in texts.items())
    return TimeSpan(*(_end_of_date(x, dates) if isinstance(x, str) else x for x in values))


def parse_library_time(option: str, text: str | None, clock: str | None) -> Any:
    """A time as functions of the library take it: a date as text where the history has dates, else a number."""
    if text is None:
        return None
    with suppress(ValueError):
        if clock == "dates":
            lazy.parse_written_date(text, None)
            return text
        if isfinite(number := float(text)):
            return number
    what = "there is no such date; write one as 2026-05-31" if clock == "dates" else "write a number, as the times are"
    raise ValueError(f"{option} {text}: {what}")


def _end_of_date(text: str, date_format: str | None) -> float:
    """The last moment of a day, or a moment of it if the text has one."""
    days = lazy.parse_written_date(text, date_format)
    return float(np.nextafter(days + 1, 0)) if ":" not in text and days == np.floor(days) else days


def note_time_outside_history(report: ProgressReport, rated: jr.History, until: float | None) -> None:
    """A note if --as-of is before the history, or so long after it that nobody plays any more."""
    if until is None or rated.last is None or not len(rated.events["row"]):
        return
    first, last = float(rated.events["time"].min()), rated.last
    if until < first or (rated.clock == "dates" and until > last + lazy.DEFAULT_ACTIVE_DAYS + 1):
        ends = f"{lazy.format_time(first, rated.clock)} to {lazy.format_time(last, rated.clock)}"
        report.note(f"--as-of is outside the history, which runs from {ends}")


def events_up_to(data: jr.data.Dataset, until: float, num_known_players: int) -> jr.data.Dataset:
    """The events up to a time, and their players; the first `num_known_players` stay in any case."""
    is_later = np.asarray(data.events.flat.time) > until
    keep = ~np.logical_or.accumulate(is_later)
    if not keep.any():
        raise ValueError(f"no {data.events.nouns} up to --as-of")
    return lazy.select_events(data, keep, num_known_players)
