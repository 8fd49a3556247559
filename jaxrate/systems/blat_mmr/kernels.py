"""Kernels: how a belief spreads between matches (Model 2.16, section 3.3, equation (8))."""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.events import Array
from jaxrate.numerics import circular, differences, spectrum
from jaxrate.systems.blat_mmr.laplace import decays, tails
from jaxrate.text import near


class Kernel(NamedTuple):
    """A mixture of densities around zero, whose widths are multiples of the parameter `kernel_width`.

    On a grid each component is normalised to mass one on the endless grid. What leaves at the edges is given back in
    proportion to what stayed ("global", section 3.4), or at each point in proportion to where its own mass goes
    ("source", equation (6)).
    """

    shape: str = "gaussian"  # "gaussian": the width is the standard deviation; "laplace": the b of section 4.3
    weights: tuple[float, ...] = (1.0,)
    widths: tuple[float, ...] = (1.0,)
    clock: str = "match"  # "match": after every match; "time": variance per unit of time, when it has passed
    edges: str = "global"
    own: bool = False  # players have a factor of the width, `State.width`


KERNELS = {
    "gaussian": Kernel(),
    "laplace": Kernel("laplace"),
    "gaussian_by_time": Kernel(clock="time"),
    "laplace_by_time": Kernel("laplace", clock="time"),
}
CHOICES = {"shape": ("gaussian", "laplace"), "clock": ("match", "time"), "edges": ("global", "source")}


def parse(kernel: Kernel | str | None) -> Kernel | None:
    """A checked kernel; None and "none" are the identity (Example 2.17)."""
    if kernel is None or kernel == "none":
        return None
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(
                f"unknown kernel {kernel!r}{near(kernel, KERNELS)} (there are {', '.join(KERNELS)}, and none)"
            )
        return KERNELS[kernel]
    if not isinstance(kernel, Kernel):
        raise ValueError(f"a kernel is a name or a jr.kernels.Kernel, got {kernel!r}")
    for field, allowed in CHOICES.items():
        if getattr(kernel, field) not in allowed:
            raise ValueError(f"the kernel's {field} is one of {', '.join(allowed)}, got {getattr(kernel, field)!r}")
    weights, widths = kernel.weights, kernel.widths
    if len(weights) != len(widths) or not weights or min(weights) < 0 or abs(sum(weights) - 1.0) > 1e-9:
        raise ValueError(f"a kernel has as many weights as widths, and they sum to 1; got {weights} and {widths}")
    if not all(0 < width < math.inf for width in widths):
        raise ValueError(f"the widths of a kernel are above 0, got {widths}")
    return kernel


class Part(NamedTuple):
    """One component, ready to be applied."""

    weight: float
    table: Any  # what `apply` needs, by algorithm
    kept: Array  # [..., n] how much of a point's mass stays within the support


def parts(kernel: Kernel, algorithm: str, width: Array, points: Array, step: float | None, reach: int) -> list[Part]:
    """The components of a kernel.

    Args:
      algorithm: "band" or "fft" on a grid; "laplace" on sorted points; "naive" on any.
      width: [] of the component whose relative width is 1.
      points: [n], or [n, d]: the support.
      step: of the grid; None: any support, where components keep their densities (equation (8)).
      reach: grid steps from the centre to the last tap of a band.
    """
    widths = [width * relative for relative in kernel.widths]
    tables = [_table(kernel, algorithm, w, points, step, reach) for w in widths]
    weights = list(kernel.weights)
    if algorithm == "band" and kernel.edges == "global":
        tables = [sum((w * t for w, t in zip(weights, tables, strict=True)), jnp.zeros_like(tables[0]))]
        weights = [1.0]
    ones = jnp.ones(points.shape[0], width.dtype)
    return [Part(w, t, apply(algorithm, t, ones)) for w, t in zip(weights, tables, strict=True)]


def spread(edges: str, algorithm: str, components: list[Part], belief: Array) -> Array:
    """What a belief [..., n] becomes, normalised; its own mass need not be one."""
    if edges == "source":
        terms = [x.weight * apply(algorithm, x.table, belief / _row(x.kept, belief)) for x in components]
        return _plus(terms) / jnp.sum(belief, axis=-1, keepdims=True)
    # The mass that will be left is known before: one pass less than to normalise at the end.
    left = _plus([x.weight * x.kept for x in components])
    scale = 1.0 / jnp.matmul(belief, left[:, None], precision=lax.Precision.HIGHEST)
    return scale * _plus([x.weight * apply(algorithm, x.table, belief) for x in components])


def apply(algorithm: str, table: Any, p: Array) -> Array:
    """A component's sum over the support, for beliefs [..., n]."""
    n = p.shape[-1]
    if algorithm == "band":
        reach = (len(table) - 1) // 2
        padded = jnp.pad(p, [(0, 0)] * (p.ndim - 1) + [(reach, reach)])
        return _plus([table[k] * lax.slice_in_dim(padded, k, k + n, axis=-1) for k in range(2 * reach + 1)])
    if algorithm == "fft":
        found = circular(_row(table, p), p)
        rounding = 0.5 * float(np.finfo(p.dtype).eps) * jnp.max(found, axis=-1, keepdims=True)
        return jnp.where(found > rounding, found, 0.0)
    if algorithm == "laplace":
        (before, after), height = table
        left, right = tails(jnp.broadcast_to(_row(before, p), p.shape), jnp.broadcast_to(_row(after, p), p.shape), p)
        return height * (left + right - p)
    return jnp.matmul(p, table, precision=lax.Precision.HIGHEST)


def _table(kernel: Kernel, algorithm: str, width: Array, points: Array, step: float | None, reach: int) -> Any:
    mass = jnp.ones_like(width) if step is None else _lattice_mass(kernel, step, width)
    if algorithm == "band":
        assert step is not None
        taps = _density(kernel, step * jnp.arange(-reach, reach + 1.0), width)
        return taps / jnp.sum(taps)
    if algorithm == "fft":
        assert step is not None
        return spectrum(_density(kernel, step * differences(points.shape[0]), width) / mass)
    if algorithm == "laplace":
        return decays(points, width), 0.5 / (width * mass)
    if points.ndim == 1:
        return _density(kernel, points[:, None] - points[None], width) / mass
    square = jnp.sum((points[:, None] - points[None]) ** 2, axis=-1)
    return jnp.exp(-0.5 * square / width**2) / (math.sqrt(2.0 * math.pi) * width) ** points.shape[1]


def _density(kernel: Kernel, distance: Array, width: Array) -> Array:
    if kernel.shape == "gaussian":
        return jnp.exp(-0.5 * (distance / width) ** 2) / (math.sqrt(2.0 * math.pi) * width)
    return jnp.exp(-jnp.abs(distance) / width) / (2.0 * width)


def _lattice_mass(kernel: Kernel, step: float, width: Array) -> Array:
    """The sum of the density over the endless grid."""
    if kernel.shape == "laplace":
        return 0.5 / (jnp.tanh(0.5 * step / width) * width)
    # Above two steps the sum is the integral, to e^-79; below, 18 steps reach 9 widths.
    narrow = jnp.minimum(width, 2.0 * step)
    return jnp.where(width > narrow, 1.0 / step, jnp.sum(_density(kernel, step * jnp.arange(-18.0, 19.0), narrow)))


def _plus(terms: list[Array]) -> Array:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _row(x: Array, like: Array) -> Array:
    return x.reshape((1,) * (like.ndim - 1) + x.shape)
