"""Goals of matches played many times: teams have one strength and one pace each, drawn once, as they are believed."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.scorelines import replace_goal_prediction
from jaxrate.replay.event_prediction import predict
from jaxrate.systems.prediction_wrapping import wrapper_names
from jaxrate.systems.skills.goal_beliefs import HALF_Q, GoalRateFactors
from jaxrate.systems.skills.goal_likelihoods import low_score_factor, rates_of_sides
from jaxrate.systems.skills.rules import predict_goal_rate_factors

MANY_GOALS = 60.0  # a rate from which on quantiles are those of an expansion
NEGLIGIBLE = 1e-9  # a chance below which no more goals are counted


class GoalSimulationMatches(NamedTuple):
    """Matches to be played in a simulation, between N teams with D numbers each."""

    player: Array  # [F, 2]
    factors: GoalRateFactors  # leaves [F], [F, 2, D]
    dispersion: Array | None  # deviation of the log of each rate that is the match's own; None: 0
    dependence: Array | None  # Dixon and Coles' rho; None: 0


def predicts_goals(system: RatingSystem) -> bool:
    """Whether predictions are those of goals: calibrated ones are no longer."""
    is_of_goals = replace_goal_prediction(system, predict_goal_rate_factors) is not None
    return is_of_goals and "calibrated" not in wrapper_names(system)


def build_goal_simulation_matches(
    system: RatingSystem, state: State, data: Dataset, player: HostArray
) -> GoalSimulationMatches:
    """The matches to simulate, at their times, between players who have the numbers [F, 2]."""
    inner: Any = replace_goal_prediction(system, predict_goal_rate_factors)
    factors: Any = predict(inner, state, data.matches, num_players=len(data.players))
    params, dtype = inner.params, factors.gap.dtype
    dispersion = None if params.goal_dispersion is None else jnp.asarray(2.0 * HALF_Q * params.goal_dispersion, dtype)
    dependence = None if params.low_score_dependence is None else jnp.asarray(params.low_score_dependence, dtype)
    return GoalSimulationMatches(jnp.asarray(np.asarray(player, np.int32)), factors, dispersion, dependence)


def choose_goal_matches(games: GoalSimulationMatches, index: Array) -> GoalSimulationMatches:
    """The matches with these numbers, each as often as it is listed."""
    return games._replace(player=games.player[index], factors=jax.tree.map(lambda x: x[index], games.factors))


def simulate_match_goals(key: Array, games: GoalSimulationMatches, num_players: int) -> Array:
    """[F, 2] goals of both sides in each match, between strengths and paces that are drawn once."""
    drawing, playing = jax.random.split(key)
    return simulate_goals(playing, games, sample_team_numbers(drawing, games, num_players))


def sample_team_numbers(key: Array, games: GoalSimulationMatches, num_players: int) -> Array:
    """[N, D] how far strengths and paces are from what is believed, in deviations."""
    return jax.random.normal(key, (num_players, games.factors.gap_weights.shape[-1]), games.factors.gap.dtype)


def simulate_goals(key: Array, games: GoalSimulationMatches, team_numbers: Array) -> Array:
    """[F, 2] goals of both sides in each match, between teams with these numbers [N, D].

    Poisson's goals become Dixon and Coles' where a scoreline is likelier than it should be: as often as the difference
    asks, the first side then has one goal in place of none, or none in place of one.
    """
    scattering, scoring, lowering = jax.random.split(key, 3)
    factors, normal = games.factors, team_numbers[games.player]
    gap, level = (
        mean + jnp.sum(weights * normal, axis=(-2, -1))
        for mean, weights in ((factors.gap, factors.gap_weights), (factors.level, factors.level_weights))
    )
    if games.dispersion is not None:
        first, second = games.dispersion * jax.random.normal(scattering, (2, *gap.shape), gap.dtype)
        gap, level = gap + 0.5 * (first - second), level + 0.5 * (first + second)
    rates = jnp.stack(rates_of_sides(gap, level))
    goals = poisson_quantile(jax.random.uniform(scoring, rates.shape, rates.dtype), rates)
    if games.dependence is not None:
        factor = low_score_factor(games.dependence, (goals[0], goals[1]), (rates[0], rates[1]))
        is_changed = jax.random.uniform(lowering, factor.shape, factor.dtype) < 1.0 - factor
        goals = goals.at[0].set(jnp.where(is_changed, 1.0 - goals[0], goals[0]))
    return goals.T


def poisson_quantile(probability: Array, rate: Array) -> Array:
    """[...] the least count with so high a cumulative probability (0 to 1), of Poisson's law of these rates.

    Chances are added up from 0 on, for all at once: `jax.random.poisson` takes several times as long. Of high rates it
    is Cornish and Fisher's expansion (1938), whose chances are right to about 0.001.
    """

    def is_below(carry: tuple[Array, Array, Array]) -> Array:
        count, chance, below = carry
        return (below < probability) & ((chance > NEGLIGIBLE) | (count < rate)) & (rate < MANY_GOALS)

    def count_one_more(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        going, (count, chance, below) = is_below(carry), carry
        next_chance = chance * rate / (count + 1.0)
        return (
            jnp.where(going, count + 1.0, count),
            jnp.where(going, next_chance, chance),
            jnp.where(going, below + next_chance, below),
        )

    none = jnp.exp(-rate)
    few = jax.lax.while_loop(lambda x: jnp.any(is_below(x)), count_one_more, (jnp.zeros_like(rate), none, none))[0]
    z = jax.scipy.special.ndtri(jnp.clip(probability, 1e-7, 1.0 - 1e-7))
    many = jnp.maximum(jnp.floor(rate + jnp.sqrt(rate) * z + (z * z - 1.0) / 6.0 + 0.5), 0.0)
    return jnp.where(rate < MANY_GOALS, few, many)
