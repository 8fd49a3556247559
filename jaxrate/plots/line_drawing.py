"""Lines through time by Matplotlib, and one door for these and interactive charts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.plots.altair_charts import line_chart, rank_panels_chart
from jaxrate.plots.line_end_labels import CLEARANCE, LineEnd, place_line_end_labels
from jaxrate.plots.name_labels import fit_names, text_width
from jaxrate.plots.pictures import (
    MIN_TICK_DISTANCE,
    PANEL_TICK_DISTANCE,
    Line,
    LinePicture,
    UnnamedPlayers,
    count_panel_columns,
    rank_range,
    rank_ticks,
)
from jaxrate.plots.plot_inputs import count_lines
from jaxrate.plots.scoreboard_style import (
    GREY,
    LINE_SPACING,
    NAMED_COLOURS,
    PALE,
    SMALL_FONT,
    TEXT_COLOURS,
    Z_95,
    add_halo,
    add_legend,
    add_text_halo,
    draw_isolated_points,
    get_figure,
    group_thousands,
    label_time_axis,
    make_picture_axes,
    points_per_pixel,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

LINE_WIDTH = 1.5  # points
END_DOT_SIZE = 6.0  # of a line of ranks
MAX_INTERVALS = 2  # lines up to which intervals are drawn: more would hide each other
BESIDE_SHARE = 1.02  # of the width of the axes, at which labels beside them begin
LABEL_ROOM = 0.1  # of the range of ratings, above and below them, for labels at peaks
MIN_PANELS = 3  # players from whom on each line of ranks has a panel: more in one picture hide each other
PANEL_HEIGHTS = {1: 1.25, 2: 1.5}  # inches of a panel and its heading, by the number of columns
PANEL_SHARE = 0.92, 0.75  # of the width and the height of a panel and the room about it, at most
TICK_ROOM = 14.0  # points beside the labels of ranks, between two panels


def show_lines(picture: LinePicture, ax: "Axes | None", backend: str, size: tuple[float, float] = (8.5, 4.8)) -> Any:
    """Draw lines into axes, or into a new figure of this size; or their interactive chart. Returns axes or chart."""
    has_panels = picture.is_rank and len(picture.lines) >= MIN_PANELS
    if backend == "altair":
        return rank_panels_chart(picture) if has_panels else line_chart(picture)
    if has_panels:
        num_columns = count_panel_columns(len(picture.lines))
        size = size[0], 1.0 + PANEL_HEIGHTS[num_columns] * (len(picture.lines) // num_columns)
    ax = make_picture_axes(ax, size, picture.text)
    (_draw_panels if has_panels else _draw_lines)(ax, picture)
    return ax


def _draw_lines(ax: "Axes", picture: LinePicture) -> None:
    _draw_unnamed_players(ax, picture.unnamed)
    colours = NAMED_COLOURS[count_lines(ax, "line") :]
    for line, colour in zip(picture.then, colours, strict=False):
        ax.plot(line.x, line.y, "--", color=colour, linewidth=0.8, drawstyle="steps-post", gid="then")
    peaks = [-np.inf if line.peak is None else float(line.y[line.peak]) for line in picture.lines]
    for line, colour, peak in zip(picture.lines, colours, peaks, strict=False):
        layer = 2.0 + 0.1 * sum(other < peak for other in peaks)  # the highest peak is on top
        _draw_line(ax, line, colour, picture, layer)
    if picture.is_rank:
        _set_rank_axis(ax)
    else:
        group_thousands(ax, "y")
    label_time_axis(ax, picture.text.x)
    has_notes = any(line.note for line in picture.lines)
    ax.margins(x=0.01, y=LABEL_ROOM if has_notes and not picture.is_rank else None)
    _fade_intervals(ax)
    _label_lines(ax, picture.lines)
    if picture.then:
        _add_then_legend(ax)


def _draw_line(ax: "Axes", line: Line, colour: str, picture: LinePicture, layer: float = 2.0) -> None:
    """Draw a line with its interval; a dot marks the highest rating, or the last rank."""
    (drawn,) = ax.plot(
        line.x, line.y, color=colour, linewidth=LINE_WIDTH, label=line.name, gid="line", zorder=layer,
        drawstyle="steps-post" if picture.is_stepped else "default",
    )  # fmt: skip
    if picture.is_rank:
        add_halo(drawn)
        drawn.set(marker="o", markersize=END_DOT_SIZE, markevery=[len(line.y) - 1], solid_capstyle="round")
    draw_isolated_points(ax, line.x, line.y, colour, LINE_WIDTH, layer)
    if line.peak is not None:
        ax.plot(line.x[line.peak], line.y[line.peak], "o", color=colour, markersize=5, markeredgecolor="white",
                markeredgewidth=0.5, zorder=layer + 1.0, gid="peak")  # fmt: skip
    if line.deviation is not None:
        low, high = (line.y + sign * Z_95 * line.deviation for sign in (-1.0, 1.0))
        step: Any = {"step": "post"} if picture.is_stepped else {}
        ax.fill_between(line.x, low, high, color=colour, linewidth=0, gid="interval", **step)


def _fade_intervals(ax: "Axes") -> None:
    """Make intervals pale; more than two lines have none."""
    count = count_lines(ax, "line")
    for band in [band for band in ax.collections if band.get_gid() == "interval"]:
        if count > MAX_INTERVALS:
            band.remove()
        else:
            band.set_alpha(min(0.2, 0.3 / count))


def _label_lines(ax: "Axes", lines: Sequence[Line]) -> None:
    """Label the ends of these lines and of those that the axes had."""
    drawn = [line for line in ax.lines if line.get_gid() == "line"]
    nothing = np.zeros(0)
    earlier = [Line(str(line.get_label()), nothing, nothing) for line in drawn[: len(drawn) - len(lines)]]
    labelled = [*earlier, *lines]
    names = fit_names([line.name for line in labelled], ax)
    texts = [f"{name}\n{line.note}".rstrip() for name, line in zip(names, labelled, strict=True)]
    told_peaks = [line.peak if line.note else None for line in labelled]
    ax.autoscale_view()
    _draw_labels(ax, drawn, texts, told_peaks)
    if get_figure(ax).get_layout_engine() is not None:  # labels beside the axes have made them narrower
        get_figure(ax).draw_without_rendering()
        _draw_labels(ax, drawn, texts, told_peaks)


def _add_then_legend(ax: "Axes") -> None:
    """Tell thin dashes by a legend."""
    from matplotlib.lines import Line2D

    looks: Any = (("--", 0.8, "at the time"), ("-", 1.3, "in hindsight"))
    handles = [Line2D([], [], color=GREY, linestyle=x, linewidth=y, label=name) for x, y, name in looks]
    add_legend(ax, handles=handles)


def _draw_unnamed_players(ax: "Axes", players: UnnamedPlayers) -> None:
    """Draw grey lines, or bands and their median, behind all others."""
    for band in players.bands:
        ax.fill_between(band.x, band.low, band.high, color=PALE, alpha=0.45, linewidth=0, zorder=1, gid="others")
    width = float(np.clip(5.0 / max(len(players.lines), 1) ** 0.5, 0.35, 0.7))
    look: dict[str, Any] = {"color": PALE, "linewidth": width}
    if players.bands:
        look = {"color": GREY, "linewidth": 0.9, "linestyle": ":"}
    for line in players.lines:
        ax.plot(line.x, line.y, zorder=1, gid="other", **look)


def _draw_panels(ax: "Axes", picture: LinePicture) -> None:
    """Draw each player into axes of their own, the others in grey behind them; all these axes have the same limits."""
    ax.set_axis_off()
    lines = picture.lines
    num_columns = count_panel_columns(len(lines))
    width, height = 1.0 / num_columns, num_columns / len(lines)
    worst = max(float(np.nanmax(line.y)) for line in [*lines, *picture.unnamed.lines])
    room = (text_width([f"{worst:,.0f}"], SMALL_FONT) + TICK_ROOM) / (width * ax.bbox.width * points_per_pixel(ax))
    share = min(PANEL_SHARE[0], 1.0 - room) if num_columns > 1 else 1.0
    panels: list[Axes] = []
    for i in range(len(lines)):
        row, column = divmod(i, num_columns)
        left, bottom = column * width, 1.0 - (row + 1.0) * height
        panels.append(ax.inset_axes((left, bottom, share * width, PANEL_SHARE[1] * height)))
        _draw_line_before_others(panels[-1], picture, i)
    limits = [panel.get_xlim() for panel in panels]
    for i, panel in enumerate(panels):
        panel.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))
        if i + num_columns < len(panels):
            panel.tick_params(labelbottom=False)
            panel.set_xlabel("")
        if i % num_columns:
            panel.set_ylabel("")


def _draw_line_before_others(panel: "Axes", picture: LinePicture, number: int) -> None:
    """Draw the line of this number in front of all others."""
    line, colour = picture.lines[number], NAMED_COLOURS[number]
    style_axes(panel)
    _draw_unnamed_players(panel, picture.unnamed)
    for other in picture.lines:
        if other.name != line.name:
            panel.plot(other.x, other.y, color=PALE, linewidth=0.5, gid="other")
    _draw_line(panel, line, colour, picture)
    _set_rank_axis(panel, PANEL_TICK_DISTANCE)
    panel.set_ylabel(picture.text.y)
    panel.tick_params(labelsize=SMALL_FONT)
    label_time_axis(panel, picture.text.x)
    panel.margins(x=0.02)
    heading: Any = {"textcoords": "offset points", "va": "bottom", "ha": "left", "annotation_clip": False}
    name = panel.annotate(
        fit_names([line.name], panel)[0], (0.0, 1.0), (0.0, 4.0), xycoords="axes fraction", gid="name",
        color=TEXT_COLOURS.get(colour, colour), fontsize=SMALL_FONT + 1.0, fontweight="bold", **heading,
    )  # fmt: skip
    panel.annotate(line.note, (1.0, 0.0), (6.0, 0.0), xycoords=name, color=GREY, fontsize=SMALL_FONT, gid="note",
                   **heading)  # fmt: skip


def _set_rank_axis(ax: "Axes", min_distance: float = MIN_TICK_DISTANCE) -> None:
    """Set a logarithmic scale with the best rank that is shown on top, and round ranks at the ticks."""
    ax.set_yscale("log")
    shown = [np.asarray(line.get_ydata(), float) for line in ax.lines]
    shown += [np.asarray(path.vertices)[:, 1] for band in ax.collections for path in band.get_paths()]
    best, worst = rank_range(np.concatenate(shown))
    margin = (worst / best) ** 0.05
    ax.set_ylim(worst * margin, best / margin)
    ticks = rank_ticks(best, worst, min_distance)
    ax.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.set_yticks([], minor=True)


def _remove_labels(ax: "Axes") -> None:
    for text in [text for text in ax.texts if text.get_gid() == "name"]:
        text.remove()


def _draw_labels(ax: "Axes", lines: "Sequence[Line2D]", texts: Sequence[str], told_peaks: Sequence[int | None]) -> None:
    """Draw the label of each line in place of the one it had, at the line or beside the axes at its end."""
    _remove_labels(ax)
    scale = points_per_pixel(ax)
    size = scale * ax.bbox.width, scale * ax.bbox.height
    drawn = [scale * (ax.transData.transform(line.get_xydata()) - ax.bbox.p0) for line in lines]
    ends = [_line_end(points, text, peak) for points, text, peak in zip(drawn, texts, told_peaks, strict=True)]
    places = place_line_end_labels(ends, [(points[:, 0], points[:, 1]) for points in drawn], size)
    for line, text, peak, place in zip(lines, texts, told_peaks, places, strict=True):
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


def _line_end(points: HostArray, text: str, peak: int | None) -> LineEnd:
    """The end of a line through points [m, 2] of the axes, with the size of its label."""
    num_lines = text.count("\n") + 1
    height = LINE_SPACING * SMALL_FONT * num_lines + CLEARANCE * (num_lines > 1)
    width = text_width(text.split("\n"), SMALL_FONT)
    x, y = points[-1].tolist()
    return LineEnd(x, y, width, height, None if peak is None else (float(points[peak, 0]), float(points[peak, 1])))
