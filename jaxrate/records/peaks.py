"""Who was the greatest: every player at their best."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.arguments import check_arguments
from jaxrate.data.tables import Values
from jaxrate.records.courses import SETTLED, courses
from jaxrate.records.leaderboard_table import shown_times
from jaxrate.records.rated import Rated, to_dates
from jaxrate.records.shown import table_to_json, table_to_pandas
from jaxrate.smoothing.found import Smoothed
from jaxrate.text import decimals, html_table, intervals, table


class Peaks(NamedTuple):
    """The greatest first. `print` shows a table; `jr.frame` makes a data frame of the columns."""

    rank: Values  # [top] from 1
    player: Values  # [top] names, or ids if there are none
    rating: Values  # [top] after the match at which they stood highest
    deviation: Values | None  # [top] of the rating then; None if the system has none
    match: Values  # [top] which match, or row of the predictions, that was
    time: Values | None  # [top] when, as dates or numbers; None if there are no times

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """The table in JSON: a list for each column by its name."""
        return table_to_json(self)

    def __str__(self) -> str:
        return table(*self._columns())

    def _repr_html_(self) -> str:
        return html_table(*self._columns())

    def _columns(self) -> tuple[list[str], list[Any]]:
        digits = decimals(self.rating)
        shown = {"rank": self.rank, "player": self.player, "rating": [f"{x:.{digits}f}" for x in self.rating]}
        if self.deviation is not None:
            shown["95 % interval"] = intervals(self.rating, self.deviation)
        if self.time is not None:
            shown["time"] = shown_times(self.time)
        return [*shown], [*zip(*shown.values(), strict=True)]


@check_arguments
def peaks(rated: Rated | Smoothed, *, top: int = 20, cautious: float = 0.0, min_games: int | None = None) -> Peaks:
    """The players who stood highest, each at the best moment of their career.

        print(jr.peaks(rated, top=10))
        print(jr.peaks(jr.smooth(system, data), top=10))  # given the whole history

    The interval is that of the rating then: of a rated history as the player's next event found it. The highest of many
    uncertain ratings is likely to be one that looks too high: `cautious` ranks, and chooses the moment, by what a
    player was at least.

    Args:
      rated: as from `rate` or `smooth`.
      top: how many players.
      cautious: rank by the mean less so many deviations (>= 0); shown is the mean.
      min_games: only moments after so many matches or contests, and those who have had them. None: 10 of a rated
        history, whose first ratings jump; 1 with hindsight.

    Raises:
      ValueError: if `top` is below 1, if `cautious` is negative or not finite, or if the system has no deviations to be
        cautious about.
    """
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    if not (np.isfinite(cautious) and cautious >= 0):
        raise ValueError(f"cautious must be from 0, got {cautious}")
    least = (1 if isinstance(rated, Smoothed) else SETTLED) if min_games is None else max(min_games, 1)
    course = courses(rated)
    score = course.mean
    if cautious:
        if course.deviation is None:
            raise ValueError(f"{rated.system.name} has no deviations to be cautious about")
        score = score - cautious * course.deviation
    last = course.reached()
    enough = last - course.start[:-1] >= least
    highest = course.highest(score, last, least)[enough]
    some = np.argsort(-score[highest], kind="stable")[:top]
    point = highest[some]
    who = np.flatnonzero(enough)[some]
    time = None
    if rated.clock is not None:
        time = to_dates(course.time[point]) if rated.clock == "dates" else course.time[point]
    return Peaks(
        np.arange(1, len(some) + 1),
        who if rated.players is None else np.asarray(rated.players)[who],
        course.mean[point],
        None if course.deviation is None else course.deviation[point],
        course.row[point],
        time,
    )
