"""Leagues with known truth, for tests, the demo and benchmarks."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.events import Matches, matches

NumPy = np.ndarray[Any, Any]


class League(NamedTuple):
    """A simulated history and the strengths that made it."""

    matches: Matches
    strength: NumPy  # [num_players] at the end, on the 400-point scale
    games: NumPy  # [num_players] matches played


def league(
    num_players: int,
    num_matches: int,
    *,
    seed: int = 0,
    days: float = 1000.0,
    spread: float = 300.0,
    drift: float = 0.0,
    activity: float = 0.0,
    draws: float = 0.0,
    side_advantage: float = 0.0,
) -> League:
    """Players of normal strength meet at random; the result follows the logistic law of their difference.

    Args:
      num_players: at least 2.
      num_matches: at least 1, evenly over the days.
      seed: the same seed gives the same league.
      days: the time from the first match to the last.
      spread: standard deviation of the strengths, in points (400 points are odds of 10 to 1).
      drift: standard deviation of the change of a strength in a year of 365 days, in points; 0: strengths are fixed.
      activity: player k plays in proportion to (k + 1)^-activity, in random order of strength; 0: uniform.
      draws: share of draws between equals. The expected score of the logistic law is kept, as in chess models: the
        probability of a draw is draws x 4 E (1 - E), taken evenly from a win and from a loss.
      side_advantage: in points, for player 0, who then has the side in every match.

    Raises:
      ValueError: for a value out of range.
    """
    for name, value, low in (
        ("num_players", num_players, 2),
        ("num_matches", num_matches, 1),
        ("days", days, 0),
        ("spread", spread, 0),
        ("drift", drift, 0),
        ("activity", activity, 0),
        ("draws", draws, 0),
        ("side_advantage", side_advantage, -np.inf),
    ):
        if not (low <= value < np.inf and value > -np.inf):
            raise ValueError(f"{name} must be {'finite' if low < 0 else f'at least {low}'}, got {value}")
    if draws > 0.5:
        raise ValueError(f"draws must be at most 0.5, got {draws}")
    random = np.random.default_rng(seed)
    strength = random.normal(0.0, spread, num_players)
    share = np.arange(1.0, num_players + 1) ** -activity
    cumulative = np.cumsum(share) / share.sum()
    if cumulative[0] > 0.9:
        raise ValueError(f"activity {activity} is too large: one player would be in nearly every match")

    def draw(count: int) -> NumPy:
        return np.minimum(np.searchsorted(cumulative, random.random(count)), num_players - 1)

    player = np.stack([draw(num_matches), draw(num_matches)], axis=1)
    while (same := np.flatnonzero(player[:, 0] == player[:, 1])).size:
        player[same, 1] = draw(len(same))
    time = np.linspace(0.0, days, num_matches)
    score = np.empty(num_matches)
    seasons = 100 if drift else 1
    for season in np.array_split(np.arange(num_matches), seasons):
        difference = strength[player[season, 0]] - strength[player[season, 1]] + side_advantage
        expected = 1.0 / (1.0 + np.exp(np.clip(-np.log(10.0) / 400.0 * difference, -700.0, 700.0)))
        drawn = draws * 4.0 * expected * (1.0 - expected)
        uniform = random.random(len(season))
        win = expected - 0.5 * drawn
        score[season] = np.where(uniform < win, 1.0, np.where(uniform < win + drawn, 0.5, 0.0))
        if drift:
            strength = strength + random.normal(0.0, drift * np.sqrt(days / 365.0 / seasons), num_players)
    side = np.ones(num_matches) if side_advantage else None
    return League(matches(player, score, time, side=side), strength, np.bincount(player.ravel(), minlength=num_players))
