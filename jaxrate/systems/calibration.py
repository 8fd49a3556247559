"""Calibrated predictions: expected scores whose log-odds are stretched, and moved towards the better side.

    logit p' = calibration_slope logit p + calibration_intercept side

(Cox 1958, "Two further applications of a model for binary regression", of forecasts.) A slope below 1 says that the
system is too sure. The intercept is the side's alone, +1 of the first player's and -1 of the second's: to swap the
players turns a prediction into its complement, and who has no side has no intercept.
"""

from typing import NamedTuple

import jax

from jaxrate.argument_checks import enforce_argument_annotations
from jaxrate.array_types import Array
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.hyperparameter_definitions import ANY, POSITIVE, Parameter
from jaxrate.numerics.special_functions import logit
from jaxrate.rules import State
from jaxrate.system import RatingSystem, check_param_names, signed_side_advantage
from jaxrate.systems.prediction_wrapping import InnerSystem, WrappedConstants, wrap_predictions


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
    """The same system of matches, learning as it did, whose predictions are calibrated by a map that `fit` finds.

        found = jr.fit(jr.forecasts.calibrate(jr.glicko()), data)

    `add_outcomes(calibrate(system))` predicts win, draw and loss from calibrated scores, by Davidson's model. Contests
    are predicted as by the system.

    Args:
      system: of matches, not one of `add_outcomes`.
      **map_params: calibration_slope: factor of the log-odds that are predicted (> 0), at first 1.
      calibration_intercept:
        log-odds that the better side is worth beyond them (any number), at first 0.

    Raises:
      ValueError: for a system of rounds alone, hyperparameters that it does not have, or one of `add_outcomes` or
        `calibrated` already.
    """
    check_param_names("calibrate", map_params, CalibrationParams._fields)
    values = CalibrationParams(**{"calibration_slope": 1.0, "calibration_intercept": 0.0} | map_params)
    return wrap_predictions(system, calibrate, values, CALIBRATION_SPACE, predict_calibrated, True)


def predict_calibrated(
    inner: InnerSystem, constants: WrappedConstants, rows: State, event: Matches | Periods | Rounds
) -> Array:
    """Expected scores [] of a match, [M] of the pairs of a period; of rounds what the system predicts."""
    if isinstance(event, Rounds):
        prediction: Array = inner.rules.predict(constants.inner, rows, event)
        return prediction
    odds = constants.params.calibration_slope * logit(inner.rules.predict(constants.inner, rows, event))
    return jax.nn.sigmoid(odds + signed_side_advantage(event, constants.params.calibration_intercept))
