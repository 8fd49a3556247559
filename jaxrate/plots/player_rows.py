"""Plots with a row for each player: names at the left, values at the right; of very many, names of some."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.plots.altair_charts import interval_chart
from jaxrate.plots.name_labels import NAME_GAP, describe_name_step, name_step, set_name_ticks, text_width
from jaxrate.plots.scoreboard_style import (
    CHARACTER_WIDTH,
    COLOURS,
    INK,
    LINE_SPACING,
    RULE,
    SMALL_FONT,
    PictureText,
    axes_height,
    group_thousands,
    make_picture_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW_HEIGHT = 0.25  # inches
HEADING_HEIGHT = 1.5  # inches for all that is above and below the rows
MAX_FIGURE_HEIGHT = 24.0  # inches, so that 150 names can be read
THINNED_FIGURE_HEIGHT = 16.0  # inches, if only some rows have names
MAX_ROWS = 10_000  # of many rows only some have names
WIDTH = 6.8  # inches, if names have up to 24 characters
MAX_VALUE_TICKS = 6  # of an axis beside names and values
MAX_RULED_ROWS = 150  # rows with a name, and a line below each


class RowPicture(NamedTuple):
    """A row for each player, the first on top: a name, a value with its interval, and the value as text."""

    text: PictureText
    labels: list[str]
    values: HostArray
    half_widths: HostArray | None  # of the intervals
    value_texts: Sequence[str]  # at the right, where all rows have names
    numbers: Sequence[int] = ()  # before the names
    head: str = ""  # above the texts of values


def show_rows(picture: RowPicture, ax: "Axes | None", backend: str = "matplotlib") -> Any:
    """Draw rows into axes, or into a new figure; or their interactive chart. Returns axes or chart."""
    text, labels, values, half_widths, value_texts, numbers, head = picture
    step = _row_name_step(labels, ax)
    text = text._replace(subtitle=text.subtitle + describe_name_step(step))
    if backend == "altair":
        return interval_chart(labels, values, half_widths, text, value_texts, numbers, step=step)
    ax = make_picture_axes(ax, figure_size_for_rows(labels), text, grid="x")
    _draw_intervals(ax, values, half_widths)
    _draw_player_rows(ax, labels, value_texts, numbers, head, step=step)
    group_thousands(ax, "x")
    return ax


def figure_size_for_rows(labels: Iterable[str]) -> tuple[float, float]:
    """Size in inches of a figure with a row for each of these labels."""
    lengths = [len(label) for label in labels]
    longest = min(max(lengths, default=0), 60)
    width = WIDTH + max(longest - 24, 0) * CHARACTER_WIDTH * 10.0 / 72.0
    limit = MAX_FIGURE_HEIGHT if len(lengths) <= MAX_RULED_ROWS else THINNED_FIGURE_HEIGHT
    return width, min(HEADING_HEIGHT + ROW_HEIGHT * len(lengths), limit)


def _row_name_step(labels: Sequence[str], ax: "Axes | None" = None) -> int:
    """The step from one named row to the next, in these axes or a new figure."""
    if ax is None:
        return name_step(len(labels), 72.0 * (figure_size_for_rows(labels)[1] - HEADING_HEIGHT))
    return name_step(len(labels), axes_height(ax))


def _draw_player_rows(
    ax: "Axes",
    labels: list[str],
    values: Iterable[str] = (),
    numbers: Sequence[int] = (),
    head: str = "",
    *,
    step: int = 1,
) -> None:
    """Draw one row for each player, the first on top: a number and a name at the left, a value at the right.

    Values have a head. If only some rows have names, as `step` says, none has a value.
    """
    size = axes_height(ax) / max(len(labels), 1) / LINE_SPACING
    set_name_ticks(ax, "y", labels, numbers, step=step, is_left_aligned=True, color=INK)
    if step == 1 and (values := list(values)):
        font_size = float(np.clip(size, 4.0, SMALL_FONT))
        end = NAME_GAP + max(text_width(values, font_size), text_width([head], SMALL_FONT))
        look: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points", "color": INK}
        for row, value in enumerate(values):
            ax.annotate(value, (1.0, row), (end, 0.0), ha="right", va="center", fontsize=font_size, **look)
        if head:
            ax.annotate(head, (1.0, -0.6), (end, 0.0), ha="right", va="bottom", fontsize=SMALL_FONT, **look)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    if len(labels) <= MAX_RULED_ROWS:
        ax.hlines(np.arange(len(labels)) + 0.5, 0.0, 1.0, RULE, linewidth=0.6, zorder=0.5,
                  transform=ax.get_yaxis_transform())  # fmt: skip


def _draw_intervals(ax: "Axes", values: HostArray, half_widths: HostArray | None) -> None:
    """Draw a dot with its interval in each row; the more rows, the thinner. NaN has none."""
    points = axes_height(ax) / max(len(values), 1)  # height of a row
    look: dict[str, Any] = {"markersize": float(np.clip(0.4 * points, 1.5, 6.5)), "capsize": 0.0}
    bars = ax.errorbar(
        values, np.arange(len(values)), xerr=half_widths, fmt="o", color=COLOURS[0], markeredgewidth=0.0,
        elinewidth=float(np.clip(0.3 * points, 0.5, 4.0)), **look,
    )  # fmt: skip
    ax.locator_params(axis="x", nbins=MAX_VALUE_TICKS, steps=[1, 2, 5, 10])
    for bar in bars[2]:
        bar.set_alpha(0.35)
        bar.set_capstyle("round" if points > 6.0 else "butt")


def format_ratings(values: HostArray, half_widths: HostArray | None = None) -> list[str]:
    """Ratings as text, with half the widths of their intervals."""
    largest = np.abs(values).max()
    number_format = f",.{0 if largest >= 100 else 1 if largest > 1 else 2}f"
    if half_widths is None:
        return [format(x, number_format) for x in values]
    return [f"{x:{number_format}} ± {y:{number_format}}" for x, y in zip(values, half_widths, strict=True)]
