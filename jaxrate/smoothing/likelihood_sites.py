"""What matches say of their players, given what all others say, and how likely their results are."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr

from jaxrate.events import Matches
from jaxrate.smoothing.forward_backward import Site
from jaxrate.systems.skills.match_statistics import measure_statistics
from jaxrate.systems.skills.match_strengths import Meeting, Strength
from jaxrate.systems.skills.model import Constants, Model
from jaxrate.systems.skills.outcome_likelihoods import Q, attenuation, game_messages, margin_loss
from jaxrate.types import Array


def pair_players(cavity: Strength, offset: Array) -> Meeting:
    """Both players [2, size] of each match, before it says anything."""
    first, second = (Strength(None, cavity.mean[i], cavity.variance[i]) for i in (0, 1))
    return Meeting(first, second, first.mean - second.mean + offset)


def match_sites(model: Model, constants: Constants, pair: Meeting, events: Matches) -> Site:
    """[2, size] the sites that the filter would make of these beliefs; a match of weight w counts as w matches."""
    given = game_messages(model, constants, pair, events)
    sites = [
        Site(precision, ahead + precision * x.mean)
        for (precision, ahead), x in zip(given, (pair.first, pair.second), strict=True)
    ]
    both = jax.tree.map(lambda *x: jnp.stack(x), *sites)
    weight = events.context.weight
    return both if weight is None else jax.tree.map(lambda x: weight[None] * x, both)


def log_site_integral(x: Strength, site: Site) -> Array:
    """The logarithm of that of exp(h z - I z^2 / 2) over z = N(mean, variance)."""
    precision, pull = site
    kept = 1.0 + x.variance * precision
    surprise = pull - precision * x.mean
    peak = x.mean * (pull - 0.5 * precision * x.mean)
    return peak + 0.5 * (surprise * surprise * x.variance / kept - jnp.log(kept))


def result_log_likelihood(model: Model, constants: Constants, pair: Meeting, events: Matches) -> Array:
    """[size] of the results and statistics; of margins the log density in their own units, as in `margin_loss`."""
    params: Any = constants.params
    score, variance = events.score, pair.first.variance + pair.second.variance
    if model.statistics:
        measured = measure_statistics(model, constants, pair, events)
        result = result_log_likelihood(model._replace(statistics=()), constants, measured.known, events)
        return measured.log_density + result
    if model.outcome == "margin":
        return -margin_loss(model, constants, pair, events)
    if model.outcome == "logistic":
        lead = attenuation(variance) * (Q * pair.lead)
        return score * jax.nn.log_sigmoid(lead) + (1.0 - score) * jax.nn.log_sigmoid(-lead)
    inverse = jax.lax.rsqrt(constants.noise + variance)
    lead = pair.lead * inverse
    if params.draw_margin is None:
        return score * log_ndtr(lead) + (1.0 - score) * log_ndtr(-lead)
    width, behind = params.draw_margin * inverse, -jnp.abs(lead)
    high, low = log_ndtr(behind + width), log_ndtr(behind - width)
    least = -float(np.finfo(high.dtype).eps)
    drawn = high + jnp.log(-jnp.expm1(jnp.minimum(low - high, least)))
    decided = log_ndtr(jnp.where(score > 0.5, lead, -lead) - width)
    return jnp.where(score == 0.5, drawn, decided)
