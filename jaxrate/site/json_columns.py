"""Tables of pages as JSON columns, and the data files of a site."""

import csv
import json
from io import StringIO
from itertools import zip_longest
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.table_writing import UTF8_BOM as BYTE_ORDER_MARK
from jaxrate.data.table_writing import escape_formulas
from jaxrate.history.event_columns import times_to_event_clock
from jaxrate.site.site_data import EXTRA_DIGITS, SiteData
from jaxrate.views.charts import half_widths

CHANCE_DIGITS = 4  # of probabilities in data
TENTHS_BEYOND = 2, 98  # percents below and above which pages show tenths


def round_for_json(values: HostArray, digits: int) -> list[Any]:
    """Numbers for JSON, with this number of decimals; None for NaN."""
    rounded = np.round(values.astype(float), digits)
    if digits == 0:
        return [None if x != x else int(x) for x in rounded.tolist()]
    return [None if x != x else x for x in rounded.tolist()]


def ratings_for_json(data: SiteData, ratings: HostArray, extra_digits: int = EXTRA_DIGITS) -> list[Any]:
    """Ratings for JSON, with more decimals than are shown: scripts, which round them again, show what pages do."""
    values, digits = ratings.astype(float), data.digits + extra_digits
    step = 10**extra_digits  # of the stored decimals, to one of those that are shown
    stored = np.rint(np.abs(values) * 10.0**digits)
    half_up = np.floor(stored / step + 0.5)  # as scripts round
    stored -= half_up > np.rint(np.abs(values) * 10.0**data.digits)
    return round_for_json(np.copysign(stored / 10.0**digits, values) + 0.0, digits)


def chances_for_json(chance: HostArray) -> list[Any]:
    """Probabilities for JSON, with more decimals than pages show in percent, which read as what they show."""
    p, unit = chance.astype(float), 10.0**CHANCE_DIGITS
    low, high = (x / 100 for x in TENTHS_BEYOND)
    stored = np.rint(unit * p)
    stored = np.where(p > low, np.maximum(stored, unit * low + 1.0), stored)
    stored = np.where(p < high, np.minimum(stored, unit * high - 1.0), stored)
    step = np.where((p > low) & (p < high), unit / 100, unit / 1000)
    is_half = stored % step == step / 2  # which may read either way
    is_rounded_up = np.floor(100 * p * (unit / 100 / step) + 0.5) > np.floor(stored / step)
    stored += np.where(is_half, np.where(is_rounded_up, 1.0, -1.0), 0.0)
    return round_for_json(stored / unit, CHANCE_DIGITS)


def times_for_json(data: SiteData, times: HostArray) -> list[Any]:
    """Times for JSON: days since 1970-01-01 for dates, else the times."""
    times = times_to_event_clock(times)
    return round_for_json(np.floor(times), 0) if data.is_dated else round_for_json(times, 3)


def leaderboard_columns(data: SiteData) -> dict[str, Any]:
    """Columns of all players, the best first; columns of the list of current players are None for others."""
    board, current = data.full_leaderboard, data.current
    place, count = np.argsort(data.leaderboard_ids)[data.listed], len(data.leaderboard_ids)

    def of_listed(values: HostArray, others: float) -> HostArray:
        column = np.full(count, others)
        column[place] = values
        return column

    columns: dict[str, Any] = {
        "name": [data.names[i] for i in data.leaderboard_ids],
        "slug": [data.slugs[i] for i in data.leaderboard_ids],
        "rating": ratings_for_json(data, board.rating),
        "games": np.asarray(board.games).tolist(),
        "peak": ratings_for_json(data, np.asarray(board.peak)),
        "current": of_listed(np.ones(len(place)), 0).astype(int).tolist(),
    }
    if board.group is not None:
        columns["group"] = board.group.tolist()
    if board.deviation is not None:
        columns["spread"] = ratings_for_json(data, half_widths(board.deviation))
    if board.last is not None:
        columns["last"] = times_for_json(data, board.last)
        columns["peaked"] = times_for_json(data, np.asarray(board.peak_time))
    if current.change is not None and current.rank_then is not None:
        rank_then = np.where(current.rank_then > 0, current.rank_then, np.nan)
        columns["change"] = ratings_for_json(data, of_listed(current.change, np.nan))
        columns["then"] = round_for_json(of_listed(rank_then, np.nan), 0)
        columns["back"] = of_listed(returned_players(data), 0).astype(int).tolist()
    return columns


def returned_players(data: SiteData) -> HostArray:
    """[n] of the list: whether they were on it once, but not at the time that changes count from.

    Who had so many games before then as the list asks for was on it when the last of them was played.
    """
    since, rank_then = data.change_since, data.current.rank_then
    if rank_then is None or data.rated.clock is None or not since:
        return np.zeros(len(data.listed), bool)
    begin = float(np.datetime64(since, "D").astype(int)) if data.is_dated else float(since.replace(",", ""))
    earlier_games = np.diff(np.append(0, np.cumsum(data.careers.time < begin))[data.careers.start])[data.listed]
    return (np.asarray(rank_then) == 0) & (earlier_games >= max(data.min_games, 1))


def script_safe_json(values: Any, **options: Any) -> str:
    """JSON that is safe in a script of a page."""
    options = options or {"separators": (",", ":")}
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, **options)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


DOWNLOAD_HEADINGS = {  # by the columns of the ranking
    "group": "group",
    "name": "name",
    "rating": "rating",
    "spread": "plus or minus",
    "games": "games",
    "last": "last played",
    "change": "change",
    "then": "earlier rank",
    "peak": "best",
    "peaked": "best on",
    "slug": "page",
}


def leaderboard_rows(site_data: SiteData) -> list[dict[str, Any]]:
    """The ranking as rows, for downloads: current players by rank, then all others by rating, without one."""
    board, ranks = leaderboard_columns(site_data), site_data.current.rank.tolist()
    board["slug"] = [f"players/{slug}.html" for slug in board["slug"]]
    for key in board.keys() & {"last", "peaked"} if site_data.is_dated else ():
        board[key] = [None if x is None else str(np.datetime64(int(x), "D")) for x in board[key]]
    names = [key for key in DOWNLOAD_HEADINGS if key in board]
    order = np.argsort(1 - np.array(board["current"]), kind="stable").tolist()
    ranked = zip_longest(ranks, order)
    return [{"rank": rank} | {DOWNLOAD_HEADINGS[key]: board[key][i] for key in names} for rank, i in ranked]


def rows_to_csv(rows: list[dict[str, Any]]) -> str:
    """Rows as the text of a CSV file, without formulas, and with a mark for spreadsheets that it is UTF-8."""
    safe = escape_formulas({key: np.array([row[key] for row in rows], object) for key in rows[0]})
    file = StringIO()
    file.write(BYTE_ORDER_MARK.decode())
    writer = csv.writer(file)
    writer.writerow(safe)
    writer.writerows(zip(*(x.tolist() for x in safe.values()), strict=True))
    return file.getvalue()
