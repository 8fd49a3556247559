"""Live ratings: rated histories that are continued by one match or contest at a time.

event_packing.py            events of live histories, packed for compiled programs
compiled_event_programs.py  programs that rate one event in place
history_start.py            where live ratings begin: at a system, or at a rated history
live_history.py             a live history
live_ratings.py             ratings that are kept up to date as results come in, one by one
"""

from jaxrate.live.history_start import start_history
from jaxrate.live.live_ratings import Live

__all__ = [
    "Live",
    "start_history",
]


def __dir__() -> list[str]:
    return __all__
