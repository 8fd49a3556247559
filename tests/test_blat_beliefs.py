"""What the beliefs of BlatMMR say."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from tests.blat import (
    MATCHES,
    POINTS,
    SIZE,
    WIDTH,
    close,
    moments,
    observed,
    on_grid,
    start,
)
from tests.conftest import mark_full
from tests.reference import blat_twin as twin

pytestmark = pytest.mark.usefixtures("double")


def points_of(x):
    return 1500.0 + POINTS * x


def some_beliefs(own):
    """A system and state of five players, on the grid or on supports of their own; supports and beliefs [5, n]."""
    x = np.sort(np.random.default_rng(10).normal(size=(5, 15)), 1) if own else np.tile(on_grid()["x"], (5, 1))
    p = np.random.default_rng(11).dirichlet(np.ones(x.shape[1]), 5)
    if own:
        system = jr.blat_mmr(support=x[0], kernel=None)
        return system, start(system, p, support=x), x, p
    system = jr.blat_mmr(size=SIZE, half_width=WIDTH, kernel=None)
    return system, start(system, p), x, p


@pytest.mark.parametrize("own", mark_full([False, True], False))
def test_quantiles_modes_and_who_is_stronger(own):
    system, state, x, p = some_beliefs(own)
    wanted = np.array([[0.05, 0.5], [0.9, 1.0]])
    direct = [np.interp(wanted, np.cumsum(q) - q / 2, y) for y, q in zip(x, p, strict=True)]
    close(jr.history.blat_mmr_beliefs.belief_quantile(system, state, wanted), points_of(np.array(direct)))
    assert jr.history.blat_mmr_beliefs.belief_quantile(system, state, 0.5).shape == (5,)
    close(jr.history.blat_mmr_beliefs.belief_mode(system, state), points_of(x[np.arange(5), p.argmax(1)]))
    a, b = np.array([0, 1, 4, 2]), np.array([1, 0, 4, 3])
    direct = [twin.expected_score(x[i], p[i], x[j], p[j], twin.heaviside) for i, j in zip(a, b, strict=True)]
    chance = jr.history.blat_mmr_beliefs.probability_stronger(system, state, a, b)
    close(chance, direct)
    close([chance[0] + chance[1], chance[2]], [1.0, 0.5])


def test_beliefs_over_distributions_are_sorted_by_their_means():
    support, inner = np.array([[2.0, 4.0], [-1.0, 1.0], [0.0, 2.0]]), np.full((3, 2), 0.5)
    system = jr.blat_mmr(support=support, inner=inner)
    state = start(system, [[0.2, 0.5, 0.3], [0.6, 0.0, 0.4]])  # means 3, 0, 1
    close(jr.history.blat_mmr_beliefs.belief_mode(system, state), points_of(np.array([0.0, 3.0])))
    close(jr.history.blat_mmr_beliefs.probability_stronger(system, state, [0], [1]), [0.2 * (0.3 + 0.4) + 0.3 * 0.2])
    close(jr.history.blat_mmr_beliefs.belief_quantile(system, state, 0.25)[0], points_of(0.0))
    close(moments(system, state)[0], [0.9, 2.2])


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("draws", [0.0, 0.3])
def test_outcomes(own, draws):
    system, state, x, p = some_beliefs(own)
    matches = jr.matches([[0, 1], [3, 2]], [1.0, 0.0])
    outcomes = jr.history.blat_mmr_beliefs.outcome_probabilities(system, state, matches, draws=draws)
    nu, wanted = 2.0 * draws / (1.0 - draws), []
    for i, j in matches.player:
        win = twin.LUCK["duelyst"](x[i][:, None], x[j])
        three = np.stack([win, nu * np.sqrt(win * (1.0 - win)), 1.0 - win])
        wanted.append(np.einsum("kxy,x,y->k", three / three.sum(axis=0), p[i], p[j]))
    close(outcomes, wanted)
    close(outcomes.sum(axis=1), 1.0)
    if not draws:
        close(outcomes[:, 0], jr.predict(system, state, matches))
        close(outcomes[:, 1], 0.0)


def test_equals_draw_as_often_as_said():
    system = jr.blat_mmr(size=SIZE, half_width=WIDTH, kernel=None)
    point = np.where(np.arange(SIZE) == 80, 1.0, 0.0)
    outcomes = jr.history.blat_mmr_beliefs.outcome_probabilities(
        system, start(system, [point, point]), jr.matches([[0, 1]], [1.0]), draws=0.3
    )
    close(outcomes, [[0.35, 0.3, 0.35]])


def test_evidence_of_wins_is_the_chance_foreseen():
    system = jr.blat_mmr(size=SIZE, half_width=WIDTH, kernel_width=0.2)
    matches = jr.matches(MATCHES.player, np.ones(len(MATCHES.score)))
    prediction, evidence = jr.run(observed(system), matches).prediction
    close(evidence, prediction)
    close(np.prod(evidence), np.exp(np.sum(np.log(prediction))))


def test_evidence_is_the_exact_likelihood_of_a_tree():
    """Where no two players who meet are linked by earlier matches, nothing is lost between matches."""
    x, player, score = np.array([-1.0, 0.2, 0.9]), [[0, 1], [2, 3], [1, 2], [4, 1]], [1.0, 0.5, 0.0, 0.75]
    p = np.random.default_rng(12).dirichlet(np.ones(3), 5)
    system = jr.blat_mmr(support=x, kernel=None)

    def exact(games):
        total = 0.0
        for k in itertools.product(range(3), repeat=5):
            chance = math.prod(p[i][k[i]] for i in range(5))
            for (a, b), theta in games:
                win = twin.LUCK["duelyst"](x[k[a]], x[k[b]])
                chance *= win**theta * (1.0 - win) ** (1.0 - theta)
            total += chance
        return math.log(total)

    def ours(games):
        matches = jr.matches([pair for pair, _ in games], [theta for _, theta in games])
        return float(
            jnp.sum(
                jnp.log(
                    jr.run(
                        jr.history.blat_mmr_beliefs.make_evidence_predicting_system(system),
                        matches,
                        state=start(system, p),
                    ).prediction
                )
            )
        )

    tree = [*zip(player, score, strict=True)]
    close(ours(tree), exact(tree), rtol=1e-13)
    again = [*tree[1:], tree[1]]  # beliefs of two who met are no longer independent, which is not kept
    assert 1e-6 < abs(ours(again) - exact(again)) < 0.1
    p[2:] = np.eye(3)[[0, 2, 1]]  # but against players known for certain all is
    known = [((0, 2), 1.0), ((0, 3), 0.0), ((0, 4), 0.5), ((0, 2), 1.0)]
    close(ours(known), exact(known), rtol=1e-13)
