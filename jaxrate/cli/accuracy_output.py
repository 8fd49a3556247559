"""The accuracy of predictions on the terminal: the metrics of a run, and the columns of a comparison."""

from __future__ import annotations

from collections.abc import Mapping

METRIC_WORDS = {  # what those of contests, which have the names of a paper, are called for readers
    "pair inversion": "pairs in order",
    "rank deviation": "rank error",
    ", 5plus": ", 5 before",
}
CONTEST_METRICS_NOTE = (
    "pairs in order: the share of pairs of opponents in the predicted order; rank error: of predicted ranks, as a "
    "share of the field; 5 before: of players with 5 earlier contests"
)


def metric_heading(metric: str) -> str:
    """A metric in words."""
    for name, words in METRIC_WORDS.items():
        metric = metric.replace(name, words)
    return metric


def metric_lines(metrics: Mapping[str, float]) -> list[str]:
    """A line for each metric, and one that explains those of contests."""
    from jaxrate.league.evaluation import format_metric

    texts = {metric_heading(name): format_metric(name, value) for name, value in metrics.items()}
    width, digits = max(map(len, texts)) + 1, max(map(len, texts.values()))
    return [*(f"{name:<{width}}{text:>{digits}}" for name, text in texts.items()), *contest_metrics_notes(metrics)]


def contest_metrics_notes(metrics: Mapping[str, float]) -> list[str]:
    """What the metrics of contests are; nothing about those of matches."""
    return [CONTEST_METRICS_NOTE] if "pair inversion" in metrics else []
