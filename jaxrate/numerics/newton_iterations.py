"""Roots and maxima by Newton's method, with implicit derivatives."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.numerics import selective_evaluation
from jaxrate.numerics.linear_algebra import solve_definite_systems

MAX_ITERATIONS = 200  # iterations of a search


class TiledRootInputs(NamedTuple):
    """How to calculate a function of many numbers for some at a time: `function(x, *columns, *shared(x))`."""

    asked: Array | None = None  # how many numbers are asked for, the first ones; the others keep their guess
    columns: tuple[Any, ...] = ()  # [n, ...] what differs from number to number
    shared: Callable[[Array], tuple[Any, ...]] | None = None  # columns [n, ...] that depend on all numbers

    def inputs(self, x: Array) -> tuple[Any, ...]:
        """All columns."""
        return self.columns if self.shared is None else (*self.columns, *self.shared(x))

    def zero_elsewhere(self, x: Array) -> Array:
        """0 where no number is asked for."""
        return x if self.asked is None else jnp.where(jnp.arange(len(x), dtype=jnp.int32) < self.asked, x, 0.0)


def decreasing_root(
    function: Callable[..., tuple[Array, Array]],
    guess: Array,
    lower: Array,
    upper: Array,
    unit: float | Array = 1.0,
    num_steps: int | None = None,
    tiles: TiledRootInputs | None = None,
) -> Array:
    """The root of a function that is positive below its root and negative above, elementwise, to machine precision.

    Newton steps from `guess`, kept inside the shrinking bracket by bisection; stops when every element has converged.
    The derivative with respect to whatever `function` closes over is the implicit one, -f'/slope, so no derivative
    goes through the iterations (forward and reverse mode, any batching).

    Args:
      function: x -> f(x) and f'(x), each the same shape as `guess`; the slope is not differentiated.
      guess: where the search begins, between `lower` and `upper`.
      lower: the lower end of the bracket, of the shape of `guess`; no root is below it.
      upper: the upper end of the bracket, of the shape of `guess`; no root is above it.
      unit: the error is about the rounding of the larger of |root| and this; a number, or of the shape of `guess`. The
        slope must be smooth on this scale: a Newton step h is taken to leave about h^2 / unit.
      num_steps: a number of steps that always suffices, if one is known. Off the CPU the steps are then unrolled into
        one kernel, where a loop takes several kernels a step.
      tiles: how to calculate the function [n] for some of its entries at a time; it then takes further columns.
    """
    tiles = TiledRootInputs() if tiles is None else tiles
    eps = float(np.finfo(guess.dtype).eps)
    rounding = 4.0 * eps
    tolerance = 6e-4 * eps  # of the error of a Newton step: far below rounding
    low, high = lax.stop_gradient((lower, upper))  # which may be infinite

    def solve(_: Callable[[Array], Array], x0: Array) -> Array:
        def step(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            return selective_evaluation.replace_row_tiles(move, tiles.asked, carry, units, *tiles.inputs(carry[0]))

        def move(carry: tuple[Array, ...], unit: Array, *columns: Any) -> tuple[Array, ...]:
            x, low, high, last = carry
            value, slope = function(x, *columns)
            low, high = jnp.where(value > 0, x, low), jnp.where(value > 0, high, x)
            newton = x - value / slope
            scale = jnp.maximum(jnp.abs(x), unit)
            length = jnp.abs(newton - x)
            # After a step h of Newton's, about h^2 / unit is left.
            is_last = (length * length <= (tolerance * scale) * unit) | (length <= eps * scale)
            # Steps that do not halve may swing around the root for ever; tiny ones are rounding.
            trusted = (newton >= low) & (newton <= high) & ((length <= 0.5 * last) | is_last)
            new = jnp.where(trusted, newton, 0.5 * (low + high))
            size = jnp.abs(new - x)
            change = jnp.where(jnp.where(trusted, is_last, size <= rounding * scale), 0.0, size)  # 0: converged
            return new, low, high, change

        carry: tuple[Array, ...] = (x0, low, high, tiles.zero_elsewhere(2.0 * (high - low)))
        units = jnp.broadcast_to(jnp.asarray(unit, x0.dtype), x0.shape)
        if has_launch_overhead():  # no kernels that count steps; brackets shrink, so the loop ends
            if num_steps is not None:
                for _turn in range(num_steps):
                    carry = step(carry)
                return carry[0]

            def step_and_test(carry: tuple[Array, ...]) -> tuple[Array, ...]:
                result = step(carry[:4])
                return *result, jnp.any(result[3] > 0).astype(jnp.int32)

            # The condition launches a kernel: see `replace_if`.
            return lax.while_loop(lambda c: c[4] > 0, step_and_test, (*carry, jnp.int32(1)))[0]
        return lax.while_loop(
            lambda c: jnp.any(c[3] > 0) & (c[4] < MAX_ITERATIONS), lambda c: (*step(c[:4]), c[4] + 1), (*carry, 0)
        )[0]

    def solve_tangent(linear: Callable[[Array], Array], y: Array) -> Array:
        gain = linear(jnp.ones_like(y))
        return y / jnp.where(gain == 0, 1.0, gain)  # a flat spot can only be padding

    def value(x: Array) -> Array:
        found: Array = selective_evaluation.map_row_tiles(function, tiles.asked, x, *tiles.inputs(x))[0]
        return found

    return lax.custom_root(value, lax.stop_gradient(guess), solve, solve_tangent)


def concave_function_argmax(
    function: Callable[[Array], tuple[Array, Array]], guess: Array, is_done: Array, unit: float = 1.0
) -> Array:
    """The maxima of concave functions of a few variables, one function per row, to machine precision.

    Newton steps from `guess`, none more than twice as long as the last one, or 4 units, and halved as long as a
    function falls too steeply at their end: the slope along the step is computed from the gradient. The
    derivative with respect to whatever `function` closes over is the implicit one, as in `decreasing_root`.

    Args:
      function: x [n, k] -> the gradients [n, k], and the steps [n, k] of Newton's method from there; the steps are not
        differentiated. A row's function must not depend on other rows of x.
      guess: [n, k].
      is_done: [n] rows in which nothing is computed.
      unit: as in `decreasing_root`.
    """
    eps, smallest = (float(getattr(np.finfo(guess.dtype), name)) for name in ("eps", "tiny"))
    tolerance = 0.005 * (4.0 * eps) ** 0.5  # the Newton step after one this small is below rounding

    def solve(_: Callable[[Array], Array], x0: Array) -> Array:
        def step(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            x, direction, rise, share, left = carry
            active = left > 0
            trial = x + share[:, None] * direction
            gradient, newton = function(trial)
            length = share * jnp.max(jnp.abs(direction), axis=1)
            small = length <= tolerance * jnp.maximum(jnp.max(jnp.abs(trial), axis=1), unit)
            accepted = active & (small | (jnp.sum(gradient * direction, axis=1) >= -0.5 * rise))
            upward = jnp.sum(gradient * newton, axis=1) > 0  # unless rounding took that away
            newton = jnp.where(upward[:, None], newton, gradient)
            longest = jnp.maximum(2.0 * length, 4.0 * unit)  # where nothing is curved steps would be endless
            newton = newton * jnp.minimum(1.0, longest / jnp.maximum(jnp.max(jnp.abs(newton), axis=1), unit))[:, None]
            x, direction = jnp.where(accepted[:, None], trial, x), jnp.where(accepted[:, None], newton, direction)
            rise = jnp.where(accepted, jnp.sum(gradient * newton, axis=1), rise)
            is_active = active & ~(accepted & small & (left < MAX_ITERATIONS))
            return x, direction, rise, jnp.where(accepted, 1.0, 0.5 * share), jnp.where(is_active, left - 1, 0)

        zero = jnp.zeros_like(x0[:, 0])
        left = jnp.where(is_done, 0, jnp.int32(MAX_ITERATIONS))
        start = x0, jnp.zeros_like(x0), zero, zero, left  # the first step does not move, and computes the next
        return lax.while_loop(lambda c: jnp.any(c[4] > 0), step, start)[0]

    def solve_tangent(linear: Callable[[Array], Array], y: Array) -> Array:
        one = jnp.eye(y.shape[1], dtype=y.dtype)
        hessian = jnp.moveaxis(jax.vmap(linear)(jnp.broadcast_to(one[:, None], (len(one), *y.shape))), 0, -1)
        ridge = eps * jnp.max(jnp.abs(hessian), axis=(1, 2), keepdims=True) + smallest  # flat spots have no inverse
        return solve_definite_systems(hessian - lax.stop_gradient(ridge) * one[None], y)

    return lax.custom_root(lambda x: function(x)[0], lax.stop_gradient(guess), solve, solve_tangent)


CENTER_STEPS = 12


def center_log_odds(log_odds: Any, weight: Any, total: Callable[[Any], Any], array_functions: Any) -> Any:
    """The log-odds [P] of shares, moved by one number for each contest so that the weighted mean share is 1/2.

    Args:
      log_odds: [P] of the participants.
      weight: [P] of the participants; those without weight do not count.
      total: takes [P] to the sums over the contest of each participant.
      array_functions: `numpy` or `jax.numpy`.
    """
    xp, move = array_functions, 0.0 * log_odds
    high = xp.max(abs(log_odds), initial=0.0) + move
    low, tiny = -high, np.finfo(log_odds.dtype).tiny
    for _ in range(CENTER_STEPS):  # of Newton, or to the middle where one leaves what the root is known to lie in
        share = 1.0 / (1.0 + xp.exp(-(log_odds + move)))
        excess, slope = total(weight * (share - 0.5)), total(weight * share * (1.0 - share))
        low, high = xp.where(excess < 0.0, move, low), xp.where(excess < 0.0, high, move)
        step = move - excess / xp.maximum(slope, tiny)
        move = xp.where((low <= step) & (step <= high), step, 0.5 * (low + high))
    return log_odds + move
