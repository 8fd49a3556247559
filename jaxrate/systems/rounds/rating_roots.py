"""Ratings at which a sum over everybody in a round is as given, or a function of everybody is 0."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.numerics.newton_roots_and_maxima import TiledRootInputs, decreasing_root
from jaxrate.numerics.special_functions import log_quotient_with_safe_slopes
from jaxrate.systems.rounds.cdf_sums import Participants


def solve_ratings_for_target_sums(
    sum_function: Callable[..., tuple[Array, Array]],
    from_below: Array,
    target: Array,
    guess: Array,
    mask: Array,
    participants: Participants,
    tiles: TiledRootInputs | None = None,
) -> Array:
    """The ratings [P] at which sums are as given.

    Args:
      sum_function: below or above a rating.
      from_below: [P] which of them is given: the smaller one keeps its relative accuracy.
      target: [P] what it is.
      guess: [P] to start from; it stays where nobody is there.
      mask: [P] where the answer is asked for.
      participants: in the round, with the interval in which it lies.
      tiles: as of `decreasing_root`, of further columns that the function takes. None: it is given all [P] at once.
    """
    tiles = TiledRootInputs() if tiles is None else tiles

    def log_ratio(x: Array, mask: Array, from_below: Array, target: Array, *more: Array) -> tuple[Array, Array]:
        """The log ratio of the target to the sum at x, and its slope. In both tails it is nearly straight."""
        found, slope = sum_function(x, from_below, *more)
        found = jnp.where(mask, jnp.maximum(found, float(np.finfo(x.dtype).tiny)), 1.0)
        value = log_quotient_with_safe_slopes(jnp.where(mask, target, 1.0), found)
        return jnp.where(from_below, value, -value), -slope / found

    columns = mask, from_below, target, *tiles.columns
    return solve_ratings(log_ratio, guess, mask, participants, tiles._replace(columns=columns))


def solve_ratings(
    function: Callable[..., tuple[Array, Array]],
    guess: Array,
    mask: Array,
    participants: Participants,
    tiles: TiledRootInputs | None = None,
) -> Array:
    """The zeros of a function, decreasing, that comes with its slope, in the interval of everybody in the round."""
    tiles = TiledRootInputs() if tiles is None else tiles

    def where_asked(x: Array, mask: Array, guess: Array, *columns: Array) -> tuple[Array, Array]:
        value, slope = function(x, *columns)
        return jnp.where(mask, value, guess - x), jnp.where(mask, slope, -1.0)

    low, high = (jnp.broadcast_to(x, guess.shape) for x in (participants.low, participants.high))
    guess = lax.stop_gradient(jnp.where(mask, jnp.clip(guess, low, high), low))
    tiles = tiles._replace(columns=(mask, guess, *tiles.columns))
    return decreasing_root(where_asked, guess, low, high, participants.unit, tiles=tiles)
