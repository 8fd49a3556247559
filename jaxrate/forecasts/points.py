"""Points of both sides of matches to come: how many each should score, totals, and leads."""

from typing import Any

import numpy as np
import scipy  # type: ignore[import-untyped]

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.hashable_functions_and_arrays import look_up_replacement_function
from jaxrate.core.system import RatingSystem
from jaxrate.forecasts.upcoming_events import read_upcoming_events, time_column
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.history import History
from jaxrate.replay.event_prediction import predict
from jaxrate.systems.prediction_wrapping import unwrap_predictions
from jaxrate.systems.skills import rules


@enforce_argument_annotations
def predict_points(
    rated: History,
    source: Any,
    *,
    total: float | None = None,
    lead: float | None = None,
    newcomers: bool = False,
    time: Any = None,
    **columns: Any,
) -> ColumnTable:
    """A table of matches to come: the points that both sides should score, of skills that learn from points.

        print(jr.forecasts.predict_points(rated, [("Ada", "Bo")], side="a", total=210.5, lead=3.5))

    `win` is the chance that a has more points. `points_a` and `points_b` are in the middle: their difference is as
    likely exceeded as not, and so is their sum, whose standard deviation is `total_deviation`.

    Args:
      rated: as from `rate`, of `jr.skills("points", ...)`.
      total: a line: the column `over` is the chance that both sides together score more.
      lead: a line: the column `ahead` is the chance that a leads by more at the end; -3.5: or loses by less than 3.5.
      source, newcomers, time, columns: as of `predict_fixtures`.

    Raises:
      ValueError: for a system that does not learn from points, and as `predict_fixtures`.
    """
    make_point_system(rated.system)  # before anything is read
    system, data = read_upcoming_events(rated, source, newcomers, time, columns)
    if not data.of_matches:
        raise ValueError("contests have no points of two sides; give matches of two")
    inner = make_point_system(system)
    points = predict(inner, rated.state, data.matches, num_players=len(data.players))
    mean, deviation, total_mean, total_deviation = (np.asarray(x, np.float64) for x in points)
    params: Any = inner.params
    middle = _points_from_rating_points(params, mean)
    a, b = data.players[data.matches.player].T
    table = time_column(data, data.matches.time) | {"a": a, "b": b, "win": scipy.special.ndtr(mean / deviation)}
    table |= {"points_a": 0.5 * (total_mean + middle), "points_b": 0.5 * (total_mean - middle)}
    table |= {"total_deviation": total_deviation}
    if total is not None:
        table["over"] = scipy.special.ndtr((total_mean - total) / total_deviation)
    if lead is not None:
        table["ahead"] = scipy.special.ndtr((mean - _rating_points_of_lead(params, lead)) / deviation)
    return ColumnTable(table)


def make_point_system(system: RatingSystem) -> RatingSystem:
    """The system, predicting margin and total; ValueError if it does not learn from points."""
    inner = unwrap_predictions(system)
    rules_of_skills = dict.fromkeys((rules.predict, rules.predict_outcome_probabilities), rules.predict_points)
    rule = look_up_replacement_function(inner.rules.predict, rules_of_skills)
    if rule is None or inner.settings.get("outcome") != "points":
        raise ValueError(f"this {system.name} says nothing of points; take jr.skills('points', margin=...)")
    return inner._replace(rules=inner.rules._replace(predict=rule))


def _rating_points_of_lead(params: Any, lead: float) -> float:
    """What a lead on the score is worth, compressed."""
    size = abs(lead) if params.compression is None else params.compression * np.log1p(abs(lead) / params.compression)
    return float(params.margin_scale * np.copysign(size, lead))


def _points_from_rating_points(params: Any, lead: HostArray) -> HostArray:
    """Leads on the score that are worth so much."""
    size = np.abs(lead) / params.margin_scale
    if params.compression is not None:
        size = params.compression * np.expm1(size / params.compression)
    return np.copysign(size, lead)
