"""The same plots as interactive charts of Altair, which hold their own data and need no network for it."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_short_count, format_whole_percent
from jaxrate.plots.name_labels import NAME_STEPS, pad_numbers
from jaxrate.plots.scoreboard_style import (
    COLOURS,
    DIVERGING_COLOURS,
    GREY,
    INK,
    PAPER,
    RULE,
    cell_text_colour,
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


class ChartText(NamedTuple):
    """The texts of a chart."""

    title: str
    subtitle: str
    x: str
    y: str
    source: str = ""


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


def interval_chart(
    names: list[str],
    values: HostArray,
    half_widths: HostArray | None,
    text: ChartText,
    value_texts: Sequence[str],
    numbers: Sequence[int] = (),
    *,
    step: int = 1,
) -> Any:
    """A row for each player with the interval of their value, which stands at the right, too.

    Names may have numbers before them. If only some rows have names, as `step` says, none has a written value, and the
    pointer shows both.
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


def matrix_chart(names: list[str], percent: HostArray, text: ChartText, step: int) -> Any:
    """Cells of percentages of each in rows against each other; the pointer shows both names.

    `step` is that from one named row to the next.
    """
    altair = import_altair()
    is_written = len(names) <= MAX_WRITTEN_COLUMNS
    low, high = 0.0, 100.0
    has_column_names = len(names) <= MAX_NAMED_COLUMNS and max(map(len, names)) <= MAX_COLUMN_NAME_LENGTH
    numbers = pad_numbers(range(1, len(names) + 1))
    row_labels, column_labels = names, names
    if not has_column_names:  # the first character keeps Vega from removing the spaces before a number
        row_labels = [f"\N{ZERO WIDTH SPACE}{x}\N{EN SPACE}{name}" for x, name in zip(numbers, names, strict=True)]
        column_labels = [f"{i + 1}" for i in range(len(names))]

    def text_colour(value: float) -> str:
        return cell_text_colour(*mix_colours(DIVERGING_COLOURS, (value - low) / (high - low)))

    rows = [
        {
            "row": names[i],
            "column": names[j],
            "percent": round(float(percent[i, j]), 2),
            "y": row_labels[i],
            "x": column_labels[j],
        }
        | ({"text": format_whole_percent(percent[i, j]), "colour": text_colour(percent[i, j])} if is_written else {})
        for i, j in np.argwhere(~np.isnan(percent)).tolist()
    ]
    side = len(names) * min(34 if is_written else 24, max(MAX_MATRIX_SIDE // len(names), 1))
    axis = altair.Axis(labelLimit=400, labelColor=INK, labelOverlap=True, labelSeparation=5, domain=False, ticks=False)
    column_axis = axis
    row_axis = axis.copy()
    row_axis.values, row_axis.labelOverlap = row_labels[::step], False
    row_axis.labelFontSize = min(LABEL_FONT, 0.9 * step * side / len(names))
    if not has_column_names:
        column_step = next(
            x for x in (1, *NAME_STEPS) if x * side >= COLUMN_NUMBER_WIDTH * len(names) or x >= len(names)
        )
        column_axis = altair.Axis(
            values=column_labels[::column_step], labelAngle=0, labelColor=INK, domain=False, ticks=False
        )
    column_title = text.x if has_column_names else f"{text.x}, in the order of the rows"
    data = chart_of_rows(rows)
    x = altair.X("x:N", scale=altair.Scale(domain=column_labels), title=column_title, axis=column_axis)
    y = altair.Y("y:N", scale=altair.Scale(domain=row_labels), title=None, axis=row_axis)
    chart = data.mark_rect(stroke="white" if is_written else None).encode(
        x=x, y=y, color=altair.Color("percent:Q", title=text.y, scale=altair.Scale(
            domain=np.linspace(low, high, len(DIVERGING_COLOURS)).tolist(), range=[*DIVERGING_COLOURS],
            interpolate="rgb"), legend=None if is_written else altair.Legend()),
        tooltip=[altair.Tooltip("row:N", title="name"), altair.Tooltip("column:N", title="against"),
                 altair.Tooltip("percent:Q", title=text.y, format=".1f")],
    )  # fmt: skip
    if is_written:
        colour = altair.Color("colour:N", scale=None)
        numbers_in_cells = data.mark_text().encode(x=x, y=y, text="text:N", color=colour)
        chart = altair.layer(chart, numbers_in_cells).resolve_scale(color="independent")
    chart = chart.properties(width=side, height=side, view=altair.ViewConfig(fill=RULE, stroke=None))
    name_height = 0.85 * CHARACTER_PIXELS * max(map(len, names)) if has_column_names else 0.0
    return style_chart(chart, text, side + name_height + SOURCE_DISTANCE)


def calibration_chart(lines: dict[str, tuple[HostArray, ...]], text: ChartText) -> Any:
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


def style_chart(chart: Any, text: ChartText, source_y: float | None = None) -> Any:
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
