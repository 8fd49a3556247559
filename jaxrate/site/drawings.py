"""Axes, bars and lines of tables as SVG, and the picture that a site is shared with."""

import math
import warnings
from io import BytesIO
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import use_minus_sign
from jaxrate.site.site_data import SiteData
from jaxrate.views.charts import Curve, PictureText, RowView, half_widths
from jaxrate.views.wording import spell_dates

COURSE_POINTS, COURSE_HEIGHT = 60, 56  # of the line of a career
MIN_MARKS, MAX_MARKS = 3, 5  # labels of an axis, so that they can be read, and have room in a column
MARK_DIGITS = 1, 2, 2.5, 5, 10  # of steps between marks; from 3 to 5 marks always fit with one of them
MARK_ROOM = 0.06  # of the length of an axis before its first label and behind its last, so that these are not cut


class Axis(NamedTuple):
    """An axis of ratings, with round marks."""

    low: float
    high: float
    marks: list[tuple[float, str]]  # positions in percent, and labels

    def position(self, rating: float) -> int:
        """The place of a rating on the scale, from the left, in thousandths."""
        return round(1000 * (rating - self.low) / (self.high - self.low))

    @property
    def grid(self) -> str:
        """A line at each mark, and of many at every other one, as stops of gradients in variables of a style sheet."""
        lines = [f"#0000 {at:.1f}%,var(--rule) 0 calc({at:.1f}% + 1px),#0000 0" for at, _ in self.marks]
        return f"--grid:{','.join(lines)};--coarse:{','.join(lines[:: 2 if len(lines) > 2 else 1])}"

    @property
    def labels(self) -> str:
        """The labels of the marks, as HTML."""
        return "".join(f'<i style="left:{at:.1f}%">{text}</i>' for at, text in self.marks)


def axis_marks(low: float, high: float) -> list[float]:
    """From three to five round numbers between two others; four rather than five."""
    size = 10.0 ** math.floor(math.log10((high - low) / MAX_MARKS))
    steps = [size * digit for digit in MARK_DIGITS]
    marks = [[i * x for i in range(math.ceil(low / x - 1e-9), math.floor(high / x + 1e-9) + 1)] for x in steps]
    return min((x for x in marks if MIN_MARKS <= len(x) <= MAX_MARKS), key=lambda x: len(x) == MAX_MARKS)


def make_axis(low: float, high: float) -> Axis:
    """The axis that shows these ratings."""
    if not high - low > 1e-9:
        low, high = low - 1.0, high + 1.0
    room = 0.02 * (high - low)
    low, high = low - room, high + room
    marks = axis_marks(low, high)
    edge = MARK_ROOM * (high - low)
    low, high = min(low, marks[0] - edge), max(high, marks[-1] + edge)
    return Axis(low, high, [(100 * (x - low) / (high - low), use_minus_sign(f"{x:,.10g}")) for x in marks])


def interval_bar(axis: Axis, rating: float, half_width: float, digits: int) -> str:
    """A rating as a mark, on a bar of its interval, if it has one, whose ends are told with so many decimals."""
    at = axis.position(rating)
    head = '<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none"'
    if not half_width:
        return f'{head} aria-hidden="true"><path/><path d="M{at} 0v10"/></svg>'
    begin, end = axis.position(rating - half_width), axis.position(rating + half_width)
    low, high = (math.floor(x * 10.0**digits + 0.5) / 10.0**digits for x in (rating - half_width, rating + half_width))
    text = f"95% interval {use_minus_sign(f'{low:,.{digits}f} to {high:,.{digits}f}')}"
    return f'{head} role="img" aria-label="{text}"><path d="M{begin} 5H{end}"/><path d="M{at} 0v10"/></svg>'


def ratings_to_level_letters(ratings: HostArray, rating_range: float) -> str:
    """[COURSE_POINTS] ratings as letters, "A" lowest, of levels of one height in all lines; blanks for NaN."""
    known = ratings[~np.isnan(ratings)]
    if not len(known):
        return ""
    middle = 0.5 * (known.min() + known.max())
    levels = np.clip(np.round(COURSE_HEIGHT * (0.5 + (ratings - middle) / max(rating_range, 1e-9))), 0, COURSE_HEIGHT)
    return "".join(" " if x != x else chr(65 + int(x)) for x in levels.tolist())


def course_line(levels: str) -> str:
    """The line of a career, from `ratings_to_level_letters`, with a dot at its end."""
    points = [(x, COURSE_HEIGHT + 65 - ord(level)) for x, level in enumerate(levels) if level != " "]
    if not points:
        return ""
    steps = (f"1 {y - before}" for (_, before), (_, y) in pairwise(points))
    x, y = points[0]
    return (
        f'<svg class="course" viewBox="0 0 {COURSE_POINTS - 1} {COURSE_HEIGHT}" preserveAspectRatio="none" '
        f'aria-hidden="true"><path d="M{x} {y}l{" ".join(steps)}"/><path d="M{points[-1][0]} {points[-1][1]}h0"/></svg>'
    )


PICTURE_SIZE = 1000  # width and height of the diagram in its own units
BAR_ROOM = 2  # percentage points by which a bar may reach below the beginning of its axis
AXIS_STARTS = (50, 10), (40, 10), (0, 25)  # percents at which both axes may begin, and their steps


class DotPlot(NamedTuple):
    """Dots and bars within [0, PICTURE_SIZE]^2 from the top left, and labels with their positions in percent."""

    dots: str  # an SVG path
    bars: str  # another, of their 95% intervals
    across: list[tuple[float, str]]
    down: list[tuple[float, str]]


def reliability_dot_plot(bins: Curve) -> DotPlot:
    """A dot for each bin: predicted to the right, observed upwards."""
    least = min(bins.low.min(), bins.x.min())
    begin, step = next((x for x in AXIS_STARTS if x[0] <= least + BAR_ROOM), AXIS_STARTS[-1])
    places = (
        (PICTURE_SIZE * (x - begin) / (100 - begin)).round().astype(int) for x in (bins.x, bins.y, bins.low, bins.high)
    )
    points = [*zip(*(x.tolist() for x in places), strict=True)]
    dots = (f"M{x} {PICTURE_SIZE - y}h0" for x, y, _, _ in points)
    bars = (f"M{x} {PICTURE_SIZE - low}V {PICTURE_SIZE - high}" for x, _, low, high in points)
    marks = [(100 * (x - begin) / (100 - begin), f"{x}%") for x in range(begin, 101, step)]
    return DotPlot("".join(dots), "".join(bars), marks, [(100 - at, text) for at, text in marks])


PREVIEW_PLAYERS = 5  # the best
MAX_PREVIEW_TEXT = 120  # characters of the finding and of the title
PREVIEW_SIZE, PREVIEW_DPI = (6.0, 3.15), 200  # inches, and pixels of each: 1200 by 630, as networks show


def preview_image(data: SiteData, title: str, finding: str) -> bytes:
    """The finding over the first of the ranking of current players as a PNG; ImportError without Matplotlib."""
    ids = data.listed[:PREVIEW_PLAYERS]
    names, rating, half_width = [data.names[i] for i in ids], data.rating[ids], half_widths(data.deviation[ids])
    ends = rating - half_width, rating + half_width
    as_of = spell_dates(f"Ratings as of {data.last_day}") * data.is_dated
    text = PictureText(finding, title, source=as_of)
    return draw_preview(RowView(text, names, rating, *ends, [data.format_rating(x) for x in rating]))


def draw_preview(view: RowView) -> bytes:
    """The rows below their texts as a PNG, in the style of plots and in letters that are installed."""
    from jaxrate.plots.matplotlib_charts import show
    from jaxrate.plots.plot_style import cut_name, format_plot_name, make_picture_axes, pyplot

    file = BytesIO()
    texts = [cut_name(str(x), MAX_PREVIEW_TEXT).replace("$", r"\$") for x in view.text]
    labels = [format_plot_name(x) for x in view.labels]
    fonts = find_fonts("".join([*texts, *labels]))
    with pyplot.rc_context({"font.family": fonts, "font.serif": ["DejaVu Serif", *fonts]}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of letters that no font has
        ax = make_picture_axes(None, PREVIEW_SIZE, PictureText(*texts), "x")
        if labels:
            show(view._replace(labels=labels), ax=ax)
        pyplot.savefig(file, format="png", dpi=PREVIEW_DPI, metadata={"Software": None})
        pyplot.close()
    return file.getvalue()


def find_fonts(text: str) -> list[str]:
    """The fonts of plots, and the first installed one that has the letters of a text that those lack."""
    from matplotlib.font_manager import findfont, fontManager, get_font

    letters = {*map(ord, text)} - get_font(findfont("DejaVu Sans")).get_charmap().keys()
    fonts = (x for x in fontManager.ttflist if letters and "LastResort" not in x.fname)
    other = (x.name for x in fonts if letters <= get_font(x.fname).get_charmap().keys())
    return ["DejaVu Sans", *islice(other, 1)]
