"""Views as interactive charts, by Altair."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.optional_imports import LazyModule
from jaxrate.core.text_format import format_whole_percent
from jaxrate.plots import plot_style as style
from jaxrate.plots.line_end_labels import LineLabel, place_line_end_labels
from jaxrate.plots.plot_style import COLOURS, GREY, INK, NAMED_COLOURS, PALE, PAPER, RULE
from jaxrate.views import charts

altair: Any = LazyModule("altair")
WIDTH, HEIGHT = 640, 360  # pixels
CHARACTER_PIXELS = 5.8  # mean width of a character of a label
LABEL_FONT = 10
SOURCE_DISTANCE = 42  # pixels from the bottom of a chart to the source, below labels and title of the axis
ROW_HEIGHT = 20
MAX_LABEL_LENGTH = 60
MAX_MATRIX_SIDE, MAX_CELL_SIDE = 700, 60
COLUMN_NUMBER_WIDTH = 26  # pixels from one number of a column to the next
LABEL_LINE_HEIGHT = 14
NAME_GAP = 14  # pixels between a chart and the names beside it
PANEL_HEIGHT = 110
TIME_ROOM = 0.01  # of the width of a chart, beside the first and the last time
MILLISECONDS = 86_400_000  # of a day
DASHES = {"-": [1, 0], "--": [6, 3], "-.": [6, 3, 1, 3], ":": [1, 2], "": [0, 1]}  # by the signs of Matplotlib
SHAPES = dict(
    zip(
        style.MARKERS,
        ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right"),
        strict=True,
    )
)
LOOKS: dict[str, dict[str, Any]] = {  # of marks, axes and texts
    "line": {"strokeJoin": "round", "strokeCap": "round"},  # a mitre is a spike at a peak
    "dot": {"size": 60, "opacity": 1, "stroke": "white"},
    "marker": {"filled": True, "size": 55, "opacity": 1, "stroke": "white", "strokeWidth": 0.8},
    "isolated": {"size": 7, "opacity": 1},
    "then": {"strokeWidth": 0.8, "strokeDash": [4, 3], "interpolate": "step-after"},
    "other": {"color": PALE, "strokeWidth": 0.7},
    "median": {"color": GREY, "strokeWidth": 1, "strokeDash": [1, 2]},
    "name": {"align": "left", "baseline": "middle", "clip": False, "lineHeight": LABEL_LINE_HEIGHT},
    "source": {"align": "left", "baseline": "top", "clip": False, "color": GREY, "fontSize": LABEL_FONT},
    "cell names": {"labelLimit": 400, "labelColor": INK, "domain": False, "ticks": False},
    "title": {"anchor": "start", "frame": "bounds", "color": INK, "offset": 14, "fontSize": 18,
              "font": "Georgia, serif", "subtitleColor": GREY, "subtitleFontSize": 12},
    "axis": {"labelColor": GREY, "titleColor": GREY, "titleFontWeight": "normal", "tickColor": GREY, "gridColor": RULE},
    "legend": {"symbolOpacity": 1, "labelColor": INK, "titleColor": GREY, "titleFontWeight": "normal"},
}  # fmt: skip


def chart_of_rows(rows: list[dict[str, Any]]) -> Any:
    """An Altair chart of rows by name of column. Altair would look at each value, seconds for thousands of rows."""
    with altair.utils.schemapi.debug_mode(False):
        return altair.Chart(altair.Data(values=rows))


def make_tooltips(*columns: tuple[str, str | None, str | None]) -> list[Any]:
    """What the pointer shows: columns by their shorthand, title and number format; None for those of Altair."""
    parts = [{"shorthand": name, "title": title, "format": form} for name, title, form in columns]
    return [altair.Tooltip(**{key: x for key, x in part.items() if x is not None}) for part in parts]


def style_chart(chart: Any, text: charts.PictureText, height: float | None) -> Any:
    """The style of all plots: no box, a horizontal grid, the title at the left, and the source below this height.

    Several charts have no height, and the source is at the end of their subtitle.
    """
    subtitle = style.wrap_evenly(text.subtitle, 120)
    if height is None:
        subtitle += [text.source] * bool(text.source)
    elif text.source:
        note = chart_of_rows([{"source": text.source}]).mark_text(**LOOKS["source"])
        chart += note.encode(x=altair.value(0), y=altair.value(height + SOURCE_DISTANCE), text="source:N")
    config = altair.Config(  # in one step, for each method that configures a chart copies it
        view=altair.ViewConfig(stroke=None),
        axis=altair.AxisConfig(**LOOKS["axis"]),
        axisY=altair.AxisConfig(domain=False, ticks=False),
        legend=altair.LegendConfig(**LOOKS["legend"]),
    )
    title = altair.TitleParams(str(text.title), subtitle=subtitle, **LOOKS["title"])
    return chart.properties(title=title, background=PAPER, padding=12, config=config)


def _scale_options(scale: charts.Scale, **options: Any) -> Any:
    """The scale of an axis in Altair."""
    kind = {"type": "log"} if scale.is_logarithmic else {"zero": False}
    low, high = sorted((scale.low, scale.high))
    return altair.Scale(domain=[low, high], nice=False, reverse=scale.low > scale.high, **kind, **options)


def _axis_options(scale: charts.Scale, **options: Any) -> Any:
    """The axis of a scale in Altair, with its ticks."""
    return altair.Axis(values=[*scale.ticks], format=",.6~g", **options)


def interval_chart(view: charts.RowView) -> Any:
    """A row for each player with the interval of their value, which stands at the right, too."""
    names, scale = view.labels, view.scale
    labels = number_names(view.numbers, names) if len(view.numbers) else names
    numbered = {"row": range(1, len(names) + 1), "label": labels, "name": names, "text": view.value_texts}
    chart = chart_of_rows(_rows_of(**numbered, value=view.values, low=view.low, high=view.high))
    padding = 8.0 + CHARACTER_PIXELS * min(max(map(len, labels)), MAX_LABEL_LENGTH)
    height = ROW_HEIGHT * len(names)
    y = altair.Y("label:N", sort=None, title=None, axis=altair.Axis(
        labelLimit=padding, labelAlign="left", labelPadding=padding, labelColor=INK, grid=False))  # fmt: skip
    options = {"title": view.text.x, "scale": _scale_options(scale), "axis": _axis_options(scale, grid=True)}
    x, value = altair.X("low:Q", **options), altair.X("value:Q", **options)
    digits = "d" if view.are_ranks else ",.4~g" if view.are_differences else ",.1f"
    tooltip = make_tooltips(("name:N", "name", None), ("row:Q", None, None), ("value:Q", view.text.x, digits),
                            ("low:Q", "from", digits), ("high:Q", "to", digits))  # fmt: skip
    bars = chart.mark_rule(strokeWidth=5, color=COLOURS[0], opacity=0.3, strokeCap="round")
    hover = chart.mark_rule(strokeWidth=14, opacity=0)
    written = chart.mark_text(align="left", color=INK, clip=False)
    layers = [
        bars.encode(x=x, x2="high:Q", y=y),
        chart.mark_circle(color=COLOURS[0], size=45, opacity=1).encode(x=value, y=y),
        hover.encode(x=x, x2="high:Q", y=y, tooltip=tooltip),
        written.encode(x=altair.value(WIDTH + 8), y=y, text="text:N"),
    ]
    if view.are_differences:
        layers.insert(0, chart_of_rows([{"low": 0.0}]).mark_rule(color=GREY).encode(x=x))
    if view.head:
        head = chart_of_rows([{"text": view.head}]).mark_text(align="left", baseline="bottom", color=INK, clip=False)
        layers.append(head.encode(x=altair.value(WIDTH + 8), y=altair.value(-2), text="text:N"))
    return style_chart(altair.layer(*layers).properties(width=WIDTH, height=height), view.text, height)


def matrix_chart(view: charts.MatrixView) -> Any:
    """Percentages in cells; the pointer shows the names of row and column."""
    text, (num_rows, num_columns) = view.text, view.percent.shape
    cell = min(max(MAX_MATRIX_SIDE // num_columns, 1), MAX_CELL_SIDE)
    width, height = cell * num_columns, (cell if view.is_square else ROW_HEIGHT + 6) * num_rows
    row_labels, column_labels = _matrix_labels(view)
    y_title, percents = text.y or None, np.linspace(0.0, view.greatest, len(view.colours)).tolist()
    font = min(LABEL_FONT, 0.9 * height / num_rows)
    row_axis = altair.Axis(labelOverlap=False, labelFontSize=font, **LOOKS["cell names"])
    x = altair.X("x:N", scale=altair.Scale(domain=column_labels), **_column_axis(view, column_labels, width))
    y = altair.Y("y:N", scale=altair.Scale(domain=row_labels), title=y_title, axis=row_axis)
    colours = altair.Scale(domain=percents, range=[*view.colours], interpolate="rgb")
    legend = None if view.is_written else altair.Legend()
    colour = altair.Color("percent:Q", title=view.quantity, scale=colours, legend=legend)
    row_tooltip, column_tooltip = ("row:N", text.y or "name", None), ("column:N", text.x or "column", None)
    tooltip = make_tooltips(row_tooltip, column_tooltip, ("percent:Q", view.quantity, ".1f"))
    rows = _cell_rows(view, row_labels, column_labels)
    cells = chart_of_rows(rows)
    edge = "white" if view.is_written else None
    layers = [cells.mark_rect(stroke=edge).encode(x=x, y=y, color=colour, tooltip=tooltip)]
    if view.has_frames:
        frames = chart_of_rows([row for row in rows if row["row"] == row["column"]])
        layers.append(frames.mark_rect(fill=None, stroke=INK).encode(x=x, y=y))
    if view.is_written:
        layers.append(cells.mark_text().encode(x=x, y=y, text="text:N", color=altair.Color("colour:N", scale=None)))
    chart = altair.layer(*layers).resolve_scale(color="independent")
    chart = chart.properties(width=width, height=height, view=altair.ViewConfig(fill=RULE, stroke=None))
    turned = view.is_diverging and view.has_column_names
    return style_chart(chart, text, height + turned * 0.85 * CHARACTER_PIXELS * max(map(len, view.columns)))


def _matrix_labels(view: charts.MatrixView) -> tuple[list[str], list[str]]:
    """What rows and columns are called at the axes: by names, or by numbers that the names of the rows have, too."""
    if view.has_column_names:
        return view.rows, view.columns
    numbers = range(1, len(view.rows) + 1)
    return number_names(numbers, view.rows), [f"{number}" for number in numbers]


def _column_axis(view: charts.MatrixView, labels: list[str], width: int) -> dict[str, Any]:
    """The axis of the columns of a matrix, and its title."""
    look, title = LOOKS["cell names"], view.text.x or None
    if not view.has_column_names:
        shown = labels[:: 1 if COLUMN_NUMBER_WIDTH * len(labels) <= width else 10]
        return {"title": f"{title}, in the order of the rows", "axis": altair.Axis(values=shown, labelAngle=0, **look)}
    if view.is_diverging:
        return {"title": title, "axis": altair.Axis(labelOverlap=True, labelSeparation=5, **look)}
    return {"title": title, "axis": altair.Axis(labelAngle=0, orient="bottom" if view.has_frames else "top", **look)}


def _cell_rows(view: charts.MatrixView, row_labels: list[str], column_labels: list[str]) -> list[dict[str, Any]]:
    """The cells of a matrix that have a value, for JSON; of small ones the text and its colour, too."""
    rows: list[dict[str, Any]] = []
    for i, j in np.argwhere(~np.isnan(view.percent)).tolist():
        value = float(view.percent[i, j])
        row = {"row": view.rows[i], "column": view.columns[j], "percent": round(value, 2)}
        row |= {"y": row_labels[i], "x": column_labels[j]}
        if view.is_written:
            colour = style.cell_text_colour(*charts.mix_colours(view.colours, value / view.greatest))
            row |= {"text": format_whole_percent(value), "colour": colour}
        rows.append(row)
    return rows


def number_names(numbers: Sequence[int], names: Sequence[str]) -> list[str]:
    """Names with numbers before them; the first character keeps Vega from removing the spaces before a number."""
    numbered = zip(style.pad_numbers(numbers), names, strict=True)
    return [f"\N{ZERO WIDTH SPACE}{number}\N{EN SPACE}{name}" for number, name in numbered]


def layer_chart(view: charts.LayerView) -> Any:
    """Layers; the pointer shows the numbers of points with markers, and of boxes."""
    is_dated = view.text.x == "date"
    unit = MILLISECONDS if is_dated else 1
    scale = _scale_options(view.x._replace(low=view.x.low * unit, high=view.x.high * unit))
    axis = altair.Axis(grid=False, tickCount=8) if is_dated else _axis_options(view.x, grid=view.is_square)
    x = altair.X("x:T" if is_dated else "x:Q", title=None if is_dated else view.text.x, scale=scale, axis=axis)
    y = altair.Y("y:Q", title=view.text.y, scale=_scale_options(view.y), axis=_axis_options(view.y))
    size = HEIGHT if view.is_square else WIDTH, HEIGHT
    layers: list[Any] = []
    for layer in view.layers:
        marks = [(_heat_layer(layer, view.y, size), {})] if layer.mark == "heat" else _layer_marks(layer, view)
        places = {} if layer.mark == "heat" else {"x": x, "y": y}
        layers += [mark.encode(**places, **own, **_legend_channels(view, layer, own)) for mark, own in marks]
    return style_chart(altair.layer(*layers).properties(width=size[0], height=HEIGHT), view.text, HEIGHT)


def _layer_marks(layer: charts.Layer, view: charts.LayerView) -> list[tuple[Any, dict[str, Any]]]:
    """The marks of a layer with the channels of their own, beside the places."""
    columns = {"x": layer.x, "y": layer.y, "x2": layer.x2, "y2": layer.y2, **dict(layer.tooltips)}
    rows = _rows_of(**{name: values for name, values in columns.items() if values is not None})
    texts = layer.values if layer.mark == "texts" else [""] * len(rows)
    chart = chart_of_rows([{**row, "i": i, "label": layer.label, "text": texts[i]} for i, row in enumerate(rows)])
    parts = [(f"{name}:Q", name, ",.4~g") for name, _ in layer.tooltips]
    names = [("label:N", view.legend or "name", None)] * bool(layer.label)
    tooltip = make_tooltips(*names, ("x:Q", view.text.x, ",.4~g"), ("y:Q", view.text.y, ",.4~g"), *parts)
    look: dict[str, Any] = {"color": layer.colour, "opacity": layer.opacity}
    if layer.mark == "bars":
        return [(chart.mark_rule(**look), {"y2": "y2:Q"})]
    if layer.mark == "boxes":
        return [(chart.mark_rect(stroke="white", **look), {"x2": "x2:Q", "y2": "y2:Q", "tooltip": tooltip})]
    if layer.mark == "texts":
        colour = style.TEXT_COLOURS.get(layer.colour, layer.colour)
        return [(chart.mark_text(align="left", baseline="middle", dx=4, color=colour, clip=False), {"text": "text:N"})]
    way = "step-after" if layer.is_stepped else "linear"
    dash = {"strokeWidth": layer.width, "strokeDash": DASHES[layer.dash], "interpolate": way}
    dots = chart.mark_point(shape=SHAPES.get(layer.marker, "circle"), color=layer.colour, **LOOKS["marker"])
    line = chart.mark_line(**look, **dash, **LOOKS["line"])
    return [(line, {"order": "i:Q"})] * bool(layer.dash) + [(dots, {"tooltip": tooltip})] * bool(layer.marker)


def _legend_channels(view: charts.LayerView, layer: charts.Layer, own: dict[str, Any]) -> dict[str, Any]:
    """The colour of a layer that has a label, and the dashes of its line or the shape of its dots, for the legend."""
    if not layer.label or layer.mark == "texts":
        return {}
    labelled = [x for x in view.layers if x.label]
    labels = [x.label for x in labelled]
    legend = altair.Legend(title=view.legend or None, orient="top", columns=2, labelLimit=400)

    def channel(kind: Any, values: list[Any]) -> Any:
        return kind("label:N", scale=altair.Scale(domain=labels, range=values), legend=legend)

    channels = {"color": channel(altair.Color, [x.colour for x in labelled])}
    if "order" in own:
        channels["strokeDash"] = channel(altair.StrokeDash, [DASHES[x.dash] for x in labelled])
    elif layer.mark == "line":
        channels["shape"] = channel(altair.Shape, [SHAPES.get(x.marker, "stroke") for x in labelled])
    return channels


def _heat_layer(layer: charts.Layer, scale: charts.Scale, size: tuple[int, int]) -> Any:
    """A heat map as a picture of this size in pixels, which thousands of cells would draw slowly."""
    edges = layer.x.astype("datetime64[us]").astype(float) if layer.x.dtype.kind == "M" else layer.x
    middles = [(np.arange(length) + 0.5) / length for length in size]
    across = np.searchsorted(edges, edges[0] + (edges[-1] - edges[0]) * middles[0], side="right") - 1
    up = np.searchsorted(layer.y, scale.low + (scale.high - scale.low) * middles[1][::-1], side="right") - 1
    inside = (up >= 0) & (up < len(layer.y) - 1)
    levels = np.where(inside[:, None], layer.values[np.clip(up, 0, len(layer.y) - 2)][:, across], 0.0)
    palette = [charts.mix_colours(charts.SEQUENTIAL_COLOURS, x / 255) for x in range(256)]
    address = charts.image_address(np.round(255.0 * np.clip(levels, 0.0, 1.0)), palette)
    image = chart_of_rows([{}]).mark_image(width=size[0], height=size[1], aspect=False, align="left", baseline="top")
    return image.encode(x=altair.value(0), y=altair.value(0), url=altair.value(address))


def _rows_of(**columns: Any) -> list[dict[str, Any]]:
    """The rows of columns for JSON: numbers to seven digits, None in place of NaN, and dates as text."""
    values = [_json_values(x) if isinstance(x, np.ndarray) else x for x in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def _json_values(values: HostArray) -> list[Any]:
    """The values of a column for JSON."""
    if values.dtype.kind == "M":
        return list(np.datetime_as_string(values, unit="s").tolist())
    return [None if np.isnan(x) else float(f"{x:.7g}") for x in values.astype(float).tolist()]


def line_chart(view: charts.LineView) -> Any:
    """Lines with names at their ends; the pointer shows the nearest point, and a wheel or a drag moves along time.

    Lines that have panels stand below each other, each with its name above it.
    """
    panels = view.panels
    if len(panels) == 1:
        layers = [*_line_layers(view), *_label_layers(view)]
        chart = altair.layer(*layers).properties(width=WIDTH, height=HEIGHT)
        return style_chart(chart.interactive(bind_y=False), view.text, HEIGHT)
    num_columns = charts.count_panel_columns(len(panels))
    size = {"width": WIDTH // num_columns, "height": PANEL_HEIGHT}
    parts = []
    for panel in panels:
        line, colour = panel.lines[0], NAMED_COLOURS[panel.panel or 0]
        look = {"anchor": "start", "fontSize": 12, "color": style.TEXT_COLOURS.get(colour, colour)}
        title = altair.TitleParams(line.name, subtitle=line.note, subtitleColor=GREY, offset=4, **look)
        parts.append(altair.layer(*_line_layers(panel)).properties(title=title, **size))
    chart = altair.concat(*parts, columns=num_columns, spacing=12)
    return style_chart(chart.resolve_scale(color="independent", strokeWidth="independent"), view.text, None)


def _line_layers(view: charts.LineView) -> list[Any]:
    """The layers of lines in front of grey ones, and the nearest point to the pointer."""
    x, y = _line_axes(view)
    names = [line.name for line in view.lines]
    first = view.panel or 0
    scale = altair.Scale(domain=names, range=[*NAMED_COLOURS[first : first + len(names)]])
    colour = altair.Color("name:N", scale=scale, legend=None)
    interpolate = "step-after" if view.is_stepped else "linear"
    chart = chart_of_rows(_line_rows(view.lines))
    layers = _unnamed_layers(view.unnamed, x, y)
    if any(line.deviation is not None for line in view.lines):
        intervals = chart.mark_area(opacity=0.18, interpolate=interpolate)
        layers.append(intervals.encode(x=x, y=_replace_column(y, "low"), y2="high:Q", color=colour))
    if view.then:
        dashes = chart_of_rows(_line_rows(view.then)).mark_line(**LOOKS["then"])
        layers.append(dashes.encode(x=x, y=y, color=colour))
    scale = altair.Scale(type="ordinal", domain=names, range=view.widths)  # another type would interpolate
    widths = altair.StrokeWidth("name:N", scale=scale, legend=None)
    drawn = chart.mark_line(interpolate=interpolate, **LOOKS["line"])
    layers.append(drawn.encode(x=x, y=y, color=colour, strokeWidth=widths))
    isolated = _line_rows(line.select(style.is_isolated(line.y)) for line in view.lines)
    for rows, look in ((isolated, "isolated"), (_dotted_rows(view), "dot")):
        layers += [chart_of_rows(rows).mark_circle(**LOOKS[look]).encode(x=x, y=y, color=colour)] * bool(rows)
    layers.append(_hover_layer(chart, view, x, y).encode(color=colour))
    return layers


def _dotted_rows(view: charts.LineView) -> list[dict[str, Any]]:
    """The points with dots, the highest on top: peaks of ratings, and last ranks."""
    points = [len(line.y) - 1 if view.is_rank else line.peak for line in view.lines]
    rows = [_line_rows([line])[i] for line, i in zip(view.lines, points, strict=True) if i is not None]
    return sorted(rows, key=lambda row: row["y"] or 0.0)


def _time_range(view: charts.LineView) -> tuple[float, float]:
    """The first and the last time that is drawn, as numbers, and a little room."""
    lines = [*view.unnamed.lines, *view.lines, *view.then]
    times = np.concatenate([line.x_numbers()[~np.isnan(line.y)] for line in lines])
    room = TIME_ROOM * max(float(np.ptp(times)), 1.0)
    return float(times.min()) - room, float(times.max()) + room


def _line_axes(view: charts.LineView) -> tuple[Any, Any]:
    """The axes of all lines and bands of a view."""
    is_dated, scale = view.text.x == "date", view.scale
    shorthand, title, unit = ("x:T", None, MILLISECONDS) if is_dated else ("x:Q", view.text.x, 1)
    domain = altair.Scale(domain=[x * unit for x in _time_range(view)], nice=False)
    x = altair.X(shorthand, title=title, scale=domain, axis=altair.Axis(grid=False, tickCount=8))
    return x, altair.Y("y:Q", title=view.text.y, scale=_scale_options(scale), axis=_axis_options(scale))


def _replace_column(axis: Any, column: str) -> Any:
    """The same axis for another column."""
    other = axis.copy()
    other.shorthand = f"{column}:Q"
    return other


def _unnamed_layers(players: charts.UnnamedPlayers, x: Any, y: Any) -> list[Any]:
    """Bands and lines in grey."""
    layers = []
    for band in players.bands:
        grey = chart_of_rows(_rows_of(**band._asdict()))
        layers.append(grey.mark_area(color=PALE, opacity=0.45).encode(x=x, y=_replace_column(y, "low"), y2="high:Q"))
    if players.lines:
        grey = chart_of_rows(_line_rows(players.lines)).mark_line(**LOOKS["median" if players.bands else "other"])
        layers.append(grey.encode(x=x, y=y, detail="name:N"))
    return layers


def _hover_layer(chart: Any, view: charts.LineView, x: Any, y: Any) -> Any:
    """The point that is nearest to the pointer, with its name and numbers."""
    text, is_dated = view.text, view.text.x == "date"
    tooltip = make_tooltips(
        ("name:N", "name", None),
        (x.shorthand, text.x, "%Y-%m-%d" if is_dated else ",.6~g"),
        ("y:Q", text.y, ",.0f" if view.is_rank else ",.1f"),
    )
    options = {"on": "pointerover", "nearest": True, "fields": ["name", "x"], "empty": False}
    nearest = altair.selection_point(f"nearest{view.panel or ''}", **options)
    opacity = altair.condition(nearest, altair.value(1), altair.value(0))
    points = chart.mark_circle(size=50).encode(x=x, y=y, tooltip=tooltip, opacity=opacity)
    return points.add_params(nearest)


def _label_layers(view: charts.LineView) -> list[Any]:
    """Names at the ends of lines, or beside the chart, and the short lines that lead to them."""
    (begin, end), to_height, labels = _time_range(view), np.log if view.is_rank else np.asarray, []
    low, high = to_height([view.scale.low, view.scale.high])
    for line in view.lines:
        width = CHARACTER_PIXELS * max(map(len, line.label))
        up = (to_height(line.y) - low) / (high - low)
        points = np.stack([WIDTH * (line.x_numbers() - begin) / (end - begin), HEIGHT * up], axis=1)
        labels.append(LineLabel(points, line.label, width, LABEL_LINE_HEIGHT, line.told_peak))
    layers: list[Any] = []
    for label, place, colour in zip(
        labels, place_line_end_labels(labels, (WIDTH, HEIGHT)), NAMED_COLOURS, strict=False
    ):
        left, down = WIDTH + NAME_GAP if place.x is None else place.x, HEIGHT - place.y
        data = chart_of_rows([{"name": label.lines[0], "label": label.lines}])
        if place.leader is not None:
            begin_x, begin_y = label.points[place.point].tolist()
            across, up = place.leader
            ends = begin_x, HEIGHT - begin_y, left - 1 + across * label.width, down + (0.5 - up) * label.extent[1]
            leader = data.mark_rule(color=colour, strokeWidth=0.8, clip=False)
            layers.append(leader.encode(**dict(zip(("x", "y", "x2", "y2"), map(altair.value, ends), strict=True))))
        middle = -0.5 * LABEL_LINE_HEIGHT * (len(label.lines) - 1)
        text = data.mark_text(color=style.TEXT_COLOURS.get(colour, GREY), dy=middle, **LOOKS["name"])
        layers.append(text.encode(x=altair.value(left), y=altair.value(down), text="label:N"))
    return layers


def _line_rows(lines: Iterable[charts.Line]) -> list[dict[str, Any]]:
    """The points of lines for JSON, with their intervals where there are any."""
    rows: list[dict[str, Any]] = []
    for line in lines:
        half = line.half_width
        ends = {} if line.deviation is None else {"low": line.y - half, "high": line.y + half}
        points = _rows_of(name=[line.name] * len(line.x), x=line.x, y=line.y, **ends)
        rows += [{key: x for key, x in row.items() if x is not None or key == "y"} for row in points]
    return rows


CHARTS: dict[type, Any] = {
    charts.LineView: line_chart,
    charts.RowView: interval_chart,
    charts.MatrixView: matrix_chart,
    charts.LayerView: layer_chart,
}
