"""Sums over the standings of a round: of the losses to those before a place, and of the wins over those behind it.

They are of any log-concave density, given as `NoiseDensityFunctions`; `performance_inference.py` has the equations.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array, HostArray
from jaxrate.numerics import selective_evaluation, special_functions, sums_and_recurrences
from jaxrate.systems.rounds import cdf_sums
from jaxrate.systems.rounds.cdf_sums import DIRECT_LIMIT, Participants

BLOCK_SIZE = 4  # participants whose place in the standings is looked at one by one

Hazard = Callable[[Any, Array], tuple[Array, Array]]  # h and its slope; of side 1 that of the density mirrored
SumsAtPlace = Callable[[Array], Callable[[Array], tuple[Array, Array]]]
RootGuess = Callable[[Array, Array, Array, Array], Array]


class NoiseDensityFunctions(NamedTuple):
    """The functions of the density f of performances, of mean 0 and variance 1."""

    above: Hazard  # f / (1 - F) and its slope; of side 1 those of f mirrored
    hazards: Callable[[Array], tuple[Array, Array]]  # of z: that of side 0 there, and that of side 1 at -z
    draw: Callable[[Array], tuple[Array, Array]] | None  # f'/f and its slope; None: it is -z
    margins: Callable[[Array], tuple[Array, Array]]  # how far below and above everybody a tie outweighs so many


def _normal_hazard(side: Any, y: Array) -> tuple[Array, Array]:
    h, _, rise, *_ = special_functions.normal_tail(y)
    return h, rise


def _normal_bracket_margins(opponents: Array) -> tuple[Array, Array]:
    return (jnp.sqrt(2.0 * jnp.log(4.0 * opponents)),) * 2


NORMAL_NOISE = NoiseDensityFunctions(
    _normal_hazard, special_functions.normal_hazards_on_both_sides, None, _normal_bracket_margins
)


class BlockTable(NamedTuple):
    """Blocks of participants in the order of the standings, and the points at which their sums are tabulated."""

    columns: list[Array]  # centre and inverse deviation [block, blocks]
    size: int  # participants in a block
    low: Array  # the least rating
    per_point: Array  # the inverse of the distance of two points
    points: Array  # [points] ratings


def make_standing_sum_functions(
    noise: NoiseDensityFunctions, participants_by_standing: Participants, table_points: int
) -> tuple[SumsAtPlace, SumsAtPlace, RootGuess | None]:
    """The sums of l over those before a place k [P] in the standings, and of v over the others.

    Each is a function of k, and that of x [P], with values and slopes [P]. Large rounds tabulate them at some
    ratings, with a first guess of the zeros of q.
    """
    low, high, present = (getattr(participants_by_standing, name) for name in ("low", "high", "present"))
    num_players = len(participants_by_standing.centre)
    size = num_players + 1 if num_players <= DIRECT_LIMIT else BLOCK_SIZE
    columns = [jnp.pad(x, (0, size - num_players % size)).reshape(-1, size).T for x in participants_by_standing[:2]]
    per_point = (table_points - 5) / (high - low)  # three neighbours on each side of every rating
    at = low + jnp.arange(-2.0, table_points - 2.0) / per_point
    blocks = BlockTable(columns, size, low, per_point, at)
    if size > num_players:
        before, after = (partial(_sums_from_place, noise, blocks, None, side) for side in (0, 1))
        return before, after, None
    tabulate = partial(_tabulate_blocks, noise, at)
    if present is not None and selective_evaluation.has_tiles(num_players):
        tiles = selective_evaluation.count_row_tiles(present)
        tables = _exclusive_block_sums_by_tile(tabulate, columns, table_points, tiles)
    else:
        sums = sums_and_recurrences.exclusive_prefix_or_suffix_sums
        losses, wins = tabulate(columns)
        tables = sums(losses, from_end=False), sums(wins, from_end=True)
    before, after = (partial(_sums_from_place, noise, blocks, table, side) for side, table in enumerate(tables))
    return before, after, partial(_guess_root, blocks, tables)


def _sums_from_place(
    noise: NoiseDensityFunctions, blocks: BlockTable, table: Array | None, side: int, k: Array
) -> Callable[[Array], tuple[Array, Array]]:
    """The sums over those before a place k [P], or of side 1 after it, with the whole blocks in a table."""
    sign, before = 1.0 - 2.0 * side, side == 0
    whole = k // blocks.size
    centre, inverse = (x[:, whole] for x in blocks.columns)  # [block, P]
    inside = (jnp.arange(blocks.size, dtype=jnp.int32)[:, None] < (k - whole * blocks.size)[None, :]) == before
    gain = jnp.where(inside, inverse, 0.0)

    def sums_and_slopes(x: Array) -> tuple[Array, Array]:
        h, rise = noise.above(side, sign * (x[None, :] - centre) * inverse)
        value, slope = jnp.sum(gain * h, axis=0), sign * jnp.sum(gain * inverse * rise, axis=0)
        if table is not None:
            place = (x - blocks.low) * blocks.per_point
            number = jnp.clip(place.astype(jnp.int32), 0, len(blocks.points) - 6)
            u = place - number.astype(x.dtype)
            more, steepness = cdf_sums.everett_interpolation([table[whole, number + i] for i in range(6)], u)
            value, slope = value + more, slope + steepness * blocks.per_point
        return -sign * value, -sign * slope

    return sums_and_slopes


def _tabulate_blocks(noise: NoiseDensityFunctions, points: Array, columns: list[Array]) -> tuple[Array, Array]:
    """[blocks, points] the sums of the hazards of both sides over each block."""
    centre, inverse = (x[:, :, None] for x in columns)
    lost, won = noise.hazards((points[None, None] - centre) * inverse)
    return _sum_members(inverse * lost), _sum_members(inverse * won)


def _sum_members(x: Array) -> Array:
    """The sum over the first axis, one by one: XLA is slower at a sum over one of three axes."""
    return sum((x[i] for i in range(1, len(x))), start=x[0])


def _guess_root(
    blocks: BlockTable, tables: tuple[Array, Array], begin: Array, end: Array, stiffness: Array, mean: Array
) -> Array:
    """The point between two where q changes its sign, were every block spread out evenly."""
    points, size = blocks.points, blocks.size
    sides = []
    for shift, table, k in zip((0, 1), tables, (begin, end), strict=True):  # one behind `end` is behind a block before
        whole = k // size
        left, right = jnp.maximum(whole - shift, 0), jnp.minimum(whole + 1, len(table) - 1) - shift
        sides.append((table, left, right, (k - whole * size).astype(points.dtype) / size))

    def q(point: Array) -> Array:
        lost, won = (
            (1.0 - part) * table[left, point] + part * table[right, point] for table, left, right, part in sides
        )
        return won - lost - stiffness * (points[point] - mean)

    def halve(turn: Array, cell: Array) -> Array:  # q falls
        trial = cell + (first_step >> turn)
        return jnp.where((trial <= len(points) - 2) & (q(jnp.minimum(trial, len(points) - 2)) > 0), trial, cell)

    first_step = jnp.int32(1 << ((len(points) - 2).bit_length() - 1))
    cell = lax.fori_loop(0, (len(points) - 2).bit_length(), halve, jnp.zeros_like(begin))
    left, right = q(cell), q(cell + 1)
    part = jnp.clip(left / jnp.where(left > right, left - right, 1.0), 0.0, 1.0)
    return points[cell] + part / blocks.per_point


def _exclusive_block_sums_by_tile(
    tabulate: Callable[[list[Array]], tuple[Array, Array]], columns: list[Array], table_points: int, tiles: Array
) -> tuple[Array, Array]:
    """[blocks, points] the exclusive sums over blocks: of the losses before each one, and of the wins after it.

    Args:
      tabulate: both sums over some blocks, of their columns [block, some].
      columns: [block, blocks] each.
      table_points: at which they are tabulated.
      tiles: [] how many tiles of participants there are.
    """
    size = selective_evaluation.TILE_ROWS // BLOCK_SIZE
    zeros = jnp.zeros((columns[0].shape[1], table_points), columns[0].dtype)
    before = np.tri(size + 1, size, -1)  # of each block those before it, and at last all
    after = np.vstack([before[:-1].T, before[-1:]])

    def read(table: Array, number: Array) -> Array:
        return lax.dynamic_slice_in_dim(table, number * size, size, axis=0, allow_negative_indices=False)

    def write(table: Array, values: Array, number: Array) -> Array:
        return lax.dynamic_update_slice_in_dim(table, values, number * size, axis=0, allow_negative_indices=False)

    def add(table: Array, total: Array, values: Array, number: Array, members: HostArray) -> tuple[Array, Array]:
        # One product reads the values, which may stand in the table: read once more, XLA would copy it for each tile.
        sums = jnp.dot(members.astype(values.dtype), values, precision=lax.Precision.HIGHEST)
        return write(table, total[None] + sums[:-1], number), total + sums[-1]

    def add_losses(number: Array, tables: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        losses, total, wins = tables
        lost, won = tabulate([lax.dynamic_slice_in_dim(x, number * size, size, axis=1) for x in columns])
        return *add(losses, total, lost, number, before), write(wins, won, number)

    def add_wins(turn: Array, tables: tuple[Array, Array]) -> tuple[Array, Array]:
        number = tiles - 1 - turn
        return add(*tables, read(tables[0], number), number, after)

    losses, total, wins = lax.fori_loop(0, tiles, add_losses, (zeros, zeros[0], zeros))
    wins, _ = lax.fori_loop(0, tiles, add_wins, (wins, zeros[0]))
    return write(losses, total[None], tiles), wins  # behind everybody all are before and nobody is after
