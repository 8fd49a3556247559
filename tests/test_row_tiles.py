"""Rounds of all sizes by one program, which calculates for some participants at a time, and not for the padding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.data.simulate import contests
from jaxrate.numerics import padding_skipping_row_tiles
from jaxrate.replay.blocks import arrange_blocks
from tests.conftest import mark_full

SYSTEMS = {
    "elo_mmr": lambda: jr.elo_mmr(history=3),
    "ties split": lambda: jr.elo_mmr(history=3, split_ties=True),
    "elo_mmx": jr.elo_mmx,
    "codeforces": jr.codeforces,
    "topcoder": jr.topcoder,
}


@pytest.mark.parametrize("name", mark_full(SYSTEMS, "codeforces"))
def test_rounds_in_tiles_are_those_of_exact_sizes(name):
    system = SYSTEMS[name]()
    with jax.enable_x64(True):
        rounds = contests(1500, 5, size=(20, 1000), seed=3, grid=60).rounds
        tiled = arrange_blocks(rounds, tiled=True)
        ((size, _),) = {block.size for block in tiled.blocks}
        assert size % padding_skipping_row_tiles.TILE_ROWS == 0
        found, exact = (jr.run(system, rounds, schedule=x) for x in (tiled, arrange_blocks(rounds)))
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-9), found, exact)


def test_rounds_in_tiles_may_have_vectors_predicted():
    """A replay of one block made no room for them."""
    system, rounds = jr.codeforces(), contests(400, 2, size=300, seed=3, grid=60).rounds

    def predict(*inputs):
        return jnp.stack([system.rules.predict(*inputs)] * 2, axis=-1)

    pairs, tiled = system._replace(rules=system.rules._replace(predict=predict)), arrange_blocks(rounds, tiled=True)
    assert len(tiled.blocks) == 1
    one, two = (jr.run(x, rounds, schedule=tiled).prediction for x in (system, pairs))
    np.testing.assert_array_equal(two, np.stack([one] * 2, axis=-1))


def test_a_tiled_map_calculates_nothing_behind_the_rows_asked_for():
    x = np.arange(4.0 * padding_skipping_row_tiles.TILE_ROWS)
    found = jax.jit(lambda x, count: padding_skipping_row_tiles.map_row_tiles(lambda y: y + 1.0, count, x))(
        x, padding_skipping_row_tiles.TILE_ROWS + 1
    )
    behind = 2 * padding_skipping_row_tiles.TILE_ROWS
    assert np.all(found[:behind] == x[:behind] + 1.0) and np.all(found[behind:] == 0.0)


def test_replaced_rows_keep_what_stands_behind_them():
    size = padding_skipping_row_tiles.TILE_ROWS
    x = np.arange(3.0 * size)
    replace = jax.jit(lambda x, count: padding_skipping_row_tiles.replace_row_tiles(lambda y: -y, count, x))
    for count in (1, size):
        found = replace(x, count)
        assert np.all(found[:size] == -x[:size]) and np.all(found[size:] == x[size:])


def test_sums_over_tiles_count_each_row_once():
    size = padding_skipping_row_tiles.TILE_ROWS

    @jax.jit
    def add(x, count):
        return padding_skipping_row_tiles.add_row_tiles(lambda total, y: total + y.sum(), count, 0.0, x)

    assert [int(add(np.ones(2 * size), count)) for count in (0, 1, size, size + 1, 2 * size)] == [
        *(0, size, size, 2 * size, 2 * size)
    ]


def test_sizes_of_tiled_rounds_are_few():
    rounds = contests(6000, 60, size=(20, 6000), seed=0).rounds
    assert len({block.size for block in arrange_blocks(rounds, tiled=True).blocks}) == 1
