"""What all pages of a site are made of: careers, names, and what each page says."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.tables import Values
from jaxrate.records.everyone import Careers, Peak, careers, in_hindsight, peak
from jaxrate.records.rated import Rated
from jaxrate.records.report import span, times_said
from jaxrate.text import decimals

PAGES = {"index": "Leaderboard", "pairs": "Pairs", "quality": "How good?", "about": "About"}
YEAR = 365.0  # days in which current players have played
LETTERS = str.maketrans(dict(zip("łøđðþßæœ\u0131", ["l", "o", "d", "d", "th", "ss", "ae", "oe", "i"], strict=True)))
RESERVED = re.compile(r"(con|prn|aux|nul|(com|lpt)\d)")  # names that Windows keeps for itself


class Told(NamedTuple):
    """What all pages are made of."""

    rated: Rated
    careers: Careers
    peak: Peak
    order: Values  # [num_players] ids, the best rating first
    rank: Values  # [num_players] among the current players, from 1; 0 of others
    current: Values  # [num_players] whether they have played lately
    names: list[str]
    slugs: list[str]
    columns: dict[str, Values]  # [n] of the predictions, by heading
    points: tuple[Values, Values] | None
    known: tuple[Values, Values] | None  # [n, 2] means and deviations with hindsight
    digits: int


def told_of(rated: Rated, names: Mapping[Any, str], columns: Mapping[str, Any], points: Any, smoothed: Any) -> Told:
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
    rating = found.final.mean
    order, top = np.argsort(-rating, kind="stable"), peak(found)
    current = np.ones(len(rating), bool)
    if rated.clock == "dates" and rated.last is not None:
        current = top.last >= rated.last - YEAR
    rank = np.zeros(len(rating), int)
    rank[order[current[order]]] = np.arange(1, current.sum() + 1)
    shown = shown_names(rated.players, names)
    files, digits = slugs(shown), decimals(rating) // 3 * 3
    return Told(rated, found, top, order, rank, current, shown, files, given, points, known, digits)


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
    count = len(rated.predictions) if matches else rated.contests
    between = span(rated)
    dated = rated.clock == "dates"
    last = "" if rated.last is None else times_said(np.array([rated.last]), dates=dated)[0]
    score = rated.predictions["score"].to_numpy() if matches else np.zeros(0)
    return {
        "title": title,
        "pages": [*PAGES.items()],
        "made": datetime.now(UTC).date().isoformat(),
        "event": event,
        "events": events,
        "summary": f"{count:,} {events} of {len(told.names):,} players{', ' + between if between else ''}.",
        "last_said": f"Up to {last}." if last and dated else "",
        "now_said": f"as of {last}" if last and dated else f"after the last {event}",
        "some_current": not told.current.all(),
        "window": "year",
        "dated": dated,
        "draws": bool((score == 0.5).any()),
        "full": "win" in rated.predictions.column_names,
        "periods": rated.period is not None,
        "hindsight": told.known is not None,
        "chart_said": "Point at the line to see single " + events + "."
        + (" The band is where the truth is, 19 times in 20." if told.careers.deviation is not None else ""),
        "table_said": _table_said(told, event),
    }  # fmt: skip


def _table_said(told: Told, event: str) -> str:
    before = "A chance is what was expected before the match" if event == "match" else "Expected is the place before"
    return f"{before}{' the contest' if event == 'contest' else ''}. The rating is the one after it."


def plain(values: Values, digits: int) -> list[Any]:
    """Numbers for JSON, with so many decimals; None where there is none."""
    rounded = np.round(values.astype(float), digits)
    some = rounded.astype(np.int64) if digits == 0 and np.isfinite(rounded).all() else rounded
    return [None if x != x else x for x in some.tolist()]


def spread(told: Told, deviation: Values) -> list[Any]:
    return plain(1.96 * deviation, told.digits)


def board_of(told: Told) -> dict[str, Any]:
    """Columns of the leaderboard, everybody's, the best first."""
    order, rating = told.order, told.careers.final
    board: dict[str, Any] = {
        "name": [told.names[i] for i in order],
        "slug": [told.slugs[i] for i in order],
        "rating": plain(rating.mean[order], told.digits),
        "games": told.rated.games[order].tolist(),
        "peak": plain(told.peak.rating[order], told.digits),
        "current": told.current[order].astype(int).tolist(),
    }
    if rating.deviation is not None:
        board["spread"] = spread(told, rating.deviation[order])
    if told.rated.clock is not None:
        at = np.where(told.peak.row >= 0, told.careers.time[told.peak.row], np.nan)
        board |= {"last": days(told, told.peak.last[order]), "peaked": days(told, at[order])}
    return board


def days(told: Told, times: Values) -> list[Any]:
    """Days since 1970-01-01 where there are dates; else the times."""
    return plain(np.floor(times), 0) if told.rated.clock == "dates" else plain(times, 3)
