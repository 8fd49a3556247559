"""How much of what is measured of matches is chance, from the players' own results."""

import numpy as np

from jaxrate.types import HostArray

MIN_WITHIN_SHARE = 0.25  # share of the variance of a player's measurements that is taken for chance at least


def measurement_noise(value: HostArray, player: HostArray, side: HostArray | None = None) -> float:
    """The deviation of a measurement of the difference of two players about the difference of their strengths.

    A player's measurements have a mean of their own, of variance t^2 among players, and vary about it by the noise and
    by their opponents, who are such players too (analysis of variance with random effects, Searle 1971, "Linear
    Models", chapter 9).

    Args:
      value: [n] by how much the first player was ahead; NaN: unknown.
      player: [n, 2] ids.
      side: [n] who had the side, whose mean advantage is taken out; None: nobody.

    Returns:
      0 where there is nothing to tell it from.
    """
    known = np.isfinite(value)
    value, player = np.asarray(value, float)[known], np.asarray(player)[known]
    if side is not None and (side := np.asarray(side, float)[known]).any():
        value = value - side * (side @ value / (side @ side))
    who, both = player.T.ravel(), np.concatenate([value, -value])
    count = np.bincount(who)
    groups, n = int(np.sum(count > 0)), len(who)
    if groups < 2 or n <= groups:
        return 0.0
    between = float(np.sum(np.bincount(who, both) ** 2 / np.maximum(count, 1)))
    within = max(float(np.sum(both**2)) - between, 0.0) / (n - groups)
    size = (n - float(np.sum(count.astype(float) ** 2)) / n) / (groups - 1)  # the mean number of a player's matches
    among = max(between / (groups - 1) - within, 0.0) / size if size > 0 else 0.0
    return float(np.sqrt(max(within - among, MIN_WITHIN_SHARE * within)))
