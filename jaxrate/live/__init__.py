"""Live ratings: rated histories that are continued by one match or contest at a time."""

from jaxrate.live.history_start import start_history
from jaxrate.live.live_ratings import Live

__all__ = [
    "Live",
    "start_history",
]


def __dir__() -> list[str]:
    return __all__
