"""Systems of contests rate matches as contests of two."""

from functools import lru_cache

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.live import start_history
from tests.conftest import MOSTLY_DOUBLE, mark_full, refused

PLAYERS = 12
SYSTEMS = {
    "elo_mmr": jr.elo_mmr(3, newcomer=(0.6, 0.8), drift=20.0),
    "elo_mmx": jr.elo_mmx(drift=15.0),
    "codeforces": jr.codeforces(),
    "topcoder": jr.topcoder(),
}
NAMES = pytest.mark.parametrize("name", SYSTEMS)


@lru_cache
def both():
    """[n] matches with draws and weights, and the same as contests of two."""
    random, n = np.random.default_rng(5), 60
    first = random.integers(0, PLAYERS, n)
    player = np.stack([first, (first + random.integers(1, PLAYERS, n)) % PLAYERS], axis=1)
    score, weight, time = random.integers(0, 3, n) / 2, random.choice([0.5, 1.0], n), np.sort(random.uniform(0, 90, n))
    rank = np.stack([score < 0.5, score > 0.5], axis=1)
    pair = [np.repeat(x, 2) for x in (np.arange(n), weight, time)]
    contests = jr.rounds(pair[0], player.ravel(), rank.ravel(), weight=pair[1], time=pair[2])
    return jr.matches(player, score, time, weight=weight), contests


@MOSTLY_DOUBLE
@pytest.mark.parametrize("schedule", mark_full(["auto", "stream"], "stream"))
@pytest.mark.parametrize("name", mark_full(SYSTEMS, "elo_mmx"))
def test_matches_are_contests_of_two(name, schedule, x64):
    matches, contests = both()
    wanted = jr.run(SYSTEMS[name], contests, num_players=PLAYERS)
    got = jr.run(SYSTEMS[name], matches, num_players=PLAYERS, schedule=schedule)
    for x, y in zip(jax.tree.leaves(got.state), jax.tree.leaves(wanted.state), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12 if x64 else 1e-5, atol=1e-12 if x64 else 1e-4)
    np.testing.assert_allclose(got.prediction, wanted.prediction[::2], atol=1e-6 if x64 else 1e-4)
    assert np.ptp(np.asarray(wanted.state.rating)) > 100.0


@NAMES
def test_other_scores_are_refused(name):
    said = f"row 1 (counting from 0): {name} ranks the two players of a match, and score 0.7 is no win, draw or loss"
    with refused(said):
        jr.run(SYSTEMS[name], jr.matches([[0, 1], [1, 0]], [1.0, 0.7]))


TABLE = {"a": ["Ada", "Bo", "Cy", "Ada"] * 5, "b": ["Bo", "Cy", "Ada", "Cy"] * 5, "score": [1, 0.5, 0, 1] * 5}


def test_rated_live_predicted_saved_and_compared(tmp_path):
    data, system = jr.read(TABLE), SYSTEMS["codeforces"]
    rated = jr.rate(system, data)
    jr.save(tmp_path / "run", rated)
    np.testing.assert_array_equal(jr.load(tmp_path / "run").state.rating, rated.state.rating)
    going = start_history(system)
    for a, b, score in zip(*TABLE.values(), strict=True):
        going.update(a, b, score)
    mean = {name: going.rating(name).mean for name in ("Ada", "Bo", "Cy")}
    wanted = dict(zip(rated.players, np.asarray(jr.ratings(system, rated.state).mean), strict=True))
    assert mean == pytest.approx({name: float(wanted[name]) for name in mean}, rel=1e-6)
    with refused("score 0.7 is no win"):
        going.update("Ada", "Bo", 0.7)
    coming = jr.forecasts.predict_fixtures(rated, [("Ada", "Cy")])
    assert coming is not None
    named = jr.compare(data, ["elo", "codeforces"])
    assert {x.name for x in named.results} == {"elo", "codeforces"}
