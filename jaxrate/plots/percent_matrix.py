"""Matrices of percentages: each player against each other, or players by how far they come."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_whole_percent
from jaxrate.plots.altair_charts import MAX_COLUMN_NAME_LENGTH, MAX_NAMED_COLUMNS, MAX_WRITTEN_COLUMNS, ChartText
from jaxrate.plots.name_labels import name_step, set_name_ticks
from jaxrate.plots.scoreboard_style import (
    CHARACTER_WIDTH,
    INK,
    RULE,
    SMALL_FONT,
    add_colour_bar,
    axes_height,
    cell_text_colour,
    diverging_map,
    make_axes,
    points_per_pixel,
    sequential_map,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_MATRIX_PLAYERS = 200
MAX_GAPPED_COLUMNS = 40  # number of columns up to which there are gaps between cells, and all have numbers
CELL_SIDE = 0.42  # inches
LARGE_SIDE = 8.5  # inches of a matrix of more columns


def describe_rows(drawn: int, count: int) -> str:
    """Who is drawn in the rows of a matrix, for a subtitle."""
    return "each" if drawn == count else f"the first {drawn:,} of {count:,}"


def matrix_name_step(labels: Sequence[str], ax: "Axes | None" = None) -> int:
    """The step from one named row to the next, in these axes or a new figure."""
    points = 72.0 * min(CELL_SIDE * len(labels), LARGE_SIDE) if ax is None else axes_height(ax)
    return name_step(len(labels), points)


def draw_percent_matrix(ax: "Axes | None", labels: list[str], percent: HostArray, text: ChartText, step: int) -> "Axes":
    """Draw percentages [n, n] of each player in rows against each other; NaN is grey. Few are written as numbers.

    Where columns have no names, rows and columns are numbered. `step` is that from one named row to the next.
    """
    numbers = range(1, len(labels) + 1)
    longest = max(map(len, labels))
    has_column_names = len(labels) <= MAX_NAMED_COLUMNS and longest <= MAX_COLUMN_NAME_LENGTH
    side = min(1.6 + CELL_SIDE * len(labels), LARGE_SIDE + 1.6)
    room = CHARACTER_WIDTH * 10.0 / 72.0 * longest  # for names
    size = side + room + 0.6, side + (room if has_column_names else 0.4)
    ax = make_axes(ax, size, text.title, text.subtitle, source=text.source, grid="none")
    draw_percent_cells(ax, percent, text.y, is_diverging=True)
    if has_column_names:
        set_name_ticks(ax, "x", labels, rotation=90, color=INK)
        set_name_ticks(ax, "y", labels, color=INK)
        ax.set_xlabel(text.x)
        return ax
    set_name_ticks(ax, "y", labels, numbers, step=step, is_left_aligned=True, color=INK)
    column_step = 1 if len(labels) <= MAX_GAPPED_COLUMNS else 2 * step
    ax.set_xticks(range(0, len(labels), column_step), [f"{number:,}" for number in numbers[::column_step]])
    ax.tick_params(axis="x", length=0.0)
    ax.set_xlabel(f"{text.x}, in the order of the rows")
    return ax


def _greatest_of_scale(percent: HostArray) -> float:
    """The end of a scale from 0, a multiple of 10."""
    return float(np.clip(10.0 * np.ceil(np.nanmax(percent) / 10.0), 10.0, 100.0))


def draw_percent_cells(ax: "Axes", percent: HostArray, quantity: str, *, is_diverging: bool) -> None:
    """Draw percentages [n, m] as colours, with numbers if these fit into the cells, otherwise with a colour bar."""
    ax.set_facecolor(RULE)  # colour of the diagonal
    colour_map = diverging_map() if is_diverging else sequential_map()
    least, greatest = 0.0, 100.0 if is_diverging else _greatest_of_scale(percent)
    image = ax.imshow(percent, cmap=colour_map, vmin=least, vmax=greatest, interpolation="nearest", aspect="auto")
    rows, columns = percent.shape
    ax.spines[:].set_visible(False)
    if columns <= MAX_GAPPED_COLUMNS and rows <= MAX_GAPPED_COLUMNS:
        for draw, count in ((ax.axvline, columns), (ax.axhline, rows)):
            for edge in range(1, count):
                draw(edge - 0.5, color="white", linewidth=1.0)
    high, wide = (points_per_pixel(ax) * x for x in (ax.bbox.height / rows, ax.bbox.width / columns))
    size = min(SMALL_FONT, 0.7 * high, 0.5 * wide)  # fits three digits
    if size < 5.0 or columns > MAX_WRITTEN_COLUMNS:
        add_colour_bar(ax, image, quantity)
        return
    for i, j in np.argwhere(~np.isnan(percent)):
        colour = cell_text_colour(*image.to_rgba(percent[i, j])[:3])
        ax.text(j, i, format_whole_percent(percent[i, j]), ha="center", va="center", color=colour, fontsize=size)
