"""Beliefs of Elo-MMR: performances of the past, drift and noise.

A factor of weight w and deviation beta about a performance p says w beta^2 log f((p - s) / beta) of a skill s, with the
density f of the noise. So it pulls s upwards by -w beta (f'/f)((p - s) / beta). Of logistic noise that is the paper's
w_k beta_k^2 / bar beta_k tanh((p_k - s) / (2 bar beta_k)), with bar beta = sqrt 3 / pi beta: the factor is `force`, and
1 / (2 bar beta) `inverse`, so that w_k is their product times `PerformanceInfluenceFunction.weight`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.numerics.newton_roots_and_maxima import decreasing_root
from jaxrate.systems.rounds.cdf_sums import UNIT_SCALES
from jaxrate.systems.rounds.performance_inference import C

MODE_DISTANCE = 2.0  # deviations: the mean and the mode of a density with one maximum are at most sqrt 3 apart


class PerformanceInfluenceFunction(NamedTuple):
    """How a performance pulls at a rating: by force pull((p - s) inverse), which is -w beta (f'/f)((p - s) / beta)."""

    pull: Callable[[Array], tuple[Array, Array]]  # and its slope
    force: float  # what the force is of w beta
    inverse: float  # what the inverse is of 1 / beta

    @property
    def weight(self) -> float:
        """The weight, one over force times inverse."""
        return 1.0 / (self.force * self.inverse)


def _logistic_pull_and_slope(y: Array) -> tuple[Array, Array]:
    t = jnp.tanh(y)
    return t, 1.0 - t * t


LOGISTIC_INFLUENCE = PerformanceInfluenceFunction(_logistic_pull_and_slope, C, 0.5 * C)


class PerformanceHistory(NamedTuple):
    """The belief about a player whose performances are not normal."""

    mean: Array  # [num_players] of the Gaussian factor
    weight: Array  # [num_players] of the Gaussian factor
    performance: Array  # [num_players, history] one factor each, in a ring: number k stands in place k modulo history
    force: Array  # [num_players, history] w_k beta_k, times `Influence.force`; 0 where there is none yet
    inverse: Array  # [num_players, history] `Influence.inverse` / beta_k


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] sigma^2, as of `time`
    games: Array  # [num_players] contests that counted
    time: Array  # [num_players] of the last contest, counted or not; inf before the first that counted
    past: PerformanceHistory | None


def pseudodiffuse(
    rows: State,
    drift_variance: Array,
    rho: float | Array,
    is_applied: bool | Array = True,
    influence: PerformanceInfluenceFunction = LOGISTIC_INFLUENCE,
) -> State:
    """The pseudodiffusion of rows [P, ...], or of one, (Algorithm 2) by gamma^2 = growth [P]; rating and games stay.

    If it does not happen, only the variance is of use.
    """
    past = None
    if rows.past is not None:
        past = diffuse_history(rows.past, rows.rating, rows.variance, drift_variance, rho, is_applied, influence)
    return rows._replace(variance=rows.variance + drift_variance, past=past)


def diffuse_history(
    past: PerformanceHistory,
    rating: Array,
    variance: Array,
    growth: Array,
    rho: float | Array,
    is_applied: bool | Array = True,
    influence: PerformanceInfluenceFunction = LOGISTIC_INFLUENCE,
) -> PerformanceHistory:
    """The past performances after diffusion, for beliefs with this rating and variance."""
    kappa = variance / (variance + growth)
    finite = jnp.isfinite(jnp.asarray(rho))
    t = jnp.where(finite, jnp.exp(-jnp.where(finite, rho, 0.0) * jnp.log1p(growth / variance)), 0.0)
    kappa, t = (jnp.where(is_applied, x, 1.0) for x in (kappa, t))
    total = past.weight + jnp.sum(past.force * past.inverse, axis=-1) * influence.weight
    a, b = t * past.weight, (1.0 - t) * total
    mean = past.mean + b / _guard_zero_divisor(a + b) * (rating - past.mean)
    return past._replace(mean=mean, weight=kappa * (a + b), force=past.force * (t * kappa)[..., None])


def _guard_zero_divisor(total: Array) -> Array:
    """A sum of weights, to divide by; in float32 weights of long ago may all have vanished."""
    return jnp.where(total > 0, total, 1.0)


def add_performance(
    past: PerformanceHistory,
    p: Array,
    noise_variance: Array,
    index: Array,
    influence: PerformanceInfluenceFunction = LOGISTIC_INFLUENCE,
) -> PerformanceHistory:
    """Performance number `index` [P] (-1: none) of variance beta^2 joins; the one displaced is merged."""
    history = past.force.shape[1]
    slot = jnp.where(index < 0, -1, index % history)[:, None] == jnp.arange(history, dtype=jnp.int32)[None, :]
    old = jnp.sum(jnp.where(slot, past.force * past.inverse, 0.0), axis=1) * influence.weight
    weight = past.weight + old
    mean = past.mean + old / _guard_zero_divisor(weight) * (
        jnp.sum(jnp.where(slot, past.performance, 0.0), axis=1) - past.mean
    )
    beta = jnp.sqrt(noise_variance)[:, None]
    return PerformanceHistory(
        mean,
        weight,
        jnp.where(slot, p[:, None], past.performance),
        jnp.where(slot, influence.force / beta, past.force),
        jnp.where(slot, influence.inverse / beta, past.inverse),
    )


def posterior_mode(
    history: PerformanceHistory,
    initial_guess: Array,
    noise_variance: Array,
    influence: PerformanceInfluenceFunction = LOGISTIC_INFLUENCE,
) -> Array:
    """The rating [P] at which the factors of a belief balance, the last one of variance beta^2 = `noise_variance`."""

    def pull(x: Array) -> tuple[Array, Array]:
        value, slope = influence.pull((history.performance - x[:, None]) * history.inverse)
        value = history.weight * (history.mean - x) + jnp.sum(history.force * value, axis=1)
        return value, -history.weight - jnp.sum(history.force * history.inverse * slope, axis=1)

    wide = MODE_DISTANCE * influence.inverse / history.inverse
    low = jnp.minimum(history.mean, jnp.min(history.performance - wide, axis=1))
    high = jnp.maximum(history.mean, jnp.max(history.performance + wide, axis=1))
    most = jnp.max(jnp.where(history.force > 0, history.inverse, 0.0), axis=1) / influence.inverse
    unit = _rating_unit(1.0 / jnp.maximum(most**2, 1.0 / noise_variance))  # of the narrowest factor
    return decreasing_root(pull, initial_guess, low, high, unit)


def _rating_unit(noise_variance: Array) -> Array:
    """[P] that of `decreasing_root`, of beta^2."""
    return UNIT_SCALES * jnp.sqrt(lax.stop_gradient(noise_variance))


def guess_posterior_mode(
    history: PerformanceHistory,
    rating: Array,
    performance: Array,
    noise_variance: Array,
    influence: PerformanceInfluenceFunction = LOGISTIC_INFLUENCE,
) -> Array:
    """The mode after performance p, were the factors before it, which balance at the rating, Gaussian ones."""
    z = (history.performance - rating[:, None]) * history.inverse
    stiffness = history.weight + jnp.sum(history.force * history.inverse * influence.pull(z)[1], axis=1)
    beta, distance = jnp.sqrt(noise_variance), performance - rating
    force, inverse = influence.force / beta, influence.inverse / beta
    if influence.pull is not LOGISTIC_INFLUENCE.pull:

        def balance(x: Array) -> tuple[Array, Array]:
            value, slope = influence.pull((performance - x) * inverse)
            return stiffness * (rating - x) + force * value, -stiffness - force * inverse * slope

        wide = MODE_DISTANCE * jnp.sqrt(noise_variance)
        ends = jnp.minimum(rating, performance - wide), jnp.maximum(rating, performance + wide)
        return lax.stop_gradient(decreasing_root(balance, rating, *ends, _rating_unit(noise_variance)))
    gap = jnp.abs(distance)
    pull = force * inverse
    step = jnp.minimum(gap * pull / (stiffness + pull), force / _guard_zero_divisor(stiffness))  # too far
    for _ in range(3):  # Newton's, which come down to the root
        t = jnp.tanh((gap - step) * inverse)
        step -= (stiffness * step - force * t) / _guard_zero_divisor(stiffness + pull * (1.0 - t * t))
    return lax.stop_gradient(rating + jnp.sign(distance) * step)


def resolve_noise_params(
    system_name: str, weight: float | None, limit: float | None, beta: float | None, gamma: float | None
) -> Any:
    """weight, limit_deviation, beta and gamma: two of them, the first two unless others are given."""
    if (beta, gamma) == (None, None):
        return 0.2 if weight is None else weight, 80.0 if limit is None else limit, None, None
    if (weight, limit) != (None, None):
        raise ValueError(f"{system_name}: give weight and limit_deviation, or beta and gamma, not both")
    if beta is None or gamma is None:
        raise ValueError(f"{system_name}: beta and gamma go together; give both")
    return None, None, beta, gamma


class ContestVariances(NamedTuple):
    """Variances of a contest of weight 1."""

    growth: float | Array  # gamma^2 = w L^2
    limit: float | Array  # L^2
    noise: float | Array  # beta^2 - L^2: L^2 / w, and of the drift D / w


def contest_variances(params: Any) -> ContestVariances:
    """The variances of a contest by weight and limit_deviation, or by beta and gamma, if those are given."""
    if params.beta is not None and params.gamma is not None:
        ratio = params.gamma / params.beta  # w / sqrt(1 + w)
        part = 2.0 / (ratio + jnp.sqrt(ratio**2 + 4.0))  # ratio / w, which is 1 if gamma is 0
        return ContestVariances(params.gamma**2, params.gamma * params.beta * part, (params.beta * part) ** 2)
    square = params.limit_deviation**2
    drift = 0.0 if params.drift is None else params.drift
    return ContestVariances(params.weight * square, square, (square + drift) / params.weight)


def drift_and_noise(constants: Any, rows: State, weight: Array, factor: Array | None) -> tuple[Array, Array]:
    """gamma^2 and beta^2 of a contest that counts `weight` for each, and is noisier than others by the factor []."""
    weight = weight * constants.newcomer[jnp.minimum(rows.games, len(constants.newcomer) - 1)]
    square = constants.limit + constants.noise / weight
    return constants.growth * weight, square if factor is None else factor**2 * square
