"""The careers of all players at once, one after the other: what a page for each of them is made of."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.tables import Values, pyarrow
from jaxrate.records.rated import Rated, to_days
from jaxrate.records.readings import ratings
from jaxrate.smoothing.found import Smoothed


class Careers(NamedTuple):
    """Rows [M] of all players, each one's in order of time: those of player i are `start[i]` to `start[i + 1]`."""

    start: Values  # [num_players + 1]
    row: Values  # [M] of the predictions
    first: Values | None  # [M] whether they are player 0 of that match; None of contests
    opponent: Values | None  # [M] ids; None of contests
    time: Values  # [M] on the clock of the history; NaN where there is none
    rating: Values  # [M] before the event
    deviation: Values | None  # [M] of that rating; None if the system has none
    after: Values  # [M] the rating that the next event found, or the one at the end
    final: Any  # a `Rating` [num_players] at the end

    def of(self, values: Values) -> Values:
        """[M] of a column [n] of the predictions."""
        return np.asarray(values)[self.row]

    def either(self, first: Values, second: Values) -> Values:
        """[M] of the player whose row it is, from columns [n] of player 0's and of player 1's."""
        return np.where(np.asarray(self.first), self.of(first), self.of(second))

    def mine(self, score: Values) -> Values:
        """[M] the score of the player whose row it is, or its expectation, from a column [n] of player 0's."""
        return self.either(score, 1.0 - np.asarray(score))


def careers(rated: Rated) -> Careers:
    """What every player went through, as `career` tells it of one."""
    table, n = rated.predictions, len(rated.players)
    times = table["time"].to_numpy() if table["time"].null_count < len(table) else np.full(len(table), np.nan)
    names = "ab" if rated.contests is None else ("",)
    columns = [f"_{name}" if name else "" for name in names]
    ids = _beside([_ids(table[name or "player"], rated.players) for name in names])
    order = np.argsort(ids, kind="stable")
    width = len(names)
    row = order // width
    rating = _beside([table[f"rating{x}"].to_numpy() for x in columns])[order]
    deviation = None
    if f"deviation{columns[0]}" in table.column_names:
        deviation = _beside([table[f"deviation{x}"].to_numpy() for x in columns])[order]
    start = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=n))])
    final = ratings(rated)
    final = final._replace(mean=np.asarray(final.mean), deviation=_host(final.deviation))
    after, some = np.append(rating[1:], 0.0), np.diff(start) > 0
    after[start[1:][some] - 1] = final.mean[some]
    matches = rated.contests is None
    return Careers(
        start,
        row,
        order % 2 == 0 if matches else None,
        ids[order ^ 1] if matches else None,
        to_days(times)[row],
        rating,
        deviation,
        after,
        final,
    )


def _host(values: Any) -> Values | None:
    return None if values is None else np.asarray(values)


def _beside(columns: list[Values]) -> Values:
    """The columns in one, row by row."""
    return np.stack(columns, axis=1).ravel()


def _ids(names: Any, players: Values) -> Values:
    """[n] ids of the names of an Arrow column."""
    arrow = pyarrow()
    known = arrow.array(players)
    if known.type != names.type:
        known = known.cast(names.type)
    return np.asarray(arrow.compute.index_in(names, value_set=known).to_numpy()).astype(np.int64)


class Peak(NamedTuple):
    """The highest rating of every player, [num_players]; NaN of those who have not played."""

    rating: Values
    row: Values  # [num_players] of the careers: the event that left it
    last: Values  # [num_players] the time of the last event


def peak(found: Careers) -> Peak:
    """Where each stood highest, by the rating that an event left, and when they played last."""
    n, size = len(found.start) - 1, np.diff(found.start)
    rating, row, last = np.full(n, np.nan), np.full(n, -1), np.full(n, np.nan)
    who = np.repeat(np.arange(n), size)
    best = np.lexsort((-np.arange(len(who)), found.after, who))
    some = size > 0
    row[some] = best[found.start[1:][some] - 1]
    rating[some] = found.after[row[some]]
    last[some] = found.time[found.start[1:][some] - 1]
    return Peak(rating, row, last)


def in_hindsight(rated: Rated, smoothed: Any) -> tuple[Values, Values]:
    """Means and deviations [n, 2] of both players of each match, given the whole history.

    Args:
      rated: the history.
      smoothed: as from `jr.smooth` of the same matches, or the columns that `jaxrate rate --smooth` saved of it.

    Raises:
      ValueError: if it is of other matches.
    """
    if isinstance(smoothed, Smoothed):
        score, rating = smoothed.matches.score, smoothed.rating
        mean, deviation = np.asarray(rating.mean), np.asarray(rating.deviation)
    else:
        score = np.asarray(smoothed["score"])
        mean, deviation = (_beside([np.asarray(smoothed[f"{name}_{x}"]) for x in "ab"]).reshape(-1, 2)
                           for name in ("rating", "deviation"))  # fmt: skip
    if rated.contests is not None or not np.array_equal(rated.predictions["score"].to_numpy(), score):
        raise ValueError("smoothed must be of the same matches as the rated history, in their order")
    return mean, deviation
