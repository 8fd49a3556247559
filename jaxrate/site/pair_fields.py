"""The form that predicts any two, of reports and sites: what it may ask, and the tables that answer."""

from collections.abc import Mapping
from typing import Any

from jaxrate.forecasts.matchup_tables import MatchupTables, encode_matchup_tables


def pair_fields(matchups: Mapping[Any, MatchupTables], num_players: int) -> dict[str, Any]:
    """The variables of its template, from the tables by category."""
    tables = list(matchups.values())
    count = min((x.even.left.shape[1] for x in tables), default=num_players)
    return {
        "few": count if count < num_players else 0,
        "sided": bool(tables) and all(x.home is not None for x in tables),
        "drawn": bool(tables) and all(x.draw is not None for x in tables),
        "categories": [str(name) for name in matchups if name is not None],
    }


def encode_matchups(matchups: Mapping[Any, MatchupTables]) -> list[dict[str, Any]]:
    """The tables in JSON, in the order of the categories."""
    return [encode_matchup_tables(tables) for tables in matchups.values()]
