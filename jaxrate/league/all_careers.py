"""The careers of all players at once, one after the other, as pages of players need them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.league.rated_history import Rated
from jaxrate.league.trajectories import build_trajectories, lookup_ids
from jaxrate.smoothing.smoothing_result import Smoothed


class Careers(NamedTuple):
    """Rows [M] of all players, each one's in order of time: those of player i are `start[i]` to `start[i + 1]`."""

    start: HostArray  # [num_players + 1]
    row: HostArray  # [M] row of the predictions
    first: HostArray | None  # [M] whether they are player 0 of that match; None of contests
    opponent: HostArray | None  # [M] ids; None of contests
    time: HostArray  # [M] on the clock of the history; NaN where there is none
    mean: HostArray  # [M] the rating that the event left
    deviation: HostArray | None  # [M] of that rating; None if the system has none
    before: HostArray  # [M] the rating before the event
    peak: HostArray  # [num_players] the row of each player's peak, as on leaderboards; -1 without events

    def gather(self, values: HostArray) -> HostArray:
        """[M] the values of a column [n] of the predictions, row by row of the careers."""
        return np.asarray(values)[self.row]

    def select_own_side(self, first: HostArray, second: HostArray) -> HostArray:
        """[M] the values of the player of each row, from columns [n] of first and of second players."""
        return np.where(np.asarray(self.first), self.gather(first), self.gather(second))

    def score_of_own_side(self, score: HostArray) -> HostArray:
        """[M] the score, or expected score, of the player of each row, from a column [n] of first players."""
        return self.select_own_side(score, 1.0 - np.asarray(score))


def build_careers(rated: Rated) -> Careers:
    """The careers of all players; `career` returns that of one."""
    trajectories = build_trajectories(rated)
    is_event = trajectories.row >= 0
    row, start = trajectories.row[is_event], trajectories.start - np.arange(len(trajectories.start))
    deviation = None if trajectories.deviation is None else trajectories.deviation[is_event]
    first = opponent = None
    if rated.contests is None:
        a, b = (lookup_ids(rated.predictions[name], rated.players)[row] for name in "ab")
        first = a == np.repeat(np.arange(len(rated.players)), np.diff(start))
        opponent = np.where(first, b, a)
    before = trajectories.later_mean[np.flatnonzero(is_event) - 1]
    peak = trajectories.peak_points(trajectories.mean, trajectories.points_at())
    peak = np.where(peak < 0, -1, peak - np.arange(len(peak)) - 1)
    time, mean = trajectories.time[is_event], trajectories.mean[is_event]
    return Careers(start, row, first, opponent, time, mean, deviation, before, peak)


def smoothed_match_ratings(rated: Rated, smoothed: Any) -> tuple[HostArray, HostArray]:
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
        missing = {"score", "rating_a", "deviation_a"} - set(smoothed if isinstance(smoothed, Mapping) else ())
        if missing:
            raise ValueError("smoothed must be as from jr.smooth, or the columns that `jaxrate rate --smooth` saved")
        score = np.asarray(smoothed["score"])
        mean, deviation = (
            np.stack([smoothed[f"{name}_{x}"] for x in "ab"], axis=1) for name in ("rating", "deviation")
        )
    if rated.contests is not None or not np.array_equal(rated.predictions["score"].to_numpy(), score):
        raise ValueError("smoothed must be of the same matches as the rated history, in their order")
    return mean, deviation
