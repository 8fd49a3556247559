"""Hints about columns whose roles are doubtful, and about columns that seem to have one and do not."""

import re
from contextlib import suppress
from itertools import permutations

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import to_column, to_numbers
from jaxrate.data.column_recognition import RecognisedColumnRoles
from jaxrate.data.column_role_definitions import PLAYER_PAIR, WINNER_LOSER
from jaxrate.data.column_spellings import SIDE_PAIRS
from jaxrate.data.evidence_column_recognition import recognise_evidence_columns
from jaxrate.data.participant_tables import label_codes
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import Column, TableSource
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset

MAX_CODES = 2  # numbers below 1 in a column of ranks that stand for something else
MIN_DECIDED = 5  # matches with a winner that tell whether two columns hold the points of both
MIN_AGREEMENT = 0.95  # share of these in which the winner has more points


def doubtful_roles_hints(
    recognised: RecognisedColumnRoles, roles: ColumnRoles, columns: dict[str, Column], is_score_named: bool
) -> list[str]:
    """What is doubtful about the roles of columns, and what to say instead.

    Args:
      recognised: the roles by the names of columns.
      roles: of the columns that are used.
      columns: their values.
      is_score_named: whether an argument names the score.
    """
    a, b, score = (recognised.arguments[role] for role in ("a", "b", "score"))
    layout, hints = roles.layout, list[str]()
    if recognised.has_rank_as_score:
        hint = f"say rank={score!r}"
        hints.append(f"{score} looks like a rank, of which lower is better, but of a score higher is better; {hint}")
    elif layout.contest is not None and layout.result is not None and not (layout.ranked or is_score_named):
        score = layout.result
        hint = f"if lower is, say rank={score!r}"
        hints.append(f"{score}: the higher is the better; {hint}")
    if layout.ranked and layout.result in columns:
        hints += filter(None, [_zero_ranks_hint(roles, columns)])
    if (team := recognised.unused_team) is not None and _do_teams_share_ranks(recognised):
        hint = f"say team={team!r}"
        hints.append(f"the column {team} is not used; if those of a team share a rank, {hint}")
    if (neutral := recognised.unused_neutral) is not None:
        hint = f"say side='a', neutral={neutral!r}"
        hints.append(
            f"the column {neutral} is not used, as nobody has the home advantage; if {a or 'a'} is at home, {hint}"
        )
    elif recognised.has_unused_home:
        hint = "if the first has it, say side='a'"
        hints.append(f"{a} and {b} look like home and away, but nobody has the home advantage; {hint}")
    return hints


def _zero_ranks_hint(roles: ColumnRoles, columns: dict[str, Column]) -> str:
    """That ranks are below 1, which may say that somebody did not finish; or nothing, as where none of them is a place.

    Raises:
      RowError: where a rank is below 1, and the others of all contests are places from 1.
    """
    name, contest_name = str(roles.layout.result), str(roles.layout.contest)
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
    """That two columns of numbers, which nothing uses, tell who won as the points of both sides do; or nothing."""
    layout = roles.layout
    players = dict(zip(WINNER_LOSER if layout.winner_first else PLAYER_PAIR, layout.first_players, strict=True))
    if layout.points or roles.margin or "margin" in recognise_evidence_columns(table.names, players):
        return ""
    names = [name for name in table.names if name not in roles.all_columns and table.names.count(name) == 1]
    pairs = [pair for pair in permutations(names, 2) if _are_of_both_sides(pair, layout.first_players)]
    score, rows = np.asarray(data.matches.score), data.rows
    decided = score != 0.5
    if not pairs or np.count_nonzero(decided) < MIN_DECIDED:
        return ""
    wanted = list(dict.fromkeys(name for pair in pairs for name in pair))
    loaded = table.load(wanted, [], wanted)
    for x, y in pairs:
        with suppress(ValueError):
            first, second = (to_numbers(name, to_column(name, loaded[name]), np.nan)[rows] for name in (x, y))
            if np.mean(np.sign(first - second)[decided] == np.sign(score - 0.5)[decided]) >= MIN_AGREEMENT:
                hint = f"say margin=[{x!r}, {y!r}]"
                return f"{x} and {y} are not used; if they are the points of both, {hint}"
    return ""


def _are_of_both_sides(pair: tuple[str, str], players: tuple[str, str]) -> bool:
    """Whether two names differ in one part, as those of the players or the words for both sides do: ToreH and ToreG."""
    (x, y), sides = _differing_parts(*pair), _differing_parts(*players)
    is_pair = any(x in spelling.first and y in spelling.second for spelling in SIDE_PAIRS)
    return bool(x and y) and (is_pair or (x[0], y[0]) == (sides[0][:1], sides[1][:1]))


def _differing_parts(x: str, y: str) -> tuple[str, str]:
    """The only part in which two names differ, in lower case; "" if there is none, or if more do."""
    one, other = (re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", str(name)) for name in (x, y))
    parts = [(p.lower(), q.lower()) for p, q in zip(one, other, strict=False) if p != q]
    if len(one) != len(other) or len(parts) != 1:
        return "", ""
    p, q = parts[0]
    letters = [(c, d) for c, d in zip(p, q, strict=False) if c != d]
    is_letter = len(p) == len(q) and len(letters) == 1 and len(one) == 1  # as in "hg" and "ag"
    return letters[0] if is_letter else (p, q)


def _do_teams_share_ranks(recognised: RecognisedColumnRoles) -> bool:
    """Whether, of teams with several members in a contest, most have one rank; drivers of a team have their own."""
    names = [*(recognised.arguments[role] or role for role in ("contest", "rank")), recognised.unused_team]
    if not {*names} <= {*recognised.table.names}:
        return True
    loaded = recognised.table.load(names, names, ())
    contest, rank, team = (np.unique(np.asarray(loaded[x]).astype(str), return_inverse=True)[1] for x in names)
    _, number, members = np.unique(np.stack([contest, team]), axis=1, return_inverse=True, return_counts=True)
    ranks = np.bincount(np.unique(np.stack([number.ravel(), rank]), axis=1)[0], minlength=len(members))
    several = members > 1
    return not several.any() or bool((ranks[several] == 1).mean() > 0.5)
