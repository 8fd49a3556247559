"""What pictures and interactive charts hold: their texts, rows of players, and lines of players through time."""

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray

MAX_GREY_LINES = 200  # of more players, bands are drawn
MIN_BAND_PLAYERS = 20  # at a time, for quantiles of their values
QUANTILES = 0.05, 0.25, 0.5, 0.75, 0.95
RANK_TICKS = tuple(digit * 10**power for power in range(6) for digit in (1, 2, 3, 5))
MIN_RANK_TICKS = 3  # of round ranks; with fewer, ticks are at even distances
MIN_RANK_RANGE = 2.0  # from the best rank to the worst
MIN_TICK_DISTANCE = 0.06  # from one rank at an axis to the next, as a share of a logarithmic axis
PANEL_TICK_DISTANCE = 0.15  # in one of several small charts


class PictureText(NamedTuple):
    """The texts of a picture or an interactive chart."""

    title: str
    subtitle: str
    x: str = ""  # of its axes
    y: str = ""
    source: str = ""


class RowPicture(NamedTuple):
    """A row for each player, the first on top: a name, a value with its interval, and the value as text."""

    text: PictureText
    labels: list[str]
    values: HostArray
    half_widths: HostArray | None  # of the intervals
    value_texts: Sequence[str]  # at the right, where all rows have names
    numbers: Sequence[int] = ()  # before the names
    head: str = ""  # above the texts of values


class Line(NamedTuple):
    """A line through points [m]; NaN interrupts it."""

    name: str
    x: HostArray  # [m] times, dates, or numbers of events
    y: HostArray  # [m]
    deviation: HostArray | None = None  # [m] of ratings, for their intervals
    peak: int | None = None  # the point with a dot
    note: str = ""  # below the name

    def select(self, points: HostArray | slice) -> "Line":
        """The line through some of its points, the peak apart."""
        deviation = None if self.deviation is None else self.deviation[points]
        return Line(self.name, self.x[points], self.y[points], deviation)

    def x_numbers(self) -> HostArray:
        """[m] dates as days since 1970-01-01, numbers as they are."""
        return times_to_numbers(self.x)


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


class LinePicture(NamedTuple):
    """Lines with names at their ends in front of those of others."""

    text: PictureText  # `x` is "date" if there are dates
    lines: Sequence[Line]
    unnamed: UnnamedPlayers = UnnamedPlayers()
    then: Sequence[Line] = ()  # the same as they were known at the time, in thin dashes
    is_stepped: bool = False  # each value holds until the next point
    is_rank: bool = False  # on a logarithmic axis, with the best on top


def times_to_numbers(times: HostArray) -> HostArray:
    """Dates as days since 1970-01-01, numbers as they are."""
    return times.astype("datetime64[us]").astype(float) / 86_400e6 if times.dtype.kind == "M" else times.astype(float)


def without_deviations(lines: Iterable[Line]) -> list[Line]:
    """Lines whose intervals are not drawn."""
    return [line._replace(deviation=None) for line in lines]


def unnamed_lines(lines: Iterable[Line]) -> UnnamedPlayers:
    """A grey line for each player."""
    lines = [Line(str(i), line.x, line.y) for i, line in enumerate(lines)]
    others = "other" if len(lines) == 1 else "others"
    return UnnamedPlayers(lines, (), f". In grey: {len(lines):,} {others}" if lines else "")


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
    """The best rank, and round ones to about the worst; at even distances if these are near.

    No tick is nearer to the one before than this share of a logarithmic axis.
    """
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
