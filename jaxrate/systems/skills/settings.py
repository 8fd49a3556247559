"""Settings of skills, hyperparameters and state, and whether settings and events fit."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import check_count
from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import (
    MAYBE_ANY,
    MAYBE_NOT_NEGATIVE,
    MAYBE_POSITIVE,
    POSITIVE,
    HyperparameterRange,
    Parameter,
)
from jaxrate.core.mean_reversion import DEFAULT_SEASON_GROWTH, DEFAULT_SEASON_KEEP
from jaxrate.core.rules import Params, Rating
from jaxrate.core.system import full_leaf
from jaxrate.events import Context, Matches, Ragged, Rounds, as_event_time, fail_where

GROWTH_UNIT = "points per sqrt(period)"
SIDES = "sides"  # as `kinds`: those who are a, and those who are b
SIDE_COLUMN = "side"  # of participants of contests, whose side advantages are their own: 1 at home, -1 away
YEAR = 365.25  # units of time in which the side advantage changes by its trend


class ModelSettings(NamedTuple):
    """The settings that are fixed before hyperparameters have values."""

    outcome: str  # "win" | "logistic" | "margin" | "points" | "goals"
    categories: int  # 1: there are no modifiers
    covariates: tuple[str, ...]  # the names of columns
    own_side: bool
    seasons: tuple[float, ...]  # when each begins
    margin: tuple[str, ...]  # the name of its column, or of the points of both sides
    kinds: tuple[str, ...] = ()  # of players: SIDES, or the columns that say whose is the second; (): one kind
    league_season: str | None = None  # the column of the number of the season of a match
    side_since: float | None = None  # when the side advantage has its value; None: at all times
    statistics: tuple[str, ...] = ()  # the names of columns
    form: bool = False  # whether players have a form, beside their skill
    team_performance: str = "sum"  # of a team: the "sum" of its members' performances, or their "mean"
    quit: str | None = None  # the column that says who quit a contest; None: nobody does
    expected_goals: tuple[str, ...] = ()  # the columns of both sides; (): there are none

    @property
    def modifiers(self) -> int:
        return self.categories if self.categories > 1 else 0

    @property
    def size(self) -> int:
        """D: of the vector that is believed of a player."""
        return 1 + self.modifiers + self.own_side + self.pace + self.form

    @property
    def pace(self) -> bool:
        """Whether players have a pace beside their skill: by how much more is scored in their matches."""
        return self.outcome in ("points", "goals")

    @property
    def learns_margin(self) -> bool:
        """Whether margins are observed as numbers, and not the goals that make them."""
        return self.outcome in ("margin", "points")

    @property
    def pace_index(self) -> int:
        """The position of the pace in the vector of skills."""
        return 1 + self.modifiers + self.own_side


STATISTIC_SCALE = Parameter(POSITIVE, "points per unit", "rating points that a unit of the statistic is worth")
STATISTIC_NOISE = Parameter(POSITIVE, "points", "deviation of the statistic about the difference of strengths")
COVARIATE_PARAMETER = Parameter(
    HyperparameterRange("any number"), "points per unit", "rating points in a unit of the column"
)
SIZE_ADVANTAGE = Parameter(
    MAYBE_ANY,
    "points",
    "worth of numbers in contests, per unit of the log of a team's size, where skills count from a newcomer's",
    if_none="a player more is worth their rating",
)
QUIT_THRESHOLD = Parameter(
    MAYBE_ANY, "points", "performance below which players quit", if_none="300 below a newcomer's rating, with quit"
)


def statistic_scale_name(statistic: str) -> str:
    """The hyperparameter that says what a statistic is worth."""
    return f"{statistic}_scale"


def statistic_noise_name(statistic: str) -> str:
    """The hyperparameter that says how noisy a statistic is."""
    return f"{statistic}_noise"


class State(NamedTuple):
    mean: Array  # [num_players, D] common skill, modifiers, own side, pace, form, in points; [num_players] if D = 1
    covariance: Array  # [num_players, D, D] as of `time`; [num_players] if D = 1
    games: Array | None  # [num_players] matches played, by weight. None: experience does not count
    time: Array  # [num_players] end of the last event; inf before the first
    kind: Array | None = None  # [num_players] 1 of the second kind, 0 of the first and of newcomers
    season: Array | None = None  # [num_players] number of the last season played; inf before the first


class Constants(NamedTuple):
    params: Any
    newcomer: Any  # [D] the mean
    growth: Any  # [D] of the variances, per unit of time
    highest: Any  # [D] variances to which time lets them grow
    match_growth: Any  # of the variance; None: none
    noise: Any  # the variance; None: the outcome has its own
    second: Any = None  # `SecondKindConstants`


class SecondKindConstants(NamedTuple):
    """The constants of players of the second kind, as in `Constants`."""

    newcomer: Any  # [D] the variances
    growth: Any
    highest: Any
    match_growth: Any
    experience: Any


def select_by_player_kind(kind: Array | None, first: Any, second: Any) -> Any:
    """[...] of players [...] of these kinds, each what their kind has [..., D]; None: all are of the first."""
    return first if kind is None else jnp.where(kind > 0.5, second, first)


def stack_component_values(
    model: ModelSettings, common: Any, modifier: Any, own_side: Any, pace: Any, form: Any
) -> Any:
    """[D] of a number for each kind of part, NumPy's if none is JAX's; the number itself if D = 1."""
    if model.size == 1:
        return common
    kinds = (modifier, model.modifiers), (own_side, model.own_side), (pace, model.pace), (form, model.form)
    each = [common, *(value for value, count in kinds for _ in range(count))]
    if any(isinstance(x, jax.Array) for x in each):
        return jnp.stack([jnp.asarray(x, float) for x in each])
    return np.array(each, jnp.result_type(float))


def newcomer_variances(model: ModelSettings, params: Any) -> Any:
    """[D] of a newcomer."""
    sides = params.initial_own_side_deviation, params.initial_pace_deviation
    deviations = params.initial_deviation, params.initial_modifier_deviation, *sides, params.form_deviation
    return stack_component_values(model, *(None if x is None else x**2 for x in deviations))


def init(model: ModelSettings, params: Any, num_players: int) -> State:
    mean, variance = (
        stack_component_values(model, params.initial_rating, 0.0, 0.0, 0.0, 0.0),
        newcomer_variances(model, params),
    )
    if model.size == 1:
        mean, covariance = full_leaf(num_players, mean), full_leaf(num_players, variance)
    else:
        numpy = jnp if isinstance(variance, jax.Array) else np
        mean = full_leaf((num_players, model.size), mean)
        covariance = full_leaf((num_players, model.size, model.size), numpy.diag(variance))
    games = None if params.experience is None else full_leaf(num_players, 0.0)
    kind = full_leaf(num_players, 0.0) if model.kinds else None
    season = None if model.league_season is None else full_leaf(num_players, jnp.inf)
    return State(mean, covariance, games, full_leaf(num_players, jnp.inf), kind, season)


def prepare(model: ModelSettings, params: Any) -> Constants:
    growth, highest = variance_growth_and_limits(model, params)
    return Constants(
        params,
        stack_component_values(model, params.initial_rating, 0.0, 0.0, 0.0, 0.0),
        growth,
        highest,
        None if params.match_growth is None else params.match_growth**2,
        None if params.noise is None else params.noise**2,
        second_kind_constants(model, params) if model.kinds else None,
    )


def variance_growth_and_limits(model: ModelSettings, params: Any) -> tuple[Any, Any]:
    """[D] by how much variances grow per unit of time, and [D] how high time lets them."""
    highest = params.initial_deviation if params.deviation_max is None else params.deviation_max
    growth = params.growth, params.modifier_growth, params.own_side_growth, params.pace_growth, 0.0
    sides = params.initial_own_side_deviation, params.initial_pace_deviation
    most = highest, params.initial_modifier_deviation, *sides, params.form_deviation
    return (
        stack_component_values(model, *(None if x is None else x**2 / params.period for x in growth)),
        stack_component_values(model, *(None if x is None else x**2 for x in most)),
    )


def second_kind_constants(model: ModelSettings, params: Any) -> SecondKindConstants:
    """The constants of players of the second kind."""
    own = params._replace(growth=params.second_kind_growth, initial_deviation=params.second_kind_initial_deviation)
    by_match = params.second_kind_match_growth
    return SecondKindConstants(
        newcomer_variances(model, own),
        *variance_growth_and_limits(model, own),
        None if by_match is None else by_match**2,
        params.second_kind_experience,
    )


def summary(model: ModelSettings, params: Any, rows: State) -> Rating:
    """The rating of players in a neutral match: their common skill, their form, and their experience."""
    return _summarise_in_one_program(model, params, rows)


@partial(jax.jit, static_argnums=0)
def _summarise_in_one_program(model: ModelSettings, params: Any, rows: State) -> Rating:
    common, variance = (rows.mean, rows.covariance) if model.size == 1 else (rows.mean[:, 0], rows.covariance[:, 0, 0])
    if model.form:
        common = common + rows.mean[:, -1]
        variance = variance + 2.0 * rows.covariance[:, 0, -1] + rows.covariance[:, -1, -1]
    if rows.games is not None:
        worth = select_by_player_kind(rows.kind, params.experience, params.second_kind_experience)
        common = common + worth * jnp.log1p(rows.games)
    return Rating(common, jnp.sqrt(variance))


PACE_GROWTH = Parameter(
    MAYBE_NOT_NEGATIVE, GROWTH_UNIT, "growth of the deviation of a pace", if_none="2, with goals; 10, with points"
)
PACE_DEVIATION = Parameter(
    MAYBE_POSITIVE, "points", "deviation of a newcomer's pace", if_none="30, with goals; 150, with points"
)
GOAL_RATE = Parameter(
    MAYBE_POSITIVE, "goals", "goals of each of two equals, without a side", if_none="1.35, with goals"
)
GOAL_DISPERSION = Parameter(
    MAYBE_NOT_NEGATIVE, "points", "deviation of the log of goals beyond Poisson's, where 400 are a factor of 10"
)
LOW_SCORE_DEPENDENCE = Parameter(
    MAYBE_ANY, "1", "Dixon and Coles' rho: below 0, 0:0 and 1:1 are more frequent, and 1:0 and 0:1 less"
)
EXPECTED_GOALS_NOISE = Parameter(
    MAYBE_POSITIVE, "goals^(1/2)", "deviation of the root of expected goals", if_none="0.5, with expected_goals"
)
EXPECTED_GOALS_SCALE = Parameter(
    MAYBE_POSITIVE, "1", "expected goals for each goal, in the mean", if_none="1, with expected_goals"
)
POINT_RATE = Parameter(
    MAYBE_POSITIVE, "points of the score", "points of each of two equals, without a side", if_none="100, with points"
)
TOTAL_NOISE = Parameter(
    MAYBE_POSITIVE,
    "points",
    "deviation of both sides' points together, given paces",
    if_none="450, with points",
)
MAX_GOALS = 100_000  # of a side, or expected of it: beyond it rates are cut
NEEDS_POINTS = "needs outcome='points'"
NEEDS_PACE = "needs outcome='points' or outcome='goals'"
NEEDS_GOALS = "needs outcome='goals'"
NEEDS_EXPECTED_GOALS = "needs expected_goals=..., the columns of both sides"
NOT_FOR_GOALS = "does not go with outcome='goals', where the goals of both sides make the result"


def goal_param_defaults(model: ModelSettings) -> dict[str, tuple[bool, float | None, str]]:
    """Each hyperparameter of goals and points: whether the model has it, its usual value, and what it needs else."""
    goals, points, expected = model.outcome == "goals", model.outcome == "points", bool(model.expected_goals)
    return {
        "pace_growth": (model.pace, 10.0 if points else 2.0, NEEDS_PACE),
        "initial_pace_deviation": (model.pace, 150.0 if points else 30.0, NEEDS_PACE),
        "point_rate": (points, 100.0, NEEDS_POINTS),
        "total_noise": (points, 450.0, NEEDS_POINTS),
        "goal_rate": (goals, 1.35, NEEDS_GOALS),
        "goal_dispersion": (goals, None, NEEDS_GOALS),
        "low_score_dependence": (goals, None, NEEDS_GOALS),
        "expected_goals_noise": (expected, 0.5, NEEDS_EXPECTED_GOALS),
        "expected_goals_scale": (expected, 1.0, NEEDS_EXPECTED_GOALS),
    }


def check_goal_settings(model: ModelSettings) -> None:
    """ValueError for settings that do not go with goals, or only with them."""
    expected, goals = model.expected_goals, model.outcome == "goals"
    shared = [name for name in expected if name in model.margin]
    of_contests = model.quit is not None or model.team_performance != "sum"
    mistakes = {
        f"expected_goals {NEEDS_GOALS}": expected and not goals,
        f"with outcome={model.outcome!r} margin must be two columns: the {model.outcome} of each side": (
            model.pace and len(model.margin) != 2
        ),
        f"quit and team_performance are of contests, and {model.outcome} of matches of two": model.pace and of_contests,
        "expected_goals must be two columns, of the first and of the second player": len(expected) not in (0, 2),
        f"expected_goals names {', '.join(shared[:1])!r}, a column of the goals themselves": shared,
        f"statistics {NOT_FOR_GOALS}; take expected_goals": goals and model.statistics,
    }
    refuse_mistakes(mistakes)


def check_goals(model: ModelSettings, matches: Any) -> None:
    """ValueError unless goals are whole numbers that make the results, and expected goals not negative."""
    columns = matches.context.columns
    for name in model.margin:
        values = np.asarray(columns[name])
        is_count = (values >= 0) & (values <= MAX_GOALS) & (values == np.rint(values))
        check_column(name, values, is_count, f"goals are whole numbers, from 0 to {MAX_GOALS:,}")
    for name in model.expected_goals:
        values = np.asarray(columns[name])
        is_expected = np.isnan(values) | ((values >= 0) & (values <= MAX_GOALS))
        check_column(name, values, is_expected, f"expected goals are numbers from 0 to {MAX_GOALS:,}, or NaN")
    first, second = (np.asarray(columns[name]) for name in model.margin)
    lead, score = first - second, np.asarray(matches.score)
    is_contradiction = (lead * (score - 0.5) < 0.0) | ((score == 0.5) & (lead != 0.0))

    def describe_contradiction(row: int) -> str:
        result = "drew" if score[row] == 0.5 else "won" if score[row] > 0.5 else "lost"
        goals = f"{first[row]:g} goals to {second[row]:g}"
        return (
            f"the first player {result} with {goals}; margin is {model.margin[0]}, their goals, and {model.margin[1]}"
        )

    fail_where(is_contradiction, describe_contradiction)


def check_column(name: str, values: Any, is_valid: Any, requirement: str) -> None:
    """ValueError with the first value of a column that is wrong, and what it must be."""
    fail_where(~is_valid, lambda row: f"column {name!r} is {values[row]:g}; {requirement}")


DEFAULT_NOISE = 300.0  # points, of the difference of two performances
DEFAULT_FORM_REVERSION = 30.0  # days
NOT_FOR_LOGISTIC = "does not go with outcome='logistic', which has Glicko's scale and no draws of its own"


def fill_param_defaults(model: ModelSettings, params: Params) -> Params:
    """The hyperparameters with usual values for those of the model's parts that are not given.

    Raises:
      ValueError: for a value of a part that the model lacks.
    """
    noisy = model.outcome not in ("logistic", "goals")
    scale = NOT_FOR_GOALS if model.outcome == "goals" else NOT_FOR_LOGISTIC
    margins = "needs outcome='margin' or outcome='points'"
    seasons, in_seasons = (
        "needs seasons=..., their first times, or league_season",
        bool(model.seasons or model.league_season),
    )
    needs: dict[str, tuple[bool, float | None, str]] = {
        "modifier_growth": (model.modifiers > 0, 3.0, "needs categories=..., two or more"),
        "initial_modifier_deviation": (model.modifiers > 0, 50.0, "needs categories=..., two or more"),
        "own_side_growth": (model.own_side, 3.0, "needs own_side=True"),
        "initial_own_side_deviation": (model.own_side, 30.0, "needs own_side=True"),
        "season_keep": (in_seasons, DEFAULT_SEASON_KEEP, seasons),
        "season_growth": (in_seasons, DEFAULT_SEASON_GROWTH, seasons),
        "side_trend": (model.side_since is not None, 0.0, "needs side_since=..., a time"),
        "form_reversion": (model.form, DEFAULT_FORM_REVERSION, "needs form_deviation"),
        "noise": (noisy, DEFAULT_NOISE, scale),
        "draw_margin": (noisy, None, scale),
        "margin_scale": (model.learns_margin, 25.0, margins),
        "compression": (model.learns_margin, None, margins),
        "quit_threshold": (model.quit is not None, params.initial_rating - DEFAULT_NOISE, "needs quit=..., a column"),
    }
    needs |= goal_param_defaults(model)
    kinds = 'needs kinds="sides", or the columns of kinds'
    for name in ("growth", "initial_deviation", "match_growth", "experience"):
        own, value = f"second_kind_{name}", getattr(params, name)
        needs[own] = bool(model.kinds) and value is not None, value, f"needs {name}" if model.kinds else kinds
    for name, (has, value, why) in needs.items():
        if getattr(params, name) is None and has:
            params = params._replace(**{name: value})
        elif getattr(params, name) is not None and not has:
            raise ValueError(f"skills: {name} {why}")
    return params


def parse_settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The settings among the arguments of skills, checked, as `ModelSettings` has them."""
    values = {name: arguments[name] for name in ModelSettings._fields if name in arguments}
    check_count("skills: categories", values["categories"], 1, 100)
    several = "margin", "covariates", "statistics", "kinds", "expected_goals"
    values |= {name: parse_column_names(name, values[name]) for name in several}
    if values["league_season"] is not None:
        (values["league_season"],) = parse_column_names("league_season", values["league_season"])
    if values["side_since"] is not None:
        values["side_since"] = as_event_time("side_since", values["side_since"])
    model = ModelSettings(**values)
    kinds = model.kinds
    refuse_mistakes(
        {
            f"statistics {NOT_FOR_LOGISTIC}": model.statistics and model.outcome == "logistic",
            "margin must be one column, or two: the points of each side": len(model.margin) not in (1, 2),
            f"kinds must be 'sides', or the columns of a's and of b's kind, got {', '.join(kinds)}": (
                kinds != (SIDES,) and len(kinds) not in (0, 2)
            ),
            "give seasons, their first times, or league_season, and not both": (
                model.seasons and model.league_season is not None
            ),
        }
    )
    check_goal_settings(model)
    return values


def refuse_mistakes(mistakes: Mapping[str, Any]) -> None:
    """ValueError for the first mistake that is made."""
    for mistake, is_made in mistakes.items():
        if is_made:
            raise ValueError(f"skills: {mistake}")


def parse_column_names(setting: str, value: str | Sequence[str]) -> tuple[str, ...]:
    """The names of columns, from one or several."""
    names = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(f"skills: {setting} must be names of columns, got {value!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"skills: {setting} names a column twice: {', '.join(names)}")
    return names


def match_result_columns(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of margins and statistics that skills of these settings learn from, known after a match only."""
    margin = settings.get("margin", ()) if settings.get("outcome") in ("margin", "points", "goals") else ()
    return (*margin, *settings.get("expected_goals", ()), *settings.get("statistics", ()))


def contest_result_columns(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the columns that hold results of contests: those of matches and the column of quits."""
    return (*match_result_columns(settings), *filter(None, [settings.get("quit")]))


def contest_prior_columns(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of participants that are known before a contest: covariates and, with own sides, theirs."""
    side = (SIDE_COLUMN,) if settings.get("own_side") else ()
    return tuple(dict.fromkeys((*settings.get("covariates", ()), *side)))


def check_events_fit(model: ModelSettings, events: Matches | Ragged) -> None:
    """ValueError if the matches lack what the model needs, or have other categories."""
    flat: Any = events.flat
    if isinstance(flat, Rounds):
        check_contests_fit(model, events, flat)
        return
    context: Context = flat.context
    kinds = () if model.kinds == (SIDES,) else model.kinds
    arguments = {
        "covariates": model.covariates,
        "margin": model.margin if model.learns_margin or model.outcome == "goals" else (),
        "statistics": model.statistics,
        "columns": (*model.expected_goals, *kinds, *filter(None, [model.league_season])),
    }
    for name, argument in {name: argument for argument, names in arguments.items() for name in names}.items():
        where = f"columns=... of `matches`, or {argument}={name!r}"
        values = find_column(context.columns, name, f"matches; it is {where}")
        if name not in (*model.statistics, *model.expected_goals):
            check_column_is_complete(name, values)
    if model.outcome == "goals":
        check_goals(model, flat)
    check_player_kinds(model, events)
    if model.own_side and context.side is None:
        raise ValueError("skills with own_side needs the sides of the matches, side=... of `matches`; say side='home'")
    check_categories_fit(model, context.category, 2, "matches")


def find_column(columns: Mapping[str, Any] | None, name: str, place: str) -> Any:
    """The column of this name; ValueError that says where it belongs if there is none."""
    if name not in (columns or {}):
        raise ValueError(f"skills needs the column {name!r} of the {place}")
    return np.asarray((columns or {})[name])


def check_column_is_complete(name: str, values: Any) -> None:
    """ValueError for a number that is missing."""
    fail_where(np.isnan(values), lambda row: f"column {name!r} has no number, which only statistics may lack")


def check_contests_fit(model: ModelSettings, ragged: Any, contests: Rounds) -> None:
    """ValueError if contests lack what the model needs, or have other categories."""
    if model.outcome == "margin" and len(model.margin) > 1:
        raise ValueError("skills of contests takes one column as margin: the points of each participant's team")
    names = {*model.covariates, *model.statistics, *filter(None, [model.league_season, model.quit])}
    names |= {SIDE_COLUMN} if model.own_side else set()
    names |= {*model.margin} if model.outcome == "margin" else set()
    for name in sorted(names):
        values = find_column(contests.columns, name, "participants of contests: columns=... of `rounds` or `read`")
        if name == model.quit:
            is_valid = np.isnan(values) | np.isin(values, (0, 1))
            check_column(name, values, is_valid, "it must be 1 for participants who quit, and 0 for those who stayed")
        elif name not in model.statistics:
            check_column_is_complete(name, values)
    if model.outcome == "margin":
        check_team_mates_have_same_points(model, ragged, contests)
    check_categories_fit(model, contests.category, 1, "contests")


def check_team_mates_have_same_points(model: ModelSettings, ragged: Any, contests: Any) -> None:
    """ValueError unless all members of a team have the same points."""
    first = np.repeat(ragged.player_start[:-1], np.diff(ragged.player_start))
    points, team = (np.asarray(x)[: len(first)] for x in (contests.columns[model.margin[0]], contests.team))
    team = team + first
    highest = np.full(len(points), -np.inf)
    np.maximum.at(highest, team, points)

    def say(row: int) -> str:
        other = f"{highest[team[row]]:g} of a team-mate"
        return f"column {model.margin[0]!r} is {points[row]:g}, and {other}; it holds the points of the team"

    fail_where(points != highest[team], say)


def check_categories_fit(model: ModelSettings, category: Any, axes: int, events: str) -> None:
    """ValueError unless categories, ids of so many axes or shares of one more, are those of the model."""
    if not model.modifiers:
        return
    if category is None:
        maker = "rounds" if events == "contests" else "matches"
        raise ValueError(f"skills with categories needs those of the {events}: category=... of `{maker}` or `read`")
    have = f"skills has {model.categories} of them; make it with categories=..."
    if category.ndim > axes:
        if category.shape[-1] != model.categories:
            raise ValueError(f"the {events} have shares of {category.shape[-1]} categories, but {have}")
        return
    highest = np.max(category, axis=-1, initial=0) if axes == 2 else np.asarray(category)
    fail_where(highest >= model.categories, lambda row: f"category {highest[row]}, counting from 0, but {have}")


def check_player_kinds(model: ModelSettings, events: Any) -> None:
    """ValueError where a player is on both sides, which tell the kinds, or where their column has another number."""
    flat: Any = events.flat
    if model.kinds != (SIDES,):
        for name in model.kinds:
            values = np.asarray(flat.context.columns[name])
            rule = "it must be 1 for players of the second kind, 0 for those of the first"
            check_column(name, values, np.isin(values, (0, 1)), rule)
        return
    pair = np.asarray(flat.player)
    if isinstance(events, Ragged):
        begins: Any = events.pair_start
        pair = pair[flat.pair + np.repeat(events.player_start[:-1], np.diff(begins))[:, None]]
    both = np.isin(pair[:, 1], pair[:, 0])
    fail_where(both, lambda row: f"player {pair[row, 1]} is of both kinds: kinds='sides' takes all who are a for one")
