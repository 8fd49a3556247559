"""Skills: a Gaussian filter for results, margins, surfaces, covariates, seasons and experience.

A player is a vector theta: a common skill, a modifier for each category, and a side advantage of their own, where these
are asked for. It is believed to be normal, of mean m and covariance P. In a match of a against b they bring x^T theta,
where x picks the common skill, the modifier of the category that they meet (shares, if the opponent mixes categories),
and their own side by +1 or -1, and a should perform better by

    d = x_a^T theta_a - x_b^T theta_b + side_advantage side + sum_k w_k z_k
        + experience (log(1 + games_a) - log(1 + games_b))

with the covariates z_k of the match. The variances of x^T theta are s_a and s_b; the square of `match_growth` is added
to that of a common skill in every match, before it counts.

Time. Between events variances grow by growth^2 a period, each kind of part by its own. With `reversion` tau it is the
Ornstein-Uhlenbeck process about a newcomer's mean: after t the share k = exp(-t / tau) of a lead is left, and

    P <- k^2 P + growth^2 tau / 2 (1 - k^2)      (Uhlenbeck and Ornstein 1930), tau in periods

With `kinds` players are of two kinds, as learners and exercises, and those of the second have a growth, a first
deviation, a growth by a match and an experience of their own; the first event of a player tells the kind. With
`league_season` matches say by number in which season they are, and a season begins for a player with their first match
in it, so that leagues have their own. With `side_since` t_0 the common side advantage at t is side_advantage +
side_trend (t - t_0) / 365.25: a system whose rules see two players only has nowhere to learn what all share, and a line
can be fitted.

With `form` of deviation s players have a form beside their skill, which counts in every match: an Ornstein-Uhlenbeck
process about 0 with a time constant of its own, of variance s^2 while nothing is known of it.

When one of `seasons` begins, after the time that passed, m <- newcomer's + keep (m - newcomer's), P <- keep^2 P, and
the common skill gains growth^2 of seasons, once for each. Neither makes a variance larger than a newcomer's, or than
the square of the largest deviation of `skill`.

What a match says of x^T theta of a player is a message of precision I and a surprise V, linear in x:

    P' = P - P x x^T P I / (1 + s I),   m' = m + P' x V

win: the better performance wins, with noise of variance noise^2, so P(a wins) = Phi(d / c), c^2 = noise^2 + s_a + s_b;
I and V match mean and variance of the belief after it (TrueSkill, Herbrich, Minka and Graepel 2006, of two players). A
draw is half a win and half a loss, in log likelihood; with a draw margin it is a difference within it.
logistic: Glicko's, where only the opponent's variance attenuates (Glickman 1999).
margin: y = d + noise, so I = 1 / (noise^2 + s_b) and V = I (y - d) of a, the Kalman filter (Kalman 1960). y has the
sign of the result and the size of the margin, of which a unit is worth the scale in points, compressed by k as
k log(1 + |margin| / k). What is predicted is the result, as after win.
statistics: each of value z says c z = d + noise of its own, with c its scale, whatever the result was; they and then
the result tell of d one after the other, see outcome_likelihoods.py.

points: the margin as above, and the points of both sides together, which say of paces: see outcome_likelihoods.py.

goals: both sides score Poisson's goals, with Dixon and Coles' correction of low scores. Teams have a pace beside their
strength, so an attack (strength + pace) / 2 and a defence (strength - pace) / 2, and where nothing else counts they
score goal_rate 10^((attack - the other's defence) / 400) goals. The belief after a match is the normal law with the
same mean and covariance, see goal_likelihoods.py. All three outcomes are predicted.

A match of weight w counts as w matches. The games of a rating period all count at the beliefs before it: their
precisions x x^T I and their surprises x V add up. Beliefs of two players stay independent after a match, as in Glicko
and in TrueSkill. (After Szczecinski and Tihon 2023, "Simplified Kalman filter for online rating: one-fits-all
approach", with a covariance for each player.) Contests of teams: see rules.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Never

import numpy as np

from jaxrate.core.argument_checks import check_argument
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import PERIOD, Parameter, check_params, make_params_class
from jaxrate.core.system import RatingSystem, Settings, check_param_names, format_setting
from jaxrate.core.text_format import did_you_mean_suffix, join_names
from jaxrate.events import Matches, Periods, Ragged, Rounds
from jaxrate.systems.skills import part_declarations
from jaxrate.systems.skills.part_declarations import (
    DEFAULT_NOISE,
    OUTCOMES,
    PARAMETER_NAMES,
    PART_MAKERS,
    ModelPart,
    complete_params,
)
from jaxrate.systems.skills.parts import check_own_loadings, init, summary
from jaxrate.systems.skills.rules import make_rules
from jaxrate.systems.skills.settings import (
    SETTING_DEFAULTS,
    ModelSettings,
    OwnObservation,
    OwnPart,
    check_events_fit,
)
from jaxrate.systems.skills.user_observations import check_own_observation

OUTCOME_PARTS = {make.__name__: outcome for outcome, make in OUTCOMES.items()}
OF_FUNCTIONS = "own", "own_observation"  # parts that need a function, which only Python gives
RESULT_PARTS = {*OUTCOME_PARTS, "own_observation"}
OBSERVATIONS = {*RESULT_PARTS, "statistic", "expected_goals", "quits"}
# of a model without others of their kind
USUAL_PARTS = part_declarations.skill(), part_declarations.side(), part_declarations.result()
COLUMN_SETTINGS = "covariates", "margin", "kinds", "statistics", "expected_goals"
DEFAULT_PERIOD = 7.0
OF_TWO = "logistic", "points", "goals"  # outcomes of matches of two alone
SEVERAL_SETTINGS = {"covariates", "own_parts", "statistics"}  # to which several parts may add
CONTRADICTIONS = [  # a part, those of which it needs one, or has none, and why
    ("expected_goals", {"goals"}, True, "as it is beside the goals of both sides"),
    ("statistic", {"logistic"}, False, "which has Glicko's scale and nothing of its own beside the result"),
    ("statistic", {"goals"}, False, "where the goals of both sides make the result; take expected_goals"),
    ("quits", {"points", "goals", "own_observation"}, False, "which are of matches of two"),
    ("team", {"points", "goals", "own_observation"}, False, "which are of matches of two"),
]


def skills(
    *parts: ModelPart,
    observe: ModelPart | Sequence[ModelPart] = (),
    period: float = DEFAULT_PERIOD,
    **misplaced: Never,
) -> RatingSystem:
    """One filter of matches, rating periods and contests of teams, made of the parts that players and matches have.

        data = jr.data.datasets.nfl()
        system = jr.skills(
            jr.parts.seasons(data.seasons),
            jr.parts.side(50.0),
            observe=jr.parts.margin(*data.margin, compression=10.0),
        )
        rated = jr.rate(system, data)

    What is no part of it is off. `jr.skills_for_data(data)` has a part for all that the data have, and prints the call.
    Parts have usual hyperparameters where none are given: `fit` finds better ones.

    The rating that is shown is what a player would bring to a neutral match: the common skill, their form and their
    experience. The parts apart are the columns of `state.mean`.

    Args:
      parts: what players are believed to be, and what counts in a match beside them: parts of `jr.parts`. Without
        `skill` and `side` they have the usual ones.
      observe: what is learnt from: `result`, `logistic`, `margin`, `points` or `goals` of `jr.parts`, and beside it
        `statistic`, `expected_goals` and `quits`. Without one of the first five it is the result.
      period: the length of a rating period, in days or the unit of time, of which growth is a rate.
      **misplaced: none, as hyperparameters are arguments of the parts.

    Raises:
      ValueError: for what is no part, or where parts do not go together; it names the part.
    """
    observed = [*observe] if isinstance(observe, Sequence) and not isinstance(observe, ModelPart | str) else [observe]
    for name in misplaced:
        raise ValueError(f"skills takes parts, and no {name}; {describe_parts_of_name(name)}")
    for part in (*parts, *observed):
        if not isinstance(part, ModelPart):
            got = f"{part.__name__} itself; call it" if callable(part) else repr(part)
            raise ValueError(f"skills takes parts such as jr.parts.experience(20), got {got}")
    for part in parts:
        if part.name in OBSERVATIONS:
            raise ValueError(f"skills: {part.name} is observed: give it as observe=jr.parts.{part.name}(...)")
    for part in observed:
        if part.name not in OBSERVATIONS:
            raise ValueError(f"skills: {part.name} is no observation; give jr.parts.{part.name}(...) before observe")
    return make_system_of_parts((*parts, *observed), period)


def describe_parts_of_name(name: str) -> str:
    """Which parts have a hyperparameter or an argument of this name, or are called so."""
    makers = PART_MAKERS.items()
    owners = [part for part, maker in makers if name == part or name in maker.names_in_system.values()]
    owners = owners or [part for part, maker in makers if name in maker.signature.parameters]
    if not owners:
        return f"they are those of `jr.parts`{did_you_mean_suffix(name, PART_MAKERS)}"
    return f"give {join_names([f'jr.parts.{part}(...)' for part in owners], 'or')}"


def skills_by_name(*, period: float = DEFAULT_PERIOD, **values: Any) -> RatingSystem:
    """Skills of settings and hyperparameters by their names, as saved runs and the command line have them.

    `jr.skills` has the parts that these stand for.

    Args:
      outcome: what is learnt from: "win", "logistic" (the result, as in Glicko), "margin", "points" or "goals".
      categories: how many there are, such as surfaces, for a modifier of each.
      covariates: the names of columns of what speaks for the first player (komi, rest, ...), each a hyperparameter.
      own_side: whether players have a side advantage of their own, beside the common one.
      own_parts: parts of your own, from the settings of a system of `jr.parts.own`, in Python.
      seasons: the time at which each begins, increasing; numbers, or dates.
      margin: the name of the column of the margin, or of two with the points of each side.
      kinds: of players, if there are two: "sides", or the columns of a's and of b's kind, 0 or 1; of contests, and of
        matches of players of one kind, one column.
      league_season: the column of the number of the season of each match, in place of `seasons`.
      side_since: the time when the side is worth `side_advantage`, which changes by `side_trend`.
      statistics: the names of columns of what was counted beside the result, with NAME_scale and NAME_noise.
      team_performance: of a team in contests: the "sum" of its members' performances, or their "mean".
      quit: the column that says which participants of contests quit.
      expected_goals: with "goals", the names of the columns of both sides' expected goals.
      **values: hyperparameters of parts by their names in the system, and these settings.
    """
    parts = parts_from_values(values)
    space = parameter_space_of_parts(parts)
    check_values_have_parts(values, space)
    given = {name: x for name, x in values.items() if name in space and (x is not None or space[name].range.optional)}
    return make_system_of_parts([part.with_params(given) for part in parts], period)


def parameter_space_of_parts(parts: Iterable[ModelPart]) -> dict[str, Parameter]:
    """What the hyperparameters of parts mean, by their names in the system."""
    return {name: about for part in parts for name, about in part.space.items()}


def check_values_have_parts(values: Mapping[str, Any], space: Mapping[str, Parameter]) -> None:
    """ValueError for a name that is none, or for the value of a hyperparameter whose part is not there."""
    check_param_names("skills", values, dict.fromkeys((*SETTING_DEFAULTS, *space, *PARAMETER_NAMES)))
    for name, value in values.items():
        if value is not None and name not in {*SETTING_DEFAULTS, *space}:
            owners = [part for part, x in PART_MAKERS.items() if name in x.names_in_system.values()]
            owners = [part for part in owners if part not in OF_FUNCTIONS]
            raise ValueError(f"skills: {name} needs {join_names(map(describe_setting_of_part, owners), 'or')}")


def list_further_hyperparameters() -> list[tuple[str, Any, Parameter]]:
    """The hyperparameters of parts that bare skills lack: name, usual value, and meaning with what brings the part."""
    settings: dict[tuple[str, Any, Parameter], list[str]] = {}
    for part, maker in PART_MAKERS.items():
        if part in OF_FUNCTIONS:
            continue
        for argument, name in maker.names_in_system.items():
            key = name.format(column="NAME"), maker.signature.parameters[argument].default, maker.space[argument]
            settings.setdefault(key, []).append(describe_setting_of_part(part))
    own = skills_by_name().params._fields
    return [
        (name, value, about._replace(meaning="; with ".join(filter(None, [about.meaning, join_names(needed, "or")]))))
        for (name, value, about), needed in settings.items()
        if name not in own
    ]


def describe_setting_of_part(part: str) -> str:
    """The setting that stands for a part where parts are made by names; "" if its hyperparameters do."""
    setting = PART_MAKERS[part].setting
    if setting is None:
        return ""
    return f"outcome={OUTCOME_PARTS[part]!r}" if setting == "outcome" else f"{setting}=..."


def parts_from_values(values: Mapping[str, Any]) -> list[ModelPart]:
    """The parts that settings and hyperparameters by name stand for, with default hyperparameters."""
    settings = complete_settings(values)
    given = {name for name, x in values.items() if x is not None}
    parts = [make_observation(settings["outcome"], settings["margin"])]
    for maker in PART_MAKERS.values():
        if maker.setting is None and not given.isdisjoint(maker.names_in_system.values()):
            parts.append(maker.make())
        elif maker.setting not in (None, "outcome"):
            parts += [maker.make(*arguments) for arguments in part_maker_arguments(maker.setting, settings)]
    if settings["team_performance"] != "sum":
        parts = [part for part in parts if part.name != "team"]
        parts.append(part_declarations.team(performance=settings["team_performance"]))
    return parts


def make_observation(outcome: str | OwnObservation, columns: Sequence[str]) -> ModelPart:
    """The part for what is learnt from, by its outcome and the columns of margins."""
    if isinstance(outcome, OwnObservation):
        return part_declarations.own_observation(**outcome._asdict())
    return OUTCOMES[outcome](*(columns if outcome in ("margin", "points", "goals") else ()))


def complete_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings among values by name and the usual others, names of columns in tuples; ValueError for wrong ones."""
    settings = SETTING_DEFAULTS | {name: x for name, x in values.items() if name in SETTING_DEFAULTS}
    settings |= {name: (settings[name],) for name in COLUMN_SETTINGS if isinstance(settings[name], str)}
    outcome = settings["outcome"]
    check_argument("skills", "own_side", bool, settings["own_side"])
    if not all(isinstance(part, OwnPart) for part in settings["own_parts"]):
        raise ValueError(
            f"skills: own_parts={settings['own_parts']!r} are names, and parts of your own need their functions: make "
            "the system again, and load runs by jr.load(folder, make=lambda own_parts, **saved: system.make(**saved))"
        )
    if not isinstance(outcome, OwnObservation) and outcome not in OUTCOMES:
        hint = did_you_mean_suffix(outcome, OUTCOMES)
        raise ValueError(f"skills: outcome must be {join_names(map(repr, OUTCOMES), 'or')}, got {outcome!r}{hint}")
    if outcome in ("points", "goals") and len(settings["margin"]) != 2:
        raise ValueError(f"skills: with outcome={outcome!r} margin must be two columns: the {outcome} of each side")
    if len(settings["expected_goals"]) not in (0, 2):
        raise ValueError("skills: expected_goals must be two columns, of the first and of the second player")
    return settings


def part_maker_arguments(setting: str, settings: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The arguments of each call of the maker of the parts that a setting stands for."""
    value = settings[setting]
    if setting in SEVERAL_SETTINGS:
        return [*value] if setting == "own_parts" else [(column,) for column in value]
    if np.size(value) == 0 or (np.ndim(value) == 0 and value == SETTING_DEFAULTS[setting]):
        return []
    return [tuple(value)] if setting in COLUMN_SETTINGS else [() if value is True else (value,)]


def make_system_of_parts(parts: Sequence[ModelPart], period: float) -> RatingSystem:
    """The system of these parts and the usual ones."""
    parts = add_usual_parts(parts)
    check_parts_go_together(parts)
    settings, space = combine_settings(parts), parameter_space_of_parts(parts) | {"period": PERIOD}
    values = fill_from_others({"period": period} | {name: x for part in parts for name, x in part.params.items()})
    make_params = make_params_class(tuple(space))
    meaning = make_params(**space)
    params = check_params("skills", make_params(**values), meaning)
    model = ModelSettings(**settings, form="form_deviation" in space)
    is_own = isinstance(model.outcome, OwnObservation)
    return RatingSystem(
        bind(init, model),
        make_rules(model, complete_params(params)),
        (Matches, Periods) if is_own or model.outcome in OF_TWO else (Matches, Periods, Rounds),
        bind(summary, model),
        bind(check_events, model, params if is_own else None),
        ("categories", "teams", "seats", "noise"),
        name="skills",
        params=params,
        space=meaning,
        factory=skills_by_name,
        settings=Settings(settings),
        format_call=format_call,
    )


def check_events(model: ModelSettings, params: Any, events: Matches | Ragged) -> None:
    """ValueError for events that lack what the model needs, or where functions of a user fail, which have `params`."""
    check_events_fit(model, events)
    check_own_loadings(model, events)
    if isinstance(model.outcome, OwnObservation):
        check_own_observation(model, params, events)


def combine_settings(parts: Iterable[ModelPart]) -> dict[str, Any]:
    """What parts say of the model, with the usual settings for all else."""
    settings = dict(SETTING_DEFAULTS)
    for name, value in (item for part in parts for item in part.settings.items()):
        settings[name] = settings[name] + value if name in SEVERAL_SETTINGS else value
    return settings


def add_usual_parts(parts: Sequence[ModelPart]) -> list[ModelPart]:
    """The parts in the order of the makers, with a skill, a side and a result where there are none of these."""
    names = {part.name for part in parts}
    names |= {"result"} if names & RESULT_PARTS else set()
    usual = [part for part in USUAL_PARTS if part.name not in names]
    return sorted([*usual, *parts], key=lambda part: [*PART_MAKERS].index(part.name))


def check_parts_go_together(parts: Sequence[ModelPart]) -> None:
    """ValueError that names the part for one that sets what another sets, or does not go with another."""
    owners: dict[str, ModelPart] = {}
    for part in parts:
        for name in (*part.params, *(part.settings.keys() - SEVERAL_SETTINGS)):
            if name in owners:
                raise ValueError(f"skills: {owners[name]!r} and {part!r} both set {name}; leave one of them out")
            owners[name] = part
    names = {part.name for part in parts}
    for name, others, is_needed, why in CONTRADICTIONS:
        if name in names and others.isdisjoint(names) is is_needed:
            relation = "needs" if is_needed else "does not go with"
            other = join_names(sorted(others if is_needed else others & names), "or")
            raise ValueError(f"skills: {name} {relation} {other}, {why}")
    if "expected_goals" in names:
        for column in {*owners["margin"].settings["margin"]} & {*owners["expected_goals"].settings["expected_goals"]}:
            raise ValueError(f"skills: expected_goals names {column!r}, a column of the goals themselves")


def fill_from_others(values: Mapping[str, Any]) -> dict[str, Any]:
    """The hyperparameters with those of other parts for those that are None and stand for them."""
    filled = dict(values)
    if "quit_threshold" in values and values["quit_threshold"] is None:
        filled["quit_threshold"] = values["initial_rating"] - DEFAULT_NOISE
    if "second_kind_growth" not in values:
        return filled
    for name in ("growth", "initial_deviation", "match_growth", "experience"):
        second, first = f"second_kind_{name}", values.get(name)
        if values[second] is None:
            filled[second] = first
        elif first is None:
            raise ValueError(f"skills: {second} of kinds needs {name} of the players of the first kind")
    return filled


def format_call(system: RatingSystem) -> str:
    """The call that makes the system of parts."""
    values = system.settings | system.params._asdict()
    parts = [part.with_params(values) for part in parts_from_values(values)]
    shown = [part for part in parts if part not in USUAL_PARTS]
    observed = tuple(part for part in shown if part.name in OBSERVATIONS)
    arguments = [repr(part) for part in shown if part not in observed]
    if observed:
        arguments.append(f"observe={observed if len(observed) > 1 else observed[0]!r}")
    if values["period"] != DEFAULT_PERIOD:
        arguments.append(f"period={format_setting(values['period'])}")
    return f"skills({', '.join(arguments)})"
