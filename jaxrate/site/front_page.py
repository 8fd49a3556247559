"""What stands above a ranking: how sure the lead is, who moved most, and what comes next."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.text_format import format_percentage
from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.history.leaderboards import chance_to_be_best
from jaxrate.site.forecast_tables import MatchForecast, Places, share_bar
from jaxrate.site.html_tables import Column, link_player, make_column, render_table
from jaxrate.site.site_data import SiteData
from jaxrate.site.table_rows import name_link_with_group, rank_move_html
from jaxrate.views.wording import spell_dates

NUM_RIVALS, NUM_ROWS = 10, 4  # those of the first whose chances to be the best are compared, and rows of a table
NUM_MOVED = 50  # ranks among which the greatest moves are sought


class FrontModule(NamedTuple):
    """A heading, and the tables below it as markup for templates."""

    title: str
    tables: list[Any]


def build_front_modules(data: SiteData, link: Callable[[int], str], *coming: Any) -> list[FrontModule]:
    """The modules of a history that have something to tell; `coming` are tables of what comes next."""
    modules = {
        "Chance to be the best": [_best_chance_columns(data, link)],
        f"Moved most since {spell_dates(data.change_since)}": [_rating_change_columns(data, link)],
        "What comes next": coming,
    }
    drawn = {title: [x for x in tables if x] for title, tables in modules.items()}
    kind = "rows static narrow news"
    return [
        FrontModule(title, [render_table(title, x, kind) for x in those]) for title, those in drawn.items() if those
    ]


def _best_chance_columns(data: SiteData, link: Callable[[int], str]) -> list[Column]:
    """Who is the best of the list how probably; nothing of systems without deviations."""
    ids = data.first_group
    rating, deviation = data.rating[ids], data.deviation[ids]
    if len(ids) < 2 or not deviation.any():
        return []
    chances = np.array([chance_to_be_best(rating, deviation, i) for i in range(len(ids[:NUM_RIVALS]))])
    places = np.argsort(-chances, kind="stable")[:NUM_ROWS]
    names = [name_link_with_group(data, link, i) for i in ids[places].tolist()]
    return _chance_columns(data.noun.one, names, chances[places].tolist())


def _chance_columns(head: str, names: Sequence[str], chances: Sequence[float]) -> list[Column]:
    """Names, their chances as bars, and in percent."""
    bars = [share_bar([("win", x), ("", 1.0 - x)]) for x in chances]
    percents = make_column("figure", "chance", chances, format_percentage)
    return [Column("words who", head, names), Column("bar", "", bars), percents]


def _rating_change_columns(data: SiteData, link: Callable[[int], str]) -> list[Column]:
    """Those of the first ranks whose ratings changed most, the greatest rise first; nothing if none is known."""
    ids = data.first_group[:NUM_MOVED]
    size = np.nan_to_num(np.abs(data.change[ids]))
    moved = ids[np.argsort(-size, kind="stable")[: min(NUM_ROWS, np.count_nonzero(size))]]
    moved = moved[np.argsort(-data.change[moved], kind="stable")]
    return [
        make_column("words who", data.noun.one, moved.tolist(), partial(name_link_with_group, data, link)),
        Column("moved", "rank", [*map(rank_move_html, data.rank[moved].tolist(), data.rank_then[moved].tolist())]),
        make_column("figure", "change", data.change[moved].tolist(), partial(data.format_rating, signed=True)),
    ] * bool(len(moved))


def next_match_columns(matches: Sequence[MatchForecast], places: Places) -> list[Column]:
    """The next matches, or the first if all are past: both names, their chances as a bar and in percent, in rows."""
    ahead = ([x for x in matches if not x.is_past] or matches)[:NUM_ROWS]
    days = dict.fromkeys(f"<time>{x.day}</time>" for x in [*ahead[:1], *ahead[-1:]] if x.day)
    return [
        make_column("words who", " to ".join(days) or "match", ahead, partial(_link_both, places)),
        make_column("bar", "", ahead, lambda x: share_bar([chance[:2] for chance in x.chances])),
        make_column("figure", "wins", ahead, lambda x: f"{x.chances[0][2]}<br>{x.chances[-1][2]}"),
    ] * bool(ahead)


def _link_both(places: Places, match: MatchForecast) -> str:
    return f"{link_player(match.first, places)}<br>{link_player(match.second, places)}"


def title_chance_columns(season: SeasonForecast | None, places: Places) -> list[Column]:
    """Who ends a season first how probably; nothing without one, or once that is decided."""
    if season is None or season.champion is not None:
        return []
    chance = season.place[:, 0]
    best = np.argsort(-chance, kind="stable")[:NUM_ROWS]
    names = [str(link_player(str(x), places)) for x in season.player[best]]
    return _chance_columns("champion", names, chance[best].tolist())
