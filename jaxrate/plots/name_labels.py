"""Names of players in plots: as text on one line, chosen by name or by id, and as labels of rows and columns."""

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jaxrate.history.history import find_player_id
from jaxrate.plots.scoreboard_style import CHARACTER_WIDTH, INK, LINE_SPACING, SMALL_FONT, axes_size, get_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NAME_LENGTH = 60  # characters of a name wherever there is room
MIN_NAME_LENGTH = 24  # characters of a name in a narrow figure
NAME_SHARE = 0.4  # share of the width of a figure that names may take
SMALLEST_NAME_FONT = 4.0  # font size of rows and columns, if each of a few must have a name
LEAST_NAME_FONT = 5.5  # font size of many rows and columns, below which only some have names
NAME_STEPS = 5, *(digit * 10**power for power in range(1, 5) for digit in (1, 2, 5))  # from one name to the next
GLYPH_ROOM = 1.04  # width of a text with its letters on whole pixels to that of their outlines
NAME_GAP = 6.0  # points between names and the axes
MAX_UNTHINNED_NAMES = 40  # names of rows or columns that are all shown, however small


def format_plot_name(name: Any) -> str:
    """A name on one line, escaped so that it is no formula and not hidden from legends."""
    text = cut_name(" ".join(str(name).split()), MAX_NAME_LENGTH).replace("$", r"\$")
    return "\u200b" + text if text.startswith("_") else text


def cut_name(name: str, length: int) -> str:
    """A name of at most this many characters; an ellipsis ends one that is cut."""
    return name if len(name) <= length else name[: length - 1].rstrip(" \\") + "…"


def fit_names(names: Iterable[str], ax: "Axes", font_size: float = SMALL_FONT) -> list[str]:
    """Names that take at most `NAME_SHARE` of the width of the figure."""
    room = NAME_SHARE * 72.0 * get_figure(ax).get_figwidth()
    length = max(int(room / (CHARACTER_WIDTH * font_size)), MIN_NAME_LENGTH)
    return [cut_name(name, length) for name in names]


def player_labels_by_id(players: Any, names: Any, num_players: int) -> dict[int, str]:
    """Labels of chosen players by id. `players` is one or several of `num_players` players, by name or by id."""
    is_single = isinstance(players, (str, bytes)) or np.ndim(players) == 0
    labels: dict[int, str] = {}
    for player in [players] if is_single else list(players):
        number = find_player_id(names, player, num_players)
        if number in labels:
            raise ValueError(f"player {player!r} is named twice")
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


def name_step(count: int, points: float) -> int:
    """The step from one name to the next of so many rows or columns in so many points; 1 if all names fit."""
    room = points / max(count, 1) / LINE_SPACING  # the font size that fits
    if count <= MAX_UNTHINNED_NAMES or room >= LEAST_NAME_FONT:
        return 1
    return next(x for x in NAME_STEPS if x >= LINE_SPACING * SMALL_FONT / room)


def describe_name_step(step: int) -> str:
    """The end of a subtitle: which rows have names, if not all."""
    return f"; every {step:,}th named" if step > 1 else ""


def set_name_ticks(
    ax: "Axes",
    axis_name: Literal["x", "y"],
    labels: list[str],
    numbers: Sequence[int] = (),
    *,
    step: int | None = None,
    is_left_aligned: bool = False,
) -> None:
    """Set names of rows or columns as tick labels, in a font size that fits.

    Names may have numbers, which are never cut, before them. `step` is that from one name to the next. None: that of
    `name_step`.
    """
    points = float(axes_size(ax)["xy".index(axis_name)])
    step = name_step(len(labels), points) if step is None else step
    font_size = float(np.clip(points / max(len(labels), 1) / LINE_SPACING, SMALLEST_NAME_FONT, 10.0))
    font_size = SMALL_FONT if step > 1 else font_size
    shown = range(0, len(labels), step)
    names = fit_names([labels[i] for i in shown], ax, font_size)
    if len(numbers):
        padded = pad_numbers([numbers[i] for i in shown])
        names = [f"{number}  {name}" for number, name in zip(padded, names, strict=True)]
    axis = ax.yaxis if axis_name == "y" else ax.xaxis
    axis.set_ticks(shown, names, fontsize=font_size, color=INK)
    ax.tick_params(axis=axis_name, which="both", length=0.0)
    if is_left_aligned:
        ax.tick_params(axis=axis_name, pad=NAME_GAP + text_width(names, font_size))
        for label in axis.get_ticklabels():
            label.set_horizontalalignment("left")
