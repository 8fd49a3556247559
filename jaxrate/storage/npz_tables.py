"""Tables of a history without pyarrow: NumPy columns by name, in .npz files that hold numbers only.

Numbers are stored as they are, dates as integers, and text as the bytes of its labels and the label of each row. So
nothing is pickled, and each text takes as much space as it is long.
"""

import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
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
from jaxrate.events import MAX_ABS_DAYS
from jaxrate.replay.padded_states_and_columns import leaves_by_name, state_shapes
from jaxrate.systems.rounds.performance_inference import PERFORMANCE_COLUMNS

COUNT_KEYS = ("matches", "participations")
MATCH_COLUMNS = {  # kinds of the columns of predictions; there may be further columns
    "row": "integer",
    "time": "time",
    "a": "name",
    "b": "name",
    "score": "floating",
    "prediction": "floating",
    "rating_a": "floating",
    "rating_b": "floating",
}
PARTICIPATION_COLUMNS = {
    "row": "integer",
    "contest": "name",
    "time": "time",
    "player": "name",
    "rank": "integer",
    "participants": "integer",
    "prediction": "floating",
    "rating": "floating",
}
PERFORMANCE_KINDS = dict(zip(PERFORMANCE_COLUMNS, ("floating", "integer"), strict=True))  # with nulls
OPTIONAL_KINDS = {  # kinds of columns that not all predictions have
    **dict.fromkeys(("deviation", "deviation_a", "deviation_b", "win", "draw", "loss", "quality"), "floating"),
    **dict.fromkeys(("rating_after", "deviation_after", "points_a", "points_b", "side"), "floating"),
    **dict.fromkeys(("rating_after_a", "rating_after_b", "deviation_after_a", "deviation_after_b"), "floating"),
    **dict.fromkeys(("teams", "team"), "integer"),
    **dict.fromkeys(("category", "category_a", "category_b"), "name"),
    **PERFORMANCE_KINDS,
}
COLUMN_PAIRS = (  # of both players, in predictions of matches
    ("deviation_a", "deviation_b"),
    ("rating_after_a", "rating_after_b"),
    ("deviation_after_a", "deviation_after_b"),
    ("points_a", "points_b"),
    ("category_a", "category_b"),
    ("win", "loss"),
)
NAME_TYPES = ("string", "large_string", "binary", "large_binary", "integer", "floating", "boolean")
TIME_TYPES = ("null", "integer", "floating", "date", "timestamp")
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
    for key, (is_valid, expected) in {count_keys[0]: COUNT_RULE, **METADATA_RULES}.items():
        if key not in metadata:
            raise ValueError(f"{key} is missing")
        if not is_valid(metadata[key]):
            raise ValueError(f"{key} must be {expected}, not {_short_repr(metadata[key])}")
    seasons = metadata.get("seasons")
    if seasons is not None and not (isinstance(seasons, dict) and all(map(_is_number, seasons.values()))):
        raise ValueError(f"seasons must be times by name, not {_short_repr(seasons)}")
    if metadata["clock"] == "dates" and metadata["last"] is not None and abs(metadata["last"]) > MAX_ABS_DAYS:
        raise ValueError(f"last is no date: {metadata['last']}")


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


def _is_categories(value: Any) -> bool:
    kinds: list[Any] = [str, (int, float)]
    return value is None or (
        isinstance(value, list)
        and bool(value)
        and any(all(isinstance(x, kind) and _is_json_value(x) for x in value) for kind in kinds)
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
    "categories": (_is_categories, "names, all text or all numbers"),
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
        kind = np.dtype(expected_leaves[key].dtype)
        allowed_types = [np.dtype(f"{kind.kind}{size}") for size in (4, 8)] if kind.itemsize in (4, 8) else [kind]
        if x.dtype not in allowed_types:
            raise ValueError(f"{key} is of {x.dtype}, not of {kind}")
        if x.dtype.kind == "f":
            is_finite = np.isfinite(x).all() if np.isfinite(newcomer[key]).all() else not np.isnan(x).any()
            if not is_finite and not np.isnan(newcomer[key]).any():
                raise ValueError(f"{key} is not a number for some player")
    return jax.tree.unflatten(jax.tree.structure(fresh), [arrays[key] for key in expected_leaves])


def check_column_pairs(kind: str, names: Iterable[str]) -> None:
    """ValueError if predictions of matches have a column of one player without that of the other."""
    for pair in COLUMN_PAIRS if kind == COUNT_KEYS[0] else ():
        if len(missing := {*pair} - {*names}) == 1:
            raise ValueError(f"{missing.pop()} is missing")


def read_parquet_names_and_games(raw: bytes, num_players: int) -> tuple[HostArray, HostArray]:
    """Names and games of players by id, from the bytes of the Parquet table of ratings."""
    table = _read_parquet_columns(raw, num_players, {"id": "integer", "player": "name", "games": "integer"}).sort_by(
        "id"
    )
    ids, games = (table[name].to_numpy() for name in ("id", "games"))
    if not np.array_equal(ids, np.arange(num_players)):
        raise ValueError(f"its ids are not those of {num_players:,} players")
    if num_players and games.min() < 0:
        raise ValueError("a player has less than no games")
    return table["player"].to_numpy(), games.copy()


def read_parquet_predictions(raw: bytes, kind: str, count: int, players: HostArray) -> Any:
    """The Arrow table of predictions: one row for each of `count` matches or participations of these players."""
    arrow = import_pyarrow()
    column_kinds = MATCH_COLUMNS if kind == "matches" else PARTICIPATION_COLUMNS
    table = _read_parquet_columns(raw, count, column_kinds, keep_others=True)
    check_column_pairs(kind, table.column_names)
    for name in ("a", "b") if kind == "matches" else ("player",):
        player_names = arrow.array(players).cast(table[name].type)
        if not arrow.compute.all(arrow.compute.is_in(table[name], player_names), min_count=0).as_py():
            raise ValueError(f"{name} holds a name that no player has")
    if kind != "matches" and count and arrow.compute.min(table["participants"]).as_py() < 1:
        raise ValueError("a contest has less than one participant")
    return table


def _read_parquet_columns(raw: bytes, num_rows: int, column_kinds: Mapping[str, str], keep_others: bool = False) -> Any:
    """A Parquet table of `num_rows` rows, with columns of these kinds and, if `keep_others`, all others."""
    arrow = import_pyarrow()
    with arrow.parquet.ParquetFile(arrow.BufferReader(raw)) as file:
        if file.metadata.num_rows != num_rows:
            raise ValueError(f"it has {file.metadata.num_rows:,} rows, not {num_rows:,}")
        if num_rows > MANY_ROWS and num_rows > ROWS_PER_BYTE * len(raw):
            raise ValueError("it claims more than it holds")
        names = file.schema_arrow.names
        if len(set(names)) != len(names) or set(column_kinds) - set(names):
            raise ValueError(f"its columns are {_short_repr(names)}, not {', '.join(column_kinds)}")
        optional = {name: kind for name, kind in OPTIONAL_KINDS.items() if name in names}
        for name, kind in {**column_kinds, **optional}.items():
            column_type = file.schema_arrow.field(name).type
            kinds = {"time": TIME_TYPES, "name": NAME_TYPES}.get(kind, (kind,))
            if not any(getattr(arrow.types, f"is_{x}")(column_type) for x in kinds):
                raise ValueError(f"{name} is of {column_type}")
        table = file.read(columns=None if keep_others else list(column_kinds))
    if len(table) != num_rows:
        raise ValueError(f"it has {len(table):,} rows, not {num_rows:,}")
    for name, kind in column_kinds.items():
        if kind != "time" and table[name].null_count:
            raise ValueError(f"{name} has no value in some row")
    return table


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
