"""Why forecasts are as they are: what each side contributes, part by part, as tables that add up."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxrate.core.text_format import format_decimals, format_percentages, round_to_sum, use_minus_sign
from jaxrate.forecasts.prediction_explanations import TEXT_COLUMNS, Explanation, heads_and_cells
from jaxrate.site.forecast_tables import MatchForecast
from jaxrate.site.home_sides import HOME, SideWords

MAX_EXPLANATIONS = 50  # on the page
PART_NAMES = {
    "skill": "strength",
    "modifier": "in this category",
    "own_side": "own side",
}


class ExplanationTable(NamedTuple):
    """What each side, or each player of teams, contributes to a forecast, as text."""

    title: str
    heads: list[str]  # players by their name in the history
    rows: list[list[str]]
    words: list[bool]  # which columns hold words
    names: int | None  # the column that holds names of players; None: the heads are those
    num_totals: int  # rows at the end that are sums


def build_explanation_tables(
    explanations: Sequence[Explanation],
    matches: Sequence[MatchForecast],
    names: Mapping[str, str],
    digits: int,
    expected: str,
    words: SideWords = HOME,
) -> tuple[list[ExplanationTable], int]:
    """The first explanations as tables, titled by display names of the sides; and how many more there are.

    Args:
      explanations: of each forecast.
      matches: the same forecasts, which say who is at home; none of contests.
      names: display names, by those in the history.
      digits: decimals of points.
      expected: what the expectation of a match is called.
      words: what sides are called.
    """
    tables = []
    for number, one in enumerate(explanations[:MAX_EXPLANATIONS]):
        side, player = one.parts["side"], one.parts["player"]
        sides = [" & ".join(names.get(str(x), str(x)) for x in player[side == k]) for k in one.sides["side"]]
        if len(side) == len(sides) == 2 and "weight" not in one.parts:
            match = matches[number] if len(matches) == len(explanations) else None
            tables.append(_tabulate_match(one, match, names, digits, expected, words))
        else:
            tables.append(_tabulate_teams(" \u2013 ".join(sides), one))
    return tables, max(len(explanations) - MAX_EXPLANATIONS, 0)


def _tabulate_match(
    one: Explanation,
    match: MatchForecast | None,
    names: Mapping[str, str],
    digits: int,
    expected: str,
    words: SideWords,
) -> ExplanationTable:
    """A row for each part: that of both, and the difference; the last rows are the sums and what is expected."""
    players = [str(x) for x in one.parts["player"]]
    order = [1, 0] if match is not None and players[0] != match.first else [0, 1]
    at_home = match is not None and match.has_home
    heads = ["", *(players[i] for i in order), "difference"]
    parts = {name: x[order] for name, x in one.parts.items() if name not in (*TEXT_COLUMNS, "points")}
    shown = np.stack([round_to_sum([float(x[i]) for x in parts.values()], digits) for i in (0, 1)], axis=1)
    shown = np.concatenate([shown, shown[:, :1] - shown[:, 1:]], axis=1)
    rows = [
        [_name_part(name, words if at_home else None), *(_format_points(x, digits) for x in row)]
        for name, row in zip(parts, shown.tolist(), strict=True)
        if any(row)
    ]
    if "category" in one.parts:
        rows.append(["category", *(str(one.parts["category"][i]) for i in order), ""])
    rows.append(["sum", *(_format_points(x, digits) for x in shown.sum(axis=0).tolist())])
    chances = [float(one.sides["expected"][i]) for i in order]
    rows.append([expected, *format_percentages(chances), ""])
    title = " \u2013 ".join(names.get(players[i], players[i]) for i in order)
    return ExplanationTable(title, heads, rows, [True, False, False, False], None, 2)


def _format_points(points: float, digits: int) -> str:
    text = use_minus_sign(format_decimals(points, digits, signed=True))
    return text if text.strip("0.") else "0"


def _name_part(name: str, words: SideWords | None) -> str:
    """A part in words; `words` are those of sides, if somebody has one."""
    if words is not None and name == "own_side":
        return f"own form {words.with_and_without}"
    if words is not None and name == "side_advantage":
        return f"{words.names[1]} advantage of all"
    return PART_NAMES.get(name, name.replace("_", " "))


def _tabulate_teams(title: str, one: Explanation) -> ExplanationTable:
    """A row for each player, and one for the sum of each side."""
    heads, cells = heads_and_cells(one.parts)
    rows = [[use_minus_sign(x) for x in row] for row in cells]
    is_word = [x in TEXT_COLUMNS for x in heads]
    for side, points in zip(one.sides["side"].tolist(), one.sides["points"].tolist(), strict=True):
        total = {"side": str(side), "player": "all"}
        total["points"] = use_minus_sign(format_decimals(points, 1, signed=True))
        rows.append([total.get(head, "") for head in heads])
    named = [PART_NAMES.get(x.replace(" ", "_"), "name" if x == "player" else x) for x in heads]
    return ExplanationTable(title, named, rows, is_word, heads.index("player"), len(one.sides["side"]))
