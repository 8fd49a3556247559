"""Observations of matches of a user's own, from functions of the lead of the first player.

Of a lead d, of which the belief is N(m, v), an observation y has the log likelihood L(m, v), the logarithm of the mean
of p(y | d). Where a user gives no message, it is the one that keeps mean and variance of the lead after y,

    m' = m + v L_m,   v' = v + v^2 L_mm,   so that I = -L_mm / (1 + v L_mm) and V = L_m / (1 + v L_mm)

with the derivatives L_m and L_mm by m. A variance never grows: where L_mm is above 0, it counts as 0.
"""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter as Argument
from inspect import signature
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.events import Matches, Periods, Ragged
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.skills.belief_updates import ScalarInference, ScalarMessage
from jaxrate.systems.skills.linear_predictors import PredictorMoments
from jaxrate.systems.skills.outcome_likelihoods import make_outcomes_of_two
from jaxrate.systems.skills.parts import Constants, check_user_function, hide_fields_from_user_functions, prepare
from jaxrate.systems.skills.settings import ModelSettings, OwnObservation

CHECKED_LEADS = -4.0, -1.0, 0.0, 1.0, 4.0  # at which functions must give numbers, in deviations of newcomers' leads
LEAST_KEPT = 8.0  # share of a variance that a message leaves at least, in units of rounding


class ObservedMatch(NamedTuple):
    """What an observation of a user's own sees of matches."""

    score: Array  # [...] of the first player: 1 a win, 0 a loss
    columns: Mapping[str, Array]  # [...] those that it names


def call_function_of_lead(own: OwnObservation, function: Callable[..., Any], params: Any, *values: Any) -> Any:
    """The result of a function of these values and of the hyperparameters that it names."""
    arguments = [*signature(function).parameters.values()][len(values) :]
    names = [x.name for x in arguments if x.kind in (Argument.POSITIONAL_OR_KEYWORD, Argument.KEYWORD_ONLY)]
    return function(*values, **{name: getattr(params, own.name_in_system(name)) for name in names})


def infer_from_own_observation(
    own: OwnObservation,
    model: ModelSettings,
    constants: Constants,
    lead: Array,
    variance: Array,
    event: Matches | Periods,
) -> ScalarInference:
    """What is observed says of the lead, and how likely it was."""
    columns = {name: (event.context.columns or {})[name] for name in own.columns}
    match, params = ObservedMatch(event.score, columns), constants.params

    def log_likelihood(lead: Array) -> Array:
        terms = call_function_of_lead(own, own.log_likelihood, params, lead, variance, match)
        return jnp.broadcast_to(jnp.asarray(terms, lead.dtype), lead.shape)

    if own.message is None:
        message = message_that_keeps_moments(log_likelihood, lead, variance)
    else:
        terms = call_function_of_lead(own, own.message, params, lead, variance, match)
        precision, surprise = (jnp.broadcast_to(jnp.asarray(x, lead.dtype), lead.shape) for x in terms)
        message = ScalarMessage(precision, surprise)
    return ScalarInference(message, partial(log_likelihood, lead))


def message_that_keeps_moments(log_likelihood: Callable[[Array], Array], lead: Array, variance: Array) -> ScalarMessage:
    """The message after which mean and variance of a lead are those of the exact belief."""
    slope, curvature = jax.jvp(jax.grad(lambda lead: jnp.sum(log_likelihood(lead))), (lead,), (jnp.ones_like(lead),))
    information = jnp.maximum(-curvature, 0.0)
    kept = jnp.maximum(1.0 - variance * information, LEAST_KEPT * float(np.finfo(lead.dtype).eps))
    return ScalarMessage(information / kept, slope / kept)


def own_observation_outcomes(
    own: OwnObservation, model: ModelSettings, constants: Constants, two: PredictorMoments, event: Matches | Periods
) -> OutcomeProbabilities:
    """[..., 2] the chances of win and draw that the observation tells."""
    function: Any = own.outcomes
    chances = call_function_of_lead(own, function, constants.params, two.lead, two.variances[0] + two.variances[1])
    win, draw = (jnp.broadcast_to(x, two.lead.shape) for x in chances)
    return make_outcomes_of_two(
        constants, two, jnp.stack([win, 1.0 - win - draw], axis=-1), jnp.stack([draw] * 2, axis=-1)
    )


def own_observation_score(
    own: OwnObservation, model: ModelSettings, constants: Constants, two: PredictorMoments, event: Matches | Periods
) -> Array:
    """[...] the expected score of the first player."""
    chances = own_observation_outcomes(own, model, constants, two, event)
    return chances.win[..., 0] + 0.5 * chances.draw[..., 0]


def check_own_observation(model: ModelSettings, params: Any, events: Matches | Ragged) -> None:
    """ValueError that names the observation of a user's own whose functions fail, or give no finite numbers."""
    own: Any = model.outcome
    call = f"parts.own_observation({own.name!r}, ...)"
    use = (
        f"they are functions of lead, variance and match, which has the score and the columns {own.columns}; outcomes "
        "are of lead and variance, and two chances, of win and draw"
    )
    are_finite = bind(are_terms_finite, model, params)
    number = f"the log likelihood, message (precision 0 or more) or outcomes (chances from 0 to 1) of {call}"
    failure = f"the functions of {call} fail"
    check_user_function(are_finite, events, failure, use, f"{number} is no finite number")
    padding = jax.tree.map(lambda x: np.zeros_like(np.asarray(x)[:1]), hide_fields_from_user_functions(events))
    with jax.ensure_compile_time_eval():
        is_finite = np.all(are_finite(padding))
    if not is_finite:
        raise ValueError(
            f"{number} must be a finite number where score and columns are 0, too, as in rows that fill up programs"
        )
    apart = f"the functions of {call} must tell of each match apart, [n] numbers of n matches, and sum over none"
    check_user_function(bind(are_terms_independent, model, params), events, failure, use, apart)


def sum_of_terms(model: ModelSettings, params: Any, event: Matches | Periods, deviations: Any) -> Array:
    """[...] the sum of what functions say of newcomers' matches, at such leads; NaN where it is impossible."""
    own, constants = model.outcome, prepare(model, params)
    assert isinstance(own, OwnObservation)
    variance = jnp.full(jnp.shape(event.score), 2.0 * constants.params.initial_deviation**2)
    lead = deviations * jnp.sqrt(variance)
    message, log_likelihood = infer_from_own_observation(own, model, constants, lead, variance, event)
    terms = [log_likelihood(), *message]
    terms.append(jnp.where(message.precision < 0.0, jnp.nan, 0.0))
    if own.outcomes is not None:
        win, draw = call_function_of_lead(own, own.outcomes, constants.params, lead, variance)
        rounding = 8.0 * float(np.finfo(lead.dtype).eps)
        terms += [jnp.where((x < -rounding) | (x > 1.0 + rounding), jnp.nan, x) for x in (win, draw, win + draw)]
    return sum(jnp.broadcast_to(x, lead.shape) for x in terms)


@partial(jax.jit, static_argnums=0)
def are_terms_finite(model: ModelSettings, params: Any, event: Matches | Periods) -> Array:
    """[n] whether the terms of matches of newcomers are numbers at several leads."""
    sums = jax.vmap(partial(sum_of_terms, model, params, event))(jnp.array(CHECKED_LEADS))
    return jnp.all(jnp.isfinite(sums), axis=0)


@partial(jax.jit, static_argnums=0)
def are_terms_independent(model: ModelSettings, params: Any, event: Matches | Periods) -> Array:
    """[n] whether the terms of matches are the same of each match by itself."""
    terms, deviations = partial(sum_of_terms, model, params), jnp.linspace(-1.0, 1.0, len(event.score))
    return jnp.isclose(terms(event, deviations), jax.vmap(terms)(event, deviations), rtol=1e-3, atol=1e-3)
