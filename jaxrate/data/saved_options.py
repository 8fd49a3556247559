"""Options of the command line, as saved runs keep them: those that `read` does not take are functions of a dataset."""

import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from jaxrate.data.category_mixtures import check_known_categories, mix_categories
from jaxrate.data.dataset_from_table import read
from jaxrate.data.derived_covariates import add_form, add_rest
from jaxrate.data.name_unification import unify_names
from jaxrate.data.table_files import open_table_source
from jaxrate.data.table_sources import add_location_to_data_errors
from jaxrate.events.dataset import Dataset

DATASET_OPTIONS = "normalise_names", "mixtures", "rest", "form"


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


def _apply_dataset_options(data: Dataset, options: Mapping[str, Any], history: Any) -> Dataset:
    """The events with mixtures of categories, rest and form; RowError for a category that the history does not know."""
    mixtures = options.get("mixtures") or {}
    check_known_categories(data, getattr(history, "categories", None), mixtures)
    if mixtures:
        data = mix_categories(data, mixtures if history is None else _mixtures_of_table(mixtures, data))
    if options.get("rest") is not None:
        data = add_rest(data, options["rest"], history)
    return data if options.get("form") is None else add_form(data, options["form"], history)


def _mixtures_of_table(mixtures: Mapping[Any, Any], data: Dataset) -> dict[Any, Any]:
    """The mixtures that are in a table of new events, which need not have them all."""
    last = data if data.fixtures is None else data.fixtures  # which may add some
    names = {*map(str, () if last.categories is None else last.categories)}
    return {name: shares for name, shares in mixtures.items() if str(name) in names}
