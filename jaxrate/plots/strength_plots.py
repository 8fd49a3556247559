"""Plots of fitted strengths: intervals, possible ranks, and probabilities of wins."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.arena.paired_comparison_likelihood import outcome_probabilities
from jaxrate.arena.rank_inference import RankSets
from jaxrate.arena.strength_estimates import POINTS_PER_LOG_STRENGTH, Strengths
from jaxrate.argument_checks import check_arguments
from jaxrate.plots.plot_helpers import (
    COLOURS,
    MAX_ROWS,
    Z_95,
    check_drawable_count,
    draw_percent_matrix,
    draw_player_rows,
    figure_size_for_rows,
    label_chosen_players,
    make_axes,
    player_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@check_arguments
def intervals(strengths: Strengths, *, top: int | None = None, ax: "Axes | None" = None) -> "Axes":
    """Plot the best players with 95 % intervals of their ratings; anchors, which have none, are squares.

        plots.intervals(jr.arena.fit_strengths(votes))

    Players without a finite rating are left out.

    Args:
      strengths: strengths from `jr.arena.fit_strengths`.
      top: number of players, at most 100. None: all.

    Raises:
      ValueError: for more than 100 players, or if nobody has a finite rating.
    """
    _check_type(strengths, Strengths, "strengths, as from `jr.arena.fit_strengths`")
    order = strengths.order[np.isfinite(strengths.rating[strengths.order])][:top]
    check_drawable_count("players with a finite rating", len(order), 1, MAX_ROWS)
    ax = make_axes(ax, figure_size_for_rows(len(order)), "Ratings and their 95 % intervals")
    rating, is_anchor, row = strengths.rating[order], strengths.is_anchor[order], np.arange(len(order))
    half_width = np.nan_to_num(Z_95 * strengths.standard_error[order])
    is_estimated = ~is_anchor
    ax.errorbar(
        rating[is_estimated],
        row[is_estimated],
        xerr=half_width[is_estimated],
        fmt="o",
        color=COLOURS[0],
        markersize=4,
        capsize=2,
    )
    if is_anchor.any():
        ax.plot(rating[is_anchor], row[is_anchor], "s", color=COLOURS[1], markersize=5)
    draw_player_rows(ax, [player_label(i, strengths.players) for i in order])
    ax.set_xlabel("rating (points)")
    return ax


@check_arguments
def rank_sets(ranks: RankSets, *, top: int | None = None, ax: "Axes | None" = None) -> "Axes":
    """Plot the ranks that each player may have as bars, which hold simultaneously; dots are the estimated ranks.

        plots.rank_sets(jr.arena.rank_sets(jr.arena.fit_strengths(votes)))

    Args:
      ranks: rank sets from `jr.arena.rank_sets`.
      top: number of the best players, at most 100. None: all. Players without a finite rating may have any rank, and
        have no dot.

    Raises:
      ValueError: for more than 100 players.
    """
    _check_type(ranks, RankSets, "rank sets, as from `jr.arena.rank_sets`")
    order = np.argsort(-np.where(np.isnan(ranks.rating), -np.inf, ranks.rating), kind="stable")[:top]
    check_drawable_count("players", len(order), 1, MAX_ROWS)
    ax = make_axes(ax, figure_size_for_rows(len(order)), "Possible ranks")
    row, least, greatest = np.arange(len(order)), ranks.least[order], ranks.greatest[order]
    is_rated = np.isfinite(ranks.rating[order])
    ax.barh(row, greatest - least + 0.8, left=least - 0.4, height=0.6, color=COLOURS[4])
    ax.plot(row[is_rated] + 1, row[is_rated], "o", color=COLOURS[6], markersize=4)
    draw_player_rows(ax, [player_label(i, ranks.players) for i in order])
    ax.set_xlim(0.4, greatest.max() + 0.6)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel(f"rank (simultaneous at {100 * ranks.level:g} %)")
    return ax


@check_arguments
def win_matrix(strengths: Strengths, players: Any = None, *, ax: "Axes | None" = None) -> "Axes":
    """Plot the probability that each player, in rows, wins against each other one, in percent; ties are not counted.

        plots.win_matrix(strengths, ["Ada", "Bo", "Cy"])

    Two players who cannot be compared have no number.

    Args:
      strengths: strengths from `jr.arena.fit_strengths`.
      players: 2 to 100 players, by name or by id. For up to 12, numbers are written into the cells if they fit. None:
        all who have a finite rating, the best first.

    Raises:
      ValueError: for unknown players, or too few or too many.
    """
    _check_type(strengths, Strengths, "strengths, as from `jr.arena.fit_strengths`")
    if players is None:
        order = strengths.order[np.isfinite(strengths.rating[strengths.order])]
        labels = {int(i): player_label(i, strengths.players) for i in order}
    else:
        labels = label_chosen_players(players, strengths.players, len(strengths.players))
    check_drawable_count("players", len(labels), 2, MAX_ROWS)
    rating = strengths.rating[[*labels]]
    with np.errstate(invalid="ignore"):
        eta = (rating[:, None] - rating[None, :]) / POINTS_PER_LOG_STRENGTH
    model = "bradley_terry" if strengths.model == "plackett_luce" else strengths.model
    percent = 100.0 * np.asarray(outcome_probabilities(model, np.where(np.isnan(eta), 0.0, eta), strengths.kappa)[0])
    percent[np.isnan(eta) | np.eye(len(labels), dtype=bool)] = np.nan
    return draw_percent_matrix(ax, [*labels.values()], percent, "wins (%)", "Who wins against whom")


def _check_type(value: Any, kind: type, expected: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"expected {expected}, got {type(value).__name__}")
