"""The sites of matches given their cavities, and the log likelihoods of their results."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import log_ndtr

from jaxrate.core.array_types import Array
from jaxrate.events import Matches
from jaxrate.numerics.special_functions import log_normal_within
from jaxrate.smoothing.forward_backward import GaussianSite
from jaxrate.systems.skills.match_statistics import condition_match_on_statistics
from jaxrate.systems.skills.match_strengths import MatchStrengths, StrengthBelief
from jaxrate.systems.skills.outcome_likelihoods import Q, attenuation, game_messages, margin_negative_log_density
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings


def meetings_from_cavities(cavity: StrengthBelief, offset: Array) -> MatchStrengths:
    """The meetings of both players of each match, from their cavities [2, size]."""
    first, second = (StrengthBelief(None, cavity.mean[i], cavity.variance[i]) for i in (0, 1))
    return MatchStrengths(first, second, first.mean - second.mean + offset)


def match_sites(model: ModelSettings, constants: Constants, pair: MatchStrengths, events: Matches) -> GaussianSite:
    """[2, size] the sites of matches between players of these strengths; a match of weight w counts as w matches."""
    messages = game_messages(model, constants, pair, events)
    sites = [
        GaussianSite(precision, ahead + precision * x.mean)
        for (precision, ahead), x in zip(messages, (pair.first, pair.second), strict=True)
    ]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *sites)
    weight = events.context.weight
    return stacked if weight is None else jax.tree.map(lambda x: weight[None] * x, stacked)


def match_log_likelihood(model: ModelSettings, constants: Constants, pair: MatchStrengths, events: Matches) -> Array:
    """[size] the log likelihoods of results and statistics; for margins log densities in their own units."""
    params: Any = constants.params
    score, variance = events.score, pair.first.variance + pair.second.variance
    if model.statistics:
        statistics = condition_match_on_statistics(model, constants, pair, events)
        result = match_log_likelihood(model._replace(statistics=()), constants, statistics.known, events)
        return statistics.log_density + result
    if model.outcome == "margin":
        return -margin_negative_log_density(model, constants, pair, events)
    if model.outcome == "logistic":
        lead = attenuation(variance) * (Q * pair.lead)
        return score * jax.nn.log_sigmoid(lead) + (1.0 - score) * jax.nn.log_sigmoid(-lead)
    inverse = jax.lax.rsqrt(constants.noise + variance)
    lead = pair.lead * inverse
    if params.draw_margin is None:
        return score * log_ndtr(lead) + (1.0 - score) * log_ndtr(-lead)
    width = params.draw_margin * inverse
    drawn = log_normal_within(lead, width)
    decided = log_ndtr(jnp.where(score > 0.5, lead, -lead) - width)
    return jnp.where(score == 0.5, drawn, decided)
