"""Games of urns, proposed in batches: the same games as one by one."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.systems.urnings.state_and_prediction import Constants, State, score_probabilities
from jaxrate.systems.urnings.system import (
    acceptance_correction,
    draw_mock_score,
    unnormalised_simulated_score_probabilities,
)
from jaxrate.urns.matchmakers import Matchmaker, UrnSimilarityTables, count_urn_values, full_precision_matmul

TRIES_PER_STEP = 32  # proposals in a batch


TRIES_PER_CHUNK = 1 << 13  # proposals whose random numbers are drawn at once, at most


MAX_MOVE_EFFECT = 8.0  # f is from 0 to 1, so this bounds the effect of one move on another's change of S


class UrnGameRules(NamedTuple):
    """The static rules of games."""

    variant: str
    proposes_pairs: bool  # whether pairs are proposed in batches, or picked by the matchmaker
    corrected: bool
    matchmaker: Matchmaker
    width: int = TRIES_PER_STEP


class ProposedPairs(NamedTuple):
    """Proposed pairs and their uniform random numbers; leaves [...]."""

    first: Array
    second: Array
    play_uniform: Array
    score_uniform: Array
    mock_uniform: Array
    move_uniform: Array


def draw_true_score(constants: Constants, lead: Array, uniform: Array) -> Array:
    """Draw the score X of a real game, from the difference of true logits."""
    return draw_mock_score(score_probabilities(constants, lead), uniform)


def play_in_batches(
    rule: UrnGameRules, games: int, constants: Constants, skill: Array, table: Any, state: State, key: Array
) -> State:
    """Play this many games, in chunks of proposals."""
    size = min(TRIES_PER_CHUNK, 1 << (2 * games).bit_length())

    def play_chunk(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        number, left, state, count = carry
        proposals = _draw_proposals(jax.random.fold_in(key, number), size, len(skill), rule.width)

        def play_step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
            start, left, state, count = carry
            batch = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, start, rule.width), proposals)
            done, played, state, count = _play_batch(rule, constants, skill, table, state, count, batch, left)
            return start + done, left - played, state, count

        start = jnp.int32(0), left, state, count
        _, left, state, count = lax.while_loop(lambda x: (x[0] < size) & (x[1] > 0), play_step, start)
        return number + 1, left, state, count

    count = count_urn_values(table, state) if isinstance(table, UrnSimilarityTables) else None
    carry = jnp.uint32(0), jnp.int32(games), state, count
    return lax.while_loop(lambda x: x[1] > 0, play_chunk, carry)[2]


def _draw_proposals(key: Array, size: int, num_players: int, width: int) -> ProposedPairs:
    """[size + width] proposals, of which the last `width` are padding."""
    bits = jax.random.bits(key, (6, size), jnp.uint32)
    u = (bits >> 8).astype(jnp.result_type(float)) * 2.0**-24
    u = jnp.pad(u, ((0, 0), (0, width)), constant_values=1.0)
    one = (u[0] * num_players).astype(jnp.int32)
    two = (u[1] * (num_players - 1)).astype(jnp.int32)
    return ProposedPairs(one, two + (two >= one).astype(jnp.int32), *u[2:])


def _play_batch(
    rule: UrnGameRules,
    constants: Constants,
    skill: Array,
    similarity: Any,
    state: State,
    count: Any,
    batch: ProposedPairs,
    games_left: Array,
) -> tuple[Array, Array, State, Any]:
    """The number of proposals that were decided, of games that were played, and the urns after them."""
    order = np.arange(rule.width, dtype=np.int32)
    first, second = (jax.tree.map(lambda x: x[k], state) for k in (batch.first, batch.second))  # noqa: B023

    def play_pair(
        first: State, second: State, lead: Array, score_uniform: Array, mock_uniform: Array
    ) -> tuple[Array, Array]:
        x = draw_true_score(constants, lead, score_uniform)
        gain = x - draw_mock_score(
            unnormalised_simulated_score_probabilities(rule.variant, constants, first, second, x), mock_uniform
        )
        return gain, jnp.asarray(acceptance_correction(rule.variant, constants, first, second, gain), lead.dtype)

    gain, acceptance = jax.vmap(play_pair)(
        first, second, skill[batch.first] - skill[batch.second], batch.score_uniform, batch.mock_uniform
    )
    plays, is_doubtful = batch.play_uniform < 1.0, jnp.zeros(rule.width, bool)
    moves = plays & (gain != 0) & (batch.move_uniform < acceptance)
    if count is not None:
        a, b = similarity.first[batch.first] + first.green, similarity.first[batch.second] + second.green
        f = similarity.table[a, b]
        plays = batch.play_uniform < f
        moves = moves & plays
        if rule.corrected:
            change, total = _total_similarity_changes(similarity, count, a, b, gain)
            bound = batch.move_uniform * (1.0 + change / total)
            ratio = acceptance * similarity.table[a + gain, b - gain] / jnp.where(plays, f, 1.0)
            moves = plays & (gain != 0) & (bound < ratio)
            is_doubtful = (
                plays
                & (gain != 0)
                & (abs(bound - ratio) <= batch.move_uniform * _bound_earlier_moves_error(moves, change, total))
            )
    shares_player = [x[:, None] == y[None, :] for x in (batch.first, batch.second) for y in (batch.first, batch.second)]
    moved_earlier = moves[None, :] & (order[None, :] < order[:, None])
    is_stale = jnp.any(
        (shares_player[0] | shares_player[1] | shares_player[2] | shares_player[3]) & moved_earlier, axis=1
    )
    is_undecided = is_stale | is_doubtful
    done = jnp.where(jnp.any(is_undecided), jnp.argmax(is_undecided).astype(jnp.int32), rule.width)
    done = jnp.minimum(done, jnp.sum(jnp.cumsum(plays, dtype=jnp.int32) <= games_left, dtype=jnp.int32))
    applied_gain = jnp.where(moves & (done > order), gain, 0)
    state = state._replace(green=state.green.at[batch.first].add(applied_gain).at[batch.second].add(-applied_gain))
    if count is not None:
        weight = (applied_gain != 0).astype(count.dtype)
        values = jnp.concatenate([a, b, a + applied_gain, b - applied_gain])
        count = count.at[values].add(jnp.concatenate([-weight, -weight, weight, weight]))
    return done, jnp.sum(plays & (done > order), dtype=jnp.int32), state, count


def _total_similarity_changes(
    similarity: UrnSimilarityTables, count: Array, a: Array, b: Array, gain: Array
) -> tuple[Array, Array]:
    """[width] the change of S by each move, and S, for values a and b of the urns."""
    near = full_precision_matmul(similarity.table_of_others, count)
    total = 0.5 * (full_precision_matmul(count, near) + jnp.sum(count * (count - 1.0)))
    near = near + count
    ends = jnp.stack([a, a + gain, b, b - gain])
    sign = np.array([-1.0, 1.0, -1.0, 1.0], np.float32).astype(count.dtype)
    own = similarity.table[ends[:, None], ends[None, :]] * (sign[:, None] * sign[None, :])[:, :, None]
    return full_precision_matmul(sign, near[ends]) + 0.5 * jnp.sum(own, axis=(0, 1)), total


def _bound_earlier_moves_error(moves: Array, change: Array, total: Array) -> Array:
    """[width] a bound on the effect of earlier moves on (change of S) / S, plus rounding; 0 without earlier moves."""

    def exclusive_sum(x: Array) -> Array:
        return jnp.cumsum(x) - x

    number = exclusive_sum(moves.astype(change.dtype))
    drift = exclusive_sum(jnp.where(moves, abs(change) + MAX_MOVE_EFFECT * number, 0.0))
    least_total = jnp.maximum(total - drift, 0.0)
    error = (MAX_MOVE_EFFECT * number + abs(change) * drift / total) / jnp.where(least_total > 0, least_total, 1.0)
    error = jnp.where(least_total > 0, error, jnp.inf)
    return jnp.where(number > 0, error + 1e-5, 0.0)
