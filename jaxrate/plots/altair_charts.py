"""Interactive charts, by Altair."""

import math
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_short_count, format_whole_percent
from jaxrate.plots.line_end_labels import CLEARANCE, LineEnd, place_line_end_labels
from jaxrate.plots.name_labels import NAME_STEPS, pad_numbers
from jaxrate.plots.pictures import (
    MIN_TICK_DISTANCE,
    PANEL_TICK_DISTANCE,
    Band,
    Line,
    LinePicture,
    PictureText,
    RowPicture,
    UnnamedPlayers,
    count_panel_columns,
    rank_range,
    rank_ticks,
)
from jaxrate.plots.scoreboard_style import (
    COLOURS,
    DIVERGING_COLOURS,
    GREY,
    INK,
    NAMED_COLOURS,
    PALE,
    PAPER,
    RULE,
    TEXT_COLOURS,
    Z_95,
    cell_text_colour,
    is_isolated,
    mix_colours,
    wrap_evenly,
)

WIDTH = 640  # pixels
HEIGHT = 360
PADDING = 12  # pixels about a chart
ROW_HEIGHT = 20
CHARACTER_PIXELS = 5.8  # mean width of a character of a label
DOT_AREA, MIN_DOT_AREA = 45, 4  # square pixels of the dot of an interval
DOT_SHARE = 0.35  # its diameter, as a share of a row
MAX_NAMED_ROWS_HEIGHT = 3000  # of as many rows as have names in a picture
THINNED_ROWS_HEIGHT = 1200  # if only some rows have names
BAR_SHARE, MAX_BAR_HEIGHT = 0.3, 5.0  # height of the bar of an interval, as a share of a row, and in pixels
MAX_MATRIX_SIDE = 700
MAX_COLUMN_NAME_LENGTH = 20  # characters of the longest name up to which columns of a matrix have names
MAX_NAMED_COLUMNS = 40  # number of columns up to which all have names
LABEL_FONT = 10
SOURCE_DISTANCE = 42  # pixels from the bottom of a chart to the source, below labels and title of the axis
COUNT_HEIGHT = 13  # of a line of numbers above a chart
MAX_LABEL_LENGTH = 60
MAX_SUBTITLE_LENGTH = 120  # characters of a line
INTERVAL_TICKS = 6
COLUMN_NUMBER_WIDTH = 26  # pixels from one number of a column to the next
MAX_WRITTEN_COLUMNS = 20  # number of columns up to which percentages are written into a matrix


def import_altair() -> Any:
    """Altair; ImportError if it is not installed."""
    try:
        return import_module("altair")
    except ImportError as error:
        raise ImportError("interactive plots need altair: pip install 'jaxrate[interactive]'") from error


def chart_of_rows(rows: list[dict[str, Any]]) -> Any:
    """An Altair chart of rows by name of column. Altair would look at each value, seconds for thousands of rows."""
    altair = import_altair()
    with altair.utils.schemapi.debug_mode(False):
        return altair.Chart(altair.Data(values=rows))


def interval_chart(picture: RowPicture, step: int) -> Any:
    """A row for each player with the interval of their value, which stands at the right, too.

    If only some rows have names, as `step` says, none has a written value, and the pointer shows both.
    """
    altair = import_altair()
    text, names, values, half_widths = picture[:4]
    half = np.zeros(len(names)) if half_widths is None else half_widths
    labels = number_names(picture.numbers, names) if picture.numbers else names
    shown_values = (np.round(x, 3).tolist() for x in (values, values - half, values + half))
    columns = range(1, len(names) + 1), labels, names, *shown_values, picture.value_texts
    keys = "row", "label", "name", "value", "low", "high", "text"
    rows = [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
    chart = chart_of_rows(rows)
    padding = 8.0 + CHARACTER_PIXELS * min(max(map(len, labels)), MAX_LABEL_LENGTH)
    height = min(ROW_HEIGHT * len(names), MAX_NAMED_ROWS_HEIGHT) if step == 1 else THINNED_ROWS_HEIGHT
    row_height = height / len(names)
    shown = {} if step == 1 else {"values": labels[::step]}
    y = altair.Y("label:N", sort=None, title=None, axis=altair.Axis(
        labelLimit=padding, labelAlign="left", labelPadding=padding, labelColor=INK, grid=False, **shown))  # fmt: skip
    x = altair.X("low:Q", title=text.x, scale=altair.Scale(zero=False),
                 axis=altair.Axis(grid=True, tickCount=INTERVAL_TICKS, format=",.6~g"))  # fmt: skip
    number = {"format": ",.1f"}
    tooltip = [altair.Tooltip("name:N", title="name"), altair.Tooltip("row:Q"),
               *(altair.Tooltip(f"{key}:Q", title=title, **number)
                 for key, title in (("value", text.x), ("low", "from"), ("high", "to")))]  # fmt: skip
    bar = float(np.clip(BAR_SHARE * row_height, min(row_height, 1.0), MAX_BAR_HEIGHT))
    bars = chart.mark_bar(height=bar, color=COLOURS[0], opacity=0.3, cornerRadius=min(0.5 * bar, 2))
    bars = bars.encode(x=x, x2="high:Q", y=y)
    size = float(np.clip((DOT_SHARE * row_height) ** 2, MIN_DOT_AREA, DOT_AREA))
    dots = chart.mark_circle(color=COLOURS[0], size=size, opacity=1).encode(
        x=altair.X("value:Q", scale=altair.Scale(zero=False)), y=y
    )
    hover = chart.mark_rule(strokeWidth=float(np.clip(row_height, 1.0, 14.0)), opacity=0).encode(
        x=x, x2="high:Q", y=y, tooltip=tooltip
    )
    layers = [bars, dots, hover]
    if step == 1:
        written = chart.mark_text(align="left", color=INK, clip=False).encode(
            x=altair.value(WIDTH + 8), y=y, text="text:N"
        )
        layers.append(written)
    return style_chart(altair.layer(*layers).properties(width=WIDTH, height=height), text, height + SOURCE_DISTANCE)


def matrix_chart(names: list[str], percent: HostArray, text: PictureText, step: int) -> Any:
    """Cells of percentages of each in rows against each other; the pointer shows both names.

    `step` is that from one named row to the next.
    """
    altair = import_altair()
    is_written = len(names) <= MAX_WRITTEN_COLUMNS
    has_column_names = len(names) <= MAX_NAMED_COLUMNS and max(map(len, names)) <= MAX_COLUMN_NAME_LENGTH
    side = len(names) * min(34 if is_written else 24, max(MAX_MATRIX_SIDE // len(names), 1))
    look = {"labelLimit": 400, "labelColor": INK, "domain": False, "ticks": False}
    row_labels, column_labels, title, name_height = names, names, text.x, 0.85 * CHARACTER_PIXELS * max(map(len, names))
    column_axis = altair.Axis(labelOverlap=True, labelSeparation=5, **look)
    if not has_column_names:
        row_labels = number_names(range(1, len(names) + 1), names)
        column_labels, name_height = [f"{i + 1}" for i in range(len(names))], 0.0
        title = f"{text.x}, in the order of the rows"
        least = COLUMN_NUMBER_WIDTH * len(names) / side
        shown = column_labels[:: next(x for x in (1, *NAME_STEPS) if x >= min(least, len(names)))]
        column_axis = altair.Axis(values=shown, labelAngle=0, **look)
    font = min(LABEL_FONT, 0.9 * step * side / len(names))
    row_axis = altair.Axis(values=row_labels[::step], labelOverlap=False, labelSeparation=5, labelFontSize=font, **look)
    x = altair.X("x:N", scale=altair.Scale(domain=column_labels), title=title, axis=column_axis)
    y = altair.Y("y:N", scale=altair.Scale(domain=row_labels), title=None, axis=row_axis)
    colours = altair.Scale(
        domain=np.linspace(0.0, 100.0, len(DIVERGING_COLOURS)).tolist(), range=[*DIVERGING_COLOURS], interpolate="rgb"
    )
    legend = None if is_written else altair.Legend()
    tooltip = [altair.Tooltip("row:N", title="name"), altair.Tooltip("column:N", title="against"),
               altair.Tooltip("percent:Q", title=text.y, format=".1f")]  # fmt: skip
    data = chart_of_rows(_cell_rows(names, percent, row_labels, column_labels))
    chart = data.mark_rect(stroke="white" if is_written else None).encode(
        x=x, y=y, color=altair.Color("percent:Q", title=text.y, scale=colours, legend=legend), tooltip=tooltip
    )
    if is_written:
        written = data.mark_text().encode(x=x, y=y, text="text:N", color=altair.Color("colour:N", scale=None))
        chart = altair.layer(chart, written).resolve_scale(color="independent")
    chart = chart.properties(width=side, height=side, view=altair.ViewConfig(fill=RULE, stroke=None))
    return style_chart(chart, text, side + name_height + SOURCE_DISTANCE)


def _cell_rows(
    names: list[str], percent: HostArray, row_labels: list[str], column_labels: list[str]
) -> list[dict[str, Any]]:
    """The cells of a matrix that have a value, for JSON; of small ones the text and its colour, too."""
    rows: list[dict[str, Any]] = []
    for i, j in np.argwhere(~np.isnan(percent)).tolist():
        value = float(percent[i, j])
        row = {"row": names[i], "column": names[j], "percent": round(value, 2)}
        row |= {"y": row_labels[i], "x": column_labels[j]}
        if len(names) <= MAX_WRITTEN_COLUMNS:
            colour = cell_text_colour(*mix_colours(DIVERGING_COLOURS, value / 100.0))
            row |= {"text": format_whole_percent(value), "colour": colour}
        rows.append(row)
    return rows


def number_names(numbers: Sequence[int], names: Sequence[str]) -> list[str]:
    """Names with numbers before them; the first character keeps Vega from removing the spaces before a number."""
    numbered = zip(pad_numbers(numbers), names, strict=True)
    return [f"\N{ZERO WIDTH SPACE}{number}\N{EN SPACE}{name}" for number, name in numbered]


def calibration_chart(lines: dict[str, tuple[HostArray, ...]], text: PictureText) -> Any:
    """Observed by predicted scores in percent of each system, (predicted, observed, low, high, count) [bins] by label.

    Above are the numbers of predictions, in the colours of the systems.
    """
    altair = import_altair()
    keys = "predicted", "observed", "low", "high", "count"
    rows = [
        {"system": name, "number": format_short_count(values[-1])}
        | {key: round(float(x), 3) for key, x in zip(keys, values, strict=True)}
        for name, bins in lines.items()
        for values in zip(*bins, strict=True)
    ]
    chart = chart_of_rows(rows)
    percent = altair.Scale(domain=[0, 100])
    ticks = [20, 40, 60, 80, 100]
    x_axis = altair.Axis(values=[0, *ticks], format="d")
    y_axis = altair.Axis(values=ticks, format="d")  # the zero in the corner is that of both axes
    x = altair.X("predicted:Q", title=text.x, scale=percent, axis=x_axis)

    def y_of(column: str) -> Any:
        return altair.Y(f"{column}:Q", title=text.y, scale=percent, axis=y_axis)

    colour = altair.Color("system:N", title="calibration error (%)", scale=altair.Scale(
        domain=[*lines], range=[COLOURS[i % len(COLOURS)] for i in range(len(lines))]))  # fmt: skip
    diagonal = chart_of_rows([{"x": 0, "y": 0}, {"x": 100, "y": 100}]).mark_line(
        color=GREY, strokeDash=[4, 4], strokeWidth=1
    )
    tooltip = ["system:N", *(altair.Tooltip(f"{key}:Q", format=".1f") for key in keys[:4]),
               altair.Tooltip("count:Q", format=",.0f")]  # fmt: skip
    layers = [
        diagonal.encode(x=altair.X("x:Q", title=text.x, scale=percent, axis=x_axis), y=y_of("y")),
        chart.mark_rule(opacity=0.5).encode(x=x, y=y_of("low"), y2="high:Q", color=colour),
        chart.mark_line(strokeWidth=1.2).encode(x=x, y=y_of("observed"), color=colour),
        chart.mark_circle(size=50, opacity=1).encode(x=x, y=y_of("observed"), color=colour, tooltip=tooltip),
    ]
    for i, name in enumerate(reversed(lines)):
        counts = chart_of_rows([row for row in rows if row["system"] == name])
        counts = counts.mark_text(baseline="bottom", clip=False, fontSize=LABEL_FONT)
        at = altair.value(-COUNT_HEIGHT * (i + 0.3))
        layers.append(counts.encode(x=x, y=at, text="number:N", color=colour))
    chart = altair.layer(*layers).properties(width=HEIGHT, height=HEIGHT)
    return style_chart(chart, text, HEIGHT + SOURCE_DISTANCE)


def style_chart(chart: Any, text: PictureText, source_y: float | None = None) -> Any:
    """The style of all plots: no box, a horizontal grid, the title at the left.

    The source stands so many pixels below the top of the layers, or without them in the subtitle.
    """
    altair = import_altair()
    subtitle = wrap_evenly(text.subtitle, MAX_SUBTITLE_LENGTH)
    if text.source and source_y is None:
        subtitle = [*subtitle, text.source]
    elif text.source:
        note = chart_of_rows([{"source": text.source}])
        note = note.mark_text(align="left", baseline="top", clip=False, color=GREY, fontSize=LABEL_FONT)
        chart += note.encode(x=altair.value(0), y=altair.value(source_y), text="source:N")
    axis = {"labelColor": GREY, "titleColor": GREY, "titleFontWeight": "normal", "tickColor": GREY, "gridColor": RULE}
    title = altair.TitleParams(text.title, subtitle=subtitle, anchor="start", frame="bounds", color=INK, offset=14,
                               fontSize=18, font="Georgia, serif", subtitleColor=GREY, subtitleFontSize=12)  # fmt: skip
    config = altair.Config(  # at once, for each of `configure_view` and others copies the chart
        view=altair.ViewConfig(stroke=None),
        axis=altair.AxisConfig(**axis),
        axisY=altair.AxisConfig(domain=False, ticks=False),
        legend=altair.LegendConfig(symbolOpacity=1, labelColor=INK, titleColor=GREY, titleFontWeight="normal"),
    )
    return chart.properties(title=title, background=PAPER, padding=PADDING, config=config)


LABEL_LINE_HEIGHT = 14  # pixels
NAME_GAP = 14  # pixels between a chart and the names beside it
PANEL_WIDTHS = {1: WIDTH, 2: 300}  # pixels of one of several small charts, by the number of columns
PANEL_HEIGHT = 110
PANEL_TICKS = 5
DATA_ROOM = 0.03  # of the height of a chart, above and below the data
MILLISECONDS = 86_400_000  # of a day
LINE_TICKS = 8
ISOLATED_AREA = 7  # square pixels of the dot of a point between missing ones


class _Axes(NamedTuple):
    """The axes of a chart, whose ends are known, so that labels can be placed."""

    size: tuple[float, float]  # pixels
    begin: float  # of time, as numbers
    end: float
    low: float
    high: float
    is_rank: bool  # logarithmic, with the best on top
    x: Any
    y: Any

    def pixels(self, line: Line) -> tuple[HostArray, HostArray]:
        """The positions of the points of a line, from the lower left corner."""
        x = (line.x_numbers() - self.begin) / (self.end - self.begin)
        y = np.asarray(line.y, float)
        if self.is_rank:
            share = np.log(self.high / y) / math.log(self.high / self.low)
        else:
            share = (y - self.low) / (self.high - self.low)
        return self.size[0] * x, self.size[1] * share


def line_chart(picture: LinePicture) -> Any:
    """Lines with names at their ends; the pointer shows the nearest point, and a wheel or a drag moves along time."""
    altair = import_altair()
    axes = _chart_axes(picture, (WIDTH, HEIGHT))
    names = [line.name for line in picture.lines]
    scale = altair.Scale(domain=names, range=[*NAMED_COLOURS[: len(names)]])
    colour = altair.Color("name:N", scale=scale, legend=None)
    interpolate = "step-after" if picture.is_stepped else "linear"
    chart = chart_of_rows(_line_rows(picture.lines))
    layers = []
    if any(line.deviation is not None for line in picture.lines):
        intervals = chart.mark_area(opacity=0.18, interpolate=interpolate)
        layers.append(intervals.encode(x=axes.x, y=_y_of(axes, "low"), y2="high:Q", color=colour))
    if picture.then:
        look = {"strokeWidth": 0.8, "strokeDash": [4, 3], "interpolate": "step-after"}
        layers.append(
            chart_of_rows(_line_rows(picture.then)).mark_line(**look).encode(x=axes.x, y=axes.y, color=colour)
        )
    layers.append(chart.mark_line(strokeWidth=1.6, interpolate=interpolate).encode(x=axes.x, y=axes.y, color=colour))
    layers += [layer.encode(color=colour) for layer in _isolated_layers(picture.lines, axes)]
    layers.append(_hover_layer(chart, axes, picture.text).encode(color=colour))
    if peaks := [_line_rows([line])[line.peak] for line in picture.lines if line.peak is not None]:
        dots = chart_of_rows(sorted(peaks, key=lambda row: row["y"]))  # the highest on top
        layers.append(dots.mark_circle(size=60, opacity=1, stroke="white").encode(x=axes.x, y=axes.y, color=colour))
    layers = [*_unnamed_layers(picture.unnamed, axes), *layers, *_label_layers(picture.lines, axes)]
    chart = altair.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return style_chart(chart.interactive(bind_y=False), picture.text, HEIGHT + SOURCE_DISTANCE)


def rank_panels_chart(picture: LinePicture) -> Any:
    """A small chart of the ranks of each named line, in front of all others in grey."""
    altair = import_altair()
    num_columns = count_panel_columns(len(picture.lines))
    width = PANEL_WIDTHS[num_columns]
    axes = _chart_axes(picture, (width, PANEL_HEIGHT))
    unnamed_layers = _unnamed_layers(picture.unnamed, axes)
    panels: list[Any] = []
    for line, colour in zip(picture.lines, NAMED_COLOURS, strict=False):
        others = [other for other in picture.lines if other.name != line.name]
        layers = [*unnamed_layers, *_unnamed_layers(UnnamedPlayers(others), axes)]
        chart = chart_of_rows(_line_rows([line]))
        layers.append(chart.mark_line(strokeWidth=2, color=colour).encode(x=axes.x, y=axes.y))
        layers += [layer.encode(color=altair.value(colour)) for layer in _isolated_layers([line], axes)]
        layers.append(_hover_layer(chart, axes, picture.text, len(panels)).encode(color=altair.value(colour)))
        title = altair.TitleParams(line.name, subtitle=line.note, anchor="start", color=TEXT_COLOURS.get(colour, GREY),
                                   fontSize=12, subtitleColor=GREY, subtitleFontSize=11)  # fmt: skip
        panels.append(altair.layer(*layers).properties(width=width, height=PANEL_HEIGHT, title=title))
    return style_chart(altair.concat(*panels, columns=num_columns), picture.text)


def _chart_axes(picture: LinePicture, size: tuple[int, int]) -> _Axes:
    """The axes of all lines and bands of a picture, with a little room above and below."""
    lines, bands = [*picture.unnamed.lines, *picture.lines, *picture.then], picture.unnamed.bands
    times = np.concatenate([line.x_numbers()[~np.isnan(line.y)] for line in lines])
    begin, end = float(times.min()), float(times.max())
    end = max(end, begin + 1.0)
    altair = import_altair()
    shorthand, title, unit = ("x:T", None, MILLISECONDS) if picture.text.x == "date" else ("x:Q", picture.text.x, 1)
    axis = altair.Axis(grid=False, tickCount=PANEL_TICKS if size[0] < WIDTH else LINE_TICKS)
    scale = altair.Scale(domain=[begin * unit, end * unit], nice=False)
    x = altair.X(shorthand, title=title, scale=scale, axis=axis)
    edges = [line.y + sign * width for line in lines for width in [_half_width(line)] for sign in (-1.0, 1.0)]
    shown = np.concatenate([*edges, *(edge for band in bands for edge in (band.low, band.high))])
    distance = PANEL_TICK_DISTANCE if size[1] < HEIGHT else MIN_TICK_DISTANCE
    low, high, y = _rank_scale(shown, distance) if picture.is_rank else _rating_scale(shown)
    y.title = picture.text.y
    return _Axes(size, begin, end, low, high, picture.is_rank, x, y)


def _rank_scale(ranks: HostArray, min_distance: float) -> tuple[float, float, Any]:
    """The ends of an axis of ranks, which is logarithmic, with the best on top; and the axis."""
    altair = import_altair()
    low, high = rank_range(ranks)
    ticks = rank_ticks(low, high, min_distance)
    room = (high / low) ** DATA_ROOM
    low, high = low / room, high * room
    scale = altair.Scale(type="log", reverse=True, nice=False, domain=[low, high])
    return low, high, altair.Y("y:Q", scale=scale, axis=altair.Axis(format=",.6~g", values=ticks))


def _rating_scale(ratings: HostArray) -> tuple[float, float, Any]:
    """The ends of an axis of ratings, and the axis."""
    altair = import_altair()
    low, high = float(np.nanmin(ratings)), float(np.nanmax(ratings))
    room = DATA_ROOM * max(high - low, 1e-6)
    low, high = low - room, high + room
    scale = altair.Scale(zero=False, nice=False, domain=[low, high])
    return low, high, altair.Y("y:Q", scale=scale, axis=altair.Axis(format=",.6~g", tickCount=LINE_TICKS))


def _half_width(line: Line) -> HostArray:
    """[m] half the width of the interval at each point; 0 without deviations."""
    return np.zeros(len(line.y)) if line.deviation is None else Z_95 * line.deviation


def _y_of(axes: _Axes, column: str) -> Any:
    y = axes.y.copy()
    y.shorthand = f"{column}:Q"
    return y


def _unnamed_layers(players: UnnamedPlayers, axes: _Axes) -> list[Any]:
    """Bands and lines in grey."""
    layers = []
    for band in players.bands:
        grey = chart_of_rows(_band_rows(band))
        layers.append(grey.mark_area(color=PALE, opacity=0.45).encode(x=axes.x, y=_y_of(axes, "low"), y2="high:Q"))
    if players.lines:
        look = {"color": PALE, "strokeWidth": 0.7}
        if players.bands:
            look = {"color": GREY, "strokeWidth": 1, "strokeDash": [1, 2]}
        grey = chart_of_rows(_line_rows(players.lines)).mark_line(**look)
        layers.append(grey.encode(x=axes.x, y=axes.y, detail="name:N"))
    return layers


def _isolated_layers(lines: Sequence[Line], axes: _Axes) -> list[Any]:
    """Dots of points between missing ones, through which a line is invisible."""
    rows = _line_rows(line.select(is_isolated(line.y)) for line in lines)
    dots = chart_of_rows(rows).mark_circle(size=ISOLATED_AREA, opacity=1)
    return [dots.encode(x=axes.x, y=axes.y)] if rows else []


def _hover_layer(chart: Any, axes: _Axes, text: PictureText, number: int = 0) -> Any:
    """The point that is nearest to the pointer, with its name and numbers, in the chart of this number."""
    altair = import_altair()
    is_dated = axes.x.shorthand.endswith("T")
    tooltip = [
        altair.Tooltip("name:N", title="name"),
        altair.Tooltip(axes.x.shorthand, title=text.x, format="%Y-%m-%d" if is_dated else ",.6~g"),
        altair.Tooltip("y:Q", title=text.y, format=",.0f" if axes.is_rank else ",.1f"),
    ]
    nearest = altair.selection_point(
        f"nearest_{number}", on="pointerover", nearest=True, fields=["name", "x"], empty=False
    )
    opacity = altair.condition(nearest, altair.value(1), altair.value(0))
    points = chart.mark_circle(size=50).encode(x=axes.x, y=axes.y, tooltip=tooltip, opacity=opacity)
    return points.add_params(nearest)


def _label_layers(named: Sequence[Line], axes: _Axes) -> list[Any]:
    """Names at the ends of lines, or beside the chart, and the short lines that lead to them."""
    altair = import_altair()
    texts = [[line.name, *([line.note] if line.note else [])] for line in named]
    drawn = [axes.pixels(line) for line in named]
    ends = [
        LineEnd(
            x[-1],
            y[-1],
            CHARACTER_PIXELS * max(map(len, one)),
            LABEL_LINE_HEIGHT * len(one) + CLEARANCE * (len(one) > 1),
            None if line.peak is None else (x[line.peak], y[line.peak]),
        )
        for line, one, (x, y) in zip(named, texts, drawn, strict=True)
    ]
    layers, beside = [], axes.size[0] + NAME_GAP
    for one, end, place, colour in zip(
        texts, ends, place_line_end_labels(ends, drawn, axes.size), NAMED_COLOURS, strict=False
    ):
        x = beside if place.x is None else place.x
        middle = axes.size[1] - place.y
        data = chart_of_rows([{"name": one[0], "label": one}])
        if place.leader is not None:
            leader = data.mark_rule(color=colour, strokeWidth=0.8, clip=False)
            begin = end.peak if place.is_at_peak and end.peak is not None else (end.x, end.y)
            layers.append(leader.encode(
                x=altair.value(begin[0]), y=altair.value(axes.size[1] - begin[1]),
                x2=altair.value(x - 1 + place.leader[0] * end.width),
                y2=altair.value(middle + (0.5 - place.leader[1]) * end.height),
            ))  # fmt: skip
        label = data.mark_text(
            align="left", baseline="middle", clip=False, color=TEXT_COLOURS.get(colour, GREY),
            lineHeight=LABEL_LINE_HEIGHT, dy=-0.5 * LABEL_LINE_HEIGHT * (len(one) - 1),
        )  # fmt: skip
        layers.append(label.encode(x=altair.value(x), y=altair.value(middle), text="label:N"))
    return layers


def _line_rows(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """The points of lines for JSON."""
    rows = []
    for line in lines:
        half_width = np.full(len(line.y), np.nan) if line.deviation is None else Z_95 * line.deviation
        for at, value, half in zip(_json_times(line.x), line.y.tolist(), half_width.tolist(), strict=True):
            row: dict[str, Any] = {"name": line.name, "x": at, "y": _json_number(value)}
            if not math.isnan(half):
                row |= {"low": round(value - half, 3), "high": round(value + half, 3)}
            rows.append(row)
    return rows


def _band_rows(band: Band) -> list[dict[str, Any]]:
    """The points of a band for JSON."""
    low, high = (map(_json_number, x.tolist()) for x in (band.low, band.high))
    return [{"x": x, "low": y, "high": z} for x, y, z in zip(_json_times(band.x), low, high, strict=True)]


def _json_number(value: float) -> float | None:
    """A number to three digits; None in place of NaN."""
    return None if math.isnan(value) else round(value, 3)


def _json_times(times: HostArray) -> list[Any]:
    return np.datetime_as_string(times, unit="s").tolist() if times.dtype.kind == "M" else times.astype(float).tolist()
