"""What fuzzing found, each thing once."""

import shutil
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pyarrow import parquet

import jaxrate as jr
from jaxrate import parts
from jaxrate.numerics.special_functions import normal_tail, truncated_normal_moments
from jaxrate.systems.category_glicko import OUTCOME_DISTRIBUTIONS, update_mean_variance
from jaxrate.systems.rounds import performance_inference
from jaxrate.systems.weng_lin import comparison_terms
from tests.conftest import MOSTLY_SINGLE, quick
from tests.fuzz.saved import REFERENCE


def after(system, mean, deviation, **columns):
    """The state after one match of two players, whose ratings and deviations are known."""
    state = system.init(system.params, 2)
    state = state._replace(rating=jnp.asarray(mean, float), variance=jnp.asarray(deviation, float) ** 2)
    return jr.run(system, jr.matches([[0, 1]], **columns), state=state).state


@MOSTLY_SINGLE
def test_an_upset_that_counts_a_million_times_leaves_volatilities_finite(x64):
    """Where the opponent is 14,400 points ahead: 1/v is 1e-30, and the bracket of the volatility was endless."""

    def volatility(tau):
        system = jr.glicko2()
        system = system._replace(params=system.params._replace(tau=tau))
        return after(system, [0.0, 14_400.0], [30.0, 30.0], score=[1.0], weight=[1e6]).volatility[0]

    far, slope = quick(jax.value_and_grad(volatility))(0.5)
    assert float(far) == pytest.approx(1e3) and np.isfinite(slope)


def test_slopes_of_volatilities_are_finite_where_squares_overflow():
    def volatility(tau):
        system = jr.glicko2(initial_volatility=1e-4)
        system = system._replace(params=system.params._replace(tau=tau))
        return after(system, [0.0, 3200.0], [10.0, 10.0], score=[1.0], weight=[1e6]).volatility[0]

    assert np.isfinite(quick(jax.value_and_grad(volatility))(0.1)).all()


def test_match_quality_does_not_know_the_drift():
    """In float32 it was lost in the drift, from which it was subtracted: deviations of 1 and a tau of 1e5 gave NaN."""
    contest = jr.rounds([0, 0, 0], [0, 1, 2], [0, 1, 2], weight=[1.0, 0.1, 10.0])
    still, drifting = (jr.trueskill(beta=1.0, tau=tau, initial_rating=0.0, initial_deviation=1.0) for tau in (0.0, 1e5))
    here, there = (
        jr.run(jr.forecasts.add_outcomes(system), contest).prediction.quality for system in (still, drifting)
    )
    assert (here > 0.0).all()
    np.testing.assert_array_equal(here, there)


@MOSTLY_SINGLE
def test_a_newcomer_is_known_as_well_as_the_opponent_of_a_draw_without_margin(x64):
    """The deviation used to come out as 0."""
    state = after(jr.trueskill(draw_probability=0.0, beta=1e-3, tau=0.0), [25.0, 25.0], [1e6, 1e-3], score=[0.5])
    np.testing.assert_allclose(np.sqrt(state.variance), [3.0**0.5 * 1e-3, 1e-3], rtol=1e-5)


@MOSTLY_SINGLE
def test_what_is_learnt_inside_a_narrow_margin_far_away_is_within_its_bounds(x64):
    """Of a draw after 31,622 deviations: the variance left was -0.011, at 1e12 even 2e8."""
    lead, margin = np.array([31_622.777, 1e12, -1e9]), np.array([1e-4, 1e-11, 1e-8])
    moments = quick(truncated_normal_moments)(jnp.asarray(lead, float), jnp.asarray(margin, float), jnp.ones(3, bool))
    _, w, left, _ = map(np.asarray, moments)
    assert (left >= 0.0).all() and (left <= margin**2).all() and (w <= 1.0).all()


@MOSTLY_SINGLE
def test_draws_keep_their_digits_far_from_equals(x64):
    """The difference of two numbers close to 1 was 0 from six deviations on, or below it."""
    system, lead = jr.trueskill(draw_probability=1e-3), np.linspace(-60.0, 60.0, 121)
    player, state = np.arange(242).reshape(121, 2), system.init(system.params, 242)
    state = state._replace(rating=jnp.asarray(np.stack([lead, 0 * lead], axis=1).ravel(), float))
    draw = np.asarray(jr.predict(jr.forecasts.add_outcomes(system), state, jr.matches(player, np.zeros(121))).draw)
    assert (draw > 0.0).all() and (np.diff(draw[:61, 0]) > 0.0).all()
    np.testing.assert_array_equal(draw, draw[::-1])


def test_slopes_of_beliefs_that_no_bound_keeps_narrow_are_finite():
    """The square of a variance of 1e22 overflowed in float32, and was multiplied by the slope, 0, of a sure result."""
    system = jr.glicko(c=5e6, period=4e-4, deviation_max=None)
    matches = jr.matches([[0, 1], [0, 1], [1, 2], [0, 2]], [0.5, 0.0, 0.0, 0.0], [1e3, 1e5, 2e5, 3e5])

    def total(c):
        return jr.run(system, matches, params=system.params._replace(c=c), schedule="stream").state.rating.sum()

    assert np.isfinite(quick(jax.grad(total))(5e6))


def test_searches_go_on_where_functions_change_within_less_than_the_rounding_of_ratings():
    """Draws of weight 1e5 at 1e5 points: Newton's first step, of 60 scales, was too small beside 1e5 to be tried."""
    system = jr.codeforces(beta=1.0, initial_rating=1e5)
    matches = jr.matches([[0, 1], [0, 1]], [0.5, 0.5], weight=[1e5, 1e5])

    def moved(beta):
        params = system.params._replace(beta=beta)
        return jr.run(system, matches, params=params, num_players=2, schedule="stream").state.rating.mean() - 1e5

    far, slope = quick(lambda beta: jax.jvp(moved, (beta,), (1.0,)))(1.0)
    assert abs(far) < 0.05 and np.isfinite(slope)


def test_slopes_are_finite_where_the_points_of_a_table_lie_too_far_apart():
    """What it says is less than nothing there and is mended, but its slopes were 0 / 0."""
    centre = jnp.asarray([-1e5, -1e5, *np.linspace(1300.0, 1700.0, 61), 1e5, 1e5], float)
    event = jr.Rounds(*[jnp.arange(65, dtype=jnp.int32)] * 3, jnp.ones(65), jnp.zeros(()))

    def total(deviation):
        sums = performance_inference.make_logistic_cdf_sums(centre, jnp.full(65, deviation), event, 72)
        return jnp.sum(performance_inference.infer_logistic_performance(sums))

    assert np.isfinite(quick(jax.grad(total))(107.0))


def finite_slopes(function, *args, sizes=(0.0, 1.0)):
    """Whether slopes are finite of these multiples of all that the function returns: what is unused counts 0 times."""

    def slopes(sizes, *args):
        result, pull = jax.vjp(function, *args)
        return jax.vmap(lambda size: pull(jax.tree.map(lambda x: jnp.full_like(x, size), result)))(sizes)

    return all(np.isfinite(x).all() for x in jax.tree.leaves(quick(slopes)(jnp.array(sizes), *args)))


def test_slopes_are_finite_where_a_period_says_next_to_nothing():
    """The game of a favourite who is sure to win has a precision of 1e-28."""
    system = jr.skills(parts.own_side())
    period = jr.periods(jr.matches([[0, 1]], [1.0], side=[1.0]), period=[0])
    state = system.init(system.params, 2)

    def rate(lead):
        mean = state.mean.at[0, 0].add(lead)
        return jr.run(system, period, state=state._replace(mean=mean)).state.mean

    assert finite_slopes(rate, jnp.asarray(4000.0))


@pytest.mark.parametrize("outcome", ["probit", "logistic"])
def test_slopes_of_beliefs_far_narrower_than_the_scale_are_finite(outcome):
    """1 / variance^2 was inf in float32 from a variance of 5e-20 of the scale's on, even of players who are padding."""
    density = OUTCOME_DISTRIBUTIONS[outcome].density
    assert finite_slopes(density, jnp.array([0.0, 1e-9]), jnp.array([1e-20, 2e-21]), sizes=(0.0, 1e-20))


def test_a_slope_is_0_where_nothing_bounds_a_variance_but_its_maximum():
    """Neither prior nor likelihood is curved there: the variance is 1 / 0."""
    some, zero = jnp.ones(1, bool), jnp.zeros(1)

    def variance(scale, q):
        _, found = update_mean_variance(~some, some, zero, zero + 1.0, zero, zero, q)
        return jnp.minimum(scale**2 * found, 1e9)

    assert quick(variance)(1e3, zero) == 1e9
    assert finite_slopes(variance, jnp.asarray(1e3), zero)


def test_slopes_of_tails_and_of_draws_from_far_outside_are_finite():
    """From 2e19 deviations on the square of the excess or hazard overflowed in float32, and was multiplied by 0."""
    assert finite_slopes(normal_tail, jnp.array([-1e20, 1e20]))
    lead, margin = jnp.array([1e20, 1e20, -1e37, 100.0]), jnp.array([1e-18, 2e-19, 1e36, 1e37])
    assert finite_slopes(lambda a, m: truncated_normal_moments(a, m, jnp.ones(4, bool)), lead, margin)


def test_slopes_of_thurstone_mosteller_are_finite_far_out():
    """Of a draw at ratings of 1e22 with a margin of 0.1."""

    def terms(lead, epsilon):
        system = jr.weng_lin("thurstone_mosteller_full")
        constants = system.rules.prepare(system.params._replace(epsilon=epsilon))
        return comparison_terms(constants, lead, jnp.ones(2), jnp.zeros(2))

    assert finite_slopes(terms, jnp.array([-1e22, 1e22]), jnp.asarray(0.1))


def test_slopes_of_topcoder_are_finite_where_volatilities_vanish():
    """Weights near 1 leave a variance of 1e-24, whose square in the slope of a chance is 0 in float32."""
    system = jr.topcoder(weight_new=0.999999, weight_limit=0.999999, initial_deviation=1.0)
    state = system.init(system.params, 2)._replace(rating=jnp.array([1e5, 0.0]))
    matches = jr.matches([[0, 1]] * 4, [1.0] * 4, weight=[3.5e5] * 4)

    def chance(weight_new):
        params = system.params._replace(weight_new=weight_new)
        return jr.run(system, matches, params=params, state=state).prediction[-1]

    assert np.isfinite(quick(jax.grad(chance))(0.999999))


def test_runs_whose_times_were_changed_on_disk_have_careers(tmp_path):
    """Rows of matches were counted as if each had one player, so that the last of them did not exist."""
    folder = Path(shutil.copytree(REFERENCE / "elo", tmp_path / "run"))
    table = parquet.read_table(folder / "predictions.parquet")
    times = table.column("time").take([0, 1, 4, 3, 2])
    parquet.write_table(table.set_column(1, "time", times), folder / "predictions.parquet")
    assert len(jr.career(jr.load(folder), "Ada")["time"]) == 3
