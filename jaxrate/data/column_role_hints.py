"""Hints about columns whose roles are doubtful: what else they may be, and what to say then."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, product

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import to_column, to_numbers
from jaxrate.data.column_recognition import ResolvedTable
from jaxrate.data.column_role_definitions import PLAYER_PAIR, WINNER_LOSER, as_column_list
from jaxrate.data.column_spellings import (
    HOME_AND_AWAY,
    NAME_TEMPLATES,
    SIDE_PAIRS,
    SPELLINGS,
    Header,
    normalise_column_name,
    spell_pairs,
)
from jaxrate.data.event_tables import label_codes
from jaxrate.data.evidence_column_recognition import recognise_evidence_columns
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import Column, TableSource
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset

MAX_CODES = 2  # numbers below 1 in a column of ranks that stand for something else
MIN_DECIDED = 5  # matches with a winner that tell whether two columns hold the points of both
WORDS_OF_SIDES = [*chain(*(product(sides.first, sides.second) for sides in SIDE_PAIRS))]
MIN_AGREEMENT = 0.95  # share of these in which the winner has more points, and of ranks that are places


def doubtful_roles_hints(resolved: ResolvedTable, roles: ColumnRoles, columns: dict[str, Column]) -> list[str]:
    """The doubts about the roles of columns, each with what to say instead.

    Args:
      resolved: the roles by the names of columns.
      roles: of the columns that are used.
      columns: their values.
    """
    if roles.layout.contest is None:
        hints = [_unused_side_hint(resolved, roles)]
    else:
        hints = [
            _contest_score_hint(resolved, roles),
            _zero_ranks_hint(roles, columns),
            _unused_team_hint(resolved, roles),
        ]
    return [hint for hint in hints if hint]


def _contest_score_hint(resolved: ResolvedTable, roles: ColumnRoles) -> str:
    """A hint that higher scores are better, where nobody said so, or where the column is called as ranks are."""
    score, result = resolved.arguments["score"], roles.layout.result
    if score is not None and normalise_column_name(score) in SPELLINGS["rank"]:
        return (
            f"{score} looks like a rank, of which lower is better, but of a score higher is better; say rank={score!r}"
        )
    if result is None or roles.layout.ranked or score is not None:
        return ""
    return f"{result}: the higher is the better; if lower is, say rank={result!r}"


def _unused_team_hint(resolved: ResolvedTable, roles: ColumnRoles) -> str:
    """A hint that a column is called as teams are, and nothing uses it."""
    named = [name for value in resolved.recognised.values() for name in as_column_list(value)]
    teams = [x for x in Header.of_columns(resolved.table.names).find_columns(SPELLINGS["team"]) if x not in named]
    if roles.team is not None or not teams or not _do_teams_share_results(resolved.table, roles, teams[0]):
        return ""
    return f"the column {teams[0]} is not used; if those of a team share a rank, say team={teams[0]!r}"


def _unused_side_hint(resolved: ResolvedTable, roles: ColumnRoles) -> str:
    """A hint that nobody has the home advantage, though columns are called as home, away or neutral ground are."""
    (a, b), neutral = roles.layout.first_players, resolved.unused_neutral
    nobody = "nobody has the home advantage"
    if neutral is not None:
        return f"the column {neutral} is not used, as {nobody}; if {a} is at home, say side='a', neutral={neutral!r}"
    pairs = chain(*(spell_pairs(NAME_TEMPLATES, sides) for sides in HOME_AND_AWAY))
    is_home = (normalise_column_name(a), normalise_column_name(b)) in pairs
    if not is_home or roles.upcoming or roles.layout.winner_first or resolved.recognised["side"] is not None:
        return ""
    return f"{a} and {b} look like home and away, but {nobody}; if the first has it, say side='a'"


def _zero_ranks_hint(roles: ColumnRoles, columns: dict[str, Column]) -> str:
    """A hint that ranks below 1 may say that somebody did not finish; or nothing, as where none of them is a place.

    Raises:
      RowError: where a rank is below 1, and the others of all contests are places from 1.
    """
    name, contest_name = str(roles.layout.result), str(roles.layout.contest)
    if roles.upcoming or not roles.layout.ranked or name not in columns:
        return ""
    try:
        rank, contest = to_numbers(name, columns[name]), label_codes(contest_name, columns)[0]
    except ValueError:  # which building the contests tells
        return ""
    is_below = rank < 1
    codes = np.unique(rank[is_below])
    if not 1 <= len(codes) <= MAX_CODES or is_below.all() or roles.last_rank is not None:
        return ""
    are_places = _share_of_places(rank[~is_below], contest[~is_below]) >= MIN_AGREEMENT
    hint = "if it is for those who did not finish, say unfinished=['{0:g}']"
    num_zeros = np.bincount(contest[rank == 0], minlength=contest.max() + 1)
    if are_places and rank.max() > 1 and not (codes.tolist() == [0] and num_zeros.all()):
        fail_where(
            is_below, lambda row: f"column {name!r} is {rank[row]:g}, and ranks count from 1; {hint.format(rank[row])}"
        )
    return f"{name} counts from {codes[0]:g}, which is the best; {hint.format(codes[0])}" if are_places else ""


def _share_of_places(rank: HostArray, contest: HostArray) -> float:
    """The share of ranks [n] that are places from 1 in their contest; after a tie of two comes the second or third."""
    order = np.lexsort((rank, contest))
    rank, contest = rank[order], contest[order]
    begins = np.append(True, np.diff(contest) != 0)
    begins_tie = begins | np.append(True, np.diff(rank) != 0)
    row = np.arange(len(rank))
    start = np.maximum.accumulate(np.where(begins, row, 0))
    place = np.maximum.accumulate(np.where(begins_tie, row, 0)) - start + 1
    dense = np.cumsum(begins_tie)
    return float(np.mean((rank == place) | (rank == dense - dense[start] + 1)))


def unused_points_hint(table: TableSource, data: Dataset, roles: ColumnRoles) -> str:
    """A hint that two unused columns of numbers tell who won, as the points of both sides do; or nothing."""
    if not (table.noted and data.of_matches) or _are_points_known(table, roles):
        return ""
    pairs = _pairs_of_both_sides([x for x in table.names if x not in roles.all_columns], roles.layout.first_players)
    wanted = list(dict.fromkeys(chain(*pairs)))
    loaded = table.load(wanted) if wanted else {}
    for x, y in pairs:
        if _do_tell_winners([to_column(name, loaded[name]) for name in (x, y)], data):
            return f"{x} and {y} are not used; if they are the points of both, say margin=[{x!r}, {y!r}]"
    return ""


def _are_points_known(table: TableSource, roles: ColumnRoles) -> bool:
    """Whether the columns of both sides' points are used, or are called as such."""
    layout = roles.layout
    players = dict(zip(WINNER_LOSER if layout.winner_first else PLAYER_PAIR, layout.first_players, strict=True))
    return bool(layout.points or roles.margin or "margin" in recognise_evidence_columns(table.names, players))


def _pairs_of_both_sides(names: Sequence[str], players: tuple[str, str]) -> list[tuple[str, str]]:
    """The pairs of names that differ in one word for both sides, or in a letter of the players: ToreH and ToreG."""
    header, (one, other) = Header.of_columns(names), map(normalise_column_name, players)
    spelt = []
    for x, y in (*WORDS_OF_SIDES, (one[:1], other[:1]), (one[-1:], other[-1:])):
        for name in header.by_spelling if x and x != y else ():
            spelt += [(name, name.replace(x, y, 1)), (name, y.join(name.rsplit(x, 1)))]
    return [pair for pair in header.find_pairs(dict.fromkeys(spelt)) if pair[0] != pair[1]]


def _do_tell_winners(points: Sequence[Column], data: Dataset) -> bool:
    """Whether, of two columns of numbers, the greater is that of the winner in nearly all matches."""
    decided = np.sign(np.asarray(data.matches.score) - 0.5)
    if np.count_nonzero(decided) < MIN_DECIDED:
        return False
    with suppress(ValueError):
        first, second = (to_numbers("", column, np.nan)[data.rows] for column in points)
        return bool(np.mean(np.sign(first - second)[decided != 0] == decided[decided != 0]) >= MIN_AGREEMENT)
    return False


def _do_teams_share_results(table: TableSource, roles: ColumnRoles, team_name: str) -> bool:
    """Whether, of teams with several members in a contest, most have one rank; drivers of a team have their own."""
    names = [str(roles.layout.contest), str(roles.layout.result), team_name]
    if roles.layout.result is None or roles.upcoming:
        return True
    loaded = table.load(names, names)
    contest, rank, team = (np.unique(np.asarray(loaded[x]).astype(str), return_inverse=True)[1] for x in names)
    _, number, members = np.unique(np.stack([contest, team]), axis=1, return_inverse=True, return_counts=True)
    ranks = np.bincount(np.unique(np.stack([number.ravel(), rank]), axis=1)[0], minlength=len(members))
    several = members > 1
    return not several.any() or bool((ranks[several] == 1).mean() > 0.5)
