"""Ratings in hindsight, at the level and spread of the ratings at the time.

Results tell differences of ratings. The level of all is held by newcomers, and what is learned of them later moves it;
and whoever is rated without later results is drawn to that level. So both lines are compared with the same field.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.history.history import History
from jaxrate.history.participations import Participations

LEVEL_ROWS = 1000  # rows of the predictions around each over which fields are compared, at least
LEVEL_SHARE = 0.05  # of all rows, at least
EDGE_ROWS = 250  # before the last row, and behind the first: near the ends of the history the field is a shorter one


def align_hindsight(careers: Participations, mean: HostArray, deviation: HostArray) -> tuple[HostArray, HostArray]:
    """The ratings in hindsight, moved and scaled so that the field around each match is as it was at the time.

    Args:
      careers: all careers, with the ratings at the time.
      mean, deviation: [n, 2] of both players of each match in hindsight, or [n, 1] of participants.

    Returns:
      The same, of which everybody in the rows around each has the mean and the standard deviation of those at the time.
    """
    n = len(mean)
    middle, spread = _moving_mean_and_deviation(careers, careers.gather(mean), n)
    middle_then, spread_then = _moving_mean_and_deviation(careers, careers.after.mean, n)
    is_spread = (spread > 0) & (spread_then > 0)
    scale = np.where(is_spread, spread_then / np.where(is_spread, spread, 1.0), 1.0)
    middle, middle_then, scale = (x[:, None] for x in (middle, middle_then, scale))
    return middle_then + (mean - middle) * scale, deviation * scale


def _moving_mean_and_deviation(careers: Participations, rating: HostArray, n: int) -> tuple[HostArray, HostArray]:
    """[n] the mean and the standard deviation of ratings [M] in the rows around each row."""
    at = np.arange(n)
    half = int(max(LEVEL_ROWS, LEVEL_SHARE * n)) // 2
    half_at = np.clip(np.minimum(at, n - 1 - at), min(EDGE_ROWS, half), half)
    begin, end = np.maximum(at - half_at, 0), np.minimum(at + half_at + 1, n)
    centre = float(np.mean(rating)) if len(rating) else 0.0
    centred = np.asarray(rating, float) - centre
    count, first, second = (
        np.append(0.0, np.cumsum(np.bincount(careers.row, x, n))) for x in (np.ones(len(centred)), centred, centred**2)
    )
    number, mean, square = (x[end] - x[begin] for x in (count, first, second))
    number = np.maximum(number, 1.0)
    return centre + mean / number, np.sqrt(np.maximum(square / number - (mean / number) ** 2, 0.0))


def smoothed_event_ratings(rated: History, smoothed: Any) -> tuple[HostArray, HostArray]:
    """Means and deviations [n, 2] of both players of each match, or [n, 1] of participants, given the whole history.

    Args:
      rated: the history.
      smoothed: as from `jr.smooth` of the same events, or the columns that `jaxrate rate --smooth` saved of it.

    Raises:
      ValueError: if it is of other events.
    """
    result, sides = ("score", ("_a", "_b")) if rated.contests is None else ("rank", ("",))
    columns = smoothed_event_columns(smoothed) if isinstance(smoothed, History) else smoothed
    columns = columns if isinstance(columns, Mapping) else {}
    if not {"rating", "deviation"} <= {name.removesuffix("_a") for name in columns}:
        raise ValueError("smoothed must be as from jr.smooth, or the columns that `jaxrate rate --smooth` saved")
    if not np.array_equal(rated.events[result], np.asarray(columns.get(result))):
        raise ValueError(f"smoothed must be of the same {rated.nouns} as the rated history, in their order")
    mean, deviation = (
        np.stack([columns[f"{name}{side}"] for side in sides], axis=1) for name in ("rating", "deviation")
    )
    return mean, deviation


def smoothed_event_columns(smoothed: History) -> dict[str, HostArray]:
    """The columns of a history with hindsight that are saved beside a run: its ratings are those after events."""
    return {name.replace("_after", ""): x for name, x in smoothed.columns().items()}
