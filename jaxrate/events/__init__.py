"""The kinds of event, their host-side builders and the checks at the door.

Rules (see `system.py`) see one event; the containers hold one event or any batch of them, written `[...]`. Histories
whose events differ in size are `Ragged`: the same container with the events end to end.

kinds.py     Context, Matches, Periods, Rounds, Ragged, and parts of a history
pairwise.py  matches, periods
ranked.py    rounds
checks.py    what every column must be, and RowError
moments.py   times, as numbers or as dates
"""

from jaxrate.events.checks import TOLD, RowError, fail_where, in_contest
from jaxrate.events.kinds import (
    LAST_ID,
    Array,
    Context,
    Matches,
    Periods,
    Ragged,
    Rounds,
    count_games,
    count_teams,
    further_seats,
    part,
    some_in_teams,
    teams_tie,
)
from jaxrate.events.moments import DAYS, FAR, as_moment, check_clock, dated
from jaxrate.events.pairwise import matches, period_end, period_number, periods
from jaxrate.events.ranked import Shown, build_rounds, check_order, count_better, rounds, warn_alone

__all__ = [
    "DAYS",
    "FAR",
    "LAST_ID",
    "TOLD",
    "Array",
    "Context",
    "Matches",
    "Periods",
    "Ragged",
    "Rounds",
    "RowError",
    "Shown",
    "as_moment",
    "build_rounds",
    "check_clock",
    "check_order",
    "count_better",
    "count_games",
    "count_teams",
    "dated",
    "fail_where",
    "further_seats",
    "in_contest",
    "matches",
    "part",
    "period_end",
    "period_number",
    "periods",
    "rounds",
    "some_in_teams",
    "teams_tie",
    "warn_alone",
]
