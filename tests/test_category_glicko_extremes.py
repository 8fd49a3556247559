"""Category Glicko at extremes, idle, and with mistakes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import mark_full, quick
from tests.test_category_glicko import WAYS, league


def extreme(points, digits, system, params):
    """Ratings so many points apart, weights of so many digits on either side of 1, and nothing but upsets."""
    matches, random = league(n=200, players=8), np.random.default_rng(0)
    context = matches.context._replace(weight=10 ** random.uniform(-digits, digits, 200))
    matches = matches._replace(context=context, score=(matches.player[:, 0] > 3) * 1.0)
    state = system.init(params, 8)
    state = state._replace(rating=state.rating + np.linspace(points / 2, -points / 2, 8, dtype=np.float32))
    return jr.run(system, jr.periods(matches, 14.0), params=params, state=state)


@pytest.mark.parametrize(("outcome", "expansion"), mark_full(WAYS, ("probit", "mode")))
def test_extremes_are_finite(outcome, expansion):
    system = jr.category_glicko(3, outcome, expansion)
    result = jax.tree.map(np.asarray, extreme(1e6, 6, system, system.params))
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(result))
    assert np.abs(result.state.rating).max() < 5e6 and np.abs(result.state.modifiers).max() < 5e6
    np.testing.assert_allclose(result.state.modifiers.sum(axis=1), 0, atol=4.0)


@pytest.mark.parametrize(
    ("outcome", "expansion"), [("probit", "mode"), pytest.param("logistic", "map", marks=pytest.mark.full)]
)
def test_slopes_at_extremes_are_finite(outcome, expansion):
    """A sum of slopes is finite only if all of them are."""
    system = jr.category_glicko(3, outcome, expansion)
    params = jax.tree.map(jnp.asarray, system.params)
    ones = jax.tree.map(jnp.ones_like, params)
    _, slope = quick(lambda x: jax.jvp(lambda params: extreme(2e4, 2, system, params), (x,), (ones,)))(params)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(slope))


def test_idle_players_grow_uncertain_in_everything():
    system = jr.category_glicko(2, initial_deviation=100, initial_modifier_deviation=80, deviation_min=None)
    state = jr.run(system, jr.periods(jr.matches([[0, 1]], [1.0], [0.0], category=[[0, 1]]), 14.0), num_players=3).state
    later = quick(lambda x, time: system.rules.advance(system.rules.prepare(system.params), x, time))(
        state, 14.0 + 28.0
    )
    grown = np.asarray(later.variance) - np.asarray(state.variance)
    np.testing.assert_allclose(grown, [2 * 65.0**2] * 2 + [0.0], rtol=1e-5)
    np.testing.assert_allclose(jr.ratings(system, state, time=1e6).deviation, [160.0, 160.0, 100.0], rtol=1e-6)
    assert float(state.modifier_variance[0, 0]) == pytest.approx(80.0**2)  # against a category not played


ODD = jr.matches([[0, 1], [1, 2]], [1.0, 0.0], category=[[0, 1], [2, 0]])
STATE, STATE_OF_TWO = (system.init(system.params, 3) for system in (jr.category_glicko(), jr.category_glicko(2)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jr.category_glicko(0), "categories must be a whole number from 1 to 1000, got 0"),
        (lambda: jr.category_glicko(2.0), "categories must be a whole number from 1 to 1000, got 2.0"),
        (lambda: jr.category_glicko(outcome="normal"), "outcome must be probit or logistic, got 'normal'"),
        (lambda: jr.category_glicko(expansion="MAP"), "expansion must be mode or map, got 'MAP'"),
        (lambda: jr.category_glicko(grows="none"), "grows must be all or unplayed, got 'none'"),
        (lambda: jr.category_glicko(deviation_max=100), "deviation_min, initial_deviation and deviation_max must not"),
        (lambda: jr.category_glicko(modifier_deviation_max=100), "deviation_min, initial_modifier_deviation and modif"),
        (lambda: jr.category_glicko(deviation_max=None), "deviation_max must be > 0, got None"),
        (lambda: jr.run(jr.category_glicko(), ODD), "rates Periods, not Matches; group them by periods"),
        (
            lambda: jr.run(jr.category_glicko(2), jr.periods(ODD, 14.0)),
            r"row 1 \(counting from 0\): category 2, counting from 0, but category_glicko has 2 of them",
        ),
        (lambda: jr.predict(jr.category_glicko(2), STATE_OF_TWO, ODD), "row 1 .* category 2"),
        (
            lambda: jr.predict(jr.category_glicko(4), STATE, ODD),
            "the state is of category_glicko with other settings",
        ),
        (
            lambda: jr.predict(jr.category_glicko(), STATE, jr.rounds([0, 0], [0, 1], [1, 2])),
            "category_glicko predicts Matches, not Rounds",
        ),
        (
            lambda: jr.run(jr.category_glicko(), jr.periods(jr.matches([[0, 1]], [1.0]), 14.0)),
            "needs the categories of both players of every match",
        ),
        (
            lambda: jr.run(jr.category_glicko(), jr.periods(league(categories=2, mixed=True), 14.0)),
            "shares of 2 categories, but category_glicko has 3",
        ),
        (
            lambda: jr.matches([[0, 1]] * 2, [1, 1], category=[[[0.5, 0.5]] * 2, [[0.5, 0.5], [0.5, 0.4]]]),
            r"row 1 .*the shares of categories of player 1 are \[0.5, 0.4\]",
        ),
        (
            lambda: jr.matches([[0, 1]], [1], category=[[[1.5, -0.5], [1.0, 0.0]]]),
            r"row 0 .*of player 0 are \[1.5, -0.5\]; they are from 0 and sum to 1",
        ),
        (lambda: jr.matches([[0, 1]], [1], category=[[[np.nan, 1], [1, 0]]]), "row 0 .*of player 0 are"),
        (lambda: jr.matches([[0, 1]], [1], category=np.ones((1, 3, 2))), r"category has shape \(1, 3, 2\)"),
        (lambda: jr.matches([[0, 1]], [1], category=[[0, -1]]), "row 0 .*category is"),
    ],
)
def test_mistakes_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()
