"""The kinds of event, their host-side builders and the checks at the door.

Rules (see `system.py`) see one event; the containers hold one event or any batch of them, written `[...]`. Histories
whose events differ in size are `Ragged`: the same container with the events end to end.

kinds.py     Context, Matches, Periods, Rounds, Ragged, and parts of a history
pairwise.py  matches, periods
ranked.py    rounds
checks.py    what every column must be, and RowError
moments.py   times, as numbers or as dates
"""

from jaxrate.events.column_checks import (
    DAYS,
    FARTHEST_TIME,
    MAX_REPORTED_ROWS,
    RowError,
    add_contest_to_errors,
    as_event_time,
    check_clock,
    fail_where,
    is_date,
)
from jaxrate.events.event_types import (
    LAST_ID,
    Context,
    Matches,
    Periods,
    Ragged,
    Rounds,
    count_games,
    count_teams,
    further_seats,
    has_teammates,
    has_tied_teams,
    slice_events,
)
from jaxrate.events.match_builders import matches, period_end, period_number, periods
from jaxrate.events.round_builders import (
    NameFormatters,
    build_rounds,
    check_contest_time_order,
    count_better,
    rounds,
    warn_single_participant,
)

__all__ = [
    "DAYS",
    "FARTHEST_TIME",
    "LAST_ID",
    "MAX_REPORTED_ROWS",
    "Context",
    "Matches",
    "NameFormatters",
    "Periods",
    "Ragged",
    "Rounds",
    "RowError",
    "add_contest_to_errors",
    "as_event_time",
    "build_rounds",
    "check_clock",
    "check_contest_time_order",
    "count_better",
    "count_games",
    "count_teams",
    "fail_where",
    "further_seats",
    "has_teammates",
    "has_tied_teams",
    "is_date",
    "matches",
    "period_end",
    "period_number",
    "periods",
    "rounds",
    "slice_events",
    "warn_single_participant",
]
