"""Slopes, bounds, ends of ranges and points of tables that hardly any result shows: each found by `mutations.py`."""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.replay.execution import min_mean_width_for_levels
from jaxrate.systems.category_glicko import system as strengths
from jaxrate.systems.category_glicko.system import (
    OUTCOME_DISTRIBUTIONS,
    PeriodGames,
    log_likelihood_derivatives,
    maximize_posterior,
)
from jaxrate.systems.glicko2 import State, new_volatility, prepare
from jaxrate.systems.rounds import cdf_sums, performance_distributions
from tests.conftest import quick


def test_newton_has_the_slope_of_the_function_of_the_volatility(monkeypatch):
    """A wrong one finds the same root, by more steps."""
    random, n, found = np.random.default_rng(0), 200, []

    def look(function, guess, lower, upper, num_steps):
        x = lower + (upper - lower) * jnp.asarray(random.uniform(0, 1, n))
        found.append((function(x)[1], jax.jvp(lambda x: function(x)[0], (x,), (jnp.ones(n),))[1]))
        return guess

    monkeypatch.setattr(sys.modules[new_volatility.__module__], "decreasing_root", look)
    with jax.enable_x64(True):
        variance, volatility, w = (10 ** random.uniform(*ends, n) for ends in ((3, 5), (-2, 0), (-1, 2)))
        surprise = w * random.uniform(0, 3, n)

        def find(variance, volatility, w, surprise):
            state = State(jnp.zeros(n), variance, volatility, jnp.zeros(n))
            new_volatility(prepare(jr.glicko2(tau=3.0).params), state, w, surprise)
            return found.pop()

        slope, wanted = quick(find)(variance, volatility, w, surprise)
        np.testing.assert_allclose(slope, wanted, rtol=1e-9)


@pytest.mark.parametrize("deviation", [25.0, 49.0, 98.0, 195.0])
def test_tables_have_points_enough_for_rounds_as_wide_as_ratings(deviation):
    """Among newcomers in a round 8,000 points wide, what is read from a table is right to 0.01 rating points."""
    with jax.enable_x64(True):
        function, points = performance_distributions.logistic_cdf_and_density, cdf_sums.count_table_points(deviation)
        precision = np.full(100, performance_distributions.LOGISTIC.deviation / deviation)

        def in_both_ways(x):
            everyone = cdf_sums.Participants(
                *map(jnp.asarray, (np.full(100, 1500.0), precision, np.ones(100))), -2000.0, 6000.0, deviation
            )
            table = cdf_sums.make_cdf_sum_functions(function, everyone, points)[0](x, True)[0]
            return table, cdf_sums.direct_cdf_sums(function, everyone, x, True)

        x = np.linspace(1500.0 - 3 * deviation, 1500.0 + 3 * deviation, 3000)
        got, (wanted, slope) = jax.tree.map(np.asarray, quick(in_both_ways)(x))
    assert np.max(np.abs(got - wanted) / slope) < 0.01


def test_the_least_deviation_of_glicko_holds():
    matches = jr.matches([[0, 1], [0, 2], [1, 2]] * 20, [1.0, 0.0, 0.5] * 20, np.arange(60) / 60)
    deviation = jr.ratings(system := jr.glicko(deviation_min=150), jr.run(system, matches).state).deviation
    np.testing.assert_allclose(deviation, 150.0, rtol=1e-6)


def test_the_likeliest_strength_is_found_far_beyond_every_opponent():
    """Of 399 wins and one loss: the slope of the likelihood there is zero."""
    with jax.enable_x64(True):
        games = PeriodGames(np.array([0]), *(np.array([x]) for x in (0.0, 1.0, 399.0, 1.0)))

        def find(distribution, games):
            one, there, guess = jnp.ones((1, 1)), jnp.array([[True]]), jnp.zeros((1, 1))
            rows = strengths.State(one[0], one, one[0], one, one[0])
            best = maximize_posterior(distribution, rows, games, there, guess, ~there[0], there[0])
            return best, log_likelihood_derivatives(distribution, games, best)[0]

        for name, wanted in (("logistic", np.log(399) * np.sqrt(3) / np.pi), ("probit", 2.8070337683)):
            best, slope = quick(partial(find, OUTCOME_DISTRIBUTIONS[name]))(games)
            np.testing.assert_allclose(best, [[wanted]], rtol=1e-6)
            np.testing.assert_allclose(slope, 0.0, atol=1e-6)


def test_differences_of_just_the_margin_are_draws():
    chance = jr.extend.luck.trueskill(1.0).chance
    x = jnp.array([2.0, 1.0, 2.5, 1.0])
    y = jnp.array([1.0, 2.0, 1.0, 2.5])
    assert chance(x, y).tolist() == [0.5, 0.5, 1.0, 0.0]


def test_streams_are_worth_it_for_simple_rules_in_float32():
    matches = jr.matches([[0, 1]], [1.0])
    with jax.enable_x64(False):
        assert min_mean_width_for_levels(jr.elo(), jr.elo().params, None, matches) == (
            np.inf if jax.default_backend() == "cpu" else 2.0
        )
        assert min_mean_width_for_levels(jr.blat_mmr(), jr.blat_mmr().params, None, matches) == 2.0
    with jax.enable_x64(True):
        assert min_mean_width_for_levels(jr.elo(), jr.elo().params, None, matches) == 2.0
