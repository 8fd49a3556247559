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

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.pairwise import signed_side_advantage, split_sides
from jaxrate.core.rules import Constants, Params, PredictRule, RuleByKind, State
from jaxrate.core.system import PredictionWrapper, RatingSystem, check_param_names, select_params
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.numerics.newton_roots_and_maxima import center_log_odds
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
    """Win, draw and loss with these expected scores [...] of the first player, and these odds of a draw of equals.

    1 / r of the better player is the root that loses no digits, and it is at most 1.
    """
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
        if prediction.win.ndim != 2:
            raise ValueError("this outlook is of rounds, which have no expected scores")
        return prediction.win[:, 0] + 0.5 * prediction.draw[:, 0]
    if getattr(prediction, "ndim", 1) != 2:
        return prediction
    last = prediction.shape[1] - 1
    return sum(prediction[:, k] * (k / last) for k in range(1, last + 1))


# --- Systems whose predictions are remade. ---

WRAPPER_KEYS = {"add_outcomes": "outlook", "calibrate": "calibrated"}  # what saved runs call the wrappers


class WrappedConstants(NamedTuple):
    """The constants of remade predictions."""

    inner: Constants
    params: Params  # all of them
    newcomer: Array  # the rating of one


def wrapper_names(system: RatingSystem) -> tuple[str, ...]:
    """The names of the wrappers around the predictions of a system, in order: "calibrated", "outlook"."""
    if system.wrapper is None:
        return ()
    return *wrapper_names(system.wrapper.inner), WRAPPER_KEYS[system.wrapper.wrap.__name__]


def unwrap_predictions(system: RatingSystem) -> RatingSystem:
    """The system whose predictions are remade, by a rule of its own; others stay as they are."""
    while system.wrapper is not None:
        system = system.wrapper.unwrap(system)
    return system


def check_not_wrapped(system: RatingSystem, wrapper_name: str) -> None:
    """ValueError if its predictions were remade so before, or are in full already."""
    for known in (wrapper_name, "add_outcomes"):
        if WRAPPER_KEYS[known] in wrapper_names(system):
            raise ValueError(
                f"this {system.name} is one of jr.forecasts.{known} already; take {wrapper_name} of the system before "
                "that"
            )


def wrap_predictions(
    system: RatingSystem,
    wrap: Callable[..., RatingSystem],
    extra_params: Params,
    extra_space: Params,
    predict: RuleByKind,
) -> RatingSystem:
    """A system that predicts what `predict` makes of its rows, and has these hyperparameters besides.

    Args:
      system: the system whose predictions are changed.
      wrap: what remakes it so.
      extra_params: values of the further hyperparameters.
      extra_space: what the further hyperparameters mean.
      predict: rules of the system, `WrappedConstants`, rows and an event. The system rates rounds if one is of them.

    Raises:
      ValueError: if the system rates no events that `predict` takes, was remade so before, has a hyperparameter of such
        a name, or if a value is out of range.
    """
    name = wrap.__name__
    events = tuple(kind for kind in system.events if kind is not Rounds or predict.rounds is not None)
    if not events:
        raise ValueError(f"{name} is of matches, which {system.name} does not rate")
    check_not_wrapped(system, name)
    for field in extra_params._fields:
        if field in system.params._fields:
            raise ValueError(f"{name}: {system.name} has a hyperparameter {field} of its own")
    extra_params = hyper.check_params(name, extra_params, extra_space)
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


class DrawParams(NamedTuple):
    """The hyperparameters of Davidson's draws."""

    draw_odds: float | Array
    draw_strength: float | Array | None


DRAW_SPACE = DrawParams(
    draw_odds=hyper.Parameter(
        hyper.POSITIVE, "1", "odds of a draw between equals, to a win of one of them", concerns_draws=True
    ),
    draw_strength=hyper.Parameter(
        hyper.MAYBE_ANY,
        "1 per point",
        "growth of log(draw_odds) with the mean rating of both above a newcomer's",
        concerns_draws=True,
    ),
)


@enforce_argument_annotations
def add_outcomes(system: RatingSystem, **draw_params: float | None) -> RatingSystem:
    """A system that learns as this one does and predicts the chance of each outcome, in `jr.run` and in `jr.predict`.

    TrueSkill, and skills with a draw margin, predict `OutcomeProbabilities` by their own margin of draws, TrueSkill
    also of rounds; skills of goals by their scorelines; Urnings [n, m + 1], the probabilities of the scores 0, 1/m,
    ..., 1 of player 0. In rounds of P participants TrueSkill's probabilities to win take time of order P^2 (and memory
    of order P).

    Every other system of matches predicts `OutcomeProbabilities` by Davidson's model, which agrees with its expected
    scores: two hyperparameters more say how frequent draws are, and `fit` finds them. Match quality is then the chance
    of a draw relative to that between equals. Of rounds only Weng-Lin does: the chance to win among all teams, by
    Plackett-Luce or normal performances.

        found = jr.fit(jr.forecasts.add_outcomes(jr.glicko(), draw_strength=0.0), data)

    Rated histories keep what it says beside the expected scores, see `rate`; measures and pictures take the expected
    scores of it.

    Args:
      system: of matches; or one with draws of its own.
      **draw_params: of a system without draws of its own. draw_odds: odds of a draw between equals, to a win of one of
      them
        (> 0), at first 1: nu, with which they draw nu / (nu + 2) of their matches. draw_strength: growth of
        log(draw_odds) with the mean rating of both above a newcomer's (1 per point, any number or None), at first None.

    Raises:
      ValueError: for a system of rounds alone, hyperparameters that it does not have, or one of `add_outcomes` already.
    """
    own = find_own_draw_predict_rule(system)
    if own is None:
        check_param_names("add_outcomes", draw_params, DrawParams._fields)
        values = DrawParams(**{"draw_odds": 1.0, "draw_strength": None} | draw_params)
        of_rounds = None if system.rules.outcomes is None else _predict_own_round_outcomes
        predict = RuleByKind(predict_davidson, predict_davidson, of_rounds)
        return wrap_predictions(system, add_outcomes, values, DRAW_SPACE, predict)
    if draw_params:
        raise ValueError(f"{system.name} has draws of its own, without {' and '.join(draw_params)}")
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


class CalibrationParams(NamedTuple):
    """The hyperparameters of the map."""

    calibration_slope: float | Array
    calibration_intercept: float | Array


CALIBRATION_SPACE = CalibrationParams(
    calibration_slope=hyper.Parameter(hyper.POSITIVE, "1", "factor of the log-odds that are predicted"),
    calibration_intercept=hyper.Parameter(hyper.ANY, "1", "log-odds that the better side is worth beyond them"),
)


@enforce_argument_annotations
def calibrate(system: RatingSystem, **map_params: float) -> RatingSystem:
    """A system that learns as this one does, whose predictions are calibrated by a map that `fit` finds.

        found = jr.fit(jr.forecasts.calibrate(jr.glicko()), data)

    `add_outcomes(calibrate(system))` predicts win, draw and loss from calibrated scores, by Davidson's model. In
    contests it is the share of the others to be beaten that is calibrated, by the slope.

    Args:
      system: any but one of `add_outcomes`.
      **map_params: calibration_slope: factor of the log-odds that are predicted (> 0), at first 1.
      calibration_intercept:
        log-odds that the better side is worth beyond them (any number), at first 0.

    Raises:
      ValueError: if a hyperparameter is not one of these two, or if the predictions of the system are calibrated, or in
        full, already.
    """
    check_param_names("calibrate", map_params, CalibrationParams._fields)
    values = CalibrationParams(**{"calibration_slope": 1.0, "calibration_intercept": 0.0} | map_params)
    predict = RuleByKind(predict_calibrated, predict_calibrated, predict_calibrated_shares)
    return wrap_predictions(system, calibrate, values, CALIBRATION_SPACE, predict)


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
