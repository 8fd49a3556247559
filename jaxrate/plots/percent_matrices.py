"""Matrices of percentages: colours, with numbers where these fit into the cells."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_whole_percent
from jaxrate.plots.altair_charts import MAX_COLUMN_NAME_LENGTH, MAX_NAMED_COLUMNS, MAX_WRITTEN_COLUMNS, matrix_chart
from jaxrate.plots.finding_titles import favourite_title
from jaxrate.plots.name_labels import describe_name_step, name_step, set_name_ticks
from jaxrate.plots.scoreboard_style import (
    CHARACTER_WIDTH,
    INK,
    RULE,
    SMALL_FONT,
    PictureText,
    add_colour_bar,
    axes_height,
    cell_text_colour,
    diverging_map,
    make_picture_axes,
    points_per_pixel,
    sequential_map,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_MATRIX_PLAYERS = 200
MAX_GAPPED_COLUMNS = 40  # number of columns up to which there are gaps between cells, and all have numbers
CELL_SIDE = 0.42  # inches
FAVOURED_COLOURS = "blue: favoured, orange: not"
LARGE_SIDE = 8.5  # inches of a matrix of more columns


def show_expected_scores(
    labels: list[str], percent: HostArray, count: int, rules: str, source: str, ax: "Axes | None", backend: str
) -> Any:
    """Draw the expected scores [n, n] of each player in rows against each other, in percent; NaN is grey.

    Or return their interactive chart. The players are the first of `count`, and `rules` follow in the subtitle.
    """
    points = 72.0 * min(CELL_SIDE * len(labels), LARGE_SIDE) if ax is None else axes_height(ax)
    step = name_step(len(labels), points)
    players = "each" if len(labels) == count else f"the first {len(labels):,} of {count:,}"
    subtitle = f"Expected score in percent of {players}, in rows{rules}{describe_name_step(step)}"
    title = favourite_title(labels, percent, len(labels) < count)
    text = PictureText(title, subtitle, "against", "expected score (%)", source)
    if backend == "altair":
        return matrix_chart(labels, percent, text, step)
    return _draw_percent_matrix(ax, labels, percent, text, step)


def _draw_percent_matrix(
    ax: "Axes | None", labels: list[str], percent: HostArray, text: PictureText, step: int
) -> "Axes":
    """Draw percentages [n, n] of each player in rows against each other. Few are written as numbers.

    Where columns have no names, rows and columns are numbered. `step` is that from one named row to the next.
    """
    longest = max(map(len, labels))
    has_column_names = len(labels) <= MAX_NAMED_COLUMNS and longest <= MAX_COLUMN_NAME_LENGTH
    side = min(1.6 + CELL_SIDE * len(labels), LARGE_SIDE + 1.6)
    room = CHARACTER_WIDTH * 10.0 / 72.0 * longest  # for names
    size = side + room + 0.6, side + (room if has_column_names else 0.4)
    ax = make_picture_axes(ax, size, text._replace(y=""), grid="none")
    draw_percent_cells(ax, percent, text.y, is_diverging=True)
    if has_column_names:
        set_name_ticks(ax, "x", labels, rotation=90, color=INK)
        set_name_ticks(ax, "y", labels, color=INK)
        return ax
    numbers = range(1, len(labels) + 1)
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
