"""The table of participations: who took part in which event, with what result, and their ratings before and after."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Rating
from jaxrate.events import number_connected_groups, period_end
from jaxrate.history.event_columns import EventColumns, mirrored_column

# what a column says of player 1, from what it says of player 0
OF_SECOND_PLAYER: dict[str, Any] = {"score": lambda x: 1.0 - x, "prediction": lambda x: 1.0 - x, "side": np.negative}


class Participations(NamedTuple):
    """Rows [R] of players in events, sorted by player and then by event: those of player i begin at `start[i]`.

    A match has two rows, one for each player. A contest has one for each seat, so that a player in several teams has
    several rows of an event.

        history.rows.of_player(3).before.mean  # the ratings of player 3 before each event
        history.rows.once_per_event().of_player(3).after.mean  # after each contest, or with hindsight
    """

    start: HostArray  # [num_players + 1]
    player: HostArray  # [R] ids
    event: HostArray  # [R] the number of the match or the contest, from 0
    row: HostArray  # [R] the row of the columns of events
    side: HostArray  # [R] 0 or 1 in a match; 0 in a contest
    opponent: HostArray | None  # [R] ids; None of contests
    time: HostArray  # [R] on the clock of the history; NaN where there is none
    end: HostArray  # [R] when the event counts, as those before it do: at its time, or after its rating period
    before: Rating  # mean and deviation [R] that the event found; with hindsight both are None
    after: Rating  # mean and deviation [R] that it left; of several rows of a period or contest the last has the change
    events: EventColumns  # the columns of events by name

    def gather(self, values: Any) -> HostArray:
        """[R] the values of rows of events [n], or of their seats [n, seats], row by row."""
        values = np.asarray(values)
        return values[self.row] if values.ndim == 1 else self._gather_seats(values, self.side)

    def _gather_seats(self, values: HostArray, side: HostArray) -> HostArray:
        """[R] the values [n, seats] of these sides of the rows; by one number for each, which is fast."""
        return np.take(values.reshape(-1), self.row * self.row.dtype.type(values.shape[1]) + side)

    def column(self, name: str, of_opponent: bool = False) -> HostArray:
        """[R] a column of events as the player of each row sees it, or in a match as their opponent does.

        What is told of player 0 of a match, as the score, is turned round for player 1.
        """
        values = self.events[name]
        if values.ndim == 2:
            return self._gather_seats(values, self.side ^ of_opponent)
        if self.opponent is None:
            return values[self.row]
        mirror = mirrored_column(name, self.events)
        second = self.events[mirror] if mirror else OF_SECOND_PLAYER.get(name, np.asarray)(values)
        return np.where(self.side == int(of_opponent), values[self.row], second[self.row])

    def select(self, rows: HostArray) -> "Participations":
        """These rows [K], in their order in the table."""
        whole: Any = self
        kept: Participations = jax.tree.map(lambda x: x[rows], whole._replace(start=None, events=None))
        return kept._replace(start=np.searchsorted(rows, self.start), events=self.events)

    def of_player(self, player: int) -> "Participations":
        """The rows of a player."""
        return self.select(np.arange(*self.start[player : player + 2]))

    def once_per_event(self) -> "Participations":
        """One row for each player of an event: the first of several, with the rating that the last left."""
        if self.opponent is not None:
            return self
        is_first = np.append(True, (np.diff(self.player) != 0) | (np.diff(self.event) != 0))[: len(self.player)]
        if is_first.all():
            return self
        first = np.flatnonzero(is_first)
        last = np.append(first[1:], len(self.player)) - 1
        return self.select(first)._replace(after=self.select(last).after)

    @property
    def totals(self) -> HostArray:
        """[num_players] how many rows each player has."""
        return np.diff(self.start)

    @property
    def have_all_times(self) -> bool:
        """Whether all events have times."""
        return not np.isnan(self.time).any()

    def counts_at(self, time: float | None = None) -> HostArray:
        """[num_players] how many of each player's rows count by a time: those before the first later one. None: all."""
        if time is None:
            return self.totals
        later = np.append(0, np.cumsum(self.end > time))
        return self.totals - np.diff(later[self.start])

    def iterate_counts_at(self, times: HostArray) -> Iterator[HostArray]:
        """Iterate over times, the earliest first: [num_players] what `counts_at` has at that time."""
        step = np.searchsorted(times, self.end).astype(np.min_scalar_type(len(times)))  # small numbers are sorted fast
        order, counts, begin = np.argsort(step, kind="stable"), np.zeros(len(self.start) - 1, int), 0
        for until in np.cumsum(np.bincount(step, minlength=len(times))[: len(times)]).tolist():
            counts = counts + np.bincount(self.player[order[begin:until]], minlength=len(counts))
            begin = until
            yield counts

    def groups(self, counts: HostArray) -> HostArray:
        """[num_players] numbers from 0 of groups that no chain of the first rows of players joins, the largest first.

        `counts` [num_players] are the rows that count of each. Who has none is in the first group.
        """
        player, event = self.events["player"], self.events["event"]
        if (counts < self.totals).any():
            is_counted = np.zeros(len(event), bool)
            is_counted[self.row[np.arange(len(self.row)) < np.repeat(self.start[:-1] + counts, self.totals)]] = True
            player, event = player[is_counted], event[is_counted]
        return group_players(len(counts), player, event)

    def last_times(self, players: Any, counts: HostArray) -> HostArray:
        """[...] the times of the last events of players of whom so many rows count; NaN where there is none."""
        if not len(self.time):
            return np.full(np.broadcast_shapes(np.shape(players), np.shape(counts)), np.nan)
        return np.where(counts > 0, self.time[self.start[players] + counts - 1], np.nan)

    def ratings_at(
        self, players: HostArray, counts: HostArray, time: Any, seasons: Sequence[float], final: Rating
    ) -> Rating:
        """Leaves [...] the ratings at a time of players, of whom so many rows count; arguments [...] may broadcast.

        They are those that the next event found, for which all the time between has passed, or after the last event
        `final` [num_players]. But before a season that is the first to begin between two events, they are those that
        the earlier one left. With hindsight they are those at the last event; NaN before the first.
        """
        row, is_last = self.start[players] + counts, counts == self.totals[players]
        last, following = np.maximum(row - 1, 0), np.minimum(row, max(len(self.player) - 1, 0))
        if not len(self.player):
            between = [*final]
        elif self.before.mean is None:
            between = [None if x is None else np.where(counts > 0, x[last], np.nan) for x in self.after]
        else:
            is_new_season = ~is_last & self._is_first_season_next(
                np.where(counts > 0, last, -1), following, time, seasons
            )
            pairs = zip(self.before, self.after, strict=True)
            between = [None if x is None else np.where(is_new_season, y[last], x[following]) for x, y in pairs]
        pairs = zip(between, final, strict=True)
        return Rating(*(None if x is None or y is None else np.where(is_last, y[players], x) for x, y in pairs))

    def _is_first_season_next(
        self, last: HostArray, following: HostArray, time: Any, seasons: Sequence[float]
    ) -> HostArray:
        """[...] whether the first season to begin between the rows `last` and `following` begins after `time`."""
        if time is None or not len(seasons):
            return np.zeros(np.shape(last), bool)
        times = np.where(last >= 0, self.time[last], np.nan), time, self.time[following]
        begun_by_last, begun, begun_by_next = (np.searchsorted(seasons, x, side="right") for x in times)
        return np.asarray((begun_by_last == begun) & (begun < begun_by_next))

    def peak_rows(self, score: HostArray, counts: HostArray, min_events: int) -> HostArray:
        """[num_players] each player's first row with the greatest score [R], of those that count, from `min_events` on.

        `counts` [num_players] are the rows that count of each. -1 of players who have fewer than `min_events`.
        """
        place = np.arange(len(score)) - np.repeat(self.start[:-1], self.totals)
        may_peak = (place >= min_events - 1) & (place < np.repeat(counts, self.totals))
        rows = np.flatnonzero(may_peak)
        peaks, player = np.full(len(counts), -1), self.player[rows]
        first = np.flatnonzero(np.append(True, np.diff(player) != 0)[: len(player)])
        if len(first):
            greatest = np.maximum.reduceat(score[rows], first)
            at_peak = rows[score[rows] == np.repeat(greatest, np.diff(np.append(first, len(rows))))]
            peaks[self.player[at_peak[::-1]]] = at_peak[::-1]  # of several of a player, the first one stays
        return peaks


def group_players(num_players: int, player: HostArray, event: HostArray) -> HostArray:
    """[num_players] numbers from 0 of groups that no chain of events joins, the largest first.

    `player` [n, seats] are the ids in rows of events, and `event` [n] the number of the event of each row. Who took
    part in none is in the first group.
    """
    groups = number_connected_groups(num_players, player.ravel(), np.repeat(event, player.shape[1]))
    return np.maximum(groups, 0)


def make_participations(history: Any) -> Participations:
    """The participations of a history."""
    events, num_players = history.events, len(history.players)
    num_seats = events["player"].shape[1]
    seats = events["player"].ravel()
    order = _stable_order(seats)
    counts = np.bincount(seats, minlength=num_players)
    start = np.append(0, np.cumsum(counts))
    row = order // order.dtype.type(num_seats)
    side = (order - row * order.dtype.type(num_seats)).astype(np.int8)
    player = np.repeat(np.arange(num_players, dtype=np.int32), counts)
    opponent = seats[order ^ 1] if num_seats == 2 else None  # the other seat of the match
    time = np.full(len(row), np.nan) if history.clock is None else events["time"][row].astype(float)
    end = time if history.period is None else period_end(time, history.period)
    if (np.diff(events["time"]) < 0).any():  # of contests whose times do not matter to the system
        end = np.concatenate([np.maximum.accumulate(end[i:j]) for i, j in pairwise(start)])
    nothing = Rating(None, None)
    event = events["event"].astype(order.dtype)[row]
    rows = Participations(start, player, event, row, side, opponent, time, end, nothing, nothing, events)
    recorded = _recorded_ratings(rows, ""), _recorded_ratings(rows, "_after")
    if history.hindsight is not None:
        return rows._replace(after=recorded[1])
    group, final = rows.event if history.period is None else end, final_ratings(history)
    after = [_ratings_after(start, x, y, z, group) for x, y, z in zip(*recorded, final, strict=True)]
    return rows._replace(before=recorded[0], after=Rating(*after))


def _recorded_ratings(rows: Participations, suffix: str) -> Rating:
    """Leaves [R]: the columns `rating` and `deviation` with this end of their names, as far as there are any."""
    names = f"rating{suffix}", f"deviation{suffix}"
    return Rating(*(rows.column(name) if name in rows.events else None for name in names))


def final_ratings(history: Any) -> Rating:
    """Leaves [num_players]: the ratings that players' last events left."""
    return Rating(
        *(None if x is None else np.asarray(x) for x in history.system.summary(history.system.params, history.state))
    )


def _ratings_after(start: HostArray, before: Any, left: Any, final: Any, group: HostArray) -> HostArray | None:
    """[R] what events left: what the player's next event found, and at last what the state has.

    Where time moves ratings, that is `left` at the last event of a period, or seat of a contest, as far as it is known.
    """
    if before is None:
        return None
    after = np.append(before[1:], before[:1])
    last = start[1:] - 1
    has_played = np.diff(start) > 0
    if left is not None:
        is_last_of_group = np.append(np.diff(group) != 0, False)[: len(group)]
        is_known = is_last_of_group & ~np.isnan(left)
        after = np.where(is_known, left, after)
    after[last[has_played]] = final[has_played]
    return after


def _stable_order(ids: HostArray) -> HostArray:
    """[R] the order of ids from 0, equal ones as they are; by 16 bits at a time, and in few bytes, which is fast."""
    order = np.argsort(ids.astype(np.uint16), kind="stable")
    if ids.max(initial=0) > np.iinfo(np.uint16).max:
        order = order[np.argsort((ids[order] >> 16).astype(np.uint16), kind="stable")]
    return order.astype(np.int32) if len(order) <= np.iinfo(np.int32).max else order
