"""Predictions of systems with default hyperparameters, calibrated by one slope of the log-odds that is learnt online.

`jr.rate` is where all commands and pages get their predictions: those of matches go through here. What is known of the
slope is kept with the history, in its options, and its system is that of `jr.forecasts.calibrate` with the slope at
the end, so that forecasts are calibrated as well. Ratings do not depend on it.
"""

from typing import Any

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.events import Matches, period_number
from jaxrate.events.dataset import Dataset
from jaxrate.league.rated_history import Rated
from jaxrate.metrics.online_slope import OnlineSlope, calibrate_online
from jaxrate.system import RatingSystem
from jaxrate.systems.calibration import calibrate
from jaxrate.systems.outcome_prediction_forms import expected_score_from_prediction
from jaxrate.systems.prediction_wrapping import wrapper_names

OPTION = "calibration"  # of a history, with the fields of its `OnlineSlope`


def has_default_hyperparameters(system: RatingSystem) -> bool:
    """Whether the hyperparameters that a fit may move are those of its factory."""
    if system.factory is None or wrapper_names(system):
        return False
    try:
        default = system.factory(**system.settings).params._asdict()
    except ValueError:  # the settings need hyperparameters of their own, as a coarse grid a wide kernel
        return False
    fitted = (name for name, about in system.space._asdict().items() if about.fitted)
    return all(getattr(system.params, name) == default[name] for name in fitted)


def initial_slope(system: RatingSystem, data: Dataset, calibrated: bool | None) -> OnlineSlope | None:
    """What is known of the slope before the first match; None if predictions are not calibrated.

    `calibrated` None: if hyperparameters are the default. Predictions of goals and those in full are never calibrated,
    since all of their numbers belong together, and those of contests neither.
    """
    if not isinstance(data.events, Matches) or wrapper_names(system):
        return None
    if getattr(system.params, "goal_rate", None) is not None:
        return None
    is_calibrated = has_default_hyperparameters(system) if calibrated is None else calibrated
    return OnlineSlope() if is_calibrated else None


def slope_of_history(rated: Rated) -> OnlineSlope | None:
    """What is known of the slope at the end of a history; None if its predictions are not calibrated online."""
    known = rated.options.get(OPTION)
    return None if known is None or wrapper_names(rated.system) != ("calibrated",) else OnlineSlope(**known)


def calibrated_as_history(system: RatingSystem, onto: Rated) -> RatingSystem:
    """The system, calibrated as that of the history is, if it is given as it was before."""
    if slope_of_history(onto) is None or wrapper_names(system):
        return system
    return set_slope(system, onto.system.params.calibration_slope)


def set_slope(system: RatingSystem, slope: float) -> RatingSystem:
    """The calibrated system with this slope, to six digits."""
    slope = float(f"{slope:.6g}")
    if wrapper_names(system):
        return system._replace(params=system.params._replace(calibration_slope=slope))
    return calibrate(system, calibration_slope=slope)


def calibrate_matches(
    prediction: Any, data: Dataset, period: float | None, onto: Rated | None, slope: OnlineSlope
) -> tuple[HostArray, OnlineSlope]:
    """The calibrated expected scores [n], and what is known of the slope after the matches.

    Matches of one time, or of one rating period, are calibrated by the slope before it; without times each match is
    after the one before it.
    """
    matches, expected = data.matches, np.asarray(expected_score_from_prediction(prediction))
    begins_time = np.ones(len(expected), bool)
    if data.clock is not None and len(expected):
        last = np.nan if onto is None or onto.last is None else onto.last
        time = np.append(last, matches.time)
        time = time if period is None else np.append(period_number(last, period), period_number(matches.time, period))
        begins_time = np.diff(time) != 0.0
    return calibrate_online(expected, np.asarray(matches.score), matches.context.weight, begins_time, slope)


def describe_calibration(rated: Rated) -> str:
    """What was done to the predictions, as a sentence; "" if they are not calibrated online."""
    if OPTION not in rated.options:
        return ""
    slope = OnlineSlope(**rated.options[OPTION]).learn().slope
    return (
        f"Chances are calibrated: a slope learnt from the matches before each multiplies their log-odds, {slope:.2f} "
        "at the end."
    )
