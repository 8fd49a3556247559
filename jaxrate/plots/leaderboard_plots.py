"""Plots of current ratings: the leaderboard, and expected scores of each player against each other."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.argument_checks import check_arguments
from jaxrate.forecasts.knockout_brackets import matchup_matrix as win_probabilities
from jaxrate.league.leaderboards import leaderboard as best
from jaxrate.league.rated_history import Rated, unpack_rated
from jaxrate.plots.plot_helpers import (
    COLOURS,
    MAX_ROWS,
    Z_95,
    check_drawable_count,
    check_ratings_finite,
    draw_percent_matrix,
    draw_player_rows,
    figure_size_for_rows,
    format_plot_name,
    format_ratings,
    label_chosen_players,
    make_axes,
    player_label,
    rating_axis_label,
)
from jaxrate.replay.padded_arrays import count_players as count_of
from jaxrate.rules import State
from jaxrate.system import RatingSystem

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@check_arguments
def leaderboard(
    system: RatingSystem | Rated, state: State = None, players: Any = None, *, ax: "Axes | None" = None, **options: Any
) -> "Axes":
    """Plot the best players by rank and rating with 95 % intervals; the title tells who is listed, unless all are.

        jr.plots.leaderboard(rated, top=10, min_games=20)

    Args:
      system, state, players, options: as for `jr.leaderboard`; at most 100 are drawn.

    Raises:
      ValueError: as for `jr.leaderboard`, for more than 100 players, or for ratings that are not finite.
    """
    board = best(system, state, players, **options)
    system, state, players = unpack_rated(system, state, players)
    check_drawable_count("players", len(board.player), 1, MAX_ROWS)
    labels = [player_label(player, None) if players is None else format_plot_name(player) for player in board.player]
    for name, *shown in zip(labels, board.rating, strict=True):
        check_ratings_finite(name, *shown)
    ax = make_axes(ax, figure_size_for_rows(len(labels)), f"The best by {system.name}")
    half_width = None if board.deviation is None else Z_95 * board.deviation
    ax.errorbar(
        board.rating, np.arange(len(labels)), xerr=half_width, fmt="o", color=COLOURS[0], markersize=4, capsize=2
    )
    labels_with_ranks = [f"{name}  {rank}" for name, rank in zip(labels, board.rank, strict=True)]
    draw_player_rows(ax, labels_with_ranks, format_ratings(board.rating, half_width))
    scope = board.scope.partition("\n")[0].partition(" (")[0]
    ax.set_title(scope if "players, who" in scope else "", fontsize="small")
    ax.set_xlabel(rating_axis_label(system))
    return ax


@check_arguments
def matchups(
    system: RatingSystem | Rated,
    state: State = None,
    players: Any = None,
    names: Any = None,
    *,
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """Plot the expected score of each player, in rows, against each other one, in percent (a draw is half a win).

        jr.plots.matchups(rated, players=["Ada", "Bo", "Cy"])

    A score of one half is white.

    Args:
      system, state, options: as for `forecasts.matchup_matrix`.
      players: 2 to 100 players. For up to 12, numbers are written into the cells if they fit. None: all players.
      names: [num_players] names of all players, as in `Dataset`. None: those of the rated history, if there is one.

    Raises:
      ValueError: as for `forecasts.matchup_matrix`, or for unknown players.
    """
    system, state, names = unpack_rated(system, state, names)
    labels_by_id = label_chosen_players(range(count_of(state)) if players is None else players, names, count_of(state))
    check_drawable_count("players", len(labels_by_id), 2, MAX_ROWS)
    labels = list(labels_by_id.values())
    percent = 100.0 * np.asarray(win_probabilities(system, state, list(labels_by_id), **options), np.float64)
    percent[np.diag_indices(len(labels))] = np.nan
    return draw_percent_matrix(ax, labels, percent, "expected score (%)", f"Each against each by {system.name}")
