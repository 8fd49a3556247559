"""Events: matches, rating periods and rounds, their builders and their checks.

Rules (see `jaxrate/core/system.py`) see one event. The containers hold one event or any batch of events, written
`[...]`.
Histories whose events differ in size are `Ragged`: the same container with the events end to end.

event_types.py                matches, rating periods and rounds, as arrays; groups of players that events join
match_and_period_builders.py  matches and periods from columns
round_builders.py             rounds from columns
column_checks.py              checks of columns, ids and times, and RowError, an error that names a row
dataset.py                    Dataset: events with the names behind their ids
"""

from jaxrate.events.column_checks import (
    MAX_ABS_DAYS,
    MAX_ABS_TIME,
    MAX_REPORTED_ROWS,
    RowError,
    add_advice_to_errors,
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
    event_numbers,
    has_teammates,
    has_tied_teams,
    number_connected_groups,
    repeat_seat_mask,
    seats,
    slice_events,
)
from jaxrate.events.match_and_period_builders import matches, period_end, period_number, periods
from jaxrate.events.round_builders import (
    NameFormatters,
    build_rounds,
    check_contest_time_order,
    count_better,
    doubts_about_single_participants,
    rounds,
    team_ranks,
)

__all__ = [
    "LAST_ID",
    "MAX_ABS_DAYS",
    "MAX_ABS_TIME",
    "MAX_REPORTED_ROWS",
    "Context",
    "Matches",
    "NameFormatters",
    "Periods",
    "Ragged",
    "Rounds",
    "RowError",
    "add_advice_to_errors",
    "add_contest_to_errors",
    "as_event_time",
    "build_rounds",
    "check_clock",
    "check_contest_time_order",
    "count_better",
    "count_games",
    "count_teams",
    "doubts_about_single_participants",
    "event_numbers",
    "fail_where",
    "has_teammates",
    "has_tied_teams",
    "is_date",
    "matches",
    "number_connected_groups",
    "period_end",
    "period_number",
    "periods",
    "repeat_seat_mask",
    "rounds",
    "seats",
    "slice_events",
    "team_ranks",
]
