"""Sums over the standings of a round: of the losses to those before a place, and of the wins over those behind it.

They are of any log-concave density, whose hazard they are given; `performance_inference.py` has the equations.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.array_types import Array
from jaxrate.numerics import padding_skipping_row_tiles, sums_and_recurrences
from jaxrate.systems.rounds import cdf_sums
from jaxrate.systems.rounds.cdf_sums import DIRECT_LIMIT, Participants

BLOCK_SIZE = 4  # participants whose place in the standings is looked at one by one

Hazard = Callable[[Any, Array], tuple[Array, Array]]  # h and its slope; of side 1 that of the density mirrored
SumsAtPlace = Callable[[Array], Callable[[Array], tuple[Array, Array]]]
RootGuess = Callable[[Array, Array, Array, Array], Array]


def make_standing_sum_functions(
    hazard: Hazard, participants_by_standing: Participants, table_points: int
) -> tuple[SumsAtPlace, SumsAtPlace, RootGuess | None]:
    """The sums of l over those before a place k [P] in the standings, and of v over the others.

    Each is a function of k, and that of x [P], with values and slopes [P]. Large rounds tabulate them at some
    ratings, with a first guess of the zeros of q.
    """
    num_players = len(participants_by_standing.centre)
    block = num_players + 1 if num_players <= DIRECT_LIMIT else BLOCK_SIZE
    columns = [jnp.pad(x, (0, block - num_players % block)).reshape(-1, block).T for x in participants_by_standing[:2]]
    per_point = (table_points - 5) / (
        participants_by_standing.high - participants_by_standing.low
    )  # three neighbours on each side of every rating
    at = participants_by_standing.low + jnp.arange(-2.0, table_points - 2.0) / per_point

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
                    place = (x - participants_by_standing.low) * per_point
                    number = jnp.clip(place.astype(jnp.int32), 0, table_points - 6)
                    u = place - number.astype(x.dtype)
                    more, steepness = cdf_sums.everett_interpolation([table[whole, number + i] for i in range(6)], u)
                    value, slope = value + more, slope + steepness * per_point
                return -sign * value, -sign * slope

            return both

        return at_place

    if block > num_players:
        return curves(None, 0), curves(None, 1), None

    def tabulate(side: Array, sign: Array, columns: list[Array]) -> Array:
        """[blocks, points] the sums over each block, one by one: XLA is slower at a sum over one of three axes."""
        rows = ((x[:, None], y[:, None]) for x, y in zip(*columns, strict=True))
        return sum((y * hazard(side, sign * (at[None, :] - x) * y)[0] for x, y in rows), start=jnp.zeros((), at.dtype))

    def add_side(tables: tuple[Array, Array], side: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        if tiles is None:
            return (tables[1], tabulate(*side, columns)), None
        return (
            tables[1],
            _exclusive_block_sums_by_tile(partial(tabulate, *side), side[0], columns, tables[0], tiles),
        ), None

    # A loop, for XLA works out what enters a loop once, and otherwise again for every entry.
    tiled = participants_by_standing.present is not None and padding_skipping_row_tiles.has_tiles(num_players)
    tiles = padding_skipping_row_tiles.count_row_tiles(participants_by_standing.present) if tiled else None
    none = jnp.zeros((len(columns[0][0]), table_points), at.dtype)
    sides = jnp.arange(2, dtype=jnp.int32), jnp.array([1.0, -1.0], at.dtype)
    losses, wins = lax.scan(add_side, (none, none), sides)[0]
    if tiles is None:
        losses, wins = (
            sums_and_recurrences.exclusive_prefix_or_suffix_sums(losses),
            sums_and_recurrences.exclusive_prefix_or_suffix_sums(wins, from_end=True),
        )

    def guess(begin: Array, end: Array, stiffness: Array, mean: Array) -> Array:
        """Where q, with those tied, changes its sign between the points, were every block spread out evenly."""

        def among(table: Array, k: Array, shift: int) -> Array:  # from a block on is behind the one before it
            whole = k // block
            part = (k - whole * block).astype(at.dtype)[:, None] / block
            left, right = jnp.maximum(whole - shift, 0), jnp.minimum(whole + 1, len(table) - 1) - shift
            return (1.0 - part) * table[left] + part * table[right]

        q = among(wins, end, 1) - among(losses, begin, 0) - stiffness[:, None] * (at[None, :] - mean[:, None])
        cell = jnp.clip(jnp.sum(q > 0, axis=1) - 1, 0, len(at) - 2)
        left, right = (jnp.take_along_axis(q, (cell + i)[:, None], axis=1)[:, 0] for i in (0, 1))
        part = jnp.clip(left / jnp.where(left > right, left - right, 1.0), 0.0, 1.0)
        return at[cell] + part / per_point

    return curves(losses, 0), curves(wins, 1), guess


def _exclusive_block_sums_by_tile(
    tabulate: Callable[[list[Array]], Array], side: Array, columns: list[Array], zeros: Array, tiles: Array
) -> Array:
    """[blocks, points] the exclusive sums over blocks, before each of side 0 and after each of side 1.

    Args:
      tabulate: the sums over some blocks, of their columns [block, some].
      side: [] 0 or 1.
      columns: [block, blocks] each.
      zeros: [blocks, points] zeros.
      tiles: [] how many tiles of participants there are.
    """
    size = padding_skipping_row_tiles.TILE_ROWS // BLOCK_SIZE
    triangle = jnp.where(side == 0, np.tri(size, size, -1, dtype=bool), np.tri(size, size, -1, dtype=bool).T)

    def add(number: Array, so_far: tuple[Array, Array]) -> tuple[Array, Array]:
        table, total = so_far
        first = jnp.where(side == 0, number, tiles - 1 - number) * size
        values = tabulate([lax.dynamic_slice_in_dim(x, first, size, axis=1) for x in columns])
        inside = jnp.dot(triangle.astype(values.dtype), values, precision=lax.Precision.HIGHEST)
        table = lax.dynamic_update_slice_in_dim(table, total[None] + inside, first, axis=0)
        return table, total + jnp.sum(values, axis=0)

    zeros, total = lax.fori_loop(0, tiles, add, (zeros, jnp.zeros_like(zeros[0])))
    # Behind everybody all are before and nobody is after.
    behind = jnp.where(side == 0, total, 0.0)
    return lax.dynamic_update_slice_in_dim(zeros, behind[None], tiles * size, axis=0)
