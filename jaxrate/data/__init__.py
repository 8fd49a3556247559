"""From the tables that people have to checked events.

dataset_from_table.py            `read`
column_role_definitions.py       the roles of columns: arguments of `read`, `rate_files` and the command line
role_resolution.py               which columns of a table are used, and for what
column_recognition.py            the roles of columns by the names that people give them, column_spellings.py
table_sources.py                 files and tables in memory: their columns, and the place of a row in messages
parquet_table.py                 Parquet files that are one table, of any size
column_conversion.py             columns as ids, numbers, flags and days
date_parsing.py                  dates as people write them
result_parsing.py                results as people write them
result_choice.py                 which columns tell the results, where several may
drawn_matches.py                 draws that another column tells than that of the result
pairs_in_one_column.py           both players of a match in one cell
derived_covariates.py            covariates that are computed from a history: rest, form and age
seasons_and_margins.py           seasons and margins of matches
player_categories.py             categories of players, and mixtures of them
lookalike_names.py               names that look alike
faulty_rows.py                   rows that lack a value, repeat another, or are wrong
unplayed_matches.py              rows without a result
dataset_building.py              datasets from columns
ids_of_integer_names.py          ids of names that are whole numbers
league_split.py                  the leagues of one table
data_inputs.py                   inputs of functions of a history
rounds_from_nested_teams.py      contests from nested lists, and contests without their teams
table_writing.py                 `write` and `to_frame`
measurement_noise_estimation.py  the noise of a measurement of matches
simulate.py                      histories with known truth; simulated_player_draws.py draws their players
formats/                         public collections of results, a file for each
datasets/                        results that ship with the package
simulated_player_draws.py        players drawn at random, with unequal probabilities, with and without replacement
forecast_column_recognition.py      columns of odds and of published forecasts, by the names of public files
column_spellings.py              names that people give to columns, in lower-case letters and digits; {} is a side
participant_tables.py            a table with one row per participant of a contest: its columns as those of `Rounds`
line_up_tables.py                a table with one row per match of teams, in several columns or in lists
match_tables.py                  a table with one row per match: its columns as those of `Matches`
statistic_leads.py               statistics of matches
source_opening.py                tables of any kind opened: files, folders of Parquet, and tables in memory
table_files.py                   tables in files and on standard input: Parquet, CSV, JSON, spreadsheets
json_tables.py                   tables in JSON, nested or not
doubtful_column_roles.py         hints about columns whose roles are doubtful
evidence_column_recognition.py   columns that improve predictions, by the names that people give them
candidate_columns.py             columns that may have a role: loaded once, and whether their contents suit it
"""

from typing import TYPE_CHECKING, Any

import lazy_loader  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from jaxrate.data import datasets, formats, simulate
    from jaxrate.data.rounds_from_nested_teams import from_teams
    from jaxrate.data.table_writing import to_frame, write
    from jaxrate.events.dataset import Dataset

__all__ = [
    "Dataset",
    "datasets",
    "formats",
    "from_teams",
    "simulate",
    "to_frame",
    "write",
]
_FUNCTIONS = {"rounds_from_nested_teams": ["from_teams"], "table_writing": ["to_frame", "write"]}
_get_name, _, _ = lazy_loader.attach(__name__, {"datasets", "formats", "simulate"}, _FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name == "Dataset":  # whose package loads NumPy, which the help of the command line does without
        from jaxrate.events.dataset import Dataset

        return Dataset
    return _get_name(name)


def __dir__() -> list[str]:
    return __all__
