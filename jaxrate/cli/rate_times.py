"""Times of `jaxrate rate`: as of which it shows ratings, and since when changes."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, NamedTuple

import jaxrate as jr
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.rating import RateOptions
from jaxrate.cli.terminal_tables import ProgressReport


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
