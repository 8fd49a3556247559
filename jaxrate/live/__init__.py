"""Live ratings: rated histories that are continued by one match or contest at a time.

event_checks.py    checks of one event of a live history: its kind, its players and its time
event_log.py       the log of a live history
event_programs.py  programs that rate one event in place, each compiled once for all events of one structure
history_start.py   where live ratings begin: at a system, or at a rated history
live_history.py    a live history
live_matches.py    single matches: checked, and packed for the live program
live_ratings.py    ratings that are kept up to date as results come in, one by one
live_state.py      the state of a live history
single_events.py   single events from a caller's arguments: checked as columns are, and turned back into arguments
"""

from jaxrate.live.history_start import start_history
from jaxrate.live.live_ratings import Live

__all__ = [
    "Live",
    "start_history",
]


def __dir__() -> list[str]:
    return __all__
