"""Draws that another column tells than that of the result: a flag, or a word beside a winner that is missing."""

from collections.abc import Sequence

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count
from jaxrate.data.column_conversion import keep_rows, to_column, to_numbers
from jaxrate.data.column_spellings import DRAW_NAMES, RESULT_NAMES, normalise_column_name
from jaxrate.data.result_parsing import draws_in_results, flags_of_draws, mentions_draw
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import Column, TableSource, import_pyarrow

MIN_AGREEMENT = 0.9  # share of the rows with a word for a draw that lack a winner


def score_drawn_matches(
    table: TableSource, roles: ColumnRoles, columns: dict[str, Column], rows: HostArray
) -> tuple[ColumnRoles, dict[str, Column], str | None]:
    """The roles and columns with 0.5 for the score of drawn matches that the result leaves open; and a note.

    Of winners and losers these are all that a flag, or a column of results, calls drawn. Beside other results they are
    those without a result, and, if no result is a draw, those that a flag calls drawn.

    Args:
      table: with the other columns.
      roles: of the columns that are used.
      columns: their values, results as scores.
      rows: [n] in which rows of the table these stand.
    """
    layout = roles.layout
    if layout.contest is not None or not (layout.winner_first or layout.result in columns):
        return roles, columns, None
    score = np.ones(len(rows))
    if layout.result is not None:
        try:
            score = to_numbers(layout.result, columns[layout.result], default=np.nan)
        except ValueError:  # which the rows that are wrong will tell
            return roles, columns, None
    is_missing, others = np.isnan(score), [name for name in table.names if name not in roles.all_columns]
    name, is_drawn = None, np.zeros(len(rows), bool)
    if not (score == 0.5).any():
        name, is_drawn = _find_draw_flags(table, others, rows, layout.winner_first)
    if name is None and is_missing.any():
        name, is_drawn = _find_mentioned_draws(table, others, rows, is_missing)
        is_drawn = is_drawn & is_missing
    if name is None or not is_drawn.any():
        return roles, columns, None
    result = layout.result or name
    scores = import_pyarrow().array(np.where(is_drawn, 0.5, score), from_pandas=True)
    note = f"{name} for the draws ({np.count_nonzero(is_drawn):,} of {format_count(len(rows), 'match')})"
    return (
        roles._replace(layout=layout._replace(result=result)),
        columns | {result: import_pyarrow().chunked_array([scores])},
        note,
    )


def _find_draw_flags(
    table: TableSource, names: Sequence[str], rows: HostArray, is_result: bool
) -> tuple[str | None, HostArray]:
    """The column that flags draws, also by results if these may say so; and [n] whether a match is drawn."""
    flags = [name for name in names if normalise_column_name(name) in DRAW_NAMES]
    results = [name for name in names if normalise_column_name(name) in RESULT_NAMES] if is_result else []
    for name, column in _load_rows(table, [*flags, *results], rows).items():
        is_drawn = flags_of_draws(column) if name in flags else draws_in_results(column)
        if is_drawn is not None and is_drawn.any():
            return name, is_drawn
    return None, np.zeros(len(rows), bool)


def _find_mentioned_draws(
    table: TableSource, names: Sequence[str], rows: HostArray, is_missing: HostArray
) -> tuple[str | None, HostArray]:
    """The column with words for draws, nearly all in rows without a result; and [n] whether a row has one."""
    for name, column in _load_rows(table, names, rows).items():
        if mentions_draw(keep_rows(name, column, is_missing)).any():
            is_drawn = mentions_draw(column)
            if is_missing[is_drawn].mean() >= MIN_AGREEMENT:
                return name, is_drawn
    return None, is_missing


def _load_rows(table: TableSource, names: Sequence[str], rows: HostArray) -> dict[str, Column]:
    """These columns of the table, in these rows."""
    loaded = table.load(names, names, []) if names else {}
    mask = None
    columns = {name: to_column(name, loaded[name]) for name in names}
    for name, column in columns.items():
        mask = np.isin(np.arange(len(column)), rows) if mask is None else mask
        columns[name] = keep_rows(name, column, mask)
    return columns
