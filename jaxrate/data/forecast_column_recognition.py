"""Columns of odds and of published forecasts, by the names that public files give them."""

from collections.abc import Sequence

from jaxrate.data.table_sources import find_column_ignoring_case

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
