"""The theorems about the law of Urnings."""

from functools import partial

import jax
import numpy as np
import pytest

import jaxrate as jr
from tests.reference import urnings_twin as twin
from tests.test_urnings import matrix, pair_probabilities, random_matches


def test_theorem_1_the_unadjusted_update_has_the_law_with_z():
    n, proportion, total = [5, 5], [0.35, 0.7], 5
    every = np.array(twin.states(n, total))
    law = twin.target(n, proportion, total) * [sum(twin.simulated([1, 1], r, n)) for r in every.tolist()]
    got = twin.stationary(twin.transition("U1", [1, 1], n, proportion, total, accept=False))
    np.testing.assert_allclose(got, law / law.sum(), atol=1e-12)


def balanced(step, law):
    """Detailed balance, and that any state leads to any other one."""
    flow = law[:, None] * step
    np.testing.assert_allclose(flow, flow.T, atol=1e-14)
    assert (np.linalg.matrix_power((step > 0).astype(float), len(law)) > 0).all()


@pytest.mark.parametrize("variant", ["U1", "U2"])
def test_theorem_2_two_players_have_the_law_of_binomials(variant):
    n, proportion, total = [5, 5], [0.35, 0.7], 5
    every = np.array(twin.states(n, total))
    with jax.enable_x64(True):
        step = matrix(variant, [1, 1], n, proportion, every, lambda r: {(0, 1): 1.0})
    balanced(step, twin.target(n, proportion, total))


@pytest.mark.parametrize("variant", ["U1", "U2"])
@pytest.mark.parametrize("kind", ["uniform", "similar", "chooser"])
def test_theorems_3_and_4_more_players_matched_by_whatever_rule(variant, kind):
    """Unequal urns and draws, the pairs' probabilities by the library; `uniform` is Theorem 3."""
    n, proportion, total = [2, 3, 2, 2], [0.2, 0.4, 0.6, 0.7], 4
    every = np.array(twin.states(n, total))
    with jax.enable_x64(True):
        q = pair_probabilities(kind, 0.8, every, n)
        step = matrix(variant, [1, 2.5, 1], n, proportion, every, lambda r: q[tuple(r)])
        balanced(step, twin.target(n, proportion, total))
        if kind != "uniform":
            without = matrix(variant, [1, 2.5, 1], n, proportion, every, lambda r: q[tuple(r)], corrected=False)
            with pytest.raises(AssertionError):
                balanced(without, twin.target(n, proportion, total))


@pytest.mark.parametrize("total", [3, 6, 10])
def test_theorem_5_odds_ratios_are_the_same_for_every_sum(total):
    """Odds times a constant have the same law, which is that of the library's update."""
    n, odds = [4, 4, 4], np.array([0.4, 1.2, 4.0])
    every = np.array(twin.states(n, total))
    law = twin.target(n, odds / (1 + odds), total)
    np.testing.assert_allclose(law, twin.target(n, 3 * odds / (1 + 3 * odds), total), atol=1e-12)
    with jax.enable_x64(True):
        got = matrix("U2", [1, 1], n, odds / (1 + odds), every, partial(twin.pairs, "uniform", None, n=n))
    np.testing.assert_allclose(twin.stationary(got), law, atol=1e-10)


@pytest.mark.parametrize("variant", ["U1", "U2"])
def test_theorem_6_every_game_brings_the_law_nearer(variant):
    n, proportion, total = [4, 4, 4], [0.3, 0.55, 0.8], 6
    every = np.array(twin.states(n, total))
    with jax.enable_x64(True):
        step = matrix(variant, [1, 2, 1], n, proportion, every, partial(twin.pairs, "uniform", None, n=n))
    law, now, distance = twin.target(n, proportion, total), np.full(len(every), 1 / len(every)), []
    for _ in range(300):
        distance.append(np.sum(law * np.log(law / now)))
        now = now @ step
    assert (np.diff(distance[:40]) < 0).all() and distance[-1] < 1e-6 < distance[0]


def test_predictions_follow_the_model(x64):
    weights, m = (1, 2.5, 1), 2
    system = jr.urnings(outcomes=3, weights=weights)
    state = jr.urns.make_urns([100, 100, 10, 10, 100], [0.2, 0.65, 0.3, 0.0, 1.0])
    player = np.array([(a, b) for a in range(5) for b in range(5) if a != b])
    got = jr.predict(system, state, jr.matches(player, np.full(len(player), 0.3)))
    pi = (np.asarray(state.green) + 1) / (np.asarray(state.size) + 2)
    wanted = [twin.observed(weights, pi[a], pi[b]) @ np.arange(3) / m for a, b in player]
    np.testing.assert_allclose(got, wanted, rtol=1e-12 if x64 else 1e-5)
    paper = jr.urnings(outcomes=3)  # (A24) to (A26), unless it is told otherwise
    for same, other in (
        (paper, (1, 2, 1)),
        (jr.urnings(weights=(1, 1, 1)), (1, 1, 1)),
        (jr.urnings(outcomes=4), [1] * 4),
    ):
        assert same.rules.prepare(same.params).weights == tuple(other)
    again = jr.urnings(outcomes=3, draw_weight=2.5)
    np.testing.assert_allclose(jr.predict(again, state, jr.matches(player, np.zeros(len(player)))), got, rtol=1e-6)
    even = jr.predict(system, jr.urns.make_urns([7, 7, 7, 7, 1], [0, 0, 1, 1, 0]), jr.matches([[0, 1], [2, 3]], [0, 0]))
    np.testing.assert_allclose(even, 0.5)

    levels = np.asarray(jr.predict(jr.forecasts.add_outcomes(system), state, jr.matches(player, np.zeros(len(player)))))
    wanted = [twin.observed(weights, pi[a], pi[b]) for a, b in player]
    np.testing.assert_allclose(levels, wanted, rtol=1e-12 if x64 else 1e-5)


@pytest.mark.parametrize("variant", ["U1", "U2"])
def test_the_largest_urns_are_counted_exactly(variant, x64):
    most = 1 << 23
    system = jr.urnings(most, 3, variant=variant)
    after = jr.run(system, random_matches(4, 200, 2), key=jax.random.key(0))
    green = np.asarray(after.state.green, np.int64)
    assert green.sum() == 4 * most // 2 and (np.asarray(after.state.size) == most).all()
    assert np.unique(green).size > 1 and np.abs(green - most // 2).max() <= 400
    assert np.isfinite(np.asarray(after.prediction)).all()


def test_ratings_have_the_standard_errors_of_binomials():
    system, state = jr.urnings(), jr.urns.make_urns([100, 10], [0.2, 0.5])
    mean, deviation = jr.ratings(system, state)
    np.testing.assert_allclose(mean, [0.2, 0.5], rtol=1e-6)
    np.testing.assert_allclose(deviation, [0.04, 0.5 / np.sqrt(10)], rtol=1e-6)
    np.testing.assert_array_equal(system.init(system.params, 3).green, [50, 50, 50])
    np.testing.assert_array_equal(state.green, [20, 5])
