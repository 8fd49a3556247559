"""Wrappers that change predictions: chances of draws, and calibration.

Calibrated predictions: expected scores whose log-odds are stretched, and moved towards the better side.

    logit p' = calibration_slope logit p + calibration_intercept side

(Cox 1958, "Two further applications of a model for binary regression", of forecasts.) A slope below 1 says that the
system is too sure. The intercept is the side's alone, +1 of the first player's and -1 of the second's: to swap the
players turns a prediction into its complement, and who has no side has no intercept. The shares of the others that
the teams of a contest should beat are stretched likewise, and moved by what they have in common so that they still sum
to half the teams.

A system that has draws of its own tells what it believes of them. Any other system of matches predicts an expected
score p, and Davidson's model (1970, "On extending the Bradley-Terry model to accommodate ties in paired comparison
experiments") divides it, by `davidson_outcome_probabilities` of `prediction_wrapping.py`. nu is `draw_odds`. Where
draws depend on strength (Glickman 2025), log nu grows by `draw_strength` for each point that the mean rating of both
players lies above a
newcomer's.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import look_up_replacement_function
from jaxrate.core.hyperparameter_definitions import ANY, MAYBE_ANY, POSITIVE, Parameter
from jaxrate.core.pairwise import signed_side_advantage, split_sides
from jaxrate.core.rules import PredictRuleProtocol, State
from jaxrate.core.system import RatingSystem, check_param_names
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.numerics.newton_roots_and_maxima import center_log_odds
from jaxrate.numerics.special_functions import logit
from jaxrate.systems.prediction_wrapping import (
    InnerSystem,
    OutcomeProbabilities,
    OwnDrawPredictRule,
    WrappedConstants,
    check_not_wrapped,
    davidson_outcome_probabilities,
    make_wrapped_factory_call,
    wrap_predictions,
    wrapper_names,
)
from jaxrate.systems.rounds.cdf_sums import participant_mask
from jaxrate.systems.rounds.round_teams import gather_team_values_to_members, teams_with_result_hidden
from jaxrate.systems.skills import rules as skills
from jaxrate.systems.trueskill import system as trueskill
from jaxrate.systems.trueskill import system as win_draw_probabilities
from jaxrate.systems.urnings import system as urnings
from jaxrate.systems.weng_lin import predict as predict_weng_lin
from jaxrate.systems.weng_lin import predict_round_outcomes

LOG_ODDS_LIMIT = 40.0  # of log nu, beyond which it goes no further: squares of nu stay finite in float32


class DrawParams(NamedTuple):
    """The hyperparameters of Davidson's draws."""

    draw_odds: float | Array
    draw_strength: float | Array | None


DRAW_SPACE = DrawParams(
    draw_odds=Parameter(POSITIVE, "1", "odds of a draw between equals, to a win of one of them", concerns_draws=True),
    draw_strength=Parameter(
        MAYBE_ANY,
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
    predict = find_own_draw_predict_rule(system)
    if predict is None and not isinstance(system.rules.predict, OwnDrawPredictRule):
        check_param_names("add_outcomes", draw_params, DrawParams._fields)
        return wrap_predictions(
            system,
            add_outcomes,
            DrawParams(**{"draw_odds": 1.0, "draw_strength": None} | draw_params),
            DRAW_SPACE,
            predict_davidson,
            look_up_replacement_function(system.rules.predict, ROUND_OUTCOMES) is not None,
        )
    if draw_params:
        raise ValueError(f"{system.name} has draws of its own, without {' and '.join(draw_params)}")
    check_not_wrapped(system, "add_outcomes")
    assert predict is not None
    make = make_wrapped_factory_call(system, add_outcomes, ())
    return system._replace(rules=system.rules._replace(predict=OwnDrawPredictRule(predict)), make=make)


def has_outcome_wrapper(system: RatingSystem) -> bool:
    """Whether the system is one that `add_outcomes` made."""
    return "outlook" in wrapper_names(system)


def predict_davidson(
    inner: InnerSystem, constants: WrappedConstants, rows: State, event: Matches | Periods | Rounds
) -> OutcomeProbabilities:
    """The chances of a match, of the pairs of a period [M], or, by the system's own rule, of a round [P]."""
    if isinstance(event, Rounds):
        outcomes: OutcomeProbabilities = look_up_replacement_function(inner.rules.predict, ROUND_OUTCOMES)(
            constants.inner, rows, event
        )
        return outcomes
    score, draws = inner.rules.predict(constants.inner, rows, event), constants.params
    odds = jnp.log(draws.draw_odds)
    if draws.draw_strength is not None:
        one, two = split_sides(inner.summary(inner.select_params(draws), rows).mean, event)
        odds = odds + draws.draw_strength * (0.5 * (one + two) - constants.newcomer)
    return davidson_outcome_probabilities(score, jnp.exp(jnp.clip(odds, -LOG_ODDS_LIMIT, LOG_ODDS_LIMIT)))


OWN_OUTCOMES: dict[Any, Any] = {
    skills.predict: skills.predict_outcome_probabilities,
    trueskill.predict: win_draw_probabilities.predict_outcome_probabilities,
    urnings.predict: urnings.predict_score_probabilities,
}


ROUND_OUTCOMES: dict[Any, Any] = {predict_weng_lin: predict_round_outcomes}  # beside Davidson's of matches


def find_own_draw_predict_rule(system: RatingSystem) -> PredictRuleProtocol | None:
    """The rule by which a system predicts all outcomes with its own draws; None if it has none."""
    params = system.params
    if getattr(params, "draw_margin", 0.0) is None and getattr(params, "goal_rate", None) is None:
        return None
    rule: PredictRuleProtocol | None = look_up_replacement_function(system.rules.predict, OWN_OUTCOMES)
    return rule


class CalibrationParams(NamedTuple):
    """The hyperparameters of the map."""

    calibration_slope: float | Array
    calibration_intercept: float | Array


CALIBRATION_SPACE = CalibrationParams(
    calibration_slope=Parameter(POSITIVE, "1", "factor of the log-odds that are predicted"),
    calibration_intercept=Parameter(ANY, "1", "log-odds that the better side is worth beyond them"),
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
    return wrap_predictions(system, calibrate, values, CALIBRATION_SPACE, predict_calibrated, True)


def predict_calibrated(
    inner: InnerSystem, constants: WrappedConstants, rows: State, event: Matches | Periods | Rounds
) -> Array:
    """Expected scores [] of a match, [M] of the pairs of a period; of rounds shares [P]."""
    odds = constants.params.calibration_slope * logit(inner.rules.predict(constants.inner, rows, event))
    if isinstance(event, Rounds):
        teams, mask = teams_with_result_hidden(event), participant_mask(event)
        size = gather_team_values_to_members(teams, jnp.maximum(teams.size, 1).astype(odds.dtype))
        weight = jnp.where(mask, 1.0 / size, 0.0)
        share: Array = jax.nn.sigmoid(center_log_odds(jnp.where(mask, odds, 0.0), weight, jnp.sum, jnp))
        return share
    return jax.nn.sigmoid(odds + signed_side_advantage(event, constants.params.calibration_intercept))
