"""From the tables that people have to checked events.

dataset_from_table.py        `read`: tables of matches, of matches of teams and of participants as datasets; hints about
                             their columns, and options of the command line
column_role_definitions.py   the roles of columns: arguments of `read`, `rate` and the command line
role_resolution.py           which columns of a table are used, and for what
column_recognition.py        the roles of columns by the names that people give them, and by what they hold
table_sources.py             files and tables in memory: their columns, and the place of a row in messages
column_conversion.py         columns as ids, numbers, flags and days
date_parsing.py              dates as people write them, ages, and years of seasons
result_parsing.py            results as people write them
derived_covariates.py        covariates that are computed from a history: rest, form and others
dataset_names.py             names that look alike, joined, and categories that stand for several
match_seasons.py             when the seasons of matches begin
match_margins.py             margins of matches, and the noise of their measurement
lookalike_names.py           names that look alike
faulty_rows.py               rows that lack a value, repeat another, or are wrong
rounds_from_nested_teams.py  contests from nested lists, and contests without their teams
table_writing.py             `write` and `to_frame`
simulate.py                  histories with known truth, of any size
formats/                     public collections of results, a file for each
datasets/                    results that ship with the package
column_spellings.py          names that people give to columns, in lower-case letters and digits; {} is a side
table_files.py               tables opened: Parquet, CSV, JSON, spreadsheets, standard input, memory, and folders
"""

from typing import TYPE_CHECKING

import lazy_loader  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from jaxrate.data import datasets, formats, simulate
    from jaxrate.data.dataset_names import mix_categories, unify_names
    from jaxrate.data.derived_covariates import (
        add_activity,
        add_category_lead,
        add_form,
        add_ground,
        add_layoff,
        add_relative_margin,
        add_rest,
    )
    from jaxrate.data.rounds_from_nested_teams import from_teams
    from jaxrate.data.table_writing import to_frame, write
    from jaxrate.events.dataset import Dataset

__all__ = [
    "Dataset",
    "add_activity",
    "add_category_lead",
    "add_form",
    "add_ground",
    "add_layoff",
    "add_relative_margin",
    "add_rest",
    "datasets",
    "formats",
    "from_teams",
    "mix_categories",
    "simulate",
    "to_frame",
    "unify_names",
    "write",
]
_FUNCTIONS = {
    "derived_covariates": [
        *("add_activity", "add_category_lead", "add_form", "add_ground", "add_layoff", "add_relative_margin"),
        "add_rest",
    ],
    "dataset_names": ["Dataset", "mix_categories", "unify_names"],  # the first is of a package that loads NumPy
    "rounds_from_nested_teams": ["from_teams"],
    "table_writing": ["to_frame", "write"],
}
__getattr__, __dir__, _ = lazy_loader.attach(__name__, {"datasets", "formats", "simulate"}, _FUNCTIONS)
