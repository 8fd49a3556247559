"""Expected scores as curves of a rating difference, the performance ratings that they mean, and rounding."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import ndtr

from jaxrate.core.array_types import Array
from jaxrate.numerics.newton_iterations import decreasing_root
from jaxrate.systems.federations.games import Games


def expected_by_logistic(difference: Array, scale: float | Array = 400.0) -> Array:
    """The expected score of a rating difference, where one of `scale` points means odds of 10 to 1."""
    return jax.nn.sigmoid(math.log(10.0) / scale * difference)


def expected_by_normal(difference: Array, deviation: float) -> Array:
    """The expected score of a rating difference, by the deviation of a difference of performances."""
    return ndtr(difference / deviation)


def expected_by_elo(_params: Any, player: Any, opponent: Any, _game: Any) -> Array:
    """Elo's rule of the expected score of a player."""
    return expected_by_logistic(player.rating - opponent.rating)


def expected_by_line(difference: Array, width: float | Array) -> Array:
    """The expected score of a rating difference, which rises from 0 to 1 in a line of this width."""
    return jnp.clip(0.5 + difference / width, 0.0, 1.0)


def round_half_away(x: Array, rounding: bool, digits: int = 0) -> Array:
    """`x` rounded to so many decimals, halves away from zero, if `rounding`; its slope is that of `x`."""
    if not rounding:
        return x
    scaled, slack = jnp.abs(x) * 10.0**digits, float(np.finfo(x.dtype).eps) ** 0.5  # a half may be just below
    rounded = jnp.sign(x) * jnp.floor(scaled + 0.5 + slack) / 10.0**digits
    return x + lax.stop_gradient(rounded - x)


def performance_ratings(
    games: Games, rows: Any, opponents: Any, is_asked: Array, prior: tuple[Any, Any, Any] = (0.0, 0.0, 0.5)
) -> Array:
    """[A] the ratings at which players score as expected; where several do, that which is nearest to the old one.

    Args:
      games: of the event.
      rows: the players.
      opponents: the same players as others meet them.
      is_asked: [A] whose rating is to be found; the others keep theirs.
      prior: the number of further games of each, the opponent's rating in them, and the share of their points.
    """
    results, (prior_games, prior_opponent, prior_share) = games.results(rows, opponents), prior
    least_pull = 64.0 * float(np.finfo(rows.rating.dtype).eps)  # to the old rating; it decides where all else is flat
    other = rows._replace(rating=jnp.broadcast_to(prior_opponent, rows.rating.shape))

    def excess(rating: Array) -> Array:
        players = rows._replace(rating=rating)
        surprise = results.score - games.results(players, opponents).expected
        prior_surprise = prior_games * (prior_share - games.expected(games.params, players, other, None))
        pull = least_pull * jnp.clip(rows.rating - rating, -0.5, 0.5)
        return jnp.where(is_asked, surprise + prior_surprise + pull, guess - rating)

    guess = jnp.where(is_asked, results.opponents / jnp.maximum(results.games, 1.0), rows.rating)
    ends = jnp.full_like(guess, -9000.0), jnp.full_like(guess, 9000.0)
    return decreasing_root(lambda x: jax.jvp(excess, (x,), (jnp.ones_like(x),)), guess, *ends, unit=1e-3)
