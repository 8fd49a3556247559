"""The form that predicts any two, of reports and sites: what it may ask, and the tables that answer."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.forecasts.matchup_tables import MatchupTables, encode_matchup_tables
from jaxrate.forecasts.matchups_with_partners import Partners, typical_team_size
from jaxrate.history.history import History
from jaxrate.history.player_records import rating_table
from jaxrate.site.wording import SURFACES, UNKNOWN, category_noun, format_category


def equal_partners(rated: History, listed: HostArray) -> Partners | None:
    """The partners of any two in a history of teams: as strong as the middle one of those `listed`, best first."""
    size = typical_team_size(rated)
    return None if size < 2 or not len(listed) else Partners(size - 1, int(listed[len(listed) // 2]))


def sort_categories(rated: History, tables: Mapping[Any, Any]) -> dict[Any, Any]:
    """Tables by category, beginning with that in which strengths are known best: the commonest, as a rule.

    One without a name is the last.
    """
    if rated.categories is None:
        return dict(tables)
    ratings = rating_table(rated)

    def mean_deviation(category: Any) -> float:
        """Of all players' strengths in it; the histories do not keep the categories of matches."""
        deviations = ratings.get(f"deviation {category}")
        return 0.0 if deviations is None else float(np.mean(deviations))

    return {x: tables[x] for x in sorted(tables, key=lambda x: (format_category(x) == UNKNOWN, mean_deviation(x)))}


def pair_fields(rated: History, matchups: Mapping[Any, MatchupTables]) -> dict[str, Any]:
    """The variables of its template, from the tables by category."""
    num_players = len(rated.players)
    tables = list(matchups.values())
    count = min((x.even.left.shape[1] for x in tables), default=num_players)
    categories = [format_category(name) for name in matchups if name is not None]
    return {
        "few": count if count < num_players else 0,
        "sided": bool(tables) and all(x.home is not None for x in tables),
        "drawn": bool(tables) and all(x.draw is not None for x in tables),
        "categories": categories,
        "category_noun": category_noun(rated),
        "in_series": not any(x.casefold() in SURFACES for x in categories),  # tennis has none
    }


def encode_matchups(matchups: Mapping[Any, MatchupTables]) -> list[dict[str, Any]]:
    """The tables in JSON, in the order of the categories."""
    return [encode_matchup_tables(tables) for tables in matchups.values()]
