"""Careers: lines of ratings of some players through time."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.history.history import History
from jaxrate.history.leaderboards import PEAK_MIN_EVENTS
from jaxrate.plots.finding_titles import format_amount, line_end_title, peak_title
from jaxrate.plots.line_drawing import MAX_INTERVALS, show_lines
from jaxrate.plots.line_end_labels import EDGE_SHARE
from jaxrate.plots.pictures import Line, LinePicture, PictureText, UnnamedPlayers, without_deviations
from jaxrate.plots.plot_inputs import (
    MAX_NAMED_LINES,
    check_backend,
    check_drawable_count,
    check_step,
    count_lines,
    describe_source,
    rating_axis_label,
    rating_unit,
)
from jaxrate.plots.rating_lines import (
    after_events,
    describe_begin,
    describe_gaps,
    event_noun,
    format_peak_time,
    other_rating_lines,
    rating_lines,
    steps_of_lines,
    thin_lines,
    time_axis_label,
    times_span,
    unnamed_players,
)
from jaxrate.plots.scoreboard_style import COLOURS
from jaxrate.plots.time_steps import TimeSteps
from jaxrate.systems.system_titles import system_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_EVENTS = 300  # of a line; longer ones are drawn at the ends of steps


@enforce_argument_annotations
def trajectory(
    rated: History,
    players: Any,
    *,
    skip: int = 0,
    smooth: History | None = None,
    others: Iterable[Any] = (),
    ax: "Axes | None" = None,
    backend: str = "matplotlib",
) -> Any:
    """Plot ratings through a history; of one or two players with 95% intervals if the system has deviations.

        jr.plots.trajectory(rated, ["Ada", "Bo"], skip=10)
        jr.plots.trajectory(rated, ["Ada", "Bo"], smooth=jr.smooth(system, data))

    A rating holds until the next event. So a line begins with the rating before the first event, and goes in steps
    through the ratings after each event. Intervals are those before the next event. With hindsight a line goes straight
    from match to match. Names stand at the ends of lines. If a line has more than 300 events, all lines go through the
    ratings at the ends of a hundred steps, or of years, and through the highest one. They are then interrupted where
    the player is absent, as in `careers`. The axis is time or, without times, the number of events. Several calls may
    share axes.

    Args:
      rated: a history, such as `jr.rate` and `jr.smooth` return.
      players: one or several players, at most eight, with those that axes have already.
      skip: number of first events of each player to leave out, in which newcomers' ratings jump.
      smooth: the result of `jr.smooth`. Solid lines then show ratings in hindsight. Dashed lines, without intervals,
        show the ratings at the time.
      others: further players, in grey, without names and intervals. If they are more than 200, their median is drawn,
        with bands that hold 50% and 90% of them.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for a player who is unknown, never plays, or has no more than `skip` events, or for ratings that are
        not finite.
    """
    check_backend(backend, ax)
    shown = rated if smooth is None else smooth
    lines = rating_lines(shown, players, skip)
    then = [] if smooth is None else without_deviations(rating_lines(rated, players, skip))
    check_drawable_count("named players", count_lines(ax, "line") + len(lines), 1, MAX_NAMED_LINES)
    grey_lines = other_rating_lines(rated, others, lines)
    steps = steps_of_lines(rated, lines, grey_lines, times_span(lines))
    num_early = max(PEAK_MIN_EVENTS - 1 - skip, 0) if shown.hindsight is None else 0
    title = _end_title(rated, lines, num_early) + ", in hindsight" * bool(then)
    is_thinned = max(len(line.x) for line in lines) > MAX_EVENTS
    is_stepped = not is_thinned and shown.hindsight is None
    if not is_stepped:
        lines = after_events(lines)
    if is_thinned:
        lines = thin_lines(lines, steps, num_early)
        then = thin_lines(after_events(then), steps, num_early)
        grey_lines = thin_lines(after_events(grey_lines), steps)
    if len(lines) > MAX_INTERVALS:
        lines = without_deviations(lines)
    known = [f"after each {event_noun(rated)}"] if is_stepped else ["in hindsight"] * (shown.hindsight is not None)
    if is_thinned:
        known.append(f"{steps.describe()}{describe_begin(rated, num_early)}")
    bands = ", with 95% intervals" * (lines[0].deviation is not None)
    dashed = ". Dashed: at the time" * (bool(then) and backend == "altair")
    rules = f"{', '.join(known)}{bands}{dashed}{'. Dots mark peaks' * is_thinned}{describe_gaps([*lines, *then])}"
    unnamed = unnamed_players(grey_lines, steps)
    text = _rating_text(rated, title, rules, unnamed)
    return show_lines(LinePicture(text, lines, unnamed, then, is_stepped), ax, backend)


@enforce_argument_annotations
def careers(
    rated: History,
    players: Any,
    *,
    others: Iterable[Any] = (),
    step: float | None = None,
    ax: "Axes | None" = None,
    backend: str = "matplotlib",
) -> Any:
    """Plot ratings through a rated history with the players' names; a dot marks the highest rating, told by the name.

        jr.plots.careers(rated, ["Green Bay Packers", "Chicago Bears"], others=rated.players, step=365.25)

    A line goes through the ratings at the end of each step in which the player took part, and through the highest one.
    The line is interrupted where the player is absent: for longer than a step and for more than twice the usual
    off-season, or, without dates, three times the usual pause. It begins with the tenth event, since first ratings
    jump, and so does the highest rating, as in `jr.leaderboard`; players with fewer events have no highest rating. With
    hindsight the line begins with the first event.

    Args:
      rated: a history from `jr.rate` or `jr.smooth`, with times.
      players: one or several players, at most 7.
      others: further players, in grey and without names. If they are more than 200, their median is drawn, with bands
        that hold 50% and 90% of them.
      step: the length of the steps in days, or in units of time, counted back from the end of the history. Steps of
        365.25 days, or a multiple, are calendar years. None: a hundredth of the history, or calendar years if it is
        long; longer if these players take part more rarely.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for players who are unknown, never play or are named twice, for a history without times, for a step
        that is not above 0, or for ratings that are not finite.
    """
    if rated.clock is None or rated.last is None:
        raise ValueError("careers need times, and this history has none; `trajectory` counts matches instead")
    check_backend(backend, ax)
    check_step(step)
    whole = rating_lines(rated, players)
    check_drawable_count("players", len(whole), 1, len(COLOURS))
    grey = other_rating_lines(rated, others, whole)
    steps = steps_of_lines(rated, whole, grey, rated.last - float(rated.events["time"][0]), step)
    num_early = PEAK_MIN_EVENTS - 1 if rated.hindsight is None else 0
    lines = _career_lines(whole, steps, num_early)
    unnamed = unnamed_players(thin_lines(after_events(grey, num_early), steps), steps)
    clock, span, rules = time_axis_label(rated), times_span(lines), steps.describe()
    if peaks := [line.select(np.array([line.peak])) for line in lines if line.peak is not None]:
        grey_peaks = [float(line.y[1 + num_early :].max(initial=-np.inf)) for line in grey]
        unit = rating_unit(rated.system)
        title = peak_title(peaks, len(lines), clock, unit, max(grey_peaks, default=-np.inf), span)
        rules += f"{describe_begin(rated, num_early)}. Dots mark peaks"
    else:
        title = _end_title(rated, whole, num_early)
    text = _rating_text(rated, title, rules + describe_gaps(lines), unnamed)
    notes = _career_notes(lines, unnamed, rated.last, clock)
    lines = [line._replace(note=note) for line, note in zip(lines, notes, strict=True)]
    return show_lines(LinePicture(text, lines, unnamed), ax, backend, (10.0, 5.5))


def _end_title(rated: History, lines: Sequence[Line], num_early: int) -> str:
    """The finding of lines that begin before the first event."""
    return line_end_title(after_events(lines), time_axis_label(rated), rating_unit(rated.system), num_early)


def _rating_text(rated: History, title: str, rules: str, unnamed: UnnamedPlayers) -> PictureText:
    subtitle = f"Ratings by {system_title(rated.system.name)} {rules}{unnamed.description}"
    return PictureText(title, subtitle, time_axis_label(rated), rating_axis_label(rated.system), describe_source(rated))


def _career_lines(lines: Sequence[Line], steps: TimeSteps, num_early: int) -> list[Line]:
    """The ratings at the ends of steps, from the first that can be a peak; all of who has no peak, without a dot."""
    thinned = thin_lines(without_deviations(after_events(lines, num_early)), steps, 0)
    has_peak = [len(line.y) > 1 + num_early for line in lines]
    return [line if one else line._replace(peak=None) for line, one in zip(thinned, has_peak, strict=True)]


def _career_notes(lines: Sequence[Line], unnamed: UnnamedPlayers, last: float, clock: str) -> list[str]:
    """What stands below the name of each line: the highest rating, and the last one if the label is beside the axes.

    `last` is the time at which the history ends.
    """
    span = times_span(lines)
    drawn = [x.x_numbers() for x in [*lines, *unnamed.lines]]
    drawn_end = max(float(x[-1]) for x in drawn)
    edge = drawn_end - EDGE_SHARE * (drawn_end - min(float(x[0]) for x in drawn))
    notes = []
    for line in lines:
        parts = []
        end = float(line.x_numbers()[-1])
        if end > edge:
            is_current = end > last - EDGE_SHARE * span
            parts.append(f"{'' if is_current else 'last '}{format_amount(float(line.y[-1]), '')}")
        if parts and line.peak == len(line.y) - 1:
            parts.append("the peak")
        elif line.peak is not None:
            amount, when = format_amount(float(line.y[line.peak]), ""), format_peak_time(line.x[line.peak], span)
            parts.append(f"peak {amount} {'in' if clock == 'date' else 'at'} {when}")
        notes.append(", ".join(parts))
    return notes
