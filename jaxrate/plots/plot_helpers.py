"""Helpers of all plots: axes, colours, labels of players, and limits of what a page can hold."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.argument_checks import format_value
from jaxrate.events import Matches, Ragged
from jaxrate.events.dataset import Dataset
from jaxrate.league.rated_history import days_to_dates, find_player
from jaxrate.system import RatingSystem
from jaxrate.types import HostArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

COLOURS = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"  # Okabe and Ito, without yellow
GREY = "#666666"
SEQUENTIAL_MAP = "Blues"  # from light to dark, also in greyscale
DIVERGING_MAP = "PuOr"  # from one colour through white to another, distinct for the colour-blind
MARKERS = "os^DvPX"
LINE_STYLES = "-", "--", "-.", ":"
MAX_SYSTEMS = 28  # lines that differ in colour or style
MAX_NAMED_LINES = 8  # number of lines up to which names are at their ends
MAX_WRITTEN_COLUMNS = 12  # number of columns up to which percentages are written into a matrix
MAX_ROWS = 100  # players that fit on a page
MAX_POINTS = 2000  # points of a line
MAX_NAME_LENGTH = 24  # characters of a name
SHORT_NAME_LENGTH = 14  # characters of labels that fit into a legend with two columns
Z_95 = 1.96  # deviations to either side: 95 %
SMALL_FONT = 8.5  # font size in points
LINE_SPACING = 1.3  # distance of lines, relative to the font size


def make_axes(ax: "Axes | None", size: tuple[float, float] | None = None, title: str = "") -> "Axes":
    """`ax`, or the axes of a new figure of this size in inches; only a new figure has a title."""
    if ax is not None:
        if not hasattr(ax, "figure"):
            raise ValueError(f"ax must be axes of matplotlib, got {format_value(ax)}")
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'jaxrate[plot]'") from error
    figure, ax = pyplot.subplots(figsize=size, layout="constrained")
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
    return ax


def line_style(number: int) -> dict[str, Any]:
    """Colour and style of the line of a player or system, by its number in the plot."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": LINE_STYLES[number % len(LINE_STYLES)]}


def count_lines(ax: "Axes", gid: str) -> int:
    """The number of lines of a kind that a plot has already."""
    return sum(line.get_gid() == gid for line in ax.lines)


def check_drawable_count(item_name: str, count: int, minimum: int, maximum: int) -> None:
    if not minimum <= count <= maximum:
        raise ValueError(f"a plot holds {minimum} to {maximum} {item_name}, not {count:,}")


def format_plot_name(name: Any) -> str:
    """A name on one line, escaped so that it is no formula and not hidden from legends."""
    text = " ".join(str(name).split())
    text = text if len(text) <= MAX_NAME_LENGTH else text[: MAX_NAME_LENGTH - 1].rstrip() + "…"
    text = text.replace("$", r"\$")
    return "\u200b" + text if text.startswith("_") else text


def unpack_dataset(data: Any) -> tuple[Any, Any, str | None]:
    """Events, names or None, and the clock of a `Dataset` or of events without one."""
    events, names, clock = (
        (data.events, data.players, data.clock) if isinstance(data, Dataset) else (data, None, "numbers")
    )
    if not isinstance(events, (Matches, Ragged)):
        raise ValueError(f"expected a Dataset, as `read` makes it, or matches or rounds, got {type(data).__name__}")
    if not len((events.events if isinstance(events, Ragged) else events).player):
        raise ValueError("there are no events to draw")
    return events, names, clock


def unpack_match_dataset(data: Any) -> tuple[Matches, Any]:
    """Matches, and names or None."""
    events, names, _ = unpack_dataset(data)
    if not isinstance(events, Matches):
        raise ValueError("this plot is of matches of two players, and not of rounds or periods")
    return events, names


def event_time_axis(data: Any) -> tuple[HostArray, HostArray, str]:
    """Begin and end of events [E] on an axis, and its label: times, or numbers of events if no time passes."""
    events, _, clock = unpack_dataset(data)
    time = np.asarray((events.events if isinstance(events, Ragged) else events).time)
    if clock is None or np.ptp(time) == 0:
        number = np.arange(len(time) + 1)
        return number[:-1], number[1:], "matches before" if isinstance(events, Matches) else "contests before"
    if clock == "dates":
        time = days_to_dates(time)
    return time, time, "date" if clock == "dates" else "time"


def label_chosen_players(players: Any, names: Any, count: int) -> dict[int, str]:
    """Labels of chosen players by id. `players` is one or several of `count` players, by name or by id."""
    is_single = isinstance(players, (str, bytes)) or np.ndim(players) == 0
    labels: dict[int, str] = {}
    for player in [players] if is_single else list(players):
        number = find_player(names, player, count)
        if number in labels:
            raise ValueError(f"player {player!r} is named twice")
        labels[number] = player_label(number, names)
    return labels


def player_label(number: int, names: Any) -> str:
    return f"player {number}" if names is None else format_plot_name(names[number])


def check_ratings_finite(name: str, *values: Any) -> None:
    """ValueError if some of a player's ratings or deviations are not finite."""
    if not all(np.isfinite(x).all() for x in values if x is not None):
        raise ValueError(f"ratings of {name} are not finite; other parameters may keep them so")


def rating_axis_label(system: RatingSystem) -> str:
    about = getattr(system.space, "initial_proportion", None)
    return f"rating ({'points' if about is None else about.unit})"


def evenly_spaced_indices(count: int, max_count: int) -> HostArray:
    """At most `max_count` of the numbers from 0 to below `count`, evenly spaced, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, max_count)).round().astype(int))


def spread_labels(positions: HostArray, min_distance: float) -> HostArray:
    """Positions [n] moved at least `min_distance` apart, in the same order and with the same mean."""
    order = np.argsort(-positions, kind="stable")
    spread_positions, rank = positions[order].astype(float), np.arange(len(positions))
    spread_positions = np.minimum.accumulate(spread_positions + min_distance * rank) - min_distance * rank
    spread_positions += np.mean(positions) - np.mean(spread_positions)
    result = np.empty_like(spread_positions)
    result[order] = spread_positions
    return result


def get_figure(ax: "Axes") -> "Figure":
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def points_per_pixel(ax: "Axes") -> float:
    """The size of a pixel in points."""
    return 72.0 / get_figure(ax).dpi


def text_line_share(ax: "Axes", axis_name: str = "y") -> float:
    """The height of a line of small text as a share of the height or width of the axes."""
    pixels = ax.bbox.height if axis_name == "y" else ax.bbox.width
    return LINE_SPACING * SMALL_FONT / (pixels * points_per_pixel(ax))


def label_line_ends(ax: "Axes", lines: "Sequence[Line2D]") -> None:
    """Write the label of each line beside the axes, in its colour, as near to the line's end as there is room."""
    for text in [text for text in ax.texts if text.get_gid() == "name"]:
        text.remove()
    if not lines:
        return
    ax.autoscale_view()
    tips = [tuple(np.asarray(line.get_xydata())[-1]) for line in lines]
    height = ax.transAxes.inverted().transform(ax.transData.transform(tips))[:, 1]
    for line, tip, place in zip(lines, tips, spread_labels(height, text_line_share(ax)), strict=True):
        ax.annotate(
            str(line.get_label()), tip, (1.02, place), textcoords="axes fraction", va="center", color=line.get_color(),
            fontsize=SMALL_FONT, gid="name",
            arrowprops={"arrowstyle": "-", "color": line.get_color(), "linewidth": 0.5, "alpha": 0.6, "shrinkA": 0},
        )  # fmt: skip


def add_legend(ax: "Axes", title: str = "", *, above: float = 1.0, handles: Any = None) -> None:
    """Add a legend above the axes, where it hides nothing."""
    names = ax.get_legend_handles_labels()[1] if handles is None else [x.get_label() for x in handles]
    columns = 1 + all(len(name) <= SHORT_NAME_LENGTH for name in names)
    legend = ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0.0, above), ncols=columns, fontsize="small", frameon=False
    )
    legend.set_title(title)
    legend.set_alignment("left")
    legend.get_title().set_fontsize("small")


def label_time_axis(ax: "Axes", name: str, ticks: int = 6) -> None:
    """Label the time axis; dates have few ticks, so that they fit into a narrow figure."""
    ax.set_xlabel(name)
    if name == "date":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3, maxticks=ticks)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def draw_player_rows(ax: "Axes", labels: list[str], values: Iterable[str] = ()) -> None:
    """Draw one row for each player, the first on top, with a label at the left and a value at the right."""
    ax.set_yticks(np.arange(len(labels)), labels)
    for row, value in enumerate(values):
        ax.text(1.01, row, value, transform=ax.get_yaxis_transform(), va="center", fontsize=SMALL_FONT)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.grid(axis="x", alpha=0.3)


def format_ratings(values: HostArray, half_widths: HostArray | None = None) -> list[str]:
    """Ratings as text, with half the widths of their intervals."""
    largest = np.abs(values).max()
    number_format = f".{0 if largest >= 100 else 1 if largest > 1 else 2}f"
    if half_widths is None:
        return [format(x, number_format) for x in values]
    return [f"{x:{number_format}} ± {y:{number_format}}" for x, y in zip(values, half_widths, strict=True)]


def figure_size_for_rows(rows: int) -> tuple[float, float]:
    """Size in inches of a figure with this number of rows."""
    return 6.4, 1.2 + 0.24 * rows


def draw_percent_matrix(ax: "Axes | None", labels: list[str], percent: HostArray, quantity: str, title: str) -> "Axes":
    """Draw percentages [n, n] of each player in rows against each other; NaN is grey. Few are written as numbers."""
    side = 2.4 + 0.42 * min(len(labels), 2 * MAX_WRITTEN_COLUMNS)
    ax = make_axes(ax, (side, side), title)
    draw_percent_cells(ax, percent, quantity, DIVERGING_MAP)
    set_name_ticks(ax, "x", labels, rotation=90)
    set_name_ticks(ax, "y", labels)
    ax.set(xlabel="against", ylabel=quantity)
    return ax


def set_name_ticks(ax: "Axes", axis_name: str, labels: list[str], **look: Any) -> None:
    """Set names of rows or columns as tick labels, in a font size that fits."""
    fit = LINE_SPACING / text_line_share(ax, axis_name) / len(labels) * SMALL_FONT / LINE_SPACING**2
    axis = ax.yaxis if axis_name == "y" else ax.xaxis
    axis.set_ticks(np.arange(len(labels)), labels, fontsize=float(np.clip(fit, 4.0, 10.0)), **look)


def draw_percent_cells(ax: "Axes", percent: HostArray, quantity: str, colormap: str) -> None:
    """Draw percentages [n, m] as colours, with numbers if these fit into the cells, otherwise with a colour bar."""
    ax.set_facecolor("#dddddd")  # colour of the diagonal
    image = ax.imshow(percent, cmap=colormap, vmin=0.0, vmax=100.0, interpolation="nearest", aspect="auto")
    rows, columns = percent.shape
    high, wide = (points_per_pixel(ax) * x for x in (ax.bbox.height / rows, ax.bbox.width / columns))
    size = min(SMALL_FONT, 0.7 * high, 0.5 * wide)  # fits three digits
    if size < 5.0 or columns > MAX_WRITTEN_COLUMNS:
        get_figure(ax).colorbar(image, ax=ax, label=quantity)
        return
    for i, j in np.argwhere(~np.isnan(percent)):
        dark = np.dot(image.to_rgba(percent[i, j])[:3], (0.299, 0.587, 0.114)) < 0.5
        ax.text(
            j,
            i,
            format_percent(percent[i, j]),
            ha="center",
            va="center",
            color="white" if dark else "black",
            fontsize=size,
        )


def format_percent(percent: float) -> str:
    """A percentage in two digits; "<1" and ">99" for values that would round to 0 and 100."""
    if 0.0 < percent < 0.5:
        return "<1"
    return ">99" if 99.5 < percent < 100.0 else f"{percent:.0f}"
