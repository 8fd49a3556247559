"""Matches and rounds from columns, and rating periods from matches."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from jaxrate.core.argument_checks import check_not_traced, check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.events.column_checks import (
    MAX_ABS_TIME,
    RowError,
    add_contest_to_errors,
    as_event_times,
    check_category_ids_or_shares,
    check_further_columns,
    check_id_array,
    check_not_decreasing,
    check_number_column,
    fail_where,
    to_checked_numbers,
    to_checked_numbers_keeping_integers,
)
from jaxrate.events.event_types import Context, Matches, Periods, Ragged, Rounds

LARGEST_EXACT_FLOAT = 2.0**53  # numbers of periods up to here are distinct


def matches(
    player: Any,
    score: Any,
    time: Any = None,
    *,
    side: Any = None,
    weight: Any = None,
    category: Any = None,
    columns: Mapping[str, Any] | None = None,
) -> Matches:
    """Checked `Matches` from columns.

        jr.matches([[0, 1], [1, 2]], [1.0, 0.5], [0.0, 7.0])  # player 0 beats 1, who draws with 2 a week later

    Args:
      player: [n, 2] integer ids from 0 (`jaxrate.read` makes them from names).
      score: [n] of player 0 in [0, 1]; a draw is 0.5. Unbounded scores, as in poker, are out of scope.
      time: [n] finite, not decreasing, in days or any unit of one's own; or dates, which become days since 1970-01-01
        in UTC. None: 0 for all, so no time passes. In float32 a time is kept to 1 part in 10^7; if minutes matter in a
        history of decades, run in float64.
      side: [n] in [-1, 1]; 1 if player 0 has the side advantage (home, white), -1 if player 1 has. None: nobody.
      weight: [n] above 0; a match of weight w counts as w matches. None: 1.
      category: [n] or [n, 2] integers from 0: of the match or of each player in it; or [n, 2, C] shares of C categories
        that each player mixes, as a random race does, which sum to one.
      columns: by name, [n] numbers that a system reads of a match: `skills` reads margins, statistics and covariates,
        and
        a system of your own may read any. They travel with the matches. NaN stands for a missing number.

    Raises:
      ValueError: names the first bad row, counting from 0, and what is wrong with it.
    """
    context: Any = side, weight, category, columns
    return check_matches(Matches(player, score, time, Context(*context)))


def check_matches(matches: Matches) -> Matches:
    """The matches with their columns checked and in their types, as `matches` describes them."""
    player, score, time, context = matches
    n = np.size(score)
    player = check_id_array("player", player, (n, 2))
    fail_where(player[:, 0] == player[:, 1], lambda row: f"player {player[row, 0]} is on both sides; remove the row")
    score = check_number_column("score", score, n)
    time = np.zeros(n) if time is None else as_event_times(time, n)
    check_not_decreasing("time", time, "sort the matches by time")
    side, weight = (
        None if x is None else check_number_column(name, x, n)
        for name, x in (("side", context.side), ("weight", context.weight))
    )
    category = context.category
    if category is not None:
        check_not_traced("category", category)
        category = np.stack([category] * 2, axis=-1) if np.ndim(category) == 1 else category
        category = check_category_ids_or_shares(category, (n, 2))
    columns = check_further_columns(context.columns, n, "the context", Context._fields)
    return Matches(player, score, time, Context(side, weight, category, columns))


def check_events(events: Any) -> Any:
    """Matches with their columns checked; other events as they are, since their builders have checked them."""
    return check_matches(events) if isinstance(events, Matches) else events


@enforce_argument_annotations
def periods(matches: Matches, length: float | None = None, *, period: Any = None) -> Ragged:
    """Group matches into rating periods.

        jr.run(jr.glicko2(period=30.0), jr.periods(data.matches, 30.0))

    Args:
      matches: as from `matches` or `read`.
      length: of a period, in the unit of `matches.time`. Period k covers [k length, (k + 1) length), and the
        ratings after it are as of its end: see `ratings`.
      period: [n] period numbers that do not decrease, instead of a length; they become the time. Systems that age need
        to know how long a period is: `period=1` goes with numbers, `period=length` with a length. (`rate` sees to it.)

    Returns:
      `Ragged` periods, with pairs in the order of the matches. Periods without a match are not stored: players age by
      the clock at their next match, or when you ask for ratings as of a later time.

    Raises:
      ValueError: unless exactly one of length and period is given; for a length that is not positive, or too small
        beside
        the times; or if the period numbers decrease (names the row).
    """
    for name in ("player", "score", "time"):
        check_not_traced(name, getattr(matches, name))
    n = len(matches.score)
    is_either = (length is None) != (period is None)
    check_that(is_either, "give either the length of a period or the period of each match")
    if length is not None:
        number = period_number(matches.time, length)
        start = number * length
    else:
        number = start = to_checked_numbers("period", period, (n,)).astype(np.float64)
        check_not_decreasing("period", number, "sort the matches by period")
    first_match = np.flatnonzero(np.diff(number, prepend=np.nan))  # the first match of each period
    period_index = np.cumsum(np.diff(number, prepend=number[:1]) != 0)
    player = np.asarray(matches.player, np.int64)
    width = int(player.max(initial=0)) + 1
    key, local = np.unique((period_index[:, None] * width + player).ravel(), return_inverse=True)
    player_start = np.searchsorted(key // width, np.arange(len(first_match) + 1)).astype(np.int64)
    pair = (local.reshape(n, 2) - player_start[period_index][:, None]).astype(np.int32)
    context = matches.context
    context = context._replace(weight=np.ones(n) if context.weight is None else context.weight)
    return Ragged(
        Periods((key % width).astype(np.int32), pair, matches.score, start[first_match], context),
        player_start,
        np.append(first_match, n).astype(np.int64),
        None if length is None else float(length),
    )


def period_number(time: Any, length: float) -> HostArray:
    """[n] the number of the period of each time; ValueError unless the length is above 0 and large enough."""
    check_not_traced("the length of a period", length, "give a number; jr.scan takes a traced `time` of plan.but")
    time = np.asarray(time, np.float64)
    number = np.asarray(length)
    shown, is_number = format_value_for_error(length), number.ndim == 0 and number.dtype.kind in "biuf"
    check_that(is_number and 0 < length < math.inf, f"the length of a period must be above 0, got {shown}")
    check_that(length <= MAX_ABS_TIME, f"the length of a period must be at most {MAX_ABS_TIME:g}, got {shown}")
    farthest = float(np.abs(time).max(initial=0.0))
    shortest = f"the shortest that can be are of {farthest / LARGEST_EXACT_FLOAT:.2g}"
    is_told_apart = not farthest > LARGEST_EXACT_FLOAT * length  # NaN, no time, is of no period
    check_that(is_told_apart, f"periods of {length:g} are not told apart at time {farthest:g}; {shortest}")
    return np.floor(time / length)


def period_end(time: Any, length: float) -> HostArray:
    """[n] the end of the period in which each time lies: the start of the next one."""
    return (period_number(time, length) + 1.0) * length


class ParticipantColumns(TypedDict, total=False):
    """The columns of participants beside their rank: keywords of `rounds`, which says what they are."""

    team: Any
    weight: Any
    time: Any
    ceiling: Any
    noise: Any
    category: Any
    columns: Any


@enforce_argument_annotations
def rounds(contest: Any, player: Any, rank: Any, **further: Unpack[ParticipantColumns]) -> Ragged:
    """`Ragged` rounds from a long table, one row per participant, the rows of a contest together.

        jr.run(jr.elo_mmr(), jr.rounds([0, 0, 0], [4, 2, 7], [1, 2, 2]))  # player 4 won, and 2 and 7 tied

    The contests count in this order. Their times matter only to systems in which time passes, and only then must not
    decrease: `run` sees to it.

    Args:
      contest: [n] any integers; a change of number begins a new contest.
      player: [n] integer ids from 0. A player may be in several teams of a contest, as a constructor with two cars is
        (`trueskill` and `elo_mmx` rate that), but in each of them once, and alone in one at most.
      rank: [n] finite, lower is better, equal is a tie. (Negate a score that is better when higher.)
      team: [n] integers; participants of a contest with the same number play together and must share their rank.
        None: everyone plays alone.
      weight: [n] of the contest, or partial play, above 0. None: 1.
      time: [n] the same within a contest, numbers or dates, as of `matches`. None: no time passes.
      ceiling: [n] the same within a contest: performances above it count as it; inf: none. None: none anywhere.
      noise: [n] the same within a contest, above 0: by how much performances scatter more than usual there. It is a
        factor of the system's deviation beta, which may then be fitted, and leaves the drift alone: half an hour where
        two hours are usual may have a noise of 2, if 1 / beta^2 is in proportion to the duration. None: 1.
      category: [n] integers from 0: what each participant meets, as the surface, the map or the mode of the game; or
        [n, C] shares of C categories, which sum to one.
      columns: by name, [n] numbers that a system reads of a participant: `skills` reads points, statistics and
        covariates. NaN stands for a missing number.

    Raises:
      ValueError: names the first bad row, counting from 0, its contest, and what is wrong with it.

    Warns:
      UserWarning: if contests have a single participant; systems of ranks learn nothing from them.
    """
    ragged = build_rounds(contest, player, rank, **further)
    for doubt in doubts_about_single_participants(ragged, np.asarray(contest)[ragged.player_start[:-1]]):
        warnings.warn(doubt, UserWarning, stacklevel=3)  # the caller of the function with checked arguments
    return ragged


class NameFormatters(NamedTuple):
    """How error messages write a contest, a player, a further row and a time."""

    contest: Callable[[Any], str] = str
    player: Callable[[Any], str] = str
    row: Callable[[Any], str] = str
    time: Callable[[Any], str] = str


PLAIN_FORMATTERS = NameFormatters()


CONTEST_COLUMNS = "time", "ceiling", "noise"  # the same for all of a contest
ONE_NAME_ADVICE = "if several contests have this name, give each its own"
COLUMN_CHECKS: dict[str, Callable[[Any, int], Any]] = {  # by the name of a column, from its values and their number
    "weight": partial(check_number_column, "weight"),
    "ceiling": lambda values, n: to_checked_numbers("ceiling", values, (n,), allow_infinite=True),
    "noise": partial(check_number_column, "noise"),
    "time": as_event_times,
    "team": partial(to_checked_numbers_keeping_integers, "team"),
    "category": lambda values, n: check_category_ids_or_shares(values, (n,)),
    "columns": lambda values, n: check_further_columns(values, n, "contests", Rounds._fields),
}


def build_rounds(
    contest: Any,
    player: Any,
    rank: Any,
    *,
    formatters: NameFormatters = PLAIN_FORMATTERS,
    **further: Unpack[ParticipantColumns],
) -> Ragged:
    """`rounds` without the warning about contests of one participant."""
    n = np.size(contest)
    contest = to_checked_numbers_keeping_integers("contest", contest, n)

    def label_contest(row: int) -> str:
        return f"contest {formatters.contest(contest[row])}"

    with add_contest_to_errors(label_contest):
        player = check_id_array("player", player, (n,))
        rank = to_checked_numbers("rank", rank, (n,)).astype(np.float64)
        given = {"weight": np.ones(n), "time": np.zeros(n)} | {name: x for name, x in further.items() if x is not None}
        checked = {name: check(given[name], n) for name, check in COLUMN_CHECKS.items() if name in given}
    begins_contest = np.append(True, contest[1:] != contest[:-1])[:n]
    first_row, contest_index = np.flatnonzero(begins_contest), np.cumsum(begins_contest) - 1
    begins_again = begins_contest.copy()
    begins_again[first_row[np.unique(contest[first_row], return_index=True)[1]]] = False
    fail_where(
        begins_again, lambda row: f"{label_contest(row)} begins a second time; put the rows of a contest together"
    )
    for name in [name for name in CONTEST_COLUMNS if name in checked]:
        values, checked[name] = checked[name], checked[name][first_row]
        write = formatters.time if name == "time" else str
        fail_where(
            values != checked[name][contest_index],
            lambda row: f"{name} {write(values[row])} differs within {label_contest(row)}; {ONE_NAME_ADVICE}",  # noqa: B023
        )
    label, seat, repeats = checked.pop("team", None), None, _is_repeated_player(contest_index, player)

    def fail_if_twice(bad: Any, where: str = "") -> None:
        twice = f"twice{where}; leave one out"
        fail_where(bad, lambda row: f"player {formatters.player(player[row])} is in {label_contest(row)} {twice}")

    if label is None:
        fail_if_twice(repeats)
        team = np.arange(n) - first_row[contest_index]
    else:
        team, captain = _assign_team_numbers(label, contest_index, first_row)
        if repeats.any():
            team_of_row = first_row[contest_index] + team
            fail_if_twice(_is_repeated_player(team_of_row, player), ", in the same team")
            fail_if_twice(_is_repeated_single_participant(contest_index, team_of_row, player), ", alone")
            seat = _first_position_of_same_player(contest_index, player, first_row)
        fail_where(
            rank != rank[captain],
            lambda row: (
                f"rank {rank[row]} differs from {rank[captain[row]]} of the same team in row "
                f"{formatters.row(captain[row])} ({label_contest(row)})"
            ),
        )
    place = count_better(contest_index, rank)
    contests = Rounds(player, place, team.astype(np.int32), seat=seat, **checked)
    return Ragged(contests, np.append(first_row, n).astype(np.int64), None)


def _is_repeated_single_participant(contest_index: HostArray, team_of_row: HostArray, player: HostArray) -> HostArray:
    """[n] whether the player is alone in a team, and alone in another one of the contest above."""
    repeats = np.zeros(len(player), bool)
    rows = np.flatnonzero(np.bincount(team_of_row)[team_of_row] == 1)
    repeats[rows] = _is_repeated_player(contest_index[rows], player[rows])
    return repeats


def _assign_team_numbers(team: Any, contest_index: Any, first_row: Any) -> tuple[HostArray, HostArray]:
    """[n] the number of each row's team in its contest, from 0, and the first row of that team."""
    n = len(team)
    order = np.lexsort((np.arange(n), team, contest_index))
    begins_team = np.concatenate([[True], (np.diff(contest_index[order]) != 0) | (np.diff(team[order]) != 0)])[:n]
    team_label = np.cumsum(begins_team) - 1
    team_number, captain = np.empty((2, n), np.int64)
    team_number[order] = team_label - team_label[first_row][contest_index]
    captain[order] = order[np.flatnonzero(begins_team)][team_label]
    return team_number, captain


def count_better(contest_index: Any, rank: Any) -> HostArray:
    """[n] how many participants of the same contest rank strictly better; `contest_index` is 0, 0, 1, ..."""
    n, first = len(rank), np.flatnonzero(np.diff(contest_index, prepend=-1))
    order = np.lexsort((rank, contest_index))
    begins_rank = np.concatenate([[True], (np.diff(contest_index[order]) != 0) | (np.diff(rank[order]) != 0)])[:n]
    better = np.empty(n, np.int32)
    better[order] = np.maximum.accumulate(np.where(begins_rank, np.arange(n), 0)) - first[contest_index]
    return better


def team_ranks(ragged: Ragged) -> HostArray:
    """[sum P] of participants how many teams rank strictly better than their own."""
    flat: Any = ragged.events
    contest_index = np.repeat(np.arange(len(flat.time)), np.diff(ragged.player_start))
    number = contest_index * (np.max(flat.team, initial=0) + np.int64(1)) + flat.team
    _, captain, team = np.unique(number, return_index=True, return_inverse=True)
    return count_better(contest_index[captain], np.asarray(flat.rank)[captain])[team]


def _is_repeated_player(contest_index: HostArray, player: HostArray) -> HostArray:
    """[n] whether the player is in an earlier row of the same contest."""
    repeats = np.zeros(len(player), bool)
    key = contest_index * (player.max(initial=0) + np.int64(1)) + player
    if (np.diff(np.sort(key)) == 0).any():
        order = np.argsort(key, kind="stable")
        repeats[order[1:][np.diff(key[order]) == 0]] = True
    return repeats


def _first_position_of_same_player(contest_index: Any, player: Any, first_row: Any) -> HostArray:
    """[n] the position in the contest, from 0, of the first row of the same player."""
    key = contest_index * (player.max(initial=0) + np.int64(1)) + player
    _, row, number = np.unique(key, return_index=True, return_inverse=True)
    return np.asarray(row[number] - first_row[contest_index], np.int32)


def doubts_about_single_participants(ragged: Ragged, contests: Any) -> Iterator[str]:
    """A doubt about contests with a single participant; `contests` [E] are their names."""
    single = np.flatnonzero(np.diff(ragged.player_start) == 1)
    if len(single):
        first = repr(contests[single[:1]].tolist()[0])
        count = f"contest {first} has" if len(single) == 1 else f"{len(single):,} contests, {first} the first, have"
        yield f"{count} one participant; that changes nothing in systems of ranks"


def check_contest_time_order(events: Any, format_time: Callable[[Any], str] = str) -> None:
    """ValueError if the times of the contests decrease; names the first row of the contest."""
    time, start = np.asarray(events.flat.time), events.start
    decreasing = np.flatnonzero(time[1:] < time[:-1]) + 1
    if len(decreasing):
        time_text, previous_text = (format_time(time[i]) for i in (decreasing[0], decreasing[0] - 1))
        message = f"time {time_text} is earlier than {previous_text} in the row before"
        raise RowError(int(start[decreasing[0]]), f"{message}; sort the {events.nouns} by time")
