"""Timelines: the matches of each player in order of time, end to end in lanes, which are passed over side by side.

Players differ in how many matches they have. Each lane holds those of some players, one after the other, and all lanes
are about as long as the longest timeline, or longer where there would be too many lanes. So a pass takes few steps, and
each step is full.
"""

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.array_types import Array, HostArray
from jaxrate.events import Matches
from jaxrate.replay.padded_states_and_columns import (
    FINE,
    pad_column,
    pad_matches_on_device,
    pad_on_device,
    padded_event_size,
)

MIN_LANES, MAX_LANES = 8, 512  # lanes
FAST_MEMORY_NUMBERS = 1 << 14  # numbers of the covariances of a step


class Timelines(NamedTuple):
    """The node of each player of each match, and the time since their previous match."""

    events: Matches  # [size, ...] in the order of the input, then padding
    games_before: Array  # [2, size] matches played before, by weight
    is_match: Array  # [size] whether it is a match
    node_of_player: Array  # [2, size] the node of each player of a match, of steps x lanes
    participant_at_node: Array  # [steps, lanes] side x size + match; 2 size or more: an empty node
    is_first: Array  # [steps, lanes] whether a timeline begins here; true of empty nodes
    elapsed: Array  # [steps, lanes] time since the match before
    seasons_begun: Array | None  # [steps, lanes] seasons since then; None: there are none
    last_node: Array  # [num_players] the node of each one's last match; steps x lanes: none


class QueryNodes(NamedTuple):
    """Nodes without a match, for all players who have begun by a query time."""

    player: Array  # [some]
    node: Array  # [some] of steps x lanes
    games_before: Array  # [some] matches played before, by weight


def build_timelines(matches: Matches, num_players: int, seasons: Sequence[float], belief_size: int = 1) -> Timelines:
    """The timelines of checked matches; `belief_size` is the size of a player's vector."""
    return build_timelines_with_query_nodes(matches, num_players, seasons, belief_size, -np.inf)[0]


def build_timelines_with_query_nodes(
    matches: Matches, num_players: int, seasons: Sequence[float], belief_size: int, query_time: float
) -> tuple[Timelines, QueryNodes]:
    """The timelines, with a node at the query time for everybody who has begun by then, after matches of that time."""
    n, player = len(matches.score), np.asarray(matches.player)
    size, num_before_query = (
        padded_event_size(max(n, FINE)),
        int(np.searchsorted(matches.time, query_time, side="right")),
    )
    query_players = np.unique(player[:num_before_query])
    player_of_visit = np.concatenate(
        [player.T.ravel(), query_players]
    )  # all first players, all second ones, those at the moment
    match = np.concatenate([np.tile(np.arange(n), 2), np.full(len(query_players), num_before_query - 0.5)])
    participant = np.concatenate([np.arange(n), size + np.arange(n), np.full(len(query_players), 2 * size)])
    weight = np.ones(n) if matches.context.weight is None else np.asarray(matches.context.weight, np.float64)
    time, weights = (
        np.concatenate([x, x, np.full(len(query_players), y)]) for x, y in ((matches.time, query_time), (weight, 0.0))
    )
    order = np.lexsort((match, player_of_visit))
    num_visits = np.bincount(player_of_visit, minlength=num_players)
    first_visit = np.concatenate([[0], np.cumsum(num_visits)])
    lane, start, lanes = _assign_lanes(num_visits, max_lanes(belief_size))
    sorted_player = player_of_visit[order]
    rank = np.arange(len(player_of_visit)) - first_visit[sorted_player]  # the number of the match among the player's
    node_index = (start[sorted_player] + rank) * lanes + lane[sorted_player]
    steps = padded_event_size(max(int((start + num_visits).max(initial=1)), FINE))
    previous_time, visit_time = time[np.where(rank > 0, np.roll(order, 1), order)], time[order]

    def arrange_in_lanes(values: Any, fill: Any) -> HostArray:
        grid = np.full(steps * lanes, fill)
        grid[node_index] = values
        return grid.reshape(steps, lanes)

    def to_match_order(values: HostArray, dtype: Any) -> tuple[HostArray, HostArray]:
        restored = np.empty(len(player_of_visit), dtype)
        restored[order] = values
        return np.stack([pad_column(x, size, 0) for x in restored[: 2 * n].reshape(2, n)]), restored[2 * n :]

    total = np.concatenate([[0.0], np.cumsum(weights[order])])
    games_before, query_games = to_match_order(total[:-1] - total[first_visit[sorted_player]], float)
    node_of_player, query_nodes = to_match_order(node_index, np.int32)
    seasons_begun = None
    if seasons:
        seasons_passed = np.searchsorted(seasons, visit_time, side="right") - np.searchsorted(
            seasons, previous_time, side="right"
        )
        seasons_begun = _to_device_floats(arrange_in_lanes(seasons_passed, 0.0))
    last_node = np.full(num_players, steps * lanes, np.int32)
    active = num_visits > 0
    last_node[active] = node_index[first_visit[1:][active] - 1]
    timelines = Timelines(
        pad_matches_on_device(matches, size),
        _to_device_floats(games_before),
        jax.device_put(np.arange(size) < n),
        jax.device_put(node_of_player),
        jax.device_put(arrange_in_lanes(participant[order], 2 * size).astype(np.int32)),
        jax.device_put(arrange_in_lanes(rank == 0, True)),
        _to_device_floats(arrange_in_lanes(visit_time - previous_time, 0.0)),
        seasons_begun,
        jax.device_put(last_node),
    )
    return timelines, QueryNodes(
        jax.device_put(query_players), jax.device_put(query_nodes), _to_device_floats(query_games)
    )


def truncate_timelines(timelines: Timelines, players: HostArray, num_matches: int) -> Timelines:
    """The timelines with only the first `num_matches` matches counting; `players` [n, 2] are those of all matches."""
    no_node, node_of_player = timelines.participant_at_node.size, np.asarray(timelines.node_of_player)
    last_node = np.full(len(timelines.last_node), -1)
    for side in (0, 1):
        np.maximum.at(
            last_node, players[:num_matches, side], node_of_player[side, :num_matches]
        )  # later matches of a player have later nodes
    last_node = np.where(last_node < 0, no_node, last_node).astype(np.int32)
    return timelines._replace(
        is_match=jax.device_put(np.arange(node_of_player.shape[1]) < num_matches), last_node=jax.device_put(last_node)
    )


def _to_device_floats(x: HostArray) -> Array:
    return pad_on_device(x, len(x), 0)


def max_lanes(belief_size: int) -> int:
    """The most lanes: on a CPU, those whose covariances fit into its fastest memory; elsewhere many more."""
    if jax.default_backend() != "cpu":
        return 1 << 14
    return (
        min(1 << (FAST_MEMORY_NUMBERS // belief_size**2).bit_length() - 1, MAX_LANES)
        if belief_size**2 < FAST_MEMORY_NUMBERS // MIN_LANES
        else MIN_LANES
    )


def _assign_lanes(matches_per_player: HostArray, lane_limit: int) -> tuple[HostArray, HostArray, int]:
    """The lane of each player, where in it they begin, and the number of lanes.

    Longer timelines are assigned first, each to the emptiest lane.
    """
    lanes = int(np.clip(matches_per_player.sum() // max(matches_per_player.max(initial=1), 1), MIN_LANES, lane_limit))
    lanes = min(padded_event_size(lanes), lane_limit)
    order = np.argsort(-matches_per_player, kind="stable")[: np.count_nonzero(matches_per_player)]
    emptiest, assigned = [(0, i) for i in range(lanes)], []
    for length in matches_per_player[order].tolist():
        lane_length, i = emptiest[0]
        assigned.append((i, lane_length))
        heapq.heapreplace(emptiest, (lane_length + length, i))
    assignments = np.zeros((len(matches_per_player), 2), int)
    assignments[order] = np.reshape(assigned, (-1, 2))
    return assignments[:, 0], assignments[:, 1], lanes
