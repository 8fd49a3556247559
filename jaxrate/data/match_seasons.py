"""When the seasons of matches begin."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import is_usable_as_name, to_ids, value_text
from jaxrate.data.table_sources import Column
from jaxrate.events import MAX_REPORTED_ROWS, RowError, rewrite_row_errors

NO_TIME_MESSAGE = "season needs a column of time, which says when each begins"


class MatchSeasons(NamedTuple):
    """The seasons and times of matches."""

    first: int  # the number of the first match
    names: list[str]  # of seasons
    season_of_match: HostArray  # [n] position in `names`
    time: HostArray  # [n]


def match_seasons_from_column(name: str, columns: dict[str, Column], time: HostArray, first: int = 0) -> MatchSeasons:
    """Matches by their column of seasons."""
    with offset_row_errors(first):
        code, labels = to_ids([name], columns)
    return MatchSeasons(first, [_season_label_to_text(name, label) for label in labels.tolist()], code[:, 0], time)


def find_season_starts(
    iterate_match_batches: Callable[[], Iterable[MatchSeasons]], known_starts: Mapping[str, float] | None
) -> dict[str, float]:
    """When each season begins, by its name and in order of time: those of `known_starts`, and the first time of others.

    A match that is played when a later season has begun counts as of that one.

    Args:
      iterate_match_batches: returns all matches, in batches; called for each pass over them.
      known_starts: seasons that have started already.
    """
    starts, new, first_row = dict(known_starts or {}), dict[str, float](), dict[str, int]()
    for batch in iterate_match_batches():
        begins = np.full(len(batch.names), np.inf)
        np.minimum.at(begins, batch.season_of_match, batch.time)
        for name, begin in zip(batch.names, begins.tolist(), strict=True):
            if name not in starts:
                new[name] = min(begin, new.get(name, np.inf))
        first_row = _first_rows(batch, np.arange(len(batch.time))) | first_row
    last = max(starts, key=starts.__getitem__, default="")
    early = {name: first_row[name] for name, begin in new.items() if begin <= starts.get(last, -np.inf)}
    reason = f" is new, but {format_value_for_error(last)}, which is known, began later"
    _fail_at_seasons(early, lambda name: reason)
    starts = dict(sorted((starts | new).items(), key=lambda item: item[1]))
    following = dict(pairwise(starts))
    late_row = _mostly_late_seasons(iterate_match_batches(), {name: starts[after] for name, after in following.items()})
    _fail_at_seasons(
        {name: row for name, row in late_row.items() if name in new},
        lambda name: (
            f", when season {format_value_for_error(following[name])} has begun, as for most of its matches; seasons "
            "follow each other, so give both one name, or name another column"
        ),
    )
    return starts


def _first_rows(batch: MatchSeasons, matches: HostArray) -> dict[str, int]:
    """The number of the first of some matches, which are positions in the batch, of each season that has one."""
    first = np.full(len(batch.names), -1)
    first[batch.season_of_match[matches[::-1]]] = matches[::-1]  # the last assignment stands
    return {name: batch.first + row for name, row in zip(batch.names, first.tolist(), strict=True) if row >= 0}


def _mostly_late_seasons(batches: Iterable[MatchSeasons], season_ends: Mapping[str, float]) -> dict[str, int]:
    """The seasons most of whose matches are played when the next has begun, with the number of the first such match."""
    excess, first_row = Counter[str](), dict[str, int]()  # of those that are over those that are not
    for batch in batches:
        late = batch.time >= np.array([season_ends.get(name, np.inf) for name in batch.names])[batch.season_of_match]
        excess_of_batch = np.bincount(batch.season_of_match, np.where(late, 1, -1), len(batch.names))
        for name, more in zip(batch.names, excess_of_batch.tolist(), strict=True):
            excess[name] += int(more)
        first_row = _first_rows(batch, np.flatnonzero(late)) | first_row
    return {name: row for name, row in first_row.items() if excess[name] > 0}


def _fail_at_seasons(first_row: Mapping[str, int], complaint: Callable[[str], str]) -> None:
    """RowError about these seasons, at the first row of each."""
    faults = [(row, f"season {format_value_for_error(name)}{complaint(name)}") for name, row in first_row.items()]
    if faults:
        first, *others = sorted(faults)
        raise RowError(*first, others[: MAX_REPORTED_ROWS - 1], max(len(faults) - MAX_REPORTED_ROWS, 0))


def offset_row_errors(first: int) -> AbstractContextManager[None]:
    """A context in which errors about a row of a part count it within the whole, whose row `first` is its first."""
    return rewrite_row_errors(lambda row, message: (first + row, message))


def _season_label_to_text(column_name: str, label: Any) -> str:
    """The name of a season as text, whole numbers without a point."""
    if not isinstance(label, (str, int, float)) or isinstance(label, bool) or not is_usable_as_name(label):
        raise ValueError(
            f"column {column_name!r} must hold names of seasons, text or numbers, got {format_value_for_error(label)}"
        )
    return value_text(label)
