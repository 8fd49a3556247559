"""What `jaxrate rate` prints and writes, as of a moment and since another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import jaxrate as jr
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.system_selection import RatingTask
from jaxrate.cli.terminal_tables import DEVIATIONS_CLAUSE, ProgressReport, TextTable, to_text_table
from jaxrate.core.text_format import (
    contest_metrics_notes,
    format_count,
    format_decimals,
    format_number,
    format_percentage,
    format_unquoted_name,
    metric_heading,
    rating_decimals,
)

if TYPE_CHECKING:
    from jaxrate.extend import RatingSystem


def metric_lines(metrics: Mapping[str, float | None]) -> list[str]:
    """A line for each metric, and one that explains those of contests."""
    from jaxrate.evaluation.scored_predictions import format_metric

    texts = {metric_heading(name): format_metric(name, value) for name, value in metrics.items()}
    width, digits = max(map(len, texts)) + 1, max(map(len, texts.values()))
    return [*(f"{name:<{width}}{text:>{digits}}" for name, text in texts.items()), *contest_metrics_notes(metrics)]


def calibration_lines(system: RatingSystem, options: Mapping[str, Any]) -> list[str]:
    """Whether and how the predictions of a history with these options are calibrated."""
    from jaxrate.history.online_calibration import OPTION, describe_calibration

    text = describe_calibration(system, options)
    return [text + " (--no-calibrate turns this off.)" * (OPTION in options)] if text else []


SHOWN_EVENTS = 20  # of a career, the last ones
UNKNOWN_NAMES = {"?": "unknown", "": "unknown"}  # of categories
POINT_COLUMNS = "points", "opponents_points"  # of a career, shown as one


def find_category(rated: jr.History, text: str | None) -> Any:
    """The category of a history that is written so; other text as it is, which no history has."""
    categories = [] if rated.categories is None else rated.categories.tolist()
    return next((name for name in categories if str(name) == text), text)


def strengths_by_category(rated: jr.History, board: Any) -> list[TextTable]:
    """The strengths of the leaders in or against each category, if the table of ratings has modifiers."""
    columns = jr.history.rating_table(rated) if rated.categories is not None else {}
    if rated.categories is None or not {f"modifier {x}" for x in rated.categories} <= columns.keys():
        return []
    row = {name: i for i, name in enumerate(columns["player"])}
    shown = [row[name] for name in board.player]
    digits, rating = rating_decimals(columns["rating"][shown]), columns["rating"][shown]
    modifiers = {UNKNOWN_NAMES.get(str(x), str(x)): columns[f"modifier {x}"][shown] for x in rated.categories}
    proven = {name: x for name, x in modifiers.items() if np.any(np.abs(x) >= 0.5 * 10.0**-digits)}
    cells = {
        name: [format_decimals(x, digits) for x in rating + points]
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
    rated: jr.History, name: str, career: dict[str, Any], point_columns: Iterable[str] = (), *, is_whole: bool = False
) -> list[str | TextTable]:
    """The career of a player, the whole or its end; `point_columns` are further columns in points."""
    kind = "match" if rated.contests is None else "contest"
    total, digits = len(career["rating"]), rating_decimals(career["rating"])
    career = career | {"rating": career["rating"] + career["change"]}  # after the event, as pages have it
    career_columns = career if is_whole else {key: x[-SHOWN_EVENTS:] for key, x in career.items()}
    times = career_columns["time"]
    if "points" in career_columns:
        points = zip(*(career_columns[key].tolist() for key in POINT_COLUMNS), strict=True)
        texts = [f"{x:g}\u2013{y:g}" if x == x and y == y else "" for x, y in points]
        career_columns = career_columns | {"points": texts}
    career_columns = {key: x for key, x in career_columns.items() if key not in ("time", POINT_COLUMNS[1])}
    if rated.clock is not None:
        career_columns = {
            "time": ["" if x != x else x if rated.clock == "dates" else format_number(x) for x in times]
        } | career_columns
    fixed: dict[str, int] = {"expected_rank": 1, "rank_needed": 0}
    fixed |= dict.fromkeys(("rating", "deviation", "performance", *point_columns), digits)
    formats: dict[str, Any] = {key: partial(format_decimals, digits=x) for key, x in fixed.items()}
    formats |= {
        "probability": format_percentage,
        "score": "{:g}".format,
        "change": partial(format_decimals, digits=digits, signed=True),
    }
    names = [key for key in career_columns if key != "change"]
    if "side" in names:
        names.remove("side")
        names.insert(names.index("opponent") + 1, "side")
    names.insert(names.index("rating"), "change")  # narrow terminals leave out the last columns
    career_columns = {key: career_columns[key] for key in names}
    rows = [
        ["" if x != x else formats[key](x) if key in formats else x for key, x in zip(career_columns, row, strict=True)]
        for row in zip(*career_columns.values(), strict=True)
    ]
    words = {"probability": "expected"} | ({"time": "date"} if rated.clock == "dates" else {})
    headings = [words.get(key, key.replace("_", " ")) for key in career_columns]
    caption = f"Ratings are after each {kind}{DEVIATIONS_CLAUSE if 'deviation' in career_columns else ''}."
    learns_margins = rated.system.settings.get("outcome") == "margin"
    if learns_margins and "score" in career and np.any((career["score"] == 1.0) & (career["change"] < 0.0)):
        caption += "\nA win by less than was expected costs points, as the system learns from margins."
    extent = "" if len(rows) == total else f", the last {len(rows)} of them (all: --all-matches)"
    return [
        f"{format_unquoted_name(name)}: {format_count(total, kind)}{extent}",
        TextTable(headings, rows, ("date", "time", "opponent", "contest"), caption),
    ]


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


def check_smooth_has_whole_history(state: Any, file: str | None) -> None:
    """ValueError unless the history is whole."""
    if state is not None or file is None:
        raise ValueError("--smooth needs a whole history: rate its FILE without --state")


def smooth_task(report: ProgressReport, task: RatingTask) -> jr.History:
    """The history with hindsight; ValueError for a system that has none."""
    if task.system.name != "skills":  # of its forms `smooth` says which it lacks
        raise ValueError(f"--smooth needs --system skills: {task.system.name} has no hindsight")

    kind = "matches" if task.data.of_matches else "participations"
    with report.stage(f"smoothing {len(task.data.rows):,} {kind}"):
        return jr.smooth(task.system, task.data)


def peak_rating_sections(smoothed: jr.History, top: int) -> list[str | TextTable]:
    """Everybody at their best, with hindsight."""
    assert smoothed.hindsight is not None
    details = f"log likelihood {smoothed.hindsight.evidence:,.1f}, {smoothed.hindsight.sweeps} sweeps"
    peaks = to_text_table(jr.history.peak_ratings(smoothed, top=top))
    return [f"peak ratings in hindsight ({details})", peaks]


def smoothed_career_columns(smoothed: jr.History, player: str) -> dict[str, Any]:
    """Two more columns of a career: rating and deviation after each event, with hindsight."""
    smoothed_career = jr.career(smoothed, player)
    return {"hindsight": smoothed_career["rating"], "its_deviation": smoothed_career["deviation"]}


def smoothed_event_columns(smoothed: jr.History, data: jr.data.Dataset) -> dict[str, Any]:
    """Columns of matches, or of participations in contests: ratings after each, and predictions from all others."""
    hidden = {"participants", "teams", "team", *(["time"] if data.clock is None else [])}
    return {name.replace("_after", ""): x for name, x in smoothed.columns().items() if name not in hidden}


def parse_time_option(option: str, text: str | None, clock: str | None, date_format: str | None) -> float | None:
    """The time that an option names: the end of a day or a moment if the matches have dates, else a number.

    Args:
      option: its name, for messages.
      text: its value, or None.
      clock: of the history: "dates", "numbers" or None.
      date_format: how dates are written in its file, as `dates` of `jr.read`.

    Raises:
      ValueError: if the history has no times, or if the text is none of its kind.
    """
    from jaxrate.history.ratings_at_times import parse_written_date

    if text is None:
        return None
    if clock is None:
        raise ValueError(f"{option} needs times; name the column of time with --time")
    try:
        if clock == "numbers":
            moment = float(text)
            if not np.isfinite(moment):
                raise ValueError
            return moment
        days = parse_written_date(text, date_format)
    except ValueError:
        kind = "a number, as the times are" if clock == "numbers" else "a date, as in 2026-05-31"
        if clock == "dates" and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            raise ValueError(f"{option} {text}: there is no such day") from None
        raise ValueError(f"{option} {text}: write {kind}") from None
    return float(np.nextafter(days + 1, 0)) if ":" not in text and days == np.floor(days) else days


def time_of_shown_ratings(rated: jr.History, until: float | None) -> float | None:
    """The time of the ratings that are shown: the rating period in which a history ends is rated to its end."""
    from jaxrate.events import period_end

    if until is None or rated.period is None or rated.last is None or until < rated.last:
        return until
    return max(until, float(period_end(rated.last, rated.period)))


def note_time_outside_history(report: ProgressReport, rated: jr.History, until: float | None) -> None:
    """A note if --as-of is before the history, or so long after it that nobody plays any more."""
    from jaxrate.history.history import format_time
    from jaxrate.history.leaderboards import DEFAULT_ACTIVE_DAYS

    if until is None or rated.last is None or not len(rated.events["row"]):
        return
    first = float(rated.events["time"].min())
    if until < first or (rated.clock == "dates" and until > rated.last + DEFAULT_ACTIVE_DAYS + 1):
        ends = " to ".join(format_time(time, rated.clock) for time in (first, rated.last))
        report.note(f"--as-of is outside the history, which runs from {ends}")


def events_up_to(data: jr.data.Dataset, until: float, num_known_players: int) -> jr.data.Dataset:
    """The events up to a time, and their players; the first `num_known_players` stay in any case."""
    from jaxrate.events import slice_events

    flat: Any = data.events.flat
    count = int(np.argmax(np.append(flat.time, np.inf) > until))
    if count == 0:
        raise ValueError(f"no {data.events.nouns} up to --as-of")
    events = slice_events(data.events, 0, count)
    flat = events.flat
    keep_player = np.arange(len(data.players)) < num_known_players
    keep_player[flat.player] = True
    flat = flat._replace(player=(np.cumsum(keep_player, dtype=np.int32) - 1)[flat.player])
    return data._replace(
        events=events.with_flat(flat),
        players=data.players[keep_player],
        rows=data.rows[: len(flat.player)],
        contests=None if data.contests is None else data.contests[:count],
    )


def career_up_to(career: dict[str, Any], until: float | None) -> dict[str, Any]:
    """The career of a player up to a time."""
    from jaxrate.history.event_columns import times_to_event_clock

    return (
        career
        if until is None
        else {key: x[times_to_event_clock(career["time"]) <= until] for key, x in career.items()}
    )
