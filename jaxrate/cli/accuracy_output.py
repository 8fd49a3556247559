"""The accuracy of predictions on the terminal: the metrics of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jaxrate.core.text_format import contest_metrics_notes, metric_heading

if TYPE_CHECKING:
    from jaxrate.extend import RatingSystem


def metric_lines(metrics: Mapping[str, float | None]) -> list[str]:
    """A line for each metric, and one that explains those of contests."""
    from jaxrate.evaluation.scored_predictions import format_metric

    texts = {metric_heading(name): format_metric(name, value) for name, value in metrics.items()}
    width, digits = max(map(len, texts)) + 1, max(map(len, texts.values()))
    return [*(f"{name:<{width}}{text:>{digits}}" for name, text in texts.items()), *contest_metrics_notes(metrics)]


def calibration_lines(system: RatingSystem, options: Mapping[str, Any]) -> list[str]:
    """Whether and how the predictions of a history with these options are calibrated."""
    from jaxrate.history.dataset_rating import OPTION, describe_calibration

    text = describe_calibration(system, options)
    return [text + " (--no-calibrate turns this off.)" * (OPTION in options)] if text else []
