"""Events: matches, rating periods and rounds, their builders and their checks.

Rules (see `jaxrate/core/system.py`) see one event. The containers hold one event or any batch of events, written
`[...]`.
Histories whose events differ in size are `Ragged`: the same container with the events end to end.

event_types.py     matches, rating periods and rounds, as arrays; groups of players that events join
event_builders.py  matches and rounds from columns, and rating periods from matches
column_checks.py   checks of columns, ids and times, and RowError, an error that names a row
dataset.py         Dataset: events with the names behind their ids
"""

from jaxrate.events.column_checks import MAX_ABS_DAYS as MAX_ABS_DAYS
from jaxrate.events.column_checks import MAX_ABS_TIME as MAX_ABS_TIME
from jaxrate.events.column_checks import MAX_REPORTED_ROWS as MAX_REPORTED_ROWS
from jaxrate.events.column_checks import MAX_WEIGHT as MAX_WEIGHT
from jaxrate.events.column_checks import MIN_WEIGHT as MIN_WEIGHT
from jaxrate.events.column_checks import RowError as RowError
from jaxrate.events.column_checks import add_contest_to_errors as add_contest_to_errors
from jaxrate.events.column_checks import as_event_time as as_event_time
from jaxrate.events.column_checks import check_clock as check_clock
from jaxrate.events.column_checks import fail_where as fail_where
from jaxrate.events.column_checks import is_date as is_date
from jaxrate.events.column_checks import rewrite_row_errors as rewrite_row_errors
from jaxrate.events.event_builders import NameFormatters as NameFormatters
from jaxrate.events.event_builders import build_rounds as build_rounds
from jaxrate.events.event_builders import check_contest_time_order as check_contest_time_order
from jaxrate.events.event_builders import count_better as count_better
from jaxrate.events.event_builders import doubts_about_single_participants as doubts_about_single_participants
from jaxrate.events.event_builders import matches as matches
from jaxrate.events.event_builders import period_end as period_end
from jaxrate.events.event_builders import period_number as period_number
from jaxrate.events.event_builders import periods as periods
from jaxrate.events.event_builders import rounds as rounds
from jaxrate.events.event_builders import team_ranks as team_ranks
from jaxrate.events.event_types import LAST_ID as LAST_ID
from jaxrate.events.event_types import Context as Context
from jaxrate.events.event_types import Matches as Matches
from jaxrate.events.event_types import Periods as Periods
from jaxrate.events.event_types import Ragged as Ragged
from jaxrate.events.event_types import Rounds as Rounds
from jaxrate.events.event_types import count_games as count_games
from jaxrate.events.event_types import count_teams as count_teams
from jaxrate.events.event_types import event_numbers as event_numbers
from jaxrate.events.event_types import has_teammates as has_teammates
from jaxrate.events.event_types import has_tied_teams as has_tied_teams
from jaxrate.events.event_types import number_connected_groups as number_connected_groups
from jaxrate.events.event_types import repeat_seat_mask as repeat_seat_mask
from jaxrate.events.event_types import seats as seats
from jaxrate.events.event_types import seats_per_row as seats_per_row
from jaxrate.events.event_types import slice_events as slice_events
