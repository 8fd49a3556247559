"""Elo-MMR, Elo-MMX, Codeforces and TopCoder against the authors' program and the slow twin, and their sums by force."""

import math
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate import numerics
from jaxrate.events import Rounds
from tests.reference import elo_mmr_twin as twin

LOGISTIC = math.pi / math.sqrt(3.0)


def as_rounds(contests, shift=0, **options):
    """`Ragged` rounds of the twin's."""
    columns = []
    for i, c in enumerate(contests):
        n = len(c.players)
        columns.append([np.full(n, i), c.players, c.rank, *(np.broadcast_to(x, n) for x in c[2:])])
    contest, player, rank, weight, time, ceiling = (np.concatenate(x) for x in zip(*columns, strict=True))
    return jr.rounds(contest, player, rank, **{"weight": weight, "time": time, "ceiling": ceiling} | options)


def rated(system, rounds, num_players):
    """Mean and deviation of every player."""
    state = jr.run(system, rounds, num_players=num_players).state
    return jax.tree.map(np.asarray, jr.ratings(system, state))


# The authors' program

GOLDEN = twin.golden()
SETTINGS = [*GOLDEN["toyA"]["runs"]]
COPIES = [(name, k + 1) for name in GOLDEN for k in range(len(GOLDEN[name]["contests"]))]
PLAYERS = 7  # of a history


@lru_cache
def beginnings(ceilings):
    """Each history as far as each of its contests, all in one: by players of their own."""
    contests = []
    for i, (name, length) in enumerate(COPIES):
        for contest in twin.contests(GOLDEN[name])[:length]:
            contests.append(contest._replace(players=np.array(contest.players) + PLAYERS * i))
    contests.sort(key=lambda contest: contest.time)
    return as_rounds(contests, **({} if ceilings else {"ceiling": None}))


def wanted(setting):
    """Mean and deviation of every player of `beginnings`, as his last contest left him."""
    result = []
    for name, length in COPIES:
        run = GOLDEN[name]["runs"][setting]
        table = np.tile([float(run["mu0"]), float(run["sig0"])], (PLAYERS, 1))
        e = run["events"]
        for contest, player, *row in zip(e["contest"], e["player"], e["mu"], e["sig"], strict=True):
            if contest < length:
                table[ord(player) - ord("a")] = row
        result.append(table)
    return np.concatenate(result).T


@pytest.mark.parametrize("setting", [x for x in SETTINGS if x not in ("mmrsimple_drift50", "mmrsimple_iowa")])
def test_the_authors_program_agrees_after_every_contest(setting, x64):
    factory, settings = twin.translate(GOLDEN["toyA"]["runs"][setting])
    if factory == "elo_mmr":  # 4 contests need no more, and so less of them has to be compiled
        settings["history"] = min(settings.get("history", 5), 5)
    system = getattr(jr, factory)(**settings)
    got = rated(system, beginnings(factory != "elo_mmx"), PLAYERS * len(COPIES))  # their Elo-MMX knows no ceilings
    mean, deviation = wanted(setting)
    assert len(np.unique(mean.round(3))) > 20
    for x, y in ((got.mean, mean), (got.deviation, deviation)):
        if x is not None:
            np.testing.assert_allclose(x, y, **({"rtol": 1e-10} if x64 else {"atol": 0.02}))


# Performances


def infer_round(infer, mu, delta, weight, rank, split_ties, points):
    return infer(mu, delta, Rounds(rank, rank, rank, weight, jnp.zeros(())), split_ties, points)


# Histories


@lru_cache
def league(ceilings=True):
    """(rounds of the twin, players): 12 contests of 5 to 300 participants, with ties, weights and ceilings."""
    rng, players = np.random.default_rng(11), 320
    skill = rng.normal(1500.0, 300.0, players)
    contests = []
    for k, size in enumerate([300, 5, 40, 300, 12, 150, 290, 7, 300, 90, 260, 25]):
        who = rng.permutation(players)[:size]
        score = np.round((skill[who] + rng.normal(0.0, 250.0, size)) / 20.0)
        rank = (score[None, :] > score[:, None]).sum(axis=1)
        ceiling = 1900.0 if ceilings and k % 4 == 1 else math.inf
        contests.append(twin.Round(who, rank, rng.choice([0.5, 1.0, 2.0]), 3.5 * k + rng.uniform(0.0, 3.0), ceiling))
    return contests, players


@pytest.mark.parametrize(
    ("factory", "settings"),
    [
        ("elo_mmr", {"history": 4, "newcomer": (0.6, 0.8), "drift": 30.0, "rho": 0.5}),
        ("elo_mmx", {"newcomer": (0.6, 0.8), "drift": 30.0, "split_ties": True}),
        ("codeforces", {"beta": 280.0, "weight": 0.7}),
        ("topcoder", {"initial_deviation": 400.0}),
    ],
)
def test_a_history_of_contests_of_any_size_equals_the_twin(factory, settings):
    contests, players = league(ceilings=factory != "elo_mmx")
    trace = getattr(twin, factory)(contests, players, **settings)
    assert (np.bincount(np.concatenate([x.players for x in contests])) > 4).sum() > 200
    with jax.enable_x64(True):
        got = rated(getattr(jr, factory)(**settings), as_rounds(contests), players)
    print(
        "HISTORY",
        factory,
        np.abs(got.mean - trace.rating).max(),
        got.deviation is not None and np.abs(got.deviation - trace.deviation).max(),
    )
    np.testing.assert_allclose(got.mean, trace.rating, rtol=1e-9)
    if got.deviation is not None:
        np.testing.assert_allclose(got.deviation, trace.deviation, rtol=1e-9)


@pytest.mark.parametrize("factory", [partial(jr.elo_mmr, history=5), jr.elo_mmx])
def test_beta_and_gamma_stand_for_a_weight_and_a_limit(factory):
    weight, limit = 0.2, 80.0
    one, other = factory(), factory(beta=math.sqrt(1.0 + 1.0 / weight) * limit, gamma=math.sqrt(weight) * limit)
    with jax.enable_x64(True):
        a, b = (x.rules.prepare(x.params) for x in (one, other))
        np.testing.assert_allclose([b.weight, b.limit], [a.weight, a.limit], rtol=1e-14)
        got, same = (rated(x, beginnings(x.name != "elo_mmx"), PLAYERS * len(COPIES)) for x in (one, other))
    np.testing.assert_allclose(same, got, rtol=1e-12)


# Expected places


# Numerics


def test_hazards_have_finite_derivatives_far_out(x64):
    z = jnp.array([s * x for s in (-1.0, 1.0) for x in (0.0, 50.0, 1e4, 1e8, 1e15)])
    first = jax.jit(jax.jacrev(lambda z: jnp.stack(numerics.hazards(z))))(z)
    second = jax.jit(jax.jacfwd(jax.jacrev(lambda z: jnp.sum(jnp.stack(numerics.hazards(z)), axis=1))))(z)
    assert np.isfinite(first).all() and np.isfinite(second).all()


@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (64, 3), (65,), (100, 2, 4), (1000,)])
def test_sums_before(shape, x64):
    x = np.random.default_rng(7).normal(size=shape).astype(np.float32)
    wanted = np.cumsum(x, axis=0, dtype=float) - x
    got = numerics.sums_before(jnp.asarray(x, float))
    assert got.shape == shape and got.dtype == (jnp.float64 if x64 else jnp.float32)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=(1e-13 if x64 else 1e-5) * math.sqrt(len(x)))
    assert (np.asarray(got[0]) == 0.0).all()


@pytest.mark.parametrize("make", [partial(jr.elo_mmr, history=2, drift=20.0), jr.elo_mmx, jr.codeforces, jr.topcoder])
def test_slopes_in_every_parameter_with_padded_rounds(make):
    """Padded steps hold nobody: what they compute must not reach a derivative."""
    rounds = jr.rounds([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 3], [0, 1, 2, 2, 0, 1], time=[0, 0, 0, 3, 3, 3])
    system = make()
    with jax.enable_x64(True):
        params = jax.tree.map(lambda x: jnp.asarray(x, float), system.params)

        def f(params):
            return jnp.sum(jr.run(system, rounds, params=params).state.rating * jnp.arange(1.0, 5.0))

        slopes = jax.grad(f)(params)
        for name, value in params._asdict().items():
            if value is not None:
                h = 1e-4 * max(1.0, abs(float(value)))
                low, high = (f(params._replace(**{name: value + sign * h})) for sign in (-1, 1))
                np.testing.assert_allclose(getattr(slopes, name), (high - low) / (2 * h), rtol=1e-5, err_msg=name)
