"""Plots of fitted strengths: intervals, possible ranks, and probabilities of wins."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrate.arena.paired_comparison_likelihood import outcome_probabilities
from jaxrate.arena.rank_inference import MAX_RANKED, RankSets
from jaxrate.arena.rank_inference import rank_sets as find_rank_sets
from jaxrate.arena.strength_fit import POINTS_PER_LOG_STRENGTH, Strengths, first_place_finding
from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.plots.altair_charts import MAX_WRITTEN_COLUMNS
from jaxrate.plots.finding_titles import leader_title
from jaxrate.plots.line_pictures import RANK_TICKS
from jaxrate.plots.name_labels import player_label, player_labels_by_id
from jaxrate.plots.player_tables import (
    FAVOURED_COLOURS,
    MAX_MATRIX_PLAYERS,
    MAX_ROWS,
    MAX_VALUE_TICKS,
    RowPicture,
    format_ratings,
    show_expected_scores,
    show_rows,
)
from jaxrate.plots.plot_inputs import check_backend, check_drawable_count, describe_counted_data
from jaxrate.plots.scoreboard_style import COLOURS, PictureText

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@enforce_argument_annotations
def intervals(
    strengths: Strengths, *, top: int | None = None, ax: "Axes | None" = None, backend: str = "matplotlib"
) -> Any:
    """Plot the best players with 95% intervals of their ratings; anchors, which have none, are squares.

        plots.intervals(jr.arena.fit_strengths(votes))

    Players without a finite rating are left out. Where names of all players do not fit, some are left out.

    Args:
      strengths: strengths from `jr.arena.fit_strengths`.
      top: number of players, at most 10,000. None: all.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for more than 10,000 players, or if nobody has a finite rating.
    """
    _check_type(strengths, Strengths, "strengths, as from `jr.arena.fit_strengths`")
    check_backend(backend, ax)
    order = strengths.order[np.isfinite(strengths.rating[strengths.order])][:top]
    check_drawable_count("players with a finite rating", len(order), 1, MAX_ROWS)
    labels = [player_label(i, strengths.players) for i in order]
    rating, is_anchor = strengths.rating[order], strengths.is_anchor[order]
    half_width = np.nan_to_num(strengths.half_width[order])
    squares = "; squares are anchors" if is_anchor.any() else ""
    title, has_rank_sets = _order_title(strengths, order, labels), _has_rank_sets(strengths, labels)
    rule = "; who may be first: by rank sets, jointly at 95%" if has_rank_sets else ""
    scope = f"{_count_players(strengths, len(order))}with 95% intervals, each by itself, by {_model_name(strengths)}"
    text = PictureText(title, f"{scope}{squares}{rule}", "rating (points)", source=_describe_results(strengths))
    values = format_ratings(rating, half_width)
    result = show_rows(RowPicture(text, labels, rating, half_width, values), ax, backend)
    if backend == "matplotlib" and is_anchor.any():  # squares hide the dots
        result.plot(rating[is_anchor], np.flatnonzero(is_anchor), "s", color=COLOURS[1], markersize=6.5, zorder=3)
    return result


@enforce_argument_annotations
def rank_sets(ranks: RankSets, *, top: int | None = None, ax: "Axes | None" = None) -> "Axes":
    """Plot the ranks that each player may have as bars, which hold simultaneously; dots are the estimated ranks.

        plots.rank_sets(jr.arena.rank_sets(jr.arena.fit_strengths(votes)))

    Args:
      ranks: rank sets from `jr.arena.rank_sets`.
      top: number of the best players, at most 10,000. None: all. Players without a finite rating may have any rank, and
        have no dot.

    Raises:
      ValueError: for more than 10,000 players.
    """
    _check_type(ranks, RankSets, "rank sets, as from `jr.arena.rank_sets`")
    order = np.argsort(-np.where(np.isnan(ranks.rating), -np.inf, ranks.rating), kind="stable")[:top]
    check_drawable_count("players", len(order), 1, MAX_ROWS)
    labels = [player_label(i, ranks.players) for i in order]
    row, least, greatest = np.arange(len(order)), ranks.least[order], ranks.greatest[order]
    text = PictureText(
        _first_place_title(ranks),
        f"All of these bars hold together with {100 * ranks.level:g}% confidence; dots are the estimated ranks",
        f"rank (simultaneous at {100 * ranks.level:g}%)", source=_describe_results(ranks),
    )  # fmt: skip
    rank = np.where(np.isfinite(ranks.rating[order]), row + 1.0, np.nan)
    values = [f"{x} to {y}" if x < y else f"{x}" for x, y in zip(least, greatest, strict=True)]
    ax = show_rows(RowPicture(text, labels, rank, None, values), ax)
    ax.barh(row, greatest - least + 0.8, left=least - 0.4, height=0.5, color=COLOURS[0], alpha=0.3, linewidth=0)
    ax.set_xlim(0.4, greatest.max() + 0.6)
    step = next(x for x in RANK_TICKS if MAX_VALUE_TICKS * x >= greatest.max())
    ax.set_xticks([1, *range(step if step > 1 else 2, int(greatest.max()) + 1, step)])
    return ax


@enforce_argument_annotations
def win_matrix(
    strengths: Strengths, players: Any = None, *, ax: "Axes | None" = None, backend: str = "matplotlib"
) -> Any:
    """Plot the expected score of each player, in rows, against each other one, in percent; a tie is half a win.

        plots.win_matrix(strengths, ["Ada", "Bo", "Cy"])

    An expected score of one half has no colour, and colours reach from 0 to 100. Rows are in the order of
    the ratings. Two players who cannot be compared have no number.

    Args:
      strengths: strengths from `jr.arena.fit_strengths`.
      players: 2 to 200 players, by name or by id. For up to 20, numbers are written into the cells if they fit. None:
        the first 20 who have a finite rating.
      backend: "matplotlib", or "altair" for an interactive chart, which is returned.

    Raises:
      ValueError: for unknown players, or fewer than two.
    """
    _check_type(strengths, Strengths, "strengths, as from `jr.arena.fit_strengths`")
    check_backend(backend, ax)
    if players is None:
        rated = strengths.order[np.isfinite(strengths.rating[strengths.order])]
        labels_by_id = {int(i): player_label(i, strengths.players) for i in rated[:MAX_WRITTEN_COLUMNS]}
        count = len(rated)
    else:
        labels_by_id = player_labels_by_id(players, strengths.players, len(strengths.players))
        count = len(labels_by_id)
    check_drawable_count("players", len(labels_by_id), 2, MAX_MATRIX_PLAYERS)
    chosen = strengths.order[np.isin(strengths.order, [*labels_by_id])]
    labels, rating = [labels_by_id[int(i)] for i in chosen], strengths.rating[chosen]
    percent = _expected_percent(strengths, rating[:, None], rating[None, :])
    np.fill_diagonal(percent, np.nan)
    ties = "" if strengths.tie is None or strengths.model == "bradley_terry" else ", a tie as half a win"
    rules = f"{ties}; {FAVOURED_COLOURS}"
    return show_expected_scores(labels, percent, count, rules, _describe_results(strengths), ax, backend)


def _expected_percent(strengths: Strengths, rating: HostArray, opponent_rating: HostArray) -> HostArray:
    """Expected scores in percent, a tie as half a win; NaN of two players who cannot be compared."""
    with np.errstate(invalid="ignore"):
        eta = (rating - opponent_rating) / POINTS_PER_LOG_STRENGTH
    model = "bradley_terry" if strengths.model == "plackett_luce" else strengths.model
    win, tie, _ = outcome_probabilities(model, np.where(np.isnan(eta), 0.0, eta), strengths.kappa)
    return np.where(np.isnan(eta), np.nan, 100.0 * np.asarray(win + 0.5 * tie))


def _order_title(strengths: Strengths, order: HostArray, labels: list[str]) -> str:
    """Who may be first, as the plot of rank sets says it; without a covariance, or of very many, who is on top."""
    if _has_rank_sets(strengths, labels):
        return _first_place_title(find_rank_sets(strengths))
    return leader_title(labels, strengths.rating[order], strengths.standard_error[order], "points")


def _first_place_title(ranks: RankSets) -> str:
    return first_place_finding([player_label(i, ranks.players) for i in ranks.possible_leaders], ranks.level)


def _has_rank_sets(strengths: Strengths, labels: list[str]) -> bool:
    count = len(strengths.players)
    return strengths.converged and strengths.covariance is not None and count <= MAX_RANKED and len(labels) > 1


def _count_players(strengths: Strengths, drawn: int) -> str:
    """The beginning of a subtitle, which says how many are drawn if these are not all."""
    count = len(strengths.players)
    return "Ratings " if drawn == count else f"The first {drawn:,} of {count:,}; ratings "


def _model_name(strengths: Strengths) -> str:
    return strengths.model.replace("_", "-").title()


def _describe_results(result: Strengths | RankSets) -> str:
    return describe_counted_data(f"{result.votes:,.15g} results of {len(result.players):,} contenders")


def _check_type(value: Any, kind: type, expected: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"expected {expected}, got {type(value).__name__}")
