"""Timelines: who plays when, by participations of players.

Participations: who takes part in each event, and where they stand in arrays of all participants.

Events of about the same size make a group, as all matches do, and the participants of a group are [P, n], so that a
place in all its events is a row. All groups lie end to end: [sum of P n].

Players differ in how many matches they have. Each lane holds those of some players, one after the other, and all lanes
are about as long as the longest timeline, or longer where there would be too many lanes. So a pass takes few steps, and
each step is full.
"""

import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.events import Matches, Ragged, Rounds, count_teams, repeat_seat_mask, seats, seats_per_row
from jaxrate.replay.padded_arrays import (
    MIN_EVENT_SIZE,
    pad_matches_on_device,
    pad_on_device,
    padded_event_size,
)
from jaxrate.systems.skills.settings import SIDES, ModelSettings

FREE_PADDING = 1 << 12  # places that may be empty in a group for the sake of having fewer groups
BLOCK_NUMBERS = 1 << 24  # numbers by which teams and participants of contests are told together

EventGroups = tuple[Matches | Rounds, ...]  # leaves [P, n] of participants, [n] of events, [T, n] of teams


class Participations(NamedTuple):
    """All participations [R] on the host, in the order of events."""

    player: HostArray
    event: HostArray  # the number of its match or contest
    time: HostArray
    game_count: HostArray  # as how many games it counts; 0 of further seats in a contest, and where nobody is met
    is_learnt_from: HostArray  # whether its event has two sides
    slot: HostArray  # where it stands in arrays of `size`
    size: int
    season: HostArray | None = None  # the number of its season, where these overlap between leagues
    kind: HostArray | None = None  # the kind of player for which they take part


class EventGroup(NamedTuple):
    """Events that are told of together."""

    event: HostArray  # [n] their numbers
    width: int  # P
    length: int  # n, with padding
    first_slot: int


def list_participations(events: Matches | Ragged, model: ModelSettings) -> Participations:
    """The participations of checked events, with the seasons and kinds that the model has."""
    season = None if model.league_season is None else values_by_participation(events, (model.league_season,))
    kind = values_by_participation(events, model.kinds) if model.kinds else None
    (player, event), weight = seats(events), events.flat.context.weight
    teams, groups, slot = count_teams(events), group_events(events), np.empty(len(player), np.int64)
    position = positions_in_events(events)
    for group in groups:
        column = np.full(len(teams), -1)
        column[group.event] = np.arange(len(group.event))
        rows = np.flatnonzero(column[event] >= 0)
        slot[rows] = group.first_slot + position[rows] * group.length + column[event[rows]]
    has_opponents = (teams > 1)[event]
    games = 1.0 * (has_opponents & ~repeat_seat_mask(events))
    return Participations(
        player,
        event,
        np.asarray(events.flat.time, np.float64)[event],
        games if weight is None else games * np.asarray(weight, np.float64)[event],
        has_opponents,
        slot,
        groups[-1].first_slot + groups[-1].width * groups[-1].length,
        season,
        kind,
    )


def event_sizes(events: Matches | Ragged) -> HostArray:
    """[E] the participations of each event."""
    return np.diff(events.start) * seats_per_row(events)


def positions_in_events(events: Matches | Ragged) -> HostArray:
    """[R] the number of each participation among those of its event."""
    size = event_sizes(events)
    return np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)


def values_by_participation(events: Matches | Ragged, names: tuple[str, ...]) -> HostArray:
    """[R] the values of participations, from a column of all, or in matches from one of each side."""
    sides = [np.asarray(events.columns[name]) for name in names if name != SIDES]
    sides = sides or [np.zeros(events.num_rows), np.ones(events.num_rows)]
    return np.broadcast_to(np.stack(sides, axis=-1), (events.num_rows, seats_per_row(events))).ravel()


def group_events(events: Matches | Ragged) -> list[EventGroup]:
    """Groups of events: none is more than twice as wide as the contests in it, but for groups of a few."""
    sizes, teams = event_sizes(events), count_teams(events)
    widths: list[int] = []
    for size, count in zip(*(x[::-1].tolist() for x in np.unique(sizes, return_counts=True)), strict=True):
        if not widths or (widths[-1] - size) * count > max(FREE_PADDING, size * count):
            widths.append(size)
    group_of_event = np.searchsorted(-np.array(widths), -sizes, side="right") - 1
    groups, first_slot = [], 0
    for i, width in enumerate(widths):
        event = np.flatnonzero(group_of_event == i)
        block = events_per_block(width, int(teams[event].max()))
        length = padded_event_size(max(len(event), MIN_EVENT_SIZE))
        length = length if length <= block else -(-len(event) // block) * block
        groups.append(EventGroup(event, width, length, first_slot))
        first_slot += width * length
    return groups


def events_per_block(width: int, num_teams: int) -> int:
    """How many events of so many participants and teams are told of together."""
    return max(BLOCK_NUMBERS // (width * num_teams), 1)


def _put_matches_on_device(matches: Matches, group: EventGroup) -> Matches:
    padded: Matches = jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), pad_matches_on_device(matches, group.length))
    return padded


def _put_contests_on_device(ragged: Ragged, group: EventGroup) -> Rounds:
    flat: Any = ragged.events
    shape, size = (group.width, group.length), np.diff(ragged.player_start)[group.event]
    column = np.repeat(np.arange(len(size)), size)
    position = np.arange(len(column)) - np.repeat(np.cumsum(size) - size, size)
    row, place = ragged.player_start[group.event][column] + position, (position, column)

    def arrange(values: Any, fill: Any) -> Any:
        values = np.asarray(values)[row]
        grid = np.full((*shape, *values.shape[1:]), fill, values.dtype)
        grid[place] = values
        return pad_on_device(np.moveaxis(grid, 1, -1), group.width, 0)

    teams = count_teams(ragged)[group.event]
    num_teams, num_ranks = int(teams.max()), np.count_nonzero(np.bincount(column * group.width + flat.rank[row]))
    none = jax.device_put(np.zeros(group.length, bool))
    own_seat = np.arange(group.width, dtype=np.int32)[:, None]
    return Rounds(
        arrange(flat.player, 0),
        arrange(flat.rank, group.width),
        arrange(flat.team, 0),
        arrange(flat.weight, 0.0),
        pad_on_device(np.asarray(flat.time)[group.event], group.length, 0.0),
        noise=None if flat.noise is None else pad_on_device(flat.noise[group.event], group.length, 1.0),
        seat=None if flat.seat is None else arrange(flat.seat, own_seat),
        teams=None if num_teams == group.width else jax.device_put(np.zeros((num_teams, group.length), bool)),
        strict=none if num_ranks == teams.sum() else None,
        category=None if flat.category is None else arrange(flat.category, 0),
        columns=jax.tree.map(lambda x: arrange(x, 0), flat.columns),
    )


PUT_ON_DEVICE: dict[type, Callable[[Any, EventGroup], Matches | Rounds]] = {
    Matches: _put_matches_on_device,
    Rounds: _put_contests_on_device,
}


def gather_rows_of_events(values: Any, participations: Participations, events: Matches | Ragged) -> HostArray:
    """[n, 2, ...] of matches, [R, ...] of participations in contests, from arrays [size, ...] of all places."""
    values = np.asarray(values)[participations.slot]
    return values.reshape(*events.flat.player.shape, *values.shape[1:])


MIN_LANES, MAX_LANES = 8, 512  # lanes
FAST_MEMORY_NUMBERS = 1 << 14  # numbers of the covariances of a step


class Timelines(NamedTuple):
    """The node of each participation, and the time since the player's previous one; in padding nobody plays."""

    events: EventGroups
    games_before: Array  # [size] of participants: the games that they had played before, by weight
    games_after: Array  # [size]
    is_participant: Array  # [size] false for padding
    node_of_player: Array  # [size] of steps x lanes
    participant_at_node: Array  # [steps, lanes] the participant; their number or more: an empty node
    is_first: Array  # [steps, lanes] whether a timeline begins here; true of empty nodes
    elapsed: Array  # [steps, lanes] time since the previous participation
    game_count: Array  # [steps, lanes] as how many games it counts
    seasons_begun: Array | None  # [steps, lanes] seasons since the previous one; None: there are none
    last_node: Array  # [num_players] the node of each one's last participation; steps x lanes: none
    last_time: Array  # [num_players] its time; inf: none
    season_after: Array | None = None  # [size] of participants: the last season played by then, where leagues have own
    kind: Array | None = None  # [size] of participants: 1 of the second kind of players, 0 of the first
    kind_at_node: Array | None = None  # [steps, lanes]


class QueryNodes(NamedTuple):
    """Nodes without a match, for all players who have begun by a query time."""

    player: Array  # [some]
    node: Array  # [some] of steps x lanes
    games_before: Array  # [some] matches played before, by weight


def build_timelines(
    events: Matches | Ragged, num_players: int, model: ModelSettings, query_time: float = -np.inf
) -> tuple[Timelines, QueryNodes]:
    """The timelines, with a node at the query time for everybody who has begun by then, after events of that time."""
    participations = list_participations(events, model)
    count, size = len(participations.player), participations.size
    is_past = participations.time <= query_time
    query_players = np.unique(participations.player[participations.is_learnt_from & is_past])
    queries = np.ones(len(query_players))
    last_event = participations.event[is_past].max(initial=-1)
    player, event, time, game_count, counts, participant = (
        np.concatenate([x, y])
        for x, y in (
            (participations.player, query_players),
            (participations.event, last_event + 0.5 * queries),
            (participations.time, query_time * queries),
            (participations.game_count, 0.0 * queries),
            (participations.is_learnt_from, queries > 0),
            (participations.slot, size * queries.astype(np.int64)),
        )
    )
    order = np.lexsort((event, player))
    num_visits = np.bincount(player, minlength=num_players)
    first_visit = np.concatenate([[0], np.cumsum(num_visits)])
    lane, start, lanes = _assign_lanes(num_visits, max_lanes(model.size))
    sorted_player = player[order]
    first = first_visit[sorted_player]
    rank = np.arange(len(player)) - first  # the number of the event among the player's
    node_index = (start[sorted_player] + rank) * lanes + lane[sorted_player]
    steps = padded_event_size(max(int((start + num_visits).max(initial=1)), MIN_EVENT_SIZE))
    num_learnt = np.concatenate([[0], np.cumsum(counts[order])])
    has_begun = num_learnt[:-1] > num_learnt[first]  # else they are newcomers still, for whom no time passes
    previous_time, visit_time = time[np.where(has_begun, np.roll(order, 1), order)], time[order]

    def arrange_in_lanes(values: Any, fill: Any) -> HostArray:
        grid = np.full(steps * lanes, fill)
        grid[node_index] = values
        return grid.reshape(steps, lanes)

    def to_participants(values: HostArray, dtype: Any) -> tuple[HostArray, HostArray]:
        restored, places = np.empty(len(player), dtype), np.zeros(size, dtype)
        restored[order] = values
        places[participations.slot] = restored[:count]
        return places, restored[count:]

    total = np.concatenate([[0.0], np.cumsum(game_count[order])])
    is_same_event = np.append(False, (np.diff(event[order]) == 0) & (np.diff(sorted_player) == 0))[: len(player)]
    first_seat = np.maximum.accumulate(np.where(is_same_event, 0, np.arange(len(player))))
    sorted_games = (total[:-1] - total[first])[first_seat]
    games_before, query_games = to_participants(sorted_games, float)
    games_after, _ = to_participants(sorted_games + game_count[order][first_seat], float)
    node_of_player, query_nodes = to_participants(node_index, np.int32)
    seasons_begun = season_after = None
    if model.seasons:
        until_visit, until_previous = (
            np.searchsorted(model.seasons, x, side="right") for x in (visit_time, previous_time)
        )
        seasons_begun = _to_device_floats(arrange_in_lanes(until_visit - until_previous, 0.0))
    if participations.season is not None:
        season = np.concatenate([participations.season, np.full(len(queries), -np.inf)])[order]
        last_season = _running_maximum(season, sorted_player)
        seasons_passed = np.where(rank > 0, last_season - np.roll(last_season, 1), 0.0)
        seasons_begun = _to_device_floats(arrange_in_lanes(seasons_passed, 0.0))
        season_after = _to_device_floats(to_participants(last_season, float)[0])
    kind = kind_at_node = None
    if participations.kind is not None:
        of_player, known = np.zeros(num_players), order[order < count][::-1]
        for rows in (known, known[participations.is_learnt_from[known]]):
            of_player[participations.player[rows]] = participations.kind[rows]  # that of the first event stays
        kind = _to_device_floats(to_participants(of_player[sorted_player], float)[0])
        kind_at_node = _to_device_floats(arrange_in_lanes(of_player[sorted_player], 0.0))
    put = PUT_ON_DEVICE[type(events.flat)]
    timelines = Timelines(
        tuple(put(events, group) for group in group_events(events)),
        _to_device_floats(games_before),
        _to_device_floats(games_after),
        jax.device_put(np.zeros(size, bool)),
        jax.device_put(node_of_player),
        jax.device_put(arrange_in_lanes(participant[order], size).astype(np.int32)),
        jax.device_put(arrange_in_lanes(rank == 0, True)),
        _to_device_floats(arrange_in_lanes(visit_time - previous_time, 0.0)),
        _to_device_floats(arrange_in_lanes(game_count[order], 0.0)),
        seasons_begun,
        jax.device_put(np.zeros(num_players, np.int32)),
        jax.device_put(np.zeros(num_players, np.int32)),
        season_after,
        kind,
        kind_at_node,
    )
    timelines = truncate_timelines(timelines, participations, int(participations.event.max(initial=0)) + 1)
    return timelines, QueryNodes(
        jax.device_put(query_players), jax.device_put(query_nodes), _to_device_floats(query_games)
    )


def truncate_timelines(timelines: Timelines, participations: Participations, num_events: int) -> Timelines:
    """The timelines with only the first `num_events` matches or contests counting."""
    is_known = participations.is_learnt_from & (participations.event < num_events)
    player, slot, time = (x[is_known] for x in (participations.player, participations.slot, participations.time))
    is_participant = np.zeros(participations.size, bool)
    is_participant[slot] = True
    last_node, last_time = np.full(len(timelines.last_node), -1), np.full(len(timelines.last_node), -np.inf)
    np.maximum.at(last_node, player, np.asarray(timelines.node_of_player)[slot])  # later ones have later nodes
    np.maximum.at(last_time, player, time)
    has_played = last_node >= 0
    return timelines._replace(
        is_participant=jax.device_put(is_participant),
        last_node=jax.device_put(np.where(has_played, last_node, timelines.participant_at_node.size).astype(np.int32)),
        last_time=_to_device_floats(np.where(has_played, last_time, np.inf)),
    )


def _running_maximum(values: HostArray, group: HostArray) -> HostArray:
    """[n] the greatest value so far in each group; the rows of a group, which are numbers, stand together."""
    known, number = np.unique(values, return_inverse=True)
    key = np.maximum.accumulate(group.astype(np.int64) * len(known) + number)
    return np.asarray(known[key % len(known)])


def _to_device_floats(x: HostArray) -> Array:
    return pad_on_device(x, len(x), 0)


def max_lanes(belief_size: int) -> int:
    """The most lanes: each has timelines of players end to end, and all are passed through side by side.

    On a CPU they are those whose covariances fit into its fastest memory; elsewhere many more.
    """
    if jax.default_backend() != "cpu":
        return 1 << 14
    return (
        min(1 << (FAST_MEMORY_NUMBERS // belief_size**2).bit_length() - 1, MAX_LANES)
        if belief_size**2 < FAST_MEMORY_NUMBERS // MIN_LANES
        else MIN_LANES
    )


def _assign_lanes(matches_per_player: HostArray, lane_limit: int) -> tuple[HostArray, HostArray, int]:
    """The lane of each player, where in it they begin, and the number of lanes."""
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
