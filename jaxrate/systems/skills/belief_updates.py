"""What time, and messages about their linear predictors, make of beliefs about players.

A message about k linear predictors z = X theta of a player, of which m and S are the mean and covariance, has a
precision M [k, k] and a surprise V [k], M times how far its mean is from m. With U = P X^T and A = (1 + M S)^-1

    m' = m + U A V,   P' = P - U (A M) U^T

To the diagonal of P' come 2 D eps of that of P, with eps of the precision: more than rounding errs by, so that P' stays
positive definite.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxrate.core import mean_reversion
from jaxrate.core.array_types import Array
from jaxrate.core.mean_reversion import elapsed_time
from jaxrate.core.pairwise_rules import elapsed_within_period, rating_period_length
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.numerics.special_functions import differentiable_quotient
from jaxrate.systems.skills.parts import (
    Constants,
    PlayerKindConstants,
    State,
    apply_to_players,
    expand_rows_to_vectors,
    model_parts,
    part_field_indicator,
    participant_values,
    select_by_player_kind,
    squeeze_single_number_rows,
)
from jaxrate.systems.skills.settings import ModelSettings

ROUNDINGS = 8.0  # by which what a message takes from a covariance may be off, in units of the usual tolerance


class Message(NamedTuple):
    """What an event says of the linear predictors of a participant, as a Gaussian factor."""

    precision: Array  # [..., k, k]
    surprise: Array  # [..., k] the precision times how far its mean is from that of the belief


class ScalarMessage(NamedTuple):
    """What is said of one number, as a Gaussian factor."""

    precision: Array
    surprise: Array  # the precision times how far its mean is from the belief's

    def through(self, variance: Any) -> "ScalarMessage":
        """What it says of one of two independent terms of the number, of which the other has this variance."""
        inverse = 1.0 / (1.0 + self.precision * variance)
        return ScalarMessage(self.precision * inverse, self.surprise * inverse)

    def after(self, earlier: "ScalarMessage", change: Array) -> "ScalarMessage":
        """Both messages as one, where the earlier has changed the mean, from which the surprise of this one counts."""
        surprise = earlier.surprise + self.surprise + self.precision * change
        return ScalarMessage(earlier.precision + self.precision, surprise)


class Inference(NamedTuple):
    """What an event says of the linear predictors of its participants, and how likely it was."""

    message: Message
    log_likelihood: Callable[[], Array]  # [...] of matches, [] of a contest, of all that was observed: few ask for it


class ScalarInference(NamedTuple):
    """What an event says of one number, such as the lead of a match, and how likely it was."""

    message: ScalarMessage
    log_likelihood: Callable[[], Array]


def advance(model: ModelSettings, constants: Constants, rows: State, time: Array) -> State:
    """The clock first, then the seasons that begin until `time`."""

    def advance_rows(rows: State) -> State:
        last, rows = rows.time, expand_rows_to_vectors(rows)
        rows = age_by_clock(model, constants, rows, elapsed_time(time, last))
        return squeeze_single_number_rows(apply_clock_seasons(model, constants, rows, last, time))

    return apply_to_players(advance_rows, rows)


def rows_before_games(model: ModelSettings, constants: Constants, rows: State, event: Any) -> State:
    """The rows, with vectors, as the games of the event find them: newcomers of their kind, in the season of the match.

    The time within a rating period has passed, but no season in it that begins by the clock.
    """
    rows = expand_rows_to_vectors(rows)
    if model.kinds:
        rows = assign_newcomer_kinds(model, constants, rows, event)
    length = rating_period_length(constants, event)
    if length is not None:
        rows = age_by_clock(model, constants, rows, elapsed_within_period(event, length, rows.time))
    return rows if model.league_season is None else apply_league_seasons(model, constants, rows, event)


def assign_newcomer_kinds(model: ModelSettings, constants: Constants, rows: State, event: Any) -> State:
    """The rows, newcomers with the deviations of the kind that the event tells. Whoever has played keeps theirs."""
    new = jnp.isinf(rows.time)
    old: Any = rows.kind
    kind = jnp.where(new, max_value_per_player(event, model.kinds, 0.0), old)
    variance = select_by_player_kind(constants, kind).variance
    covariance = jnp.where(new[..., None, None], variance[..., None] * unit_matrices(rows.covariance), rows.covariance)
    return rows._replace(kind=kind, covariance=covariance)


def apply_league_seasons(model: ModelSettings, constants: Constants, rows: State, event: Any) -> State:
    """The rows after the seasons since the one in which they played last, by the numbers that matches have."""
    last: Any = rows.season
    column: Any = model.league_season
    now = max_value_per_player(event, (column,), -jnp.inf)
    rows = apply_seasons(model, constants, rows, jnp.maximum(now - last, 0.0))
    return rows._replace(season=jnp.where(jnp.isinf(last), now, jnp.maximum(now, last)))


def max_value_per_player(event: Any, names: tuple[str, ...], padding_value: float) -> Array:
    """[...] of each player the highest value that participations in the event have, see `participant_values`."""
    values, weight = participant_values(event, names), event.context.weight
    if event.participant_rows is None:
        return values
    values = values if weight is None else jnp.where(jnp.asarray(weight) > 0, values, padding_value)
    return event.combine_by_player(values, "max", padding_value)


def age_by_clock(model: ModelSettings, constants: Constants, rows: State, duration: Array) -> State:
    """After some time in units of the clock: a Wiener process, or an Ornstein-Uhlenbeck process about newcomers."""
    own = select_by_player_kind(constants, rows.kind)
    return revert_means_and_grow_variances(constants, own, rows, *time_transition(model, constants, own, duration))


def time_transition(
    model: ModelSettings, constants: Constants, own: PlayerKindConstants, duration: Array
) -> tuple[Array | None, Array]:
    """[..., D] or [..., 1] shares of leads that time leaves (None: all), [..., D] what it adds to variances."""
    parts, params = model_parts(model), constants.params
    passed = {
        name: mean_reversion.lead_retention_and_growth_time(getattr(params, name), duration)
        for name in dict.fromkeys(part.reversion for part in parts)
    }
    growth = jnp.broadcast_to(jnp.asarray(own.growth, duration.dtype), (*duration.shape, model.size))
    if len(passed) == 1:
        ((keep, span),) = passed.values()
        return None if keep is None else keep[..., None], span[..., None] * growth
    all_kept = jnp.ones_like(duration)
    each = [passed[part.reversion] for part in parts for _ in range(part.size)]
    keep = jnp.stack([all_kept if x is None else x for x, _ in each], axis=-1)
    return keep, jnp.stack([span for _, span in each], axis=-1) * growth


def apply_clock_seasons(model: ModelSettings, constants: Constants, rows: State, since: Array, until: Array) -> State:
    """After the seasons that begin later than `since`, and not later than `until`."""
    if not model.seasons:
        return rows
    return apply_seasons(model, constants, rows, mean_reversion.count_seasons_begun(model.seasons, since, until))


def apply_seasons(model: ModelSettings, constants: Constants, rows: State, count: Array) -> State:
    """After so many seasons [...]."""
    own = select_by_player_kind(constants, rows.kind)
    return revert_means_and_grow_variances(constants, own, rows, *season_transition(model, constants, count))


def season_transition(model: ModelSettings, constants: Constants, count: Array) -> tuple[Array, Array]:
    """[..., 1] the share of leads that so many seasons leave, and [..., D] what they add to variances."""
    params = constants.params
    keep, added = mean_reversion.season_lead_retention_and_added_variance(
        params.season_keep, params.season_growth, count
    )
    return keep[..., None], distribute_event_growth(model, added)


def distribute_event_growth(model: ModelSettings, added: Array) -> Array:
    """[..., D] of which the parts that grow with events have this [...], and the rest nothing."""
    grows = jnp.asarray(part_field_indicator(model_parts(model), "grows_with_events"), added.dtype)
    return added[..., None] * jnp.broadcast_to(grows, (*added.shape, model.size))


def revert_means_and_grow_variances(
    constants: Constants, own: PlayerKindConstants, rows: State, keep: Array | None, added: Array
) -> State:
    """Leads over newcomers keep these shares (None: all); variances grow by these, but never beyond the limit."""
    mean, covariance = rows.mean, rows.covariance
    newcomer, limit = (jnp.broadcast_to(x, mean.shape) for x in (constants.newcomer, own.limit))
    if keep is not None:
        mean = newcomer + keep * (mean - newcomer)
        covariance = keep[..., :, None] * keep[..., None, :] * covariance
    variance, least = diagonals(covariance), float(np.finfo(covariance.dtype).eps) ** 2
    added = jnp.minimum(added, jnp.maximum(limit - variance, 0.0))
    added = jnp.maximum(added, least * limit - variance)  # where all is forgotten and nothing grows
    return rows._replace(mean=mean, covariance=add_to_diagonal(covariance, added))


def diagonals(matrices: Array) -> Array:
    """[..., D] the numbers on the diagonals of matrices [..., D, D], without a gather, which loops and kernels lack."""
    return jnp.stack([matrices[..., i, i] for i in range(matrices.shape[-1])], axis=-1)


def unit_matrices(like: Array) -> Array:
    """[..., D, D] unit matrices in the shape of others."""
    return jnp.broadcast_to(jnp.asarray(np.eye(like.shape[-1]), like.dtype), like.shape)


def add_to_diagonal(covariance: Array, added_variance: Array) -> Array:
    """The covariance with values [..., D] added to the variances on its diagonal."""
    return covariance + unit_matrices(covariance) * added_variance[..., None]


def add_match_growth(
    model: ModelSettings, constants: Constants, covariance: Array, kind: Array | None, count: Array
) -> Array:
    """The covariances after so many matches [...], but for what they say."""
    growth = select_by_player_kind(constants, kind).match_growth
    if growth is None:
        return covariance
    return add_to_diagonal(covariance, distribute_event_growth(model, growth * count))


def learn_from_messages(
    model: ModelSettings,
    constants: Constants,
    rows: State,
    event: Matches | Periods | Rounds,
    loadings: Array,
    message: Message,
    count: Array,
    games: Array,
) -> State:
    """The rows after messages about the predictors X theta of participants, X being loadings.

    A message counts `count` times, and each row has played so many `games`. Of a player with several, in a rating
    period or in several teams of a contest, messages are made at the beliefs before them, and add up: precisions
    X^T M X, and X^T V.
    """

    def learn_from_one(rows: State, loadings: Array, message: Message, count: Array) -> State:
        rows = _count_matches(model, constants, rows, count)
        covariance, change = condition_on_message(rows.covariance, loadings, repeat_message(message, count))
        return rows._replace(mean=rows.mean + change, covariance=covariance)

    if event.participant_rows is None:
        return apply_to_players(learn_from_one, rows, loadings, message, count)
    rows, message = _count_matches(model, constants, rows, games), repeat_message(message, count)
    surprise = jnp.sum(loadings * message.surprise[..., None], axis=-2)
    terms = sum_outer_products(message.precision, loadings), surprise
    precision, surprise = map(event.combine_by_player, terms)
    covariance = condition_on_precision(rows.covariance, precision)
    return rows._replace(mean=rows.mean + multiply(covariance, surprise), covariance=covariance)


def repeat_message(message: Message, count: Array) -> Message:
    """What messages say that count so many times [...]."""
    return Message(count[..., None, None] * message.precision, count[..., None] * message.surprise)


def _count_matches(model: ModelSettings, constants: Constants, rows: State, count: Array) -> State:
    """The rows after so many matches [...], but for what they say."""
    covariance = add_match_growth(model, constants, rows.covariance, rows.kind, count)
    return rows._replace(covariance=covariance, games=None if rows.games is None else rows.games + count)


def condition_on_precision(covariance: Array, precision: Array) -> Array:
    """Covariances [..., D, D] after precisions about all numbers, split into D messages about a direction each."""
    size, rest = covariance.shape[-1], precision
    whole, least = diagonals(precision), message_rounding_tolerance(size, precision.dtype)
    for i in range(size):
        pivot, column = rest[..., i, i], rest[..., :, i]
        some = pivot > least * whole[..., i]  # else it is what rounding left
        quotient = differentiable_quotient(column, jnp.where(some, pivot, 1.0)[..., None])
        direction, pivot = jnp.where(some[..., None], quotient, 0.0), jnp.where(some, pivot, 0.0)
        rest = rest - pivot[..., None, None] * direction[..., :, None] * direction[..., None, :]
        toward = multiply(covariance, direction)
        gain = pivot / (1.0 + pivot * jnp.maximum(jnp.sum(direction * toward, axis=-1), 0.0))
        covariance = take_from_covariance(
            covariance, gain[..., None, None] * toward[..., :, None] * toward[..., None, :]
        )
    return covariance


def condition_on_message(covariance: Array, loadings: Array, message: Message) -> tuple[Array, Array]:
    """Covariances after messages about X theta, and the changes of means."""
    toward = multiply_rows(covariance, loadings)  # U^T
    precision, surprise = attenuate(message, predictor_covariance(loadings, toward))
    covariance = take_from_covariance(covariance, sum_outer_products(precision, toward))
    return covariance, jnp.sum(toward * surprise[..., None], axis=-2)


def take_from_covariance(covariance: Array, lost: Array) -> Array:
    """Covariances less what messages take from them, which rounding leaves positive definite."""
    size, dtype = covariance.shape[-1], covariance.dtype
    slack = message_rounding_tolerance(size, dtype) * np.eye(size)
    kept, taken = (jnp.broadcast_to(jnp.asarray(x, dtype), lost.shape) for x in (1.0 + slack, 1.0 - ROUNDINGS * slack))
    return kept * covariance - taken * lost


def multiply(matrix: Array, vector: Array) -> Array:
    """[..., D] products of matrices [..., D, D] and vectors, by sums, which fuse with what is beside them."""
    return jnp.sum(matrix * vector[..., None, :], axis=-1)


def multiply_rows(covariance: Array, loadings: Array) -> Array:
    """X P [..., k, D], the covariances of linear predictors with all numbers."""
    return jnp.sum(loadings[..., None, :] * covariance[..., None, :, :], axis=-1)


def predictor_covariance(loadings: Array, toward: Array) -> Array:
    """X P X^T [..., k, k], from X P."""
    return jnp.sum(loadings[..., :, None, :] * toward[..., None, :, :], axis=-1)


def sum_outer_products(weights: Array, rows: Array) -> Array:
    """Y^T W Y [..., D, D] of symmetric weights [..., k, k] and rows [..., k, D], symmetric to the last bit."""
    total: Any = 0.0
    for i in range(rows.shape[-2]):
        for j in range(i + 1):
            product = rows[..., i, :, None] * rows[..., j, None, :]
            product = product if i == j else product + jnp.swapaxes(product, -1, -2)
            total = total + weights[..., i, j, None, None] * product
    return total


def attenuate(message: Message, covariance: Array) -> Message:
    """(1 + M C)^-1 of a message of precision M and its surprise: what it says through a belief of covariance C."""
    precision, surprise = message
    inverse = 1.0 / attenuation(precision, covariance)
    if surprise.shape[-1] == 1:
        return Message(precision * inverse[..., None, None], surprise * inverse[..., None])
    a, b, c = precision[..., 0, 0], precision[..., 0, 1], precision[..., 1, 1]
    s, t, u = covariance[..., 0, 0], covariance[..., 0, 1], covariance[..., 1, 1]
    v, o = surprise[..., 0], surprise[..., 1]
    own = jnp.maximum(a * c - b * b, 0.0)
    cross = (b - own * t) * inverse
    return Message(
        symmetric_pair((a + own * u) * inverse, cross, (c + own * s) * inverse),
        jnp.stack(
            [
                ((1.0 + b * t + c * u) * v - (a * t + b * u) * o) * inverse,
                ((1.0 + a * s + b * t) * o - (b * s + c * t) * v) * inverse,
            ],
            axis=-1,
        ),
    )


def attenuation(precision: Array, covariance: Array) -> Array:
    """[...] the determinant of 1 + M C, of one or two linear predictors."""
    trace = jnp.maximum(jnp.sum(precision * covariance, axis=(-2, -1)), 0.0)
    if precision.shape[-1] == 1:
        return 1.0 + trace
    first, second = (
        jnp.maximum(x[..., 0, 0] * x[..., 1, 1] - x[..., 0, 1] * x[..., 1, 0], 0.0) for x in (precision, covariance)
    )
    return 1.0 + trace + first * second


def symmetric_pair(first: Array, cross: Array, second: Array) -> Array:
    """[..., 2, 2] symmetric matrices from their entries."""
    return jnp.stack([jnp.stack([first, cross], axis=-1), jnp.stack([cross, second], axis=-1)], axis=-2)


def make_precision_positive(precision: Array) -> Array:
    """The precisions [..., k, k] without what is negative in them: variances, and covariances beyond these."""
    if precision.shape[-1] == 1:
        return jnp.maximum(precision, 0.0)
    first, second = (jnp.maximum(precision[..., i, i], 0.0) for i in (0, 1))
    square = first * second
    limit = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)
    return symmetric_pair(first, jnp.clip(precision[..., 0, 1], -limit, limit), second)


def message_rounding_tolerance(size: int, dtype: Any) -> float:
    """The rounding of a message to a matrix of this size, in units of the deviations."""
    return 2.0 * size * float(np.finfo(dtype).eps)
