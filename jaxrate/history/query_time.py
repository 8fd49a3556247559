"""Query times: the times as of which ratings of a history are asked for, parsed and checked."""

from contextlib import suppress
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import is_traced
from jaxrate.core.rules import State
from jaxrate.data.date_parsing import parse_date
from jaxrate.events import MAX_ABS_DAYS, as_event_time, check_clock, is_date
from jaxrate.history.history import History, format_time

PAST_RATINGS_HINT = (
    "ratings are those after the last event: `leaderboard` lists any date of a rated history, `rating_at` one player"
)


def parse_query_time(rated: Any, time: Any) -> Any:
    """A query time as a number on the clock of a history; None and traced values stay as they are.

    Text may be a date as written in the file of the history, or in another unambiguous form, as 15/07/2010.

    Raises:
      ValueError: if it is neither, a date where the times of a rated history are no dates, or a number that is no
        day where they are.
    """
    if time is None or is_traced(time):
        return time
    if isinstance(rated, History) and is_date(time):
        check_clock(rated.clock, time)
    query_time = (
        parse_written_date(time, date_format_of_history_file(rated))
        if isinstance(time, str)
        else as_event_time("time", time)
    )
    if getattr(rated, "clock", None) == "dates" and abs(query_time) > MAX_ABS_DAYS:
        raise ValueError(f"time {time} is no day since 1970-01-01; give a date, as 2026-05-31 in text")
    return query_time


def date_format_of_history_file(rated: Any) -> str | None:
    """The format of dates in the file of a history, as `dates` of `read`; None for ISO dates."""
    date_format: Any = rated.options.get("dates") if isinstance(rated, History) else None
    return date_format if isinstance(date_format, str) else None


def parse_written_date(text: str, date_format: str | None) -> float:
    """Days since 1970-01-01 of a date in ISO, or as it is written in a file, see `read`.

    Raises:
      ValueError: if it is neither, or if its day and month cannot be told apart.
    """
    with suppress(ValueError):
        return as_event_time("time", text)
    try:
        return parse_date(text, date_format)
    except ValueError as error:
        if "day is above 12" in str(error):
            raise ValueError(f"time {text}: its day and month cannot be told apart; write 2026-05-31") from None
    return as_event_time("time", text)  # which says what is wrong


def parse_time_after_last_events(rated: Any, state: State, time: Any, players: Any = None) -> Any:
    """The query time as `parse_query_time` returns it, which must not be before the last event of any player.

    Args:
      rated: the rated history, or a system.
      state: its state. A state without times allows any query time.
      time: as in `ratings`.
      players: [num_players] names, or None.

    Raises:
      ValueError: as `parse_query_time`, or if somebody has played since: names the player and the time of their last
        event.
    """
    query_time = parse_query_time(rated, time)
    last_times = getattr(state, "time", None)
    if query_time is None or is_traced((query_time, last_times)):
        return query_time
    history = rated if isinstance(rated, History) else None
    if last_times is not None:
        last_times = np.asarray(last_times)
        last_played = np.where(np.isfinite(last_times), last_times, -np.inf)
        latest_player = int(np.argmax(last_played)) if last_played.size else 0
        if last_played.size and query_time < last_played[latest_player] - 4.0 * np.spacing(
            np.abs(last_times[latest_player])
        ):  # of float32, perhaps
            _raise_too_early(
                history, query_time, float(last_played[latest_player]), _player_label(latest_player, players)
            )
    if history is not None and history.last is not None and query_time < history.last:
        _raise_too_early(history, query_time, history.last, _last_event_player_label(history))
    return query_time


def _raise_too_early(rated: History | None, query_time: float, last: float, player: str) -> None:
    clock = None if rated is None else rated.clock
    verb = "ended" if rated is not None and rated.period is not None else "was"
    message = f"time {format_time(query_time, clock)} is before the last event of {player}"
    raise ValueError(f"{message}, which {verb} at {format_time(last, clock)}; {PAST_RATINGS_HINT}")


def _player_label(player_id: int, players: Any) -> str:
    has_name = players is not None and len(players) > player_id
    return repr(np.asarray(players).tolist()[player_id]) if has_name else f"player {player_id}"


def _last_event_player_label(rated: History) -> str:
    """The player of the last event, for messages."""
    return repr(rated.players.tolist()[rated.events["player"][-1, 0]])
