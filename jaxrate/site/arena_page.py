"""The page of an arena, and what it finds."""

from base64 import b64encode
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jaxrate.arena.paired_comparison_likelihood import outcome_probabilities
from jaxrate.arena.rank_inference import RankSets
from jaxrate.arena.strength_drift import StrengthDrift
from jaxrate.arena.strength_fit import POINTS_PER_LOG_STRENGTH, Strengths, first_place_finding
from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_range, join_names
from jaxrate.site.drawings import interval_bar, make_axis, round_step
from jaxrate.site.forecast_tables import DARK_COLOURS, LIGHT_COLOURS, heat_map_png, whole_percentages
from jaxrate.site.page_templates import STYLE_FILES, join_figures
from jaxrate.site.page_views import render_page
from jaxrate.site.wording import MODELS, PLAYERS, PlayerOrTeamNoun, make_noun

MAX_LISTED_NAMES = 4  # names in a sentence; of more players, their number
TOP_SIZES = 3, 5, 10, 20, 50  # numbers of first ranks


class ArenaFindings(NamedTuple):
    """What a page says of an arena, in sentences."""

    headline: str
    certain: list[str]
    doubt: str  # of the lead of the first
    worth: str  # of the lead in votes


def headline(
    names: Sequence[str], strengths: Strengths, ranks: RankSets | None, noun: PlayerOrTeamNoun = PLAYERS
) -> str:
    """Who is the best, and whether others may be: the finding at the top of the page."""
    rated = _rated_ids(strengths)
    if not len(rated):
        return "Nobody can be ranked yet"
    leader = f"The leading {noun.one} is {names[rated[0]]}"
    if len(rated) == 1:
        return leader
    if ranks is not None:
        others = [names[i] for i in ranks.possible_leaders if i != rated[0]]
        return first_place_finding([names[rated[0]], *others], ranks.level, noun.one)
    gap = _lead_and_margin(strengths, rated)
    is_close = gap is not None and gap[0] < gap[1]
    return f"{leader}, but {names[rated[1]]} is within the margin of error" if is_close else leader


def _lead_and_margin(strengths: Strengths, rated: HostArray) -> tuple[float, float] | None:
    """The points by which the first is ahead of the second, and their margin of error; None without a margin."""
    if len(rated) < 2 or strengths.covariance is None or not strengths.converged:
        return None
    points, error = strengths.difference(*strengths.players[rated[:2]])
    return float(points), float(strengths.errors_to_either_side * error)


def find_arena_findings(
    names: Sequence[str], strengths: Strengths, ranks: RankSets | None, noun: PlayerOrTeamNoun = PLAYERS
) -> ArenaFindings:
    """What is certain of the lead, of the first place, of the first ranks and of the order of pairs, and what is not.

    With ranks a lead is certain if it is so jointly with all other orders, otherwise by itself.
    """
    rated, title = _rated_ids(strengths), headline(names, strengths, ranks, noun)
    if len(rated) < 2:
        return ArenaFindings(title, [], "", "")
    certain, doubt, (first, second) = [], "", rated[:2]
    gap = _lead_and_margin(strengths, rated)
    if gap is not None:
        lead = f"{names[first]} {noun.verb('leads')} {names[second]} by {gap[0]:.0f} points"
        if gap[0] <= gap[1]:
            doubt = f"{lead}, within the margin of error of {gap[1]:.0f}."
        elif ranks is not None and not ranks.surely_better[first, second]:
            compared = f"with {noun.quantify(len(names))} compared at once that is not enough to be sure"
            doubt = f"{lead}, with a margin of error of {gap[1]:.0f}, but {compared}."
        else:
            certain.append(f"{lead}; the margin of error is {gap[1]:.0f}.")
    if ranks is not None:
        leaders = ranks.possible_leaders
        if len(leaders) > 1:
            is_short = len(leaders) <= MAX_LISTED_NAMES
            those = join_names([names[i] for i in leaders], "or") if is_short else noun.quantify(len(leaders))
            certain.append(f"The best is one of {those}.")
        certain += _players_surely_on_top_finding(names, strengths, ranks)
        pairs, ordered = len(rated) * (len(rated) - 1) // 2, int(ranks.surely_better[np.ix_(rated, rated)].sum())
        share = f"{ordered:,} of {pairs:,} pairs" if ordered < pairs else f"all {pairs:,} pairs"
        certain.append(f"The votes tell who is better in {share}.")
    win, tie, _ = strengths.probability(strengths.players[first], strengths.players[second])
    half = "" if strengths.tie is None else ", a tie as half"
    worth = f"{names[first]} would win {100 * (win + 0.5 * tie):.0f} of 100 votes against {names[second]}{half}."
    return ArenaFindings(title, certain, doubt, worth)


def confidence_assumption(strengths: Strengths, clusters: Sequence[str] = ()) -> str:
    """What the model takes for granted about dependence, in a sentence."""
    if clusters:
        named = " or ".join(f"the same {x}" for x in clusters)
        return f"The model treats votes of {named} as dependent, and all others as independent."
    if strengths.model == "plackett_luce":
        return "The model treats all contests as independent."
    return "The model treats all votes as independent, even several by one voter."


def _players_surely_on_top_finding(names: Sequence[str], strengths: Strengths, ranks: RankSets) -> list[str]:
    """Who surely has one of the first ranks: the least number of ranks that somebody surely keeps to."""
    least = 2 if len(ranks.possible_leaders) == 1 else 1
    for size in (x for x in TOP_SIZES if x < len(strengths.order)):
        inside = [names[i] for i in strengths.order.tolist() if ranks.greatest[i] <= size]
        if least <= len(inside) <= MAX_LISTED_NAMES:
            verb = "is" if len(inside) == 1 else "are"
            return [f"{join_names(inside)} {verb} among the first {size}, at {100 * ranks.level:g}% confidence."]
    return []


def _rated_ids(strengths: Strengths) -> HostArray:
    """[R] ids with a finite rating, the best first."""
    return strengths.order[np.isfinite(strengths.rating[strengths.order])]


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


class PlayerRow(NamedTuple):
    """A row of a table."""

    place: int
    name: str
    rating: str
    margin: str  # half the width of the interval
    bar: str  # the interval, as HTML
    ranks: str
    is_border: bool  # whether everybody until here is surely better than everybody below
    votes: str
    score: str


class RankingTable(NamedTuple):
    """A table of a part of the players, with an axis, or without one if intervals are too short for it."""

    rows: list[PlayerRow]
    labels: str  # of the axis, as HTML
    grid: str


class HeatMap(NamedTuple):
    """Expected scores of rows of places against each other."""

    light: str  # addresses of images
    dark: str
    ticks: list[tuple[float, int, str]]  # positions in percent, places, and names
    grouped: bool  # whether a row is a group of players
    data: dict[str, Any]  # for the script: places of each row, and percentages as bytes in base64


@enforce_argument_annotations
def arena_page_html(
    strengths: Strengths,
    *,
    ranks: RankSets | None = None,
    drift: StrengthDrift | None = None,
    title: str = "Strengths",
    source: str = "",
    dates: str = "",
    left_out: str = "",
    noun: Any = None,
    clusters: Sequence[str] = (),
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
      source: where the votes are from, as "Chatbot Arena".
      dates: when the votes were cast, as "2024-01-01 to 2024-06-30".
      left_out: which votes are not counted, as "12 votes for neither are left out".
      clusters: the columns of dependent votes to which the strengths were fitted, as ["voter", "prompt"].
      noun: what the ranked are called, one and many, as ("player", "players"). None: models.

    Raises:
      ValueError: if ranks or drift are of other players, or the noun is not two words.
      ImportError: if jinja2 is not installed.
    """
    _check_players("ranks", ranks, strengths)
    _check_players("drift", drift, strengths)
    words = make_noun(noun, MODELS)
    names = [" ".join(str(x).split()) for x in strengths.players]
    order = strengths.order
    rated = _rated_ids(strengths).tolist()
    half_width = np.where(np.isfinite(strengths.half_width), strengths.half_width, 0.0)
    bounds = _table_bounds(len(order))
    numbered = rated[:MAX_NUMBERED_PLAYERS]
    percent = expected_percentages(strengths, numbered) if len(rated) > 1 else np.zeros((0, 0))
    heat_map = None if len(rated) <= MAX_NUMBERED_PLAYERS else build_heat_map(strengths, rated)
    findings = find_arena_findings(names, strengths, ranks, words)
    columns = {"place": np.argsort(order) + 1, "name": np.array(names, object)}
    columns |= {"rating": strengths.rating, "low": strengths.rating - half_width, "high": strengths.rating + half_width}
    columns |= {} if ranks is None else {"best rank": ranks.least, "worst rank": ranks.greatest}
    columns |= {"votes": strengths.games, "score": strengths.score}
    digits = {"votes": 3, "score": 3}
    board = [_json_numbers(x[order], digits.get(name, 1)) for name, x in columns.items()]
    data = {"columns": [*columns], "board": [*zip(*board, strict=True)], "noun": words.one}
    data["heat"] = None if heat_map is None else heat_map.data
    return render_page(
        "arena.html",
        SCRIPT_FILES,
        ARENA_STYLE_FILES,
        title=title,
        source=source,
        dates=dates,
        left_out=left_out[:1].upper() + left_out[1:],
        strengths=strengths,
        model=strengths.model.replace("_", "-").title(),
        noun=words,
        headline=findings.headline,
        findings=findings.certain,
        doubt=findings.doubt,
        worth=findings.worth,
        assumption=confidence_assumption(strengths, clusters),
        errors=ERROR_WORDS.get(strengths.errors, strengths.errors),
        never_met=_never_met(strengths, numbered),
        whole=join_figures,
        ranks=ranks,
        drift=drift,
        tables=[_build_table(strengths, ranks, names, part, half_width) for part in pairwise(bounds)],
        rated=len(rated),
        tie_share=None if strengths.tie is None else _tie_share_of_equals(strengths),
        matrix=[(names[i], row) for i, row in zip(numbered, percent, strict=False)],
        heat_map=heat_map,
        changes=None if drift is None else drift.table_rows(MAX_DRIFT_ROWS),
        data=data,
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


def _tie_share_of_equals(strengths: Strengths) -> float:
    """The probability of a tie between players of equal strength."""
    _, tie, _ = outcome_probabilities(strengths.model, np.zeros(1), strengths.kappa)
    return float(np.asarray(tie)[0])


def _json_numbers(values: HostArray, digits: int) -> list[Any]:
    """Rounded numbers, or text, for JSON; None for numbers that are not finite."""
    if values.dtype.kind == "O":
        return list(values.tolist())
    rounded = [round(float(x), digits) if np.isfinite(x) else None for x in values]
    return [int(x) if x is not None and x == int(x) else x for x in rounded]


def _build_table(
    strengths: Strengths, ranks: RankSets | None, names: list[str], part: tuple[int, int], half_width: HostArray
) -> RankingTable:
    """The table of a part of the players, the best first: from one place to another, counted from 0."""
    order, players = strengths.order, strengths.order[slice(*part)]
    finite = players[np.isfinite(strengths.rating[players])]
    low, high = strengths.rating[finite] - half_width[finite], strengths.rating[finite] + half_width[finite]
    axis = make_axis(float(low.min()), float(high.max())) if len(finite) else make_axis(1000.0, 2000.0)
    has_bars = len(finite) == 0 or 2.0 * np.median(half_width[finite]) >= MIN_BAR_SHARE * (axis.high - axis.low)
    rows = []
    for place, i in enumerate(players.tolist(), part[0] + 1):
        rating, half = float(strengths.rating[i]), float(half_width[i])
        margin = bar = text = ""
        is_known, is_border = bool(np.isfinite(rating)), False
        if is_known:
            margin = "held" if strengths.is_anchor[i] else f"± {half:.0f}"
            ends = f"{rating - half:,.0f} to {rating + half:,.0f}"
            bar = interval_bar(axis, rating, half or None) if has_bars else ends
        if ranks is not None:
            text = format_range(int(ranks.least[i]), int(ranks.greatest[i]))
            is_border = bool(ranks.greatest[order[:place]].max() <= place < len(strengths.players))
        rating_text = f"{rating:,.0f}" if is_known else {np.inf: "∞", -np.inf: "-∞"}.get(rating, "?")
        score = f"{100.0 * strengths.score[i]:.0f}%".replace("nan%", "")
        votes = f"{strengths.games[i]:,.15g}"
        rows.append(PlayerRow(place, names[i], rating_text, margin, bar, text, is_border, votes, score))
    return RankingTable(rows, axis.labels if has_bars else "", axis.grid)


def expected_percentages(strengths: Strengths, players: list[int], opponents: list[int] | None = None) -> HostArray:
    """[n, m] expected scores in percent of players against opponents, with a tie as half a win; NaN against themselves.

    Without `opponents`, they are the players.
    """
    opponents = players if opponents is None else opponents
    eta = (strengths.rating[players][:, None] - strengths.rating[opponents]) / POINTS_PER_LOG_STRENGTH
    model = "bradley_terry" if strengths.model == "plackett_luce" else strengths.model
    win, tie, _ = outcome_probabilities(model, eta, strengths.kappa)
    percent = 100.0 * np.asarray(win + 0.5 * tie, np.float64)
    return np.where(np.array(players)[:, None] == np.array(opponents), np.nan, percent)


def build_heat_map(strengths: Strengths, players: list[int]) -> HeatMap:
    """The heat map of these players, the best first; of more than 200 the means of groups with adjacent places."""
    count, grouped = len(players), len(players) > MAX_MATRIX_PLAYERS
    starts = np.linspace(0, count, (NUM_GROUPS if grouped else count) + 1).round().astype(int)
    rows = []
    for low, high in pairwise(starts.tolist()):
        scores = expected_percentages(strengths, players[low:high], players)
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
    images = [heat_map_png(percent, colours) for colours in (LIGHT_COLOURS, DARK_COLOURS)]
    return HeatMap(images[0], images[1], ticks, grouped, data)
