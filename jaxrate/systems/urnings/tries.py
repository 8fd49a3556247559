"""Games of urns, many tries at once: the same games as one by one."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.events import Array
from jaxrate.systems.urnings.matchmakers import Likeness, Matchmaker, counts
from jaxrate.systems.urnings.model import Constants, State, chances
from jaxrate.systems.urnings.system import correction, draw, mock

WIDTH = 32  # tries at once


CHUNK = 1 << 13  # tries whose random numbers are made at once, if so many games are asked for


REACH = 8.0  # f is from 0 to 1, so this bounds what one move changes of what another one changes of S


class Rule(NamedTuple):
    """What is static of a game."""

    variant: str
    tries: bool  # whether pairs are tried, or picked by the matchmaker
    corrected: bool
    matchmaker: Matchmaker
    width: int = WIDTH


class Tries(NamedTuple):
    """Pairs and their random numbers, each leaf [...]."""

    one: Array
    two: Array
    plays: Array
    score: Array
    mock: Array
    moves: Array


def score_of(constants: Constants, lead: Array, uniform: Array) -> Array:
    """X of a real game, of the difference of true logits."""
    return draw(chances(constants, lead), uniform)


def by_tries(rule: Rule, games: int, constants: Constants, skill: Array, table: Any, state: State, key: Array) -> State:
    """Chunks of tries, until so many games are played."""
    size = min(CHUNK, 1 << (2 * games).bit_length())

    def chunk(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        number, left, state, count = carry
        tries = _tries(jax.random.fold_in(key, number), size, len(skill), rule.width)

        def steps(carry: tuple[Any, ...]) -> tuple[Any, ...]:
            start, left, state, count = carry
            some = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, start, rule.width), tries)
            done, played, state, count = _step(rule, constants, skill, table, state, count, some, left)
            return start + done, left - played, state, count

        more = jnp.int32(0), left, state, count
        _, left, state, count = lax.while_loop(lambda x: (x[0] < size) & (x[1] > 0), steps, more)
        return number + 1, left, state, count

    count = counts(table, state) if isinstance(table, Likeness) else None
    carry = jnp.uint32(0), jnp.int32(games), state, count
    return lax.while_loop(lambda x: x[1] > 0, chunk, carry)[2]


def _tries(key: Array, size: int, num_players: int, width: int) -> Tries:
    """[size + width] of which the last are none."""
    bits = jax.random.bits(key, (6, size), jnp.uint32)
    u = (bits >> 8).astype(jnp.result_type(float)) * 2.0**-24
    u = jnp.pad(u, ((0, 0), (0, width)), constant_values=1.0)
    one = (u[0] * num_players).astype(jnp.int32)
    two = (u[1] * (num_players - 1)).astype(jnp.int32)
    return Tries(one, two + (two >= one).astype(jnp.int32), *u[2:])


def _step(
    rule: Rule, constants: Constants, skill: Array, about: Any, state: State, count: Any, some: Tries, left: Array
) -> tuple[Array, Array, State, Any]:
    """How many tries are done, games played, and the urns after them."""
    order = np.arange(rule.width, dtype=np.int32)
    one, two = (jax.tree.map(lambda x: x[k], state) for k in (some.one, some.two))  # noqa: B023

    def game(one: State, two: State, lead: Array, score: Array, number: Array) -> tuple[Array, Array]:
        x = score_of(constants, lead, score)
        gain = x - draw(mock(rule.variant, constants, one, two, x), number)
        return gain, jnp.asarray(correction(rule.variant, constants, one, two, gain), lead.dtype)

    gain, accept = jax.vmap(game)(one, two, skill[some.one] - skill[some.two], some.score, some.mock)
    plays, doubt = some.plays < 1.0, jnp.zeros(rule.width, bool)
    moves = plays & (gain != 0) & (some.moves < accept)
    if count is not None:
        a, b = about.first[some.one] + one.green, about.first[some.two] + two.green
        f = about.table[a, b]
        plays = some.plays < f
        moves = moves & plays
        if rule.corrected:
            change, total = _change(about, count, a, b, gain)
            bound = some.moves * (1.0 + change / total)
            ratio = accept * about.table[a + gain, b - gain] / jnp.where(plays, f, 1.0)
            moves = plays & (gain != 0) & (bound < ratio)
            doubt = plays & (gain != 0) & (abs(bound - ratio) <= some.moves * _error(moves, change, total))
    same = [x[:, None] == y[None, :] for x in (some.one, some.two) for y in (some.one, some.two)]
    moved = moves[None, :] & (order[None, :] < order[:, None])
    stale = jnp.any((same[0] | same[1] | same[2] | same[3]) & moved, axis=1)
    bad = stale | doubt
    done = jnp.where(jnp.any(bad), jnp.argmax(bad).astype(jnp.int32), rule.width)
    done = jnp.minimum(done, jnp.sum(jnp.cumsum(plays, dtype=jnp.int32) <= left, dtype=jnp.int32))
    kept = jnp.where(moves & (done > order), gain, 0)
    state = state._replace(green=state.green.at[some.one].add(kept).at[some.two].add(-kept))
    if count is not None:
        weight = (kept != 0).astype(count.dtype)
        values = jnp.concatenate([a, b, a + kept, b - kept])
        count = count.at[values].add(jnp.concatenate([-weight, -weight, weight, weight]))
    return done, jnp.sum(plays & (done > order), dtype=jnp.int32), state, count


def _change(about: Likeness, count: Array, a: Array, b: Array, gain: Array) -> tuple[Array, Array]:
    """[width] what each move would change of S, and S, of values a and b of the urns."""
    near = about.apart @ count
    total = 0.5 * (count @ near + jnp.sum(count * (count - 1.0)))
    near = near + count
    ends = jnp.stack([a, a + gain, b, b - gain])
    sign = np.array([-1.0, 1.0, -1.0, 1.0], np.float32).astype(count.dtype)
    own = about.table[ends[:, None], ends[None, :]] * (sign[:, None] * sign[None, :])[:, :, None]
    return sign @ near[ends] + 0.5 * jnp.sum(own, axis=(0, 1)), total


def _error(moves: Array, change: Array, total: Array) -> Array:
    """[width] how far earlier moves may at most bring (change of S) / S, and rounding; 0 without earlier moves."""

    def before(x: Array) -> Array:
        return jnp.cumsum(x) - x

    number = before(moves.astype(change.dtype))
    drift = before(jnp.where(moves, abs(change) + REACH * number, 0.0))
    least = jnp.maximum(total - drift, 0.0)
    error = (REACH * number + abs(change) * drift / total) / jnp.where(least > 0, least, 1.0)
    error = jnp.where(least > 0, error, jnp.inf)
    return jnp.where(number > 0, error + 1e-5, 0.0)
