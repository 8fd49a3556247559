"""Plots of players among all others: distribution of ratings, ranks through time, odds of tournaments and seasons."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.argument_checks import enforce_argument_annotations
from jaxrate.array_types import HostArray
from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.forecasts.tournament_simulation import TournamentForecast
from jaxrate.league.leaderboards import leaderboard
from jaxrate.league.ranks_over_time import ranks_over_time as ranks_of
from jaxrate.league.rated_history import Rated, days_to_dates, resolve_system_state_and_players
from jaxrate.league.trajectories import build_trajectories
from jaxrate.plots.altair_charts import ChartLine, ChartText, line_chart, rank_ticks
from jaxrate.plots.finding_titles import format_amount, ranks_title
from jaxrate.plots.name_labels import (
    format_plot_name,
    label_line_ends,
    player_labels_by_id,
    set_name_ticks,
    text_width,
)
from jaxrate.plots.percent_matrix import draw_percent_cells
from jaxrate.plots.player_rows import MAX_ROWS, figure_size_for_rows
from jaxrate.plots.plotted_data_and_checks import (
    MAX_NAMED_LINES,
    check_drawable_count,
    describe_source,
    is_altair_backend,
    plural_of_rated,
    rating_axis_label,
    rating_unit,
)
from jaxrate.plots.rating_line_data import YEAR, default_step_length
from jaxrate.plots.scoreboard_style import (
    COLOURS,
    GREY,
    INK,
    LINE_SPACING,
    SMALL_FONT,
    add_halo,
    group_thousands,
    label_time_axis,
    make_axes,
    points_per_pixel,
)
from jaxrate.plots.unnamed_players import (
    MAX_GREY_LINES,
    draw_unnamed_players,
    quantile_bands,
    unnamed_player_lines,
)
from jaxrate.replay.padded_states_and_columns import count_players
from jaxrate.rules import State
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.system import RatingSystem
from jaxrate.text_format import format_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEFAULT_BINS = 60
SMOOTHED_STEPS = 5  # years whose median is a point of a line of ranks, where steps are years
TEXT_ROOM = 1.25  # width of a name above a distribution and the room about it, as axes become narrower by the layout


@enforce_argument_annotations
def distribution(
    system: RatingSystem | Rated | Smoothed,
    state: State = None,
    names: Any = None,
    *,
    players: Any = (),
    bins: int | None = None,
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """Plot the distribution of all players' ratings, with the median; chosen players are lines with their names.

        jr.plots.distribution(rated, players=["Ada", "Bo"], min_games=10)

    Args:
      system, state, options: as for `jr.leaderboard`; players who are listed there are counted.
      names: [num_players] names of all players. None: those of the rated history, if there is one.
      players: up to eight players, by name or by id.
      bins: number of bins of equal width. None: the finer of the rules of Sturges and of Freedman and Diaconis, numpy's
        "auto", and at most 60.

    Raises:
      ValueError: as for `jr.leaderboard`, for players who are unknown or not listed, if nobody is listed, or if `bins`
        is below 1.
    """
    if bins is not None and bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    rated_system, states, player_names = resolve_system_state_and_players(system, state, names)
    board = leaderboard(system, state, names, **options, top=count_players(states))
    check_drawable_count("players who are listed", len(board.rating), 1, count_players(states))
    labels = player_labels_by_id(players, player_names, count_players(states)) if np.size(players) else {}
    check_drawable_count("players with names", len(labels), 0, MAX_NAMED_LINES)
    rating_of = dict(zip(board.player.tolist(), board.rating.tolist(), strict=True))
    marked_ratings, plural = {}, plural_of_rated(system)
    for number, name in labels.items():
        key = number if player_names is None else player_names[number]
        if key not in rating_of:
            raise ValueError(f"{name} is not listed among the {len(rating_of):,} {plural}; see active and min_games")
        marked_ratings[name] = rating_of[key]
    unit, (low, high) = rating_unit(rated_system), np.quantile(board.rating, (0.25, 0.75)).tolist()
    title = f"Half of {len(rating_of):,} ratings between {format_amount(low, '')} and {format_amount(high, unit)}"
    subtitle = f"Ratings by {rated_system.name}, by the number of {plural} who have them"
    ax = make_axes(ax, (7.0, 4.2), title, subtitle, source=describe_source(system))
    if bins is None:
        bins = min(len(np.histogram_bin_edges(board.rating, "auto")) - 1, DEFAULT_BINS)
    ax.hist(board.rating, bins, color=COLOURS[4], alpha=0.6, edgecolor="white", linewidth=0.8)
    ax.locator_params(axis="y", integer=True)
    ax.set(xlabel=rating_axis_label(rated_system), ylabel=plural if plural != "players" else "number listed")
    group_thousands(ax, "x", "y")
    _mark_ratings(ax, marked_ratings, float(np.median(board.rating)))
    return ax


def _mark_ratings(ax: "Axes", rating_by_name: dict[str, float], median: float) -> None:
    """Draw a line for each player's rating and the median, with its name at the right of its end above the axes."""
    marks = [(median, "median", GREY, ":")]
    for (name, rating), colour in zip(rating_by_name.items(), (*COLOURS, INK), strict=False):
        marks.append((rating, name, colour, "-"))
    low, high = ax.get_xlim()
    points_per_unit = ax.bbox.width * points_per_pixel(ax) / (high - low)
    line_of: dict[int, int] = {}  # of text, from 0: a name lies higher than those whose lines it would cross
    for i in sorted(range(len(marks)), key=lambda i: -marks[i][0]):
        end = marks[i][0] + TEXT_ROOM * text_width([marks[i][1]], SMALL_FONT) / points_per_unit
        line_of[i] = max((line for j, line in line_of.items() if marks[j][0] <= end), default=-1) + 1
    for i, (value, name, colour, line_style) in enumerate(marks):
        is_median = i == 0
        ax.axvline(value, color=colour, linewidth=1.2, linestyle=line_style, gid="median" if is_median else "player")
        ax.annotate(
            name, (value, 1.0), (0.0, 3.0 + LINE_SPACING * SMALL_FONT * line_of[i]), ha="left", va="bottom",
            xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=SMALL_FONT, color=colour,
            gid="median" if is_median else "name",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0,
                        "relpos": (0.0, 1.0)},
        )  # fmt: skip
    ax.set_xlim(low, high)


@enforce_argument_annotations
def ranks(
    rated: Rated | Smoothed,
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
    """Plot ranks through a history, with names at the ends of lines; the scale is logarithmic, the best on top.

        jr.plots.ranks(rated, ["Ada", "Bo"], min_games=10)

    A rank is that on `jr.leaderboard(rated, as_of=...)` at the end of each step, on all dates by the rule of the last
    one. The plot begins when half of those who play are listed. A line is interrupted while the player is not listed,
    for example because they have not played for long. By default, if steps are years, lines go through the medians of
    five years.

    Args:
      rated: a history from `jr.rate` or `jr.smooth`, with times.
      players: one or several players, at most eight.
      step: the length of the steps in days, or in units of time, counted back from the end of the history. None: a
        hundredth of the time since the first match of these players, or whole years if it is long.
      active, min_games, cautious: as for `jr.leaderboard`.
      others: further players, in grey and without names; of more than 200 the median, and bands of 50 % and 90 % of
        them.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for players who are unknown or never listed, for a history without times, for a step that is not above
        0, or as for `jr.leaderboard`.
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
    moments = last - length * np.arange((last - times.min()) // length + 1)[::-1]
    grey_ids = [i for i in player_labels_by_id(list(others), names, len(trajectories.start) - 1) if i not in labels]
    everybody = range(len(trajectories.start) - 1)
    all_ranks = ranks_of(rated, everybody, moments, active=active, min_games=min_games, cautious=cautious)
    if min_games is None or min_games:
        played = ranks_of(rated, everybody, moments, active=active, min_games=0, cautious=cautious)
        listed, playing = (np.sum(~np.isnan(x), axis=1) for x in (all_ranks, played))
        begin = int(np.argmax(2 * listed >= playing))
        moments, all_ranks = moments[begin:], all_ranks[begin:]
    rank_table = all_ranks[:, [*labels, *grey_ids]].T
    is_smoothed = step is None and rated.clock == "dates" and length >= YEAR and len(moments) > SMOOTHED_STEPS
    smooth = _running_median if is_smoothed else np.asarray
    displayed_times = days_to_dates(moments if (np.floor(moments) == moments).all() else np.floor(moments))
    at = displayed_times if rated.clock == "dates" else moments
    other_ranks = rank_table[len(labels) :]
    if len(other_ranks) > MAX_GREY_LINES:
        unnamed = quantile_bands(at, other_ranks, len(other_ranks))
    else:
        seen = smooth(np.where(_is_isolated(other_ranks), np.nan, other_ranks))  # a line through one point is invisible
        unnamed = unnamed_player_lines(ChartLine("", at, rank) for rank in seen)
    lines = []
    for name, rank in zip(labels.values(), rank_table, strict=False):
        listed = np.flatnonzero(~np.isnan(rank))
        if not len(listed):
            raise ValueError(f"{name} is never listed; see active and min_games")
        drawn_points = slice(listed[0], listed[-1] + 1)
        lines.append(ChartLine(name, at[drawn_points], smooth(rank)[drawn_points]))
    ranks_by_name = dict(zip(labels.values(), rank_table, strict=False))
    text = ChartText(ranks_title(ranks_by_name, len(moments), [*other_ranks]),
                     f"Ranks on the leaderboard of each date by {rated.system.name}"
                     f"{', medians of five dates' if is_smoothed else ''}{unnamed.description}",
                     "date" if rated.clock == "dates" else "time", "rank", describe_source(rated))  # fmt: skip
    if is_interactive:
        return line_chart([*unnamed.lines, *lines], text, bands=unnamed.bands, is_rank=True)
    ax = make_axes(ax, (8.5, 4.8), text.title, text.subtitle, source=text.source)
    draw_unnamed_players(ax, unnamed)
    for line, colour in zip(lines, (*COLOURS, GREY), strict=False):
        _draw_ranks(ax, line, colour)
    ax.set_yscale("log")
    _set_rank_axis(ax)
    label_time_axis(ax, text.x)
    label_line_ends(ax, [line for line in ax.lines if line.get_gid() == "rank"])
    return ax


def _running_median(values: HostArray) -> HostArray:
    """[..., m] the median of up to five values about each; NaN stays, and does not count."""
    around = [(0, 0)] * (values.ndim - 1) + [(SMOOTHED_STEPS // 2,) * 2]
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(values, around, constant_values=np.nan), SMOOTHED_STEPS, -1
    )
    result = np.full(values.shape, np.nan)
    is_known = ~np.isnan(values)
    result[is_known] = np.nanmedian(windows[is_known], axis=-1)
    return result


def _is_isolated(values: HostArray) -> HostArray:
    """[..., m] whether a value stands between missing ones."""
    is_missing = np.isnan(np.pad(values, [(0, 0)] * (values.ndim - 1) + [(1, 1)], constant_values=np.nan))
    return is_missing[..., :-2] & is_missing[..., 2:] & ~is_missing[..., 1:-1]


def _draw_ranks(ax: "Axes", line: ChartLine, colour: str) -> None:
    """Draw the ranks of a player; dots show the last rank, and those between times without a rank."""
    is_dotted = _is_isolated(line.y)
    is_dotted[-1] = True
    (drawn,) = ax.plot(
        line.x, line.y, color=colour, linewidth=1.5, label=line.name, gid="rank",
        marker="o", markersize=3.5, markevery=np.flatnonzero(is_dotted).tolist(), solid_capstyle="round",
    )  # fmt: skip
    add_halo(drawn)


def _set_rank_axis(ax: "Axes") -> None:
    """Set the best rank that is shown on top, and round ranks at the ticks."""
    shown = [np.asarray(line.get_ydata(), float) for line in ax.lines]
    shown += [np.asarray(path.vertices)[:, 1] for band in ax.collections for path in band.get_paths()]
    ranks = np.concatenate(shown)
    best = float(np.nanmin(ranks))
    worst = max(float(np.nanmax(ranks)), best + 2.0)
    margin = (worst / best) ** 0.05
    ax.set_ylim(worst * margin, best / margin)
    ticks = rank_ticks(np.array([best, worst]))
    ax.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.set_yticks([], minor=True)
    ax.set_ylabel("rank")


@enforce_argument_annotations
def odds(simulation: TournamentForecast | SeasonForecast, *, top: int = 32, ax: "Axes | None" = None) -> "Axes":
    """Plot how far each player may come in a tournament, or where each may end a season, in percent; the best first.

        jr.plots.odds(jr.forecasts.simulate_tournament(rated, {"knockout": ["Ada", "Bo", "Cy", "Di"]}))

    Args:
      simulation: a result of `jr.forecasts.simulate_tournament` or `jr.forecasts.simulate_season`.
      top: number of players, at most 10,000.

    Raises:
      ValueError: for another kind of result, or more than 10,000 players.
    """
    if isinstance(simulation, TournamentForecast):
        chances: dict[str, Any] = simulation.columns().drop_columns("player", "group")
        groups: Iterable[str] = (
            [""] * len(simulation.player) if simulation.group is None else [f" ({x})" for x in simulation.group]
        )
        quantity, last = "probability (%)", simulation.reach[:, -1]
        subtitle = f"Percent of {simulation.samples:,} simulated tournaments in which the player reaches the round"
    elif isinstance(simulation, SeasonForecast):
        chances, groups = {str(i + 1): x for i, x in enumerate(simulation.place.T)}, [""] * len(simulation.player)
        quantity, last = "probability of the place (%)", simulation.place[:, 0]
        subtitle = f"Percent of {simulation.samples:,} simulated seasons in which the player ends at the place"
    else:
        raise ValueError(
            "expected a result of `jr.forecasts.simulate_tournament` or `jr.forecasts.simulate_season`, "
            f"got {type(simulation).__name__}"
        )
    labels = [f"{format_plot_name(name)}{group}" for name, group in zip(simulation.player, groups, strict=True)][:top]
    check_drawable_count("players", len(labels), 1, MAX_ROWS)
    percent = 100.0 * np.stack([*chances.values()], axis=1)[:top]
    size = max(5.5, 2.6 + 0.6 * min(len(chances), 12)), figure_size_for_rows(labels)[1]
    first = int(np.argmax(last))
    title = (
        f"{format_plot_name(simulation.player[first])} first in {format_percent(100.0 * last[first])} % of simulations"
    )
    ax = make_axes(ax, size, title, subtitle, grid="none")
    draw_percent_cells(ax, percent, quantity, is_diverging=False)
    set_name_ticks(ax, "y", labels, color=INK)
    set_name_ticks(ax, "x", [name.replace("_", "\n") for name in chances], color=INK)
    ax.xaxis.tick_top()
    return ax
