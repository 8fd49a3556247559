"""Sums over the standings of a round: of the losses to those before a place, and of the wins over those behind it.

They are of any log-concave density, whose hazard they are given; `performance_inference.py` has the equations.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from jaxrate.numerics import array_sums
from jaxrate.systems.rounds import cdf_sums
from jaxrate.systems.rounds.cdf_sums import DIRECT_LIMIT, Participants
from jaxrate.types import Array

BLOCK_SIZE = 4  # participants whose place in the standings is looked at one by one

Hazard = Callable[[Any, Array], tuple[Array, Array]]  # h and its slope; of side 1 that of the density mirrored
SumsAtPlace = Callable[[Array], Callable[[Array], tuple[Array, Array]]]
RootGuess = Callable[[Array, Array, Array, Array], Array]


def cumulative_sums(
    hazard: Hazard, standings: Participants, table_points: int
) -> tuple[SumsAtPlace, SumsAtPlace, RootGuess | None]:
    """The sums of l over those before a place k [P] in the standings, and of v over the others.

    Each is a function of k, and that of x [P], with values and slopes [P]. Large rounds tabulate them at some
    ratings, with a first guess of the zeros of q.
    """
    num_players = len(standings.centre)
    block = num_players + 1 if num_players <= DIRECT_LIMIT else BLOCK_SIZE
    columns = [jnp.pad(x, (0, block - num_players % block)).reshape(-1, block).T for x in standings[:2]]
    per_point = (table_points - 5) / (standings.high - standings.low)  # three neighbours on each side of every rating
    at = standings.low + jnp.arange(-2.0, table_points - 2.0) / per_point

    def curves(table: Array | None, side: int) -> SumsAtPlace:
        sign, before = 1.0 - 2.0 * side, side == 0

        def at_place(k: Array) -> Callable[[Array], tuple[Array, Array]]:
            whole = k // block
            centre, inverse = (x[:, whole] for x in columns)  # [block, P]
            inside = (jnp.arange(block, dtype=jnp.int32)[:, None] < (k - whole * block)[None, :]) == before
            gain = jnp.where(inside, inverse, 0.0)

            def both(x: Array) -> tuple[Array, Array]:
                h, rise = hazard(side, sign * (x[None, :] - centre) * inverse)
                value, slope = jnp.sum(gain * h, axis=0), sign * jnp.sum(gain * inverse * rise, axis=0)
                if table is not None:
                    place = (x - standings.low) * per_point
                    number = jnp.clip(place.astype(jnp.int32), 0, table_points - 6)
                    u = place - number.astype(x.dtype)
                    more, steepness = cdf_sums.everett_interpolation([table[whole, number + i] for i in range(6)], u)
                    value, slope = value + more, slope + steepness * per_point
                return -sign * value, -sign * slope

            return both

        return at_place

    if block > num_players:
        return curves(None, 0), curves(None, 1), None

    def tabulate(tables: tuple[Array, Array], side: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        """[blocks, points] the sums over each block, one by one: XLA is slower at a sum over one of three axes."""
        number, sign = side
        rows = ((x[:, None], y[:, None]) for x, y in zip(*columns, strict=True))
        return (tables[1], sum(y * hazard(number, sign * (at[None, :] - x) * y)[0] for x, y in rows)), None

    # A loop, for XLA works out what enters a loop once, and otherwise again for every entry.
    none = jnp.zeros((len(columns[0][0]), table_points), at.dtype)
    sides = jnp.arange(2, dtype=jnp.int32), jnp.array([1.0, -1.0], at.dtype)
    losses, wins = lax.scan(tabulate, (none, none), sides)[0]
    losses, wins = array_sums.exclusive_sums(losses), array_sums.exclusive_sums(wins, after=True)

    def guess(begin: Array, end: Array, stiffness: Array, mean: Array) -> Array:
        """Where q, with those tied, changes its sign between the points, were every block spread out evenly."""

        def among(table: Array, k: Array) -> Array:
            whole = k // block
            part = (k - whole * block).astype(at.dtype)[:, None] / block
            return (1.0 - part) * table[whole] + part * table[jnp.minimum(whole + 1, len(table) - 1)]

        q = among(wins_from, end) - among(losses, begin) - stiffness[:, None] * (at[None, :] - mean[:, None])
        cell = jnp.clip(jnp.sum(q > 0, axis=1) - 1, 0, len(at) - 2)
        left, right = (jnp.take_along_axis(q, (cell + i)[:, None], axis=1)[:, 0] for i in (0, 1))
        part = jnp.clip(left / jnp.where(left > right, left - right, 1.0), 0.0, 1.0)
        return at[cell] + part / per_point

    wins_from = jnp.concatenate([wins[:1], wins[:-1]])  # from a block on; of the first nearly
    return curves(losses, 0), curves(wins, 1), guess
