"""Careers: lines of ratings of some players through time."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem
from jaxrate.history.dataset_rating import RecordedRun
from jaxrate.history.history import History
from jaxrate.history.trajectories import PEAK_MIN_EVENTS
from jaxrate.plots.altair_charts import ChartLine, ChartText, line_chart
from jaxrate.plots.finding_titles import format_amount, line_end_title, peak_title
from jaxrate.plots.line_end_labels import EDGE_SHARE, label_line_ends
from jaxrate.plots.plotted_data_and_checks import (
    MAX_NAMED_LINES,
    Z_95,
    check_drawable_count,
    count_lines,
    describe_source,
    is_altair_backend,
    rates_contests,
    rating_axis_label,
    rating_unit,
)
from jaxrate.plots.rating_line_data import (
    RatingLine,
    collect_rating_lines,
    default_steps_of_lines,
    describe_gaps,
    format_peak_time,
    last_ratings_of_steps,
    lines_of_rated_history,
    peak_point,
    skip_first_events,
    skip_unsettled_events,
    time_span,
    times_to_numbers,
)
from jaxrate.plots.scoreboard_style import (
    COLOURS,
    GREY,
    add_legend,
    draw_isolated_points,
    group_thousands,
    label_time_axis,
    make_axes,
)
from jaxrate.plots.time_steps import TimeSteps
from jaxrate.plots.unnamed_players import draw_unnamed_players, lines_or_bands
from jaxrate.systems.system_titles import system_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_INTERVALS = 2  # lines up to which intervals are drawn: more would hide each other
MAX_EVENTS = 300  # of a line; longer ones are drawn at the ends of steps


@enforce_argument_annotations
def trajectory(
    system: RatingSystem | History,
    history: RecordedRun | None = None,
    data: Any = None,
    players: Any = None,
    *,
    params: Params = None,
    skip: int = 0,
    smooth: History | None = None,
    others: Iterable[Any] = (),
    ax: "Axes | None" = None,
    backend: str = "matplotlib",
) -> Any:
    """Plot ratings through a history; of one or two players with 95% intervals if the system has deviations.

        jr.plots.trajectory(rated, players=["Ada", "Bo"], skip=10)
        jr.plots.trajectory(system, jr.history.rating_history(system, data), data, ["Ada", "Bo"])
        jr.plots.trajectory(rated, players=["Ada", "Bo"], smooth=jr.smooth(system, data))

    A rating holds until the next event. So a line goes in steps through the ratings before each event, as in
    `history.before`, and ends with the rating after the last one. Intervals are those before the next event. With
    hindsight a line goes straight from match to match. Names stand at the ends of lines. If a line has more than 300
    events, all lines go through the ratings at the ends of a hundred steps, or of years, and through the highest one.
    They are then interrupted where the player is absent, as in `careers`. The axis is time or, without times, the
    number of earlier events. Several calls may share axes.

    Args:
      system: a system, such as `glicko()`; or a rated or smoothed history instead of system, history and data.
      history: the history from `jr.history.rating_history(system, data)`, or that of rating periods of these matches.
      data: the `Dataset`, or its matches or rounds.
      players: one or several players, at most eight, with those that axes have already.
      params: hyperparameters of the history, by default `system.params`.
      skip: number of first events of each player to leave out, in which newcomers' ratings jump.
      smooth: the result of `jr.smooth`. Solid lines then show ratings in hindsight. Dashed lines, without intervals,
        show the ratings at the time.
      others: further players, in grey, without names and intervals. If they are more than 200, their median is drawn,
        with bands that hold 50% and 90% of them.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for a player who is unknown, never plays, or has no more than `skip` events, for ratings that are not
        finite, or for a history of other events.
    """
    is_interactive = is_altair_backend(backend, ax)
    before, clock = collect_rating_lines(system, players, history, data, params)
    num_drawn = 0 if ax is None else count_lines(ax, "trajectory")
    check_drawable_count("named players", num_drawn + len(before), 1, MAX_NAMED_LINES)
    after = (
        [] if smooth is None else [line.ratings_after_events() for line in lines_of_rated_history(smooth, players)[0]]
    )
    is_smoothed = isinstance(system, History) and system.hindsight is not None
    rating_system = system.system if isinstance(system, History) else system
    before = [skip_first_events(line, skip) for line in before]
    now = [skip_first_events(line, skip) for line in after] or [
        line.ratings_after_events() if is_smoothed else line for line in before
    ]
    rated_lines = now if is_smoothed or after else [line.ratings_after_events() for line in before]
    early = 0 if is_smoothed or after else max(PEAK_MIN_EVENTS - 1 - skip, 0)
    title = line_end_title(rated_lines, clock, rating_unit(rating_system), early)
    if after:
        title += ", in hindsight"
    event = "contest" if rates_contests(system, data) else "match"
    known = "in hindsight" if is_smoothed or after else f"before each {event}"
    other_lines = collect_rating_lines(system, others, history, data, params)[0] if len(others := list(others)) else []
    shown = {line.name for line in now}
    other_lines = [line for line in other_lines if line.name not in shown]
    ends = [float(times_to_numbers(line.times)[i]) for line in before for i in (0, -1)]
    last = max([max(ends), *(float(times_to_numbers(line.times)[-1]) for line in other_lines)])
    steps = default_steps_of_lines(before, last, max(ends) - min(ends), clock)
    steps = _end_with_history(steps, system)
    thin = partial(last_ratings_of_steps, steps=steps)
    first_rule = f", from the tenth {event} on" if early else ""
    thin_to_peak = partial(thin, peak_min_events=early + 1)
    if is_thinned := max(len(line.times) for line in before) > MAX_EVENTS:
        known = f"{'in hindsight, ' * (is_smoothed or bool(after))}{steps.describe()}{first_rule}"
        before = [thin_to_peak(line) for line in before]
        # lines in hindsight have ratings after events already
        now = [thin_to_peak(line.repeat_first()) for line in now] if is_smoothed or after else before

    def unnamed_chart_line(line: RatingLine) -> ChartLine:  # thinned as those with names are
        one = thin(line) if is_thinned else line
        return ChartLine("", one.times, one.mean)

    unnamed = lines_or_bands(other_lines, unnamed_chart_line, steps)
    is_stepped = not (is_smoothed or after or is_thinned)
    if len(now) > MAX_INTERVALS:
        now = [line._replace(deviation=None) for line in now]
    bands = "" if now[0].deviation is None else ", with 95% intervals"
    dashed = ". Dashed: at the time" if after and is_interactive else ""
    dots = f"{'. Dots mark peaks' if is_thinned else ''}{describe_gaps([*now, *before])}"
    subtitle = f"Ratings by {system_title(rating_system.name)} {known}{bands}{dashed}{dots}{unnamed.description}"
    text = ChartText(title, subtitle, clock, rating_axis_label(rating_system), describe_source(system))
    if is_interactive:
        chart_lines = [*unnamed.lines, *(_chart_line(line) for line in now)]
        then = [_chart_line(line._replace(deviation=None)) for line in before] if after else []
        return line_chart(chart_lines, text, is_stepped=is_stepped, bands=unnamed.bands, lines_then=then)
    ax = make_axes(ax, (8.5, 4.8), title, text.subtitle, source=text.source)
    draw_unnamed_players(ax, unnamed)
    for line, past in zip(now, before, strict=True):
        _draw_rating_line(ax, line, past if after else None, is_stepped=is_stepped)
    ax.set_ylabel(text.y)
    group_thousands(ax, "y")
    label_time_axis(ax, clock)
    ax.margins(x=0.01)
    _label_line_ends(ax)
    return ax


def _end_with_history(steps: TimeSteps, history: Any) -> TimeSteps:
    """Steps of years that end on the day of the history's last event, which the source tells, if that is this year."""
    last = time_span(history)[1] if isinstance(history, History) and steps.years else None
    if last is None:
        return steps
    same_year = steps._replace(last=last)
    return same_year if same_year.numbers(np.array([steps.last]))[0] == 0 else steps


def _chart_line(line: RatingLine) -> ChartLine:
    """A line for an interactive chart, with its interval."""
    half_width = None if line.deviation is None else Z_95 * line.deviation
    return ChartLine(line.name, line.times, line.mean, half_width, peak=line.peak)


def _draw_rating_line(ax: "Axes", line: RatingLine, line_as_known_then: RatingLine | None, is_stepped: bool) -> None:
    """Draw a line in steps that end before each event, or straight; ratings at the time in thin dashes."""
    number = count_lines(ax, "trajectory")
    colour = (*COLOURS, GREY)[number]
    if line_as_known_then is not None:
        ax.plot(
            line_as_known_then.times, line_as_known_then.mean, "--", color=colour, linewidth=0.8,
            drawstyle="steps-pre", gid="then",
        )  # fmt: skip
    draw_style = "steps-pre" if is_stepped else "default"
    ax.plot(line.times, line.mean, color=colour, linewidth=1.5, drawstyle=draw_style, label=line.name, gid="trajectory")
    if line.peak is not None:
        ax.plot(line.times[line.peak], line.mean[line.peak], "o", color=colour, markersize=5, markeredgecolor="white",
                markeredgewidth=0.5, zorder=3.0, gid="peak")  # fmt: skip
    if not is_stepped:
        draw_isolated_points(ax, line.times, line.mean, colour, 1.5)
    if line.deviation is not None:
        half_width = Z_95 * line.deviation
        step_options: Any = {"step": "pre"} if is_stepped else {}
        ax.fill_between(
            line.times, line.mean - half_width, line.mean + half_width, color=colour, linewidth=0, gid="interval",
            **step_options,
        )  # fmt: skip


def _label_line_ends(ax: "Axes") -> None:
    """Label the ends of lines, and tell ratings at the time by a legend; more than two lines have no intervals."""
    lines = [line for line in ax.lines if line.get_gid() == "trajectory"]
    for band in [band for band in ax.collections if band.get_gid() == "interval"]:
        if len(lines) > MAX_INTERVALS:
            band.remove()
        else:
            band.set_alpha(min(0.2, 0.3 / len(lines)))
    label_line_ends(ax, lines)
    if any(line.get_gid() == "then" for line in ax.lines):
        from matplotlib.lines import Line2D

        line_looks: Any = (("--", 0.8, "at the time"), ("-", 1.3, "in hindsight"))
        handles = [Line2D([], [], color=GREY, linestyle=x, linewidth=y, label=name) for x, y, name in line_looks]
        add_legend(ax, handles=handles)


if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL_ROOM = 0.1  # of the range of ratings, above and below them, for labels at peaks


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
    if rated.clock is None:
        raise ValueError("careers need times, and this history has none; `trajectory` counts matches instead")
    is_interactive = is_altair_backend(backend, ax)
    begin, last = time_span(rated)
    if last is None or not (step is None or step > 0):
        raise ValueError(f"step must be above 0, got {step}")
    lines, clock = collect_rating_lines(rated, players)
    check_drawable_count("players", len(lines), 1, len(COLOURS))
    steps = default_steps_of_lines(lines, last, last - begin, clock, step)
    shown = {line.name for line in lines}
    other_lines = [line for line in collect_rating_lines(rated, list(others))[0] if line.name not in shown]
    min_events = PEAK_MIN_EVENTS if rated.hindsight is None else 1
    drawn_lines = []
    for one in lines:
        is_settled = len(one.mean) > min_events
        settled = skip_unsettled_events(one, min_events)
        drawn_lines.append(last_ratings_of_steps(settled, steps, 1 if is_settled else None))

    def unnamed_chart_line(line: RatingLine) -> ChartLine:
        one = last_ratings_of_steps(line, steps)
        return ChartLine("", one.times, one.mean)

    unnamed = lines_or_bands(
        [skip_unsettled_events(line, min_events) for line in other_lines], unnamed_chart_line, steps
    )
    peaks = [RatingLine(x.name, x.times[[x.peak]], x.mean[[x.peak]], None) for x in drawn_lines if x.peak is not None]
    other_peaks = [float(x.mean[point]) for x in other_lines if (point := peak_point(x, min_events)) is not None]
    edges = [times_to_numbers(line.times[[0, -1]]) for line in drawn_lines]
    span = float(max(edge[1] for edge in edges) - min(edge[0] for edge in edges))
    unit, begin_rule, peak_rule = rating_unit(rated.system), "", ""
    if peaks:
        title = peak_title(peaks, len(lines), clock, unit, max(other_peaks, default=-np.inf), span)
        peak_rule = ". Dots mark peaks"
        if rated.hindsight is None:
            begin_rule = f", from the tenth {'match' if rated.contests is None else 'contest'} on"
    else:
        title = line_end_title([line.ratings_after_events() for line in lines], clock, unit, min_events - 1)
    rules = f"{begin_rule}{peak_rule}{describe_gaps(drawn_lines)}{unnamed.description}"
    subtitle = f"Ratings by {system_title(rated.system.name)} {steps.describe()}{rules}"
    text = ChartText(title, subtitle, clock, rating_axis_label(rated.system), describe_source(rated))
    unnamed_times = [*(line.x for line in unnamed.lines), *(band.x for band in unnamed.bands)]
    times = np.concatenate([*edges, *(times_to_numbers(np.asarray(x)) for x in unnamed_times)])
    drawn_end, drawn_span = float(times.max()), float(np.ptp(times))
    chart_lines = []
    for (name, at, mean, _, highest), (_, end) in zip(drawn_lines, edges, strict=True):
        note = ""
        if highest is not None:
            when = format_peak_time(at[highest], span)
            note = f"peak {format_amount(float(mean[highest]), '')} {'in' if clock == 'date' else 'at'} {when}"
        if end > drawn_end - EDGE_SHARE * drawn_span:  # their label stands beside the axes
            if highest == len(mean) - 1:
                note = "the peak"
            is_current = end > last - EDGE_SHARE * span
            note = f"{'' if is_current else 'last '}{format_amount(float(mean[-1]), '')}, {note}".removesuffix(", ")
        chart_lines.append(ChartLine(name, at, mean, peak=highest, note=note))
    if is_interactive:
        return line_chart([*unnamed.lines, *chart_lines], text, bands=unnamed.bands)
    ax = make_axes(ax, (10.0, 5.5), text.title, text.subtitle, source=text.source)
    draw_unnamed_players(ax, unnamed)
    heights = [-np.inf if line.peak is None else float(line.y[line.peak]) for line in chart_lines]
    for line, height, colour in zip(chart_lines, heights, COLOURS, strict=False):
        layer = 2.0 + 0.1 * sum(other < height for other in heights)  # the highest peak is on top
        ax.plot(line.x, line.y, color=colour, linewidth=1.8, label=line.name, gid="career", zorder=layer)
        draw_isolated_points(ax, line.x, line.y, colour, 1.8, layer)
        if line.peak is not None:
            ax.plot(line.x[line.peak], height, "o", color=colour, markersize=5, markeredgecolor="white",
                    markeredgewidth=0.5, zorder=layer + 1.0)  # fmt: skip
    ax.set_ylabel(rating_axis_label(rated.system))
    group_thousands(ax, "y")
    label_time_axis(ax, clock)
    ax.margins(x=0.01, y=LABEL_ROOM)
    drawn, notes = [line for line in ax.lines if line.get_gid() == "career"], [line.note for line in chart_lines]
    label_line_ends(ax, drawn, notes, [line.peak for line in chart_lines])
    return ax
