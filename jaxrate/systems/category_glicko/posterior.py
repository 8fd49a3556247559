"""Where the strengths of players against each category are most likely, and most probable, after a period."""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr

from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import concatenate_pair
from jaxrate.core.system import signed_side_advantage, split_sides
from jaxrate.events import Periods
from jaxrate.numerics.newton_roots_and_maxima import concave_function_argmax
from jaxrate.numerics.special_functions import differentiable_quotient, normal_tail
from jaxrate.systems.category_glicko.state_and_strengths import Constants, State, strengths_against

LOGISTIC_SCALE = math.sqrt(3.0) / math.pi  # the scale of a logistic distribution of variance 1


class PeriodGames(NamedTuple):
    """The two sides of every game of a period, in units of the scale."""

    cell: Array  # [G] the positions of player and the opponent's category, as one number
    mean: Array  # [G] the opponent's strength
    deviation: Array  # [G] v, the deviation of the outcome
    won: Array  # [G] weights
    lost: Array  # [G]


LogDerivatives = tuple[Array, Array]  # the derivative of the logarithm of a density, and minus its second derivative


def probit_log_likelihood_derivatives(z: Array, won: Array, lost: Array) -> LogDerivatives:
    """Of `won` log Phi(z) + `lost` log Phi(-z)."""
    (right, left), _, (right_slope, left_slope), *_ = normal_tail(jnp.stack([z, -z]))
    return won * left - lost * right, won * left_slope + lost * right_slope


def logistic_log_likelihood_derivatives(z: Array, won: Array, lost: Array) -> LogDerivatives:
    """The same of the logistic distribution of variance 1."""
    p, q = jax.nn.sigmoid(z / LOGISTIC_SCALE), jax.nn.sigmoid(-z / LOGISTIC_SCALE)
    return (won * q - lost * p) / LOGISTIC_SCALE, (won + lost) * (p * q) / LOGISTIC_SCALE**2


def unit_variance_logistic_cdf(x: Array) -> Array:
    return jax.nn.sigmoid(x / LOGISTIC_SCALE)


def normal_log_density_derivatives(x: Array, variance: Array) -> LogDerivatives:
    return differentiable_quotient(-x, variance), differentiable_quotient(1.0, variance)


def logistic_log_density_derivatives(x: Array, variance: Array) -> LogDerivatives:
    s = LOGISTIC_SCALE * jnp.sqrt(variance)
    t = jnp.tanh(x / (2.0 * s))
    return -t / s, differentiable_quotient(1.0 - t * t, 2.0 * s * s)


class OutcomeDistribution(NamedTuple):
    chance: Any  # F, of variance 1
    evidence: Any
    density: Any


OUTCOME_DISTRIBUTIONS = {
    "probit": OutcomeDistribution(ndtr, probit_log_likelihood_derivatives, normal_log_density_derivatives),
    "logistic": OutcomeDistribution(
        unit_variance_logistic_cdf, logistic_log_likelihood_derivatives, logistic_log_density_derivatives
    ),
}


def games_from_both_sides(constants: Constants, rows: State, period: Periods) -> PeriodGames:
    """Each game from both sides, in units of the scale; `rows` are so already."""
    context: Any = period.context
    params, (first, second) = constants.params, split_sides(rows, period)
    weight, lead = (
        params.match_weight * context.weight,
        signed_side_advantage(period, params.side_advantage / params.scale),
    )
    cells, means, variances = [], [], []
    for me, opponent, theirs, mine, ahead in (
        (period.pair[:, 0], second, context.category[:, 1], context.category[:, 0], lead),
        (period.pair[:, 1], first, context.category[:, 0], context.category[:, 1], -lead),
    ):
        strength, variance = strengths_against(opponent, mine)
        cells.append(me * rows.modifiers.shape[-1] + theirs)
        means.append(strength - ahead)
        variances.append(1.0 + variance)
    won, lost = weight * period.score, weight * (1.0 - period.score)
    return PeriodGames(
        concatenate_pair(*cells),
        concatenate_pair(*means),
        jnp.sqrt(concatenate_pair(*variances)),
        concatenate_pair(won, lost),
        concatenate_pair(lost, won),
    )


def sum_by_player_and_category(shape: tuple[int, ...], games: PeriodGames, *terms: Array) -> Array:
    """The sums [A, categories] of terms [G] over the games of each player against each category."""
    zero = jnp.zeros((shape[0] * shape[1], len(terms)), terms[0].dtype)
    sums = zero.at[games.cell].add(jnp.stack(terms, axis=-1), mode="drop").reshape(*shape, len(terms))
    return jnp.moveaxis(sums, -1, 0)


@partial(jax.jit, static_argnums=0)
def log_likelihood_derivatives(
    outcome: OutcomeDistribution, games: PeriodGames, strength: Array
) -> tuple[Array, Array]:
    """l_c' and h_c at strengths [A, categories]."""
    z = (strength.ravel()[games.cell] - games.mean) / games.deviation
    slope, curvature = outcome.evidence(z, games.won, games.lost)
    slope, curvature = sum_by_player_and_category(
        strength.shape, games, slope / games.deviation, curvature / games.deviation**2
    )
    return slope, curvature


def maximize_posterior(
    outcome: OutcomeDistribution,
    rows: State,
    games: PeriodGames,
    played: Array,
    guess: Array,
    is_fixed: Array,
    by_likelihood: Array | None = None,
) -> Array:
    """The strengths [A, categories] at the maximum of prior times likelihood; the guess in rows that are `is_fixed`.

    In `by_likelihood` rows [A] it is that of the likelihood, which must have one wherever anything was played.
    """
    count = jnp.maximum(jnp.sum(played.astype(guess.dtype), axis=1), 1.0)
    tiny = float(np.finfo(guess.dtype).tiny)

    def function(x: Array) -> tuple[Array, Array]:
        slope, h = log_likelihood_derivatives(outcome, games, x)
        (of_rating, q0), (of_modifiers, q) = log_prior_density_derivatives(
            outcome, rows, *strengths_to_rating_and_modifiers(rows, played, x)
        )
        of_modifiers = jnp.where(played, of_modifiers, 0.0)
        shared = (of_rating - jnp.sum(of_modifiers, axis=1)) / count
        gradient = slope + of_modifiers + shared[:, None]
        newton = newton_step(gradient, h, q0, q, played)
        if by_likelihood is not None:
            gradient = jnp.where(by_likelihood[:, None], slope, gradient)
            newton = jnp.where(by_likelihood[:, None], slope / jnp.maximum(h, tiny), newton)
        return jnp.where(played, gradient, guess - x), jnp.where(played, newton, guess - x)

    return concave_function_argmax(function, guess, is_fixed)


def strengths_to_rating_and_modifiers(rows: State, played: Array, strength: Array) -> tuple[Array, Array]:
    """Rating and modifiers of strengths against the categories played; those modifiers keep their sum."""
    count = jnp.maximum(jnp.sum(played.astype(strength.dtype), axis=1), 1.0)
    rating = jnp.sum(jnp.where(played, strength - rows.modifiers, 0.0), axis=1) / count
    return rating, jnp.where(played, strength - rating[:, None], rows.modifiers)


def log_prior_density_derivatives(
    outcome: OutcomeDistribution, rows: State, rating: Array, modifiers: Array
) -> tuple[LogDerivatives, LogDerivatives]:
    """The laws of the densities from before. (A single modifier is known, and stays.)"""
    variance = jnp.where(rows.modifier_variance > 0, rows.modifier_variance, 1.0)
    return outcome.density(rating - rows.rating, rows.variance), outcome.density(modifiers - rows.modifiers, variance)


def newton_step(gradient: Array, h: Array, q0: Array, q: Array, played: Array) -> Array:
    """The step of Newton's method in the strengths [A, categories].

    In rating and modifiers it solves, with d_c = q_c + h_c over the categories played,
    d_c deta_c + h_c dzeta + lambda = g_c,   (q_0 + sum h) dzeta + sum h_c deta_c = sum g,   sum deta = 0.
    """
    tiny = float(np.finfo(h.dtype).eps)  # far from everything nothing is curved
    d = jnp.where(played, jnp.maximum(q + h, tiny), 1.0)

    def total(x: Array) -> Array:
        return jnp.sum(jnp.where(played, x, 0.0), axis=1)

    inverse, share, fall = total(1.0 / d), total(h / d), total(gradient / d)
    inverse = jnp.where(inverse > 0, inverse, 1.0)
    rating = (total(gradient * q / d) + fall * share / inverse) / jnp.maximum(
        q0 + total(h * q / d) + share**2 / inverse, tiny
    )
    common = (fall - share * rating) / inverse
    return rating[:, None] + (gradient - h * rating[:, None] - common[:, None]) / d


def update_mean_variance(
    by_precision: Array, played: Array, mean: Array, variance: Array, optimum: Array, h: Array, q: Array
) -> tuple[Array, Array]:
    """New means and variances: combined by precisions where `by_precision`, else of the maximum with the prior."""
    left = variance / (1.0 + variance * h)
    changed = played & (variance > 0)
    precision = jnp.maximum(q + h, float(np.finfo(h.dtype).tiny))  # 0 where nothing is curved
    alone = differentiable_quotient(1.0, jnp.where(changed, precision, 1.0))
    mean = jnp.where(by_precision, mean + left * h * (optimum - mean), jnp.where(played, optimum, mean))
    return mean, jnp.where(by_precision, left, jnp.where(changed, alone, variance))
