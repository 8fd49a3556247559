"""Fitted strengths as one HTML page that needs no network: one table with intervals and ranks, and who beats whom."""

from base64 import b64encode
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jaxrate.arena.paired_comparison_likelihood import outcome_probabilities
from jaxrate.arena.rank_inference import RankSets
from jaxrate.arena.strength_drift import StrengthDrift
from jaxrate.arena.strength_estimates import POINTS_PER_LOG_STRENGTH, Strengths
from jaxrate.argument_checks import enforce_argument_annotations
from jaxrate.array_types import HostArray
from jaxrate.site.arena_findings import certain_findings, headline
from jaxrate.site.drawings import Axis, round_step
from jaxrate.site.page_templates import load_template_and_assets
from jaxrate.site.percent_heat_map import DARK_COLOURS, LIGHT_COLOURS, heat_map_png, whole_percentages

STYLE_FILES = "page.css", "arena.css"
SCRIPT_FILES = "words.js", "arena.js"
INTERVAL_DEVIATIONS = 1.96  # deviations to either side: 95 %
MAX_NUMBERED_PLAYERS = 20  # players up to which the matrix is a table of numbers
MAX_MATRIX_PLAYERS = 200  # players with a row of the heat map; more are grouped
NUM_GROUPS = 100  # groups of players with adjacent places
MAX_AXIS_STEPS = 5
MAX_DRIFT_ROWS = 10


class Bar(NamedTuple):
    """A bar with a dot; positions in percent."""

    start: float
    length: float
    dot: float | None
    text: str


class PlayerRow(NamedTuple):
    """A row of the table."""

    place: int
    name: str
    rating: str
    margin: str  # half the width of the interval
    interval: Bar | None
    ranks: Bar | None
    votes: str
    score: str


class HeatMap(NamedTuple):
    """Expected scores of rows of places against each other."""

    light: str  # addresses of images
    dark: str
    ticks: list[tuple[float, str]]
    grouped: bool  # whether a row is a group of players
    data: dict[str, Any]  # for the script: places of each row, and percentages as bytes in base64


@enforce_argument_annotations
def arena_page_html(
    strengths: Strengths, *, ranks: RankSets | None = None, drift: StrengthDrift | None = None, title: str = "Strengths"
) -> str:
    """The HTML of the page, to be written to a file in UTF-8.

        strengths = jr.arena.fit_strengths(votes)
        page = jr.site.arena_page_html(strengths, ranks=jr.arena.rank_sets(strengths))
        pathlib.Path("page.html").write_text(page, encoding="utf-8")

    Its heading is what was found. A table has a row for each player, with bars for the interval and the possible ranks.
    Who beats whom is a table of numbers for up to 20 players, and a heat map for more; of more than 200 players, those
    with adjacent places are grouped.

    Args:
      strengths: strengths from `jr.arena.fit_strengths`.
      ranks: rank sets of these strengths, from `jr.arena.rank_sets`. None: no ranks are shown.
      drift: drift in the same votes, from `jr.arena.detect_drift`. None: not shown.
      title: the title of the page, above the heading.

    Raises:
      ValueError: if ranks or drift are of other players.
      ImportError: if jinja2 is not installed.
    """
    for name, other in (("ranks", ranks), ("drift", drift)):
        if other is not None and not np.array_equal(other.players, strengths.players):
            raise ValueError(f"{name} must be of the same players as the strengths")
    template, assets = load_template_and_assets("arena.html", STYLE_FILES, SCRIPT_FILES)
    names = [" ".join(str(x).split()) for x in strengths.players]
    order = strengths.order
    rated = [int(i) for i in order if np.isfinite(strengths.rating[i])]
    half_width = np.where(np.isfinite(strengths.standard_error), INTERVAL_DEVIATIONS * strengths.standard_error, 0.0)
    rating_axis = _rating_axis(strengths.rating[rated], half_width[rated])
    rank_axis = _rank_axis(len(names))
    percent = None if len(rated) < 2 or len(rated) > MAX_NUMBERED_PLAYERS else expected_percentages(strengths, rated)
    heat_map = None if len(rated) <= MAX_NUMBERED_PLAYERS else build_heat_map(strengths, rated)
    columns = {"rating": strengths.rating, "low": strengths.rating - half_width, "high": strengths.rating + half_width}
    if ranks is not None:
        columns |= {"best rank": ranks.least, "worst rank": ranks.greatest}
    columns |= {"votes": strengths.games, "score": strengths.score}
    values = [_json_numbers(column[order], 3 if name in ("votes", "score") else 1) for name, column in columns.items()]
    data = {
        "columns": ["place", "name", *columns],
        "board": list(zip(range(1, len(order) + 1), [names[i] for i in order], *values, strict=True)),
        "heat": None if heat_map is None else heat_map.data,
    }
    return str(
        template.render(
            **assets,
            title=title,
            strengths=strengths,
            model=strengths.model.replace("_", "-").title(),
            headline=headline(names, strengths, ranks),
            findings=certain_findings(names, strengths, ranks),
            ranks=ranks,
            drift=drift,
            rating_axis=rating_axis,
            rank_axis=rank_axis,
            rows=[
                _build_row(strengths, ranks, names, int(i), place, float(half_width[i]), rating_axis, rank_axis)
                for place, i in enumerate(order.tolist(), 1)
            ],
            matrix=None if percent is None else [(names[i], row) for i, row in zip(rated, percent, strict=True)],
            heat_map=heat_map,
            changes=None if drift is None else drift.table_rows(MAX_DRIFT_ROWS),
            data=data,
        )
    )


def _json_numbers(values: HostArray, digits: int) -> list[Any]:
    """Rounded numbers for JSON; None for numbers that are not finite."""
    rounded = [round(float(x), digits) if np.isfinite(x) else None for x in values]
    return [int(x) if x is not None and x == int(x) else x for x in rounded]


def _position_percent(axis: Axis, value: float) -> float:
    """The position of a value on an axis, in percent."""
    return round(100.0 * axis.fraction(value), 2)


def _rating_axis(rating: HostArray, half_width: HostArray) -> Axis:
    """An axis that holds all intervals, with round ratings at its ends."""
    low, high = float((rating - half_width).min(initial=np.inf)), float((rating + half_width).max(initial=-np.inf))
    if not low < high:
        low, high = (low - 50.0, low + 50.0) if np.isfinite(low) else (1000.0, 2000.0)
    step = max(round_step(high - low, MAX_AXIS_STEPS), 1.0)
    while np.ceil(high / step) - np.floor(low / step) > MAX_AXIS_STEPS:
        step = round_step(1.01 * step * MAX_AXIS_STEPS, MAX_AXIS_STEPS)
    low, high = step * np.floor(low / step), step * np.ceil(high / step)
    count = round((high - low) / step)
    return Axis(low, high, [(round(100.0 * i / count, 2), f"{low + i * step:,.0f}") for i in range(count + 1)])


def _rank_axis(count: int) -> Axis:
    """An axis of ranks; a rank reaches half a rank to either side."""
    step = max(int(round_step(count, MAX_AXIS_STEPS)), 1)
    shown = [1, *(rank for rank in range(step, count, step) if rank <= 0.75 * count), count]
    return Axis(
        0.5, count + 0.5, [(round(100.0 * (rank - 0.5) / count, 2), f"{rank:,}") for rank in dict.fromkeys(shown)]
    )


def _build_row(
    strengths: Strengths,
    ranks: RankSets | None,
    names: list[str],
    player: int,
    place: int,
    half_width: float,
    rating_axis: Axis,
    rank_axis: Axis,
) -> PlayerRow:
    """The row of a player, with their bars on these axes."""
    rating, interval, rank_bar, margin = float(strengths.rating[player]), None, None, ""
    if np.isfinite(rating):
        margin = "held" if strengths.is_anchor[player] else f"± {half_width:.0f}"
        start, end = (_position_percent(rating_axis, rating + sign * half_width) for sign in (-1.0, 1.0))
        text = f"{rating - half_width:,.0f} to {rating + half_width:,.0f}"
        interval = Bar(start, round(end - start, 2), _position_percent(rating_axis, rating), text)
    if ranks is not None:
        least, greatest = int(ranks.least[player]), int(ranks.greatest[player])
        start, end = _position_percent(rank_axis, least - 0.5), _position_percent(rank_axis, greatest + 0.5)
        text = f"{least:,} to {greatest:,}" if least < greatest else f"{least:,}"
        rank_bar = Bar(
            start, round(end - start, 2), _position_percent(rank_axis, place) if np.isfinite(rating) else None, text
        )
    rating_text = f"{rating:,.0f}" if np.isfinite(rating) else {np.inf: "∞", -np.inf: "-∞"}.get(rating, "?")
    score = f"{100.0 * strengths.score[player]:.0f} %" if np.isfinite(strengths.score[player]) else ""
    votes = f"{strengths.games[player]:,.15g}"
    return PlayerRow(place, names[player], rating_text, margin, interval, rank_bar, votes, score)


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
    step = max(int(round_step(count, MAX_AXIS_STEPS)), 1)
    ticks = [(round(100.0 * (place - 0.5) / count, 2), f"{place:,}") for place in [1, *range(step, count + 1, step)]]
    data = {"places": places, "percent": b64encode(whole_percentages(percent).tobytes()).decode()}
    images = [heat_map_png(percent, colours) for colours in (LIGHT_COLOURS, DARK_COLOURS)]
    return HeatMap(images[0], images[1], ticks, grouped, data)
