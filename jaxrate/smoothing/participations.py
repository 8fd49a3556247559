"""Participations: who takes part in each event, and where they stand in arrays of all participants.

Those of matches are [2, size], first and second players. Contests of about the same size make a group, and those of a
group are [P, n], so that a place in all its contests is a row. All groups lie end to end: [sum of P n].
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import Matches, Ragged, Rounds, count_teams, repeat_seat_mask
from jaxrate.replay.padded_sizes import MIN_EVENT_SIZE, padded_event_size
from jaxrate.replay.padded_states_and_columns import pad_matches_on_device, pad_on_device

FREE_PADDING = 1 << 12  # places that may be empty in a group for the sake of having fewer groups
BLOCK_NUMBERS = 1 << 24  # numbers by which teams and participants of contests are told together

ContestGroups = tuple[Rounds, ...]  # leaves [P, n] of participants, [n] of contests, [T, n] of teams


class Participations(NamedTuple):
    """All participations [R] on the host, in the order of events, and of matches first all first players."""

    player: HostArray
    event: HostArray  # the number of its match or contest
    time: HostArray
    game_count: HostArray  # as how many games it counts; 0 of further seats in a contest, and where nobody is met
    is_learnt_from: HostArray  # whether its event has two sides
    slot: HostArray  # where it stands in arrays of `shape`, flat
    shape: tuple[int, ...]
    season: HostArray | None = None  # the number of its season, where these overlap between leagues


class ContestGroup(NamedTuple):
    """Contests that are told of together."""

    contest: HostArray  # [n] their numbers
    width: int  # P
    length: int  # n, with padding
    first_slot: int


def list_participations(events: Matches | Ragged, league_season: str | None = None) -> Participations:
    """The participations of checked events, with the numbers of seasons in the column `league_season`."""
    if isinstance(events, Matches):
        n = len(events.score)
        size, number = padded_event_size(max(n, MIN_EVENT_SIZE)), np.arange(n)
        weight = np.ones(n) if events.context.weight is None else np.asarray(events.context.weight, np.float64)
        time, counts = np.asarray(events.time, np.float64), np.ones(2 * n, bool)
        event, times, weights = (np.tile(x, 2) for x in (number, time, weight))
        player, slot = np.asarray(events.player).T.ravel(), np.concatenate([number, size + number])
        season = (
            None if league_season is None else np.tile(np.asarray((events.context.columns or {})[league_season]), 2)
        )
        return Participations(player, event, times, weights, counts, slot, (2, size), season)
    flat: Any = events.events
    sizes = np.diff(events.player_start)
    contest = np.repeat(np.arange(len(sizes)), sizes)
    has_opponents = (count_teams(events) > 1)[contest]
    groups, slot = group_contests(events), np.empty(len(contest), np.int64)
    position = np.arange(len(contest)) - events.player_start[contest]
    for group in groups:
        column = np.full(len(sizes), -1)
        column[group.contest] = np.arange(len(group.contest))
        rows = np.flatnonzero(column[contest] >= 0)
        slot[rows] = group.first_slot + position[rows] * group.length + column[contest[rows]]
    return Participations(
        np.asarray(flat.player),
        contest,
        np.asarray(flat.time, np.float64)[contest],
        1.0 * (has_opponents & ~repeat_seat_mask(events)),
        has_opponents,
        slot,
        (groups[-1].first_slot + groups[-1].width * groups[-1].length,),
        None if league_season is None else np.asarray(flat.columns[league_season]),
    )


def list_first_participations(participations: Participations, num_matches: int) -> Participations:
    """Of matches one participation of each player, the first; the same if there are no others."""
    return participations._replace(slot=participations.slot[: 2 * num_matches])


def group_contests(ragged: Ragged) -> list[ContestGroup]:
    """Groups of contests: none is more than twice as wide as the contests in it, but for groups of a few."""
    sizes, teams = np.diff(ragged.player_start), count_teams(ragged)
    widths: list[int] = []
    for size, count in zip(*(x[::-1].tolist() for x in np.unique(sizes, return_counts=True)), strict=True):
        if not widths or (widths[-1] - size) * count > max(FREE_PADDING, size * count):
            widths.append(size)
    group_of_contest = np.searchsorted(-np.array(widths), -sizes, side="right") - 1
    groups, first_slot = [], 0
    for i, width in enumerate(widths):
        contest = np.flatnonzero(group_of_contest == i)
        block = block_length(width, int(teams[contest].max()))
        length = padded_event_size(max(len(contest), MIN_EVENT_SIZE))
        length = length if length <= block else -(-len(contest) // block) * block
        groups.append(ContestGroup(contest, width, length, first_slot))
        first_slot += width * length
    return groups


def block_length(width: int, num_teams: int) -> int:
    """How many contests of so many participants and teams are told of together."""
    return max(BLOCK_NUMBERS // (width * num_teams), 1)


def put_events_on_device(events: Matches | Ragged) -> Matches | ContestGroups:
    """The events, padded: matches [size], or groups of contests."""
    if isinstance(events, Matches):
        return pad_matches_on_device(events, padded_event_size(max(len(events.score), MIN_EVENT_SIZE)))
    return tuple(_put_group_on_device(events, group) for group in group_contests(events))


def _put_group_on_device(ragged: Ragged, group: ContestGroup) -> Rounds:
    flat: Any = ragged.events
    shape, size = (group.width, group.length), np.diff(ragged.player_start)[group.contest]
    column = np.repeat(np.arange(len(size)), size)
    position = np.arange(len(column)) - np.repeat(np.cumsum(size) - size, size)
    row, place = ragged.player_start[group.contest][column] + position, (position, column)

    def arrange(values: Any, fill: Any) -> Any:
        values = np.asarray(values)[row]
        grid = np.full((*shape, *values.shape[1:]), fill, values.dtype)
        grid[place] = values
        return pad_on_device(np.moveaxis(grid, 1, -1), group.width, 0)

    teams = count_teams(ragged)[group.contest]
    num_teams, num_ranks = int(teams.max()), np.count_nonzero(np.bincount(column * group.width + flat.rank[row]))
    none = jax.device_put(np.zeros(group.length, bool))
    own_seat = np.arange(group.width, dtype=np.int32)[:, None]
    return Rounds(
        arrange(flat.player, 0),
        arrange(flat.rank, group.width),
        arrange(flat.team, 0),
        arrange(flat.weight, 0.0),
        pad_on_device(np.asarray(flat.time)[group.contest], group.length, 0.0),
        noise=None if flat.noise is None else pad_on_device(flat.noise[group.contest], group.length, 1.0),
        seat=None if flat.seat is None else arrange(flat.seat, own_seat),
        teams=None if num_teams == group.width else jax.device_put(np.zeros((num_teams, group.length), bool)),
        strict=none if num_ranks == teams.sum() else None,
        category=None if flat.category is None else arrange(flat.category, 0),
        columns=jax.tree.map(lambda x: arrange(x, 0), flat.columns),
    )


def gather_participants(values: Any, participations: Participations) -> HostArray:
    """[R, ...] of the participations, from arrays [*shape, ...] of all places; of matches [n, 2, ...]."""
    values, shape = np.asarray(values), participations.shape
    rows = values.reshape(-1, *values.shape[len(shape) :])[participations.slot]
    return rows if len(shape) == 1 else np.moveaxis(rows.reshape(2, -1, *rows.shape[1:]), 0, 1)
