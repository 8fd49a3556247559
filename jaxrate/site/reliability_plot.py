"""The diagram of predicted chances and how often they came true."""

from typing import NamedTuple

PICTURE_SIZE = 1000  # width and height of the diagram in its own units


class DotPlot(NamedTuple):
    """Dots within [0, PICTURE_SIZE]^2 from the top left, and labels with their positions in percent."""

    dots: str  # an SVG path
    across: list[tuple[float, str]]
    down: list[tuple[float, str]]


def reliability_dot_plot(bins: list[list[float]]) -> DotPlot:
    """A dot for each bin: predicted to the right, observed upwards."""
    dots = (
        f"M{round(PICTURE_SIZE * predicted)} {round(PICTURE_SIZE * (1 - observed))}h0"
        for predicted, observed, _ in bins
    )
    marks = [(25.0 * i, f"{25 * i} %") for i in range(5)]
    return DotPlot("".join(dots), marks, [(100 - at, text) for at, text in marks])
