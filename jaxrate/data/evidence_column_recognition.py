"""Columns that improve predictions, by their names: points, seasons and surfaces, published forecasts and odds."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxrate.data.column_recognition import recognise_players
from jaxrate.data.column_role_definitions import CONTEST_ROLES, PLAYER_PAIR, select_role_arguments
from jaxrate.data.column_spellings import POINT_TEMPLATES, SIDE_PAIRS, SPELLINGS, WINNER_TEMPLATES, Header
from jaxrate.data.table_sources import find_column_ignoring_case

FORMAT_EVIDENCE: dict[str, dict[str, Any]] = {"football": {"margin": ["home_score", "away_score"]}}


def recognise_evidence_columns(names: Sequence[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `read` for the points of both sides, the season and the surface, as far as names tell.

        recognise_evidence_columns(["date", "home", "away", "home_goals", "away_goals", "season"], {})
        # {"margin": ["home_goals", "away_goals"], "season": "season"}

    Args:
      names: the columns of a table.
      arguments: those of `read` that are given, which are not sought; nothing is sought in contests, but
        for line-ups of two teams points and surface.
    """
    header = Header.of_columns(names)
    players = recognise_players(header, select_role_arguments(arguments))
    if players is None or players.roles == CONTEST_ROLES:
        return {}
    is_open = players.sides.kind == "unknown" and players.roles == PLAYER_PAIR and not players.are_teams
    evidence: dict[str, Any] = {}
    for sides in SIDE_PAIRS:
        if sides.kind != "own" or players.sides.kind == "own" or is_open:  # a row may be one of its first player
            templates = WINNER_TEMPLATES if sides.kind == "winner" else POINT_TEMPLATES
            for pair in header.points(templates, [sides]):
                evidence.setdefault("margin", list(pair))
    for role in ("margin", "season", "category"):
        for column in header.columns(SPELLINGS[role]):
            evidence.setdefault(role, column)
    known = {*arguments, *(["season"] if players.are_teams or "league_season" in arguments else [])}
    return {role: x for role, x in evidence.items() if role not in known}


BOOKMAKERS = {  # by the beginning of their columns at football-data.co.uk and tennis-data.co.uk; the first are closing
    "PSC": "Pinnacle (closing)",
    "BFEC": "Betfair Exchange (closing)",
    "B365C": "bet365 (closing)",
    "AvgC": "market average (closing)",
    "PS": "Pinnacle",
    "BFE": "Betfair Exchange",
    "B365": "bet365",
    "Avg": "market average",
    "BbAv": "Betbrain average",
}
NUM_CLOSING = 4  # of these, the first
ODDS_ENDINGS = ("H", "D", "A"), ("H", "A"), ("W", "L")  # home, draw and away; winner and loser
FIVETHIRTYEIGHT = "FiveThirtyEight"
FORECAST_COLUMNS = ("prob1", "probtie", "prob2"), ("elo_prob1", "elo_prob2")  # of FiveThirtyEight's files


def recognise_forecast_columns(names: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The columns of published forecasts, and those of odds, by the name of their row.

    Where a file has closing odds, those from before are left out. Forecasts and odds are those of win, draw and loss of
    the first player, or of win and loss.

        recognise_forecast_columns(["HomeTeam", "AwayTeam", "FTR", "PSCH", "PSCD", "PSCA", "PSH", "PSD", "PSA"])
        # ({}, {"Pinnacle (closing)": ["PSCH", "PSCD", "PSCA"]})
    """
    forecasts = [columns for wanted in FORECAST_COLUMNS if (columns := _find_all(names, wanted))]
    odds = {}
    for beginning, label in BOOKMAKERS.items():
        choices = (_find_all(names, [f"{beginning}{ending}" for ending in endings]) for endings in ODDS_ENDINGS)
        found: list[str] = next(filter(None, choices), [])
        if found:
            odds[label] = found
    closing = {label: odds[label] for label in [*BOOKMAKERS.values()][:NUM_CLOSING] if label in odds}
    return ({FIVETHIRTYEIGHT: forecasts[0]} if forecasts else {}), closing or odds


def _find_all(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The columns of these names, in any case; none if one is not there."""
    found = [find_column_ignoring_case(names, name) for name in wanted]
    return [name for name in found if name is not None] if None not in found else []
