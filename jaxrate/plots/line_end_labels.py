"""Where the labels of lines stand, in pictures and on interactive charts: at a line, or beside the axes at its end."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression  # type: ignore[import-untyped]

from jaxrate.core.array_types import HostArray

EDGE_SHARE = 0.04  # of the width of the axes, at whose right edge a line ends if it goes on to the end
GAP = 6.0  # from a point of a line to its label
CLEARANCE = 3.0  # from a label to lines and other labels
OFFSETS = np.arange(0.0, 90.0, 2.0)  # from the place of a label next to a point to those that are tried
LEADER_OFFSET = 9.0  # from which on a short line leads to the label
LEADER_COST = 0.05  # covered squares that a point of a leader is as bad as
LEADER_SHARES = np.linspace(0.0, 1.0, 30)[:, None]  # of a leader, at which lines and labels are sought
SIDE_SHARES = 0.5, 0.25, 0.75, 0.0, 1.0  # of a label above or below a point that may stand to the left of it
SQUARE = 1.5  # side of the squares in which lines and labels are sought


class LineLabel(NamedTuple):
    """A line and the label of its end or peak, in points or pixels from the lower left of the axes."""

    points: HostArray  # [m, 2]; NaN interrupts the line
    lines: Sequence[str]  # of the label
    width: float
    line_height: float
    peak: int | None = None  # the point that the label tells of, if it does

    @property
    def height(self) -> float:
        """The height of the label."""
        return self.line_height * len(self.lines) + CLEARANCE * (len(self.lines) > 1)


class LabelPlace(NamedTuple):
    """The middle of the left edge of a label."""

    x: float | None  # None: beside the axes
    y: float
    leader: tuple[float, float] | None  # to where in the label a line leads from the point, as shares of its sides
    point: int = -1  # of the line, by which it stands: the last one or the peak


def place_line_end_labels(labels: Sequence[LineLabel], size: Sequence[float] | HostArray) -> list[LabelPlace]:
    """Labels of lines that go on to the right edge stand beside the axes; others at the peaks or ends of their lines.

    There they hide neither a line nor another label, and lines that lead to them cross no other. A label that has no
    such room stands where it hides least. `size` is the width and the height of the axes.
    """
    ends = [label.points[-1] for label in labels]
    goes_on = [bool(end[0] > (1.0 - EDGE_SHARE) * size[0]) for end in ends]
    beside = [i for i in range(len(ends)) if goes_on[i]]
    distance = max((labels[i].height for i in beside), default=0.0)
    heights = spread_labels(np.array([ends[i][1] for i in beside]), distance)
    places = {i: LabelPlace(None, y, (0.0, 0.5)) for i, y in zip(beside, heights.tolist(), strict=True)}
    squares = _CoveredSquares(size)
    for label in labels:
        squares.cover(_dense_points(*label.points.T))
    for i in sorted(range(len(ends)), key=lambda i: -ends[i][1]):
        if not goes_on[i]:
            places[i] = squares.place_label(labels[i])
    return [places[i] for i in range(len(ends))]


def spread_labels(positions: HostArray, min_distance: float) -> HostArray:
    """Positions [n] moved at least `min_distance` apart, in the same order, and each as little as possible in sum."""
    order = np.argsort(-positions, kind="stable")
    rank = min_distance * np.arange(len(positions))
    result = np.empty(len(positions))
    result[order] = isotonic_regression(positions[order] + rank, increasing=False).x - rank
    return result


class _CoveredSquares:
    """The squares of the axes that lines, labels and leaders cover."""

    def __init__(self, size: Sequence[float] | HostArray) -> None:
        self.size = np.array(size)
        self.is_covered = np.zeros((self.size // SQUARE).astype(int) + 1, bool)

    def cover(self, points: HostArray) -> None:
        """Cover the squares of points [k, 2]."""
        self.is_covered[self._squares(points[((points >= 0.0) & (points <= self.size)).all(axis=1)])] = True

    def place_label(self, label: LineLabel) -> LabelPlace:
        """The place of a label that covers least, and of those the nearest; it is covered from now on."""
        extent = np.array([label.width, label.height])
        numbers, corners = _candidate_places(label)
        is_inside = ((corners >= 0.0) & (corners + extent <= self.size)).all(axis=1)
        if not is_inside.any():  # the label is larger than the axes
            x, y = label.points[-1].tolist()
            return LabelPlace(float(np.clip(x, 0.0, max(self.size[0] - label.width, 0.0))), y, None)
        numbers, corners = numbers[is_inside], corners[is_inside]
        points = label.points[numbers]
        ways = np.clip(points, corners, corners + extent) - points
        length = np.hypot(*ways.T)
        leaders = points[:, None] + LEADER_SHARES * ways[:, None]
        is_crossed = self.is_covered[self._squares(leaders)] & (LEADER_SHARES[:, 0] * length[:, None] > GAP)
        hidden = np.array([self.is_covered[self._box(corner, extent)].sum() for corner in corners])
        has_leader = length > LEADER_OFFSET
        best = int(np.argmin(hidden + has_leader * is_crossed.sum(axis=1) + LEADER_COST * length))
        corner, leader = corners[best], None
        self.is_covered[self._box(corner, extent)] = True
        if has_leader[best]:
            self.cover(leaders[best])
            across, up = ((points[best] + ways[best] - corner) / extent).tolist()
            leader = across, up
        return LabelPlace(float(corner[0]), float(corner[1] + 0.5 * label.height), leader, int(numbers[best]))

    def _squares(self, points: HostArray) -> tuple[HostArray, HostArray]:
        """The squares of points [..., 2], those at the edge of points beyond it."""
        last = np.array(self.is_covered.shape) - 1
        column, row = np.moveaxis(np.clip(points // SQUARE, 0, last).astype(int), -1, 0)
        return column, row

    def _box(self, corner: HostArray, extent: HostArray) -> tuple[slice, slice]:
        """The squares of a label and a little room about it."""
        (left, right), (bottom, top) = self._squares(np.stack([corner - CLEARANCE, corner + extent + CLEARANCE]))
        return slice(left, right + 1), slice(bottom, top + 1)


def _dense_points(x: HostArray, y: HostArray) -> HostArray:
    """[k, 2] the points of a line and more between them, at most half a square apart."""
    way = np.append(0.0, np.cumsum(np.nan_to_num(np.hypot(np.diff(x), np.diff(y)))))
    at = np.append(way, np.arange(0.0, way[-1], 0.5 * SQUARE))
    points = np.stack([np.interp(at, way, x), np.interp(at, way, y)], axis=1)
    return points[np.isfinite(points).all(axis=1)]


def _candidate_places(label: LineLabel) -> tuple[HostArray, HostArray]:
    """[n] the number of the peak or the end, and [n, 2] the lower left corner of the label there; the best first."""
    numbers, corners = [], []
    last = len(label.points) - 1
    rises = [(sign, offset) for offset in OFFSETS for sign in (1.0, -1.0)]
    for number in [last] if label.peak is None else [label.peak, last]:
        x, y = label.points[number].tolist()
        y, least = y - 0.5 * label.height, 0.5 * label.height + GAP
        sides = [x - share * label.width for share in SIDE_SHARES]
        around = [(side, y + sign * (least + offset)) for sign, offset in rises for side in sides]
        beside = [(x + GAP, y + sign * offset) for sign, offset in rises]
        is_peak = number == label.peak
        places = [*around, *beside, (x - GAP - label.width, y)] if is_peak else [*beside, *around]
        corners += places
        numbers += [number] * len(places)
    return np.array(numbers), np.array(corners)
