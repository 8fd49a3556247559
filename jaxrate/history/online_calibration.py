"""Predictions of systems with default hyperparameters, calibrated by one slope of the log-odds that is learnt online.

`rate` is where all commands and pages get their predictions, and these go through here: expected scores of matches, and
in contests the shares of the others to be beaten. Chances of goals do not: those of scorelines and of seasons belong
together with them. What is known of the slope is kept with the history, in its options, and its system is that of
`jr.forecasts.calibrate` with the slope at the end, so that forecasts are calibrated as well. Ratings do not depend on
it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.events import period_number
from jaxrate.events.dataset import Dataset
from jaxrate.history.history import History
from jaxrate.metrics.calibration_slopes import OnlineSlope, calibrate_online
from jaxrate.metrics.prediction_metrics import observed_share_of_sides_beaten
from jaxrate.systems.draw_probability_wrapper import calibrate
from jaxrate.systems.prediction_wrapping import expected_score_from_prediction, wrapper_names

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


def initial_slope(system: RatingSystem, calibrated: bool | None) -> OnlineSlope | None:
    """The belief about the slope before the first event; None if predictions are not calibrated.

    `calibrated` None: if hyperparameters are the default. Predictions of goals and those in full are never calibrated,
    since all of their numbers belong together, and nor are those of systems without a space of hyperparameters.
    """
    if system.space is None or wrapper_names(system) or getattr(system.params, "goal_rate", None) is not None:
        return None
    is_calibrated = has_default_hyperparameters(system) if calibrated is None else calibrated
    return OnlineSlope() if is_calibrated else None


def slope_of_history(rated: History) -> OnlineSlope | None:
    """The belief about the slope at the end of a history; None if its predictions are not calibrated online."""
    known = rated.options.get(OPTION)
    return None if known is None or wrapper_names(rated.system) != ("calibrated",) else OnlineSlope(**known)


def calibrated_as_history(system: RatingSystem, onto: History) -> RatingSystem:
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


def calibrate_events(
    prediction: Any, data: Dataset, period: float | None, last: float | None, slope: OnlineSlope
) -> tuple[HostArray, OnlineSlope]:
    """The calibrated expected scores [n] or shares [sum P], and what is known of the slope after the events.

    Events of one time, or of one rating period, are calibrated by the slope before it; without times each event is
    after the one before it. `last` is the time of the event before them.
    """
    events: Any = data.events.flat
    begins_time = np.ones(len(events.time), bool)
    if data.clock is not None and len(begins_time):
        time = np.append(np.nan if last is None else last, events.time)
        begins_time = np.diff(time if period is None else period_number(time, period)) != 0.0
    if data.of_matches:
        expected = np.asarray(expected_score_from_prediction(prediction))
        return calibrate_online(expected, np.asarray(events.score), events.context.weight, begins_time, slope)
    start, rows = data.rounds.player_start, np.zeros(len(data.rows), bool)
    rows[start[:-1]] = begins_time
    beaten = observed_share_of_sides_beaten(data.rounds)
    team = np.repeat(start[:-1], np.diff(start)) + events.team  # numbered by the rows
    weight = np.where(np.isnan(beaten), 0.0, 0.5 / np.bincount(team, minlength=1)[team])
    return calibrate_online(np.asarray(prediction), np.nan_to_num(beaten), weight, rows, slope, start)


def calibrated_by_end(system: RatingSystem, slope: OnlineSlope | None) -> tuple[RatingSystem, dict[str, Any]]:
    """The system with the slope that is known at the end, and the options of its history. Without a slope as it is."""
    if slope is None:
        return system, {}
    return set_slope(system, slope.learn().slope), {OPTION: slope._asdict()}


def describe_calibration(system: RatingSystem, options: Mapping[str, Any]) -> str:
    """A sentence on how the predictions of a history are calibrated; "" if they are not."""
    if OPTION not in options:
        has_goals = getattr(system.params, "goal_rate", None) is not None and not wrapper_names(system)
        return "Chances are those of goals, and are not calibrated." if has_goals else ""
    slope = OnlineSlope(**options[OPTION]).learn().slope
    return (
        f"Chances are calibrated: a slope learnt from the events before each multiplies their log-odds, {slope:.2f} "
        "at the end."
    )
