"""Matchmakers for Urnings: how pairs are picked, and with which probability.

A matchmaker may look at the urns, r_k green balls of n_k, all of them. With

    f_ij = exp(-lambda (l_i - l_j)^2),   l = ln((r + 1) / (n - r + 1))

`uniform_matchmaker` picks any two, `similarity_matchmaker` two with probability f_ij / (sum over all pairs), and
`chooser_matchmaker` first any i, then j with probability f_ij / (sum over k of f_ik). Urns have few distinct values, so
sums go over counts of values, not over pairs of players.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.systems.urnings import State, urn_logit

MAX_URN_VALUES = 4096  # values of urns: rows and columns of the table of similarities

full_precision_matmul = partial(jnp.matmul, precision=lax.Precision.HIGHEST)  # some devices round factors to 10 bits


class Matchmaker(NamedTuple):
    """A matchmaker as pure functions of all urns; your own functions will do."""

    name: str
    table: Callable[[State], Any]  # all that does not depend on green balls; from concrete urns
    pick: Callable[[Any, State, Array], Array]  # (table, state, uniforms [2]) -> [2] the ids of two players
    log_probability: Callable[[Any, State, Array], Array]  # (table, state, [2] ids) -> log probability of this pick


class UrnSimilarityTables(NamedTuple):
    """Similarities of the values of urns; an urn of n balls has n + 1 values."""

    first: Array  # [num_players] int32 number of the value of their urn without green balls
    strength: Array  # [] lambda
    logit: Array  # [V]
    table: Array  # [V, V] f
    table_of_others: Array  # [V, V] f with 0 for equal values


def tabulate_similarity(strength: float, state: State) -> UrnSimilarityTables:
    """The similarities of all values of urns. ValueError for more than `MAX_URN_VALUES` values."""
    sizes, size_index = np.unique(np.asarray(state.size), return_inverse=True)
    starts = np.cumsum(sizes + 1) - sizes - 1
    values = int((sizes + 1).sum())
    if values > MAX_URN_VALUES:
        count = f"{values} values, more than {MAX_URN_VALUES}"
        raise ValueError(f"urns of {len(sizes)} sizes have {count}; take fewer sizes")
    green = np.concatenate([np.arange(n + 1) for n in sizes])
    logits = urn_logit(jnp.asarray(green, jnp.int32), jnp.asarray(np.repeat(sizes, sizes + 1), jnp.int32))
    table = jnp.exp(-strength * (logits[:, None] - logits[None, :]) ** 2)
    table_of_others = jnp.where(jnp.eye(values, dtype=bool), 0.0, table)
    first = jnp.asarray(starts[size_index], jnp.int32)
    return UrnSimilarityTables(first, jnp.asarray(strength, table.dtype), logits, table, table_of_others)


def count_urn_values(similarity: UrnSimilarityTables, state: State) -> Array:
    """[V] the number of urns with each value."""
    return jnp.zeros_like(similarity.logit).at[similarity.first + state.green].add(1.0)


def log_similarity(similarity: UrnSimilarityTables, state: State, pair: Array) -> Array:
    """ln f of a pair."""
    first, second = (similarity.logit[similarity.first[k] + state.green[k]] for k in (pair[0], pair[1]))
    return -similarity.strength * (first - second) ** 2


def similarity_to_others(similarity: UrnSimilarityTables, state: State, player: Array) -> Array:
    """[num_players] f of a player with each other player; 0 with themselves."""
    value = similarity.first + state.green
    f = similarity.table[value[player]][value]
    return jnp.where(jnp.arange(len(f), dtype=jnp.int32) == player, 0.0, f)


def draw_player(weights: Array, uniform: Array) -> Array:
    """Draw a player in proportion to weights [num_players]."""
    total = jnp.cumsum(weights)
    return jnp.sum(uniform * total[-1] >= total[:-1], dtype=jnp.int32)


def pick_uniform_pair(_table: None, state: State, uniforms: Array) -> Array:
    """[2] any two players."""
    num_players = len(state.green)
    first = jnp.floor(uniforms[0] * num_players).astype(jnp.int32)
    second = jnp.floor(uniforms[1] * (num_players - 1)).astype(jnp.int32)
    return jnp.stack([first, second + (second >= first).astype(jnp.int32)])


def log_uniform_pair_probability(_table: None, state: State, _pair: Array) -> Array:
    """The log probability of a pair, which is that of any other."""
    num_players = len(state.green)
    return -jnp.log(jnp.asarray(0.5 * num_players * (num_players - 1), float))


def pick_similar_pair(similarity: UrnSimilarityTables, state: State, uniforms: Array) -> Array:
    """[2] two players in proportion to their similarity."""
    count, value = count_urn_values(similarity, state), similarity.first + state.green
    near = full_precision_matmul(similarity.table_of_others, count) + count - 1.0
    first = draw_player(near[value], uniforms[0])
    return jnp.stack([first, draw_player(similarity_to_others(similarity, state, first), uniforms[1])])


def log_similar_pair_probability(similarity: UrnSimilarityTables, state: State, pair: Array) -> Array:
    """The log probability of a pair by similarity."""
    count = count_urn_values(similarity, state)
    others = full_precision_matmul(count, full_precision_matmul(similarity.table_of_others, count))
    total = 0.5 * (jnp.sum(count * (count - 1.0)) + others)  # of f, over all pairs of players
    return log_similarity(similarity, state, pair) - jnp.log(total)


def pick_pair_by_chooser(similarity: UrnSimilarityTables, state: State, uniforms: Array) -> Array:
    """[2] any player, and the opponent whom they choose by similarity."""
    first = jnp.floor(uniforms[0] * len(state.green)).astype(jnp.int32)
    return jnp.stack([first, draw_player(similarity_to_others(similarity, state, first), uniforms[1])])


def log_chooser_pair_probability(similarity: UrnSimilarityTables, state: State, pair: Array) -> Array:
    """The log probability that the first of a pair is picked and chooses the second."""
    chooser_value = similarity.first[pair[0]] + state.green[pair[0]]
    others = count_urn_values(similarity, state).at[chooser_value].add(-1.0)
    near = full_precision_matmul(similarity.table[chooser_value], others)
    return log_similarity(similarity, state, pair) - jnp.log(near) - jnp.log(jnp.asarray(len(state.green), near.dtype))


def make_no_table(_state: State) -> None:
    """The table of matchmakers that need none, None."""


def uniform_matchmaker() -> Matchmaker:
    """A matchmaker that picks any two players."""
    return Matchmaker("uniform", make_no_table, pick_uniform_pair, log_uniform_pair_probability)


@enforce_argument_annotations
def similarity_matchmaker(strength: float = 2.0) -> Matchmaker:
    """A matchmaker that picks two players in proportion to f, which is 1 for equal urns.

    `strength` is lambda. ValueError if it is below 0.
    """
    return Matchmaker("similar", _bind_strength(strength), pick_similar_pair, log_similar_pair_probability)


@enforce_argument_annotations
def chooser_matchmaker(strength: float = 2.0) -> Matchmaker:
    """A matchmaker by which any player chooses another in proportion to f.

    `strength` is lambda. ValueError if it is below 0.
    """
    return Matchmaker("chooser", _bind_strength(strength), pick_pair_by_chooser, log_chooser_pair_probability)


def _bind_strength(strength: float) -> Callable[[State], UrnSimilarityTables]:
    """`tabulate_similarity` with this strength."""
    check_that(0 <= strength < np.inf, f"the strength of a matchmaker must be at least 0, got {strength}")
    tabulate: Callable[[State], UrnSimilarityTables] = bind(tabulate_similarity, float(strength))
    return tabulate


def log_pair_probability_ratio(matchmaker: Matchmaker, table: Any, state: State, pair: Array, gain: Array) -> Array:
    """ln Q, if the first of the pair gains `gain` green balls from the second."""
    after = state._replace(green=state.green.at[pair].add(jnp.stack([gain, -gain])))
    return matchmaker.log_probability(table, after, pair) - matchmaker.log_probability(table, state, pair)
