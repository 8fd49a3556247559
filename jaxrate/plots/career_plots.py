"""A plot of careers: a few players through time in front of others in grey, with the highest rating of each."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.history.history import History
from jaxrate.history.trajectories import PEAK_MIN_EVENTS
from jaxrate.plots.altair_charts import ChartText
from jaxrate.plots.altair_line_charts import ChartLine, line_chart
from jaxrate.plots.finding_titles import format_amount, line_end_title, peak_title
from jaxrate.plots.line_end_labels import EDGE_SHARE, label_line_ends
from jaxrate.plots.plotted_data_and_checks import (
    check_drawable_count,
    describe_source,
    is_altair_backend,
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
    peak_point,
    skip_unsettled_events,
    time_span,
    times_to_numbers,
)
from jaxrate.plots.scoreboard_style import (
    COLOURS,
    draw_isolated_points,
    group_thousands,
    label_time_axis,
    make_axes,
)
from jaxrate.plots.unnamed_players import draw_unnamed_players, lines_or_bands
from jaxrate.systems.system_titles import system_title

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
