"""Slopes of a replay by its hyperparameters, computed forwards, one axis for each, whoever asks for them.

Reverse mode keeps what every step computed, and JAX refuses the options of the compiler to a program that it
linearises: Elo-MMR's takes four times as long to compile. A few numbers of which all depends are better followed
forwards, as `fit` does. The slopes are a function of the hyperparameters like the replay itself, so that theirs, of any
order, are found in the same way.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

from jaxrate.core.argument_checks import is_traced
from jaxrate.core.array_types import Array
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem
from jaxrate.replay.execution import is_everything_traced
from jaxrate.replay.padded_states_and_columns import state_shapes

MAX_FORWARD_PARAMETERS = 16  # up to which forward mode is faster: on tennis, reverse mode takes as long as for 25
MAX_SLOPE_BYTES = 1 << 30

Numbers = tuple[Array, ...]


def needs_hyperparameter_slopes_only(system: RatingSystem, params: Params, others: Any, num_players: int) -> bool:
    """Whether somebody transforms a replay, by a few of its hyperparameters and nothing else, outside of any jit.

    Not where the slopes of the state, as it is at the end, would take too much memory. Those of predictions are not
    counted: reverse mode keeps numbers for each event as well, of all that its update computes.
    """
    traced = [x for x in jax.tree.leaves(params) if is_traced(x)]
    is_few = 0 < len(traced) <= MAX_FORWARD_PARAMETERS
    are_numbers = all(x.ndim == 0 and _is_real(x) for x in traced)
    if not (is_few and are_numbers) or is_traced(others) or is_everything_traced():
        return False
    state = jax.tree.leaves(state_shapes(system, num_players))
    return len(traced) * sum(x.size * x.dtype.itemsize for x in state) <= MAX_SLOPE_BYTES


def replay_with_forward_slopes(
    value: Callable[[Params], Any], replay_near: Callable[[Params], Callable[[Params], Any]], params: Params
) -> Any:
    """value(params), whose slopes are computed forwards.

    `replay_near` makes the same function to be differentiated so, of sizes that are enough for hyperparameters such as
    those that it is given. These are numbers wherever they are known.
    """
    leaves, structure = jax.tree.flatten(params)
    places = [i for i, x in enumerate(leaves) if is_traced(x)]

    def to_params(numbers: Numbers) -> Params:
        return jax.tree.unflatten(structure, _replace_numbers(tuple(leaves), places, numbers))

    def function_near(numbers: Numbers) -> Callable[[Numbers], Any]:
        replay = replay_near(to_params(numbers))
        return lambda numbers: replay(to_params(numbers))

    return _differentiate_forwards(lambda numbers: value(to_params(numbers)), function_near)(
        *(leaves[i] for i in places)
    )


def _differentiate_forwards(
    value: Callable[[Numbers], Any], function_near: Callable[[Numbers], Callable[[Numbers], Any]]
) -> Any:
    """value(numbers), whose slopes are those of a function, computed forwards, as are those of the slopes."""

    @jax.custom_jvp
    def call(*numbers: Array) -> Any:
        return value(numbers)

    @partial(call.defjvp, symbolic_zeros=True)
    def rule(numbers: Numbers, changes: tuple[Any, ...]) -> tuple[Any, Any]:
        moving = [i for i, x in enumerate(changes) if not isinstance(x, SymbolicZero)]
        both = partial(_value_and_slopes, function_near(numbers), moving)
        found, slopes = _differentiate_forwards(both, lambda _: both)(*numbers)
        if not is_traced(slopes) and not bool(_are_all_finite(slopes)):
            # What overflows on the way may hardly count: backwards the small slopes behind it come first.
            some, steps = (tuple(x[i] for i in moving) for x in (numbers, changes))
            return jax.jvp(lambda *some: value(_replace_numbers(numbers, moving, some)), some, steps)
        each = iter(_multiply_slopes_by_changes(tuple(changes[i] for i in moving), slopes))
        return found, jax.tree.map(lambda x: next(each) if _is_real(x) else np.zeros(x.shape, jax.dtypes.float0), found)

    return call


def _replace_numbers(numbers: Numbers, places: list[int], others: Numbers) -> Numbers:
    """The numbers, with others in these places."""
    return tuple((dict(enumerate(numbers)) | dict(zip(places, others, strict=True))).values())


def _value_and_slopes(
    function: Callable[[Numbers], Any], moving: list[int], numbers: Numbers
) -> tuple[Any, list[Array]]:
    """function(numbers), and the slopes [k, ...] of each of its leaves that are real, by k of the numbers."""

    def real_leaves_and_result(*some: Array) -> tuple[list[Array], Any]:
        found = function(_replace_numbers(numbers, moving, some))
        return [x for x in jax.tree.leaves(found) if _is_real(x)], found

    def along(*axis: Array) -> tuple[Any, list[Array]]:
        _, slopes, found = jax.jvp(real_leaves_and_result, some, axis, has_aux=True)
        return found, slopes

    some = tuple(numbers[i] for i in moving)
    axes = [np.eye(len(some), dtype=x.dtype)[i] for i, x in enumerate(some)]
    found, slopes = jax.vmap(along, out_axes=(None, 0))(*axes)
    return found, slopes


def _is_real(x: Array) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.floating))


@jax.jit
def _are_all_finite(arrays: list[Array]) -> Array:
    """[] whether all numbers of these arrays are finite."""
    return jnp.stack([jnp.isfinite(x).all() for x in arrays]).all()


@jax.jit
def _multiply_slopes_by_changes(changes: Numbers, slopes: list[Array]) -> list[Array]:
    """The changes of leaves, whose slopes are as they are what is kept for reverse mode."""

    def add(x: Array) -> Array:
        change = jnp.stack([t.astype(x.dtype) for t in changes])
        return jnp.tensordot(change, x, axes=1, precision=lax.Precision.HIGHEST)

    return [add(x) for x in slopes]
