"""Lines through time, which pictures and interactive charts draw: of players with names, and of others in grey."""

import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.plots.scoreboard_style import PictureText

MAX_GREY_LINES = 200  # of more players, bands are drawn
MIN_BAND_PLAYERS = 20  # at a time, for quantiles of their values
QUANTILES = 0.05, 0.25, 0.5, 0.75, 0.95


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
