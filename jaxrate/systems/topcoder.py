"""TopCoder, in the form of Ebtekar and Liu 2021 (section 6) and their program.

In a contest of weight w with n participants, of ratings r and volatilities s:

    c = sqrt(mean s^2 + sum (r - mean r)^2 / (n - 1))
    e_i = sum_j Phi(sqrt(w) (r_j - r_i) / hypot(s_j, s_i))
    a_i = how many are better + half of those who tied, i included
    perf_i = r_i + c (Phi^-1(e_i / n) - Phi^-1(a_i / n))

The sum over j counts i as well, by 1/2. In a player's N-th contest q = q_limit + (q_new - q_limit) / N and
v = w q / (1 - q), of which players from 2000 keep 0.9 and those from 2500 keep 0.8:

    t = (r + v perf) / (1 + v),   r <- t, but at most (150 + 1500 / (N + 1)) sqrt(w) q / (.18 + .42 / N) away from r
    s^2 <- (t - r)^2 / v + s^2 / (1 + v)
"""

from typing import Annotated, NamedTuple

import jax.numpy as jnp
from jax.scipy.special import ndtr, ndtri

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import OPEN_UNIT_INTERVAL, POSITIVE, RATING, Parameter
from jaxrate.core.rules import Params, keep_rows, prepare_params
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.events import Matches, Rounds
from jaxrate.numerics import selective_evaluation
from jaxrate.systems.rounds import cdf_sums, expected_wins, performance_inference
from jaxrate.systems.rounds.round_teams import check_match_results, make_contest_rules, match_as_contest

TABLE_POINTS = 160  # of the tables, in float32: volatilities differ much
MIN_VARIANCE = 1e-12  # squared volatility, where the weights would leave none; slopes of chances need as much


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] squared volatility
    games: Array  # [num_players] contests that counted


def init(params: Params, num_players: int) -> State:
    rating, variance = (full_leaf(num_players, x) for x in (params.initial_rating, params.initial_deviation**2))
    return State(rating, variance, full_leaf(num_players, 0, jnp.int32))


def expected_wins_and_losses(rows: State, event: Rounds) -> tuple[Array, Array]:
    """How many others are expected below and above each [P]."""
    deviation = jnp.sqrt(rows.variance / cdf_sums.participant_weights(event))
    mask = cdf_sums.participant_mask(event)
    return expected_wins.expected_normal_wins_and_losses(
        rows.rating, deviation, mask, TABLE_POINTS, count=event.present
    )


def predict_match(_constants: Params, rows: State, match: Matches) -> Array:
    """The probability that player 0 does better."""
    weight = cdf_sums.participant_weights(match_as_contest(match))[0]
    return ndtr((rows.rating[0] - rows.rating[1]) * jnp.sqrt(weight / jnp.sum(rows.variance)))


def predict(_constants: Params, rows: State, event: Rounds) -> Array:
    """The share of the others that each is expected to beat."""
    return expected_wins.expected_win_share(expected_wins_and_losses(rows, event)[0], cdf_sums.participant_mask(event))


def infer(
    skip_ties: bool, constants: Params, rows: State, event: Rounds
) -> tuple[State, performance_inference.Performances]:
    """Find the performances; move towards them, but not too far; learn the volatilities."""
    mask, rating = cdf_sums.participant_mask(event), rows.rating
    gain = mask.astype(rating.dtype)
    count = jnp.maximum(jnp.sum(gain), 1.0)
    mean = jnp.sum(gain * rating) / count
    spread = jnp.sum(gain * (rating - mean) ** 2) / jnp.maximum(count - 1.0, 1.0)
    c = jnp.sqrt(jnp.where(jnp.any(mask), jnp.sum(gain * rows.variance) / count + spread, 1.0))
    below, above = (0.5 + x for x in expected_wins_and_losses(rows, event))
    better, tied = (x.astype(rating.dtype) for x in (event.rank, cdf_sums.tied_group_sizes(event)))
    better = jnp.where(mask, better, 0.0) + 0.5 * tied

    def quantile_difference(above: Array, below: Array, better: Array, mask: Array) -> Array:
        expected = _normal_quantile_of_share(above, below, count, mask)
        return expected - _normal_quantile_of_share(better, count - better, count, mask)

    p = rating + c * selective_evaluation.map_row_tiles(quantile_difference, event.present, above, below, better, mask)
    needed = performance_inference.worst_rank_with_limited_weight_ahead(above - 0.5, gain, event)
    performances = performance_inference.apply_rating_ceiling(p, rating, needed, event)
    p = performances.performance
    weight = cdf_sums.participant_weights(event)
    number = rows.games.astype(rating.dtype) + 1.0
    q = (constants.weight_new + constants.weight_limit * rows.games.astype(rating.dtype)) / number
    kept = weight * jnp.where(rating >= 2500.0, 0.8, jnp.where(rating >= 2000.0, 0.9, 1.0))
    change = kept * q / (1.0 - q + kept * q)  # v / (1 + v), and what is left of it, for any q from 0 to 1
    left = (1.0 - q) / (1.0 - q + kept * q)
    cap = (150.0 + 1500.0 / (number + 1.0)) * jnp.sqrt(weight) * q / (0.18 + 0.42 / number)
    variance = left * (change * (p - rating) ** 2 + rows.variance)
    contested = cdf_sums.is_rated_contest(event, skip_ties)
    state = State(
        jnp.where(contested, rating + jnp.clip(change * (p - rating), -cap, cap), rating),
        jnp.where(contested, jnp.maximum(variance, MIN_VARIANCE), rows.variance),
        rows.games + contested.astype(jnp.int32),
    )
    return state, performances


def _normal_quantile_of_share(part_count: Array, rest_count: Array, total_count: Array, mask: Array) -> Array:
    """Phi^-1 of part / count, by way of the smaller one of a part and the rest."""
    small = jnp.where(mask, jnp.minimum(part_count, rest_count) / total_count, 0.5)
    return jnp.where(part_count < rest_count, 1.0, -1.0) * ndtri(small)


@system_factory
def topcoder(
    skip_ties: bool = False,
    *,
    weight_new: Annotated[
        float, Parameter(OPEN_UNIT_INTERVAL, "1", "share that the first contest has in the rating after it")
    ] = 0.6,
    weight_limit: Annotated[
        float, Parameter(OPEN_UNIT_INTERVAL, "1", "share that a contest has after many others")
    ] = 0.18,
    initial_rating: Annotated[float, RATING] = 1500.0,
    initial_deviation: Annotated[float, Parameter(POSITIVE, "points", "volatility of a newcomer")] = 350.0,
) -> RatingSystem:
    """TopCoder, of rounds, and of matches as contests of two: won, lost or drawn.

        jr.run(jr.topcoder(), rounds)

    Players who play badly on purpose gain volatility, and with it larger changes (the paper's section 5.1).

    Ratings are within 1e-5 points of sums over all pairs, and in float32 within 0.02, however much volatilities differ.
    Rounds of more than 480 players take linear time unless the ratings lie more than about 60 times as far apart as the
    least volatility, or volatilities differ more than 60 times.

    Args:
      skip_ties: contests in which all tie change nothing, as in the program of the paper's authors.

    Raises:
      ValueError: for an unknown name or a value out of range.
    """
    skip_ties = bool(skip_ties)
    return RatingSystem(
        init,
        make_contest_rules(prepare_params, keep_rows, predict, predict_match, bind(infer, skip_ties)),
        (Matches, Rounds),
        check_events=bind(check_match_results, "topcoder"),
        padding_skipped_above=expected_wins.PAIRS_PER_POINT * TABLE_POINTS,  # all pairs of smaller rounds are summed
        settings={"skip_ties": skip_ties},
    )
