"""Tables of a history without pyarrow: NumPy columns by name, in .npz files that hold numbers only.

Numbers are stored as they are, dates as integers, and text as the bytes of its labels and the label of each row. So
nothing is pickled, and each text takes as much space as it is long.
"""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.table_sources import import_pyarrow
from jaxrate.storage.run_validation import (
    COUNT_KEYS,
    MATCH_COLUMNS,
    OPTIONAL_KINDS,
    PARTICIPATION_COLUMNS,
    PERFORMANCE_KINDS,
    check_column_pairs,
    read_npz_arrays,
)

RATING_COLUMN_KINDS = {"id": "integer", "player": "name", "games": "integer"}
NUMPY_KINDS = {
    "integer": "iu",
    "floating": "f",
    "name": "Oiufb",
    "time": "iufM",
}  # kinds of NumPy dtypes, by those of Arrow types
DATE_UNITS = "D", "us"  # units of dates


def has_pyarrow() -> bool:
    """Whether pyarrow is installed."""
    try:
        import_pyarrow()
    except ImportError:
        return False
    return True


def to_arrow_if_installed(columns: Mapping[str, HostArray]) -> Any:
    """Columns of predictions as an Arrow table, or unchanged without pyarrow.

    In the Arrow table, times of contests are null if all are NaN, performances if they are NaN, and ranks needed if 0.
    """
    if not has_pyarrow():
        return dict(columns)
    arrow, table = import_pyarrow(), dict[str, Any](columns)
    if "participants" in table and "time" in table and table["time"].dtype.kind == "f":
        absent_time = np.isnan(table["time"])
        table["time"] = (
            arrow.nulls(len(absent_time)) if absent_time.all() else arrow.array(table["time"], mask=absent_time)
        )
    if "performance" in table:
        absent = np.isnan(table["performance"]), table["rank_needed"] == 0
        table |= {
            name: arrow.array(table[name], mask=mask) for name, mask in zip(PERFORMANCE_KINDS, absent, strict=True)
        }
    return arrow.table(table)


def fill_team_numbers(table: Mapping[str, Any]) -> HostArray:
    """[n] the number of each participant's team in the contest: of a table without teams everybody has their own.

    0, which is unknown, if the table has teams and does not say who is in which.
    """
    if "team" in table:
        return np.asarray(table["team"])
    if "teams" in table:
        return np.zeros(len(table["teams"]), np.int32)
    return places_in_contests(np.asarray(table["participants"]))


def places_in_contests(participants: HostArray) -> HostArray:
    """[n] the places of rows within contests of so many `participants` [n], from 1."""
    place, row = np.ones(len(participants), np.int32), 0
    while row < len(participants):
        size = int(participants[row])
        place[row : row + size] = np.arange(1, size + 1)
        row += size
    return place


def concatenate_tables(first: Mapping[str, HostArray], second: Mapping[str, HostArray]) -> dict[str, HostArray]:
    """The rows of two tables in one. A missing column is NaN, except that missing teams are the participants, and
    a missing team is that of a player alone, or 0 of a table that has teams.
    """
    result = dict[str, HostArray]()
    wider_table = first if len(first) > len(second) else second
    for name in {**wider_table, **first, **second}:
        columns = [table.get(name, table.get("participants") if name == "teams" else None) for table in (first, second)]
        size = [len(table["row"]) for table in (first, second)]
        filled = [np.full(n, np.nan) if x is None else x for x, n in zip(columns, size, strict=True)]
        if name == "team":
            filled = [fill_team_numbers(table) for table in (first, second)]
        kinds = {x.dtype.kind for x in filled}
        if "M" in kinds and len(kinds) > 1:
            filled = [x if x.dtype.kind == "M" else np.full(len(x), np.datetime64("NaT", "D")) for x in filled]
        elif name == "rank_needed" and "f" in kinds:
            filled = [np.nan_to_num(x).astype(np.int32) for x in filled]
        elif "O" in kinds and len(kinds) > 1:
            filled = [np.array([*map(str, x.tolist())], object) for x in filled]
        result[name] = np.concatenate(filled)
    return result


def columns_to_npz(columns: Mapping[str, HostArray]) -> bytes:
    """The bytes of an .npz file with columns of numbers, dates or text."""
    stored = dict[str, HostArray]()
    for name, values in columns.items():
        if values.dtype.kind == "M":
            unit = np.datetime_data(values.dtype)[0]
            stored[f"{name}:{unit}"] = values.astype(np.int64)
        elif values.dtype.kind in "OSU":
            labels: dict[Any, int] = {}
            code = [labels.setdefault(x, len(labels)) for x in values.tolist()]
            kind = "bytes" if labels and isinstance(next(iter(labels)), bytes) else "text"
            raw = [x if isinstance(x, bytes) else str(x).encode() for x in labels]
            stored[f"{name}:{kind}"] = np.frombuffer(b"".join(raw), np.uint8)
            stored[f"{name}:size"] = np.array([*map(len, raw)], np.int64)
            stored[f"{name}:code"] = np.array(code, np.int64)
        else:
            stored[f"{name}:number"] = values
    buffer = BytesIO()
    np.savez(buffer, allow_pickle=False, **stored)
    return buffer.getvalue()


def _columns_from_npz(raw: bytes) -> dict[str, HostArray]:
    """The columns in bytes from `columns_to_npz`; ValueError for any other bytes."""
    stored = read_npz_arrays(raw)
    columns = dict[str, HostArray]()
    for key, values in stored.items():
        name, _, kind = key.rpartition(":")
        if values.ndim != 1:
            raise ValueError(f"{name} is no column")
        if kind == "number":
            columns[name] = values
        elif kind in DATE_UNITS:
            columns[name] = values.astype(np.int64).view(f"datetime64[{kind}]")
        elif kind in ("text", "bytes"):
            size, code = (stored.get(f"{name}:{part}", np.zeros(0)) for part in ("size", "code"))
            if size.dtype != np.int64 or code.dtype != np.int64 or values.dtype != np.uint8:
                raise ValueError(f"{name} is no column of text")
            if ((size < 0) | (size > len(values))).any() or sum(size.tolist()) != len(values):
                raise ValueError(f"the labels of {name} are not as long as they claim")
            if ((code < 0) | (code >= len(size))).any():
                raise ValueError(f"{name} has a label that is not there")
            ends, text_bytes = np.cumsum(size).tolist(), values.tobytes()
            labels = [text_bytes[i:j] for i, j in zip([0, *ends], ends, strict=False)]
            texts: list[Any] = labels if kind == "bytes" else [x.decode() for x in labels]
            columns[name] = np.array([*texts, None], object)[code]
    return columns


def _read_checked_columns(raw: bytes, num_rows: int, column_kinds: Mapping[str, str]) -> dict[str, HostArray]:
    """Columns of `num_rows` rows, with columns of these kinds among them; ValueError for others."""
    columns = _columns_from_npz(raw)
    if missing := [name for name in column_kinds if name not in columns]:
        raise ValueError(f"{missing[0]} is missing")
    optional = {name: kind for name, kind in OPTIONAL_KINDS.items() if name in columns}
    for name, kind in {**column_kinds, **optional}.items():
        if columns[name].dtype.kind not in NUMPY_KINDS[kind]:
            raise ValueError(f"{name} is of {columns[name].dtype}")
    for name, values in columns.items():
        if len(values) != num_rows:
            raise ValueError(f"{name} has {len(values):,} rows, not {num_rows:,}")
    return columns


def read_npz_names_and_games(raw: bytes, num_players: int) -> tuple[HostArray, HostArray]:
    """Names and games of players by id, from the bytes of an .npz file; see `read_parquet_names_and_games`."""
    columns = _read_checked_columns(raw, num_players, RATING_COLUMN_KINDS)
    order = np.argsort(columns["id"], kind="stable")
    if not np.array_equal(columns["id"][order], np.arange(num_players)):
        raise ValueError(f"its ids are not those of {num_players:,} players")
    if num_players and columns["games"].min() < 0:
        raise ValueError("a player has less than no games")
    return columns["player"][order], columns["games"][order]


def read_npz_predictions(raw: bytes, kind: str, count: int, players: HostArray) -> Any:
    """The predictions in an .npz file, as an Arrow table if pyarrow is installed; see `read_parquet_predictions`."""
    columns, player_names = (
        _read_checked_columns(raw, count, MATCH_COLUMNS if kind == COUNT_KEYS[0] else PARTICIPATION_COLUMNS),
        {*players.tolist()},
    )
    check_column_pairs(kind, columns)
    for name in ("a", "b") if kind == COUNT_KEYS[0] else ("player",):
        if not {*columns[name].tolist()} <= player_names:
            raise ValueError(f"{name} holds a name that no player has")
    if kind != COUNT_KEYS[0] and count and columns["participants"].min() < 1:
        raise ValueError("a contest has less than one participant")
    return to_arrow_if_installed(columns)
