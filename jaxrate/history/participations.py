"""The table of participations: who took part in which event, with what result, and their ratings before and after."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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


@dataclass(frozen=True, eq=False)
class Participations:
    """Rows [R] of players in events, sorted by player and then by event: those of player i begin at `start[i]`.

    A match has two rows, one for each player. A contest has one for each seat, so that a player in several teams has
    several rows of an event. Columns but for ratings are gathered from the columns of events at first use.

        history.rows.of_player(3).before.mean  # the ratings of player 3 before each event
        history.rows.once_per_event().of_player(3).after.mean  # after each contest, or with hindsight
    """

    start: HostArray  # [num_players + 1]
    seat: HostArray  # [R] the number of the seat in the columns of events, row by row
    before: Rating  # mean and deviation [R] that the event found; with hindsight those after it
    after: Rating  # those that it left; of rows of one period or contest the last has the change
    events: EventColumns  # the columns of events by name, of n rows
    time_of_row: HostArray  # [n] on the clock of the history; NaN where there is none
    end_of_row: HostArray  # [n] when the row counts, as those before it do: at its time, or after its rating period
    has_hindsight: bool  # whether ratings know all events

    @property
    def num_seats(self) -> int:
        """The seats of a row of events: two of a match, one of a contest."""
        return int(self.events["player"].shape[1])

    @cached_property
    def row(self) -> HostArray:
        """[R] the row of the columns of events."""
        return self.seat // self.num_seats

    @cached_property
    def side(self) -> HostArray:
        """[R] 0 or 1 in a match; 0 in a contest."""
        return (self.seat % self.num_seats).astype(np.int8)

    @cached_property
    def player(self) -> HostArray:
        """[R] ids."""
        return self.gather(self.events["player"])

    @cached_property
    def opponent(self) -> HostArray | None:
        """[R] ids; None of contests."""
        return self.column("player", of_opponent=True) if self.num_seats == 2 else None

    @cached_property
    def event(self) -> HostArray:
        """[R] the number of the match or the contest, from 0."""
        return self.gather(self.events["event"])

    @cached_property
    def time(self) -> HostArray:
        """[R] on the clock of the history; NaN where there is none."""
        return self.gather(self.time_of_row)

    @cached_property
    def end(self) -> HostArray:
        """[R] when the event counts, as those before it do: at its time, or after its rating period."""
        return self.gather(self.end_of_row)

    @cached_property
    def totals(self) -> HostArray:
        """[num_players] how many rows each player has."""
        return np.diff(self.start)

    @cached_property
    def have_all_times(self) -> bool:
        """Whether all events have times."""
        return not np.isnan(self.time_of_row).any()

    def gather(self, values: Any) -> HostArray:
        """[R] the values of rows of events [n], or of their seats [n, seats], row by row."""
        values = np.asarray(values)
        return values.take(self.row if values.ndim == 1 else self.seat)

    def column(self, name: str, of_opponent: bool = False) -> HostArray:
        """[R] a column of events as the player of each row sees it, or in a match as their opponent does.

        What is told of player 0 of a match, as the score, is turned round for player 1.
        """
        values = self.events[name]
        if values.ndim == 2:
            return values.ravel()[self.seat ^ of_opponent]
        if self.num_seats == 1:
            return values[self.row]
        mirror = mirrored_column(name, self.events)
        second = self.events[mirror] if mirror else OF_SECOND_PLAYER.get(name, np.asarray)(values)
        return np.where(self.side == int(of_opponent), values[self.row], second[self.row])

    def known_columns(self, names: Iterable[str]) -> dict[str, HostArray]:
        """The columns of these names, as `column` has them, as far as the history has them."""
        return {name: self.column(name) for name in names if name in self.events}

    def select(self, rows: HostArray) -> "Participations":
        """These rows [K], in their order in the table."""
        before, after = (jax.tree.map(lambda x: x[rows], rating) for rating in (self.before, self.after))
        start = np.searchsorted(rows, self.start)
        return replace(self, start=start, seat=self.seat[rows], before=before, after=after)

    def of_player(self, player: int) -> "Participations":
        """The rows of a player."""
        return self.select(np.arange(*self.start[player : player + 2]))

    def once_per_event(self) -> "Participations":
        """One row for each player of an event: the first of several, with the rating that the last left."""
        if self.num_seats == 2:
            return self
        is_first = np.append(True, (np.diff(self.player) != 0) | (np.diff(self.event) != 0))[: len(self.seat)]
        if is_first.all():
            return self
        first = np.flatnonzero(is_first)
        last = np.append(first[1:], len(self.seat)) - 1
        return replace(self.select(first), after=jax.tree.map(lambda x: x[last], self.after))

    @cached_property
    def chronology(self) -> "Chronology":
        """The rows in the order in which they count, or events where all their rows are here and in this order."""
        end = self.end_of_row if self.have_all_times else self.events["event"]
        if len(self.seat) == self.events["player"].size and not (np.diff(end) < 0).any():
            return Chronology(end, self.time_of_row, self.events["player"], self.events["event"])
        end = self.end if self.have_all_times else self.event
        order = np.argsort(end, kind="stable")
        return Chronology(*(x[order] for x in (end, self.time, self.player[:, None], self.event)))

    def counts_at(self, time: float = np.inf) -> HostArray:
        """[num_players] how many of each player's rows count by a time: those before the first later one."""
        if time == np.inf or not self.have_all_times:
            return self.totals
        return np.bincount(self._rows_counted_by_time(time).player.ravel(), minlength=len(self.totals))

    def iterate_counts_at(self, times: HostArray, values: HostArray) -> Iterator[tuple[HostArray, HostArray]]:
        """Iterate over times, the earliest first: [num_players] what `counts_at` has, and the values of last rows."""
        player = self.chronology.player
        counts, last, begin = np.zeros(len(self.totals), int), np.full(len(self.totals), np.nan), 0
        for end in np.searchsorted(self.chronology.end, times, side="right").tolist():
            ids = player[begin:end].ravel()
            counts = counts + np.bincount(ids, minlength=len(counts))
            last[ids] = np.repeat(values[begin:end], player.shape[1])  # of several of a player, the last one stays
            begin = end
            yield counts, last

    def groups_at(self, time: float = np.inf) -> HostArray:
        """[num_players] the numbers of `group_players` of the rows that count by a time."""
        if not self.have_all_times or time >= self.end_of_row.max(initial=-np.inf):
            return self._groups_at_end
        counted = self._rows_counted_by_time(time)
        return group_players(len(self.totals), counted.player, counted.event)

    @cached_property
    def _groups_at_end(self) -> HostArray:
        return group_players(len(self.totals), self.chronology.player, self.chronology.event)

    def _rows_counted_by_time(self, time: float) -> "Chronology":
        """The rows that count by a time."""
        number = np.searchsorted(self.chronology.end, time, side="right")
        return Chronology(*(x[:number] for x in self.chronology))

    def last_times(self, players: Any, counts: HostArray) -> HostArray:
        """[...] the times of the last events of players of whom so many rows count; NaN where there is none."""
        if not len(self.seat):
            return np.full(np.broadcast_shapes(np.shape(players), np.shape(counts)), np.nan)
        last = self.seat[self.start[players] + counts - 1]
        return np.where(counts > 0, self.time_of_row[last // self.num_seats], np.nan)

    def ratings_at(
        self, players: HostArray, counts: HostArray, time: Any, seasons: Sequence[float], final: Rating
    ) -> Rating:
        """Leaves [...] the ratings at a time of players, of whom so many rows count; arguments [...] may broadcast.

        They are those that the next event found, for which all the time between has passed, or after the last event
        `final` [num_players]. But before a season that is the first to begin between two events, they are those that
        the earlier one left. With hindsight they are those at the last event; NaN before the first. They have a
        deviation if `final` has one.
        """
        if not len(self.seat):
            return jax.tree.map(lambda x: x[players], final)
        row, is_last = self.start[players] + counts, counts == self.totals[players]
        previous, following = np.maximum(row - 1, 0), np.minimum(row, len(self.seat) - 1)
        keeps_last = self._keeps_rating_until_next(previous, following, counts, time, seasons)

        def rating_at(before: HostArray, after: HostArray, final: HostArray) -> HostArray:
            found = before[following]
            if np.any(keeps_last):
                found = np.where(keeps_last, np.where(counts > 0, after[previous], np.nan), found)
            return np.where(is_last, final[players], found)

        leaves = zip(self.before, self.after, final, strict=True)
        return Rating(*(None if z is None else rating_at(x, y, z) for x, y, z in leaves))

    def _keeps_rating_until_next(
        self, previous: HostArray, following: HostArray, counts: HostArray, time: Any, seasons: Sequence[float]
    ) -> Any:
        """[...] whether what the previous row left holds at a time until the following one, of whom so many rows count.

        It does with hindsight, and if the first season to begin between the two begins after the time.
        """
        if self.has_hindsight or not len(seasons):
            return self.has_hindsight
        times = np.where(counts > 0, self.time[previous], np.nan), time, self.time[following]
        begun_by_last, begun, begun_by_next = (np.searchsorted(seasons, x, side="right") for x in times)
        return (begun_by_last == begun) & (begun < begun_by_next)

    def peak_rows(self, score: HostArray, players: HostArray, counts: HostArray, min_events: int) -> HostArray:
        """[K] the first row with the greatest score [R] of each of these players, of their rows from `min_events` on.

        `counts` [K] are the rows that count of each. -1 of players who have fewer than `min_events`, or no scores.
        """
        peaks, size = np.full(len(players), -1), np.maximum(counts - min_events + 1, 0)
        end = np.cumsum(size)
        if not size.any():
            return peaks
        rows = np.arange(end[-1]) + np.repeat(self.start[players] + min_events - 1 - (end - size), size)
        scores, number = score[rows], np.repeat(np.arange(len(players)), size)
        greatest = np.maximum.reduceat(scores, (end - size)[size > 0])
        at_peak = np.flatnonzero(scores == np.repeat(greatest, size[size > 0]))[::-1]
        peaks[number[at_peak]] = rows[at_peak]  # of several of a player, the first one stays
        return peaks


class Chronology(NamedTuple):
    """Rows of events, or of participations, in the order in which they count."""

    end: HostArray  # [m] when they count; of histories without all times the number of the event
    time: HostArray  # [m] on the clock of the history
    player: HostArray  # [m, seats] ids
    event: HostArray  # [m] the number of the match or the contest


def group_players(num_players: int, player: HostArray, event: HostArray) -> HostArray:
    """[num_players] numbers from 0 of groups that no chain of events joins, the largest first.

    `player` [n, seats] are the ids in rows of events, and `event` [n] the number of the event of each row. Who took
    part in none is in the first group.
    """
    someone = np.zeros(event.max(initial=-1) + 1, player.dtype)  # of each event
    someone[event] = player[:, 0]
    return np.maximum(number_connected_groups(num_players, player[:, -1], someone[event]), 0)


def make_participations(history: Any) -> Participations:
    """The participations of a history."""
    events, player = history.events, history.events["player"]
    seat = player.ravel().astype(np.int64) << 32  # seats by player and then by number, as one number: sorted fast
    seat |= np.arange(len(seat))
    seat.sort()
    seat &= 0xFFFFFFFF
    start = np.append(0, np.cumsum(np.bincount(player.ravel(), minlength=len(history.players))))
    time = np.full(len(player), np.nan) if history.clock is None else events["time"].astype(float, copy=False)
    end = time if history.period is None else period_end(time, history.period)
    if (np.diff(time) < 0).any():  # of events whose times do not matter to the system
        end = end.copy()
        for i, j in pairwise(start):
            row = seat[i:j] // player.shape[1]
            end[row] = np.maximum.accumulate(end[row])
    names = ("rating", "deviation"), ("rating_after", "deviation_after")
    before, left = (jax.tree.map(lambda x: x.take(seat), Rating(*map(events.get, pair))) for pair in names)
    if history.hindsight is not None:
        return Participations(start, seat, left, left, events, time, end, True)
    after = jax.tree.map(lambda x: np.append(x[1:], x[:1]), before)  # what the player's next event found
    if left.mean is not None:  # as time moves ratings: the last of a period, or seat of a contest, has what it left
        group = (events["event"] if history.period is None else end)[seat // player.shape[1]]
        is_last_of_group = np.append(np.diff(group) != 0, False)[: len(seat)]
        after = jax.tree.map(lambda x, y: np.where(is_last_of_group & ~np.isnan(y), y, x), after, left)
    final, has_played = history.system.summary(history.system.params, history.state), np.diff(start) > 0
    for values, at_end in zip(jax.tree.leaves(after), jax.tree.leaves(final), strict=False):
        values[start[1:][has_played] - 1] = np.asarray(at_end)[has_played]
    return Participations(start, seat, before, after, events, time, end, False)
