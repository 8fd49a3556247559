"""Pictures of strengths at rest: how sure they are, which ranks are possible, and who wins against whom."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.arena.paired_comparison import outcome_probabilities
from jaxrate.arena.rank_inference import RankSets
from jaxrate.arena.strength_estimates import POINTS_PER_LOG_STRENGTH, Strengths
from jaxrate.argument_checks import check_arguments
from jaxrate.plots.plot_helpers import (
    COLOURS,
    MAX_ROWS,
    Z_95,
    check_count,
    draw_matrix,
    figure_size_for_rows,
    label_chosen_players,
    list_players,
    make_axes,
    player_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@check_arguments
def intervals(fitted_strengths: Strengths, *, top: int | None = None, ax: "Axes | None" = None) -> "Axes":
    """The best players, each with the 95 % interval of their rating; anchors, who have none, are squares.

        plots.intervals(jr.arena.fit_strengths(votes))

    Players without a finite rating are left out.

    Args:
      found: as from `jr.arena.fit_strengths`.
      top: how many. None: everybody; at most 100 are drawn.

    Raises:
      ValueError: for more than 100, or if nobody has a finite rating.
    """
    _check_type(fitted_strengths, Strengths, "strengths, as from `jr.arena.fit_strengths`")
    order = fitted_strengths.order[np.isfinite(fitted_strengths.rating[fitted_strengths.order])][:top]
    check_count("players with a finite rating", len(order), 1, MAX_ROWS)
    ax = make_axes(ax, figure_size_for_rows(len(order)), "Ratings and their 95 % intervals")
    rating, held, row = fitted_strengths.rating[order], fitted_strengths.held[order], np.arange(len(order))
    wide = np.nan_to_num(Z_95 * fitted_strengths.standard_error[order])
    free = ~held
    ax.errorbar(rating[free], row[free], xerr=wide[free], fmt="o", color=COLOURS[0], markersize=4, capsize=2)
    if held.any():
        ax.plot(rating[held], row[held], "s", color=COLOURS[1], markersize=5)
    list_players(ax, [player_label(i, fitted_strengths.players) for i in order])
    ax.set_xlabel("rating (points)")
    return ax


@check_arguments
def rank_sets(ranks: RankSets, *, top: int | None = None, ax: "Axes | None" = None) -> "Axes":
    """The ranks that each player may have, as bars that hold together; the dot is the rank of the table.

        plots.rank_sets(jr.arena.rank_sets(jr.arena.fit_strengths(votes)))

    Args:
      ranks: as from `jr.arena.rank_sets`.
      top: how many of the best players. None: everybody; at most 100 are drawn. Who has no finite rating may have any
        rank; of these no dot is drawn.

    Raises:
      ValueError: for more than 100.
    """
    _check_type(ranks, RankSets, "rank sets, as from `jr.arena.rank_sets`")
    order = np.argsort(-np.where(np.isnan(ranks.rating), -np.inf, ranks.rating), kind="stable")[:top]
    check_count("players", len(order), 1, MAX_ROWS)
    ax = make_axes(ax, figure_size_for_rows(len(order)), "Ranks that each may have")
    row, least, greatest = np.arange(len(order)), ranks.least[order], ranks.greatest[order]
    known = np.isfinite(ranks.rating[order])
    ax.barh(row, greatest - least + 0.8, left=least - 0.4, height=0.6, color=COLOURS[4])
    ax.plot(row[known] + 1, row[known], "o", color=COLOURS[6], markersize=4)
    list_players(ax, [player_label(i, ranks.players) for i in order])
    ax.set_xlim(0.4, greatest.max() + 0.6)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel(f"rank (all hold together at {100 * ranks.level:g} %)")
    return ax


@check_arguments
def win_matrix(fitted_strengths: Strengths, players: Any = None, *, ax: "Axes | None" = None) -> "Axes":
    """The probability that each player, in rows, wins against each other one, in percent; ties are not counted.

        plots.win_matrix(found, ["Ada", "Bo", "Cy"])

    Two who cannot be compared have no number.

    Args:
      found: as from `jr.arena.fit_strengths`.
      players: 2 to 100 of them, by name or by id. Up to 12 the numbers are written in, where they
        fit. None: everyone who has a finite
        rating, the best first.

    Raises:
      ValueError: for players who are unknown, or too few or too many.
    """
    _check_type(fitted_strengths, Strengths, "strengths, as from `jr.arena.fit_strengths`")
    if players is None:
        order = fitted_strengths.order[np.isfinite(fitted_strengths.rating[fitted_strengths.order])]
        chosen = {int(i): player_label(i, fitted_strengths.players) for i in order}
    else:
        chosen = label_chosen_players(players, fitted_strengths.players, len(fitted_strengths.players))
    check_count("players", len(chosen), 2, MAX_ROWS)
    rating = fitted_strengths.rating[[*chosen]]
    with np.errstate(invalid="ignore"):
        eta = (rating[:, None] - rating[None, :]) / POINTS_PER_LOG_STRENGTH
    model = "bradley_terry" if fitted_strengths.model == "plackett_luce" else fitted_strengths.model
    win = 100.0 * np.asarray(outcome_probabilities(model, np.where(np.isnan(eta), 0.0, eta), fitted_strengths.kappa)[0])
    win[np.isnan(eta) | np.eye(len(chosen), dtype=bool)] = np.nan
    return draw_matrix(ax, [*chosen.values()], win, "wins (%)", "Who wins against whom")


def _check_type(value: Any, kind: type, expected: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"expected {expected}, got {type(value).__name__}")
