"""Events as `Live` keeps them: one string of bytes each, from which they are rated again and put into tables."""

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.events import LAST_ID, Matches, Ragged, Rounds
from jaxrate.live import event_programs
from jaxrate.types import HostArray

HEADER_LENGTH = 2  # whole numbers before those of the event: its layout, and how many players there are after it


class PackedEvent(NamedTuple):
    """An event, checked and packed."""

    kind: type  # `Matches` or `Rounds`
    form: event_programs.EventStructure
    whole: list[int]
    real: list[float]

    @property
    def time(self) -> float:
        """When it was: the number behind the score of a match, or behind the weights of a contest."""
        return self.real[1] if self.kind is Matches else self.real[self.form.leaves[0][0][0]]

    @property
    def tree(self) -> Any:
        """The same as the event of one row that it was packed from."""
        return self.form.read(np.array(self.whole, np.int32), np.array(self.real))

    @property
    def size(self) -> int:
        """How many participants a contest has, without those that pad it."""
        return int(np.sum(self.tree.rank != LAST_ID))


class RecordLayout(NamedTuple):
    """How events of a form stand in bytes."""

    number: int  # of the layout, by which records tell it
    kind: type
    form: event_programs.EventStructure
    packer: struct.Struct
    whole: int  # how many whole numbers
    real: int  # how many others

    @staticmethod
    def of(number: int, event: PackedEvent) -> "RecordLayout":
        whole, real = len(event.whole), len(event.real)
        return RecordLayout(
            number, event.kind, event.form, struct.Struct(f"<{HEADER_LENGTH + whole}i{real}d"), whole, real
        )

    def pack(self, event: PackedEvent, players: int, shown: HostArray) -> bytes:
        """The record of an event after which there are so many players, and that showed these floats."""
        return self.packer.pack(self.number, players, *event.whole, *event.real) + shown.tobytes()

    def unpack(self, record: bytes) -> PackedEvent:
        values = self.packer.unpack_from(record)
        whole = HEADER_LENGTH + self.whole
        return PackedEvent(self.kind, self.form, list(values[HEADER_LENGTH:whole]), list(values[whole:]))


def record_layout_number(record: bytes) -> int:
    """The number of the layout of a record."""
    return int.from_bytes(record[:4], "little")


def record_player_count(record: bytes) -> int:
    """How many players there are after an event."""
    return int.from_bytes(record[4:8], "little")


def unpack_matches(records: Sequence[bytes], layouts: Sequence[RecordLayout], dtype: Any) -> tuple[Matches, HostArray]:
    """The matches of records [n], and what they showed [n, k] in this precision."""
    numbers = np.array([record_layout_number(record) for record in records])
    player, score, time = np.empty((len(records), 2), np.int32), np.empty(len(records)), np.empty(len(records))
    shown: Any = None
    for number in np.unique(numbers).tolist():
        rows, layout = np.flatnonzero(numbers == number), layouts[number]
        width = (len(records[rows[0]]) - layout.packer.size) // np.dtype(dtype).itemsize
        columns = [("head", "<i4", HEADER_LENGTH), ("whole", "<i4", layout.whole), ("real", "<f8", layout.real)]
        table = np.frombuffer(
            b"".join(records[row] for row in rows.tolist()), np.dtype([*columns, ("shown", dtype, width)])
        )
        shown = np.empty((len(records), width), dtype) if shown is None else shown
        player[rows], shown[rows] = table["whole"][:, :2], table["shown"]
        score[rows], time[rows] = table["real"][:, 0], table["real"][:, 1]
    return Matches(player, score, time), shown


def unpack_contests(records: Sequence[bytes], layouts: Sequence[RecordLayout], dtype: Any) -> tuple[Ragged, HostArray]:
    """The contests of records [n], and what their participants showed [sum P, k] in this precision."""
    player, rank, team, seat, shown = (list[HostArray]() for _ in range(5))
    time, size, several = list[float](), list[int](), False
    for record in records:
        layout = layouts[record_layout_number(record)]
        event = layout.unpack(record)
        rounds, count = event.tree, event.size
        seen = np.frombuffer(record, dtype, offset=layout.packer.size).reshape(len(rounds.player), -1)
        own = np.arange(count, dtype=np.int32) if rounds.seat is None else rounds.seat
        for column, values in zip((player, rank, team, seat, shown), (*rounds[:3], own, seen), strict=True):
            column.append(values[:count])
        several |= rounds.seat is not None
        time.append(event.time)
        size.append(count)
    ids, ranks, teams = map(np.concatenate, (player, rank, team))
    seats = np.concatenate(seat) if several else None
    participants: Any = Rounds(ids, ranks, teams, np.ones(sum(size)), np.array(time), seat=seats)
    return Ragged(participants, np.concatenate([[0], np.cumsum(size)]).astype(np.int64), None), np.concatenate(shown)
