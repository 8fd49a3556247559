"""The data of a site as text: JSON of its scripts, and tables for downloads."""

import csv
import json
from io import StringIO
from typing import Any

import numpy as np

from jaxrate.data.table_writing import UTF8_BOM as BYTE_ORDER_MARK
from jaxrate.data.table_writing import escape_formulas
from jaxrate.site.json_columns import leaderboard_columns
from jaxrate.site.site_data import SiteData


def script_safe_json(values: Any, **options: Any) -> str:
    """JSON that is safe in a script of a page."""
    options = options or {"separators": (",", ":")}
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, **options)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def leaderboard_rows(site_data: SiteData) -> list[dict[str, Any]]:
    """The ranking as rows, for downloads: current players by rank, then all others by rating, without one."""
    board = leaderboard_columns(site_data)
    order = np.argsort(1 - np.array(board["current"]), kind="stable").tolist()
    board = {name: [column[i] for i in order] for name, column in board.items()}
    headings = {
        "group": "group",
        "name": "name",
        "rating": "rating",
        "spread": "plus or minus",
        "games": "games",
        "last": "last played",
    }
    headings |= {"change": "change", "then": "earlier rank", "peak": "best", "peaked": "best on", "slug": "page"}
    if site_data.rated.clock == "dates":
        for key in ("last", "peaked"):
            board[key] = [None if x is None else str(np.datetime64(int(x), "D")) for x in board[key]]
    board["slug"] = [f"players/{slug}.html" for slug in board["slug"]]
    columns, ranks = [board[key] for key in headings if key in board], site_data.current.rank
    names = [text for key, text in headings.items() if key in board]
    return [
        {"rank": int(ranks[i]) if i < len(ranks) else None, **dict(zip(names, row, strict=True))}
        for i, row in enumerate(zip(*columns, strict=True))
    ]


def rows_to_csv(rows: list[dict[str, Any]]) -> str:
    """Rows as the text of a CSV file, without formulas, and with a mark for spreadsheets that it is UTF-8."""
    safe = escape_formulas({key: np.array([row[key] for row in rows], object) for key in rows[0]})
    file = StringIO()
    file.write(BYTE_ORDER_MARK.decode())
    writer = csv.writer(file)
    writer.writerow(safe)
    writer.writerows(zip(*(x.tolist() for x in safe.values()), strict=True))
    return file.getvalue()
