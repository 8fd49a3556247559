"""Which columns of a table are used, and for what: the roles of columns and their checks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_suffix, format_value_for_error
from jaxrate.data.column_conversion import to_numbers
from jaxrate.data.column_role_definitions import (
    COLUMN_ROLES,
    PLAYER_PAIR,
    WINNER_LOSER,
    as_column_list,
    raise_first_applicable_error,
)
from jaxrate.data.table_sources import Column, check_columns_exist_and_unique
from jaxrate.events import fail_where


class Statistic(NamedTuple):
    """A statistic, and the columns from which it is computed."""

    name: str  # of the column that matches get
    columns: tuple[str, ...]  # those of a and of b; or one of by how much a was ahead
    share: bool  # (a - b) / (a + b) in place of a - b


def resolve_statistics(statistics: Any, shares: Any) -> tuple[Statistic, ...]:
    """The statistics that arguments of `read` name."""
    shares = shares or {}
    if not isinstance(shares, Mapping):
        raise ValueError(f"shares must be a dict of two columns by name, got {format_value_for_error(shares)}")
    leads = statistics if isinstance(statistics, Mapping) else {name: name for name in as_column_list(statistics)}
    resolved = [_resolve_statistic(name, columns, False) for name, columns in leads.items()]
    resolved += [_resolve_statistic(name, columns, True) for name, columns in shares.items()]
    if {*leads} & {*shares}:
        raise ValueError(f"two statistics have the same name: {', '.join(one.name for one in resolved)}")
    return tuple(resolved)


def _resolve_statistic(name: Any, value: Any, share: bool) -> Statistic:
    """The statistic of this name; ValueError unless it is of one column or two, and a share of two."""
    columns = tuple(as_column_list(value))
    if not all(isinstance(x, str) and x for x in (name, *columns)):
        raise ValueError(f"statistics must be names of columns, got {format_value_for_error(columns)}")
    if len(columns) not in ((2,) if share else (1, 2)):
        raise ValueError(f"statistic {name!r} must be of two columns, a's and b's{'' if share else ', or of one'}")
    return Statistic(name, columns, share)


def first_player_statistic_lead(statistic: Statistic, columns: Mapping[str, Column]) -> HostArray:
    """[n] by how much the first player was ahead, NaN where a value is missing."""
    valid = "from 0, as a share is of" if statistic.share else "that is finite"
    values = [to_numbers(name, columns[name], np.nan) for name in statistic.columns]
    for name, x in zip(statistic.columns, values, strict=True):
        bad = np.isinf(x) | (statistic.share & (x < 0))
        fail_where(bad, lambda row: f"column {name!r} is {x[row]}, not a number {valid}")  # noqa: B023
    if len(values) == 1:
        return values[0]
    first, second = values
    total = first + second if statistic.share else np.ones(len(first))
    return np.where(total == 0, 0.0, (first - second) / np.where(total == 0, 1.0, total))


class ColumnRoles(NamedTuple):
    """The columns that are used, by their roles, of matches or of contests. None, or empty: there is none."""

    players: list[str]  # of both players, or of the participant
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
    team: str | None
    ceiling: str | None
    noise: str | None
    drop: list[str]
    drop_mirrored: bool  # whether a match that stands there twice, once from each side, counts once
    upcoming: bool  # no score is read, and no margin or statistic
    age: tuple[str, ...] = ()  # of a's and of b's age or birth
    league_season: str | None = None
    venue: str | None = None
    statistics: tuple[Statistic, ...] = ()
    expected_goals: Sequence[str] = ()  # of a and of b
    result: str | None = None  # of scores or ranks; None: player 0 has won, the points say who, or nobody yet
    contest: str | None = None  # None: matches
    ranked: bool = False  # whether the result is a rank, not a score
    winner_first: bool = False  # whether player 0 is the winner
    points: tuple[str, ...] = ()  # of each side, or the lead of the first, which tell who has won; without a result
    num_first: int = 0  # how many of `players` are of the first of two teams; 0: no teams, or a row a participant

    @property
    def first_players(self) -> tuple[str, str]:
        """The columns of the first player of both sides of a match."""
        return self.players[0], self.players[self.num_first or 1]

    @property
    def player_arguments(self) -> dict[str, str]:
        """The columns of the first player of both sides of a match, by the arguments of `read` that name them."""
        return dict(zip(WINNER_LOSER if self.winner_first else PLAYER_PAIR, self.first_players, strict=True))

    @property
    def optional_players(self) -> list[str]:
        """The columns that hold players of larger teams only: all but the first of each team."""
        return [name for name in self.players if self.num_first and name not in self.first_players]

    @property
    def result_columns(self) -> list[str]:
        """The columns that tell the results of matches, or those of contests."""
        return [*filter(None, [self.result]), *self.points]

    @property
    def text_columns(self) -> list[str]:
        """The columns that hold names."""
        names = self.contest, self.team, self.season, self.league_season, self.venue
        return [*self.players, *self.category, *filter(None, names)]

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
        side = None if self.constant_side else self.side
        single = *self.result_columns, self.ceiling, self.noise
        single = *single, self.time, side, self.neutral, self.weight
        after_match = [] if self.upcoming else [*self.margin, *self.statistic_columns, *self.expected_goals]
        several = [*self.prematch_columns, *after_match, *self.drop, *self.age]
        return list(dict.fromkeys([*self.text_columns, *filter(None, single), *several]))


def resolve_roles(
    names: Sequence[str], layout: Mapping[str, Any], arguments: Mapping[str, Any], upcoming: bool
) -> ColumnRoles:
    """The columns that are used, by a layout of players and results, as fields, and by (recognised) arguments."""
    values: dict[str, Any] = {
        name: as_column_list(arguments[name]) if role.accepts_list else arguments[name]
        for name, role in COLUMN_ROLES.items()
    }
    of_both = 2 if layout.get("contest") is None and len(values["category"]) == 1 else 1
    special = {"mirrored"} - {*names}
    values |= {
        "contest": None,
        "drop": [name for name in values["drop"] if name not in special],
        "drop_mirrored": not special.isdisjoint(values["drop"]),
        "upcoming": upcoming,
        "constant_side": None,
        "category": values["category"] * of_both,
        "age": tuple(values["age"]),
        "statistics": resolve_statistics(arguments["statistics"], arguments["shares"]),
        **layout,
    }
    roles = ColumnRoles(**{name: x for name, x in values.items() if name in ColumnRoles._fields})
    roles = roles._replace(constant_side=constant_side(names, roles))
    check_roles(roles, values)
    check_columns_exist_and_unique(names, roles.all_columns)
    return roles


def check_roles(roles: ColumnRoles, columns: Mapping[str, Any]) -> None:
    """ValueError for roles that need others or exclude them, and for columns that have two roles."""
    raise_first_applicable_error(
        *(_problems_of_contests(roles, columns) if roles.contest is not None else ()),
        *_problems_of_double_roles(roles),
        (roles.neutral and not roles.side, "neutral needs side: without it nobody has the side in any match"),
        (
            roles.age and "age" in roles.prematch_columns,
            "age is computed from two columns, and there is a column 'age' among the others: rename it",
        ),
        (roles.season and roles.league_season, "give season, which begins for all at once, or league_season, not both"),
    )


def _problems_of_contests(roles: ColumnRoles, columns: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """The problems of contests: roles of matches, and pairs of columns, of both sides."""
    wrong = [name for name, role in COLUMN_ROLES.items() if role.history == "matches" and columns[name]]
    yield wrong, f"contests take no {' and no '.join(wrong)}, which only matches of two do; leave it out"
    pairs = {"category": roles.category, "margin": roles.margin}
    pairs |= {f"statistic {one.name!r}": [*one.columns] for one in roles.statistics}
    for name, names in pairs.items():
        got = ", ".join(map(str, names))
        yield len(names) > 1, f"the {name} of contests is one column, of each participant, got {got}"


def _problems_of_double_roles(roles: ColumnRoles) -> Iterator[tuple[Any, str]]:
    """Columns of two roles; statistics may be computed from expected goals, but not bear the name of such a column."""
    margin, statistics = roles.margin, [one.name for one in roles.statistics]
    results = [*margin, *roles.result_columns, *statistics, *roles.statistic_columns]
    own_result = [] if roles.contest else [roles.result]
    for names, others, reason in (
        (
            margin,
            own_result,
            "tells who won, so that it cannot be the margin; name the points of both as the margin, of cells as 2:1 "
            "by the name of their column with (1) and (2)",
        ),
        (statistics, margin, "is the margin, so that it cannot be a statistic as well"),
        (roles.covariates, results, "tells the result, so that it cannot be a covariate, known before it"),
        (
            roles.expected_goals,
            [*margin, *roles.covariates, *statistics],
            "holds expected goals, so that it cannot be something else as well",
        ),
    ):
        for name in names:
            yield name in others, f"column {name!r} {reason}"


def constant_side(names: Sequence[str], roles: ColumnRoles) -> float | None:
    """The side where it is the same in all matches, as side="a" and side="b" say; None if it is a column."""
    side = roles.side
    if side is None or roles.contest is not None:
        return None
    players = dict(zip(PLAYER_PAIR, roles.first_players, strict=True))
    is_constant = side in players and (side not in names or players[side] == side)
    tells_result = side in WINNER_LOSER or (roles.winner_first and (is_constant or side in roles.players))
    hint = did_you_mean_suffix(side, names) or "; where the first player has the side in all matches, say side='a'"
    raise_first_applicable_error(
        (
            tells_result,
            f"side={side!r} would tell the result before the match; name a column that says who had the side, 1 the "
            "winner, -1 the loser, 0 neither",
        ),
        (not is_constant and side not in names, f"no column {side!r} (there are: {', '.join(map(str, names))}){hint}"),
        (
            not is_constant and side in roles.players,
            f"side={side!r} holds players; where {side!r} has the side in all matches, say "
            f"side={'ab'[side != roles.players[0]]!r}",
        ),
    )
    return {"a": 1.0, "b": -1.0}[side] if is_constant else None


def check_line_up_roles(arguments: Mapping[str, Any]) -> None:
    """ValueError for arguments of `read` that a table of line-ups does not take."""
    if len(as_column_list(arguments["category"])) > 1:
        raise ValueError("the category of line-ups is one column, what everybody meets")
    advice = {name: role.line_up_advice for name, role in COLUMN_ROLES.items() if arguments[name]}
    for first in [*filter(None, advice.values())][:1]:
        roles = " and no ".join(name for name in advice if advice[name] == first)
        raise ValueError(f"line-ups take no {roles}{first}")
