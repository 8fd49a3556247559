"""The table that most tests begin with, and what may hold it."""

import gzip
import warnings

import pytest

from jaxrate.data.dataset_from_table import read

KINDS = ("dict", "pandas", "polars", "arrow", "csv", "csv.gz", "parquet")
MEMORY = ("dict", "pandas", "polars", "arrow")
ELSE = ("rows", "lazy", "relation", "result")  # which come to the same before anything is looked at


def as_kind(kind, table, folder):
    """The table, a dict of lists, as a source of this kind."""
    pa, csv, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.csv", "pyarrow.parquet"))
    if kind == "dict":
        return table
    if kind in ("pandas", "polars"):
        return pytest.importorskip(kind).DataFrame(table)
    if kind == "arrow":
        return pa.table(table)
    if kind == "rows":
        return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    if kind == "lazy":
        return pytest.importorskip("polars").LazyFrame(table)
    if kind in ("relation", "result"):
        results = pytest.importorskip("duckdb").connect()
        results.register("games", pa.table(table))
        return results.sql("from games") if kind == "relation" else results.execute("from games")
    path = folder / f"games.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.table(table), path)
    else:
        csv.write_csv(pa.table(table), folder / "games.csv")
    if kind == "csv.gz":
        path.write_bytes(gzip.compress((folder / "games.csv").read_bytes()))
    return path


def table(**columns):
    """Three matches."""
    return {"a": ["Ann", "Bob", "Cy"], "b": ["Bob", "Cy", "Ann"], "score": [1.0, 0.5, 0.0]} | columns


def names(dataset):
    return [[dataset.players[i] for i in row] for row in dataset.events.player]


def read_noting(source, **options):
    """The data, and what is noted of them."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        data = read(source, **options)
    return data, notes
