"""Players in several teams of one contest, as a constructor with two cars: what their seats say of the one skill.

The performances of a player in their teams are independent, given the skill. So each seat adds a factor to the belief
about that, a Gaussian one, and the factors multiply: with the precision 1 / s^2 before the contest, and 1 / (k s^2) and
the mean mu + d as one seat alone would leave them,

    1 / sigma^2 = (1 + sum (1 / k - 1)) / s^2,   (mean - mu) / sigma^2 = sum d / (k s^2)

This is approximate in one way. Each factor is that which the contest would have if the other seats were other players
of the same strength: what one seat says does not enter the others, and teams that share a player perform independently
of each other. So a player whose two teams meet seems to learn something from that, where their skill cancels.
"""

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds


def merge_multi_team_evidence(event: Rounds, mean_change: Array, variance_share_kept: Array) -> tuple[Array, Array]:
    """What all seats of a player say, in each of their rows: the change of the mean and the share of the variance kept.

    Args:
      event: the contest.
      mean_change: [P] d, of the seat alone.
      variance_share_kept: [P] k, above 0.
    """
    if event.seat is None:
        return mean_change, variance_share_kept
    none = jnp.zeros_like(variance_share_kept)
    information = none.at[event.seat].add(1.0 / variance_share_kept - 1.0)[event.seat]
    pull = none.at[event.seat].add(mean_change / variance_share_kept)[event.seat]
    return pull / (1.0 + information), 1.0 / (1.0 + information)


def max_over_player_team_entries(event: Rounds, values: Array) -> Array:
    """[P] the largest of values [P], which are not negative, among all seats of a player."""
    if event.seat is None:
        return values
    return jnp.zeros_like(values).at[event.seat].max(values)[event.seat]
