"""How likely the result of a contest is: the standing of its teams, or their points.

A standing is a chain of links. With the messages of expectation propagation in place of the links its integral is a
product over neighbours, from the first team on; each link then has its probability in place of its message, both given
all other links. Of two teams that is exact.

The points of a team are a level of the contest, of which nothing is known, and its performance. So the margins of
neighbours are told one after the other, each given those before; a tie has the probability of less than half a unit.
"""

import math

import jax.numpy as jnp
from jax import lax
from jax.scipy.special import log_ndtr

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds
from jaxrate.numerics.special_functions import log_normal_within
from jaxrate.numerics.sums_and_recurrences import log_factor_integral
from jaxrate.systems.rounds.round_teams import Teams
from jaxrate.systems.skills.outcome_likelihoods import margin_to_rating_points
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings
from jaxrate.systems.skills.team_performances import TeamPerformances
from jaxrate.systems.skills.team_results import (
    link_margins,
    neighbour_margins,
    propagate_contest_standing,
    tie_spread,
)


def result_log_likelihood(
    model: ModelSettings, constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams
) -> Array:
    """[] of the standing, or of points the log density of the margins of neighbours in their own units."""
    if model.outcome == "margin":
        return margins_log_density(model, constants, performances, event, teams)
    return standing_log_likelihood(constants, performances, event, teams)


def standing_log_likelihood(constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams) -> Array:
    """[] the log probability of the standing, by expectation propagation."""
    mean, variance, _ = performances
    spread = tie_spread(constants, performances, event, teams)
    link, above, ahead_above, below, ahead_below = propagate_contest_standing(
        constants, performances, spread, event, teams
    )
    gap, real, tied = mean[:-1] - mean[1:], teams.size[1:] > 0, teams.rank[:-1] == teams.rank[1:]
    square = above[:-1] + below[1:]
    lead, inverse = gap + ahead_above[:-1] - ahead_below[1:], lax.rsqrt(square)
    link_variance = link.variance
    if spread is not None:
        variance, share_level = variance + spread, tied & (spread[1:] > 0)
        link_variance = jnp.where(share_level, 1.0, link_variance)
    factor = 1.0 / link_variance, link.mean / link_variance
    log_probability = link_log_probability(
        lead * inverse, link_margins(constants, performances) * inverse, tied, constants.params.draw_margin is not None
    )
    terms = log_probability - log_factor_integral(lead, square, *factor)
    ahead, square_above = gap + ahead_above[:-1], above[:-1] + variance[1:]
    terms = terms + log_factor_integral(ahead, square_above, *factor)
    if spread is not None:
        terms = jnp.where(share_level, level_log_probability(ahead, square_above, spread, teams), terms)
    return jnp.sum(jnp.where(real, terms, 0.0))


def level_log_probability(ahead: Array, square: Array, spread: Array, teams: Teams) -> Array:
    """[T - 1] of teams that share the level of those before them: the density that they do, N(ahead, square) at 0.

    It is told as a share of what it would be if all performances were alike and certain, and so has no unit.
    """
    precision = jnp.cumsum(jnp.where(spread > 0, 1.0 / jnp.where(spread > 0, spread, 1.0), 0.0))
    before_tie = jnp.pad(precision, (1, 0))[teams.rank[:-1]]
    known = spread[1:] + 1.0 / jnp.where(spread[1:] > 0, precision[:-1] - before_tie, 1.0)
    known = jnp.where(spread[1:] > 0, known, 1.0)
    return 0.5 * (jnp.log(known / square) - ahead * ahead / square)


def link_log_probability(lead: Array, margin: Array, tied: Array, has_draws: bool) -> Array:
    """[T - 1] of a difference N(lead, 1) beyond the margin, or within it where teams tie.

    Without draws half the log probabilities of a win and of a loss.
    """
    win = log_ndtr(lead - margin)
    if has_draws:
        return jnp.where(tied, log_normal_within(lead, jnp.where(tied, margin, 1.0)), win)
    return jnp.where(tied, 0.5 * (win + log_ndtr(-lead)), win)


def margins_log_density(
    model: ModelSettings, constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams
) -> Array:
    """[] the log density of the margins of neighbours, in their own units."""
    params, mask = constants.params, teams.size > 0
    margin = neighbour_margins(model, event, teams)
    y = margin_to_rating_points(constants, margin)
    half = margin_to_rating_points(constants, jnp.full_like(margin, 0.5))
    ahead = -jnp.cumsum(jnp.pad(y, (1, 0))) - performances.mean
    weight = jnp.where(mask, 1.0 / performances.variance, 0.0)
    total = jnp.cumsum(weight)
    level = jnp.cumsum(weight * ahead) / jnp.where(total > 0, total, 1.0)  # as those so far let expect
    surprise = level[:-1] - ahead[1:]  # of the margin
    inverse = lax.rsqrt(1.0 / jnp.where(total[:-1] > 0, total[:-1], 1.0) + performances.variance[1:])
    slope = jnp.log(params.margin_scale * inverse)
    if params.compression is not None:
        slope = slope - jnp.log1p(margin / params.compression)
    density = slope - 0.5 * (surprise * inverse) ** 2 - 0.5 * math.log(2.0 * math.pi)
    tied = teams.rank[:-1] == teams.rank[1:]
    within = log_normal_within(jnp.where(tied, surprise * inverse, 0.0), jnp.where(tied, half * inverse, 1.0))
    return jnp.sum(jnp.where(mask[1:], jnp.where(tied, within, density), 0.0))
