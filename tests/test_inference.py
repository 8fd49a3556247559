"""Bands, urns per side and the test of one skill against laws worked out otherwise."""

import jax
import numpy as np
import pytest
from scipy import stats

import jaxrate as jr
from tests.reference import urnings_twin as twin


def test_the_band_is_where_the_urn_is_within_z_errors_of_the_proportion():
    state = jr.urns.make_urns([10, 10, 10, 100, 7], [0.0, 0.3, 1.0, 0.62, 3 / 7])
    green, size = (np.asarray(x, float) for x in state)
    pi = np.linspace(0, 1, 100_001)[:, None]
    within = np.abs(green / size - pi) <= 1.959964 * np.sqrt(pi * (1 - pi) / size)
    low, high = jr.urns.confidence_band(state)
    np.testing.assert_allclose(low, [pi[x, 0].min() for x in within.T], atol=2e-5)
    np.testing.assert_allclose(high, [pi[x, 0].max() for x in within.T], atol=2e-5)
    narrow = jr.urns.confidence_band(state, 0.5)
    assert (narrow[0][1:] > low[1:]).all() and (narrow[1][[0, 1, 3, 4]] < high[[0, 1, 3, 4]]).all()
    with pytest.raises(ValueError, match="level must be above 0 and below 1, got 1"):
        jr.urns.confidence_band(state, 1)


def test_each_side_has_players_of_its_own():
    played = jr.matches([[0, 2], [2, 1]], [1, 0.5], [3, 4], side=[1, 0], weight=[1, 2])
    got = jr.urns.split_by_side(played)
    np.testing.assert_array_equal(got.player, [[0, 5], [4, 3]])
    assert got.context.side is None
    np.testing.assert_array_equal(got.context.weight, [1, 2])
    result = jr.run(jr.elo(), got)
    assert len(result.state.rating) == 6 and float(result.state.rating[1]) == jr.elo().params.initial_rating


def urns_of(proportion, n, seed):
    random = np.random.default_rng(seed)
    return jr.urns.make_urns(np.full(len(proportion), n), random.binomial(n, proportion) / n)


def test_one_skill_is_shared_out_as_the_hypergeometric_law_says():
    """Every way to share the balls of three players, beside the frequencies of 20,000 samples."""
    one, two = jr.urns.make_urns([2, 3, 4], [0.5, 2 / 3, 0.25]), jr.urns.make_urns([3, 2, 4], [1 / 3, 1.0, 0.5])
    got = jr.urns.compare_skill(one, two, samples=20_000, seed=1)
    ways = [(1.0, 0.0)]
    for r1, n1, r2, n2 in zip(*map(np.asarray, (*one, *two)), strict=True):
        law = stats.hypergeom(n1 + n2, r1 + r2, n1)
        gaps = [(law.pmf(k), (k / n1 - (r1 + r2 - k) / n2) / 3) for k in range(n1 + 1) if law.pmf(k) > 0]
        ways = [(p * q, d + gap) for p, d in ways for q, gap in gaps]
    share = [np.asarray(x.green) / np.asarray(x.size) for x in (one, two)]
    observed = float(np.mean(share[0] - share[1]))
    exact = sum(p for p, d in ways if abs(d) >= abs(observed) - 1e-9)
    assert got.difference == pytest.approx(observed, abs=1e-6)
    assert got.difference_p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))
    assert np.mean(got.differences) == pytest.approx(sum(p * d for p, d in ways), abs=0.01)
    assert got.correlation == pytest.approx(np.corrcoef(*share)[0, 1], abs=1e-6)


def test_p_values_are_uniform_for_one_skill_and_small_for_two():
    random = np.random.default_rng(0)
    skill = random.uniform(0.2, 0.8, 60)
    same = [
        jr.urns.compare_skill(urns_of(skill, 30, 2 * k), urns_of(skill, 30, 2 * k + 1), samples=99) for k in range(200)
    ]
    for p in ([x.correlation_p for x in same], [x.difference_p for x in same]):
        assert stats.kstest(p, "uniform").pvalue > 0.01 and min(p) >= 0.01
    shifted = jr.urns.compare_skill(urns_of(skill, 30, 1), urns_of(skill + 0.1, 30, 2))
    assert shifted.difference_p < 0.01 and shifted.difference < -0.05
    other = jr.urns.compare_skill(urns_of(skill, 30, 1), urns_of(random.permutation(skill), 30, 2))
    assert other.correlation_p < 0.01 and other.difference_p > 0.01


def test_bad_urns_of_two_sides_are_refused():
    urns = jr.urns.make_urns([4, 4, 4], [0.25, 0.5, 0.75])
    for two, says in (
        (jr.urns.make_urns([4, 4], 0.5), r"at least 3 players, got \(3,\) and \(2,\)"),
        (jr.urns.make_urns([4, 2, 4], 0.5), "all urns have the same share of green balls"),
    ):
        with pytest.raises(ValueError, match=says):
            jr.urns.compare_skill(urns, two)
    with pytest.raises(ValueError, match="samples must be at least 1, got 0"):
        jr.urns.compare_skill(urns, urns, samples=0)


def test_p_values_of_a_change_are_those_of_the_exact_test():
    """Every pair of urns of 4 and 6 balls, large urns beside SciPy, and the rejected beside the twin's."""
    some = [(a, b) for a in range(5) for b in range(7)]
    early, late = (jr.urns.make_urns(np.full(35, n), x / n) for n, x in zip((4, 6), np.transpose(some), strict=True))
    got = jr.urns.find_changed_skills(early, late, false_discovery_rate=0.3)
    p = [twin.two_sided((a, 4), (b, 6)) for a, b in some]
    np.testing.assert_allclose(got.p, [float(x) for x in p], rtol=1e-12)
    np.testing.assert_allclose(got.difference, [b / 6 - a / 4 for a, b in some], atol=1e-15)
    assert got.changed.tolist() == twin.step_up(p, 0.3) and 0 < got.changed.sum() < 35
    rates = np.linspace(0.01, 0.99, 50)
    each = [jr.urns.find_changed_skills(early, late, false_discovery_rate=rate).changed for rate in rates]
    np.testing.assert_array_equal(each, got.adjusted <= rates[:, None])
    random, n = np.random.default_rng(2), np.array([200, 3000, 1_000_000])
    one, two = random.binomial(n, 0.3), random.binomial(n, [0.4, 0.32, 0.301])
    wanted = [stats.fisher_exact([[a, k - a], [b, k - b]]).pvalue for a, b, k in zip(one, two, n, strict=True)]
    got = jr.urns.find_changed_skills(jr.urns.make_urns(n, one / n), jr.urns.make_urns(n, two / n))
    np.testing.assert_allclose(got.p, wanted, rtol=1e-6)


def test_level_and_power_of_changes_are_those_of_independent_binomial_urns():
    """200 players, looked at 3 games per ball apart; then a fifth of them change, as many up as down."""
    n, apart, pi = 20, 200 * 3 * 20 // 2, np.repeat([0.2, 0.35, 0.65, 0.8], 50)
    changes = np.arange(200) % 5 == 0
    new = np.where(changes, 1 - pi, pi)
    system, state = jr.urnings(n), jr.urns.make_urns(np.full(200, n), pi)
    first, then = (
        jr.urns.simulate_world(system, x, 12 * apart, jax.random.key(k), record_every=apart, state=state).green
        for k, x in enumerate((pi, new))
    )

    def p_values(*times):
        both = ([state._replace(green=green) for green in pair] for pair in zip(*times, strict=True))
        return np.array([jr.urns.find_changed_skills(*pair).p for pair in both])

    still = p_values(first[1:-1:2], first[2::2])
    level = np.mean([twin.rejected(n, x, x, 0.1) for x in (0.2, 0.35)])
    assert abs((still <= 0.1).mean() - level) < 4 * np.sqrt(level / still.size) and 0.03 < level < 0.1
    moved = p_values(first[1:], then[1:])
    power = np.mean([twin.rejected(n, x, 1 - x, 0.1) for x in (0.2, 0.35)])
    assert abs((moved[:, changes] <= 0.1).mean() - power) < 4 * np.sqrt(power / (11 * 40)) and power > 0.5
    assert abs((moved[:, ~changes] <= 0.1).mean() - level) < 4 * np.sqrt(level / (11 * 160))


def test_bad_urns_of_two_times_are_refused():
    urns = jr.urns.make_urns([4, 4, 4], [0.25, 0.5, 0.75])
    for two, rate, says in (
        (jr.urns.make_urns([4, 4], 0.5), 0.05, r"two urns of each player, got \(3,\) and \(2,\)"),
        (urns, 1.0, "false_discovery_rate must be above 0 and below 1, got 1.0"),
        (urns._replace(green=urns.green.at[1].set(5)), 0.05, "row 1 .*an urn of 4 balls cannot hold 5 green ones"),
    ):
        with pytest.raises(ValueError, match=says):
            jr.urns.find_changed_skills(urns, two, false_discovery_rate=rate)
