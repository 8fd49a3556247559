"""What TrueSkill expects, and its arguments."""

import math

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.systems.trueskill.system import State
from tests.conftest import MOSTLY_DOUBLE
from tests.reference import trueskill_twin as twin
from tests.test_trueskill import one_history, random_round

# What is expected


def test_predictions_are_those_of_the_twin(x64):
    rng = np.random.default_rng(3)
    mean, deviation = rng.normal(25.0, 8.0, 60), rng.uniform(0.5, 9.0, 60)
    side = rng.integers(-1, 2, 30)
    matches = jr.matches(np.arange(60).reshape(30, 2), np.full(30, 0.5), side=side)
    system = jr.trueskill(side_advantage=2.0, draw_probability=0.3)
    state = State(mean, deviation**2, None)
    params = twin.Params(draw_probability=0.3)
    players = list(zip(mean, deviation, strict=True))
    wanted = [twin.win_draw_loss(*players[2 * i : 2 * i + 2], params, 2.0 * side[i]) for i in range(30)]
    win, draw, loss = np.array(wanted).T
    full = jr.predict(jr.forecasts.add_outcomes(system), state, matches)
    np.testing.assert_allclose(full.win, np.stack([win, loss], axis=1), atol=1e-12 if x64 else 2e-6)
    np.testing.assert_allclose(full.draw, np.stack([draw, draw], axis=1), atol=1e-12 if x64 else 2e-6)
    np.testing.assert_allclose(jr.predict(system, state, matches), win + 0.5 * draw, atol=1e-12 if x64 else 2e-6)


def by_integrals(teams, weights):
    """(win, rank) of each team, by the densities of all performances on a grid."""
    params = twin.Params()
    x = np.linspace(-400.0, 500.0, 200_001)
    mean = [sum(w * m for w, (m, _) in zip(v, t, strict=True)) for t, v in zip(teams, weights, strict=True)]
    noise = params.tau**2 + params.beta**2
    spread = [
        math.sqrt(sum(w * w * (s * s + noise) for w, (_, s) in zip(v, t, strict=True)))
        for t, v in zip(teams, weights, strict=True)
    ]
    win, rank = [], []
    for k, team in enumerate(teams):
        density = np.exp(-0.5 * ((x - mean[k]) / spread[k]) ** 2) / spread[k] / math.sqrt(2.0 * math.pi)
        ahead, behind = 1.0, 0.0
        for j, other in enumerate(teams):
            if j != k:
                margin = twin.margin_of(params, len(team) + len(other))
                low, high = (twin.ndtr((x + y - mean[j]) / spread[j]) for y in (-margin, margin))
                ahead, behind = ahead * low, behind + 1.0 - 0.5 * (low + high)
        win.append(np.trapezoid(density * ahead, x))
        rank.append(1.0 + np.trapezoid(density * behind, x))
    return win, rank


@MOSTLY_DOUBLE
def test_an_outlook_on_rounds_is_that_by_integrals(x64):
    rng = np.random.default_rng(4)
    rounds = [random_round(rng, n, largest) for n, largest in [(2, 1), (2, 3), (4, 2), (8, 1)]]
    rounds = [(teams, [0] * len(teams), weights) for teams, _, weights in rounds]
    events, state, _ = one_history(rounds)
    got = jax.tree.map(np.asarray, jr.predict(jr.forecasts.add_outcomes(jr.trueskill()), state, events))
    team = 0
    for i, (teams, _, weights) in enumerate(rounds):
        captains = events.player_start[i] + np.cumsum([0, *map(len, teams[:-1])])
        win, rank = by_integrals(teams, weights)
        np.testing.assert_allclose(got.win[captains], win, atol=1e-5)
        np.testing.assert_allclose(got.rank[captains], rank, atol=1e-5)
        np.testing.assert_allclose(got.draw[captains], 1.0 - sum(win), atol=2e-5)
        np.testing.assert_allclose(got.quality[captains], twin.quality(teams, weights), rtol=1e-9 if x64 else 1e-4)
        team += len(teams)


def test_large_rounds_are_predicted_as_small_ones():
    """70 participants, of whom 61 have no chance: the table agrees with the direct sums."""
    rng = np.random.default_rng(5)
    mean, deviation = rng.normal(25.0, 8.0, 70), rng.uniform(0.5, 9.0, 70)
    state = State(mean, deviation**2, None)
    events = jr.rounds(np.zeros(70, int), np.arange(70), np.zeros(70))
    variance = deviation**2 + twin.Params().tau ** 2 + twin.Params().beta ** 2
    spread = np.sqrt(variance[:, None] + variance[None, :])
    margin, ahead = twin.margin_of(twin.Params(), 2), mean[:, None] - mean[None, :]
    share = 0.5 * (twin.ndtr((ahead - margin) / spread) + twin.ndtr((ahead + margin) / spread))
    share = (share.sum(axis=1) - 0.5) / 69
    np.testing.assert_allclose(jr.predict(jr.trueskill(), state, events), share, atol=2e-5)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jr.predict(jr.trueskill(), state, events), share, atol=1e-7)


# Arguments


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"draw_probability": 1.0}, "draw_probability must be 0 to 1, without 1, got 1.0"),
        ({"draw_probability": -0.1}, "draw_probability must be 0 to 1, without 1, got -0.1"),
        ({"draw_probability": math.nan}, "draw_probability must be 0 to 1, without 1, got nan"),
        ({"beta": 0.0}, "beta must be > 0, got 0.0"),
        ({"sigma": 8.0}, "no parameter 'sigma'"),
        ({"sweeps": 0}, "sweeps must be a whole number from 1 to 10000, got 0"),
        ({"sweeps": True}, "sweeps must be a whole number from 1 to 10000, got True"),
    ],
)
def test_bad_parameters(changes, message):
    with pytest.raises(ValueError, match=message):
        jr.trueskill(**changes)
