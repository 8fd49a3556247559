"""Hints about columns whose roles are doubtful: what else they may be, and what to say then."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from jaxrate.data.column_conversion import distinct_cells, to_column, to_flags, to_numbers
from jaxrate.data.column_recognition import ResolvedTable
from jaxrate.data.column_role_definitions import PLAYER_PAIR, WINNER_LOSER, as_column_list
from jaxrate.data.column_spellings import (
    HOME_AND_AWAY,
    NAME_TEMPLATES,
    SPELLINGS,
    WORDS_OF_SIDES,
    Header,
    normalise_column_name,
    spell_pairs,
)
from jaxrate.data.event_tables import label_codes
from jaxrate.data.evidence_column_recognition import recognise_evidence_columns
from jaxrate.data.result_parsing import MIN_AGREEMENT
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import Column, TableSource
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset

MAX_CODES = 2  # numbers below 1 in a column of ranks that stand for something else
MIN_DECIDED = 5  # matches with a winner that tell whether two columns hold the points of both


def doubtful_roles_hints(resolved: ResolvedTable, roles: ColumnRoles, columns: dict[str, Column]) -> Iterator[str]:
    """The doubts about the roles of columns, each with what to say instead.

    Args:
      resolved: the roles by the names of columns.
      roles: of the columns that are used.
      columns: their values.
    """
    if roles.layout.contest is None:
        yield from _unused_side_hints(resolved, roles)
        return
    score, result = resolved.arguments["score"], roles.layout.result
    if score is not None and normalise_column_name(score) in SPELLINGS["rank"]:
        advice = f"but of a score higher is better; say rank={score!r}"
        yield f"{score} looks like a rank, of which lower is better, {advice}"
    elif result is not None and not roles.layout.ranked and score is None:
        yield f"{result}: the higher is the better; if lower is, say rank={result!r}"
    if roles.layout.ranked and roles.last_rank is None and result in columns and not roles.upcoming:
        yield from _zero_ranks_hints(roles, columns)
    if roles.team is None:
        yield from _unused_team_hints(resolved, roles)


def _unused_side_hints(resolved: ResolvedTable, roles: ColumnRoles) -> Iterator[str]:
    """A hint that nobody has the home advantage, though columns are called as home, away or neutral ground are."""
    layout, (a, b) = roles.layout, roles.layout.first_players
    if roles.upcoming or layout.winner_first or resolved.recognised["side"] is not None:
        return
    nobody = "nobody has the home advantage"
    for name in Header.of_columns(resolved.table.names).find_columns(SPELLINGS["neutral"]):
        with suppress(ValueError):
            to_flags(name, to_column(name, resolved.table.load([name])[name]))
            yield f"the column {name} is not used, as {nobody}; if {a} is at home, say side='a', neutral={name!r}"
            return
    pairs = chain(*(spell_pairs(NAME_TEMPLATES, sides) for sides in HOME_AND_AWAY))
    if (normalise_column_name(a), normalise_column_name(b)) in pairs:
        yield f"{a} and {b} look like home and away, but {nobody}; if the first has it, say side='a'"


def _zero_ranks_hints(roles: ColumnRoles, columns: dict[str, Column]) -> Iterator[str]:
    """A hint that ranks below 1 may say that somebody did not finish, if the others are places from 1.

    Raises:
      RowError: where a rank is below 1, unless all contests count from 0.
    """
    name = str(roles.layout.result)
    try:
        rank, contest = to_numbers(name, columns[name]), label_codes(str(roles.layout.contest), columns)[0]
    except ValueError:  # which building the contests tells
        return
    is_below = rank < 1
    codes, order = np.unique(rank[is_below]), np.lexsort((rank[~is_below], contest[~is_below]))
    if not 1 <= len(codes) <= MAX_CODES or not len(order):
        return
    places, contests = rank[~is_below][order], contest[~is_below][order]
    start = np.searchsorted(contests, contests)
    _, first, number = np.unique(contests * (places.max() + 1) + places, return_index=True, return_inverse=True)
    # After a tie of two comes the third place, or the second.
    are_places = (places == first[number] - start + 1) | (places == number - number[start] + 1)
    if np.mean(are_places) < MIN_AGREEMENT:
        return
    hint = f"if it is for those who did not finish, say unfinished=['{codes[0]:g}']"
    is_first_everywhere = codes.tolist() == [0] and np.bincount(contest[rank == 0], minlength=contest.max() + 1).all()
    if rank.max() > 1 and not is_first_everywhere:
        fail_where(is_below, lambda row: f"column {name!r} is {rank[row]:g}, and ranks count from 1; {hint}")
    yield f"{name} counts from {codes[0]:g}, which is the best; {hint}"


def _unused_team_hints(resolved: ResolvedTable, roles: ColumnRoles) -> Iterator[str]:
    """A hint that a column is called as teams are, whose members share a rank, and nothing uses it."""
    named = [*chain(*map(as_column_list, resolved.recognised.values()))]
    teams = [x for x in Header.of_columns(resolved.table.names).find_columns(SPELLINGS["team"]) if x not in named]
    for team in teams[:1]:
        result = roles.layout.result
        names = roles.layout.contest, team, result
        if roles.upcoming or result is None or _do_share_results(resolved.table, names):
            yield f"the column {team} is not used; if those of a team share a rank, say team={team!r}"


def _do_share_results(table: TableSource, names: Sequence[Any]) -> bool:
    """Whether, of teams with several members in a contest, most have one rank; drivers of a team have their own.

    The names are those of the columns of contests, teams and ranks.
    """
    loaded = table.load(names, names)
    codes = np.stack([distinct_cells(to_column(name, loaded[name])).codes for name in names])
    _, members = np.unique(codes[:2], axis=1, return_counts=True)
    _, ranks = np.unique(np.unique(codes, axis=1)[:2], axis=1, return_counts=True)
    several = members > 1
    return not several.any() or bool((ranks[several] == 1).mean() > 0.5)


def unused_points_hint(table: TableSource, data: Dataset, roles: ColumnRoles) -> str:
    """A hint that two unused columns of numbers tell who won, as the points of both sides do; or nothing."""
    if not (table.noted and data.of_matches) or _are_points_known(table, roles):
        return ""
    one, other = map(normalise_column_name, roles.layout.first_players)
    words = [*WORDS_OF_SIDES, (one[:1], other[:1]), (one[-1:], other[-1:])]  # also ToreH and ToreG
    pairs = Header.of_columns([x for x in table.names if x not in roles.all_columns]).find_pairs_by_words(words)
    wanted = list(dict.fromkeys(chain(*pairs)))
    loaded = table.load(wanted) if wanted else {}
    for x, y in pairs:
        if _do_tell_winners([to_column(name, loaded[name]) for name in (x, y)], data):
            return f"{x} and {y} are not used; if they are the points of both, say margin=[{x!r}, {y!r}]"
    return ""


def _are_points_known(table: TableSource, roles: ColumnRoles) -> bool:
    """Whether both sides' points have columns that are used, or that are found by their names."""
    layout = roles.layout
    players = dict(zip(WINNER_LOSER if layout.winner_first else PLAYER_PAIR, layout.first_players, strict=True))
    return bool(layout.points or roles.margin or "margin" in recognise_evidence_columns(table.names, players))


def _do_tell_winners(points: Sequence[Column], data: Dataset) -> bool:
    """Whether, of two columns of numbers, the greater is that of the winner in nearly all matches."""
    decided = np.sign(np.asarray(data.matches.score) - 0.5)
    if np.count_nonzero(decided) < MIN_DECIDED:
        return False
    with suppress(ValueError):
        first, second = (to_numbers("", column, np.nan)[data.rows] for column in points)
        return bool(np.mean(np.sign(first - second)[decided != 0] == decided[decided != 0]) >= MIN_AGREEMENT)
    return False
