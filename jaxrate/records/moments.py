"""Moments of a history: which ones ratings can be as of."""

from contextlib import suppress
from typing import Any

import numpy as np

from jaxrate.data.dates import parse_date
from jaxrate.events import DAYS, as_moment, check_clock, dated
from jaxrate.records.rated import Rated, show_time
from jaxrate.replay.rows import traced
from jaxrate.smoothing.found import Smoothed
from jaxrate.system import State

LATER = (
    "ratings are those after the last event: `leaderboard` lists any date of a rated history, `rating_at` one player"
)


def moment(rated: Any, time: Any) -> Any:
    """A number or a date on the clock of a history; None, and what JAX traces, stay what they are.

    Text may be a date as it was written in the file of the history, or in another way that is clear, as 15/07/2010.

    Raises:
      ValueError: if it is neither, a date where the times of a rated history are no dates, or a number that is no
        day where they are.
    """
    if time is None or traced(time):
        return time
    if isinstance(rated, (Rated, Smoothed)) and dated(time):
        check_clock(rated.clock, time)
    now = parse_written_date(time, written_date_format(rated)) if isinstance(time, str) else as_moment("time", time)
    if getattr(rated, "clock", None) == "dates" and abs(now) > DAYS:
        raise ValueError(f"time {time} is no day since 1970-01-01; give a date, as 2026-05-31 in text")
    return now


def written_date_format(rated: Any) -> str | None:
    """How dates were written in the file of a history, as `dates` of `read`; None if they are those of ISO."""
    date_format: Any = rated.options.get("dates") if isinstance(rated, Rated) else None
    return date_format if isinstance(date_format, str) else None


def parse_written_date(text: str, date_format: str | None) -> float:
    """Days since 1970-01-01 of a date in ISO, or as it is written in a file, see `read`.

    Raises:
      ValueError: if it is neither, or if its day and month cannot be told apart.
    """
    with suppress(ValueError):
        return as_moment("time", text)
    try:
        return parse_date(text, date_format)
    except ValueError as error:
        if "day is above 12" in str(error):
            raise ValueError(f"time {text}: its day and month cannot be told apart; write 2026-05-31") from None
    return as_moment("time", text)  # which says what is wrong


def as_of(rated: Any, state: State, time: Any, players: Any = None) -> Any:
    """`moment`, which must not be before the last event of anybody.

    Args:
      rated: the rated history, or a system.
      state: its state. What has no clock knows no moments, and allows all.
      time: as in `ratings`.
      players: [num_players] names, or None.

    Raises:
      ValueError: as `moment`, or if somebody has played since: names the player, and the time of their last event.
    """
    now = moment(rated, time)
    ends = getattr(state, "time", None)
    if now is None or traced((now, ends)):
        return now
    known = rated if isinstance(rated, Rated) else None
    if ends is not None:
        ends = np.asarray(ends)
        played = np.where(np.isfinite(ends), ends, -np.inf)
        who = int(np.argmax(played)) if played.size else 0
        if played.size and now < played[who] - 4.0 * np.spacing(np.abs(ends[who])):  # of float32, perhaps
            _refuse(known, now, float(played[who]), _named(who, players))
    if known is not None and known.last is not None and now < known.last:
        _refuse(known, now, known.last, _last_player(known))
    return now


def _refuse(rated: Rated | None, now: float, last: float, player: str) -> None:
    clock = None if rated is None else rated.clock
    ended = "ended" if rated is not None and rated.period is not None else "was"
    early = f"time {show_time(now, clock)} is before the last event of {player}"
    raise ValueError(f"{early}, which {ended} at {show_time(last, clock)}; {LATER}")


def _named(who: int, players: Any) -> str:
    known = players is not None and len(players) > who
    return repr(np.asarray(players).tolist()[who]) if known else f"player {who}"


def _last_player(rated: Rated) -> str:
    """Who played last."""
    last = rated.predictions.slice(len(rated.predictions) - 1)
    return repr(last["player" if rated.contests is not None else "a"][0].as_py())
