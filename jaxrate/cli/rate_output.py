"""What `jaxrate rate` shows: the leaderboard, and answers to what is asked of the history."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import jaxrate as jr
from jaxrate.cli.commands import Output
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.rating import RateOptions, Rating, TimeSpan, career_up_to, time_of_shown_ratings
from jaxrate.cli.shared_options import leaderboard_table
from jaxrate.cli.terminal_tables import DEVIATIONS_CLAUSE, TextTable, name_teams, to_text_table
from jaxrate.core.text_format import (
    format_count,
    format_decimals,
    format_number,
    format_percentage,
    format_unquoted_name,
    rating_decimals,
)

Section = str | TextTable


class Answer(NamedTuple):
    """What a history answers, as text and as JSON."""

    name: str  # in JSON
    values: Any
    sections: list[Section]


def answer_questions(rating: Rating, asked: RateOptions, span: TimeSpan) -> Output:
    """The leaderboard of a history, and what else is asked of it."""
    answers = [_answer_leaderboard(rating, asked, span)]
    answers += [answer(rating, asked) for kind, answer in ANSWERS.items() if kind in asked.show]
    if len(asked.players) == 2:
        answers.append(_answer_against(rating, *asked.players))
    elif asked.players:
        answers.append(_answer_career(rating, asked, span))
    sections = [_summary_line(rating.history), *(x for answer in answers for x in answer.sections)]
    values = {answer.name: answer.values for answer in answers}
    return Output(sections, _json_summary(rating.history) | rating.metrics | values)


def _answer_leaderboard(rating: Rating, asked: RateOptions, span: TimeSpan) -> Answer:
    """The leaderboard; it is not printed beside a player."""
    rated, rules = rating.history, dict(asked.rules)
    category = find_category(rated, rules.pop("category", None))
    rules |= {"since": span.since, "as_of": time_of_shown_ratings(rated, span.until), "category": category}
    board = jr.leaderboard(rated, top=asked.top or SHOWN_PLAYERS, **rules)
    sections: list[Section] = []
    if not asked.players:
        table = leaderboard_table(board, are_teams=bool(rated.options.get("teams")))
        sections = [table, *strengths_by_category(rated, board), rating.text]
    return Answer("leaderboard", board.to_records(), sections)


def _answer_peaks(rating: Rating, asked: RateOptions) -> Answer:
    """The highest ratings of all time."""
    from jaxrate.history.column_table import as_column_table

    rated = rating.history
    peaks = jr.history.peak_ratings(rated, top=asked.top or SHOWN_PLAYERS, cautious=asked.rules.get("cautious", 0.0))
    table = to_text_table(peaks)
    shown = name_teams(table) if rated.options.get("teams") else table
    return Answer("peaks", as_column_table(peaks).to_records(), ["the highest peak ratings", shown])


def _answer_hindsight(rating: Rating, asked: RateOptions) -> Answer:
    """The highest ratings in hindsight."""
    from jaxrate.history.column_table import as_column_table

    smoothed: Any = rating.hindsight
    peaks = jr.history.peak_ratings(smoothed, top=asked.top or SHOWN_PLAYERS)
    details = f"log likelihood {smoothed.hindsight.evidence:,.1f}, {smoothed.hindsight.sweeps} sweeps"
    sections: list[Section] = [f"peak ratings in hindsight ({details})", to_text_table(peaks)]
    return Answer("hindsight", as_column_table(peaks).to_records(), sections)


def _answer_upsets(rating: Rating, asked: RateOptions) -> Answer:
    """The biggest upsets, of a player if one is asked for."""
    player = asked.players[0] if asked.players else None
    upsets = jr.history.upsets(rating.history, player=player, top=asked.top or SHOWN_PLAYERS)
    return Answer("upsets", upsets.to_records(), ["biggest upsets", to_match_table(upsets, rating.history.clock)])


ANSWERS: dict[str, Callable[[Rating, RateOptions], Answer]] = {  # by what --show names
    "peaks": _answer_peaks,
    "hindsight": _answer_hindsight,
    "upsets": _answer_upsets,
}


def _answer_against(rating: Rating, first: str, second: str) -> Answer:
    """How it stands between two players."""
    meetings = jr.history.head_to_head(rating.history, first, second)
    values = meetings._asdict() | {"matches": meetings.matches.to_records()}
    return Answer("against", values, head_to_head_sections(meetings, rating.history.clock))


def _answer_career(rating: Rating, asked: RateOptions, span: TimeSpan) -> Answer:
    """The career of a player up to a time, with hindsight if there is any."""
    from jaxrate.history.column_table import ColumnTable

    rated, smoothed, player = rating.history, {}, asked.players[0]
    if rating.hindsight is not None:
        in_hindsight = jr.career(rating.hindsight, player)
        smoothed = {"hindsight": in_hindsight["rating"], "its_deviation": in_hindsight["deviation"]}
    career = career_up_to(jr.career(rated, player) | career_sides(rated, player) | smoothed, span.until)
    sections = career_sections(rated, player, career, smoothed, count=asked.top or SHOWN_EVENTS)
    return Answer("career", ColumnTable(career).to_records(), sections)


def _json_summary(rated: jr.History) -> dict[str, Any]:
    """The system and the counts of a rated history, for JSON."""
    system, n = rated.system, len(rated.events["row"])
    counts = {"matches": n} if rated.contests is None else {"contests": rated.contests, "participations": n}
    summary = {"system": system.name, "params": system.params._asdict() | system.settings, "period": rated.period}
    return summary | counts | {"players": len(rated.players)}


def _summary_line(rated: jr.History) -> str:
    """The system and the counts of a rated history, as text."""
    from jaxrate.history.history import describe_event_counts

    count = describe_event_counts(rated.num_rows, rated.contests)
    periods = "" if rated.period is None else f" in periods of {rated.period:g}"
    noun = "team" if rated.options.get("teams") else "player"
    return f"{rated.system.name}: {count} of {format_count(len(rated.players), noun)}{periods}"


SHOWN_PLAYERS = 10  # of lists, the first ones
SHOWN_EVENTS = 20  # of a career, the last ones
UNKNOWN_NAMES = {"?": "unknown", "": "unknown"}  # of categories


def find_category(rated: jr.History, text: str | None) -> Any:
    """The category of a history that is written so; other text as it is, which no history has."""
    categories = [] if rated.categories is None else rated.categories.tolist()
    return next((name for name in categories if str(name) == text), text)


def strengths_by_category(rated: jr.History, board: Any) -> list[TextTable]:
    """The strengths of the leaders in or against each category, if the table of ratings has modifiers."""
    if rated.categories is None:
        return []
    columns = jr.history.rating_table(rated)
    if not {f"modifier {x}" for x in rated.categories} <= columns.keys():
        return []
    row = {name: i for i, name in enumerate(columns["player"])}
    shown = [row[name] for name in board.player]
    digits, rating = rating_decimals(columns["rating"][shown]), columns["rating"][shown]
    modifiers = {UNKNOWN_NAMES.get(str(x), str(x)): columns[f"modifier {x}"][shown] for x in rated.categories}
    proven = {name: x for name, x in modifiers.items() if np.any(np.abs(x) >= 0.5 * 10.0**-digits)}
    cells = {
        name: [*map(partial(format_decimals, digits=digits), rating + points)]
        for name, points in (proven or modifiers).items()  # the others repeat the rating
    }
    head = "strength against" if rated.system.name == "category_glicko" else "strength by category"
    rows = [*zip(board.player, *cells.values(), strict=True)]
    return [TextTable([head, *cells], rows, (head,))]


def career_sides(rated: jr.History, name: str) -> dict[str, Any]:
    """The column `side` of a career of matches: at home or away, or the colours; empty if the history has no sides."""
    from jaxrate.history.history import find_player_id

    if "side" not in rated.events:
        return {}
    rows = rated.rows.of_player(find_player_id(rated.players, name))
    words = ("black", "", "white") if rated.options.get("colours") else ("away", "", "home")
    return {"side": np.array(words)[rows.column("side").astype(int) + 1]}


def career_sections(
    rated: jr.History, name: str, career: dict[str, Any], point_columns: Iterable[str] = (), count: int = SHOWN_EVENTS
) -> list[Section]:
    """The last `count` events of the career of a player; `point_columns` are further columns in points."""
    kind, total = "match" if rated.contests is None else "contest", len(career["rating"])
    formats = _career_formats(rating_decimals(career["rating"]), point_columns)
    career = career | {"rating": career["rating"] + career["change"]}  # after the event, as pages have it
    columns = _arrange_career({key: x[-count:] for key, x in career.items()}, rated.clock)
    rows = [
        ["" if x != x else formats.get(key, _keep)(x) for key, x in zip(columns, row, strict=True)]
        for row in zip(*columns.values(), strict=True)
    ]
    words = {"probability": "expected"} | ({"time": "date"} if rated.clock == "dates" else {})
    headings = [words.get(key, key.replace("_", " ")) for key in columns]
    extent = "" if len(rows) == total else f", the last {len(rows)} of them (--top {total} for all)"
    return [
        f"{format_unquoted_name(name)}: {format_count(total, kind)}{extent}",
        TextTable(headings, rows, ("date", "time", "opponent", "contest"), _career_caption(rated, career, kind)),
    ]


def _keep(value: Any) -> Any:
    return value


def _career_formats(digits: int, point_columns: Iterable[str]) -> dict[str, Callable[[Any], Any]]:
    """How the numbers of a career are written, those in points with so many digits."""
    decimals: dict[str, int] = dict.fromkeys(("rating", "deviation", "performance", *point_columns), digits)
    decimals |= {"expected_rank": 1, "rank_needed": 0}
    return {key: partial(format_decimals, digits=x) for key, x in decimals.items()} | {
        "probability": format_percentage,
        "score": lambda score: f"{score:g}",
        "change": partial(format_decimals, digits=digits, signed=True),
    }


def _arrange_career(career: dict[str, Any], clock: str | None) -> dict[str, Any]:
    """The columns of a career in their order, with both points in one; narrow terminals leave out the last ones."""
    columns = dict(career)
    times = columns.pop("time")
    if "points" in columns:
        pairs = zip(columns["points"].tolist(), columns.pop("opponents_points").tolist(), strict=True)
        columns["points"] = [f"{x:g}\u2013{y:g}" if x == x and y == y else "" for x, y in pairs]
    if clock is not None:
        columns = {"time": [_format_event_time(x, clock) for x in times]} | columns
    names = [key for key in columns if key not in ("change", "side")]
    if "side" in columns:
        names.insert(names.index("opponent") + 1, "side")
    names.insert(names.index("rating"), "change")
    return {key: columns[key] for key in names}


def _format_event_time(time: Any, clock: str) -> Any:
    return "" if time != time else time if clock == "dates" else format_number(time)


def _career_caption(rated: jr.History, career: dict[str, Any], kind: str) -> str:
    """What the ratings are, and why a win may cost points."""
    caption = f"Ratings are after each {kind}{DEVIATIONS_CLAUSE if 'deviation' in career else ''}."
    learns_margins = rated.system.settings.get("outcome") == "margin"
    if learns_margins and "score" in career and np.any((career["score"] == 1.0) & (career["change"] < 0.0)):
        caption += "\nA win by less than was expected costs points, as the system learns from margins."
    return caption


def to_match_table(matches: Any, clock: str | None, caption: str = "", top: int | None = None) -> TextTable:
    """Matches in the words of careers: their date, the expected score in percent, whose rating."""
    shares = np.asarray(matches["probability"], np.float64).tolist()
    percent = np.array([format_percentage(x) for x in shares])
    table = to_text_table(type(matches)({**matches, "probability": percent}), caption, top)
    words = {"probability": "expected"} | ({"time": "date"} if clock == "dates" else {})
    headings = [words.get(x, re.sub(r"s rating$", "'s rating", x)) for x in table.headings]
    return table._replace(headings=headings, left_aligned=(*table.left_aligned, "date"))


def head_to_head_sections(meetings: Any, clock: str | None) -> list[str | TextTable]:
    """How it stands between two players, and their latest matches."""
    from jaxrate.history.player_records import PRINTED_MATCHES

    total = len(meetings.matches["score"])
    if not total:
        return [meetings.summary]
    earlier = f"and {total - PRINTED_MATCHES:,} before\n" if total > PRINTED_MATCHES else ""
    caption = f"{earlier}The latest match comes first. Ratings are those before the match."
    return [meetings.summary, to_match_table(meetings.matches, clock, caption, PRINTED_MATCHES)]
