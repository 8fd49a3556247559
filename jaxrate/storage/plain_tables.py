"""Tables of a history where pyarrow is missing: NumPy columns by name, kept in .npz files as numbers alone.

Numbers stand there as they are, dates as whole numbers, and text as the bytes of its labels and which label each row
has, so that nothing is pickled and text of any length takes its own.
"""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np

from jaxrate.data.table_sources import import_pyarrow
from jaxrate.storage.run_validation import COUNT_KEYS, MATCH_COLUMNS, PARTICIPATION_COLUMNS, PERFORMANCE_TYPES, read_npz
from jaxrate.types import HostArray

RATINGS = {"id": "integer", "player": "name", "games": "integer"}
KINDS = {"integer": "iu", "floating": "f", "name": "Oiufb", "time": "iufM"}  # of NumPy, by those of Arrow
UNITS = "D", "us"  # of dates


def has_pyarrow() -> bool:
    """Whether pyarrow is installed."""
    try:
        import_pyarrow()
    except ImportError:
        return False
    return True


def as_table(columns: Mapping[str, HostArray]) -> Any:
    """Columns of predictions as an Arrow table, or as they are where pyarrow is missing.

    Null there are times of contests if all are NaN, performances that are, and 0 as rank needed.
    """
    if not has_pyarrow():
        return dict(columns)
    arrow, found = import_pyarrow(), dict[str, Any](columns)
    if "participants" in found and found["time"].dtype.kind == "f" and np.isnan(found["time"]).all():
        found["time"] = arrow.nulls(len(found["time"]))
    if "performance" in found:
        absent = np.isnan(found["performance"]), found["rank_needed"] == 0
        found |= {
            name: arrow.array(found[name], mask=mask) for name, mask in zip(PERFORMANCE_TYPES, absent, strict=True)
        }
    return arrow.table(found)


def end_to_end(one: Mapping[str, HostArray], two: Mapping[str, HostArray]) -> dict[str, HostArray]:
    """Two tables as one. Where one lacks a column, its rows are NaN there, or their participants as teams."""
    found = dict[str, HostArray]()
    wider = one if len(one) > len(two) else two
    for name in {**wider, **one, **two}:
        parts = [table.get(name, table.get("participants") if name == "teams" else None) for table in (one, two)]
        size = [len(table["row"]) for table in (one, two)]
        known = [np.full(n, np.nan) if x is None else x for x, n in zip(parts, size, strict=True)]
        kinds = {x.dtype.kind for x in known}
        if "M" in kinds and len(kinds) > 1:
            known = [x if x.dtype.kind == "M" else np.full(len(x), np.datetime64("NaT", "D")) for x in known]
        elif name == "rank_needed" and "f" in kinds:
            known = [np.nan_to_num(x).astype(np.int32) for x in known]
        elif "O" in kinds and len(kinds) > 1:
            known = [np.array([*map(str, x.tolist())], object) for x in known]
        found[name] = np.concatenate(known)
    return found


def to_npz(columns: Mapping[str, HostArray]) -> bytes:
    """The bytes of an .npz file of columns: numbers, dates or text."""
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
    packed = BytesIO()
    np.savez(packed, allow_pickle=False, **stored)
    return packed.getvalue()


def _from_npz(raw: bytes) -> dict[str, HostArray]:
    """The columns that `to_npz` was given; ValueError if these are no such bytes."""
    stored = read_npz(raw)
    found = dict[str, HostArray]()
    for key, values in stored.items():
        name, _, kind = key.rpartition(":")
        if values.ndim != 1:
            raise ValueError(f"{name} is no column")
        if kind == "number":
            found[name] = values
        elif kind in UNITS:
            found[name] = values.astype(np.int64).view(f"datetime64[{kind}]")
        elif kind in ("text", "bytes"):
            size, code = (stored.get(f"{name}:{part}", np.zeros(0)) for part in ("size", "code"))
            if size.dtype != np.int64 or code.dtype != np.int64 or values.dtype != np.uint8:
                raise ValueError(f"{name} is no column of text")
            if ((size < 0) | (size > len(values))).any() or sum(size.tolist()) != len(values):
                raise ValueError(f"the labels of {name} are not as long as they claim")
            if ((code < 0) | (code >= len(size))).any():
                raise ValueError(f"{name} has a label that is not there")
            ends, whole = np.cumsum(size).tolist(), values.tobytes()
            labels = [whole[i:j] for i, j in zip([0, *ends], ends, strict=False)]
            texts: list[Any] = labels if kind == "bytes" else [x.decode() for x in labels]
            found[name] = np.array([*texts, None], object)[code]
    return found


def _checked(raw: bytes, rows: int, wanted: Mapping[str, str]) -> dict[str, HostArray]:
    """Columns of so many rows, these kinds among them."""
    columns = _from_npz(raw)
    if missing := [name for name in wanted if name not in columns]:
        raise ValueError(f"{missing[0]} is missing")
    optional = {name: kind for name, kind in PERFORMANCE_TYPES.items() if name in columns}
    for name, kind in {**wanted, **optional}.items():
        if columns[name].dtype.kind not in KINDS[kind]:
            raise ValueError(f"{name} is of {columns[name].dtype}")
    for name, values in columns.items():
        if len(values) != rows:
            raise ValueError(f"{name} has {len(values):,} rows, not {rows:,}")
    return columns


def read_plain_ratings(raw: bytes, num_players: int) -> tuple[HostArray, HostArray]:
    """As `read_ratings`, from an .npz file."""
    columns = _checked(raw, num_players, RATINGS)
    order = np.argsort(columns["id"], kind="stable")
    if not np.array_equal(columns["id"][order], np.arange(num_players)):
        raise ValueError(f"its ids are not those of {num_players:,} players")
    if num_players and columns["games"].min() < 0:
        raise ValueError("a player has less than no games")
    return columns["player"][order], columns["games"][order]


def read_plain_predictions(raw: bytes, kind: str, count: int, players: HostArray) -> Any:
    """As `read_predictions`, from an .npz file; an Arrow table where pyarrow is installed."""
    columns, known = (
        _checked(raw, count, MATCH_COLUMNS if kind == COUNT_KEYS[0] else PARTICIPATION_COLUMNS),
        {*players.tolist()},
    )
    for name in ("a", "b") if kind == COUNT_KEYS[0] else ("player",):
        if not {*columns[name].tolist()} <= known:
            raise ValueError(f"{name} holds a name that no player has")
    if kind != COUNT_KEYS[0] and count and columns["participants"].min() < 1:
        raise ValueError("a contest has less than one participant")
    return as_table(columns)
