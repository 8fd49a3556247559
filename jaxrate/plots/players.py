"""Pictures of players as they stand: the best of them, and what to expect of each against each."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.plots.drawing import (
    COLOURS,
    ROWS,
    SHADES,
    WIDE,
    check_count,
    check_finite,
    choose,
    full_height,
    label,
    list_players,
    make_axes,
    plain,
    rating_label,
)
from jaxrate.records.leaderboard import leaderboard as best
from jaxrate.records.predictions import matchups as win_probabilities
from jaxrate.records.rated import Rated, opened
from jaxrate.replay.state import count as count_of
from jaxrate.system import RatingSystem, State

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WRITTEN = 12  # players up to which probabilities are written into a matrix


def leaderboard(
    system: RatingSystem | Rated, state: State = None, players: Any = None, *, ax: "Axes | None" = None, **options: Any
) -> "Axes":
    """The best players, each with the 95 % interval of their rating.

    Args:
      system, state, players, options: as for `jr.leaderboard`; at most 100 are drawn.

    Raises:
      ValueError: as `jr.leaderboard`, for more than 100, or for ratings that are not finite.
    """
    system, state, players = opened(system, state, players)
    board = best(system, state, players, **options)
    check_count("players", len(board.player), 1, ROWS)
    labels = [label(player, None) if players is None else plain(player) for player in board.player]
    for name, *shown in zip(labels, board.rating, strict=True):
        check_finite(name, *shown)
    ax = make_axes(ax, full_height(len(labels)))
    wide = None if board.deviation is None else WIDE * board.deviation
    ax.errorbar(board.rating, np.arange(len(labels)), xerr=wide, fmt="o", color=COLOURS[0], markersize=4, capsize=2)
    list_players(ax, labels)
    ax.set_xlabel(rating_label(system))
    return ax


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

    Args:
      system, state, options: as for `predictions.matchups`.
      players: 2 to 100 of them. Up to 12 the numbers are written in. None: everyone.
      names: [num_players] of all, as in `Dataset`. None: those of the rated history, if there is one.

    Raises:
      ValueError: as `predictions.matchups`, or for players who are unknown.
    """
    system, state, names = opened(system, state, names)
    chosen = choose(range(count_of(state)) if players is None else players, names, count_of(state))
    check_count("players", len(chosen), 2, ROWS)
    labels, count = list(chosen.values()), len(chosen)
    win = 100.0 * np.asarray(win_probabilities(system, state, list(chosen), **options), np.float64)
    win[np.diag_indices(count)] = np.nan
    side = 2.4 + 0.42 * min(count, 2 * WRITTEN)
    ax = make_axes(ax, (side, side))
    ax.set_facecolor("#dddddd")  # of the diagonal
    image = ax.imshow(win, cmap=SHADES, vmin=0.0, vmax=100.0, interpolation="nearest")
    ax.set_xticks(np.arange(count), labels, rotation=90)
    ax.set_yticks(np.arange(count), labels)
    ax.set(xlabel="against", ylabel="expected score (%)")
    if count <= WRITTEN:
        for i, j in np.argwhere(~np.eye(count, dtype=bool)):
            colour = "white" if win[i, j] > 60.0 else "black"
            ax.text(j, i, f"{win[i, j]:.0f}", ha="center", va="center", color=colour, fontsize="small")
    else:
        figure = ax.get_figure()
        assert figure is not None
        figure.colorbar(image, ax=ax, label="expected score (%)")
    return ax
