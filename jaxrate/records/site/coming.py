"""What is coming: matches and what is expected of them, and how a season may end, as tables for people."""

from typing import Any, NamedTuple

from jaxrate.records.seasons import Season
from jaxrate.records.shown import Columns

HEADS = {  # what people call the columns of `jr.fixtures` and of a season; others are not shown
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
}
OF_SEASON = {
    "player": "name",
    "played": "played",
    "points": "points",
    "expected_points": "points in the end",
    "win": "champion",
    "top_4": "first four",
    "relegated": "relegated",
}
CHANCES = "win", "draw", "loss", "top_4", "relegated"


class Coming(NamedTuple):
    """A table of the page."""

    title: str
    file: str  # of the data, without its ending
    rows: list[dict[str, Any]]  # by head
    shown: list[list[str]]  # the same as text
    note: str


def coming_tables(coming: Columns | None, season: Season | None) -> list[Coming]:
    """The tables there are."""
    tables = []
    if season is not None:
        note = f"{season.samples:,} seasons were played, with one strength for everybody in each of them."
        tables.append(_table("How the season may end", "season", season.columns(), OF_SEASON, note))
    if coming is not None:
        note = "Odds are fair ones: one divided by the chance." if "odds_win" in coming else ""
        tables.append(_table("Coming events", "coming", coming, HEADS, note))
    return tables


def _table(title: str, file: str, columns: Columns, heads: dict[str, str], note: str) -> Coming:
    names = [name for name in columns if name in heads]
    chosen = Columns({name: columns[name] for name in names})
    rows = [{heads[name]: x for name, x in row.items()} for row in chosen.rows()]
    return Coming(title, file, rows, [[_said(name, x) for name, x in row.items()] for row in chosen.rows()], note)


def _said(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in CHANCES:
        text = f"{100 * value:.{0 if 0.02 < value < 0.98 else 1}f}"
        return f"{ {'100.0': '> 99.9', '0.0': '< 0.1'}.get(text, text) } %"
    if name.startswith("odds_"):
        return f"{value:.2f}"
    if name in ("expected_points", "expected_rank"):
        return f"{value:.1f}"
    return f"{value:g}" if isinstance(value, float) else str(value)
