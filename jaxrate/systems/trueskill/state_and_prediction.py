"""TrueSkill's model: hyperparameters, state, and what it expects before an event."""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax.scipy.special import erfc, erfinv

from jaxrate.core.array_types import Array
from jaxrate.core.rules import Params, Rating
from jaxrate.core.system import elapsed_time, full_leaf, signed_side_advantage
from jaxrate.events import Matches, Rounds
from jaxrate.systems import mean_reversion as fading
from jaxrate.systems.rounds import cdf_sums, expected_wins
from jaxrate.systems.rounds.round_teams import (
    Teams,
    gather_team_values_to_members,
    scale_performance_noise,
    sum_by_team,
    teams_with_result_hidden,
)

TABLE_POINTS = 128  # of the tables that predictions of large rounds are read from, in float32


class Constants(NamedTuple):
    params: Params
    noise: float | Array  # beta^2
    growth: float | Array  # tau^2
    margin: float | Array  # of two teams with one player between them


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] sigma^2
    time: Array | None  # [num_players] of the last event; inf before the first. None: time does not count


def init(params: Params, num_players: int) -> State:
    rating, variance = (
        full_leaf(num_players, params.initial_rating),
        full_leaf(num_players, params.initial_deviation**2),
    )
    return State(rating, variance, full_leaf(num_players, jnp.inf) if depends_on_elapsed_time(params) else None)


def prepare(params: Params) -> Constants:
    deviate = 2.0**0.5 * erfinv(jnp.asarray(params.draw_probability, float))  # Phi^-1((p + 1) / 2)
    return Constants(params, params.beta**2, params.tau**2, deviate * params.beta)


def advance(seasons: Sequence[float], constants: Constants, rows: State, time: Array) -> State:
    """The drift by elapsed time, and leads fade."""
    params, last, aged = constants.params, rows.time, rows
    if last is None:
        return rows
    keep, span = fading.lead_retention_and_growth_time(params.reversion, elapsed_time(time, last))
    if params.drift is not None:
        aged = fading.revert_ratings_and_grow_variances(params, rows, keep, params.drift * span, None)
    elif keep is not None:
        aged = fading.revert_ratings_and_grow_variances(params, rows, keep, jnp.zeros_like(span), None)
    return fading.apply_seasons(seasons, params, aged, last, time, None)


def match_lead_deviation_and_margin(constants: Constants, rows: State, event: Matches) -> tuple[Array, Array, Array]:
    """By how much player 0 should perform better, the deviation c of that, and the margin."""
    spread = jnp.sqrt(jnp.sum(rows.variance) + 2.0 * (constants.growth + constants.noise))
    ahead = rows.rating[0] - rows.rating[1] + signed_side_advantage(event, constants.params.side_advantage)
    return ahead, spread, 2.0**0.5 * jnp.asarray(constants.margin, spread.dtype)


def scale_noise_and_margin(constants: Constants, event: Matches | Rounds) -> Constants:
    """The constants of an event: in a noisy contest equals draw as often as in others, so that its margin grows."""
    factor = getattr(event, "noise", None)
    scaled = scale_performance_noise(constants, event)
    return scaled if factor is None else scaled._replace(margin=constants.margin * factor)


def predict(constants: Constants, rows: State, event: Matches | Rounds) -> Array:
    """Expected score of player 0; of a round the share [P] of the other teams that one's own should beat.

    A draw is half a win. In rounds of more than `max_pairwise_participants` the margin is that of equal teams.
    """
    if isinstance(event, Matches):
        return expected_score(*match_lead_deviation_and_margin(constants, rows, event))
    constants, teams = scale_noise_and_margin(constants, event), teams_with_result_hidden(event)
    mean, variance = team_performance_moments(constants, rows, event, teams)
    return expected_share_of_teams_beaten(teams, mean, variance, constants.margin, teams.size.astype(mean.dtype))


def expected_share_of_teams_beaten(
    teams: Teams, mean: Array, variance: Array, unit_margin: float | Array | None, margin_square: Array
) -> Array:
    """[P] for each participant the share of the other teams that one's own should beat.

    Args:
      teams: of the round.
      mean, variance: [T] of the teams' performances.
      unit_margin: the draw margin of two teams is this times sqrt(margin_square_1 + margin_square_2). None: no draws.
      margin_square: [T].
    """
    mask, deviation = teams.size > 0, jnp.sqrt(variance)
    if len(teams.of) <= cdf_sums.DIRECT_LIMIT:
        pair_square = margin_square[:, None] + margin_square[None, :]
        margin = None if unit_margin is None else unit_margin * jnp.sqrt(pair_square)
        spread = jnp.sqrt(variance[:, None] + variance[None, :])
        lead = mean[:, None] - mean[None, :]
        # XLA on a CPU makes code up to four times as fast of arrays [1, teams, teams].
        p = expected_score(lead[None], spread[None], None if margin is None else margin[None])[0]
        others = mask[None, :] & ~jnp.eye(len(mask), dtype=bool)
        count = jnp.sum(mask.astype(mean.dtype)) - 1.0
        share = jnp.sum(jnp.where(others, p, 0.0), axis=1) / jnp.maximum(count, 1.0)
        return gather_team_values_to_members(teams, jnp.where(count > 0, share, 0.5))
    margin = (0.0 if unit_margin is None else unit_margin) * jnp.sqrt(2.0 * margin_square)
    below, _ = expected_wins.expected_normal_wins_and_losses(mean, deviation, mask, TABLE_POINTS, margin)
    return gather_team_values_to_members(teams, expected_wins.expected_win_share(below, mask))


def expected_score(mean_lead: Array, deviation: Array, draw_margin: Array | None) -> Array:
    """Expected score, a draw half a win, of who should perform better by so much. Without a margin nobody draws."""
    if draw_margin is None:
        return 0.5 * erfc((-(0.5**0.5)) * mean_lead / deviation)
    low, high = (0.5 * erfc((0.5**0.5) * (x - mean_lead) / deviation) for x in (draw_margin, -draw_margin))
    return 0.5 * (low + high)


def team_performance_moments(constants: Constants, rows: State, event: Rounds, teams: Teams) -> tuple[Array, Array]:
    """M and V [T] of the teams, after the drift; 0 and 1 for padding."""
    square = event.weight**2 * (rows.variance + (constants.growth + constants.noise))
    return sum_by_team(teams, event.weight * rows.rating), jnp.where(teams.size > 0, sum_by_team(teams, square), 1.0)


def summary(params: Params, rows: State) -> Rating:
    del params
    return Rating(rows.rating, jnp.sqrt(rows.variance))


def depends_on_elapsed_time(params: Params) -> bool:
    """Whether elapsed time counts."""
    return any(x is not None for x in (params.drift, params.reversion, params.season_keep))
