"""The page of an arena."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from jaxrate.arena.rank_inference import RankSets
from jaxrate.arena.strength_drift import StrengthDrift
from jaxrate.arena.strength_fit import Strengths
from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_range
from jaxrate.site.drawings import interval_bar, make_axis, round_step
from jaxrate.site.forecast_tables import DARK_COLOURS, heat_map_png, whole_percentages
from jaxrate.site.page_templates import STYLE_FILES, join_figures
from jaxrate.site.page_views import render_page
from jaxrate.site.table_rows import Column, column_cells, table_head
from jaxrate.views.charts import DIVERGING_COLOURS
from jaxrate.views.findings import (
    find_certain_ranks,
    find_first_place,
    find_lead_in_votes,
    find_worth_in_votes,
    rated_ids,
)
from jaxrate.views.wording import MODELS, PlayerOrTeamNoun, make_noun


def confidence_assumption(strengths: Strengths, clusters: Sequence[str] = ()) -> str:
    """What the model takes for granted about dependence, in a sentence."""
    if clusters:
        named = " or ".join(f"the same {x}" for x in clusters)
        return f"The model treats votes of {named} as dependent, and all others as independent."
    if strengths.model == "plackett_luce":
        return "The model treats all contests as independent."
    return "The model treats all votes as independent, even several by one voter."


ARENA_STYLE_FILES = *STYLE_FILES, "arena.css"
SCRIPT_FILES = "words.js", "drawings.js", "table.js", "arena.js"
MAX_NUMBERED_PLAYERS = 20  # players up to which the matrix is a table of numbers
MAX_MATRIX_PLAYERS = 200  # players with a row of the heat map; more are grouped
NUM_GROUPS = 100  # groups of players with adjacent places
MAX_HEAT_LABELS = 14  # names beside the heat map
TOP_ROWS = 25  # of more than 30 players, those in the first table; at most so many in each later one
MIN_BAR_SHARE = 0.02  # of an axis: the usual interval that is drawn as a bar; shorter ones are written
MAX_DRIFT_ROWS = 10
ERROR_WORDS = {
    "curvature": "the curvature of the likelihood",
    "sandwich": "how much results scatter",
    "bootstrap": "drawing the votes anew",
    "curvature, others held": "the curvature of the likelihood, with all other ratings held",
}


class HeatMap(NamedTuple):
    """Expected scores of rows of places against each other."""

    light: str  # addresses of images
    dark: str
    ticks: list[tuple[float, int, str]]  # positions in percent, places, and names
    grouped: bool  # whether a row is a group of players
    data: dict[str, Any]  # for the script: places of each row, and percentages as bytes in base64


class VoteFacts(TypedDict, total=False):
    """What a page says of its votes; see `arena_page_html`."""

    source: str
    dates: str
    left_out: str
    clusters: Sequence[str]


@enforce_argument_annotations
def arena_page_html(
    strengths: Strengths,
    *,
    ranks: RankSets | None = None,
    drift: StrengthDrift | None = None,
    title: str = "Strengths",
    noun: Any = None,
    **about: Unpack[VoteFacts],
) -> str:
    """The HTML of the page, to be written to a file in UTF-8.

        strengths = jr.arena.fit_strengths(votes)
        page = jr.site.arena_page_html(strengths, ranks=jr.arena.rank_sets(strengths))
        pathlib.Path("page.html").write_text(page, encoding="utf-8")

    Its heading is what was found. A table has a row for each player, with the interval and the possible ranks; of more
    than 30 players, those after the first 25 are in tables of their own, each with its axis. A strong line stands where
    the order is certain for everybody. Who beats whom is a table of numbers for the first 20 players, with a heat map
    of all if there are more; of more than 200 players, those with adjacent places are grouped.

    Args:
      strengths: strengths from `jr.arena.fit_strengths`.
      ranks: rank sets of these strengths, from `jr.arena.rank_sets`. None: no ranks are shown.
      drift: drift in the same votes, from `jr.arena.detect_drift`. None: not shown.
      title: the title of the page, above the heading.
      noun: what the ranked are called, one and many, as ("player", "players"). None: models.
      source: where the votes are from, as "Chatbot Arena".
      dates: when the votes were cast, as "2024-01-01 to 2024-06-30".
      left_out: which votes are not counted, as "12 votes for neither are left out".
      clusters: the columns of dependent votes to which the strengths were fitted, as ["voter", "prompt"].

    Raises:
      ValueError: if ranks or drift are of other players, or the noun is not two words.
      ImportError: if jinja2 is not installed.
    """
    _check_players("ranks", ranks, strengths)
    _check_players("drift", drift, strengths)
    words, names = make_noun(noun, MODELS), [" ".join(str(x).split()) for x in strengths.players]
    rated, left_out = rated_ids(strengths).tolist(), about.get("left_out", "")
    half_width = np.where(np.isfinite(strengths.half_width), strengths.half_width, 0.0)
    numbered = rated[:MAX_NUMBERED_PLAYERS] if len(rated) > 1 else []
    heat_map = None if len(rated) <= MAX_NUMBERED_PLAYERS else build_heat_map(strengths, rated)
    lead = find_lead_in_votes(names, strengths, ranks, words)
    is_sure = lead is not None and lead.certainty == "clear"
    bounds = pairwise(_table_bounds(len(names)))
    return render_page(
        "arena.html",
        SCRIPT_FILES,
        ARENA_STYLE_FILES,
        title=title,
        source=about.get("source", ""),
        dates=about.get("dates", ""),
        left_out=left_out[:1].upper() + left_out[1:],
        strengths=strengths,
        model=strengths.model.replace("_", "-").title(),
        noun=words,
        headline=str(find_first_place(names, strengths, ranks, words)),
        findings=[*map(str, [*[lead] * is_sure, *find_certain_ranks(names, strengths, ranks, words)])],
        doubt="" if is_sure else str(lead or ""),
        worth=str(find_worth_in_votes(names, strengths) or ""),
        assumption=confidence_assumption(strengths, about.get("clusters", ())),
        errors=ERROR_WORDS.get(strengths.errors, strengths.errors),
        never_met=_never_met(strengths, numbered),
        whole=join_figures,
        ranks=ranks,
        drift=drift,
        tables=[_build_table(strengths, ranks, words, part, half_width) for part in bounds],
        rated=len(rated),
        matrix=[(names[i], x) for i, x in zip(numbered, strengths.expected_percentages(numbered), strict=True)],
        heat_map=heat_map,
        changes=None if drift is None else drift.table_rows(MAX_DRIFT_ROWS),
        data=_list_columns(strengths, ranks, names, half_width)
        | {"noun": words.one, "heat": None if heat_map is None else heat_map.data},
    )


def _check_players(name: str, other: RankSets | StrengthDrift | None, strengths: Strengths) -> None:
    """ValueError if ranks or drift are of others than the strengths."""
    if other is not None and not np.array_equal(other.players, strengths.players):
        raise ValueError(f"{name} must be of the same players as the strengths")


def _table_bounds(count: int) -> list[int]:
    """The places at which tables end, from 0: the first 25, and the others in equal parts of at most 25."""
    if count <= 1.2 * TOP_ROWS:
        return [0, count]
    parts = -(-(count - TOP_ROWS) // TOP_ROWS)
    return [0, *np.linspace(TOP_ROWS, count, parts + 1).round().astype(int).tolist()]


def _never_met(strengths: Strengths, players: list[int]) -> list[list[bool]]:
    """[n][n] which of these players have no votes against each other."""
    if strengths.met is None:
        return [[False] * len(players) for _ in players]
    pairs = {frozenset(pair) for pair in strengths.met.tolist()}
    return [[i != j and frozenset((i, j)) not in pairs for j in players] for i in players]


def _list_columns(
    strengths: Strengths, ranks: RankSets | None, names: list[str], half_width: HostArray
) -> dict[str, Any]:
    """The table of all players for the script and for downloads, the best first."""
    columns = {"place": np.argsort(strengths.order) + 1, "name": np.array(names, object)}
    columns |= {"rating": strengths.rating, "low": strengths.rating - half_width, "high": strengths.rating + half_width}
    columns |= {} if ranks is None else {"best rank": ranks.least, "worst rank": ranks.greatest}
    columns |= {"votes": strengths.games, "score": strengths.score}
    digits = {"votes": 3, "score": 3}
    board = [_json_numbers(x[strengths.order], digits.get(name, 1)) for name, x in columns.items()]
    return {"columns": [*columns], "board": [*zip(*board, strict=True)]}


def _json_numbers(values: HostArray, digits: int) -> list[Any]:
    """Rounded numbers, or text, for JSON; None for numbers that are not finite."""
    if values.dtype.kind == "O":
        return list(values.tolist())
    rounded = [round(float(x), digits) if np.isfinite(x) else None for x in values]
    return [int(x) if x is not None and x == int(x) else x for x in rounded]


def _build_table(
    strengths: Strengths, ranks: RankSets | None, noun: PlayerOrTeamNoun, part: tuple[int, int], half_width: HostArray
) -> dict[str, Any]:
    """The variables of a table of the players from one place to another, counted from 0, the best first."""
    ids, places = strengths.order[slice(*part)], np.arange(*part) + 1
    is_known = np.isfinite(strengths.rating[ids])
    margins = ["held" if x else f"± {y:.0f}" for x, y in zip(strengths.is_anchor[ids], half_width[ids], strict=True)]
    names = [f"<bdi>{escape(join_figures(' '.join(str(x).split())))}</bdi>" for x in strengths.players[ids]]
    grid, labels, intervals = _draw_intervals(strengths.rating[ids], half_width[ids], is_known)
    head = f'<span class="label">95% interval</span><span class="axis">{labels}</span>'
    border = _find_borders(strengths, ranks, places)
    columns = [
        Column("figure rank", "place", [*map(str, places)], "rank", marks=["border" * bool(x) for x in border]),
        Column("words name", noun.one, names, "name"),
        Column("figure rating", "rating", [_format_rating(x) for x in strengths.rating[ids].tolist()], "rating"),
        Column("figure margin", "margin", _blank_unrated(is_known, margins)),
        Column("interval", head, _blank_unrated(is_known, intervals)),
        *([] if ranks is None else [_rank_column(ranks, ids)]),
        Column("figure votes", "votes", [f"{x:,.15g}" for x in strengths.games[ids]], "votes"),
        Column("figure score", "score", [f"{100 * x:.0f}%".replace("nan%", "") for x in strengths.score[ids]], "score"),
    ]
    rows = zip(*map(column_cells, columns), strict=True)
    about = {"first": part[0] + 1, "last": part[1], "has_border": bool(border.any()), "grid": grid}
    return about | {"heads": table_head(columns), "rows": [f"<tr>{'</td>'.join(row)}</td></tr>" for row in rows]}


def _rank_column(ranks: RankSets, ids: HostArray) -> Column:
    """The ranks that each of these may have; those that are certain are marked."""
    ends = [*zip(ranks.least[ids].tolist(), ranks.greatest[ids].tolist(), strict=True)]
    marks = ["sure" * (least == greatest) for least, greatest in ends]
    return Column("figure ranks", "ranks", [format_range(*x) for x in ends], "ranks", marks=marks)


def _draw_intervals(rating: HostArray, half_width: HostArray, is_known: HostArray) -> tuple[str, str, list[str]]:
    """The grid and the labels of an axis, and intervals as bars; without labels as text if they are too short."""
    low, high = (rating + sign * half_width for sign in (-1.0, 1.0))
    ends = (low[is_known].min(), high[is_known].max()) if is_known.any() else (1000.0, 2000.0)
    axis = make_axis(*map(float, ends))
    if is_known.any() and 2.0 * np.median(half_width[is_known]) < MIN_BAR_SHARE * (axis.high - axis.low):
        return axis.grid, "", [f"{x:,.0f} to {y:,.0f}" for x, y in zip(low, high, strict=True)]
    pairs = zip(np.where(is_known, rating, 0.0).tolist(), half_width.tolist(), strict=True)
    return axis.grid, axis.labels, [interval_bar(axis, x, y or None) for x, y in pairs]


def _find_borders(strengths: Strengths, ranks: RankSets | None, places: HostArray) -> HostArray:
    """Whether everybody until each of these places is surely better than everybody below."""
    if ranks is None:
        return np.zeros(len(places), bool)
    greatest = np.maximum.accumulate(ranks.greatest[strengths.order])[places - 1]
    return (greatest <= places) & (places < len(strengths.order))


def _blank_unrated(is_known: HostArray, texts: list[str]) -> list[str]:
    """The texts of players with a finite rating, nothing of the others."""
    return [text if known else "" for known, text in zip(is_known, texts, strict=True)]


def _format_rating(rating: float) -> str:
    """A rating, or the end at which a player without a finite one stands."""
    return f"{rating:,.0f}" if np.isfinite(rating) else {np.inf: "∞", -np.inf: "-∞"}.get(rating, "?")


def build_heat_map(strengths: Strengths, players: list[int]) -> HeatMap:
    """The heat map of these players, the best first; of more than 200 the means of groups with adjacent places."""
    count, grouped = len(players), len(players) > MAX_MATRIX_PLAYERS
    starts = np.linspace(0, count, (NUM_GROUPS if grouped else count) + 1).round().astype(int)
    rows = []
    for low, high in pairwise(starts.tolist()):
        scores = strengths.expected_percentages(players[low:high], players)
        weight = np.add.reduceat(np.sum(~np.isnan(scores), axis=0), starts[:-1])
        total = np.add.reduceat(np.nansum(scores, axis=0), starts[:-1])
        rows.append(np.where(weight > 0, total / np.maximum(weight, 1), np.nan))
    percent = np.stack(rows)
    places = [[low + 1, high] for low, high in pairwise(starts.tolist())]
    step = max(int(round_step(count, MAX_HEAT_LABELS)), 1)
    ticks = [
        (round(100.0 * (place - 0.5) / count, 2), place, " ".join(str(strengths.players[players[place - 1]]).split()))
        for place in [1, *range(max(step, 2), count + 1, step)]
    ]
    data = {"places": places, "percent": b64encode(whole_percentages(percent).tobytes()).decode()}
    images = [heat_map_png(percent, colours) for colours in (DIVERGING_COLOURS, DARK_COLOURS)]
    return HeatMap(images[0], images[1], ticks, grouped, data)
