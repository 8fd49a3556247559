"""Whom participants of a round are expected to beat, however much their deviations differ; and what systems refuse."""

import math
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri

import jaxrate as jr
from jaxrate.replay.blocks import Block, arrange_blocks
from jaxrate.systems.rounds import expected_wins, pairwise_wins, tabulated_normal_wins
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, mark_full, quick

LOGISTIC = math.pi / math.sqrt(3.0)


def chances(rating, deviation):
    """[P, P] the probability that a normal performance of the first is better, in float64."""
    return ndtr((rating[:, None] - rating[None]) / np.hypot(deviation[:, None], deviation[None]))


def some_players(count, low, high, spread=450.0, seed=0):
    """Ratings and deviations, from `low` to `high`, as float32 holds them."""
    random = np.random.default_rng(seed)
    deviation = np.exp(random.uniform(*np.log([low, high]), count))
    deviation[:2] = low, high
    return (x.astype(np.float32).astype(float) for x in (random.normal(1500.0, spread, count), deviation))


def by_topcoder(rating, deviation, rank):
    """Ratings and deviations after everybody's first contest, by the formulas of the paper, in float64."""
    count = len(rating)
    c = np.sqrt(np.mean(deviation**2) + np.sum((rating - rating.mean()) ** 2) / (count - 1))
    above = chances(rating, deviation).sum(axis=0) / count
    better = (rank + 0.5 * np.bincount(rank)[rank]) / count
    performance = rating + c * (ndtri(above) - ndtri(better))
    v = 0.6 / 0.4 * np.where(rating >= 2500, 0.8, np.where(rating >= 2000, 0.9, 1.0))
    target = (rating + v * performance) / (1 + v)
    cap = (150 + 1500 / 2) * 0.6 / 0.6
    after = np.sqrt((target - rating) ** 2 / v + deviation**2 / (1 + v))
    return np.clip(target, rating - cap, rating + cap), after


@MOSTLY_DOUBLE
@pytest.mark.parametrize(
    ("count", "low", "high"),
    mark_full([(40, 1, 2000), (500, 1, 2000), (1500, 1, 2000), (1500, 60, 1000)], (1500, 1, 2000)),
)
def test_topcoder_is_right_where_deviations_differ(count, low, high, x64):
    """In rounds of all pairs, of tables, and of tables that are put right: to 1e-5 points, and 0.02 in float32."""
    rating, deviation = some_players(count, low, high)
    rank = np.random.default_rng(1).permutation(count)
    system = jr.topcoder()
    state = system.init(system.params, count)._replace(rating=jnp.asarray(rating, float))
    state = state._replace(variance=jnp.asarray(deviation, float) ** 2)
    rounds = jr.rounds(np.zeros(count, int), np.arange(count), rank)
    result = jr.run(system, rounds, state=state)
    wanted = by_topcoder(rating, deviation, rank)
    off = [np.abs(x - y).max() for x, y in zip(jr.ratings(system, result.state), wanted, strict=True)]
    assert max(off) < (1e-5 if x64 else 0.02)
    share = (chances(rating, deviation).sum(axis=1) - 0.5) / (count - 1)
    np.testing.assert_allclose(result.prediction, share, rtol=0, atol=1e-8 if x64 else 1e-5)


@MOSTLY_SINGLE
def test_usual_rounds_need_no_pairs(monkeypatch, x64):
    """Padded ones neither, which would cost the square of their size: the pairs would be NaN here."""

    def nothing(beats, all_of, there):
        return all_of.centre * np.nan, all_of.centre * np.nan

    monkeypatch.setattr(pairwise_wins, "batched_expected_wins_and_losses", nothing)
    rating, deviation = (np.pad(x, (0, 100)) for x in some_players(700, 60, 900))
    there = np.arange(800) < 700

    @quick
    def wins(rating, deviation):
        return expected_wins.expected_normal_wins_and_losses(rating, deviation, jnp.asarray(there), 160)[0]

    usual, one_narrow = (
        np.asarray(wins(jnp.asarray(rating, float), jnp.asarray(x, float)))[:700]
        for x in (deviation, np.append(0.1, deviation[1:]))
    )
    assert np.isfinite(usual).all() and np.isnan(one_narrow).all()


def test_slopes_of_tables_are_those_of_pairs():
    with jax.enable_x64(True):
        everybody = [jnp.asarray(x) for x in some_players(200, 80, 500)]
        weight, there = jnp.asarray(np.random.default_rng(5).normal(size=200)), jnp.ones(200, bool)

        def total(read, rating, deviation):
            return jnp.sum(weight * read(pairwise_wins.PriorPerformances(rating, deviation, None))[0])

        ways = (
            (lambda x: tabulated_normal_wins.interpolated_wins_and_losses(x, there, 160)),
            (lambda x: pairwise_wins.all_expected_wins_and_losses(pairwise_wins.normal_win_probability, x, there)),
        )
        got, wanted = (quick(jax.grad(lambda *x, w=way: total(w, *x), argnums=(0, 1)))(*everybody) for way in ways)
    for x, y in zip(got, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-6 * np.abs(y).max())


@MOSTLY_DOUBLE
def test_logistic_chances_are_right_to_1e_8_whatever_the_deviations(x64, monkeypatch):
    """Against a sum over 30 times as many nodes, for leads of up to 40 scales; by a CPU's program and a GPU's."""
    ratio, lead = np.meshgrid(np.append(np.linspace(0.0, 1.0, 21), [1e-6, 1e-3]), np.geomspace(1e-3, 40.0, 25))
    nodes = 0.025 * np.arange(-1600, 1601)
    weights = expit(nodes) * expit(-nodes) / np.sum(expit(nodes) * expit(-nodes))
    right = expit(lead[..., None] - ratio[..., None] * nodes) @ weights
    for backend, (one, other) in product(("cpu", "gpu"), ((1.0, ratio), (ratio, 1.0))):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        inputs = [jnp.asarray(np.broadcast_to(x, lead.shape), float) for x in (lead, LOGISTIC * one, LOGISTIC * other)]
        ahead, behind = quick(lambda *x: pairwise_wins.logistic_win_probability(*x))(*inputs)
        np.testing.assert_allclose(ahead, right, rtol=0, atol=2e-9 if x64 else 1e-6)
        np.testing.assert_allclose(behind, 1.0 - right, rtol=0, atol=2e-9 if x64 else 1e-6)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("count", [50, 600])
def test_shares_of_logistic_performances_are_right_where_deviations_differ(count, x64):
    """To 2e-4 from a table, to 1e-6 from pairs."""
    there, some = jnp.ones(count, bool), np.arange(0, count, count // 10)
    points = (288 if x64 else 48) * 4 if count > 64 else 48
    function = quick(
        lambda r, s: expected_wins.expected_win_share(expected_wins.expected_logistic_wins(r, s, there, points), there)
    )
    z = np.linspace(-25.0, 25.0, 101)[None]
    density = expit(z) * expit(-z) / np.sum(expit(z) * expit(-z))
    for low, high in ((150, 450), (60, 700), (1, 2000), (1e-3, 1e3), (1e-6, 1e6)):
        rating, deviation = some_players(count, low, high, seed=2)
        got = np.asarray(function(jnp.asarray(rating, float), jnp.asarray(deviation, float)), float)
        wanted, scale = [], deviation / LOGISTIC
        for i in some:  # over the narrower one's performance
            narrow, wide = np.minimum(scale[i], scale), np.maximum(scale[i], scale)
            chance = np.sum(density * expit((rating[i] - rating + narrow * z.T).T / wide[:, None]), axis=1)
            wanted.append((chance.sum() - 0.5) / (count - 1))
        np.testing.assert_allclose(got[some], wanted, rtol=0, atol=2e-4 if count > 64 else 1e-6)
        assert got.min() >= 0.0 and got.max() <= 1.0


SYSTEMS = {
    "elo_mmr": jr.elo_mmr,
    "elo_mmx": jr.elo_mmx,
    "codeforces": jr.codeforces,
    "topcoder": jr.topcoder,
    "trueskill": jr.trueskill,
    "weng_lin": jr.weng_lin,
    "thurstone": lambda: jr.weng_lin("thurstone_mosteller_full"),
}


@MOSTLY_DOUBLE
@pytest.mark.parametrize("ratio", [1e3, 1e6])
@pytest.mark.parametrize("name", ["elo_mmr", "elo_mmx", "topcoder"])
def test_of_two_players_whose_deviations_differ_either_wins(name, ratio, x64):
    random = np.random.default_rng(3)
    noise = {} if name == "topcoder" else {"limit_deviation": 0.1 / ratio}
    system = SYSTEMS[name](**noise)
    rating, deviation = random.normal(0.0, 3.0, 80), ratio ** random.uniform(-1, 1, 80)
    state = system.init(system.params, 80)._replace(rating=jnp.asarray(rating, float))
    state = state._replace(variance=jnp.asarray(deviation, float) ** 2)
    player = np.arange(80).reshape(40, 2)
    one, other = (jr.predict(system, state, jr.matches(x, np.ones(40))) for x in (player, player[:, ::-1]))
    np.testing.assert_allclose(one + other, 1.0, rtol=0, atol=1e-12 if x64 else 1e-6)


@pytest.mark.parametrize(
    ("name", "count"),
    mark_full(
        [*product(SYSTEMS, (2, 90, 600))],
        *((name, 2) for name in SYSTEMS if name not in ("elo_mmx", "thurstone")),  # as elo_mmr and weng_lin do
        ("topcoder", 600),  # tables of logistic performances are those of the test above
    ),
)
def test_shares_are_never_outside_of_0_and_1(name, count):
    """In float32, of players 5,000 points apart, and of one far above all others and one far below."""
    system, random = SYSTEMS[name](), np.random.default_rng(4)
    for spread in (random.normal(0.0, 2500.0, count), np.where(np.arange(count) < count // 2, 0.0, 5000.0)):
        state = system.init(system.params, count)._replace(rating=jnp.asarray(1500 + spread, jnp.float32))
        rounds = jr.rounds(np.zeros(count, int), np.arange(count), np.arange(count))
        share = np.asarray(jr.predict(system, state, rounds))
        assert share.min() >= 0.0 and share.max() <= 1.0
        np.testing.assert_allclose(share.sum(), count / 2, rtol=1e-4)


def run_small_history(system):
    """Two contests of three players, forty of two others who take turns, and one of two newcomers: one program."""
    number = np.append(np.repeat([0, 1], 3), np.repeat(np.arange(2, 43), 2))
    player = [0, 1, 2, 0, 1, 2, *[3, 4] * 40, 5, 6]
    rounds = jr.rounds(number, player, [0, 1, 1, 2, 0, 1, *[0, 1, 1, 0] * 20, 0, 1])
    return jr.run(
        system, rounds, schedule=arrange_blocks(rounds, [Block(np.arange(43, dtype=np.int32)[:, None], (3, 3))])
    )


TINY, HUGE = 1e-30, 1e30
EXTREMES = [
    *[(jr.topcoder, {"weight_new": x}) for x in (1e-9, TINY, 1 - 1e-9)],
    *[(jr.topcoder, {"weight_new": x, "weight_limit": x}) for x in (1 - 1e-9, 1e-9)],
    *[(jr.codeforces, {"weight": x}) for x in (TINY, HUGE)],
    pytest.param(partial(jr.elo_mmr, history=4), {"beta": 200.0, "gamma": 1e-25}, marks=pytest.mark.full),
    (jr.elo_mmx, {"beta": 200.0, "gamma": 1e-25}),
    *mark_full([(jr.elo_mmx, {"weight": x}) for x in (1e-9, 1e9)], (jr.elo_mmx, {"weight": 1e-9})),
    *[pytest.param(jr.elo_mmr, {"weight": x}, marks=pytest.mark.full) for x in (1e-9, 1e9)],
]


@pytest.mark.parametrize(("make", "params"), EXTREMES)
def test_extreme_weights_leave_finite_numbers(make, params):
    """In float32, where 1 - q may be 0; for many contests, of nobody's surprise too."""
    system = make(**params)
    result = run_small_history(system)
    rating, deviation = jr.ratings(system, result.state)
    assert all(np.isfinite(x).all() for x in (rating, deviation, result.prediction) if x is not None)
    if params.get("weight_new", 1.0) < 1e-8:
        np.testing.assert_allclose(np.asarray(deviation)[-2:], 350.0, rtol=1e-5)


@pytest.mark.parametrize("make", mark_full([partial(jr.elo_mmr, history=4), jr.elo_mmx], jr.elo_mmx))
def test_a_beta_that_is_given_stays_whatever_the_drift(make):
    """The contest's noise, and the rating after it, are the same with a drift over no time."""
    fixed, drifting = (make(beta=200.0, gamma=36.0, drift=x) for x in (None, 50.0))
    one, two = (jr.ratings(x, run_small_history(x).state) for x in (fixed, drifting))
    np.testing.assert_allclose(two.mean, one.mean, rtol=1e-6)
    np.testing.assert_allclose(two.deviation, one.deviation, rtol=1e-6)


@pytest.mark.parametrize("name", ["elo_mmr", "codeforces", "topcoder"])
def test_systems_that_know_no_teams_refuse_them(name):
    data = jr.data.from_teams([[["A"], ["B"]], [["A", "B"], ["C", "D"]], [["C", "A"], ["B"]]])
    system = SYSTEMS[name]()
    message = f"row 2 .*{name} knows no teams, but there are in 2 contests, this the first; rate them by .*elo_mmx"
    state = system.init(system.params, 4)
    for call in (
        lambda: jr.run(system, data),
        lambda: jr.run(system, data.rounds),
        lambda: jr.rate(system, data),
        lambda: jr.predict(system, state, data),
        lambda: jr.fit(system, data, free=[next(x for x in system.params._fields if "weight" in x)]),
        lambda: jr.fitting.sweep_parameters(
            system, data, system.params._replace(initial_rating=np.array([1400.0, 1500.0]))
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert jr.run(jr.trueskill(), data).prediction.shape == (9,)
