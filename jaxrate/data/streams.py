"""Matches in Parquet files of any size, a chunk at a time: in order of time, with ids in place of names."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.columns import to_column, to_days
from jaxrate.data.dataset import Dataset
from jaxrate.data.dates import EIGHT_DIGITS, to_dates
from jaxrate.data.evidence import TIMELESS, InSeasons, in_seasons, rows_from, season_starts
from jaxrate.data.matches import numbers_of
from jaxrate.data.numbering import numbering
from jaxrate.data.ordering import ROW, put_in_order
from jaxrate.data.parts import Parts, backwards, batches, check_whole, chunks, ranges
from jaxrate.data.roles import Roles, roles_of
from jaxrate.data.tables import Column, Values, located, pyarrow
from jaxrate.events import RowError, fail_where, matches
from jaxrate.text import name_of

ROLES = ("a", "b", "winner", "loser", "score", "time", "side", "neutral", "weight")  # that columns may have
OTHERS = (
    "contest",
    "participant",
    "rank",
    "last_rank",
    "team",
    "ceiling",
    "noise",
    "category",
    "season",
    "rest",
    "form",
    "league_season",
)
LISTS = ("columns", "drop", "margin", "covariates", "age", "statistics", "shares")
SPARSE, FEW = 4, 1 << 20  # whole numbers are looked up in a table, which may be so many times as long as the history


class Opened(NamedTuple):
    """A table of matches that is read in chunks."""

    source: Parts
    table: Parts  # the source, or what it became when it was put in order
    roles: Roles
    players: int  # how many there are at most
    names: Any  # [players] by id: an Arrow array, or one of NumPy that fills as they come
    ids: Any  # names [n, 2] -> ids [n, 2] and how many are known then; None if the table has ids
    clock: str | None  # as in `Dataset`

    @property
    def ordered(self) -> bool:
        """Whether the source had to be put in order."""
        return self.table is not self.source

    @property
    def whole_days(self) -> bool:
        """Whether times are days, and have no time of day."""
        kind = None if self.clock != "dates" else self.source.schema.field(self.roles.time).type
        return kind is not None and not pyarrow().types.is_timestamp(kind)


def roles_in(parts: Parts, given: Mapping[str, Any]) -> Roles:
    """Which columns are used; ValueError for contests."""
    nothing: dict[str, Any] = dict.fromkeys((*ROLES, *OTHERS)) | dict.fromkeys(LISTS, ())
    with located(f"{parts.title}: ", parts.where):
        roles = roles_of(parts.schema.names, nothing | dict(given), False)
        if roles.form.contest is not None:
            raise ValueError("contests are not rated by chunks; read them into memory")
        return roles


def seasons_in(parts: Parts, season: str, roles: Roles) -> dict[str, float]:
    """When each season in this column begins, as in a `Dataset` of the whole table; two columns are read.

    Raises:
      ValueError: where a season has no name or time, or is not over, for the most part, when the next begins.
    """
    time, clock = roles.time, _clock(parts, roles.time)

    def pieces() -> Iterator[InSeasons]:
        first = 0
        for _, batch in batches(parts, [season, str(time)]):
            found = {name: to_column(name, pyarrow().chunked_array([batch[name]])) for name in (season, str(time))}
            with rows_from(first):
                days = _days(str(time), found[str(time)], clock)
            yield in_seasons(season, found, days, first)
            first += len(batch)

    with located(f"{parts.title}: ", parts.where):
        if time is None:
            raise ValueError(TIMELESS)
        return season_starts(pieces, None)


def used(parts: Parts, roles: Roles) -> str:
    """What tells the table, and the columns that are used, from others."""
    told = [(part.path.name, part.digest) for part in parts.files]
    return sha256(repr((told, roles)).encode()).hexdigest()[:16]


def open_matches(parts: Parts, roles: Roles, folder: Path, rows: int, memory: str, known: Values | None) -> Opened:
    """The table, put in order if it has to be: if times decrease, or if names are no whole numbers that lie close.

    Args:
      parts: the source.
      roles: which columns are used.
      folder: where the ordered table is kept meanwhile.
      rows: of a chunk.
      memory: that ordering may take.
      known: names that have ids already, of a table that was not put in order.
    """
    time, who = roles.time, roles.form.who
    with located("", parts.where):
        _check_types(parts, roles)
        clock = _clock(parts, time)
        fall = None if time is None else backwards(parts, time)
        if fall is not None and known is not None:
            raise RowError(fall, "the time is earlier than in the row before; rate all matches anew, in another folder")
        near = None if fall is not None else _close(parts, who)
        if near is not None:
            kind = np.result_type(*(parts.schema.field(x).type.to_pandas_dtype() for x in who))
            ids, names = numbering(*near, np.zeros(0, kind) if known is None else known, kind)
            return Opened(parts, parts, roles, min(len(names), 2 * parts.rows), names, ids, clock)
        more = [name for name in roles.wanted if name not in (*who, time)]
        try:
            table, named = put_in_order(parts, who, time, more, folder / used(parts, roles), rows, memory)
        except ImportError as error:
            why = "names are no whole numbers that lie close together"
            if fall is not None:
                why = f"{parts.where(fall)}: the time is earlier than in the row before"
            raise ImportError(f"{why}; {error}") from None
    return Opened(parts, table, roles, len(named), named, None, clock)


def _check_types(parts: Parts, roles: Roles) -> None:
    kinds = pyarrow().types
    found = [parts.schema.field(name).type for name in roles.form.who]
    whole = all(map(kinds.is_integer, found)) and np.result_type(*(x.to_pandas_dtype() for x in found)).kind in "iu"
    if not (whole or all(map(_is_text, found))):
        types = " and ".join(map(str, found))
        raise ValueError(f"columns {roles.form.who} must both be text or both whole numbers of a kind, got {types}")


def _is_text(kind: Any) -> bool:
    kinds = pyarrow().types
    if kinds.is_dictionary(kind):
        kind = kind.value_type
    return kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)


def _clock(parts: Parts, time: str | None) -> str | None:
    """What the times are; ValueError if they are neither dates nor numbers."""
    if time is None:
        return None
    kinds, kind = pyarrow().types, parts.schema.field(time).type
    if kinds.is_date(kind) or kinds.is_timestamp(kind):
        return "dates"
    if kinds.is_integer(kind) or kinds.is_floating(kind):
        return "dates" if _has_eight_digit_dates(parts, time) else "numbers"
    raise ValueError(f"column {time!r} must hold dates, timestamps or numbers, got {kind}")


def _has_eight_digit_dates(parquet_table: Parts, time: str) -> bool:
    """Whether all numbers of the column are dates, as 20240131; other ones end the look at it soon."""
    columns = (pyarrow().chunked_array([batch[time]]) for _, batch in batches(parquet_table, [time]))
    return all(to_dates(time, column, None).written == EIGHT_DIGITS for column in columns if len(column))


def _days(time: str, column: Column, clock: str | None) -> Values:
    """[n] times as days, or as they are."""
    return to_days(time, to_dates(time, column, None).column if clock == "dates" else column)[0]


def _close(parts: Parts, who: list[str]) -> tuple[int, int] | None:
    """The least and the greatest name, if names are whole numbers that a table has room for."""
    if not all(pyarrow().types.is_integer(parts.schema.field(name).type) for name in who):
        return None
    found = [ranges(parts, name) for name in who]
    if None in found:
        return None
    low, high = min(x[0] for x in found if x), max(x[1] for x in found if x)
    return (low, high) if high - low < max(SPARSE * parts.rows, FEW) else None


def datasets(
    opened: Opened, size: int, start: int = 0, period: float | None = None
) -> Iterator[tuple[int, Dataset, int]]:
    """The number of the first row, the matches of a chunk, and how many players are known by its end.

    With rating periods of this length, each is whole in its chunk. The datasets have no names of players of their own:
    these are in `opened`.
    """
    roles, nobody = opened.roles, np.zeros(0, object)
    columns = [*roles.wanted, *([ROW] if opened.ordered else [])]
    together = None if period is None else partial(_numbers, str(roles.time), opened.clock, period)
    for first, found in chunks(opened.table, columns, size, start, together):
        rows = np.arange(first, first + len(found[columns[0]]))
        if opened.ordered:
            rows = found[ROW].to_numpy()
        with rows_named(opened.source, rows):
            fields, known = _fields(opened, {name: to_column(name, found[name]) for name in roles.wanted})
            yield first, Dataset(matches(**fields), nobody, rows, None, opened.clock), known


def _numbers(time: str, clock: str | None, length: float, batch: Any) -> Values:
    """[n] the numbers of the rating periods that rows lie in, as `period_number` tells them once times are checked."""
    return np.floor(_days(time, to_column(time, pyarrow().chunked_array([batch[time]])), clock) / length)


@contextmanager
def rows_named(parts: Parts, rows: Values) -> Iterator[None]:
    """Errors about rows of a chunk become those about rows of a file."""
    with located(f"{parts.title}: ", parts.where):
        try:
            yield
        except RowError as error:
            raise error.but(lambda row, message: (int(rows[row]), message)) from None


def _fields(opened: Opened, columns: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """The columns of the matches, as `data.matches` makes those of a table in memory; and how many are known."""
    roles, known = opened.roles, opened.players
    for name in roles.form.who:
        check_whole(name, columns[name])
    player = np.stack([columns[name].to_numpy() for name in roles.form.who], axis=1)
    if opened.ids is not None:
        same = player[:, 0] == player[:, 1]
        fail_where(same, lambda row: f"{name_of(player[row, 0])} is on both sides; remove the row")
        player, known = opened.ids(player)
    fields = {"player": player} | numbers_of(roles, columns, len(player))
    if roles.time is not None:
        fields["time"] = _days(roles.time, columns[roles.time], opened.clock)
    return fields, known
