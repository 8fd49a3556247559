"""Lines through time as interactive charts of Altair."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.plots.altair_charts import (
    CHARACTER_PIXELS,
    HEIGHT,
    SOURCE_DISTANCE,
    WIDTH,
    ChartText,
    chart_of_rows,
    import_altair,
    style_chart,
)
from jaxrate.plots.line_end_labels import CLEARANCE, LineEnd, place_line_end_labels
from jaxrate.plots.rank_axis import MIN_TICK_DISTANCE, PANEL_TICK_DISTANCE, count_panel_columns, rank_range, rank_ticks
from jaxrate.plots.rating_line_data import times_to_numbers
from jaxrate.plots.scoreboard_style import COLOURS, GREY, PALE, TEXT_COLOURS, is_isolated

LABEL_LINE_HEIGHT = 14  # pixels
NAME_GAP = 14  # pixels between a chart and the names beside it
PANEL_WIDTHS = {1: WIDTH, 2: 300}  # pixels of one of several small charts, by the number of columns
PANEL_HEIGHT = 110
PANEL_TICKS = 5
DATA_ROOM = 0.03  # of the height of a chart, above and below the data
NAMED_COLOURS = *COLOURS, GREY  # of lines with names
MILLISECONDS = 86_400_000  # of a day
LINE_TICKS = 8
ISOLATED_AREA = 7  # square pixels of the dot of a point between missing ones


class ChartLine(NamedTuple):
    """A line through points [m]; NaN interrupts it."""

    name: str
    x: HostArray  # numbers or dates
    y: HostArray
    half_width: HostArray | None = None  # of a band about it
    is_named: bool = True  # False: in grey, behind the others
    peak: int | None = None  # the point with a dot
    note: str = ""  # below the name


class ChartBand(NamedTuple):
    """A grey band [m] behind all lines; NaN interrupts it."""

    x: HostArray
    low: HostArray
    high: HostArray


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

    def pixels(self, line: ChartLine) -> tuple[HostArray, HostArray]:
        """The positions of the points of a line, from the lower left corner."""
        x = (times_to_numbers(np.asarray(line.x)) - self.begin) / (self.end - self.begin)
        y = np.asarray(line.y, float)
        if self.is_rank:
            share = np.log(self.high / y) / math.log(self.high / self.low)
        else:
            share = (y - self.low) / (self.high - self.low)
        return self.size[0] * x, self.size[1] * share


def line_chart(
    lines: Sequence[ChartLine],
    text: ChartText,
    *,
    is_rank: bool = False,
    is_stepped: bool = False,
    bands: Sequence[ChartBand] = (),
    lines_then: Sequence[ChartLine] = (),
) -> Any:
    """Lines with names at their ends; the pointer shows the nearest point, and a wheel or a drag moves the time axis.

    `lines_then` are the named lines as they were known at the time, in thin dashes. Ranks have a logarithmic axis with
    the best on top.
    """
    altair = import_altair()
    named = [line for line in lines if line.is_named]
    axes = _chart_axes([*lines, *lines_then], bands, text, is_rank, (WIDTH, HEIGHT))
    names = [line.name for line in named]
    scale = altair.Scale(domain=names, range=[*NAMED_COLOURS[: len(names)]] or [GREY])
    colour = altair.Color("name:N", scale=scale, legend=None)
    interpolate = "step-before" if is_stepped else "linear"
    layers = _background_layers([line for line in lines if not line.is_named], bands, axes, interpolate)
    chart = chart_of_rows(_line_rows(named))
    if any(line.half_width is not None for line in named):
        intervals = chart.mark_area(opacity=0.18, interpolate=interpolate)
        layers.append(intervals.encode(x=axes.x, y=_y_of(axes, "low"), y2="high:Q", color=colour))
    if lines_then:
        then = chart_of_rows(_line_rows(lines_then))
        look = {"strokeWidth": 0.8, "strokeDash": [4, 3], "interpolate": "step-before"}
        layers.append(then.mark_line(**look).encode(x=axes.x, y=axes.y, color=colour))
    layers.append(chart.mark_line(strokeWidth=1.6, interpolate=interpolate).encode(x=axes.x, y=axes.y, color=colour))
    layers += [layer.encode(color=colour) for layer in _isolated_layers(named, axes)]
    layers.append(_hover_layer(chart, axes, text).encode(color=colour))
    if peaks := [_line_rows([line])[line.peak] for line in named if line.peak is not None]:
        dots = chart_of_rows(sorted(peaks, key=lambda row: row["y"]))  # the highest on top
        layers.append(dots.mark_circle(size=60, opacity=1, stroke="white").encode(x=axes.x, y=axes.y, color=colour))
    layers += _label_layers(named, axes)
    chart = altair.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return style_chart(chart.interactive(bind_y=False), text, HEIGHT + SOURCE_DISTANCE)


def rank_panels_chart(lines: Sequence[ChartLine], text: ChartText, bands: Sequence[ChartBand] = ()) -> Any:
    """A small chart of the ranks of each named line, in front of all others in grey."""
    altair = import_altair()
    named = [line for line in lines if line.is_named]
    num_columns = count_panel_columns(len(named))
    width = PANEL_WIDTHS[num_columns]
    axes = _chart_axes(lines, bands, text, True, (width, PANEL_HEIGHT))
    unnamed_layers = _background_layers([line for line in lines if not line.is_named], bands, axes, "linear")
    panels: list[Any] = []
    for line, colour in zip(named, NAMED_COLOURS, strict=False):
        others = [other for other in named if other.name != line.name]
        layers = [*unnamed_layers, *_background_layers(others, (), axes, "linear")]
        chart = chart_of_rows(_line_rows([line]))
        layers.append(chart.mark_line(strokeWidth=2, color=colour).encode(x=axes.x, y=axes.y))
        layers += [layer.encode(color=altair.value(colour)) for layer in _isolated_layers([line], axes)]
        layers.append(_hover_layer(chart, axes, text, len(panels)).encode(color=altair.value(colour)))
        title = altair.TitleParams(line.name, subtitle=line.note, anchor="start", color=TEXT_COLOURS.get(colour, GREY),
                                   fontSize=12, subtitleColor=GREY, subtitleFontSize=11)  # fmt: skip
        panels.append(altair.layer(*layers).properties(width=width, height=PANEL_HEIGHT, title=title))
    return style_chart(altair.concat(*panels, columns=num_columns), text)


def _chart_axes(
    lines: Sequence[ChartLine], bands: Sequence[ChartBand], text: ChartText, is_rank: bool, size: tuple[int, int]
) -> _Axes:
    """The axes of all these lines and bands, with a little room above and below."""
    altair = import_altair()
    drawn = [(line.x, line.y) for line in lines] + [(band.x, band.low) for band in bands]
    times = np.concatenate([times_to_numbers(np.asarray(x))[~np.isnan(np.asarray(y, float))] for x, y in drawn])
    half = [np.zeros(len(line.y)) if line.half_width is None else line.half_width for line in lines]
    edges = [np.asarray(line.y, float) + sign * x for line, x in zip(lines, half, strict=True) for sign in (-1.0, 1.0)]
    shown = np.concatenate([*edges, *(edge for band in bands for edge in (band.low, band.high))])
    begin, end, low, high = times.min(), times.max(), float(np.nanmin(shown)), float(np.nanmax(shown))
    end = max(end, begin + 1.0)
    is_small = size[1] < HEIGHT
    y_axis: dict[str, Any]
    if is_rank:
        low, high = rank_range(shown)
        y_axis = {"values": rank_ticks(low, high, PANEL_TICK_DISTANCE if is_small else MIN_TICK_DISTANCE)}
        room = (high / low) ** DATA_ROOM
        low, high = low / room, high * room
        scale = altair.Scale(type="log", reverse=True, nice=False, domain=[low, high])
    else:
        y_axis = {"tickCount": LINE_TICKS}
        room = DATA_ROOM * max(high - low, 1e-6)
        low, high = low - room, high + room
        scale = altair.Scale(zero=False, nice=False, domain=[low, high])
    is_dated = any(np.asarray(line.x).dtype.kind == "M" for line in lines)
    unit = MILLISECONDS if is_dated else 1
    x = altair.X(
        "x:T" if is_dated else "x:Q", title=None if is_dated else text.x,
        scale=altair.Scale(domain=[begin * unit, end * unit], nice=False),
        axis=altair.Axis(grid=False, tickCount=PANEL_TICKS if size[0] < WIDTH else LINE_TICKS),
    )  # fmt: skip
    y = altair.Y("y:Q", title=text.y, scale=scale, axis=altair.Axis(format=",.6~g", **y_axis))
    return _Axes(size, float(begin), float(end), low, high, is_rank, x, y)


def _y_of(axes: _Axes, column: str) -> Any:
    y = axes.y.copy()
    y.shorthand = f"{column}:Q"
    return y


def _background_layers(
    lines: Sequence[ChartLine], bands: Sequence[ChartBand], axes: _Axes, interpolate: str
) -> list[Any]:
    """Bands and lines in grey."""
    layers = []
    for band in bands:
        grey = chart_of_rows(_band_rows(band))
        layers.append(grey.mark_area(color=PALE, opacity=0.45).encode(x=axes.x, y=_y_of(axes, "low"), y2="high:Q"))
    if lines:
        grey = chart_of_rows(_line_rows(lines))
        look = {"color": GREY, "strokeWidth": 1, "strokeDash": [1, 2]} if bands else {"color": PALE, "strokeWidth": 0.7}
        layers.append(grey.mark_line(interpolate=interpolate, **look).encode(x=axes.x, y=axes.y, detail="name:N"))
    return layers


def _isolated_layers(lines: Sequence[ChartLine], axes: _Axes) -> list[Any]:
    """Dots of points between missing ones, through which a line is invisible."""
    isolated = [is_isolated(np.asarray(line.y, float)) for line in lines]
    rows = _line_rows(ChartLine(line.name, line.x[i], line.y[i]) for line, i in zip(lines, isolated, strict=True))
    dots = chart_of_rows(rows).mark_circle(size=ISOLATED_AREA, opacity=1)
    return [dots.encode(x=axes.x, y=axes.y)] if rows else []


def _hover_layer(chart: Any, axes: _Axes, text: ChartText, number: int = 0) -> Any:
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


def _label_layers(named: Sequence[ChartLine], axes: _Axes) -> list[Any]:
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


def _line_rows(lines: Iterable[ChartLine]) -> list[dict[str, Any]]:
    """The points of lines for JSON."""
    rows = []
    for line in lines:
        x, y = np.asarray(line.x), np.asarray(line.y, float)
        times = np.datetime_as_string(x, unit="s").tolist() if x.dtype.kind == "M" else x.astype(float).tolist()
        half_width = np.full(len(y), np.nan) if line.half_width is None else np.asarray(line.half_width, float)
        for at, value, half in zip(times, y.tolist(), half_width.tolist(), strict=True):
            row: dict[str, Any] = {"name": line.name, "x": at, "y": round(value, 3) if value == value else None}
            if half == half:
                row |= {"low": round(value - half, 3), "high": round(value + half, 3)}
            rows.append(row)
    return rows


def _band_rows(band: ChartBand) -> list[dict[str, Any]]:
    """The points of a band for JSON."""
    middle, half_width = 0.5 * (band.low + band.high), 0.5 * (band.high - band.low)
    rows = _line_rows([ChartLine("", band.x, middle, half_width)])
    return [{"x": row["x"], "low": row.get("low"), "high": row.get("high")} for row in rows]
