"""Checks of one event of a live history: its kind, its players and its time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrate.core.system import RatingSystem
from jaxrate.events import MAX_ABS_TIME, Matches, as_event_time, check_clock
from jaxrate.history.history import format_time
from jaxrate.history.ratings_at_times import date_format_of_history_file, parse_written_date
from jaxrate.live.events_from_arguments import EVENT_NAMES, check_player_name_storable
from jaxrate.live.live_state import LiveState
from jaxrate.replay.contest_checks import depends_on_time


def check_event_kind(system: RatingSystem, current: LiveState, kind: type) -> None:
    """ValueError unless the system rates such events and the history consists of them."""
    if kind not in system.events:
        hint = "give a match as a contest of two, by update_round" if kind is Matches else "take update"
        raise ValueError(f"{system.name} rates no {EVENT_NAMES[kind]}; {hint}")
    if current.kind not in (None, kind):
        raise ValueError(f"the history is of {EVENT_NAMES[current.kind]}, this is one of {EVENT_NAMES[kind]}")


def find_or_assign_player_ids(current: LiveState, players: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """The ids of players, where newcomers come after all others, and the names of newcomers."""
    known_ids, ids = current.ids, []
    newcomers: list[Any] = []
    for name in players:
        try:
            player_id = known_ids.get(name)
        except TypeError:
            player_id = None
        if player_id is None:
            check_player_name_storable(name, (*current.names[:1], *newcomers))
            name = name.item() if isinstance(name, np.generic) else name
            if name not in newcomers:
                newcomers.append(name)
            player_id = current.players + newcomers.index(name)
        ids.append(player_id)
    return ids, newcomers


def convert_event_time(current: LiveState, time: Any) -> float:
    """The time of an event as a number; ValueError unless the events so far have such times."""
    if time is None:
        if current.clock is not None:
            raise ValueError("the events so far have times; give time=")
        return 0.0
    if current.kind is not None and current.clock is None:
        raise ValueError("the events so far have no times; leave out time")
    clock, is_plain_float = current.clock, type(time) is float and -MAX_ABS_TIME <= time <= MAX_ABS_TIME
    if clock is not None and not (is_plain_float and clock == "numbers"):
        check_clock(clock, time)
    if isinstance(time, str):  # as in the file of the history, or in another form that is clear
        return parse_written_date(time, date_format_of_history_file(current.past.table))
    event_time: float = time if is_plain_float else as_event_time("time", time)
    return event_time


def check_and_convert_event_time(system: RatingSystem, current: LiveState, time: Any) -> float:
    """The time of the next event as a number; ValueError also if it is earlier than the last."""
    event_time, last = convert_event_time(current, time), current.last
    if last is not None and event_time < last and (current.kind is Matches or depends_on_time(system, system.params)):
        early, late = (format_time(x, current.clock) for x in (event_time, last))
        raise ValueError(f"time {early} is earlier than {late}, that of the last event")
    return event_time


def resolve_prediction_time(system: RatingSystem, current: LiveState, time: Any) -> float:
    """The time of a prediction."""
    return (current.last or 0.0) if time is None else check_and_convert_event_time(system, current, time)
