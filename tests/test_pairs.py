"""`jr.forecasts.predict_pairs`, and what pages know of any two: the predictions, in a few numbers for each player."""

import sys
from itertools import combinations

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.system import random_draw_rule
from jaxrate.data import simulate
from tests.conftest import MOSTLY_SINGLE

pytest.importorskip("pyarrow")
from jaxrate.forecasts.matchup_tables import build_matchup_tables


def predicted(system, state, a, b, time=0.0):
    played = jr.matches(np.stack([a, b], axis=1), np.full(len(a), 0.5), np.full(len(a), time))
    return np.asarray(jr.predict(system, state, played), np.float64)


@pytest.mark.parametrize(
    ("name", "changes"),
    [("elo", {}), ("elo", {"limit": 100.0}), ("glicko", {}), ("trueskill", {}), ("weng_lin", {}),
     ("urnings", {}),
     *(pytest.param(name, {}, marks=pytest.mark.full) for name in ("blat_mmr", "glicko2", "elo_mmr", "topcoder"))],
)  # fmt: skip
def test_pairs_are_what_the_system_predicts(name, changes):
    system, league = jr.extend.SYSTEMS[name](**changes), simulate.league(40, 800, seed=4).matches
    events = league if jr.Matches in system.events else simulate.contests(40, 40, size=20, seed=4).rounds
    state = jr.run(system, events, key=jax.random.key(0) if random_draw_rule(system.rules) else None).state
    best = np.argsort(-np.asarray(jr.ratings(system, state).mean))
    found = jr.forecasts.predict_pairs(system, state, best, time=1100.0)
    a, b = np.array([*combinations(range(40), 2)]).T
    wanted = predicted(system, state, best[a], best[b], 1100.0)
    assert np.ptp(wanted) > 0.1 and found.left.shape[1] == 40
    np.testing.assert_allclose(found.probability(a, b), wanted, atol=3e-4)
    np.testing.assert_allclose(found.probability(b, a), 1 - wanted, atol=3e-4)


@MOSTLY_SINGLE
def test_pairs_of_many_in_both_precisions(x64):
    state = jr.glicko().init(jr.glicko().params, 3000)
    random = np.random.default_rng(0)
    rating, deviation = random.normal(1500, 400, 3000), random.uniform(30, 350, 3000)
    state = state._replace(rating=rating.astype(state.rating.dtype), variance=(deviation**2).astype(state.rating.dtype))
    best = np.argsort(-rating)
    found = jr.forecasts.predict_pairs(jr.glicko(), state, best)
    a, b = random.integers(0, 1500, 200_000), random.integers(1500, 3000, 200_000)
    wanted = predicted(jr.glicko(), state, best[a], best[b])
    assert len(found.scale) < 20 and np.abs(found.probability(a, b) - wanted).max() < 1e-3
    assert (
        np.abs(
            found.probability(0, np.arange(1, 3000)) - predicted(jr.glicko(), state, np.repeat(best[0], 2999), best[1:])
        ).max()
        < 1e-3
    )


def test_pairs_of_the_best_where_all_take_too_many_numbers(monkeypatch):
    monkeypatch.setattr(sys.modules["jaxrate.forecasts.pairwise_probabilities"], "MAX_NUMBERS", 100)
    system = jr.elo()
    state = system.init(system.params, 64)._replace(rating=np.linspace(3000, 0, 64, dtype=np.float32))
    found = jr.forecasts.predict_pairs(system, state, np.arange(64))
    n = found.left.shape[1]
    assert n in (2, 4, 8, 16) and 2 * found.left.size <= 100
    a, b = np.array([*combinations(range(n), 2)]).T
    np.testing.assert_allclose(found.probability(a, b), predicted(system, state, a, b), atol=3e-4)


def test_pairs_refuse():
    system = jr.elo()
    with pytest.raises(ValueError, match="players must be \\[N\\] ids, of at least two"):
        jr.forecasts.predict_pairs(system, system.init(system.params, 3), [1])


def test_equals_take_no_numbers():
    system = jr.elo()
    found = jr.forecasts.predict_pairs(system, system.init(system.params, 5), np.arange(5))
    assert found.left.shape == (0, 5) and found.probability(0, 1) == 0.5


def test_any_two_with_draws_and_sides(league):
    """As the system predicts them, the first at home, the second, or nobody."""
    system = jr.forecasts.add_outcomes(jr.glicko(side_advantage=80), draw_odds=0.6)
    given = dict(zip("ab", league.player.T, strict=True)) | {"score": league.score, "home": np.ones(600)}
    rated = jr.rate(system, jr.read(given, side="home"))
    player = jr.history.rating_table(rated)["id"]
    found = build_matchup_tables(rated, player)
    a, b = np.divmod(np.arange(1600), 40)
    a, b = a[a != b], b[a != b]

    def value(table):
        return table.scale @ (table.left[:, a].astype(float) * table.right[:, b])

    for side, draw, score in ((0.0, found.draw, None), (1.0, found.home_draw, found.home)):
        pair = np.stack([player[a], player[b]], axis=1)
        coming = jr.matches(pair, np.full(len(a), 0.5), np.zeros(len(a)), side=np.full(len(a), side))
        wanted = jr.predict(system, rated.state, coming)
        half = np.asarray(wanted.draw)[:, 0] / 2
        even = found.even.probability(a, b) if score is None else value(score)
        np.testing.assert_allclose(even, np.asarray(wanted.win)[:, 0] + half, atol=5e-4)
        np.testing.assert_allclose(value(draw) / 2, half, atol=3e-4)
