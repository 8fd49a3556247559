"""Scorelines of matches to come, as pages show them: the likeliest ones, totals, and a small heat map."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_percentage, format_whole_percent
from jaxrate.forecasts.scorelines import Scorelines, summarise_scorelines
from jaxrate.history.column_table import ColumnTable
from jaxrate.site.forecast_tables import MatchForecast

MAX_CARDS = 50  # on the page
SHOWN_GOALS = 5  # of a side, in a heat map; the last row and column of cells also hold more
LIKELIEST = 3  # scorelines that are told
CELL = 10  # units of a drawing
FRAME_INSET = 0.4  # of a draw, so that its frame stays within its cell
STRONGEST_SHADE = 0.6  # of the line colour, on which text can still be read


class ScorelineCard(NamedTuple):
    """What is told of the goals of a match, as text, and its heat map as SVG."""

    first: str  # as they are named in the history
    second: str
    likeliest: list[tuple[str, str]]  # scorelines, and their chances
    goals: tuple[str, str]  # in the mean
    over: str  # the chance of more than 2.5 goals
    both_score: str
    drawing: str


def add_scoreline_columns(forecasts: ColumnTable | None, scorelines: Scorelines | None) -> ColumnTable | None:
    """The forecasts of matches, with goals and the likeliest scoreline of each; ValueError if they are of others."""
    if forecasts is None or scorelines is None:
        return forecasts
    sides = ((forecasts[name].tolist() if name in forecasts else []) for name in ("a", "b"))
    if list(sides) != [scorelines.a.tolist(), scorelines.b.tolist()]:
        raise ValueError("scorelines must be of the matches of coming, in the same order")
    summary = summarise_scorelines(scorelines)
    names = "goals_a", "goals_b", "likeliest", "over", "both_score"
    return ColumnTable(dict(forecasts) | {name: summary[name] for name in names})


def build_scoreline_cards(scorelines: Scorelines | None, matches: Sequence[MatchForecast]) -> list[ScorelineCard]:
    """The first matches as cards; the side that a page names first is first."""
    if scorelines is None:
        return []
    cards = []
    rows = summarise_scorelines(scorelines).to_records()
    for row, table, match in list(zip(rows, scorelines.probability, matches, strict=True))[:MAX_CARDS]:
        is_turned = match.first != str(row["a"])
        chances = table.T if is_turned else table
        goals = row["goals_a"], row["goals_b"]
        order = np.argsort(-chances, axis=None, kind="stable")[:LIKELIEST]
        cells = [divmod(int(i), len(chances)) for i in order]
        likeliest = [(f"{x}:{y}", format_percentage(float(chances[x, y]))) for x, y in cells]
        first, second = (f"{x:.1f}" for x in (goals[::-1] if is_turned else goals))
        over, both = format_percentage(row["over"]), format_percentage(row["both_score"])
        drawing = scoreline_drawing(chances)
        cards.append(ScorelineCard(match.first, match.second, likeliest, (first, second), over, both, drawing))
    return cards


def render_next_matches(
    cards: Sequence[ScorelineCard], places: Mapping[str, tuple[str, str]], environment: Any
) -> dict[str, str]:
    """HTML of the first card of each player, by the name of their page.

    `places` has the name of the page and the display name of each player of the history, by their name there.
    """
    render = environment.get_template("scorelines.html").module.next_match
    first: dict[str, str] = {}
    for card in cards:
        slugs = {places[name][0] for name in (card.first, card.second) if name in places}
        if new := slugs - first.keys():
            first |= dict.fromkeys(new, str(render(card, places)))
    return first


def scoreline_drawing(probability: HostArray) -> str:
    """The chances [K, K] of scorelines as SVG: goals of the first by row, of the second by column, percent in cells.

    The strongest shade is that of the likeliest scoreline, and draws have a frame.
    """
    size = min(SHOWN_GOALS, len(probability) - 1) + 1
    starts = np.arange(size)
    shown = np.add.reduceat(np.add.reduceat(np.asarray(probability, float), starts, axis=0), starts, axis=1)
    most = max(float(shown.max()), 1e-9)
    parts = []
    for i in range(size):
        more = "+" * (i == size - 1)
        middle = CELL * i + 1.5 * CELL
        parts.append(f'<text x="{0.5 * CELL:g}" y="{middle:g}">{i}{more}</text>')
        parts.append(f'<text x="{middle:g}" y="{0.5 * CELL:g}">{i}{more}</text>')
        for k in range(size):
            x, y, chance = CELL * (k + 1), CELL * (i + 1), float(shown[i, k])
            is_draw = i == k < size - 1
            inset = FRAME_INSET if is_draw else 0.0
            place = f'x="{x + inset:g}" y="{y + inset:g}" width="{CELL - 2 * inset:g}" height="{CELL - 2 * inset:g}"'
            kind, shade = ' class="draw"' * is_draw, STRONGEST_SHADE * chance / most
            parts.append(f'<rect{kind} {place} fill-opacity="{shade:.2f}"/>')
            if chance >= 0.005:
                parts.append(f'<text x="{x + CELL // 2}" y="{middle:g}">{format_whole_percent(100.0 * chance)}</text>')
    length = CELL * (size + 1)
    best = np.unravel_index(int(np.argmax(shown)), shown.shape)
    label = f"Chances of scorelines in percent; {best[0]}:{best[1]} is likeliest"
    return f'<svg class="goals" viewBox="0 0 {length} {length}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
