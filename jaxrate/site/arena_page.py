"""Fitted strengths as one HTML page that needs no network: table, intervals, ranks, wins, drift."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.arena.paired_comparison_likelihood import outcome_probabilities
from jaxrate.arena.rank_inference import RankSets
from jaxrate.arena.strength_drift import StrengthDrift
from jaxrate.arena.strength_estimates import POINTS_PER_LOG_STRENGTH, Strengths
from jaxrate.argument_checks import check_arguments
from jaxrate.site.report_page import load_template
from jaxrate.types import HostArray

INTERVAL_DEVIATIONS = 1.96  # deviations to either side: 95 %
MAX_BARS = 60  # players with a bar
MAX_MATRIX_PLAYERS = 20  # players in the matrix of wins


class IntervalBar(NamedTuple):
    """Bars of a player; positions in percent: start, length, and dot."""

    name: str
    rating: str
    between: str
    interval: tuple[float, float, float | None]
    ranks: str
    set: tuple[float, float, None] | None


@check_arguments
def arena_page_html(
    strengths: Strengths, *, ranks: RankSets | None = None, drift: StrengthDrift | None = None, title: str = "Strengths"
) -> str:
    """The HTML of the page, to be written to a file in UTF-8.

        strengths = jr.arena.fit_strengths(votes)
        page = jr.site.arena_page_html(strengths, ranks=jr.arena.rank_sets(strengths))
        pathlib.Path("page.html").write_text(page, encoding="utf-8")

    Args:
      strengths: strengths from `jr.arena.fit_strengths`.
      ranks: rank sets of these strengths, from `jr.arena.rank_sets`. None: no ranks are shown.
      drift: drift in the same votes, from `jr.arena.detect_drift`. None: not shown.
      title: the heading of the page.

    Raises:
      ValueError: if ranks or drift are of other players.
      ImportError: if jinja2 is not installed.
    """
    for name, other in (("ranks", ranks), ("drift", drift)):
        if other is not None and not np.array_equal(other.players, strengths.players):
            raise ValueError(f"{name} must be of the same players as the strengths")
    page, libraries = load_template("arena.html")
    order = strengths.order
    rated_ids = [int(i) for i in order if np.isfinite(strengths.rating[i])]
    half_width = np.where(np.isfinite(strengths.standard_error), INTERVAL_DEVIATIONS * strengths.standard_error, 0.0)
    low, high = _rating_axis_limits(strengths.rating[rated_ids], half_width[rated_ids])
    columns = {"rating": strengths.rating, "low": strengths.rating - half_width, "high": strengths.rating + half_width}
    if ranks is not None:
        columns |= {"best rank": ranks.least, "worst rank": ranks.greatest}
    columns |= {"votes": strengths.games, "score": strengths.score}
    kinds = {"score": "3", "votes": "plain"} | dict.fromkeys(("best rank", "worst rank"), "0")
    column_values = [_json_numbers(values[order], kinds.get(name, "1")) for name, values in columns.items()]
    names = [_collapse_spaces(x) for x in strengths.players]
    data = {
        "board": list(zip(range(1, len(order) + 1), [names[i] for i in order], *column_values, strict=True)),
        "boardKinds": ["0", "text", *(kinds.get(name, "1") for name in columns)],
        "sheets": {},
        "sheetKinds": [],
        "current": [1] * len(order),
        "pairs": None,
    }
    return str(
        page.render(
            libraries,
            title=title,
            strengths=strengths,
            model=strengths.model.replace("_", "-").title(),
            notes=strengths.notes,
            ranks=ranks,
            drift=drift,
            columns=list(columns),
            ends=(f"{low:.0f}", f"{high:.0f}"),
            bars=[_build_bar(strengths, ranks, names[i], i, half_width[i], low, high) for i in rated_ids[:MAX_BARS]],
            matrix=[
                (names[i], _win_percentages(strengths, i, rated_ids[:MAX_MATRIX_PLAYERS]))
                for i in rated_ids[:MAX_MATRIX_PLAYERS]
            ],
            changes=None if drift is None else drift.table_rows(None),
            data=data,
        )
    )


def _collapse_spaces(player: Any) -> str:
    return " ".join(str(player).split())


def _json_numbers(values: HostArray, kind: str) -> list[Any]:
    """Rounded numbers for JSON; None for numbers that are not finite."""
    digits = 3 if kind == "plain" else int(kind)
    rounded = [round(float(x), digits) if np.isfinite(x) else None for x in values]
    return [int(x) if x is not None and x == int(x) and kind in ("0", "plain") else x for x in rounded]


def _rating_axis_limits(rating: HostArray, half_width: HostArray) -> tuple[float, float]:
    """The ratings at the ends of the axis of bars."""
    low, high = float((rating - half_width).min(initial=np.inf)), float((rating + half_width).max(initial=-np.inf))
    return (low - 1.0, high + 1.0) if low < high else (low - 50.0, low + 50.0)


def _build_bar(
    strengths: Strengths, ranks: RankSets | None, name: str, player: int, half_width: float, low: float, high: float
) -> IntervalBar:
    """The bars of a player, on an axis between these ratings."""
    rating, unit = float(strengths.rating[player]), 100.0 / (high - low)
    interval = (
        round((rating - half_width - low) * unit, 3),
        round(2.0 * half_width * unit, 3),
        round((rating - low) * unit, 3),
    )
    between = "held" if strengths.is_anchor[player] else f"{rating - half_width:.0f} to {rating + half_width:.0f}"
    rank_text, rank_interval = "", None
    if ranks is not None:
        rank_width = 100.0 / len(strengths.players)
        least, greatest = int(ranks.least[player]), int(ranks.greatest[player])
        rank_text = f"{least} to {greatest}"
        rank_interval = round((least - 1) * rank_width, 3), round((greatest - least + 1) * rank_width, 3), None
    return IntervalBar(name, f"{rating:.1f}", between, interval, rank_text, rank_interval)


def _win_percentages(strengths: Strengths, player: int, others: list[int]) -> list[float | None]:
    """Percentages of wins against others, with a tie as half; None against themselves."""
    eta = (strengths.rating[player] - strengths.rating[others]) / POINTS_PER_LOG_STRENGTH
    win, tie, _ = outcome_probabilities(
        "bradley_terry" if strengths.model == "plackett_luce" else strengths.model, eta, strengths.kappa
    )
    return [None if j == player else float(x) for j, x in zip(others, 100.0 * (win + 0.5 * tie), strict=True)]
