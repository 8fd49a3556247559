"""The charts of all careers, drawn at once: lines with bands as SVG, and labels in percent of its size."""

import re
from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import use_minus_sign
from jaxrate.history.leaderboards import PEAK_MIN_EVENTS
from jaxrate.site.drawings import round_marks
from jaxrate.site.site_data import FIRST_EVENTS, MEAN_YEAR_DAYS, SiteData
from jaxrate.views.charts import half_widths

UNITS = 1000  # width and height of a chart in its own units
BINS = 200  # of the width; each shows its last event
EDGE_ROOM = 0.05  # of the height of lines and bands: free above and below them, so that dots and bands are seen whole
LABEL_ROOM = 0.2  # of the width, within which the label of a peak is written towards the middle
MONTH_STEPS = {12 * x: 10 for x in (1, 2, 5, 10, 20, 50, 100)} | dict.fromkeys((1, 2, 3, 4, 6), 5)  # and most labels
MIN_MARKS = 3  # labels that have room on a phone
PAUSE_YEARS, PAUSE_GAPS = 3, 5  # a pause is longer than so many years, and than so many median gaps of the career
EPOCH = date(1970, 1, 1).toordinal()


class _Line(NamedTuple):
    """One line of each career, [M], and half the width of its band; None without bands."""

    style: str
    mean: HostArray
    half_width: HostArray | None


class _ChartAxes(NamedTuple):
    """The ends of both axes of a chart."""

    low: float
    high: float
    left: float
    right: float
    by_date: bool
    is_counted: bool  # whether events are numbered


def draw_career_charts(data: SiteData, pauses: HostArray, players: Sequence[int] | None = None) -> list[str]:
    """The inside of the chart of each player, or of some by id; empty for the others and for fewer than two events.

    `pauses` [M] says of each event whether a long pause comes before it.
    """
    careers, counts = data.careers, np.diff(data.careers.start)
    charts = [""] * len(counts)
    is_drawn = (counts > 1) & (True if players is None else np.isin(np.arange(len(counts)), players))
    drawn, row = np.flatnonzero(is_drawn), np.flatnonzero(np.repeat(is_drawn, counts))
    if not len(drawn):
        return charts
    lines, count = _lines_of_rows(data, row), counts[drawn]
    begin = np.append(0, np.cumsum(count)[:-1])
    across, left, right, is_timed = _horizontal_positions_and_axis_ends(careers.time[row], begin, count)
    low, high = _lowest_and_highest_ratings_by_chart(lines, begin, count)
    x = UNITS * (across - np.repeat(left, count)) / np.repeat(right - left, count)
    top, scale = np.repeat(high, count), np.repeat(UNITS / (high - low), count)
    bins = np.floor(BINS * x / UNITS)
    is_kept = np.append(bins[1:] != bins[:-1], True)
    has_peak = data.peak[drawn] >= 0
    peak = np.where(has_peak, begin + (data.peak - careers.start[:-1])[drawn], begin)
    is_kept[begin] = is_kept[np.append(begin[1:], len(x)) - 1] = is_kept[peak] = True
    kept_peak = (np.cumsum(is_kept) - 1)[peak].tolist()
    bounds = np.append(0, np.cumsum(np.add.reduceat(is_kept, begin))).tolist()
    is_broken = np.logical_or.reduceat(pauses[row], np.append(0, np.flatnonzero(is_kept)[:-1] + 1))
    texts = np.array([str(i) for i in range(-UNITS, 2 * UNITS + 1)], object)
    columns = texts[np.round(x[is_kept]).astype(int) + UNITS]

    def points(values: HostArray) -> list[str]:
        y = np.clip(np.round((top - values) * scale)[is_kept], -UNITS, 2 * UNITS).astype(int)
        return list((columns + " " + texts[y + UNITS]).tolist())

    paths = []
    for style, mean, half in lines:
        paths.append((style, points(mean), [] if half is None else [points(mean + half), points(mean - half)]))
    by_date = is_timed & (data.rated.clock == "dates")
    axes = zip(*(x.tolist() for x in (low, high, left, right, by_date, ~is_timed)), strict=True)
    for i, (player, ends) in enumerate(zip(drawn.tolist(), map(_ChartAxes._make, axes), strict=True)):
        first, last = bounds[i : i + 2]
        breaks = (np.flatnonzero(is_broken[first:last]) + first).tolist()
        pieces = [slice(*x) for x in pairwise([first, *breaks, last])]
        drawing, label = "".join(_draw_line(*path, pieces) for path in paths), ""
        if has_peak[i]:
            point = paths[0][1][kept_peak[i]]
            drawing += f'<path class="peak" d="M{point}h0"/>'
            label = _peak_label(point, data, int(data.peak[player]), ends.by_date)
        charts[player] = _frame(drawing, label, ends)
    return charts


def _lines_of_rows(data: SiteData, row: HostArray) -> list[_Line]:
    """The line of ratings at the time in these rows of the careers, and that in hindsight."""
    after = data.careers.after
    lines = [_Line("first", after.mean[row], None if after.deviation is None else half_widths(after.deviation[row]))]
    if data.hindsight is not None:
        mean, deviation = (data.careers.gather(x)[row] for x in data.hindsight)
        lines.append(_Line("second now", mean, half_widths(deviation)))
    return lines


def _draw_line(style: str, middle: list[str], edges: list[list[str]], pieces: list[slice]) -> str:
    """The band between edges, if there are any, and the line of a career, broken into pieces, with dots over the gaps.

    The points of the line and of the edges are texts.
    """
    drawing = ""
    if edges:
        outline = "Z".join(f"M{'L'.join(edges[0][x] + edges[1][x][::-1])}" for x in pieces)
        drawing = f'<path class="area {style}" d="{outline}Z"/>'
    line = "".join(f"M{'L'.join(middle[x])}{'h0' if x.stop == x.start + 1 else ''}" for x in pieces)
    drawing += f'<path class="line {style}" d="{line}"/>'
    bridges = "".join(f"M{middle[x.start - 1]}L{middle[x.start]}" for x in pieces[1:])
    return drawing + (f'<path class="line {style} pause" d="{bridges}"/>' if bridges else "")


def describe_thinning(chart: str, count: int, event: str, events: str) -> str:
    """Which of the events of a career, so many, the first line of its chart goes through."""
    line = re.search('class="line first" d="(.*?)"', chart)
    drawn = len(re.findall("[ML]", line[1])) if line else count
    if drawn == count:
        return f"The rating after each {event}."
    return f"The line is thinned: the rating after {drawn:,} of {count:,} {events}."


def write_chart_notes(data: SiteData, pauses: HostArray) -> list[str]:
    """What the chart of each player shows besides the line."""
    careers, hindsight = data.careers, data.hindsight
    event, events = data.event, data.events
    band = ""
    if careers.after.deviation is not None:
        band = "The band is the 95% interval at the time."
        if hindsight is not None and len(careers.after.mean):
            mean, _ = (careers.gather(x) for x in hindsight)
            outside = float((np.abs(mean - careers.after.mean) > half_widths(careers.after.deviation)).mean())
            percent = f"{100 * outside:.1f}"
            leaves = f"in {percent}% of {events} it leaves" if float(percent) else "it hardly ever leaves"
            band = (
                "The bands are 95% intervals. Hindsight is drawn at the level and spread of the ratings at the time; "
                f"{leaves} the band of the time."
            )
    above = "" if data.level is None else ", the greatest lead over the median of the active,"
    counts = np.diff(careers.start)
    num_pauses = np.diff(np.append(0, np.cumsum(pauses))[careers.start])
    at_once = counts > 1
    at_once[at_once] = careers.time[careers.start[1:][at_once] - 1] == careers.time[careers.start[:-1][at_once]]
    texts = {
        f"All {events} were at one time: they are numbered from the left.": at_once,
        f"The first {FIRST_EVENTS} {events} may run off the chart.": counts >= 2 * FIRST_EVENTS,
        f"The dot is the peak{above} from the {PEAK_MIN_EVENTS}th {event} on.": data.peak >= 0,
        "A dotted line leads over a pause of years.": num_pauses > 0,
        band: np.full(len(counts), bool(band)),
    }
    return [
        " ".join(text for text, is_true in zip(texts, row, strict=True) if is_true)
        for row in np.transpose([*texts.values()]).tolist()
    ]


def mark_events_after_pauses(data: SiteData) -> HostArray:
    """[M] whether a long pause comes before an event, over which the line of its career is broken."""
    start, time = data.careers.start, data.careers.time
    if data.rated.clock != "dates" or not len(time):
        return np.zeros(len(time), bool)
    counts = np.diff(start)
    player, gap = np.repeat(np.arange(len(counts)), counts), np.diff(time, prepend=time[0])
    is_first = np.zeros(len(time), bool)
    is_first[start[:-1][counts > 0]] = True
    order = np.lexsort((gap, is_first, player))  # of each player the gaps, the shortest first
    median = np.zeros(len(counts))
    some = counts > 1
    median[some] = gap[order][start[:-1][some] + (counts[some] - 1) // 2]
    return ~is_first & (gap > np.maximum(MEAN_YEAR_DAYS * PAUSE_YEARS, PAUSE_GAPS * median[player]))


def _horizontal_positions_and_axis_ends(
    time: HostArray, begin: HostArray, count: HostArray
) -> tuple[HostArray, HostArray, HostArray, HostArray]:
    """Positions [M]: times, or numbers of events; the ends of each axis, and whether it is of times."""
    number = np.arange(len(time)) - np.repeat(begin, count) + 1.0
    first, last = time[begin], time[begin + count - 1]
    is_timed = last > first  # neither NaN nor equal
    across = np.where(np.repeat(is_timed, count), time, number)
    return across, np.where(is_timed, first, 1.0), np.where(is_timed, last, count), is_timed


def _lowest_and_highest_ratings_by_chart(
    lines: list[_Line], chart_start: HostArray, count: HostArray
) -> tuple[HostArray, HostArray]:
    """The ends of each chart's axis: it holds lines and bands, but for the first events of long careers."""
    number = np.arange(count.sum()) - np.repeat(chart_start, count)
    is_first = (number < FIRST_EVENTS) & np.repeat(count >= 2 * FIRST_EVENTS, count)

    def lowest(values: HostArray) -> HostArray:
        return np.minimum.reduceat(np.where(is_first, np.inf, values), chart_start)

    half_widths = [np.zeros(len(x.mean)) if x.half_width is None else x.half_width for x in lines]
    low = np.min([lowest(x.mean - half) for x, half in zip(lines, half_widths, strict=True)], axis=0)
    high = np.max([-lowest(-x.mean - half) for x, half in zip(lines, half_widths, strict=True)], axis=0)
    is_flat = high - low < 1e-6
    room = np.where(is_flat, 1.0, EDGE_ROOM * (high - low))
    return low - room, high + room


def _peak_label(point: str, data: SiteData, row: int, by_date: bool) -> str:
    """The rating of a peak, with its year, above its point; beside it where a label might stick out of a phone."""
    x, y = (int(z) for z in point.split())
    level = 0.0 if data.level is None else data.level[row]
    text = f"peak {data.format_peak(float(data.careers.after.mean[row] - level))}"
    if by_date:
        text += f" ({date.fromordinal(EPOCH + int(data.careers.time[row] // 1)).year})"
    edge = " late" if x > (1 - LABEL_ROOM) * UNITS else " early" if x < LABEL_ROOM * UNITS else ""
    return f'<b class="top{edge}" style="left:{100 * x / UNITS:.1f}%;top:{100 * y / UNITS:.1f}%">{text}</b>'


def _frame(drawing: str, peak_label: str, axes: _ChartAxes) -> str:
    """The chart around its lines: grid and labels; of events that are counted, labels are whole numbers."""
    low, high, left, right, by_date, is_counted = axes
    heights = [(y, f"{y:,.6g}" if abs(y) < 1e5 else f"{y:,.0f}") for y in round_marks(low, high, 6)]
    down = [((high - y) / (high - low), use_minus_sign(text)) for y, text in heights]
    grid = "".join(f"M0 {round(UNITS * at)}H{UNITS}" for at, _ in down)
    tall = "".join(f'<b class="tall" style="top:{100 * at:.1f}%">{text}</b>' for at, text in down)
    widths = _date_marks(left, right) if by_date else [(x, f"{x:.9g}") for x in round_marks(left, right, 7)]
    ends = {left: " begin", right: " end"}  # where labels of whole dates would stick out of the chart
    wide = "".join(
        f'<b class="wide{ends.get(x, "")}" style="left:{100 * (x - left) / (right - left):.1f}%">{text}</b>'
        for x, text in widths
        if not is_counted or x == round(x)
    )
    return f'<path class="grid" d="{grid}"/>{drawing}</svg><span aria-hidden="true">{tall}{wide}{peak_label}</span>'


def _date_marks(left: float, right: float) -> list[tuple[float, str]]:
    """Years within the axis; where there are fewer than three, months, or else its ends and its middle as dates."""
    begin, end = (date.fromordinal(EPOCH + int(x)) for x in (left, right))
    months = range(12 * begin.year + begin.month - (begin.day == 1), 12 * end.year + end.month)
    for step, most in MONTH_STEPS.items():
        starts = [date(x // 12, x % 12 + 1, 1) for x in months if x % step == 0]
        if MIN_MARKS <= len(starts) <= most:
            texts = [str(x.year) if step >= 12 else f"<time>{x:%Y-%m}</time>" for x in starts]
            return [(float(x.toordinal() - EPOCH), text) for x, text in zip(starts, texts, strict=True)]
    days = dict.fromkeys([left, float((int(left) + int(right)) // 2), right])
    return [(x, f"<time>{date.fromordinal(EPOCH + int(x))}</time>") for x in days]
