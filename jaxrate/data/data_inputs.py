"""Inputs of functions of a history: data with names, events, or the sources of `read`."""

import os
from collections.abc import Mapping
from typing import Any

from jaxrate.data.dataset_from_table import read
from jaxrate.data.source_opening import ARROW_METHODS
from jaxrate.events.dataset import Dataset, check_dataset

TABLE_METHODS = (
    "__arrow_c_stream__",
    "collect_schema",
    "project",
    *ARROW_METHODS,
)  # what tables of other packages have


def is_readable_source(data: Any) -> bool:
    """Whether `read` takes it: a path, a table of any package, a dict of columns, or a list of dicts."""
    if isinstance(data, (str, os.PathLike, Mapping)) or any(hasattr(data, name) for name in TABLE_METHODS):
        return True
    if isinstance(data, (list, tuple)) and not hasattr(data, "_fields"):
        return bool(data) and all(isinstance(row, Mapping) for row in data)
    return hasattr(data, "keys") and hasattr(data, "__getitem__")


def read_if_source(data: Any, **options: Any) -> Any:
    """The data, read if they are a source of `read`, and else as they are. `options` are those of `read`.

    Raises:
      ValueError: as `read` does.
    """
    return read(data, **options) if is_readable_source(data) else data


def as_dataset(caller: str, data: Any, **options: Any) -> Dataset:
    """A `Dataset`, or one that `read` makes of a source.

    Raises:
      ValueError: if the data are neither, and as `read` does.
    """
    dataset = read_if_source(data, **options)
    check_dataset(caller, dataset)
    return dataset
