"""Tables of forecasts: future events with their predictions, and the end of a season."""

from typing import Any, NamedTuple

from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.league.column_table import ColumnTable
from jaxrate.site.wording import PLAYERS, Noun

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
}
SEASON_HEADINGS = {
    "player": "name",
    "played": "played",
    "points": "points",
    "expected_points": "points in the end",
    "win": "champion",
    "top_4": "first four",
    "relegated": "relegated",
}
PROBABILITY_COLUMNS = "win", "draw", "loss", "top_4", "relegated"


class ForecastTable(NamedTuple):
    """A table of a page, and its data for downloads."""

    title: str
    file: str  # name of the data files without suffix
    rows: list[dict[str, Any]]  # values by heading
    shown: list[list[str]]  # the same values as text
    note: str


def build_forecast_tables(
    event_forecasts: ColumnTable | None, season_forecast: SeasonForecast | None, noun: Noun = PLAYERS
) -> list[ForecastTable]:
    """Tables of the season and of future events, if given."""
    tables = []
    if season_forecast is not None:
        note = f"From {season_forecast.samples:,} simulated seasons, in each of which a {noun.one} keeps one strength."
        tables.append(
            _build_table("How the season may end", "season", season_forecast.columns(), SEASON_HEADINGS, note)
        )
    if event_forecasts is not None:
        note = "Odds are fair: one divided by the chance." if "odds_win" in event_forecasts else ""
        tables.append(
            _build_table(
                "Next matches" if "a" in event_forecasts else "Next contests",
                "coming",
                event_forecasts,
                EVENT_HEADINGS,
                note,
            )
        )
    return tables


def _build_table(title: str, file: str, columns: ColumnTable, headings: dict[str, str], note: str) -> ForecastTable:
    names = [name for name in columns if name in headings]
    chosen = ColumnTable({name: columns[name] for name in names})
    rows = [{headings[name]: x for name, x in row.items()} for row in chosen.to_records()]
    return ForecastTable(
        title, file, rows, [[_format_value(name, x) for name, x in row.items()] for row in chosen.to_records()], note
    )


def _format_value(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in PROBABILITY_COLUMNS:
        text = f"{100 * value:.{0 if 0.02 < value < 0.98 else 1}f}"
        return f"{ {'100.0': '> 99.9', '0.0': '< 0.1'}.get(text, text) } %"
    if name.startswith("odds_"):
        return f"{value:.2f}"
    if name in ("expected_points", "expected_rank"):
        return f"{value:.1f}"
    return f"{value:g}" if isinstance(value, float) else str(value)
