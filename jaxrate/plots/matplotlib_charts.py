"""Views drawn by Matplotlib, and one door for these pictures and interactive charts."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_whole_percent
from jaxrate.plots import altair_charts
from jaxrate.plots import plot_style as style
from jaxrate.plots.line_end_labels import LineLabel, place_line_end_labels
from jaxrate.plots.plot_style import Backend, check_backend, count_lines
from jaxrate.views import charts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

MAX_INTERVALS = 2  # lines up to which intervals are drawn: more would hide each other
LABEL_ROOM = 0.1  # of the range of ratings, above and below them, for labels at peaks
MIN_PANELS = 3  # players from whom on each line of ranks has a panel: more in one picture hide each other
PANEL_HEIGHTS = {1: 1.25, 2: 1.5}  # inches of a panel and its heading, by the number of columns
PANEL_SHARE = 0.92, 0.75  # of the width and the height of a panel and the room about it, at most
TICK_ROOM = 14.0  # points beside the labels of ranks, between two panels
LOOKS: dict[str, dict[str, Any]] = {  # of what is drawn
    "then": {"linestyle": "--", "linewidth": 0.8, "drawstyle": "steps-post", "gid": "then"},
    "peak": {"marker": "o", "markersize": 5, "markeredgecolor": "white", "markeredgewidth": 0.5, "gid": "peak"},
    "rank": {"marker": "o", "markersize": 6.0, "solid_capstyle": "round"},
    "band": {"color": style.PALE, "alpha": 0.45, "linewidth": 0, "zorder": 1, "gid": "others"},
    "median": {"color": style.GREY, "linewidth": 0.9, "linestyle": ":"},
    "label": {
        "va": "center",
        "ha": "left",
        "fontsize": style.SMALL_FONT,
        "linespacing": 1.15,
        "gid": "name",
        "zorder": 5.0,
    },
    "leader": {"arrowstyle": "-", "linewidth": 0.8, "shrinkA": 1.0, "shrinkB": 0.0},
    "heading": {"textcoords": "offset points", "va": "bottom", "ha": "left", "annotation_clip": False},
    "curve": {"markersize": 5, "markeredgecolor": "white", "markeredgewidth": 0.6, "elinewidth": 1.0, "linewidth": 1.4},
}


def show_lines(
    view: charts.LineView, ax: "Axes | None", backend: Backend, size: tuple[float, float] = (8.5, 4.8)
) -> Any:
    """Draw lines into axes, or into a new figure of this size; or their interactive chart. Returns axes or chart."""
    check_backend(backend, ax)
    if backend == "altair":
        return altair_charts.line_chart(view)
    has_panels = view.is_rank and len(view.lines) >= MIN_PANELS
    if has_panels:
        num_columns = charts.count_panel_columns(len(view.lines))
        size = size[0], 1.0 + PANEL_HEIGHTS[num_columns] * (len(view.lines) // num_columns)
    ax = style.make_picture_axes(ax, size, view.text)
    (_draw_panels if has_panels else _draw_lines)(ax, view)
    return ax


def _draw_lines(ax: "Axes", view: charts.LineView) -> None:
    _draw_unnamed_players(ax, view.unnamed)
    colours = style.NAMED_COLOURS[count_lines(ax, "line") :]
    for line, colour in zip(view.then, colours, strict=False):
        ax.plot(line.x, line.y, color=colour, **LOOKS["then"])
    peaks = [-np.inf if line.peak is None else float(line.y[line.peak]) for line in view.lines]
    for line, colour, peak, width in zip(view.lines, colours, peaks, view.widths, strict=False):
        layer = 2.0 + 0.1 * sum(other < peak for other in peaks)  # the highest is on top
        _draw_line(ax, line, colour, view, layer, width)
    if view.is_rank:
        _set_rank_axis(ax)
    else:
        style.group_thousands(ax, "y")
    style.label_time_axis(ax, view.text.x)
    has_notes = any(line.note for line in view.lines)
    ax.margins(x=0.01, y=LABEL_ROOM if has_notes and not view.is_rank else None)
    _label_lines(ax, view.lines)


def _draw_line(
    ax: "Axes", line: charts.Line, colour: str, view: charts.LineView, layer: float = 2.0,
    width: float = charts.USUAL_WIDTH,
) -> None:  # fmt: skip
    """Draw a line with its interval; a dot marks the highest rating, or the last rank."""
    drawstyle: Any = "steps-post" if view.is_stepped else "default"
    (drawn,) = ax.plot(line.x, line.y, color=colour, linewidth=width, drawstyle=drawstyle, zorder=layer)
    drawn.set(label=line.name, gid="line")
    if view.is_rank:
        style.add_halo(drawn, width + 1.6)
        drawn.set(markevery=[len(line.y) - 1], **LOOKS["rank"])
    style.draw_isolated_points(ax, line.x, line.y, colour, width, layer)
    if line.peak is not None:
        ax.plot(line.x[line.peak], line.y[line.peak], color=colour, zorder=layer + 1.0, **LOOKS["peak"])
    if line.deviation is not None:
        step: Any = "post" if view.is_stepped else None
        alpha, low, high = min(0.2, 0.3 / len(view.lines)), line.y - line.half_width, line.y + line.half_width
        ax.fill_between(line.x, low, high, color=colour, alpha=alpha, linewidth=0, gid="interval", step=step)


def _label_lines(ax: "Axes", lines: Sequence[charts.Line]) -> None:
    """Label the ends of these lines and of those that the axes had."""
    drawn = [line for line in ax.lines if line.get_gid() == "line"]
    nothing = np.zeros(0)
    earlier = [charts.Line(str(line.get_label()), nothing, nothing) for line in drawn[: len(drawn) - len(lines)]]
    labelled = [*earlier, *lines]
    names = style.fit_names([line.name for line in labelled], ax)
    named = [line._replace(name=name) for name, line in zip(names, labelled, strict=True)]
    ax.autoscale_view()
    _draw_labels(ax, drawn, named)
    if style.get_figure(ax).get_layout_engine() is not None:  # labels beside the axes have made them narrower
        style.get_figure(ax).draw_without_rendering()
        _draw_labels(ax, drawn, named)


def _draw_labels(ax: "Axes", drawn: "Sequence[Line2D]", lines: Sequence[charts.Line]) -> None:
    """Draw the label of each line in place of the one it had, at the line or beside the axes at its end."""
    for text in [text for text in ax.texts if text.get_gid() == "name"]:
        text.remove()
    size = style.axes_size(ax)
    labels = []
    for artist, line in zip(drawn, lines, strict=True):
        points = size * ax.transAxes.inverted().transform(ax.transData.transform(artist.get_xydata()))
        width = style.text_width(line.label, style.SMALL_FONT)
        labels.append(LineLabel(points, line.label, width, style.LINE_SPACING * style.SMALL_FONT, line.told_peak))
    for artist, label, place in zip(drawn, labels, place_line_end_labels(labels, size), strict=True):
        colour: Any = artist.get_color()
        leader = None if place.leader is None else LOOKS["leader"] | {"color": colour, "relpos": place.leader}
        text = ax.annotate(
            "\n".join(label.lines), tuple(np.asarray(artist.get_xydata())[place.point]),
            (1.02 if place.x is None else place.x / size[0], place.y / size[1]), textcoords="axes fraction",
            color=style.TEXT_COLOURS.get(colour, colour), arrowprops=leader, **LOOKS["label"],
        )  # fmt: skip
        if place.x is not None:
            style.add_halo(text, 2.5)


def _draw_unnamed_players(ax: "Axes", players: charts.UnnamedPlayers) -> None:
    """Draw grey lines, or bands and their median, behind all others."""
    for band in players.bands:
        ax.fill_between(band.x, band.low, band.high, **LOOKS["band"])
    width = float(np.clip(5.0 / max(len(players.lines), 1) ** 0.5, 0.35, 0.7))
    look = LOOKS["median"] if players.bands else {"color": style.PALE, "linewidth": width}
    for line in players.lines:
        ax.plot(line.x, line.y, zorder=1, gid="other", **look)


def _draw_panels(ax: "Axes", view: charts.LineView) -> None:
    """Draw each player into axes of their own, the others in grey behind them; all these axes have the same limits."""
    ax.set_axis_off()
    lines = view.lines
    num_columns = charts.count_panel_columns(len(lines))
    width, height = 1.0 / num_columns, num_columns / len(lines)
    worst = max(float(np.nanmax(line.y)) for line in [*lines, *view.unnamed.lines])
    room = (style.text_width([f"{worst:,.0f}"], style.SMALL_FONT) + TICK_ROOM) / (width * style.axes_size(ax)[0])
    share = min(PANEL_SHARE[0], 1.0 - room) if num_columns > 1 else 1.0
    panels: list[Axes] = []
    for i in range(len(lines)):
        row, column = divmod(i, num_columns)
        left, bottom = column * width, 1.0 - (row + 1.0) * height
        panels.append(ax.inset_axes((left, bottom, share * width, PANEL_SHARE[1] * height)))
        _draw_line_before_others(panels[-1], view, i)
    limits = [panel.get_xlim() for panel in panels]
    for i, panel in enumerate(panels):
        panel.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))
        if i + num_columns < len(panels):
            panel.tick_params(labelbottom=False)
            panel.set_xlabel("")
        if i % num_columns:
            panel.set_ylabel("")


def _draw_line_before_others(panel: "Axes", view: charts.LineView, number: int) -> None:
    """Draw the line of this number in front of all others."""
    line, colour = view.lines[number], style.NAMED_COLOURS[number]
    style.style_axes(panel)
    _draw_unnamed_players(panel, view.unnamed)
    for other in view.lines:
        if other.name != line.name:
            panel.plot(other.x, other.y, color=style.PALE, linewidth=0.5, gid="other")
    _draw_line(panel, line, colour, view)
    _set_rank_axis(panel, charts.PANEL_TICK_DISTANCE)
    panel.set_ylabel(view.text.y)
    panel.tick_params(labelsize=style.SMALL_FONT)
    style.label_time_axis(panel, view.text.x)
    panel.margins(x=0.02)
    look, text_colour = LOOKS["heading"], style.TEXT_COLOURS.get(colour, colour)
    name = panel.annotate(
        style.fit_names([line.name], panel)[0], (0.0, 1.0), (0.0, 4.0), xycoords="axes fraction", gid="name",
        color=text_colour, fontsize=style.SMALL_FONT + 1.0, fontweight="bold", **look,
    )  # fmt: skip
    note: dict[str, Any] = {"color": style.GREY, "fontsize": style.SMALL_FONT, "gid": "note"}
    panel.annotate(line.note, (1.0, 0.0), (6.0, 0.0), xycoords=name, **note, **look)


def _set_rank_axis(ax: "Axes", min_distance: float = charts.MIN_TICK_DISTANCE) -> None:
    """Set a logarithmic scale with the best rank that is shown on top, and round ranks at the ticks."""
    ax.set_yscale("log")
    shown = [np.asarray(line.get_ydata(), float) for line in ax.lines]
    shown += [np.asarray(path.vertices)[:, 1] for band in ax.collections for path in band.get_paths()]
    best, worst = charts.rank_range(np.concatenate(shown))
    margin = (worst / best) ** 0.05
    ax.set_ylim(worst * margin, best / margin)
    ticks = charts.rank_ticks(best, worst, min_distance)
    ax.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.set_yticks([], minor=True)


# Rows of players.

ROW_HEIGHT = 0.25  # inches
HEADING_HEIGHT = 1.5  # inches for all that is above and below the rows
MAX_FIGURE_HEIGHT = 24.0  # inches, so that 150 names can be read
MAX_VALUE_TICKS = 6  # of an axis beside names and values


def show_rows(view: charts.RowView, ax: "Axes | None", backend: Backend = "matplotlib") -> Any:
    """Draw rows into axes, or into a new figure; or their interactive chart. Returns axes or chart."""
    check_backend(backend, ax)
    if backend == "altair":
        return altair_charts.interval_chart(view)
    ax = style.make_picture_axes(ax, figure_size_for_rows(view.labels), view.text, grid="x")
    _draw_intervals(ax, view.values, view.half_widths)
    style.set_name_ticks(ax, "y", view.labels, view.numbers, is_left_aligned=True)
    _write_values(ax, view.value_texts, view.head)
    ax.set_ylim(len(view.labels) - 0.5, -0.5)
    ax.hlines(np.arange(len(view.labels)) + 0.5, 0.0, 1.0, style.RULE, linewidth=0.6, zorder=0.5,
              transform=ax.get_yaxis_transform())  # fmt: skip
    if view.are_differences:
        ax.axvline(0.0, color=style.GREY, linewidth=0.8, zorder=1)
    style.group_thousands(ax, "x")
    return ax


def figure_size_for_rows(labels: Iterable[str]) -> tuple[float, float]:
    """Size in inches of a figure with a row for each of these labels."""
    lengths = [len(label) for label in labels]
    longest = min(max(lengths, default=0), 60)
    width = 6.8 + max(longest - 24, 0) * style.CHARACTER_WIDTH * 10.0 / 72.0
    return width, min(HEADING_HEIGHT + ROW_HEIGHT * len(lengths), MAX_FIGURE_HEIGHT)


def _write_values(ax: "Axes", values: Sequence[str], head: str) -> None:
    """Write a value at the right of each row, and a head above them."""
    font_size = float(np.clip(style.axes_size(ax)[1] / len(values) / style.LINE_SPACING, 4.0, style.SMALL_FONT))
    end = style.NAME_GAP + max(style.text_width(values, font_size), style.text_width([head], style.SMALL_FONT))
    look: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points", "color": style.INK}
    for row, value in enumerate(values):
        ax.annotate(value, (1.0, row), (end, 0.0), ha="right", va="center", fontsize=font_size, **look)
    if head:
        ax.annotate(head, (1.0, -0.6), (end, 0.0), ha="right", va="bottom", fontsize=style.SMALL_FONT, **look)


def _draw_intervals(ax: "Axes", values: HostArray, half_widths: HostArray | None) -> None:
    """Draw a dot with its interval in each row; the more rows, the thinner. NaN has none."""
    points = style.axes_size(ax)[1] / max(len(values), 1)  # height of a row
    look: dict[str, Any] = {"markersize": float(np.clip(0.4 * points, 1.5, 6.5)), "capsize": 0.0}
    bars = ax.errorbar(
        values, np.arange(len(values)), xerr=half_widths, fmt="o", color=style.COLOURS[0], markeredgewidth=0.0,
        elinewidth=float(np.clip(0.3 * points, 0.5, 4.0)), **look,
    )  # fmt: skip
    ax.locator_params(axis="x", nbins=MAX_VALUE_TICKS, steps=[1, 2, 5, 10])
    for bar in bars[2]:
        bar.set_alpha(0.35)
        bar.set_capstyle("round" if points > 6.0 else "butt")


# Matrices of percentages.

CELL_SIDE = 0.42  # inches
LARGE_SIDE = 8.5  # inches of a matrix of more columns
NAME_HEIGHT = 0.075  # inches of a name in the smallest letters


def show_matrix(view: charts.MatrixView, ax: "Axes | None", backend: Backend) -> Any:
    """Draw percentages of each in rows against each other; or their interactive chart. Returns axes or chart."""
    check_backend(backend, ax)
    if backend == "altair":
        return altair_charts.matrix_chart(view)
    count, text = len(view.names), view.text
    side = 1.6 + min(CELL_SIDE * count, max(LARGE_SIDE, NAME_HEIGHT * count))
    room = style.CHARACTER_WIDTH * 10.0 / 72.0 * max(map(len, view.names))
    size = side + room + 0.6, side + (room if view.has_column_names else 0.4)
    ax = style.make_picture_axes(ax, size, text._replace(y=""), grid="none")
    draw_percent_cells(ax, view.percent, text.y, is_diverging=True)
    if view.has_column_names:
        style.set_name_ticks(ax, "x", view.names)
        ax.tick_params(axis="x", rotation=90)
        style.set_name_ticks(ax, "y", view.names)
        return ax
    style.set_name_ticks(ax, "y", view.names, range(1, count + 1), is_left_aligned=True)
    shown = range(0, count, 1 if count <= charts.MAX_NAMED_COLUMNS else 10)
    ax.set_xticks(shown, [f"{i + 1:,}" for i in shown])
    ax.tick_params(axis="x", length=0.0)
    ax.set_xlabel(f"{text.x}, in the order of the rows")
    return ax


def draw_percent_table(ax: "Axes", percent: HostArray, quantity: str, rows: list[str], columns: list[str]) -> None:
    """Draw percentages [n, m] from 0 in cells, and the names of rows and columns."""
    draw_percent_cells(ax, percent, quantity, is_diverging=False)
    style.set_name_ticks(ax, "y", rows)
    style.set_name_ticks(ax, "x", columns)


def draw_percent_cells(ax: "Axes", percent: HostArray, quantity: str, *, is_diverging: bool) -> None:
    """Draw percentages [n, m] as colours, with numbers if these fit into the cells, otherwise with a colour bar."""
    ax.set_facecolor(style.RULE)  # colour of the diagonal
    colours = charts.DIVERGING_COLOURS if is_diverging else style.SEQUENTIAL_COLOURS
    greatest = 100.0 if is_diverging else float(np.clip(10.0 * np.ceil(np.nanmax(percent) / 10.0), 10.0, 100.0))
    look: dict[str, Any] = {"cmap": style.colour_map(colours), "interpolation": "nearest", "aspect": "auto"}
    image = ax.imshow(percent, vmin=0.0, vmax=greatest, **look)
    rows, columns = percent.shape
    ax.spines[:].set_visible(False)
    if max(rows, columns) <= charts.MAX_NAMED_COLUMNS:  # there is room for gaps between cells
        for draw, count in ((ax.axvline, columns), (ax.axhline, rows)):
            for edge in range(1, count):
                draw(edge - 0.5, color="white", linewidth=1.0)
    wide, high = style.axes_size(ax) / (columns, rows)
    size = min(style.SMALL_FONT, 0.7 * high, 0.5 * wide)  # fits three digits
    if size < 5.0 or columns > charts.MAX_WRITTEN_COLUMNS:
        style.add_colour_bar(ax, image, quantity)
        return
    for i, j in np.argwhere(~np.isnan(percent)):
        colour = style.cell_text_colour(*image.to_rgba(percent[i, j])[:3])
        ax.text(j, i, format_whole_percent(percent[i, j]), ha="center", va="center", color=colour, fontsize=size)


# Curves of predictions.


def draw_curve(ax: "Axes", curve: charts.Curve, kind: str) -> None:
    """Draw a curve with its intervals; `kind` is the kind of its axes."""
    number = count_lines(ax, kind)
    ends = np.stack([curve.y - curve.low, curve.high - curve.y])
    marker = style.MARKERS[number % len(style.MARKERS)]
    look = LOOKS["curve"] | {"color": style.COLOURS[number % len(style.COLOURS)]}
    look |= {"linestyle": style.LINE_STYLES[number % len(style.LINE_STYLES)]}
    line, *_ = ax.errorbar(curve.x, curve.y, ends, marker=marker, label=curve.label, **look)
    line.set_gid(kind)
    if curve.expected is not None:
        colour = look["color"]
        ax.plot(curve.x, curve.expected, ":", color=colour, linewidth=1.2, zorder=1, gid="right predictions")


def show_calibration(
    text: charts.PictureText, curves: Sequence[charts.Curve], ax: "Axes | None", backend: Backend
) -> Any:
    """Draw observed by predicted scores in percent, or return their interactive chart."""
    check_backend(backend, ax)
    if backend == "altair":
        return altair_charts.calibration_chart(text, curves)
    ax = style.make_picture_axes(ax, (5.6, 6.2), text, grid="both")
    if not count_lines(ax, "calibration"):
        ax.plot([0, 100], [0, 100], color=style.GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for curve in curves:
        draw_curve(ax, curve, "calibration")
    ax.set_aspect("equal", anchor="W")
    if curves[0].label:
        style.add_legend(ax, "calibration error (%)")
    return ax
