"""The starting scale of margins in a system that learns from them: the one that predicted the past best.

A scale common to all points changes no prediction, so the worth of a margin counts relative to deviations and growth,
and has no formula. The past is rated with a few values. The log loss of its second half is summed, and
(points - 600)^2 / (2 x 200^2) is added: leagues scatter like that about the usual value, and few matches keep it. The
result is the lowest point of the parabola through the least of these sums and its neighbours. (Measured with the last
fifth
unseen: the calibration slope there went from 0.68 to 1.00 on club football, from 1.27 to 1.03 on international
football, from 1.21 to 0.98 on college basketball, from 0.88 to 0.95 on the NBA, and from 0.99 to 1.07 on the NFL.)
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.system import RatingSystem, replace_params
from jaxrate.events import Matches, periods, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.metrics.prediction_metrics import log_loss
from jaxrate.replay.checked_replay import run
from jaxrate.systems.outcome_prediction_forms import expected_score_from_prediction
from jaxrate.systems.system_adaptation import MEAN_MARGIN_POINTS

MARGIN_POINTS_GRID = np.array([200.0, 300.0, 450.0, MEAN_MARGIN_POINTS, 800.0, 1100.0])  # points, of a mean margin
MARGIN_POINTS_DEVIATION = 200.0  # points, of leagues about `MEAN_MARGIN_POINTS`
MAX_FIT_MATCHES = 200_000  # matches, the first ones, that are rated


def system_with_best_margin_scale(
    system: RatingSystem, explicit_settings: Mapping[str, Any], data: Dataset, period: float | None, num_past: int
) -> RatingSystem:
    """The system with the margin scale that predicted the first `num_past` matches best.

    The same system if it learns from no margins, if the scale is among the `explicit_settings` that the user made, or
    without a past.

    Args:
      system: adapted to the data, so that a mean margin is worth `MEAN_MARGIN_POINTS`.
      explicit_settings: the settings and hyperparameters that the user gave.
      data: the dataset.
      period: the length of the rating periods; None: match by match.
      num_past: matches before the scored ones.
    """
    is_adaptable = system.settings.get("outcome") == "margin" and "margin_scale" not in explicit_settings
    if not is_adaptable or not num_past or not isinstance(data.events, Matches):
        return system
    matches = slice_events(data.events, 0, min(num_past, MAX_FIT_MATCHES))
    events = matches if period is None else periods(matches, period)
    weight = np.ones(len(matches.score)) if matches.context.weight is None else np.asarray(matches.context.weight)
    second_half = np.arange(len(weight)) >= len(weight) // 2
    losses = []
    for ratio in MARGIN_POINTS_GRID / MEAN_MARGIN_POINTS:
        params = system.params._replace(margin_scale=ratio * system.params.margin_scale)
        result = run(system, events, params=params, num_players=len(data.players))
        losses.append(
            log_loss(expected_score_from_prediction(result.prediction), matches.score, weight=weight, mask=second_half)
        )
    scale = (
        system.params.margin_scale
        * loss_minimising_mean_margin_points(np.array(losses) * weight[second_half].sum())
        / MEAN_MARGIN_POINTS
    )
    return replace_params(system, system.params._replace(margin_scale=float(f"{scale:.3g}")))


def loss_minimising_mean_margin_points(losses_on_grid: HostArray) -> float:
    """The best worth of a mean margin in points, from the summed log losses of `MARGIN_POINTS_GRID` [6].

    It is the usual one if some losses are not finite.
    """
    if not np.isfinite(losses_on_grid).all():
        return MEAN_MARGIN_POINTS
    penalised_losses = losses_on_grid + 0.5 * ((MARGIN_POINTS_GRID - MEAN_MARGIN_POINTS) / MARGIN_POINTS_DEVIATION) ** 2
    middle = int(np.clip(np.argmin(penalised_losses), 1, len(MARGIN_POINTS_GRID) - 2))
    neighbours = slice(middle - 1, middle + 2)
    square, linear, _ = np.polyfit(MARGIN_POINTS_GRID[neighbours], penalised_losses[neighbours], 2)
    lowest = -0.5 * linear / square if square > 0 else MARGIN_POINTS_GRID[np.argmin(penalised_losses)]
    return float(np.clip(lowest, MARGIN_POINTS_GRID[0], MARGIN_POINTS_GRID[-1]))
