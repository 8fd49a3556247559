"""The table of a leaderboard, and how it prints."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import (
    format_credible_intervals,
    format_decimals,
    format_html_table,
    format_number,
    format_table,
    format_unquoted_name,
    join_names,
    rating_decimals,
)
from jaxrate.history.column_table import ColumnTable

MAX_NAMED_GROUPS = 5

COLUMN_ORDER = (
    "rank",
    "group",
    "player",
    "rating",
    "deviation",
    "change",
    "rank_then",
    "games",
    "last",
    "peak",
    "peak_median",
    "peak_time",
)  # of columns


class Leaderboard(ColumnTable):
    """The best players first: columns by name, and as attributes. `print` shows a table.

        board["player"][0], board.rating[0], pandas.DataFrame(board)

    A column that the list does not have is None as an attribute.
    """

    rank: HostArray  # [top] from 1, in each group
    group: HostArray | None  # [top] from 1, the largest first; None if chains of events join all who are listed
    player: HostArray  # [top] names, or ids if no names were given
    rating: HostArray  # [top]
    deviation: HostArray | None  # [top], None if the system has none or ratings are cautious
    change: HostArray | None  # [top] of the rating since a time; NaN for players who had not played by then
    rank_then: HostArray | None  # [top] at that time; 0 for players who were not listed
    games: HostArray | None  # [top] matches or contests
    last: HostArray | None  # [top] when they played last, as dates or numbers; missing for players who have not
    peak: (
        HostArray | None
    )  # [top] the highest rating of their career; NaN of fewer than ten events. Where ratings drift
    peak_median: HostArray | None  # [top] it is above this median of the active at the time; None if they do not
    peak_time: HostArray | None  # [top] when they reached it
    scope: str  # a description of who is listed and since when ratings changed
    num_listed: int  # of whom these are the first
    group_sizes: tuple[int, ...]  # how many are listed of each group

    def __init__(
        self, columns: Mapping[str, HostArray | None], scope: str, num_listed: int, group_sizes: Iterable[int] = ()
    ) -> None:
        super().__init__({name: x for name in COLUMN_ORDER if (x := columns.get(name)) is not None})
        self.scope = scope
        self.num_listed = num_listed
        self.group_sizes = tuple(group_sizes) or (num_listed,)

    def __getattr__(self, name: str) -> Any:
        if name in COLUMN_ORDER:
            return self.get(name)
        raise AttributeError(f"a leaderboard has no column {name!r}")

    def first_group(self) -> "Leaderboard":
        """The rows of the group of the first player, whose ratings alone can be compared with theirs."""
        if self.group is None:
            return self
        is_first = self.group == self.group[:1]
        columns = {name: x[is_first] for name, x in self.items() if name != "group"}
        return Leaderboard(columns, self.scope, self.group_sizes[0])

    def __str__(self) -> str:
        return "\n".join(filter(None, [format_table(*self.heads_and_cells()), self.scope]))

    def _repr_html_(self) -> str:
        return format_html_table(*self.heads_and_cells()) + (f"<p>{self.scope}</p>" if self.scope else "")

    @enforce_argument_annotations
    def heads_and_cells(self, top: int | None = None) -> tuple[list[str], list[Any]]:
        """The heads, and the cells of the first `top` rows, as text for people."""
        digits = rating_decimals(self.rating)
        cells: dict[str, Any] = {"rank": self.rank} | ({} if self.group is None else {"group": self.group})
        cells |= {"player": self.player, "rating": [format_decimals(x, digits) for x in self.rating]}
        if self.deviation is not None:
            cells["95% interval"] = format_credible_intervals(self.rating, self.deviation)
        if self.change is not None and self.rank_then is not None:
            cells["change"] = ["" if x != x else format_decimals(x, digits, signed=True) for x in self.change]
            cells["earlier rank"] = [x or "" for x in self.rank_then]
        if self.games is not None:
            cells["games"] = [f"{x:,}" for x in self.games]
        if self.last is not None:
            cells["last played"] = format_times(self.last)
        has_peaks = self.peak is not None and not np.isnan(self.peak).all()
        if self.peak is not None and has_peaks:
            is_lead = self.peak_median is not None
            cells["peak"] = ["" if x != x else format_decimals(x, digits, signed=is_lead) for x in self.peak]
        if self.peak_time is not None and has_peaks:
            cells["on" if self.peak_time.dtype.kind == "M" else "at"] = format_times(self.peak_time)
        return [*cells], [*zip(*cells.values(), strict=True)][:top]


def format_times(times: HostArray) -> list[str]:
    """Times as text: days, or numbers."""
    if times.dtype.kind == "M":
        return ["" if np.isnat(x) else str(x) for x in times.astype("datetime64[D]")]
    return ["" if x != x else format_number(round(float(x), 1)) for x in times]


def describe_groups(numbers: HostArray, leaders: HostArray, sizes: HostArray, events: str) -> str:
    """The groups that no chain of events joins, by number, first player and size; nothing of fewer than two."""
    if len(numbers) < 2:
        return ""
    shown = zip(numbers[:MAX_NAMED_GROUPS], leaders, sizes.tolist(), strict=False)
    named = [f"{number} with {format_unquoted_name(name)} ({size:,})" for number, name, size in shown]
    rest = sizes[MAX_NAMED_GROUPS:]
    others = [f"{len(rest):,} more of at most {rest.max():,}"] if len(rest) else []
    return f"ranked in groups that no chain of {events} joins: {join_names([*named, *others])}"
