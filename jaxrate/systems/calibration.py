"""Calibrated predictions: expected scores whose log-odds are stretched, and moved towards the better side.

    logit p' = calibration_slope logit p + calibration_intercept side

(Cox 1958, "Two further applications of a model for binary regression", of forecasts.) A slope below 1 says that the
system is too sure. The intercept is the side's alone, +1 of the first player's and -1 of the second's: to swap the
players turns a prediction into its complement, and who has no side has no intercept. The shares of the others that
the teams of a contest should beat are stretched likewise, and moved by what they have in common so that they still sum
to half the teams.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import ANY, POSITIVE, Parameter
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem, check_param_names, signed_side_advantage
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.numerics.newton_roots_and_maxima import center_log_odds
from jaxrate.numerics.special_functions import logit
from jaxrate.systems.prediction_wrapping import InnerSystem, WrappedConstants, wrap_predictions
from jaxrate.systems.rounds.cdf_sums import participant_mask
from jaxrate.systems.rounds.round_teams import gather_team_values_to_members, teams_with_result_hidden


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
    """The same system, learning as it did, whose predictions are calibrated by a map that `fit` finds.

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
