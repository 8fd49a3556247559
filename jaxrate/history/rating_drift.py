"""The level of ratings through time: the median of the active, against which peaks are measured where it drifts."""

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.history.trajectories import Trajectories

DEFAULT_ACTIVE_DAYS = 365.0  # within which whoever has played is active; without dates it is
ACTIVE_SHARE = 0.1  # of the length of the history
NUM_TIMES = 100  # at which the median is taken; between them it is interpolated
NUM_PARTS = 10  # of the history: those with the highest and the lowest level say how far it drifts


def lead_over_level(
    trajectories: Trajectories, score: HostArray, clock: str | None
) -> tuple[HostArray, HostArray | None]:
    """What peaks are chosen by: the score [R], or where ratings drift its lead over their level; and that level."""
    level = drifting_level(trajectories, clock)
    return (score if level is None else score - level), level


def drifting_level(trajectories: Trajectories, clock: str | None) -> HostArray | None:
    """[R] the median rating of the active at the time of each point; None unless it drifts by more than a deviation.

    The active have played in the year before, or in a tenth of the history without dates. The level of a part of the
    history is the mean of its medians; it drifts by the difference of the highest and the lowest. The deviation is that
    of the ratings of the active from their mean, pooled over time. `clock` is that of the history, as in `Dataset`.
    """
    if not trajectories.has_all_times:
        trajectories = trajectories._replace(end=trajectories.event.astype(float))
    end = trajectories.end
    is_event = trajectories.row >= 0
    if not is_event.any():
        return None
    end_of_event = np.zeros(trajectories.event.max() + 1)
    end_of_event[trajectories.event[is_event]] = end[is_event]
    times = np.unique(end_of_event[np.linspace(0, len(end_of_event) - 1, NUM_TIMES + 1).astype(int)[1:]])
    window = DEFAULT_ACTIVE_DAYS if clock == "dates" else ACTIVE_SHARE * (times[-1] - end_of_event[0])
    median, variance = np.zeros((2, len(times)))
    for i, points in enumerate(trajectories.iterate_points_at(times)):
        active = points[(points > trajectories.start[:-1]) & (end[points] >= times[i] - window)]
        median[i], variance[i] = np.median(trajectories.mean[active]), np.var(trajectories.mean[active])
    if len(times) < NUM_PARTS:
        return None
    levels = [part.mean() for part in np.array_split(median, NUM_PARTS)]
    if max(levels) - min(levels) <= np.sqrt(variance.mean()):
        return None
    return np.interp(end, times, median)
