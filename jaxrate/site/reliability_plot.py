"""The diagram of predicted chances and how often they came true."""

from typing import NamedTuple

from jaxrate.metrics.checked_match_metrics import wilson_interval

MIN_BIN_EVENTS = 30  # in a bin; fewer say little
PICTURE_SIZE = 1000  # width and height of the diagram in its own units


class DotPlot(NamedTuple):
    """Dots and bars within [0, PICTURE_SIZE]^2 from the top left, and labels with their positions in percent."""

    dots: str  # an SVG path
    bars: str  # another, of their 95% intervals
    intervals: list[tuple[float, float]]  # the ends of these, as shares
    across: list[tuple[float, str]]
    down: list[tuple[float, str]]


def merge_small_bins(bins: list[list[float]]) -> list[list[float]]:
    """Bins [predicted, observed, count] of which each has enough events, or all are one.

    A bin with fewer joins the smaller one of its neighbours.
    """
    merged = [[*x] for x in bins]
    while len(merged) > 1:
        i = min(range(len(merged)), key=lambda k: merged[k][2])
        if merged[i][2] >= MIN_BIN_EVENTS:
            break
        k = min((k for k in (i - 1, i + 1) if 0 <= k < len(merged)), key=lambda k: merged[k][2])
        first, second = merged[min(i, k)], merged[max(i, k)]
        count = first[2] + second[2]
        means = [(first[2] * x + second[2] * y) / count for x, y in zip(first[:2], second[:2], strict=True)]
        merged[min(i, k) : max(i, k) + 1] = [[*means, count]]
    return merged


def reliability_dot_plot(bins: list[list[float]]) -> DotPlot:
    """A dot for each bin [predicted, observed, count]: predicted to the right, observed upwards."""
    intervals = [wilson_interval(observed, count) for _, observed, count in bins]
    across = [round(PICTURE_SIZE * predicted) for predicted, _, _ in bins]
    dots = (f"M{x}{_height(observed)}h0" for x, (_, observed, _) in zip(across, bins, strict=True))
    bars = (f"M{x}{_height(low)}V{_height(high)}" for x, (low, high) in zip(across, intervals, strict=True))
    marks = [(25.0 * i, f"{25 * i}%") for i in range(5)]
    return DotPlot("".join(dots), "".join(bars), intervals, marks, [(100 - at, text) for at, text in marks])


def _height(share: float) -> str:
    return f" {round(PICTURE_SIZE * (1 - share))}"
