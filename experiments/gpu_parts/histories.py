"""Simulated histories like those that people have, which are made anew wherever they are needed."""

from functools import lru_cache, wraps
from threading import Lock

import numpy as np

import jaxrate as jr
from jaxrate.data.simulate import contests, league

DAYS = 18_000.0  # half a century, as of tennis
TENNIS = {"history": "tennis", "matches": 936_248, "players": 33_693}  # with the skew that gives its 19,000 levels
UNIFORM = {"history": "uniform", "matches": 10_000_000, "players": 1_000_000}
PERIODS = {"history": "periods", "matches": 400_000, "players": 20_000}  # of two weeks
CATEGORIES = PERIODS | {"history": "periods, two categories"}
CONTESTS = {"history": "contests", "rounds": 1_087, "players": 100_000}  # of 3,000 participants, as of Codeforces
ROUNDS = {"history": "rounds of 2,048", "rounds": 300, "players": 50_000}  # what `gpu_programs.py` counts
SMALL = {"matches": 2_000, "rounds": 4, "players": 400}  # of the quick form
ACTIVITY = {"tennis": 0.66, "periods": 0.5, "periods, two categories": 0.5}
SIZES = {"contests": (500, 9_000), "rounds of 2,048": (2_048, 2_048)}
PERIOD = 14.0  # days


def resize_history(history, options):
    """A history of its size, or of that of the quick form."""
    return history | {key: SMALL[key] for key in history if key in SMALL} if options.quick else history


def keep_history(size):
    """A function whose last results are kept, and which no two threads compute at the same time."""

    def decorate(function):
        cached, lock = lru_cache(maxsize=size)(function), Lock()

        @wraps(function)
        def call(*arguments):
            with lock:
                return cached(*arguments)

        return call

    return decorate


@keep_history(8)
def simulate_history(history, players, matches=None, rounds=None, seed=0):
    """Matches, periods or rounds."""
    if rounds is not None:
        low, high = (min(size, players // 3) for size in SIZES[history])
        return contests(players, rounds, size=(max(low, 2), max(high, 2)), seed=seed, days=DAYS).rounds
    found = league(players, matches, seed=seed, days=DAYS, activity=ACTIVITY.get(history, 0.0)).matches
    if not history.startswith("periods"):
        return found
    if history == "periods, two categories":
        category = np.random.default_rng(seed).integers(0, 2, (matches, 2))
        found = found._replace(context=found.context._replace(category=category))
    return jr.periods(found, PERIOD)
