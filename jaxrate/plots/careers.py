"""Pictures of players through time: their ratings with intervals, or a few of them, by name, before others in grey."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxrate.data.tables import Values
from jaxrate.events import Ragged
from jaxrate.plots.drawing import (
    COLOURS,
    KINDS,
    POINTS,
    WIDE,
    add_legend,
    check_count,
    check_finite,
    choose,
    label_time,
    make_axes,
    number_drawn,
    open_data,
    rating_label,
    spread,
    style,
    thin,
    time_axis,
)
from jaxrate.records.careers import career
from jaxrate.records.history import History
from jaxrate.records.rated import Rated, to_dates
from jaxrate.records.readings import ratings
from jaxrate.replay.state import count
from jaxrate.smoothing.found import Smoothed
from jaxrate.system import Params, RatingSystem
from jaxrate.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS = 100  # of a history, if no other length of steps is given
APART = 0.045  # of the height of a picture: names beside it stand so far from each other


class Line(NamedTuple):
    """A player's ratings: what each of their events found, and what the last one left."""

    name: str
    at: Values  # [m + 1] times, dates, or numbers of events
    mean: Values  # [m + 1]
    deviation: Values | None  # [m + 1]

    def after(self) -> "Line":
        """[m] what each event left."""
        return Line(
            f"{self.name}, in hindsight",
            self.at[:-1],
            self.mean[1:],
            None if self.deviation is None else self.deviation[1:],
        )


def trajectory(
    system: RatingSystem | Rated | Smoothed,
    history: History | None = None,
    data: Any = None,
    players: Any = None,
    *,
    params: Params = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Ratings through a history, with the 95 % interval where the system has deviations.

        jr.plots.trajectory(rated, players=["Ada", "Bo"])
        jr.plots.trajectory(system, jr.history(system, data), data, ["Ada", "Bo"])
        jr.plots.trajectory(jr.smooth(system, data), players=["Ada", "Bo"])

    A line goes through what each event found, as in `history.before`, to the rating after the last one; with hindsight
    through what is known of each match. The axis is time; if there is none, or it stands still, how many events of the
    history came before. A long line is drawn by 2000 of its points. Several calls may share an axes.

    Args:
      system: as from `glicko()`; or a rated history, or one with hindsight, in place of history and data too.
      history: as from `jr.history(system, data)`, or of the rating periods of these matches.
      data: the `Dataset`, or its matches or rounds.
      players: one or several, at most 28.
      params: hyperparameters of the history, by default `system.params`.

    Raises:
      ValueError: for a player who is unknown or never plays, ratings that are not finite, or a history of other events.
    """
    if isinstance(system, Smoothed):
        lines, clock = _smoothed_lines(system, players)
        lines, system = [line.after() for line in lines], system.system
    elif isinstance(system, Rated):
        lines, clock = _rated_lines(system, players)
        system = system.system
    else:
        lines, clock = _lines(system, history, data, players, params)
    check_count("players", len(lines), 1, KINDS)
    ax = make_axes(ax)
    for line in lines:
        some = thin(len(line.at), POINTS)
        at, mean = line.at[some], line.mean[some]
        look = style(number_drawn(ax, "trajectory"))
        ax.plot(at, mean, **look, label=line.name, gid="trajectory")
        if line.deviation is not None:
            wide = WIDE * line.deviation[some]
            ax.fill_between(at, mean - wide, mean + wide, color=look["color"], alpha=0.2, linewidth=0)
    ax.set_ylabel(rating_label(system))
    label_time(ax, clock)
    add_legend(ax)
    return ax


def _lines(system: RatingSystem, history: Any, data: Any, players: Any, params: Params) -> tuple[list[Line], str]:
    """The lines of these players, and what the axis says."""
    events, names, _ = open_data(data)
    flat = events.events if isinstance(events, Ragged) else events
    took_part = np.asarray(flat.player).reshape(len(flat.player), -1)
    size = np.diff(events.player_start) if isinstance(events, Ragged) else np.ones(len(flat.time), int)
    before = [None if x is None else np.asarray(x).reshape(len(x), -1) for x in history.before]
    if before[0] is None or before[0].shape != took_part.shape:
        raise ValueError("the history is of other events than the data (of rating periods, give the matches)")
    final = [None if x is None else np.asarray(x) for x in ratings(system, history.state, params=params)]
    event, (begin, end, clock) = np.repeat(np.arange(len(size)), size), time_axis(data)
    lines = []
    for player, name in choose(players, names, count(history.state)).items():
        row, side = np.nonzero(took_part == player)
        if not len(row):
            raise ValueError(f"{name} plays in none of these events")
        at = np.append(begin[event[row]], end[event[row[-1]]])
        mean, deviation = (
            None if b is None or f is None else np.append(b[row, side], f[player])
            for b, f in zip(before, final, strict=True)
        )
        assert mean is not None
        lines.append(Line(name, at, mean, deviation))
    return _checked(lines), clock


def _rated_lines(rated: Rated, players: Any) -> tuple[list[Line], str]:
    """The same of a rated history. Without times, the axis counts the player's own events."""
    final, lines = ratings(rated.system, rated.state), []
    for player, name in choose(players, rated.players, len(rated.players)).items():
        found: dict[str, Any] = career(rated, rated.players[player])
        if not len(found["rating"]):
            raise ValueError(f"{name} plays in none of these events")
        mean = np.append(found["rating"], final.mean[player])
        at = np.arange(len(mean)) if rated.clock is None else np.append(found["time"], found["time"][-1:])
        deviation = None
        if final.deviation is not None:
            deviation = np.append(found["deviation"], final.deviation[player])
        lines.append(Line(name, at, mean, deviation))
    clock = {"dates": "date", "numbers": "time", None: "matches played" if rated.contests is None else "contests"}
    return _checked(lines), clock[rated.clock]


def _smoothed_lines(smoothed: Smoothed, players: Any) -> tuple[list[Line], str]:
    """The same with hindsight; what the first match found counts as what it left."""
    lines = []
    for player, name in choose(players, smoothed.players, count(smoothed.state)).items():
        found: dict[str, Any] = career(smoothed, player if smoothed.players is None else smoothed.players[player])
        if not len(found["rating"]):
            raise ValueError(f"{name} plays in none of these events")
        at = np.append(found["time"], found["time"][-1:])
        if smoothed.clock is None:
            at = np.arange(len(at))
        lines.append(Line(name, at, *(np.append(x[:1], x) for x in (found["rating"], found["deviation"]))))
    clock = {"dates": "date", "numbers": "time", None: "matches played"}
    return _checked(lines), clock[smoothed.clock]


def _checked(lines: list[Line]) -> list[Line]:
    for line in lines:
        check_finite(line.name, line.mean, line.deviation)
    return lines


def careers(
    rated: Rated | Smoothed,
    players: Any,
    *,
    others: Iterable[Any] = (),
    step: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Ratings through a rated history, each player named beside the line; a dot with its time is the highest.

        jr.plots.careers(rated, ["Green Bay Packers", "Chicago Bears"], others=rated.players, step=365.25)

    A line goes through the ratings at the end of each step that the player took part in; where it is away for longer,
    it is broken.

    Args:
      rated: as from `jr.rate` or `jr.smooth`, with times.
      players: one or several, at most 7.
      others: further players, in grey and without names.
      step: the length of the steps in days, or the unit of time, counted back from the end of the history. None: a
        hundredth of it.

    Raises:
      ValueError: for players who are unknown, never play or are named twice, for a history without times, a step that
        is not above 0, or ratings that are not finite.
    """
    if rated.clock is None:
        raise ValueError("careers need times, and this history has none; `trajectory` counts matches instead")
    begin, last = _span(rated)
    if last is None or not (step is None or step > 0):
        raise ValueError(f"step must be above 0, got {step}")
    length = step or max(last - begin, 1.0) / STEPS
    lines, clock = _any_lines(rated, players)
    check_count("players", len(lines), 1, len(COLOURS))
    behind, _ = _any_lines(rated, list(others))
    ax = make_axes(ax, (10.0, 5.5))
    for line in behind:
        at, mean = _ends(line, last, length)
        ax.plot(_shown(at, rated), mean, color="#cccccc", linewidth=0.7, zorder=1)
    ends = []
    for line, colour in zip(lines, COLOURS, strict=False):
        at, mean = _ends(line, last, length)
        top, shown = int(np.nanargmax(mean)), _shown(at, rated)
        ax.plot(shown, mean, color=colour, linewidth=1.8, label=line.name, gid="career")
        ax.plot(shown[top], mean[top], "o", color=colour, markersize=4)
        when = str(shown[top].astype("datetime64[Y]")) if rated.clock == "dates" else number(round(float(at[top]), 1))
        ax.annotate(when, (shown[top], mean[top]), (0, 5), textcoords="offset points", ha="center", color=colour)
        ends.append((line.name, shown[-1], mean[-1], colour))
    low, high = ax.get_ylim()
    places = spread(np.array([mean for _, _, mean, _ in ends]), APART * (high - low))
    for (name, at, mean, colour), place in zip(ends, places, strict=True):
        ax.annotate(
            name, (at, mean), (1.02, place), textcoords=("axes fraction", "data"), va="center", color=colour,
            annotation_clip=False, arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 0},
        )  # fmt: skip
    ax.set_ylabel(rating_label(rated.system))
    label_time(ax, clock, 12)
    ax.margins(x=0.01)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _span(rated: Rated | Smoothed) -> tuple[float, float | None]:
    """When a history begins and ends."""
    if isinstance(rated, Smoothed):
        return float(rated.matches.time[0]), float(rated.matches.time[-1])
    return float(_number(rated.predictions["time"].to_numpy()[:1])[0]), rated.last


def _any_lines(rated: Rated | Smoothed, players: Any) -> tuple[list[Line], str]:
    return _smoothed_lines(rated, players) if isinstance(rated, Smoothed) else _rated_lines(rated, players)


def _number(times: Values) -> Values:
    """Dates as days since 1970-01-01, numbers as they are."""
    return times.astype("datetime64[us]").astype(float) / 86_400e6 if times.dtype.kind == "M" else times.astype(float)


def _shown(at: Values, rated: Rated | Smoothed) -> Values:
    return to_dates(at) if rated.clock == "dates" else at


def _ends(line: Line, last: float, length: float) -> tuple[Values, Values]:
    """When the line's last event of each step was, and the rating after it; NaN where steps are left out."""
    at, after = _number(line.at)[:-1], line.mean[1:]
    step = np.floor((last - at) / length)
    ends = np.flatnonzero(np.append(step[1:] != step[:-1], True))
    away = np.flatnonzero(-np.diff(step[ends]) > 1) + 1
    return np.insert(at[ends], away, at[ends][away]), np.insert(after[ends], away, np.nan)
