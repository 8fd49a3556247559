"""What programs are made for: a processor, or a device on which every kernel is launched."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import is_traced
from jaxrate.core.array_types import Array


def has_launch_overhead() -> bool:
    """Whether what is traced is for a device on which each kernel takes microseconds before it does anything.

    There few kernels win that do much at once, even needlessly: all pairs, numbers of a player side by side, steps
    unrolled. On a CPU the least work does, in pieces that fit a cache.
    """
    return jax.default_backend() != "cpu"


def stack_pair(first: Array, second: Array) -> Array:
    """[2, ...] two arrays.

    Joining them is a kernel on a GPU, and on a CPU a loop that branches at each number. Choosing between them is part
    of the kernel, or of the loop over vectors, that calculates them.
    """
    return jnp.where(np.reshape([True, False], (2, *first.ndim * (1,))), first[None], second[None])


def concatenate_pair(first: Array, second: Array) -> Array:
    """[2 n] the first [n], then the second. On a CPU choosing between them would take a tenth longer."""
    return stack_pair(first, second).ravel() if has_launch_overhead() else jnp.concatenate([first, second])


def check_accelerator_predictions_finite(predictions: Array) -> None:
    """FloatingPointError for predictions that are not finite, unless a CPU made them or they are traced.

    An H100 made some where loops within events were in one CUDA graph with their loop (see `compiler_options.py`).
    """
    backend = jax.default_backend()
    if backend != "cpu" and not is_traced(predictions) and not bool(jnp.isfinite(predictions).all()):
        raise FloatingPointError(
            f"the {backend} predicted what is not a finite number, which is a fault of its program and not of the "
            "events: rate them on the CPU, by JAX_PLATFORMS=cpu in the environment"
        )
