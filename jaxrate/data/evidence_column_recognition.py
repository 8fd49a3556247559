"""Columns that improve predictions, by their names, and hints about columns whose roles are doubtful."""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import chain, permutations
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import to_column, to_numbers
from jaxrate.data.column_recognition import RoleSearch, recognise_players
from jaxrate.data.column_role_definitions import (
    CONTEST_ROLES,
    PLAYER_PAIR,
    WINNER_LOSER,
    as_column_list,
    select_role_arguments,
)
from jaxrate.data.column_spellings import (
    GOAL_TEMPLATES,
    HOME_AND_AWAY,
    NAME_TEMPLATES,
    POINT_TEMPLATES,
    RANK_NAMES,
    SIDE_PAIRS,
    TEAM_NAMES,
    Header,
    normalise_column_name,
)
from jaxrate.data.event_tables import find_line_up_columns, label_codes
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_files import table_in_memory
from jaxrate.data.table_sources import Column, TableSource, find_column_ignoring_case
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset

WINNER_TEMPLATES = *GOAL_TEMPLATES[1:-1], "{}points", "points{}"  # "WPts" are points of a ranking
FORMAT_EVIDENCE: dict[str, dict[str, Any]] = {"football": {"margin": ["home_score", "away_score"]}}


def recognise_evidence_columns(names: Sequence[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `read` for the points of both sides, the season and the surface, as far as names tell.

        recognise_evidence_columns(["date", "home", "away", "home_goals", "away_goals", "season"], {})
        # {"margin": ["home_goals", "away_goals"], "season": "season"}

    Args:
      names: the columns of a table.
      arguments: those of `read` that are given, which are not sought; nothing is sought in contests, but
        for line-ups of two teams points and surface.
    """
    if not arguments.keys().isdisjoint(CONTEST_ROLES[:3]):
        return {}
    roles, header = select_role_arguments(arguments), Header.of_columns(names)
    if find_line_up_columns(names, roles) is not None:
        return _points_season_and_surface(header, False, {*arguments, "season"})
    table = table_in_memory({}, list(names))
    search = recognise_players(RoleSearch(table, header, roles, [], False))
    if search.layout not in (PLAYER_PAIR, WINNER_LOSER):
        return {}
    is_own = search.kind == "own" or (search.layout == PLAYER_PAIR and search.sides is None)
    others = ["season"] if "league_season" in arguments else []
    return _points_season_and_surface(header, is_own, {*arguments, *others})


def _points_season_and_surface(header: Header, is_own: bool, known: Collection[str]) -> dict[str, Any]:
    """The columns of roles that are not known; `is_own`: a row may be one of its first player."""
    evidence: dict[str, Any] = {}
    for sides in SIDE_PAIRS if is_own else [x for x in SIDE_PAIRS if x.kind != "own"]:
        for pair in header.points(WINNER_TEMPLATES if sides.kind == "winner" else POINT_TEMPLATES, [sides]):
            evidence.setdefault("margin", list(pair))
    for role, name in (("margin", "margin"), ("season", "season"), ("category", "surface")):
        for column in header.columns([name]):
            evidence.setdefault(role, column)
    return {role: x for role, x in evidence.items() if role not in known}


MAX_CODES = 2  # numbers below 1 in a column of ranks that stand for something else
MIN_DECIDED = 5  # matches with a winner that tell whether two columns hold the points of both
MIN_AGREEMENT = 0.95  # share of these in which the winner has more points, and of ranks that are places


def doubtful_roles_hints(
    recognised: RoleSearch, roles: ColumnRoles, columns: dict[str, Column], is_score_named: bool
) -> list[str]:
    """What is doubtful about the roles of columns, and what to say instead.

    Args:
      recognised: the roles by the names of columns.
      roles: of the columns that are used.
      columns: their values.
      is_score_named: whether an argument names the score.
    """
    hints = [_unused_side_hint(recognised, roles)]
    if roles.layout.contest is not None:
        hints = [_contest_score_hint(recognised, roles, is_score_named), _zero_ranks_hint(roles, columns)]
        hints.append(_unused_team_hint(recognised))
    return [hint for hint in hints if hint]


def _contest_score_hint(recognised: RoleSearch, roles: ColumnRoles, is_score_named: bool) -> str:
    """That higher scores are better, where nobody said so, or where the column is called as ranks are."""
    score, result = recognised.arguments["score"], roles.layout.result
    if score is not None and normalise_column_name(score) in RANK_NAMES:
        return (
            f"{score} looks like a rank, of which lower is better, but of a score higher is better; say rank={score!r}"
        )
    if result is None or roles.layout.ranked or is_score_named:
        return ""
    return f"{result}: the higher is the better; if lower is, say rank={result!r}"


def _unused_team_hint(recognised: RoleSearch) -> str:
    """That a column is called as teams are, and nothing uses it."""
    named = [name for value in recognised.arguments.values() for name in as_column_list(value)]
    teams = [name for name in Header.of_columns(recognised.table.names).columns(TEAM_NAMES) if name not in named]
    if recognised.arguments["team"] is not None or not teams or not _do_teams_share_ranks(recognised, teams[0]):
        return ""
    return f"the column {teams[0]} is not used; if those of a team share a rank, say team={teams[0]!r}"


def _unused_side_hint(recognised: RoleSearch, roles: ColumnRoles) -> str:
    """That nobody has the home advantage, though columns are called as those of home, away or neutral ground are."""
    a, b, neutral = recognised.arguments["a"], recognised.arguments["b"], recognised.unused_neutral
    nobody = "nobody has the home advantage"
    if neutral is not None:
        hint = f"if {a or 'a'} is at home, say side='a', neutral={neutral!r}"
        return f"the column {neutral} is not used, as {nobody}; {hint}"
    header = Header.of_columns([name for name in (a, b) if name is not None])
    is_home = any((a, b) in header.pairs(NAME_TEMPLATES, sides)[:1] for sides in HOME_AND_AWAY)
    if not is_home or roles.upcoming or recognised.arguments["side"] is not None:
        return ""
    return f"{a} and {b} look like home and away, but {nobody}; if the first has it, say side='a'"


def _zero_ranks_hint(roles: ColumnRoles, columns: dict[str, Column]) -> str:
    """That ranks are below 1, which may say that somebody did not finish; or nothing, as where none of them is a place.

    Raises:
      RowError: where a rank is below 1, and the others of all contests are places from 1.
    """
    name, contest_name = str(roles.layout.result), str(roles.layout.contest)
    if not roles.layout.ranked or name not in columns:
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
    """That two columns of numbers, which nothing uses, tell who won as the points of both sides do; or nothing."""
    if not (table.noted and data.of_matches) or _are_points_known(table, roles):
        return ""
    unused = [x for x in table.names if x not in roles.all_columns]
    pairs = [pair for pair in permutations(unused, 2) if _are_of_both_sides(pair, roles.layout.first_players)]
    wanted = list(dict.fromkeys(chain(*pairs)))
    loaded = table.load(wanted) if wanted else {}
    columns = {name: to_column(name, loaded[name]) for name in wanted}
    x, y = next((pair for pair in pairs if _do_tell_winners([columns[name] for name in pair], data)), ("", ""))
    return f"{x} and {y} are not used; if they are the points of both, say margin=[{x!r}, {y!r}]" if x else ""


def _are_points_known(table: TableSource, roles: ColumnRoles) -> bool:
    """Whether the columns of both sides' points are used, or are called as such."""
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


def _do_teams_share_ranks(recognised: RoleSearch, team_name: str) -> bool:
    """Whether, of teams with several members in a contest, most have one rank; drivers of a team have their own."""
    names = [*(recognised.arguments[role] or role for role in ("contest", "rank")), team_name]
    if not {*names} <= {*recognised.table.names}:
        return True
    loaded = recognised.table.load(names, names)
    contest, rank, team = (np.unique(np.asarray(loaded[x]).astype(str), return_inverse=True)[1] for x in names)
    _, number, members = np.unique(np.stack([contest, team]), axis=1, return_inverse=True, return_counts=True)
    ranks = np.bincount(np.unique(np.stack([number.ravel(), rank]), axis=1)[0], minlength=len(members))
    several = members > 1
    return not several.any() or bool((ranks[several] == 1).mean() > 0.5)


BOOKMAKERS = {  # by the beginning of their columns at football-data.co.uk and tennis-data.co.uk; the first are closing
    "PSC": "Pinnacle (closing)",
    "BFEC": "Betfair Exchange (closing)",
    "B365C": "bet365 (closing)",
    "AvgC": "market average (closing)",
    "PS": "Pinnacle",
    "BFE": "Betfair Exchange",
    "B365": "bet365",
    "Avg": "market average",
    "BbAv": "Betbrain average",
}
NUM_CLOSING = 4  # of these, the first
ODDS_ENDINGS = ("H", "D", "A"), ("H", "A"), ("W", "L")  # home, draw and away; winner and loser
FIVETHIRTYEIGHT = "FiveThirtyEight"
FORECAST_COLUMNS = ("prob1", "probtie", "prob2"), ("elo_prob1", "elo_prob2")  # of FiveThirtyEight's files


def recognise_forecast_columns(names: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The columns of published forecasts, and those of odds, by the name of their row.

    Where a file has closing odds, those from before are left out. Forecasts and odds are those of win, draw and loss of
    the first player, or of win and loss.

        recognise_forecast_columns(["HomeTeam", "AwayTeam", "FTR", "PSCH", "PSCD", "PSCA", "PSH", "PSD", "PSA"])
        # ({}, {"Pinnacle (closing)": ["PSCH", "PSCD", "PSCA"]})
    """
    forecasts = [columns for wanted in FORECAST_COLUMNS if (columns := _find_all(names, wanted))]
    odds = {}
    for beginning, label in BOOKMAKERS.items():
        choices = (_find_all(names, [f"{beginning}{ending}" for ending in endings]) for endings in ODDS_ENDINGS)
        found: list[str] = next(filter(None, choices), [])
        if found:
            odds[label] = found
    closing = {label: odds[label] for label in [*BOOKMAKERS.values()][:NUM_CLOSING] if label in odds}
    return ({FIVETHIRTYEIGHT: forecasts[0]} if forecasts else {}), closing or odds


def _find_all(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The columns of these names, in any case; none if one is not there."""
    found = [find_column_ignoring_case(names, name) for name in wanted]
    return [name for name in found if name is not None] if None not in found else []
