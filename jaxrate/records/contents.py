"""What the files of a saved run hold: bytes are checked before they are believed, sizes before they are made."""

import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from math import prod
from typing import Any

import jax
import numpy as np

from jaxrate.data.tables import Values, pyarrow
from jaxrate.events import DAYS
from jaxrate.records.careers import leaves
from jaxrate.records.performed import COLUMNS
from jaxrate.replay.compiling import blank
from jaxrate.system import RatingSystem, State

COUNTS = ("matches", "participations")
MATCHES = {  # kinds of the columns of predictions, which may have more
    "row": "integer",
    "time": "time",
    "a": "name",
    "b": "name",
    "score": "floating",
    "prediction": "floating",
    "rating_a": "floating",
    "rating_b": "floating",
}
PARTICIPATIONS = {
    "row": "integer",
    "contest": "name",
    "time": "time",
    "player": "name",
    "rank": "integer",
    "participants": "integer",
    "prediction": "floating",
    "rating": "floating",
}
PERFORMED = dict(zip(COLUMNS, ("floating", "integer"), strict=True))  # columns that only some have, with nulls
NAMES = ("string", "large_string", "binary", "large_binary", "integer", "floating", "boolean")
TIMES = ("null", "integer", "floating", "date", "timestamp")
MANY, DENSE = 1_000_000, 8  # rows of predictions, and rows in a byte: true ones take some 30 bytes each


@contextmanager
def file_named(name: str) -> Iterator[None]:
    """Whatever goes wrong is a ValueError that names the file: what reads forged bytes may raise anything."""
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split()) if isinstance(error, ValueError) else repr(error)
        raise ValueError(f"{name} is damaged ({text[:300]})") from error


def check_about(about: Mapping[str, Any]) -> None:
    """ValueError unless run.json tells everything, and each as what it should be."""
    told = [key for key in COUNTS if key in about]
    if len(told) != 1:
        raise ValueError("either matches or participations must be there")
    for key, (right, what) in {told[0]: COUNT, **EXPECTED}.items():
        if key not in about:
            raise ValueError(f"{key} is missing")
        if not right(about[key]):
            raise ValueError(f"{key} must be {what}, not {_short(about[key])}")
    seasons = about.get("seasons")
    if seasons is not None and not (isinstance(seasons, dict) and all(map(_number, seasons.values()))):
        raise ValueError(f"seasons must be times by name, not {_short(seasons)}")
    if about["clock"] == "dates" and about["last"] is not None and abs(about["last"]) > DAYS:
        raise ValueError(f"last is no date: {about['last']}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else f"{text[:40]}..."


def _number(value: Any) -> bool:
    top = sys.float_info.max
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -top <= value <= top


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 48


def _plain(value: Any) -> bool:
    """What JSON holds, without dicts and without whole numbers that no array holds."""
    if isinstance(value, list):
        return all(map(_plain, value))
    whole = isinstance(value, int) and -(1 << 63) <= value < 1 << 63
    return whole or value is None or isinstance(value, (str, float))


def _categories(value: Any) -> bool:
    kinds: list[Any] = [str, (int, float)]
    return value is None or (
        isinstance(value, list)
        and bool(value)
        and any(all(isinstance(x, kind) and _plain(x) for x in value) for kind in kinds)
    )


COUNT = _count, "a count"
EXPECTED = {
    "jaxrate": (lambda x: isinstance(x, str), "a version"),
    "system": (lambda x: isinstance(x, str), "a name"),
    "settings": (lambda x: isinstance(x, dict) and all(map(_plain, x.values())), "settings by name"),
    "params": (
        lambda x: isinstance(x, dict) and all(v is None or (isinstance(v, float) and v == v) for v in x.values()),
        "numbers by name",
    ),
    "period": (lambda x: x is None or (_number(x) and x > 0), "a length above 0"),
    "players": COUNT,
    "last": (lambda x: x is None or _number(x), "a time"),
    "clock": (lambda x: x in (None, "dates", "numbers"), "dates, numbers or null"),
    "options": (lambda x: isinstance(x, dict), "options by name"),
    "categories": (_categories, "names, all text or all numbers"),
}


def unpacked(raw: bytes) -> dict[str, Values]:
    """The arrays of a .npz file that is not compressed, by name: no larger together than the file is."""
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        entries = archive.infolist()
        stored = all(x.compress_type == zipfile.ZIP_STORED for x in entries)
        if not stored or sum(x.file_size for x in entries) > len(raw):
            raise ValueError("it claims more than it holds")
        found = {}
        for entry in entries:
            with archive.open(entry) as opened:
                if np.lib.format.read_magic(opened) != (1, 0):
                    raise ValueError(f"{entry.filename} is no array of numbers")
                shape, columns, kind = np.lib.format.read_array_header_1_0(opened)
                data = opened.read()
            if kind.hasobject or kind.kind not in "fiub" or prod(shape) * kind.itemsize != len(data):
                raise ValueError(f"{entry.filename} is no array of {_short(shape)} numbers")
            name = entry.filename.removesuffix(".npy")
            found[name] = np.frombuffer(data, kind).reshape(shape, order="F" if columns else "C").copy()
        if len(found) != len(entries):
            raise ValueError("several arrays have the same name")
        return found


def as_state(system: RatingSystem, num_players: int, stored: Mapping[str, Values]) -> State:
    """The state of so many players with these leaves, in the precision in which they are.

    Raises:
      ValueError: if the system's state has other leaves, if their shapes or types are others, or if a number is NaN
        or, where those of newcomers are finite, infinite.
    """
    if any(x.ndim == 0 or len(x) != num_players for x in stored.values()):
        raise ValueError(f"it is not of {num_players:,} players")
    fresh = blank(system, num_players)
    wanted = leaves(fresh)
    if {key: x.shape for key, x in stored.items()} != {key: x.shape for key, x in wanted.items()}:
        raise ValueError(f"it is another kind of state than {system.name} has; rate the matches again")
    newcomer = leaves(system.init(system.params, 1))
    for key, x in stored.items():
        kind = np.dtype(wanted[key].dtype)
        twins = [np.dtype(f"{kind.kind}{size}") for size in (4, 8)] if kind.itemsize in (4, 8) else [kind]
        if x.dtype not in twins:
            raise ValueError(f"{key} is of {x.dtype}, not of {kind}")
        if x.dtype.kind == "f":
            usual = np.isfinite(x).all() if np.isfinite(newcomer[key]).all() else not np.isnan(x).any()
            if not usual and not np.isnan(newcomer[key]).any():
                raise ValueError(f"{key} is not a number for some player")
    return jax.tree.unflatten(jax.tree.structure(fresh), [stored[key] for key in wanted])


def read_ratings(raw: bytes, num_players: int) -> tuple[Values, Values]:
    """Names and games of players in order of id, from the table of ratings."""
    table = _read(raw, num_players, {"id": "integer", "player": "name", "games": "integer"}).sort_by("id")
    ids, games = (table[name].to_numpy() for name in ("id", "games"))
    if not np.array_equal(ids, np.arange(num_players)):
        raise ValueError(f"its ids are not those of {num_players:,} players")
    if num_players and games.min() < 0:
        raise ValueError("a player has less than no games")
    return table["player"].to_numpy(), games.copy()


def read_predictions(raw: bytes, kind: str, count: int, players: Values) -> Any:
    """The Arrow table of predictions: one row for each of the `count` matches or participations, between `players`."""
    arrow = pyarrow()
    wanted = MATCHES if kind == "matches" else PARTICIPATIONS
    table = _read(raw, count, wanted, more=True)
    for name in ("a", "b") if kind == "matches" else ("player",):
        known = arrow.array(players).cast(table[name].type)
        if not arrow.compute.all(arrow.compute.is_in(table[name], known), min_count=0).as_py():
            raise ValueError(f"{name} holds a name that no player has")
    if kind != "matches" and count and arrow.compute.min(table["participants"]).as_py() < 1:
        raise ValueError("a contest has less than one participant")
    return table


def _read(raw: bytes, rows: int, wanted: Mapping[str, str], more: bool = False) -> Any:
    """A Parquet table of so many rows, with columns of these kinds and, if `more`, all others."""
    arrow = pyarrow()
    with arrow.parquet.ParquetFile(arrow.BufferReader(raw)) as file:
        if file.metadata.num_rows != rows:
            raise ValueError(f"it has {file.metadata.num_rows:,} rows, not {rows:,}")
        if rows > MANY and rows > DENSE * len(raw):
            raise ValueError("it claims more than it holds")
        names = file.schema_arrow.names
        if len(set(names)) != len(names) or set(wanted) - set(names):
            raise ValueError(f"its columns are {_short(names)}, not {', '.join(wanted)}")
        optional = {name: kind for name, kind in PERFORMED.items() if name in names}
        for name, kind in {**wanted, **optional}.items():
            found = file.schema_arrow.field(name).type
            kinds = {"time": TIMES, "name": NAMES}.get(kind, (kind,))
            if not any(getattr(arrow.types, f"is_{x}")(found) for x in kinds):
                raise ValueError(f"{name} is of {found}")
        table = file.read(columns=None if more else list(wanted))
    if len(table) != rows:
        raise ValueError(f"it has {len(table):,} rows, not {rows:,}")
    for name, kind in wanted.items():
        if kind != "time" and table[name].null_count:
            raise ValueError(f"{name} has no value in some row")
    return table
