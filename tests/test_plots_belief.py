"""Pictures of beliefs."""

import sys

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import plots
from jaxrate.events import slice_events
from tests.conftest import refused
from tests.test_plots import games, ratings

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")


@pytest.mark.parametrize("chunk", [64, 1000])
def test_belief_is_the_state_on_the_way(ax, monkeypatch, chunk):
    """After each match of a day the player's belief is that of a run which ends there."""
    monkeypatch.setattr(sys.modules["jaxrate.plots.belief_plot"], "MATCHES_PER_CHUNK", chunk)
    system = jr.blat_mmr(size=101, kernel_width=0.3)
    assert plots.belief(system, games(), "P7", ax=ax) is ax
    (mesh,) = [x for x in ax.collections if x.get_array() is not None and x.get_array().ndim == 2]
    assert mesh.get_rasterized()
    matches = games().matches
    day = np.unique(matches.time[(matches.player == 7).any(axis=1)])
    edges = mesh.get_coordinates()[0, :, 0]
    np.testing.assert_allclose(edges, [*day, matches.time[-1]])
    grid = jr.history.blat_mmr_beliefs.belief_grid(system)
    until = np.searchsorted(matches.time, day[3], side="right")
    state = jr.run(system, slice_events(matches, 0, until), num_players=20).state
    belief = np.asarray(state.belief)[7]
    rating = mesh.get_coordinates()[:-1, 0, 1] + 0.5 * (grid[1] - grid[0])
    drawn = np.interp(rating, grid, 100 * belief / (grid[1] - grid[0]))
    np.testing.assert_allclose(np.asarray(mesh.get_array())[:, 3], drawn, rtol=0.02, atol=1e-3)
    mean = next(line for line in ax.lines if line.get_label() == "mean").get_ydata()
    np.testing.assert_allclose(mean[-2:], ratings(system, jr.run(system, matches))[0][7], rtol=1e-4)


def test_belief_refuses(ax):
    with refused("glicko has no beliefs on a grid"):
        plots.belief(jr.glicko(), games(), "P7", ax=ax)
    with refused("on a support of their own"):
        plots.belief(jr.blat_mmr(support=[-1.0, 0.0, 1.0], kernel="none"), games(), "P7", ax=ax)
    with refused("not of rounds or periods"):
        plots.belief(jr.blat_mmr(), jr.data.simulate.contests(12, 30, size=5, seed=1).rounds, 0, ax=ax)
    with refused("no match before the end"):
        plots.belief(jr.blat_mmr(), jr.matches([[0, 1], [2, 3]], [1, 0], [0.0, 1.0]), 3, ax=ax)
    assert not ax.collections
