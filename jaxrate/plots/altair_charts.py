"""The same plots as interactive charts of Altair, which hold their own data and need no network for it."""

import math
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.plots.interactive_peak_labels import CHARACTER_PIXELS, DATA_SHARE, LABEL_HEIGHT, place_peak_labels
from jaxrate.plots.name_labels import pad_numbers, spread_labels
from jaxrate.plots.rating_line_data import times_to_numbers
from jaxrate.plots.scoreboard_style import COLOURS, DIVERGING_COLOURS, GREY, INK, PALE, PAPER, RULE
from jaxrate.text_format import format_percent

WIDTH = 640  # pixels
HEIGHT = 360
ROW_HEIGHT = 20
DOT_AREA = 45  # square pixels of the dot of an interval
MAX_ROWS_HEIGHT = 4000
MAX_MATRIX_SIDE = 700
MAX_COLUMN_NAME_LENGTH = 20  # characters of the longest name up to which columns of a matrix have names
MAX_LABEL_LENGTH = 60
LINE_TICKS = 8
RANK_ROOM = 4  # pixels beyond the best and the worst rank, so that lines there have their width
PEAK_ROOM = 16  # pixels beyond the data for the labels of peaks
INTERVAL_TICKS = 6
MAX_WRITTEN_COLUMNS = 20  # number of columns up to which percentages are written into a matrix
LEAST_PARITY_RANGE = 10.0  # percents to either side of one half, on a scale of colours
DARK_SHARE = 0.75  # of a scale to either side of one half, beyond which numbers are white
RANK_TICKS = tuple(digit * 10**power for power in range(6) for digit in (1, 2, 3, 5))
MIN_RANK_TICKS = 3  # of round ranks; with fewer, ticks are at even distances
MIN_TICK_DISTANCE = 0.06  # of a round rank from the best, as a share of a logarithmic axis


class ChartText(NamedTuple):
    """The texts of a chart."""

    title: str
    subtitle: str
    x: str
    y: str
    source: str = ""


class ChartLine(NamedTuple):
    """A line through points [m]; NaN interrupts it."""

    name: str
    x: HostArray  # numbers or dates
    y: HostArray
    half_width: HostArray | None = None  # of a band about it
    is_named: bool = True  # False: in grey, behind the others
    peak: tuple[int, str] | None = None  # the point with a dot, and the label of the dot


class ChartBand(NamedTuple):
    """A grey band [m] behind all lines; NaN interrupts it."""

    x: HostArray
    low: HostArray
    high: HostArray


def rank_ticks(ranks: HostArray) -> list[int]:
    """The best rank, and round ones to about the worst, NaN apart; at even distances if these are near."""
    best, worst = math.ceil(np.nanmin(ranks)), float(np.nanmax(ranks))
    ticks = [tick for tick in RANK_TICKS if best <= tick <= worst]
    if len(ticks) < MIN_RANK_TICKS:
        step = next(step for step in RANK_TICKS if step >= (worst - best) / 4)
        ticks = list(range(-int(-best // step) * step, int(worst) + 1, step))
    room = (worst / best) ** MIN_TICK_DISTANCE
    return [best, *(tick for tick in ticks if tick >= best * room)]


def import_altair() -> Any:
    """Altair; ImportError if it is not installed."""
    try:
        return import_module("altair")
    except ImportError as error:
        raise ImportError("interactive plots need altair: pip install 'jaxrate[interactive]'") from error


def line_chart(
    lines: Sequence[ChartLine],
    text: ChartText,
    *,
    is_rank: bool = False,
    is_stepped: bool = False,
    bands: Sequence[ChartBand] = (),
) -> Any:
    """Lines with names at their ends; the pointer shows the nearest point, and a wheel or a drag moves the time axis.

    Ranks have a logarithmic axis with the best on top.
    """
    altair = import_altair()
    named = [line for line in lines if line.is_named]
    has_peaks = any(line.peak for line in named)
    room = {"padding": PEAK_ROOM} if has_peaks else {}
    is_dated = any(np.asarray(line.x).dtype.kind == "M" for line in lines)
    x = altair.X("x:T" if is_dated else "x:Q", title=None if is_dated else text.x, scale=altair.Scale(**room),
                 axis=altair.Axis(grid=False, tickCount=LINE_TICKS))  # fmt: skip
    scale = (
        altair.Scale(type="log", reverse=True, nice=False, padding=RANK_ROOM)
        if is_rank
        else altair.Scale(zero=False, **room)
    )
    shown = np.concatenate([line.y for line in lines] + [edge for band in bands for edge in (band.low, band.high)])
    ticks = {"values": rank_ticks(shown)} if is_rank else {"tickCount": LINE_TICKS}
    y = altair.Y("y:Q", title=text.y, scale=scale, axis=altair.Axis(format=",.6~g", **ticks))
    colour = altair.Color(
        "name:N",
        scale=altair.Scale(domain=[line.name for line in named], range=[*COLOURS][: max(len(named), 1)]),
        legend=None if len(named) <= len(COLOURS) else altair.Legend(title=None),
    )
    interpolate = "step-before" if is_stepped else "linear"
    layers = []
    for band in bands:
        grey = altair.Chart(altair.Data(values=_band_rows(band)))
        layers.append(grey.mark_area(color=PALE, opacity=0.45).encode(
            x=x, y=altair.Y("low:Q", title=text.y, scale=scale), y2="high:Q"
        ))  # fmt: skip
    if len(named) < len(lines):
        grey = altair.Chart(altair.Data(values=_line_rows([line for line in lines if not line.is_named])))
        look = {"color": GREY, "strokeWidth": 1, "strokeDash": [1, 2]} if bands else {"color": PALE, "strokeWidth": 0.7}
        layers.append(grey.mark_line(interpolate=interpolate, **look).encode(
            x=x, y=y, detail="name:N"
        ))  # fmt: skip
    chart = altair.Chart(altair.Data(values=_line_rows(named)))
    if any(line.half_width is not None for line in named):
        intervals = chart.mark_area(opacity=0.18, interpolate=interpolate)
        layers.append(intervals.encode(x=x, y=altair.Y("low:Q", scale=scale), y2="high:Q", color=colour))
    tooltip = [
        altair.Tooltip("name:N", title="name"),
        altair.Tooltip("x:T" if is_dated else "x:Q", title=text.x, format="%Y-%m-%d" if is_dated else ",.6~g"),
        altair.Tooltip("y:Q", title=text.y, format=",.0f" if is_rank else ",.1f"),
    ]
    layers.append(chart.mark_line(strokeWidth=1.6, interpolate=interpolate).encode(x=x, y=y, color=colour))
    nearest = altair.selection_point(on="pointerover", nearest=True, fields=["name", "x"], empty=False)
    points = chart.mark_circle(size=50).encode(
        x=x, y=y, color=colour, tooltip=tooltip, opacity=altair.condition(nearest, altair.value(1), altair.value(0))
    )
    layers.append(points.add_params(nearest))
    if has_peaks:
        for align, rows in _peak_rows_by_alignment(named, lines).items():
            peaks = altair.Chart(altair.Data(values=sorted(rows, key=lambda row: row["y"])))  # the highest on top
            height = altair.Y("label_y:Q", title=text.y, scale=scale)
            layers.append(peaks.mark_rule().encode(x=x, y=y, y2="label_y:Q", color=colour))
            layers.append(peaks.mark_circle(size=60, opacity=1, stroke="white").encode(x=x, y=y, color=colour))
            layers.append(peaks.mark_text(dy=-10, align=align).encode(x=x, y=height, text="when:N", color=colour))
    if len(named) <= len(COLOURS):
        ends = altair.Chart(altair.Data(values=_line_end_rows(named, lines, is_rank=is_rank)))
        beside = altair.value(WIDTH + 6)  # where no line can be
        layers.append(ends.mark_text(align="left", clip=False).encode(x=beside, y=y, text="name:N", color=colour))
    chart = altair.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return _style_chart(chart.interactive(bind_y=False), text)


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


def _peak_rows_by_alignment(named: Sequence[ChartLine], lines: Sequence[ChartLine]) -> dict[str, list[dict[str, Any]]]:
    """The highest point of each line for JSON, with its label, which ends there if names follow at the right."""
    rows: dict[str, list[dict[str, Any]]] = {}
    drawn = [(times_to_numbers(np.asarray(line.x)), np.asarray(line.y, float)) for line in lines]
    labels = place_peak_labels(
        [one for one, line in zip(drawn, lines, strict=True) if line.is_named],
        [line.peak for line in named],
        drawn,
        (WIDTH, HEIGHT),
    )
    for line, label in zip(named, labels, strict=True):
        if line.peak is None:
            continue
        row = _line_rows([line])[line.peak[0]]
        if label is None:  # a dot without a label
            row |= {"when": "", "label_y": row["y"]}
        else:
            row |= {"when": line.peak[1], "label_y": round(label.height, 3)}
        rows.setdefault("center" if label is None else label.align, []).append(row)
    return rows


def _band_rows(band: ChartBand) -> list[dict[str, Any]]:
    """The points of a band for JSON."""
    middle, half_width = 0.5 * (band.low + band.high), 0.5 * (band.high - band.low)
    rows = _line_rows([ChartLine("", band.x, middle, half_width)])
    return [{"x": row["x"], "low": row.get("low"), "high": row.get("high")} for row in rows]


def _line_end_rows(named: Sequence[ChartLine], lines: Sequence[ChartLine], *, is_rank: bool) -> list[dict[str, Any]]:
    """The ends of lines for JSON, spread so that names do not overlap."""
    scale, inverse = (np.log, np.exp) if is_rank else (np.positive, np.positive)
    values = scale(np.concatenate([np.asarray(line.y, float) for line in lines]))
    distance = LABEL_HEIGHT / (DATA_SHARE * HEIGHT) * float(np.nanmax(values) - np.nanmin(values))
    rows = [_line_rows([line])[-1] for line in named]
    heights = inverse(spread_labels(scale(np.array([row["y"] for row in rows], float)), distance))
    return [row | {"y": round(height, 3)} for row, height in zip(rows, heights.tolist(), strict=True)]


def interval_chart(
    names: list[str],
    values: HostArray,
    half_widths: HostArray | None,
    text: ChartText,
    value_texts: Sequence[str],
    numbers: Sequence[int] = (),
) -> Any:
    """A row for each player with the interval of their value, which stands at the right, too.

    Names may have numbers before them.
    """
    altair = import_altair()
    half = np.zeros(len(names)) if half_widths is None else half_widths
    labels = names
    if numbers:  # the first character keeps Vega from removing the spaces before a number
        numbered = zip(pad_numbers(numbers), names, strict=True)
        labels = [f"\N{ZERO WIDTH SPACE}{number}\N{EN SPACE}{name}" for number, name in numbered]
    rows = [
        {
            "row": i + 1,
            "label": label,
            "name": name,
            "value": round(value, 3),
            "low": round(value - w, 3),
            "high": round(value + w, 3),
            "text": value_text,
        }
        for i, (label, name, value, w, value_text) in enumerate(
            zip(labels, names, values.tolist(), half.tolist(), value_texts, strict=True)
        )
    ]
    chart = altair.Chart(altair.Data(values=rows))
    padding = 8.0 + CHARACTER_PIXELS * min(max(map(len, labels)), MAX_LABEL_LENGTH)
    y = altair.Y("label:N", sort=None, title=None, axis=altair.Axis(
        labelLimit=padding, labelAlign="left", labelPadding=padding, labelColor=INK, grid=False))  # fmt: skip
    x = altair.X("low:Q", title=text.x, scale=altair.Scale(zero=False),
                 axis=altair.Axis(grid=True, tickCount=INTERVAL_TICKS, format=",.6~g"))  # fmt: skip
    number = {"format": ",.1f"}
    tooltip = [altair.Tooltip("name:N", title="name"), altair.Tooltip("row:Q"),
               *(altair.Tooltip(f"{key}:Q", title=title, **number)
                 for key, title in (("value", text.x), ("low", "from"), ("high", "to")))]  # fmt: skip
    bars = chart.mark_bar(height=5, color=COLOURS[0], opacity=0.3, cornerRadius=2).encode(x=x, x2="high:Q", y=y)
    dots = chart.mark_circle(color=COLOURS[0], size=DOT_AREA, opacity=1).encode(
        x=altair.X("value:Q", scale=altair.Scale(zero=False)), y=y
    )
    hover = chart.mark_rule(strokeWidth=14, opacity=0).encode(x=x, x2="high:Q", y=y, tooltip=tooltip)
    height, layers = min(ROW_HEIGHT * len(names), MAX_ROWS_HEIGHT), [bars, dots, hover]
    if height == ROW_HEIGHT * len(names):
        written = chart.mark_text(align="left", color=INK, clip=False).encode(
            x=altair.value(WIDTH + 8), y=y, text="text:N"
        )
        layers.append(written)
    return _style_chart(altair.layer(*layers).properties(width=WIDTH, height=height), text)


def parity_limits(percent: HostArray) -> tuple[float, float]:
    """The ends of a scale of colours with 50 % in its middle, which reaches as far as the farthest of [n, m] values."""
    reach = np.nanmax(np.abs(percent - 50.0), initial=LEAST_PARITY_RANGE)
    return 50.0 - float(reach), 50.0 + float(reach)


def matrix_chart(names: list[str], percent: HostArray, text: ChartText) -> Any:
    """Cells of percentages of each in rows against each other; the pointer shows both names."""
    altair = import_altair()
    is_written = len(names) <= MAX_WRITTEN_COLUMNS
    low, high = parity_limits(percent)
    dark_reach = DARK_SHARE * (high - 50.0)
    rows = [
        {"row": names[i], "column": names[j], "percent": round(float(percent[i, j]), 2)}
        | (
            {"text": format_percent(percent[i, j]), "dark": bool(abs(percent[i, j] - 50.0) > dark_reach)}
            if is_written
            else {}
        )
        for i, j in np.argwhere(~np.isnan(percent)).tolist()
    ]
    side = len(names) * min(34 if is_written else 24, max(MAX_MATRIX_SIDE // len(names), 1))
    axis = altair.Axis(labelLimit=400, labelColor=INK, labelOverlap=True, labelSeparation=5, domain=False, ticks=False)
    has_column_names = max(map(len, names)) <= MAX_COLUMN_NAME_LENGTH
    column_axis = axis if has_column_names else altair.Axis(labels=False, domain=False, ticks=False)
    column_title = text.x if has_column_names else f"{text.x}, in the order of the rows"
    data = altair.Chart(altair.Data(values=rows))
    x = altair.X("column:N", sort=names, scale=altair.Scale(domain=names), title=column_title, axis=column_axis)
    y = altair.Y("row:N", sort=names, scale=altair.Scale(domain=names), title=None, axis=axis)
    chart = data.mark_rect(stroke="white" if is_written else None).encode(
        x=x, y=y, color=altair.Color("percent:Q", title=text.y, scale=altair.Scale(
            domain=np.linspace(low, high, len(DIVERGING_COLOURS)).tolist(), range=[*DIVERGING_COLOURS],
            interpolate="rgb"), legend=None if is_written else altair.Legend()),
        tooltip=[altair.Tooltip("row:N", title="name"), altair.Tooltip("column:N", title="against"),
                 altair.Tooltip("percent:Q", title=text.y, format=".1f")],
    )  # fmt: skip
    if is_written:
        colour = altair.condition("datum.dark", altair.value("white"), altair.value(INK))
        chart = altair.layer(chart, data.mark_text().encode(x=x, y=y, text="text:N", color=colour))
    chart = chart.properties(width=side, height=side, view=altair.ViewConfig(fill=RULE, stroke=None))
    return _style_chart(chart, text)


def calibration_chart(lines: dict[str, tuple[HostArray, ...]], text: ChartText) -> Any:
    """Observed by predicted scores of each system, (predicted, observed, low, high, count) [bins] by label."""
    altair = import_altair()
    keys = "predicted", "observed", "low", "high", "count"
    rows = [
        {"system": name} | {key: round(float(x), 4) for key, x in zip(keys, values, strict=True)}
        for name, bins in lines.items()
        for values in zip(*bins, strict=True)
    ]
    chart = altair.Chart(altair.Data(values=rows))
    share = altair.Scale(domain=[0, 1])
    ticks = [0.2, 0.4, 0.6, 0.8, 1]
    x_axis = altair.Axis(values=[0, *ticks], format="~g")
    y_axis = altair.Axis(values=ticks, format="~g")  # the zero in the corner is that of both axes
    x = altair.X("predicted:Q", title=text.x, scale=share, axis=x_axis)

    def y_of(column: str) -> Any:
        return altair.Y(f"{column}:Q", title=text.y, scale=share, axis=y_axis)

    colour = altair.Color("system:N", title="calibration error", scale=altair.Scale(
        domain=[*lines], range=[COLOURS[i % len(COLOURS)] for i in range(len(lines))]))  # fmt: skip
    diagonal = altair.Chart(altair.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}])).mark_line(
        color=GREY, strokeDash=[4, 4], strokeWidth=1
    )
    tooltip = ["system:N", *(altair.Tooltip(f"{key}:Q", format=".3f") for key in keys[:4]),
               altair.Tooltip("count:Q", format=",.0f")]  # fmt: skip
    layers = (
        diagonal.encode(x=altair.X("x:Q", title=text.x, scale=share, axis=x_axis), y=y_of("y")),
        chart.mark_rule(opacity=0.5).encode(x=x, y=y_of("low"), y2="high:Q", color=colour),
        chart.mark_line(strokeWidth=1.2).encode(x=x, y=y_of("observed"), color=colour),
        chart.mark_circle(size=50, opacity=1).encode(x=x, y=y_of("observed"), color=colour, tooltip=tooltip),
    )
    return _style_chart(altair.layer(*layers).properties(width=HEIGHT, height=HEIGHT), text)


def _style_chart(chart: Any, text: ChartText) -> Any:
    """The style of all plots: no box, a horizontal grid, the title at the left."""
    altair = import_altair()
    subtitle = [line for line in (text.subtitle, text.source) if line]
    axis = {"labelColor": GREY, "titleColor": GREY, "titleFontWeight": "normal", "tickColor": GREY, "gridColor": RULE}
    title = altair.TitleParams(text.title, subtitle=subtitle, anchor="start", frame="bounds", color=INK, offset=14,
                               fontSize=18, font="Georgia, serif", subtitleColor=GREY, subtitleFontSize=12)  # fmt: skip
    return (
        chart.properties(title=title, background=PAPER)
        .configure_view(stroke=None)
        .configure_axis(**axis)
        .configure_axisY(domain=False, ticks=False)
        .configure_legend(symbolOpacity=1, labelColor=INK, titleColor=GREY, titleFontWeight="normal")
    )
