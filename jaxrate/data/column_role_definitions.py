"""The columns of a file: one table of their roles, from which signatures, documentation, checks and options follow.

A role is a keyword argument of `jr.read` and `jr.rate`. The formats and the command line take some of the roles, by the
same names.
"""

import os
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import cleandoc, signature
from textwrap import fill
from typing import Any, Literal, NamedTuple, ParamSpec, TypeAlias, TypedDict, TypeVar

from jaxrate.core.text_format import format_value_for_error, join_names

P = ParamSpec("P")
R = TypeVar("R")
Accepts: TypeAlias = Literal["column", "columns", "one or two columns", "two columns", "statistics", "shares"]

WINNER_LOSER, PLAYER_PAIR = ("winner", "loser"), ("a", "b")
LISTED_ROLES = *PLAYER_PAIR, *WINNER_LOSER, "contest"  # which may be lists of columns, as of the players of a team
PLACEHOLDER = re.compile(r"^ *COLUMNS: .*$", re.MULTILINE)  # in a docstring, where the roles come
DOCSTRING_WIDTH = 116


class ColumnRole(NamedTuple):
    """The role of a column: its meaning, and what its argument accepts."""

    meaning: str  # for docstrings and the command line
    details: str = ""  # further sentences, for docstrings
    accepts: Accepts = "column"
    history: Literal["matches", "contests", "both"] = "matches"  # of which it may be a column
    default: tuple[str, ...] = ()  # names of columns that have the role without being named
    line_up_advice: str = ""  # what to do instead in line-ups of teams, which do not take it; "": they do

    @property
    def accepts_list(self) -> bool:
        """Whether several columns may have the role."""
        return self.accepts in ("columns", "one or two columns", "two columns")


HOME_ADVICE = ": make a home game a covariate of each player, in a table with a row for each"
OWN_ADVICE = ": they are each player's own, in a table with a row for each"
NO_CONTESTS_ADVICE = ", and neither do other contests; leave such columns out"
COLUMN_ROLES = {
    "a": ColumnRole(
        "column of the first player",
        "They are player 0. Names are of any hashable type. Of teams a list of columns, of which the first is never "
        "empty (a1, a2, b1 and b2 need not be named) and in whose text semicolons divide players, of a single column "
        'also " / "; or a column of lists of players. Matches of teams become contests of two.',
        default=("a",),
    ),
    "b": ColumnRole("column of the second player", "Names are of the same type.", default=("b",)),
    "score": ColumnRole(
        "column of the first player's score, from 0 to 1",
        "Or of results as W, D and L, as H, D and A, as 1, X and 2, as 2-1 or 1/2-1/2 in one cell, or of the name of "
        "the winner. For contests, see `rank`. The default does not hold if that column has no results and the two "
        "columns of `margin` tell who won. False: no column, whatever it is called. Rows without a result are left out "
        "of the matches; upcoming ones are `fixtures` of the dataset.",
        history="both",
        default=("score",),
    ),
    "winner": ColumnRole(
        "column of the winner, instead of `a`, `b` and `score`",
        "The winner becomes player 0 and the score is 1. Of teams as `a`.",
        default=("winner",),
    ),
    "loser": ColumnRole("column of the loser", default=("loser",)),
    "contest": ColumnRole(
        "column of the contest; each participant has a row",
        "Rows of the same value, of any hashable type, are one contest. They must stand together, or `sort` brings "
        "them together. Contests count in the order of the table.",
        history="contests",
        default=("contest",),
    ),
    "participant": ColumnRole("column of the player", history="contests", default=("player",)),
    "rank": ColumnRole(
        "column of the rank, 1 is best; or give `score`, higher is better",
        "Equal ranks are a tie.",
        history="contests",
        default=("rank",),
    ),
    "team": ColumnRole(
        "column of the team; team-mates share a rank",
        "A player without a team has a value of their own. One who is in several has a row for each, see `rounds`.",
        history="contests",
    ),
    "ceiling": ColumnRole(
        "column of a cap: better performances count as this",
        "The same within a contest. A missing one, or inf: none.",
        history="contests",
    ),
    "noise": ColumnRole(
        "column of the noise of performances relative to a usual contest, as 2 for a short one",
        "The same within a contest, above 0.",
        history="contests",
    ),
    "time": ColumnRole(
        "column of dates, or numbers of days",
        "Dates, timestamps and text become days since 1970-01-01 (UTC); numbers stay as they are unless all are dates "
        "of eight digits, as 20240131. A column without any value is no time.",
        history="both",
        default=("time", "date", "t"),
    ),
    "side": ColumnRole(
        'column: 1 if the first player has home advantage or white, -1 if the second; or "a": always the first',
        '0: neither; true is 1 and false 0. "a" and "b", unless another column has that name: that player in every '
        "match.",
        line_up_advice=HOME_ADVICE,
    ),
    "neutral": ColumnRole("column: true (or 1) on neutral ground", line_up_advice=HOME_ADVICE),
    "weight": ColumnRole(
        "column of weights: a match of weight 2 counts twice; in contests with a row for each player also partial play",
        "Above 0.",
        history="both",
    ),
    "category": ColumnRole(
        "column of the category, as the surface; or two columns, one for each player, as their races",
        "In contests one column: what each participant meets, as the map or the mode.",
        accepts="one or two columns",
        history="both",
    ),
    "margin": ColumnRole(
        "column of the winning margin; or two columns, the points of each side, which also give the score",
        "The points are those of a (or the winner) and of b; those in cells as 2:1 of a column FT are called FT (1) "
        "and FT (2). Systems learn from the size of the margin. The score "
        "says who won, and a draw has no margin. Margins, statistics and covariates are kept with the matches in "
        "`context.columns`, and the dataset says which they are. In contests one column: the points of each "
        "participant's team. Contests have all of these as `columns`, by participant.",
        accepts="one or two columns",
        history="both",
    ),
    "statistics": ColumnRole(
        "column of another statistic, as expected goals: the first player's lead; or, by name, one for each side",
        'As {"xg": ("xg_a", "xg_b")}: the statistic is the difference of the two. Its sign may differ from that of the '
        "result, and a value may be missing: the statistic is then NaN. In contests one column each, of the "
        "participant, about 0 for equals.",
        accepts="statistics",
        history="both",
        line_up_advice=OWN_ADVICE,
    ),
    "shares": ColumnRole(
        "further statistics, by name from one column for each side, as games won: the lead as a share of both",
        "The statistic is (a - b) / (a + b), and 0 where nobody won any.",
        accepts="shares",
        line_up_advice=NO_CONTESTS_ADVICE,
    ),
    "expected_goals": ColumnRole(
        "columns of both sides' expected goals, or of shots at goal; for skills that learn from goals",
        "Those of a (or the winner) and of b. Values may be missing: they are then NaN.",
        accepts="two columns",
        line_up_advice=NO_CONTESTS_ADVICE,
    ),
    "covariates": ColumnRole(
        "column of an advantage of the first player that is known beforehand, as komi or days of rest",
        "In contests of each participant.",
        accepts="columns",
        history="both",
        line_up_advice=OWN_ADVICE,
    ),
    "age": ColumnRole(
        "add the age difference as a covariate, from two columns of ages or dates of birth",
        "In years. Where either has none it is 0.",
        accepts="two columns",
        line_up_advice=NO_CONTESTS_ADVICE,
    ),
    "venue": ColumnRole(
        "column of the ground, by its name, on which the players of a match may have played before",
        "For `jr.data.add_ground`. A value may be missing.",
        line_up_advice=NO_CONTESTS_ADVICE,
    ),
    "season": ColumnRole(
        "column of the season, as 2021 or 2020-21; it begins with its first match",
        "The dataset says when. Matches of a season that are played after the next has begun count as of the next.",
        line_up_advice=": give the times at which they begin to the system, as jr.parts.seasons(...)",
    ),
    "league_season": ColumnRole(
        "column of seasons that overlap between leagues, as 2020-21",
        "In place of `season`: a season begins for a player with their first match in it.",
        line_up_advice=NO_CONTESTS_ADVICE,
    ),
    "columns": ColumnRole(
        "further column of numbers, passed to a system of your own",
        "As `context.columns`, in contests as `columns`.",
        accepts="columns",
        history="both",
    ),
    "drop": ColumnRole(
        "skip rows where this column is true (or 1)",
        'Nothing else of such a row is looked at. "mirrored", unless a column has that name: the later of two rows of '
        "a match, once from each side, as in the logs of teams.",
        accepts="columns",
        history="both",
    ),
}


class UntimedColumns(TypedDict, total=False):
    """The roles of `Columns` but for the time."""

    a: str | Sequence[str] | None
    b: str | Sequence[str] | None
    score: str | Literal[False] | None
    winner: str | Sequence[str] | None
    loser: str | Sequence[str] | None
    contest: str | Sequence[str] | None
    participant: str | None
    rank: str | None
    team: str | None
    ceiling: str | None
    noise: str | None
    side: str | None
    neutral: str | None
    weight: str | None
    category: str | Sequence[str] | None
    margin: str | Sequence[str] | None
    statistics: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None
    shares: Mapping[str, Sequence[str]] | None
    expected_goals: str | Sequence[str] | None
    covariates: str | Sequence[str] | None
    age: str | Sequence[str] | None
    venue: str | None
    season: str | None
    league_season: str | None
    columns: str | Sequence[str] | None
    drop: str | Sequence[str] | None


class Columns(UntimedColumns, total=False):
    """Which columns of a table are used, and for what: the keywords of `read` that `COLUMN_ROLES` explains."""

    time: str | None


NUM_COLUMNS: dict[str, tuple[int, ...]] = {"one or two columns": (0, 1, 2), "two columns": (0, 2)}
EACH_ONCE = "margin", "covariates", "expected_goals"
FORMAT_NAMES = "tennis", "football", "pgn", "contests", "ergast", "movielens", "lichess"  # of `jr.data.formats`
CONTEST_ROLES = tuple(name for name, role in COLUMN_ROLES.items() if role.history == "contests")
RESULT_ROLES = "score", "winner", "loser", "contest", "participant", "rank"  # that tell the result
LAYOUT_ROLES = *PLAYER_PAIR, *RESULT_ROLES  # that tell the players and the result


def is_pgn_file(file: str | os.PathLike[str]) -> bool:
    """Whether the name of a file is that of games in PGN, compressed or not."""
    return re.search(r"\.pgn(\.\w+)?$", os.fspath(file).lower()) is not None


def select_role_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function that name columns; None for roles that it does not take."""
    return {name: arguments.get(name) for name in COLUMN_ROLES}


def describe_role(name: str) -> str:
    """The lines about a role in the docstring of a function that takes it."""
    role = COLUMN_ROLES[name]
    contests = "in contests, " if role.history == "contests" else ""
    several = " May be a list of columns." if role.accepts == "columns" else ""
    names = [f'"{x}"' for x in role.default]
    default = f" Default: {join_names(names, 'or')}." if names else ""
    text = f"  {name}: {contests}{role.meaning}.{several}{default} {role.details}".rstrip()
    return fill(text, DOCSTRING_WIDTH, subsequent_indent=" " * 4, break_on_hyphens=False)


def document_roles(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator: roles of `Columns` stand in docstring (at `COLUMNS: ...`), signature and errors of a function."""
    from jaxrate.core.argument_checks import (  # which loads NumPy, which the help of the command line does without
        argument_errors_as_value_errors,
        check_keyword_names,
        signature_of_types,
    )

    shown = signature_of_types(signature(function))

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        check_keyword_names(function.__name__, kwargs, shown.parameters)
        with argument_errors_as_value_errors(function.__name__, kwargs):
            return function(*args, **kwargs)

    call.__signature__ = shown  # type: ignore[attr-defined]
    text = "\n".join(map(describe_role, COLUMN_ROLES))
    call.__doc__ = PLACEHOLDER.sub(lambda line: text, cleandoc(function.__doc__ or ""))
    return call


def raise_first_applicable_error(*problems: tuple[Any, str]) -> None:
    """ValueError of the first of these messages whose condition, which stands before it, holds."""
    for is_wrong, message in problems:
        if is_wrong:
            raise ValueError(message)


def check_role_arguments(arguments: Mapping[str, Any]) -> None:
    """ValueError unless the arguments are names of columns, or lists of them where there may be several."""
    for name, value in arguments.items():
        is_no_column = value is None or (name == "score" and value is False)
        if not is_no_column and COLUMN_ROLES[name].accepts not in ("statistics", "shares"):  # which are checked apart
            _check_role_argument(name, value)


def _check_role_argument(name: str, value: Any) -> None:
    accepts = COLUMN_ROLES[name].accepts
    is_list = isinstance(value, (list, tuple)) and (accepts != "column" or name in LISTED_ROLES)
    columns = list(value) if is_list else [value]
    wrong = ", ".join(format_value_for_error(x) for x in columns if not _is_column_name(x))
    got, numbers = ", ".join(map(str, columns)), NUM_COLUMNS.get(accepts, (len(columns),))
    raise_first_applicable_error(
        (wrong and not is_list, f"{name} must be the name of a column, got {wrong}"),
        (wrong, f"{name} must be names of columns, got {wrong} among them"),
        (len(columns) not in numbers, f"{name} must be {accepts}, of a and of b, got {got}"),
        (name in EACH_ONCE and len({*map(repr, columns)}) < len(columns), f"{name} names a column twice: {got}"),
    )


def _is_column_name(name: Any) -> bool:
    return isinstance(name, Hashable) and not isinstance(name, (tuple, float, Iterator)) and bool(name)


def as_column_list(names: Any) -> list[Any]:
    """The columns that an argument names, each of its own."""
    return list(names) if isinstance(names, (list, tuple)) else [] if names is None else [names]
