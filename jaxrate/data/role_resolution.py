"""Which columns of a table are used, and for what."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_suffix, format_value_for_error
from jaxrate.data.column_conversion import to_numbers
from jaxrate.data.column_role_definitions import (
    COLUMN_ROLES,
    CONTEST_ROLES,
    PLAYER_PAIR,
    WINNER_LOSER,
    as_column_list,
    check_role_arguments,
    select_role_arguments,
)
from jaxrate.data.table_sources import Column, check_columns_exist_and_unique, find_column_ignoring_case
from jaxrate.events import fail_where


class Statistic(NamedTuple):
    """A statistic, and the columns from which it is computed."""

    name: str  # of the column that matches get
    columns: tuple[str, ...]  # those of a and of b; or one of by how much a was ahead
    share: bool  # (a - b) / (a + b) in place of a - b


def resolve_statistics(statistics: Any, shares: Any) -> list[Statistic]:
    """The statistics that arguments of `read` name.

    Raises:
      ValueError: for arguments that do not name columns, or for a name given twice.
    """
    if shares and not isinstance(shares, Mapping):
        raise ValueError(f"shares must be a dict of two columns by name, got {format_value_for_error(shares)}")
    if not isinstance(statistics, Mapping):
        statistics = {name: name for name in as_column_list(statistics)}
    resolved = [_resolve_statistic(name, columns, False) for name, columns in statistics.items()]
    resolved += [_resolve_statistic(name, columns, True) for name, columns in (shares or {}).items()]
    names = [one.name for one in resolved]
    if len(set(names)) < len(names):
        raise ValueError(f"two statistics have the same name: {', '.join(names)}")
    return resolved


def _resolve_statistic(name: Any, columns: Any, share: bool) -> Statistic:
    """The statistic of this name, of the columns of both players, or of one by how much the first was ahead."""
    pair = tuple(as_column_list(columns))
    if not all(isinstance(x, str) and x for x in (name, *pair)):
        raise ValueError(f"statistics must be names of columns, got {format_value_for_error(columns)}")
    if len(pair) not in ((2,) if share else (1, 2)):
        raise ValueError(f"statistic {name!r} must be of two columns, a's and b's{'' if share else ', or of one'}")
    return Statistic(name, pair, share)


def first_player_statistic_lead(statistic: Statistic, columns: Mapping[str, Column]) -> HostArray:
    """[n] by how much the first player was ahead, NaN where a value is missing.

    Raises:
      RowError: where one of two that a share is of is below 0, or a value is infinite.
    """
    values = [to_numbers(name, columns[name], np.nan) for name in statistic.columns]
    for name, values_of_column in zip(statistic.columns, values, strict=True):
        bad = (values_of_column < 0) if statistic.share else np.isinf(values_of_column)
        fail_where(
            bad | np.isinf(values_of_column),
            lambda row: f"column {name!r} is {values_of_column[row]}, not a number {_valid_range_text(statistic)}",  # noqa: B023
        )
    if len(values) == 1:
        return values[0]
    first, second = values
    if not statistic.share:
        return first - second
    total = first + second
    return np.where(total == 0, 0.0, (first - second) / np.where(total == 0, 1.0, total))


def _valid_range_text(statistic: Statistic) -> str:
    return "from 0, as a share is of" if statistic.share else "that is finite"


class TableLayout(NamedTuple):
    """Which columns hold players and results, of matches or of contests."""

    players: list[str]  # of both players, or of the participant
    result: str | None = None  # of scores or ranks; None: player 0 has won, the points say who, or nobody yet
    contest: str | None = None  # None: matches
    ranked: bool = False  # whether the result is a rank, not a score
    winner_first: bool = False  # whether player 0 is the winner
    points: tuple[str, ...] = ()  # of each side, which tell who has won; without a result
    num_first: int = 0  # how many of `players` are of the first of two teams; 0: no teams, or a row a participant

    @property
    def first_players(self) -> tuple[str, str]:
        """The columns of the first player of both sides of a match."""
        return self.players[0], self.players[self.num_first or 1]

    @property
    def optional_players(self) -> list[str]:
        """The columns that hold players of larger teams only: all but the first of each team."""
        return [name for name in self.players if self.num_first and name not in self.first_players]


class ColumnRoles(NamedTuple):
    """The columns that are used, by their roles. None, or empty: there is none."""

    layout: TableLayout
    time: str | None
    weight: str | None
    side: str | None
    constant_side: float | None  # the side in every match; `side` is then no column
    neutral: str | None
    category: list[str]  # of a's and of b's
    margin: list[str]  # of the match, or the points of a and of b
    covariates: list[str]
    season: str | None
    columns: list[str]
    last_rank: str | None
    team: str | None
    ceiling: str | None
    noise: str | None
    drop: list[str]
    upcoming: bool  # no score is read, and no margin or statistic
    age: tuple[str, ...] = ()  # of a's and of b's age or birth
    league_season: str | None = None
    statistics: tuple[Statistic, ...] = ()
    expected_goals: Sequence[str] = ()  # of a and of b

    @property
    def text_columns(self) -> list[str]:
        """The columns that hold names."""
        names = self.layout.contest, self.team, self.season, self.league_season
        return [*self.layout.players, *self.category, *filter(None, names)]

    @property
    def statistic_columns(self) -> list[str]:
        """The columns from which statistics are computed."""
        return [name for statistic in self.statistics for name in statistic.columns]

    @property
    def prematch_columns(self) -> list[str]:
        """Further columns of the matches that are known before them, or belong to no result, each once."""
        after_match = {*self.margin, *self.expected_goals, *(statistic.name for statistic in self.statistics)}
        return [name for name in dict.fromkeys([*self.columns, *self.covariates]) if name not in after_match]

    @property
    def all_columns(self) -> list[str]:
        """All columns that are used, each once: those of names, and then those of numbers, flags and times."""
        layout, side = self.layout, None if self.constant_side else self.side
        single = layout.result, *layout.points, self.last_rank, self.ceiling, self.noise
        single = *single, self.time, side, self.neutral, self.weight
        after_match = [] if self.upcoming else [*self.margin, *self.statistic_columns, *self.expected_goals]
        several = [*self.prematch_columns, *after_match, *self.drop, *self.age]
        return list(dict.fromkeys([*self.text_columns, *filter(None, single), *several]))


def resolve_roles(
    names: Sequence[str], arguments: Mapping[str, Any], upcoming: bool, points: tuple[str, ...] = ()
) -> ColumnRoles:
    """The columns that are used of a table with columns of these names.

    Args:
      names: of all columns.
      arguments: those of `read` that name columns, by role.
      upcoming: as in `read`.
      points: the columns of each side's points, if these tell who has won and are not the margin.

    Raises:
      ValueError: if the arguments contradict each other, or if there is no such column.
    """
    arguments = select_role_arguments(arguments)
    statistics = tuple(resolve_statistics(arguments["statistics"], arguments["shares"]))
    check_role_arguments(arguments)
    layout = resolve_table_layout(names, arguments, upcoming, points)
    values: dict[str, Any] = {
        name: as_column_list(arguments[name]) if role.accepts_list else arguments[name]
        for name, role in COLUMN_ROLES.items()
    }
    if layout.contest is None:
        values["constant_side"] = constant_side(names, layout, values["side"])
        values["category"] *= 2 if len(values["category"]) == 1 else 1
    else:
        check_contest_roles(values, statistics)
        values["constant_side"] = None
    check_distinct_roles(layout, values, statistics)
    values["time"] = values["time"] or find_own_column(names, "time")
    values |= {"layout": layout, "upcoming": upcoming, "age": tuple(values["age"]), "statistics": statistics}
    roles = ColumnRoles(**{name: values[name] for name in ColumnRoles._fields})
    check_combined_roles(roles)
    check_columns_exist_and_unique(names, roles.all_columns)
    return roles


def check_combined_roles(roles: ColumnRoles) -> None:
    """ValueError for roles that need others, or exclude them."""
    if roles.neutral is not None and roles.side is None:
        raise ValueError("neutral needs side: without it nobody has the side in any match")
    if roles.age and "age" in roles.prematch_columns:
        raise ValueError("age is computed from two columns, and there is a column 'age' among the others: rename it")
    if roles.season is not None and roles.league_season is not None:
        raise ValueError("give season, which begins for all at once, or league_season, and not both")


def check_contest_roles(values: Mapping[str, Any], statistics: Sequence[Statistic]) -> None:
    """ValueError for columns of matches, and unless category, margin and each statistic of contests are one column."""
    wrong = [name for name, role in COLUMN_ROLES.items() if role.history == "matches" and values[name]]
    if wrong:
        raise ValueError(f"contests take no {' and no '.join(wrong)}, which only matches of two do; leave it out")
    pairs = {"category": values["category"], "margin": values["margin"]}
    pairs |= {f"statistic {one.name!r}": list(one.columns) for one in statistics}
    for name, columns in pairs.items():
        if len(columns) > 1:
            raise ValueError(f"the {name} of contests is one column, of each participant, got {', '.join(columns)}")


def is_margin_of_two_columns(margin: Any) -> bool:
    """Whether the margin is that of the points of both."""
    return isinstance(margin, (list, tuple)) and len(margin) == 2


def check_distinct_roles(layout: TableLayout, values: Mapping[str, Any], statistics: Sequence[Statistic]) -> None:
    """ValueError for columns of margins, covariates, statistics or expected goals that have two roles.

    A statistic may be computed from expected goals, but not bear the name of a column of them.
    """
    margin, covariates, goals = values["margin"], values["covariates"], values["expected_goals"]
    if len(margin) > 2 or len({*margin}) < len(margin):
        raise ValueError(f"margin must be one column, or the two of each side's points, got {', '.join(margin)}")
    if len({*goals}) < len(goals):
        raise ValueError(f"expected_goals must be two columns, those of a and of b, got {', '.join(goals)}")
    if len({*covariates}) < len(covariates):
        raise ValueError(f"covariates names a column twice: {', '.join(covariates)}")
    named = {statistic.name for statistic in statistics}
    results = {*margin, *layout.points, layout.result, *named, *chain(*(x.columns for x in statistics))}
    for names, others, reason in (
        (named, margin, "is the margin, so that it cannot be a statistic as well"),
        (covariates, results, "tells the result, so that it cannot be a covariate, known before it"),
        (goals, {*margin, *covariates, *named}, "holds expected goals, so that it cannot be something else as well"),
    ):
        if twice := [name for name in names if name in others]:
            raise ValueError(f"column {twice[0]!r} {reason}")


LAYOUTS = (
    WINNER_LOSER,
    PLAYER_PAIR,
    CONTEST_ROLES,
)  # of which the first two roles are the players, or contest and player


def default_column(role: str) -> str:
    """The name by which the library knows the column of a role."""
    return COLUMN_ROLES[role].default[0]


def find_own_column(names: Sequence[str], role: str) -> str | None:
    """The column that has one of the library's own names for a role, in any case."""
    columns = (find_column_ignoring_case(names, name) for name in COLUMN_ROLES[role].default)
    return next(filter(None, columns), None)


def named_layouts(arguments: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The layouts of which an argument names a column."""
    return [roles for roles in LAYOUTS if any(arguments[role] is not None for role in roles)]


def choose_layout(names: Sequence[str], arguments: Mapping[str, Any], upcoming: bool) -> tuple[str, ...] | None:
    """The layout that arguments name, or else that whose players have the library's own names; None: neither."""
    own = {
        roles: [find_own_column(names, role) for role in roles[:2]]
        for roles in LAYOUTS
        if not (upcoming and roles == WINNER_LOSER)
    }
    complete = [roles for roles, columns in own.items() if None not in columns]
    exact = [roles for roles in complete if own[roles] == [default_column(role) for role in roles[:2]]]
    return next(iter([*named_layouts(arguments), *exact, *complete]), None)


def resolve_table_layout(
    names: Sequence[str], arguments: Mapping[str, Any], upcoming: bool, points: tuple[str, ...] = ()
) -> TableLayout:
    """The layout of a table with columns of these names, some of which the arguments name by role."""
    check_layout_arguments(names, arguments, upcoming)
    roles = choose_layout(names, arguments, upcoming) or PLAYER_PAIR
    players = [_column_of_role(names, arguments, role) for role in roles[:2]]
    if roles == CONTEST_ROLES:
        return _contest_layout(names, arguments, upcoming, players)
    if players[0] == players[1]:
        raise ValueError(f"{roles[0]} and {roles[1]} are the same column, {players[0]!r}; name one for each player")
    if roles == WINNER_LOSER:
        if arguments["score"]:
            raise ValueError(
                "the score of a winner is 1; give a and b, not winner and loser, to use a column of scores"
            )
        return TableLayout(players, winner_first=True)
    layout = _player_pair_layout(names, arguments, upcoming, points)
    has_results = {*layout.points, layout.result} <= {*names, None}
    return TableLayout(players) if upcoming and not has_results else layout._replace(players=players)


def check_layout_arguments(names: Sequence[str], arguments: Mapping[str, Any], upcoming: bool) -> None:
    """ValueError if arguments name columns of several layouts, or results of events to come."""
    named = named_layouts(arguments)
    if len(named) > 1:
        raise ValueError("give the columns a and b, or winner and loser, or those of contests, and not the others")
    result = arguments["rank"] or arguments["last_rank"]
    if upcoming and CONTEST_ROLES in named and result:
        missing = "" if result in names else f", and there is no column {result!r}"
        raise ValueError(f"contests to come have no rank yet{missing}; leave out rank")
    if upcoming and WINNER_LOSER in named:
        raise ValueError(
            "matches to come have columns a and b, contests contest, player and perhaps team; nobody has won them yet"
        )


def _column_of_role(names: Sequence[str], arguments: Mapping[str, Any], role: str) -> Any:
    return arguments[role] or find_column_ignoring_case(names, default_column(role)) or default_column(role)


def _player_pair_layout(
    names: Sequence[str], arguments: Mapping[str, Any], upcoming: bool, points: tuple[str, ...]
) -> TableLayout:
    """The columns of the results of matches of a and b: that of the score, or the points of both."""
    score = arguments["score"]
    own_score = None if score is False else score or find_own_column(names, "score")
    if own_score is None and is_margin_of_two_columns(arguments["margin"]):
        points = tuple(arguments["margin"])
    if score is False and not points and not upcoming:
        raise ValueError("score=False needs the two columns of each side's points as margin, which tell who won")
    result = None if points or score is False else own_score or default_column("score")
    return TableLayout([], result, points=points)


def _contest_layout(
    names: Sequence[str], arguments: Mapping[str, Any], upcoming: bool, players: list[str]
) -> TableLayout:
    """The columns of contests: with a rank, of which lower is better, or with a score, of which higher is."""
    contest, participant = players
    if upcoming:
        return TableLayout([participant], None, contest)
    if arguments["rank"] is not None and arguments["score"]:
        raise ValueError("give rank, lower is better, or score, higher is better, and not both")
    has_own_score = find_own_column(names, "score") and not find_own_column(names, "rank")
    is_open = arguments["score"] is None and arguments["rank"] is None
    ranked = not (arguments["score"] or (is_open and has_own_score))
    if arguments["last_rank"] is not None and (not ranked or arguments["team"] is not None):
        raise ValueError("last_rank, the last place of a tie, goes with rank, and not with score or team")
    result = _column_of_role(names, arguments, "rank" if ranked else "score")
    return TableLayout([participant], result, contest, ranked=ranked)


def constant_side(names: Sequence[str], layout: TableLayout, side: str | None) -> float | None:
    """The side where it is the same in all matches, as side="a" and side="b" say; None if `side` is a column."""
    if side is None:
        return None
    is_constant = side in PLAYER_PAIR and (side not in names or layout.first_players[PLAYER_PAIR.index(side)] == side)
    if side in WINNER_LOSER or (layout.winner_first and (is_constant or side in layout.players)):
        raise ValueError(
            f"side={side!r} would tell the result before the match; name a column that says who had the side, "
            "1 the winner, -1 the loser, 0 neither"
        )
    if is_constant:
        return 1.0 if side == "a" else -1.0
    _check_side_column(names, layout, side)
    return None


def _check_side_column(names: Sequence[str], layout: TableLayout, side: str) -> None:
    """ValueError unless a column says who has the side, and does not hold players."""
    if side in layout.players:
        hint = "a" if side == layout.players[0] else "b"
        raise ValueError(f"side={side!r} names players; where {side!r} has the side in all matches, say side={hint!r}")
    if side not in names:
        hint = did_you_mean_suffix(side, names) or "; where the first player has the side in all matches, say side='a'"
        raise ValueError(f"no column {side!r} (there are: {', '.join(map(str, names))}){hint}")
