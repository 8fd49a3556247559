"""Whether strengths moved: against twins, on votes of players who did and who did not, and what is refused."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.arena import strength_drift as module
from jaxrate.arena.strength_drift import brownian_bridge_exceedance_probability
from tests.reference import static_twin as twin

POINTS = 400.0 / np.log(10.0)
PLAYERS = 8


def drawn(seed, *, move=0.0, votes=1200, ties=0.0, columns=None, voters=None):
    """Votes in order of time on eight players, of whom player 4 gains `move` points in the middle."""
    random = np.random.default_rng(seed)
    a = random.integers(0, PLAYERS, votes)
    b = (a + random.integers(1, PLAYERS, votes)) % PLAYERS
    strength = np.tile(np.linspace(150, -150, PLAYERS), (votes, 1))
    strength[votes // 2 :, 4] += move
    if voters is not None:
        strength += 250 * random.normal(size=(voters.max() + 1, PLAYERS))[voters]
    row = np.arange(votes)
    won = random.random(votes) < 1 / (1 + np.exp(-(strength[row, a] - strength[row, b]) / POINTS))
    score = np.where(random.random(votes) < ties, 0.5, won)
    return jr.matches(np.stack([a, b], axis=1), score, time=row.astype(float), columns=columns)


def chance(x):
    return 1 / (1 + np.exp(-x))


def test_the_bridges_are_those_of_the_twin(x64):
    votes = drawn(0, votes=300)
    found, moved = jr.arena.fit_strengths(votes), jr.arena.detect_drift(votes)
    rows = [(a, b, s) for (a, b), s in zip(votes.player.tolist(), votes.score.tolist(), strict=True)]
    far = twin.bridges(PLAYERS, rows, (found.rating - 1500) / POINTS, chance)
    np.testing.assert_allclose(moved.p, brownian_bridge_exceedance_probability(far), rtol=1e-6)
    np.testing.assert_allclose(moved.adjusted, np.minimum(PLAYERS * moved.p, 1))
    assert not moved.moved.any() and (moved.players[moved.order[0]] == np.argmin(moved.p))


def test_the_walks_of_clusters_are_those_of_the_twin():
    voter = np.random.default_rng(0).integers(0, 25, 400)
    votes = drawn(0, votes=400, columns={"voter": voter}, voters=voter)
    found, moved = jr.arena.fit_strengths(votes), jr.arena.detect_drift(votes, cluster="voter")
    rows = [(a, b, s) for (a, b), s in zip(votes.player.tolist(), votes.score.tolist(), strict=True)]
    p, error = twin.walks(2, rows, voter, (found.rating - 1500) / POINTS, chance, 3000)
    assert moved.p[2] == pytest.approx(p, abs=0.05) and moved.change_error[2] == pytest.approx(error * POINTS, rel=0.05)
    alone = jr.arena.detect_drift(votes, cluster=np.arange(400))
    np.testing.assert_allclose(alone.change, jr.arena.detect_drift(votes).change, atol=1e-6)
    np.testing.assert_allclose(alone.p, jr.arena.detect_drift(votes).p, atol=0.2)  # the bridge is seen at fewer times


def test_bridges_are_as_far_as_kolmogorov_says():
    random = np.random.default_rng(0)
    steps = random.normal(size=(4000, 400))
    walk = np.cumsum(steps - steps.mean(axis=1, keepdims=True), axis=1)
    far = np.abs(walk).max(axis=1) / 20
    for x in (0.7, 1.0, 1.3581):
        assert brownian_bridge_exceedance_probability(np.array(x)) == pytest.approx(
            (far > x - 0.58 / 20).mean(), abs=0.02
        )
    assert brownian_bridge_exceedance_probability(np.array(1.3581)) == pytest.approx(0.05, abs=1e-4)
    assert brownian_bridge_exceedance_probability(np.array([0.0, 0.2])).tolist() == pytest.approx([1.0, 1.0])


def test_mixtures_are_those_of_the_twin(monkeypatch):
    random = np.random.default_rng(1)
    guesses, score = random.uniform(0.1, 0.9, (3, 50)), random.choice([0.0, 0.5, 1.0], 50)
    monkeypatch.setattr(module, "CHUNK_VOTES", 7)
    loss, share = module.learn_mixture_log_losses_and_weights(guesses, score, np.ones(50))
    wanted, earned = twin.mixture(guesses, score)
    np.testing.assert_allclose(loss, wanted, rtol=1e-12)
    np.testing.assert_allclose(share, earned, rtol=1e-12)
    once = module.learn_mixture_log_losses_and_weights(guesses, score, (np.arange(50) != 20) * 1.0)[1]
    np.testing.assert_allclose(once, twin.mixture(np.delete(guesses, 20, 1), np.delete(score, 20))[1], rtol=1e-12)


def test_one_player_moves():
    votes = drawn(2, move=250.0, votes=3000, ties=0.2)
    moved = jr.arena.detect_drift(votes)
    assert moved.moved.tolist() == [i == 4 for i in range(PLAYERS)]
    assert abs(moved.change[4] - 250) < 3 * moved.change_error[4] and moved.order[0] == 4
    assert (np.abs(np.delete(moved.change, 4)) < 3 * np.delete(moved.change_error, 4)).all()
    assert moved.gain_of_all > 0 and moved.log_bayes_factor > 3 and moved.gain[4] > 2 * moved.gain_error[4]
    assert moved.log_bayes_factor == pytest.approx(3000 * moved.gain_of_all)
    assert moved.static_loss - moved.drifting_loss == pytest.approx(moved.gain_of_all)
    np.testing.assert_allclose(moved.games @ moved.gain, 2 * moved.log_bayes_factor, rtol=1e-6)
    assert "1 of 8 players moved" in repr(moved) and "<table>" in moved._repr_html_()


def alarms(make, sets, monkeypatch, **given):
    """In how many sets somebody is said to have moved."""
    monkeypatch.setattr(
        module, "_static_and_drifting_losses", lambda matches, votes, side: (*np.zeros((2, len(matches.score))), 1, 0)
    )
    monkeypatch.setattr(module, "_build_drift_result", lambda found, votes, change, error, p, adjusted, out, *rest: out)
    return sum(jr.arena.detect_drift(make(seed), **given).any() for seed in range(sets))


@pytest.mark.full  # bridges are those of the twin, and as far as Kolmogorov says
def test_false_alarms_are_as_rare_as_is_said(monkeypatch):
    assert alarms(lambda seed: drawn(seed, votes=600), 100, monkeypatch) <= 11  # 1 in 100 if the rate is 5%


def test_voters_who_come_and_go_hide_no_change():
    voter = np.random.default_rng(0).integers(0, 60, 4000)
    votes = drawn(3, votes=4000, move=250.0, columns={"voter": voter}, voters=voter)
    moved = jr.arena.detect_drift(votes, cluster="voter")
    assert moved.moved.tolist() == [i == 4 for i in range(PLAYERS)] and moved.p[4] < 1e-3


def test_sittings_of_one_voter_raise_alarms_unless_they_count_as_one(monkeypatch):
    voter = np.repeat(np.arange(30), 40)

    def make(seed):
        return drawn(seed, columns={"voter": voter}, voters=voter)

    assert alarms(make, 16, monkeypatch) > 8
    assert alarms(make, 16, monkeypatch, cluster="voter") <= 3


def test_who_cannot_be_compared_did_not_move():
    a, b = np.array([[0, 1], [1, 0]] * 30 + [[0, 2], [3, 4]]).T
    votes = jr.matches(np.stack([a, b], axis=1), [1.0, 1.0, 0.0] * 20 + [1.0, 1.0], time=np.arange(62.0))
    moved = jr.arena.detect_drift(votes, ties="half")
    assert np.isnan(moved.p[2:]).all() and np.isfinite(moved.p[:2]).all() and not moved.moved.any()
    assert moved.games.tolist() == [61, 60, 1, 1, 1] and "3" in moved.table()


def test_two_players_who_moved_apart():
    score = np.repeat([1.0, 0.0], 100)
    score[::7] = 1 - score[::7]
    moved = jr.arena.detect_drift(jr.matches([[0, 1]] * 200, score, time=np.arange(200.0)))
    assert moved.moved.all() and moved.p[0] == pytest.approx(moved.p[1])


@pytest.mark.parametrize(
    ("make", "given", "said"),
    [
        (lambda: jr.arena.count_votes([0], [1], [2], [2]), {}, "and not in VoteCounts: it needs times"),
        (lambda: jr.matches([[0, 1]] * 2, [1.0, 0.0], time=[3.0, 3.0]), {}, "all matches have the same time"),
        (lambda: drawn(0, votes=50), {"level": 1.0}, "level must be above 0"),
        (lambda: drawn(0, votes=50), {"cluster": "voter"}, "no column 'voter'"),
        (lambda: drawn(0, votes=2, columns={"x": [0, 1], "y": [0, 1]}), {"cluster": ["x", "y"]}, "one column"),
        (lambda: jr.matches([[0, 1], [1, 2]], [1.0, 1.0], time=[0.0, 1.0]), {}, "give a prior|no two players"),
    ],
)  # fmt: skip
def test_refusals(make, given, said):
    with pytest.raises(ValueError, match=said):
        jr.arena.detect_drift(make(), **given)
