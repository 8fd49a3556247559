"""What a mean margin is worth at first to a system that learns from margins, by how well that predicted the past.

A scale common to all points changes no prediction, so what a margin is worth counts beside the usual deviations and
growth, and has no formula. The past is rated with a few values. The log loss of its second half is summed, and
(worth - 600)^2 / (2 x 200^2) is added: leagues scatter so about the usual value, and few matches leave it. The worth is
the lowest point of the parabola through the least of these sums and its neighbours. (Measured with the last fifth
unseen: the calibration slope there went from 0.68 to 1.00 on club football, from 1.27 to 1.03 on international
football, from 1.21 to 0.98 on college basketball, from 0.88 to 0.95 on the NBA, and from 0.99 to 1.07 on the NFL.)
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrate.events import Matches, periods, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.metrics.prediction_metrics import log_loss
from jaxrate.replay.checked_replay import run
from jaxrate.system import RatingSystem, replace_params
from jaxrate.systems.outcome_probabilities import expected_score
from jaxrate.systems.skills.adaptation import MEAN_MARGIN_POINTS
from jaxrate.types import HostArray

WORTHS = np.array([200.0, 300.0, 450.0, MEAN_MARGIN_POINTS, 800.0, 1100.0])  # points, of a mean margin
WORTH_DEVIATION = 200.0  # points, of leagues about `MEAN_MARGIN`
MOST = 200_000  # matches, the first ones, that are rated


def adapt_margin_scale(
    system: RatingSystem, changes: Mapping[str, Any], data: Dataset, length: float | None, past: int
) -> RatingSystem:
    """The system with the margin scale that predicted the first matches best, so many as are `past`.

    The same system if it learns from no margins, if the scale is among the `changes` that the user made, or without a
    past.

    Args:
      system: adapted to the data, so that a mean margin is worth `MEAN_MARGIN`.
      length: of the rating periods; None: match by match.
    """
    margins = system.settings.get("outcome") == "margin" and "margin_scale" not in changes
    if not margins or not past or not isinstance(data.events, Matches):
        return system
    matches = slice_events(data.events, 0, min(past, MOST))
    events = matches if length is None else periods(matches, length)
    weight = np.ones(len(matches.score)) if matches.context.weight is None else np.asarray(matches.context.weight)
    late = np.arange(len(weight)) >= len(weight) // 2
    losses = []
    for ratio in WORTHS / MEAN_MARGIN_POINTS:
        params = system.params._replace(margin_scale=ratio * system.params.margin_scale)
        found = run(system, events, params=params, num_players=len(data.players))
        losses.append(log_loss(expected_score(found.prediction), matches.score, weight=weight, mask=late))
    scale = system.params.margin_scale * best_worth(np.array(losses) * weight[late].sum()) / MEAN_MARGIN_POINTS
    return replace_params(system, system.params._replace(margin_scale=float(f"{scale:.3g}")))


def best_worth(losses: HostArray) -> float:
    """The worth of a mean margin, from the summed log losses [6] of `WORTHS`; the usual one if some are not finite."""
    if not np.isfinite(losses).all():
        return MEAN_MARGIN_POINTS
    total = losses + 0.5 * ((WORTHS - MEAN_MARGIN_POINTS) / WORTH_DEVIATION) ** 2
    middle = int(np.clip(np.argmin(total), 1, len(WORTHS) - 2))
    three = slice(middle - 1, middle + 2)
    square, linear, _ = np.polyfit(WORTHS[three], total[three], 2)
    lowest = -0.5 * linear / square if square > 0 else WORTHS[np.argmin(total)]
    return float(np.clip(lowest, WORTHS[0], WORTHS[-1]))
