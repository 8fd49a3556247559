"""Views as interactive charts, by Altair."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

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
MAX_MATRIX_SIDE = 700
COLUMN_NUMBER_WIDTH = 26  # pixels from one number of a column to the next
LABEL_LINE_HEIGHT = 14
NAME_GAP = 14  # pixels between a chart and the names beside it
DATA_ROOM = 0.03  # of the height of a chart, above and below the data
MILLISECONDS = 86_400_000  # of a day
LOOKS: dict[str, dict[str, Any]] = {  # of marks, axes and texts
    "dot": {"size": 60, "opacity": 1, "stroke": "white"},
    "isolated": {"size": 7, "opacity": 1},
    "then": {"strokeWidth": 0.8, "strokeDash": [4, 3], "interpolate": "step-after"},
    "other": {"color": PALE, "strokeWidth": 0.7},
    "median": {"color": GREY, "strokeWidth": 1, "strokeDash": [1, 2]},
    "diagonal": {"color": GREY, "strokeDash": [4, 4], "strokeWidth": 1},
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


def style_chart(chart: Any, text: charts.PictureText, height: float) -> Any:
    """The style of all plots: no box, a horizontal grid, the title at the left, and the source below this height."""
    if text.source:
        note = chart_of_rows([{"source": text.source}]).mark_text(**LOOKS["source"])
        chart += note.encode(x=altair.value(0), y=altair.value(height + SOURCE_DISTANCE), text="source:N")
    config = altair.Config(  # in one step, for each method that configures a chart copies it
        view=altair.ViewConfig(stroke=None),
        axis=altair.AxisConfig(**LOOKS["axis"]),
        axisY=altair.AxisConfig(domain=False, ticks=False),
        legend=altair.LegendConfig(**LOOKS["legend"]),
    )
    title = altair.TitleParams(str(text.title), subtitle=style.wrap_evenly(text.subtitle, 120), **LOOKS["title"])
    return chart.properties(title=title, background=PAPER, padding=12, config=config)


def interval_chart(view: charts.RowView) -> Any:
    """A row for each player with the interval of their value, which stands at the right, too."""
    text, names, values, half_widths, value_texts, numbers, *_ = view
    half = np.zeros(len(names)) if half_widths is None else half_widths
    labels = number_names(numbers, names) if numbers else names
    numbered = {"row": range(1, len(names) + 1), "label": labels, "name": names, "text": value_texts}
    chart = chart_of_rows(_rows_of(**numbered, value=values, low=values - half, high=values + half))
    padding = 8.0 + CHARACTER_PIXELS * min(max(map(len, labels)), MAX_LABEL_LENGTH)
    height = ROW_HEIGHT * len(names)
    y = altair.Y("label:N", sort=None, title=None, axis=altair.Axis(
        labelLimit=padding, labelAlign="left", labelPadding=padding, labelColor=INK, grid=False))  # fmt: skip
    scale = altair.Scale(zero=False)
    x = altair.X("low:Q", title=text.x, scale=scale, axis=altair.Axis(grid=True, tickCount=6, format=",.6~g"))
    tooltip = make_tooltips(("name:N", "name", None), ("row:Q", None, None), ("value:Q", text.x, ",.1f"),
                            ("low:Q", "from", ",.1f"), ("high:Q", "to", ",.1f"))  # fmt: skip
    bars = chart.mark_bar(height=5, color=COLOURS[0], opacity=0.3, cornerRadius=2)
    dots = chart.mark_circle(color=COLOURS[0], size=45, opacity=1)
    hover = chart.mark_rule(strokeWidth=14, opacity=0)
    written = chart.mark_text(align="left", color=INK, clip=False)
    layers = [
        bars.encode(x=x, x2="high:Q", y=y),
        dots.encode(x=altair.X("value:Q", scale=scale), y=y),
        hover.encode(x=x, x2="high:Q", y=y, tooltip=tooltip),
        written.encode(x=altair.value(WIDTH + 8), y=y, text="text:N"),
    ]
    return style_chart(altair.layer(*layers).properties(width=WIDTH, height=height), text, height)


def matrix_chart(view: charts.MatrixView) -> Any:
    """Cells of percentages of each in rows against each other; the pointer shows both names."""
    text, names, _ = view
    count = len(names)
    side = count * min(34 if view.is_written else 24, max(MAX_MATRIX_SIDE // count, 1))
    look = LOOKS["cell names"]
    row_labels, column_labels, title, name_height = names, names, text.x, 0.85 * CHARACTER_PIXELS * max(map(len, names))
    column_axis = altair.Axis(labelOverlap=True, labelSeparation=5, **look)
    if not view.has_column_names:
        row_labels = number_names(range(1, count + 1), names)
        column_labels, name_height = [f"{i + 1}" for i in range(count)], 0.0
        title = f"{text.x}, in the order of the rows"
        shown = column_labels[:: 1 if COLUMN_NUMBER_WIDTH * count <= side else 10]
        column_axis = altair.Axis(values=shown, labelAngle=0, **look)
    font = min(LABEL_FONT, 0.9 * side / count)
    row_axis = altair.Axis(labelOverlap=False, labelFontSize=font, **look)
    x = altair.X("x:N", scale=altair.Scale(domain=column_labels), title=title, axis=column_axis)
    y = altair.Y("y:N", scale=altair.Scale(domain=row_labels), title=None, axis=row_axis)
    percents = np.linspace(0.0, 100.0, len(charts.DIVERGING_COLOURS)).tolist()
    colours = altair.Scale(domain=percents, range=[*charts.DIVERGING_COLOURS], interpolate="rgb")
    colour = altair.Color("percent:Q", title=text.y, scale=colours, legend=None if view.is_written else altair.Legend())
    tooltip = make_tooltips(("row:N", "name", None), ("column:N", "against", None), ("percent:Q", text.y, ".1f"))
    data = chart_of_rows(_cell_rows(view, row_labels, column_labels))
    chart = data.mark_rect(stroke="white" if view.is_written else None)
    chart = chart.encode(x=x, y=y, color=colour, tooltip=tooltip)
    if view.is_written:
        written = data.mark_text().encode(x=x, y=y, text="text:N", color=altair.Color("colour:N", scale=None))
        chart = altair.layer(chart, written).resolve_scale(color="independent")
    chart = chart.properties(width=side, height=side, view=altair.ViewConfig(fill=RULE, stroke=None))
    return style_chart(chart, text, side + name_height)


def _cell_rows(view: charts.MatrixView, row_labels: list[str], column_labels: list[str]) -> list[dict[str, Any]]:
    """The cells of a matrix that have a value, for JSON; of small ones the text and its colour, too."""
    rows: list[dict[str, Any]] = []
    for i, j in np.argwhere(~np.isnan(view.percent)).tolist():
        value = float(view.percent[i, j])
        row = {"row": view.names[i], "column": view.names[j], "percent": round(value, 2)}
        row |= {"y": row_labels[i], "x": column_labels[j]}
        if view.is_written:
            colour = style.cell_text_colour(*charts.mix_colours(charts.DIVERGING_COLOURS, value / 100.0))
            row |= {"text": format_whole_percent(value), "colour": colour}
        rows.append(row)
    return rows


def number_names(numbers: Sequence[int], names: Sequence[str]) -> list[str]:
    """Names with numbers before them; the first character keeps Vega from removing the spaces before a number."""
    numbered = zip(style.pad_numbers(numbers), names, strict=True)
    return [f"\N{ZERO WIDTH SPACE}{number}\N{EN SPACE}{name}" for number, name in numbered]


def calibration_chart(text: charts.PictureText, curves: Sequence[charts.Curve]) -> Any:
    """Observed by predicted scores in percent of each system; the pointer shows the numbers of predictions."""
    labels, percent = [curve.label for curve in curves], altair.Scale(domain=[0, 100])
    ticks = [20, 40, 60, 80, 100]  # the zero in the corner is that of both axes
    x_options = {"title": text.x, "scale": percent, "axis": altair.Axis(values=[0, *ticks], format="d")}
    y_options = {"title": text.y, "scale": percent, "axis": altair.Axis(values=ticks, format="d")}
    x, observed = altair.X("predicted:Q", **x_options), altair.Y("observed:Q", **y_options)
    scale = altair.Scale(domain=labels, range=[COLOURS[i % len(COLOURS)] for i in range(len(labels))])
    legend = altair.Legend(title="calibration error (%)") if labels[0] else None
    colour = altair.Color("system:N", scale=scale, legend=legend)
    parts = ("predicted:Q", None, ".1f"), ("observed:Q", None, ".1f"), ("low:Q", None, ".1f"), ("high:Q", None, ".1f")
    tooltip = make_tooltips(("system:N", None, None), *parts, ("count:Q", None, ",.0f"))
    diagonal = chart_of_rows([{"x": 0, "y": 0}, {"x": 100, "y": 100}]).mark_line(**LOOKS["diagonal"])
    rows = [
        _rows_of(system=[x.label] * len(x.x), predicted=x.x, observed=x.y, low=x.low, high=x.high, count=x.weight)
        for x in curves
    ]
    chart = chart_of_rows([*chain.from_iterable(rows)])
    layers = [
        diagonal.encode(x=altair.X("x:Q", **x_options), y=altair.Y("y:Q", **y_options)),
        chart.mark_rule(opacity=0.5).encode(x=x, y=altair.Y("low:Q", **y_options), y2="high:Q", color=colour),
        chart.mark_line(strokeWidth=1.2).encode(x=x, y=observed, color=colour),
        chart.mark_circle(size=50, opacity=1).encode(x=x, y=observed, color=colour, tooltip=tooltip),
    ]
    return style_chart(altair.layer(*layers).properties(width=HEIGHT, height=HEIGHT), text, HEIGHT)


def _rows_of(**columns: Any) -> list[dict[str, Any]]:
    """The rows of columns for JSON: numbers to three digits, None in place of NaN, and dates as text."""
    values = [_json_values(x) if isinstance(x, np.ndarray) else x for x in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def _json_values(values: HostArray) -> list[Any]:
    """The values of a column for JSON."""
    if values.dtype.kind == "M":
        return list(np.datetime_as_string(values, unit="s").tolist())
    return [None if np.isnan(x) else round(x, 3) for x in values.astype(float).tolist()]


class _Axes(NamedTuple):
    """The axes of a chart, whose ends are known, so that labels can be placed."""

    times: tuple[float, float]  # at both ends, as numbers
    values: tuple[float, float]  # at the lower and the upper end; of ranks their logarithms, from the worst to the best
    is_rank: bool
    x: Any
    y: Any

    def pixels(self, line: charts.Line) -> HostArray:
        """[m, 2] the positions of the points of a line, from the lower left corner."""
        y = np.log(line.y) if self.is_rank else np.asarray(line.y, float)
        parts = zip((line.x_numbers(), y), (self.times, self.values), (WIDTH, HEIGHT), strict=True)
        return np.stack([size * (x - begin) / (end - begin) for x, (begin, end), size in parts], axis=1)

    def y_of(self, column: str) -> Any:
        """The vertical axis for another column."""
        y = self.y.copy()
        y.shorthand = f"{column}:Q"
        return y


def _chart_axes(view: charts.LineView) -> _Axes:
    """The axes of all lines and bands of a view, with a little room above and below."""
    lines = [*view.unnamed.lines, *view.lines, *view.then]
    times = np.concatenate([line.x_numbers()[~np.isnan(line.y)] for line in lines])
    begin, end = float(times.min()), max(float(times.max()), float(times.min()) + 1.0)
    shorthand, title, unit = ("x:T", None, MILLISECONDS) if view.text.x == "date" else ("x:Q", view.text.x, 1)
    axis = altair.Axis(grid=False, tickCount=8)
    scale = altair.Scale(domain=[begin * unit, end * unit], nice=False)
    x = altair.X(shorthand, title=title, scale=scale, axis=axis)
    edges = [line.y + sign * line.half_width for line in lines for sign in (-1.0, 1.0)]
    shown = np.concatenate([*edges, *(edge for band in view.unnamed.bands for edge in (band.low, band.high))])
    if view.is_rank:
        best, worst = charts.rank_range(shown)
        ticks: dict[str, Any] = {"values": charts.rank_ticks(best, worst)}
        room = (worst / best) ** DATA_ROOM
        domain, options = [best / room, worst * room], dict[str, Any](type="log", reverse=True)
        ends = float(np.log(domain[1])), float(np.log(domain[0]))
    else:
        low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
        ticks, room = {"tickCount": 8}, DATA_ROOM * max(high - low, 1e-6)
        domain, options = [low - room, high + room], {"zero": False}
        ends = domain[0], domain[1]
    axis, scale = altair.Axis(format=",.6~g", **ticks), altair.Scale(nice=False, domain=domain, **options)
    return _Axes((begin, end), ends, view.is_rank, x, altair.Y("y:Q", title=view.text.y, scale=scale, axis=axis))


def line_chart(view: charts.LineView) -> Any:
    """Lines with names at their ends; the pointer shows the nearest point, and a wheel or a drag moves along time."""
    axes = _chart_axes(view)
    names = [line.name for line in view.lines]
    scale = altair.Scale(domain=names, range=[*NAMED_COLOURS[: len(names)]])
    colour = altair.Color("name:N", scale=scale, legend=None)
    interpolate = "step-after" if view.is_stepped else "linear"
    chart = chart_of_rows(_line_rows(view.lines))
    layers = []
    if any(line.deviation is not None for line in view.lines):
        intervals = chart.mark_area(opacity=0.18, interpolate=interpolate)
        layers.append(intervals.encode(x=axes.x, y=axes.y_of("low"), y2="high:Q", color=colour))
    if view.then:
        dashes = chart_of_rows(_line_rows(view.then)).mark_line(**LOOKS["then"])
        layers.append(dashes.encode(x=axes.x, y=axes.y, color=colour))
    scale = altair.Scale(type="ordinal", domain=names, range=view.widths)  # another type would interpolate
    widths = altair.StrokeWidth("name:N", scale=scale, legend=None)
    drawn = chart.mark_line(interpolate=interpolate)
    layers.append(drawn.encode(x=axes.x, y=axes.y, color=colour, strokeWidth=widths))
    layers += [layer.encode(color=colour) for layer in _isolated_layers(view.lines, axes)]
    layers.append(_hover_layer(chart, axes, view.text).encode(color=colour))
    if peaks := [_line_rows([line])[line.peak] for line in view.lines if line.peak is not None]:
        dots = chart_of_rows(sorted(peaks, key=lambda row: row["y"]))  # the highest on top
        layers.append(dots.mark_circle(**LOOKS["dot"]).encode(x=axes.x, y=axes.y, color=colour))
    layers = [*_unnamed_layers(view.unnamed, axes), *layers, *_label_layers(view.lines, axes)]
    chart = altair.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return style_chart(chart.interactive(bind_y=False), view.text, HEIGHT)


def _unnamed_layers(players: charts.UnnamedPlayers, axes: _Axes) -> list[Any]:
    """Bands and lines in grey."""
    layers = []
    for band in players.bands:
        grey = chart_of_rows(_rows_of(**band._asdict()))
        layers.append(grey.mark_area(color=PALE, opacity=0.45).encode(x=axes.x, y=axes.y_of("low"), y2="high:Q"))
    if players.lines:
        grey = chart_of_rows(_line_rows(players.lines)).mark_line(**LOOKS["median" if players.bands else "other"])
        layers.append(grey.encode(x=axes.x, y=axes.y, detail="name:N"))
    return layers


def _isolated_layers(lines: Sequence[charts.Line], axes: _Axes) -> list[Any]:
    """Dots of points between missing ones, through which a line is invisible."""
    rows = _line_rows(line.select(style.is_isolated(line.y)) for line in lines)
    return [chart_of_rows(rows).mark_circle(**LOOKS["isolated"]).encode(x=axes.x, y=axes.y)] if rows else []


def _hover_layer(chart: Any, axes: _Axes, text: charts.PictureText) -> Any:
    """The point that is nearest to the pointer, with its name and numbers."""
    time, is_dated = axes.x.shorthand, text.x == "date"
    tooltip = make_tooltips(
        ("name:N", "name", None),
        (time, text.x, "%Y-%m-%d" if is_dated else ",.6~g"),
        ("y:Q", text.y, ",.0f" if axes.is_rank else ",.1f"),
    )
    options = {"on": "pointerover", "nearest": True, "fields": ["name", "x"], "empty": False}
    nearest = altair.selection_point("nearest", **options)
    opacity = altair.condition(nearest, altair.value(1), altair.value(0))
    points = chart.mark_circle(size=50).encode(x=axes.x, y=axes.y, tooltip=tooltip, opacity=opacity)
    return points.add_params(nearest)


def _label_layers(lines: Sequence[charts.Line], axes: _Axes) -> list[Any]:
    """Names at the ends of lines, or beside the chart, and the short lines that lead to them."""
    labels = []
    for line in lines:
        width = CHARACTER_PIXELS * max(map(len, line.label))
        labels.append(LineLabel(axes.pixels(line), line.label, width, LABEL_LINE_HEIGHT, line.told_peak))
    layers: list[Any] = []
    for label, place, colour in zip(
        labels, place_line_end_labels(labels, (WIDTH, HEIGHT)), NAMED_COLOURS, strict=False
    ):
        x, y = WIDTH + NAME_GAP if place.x is None else place.x, HEIGHT - place.y
        data = chart_of_rows([{"name": label.lines[0], "label": label.lines}])
        if place.leader is not None:
            begin_x, begin_y = label.points[place.point].tolist()
            across, up = place.leader
            ends = begin_x, HEIGHT - begin_y, x - 1 + across * label.width, y + (0.5 - up) * label.extent[1]
            leader = data.mark_rule(color=colour, strokeWidth=0.8, clip=False)
            layers.append(leader.encode(**dict(zip(("x", "y", "x2", "y2"), map(altair.value, ends), strict=True))))
        middle = -0.5 * LABEL_LINE_HEIGHT * (len(label.lines) - 1)
        text = data.mark_text(color=style.TEXT_COLOURS.get(colour, GREY), dy=middle, **LOOKS["name"])
        layers.append(text.encode(x=altair.value(x), y=altair.value(y), text="label:N"))
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
