"""Strengths at rest as one page of HTML, which needs no network: table, intervals, ranks, who beats whom, who moved."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.arguments import check_arguments
from jaxrate.records.report import installed
from jaxrate.strengths.certain import RankSets
from jaxrate.strengths.found import POINTS, Strengths
from jaxrate.strengths.models import chances
from jaxrate.strengths.moved import Moved

NumPy = np.ndarray[Any, Any]
WIDE = 1.96  # deviations to either side: 95 %
BARS = 60  # players who are drawn
MATRIX = 20  # players who are compared with each other


class Bar(NamedTuple):
    """A player who is drawn; places are in percent: where it begins, its length, and the dot."""

    name: str
    rating: str
    between: str
    interval: tuple[float, float, float | None]
    ranks: str
    set: tuple[float, float, None] | None


@check_arguments
def arena_report(
    found: Strengths, *, ranks: RankSets | None = None, moved: Moved | None = None, title: str = "Strengths"
) -> str:
    """The page, to be written to a file in UTF-8.

        found = jr.static(votes)
        page = jr.arena_report(found, ranks=jr.rank_sets(found))
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
        if other is not None and not np.array_equal(other.players, found.players):
            raise ValueError(f"{name} must be of the same players as the strengths")
    page, libraries = installed("arena.html")
    order = found.order
    some = [int(i) for i in order if np.isfinite(found.rating[i])]
    wide = np.where(np.isfinite(found.standard_error), WIDE * found.standard_error, 0.0)
    low, high = _ends(found.rating[some], wide[some])
    columns = {"rating": found.rating, "low": found.rating - wide, "high": found.rating + wide}
    if ranks is not None:
        columns |= {"best rank": ranks.least, "worst rank": ranks.greatest}
    columns |= {"votes": found.games, "score": found.score}
    kinds = {"score": "3", "votes": "plain"} | dict.fromkeys(("best rank", "worst rank"), "0")
    shown = [_numbers(values[order], kinds.get(name, "1")) for name, values in columns.items()]
    names = [_name(x) for x in found.players]
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
            found=found,
            model=found.model.replace("_", "-").title(),
            notes=found.notes,
            ranks=ranks,
            moved=moved,
            columns=list(columns),
            ends=(f"{low:.0f}", f"{high:.0f}"),
            bars=[_bar(found, ranks, names[i], i, wide[i], low, high) for i in some[:BARS]],
            matrix=[(names[i], _beats(found, i, some[:MATRIX])) for i in some[:MATRIX]],
            changes=None if moved is None else moved.shown(None),
            data=data,
        )
    )


def _name(player: Any) -> str:
    return " ".join(str(player).split())


def _numbers(values: NumPy, kind: str) -> list[Any]:
    """What JSON can say; None where there is no finite number."""
    digits = 3 if kind == "plain" else int(kind)
    rounded = [round(float(x), digits) if np.isfinite(x) else None for x in values]
    return [int(x) if x is not None and x == int(x) and kind in ("0", "plain") else x for x in rounded]


def _ends(rating: NumPy, wide: NumPy) -> tuple[float, float]:
    """Between which ratings bars are drawn."""
    low, high = float((rating - wide).min(initial=np.inf)), float((rating + wide).max(initial=-np.inf))
    return (low - 1.0, high + 1.0) if low < high else (low - 50.0, low + 50.0)


def _bar(found: Strengths, ranks: RankSets | None, name: str, i: int, wide: float, low: float, high: float) -> Bar:
    """How player i is drawn, between these ratings."""
    rating, unit = float(found.rating[i]), 100.0 / (high - low)
    interval = (round((rating - wide - low) * unit, 3), round(2.0 * wide * unit, 3), round((rating - low) * unit, 3))
    between = "held" if found.held[i] else f"{rating - wide:.0f} to {rating + wide:.0f}"
    said, one = "", None
    if ranks is not None:
        each = 100.0 / len(found.players)
        least, greatest = int(ranks.least[i]), int(ranks.greatest[i])
        said = f"{least} to {greatest}"
        one = round((least - 1) * each, 3), round((greatest - least + 1) * each, 3), None
    return Bar(name, f"{rating:.1f}", between, interval, said, one)


def _beats(found: Strengths, i: int, others: list[int]) -> list[float | None]:
    """In percent, a tie counted as half; None of a player and themselves."""
    eta = (found.rating[i] - found.rating[others]) / POINTS
    win, tie, _ = chances("bradley_terry" if found.model == "plackett_luce" else found.model, eta, found.kappa)
    return [None if j == i else float(x) for j, x in zip(others, 100.0 * (win + 0.5 * tie), strict=True)]
