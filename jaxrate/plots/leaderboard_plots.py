"""Pictures of players as they stand: the best of them, and what to expect of each against each."""

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
    check_count,
    check_finite,
    draw_matrix,
    escape_name,
    figure_size_for_rows,
    format_ratings,
    label_chosen_players,
    list_players,
    make_axes,
    player_label,
    rating_label,
)
from jaxrate.replay.padded_arrays import count_players as count_of
from jaxrate.system import RatingSystem, State

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@check_arguments
def leaderboard(
    system: RatingSystem | Rated, state: State = None, players: Any = None, *, ax: "Axes | None" = None, **options: Any
) -> "Axes":
    """The best players by rank and rating, each with its 95 % interval; the title says who they are, if not everybody.

        jr.plots.leaderboard(rated, top=10, min_games=20)

    Args:
      system, state, players, options: as for `jr.leaderboard`; at most 100 are drawn.

    Raises:
      ValueError: as `jr.leaderboard`, for more than 100, or for ratings that are not finite.
    """
    board = best(system, state, players, **options)
    system, state, players = unpack_rated(system, state, players)
    check_count("players", len(board.player), 1, MAX_ROWS)
    labels = [player_label(player, None) if players is None else escape_name(player) for player in board.player]
    for name, *shown in zip(labels, board.rating, strict=True):
        check_finite(name, *shown)
    ax = make_axes(ax, figure_size_for_rows(len(labels)), f"The best by {system.name}")
    wide = None if board.deviation is None else Z_95 * board.deviation
    ax.errorbar(board.rating, np.arange(len(labels)), xerr=wide, fmt="o", color=COLOURS[0], markersize=4, capsize=2)
    ranked = [f"{name}  {rank}" for name, rank in zip(labels, board.rank, strict=True)]
    list_players(ax, ranked, format_ratings(board.rating, wide))
    said = board.scope.partition("\n")[0].partition(" (")[0]
    ax.set_title(said if "players, who" in said else "", fontsize="small")
    ax.set_xlabel(rating_label(system))
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
    """The expected score of each chosen player, in rows, against each other one, in percent (a draw is half a win).

        jr.plots.matchups(rated, players=["Ada", "Bo", "Cy"])

    One half is white.

    Args:
      system, state, options: as for `forecasts.matchup_matrix`.
      players: 2 to 100 of them. Up to 12 the numbers are written in, where they fit. None: everyone.
      names: [num_players] of all, as in `Dataset`. None: those of the rated history, if there is one.

    Raises:
      ValueError: as `forecasts.matchup_matrix`, or for players who are unknown.
    """
    system, state, names = unpack_rated(system, state, names)
    chosen = label_chosen_players(range(count_of(state)) if players is None else players, names, count_of(state))
    check_count("players", len(chosen), 2, MAX_ROWS)
    labels = list(chosen.values())
    win = 100.0 * np.asarray(win_probabilities(system, state, list(chosen), **options), np.float64)
    win[np.diag_indices(len(labels))] = np.nan
    return draw_matrix(ax, labels, win, "expected score (%)", f"Each against each by {system.name}")
