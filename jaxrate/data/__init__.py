"""From the tables that people have to checked events.

read.py        the door: `read`
roles.py       which column of a table has which part
matches.py     a table of matches, its columns as those of `Matches`
contests.py    a table of contests, its columns as those of `Rounds`
categories.py  categories of players, and mixtures of them
dataset.py     what comes out: `Dataset`
tables.py      files and tables in memory: their columns, and where a row stands
rows.py        rows that lack a value, repeat another, or are wrong
names.py       names that look alike, and joining them
columns.py     columns as ids, numbers, flags and days
formats/       public collections of results, a file for each
teams.py       contests from nested lists, and teams taken apart
writing.py     `write` and `frame`
simulate.py    histories with known truth; picking.py draws their players
"""

from jaxrate.data import datasets, formats, simulate
from jaxrate.data.nested_teams import from_teams
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
