"""The options that name forecasts of others, odds, and columns for boosted trees; their values for each match."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jaxrate as jr
from jaxrate.cli.input_options import is_parquet_folder_or_pattern, is_pgn_file, is_shipped_dataset
from jaxrate.cli.lazy_numpy import np
from jaxrate.core.text_format import did_you_mean_suffix


def parse_named_columns(option: str, texts: Iterable[str]) -> dict[str, list[str]]:
    """The columns of each row, by its name, from NAME=COLUMN,COLUMN or COLUMN; ValueError for what is neither."""
    result: dict[str, list[str]] = {}
    for text in texts:
        name, equals, columns = text.rpartition("=")
        listed = [x.strip() for x in columns.split(",")]
        name = name.strip() if equals else columns.strip()
        if not name or not all(listed):
            raise ValueError(f"--{option} {text}: write as in NAME=COLUMN,COLUMN")
        if name in result:
            raise ValueError(f"--{option} names {name} twice")
        result[name] = listed
    return result


def recognise_forecast_columns_of_file(
    file: str, options: dict[str, Any]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The columns of published forecasts and of odds in a file, as far as their names tell."""
    from jaxrate.data.forecast_column_recognition import recognise_forecast_columns

    if is_pgn_file(file) or is_parquet_folder_or_pattern(file) or {"a", "b", "winner", "loser"} & options.keys():
        return {}, {}
    try:
        return recognise_forecast_columns(_open_source(file).names)
    except (ValueError, OSError):  # reading the file says what is wrong
        return {}, {}


def load_match_columns(
    file: str, data: jr.data.Dataset, columns_by_name: dict[str, list[str]], option: str
) -> dict[str, Any]:
    """[n], or [n, K] of several columns, numbers of the matches by name, NaN where the file has none.

    Args:
      file: what was read.
      data: its matches.
      columns_by_name: which columns belong together.
      option: by which they are named, for errors.

    Raises:
      ValueError: for a column that the file does not have, or that holds no numbers.
    """
    from jaxrate.data.column_conversion import to_column, to_numbers
    from jaxrate.data.table_sources import add_location_to_data_errors

    wanted = list(dict.fromkeys(name for columns in columns_by_name.values() for name in columns))
    if not wanted:
        return {}
    source = _open_source(file)
    for name in wanted:
        if name not in source.names:
            raise ValueError(f"--{option}: {file} has no column {name!r}{did_you_mean_suffix(name, source.names)}")
    first_rows = np.asarray(data.rows)
    if not data.of_matches:
        first_rows = first_rows[np.asarray(data.rounds.player_start)[:-1]]
    with add_location_to_data_errors(source.title, source.where):
        loaded = source.load(wanted, (), wanted)
        numbers = {
            name: to_numbers(name, _strip_percent_signs(to_column(name, loaded[name])), np.nan) for name in wanted
        }
    if len(first_rows) and first_rows.max() >= len(numbers[wanted[0]]):
        raise ValueError(f"--{option}: {file} is read from several tables, whose columns cannot be told apart")
    values = {
        label: np.stack([numbers[name][first_rows] for name in columns], axis=1)
        for label, columns in columns_by_name.items()
    }
    return {label: x[:, 0] if x.shape[1] == 1 else x for label, x in values.items()}


def _strip_percent_signs(column: Any) -> Any:
    """A column of text as "34.6%" without the signs; others stay as they are."""
    from jaxrate.data.table_sources import import_pyarrow

    arrow = import_pyarrow()
    if isinstance(column, np.ndarray) or not arrow.types.is_large_string(column.type):
        return column
    return arrow.compute.utf8_rtrim(column, characters=" %")


def _open_source(file: str) -> Any:
    from jaxrate.data.source_opening import open_table_source

    return open_table_source(jr.data.datasets.nfl_columns() if is_shipped_dataset(file) else file)
