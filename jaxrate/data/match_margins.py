"""Margins of matches, and the noise of their measurement."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.faulty_rows import describe_example_rows
from jaxrate.events.dataset import Dataset


def first_player_lead(point_columns: Sequence[HostArray]) -> HostArray:
    """[n] by how many points the first player is ahead, from the points of both; a single column as it stands."""
    return point_columns[0] if len(point_columns) == 1 else point_columns[0] - point_columns[1]


def doubts_about_margins(data: Dataset) -> Iterator[str]:
    """A doubt that margins of matches have another sign than the score."""
    matches, names, rows = data.matches, data.margin, data.rows
    if not names:
        return
    columns: Any = matches.context.columns
    lead = first_player_lead([columns[name] for name in names])
    sign = np.sign(np.asarray(matches.score) - 0.5)
    sizes = len(names) == 1 and not (lead < 0).any()
    bad = rows[(lead != 0) & ((sign == 0) | ((np.sign(lead) != sign) & (not sizes)))]
    if len(bad):
        message = f"{len(bad):,} of {len(rows):,} margins ({' and '.join(names)}) have another sign than the score"
        hint = "the score says who won, the margin by how much, if at all"
        yield f"{message}: row {describe_example_rows(bad)}; {hint}"


MIN_WITHIN_SHARE = 0.25  # least share of the variance of a player's measurements that is noise


def estimate_measurement_noise(value: HostArray, player: HostArray, side: HostArray | None = None) -> float:
    """The deviation of a measurement of the difference of two players about the difference of their strengths.

    A player's measurements have a mean of their own, of variance t^2 among players, and vary about it by the noise and
    by their opponents, who are such players too (analysis of variance with random effects, Searle 1971, "Linear
    Models", chapter 9).

    Args:
      value: [n] by how much the first player was ahead; NaN: unknown.
      player: [n, 2] ids.
      side: [n] who had the side, whose mean advantage is taken out; None: nobody.

    Returns:
      0 if there are too few matches to estimate it.
    """
    is_known = np.isfinite(value)
    value, player = np.asarray(value, float)[is_known], np.asarray(player)[is_known]
    if side is not None and (side := np.asarray(side, float)[is_known]).any():
        value = value - side * (side @ value / (side @ side))
    player_of_value, values = player.T.ravel(), np.concatenate([value, -value])
    count = np.bincount(player_of_value)
    groups, n = int(np.sum(count > 0)), len(player_of_value)
    if groups < 2 or n <= groups:
        return 0.0
    between = float(np.sum(np.bincount(player_of_value, values) ** 2 / np.maximum(count, 1)))
    within = max(float(np.sum(values**2)) - between, 0.0) / (n - groups)
    size = (n - float(np.sum(count.astype(float) ** 2)) / n) / (groups - 1)  # the mean number of a player's matches
    between_variance = max(between / (groups - 1) - within, 0.0) / size if size > 0 else 0.0
    return float(np.sqrt(max(within - between_variance, MIN_WITHIN_SHARE * within)))
