"""A plot of ranks through time: lines with names, or of several players a panel for each."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.history.event_columns import days_to_dates
from jaxrate.history.history import History, format_time
from jaxrate.history.leaderboards import ranks_over_time as ranks_of
from jaxrate.history.trajectories import PEAK_MIN_EVENTS, Trajectories, build_trajectories
from jaxrate.plots.altair_charts import ChartLine, ChartText, line_chart, rank_panels_chart
from jaxrate.plots.finding_titles import ranks_title
from jaxrate.plots.line_end_labels import label_line_ends
from jaxrate.plots.name_labels import fit_names, player_labels_by_id, text_width
from jaxrate.plots.plotted_data_and_checks import (
    MAX_NAMED_LINES,
    check_drawable_count,
    describe_source,
    is_altair_backend,
)
from jaxrate.plots.rank_axis import MIN_TICK_DISTANCE, PANEL_TICK_DISTANCE, count_panel_columns, rank_range, rank_ticks
from jaxrate.plots.scoreboard_style import (
    COLOURS,
    GREY,
    PALE,
    SMALL_FONT,
    TEXT_COLOURS,
    add_halo,
    draw_isolated_points,
    is_isolated,
    label_time_axis,
    make_axes,
    points_per_pixel,
    style_axes,
)
from jaxrate.plots.time_steps import TimeSteps, abbreviate_dates, default_step_length
from jaxrate.plots.unnamed_players import (
    MAX_GREY_LINES,
    UnnamedPlayers,
    draw_unnamed_players,
    quantile_bands,
    unnamed_player_lines,
)
from jaxrate.systems.system_titles import system_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_PANELS = 3  # players from whom on each has a panel: more lines in one picture hide each other
RANK_WIDTH = 1.5  # points of a line
END_DOT_SIZE = 6.0
PANEL_HEIGHTS = {1: 1.25, 2: 1.5}  # inches of a panel and its heading, by the number of columns
PANEL_SHARE = 0.92, 0.75  # of the width and the height of a panel and the room about it, at most
TICK_ROOM = 14.0  # points beside the labels of ranks, between two panels


@enforce_argument_annotations
def ranks(
    rated: History,
    players: Any,
    *,
    step: float | None = None,
    active: Any = None,
    min_games: int | None = None,
    cautious: float = 0.0,
    others: Iterable[Any] = (),
    ax: "Axes | None" = None,
    backend: str = "matplotlib",
) -> Any:
    """Plot ranks through a history; the scale is logarithmic, the best on top. Three players or more have a panel each.

        jr.plots.ranks(rated, ["Ada", "Bo"], min_games=10)

    A rank is that on `jr.leaderboard(rated, as_of=...)` at the end of each step, on all dates by the rule of the last
    one. The plot begins when half of those who play are listed, or half as many as usual. Without `min_games` it begins
    when half of those listed have played ten times, and a line with the player's tenth event, since first ratings jump;
    with hindsight with the first. A line is interrupted while the player is not listed, for example because they have
    not played for long. A note says how often each was first, or their best rank; the others stand in grey in each
    panel.

    Args:
      rated: a history from `jr.rate` or `jr.smooth`, with times.
      players: one or several players, at most eight.
      step: the length of the steps in days, or in units of time, counted back from the end of the history; those of
        365.25 days, or a multiple, are calendar years, of which one that is not over yet is drawn, but not counted.
        None: a hundredth of the time since the first match of these players, or calendar years if it is long.
      active, min_games, cautious: who is ranked, and how, as in `jr.leaderboard`.
      others: further players, in grey and without names; of more than 200 the median, and bands of 50% and 90% of
        them.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for players who are unknown, or not listed since the plot begins, for a history without times, for a
        step that is not above 0, or as for `jr.leaderboard`.
    """
    is_interactive = is_altair_backend(backend, ax)
    trajectories, names = build_trajectories(rated), rated.players
    labels = player_labels_by_id(players, names, len(trajectories.start) - 1)
    check_drawable_count("players", len(labels), 1, MAX_NAMED_LINES)
    if rated.clock is None or not trajectories.has_all_times:
        raise ValueError("ranks through time need times, and this history has none, or not for all events")
    times = np.concatenate([trajectories.time[trajectories.start[i] + 1 : trajectories.start[i + 1]] for i in labels])
    if not len(times):
        raise ValueError(f"none of {', '.join(labels.values())} has played")
    if step is not None and not step > 0:
        raise ValueError(f"step must be above 0, got {step}")
    last = float(np.nanmax(trajectories.time))
    length = step or default_step_length(max(last - times.min(), 1.0), rated.clock == "dates")
    steps = TimeSteps(last, length, rated.clock == "dates")
    moments = steps.ends(float(times.min()))
    grey_ids = [i for i in player_labels_by_id(list(others), names, len(trajectories.start) - 1) if i not in labels]
    everybody = range(len(trajectories.start) - 1)
    all_ranks = ranks_of(rated, everybody, moments, active=active, min_games=min_games, cautious=cautious)
    tenth = ""
    if min_games is None and rated.hindsight is None:
        is_settled = _have_played_enough(trajectories, moments)
        listed = np.sum(~np.isnan(all_ranks), axis=1)
        settled = np.sum(~np.isnan(all_ranks) & is_settled, axis=1)
        begin = int(np.argmax((settled > 0) & (2 * settled >= listed)))
        is_settled |= ~is_settled[-1]  # whoever has fewer events has no settled ratings to wait for
        if not is_settled[begin:][:, [*labels]].all():
            tenth = f", from the tenth {'match' if rated.contests is None else 'contest'} on"
        moments, all_ranks = moments[begin:], np.where(is_settled, all_ranks, np.nan)[begin:]
    if min_games is None or min_games:
        played = ranks_of(rated, everybody, moments, active=active, min_games=0, cautious=cautious)
        listed, playing = (np.sum(~np.isnan(x), axis=1) for x in (all_ranks, played))
        begin = int(np.argmax((listed > 0) & ((2 * listed >= playing) | (2 * listed >= np.median(listed)))))
        for i, name in labels.items():
            if not np.isnan(all_ranks[:begin, i]).all() and np.isnan(all_ranks[begin:, i]).all():
                when = format_time(float(moments[begin]), rated.clock)
                raise ValueError(f"{name} is only listed before {when}, when few are; min_games=0 lists more")
        moments, all_ranks = moments[begin:], all_ranks[begin:]
    rank_table = all_ranks[:, [*labels, *grey_ids]].T
    num_counted = len(moments) - (steps.is_cut and len(moments) > 1)  # a year that is not over yet counts for nobody
    at, clock = moments, "time"
    if rated.clock == "dates":
        at, clock = days_to_dates(np.floor(moments)), "date"
    other_ranks = rank_table[len(labels) :]
    if len(other_ranks) > MAX_GREY_LINES:
        unnamed = quantile_bands(at, other_ranks, len(other_ranks))
    else:
        seen = np.where(is_isolated(other_ranks), np.nan, other_ranks)  # a line through one point is invisible
        unnamed = unnamed_player_lines(ChartLine("", at, rank) for rank in seen)
    lines = []
    for name, rank in zip(labels.values(), rank_table, strict=False):
        listed = np.flatnonzero(~np.isnan(rank))
        if not len(listed):
            raise ValueError(f"{name} is never listed; see active and min_games")
        drawn_points = slice(listed[0], listed[-1] + 1)
        lines.append(ChartLine(name, at[drawn_points], rank[drawn_points], note=_describe_ranks(rank, num_counted)))
    ranks_by_name = {name: rank[:num_counted] for name, rank in zip(labels.values(), rank_table, strict=False)}
    others_ranks = np.delete(all_ranks[:num_counted], [*labels], axis=1)
    others_firsts = int((others_ranks == 1).sum(axis=0).max(initial=0))
    until = "" if steps.years else f", back from {abbreviate_dates(format_time(last, rated.clock))}"
    text = ChartText(
        ranks_title(ranks_by_name, num_counted, others_firsts, steps.years == 1),
        f"Ranks by {system_title(rated.system.name)} {steps.describe()}{until}{tenth}{unnamed.description}",
        clock, "rank", describe_source(rated),
    )  # fmt: skip
    if len(lines) < MIN_PANELS:
        if is_interactive:
            return line_chart([*unnamed.lines, *lines], text, bands=unnamed.bands, is_rank=True)
        ax = make_axes(ax, (8.5, 4.8), text.title, text.subtitle, source=text.source)
        _draw_ranks(ax, lines, unnamed, clock)
        notes = [line.note for line in lines]
        label_line_ends(ax, [line for line in ax.lines if line.get_gid() == "rank"], notes)
        return ax
    if is_interactive:
        return rank_panels_chart([*unnamed.lines, *lines], text, unnamed.bands)
    num_columns = count_panel_columns(len(lines))
    size = 8.5, 1.0 + PANEL_HEIGHTS[num_columns] * (len(lines) // num_columns)
    ax = make_axes(ax, size, text.title, text.subtitle, source=text.source)
    _draw_panels(ax, lines, unnamed, clock)
    return ax


def _have_played_enough(trajectories: Trajectories, moments: HostArray) -> HostArray:
    """[m, N] whether each player has had ten events at these moments, so that their rating does not jump any more."""
    points = np.stack([*trajectories.iterate_points_at(moments)])
    return np.asarray(points - trajectories.start[:-1] >= PEAK_MIN_EVENTS)


def _describe_ranks(rank: HostArray, num_counted: int) -> str:
    """How often a player was first, or their best rank, and the last one; of ranks [m], NaN where they have none.

    Only the first `num_counted` count.
    """
    firsts, best = int((rank[:num_counted] == 1).sum()), int(np.nanmin(rank))
    times = {1: "once", 2: "twice"}.get(firsts, f"{firsts:,} times")
    often = f"first {times}" if firsts else f"best {best:,}"
    return often if np.isnan(rank[-1]) else f"{often}, now {int(rank[-1]):,}"


def _draw_ranks(ax: "Axes", lines: Sequence[ChartLine], unnamed: UnnamedPlayers, clock: str) -> None:
    """Draw the ranks of players; dots show the last rank, and small ones those between times without a rank."""
    draw_unnamed_players(ax, unnamed)
    for line, colour in zip(lines, (*COLOURS, GREY), strict=False):
        _draw_rank_line(ax, line, colour)
    ax.set_yscale("log")
    _set_rank_axis(ax)
    label_time_axis(ax, clock)
    ax.margins(x=0.01)


def _draw_rank_line(ax: "Axes", line: ChartLine, colour: str) -> None:
    (drawn,) = ax.plot(
        line.x, line.y, color=colour, linewidth=RANK_WIDTH, label=line.name, gid="rank",
        marker="o", markersize=END_DOT_SIZE, markevery=[len(line.y) - 1], solid_capstyle="round",
    )  # fmt: skip
    add_halo(drawn)
    draw_isolated_points(ax, line.x, line.y, colour, RANK_WIDTH)


def _draw_panels(ax: "Axes", lines: Sequence[ChartLine], unnamed: UnnamedPlayers, clock: str) -> None:
    """Draw each player into axes of their own, the others in grey behind them; all these axes have the same limits."""
    ax.set_axis_off()
    num_columns = count_panel_columns(len(lines))
    width, height = 1.0 / num_columns, num_columns / len(lines)
    worst = max(float(np.nanmax(line.y)) for line in [*lines, *unnamed.lines])
    room = (text_width([f"{worst:,.0f}"], SMALL_FONT) + TICK_ROOM) / (width * ax.bbox.width * points_per_pixel(ax))
    share = min(PANEL_SHARE[0], 1.0 - room) if num_columns > 1 else 1.0
    panels: list[Axes] = []
    for i, (line, colour) in enumerate(zip(lines, (*COLOURS, GREY), strict=False)):
        row, column = divmod(i, num_columns)
        left, bottom = column * width, 1.0 - (row + 1.0) * height
        panel = ax.inset_axes((left, bottom, share * width, PANEL_SHARE[1] * height))
        style_axes(panel)
        draw_unnamed_players(panel, unnamed)
        for other in lines:
            if other.name != line.name:
                panel.plot(other.x, other.y, color=PALE, linewidth=0.5, gid="other")
        panels.append(panel)
        _draw_rank_line(panel, line, colour)
        panel.set_yscale("log")
        _set_rank_axis(panel, PANEL_TICK_DISTANCE)
        panel.tick_params(labelsize=SMALL_FONT)
        label_time_axis(panel, clock)
        panel.margins(x=0.02)
        heading: Any = {"textcoords": "offset points", "va": "bottom", "ha": "left", "annotation_clip": False}
        name = panel.annotate(
            fit_names([line.name], ax)[0], (0.0, 1.0), (0.0, 4.0), xycoords="axes fraction", gid="name",
            color=TEXT_COLOURS.get(colour, colour), fontsize=SMALL_FONT + 1.0, fontweight="bold", **heading,
        )  # fmt: skip
        panel.annotate(line.note, (1.0, 0.0), (6.0, 0.0), xycoords=name, color=GREY, fontsize=SMALL_FONT, gid="note",
                       **heading)  # fmt: skip
    limits = [panel.get_xlim() for panel in panels]
    for i, panel in enumerate(panels):
        panel.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))
        if i + num_columns < len(panels):
            panel.tick_params(labelbottom=False)
            panel.set_xlabel("")
        if i % num_columns:
            panel.set_ylabel("")


def _set_rank_axis(ax: "Axes", min_distance: float = MIN_TICK_DISTANCE) -> None:
    """Set the best rank that is shown on top, and round ranks at the ticks."""
    shown = [np.asarray(line.get_ydata(), float) for line in ax.lines]
    shown += [np.asarray(path.vertices)[:, 1] for band in ax.collections for path in band.get_paths()]
    best, worst = rank_range(np.concatenate(shown))
    margin = (worst / best) ** 0.05
    ax.set_ylim(worst * margin, best / margin)
    ticks = rank_ticks(best, worst, min_distance)
    ax.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.set_yticks([], minor=True)
    ax.set_ylabel("rank")
