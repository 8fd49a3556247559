"""Tables of forecasts: chances, scorelines, and what they are made of."""

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import (
    format_decimals,
    format_percentage,
    format_percentages,
    format_whole_percent,
    join_names,
    round_to_sum,
    use_minus_sign,
)
from jaxrate.forecasts.prediction_explanations import TEXT_COLUMNS, Explanation, heads_and_cells
from jaxrate.forecasts.scorelines import Scorelines, summarise_scorelines
from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.history.column_table import ColumnTable
from jaxrate.history.leaderboards import EVEN_PERCENT
from jaxrate.site.drawings import encode_palette_png
from jaxrate.site.line_ups import HOME, SideWords
from jaxrate.site.wording import PLAYERS, PlayerOrTeamNoun


class MatchForecast(NamedTuple):
    """A match to come: its day and time, the two as they are named in the history, the chances, and odds as text."""

    day: str
    clock: str  # the time of the day, where the file has one
    first: str
    second: str
    has_home: bool  # whether the first is at home; else the ground is neutral, or the forecasts know no home
    chances: list[tuple[str, float, str]]  # of the first, of a draw where there are draws, of the second
    odds: str


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


LIGHT_COLOURS = "#b3450b", "#f0a36b", "#ffffff", "#6fa8dc", "#0b5cad"  # from low through parity to high
DARK_COLOURS = "#f0a36b", "#9c5a2e", "#10182a", "#3d6f9f", "#7cb7f5"
NO_VALUE_COLOURS: dict[tuple[str, ...], str] = {LIGHT_COLOURS: "#e4e1d8", DARK_COLOURS: "#2f3a50"}
NO_VALUE = 101  # in place of a percentage


def whole_percentages(percent: HostArray) -> HostArray:
    """[n, m] percentages as bytes; 101 for NaN."""
    return np.where(np.isnan(percent), NO_VALUE, np.round(percent)).astype(np.uint8)


def heat_map_png(percent: HostArray, colours: tuple[str, ...]) -> str:
    """The address, with the data in it, of a PNG with a pixel for each of the percentages [n, m]; NaN is grey.

    The first colour is that of 0, the last one that of 100.
    """
    anchors = np.array([_rgb(colour) for colour in colours], float)
    positions = np.linspace(0.0, 100.0, len(colours))
    palette = np.stack([np.interp(np.arange(101), positions, channel) for channel in anchors.T], axis=1).round()
    palette = np.append(palette, [_rgb(NO_VALUE_COLOURS[colours])], axis=0).astype(np.uint8)
    image = encode_palette_png(whole_percentages(percent), palette.tobytes())
    return f"data:image/png;base64,{b64encode(image).decode()}"


def _rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of a colour such as #0b5cad."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


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
