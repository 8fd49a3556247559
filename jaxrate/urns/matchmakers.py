"""Who meets whom, as Urnings must know: how to pick a pair, and how probable a pair was.

A matchmaker may look at the urns, r_k green balls of n_k, all of them. With

    f_ij = exp(-lambda (l_i - l_j)^2),   l = ln((r + 1) / (n - r + 1))

`uniform` picks any two, `similar` two with a probability of f_ij / sum over all pairs, and `chooser` first i, anyone,
then j with a probability of f_ij / sum over k of f_ik. The urns have few values between them, so that sums go over
counts of values, not over pairs of players.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import check_arguments
from jaxrate.hashable import bind
from jaxrate.systems.urnings.model import State, urn_logit
from jaxrate.types import Array

MAX_URN_VALUES = 4096  # values of urns; the table of their likeness has so many rows and columns


class Matchmaker(NamedTuple):
    """Pure functions of all urns; one of your own may be made of any."""

    name: str
    table: Callable[[State], Any]  # what does not change with the green balls; from concrete urns
    pick: Callable[[Any, State, Array], Array]  # (table, state, uniforms [2]) -> [2] two players
    log_probability: Callable[[Any, State, Array], Array]  # (table, state, [2] players) -> that of this pick


class UrnSimilarity(NamedTuple):
    """By value: the urns of one size have size + 1 of them, one after the other."""

    first: Array  # [num_players] int32, the value of their urn when it is empty
    strength: Array  # [] lambda
    logit: Array  # [V]
    table: Array  # [V, V] f
    apart: Array  # [V, V] the same with 0 for equal values, of which an urn is no other


def tabulate_similarity(strength: float, state: State) -> UrnSimilarity:
    sizes, which = np.unique(np.asarray(state.size), return_inverse=True)
    starts = np.cumsum(sizes + 1) - sizes - 1
    values = int((sizes + 1).sum())
    if values > MAX_URN_VALUES:
        raise ValueError(
            f"urns of {len(sizes)} sizes have {values} values, more than {MAX_URN_VALUES}; take fewer sizes"
        )
    green = np.concatenate([np.arange(n + 1) for n in sizes])
    each = urn_logit(jnp.asarray(green, jnp.int32), jnp.asarray(np.repeat(sizes, sizes + 1), jnp.int32))
    table = jnp.exp(-strength * (each[:, None] - each[None, :]) ** 2)
    apart = jnp.where(jnp.eye(values, dtype=bool), 0.0, table)
    return UrnSimilarity(jnp.asarray(starts[which], jnp.int32), jnp.asarray(strength, table.dtype), each, table, apart)


def count_urn_values(similarity: UrnSimilarity, state: State) -> Array:
    """[V] how many urns have each value."""
    return jnp.zeros_like(similarity.logit).at[similarity.first + state.green].add(1.0)


def similarity_of_all_pairs(similarity: UrnSimilarity, count: Array) -> Array:
    """The sum of f over all pairs, each once."""
    same = jnp.sum(count * (count - 1.0))
    return 0.5 * (same + count @ (similarity.apart @ count))


def log_similarity(similarity: UrnSimilarity, state: State, pair: Array) -> Array:
    """ln f."""
    one, two = (similarity.logit[similarity.first[k] + state.green[k]] for k in (pair[0], pair[1]))
    return -similarity.strength * (one - two) ** 2


def similarity_to_others(similarity: UrnSimilarity, state: State, player: Array) -> Array:
    """[num_players] f of this player and each other one; 0 with themselves."""
    value = similarity.first + state.green
    f = similarity.table[value[player]][value]
    return jnp.where(jnp.arange(len(f), dtype=jnp.int32) == player, 0.0, f)


def draw_player(weights: Array, uniform: Array) -> Array:
    """The player who is drawn, in proportion to weights [num_players]."""
    total = jnp.cumsum(weights)
    return jnp.sum(uniform * total[-1] >= total[:-1], dtype=jnp.int32)


def pick_uniform(table: None, state: State, uniforms: Array) -> Array:
    del table
    num_players = len(state.green)
    one = jnp.floor(uniforms[0] * num_players).astype(jnp.int32)
    two = jnp.floor(uniforms[1] * (num_players - 1)).astype(jnp.int32)
    return jnp.stack([one, two + (two >= one).astype(jnp.int32)])


def log_uniform_probability(table: None, state: State, pair: Array) -> Array:
    del table, pair
    num_players = len(state.green)
    return -jnp.log(jnp.asarray(0.5 * num_players * (num_players - 1), float))


def pick_similar(similarity: UrnSimilarity, state: State, uniforms: Array) -> Array:
    count, value = count_urn_values(similarity, state), similarity.first + state.green
    near = similarity.apart @ count + count - 1.0
    one = draw_player(near[value], uniforms[0])
    return jnp.stack([one, draw_player(similarity_to_others(similarity, state, one), uniforms[1])])


def log_similar_probability(similarity: UrnSimilarity, state: State, pair: Array) -> Array:
    return log_similarity(similarity, state, pair) - jnp.log(
        similarity_of_all_pairs(similarity, count_urn_values(similarity, state))
    )


def pick_chooser(similarity: UrnSimilarity, state: State, uniforms: Array) -> Array:
    one = jnp.floor(uniforms[0] * len(state.green)).astype(jnp.int32)
    return jnp.stack([one, draw_player(similarity_to_others(similarity, state, one), uniforms[1])])


def log_chooser_probability(similarity: UrnSimilarity, state: State, pair: Array) -> Array:
    mine = similarity.first[pair[0]] + state.green[pair[0]]
    near = similarity.table[mine] @ count_urn_values(similarity, state).at[mine].add(-1.0)
    return log_similarity(similarity, state, pair) - jnp.log(near) - jnp.log(jnp.asarray(len(state.green), near.dtype))


def no_table(state: State) -> None:
    del state


def uniform() -> Matchmaker:
    """Any two players."""
    return Matchmaker("uniform", no_table, pick_uniform, log_uniform_probability)


@check_arguments
def similar(strength: float = 2.0) -> Matchmaker:
    """Two players in proportion to f, which is 1 for equal urns; `strength` is lambda, from 0: ValueError."""
    return Matchmaker(
        "similar", bind(tabulate_similarity, _check_strength(strength)), pick_similar, log_similar_probability
    )


@check_arguments
def chooser(strength: float = 2.0) -> Matchmaker:
    """One player, anyone, picks another in proportion to f; `strength` is lambda, from 0: ValueError."""
    return Matchmaker(
        "chooser", bind(tabulate_similarity, _check_strength(strength)), pick_chooser, log_chooser_probability
    )


def _check_strength(strength: float) -> float:
    if not 0 <= strength < np.inf:
        raise ValueError(f"the strength of a matchmaker must be from 0, got {strength}")
    return float(strength)


def log_pair_probability_ratio(matchmaker: Matchmaker, table: Any, state: State, pair: Array, gain: Array) -> Array:
    """ln Q, if the first of the pair gains so many green balls from the second."""
    after = state._replace(green=state.green.at[pair].add(jnp.stack([gain, -gain])))
    return matchmaker.log_probability(table, after, pair) - matchmaker.log_probability(table, state, pair)
