"""Luck functions of one's own are checked on the host before a system is made of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr


def ahead(by):
    return lambda x, y: jax.nn.sigmoid(x - y + by)


def with_hole(x, y):
    return jnp.where(x - y == 6.0, 0.2, jax.nn.sigmoid(x - y))


def asymmetric(x, y):
    return jax.nn.sigmoid(x - 0.5 * y)


GRID = dict(size=121, half_width=3.0, kernel="none")


@pytest.mark.parametrize(
    ("luck", "message"),
    [
        (
            jr.extend.luck.Luck("sided", ahead(0.2), black=ahead(-0.5)),
            r"luck function sided: White's L\(x, y\) and Black's L\(y, x\) must be 1 together, which fails at 363 of "
            r"363 pairs; furthest off are .*zero_sum=False",
        ),
        (
            jr.extend.luck.Luck("hole", with_hole),
            r"which fails at 2 of 363 pairs; furthest off are L\(-3.0, 3.0\) = 0.0024",
        ),
        (jr.extend.luck.Luck("cubes", lambda x, y: jax.nn.sigmoid(x**3 - y**3)), "cubes: .* give it difference=False"),
        (
            jr.extend.luck.Luck("cubes of two sides", ahead(0.2), black=lambda x, y: jax.nn.sigmoid(x**3 - y**3)),
            "give it difference=False",
        ),
        (jr.extend.luck.Luck("mixed", ahead(0.0), laplace=((1.0, 1.0),)), "it is not the mixture"),
        (jr.extend.luck.Luck("asymmetric", asymmetric, difference=False), r"must be 1 - L\(y, x\), which fails at"),
    ],
)
def test_luck_functions_are_what_they_say_of_themselves(luck, message):
    with pytest.raises(ValueError, match=message):
        jr.blat_mmr(luck, **GRID)


def test_luck_functions_that_say_so_need_not_be_one_together():
    """As in games whose scores do not add up, section 2.1; what is predicted is each player's own."""
    sided = jr.extend.luck.Luck("sided", ahead(0.2), black=ahead(-0.5), zero_sum=False)
    system = jr.blat_mmr(sided, **GRID, beta=1.0)
    state = system.init(system.params, 2)
    matches = jr.matches([[0, 1], [1, 0]], [1.0, 0.0], side=[1.0, -1.0])
    one, two = np.asarray(jr.predict(system, state, matches))
    grid, p = (
        np.asarray(jr.history.blat_mmr_beliefs.belief_grid(system) - 1500.0) / jr.extend.luck.POINTS_PER_NATURAL_UNIT,
        np.asarray(state.belief[0]),
    )
    for got, by in ((one, 0.2), (two, -0.5)):
        np.testing.assert_allclose(got, p @ (1.0 / (1.0 + np.exp(grid[None] - grid[:, None] - by))) @ p, rtol=1e-5)


def test_every_prediction_of_a_game_that_is_not_zero_sum_is_of_one_player(double):
    """Scores L(x, y) of player 0 and L(y, x) of player 1: evidence weighs both, outcomes would need them to be 1."""
    by = {1.0: (0.2, -0.5), -1.0: (-0.5, 0.2)}
    sided = jr.extend.luck.Luck("sided", ahead(0.2), black=ahead(-0.5), zero_sum=False, smooth=True)
    x = np.linspace(-3.0, 3.0, 121)
    difference = x[:, None] - x[None]
    for algorithm in ("naive", "fft", "low_rank"):
        system = jr.blat_mmr(sided, **GRID, algorithm=algorithm, beta=1.0)
        state = system.init(system.params, 2)
        p = np.asarray(state.belief[0])
        score = [1.0, 0.5, 0.0, 0.0]
        matches = jr.matches([[0, 1]] * 3 + [[1, 0]], score, side=[1.0, 1.0, 1.0, -1.0])
        prediction, evidence = (
            np.asarray(jr.predict(one, state, matches))
            for one in (system, jr.history.blat_mmr_beliefs.make_evidence_predicting_system(system))
        )
        for i, side in enumerate((1.0, 1.0, 1.0, -1.0)):
            mine, theirs = (
                1.0 / (1.0 + np.exp(-sign * difference - d)) for sign, d in zip((1, -1), by[side], strict=True)
            )
            np.testing.assert_allclose(prediction[i], p @ mine @ p, rtol=1e-9)
            np.testing.assert_allclose(evidence[i], p @ (mine ** score[i] * theirs ** (1.0 - score[i])) @ p, rtol=1e-9)
        np.testing.assert_allclose(evidence[2], prediction[3], rtol=1e-12)  # player 1's own score, not 1 - player 0's
        assert abs(prediction[0] + prediction[3] - 1.0) > 0.05
        with pytest.raises(ValueError, match="sided has zero_sum=False: expected scores that are not 1 together"):
            jr.history.blat_mmr_beliefs.outcome_probabilities(system, state, matches)


@pytest.mark.parametrize(("name", "lead"), [("trueskill(0.5)", 0.0), ("heaviside", 0.7), ("trueskill(0.3)", 0.9)])
def test_strengths_at_a_jump_are_at_it_by_every_algorithm(x64, name, lead):
    """Margins and leads that are multiples of the step, of the grid and of a support, against whole numbers."""
    unit, grid, points = jr.extend.luck.POINTS_PER_NATURAL_UNIT, dict(size=301, half_width=3.0), np.arange(-150, 151)
    belief = np.random.default_rng(0).dirichlet(np.ones(301), 2)
    steps = {"heaviside": 0, "trueskill(0.5)": 25, "trueskill(0.3)": 15}[name]
    ahead = points[:, None] - points[None] + round(lead / 0.02)
    right = belief[0] @ (0.5 + 0.5 * (ahead > steps) - 0.5 * (ahead < -steps)) @ belief[1]
    for options in ({**grid, "algorithm": "naive"}, {**grid, "algorithm": "fft"}, {"support": 0.02 * points}):
        system = jr.blat_mmr(name, kernel="none", beta=1.0, side_advantage=lead * unit, **options)
        state = system.init(system.params, 2)._replace(belief=jnp.asarray(belief, float))
        got = jr.predict(system, state, jr.matches([[0, 1]], [1.0], side=[1.0]))
        np.testing.assert_allclose(got, right, rtol=0, atol=1e-12 if x64 else 1e-6)


@pytest.mark.parametrize("name", ["heaviside", "trueskill(0.7)", "fide", "coin", "laplace(0.3)"])
def test_jumps_are_functions_of_the_difference(name):
    assert jr.blat_mmr(name, kernel="none").settings["luck"] == name
