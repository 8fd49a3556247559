"""The diagram of predicted chances and how often they came true."""

from typing import NamedTuple

from jaxrate.metrics.checked_match_metrics import wilson_interval

MIN_BIN_EVENTS = 30  # in a bin; fewer say little
PICTURE_SIZE = 1000  # width and height of the diagram in its own units


BAR_ROOM = 2  # percentage points by which a bar may reach below the beginning of its axis
AXIS_STARTS = (50, 10), (40, 10), (0, 25)  # percents at which both axes may begin, and their steps


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
    """A dot for each bin [predicted, observed, count]: predicted to the right, observed upwards.

    Both axes begin at one half, or below it where dots or bars are farther below.
    """
    intervals = [wilson_interval(observed, count) for _, observed, count in bins]
    least = 100 * min((x for ends in zip(intervals, bins, strict=True) for x in (ends[0][0], ends[1][0])), default=0.5)
    begin, step = next((x for x in AXIS_STARTS if x[0] <= least + BAR_ROOM), AXIS_STARTS[-1])

    def position(share: float) -> int:
        """Of a share on either axis."""
        return round(PICTURE_SIZE * (100 * share - begin) / (100 - begin))

    across = [position(predicted) for predicted, _, _ in bins]
    dots = (f"M{x} {PICTURE_SIZE - position(y)}h0" for x, (_, y, _) in zip(across, bins, strict=True))
    bars = (
        f"M{x} {PICTURE_SIZE - position(low)}V {PICTURE_SIZE - position(high)}"
        for x, (low, high) in zip(across, intervals, strict=True)
    )
    marks = [(100 * (x - begin) / (100 - begin), f"{x}%") for x in range(begin, 101, step)]
    return DotPlot("".join(dots), "".join(bars), intervals, marks, [(100 - at, text) for at, text in marks])
