"""Options of the command line, as saved runs keep them: those that `read` does not take are functions of a dataset."""

import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any

from jaxrate.data.category_mixtures import check_known_categories, mix_categories
from jaxrate.data.dataset_from_table import is_readable_source, read
from jaxrate.data.derived_covariates import DERIVED_COLUMNS, GROUND_FADE, add_derived_column, find_lacking_role
from jaxrate.data.name_unification import unify_names
from jaxrate.data.table_files import open_table_source
from jaxrate.data.table_sources import add_location_to_data_errors
from jaxrate.events.dataset import Dataset, check_dataset

NO_COLUMNS: Mapping[str, Any] = MappingProxyType({})
DATASET_OPTIONS = "normalise_names", "mixtures", *DERIVED_COLUMNS


def read_by_options(
    source: Any, options: Mapping[str, Any], history: Any = None, reader: Callable[..., Dataset] = read
) -> Dataset:
    """`read`, or a format, by options of the command line.

    Args:
      source: as `reader` takes it.
      options: arguments of the reader, and the options that are none.
      history: whose names keep their ids, and whose matches are those before; None: there is none.
      reader: what reads the source.

    Raises:
      ValueError: as the reader and the functions of a dataset.
    """
    arguments = {name: x for name, x in options.items() if name not in (*DATASET_OPTIONS, "skip_incomplete")}
    arguments |= {"on_faulty": "skip"} if options.get("skip_incomplete") else {}
    arguments |= {} if history is None else {"history": history}
    table = open_table_source(source) if reader is read else None
    source = source if table is None else table
    with warnings.catch_warnings():
        if options.get("normalise_names"):
            warnings.filterwarnings("ignore", r"(?s).*; jr\.data\.unify_names\(data\) joins them$")
        data = reader(source, **arguments)
    with nullcontext() if table is None else add_location_to_data_errors(table.title, table.where):
        data = unify_names(data, history) if options.get("normalise_names") else data
        return _apply_dataset_options(data, options, history)


def reading_options_of_history(history: Any) -> dict[str, Any]:
    """The options by which a table that carries on a `History` is read; none for other earlier data."""
    saved = getattr(history, "options", {})
    columns = saved.get("columns", {})
    options = {} if saved.get("dates") is None else {"dates": saved["dates"]}
    return options | saved.get("derived", {}) | ({} if "format" in columns else columns)


def read_if_table(caller: str, data: Any, columns: Mapping[str, Any], history: Any = None) -> Any:
    """The events of a table with these columns, read as one that carries on a history; other data as they are.

    This is how all functions that take a dataset take tables and paths.

    Raises:
      ValueError: for columns beside data that were read already; and as `read`.
    """
    if is_readable_source(data):
        return read_by_options(data, reading_options_of_history(history) | dict(columns), history)
    if columns:
        raise ValueError(f"{caller}: the data were read already; name {', '.join(columns)} where they are read")
    return data


def as_dataset(caller: str, data: Any, columns: Mapping[str, Any] = NO_COLUMNS, history: Any = None) -> Dataset:
    """`read_if_table`, and ValueError unless the data are a `Dataset` then."""
    dataset = read_if_table(caller, data, columns, history)
    check_dataset(caller, dataset)
    return dataset


def _apply_dataset_options(data: Dataset, options: Mapping[str, Any], history: Any) -> Dataset:
    """The events with mixtures and derived columns; RowError for a category that the history does not know."""
    mixtures = options.get("mixtures") or {}
    check_known_categories(data, getattr(history, "categories", None), mixtures)
    if mixtures:
        data = mix_categories(data, mixtures if history is None else _mixtures_of_table(mixtures, data))
    if data.venues is not None and not data.upcoming:
        options = {"ground": GROUND_FADE, **options}
    spans = {name: options[name] for name in DERIVED_COLUMNS if options.get(name) is not None}
    for name, span in spans.items():
        if history is None or not find_lacking_role(data, name):  # whose system may do without
            data = add_derived_column(data, name, span, history)
    return data


def _mixtures_of_table(mixtures: Mapping[Any, Any], data: Dataset) -> dict[Any, Any]:
    """The mixtures that are in a table of new events, which need not have them all."""
    last = data if data.fixtures is None else data.fixtures  # which may add some
    names = {*map(str, () if last.categories is None else last.categories)}
    return {name: shares for name, shares in mixtures.items() if str(name) in names}
