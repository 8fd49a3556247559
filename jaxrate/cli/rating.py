"""Rating a file by a system: the history, how well it was predicted, what the file is about, and times in it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import jaxrate as jr
from jaxrate.cli.commands import prefix_errors_with_file
from jaxrate.cli.input_options import is_about_colours, is_about_teams, is_shipped_dataset
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.shared_options import RatingRequest
from jaxrate.cli.system_selection import RatingTask, ScoredSystem, warn_worse_than_even
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


class TimeSpan(NamedTuple):
    """The times of --as-of and --list since, on the clock of the history."""

    until: float | None
    since: float | None


def parse_span(asked: RateOptions, clock: str | None, dates: str | None) -> TimeSpan:
    """The times that the options name, of a history by this clock whose file writes dates so."""
    texts = {"--as-of": asked.as_of, "--list since": asked.rules.get("since")}
    return TimeSpan(*(parse_time_option(name, text, clock, dates) for name, text in texts.items()))


def parse_time_option(option: str, text: str | None, clock: str | None, date_format: str | None) -> float | None:
    """The time that an option names: the end of a day or a moment if the matches have dates, else a number.

    Args:
      option: its name, for messages.
      text: its value, or None.
      clock: of the history: "dates", "numbers" or None.
      date_format: how dates are written in its file, as `dates` of `jr.read`.

    Raises:
      ValueError: if the history has no times, or if the text is none of its kind.
    """
    if text is None:
        return None
    if clock is None:
        raise ValueError(f"{option} needs times; name the column of time with --time")
    with suppress(ValueError):
        return _parse_number(text) if clock == "numbers" else _parse_end_of_date(text, date_format)
    if clock == "dates" and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        raise ValueError(f"{option} {text}: there is no such day")
    kind = "a number, as the times are" if clock == "numbers" else "a date, as in 2026-05-31"
    raise ValueError(f"{option} {text}: write {kind}")


def parse_library_time(option: str, text: str | None, clock: str | None) -> Any:
    """A time as functions of the library take it: a date as text where the history has dates, else a number."""
    if text is None or (clock == "dates" and any(map(str.isdigit, text))):
        return text
    with suppress(ValueError):
        if clock != "dates":
            return float(text)
    what = "a date, as 2026-05-20" if clock == "dates" else "a number, as the times are"
    raise ValueError(f"{option} {text}: write {what}")


def _parse_number(text: str) -> float:
    number = float(text)
    if not np.isfinite(number):
        raise ValueError
    return number


def _parse_end_of_date(text: str, date_format: str | None) -> float:
    """The last moment of a day, or a moment of it if the text has one."""
    from jaxrate.history.ratings_at_times import parse_written_date

    days = parse_written_date(text, date_format)
    return float(np.nextafter(days + 1, 0)) if ":" not in text and days == np.floor(days) else days


def time_of_shown_ratings(rated: jr.History, until: float | None) -> float | None:
    """The time of the ratings that are shown: the rating period in which a history ends is rated to its end."""
    from jaxrate.events import period_end

    if until is None or rated.period is None or rated.last is None or until < rated.last:
        return until
    return max(until, float(period_end(rated.last, rated.period)))


def note_time_outside_history(report: ProgressReport, rated: jr.History, until: float | None) -> None:
    """A note if --as-of is before the history, or so long after it that nobody plays any more."""
    from jaxrate.history.history import format_time
    from jaxrate.history.leaderboards import DEFAULT_ACTIVE_DAYS

    if until is None or rated.last is None or not len(rated.events["row"]):
        return
    first = float(rated.events["time"].min())
    if until < first or (rated.clock == "dates" and until > rated.last + DEFAULT_ACTIVE_DAYS + 1):
        ends = " to ".join(format_time(time, rated.clock) for time in (first, rated.last))
        report.note(f"--as-of is outside the history, which runs from {ends}")


def events_up_to(data: jr.data.Dataset, until: float, num_known_players: int) -> jr.data.Dataset:
    """The events up to a time, and their players; the first `num_known_players` stay in any case."""
    from jaxrate.events import slice_events

    flat: Any = data.events.flat
    count = int(np.argmax(np.append(flat.time, np.inf) > until))
    if count == 0:
        raise ValueError(f"no {data.events.nouns} up to --as-of")
    events = slice_events(data.events, 0, count)
    flat = events.flat
    keep_player = np.arange(len(data.players)) < num_known_players
    keep_player[flat.player] = True
    flat = flat._replace(player=(np.cumsum(keep_player, dtype=np.int32) - 1)[flat.player])
    return data._replace(
        events=events.with_flat(flat),
        players=data.players[keep_player],
        rows=data.rows[: len(flat.player)],
        contests=None if data.contests is None else data.contests[:count],
    )


def career_up_to(career: dict[str, Any], until: float | None) -> dict[str, Any]:
    """The career of a player up to a time."""
    from jaxrate.history.event_columns import times_to_event_clock

    return (
        career
        if until is None
        else {key: x[times_to_event_clock(career["time"]) <= until] for key, x in career.items()}
    )
