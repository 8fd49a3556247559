"""Luck functions: how likely strength x beats strength y (Model 2.1, Examples 2.4 to 2.10)."""

import inspect
import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr

from jaxrate.core.argument_checks import Numbers, check_that, enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import HashableArray, bind, hashable_array
from jaxrate.core.text_format import did_you_mean_or_list

POINTS_PER_NATURAL_UNIT = 400.0 / math.log(10.0)  # rating points per natural unit of strength, (3)
SUM_TOLERANCE = 1e-6  # by which chances may miss what they should be


class Luck(NamedTuple):
    """A luck function. `chance(x, y)` broadcasts; for strengths in R^d the last axis of x and y is theirs.

    Of a game with zero_sum=False each player's score has an expectation of its own. `jr.predict` gives that of player 0
    on the side they play, and that of player 1 is the prediction for the match with players, score and side swapped,
    which is not 1 minus it. Updates and `make_evidence_predicting_system` weigh a score theta by
    L(x, y)^theta L(y, x)^(1 - theta), each player's own. What takes 1 - p for the other player's chance does not fit
    such a game: the log loss, and so `jr.fit` by it, and brackets. `jr.history.blat_mmr_beliefs.outcome_probabilities`
    refuses it.
    """

    name: str
    chance: Callable[[Array, Array], Array]
    black: Callable[[Array, Array], Array] | None = None  # of two-sided games: `chance` is White's then, this Black's
    difference: bool = True  # depends on x - y alone
    smooth: bool = False  # analytic: interpolation from a few dozen points is exact to rounding
    unit: float = POINTS_PER_NATURAL_UNIT  # rating points per unit of strength
    laplace: tuple[tuple[float, float], ...] = ()  # weights and widths, if a mixture of F(x - y | width), section 4.3
    dimension: int = 1  # of a strength
    zero_sum: bool = True  # the scores of the two are 1 together, which is checked; else they need not be, section 2.1

    def __repr__(self) -> str:
        return self.name

    def first(self, x: Array, y: Array, side: Array | float) -> Array:
        """How likely x beats y: with White's pieces (side 1), with Black's (-1), or with either as often (0)."""
        if self.black is None:
            return self.chance(x, y)
        return (1.0 + side) / 2.0 * self.chance(x, y) + (1.0 - side) / 2.0 * self.black(x, y)


def _logistic(x: Array, y: Array) -> Array:
    return jax.nn.sigmoid(x - y)


def _logistic_400(x: Array, y: Array) -> Array:
    return jax.nn.sigmoid((x - y) / POINTS_PER_NATURAL_UNIT)


def _ratio_win_probability(x: Array, y: Array) -> Array:
    return x / (x + y)


def _probit(scale: float, x: Array, y: Array) -> Array:
    return ndtr((x - y) / scale)


def _step_with_margin(margin: float, x: Array, y: Array) -> Array:
    """At a margin of 0 Heaviside's function."""
    above, below = (_is_above(*pair, margin).astype(x.dtype) for pair in ((x, y), (y, x)))
    return 0.5 * (above + 1.0 - below)


def _is_above(x: Array, y: Array, margin: float = 0.0) -> Array:
    """Whether x - y is above a margin by more than the strengths' rounding: those of a grid may lie exactly at it."""
    largest = jnp.max(jnp.abs(x)) + jnp.max(jnp.abs(y)) + margin  # a side advantage may have left 1e-16 in place of 0
    return x - y > margin + 8.0 * float(np.finfo(x.dtype).eps) * largest


def _clipped_logistic(x: Array, y: Array) -> Array:
    return _logistic_400(jnp.clip(x - y, -400.0, 400.0), jnp.zeros_like(y))


def _coin_flip_probability(x: Array, y: Array) -> Array:
    return jnp.full_like(x - y, 0.5)


def _laplace_mixture(components: tuple[tuple[float, float], ...], x: Array, y: Array) -> Array:
    return sum((p * _laplace_cdf((x - y) / a) for p, a in components), jnp.zeros_like(x - y))


def _win_chance_by_two_of_three_strengths(x: Array, y: Array) -> Array:
    ahead, behind = (jnp.sum(_is_above(*pair), axis=-1) for pair in ((x, y), (y, x)))
    return jnp.where(ahead >= 2, 1.0, jnp.where(behind >= 2, 0.0, 0.5)).astype(x.dtype)


def _tabulated_win_probability(midpoints: HashableArray, chances: HashableArray, x: Array, y: Array) -> Array:
    i, j = (jnp.searchsorted(jnp.asarray(midpoints, x.dtype), z) for z in (x, y))
    return jnp.asarray(chances, x.dtype)[i, j]


def _laplace_cdf(d: Array) -> Array:
    tail = 0.5 * jnp.exp(-jnp.abs(d))
    return jnp.where(d < 0, tail, 1.0 - tail)


def bradley_terry() -> Luck:
    """Example 2.5: 1 / (1 + e^(y - x))."""
    return Luck("bradley_terry", _logistic, smooth=True)


def bradley_terry_400() -> Luck:
    """Examples 2.5 and 2.13: 1 / (1 + 10^((y - x) / 400)), strengths in rating points."""
    return Luck("bradley_terry_400", _logistic_400, smooth=True, unit=1.0)


def ratio() -> Luck:
    """Example 2.5: x / (x + y), for supports above 0."""
    return Luck("ratio", _ratio_win_probability, difference=False)


@enforce_argument_annotations
def thurstone_mosteller(scale: float = 1.0) -> Luck:
    """Example 2.6: Phi((x - y) / scale). Normal performances of variance 1 have scale sqrt 2."""
    return Luck(_name_with_number("thurstone_mosteller", scale), bind(_probit, float(scale)), smooth=True)


@enforce_argument_annotations
def trueskill(margin: float = 1.0) -> Luck:
    """Example 2.7: 1 above the margin, 0 below minus the margin, one half between, ends included."""
    return Luck(_name_with_number("trueskill", margin), bind(_step_with_margin, float(margin)))


def fide() -> Luck:
    """Example 2.8: `bradley_terry_400` of a difference cut at 400."""
    return Luck("fide", _clipped_logistic, unit=1.0)


def heaviside() -> Luck:
    """Example 2.6, Definition 2.2: the stronger wins.

    sqrt(L L') of a draw is one half between equals and 0 elsewhere: draws need luck (beta below 1) and a fine grid.
    """
    return Luck("heaviside", bind(_step_with_margin, 0.0))


def coin() -> Luck:
    """Example 2.4: one half, whoever plays."""
    return Luck("coin", _coin_flip_probability)


@enforce_argument_annotations
def laplace(width: float = 1.0) -> Luck:
    """Section 4.3: the distribution function F(x - y | width) of a Laplace distribution."""
    return mixture([(1.0, width)])._replace(name=_name_with_number("laplace", width))


@enforce_argument_annotations
def mixture(components: Sequence[tuple[float, float]]) -> Luck:
    """Section 4.3: sum p_j F(x - y | a_j), for (weight, width) pairs (p_j, a_j).

    Raises:
      ValueError: if a width is not above 0, or the weights do not sum to 1.
    """
    parts = tuple((float(p), float(a)) for p, a in components)
    are_pairs = parts and all(p >= 0 < a for p, a in parts)
    check_that(are_pairs, f"components are pairs of a weight from 0 and a width above 0, got {components!r}")
    total = sum(p for p, _ in parts)
    check_that(abs(total - 1.0) <= 1e-9, f"the weights must sum to 1, got {total}")

    return Luck("a mixture", bind(_laplace_mixture, parts), laplace=parts)


def two_of_three() -> Luck:
    """Example 2.10: strengths in R^3; the player ahead in two of them wins."""
    return Luck("two_of_three", _win_chance_by_two_of_three_strengths, difference=False, dimension=3)


@enforce_argument_annotations
def matrix(strengths: Numbers, chances: Numbers) -> Luck:
    """How likely strengths [n] beat each other, as a matrix [n, n]; for systems whose `support` these strengths are.

    Raises:
      ValueError: if the shapes do not fit, or the strengths do not increase.
    """
    points, table = np.asarray(strengths, np.float64), np.asarray(chances, np.float64)
    is_table = points.ndim == 1 and table.shape == 2 * points.shape and (np.diff(points) > 0).all()
    check_that(is_table, f"strengths [n] must increase, chances be [n, n]; got {points.shape} and {table.shape}")
    between = (points[1:] + points[:-1]) / 2.0

    chance = bind(_tabulated_win_probability, hashable_array(between), hashable_array(table))
    return Luck("a matrix", chance, difference=False)


LUCK: dict[str, Callable[..., Luck]] = {
    f.__name__: f
    for f in (
        bradley_terry,
        bradley_terry_400,
        ratio,
        thurstone_mosteller,
        trueskill,
        fide,
        heaviside,
        coin,
        laplace,
        two_of_three,
    )
}


def _name_with_number(name: str, number: float) -> str:
    check_that(0 < number < math.inf, f"{name} takes a number above 0, got {number!r}")
    return f"{name}({number:g})"


@enforce_argument_annotations
def parse(luck: str | Luck) -> Luck:
    """A luck function, or that of a name, or of a name and a number: "fide", "trueskill(0.1)"."""
    if isinstance(luck, Luck):
        return luck
    parsed = re.fullmatch(r"(\w+)(?:\(([^()]*)\))?", luck.strip())
    name = parsed[1] if parsed else luck
    if name not in LUCK:
        raise ValueError(f"unknown luck function {luck!r}{did_you_mean_or_list(name, LUCK)}")
    if not parsed or parsed[2] is None:
        return LUCK[name]()
    check_that(inspect.signature(LUCK[name]).parameters, f"luck function {luck!r}: {name} takes no number")
    try:
        number = float(parsed[2])
    except ValueError:
        raise ValueError(f"luck function {luck!r}: {parsed[2]!r} is no number") from None
    return LUCK[name](number)


MAX_FINE_POINTS, MAX_COARSE_POINTS = 1001, 101  # points, at most, that are looked at


@partial(jax.jit, static_argnums=0)
def _white_and_black_win_chances(luck: Luck, x: Array, y: Array) -> tuple[Array, Array]:
    """L(x, y), White's, and L(y, x), Black's, in one program."""
    return luck.chance(x, y), (luck.black or luck.chance)(y, x)


@lru_cache
def check_luck(luck: Luck, points: HashableArray) -> None:
    """ValueError unless a luck function is what it says of itself at these points [n], or [n, d].

    Chances lie in [0, 1]. Those of the two players, White's and Black's in a game of sides, are 1 together, unless
    `zero_sum` is switched off. They depend on the difference alone, or are a mixture, if they say so.
    """
    every = np.asarray(points)
    counts = MAX_FINE_POINTS, MAX_COARSE_POINTS
    some, few = (every[np.unique(np.linspace(0, len(every) - 1, n).astype(int))] for n in counts)
    others = some[[0, len(some) // 2, -1]] if luck.difference else some  # of which every difference is one
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        x, y = jnp.asarray(some[:, None], float), jnp.asarray(others[None], float)
        one, other = map(np.asarray, _white_and_black_win_chances(luck, x, y))
        if one.shape != (len(some), len(others)):
            raise ValueError(f"luck function {luck.name}: chance(x, y) must broadcast, got shape {one.shape}")
        for values in (one, other):
            bad = ~((values >= 0.0) & (values <= 1.0))
            if bad.any():
                i, j = np.argwhere(bad)[0]
                value = f"L({some[i]}, {others[j]}) is {values[i, j]}"
                raise ValueError(f"luck function {luck.name}: {value}, not in [0, 1]")
        depends_on_difference, is_mixture = True, True
        if luck.dimension == 1:
            given = jnp.asarray(few[:, None], float), jnp.asarray(few[None], float)
            depends_on_difference, is_mixture = _keeps_declared_properties(luck, *given)
    off = np.abs(one + other - 1.0)
    i, j = np.unravel_index(np.argmax(off), off.shape)
    rule, hint = "L(x, y) must be 1 - L(y, x)", "for a game with sides give Black's too (black=...)"
    if luck.black is not None:
        rule, hint = "White's L(x, y) and Black's L(y, x) must be 1 together", "if not, give it zero_sum=False"
    for is_met, need in (
        (depends_on_difference, "L(x, y) is not L(x - y, 0), the difference alone: give it difference=False"),
        (is_mixture, f"it is not the mixture that laplace={luck.laplace} names"),
        (
            not luck.zero_sum or off[i, j] <= SUM_TOLERANCE,
            f"{rule}; furthest off are L({some[i]}, {others[j]}) = {one[i, j]:.6g} and "
            f"L({others[j]}, {some[i]}) = {other[i, j]:.6g}; {hint}",
        ),
    ):
        if not is_met:
            raise ValueError(f"luck function {luck.name}: {need}")


@partial(jax.jit, static_argnums=0)
def _keeps_declared_properties(luck: Luck, x: Array, y: Array) -> tuple[Array, Array]:
    """Whether chances are functions of the difference, and the mixture, where they say so."""
    zero, least = jnp.zeros_like(y), 1e-9 * jnp.max(jnp.abs(x))
    depends_on_difference = is_mixture = jnp.ones((), bool)
    for chance in (luck.chance, luck.black):
        if luck.difference and chance is not None:
            value, shifts = chance(x, y), (-least, jnp.zeros_like(least), least)
            near = jnp.stack([chance(x - y + shift, zero) for shift in shifts])
            inside = (value >= jnp.min(near, axis=0) - SUM_TOLERANCE) & (value <= jnp.max(near, axis=0) + SUM_TOLERANCE)
            depends_on_difference &= jnp.all(inside)
    if luck.laplace:
        off = jnp.abs(luck.chance(x, y) - _laplace_mixture(luck.laplace, x, y))
        is_mixture = jnp.all(off <= SUM_TOLERANCE)
    return depends_on_difference, is_mixture
