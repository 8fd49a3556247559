"""Checks of the files of a saved run: contents before they are used, sizes before memory is taken."""

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
from jaxrate.systems.rounds.performances_and_break_even_ranks import PERFORMANCE_COLUMNS

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
