"""What a live history consists of."""

from typing import Any, NamedTuple

from jaxrate.league.rated_history import Rated
from jaxrate.system import State


class Checkpoint(NamedTuple):
    """A state to rate again from."""

    number: int  # of events before it
    players: int
    state: State  # leaves [players, ...] on the host; None: all are newcomers


class RatedPast(NamedTuple):
    """What changes rarely: from where to rate again, and the table of what was rated."""

    checkpoints: tuple[Checkpoint, ...]  # the first, and the last two
    table: Rated | None
    number: int  # of events in the table
    rows: int  # that they take there


class LiveState(NamedTuple):
    """All that changes. Lists may be longer than what counts of them, after an update that did not end."""

    state: State  # leaves [room, ...]
    room: int
    number: int  # of events in the log that count
    players: int  # who count
    log: list[bytes]
    names: list[Any]
    ids: dict[Any, int]
    last: float | None
    clock: str | None
    kind: type | None
    past: RatedPast


class StaleHistoryError(Exception):
    """Another call, of a signal handler, has changed the history meanwhile."""
