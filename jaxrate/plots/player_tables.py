"""Tables of players in pictures: rows with a value and its interval, and matrices of percentages."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_whole_percent
from jaxrate.plots.altair_charts import (
    MAX_COLUMN_NAME_LENGTH,
    MAX_NAMED_COLUMNS,
    MAX_WRITTEN_COLUMNS,
    interval_chart,
    matrix_chart,
)
from jaxrate.plots.finding_titles import favourite_title
from jaxrate.plots.name_labels import NAME_GAP, describe_name_step, name_step, set_name_ticks, text_width
from jaxrate.plots.pictures import PictureText, RowPicture
from jaxrate.plots.scoreboard_style import (
    CHARACTER_WIDTH,
    COLOURS,
    INK,
    LINE_SPACING,
    RULE,
    SMALL_FONT,
    add_colour_bar,
    axes_height,
    cell_text_colour,
    diverging_map,
    group_thousands,
    make_picture_axes,
    points_per_pixel,
    sequential_map,
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
MAX_MATRIX_PLAYERS = 200
MAX_GAPPED_COLUMNS = 40  # number of columns up to which there are gaps between cells, and all have numbers
CELL_SIDE = 0.42  # inches
FAVOURED_COLOURS = "blue: favoured, orange: not"
LARGE_SIDE = 8.5  # inches of a matrix of more columns


def show_rows(picture: RowPicture, ax: "Axes | None", backend: str = "matplotlib") -> Any:
    """Draw rows into axes, or into a new figure; or their interactive chart. Returns axes or chart."""
    text, labels, values, half_widths, value_texts, numbers, head = picture
    step = _row_name_step(labels, ax)
    text = text._replace(subtitle=text.subtitle + describe_name_step(step))
    if backend == "altair":
        return interval_chart(picture._replace(text=text), step)
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
