"""Who was the greatest: every player at their best, with hindsight."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.tables import Values
from jaxrate.records.rated import show_time
from jaxrate.smoothing.found import Smoothed
from jaxrate.text import decimals, html_table, interval, table


class Peaks(NamedTuple):
    """The greatest first. `print` shows a table; `_asdict()` gives the columns to any data frame."""

    rank: Values  # [top] from 1
    player: Values  # [top] names, or ids if there are none
    rating: Values  # [top] after the match at which they stood highest
    deviation: Values  # [top] of the rating then
    match: Values  # [top] which match that was
    time: Values  # [top] its time, on the clock of the matches
    clock: str | None  # of the times, as in `Dataset`

    def __str__(self) -> str:
        return table(*self._columns())

    def _repr_html_(self) -> str:
        return html_table(*self._columns())

    def _columns(self) -> tuple[list[str], list[Any]]:
        digits = decimals(self.rating)
        columns = [
            self.rank,
            self.player,
            [f"{x:.{digits}f}" for x in self.rating],
            [interval(*x) for x in zip(self.rating, self.deviation, strict=True)],
        ]
        head = ["rank", "player", "rating", "95 % interval"]
        if self.clock is not None:
            head.append("time")
            columns.append([show_time(float(x), self.clock) for x in self.time])
        return head, [*zip(*columns, strict=True)]


def peaks(smoothed: Smoothed, *, top: int = 20, cautious: float = 0.0) -> Peaks:
    """The players who stood highest, each at the best moment of their career, given the whole history.

        print(jr.peaks(jr.smooth(system, data), top=10))

    The interval is that of the rating at that match. The highest of many uncertain ratings is likely to be one that
    looks too high: `cautious` ranks, and chooses the moment, by what a player was at least.

    Args:
      smoothed: as from `smooth`.
      top: how many players.
      cautious: rank by the mean less so many deviations (>= 0); shown is the mean.

    Raises:
      ValueError: if `top` is below 1, or `cautious` is negative or not finite.
    """
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    if not (np.isfinite(cautious) and cautious >= 0):
        raise ValueError(f"cautious must be from 0, got {cautious}")
    mean, deviation = (np.asarray(x).ravel() for x in smoothed.rating)
    player = np.asarray(smoothed.matches.player).ravel()
    best = np.argsort(cautious * deviation - mean, kind="stable")
    _, first = np.unique(player[best], return_index=True)
    some = best[np.sort(first)[:top]]
    match, names = some // 2, smoothed.players
    who = player[some] if names is None else np.asarray(names)[player[some]]
    time = np.asarray(smoothed.matches.time)[match]
    return Peaks(np.arange(1, len(some) + 1), who, mean[some], deviation[some], match, time, smoothed.clock)
