"""Codeforces, in the form of Ebtekar and Liu 2021 (section 6): no rounding, no correction of inflation.

With C = pi / sqrt 3 and W the weight of a contest, somebody rated x among its participants expects the rank

    R(x) = 1/2 + sum_j 1 / (1 + exp(-C sqrt(W) (r_j - x) / beta))

over all of them, player i at their own rating included. The performance of i lies where R is the geometric mean of the
rank (of a tie, in its middle) and of the expected one, R(perf) = sqrt(rank_i R(r_i)). The rating moves there by v =
weight W:

    r_i <- (r_i + v perf) / (1 + v)
"""

from functools import partial
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import POSITIVE, RATING, Parameter
from jaxrate.core.rules import Params, keep_rows, prepare_params
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.events import Matches, Rounds
from jaxrate.numerics import selective_evaluation
from jaxrate.systems.rounds import cdf_sums, expected_wins, performance_inference
from jaxrate.systems.rounds.cdf_sums import Participants
from jaxrate.systems.rounds.round_teams import check_match_results, make_contest_rules, match_as_contest

TABLE_POINTS = 72  # of the tables, in float32: ratings lie the further apart the larger beta is


class State(NamedTuple):
    rating: Array  # [num_players] points


def init(params: Params, num_players: int) -> State:
    return State(full_leaf(num_players, params.initial_rating))


def expected_counts_below_and_above(
    params: Params, rows: State, event: Rounds
) -> tuple[cdf_sums.SumFunction, cdf_sums.InverseFunction, Participants, Array, Array]:
    """How many participants are expected below and above a rating; and, at each one's own, the same two."""
    mask, rating = cdf_sums.participant_mask(event), rows.rating
    scale = params.beta / (cdf_sums.LOGISTIC.deviation * jnp.sqrt(cdf_sums.participant_weights(event)))
    gain = mask.astype(scale.dtype)
    widest = jnp.max(jnp.where(mask, scale, 0.0))
    ends = cdf_sums.rating_interval(rating, widest * jnp.log(4.0 * jnp.sum(gain) + 4.0), mask)
    unit = cdf_sums.rating_rounding_unit(gain / scale)
    participants = Participants(rating, 1.0 / scale, gain, *ends, unit, event.present)
    table_points = cdf_sums.scale_table_points_to_precision(TABLE_POINTS)
    sums, inverse, _ = cdf_sums.make_cdf_sum_functions(cdf_sums.logistic_cdf_and_density, participants, table_points)
    both = selective_evaluation.map_row_tiles(
        lambda x: jnp.stack([sums(x, side)[0] for side in (True, False)], axis=1), event.present, rating
    )
    if len(rating) > cdf_sums.max_pairwise_participants():
        both = selective_evaluation.evaluate_rows_where_needed(
            mask & cdf_sums.is_table_too_coarse(participants, table_points),
            _direct_expected_counts_below_and_above,
            participants,
            both,
        )
    below, above = jnp.clip(both, 0.5, jnp.maximum(jnp.sum(gain) - 0.5, 0.5)).T
    return sums, inverse, participants, below, above


def _direct_expected_counts_below_and_above(indices: Array, participants: Participants) -> Array:
    """[R, 2] how many are expected below and above some of them."""
    sums = partial(cdf_sums.direct_cdf_sums, cdf_sums.logistic_cdf_and_density, participants)
    return jnp.stack([sums(participants.centre[indices], side)[0] for side in (True, False)], axis=1)


def predict_match(params: Params, rows: State, match: Matches) -> Array:
    """The probability that player 0 does better."""
    weight = cdf_sums.participant_weights(match_as_contest(match))[0]
    lead = rows.rating[0] - rows.rating[1]
    return jax.nn.sigmoid(cdf_sums.LOGISTIC.deviation * jnp.sqrt(weight) * lead / params.beta)


def predict(params: Params, rows: State, event: Rounds) -> Array:
    """The share of the others that each is expected to beat."""
    mask = cdf_sums.participant_mask(event)
    *_, below, above = expected_counts_below_and_above(params, rows, event)
    is_below = below < above
    wins, _ = cdf_sums.counts_excluding_self(is_below, jnp.where(is_below, below, above), mask)
    return expected_wins.expected_win_share(wins, mask)


def infer(
    skip_ties: bool, params: Params, rows: State, event: Rounds
) -> tuple[State, performance_inference.Performances]:
    """Find the performances, and move towards them."""
    sums, inverse, participants, below, above = expected_counts_below_and_above(params, rows, event)
    mask, count = cdf_sums.participant_mask(event), jnp.maximum(jnp.sum(participants.gain), 1.0)
    rank = event.rank.astype(below.dtype) + 0.5 * cdf_sums.tied_group_sizes(event).astype(below.dtype) + 0.5
    rank = jnp.where(mask, rank, 1.0)
    # sqrt(rank R) = 1/2 + the number above, and = count + 1/2 - the number below, of which the smaller one is used.
    missing = 1.0 - rank / count, (below - 0.5) / count
    share = missing[0] + missing[1] - missing[0] * missing[1]
    share = jnp.where(mask, share, 0.0)
    few = 0.5 + count * share / (1.0 + jnp.sqrt(jnp.maximum(1.0 - share, 1e-30)))  # above 0 for its slope
    many = jnp.sqrt(rank * (above + 0.5)) - 0.5
    target = jnp.where(few < many, few, many)
    ratio = jnp.log(target) - jnp.log(jnp.maximum(count - target, 0.0))

    def perform(from_below: Array, target: Array, ratio: Array, mask: Array) -> Array:
        guess = inverse(jnp.where(from_below, ratio, -ratio))
        return performance_inference.solve_ratings_for_target_sums(sums, from_below, target, guess, mask, participants)

    p = selective_evaluation.map_row_tiles(perform, event.present, few < many, target, ratio, mask)
    if len(p) > cdf_sums.max_pairwise_participants():
        coarse = cdf_sums.is_table_too_coarse(participants, cdf_sums.scale_table_points_to_precision(TABLE_POINTS))
        p = selective_evaluation.evaluate_rows_where_needed(
            mask & coarse, _exact_performances, participants, few < many, target, p
        )
    needed = performance_inference.worst_rank_with_limited_weight_ahead(above - 0.5, participants.gain, event)
    performances = performance_inference.apply_rating_ceiling(p, rows.rating, needed, event)
    share = jax.nn.sigmoid(jnp.log(params.weight * cdf_sums.participant_weights(event)))  # v / (1 + v) of any v
    rating = rows.rating + share * (performances.performance - rows.rating)
    return State(jnp.where(cdf_sums.is_rated_contest(event, skip_ties), rating, rows.rating)), performances


def _exact_performances(indices: Array, participants: Participants, from_below: Array, target: Array) -> Array:
    """[R] the performances of some, from all [P]."""
    sums = partial(cdf_sums.direct_cdf_sums, cdf_sums.logistic_cdf_and_density, participants)
    columns = from_below[indices], target[indices], participants.centre[indices], jnp.ones_like(indices, bool)
    return performance_inference.solve_ratings_for_target_sums(sums, *columns, participants)


@system_factory
def codeforces(
    skip_ties: bool = False,
    *,
    beta: Annotated[
        float, Parameter(POSITIVE, "points", "deviation of the difference of two performances")
    ] = 315.08922206661885,
    weight: Annotated[float, Parameter(POSITIVE, "1", "what a contest counts against the rating before it")] = 1.0,
    initial_rating: Annotated[float, RATING] = 1500.0,
) -> RatingSystem:
    """Codeforces, of rounds, and of matches as contests of two: won, lost or drawn.

        jr.run(jr.codeforces(), rounds)

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
        check_events=bind(check_match_results, "codeforces"),
        padding_skipped_above=0,
        settings={"skip_ties": skip_ties},
    )
