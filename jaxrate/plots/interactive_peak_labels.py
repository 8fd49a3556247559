"""Where the labels of peaks stand on an interactive chart, so that they hide nothing."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxrate.array_types import HostArray

NAME_SHARE = 0.05  # of the time at its end, in which names at the right are near
CHARACTER_PIXELS = 5.8  # mean width of a character of a label
LABEL_HEIGHT = 13  # pixels
DOT_RADIUS = 5  # pixels of the dot of a peak and the room about it
MAX_OFFSET = 60  # pixels from a peak to its label
DATA_SHARE = 0.75  # of a chart's width and height that the data has: its axes end at round values
NUM_COLUMNS = 24  # positions across a label at which lines are sought


class PeakLabel(NamedTuple):
    """The place of a label: which part of it is at the time of the peak, and its height as a rating."""

    align: Literal["center", "right"]
    height: float


def place_peak_labels(
    named: Sequence[tuple[HostArray, HostArray]],
    peaks: Sequence[tuple[int, str] | None],
    lines: Sequence[tuple[HostArray, HostArray]],
    size: tuple[float, float],
) -> list[PeakLabel | None]:
    """A label stands above its dot, and higher where a named line, another dot or the label of a higher peak is.

    A lower peak without room has no label.

    Args:
      named: times and ratings of the lines with names.
      peaks: the point of the peak of each of these, and its label; None of lines without a peak.
      lines: times and ratings of all lines.
      size: width and height of the chart in pixels.
    """
    width, height = (DATA_SHARE * x for x in size)
    times, ratings = (np.concatenate([line[i] for line in lines]) for i in (0, 1))
    begin, least = times.min(), np.nanmin(ratings)
    per_time, per_point = width / max(np.ptp(times), 1e-9), height / max(np.nanmax(ratings) - least, 1e-9)
    drawn = [((x - begin) * per_time, (y - least) * per_point) for x, y in named]
    taken: list[tuple[float, float, float]] = []  # left, right and bottom of labels
    labels: list[PeakLabel | None] = [None] * len(peaks)
    marked = [(drawn[i], peak, i) for i, peak in enumerate(peaks) if peak is not None]
    for (x, y), (at, text), number in sorted(marked, key=lambda one: -one[0][1][one[1][0]]):
        align: Literal["center", "right"] = "right" if x[at] > (1.0 - NAME_SHARE) * width else "center"
        extent = CHARACTER_PIXELS * len(text)
        left = float(x[at]) - extent * (1.0 if align == "right" else 0.5)
        columns = np.linspace(left, left + extent, NUM_COLUMNS)
        heights = np.array([np.interp(columns, *line, left=np.nan, right=np.nan) for line in drawn])
        offset = 0.0
        while offset < MAX_OFFSET and _is_hidden(heights, taken, left, left + extent, y[at] + DOT_RADIUS + offset):
            offset += 1.0
        if offset >= MAX_OFFSET:
            if taken:
                continue
            offset = 0.0
        taken.append((left, left + extent, float(y[at]) + DOT_RADIUS + offset))
        labels[number] = PeakLabel(align, float(y[at] + offset) / per_point + float(least))
    return labels


def _is_hidden(
    heights: HostArray, labels: Sequence[tuple[float, float, float]], left: float, right: float, bottom: float
) -> bool:
    """Whether lines, at heights [n, k] over the label, or other labels go through a label that stands there."""
    if ((heights > bottom - DOT_RADIUS) & (heights < bottom + LABEL_HEIGHT)).any():
        return True
    return any(left < b and a < right and abs(bottom - c) < LABEL_HEIGHT for a, b, c in labels)
