"""Pictures of players through time: their ratings with intervals, or a few of them, by name, before others in grey."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxrate.argument_checks import check_arguments
from jaxrate.events import Ragged
from jaxrate.league.event_ratings import History
from jaxrate.league.player_history import career
from jaxrate.league.rated_history import Rated, days_to_dates
from jaxrate.league.ratings_at_times import ratings
from jaxrate.plots.plot_helpers import (
    COLOURS,
    GREY,
    LINE_SPACING,
    MAX_NAMED_LINES,
    MAX_POINTS,
    MAX_SYSTEMS,
    SMALL_FONT,
    Z_95,
    add_legend,
    check_count,
    check_finite,
    count_lines,
    evenly_spaced_indices,
    events_names_clock,
    label_chosen_players,
    label_line_ends,
    label_time,
    line_style,
    make_axes,
    points_per_pixel,
    rating_label,
    time_axis,
)
from jaxrate.replay.padded_arrays import count_players
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.system import Params, RatingSystem
from jaxrate.text_format import format_number as shortly
from jaxrate.types import HostArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEFAULT_STEPS = 100  # of a history, if no other length of steps is given


class RatingLine(NamedTuple):
    """A player's ratings: what each of their events found, and what the last one left."""

    name: str
    at: HostArray  # [m + 1] times, dates, or numbers of events
    mean: HostArray  # [m + 1]
    deviation: HostArray | None  # [m + 1]

    def after(self) -> "RatingLine":
        """[m] what each event left."""
        return RatingLine(
            self.name, self.at[:-1], self.mean[1:], None if self.deviation is None else self.deviation[1:]
        )


@check_arguments
def trajectory(
    system: RatingSystem | Rated | Smoothed,
    history: History | None = None,
    data: Any = None,
    players: Any = None,
    *,
    params: Params = None,
    skip: int = 0,
    smooth: Smoothed | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Ratings through a history, with the 95 % interval where the system has deviations.

        jr.plots.trajectory(rated, players=["Ada", "Bo"], skip=10)
        jr.plots.trajectory(system, jr.league.rating_history(system, data), data, ["Ada", "Bo"])
        jr.plots.trajectory(rated, players=["Ada", "Bo"], smooth=jr.smooth(system, data))

    A rating holds until the next event, so a line goes in steps of what each event found, as in `history.before`, and
    ends with the rating after the last one; an interval is that which the next event found. With hindsight a line goes
    straight from match to match, through what is known of each. Up to eight lines have names at their ends, more have
    a legend. The axis is time; if there is none, or it stands still, how many events of the history came before. A long
    line is drawn by 2000 of its points. Several calls may share an axes.

    Args:
      system: as from `glicko()`; or a rated history, or one with hindsight, in place of history and data too.
      history: as from `jr.league.rating_history(system, data)`, or of the rating periods of these matches.
      data: the `Dataset`, or its matches or rounds.
      players: one or several, at most 28.
      params: hyperparameters of the history, by default `system.params`.
      skip: how many first events of each player are left out, in which newcomers' ratings jump.
      smooth: as from `jr.smooth`. The lines are then what is known now, and dashed without interval what was known
        then.

    Raises:
      ValueError: for a player who is unknown or never plays, or has no more than `skip` events, for ratings that are
        not finite, or a history of other events.
    """
    before, clock = _rating_lines(system, players, history, data, params)
    check_count("players", len(before), 1, MAX_SYSTEMS)
    after = [] if smooth is None else [line.after() for line in _smoothed_lines(smooth, players)[0]]
    known = isinstance(system, Smoothed)
    lines = after or ([line.after() for line in before] if known else before)
    then = [_skip_events(line, skip) for line in before] if after else [None] * len(lines)
    lines = [_skip_events(line, skip) for line in lines]
    system = system.system if isinstance(system, (Rated, Smoothed)) else system
    ax = make_axes(ax, (8.0, 4.5), f"Ratings by {system.name}" + (", in hindsight" if known else ""))
    for line, past in zip(lines, then, strict=True):
        _draw_line(ax, line, past, steps=not (known or after))
    ax.set_ylabel(rating_label(system))
    label_time(ax, clock)
    _name_or_add_legend(ax)
    return ax


def _skip_events(line: RatingLine, skip: int) -> RatingLine:
    """Without the first events."""
    count = len(line.at) - 1
    if not (isinstance(skip, int) and 0 <= skip < max(count, 1)):
        raise ValueError(f"skip must be from 0 to {max(count - 1, 0)}, as {line.name} has {count:,} events, got {skip}")
    return RatingLine(
        line.name, line.at[skip:], line.mean[skip:], None if line.deviation is None else line.deviation[skip:]
    )


def _draw_line(ax: "Axes", line: RatingLine, past: RatingLine | None, steps: bool) -> None:
    """In steps that end where an event found them, or straight; what was known then in thin dashes."""
    number = count_lines(ax, "trajectory")
    colour = GREY if number == len(COLOURS) else COLOURS[number % len(COLOURS)]
    if past is not None:
        some = evenly_spaced_indices(len(past.at), MAX_POINTS)
        ax.plot(past.at[some], past.mean[some], "--", color=colour, linewidth=0.8, drawstyle="steps-pre", gid="then")
    some = evenly_spaced_indices(len(line.at), MAX_POINTS)
    at, mean = line.at[some], line.mean[some]
    way = "steps-pre" if steps else "default"
    ax.plot(at, mean, color=colour, linewidth=1.3, drawstyle=way, label=line.name, gid="trajectory")
    if line.deviation is not None:
        wide = Z_95 * line.deviation[some]
        form: Any = {"step": "pre"} if steps else {}
        ax.fill_between(at, mean - wide, mean + wide, color=colour, linewidth=0, gid="interval", **form)


def _name_or_add_legend(ax: "Axes") -> None:
    """Names at the ends of a few lines, or a legend of many, which then differ in kind too; the more, the paler."""
    lines = [line for line in ax.lines if line.get_gid() == "trajectory"]
    few = len(lines) <= MAX_NAMED_LINES
    for number, line in enumerate([] if few else lines):
        line.set(**line_style(number) | {"color": line.get_color()})
    for band in [band for band in ax.collections if band.get_gid() == "interval"]:
        band.set_alpha(min(0.2, 0.6 / len(lines)))
    label_line_ends(ax, lines if few else [])
    if any(line.get_gid() == "then" for line in ax.lines):
        from matplotlib.lines import Line2D

        looks: Any = (("--", 0.8, "as known then"), ("-", 1.3, "as known now"))
        handles = [Line2D([], [], color=GREY, linestyle=x, linewidth=y, label=name) for x, y, name in looks]
        add_legend(ax, handles=[*handles, *([] if few else lines)])
    elif not few:
        add_legend(ax)


def _rating_lines(
    system: RatingSystem | Rated | Smoothed, players: Any, history: Any = None, data: Any = None, params: Params = None
) -> tuple[list[RatingLine], str]:
    """The lines of these players, and what the axis says."""
    if isinstance(system, Smoothed):
        return _smoothed_lines(system, players)
    if isinstance(system, Rated):
        return _rated_lines(system, players)
    return _history_lines(system, history, data, players, params)


def _history_lines(
    system: RatingSystem, history: Any, data: Any, players: Any, params: Params
) -> tuple[list[RatingLine], str]:
    """Those of a history."""
    events, names, _ = events_names_clock(data)
    flat = events.events if isinstance(events, Ragged) else events
    took_part = np.asarray(flat.player).reshape(len(flat.player), -1)
    size = np.diff(events.player_start) if isinstance(events, Ragged) else np.ones(len(flat.time), int)
    before = [None if x is None else np.asarray(x).reshape(len(x), -1) for x in history.before]
    if before[0] is None or before[0].shape != took_part.shape:
        raise ValueError("the history is of other events than the data (of rating periods, give the matches)")
    final = [None if x is None else np.asarray(x) for x in ratings(system, history.state, params=params)]
    event, (begin, end, clock) = np.repeat(np.arange(len(size)), size), time_axis(data)
    lines = []
    for player, name in label_chosen_players(players, names, count_players(history.state)).items():
        row, side = np.nonzero(took_part == player)
        if not len(row):
            raise ValueError(f"{name} plays in none of these events")
        at = np.append(begin[event[row]], end[event[row[-1]]])
        mean, deviation = (
            None if b is None or f is None else np.append(b[row, side], f[player])
            for b, f in zip(before, final, strict=True)
        )
        assert mean is not None
        lines.append(RatingLine(name, at, mean, deviation))
    return _check_lines_finite(lines), clock


def _rated_lines(rated: Rated, players: Any) -> tuple[list[RatingLine], str]:
    """The same of a rated history. Without times, the axis counts the player's own events."""
    final, lines = ratings(rated.system, rated.state), []
    for player, name in label_chosen_players(players, rated.players, len(rated.players)).items():
        found: dict[str, Any] = career(rated, rated.players[player])
        if not len(found["rating"]):
            raise ValueError(f"{name} plays in none of these events")
        mean = np.append(found["rating"], final.mean[player])
        at = np.arange(len(mean)) if rated.clock is None else np.append(found["time"], found["time"][-1:])
        deviation = None
        if final.deviation is not None:
            deviation = np.append(found["deviation"], final.deviation[player])
        lines.append(RatingLine(name, at, mean, deviation))
    clock = {"dates": "date", "numbers": "time", None: "matches played" if rated.contests is None else "contests"}
    return _check_lines_finite(lines), clock[rated.clock]


def _smoothed_lines(smoothed: Smoothed, players: Any) -> tuple[list[RatingLine], str]:
    """The same with hindsight; what the first match found counts as what it left."""
    lines = []
    for player, name in label_chosen_players(players, smoothed.players, count_players(smoothed.state)).items():
        found: dict[str, Any] = career(smoothed, player if smoothed.players is None else smoothed.players[player])
        if not len(found["rating"]):
            raise ValueError(f"{name} plays in none of these events")
        at = np.append(found["time"], found["time"][-1:])
        if smoothed.clock is None:
            at = np.arange(len(at))
        lines.append(RatingLine(name, at, *(np.append(x[:1], x) for x in (found["rating"], found["deviation"]))))
    clock = {"dates": "date", "numbers": "time", None: "matches played"}
    return _check_lines_finite(lines), clock[smoothed.clock]


def _check_lines_finite(lines: list[RatingLine]) -> list[RatingLine]:
    for line in lines:
        check_finite(line.name, line.mean, line.deviation)
    return lines


@check_arguments
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
    begin, last = _time_span(rated)
    if last is None or not (step is None or step > 0):
        raise ValueError(f"step must be above 0, got {step}")
    length = step or max(last - begin, 1.0) / DEFAULT_STEPS
    lines, clock = _rating_lines(rated, players)
    check_count("players", len(lines), 1, len(COLOURS))
    behind, _ = _rating_lines(rated, list(others))
    ax = make_axes(ax, (10.0, 5.5), f"Careers by {rated.system.name}")
    for line in behind:
        at, mean = _step_end_ratings(line, last, length)
        ax.plot(_display_times(at, rated), mean, color="#cccccc", linewidth=0.7, zorder=1)
    tops: list[tuple[str, Any, float, str]] = []
    for line, colour in zip(lines, COLOURS, strict=False):
        at, mean = _step_end_ratings(line, last, length)
        top, shown = int(np.nanargmax(mean)), _display_times(at, rated)
        ax.plot(shown, mean, color=colour, linewidth=1.8, label=line.name, gid="career")
        ax.plot(shown[top], mean[top], "o", color=colour, markersize=4)
        when = str(shown[top].astype("datetime64[Y]")) if rated.clock == "dates" else shortly(round(float(at[top]), 1))
        tops.append((when, shown[top], mean[top], colour))
    ax.set_ylabel(rating_label(rated.system))
    label_time(ax, clock, 12)
    ax.margins(x=0.01)
    _label_peaks(ax, tops)
    label_line_ends(ax, [line for line in ax.lines if line.get_gid() == "career"])
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _label_peaks(ax: "Axes", tops: list[tuple[str, Any, float, str]]) -> None:
    """The time of each highest rating above it, and above the times that stand there already."""
    ax.autoscale_view()
    taken: list[tuple[float, float]] = []
    for when, at, mean, colour in tops:
        x, y = points_per_pixel(ax) * ax.transData.transform((ax.convert_xunits(at), mean))
        up = 4.0
        while any(
            abs(x - other) < SMALL_FONT * 3.0 and abs(y + up - height) < SMALL_FONT * LINE_SPACING
            for other, height in taken
        ):
            up += 1.0
        taken.append((x, y + up))
        ax.annotate(
            when, (at, mean), (0, up), textcoords="offset points", ha="center", color=colour, fontsize=SMALL_FONT
        )


def _time_span(rated: Rated | Smoothed) -> tuple[float, float | None]:
    """When a history begins and ends."""
    if isinstance(rated, Smoothed):
        return float(rated.matches.time[0]), float(rated.matches.time[-1])
    return float(_to_numbers(rated.predictions["time"].to_numpy()[:1])[0]), rated.last


def _to_numbers(times: HostArray) -> HostArray:
    """Dates as days since 1970-01-01, numbers as they are."""
    return times.astype("datetime64[us]").astype(float) / 86_400e6 if times.dtype.kind == "M" else times.astype(float)


def _display_times(at: HostArray, rated: Rated | Smoothed) -> HostArray:
    return days_to_dates(at) if rated.clock == "dates" else at


def _step_end_ratings(line: RatingLine, last: float, length: float) -> tuple[HostArray, HostArray]:
    """When the line's last event of each step was, and the rating after it; NaN where steps are left out."""
    at, after = _to_numbers(line.at)[:-1], line.mean[1:]
    step = np.floor((last - at) / length)
    ends = np.flatnonzero(np.append(step[1:] != step[:-1], True))
    away = np.flatnonzero(-np.diff(step[ends]) > 1) + 1
    return np.insert(at[ends], away, at[ends][away]), np.insert(after[ends], away, np.nan)
