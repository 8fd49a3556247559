"""Players without names behind a plot: a grey line for each, or of many the median and bands of their quantiles."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.plots.altair_charts import ChartBand, ChartLine
from jaxrate.plots.rating_line_data import RatingLine, last_ratings_of_steps, times_to_numbers
from jaxrate.plots.scoreboard_style import GREY, PALE
from jaxrate.plots.time_steps import TimeSteps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_GREY_LINES = 200  # of more players, the bands are drawn
MIN_BAND_PLAYERS = 20  # at a time, for quantiles of their values
QUANTILES = 0.05, 0.25, 0.5, 0.75, 0.95


class UnnamedPlayers(NamedTuple):
    """What is drawn of players without names."""

    lines: Sequence[ChartLine] = ()
    bands: Sequence[ChartBand] = ()
    description: str = ""  # the end of a subtitle


def lines_or_bands(
    lines: Sequence[RatingLine], chart_line: Callable[[RatingLine], ChartLine], steps: TimeSteps
) -> UnnamedPlayers:
    """The chart line of each player, or of very many the bands of their ratings at the ends of steps."""
    if len(lines) <= MAX_GREY_LINES:
        return unnamed_player_lines(chart_line(line) for line in lines)
    return rating_bands([last_ratings_of_steps(line, steps) for line in lines], steps)


def unnamed_player_lines(lines: Iterable[ChartLine]) -> UnnamedPlayers:
    """A grey line for each player."""
    lines = [line._replace(name=str(i), is_named=False) for i, line in enumerate(lines)]
    others = "other" if len(lines) == 1 else "others"
    return UnnamedPlayers(lines, (), f". In grey: {len(lines):,} {others}" if lines else "")


def quantile_bands(times: HostArray, values: HostArray, count: int) -> UnnamedPlayers:
    """The bands of 90% and 50% and the median of values [n, s] at times [s]; NaN where a player has none."""
    is_known = ~np.isnan(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of times at which nobody has a value
        quantiles = np.nanquantile(values, QUANTILES, axis=0)
    quantiles[:, is_known.sum(axis=0) < MIN_BAND_PLAYERS] = np.nan
    low, lower, median, upper, high = quantiles
    return UnnamedPlayers(
        [ChartLine("median", times, median, is_named=False)],
        [ChartBand(times, low, high), ChartBand(times, lower, upper)],
        f". In grey: the median, 50% and 90% of {count:,} others",
    )


def rating_bands(lines: Sequence[RatingLine], steps: TimeSteps) -> UnnamedPlayers:
    """The bands of ratings at the ends of steps."""
    times = [times_to_numbers(line.times) for line in lines]
    numbers = [steps.numbers(x) for x in times]
    count = max(int(number.max()) for number in numbers) + 1
    values = np.full((len(lines), count), np.nan)
    for row, line, number in zip(values, lines, numbers, strict=True):
        row[number[~np.isnan(line.mean)]] = line.mean[~np.isnan(line.mean)]
    ends = steps.ends(min(float(x[0]) for x in times))
    at = np.floor(ends).astype("datetime64[D]") if steps.is_dated else ends
    return quantile_bands(at, values[:, ::-1], len(lines))


def draw_unnamed_players(ax: "Axes", players: UnnamedPlayers) -> None:
    """Draw grey lines, or bands and their median, behind all others."""
    for band in players.bands:
        ax.fill_between(band.x, band.low, band.high, color=PALE, alpha=0.45, linewidth=0, zorder=1, gid="others")
    width = float(np.clip(5.0 / max(len(players.lines), 1) ** 0.5, 0.35, 0.7))
    look: dict[str, Any] = {"color": PALE, "linewidth": width}
    if players.bands:
        look = {"color": GREY, "linewidth": 0.9, "linestyle": ":"}
    for line in players.lines:
        ax.plot(line.x, line.y, zorder=1, gid="other", **look)
