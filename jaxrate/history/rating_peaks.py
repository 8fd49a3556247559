"""Peak ratings: every player at their best."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import (
    format_credible_intervals,
    format_decimals,
    format_html_table,
    format_table,
    rating_decimals,
)
from jaxrate.history.column_table import table_to_json, table_to_pandas
from jaxrate.history.history import History
from jaxrate.history.leaderboard_table import format_times
from jaxrate.history.participations import Participations
from jaxrate.history.rating_drift import lead_over_level
from jaxrate.history.trajectories import PEAK_MIN_EVENTS, build_trajectories, trajectories_of_rows


class PeakRatings(NamedTuple):
    """The greatest first. `print` shows a table; `jr.data.to_frame` makes a data frame of the columns."""

    rank: HostArray  # [top] from 1
    player: HostArray  # [top] names, or ids if there are none
    rating: HostArray  # [top] after the match at which they stood highest
    deviation: HostArray | None  # [top] of the rating then; None if the system has none
    above_median: HostArray | None  # [top] the lead over the median of the active then; None where that does not drift
    match: HostArray  # [top] the match, or row of the predictions, of that rating
    time: HostArray | None  # [top] when, as dates or numbers; None if there are no times

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """The table in JSON: a list for each column by its name."""
        return table_to_json(self)

    def __str__(self) -> str:
        return format_table(*self.heads_and_cells())

    def _repr_html_(self) -> str:
        return format_html_table(*self.heads_and_cells())

    def heads_and_cells(self, top: int | None = None) -> tuple[list[str], list[Any]]:
        """The heads, and the cells of the first `top` rows, as text for people."""
        digits = rating_decimals(self.rating)
        cells = {"rank": self.rank, "player": self.player, "rating": [f"{x:,.{digits}f}" for x in self.rating]}
        if self.deviation is not None:
            cells["95% interval"] = format_credible_intervals(self.rating, self.deviation)
        if self.above_median is not None:
            cells["above median"] = [format_decimals(x, digits, signed=True) for x in self.above_median]
        if self.time is not None:
            cells["time"] = format_times(self.time)
        return [*cells], [*zip(*cells.values(), strict=True)][:top]


def rows_of_peaks(rated: History, rows: Participations) -> tuple[HostArray | None, HostArray]:
    """The level of ratings, and the rows of peaks, among the participations of a history, one for each event.

    The level [R] is the median of the active, above which peaks are measured; None where it does not drift. The rows
    [num_players] are those of the peaks of leaderboards, -1 of players who have none.
    """
    trajectories = trajectories_of_rows(rated, rows)
    lead, level = lead_over_level(trajectories, trajectories.mean, rated.clock)
    peak = trajectories.peak_points(lead, trajectories.points_at())
    peak = np.where(peak < 0, -1, peak - np.arange(len(peak)) - 1)
    return None if level is None else level[trajectories.row >= 0], peak


@enforce_argument_annotations
def peak_ratings(rated: History, *, top: int = 20, cautious: float = 0.0, min_games: int | None = None) -> PeakRatings:
    """The players who stood highest, each at the best moment of their career.

        print(jr.history.peak_ratings(rated, top=10))
        print(jr.history.peak_ratings(jr.smooth(system, data), top=10))  # given the whole history

    The interval is that of the rating then: of a rated history as it was before the player's next event. The highest of
    many
    uncertain ratings is likely to be one that looks too high: `cautious` ranks, and chooses the moment, by what a
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
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    if not (np.isfinite(cautious) and cautious >= 0):
        raise ValueError(f"cautious must be from 0, got {cautious}")
    min_events = (PEAK_MIN_EVENTS if rated.hindsight is None else 1) if min_games is None else max(min_games, 1)
    trajectories = build_trajectories(rated)
    score = trajectories.mean
    if cautious:
        if trajectories.deviation is None:
            raise ValueError(f"{rated.system.name} has no deviations to be cautious about")
        score = score - cautious * trajectories.deviation
    score, level = lead_over_level(trajectories, score, rated.clock)
    highest = trajectories.peak_points(score, trajectories.points_at(), min_events)
    player_ids = np.flatnonzero(highest >= 0)
    player_ids = player_ids[np.argsort(-score[highest[player_ids]], kind="stable")[:top]]
    peak_points = highest[player_ids]
    time = None if rated.clock is None else rated.display_times(trajectories.time[peak_points])
    return PeakRatings(
        np.arange(1, len(player_ids) + 1),
        rated.players[player_ids],
        trajectories.mean[peak_points],
        None if trajectories.deviation is None else trajectories.deviation[peak_points],
        None if level is None else (trajectories.mean - level)[peak_points],
        trajectories.row[peak_points],
        time,
    )
