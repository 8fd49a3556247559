"""The table of participations: who took part in which event, with what result, and their ratings before and after."""

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Rating
from jaxrate.events import Matches, count_teams, has_teammates, period_end, team_ranks
from jaxrate.history.prediction_columns import mirrored_column
from jaxrate.history.rated_history import Rated, days_to_dates, player_ids_and_event_numbers, times_to_event_clock
from jaxrate.replay.padded_states_and_columns import count_players
from jaxrate.smoothing.smoothing_result import Smoothed

SIDES = "a", "b"
# what a column says of player 1, from what it says of player 0
OF_SECOND_PLAYER: dict[str, Any] = {"score": lambda x: 1.0 - x, "prediction": lambda x: 1.0 - x, "side": np.negative}


class Participations(NamedTuple):
    """Rows [R] of players in events, sorted by player and then by event: those of player i begin at `start[i]`.

    A match has two rows, one for each player. A contest has one for each seat, so that a player in several teams has
    several rows of an event.
    """

    start: HostArray  # [N + 1]
    player: HostArray  # [R] ids
    event: HostArray  # [R] the number of the match or the contest, from 0
    row: HostArray  # [R] the row of the table of events
    side: HostArray  # [R] 0 or 1 in a match; 0 in a contest
    opponent: HostArray | None  # [R] ids; None of contests
    time: HostArray  # [R] on the clock of the history; NaN where there is none
    end: HostArray  # [R] when the event counts: at its time, or once its rating period has ended
    before: Rating  # leaves [R] the rating that the event found; None of a history with hindsight
    after: Rating  # leaves [R] that it left: of several rows of a period or a contest, the last has the change
    table: Any  # the columns of events by name

    def has(self, name: str) -> bool:
        """Whether there is such a column, for both sides together or for each."""
        names = column_names(self.table)
        return name in names or f"{name}_a" in names

    def gather(self, values: Any) -> HostArray:
        """[R] the values of events [n], or of both sides of matches [n, 2], row by row."""
        values = np.asarray(values)
        return values[self.row] if values.ndim == 1 else values[self.row, self.side]

    def column(self, name: str, of_opponent: bool = False) -> HostArray:
        """[R] a column as the player of each row sees it, or in a match as their opponent does.

        What is told of player 0 of a match, as the score, is turned round for player 1.
        """
        names = column_names(self.table)
        if f"{name}_a" in names:
            first, second = (self.gather(self.table[f"{name}_{side}"]) for side in SIDES)
        elif self.opponent is None:
            return self.gather(self.table[name])
        else:
            first = self.gather(self.table[name])
            mirror = mirrored_column(name, names)
            second = self.gather(self.table[mirror]) if mirror else OF_SECOND_PLAYER.get(name, np.asarray)(first)
        return np.where(self.side == int(of_opponent), first, second)

    def select(self, rows: HostArray) -> "Participations":
        """These rows [K], in their order in the table."""
        whole: Any = self
        kept: Participations = jax.tree.map(lambda x: x[rows], whole._replace(start=None, table=None))
        return kept._replace(start=np.searchsorted(rows, self.start), table=self.table)

    def once_per_event(self) -> "Participations":
        """One row for each player of an event: the first of several, with the rating that the last left."""
        is_first = np.append(True, (np.diff(self.player) != 0) | (np.diff(self.event) != 0))[: len(self.player)]
        if is_first.all():
            return self
        first = np.flatnonzero(is_first)
        last = np.append(first[1:], len(self.player)) - 1
        return self.select(first)._replace(after=self.select(last).after)


def column_names(table: Any) -> Any:
    """The names of the columns of a table of Arrow, or of a dict."""
    return getattr(table, "column_names", table)


def build_participations(history: Rated | Smoothed, player: int | None = None) -> Participations:
    """The participations of a rated or smoothed history: of all players, or of the one with this id."""
    if isinstance(history, Rated):
        table, (ids, event) = history.predictions, player_ids_and_event_numbers(history)
    else:
        table, (ids, event) = smoothed_event_columns(history), _smoothed_ids_and_event_numbers(history)
    seats = ids.ravel()
    order = _stable_order(seats) if player is None else np.flatnonzero(seats == player)
    first = 0 if player is None else player
    num_players = count_players(history.state) if player is None else 1
    counts = np.bincount(seats, minlength=num_players) if player is None else [len(order)]
    start = np.append(0, np.cumsum(counts))
    row = order // ids.shape[1]
    side = order - row * ids.shape[1]
    opponent = seats[order ^ 1] if ids.shape[1] == 2 else None  # the other seat of the match
    time = np.full(len(row), np.nan)
    if history.clock is not None:
        time = times_to_event_clock(np.asarray(table["time"]))[row]
    period = history.period if isinstance(history, Rated) else None
    end = time if period is None else period_end(time, period)
    nothing = Rating(None, None)
    rows = Participations(start, seats[order], event[row], row, side, opponent, time, end, nothing, nothing, table)
    recorded = _recorded_ratings(rows, ""), _recorded_ratings(rows, "_after")
    if isinstance(history, Smoothed):
        return rows._replace(after=recorded[0])
    final = [None if x is None else np.asarray(x)[first : first + num_players] for x in ratings_of_state(history)]
    is_last_of_group = np.append(np.diff(rows.event if period is None else end) != 0, False)[: len(row)]
    after = [_ratings_after(start, x, y, z, is_last_of_group) for x, y, z in zip(*recorded, final, strict=True)]
    return rows._replace(before=recorded[0], after=Rating(*after))


def _recorded_ratings(rows: Participations, suffix: str) -> Rating:
    """Leaves [R]: the columns `rating` and `deviation` with this end of their names, as far as there are any."""
    names = f"rating{suffix}", f"deviation{suffix}"
    return Rating(*(rows.column(name) if rows.has(name) else None for name in names))


def ratings_of_state(history: Rated | Smoothed) -> Rating:
    """Leaves [N]: the ratings that players' last events left."""
    rating: Rating = history.system.summary(history.system.params, history.state)
    return rating


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


def _smoothed_ids_and_event_numbers(smoothed: Smoothed) -> tuple[HostArray, HostArray]:
    """The ids and numbers of a history with hindsight, as `player_ids_and_event_numbers` has those of a rated one."""
    ids, numbers = _smoothed_players(smoothed), np.arange(len(smoothed.time))
    if ids.ndim == 2:
        return ids, numbers
    return ids[:, None], np.repeat(numbers, np.diff(smoothed.rounds.player_start))


def smoothed_event_columns(smoothed: Smoothed) -> dict[str, HostArray]:
    """The events of a smoothed history in columns, as those of a rated one; ratings are those that events left."""
    time = days_to_dates(smoothed.time) if smoothed.clock == "dates" else smoothed.time
    prediction, ids = np.asarray(smoothed.prediction), _smoothed_players(smoothed)
    names = ids if smoothed.players is None else np.asarray(smoothed.players)[ids]
    ratings = [(name, np.asarray(x)) for name, x in zip(("rating", "deviation"), smoothed.rating, strict=True)]
    if isinstance(smoothed.events, Matches):
        sides = {f"{name}_{side}": x[:, i] for i, side in enumerate(SIDES) for name, x in ratings}
        results = {"score": np.asarray(smoothed.events.score), "prediction": prediction}
        return {"time": time} | {side: names[:, i] for i, side in enumerate(SIDES)} | results | sides
    size = np.diff(smoothed.rounds.player_start)
    labels = np.arange(len(size)) if smoothed.contests is None else np.asarray(smoothed.contests)
    teams = {"teams": count_teams(smoothed.rounds)} if has_teammates(smoothed.rounds) else {}
    of_contests = {"time": time, "contest": labels, "participants": size} | teams
    columns = {name: np.repeat(x, size, axis=0) for name, x in of_contests.items()}
    results = {"rank": team_ranks(smoothed.rounds) + 1, "prediction": prediction}
    return columns | {"player": names} | results | dict(ratings)


def _smoothed_players(smoothed: Smoothed) -> HostArray:
    """[n, 2] ids of both players of matches, or [n] of participants."""
    flat: Any = smoothed.events.flat
    return np.asarray(flat.player)
