"""What time and messages about their strengths make of beliefs about players."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core import mean_reversion
from jaxrate.core.array_types import Array
from jaxrate.core.mean_reversion import elapsed_time
from jaxrate.core.pairwise import elapsed_within_period, rate_players, split_sides
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.numerics.special_functions import differentiable_quotient
from jaxrate.systems.skills.match_strengths import MatchStrengths, covariance_with_strength, match_growth_variance
from jaxrate.systems.skills.outcome_likelihoods import Message
from jaxrate.systems.skills.settings import SIDES, Constants, ModelSettings, State, select_by_player_kind


def advance(model: ModelSettings, constants: Constants, rows: State, time: Array) -> State:
    """The clock first, then the seasons that begin until `time`."""
    rows = age_by_clock(model, constants, rows, elapsed_time(time, rows.time))
    return apply_clock_seasons(model, constants, rows, rows.time, time)


def assign_kinds_and_age_for_games(model: ModelSettings, constants: Constants, rows: State, event: Any) -> State:
    """The rows as the games of the event find them: newcomers of their kind, in the season of the match.

    The time within a rating period has passed, but no season in it that begins by the clock.
    """
    if model.kinds:
        rows = assign_newcomer_kinds(model, constants, rows, event)
    if isinstance(event, Periods):
        rows = age_by_clock(model, constants, rows, elapsed_within_period(event, constants.params.period, rows.time))
    return rows if model.league_season is None else apply_league_seasons(model, constants, rows, event)


def assign_newcomer_kinds(model: ModelSettings, constants: Constants, rows: State, event: Any) -> State:
    """The rows, newcomers with the deviations of their kind. Whoever has played stays of the kind that they were."""
    one = jnp.ones_like(event.score)
    by_side = model.kinds == (SIDES,)
    first, second = (0.0 * one, one) if by_side else (event.context.columns[name] for name in model.kinds)
    new = jnp.isinf(rows.time)
    kind: Any = rows.kind
    kind = jnp.where(new, max_game_value_per_player(event, first, second, 0.0), kind)
    new = new & (kind > 0.5)
    if model.size == 1:
        covariance = jnp.where(new, constants.second.newcomer, rows.covariance)
    else:
        covariance = jnp.where(new[..., None, None], jnp.diag(constants.second.newcomer), rows.covariance)
    return rows._replace(kind=kind, covariance=covariance)


def apply_league_seasons(model: ModelSettings, constants: Constants, rows: Any, event: Any) -> State:
    """The rows after the seasons since the one in which they played last, by the numbers that matches have."""
    params, last = constants.params, rows.season
    holder: Any = event if isinstance(event, Rounds) else event.context
    number = holder.columns[model.league_season]
    now = number if holder is event else max_game_value_per_player(event, number, number, -jnp.inf)
    count = jnp.maximum(now - last, 0.0)
    keep, added = mean_reversion.season_lead_retention_and_added_variance(
        params.season_keep, params.season_growth, count
    )
    rows = revert_means_and_grow_variances(model, constants, rows, keep, pad_common_skill_with_zeros(model, added))
    return rows._replace(season=jnp.where(jnp.isinf(last), now, jnp.maximum(now, last)))


def max_game_value_per_player(
    event: Any, first_player_values: Array, second_player_values: Array, padding_value: float
) -> Array:
    """[A] of each player the highest number of their games [M], from those of first and of second players.

    Of a single match, [2]. `padding_value` is that of games that are padding.
    """
    if not isinstance(event, Periods):
        return jnp.stack([first_player_values, second_player_values])
    first_player_values, second_player_values = (
        jnp.where(jnp.asarray(event.context.weight) > 0, x, padding_value)
        for x in (first_player_values, second_player_values)
    )
    none = jnp.full(event.player.shape, padding_value, event.score.dtype)
    return none.at[event.pair[:, 0]].max(first_player_values).at[event.pair[:, 1]].max(second_player_values)


def age_by_clock(model: ModelSettings, constants: Constants, rows: State, duration: Array) -> State:
    """After some time in units of the clock: a Wiener process, or an Ornstein-Uhlenbeck process about newcomers."""
    keep, span = mean_reversion.lead_retention_and_growth_time(constants.params.reversion, duration)
    if model.size > 1:
        growth, _ = variance_growth_and_limits_by_kind(model, constants, rows)
        span = span[..., None] * jnp.broadcast_to(growth, (*duration.shape, model.size))
    else:
        span = variance_growth_and_limits_by_kind(model, constants, rows)[0] * span
    if model.form:
        keep, span = append_form_retention_and_growth(model, constants.params, keep, span, duration)
    return revert_means_and_grow_variances(model, constants, rows, keep, span)


def append_form_retention_and_growth(
    model: ModelSettings, params: Any, keep: Array | None, span: Array, duration: Array
) -> tuple[Array, Array]:
    """[..., D] shares that are kept, and what is added to the variances, where form falls back by a time of its own."""
    own = -duration / params.form_reversion
    all_kept = jnp.ones_like(duration) if keep is None else keep
    others = jnp.broadcast_to(all_kept[..., None], (*duration.shape, model.size - 1))
    keep = jnp.concatenate([others, jnp.exp(own)[..., None]], axis=-1)
    added = -(params.form_deviation**2) * jnp.expm1(2.0 * own)
    return keep, jnp.concatenate([span[..., :-1], added[..., None]], axis=-1)


def apply_clock_seasons(model: ModelSettings, constants: Constants, rows: State, since: Array, until: Array) -> State:
    """After the seasons that begin later than `since`, and not later than `until`."""
    if not model.seasons:
        return rows
    params, count = constants.params, mean_reversion.count_seasons_begun(model.seasons, since, until)
    keep, added = mean_reversion.season_lead_retention_and_added_variance(
        params.season_keep, params.season_growth, count
    )
    return revert_means_and_grow_variances(model, constants, rows, keep, pad_common_skill_with_zeros(model, added))


def revert_means_and_grow_variances(
    model: ModelSettings, constants: Constants, rows: State, lead_retention: Array | None, added_variance: Array
) -> State:
    """The share `lead_retention` of what sets rows apart from newcomers, and variances that grow, but never beyond the
    highest.

    Args:
      model: the settings of the system.
      constants: what `prepare` computed.
      rows: the beliefs.
      lead_retention: [...], or [..., D] of each part; None: all of it.
      added_variance: [..., D] to the variances; [...] if D = 1.
    """
    mean, covariance = rows.mean, rows.covariance
    newcomer, highest = constants.newcomer, variance_growth_and_limits_by_kind(model, constants, rows)[1]
    if model.size > 1:
        newcomer, highest = (jnp.broadcast_to(x, mean.shape) for x in (newcomer, highest))
        lead_retention = (
            lead_retention[..., None]
            if lead_retention is not None and lead_retention.ndim < mean.ndim
            else lead_retention
        )
    if lead_retention is not None:
        mean = newcomer + lead_retention * (mean - newcomer)
        whole = model.size == 1 or lead_retention.shape[-1] == 1
        kept = (
            (lead_retention if model.size == 1 else lead_retention[..., None]) ** 2
            if whole
            else lead_retention[..., :, None] * lead_retention[..., None, :]
        )
        covariance = kept * covariance
    variance, least = variance_diagonal(model, covariance), float(np.finfo(covariance.dtype).eps) ** 2
    added_variance = jnp.minimum(added_variance, jnp.maximum(highest - variance, 0.0))
    added_variance = jnp.maximum(added_variance, least * highest - variance)  # where all is forgotten and nothing grows
    return rows._replace(mean=mean, covariance=add_to_diagonal(model, covariance, added_variance))


def variance_growth_and_limits_by_kind(model: ModelSettings, constants: Constants, rows: State) -> tuple[Any, Any]:
    """[..., D] or [D] of these players: by how much variances grow, and how high time lets them."""
    if constants.second is None:
        return constants.growth, constants.highest
    kind: Any = rows.kind
    kind = kind if model.size == 1 else kind[..., None]
    pairs = (constants.growth, constants.second.growth), (constants.highest, constants.second.highest)
    growth, highest = (select_by_player_kind(kind, *pair) for pair in pairs)
    return growth, highest


def variance_diagonal(model: ModelSettings, covariance: Array) -> Array:
    """[..., D] the variances."""
    return covariance if model.size == 1 else jnp.diagonal(covariance, axis1=-2, axis2=-1)


def pad_common_skill_with_zeros(model: ModelSettings, x: Array) -> Array:
    """[..., D] of which the common skill has x, and the rest nothing; x itself if D = 1."""
    if model.size == 1:
        return x
    return jnp.concatenate([x[..., None], jnp.zeros((*x.shape, model.size - 1), x.dtype)], axis=-1)


def add_to_diagonal(model: ModelSettings, covariance: Array, added_variance: Array) -> Array:
    """The covariance with values [..., D] added to the variances on its diagonal."""
    if model.size == 1:
        return covariance + added_variance
    one = jnp.broadcast_to(jnp.eye(model.size, dtype=covariance.dtype), covariance.shape)
    return covariance + one * added_variance[..., None]


def learn_from_messages(
    model: ModelSettings,
    constants: Constants,
    rows: State,
    event: Matches | Periods,
    meeting: MatchStrengths,
    messages: tuple[Message, ...],
) -> State:
    """The rows after their messages, as of `rows.time`.

    The messages of a period are made at the ratings before it, and add up: precisions x x^T I, and x V.
    """
    one = jnp.ones_like(event.score)
    if model.size == 1:
        first, second = ((*message, one) for message in messages)
        return rate_players(partial(_update_one_component_skill, model, constants), rows, event, first, second)
    weight = one if event.context.weight is None else event.context.weight
    loading: list[Any] = [meeting.first.picked, meeting.second.picked]
    a, b = messages
    weighted = [(weight * information, weight * surprise) for information, surprise in (a, b)]
    if isinstance(event, Matches):
        both = [
            _learn_match(model, constants, row, x, message, weight)
            for row, x, message in zip(split_sides(rows, event), loading, weighted, strict=True)
        ]
        return jax.tree.map(lambda *x: jnp.stack(x), *both)
    shape, dtype = event.player.shape[0], one.dtype
    total = [jnp.zeros((shape, *x), dtype) for x in ((model.size, model.size), (model.size,), ())]
    for side, x, (information, surprise) in zip((0, 1), loading, weighted, strict=True):
        scaled = information[:, None] * x
        terms = scaled[:, :, None] * x[:, None, :], surprise[:, None] * x, weight
        total = [sums.at[event.pair[:, side]].add(term) for sums, term in zip(total, terms, strict=True)]
    return learn_from_information(model, constants, rows, *total)


def learn_from_member_messages(
    model: ModelSettings, constants: Constants, rows: State, event: Rounds, loading: Any, message: Message, count: Array
) -> State:
    """The rows [P] of participants after what a contest says of x^T theta of each, as of `rows.time`.

    Who is in several teams has a message in each: they add up, as those of a rating period do.
    """
    information, surprise = message

    def total(terms: Array) -> Array:
        return terms if event.seat is None else jnp.zeros_like(terms).at[event.seat].add(terms)[event.seat]

    if model.size == 1:
        return _update_one_component_skill(model, constants, rows, (total(information), total(surprise), count))
    if event.seat is None:
        return _learn_match(model, constants, rows, loading, message, count)
    scaled = information[:, None] * loading
    matrix, vector = total(scaled[:, :, None] * loading[:, None, :]), total(surprise[:, None] * loading)
    return learn_from_information(model, constants, rows, matrix, vector, count)


def add_match_growth(model: ModelSettings, constants: Constants, rows: State, count: Array) -> State:
    """After `count` [...] matches, but for what they say."""
    covariance = rows.covariance
    added = match_growth_variance(constants, rows, count)
    if added is not None:
        covariance = add_to_diagonal(model, covariance, pad_common_skill_with_zeros(model, added))
    return rows._replace(covariance=covariance, games=None if rows.games is None else rows.games + count)


def _update_one_component_skill(
    model: ModelSettings, constants: Constants, rows: State, total: tuple[Array, ...]
) -> State:
    information, surprise, count = total
    rows = add_match_growth(model, constants, rows, count)
    variance = rows.covariance / (1.0 + rows.covariance * information)
    return rows._replace(mean=rows.mean + variance * surprise, covariance=variance)


def _learn_match(
    model: ModelSettings, constants: Constants, row: State, loading: Any, message: Message, weight: Array
) -> State:
    information, surprise = message
    row = add_match_growth(model, constants, row, weight)
    covariance, gain = condition_covariance_on_message(row.covariance, loading, information)
    return row._replace(mean=row.mean + gain * surprise[..., None], covariance=covariance)


def learn_from_information(
    model: ModelSettings, constants: Constants, rows: State, information: Array, surprise: Array, count: Array
) -> State:
    """The matrix of a player is split into D messages about one direction each, told one after the other."""
    rows = add_match_growth(model, constants, rows, count)
    covariance, least = rows.covariance, message_rounding_tolerance(model.size, information.dtype)
    rest, whole = information, jnp.diagonal(information, axis1=-2, axis2=-1)
    for i in range(model.size):
        pivot, column = rest[:, i, i], rest[:, :, i]
        some = pivot > least * whole[:, i]  # else it is what rounding left
        direction = jnp.where(some[:, None], differentiable_quotient(column, jnp.where(some, pivot, 1.0)[:, None]), 0.0)
        pivot = jnp.where(some, pivot, 0.0)
        rest = rest - pivot[:, None, None] * direction[:, :, None] * direction[:, None, :]
        covariance, _ = condition_covariance_on_message(covariance, direction, pivot)
    return rows._replace(mean=rows.mean + covariance_with_strength(covariance, surprise), covariance=covariance)


def condition_covariance_on_message(covariance: Array, loading: Array, information: Array) -> tuple[Array, Array]:
    """P after a message of precision I about x^T theta, and the gain P' x.

    P' = P - P x x^T P I / (1 + x^T P x I). Rounding errs by less than the part of the diagonal of P that is added, so
    P' stays positive definite.
    """
    size = loading.shape[-1]
    toward = covariance_with_strength(covariance, loading)
    variance = jnp.maximum(jnp.sum(loading * toward, axis=-1), 0.0)
    inverse = 1.0 / (1.0 + variance * information)
    slack = jnp.asarray(1.0 + message_rounding_tolerance(size, covariance.dtype) * np.eye(size), covariance.dtype)
    kept = covariance * jnp.broadcast_to(slack, covariance.shape)
    shrunk = kept - (information * inverse)[..., None, None] * (toward[..., None] * toward[..., None, :])
    return shrunk, toward * inverse[..., None]


def message_rounding_tolerance(size: int, dtype: Any) -> float:
    """The rounding of a message to a matrix of this size, in units of the deviations."""
    return 2.0 * size * float(np.finfo(dtype).eps)
