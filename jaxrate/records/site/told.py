"""What all pages of a site are made of: careers, names, and what each page says."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.tables import Values
from jaxrate.records.everyone import Careers, careers, in_hindsight
from jaxrate.records.leaderboard import leaderboard
from jaxrate.records.leaderboard_table import Leaderboard
from jaxrate.records.phrases import current_said, so_many, span, times_said
from jaxrate.records.rated import Rated, to_days
from jaxrate.text import coarse

FURTHER = 2  # decimals of ratings, beyond those that are shown, for who downloads them
PAGES = {"index": "Leaderboard", "pairs": "Pairs", "quality": "How good?", "about": "About"}
LETTERS = str.maketrans(dict(zip("łøđðþßæœ\u0131", ["l", "o", "d", "d", "th", "ss", "ae", "oe", "i"], strict=True)))
RESERVED = re.compile(r"(con|prn|aux|nul|(com|lpt)\d)")  # names that Windows keeps for itself


class Told(NamedTuple):
    """What all pages are made of."""

    rated: Rated
    careers: Careers
    everybody: Leaderboard
    order: Values  # [num_players] their ids
    current: Leaderboard  # of those who have played lately
    listed: Values  # their ids
    names: list[str]
    slugs: list[str]
    columns: dict[str, Values]  # [n] of the predictions, by heading
    points: tuple[Values, Values] | None
    known: tuple[Values, Values] | None  # [n, 2] means and deviations with hindsight
    digits: int


def told_of(
    rated: Rated,
    names: Mapping[Any, str],
    columns: Mapping[str, Any],
    points: Any,
    smoothed: Any,
    listed: Mapping[str, Any],
) -> Told:
    """What the arguments of `site` come to; `listed` are those of the leaderboard."""
    n = len(rated.predictions)
    if points is not None and rated.contests is not None:
        raise ValueError("points are of matches of two; these are contests")
    given = {name: np.asarray(x) for name, x in columns.items()}
    points = None if points is None else tuple(np.asarray(x) for x in points)
    for name, x in [*given.items(), *(("points", x) for x in points or ())]:
        if x.shape != (n,):
            raise ValueError(f"column {name!r} must be [n], one for each of {n} rows of the predictions, got {x.shape}")
    known = None if smoothed is None else in_hindsight(rated, smoothed)
    found = careers(rated)
    count = len(rated.players)
    everybody, current = leaderboard(rated, active="all", top=count), leaderboard(rated, top=count, **listed)
    place = {name: i for i, name in enumerate(rated.players.tolist())}
    order, some = (np.array([place[x] for x in board.player.tolist()], int) for board in (everybody, current))
    shown = shown_names(rated.players, names)
    files, digits = slugs(shown), coarse(everybody.rating)
    return Told(rated, found, everybody, order, current, some, shown, files, given, points, known, digits)


def shown_names(players: Values, names: Mapping[Any, str]) -> list[str]:
    """What players are called; those of one name are told apart by what the history calls them."""
    texts = [" ".join(str(names.get(x, x)).split()) for x in players.tolist()]
    count: dict[str, int] = {}
    for text in texts:
        count[text] = count.get(text, 0) + 1
    own = players.tolist()
    return [f"{text} ({own[i]})" if count[text] > 1 else text for i, text in enumerate(texts)]


def slugs(names: list[str]) -> list[str]:
    """A name of a file for each of the names, in letters and digits that every host knows; no two are alike."""
    taken: set[str] = set()
    found = []
    for name in names:
        spelt = unicodedata.normalize("NFKD", name.lower().translate(LETTERS))
        slug = re.sub(r"[^a-z0-9]+", "-", spelt.encode("ascii", "ignore").decode()).strip("-")[:60] or "player"
        slug = f"{slug}-player" if RESERVED.fullmatch(slug) else slug
        tail, number_ = slug, 1
        while tail in taken:
            number_ += 1
            tail = f"{slug}-{number_}"
        taken.add(tail)
        found.append(tail)
    return found


def about_site(told: Told, title: str) -> dict[str, Any]:
    """What all pages say."""
    rated = told.rated
    matches = rated.contests is None
    event, events = ("match", "matches") if matches else ("contest", "contests")
    count = len(rated.predictions) if rated.contests is None else rated.contests
    between = f"{', times ' if rated.clock == 'numbers' else ', '}{span(rated)}" if span(rated) else ""
    dated = rated.clock == "dates"
    last = "" if rated.last is None else times_said(np.array([rated.last]), dates=dated)[0]
    score = rated.predictions["score"].to_numpy() if matches else np.zeros(0)
    return {
        "title": title,
        "pages": [*PAGES.items()],
        "made": datetime.now(UTC).date().isoformat(),
        "event": event,
        "events": events,
        "summary": f"{so_many(count, event)} of {so_many(len(told.names), 'player')}{between}.",
        "last_said": f"Up to {last}." if last and dated else "",
        "now_said": f"as of {last}" if last and dated else f"after the last {event}",
        "some_current": len(told.listed) < len(told.order),
        "current_said": current_said(told.current),
        "since": told.current.scope.partition("since ")[2],
        "dated": dated,
        "draws": bool(((score > 0) & (score < 1)).any()),
        "full": "win" in rated.predictions.column_names,
        "periods": rated.period is not None,
        "hindsight": told.known is not None,
        "chart_said": f"The rating after each {event}; point at the line to see which."
        + (" The band is where the truth is, 19 times in 20." if told.careers.deviation is not None else ""),
        "table_said": _table_said(told, event),
    }  # fmt: skip


def _table_said(told: Told, event: str) -> str:
    before = "A chance is what was expected before the match" if event == "match" else "Expected is the place before"
    moved = f" Ratings move at the end of each period, with the last {event} in it." if told.rated.period else ""
    return f"{before}{' the contest' if event == 'contest' else ''}. The rating is the one after it.{moved}"


def plain(values: Values, digits: int) -> list[Any]:
    """Numbers for JSON, with so many decimals; None where there is none."""
    rounded = np.round(values.astype(float), digits)
    if digits == 0:
        return [None if x != x else int(x) for x in rounded.tolist()]
    return [None if x != x else x for x in rounded.tolist()]


def exact(told: Told, ratings: Values) -> list[Any]:
    """Ratings for JSON."""
    return plain(ratings, told.digits + FURTHER)


def spread(told: Told, deviation: Values) -> list[Any]:
    return exact(told, 1.96 * deviation)


def board_of(told: Told) -> dict[str, Any]:
    """Columns of everybody, the best first; what only the list of current players tells is missing of others."""
    board, current = told.everybody, told.current
    place = np.argsort(told.order)[told.listed]
    listed = np.zeros(len(told.order), int)
    listed[place] = 1
    columns: dict[str, Any] = {
        "name": [told.names[i] for i in told.order],
        "slug": [told.slugs[i] for i in told.order],
        "rating": exact(told, board.rating),
        "games": np.asarray(board.games).tolist(),
        "peak": exact(told, np.asarray(board.peak)),
        "current": listed.tolist(),
    }
    if board.deviation is not None:
        columns["spread"] = spread(told, board.deviation)
    if board.last is not None:
        columns |= {"last": days(told, board.last), "peaked": days(told, np.asarray(board.peak_time))}
    if current.change is not None and current.rank_then is not None:
        change, then = np.full(len(listed), np.nan), np.full(len(listed), np.nan)
        change[place], then[place] = current.change, np.where(current.rank_then > 0, current.rank_then, np.nan)
        columns |= {"change": exact(told, change), "then": plain(then, 0)}
    return columns


def days(told: Told, times: Values) -> list[Any]:
    """Days since 1970-01-01 where there are dates; else the times."""
    times = to_days(times)
    return plain(np.floor(times), 0) if told.rated.clock == "dates" else plain(times, 3)
