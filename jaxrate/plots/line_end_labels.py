"""Where the labels of lines stand, in pictures and on interactive charts: at a line, or beside the axes at its end."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression  # type: ignore[import-untyped]

from jaxrate.core.array_types import HostArray

EDGE_SHARE = 0.04  # of the width of the axes, at whose right edge a line ends if it goes on to the end
GAP = 6.0  # from a point of a line to its label
CLEARANCE = 3.0  # from a label to lines and other labels
OFFSETS = np.arange(0.0, 75.0, 3.0)  # from the place of a label next to a point to those that are tried
LEADER_OFFSET = 9.0  # from which on a short line leads to the label
LEADER_COST = 0.03  # covered points that a point of a leader is as bad as
SIDE_SHARES = 0.5, 0.25, 0.75, 0.0, 1.0  # of a label above or below a point that may stand to the left of it
STEP = 2.0  # between the points of a line or of a label that others must not cover


class LineLabel(NamedTuple):
    """A line and the label of its end or peak, in points or pixels from the lower left of the axes."""

    points: HostArray  # [m, 2]; NaN interrupts the line
    lines: Sequence[str]  # of the label
    width: float
    line_height: float
    told: Sequence[int] = (-1,)  # the points that the label may stand by: the peak, if it tells of it, and the last

    @property
    def extent(self) -> HostArray:
        """[2] the width and the height of the label."""
        return np.array([self.width, self.line_height * len(self.lines) + CLEARANCE * (len(self.lines) > 1)])


class LabelPlace(NamedTuple):
    """The middle of the left edge of a label."""

    x: float | None  # None: beside the axes
    y: float
    leader: tuple[float, float] | None  # to where in the label a line leads from the point, as shares of its sides
    point: int = -1  # of the line, by which it stands: the last one or the peak


def place_line_end_labels(labels: Sequence[LineLabel], size: Sequence[float] | HostArray) -> list[LabelPlace]:
    """Labels of lines that go on to the right edge stand beside the axes; others at the peaks or ends of their lines.

    There they hide neither a line nor another label, or as little as possible. `size` is that of the axes.
    """
    ends = np.array([label.points[-1] for label in labels]).reshape(-1, 2)
    goes_on = ends[:, 0] > (1.0 - EDGE_SHARE) * size[0]
    distance = max((float(labels[i].extent[1]) for i in np.flatnonzero(goes_on).tolist()), default=0.0)
    heights = spread_labels(ends[goes_on, 1], distance).tolist()
    places = {
        i: LabelPlace(None, y, (0.0, 0.5)) for i, y in zip(np.flatnonzero(goes_on).tolist(), heights, strict=True)
    }
    covered = np.concatenate([np.zeros((0, 2)), *(_dense_points(*label.points.T) for label in labels)])
    for i in np.argsort(-ends[:, 1], kind="stable").tolist():
        if not goes_on[i]:
            places[i], corner = _place_at_line(labels[i], np.array(size), covered)
            sides = (np.arange(0.0, length, STEP) for length in labels[i].extent)
            covered = np.concatenate([covered, corner + np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)])
    return [places[i] for i in range(len(ends))]


def spread_labels(positions: HostArray, min_distance: float) -> HostArray:
    """Positions [n] moved at least `min_distance` apart, in the same order, and each as little as possible in sum."""
    order = np.argsort(-positions, kind="stable")
    rank = min_distance * np.arange(len(positions))
    result = np.empty(len(positions))
    result[order] = isotonic_regression(positions[order] + rank, increasing=False).x - rank
    return result


def _place_at_line(label: LineLabel, size: HostArray, covered: HostArray) -> tuple[LabelPlace, HostArray]:
    """The place of a label that hides fewest covered points [k, 2], of those the nearest, and its lower left corner."""
    numbers, corners = _candidate_places(label)
    extent = label.extent
    is_inside = ((corners >= 0.0) & (corners + extent <= size)).all(axis=1)
    if not is_inside.any():  # the label is larger than the axes
        corner = np.clip(label.points[-1], 0.0, np.maximum(size - extent, 0.0))
        return LabelPlace(float(corner[0]), float(label.points[-1, 1]), None), corner
    numbers, corners = numbers[is_inside], corners[is_inside]
    points = label.points[numbers]
    ways = np.clip(points, corners, corners + extent) - points
    length, middles = np.hypot(*ways.T), corners + 0.5 * extent
    reach = 0.5 * extent + CLEARANCE
    hidden = np.array([(np.abs(covered - middle) <= reach).all(axis=1).sum() for middle in middles])
    best = int(np.argmin(hidden + LEADER_COST * length))
    across, up = ((points[best] + ways[best] - corners[best]) / extent).tolist()
    leader = (across, up) if length[best] > LEADER_OFFSET else None
    x, y = float(corners[best, 0]), float(middles[best, 1])
    return LabelPlace(x, y, leader, int(numbers[best])), corners[best]


def _dense_points(x: HostArray, y: HostArray) -> HostArray:
    """[k, 2] the points of a line and more between them, at most a step apart."""
    way = np.append(0.0, np.cumsum(np.nan_to_num(np.hypot(np.diff(x), np.diff(y)))))
    at = np.append(way, np.arange(0.0, way[-1], STEP))
    points = np.stack([np.interp(at, way, x), np.interp(at, way, y)], axis=1)
    return points[np.isfinite(points).all(axis=1)]


def _candidate_places(label: LineLabel) -> tuple[HostArray, HostArray]:
    """The places where a label may stand, the best first.

    [n] which of the label's `points` each place is at, its peak or the last, and [n, 2] the lower left corners.
    """
    numbers, corners = [], []
    width, height = label.extent.tolist()
    rises = [(sign, offset) for offset in OFFSETS for sign in (1.0, -1.0)]
    for number in label.told:
        x, y = label.points[number].tolist()
        y, least = y - 0.5 * height, 0.5 * height + GAP
        sides = [x - share * width for share in SIDE_SHARES]
        around = [(side, y + sign * (least + offset)) for sign, offset in rises for side in sides]
        beside = [(x + GAP, y + sign * offset) for sign, offset in rises]
        is_peak = number in label.told[:-1]
        places = [*around, *beside, (x - GAP - width, y)] if is_peak else [*beside, *around]
        corners += places
        numbers += [number] * len(places)
    return np.array(numbers), np.array(corners)
