"""Kernels of one's own as numbers on the host: whether they are kernels, and how far they reach."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.hashable_functions_and_arrays import HashableArray, display_name
from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.systems.blat_mmr.kernels import Kernel, depends_on_distance, has_width, shape_function_arguments

RANK_TOLERANCE = {"float32": 1e-8, "float64": 4e-15}  # of the greatest singular value, below which others are left out
MAX_SVD_SIZE = 2048  # strengths beyond which singular values take too long
TAIL_TOLERANCE = {
    "float32": 1e-8,
    "float64": 1e-17,
}  # of the greatest share of a row, below which a band leaves shares out
RELATIVE_TOLERANCE = 1e-9  # relative: differences by rounding
BYTES_PER_ELEMENT = 40.0  # bytes that an element of a matrix takes while it is looked at


@lru_cache(maxsize=16)
def checked_custom_kernel_matrix(
    kernel: Kernel, points: HashableArray, step: float | None, width: float, values: tuple[float, ...]
) -> HostArray:
    """K [n, n] from the first to the second strength; of the distance on a grid [2 n - 1], the furthest below first.

    Raises:
      ValueError: where it is not finite or negative, or a strength has no mass left.
    """
    x = np.asarray(points)
    name, lattice = display_name(kernel.shape), depends_on_distance(kernel) and step is not None
    if not lattice:
        check_memory_fits(f"blat_mmr: kernel {name} between {len(x)} strengths", BYTES_PER_ELEMENT * len(x) ** 2)
    total: Any = 0.0
    for weight, relative in zip(kernel.weights, kernel.widths, strict=True):
        component = _evaluate_custom_kernel(kernel, name, x, lattice, step, width * relative, values)
        bad = ~((component >= 0.0) & (component < np.inf))
        if bad.any():
            at = np.argwhere(bad)[0]
            where = _describe_position(kernel, x, at, width * relative, step)
            raise ValueError(f"blat_mmr: kernel {name} is {component[tuple(at)]} {where}")
        if lattice and not component.sum() > 0.0:
            raise ValueError(f"blat_mmr: kernel {name} has no mass at any distance on the grid")
        total = total + weight * component / (component.sum() if lattice else (width * relative) ** (x[0].size))
    mass = _mass_kept_on_grid(total, len(x)) if lattice else total.sum(axis=1)
    (empty,) = np.nonzero(~(mass > 0.0))
    if len(empty):
        raise ValueError(
            f"blat_mmr: kernel {name} leaves no mass to strength {x[empty[0]]} (row {empty[0]}): it goes nowhere"
        )
    return np.asarray(total)


def _evaluate_custom_kernel(
    kernel: Kernel, name: str, x: HostArray, lattice: bool, step: float | None, width: float, values: tuple[float, ...]
) -> HostArray:
    """What its matrix or function says, on a lattice at all differences."""
    if isinstance(kernel.shape, HashableArray):
        if kernel.shape.shape[0] != len(x):
            raise ValueError(f"blat_mmr: the kernel's matrix must be [{len(x)}, {len(x)}], got {kernel.shape.shape}")
        return np.asarray(kernel.shape)
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        hyperparameters: dict[str, Any] = dict(
            zip(shape_function_arguments(kernel).names, (jnp.asarray(v, float) for v in values), strict=True)
        )
        args: tuple[Any, ...]
        if lattice:
            args = (_lattice_differences(len(x), step) / width,)
        elif depends_on_distance(kernel):
            apart = x[None] - x[:, None]
            args = ((apart if x.ndim == 1 else np.sqrt((apart**2).sum(axis=-1))) / width,)
        else:
            args = (x[:, None], x[None], width) if has_width(kernel) else (x[:, None], x[None])
        matrix = np.asarray(kernel.shape(*(jnp.asarray(a, float) for a in args), **hyperparameters), np.float64)
    shape = args[0].shape if len(args) == 1 else (len(x), len(x))
    try:
        return np.broadcast_to(matrix, shape)
    except ValueError:
        raise ValueError(f"blat_mmr: kernel {name} must broadcast to {shape}, got shape {matrix.shape}") from None


def _lattice_differences(n: int, step: Any) -> HostArray:
    return np.asarray(step * np.arange(1.0 - n, n))


def _mass_kept_on_grid(kernel_by_difference: HostArray, n: int) -> HostArray:
    """[n] what stays on the grid of the mass of each point."""
    below = np.concatenate([[0.0], np.cumsum(kernel_by_difference)])
    return np.asarray(below[n - np.arange(n) - 1 + n] - below[n - np.arange(n) - 1])


def _describe_position(kernel: Kernel, x: HostArray, index: HostArray, width: float, step: Any) -> str:
    if len(index) == 1:
        return f"at a distance of {_lattice_differences(len(x), step)[index[0]] / width:g} widths"
    if isinstance(kernel.shape, HashableArray):
        return f"in row {index[0]}, column {index[1]}"
    return f"from strength {x[index[0]]} to {x[index[1]]}"


def kernel_reach(
    kernel: Kernel, points: HashableArray, step: float, width: float, values: tuple[float, ...], precision: str
) -> int:
    """Grid steps from a strength to the furthest one that a share worth counting goes to."""
    matrix = checked_custom_kernel_matrix(kernel, points, step, width, values)
    n, most = len(np.asarray(points)), matrix.max(axis=-1, keepdims=True)
    far = np.argwhere(matrix > TAIL_TOLERANCE[precision] * most)
    away = far[:, 0] - (n - 1) if matrix.ndim == 1 else far[:, 1] - far[:, 0]
    return int(np.abs(away).max())


def choose_edge_normalisation(kernel: Kernel, points: HashableArray, step: float | None, width: float) -> str:
    """Those of a kernel between strengths: "global" if it depends on their difference alone, else "source".

    (Strengths that are not equally far apart, and functions with hyperparameters, which may change it, have "source".)
    """
    x = np.asarray(points)
    gaps = np.diff(x, axis=0)
    if (
        shape_function_arguments(kernel).names
        or x.ndim > 1
        or (len(gaps) and np.ptp(gaps) > RELATIVE_TOLERANCE * np.abs(x).max())
    ):
        return "source"
    matrix = checked_custom_kernel_matrix(kernel, points, step, width, ())
    return "global" if np.allclose(matrix[1:, 1:], matrix[:-1, :-1], rtol=RELATIVE_TOLERANCE, atol=0.0) else "source"


@lru_cache(maxsize=16)
def low_rank_factors(
    kernel: Kernel, points: HashableArray, step: float | None, width: float, values: tuple[float, ...], precision: str
) -> tuple[HostArray, HostArray] | None:
    """Matrices [n, r] and [r, n] whose product is K; None if r is not below a quarter of n, or n large."""
    matrix = checked_custom_kernel_matrix(kernel, points, step, width, values)
    n = len(matrix)
    if n > MAX_SVD_SIZE or (kernel.edges == "source" and len(kernel.weights) > 1):
        return None
    left, size, right = np.linalg.svd(matrix)
    rank = int(np.count_nonzero(size > RANK_TOLERANCE[precision] * size[0]))
    return (left[:, :rank] * size[:rank], right[:rank]) if 4 * rank < n else None
