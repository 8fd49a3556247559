"""The teams of a round, in the order of the standing: what systems of teams ask of it.

Players in several teams of one contest, as a constructor with two cars: what their seats say of the one skill.

The performances of a player in their teams are independent, given the skill. So each seat adds a factor to the belief
about that, a Gaussian one, and the factors multiply: with the precision 1 / s^2 before the contest, and 1 / (k s^2) and
the mean mu + d as one seat alone would leave them,

    1 / sigma^2 = (1 + sum (1 / k - 1)) / s^2,   (mean - mu) / sigma^2 = sum d / (k s^2)

This is approximate in one way. Each factor is that which the contest would have if the other seats were other players
of the same strength: what one seat says does not enter the others, and teams that share a player perform independently
of each other. So a player whose two teams meet seems to learn something from that, where their skill cancels.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.rules import AdvanceRule, Constants, InferRule, PredictRule, PrepareRule, RuleByKind, Rules, State
from jaxrate.events import LAST_ID, Matches, Rounds
from jaxrate.events.column_checks import fail_where
from jaxrate.systems.rounds.cdf_sums import max_pairwise_participants, max_simultaneous_pairs, participant_mask


def merge_multi_team_evidence(event: Rounds, mean_change: Array, variance_share_kept: Array) -> tuple[Array, Array]:
    """The evidence of all seats of a player, in each row [P]: change of the mean, share of the variance kept."""
    if event.seat is None:
        return mean_change, variance_share_kept
    information = event.combine_by_player(1.0 / variance_share_kept - 1.0)
    pull = event.combine_by_player(mean_change / variance_share_kept)
    return pull / (1.0 + information), 1.0 / (1.0 + information)


def make_contest_rules(
    prepare: PrepareRule, advance: AdvanceRule, predict: PredictRule, predict_match: PredictRule, infer: InferRule
) -> Rules:
    """The rules of contests that also rate a match, as a contest of two; `infer` gives the new rows, and what else."""
    infer = RuleByKind(bind(_infer_from_match, infer), rounds=infer)
    return Rules(prepare, advance, RuleByKind(predict_match, rounds=predict), bind(_update_by_inference, infer), infer)


def _update_by_inference(infer: InferRule, constants: Constants, rows: State, event: Matches | Rounds) -> State:
    return infer(constants, rows, event)[0]


def _infer_from_match(infer: InferRule, constants: Constants, rows: State, match: Matches) -> tuple[State, Any]:
    return infer(constants, rows, match_as_contest(match))


def match_as_contest(match: Matches) -> Rounds:
    """The contest of two that a match is."""
    rank = jnp.stack([match.score < 0.5, match.score > 0.5]).astype(jnp.int32)
    one = jnp.ones_like(match.score) if match.context.weight is None else match.context.weight
    return Rounds(match.player, rank, jnp.arange(2, dtype=jnp.int32), jnp.stack([one, one]), match.time, solo=one)


def check_match_results(system: str, events: Any) -> None:
    """ValueError for matches that are no win, draw or loss, which alone are ranks; names the row."""
    if type(events) is Matches:
        score = np.asarray(events.score)

        def say(row: int) -> str:
            return (
                f"{system} ranks the two players of a match, and score {score[row]} is no win, draw or loss: 1, 0.5, 0"
            )

        fail_where((score != 0.0) & (score != 0.5) & (score != 1.0), say)


class Teams(NamedTuple):
    """Teams [T] from the first to the last, those who tie by their numbers; behind them padding, teams of nobody."""

    of: Array  # [P] which of them each participant is in; of padding any
    size: Array  # [T] its players; 0: padding
    rank: Array  # [T] the number of teams strictly better
    member: Array | None  # [T, P] whether a participant is in a team; None in large rounds


def teams_by_standing(event: Rounds) -> Teams:
    """The teams of a round."""
    teams, count, mask = teams_with_result_hidden(event), len(event.rank), participant_mask(event)
    most = len(teams.size)
    number = jnp.arange(most, dtype=jnp.int32)
    if teams.member is not None:
        rank = jnp.min(jnp.where(teams.member & mask[None, :], event.rank[None, :], count), axis=1)
        better = rank[:, None] < rank[None, :]
        ahead = better | ((rank[:, None] == rank[None, :]) & (number[:, None] < number[None, :]))
        place = jnp.sum(ahead, axis=0, dtype=jnp.int32)
        moved = place[None, :] == number[:, None]  # [T, T] whether a team (second axis) stands in a place

        def move(x: Array) -> Array:
            return jnp.sum(jnp.where(moved, x[None, :], 0), axis=1, dtype=jnp.int32)

        of = place[teams.of]
        size, rank = move(teams.size), move(jnp.sum(better, axis=0, dtype=jnp.int32))
        return Teams(of, size, rank, of[None, :] == number[:, None])
    rank = jnp.full(most, count, jnp.int32).at[teams.of].min(jnp.where(mask, event.rank, count))
    if (count + 1) * most <= LAST_ID:  # sorting one array is four times as fast as sorting two
        key = jnp.sort(rank * most + number)
        rank, team = key // most, key % most
    else:
        rank, team = lax.sort((rank, number), num_keys=2)
    new = (rank != jnp.roll(rank, 1)).at[0].set(True)
    place = jnp.zeros(most, jnp.int32).at[team].set(number)
    return Teams(place[teams.of], teams.size[team], lax.cummax(jnp.where(new, number, 0)), None)


def teams_with_result_hidden(event: Rounds) -> Teams:
    """Teams in the order of their numbers, which does not tell the result; all have rank 0."""
    count = len(event.rank)
    most = count if event.teams is None else len(event.teams)
    number = jnp.arange(most, dtype=jnp.int32)
    of = jnp.minimum(event.team, most - 1)
    member = of[None, :] == number[:, None] if count <= max_pairwise_participants() else None
    teams = Teams(of, number, jnp.zeros_like(number), member)
    return teams._replace(size=sum_by_team(teams, participant_mask(event).astype(jnp.int32)))


def scale_performance_noise(constants: Any, event: Any) -> Any:
    """Constants whose `noise`, a variance, is that of performances in an event of weight w: noise times w^-1/2."""
    factor = getattr(event, "noise", None)
    return constants if factor is None else constants._replace(noise=constants.noise * factor**2)


def gather_team_values_to_members(teams: Teams, values: Array) -> Array:
    """[P] for the participants what values [T] say of their teams."""
    if teams.member is None or max_simultaneous_pairs():
        return values[teams.of]
    # As a product, for whose factors XLA works out the values once, and otherwise again for every participant.
    return jnp.dot(values, teams.member.astype(values.dtype), precision=lax.Precision.HIGHEST)


def sum_by_team(teams: Teams, values: Array) -> Array:
    """[T] the sums by team of values [P] of the participants, which are 0 for padding."""
    if teams.member is None:
        return jnp.zeros(len(teams.size), values.dtype).at[teams.of].add(values)
    return jnp.sum(jnp.where(teams.member, values[None, :], jnp.zeros_like(values)), axis=1, dtype=values.dtype)
