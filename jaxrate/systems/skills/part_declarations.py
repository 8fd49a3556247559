"""Parts and observations of skills: values that print as the calls that make them.

A part says which columns of the data it needs, as settings of the model, and has hyperparameters, whose names in the
system are those of `names_in_system`: `modifier(3, growth=4.0)` is the hyperparameter `modifier_growth`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import Parameter as Argument
from inspect import Signature, signature
from typing import Annotated, Any, Literal, NamedTuple, ParamSpec

import numpy as np

from jaxrate.core import mean_reversion
from jaxrate.core.argument_checks import (
    check_count,
    check_keyword_names,
    check_that,
    enforce_argument_annotations,
    signature_of_types,
)
from jaxrate.core.hashable_values import display_name
from jaxrate.core.hyperparameter_definitions import (
    ANY,
    DEVIATION,
    MAYBE_ANY,
    MAYBE_NOT_NEGATIVE,
    MAYBE_POSITIVE,
    NOT_NEGATIVE,
    OPEN_UNIT_INTERVAL,
    POSITIVE,
    RATING,
    SIDE_ADVANTAGE,
    Parameter,
    add_hyperparameters_to_docstring,
    check_param_value,
    factory_hyperparameter_space,
    make_params_class,
)
from jaxrate.core.rules import Params
from jaxrate.core.system import Settings, format_setting
from jaxrate.events import as_event_time
from jaxrate.systems.skills.settings import (
    SETTING_DEFAULTS,
    SHARED_BY_OBSERVATIONS,
    SIDES,
    ModelSettings,
    OwnObservation,
    OwnPart,
    statistic_noise_name,
    statistic_scale_name,
)

__all__ = [
    "covariate",
    "expected_goals",
    "experience",
    "form",
    "goals",
    "kinds",
    "league_seasons",
    "logistic",
    "margin",
    "modifier",
    "own",
    "own_observation",
    "own_side",
    "points",
    "quits",
    "result",
    "seasons",
    "side",
    "side_trend",
    "skill",
    "statistic",
    "team",
]
DEFAULT_NOISE = 300.0  # points, of the difference of two performances
DEFAULT_STATISTIC_SCALE = 25.0  # points that a unit of a margin or of a statistic is worth
GROWTH_UNIT = "points per sqrt(period)"

NOISE = Parameter(POSITIVE, "points", "deviation of the difference of two performances", fitted=False)
DRAW_MARGIN = Parameter(
    MAYBE_POSITIVE,
    "points",
    "difference of performances below which they draw",
    concerns_draws=True,
    if_none="a draw is half a win, of margins one of 0, and `add_outcomes` takes Davidson's draws",
)
MARGIN_SCALE = Parameter(POSITIVE, "points per unit", "rating points that a unit of the margin is worth")
COMPRESSION = Parameter(MAYBE_POSITIVE, "units of the margin", "margin above which margins are compressed")
PACE_GROWTH = Parameter(NOT_NEGATIVE, GROWTH_UNIT, "growth of the deviation of a pace")
PACE_DEVIATION = Parameter(POSITIVE, "points", "deviation of a newcomer's pace")
GROWTH_OF_SECOND = Parameter(
    MAYBE_NOT_NEGATIVE, GROWTH_UNIT, "growth of players of the second kind", if_none="as of the first"
)
DEVIATION_OF_SECOND = GROWTH_OF_SECOND._replace(
    range=MAYBE_POSITIVE,
    unit="points",
    meaning="deviation of a newcomer of the second kind",
    bounds=(None, "deviation_max"),
)
MATCH_GROWTH_OF_SECOND = GROWTH_OF_SECOND._replace(
    unit="points", meaning="growth by a match of players of the second kind"
)
EXPERIENCE_OF_SECOND = GROWTH_OF_SECOND._replace(
    range=MAYBE_ANY, unit="points", meaning="worth of experience of players of the second kind"
)
SEASON_KEEP = mean_reversion.SEASON_KEEP._replace(range=OPEN_UNIT_INTERVAL, if_none="")
SEASON_GROWTH = Parameter(NOT_NEGATIVE, "points", "growth of the deviation of a common skill by a season")


class PartMaker(NamedTuple):
    """A function that makes a part, as its signature has it."""

    make: Callable[..., "ModelPart"]
    setting: str | None  # of the model, that stands for the part where parts are made by names
    signature: Signature
    space: Mapping[str, Parameter]  # of its arguments that are hyperparameters
    names_in_system: Mapping[str, str]  # of these hyperparameters; {column} stands for the argument of this name


PART_MAKERS: dict[str, PartMaker] = {}  # by the name of the part


class ModelPart(NamedTuple):
    """A part or an observation of skills."""

    name: str  # of the function that makes it
    arguments: Settings  # of the call, hyperparameters among them
    settings: Settings  # of the model

    def __repr__(self) -> str:
        """The call that makes it, without what is the default."""
        return f"parts.{self.name}({', '.join(self._format_arguments())})"

    def _format_arguments(self) -> Iterator[str]:
        for argument in self.maker.signature.parameters.values():
            value = self.arguments[argument.name]
            if argument.kind is Argument.VAR_POSITIONAL:
                yield from map(format_setting, value)
            elif argument.default is Argument.empty:
                yield format_setting(value)
            elif value != argument.default:
                yield f"{argument.name}={format_setting(value)}"

    @property
    def maker(self) -> PartMaker:
        """What makes it, with the hyperparameters of an observation of a user's own."""
        return add_hyperparameters_of_functions(PART_MAKERS[self.name], self.settings.get("outcome"))

    @property
    def names_in_system(self) -> dict[str, str]:
        """The names that its hyperparameters have in the system, by those of the arguments."""
        names = self.maker.names_in_system.items()
        return {argument: name.format(**self.arguments) for argument, name in names}

    @property
    def params(self) -> dict[str, Any]:
        """The hyperparameters by their names in the system."""
        return {name: self.arguments[argument] for argument, name in self.names_in_system.items()}

    @property
    def space(self) -> dict[str, Parameter]:
        """What the hyperparameters mean, by their names in the system."""
        space = self.maker.space
        return {name: space[argument] for argument, name in self.names_in_system.items()}

    def with_params(self, params: Mapping[str, Any]) -> "ModelPart":
        """The part with these of its hyperparameters, by their names in the system."""
        own = {argument: params[name] for argument, name in self.names_in_system.items() if name in params}
        return self._replace(arguments=Settings(self.arguments | own))


def add_hyperparameters_of_functions(maker: PartMaker, outcome: Any) -> PartMaker:
    """The maker of an observation of a user's own with the hyperparameters of its functions as arguments."""
    if not isinstance(outcome, OwnObservation):
        return maker
    arguments = list_hyperparameters_of_functions(outcome)
    parameters = {x.name: x for x in maker.signature.parameters.values() if x.kind is not Argument.VAR_KEYWORD}
    parameters |= {name: x.replace(kind=Argument.KEYWORD_ONLY) for name, (x, _) in arguments.items()}
    return maker._replace(
        signature=maker.signature.replace(parameters=[*parameters.values()]),
        space={**maker.space, **{name: about for name, (_, about) in arguments.items()}},
        names_in_system={**maker.names_in_system, **{name: outcome.name_in_system(name) for name in arguments}},
    )


def list_hyperparameters_of_functions(own: OwnObservation) -> dict[str, tuple[Argument, Parameter]]:
    """The hyperparameters that functions of an observation of a user's own have, and defaults of those of all."""
    found: dict[str, tuple[Argument, Parameter]] = {}
    further = [(x, count) for x, count in ((own.message, 3), (own.outcomes, 2)) if x is not None]
    for function, count in ((own.log_likelihood, 3), *further):
        for argument, about in list_hyperparameters_of_function(function, count):
            known, meaning = found.setdefault(argument.name, (argument, about))
            if (known.default, meaning) != (argument.default, about):
                raise ValueError(
                    f"own_observation: {argument.name} of {display_name(function)} has another default or Parameter "
                    "than in the functions before it; give all the same"
                )
    return found


def list_hyperparameters_of_function(function: Any, count: int) -> Iterator[tuple[Argument, Parameter]]:
    """The arguments after so many others that are hyperparameters; `noise` and `draw_margin` if they have defaults."""
    check_that(callable(function), f"own_observation: it takes functions, got {function!r}")
    name, space = display_name(function), factory_hyperparameter_space(function)._asdict()
    for argument in [*signature(function).parameters.values()][count:]:
        is_shared, has_default = argument.name in SHARED_BY_OBSERVATIONS, argument.default is not Argument.empty
        if argument.name in OwnObservation._fields or (is_shared and argument.name in space):
            raise ValueError(f"own_observation: rename {argument.name} of {name}, as it has one")
        if is_shared and has_default:
            yield argument, {"noise": NOISE, "draw_margin": DRAW_MARGIN}[argument.name]
        elif argument.name in space and has_default:
            yield argument, space[argument.name]
        elif not is_shared and argument.kind is not Argument.VAR_KEYWORD:
            raise ValueError(
                f"own_observation: {argument.name} of {name} must be a hyperparameter, as in "
                f"{argument.name}: Annotated[float, jr.extend.Parameter(jr.extend.POSITIVE, 'points', '...')] = 1.0"
            )


Arguments = ParamSpec("Arguments")


def skills_part(
    setting: str | None = None, /, **names_in_system: str
) -> Callable[[Callable[Arguments, dict[str, Any]]], Callable[Arguments, ModelPart]]:
    """A decorator of a function that gives a part's settings; arguments with a `Parameter` are hyperparameters."""

    def decorate(make_settings: Callable[Arguments, dict[str, Any]]) -> Callable[Arguments, ModelPart]:
        add_hyperparameters_to_docstring(make_settings)
        name, call_signature = make_settings.__name__, signature(make_settings)
        space = vars(make_settings)["hyperparameters"]._asdict()
        names = {argument: names_in_system.get(argument, argument) for argument in space}

        checked = enforce_argument_annotations(make_settings)

        @wraps(make_settings)
        def make_part(*args: Arguments.args, **kwargs: Arguments.kwargs) -> ModelPart:
            values = checked(*args, **kwargs)
            maker = add_hyperparameters_of_functions(PART_MAKERS[name], values.get("outcome"))
            bound = maker.signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments = bound.arguments
            for argument, about in maker.space.items():
                arguments[argument] = check_param_value(f"{name}: {argument}", argument, arguments[argument], about)
            kept = {argument: values.get(argument, value) for argument, value in arguments.items()}
            settings = {field: value for field, value in values.items() if field in ModelSettings._fields}
            return ModelPart(name, Settings(kept), Settings(settings))

        make_part.__signature__ = signature_of_types(call_signature.replace(return_annotation=ModelPart))  # type: ignore[attr-defined]
        PART_MAKERS[name] = PartMaker(make_part, setting, call_signature, space, names)
        return make_part

    return decorate


def column_names(part: str, names: Sequence[str], count: tuple[int, ...]) -> tuple[str, ...]:
    """The names of columns of a part; ValueError unless they are so many different words."""
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(f"{part}: columns must be named by words, got {name!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"{part} names a column twice: {', '.join(names)}")
    if len(names) not in count:
        raise ValueError(f"{part} takes {' or '.join(map(str, count))} names of columns, got {len(names)}")
    return tuple(names)


def check_hyperparameter_names(part: str, names: Sequence[str]) -> None:
    """ValueError unless the names of hyperparameters of a column are plain words that no part and no setting has."""
    for name in names:
        if not name.isidentifier() or name.startswith("_") or name in {*SETTING_DEFAULTS, *PARAMETER_NAMES}:
            raise ValueError(f"a {part} must be one plain word that is no hyperparameter; rename {name!r}")


# --- What a player is believed to be ---


@skills_part()
def skill(
    growth: Annotated[float, Parameter(NOT_NEGATIVE, GROWTH_UNIT, "growth of the deviation of a common skill")] = 10.0,
    initial_deviation: Annotated[float, DEVIATION._replace(bounds=(None, "deviation_max"))] = 150.0,
    *,
    initial_rating: Annotated[float, RATING] = 1500.0,
    deviation_max: Annotated[
        float | None,
        Parameter(
            MAYBE_POSITIVE, "points", "largest deviation to which time leads, without form", if_none="the newcomer's"
        ),
    ] = None,
    match_growth: Annotated[
        float | None, Parameter(MAYBE_NOT_NEGATIVE, "points", "growth of the deviation of a common skill by a match")
    ] = None,
    reversion: Annotated[float | None, mean_reversion.REVERSION] = None,
) -> dict[str, Any]:
    """The skill that players have in every match: a random walk in time, or one that reverts to a newcomer's."""
    return {}


MAX_CATEGORIES = 100  # of modifiers: each player has a number for each category


@skills_part("categories", growth="modifier_growth", deviation="initial_modifier_deviation")
def modifier(
    categories: Any,
    growth: Annotated[float, Parameter(NOT_NEGATIVE, GROWTH_UNIT, "growth of the deviations of modifiers")] = 3.0,
    deviation: Annotated[float, Parameter(POSITIVE, "points", "deviation of a newcomer's modifiers")] = 50.0,
) -> dict[str, Any]:
    """What players are better or worse in each category of matches, such as surfaces, maps or singles and doubles.

    Args:
      categories: how many there are, 2 to 100; or their names, as in `data.categories`.
    """
    if isinstance(categories, str):
        raise ValueError(
            f"modifier: categories must be their number or their names, as data.categories, got {categories!r}"
        )
    count = len(categories) if np.ndim(categories) else categories
    check_count("modifier: categories, of which rare ones may be joined,", count, 2, MAX_CATEGORIES)
    return {"categories": int(count)}


@skills_part("own_side", growth="own_side_growth", deviation="initial_own_side_deviation")
def own_side(
    growth: Annotated[
        float, Parameter(NOT_NEGATIVE, GROWTH_UNIT, "growth of the deviation of an own side advantage")
    ] = 3.0,
    deviation: Annotated[float, Parameter(POSITIVE, "points", "deviation of a newcomer's own side advantage")] = 30.0,
) -> dict[str, Any]:
    """A side advantage of each player's own, beside the common one.

    Contests need a column "side" of participants, 1 at home, -1 away and 0 elsewhere; as a covariate it has the common
    one.
    """
    return {"own_side": True}


@skills_part("own_parts", growth="{name}_growth", deviation="initial_{name}_deviation")
def own(
    name: str,
    loadings: Any,
    columns: str | Sequence[str] = (),
    size: int = 1,
    *,
    growth: Annotated[float, Parameter(NOT_NEGATIVE, GROWTH_UNIT, "growth of the deviation of this part")] = 3.0,
    deviation: Annotated[float, Parameter(POSITIVE, "points", "deviation of a newcomer, of this part")] = 30.0,
) -> dict[str, Any]:
    """A part of your own: numbers of each player that count by what an event is like, and change with time.

        def bring_night(participants):
            return participants.columns["night"][..., None]

        night_owls = jr.parts.own("night", bring_night, columns="night")

    A player performs better by the sum of their numbers times the loadings. In the system the hyperparameters are
    NAME_growth and initial_NAME_deviation, and explanations of predictions call the part own_NAME.

    Args:
      name: one plain word.
      loadings: a function of JAX of the participants of events that returns [..., size]. Of two players of matches,
        [2, n], and of participants of contests, [P], it sees `participants.one`, which is 1; the `category` that each
        meets; the `side`, 1 on their own and -1 on the other, which contests have as a column; and `columns`, which are
        [n] of matches.
      columns: the names of the columns that it sees, which must be known before the event.
      size: how many numbers of each player the part is.
    """
    check_that(callable(loadings), f"own: loadings must be a function of participants, got {loadings!r}")
    check_hyperparameter_names("part of your own", (name, f"{name}_growth", f"initial_{name}_deviation"))
    check_that(name not in PART_MAKERS, f"own: {name!r} is a part of jaxrate; give yours another name")
    check_count("own: size", size, 1, 100)
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    names = column_names("own", names, (len(names),))
    return {"columns": names, "own_parts": (OwnPart(name, loadings, names, size),)}


@skills_part(deviation="form_deviation", reversion="form_reversion")
def form(
    deviation: Annotated[float, Parameter(POSITIVE, "points", "deviation of the form of players")] = 60.0,
    reversion: Annotated[
        float, Parameter(POSITIVE, "days, or the unit of time", "time in which 63% of the form is lost")
    ] = 30.0,
) -> dict[str, Any]:
    """A form that counts in every match beside the skill, and passes."""
    return {}


@skills_part(worth="experience")
def experience(
    worth: Annotated[
        float, Parameter(ANY, "points", "worth of experience, per unit of log(1 + matches played)")
    ] = 20.0,
) -> dict[str, Any]:
    """What the matches that players have played are worth to them, beyond what their results say."""
    return {}


@skills_part(
    "kinds",
    growth="second_kind_growth",
    initial_deviation="second_kind_initial_deviation",
    match_growth="second_kind_match_growth",
    experience="second_kind_experience",
)
def kinds(
    *of: str,
    growth: Annotated[float | None, GROWTH_OF_SECOND] = None,
    initial_deviation: Annotated[float | None, DEVIATION_OF_SECOND] = None,
    match_growth: Annotated[float | None, MATCH_GROWTH_OF_SECOND] = None,
    experience: Annotated[float | None, EXPERIENCE_OF_SECOND] = None,
) -> dict[str, Any]:
    """Players of two kinds, such as learners and exercises, with a growth and a first deviation for each.

    The kind of a player's first match or contest stays.

    Args:
      of: "sides" if all who are a are of the first kind and all who are b of the second, which is so without it; or
        the columns of a's and of b's kind, 0 or 1. Contests have one column, of the kind of each participant; in
        matches one column says of which kind both players are.
    """
    of = of or (SIDES,)
    return {"kinds": of if of == (SIDES,) else column_names("kinds", of, (1, 2))}


# --- What changes with the season, and what a match has beside its players ---


@skills_part("seasons", keep="season_keep", growth="season_growth")
def seasons(
    starts: Any,
    keep: Annotated[float, SEASON_KEEP] = mean_reversion.DEFAULT_SEASON_KEEP,
    growth: Annotated[float, SEASON_GROWTH] = mean_reversion.DEFAULT_SEASON_GROWTH,
) -> dict[str, Any]:
    """Seasons, between which a part of each lead is lost.

    Args:
      starts: the time at which each begins, increasing: numbers, or dates; or the `seasons` of a dataset.
    """
    times = mean_reversion.parse_season_starts("seasons", starts)
    check_that(times, "seasons has no season; leave the part out, or give the time at which each begins")
    return {"seasons": times, "starts": times}


@skills_part("league_season", keep="season_keep", growth="season_growth")
def league_seasons(
    column: str,
    keep: Annotated[float, SEASON_KEEP] = mean_reversion.DEFAULT_SEASON_KEEP,
    growth: Annotated[float, SEASON_GROWTH] = mean_reversion.DEFAULT_SEASON_GROWTH,
) -> dict[str, Any]:
    """Seasons that overlap, as those of several leagues: one begins for a player with their first match in it.

    Args:
      column: the column of the number of the season of each match.
    """
    return {"league_season": column_names("league_seasons", (column,), (1,))[0]}


@skills_part(advantage="side_advantage")
def side(advantage: Annotated[float, SIDE_ADVANTAGE] = 0.0) -> dict[str, Any]:
    """What the better side, as that of the home team, is worth to everybody."""
    return {}


@skills_part("side_since", trend="side_trend")
def side_trend(
    since: Any,
    trend: Annotated[float, Parameter(ANY, "points per 365.25 days", "change of the side advantage")] = 0.0,
) -> dict[str, Any]:
    """A worth of the side that changes with time on a straight line.

    Args:
      since: the time, a number or a date, when the side is worth the `advantage` of the part `side`.
    """
    time = as_event_time("since", since)
    return {"side_since": time, "since": time}


@skills_part("covariates", weight="{column}")
def covariate(
    column: str,
    weight: Annotated[float, Parameter(ANY, "points per unit", "rating points in a unit of the column")] = 0.0,
) -> dict[str, Any]:
    """What speaks for the first player of a match (komi, rest, ...), or for a participant of a contest.

    Args:
      column: the name of the column, which is the name of the hyperparameter too.
    """
    check_hyperparameter_names("covariate", (column,))
    return {"covariates": (column,)}


@skills_part(noise="team_noise")
def team(
    noise: Annotated[
        float | None, Parameter(MAYBE_POSITIVE, "points", "deviation of what a team adds to its members, in contests")
    ] = None,
    size_advantage: Annotated[
        float | None,
        Parameter(
            MAYBE_ANY,
            "points",
            "worth of numbers in contests, per unit of the log of a team's size, where skills count from a newcomer's",
            if_none="a player more is worth their rating",
        ),
    ] = None,
    *,
    performance: Literal["sum", "mean"] = "sum",
) -> dict[str, Any]:
    """How the members of a team perform together, in contests.

    Args:
      performance: of a team: the "sum" of its members' performances, or their "mean".
    """
    return {"team_performance": performance}


# --- What is observed: one of the first five, and any of the others beside it ---


@skills_part("outcome")
def result(
    noise: Annotated[float, NOISE] = DEFAULT_NOISE, draw_margin: Annotated[float | None, DRAW_MARGIN] = None
) -> dict[str, Any]:
    """Who wins, or how a contest ends: the better performance wins, as in TrueSkill."""
    return {"outcome": "win"}


@skills_part("outcome")
def logistic() -> dict[str, Any]:
    """Who wins, on Glicko's scale and by its formulas; of matches of two."""
    return {"outcome": "logistic"}


@skills_part("outcome", scale="margin_scale")
def margin(
    *columns: str,
    scale: Annotated[float, MARGIN_SCALE] = DEFAULT_STATISTIC_SCALE,
    compression: Annotated[float | None, COMPRESSION] = None,
    noise: Annotated[float, NOISE] = DEFAULT_NOISE,
    draw_margin: Annotated[float | None, DRAW_MARGIN] = None,
) -> dict[str, Any]:
    """By how much the winner wins. What is predicted is the result.

    Args:
      columns: the name of the column that holds the margin, "margin" without it, or of two that hold the points of each
        side. Its size counts; its sign is the score's, and a draw has no margin. In contests the column of the points
        of each participant's team.
    """
    return {"outcome": "margin", "margin": column_names("margin", columns or ("margin",), (1, 2))}


@skills_part("outcome", scale="margin_scale", rate="point_rate", pace_deviation="initial_pace_deviation")
def points(
    first: str,
    second: str,
    scale: Annotated[float, MARGIN_SCALE] = DEFAULT_STATISTIC_SCALE,
    *,
    rate: Annotated[
        float, Parameter(POSITIVE, "points of the score", "points of each of two equals, without a side")
    ] = 100.0,
    total_noise: Annotated[
        float, Parameter(POSITIVE, "points", "deviation of both sides' points together, given paces")
    ] = 450.0,
    pace_growth: Annotated[float, PACE_GROWTH] = 10.0,
    pace_deviation: Annotated[float, PACE_DEVIATION] = 150.0,
    compression: Annotated[float | None, COMPRESSION] = None,
    noise: Annotated[float, NOISE] = DEFAULT_NOISE,
    draw_margin: Annotated[float | None, DRAW_MARGIN] = None,
) -> dict[str, Any]:
    """The points of both sides, where there are many, as in basketball: players have an attack and a defence.

    Args:
      first: the column of the points of the first side.
      second: that of the second side.
    """
    return {"outcome": "points", "margin": column_names("points", (first, second), (2,))}


@skills_part(
    "outcome",
    rate="goal_rate",
    dispersion="goal_dispersion",
    pace_deviation="initial_pace_deviation",
)
def goals(
    first: str,
    second: str,
    rate: Annotated[float, Parameter(POSITIVE, "goals", "goals of each of two equals, without a side")] = 1.35,
    *,
    dispersion: Annotated[
        float | None,
        Parameter(
            MAYBE_NOT_NEGATIVE,
            "points",
            "deviation of the log of goals beyond Poisson's, where 400 are a factor of 10",
        ),
    ] = None,
    low_score_dependence: Annotated[
        float | None,
        Parameter(MAYBE_ANY, "1", "Dixon and Coles' rho: below 0, 0:0 and 1:1 are more frequent, and 1:0 and 0:1 less"),
    ] = None,
    pace_growth: Annotated[float, PACE_GROWTH] = 2.0,
    pace_deviation: Annotated[float, PACE_DEVIATION] = 30.0,
) -> dict[str, Any]:
    """The goals of both sides, as in football and ice hockey: players have an attack and a defence.

    Args:
      first: the column of the goals of the first side.
      second: that of the second side.
    """
    return {"outcome": "goals", "margin": column_names("goals", (first, second), (2,))}


@skills_part("outcome")
def own_observation(
    name: str,
    log_likelihood: Any,
    columns: str | Sequence[str] = (),
    *,
    message: Any = None,
    outcomes: Any = None,
    noise: Annotated[float, NOISE] = DEFAULT_NOISE,
    draw_margin: Annotated[float | None, DRAW_MARGIN] = None,
    **hyperparameters: float,
) -> dict[str, Any]:
    """An observation of your own, of matches of two: how likely what was seen is, by the lead of the first player.

        POINTS = jr.extend.Parameter(jr.extend.POSITIVE, "points", "lead that is worth a set")

        def set_log_density(lead, variance, match, noise, worth: Annotated[float, POINTS] = 200.0):
            y = worth * (match.columns["sets_a"] - match.columns["sets_b"])
            return jax.scipy.stats.norm.logpdf(y, lead, jnp.sqrt(noise**2 + variance)) + jnp.log(worth)

        sets = jr.parts.own_observation("sets", set_log_density, columns=("sets_a", "sets_b"))

    The lead is by how many points the first player should perform better, before the noise of performances; it is
    believed to be normal. Arguments of the functions that are annotated with a `Parameter` are hyperparameters: worth
    is sets_worth in the system. `noise` and `draw_margin` are those of all observations, and tell the chances of win
    and draw as those of `result` do. All have the defaults of the functions.

    Args:
      name: one plain word.
      log_likelihood: a function of JAX of mean and variance of the lead, [n], and of the match, of which it sees
        `match.score`, 1 where the first player won, and `match.columns`: the logarithm of how likely that is, [n].
      columns: the names of the columns that the functions see, known after the match only.
      message: of the same, the precision of what is learnt of the lead, 0 or more, and the precision times how far its
        mean is from the lead. Without it they are those that keep mean and variance of the lead after the match, by
        derivatives of the log likelihood.
      outcomes: of mean and variance of the lead, the chances that the first player wins, and that they draw; without it
        those of `result`.
      **hyperparameters: of the functions, where they are not the defaults.
    """
    check_hyperparameter_names("name of an observation of your own", (name,))
    if name in OUTCOMES:
        raise ValueError(f"own_observation: {name!r} is the name of what another observation learns from; rename it")
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    names = column_names("own_observation", names, (len(names),))
    own = OwnObservation(name, log_likelihood, message, outcomes, names)
    known = list_hyperparameters_of_functions(own)
    check_keyword_names("own_observation", hyperparameters, [*known, *signature(own_observation).parameters])
    names_in_system = [own.name_in_system(x) for x in known if x not in SHARED_BY_OBSERVATIONS]
    check_hyperparameter_names("name of an observation of your own", names_in_system)
    return {"outcome": own, "columns": names}


@skills_part("statistics", scale="{column}_scale", noise="{column}_noise")
def statistic(
    column: str,
    scale: Annotated[
        float, Parameter(POSITIVE, "points per unit", "rating points that a unit of the statistic is worth")
    ] = DEFAULT_STATISTIC_SCALE,
    noise: Annotated[
        float, Parameter(POSITIVE, "points", "deviation of the statistic about the difference of strengths")
    ] = DEFAULT_NOISE,
) -> dict[str, Any]:
    """What is counted beside the result, as expected goals or the share of games: it is learnt from, and not predicted.

    Args:
      column: the name of the column of by how much the first player was ahead, NaN where it is missing; in contests of
        each participant, about 0 for equals. The hyperparameters are NAME_scale and NAME_noise.
    """
    check_hyperparameter_names("statistic", (statistic_scale_name(column), statistic_noise_name(column)))
    return {"statistics": (column,)}


@skills_part("expected_goals", noise="expected_goals_noise", scale="expected_goals_scale")
def expected_goals(
    first: str,
    second: str,
    noise: Annotated[float, Parameter(POSITIVE, "goals^(1/2)", "deviation of the root of expected goals")] = 0.5,
    scale: Annotated[float, Parameter(POSITIVE, "1", "expected goals for each goal, in the mean")] = 1.0,
) -> dict[str, Any]:
    """The expected goals of both sides, or their shots at goal, beside `goals`; NaN where they are missing.

    Args:
      first: the column of the first side's.
      second: that of the second side's.
    """
    return {"expected_goals": column_names("expected_goals", (first, second), (2,))}


@skills_part("quit", threshold="quit_threshold")
def quits(
    column: str,
    threshold: Annotated[
        float | None,
        Parameter(MAYBE_ANY, "points", "performance below which players quit", if_none="300 below a newcomer's rating"),
    ] = None,
) -> dict[str, Any]:
    """Who quits a contest, which says that they performed badly.

    Args:
      column: 1 for participants who quit, and 0 for those who stayed; NaN: unknown.
    """
    return {"quit": column_names("quits", (column,), (1,))[0]}


PARAMETER_NAMES = (  # of all parts, but for those of columns
    "period",
    *dict.fromkeys(x for maker in PART_MAKERS.values() for x in maker.names_in_system.values() if "{" not in x),
)


def complete_params(params: Params) -> Any:
    """The hyperparameters with None for those of parts that are not there."""
    values = dict.fromkeys(PARAMETER_NAMES) | params._asdict()
    return make_params_class(tuple(values))(**values)


OUTCOMES: dict[str, Callable[..., ModelPart]] = {  # the observations, by what is learnt from
    "win": result,
    "logistic": logistic,
    "margin": margin,
    "points": points,
    "goals": goals,
}
