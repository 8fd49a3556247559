"""What the pictures share: axes, colours, names of players, and limits of what a page can hold."""

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
SEQUENTIAL_MAP = "Blues"  # from light to dark, in grey print too
DIVERGING_MAP = "PuOr"  # from one colour through white to another, which the colour-blind tell apart
MARKERS = "os^DvPX"
LINE_STYLES = "-", "--", "-.", ":"
MAX_SYSTEMS = 28  # lines that differ in colour or kind
MAX_NAMED_LINES = 8  # lines up to which names stand at their ends
MAX_WRITTEN_COLUMNS = 12  # columns up to which percentages are written into a matrix
MAX_ROWS = 100  # players that a page holds
MAX_POINTS = 2000  # of a line
MAX_NAME_LENGTH = 24  # characters of a name
SHORT_NAME_LENGTH = 14  # characters of labels, two of which fit beside each other in a column of a page
Z_95 = 1.96  # deviations to either side: 95 %
SMALL_FONT = 8.5  # points of the letters of names and numbers
LINE_SPACING = 1.3  # of these letters: from one line to the next


def make_axes(ax: "Axes | None", size: tuple[float, float] | None = None, title: str = "") -> "Axes":
    """`ax`, or that of a new figure of this size in inches; a figure that stands alone has a title."""
    if ax is not None:
        if not hasattr(ax, "figure"):
            raise ValueError(f"ax must be axes of matplotlib, got {format_value(ax)}")
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'jaxrate[plot]'") from error
    figure, ax = pyplot.subplots(figsize=size, layout="constrained")
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
    return ax


def line_style(number: int) -> dict[str, Any]:
    """The look of the line of a player or system, by its number in the picture."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": LINE_STYLES[number % len(LINE_STYLES)]}


def count_lines(ax: "Axes", gid: str) -> int:
    """How many lines of this kind a picture has already."""
    return sum(line.get_gid() == gid for line in ax.lines)


def check_count(item_name: str, count: int, least: int, most: int) -> None:
    if not least <= count <= most:
        raise ValueError(f"a picture holds {least} to {most} {item_name}, not {count:,}")


def escape_name(name: Any) -> str:
    """A name in one line, as text and not as mathematics, and not hidden from legends."""
    words = " ".join(str(name).split())
    words = words if len(words) <= MAX_NAME_LENGTH else words[: MAX_NAME_LENGTH - 1].rstrip() + "…"
    words = words.replace("$", r"\$")
    return "\u200b" + words if words.startswith("_") else words


def events_names_clock(data: Any) -> tuple[Any, Any, str | None]:
    """Events, names or None, and the clock, of a `Dataset` or of events alone."""
    events, names, clock = (
        (data.events, data.players, data.clock) if isinstance(data, Dataset) else (data, None, "numbers")
    )
    if not isinstance(events, (Matches, Ragged)):
        raise ValueError(f"expected a Dataset, as `read` makes it, or matches or rounds, got {type(data).__name__}")
    if not len((events.events if isinstance(events, Ragged) else events).player):
        raise ValueError("there are no events to draw")
    return events, names, clock


def matches_and_names(data: Any) -> tuple[Matches, Any]:
    """Matches, and names or None."""
    events, names, _ = events_names_clock(data)
    if not isinstance(events, Matches):
        raise ValueError("this picture is of matches of two players, and not of rounds or periods")
    return events, names


def time_axis(data: Any) -> tuple[HostArray, HostArray, str]:
    """Where events [E] begin and end on an axis, and its label: time, or their number if no time passes."""
    events, _, clock = events_names_clock(data)
    time = np.asarray((events.events if isinstance(events, Ragged) else events).time)
    if clock is None or np.ptp(time) == 0:
        number = np.arange(len(time) + 1)
        return number[:-1], number[1:], "matches before" if isinstance(events, Matches) else "contests before"
    if clock == "dates":
        time = days_to_dates(time)
    return time, time, "date" if clock == "dates" else "time"


def label_chosen_players(players: Any, names: Any, count: int) -> dict[int, str]:
    """The labels of chosen players by id: one or several, by name or by id, of so many."""
    alone = isinstance(players, (str, bytes)) or np.ndim(players) == 0
    chosen: dict[int, str] = {}
    for player in [players] if alone else list(players):
        number = find_player(names, player, count)
        if number in chosen:
            raise ValueError(f"player {player!r} is named twice")
        chosen[number] = player_label(number, names)
    return chosen


def player_label(number: int, names: Any) -> str:
    return f"player {number}" if names is None else escape_name(names[number])


def check_finite(name: str, *values: Any) -> None:
    """ValueError if some of a player's ratings or deviations are not finite."""
    if not all(np.isfinite(x).all() for x in values if x is not None):
        raise ValueError(f"ratings of {name} are not finite; other parameters may keep them so")


def rating_label(system: RatingSystem) -> str:
    about = getattr(system.space, "initial_proportion", None)
    return f"rating ({'points' if about is None else about.unit})"


def evenly_spaced_indices(count: int, most: int) -> HostArray:
    """At most so many of `count` numbers from 0, evenly, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def spread_labels(places: HostArray, min_distance: float) -> HostArray:
    """Places [n] moved so that each two are at least so far apart, in the same order and about the same middle."""
    order = np.argsort(-places, kind="stable")
    moved, rank = places[order].astype(float), np.arange(len(places))
    moved = np.minimum.accumulate(moved + min_distance * rank) - min_distance * rank
    moved += np.mean(places) - np.mean(moved)
    back = np.empty_like(moved)
    back[order] = moved
    return back


def get_figure(ax: "Axes") -> "Figure":
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def points_per_pixel(ax: "Axes") -> float:
    """The size of a pixel in points."""
    return 72.0 / get_figure(ax).dpi


def text_line_fraction(ax: "Axes", axis_name: str = "y") -> float:
    """What share of the height or width of the axes a line of small letters takes."""
    pixels = ax.bbox.height if axis_name == "y" else ax.bbox.width
    return LINE_SPACING * SMALL_FONT / (pixels * points_per_pixel(ax))


def label_line_ends(ax: "Axes", lines: "Sequence[Line2D]") -> None:
    """The label of each line beside the axes, in its colour, at the height of its end or as near as there is room."""
    for text in [text for text in ax.texts if text.get_gid() == "name"]:
        text.remove()
    if not lines:
        return
    ax.autoscale_view()
    tips = [tuple(np.asarray(line.get_xydata())[-1]) for line in lines]
    height = ax.transAxes.inverted().transform(ax.transData.transform(tips))[:, 1]
    for line, tip, place in zip(lines, tips, spread_labels(height, text_line_fraction(ax)), strict=True):
        ax.annotate(
            str(line.get_label()), tip, (1.02, place), textcoords="axes fraction", va="center", color=line.get_color(),
            fontsize=SMALL_FONT, gid="name",
            arrowprops={"arrowstyle": "-", "color": line.get_color(), "linewidth": 0.5, "alpha": 0.6, "shrinkA": 0},
        )  # fmt: skip


def add_legend(ax: "Axes", title: str = "", *, above: float = 1.0, handles: Any = None) -> None:
    """Above the axes, where it hides nothing."""
    names = ax.get_legend_handles_labels()[1] if handles is None else [x.get_label() for x in handles]
    columns = 1 + all(len(name) <= SHORT_NAME_LENGTH for name in names)
    legend = ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0.0, above), ncols=columns, fontsize="small", frameon=False
    )
    legend.set_title(title)
    legend.set_alignment("left")
    legend.get_title().set_fontsize("small")


def label_time(ax: "Axes", name: str, ticks: int = 6) -> None:
    """The axis of `time_axis`; of dates with few ticks, for a column of a page has no room for more."""
    ax.set_xlabel(name)
    if name == "date":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3, maxticks=ticks)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def list_players(ax: "Axes", labels: list[str], values: Iterable[str] = ()) -> None:
    """One row for each, the first on top, with what is known of them at the other end."""
    ax.set_yticks(np.arange(len(labels)), labels)
    for row, value in enumerate(values):
        ax.text(1.01, row, value, transform=ax.get_yaxis_transform(), va="center", fontsize=SMALL_FONT)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.grid(axis="x", alpha=0.3)


def format_ratings(values: HostArray, half_widths: HostArray | None = None) -> list[str]:
    """Ratings, with half the widths of their intervals, in as many digits as people read."""
    most = np.abs(values).max()
    form = f".{0 if most >= 100 else 1 if most > 1 else 2}f"
    if half_widths is None:
        return [format(x, form) for x in values]
    return [f"{x:{form}} ± {y:{form}}" for x, y in zip(values, half_widths, strict=True)]


def figure_size_for_rows(rows: int) -> tuple[float, float]:
    """Inches of a figure of so many rows."""
    return 6.4, 1.2 + 0.24 * rows


def draw_matrix(ax: "Axes | None", labels: list[str], percent: HostArray, quantity: str, title: str) -> "Axes":
    """Percentages [n, n] of each in rows against each other one; NaN is grey. Of a few they are written in."""
    side = 2.4 + 0.42 * min(len(labels), 2 * MAX_WRITTEN_COLUMNS)
    ax = make_axes(ax, (side, side), title)
    draw_cells(ax, percent, quantity, DIVERGING_MAP)
    set_name_ticks(ax, "x", labels, rotation=90)
    set_name_ticks(ax, "y", labels)
    ax.set(xlabel="against", ylabel=quantity)
    return ax


def set_name_ticks(ax: "Axes", axis_name: str, labels: list[str], **look: Any) -> None:
    """Names of rows or columns, in letters that fit them."""
    fit = LINE_SPACING / text_line_fraction(ax, axis_name) / len(labels) * SMALL_FONT / LINE_SPACING**2
    axis = ax.yaxis if axis_name == "y" else ax.xaxis
    axis.set_ticks(np.arange(len(labels)), labels, fontsize=float(np.clip(fit, 4.0, 10.0)), **look)


def draw_cells(ax: "Axes", percent: HostArray, quantity: str, colormap: str) -> None:
    """Percentages [n, m] as colours; as numbers, too, where these fit the cells, otherwise with a bar of colours."""
    ax.set_facecolor("#dddddd")  # of the diagonal
    image = ax.imshow(percent, cmap=colormap, vmin=0.0, vmax=100.0, interpolation="nearest", aspect="auto")
    rows, columns = percent.shape
    high, wide = (points_per_pixel(ax) * x for x in (ax.bbox.height / rows, ax.bbox.width / columns))
    size = min(SMALL_FONT, 0.7 * high, 0.5 * wide)  # three digits
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
    """A percentage in two digits; what is all but certain is not."""
    if 0.0 < percent < 0.5:
        return "<1"
    return ">99" if 99.5 < percent < 100.0 else f"{percent:.0f}"
