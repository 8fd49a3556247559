"""Tables of a history and their checks: Parquet or, without pyarrow, .npz files that hold numbers only.

In .npz files numbers are stored as they are, dates as integers, and text as the bytes of its labels and the label of
each row. So nothing is pickled, and each text takes as much space as it is long.
"""

import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from math import prod
from typing import Any

import jax
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.data.table_sources import import_pyarrow
from jaxrate.events import MAX_ABS_DAYS, period_number
from jaxrate.replay.padded_states_and_columns import leaves_by_name, state_shapes
from jaxrate.systems.rounds.performance_inference import PERFORMANCE_COLUMNS

COUNT_KEYS = ("matches", "participations")
MATCH_COLUMNS = "row", "time", "a", "b", "score", "prediction", "rating_a", "rating_b"  # of predictions, at least
PARTICIPATION_COLUMNS = "row", "contest", "time", "player", "rank", "participants", "prediction", "rating"
RATING_COLUMNS = "id", "player", "games"
PERFORMANCE_KINDS = dict(zip(PERFORMANCE_COLUMNS, ("floating", "integer"), strict=True))  # with nulls
COLUMN_KINDS = {  # of the columns that have these names; there may be further columns
    **dict.fromkeys(("a", "b", "player", "contest", "category", "category_a", "category_b"), "name"),
    **dict.fromkeys(("row", "id", "games", "rank", "participants", "teams", "team"), "integer"),
    **dict.fromkeys(("score", "prediction", "win", "draw", "loss", "quality", "side"), "floating"),
    **{
        f"{name}{side}": "floating"
        for name in ("rating", "deviation", "rating_after", "deviation_after", "points")
        for side in ("", "_a", "_b")
    },
    **PERFORMANCE_KINDS,
    "time": "time",
}
COLUMN_PAIRS = [("win", "loss"), *((name, f"{name[:-1]}b") for name in COLUMN_KINDS if name.endswith("_a"))]
DTYPE_KINDS = {"integer": "iu", "floating": "f", "name": "OSiufb", "time": "iufM"}  # of NumPy, of each kind of column
MANY_ROWS, ROWS_PER_BYTE = 1_000_000, 8  # rows of predictions, and rows in a byte: real rows take some 30 bytes each


@contextmanager
def name_file_in_errors(name: str) -> Iterator[None]:
    """Turn every error into a ValueError that names the file: readers of forged bytes may raise anything."""
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split()) if isinstance(error, ValueError) else repr(error)
        raise ValueError(f"{name} is damaged ({text[:300]})") from error


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """ValueError unless run.json has all its keys, with values of the right kinds."""
    count_keys = [key for key in COUNT_KEYS if key in metadata]
    if len(count_keys) != 1:
        raise ValueError("it must have either matches or participations")
    values = {"seasons": None} | dict(metadata)  # runs of earlier versions have no seasons
    for key, (is_valid, expected) in {count_keys[0]: COUNT_RULE, **METADATA_RULES}.items():
        if key not in values:
            raise ValueError(f"{key} is missing")
        if not is_valid(values[key]):
            raise ValueError(f"{key} must be {expected}, not {_short_repr(values[key])}")
    last, period = metadata["last"] or 0.0, metadata["period"]
    if metadata["clock"] == "dates" and abs(last) > MAX_ABS_DAYS:
        raise ValueError(f"last is no date: {last}")
    if period is not None:
        period_number(last, period)


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else f"{text[:40]}..."


def _is_number(value: Any) -> bool:
    top = sys.float_info.max
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -top <= value <= top


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 48


def _is_json_value(value: Any) -> bool:
    """Whether a value is from JSON, without dicts and without integers that no array holds."""
    if isinstance(value, list):
        return all(map(_is_json_value, value))
    whole = isinstance(value, int) and -(1 << 63) <= value < 1 << 63
    return whole or value is None or isinstance(value, (str, float))


def _are_names(values: Any) -> bool:
    """Whether these are some names, all text or all numbers."""
    kinds: tuple[Any, ...] = (str, (int, float))
    return isinstance(values, list) and any(
        values and all(isinstance(x, kind) and _is_json_value(x) for x in values) for kind in kinds
    )


COUNT_RULE = _is_count, "a count"
METADATA_RULES = {
    "jaxrate": (lambda x: isinstance(x, str), "a version"),
    "system": (lambda x: isinstance(x, str), "a name"),
    "settings": (lambda x: isinstance(x, dict) and all(map(_is_json_value, x.values())), "settings by name"),
    "params": (
        lambda x: isinstance(x, dict) and all(v is None or (isinstance(v, float) and v == v) for v in x.values()),
        "numbers by name",
    ),
    "period": (lambda x: x is None or (_is_number(x) and x > 0), "a length above 0"),
    "players": COUNT_RULE,
    "last": (lambda x: x is None or _is_number(x), "a time"),
    "clock": (lambda x: x in (None, "dates", "numbers"), "dates, numbers or null"),
    "options": (lambda x: isinstance(x, dict), "options by name"),
    "categories": (lambda x: x is None or _are_names(x), "names, all text or all numbers"),
    "seasons": (
        lambda x: x is None or (isinstance(x, dict) and all(map(_is_number, x.values()))),
        "times by name",
    ),
}


def read_npz_arrays(raw: bytes) -> dict[str, HostArray]:
    """The arrays of an uncompressed .npz file by name. ValueError if they claim to be larger than the file."""
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        entries = archive.infolist()
        is_uncompressed = all(x.compress_type == zipfile.ZIP_STORED for x in entries)
        if not is_uncompressed or sum(x.file_size for x in entries) > len(raw):
            raise ValueError("it claims more than it holds")
        arrays = {}
        for entry in entries:
            with archive.open(entry) as opened:
                if np.lib.format.read_magic(opened) != (1, 0):
                    raise ValueError(f"{entry.filename} is no array of numbers")
                shape, columns, kind = np.lib.format.read_array_header_1_0(opened)
                data = opened.read()
            if kind.hasobject or kind.kind not in "fiub" or prod(shape) * kind.itemsize != len(data):
                raise ValueError(f"{entry.filename} is no array of {_short_repr(shape)} numbers")
            name = entry.filename.removesuffix(".npy")
            arrays[name] = np.frombuffer(data, kind).reshape(shape, order="F" if columns else "C").copy()
        if len(arrays) != len(entries):
            raise ValueError("several arrays have the same name")
        return arrays


def restore_state(system: RatingSystem, num_players: int, arrays: Mapping[str, HostArray]) -> State:
    """The state of `num_players` players with these leaves, in their own precision.

    Raises:
      ValueError: if the system's state has other leaves, shapes or types, or if a number is NaN or, where newcomers
        have finite numbers, infinite.
    """
    if any(x.ndim == 0 or len(x) != num_players for x in arrays.values()):
        raise ValueError(f"it is not of {num_players:,} players")
    fresh = state_shapes(system, num_players)
    expected_leaves = leaves_by_name(fresh)
    if {key: x.shape for key, x in arrays.items()} != {key: x.shape for key, x in expected_leaves.items()}:
        raise ValueError(f"it is not a state of {system.name}; rate the matches again")
    newcomer = leaves_by_name(system.init(system.params, 1))
    for key, x in arrays.items():
        _check_leaf(key, x, np.dtype(expected_leaves[key].dtype), newcomer[key])
    return jax.tree.unflatten(jax.tree.structure(fresh), [arrays[key] for key in expected_leaves])


def _check_leaf(key: str, x: HostArray, kind: Any, newcomer: Any) -> None:
    """ValueError for a leaf of another type, in any precision, or without a number where newcomers have one."""
    if x.dtype not in ([np.dtype(f"{kind.kind}{size}") for size in (4, 8)] if kind.itemsize in (4, 8) else [kind]):
        raise ValueError(f"{key} is of {x.dtype}, not of {kind}")
    if x.dtype.kind != "f" or np.isnan(newcomer).any():
        return
    is_bad = np.isnan(x) if np.isinf(newcomer).any() else ~np.isfinite(x)
    if is_bad.any():
        raise ValueError(f"{key} is not a number for some player")


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
            columns[name] = _texts_from_labels(name, values, size, code, kind == "text")
    return columns


def _texts_from_labels(name: str, values: HostArray, size: HostArray, code: HostArray, is_text: bool) -> HostArray:
    """Texts or bytes, from the bytes of all labels, their sizes, and the number of that of each row."""
    if size.dtype != np.int64 or code.dtype != np.int64 or values.dtype != np.uint8:
        raise ValueError(f"{name} is no column of text")
    if ((size < 0) | (size > len(values))).any() or sum(size.tolist()) != len(values):
        raise ValueError(f"the labels of {name} are not as long as they claim")
    if ((code < 0) | (code >= len(size))).any():
        raise ValueError(f"{name} has a label that is not there")
    ends, text_bytes = np.cumsum(size).tolist(), values.tobytes()
    labels: list[Any] = [text_bytes[i:j] for i, j in zip([0, *ends], ends, strict=False)]
    return np.array([*(x.decode() for x in labels), None] if is_text else [*labels, None], object)[code]


def _read_table(name: str, raw: bytes, num_rows: int, required: Sequence[str], whole: bool) -> Any:
    """The columns of these names, or all, of a table of `num_rows` rows; of Arrow or, in .npz files, of NumPy."""
    is_npz = name.endswith(".npz")
    table: Any = _columns_from_npz(raw) if is_npz else _read_parquet(raw, num_rows, None if whole else [*required])
    names = list(table) if is_npz else table.column_names
    if missing := [name for name in required if name not in names]:
        raise ValueError(f"{missing[0]} is missing")
    for column in names:
        _check_column(column, table[column], num_rows, is_required=column in required)
    return table


def _check_column(name: str, values: Any, num_rows: int, is_required: bool) -> None:
    """ValueError for a column of another kind than its name has, or without a value in some row."""
    if name in COLUMN_KINDS and _dtype_kind(values) not in DTYPE_KINDS[COLUMN_KINDS[name]]:
        raise ValueError(f"{name} is of {getattr(values, 'dtype', getattr(values, 'type', None))}")
    if is_required and name != "time" and getattr(values, "null_count", False):
        raise ValueError(f"{name} has no value in some row")
    if len(values) != num_rows:
        raise ValueError(f"{name} has {len(values):,} rows, not {num_rows:,}")


def _read_parquet(raw: bytes, num_rows: int, names: list[str] | None) -> Any:
    """The table of these columns, or of all, from the bytes of a Parquet file; ValueError if it is not so long."""
    arrow = import_pyarrow()
    with arrow.parquet.ParquetFile(arrow.BufferReader(raw)) as file:
        if file.metadata.num_rows != num_rows:
            raise ValueError(f"it has {file.metadata.num_rows:,} rows, not {num_rows:,}")
        if num_rows > MANY_ROWS and num_rows > ROWS_PER_BYTE * len(raw):
            raise ValueError("it claims more than it holds")
        found = file.schema_arrow.names
        if len(set(found)) != len(found):
            raise ValueError(f"its columns are {_short_repr(found)}, some of which have one name")
        return file.read(columns=None if names is None else [name for name in names if name in found])


def _dtype_kind(column: Any) -> str:
    """The kind of the dtype of NumPy that has the values of a column; "V" if none has."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind
    types = import_pyarrow().types
    if types.is_null(column.type):
        return "f"
    is_plain = types.is_primitive(column.type) or any(
        getattr(types, f"is_{name}")(column.type) for name in ("string", "large_string", "binary", "large_binary")
    )
    return np.dtype(column.type.to_pandas_dtype()).kind if is_plain else "V"


def read_names_and_games(name: str, raw: bytes, num_players: int) -> tuple[HostArray, HostArray]:
    """Names and games of players by id, from the bytes of the table of ratings of this name.

    Raises:
      ValueError: if it is not the table of so many players.
    """
    table = _read_table(name, raw, num_players, RATING_COLUMNS, whole=False)
    ids, names, games = (np.asarray(table[column]) for column in RATING_COLUMNS)
    order = np.argsort(ids, kind="stable")
    if not np.array_equal(ids[order], np.arange(num_players)):
        raise ValueError(f"its ids are not those of {num_players:,} players")
    if num_players and games.min() < 0:
        raise ValueError("a player has less than no games")
    return names[order], games[order]


def read_predictions(name: str, raw: bytes, kind: str, count: int, players: HostArray) -> Any:
    """The table of predictions of this name from its bytes, of Arrow or, in .npz files, of NumPy.

    It has one row for each of `count` matches or participations, as `kind` says, of these players.

    Raises:
      ValueError: if it is not such a table.
    """
    is_of_matches = kind == COUNT_KEYS[0]
    table = _read_table(name, raw, count, MATCH_COLUMNS if is_of_matches else PARTICIPATION_COLUMNS, whole=True)
    names = {*getattr(table, "column_names", table)}
    for pair in COLUMN_PAIRS if is_of_matches else ():
        if len(missing := {*pair} - names) == 1:
            raise ValueError(f"{missing.pop()} is missing")
    for side in ("a", "b") if is_of_matches else ("player",):
        if not _all_among(table[side], players):
            raise ValueError(f"{side} holds a name that no player has")
    if not is_of_matches and count and np.min(np.asarray(table["participants"])) < 1:
        raise ValueError("a contest has less than one participant")
    return table


def _all_among(names: Any, players: HostArray) -> bool:
    """Whether all names, a column of NumPy or of Arrow, are those of players."""
    if isinstance(names, np.ndarray):
        return {*names.tolist()} <= {*players.tolist()}
    arrow = import_pyarrow()
    is_known = arrow.compute.is_in(names, arrow.array(players).cast(names.type))
    return bool(arrow.compute.all(is_known, min_count=0).as_py())
