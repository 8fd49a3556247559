"""What stands above a ranking: how sure the lead is, who moved most, and what comes next."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.text_format import format_percentage
from jaxrate.forecasts.season_simulation import SeasonForecast
from jaxrate.history.leaderboards import best_chance
from jaxrate.site.forecast_tables import MatchForecast, Places, share_bar
from jaxrate.site.html_tables import Column, link_player, make_column, render_table
from jaxrate.site.site_data import SiteData
from jaxrate.site.table_rows import describe_move, ranked_name
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
        f"Moved most since {spell_dates(data.change_since)}": [_moved_columns(data, link)],
        "What comes next": coming,
    }
    drawn = {title: [x for x in tables if x] for title, tables in modules.items()}
    kind = "rows static narrow news"
    return [
        FrontModule(title, [render_table(title, x, kind) for x in those]) for title, those in drawn.items() if those
    ]


def _best_chance_columns(data: SiteData, link: Callable[[int], str]) -> list[Column]:
    """Who is the best of the list how probably; nothing of systems without deviations."""
    board = data.current.first_group()
    if board.deviation is None or len(board.rank) < 2 or not board.deviation.any():
        return []
    chances = [best_chance(board.rating, board.deviation, i) for i in range(min(NUM_RIVALS, len(board.rank)))]
    places = sorted(range(len(chances)), key=lambda i: -chances[i])[:NUM_ROWS]
    names = [ranked_name(data, link, int(data.listed[i])) for i in places]
    return _chance_columns(data.noun.one, names, [chances[i] for i in places])


def _chance_columns(head: str, names: Sequence[str], chances: Sequence[float]) -> list[Column]:
    """Names, their chances as bars, and in percent."""
    bars = [share_bar([("win", x), ("", 1.0 - x)]) for x in chances]
    percents = make_column("figure", "chance", chances, format_percentage)
    return [Column("words who", head, names), Column("bar", "", bars), percents]


def _moved_columns(data: SiteData, link: Callable[[int], str]) -> list[Column]:
    """Those of the first ranks whose ratings changed most, the greatest rise first; nothing if none is known."""
    board = data.current.first_group()
    if board.change is None or board.rank_then is None:
        return []
    size = np.nan_to_num(np.abs(board.change[:NUM_MOVED]))
    moved = np.argsort(-size, kind="stable")[: min(NUM_ROWS, np.count_nonzero(size))]
    moved = moved[np.argsort(-board.change[moved], kind="stable")].tolist()
    return [
        Column("words who", data.noun.one, [ranked_name(data, link, int(data.listed[i])) for i in moved]),
        Column("moved", "rank", [describe_move(int(board.rank[i]), int(board.rank_then[i])) for i in moved]),
        make_column("figure", "change", board.change[moved].tolist(), lambda x: data.format_rating(x, signed=True)),
    ] * bool(moved)


def next_match_columns(matches: Sequence[MatchForecast], places: Places) -> list[Column]:
    """The next matches, or the first if all are past: both names, their chances as a bar and in percent, in rows."""
    ahead = ([x for x in matches if not x.is_past] or matches)[:NUM_ROWS]
    pairs = [f"{link_player(x.first, places)}<br>{link_player(x.second, places)}" for x in ahead]
    bars = [share_bar([(kind, share) for kind, share, _ in x.chances]) for x in ahead]
    days = dict.fromkeys(f"<time>{x.day}</time>" for x in [*ahead[:1], *ahead[-1:]] if x.day)
    percents = [f"{x.chances[0][2]}<br>{x.chances[-1][2]}" for x in ahead]
    head = " to ".join(days) or "match"
    return [Column("words who", head, pairs), Column("bar", "", bars), Column("figure", "wins", percents)] * bool(ahead)


def title_chance_columns(season: SeasonForecast | None, places: Places) -> list[Column]:
    """Who ends a season first how probably; nothing without one, or once that is decided."""
    if season is None or season.champion is not None:
        return []
    chance = season.place[:, 0]
    best = np.argsort(-chance, kind="stable")[:NUM_ROWS]
    names = [str(link_player(str(x), places)) for x in season.player[best]]
    return _chance_columns("champion", names, chance[best].tolist())
