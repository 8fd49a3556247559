"""Matches, rating periods and rounds, as arrays; groups of players that events join."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import Array, HostArray

LAST_ID = np.iinfo(np.int32).max


class Context(NamedTuple):
    """Further data of a match. A field that the data lack is None and costs nothing."""

    side: Array | None = None  # [...] 1 if player 0 has the side advantage, -1 if player 1 has, 0 if neither
    weight: Array | None = None  # [...] a match of weight w counts as w matches
    category: Array | None = None  # [..., 2] each player's category, from 0; or [..., 2, C] their shares of C of them
    columns: dict[str, Array] | None = None  # [...] any further numbers, by name; in padding those of another match


class Matches(NamedTuple):
    """Games of two players."""

    player: Array  # [..., 2] which rows of the state
    score: Array  # [...] of player 0, in [0, 1]; a draw is one half
    time: Array  # [...] not decreasing; days, or any unit of one's own
    context: Context = Context()

    @property
    def nouns(self) -> str:
        """What the events are called."""
        return "matches"

    @property
    def flat(self) -> "Matches":
        """The columns of the history."""
        return self

    @property
    def num_rows(self) -> int:
        """The number of matches, each of which has a prediction."""
        return len(self.score)

    @property
    def start(self) -> np.ndarray[Any, Any]:
        """[n + 1] the row where each event begins."""
        return np.arange(self.num_rows + 1)

    @property
    def weight(self) -> Array | None:
        """[...] a match of weight w counts as w matches; None: all weigh 1."""
        return self.context.weight

    @property
    def category(self) -> Array | None:
        """[..., 2] the categories of both players, or [..., 2, C] their shares; None: there are none."""
        return self.context.category

    @property
    def columns(self) -> dict[str, Array]:
        """Further columns by name."""
        return self.context.columns or {}

    @property
    def sides(self) -> tuple[Any, Any]:
        """Where the first and the second player of a match stand among its rows."""
        return 0, 1

    @property
    def team(self) -> np.ndarray[Any, Any]:
        """[..., 2] from 0: each player of a match is a team."""
        return np.broadcast_to(np.arange(2, dtype=np.int32), self.player.shape)

    @property
    def participant_rows(self) -> None:
        """Each participant has a row of their own."""
        return None

    def combine_by_player(self, values: Array, _operation: str = "add", _start: float = 0.0) -> Array:
        """Values [2, ...] of participants as they are: each player has one."""
        return values

    @property
    def pairs(self) -> Array:
        """[n, 2] the players of each match."""
        return self.player

    def contrast(self, values: Array) -> Array:
        """[...] by how much those [2, ...] of first players are larger."""
        return values[0] - values[1]

    def with_flat(self, flat: "Matches") -> "Matches":
        """The history with these columns."""
        return flat


class Periods(NamedTuple):
    """Rating periods: all games of a period are rated together, at the ratings before it."""

    player: Array  # [..., A] the active players
    pair: Array  # [..., M, 2] positions in `player`
    score: Array  # [..., M] of the pair's first player, in [0, 1]
    time: Array  # [...] the start of the period, on the clock of the matches
    context: Context = Context()  # leaves [..., M]; `weight` is never None: 0 marks padding

    @property
    def nouns(self) -> str:
        """What the events are called."""
        return "periods"

    @property
    def flat(self) -> "Periods":
        """The columns."""
        return self

    @property
    def num_rows(self) -> int:
        """The number of pairs, each of which has a prediction."""
        return len(self.score)

    @property
    def sides(self) -> tuple[Any, Any]:
        """[M] each: where the first and the second players of the pairs of a period stand among its rows."""
        return self.pair[:, 0], self.pair[:, 1]

    @property
    def participant_rows(self) -> Array:
        """[2, M] where the first and the second players of the pairs of a period stand among its rows."""
        return self.pair.T

    def combine_by_player(self, values: Array, operation: str = "add", start: float = 0.0) -> Array:
        """[A, ...] of each player, the sums of values [2, M, ...] over their games; or their maxima, from a start."""
        import jax.numpy as jnp  # which readers of tables do without

        combined = jnp.full((*self.player.shape, *values.shape[2:]), start, values.dtype)
        for rows, of_side in zip(self.participant_rows, values, strict=True):
            combined = getattr(combined.at[rows], operation)(of_side)
        return combined

    def contrast(self, values: Array) -> Array:
        """[M] by how much those [2, M] of first players are larger."""
        return values[0] - values[1]


class Rounds(NamedTuple):
    """Contests of many players or teams, ranked."""

    player: Array  # [..., P] the participants
    rank: Array  # [..., P] from 0, lower is better, equal is a tie: the number of participants strictly better
    team: Array  # [..., P] from 0; equal numbers play together
    weight: Array  # [..., P] of the contest, or partial play, above 0; 0 marks padding
    time: Array  # [...] contests count in their order; where time matters it must not decrease
    ceiling: Array | None = None  # [...] performances above it count as it; inf: none
    noise: Array | None = None  # [...] by how much performances scatter more than usual, a factor of their deviation
    seat: Array | None = None  # [..., P] where in the contest the player first takes part. None: nobody does twice
    teams: Array | None = None  # [..., T] of any values: there are at most T teams. None: as many as participants
    strict: Array | None = None  # [...] of any value: no teams tie. None: some may
    solo: Array | None = None  # [...] of any value: nobody has team-mates. None: some may.
    present: Array | None = None  # [...] how many stand before the padding. None: any number. (Filled in by runners.)
    category: Array | None = None  # [..., P] what each meets, from 0; or [..., P, C] shares of C of them
    columns: dict[str, Array] | None = None  # [..., P] any further numbers, by name; in padding those of another

    @property
    def nouns(self) -> str:
        """What the events are called."""
        return "contests"

    @property
    def flat(self) -> "Rounds":
        """The columns."""
        return self

    @property
    def num_rows(self) -> int:
        """The number of participations, each of which has a prediction."""
        return len(self.weight)

    @property
    def context(self) -> Context:
        """What is known of participations; weights are of partial play, and no such data."""
        return Context(category=self.category, columns=self.columns)

    @property
    def participant_rows(self) -> Array | None:
        """[P] where in the contest the player of a participation first takes part; None: all have rows of their own."""
        return self.seat

    def combine_by_player(self, values: Array, operation: str = "add", start: float = 0.0) -> Array:
        """[P, ...] of the player of each participation, the sums of values [P, ...] over theirs; or their maxima."""
        import jax.numpy as jnp  # which readers of tables do without

        if self.seat is None:
            return values
        combined: Array = getattr(jnp.full_like(values, start).at[self.seat], operation)(values)[self.seat]
        return combined

    def contrast(self, values: Array) -> Array:
        """[P] those of participants: whom they are compared with is not known before the standing is."""
        return values


class Ragged(NamedTuple):
    """A history of periods or rounds of differing sizes, end to end: every leaf is flat."""

    events: Periods | Rounds  # `time` [E]; leaves of players [sum A]; leaves of pairs [sum M]
    player_start: np.ndarray[Any, Any]  # [E + 1] where each event's players begin
    pair_start: np.ndarray[Any, Any] | None  # [E + 1] where each period's pairs begin; None for rounds
    length: float | None = None  # of the periods, on the clock of the matches; None: not known, or rounds

    @property
    def nouns(self) -> str:
        """What the events are called."""
        return self.events.nouns

    @property
    def flat(self) -> Periods | Rounds:
        """The columns of the history."""
        return self.events

    @property
    def num_rows(self) -> int:
        """The number of pairs of periods, or of participations, each of which has a prediction."""
        return self.events.num_rows

    @property
    def start(self) -> np.ndarray[Any, Any]:
        """[E + 1] the row where each event begins."""
        return self.player_start

    @property
    def columns(self) -> dict[str, Array]:
        """Further columns by name."""
        return self.events.context.columns or {}

    @property
    def pairs(self) -> np.ndarray[Any, Any]:
        """[sum M, 2] the players of the pairs of rating periods."""
        periods: Any = self.events
        pair_start: Any = self.pair_start
        first_row = np.repeat(self.player_start[:-1], np.diff(pair_start))
        return np.asarray(periods.player)[first_row[:, None] + periods.pair]

    def with_flat(self, flat: Periods | Rounds) -> "Ragged":
        """The history with these columns."""
        return self._replace(events=flat)


def event_numbers(events: Matches | Ragged) -> np.ndarray[Any, Any]:
    """[n] the number of each row's event, from 0: of matches, or of participants of contests."""
    return np.repeat(np.arange(len(events.start) - 1), np.diff(events.start))


def seats(events: Matches | Ragged) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """[R] the players of all participations, and the numbers of their events: each match has two seats."""
    return np.asarray(events.flat.player).ravel(), np.repeat(event_numbers(events), seats_per_row(events))


def match_weights(matches: Matches) -> np.ndarray[Any, Any]:
    """[n] the weights of matches, float64; 1 where they have none."""
    weight = matches.context.weight
    return np.ones(len(matches.score)) if weight is None else np.asarray(weight, np.float64)


def seats_per_row(events: Matches | Ragged) -> int:
    """The number of seats in a row: two of a match, one of a contest."""
    return int(np.prod(events.flat.player.shape[1:]))


def count_teams(events: Matches | Ragged) -> np.ndarray[Any, Any]:
    """[E] how many teams each match or contest has; a player alone is one."""
    rounds: Any = events.flat
    first_seat = events.start[:-1] * seats_per_row(events)
    return np.maximum.reduceat(rounds.team.ravel(), first_seat) + 1 if len(first_seat) else np.zeros(0, np.int32)


def has_tied_teams(ragged: Ragged) -> bool:
    """Whether two teams of a contest have the same rank."""
    rounds: Any = ragged.events
    first_row = np.repeat(ragged.player_start[:-1], np.diff(ragged.player_start))
    ranks = np.count_nonzero(np.bincount(first_row + rounds.rank))
    return bool(ranks < count_teams(ragged).sum())


def has_teammates(ragged: Ragged) -> bool:
    """Whether anybody has team-mates."""
    return bool((count_teams(ragged) < np.diff(ragged.player_start)).any())


def repeat_seat_mask(events: Matches | Ragged) -> np.ndarray[Any, Any]:
    """[R] whether it is not the player's first participation in the contest: they are in several teams."""
    first_seat, count = events.flat.participant_rows, events.flat.player.size
    if first_seat is None:
        return np.zeros(count, bool)
    position = np.arange(count) - np.repeat(events.start[:-1], np.diff(events.start))
    return np.asarray(first_seat != position)


def count_games(events: Any, num_players: int) -> np.ndarray[Any, Any]:
    """[num_players] how many matches, periods or contests each takes part in; several seats in one are one."""
    player = np.asarray(events.flat.player)
    if getattr(events.flat, "seat", None) is not None:
        player = player[~repeat_seat_mask(events)]
    return np.bincount(player.ravel(), minlength=num_players)


COLUMNS_BY_EVENT = "time", "ceiling", "noise", "strict", "solo"  # of periods and rounds, with a value for each event


def slice_events(events: Any, low: int, high: int) -> Any:
    """Events number `low` up to, but without, `high` of `Matches` or `Ragged`."""
    if isinstance(events, Matches):
        return _slice_columns(events, slice(low, high))
    players = events.player_start[low : high + 1]
    pairs = None if events.pair_start is None else events.pair_start[low : high + 1]
    others = players if pairs is None else pairs
    rows = dict.fromkeys(events.events._fields, slice(others[0], others[-1]))
    rows |= dict.fromkeys(COLUMNS_BY_EVENT, slice(low, high)) | {"player": slice(players[0], players[-1])}
    flat = {name: _slice_columns(x, rows[name]) for name, x in events.events._asdict().items()}
    starts = players - players[0], None if pairs is None else pairs - pairs[0]
    return Ragged(events.events._replace(**flat), *starts, events.length)


def _slice_columns(columns: Any, rows: Any) -> Any:
    """The columns in a tree, cut to some rows."""
    if isinstance(columns, dict):
        return {name: _slice_columns(x, rows) for name, x in columns.items()}
    if isinstance(columns, tuple):
        return type(columns)(*(_slice_columns(x, rows) for x in columns))
    return columns if columns is None else columns[rows]


FEW_PER_PLAYER = 2


def number_connected_groups(num_players: int, first: HostArray, second: HostArray) -> HostArray:
    """[N] numbers from 0 of groups that no chain of pairs [P] joins, the largest first; -1: in no pair.

    Each label becomes the least among those of the people met, and then that of the player whose label it is, until
    both of a pair have one. Of equally large groups the one with the least id comes first.
    """
    label = np.arange(num_players, dtype=np.int32)
    for step in (len(first) // (FEW_PER_PLAYER * num_players + 1) + 1, 1):  # a few pairs join most players
        one, other = first[::step], second[::step]
        while len(one):
            one, other = label[one], label[other]
            differs = np.flatnonzero(one != other)
            one, other = one[differs], other[differs]
            np.minimum.at(label, np.maximum(one, other), np.minimum(one, other))
            while ((next_label := label[label]) != label).any():
                label = next_label
    has_met = np.zeros(num_players, bool)
    has_met[first] = has_met[second] = True
    size = np.bincount(label[has_met], minlength=num_players)
    roots, number = np.flatnonzero(size), np.full(num_players, -1)
    number[roots[np.argsort(-size[roots], kind="stable")]] = np.arange(len(roots))
    return np.where(has_met, number[label], -1)
