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

from jaxrate.events import Matches
from jaxrate.replay.padded_arrays import FINE, pad_column, pad_matches_on_device, pad_on_device, padded_event_size
from jaxrate.types import Array, HostArray

MIN_LANES, WIDEST_LANES = 8, 512  # lanes
FAST_MEMORY_NUMBERS = 1 << 14  # numbers of the covariances of a step


class Timelines(NamedTuple):
    """Where each player of each match stands, and how long it is since their match before."""

    events: Matches  # [size, ...] in the order of the input; those past the matches are nobody's
    games: Array  # [2, size] matches played before, by weight
    real: Array  # [size] whether it is a match
    place: Array  # [2, size] where each player of a match stands, of steps x lanes
    node: Array  # [steps, lanes] who stands there: side x size + match; 2 size or more: nobody
    first: Array  # [steps, lanes] whether a timeline begins here; where nobody stands it does
    elapsed: Array  # [steps, lanes] time since the match before
    begun: Array | None  # [steps, lanes] seasons since then; None: there are none
    last: Array  # [num_players] where the last match of each stands; steps x lanes: nowhere


class QueryNodes(NamedTuple):
    """All who have begun by some moment, who then stand in their timelines without a match."""

    player: Array  # [some]
    place: Array  # [some] of steps x lanes
    games: Array  # [some] matches played before, by weight


def build_timelines(matches: Matches, num_players: int, seasons: Sequence[float], belief_size: int = 1) -> Timelines:
    """The timelines of checked matches, of players who are vectors of this size."""
    return timelines_at_moment(matches, num_players, seasons, belief_size, -np.inf)[0]


def timelines_at_moment(
    matches: Matches, num_players: int, seasons: Sequence[float], belief_size: int, moment: float
) -> tuple[Timelines, QueryNodes]:
    """The same, with everybody who has begun by a moment, as they are after their matches of that very time."""
    n, player = len(matches.score), np.asarray(matches.player)
    size, begun_by = padded_event_size(max(n, FINE)), int(np.searchsorted(matches.time, moment, side="right"))
    query_players = np.unique(player[:begun_by])
    side = np.concatenate([player.T.ravel(), query_players])  # all first players, all second ones, those at the moment
    match = np.concatenate([np.tile(np.arange(n), 2), np.full(len(query_players), begun_by - 0.5)])
    node = np.concatenate([np.arange(n), size + np.arange(n), np.full(len(query_players), 2 * size)])
    weight = np.ones(n) if matches.context.weight is None else np.asarray(matches.context.weight, np.float64)
    time, counts = (
        np.concatenate([x, x, np.full(len(query_players), y)]) for x, y in ((matches.time, moment), (weight, 0.0))
    )
    order = np.lexsort((match, side))
    count = np.bincount(side, minlength=num_players)
    begin = np.concatenate([[0], np.cumsum(count)])
    lane, start, lanes = _assign_lanes(count, max_lanes(belief_size))
    sorted_player = side[order]
    rank = np.arange(len(side)) - begin[sorted_player]  # the number of the match among the player's
    where = (start[sorted_player] + rank) * lanes + lane[sorted_player]
    steps = padded_event_size(max(int((start + count).max(initial=1)), FINE))
    since, until = time[np.where(rank > 0, np.roll(order, 1), order)], time[order]

    def in_lanes(values: Any, fill: Any) -> HostArray:
        grid = np.full(steps * lanes, fill)
        grid[where] = values
        return grid.reshape(steps, lanes)

    def by_match(values: HostArray, dtype: Any) -> tuple[HostArray, HostArray]:
        found = np.empty(len(side), dtype)
        found[order] = values
        return np.stack([pad_column(x, size, 0) for x in found[: 2 * n].reshape(2, n)]), found[2 * n :]

    total = np.concatenate([[0.0], np.cumsum(counts[order])])
    games, games_then = by_match(total[:-1] - total[begin[sorted_player]], float)
    place, place_then = by_match(where, np.int32)
    begun = None
    if seasons:
        passed = np.searchsorted(seasons, until, side="right") - np.searchsorted(seasons, since, side="right")
        begun = _to_device_floats(in_lanes(passed, 0.0))
    last = np.full(num_players, steps * lanes, np.int32)
    active = count > 0
    last[active] = where[begin[1:][active] - 1]
    lines = Timelines(
        pad_matches_on_device(matches, size),
        _to_device_floats(games),
        jax.device_put(np.arange(size) < n),
        jax.device_put(place),
        jax.device_put(in_lanes(node[order], 2 * size).astype(np.int32)),
        jax.device_put(in_lanes(rank == 0, True)),
        _to_device_floats(in_lanes(until - since, 0.0)),
        begun,
        jax.device_put(last),
    )
    return lines, QueryNodes(jax.device_put(query_players), jax.device_put(place_then), _to_device_floats(games_then))


def truncate_timelines(lines: Timelines, player: HostArray, num_matches: int) -> Timelines:
    """The same of which only the first `known` matches are known, of these players [n, 2]; the others say nothing."""
    nowhere, place = lines.node.size, np.asarray(lines.place)
    last = np.full(len(lines.last), -1)
    for side in (0, 1):
        np.maximum.at(
            last, player[:num_matches, side], place[side, :num_matches]
        )  # later matches of a player stand further on
    last = np.where(last < 0, nowhere, last).astype(np.int32)
    return lines._replace(real=jax.device_put(np.arange(place.shape[1]) < num_matches), last=jax.device_put(last))


def _to_device_floats(x: HostArray) -> Array:
    return pad_on_device(x, len(x), 0)


def max_lanes(size: int) -> int:
    """Lanes whose covariances stay in the fastest memory of a CPU; elsewhere many more."""
    if jax.default_backend() != "cpu":
        return 1 << 14
    return (
        min(1 << (FAST_MEMORY_NUMBERS // size**2).bit_length() - 1, WIDEST_LANES)
        if size**2 < FAST_MEMORY_NUMBERS // MIN_LANES
        else MIN_LANES
    )


def _assign_lanes(count: HostArray, lane_limit: int) -> tuple[HostArray, HostArray, int]:
    """The lane of each player, where in it they begin, and how many lanes there are.

    The longest timeline left goes to the emptiest lane.
    """
    lanes = int(np.clip(count.sum() // max(count.max(initial=1), 1), MIN_LANES, lane_limit))
    lanes = min(padded_event_size(lanes), lane_limit)
    order = np.argsort(-count, kind="stable")[: np.count_nonzero(count)]
    emptiest, assigned = [(0, i) for i in range(lanes)], []
    for length in count[order].tolist():
        filled, i = emptiest[0]
        assigned.append((i, filled))
        heapq.heapreplace(emptiest, (filled + length, i))
    places = np.zeros((len(count), 2), int)
    places[order] = np.reshape(assigned, (-1, 2))
    return places[:, 0], places[:, 1], lanes
