"""The log of a live history: one record of bytes for each event, from which events are rated again and tabulated."""

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import LAST_ID, Matches, Ragged, Rounds
from jaxrate.live import compiled_event_programs

HEADER_LENGTH = 2  # integers before those of the event: number of its layout, and number of players after it


class PackedEvent(NamedTuple):
    """An event, checked and packed."""

    kind: type  # `Matches` or `Rounds`
    structure: compiled_event_programs.EventStructure
    integers: list[int]
    floats: list[float]

    @property
    def time(self) -> float:
        """The time of the event: the float after the score of a match, or after the weights of a contest."""
        return self.floats[1] if self.kind is Matches else self.floats[self.structure.leaves[0][0][0]]

    @property
    def event(self) -> Any:
        """The event that was packed, with one row."""
        return self.structure.unpack_on_host(np.array(self.integers, np.int32), np.array(self.floats))

    @property
    def size(self) -> int:
        """The number of participants of a contest, without padding."""
        return int(np.sum(self.event.rank != LAST_ID))


class RecordLayout(NamedTuple):
    """The layout of records of events with one structure."""

    number: int  # number of the layout, which its records begin with
    kind: type
    structure: compiled_event_programs.EventStructure
    packer: struct.Struct
    num_integers: int  # number of integers
    num_floats: int  # number of floats

    @staticmethod
    def from_event(number: int, event: PackedEvent) -> "RecordLayout":
        num_integers, num_floats = len(event.integers), len(event.floats)
        return RecordLayout(
            number,
            event.kind,
            event.structure,
            struct.Struct(f"<{HEADER_LENGTH + num_integers}i{num_floats}d"),
            num_integers,
            num_floats,
        )

    def pack(self, event: PackedEvent, num_players: int, outputs: HostArray) -> bytes:
        """The record of an event: with the number of players after it, and the outputs of its program."""
        return self.packer.pack(self.number, num_players, *event.integers, *event.floats) + outputs.tobytes()

    def unpack(self, record: bytes) -> PackedEvent:
        values = self.packer.unpack_from(record)
        end = HEADER_LENGTH + self.num_integers
        return PackedEvent(self.kind, self.structure, list(values[HEADER_LENGTH:end]), list(values[end:]))


def record_layout_number(record: bytes) -> int:
    """The number of the layout of a record."""
    return int.from_bytes(record[:4], "little")


def num_players_after_record(record: bytes) -> int:
    """The number of players after an event."""
    return int.from_bytes(record[4:8], "little")


def unpack_matches(records: Sequence[bytes], layouts: Sequence[RecordLayout], dtype: Any) -> tuple[Matches, HostArray]:
    """The matches of records [n], and their outputs [n, k] in this precision."""
    numbers = np.array([record_layout_number(record) for record in records])
    player, score, time = np.empty((len(records), 2), np.int32), np.empty(len(records)), np.empty(len(records))
    outputs: Any = None
    for number in np.unique(numbers).tolist():
        rows, layout = np.flatnonzero(numbers == number), layouts[number]
        width = (len(records[rows[0]]) - layout.packer.size) // np.dtype(dtype).itemsize
        columns = [
            ("head", "<i4", HEADER_LENGTH),
            ("whole", "<i4", layout.num_integers),
            ("real", "<f8", layout.num_floats),
        ]
        table = np.frombuffer(
            b"".join(records[row] for row in rows.tolist()), np.dtype([*columns, ("shown", dtype, width)])
        )
        outputs = np.empty((len(records), width), dtype) if outputs is None else outputs
        player[rows], outputs[rows] = table["whole"][:, :2], table["shown"]
        score[rows], time[rows] = table["real"][:, 0], table["real"][:, 1]
    return Matches(player, score, time), outputs


def unpack_contests(records: Sequence[bytes], layouts: Sequence[RecordLayout], dtype: Any) -> tuple[Ragged, HostArray]:
    """The contests of records [n], and the outputs [sum P, k] of their participants in this precision."""
    player, rank, team, seat, outputs = (list[HostArray]() for _ in range(5))
    time, size, has_seats = list[float](), list[int](), False
    for record in records:
        layout = layouts[record_layout_number(record)]
        event = layout.unpack(record)
        rounds, count = event.event, event.size
        event_outputs = np.frombuffer(record, dtype, offset=layout.packer.size).reshape(len(rounds.player), -1)
        event_seats = np.arange(count, dtype=np.int32) if rounds.seat is None else rounds.seat
        for column, values in zip(
            (player, rank, team, seat, outputs), (*rounds[:3], event_seats, event_outputs), strict=True
        ):
            column.append(values[:count])
        has_seats |= rounds.seat is not None
        time.append(event.time)
        size.append(count)
    ids, ranks, teams = map(np.concatenate, (player, rank, team))
    seats = np.concatenate(seat) if has_seats else None
    participants: Any = Rounds(ids, ranks, teams, np.ones(sum(size)), np.array(time), seat=seats)
    return Ragged(participants, np.concatenate([[0], np.cumsum(size)]).astype(np.int64), None), np.concatenate(outputs)
