"""Independent tasks, done one after the other or by the workers of an executor."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class Executor(Protocol):
    """An executor of `concurrent.futures`, Dask or MPI, or a pool of `multiprocessing`, joblib or Ray."""

    def map(self, function: Callable[[Any], Any], items: Any, /) -> Iterable[Any]:
        """The function's result for each item, in order."""
        ...


def map_items(
    executor: Executor | None,
    function: Callable[[Item], Result],
    items: Iterable[Item],
    on_progress: Callable[[float], Any] | None = None,
) -> list[Result]:
    """The function's result for each item, in order, by this thread or pickled for workers; reports the share done."""
    items, results = list(items), []
    if executor is None:
        found: Iterable[Result] = map(function, items)
    else:
        uses_float64 = jnp.result_type(float) == np.float64
        found = executor.map(partial(_call_in_precision, uses_float64, function), items)
    for done, result in enumerate(found, 1):
        results.append(result)
        if on_progress is not None:
            on_progress(done / len(items))
    return results


def _call_in_precision(uses_float64: bool, function: Callable[[Item], Result], item: Item) -> Result:
    """Call the function in this precision."""
    with jax.enable_x64(uses_float64):
        return function(item)
