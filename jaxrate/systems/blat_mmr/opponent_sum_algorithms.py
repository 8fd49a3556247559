"""Algorithms: what a result says about either player's strength, averaged over the opponent's (equations (1), (7)).

Each gives for two beliefs p (first player) and q (second), and a function W of their strengths,

    sum_j W(x_i, y_j) q_j   for every x_i,        sum_i W(x_i, y_j) p_i   for every y_j.

naive     every product (section 4.1): any support, any luck function
fft       a convolution (section 4.2): a grid, luck functions of the difference
laplace   two walks over the support (section 4.3): mixtures of Laplace distributions, draws "outside"
low_rank  a grid, smooth luck functions: W between a few dozen nodes, and interpolation to and from them

After a far upset only the least chances count. "fft" knows sums to the rounding of the greatest chance, so that it does
where the least one is not far below. "low_rank" cuts the grid into panels within which chances are of one size.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array, HostArray
from jaxrate.numerics.fourier_convolution import (
    convolve_with_spectrum,
    grid_differences_in_fft_order,
    padded_spectrum_of_differences,
)
from jaxrate.systems.blat_mmr import kernels
from jaxrate.systems.blat_mmr.luck import Luck

ResultLikelihood = Callable[[Array, Array], Array]  # (log win, log loss) -> W
EXACT = lax.Precision.HIGHEST


class Grid(NamedTuple):
    """A uniform grid of `size` points from -half_width to half_width, equation (5)."""

    size: int
    half_width: float

    @property
    def step(self) -> float:
        return 2.0 * self.half_width / (self.size - 1)

    @property
    def points(self) -> HostArray:
        """[size] in float64."""
        return np.linspace(-self.half_width, self.half_width, self.size)


def grid_step(grid: Grid | None) -> float | None:
    """The step of a grid; None without one."""
    return None if grid is None else grid.step


def rounding_of_sums(sums: Array) -> float:
    """The rounding of sums of chances (1e-6, 2e-15). Sums below it count as that, so that beliefs hold no noise."""
    return 8.0 * float(np.finfo(sums.dtype).eps)


def log_chances(chances: tuple[Array, Array]) -> tuple[Array, Array]:
    """Their logarithms; a chance below the least normal number counts as that, so that nothing is infinite."""
    win, loss = (jnp.log(jnp.maximum(x, np.finfo(x.dtype).tiny)) for x in chances)
    return win, loss


def win_chance(log_win: Array, _log_loss: Array) -> Array:
    return jnp.exp(log_win)


def loss_chance(_log_win: Array, log_loss: Array) -> Array:
    return jnp.exp(log_loss)


# --- naive ---


def naive_opponent_sums(w: Array, belief: Array) -> Array:
    """[2, n] from W [n, n] of the strengths of the first (rows) and of the second player (columns)."""
    return jnp.stack([jnp.sum(w * belief[1][None], axis=1), jnp.sum(w * belief[0][:, None], axis=0)])


def matrix_from_differences(values: Array) -> Array:
    """[n, n] of two strengths of a grid, from the values [2 n - 1] by their difference."""
    i = jnp.arange((len(values) + 1) // 2, dtype=jnp.int32)
    return values[(i[:, None] - i[None]) % jnp.int32(len(values))]


# --- FFT ---


def fft_opponent_sums(log_chance_table: tuple[Array, Array], belief: Array, likelihood: ResultLikelihood) -> Array:
    """The opponents' sums from the logarithms [2 n - 1] of the chances by difference of strengths.

    W is a step, summed by Algorithm 4.3, and a rest R that vanishes at both ends, summed by Fourier transforms.
    """
    w = likelihood(*log_chance_table)
    n = belief.shape[-1]
    low, high = w[n], w[n - 1]
    height = high - low
    rest = padded_spectrum_of_differences(
        w - low - height * jnp.heaviside(grid_differences_in_fft_order(n), jnp.asarray(0.5, w.dtype))
    )
    below = jnp.cumsum(belief, axis=-1) - 0.5 * belief
    mass = jnp.sum(belief, axis=-1, keepdims=True)
    ones = low * mass[1] + height * below[1] + convolve_with_spectrum(rest, belief[1])
    twos = low * mass[0] + height * (mass[0] - below[0]) + convolve_with_spectrum(jnp.conj(rest), belief[0])
    return jnp.maximum(jnp.stack([ones, twos]), rounding_of_sums(ones))


# --- Laplace ---


def laplace_win_loss_sums(
    components: tuple[tuple[float, float], ...], support: Array, belief: Array, lead: Array, temperature: Array
) -> tuple[Array, Array]:
    """The sums [2, n] of F(x - y) and of F(y - x), where the first player leads by `lead`; supports [2, n] sorted."""
    x = jnp.stack([support[0] + lead, support[1]]) / temperature
    wins = loses = jnp.zeros_like(belief)
    for weight, width in components:
        up, down = kernels.laplace_cdf_sums(x[1], belief[1], x[0], width)
        other_up, other_down = kernels.laplace_cdf_sums(x[0], belief[0], x[1], width)
        wins = wins + weight * jnp.stack([up, other_down])
        loses = loses + weight * jnp.stack([down, other_up])
    return wins, loses


# --- Low rank ---

NODE_MAP_BEND = 1.05  # of the map below; between 1.0 and 1.1 the logistic function needs the fewest nodes
NODE_COUNTS = range(16, 132, 4)
PANEL_COUNTS, PANEL_NODE_COUNTS = (1, 2, 4, 8, 16, 32), range(6, 34, 2)
MAX_NODES = 256  # of all panels together; from there on every product takes hardly longer
INTERPOLATION_TOLERANCE = {"float32": 1e-7, "float64": 1e-13}  # of a chance
MAX_CHANCE_RATIO = {"float32": 100.0, "float64": 1000.0}  # up to which the least chance is known to 1e-5 (1e-12) of it
LEAST_CHANCE = {"float32": 1e-36, "float64": 1e-300}  # chances below it are as likely


class NodeLayout(NamedTuple):
    """How many nodes there are for the interpolation: in how many panels of the grid, alike, and in each of them."""

    panels: int
    per_panel: int


@lru_cache
def barycentric_nodes_and_weights(grid: Grid, layout: NodeLayout) -> tuple[HostArray, HostArray, HostArray]:
    """Nodes [r], weights [n, r] and each strength's panel [n]: a smooth f on the grid is weights @ f(nodes).

    Barycentric interpolation in u = sin(a x / M) / sin(a) at Chebyshev points u of a panel from -M to M: the map
    (Kosloff and Tal-Ezer 1993) spreads the nodes more evenly than Chebyshev's, which saves a quarter of them for
    functions like the logistic, whose poles lie at one distance all along the axis.
    """
    panels, count = layout
    bend = NODE_MAP_BEND / panels
    angle = (2.0 * np.arange(count) + 1.0) * np.pi / (2.0 * count)
    half_width = grid.half_width / panels
    centre = half_width * (2.0 * np.arange(panels) + 1.0) - grid.half_width
    nodes = centre[:, None] + half_width / bend * np.arcsin(np.sin(bend) * np.cos(angle))
    panel = np.minimum((np.arange(grid.size) * panels) // (grid.size - 1), panels - 1)
    place = bend * (grid.points - centre[panel]) / half_width
    gap = (np.sin(place) / np.sin(bend))[:, None] - np.cos(angle)
    hit = np.abs(gap) < 1e-14
    weights = (-1.0) ** np.arange(count) * np.sin(angle) / np.where(hit, 1.0, gap)
    weights = np.where(hit.any(axis=1, keepdims=True), hit, weights)
    weights = weights / weights.sum(axis=1, keepdims=True)
    own = panel[:, None] == np.arange(panels)
    return nodes.ravel(), (own[..., None] * weights[:, None]).reshape(grid.size, -1), panel


def chances_with_luck(luck: Luck, x: HostArray, y: HostArray, beta: float) -> list[HostArray]:
    """L(x, y) and L(y, x) of strengths over the temperature, in float64."""
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        one, two = jnp.asarray(x), jnp.asarray(y)
        both = luck.chance(one, two), (luck.black or luck.chance)(two, one)
        return [(1.0 - beta) / 2.0 + beta * np.asarray(f) for f in both]


@lru_cache
def does_rounding_lose_small_chances(luck: Luck, grid: Grid, beta: float, temperature: float, precision: str) -> bool:
    """Whether the rounding of sums of chances swallows the least ones of a luck function of the difference."""
    difference = 2.0 * np.linspace(-grid.half_width, grid.half_width, 255) / temperature
    chances = chances_with_luck(luck, difference, np.zeros_like(difference), beta)
    return bool(np.min(chances) * MAX_CHANCE_RATIO[precision] < np.max(chances))


@lru_cache
def min_interpolation_nodes(
    luck: Luck, grid: Grid, betas: tuple[float, ...], temperature: float, precision: str, far: bool = True
) -> NodeLayout | None:
    """The fewest nodes that hold L, L' and sqrt(L L') within the tolerance; None if more than `NODE_COUNTS` has."""
    every, least = slice(None, None, -(-grid.size // NODE_COUNTS[-1])), LEAST_CHANCE[precision]
    exact = _functions_of_chances(luck, grid.points[every], betas, temperature)
    tolerance = np.full_like(exact, INTERPOLATION_TOLERANCE[precision])
    if far:
        tolerance[3:] *= np.minimum(1.0, 10.0 * np.maximum(exact[3:], least))
    for panels in PANEL_COUNTS if far else PANEL_COUNTS[:1]:
        for count in NODE_COUNTS if panels == 1 else PANEL_NODE_COUNTS:
            if panels * count > MAX_NODES:
                break
            layout = NodeLayout(panels, count)
            nodes, weights, _ = barycentric_nodes_and_weights(grid, layout)
            values, node_weights = _functions_of_chances(luck, nodes, betas, temperature), weights[every]
            if far and not _are_of_one_size(values[3:], layout, precision):
                break
            if (np.abs(exact - node_weights @ values @ node_weights.T) <= tolerance).all():
                return layout
        else:
            if panels == 1:  # a luck function too sharp for it, rather than one with far chances
                return None
    return None


def _functions_of_chances(luck: Luck, points: HostArray, betas: tuple[float, ...], temperature: float) -> HostArray:
    """[functions, points, points] L, L' and sqrt(L L') without luck, and with each of these shares of it."""
    size = len(points)
    padded = np.resize(points, NODE_COUNTS[-1] if size <= NODE_COUNTS[-1] else MAX_NODES) / temperature  # few shapes
    without = [f[:size, :size] for f in chances_with_luck(luck, padded[:, None], padded[None], 1.0)]
    lucky = [[(1.0 - b) / 2.0 + b * f for f in without] for b in (1.0, *betas)]
    return np.stack([function for f, g in lucky for function in (f, g, np.sqrt(f * g))])


def _are_of_one_size(values: HostArray, layout: NodeLayout, precision: str) -> bool:
    """Whether chances are of one size in each pair of panels."""
    blocks = np.reshape(values, (-1, layout.panels, layout.per_panel, layout.panels, layout.per_panel))
    most, least = blocks.max(axis=(2, 4)), np.maximum(blocks.min(axis=(2, 4)), LEAST_CHANCE[precision])
    return bool((most <= MAX_CHANCE_RATIO[precision] * least).all())


def low_rank_opponent_sums(
    weights: Array, panel: HostArray, log_chance_table: tuple[Array, Array], belief: Array, likelihood: ResultLikelihood
) -> Array:
    """The opponents' sums from the logarithms [r, r] of the chances between nodes, interpolated to and from them."""
    w = likelihood(*log_chance_table)
    at = jnp.matmul(belief, weights, precision=EXACT)
    sums = jnp.stack([jnp.matmul(w, at[1], precision=EXACT), jnp.matmul(at[0], w, precision=EXACT)])
    greatest = jnp.max(sums.reshape(2, panel[-1] + 1, -1), axis=-1)[:, panel]
    return jnp.maximum(jnp.matmul(sums, weights.T, precision=EXACT), rounding_of_sums(sums) * greatest)


def make_result_likelihood(score: Array, weight: Array | None) -> ResultLikelihood:
    """(L^theta L'^(1 - theta))^weight, the weighted ones up to a factor that keeps them within the precision."""

    def power(log_win: Array, log_loss: Array) -> Array:
        exponent = score * log_win + (1.0 - score) * log_loss
        if weight is None:
            return jnp.exp(exponent)
        return jnp.exp(weight * (exponent - lax.stop_gradient(jnp.max(exponent))))

    return power
