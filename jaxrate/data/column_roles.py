"""Which column of a table has which part: named by the caller, or known by its name."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from jaxrate.data.statistic_columns import Statistic, resolve_statistics
from jaxrate.data.table_sources import check_columns_exist, find_column
from jaxrate.text_format import format_cell

WINNER_LOSER, PLAYER_PAIR = ("winner", "loser"), ("a", "b")
CONTEST_PARTS = ("contest", "participant", "rank", "last_rank", "team", "ceiling", "noise")
DERIVED_COVARIATES = "rest", "form", "age"  # covariates that are made of a history
DEFAULT_COLUMNS = {"participant": "player"}  # names of columns that are not those of their parts


class Form(NamedTuple):
    """Which columns make a table one of matches or of contests."""

    who: list[str]  # of both players, or of the participant
    result: str | None = None  # of scores or ranks; None: player 0 has won, the points say who, or nobody yet
    contest: str | None = None  # None: matches
    ranked: bool = False  # the result is a rank, not a score
    won: bool = False  # player 0 is the winner
    points: tuple[str, ...] = ()  # of each side, which tell who has won; without a result


class Roles(NamedTuple):
    """The columns that are used. None, or empty: there is none for this part."""

    form: Form
    time: str | None
    weight: str | None
    side: str | None
    everywhere: float | None  # the side in every match; `side` is then no column
    neutral: str | None
    category: list[str]  # of a's and of b's
    margin: list[str]  # of the match, or the points of a and of b
    covariates: list[str]
    season: str | None
    further: list[str]
    last: str | None
    team: str | None
    ceiling: str | None
    noise: str | None
    drop: list[str]
    upcoming: bool  # no score is read, and no margin or statistic
    rest: float | None = None  # days that longer rests count as
    form_time: float | None = None  # time constant of form, in days
    age: tuple[str, ...] = ()  # of a's and of b's age or birth
    league_season: str | None = None
    statistics: tuple[Statistic, ...] = ()

    @property
    def text(self) -> list[str]:
        """The columns that hold names."""
        names = self.form.contest, self.team, self.season, self.league_season
        return [*self.form.who, *self.category, *filter(None, names)]

    @property
    def numbers(self) -> list[str]:
        """The columns that hold numbers, flags or times."""
        side = None if self.everywhere else self.side
        one = (
            self.form.result,
            *self.form.points,
            self.last,
            self.ceiling,
            self.noise,
            self.time,
            side,
            self.neutral,
            self.weight,
        )
        counted = [] if self.upcoming else [*self.margin, *self.counted]
        return [*filter(None, one), *self.known, *counted, *self.drop, *self.age]

    @property
    def derived_covariates(self) -> list[str]:
        """The covariates that are made of the history."""
        asked = self.rest, self.form_time, self.age or None
        return [name for name, wanted in zip(DERIVED_COVARIATES, asked, strict=True) if wanted is not None]

    @property
    def counted(self) -> list[str]:
        """The columns that statistics are made of."""
        return [name for one in self.statistics for name in one.columns]

    @property
    def known(self) -> list[str]:
        """Further columns of the matches, but for the margin and statistics, each once."""
        later = {*self.margin, *(one.name for one in self.statistics)}
        return [name for name in dict.fromkeys([*self.further, *self.covariates]) if name not in later]

    @property
    def wanted(self) -> list[str]:
        """All columns, each once."""
        return list(dict.fromkeys([*self.text, *self.numbers]))


def resolve_roles(
    names: Sequence[str], arguments: dict[str, Any], upcoming: bool, points: tuple[str, ...] = ()
) -> Roles:
    """The parts of the columns with these names, some of them `given` by the arguments of `read`.

    Args:
      names: of all columns.
      given: names of columns by argument of `read`.
      upcoming: as in `read`.
      points: the columns of each side's points, if these tell who has won and are not the margin.

    Raises:
      ValueError: if the arguments contradict each other, or if there is no such column.
    """
    statistics = resolve_statistics(arguments["statistics"], arguments["shares"])
    check_column_names(arguments)
    form = resolve_table_form(names, arguments, upcoming, points)
    side, neutral, category, time = (arguments[part] for part in ("side", "neutral", "category", "time"))
    season = arguments["season"]
    drop, further, margin, covariates = (
        _as_list(arguments[part]) for part in ("drop", "columns", "margin", "covariates")
    )
    everywhere = None
    if form.contest is None:
        everywhere = constant_side(names, form, side)
    elif not side is neutral is category is season is None or further or margin or covariates or statistics:
        raise ValueError(
            "side, neutral, category, margin, statistics, covariates, season and columns are for matches of two, "
            "not for contests"
        )
    elif any(arguments[part] for part in (*DERIVED_COVARIATES, "league_season")):
        raise ValueError("rest, form, age and league_season are for matches of two, not for contests")
    check_evidence_columns(form, margin, covariates, statistics)
    if time is None:
        time = next(filter(None, (find_column(names, key) for key in ("time", "date", "t"))), None)
    if neutral is not None and side is None:
        raise ValueError("neutral needs side: without it nobody has the side in any match")
    pair = [category] * 2 if isinstance(category, str) else [] if category is None else category
    if not isinstance(pair, (list, tuple)) or len(pair) not in (0, 2):
        raise ValueError(f"category must be one column or the pair of a's and b's, got {category}")
    weight, last, team, ceiling, noise = (
        arguments[part] for part in ("weight", "last_rank", "team", "ceiling", "noise")
    )
    pair = list(pair)
    evidence = margin, covariates, season, further
    contest = last, team, ceiling, noise
    roles = Roles(
        form, time, weight, side, everywhere, neutral, pair, *evidence, *contest, drop, upcoming,
        *rest_form_and_age(arguments), league_season=arguments["league_season"], statistics=tuple(statistics),
    )  # fmt: skip
    for name in roles.derived_covariates:
        if name in roles.known:
            raise ValueError(
                f"{name} is made of the history, and there is a column {name!r} among the others: rename it"
            )
    if season is not None and roles.league_season is not None:
        raise ValueError("give season, which begins for all at once, or league_season, and not both")
    check_columns_exist(names, roles.wanted)
    return roles


def check_column_names(arguments: dict[str, Any]) -> None:
    """ValueError unless the arguments are names of columns, or lists of them where there may be several."""
    several = {"category", "columns", "drop", "margin", "covariates", "age"}
    for part, name in arguments.items():
        if part in ("rest", "form", "statistics", "shares"):
            continue  # which are numbers of days, or are checked by `statistics_of`
        if part == "score" and name is False:
            continue  # no column
        if part == "category" and isinstance(name, (list, tuple)) and len(name) not in (0, 2):
            continue  # which is refused in words of its own
        if name is not None and not (part in several and isinstance(name, (list, tuple))) and not _is_column_name(name):
            raise ValueError(f"{part} must be the name of a column, got {format_cell(name)}")
        for one in name if part in several and isinstance(name, (list, tuple)) else ():
            if not _is_column_name(one):
                raise ValueError(f"{part} must be names of columns, got {format_cell(one)} among them")


def _is_column_name(name: Any) -> bool:
    return isinstance(name, Hashable) and not isinstance(name, (tuple, float)) and bool(name)


def is_pair(margin: Any) -> bool:
    """Whether the margin is told by the points of both."""
    return isinstance(margin, (list, tuple)) and len(margin) == 2


def rest_form_and_age(arguments: dict[str, Any]) -> tuple[float | None, float | None, tuple[str, ...]]:
    """The days of rest and of form, and the columns of ages."""
    for part in ("rest", "form"):
        days = arguments[part]
        if days is not None and (isinstance(days, bool) or not isinstance(days, (int, float)) or not 0 < days < 1e9):
            raise ValueError(f"{part} must be a number of days above 0, got {format_cell(days)}")
    age = _as_list(arguments["age"])
    if len(age) not in (0, 2):
        raise ValueError(f"age must be the columns of a's and of b's age or date of birth, got {', '.join(age)}")
    return arguments["rest"], arguments["form"], tuple(age)


def _as_list(names: Any) -> list[Any]:
    return list(names) if isinstance(names, (list, tuple)) else [] if names is None else [names]


def check_evidence_columns(form: Form, margin: list[str], covariates: list[str], statistics: list[Statistic]) -> None:
    """ValueError unless these columns can be the margin, covariates and statistics of matches."""
    if len(margin) > 2 or len(set(margin)) < len(margin):
        raise ValueError(f"margin must be one column, or the two of each side's points, got {', '.join(margin)}")
    counted = [x for one in statistics for x in (one.name, *one.columns)]
    for one in statistics:
        if one.name in margin:
            raise ValueError(f"column {one.name!r} is the margin, so that it cannot be a statistic beside it")
    for name in covariates:
        if name in (*margin, *counted, *form.points, form.result):
            raise ValueError(f"column {name!r} tells the result, so that it cannot be a covariate, known before it")
        if covariates.count(name) > 1:
            raise ValueError(f"covariates names the column {name!r} twice")


def resolve_table_form(
    names: Sequence[str], arguments: dict[str, Any], upcoming: bool, points: tuple[str, ...] = ()
) -> Form:
    """The form of a table with these columns, some of them given by their part in it."""
    forms: list[tuple[str, ...]] = [WINNER_LOSER, PLAYER_PAIR, CONTEST_PARTS]
    named = [form for form in forms if any(arguments[part] is not None for part in form)]
    if len(named) > 1:
        raise ValueError("give the columns a and b, or winner and loser, or those of contests, and not the others")
    if upcoming and (WINNER_LOSER in named or any(arguments[part] for part in ("rank", "last_rank"))):
        raise ValueError(
            "matches to come have columns a and b, contests contest, player and perhaps team; nobody has won them yet"
        )
    if not named:
        forms = forms[1:] if upcoming else forms
        named = [form for form in forms if all(DEFAULT_COLUMNS.get(part, part) in names for part in form[:2])]
        named += [
            form for form in forms if all(find_column(names, DEFAULT_COLUMNS.get(part, part)) for part in form[:2])
        ]
    form = named[0] if named else PLAYER_PAIR

    def column(part: str) -> str:
        plain = DEFAULT_COLUMNS.get(part, part)
        return arguments[part] or find_column(names, plain) or plain

    if form != CONTEST_PARTS and column(form[0]) == column(form[1]):
        raise ValueError(f"{form[0]} and {form[1]} are the same column, {column(form[0])!r}; name one for each player")
    if form == WINNER_LOSER:
        if arguments["score"]:
            raise ValueError(
                "the score of a winner is 1; give a and b, not winner and loser, to use a column of scores"
            )
        return Form([column(part) for part in form], won=True)
    if form == PLAYER_PAIR:
        unscored = arguments["score"] is False or (arguments["score"] is None and find_column(names, "score") is None)
        if is_pair(arguments["margin"]) and unscored:
            points = tuple(arguments["margin"])
        if arguments["score"] is False and not points and not upcoming:
            raise ValueError("score=False needs the two columns of each side's points as margin, which tell who won")
        result = None if points or arguments["score"] is False else column("score")
        if upcoming:  # which is read to see whether there is one
            result, points = (result if result in names else None), (points if {*points} <= {*names} else ())
        return Form([column(part) for part in form], result, points=points)
    if upcoming:
        return Form([column("participant")], None, column("contest"))
    if arguments["rank"] is not None and arguments["score"]:
        raise ValueError("give rank, lower is better, or score, higher is better, and not both")
    there = [arguments[part] or find_column(names, part) for part in ("rank", "score")]
    scored = bool(arguments["score"]) or (arguments["score"] is None and there[0] is None and there[1] is not None)
    if arguments["last_rank"] is not None and (scored or arguments["team"] is not None):
        raise ValueError("last_rank, the last place of a tie, goes with rank, and not with score or team")
    return Form([column("participant")], column("score" if scored else "rank"), column("contest"), ranked=not scored)


def constant_side(names: Sequence[str], form: Form, side: str | None) -> float | None:
    """The side where it is the same in all matches, as side="a" and side="b" say; None if `side` is a column."""
    literal = side in ("a", "b") and (side not in names or side == form.who[0 if side == "a" else 1])
    if side in ("winner", "loser") or (form.won and (literal or side in form.who)):
        raise ValueError(
            f"side={side!r} would tell the result before the match; name a column that says who had the side, "
            "1 the winner, -1 the loser, 0 neither"
        )
    return (1.0 if side == "a" else -1.0) if literal else None
