"""Options of the command line, as saved runs keep them: those that `read` does not take are functions of a dataset."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from jaxrate.data.category_mixtures import mix_categories
from jaxrate.data.dataset_from_table import read
from jaxrate.data.derived_covariates import add_form, add_rest
from jaxrate.data.name_unification import unify_names
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
    with warnings.catch_warnings():
        if options.get("normalise_names"):
            warnings.filterwarnings("ignore", message=".*unify_names")  # which is done next
        data = reader(source, **arguments)
    if options.get("normalise_names"):
        data = unify_names(data, history)
    if mixtures := options.get("mixtures"):
        data = mix_categories(data, mixtures if history is None else _mixtures_of_table(mixtures, data))
    if options.get("rest") is not None:
        data = add_rest(data, options["rest"], history)
    return data if options.get("form") is None else add_form(data, options["form"], history)


def _mixtures_of_table(mixtures: Mapping[Any, Any], data: Dataset) -> dict[Any, Any]:
    """The mixtures that are in a table of new events, which need not have them all."""
    names = {*map(str, () if data.categories is None else data.categories)}
    return {name: shares for name, shares in mixtures.items() if str(name) in names}
