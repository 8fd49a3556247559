"""Leaderboards: the best players, now or at any date."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import check_concrete, enforce_argument_annotations, is_number
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Params, Rating, State
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import coarse_rating_decimals, format_decimals
from jaxrate.history.history import (
    History,
    find_player_id,
    format_time,
    resolve_system_state_and_players,
)
from jaxrate.history.leaderboard_table import Leaderboard, describe_groups
from jaxrate.history.query_time import parse_query_time
from jaxrate.history.query_time import parse_time_after_last_events as not_before
from jaxrate.history.rating_drift import DEFAULT_ACTIVE_DAYS, lead_over_level
from jaxrate.history.ratings_at_times import advance_state_to_time, category_number
from jaxrate.history.shown_ratings import ShownRatings
from jaxrate.history.trajectories import Trajectories, build_trajectories

FEWER_GAMES_HINT = "a lower min_games lists more"
DEFAULT_MIN_GAMES = 10  # by default only those with so many games are listed,
MIN_SETTLED_PLAYERS = 20  # if there are so many of them
ALL_PLAYERS_HINT = 'active="all" for everybody'


@enforce_argument_annotations
def leaderboard(
    system: RatingSystem | History,
    state: State = None,
    players: Any = None,
    *,
    params: Params = None,
    top: int = 20,
    among: Any = None,
    as_of: Any = None,
    active: Any = None,
    min_games: int | None = None,
    since: Any = None,
    cautious: float = 0.0,
    category: Any = None,
) -> Leaderboard:
    """The `top` players by mean rating; ties by id. Players whom no chain of events joins are ranked apart.

        jr.leaderboard(rated)  # of those who played in the last year, if there are dates
        jr.leaderboard(rated, active="all")  # of all times
        jr.leaderboard(rated, as_of="1999-12-31", min_games=20)
        jr.leaderboard(system, state, players)
        jr.leaderboard(jr.smooth(system, data), as_of="1985-01-27")

    A rated history has the ratings after each event, so a list of any date needs no further rating. With an `as_of`
    before the end it shows the rating that each player had after their last event by then, as `rating_at` does for one
    player. Players who had not played by then are left out, also with hindsight.

    Args:
      system, state, params: what is rated, as in `ratings`.
      players: [num_players] names. None: those of the rated history, if there is one.
      top: the number of players in the list.
      among: only these players are listed, by name or id. None: everyone.
      as_of: a moment, as `time` of `ratings`. None: each player as their last event left them. A state alone has no
        past, so its moment must not be before its last event.
      active: a length of time in days, or in the unit of the history's times. Only those are listed who played in this
        time before `as_of`, or before the end of the history if `as_of` is later or None. Below 1: a share of the
        length of the history. "all": everybody, also those who have not played, at their initial rating. None: 365 days
        if there are dates, otherwise everybody.
      min_games: only those with at least this many matches or contests by then. None: 10, since first ratings jump, if
        `active` is None, there are dates, and 20 recent players had as many. Otherwise 0.
      since: an earlier moment. `change` is the difference of the ratings since then, and `rank_then` the rank on the
        list of then, made by the same rules. None: 365 days before, or half the history if that is less; without dates
        there is no comparison.
      cautious: rank and show the mean less this many deviations. For Elo-MMR it is the part of the deviation above its
        limit that counts. 3 is usual, and puts those who have played little low on the list.
      category: a category, such as a surface or a mode. The ratings are then those of `league.category_ratings`, and
        games are counted over all categories. A history keeps these ratings at its end only, so this list has no peaks
        and no changes.

    Ratings can be compared where chains of matches or contests up to the moment join the players: A met B, and B met C.
    Others form groups that are ranked one after the other, the largest first, each from 1. Then a column has the number
    of the group, and the scope names the groups.

    The peak is the highest rating after an event, from a player's tenth event on, since first ratings jump. Players
    with fewer events have none. Where the level of ratings drifts, by more than the active differ, the peak is the
    greatest lead over the median of the active at the time, and `peak_median` has that median: the sum of the two was
    the rating. The active have played in the 365 days before, or without dates in a tenth of the history.

    Raises:
      ValueError: if there are fewer names than rows, `top` is below 1, the system has no deviations to be cautious
        about, `cautious` is no finite number, there is no such player, or as `ratings`; if `active` is no length of
        time above 0, or if it, `since` or an early `as_of` need times and the history has none; if there is no such
        category, or if it goes with `since`, an `as_of` before the end, or a smoothed history.
    """
    rated = system
    system, state, players = resolve_system_state_and_players(rated, state, players)
    check_concrete("a leaderboard is made", (state, as_of, params), "; jr.ratings takes them")
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    if not np.isfinite(cautious):
        raise ValueError(f"cautious must be finite, got {cautious}")
    has_hindsight = isinstance(rated, History) and rated.hindsight is not None
    if has_hindsight and params is not None:
        raise ValueError("a smoothed history has hyperparameters of its own; smooth it anew with others")
    params = system.params if params is None else params
    number = None
    if category is not None:
        if has_hindsight:
            raise ValueError("a smoothed history has no ratings by category; take the rated one")
        number = category_number(rated, category)
    view = ShownRatings(system, params, cautious, number)
    if isinstance(rated, History):
        leaderboards = HistoryLeaderboardBuilder(
            rated, view, build_trajectories(rated), players, among, active, min_games
        )
        return leaderboards.build_leaderboard(parse_query_time(rated, as_of), parse_query_time(rated, since), top)
    if active is not None or min_games or since is not None:
        raise ValueError("active, min_games and since need a rated history, which knows who played when")
    rows = advance_state_to_time(system, state, not_before(rated, state, as_of, players), params)
    rating = view.apply_caution(view.summary(rows))
    ranked_ids = _ranked_ids(rating.mean, _eligible_player_mask(among, players, len(rating.mean)))
    top_ids = ranked_ids[:top]
    columns = dict(zip(("rating", "deviation"), _take_ratings(rating, top_ids), strict=True))
    names = _player_names(players, top_ids, len(rating.mean))
    columns |= {"rank": np.arange(1, len(top_ids) + 1), "player": names}
    return Leaderboard(columns, "", len(ranked_ids))


def make_history_leaderboards(
    rated: History, active: Any, min_games: int | None, now: float | None, cautious: float = 0.0
) -> "HistoryLeaderboardBuilder":
    """The lists of everybody, all by one rule: without `min_games`, by that of the list at this time."""
    view = ShownRatings(rated.system, rated.system.params, cautious)
    leaderboards = HistoryLeaderboardBuilder(
        rated, view, build_trajectories(rated), rated.players, None, active, min_games
    )
    leaderboards.min_games = leaderboards.resolve_min_games(now)
    leaderboards.groups = leaderboards.trajectories.groups(leaderboards.trajectories.points_at(now))
    return leaderboards


def _eligible_player_mask(among: Any, players: Any, num_players: int) -> HostArray:
    """[n] whether a player may be listed."""
    if players is not None and len(players) < num_players:
        raise ValueError(f"{num_players} players are rated, but only {len(players)} names were given")
    if among is None:
        return np.ones(num_players, bool)
    return np.isin(np.arange(num_players), [find_player_id(players, player, num_players) for player in among])


def _ranked_ids(mean: Any, is_listed: HostArray, groups: HostArray | None = None) -> HostArray:
    """The ids of the listed players, best first, one of the groups [n] after the other."""
    listed = np.flatnonzero(is_listed)
    order = (-np.asarray(mean)[listed],) if groups is None else (-np.asarray(mean)[listed], groups[listed])
    return np.asarray(listed[np.lexsort(order)])


def _player_names(players: Any, player_ids: HostArray, num_players: int) -> HostArray:
    return player_ids if players is None else np.asarray(players)[:num_players][player_ids]


def _take_ratings(rating: Rating, player_ids: HostArray) -> list[Any]:
    return [None if x is None else np.asarray(x)[player_ids] for x in rating]


class _RankedPlayersAtTime(NamedTuple):
    """The ranked players as of a time."""

    rating: Rating  # leaves [N]
    points: HostArray  # [N] the points of all players in the trajectories
    ranked_ids: HostArray  # ids of the listed players, best first, one group after the other
    rank: HostArray  # [N] within the group, from 1; 0 of who is not listed


class HistoryLeaderboardBuilder:
    """Leaderboards of a history as of any time, all by the same rules."""

    def __init__(
        self,
        rated: Any,
        view: ShownRatings,
        trajectories: Trajectories,
        players: Any,
        among: Any,
        active: Any,
        min_games: int | None,
    ) -> None:
        self.rated, self.view, self.trajectories, self.players, self.min_games = (
            rated,
            view,
            trajectories,
            players,
            min_games,
        )
        self.is_eligible = _eligible_player_mask(among, players, len(trajectories.start) - 1)
        self.has_all_times = (
            rated.clock is not None and trajectories.has_all_times and len(trajectories.time) >= len(trajectories.start)
        )
        self.first = float(np.nanmin(trajectories.time)) if self.has_all_times else np.nan
        self.end = float(np.nanmax(trajectories.time)) if self.has_all_times else np.nan
        self.by_default, self.active = active is None, self._activity_window(active)
        self.groups = np.zeros(len(self.is_eligible), int)  # of whom only those of one can be compared

    def build_leaderboard(self, now: float | None, since: float | None, top: int) -> Leaderboard:
        self.min_games = self.resolve_min_games(now)
        if since is not None or now is not None:
            self.check_has_times("since" if now is None else "as_of")
        if self.view.category is not None and (since is not None or (now is not None and now < self.end)):
            raise ValueError("the history keeps ratings by category at its end only: leave out since, and later events")
        trajectories, rated = self.trajectories, self.rated
        self.groups = trajectories.groups(trajectories.points_at(now))
        rating, points, ranked_ids, rank = self.ranked_list_at(now)
        top_ids, (numbers, _, sizes) = ranked_ids[:top], self._groups_and_leaders(ranked_ids)
        names, (mean, deviation) = _player_names(self.players, top_ids, len(points)), _take_ratings(rating, top_ids)
        columns = {"rank": rank[top_ids], "player": names, "rating": mean, "deviation": deviation}
        if len(numbers) > 1:
            columns["group"] = self.groups[top_ids] + 1
        columns["games"] = (points - trajectories.start[:-1])[top_ids]
        if self.has_all_times:
            columns["last"] = rated.display_times(trajectories.time[points][top_ids])
        if self.view.category is not None:
            return Leaderboard(columns, self._describe_scope(now, None, ranked_ids, None), len(ranked_ids), sizes)
        score = self.view.apply_caution(Rating(trajectories.mean, trajectories.deviation)).mean
        lead, level = lead_over_level(trajectories, score, rated.clock)
        peak = trajectories.peak_points(lead, points)[top_ids]
        columns["peak"] = np.where(peak < 0, np.nan, lead[peak])
        if level is not None:
            columns["peak_median"] = np.where(peak < 0, np.nan, level[peak])
        if self.has_all_times:
            columns["peak_time"] = rated.display_times(np.where(peak < 0, np.nan, trajectories.time[peak]))
        since = self._default_since(now) if since is None else self._check_since(now, since)
        if since is not None:
            earlier_list = self.ranked_list_at(since)
            change = np.asarray(rating.mean) - np.asarray(earlier_list.rating.mean)
            change = np.where(earlier_list.points == trajectories.start[:-1], np.nan, change)
            columns |= {"change": change[top_ids], "rank_then": earlier_list.rank[top_ids]}
        return Leaderboard(columns, self._describe_scope(now, since, ranked_ids, level), len(ranked_ids), sizes)

    def resolve_min_games(self, now: float | None) -> int:
        """The number of games that is given, or else that of the list at this time."""
        return (
            self._default_min_games(now, self.trajectories.points_at(now)) if self.min_games is None else self.min_games
        )

    def ranked_list_at(self, now: float | None, points: HostArray | None = None) -> _RankedPlayersAtTime:
        trajectories = self.trajectories
        points = trajectories.points_at(now) if points is None else points
        rating = self.view.apply_caution(self._ratings_at(now, points))
        is_listed = self.listed_mask(np.arange(len(points)), points, now) & ~np.isnan(np.asarray(rating.mean))
        ranked_ids, rank = _ranked_ids(rating.mean, is_listed, self.groups), np.zeros(len(points), int)
        group = self.groups[ranked_ids]
        rank[ranked_ids] = np.arange(1, len(group) + 1) - np.searchsorted(group, group)
        return _RankedPlayersAtTime(rating, points, ranked_ids, rank)

    def listed_mask(self, players: HostArray, points: HostArray, now: Any) -> HostArray:
        """Whether players at these points may be listed at a time, or at several; all may have axes that broadcast."""
        trajectories = self.trajectories
        games = points - trajectories.start[players]
        is_past = now is not None and now < self.end
        is_listed = (games > 0) | (~np.asarray(is_past) & (points == trajectories.start[players + 1] - 1))  # none later
        is_listed &= self.is_eligible[players] & (games >= (self.min_games or 0))
        if self.active is not None:
            is_listed &= trajectories.time[points] >= self._activity_end(now) - self.active
        return np.asarray(is_listed)

    def _ratings_at(self, now: float | None, points: HostArray) -> Rating:
        """[N] ratings after the last events by then; of players without later events, the state advanced to then."""
        rated, trajectories = self.rated, self.trajectories
        if now is not None and rated.hindsight is not None:
            return rated.hindsight.at(now)
        final = self.final_ratings(now)
        is_last_point = points == trajectories.start[1:] - 1
        earlier = trajectories.ratings_at(points, now, self.view.system.settings.get("seasons") or ())
        return Rating(
            *(
                None if x is None or y is None else np.where(is_last_point, x, y)
                for x, y in zip(final, earlier, strict=True)
            )
        )

    def final_ratings(self, now: float | None) -> Rating:
        """[N] ratings after everybody's last event, with the time since then passed."""
        system, params = self.view[:2]
        return self.view.summary(advance_state_to_time(system, self.rated.state, now, params))

    def _default_min_games(self, now: float | None, points: HostArray) -> int:
        """The default number of games to be listed, for players at these points."""
        if not self.by_default or self.active is None:
            return 0
        is_recent = self.is_eligible & (self.trajectories.time[points] >= self._activity_end(now) - self.active)
        is_experienced = is_recent & (points - self.trajectories.start[:-1] >= DEFAULT_MIN_GAMES)
        return (
            DEFAULT_MIN_GAMES
            if MIN_SETTLED_PLAYERS <= np.count_nonzero(is_experienced) < np.count_nonzero(is_recent)
            else 0
        )

    def _activity_end(self, now: Any) -> Any:
        """The time up to which play counts as recent."""
        return self.end if now is None else np.minimum(now, self.end)

    def _activity_window(self, active: Any) -> float | None:
        """How long ago a listed player may have played at most; None: any time."""
        if active is None:
            return DEFAULT_ACTIVE_DAYS if self.has_all_times and self.rated.clock == "dates" else None
        if isinstance(active, str) and active == "all":
            return None
        is_given_number = is_number(active)
        if not is_given_number or not 0 < float(active) < np.inf:
            raise ValueError(f'active must be a number of days above 0, a share below 1, or "all", got {active!r}')
        self.check_has_times("active")
        return float(active if active >= 1 else active * (self.end - self.first))

    def _default_since(self, now: float | None) -> float | None:
        """A year before, or half the history."""
        if not self.has_all_times or self.rated.clock != "dates":
            return None
        end_time = self._activity_end(now)
        num_days = min(DEFAULT_ACTIVE_DAYS, (end_time - self.first) / 2)
        return end_time - num_days if num_days > 0 else None

    def _check_since(self, now: float | None, since: float) -> float:
        if since >= (self.end if now is None else now):
            since_text, end_text = (format_time(x, self.rated.clock) for x in (since, self.end if now is None else now))
            raise ValueError(f"since {since_text} must be before the moment of the list, {end_text}")
        return since

    def check_has_times(self, name: str) -> None:
        if not self.trajectories.has_all_times and self.rated.clock is not None:
            raise ValueError(f"some events of the history have no time, so that {name} cannot be told")
        if not self.has_all_times and name != "as_of":
            raise ValueError(f"{name} needs times, and this history has none; name the column of time when it is read")

    def _describe_scope(
        self, now: float | None, since: float | None, ranked_ids: HostArray, level: HostArray | None
    ) -> str:
        """Who is listed, unless everybody is, the groups if there are several, and what changes and peaks are."""
        listed = len(ranked_ids)
        conditions, clock, total = [], self.rated.clock, int(self.is_eligible.sum())
        if self.active is not None:
            until = format_time(
                np.floor(self._activity_end(now)) if clock == "dates" else self._activity_end(now), clock
            )
            since_when = f"in the {self.active:.0f} days to" if clock == "dates" else f"in the {self.active:g} up to"
            conditions.append(f"played {since_when} {until}")
        if self.min_games:
            conditions.append(
                f"had played {self.min_games:,} times" if conditions else f"played {self.min_games:,} times"
            )
        lines = []
        if self.view.category is not None and self.rated.categories is not None:
            lines.append(f"rating: where they meet {self.rated.categories[self.view.category]}")
        if conditions and listed < total:
            hint = f" ({ALL_PLAYERS_HINT})" if self.by_default and self.active is not None else ""
            hint = f" ({FEWER_GAMES_HINT})" if self.min_games and not listed else hint
            lines.append(f"{listed:,} of {total:,} players, who {' and '.join(conditions)}{hint}")
        lines.append(describe_groups(*self._groups_and_leaders(ranked_ids), self.rated.nouns))
        if level is not None:
            digits = coarse_rating_decimals(level)
            low, high = (format_decimals(float(x), digits) for x in (level.min(), level.max()))
            lines.append(f"ratings drift: the median of the active was from {low} to {high}; peaks are above it")
        if since is not None:
            lines.append(
                f"change and earlier rank: since {format_time(np.floor(since) if clock == 'dates' else since, clock)}"
            )
        return "\n".join(filter(None, lines))

    def _groups_and_leaders(self, ranked_ids: HostArray) -> tuple[HostArray, HostArray, HostArray]:
        """The numbers from 1 of the groups that are listed, the names of their first, and how many each has."""
        number, first, size = np.unique(self.groups[ranked_ids], return_index=True, return_counts=True)
        return number + 1, _player_names(self.players, ranked_ids[first], len(self.groups)), size
