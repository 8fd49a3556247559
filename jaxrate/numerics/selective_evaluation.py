"""Functions that are evaluated only where they are needed."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxrate.core.array_types import Array


def replace_if(needed: Array, function: Callable[[Array, Any], Any], value: Any) -> Any:
    """function(True, value) if needed [], else the value, by a loop of one step or none.

    Under `jax.vmap` a condition would always compute the function. The loop compares a number: on a GPU a carried
    boolean alone would launch no kernel, and in a CUDA graph the loop would then not wait for what comes before it.
    """

    def step(carry: tuple[Array, Any]) -> tuple[Array, Any]:
        return jnp.zeros_like(carry[0]), function(carry[0] > 0, carry[1])

    return lax.while_loop(lambda carry: carry[0] > 0, step, (needed.astype(jnp.int32), value))[1]


def evaluate_where_needed(needed: Array, function: Callable[..., Any], *args: Any) -> Any:
    """function(*args[:-1]) where needed, else args[-1]; derivatives are always those of args[-1]."""
    *inputs, fallback = lax.stop_gradient(args)

    def evaluate(now: Array, _: Any) -> Any:  # of inputs that depend on the loop, or XLA would hoist the call
        return function(*jax.tree.map(lambda x: jnp.where(now, x, jnp.zeros_like(x)), inputs))

    result = replace_if(needed, evaluate, fallback)
    return jax.tree.map(lambda x, y: x + lax.stop_gradient(y - x), args[-1], result)


def evaluate_rows_where_needed(needed: Array, function: Callable[..., Array], *args: Any) -> Array:
    """args[-1] [n, ...], but function(rows, *args[:-1]) where needed [n], some rows at a time.

    Derivatives are always those of args[-1].
    """
    *inputs, fallback = lax.stop_gradient(args)
    count = min(64, len(needed))

    def step(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        needed, values = carry
        rows = jnp.argsort(~needed)[:count].astype(jnp.int32)
        new, old = function(rows, *inputs), values[rows]
        new = jnp.where(needed[rows].reshape(-1, *[1] * (old.ndim - 1)), new, old)
        return needed.at[rows].set(False), values.at[rows].set(new)

    result = lax.while_loop(lambda carry: jnp.any(carry[0]), step, (needed, fallback))[1]
    return args[-1] + lax.stop_gradient(result - args[-1])
