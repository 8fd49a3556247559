"""Leaderboards at any date, ranks through time, since when somebody leads and how surely, and peaks."""

import math
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import jax
import numpy as np

from jaxrate.core.argument_checks import (
    PositiveCount,
    check_concrete,
    check_that,
    enforce_argument_annotations,
    is_iterable,
    is_number,
)
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Rating
from jaxrate.core.text_format import (
    format_credible_intervals,
    format_decimals,
    format_number,
    format_unquoted_name,
    format_value_for_error,
    join_names,
    rating_decimals,
)
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.event_columns import empty_event_columns
from jaxrate.history.history import History, find_player_id, format_time
from jaxrate.history.participations import Participations
from jaxrate.history.ratings_at_times import (
    advance_state_to_time,
    category_rating,
    parse_query_time,
    parse_time_after_last_events,
    resolve_category,
)
from jaxrate.systems.elo_mmr import contest_variances

MAX_NAMED_GROUPS = 5

RATING_HEADS = {  # of the columns of lists of ratings in their order; "": it is not shown
    **{"rank": "rank", "group": "group", "player": "player", "rank_then": "move", "rating": "rating"},
    **{"deviation": "95% interval", "change": "change", "games": "games", "last": "last played", "peak": "peak"},
    **{"peak_median": "", "peak_time": "at", "above_median": "above median", "match": "", "time": "time"},
}


class RatingTable(ColumnTable):
    """Players by rating: columns by name, and as attributes. `print` shows a table.

        board["player"][0], board.rating[0], pandas.DataFrame(board)

    A column that the list does not have is None as an attribute.
    """

    rank: HostArray  # [top] from 1, in each group
    player: HostArray  # [top] names, or ids if no names were given
    rating: HostArray  # [top]
    deviation: HostArray | None  # [top], None if the system has none or ratings are cautious

    def __init__(self, columns: Mapping[str, HostArray | None]) -> None:
        super().__init__({name: columns.get(name) for name in RATING_HEADS})

    def __getattr__(self, name: str) -> Any:
        if name in RATING_HEADS:
            return self.get(name)
        raise AttributeError(f"a list of ratings has no column {name!r}")

    @enforce_argument_annotations
    def heads_and_cells(self, top: int | None = None) -> tuple[list[str], list[Any]]:
        """The heads, and the cells of the first `top` rows, as text for people."""
        missing = np.array([np.nan])
        hidden = {"peak", "peak_time"} if np.isnan(self.get("peak", missing)).all() else {""}
        heads = RATING_HEADS | ({"peak_time": "on"} if self.get("peak_time", missing).dtype.kind == "M" else {})
        heads = {name: heads[name] for name in self if heads[name] and name not in hidden}
        points = partial(_format_points, rating_decimals(self.rating), False)
        differences = partial(_format_points, rating_decimals(self.rating), True)
        formats: dict[str, Callable[[HostArray], Iterable[Any]]] = {
            "deviation": partial(format_credible_intervals, self.rating),
            "rank_then": partial(map, _format_move, self.rank),
            "games": partial(map, "{:,}".format),
            **dict.fromkeys(("last", "time", "peak_time"), format_times),
            **{"rating": points, "change": differences, "above_median": differences},
            "peak": differences if "peak_median" in self else points,
        }
        cells = [formats.get(name, list)(self[name]) for name in heads]
        return [*heads.values()], [*zip(*cells, strict=True)][:top]


class Leaderboard(RatingTable):
    """The best players first, of those who fulfil the rules of a list; see `leaderboard`."""

    group: HostArray | None  # [top] from 1, the largest first; None if chains of events join all who are listed
    change: HostArray | None  # [top] of the rating since a time; NaN for players who had not played by then
    rank_then: HostArray | None  # [top] at that time; 0 for players who were not listed
    games: HostArray | None  # [top] matches or contests
    last: HostArray | None  # [top] when they played last, as dates or numbers; missing for players who have not
    peak: HostArray | None  # [top] the highest rating of their career; NaN of fewer than ten events
    peak_median: HostArray | None  # [top] where ratings drift, the median of the active then, above which peaks are
    peak_time: HostArray | None  # [top] when they reached it
    scope: str  # a description of who is listed and since when ratings changed
    num_listed: int  # of whom these are the first
    group_sizes: tuple[int, ...]  # how many are listed of each group

    def __init__(self, columns: Mapping[str, HostArray | None], scope: str, group_sizes: Iterable[int]) -> None:
        super().__init__(columns)
        self.scope = scope
        self.group_sizes = tuple(group_sizes) or (0,)
        self.num_listed = sum(self.group_sizes)

    def first_group(self) -> "Leaderboard":
        """The rows of the group of the first player, whose ratings alone can be compared with theirs."""
        if self.group is None:
            return self
        is_first = self.group == self.group[:1]
        columns = {name: x[is_first] for name, x in self.drop_columns("group").items()}
        return Leaderboard(columns, self.scope, self.group_sizes[:1])

    def __str__(self) -> str:
        return "\n".join(filter(None, [super().__str__(), self.scope]))

    def _repr_html_(self) -> str:
        return super()._repr_html_() + f"<p>{self.scope}</p>" * bool(self.scope)


class PeakRatings(RatingTable):
    """The greatest first, each at the best moment of their career. `print` shows a table."""

    above_median: HostArray | None  # [top] the lead over the median of the active then; None where that does not drift
    match: HostArray  # [top] the match, or row of the predictions, of that rating
    time: HostArray | None  # [top] when, as dates or numbers; None if there are no times


def _format_points(digits: int, signed: bool, values: HostArray) -> list[str]:
    """Points with so many decimals, nothing where there are none; differences have a sign."""
    return ["" if x != x else format_decimals(x, digits, signed=signed) for x in values]


def _format_move(rank: int, earlier: int) -> str:
    """A move to a rank from an earlier one, as "▲ 3"; 0 is that of a player who had none."""
    if earlier in (0, rank):
        return "" if earlier else "new"
    return f"▲ {earlier - rank}" if rank < earlier else f"▼ {rank - earlier}"


def format_times(times: HostArray) -> list[str]:
    """Times as text: days, or numbers."""
    if times.dtype.kind == "M":
        return ["" if np.isnat(x) else str(x) for x in times.astype("datetime64[D]")]
    return ["" if x != x else format_number(round(float(x), 1)) for x in times]


def describe_unconnected_groups(numbers: HostArray, leaders: HostArray, sizes: HostArray, events: str) -> str:
    """The groups that no chain of events joins, by number, first player and size; nothing of fewer than two."""
    if len(numbers) < 2:
        return ""
    shown = zip(numbers[:MAX_NAMED_GROUPS], leaders, sizes.tolist(), strict=False)
    named = [f"{number} with {format_unquoted_name(name)} ({size:,})" for number, name, size in shown]
    rest = sizes[MAX_NAMED_GROUPS:]
    others = [f"{len(rest):,} more of at most {rest.max():,}"] if len(rest) else []
    return f"ranked in groups that no chain of {events} joins: {join_names([*named, *others])}"


PEAK_MIN_EVENTS = 10  # events after which a rating may be a peak: first ratings jump
DEFAULT_ACTIVE_DAYS = 365.0  # within which whoever has played is active; without dates it is
ACTIVE_SHARE = 0.1  # of the length of the history
MAX_ACTIVE = 50_000  # whose ratings are looked at
NUM_TIMES = 100  # at which the median is taken; between them it is interpolated
NUM_PARTS = 10  # of the history: those with the highest and the lowest level say how far it drifts


class Peaks(NamedTuple):
    """The best moments of K players, among R participations."""

    level: HostArray | None  # [R] the median rating of the active then; None where it does not drift
    lead: HostArray  # [R] what peaks are chosen by: the score, or its lead over the level
    row: HostArray  # [K] of the greatest lead; -1 of players who have none


def find_peaks(
    rows: Participations,
    clock: str | None,
    score: HostArray,
    players: HostArray,
    counts: HostArray,
    min_events: int = PEAK_MIN_EVENTS,
) -> Peaks:
    """The peak of each of `players` [K]: the highest score [R] of their first `counts` [K] rows, after `min_events`.

    `clock` is that of the history, as in `Dataset`, and rows are one for each event.
    """
    level = drifting_level(rows, clock)
    lead = score if level is None else score - level
    return Peaks(level, lead, rows.peak_rows(lead, players, counts, min_events))


def drifting_level(rows: Participations, clock: str | None) -> HostArray | None:
    """[R] the median rating of the active at the time of each row; None unless it drifts by more than a deviation.

    The active have played in the year before, or in a tenth of the history without dates. The level of a part of the
    history is the mean of its medians; it drifts by the difference of the highest and the lowest. The deviation is that
    of the ratings of the active from their mean, pooled over time. Of many active, so many of them speak for all.
    `clock` is that of the history, as in `Dataset`.
    """
    if not len(rows.seat):
        return None
    end, event = rows.chronology.end, rows.chronology.event
    end_of_event = np.full(event.max() + 1, end[0])
    np.maximum.at(end_of_event, event, end)  # which differs between players where times decrease
    times = np.unique(end_of_event[np.linspace(0, len(end_of_event) - 1, NUM_TIMES + 1).astype(int)[1:]])
    window = DEFAULT_ACTIVE_DAYS if clock == "dates" else ACTIVE_SHARE * (times[-1] - end_of_event[0])
    median, variance = np.zeros((2, len(times)))
    for i, (counts, last) in enumerate(rows.iterate_counts_at(times, end)):
        active = np.flatnonzero(last >= times[i] - window)
        active = active[:: len(active) // MAX_ACTIVE + 1]
        rating = rows.after.mean[rows.start[active] + counts[active] - 1]
        median[i], variance[i] = np.median(rating), np.var(rating)
    if len(times) < NUM_PARTS:
        return None
    levels = [part.mean() for part in np.array_split(median, NUM_PARTS)]
    if max(levels) - min(levels) <= np.sqrt(variance.mean()):
        return None
    return np.interp(rows.end if rows.have_all_times else rows.event, times, median)


class LeaderboardRules(TypedDict, total=False):
    """Who is on a leaderboard, and what players are ranked by; see `leaderboard`."""

    active: Any
    min_games: int | None
    cautious: float


FEWER_GAMES_HINT = "a lower `min_games` lists more"
DEFAULT_MIN_GAMES = 10  # by default only those with so many games are listed,
MIN_SETTLED_PLAYERS = 20  # if there are so many of them
KNOWN_SHARE = 0.7  # of a newcomer's interval, up to which one is known: results tell half of the variance then
ALL_PLAYERS_HINT = 'active="all" for everybody'


@enforce_argument_annotations
def leaderboard(
    rated: History,
    *,
    top: PositiveCount = 20,
    among: Any = None,
    as_of: Any = None,
    since: Any = None,
    category: Any = None,
    **rules: Unpack[LeaderboardRules],
) -> Leaderboard:
    """The `top` players by mean rating; ties by id. Players whom no chain of events joins are ranked apart.

        jr.leaderboard(rated)  # of those who played in the last year, if there are dates
        jr.leaderboard(rated, active="all")  # of all times
        jr.leaderboard(rated, as_of="1999-12-31", min_games=20)
        jr.leaderboard(jr.smooth(system, data), as_of="1985-01-27")

    A rated history has the ratings after each event, so a list of any date needs no further rating. With an `as_of`
    before the end it shows the rating that each player had after their last event by then, as `rating_at` does for one
    player. Players who had not played by then are left out, also with hindsight.

    Args:
      rated: the history, as from `rate`, `smooth` or `load`.
      top: the number of players in the list.
      among: only these players are listed, by name or id. None: everyone.
      as_of: a moment, as `time` of `ratings`. None: each player as their last event left them. A run by
        chunks whose predictions stay in files has no past, so its moment must not be before its last event.
      active: a length of time in days, or in the unit of the history's times. Only those are listed who played in this
        time before `as_of`, or before the end of the history if `as_of` is later or None. Below 1: a share of the
        length of the history. "all": everybody, also those who have not played, at their initial rating. None: 365 days
        if there are dates, otherwise everybody.
      min_games: only those with at least this many matches or contests by then. None: 10, since first ratings jump, if
        `active` is None, there are dates, and 20 recent players had as many. Otherwise 0. By the same default only
        those are listed whose interval is at most 0.7 times as wide as a newcomer's, if they are 20: results tell half
        of the variance of their ratings then. Others have played little, long ago, or only among themselves.
      since: an earlier moment. `change` is the difference of the ratings since then, and `rank_then` the rank on the
        list of then, made by the same rules. None: 365 days before, or half the history if that is less; without dates
        there is no comparison.
      cautious: rank and show the mean less this many deviations. For Elo-MMR it is the part of the deviation above its
        limit that counts. 3 is usual, and puts those who have played little low on the list.
      category: a category, such as a surface or a mode. The ratings are then those of `history.category_ratings`, and
        games are counted over all categories. A history keeps these ratings at its end only, so this list has no peaks
        and no changes.

    Ratings can be compared where chains of matches or contests up to the moment join the players: A met B, and B met C.
    Others form groups that are ranked one after the other, the largest first, each from 1. Then a column has the number
    of the group, and the scope names the groups.

    The peak is the highest rating after an event, from a player's tenth event on, since first ratings jump. Players
    with fewer events have none: NaN, as the change of who had not played before. Where the level of ratings drifts, by
    more than the active differ, the peak is the greatest lead over the median of the active at the time, and
    `peak_median` has that median: the sum of the two was the rating. The active have played in the 365 days before, or
    without dates in a tenth of the history.

    Raises:
      ValueError: if `top` is below 1, the system has no deviations to be cautious about, `cautious` is no finite
        number, or there is no such player; if `active` is no length of time above 0, or if it, `since` or an early
        `as_of` need times, or events, and the history has none; if there is no such category, or if it goes with
        `since`, an `as_of` before the end, or a smoothed history.
    """
    check_concrete("a leaderboard is made", as_of, "; jr.ratings takes them")
    if category is not None and rated.hindsight is not None:
        raise ValueError("a smoothed history has no ratings by category; take the rated one")
    if since is not None or rules.get("min_games") or rules.get("active") not in (None, "all"):
        rated.check_has_events(all_of_them=True)
    now = parse_query_time(rated, as_of)
    if rated.has_events_elsewhere:  # so that it has no past
        now = parse_time_after_last_events(rated, rated.state, as_of)
        rated = rated._replace(events=empty_event_columns(not rated.of_matches))
    leaderboards = HistoryLeaderboardBuilder(rated, among, category, **rules)
    return leaderboards.build_leaderboard(np.inf if now is None else now, parse_query_time(rated, since), top)


def make_leaderboard_builder(
    rated: History, rule_time: float, **rules: Unpack[LeaderboardRules]
) -> "HistoryLeaderboardBuilder":
    """The builder of lists of everybody, all by one rule: without `min_games`, by that of the list at `rule_time`."""
    rated.check_has_events(all_of_them=True)
    leaderboards = HistoryLeaderboardBuilder(rated, **rules)
    leaderboards.choose_who_is_listed(rule_time)
    leaderboards.groups = leaderboards.rows.groups_at(rule_time)
    return leaderboards


def _eligible_player_mask(among: Any, players: HostArray) -> HostArray:
    """[n] whether a player may be listed."""
    if among is None:
        return np.ones(len(players), bool)
    if isinstance(among, (str, bytes)) or not is_iterable(among):
        raise ValueError(f"among must be a list of players, by name or id, got {format_value_for_error(among)}")
    return np.isin(np.arange(len(players)), [find_player_id(players, player) for player in among])


def _excludes_some_and_keeps_enough(is_listed: HostArray) -> bool:
    """Whether a condition leaves somebody out, and enough on the list."""
    return bool(MIN_SETTLED_PLAYERS <= np.count_nonzero(is_listed) < len(is_listed))


def _sort_by_rating(players: HostArray, mean: HostArray) -> HostArray:
    """The players, whose ids rise, by these ratings, the greatest first."""
    if mean.dtype != np.float32:
        return players[np.argsort(-mean, kind="stable")]
    bits = (0.0 - mean).view(np.int32)
    key = np.where(bits < 0, bits ^ 0x7FFFFFFF, bits).astype(np.int64) << 32  # rises with what the bits mean
    key |= players
    key.sort()
    return key & 0xFFFFFFFF


class HistoryLeaderboardBuilder:
    """Leaderboards of a history as of any time, all by the same rules.

    As of infinity the ratings are those that the last events left.
    """

    def __init__(
        self,
        rated: History,
        among: Any = None,
        category: Any = None,
        *,
        active: Any = None,
        min_games: int | None = None,
        cautious: float = 0.0,
    ) -> None:
        check_that(math.isfinite(cautious), f"cautious must be finite, got {cautious}")
        self.rated, self.min_games, self.cautious = rated, min_games, cautious
        self.category = resolve_category(rated, category)
        self.rows = rows = rated.rows.once_per_event()
        self.is_eligible = _eligible_player_mask(among, rated.players)
        self.has_all_times = rated.clock is not None and rows.have_all_times and len(rows.seat) > 0
        self.has_dates = self.has_all_times and rated.clock == "dates"
        self.seasons = rated.system.settings.get("seasons") or ()
        times = rows.time_of_row if self.has_all_times else np.array([-np.inf])
        self.first, self.end = float(np.min(times)), float(np.max(times))
        self.hindsight_at = None if rated.hindsight is None else lru_cache(maxsize=2)(rated.hindsight.at)
        self.by_default, self.active = active is None, self._activity_window(active)
        self.max_deviation = np.inf  # of those who are listed
        self.groups = np.zeros(len(self.is_eligible), int)  # of whom only those of one can be compared

    def build_leaderboard(self, now: float, since: float | None, top: int) -> Leaderboard:
        self.choose_who_is_listed(now)
        self._check_moments(now, since)
        rows, rated = self.rows, self.rated
        self.groups = rows.groups_at(now)
        counts, ranked_ids, rank = self.ranked_list_at(now)
        top_ids, (numbers, _, sizes) = ranked_ids[:top], self._groups_and_leaders(ranked_ids)
        counts = counts[top_ids]
        mean, deviation = self.ratings_at(now, top_ids, counts)
        columns: dict[str, Any] = {"rank": rank[:top], "player": rated.players[top_ids]}
        columns |= {"rating": mean, "deviation": None if self.cautious else deviation}
        columns["group"] = self.groups[top_ids] + 1 if len(numbers) > 1 else None
        columns["games"] = counts if len(rows.seat) else rated.games[top_ids]
        columns["last"] = self._display_if_timed(rows.last_times(top_ids, counts))
        level = None
        if self.category is None:
            peaks, level = self._peak_columns(counts, top_ids)
            since = self._default_since(now) if since is None else since
            columns |= peaks | self._change_columns(since, top_ids, mean)
        return Leaderboard(columns, self._describe_scope(now, since, ranked_ids, level), sizes)

    def _display_if_timed(self, times: HostArray) -> HostArray | None:
        """Times as people read them; None where some events have none."""
        return self.rated.display_times(times) if self.has_all_times else None

    def _change_columns(self, since: float | None, top_ids: HostArray, mean: HostArray) -> dict[str, HostArray]:
        """The ranks at an earlier time, and how much these ratings have changed since; nothing without that time."""
        if since is None:
            return {}
        counts, ids, rank = self.ranked_list_at(since)
        rank_then = np.zeros(len(counts), int)
        rank_then[ids] = rank
        counts = counts[top_ids]
        change = np.where(counts > 0, mean - self.ratings_at(since, top_ids, counts).mean, np.nan)
        return {"change": change, "rank_then": rank_then[top_ids]}

    def _check_moments(self, now: float, since: float | None) -> None:
        """ValueError unless the history can tell of these moments."""
        if now < np.inf:
            self.check_has_times("as_of")
        elif since is not None:
            self.check_has_times("since")
        if self.category is not None and (since is not None or now < self.end):
            raise ValueError("the history keeps ratings by category at its end only: leave out since, and later events")
        end = self.end if now == np.inf else now
        if since is not None and since >= end:
            since_text, end_text = (format_time(x, self.rated.clock) for x in (since, end))
            raise ValueError(f"since {since_text} must be before the moment of the list, {end_text}")

    def apply_caution(self, rating: Rating) -> Rating:
        """The rating, or with `cautious` one whose mean is less by so many deviations."""
        system = self.rated.system
        if not self.cautious:
            return rating
        if rating.deviation is None:
            raise ValueError(f"{system.name} has no deviations to be cautious about")
        has_limit = system.name in ("elo_mmr", "elo_mmx")  # at which the deviations of those who play on settle
        limit: Any = contest_variances(system.params).limit ** 0.5 if has_limit else 0.0
        return rating._replace(mean=rating.mean - self.cautious * (rating.deviation - limit))

    def _peak_columns(self, counts: HostArray, top_ids: HostArray) -> tuple[dict[str, Any], HostArray | None]:
        """The peaks of so many events, and the level of ratings that they are above; None if it does not drift."""
        rows = self.rows
        if not len(rows.seat):
            return {}, None
        score = self.apply_caution(rows.after).mean
        level, lead, peak = find_peaks(rows, self.rated.clock, score, top_ids, counts)
        values = {"peak": lead, "peak_time": rows.time} | ({} if level is None else {"peak_median": level})
        columns: dict[str, Any] = {name: np.where(peak < 0, np.nan, x[peak]) for name, x in values.items()}
        return columns | {"peak_time": self._display_if_timed(columns["peak_time"])}, level

    def choose_who_is_listed(self, now: float) -> None:
        """By default those with enough games, and of them those of whom enough is known, if they are many then."""
        is_chosen = self.min_games is None and self.by_default and self.has_dates
        self.min_games = self.min_games or 0
        if not is_chosen:
            return
        counts, last = self._counts_and_last_times(now)
        recent = np.flatnonzero(self.is_eligible & (last >= self._active_since(now)))
        if _excludes_some_and_keeps_enough(counts[recent] >= DEFAULT_MIN_GAMES):
            self.min_games, recent = DEFAULT_MIN_GAMES, recent[counts[recent] >= DEFAULT_MIN_GAMES]
        deviation, system = self.ratings_at(now, recent, counts[recent]).deviation, self.rated.system
        if deviation is not None:
            newcomer: Any = system.summary(system.params, system.init(system.params, 1)).deviation
            limit = KNOWN_SHARE * float(newcomer[0])
            self.max_deviation = limit if _excludes_some_and_keeps_enough(deviation <= limit) else np.inf

    def _counts_and_last_times(self, now: float) -> tuple[HostArray, HostArray]:
        """[num_players] how many events of each count by a time, and when the last of them was."""
        counts = self.rows.counts_at(now)
        return counts, self.rows.last_times(np.arange(len(counts)), counts)

    def ranked_list_at(self, now: float) -> tuple[HostArray, HostArray, HostArray]:
        """[num_players] how many events of each count by a time, the ids [K] of those on its list, and their ranks."""
        counts, last = self._counts_and_last_times(now)
        return counts, *self.rank_players(now, counts, last)

    def rank_players(self, now: float, counts: HostArray, last: HostArray) -> tuple[HostArray, HostArray]:
        """The ids [K] of the list as of a time, best first, one group after the other, and their ranks in it from 1."""
        listed = np.flatnonzero(self.listed_mask(slice(None), counts, last, now))
        has_limit = bool(self.cautious) or self.max_deviation < np.inf
        mean = self.mean_if_known(self.ratings_at(now, listed, counts[listed], with_deviation=has_limit))
        is_known = ~np.isnan(mean)  # not, with hindsight, as of who had not begun
        players = _sort_by_rating(listed[is_known], mean[is_known])
        rank = np.arange(1, len(players) + 1)
        if not self.groups.any():
            return players, rank
        players = players[np.argsort(self.groups[players], kind="stable")]
        group = self.groups[players]
        return players, rank - np.searchsorted(group, group)

    def listed_mask(self, players: Any, counts: HostArray, last: HostArray, now: Any) -> HostArray:
        """Whether players with so many events, the last then, may be listed at a time or several; all may broadcast."""
        is_last = np.greater_equal(now, self.end) & (counts == self.rows.totals[players])
        is_listed = ((counts > 0) | is_last) & self.is_eligible[players] & (counts >= (self.min_games or 0))
        return np.asarray(is_listed & (np.fmax(last, -np.inf) >= self._active_since(now)))

    def ratings_at(self, now: float, players: HostArray, counts: HostArray, with_deviation: bool = True) -> Rating:
        """[K] cautious ratings of players after their last events by then; without later events, as of then."""
        if self.hindsight_at is not None and now < np.inf:
            found = self.hindsight_at(now)
            return self.apply_caution(jax.tree.map(lambda x: np.asarray(x)[players], found))
        final = self.final_ratings(now)
        final = final if with_deviation else final._replace(deviation=None)
        if self.hindsight_at is not None:
            return self.apply_caution(jax.tree.map(lambda x: x[players], final))
        return self.apply_caution(self.rows.ratings_at(players, counts, now, self.seasons, final))

    def mean_if_known(self, rating: Rating) -> HostArray:
        """The mean ratings; NaN of those whose deviation is too great for a list."""
        mean: HostArray = np.asarray(rating.mean)
        return mean if rating.deviation is None else np.where(rating.deviation > self.max_deviation, np.nan, mean)

    def final_ratings(self, now: float) -> Rating:
        """[N] ratings after everybody's last event, with the time since then passed."""
        system, params = self.rated.system, self.rated.system.params
        rows = advance_state_to_time(system, self.rated.state, None if now == np.inf else now, params)
        rating = system.summary(params, rows)
        rating = rating if self.category is None else category_rating(system, params, rating, rows, self.category)
        return jax.tree.map(np.asarray, rating)

    def _active_since(self, now: Any) -> Any:
        """When those who are listed must have played at the earliest."""
        return np.minimum(now, self.end) - self.active

    def _activity_window(self, active: Any) -> float:
        """How long ago a listed player may have played at most."""
        if active is None:
            return DEFAULT_ACTIVE_DAYS if self.has_dates else np.inf
        if isinstance(active, str) and active == "all":
            return np.inf
        if not is_number(active) or not 0 < float(active) < np.inf:
            raise ValueError(f'active must be a number of days above 0, a share below 1, or "all", got {active!r}')
        self.check_has_times("active")
        return float(active if active >= 1 else active * (self.end - self.first))

    def _default_since(self, now: float) -> float | None:
        """A year before, or half the history."""
        end_time = min(now, self.end)
        if not self.has_dates or end_time <= self.first:
            return None
        return end_time - min(DEFAULT_ACTIVE_DAYS, (end_time - self.first) / 2)

    def check_has_times(self, name: str) -> None:
        if not self.rows.have_all_times and self.rated.clock is not None:
            raise ValueError(f"some events of the history have no time, so that {name} cannot be told")
        if not self.has_all_times and name != "as_of":
            raise ValueError(f"{name} needs times, and this history has none; name the column of time when it is read")

    def _describe_scope(self, now: float, since: float | None, ranked_ids: HostArray, level: HostArray | None) -> str:
        """Who is listed, unless everybody is, the groups if there are several, and what changes and peaks are."""
        lines = [self._describe_conditions(now, len(ranked_ids))]
        lines.append(describe_unconnected_groups(*self._groups_and_leaders(ranked_ids), self.rated.nouns))
        if self.category is not None and self.rated.categories is not None:
            lines.insert(0, f"rating: where they meet {self.rated.categories[self.category]}")
        if level is not None:
            low, high = (format_decimals(float(x), rating_decimals(level)) for x in (level.min(), level.max()))
            lines.append(f"ratings drift: the median of the active was from {low} to {high}; peaks are above it")
        if since is not None:
            lines.append(f"change and move: since {self._format_day(since)}")
        return "\n".join(filter(None, lines))

    def _describe_conditions(self, now: float, listed: int) -> str:
        """How many are listed, of those who fulfil what; nothing if all are."""
        total, is_timed = int(self.is_eligible.sum()), self.active < np.inf
        length = f"in the {self.active:.0f} days to" if self.has_dates else f"in the {self.active:g} up to"
        conditions = {
            f"played {length} {self._format_day(min(now, self.end))}" if is_timed else "": is_timed,
            f"{'had ' * is_timed}played {self.min_games:,} times": bool(self.min_games),
            f"have an interval of at most {KNOWN_SHARE} times a newcomer's": self.max_deviation < np.inf,
        }
        fulfilled = [text for text, holds in conditions.items() if holds]
        if not fulfilled or listed == total:
            return ""
        hint = f" ({ALL_PLAYERS_HINT})" * (self.by_default and self.has_dates)
        hint = f" ({FEWER_GAMES_HINT})" if self.min_games and not listed else hint
        return f"{listed:,} of {total:,} players, who {join_names(fulfilled)}{hint}"

    def _format_day(self, time: float) -> str:
        """A time as text, dates without the time of day."""
        return format_time(np.floor(time) if self.rated.clock == "dates" else time, self.rated.clock)

    def _groups_and_leaders(self, ranked_ids: HostArray) -> tuple[HostArray, HostArray, HostArray]:
        """The numbers from 1 of the groups that are listed, the names of their first, and how many each has."""
        number, first, size = np.unique(self.groups[ranked_ids], return_index=True, return_counts=True)
        return number + 1, self.rated.players[ranked_ids[first]], size


def ranks_over_time(rated: History, times: HostArray, **rules: Unpack[LeaderboardRules]) -> HostArray:
    """[M, num_players] the ranks of all players on the lists as of times [M], the earliest first.

    NaN where they are not listed. The lists are those of `leaderboard`, all by one rule: without `min_games`, by that
    of the last list, and in the groups that no chain of events up to then joins.
    """
    leaderboards = make_leaderboard_builder(rated, float(times[-1]), **rules)
    leaderboards.check_has_times("a rank through time")
    all_ranks = np.full((len(times), len(leaderboards.is_eligible)), np.nan)
    standings = leaderboards.rows.iterate_counts_at(times, leaderboards.rows.chronology.time)
    for row, now, (counts, last) in zip(all_ranks, times, standings, strict=True):
        players, ranks = leaderboards.rank_players(float(now), counts, last)
        row[players] = ranks
    return all_ranks


BLOCK = 64  # times of the lists that are looked at together, the latest first


def lead_start(rated: History, **rules: Unpack[LeaderboardRules]) -> float | None:
    """The time of the events that made the leader the leader: they are first on all lists since then, and not before.

    The lists are those of `leaderboard` with the same arguments, as of each time with events, of each day if there are
    dates, or of each end of a rating period. None if there is no leader, or some events have no time.

        np.datetime64(int(lead_start(rated)), "D")  # of a history with dates
    """
    leaderboards = make_leaderboard_builder(rated, np.inf, **rules)
    leader = leaderboards.ranked_list_at(np.inf)[1][:1]
    if not len(leader) or not leaderboards.has_all_times:
        return None
    rows, highest = leaderboards.rows, _greatest_ratings(leaderboards)
    is_compared = leaderboards.groups == leaderboards.groups[leader]
    times = np.unique(rows.end)
    if rated.clock == "dates":
        times = times[np.append(np.diff(np.floor(times)) > 0, True)]  # the last of each day
    for begin in range((len(times) - 1) // BLOCK * BLOCK, -1, -BLOCK):
        block = times[begin : begin + BLOCK]
        rating = _listed_ratings(leaderboards, leader, block)[0]
        lowest = rating.min(initial=np.inf, where=rating > -np.inf)
        rivals = np.union1d(np.flatnonzero(is_compared & (highest >= lowest)), leader)
        first = rivals[_listed_ratings(leaderboards, rivals, block).argmax(axis=0)]  # of equals the first by id
        is_other = (first != leader) | (rating == -np.inf)
        if is_other.any():
            return float(times[min(begin + np.flatnonzero(is_other)[-1] + 1, len(times) - 1)])
    return float(times[0])


def _greatest_ratings(leaderboards: HistoryLeaderboardBuilder) -> HostArray:
    """[num_players] the greatest rating that any list can show of each player.

    Time moves a rating one way only, between two events from that which the one left to that which the next found.
    """
    rows, apply_caution = leaderboards.rows, leaderboards.apply_caution
    ends = [apply_caution(leaderboards.final_ratings(now)).mean for now in (np.inf, leaderboards.end)]
    greatest = np.fmax(*ends)
    for rating in (rows.before, rows.after):
        np.fmax.at(greatest, rows.player, apply_caution(rating).mean)
    return greatest


def _listed_ratings(leaderboards: HistoryLeaderboardBuilder, players: HostArray, times: HostArray) -> HostArray:
    """[K, B] the ratings of these players on the lists of these times; -inf of who is not listed."""
    rows = leaderboards.rows
    slices = zip(rows.start[players], rows.start[players + 1], strict=True)
    counts = np.stack([np.searchsorted(rows.end[i:j], times, side="right") for i, j in slices])
    players = players[:, None]
    is_listed = leaderboards.listed_mask(players, counts, rows.last_times(players, counts), times)
    found = rows.ratings_at(players, counts, times, leaderboards.seasons, leaderboards.final_ratings(np.inf))
    rating = np.array(leaderboards.mean_if_known(leaderboards.apply_caution(found)))
    is_last = is_listed & (counts == rows.totals[players])
    for at in np.flatnonzero(is_last.any(axis=0)):
        final = leaderboards.mean_if_known(leaderboards.apply_caution(leaderboards.final_ratings(float(times[at]))))
        rating[:, at] = np.where(is_last[:, at], final[players[:, 0]], rating[:, at])
    return np.where(is_listed & ~np.isnan(rating), rating, -np.inf)


NUM_QUANTILES = 64  # of the leader's rating, over which the chance to be the best of all is a mean
EVEN_PERCENT = 54.5  # expected score in percent, above which it is shown as 55 or more and a player is favoured
LEAD_CHANCES = EVEN_PERCENT / 100.0, 0.6, 0.95  # to be better: two are level, a lead is narrow, told as probable, clear
FAR_DEVIATIONS = 5.0  # of a difference, beyond which a player is surely not the best

Lead = Literal["level", "narrow", "probable", "clear"]
FirstPlace = Literal["level", "narrow", "probably ahead", "ahead", "probably best", "best"]
AHEAD: dict[str, FirstPlace] = {"probable": "probably ahead", "clear": "ahead"}  # of the second, perhaps not of all


def classify_lead(gap: float, deviations: Sequence[float]) -> Lead:
    """Whether two players are almost level, or one is the better one by a narrow lead, probably or clearly.

    `gap` is the difference of their ratings, `deviations` are those of both. Where these are 0, any gap above 0 is a
    clear lead.
    """
    spread = math.hypot(*deviations)
    chance = NormalDist().cdf(gap / spread) if spread else float(gap > 0.0)
    leads: tuple[Lead, ...] = "level", "narrow", "probable", "clear"
    return leads[bisect(LEAD_CHANCES, chance)]


def chance_to_be_best(
    ratings: Sequence[float] | HostArray, deviations: Sequence[float] | HostArray, player: int = 0
) -> float:
    """The chance that one of these players, by default the first, is better than all others, of independent normals."""
    from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]  # which takes long to load

    mean, deviation = np.asarray(ratings, float), np.asarray(deviations, float)
    is_rival = mean[player] - mean < FAR_DEVIATIONS * np.hypot(deviation[player], deviation)
    is_rival[player] = False
    quantiles = (np.arange(NUM_QUANTILES) + 0.5) / NUM_QUANTILES
    strength = mean[player] + deviation[player] * ndtri(quantiles)
    gaps = (strength[:, None] - mean[is_rival]) / np.maximum(deviation[is_rival], 1e-9)
    return float(ndtr(gaps).prod(axis=1).mean())


def classify_first_place(ratings: Sequence[float], deviations: Sequence[float]) -> FirstPlace:
    """The lead of the first of a list in order of ratings: level, better than the second, or than all."""
    lead = classify_lead(ratings[0] - ratings[1], deviations[:2])
    if lead == "level" or lead == "narrow":
        return lead
    if not any(deviations[:2]):
        return "best"
    places: tuple[FirstPlace, ...] = AHEAD[lead], "probably best", "best"
    return places[bisect(LEAD_CHANCES[1:], chance_to_be_best(ratings, deviations))]


@enforce_argument_annotations
def peak_ratings(
    rated: History, *, top: PositiveCount = 20, cautious: float = 0.0, min_games: int | None = None
) -> PeakRatings:
    """The players who stood highest, each at the best moment of their career.

        print(jr.history.peak_ratings(rated, top=10))
        print(jr.history.peak_ratings(jr.smooth(system, data), top=10))  # given the whole history

    The interval is that of the rating then: of a rated history as it was before the player's next event. The highest of
    many uncertain ratings is likely to be one that looks too high: `cautious` ranks, and chooses the moment, by what a
    player was at least. Where the median of the active drifts, by more than the active differ, both go by the lead over
    it, as ratings of different times cannot be compared.

    Args:
      rated: the history, as from `rate` or `smooth`.
      top: the number of players in the list.
      cautious: rank by the mean less so many deviations (>= 0); shown is the mean.
      min_games: only moments after so many matches or contests, and those who have had them. None: 10 of a rated
        history, whose first ratings jump; 1 with hindsight.

    Raises:
      ValueError: if `top` is below 1, if `cautious` is negative or not finite, or if the system has no deviations to be
        cautious about.
    """
    check_that(cautious >= 0, f"cautious must be from 0, got {cautious}")
    rated.check_has_events(all_of_them=True)
    min_events = (PEAK_MIN_EVENTS if rated.hindsight is None else 1) if min_games is None else max(min_games, 1)
    leaderboards = HistoryLeaderboardBuilder(rated, cautious=cautious)
    rows = leaderboards.rows
    score, everybody = leaderboards.apply_caution(rows.after).mean, np.arange(len(rows.totals))
    level, lead, highest = find_peaks(rows, rated.clock, score, everybody, rows.totals, min_events)
    ids = np.flatnonzero(highest >= 0)
    ids = ids[np.argsort(-lead[highest[ids]], kind="stable")[:top]]
    peaks = rows.select(highest[ids])
    columns: dict[str, Any] = {"rank": np.arange(1, len(ids) + 1), "player": rated.players[ids]}
    columns |= {"rating": peaks.after.mean, "deviation": peaks.after.deviation}
    columns |= {"match": peaks.row, "time": rated.time_column(peaks.time)}
    return PeakRatings(columns | {"above_median": None if level is None else peaks.after.mean - level[highest[ids]]})
