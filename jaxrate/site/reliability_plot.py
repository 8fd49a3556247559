"""The diagram of predicted chances and how often they came true."""

from typing import NamedTuple

from jaxrate.site.accuracy_summary import CalibrationBin

PICTURE_SIZE = 1000  # width and height of the diagram in its own units
BAR_ROOM = 2  # percentage points by which a bar may reach below the beginning of its axis
AXIS_STARTS = (50, 10), (40, 10), (0, 25)  # percents at which both axes may begin, and their steps


class DotPlot(NamedTuple):
    """Dots and bars within [0, PICTURE_SIZE]^2 from the top left, and labels with their positions in percent."""

    dots: str  # an SVG path
    bars: str  # another, of their 95% intervals
    across: list[tuple[float, str]]
    down: list[tuple[float, str]]


def reliability_dot_plot(bins: list[CalibrationBin]) -> DotPlot:
    """A dot for each bin: predicted to the right, observed upwards.

    Both axes begin at one half, or below it where dots or bars are farther below.
    """
    least = 100 * min((min(x.low, x.predicted) for x in bins), default=0.5)
    begin, step = next((x for x in AXIS_STARTS if x[0] <= least + BAR_ROOM), AXIS_STARTS[-1])

    def position(share: float) -> int:
        """Of a share on either axis."""
        return round(PICTURE_SIZE * (100 * share - begin) / (100 - begin))

    dots = (f"M{position(x.predicted)} {PICTURE_SIZE - position(x.observed)}h0" for x in bins)
    bars = (
        f"M{position(x.predicted)} {PICTURE_SIZE - position(x.low)}V {PICTURE_SIZE - position(x.high)}" for x in bins
    )
    marks = [(100 * (x - begin) / (100 - begin), f"{x}%") for x in range(begin, 101, step)]
    return DotPlot("".join(dots), "".join(bars), marks, [(100 - at, text) for at, text in marks])
