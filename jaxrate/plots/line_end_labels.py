"""Where the labels of lines stand, in pictures and on interactive charts: at the end of a line, or beside the axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxrate.array_types import HostArray
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
GAP = 6.0  # from the end of a line to its label
CLEARANCE = 3.0  # from a label to lines and other labels
MAX_OFFSET = 90.0  # from the height of the end of a line to that of its label
BESIDE_SHARE = 1.02  # of the width of the axes, at which labels beside them begin
LEADER_OFFSET = 9.0  # from which on a short line leads to the label
NUM_COLUMNS = 60  # positions across a label at which lines are sought


class LineEnd(NamedTuple):
    """The last point of a line and the size of its label, in points or pixels from the lower left of the axes."""

    x: float
    y: float
    width: float
    height: float


class LabelPlace(NamedTuple):
    """The middle of the left edge of a label."""

    x: float | None  # None: beside the axes
    y: float
    leader: tuple[float, float] | None  # to where in the label a line leads from the end, as shares of its sides


def place_line_end_labels(
    ends: Sequence[LineEnd], lines: Sequence[tuple[HostArray, HostArray]], size: tuple[float, float]
) -> list[LabelPlace]:
    """Labels of lines that go on to the right edge stand beside the axes; others at the ends of their lines.

    There they hide neither a line nor another label. One that has no room there stands beside the axes, too, without a
    long line that leads to it.

    Args:
      ends: the ends of the lines, and the sizes of their labels.
      lines: horizontal and vertical positions [k] of the lines that labels must not hide.
      size: width and height of the axes.
    """
    width, height = size
    goes_on = [end.x > (1.0 - EDGE_SHARE) * width for end in ends]
    places: list[LabelPlace | None] = [None] * len(ends)
    boxes: list[tuple[float, float, float, float]] = []  # left, right, bottom and top of the labels within the axes
    for i in sorted(range(len(ends)), key=lambda i: -ends[i].y):
        end = ends[i]
        if goes_on[i]:
            continue
        for x, y in _candidate_places(end):
            box = x, x + end.width, y - 0.5 * end.height, y + 0.5 * end.height
            is_inside = box[0] >= 0.0 and box[1] <= width and box[2] >= 0.0 and box[3] <= height
            if is_inside and not _hides_label(box, boxes) and not _hides_line(box, lines):
                places[i] = LabelPlace(x, y, _leader(end, x, y))
                boxes.append(box)
                break
    beside = [i for i, place in enumerate(places) if place is None]
    distance = max((ends[i].height for i in beside), default=0.0)
    heights = spread_labels(np.array([ends[i].y for i in beside]), distance)
    for i, y in zip(beside, heights.tolist(), strict=True):
        places[i] = LabelPlace(None, y, (0.0, 0.5) if goes_on[i] else None)
    return [place for place in places if place is not None]


def _candidate_places(end: LineEnd) -> list[tuple[float, float]]:
    """Places of a label near the end of its line, the best first: after it, above or below it, before it."""
    offsets = [sign * offset for offset in np.arange(0.0, MAX_OFFSET, 2.0).tolist() for sign in (1.0, -1.0)]
    after = [(end.x + GAP, end.y + offset) for offset in offsets]
    least = 0.5 * end.height + GAP
    above = [offset for offset in offsets if abs(offset) >= least]
    return after + [(end.x - share * end.width, end.y + offset) for share in (0.5, 1.0) for offset in above]


def _leader(end: LineEnd, x: float, y: float) -> tuple[float, float] | None:
    """The point of a label that is nearest to the end of its line; None if it is near without a line to it."""
    bottom = y - 0.5 * end.height
    across, up = float(np.clip(end.x, x, x + end.width)), float(np.clip(end.y, bottom, bottom + end.height))
    if np.hypot(across - end.x, up - end.y) <= LEADER_OFFSET:
        return None
    return (across - x) / end.width, (up - bottom) / end.height


def _hides_label(box: tuple[float, float, float, float], boxes: Sequence[tuple[float, float, float, float]]) -> bool:
    left, right, bottom, top = box
    return any(left < b + CLEARANCE and a < right + CLEARANCE and bottom < d and c < top for a, b, c, d in boxes)


def _hides_line(box: tuple[float, float, float, float], lines: Sequence[tuple[HostArray, HostArray]]) -> bool:
    """Whether a line goes through a box, or between two neighbouring columns of it."""
    left, right, bottom, top = box
    columns = np.linspace(left - CLEARANCE, right + CLEARANCE, NUM_COLUMNS)
    for x, y in lines:
        heights = np.interp(columns, x, y, left=np.nan, right=np.nan)
        low, high = np.fmin(heights[1:], heights[:-1]), np.fmax(heights[1:], heights[:-1])
        if ((high > bottom - CLEARANCE) & (low < top + CLEARANCE)).any():
            return True
    return False


def label_line_ends(ax: "Axes", lines: "Sequence[Line2D]", notes: Sequence[str] = ()) -> None:
    """Write the label of each line, and a note below it, where the line ends or beside the axes, in its colour."""
    _remove_labels(ax)
    if not lines:
        return
    ax.autoscale_view()
    names = fit_names([str(line.get_label()) for line in lines], ax)
    texts = [f"{name}\n{note}".rstrip() for name, note in zip(names, notes or [""] * len(names), strict=True)]
    _draw_labels(ax, lines, texts)
    if get_figure(ax).get_layout_engine() is not None:  # labels beside the axes have made them narrower
        get_figure(ax).draw_without_rendering()
        _remove_labels(ax)
        _draw_labels(ax, lines, texts)


def _remove_labels(ax: "Axes") -> None:
    for text in [text for text in ax.texts if text.get_gid() == "name"]:
        text.remove()


def _draw_labels(ax: "Axes", lines: "Sequence[Line2D]", texts: Sequence[str]) -> None:
    """Draw these labels as the axes are now."""
    scale = points_per_pixel(ax)
    size = scale * ax.bbox.width, scale * ax.bbox.height
    drawn = [scale * (ax.transData.transform(line.get_xydata()) - ax.bbox.p0).T for line in lines]
    ends = []
    for (x, y), text in zip(drawn, texts, strict=True):
        label_lines = text.split("\n")
        height = LINE_SPACING * SMALL_FONT * len(label_lines) + CLEARANCE * (len(label_lines) > 1)
        ends.append(LineEnd(float(x[-1]), float(y[-1]), text_width(label_lines, SMALL_FONT), height))
    places = place_line_end_labels(ends, [(x, y) for x, y in drawn], size)
    for line, text, place in zip(lines, texts, places, strict=True):
        colour: Any = line.get_color()
        leader: Any = {"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkA": 1.0, "shrinkB": 0.0}
        label = ax.annotate(
            text, tuple(np.asarray(line.get_xydata())[-1]),
            (BESIDE_SHARE if place.x is None else place.x / size[0], place.y / size[1]), textcoords="axes fraction",
            va="center", ha="left", color=TEXT_COLOURS.get(colour, colour), fontsize=SMALL_FONT, linespacing=1.15,
            gid="name", zorder=5.0,
            arrowprops=None if place.leader is None else leader | {"relpos": place.leader},
        )  # fmt: skip
        if place.x is not None:
            add_text_halo(label)
