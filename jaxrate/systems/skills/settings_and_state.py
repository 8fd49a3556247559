"""Settings, hyperparameters and state of skills."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import (
    MAYBE_ANY,
    POSITIVE,
    HyperparameterRange,
    Parameter,
)
from jaxrate.core.rules import Rating
from jaxrate.core.system import full_leaf

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
