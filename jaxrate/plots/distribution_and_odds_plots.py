"""Plots of players among all others: the distribution of ratings, and odds of tournaments and seasons."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_percentage
from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.forecasts.tournament_simulation import TournamentForecast
from jaxrate.history.history import History, resolve_system_state_and_players
from jaxrate.history.leaderboards import leaderboard
from jaxrate.plots.finding_titles import format_amount
from jaxrate.plots.name_labels import (
    format_plot_name,
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
    rating_axis_label,
    rating_unit,
)
from jaxrate.plots.scoreboard_style import (
    COLOURS,
    GREY,
    INK,
    LINE_SPACING,
    SMALL_FONT,
    TEXT_COLOURS,
    group_thousands,
    make_axes,
    points_per_pixel,
)
from jaxrate.replay.padded_states_and_columns import count_players
from jaxrate.systems.system_titles import system_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEFAULT_BINS = 60
TEXT_ROOM = 1.25  # width of a name above a distribution and the room about it, as axes become narrower by the layout


@enforce_argument_annotations
def distribution(
    system: RatingSystem | History,
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
    marked_ratings = {}
    for number, name in labels.items():
        key = number if player_names is None else player_names[number]
        if key not in rating_of:
            raise ValueError(f"{name} is not among the {len(rating_of):,} who are listed; see active and min_games")
        marked_ratings[name] = rating_of[key]
    unit, (low, high) = rating_unit(rated_system), np.quantile(board.rating, (0.25, 0.75)).tolist()
    title = f"Half of {len(rating_of):,} ratings between {format_amount(low, '')} and {format_amount(high, unit)}"
    subtitle = f"Bars: how many have a rating in each step, by {system_title(rated_system.name)}"
    ax = make_axes(ax, (7.0, 4.2), title, subtitle, source=describe_source(system))
    if bins is None:
        bins = min(len(np.histogram_bin_edges(board.rating, "auto")) - 1, DEFAULT_BINS)
    ax.hist(board.rating, bins, color=COLOURS[4], alpha=0.6, edgecolor="white", linewidth=0.8)
    ax.locator_params(axis="y", integer=True)
    ax.set(xlabel=rating_axis_label(rated_system), ylabel="number listed")
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
            xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=SMALL_FONT,
            color=TEXT_COLOURS.get(colour, colour),
            gid="median" if is_median else "name",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0,
                        "relpos": (0.0, 1.0)},
        )  # fmt: skip
    ax.set_xlim(low, high)


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
        subtitle = "Percent of simulated tournaments in which each reaches the round"
    elif isinstance(simulation, SeasonForecast):
        chances, groups = {str(i + 1): x for i, x in enumerate(simulation.place.T)}, [""] * len(simulation.player)
        quantity, last = "probability of the place (%)", simulation.place[:, 0]
        subtitle = "Percent of simulated seasons in which each ends at the place"
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
    leader = format_plot_name(simulation.player[first])
    is_decided = isinstance(simulation, SeasonForecast) and simulation.champion is not None
    share = f"{leader} first in {format_percentage(last[first])} of simulations"
    title = f"{leader} first, whatever is still to come" if is_decided else share
    ax = make_axes(ax, size, title, subtitle, source=f"{simulation.samples:,} simulations", grid="none")
    draw_percent_cells(ax, percent, quantity, is_diverging=False)
    set_name_ticks(ax, "y", labels, color=INK)
    set_name_ticks(ax, "x", [name.replace("_", "\n") for name in chances], color=INK)
    ax.xaxis.tick_top()
    return ax
