"""Tables of forecasts: future events with their predictions, and the end of a season."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.text_format import format_decimals, format_percentage, format_percentages, join_names
from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.leaderboards import EVEN_PERCENT
from jaxrate.site.wording import PLAYERS, PlayerOrTeamNoun

EVENT_HEADINGS = {  # headings of columns; other columns are not shown
    "time": "date",
    "contest": "contest",
    "player": "name",
    "a": "first",
    "b": "second",
    "side": "home",
    "win": "first wins",
    "draw": "draw",
    "loss": "second wins",
    "odds_win": "odds first",
    "odds_draw": "odds draw",
    "odds_loss": "odds second",
    "expected_rank": "expected place",
    "goals_a": "goals of first",
    "goals_b": "goals of second",
    "likeliest": "likeliest scoreline",
    "over": "more than 2.5 goals",
    "both_score": "both score",
}
SEASON_HEADINGS = {
    "player": "name",
    "played": "played",
    "points": "points",
    "expected_points": "points in the end",
    "goal_difference": "goal difference",
    "win": "champion",
    "top_4": "first four",
    "relegated": "relegated",
}
MAX_TIES = 2  # matches with equal chances up to which all are told
CLEAR_FAVOURITE_CHANCE = 0.55  # of a player, from which on they are a clear favourite; a draw counts as half
PROBABILITY_COLUMNS = "win", "draw", "loss", "top_4", "relegated"


class MatchForecast(NamedTuple):
    """A match to come: its day and time, the two as they are named in the history, the chances, and odds as text."""

    day: str
    clock: str  # the time of the day, where the file has one
    first: str
    second: str
    has_home: bool  # whether the first is at home; else the ground is neutral, or the forecasts know no home
    chances: list[tuple[str, float, str]]  # of the first, of a draw where there are draws, of the second
    odds: str


class ForecastTable(NamedTuple):
    """A table of a page, and its data for downloads."""

    title: str
    file: str  # name of the data files without suffix
    rows: list[dict[str, Any]]  # values by heading
    shown: list[list[str]]  # the same values as text
    note: str
    matches: list[MatchForecast]  # in place of the rows, for matches
    has_side: bool = False  # whether anybody is at home; they are first then
    unconnected: str = ""  # which of them no chain of events joins


def build_forecast_tables(
    event_forecasts: ColumnTable | None, season_forecast: SeasonForecast | None, noun: PlayerOrTeamNoun = PLAYERS
) -> list[ForecastTable]:
    """Tables of the season and of future events, if given."""
    tables = []
    if season_forecast is not None:
        note = f"From {season_forecast.samples:,} simulated seasons, in each of which a {noun.one} keeps one strength."
        tables.append(
            _build_table("How the season may end", "season", season_forecast.columns(), SEASON_HEADINGS, note)
        )
        if season_forecast.champion is not None:
            word = "champions" if noun.is_collective else "champion"
            column = [*tables[0].rows[0]].index(SEASON_HEADINGS["win"])
            for row, is_champion in zip(tables[0].shown, season_forecast.champion, strict=True):
                row[column] = word if is_champion else ""
    if event_forecasts is not None:
        note = "Odds are fair: one divided by the chance." if "odds_win" in event_forecasts else ""
        tables.append(
            _build_table(
                "Forecasts of matches" if "a" in event_forecasts else "Forecasts of contests",
                "coming",
                event_forecasts,
                EVENT_HEADINGS,
                note,
            )
        )
    return tables


def _describe_unconnected(forecasts: ColumnTable) -> str:
    """A sentence about matches or contests whose players no chain of earlier ones joins; nothing without any."""
    if "connected" not in forecasts:
        return ""
    is_match, is_apart = "a" in forecasts, ~forecasts["connected"]
    columns = [forecasts[name][is_apart] for name in (("a", "b") if is_match else ("contest",))]
    names = dict.fromkeys("\u00a0\u2013\u00a0".join(map(str, x)) for x in zip(*columns, strict=True))
    events, strangers = "matches" if is_match else "contests", "and these are the chances of strangers"
    return f"No chain of {events} joins those in {join_names(names)}: ratings cannot be compared, {strangers}."


def _build_table(title: str, file: str, columns: ColumnTable, headings: dict[str, str], note: str) -> ForecastTable:
    names = [name for name in columns if name in headings]
    chosen = ColumnTable({name: columns[name] for name in names})
    rows = [{headings[name]: x for name, x in row.items()} for row in chosen.to_records()]
    shown = [[_format_value(name, x) for name, x in row.items()] for row in chosen.to_records()]
    is_matches = {"a", "b", "win", "loss"} <= set(columns)
    matches = [_match_forecast(row) for row in columns.to_records()] if is_matches else []
    unconnected = _describe_unconnected(columns)
    return ForecastTable(title, file, rows, shown, note, matches, "side" in columns, unconnected)


def _match_forecast(row: dict[str, Any]) -> MatchForecast:
    sides = [("a", "win"), ("b", "loss")]
    if row.get("side") is not None and row["side"] == row["b"]:
        sides.reverse()
    (first, _), (second, _) = sides
    kinds = [sides[0][1], *(["draw"] if row.get("draw") else []), sides[1][1]]
    shown = format_percentages([float(row[kind]) for kind in kinds])
    words = {sides[0][1]: "win", sides[1][1]: "loss", "draw": "draw"}
    labels = ["win", *["draw"] * (len(kinds) - 2), "lose"]
    odds = [
        f"{label}\u00a0{format_odds(row[f'odds_{kind}'])}"
        for label, kind in zip(labels, kinds, strict=True)
        if row.get(f"odds_{kind}") is not None
    ]
    day, _, clock = ("" if row.get("time") is None else str(row["time"])).replace("T", " ").partition(" ")
    return MatchForecast(
        day,
        clock[:5],
        str(row[first]),
        str(row[second]),
        bool(row.get("side")),
        [(words[kind], float(row[kind]), text) for kind, text in zip(kinds, shown, strict=True)],
        "\u00a0· ".join(odds),
    )


def closest_match_sentence(matches: list[MatchForecast], names: Mapping[str, str]) -> str:
    """The most open matches and the clearest favourites, as a finding; nothing if all matches are alike."""

    def lead(match: MatchForecast) -> float:
        return match.chances[0][1] - match.chances[-1][1]

    def sides(match: MatchForecast) -> list[str]:
        """The names of both, in the order of the match."""
        return [names.get(x, x) for x in (match.first, match.second)]

    def chances(match: MatchForecast) -> list[str]:
        """The chances of both, in the order of the match."""
        return [match.chances[i][2] for i in (0, -1)]

    def favourite_first(match: MatchForecast, pair: list[str]) -> list[str]:
        return pair if lead(match) >= 0 else pair[::-1]

    def matches_like(match: MatchForecast) -> list[MatchForecast]:
        """Those with the same chances of the favourite and of the other."""
        told = favourite_first(match, chances(match))
        return [x for x in matches if favourite_first(x, chances(x)) == told]

    if not matches:
        return ""
    closest, clearest = (choose(matches, key=lambda match: abs(lead(match))) for choose in (min, max))
    open_matches, clear_matches = matches_like(closest), matches_like(clearest)
    if closest in clear_matches:
        return ""
    pairs = ["\u00a0\u2013\u00a0".join(sides(x)) for x in open_matches]  # no line ends at the dash
    pairs = pairs if len(pairs) <= MAX_TIES else [pairs[0], f"{len(pairs) - 1:,} others"]
    first_chances = chances(open_matches[0])
    either_way = "" if all(chances(x) == first_chances for x in open_matches) else " either way"
    closest_ones = "are the closest matches" if len(open_matches) > 1 else "is the closest match"
    finding = f"{' and '.join(pairs)} {closest_ones}, {' to '.join(first_chances)}{either_way}"
    finding += "".join(f", a draw {text}" for kind, _, text in open_matches[0].chances if kind == "draw")
    favourites = [favourite_first(x, sides(x)) for x in clear_matches]
    if 0.5 + 0.5 * abs(lead(clearest)) < CLEAR_FAVOURITE_CHANCE:
        return f"{finding}; no match has a clear favourite."
    chance = favourite_first(clearest, chances(clearest))[0]
    if len(favourites) > MAX_TIES:
        others = f"{len(favourites) - 1:,} others"
        return f"{finding}; the clearest favourites are {favourites[0][0]} and {others}, all with {chance}."
    told = ", and ".join(f"{favourite}, {chance} against {other}" for favourite, other in favourites)
    return f"{finding}; the clearest favourite{'s are' if len(favourites) > 1 else ' is'} {told}."


def write_matrix_finding(
    matrix: Sequence[tuple[str, str, Sequence[float | None]]], noun: str, has_draws: bool = False
) -> str:
    """Who of these would be favoured against all others, as a finding; nothing for fewer than two.

    Each has a slug, a name, and their chances in percent against each other, None against themselves. With draws, which
    count as half, these are expected scores.
    """
    if len(matrix) < 2:
        return ""
    least = [min((x for x in chances if x is not None), default=0.0) for _, _, chances in matrix]
    best = max(range(len(matrix)), key=lambda i: least[i])
    level = _level_leaders([x for *_, x in matrix])
    if level:
        pair = " and ".join(matrix[i][1] for i in level)
        others = f", and favoured against all others of the top {len(matrix)}" if len(matrix) > 2 else ""
        return f"{pair} would be level with each other{others}"
    if least[best] <= EVEN_PERCENT:
        return f"No {noun} of the top {len(matrix)} would be favoured against all others"
    others = "the other one" if len(matrix) == 2 else f"all others of the top {len(matrix)}"
    percent, clear = format_percentage(least[best] / 100), least[best] >= 100 * CLEAR_FAVOURITE_CHANCE
    percent += " or more" * (clear and len(matrix) > 2)
    score = f"with an expected score of {percent}, draws as half" if has_draws else f"at {percent}"
    if not clear:
        chances = [math.inf if x is None else x for x in matrix[best][2]]
        rival = matrix[int(np.argmin(chances))][1]
        but = "" if len(matrix) == 2 else f", but only narrowly against {rival}"
        return f"{matrix[best][1]} would be {'narrowly ' * (not but)}favoured against {others}{but}, {score}"
    return f"{matrix[best][1]} would be favoured against {others}, {score}"


def _level_leaders(matrix: Sequence[Sequence[float | None]]) -> tuple[int, int] | None:
    """The two of whom neither is favoured over the other, and who are both favoured against all others."""
    for i, chances in enumerate(matrix):
        even = [k for k, x in enumerate(chances) if x is not None and not x > EVEN_PERCENT]
        if len(even) == 1 and even[0] > i and abs((chances[even[0]] or 0.0) - 50) <= EVEN_PERCENT - 50:
            rest = [x for k, x in enumerate(matrix[even[0]]) if k not in (i, even[0])]
            if all(x is not None and x > EVEN_PERCENT for x in rest):
                return i, even[0]
    return None


def format_odds(odds: float) -> str:
    """Odds with three digits, as bookmakers have them: 2.27, 12.5, 62."""
    return f"{odds:.2f}" if odds < 9.995 else f"{odds:.1f}" if odds < 19.95 else f"{odds:,.0f}"


def _format_value(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in PROBABILITY_COLUMNS:
        return format_percentage(value)
    if name.startswith("odds_"):
        return format_odds(value)
    if name in ("expected_points", "expected_rank"):
        return f"{value:.1f}"
    if name == "goal_difference":
        return format_decimals(value, 1, signed=True)
    return f"{value:g}" if isinstance(value, float) else str(value)
