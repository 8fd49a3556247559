"""The state of a live history."""

from typing import Any, NamedTuple

from jaxrate.core.rules import State
from jaxrate.history.history import History


class Checkpoint(NamedTuple):
    """A state from which events are rated again."""

    number: int  # number of events before it
    players: int
    state: State  # leaves [players, ...] on the host; None: all are newcomers


class CheckpointsAndTabulatedEvents(NamedTuple):
    """The parts that change rarely: checkpoints, and the table of the events that were tabulated."""

    checkpoints: tuple[Checkpoint, ...]  # the first, and some recent ones
    table: History | None
    number: int  # number of events in the table
    rows: int  # rows of these events


class LiveState(NamedTuple):
    """All that changes. Lists may be too long after an update that was interrupted."""

    state: State  # leaves [room, ...]
    capacity: int
    number: int  # number of valid events in the log
    players: int  # number of valid players
    log: list[bytes]
    names: list[Any]
    ids: dict[Any, int]
    last: float | None
    clock: str | None
    kind: type | None
    past: CheckpointsAndTabulatedEvents


class ConcurrentHistoryChangeError(Exception):
    """Another call, such as one of a signal handler, has changed the history meanwhile."""
