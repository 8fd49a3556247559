"""The table of participations: who took part in which event, with what result, and their ratings before and after."""

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Rating
from jaxrate.events import period_end
from jaxrate.history.event_columns import EventColumns, mirrored_column

# what a column says of player 1, from what it says of player 0
OF_SECOND_PLAYER: dict[str, Any] = {"score": lambda x: 1.0 - x, "prediction": lambda x: 1.0 - x, "side": np.negative}


class Participations(NamedTuple):
    """Rows [R] of players in events, sorted by player and then by event: those of player i begin at `start[i]`.

    A match has two rows, one for each player. A contest has one for each seat, so that a player in several teams has
    several rows of an event.
    """

    start: HostArray  # [num_players + 1]
    player: HostArray  # [R] ids
    event: HostArray  # [R] the number of the match or the contest, from 0
    row: HostArray  # [R] the row of the columns of events
    side: HostArray  # [R] 0 or 1 in a match; 0 in a contest
    opponent: HostArray | None  # [R] ids; None of contests
    time: HostArray  # [R] on the clock of the history; NaN where there is none
    end: HostArray  # [R] when the event counts: at its time, or once its rating period has ended
    before: Rating  # leaves [R] the rating that the event found; None of a history with hindsight
    after: Rating  # leaves [R] that it left: of several rows of a period or a contest, the last has the change
    events: EventColumns  # the columns of events by name

    def gather(self, values: Any) -> HostArray:
        """[R] the values of rows of events [n], or of their seats [n, seats], row by row."""
        values = np.asarray(values)
        return values[self.row] if values.ndim == 1 else values[self.row, self.side]

    def column(self, name: str, of_opponent: bool = False) -> HostArray:
        """[R] a column of events as the player of each row sees it, or in a match as their opponent does.

        What is told of player 0 of a match, as the score, is turned round for player 1.
        """
        values = self.events[name]
        if values.ndim == 2:
            return values[self.row, self.side ^ of_opponent]
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
        is_first = np.append(True, (np.diff(self.player) != 0) | (np.diff(self.event) != 0))[: len(self.player)]
        if is_first.all():
            return self
        first = np.flatnonzero(is_first)
        last = np.append(first[1:], len(self.player)) - 1
        return self.select(first)._replace(after=self.select(last).after)


def make_participations(history: Any) -> Participations:
    """The participations of a history."""
    events, num_players = history.events, len(history.players)
    num_seats = events["player"].shape[1]
    seats = events["player"].ravel()
    order = _stable_order(seats)
    start = np.append(0, np.cumsum(np.bincount(seats, minlength=num_players)))
    row, side = np.divmod(order, num_seats)
    opponent = seats[order ^ 1] if num_seats == 2 else None  # the other seat of the match
    time = np.full(len(row), np.nan) if history.clock is None else events["time"][row].astype(float)
    end = time if history.period is None else period_end(time, history.period)
    nothing = Rating(None, None)
    rows = Participations(
        start, seats[order], events["event"][row], row, side, opponent, time, end, nothing, nothing, events
    )
    recorded = _recorded_ratings(rows, ""), _recorded_ratings(rows, "_after")
    if history.hindsight is not None:
        return rows._replace(after=recorded[1])
    is_last_of_group = np.append(np.diff(rows.event if history.period is None else end) != 0, False)[: len(row)]
    final = final_ratings(history)
    after = [_ratings_after(start, x, y, z, is_last_of_group) for x, y, z in zip(*recorded, final, strict=True)]
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


def _ratings_after(
    start: HostArray, before: Any, left: Any, final: Any, is_last_of_group: HostArray
) -> HostArray | None:
    """[R] what events left: what the player's next event found, and at last what the state has.

    Where time moves ratings, that is `left` at the last event of a period, or seat of a contest, as far as it is known.
    """
    if before is None:
        return None
    after = np.append(before[1:], before[:1])
    last = start[1:] - 1
    has_played = np.diff(start) > 0
    if left is not None:
        is_known = is_last_of_group & ~np.isnan(left)
        after = np.where(is_known, left, after)
    after[last[has_played]] = final[has_played]
    return after


def _stable_order(ids: HostArray) -> HostArray:
    """[R] the order of ids from 0, equal ones as they are; by 16 bits at a time, which is fast."""
    order = np.argsort(ids.astype(np.uint16), kind="stable")
    if ids.max(initial=0) > np.iinfo(np.uint16).max:
        order = order[np.argsort((ids[order] >> 16).astype(np.uint16), kind="stable")]
    return order
