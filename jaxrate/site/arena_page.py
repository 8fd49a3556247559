"""The page of an arena."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

import numpy as np

from jaxrate.arena.rank_inference import RankSets, difference_variance, further_votes
from jaxrate.arena.strength_drift import StrengthDrift
from jaxrate.arena.strength_fit import Strengths
from jaxrate.core.argument_checks import CHECKED_BY_FUNCTION, check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_range
from jaxrate.site.drawings import Axis, interval_bar, make_axis
from jaxrate.site.html_tables import Column, join_figures, make_column, name_to_html, render_table, text_columns
from jaxrate.site.page_templates import STYLE_FILES, render_page
from jaxrate.site.site_data import values_for_json
from jaxrate.views import findings
from jaxrate.views.charts import DIVERGING_COLOURS, RANK_TICKS, image_address, mix_colours
from jaxrate.views.wording import MODELS, PlayerOrTeamNoun, make_noun


def confidence_assumption(strengths: Strengths, clusters: Sequence[str] = ()) -> str:
    """The sentence on what intervals assume: votes are independent, or those of one cluster (voter, prompt) are not."""
    if clusters:
        named = " or ".join(f"the same {x}" for x in clusters)
        return f"Votes of {named} may depend on each other; all others count as independent."
    if strengths.model == "plackett_luce":
        return "All contests count as independent."
    return "All votes count as independent, even several by one voter."


ARENA_STYLE_FILES = *STYLE_FILES, "arena.css"
SCRIPT_FILES = "words.js", "drawings.js", "table.js", "boxes.js", "arena.js"
MAX_NUMBERED_PLAYERS = 20  # players up to which the matrix is a table of numbers
MAX_MATRIX_PLAYERS = 200  # players with a row of the heat map; more are grouped
NUM_GROUPS = 100  # groups of players with adjacent places
MAX_HEAT_LABELS = 14  # names beside the heat map
TOP_ROWS = 25  # of more than 30 players, which a script shows until all are asked for
MAX_DRIFT_ROWS = 10
PLAYER_COLUMNS = "place", "name", "rating", "low", "high", "best rank", "worst rank", "votes", "score"  # of the list
MAX_LINKED_TAGS = 12  # of a kind, each with a link to those who have it
MAX_COMPARED_PLAYERS = 64  # of whom any two are compared
SURELY_BETTER = 128  # added to the percentage of who is
FAR_SPREADS = 1.5  # distances of the quartiles, or widths of intervals, below the lower quartile, where the axis ends
NO_VALUE, NO_VALUE_COLOUR = 101, "#e4e1d8"  # in place of a percentage
ERROR_WORDS = {
    "curvature": "the curvature of the likelihood",
    "sandwich": "how much results scatter",
    "bootstrap": "drawing the votes anew",
    "curvature, others held": "the curvature of the likelihood, with all other ratings held",
}


class HeatMap(NamedTuple):
    """Expected scores of rows of places against each other."""

    image: str  # its address
    ticks: list[tuple[float, int, str]]  # positions in percent, places, and names
    grouped: bool  # whether a row is a group of players
    data: dict[str, Any]  # for the script: places of each row, and percentages as bytes in base64


class VoteFacts(TypedDict, total=False):
    """What a page says of its votes; see `arena_page_html`."""

    source: str
    dates: str
    left_out: str
    clusters: Sequence[str]
    tags: Annotated[Mapping[str, Sequence[str]], CHECKED_BY_FUNCTION]


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
    than 30 players the first 25 are shown at first. A strong line stands where the order is certain for everybody.
    Who beats whom is a table of numbers for the first 20 players, with a heat map of all if there are more; of over
    200 players, those with adjacent places are grouped.
    With a script, the row that is pointed at tells who is surely better and surely worse, and any two of the first 64
    are compared, with the votes that are needed to tell them apart.

    Args:
      strengths: strengths from `jr.arena.fit_strengths`.
      ranks: rank sets of these strengths, from `jr.arena.rank_sets`. None: no ranks are shown.
      drift: drift in the same votes, from `jr.arena.detect_drift`. None: not shown.
      title: the title of the page, above the heading.
      noun: what the ranked are called, one and many, as ("player", "players"). None: models.
      source: where the votes are from, as "Chatbot Arena".
      dates: when the votes were cast, as "2024-01-01 to 2024-06-30".
      left_out: which votes are not counted, as "12 votes for neither are left out".
      tags: texts [N] of the players by what they are, as {"maker": [...]}: shown beside names, searched and linked.
      clusters: the columns of dependent votes to which the strengths were fitted, as ["voter", "prompt"].

    Raises:
      ValueError: if ranks or drift are of other players, the noun is not two words, or tags are not a text of each
        player under names that the list has not.
      ImportError: if jinja2 is not installed.
    """
    for name, other in (("ranks", ranks), ("drift", drift)):
        if other is not None and not np.array_equal(other.players, strengths.players):
            raise ValueError(f"{name} must be of the same players as the strengths")
    words, names = make_noun(noun, MODELS), [" ".join(str(x).split()) for x in strengths.players]
    tags = _check_tags(about.get("tags", {}), len(names))
    views = _certainty_view(strengths, ranks, names, words) | _ranking_view(strengths, ranks, names, words, tags)
    views |= _matrix_view(strengths, names) | _drift_view(drift, words)
    pairs = encode_pairs(strengths, ranks)
    certain = f"What is {'not ' * (not views['findings'])}certain" * bool(views["findings"] or views["doubt"])
    links = {"#certain": certain, "#ranking": "Ranking", "#two": "Compare two" * bool(pairs)}
    links |= {"#matrix": "Who beats whom" * bool(views["matrix"])}
    links |= {"#moved": "Who changed" * (drift is not None), "#about": "Method"}
    data: dict[str, Any] = {"noun": words.one, "heat": views["heat_map"] and views["heat_map"].data}
    data["pairs"] = pairs or None
    data |= {"low": views["axis"].low, "tags": [*tags]}
    return render_page(
        "arena.html",
        SCRIPT_FILES,
        ARENA_STYLE_FILES,
        **views,
        title=title,
        links=links,
        source=about.get("source", ""),
        dates=about.get("dates", ""),
        left_out=about.get("left_out", "")[:1].upper() + about.get("left_out", "")[1:],
        strengths=strengths,
        ranks=ranks,
        compared=[names[i] for i in findings.rated_ids(strengths)[: pairs.get("players", 0)]],
        model=strengths.model.replace("_", "-").title(),
        noun=words,
        assumption=confidence_assumption(strengths, about.get("clusters", ())),
        errors=ERROR_WORDS.get(strengths.errors, strengths.errors),
        data=_player_list_columns(strengths, ranks, names, tags) | data,
    )


def _certainty_view(
    strengths: Strengths, ranks: RankSets | None, names: list[str], noun: PlayerOrTeamNoun
) -> dict[str, Any]:
    """The variables of the headline, and of what is certain and what is not."""
    lead, certain = (
        findings.find_lead_in_votes(names, strengths, ranks, noun),
        findings.find_certain_ranks(names, strengths, ranks, noun),
    )
    is_sure = lead is not None and lead.certainty == "clear"
    return {
        "headline": str(findings.find_first_place(names, strengths, ranks, noun)),
        "worth": str(findings.find_worth_in_votes(names, strengths) or ""),
        "findings": [*map(str, [lead, *certain] if is_sure else certain)],
        "doubt": str(lead or "") * (not is_sure),
    }


def _check_tags(tags: Any, count: int) -> Mapping[str, Sequence[str]]:
    """The tags; ValueError unless each kind has a text of each player and a name of its own."""
    check_that(isinstance(tags, Mapping), f"tags must be texts by what they are, as {{'maker': [...]}}, got {tags!r}")
    for name, texts in tags.items():
        if np.shape(texts) != (count,) or not all(isinstance(x, str) for x in texts):
            raise ValueError(f"tags[{name!r}] must be {count} texts, one of each player in the order of the strengths")
        is_named = isinstance(name, str) and name.strip() and name.lower() not in PLAYER_COLUMNS
        check_that(is_named, f"tags cannot be called {name!r}: the list has such a column, or it is no text")
    return dict(tags)


def _player_list_columns(
    strengths: Strengths, ranks: RankSets | None, names: list[str], tags: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The table of all players for the script and for downloads, the best first."""
    half, rating = np.nan_to_num(strengths.half_width, posinf=0.0), strengths.rating
    columns = {"place": np.argsort(strengths.order) + 1, "name": np.array(names, object)}
    columns |= {name: np.array(x, object) for name, x in tags.items()}
    columns |= {"rating": rating, "low": rating - half, "high": rating + half}
    columns |= {} if ranks is None else {"best rank": ranks.least, "worst rank": ranks.greatest}
    columns |= {"votes": strengths.games, "score": strengths.score}
    digits = {"votes": 3, "score": 3}
    board = [values_for_json(x[strengths.order], digits.get(name, 1)) for name, x in columns.items()]
    return {"columns": [*columns], "board": [*zip(*board, strict=True)]}


def _ranking_view(
    strengths: Strengths,
    ranks: RankSets | None,
    names: list[str],
    noun: PlayerOrTeamNoun,
    tags: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """The variables of the table of all players, the best first."""
    ids, border = strengths.order, _find_borders(strengths, ranks)
    rating, half, games, score = (
        x[ids]
        for x in (strengths.rating, np.nan_to_num(strengths.half_width, posinf=0.0), strengths.games, strengths.score)
    )
    margins = np.where(strengths.is_anchor[ids], "held", [f"± {x:.0f}" for x in half])
    is_known = np.isfinite(rating)
    axis = _rating_axis(rating[is_known], half[is_known])
    pairs = zip(rating.tolist(), half.tolist(), is_known.tolist(), strict=True)
    bars = [interval_bar(axis, x, y, 0) if known else "" for x, y, known in pairs]
    head = f'<span class="label">95% interval</span><span class="axis">{axis.labels}</span>'
    marks = np.where(border, "border", "").tolist()
    columns = [
        make_column("figure rank", "place", range(1, len(ids) + 1), str, label="rank", marks=marks),
        Column("words name", noun.one, [_name_with_tags(names[i], [x[i] for x in tags.values()]) for i in ids], "name"),
        make_column("figure rating", "rating", rating.tolist(), _format_rating, label="rating"),
        make_column("figure margin", "margin", np.where(is_known, margins, "").tolist()),
        Column("interval", head, bars),
        *([] if ranks is None else [_rank_column(ranks, ids)]),
        make_column("figure votes", "votes", games, "{:,.15g}".format, label="votes"),
        make_column("figure score", "score", score, lambda x: f"{100 * x:.0f}%".replace("nan%", ""), label="score"),
    ]
    return {
        "axis": axis,
        "num_off_axis": int((rating[is_known] < axis.low).sum()),
        "board": render_table("Ranking", columns, "rows ranking strengths", element="board", style=axis.grid),
        "has_border": border.any(),
        "filters": {x: links for x, y in tags.items() if 1 < len(links := sorted({*y} - {""})) <= MAX_LINKED_TAGS},
        "shown": TOP_ROWS if len(ids) > 1.2 * TOP_ROWS else len(ids),
    }


def _name_with_tags(name: str, tags: Sequence[str]) -> str:
    """A name as HTML, with the tags of its player."""
    shown = " · ".join(escape(x) for x in tags if x)
    return f"<span>{name_to_html(name)} <small>{shown}</small></span>" if shown else name_to_html(name)


def _rating_axis(rating: HostArray, half_width: HostArray) -> Axis:
    """One axis for all rows, of which it leaves out those far below most others: they would make all bars small."""
    if not len(rating):
        return make_axis(1000.0, 2000.0)
    lower, upper = np.quantile(rating, (0.25, 0.75))
    far = lower - FAR_SPREADS * max(upper - lower, 2.0 * float(np.median(half_width)))
    return make_axis(max(float(np.min(rating - half_width)), float(far)), float(np.max(rating + half_width)))


def _rank_column(ranks: RankSets, ids: HostArray) -> Column:
    """The ranks that each of these may have; those that are certain are marked."""
    least, greatest = ranks.least[ids], ranks.greatest[ids]
    marks = np.where(least == greatest, "sure", "").tolist()
    return Column(
        "figure ranks", "ranks", [*map(format_range, least.tolist(), greatest.tolist())], "ranks", marks=marks
    )


def _find_borders(strengths: Strengths, ranks: RankSets | None) -> HostArray:
    """Whether everybody until each place is surely better than everybody below."""
    places = np.arange(1, len(strengths.order) + 1)
    if ranks is None:
        return np.zeros(len(places), bool)
    greatest = np.maximum.accumulate(ranks.greatest[strengths.order])
    return (greatest <= places) & (places < len(places))


def _format_rating(rating: float) -> str:
    """A rating, or the end at which a player without a finite one stands."""
    return f"{rating:,.0f}" if np.isfinite(rating) else {np.inf: "∞", -np.inf: "-∞"}.get(rating, "?")


def _matrix_view(strengths: Strengths, names: list[str]) -> dict[str, Any]:
    """The variables of who beats whom."""
    rated = findings.rated_ids(strengths).tolist()
    numbered = rated[:MAX_NUMBERED_PLAYERS] if len(rated) > 1 else []
    percent = strengths.expected_percentages(numbered)
    rows = np.where(np.isnan(percent), np.array(None), percent).tolist()
    return {
        "matrix": [*zip(map(name_to_html, [names[i] for i in numbered]), rows, strict=True)],
        "never_met": _never_met(strengths, numbered),
        "heat_map": build_heat_map(strengths, rated) if len(rated) > MAX_NUMBERED_PLAYERS else None,
        "rated": len(rated),
        "whole": join_figures,
    }


def encode_pairs(strengths: Strengths, ranks: RankSets | None) -> dict[str, Any]:
    """Any two of the best players with a finite rating, for the script; nothing where leads have no errors.

    Rows and columns of its tables, in base64, are of the best players first: votes won of 100 with who is surely better
    (bytes), errors of leads in tenths of points (16 bits), and further votes that tell two apart (32 bits).
    """
    ids = findings.rated_ids(strengths)[:MAX_COMPARED_PLAYERS]
    if strengths.covariance is None or not strengths.converged or len(ids) < 2:
        return {}
    lead = strengths.rating[ids, None] - strengths.rating[ids]
    error = np.sqrt(difference_variance(strengths.covariance[np.ix_(ids, ids)]))
    percent = encode_percentages_as_bytes(strengths.expected_percentages(ids))
    surely = np.zeros(percent.shape, bool) if ranks is None else ranks.surely_better[np.ix_(ids, ids)]
    tables = {
        "score": percent + np.where(surely, SURELY_BETTER, 0).astype(np.uint8),
        "error": np.minimum(np.rint(10.0 * error), np.iinfo(np.uint16).max).astype("<u2"),
        "needed": np.minimum(further_votes(strengths, ids, lead), np.iinfo(np.uint32).max).astype("<u4"),
    }
    facts: dict[str, Any] = {"players": len(ids), "first": int(np.isposinf(strengths.rating).sum())}
    facts["width"] = strengths.errors_to_either_side
    return facts | {name: b64encode(table.tobytes()).decode() for name, table in tables.items()}


def _never_met(strengths: Strengths, players: list[int]) -> list[list[bool]]:
    """[n][n] which of these players have no votes against each other; nothing if that is not known."""
    if strengths.met is None:
        return []
    has_met = np.eye(len(strengths.players), dtype=bool)
    has_met[tuple(strengths.met.T)] = has_met[tuple(strengths.met.T[::-1])] = True
    return list((~has_met[np.ix_(players, players)]).tolist())


def _drift_view(drift: StrengthDrift | None, noun: PlayerOrTeamNoun) -> dict[str, Any]:
    """The variables of who changed while the votes were cast."""
    if drift is None:
        return {"drift": None}
    heads, rows = drift.heads_and_cells(MAX_DRIFT_ROWS)
    table = render_table("Who changed", text_columns([noun.one, *[*heads][1:]], rows), "", box=True)
    return {"drift": drift, "changes": table, "num_changes": len(rows)}


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
    step = next(x for x in RANK_TICKS if MAX_HEAT_LABELS * x >= count)
    ticks = [
        (round(100.0 * (place - 0.5) / count, 2), place, " ".join(str(strengths.players[players[place - 1]]).split()))
        for place in [1, *range(max(step, 2), count + 1, step)]
    ]
    data = {"places": places, "percent": b64encode(encode_percentages_as_bytes(percent).tobytes()).decode()}
    return HeatMap(heat_map_png(percent), ticks, grouped, data)


def encode_percentages_as_bytes(percent: HostArray) -> HostArray:
    """[n, m] percentages as bytes; 101 for NaN."""
    return np.where(np.isnan(percent), NO_VALUE, np.round(percent)).astype(np.uint8)


def heat_map_png(percent: HostArray) -> str:
    """The address, with the data in it, of a PNG with a pixel for each of the percentages [n, m]; NaN is grey."""
    palette = [*(mix_colours(DIVERGING_COLOURS, x / 100) for x in range(101)), mix_colours([NO_VALUE_COLOUR] * 2, 0.0)]
    return image_address(encode_percentages_as_bytes(percent), palette)
