"""The noise of a measurement of matches, estimated from the players' own results."""

import numpy as np

from jaxrate.core.array_types import HostArray

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
