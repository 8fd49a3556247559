"""Live ratings: rated histories that are continued by one match or contest at a time.

live_ratings.py             results are checked and kept, and ratings are up to date as they come in, one by one
"""

from jaxrate.live.live_ratings import Live, start_history

__all__ = [
    "Live",
    "start_history",
]


def __dir__() -> list[str]:
    return __all__
