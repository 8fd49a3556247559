"""Metrics of predictions: those of matches for events of two sides, those of standings for contests of many."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import Matches
from jaxrate.events.dataset import Dataset, count_first_share
from jaxrate.events.event_types import count_games
from jaxrate.history.history import History
from jaxrate.metrics.prediction_metrics import (
    contests_as_matches,
    log_loss,
    match_metrics,
    ranking_metrics,
)
from jaxrate.metrics.running_metrics import numbers_that_predict_order

MIN_MATCHES_FOR_CONSTANT = 30  # matches from which a constant forecast says something
WAYS_OUT = (  # of predictions that lose to a constant
    "jaxrate fit FILE --save fitted.toml",
    "jaxrate rate FILE --params fitted.toml",
    "or jaxrate rate FILE --system elo",
)


class TwoSidedEvents(NamedTuple):
    """Events of two sides, scored as matches."""

    row: Any  # of the prediction that is of the first side: [n], or a slice
    score: HostArray  # [n] of the first side
    weight: HostArray | None  # [n]


def as_two_sided(data: Dataset) -> TwoSidedEvents | None:
    """Matches, or contests of two sides each, as two-sided events; None for other contests."""
    if isinstance(data.events, Matches):
        return TwoSidedEvents(slice(None), data.matches.score, data.matches.context.weight)
    row_and_score = contests_as_matches(data.rounds)
    return None if row_and_score is None else TwoSidedEvents(*row_and_score, None)


def check_last_share(last: float) -> None:
    """ValueError unless `last` is above 0 and at most 1."""
    if not 0 < last <= 1:
        raise ValueError(f"last must be above 0 and at most 1, got {last:g}")


def last_share_mask(data: Dataset, last: float) -> HostArray:
    """Whether each of the matches [n] or contests [E] is among the last share."""
    count = len(data.rows) if isinstance(data.events, Matches) else len(data.rounds.player_start) - 1
    return np.arange(count) >= count_first_share(count, 1 - last)


def participants_mask(data: Dataset, event_mask: HostArray) -> HostArray:
    """[sum P] whether the contest of each participant is among those of a mask [E]."""
    return np.repeat(event_mask, np.diff(data.rounds.player_start))


def evaluate_predictions(rated: History, data: Dataset, last: float = 1.0) -> dict[str, Any]:
    """The metrics, by name, of the predictions of the last share of these events, the last ones rated."""
    begin, mask = len(rated.events["row"]) - len(data.rows), last_share_mask(data, last)
    prediction = rated.events["prediction"][begin:]
    if two_sided := as_two_sided(data):
        return match_metrics(prediction[two_sided.row], two_sided.score, weight=two_sided.weight, mask=mask)
    played = rated.games - count_games(data.rounds, len(rated.games))
    scored = participants_mask(data, mask)
    order = numbers_that_predict_order(data.rounds, prediction, rated.events["rating"][begin:, 0])
    return ranking_metrics(data.rounds, order, mask=scored, played=played)


def constant_forecast_log_loss(data: Dataset, last: float = 1.0) -> float:
    """The log loss of a constant forecast for the last share of the matches; NaN for contests of many.

    The forecast of those who have the side is their mean score in these matches, known afterwards; without a side it
    is one half.
    """
    two_sided = as_two_sided(data)
    if two_sided is None:
        return float("nan")
    mask = last_share_mask(data, last)
    recorded_side = data.matches.context.side if isinstance(data.events, Matches) else None
    weight = np.ones(len(mask)) if two_sided.weight is None else two_sided.weight
    side = None if recorded_side is None else np.asarray(recorded_side)[mask]
    return constant_log_loss(two_sided.score[mask], side, weight[mask])


def constant_log_loss(score: HostArray, side: HostArray | None, weight: HostArray) -> float:
    """The log loss of the best constant forecast, of scores [n], sides [n] (None: nobody has one) and weights [n]."""
    side = np.zeros(len(score)) if side is None else np.asarray(side, float)
    total = np.sum(weight * np.abs(side))
    share = np.sum(weight * side * (score - 0.5)) / total if total else 0.0
    return log_loss(0.5 + share * side, score, weight=weight)


def describe_constant_forecast(data: Dataset, last: float = 1.0, loss: float | None = None) -> list[str]:
    """The sentences on `constant_forecast_log_loss`; none where that is NaN, or of few matches.

    Predictions with a log loss of `loss` lose to it, or not.
    """
    if np.count_nonzero(last_share_mask(data, last)) < MIN_MATCHES_FOR_CONSTANT:
        return []
    constant = constant_forecast_log_loss(data, last)
    has_side = isinstance(data.events, Matches) and data.events.context.side is not None
    sided = "The best constant forecast, which gives whoever has the side the same chance,"
    forecast = sided if has_side else "A constant forecast, one half for all,"
    sentences = [] if np.isnan(constant) else [f"{forecast} has log loss {constant:.4f}."]
    if loss is not None and loss > constant:
        sentences.append(f"The predictions lose to it. To do better: {'; '.join(WAYS_OUT)}")
    return sentences


def format_metric(metric: str, value: float | None) -> str:
    """A metric as text: in percent for accuracy and shares of ranks, else with four decimals."""
    if value is None:
        return "-"
    if metric.startswith("accuracy"):
        return f"{100 * value:.1f}%"
    if metric.startswith(("pair inversion", "rank deviation")):
        return f"{100 * value:.2f}%"
    return f"{value:.4f}"
