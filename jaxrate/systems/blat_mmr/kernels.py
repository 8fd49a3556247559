"""Kernels, by which strengths drift on the grid: components, matrices of one's own, sums of Laplace distributions.

Sums over Laplace distributions in linear time, on any sorted support (section 4.3).

Algorithms 4.5 and 4.6 walk over the points of both players, to the right and back. Here the walks are associative
scans over the points that carry mass, and Observation 4.4 takes their sums to any other point.
"""

import inspect
import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, lru_cache, reduce
from numbers import Real
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.argument_checks import check_argument, check_choice, check_that
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.hashable_values import BoundFunction, HashableArray, display_name, hashable_array
from jaxrate.core.hyperparameter_definitions import ANY, POSITIVE, UNIT_INTERVAL, Parameter
from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.numerics.fourier_convolution import (
    convolve_with_spectrum,
    grid_differences_in_fft_order,
    padded_spectrum_of_differences,
)
from jaxrate.numerics.linear_algebra import linear_recurrence

ANNOTATED_SPACES = {"real": ANY, "positive": POSITIVE, "unit": UNIT_INTERVAL}


class FunctionArguments(NamedTuple):
    """The arguments of a function: the number without default, and those with a number, the hyperparameters."""

    num_required: int
    params: Mapping[str, tuple[float, Parameter]]  # by name, the number and what it means

    def select_params(self, params: Any) -> dict[str, Any]:
        """Those of its hyperparameters among others, by name."""
        return {name: getattr(params, name) for name in self.params}


VARIADIC = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
NO_ARGUMENTS = FunctionArguments(0, {})


@cache
def inspect_arguments(function: Callable[..., Any]) -> FunctionArguments:
    """The arguments of a function, with the hyperparameters among them.

    An argument with a number for its default is a hyperparameter: any number, or what its annotation says, such as
    `Annotated[float, "positive"]`.

    Raises:
      ValueError: if that cannot be told, or is none of "real", "positive" and "unit".
    """
    bare: Any = function
    num_bound = 0
    while isinstance(bare, BoundFunction):
        bare, num_bound = bare.function, num_bound + len(bare.bound_args)
    try:
        every = [x for x in inspect.signature(bare).parameters.values() if x.kind not in VARIADIC]
        hints = get_type_hints(bare, include_extras=True)
    except (TypeError, ValueError, NameError) as error:
        raise ValueError(f"the arguments of {display_name(function)} cannot be told: {error}") from None
    params = dict[str, tuple[float, Parameter]]()
    for x in every[num_bound:]:
        if isinstance(x.default, Real) and not isinstance(x.default, bool):
            space = get_args(hints[x.name])[1] if get_origin(hints.get(x.name)) is Annotated else "real"
            if space not in ANNOTATED_SPACES:
                known = ", ".join(ANNOTATED_SPACES)
                raise ValueError(f"{display_name(function)}: {x.name} is one of {known}, not {space!r}")
            about = Parameter(ANNOTATED_SPACES[space], "number", f"{x.name} of {display_name(function)}")
            params[x.name] = float(x.default), about
    return FunctionArguments(sum(x.default is x.empty for x in every[num_bound:]), params)


def function_params(
    functions: Iterable[FunctionArguments], overrides: Mapping[str, Any], reserved_names: Collection[str]
) -> dict[str, tuple[Any, Parameter]]:
    """The hyperparameters of functions by name: the value of each, and what it means.

    `overrides` holds other values than the defaults. Functions may share a name, whose default is then
    that of the first.

    Raises:
      ValueError: if a function has a name that the system knows.
    """
    extra: dict[str, tuple[Any, Parameter]] = {}
    for function in functions:
        for name, (value, about) in function.params.items():
            if name in reserved_names:
                raise ValueError(f"blat_mmr: {about.meaning} has the name of something else; rename it")
            extra.setdefault(name, (overrides.get(name, value), about))
    return extra


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

        def steadier(x, y, *, low: Annotated[float, "positive"] = 0.1, slope: float = -0.2):
            return jnp.exp(-0.5 * ((y - x) / (low * jnp.exp(slope * x))) ** 2)

        system = jr.blat_mmr(kernel=jr.extend.kernels.Kernel(steadier))
        system.params.slope  # -0.2
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


IDENTITY = Kernel("none", clock="never", edges="global")  # it spreads nothing (Example 2.17)
KERNELS = {
    "gaussian": Kernel(edges="global"),
    "laplace": Kernel("laplace", edges="global"),
    "gaussian_by_time": Kernel(clock="time", edges="global"),
    "laplace_by_time": Kernel("laplace", clock="time", edges="global"),
    "none": IDENTITY,
}
KERNEL_CHOICES = {"clock": Literal["match", "time"], "edges": Literal["global", "source"] | None}


def parse(kernel: Kernel | str | None) -> Kernel:
    """A checked kernel; None is the identity."""
    kernel = "none" if kernel is None else kernel
    if isinstance(kernel, str):
        check_choice("blat_mmr: kernel", kernel, KERNELS)
        return KERNELS[kernel]
    if type(kernel) is tuple and len(kernel) == len(Kernel._fields):  # as a saved run holds it
        kernel = Kernel(*kernel)
    if not isinstance(kernel, Kernel):
        raise ValueError(f"a kernel is a name or a jr.extend.kernels.Kernel, got {kernel!r}")
    return _check_kernel(kernel)


def _check_kernel(kernel: Kernel) -> Kernel:
    """A checked kernel with its edges, if it is of the distance; one of one's own as a plain value."""
    shape = {} if has_custom_shape(kernel) else {"shape": Literal["gaussian", "laplace"]}
    for field, allowed in (shape | KERNEL_CHOICES).items():
        check_argument("Kernel", field, allowed, getattr(kernel, field))
    weights, widths = kernel.weights, kernel.widths
    are_shares = min(weights, default=-1.0) >= 0 and abs(sum(weights) - 1.0) <= 1e-9
    expected = f"a kernel has as many weights as widths, and they sum to 1; got {weights} and {widths}"
    check_that(len(weights) == len(widths) and are_shares, expected)
    check_that(all(0 < width < math.inf for width in widths), f"the widths of a kernel are above 0, got {widths}")
    if has_custom_shape(kernel):
        return _check_and_normalise_custom_kernel(kernel)
    return kernel._replace(edges=kernel.edges or "global")


def _check_and_normalise_custom_kernel(kernel: Kernel) -> Kernel:
    """A kernel of one's own as a plain value; with its edges, if it is of the distance."""
    if not callable(kernel.shape):
        try:
            table = np.asarray(kernel.shape, np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"a kernel's shape is a name, a function or a matrix, got {kernel.shape!r}") from None
        is_square = table.ndim == 2 and table.size > 0 and table.shape[0] == table.shape[1]
        check_that(is_square, f"a kernel's matrix is [n, n], got shape {table.shape}")
        kernel = kernel._replace(shape=hashable_array(table))
    elif not 1 <= shape_function_arguments(kernel).num_required <= 3:
        raise ValueError(
            f"kernel {display_name(kernel.shape)}: it takes a distance, two strengths, or these and a width, each "
            f"without a default; this one takes {shape_function_arguments(kernel).num_required}"
        )
    plain = (kernel.weights, kernel.widths, kernel.clock, kernel.own) == ((1.0,), (1.0,), "match", False)
    if not (plain or has_width(kernel)):
        raise ValueError(
            f"kernel {display_name(kernel.shape)}: it has no width that a mixture, a clock or a player could change; "
            "take a function of the distance, or f(x, y, width)"
        )
    return kernel._replace(edges="global") if kernel.edges is None and depends_on_distance(kernel) else kernel


def has_custom_shape(kernel: Kernel) -> bool:
    """Whether its shape has no name."""
    return not isinstance(kernel.shape, str)


def shape_function_arguments(kernel: Kernel) -> FunctionArguments:
    """The arguments of the kernel's function; none for other shapes."""
    return inspect_arguments(kernel.shape) if callable(kernel.shape) else NO_ARGUMENTS


def depends_on_distance(kernel: Kernel) -> bool:
    """Whether the kernel is a function of the distance of two strengths alone."""
    return not has_custom_shape(kernel) or shape_function_arguments(kernel).num_required == 1


def has_width(kernel: Kernel) -> bool:
    """Whether the kernel has a width, which may be fitted."""
    return not has_custom_shape(kernel) or shape_function_arguments(kernel).num_required in (1, 3)


RANK_TOLERANCE = {"float32": 1e-8, "float64": 4e-15}  # of the greatest singular value, below which others are left out
MAX_SVD_SIZE = 2048  # strengths beyond which singular values take too long
TAIL_TOLERANCE = {"float32": 1e-8, "float64": 1e-17}  # of the greatest share of a row, below which a band has none
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
            if lattice:
                where = f"at a distance of {_lattice_differences(len(x), step)[at[0]] / (width * relative):g} widths"
            else:
                where = f"from strength {x[at[0]]} to {x[at[1]]} (row {at[0]}, column {at[1]})"
            raise ValueError(f"blat_mmr: kernel {name} is {component[tuple(at)]} {where}")
        if lattice and not component.sum() > 0.0:
            raise ValueError(f"blat_mmr: kernel {name} has no mass at any distance on the grid")
        total = total + weight * component / (component.sum() if lattice else (width * relative) ** (x[0].size))
    mass = total.sum(axis=-1)
    if lattice:  # [n] what stays on the grid of the mass of each point
        below, first = np.concatenate([[0.0], np.cumsum(total)]), np.arange(len(x))[::-1]
        mass = below[first + len(x)] - below[first]
    (empty,) = np.nonzero(~(mass > 0.0))
    if len(empty):
        raise ValueError(
            f"blat_mmr: kernel {name} leaves no mass to strength {x[empty[0]]} (row {empty[0]}): it goes nowhere"
        )
    return np.asarray(total)


def _evaluate_custom_kernel(
    kernel: Kernel, name: str, x: HostArray, lattice: bool, step: float | None, width: float, values: tuple[float, ...]
) -> HostArray:
    """The values of a kernel that is a matrix or a function, on a lattice at all differences."""
    if isinstance(kernel.shape, HashableArray):
        expected = f"blat_mmr: the kernel's matrix must be [{len(x)}, {len(x)}], got {kernel.shape.shape}"
        check_that(kernel.shape.shape[0] == len(x), expected)
        return np.asarray(kernel.shape)
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        hyperparameters: dict[str, Any] = dict(
            zip(shape_function_arguments(kernel).params, (jnp.asarray(v, float) for v in values), strict=True)
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
    """How a kernel is normalised at edges: "global" if it depends on differences alone, else "source".

    (Strengths that are not equally far apart, and functions with hyperparameters, which may change it, have "source".)
    """
    x = np.asarray(points)
    gaps = np.diff(x, axis=0)
    is_uniform = not len(gaps) or np.ptp(gaps) <= RELATIVE_TOLERANCE * np.abs(x).max()
    if shape_function_arguments(kernel).params or x.ndim > 1 or not is_uniform:
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


def exponential_decays(points: Array, width: Array | float) -> tuple[Array, Array]:
    """e^(-gap / width) from the point before and to the point after, [n] each; 0 at the ends."""
    step = jnp.exp(-jnp.diff(points) / width)
    end = jnp.zeros(1, step.dtype)
    return jnp.concatenate([end, step]), jnp.concatenate([step, end])


def exponentially_decayed_sums(
    decay_from_previous: Array, decay_from_next: Array, masses: Array
) -> tuple[Array, Array]:
    """sum p_k e^(-|x_i - x_k| / b) over x_k <= x_i and over x_k >= x_i, [..., n] each, by decays of neighbours."""
    left = linear_recurrence(decay_from_previous, masses)
    right = linear_recurrence(jnp.flip(decay_from_next, -1), jnp.flip(masses, -1))
    return left, jnp.flip(right, -1)


def _masses_and_exponential_tails_at(points: Array, p: Array, y: Array, width: Array | float) -> tuple[Array, ...]:
    """Mass up to y, mass beyond, and both tails at y [m]: of the points [n] up to it and of those beyond."""
    left, right = exponentially_decayed_sums(*exponential_decays(points, width), p)
    place = jnp.searchsorted(points, y, side="right")  # how many points are up to y
    none = jnp.zeros(1, p.dtype)
    mass = jnp.concatenate([none, jnp.cumsum(p)])[place]
    beyond = jnp.concatenate([jnp.flip(jnp.cumsum(jnp.flip(p))), none])[place]
    nearest = jnp.maximum(place - 1, 0), jnp.minimum(place, len(points) - 1)
    from_left = jnp.where(place > 0, left[nearest[0]] * jnp.exp(-jnp.abs(y - points[nearest[0]]) / width), 0.0)
    from_right = right[nearest[1]] * jnp.exp(-jnp.abs(points[nearest[1]] - y) / width)
    return mass, beyond, from_left, jnp.where(place < len(points), from_right, 0.0)


def laplace_cdf_sums(points: Array, p: Array, y: Array, width: Array | float) -> tuple[Array, Array]:
    """T of Algorithm 4.6, sum_k p_k F(y - x_k | width) at every y [m], and the sum of p_k F(x_k - y | width)."""
    mass, beyond, left, right = _masses_and_exponential_tails_at(points, p, y, width)
    return mass - 0.5 * left + 0.5 * right, beyond - 0.5 * right + 0.5 * left


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
      kernel: the kernel.
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


def apply_kernel(kernel: Kernel, algorithm: str, components: list[PreparedKernelComponent], belief: Array) -> Array:
    """A belief [..., n] after the kernel, normalised; its own mass need not be one.

    Of a kernel of one's own, mass that could go nowhere stays where it is.
    """
    is_custom, terms = has_custom_shape(kernel), list[Array]()
    if kernel.edges == "source":
        for x in components:
            kept = jnp.where(x.kept > 0.0, x.kept, 1.0) if is_custom else x.kept
            terms.append(x.weight * apply_component(algorithm, x.table, belief / _align_last_axis(kept, belief)))
            if is_custom:
                terms[-1] += x.weight * jnp.where(_align_last_axis(x.kept, belief) > 0.0, 0.0, belief)
        return reduce(operator.add, terms) / jnp.sum(belief, axis=-1, keepdims=True)
    # The mass that will be left is known before: one pass less than to normalise at the end.
    left = reduce(operator.add, [x.weight * x.kept for x in components])
    mass = jnp.matmul(belief, left[:, None], precision=EXACT)
    after = reduce(operator.add, [x.weight * apply_component(algorithm, x.table, belief) for x in components])
    if is_custom:
        after = jnp.where(mass > 0.0, after, belief)
        mass = jnp.where(mass > 0.0, mass, jnp.sum(belief, axis=-1, keepdims=True))
    return 1.0 / mass * after


def apply_component(algorithm: str, table: Any, belief: Array) -> Array:
    """A component's sum over the support, for beliefs [..., n]."""
    n = belief.shape[-1]
    if algorithm == "low_rank":
        left, right = (jnp.asarray(x, belief.dtype) for x in table)
        return _zero_rounding(jnp.matmul(jnp.matmul(belief, left, precision=EXACT), right, precision=EXACT))
    if algorithm == "band":
        reach = (len(table) - 1) // 2
        padded = jnp.pad(belief, [(0, 0)] * (belief.ndim - 1) + [(reach, reach)])
        # Alike for all strengths, or [n] by theirs.
        taps = [tap if tap.ndim == 0 else _align_last_axis(tap, belief) for tap in table]
        return reduce(operator.add, [tap * lax.slice_in_dim(padded, k, k + n, axis=-1) for k, tap in enumerate(taps)])
    if algorithm == "fft":
        return _zero_rounding(convolve_with_spectrum(_align_last_axis(table, belief), belief))
    if algorithm == "laplace":
        (before, after), height = table
        before, after = (jnp.broadcast_to(_align_last_axis(x, belief), belief.shape) for x in (before, after))
        left, right = exponentially_decayed_sums(before, after, belief)
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
    diagonals = (lax.slice_in_dim(padded[k], 2 * reach - k, 2 * reach - k + n) for k in range(2 * reach + 1))
    return reduce(operator.add, diagonals)


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
        distance = step * jnp.arange(reach, -reach - 1.0, -1.0)  # what comes from above
        taps = component_density(kernel, distance, width, values)
        return taps / jnp.sum(taps)
    if algorithm == "fft":
        assert step is not None
        distance = step * grid_differences_in_fft_order(points.shape[0])
        return padded_spectrum_of_differences(component_density(kernel, distance, width, values) / mass)
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
    """The values of a user's function as numbers, with those below 0, which traced ones may have, as 0."""
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


def _align_last_axis(x: Array, like: Array) -> Array:
    return x.reshape((1,) * (like.ndim - 1) + x.shape)
