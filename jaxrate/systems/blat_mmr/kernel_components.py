"""Components of a kernel: their tables, and how a belief is spread by them."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import HashableArray
from jaxrate.numerics.fourier_convolution import (
    convolve_with_spectrum,
    grid_differences_in_fft_order,
    padded_spectrum_of_differences,
)
from jaxrate.systems.blat_mmr.kernels import Kernel, depends_on_distance, has_custom_shape, has_width
from jaxrate.systems.blat_mmr.laplace_distribution_sums import exponential_decays, exponentially_decayed_sums

EXACT = lax.Precision.HIGHEST


class PreparedKernelComponent(NamedTuple):
    """One component, ready to be applied."""

    weight: float
    table: Any  # what `apply` needs, by algorithm
    kept: Array  # [..., n] how much of a point's mass stays within the support


def prepare_components(
    kernel: Kernel,
    algorithm: str,
    width: Array,
    points: Array,
    step: float | None,
    reach: int,
    values: Mapping[str, Array] | None = None,
) -> list[PreparedKernelComponent]:
    """The components of a kernel.

    Args:
      algorithm: "band" or "fft" on a grid; "laplace" on sorted points; "naive" on any.
      width: [] of the component whose relative width is 1.
      points: [n], or [n, d]: the support.
      step: of the grid; None: any support, where components keep their densities (equation (8)).
      reach: grid steps from the centre to the last tap of a band.
      values: of the hyperparameters of its function.
    """
    hyperparameters = values or {}
    widths = [width * relative for relative in kernel.widths]
    tables = [_precompute_component_table(kernel, algorithm, w, points, step, reach, hyperparameters) for w in widths]
    weights = list(kernel.weights)
    if algorithm == "band" and kernel.edges == "global":
        tables = [sum((w * t for w, t in zip(weights, tables, strict=True)), jnp.zeros_like(tables[0]))]
        weights = [1.0]
    return [
        PreparedKernelComponent(w, t, _kernel_mass_kept_per_point(kernel, algorithm, t, points))
        for w, t in zip(weights, tables, strict=True)
    ]


def low_rank_component(left: Any, right: Any) -> list[PreparedKernelComponent]:
    """The one component of a kernel of low rank: K is the product of matrices [n, r] and [r, n]."""
    return [PreparedKernelComponent(1.0, (left, right), jnp.asarray(left @ right.sum(axis=1), float))]


def spread_belief(
    edges: str | None,
    algorithm: str,
    components: list[PreparedKernelComponent],
    belief: Array,
    is_custom_kernel: bool = False,
) -> Array:
    """What a belief [..., n] becomes, normalised; its own mass need not be one.

    Of a kernel of one's `is_custom_kernel`, mass that could go nowhere stays where it is.
    """
    if edges == "source":
        safe = [jnp.where(x.kept > 0.0, x.kept, 1.0) if is_custom_kernel else x.kept for x in components]
        terms = [
            x.weight * apply_component(algorithm, x.table, belief / _align_last_axis(kept, belief))
            for x, kept in zip(components, safe, strict=True)
        ]
        if is_custom_kernel:
            terms += [x.weight * jnp.where(_align_last_axis(x.kept, belief) > 0.0, 0.0, belief) for x in components]
        return _sum_terms(terms) / jnp.sum(belief, axis=-1, keepdims=True)
    # The mass that will be left is known before: one pass less than to normalise at the end.
    left = _sum_terms([x.weight * x.kept for x in components])
    mass = jnp.matmul(belief, left[:, None], precision=EXACT)
    if is_custom_kernel:
        safe_mass = jnp.where(mass > 0.0, mass, jnp.sum(belief, axis=-1, keepdims=True))
        after = _sum_terms([x.weight * apply_component(algorithm, x.table, belief) for x in components])
        return jnp.where(mass > 0.0, after, belief) / safe_mass
    scale = 1.0 / mass
    return scale * _sum_terms([x.weight * apply_component(algorithm, x.table, belief) for x in components])


def apply_component(algorithm: str, table: Any, belief: Array) -> Array:
    """A component's sum over the support, for beliefs [..., n]."""
    n = belief.shape[-1]
    if algorithm == "low_rank":
        left, right = (jnp.asarray(x, belief.dtype) for x in table)
        return _zero_rounding(jnp.matmul(jnp.matmul(belief, left, precision=EXACT), right, precision=EXACT))
    if algorithm == "band":
        reach = (len(table) - 1) // 2
        padded = jnp.pad(belief, [(0, 0)] * (belief.ndim - 1) + [(reach, reach)])
        taps = [
            tap if tap.ndim == 0 else _align_last_axis(tap, belief) for tap in table
        ]  # alike for all strengths, or [n] by theirs
        return _sum_terms([tap * lax.slice_in_dim(padded, k, k + n, axis=-1) for k, tap in enumerate(taps)])
    if algorithm == "fft":
        return _zero_rounding(convolve_with_spectrum(_align_last_axis(table, belief), belief))
    if algorithm == "laplace":
        (before, after), height = table
        left, right = exponentially_decayed_sums(
            jnp.broadcast_to(_align_last_axis(before, belief), belief.shape),
            jnp.broadcast_to(_align_last_axis(after, belief), belief.shape),
            belief,
        )
        return height * (left + right - belief)
    return jnp.matmul(belief, table, precision=EXACT)


def _zero_rounding(sums: Array) -> Array:
    rounding = 0.5 * float(np.finfo(sums.dtype).eps) * jnp.max(sums, axis=-1, keepdims=True)
    return jnp.where(sums > rounding, sums, 0.0)


def _kernel_mass_kept_per_point(kernel: Kernel, algorithm: str, table: Any, points: Array) -> Array:
    """[n] how much of the mass of each point stays: the sums of what leaves it, not of what comes."""
    ones = jnp.ones(points.shape[0], points.dtype)
    if not has_custom_shape(kernel):
        return apply_component(algorithm, table, ones)  # as much comes as goes
    if algorithm == "naive":
        return jnp.sum(table, axis=1)
    if depends_on_distance(kernel):
        return jnp.flip(apply_component(algorithm, table, ones))
    n, reach = table.shape[1], (table.shape[0] - 1) // 2
    padded = jnp.pad(table, [(0, 0), (reach, reach)])
    return _sum_terms([lax.slice_in_dim(padded[k], 2 * reach - k, 2 * reach - k + n) for k in range(2 * reach + 1)])


def _precompute_component_table(
    kernel: Kernel,
    algorithm: str,
    width: Array,
    points: Array,
    step: float | None,
    reach: int,
    values: Mapping[str, Array],
) -> Any:
    if not depends_on_distance(kernel):
        return _strength_kernel_matrix(kernel, algorithm, width, points, reach, values)
    mass = jnp.ones_like(width) if step is None else _sum_density_over_lattice(kernel, step, width, len(points), values)
    if algorithm == "band":
        assert step is not None
        taps = component_density(
            kernel, step * jnp.arange(reach, -reach - 1.0, -1.0), width, values
        )  # what comes from above
        return taps / jnp.sum(taps)
    if algorithm == "fft":
        assert step is not None
        return padded_spectrum_of_differences(
            component_density(kernel, step * grid_differences_in_fft_order(points.shape[0]), width, values) / mass
        )
    if algorithm == "laplace":
        return exponential_decays(points, width), 0.5 / (width * mass)
    if points.ndim == 1:
        return component_density(kernel, points[None] - points[:, None], width, values) / mass
    square = jnp.sum((points[:, None] - points[None]) ** 2, axis=-1)
    if has_custom_shape(kernel):
        distance = jnp.where(square > 0.0, jnp.sqrt(jnp.where(square > 0.0, square, 1.0)), 0.0)
        return component_density(kernel, distance, width, values) / width ** (points.shape[1] - 1)
    return jnp.exp(-0.5 * square / width**2) / (math.sqrt(2.0 * math.pi) * width) ** points.shape[1]


def _strength_kernel_matrix(
    kernel: Kernel, algorithm: str, width: Array, points: Array, reach: int, values: Mapping[str, Array]
) -> Array:
    """K [n, n] from the first to the second strength; its diagonals [2 reach + 1, n] for a band, by where they end."""
    n = points.shape[0]
    start, end = jnp.arange(n)[:, None], jnp.arange(n)[None]
    inside: Any = True
    if algorithm == "band":
        start = end + jnp.arange(-reach, reach + 1)[:, None]
        inside, start = (start >= 0) & (start < n), jnp.clip(start, 0, n - 1)
    if isinstance(kernel.shape, HashableArray):
        density_values = jnp.asarray(kernel.shape, points.dtype)[start, end]
    else:
        width_too = (width,) if has_width(kernel) else ()
        density_values = kernel.shape(points[start], points[end], *width_too, **values)
    shape = jnp.broadcast_shapes(start.shape, end.shape)
    return jnp.where(inside, jnp.broadcast_to(_cast_and_clip_negative(density_values, points), shape), 0.0)


def component_density(kernel: Kernel, distance: Array, width: Array, values: Mapping[str, Array]) -> Array:
    """The density of a component of the distance."""
    if has_custom_shape(kernel):
        return _cast_and_clip_negative(kernel.shape(distance / width, **values), distance) / width
    if kernel.shape == "gaussian":
        return jnp.exp(-0.5 * (distance / width) ** 2) / (math.sqrt(2.0 * math.pi) * width)
    return jnp.exp(-jnp.abs(distance) / width) / (2.0 * width)


def _cast_and_clip_negative(values: Any, like: Array) -> Array:
    """What a function gives, also as True and False; below zero, which values that are traced may give, is zero."""
    return jnp.maximum(jnp.asarray(values).astype(like.dtype), 0.0)


def _sum_density_over_lattice(kernel: Kernel, step: float, width: Array, n: int, values: Mapping[str, Array]) -> Array:
    """The sum of the density over the endless grid; of a function of one's own over its differences."""
    if has_custom_shape(kernel):
        return jnp.sum(component_density(kernel, step * grid_differences_in_fft_order(n), width, values))
    if kernel.shape == "laplace":
        return 0.5 / (jnp.tanh(0.5 * step / width) * width)
    # Above two steps the sum is the integral, to e^-79; below, 18 steps reach 9 widths.
    narrow = jnp.minimum(width, 2.0 * step)
    return jnp.where(
        width > narrow, 1.0 / step, jnp.sum(component_density(kernel, step * jnp.arange(-18.0, 19.0), narrow, {}))
    )


def _sum_terms(terms: list[Array]) -> Array:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _align_last_axis(x: Array, like: Array) -> Array:
    return x.reshape((1,) * (like.ndim - 1) + x.shape)
