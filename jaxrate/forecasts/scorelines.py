"""Scorelines of goals, and margins and points."""

from typing import Any, NamedTuple, Unpack

import numpy as np
import scipy  # type: ignore[import-untyped]

from jaxrate.core.argument_checks import check_count, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.hashable_values import bind, look_up_replacement_function
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_value_for_error
from jaxrate.forecasts.upcoming_events import FixtureOptions, event_time_column, read_upcoming_events
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.history import History
from jaxrate.replay.checked_replay import predict
from jaxrate.systems.prediction_wrapping import unwrap_predictions, wrapper_names
from jaxrate.systems.skills import rules

MAX_GOALS = 200  # of a side, in a table
SUM_TOLERANCE = 1e-3  # by how much the chances of scorelines may sum to more than 1


class Scorelines(NamedTuple):
    """The chances of scorelines. `print` shows a table, see `summarise_scorelines`."""

    a: HostArray  # [n] names of the first players
    b: HostArray  # [n] and of the second ones
    probability: HostArray  # [n, most_goals + 1, most_goals + 1] goals of a, by goals of b
    time: HostArray | None = None  # [n] dates, or times as numbers; None: there are none

    def __str__(self) -> str:
        return str(summarise_scorelines(self))


class LineProbabilities(NamedTuple):
    """How a bet on a line ends; of a line at a quarter the means of both lines beside it."""

    over: HostArray  # [...] above the line
    level: HostArray  # [...] on it: the stake is returned
    under: HostArray  # [...] below it


@enforce_argument_annotations
def predict_scorelines(
    rated: History, source: Any, *, most_goals: int = 15, **options: Unpack[FixtureOptions]
) -> Scorelines:
    """The chances of all scorelines of matches to come, of skills that learn from goals.

        scorelines = jr.forecasts.predict_scorelines(rated, [("Ada", "Bo")], side="a")
        print(scorelines)
        jr.forecasts.total_goals_probabilities(scorelines.probability, 2.5).over

    Strengths are as uncertain as they are believed to be, and low scores are corrected where the system does so.

    Args:
      rated: as from `rate`, of skills that observe `goals`.
      source: the matches to come, as in `predict_fixtures`.
      most_goals: of each side. What is left out of 1 is the chance of more, which is below 1e-9 for two goals a side.
      options: as in `predict_fixtures`.

    Raises:
      ValueError: for a system that does not learn from goals, and as `predict_fixtures`.
    """
    most_goals = check_count("predict_scorelines: most_goals", most_goals, 1, MAX_GOALS)
    system, data = read_upcoming_events(rated, source, options)
    system = make_scoreline_system(system, most_goals)
    table = np.asarray(predict(system, rated.state, data.matches, num_players=len(data.players)), np.float64)
    a, b = data.players[data.matches.player].T
    return Scorelines(a, b, table, event_time_column(data, data.matches.time))


def make_scoreline_system(system: RatingSystem, most_goals: int) -> RatingSystem:
    """The system, predicting the chances [most_goals + 1, most_goals + 1] of scorelines.

    Raises:
      ValueError: if it does not learn from goals.
    """
    inner = replace_skills_prediction(system, "goals", rules.predict_scorelines)
    if inner is None:
        raise ValueError(
            f"this {system.name} says nothing of scorelines; take skills that learn from goals: --param outcome=goals "
            "of jaxrate rate, or jr.skills(observe=jr.parts.goals(...))"
        )
    if "calibrated" in wrapper_names(system):
        raise ValueError("scorelines are those of the goals, without calibration; take the system without it")
    return inner._replace(rules=inner.rules._replace(predict=bind(inner.rules.predict, most_goals)))


def predicts_goals(system: RatingSystem) -> bool:
    """Whether predictions are those of goals: by skills that learn from goals, without calibration."""
    inner = replace_skills_prediction(system, "goals", rules.predict_scorelines)
    return inner is not None and "calibrated" not in wrapper_names(system)


def replace_skills_prediction(system: RatingSystem, outcome: str, predict_rule: Any) -> RatingSystem | None:
    """Skills that learn from this outcome, without what wraps them, predicting by this rule; None for others."""
    inner = unwrap_predictions(system)
    rule = look_up_replacement_function(inner.rules.predict, {rules.predict: predict_rule})
    if rule is None or inner.settings.get("outcome") != outcome:
        return None
    return inner._replace(rules=inner.rules._replace(predict=rule))


@enforce_argument_annotations
def summarise_scorelines(scorelines: Scorelines, *, total: float = 2.5) -> ColumnTable:
    """A table of matches: the chances of win, draw and loss of a, mean goals, the likeliest scoreline, and of totals.

        jr.forecasts.summarise_scorelines(scorelines, total=3.5)

    Args:
      scorelines: as from `predict_scorelines`.
      total: the line of total goals that the column `over` is about; any number.

    Raises:
      ValueError: for tables that hold no chances of scorelines.
    """
    table = check_scorelines(scorelines.probability)
    lead, number = goal_difference_probabilities(table, 0.0), np.arange(table.shape[-1])
    likeliest = table.reshape(*table.shape[:-2], -1).argmax(axis=-1)
    first, second = np.divmod(likeliest, table.shape[-1])
    columns = {"time": scorelines.time}
    columns |= {"a": scorelines.a, "b": scorelines.b, "win": lead.over, "draw": lead.level, "loss": lead.under}
    columns |= {"goals_a": table.sum(axis=-1) @ number, "goals_b": table.sum(axis=-2) @ number}
    columns["likeliest"] = np.array([f"{x}:{y}" for x, y in zip(first.ravel(), second.ravel(), strict=True)])
    columns["over"] = total_goals_probabilities(table, total).over
    return ColumnTable(columns | {"both_score": both_score_probability(table)})


@enforce_argument_annotations
def total_goals_probabilities(probability: Any, line: float) -> LineProbabilities:
    """The chances that both sides together score more goals than a line, as many, or fewer.

        jr.forecasts.total_goals_probabilities(scorelines.probability, 2.5)

    Args:
      probability: [..., K, K] of scorelines, as `predict_scorelines` has them.
      line: in quarters of a goal, as 2.5. One of 2.25 is half a bet on 2 and half a bet on 2.5.

    Returns:
      Leaves [...].

    Raises:
      ValueError: for tables that hold no chances of scorelines, or another line.
    """
    return _line_probabilities(probability, np.add, line)


@enforce_argument_annotations
def goal_difference_probabilities(probability: Any, line: float) -> LineProbabilities:
    """The chances that the first side leads by more goals than a line, by as many, or by fewer: bets with a handicap.

        jr.forecasts.goal_difference_probabilities(scorelines.probability, 1.0)

    Args:
      probability: [..., K, K] of scorelines, as `predict_scorelines` has them.
      line: in quarters of a goal: a handicap of -1.5 for the first side is a line of 1.5.

    Returns:
      Leaves [...].

    Raises:
      ValueError: as `total_goals_probabilities`.
    """
    return _line_probabilities(probability, np.subtract, line)


@enforce_argument_annotations
def both_score_probability(probability: Any) -> HostArray:
    """[...] the chance that both sides score, from the chances of scorelines [..., K, K].

        jr.forecasts.both_score_probability(scorelines.probability)

    Raises:
      ValueError: for tables that hold no chances of scorelines.
    """
    return np.asarray(check_scorelines(probability)[..., 1:, 1:].sum(axis=(-2, -1)))


def check_scorelines(probability: Any) -> HostArray:
    """[..., K, K] the chances of scorelines; ValueError if they are none."""
    table = np.asarray(probability)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2] or table.dtype.kind not in "biuf":
        raise ValueError(f"probability must hold the chances [..., K, K] of scorelines, got shape {table.shape}")
    table = table.astype(np.float64)
    if not (table >= 0.0).all() or (table.sum(axis=(-2, -1)) > 1.0 + SUM_TOLERANCE).any():
        raise ValueError("probability must hold chances, from 0 on, which sum to at most 1 for each match")
    return table


def _line_probabilities(probability: Any, of_goals: np.ufunc, line: float) -> LineProbabilities:
    """The chances [...] that the sum or difference of both sides' goals is above, on and below a line."""
    table, number, quarters = check_scorelines(probability), np.arange(np.shape(probability)[-1]), line * 4.0
    if not np.isfinite(quarters) or quarters != np.rint(quarters):
        raise ValueError(f"line must be a number of quarters of a goal, as 2.5, got {format_value_for_error(line)}")
    lines = [line] if quarters % 2 == 0 else [line - 0.25, line + 0.25]
    above, on, below = (
        np.mean([table[..., compare(of_goals.outer(number, number), x)].sum(axis=-1) for x in lines], axis=0)
        for compare in (np.greater, np.equal, np.less)
    )
    return LineProbabilities(above, on, below)


@enforce_argument_annotations
def predict_points(
    rated: History,
    source: Any,
    *,
    total: float | None = None,
    lead: float | None = None,
    **options: Unpack[FixtureOptions],
) -> ColumnTable:
    """A table of matches to come: the points that both sides should score, of skills that learn from points.

        print(jr.forecasts.predict_points(rated, [("Ada", "Bo")], side="a", total=210.5, lead=3.5))

    `win` is the chance that a has more points. `points_a` and `points_b` are in the middle: their difference is as
    likely exceeded as not, and so is their sum, whose standard deviation is `total_deviation`.

    Args:
      rated: as from `rate`, of skills that observe `points`.
      source: the matches to come, as in `predict_fixtures`.
      total: a line: the column `over` is the chance that both sides together score more.
      lead: a line: the column `ahead` is the chance that a leads by more at the end; -3.5: or loses by less than 3.5.
      options: as in `predict_fixtures`.

    Raises:
      ValueError: for a system that does not learn from points, and as `predict_fixtures`.
    """
    system, data = read_upcoming_events(rated, source, options)
    inner = make_point_system(system)
    points = predict(inner, rated.state, data.matches, num_players=len(data.players))
    mean, deviation, total_mean, total_deviation = (np.asarray(x, np.float64) for x in points)
    params: Any = inner.params
    middle = _points_from_rating_points(params, mean)
    a, b = data.players[data.matches.player].T
    table = {"time": event_time_column(data, data.matches.time), "a": a, "b": b}
    table |= {"win": scipy.special.ndtr(mean / deviation)}
    table |= {"points_a": 0.5 * (total_mean + middle), "points_b": 0.5 * (total_mean - middle)}
    table |= {"total_deviation": total_deviation}
    if total is not None:
        table["over"] = scipy.special.ndtr((total_mean - total) / total_deviation)
    if lead is not None:
        compression = params.compression
        size = abs(lead) if compression is None else compression * np.log1p(abs(lead) / compression)
        rating_points = params.margin_scale * np.copysign(size, lead)
        table["ahead"] = scipy.special.ndtr((mean - rating_points) / deviation)
    return ColumnTable(table)


def make_point_system(system: RatingSystem) -> RatingSystem:
    """The system, predicting margin and total; ValueError if it does not learn from points."""
    inner = replace_skills_prediction(system, "points", rules.predict_points)
    if inner is None:
        raise ValueError(f"this {system.name} says nothing of points; take jr.skills(observe=jr.parts.points(...))")
    return inner


def _points_from_rating_points(params: Any, lead: HostArray) -> HostArray:
    """Leads on the score that are worth so much."""
    size = np.abs(lead) / params.margin_scale
    if params.compression is not None:
        size = params.compression * np.expm1(size / params.compression)
    return np.copysign(size, lead)
