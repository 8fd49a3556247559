"""Lines of ratings through a history, thinned to the ends of steps where they are long."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_number
from jaxrate.history.history import History
from jaxrate.history.participations import Participations
from jaxrate.plots.name_labels import player_labels_by_id
from jaxrate.plots.pictures import MAX_GREY_LINES, Line, UnnamedPlayers, quantile_bands, unnamed_lines
from jaxrate.plots.plot_inputs import check_ratings_finite
from jaxrate.plots.time_steps import YEAR, TimeSteps, default_steps

MIN_YEARS_WITHOUT_MONTHS = 5  # of a history from which on peaks are marked with years alone


def rating_lines(history: History, players: Any, skip: int = 0) -> list[Line]:
    """The lines of these players: a point before their first event, and one after each event.

    Without times, the axis counts a player's own events. With hindsight the first point is as the second. The first
    `skip` events of each player are left out.
    """
    history.check_has_events()
    rows = history.rows.once_per_event()
    labels = player_labels_by_id(players, history.players, len(history.players))
    lines = [_rating_line(history, rows, player, name) for player, name in labels.items()]
    for line in lines:
        count = len(line.x) - 1
        if not 0 <= skip < max(count, 1):
            limit = f"skip must be from 0 to {max(count - 1, 0)}"
            raise ValueError(f"{limit}, as {line.name} has {count:,} events, got {skip}")
    return [line.select(slice(skip, None)) for line in lines]


def _rating_line(history: History, rows: Participations, player: int, name: str) -> Line:
    begin, end = rows.start[player : player + 2]
    if begin == end:
        raise ValueError(f"{name} plays in none of these events")
    first = rows.after if rows.before.mean is None else rows.before
    mean, deviation = (
        None if x is None or left is None else np.append(x[begin], left[begin:end])
        for x, left in zip(first, rows.after, strict=True)
    )
    assert mean is not None
    check_ratings_finite(name, mean, deviation)
    if history.clock is None:
        return Line(name, np.arange(len(mean)), mean, deviation)
    return Line(name, history.display_times(np.append(rows.time[begin], rows.time[begin:end])), mean, deviation)


def other_rating_lines(history: History, others: Iterable[Any], named: Sequence[Line]) -> list[Line]:
    """The lines of these players, without those who have names."""
    names = {line.name for line in named}
    return [line for line in rating_lines(history, list(others)) if line.name not in names]


def time_axis_label(history: History) -> str:
    """What the lines of a history go by: "date", "time", or the number of a player's events."""
    numbers = {"matches": "matches played", "contests": "contests"}[history.nouns]
    return {"dates": "date", "numbers": "time", None: numbers}[history.clock]


def event_noun(history: History) -> str:
    """What one event is called."""
    return {"matches": "match", "contests": "contest"}[history.nouns]


def describe_begin(history: History, num_early: int) -> str:
    """A part of a subtitle: from when on there are ratings, if early ones are left out."""
    return f", from the tenth {event_noun(history)} on" if num_early else ""


def after_events(lines: Sequence[Line], num_early: int = 0) -> list[Line]:
    """Lines without their first points, and without those of so many early events where others follow."""
    return [line.select(slice(1 + num_early if len(line.x) > 1 + num_early else 1, None)) for line in lines]


def steps_of_lines(
    history: History, lines: Sequence[Line], others: Sequence[Line], span: float, length: float | None = None
) -> TimeSteps:
    """The steps for lines in a history of this span, counted back from its end."""
    last = history.last if history.last is not None else max(float(line.x[-1]) for line in [*lines, *others])
    return default_steps([line.x_numbers()[1:] for line in lines], last, span, history.clock == "dates", length)


def thin_lines(lines: Sequence[Line], steps: TimeSteps, num_early: int | None = None) -> list[Line]:
    """The ratings after the last event in each step; NaN where steps are missing, as the player is absent.

    The lines have ratings after events. The highest rating of all but those of `num_early` events, if these are given,
    is there, too, also if no step ends with it.
    """
    return [_thin_line(line, steps, None if num_early is None else _peak_point(line, num_early)) for line in lines]


def _thin_line(line: Line, steps: TimeSteps, highest: int | None) -> Line:
    at = line.x_numbers()
    step = steps.numbers(at)
    points = np.flatnonzero(np.append(step[1:] != step[:-1], True))
    if highest is not None:
        points = np.union1d(points, [highest])
    pause = at[np.minimum(points[:-1] + 1, len(at) - 1)] - at[points[:-1]]
    gaps = np.flatnonzero((-np.diff(step[points]) > 1) & (pause > steps.least_absence)) + 1
    thinned = line.select(np.insert(points, gaps, points[gaps]))
    is_missing = gaps + np.arange(len(gaps))
    for values in (thinned.y, thinned.deviation):
        if values is not None:
            values[is_missing] = np.nan
    if highest is None:
        return thinned
    peak = int(np.searchsorted(points, highest))
    return thinned._replace(peak=peak + int((gaps <= peak).sum()))


def _peak_point(line: Line, num_early: int) -> int | None:
    """The point of a line with the first highest rating after so many others; None of who has no more."""
    return num_early + int(np.argmax(line.y[num_early:])) if len(line.y) > num_early else None


def describe_gaps(lines: Sequence[Line]) -> str:
    """The end of a subtitle: why lines are interrupted, if one is."""
    is_broken = any(np.isnan(line.y).any() for line in lines)
    return ". Lines break where somebody did not play for long" if is_broken else ""


def unnamed_players(lines: Sequence[Line], steps: TimeSteps) -> UnnamedPlayers:
    """The line of each player, or of very many the bands of their ratings at the ends of steps."""
    return unnamed_lines(lines) if len(lines) <= MAX_GREY_LINES else _rating_bands(lines, steps)


def _rating_bands(lines: Sequence[Line], steps: TimeSteps) -> UnnamedPlayers:
    begin = min(float(line.x_numbers()[0]) for line in lines)
    ends = steps.ends(begin)
    values = np.full((len(lines), len(ends)), np.nan)
    for row, line in zip(values, lines, strict=True):
        is_known = ~np.isnan(line.y)
        row[len(ends) - 1 - steps.numbers(line.x_numbers()[is_known])] = line.y[is_known]  # of several, the last stays
    at = np.floor(ends).astype("datetime64[D]") if steps.is_dated else ends
    return quantile_bands(at, values)


def format_peak_time(at: Any, span_days: float) -> str:
    """The year of a date, or its month in a short history; another time as a number."""
    if not isinstance(at, np.datetime64):
        return format_number(round(float(at), 1))
    if span_days >= MIN_YEARS_WITHOUT_MONTHS * YEAR:
        return str(at.astype("datetime64[Y]"))
    return f"{at.astype('datetime64[D]').item():%b %Y}"


def times_span(lines: Sequence[Line]) -> float:
    """The time from the first point of these lines to the last."""
    numbers: list[HostArray] = [line.x_numbers() for line in lines]
    return float(max(x[-1] for x in numbers) - min(x[0] for x in numbers))
