"""The careers of all players at once, one after the other, as pages of players need them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.events import Matches, team_ranks
from jaxrate.league.rated_history import Rated, loaded_predictions, lookup_ids
from jaxrate.league.rating_drift import lead_over_level
from jaxrate.league.trajectories import build_trajectories
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
    level: (
        HostArray | None
    )  # [M] the median of the active at the time, which peaks are above; None if it does not drift
    peak: HostArray  # [num_players] the row of each player's peak, as on leaderboards; -1 without events

    def gather(self, values: HostArray) -> HostArray:
        """[M] the values of a column [n] of the predictions, row by row of the careers."""
        return np.asarray(values)[self.row]

    def select_own_side(self, first: HostArray, second: HostArray) -> HostArray:
        """[M] the values of the player of each row, from columns [n] of first and of second players."""
        return np.where(np.asarray(self.first), self.gather(first), self.gather(second))

    def gather_own_ratings(self, ratings: HostArray) -> HostArray:
        """[M] those of the player of each row, from ratings [n, 2] of players of matches, or of participants [n]."""
        return self.gather(ratings) if ratings.ndim == 1 else self.select_own_side(*ratings.T)

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
        a, b = (lookup_ids(loaded_predictions(rated)[name], rated.players)[row] for name in "ab")
        first = a == np.repeat(np.arange(len(rated.players)), np.diff(start))
        opponent = np.where(first, b, a)
    before = trajectories.later_mean[np.flatnonzero(is_event) - 1]
    lead, level = lead_over_level(trajectories, trajectories.mean, rated.clock)
    peak = trajectories.peak_points(lead, trajectories.points_at())
    peak = np.where(peak < 0, -1, peak - np.arange(len(peak)) - 1)
    time, mean = trajectories.time[is_event], trajectories.mean[is_event]
    level = None if level is None else level[is_event]
    return Careers(start, row, first, opponent, time, mean, deviation, before, level, peak)


def smoothed_event_ratings(rated: Rated, smoothed: Any) -> tuple[HostArray, HostArray]:
    """Means and deviations [n, 2] of both players of each match, or [n] of participants, given the whole history.

    Args:
      rated: the history.
      smoothed: as from `jr.smooth` of the same events, or the columns that `jaxrate rate --smooth` saved of it.

    Raises:
      ValueError: if it is of other events.
    """
    result_column, events = ("score", "matches") if rated.contests is None else ("rank", "contests")
    if isinstance(smoothed, Smoothed):
        is_of_matches = isinstance(smoothed.events, Matches)
        result: Any = smoothed.matches.score if is_of_matches else team_ranks(smoothed.rounds) + 1
        mean, deviation = (np.asarray(x) for x in smoothed.rating)
    else:
        smoothed = smoothed if isinstance(smoothed, Mapping) else {}
        is_of_matches = "score" in smoothed
        needed = ("rating_a", "deviation_a") if is_of_matches else ("rank", "rating", "deviation")
        if not all(name in smoothed for name in needed):
            raise ValueError("smoothed must be as from jr.smooth, or the columns that `jaxrate rate --smooth` saved")
        result = smoothed["score" if is_of_matches else "rank"]
        mean, deviation = (
            np.stack([smoothed[f"{name}_{x}"] for x in "ab"], axis=1) if is_of_matches else np.asarray(smoothed[name])
            for name in ("rating", "deviation")
        )
    is_same_kind = is_of_matches == (rated.contests is None)
    if not is_same_kind or not np.array_equal(rated.predictions[result_column].to_numpy(), np.asarray(result)):
        raise ValueError(f"smoothed must be of the same {events} as the rated history, in their order")
    return mean, deviation
