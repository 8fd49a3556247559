"""Skills of teams beside other models: matches of skills, TrueSkill, an integral and a dense Kalman filter."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.testing.cases import assert_close_leaves
from tests.test_skills_teams import MODIFIERS, MORE, PARTS, SEASONS, history
from tests.test_trueskill import GOLDEN, flat, one_history


@pytest.mark.full  # the twin has them all
@pytest.mark.parametrize("outcome", ["win", "draws", "margin"])
def test_teams_of_one_are_matches(double, outcome):
    random, n = np.random.default_rng(1), 150
    player = np.array([random.permutation(9)[:2] for _ in range(n)])
    score, time = random.integers(0, 3, n) / 2, np.sort(random.uniform(0, 120, n))
    points, category = random.integers(0, 9, (n, 2)), random.integers(0, 2, (n, 2))
    settings = {"categories": 2, "seasons": SEASONS, **PARTS, **MODIFIERS, **MORE}
    settings |= {"win": {}, "draws": {"draw_margin": 70.0}, "margin": {"outcome": "margin", "compression": 6.0}}[
        outcome
    ]
    columns = {"margin": points[:, 0] - points[:, 1]}
    of_matches = jr.run(jr.skills(**settings), jr.matches(player, score, time, category=category, columns=columns))
    rank, contest = np.stack([1.0 - score, score], axis=1).ravel(), np.repeat(np.arange(n), 2)
    rounds = jr.rounds(
        contest, player.ravel(), rank, time=np.repeat(time, 2), category=category[:, ::-1].ravel(),
        columns={"margin": points.ravel()},
    )  # fmt: skip
    of_rounds = jr.run(jr.skills(**settings, team_noise=100.0), rounds)
    assert_close_leaves("the state", of_rounds.state, of_matches.state, 1e-10)
    np.testing.assert_allclose(of_rounds.prediction[::2], of_matches.prediction, atol=1e-12)


def like_trueskill(**changes):
    """Systems of the two kinds whose hyperparameters correspond."""
    trueskill = jr.trueskill(**changes)
    params = trueskill.params
    margin = float(2.0**0.5 * trueskill.rules.prepare(params).margin)
    own = {"initial_rating": params.initial_rating, "initial_deviation": params.initial_deviation}
    noise = 2.0**0.5 * params.beta
    return trueskill, jr.skills(growth=0.0, noise=noise, match_growth=params.tau, draw_margin=margin, **own)


@pytest.mark.full  # the twin has it
def test_one_skill_is_trueskill(double):
    trueskill, skills = like_trueskill(
        beta=200.0, tau=9.0, draw_probability=0.2, initial_rating=30, initial_deviation=130
    )
    rounds = history(n=80)
    wanted, got = (jr.run(jr.forecasts.add_outcomes(system), rounds) for system in (trueskill, skills))
    beliefs = got.state.mean, got.state.covariance
    assert_close_leaves("the state", beliefs, (wanted.state.rating, wanted.state.variance), 1e-9)
    assert_close_leaves("predictions", got.prediction[:3], wanted.prediction[:3], 1e-9)  # quality knows no drift there


@pytest.mark.full  # the twin and the integral have it
def test_rounds_of_the_trueskill_package(double):
    _, skills = like_trueskill()
    small = [(case["teams"], case["ranks"], case.get("weights")) for case in GOLDEN["rounds"] if len(case["teams"]) < 9]
    wanted = flat(case["out"] for case in GOLDEN["rounds"] if len(case["teams"]) < 9)
    rounds, before, _ = one_history(small)
    state = skills.init(skills.params, len(wanted))
    state = state._replace(mean=jnp.asarray(before.rating), covariance=jnp.asarray(before.variance))
    after = jr.ratings(skills, jr.run(skills, rounds, state=state).state)
    np.testing.assert_allclose(np.stack([after.mean, after.deviation], axis=1), wanted, rtol=1e-6)


def exact_beliefs(mean, size, rank, deviation, draw_margin):
    """Means and deviations of a member of each of three teams of `size`, by integration on a grid of performances.

    Members have the mean of their team divided by its size, and noise of deviation 1. Neighbours in the standing count.
    """
    order, x = np.argsort(rank, kind="stable"), np.linspace(-12.0, 12.0, 81)
    variance, grid = size * (deviation**2 + 1.0), np.meshgrid(x, x, x, indexing="ij")
    density = np.exp(sum(-0.5 * (z - m) ** 2 / v for z, m, v in zip(grid, mean, variance, strict=True)))
    for first, second in itertools.pairwise(order):
        margin = draw_margin * np.sqrt((size[first] + size[second]) / 2.0)
        lead, step = grid[first] - grid[second], x[1] - x[0]
        beyond = [np.clip((sign * lead - margin) / step + 0.5, 0.0, 1.0) for sign in (1.0, -1.0)]
        density = density * (beyond[0] if rank[first] != rank[second] else 1.0 - sum(beyond))
    density /= density.sum()
    moments = [((density * z).sum(), (density * z * z).sum()) for z in grid]
    kept = deviation**2 / variance  # of what is learnt of a team's performance, by a member
    means = [m / n + k * (first - m) for m, n, k, (first, _) in zip(mean, size, kept, moments, strict=True)]
    squares = [second - first**2 for first, second in moments]
    return means, np.sqrt(deviation**2 - kept**2 * (variance - squares))


def test_standings_of_three_teams_are_those_of_an_integral(double):
    """All thirteen, with ties. (trueskillthroughtime 1.1.0 takes some for other teams, see experiments.)"""
    mean, size, deviation = np.array([0.5, -0.6, 0.2]), np.array([1, 2, 1]), 2.0
    standings = [x for x in itertools.product(range(3), repeat=3) if {*x} == {*range(len({*x}))}]
    system = jr.skills(noise=2.0**0.5, initial_rating=0.0, initial_deviation=deviation, growth=0.0, deviation_max=1e4,
                       draw_margin=0.5)  # fmt: skip
    team = np.array([0, 1, 1, 2])
    contest, member = np.repeat(np.arange(13), 4), np.tile(np.arange(4), 13)
    rank = np.array(standings)[contest, team[member]]
    state = system.init(system.params, 52)
    state = state._replace(mean=jnp.asarray((mean / size)[team[member]]))
    found = jr.ratings(
        system, jr.run(system, jr.rounds(contest, 4 * contest + member, rank, team=team[member]), state=state).state
    )
    wanted = np.array([exact_beliefs(mean, size, np.array(x), deviation, 0.5) for x in standings])  # [13, 2, 3]
    np.testing.assert_allclose(np.reshape(found.mean, (13, 4)), wanted[:, 0][:, team], atol=0.005)
    np.testing.assert_allclose(np.reshape(found.deviation, (13, 4)), wanted[:, 1][:, team], atol=0.005)


def test_margins_are_a_dense_kalman_filter(double):
    """Of one contest of four teams, whose points are a level of which nothing is known and their performances."""
    team, points = np.array([0, 0, 1, 1, 1, 2, 3]), np.array([7.0, 7, 2, 2, 2, 12, -3])
    rounds = jr.rounds(np.zeros(7, int), np.arange(7), -points, team=team, columns={"margin": points})
    noise, deviation, scale = 250.0, 180.0, 20.0
    got = jr.run(jr.skills("margin", initial_deviation=deviation, noise=noise, margin_scale=scale), rounds).state
    members = (team[None, :] == np.arange(4)[:, None]) * 1.0
    noises = np.diag(members.sum(axis=1) * noise**2 / 2.0)
    differences = members[:-1] - members[1:]
    d = np.eye(4)[:-1] - np.eye(4)[1:]
    mean, P = np.full(7, 1500.0), np.eye(7) * deviation**2
    gain = P @ differences.T @ np.linalg.inv(differences @ P @ differences.T + d @ noises @ d.T)
    mean, P = mean + gain @ (scale * d @ points[[0, 2, 5, 6]] - differences @ mean), P - gain @ differences @ P
    np.testing.assert_allclose(got.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(got.covariance, np.diag(P), rtol=1e-10)
