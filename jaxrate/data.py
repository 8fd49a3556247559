"""Tables of matches, in files or in memory: names become ids, dates become days, and bad rows are named."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxrate import tables
from jaxrate.events import Matches, matches
from jaxrate.tables import Values


class Dataset(NamedTuple):
    """What `read` makes of a table."""

    events: Matches
    players: Values  # [num_players] names in order of id
    rows: Values  # [n] where each match stands in the source, from 0
    categories: Values | None = None  # [num_categories] names in order of id

    @property
    def matches(self) -> Matches:
        """The events."""
        return self.events


def read(
    source: Any, *, a: str | None = None, b: str | None = None, winner: str | None = None, loser: str | None = None,
    score: str | None = None, time: str | None = None, side: str | None = None, neutral: str | None = None,
    weight: str | None = None, category: str | Sequence[str] | None = None, drop: str | Sequence[str] = (),
    sort: bool = False,
) -> Dataset:  # fmt: skip
    """Checked matches from a table with one row per match.

    A file with columns a, b, score or winner, loser (and perhaps time, date or t) needs no arguments; all other columns
    are used only if named. Names of players and categories become ids in order of first appearance, reading the rows
    of the source from the top and a before b; in CSV they are text ("007" stays that), and an empty field is missing.

    Args:
      source: a path to .parquet, .csv or .csv.gz, a pandas, polars or Arrow table, or a dict of arrays or lists.
      a: the column of player 0, of any hashable type.
      b: the column of player 1, of the same type.
      winner: instead of `a`: the winner becomes player 0 and the score is 1.
      loser: instead of `b`.
      score: the column of player 0's score, in [0, 1]. None: "score".
      time: a column of numbers, which stay as they are (20240131 is no date), or of dates, timestamps or ISO text,
        which become days since 1970-01-01 (UTC). None: the first there is of "time", "date" and "t" in any case, or
        else no time.
      side: a column in [-1, 1]: 1 where player 0 has the side advantage (home, white), -1 where player 1 has, 0 if
        neither; true is 1 and false 0. "a" or "b", unless another column has that name: that player in every match.
      neutral: a column, true (or 1) where nobody has the side after all.
      weight: a column above 0; a match of weight w counts as w matches.
      category: a column, of both players, or the pair of a's and b's.
      drop: columns, true (or 1) where the row is left out before anything else of it is looked at.
      sort: put the matches in order of time (stable). Otherwise time that decreases is an error.

    Raises:
      ValueError: names the file, the first bad row of the source (counting from 0; in CSV also its line) or the column,
        and what is wrong with it; also if no rows are left.
      TypeError: if the source is of none of these kinds.
      ImportError: if pyarrow is not installed.
    """
    arrow = tables.pyarrow()
    path = Path(source) if isinstance(source, (str, os.PathLike)) else None
    rows: Values | None = None  # where each match stands in the source, once rows were dropped or sorted
    try:
        names, load = tables.open_memory(source) if path is None else tables.open_file(path)
        first, second, score = _form(names, a, b, winner, loser, score)
        everywhere = _everywhere(names, first, second, side, leaks=score is None)
        if time is None:
            time = next((name for key in ("time", "date", "t") for name in names if str(name).lower() == key), None)
        if sort and time is None:
            raise ValueError("sort=True needs a column of time")
        if neutral is not None and side is None:
            raise ValueError("neutral needs side: without it nobody has the side in any match")
        pair = [] if category is None else [category] * 2 if isinstance(category, str) else list(category)
        if len(pair) not in (0, 2):
            raise ValueError(f"category must be one column or the pair of a's and b's, got {category}")
        drops = [drop] if isinstance(drop, str) else list(drop)
        optional = [score, time, None if everywhere else side, neutral, weight]
        wanted = list(dict.fromkeys([first, second, *filter(None, optional), *pair, *drops]))
        tables.check_names(names, wanted)

        table = load(wanted, [first, second, *pair])
        columns = {name: tables.to_column(name, table[name]) for name in wanted}
        n = len(columns[first])
        for name, column in columns.items():
            if len(column) != n:
                raise ValueError(f"column {name!r} has {len(column)} rows, {first!r} has {n}")
        if not n:
            raise ValueError("no rows")
        if drops:
            keep = ~np.any([tables.to_flags(name, columns[name]) for name in drops], axis=0)
            rows = np.flatnonzero(keep)
            n = len(rows)
            if not n:
                raise ValueError(f"no rows are left after drop={drop!r}")
            columns = {name: tables.keep_rows(name, column, keep) for name, column in columns.items()}

        fields: dict[str, Any] = {}
        fields["player"], players = tables.to_ids([first, second], columns)
        fields["score"] = np.ones(n) if score is None else tables.to_numbers(score, columns[score])
        if side is not None:
            fields["side"] = np.full(n, everywhere) if everywhere else tables.to_numbers(side, columns[side])
        if neutral is not None:
            fields["side"] = np.where(tables.to_flags(neutral, columns[neutral]), 0.0, fields["side"])
        if weight is not None:
            fields["weight"] = tables.to_numbers(weight, columns[weight])
        categories = None
        if pair:
            fields["category"], categories = tables.to_ids(pair, columns)
        if time is not None:
            fields["time"] = tables.to_days(time, columns[time])
            if sort:
                order = np.argsort(fields["time"], kind="stable")
                rows = order if rows is None else rows[order]
                fields = {name: values[order] for name, values in fields.items()}
            else:
                tables.check_order(columns[time], fields["time"])
        return Dataset(matches(**fields), players, np.arange(n) if rows is None else rows, categories)
    except (arrow.ArrowException, ValueError, *tables.UNREADABLE) as error:
        raise ValueError(_located(error, path, rows)) from None


def write(table: dict[str, Values], path: str | os.PathLike[str]) -> None:
    """Write columns to a file, whole or not at all.

    Args:
      table: columns of equal length, by name.
      path: the file, ending in .parquet or .csv. It is replaced if it exists.

    Raises:
      ValueError: if the path has another ending, or if the columns are not of equal length.
      ImportError: if pyarrow is not installed.
    """
    arrow = tables.pyarrow()
    path = Path(path)
    writers = {".parquet": arrow.parquet.write_table, ".csv": arrow.csv.write_csv}
    if path.suffix.lower() not in writers:
        raise ValueError(f"{path.name}: the name must end in {' or '.join(writers)}")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        writers[path.suffix.lower()](arrow.table(table), temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _located(error: Exception, path: Path | None, rows: Values | None) -> str:
    """The message of an error, in one line, with the file, and with the row of the source in place of ours."""
    message = " ".join(str(error).split())
    counted = re.match(r"(?:CSV parse error: |In CSV column #\d+: )Row #(\d+): (.*)", message)  # 1 is the header
    if counted:
        message = f"row {int(counted[1]) - 2} (counting from 0): {counted[2]}"
    located = re.match(r"row (\d+) \(counting from 0\)(.*)", message)
    if located:
        row = int(located[1]) if rows is None else rows[int(located[1])]
        line = None if path is None or path.name.lower().endswith(".parquet") else tables.csv_line(path, row)
        message = f"row {row} (counting from 0{'' if line is None else f', line {line}'}){located[2]}"
    return message if path is None else f"{path.name}: {message}"


def _form(
    names: Sequence[str], a: str | None, b: str | None, winner: str | None, loser: str | None, score: str | None
) -> tuple[str, str, str | None]:
    """The columns of player 0, player 1 and the score; no score where player 0 is the winner."""
    if a is b is winner is loser is None:
        won = "winner" in names and "loser" in names
        a, b, winner, loser = (None, None, "winner", "loser") if won else ("a", "b", None, None)
    if a is not None and b is not None and winner is loser is None:
        return a, b, "score" if score is None else score
    if winner is None or loser is None or a is not None or b is not None:
        raise ValueError("give the columns a and b, or winner and loser, both of them and not the others")
    if score is not None:
        raise ValueError("the score of a winner is 1; give a and b, not winner and loser, to use a column of scores")
    return winner, loser, None


def _everywhere(names: Sequence[str], first: str, second: str, side: str | None, leaks: bool) -> float | None:
    """The side where it is the same in all matches, as side="a" and side="b" say; None if `side` is a column."""
    literal = side in ("a", "b") and (side not in names or side == (first if side == "a" else second))
    if side in ("winner", "loser") or (leaks and (literal or side in (first, second))):
        raise ValueError(
            f"side={side!r} would tell the result before the match; name a column that says who had the side, "
            "1 the winner, -1 the loser, 0 neither"
        )
    return (1.0 if side == "a" else -1.0) if literal else None
