"""The style of all plots: colours, axes, names and titles; and checks of what they are drawn from."""

import json
import re
import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict

import numpy as np

from jaxrate.core.argument_checks import (
    CHECKED_BY_FUNCTION,
    check_that,
    enforce_argument_annotations,
    format_value_or_type,
    is_number,
)
from jaxrate.core.array_types import HostArray
from jaxrate.core.optional_imports import LazyModule
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import use_minus_sign
from jaxrate.events import Matches, Ragged
from jaxrate.events.dataset import Dataset
from jaxrate.history.history import History, find_player_id
from jaxrate.history.leaderboards import DEFAULT_ACTIVE_DAYS
from jaxrate.views.charts import PictureText
from jaxrate.views.wording import rating_unit, spell_day

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

pyplot: Any = LazyModule("matplotlib.pyplot")
COLOURS = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"  # Okabe and Ito, without yellow
TEXT_COLOURS = dict(  # of text about a line: darker, at least 5.3 to 1 on paper
    zip(COLOURS, ("#006dab", "#aa4b00", "#007656", "#8f5575", "#346e8e", "#8a5f00", "#000000"), strict=True)
)
INK = "#14213d"  # text
GREY = "#596579"  # axes, notes, and lines of reference
NAMED_COLOURS = *COLOURS, GREY  # of lines with names
PALE = "#c3c8d1"  # lines of players without names
RULE = "#e4e1d8"  # grids, and cells without a value
PAPER = "#fbfaf7"
DARK_COLOURS = dict.fromkeys(("#000000", INK), "#e8e8e8") | {  # on dark pages, of those on paper
    PAPER: "#10182a",
    GREY: "#a9b4c4",
    RULE: "#2c3a58",
    PALE: "#44516e",
    "#0072b2": "#56b4e9",
    **{text: line for line, text in TEXT_COLOURS.items() if text not in (COLOURS[6], "#006dab")},
    "#006dab": "#56b4e9",
}
MIN_CONTRAST = 4.5  # of text to what is behind it, in luminance
MARKERS = "os^DvPX"
LINE_STYLES = "-", "--", "-.", ":"
MAX_FIGURE_INCHES = 100.0
MAX_NAME_LENGTH = 60  # characters of a name wherever there is room
MIN_NAME_LENGTH = 24  # characters of a name in a narrow figure
NAME_SHARE = 0.4  # share of the width of a figure that names may take
SMALLEST_NAME_FONT = 5.0  # font size of rows and columns; of more every tenth has its name
GLYPH_ROOM = 1.04  # width of a text with its letters on whole pixels to that of their outlines
NAME_GAP = 6.0  # points between names and the axes
MARGIN = 0.14  # inches about all that is drawn
SMALL_FONT = 8.5  # font size in points
TITLE_FONT = 13.0
LINE_SPACING = 1.3  # distance of lines, relative to the font size
CHARACTER_WIDTH = 0.56  # mean width of a character, relative to the font size
POINTS_PER_YEAR_LABEL = 48.0  # width of the axes for each label of a year
MAX_MONTH_TICKS = 8  # below 7, half a year is too short for the ticks of three years
DOT_SHARE = 1.7  # diameter of the dot of an isolated point to the width of a line
SHORT_NAME_LENGTH = 14  # characters of labels that fit into a legend with two columns


@enforce_argument_annotations
def make_axes(
    ax: "Axes | None" = None,
    size: Annotated[tuple[float, float] | None, CHECKED_BY_FUNCTION] = None,
    title: str = "",
    subtitle: str = "",
    *,
    source: str = "",
    grid: Literal["x", "y", "both", "none"] = "y",
) -> "Axes":
    """`ax`, or the axes of a new figure, in the style of all plots; for pictures that you draw by hand.

        ax = jr.plots.make_axes(size=(6, 3.5), title="Strength falls with age", subtitle="Points by year of birth")
        ax.plot(year, points, color=jr.plots.COLOURS[0])

    Axes of the style have no box and a pale grid. A new figure has paper as its background, its title at the left, a
    line below that says what is shown, and one at the bottom for the source. Axes that are given get none of these.

    Args:
      ax: axes of matplotlib to style. None: those of a new figure by `pyplot.subplots`.
      size: width and height of a new figure in inches. None: the default of matplotlib.
      title: the headline of a new figure.
      subtitle: what a new figure shows, below its headline.
      source: where the data come from, at the bottom of a new figure.
      grid: lines for the ticks of "x", "y", "both" or "none".

    Raises:
      ValueError: for something else than axes, a size that is not two numbers above 0, at most 100, or no such grid.
    """
    sides = np.array(size if size is not None else (1.0, 1.0), object)
    if sides.shape != (2,) or not all(is_number(x) and 0 < x <= MAX_FIGURE_INCHES for x in sides):
        raise ValueError(f"size must be a width and a height in inches, got {format_value_or_type(size)}")
    if ax is not None:
        check_axes(ax)
        style_axes(ax, grid)
        return ax
    figure, ax = pyplot.subplots(figsize=size, layout="constrained", facecolor=PAPER)
    figure.get_layout_engine().set(w_pad=MARGIN, h_pad=0.5 * MARGIN)
    _write_titles(figure, title, subtitle, source)
    style_axes(ax, grid)
    return ax


def darken(picture: Any) -> Any:
    """A picture for dark pages: the figure of these axes, which is changed, or another interactive chart.

        jr.plots.darken(jr.plots.leaderboard(rated)).savefig("leaderboard_dark.png")

    Args:
      picture: axes of a plot, their figure, or a chart of Altair.

    Raises:
      ValueError: for anything else.
    """
    if not any(hasattr(picture, name) for name in ("to_dict", "savefig", "get_figure")):
        given = format_value_or_type(picture)
        raise ValueError(f"picture must be axes, their figure, or a chart of Altair, got {given}")
    if hasattr(picture, "to_dict"):
        text = json.dumps(picture.to_dict())
        for light, dark in DARK_COLOURS.items():
            text = re.sub(light, dark, text, flags=re.IGNORECASE)
        return type(picture).from_json(text)
    figure = picture if hasattr(picture, "savefig") else get_figure(picture)
    for name in ("color", "facecolor", "edgecolor"):
        for artist in figure.findobj(lambda artist: hasattr(artist, f"get_{name}")):  # noqa: B023
            _darken_artist(artist, name)
    for axes in figure.axes:
        axes.tick_params(color=DARK_COLOURS[GREY])
    return figure


def _darken_artist(artist: Any, name: str) -> None:
    """Change a colour of an artist, and what sets it off, to those on dark pages; cells keep the colours of theirs."""
    from matplotlib.colors import to_hex, to_rgba

    colour = getattr(artist, f"get_{name}")()
    if isinstance(colour, np.ndarray) and colour.ndim == 2:
        colour = colour[0] if len(colour) else "none"
    is_seen = to_rgba(colour)[3] > 0.0 and str(colour) != "black"
    if is_seen and (dark := DARK_COLOURS.get(to_hex(colour))):
        getattr(artist, f"set_{name}")(dark)
    for effect in artist.get_path_effects() or ():
        effect._gc["foreground"] = DARK_COLOURS[PAPER]


def make_picture_axes(ax: "Axes | None", size: tuple[float, float], text: PictureText, grid: Any = "y") -> "Axes":
    """Axes as of `make_axes`, with the texts of a picture."""
    ax = make_axes(ax, size, str(text.title), text.subtitle, source=text.source, grid=grid)
    ax.set(xlabel=text.x, ylabel=text.y)
    return ax


def check_axes(ax: Any) -> None:
    """ValueError unless these are axes of matplotlib."""
    if not hasattr(ax, "figure"):
        raise ValueError(f"ax must be axes of matplotlib, got {format_value_or_type(ax)}")


def axes_size(ax: "Axes") -> HostArray:
    """[2] width and height of axes in points; ValueError for what is none."""
    check_axes(ax)
    return 72.0 / get_figure(ax).dpi * np.asarray(ax.bbox.size)


def get_figure(ax: "Axes") -> "Figure":
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def style_axes(ax: "Axes", grid: Any = "y") -> None:
    """Axes without a box, with a pale grid behind the data and grey labels."""
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(GREY)
    ax.spines["bottom"].set_linewidth(0.8)
    ax.set_facecolor("none")
    ax.tick_params(which="both", color=GREY, labelcolor=GREY, labelsize=9.0)
    ax.tick_params(axis="y", which="both", length=0.0)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set(color=GREY, fontsize=9.0)
    ax.set_axisbelow(True)
    ax.grid(False)
    if grid != "none":
        ax.grid(axis=grid, color=RULE, linewidth=0.8)


def _write_titles(figure: "Figure", title: str, subtitle: str, source: str) -> None:
    """Write the title over its subtitle at the left edge of a figure, and the source at the bottom."""
    from matplotlib.text import Annotation

    left = MARGIN / figure.get_figwidth()
    if title:
        width = 72.0 * (figure.get_figwidth() - 2.0 * MARGIN)
        title_lines = wrap_evenly(title, max(int(width / (1.1 * CHARACTER_WIDTH * TITLE_FONT)), 16))
        lines = wrap_evenly(subtitle, max(int(width / (CHARACTER_WIDTH * 9.5)), 16))
        room = "\n" * round(1.05 * len(lines) * 9.5 / TITLE_FONT + 0.3 * bool(lines))
        heading = figure.suptitle(
            "\n".join(title_lines) + room, x=left, ha="left", color=INK, fontsize=TITLE_FONT, fontweight="bold",
            fontfamily="serif", linespacing=1.15,
        )  # fmt: skip
        note = Annotation(
            "\n".join(lines), (0.0, 0.0), xycoords=heading, va="bottom", ha="left", color=GREY, fontsize=9.5,
            linespacing=1.25,
        )  # fmt: skip
        note.set_in_layout(False)
        figure.add_artist(note)
    if source:
        figure.supxlabel(source, x=left, ha="left", color=GREY, fontsize=SMALL_FONT - 1.0)


def wrap_evenly(text: str, width: int) -> list[str]:
    """Break a text into as few lines as this width allows, of about equal length."""
    wrap = partial(textwrap.wrap, text, break_on_hyphens=False)
    lines = wrap(width)
    narrower = (wrap(n) for n in range(max(len(text) // max(len(lines), 1), 1), width))
    return next((x for x in narrower if len(x) == len(lines)), lines)


@lru_cache
def colour_map(colours: tuple[str, ...]) -> "Colormap":
    """The map of colours at even distances."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("jaxrate", colours)


def cell_text_colour(red: float, green: float, blue: float) -> str:
    """White where it stands out from a colour by 4.5 to 1, otherwise black, which then does so."""
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in (red, green, blue)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "white" if 1.05 / (luminance + 0.05) >= MIN_CONTRAST else "black"


def add_colour_bar(ax: "Axes", image: Any, label: str, **look: Any) -> None:
    """Add a narrow colour bar without a box."""
    bar = get_figure(ax).colorbar(image, ax=ax, label=label, shrink=0.6, aspect=25, pad=0.02, **look)
    bar.outline.set_visible(False)
    bar.ax.tick_params(color=GREY, labelcolor=GREY, labelsize=SMALL_FONT, length=2)
    bar.ax.yaxis.label.set(color=GREY, fontsize=9.0)


def add_legend(ax: "Axes", title: str = "") -> None:
    """Add a legend above the axes, where it hides nothing."""
    names = ax.get_legend_handles_labels()[1]
    columns = 1 + all(len(name) <= SHORT_NAME_LENGTH for name in names)
    if axes_size(ax)[0] > 400.0:
        columns = 4 if columns == 2 else 2
    legend = ax.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=min(columns, max(len(names), 1)),
        fontsize="small", frameon=False, labelcolor=INK, borderaxespad=0.2, handlelength=1.8,
    )  # fmt: skip
    legend.set_title(title)
    legend.set_alignment("left")
    legend.get_title().set(fontsize="small", color=GREY)


def add_halo(artist: Any, width: float) -> None:
    """Set a line or a text off from what is behind it, by an edge in the colour of paper."""
    from matplotlib.patheffects import withStroke

    artist.set_path_effects([withStroke(linewidth=width, foreground=PAPER)])


def is_isolated(values: HostArray) -> HostArray:
    """[..., m] whether a value stands between missing ones, where a line through it is invisible."""
    is_missing = np.isnan(np.pad(values, [(0, 0)] * (values.ndim - 1) + [(1, 1)], constant_values=np.nan))
    return is_missing[..., :-2] & is_missing[..., 2:] & ~is_missing[..., 1:-1]


def draw_isolated_points(ax: "Axes", x: HostArray, y: HostArray, colour: str, width: float, layer: float = 2.0) -> None:
    """Draw points between missing ones as dots that are little wider than the line, so that they are no marks."""
    isolated = is_isolated(np.asarray(y, float))
    if isolated.any():
        ax.plot(x[isolated], y[isolated], "o", color=colour, markersize=DOT_SHARE * width, markeredgewidth=0.0,
                gid="isolated", zorder=layer)  # fmt: skip


def format_ticks_with_thousands(ax: "Axes", *axis_names: str) -> None:
    """Write the numbers at the ticks of these axes by `format_tick`."""
    for axis_name in axis_names:
        getattr(ax, f"{axis_name}axis").set_major_formatter(lambda x, _: format_tick(x))


def format_tick(x: float) -> str:
    """A number at an axis, as it is written elsewhere: 1,990."""
    return use_minus_sign(f"{x:,.10g}")


def label_time_axis(ax: "Axes", name: str) -> None:
    """Label the time axis; dates explain themselves, and have as many ticks as the width of the axes holds."""
    ax.set_xlabel(name * (name != "date"))
    if name == "date":
        from matplotlib.dates import MONTHLY, YEARLY, AutoDateLocator, ConciseDateFormatter

        ticks = int(np.clip(axes_size(ax)[0] / POINTS_PER_YEAR_LABEL, 4, 10))
        locator = AutoDateLocator(minticks=3, maxticks={YEARLY: ticks, MONTHLY: MAX_MONTH_TICKS})
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def format_plot_name(name: Any) -> str:
    """A name on one line, cut to `MAX_NAME_LENGTH`, and escaped so that it is no formula and shown in legends."""
    text = cut_name(" ".join(str(name).split()), MAX_NAME_LENGTH).replace("$", r"\$")
    return "\u200b" + text if text.startswith("_") else text


def cut_name(name: str, length: int) -> str:
    """A name of at most this many characters; an ellipsis ends one that is cut."""
    return name if len(name) <= length else name[: length - 1].rstrip(" \\") + "…"


def truncate_names(names: Iterable[str], ax: "Axes", font_size: float = SMALL_FONT) -> list[str]:
    """Names that take at most `NAME_SHARE` of the width of the figure."""
    room = NAME_SHARE * 72.0 * get_figure(ax).get_figwidth()
    length = max(int(room / (CHARACTER_WIDTH * font_size)), MIN_NAME_LENGTH)
    return [cut_name(name, length) for name in names]


def player_labels_by_id(players: Any, names: HostArray) -> dict[int, str]:
    """Labels of chosen players by id. `players` is one or several, by name or by id."""
    labels: dict[int, str] = {}
    for player in [players] if np.ndim(players) == 0 else list(players):
        number = find_player_id(names, player)
        check_that(number not in labels, f"player {player!r} is named twice")
        labels[number] = player_label(number, names)
    return labels


def player_label(number: int, names: Any) -> str:
    return f"player {number}" if names is None else format_plot_name(names[number])


def text_width(texts: Iterable[str], font_size: float) -> float:
    """The width of the widest of these texts in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(size=font_size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of letters that the font does not have
        return GLYPH_ROOM * max(
            (float(TextPath((0, 0), x, prop=font).get_extents().x1) for x in texts if x), default=0.0
        )


def pad_numbers(numbers: Sequence[int]) -> list[str]:
    """Whole numbers as texts of equal width, by spaces as wide as a digit or a comma before them."""
    texts = [f"{number:,}" for number in numbers]
    longest = max(texts, key=len, default="")
    blank = longest.translate({ord(","): "\N{PUNCTUATION SPACE}"} | {ord(x): "\N{FIGURE SPACE}" for x in "0123456789"})
    return [blank[: len(longest) - len(text)] + text for text in texts]


def set_name_ticks(
    ax: "Axes",
    axis_name: Literal["x", "y"],
    labels: list[str],
    numbers: Sequence[int] = (),
    *,
    is_left_aligned: bool = False,
) -> None:
    """Label ticks by names, after `numbers` if given, in a font size that fits; of too many names each tenth."""
    points = float(axes_size(ax)["xy".index(axis_name)])
    font_size, step = points / max(len(labels), 1) / LINE_SPACING, 1
    if font_size < SMALLEST_NAME_FONT:
        font_size, step = 10.0 * font_size, 10
    font_size = float(np.clip(font_size, SMALLEST_NAME_FONT, 10.0))
    names = truncate_names(labels, ax, font_size)
    if len(numbers):
        names = [f"{number}  {name}" for number, name in zip(pad_numbers(numbers), names, strict=True)]
    axis = ax.yaxis if axis_name == "y" else ax.xaxis
    names = names[::step]
    axis.set_ticks(range(0, len(labels), step), names, fontsize=font_size, color=INK)
    ax.tick_params(axis=axis_name, which="both", length=0.0)
    if is_left_aligned:
        ax.tick_params(axis=axis_name, pad=NAME_GAP + text_width(names, font_size))
        for label in axis.get_ticklabels():
            label.set_horizontalalignment("left")


# What plots are drawn from: checks of arguments, sources, units, and limits of what a page can hold.

Backend: TypeAlias = Literal["matplotlib", "altair"]


class Canvas(TypedDict, total=False):
    """Where a picture is drawn, by default into new axes of Matplotlib; see `show`."""

    ax: Any
    backend: Backend


MAX_SYSTEMS = 28  # lines that differ in colour or style
MAX_ROWS = 150  # that have names which can be read
MAX_NAMED_LINES = 8  # number of lines up to which names are at their ends
MAX_SOURCE_LENGTH = 60  # characters of the name of a source
SOURCE_NAME_END = re.compile(r"[,;] | \(|(?<=\w{4})\.\s|\.$")  # before an address, licence or note


def check_drawable_count(item_name: str, count: int, minimum: int, maximum: int) -> None:
    if not minimum <= count <= maximum:
        raise ValueError(f"a plot holds {minimum} to {maximum} {item_name}, not {count:,}")


def check_step(step: float | None) -> None:
    """ValueError for steps of time without a length."""
    if step is not None and not step > 0:
        raise ValueError(f"step must be above 0, got {step}")


def check_backend(backend: Backend = "matplotlib", ax: Any = None) -> None:
    """ValueError for no axes of Matplotlib, or Altair with axes."""
    if backend == "altair" and ax is not None:
        raise ValueError("ax must be axes of matplotlib, and backend='altair' draws into none")
    if ax is not None:
        check_axes(ax)


def count_lines(ax: Any, gid: str) -> int:
    """The number of lines of a kind that axes have already."""
    check_backend(ax=ax)
    return 0 if ax is None else sum(line.get_gid() == gid for line in ax.lines)


def to_dataset(data: Any) -> Dataset:
    """A `Dataset`; without names, of matches or rounds alone."""
    data = data if isinstance(data, Dataset) else Dataset(data, None, None)  # type: ignore[arg-type]
    if not isinstance(data.events, (Matches, Ragged)):
        kind = type(data.events).__name__
        raise ValueError(f"expected a Dataset, as `read` makes it, or matches or rounds, got {kind}")
    check_that(len(data.events.flat.player), "there are no events to draw")
    return data


def recent_player_mask(matches: Matches, clock: str | None, active: Any) -> tuple[HostArray, float | None]:
    """[num_players] who played in the last `active` days (None: a year, or ever; "all"); and how many these are."""
    if active is None:
        active = DEFAULT_ACTIVE_DAYS if clock == "dates" else "all"
    days = None if isinstance(active, str) and active == "all" else active
    if days is not None and not (is_number(days) and days > 0):
        raise ValueError(f'active must be a number above 0, or "all", got {active!r}')
    player, time = np.asarray(matches.player), np.asarray(matches.time, np.float64)
    last = np.full(player.max(initial=0) + 1, -np.inf)
    np.maximum.at(last, player.ravel(), np.repeat(time, 2))
    return last >= (time.min() if days is None else time.max() - days), days


def describe_source(drawn: History | Dataset) -> str:
    """What a plot is drawn from, as "Source: FiveThirtyEight. 16,810 matches to Feb 7, 2021"."""
    last: float | None
    if isinstance(drawn, History):
        count = drawn.num_rows if drawn.contests is None else drawn.contests
        nouns, last, source = drawn.nouns, drawn.last, drawn.options.get("source")
    else:
        time = np.asarray(drawn.events.flat.time)
        count, nouns, last, source = len(time), drawn.events.nouns, time[-1], drawn.source
    until = f" to {spell_day(float(last))}" if drawn.clock == "dates" and last is not None else ""
    return describe_counted_data(f"{count:,} {nouns}{until}", source)


def describe_counted_data(count: str, source: str | None = None) -> str:
    """The line of so much data below a plot, with the name of its source, if it has one."""
    name = " ".join(SOURCE_NAME_END.split(source or "")[0].split())
    return f"Source: {cut_name(name, MAX_SOURCE_LENGTH)}. {count}" if name else f"Data: {count}"


def values_by_system(values: Any) -> dict[Any, Any]:
    """Values of several systems by name, or those of one system under an empty name."""
    by_name = dict(values) if isinstance(values, Mapping) else {"": values}
    check_drawable_count("systems", len(by_name), 1, MAX_SYSTEMS)
    return by_name


def check_ratings_finite(name: str, values: Any) -> None:
    """ValueError if some of a player's ratings or deviations are not finite."""
    check_that(np.isfinite(values).all(), f"ratings of {name} are not finite; other parameters may keep them so")


def rating_axis_label(system: RatingSystem) -> str:
    """The label of an axis of ratings."""
    return f"rating ({rating_unit(system)})"
