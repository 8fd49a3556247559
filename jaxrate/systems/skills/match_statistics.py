"""What was counted beside the result: measurements of d, each with a worth and a noise of its own.

A statistic z of worth c and noise n is c z = d + n e, whatever the result is, so several, and the result after them,
tell of d one after the other. With v the variance of d:

    log p(z) = log c - log(2 pi (v + n^2)) / 2 - (c z - d)^2 / (2 (v + n^2)),   d <- d + v (c z - d) / (v + n^2),
    v <- v n^2 / (v + n^2)
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.events import Matches, Periods
from jaxrate.systems.skills.match_strengths import MatchStrengths, StrengthBelief, extra_match_columns
from jaxrate.systems.skills.settings_and_state import (
    Constants,
    ModelSettings,
    statistic_noise_name,
    statistic_scale_name,
)


class MatchConditionedOnStatistics(NamedTuple):
    """A match after its statistics, and before its result."""

    known: MatchStrengths  # of which the first player has all of the variance of d
    precision: Array  # [...] of what they say of d together
    surprise: Array  # [...] that, times by how much they put d ahead of what it was
    log_density: Array  # [...] of the statistics, in their own units


def condition_match_on_statistics(
    model: ModelSettings, constants: Constants, match_strengths: MatchStrengths, event: Matches | Periods
) -> MatchConditionedOnStatistics:
    """What the statistics of each match say; one that is missing says nothing."""
    lead, variance = match_strengths.lead, match_strengths.first.variance + match_strengths.second.variance
    precision = surprise = log_density = jnp.zeros_like(lead)
    for name in model.statistics:
        value = extra_match_columns(event)[name]
        mask, params = ~jnp.isnan(value), constants.params
        scale, noise = getattr(params, statistic_scale_name(name)), getattr(params, statistic_noise_name(name)) ** 2
        value = scale * jnp.where(mask, value, 0.0)
        square = noise + variance
        off, inverse = value - lead, 1.0 / square
        density = jnp.log(scale * lax.rsqrt(square)) - 0.5 * (off * off * inverse) - 0.5 * math.log(2.0 * math.pi)
        log_density = log_density + jnp.where(mask, density, 0.0)
        weight = jnp.where(mask, 1.0 / noise, 0.0)
        precision, surprise = precision + weight, surprise + weight * (value - match_strengths.lead)
        lead = lead + jnp.where(mask, variance * inverse * off, 0.0)
        variance = jnp.where(mask, variance * noise * inverse, variance)
    measured_meeting = MatchStrengths(
        StrengthBelief(None, lead, variance), StrengthBelief(None, 0.0 * lead, 0.0 * variance), lead
    )
    return MatchConditionedOnStatistics(measured_meeting, precision, surprise, log_density)


def combine_statistics_with_result(meeting: MatchStrengths, measured: MatchConditionedOnStatistics, result: Any) -> Any:
    """What statistics and result say together of each player, from what the result says of d after the statistics."""
    precision, surprise = result
    surprise = measured.surprise + surprise + precision * (measured.known.lead - meeting.lead)
    precision = measured.precision + precision
    first, second = (1.0 / (1.0 + x.variance * precision) for x in (meeting.second, meeting.first))
    return (first * precision, first * surprise), (second * precision, -second * surprise)
