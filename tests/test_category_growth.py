"""What grows in category Glicko while some do not play, and the modifiers as of a time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import mark_full
from tests.test_category_glicko import against_twin, league


@pytest.mark.parametrize(
    ("outcome", "expansion", "double"),
    mark_full([("probit", "mode", True), ("logistic", "map", False)], ("probit", "mode", True)),
)
def test_only_what_was_not_played_grows(outcome, expansion, double):
    """In many short periods with few games, some of them idle."""
    with jax.enable_x64(double):
        against_twin(double, league(4, n=40), 3, outcome, expansion, "unplayed", 7.0)


def test_a_newcomers_modifiers_grow_in_their_first_period_where_they_were_not_played():
    """Note 3 of the paper, worked out: the root of 200^2 + 70^2."""
    system = jr.category_glicko(2, grows="unplayed", initial_modifier_deviation=200.0, growth=70.0,
                                deviation_max=1e5, modifier_deviation_max=1e5)  # fmt: skip
    events = jr.periods(jr.matches([[0, 1], [1, 0]], [1, 1], category=[[0, 0]] * 2), 14.0)
    deviation = jr.history.modifiers(system, jr.run(system, events).state).deviation
    np.testing.assert_allclose(deviation[:, 1], np.hypot(200.0, 70.0), rtol=1e-6)
    assert (deviation[:, 0] < 200.0).all()


def test_the_slope_by_growth_is_that_of_differences():
    with jax.enable_x64(True):
        events, system = (
            jr.periods(league(4, n=40), 7.0),
            jr.category_glicko(3, "logistic", "map", "unplayed", period=7),
        )
        wide = system.params._replace(deviation_max=400.0, modifier_deviation_max=400.0)
        schedule = jr.extend.schedule_by_level(events)

        def total(growth):
            return jnp.sum(
                jr.run(system, events, params=wide._replace(growth=growth), schedule=schedule).prediction ** 2
            )

        both = jax.jit(lambda growth: jax.jvp(total, (growth,), (1.0,)))
        (low, _), (_, slope), (high, _) = (both(65.0 + step) for step in (-1e-3, 0.0, 1e-3))
        assert abs(slope - (high - low) / 2e-3) < 1e-6 * abs(slope) and slope != 0


def test_modifiers_are_given_with_their_deviations_as_of_a_time():
    system = jr.category_glicko(3)
    played = league(5, n=30)
    state = jr.run(system, jr.periods(played, 14.0)).state
    got = jr.history.modifiers(system, state)
    np.testing.assert_array_equal(got.mean, state.modifiers)
    np.testing.assert_allclose(got.deviation, np.sqrt(state.modifier_variance), rtol=1e-6)
    later = jr.history.modifiers(system, state, time=float(state.time.max()) + 28.0)
    aged = np.asarray(state.time.max() + 28.0 - state.time)[:, None] / 14.0 * 65.0**2
    wanted = np.minimum(np.sqrt(np.asarray(got.deviation) ** 2 + aged), 160.0)
    np.testing.assert_allclose(later.deviation, wanted, rtol=1e-5)
    assert (wanted > got.deviation).any() and (later.mean == got.mean).all()
    one = jr.category_glicko(1)
    alone = jr.history.modifiers(one, one.init(one.params, 2))
    assert not alone.mean.any() and not alone.deviation.any()
    with pytest.raises(ValueError, match="is before the last event of player"):
        jr.history.modifiers(system, state, time=0.0)
    with pytest.raises(ValueError, match="elo has no modifiers; take category_glicko"):
        jr.history.modifiers(jr.elo(), jr.elo().init(jr.elo().params, 2))
