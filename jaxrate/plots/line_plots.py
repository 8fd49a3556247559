"""Plots of players through time: ratings, careers and ranks.

Long lines are thinned to the ends of steps of time, and interrupted where the player is absent.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.history.event_columns import days_to_dates
from jaxrate.history.history import History, format_time
from jaxrate.history.leaderboards import PEAK_MIN_EVENTS, LeaderboardRules, ranks_over_time
from jaxrate.history.participations import Participations
from jaxrate.plots import plot_style as style
from jaxrate.plots.line_end_labels import EDGE_SHARE
from jaxrate.plots.matplotlib_charts import MAX_INTERVALS, show
from jaxrate.plots.plot_style import COLOURS, Backend, Canvas, is_isolated, player_labels_by_id
from jaxrate.systems.system_titles import system_title
from jaxrate.views import charts
from jaxrate.views.charts import YEAR, Line, LineView, PictureText, UnnamedPlayers, duration_of_lines, format_peak_time
from jaxrate.views.findings import Finding, find_end_or_peak, find_most_firsts
from jaxrate.views.wording import format_with_unit, rating_unit, spell_dates, spell_day

MAX_EVENTS = 300  # of a line; longer ones are drawn at the ends of steps
NEVER = 1 << 62  # early events that are no peaks, of lines without one


@enforce_argument_annotations
def trajectory(
    rated: History,
    players: Any,
    *,
    skip: int = 0,
    smooth: History | None = None,
    others: Iterable[Any] = (),
    **canvas: Unpack[Canvas],
) -> Any:
    """Plot ratings through a history; of one or two players with 95% intervals if the system has deviations.

        jr.plots.trajectory(rated, ["Ada", "Bo"], skip=10)
        jr.plots.trajectory(rated, ["Ada", "Bo"], smooth=jr.smooth(system, data))

    A rating holds until the next event. So a line begins with the rating before the first event, and goes in steps
    through the ratings after each event. Intervals are those before the next event. With hindsight a line goes straight
    from match to match. Names stand at the ends of lines. If a line has more than 300 events, all lines go through the
    ratings at the ends of a hundred steps, or of years, and through the highest one. They are then interrupted where
    the player is absent, as in `careers`. The axis is time or, without times, the number of events. Several calls may
    share axes; without axes, five players or more have a panel each.

    Args:
      rated: a history, such as `jr.rate` and `jr.smooth` return.
      players: one or several players, at most eight, with those that axes have already.
      skip: number of first events of each player to leave out, in which newcomers' ratings jump.
      smooth: the result of `jr.smooth`. Solid lines then show ratings in hindsight. Dashed lines, without intervals,
        show the ratings at the time.
      others: further players, in grey, without names and intervals. If they are more than 50, their median is drawn,
        with bands that hold 50% and 90% of them.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for a player who is unknown, never plays, or has no more than `skip` events, or for ratings that are
        not finite.
    """
    shown = rated if smooth is None else smooth
    lines = rating_lines(shown, players, skip)
    num_named = style.count_lines(canvas.get("ax"), "line") + len(lines)
    style.check_drawable_count("named players", num_named, 1, style.MAX_NAMED_LINES)
    is_thinned = max(len(line.x) for line in lines) > MAX_EVENTS
    is_stepped = not is_thinned and shown.hindsight is None
    then = [] if smooth is None else rating_lines(rated, players, skip, begins_before=not is_thinned)
    grey_lines = other_rating_lines(rated, others, lines)
    steps = steps_of_lines(rated, lines, grey_lines, duration_of_lines(lines))
    num_early = max(PEAK_MIN_EVENTS - 1 - skip, 0) if shown.hindsight is None else 0
    title: Finding | str = _leader_or_peak_finding(rated, lines, num_early, grey_lines)
    title = f"{title}, in hindsight" if then else title
    known = [f"after each {event_noun(rated)}"] if is_stepped else ["in hindsight"] * (shown.hindsight is not None)
    if is_stepped:
        lines = rating_lines(shown, players, skip, begins_before=True)
    if is_thinned:
        known.append(f"{steps.description}{describe_begin(rated, num_early)}")
        lines, then = (downsample_lines(x, steps, num_early) for x in (lines, then))
        grey_lines = downsample_lines(grey_lines, steps)
    then = charts.without_deviations(then)
    if len(lines) > MAX_INTERVALS:
        lines = charts.without_deviations(lines)
    bands = ", with 95% intervals" * bool(np.any(lines[0].deviation))
    dashed = ". Dashed: at the time" * bool(then)
    rules = f"{', '.join(known)}{bands}{dashed}{'. Dots mark peaks' * is_thinned}{describe_gaps([*lines, *then])}"
    unnamed = unnamed_players(grey_lines, steps)
    text = _rating_picture_text(rated, title, rules, unnamed)
    return show(LineView(text, lines, unnamed, then, is_stepped), **canvas)


@enforce_argument_annotations
def careers(
    rated: History, players: Any, *, others: Iterable[Any] = (), step: float | None = None, **canvas: Unpack[Canvas]
) -> Any:
    """Plot ratings through a rated history with the players' names; a dot marks the highest rating, told by the name.

        jr.plots.careers(rated, ["Green Bay Packers", "Chicago Bears"], others=rated.players, step=365.25)

    A line goes through the ratings at the end of each step in which the player took part, and through the highest one.
    The line is interrupted where the player is absent: for longer than a step and for more than twice the usual
    off-season, or, without dates, three times the usual pause. It begins with the tenth event, since first ratings
    jump, and so does the highest rating, as in `jr.leaderboard`; players with fewer events have no highest rating. With
    hindsight the line begins with the first event. Without axes, five players or more have a panel each.

    Args:
      rated: a history from `jr.rate` or `jr.smooth`, with times.
      players: one or several players, at most 7.
      others: further players, in grey and without names. If they are more than 50, their median is drawn, with bands
        that hold 50% and 90% of them.
      step: the length of the steps in days, or in units of time, counted back from the end of the history. Steps of
        365.25 days, or a multiple, are calendar years. None: a hundredth of the history, or calendar years if it is
        long; longer if these players take part more rarely.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for players who are unknown, never play or are named twice, for a history without times, for a step
        that is not above 0, or for ratings that are not finite.
    """
    if rated.clock is None or rated.last is None:
        raise ValueError("careers need times, and this history has none; `trajectory` counts matches instead")
    style.check_step(step)
    whole = rating_lines(rated, players)
    style.check_drawable_count("players", len(whole), 1, len(COLOURS))
    grey = other_rating_lines(rated, others, whole)
    steps = steps_of_lines(rated, whole, grey, rated.last - float(rated.events["time"][0]), step)
    num_early = PEAK_MIN_EVENTS - 1 if rated.hindsight is None else 0
    thinned = downsample_lines(charts.without_deviations(drop_early_events(whole, num_early)), steps, 0)
    has_peak = [len(line.y) > num_early for line in whole]  # all is drawn of who has no peak, without a dot
    lines = [line._replace(peaks=line.peaks[:one]) for line, one in zip(thinned, has_peak, strict=True)]
    unnamed = unnamed_players(downsample_lines(drop_early_events(grey, num_early), steps), steps)
    title = _leader_or_peak_finding(rated, whole, num_early, grey, prefers_peaks=True)
    rules = steps.description
    if any(has_peak):
        rules += f"{describe_begin(rated, num_early)}. Dots mark peaks"
    text = _rating_picture_text(rated, title, rules + describe_gaps(lines), unnamed)
    notes = _career_notes(lines, unnamed, rated.last, time_axis_label(rated))
    lines = [line._replace(note=note) for line, note in zip(lines, notes, strict=True)]
    return show(LineView(text, lines, unnamed, size=(10.0, 5.5)), **canvas)


def _leader_or_peak_finding(
    rated: History, lines: Sequence[Line], num_early: int, grey: Sequence[Line], prefers_peaks: bool = False
) -> Finding:
    """The finding of lines; those who are not drawn may have peaked higher."""
    peaks = [float(line.y[num_early:].max(initial=-np.inf)) for line in grey]
    are_all = len(lines) + len(grey) >= np.count_nonzero(rated.games)
    others_peak = max(peaks, default=-np.inf) if are_all else np.inf
    clock, unit = time_axis_label(rated), rating_unit(rated.system)
    return find_end_or_peak(lines, clock, unit, num_early, others_peak=others_peak, prefers_peaks=prefers_peaks)


def _rating_picture_text(rated: History, title: Finding | str, rules: str, unnamed: UnnamedPlayers) -> PictureText:
    subtitle = f"Ratings by {system_title(rated.system.name)} {rules}{unnamed.description}"
    return PictureText(
        title, subtitle, time_axis_label(rated), style.rating_axis_label(rated.system), style.describe_source(rated)
    )


def _career_notes(lines: Sequence[Line], unnamed: UnnamedPlayers, last: float, clock: str) -> list[str]:
    """What stands below the name of each line: the highest rating, and the last one if the label is beside the axes."""
    span, drawn_span = duration_of_lines(lines), duration_of_lines([*lines, *unnamed.lines])
    ends = [float(line.x_numbers()[-1]) for line in [*lines, *unnamed.lines]]
    notes = []
    for line, end in zip(lines, ends, strict=False):
        is_beside, is_current = end > max(ends) - EDGE_SHARE * drawn_span, end > last - EDGE_SHARE * span
        parts = [f"{'' if is_current else 'last '}{format_with_unit(float(line.y[-1]), '')}"] * is_beside
        for peak in line.peaks:
            amount, when = format_with_unit(float(line.y[peak]), ""), format_peak_time(line.x[peak], span)
            is_last = is_beside and peak == len(line.y) - 1
            parts.append("the peak" if is_last else f"peak {amount} {'in' if clock == 'date' else 'at'} {when}")
        notes.append(", ".join(parts))
    return notes


@enforce_argument_annotations
def ranks(
    rated: History,
    players: Any,
    *,
    step: float | None = None,
    others: Iterable[Any] = (),
    ax: Any = None,
    backend: Backend = "matplotlib",
    **rules: Unpack[LeaderboardRules],
) -> Any:
    """Plot ranks through a history; the scale is logarithmic, the best on top. Three players or more have a panel each.

        jr.plots.ranks(rated, ["Ada", "Bo"], min_games=10)

    A rank is that on `jr.leaderboard(rated, as_of=...)` at the end of each step, on all dates by the rule of the last
    one. The plot begins when half of those who play are listed, or half as many as usual. Without `min_games` a
    player's ranks begin with the tenth event, since first ratings jump; with hindsight with the first. A line is
    interrupted while the player is not listed, for example because they have not played for long. A note says how often
    each was first, or their best rank; the others stand in grey in each panel.

    Args:
      rated: a history from `jr.rate` or `jr.smooth`, with times.
      players: one or several players, at most eight.
      step: the length of the steps in days, or in units of time, counted back from the end of the history; those of
        365.25 days, or a multiple, are calendar years, of which one that is not over yet is drawn, but not counted.
        None: a hundredth of the time since the first match of these players, or calendar years if it is long.
      active, min_games, cautious: who is ranked, and how, as in `jr.leaderboard`.
      others: further players, in grey and without names; of more than 50 the median, and bands of 50% and 90% of
        them.
      ax: axes to draw into. None: those of a new figure.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for players who are unknown, or not listed since the plot begins, for a history without times, for a
        step that is not above 0, or as for `jr.leaderboard`.
    """
    rated.check_has_events()
    rows, names = rated.rows.once_per_event(), rated.players
    labels = player_labels_by_id(players, names)
    style.check_drawable_count("players", len(labels), 1, style.MAX_NAMED_LINES)
    if rated.clock is None or np.isnan(rows.time).any():
        raise ValueError("ranks through time need times, and this history has none, or not for all events")
    style.check_step(step)
    times = rows.time[np.isin(rows.player, [*labels])]
    if not len(times):
        raise ValueError(f"none of {', '.join(labels.values())} has played")
    begin, last, is_dated = float(times.min()), float(rows.time.max()), rated.clock == "dates"
    steps = make_time_steps(begin, last, step or default_step_length(max(last - begin, 1.0), is_dated), is_dated)
    moments, table, begins_late = _rank_table(rated, steps.end, labels, rules)
    count = len(moments)
    count -= steps.is_cut and count > 1  # a year that goes on counts for nobody
    at = days_to_dates(np.floor(moments)) if is_dated else moments
    lines = [_rank_line(name, at, table[:, i], count) for i, name in labels.items()]
    grey = np.setdiff1d([*player_labels_by_id(list(others), names)], [*labels]).astype(int)
    unnamed = _rank_lines_of_unnamed_players(at, table[:, grey].T)
    until = f", back from {spell_dates(format_time(last, rated.clock))}" * (not steps.years)
    since = describe_begin(rated, begins_late)
    text = PictureText(
        find_most_firsts(table[:count], labels, steps.years == 1),
        f"Ranks by {system_title(rated.system.name)} {steps.description}{until}{since}{unnamed.description}",
        time_axis_label(rated), "rank", style.describe_source(rated),
    )  # fmt: skip
    return show(LineView(text, lines, unnamed, is_rank=True), ax=ax, backend=backend)


def _rank_table(
    rated: History, moments: HostArray, labels: Mapping[int, str], rules: LeaderboardRules
) -> tuple[HostArray, HostArray, bool]:
    """Ranks [m, N] of all players, NaN where they are not listed, behind their moments [m].

    They begin when half of those who play are listed, or half as many as usual. Without `min_games` ranks before a
    player's tenth event are left out, but for who has fewer events at the end; the last value says whether some of
    those with names are.
    """
    ranks = ranks_over_time(rated, moments, **rules)
    is_early = np.zeros(ranks.shape, bool)
    if rules.get("min_games") is None and rated.hindsight is None:
        is_early = _count_events(rated.rows.once_per_event(), moments, ranks.shape[1]) < PEAK_MIN_EVENTS
        is_early &= ~is_early[-1]
    ranks, begin = np.where(is_early, np.nan, ranks), 0
    if rules.get("min_games") != 0:
        of_any_games: LeaderboardRules = {**rules, "min_games": 0}
        everybody = ranks_over_time(rated, moments, **of_any_games)
        listed, playing = (np.sum(~np.isnan(x), axis=1) for x in (ranks, everybody))
        begin = int(np.argmax((listed > 0) & ((2 * listed >= playing) | (2 * listed >= np.median(listed)))))
    return moments[begin:], ranks[begin:], bool(is_early[begin:, [*labels]].any())


def _count_events(rows: Participations, moments: HostArray, num_players: int) -> HostArray:
    """[m, N] how many events each player has had at each of these moments."""
    moment = np.searchsorted(moments, rows.end)
    count = np.bincount(moment * num_players + rows.player, minlength=(len(moments) + 1) * num_players)
    return count.reshape(len(moments) + 1, num_players)[:-1].cumsum(axis=0)


def _rank_line(name: str, at: HostArray, rank: HostArray, num_counted: int) -> Line:
    """The line of ranks [m], NaN where the player is not listed; its note: how often first, or the best rank."""
    listed = np.flatnonzero(~np.isnan(rank))
    check_that(len(listed), f"{name} is never listed while half of the others are; see active and min_games")
    firsts = int((rank[:num_counted] == 1).sum())
    times = {1: "once", 2: "twice"}.get(firsts, f"{firsts:,} times")
    often = f"first {times}" if firsts else f"best {int(np.nanmin(rank)):,}"
    note = often if np.isnan(rank[-1]) else f"{often}, now {int(rank[-1]):,}"
    drawn = slice(listed[0], listed[-1] + 1)
    return Line(name, at[drawn], rank[drawn], note=note)


def _rank_lines_of_unnamed_players(at: HostArray, ranks: HostArray) -> UnnamedPlayers:
    """The lines of ranks [n, m], or of very many their bands."""
    if len(ranks) > charts.MAX_GREY_LINES:
        return charts.quantile_bands(at, ranks)
    seen = np.where(is_isolated(ranks), np.nan, ranks)  # a line through one point is invisible
    return charts.unnamed_lines(Line("", at, rank) for rank in seen)


# Lines of ratings through a history, and steps of time, at whose ends they have points.

STEPS = 100  # of a history, where a picture has no room for every event
MIN_YEARS = 20  # of a history from which on steps are years
MIN_STEP = 0.01
GAP_QUANTILE = 0.95  # share of the times between events of players that steps by default are not shorter than
DAYS_OF_DECEMBER = 31
MIDNIGHT = 1e-6  # days before the next day, so that the events of a year's last day belong to it
ABSENCE_RATIO = 2.0  # of a pause to the usual longest one of a year, from which on it is an absence
UNDATED_ABSENCE_RATIO = 3.0  # the same without dates, of a pause to the length that few exceed


class TimeSteps(NamedTuple):
    """Steps counted back from the last event; those of whole years with dates end with calendar years."""

    end: HostArray  # [s] of each; the last is the time of the last event
    years: int  # calendar years in a step; 0 of other steps
    is_cut: bool  # whether the last calendar year goes on after the last event: until December
    description: str  # when a line has points
    least_absence: float = 0.0  # shorter pauses do not interrupt lines

    def numbers(self, times: HostArray) -> HostArray:
        """The step of each time, from 0."""
        return np.searchsorted(self.end, times)


def make_time_steps(first: float, last: float, length: float, is_dated: bool, least_absence: float = 0.0) -> TimeSteps:
    """Steps of this length from that of the first event to the last one."""
    if not (is_dated and length % YEAR == 0.0):
        end = last - length * np.arange(int((last - first) // length), -1, -1)
        days = f"every {max(round(length), 1):,} days" if length >= 1.5 else "every day"
        description = days if is_dated else f"every {length:,.3g} units of time"
        return TimeSteps(end, 0, False, description, least_absence)
    years, (begin, year) = round(length / YEAR), _years(np.array([first, last])).tolist()
    next_year = np.arange(year - years * ((year - begin) // years), year + 1, years) + 1
    next_days = (next_year - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(float)
    is_cut = bool(last < next_days[-1] - DAYS_OF_DECEMBER)
    every = "each year" if years == 1 else f"every {years} years"
    description = f"at the end of {every}{f' and on {spell_day(last)}' * is_cut}"
    return TimeSteps(np.minimum(next_days - MIDNIGHT, last), years, is_cut, description, least_absence)


def default_step_length(span: float, is_dated: bool) -> float:
    """The length of a hundredth of a history; of a long one with dates that of years, so that seasons stay whole."""
    if is_dated and span >= MIN_YEARS * YEAR:
        return YEAR * max(1, round(span / YEAR / STEPS))
    return span / STEPS


def steps_of_lines(
    history: History, lines: Sequence[Line], others: Sequence[Line], span: float, length: float | None = None
) -> TimeSteps:
    """Steps for lines in a history of this span, back from its end; longer by default if players play rarely.

    Who pauses for little longer than usual in an off-season is not absent.
    """
    last = history.last if history.last is not None else max(float(line.x[-1]) for line in [*lines, *others])
    event_times, is_dated = [line.x_numbers() for line in lines], history.clock == "dates"
    gaps = np.concatenate([np.diff(times) for times in event_times])
    usual = float(np.quantile(gaps, GAP_QUANTILE)) if len(gaps) else 0.0
    if length is None:
        length = default_step_length(span, is_dated)
        length = max(length, MIN_STEP, YEAR * -(-usual // YEAR) if length % YEAR == 0.0 and is_dated else usual)
    absence = ABSENCE_RATIO * _usual_off_season(event_times) if is_dated else UNDATED_ABSENCE_RATIO * usual
    first = min(float(line.x_numbers()[0]) for line in [*lines, *others])
    return make_time_steps(first, last, length, is_dated, absence)


def _usual_off_season(event_times: Sequence[HostArray]) -> float:
    """The median of the longest pauses, in days, of all players in each calendar year in which they take part."""
    longest: list[float] = []
    for times in event_times:
        year, first = np.unique(_years(times[:-1]), return_index=True)
        longest += np.maximum.reduceat(np.diff(times), first).tolist() if len(year) else []
    return float(np.median(longest)) if longest else 0.0


def _years(times: HostArray) -> HostArray:
    """The calendar years of days since 1970-01-01."""
    return days_to_dates(np.floor(times)).astype("datetime64[Y]").astype(int) + 1970


def rating_lines(history: History, players: Any, skip: int = 0, *, begins_before: bool = False) -> list[Line]:
    """The lines of these players, with a point after each event but the first `skip` ones.

    Without times, the axis counts a player's own events. A line that `begins_before` has one more point, the rating
    before its first event, at the time of the last one that is left out, or else of the first.
    """
    history.check_has_events()
    rows = history.rows.once_per_event()
    labels = player_labels_by_id(players, history.players)
    lines = [_rating_line(history, rows, player, name) for player, name in labels.items()]
    for line in lines:
        count = len(line.x) - 1
        if not 0 <= skip < count:
            raise ValueError(f"skip must be from 0 to {count - 1}, as {line.name} has {count:,} events, got {skip}")
    return [line.select(slice(skip + (not begins_before), None)) for line in lines]


def _rating_line(history: History, rows: Participations, player: int, name: str) -> Line:
    """The line of a player, which begins before the first event."""
    begin, end = rows.start[player : player + 2]
    check_that(begin != end, f"{name} plays in none of these events")
    first = rows.after if rows.before.mean is None else rows.before
    both = [(x, left) for x, left in zip(first, rows.after, strict=True) if x is not None and left is not None]
    ratings = np.array([np.append(x[begin], left[begin:end]) for x, left in both])  # means, and deviations if any
    style.check_ratings_finite(name, ratings)
    time = np.append(rows.time[begin], rows.time[begin:end])
    return Line(name, np.arange(len(time)) if history.clock is None else history.display_times(time), *ratings)


def other_rating_lines(history: History, others: Iterable[Any], named: Sequence[Line]) -> list[Line]:
    """The lines of these players, without those who have names."""
    names = {line.name for line in named}
    return [line for line in rating_lines(history, list(others)) if line.name not in names]


def time_axis_label(history: History) -> str:
    """What the lines of a history go by: "date", "time", or the number of a player's events."""
    numbers = "matches played" if history.nouns == "matches" else "contests"
    return {"dates": "date", "numbers": "time", None: numbers}[history.clock]


def event_noun(history: History) -> str:
    """What one event is called."""
    return {"matches": "match", "contests": "contest"}[history.nouns]


def describe_begin(history: History, num_early: int) -> str:
    """A part of a subtitle: from when on there are ratings, if early ones are left out."""
    return f", from the tenth {event_noun(history)} on" * bool(num_early)


def drop_early_events(lines: Sequence[Line], num_early: int) -> list[Line]:
    """Lines without the points of so many early events, where others follow."""
    return [line.select(slice(num_early if len(line.x) > num_early else 0, None)) for line in lines]


def downsample_lines(lines: Sequence[Line], steps: TimeSteps, num_early: int = NEVER) -> list[Line]:
    """The ratings after the last event in each step, and the first peak after `num_early` events; NaN while absent."""
    return [_downsample_line(line, steps, num_early) for line in lines]


def _downsample_line(line: Line, steps: TimeSteps, num_early: int) -> Line:
    at = line.x_numbers()
    step = steps.numbers(at)
    points = np.flatnonzero(np.append(step[1:] != step[:-1], True))
    late = line.y[num_early:]
    highest = num_early + np.flatnonzero(late == late.max(initial=-np.inf))[:1]
    points = np.union1d(points, highest)
    pause = at[np.minimum(points[:-1] + 1, len(at) - 1)] - at[points[:-1]]
    gaps = np.flatnonzero((np.diff(step[points]) > 1) & (pause > steps.least_absence)) + 1
    thinned = line.select(np.insert(points, gaps, points[gaps]))
    thinned.y[gaps + np.arange(len(gaps))] = np.nan
    peaks = np.searchsorted(points, highest)
    return thinned._replace(peaks=[int(peak + (gaps <= peak).sum()) for peak in peaks])


def describe_gaps(lines: Sequence[Line]) -> str:
    """The end of a subtitle: why lines are interrupted, if one is."""
    return ". Lines break where somebody did not play for long" * any(np.isnan(line.y).any() for line in lines)


def unnamed_players(lines: Sequence[Line], steps: TimeSteps) -> UnnamedPlayers:
    """The line of each player, or of very many the bands of their ratings at the ends of steps."""
    if len(lines) <= charts.MAX_GREY_LINES:
        return charts.unnamed_lines(lines)
    values = np.full((len(lines), len(steps.end)), np.nan)
    for row, line in zip(values, lines, strict=True):
        is_known = ~np.isnan(line.y)
        row[steps.numbers(line.x_numbers()[is_known])] = line.y[is_known]  # of several, the last stays
    at = np.floor(steps.end).astype("datetime64[D]") if lines[0].is_dated else steps.end
    return charts.quantile_bands(at, values)
