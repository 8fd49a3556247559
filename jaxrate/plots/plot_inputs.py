"""What plots are drawn from: checks of arguments, sources, units, and limits of what a page can hold."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from jaxrate.core.argument_checks import is_number
from jaxrate.core.array_types import HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Ragged
from jaxrate.events.dataset import Dataset
from jaxrate.history.history import History
from jaxrate.history.leaderboards import DEFAULT_ACTIVE_DAYS
from jaxrate.plots.plot_style import check_axes, cut_name
from jaxrate.views.wording import rating_unit, spell_day

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Backend: TypeAlias = Literal["matplotlib", "altair"]

MAX_SYSTEMS = 28  # lines that differ in colour or style
MAX_ROWS = 150  # that have names which can be read
MAX_NAMED_LINES = 8  # number of lines up to which names are at their ends
MAX_SOURCE_LENGTH = 60  # characters of the name of a source
SOURCE_NAME_END = re.compile(r"[,;] | \(|(?<=\w{4})\.\s|\.$")  # before an address, licence or note


def count_lines(ax: "Axes | None", gid: str) -> int:
    """The number of lines of a kind that axes have already."""
    if ax is None:
        return 0
    check_axes(ax)
    return sum(line.get_gid() == gid for line in ax.lines)


def check_drawable_count(item_name: str, count: int, minimum: int, maximum: int) -> None:
    if not minimum <= count <= maximum:
        raise ValueError(f"a plot holds {minimum} to {maximum} {item_name}, not {count:,}")


def check_step(step: float | None) -> None:
    """ValueError for steps of time without a length."""
    if step is not None and not step > 0:
        raise ValueError(f"step must be above 0, got {step}")


def check_backend(backend: Backend, ax: Any) -> None:
    """ValueError for no axes of Matplotlib, or Altair with axes."""
    if backend == "altair" and ax is not None:
        raise ValueError("ax must be axes of matplotlib, and backend='altair' draws into none")
    if ax is not None:
        check_axes(ax)


def to_dataset(data: Any) -> Dataset:
    """A `Dataset`; without names, of matches or rounds alone."""
    data = data if isinstance(data, Dataset) else Dataset(data, None, None)  # type: ignore[arg-type]
    if not isinstance(data.events, (Matches, Ragged)):
        kind = type(data.events).__name__
        raise ValueError(f"expected a Dataset, as `read` makes it, or matches or rounds, got {kind}")
    if not len(data.events.flat.player):
        raise ValueError("there are no events to draw")
    return data


def recent_player_mask(matches: Matches, clock: str | None, active: Any) -> tuple[HostArray, float | None]:
    """[num_players] who played in so many days, or units of time, up to the last match; and how many these are.

    `active` is None for a year if there are dates, and for everybody if not; or "all", with None in place of days.
    """
    if active is None:
        active = DEFAULT_ACTIVE_DAYS if clock == "dates" else "all"
    if not (isinstance(active, str) and active == "all") and not (is_number(active) and active > 0):
        raise ValueError(f'active must be a number above 0, or "all", got {active!r}')
    player, time = np.asarray(matches.player), np.asarray(matches.time, np.float64)
    last = np.full(player.max(initial=0) + 1, -np.inf)
    np.maximum.at(last, player.ravel(), np.repeat(time, 2))
    if active == "all":
        return last > -np.inf, None
    return last >= time.max() - active, float(active)


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
    """The line of so much data below a plot, with the name of its source, if it has one.

    Of a source such as "FiveThirtyEight, https://... (licence)" the line has what is before the first comma or bracket.
    """
    name = " ".join(SOURCE_NAME_END.split(source or "")[0].split())
    return f"Source: {cut_name(name, MAX_SOURCE_LENGTH)}. {count}" if name else f"Data: {count}"


def values_by_system(values: Any) -> dict[Any, Any]:
    """Values of several systems by name, or those of one system under an empty name."""
    by_name = dict(values) if isinstance(values, Mapping) else {"": values}
    check_drawable_count("systems", len(by_name), 1, MAX_SYSTEMS)
    return by_name


def check_ratings_finite(name: str, *values: Any) -> None:
    """ValueError if some of a player's ratings or deviations are not finite."""
    if not all(np.isfinite(x).all() for x in values if x is not None):
        raise ValueError(f"ratings of {name} are not finite; other parameters may keep them so")


def rating_axis_label(system: RatingSystem) -> str:
    """The label of an axis of ratings."""
    return f"rating ({rating_unit(system)})"
