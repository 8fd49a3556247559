"""Pictures of strengths at rest: how sure they are, which ranks are possible, and who wins against whom."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.arguments import check_arguments
from jaxrate.plots.drawing import (
    COLOURS,
    ROWS,
    WIDE,
    check_count,
    choose,
    draw_matrix,
    full_height,
    label,
    list_players,
    make_axes,
)
from jaxrate.strengths.certain import RankSets
from jaxrate.strengths.found import POINTS, Strengths
from jaxrate.strengths.models import chances

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@check_arguments
def intervals(found: Strengths, *, top: int | None = None, ax: "Axes | None" = None) -> "Axes":
    """The best players, each with the 95 % interval of their rating; anchors, who have none, are squares.

        plots.intervals(jr.static(votes))

    Players without a finite rating are left out.

    Args:
      found: as from `jr.static`.
      top: how many. None: everybody; at most 100 are drawn.

    Raises:
      ValueError: for more than 100, or if nobody has a finite rating.
    """
    _check(found, Strengths, "strengths, as from `jr.static`")
    order = found.order[np.isfinite(found.rating[found.order])][:top]
    check_count("players with a finite rating", len(order), 1, ROWS)
    ax = make_axes(ax, full_height(len(order)), "Ratings and their 95 % intervals")
    rating, held, row = found.rating[order], found.held[order], np.arange(len(order))
    wide = np.nan_to_num(WIDE * found.standard_error[order])
    free = ~held
    ax.errorbar(rating[free], row[free], xerr=wide[free], fmt="o", color=COLOURS[0], markersize=4, capsize=2)
    if held.any():
        ax.plot(rating[held], row[held], "s", color=COLOURS[1], markersize=5)
    list_players(ax, [label(i, found.players) for i in order])
    ax.set_xlabel("rating (points)")
    return ax


@check_arguments
def rank_sets(ranks: RankSets, *, top: int | None = None, ax: "Axes | None" = None) -> "Axes":
    """The ranks that each player may have, as bars that hold together; the dot is the rank of the table.

        plots.rank_sets(jr.rank_sets(jr.static(votes)))

    Args:
      ranks: as from `jr.rank_sets`.
      top: how many of the best players. None: everybody; at most 100 are drawn. Who has no finite rating may have any
        rank; of these no dot is drawn.

    Raises:
      ValueError: for more than 100.
    """
    _check(ranks, RankSets, "rank sets, as from `jr.rank_sets`")
    order = np.argsort(-np.where(np.isnan(ranks.rating), -np.inf, ranks.rating), kind="stable")[:top]
    check_count("players", len(order), 1, ROWS)
    ax = make_axes(ax, full_height(len(order)), "Ranks that each may have")
    row, least, greatest = np.arange(len(order)), ranks.least[order], ranks.greatest[order]
    known = np.isfinite(ranks.rating[order])
    ax.barh(row, greatest - least + 0.8, left=least - 0.4, height=0.6, color=COLOURS[4])
    ax.plot(row[known] + 1, row[known], "o", color=COLOURS[6], markersize=4)
    list_players(ax, [label(i, ranks.players) for i in order])
    ax.set_xlim(0.4, greatest.max() + 0.6)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel(f"rank (all hold together at {100 * ranks.level:g} %)")
    return ax


@check_arguments
def win_matrix(found: Strengths, players: Any = None, *, ax: "Axes | None" = None) -> "Axes":
    """The probability that each player, in rows, wins against each other one, in percent; ties are not counted.

        plots.win_matrix(found, ["Ada", "Bo", "Cy"])

    Two who cannot be compared have no number.

    Args:
      found: as from `jr.static`.
      players: 2 to 100 of them, by name or by id. Up to 12 the numbers are written in, where they
        fit. None: everyone who has a finite
        rating, the best first.

    Raises:
      ValueError: for players who are unknown, or too few or too many.
    """
    _check(found, Strengths, "strengths, as from `jr.static`")
    if players is None:
        order = found.order[np.isfinite(found.rating[found.order])]
        chosen = {int(i): label(i, found.players) for i in order}
    else:
        chosen = choose(players, found.players, len(found.players))
    check_count("players", len(chosen), 2, ROWS)
    rating = found.rating[[*chosen]]
    with np.errstate(invalid="ignore"):
        eta = (rating[:, None] - rating[None, :]) / POINTS
    model = "bradley_terry" if found.model == "plackett_luce" else found.model
    win = 100.0 * np.asarray(chances(model, np.where(np.isnan(eta), 0.0, eta), found.kappa)[0])
    win[np.isnan(eta) | np.eye(len(chosen), dtype=bool)] = np.nan
    return draw_matrix(ax, [*chosen.values()], win, "wins (%)", "Who wins against whom")


def _check(given: Any, kind: type, what: str) -> None:
    if not isinstance(given, kind):
        raise ValueError(f"expected {what}, got {type(given).__name__}")
