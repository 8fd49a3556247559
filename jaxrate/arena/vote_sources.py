"""Votes read from a table or a file, in any order of time, with columns of clusters of any kind."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_suffix
from jaxrate.data.column_conversion import keep_rows, to_column, to_ids
from jaxrate.data.column_recognition import time_columns
from jaxrate.data.data_inputs import is_readable_source
from jaxrate.data.dataset_from_table import read
from jaxrate.data.source_opening import open_table_source
from jaxrate.data.table_sources import TableSource, add_location_to_data_errors


def read_votes_if_source(
    data: Any, covariates: Sequence[str], cluster: Any, *, in_order: bool = False
) -> tuple[Any, Any]:
    """The data, read if they are a source of `read`, and the clusters, as numbers where they name columns of a source.

    Args:
      data: as for `fit_strengths`.
      covariates, cluster: as for `fit_strengths`.
      in_order: whether times count: votes are then put in their order.

    Raises:
      ValueError: as `read` does; and for a column of clusters that there is not.
    """
    if not is_readable_source(data):
        return data, cluster
    table = open_table_source(data)
    columns = [name for name in covariates if name != "side" or name in table.names]
    votes = read(table if in_order else drop_unused_times(table, columns), covariates=columns, sort=in_order)
    names = [cluster] if isinstance(cluster, str) else cluster
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        return votes, cluster
    return votes, cluster_codes(table, names, votes.rows)


def drop_unused_times(table: TableSource, used: Collection[Any]) -> TableSource:
    """The table without columns that are called as times are, but for those used: the order of votes does not count."""
    unused = {*time_columns(table.names)} - {*used}
    return table._replace(names=[name for name in table.names if name not in unused])


def cluster_codes(table: TableSource, names: Sequence[str], rows: HostArray) -> list[HostArray]:
    """[n] numbers of the clusters in each column, of these rows. ValueError if there is no such column."""
    codes, sorted_rows = [], np.sort(rows)
    with add_location_to_data_errors(table.title, lambda row: table.where(int(sorted_rows[row]))):
        for name in names:
            if name not in table.names:
                hint = did_you_mean_suffix(name, table.names)
                raise ValueError(
                    f"no column {name!r} for cluster{hint} (there are: {', '.join(map(str, table.names))})"
                )
            column = to_column(name, table.load([name], [name], [])[name])
            kept = keep_rows(name, column, np.isin(np.arange(len(column)), sorted_rows))
            numbers = to_ids([name], {name: kept}, subject="clusters")[0][:, 0]
            codes.append(numbers[np.searchsorted(sorted_rows, rows)])
    return codes
