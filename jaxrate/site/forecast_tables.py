"""Tables of forecasts: chances, scorelines, and what they are made of."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, NamedTuple, TypeAlias

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
from jaxrate.site.html_tables import Column, link_player, make_column, mark_dates
from jaxrate.views.line_ups import HOME, SideWords
from jaxrate.views.wording import PLAYERS, PlayerOrTeamNoun, format_rating

Places: TypeAlias = Mapping[str, tuple[str, str]]  # the page and the name that is shown of players in the history

NO_PLACES: Places = {}


class MatchForecast(NamedTuple):
    """A match to come: its day and time, the two as they are named in the history, the chances, and odds as text."""

    number: int  # in the order of the file, from 0
    order: list[int]  # of both in the file: [1, 0] if the second is at home and named first
    day: str
    is_past: bool  # whether the day was over when the pages were made
    clock: str  # the time of the day, where the file has one
    first: str
    second: str
    has_home: bool  # whether the first is at home; else the ground is neutral, or the forecasts know no home
    chances: list[tuple[str, float, str]]  # of the first, of a draw where there are draws, of the second
    odds: str


NO_MATCH = MatchForecast(0, [0, 1], "", False, "", "", "", False, [], "")  # of contests, in which nobody is at home
MAX_EXPLANATIONS = 50  # on the page
PART_NAMES = {
    "skill": "strength",
    "modifier": "in this category",
    "own_side": "own side",
    "player": "name",
}


class ExplanationTable(NamedTuple):
    """What each side, or each player of teams, contributes to a forecast."""

    title: str
    columns: list[Column]
    row_kinds: dict[int, str]  # of the rows that are sums


class ExplanationFormat(NamedTuple):
    """How explanations are told."""

    places: Places
    digits: int  # of points
    expected: str  # what the expectation of a match is called
    words: SideWords = HOME

    def name(self, player: object) -> str:
        """The name that is shown of a player, by that in the history."""
        return self.places.get(str(player), ("", str(player)))[1]


def build_explanation_tables(
    explanations: Sequence[Explanation], matches: Sequence[MatchForecast], texts: ExplanationFormat
) -> list[ExplanationTable]:
    """The first explanations of forecasts, with their matches' sides, as tables."""
    tables = []
    matches = matches if len(matches) == len(explanations) else [NO_MATCH] * len(explanations)
    for one, match in [*zip(explanations, matches, strict=True)][:MAX_EXPLANATIONS]:
        side, player = one.parts["side"], one.parts["player"]
        if len(side) == len(one.sides["side"]) == 2 and "weight" not in one.parts:
            tables.append(_tabulate_match(one, match, texts))
        else:
            members = [[*map(texts.name, player[side == k])] for k in one.sides["side"]]
            tables.append(_tabulate_teams(" \u2013 ".join(map(" & ".join, members)), one, texts.places))
    return tables


def _tabulate_match(one: Explanation, match: MatchForecast, texts: ExplanationFormat) -> ExplanationTable:
    """A row for each part: that of both, and the difference; the last rows are the sums and what is expected."""
    cells = _tabulate_parts(one, match.order, texts.words if match.has_home else None, texts.digits)
    cells[texts.expected] = [*format_percentages(one.sides["expected"][match.order].tolist()), ""]
    pair = [*map(str, one.parts["player"][match.order])]
    heads = [*(link_player(x, texts.places) for x in pair), "difference"]
    columns = [make_column("words", '<span class="hidden">part</span>', cells, names_rows=True)]
    columns += [make_column("figure", *x) for x in zip(heads, zip(*cells.values(), strict=True), strict=True)]
    totals = dict.fromkeys((len(cells) - 2, len(cells) - 1), "total")
    return ExplanationTable(" \u2013 ".join(map(texts.name, pair)), columns, totals)


def _tabulate_parts(one: Explanation, order: list[int], words: SideWords | None, digits: int) -> dict[str, list[str]]:
    """Points of both and their difference, as text, for each part that is not nothing, and their sums."""
    parts = one.parts.drop_columns(*TEXT_COLUMNS, "points")
    points = np.array([*parts.values()], float)[:, order]
    shown = np.stack([round_to_sum(x.tolist(), digits) for x in points.T], axis=1)
    shown = np.concatenate([shown, shown[:, :1] - shown[:, 1:]], axis=1)
    rows = {_name_part(name, words): row.tolist() for name, row in zip(parts, shown, strict=True) if row.any()}
    cells = {name: [_format_contribution(x, digits) for x in row] for name, row in rows.items()}
    if "category" in one.parts:
        cells["category"] = [*map(str, one.parts["category"][order]), ""]
    return cells | {"sum": [_format_contribution(x, digits) for x in shown.sum(axis=0).tolist()]}


def _format_contribution(points: float, digits: int) -> str:
    text = format_rating(points, digits, signed=True)
    return text if text.strip("0.") else "0"


def _name_part(name: str, words: SideWords | None) -> str:
    """A part in words; `words` are those of sides, if somebody has one."""
    if words is not None and name == "own_side":
        return f"own form {words.with_and_without}"
    if words is not None and name == "side_advantage":
        return f"{words.names[1]} advantage of all"
    return PART_NAMES.get(name, name.replace("_", " "))


def _tabulate_teams(title: str, one: Explanation, places: Places) -> ExplanationTable:
    """A row for each player, and one for the sum of each side."""
    heads, cells = heads_and_cells(one.parts)
    rows = [[use_minus_sign(x) for x in row] for row in cells]
    for side, points in zip(one.sides["side"].tolist(), one.sides["points"].tolist(), strict=True):
        total = {"side": str(side), "player": "all", "points": format_rating(points, 1, signed=True)}
        rows.append([total.get(head, "") for head in heads])
    columns = []
    for head, texts in zip(heads, zip(*rows, strict=True), strict=True):
        kind = "words" if head in TEXT_COLUMNS else "figure"
        shown = [link_player(x, places) if head == "player" and x != "all" else escape(x) for x in texts]
        columns.append(Column(kind, PART_NAMES.get(head.replace(" ", "_"), head), shown))
    return ExplanationTable(title, columns, dict.fromkeys(range(len(cells), len(rows)), "total"))


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
    if not all(np.array_equal(forecasts.get(name, []), x) for name, x in (("a", scorelines.a), ("b", scorelines.b))):
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
        chances = table.transpose(match.order)
        order = np.argsort(-chances, axis=None, kind="stable")[:LIKELIEST]
        cells = [divmod(int(i), len(chances)) for i in order]
        likeliest = [(f"{x}:{y}", format_percentage(float(chances[x, y]))) for x, y in cells]
        first, second = (f"{[row['goals_a'], row['goals_b']][side]:.1f}" for side in match.order)
        over, both = format_percentage(row["over"]), format_percentage(row["both_score"])
        drawing = scoreline_drawing(chances)
        cards.append(ScorelineCard(match.first, match.second, likeliest, (first, second), over, both, drawing))
    return cards


def render_next_matches(
    cards: Sequence[ScorelineCard], places: Mapping[str, tuple[str, str]], environment: Any
) -> dict[str, str]:
    """HTML of the first card of each player, by the name of their page."""
    render = environment.get_template("parts.html").module.next_match
    first: dict[str, str] = {}
    for card in cards:
        slugs = {places[name][0] for name in (card.first, card.second) if name in places}
        if new := slugs - first.keys():
            first |= dict.fromkeys(new, str(render(card, places)))
    return first


def scoreline_drawing(probability: HostArray) -> str:
    """The chances [K, K] of scorelines as SVG: goals of the first by row, of the second by column, in percent."""
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


def format_odds(odds: float) -> str:
    """Odds with three digits, as bookmakers have them: 2.27, 12.5, 62."""
    return f"{odds:.2f}" if odds < 9.995 else f"{odds:.1f}" if odds < 19.95 else f"{odds:,.0f}"


def _shade_text_by_chance(text: str, chance: float) -> str:
    """A text on a ground that is the stronger, the greater its chance is."""
    return f'<span class="shade" style="--share:{100 * chance:.0f}%">{escape(text)}</span>'


def _escape_value(value: object) -> str:
    return escape(str(value))


def _shaded_percentage(chance: float) -> str:
    return _shade_text_by_chance(format_percentage(chance), chance)


def _shade_season_chance(chance: float) -> str:
    """The share of simulated seasons in whole percents; even one that all of them agree on is not certain."""
    text = format_whole_percent(min(100.0 * chance, 99.9)).replace("<", "<\u00a0").replace(">", ">\u00a0")
    return _shade_text_by_chance(f"{text}%" if chance else "\N{EN DASH}", chance)


def _format_goal_difference(goals: float) -> str:
    return use_minus_sign(format_decimals(goals, 0, signed=True))


class ForecastColumn(NamedTuple):
    """How a column of forecasts is shown."""

    head: str
    show: Callable[[Any], Any] = _escape_value  # a value as HTML
    kind: str = "figure"


EVENT_COLUMNS = {  # other columns are not shown
    "time": ForecastColumn("date", mark_dates, "words"),
    "contest": ForecastColumn("contest", kind="words"),
    "player": ForecastColumn("name", kind="words"),
    "a": ForecastColumn("first"),
    "b": ForecastColumn("second"),
    "side": ForecastColumn("home"),
    "win": ForecastColumn("first wins", _shaded_percentage),
    "draw": ForecastColumn("draw", _shaded_percentage),
    "loss": ForecastColumn("second wins", _shaded_percentage),
    "odds_win": ForecastColumn("odds first", format_odds),
    "odds_draw": ForecastColumn("odds draw", format_odds),
    "odds_loss": ForecastColumn("odds second", format_odds),
    "expected_rank": ForecastColumn("expected place", "{:,.1f}".format),
    "goals_a": ForecastColumn("goals of first"),
    "goals_b": ForecastColumn("goals of second"),
    "likeliest": ForecastColumn("likeliest scoreline"),
    "over": ForecastColumn("more than 2.5 goals"),
    "both_score": ForecastColumn("both score"),
}
SEASON_COLUMNS = {
    "player": ForecastColumn("name", kind="words"),
    "played": ForecastColumn("played", kind="figure spare"),
    "points": ForecastColumn("points", "{:g}".format, "figure spare"),
    "expected_points": ForecastColumn("expected points", "{:.0f}".format, "figure expected"),
    "goal_difference": ForecastColumn("goal difference", _format_goal_difference, "figure spare"),
    "win": ForecastColumn("champion", _shade_season_chance, "figure title"),
    "top_4": ForecastColumn("top four", _shade_season_chance),
    "last_3": ForecastColumn("last three", _shade_season_chance),
    "relegated": ForecastColumn("relegated", _shade_season_chance),
}


class ForecastTable(NamedTuple):
    """A table of a page, and its data for downloads."""

    title: str
    file: str  # name of the data files without suffix
    rows: list[dict[str, Any]]  # values by heading
    columns: list[Column]
    note: str
    matches: list[MatchForecast]  # in place of the columns, for matches
    has_side: bool = False  # whether anybody is at home; they are first then
    unconnected: str = ""  # which of them no chain of events joins


def build_forecast_tables(
    event_forecasts: ColumnTable | None,
    season_forecast: SeasonForecast | None,
    noun: PlayerOrTeamNoun = PLAYERS,
    places: Places = NO_PLACES,
    is_past: Callable[[Any], bool] = lambda _: False,
) -> list[ForecastTable]:
    """Tables of the season and of future events, if given; `is_past` tells of a day whether it is over."""
    tables = []
    if season_forecast is not None:
        tables.append(_tabulate_season(season_forecast, noun, places))
    if event_forecasts is not None:
        tables.append(_tabulate_events(event_forecasts, places, is_past))
    return tables


def _tabulate_season(season: SeasonForecast, noun: PlayerOrTeamNoun, places: Places) -> ForecastTable:
    """The table of a season, with the last three where nobody said how many are relegated."""
    table = dict(season.columns())
    if "top_4" in table and not season.relegated:
        table["last_3"] = season.place[:, -3:].sum(axis=1)
    rows, (name, *columns) = _tabulate(table, SEASON_COLUMNS, places)
    if season.champion is not None:
        word = f" <small>champion{'s' * noun.is_collective}</small>"
        cells = [x + word * is_first for x, is_first in zip(name.cells, season.champion.tolist(), strict=True)]
        name, columns = name._replace(cells=cells), [x for x in columns if x.head != "champion"]
    place = make_column("figure spare", "place", range(1, len(rows) + 1), str)
    columns = [place, name._replace(head=escape(noun.one)), *columns]
    note = f"{season.samples:,} simulated seasons; \u201c\u2013\u201d: in none of them."
    return ForecastTable("How the season may end", "season", rows, columns, note, [])


def _tabulate_events(forecasts: ColumnTable, places: Places, is_past: Callable[[Any], bool]) -> ForecastTable:
    """The table of matches, or of contests, to come."""
    shown = EVENT_COLUMNS | {"time": ForecastColumn("date", partial(_show_day, is_past), "words")}
    rows, columns = _tabulate(forecasts, shown, places)
    events, matches = "contests", list[MatchForecast]()
    if "a" in forecasts:
        events, matches = "matches", [_match_forecast(*x, is_past) for x in enumerate(forecasts.to_records())]
    note = "Odds are in the order of the chances, and fair: one divided by each." * ("odds_win" in forecasts)
    about = matches, "side" in forecasts, _describe_unconnected(forecasts)
    return ForecastTable(f"Forecasts of {events}", "coming", rows, columns, note, *about)


def _show_day(is_past: Callable[[Any], bool], time: Any) -> str:
    """The day of a contest, and whether it is over."""
    return mark_dates(str(time)) + ' <small class="badge">past</small>' * is_past(time)


def _tabulate(
    forecasts: Mapping[str, HostArray], shown: Mapping[str, ForecastColumn], places: Places
) -> tuple[list[dict[str, Any]], list[Column]]:
    """The rows of a table by headings, for downloads, and its columns; players are linked to their pages."""
    shown = {**shown, "player": ForecastColumn("name", partial(link_player, places=places), "words")}
    looks = [shown[name] for name in forecasts if name in shown]
    rows = ColumnTable({shown[name].head: x for name, x in forecasts.items() if name in shown}).to_records()
    values = zip(looks, zip(*(row.values() for row in rows), strict=True), strict=True)
    columns = [
        Column(x.kind, x.head, ["" if value is None else str(x.show(value)) for value in cells], x.head)
        for x, cells in values
    ]
    return rows, columns


def _describe_unconnected(forecasts: ColumnTable) -> str:
    """A sentence about matches or contests whose players no chain of earlier ones joins; nothing without any."""
    if "connected" not in forecasts:
        return ""
    is_match, is_apart = "a" in forecasts, ~forecasts["connected"]
    columns = [forecasts[name][is_apart] for name in (("a", "b") if is_match else ("contest",))]
    names = dict.fromkeys("\u00a0\u2013\u00a0".join(map(str, x)) for x in zip(*columns, strict=True))
    events, strangers = "matches" if is_match else "contests", "and these are the chances of strangers"
    return f"No chain of {events} joins those in {join_names(names)}: ratings cannot be compared, {strangers}."


def _match_forecast(number: int, row: dict[str, Any], is_past: Callable[[Any], bool]) -> MatchForecast:
    order = [1, 0] if row.get("side") == row["b"] else [0, 1]
    (first, wins), (second, loses) = ((("a", "win"), ("b", "loss"))[i] for i in order)
    kinds = dict([(wins, "win"), *[("draw", "draw")] * bool(row.get("draw")), (loses, "loss")])
    chances = [float(row[x]) for x in kinds]
    odds = [row.get(f"odds_{column}") for column in kinds]
    day, _, clock = str(row.get("time") or "").replace("T", " ").partition(" ")
    return MatchForecast(
        number,
        order,
        day,
        is_past(day or None),
        clock[:5],
        str(row[first]),
        str(row[second]),
        bool(row.get("side")),
        [*zip(kinds.values(), chances, format_percentages(chances), strict=True)],
        " · ".join(format_odds(x) for x in odds if x is not None),
    )


def share_bar(shares: Sequence[tuple[str, float]]) -> str:
    """Shares of a whole as HTML, of the kinds win, draw and loss; one without a kind stays empty."""
    parts = "".join(f'<i class="{kind}" style="flex-grow:{share:.3f}"></i>' for kind, share in shares)
    return f'<div class="shares" aria-hidden="true">{parts}</div>'
