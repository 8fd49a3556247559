"""Predictions in full: who wins, whether nobody does, the ranks, match quality; every score.

Davidson's model (1970, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments",
equation 2.5) divides an expected score p: win, draw and loss have chances in the proportion r^2 : nu r : 1. The root r
of their odds is that with which win + draw / 2 = p, the positive solution of

    r^2 (1 - p) + nu r (1/2 - p) - p = 0
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array


class OutcomeProbabilities(NamedTuple):
    """A prediction in full: [n, 2] for both players of matches, [P] for the team of each participant of rounds."""

    win: Array  # the probability that it beats every other team by more than the margin
    draw: Array  # the probability that no team does; of a match, that it is drawn
    rank: Array  # the expected rank among the teams, from 1; a draw is half a place
    quality: Array  # match quality: the density of a draw of all, relative to equals whose skills are known


def davidson_outcome_probabilities(expected_score: Array, draw_odds: Array) -> OutcomeProbabilities:
    """Win, draw and loss with these expected scores [...] of the first player, and these odds of a draw of equals.

    1 / r of the better player is the root that loses no digits, and it is at most 1.
    """
    expected_score = jnp.clip(expected_score, 0.0, 1.0)
    ahead = expected_score >= 0.5
    more, less = (
        jnp.where(ahead, expected_score, 1.0 - expected_score),
        jnp.where(ahead, 1.0 - expected_score, expected_score),
    )
    lean = draw_odds * (more - 0.5)
    root = 2.0 * less / (lean + jnp.sqrt(lean * lean + 4.0 * more * less))
    both = 1.0 + draw_odds * root + root * root
    better, worse, draw = 1.0 / both, root * root / both, draw_odds * root / both
    win = jnp.stack([jnp.where(ahead, better, worse), jnp.where(ahead, worse, better)], axis=-1)
    even = draw * ((2.0 + draw_odds) / draw_odds)
    draw, even = (jnp.stack([x, x], axis=-1) for x in (draw, even))
    return OutcomeProbabilities(win, draw, 2.0 - win - 0.5 * draw, even)


def scores_or_score_probabilities(prediction: Any) -> Any:
    """Expected scores [...], or probabilities [..., K]; of `OutcomeProbabilities`, of loss, draw and win."""
    if isinstance(prediction, OutcomeProbabilities):
        return jnp.stack([prediction.win[..., 1], prediction.draw[..., 0], prediction.win[..., 0]], axis=-1)
    return prediction


def expected_score_from_prediction(prediction: Any) -> Any:
    """[n] of player 0, from predictions of matches in any form: these, those of an outlook, or [n, K] of each score."""
    if isinstance(prediction, OutcomeProbabilities):
        if prediction.win.ndim != 2:
            raise ValueError("this outlook is of rounds, which have no expected scores")
        return prediction.win[:, 0] + 0.5 * prediction.draw[:, 0]
    if getattr(prediction, "ndim", 1) != 2:
        return prediction
    last = prediction.shape[1] - 1
    return sum(prediction[:, k] * (k / last) for k in range(1, last + 1))
