"""Kernels of one's own as numbers on the host: whether they are kernels, and how far they reach."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.memory import check_room
from jaxrate.plain import Frozen, named
from jaxrate.systems.blat_mmr.kernels import Kernel, has_width, of_distance, taken
from jaxrate.systems.blat_mmr.luck import NumPy

RANK = {"float32": 1e-8, "float64": 4e-15}  # of the greatest singular value, below which others are left out
LARGE = 2048  # strengths beyond which singular values take too long
TAIL = {"float32": 1e-8, "float64": 1e-17}  # of the greatest share of a row, below which a band leaves shares out
RELATIVE_TOLERANCE = 1e-9  # relative: differences by rounding
SQUARE = 40.0  # bytes that an element of a matrix takes while it is looked at


@lru_cache(maxsize=16)
def shares(kernel: Kernel, points: Frozen, step: float | None, width: float, values: tuple[float, ...]) -> NumPy:
    """K [n, n] from the first to the second strength; of the distance on a grid [2 n - 1], the furthest below first.

    Raises:
      ValueError: where it is not finite or negative, or a strength has no mass left.
    """
    x = np.asarray(points)
    name, lattice = named(kernel.shape), of_distance(kernel) and step is not None
    if not lattice:
        check_room(f"blat_mmr: kernel {name} between {len(x)} strengths", SQUARE * len(x) ** 2)
    total: Any = 0.0
    for weight, relative in zip(kernel.weights, kernel.widths, strict=True):
        found = _found(kernel, name, x, lattice, step, width * relative, values)
        bad = ~((found >= 0.0) & (found < np.inf))
        if bad.any():
            at = np.argwhere(bad)[0]
            where = _where(kernel, x, at, width * relative, step)
            raise ValueError(f"blat_mmr: kernel {name} is {found[tuple(at)]} {where}")
        if lattice and not found.sum() > 0.0:
            raise ValueError(f"blat_mmr: kernel {name} has no mass at any distance on the grid")
        total = total + weight * found / (found.sum() if lattice else (width * relative) ** (x[0].size))
    mass = _masses(total, len(x)) if lattice else total.sum(axis=1)
    (empty,) = np.nonzero(~(mass > 0.0))
    if len(empty):
        raise ValueError(
            f"blat_mmr: kernel {name} leaves no mass to strength {x[empty[0]]} (row {empty[0]}): it goes nowhere"
        )
    return np.asarray(total)


def _found(
    kernel: Kernel, name: str, x: NumPy, lattice: bool, step: float | None, width: float, values: tuple[float, ...]
) -> NumPy:
    """What its matrix or function says, on a lattice at all differences."""
    if isinstance(kernel.shape, Frozen):
        if kernel.shape.shape[0] != len(x):
            raise ValueError(f"blat_mmr: the kernel's matrix must be [{len(x)}, {len(x)}], got {kernel.shape.shape}")
        return np.asarray(kernel.shape)
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        given: dict[str, Any] = dict(zip(taken(kernel).names, (jnp.asarray(v, float) for v in values), strict=True))
        args: tuple[Any, ...]
        if lattice:
            args = (_lattice(len(x), step) / width,)
        elif of_distance(kernel):
            apart = x[None] - x[:, None]
            args = ((apart if x.ndim == 1 else np.sqrt((apart**2).sum(axis=-1))) / width,)
        else:
            args = (x[:, None], x[None], width) if has_width(kernel) else (x[:, None], x[None])
        found = np.asarray(kernel.shape(*(jnp.asarray(a, float) for a in args), **given), np.float64)
    shape = args[0].shape if len(args) == 1 else (len(x), len(x))
    try:
        return np.broadcast_to(found, shape)
    except ValueError:
        raise ValueError(f"blat_mmr: kernel {name} must broadcast to {shape}, got shape {found.shape}") from None


def _lattice(n: int, step: Any) -> NumPy:
    return np.asarray(step * np.arange(1.0 - n, n))


def _masses(line: NumPy, n: int) -> NumPy:
    """[n] what stays on the grid of the mass of each point."""
    below = np.concatenate([[0.0], np.cumsum(line)])
    return np.asarray(below[n - np.arange(n) - 1 + n] - below[n - np.arange(n) - 1])


def _where(kernel: Kernel, x: NumPy, at: NumPy, width: float, step: Any) -> str:
    if len(at) == 1:
        return f"at a distance of {_lattice(len(x), step)[at[0]] / width:g} widths"
    if isinstance(kernel.shape, Frozen):
        return f"in row {at[0]}, column {at[1]}"
    return f"from strength {x[at[0]]} to {x[at[1]]}"


def reach(kernel: Kernel, points: Frozen, step: float, width: float, values: tuple[float, ...], precision: str) -> int:
    """Grid steps from a strength to the furthest one that a share worth counting goes to."""
    found = shares(kernel, points, step, width, values)
    n, most = len(np.asarray(points)), found.max(axis=-1, keepdims=True)
    far = np.argwhere(found > TAIL[precision] * most)
    away = far[:, 0] - (n - 1) if found.ndim == 1 else far[:, 1] - far[:, 0]
    return int(np.abs(away).max())


def default_edges(kernel: Kernel, points: Frozen, step: float | None, width: float) -> str:
    """Those of a kernel between strengths: "global" if it depends on their difference alone, else "source".

    (Strengths that are not equally far apart, and functions with hyperparameters, which may change it, have "source".)
    """
    x = np.asarray(points)
    gaps = np.diff(x, axis=0)
    if taken(kernel).names or x.ndim > 1 or (len(gaps) and np.ptp(gaps) > RELATIVE_TOLERANCE * np.abs(x).max()):
        return "source"
    matrix = shares(kernel, points, step, width, ())
    return "global" if np.allclose(matrix[1:, 1:], matrix[:-1, :-1], rtol=RELATIVE_TOLERANCE, atol=0.0) else "source"


@lru_cache(maxsize=16)
def factors(
    kernel: Kernel, points: Frozen, step: float | None, width: float, values: tuple[float, ...], precision: str
) -> tuple[NumPy, NumPy] | None:
    """Matrices [n, r] and [r, n] whose product is K; None if r is not below a quarter of n, or n large."""
    found = shares(kernel, points, step, width, values)
    n = len(found)
    if n > LARGE or (kernel.edges == "source" and len(kernel.weights) > 1):
        return None
    left, size, right = np.linalg.svd(found)
    rank = int(np.count_nonzero(size > RANK[precision] * size[0]))
    return (left[:, :rank] * size[:rank], right[:rank]) if 4 * rank < n else None
