"""Faulty rows of a table: those that lack a value, repeat another, or are wrong."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count
from jaxrate.data.column_conversion import load_columns, missing_mask, text_mask, to_values
from jaxrate.data.column_spellings import ROW_NUMBER_NAMES, normalise_column_name
from jaxrate.data.result_parsing import draw_mask_from_flags
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import Column, TableSource
from jaxrate.events import Matches, rewrite_row_errors

PACKAGE_FOLDER = str(Path(__file__).parents[1]) + os.sep
SHOWN_ROWS = 3  # rows that a note names
UNPLAYED_FLAG = "(is|was)?(walkover|forfeit(ed)?|cancell?ed|abandoned|void(ed)?|annulled|noshow|awarded)"
MIN_UNTIMED_MIRRORS = 12  # rows without times that all have a twin with exchanged sides


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning at the line outside this package that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def renumber_row_errors(rows: HostArray) -> AbstractContextManager[None]:
    """Errors about row i become those about `rows[i]`."""
    return rewrite_row_errors(lambda row, message: (int(rows[row]), message))


def find_incomplete_rows(roles: ColumnRoles, columns: dict[str, Column]) -> HostArray:
    """[n] where a column that is used has no value. Of some columns it may be missing, and results are asked apart."""
    optional = {*roles.age, *roles.statistic_columns, *roles.expected_goals, *roles.optional_players, roles.venue}
    optional |= {roles.ceiling, *([] if roles.contest else {*roles.result_columns} - {*roles.margin})}
    bad = np.zeros(len(columns[roles.all_columns[0]]), bool)
    for name in (x for x in roles.all_columns if x not in optional):
        absent = missing_mask(columns[name]) | is_blank_mask(columns[name])
        if not (name == roles.time and absent.all()):
            bad |= absent
    return bad


def is_blank_mask(column: Column) -> HostArray:
    """[n] where text is nothing but blanks."""
    return text_mask(column, lambda text: not text.strip())


def describe_example_rows(rows: HostArray) -> str:
    """The first few of these rows, as "0, 4, 7, ... (counting from 0)"."""
    ellipsis = ", ..." if len(rows) > SHOWN_ROWS else ""
    return f"{', '.join(map(str, rows[:SHOWN_ROWS].tolist()))}{ellipsis} (counting from 0)"


def describe_share(mask: HostArray, noun: str = "row") -> str:
    """How many of all are in a mask, as "3 of 20 rows"."""
    return f"{np.count_nonzero(mask):,} of {format_count(len(mask), noun)}"


def doubts_about_unplayed_matches(rows: HostArray, table: TableSource) -> Iterator[str]:
    """A doubt that some of the matches in these rows of a table were not played, by columns of flags."""
    flags = [name for name in table.names if re.fullmatch(UNPLAYED_FLAG, normalise_column_name(name))]
    for name, column in load_columns(table, flags).items():
        if (is_unplayed := draw_mask_from_flags(column.take(rows))).any():
            share = describe_share(is_unplayed, "match")
            yield f"{name} is true of {share}, which count; drop={name!r} leaves them out"


def doubts_about_mirrored_matches(matches: Matches) -> Iterator[str]:
    """A doubt that most matches stand there twice, once from each side."""
    if num_mirrored := count_mirrored_matches(matches):
        yield (
            f"{num_mirrored:,} of {len(matches.score):,} matches stand there twice, once from each side with the "
            "opposite score, and count twice; drop='mirrored' keeps one row of each match"
        )


def doubts_about_repeated_matches(matches: Matches, rows: HostArray, table: TableSource) -> Iterator[str]:
    """A doubt that matches with times, in these rows of a table, repeat an earlier one in all columns."""
    later, earlier = find_repeated_matches(matches, rows, table)
    if not len(later):
        return
    places = [[_row_or_line(int(row), table.where) for row in rows[x[:SHOWN_ROWS]]] for x in (later, earlier)]
    examples = ", ".join(f"{place} repeats {first}" for place, first in zip(*places, strict=True))
    counting = " (counting from 0)" if "row" in examples else ""
    others = f" and {len(later) - SHOWN_ROWS:,} more" if len(later) > SHOWN_ROWS else ""
    yield (
        f"{len(later):,} of {len(rows):,} matches repeat an earlier one exactly, its time and score too: {examples}"
        f"{others}{counting}; they count again, so remove them if they were played once"
    )


def find_repeated_matches(matches: Matches, rows: HostArray, table: TableSource) -> tuple[HostArray, HostArray]:
    """Matches whose rows repeat an earlier one in all columns, also unused ones, and the first of each."""
    time = np.asarray(matches.time)
    has_ties = time.any() and (time[1:] == time[:-1]).any()
    candidates = _repeated_positions(_hash_matches(matches.player, time, matches.score) if has_ties else time[:0])
    names = [name for name in table.names if normalise_column_name(name) not in ROW_NUMBER_NAMES]
    columns = load_columns(table, names if len(candidates) else ()).values()
    cells = [*zip(*(map(str, to_values(x.take(rows[candidates]))) for x in columns), strict=True)]
    first_match = dict(zip(reversed(cells), candidates[::-1], strict=True))
    first = np.array([*map(first_match.get, cells)], candidates.dtype)
    return candidates[first != candidates], first[first != candidates]


def _repeated_positions(keys: HostArray) -> HostArray:
    """Where the keys [n] are that occur several times."""
    ordered = np.sort(keys)
    return np.flatnonzero(np.isin(keys, ordered[1:][ordered[1:] == ordered[:-1]]))


def count_mirrored_matches(matches: Matches) -> int:
    """How many matches have a twin at that time with sides and score exchanged; 0 unless most have (untimed: all)."""
    num_matches, num_mirrored = len(matches.score), 2 * len(find_later_mirrors(matches))
    is_certain = num_mirrored == num_matches >= MIN_UNTIMED_MIRRORS  # of few who won at home may have won away, too
    return num_mirrored if is_certain or (np.any(matches.time) and 2 * num_mirrored > num_matches) else 0


def find_later_mirrors(matches: Matches) -> HostArray:
    """The matches that an earlier one shows from the other side, at the same time; each is the mirror of one."""
    keys, is_exchanged = _hash_both_sides(matches)
    rows = _repeated_positions(keys)
    group = 2 * np.unique(keys[rows], return_inverse=True)[1] + is_exchanged[rows]
    order = np.argsort(group, kind="stable")
    number = np.empty_like(group)  # of a match among those that look the same from the same side
    number[order] = np.arange(len(group)) - np.searchsorted(group[order], group[order])
    _, first, pair = np.unique((group // 2) * len(group) + number, return_index=True, return_inverse=True)
    return rows[first[pair] != np.arange(len(group))]


def _hash_both_sides(matches: Matches) -> tuple[HostArray, HostArray]:
    """[n] numbers that are the same where matches are, from whichever side they are seen, and [n] from which."""
    player = np.asarray(matches.player)
    is_exchanged = player[:, 0] > player[:, 1]
    score = np.where(is_exchanged, 1.0 - matches.score, matches.score)
    return _hash_matches(np.sort(player, axis=1), np.asarray(matches.time), np.round(score, 9)), is_exchanged


def _row_or_line(row: int, row_location: Callable[[int], str]) -> str:
    line = re.search(r"line (\d+)\)$", row_location(row))
    return f"line {line[1]}" if line else f"row {row}"


def _hash_matches(player: HostArray, time: HostArray, score: HostArray) -> HostArray:
    """[n] numbers that are the same where players, time and score are, and else hardly ever."""
    key = np.ascontiguousarray(player, np.int32).view(np.uint64)[:, 0] * HASH_FACTORS[0]
    key ^= key >> np.uint64(32)
    return np.asarray(key ^ (time + 0.0).view(np.uint64) * HASH_FACTORS[1] ^ (score + 0.0).view(np.uint64))


HASH_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)  # odd, and their bits mixed
