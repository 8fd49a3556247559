"""Plots of players through time: ratings with intervals, or a few careers in front of others in grey."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.argument_checks import enforce_argument_annotations
from jaxrate.league.rated_history import Rated
from jaxrate.league.ratings_before_and_after_events import History
from jaxrate.league.trajectories import PEAK_MIN_EVENTS
from jaxrate.plots.altair_charts import ChartBand, ChartLine, ChartText, line_chart
from jaxrate.plots.finding_titles import line_end_title, peak_title
from jaxrate.plots.name_labels import label_line_ends
from jaxrate.plots.plotted_data_and_checks import (
    MAX_NAMED_LINES,
    MAX_SYSTEMS,
    Z_95,
    check_drawable_count,
    count_lines,
    describe_source,
    is_altair_backend,
    rating_axis_label,
    rating_unit,
)
from jaxrate.plots.rating_line_data import (
    YEAR,
    RatingLine,
    collect_rating_lines,
    default_step_length,
    display_times,
    format_peak_time,
    last_ratings_by_step,
    last_ratings_of_steps,
    rating_quantiles_by_step,
    skip_first_events,
    smoothed_rating_lines,
    time_span,
    times_to_numbers,
)
from jaxrate.plots.scoreboard_style import (
    CHARACTER_WIDTH,
    COLOURS,
    GREY,
    LINE_SPACING,
    PALE,
    SMALL_FONT,
    add_legend,
    group_thousands,
    label_time_axis,
    line_style,
    make_axes,
    points_per_pixel,
)
from jaxrate.rules import Params
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.system import RatingSystem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP_QUANTILE = 0.95  # share of the times between events of these players that steps by default are not shorter than
MAX_GREY_LINES = 200  # of careers; of more others, bands are drawn
MAX_EVENTS = 300  # of a line; longer ones are drawn at the ends of steps


@enforce_argument_annotations
def trajectory(
    system: RatingSystem | Rated | Smoothed,
    history: History | None = None,
    data: Any = None,
    players: Any = None,
    *,
    params: Params = None,
    skip: int = 0,
    smooth: Smoothed | None = None,
    others: Iterable[Any] = (),
    ax: "Axes | None" = None,
    backend: str = "matplotlib",
) -> Any:
    """Plot ratings through a history, with 95 % intervals if the system has deviations.

        jr.plots.trajectory(rated, players=["Ada", "Bo"], skip=10)
        jr.plots.trajectory(system, jr.league.rating_history(system, data), data, ["Ada", "Bo"])
        jr.plots.trajectory(rated, players=["Ada", "Bo"], smooth=jr.smooth(system, data))

    A rating holds until the next event, so a line goes in steps of the ratings before each event, as in
    `history.before`, and ends with the rating after the last one; an interval is that before the next event. With
    hindsight a line goes straight from match to match. Up to eight lines have names at their ends, more have a legend.
    If a line has more than 300 events, all go through the ratings at the ends of a hundred steps, or of years. The axis
    is time or, without times, the number of earlier events. Several calls may share axes.

    Args:
      system: a system, such as `glicko()`; or a rated or smoothed history instead of system, history and data.
      history: the history from `jr.league.rating_history(system, data)`, or that of rating periods of these matches.
      data: the `Dataset`, or its matches or rounds.
      players: one or several players, at most 28.
      params: hyperparameters of the history, by default `system.params`.
      skip: number of first events of each player to leave out, in which newcomers' ratings jump.
      smooth: the result of `jr.smooth`. Solid lines then are in hindsight, and dashed lines, without intervals, at the
        time.
      others: further players, in grey, without names and without intervals.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned. It has no dashed lines.

    Raises:
      ValueError: for a player who is unknown, never plays, or has no more than `skip` events, for ratings that are not
        finite, or for a history of other events.
    """
    is_interactive = is_altair_backend(backend, ax)
    before, clock = collect_rating_lines(system, players, history, data, params)
    check_drawable_count("players", len(before), 1, MAX_SYSTEMS)
    after = (
        [] if smooth is None else [line.ratings_after_events() for line in smoothed_rating_lines(smooth, players)[0]]
    )
    is_smoothed = isinstance(system, Smoothed)
    rating_system = system.system if isinstance(system, (Rated, Smoothed)) else system
    before = [skip_first_events(line, skip) for line in before]
    now = [skip_first_events(line, skip) for line in after] or [
        line.ratings_after_events() if is_smoothed else line for line in before
    ]
    title = line_end_title(
        now if is_smoothed or after else [line.ratings_after_events() for line in before], clock,
        rating_unit(rating_system),
    )  # fmt: skip
    grey_lines = collect_rating_lines(system, others, history, data, params)[0] if len(others := list(others)) else []
    known = "in hindsight" if is_smoothed or after else f"before each {'contest' if clock == 'contests' else 'match'}"
    if is_thinned := max(len(line.times) for line in before) > MAX_EVENTS:
        ends = [float(times_to_numbers(line.times)[i]) for line in before for i in (0, -1)]
        step = default_step_length(max(ends) - min(ends), clock == "date")
        thin = partial(last_ratings_of_steps, last_time=max(ends), step_length=step)
        known = f"{'in hindsight, ' * (is_smoothed or bool(after))}at the end of each {_step_name(step, clock)}"
        before, grey_lines = ([thin(line) for line in lines] for lines in (before, grey_lines))
        # lines in hindsight have ratings after events already
        now = [thin(line.repeat_first()) for line in now] if is_smoothed or after else before
    is_stepped = not (is_smoothed or after or is_thinned)
    bands = "" if now[0].deviation is None else "; bands are 95 % intervals"
    text = ChartText(title, f"Ratings by {rating_system.name} {known}{bands}", clock,
                     rating_axis_label(rating_system), describe_source(system))  # fmt: skip
    if is_interactive:
        chart_lines = [_chart_line(line, False) for line in grey_lines] + [_chart_line(line, True) for line in now]
        return line_chart(chart_lines, text, is_stepped=is_stepped)
    ax = make_axes(ax, (8.5, 4.8), title, text.subtitle, source=text.source)
    for line in grey_lines:
        ax.plot(line.times, line.mean, color=PALE, linewidth=0.6, zorder=1, gid="other")
    for line, past in zip(now, before, strict=True):
        _draw_rating_line(ax, line, past if after else None, is_stepped=is_stepped)
    ax.set_ylabel(text.y)
    group_thousands(ax, "y")
    label_time_axis(ax, clock)
    ax.margins(x=0.01)
    _label_line_ends_or_add_legend(ax)
    return ax


def _step_name(length: float, clock: str) -> str:
    """The length of the steps of a long line in words."""
    if clock != "date":
        return f"hundredth of the {'time' if clock == 'time' else clock}"
    years = length / YEAR
    if years < 1.0:
        return f"{max(round(length), 1):,} days" if length >= 1.5 else "day"
    return "year" if years == 1.0 else f"{years:.0f} years"


def _chart_line(line: RatingLine, is_named: bool) -> ChartLine:
    """A line for an interactive chart, with its interval if it is named."""
    half_width = Z_95 * line.deviation if is_named and line.deviation is not None else None
    return ChartLine(line.name, line.times, line.mean, half_width, is_named)


def _draw_rating_line(ax: "Axes", line: RatingLine, line_as_known_then: RatingLine | None, is_stepped: bool) -> None:
    """Draw a line in steps that end before each event, or straight; ratings at the time in thin dashes."""
    number = count_lines(ax, "trajectory")
    colour = GREY if number == len(COLOURS) else COLOURS[number % len(COLOURS)]
    if line_as_known_then is not None:
        ax.plot(
            line_as_known_then.times, line_as_known_then.mean, "--", color=colour, linewidth=0.8,
            drawstyle="steps-pre", gid="then",
        )  # fmt: skip
    draw_style = "steps-pre" if is_stepped else "default"
    ax.plot(line.times, line.mean, color=colour, linewidth=1.5, drawstyle=draw_style, label=line.name, gid="trajectory")
    if line.deviation is not None:
        half_width = Z_95 * line.deviation
        step_options: Any = {"step": "pre"} if is_stepped else {}
        ax.fill_between(
            line.times, line.mean - half_width, line.mean + half_width, color=colour, linewidth=0, gid="interval",
            **step_options,
        )  # fmt: skip


def _label_line_ends_or_add_legend(ax: "Axes") -> None:
    """Label the ends of up to eight lines, or add a legend and line styles; bands become paler with more lines."""
    lines = [line for line in ax.lines if line.get_gid() == "trajectory"]
    has_few_lines = len(lines) <= MAX_NAMED_LINES
    for number, line in enumerate([] if has_few_lines else lines):
        line.set(**line_style(number) | {"color": line.get_color()})
    for band in [band for band in ax.collections if band.get_gid() == "interval"]:
        band.set_alpha(min(0.2, 0.3 / len(lines)))
    label_line_ends(ax, lines if has_few_lines else [])
    if any(line.get_gid() == "then" for line in ax.lines):
        from matplotlib.lines import Line2D

        line_looks: Any = (("--", 0.8, "at the time"), ("-", 1.3, "in hindsight"))
        handles = [Line2D([], [], color=GREY, linestyle=x, linewidth=y, label=name) for x, y, name in line_looks]
        add_legend(ax, handles=[*handles, *([] if has_few_lines else lines)])
    elif not has_few_lines:
        add_legend(ax)


@enforce_argument_annotations
def careers(
    rated: Rated | Smoothed,
    players: Any,
    *,
    others: Iterable[Any] = (),
    step: float | None = None,
    ax: "Axes | None" = None,
    backend: str = "matplotlib",
) -> Any:
    """Plot ratings through a rated history with the players' names; a dot with its time marks the highest rating.

        jr.plots.careers(rated, ["Green Bay Packers", "Chicago Bears"], others=rated.players, step=365.25)

    A line goes through the ratings at the end of each step in which the player took part. It is interrupted where the
    player is absent for longer. The highest rating is one from the tenth event on, as on `jr.leaderboard`, since first
    ratings jump; with hindsight any.

    Args:
      rated: a history from `jr.rate` or `jr.smooth`, with times.
      players: one or several players, at most 7.
      others: further players, in grey and without names; of more than 200 the bands that hold 90 % and 50 % of them.
      step: the length of the steps in days, or in units of time, counted back from the end of the history. None: a
        hundredth of the history, whole years if it is long, and more if these players take part more rarely.
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
    gaps = np.concatenate([np.diff(times_to_numbers(line.times)) for line in lines])
    default = default_step_length(last - begin, clock == "date")
    length = step or max(default, float(np.quantile(gaps, GAP_QUANTILE)), 0.01)
    shown = {line.name for line in lines}
    grey_lines = [line for line in collect_rating_lines(rated, list(others))[0] if line.name not in shown]
    is_banded = len(grey_lines) > MAX_GREY_LINES
    among = f"; {'bands hold 90 % and 50 % of' if is_banded else 'in grey'} {len(grey_lines):,} others"
    ends = "each year" if length == YEAR and clock == "date" else "each step"
    min_events = 1 if isinstance(rated, Smoothed) else PEAK_MIN_EVENTS
    steps, grey_steps = (
        [last_ratings_by_step(line, last, length, min_events) for line in group] for group in (lines, grey_lines)
    )
    highest = [RatingLine(line.name, display_times(line.time, rated)[[line.peak]], line.mean[[line.peak]], None)
               for line in steps]  # fmt: skip
    others_peak = max((float(line.mean[line.peak]) for line in grey_steps), default=-np.inf)
    span = max(line.time[-1] for line in steps) - min(line.time[0] for line in steps)
    title = peak_title(highest, clock, rating_unit(rated.system), others_peak, span)
    subtitle = f"Ratings by {rated.system.name} at the end of {ends}; dots mark the highest{among * bool(grey_lines)}"
    text = ChartText(title, subtitle, clock, rating_axis_label(rated.system), describe_source(rated))
    bands = []
    if is_banded:
        step_ends, quantiles = rating_quantiles_by_step(grey_steps, last, length)
        dates = display_times(np.floor(step_ends) if rated.clock == "dates" else step_ends, rated)
        bands = [ChartBand(dates, quantiles[:, i], quantiles[:, -1 - i]) for i in (0, 1)]
    chart_lines = []
    for group, is_named in (([] if is_banded else grey_steps, False), (steps, True)):
        for name, numbers, mean, peak_point in group:
            at = display_times(numbers, rated)
            peak = (peak_point, format_peak_time(at[peak_point], span)) if is_named else None
            chart_lines.append(ChartLine(name, at, mean, is_named=is_named, peak=peak))
    if is_interactive:
        return line_chart(chart_lines, text, bands=bands)
    ax = make_axes(ax, (10.0, 5.5), text.title, text.subtitle, source=text.source)
    for band in bands:
        ax.fill_between(band.x, band.low, band.high, color=PALE, alpha=0.45, linewidth=0, zorder=1, gid="others")
    peaks: list[tuple[str, Any, float, str]] = []
    colours = iter(COLOURS)
    for line in chart_lines:
        if line.peak is None:
            ax.plot(line.x, line.y, color=PALE, linewidth=0.7, zorder=1, gid="other")
            continue
        colour, (top, peak_time) = next(colours), line.peak
        ax.plot(line.x, line.y, color=colour, linewidth=1.8, label=line.name, gid="career")
        ax.plot(line.x[top], line.y[top], "o", color=colour, markersize=5, markeredgecolor="white")
        peaks.append((peak_time, line.x[top], float(line.y[top]), colour))
    ax.set_ylabel(rating_axis_label(rated.system))
    group_thousands(ax, "y")
    label_time_axis(ax, clock)
    ax.margins(x=0.01)
    _label_peaks(ax, peaks)
    label_line_ends(ax, [line for line in ax.lines if line.get_gid() == "career"])
    return ax


def _label_peaks(ax: "Axes", peaks: list[tuple[str, Any, float, str]]) -> None:
    """Label each peak with its time, above it and above earlier labels."""
    ax.autoscale_view()
    label_positions: list[tuple[float, float]] = []
    for when, at, mean, colour in peaks:
        x, y = points_per_pixel(ax) * ax.transData.transform((ax.convert_xunits(at), mean))
        offset = 4.0
        while any(
            abs(x - other) < CHARACTER_WIDTH * SMALL_FONT * (len(when) + 1)
            and abs(y + offset - height) < SMALL_FONT * LINE_SPACING
            for other, height in label_positions
        ):
            offset += 1.0
        label_positions.append((x, y + offset))
        ax.annotate(
            when, (at, mean), (0, offset), textcoords="offset points", ha="center", color=colour, fontsize=SMALL_FONT
        )
