"""Strengths at rest as one page of HTML, which needs no network: table, intervals, ranks, who beats whom, who moved."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.arena.paired_comparison import outcome_probabilities
from jaxrate.arena.rank_inference import RankSets
from jaxrate.arena.strength_drift import StrengthDrift
from jaxrate.arena.strength_estimates import POINTS_PER_LOG_STRENGTH, Strengths
from jaxrate.argument_checks import check_arguments
from jaxrate.site.report_page import load_template
from jaxrate.types import HostArray

INTERVAL_DEVIATIONS = 1.96  # deviations to either side: 95 %
MAX_BARS = 60  # players who are drawn
MAX_MATRIX_PLAYERS = 20  # players who are compared with each other


class IntervalBar(NamedTuple):
    """A player who is drawn; places are in percent: where it begins, its length, and the dot."""

    name: str
    rating: str
    between: str
    interval: tuple[float, float, float | None]
    ranks: str
    set: tuple[float, float, None] | None


@check_arguments
def write_arena_page(
    strengths: Strengths, *, ranks: RankSets | None = None, moved: StrengthDrift | None = None, title: str = "Strengths"
) -> str:
    """The page, to be written to a file in UTF-8.

        found = jr.arena.fit_strengths(votes)
        page = jr.site.write_arena_page(found, ranks=jr.arena.rank_sets(found))
        pathlib.Path("page.html").write_text(page, encoding="utf-8")

    Args:
      found: as from `static`.
      ranks: as from `rank_sets` of the same. None: no ranks are shown.
      moved: as from `moved` of the same votes. None: not shown.
      title: its heading.

    Raises:
      ValueError: if ranks or moved are of other players.
      ImportError: if jinja2 is not installed.
    """
    for name, other in (("ranks", ranks), ("moved", moved)):
        if other is not None and not np.array_equal(other.players, strengths.players):
            raise ValueError(f"{name} must be of the same players as the strengths")
    page, libraries = load_template("arena.html")
    order = strengths.order
    some = [int(i) for i in order if np.isfinite(strengths.rating[i])]
    wide = np.where(np.isfinite(strengths.standard_error), INTERVAL_DEVIATIONS * strengths.standard_error, 0.0)
    low, high = _rating_limits(strengths.rating[some], wide[some])
    columns = {"rating": strengths.rating, "low": strengths.rating - wide, "high": strengths.rating + wide}
    if ranks is not None:
        columns |= {"best rank": ranks.least, "worst rank": ranks.greatest}
    columns |= {"votes": strengths.games, "score": strengths.score}
    kinds = {"score": "3", "votes": "plain"} | dict.fromkeys(("best rank", "worst rank"), "0")
    shown = [_json_numbers(values[order], kinds.get(name, "1")) for name, values in columns.items()]
    names = [_collapse_spaces(x) for x in strengths.players]
    data = {
        "board": list(zip(range(1, len(order) + 1), [names[i] for i in order], *shown, strict=True)),
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
            found=strengths,
            model=strengths.model.replace("_", "-").title(),
            notes=strengths.notes,
            ranks=ranks,
            moved=moved,
            columns=list(columns),
            ends=(f"{low:.0f}", f"{high:.0f}"),
            bars=[_build_bar(strengths, ranks, names[i], i, wide[i], low, high) for i in some[:MAX_BARS]],
            matrix=[
                (names[i], _win_percentages(strengths, i, some[:MAX_MATRIX_PLAYERS])) for i in some[:MAX_MATRIX_PLAYERS]
            ],
            changes=None if moved is None else moved.shown(None),
            data=data,
        )
    )


def _collapse_spaces(player: Any) -> str:
    return " ".join(str(player).split())


def _json_numbers(values: HostArray, kind: str) -> list[Any]:
    """What JSON can say; None where there is no finite number."""
    digits = 3 if kind == "plain" else int(kind)
    rounded = [round(float(x), digits) if np.isfinite(x) else None for x in values]
    return [int(x) if x is not None and x == int(x) and kind in ("0", "plain") else x for x in rounded]


def _rating_limits(rating: HostArray, half_width: HostArray) -> tuple[float, float]:
    """Between which ratings bars are drawn."""
    low, high = float((rating - half_width).min(initial=np.inf)), float((rating + half_width).max(initial=-np.inf))
    return (low - 1.0, high + 1.0) if low < high else (low - 50.0, low + 50.0)


def _build_bar(
    strengths: Strengths, ranks: RankSets | None, name: str, player: int, half_width: float, low: float, high: float
) -> IntervalBar:
    """How player i is drawn, between these ratings."""
    rating, unit = float(strengths.rating[player]), 100.0 / (high - low)
    interval = (
        round((rating - half_width - low) * unit, 3),
        round(2.0 * half_width * unit, 3),
        round((rating - low) * unit, 3),
    )
    between = "held" if strengths.held[player] else f"{rating - half_width:.0f} to {rating + half_width:.0f}"
    said, one = "", None
    if ranks is not None:
        each = 100.0 / len(strengths.players)
        least, greatest = int(ranks.least[player]), int(ranks.greatest[player])
        said = f"{least} to {greatest}"
        one = round((least - 1) * each, 3), round((greatest - least + 1) * each, 3), None
    return IntervalBar(name, f"{rating:.1f}", between, interval, said, one)


def _win_percentages(strengths: Strengths, player: int, others: list[int]) -> list[float | None]:
    """In percent, a tie counted as half; None of a player and themselves."""
    eta = (strengths.rating[player] - strengths.rating[others]) / POINTS_PER_LOG_STRENGTH
    win, tie, _ = outcome_probabilities(
        "bradley_terry" if strengths.model == "plackett_luce" else strengths.model, eta, strengths.kappa
    )
    return [None if j == player else float(x) for j, x in zip(others, 100.0 * (win + 0.5 * tie), strict=True)]
