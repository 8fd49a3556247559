"""Algorithms: what a result says about either player's strength, averaged over the opponent's (equations (1), (7)).

Each gives for two beliefs p (first player) and q (second), and a function W of their strengths,

    sum_j W(x_i, y_j) q_j   for every x_i,        sum_i W(x_i, y_j) p_i   for every y_j.

naive     every product (section 4.1): any support, any luck function
fft       a convolution (section 4.2): a grid, luck functions of the difference
laplace   two walks over the support (section 4.3): mixtures of Laplace distributions, draws "outside"
low_rank  a grid, smooth luck functions: W between a few dozen nodes, and interpolation to and from them
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.array_types import Array, HostArray
from jaxrate.numerics.fourier_convolution import (
    convolve_with_spectrum,
    grid_differences_in_fft_order,
    padded_spectrum_of_differences,
)
from jaxrate.systems.blat_mmr import laplace_distribution_sums
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


def floor_at_rounding(sums: Array) -> Array:
    """Sums of chances below their rounding (1e-6, 2e-15) count as that: a belief keeps its prior, and is not noise."""
    return jnp.maximum(sums, 8.0 * float(np.finfo(sums.dtype).eps))


def log_chances(chances: tuple[Array, Array]) -> tuple[Array, Array]:
    """Their logarithms; a chance below the least normal number counts as that, so that nothing is infinite."""
    win, loss = (jnp.log(jnp.maximum(x, np.finfo(x.dtype).tiny)) for x in chances)
    return win, loss


def win_chance(log_win: Array, log_loss: Array) -> Array:
    del log_loss
    return jnp.exp(log_win)


def loss_chance(log_win: Array, log_loss: Array) -> Array:
    del log_win
    return jnp.exp(log_loss)


# --- naive ---


def naive_opponent_sums(chances: tuple[Array, Array], belief: Array, likelihood: ResultLikelihood) -> Array:
    """[2, n] from the chances [n, n] of the first (rows) and of the second player (columns)."""
    w = likelihood(*log_chances(chances))
    return jnp.stack([jnp.sum(w * belief[1][None], axis=1), jnp.sum(w * belief[0][:, None], axis=0)])


# --- FFT ---


def fft_opponent_sums(log_chance_table: tuple[Array, Array], belief: Array, likelihood: ResultLikelihood) -> Array:
    """From the logarithms [2 n - 1] of the chances by difference of strengths.

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
    return floor_at_rounding(jnp.stack([ones, twos]))


# --- Laplace ---


def laplace_win_loss_sums(
    components: tuple[tuple[float, float], ...], support: Array, belief: Array, lead: Array, temperature: Array
) -> tuple[Array, Array]:
    """The sums [2, n] of F(x - y) and of F(y - x), where the first player leads by `lead`; supports [2, n] sorted."""
    x = jnp.stack([support[0] + lead, support[1]]) / temperature
    wins = loses = jnp.zeros_like(belief)
    for weight, width in components:
        up, down = laplace_distribution_sums.laplace_cdf_sums(x[1], belief[1], x[0], width)
        other_up, other_down = laplace_distribution_sums.laplace_cdf_sums(x[0], belief[0], x[1], width)
        wins = wins + weight * jnp.stack([up, other_down])
        loses = loses + weight * jnp.stack([down, other_up])
    return wins, loses


# --- Low rank ---

NODE_MAP_BEND = 1.05  # of the map below; between 1.0 and 1.1 the logistic function needs the fewest nodes
NODE_COUNTS = range(16, 132, 4)
INTERPOLATION_TOLERANCE = {"float32": 1e-7, "float64": 1e-13}  # of a chance


@lru_cache
def barycentric_nodes_and_weights(grid: Grid, count: int) -> tuple[HostArray, HostArray]:
    """Nodes [count] and weights [n, count]: a smooth f on the grid is weights @ f(nodes).

    Barycentric interpolation in u = sin(a x / M) / sin(a) at Chebyshev points u: the map (Kosloff and Tal-Ezer 1993)
    spreads the nodes more evenly than Chebyshev's, which saves a quarter of them for functions like the logistic, whose
    poles lie at one distance all along the axis.
    """
    angle = (2.0 * np.arange(count) + 1.0) * np.pi / (2.0 * count)
    nodes = grid.half_width / NODE_MAP_BEND * np.arcsin(np.sin(NODE_MAP_BEND) * np.cos(angle))
    gap = (np.sin(NODE_MAP_BEND * grid.points / grid.half_width) / np.sin(NODE_MAP_BEND))[:, None] - np.cos(angle)
    hit = np.abs(gap) < 1e-14
    weights = (-1.0) ** np.arange(count) * np.sin(angle) / np.where(hit, 1.0, gap)
    weights = np.where(hit.any(axis=1, keepdims=True), hit, weights)
    return nodes, weights / weights.sum(axis=1, keepdims=True)


@lru_cache
def min_interpolation_nodes(
    luck: Luck, grid: Grid, betas: tuple[float, ...], temperature: float, precision: str
) -> int | None:
    """The fewest nodes that hold L, L' and sqrt(L L') within the tolerance; None if more than there are in `NODES`.

    With each of these shares of luck and without any: sqrt(L L') may be harder to hold with some.
    """
    every = slice(None, None, -(-grid.size // NODE_COUNTS[-1]))

    def evaluate_functions(points: HostArray) -> list[HostArray]:
        padded = np.resize(points, NODE_COUNTS[-1])  # one shape: one compilation
        one, two = jnp.asarray(padded[:, None] / temperature), jnp.asarray(padded[None] / temperature)
        first, second = np.asarray(luck.chance(one, two)), np.asarray((luck.black or luck.chance)(two, one))
        lucky = [[(1.0 - b) / 2.0 + b * f for f in (first, second)] for b in (1.0, *betas)]
        functions = [first, second, *(np.sqrt(f * g) for f, g in lucky)]
        return [f[: len(points), : len(points)] for f in functions]

    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        exact = evaluate_functions(grid.points[every])
        for count in NODE_COUNTS:
            nodes, weights = barycentric_nodes_and_weights(grid, count)
            node_weights = weights[every]
            if all(
                np.abs(f - node_weights @ g @ node_weights.T).max() <= INTERPOLATION_TOLERANCE[precision]
                for f, g in zip(exact, evaluate_functions(nodes), strict=True)
            ):
                return count
    return None


def low_rank_opponent_sums(
    weights: Array, log_chance_table: tuple[Array, Array], belief: Array, likelihood: ResultLikelihood
) -> Array:
    """From the logarithms [r, r] of the chances between nodes, interpolated to and from them."""
    w = likelihood(*log_chance_table)
    at = jnp.matmul(belief, weights, precision=EXACT)
    sums = jnp.stack([jnp.matmul(w, at[1], precision=EXACT), jnp.matmul(at[0], w, precision=EXACT)])
    return floor_at_rounding(jnp.matmul(sums, weights.T, precision=EXACT))


def make_result_likelihood(score: Array, weight: Array | None) -> ResultLikelihood:
    """(L^theta L'^(1 - theta))^weight, the weighted ones up to a factor that keeps them within the precision."""

    def power(log_win: Array, log_loss: Array) -> Array:
        exponent = score * log_win + (1.0 - score) * log_loss
        if weight is None:
            return jnp.exp(exponent)
        return jnp.exp(weight * (exponent - lax.stop_gradient(jnp.max(exponent))))

    return power
