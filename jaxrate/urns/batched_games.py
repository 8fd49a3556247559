"""Games of urns, many tries at once: the same games as one by one."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.systems.urnings.model import Constants, State, score_probabilities
from jaxrate.systems.urnings.system import acceptance_correction, draw_mock_score, mock_score_weights
from jaxrate.types import Array
from jaxrate.urns.matchmakers import Matchmaker, UrnSimilarity, count_urn_values

TRIES_PER_STEP = 32  # tries at once


TRIES_PER_CHUNK = 1 << 13  # tries whose random numbers are made at once, if so many games are asked for


MAX_MOVE_EFFECT = 8.0  # f is from 0 to 1, so this bounds what one move changes of what another one changes of S


class GameRule(NamedTuple):
    """What is static of a game."""

    variant: str
    tries: bool  # whether pairs are tried, or picked by the matchmaker
    corrected: bool
    matchmaker: Matchmaker
    width: int = TRIES_PER_STEP


class TriedPairs(NamedTuple):
    """Pairs and their random numbers, each leaf [...]."""

    one: Array
    two: Array
    plays: Array
    score: Array
    mock: Array
    moves: Array


def draw_true_score(constants: Constants, lead: Array, uniform: Array) -> Array:
    """X of a real game, of the difference of true logits."""
    return draw_mock_score(score_probabilities(constants, lead), uniform)


def play_in_batches(
    rule: GameRule, games: int, constants: Constants, skill: Array, table: Any, state: State, key: Array
) -> State:
    """Chunks of tries, until so many games are played."""
    size = min(TRIES_PER_CHUNK, 1 << (2 * games).bit_length())

    def chunk(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        number, left, state, count = carry
        tries = _draw_tries(jax.random.fold_in(key, number), size, len(skill), rule.width)

        def steps(carry: tuple[Any, ...]) -> tuple[Any, ...]:
            start, left, state, count = carry
            some = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, start, rule.width), tries)
            done, played, state, count = _play_batch(rule, constants, skill, table, state, count, some, left)
            return start + done, left - played, state, count

        more = jnp.int32(0), left, state, count
        _, left, state, count = lax.while_loop(lambda x: (x[0] < size) & (x[1] > 0), steps, more)
        return number + 1, left, state, count

    count = count_urn_values(table, state) if isinstance(table, UrnSimilarity) else None
    carry = jnp.uint32(0), jnp.int32(games), state, count
    return lax.while_loop(lambda x: x[1] > 0, chunk, carry)[2]


def _draw_tries(key: Array, size: int, num_players: int, width: int) -> TriedPairs:
    """[size + width] of which the last are none."""
    bits = jax.random.bits(key, (6, size), jnp.uint32)
    u = (bits >> 8).astype(jnp.result_type(float)) * 2.0**-24
    u = jnp.pad(u, ((0, 0), (0, width)), constant_values=1.0)
    one = (u[0] * num_players).astype(jnp.int32)
    two = (u[1] * (num_players - 1)).astype(jnp.int32)
    return TriedPairs(one, two + (two >= one).astype(jnp.int32), *u[2:])


def _play_batch(
    rule: GameRule,
    constants: Constants,
    skill: Array,
    similarity: Any,
    state: State,
    count: Any,
    batch: TriedPairs,
    left: Array,
) -> tuple[Array, Array, State, Any]:
    """How many tries are done, games played, and the urns after them."""
    order = np.arange(rule.width, dtype=np.int32)
    one, two = (jax.tree.map(lambda x: x[k], state) for k in (batch.one, batch.two))  # noqa: B023

    def game(one: State, two: State, lead: Array, score: Array, number: Array) -> tuple[Array, Array]:
        x = draw_true_score(constants, lead, score)
        gain = x - draw_mock_score(mock_score_weights(rule.variant, constants, one, two, x), number)
        return gain, jnp.asarray(acceptance_correction(rule.variant, constants, one, two, gain), lead.dtype)

    gain, accept = jax.vmap(game)(one, two, skill[batch.one] - skill[batch.two], batch.score, batch.mock)
    plays, doubt = batch.plays < 1.0, jnp.zeros(rule.width, bool)
    moves = plays & (gain != 0) & (batch.moves < accept)
    if count is not None:
        a, b = similarity.first[batch.one] + one.green, similarity.first[batch.two] + two.green
        f = similarity.table[a, b]
        plays = batch.plays < f
        moves = moves & plays
        if rule.corrected:
            change, total = _similarity_change(similarity, count, a, b, gain)
            bound = batch.moves * (1.0 + change / total)
            ratio = accept * similarity.table[a + gain, b - gain] / jnp.where(plays, f, 1.0)
            moves = plays & (gain != 0) & (bound < ratio)
            doubt = plays & (gain != 0) & (abs(bound - ratio) <= batch.moves * _change_error(moves, change, total))
    same = [x[:, None] == y[None, :] for x in (batch.one, batch.two) for y in (batch.one, batch.two)]
    moved = moves[None, :] & (order[None, :] < order[:, None])
    stale = jnp.any((same[0] | same[1] | same[2] | same[3]) & moved, axis=1)
    bad = stale | doubt
    done = jnp.where(jnp.any(bad), jnp.argmax(bad).astype(jnp.int32), rule.width)
    done = jnp.minimum(done, jnp.sum(jnp.cumsum(plays, dtype=jnp.int32) <= left, dtype=jnp.int32))
    kept = jnp.where(moves & (done > order), gain, 0)
    state = state._replace(green=state.green.at[batch.one].add(kept).at[batch.two].add(-kept))
    if count is not None:
        weight = (kept != 0).astype(count.dtype)
        values = jnp.concatenate([a, b, a + kept, b - kept])
        count = count.at[values].add(jnp.concatenate([-weight, -weight, weight, weight]))
    return done, jnp.sum(plays & (done > order), dtype=jnp.int32), state, count


def _similarity_change(similarity: UrnSimilarity, count: Array, a: Array, b: Array, gain: Array) -> tuple[Array, Array]:
    """[width] what each move would change of S, and S, of values a and b of the urns."""
    near = similarity.apart @ count
    total = 0.5 * (count @ near + jnp.sum(count * (count - 1.0)))
    near = near + count
    ends = jnp.stack([a, a + gain, b, b - gain])
    sign = np.array([-1.0, 1.0, -1.0, 1.0], np.float32).astype(count.dtype)
    own = similarity.table[ends[:, None], ends[None, :]] * (sign[:, None] * sign[None, :])[:, :, None]
    return sign @ near[ends] + 0.5 * jnp.sum(own, axis=(0, 1)), total


def _change_error(moves: Array, change: Array, total: Array) -> Array:
    """[width] how far earlier moves may at most bring (change of S) / S, and rounding; 0 without earlier moves."""

    def before(x: Array) -> Array:
        return jnp.cumsum(x) - x

    number = before(moves.astype(change.dtype))
    drift = before(jnp.where(moves, abs(change) + MAX_MOVE_EFFECT * number, 0.0))
    least = jnp.maximum(total - drift, 0.0)
    error = (MAX_MOVE_EFFECT * number + abs(change) * drift / total) / jnp.where(least > 0, least, 1.0)
    error = jnp.where(least > 0, error, jnp.inf)
    return jnp.where(number > 0, error + 1e-5, 0.0)
