"""Views drawn by Matplotlib, and one door for these pictures and interactive charts."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

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
PANEL_HEIGHTS = {1: 1.5, 2: 1.7}  # inches of a panel and its heading, by the number of columns
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
    "dots": {"markersize": 5, "markeredgecolor": "white", "markeredgewidth": 0.6, "gid": "layer"},
}


def show(view: Any, *, ax: "Axes | None" = None, backend: Backend = "matplotlib") -> Any:
    """Draw a view into axes, or into a new figure; or its interactive chart. Returns axes or chart."""
    check_backend(backend, ax)
    if backend == "altair":
        return altair_charts.CHARTS[type(view)](view)
    return PICTURES[type(view)](view, ax)


def _set_scale(ax: "Axes", axis_name: Literal["x", "y"], scale: charts.Scale, *, is_shared: bool = False) -> None:
    """Set the range and the ticks of an axis; axes that are shared with earlier pictures keep what they show."""
    axis, limits = getattr(ax, f"{axis_name}axis"), [scale.low, scale.high]
    if is_shared:
        low, *_, high = sorted([*limits, *axis.get_view_interval()])
        limits = [low, high] if scale.low < scale.high else [high, low]
    ax.set(**{f"{axis_name}scale": "log" if scale.is_logarithmic else "linear"})
    ax.set(**{f"{axis_name}lim": limits})
    if is_shared and not scale.is_logarithmic:
        ax.locator_params(axis=axis_name, nbins=8, steps=[1, 2, 5, 10])
        style.format_ticks_with_thousands(ax, axis_name)
        return
    axis.set_ticks(scale.ticks, [style.format_tick(x) for x in scale.ticks])
    axis.set_ticks([], minor=True)


# Lines through time.


def _show_lines(view: charts.LineView, ax: "Axes | None") -> "Axes":
    panels = view.panels if ax is None or view.is_rank else [view]
    num_columns = charts.count_panel_columns(len(panels))
    height = view.size[1] if len(panels) == 1 else 1.0 + PANEL_HEIGHTS[num_columns] * len(panels) / num_columns
    ax = style.make_picture_axes(ax, (view.size[0], height), view.text)
    if len(panels) > 1:
        _draw_panels(ax, panels, num_columns)
    else:
        _draw_lines(ax, view)
        _label_lines(ax, view.lines)
    return ax


def _draw_lines(ax: "Axes", view: charts.LineView) -> None:
    """Draw lines in front of grey ones, and set both axes."""
    number_before = count_lines(ax, "line")
    _draw_unnamed_players(ax, view.unnamed)
    colours = style.NAMED_COLOURS[view.panel or number_before :]
    for line, colour in zip(view.then, colours, strict=False):
        ax.plot(line.x, line.y, color=colour, **LOOKS["then"])
    peaks = [float(line.y[[*line.peaks]].max(initial=-np.inf)) for line in view.lines]
    for line, colour, peak, width in zip(view.lines, colours, peaks, view.widths, strict=False):
        layer = 2.0 + 0.1 * sum(other < peak for other in peaks)  # the highest is on top
        _draw_line(ax, line, colour, view, layer, width)
    _set_scale(ax, "y", view.scale, is_shared=number_before > 0)
    style.label_time_axis(ax, view.text.x)
    ax.margins(x=0.01)


def _draw_line(ax: "Axes", line: charts.Line, colour: str, view: charts.LineView, layer: float, width: float) -> None:
    """Draw a line with its interval; a dot marks the highest rating, or the last rank."""
    drawstyle: Any = "steps-post" if view.is_stepped else "default"
    (drawn,) = ax.plot(line.x, line.y, color=colour, linewidth=width, drawstyle=drawstyle, zorder=layer)
    drawn.set(label=line.name, gid="line")
    if view.is_rank:
        style.add_halo(drawn, width + 1.6)
        drawn.set(markevery=[len(line.y) - 1], **LOOKS["rank"])
    style.draw_isolated_points(ax, line.x, line.y, colour, width, layer)
    for peak in line.peaks:
        ax.plot(line.x[peak], line.y[peak], color=colour, zorder=layer + 1.0, **LOOKS["peak"])
    if np.any(line.deviation):
        step: Any = "post" if view.is_stepped else None
        alpha, low, high = min(0.2, 0.3 / len(view.lines)), line.y - line.half_width, line.y + line.half_width
        ax.fill_between(line.x, low, high, color=colour, alpha=alpha, linewidth=0, gid="interval", step=step)


def _label_lines(ax: "Axes", lines: Sequence[charts.Line]) -> None:
    """Label the ends of these lines and of those that the axes had."""
    drawn, nothing = [line for line in ax.lines if line.get_gid() == "line"], np.zeros(0)
    lines = [*(charts.Line(str(x.get_label()), nothing, nothing) for x in drawn[: -len(lines)]), *lines]
    names = style.truncate_names([line.name for line in lines], ax)
    named = [line._replace(name=name) for name, line in zip(names, lines, strict=True)]
    ax.autoscale_view()
    _draw_labels(ax, drawn, named)
    if style.get_figure(ax).get_layout_engine() is not None:  # labels beside the axes have made them narrower
        style.get_figure(ax).draw_without_rendering()
        _draw_labels(ax, drawn, named)


def _draw_labels(ax: "Axes", drawn: "Sequence[Line2D]", lines: Sequence[charts.Line]) -> None:
    """Draw the labels of lines in place of those they had, at the lines or beside the axes at their ends."""
    for text in [text for text in ax.texts if text.get_gid() == "name"]:
        text.remove()
    size = style.axes_size(ax)
    labels = []
    for artist, line in zip(drawn, lines, strict=True):
        points = size * ax.transAxes.inverted().transform(ax.transData.transform(artist.get_xydata()))
        width = style.text_width(line.label, style.SMALL_FONT)
        labels.append(LineLabel(points, line.label, width, style.LINE_SPACING * style.SMALL_FONT, line.told_points))
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


def _draw_panels(ax: "Axes", views: Sequence[charts.LineView], num_columns: int) -> None:
    """Draw each view into axes of its own; all these axes have the same limits."""
    ax.set_axis_off()
    width, height = 1.0 / num_columns, num_columns / len(views)
    ticks = [style.format_tick(x) for x in views[0].scale.ticks]
    room = (style.text_width(ticks, style.SMALL_FONT) + TICK_ROOM) / (width * style.axes_size(ax)[0])
    share = min(PANEL_SHARE[0], 1.0 - room) if num_columns > 1 else 1.0
    panels: list[Axes] = []
    for i, view in enumerate(views):
        row, column = divmod(i, num_columns)
        left, bottom = column * width, 1.0 - (row + 1.0) * height
        panels.append(ax.inset_axes((left, bottom, share * width, PANEL_SHARE[1] * height)))
        style.style_axes(panels[-1])
        _draw_lines(panels[-1], view)
        panels[-1].tick_params(labelsize=style.SMALL_FONT)
        panels[-1].set_ylabel(view.text.y * (column == 0))
        _write_heading(panels[-1], view.lines[0], style.NAMED_COLOURS[i])
        if i + num_columns < len(views):
            panels[-1].tick_params(labelbottom=False)
            panels[-1].set_xlabel("")
    limits = [panel.get_xlim() for panel in panels]
    for panel in panels:
        panel.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))


def _write_heading(panel: "Axes", line: charts.Line, colour: str) -> None:
    """Write the name of a line and its note above its panel."""
    look, text_colour = LOOKS["heading"], style.TEXT_COLOURS.get(colour, colour)
    name = panel.annotate(
        style.truncate_names([line.name], panel)[0], (0.0, 1.0), (0.0, 4.0), xycoords="axes fraction", gid="name",
        color=text_colour, fontsize=style.SMALL_FONT + 1.0, fontweight="bold", **look,
    )  # fmt: skip
    note: dict[str, Any] = {"color": style.GREY, "fontsize": style.SMALL_FONT, "gid": "note"}
    panel.annotate(line.note, (1.0, 0.0), (6.0, 0.0), xycoords=name, **note, **look)


# Rows of players.

ROW_WIDTH, ROW_HEIGHT = 6.8, 0.25  # inches
HEADING_HEIGHT = 1.5  # inches for all that is above and below the rows
MAX_FIGURE_HEIGHT = 24.0  # inches, so that 150 names can be read


def _show_rows(view: charts.RowView, ax: "Axes | None") -> "Axes":
    ax = style.make_picture_axes(ax, figure_size_for_rows(view.labels), view.text, grid="x")
    _set_scale(ax, "x", view.scale)
    points = style.axes_size(ax)[1] / max(len(view.labels), 1)  # height of a row
    rows, width = np.arange(len(view.labels)), float(np.clip(0.3 * points, 0.5, 4.0))
    bars = ax.hlines(rows, view.low, view.high, style.COLOURS[0], linewidth=width, alpha=0.35, gid="interval")
    bars.set_capstyle("round" if points > 6.0 else "butt")
    size = float(np.clip(0.4 * points, 1.5, 6.5))
    ax.plot(view.values, rows, "o", color=style.COLOURS[0], markersize=size, markeredgewidth=0.0, gid="value")
    style.set_name_ticks(ax, "y", view.labels, view.numbers, is_left_aligned=True)
    _write_values(ax, view.value_texts, view.head)
    ax.set_ylim(len(view.labels) - 0.5, -0.5)
    ax.hlines(rows + 0.5, 0.0, 1.0, style.RULE, linewidth=0.6, zorder=0.5, transform=ax.get_yaxis_transform())
    if view.are_differences:
        ax.axvline(0.0, color=style.GREY, linewidth=0.8, zorder=1)
    return ax


def figure_size_for_rows(labels: Iterable[str]) -> tuple[float, float]:
    """Size in inches of a figure with a row for each of these labels."""
    lengths = [len(label) for label in labels]
    longest = min(max(lengths, default=0), 60)
    width = ROW_WIDTH + max(longest - 24, 0) * style.CHARACTER_WIDTH * 10.0 / 72.0
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


# Matrices of percentages.

CELL_SIDE = 0.42  # inches
LARGE_SIDE = 8.5  # inches of a matrix of more columns
FRAME_INSET = 0.03  # of a cell, by which a frame stays within it


def _show_matrix(view: charts.MatrixView, ax: "Axes | None") -> "Axes":
    ax = style.make_picture_axes(ax, _matrix_size(view), view.text, grid="none")
    _draw_cells(ax, view)
    if view.has_column_names:
        _name_columns(ax, view)
    else:
        style.set_name_ticks(ax, "y", view.rows, range(1, len(view.rows) + 1), is_left_aligned=True)
        style.set_name_ticks(ax, "x", [])
        shown = np.arange(0, len(view.columns), 1 if len(view.columns) <= charts.MAX_NAMED_COLUMNS else 10)
        ax.set_xticks(shown, [*map("{:,}".format, shown + 1)])
        ax.set_xlabel(f"{view.text.x}, in the order of the rows")
    for i in range(min(view.percent.shape) * view.has_frames):
        side = 1.0 - 2.0 * FRAME_INSET
        ax.bar(i, side, side, i - 0.5 * side, fill=False, edgecolor=style.INK, linewidth=0.8, zorder=3, gid="frame")
    return ax


def _name_columns(ax: "Axes", view: charts.MatrixView) -> None:
    """Write the names of rows and columns; those of columns are upright where they have no room."""
    columns = view.columns if view.is_square else [x.replace(" ", "\n") for x in view.columns]
    is_upright = style.text_width(columns, 10.0) * len(columns) > style.axes_size(ax)[0]
    style.set_name_ticks(ax, "y", view.rows)
    style.set_name_ticks(ax, "x", columns)
    if not view.is_square:
        ax.xaxis.tick_top()
    elif is_upright:
        ax.tick_params(axis="x", rotation=90)


def _matrix_size(view: charts.MatrixView) -> tuple[float, float]:
    """The size of a figure in inches."""
    count = len(view.columns)
    if not view.is_square:
        return max(ROW_WIDTH, 2.6 + 0.6 * min(count, 12)), figure_size_for_rows(view.rows)[1]
    side = 1.6 + min(CELL_SIDE * count, LARGE_SIDE)
    room = style.CHARACTER_WIDTH * 10.0 / 72.0 * max(map(len, view.rows))
    return max(side + room + 0.6, ROW_WIDTH), side + (room if view.has_column_names else 0.4)


def _draw_cells(ax: "Axes", view: charts.MatrixView) -> None:
    """Draw percentages as colours, with numbers if these fit into the cells, otherwise with a colour bar."""
    ax.set_facecolor(style.RULE)  # colour of the diagonal
    look: dict[str, Any] = {"cmap": style.colour_map(view.colours), "interpolation": "nearest", "aspect": "auto"}
    image = ax.imshow(view.percent, vmin=0.0, vmax=view.greatest, **look)
    rows, columns = view.percent.shape
    ax.spines[:].set_visible(False)
    if max(rows, columns) <= charts.MAX_NAMED_COLUMNS:  # there is room for gaps between cells
        for draw, count in ((ax.axvline, columns), (ax.axhline, rows)):
            for edge in range(1, count):
                draw(edge - 0.5, color="white", linewidth=1.0)
    wide, high = style.axes_size(ax) / (columns, rows)
    size = min(style.SMALL_FONT, 0.7 * high, 0.5 * wide)  # fits three digits
    if size < 5.0 or not view.is_written:
        style.add_colour_bar(ax, image, view.quantity)
        return
    for i, j in np.argwhere(~np.isnan(view.percent)):
        colour = style.cell_text_colour(*image.to_rgba(view.percent[i, j])[:3])
        text = format_whole_percent(view.percent[i, j])
        ax.text(j, i, text, ha="center", va="center", color=colour, fontsize=size)


# Layers.


def _show_layers(view: charts.LayerView, ax: "Axes | None") -> "Axes":
    ax = style.make_picture_axes(ax, view.size, view.text, grid="both" if view.is_square else "y")
    is_shared = count_lines(ax, "layer") > 0
    for number, layer in enumerate(view.layers):
        LAYERS[layer.mark](ax, layer, 2.0 + 0.01 * number)
    if view.text.x == "date":
        style.label_time_axis(ax, view.text.x)
    else:
        _set_scale(ax, "x", view.x, is_shared=is_shared)
    _set_scale(ax, "y", view.y, is_shared=is_shared)
    if view.is_square:
        ax.set_aspect("equal", anchor="W")
    if any(layer.label for layer in view.layers):
        style.add_legend(ax, view.legend)
    return ax


def _draw_layer_line(ax: "Axes", layer: charts.Layer, order: float) -> None:
    marked: dict[str, Any] = {"marker": layer.marker, **LOOKS["dots"]} if layer.marker else {}
    ax.plot(
        layer.x, layer.y, color=layer.colour, linewidth=layer.width, linestyle=layer.dash or "none",
        drawstyle="steps-post" if layer.is_stepped else "default", label=layer.label or None, zorder=order, **marked,
    )  # fmt: skip


def _draw_layer_bars(ax: "Axes", layer: charts.Layer, order: float) -> None:
    bars = ax.vlines(
        layer.x, layer.y, np.asarray(layer.y2), layer.colour, linewidth=1.0, alpha=layer.opacity, zorder=order
    )
    bars.set_gid("interval")


def _draw_layer_boxes(ax: "Axes", layer: charts.Layer, order: float) -> None:
    look: dict[str, Any] = {"facecolor": layer.colour, "alpha": layer.opacity, "edgecolor": "white", "linewidth": 0.8}
    width, height = layer.x2 - layer.x, layer.y2 - layer.y
    ax.bar(layer.x, height, width, layer.y, align="edge", label=layer.label, zorder=order - 1.0, **look)


def _draw_layer_texts(ax: "Axes", layer: charts.Layer, order: float) -> None:
    colour = style.TEXT_COLOURS.get(layer.colour, layer.colour)
    for x, y, text in zip(layer.x, layer.y, layer.values, strict=True):
        look: dict[str, Any] = {"va": "center", "fontsize": style.SMALL_FONT, "zorder": order, "gid": "name"}
        style.add_halo(ax.annotate(text, (x, y), (3.0, 0.0), textcoords="offset points", color=colour, **look), 2.5)


def _draw_layer_heat(ax: "Axes", layer: charts.Layer, order: float) -> None:
    colours = style.colour_map(charts.SEQUENTIAL_COLOURS)
    ax.pcolormesh(layer.x, layer.y, layer.values, cmap=colours, vmin=0.0, vmax=1.0, rasterized=True, zorder=1.0)


LAYERS = {
    "line": _draw_layer_line,
    "bars": _draw_layer_bars,
    "boxes": _draw_layer_boxes,
    "texts": _draw_layer_texts,
    "heat": _draw_layer_heat,
}
PICTURES: dict[type, Any] = {
    charts.LineView: _show_lines,
    charts.RowView: _show_rows,
    charts.MatrixView: _show_matrix,
    charts.LayerView: _show_layers,
}
