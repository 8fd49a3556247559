"""Where the labels of lines stand, in pictures and on interactive charts: at a line, or beside the axes at its end."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.plots.name_labels import fit_names, spread_labels, text_width
from jaxrate.plots.scoreboard_style import (
    LINE_SPACING,
    SMALL_FONT,
    TEXT_COLOURS,
    add_text_halo,
    get_figure,
    points_per_pixel,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

EDGE_SHARE = 0.04  # of the width of the axes, at whose right edge a line ends if it goes on to the end
GAP = 6.0  # from a point of a line to its label
CLEARANCE = 3.0  # from a label to lines and other labels
MAX_OFFSET = 90.0  # from the height of a point to that of the label of its line
BESIDE_SHARE = 1.02  # of the width of the axes, at which labels beside them begin
LEADER_OFFSET = 9.0  # from which on a short line leads to the label
LEADER_ANGLE = 35.0  # degrees from a leader to its own line, below which it looks like a piece of it
LEADER_COST = 0.1  # columns of hidden lines that a point of a leader is as bad as
LEADER_POINTS = 30  # at which labels are sought
HIDDEN_LINE_COST = 20  # columns that a line is as bad as if the label hides some of it, as steep ones take few
NUM_COLUMNS = 60  # positions across a label at which lines are sought
SIDE_SHARES = 0.5, 0.25, 0.75, 0.0, 1.0  # of a label above or below a point that may stand to the left of it


class LineEnd(NamedTuple):
    """The last point of a line and the size of its label, in points or pixels from the lower left of the axes."""

    x: float
    y: float
    width: float
    height: float
    peak: tuple[float, float] | None = None  # the point that the label tells of, if it does


class LabelPlace(NamedTuple):
    """The middle of the left edge of a label."""

    x: float | None  # None: beside the axes
    y: float
    leader: tuple[float, float] | None  # to where in the label a line leads from the point, as shares of its sides
    is_at_peak: bool = False  # whether it stands at the peak, not at the end


def place_line_end_labels(
    ends: Sequence[LineEnd], lines: Sequence[tuple[HostArray, HostArray]], size: tuple[float, float]
) -> list[LabelPlace]:
    """Labels of lines that go on to the right edge stand beside the axes; others at the peaks or ends of their lines.

    There they hide neither a line nor another label, and lines that lead to them cross no other. A label that has no
    such room stands where it hides least, near its line.

    Args:
      ends: the ends of the lines, and the sizes of their labels.
      lines: horizontal and vertical positions [k] of the lines that labels must not hide; NaN interrupts them.
      size: width and height of the axes.
    """
    width, height = size
    goes_on = [end.x > (1.0 - EDGE_SHARE) * width for end in ends]
    beside = [i for i in range(len(ends)) if goes_on[i]]
    distance = max((ends[i].height for i in beside), default=0.0)
    heights = spread_labels(np.array([ends[i].y for i in beside]), distance)
    places = {i: LabelPlace(None, y, (0.0, 0.5)) for i, y in zip(beside, heights.tolist(), strict=True)}
    boxes: list[tuple[float, float, float, float]] = []  # left, right, bottom and top of the labels within the axes
    leaders: list[HostArray] = []  # [k, 2] points of the lines that lead to them
    for i in sorted(range(len(ends)), key=lambda i: -ends[i].y):
        if not goes_on[i]:
            places[i], box = _place_within_axes(ends[i], lines, boxes, leaders, (width, height))
            boxes.append(box)
            if (share := places[i].leader) is not None:
                begin = _label_anchor(ends[i], places[i].is_at_peak)
                leaders.append(_leader_points(begin, _leader_tip(box, share)))
    return [places[i] for i in range(len(ends))]


def _place_within_axes(
    end: LineEnd,
    lines: Sequence[tuple[HostArray, HostArray]],
    boxes: Sequence[tuple[float, float, float, float]],
    leaders: Sequence[HostArray],
    size: tuple[float, float],
) -> tuple[LabelPlace, tuple[float, float, float, float]]:
    """The first place that hides nothing, or a nearer one that hides little; and the box of the label there."""
    best, best_cost = None, np.inf
    for x, y, is_at_peak in _candidate_places(end):
        box = x, x + end.width, y - 0.5 * end.height, y + 0.5 * end.height
        if box[0] < 0.0 or box[1] > size[0] or box[2] < 0.0 or box[3] > size[1]:
            continue
        point = _label_anchor(end, is_at_peak)
        leader = _leader(point, box)
        columns = [_hidden_columns(box, line) for line in lines]
        hidden = sum(columns) + HIDDEN_LINE_COST * sum(count > 0 for count in columns)
        is_over_label = _hides_label(box, boxes) or any(_passes(points, box) for points in leaders)
        length = 0.0
        if leader is not None:
            tip = _leader_tip(box, leader)
            is_over_label |= any(_passes(_leader_points(point, tip), other) for other in boxes)
            hidden += NUM_COLUMNS * sum(_crosses(point, tip, line) or _runs_along(point, tip, line) for line in lines)
            length = float(np.hypot(tip[0] - point[0], tip[1] - point[1]))
        hidden += NUM_COLUMNS * len(lines) * is_over_label
        if (cost := hidden + LEADER_COST * length) < best_cost:
            best, best_cost = (LabelPlace(x, y, leader, is_at_peak), box), cost
        if hidden == 0:  # later places are farther away
            break
    if best is None:  # the label is larger than the axes
        x, y = float(np.clip(end.x, 0.0, max(size[0] - end.width, 0.0))), end.y
        return LabelPlace(x, y, None), (x, x + end.width, y - 0.5 * end.height, y + 0.5 * end.height)
    return best


def _candidate_places(end: LineEnd) -> list[tuple[float, float, bool]]:
    """Places of a label, the best first: near the peak that it tells of, near the end, and farther away from these."""
    least = 0.5 * end.height + GAP
    near: list[tuple[float, float, bool]] = []
    far: list[tuple[float, float, float, bool]] = []
    for point, is_at_peak in ((end.peak, True), ((end.x, end.y), False)):
        if point is None:
            continue
        x, y = point
        around = [(x - share * end.width, y + sign * least) for sign in (1.0, -1.0) for share in SIDE_SHARES]
        beside = [(x + GAP, y), (x - GAP - end.width, y)] if is_at_peak else [(x + GAP, y)]
        near += [(*place, is_at_peak) for place in (around + beside if is_at_peak else beside + around)]
        for offset in np.arange(2.0, MAX_OFFSET, 2.0).tolist():
            for sign in (1.0, -1.0):
                far.append((offset, x + GAP, y + sign * offset, is_at_peak))
                far += [(offset, a, b + sign * offset, is_at_peak) for a, b in around if sign * (b - y) > 0.0]
    far.sort(key=lambda place: place[0])
    return near + [place[1:] for place in far]


def _leader(point: tuple[float, float], box: tuple[float, float, float, float]) -> tuple[float, float] | None:
    """The place in a label that is nearest to a point of its line, as shares; None if it is near without a leader."""
    left, right, bottom, top = box
    across, up = float(np.clip(point[0], left, right)), float(np.clip(point[1], bottom, top))
    if np.hypot(across - point[0], up - point[1]) <= LEADER_OFFSET:
        return None
    return (across - left) / (right - left), (up - bottom) / (top - bottom)


def _leader_tip(box: tuple[float, float, float, float], leader: tuple[float, float]) -> tuple[float, float]:
    """The point of a label that a leader goes to, from its shares of the sides."""
    left, right, bottom, top = box
    return left + leader[0] * (right - left), bottom + leader[1] * (top - bottom)


def _label_anchor(end: LineEnd, is_at_peak: bool) -> tuple[float, float]:
    """The point of a line at which its label stands."""
    return end.peak if is_at_peak and end.peak is not None else (end.x, end.y)


def _leader_points(begin: tuple[float, float], tip: tuple[float, float]) -> HostArray:
    """[k, 2] points along a leader."""
    return np.linspace(begin, tip, LEADER_POINTS)


def _passes(points: HostArray, box: tuple[float, float, float, float]) -> bool:
    """Whether a leader goes through a label."""
    left, right, bottom, top = box
    x, y = points.T
    return bool(((x > left) & (x < right) & (y > bottom) & (y < top)).any())


def _hides_label(box: tuple[float, float, float, float], boxes: Sequence[tuple[float, float, float, float]]) -> bool:
    left, right, bottom, top = box
    return any(left < b + CLEARANCE and a < right + CLEARANCE and bottom < d and c < top for a, b, c, d in boxes)


def _hidden_columns(box: tuple[float, float, float, float], line: tuple[HostArray, HostArray]) -> int:
    """In how many columns of a box a line goes through it, or between two neighbouring ones."""
    left, right, bottom, top = box
    columns = np.linspace(left - CLEARANCE, right + CLEARANCE, NUM_COLUMNS)
    heights = np.interp(columns, *line, left=np.nan, right=np.nan)
    low, high = np.fmin(heights[1:], heights[:-1]), np.fmax(heights[1:], heights[:-1])
    return int(((high > bottom - CLEARANCE) & (low < top + CLEARANCE)).sum())


def _crosses(begin: tuple[float, float], end: tuple[float, float], line: tuple[HostArray, HostArray]) -> bool:
    """Whether the way from a point of a line to its label crosses this line, beyond the gap about the point."""
    a, b = np.array(begin), np.array(end)
    a = a + (b - a) * min(0.5 * GAP / max(float(np.hypot(*(b - a))), GAP), 0.5)
    p = np.stack(line, axis=1)
    p, q = p[:-1], p[1:]

    def side(one: HostArray, two: HostArray, point: HostArray) -> HostArray:
        across, along = two - one, point - one
        return np.sign(across[..., 0] * along[..., 1] - across[..., 1] * along[..., 0])

    return bool(((side(a, b, p) * side(a, b, q) < 0) & (side(p, q, a) * side(p, q, b) < 0)).any())


def _runs_along(begin: tuple[float, float], end: tuple[float, float], line: tuple[HostArray, HostArray]) -> bool:
    """Whether the way from a point of this line to its label leaves the point almost as the line does."""
    points = np.stack(line, axis=1)
    at = np.flatnonzero((points == np.array(begin)).all(axis=1))
    neighbours = np.concatenate([at - 1, at + 1])
    way = points[neighbours[(neighbours >= 0) & (neighbours < len(points))]] - begin
    leader = np.array(end) - begin
    length = np.hypot(*way.T) * np.hypot(*leader)
    return bool((way @ leader > np.cos(np.radians(LEADER_ANGLE)) * length).any())


def label_line_ends(
    ax: "Axes", lines: "Sequence[Line2D]", notes: Sequence[str] = (), peaks: Sequence[int | None] = ()
) -> None:
    """Write the label of each line, and a note below it, at the line or beside the axes at its end, in its colour.

    `peaks` are the points of lines that the notes tell of.
    """
    _remove_labels(ax)
    if not lines:
        return
    ax.autoscale_view()
    names = fit_names([str(line.get_label()) for line in lines], ax)
    texts = [f"{name}\n{note}".rstrip() for name, note in zip(names, notes or [""] * len(names), strict=True)]
    widths = [text_width(text.split("\n"), SMALL_FONT) for text in texts]
    peaks = peaks or [None] * len(lines)
    _draw_labels(ax, lines, texts, widths, peaks)
    if get_figure(ax).get_layout_engine() is not None:  # labels beside the axes have made them narrower
        get_figure(ax).draw_without_rendering()
        _remove_labels(ax)
        _draw_labels(ax, lines, texts, widths, peaks)


def _remove_labels(ax: "Axes") -> None:
    for text in [text for text in ax.texts if text.get_gid() == "name"]:
        text.remove()


def _draw_labels(
    ax: "Axes", lines: "Sequence[Line2D]", texts: Sequence[str], widths: Sequence[float], peaks: Sequence[int | None]
) -> None:
    """Draw these labels as the axes are now."""
    scale = points_per_pixel(ax)
    size = scale * ax.bbox.width, scale * ax.bbox.height
    drawn = [scale * (ax.transData.transform(line.get_xydata()) - ax.bbox.p0).T for line in lines]
    ends = []
    for (x, y), text, width, peak in zip(drawn, texts, widths, peaks, strict=True):
        num_lines = text.count("\n") + 1
        height = LINE_SPACING * SMALL_FONT * num_lines + CLEARANCE * (num_lines > 1)
        highest = None if peak is None else (float(x[peak]), float(y[peak]))
        ends.append(LineEnd(float(x[-1]), float(y[-1]), width, height, highest))
    places = place_line_end_labels(ends, [(x, y) for x, y in drawn], size)
    for line, text, peak, place in zip(lines, texts, peaks, places, strict=True):
        colour: Any = line.get_color()
        leader: Any = {"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkA": 1.0, "shrinkB": 0.0}
        label = ax.annotate(
            text, tuple(np.asarray(line.get_xydata())[peak if place.is_at_peak and peak is not None else -1]),
            (BESIDE_SHARE if place.x is None else place.x / size[0], place.y / size[1]), textcoords="axes fraction",
            va="center", ha="left", color=TEXT_COLOURS.get(colour, colour), fontsize=SMALL_FONT, linespacing=1.15,
            gid="name", zorder=5.0,
            arrowprops=None if place.leader is None else leader | {"relpos": place.leader},
        )  # fmt: skip
        if place.x is not None:
            add_text_halo(label)
