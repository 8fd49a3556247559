"""The settings, the constants and the state of BlatMMR."""

import math
from bisect import bisect_left, bisect_right
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import HUGE_COUNT, check_count, check_that, is_number, to_floats
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.hashable_values import HashableArray, hashable_array
from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.core.rules import Params
from jaxrate.systems.blat_mmr import kernels, opponent_sum_algorithms
from jaxrate.systems.blat_mmr.kernels import Kernel, PreparedKernelComponent
from jaxrate.systems.blat_mmr.luck import POINTS_PER_NATURAL_UNIT, Luck
from jaxrate.systems.blat_mmr.opponent_sum_algorithms import Grid, NodeLayout, grid_step


class AlgorithmPreferences(NamedTuple):
    """The preferences where several algorithms are exact."""

    sums: tuple[str, ...]  # over the opponent's strengths, the fastest first
    band_taps: int  # to either side of a kernel up to which a band is fastest
    wide_kernel: str  # of a kernel of the distance beyond them: "fft", or "naive", a product with its whole matrix


PREFERENCES = {  # by kind of device: measured by `experiments/speed.py` and `experiments/gpu_record.py`
    "cpu": AlgorithmPreferences(("low_rank", "fft", "naive"), 100, "fft"),
    "gpu": AlgorithmPreferences(("low_rank", "fft", "naive"), 50, "naive"),  # no CUDA graph has a Fourier transform
}


def device_preferences() -> AlgorithmPreferences:
    """The preferences among algorithms on the device in use: those of a CPU, or of a GPU."""
    return PREFERENCES["gpu" if has_launch_overhead() else "cpu"]


BAND_WIDTHS = {"float32": 5.3, "float64": 8.3}  # widths that a band of taps covers: all but 1e-7, 1e-16 of a Gaussian
BYTES_PER_POINT = 100.0  # bytes that a point of the grid takes at the peak of making a system or of a match
COLUMNS_PER_TAP = 5  # columns of a product of matrices that cost as much as a tap that differs by strength
BETA_STEPS = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, *(1.0 - 0.1**k for k in range(3, 15)), 1.0)
# Of the factory's temperature: nodes grow as its inverse, and there are 8 times as many at most.
MIN_TEMPERATURE_RATIO = 1.0 / 16.0
RELATIVE_TOLERANCE = 1e-6  # by which values may differ and still count as those of the factory


class Model(NamedTuple):
    """The static choices. The algorithms are those for the hyperparameters given to the factory."""

    luck: Luck
    grid: Grid | None  # None: the support is in the state
    kernel: Kernel
    draws: str
    algorithm: str  # these as given to the factory
    beta: float
    temperature: float
    kernel_width: float
    kernel_values: tuple[float, ...]  # of the hyperparameters of its function
    summing: str = ""  # algorithm of the sums
    spreading: str = ""  # algorithm of the kernel


def make_grid(size: float, half_width: float | None, luck: Luck, kernel: Kernel, params: Any) -> Grid:
    """A checked grid; `params` are the floats given to the factory."""
    half_width = 7.0 * natural_unit(luck) if half_width is None else half_width
    is_whole_float = isinstance(size, float | np.floating) and size.is_integer()
    size = check_count("blat_mmr: size", int(size) if is_whole_float else size, 2, HUGE_COUNT)
    is_positive = is_number(half_width) and 0 < half_width < math.inf
    check_that(is_positive, f"blat_mmr: half_width must be above 0, got {half_width!r}")
    check_memory_fits(f"blat_mmr: a grid of {size:g} points", BYTES_PER_POINT * size)
    grid = Grid(size, float(half_width))
    in_space = f"blat_mmr: strengths of {luck.name} lie in R^{luck.dimension}; give their support"
    check_that(luck.dimension == 1, in_space)
    if params.kernel_width < min_kernel_width(grid, kernel):
        width = params.kernel_width * max(kernel.widths)
        needed = math.ceil(4.0 * grid.half_width / width) + 1
        raise ValueError(
            f"blat_mmr: the grid is too coarse for the kernel: its width is {width:g}, less than two steps of "
            f"{grid.step:g}; take size={needed} or more, a narrower grid (half_width) or a wider kernel"
        )
    return grid


def natural_unit(luck: Luck) -> float:
    """A natural unit of strength in the unit of the luck function's strengths, which may be rating points."""
    return POINTS_PER_NATURAL_UNIT / luck.unit


def default_deviations(luck: Luck, kernel: Kernel) -> tuple[float, float]:
    """The deviation of a newcomer's belief and the width of the kernel, where none are given."""
    weekly = 7.0**-0.5 if kernel.clock == "time" else 1.0
    return 0.7 * natural_unit(luck), 0.03 * natural_unit(luck) * weekly


def min_kernel_width(grid: Grid, kernel: Kernel) -> float:
    """The least kernel_width that the grid resolves: its widest part has two steps; 0 where much is left below."""
    is_bounded = kernel.clock == "match" and not kernels.has_custom_shape(kernel)
    return 2.0 * grid.step / max(kernel.widths) if is_bounded else 0.0


def mean_strengths_of_support_points(support: Any, inner_distributions: Any) -> Any:
    """The strengths [..., n] or [..., n, d] that kernels and priors see: those of distributions are their means."""
    if inner_distributions is None:
        return support
    if support.ndim == inner_distributions.ndim:
        return (inner_distributions * support).sum(axis=-1)
    return (inner_distributions[..., None] * support).sum(axis=-2)


def check_support(support: Any, luck: Luck, has_inner: bool) -> HostArray | None:
    """Checked support [n], [n, d] or of distributions [n, k] in float64; None stands for a grid."""
    if support is None:
        check_that(not has_inner, "blat_mmr: inner distributions need their strengths: give support too")
        return None
    points = to_floats("blat_mmr: support", support)
    last = (luck.dimension,) if luck.dimension > 1 else ()
    axes = 1 + has_inner + len(last)
    fits = points.ndim == axes and points.size and points.shape[axes - len(last) :] == last
    text = f" with a last axis of {luck.dimension}" * len(last)
    check_that(fits, f"blat_mmr: support must have {axes} axes{text}, got shape {points.shape}")
    increase = axes > 1 or (np.diff(points) > 0).all()
    check_that(np.isfinite(points).all() and increase, "blat_mmr: support must be finite, and numbers must increase")
    return points


def check_inner_distributions(inner: Any, points: HostArray) -> HostArray:
    """Checked probabilities [n, k] of a support [n, k] in float64."""
    chance = np.asarray(inner, np.float64)
    fits = chance.shape == points.shape[:2] and (chance >= 0).all() and (abs(chance.sum(axis=1) - 1.0) <= 1e-6).all()
    check_that(fits, f"blat_mmr: inner must be [n, k] like support, {points.shape[:2]}, and its rows sum to 1")
    return chance


NEEDS = {  # of algorithms that are named
    "laplace": 'a laplace luck function, draws="outside", and kernel="laplace" or "none"',
    "low_rank": "a grid and a smooth luck function, not too sharp for it",
    "fft": "a grid, a luck function of the difference of strengths, and a kernel of the distance",
}


def resolve_algorithms(model: Model, has_inner: bool) -> Model:
    """The model with algorithms in place of "auto"; ValueError where the algorithm asked for does not fit."""
    kernel, summing = model.kernel, model.algorithm
    are_numbers = model.luck.dimension == 1 or kernel.shape != "laplace"
    check_that(are_numbers, "blat_mmr: a laplace kernel needs strengths that are numbers")
    if summing == "auto":
        summing = next(x for x in ("laplace", *device_preferences().sums) if _can_compute_sums(model, x, has_inner))
    else:
        suits = {"laplace": kernel.shape in ("laplace", "none"), "fft": kernels.depends_on_distance(kernel)}
        fits = suits.get(summing, True) and _can_compute_sums(model, summing, has_inner)
        check_that(fits, f"blat_mmr: the algorithm {summing} needs {NEEDS.get(summing)}")
    return model._replace(summing=summing, spreading=_choose_kernel_algorithm(model, has_inner))


def _can_compute_sums(model: Model, algorithm: str, has_inner: bool) -> bool:
    """Whether an algorithm holds the sums over the opponent's strengths, with far chances too if it was not named."""
    luck, grid, is_named = model.luck, model.grid, model.algorithm != "auto"
    if algorithm == "laplace" and grid is not None and not is_named:
        return False  # it is slower than others
    if algorithm == "laplace":
        return bool(luck.laplace) and luck.black is None and model.draws == "outside" and not has_inner
    if algorithm == "naive" or grid is None:
        return algorithm == "naive"
    return luck.difference if algorithm == "fft" else _do_nodes_hold_luck(luck, grid, model, is_named)


def _do_nodes_hold_luck(luck: Luck, grid: Grid, model: Model, is_named: bool) -> bool:
    """Whether few enough nodes hold the luck function, with far chances if the algorithm was not named."""
    given = luck, grid, (model.beta,), model.temperature, "float32" if is_named else "float64"
    layout = opponent_sum_algorithms.min_interpolation_nodes(*given, far=not is_named)
    return layout is not None and (is_named or luck.smooth)


def _choose_kernel_algorithm(model: Model, has_inner: bool) -> str:
    """The algorithm of the kernel, which follows that of the sums that was named, not the one that is chosen."""
    kernel = model.kernel
    if model.algorithm in ("naive", "fft"):
        return model.algorithm
    if kernel.shape == "laplace" and not has_inner:
        return "laplace"
    if model.grid is None and not isinstance(kernel.shape, HashableArray):
        return "naive"
    if is_player_and_time_independent_kernel(kernel):
        if _is_band_fastest(model):
            return "band"
        if not kernels.depends_on_distance(kernel) and low_rank_kernel_factors(model) is not None:
            return "low_rank"
    return _reach_independent_algorithm(kernel)


def _is_band_fastest(model: Model) -> bool:
    """Whether a band is faster than what else holds the kernel on a grid."""
    if model.grid is None:
        return False
    most = device_preferences().band_taps
    if not kernels.depends_on_distance(model.kernel):
        most = min(most // 2, (model.grid.size // COLUMNS_PER_TAP - 1) // 2)
    return band_reach(model, model.kernel_width) <= most


def low_rank_kernel_factors(model: Model) -> tuple[Any, Any] | None:
    """The factors of a kernel between strengths, if it is of low rank with the values given to the factory."""
    kernel = model.kernel
    points = np.arange(kernel.shape.shape[0]) if model.grid is None else model.grid.points
    given = hashable_array(points), grid_step(model.grid), model.kernel_width, model.kernel_values
    return kernels.low_rank_factors(kernel, *given, jnp.result_type(float).name)


def is_player_and_time_independent_kernel(kernel: Kernel) -> bool:
    """Whether it is the same for all players at all times."""
    return kernel.clock == "match" and not kernel.own


def _reach_independent_algorithm(kernel: Kernel) -> str:
    """The algorithm that holds on a grid however far a kernel reaches."""
    if not kernels.depends_on_distance(kernel):
        return "naive"
    return device_preferences().wide_kernel if is_player_and_time_independent_kernel(kernel) else "fft"


def band_reach(model: Model, width: float) -> int:
    """Grid steps from the centre to the last tap of a band, for a `kernel_width`."""
    assert model.grid is not None
    precision = jnp.result_type(float).name
    if kernels.has_custom_shape(model.kernel):
        points = hashable_array(model.grid.points)
        return kernels.kernel_reach(model.kernel, points, model.grid.step, width, model.kernel_values, precision)
    return math.ceil(BAND_WIDTHS[precision] * width * max(model.kernel.widths) / model.grid.step)


@jax.tree_util.register_static
class SizedAlgorithms(NamedTuple):
    """The algorithms in use and their sizes, which hold for some hyperparameters."""

    summing: str
    spreading: str
    reach: int  # grid steps from the centre to the last tap of a "band"
    nodes: NodeLayout | None  # of "low_rank"


def resolve_algorithm_sizes(model: Model, params: Any) -> SizedAlgorithms:
    """The form for hyperparameters: numbers, arrays, or traced (of any value); of few sizes, so that few compile."""
    summing, nodes = model.summing, None
    if summing == "low_rank":
        nodes = _interpolation_nodes_for(model, params)
        if nodes is None:
            summing = "fft" if model.luck.difference else "naive"
    if summing == "fft" and model.algorithm != "fft":  # which loses chances that are too small for it
        assert model.grid is not None
        beta = _value_bounds_or_range_if_traced(params.beta, (model.beta, model.beta))[1]
        temperature = _value_bounds_or_range_if_traced(params.temperature, (model.temperature, model.temperature))[0]
        given = model.luck, model.grid, beta, temperature, jnp.result_type(float).name
        summing = "naive" if opponent_sum_algorithms.does_rounding_lose_small_chances(*given) else "fft"
    return SizedAlgorithms(summing, *_resolve_kernel_algorithm(model, params), nodes)


def _resolve_kernel_algorithm(model: Model, params: Any) -> tuple[str, int]:
    """The algorithm of the kernel that holds for hyperparameters, and the reach of a band."""
    algorithm = model.spreading
    reach = _band_reach_for(model, params) if algorithm == "band" else 0
    if algorithm == "low_rank" and not (
        _kernel_params_equal_factory_arguments(model, params) and low_rank_kernel_factors(model) is not None
    ):
        reach = None
    if reach is None:
        return _reach_independent_algorithm(model.kernel), 0
    return algorithm, reach


def _interpolation_nodes_for(model: Model, params: Any) -> NodeLayout | None:
    """The nodes that hold the luck function; None if as many as there may be do not."""
    precision = jnp.result_type(float).name
    if _node_layout(model, (model.beta,), model.temperature) is None and model.algorithm == "low_rank":
        raise ValueError(
            f"blat_mmr: {opponent_sum_algorithms.NODE_COUNTS[-1]} nodes do not hold the luck function "
            f"{model.luck.name} to "
            f"{opponent_sum_algorithms.INTERPOLATION_TOLERANCE[precision]:g}: use another algorithm than low_rank"
        )
    least, most = _value_bounds_or_range_if_traced(params.beta, (0.0, 1.0))
    lowest = _value_bounds_or_range_if_traced(params.temperature, (0.0, math.inf))[0]
    if not lowest > model.temperature * MIN_TEMPERATURE_RATIO:
        return None
    halvings = max(math.ceil(2.0 * math.log2(model.temperature / lowest) - RELATIVE_TOLERANCE), 0)
    betas: tuple[float, ...] = (model.beta,)
    if max(abs(least - model.beta), abs(most - model.beta)) > RELATIVE_TOLERANCE:
        first = max(bisect_right(BETA_STEPS, least) - 1, 0)
        last = min(bisect_left(BETA_STEPS, most), len(BETA_STEPS) - 1)
        betas += BETA_STEPS[first : last + 1]
    return _node_layout(model, betas, model.temperature * 2.0 ** (-0.5 * halvings))


def _node_layout(model: Model, betas: tuple[float, ...], temperature: float) -> NodeLayout | None:
    """The fewest nodes that hold the luck function with these shares of luck, also without far chances if named."""
    assert model.grid is not None
    given = model.luck, model.grid, betas, temperature, jnp.result_type(float).name
    layout = opponent_sum_algorithms.min_interpolation_nodes(*given)
    if layout is None and model.algorithm == "low_rank":
        layout = opponent_sum_algorithms.min_interpolation_nodes(*given, far=False)
    return layout


def _band_reach_for(model: Model, params: Any) -> int | None:
    """The reach of a band that holds the widest kernel, one of few, so that a fit compiles little; None if too wide."""
    if kernels.has_custom_shape(model.kernel):
        return band_reach(model, model.kernel_width) if _kernel_params_equal_factory_arguments(model, params) else None
    widest = _value_bounds_or_range_if_traced(params.kernel_width, (0.0, math.inf))[1]
    reach = band_reach(model, model.kernel_width)
    if not np.ndim(params.kernel_width) and widest <= model.kernel_width * (1.0 + RELATIVE_TOLERANCE):
        return reach
    most = max(device_preferences().band_taps, reach)
    if not widest < math.inf or band_reach(model, widest) > most:
        return None
    needed, reach = band_reach(model, widest), math.ceil(1.25 * reach)
    while reach < needed:
        reach *= 2
    return min(reach, most)


def kernel_shape_argument_values(kernel: Kernel, params: Any) -> tuple[Any, ...]:
    """The values of the hyperparameters that a kernel's function takes."""
    return tuple(kernels.shape_function_arguments(kernel).select_params(params).values())


def _kernel_params_equal_factory_arguments(model: Model, params: Any) -> bool:
    """Whether a function of one's own has the width and the values that the factory was given."""
    given = [(params.kernel_width, model.kernel_width)] if kernels.has_width(model.kernel) else []
    given += zip(kernel_shape_argument_values(model.kernel, params), model.kernel_values, strict=True)
    ends = [(*_value_bounds_or_range_if_traced(now, (-math.inf, math.inf)), made) for now, made in given]
    return all(max(abs(x - made) for x in (low, high)) <= RELATIVE_TOLERANCE * abs(made) for low, high, made in ends)


def _value_bounds_or_range_if_traced(value: Any, allowed_range: tuple[float, float]) -> tuple[float, float]:
    """The least and the greatest of numbers; those of all that are allowed, where numbers are traced."""
    if isinstance(value, jax.core.Tracer):
        return allowed_range
    numbers = np.asarray(value, np.float64)
    return float(numbers.min()), float(numbers.max())


class Constants(NamedTuple):
    params: Params
    form: SizedAlgorithms
    table: Any  # of the luck function, for matches without sides, by algorithm
    parts: list[PreparedKernelComponent] | None  # of the kernel; None if it differs by player or time


class State(NamedTuple):
    belief: Array  # [num_players, n] probability of each point of the support
    time: Array | None = None  # [num_players] up to which the kernel was applied; inf before the first match
    width: Array | None = None  # [num_players] factor of the kernel's width
    support: Array | None = None  # [num_players, n], [num_players, n, d]; None: the grid. Mixtures: [num_players, n, k]
    inner: Array | None = None  # [num_players, n, k] Example 2.15: the distributions that the belief is over
