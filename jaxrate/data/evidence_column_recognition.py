"""Columns that improve predictions, by their names: points, seasons and surfaces, published forecasts and odds."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxrate.data.column_recognition import recognise_players
from jaxrate.data.column_role_definitions import CONTEST_ROLES, WINNER_LOSER, select_role_arguments
from jaxrate.data.column_spellings import (
    POINT_TEMPLATES,
    SPELLINGS,
    WINNER_TEMPLATES,
    Header,
    normalise_column_name,
)

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
    templates = WINNER_TEMPLATES if players.roles == WINNER_LOSER else POINT_TEMPLATES
    points = [*header.find_points_beside(players.names), *header.find_points(templates, players.possible_sides)]
    found = {role: header.find_columns(SPELLINGS[role]) for role in ("margin", "season", "category")}
    found["margin"] = [*map(list, points), *found["margin"]]
    known = {*arguments, *(["season"] if players.are_teams or "league_season" in arguments else [])}
    return {role: columns[0] for role, columns in found.items() if columns and role not in known}


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
    header = Header.of_columns(names)

    def find_first(choices: Sequence[Sequence[str]]) -> list[str]:
        """The columns of the first of these choices all of whose names are there; none if none is."""
        found = (header.find_columns(map(normalise_column_name, choice)) for choice in choices)
        return next((x for x, choice in zip(found, choices, strict=True) if len(x) == len(choice)), [])

    forecasts = {FIVETHIRTYEIGHT: find_first(FORECAST_COLUMNS)}
    odds = {x: find_first([[y + z for z in ends] for ends in ODDS_ENDINGS]) for y, x in BOOKMAKERS.items()}
    closing = {label: odds[label] for label in [*odds][:NUM_CLOSING]}
    found = [{label: columns for label, columns in x.items() if columns} for x in (forecasts, closing, odds)]
    return found[0], found[1] or found[2]
