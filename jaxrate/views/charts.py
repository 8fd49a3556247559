"""What pictures show, by Matplotlib and by Altair: texts, rows of players, lines through time, matrices, layers."""

import math
import warnings
from base64 import b64encode
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.optional_imports import import_optional
from jaxrate.core.text_format import format_number

YEAR = 365.25  # days
MIN_YEARS_WITHOUT_MONTHS = 5  # of a history from which on peaks are marked with years alone
Z_95 = 1.96  # deviations to either side: 95%
MAX_WRITTEN_COLUMNS = 20  # of a matrix, up to which percentages are written into the cells
MAX_NAMED_COLUMNS = 40  # number of columns up to which all have names
MAX_COLUMN_NAME_LENGTH = 20  # characters of the longest name up to which columns have names
WIDE, USUAL_WIDTH, THIN = 2.4, 1.5, 1.1  # points of a line that the title is about, of lines, and of those beside one
MAX_VALUE_TICKS = 7  # of an axis beside names and values
MAX_GREY_LINES = 50  # of more players, bands are drawn
MIN_BAND_PLAYERS = 5  # at a time, for quantiles of their values
QUANTILES = 0.05, 0.25, 0.5, 0.75, 0.95
RANK_TICKS = tuple(digit * 10**power for power in range(6) for digit in (1, 2, 3, 5))
MIN_RANK_TICKS = 3  # of round ranks; with fewer, ticks are at even distances
MIN_RANK_RANGE = 2.0  # from the best rank to the worst
MIN_TICK_DISTANCE = 0.06  # from one rank at an axis to the next, as a share of a logarithmic axis
PANEL_TICK_DISTANCE = 0.15  # in one of several small charts
RANK_ROOM = 0.05  # of a logarithmic axis, above and below the ranks
MIN_RANK_PANELS, MIN_PANELS = 3, 5  # players from whom on each line has a panel: more in one picture hide each other


DIVERGING_COLOURS = "#b3450b", "#f0a36b", "#ffffff", "#6fa8dc", "#0b5cad"  # from 0 through parity to 1
SEQUENTIAL_COLOURS = "#ffffff", "#cfe1f2", "#93c4df", "#4a97c9", "#1764ab", "#08306b"  # also in greyscale


def mix_colours(colours: Sequence[str], share: float) -> tuple[float, float, float]:
    """The colour [3] at this share of the way through colours at even distances, in red, green and blue from 0 to 1."""
    values = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours]) / 255.0
    at = np.linspace(0.0, 1.0, len(colours))
    red, green, blue = (float(np.interp(share, at, channel)) for channel in values.T)
    return red, green, blue


def image_address(levels: HostArray, palette: Sequence[tuple[float, float, float]]) -> str:
    """The address, with the data in it, of a PNG with a pixel for each of these numbers [n, m] of colours."""
    file, pixels = BytesIO(), levels.astype(np.uint8)
    image = import_optional("PIL.Image").frombytes("P", pixels.shape[::-1], pixels.tobytes())
    image.putpalette(np.round(255.0 * np.array(palette)).astype(np.uint8).tobytes())
    image.save(file, "PNG")
    return f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"


class Scale(NamedTuple):
    """The range of an axis and the numbers at its ticks."""

    low: float
    high: float
    ticks: Sequence[float] = ()
    is_logarithmic: bool = False


DATA_ROOM = 0.03  # of an axis, about the data


def round_ticks(low: float, high: float, most_steps: int) -> list[float]:
    """Round numbers at even distances, from one that is at most `low` to one that is at least `high`."""
    size = 10.0 ** math.floor(math.log10((high - low) / most_steps))
    step = next(size * digit for digit in (1, 2, 5, 10) if high - low <= most_steps * size * digit)
    numbers = range(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)
    return [float(f"{step * i:.12g}") for i in numbers]


def round_scale(values: Any, most_steps: int = 8) -> Scale:
    """The scale from a round number below these values to one above, NaN apart."""
    low, high = value_range(values)
    room = DATA_ROOM * (high - low)
    ticks = round_ticks(low - room, high + room, most_steps)
    return Scale(ticks[0], ticks[-1], ticks)


def tight_scale(values: Any, most_steps: int = 8) -> Scale:
    """The scale that goes a little farther than these values, NaN apart."""
    low, high = value_range(values)
    low, high = low - DATA_ROOM * (high - low), high + DATA_ROOM * (high - low)
    return Scale(low, high, [x for x in round_ticks(low, high, most_steps) if low <= x <= high])


def logarithmic_scale(values: Any, most_steps: int = 8) -> Scale:
    """The logarithmic scale of positive values, with ticks at even ratios if they differ by more than tenfold."""
    low, high = value_range(values)
    digits = (1, 2, 5) if high < 1000.0 * low else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in digits]
    ticks = round_ticks(low, high, most_steps) if high < 10.0 * low else ticks
    return Scale(low, high, [x for x in ticks if low <= x <= high], True)


def value_range(values: Any) -> tuple[float, float]:
    """The least and the greatest value, NaN apart; equal ones have a twentieth of them as room on both sides."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.0 if high > low else 0.05 * abs(low) or 1.0
    return low - room, high + room


class PictureText(NamedTuple):
    """The texts of a picture or an interactive chart."""

    title: Any  # a `Finding`, or a text
    subtitle: str
    x: str = ""  # of its axes
    y: str = ""
    source: str = ""


class RowView(NamedTuple):
    """A row for each player, the first on top: a name, a value with its interval, and the value as text."""

    text: PictureText
    labels: list[str]
    values: HostArray
    low: HostArray  # ends of the intervals; those of the value itself have none
    high: HostArray
    value_texts: Sequence[str]  # at the right, where all rows have names
    numbers: Sequence[int] = ()  # before the names
    head: str = ""  # above the texts of values
    are_differences: bool = False  # which a line at 0 divides
    are_ranks: bool = False

    @property
    def scale(self) -> Scale:
        """The axis of the values."""
        if not self.are_ranks:
            return tight_scale(np.concatenate([self.low, self.high]), MAX_VALUE_TICKS)
        worst = int(self.high.max())
        step = next(x for x in RANK_TICKS if MAX_VALUE_TICKS * x >= worst)
        return Scale(0.4, worst + 0.6, [1, *range(step if step > 1 else 2, worst + 1, step)])


class MatrixView(NamedTuple):
    """Percentages in cells; NaN where there is none."""

    text: PictureText
    rows: list[str]
    columns: list[str]
    percent: HostArray  # [n, m]
    quantity: str  # what the percentages are
    is_diverging: bool = False  # colours about one half, from 0 to 100, and not from 0 to the greatest
    has_frames: bool = False  # about the cells of the diagonal

    @property
    def is_square(self) -> bool:
        """Whether cells are as high as wide."""
        return self.is_diverging or self.has_frames

    @property
    def is_written(self) -> bool:
        """Whether cells have room for their percentages."""
        return len(self.columns) <= MAX_WRITTEN_COLUMNS

    @property
    def has_column_names(self) -> bool:
        """Whether columns have names; otherwise they have the numbers of the rows."""
        return len(self.columns) <= MAX_NAMED_COLUMNS and max(map(len, self.columns)) <= MAX_COLUMN_NAME_LENGTH

    @property
    def colours(self) -> tuple[str, ...]:
        """The colours of the least percentage to the greatest, at even distances."""
        return DIVERGING_COLOURS if self.is_diverging else SEQUENTIAL_COLOURS

    @property
    def greatest(self) -> float:
        """The percentage that has the last colour."""
        return 100.0 if self.is_diverging else float(np.clip(10.0 * np.ceil(np.nanmax(self.percent) / 10), 10.0, 100.0))


class Layer(NamedTuple):
    """Marks of one kind on two axes of numbers, or of dates."""

    mark: str  # "line", with dots at its points if it has markers; "bars"; "boxes"; "texts"; "heat"
    x: HostArray  # of heat the edges of the columns
    y: HostArray  # of heat the edges of the rows
    x2: HostArray | None = None  # of boxes, whose other corners are (x, y)
    y2: HostArray | None = None  # of boxes, and of bars from (x, y) to (x, y2)
    values: Any = None  # of heat [n, m], whose colours reach from 0 to 1; what is written
    colour: str = "#0072B2"
    width: float = 1.4
    dash: str = "-"  # as of Matplotlib; empty without a line
    marker: str = ""
    opacity: float = 1.0
    is_stepped: bool = False  # each value holds until the next point
    label: str = ""  # in the legend
    tooltips: Sequence[tuple[str, HostArray]] = ()  # further numbers of the points


class LayerView(NamedTuple):
    """Layers, the first at the back."""

    text: PictureText  # `x` is "date" if there are dates
    layers: Sequence[Layer]
    x: Scale
    y: Scale
    size: tuple[float, float]  # width and height of the figure in inches
    legend: str = ""  # its title
    is_square: bool = False  # whether both axes have the same unit


class Curve(NamedTuple):
    """Means in bins [k], with their 95% intervals."""

    label: str
    x: HostArray
    y: HostArray
    low: HostArray
    high: HostArray
    weight: HostArray
    expected: HostArray | None = None  # the means if predictions were right

    @property
    def agrees(self) -> HostArray:
        """[k] whether the interval of a bin has the mean prediction in it."""
        return (self.low <= self.x) & (self.x <= self.high)

    def rows(self) -> list[tuple[float, ...]]:
        """The bins: prediction, mean, both ends of its interval, and number."""
        return [*zip(*(x.tolist() for x in (self.x, self.y, self.low, self.high, self.weight)), strict=True)]


class Line(NamedTuple):
    """A line through points [m]; NaN interrupts it."""

    name: str
    x: HostArray  # [m] times, dates, or numbers of events
    y: HostArray  # [m]
    deviation: HostArray | float = 0.0  # [m] of ratings, for their intervals
    peaks: Sequence[int] = ()  # the point with a dot, if there is one
    note: str = ""  # below the name

    @property
    def half_width(self) -> HostArray:
        """[m] half the width of the interval at each point; 0 without deviations."""
        return Z_95 * np.broadcast_to(self.deviation, len(self.y))

    @property
    def label(self) -> list[str]:
        """The lines of the label: the name and the note."""
        return [self.name, *[self.note] * bool(self.note)]

    @property
    def told_points(self) -> list[int]:
        """The points that the label tells of: the peak, if the note has it, and the last one."""
        return [*(self.peaks if self.note else ()), len(self.y) - 1]

    def select(self, points: HostArray | Sequence[int] | slice) -> "Line":
        """The line through some of its points, without the mark of its peak."""
        deviation = np.broadcast_to(self.deviation, len(self.y))
        return Line(self.name, self.x[points], self.y[points], deviation[points])

    def x_numbers(self) -> HostArray:
        """[m] dates as days since 1970-01-01, numbers as they are."""
        return self.x.astype("datetime64[us]").astype(float) / 86_400e6 if self.is_dated else self.x.astype(float)

    @property
    def is_dated(self) -> bool:
        """Whether the times are dates."""
        return self.x.dtype.kind == "M"


class Band(NamedTuple):
    """A grey band [m] behind all lines; NaN interrupts it."""

    x: HostArray
    low: HostArray
    high: HostArray


class UnnamedPlayers(NamedTuple):
    """What is drawn of players without names: a grey line for each, or of many the median and bands of quantiles."""

    lines: Sequence[Line] = ()
    bands: Sequence[Band] = ()
    description: str = ""  # the end of a subtitle


class LineView(NamedTuple):
    """Lines with names at their ends in front of those of others."""

    text: PictureText  # `x` is "date" if there are dates
    lines: Sequence[Line]
    unnamed: UnnamedPlayers = UnnamedPlayers()
    then: Sequence[Line] = ()  # the same as they were known at the time, in thin dashes
    is_stepped: bool = False  # each value holds until the next point
    is_rank: bool = False  # on a logarithmic axis, with the best on top
    size: tuple[float, float] = (8.5, 4.8)  # width and height of the figure in inches
    panel: int = 0  # the number of the only line, where others have pictures of their own beside it
    beside: Sequence[Line] = ()  # the lines of all these pictures, which have the same axis

    @property
    def scale(self) -> Scale:
        """The vertical axis; of ranks from the worst to the best."""
        drawn = [*self.unnamed.lines, *self.lines, *self.then, *self.beside]
        ends = [line.y + sign * line.half_width for line in drawn for sign in (-1.0, 1.0)]
        shown = np.concatenate([*ends, *(end for band in self.unnamed.bands for end in (band.low, band.high))])
        if not self.is_rank:
            return round_scale(shown, 4 if self.beside else 8)
        best, worst = rank_range(shown)
        room = (worst / best) ** RANK_ROOM
        distance = PANEL_TICK_DISTANCE if self.beside else MIN_TICK_DISTANCE
        return Scale(worst * room, best / room, rank_ticks(best, worst, distance), True)

    @property
    def panels(self) -> "list[LineView]":
        """A view for each line where so many would hide each other, with the others in grey unless bands are there."""
        if len(self.lines) < (MIN_RANK_PANELS if self.is_rank else MIN_PANELS):
            return [self]
        all_lines, panels = [*self.lines, *self.then], []
        for i, line in enumerate(self.lines):
            others = [] if self.unnamed.bands else [x for x in self.lines if x is not line]
            unnamed = self.unnamed._replace(lines=[*self.unnamed.lines, *others])
            panels.append(self._replace(lines=[line], unnamed=unnamed, then=self.then[i : i + 1], panel=i))
        return [panel._replace(beside=all_lines) for panel in panels]

    @property
    def widths(self) -> list[float]:
        """The widths of the lines in points: the one that the title is about stands out from the others."""
        about = getattr(self.text.title, "subject", "")
        names = [line.name for line in self.lines]
        if len(names) < 2 or about not in names:
            return [USUAL_WIDTH] * len(names)
        return [WIDE if name == about else THIN for name in names]


def duration_of_lines(lines: Sequence[Line]) -> float:
    """The time from the first point of these lines to the last."""
    numbers: list[HostArray] = [line.x_numbers() for line in lines]
    return float(max(x[-1] for x in numbers) - min(x[0] for x in numbers))


def format_peak_time(at: Any, span_days: float) -> str:
    """The year of a date, or its month in a short history; another time as a number."""
    if not isinstance(at, np.datetime64):
        return format_number(round(float(at), 1))
    if span_days >= MIN_YEARS_WITHOUT_MONTHS * YEAR:
        return str(at.astype("datetime64[Y]"))
    return f"{at.astype('datetime64[D]').item():%b %Y}"


def half_widths(deviation: Any) -> Any:
    """Half the widths of 95% intervals, from deviations; None without these."""
    return None if deviation is None else Z_95 * deviation


def without_deviations(lines: Iterable[Line]) -> list[Line]:
    """The lines without their intervals."""
    return [line._replace(deviation=0.0) for line in lines]


def unnamed_lines(lines: Iterable[Line]) -> UnnamedPlayers:
    """A grey line for each player."""
    lines = [Line(str(i), line.x, line.y) for i, line in enumerate(lines)]
    others = "other" if len(lines) == 1 else "others"
    return UnnamedPlayers(lines, (), f". In grey: {len(lines):,} {others}" * bool(lines))


def quantile_bands(times: HostArray, values: HostArray) -> UnnamedPlayers:
    """The bands of 90% and 50% and the median of values [n, s] at times [s]; NaN where a player has none."""
    is_known = ~np.isnan(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of times at which nobody has a value
        quantiles = np.nanquantile(values, QUANTILES, axis=0)
    quantiles[:, is_known.sum(axis=0) < MIN_BAND_PLAYERS] = np.nan
    low, lower, median, upper, high = quantiles
    return UnnamedPlayers(
        [Line("median", times, median)],
        [Band(times, low, high), Band(times, lower, upper)],
        f". In grey: the median, 50% and 90% of {len(values):,} others",
    )


def count_panel_columns(num_panels: int) -> int:
    """Two columns of panels, or one of an odd number: no place is empty, and years stand at one height."""
    return 1 if num_panels % 2 else 2


def rank_range(ranks: HostArray) -> tuple[float, float]:
    """The best and the worst rank at an axis of these ranks, NaN apart."""
    best = float(np.nanmin(ranks))
    return best, max(float(np.nanmax(ranks)), best + MIN_RANK_RANGE)


def rank_ticks(best: float, worst: float, min_distance: float = MIN_TICK_DISTANCE) -> list[int]:
    """The best rank, and round ones to about the worst; at even distances if these are near."""
    first = math.ceil(best)
    ticks = [tick for tick in RANK_TICKS if first <= tick <= worst]
    if len(ticks) < MIN_RANK_TICKS:
        step = next(step for step in RANK_TICKS if step >= (worst - first) / 4)
        ticks = list(range(-int(-first // step) * step, int(worst) + 1, step))
    room, kept = (worst / first) ** min_distance, [first]
    for tick in ticks:
        if tick > first and tick >= kept[-1] * room:
            kept.append(tick)
    return kept
