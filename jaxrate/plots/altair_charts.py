"""Views as interactive charts, by Altair."""

import json
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
WIDTH, HEIGHT = 600, 360  # pixels of the axes; in a page, those of lines, rows and layers leave no room beside them
PICTURE_WIDTH = 780  # with names, where no page tells how wide a chart may be
CHARACTER_PIXELS = 6.6  # mean width of a character of a label
LABEL_FONT = 12
TITLE_LENGTH, SUBTITLE_LENGTH = 72, 110  # characters of a line
ROW_HEIGHT = 24
MAX_LABEL_LENGTH = 60
MAX_MATRIX_SIDE, MAX_CELL_SIDE = 760, 44
LABEL_LINE_HEIGHT = 15
NAME_GAP = 14  # pixels between a chart and the names beside it
PANEL_HEIGHT = 120
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
    "cell names": {"labelLimit": 400, "labelColor": INK, "domain": False, "ticks": False, "labelOverlap": False},
    "title": {"anchor": "start", "frame": "bounds", "color": INK, "offset": 14, "fontSize": 18,
              "font": "Georgia, serif", "subtitleColor": GREY, "subtitleFontSize": 13,
              "subtitlePadding": 6, "subtitleLineHeight": 17},
    "axis": {"labelColor": GREY, "titleColor": GREY, "titleFontWeight": "normal", "tickColor": GREY, "gridColor": RULE,
             "labelFontSize": LABEL_FONT, "titleFontSize": LABEL_FONT},
    "legend": {"symbolOpacity": 1, "symbolSize": 300, "symbolStrokeWidth": 2, "labelFontSize": LABEL_FONT,
               "labelColor": INK, "titleFontSize": LABEL_FONT, "titleColor": GREY, "titleFontWeight": "normal"},
}  # fmt: skip


def chart_of_rows(rows: list[dict[str, Any]]) -> Any:
    """An Altair chart of rows by name of column. Altair would look at each value, seconds for thousands of rows."""
    with altair.utils.schemapi.debug_mode(False):
        return altair.Chart(altair.Data(values=rows))


def make_tooltips(*columns: tuple[str, ...]) -> list[Any]:
    """What the pointer shows: columns by their shorthand and title, and of numbers the format."""
    return [altair.Tooltip(**dict(zip(("shorthand", "title", "format"), x, strict=False))) for x in columns]


def style_chart(chart: Any, text: charts.PictureText) -> Any:
    """The style of all plots: no box, a horizontal grid, and the title at the left; the source ends its subtitle."""
    subtitle = [*style.wrap_evenly(text.subtitle, SUBTITLE_LENGTH), *[text.source] * bool(text.source)]
    config = altair.Config(  # in one step, for each method that configures a chart copies it
        view=altair.ViewConfig(stroke=None, continuousWidth=PICTURE_WIDTH),
        axis=altair.AxisConfig(**LOOKS["axis"]),
        axisY=altair.AxisConfig(domain=False, ticks=False),
        legend=altair.LegendConfig(**LOOKS["legend"]),
        text=altair.MarkConfig(fontSize=LABEL_FONT),
    )
    title = altair.TitleParams(style.wrap_evenly(str(text.title), TITLE_LENGTH), subtitle=subtitle, **LOOKS["title"])
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
    labels = number_names(view.numbers, names) or names
    numbered = {"row": range(1, len(names) + 1), "label": labels, "name": names, "text": view.value_texts}
    chart = chart_of_rows(_rows_from_columns(**numbered, value=view.values, low=view.low, high=view.high))
    padding = 8.0 + CHARACTER_PIXELS * min(max(map(len, labels)), MAX_LABEL_LENGTH)
    height = ROW_HEIGHT * len(names)
    y = altair.Y("label:N", sort=None, title=None, axis=altair.Axis(
        labelLimit=padding, labelAlign="left", labelPadding=padding, labelColor=INK, grid=False))  # fmt: skip
    options = {"title": view.text.x, "scale": _scale_options(scale), "axis": _axis_options(scale, grid=True)}
    x, value = altair.X("low:Q", **options), altair.X("value:Q", **options)
    digits = "d" if view.are_ranks else ",.4~g" if view.are_differences else ",.1f"
    tooltip = make_tooltips(("name:N", "name"), ("row:Q",), ("value:Q", view.text.x, digits),
                            ("low:Q", "from", digits), ("high:Q", "to", digits))  # fmt: skip
    bars = chart.mark_rule(strokeWidth=5, color=COLOURS[0], opacity=0.3, strokeCap="round")
    hover = chart.mark_rule(strokeWidth=14, opacity=0)
    end = 8.0 + CHARACTER_PIXELS * max(map(len, [*view.value_texts, view.head]))
    written: dict[str, Any] = {"align": "right", "color": INK, "dx": end}
    layers = [
        bars.encode(x=x, x2="high:Q", y=y),
        chart.mark_circle(color=COLOURS[0], size=45, opacity=1).encode(x=value, y=y),
        hover.encode(x=x, x2="high:Q", y=y, tooltip=tooltip),
        chart.mark_text(**written).encode(x=altair.value("width"), y=y, text="text:N"),
    ]
    if view.are_differences:
        layers.insert(0, chart_of_rows([{"low": 0.0}]).mark_rule(color=GREY).encode(x=x))
    if view.head:
        head = chart_of_rows([{"text": view.head}]).mark_text(baseline="bottom", **written)
        layers.append(head.encode(x=altair.value("width"), y=altair.value(-2), text="text:N"))
    return style_chart(altair.layer(*layers).properties(width="container", height=height), view.text)


def matrix_chart(view: charts.MatrixView) -> Any:
    """Percentages in cells; the pointer shows the names of row and column."""
    text, (num_rows, num_columns) = view.text, view.percent.shape
    cell = min(max(MAX_MATRIX_SIDE // num_columns, 1), MAX_CELL_SIDE)
    width, height = max(cell * num_columns, WIDTH), (cell if view.is_square else ROW_HEIGHT + 6) * num_rows
    row_labels, column_labels = _matrix_labels(view)
    percents = np.linspace(0.0, view.greatest, len(view.colours)).tolist()
    row_axis = altair.Axis(values=row_labels[:: 1 if cell > LABEL_FONT else 10], **LOOKS["cell names"])
    x = altair.X("x:N", scale=altair.Scale(domain=column_labels), **_column_axis(view, column_labels, width))
    y = altair.Y("y:N", scale=altair.Scale(domain=row_labels), title=text.y or None, axis=row_axis)
    colours = altair.Scale(domain=percents, range=[*view.colours], interpolate="rgb")
    legend = None if view.is_written else altair.Legend()
    colour = altair.Color("percent:Q", title=view.quantity, scale=colours, legend=legend)
    names = ("row:N", text.y or "name"), ("column:N", text.x or "column")
    tooltip = make_tooltips(*names, ("percent:Q", view.quantity, ".1f"))
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
    return style_chart(chart, text)


def _matrix_labels(view: charts.MatrixView) -> tuple[list[str], list[str]]:
    """What rows and columns are called at the axes: by names, or by numbers that the names of the rows have, too."""
    if view.has_column_names:
        return view.rows, view.columns
    numbers = range(1, len(view.rows) + 1)
    return number_names(numbers, view.rows), [f"{number}" for number in numbers]


def _column_axis(view: charts.MatrixView, labels: list[str], width: int) -> dict[str, Any]:
    """The axis of the columns of a matrix, and its title; names are upright where they have no room."""
    look, room = LOOKS["cell names"], width / len(labels)
    angle = 0 if CHARACTER_PIXELS * max(map(len, labels)) < room or not view.has_column_names else -90
    if not view.has_column_names:
        shown = labels[:: 1 if room > 2 * LABEL_FONT else 10]
        title = f"{view.text.x}, in the order of the rows"
        return {"title": title, "axis": altair.Axis(values=shown, labelAngle=angle, **look)}
    orient = "bottom" if view.is_square else "top"
    return {"title": view.text.x or None, "axis": altair.Axis(orient=orient, labelAngle=angle, **look)}


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
    numbered = zip(style.pad_numbers(numbers), names, strict=False)
    return [f"\N{ZERO WIDTH SPACE}{number}\N{EN SPACE}{name}" for number, name in numbered]


def layer_chart(view: charts.LayerView) -> Any:
    """Layers; the pointer shows the numbers of points with markers, and of boxes."""
    x = altair.X(
        "x:Q", title=view.text.x, scale=_scale_options(view.x), axis=_axis_options(view.x, grid=view.is_square)
    )
    if view.text.x == "date":
        x = _time_axis(view.x.low, view.x.high)
    y = altair.Y("y:Q", title=view.text.y, scale=_scale_options(view.y), axis=_axis_options(view.y))
    layers: list[Any] = []
    for layer in view.layers:
        if layer.mark == "heat":
            layers.append(_heat_layer(layer, view.y))
            continue
        marks = _layer_marks(layer, view)
        layers += [mark.encode(x=x, y=y, **own, **_legend_channels(view, layer, own)) for mark, own in marks]
    width = HEIGHT if view.is_square else "container"
    return style_chart(altair.layer(*layers).properties(width=width, height=HEIGHT), view.text)


def _time_axis(begin: float, end: float) -> Any:
    """The axis of dates between two days since 1970-01-01."""
    scale = altair.Scale(domain=[MILLISECONDS * begin, MILLISECONDS * end], nice=False)
    return altair.X("x:T", title=None, scale=scale, axis=altair.Axis(grid=False, tickCount=8))


def _layer_marks(layer: charts.Layer, view: charts.LayerView) -> list[tuple[Any, dict[str, Any]]]:
    """The marks of a layer with the channels of their own, beside the places."""
    columns = {"x": layer.x, "y": layer.y, "x2": layer.x2, "y2": layer.y2, **dict(layer.tooltips)}
    rows = _rows_from_columns(**{name: values for name, values in columns.items() if values is not None})
    texts = layer.values if layer.mark == "texts" else [""] * len(rows)
    chart = chart_of_rows([{**row, "i": i, "label": layer.label, "text": texts[i]} for i, row in enumerate(rows)])
    parts = [(f"{name}:Q", name, ",.4~g") for name, _ in layer.tooltips]
    names = [("label:N", view.legend or "name")] * bool(layer.label)
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
    dots = chart.mark_point(clip=True, shape=SHAPES.get(layer.marker, "circle"), color=layer.colour, **LOOKS["marker"])
    line = chart.mark_line(clip=True, **look, **dash, **LOOKS["line"])
    return [(line, {"order": "i:Q"})] * bool(layer.dash) + [(dots, {"tooltip": tooltip})] * bool(layer.marker)


def _legend_channels(view: charts.LayerView, layer: charts.Layer, own: dict[str, Any]) -> dict[str, Any]:
    """The colour of a layer that has a label, and the dashes of its line, for the legend."""
    if not layer.label:
        return {}
    symbol = "square" if layer.mark == "boxes" else "stroke"
    looks = {"title": view.legend or None, "orient": "top", "columns": 2, "labelLimit": 400, "symbolType": symbol}
    about = [(x.label, x.colour, DASHES[x.dash or "-"]) for x in view.layers if x.label]
    (labels, colours, dashes), legend = map(list, zip(*about, strict=True)), altair.Legend(**looks)
    channels = {"color": altair.Color("label:N", scale=altair.Scale(domain=labels, range=colours), legend=legend)}
    if "order" in own:
        scale = altair.Scale(domain=labels, range=dashes)
        channels["strokeDash"] = altair.StrokeDash("label:N", scale=scale, legend=legend)
    return channels


def _heat_layer(layer: charts.Layer, scale: charts.Scale) -> Any:
    """A heat map as a picture, which thousands of cells would draw slowly."""
    edges = layer.x.astype("datetime64[us]").astype(float) if layer.x.dtype.kind == "M" else layer.x
    middles = [(np.arange(length) + 0.5) / length for length in (WIDTH, HEIGHT)]
    across = np.searchsorted(edges, edges[0] + (edges[-1] - edges[0]) * middles[0], side="right") - 1
    up = np.searchsorted(layer.y, scale.low + (scale.high - scale.low) * middles[1][::-1], side="right") - 1
    inside = (up >= 0) & (up < len(layer.y) - 1)
    levels = np.where(inside[:, None], layer.values[np.clip(up, 0, len(layer.y) - 2)][:, across], 0.0)
    palette = [charts.mix_colours(charts.SEQUENTIAL_COLOURS, x / 255) for x in range(256)]
    address = charts.image_address(np.round(255.0 * np.clip(levels, 0.0, 1.0)), palette)
    width = altair.ExprRef("width")
    image = chart_of_rows([{}]).mark_image(width=width, height=HEIGHT, aspect=False, align="left", baseline="top")
    return image.encode(x=altair.value(0), y=altair.value(0), url=altair.value(address))


def _rows_from_columns(**columns: Any) -> list[dict[str, Any]]:
    """The rows of columns for JSON: numbers to seven digits, None in place of NaN, and dates as text."""
    values = [_json_values(x) if isinstance(x, np.ndarray) else x for x in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def _json_values(values: HostArray) -> list[Any]:
    """The values of a column for JSON."""
    if values.dtype.kind == "M":
        return list(np.datetime_as_string(values, unit="s").tolist())
    return [None if np.isnan(x) else float(f"{x:.7g}") for x in values.astype(float).tolist()]


def line_chart(view: charts.LineView) -> Any:
    """Lines with names at their ends; the pointer shows the nearest point, and a wheel or a drag moves along time."""
    panels = view.panels
    if len(panels) == 1:
        layers = [*_line_layers(view), *_label_layers(view)]
        chart = altair.layer(*layers).properties(width="container", height=HEIGHT)
        return style_chart(chart.interactive(bind_y=False), view.text)
    num_columns = charts.count_panel_columns(len(panels))
    size = {"width": WIDTH // num_columns, "height": PANEL_HEIGHT}
    parts = []
    for panel in panels:
        line, colour = panel.lines[0], NAMED_COLOURS[panel.panel]
        look = {"anchor": "start", "fontSize": 12, "color": style.TEXT_COLOURS.get(colour, colour)}
        title = altair.TitleParams(line.name, subtitle=line.note, subtitleColor=GREY, offset=4, **look)
        parts.append(altair.layer(*_line_layers(panel)).properties(title=title, **size))
    chart = altair.concat(*parts, columns=num_columns, spacing=12)
    return style_chart(chart.resolve_scale(color="independent", strokeWidth="independent"), view.text)


def _line_layers(view: charts.LineView) -> list[Any]:
    """The layers of lines in front of grey ones, and the nearest point to the pointer."""
    x, y = _line_axes(view)
    names = [line.name for line in view.lines]
    scale = altair.Scale(domain=names, range=[*NAMED_COLOURS[view.panel : view.panel + len(names)]])
    colour = altair.Color("name:N", scale=scale, legend=None)
    interpolate = "step-after" if view.is_stepped else "linear"
    chart = chart_of_rows(_line_rows(view.lines))
    layers = _unnamed_layers(view.unnamed, x, y)
    if any(np.any(line.deviation) for line in view.lines):
        intervals = chart.mark_area(opacity=0.18, interpolate=interpolate)
        layers.append(intervals.encode(x=x, y=_replace_column(y, "low"), y2="high:Q", color=colour))
    if view.then:
        dashes = chart_of_rows(_line_rows(view.then)).mark_line(**LOOKS["then"])
        layers.append(dashes.encode(x=x, y=y, color=colour))
    scale = altair.Scale(type="ordinal", domain=names, range=view.widths)  # another type would interpolate
    widths = altair.StrokeWidth("name:N", scale=scale, legend=None)
    drawn = chart.mark_line(interpolate=interpolate, **LOOKS["line"])
    pointed = altair.selection_point(f"line{view.panel or ''}", on="pointerover", nearest=True, fields=["name"])
    faded = altair.condition(pointed, altair.value(1), altair.value(0.25))
    layers.append(drawn.encode(x=x, y=y, color=colour, strokeWidth=widths, opacity=faded))
    isolated = _line_rows(line.select(style.is_isolated(line.y)) for line in view.lines)
    for rows, look in ((isolated, "isolated"), (_dotted_rows(view), "dot")):
        layers += [chart_of_rows(rows).mark_circle(**LOOKS[look]).encode(x=x, y=y, color=colour)] * bool(rows)
    layers.append(_hover_layer(chart, view, x, y, pointed).encode(color=colour))
    return layers


def _dotted_rows(view: charts.LineView) -> list[dict[str, Any]]:
    """The points with dots, the highest on top: peaks of ratings, and last ranks."""
    points = [[len(line.y) - 1] if view.is_rank else [*line.peaks] for line in view.lines]
    rows = _line_rows(line.select(at) for line, at in zip(view.lines, points, strict=True))
    return sorted(rows, key=lambda row: row["y"] or 0.0)


def _time_range(view: charts.LineView) -> tuple[float, float]:
    """The first and the last time that is drawn, as numbers, and a little room."""
    lines = [*view.unnamed.lines, *view.lines, *view.then, *view.beside]
    times = np.concatenate([line.x_numbers()[~np.isnan(line.y)] for line in lines])
    room = TIME_ROOM * max(float(np.ptp(times)), 1.0)
    return float(times.min()) - room, float(times.max()) + room


def _line_axes(view: charts.LineView) -> tuple[Any, Any]:
    """The axes of all lines and bands of a view."""
    ends, scale = _time_range(view), view.scale
    x = altair.X("x:Q", title=view.text.x, scale=altair.Scale(domain=[*ends], nice=False),
                 axis=altair.Axis(grid=False, tickCount=8))  # fmt: skip
    if view.text.x == "date":
        x = _time_axis(*ends)
    return x, altair.Y("y:Q", title=view.text.y, scale=_scale_options(scale), axis=_axis_options(scale))


def _replace_column(axis: Any, column: str) -> Any:
    """The same axis for another column."""
    other = axis.copy()
    other.shorthand = f"{column}:Q"
    return other


def _unnamed_layers(players: charts.UnnamedPlayers, x: Any, y: Any) -> list[Any]:
    """Bands and lines in grey."""
    areas = [
        chart_of_rows(_rows_from_columns(**x._asdict())).mark_area(color=PALE, opacity=0.45) for x in players.bands
    ]
    layers = [area.encode(x=x, y=_replace_column(y, "low"), y2="high:Q") for area in areas]
    lines = chart_of_rows(_line_rows(players.lines)).mark_line(**LOOKS["median" if players.bands else "other"])
    return [*layers, *[lines.encode(x=x, y=y, detail="name:N")] * bool(players.lines)]


def _hover_layer(chart: Any, view: charts.LineView, x: Any, y: Any, line: Any) -> Any:
    """The point that is nearest to the pointer, with its name and numbers; `line` is the choice of its line."""
    row, text = "(datum.datum || datum)", view.text  # Vega looks for names of the nearest point in the wrong place
    at = f"timeFormat({row}.x, '%Y-%m-%d')" if text.x == "date" else f"format({row}.x, ',.6~g')"
    value = f"format({row}.y, '{',.0f' if view.is_rank else ',.1f'}')"
    shown = f"{{title: {row}.name, {json.dumps(text.x)}: {at}, {json.dumps(text.y)}: {value}}}"
    options = {"on": "pointerover", "nearest": True, "fields": ["name", "x"], "empty": False}
    nearest = altair.selection_point(f"nearest{view.panel or ''}", **options)
    opacity = altair.condition(nearest, altair.value(1), altair.value(0))
    tooltip = altair.TooltipValue(altair.ExprRef(shown))
    points = chart.mark_circle(size=50).encode(x=x, y=y, tooltip=tooltip, opacity=opacity)
    return points.add_params(nearest, line)


def _label_layers(view: charts.LineView) -> list[Any]:
    """Names at the ends of lines, or beside the chart, and the short lines that lead to them."""
    (begin, end), to_height, labels = _time_range(view), np.log if view.is_rank else np.asarray, []
    low, high = to_height([view.scale.low, view.scale.high])
    for line in view.lines:
        width = CHARACTER_PIXELS * max(map(len, line.label))
        up = (to_height(line.y) - low) / (high - low)
        points = np.stack([WIDTH * (line.x_numbers() - begin) / (end - begin), HEIGHT * up], axis=1)
        labels.append(LineLabel(points, line.label, width, LABEL_LINE_HEIGHT, line.told_points))
    layers: list[Any] = []
    places, (x, y), edge = place_line_end_labels(labels, (WIDTH, HEIGHT)), _line_axes(view), altair.value("width")
    for line, label, place, colour in zip(view.lines, labels, places, NAMED_COLOURS, strict=False):
        data = chart_of_rows([_line_rows([line])[place.point] | {"label": label.lines}])
        across, down = label.points[place.point] * (-1, 1) + (place.x or 0.0, -place.y)
        is_beside = place.x is None
        across = NAME_GAP if is_beside else across
        if place.leader is not None:
            share, up = place.leader
            ends = {"x2Offset": across - 1 + share * label.width, "y2Offset": down + (0.5 - up) * label.extent[1]}
            leader = data.mark_rule(color=colour, strokeWidth=0.8, clip=False, **ends)
            layers.append(leader.encode(x=x, y=y, x2=edge if is_beside else "x", y2="y"))
        down -= 0.5 * LABEL_LINE_HEIGHT * (len(label.lines) - 1)
        text = data.mark_text(color=style.TEXT_COLOURS.get(colour, GREY), dx=across, dy=down, **LOOKS["name"])
        layers.append(text.encode(x=edge if is_beside else x, y=y, text="label:N"))
    return layers


def _line_rows(lines: Iterable[charts.Line]) -> list[dict[str, Any]]:
    """The points of lines for JSON, with their intervals where there are any."""
    rows: list[dict[str, Any]] = []
    for line in lines:
        half = line.half_width
        ends = {"low": line.y - half, "high": line.y + half} if half.any() else {}
        rows += _rows_from_columns(name=[line.name] * len(line.x), x=line.x, y=line.y, **ends)
    return rows


CHARTS: dict[type, Any] = {
    charts.LineView: line_chart,
    charts.RowView: interval_chart,
    charts.MatrixView: matrix_chart,
    charts.LayerView: layer_chart,
}
