"""Kernels: how a belief spreads between matches (Model 2.16, section 3.3, equation (8))."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.hashable_values import HashableArray, display_name, hashable_array
from jaxrate.numerics.fourier_convolution import convolve_with_spectrum, grid_differences, spectrum_of_differences
from jaxrate.systems.blat_mmr.function_arguments import NO_ARGUMENTS, FunctionArguments, inspect_arguments
from jaxrate.systems.blat_mmr.laplace_recursions import exponential_decays, exponential_tails
from jaxrate.text_format import suggest_name
from jaxrate.types import Array


class Kernel(NamedTuple):
    """How much of the mass at a strength goes to which other one, as kappa of a strength has it in Model 2.16.

    The shape is "gaussian", "laplace" (of the b of section 4.3), or one's own, which must not be negative:

    - `f(d)`, a function of the distance d from the old strength to the new one in units of the width, in R^d
      Euclidean;
    - `f(x, y)`, a function of the old strength x and the new one y, which broadcast as in a luck function, where
      `kernel_width` does nothing; or `f(x, y, width)` with the width that it, the player and the time give;
    - a matrix [n, n] over the strengths of the grid or the support: row i says where strength i goes.

    Beliefs over distributions (`inner`) take all but the matrix by the means of the distributions.

    Any argument of a function that has a number for its default becomes a hyperparameter of the system, under its own
    name, which `params=` and `jr.fit` move. It may be any number, or what an annotation says: `Annotated[float,
    "positive"]`, or "unit" for a share.

    Weights and widths make a mixture, of a shape that has a width; the widths are multiples of `kernel_width`. On a
    grid each component of the distance has mass one: the endless grid's, or for a function of one's own that of all
    differences on the grid. What leaves at the edges is given back in proportion to what stayed ("global", section
    3.4), or at each point in proportion to where its own mass goes ("source", equation (6)). The
    paper's equation (6) is a distribution of each strength, and so "source"; its equation (8), Example 4.2 and section
    3.4 make the whole belief sum to one, and are "global". With "global" a strength counts by the mass of its row. So
    the default is "global" of whatever depends on the distance alone, however it is written: then rows differ by what
    leaves at the edges only. Of other functions of both strengths, of those with hyperparameters of their own, and of
    other matrices it is "source".

    Example:
      >>> def steadier(x, y, *, low: Annotated[float, "positive"] = 0.1, slope: float = -0.2):
      ...     return jnp.exp(-0.5 * ((y - x) / (low * jnp.exp(slope * x))) ** 2)
      >>> system = jr.blat_mmr(kernel=jr.extend.kernels.Kernel(steadier))
      >>> system.params.slope
      -0.2
    """

    shape: Any = "gaussian"
    weights: tuple[float, ...] = (1.0,)
    widths: tuple[float, ...] = (1.0,)
    clock: str = "match"  # "match": after every match; "time": variance per unit of time, when it has passed
    edges: str | None = None
    own: bool = False  # players have a factor of the width, `State.width`

    def __repr__(self) -> str:
        fields = zip(self._fields, self, Kernel._field_defaults.values(), strict=True)
        return f"Kernel({', '.join(f'{name}={display_name(x)}' for name, x, usual in fields if x != usual)})"


EXACT = lax.Precision.HIGHEST
KERNELS = {
    "gaussian": Kernel(edges="global"),
    "laplace": Kernel("laplace", edges="global"),
    "gaussian_by_time": Kernel(clock="time", edges="global"),
    "laplace_by_time": Kernel("laplace", clock="time", edges="global"),
}
FIELD_CHOICES = {"shape": ("gaussian", "laplace"), "clock": ("match", "time"), "edges": ("global", "source")}


def parse(kernel: Kernel | str | None) -> Kernel | None:
    """A checked kernel; None and "none" are the identity (Example 2.17)."""
    if kernel is None or (isinstance(kernel, str) and kernel == "none"):
        return None
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(
                f"unknown kernel {kernel!r}{suggest_name(kernel, KERNELS)} (there are {', '.join(KERNELS)}, and none)"
            )
        return KERNELS[kernel]
    if type(kernel) is tuple and len(kernel) == len(Kernel._fields):  # as a saved run holds it
        kernel = Kernel(*kernel)
    if not isinstance(kernel, Kernel):
        raise ValueError(f"a kernel is a name or a jr.extend.kernels.Kernel, got {kernel!r}")
    if not isinstance(kernel.shape, str):
        kernel = _parse_own_shape(kernel)
    elif kernel.edges is None:
        kernel = kernel._replace(edges="global")
    for field, allowed in FIELD_CHOICES.items():
        value = getattr(kernel, field)
        chosen_later = field == "edges" and value is None  # when the strengths are known
        if value not in allowed and not (chosen_later or (field == "shape" and has_own_shape(kernel))):
            raise ValueError(f"the kernel's {field} is one of {', '.join(allowed)}, got {value!r}")
    weights, widths = kernel.weights, kernel.widths
    if len(weights) != len(widths) or not weights or min(weights) < 0 or abs(sum(weights) - 1.0) > 1e-9:
        raise ValueError(f"a kernel has as many weights as widths, and they sum to 1; got {weights} and {widths}")
    if not all(0 < width < math.inf for width in widths):
        raise ValueError(f"the widths of a kernel are above 0, got {widths}")
    return kernel


def _parse_own_shape(kernel: Kernel) -> Kernel:
    """A kernel of one's own as a plain value; with its edges, if it is of the distance."""
    if not callable(kernel.shape):
        try:
            table = np.asarray(kernel.shape, np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"a kernel's shape is a name, a function or a matrix, got {kernel.shape!r}") from None
        if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:
            raise ValueError(f"a kernel's matrix is [n, n], got shape {table.shape}")
        kernel = kernel._replace(shape=hashable_array(table))
    elif not 1 <= shape_arguments(kernel).num_required <= 3:
        raise ValueError(
            f"kernel {display_name(kernel.shape)}: it takes a distance, two strengths, or these and a width, each "
            f"without a default; this one takes {shape_arguments(kernel).num_required}"
        )
    plain = (kernel.weights, kernel.widths, kernel.clock, kernel.own) == ((1.0,), (1.0,), "match", False)
    if not (plain or has_width(kernel)):
        raise ValueError(
            f"kernel {display_name(kernel.shape)}: it has no width that a mixture, a clock or a player could change; "
            "take a function of the distance, or f(x, y, width)"
        )
    return kernel._replace(edges="global") if kernel.edges is None and depends_on_distance(kernel) else kernel


def has_own_shape(kernel: Kernel) -> bool:
    """Whether its shape has no name."""
    return not isinstance(kernel.shape, str)


def shape_arguments(kernel: Kernel | None) -> FunctionArguments:
    """What its function takes; nothing for other shapes."""
    return inspect_arguments(kernel.shape) if kernel is not None and callable(kernel.shape) else NO_ARGUMENTS


def depends_on_distance(kernel: Kernel) -> bool:
    return not has_own_shape(kernel) or shape_arguments(kernel).num_required == 1


def has_width(kernel: Kernel) -> bool:
    return not has_own_shape(kernel) or shape_arguments(kernel).num_required in (1, 3)


class KernelComponent(NamedTuple):
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
) -> list[KernelComponent]:
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
    tables = [_component_table(kernel, algorithm, w, points, step, reach, hyperparameters) for w in widths]
    weights = list(kernel.weights)
    if algorithm == "band" and kernel.edges == "global":
        tables = [sum((w * t for w, t in zip(weights, tables, strict=True)), jnp.zeros_like(tables[0]))]
        weights = [1.0]
    return [
        KernelComponent(w, t, _kept_mass(kernel, algorithm, t, points)) for w, t in zip(weights, tables, strict=True)
    ]


def low_rank_component(left: Any, right: Any) -> list[KernelComponent]:
    """The one component of a kernel of low rank: K is the product of matrices [n, r] and [r, n]."""
    return [KernelComponent(1.0, (left, right), jnp.asarray(left @ right.sum(axis=1), float))]


def spread_belief(
    edges: str | None, algorithm: str, components: list[KernelComponent], belief: Array, own: bool = False
) -> Array:
    """What a belief [..., n] becomes, normalised; its own mass need not be one.

    Of a kernel of one's `own`, mass that could go nowhere stays where it is.
    """
    if edges == "source":
        safe = [jnp.where(x.kept > 0.0, x.kept, 1.0) if own else x.kept for x in components]
        terms = [
            x.weight * apply_component(algorithm, x.table, belief / _align_last_axis(kept, belief))
            for x, kept in zip(components, safe, strict=True)
        ]
        if own:
            terms += [x.weight * jnp.where(_align_last_axis(x.kept, belief) > 0.0, 0.0, belief) for x in components]
        return _sum_terms(terms) / jnp.sum(belief, axis=-1, keepdims=True)
    # The mass that will be left is known before: one pass less than to normalise at the end.
    left = _sum_terms([x.weight * x.kept for x in components])
    mass = jnp.matmul(belief, left[:, None], precision=EXACT)
    if own:
        safe_mass = jnp.where(mass > 0.0, mass, jnp.sum(belief, axis=-1, keepdims=True))
        after = _sum_terms([x.weight * apply_component(algorithm, x.table, belief) for x in components])
        return jnp.where(mass > 0.0, after, belief) / safe_mass
    scale = 1.0 / mass
    return scale * _sum_terms([x.weight * apply_component(algorithm, x.table, belief) for x in components])


def apply_component(algorithm: str, table: Any, p: Array) -> Array:
    """A component's sum over the support, for beliefs [..., n]."""
    n = p.shape[-1]
    if algorithm == "low_rank":
        left, right = (jnp.asarray(x, p.dtype) for x in table)
        return _zero_rounding(jnp.matmul(jnp.matmul(p, left, precision=EXACT), right, precision=EXACT))
    if algorithm == "band":
        reach = (len(table) - 1) // 2
        padded = jnp.pad(p, [(0, 0)] * (p.ndim - 1) + [(reach, reach)])
        taps = [
            tap if tap.ndim == 0 else _align_last_axis(tap, p) for tap in table
        ]  # alike for all strengths, or [n] by theirs
        return _sum_terms([tap * lax.slice_in_dim(padded, k, k + n, axis=-1) for k, tap in enumerate(taps)])
    if algorithm == "fft":
        return _zero_rounding(convolve_with_spectrum(_align_last_axis(table, p), p))
    if algorithm == "laplace":
        (before, after), height = table
        left, right = exponential_tails(
            jnp.broadcast_to(_align_last_axis(before, p), p.shape),
            jnp.broadcast_to(_align_last_axis(after, p), p.shape),
            p,
        )
        return height * (left + right - p)
    return jnp.matmul(p, table, precision=EXACT)


def _zero_rounding(sums: Array) -> Array:
    rounding = 0.5 * float(np.finfo(sums.dtype).eps) * jnp.max(sums, axis=-1, keepdims=True)
    return jnp.where(sums > rounding, sums, 0.0)


def _kept_mass(kernel: Kernel, algorithm: str, table: Any, points: Array) -> Array:
    """[n] how much of the mass of each point stays: the sums of what leaves it, not of what comes."""
    ones = jnp.ones(points.shape[0], points.dtype)
    if not has_own_shape(kernel):
        return apply_component(algorithm, table, ones)  # as much comes as goes
    if algorithm == "naive":
        return jnp.sum(table, axis=1)
    if depends_on_distance(kernel):
        return jnp.flip(apply_component(algorithm, table, ones))
    n, reach = table.shape[1], (table.shape[0] - 1) // 2
    padded = jnp.pad(table, [(0, 0), (reach, reach)])
    return _sum_terms([lax.slice_in_dim(padded[k], 2 * reach - k, 2 * reach - k + n) for k in range(2 * reach + 1)])


def _component_table(
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
    mass = jnp.ones_like(width) if step is None else _lattice_mass(kernel, step, width, len(points), values)
    if algorithm == "band":
        assert step is not None
        taps = component_density(
            kernel, step * jnp.arange(reach, -reach - 1.0, -1.0), width, values
        )  # what comes from above
        return taps / jnp.sum(taps)
    if algorithm == "fft":
        assert step is not None
        return spectrum_of_differences(
            component_density(kernel, step * grid_differences(points.shape[0]), width, values) / mass
        )
    if algorithm == "laplace":
        return exponential_decays(points, width), 0.5 / (width * mass)
    if points.ndim == 1:
        return component_density(kernel, points[None] - points[:, None], width, values) / mass
    square = jnp.sum((points[:, None] - points[None]) ** 2, axis=-1)
    if has_own_shape(kernel):
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
    return jnp.where(inside, jnp.broadcast_to(_clip_negative(density_values, points), shape), 0.0)


def component_density(kernel: Kernel, distance: Array, width: Array, values: Mapping[str, Array]) -> Array:
    """The density of a component of the distance."""
    if has_own_shape(kernel):
        return _clip_negative(kernel.shape(distance / width, **values), distance) / width
    if kernel.shape == "gaussian":
        return jnp.exp(-0.5 * (distance / width) ** 2) / (math.sqrt(2.0 * math.pi) * width)
    return jnp.exp(-jnp.abs(distance) / width) / (2.0 * width)


def _clip_negative(values: Any, like: Array) -> Array:
    """What a function gives, also as True and False; below zero, which values that are traced may give, is zero."""
    return jnp.maximum(jnp.asarray(values).astype(like.dtype), 0.0)


def _lattice_mass(kernel: Kernel, step: float, width: Array, n: int, values: Mapping[str, Array]) -> Array:
    """The sum of the density over the endless grid; of a function of one's own over its differences."""
    if has_own_shape(kernel):
        return jnp.sum(component_density(kernel, step * grid_differences(n), width, values))
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
