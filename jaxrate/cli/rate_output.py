"""What `jaxrate rate` shows: the leaderboard, and answers to what is asked of the history."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import jaxrate as jr
from jaxrate.cli.commands import Output
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.option_names import name_options
from jaxrate.cli.rating import RateOptions, Rating
from jaxrate.cli.terminal_tables import (
    DEVIATIONS_CLAUSE,
    TextTable,
    columns_in_percent,
    first_rows_caption,
    name_teams,
    to_text_table,
)
from jaxrate.core.text_format import format_count, format_decimals, format_unquoted_name, rating_decimals

if TYPE_CHECKING:
    from jaxrate.history.leaderboards import Leaderboard

Section = str | TextTable
SHOWN_PLAYERS = 10  # of lists, the first ones
SHOWN_EVENTS = 20  # of a career, the last ones
UNKNOWN_NAMES = {"?": "unknown", "": "unknown"}  # of categories


class Answer(NamedTuple):
    """What a history answers, as text and as JSON."""

    name: str  # in JSON
    values: Any
    sections: list[Section]


def answer_questions(rating: Rating, asked: RateOptions) -> Output:
    """The leaderboard of a history, and what else is asked of it."""
    rated, top = rating.history, asked.top or SHOWN_PLAYERS
    answers = [_answer_leaderboard(rating, asked)]
    if "peaks" in asked.show:
        cautious = asked.rules.get("cautious", 0.0)
        answers.append(_answer_peaks("peaks", rated, "the highest peak ratings", top, cautious=cautious))
    if rating.hindsight is not None and rating.hindsight.hindsight is not None:
        found = rating.hindsight.hindsight
        title = f"peak ratings in hindsight (log likelihood {found.evidence:,.1f}, {found.sweeps} sweeps)"
        answers.append(_answer_peaks("hindsight", rating.hindsight, title, top))
    if "upsets" in asked.show:
        upsets = jr.history.upsets(rated, player=next(iter(asked.players), None), top=top)
        answers.append(Answer("upsets", upsets.to_records(), ["biggest upsets", to_match_table(upsets, rated)]))
    if len(asked.players) == 2:
        meetings = jr.history.head_to_head(rated, *asked.players)
        values = vars(meetings) | {"matches": meetings.matches.to_records()}
        answers.append(Answer("against", values, head_to_head_sections(meetings, rated)))
    elif asked.players:
        answers.append(_answer_career(rating, asked))
    sections = [summary_line(rated), *(x for answer in answers for x in answer.sections)]
    values = {answer.name: answer.values for answer in answers}
    return Output(sections, json_summary(rated) | dict(rating.metrics) | values)


def json_summary(rated: jr.History) -> dict[str, Any]:
    """The system and the counts of a rated history, for JSON."""
    system, n = rated.system, rated.num_rows
    counts = {"matches": n} if rated.contests is None else {"contests": rated.contests, "participations": n}
    summary = {"system": system.name, "params": system.params._asdict() | system.settings, "period": rated.period}
    return summary | counts | {"players": len(rated.players)}


def summary_line(rated: jr.History) -> str:
    """The system and the counts of a rated history, as text."""
    from jaxrate.history.history import describe_event_counts

    count = describe_event_counts(rated.num_rows, rated.contests)
    periods = "" if rated.period is None else f" in periods of {rated.period:g}"
    noun = "team" if rated.options.get("teams") else "player"
    return f"{rated.system.name}: {count} of {format_count(len(rated.players), noun)}{periods}"


def leaderboard_table(board: Leaderboard, rated: jr.History) -> TextTable:
    """The board to print; its caption names options where Python names arguments."""
    caption = name_options(board.scope, click.get_current_context().command)
    caption = caption.replace("a lower min_games", "a lower --list min_games")
    lines = caption, first_rows_caption(len(board.rank), board.num_listed, "players")
    return name_teams(to_text_table(board, "\n".join(filter(None, lines))), rated)


def _answer_leaderboard(rating: Rating, asked: RateOptions) -> Answer:
    """The leaderboard; it is not printed beside a player."""
    from jaxrate.events import period_end

    rated, rules, until = rating.history, dict(asked.rules), rating.span.until
    if until is not None and rated.period is not None and rated.last is not None and until >= rated.last:
        until = max(until, float(period_end(rated.last, rated.period)))  # the last period is rated to its end
    category = _find_category(rated, rules.pop("category", None))
    rules |= {"since": rating.span.since, "as_of": until, "category": category}
    board = jr.leaderboard(rated, top=asked.top or SHOWN_PLAYERS, **rules)
    sections: list[Section] = []
    if not asked.players:
        sections = [leaderboard_table(board, rated), *_strengths_by_category(rated, board), rating.text]
    return Answer("leaderboard", board.to_records(), sections)


def _answer_peaks(name: str, rated: jr.History, title: str, top: int, **rules: Any) -> Answer:
    """The highest ratings of all time, at the time or in hindsight."""
    from jaxrate.history.column_table import as_column_table

    peaks = jr.history.peak_ratings(rated, top=top, **rules)
    return Answer(name, as_column_table(peaks).to_records(), [title, name_teams(to_text_table(peaks), rated)])


def _answer_career(rating: Rating, asked: RateOptions) -> Answer:
    """The career of a player up to a time, with hindsight if there is any."""
    from jaxrate.history.column_table import ColumnTable
    from jaxrate.history.event_columns import times_to_event_clock

    rated, player = rating.history, asked.players[0]
    career = jr.career(rated, player) | career_sides(rated, player)
    if rating.hindsight is not None:
        in_hindsight = jr.career(rating.hindsight, player)
        career |= {"hindsight": in_hindsight["rating"], "its_deviation": in_hindsight["deviation"]}
    if rating.span.until is not None:
        is_shown = times_to_event_clock(career["time"]) <= rating.span.until
        career = {name: x[is_shown] for name, x in career.items()}
    sections = career_sections(rated, player, career, asked.top or SHOWN_EVENTS)
    return Answer("career", ColumnTable(career).to_records(), sections)


def _find_category(rated: jr.History, text: str | None) -> Any:
    """The category of a history that is written so; other text as it is, which no history has."""
    categories = [] if rated.categories is None else rated.categories.tolist()
    return next((name for name in categories if str(name) == text), text)


def _strengths_by_category(rated: jr.History, board: Leaderboard) -> list[TextTable]:
    """The strengths of the leaders in or against each category, if the table of ratings has modifiers.

    Categories of which nothing is known repeat the rating, and are left out where others are known.
    """
    categories = [] if rated.categories is None else rated.categories.tolist()
    columns = jr.history.rating_table(rated) if categories else {}
    if not any(f"modifier {x}" in columns for x in categories):
        return []
    row = {name: i for i, name in enumerate(columns["player"])}
    shown = [row[name] for name in board.player]
    modifiers = {UNKNOWN_NAMES.get(str(x), str(x)): columns[f"modifier {x}"][shown] for x in categories}
    cells = _cells_of_strengths(columns["rating"][shown], modifiers)
    head = "strength against" if rated.system.name == "category_glicko" else "strength by category"
    return [TextTable([head, *cells], [*zip(board.player, *cells.values(), strict=True)], (head,))]


def _cells_of_strengths(rating: Any, modifiers: dict[str, Any]) -> dict[str, list[str]]:
    """The strengths in each category as text, by its name: ratings and their modifiers."""
    digits = rating_decimals(rating)
    proven = {name: x for name, x in modifiers.items() if np.any(np.abs(x) >= 0.5 * 10.0**-digits)}
    return {name: [format_decimals(x, digits) for x in rating + more] for name, more in (proven or modifiers).items()}


def career_sides(rated: jr.History, name: str) -> dict[str, Any]:
    """The column `side` of a career of matches: at home or away, or the colours; empty if the history has no sides."""
    from jaxrate.history.history import find_player_id

    if "side" not in rated.events:
        return {}
    rows = rated.rows.of_player(find_player_id(rated.players, name))
    words = ("black", "", "white") if rated.options.get("colours") else ("away", "", "home")
    return {"side": np.array(words)[rows.column("side").astype(int) + 1]}


def career_sections(rated: jr.History, name: str, career: dict[str, Any], count: int = SHOWN_EVENTS) -> list[Section]:
    """The last `count` events of the career of a player, with the ratings after them, as pages have it."""
    kind, total = "match" if rated.contests is None else "contest", len(career["rating"])
    columns = career | {"rating": career["rating"] + career["change"]}
    columns = _arrange_career({key: x[-count:] for key, x in columns.items()}, rated.clock)
    table = _with_words(to_text_table(columns_in_percent(columns)), rated)
    caption = f"Ratings are after each {kind}{DEVIATIONS_CLAUSE if 'deviation' in career else ''}."
    learns_margins = rated.system.settings.get("outcome") == "margin"
    if learns_margins and "score" in career and np.any((career["score"] == 1.0) & (career["change"] < 0.0)):
        caption += "\nA win by less than was expected costs points, as the system learns from margins."
    extent = f", the last {count} of them (--top {total} for all)" if count < total else ""
    title = f"{format_unquoted_name(name)}: {format_count(total, kind)}{extent}"
    return [title, table._replace(caption=caption, left_aligned=("date", "time", "opponent", "contest"))]


FIRST_OF_CAREER = "time", "opponent", "side"  # columns, of which matches have the last two
AFTER_CAREER = "rating", "deviation"


def _arrange_career(career: dict[str, Any], clock: str | None) -> dict[str, Any]:
    """The columns of a career in their order, with both points in one; narrow terminals leave out the last ones."""
    columns = {name: x for name, x in career.items() if name != "opponents_points"}
    if "points" in columns:
        pairs = zip(columns.pop("points").tolist(), career["opponents_points"].tolist(), strict=True)
        columns["points"] = np.array([f"{x:g}\u2013{y:g}" if x == x and y == y else "" for x, y in pairs])
    if clock is None:
        del columns["time"]
    names = [name for name in columns if name not in ("change", "side")]
    if "side" in columns:
        names.insert(names.index("opponent") + 1, "side")
    names.insert(names.index("rating"), "change")
    return {name: columns[name] for name in names}


def _with_words(table: TextTable, rated: jr.History) -> TextTable:
    """A table of events with the headings of careers: their date, the expected score, whose rating."""
    words = {"probability": "expected"} | ({"time": "date"} if rated.clock == "dates" else {})
    headings = [words.get(x, re.sub(r"s rating$", "'s rating", x)) for x in table.headings]
    return table._replace(headings=headings)


def to_match_table(matches: Any, rated: jr.History, caption: str = "", top: int | None = None) -> TextTable:
    """Matches in the words of careers, with the expected score in percent."""
    table = _with_words(to_text_table(columns_in_percent(matches), caption, top), rated)
    return table._replace(left_aligned=(*table.left_aligned, "date"))


def head_to_head_sections(meetings: Any, rated: jr.History) -> list[Section]:
    """How it stands between two players, and their latest matches."""
    from jaxrate.history.player_records import PRINTED_MATCHES

    total = len(meetings.matches["score"])
    if not total:
        return [meetings.summary]
    earlier = f"and {total - PRINTED_MATCHES:,} before\n" if total > PRINTED_MATCHES else ""
    caption = f"{earlier}The latest match comes first. Ratings are those before the match."
    return [meetings.summary, to_match_table(meetings.matches, rated, caption, PRINTED_MATCHES)]
