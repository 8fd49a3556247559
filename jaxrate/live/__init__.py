"""Live ratings: rated histories that are continued by one match or contest at a time.

event_checks.py                checks of one event of a live history: its kind, its players and its time
event_record_layout.py         the log of a live history
compiled_event_programs.py     programs that rate one event in place
history_start.py               where live ratings begin: at a system, or at a rated history
live_history.py                a live history
match_checking_and_packing.py  single matches: checked, and packed for the live program
live_ratings.py                ratings that are kept up to date as results come in, one by one
live_state.py                  the state of a live history
events_from_arguments.py       single events from a caller's arguments
"""

from jaxrate.live.history_start import start_history
from jaxrate.live.live_ratings import Live

__all__ = [
    "Live",
    "start_history",
]


def __dir__() -> list[str]:
    return __all__
