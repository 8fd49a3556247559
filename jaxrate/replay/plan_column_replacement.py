"""Columns of plans: changed, padded, and put where a plan has them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import is_traced
from jaxrate.core.array_types import Array
from jaxrate.events import Context, Rounds
from jaxrate.replay.row_gather_and_scatter import as_device_arrays


def pad_to_size(values: Any, size: int, mode: str = "constant") -> Array:
    """A column made [size, ...] on the device; what is added means nothing."""
    values = as_device_arrays(values)
    return jnp.pad(values, [(0, size - len(values))] + [(0, 0)] * (values.ndim - 1), mode=mode)


def check_column(name: str, values: Any, num_rows: Any) -> Any:
    """A column as an array; ValueError unless it has so many rows."""
    values = values if hasattr(values, "dtype") else np.asarray(values)
    if values.ndim == 0 or (not is_traced(num_rows) and len(values) != int(num_rows)):
        raise ValueError(f"{name} has shape {values.shape}, and the plan is of {num_rows}")
    return values


def replace_columns(
    events: Any, allowed_names: tuple[str, ...], place_column: Callable[[str, Any], Array], columns: dict[str, Any]
) -> Any:
    """Events with other columns, `place(name, values)`; ValueError for one that is not known."""
    for name, values in columns.items():
        if name not in allowed_names:
            raise ValueError(f"the plan has no column {name!r} to change; it has {', '.join(allowed_names)}")
        placed = jax.tree.map(lambda x, name=name: place_column(name, x), values)
        if name in Context._fields and not isinstance(events, Rounds):
            events = events._replace(context=events.context._replace(**{name: placed}))
        else:
            events = events._replace(**{name: placed})
    return events
