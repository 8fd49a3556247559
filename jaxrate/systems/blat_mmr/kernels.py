"""Kernels: how a belief spreads between matches (Model 2.16, section 3.3, equation (8))."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.events import Array
from jaxrate.numerics import circular, differences, spectrum
from jaxrate.plain import Frozen, frozen, named
from jaxrate.systems.blat_mmr.functions import NOTHING, Arguments, arguments
from jaxrate.systems.blat_mmr.laplace import decays, tails
from jaxrate.text import near


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
      >>> system = jr.blat_mmr(kernel=jr.kernels.Kernel(steadier))
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
        return f"Kernel({', '.join(f'{name}={named(x)}' for name, x, usual in fields if x != usual)})"


EXACT = lax.Precision.HIGHEST
KERNELS = {
    "gaussian": Kernel(edges="global"),
    "laplace": Kernel("laplace", edges="global"),
    "gaussian_by_time": Kernel(clock="time", edges="global"),
    "laplace_by_time": Kernel("laplace", clock="time", edges="global"),
}
CHOICES = {"shape": ("gaussian", "laplace"), "clock": ("match", "time"), "edges": ("global", "source")}


def parse(kernel: Kernel | str | None) -> Kernel | None:
    """A checked kernel; None and "none" are the identity (Example 2.17)."""
    if kernel is None or (isinstance(kernel, str) and kernel == "none"):
        return None
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(
                f"unknown kernel {kernel!r}{near(kernel, KERNELS)} (there are {', '.join(KERNELS)}, and none)"
            )
        return KERNELS[kernel]
    if type(kernel) is tuple and len(kernel) == len(Kernel._fields):  # as a saved run holds it
        kernel = Kernel(*kernel)
    if not isinstance(kernel, Kernel):
        raise ValueError(f"a kernel is a name or a jr.kernels.Kernel, got {kernel!r}")
    if not isinstance(kernel.shape, str):
        kernel = _own(kernel)
    elif kernel.edges is None:
        kernel = kernel._replace(edges="global")
    for field, allowed in CHOICES.items():
        value = getattr(kernel, field)
        chosen_later = field == "edges" and value is None  # when the strengths are known
        if value not in allowed and not (chosen_later or (field == "shape" and is_own(kernel))):
            raise ValueError(f"the kernel's {field} is one of {', '.join(allowed)}, got {value!r}")
    weights, widths = kernel.weights, kernel.widths
    if len(weights) != len(widths) or not weights or min(weights) < 0 or abs(sum(weights) - 1.0) > 1e-9:
        raise ValueError(f"a kernel has as many weights as widths, and they sum to 1; got {weights} and {widths}")
    if not all(0 < width < math.inf for width in widths):
        raise ValueError(f"the widths of a kernel are above 0, got {widths}")
    return kernel


def _own(kernel: Kernel) -> Kernel:
    """A kernel of one's own as a plain value; with its edges, if it is of the distance."""
    if not callable(kernel.shape):
        try:
            table = np.asarray(kernel.shape, np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"a kernel's shape is a name, a function or a matrix, got {kernel.shape!r}") from None
        if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:
            raise ValueError(f"a kernel's matrix is [n, n], got shape {table.shape}")
        kernel = kernel._replace(shape=frozen(table))
    elif not 1 <= taken(kernel).needed <= 3:
        raise ValueError(
            f"kernel {named(kernel.shape)}: it takes a distance, two strengths, or these and a width, each without a "
            f"default; this one takes {taken(kernel).needed}"
        )
    plain = (kernel.weights, kernel.widths, kernel.clock, kernel.own) == ((1.0,), (1.0,), "match", False)
    if not (plain or has_width(kernel)):
        raise ValueError(
            f"kernel {named(kernel.shape)}: it has no width that a mixture, a clock or a player could change; take a "
            "function of the distance, or f(x, y, width)"
        )
    return kernel._replace(edges="global") if kernel.edges is None and of_distance(kernel) else kernel


def is_own(kernel: Kernel) -> bool:
    """Whether its shape has no name."""
    return not isinstance(kernel.shape, str)


def taken(kernel: Kernel | None) -> Arguments:
    """What its function takes; nothing for other shapes."""
    return arguments(kernel.shape) if kernel is not None and callable(kernel.shape) else NOTHING


def of_distance(kernel: Kernel) -> bool:
    return not is_own(kernel) or taken(kernel).needed == 1


def has_width(kernel: Kernel) -> bool:
    return not is_own(kernel) or taken(kernel).needed in (1, 3)


class Part(NamedTuple):
    """One component, ready to be applied."""

    weight: float
    table: Any  # what `apply` needs, by algorithm
    kept: Array  # [..., n] how much of a point's mass stays within the support


def parts(
    kernel: Kernel,
    algorithm: str,
    width: Array,
    points: Array,
    step: float | None,
    reach: int,
    values: Mapping[str, Array] | None = None,
) -> list[Part]:
    """The components of a kernel.

    Args:
      algorithm: "band" or "fft" on a grid; "laplace" on sorted points; "naive" on any.
      width: [] of the component whose relative width is 1.
      points: [n], or [n, d]: the support.
      step: of the grid; None: any support, where components keep their densities (equation (8)).
      reach: grid steps from the centre to the last tap of a band.
      values: of the hyperparameters of its function.
    """
    given = values or {}
    widths = [width * relative for relative in kernel.widths]
    tables = [_table(kernel, algorithm, w, points, step, reach, given) for w in widths]
    weights = list(kernel.weights)
    if algorithm == "band" and kernel.edges == "global":
        tables = [sum((w * t for w, t in zip(weights, tables, strict=True)), jnp.zeros_like(tables[0]))]
        weights = [1.0]
    return [Part(w, t, _kept(kernel, algorithm, t, points)) for w, t in zip(weights, tables, strict=True)]


def of_factors(left: Any, right: Any) -> list[Part]:
    """The one component of a kernel of low rank: K is the product of matrices [n, r] and [r, n]."""
    return [Part(1.0, (left, right), jnp.asarray(left @ right.sum(axis=1), float))]


def spread(edges: str | None, algorithm: str, components: list[Part], belief: Array, own: bool = False) -> Array:
    """What a belief [..., n] becomes, normalised; its own mass need not be one.

    Of a kernel of one's `own`, mass that could go nowhere stays where it is.
    """
    if edges == "source":
        safe = [jnp.where(x.kept > 0.0, x.kept, 1.0) if own else x.kept for x in components]
        terms = [
            x.weight * apply(algorithm, x.table, belief / _row(kept, belief))
            for x, kept in zip(components, safe, strict=True)
        ]
        if own:
            terms += [x.weight * jnp.where(_row(x.kept, belief) > 0.0, 0.0, belief) for x in components]
        return _plus(terms) / jnp.sum(belief, axis=-1, keepdims=True)
    # The mass that will be left is known before: one pass less than to normalise at the end.
    left = _plus([x.weight * x.kept for x in components])
    mass = jnp.matmul(belief, left[:, None], precision=EXACT)
    if own:
        known = jnp.where(mass > 0.0, mass, jnp.sum(belief, axis=-1, keepdims=True))
        after = _plus([x.weight * apply(algorithm, x.table, belief) for x in components])
        return jnp.where(mass > 0.0, after, belief) / known
    scale = 1.0 / mass
    return scale * _plus([x.weight * apply(algorithm, x.table, belief) for x in components])


def apply(algorithm: str, table: Any, p: Array) -> Array:
    """A component's sum over the support, for beliefs [..., n]."""
    n = p.shape[-1]
    if algorithm == "low_rank":
        left, right = (jnp.asarray(x, p.dtype) for x in table)
        return _above_rounding(jnp.matmul(jnp.matmul(p, left, precision=EXACT), right, precision=EXACT))
    if algorithm == "band":
        reach = (len(table) - 1) // 2
        padded = jnp.pad(p, [(0, 0)] * (p.ndim - 1) + [(reach, reach)])
        taps = [tap if tap.ndim == 0 else _row(tap, p) for tap in table]  # alike for all strengths, or [n] by theirs
        return _plus([tap * lax.slice_in_dim(padded, k, k + n, axis=-1) for k, tap in enumerate(taps)])
    if algorithm == "fft":
        return _above_rounding(circular(_row(table, p), p))
    if algorithm == "laplace":
        (before, after), height = table
        left, right = tails(jnp.broadcast_to(_row(before, p), p.shape), jnp.broadcast_to(_row(after, p), p.shape), p)
        return height * (left + right - p)
    return jnp.matmul(p, table, precision=EXACT)


def _above_rounding(found: Array) -> Array:
    rounding = 0.5 * float(np.finfo(found.dtype).eps) * jnp.max(found, axis=-1, keepdims=True)
    return jnp.where(found > rounding, found, 0.0)


def _kept(kernel: Kernel, algorithm: str, table: Any, points: Array) -> Array:
    """[n] how much of the mass of each point stays: the sums of what leaves it, not of what comes."""
    ones = jnp.ones(points.shape[0], points.dtype)
    if not is_own(kernel):
        return apply(algorithm, table, ones)  # as much comes as goes
    if algorithm == "naive":
        return jnp.sum(table, axis=1)
    if of_distance(kernel):
        return jnp.flip(apply(algorithm, table, ones))
    n, reach = table.shape[1], (table.shape[0] - 1) // 2
    padded = jnp.pad(table, [(0, 0), (reach, reach)])
    return _plus([lax.slice_in_dim(padded[k], 2 * reach - k, 2 * reach - k + n) for k in range(2 * reach + 1)])


def _table(
    kernel: Kernel,
    algorithm: str,
    width: Array,
    points: Array,
    step: float | None,
    reach: int,
    values: Mapping[str, Array],
) -> Any:
    if not of_distance(kernel):
        return _between(kernel, algorithm, width, points, reach, values)
    mass = jnp.ones_like(width) if step is None else _lattice_mass(kernel, step, width, len(points), values)
    if algorithm == "band":
        assert step is not None
        taps = density(kernel, step * jnp.arange(reach, -reach - 1.0, -1.0), width, values)  # what comes from above
        return taps / jnp.sum(taps)
    if algorithm == "fft":
        assert step is not None
        return spectrum(density(kernel, step * differences(points.shape[0]), width, values) / mass)
    if algorithm == "laplace":
        return decays(points, width), 0.5 / (width * mass)
    if points.ndim == 1:
        return density(kernel, points[None] - points[:, None], width, values) / mass
    square = jnp.sum((points[:, None] - points[None]) ** 2, axis=-1)
    if is_own(kernel):
        distance = jnp.where(square > 0.0, jnp.sqrt(jnp.where(square > 0.0, square, 1.0)), 0.0)
        return density(kernel, distance, width, values) / width ** (points.shape[1] - 1)
    return jnp.exp(-0.5 * square / width**2) / (math.sqrt(2.0 * math.pi) * width) ** points.shape[1]


def _between(
    kernel: Kernel, algorithm: str, width: Array, points: Array, reach: int, values: Mapping[str, Array]
) -> Array:
    """K [n, n] from the first to the second strength; its diagonals [2 reach + 1, n] for a band, by where they end."""
    n = points.shape[0]
    start, end = jnp.arange(n)[:, None], jnp.arange(n)[None]
    inside: Any = True
    if algorithm == "band":
        start = end + jnp.arange(-reach, reach + 1)[:, None]
        inside, start = (start >= 0) & (start < n), jnp.clip(start, 0, n - 1)
    if isinstance(kernel.shape, Frozen):
        found = jnp.asarray(kernel.shape, points.dtype)[start, end]
    else:
        width_too = (width,) if has_width(kernel) else ()
        found = kernel.shape(points[start], points[end], *width_too, **values)
    shape = jnp.broadcast_shapes(start.shape, end.shape)
    return jnp.where(inside, jnp.broadcast_to(_not_negative(found, points), shape), 0.0)


def density(kernel: Kernel, distance: Array, width: Array, values: Mapping[str, Array]) -> Array:
    """The density of a component of the distance."""
    if is_own(kernel):
        return _not_negative(kernel.shape(distance / width, **values), distance) / width
    if kernel.shape == "gaussian":
        return jnp.exp(-0.5 * (distance / width) ** 2) / (math.sqrt(2.0 * math.pi) * width)
    return jnp.exp(-jnp.abs(distance) / width) / (2.0 * width)


def _not_negative(found: Any, like: Array) -> Array:
    """What a function gives, also as True and False; below zero, which values that are traced may give, is zero."""
    return jnp.maximum(jnp.asarray(found).astype(like.dtype), 0.0)


def _lattice_mass(kernel: Kernel, step: float, width: Array, n: int, values: Mapping[str, Array]) -> Array:
    """The sum of the density over the endless grid; of a function of one's own over its differences."""
    if is_own(kernel):
        return jnp.sum(density(kernel, step * differences(n), width, values))
    if kernel.shape == "laplace":
        return 0.5 / (jnp.tanh(0.5 * step / width) * width)
    # Above two steps the sum is the integral, to e^-79; below, 18 steps reach 9 widths.
    narrow = jnp.minimum(width, 2.0 * step)
    return jnp.where(width > narrow, 1.0 / step, jnp.sum(density(kernel, step * jnp.arange(-18.0, 19.0), narrow, {})))


def _plus(terms: list[Array]) -> Array:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _row(x: Array, like: Array) -> Array:
    return x.reshape((1,) * (like.ndim - 1) + x.shape)
