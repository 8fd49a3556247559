"""Predictions remade: a system learns as it did, and what it predicts goes through a map with hyperparameters.

Calibrated predictions: expected scores whose log-odds are stretched, and moved towards the better side.

    logit p' = calibration_slope logit p + calibration_intercept side

(Cox 1958, "Two further applications of a model for binary regression", of forecasts.) A slope below 1 says that the
system is too sure. The intercept is the side's alone, +1 of the first player's and -1 of the second's: to swap the
players turns a prediction into its complement, and who has no side has no intercept. The shares of the others that
the teams of a contest should beat are stretched likewise, and moved by what they have in common so that they still sum
to half the teams.

Predictions in full: who wins, whether nobody does, the ranks, match quality; every score. A system that has draws of
its own tells what it believes of them. Any other system of matches predicts an expected score p, and Davidson's model
(1970, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", equation 2.5)
divides it: win, draw and loss have chances in the proportion r^2 : nu r : 1. The root r of their odds is that with
which win + draw / 2 = p, the positive solution of

    r^2 (1 - p) + nu r (1/2 - p) - p = 0

nu is `draw_odds`. Where draws depend on strength (Glickman 2025), log nu grows by `draw_strength` for each point that
the mean rating of both players lies above a newcomer's.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NamedTuple, ParamSpec

import jax
import jax.numpy as jnp

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import (
    add_hyperparameters_to_docstring,
    collect_params,
    factory_hyperparameter_space,
)
from jaxrate.core.pairwise_rules import signed_side_advantage, split_sides
from jaxrate.core.rules import Constants, Params, PredictRule, RuleByKind, State
from jaxrate.core.system import PredictionWrapper, RatingSystem, select_params
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.numerics.newton_iterations import center_log_odds
from jaxrate.numerics.special_functions import logit
from jaxrate.systems.rounds.cdf_sums import participant_mask
from jaxrate.systems.rounds.round_teams import gather_team_values_to_members, teams_with_result_hidden


class OutcomeProbabilities(NamedTuple):
    """A prediction in full: [n, 2] for both players of matches, [P] for the team of each participant of rounds."""

    win: Array  # the probability that it beats every other team by more than the margin
    draw: Array  # the probability that no team does; of a match, that it is drawn
    rank: Array  # the expected rank among the teams, from 1; a draw is half a place
    quality: Array  # match quality: the density of a draw of all, relative to equals whose skills are known


def davidson_outcome_probabilities(expected_score: Array, draw_odds: Array) -> OutcomeProbabilities:
    """Win, draw and loss [...] with these expected scores of the first player, and these odds of a draw of equals."""
    expected_score = jnp.clip(expected_score, 0.0, 1.0)
    ahead, other_score = expected_score >= 0.5, 1.0 - expected_score
    more, less = jnp.where(ahead, expected_score, other_score), jnp.where(ahead, other_score, expected_score)
    lean = draw_odds * (more - 0.5)
    root = 2.0 * less / (lean + jnp.sqrt(lean * lean + 4.0 * more * less))
    both = 1.0 + draw_odds * root + root * root
    better, worse, draw = 1.0 / both, root * root / both, draw_odds * root / both
    win = jnp.stack([jnp.where(ahead, better, worse), jnp.where(ahead, worse, better)], axis=-1)
    even = draw * ((2.0 + draw_odds) / draw_odds)
    draw, even = (jnp.stack([x, x], axis=-1) for x in (draw, even))
    return OutcomeProbabilities(win, draw, 2.0 - win - 0.5 * draw, even)


def scores_or_score_probabilities(prediction: Any) -> Any:
    """Expected scores [...], or probabilities [..., K]; of `OutcomeProbabilities`, of loss, draw and win."""
    if isinstance(prediction, OutcomeProbabilities):
        return jnp.stack([prediction.win[..., 1], prediction.draw[..., 0], prediction.win[..., 0]], axis=-1)
    return prediction


def expected_score_from_prediction(prediction: Any) -> Any:
    """[n] of player 0, from predictions of matches in any form: these, those of an outlook, or [n, K] of each score."""
    if isinstance(prediction, OutcomeProbabilities):
        check_that(prediction.win.ndim == 2, "this outlook is of rounds, which have no expected scores")
        return prediction.win[:, 0] + 0.5 * prediction.draw[:, 0]
    if getattr(prediction, "ndim", 1) != 2:
        return prediction
    last = prediction.shape[1] - 1
    return sum(prediction[:, k] * (k / last) for k in range(1, last + 1))


# --- Systems whose predictions are remade. ---


class WrappedConstants(NamedTuple):
    """The constants of remade predictions."""

    inner: Constants
    params: Params  # all of them
    newcomer: Array  # the rating of one


def unwrap_predictions(system: RatingSystem) -> RatingSystem:
    """The system whose predictions are remade, by a rule of its own; others stay as they are."""
    while system.wrapper is not None:
        system = system.wrapper.unwrap(system)
    return system


WrapperArgs = ParamSpec("WrapperArgs")


def check_and_document_wrapper(wrap: Callable[WrapperArgs, RatingSystem]) -> Callable[WrapperArgs, RatingSystem]:
    """Around a function that remakes the predictions of a system: its arguments are checked."""
    add_hyperparameters_to_docstring(wrap)
    return enforce_argument_annotations(wrap)


def wrap_predictions(
    system: RatingSystem, wrap: Callable[..., RatingSystem], values: Mapping[str, Any], predict: RuleByKind
) -> RatingSystem:
    """A system that predicts what `predict` makes of constants, rows and event, with hyperparameters of `wrap`."""
    name = wrap.__name__
    events = tuple(kind for kind in system.events if kind is not Rounds or predict.rounds is not None)
    if not events:
        raise ValueError(f"{name} is of matches, which {system.name} does not rate")
    for known in wrapper_names(system):
        if PREDICTION_WRAPPERS[known] in (wrap, add_outcomes):
            text = f"this {system.name} is one of jr.forecasts.{PREDICTION_WRAPPERS[known].__name__} already"
            raise ValueError(f"{text}; take {name} of the system before that")
    extra_params, extra_space = collect_params(wrap, values)
    if shared := {*extra_params._fields} & {*system.params._fields}:
        raise ValueError(f"{name}: {system.name} has {' and '.join(sorted(shared))} of its own")
    params_class = hyper.make_params_class((*system.params._fields, *extra_params._fields))
    inner, rules = system._replace(params=None), system.rules
    return system._replace(
        params=params_class(*system.params, *extra_params),
        space=params_class(*system.space, *extra_space),
        events=events,
        init=bind(_call_with_inner_params, inner, system.init),
        rules=rules._replace(
            prepare=bind(_prepare_wrapped_constants, inner),
            advance=bind(_call_with_inner_constants, rules.advance),
            predict=RuleByKind(*(None if rule is None else bind(rule, inner) for rule in predict)),
            update=bind(_call_with_inner_constants, rules.update),
            infer=None if rules.infer is None else bind(_call_with_inner_constants, rules.infer),
            outcomes=None,
            prepare_for=None if rules.prepare_for is None else bind(_prepare_wrapped_constants_for, inner),
        ),
        summary=bind(_call_with_inner_params, inner, system.summary),
        wrapper=PredictionWrapper(wrap, inner, extra_params._fields),
    )


def _call_with_inner_params(inner: RatingSystem, function: Callable[..., Any], params: Params, *args: Any) -> Any:
    return function(select_params(inner, params), *args)


def _call_with_inner_constants(rule: Callable[..., Any], constants: WrappedConstants, *args: Any) -> Any:
    return rule(constants.inner, *args)


def _prepare_wrapped_constants(inner: RatingSystem, params: Params) -> WrappedConstants:
    own = select_params(inner, params)
    return WrappedConstants(inner.rules.prepare(own), params, inner.summary(own, inner.init(own, 1)).mean[0])


def _prepare_wrapped_constants_for(inner: RatingSystem, params: Params) -> Any:
    sized = inner.rules.with_sizes_for(select_params(inner, params))
    return bind(_prepare_wrapped_constants, inner._replace(rules=sized))


# --- Chances of draws. ---

LOG_ODDS_LIMIT = 40.0  # of log nu, beyond which it goes no further: squares of nu stay finite in float32


@check_and_document_wrapper
def add_outcomes(
    system: RatingSystem,
    *,
    draw_odds: Annotated[
        float | None,
        hyper.Parameter(
            hyper.POSITIVE,
            "1",
            "odds of a draw between equals, to a win of one of them",
            concerns_draws=True,
            if_none="1, of a system without draws of its own",
        ),
    ] = None,
    draw_strength: Annotated[
        float | None,
        hyper.Parameter(
            hyper.MAYBE_ANY,
            "1 per point",
            "growth of log(draw_odds) with the mean rating of both above a newcomer's",
            concerns_draws=True,
        ),
    ] = None,
) -> RatingSystem:
    """A system that learns as this one does and predicts the chance of each outcome, in `jr.run` and in `jr.predict`.

    TrueSkill, and skills with a draw margin, predict `OutcomeProbabilities` by their own margin of draws, TrueSkill
    also of rounds; skills of goals by their scorelines; Urnings [n, m + 1], the probabilities of the scores 0, 1/m,
    ..., 1 of player 0. In rounds of P participants TrueSkill's probabilities to win take time of order P^2 (and memory
    of order P).

    Every other system of matches predicts `OutcomeProbabilities` by Davidson's model, which agrees with its expected
    scores: two hyperparameters more say how frequent draws are, and `fit` finds them. Equals draw nu / (nu + 2) of
    their matches, where nu is `draw_odds`. Match quality is then the chance of a draw relative to that between equals.
    Of rounds only Weng-Lin does: the chance to win among all teams, by Plackett-Luce or normal performances.

        found = jr.fit(jr.forecasts.add_outcomes(jr.glicko(), draw_strength=0.0), data)

    Rated histories keep what it says beside the expected scores, see `rate`; measures and pictures take the expected
    scores of it.

    Args:
      system: of matches; or one with draws of its own, which has none of these hyperparameters.

    Raises:
      ValueError: for a system of rounds alone, hyperparameters that it does not have, or one of `add_outcomes` already.
    """
    own, given = find_own_draw_predict_rule(system), {"draw_odds": draw_odds, "draw_strength": draw_strength}
    if own is None:
        of_rounds = None if system.rules.outcomes is None else _predict_own_round_outcomes
        predict = RuleByKind(predict_davidson, predict_davidson, of_rounds)
        given |= {"draw_odds": 1.0} if draw_odds is None else {}
        return wrap_predictions(system, add_outcomes, given, predict)
    if names := [name for name, value in given.items() if value is not None]:
        raise ValueError(f"{system.name} has draws of its own, without {' and '.join(names)}")
    inner, rules = system._replace(params=None), system.rules._replace(predict=own, outcomes=None)
    return system._replace(rules=rules, wrapper=PredictionWrapper(add_outcomes, inner))


def find_own_draw_predict_rule(system: RatingSystem) -> PredictRule | None:
    """The rule by which a system predicts all outcomes of matches with its own draws; None if it has none."""
    rule: Any = system.rules.outcomes
    return None if isinstance(rule, RuleByKind) and rule.matches is None else rule


def has_outcome_wrapper(system: RatingSystem) -> bool:
    """Whether the system is one that `add_outcomes` made."""
    return "outlook" in wrapper_names(system)


def predict_davidson(
    inner: RatingSystem, constants: WrappedConstants, rows: State, event: Matches | Periods
) -> OutcomeProbabilities:
    """The chances of a match, or of the pairs of a period [M]."""
    score, draws = inner.rules.predict(constants.inner, rows, event), constants.params
    odds = jnp.log(draws.draw_odds)
    if draws.draw_strength is not None:
        one, two = split_sides(inner.summary(select_params(inner, draws), rows).mean, event)
        odds = odds + draws.draw_strength * (0.5 * (one + two) - constants.newcomer)
    return davidson_outcome_probabilities(score, jnp.exp(jnp.clip(odds, -LOG_ODDS_LIMIT, LOG_ODDS_LIMIT)))


def _predict_own_round_outcomes(inner: RatingSystem, constants: WrappedConstants, rows: State, event: Rounds) -> Any:
    return inner.rules.outcomes(constants.inner, rows, event)


# --- Calibration. ---


@check_and_document_wrapper
def calibrate(
    system: RatingSystem,
    *,
    calibration_slope: Annotated[
        float, hyper.Parameter(hyper.POSITIVE, "1", "factor of the log-odds that are predicted")
    ] = 1.0,
    calibration_intercept: Annotated[
        float, hyper.Parameter(hyper.ANY, "1", "log-odds that the better side is worth beyond them")
    ] = 0.0,
) -> RatingSystem:
    """A system that learns as this one does, whose predictions are calibrated by a map that `fit` finds.

        found = jr.fit(jr.forecasts.calibrate(jr.glicko()), data)

    `add_outcomes(calibrate(system))` predicts win, draw and loss from calibrated scores, by Davidson's model. In
    contests it is the share of the others to be beaten that is calibrated, by the slope.

    Args:
      system: any but one of `add_outcomes`.

    Raises:
      ValueError: for a hyperparameter out of its range, or if the predictions of the system are calibrated, or in full,
        already.
    """
    values = {"calibration_slope": calibration_slope, "calibration_intercept": calibration_intercept}
    predict = RuleByKind(predict_calibrated, predict_calibrated, predict_calibrated_shares)
    return wrap_predictions(system, calibrate, values, predict)


def _calibrated_log_odds(inner: RatingSystem, constants: WrappedConstants, rows: State, event: Any) -> Array:
    return constants.params.calibration_slope * logit(inner.rules.predict(constants.inner, rows, event))


def predict_calibrated(
    inner: RatingSystem, constants: WrappedConstants, rows: State, event: Matches | Periods
) -> Array:
    """Expected scores [] of a match, [M] of the pairs of a period."""
    odds = _calibrated_log_odds(inner, constants, rows, event)
    return jax.nn.sigmoid(odds + signed_side_advantage(event, constants.params.calibration_intercept))


def predict_calibrated_shares(inner: RatingSystem, constants: WrappedConstants, rows: State, event: Rounds) -> Array:
    """The shares [P] of the others that the participants of a round should beat."""
    odds = _calibrated_log_odds(inner, constants, rows, event)
    teams, mask = teams_with_result_hidden(event), participant_mask(event)
    size = gather_team_values_to_members(teams, jnp.maximum(teams.size, 1).astype(odds.dtype))
    weight = jnp.where(mask, 1.0 / size, 0.0)
    share: Array = jax.nn.sigmoid(center_log_odds(jnp.where(mask, odds, 0.0), weight, jnp.sum, jnp))
    return share


# --- Wrappers by name. ---

PREDICTION_WRAPPERS: dict[str, Callable[..., RatingSystem]] = {  # as saved runs call them, the inner one first
    "calibrated": calibrate,
    "outlook": add_outcomes,
}


def wrapper_names(system: RatingSystem) -> tuple[str, ...]:
    """The names of the wrappers around a system's predictions, the innermost first: "calibrated", "outlook"."""
    if system.wrapper is None:
        return ()
    own = (name for name, wrap in PREDICTION_WRAPPERS.items() if wrap == system.wrapper.wrap)
    return *wrapper_names(system.wrapper.inner), *own


def observes_goals(system: RatingSystem) -> bool:
    """Whether the system learns from goals, and predicts scorelines as it is."""
    return getattr(system.params, "goal_rate", None) is not None and not wrapper_names(system)


def wrapper_param_names(wrapper_name: str) -> tuple[str, ...]:
    """The hyperparameters that a wrapper adds to a system without draws of its own."""
    names: tuple[str, ...] = factory_hyperparameter_space(PREDICTION_WRAPPERS[wrapper_name])._fields
    return names


def addable_param_names(system: RatingSystem) -> tuple[str, ...]:
    """The hyperparameters that wrappers would add to a system."""
    if Matches not in system.events and Periods not in system.events:
        return ()
    of_draws = () if find_own_draw_predict_rule(system) else wrapper_param_names("outlook")
    return wrapper_param_names("calibrated") + of_draws


def make_wrapped_system(
    wrappers: Iterable[str], make: Callable[..., RatingSystem], options: Mapping[str, Any]
) -> RatingSystem:
    """The system that a factory makes of its own options, within the wrappers of these names, which take the others."""
    params = {name: {x: options[x] for x in wrapper_param_names(name) if x in options} for name in wrappers}
    others = {x for own in params.values() for x in own}
    system = make(**{x: value for x, value in options.items() if x not in others})
    for name, own in params.items():
        system = PREDICTION_WRAPPERS[name](system, **own)
    return system
