"""What is certain of strengths: ranks that hold together, groups, votes still needed; sequential tests."""

import math

import numpy as np
import pytest
from scipy.special import kolmogorov

import jaxrate as jr
from jaxrate.arena import sequential_testing
from jaxrate.arena import strength_drift as module
from jaxrate.arena.newton import outcome_probabilities, vote_information
from tests.conftest import draw_pairs, mark_full
from tests.reference import static_twin as twin


def table(wins=60, games=100, n=5, spread=0.5, seed=0, repeat=1):
    random = np.random.default_rng(seed)
    a, b = np.triu_indices(n, 1)
    won = random.binomial(games, 1 / (1 + np.exp(spread * (a - b))))
    return jr.arena.count_votes(a, b, won * repeat, (games - won) * repeat)


def test_rank_sets_of_what_is_clear_and_of_what_is_not():
    clear = jr.arena.rank_sets(jr.arena.fit_strengths(table(games=5000)))
    assert clear.least.tolist() == clear.greatest.tolist() == [1, 2, 3, 4, 5]
    assert [group.tolist() for group in clear.groups] == [[0], [1], [2], [3], [4]]
    unclear = jr.arena.rank_sets(jr.arena.fit_strengths(table(games=4, spread=0.0)))
    assert set(unclear.least) == {1} and set(unclear.greatest) == {5}
    assert [sorted(group.tolist()) for group in unclear.groups] == [[0, 1, 2, 3, 4]]
    assert "1 to 5" in repr(unclear) and "<td" in unclear._repr_html_()


def test_rank_sets_step_down_from_the_definition():
    found = jr.arena.fit_strengths(table(games=60, n=6, seed=6))
    ranks = jr.arena.rank_sets(found, samples=20_000, seed=1)
    random, n = np.random.default_rng(7), 6
    drawn = random.multivariate_normal(np.zeros(n), found.covariance, 20_000, check_valid="ignore")
    pairs = [(j, k) for j in range(n) for k in range(n) if j != k]
    error = {(j, k): found.difference(j, k)[1] for j, k in pairs}
    sure = set()
    while True:
        rest = [pair for pair in pairs if pair not in sure]
        largest = np.max([(drawn[:, j] - drawn[:, k]) / error[j, k] for j, k in rest], axis=0)
        bound = np.quantile(largest, 0.95)
        more = {(j, k) for j, k in rest if found.difference(j, k)[0] / error[j, k] > bound}
        if not more:
            break
        sure |= more
    np.testing.assert_array_equal(ranks.surely_better, [[(j, k) in sure for k in range(n)] for j in range(n)])
    assert 0 < len(sure) < 15
    np.testing.assert_array_equal(ranks.least, [1 + sum((k, j) in sure for k in range(n)) for j in range(n)])
    np.testing.assert_array_equal(ranks.greatest, [n - sum((j, k) in sure for k in range(n)) for j in range(n)])


def test_rank_sets_of_anchors_replicates_and_players_without_a_rating():
    votes = table(games=60)
    held = jr.arena.rank_sets(jr.arena.fit_strengths(votes, anchors={0: 1700.0, 4: 1300.0}))
    assert held.surely_better[0, 4] and not held.surely_better[4, 0]
    drawn = jr.arena.rank_sets(jr.arena.fit_strengths(votes, errors="bootstrap", samples=300))
    plain = jr.arena.rank_sets(jr.arena.fit_strengths(votes))
    assert (np.abs(drawn.least - plain.least) <= 1).all() and (np.abs(drawn.greatest - plain.greatest) <= 1).all()
    more = jr.arena.count_votes([0, 1, 2, 0], [1, 2, 0, 3], [900, 900, 10, 5], [10, 10, 900, 0])
    free = jr.arena.rank_sets(jr.arena.fit_strengths(more))
    assert (free.least[3], free.greatest[3]) == (1, 4) and free.greatest[:3].max() == 4


def test_differences_and_votes_still_needed():
    votes = table(games=20, spread=0.2)
    found = jr.arena.fit_strengths(votes)
    points, error = found.difference(0, 2)
    assert points == found.rating[0] - found.rating[2]
    assert found.probability_better(0, 2) == pytest.approx(0.5 * math.erfc(-points / error / math.sqrt(2)))
    assert found.probability_better(0, 2) + found.probability_better(2, 0) == pytest.approx(1.0)
    needed = jr.arena.votes_needed(found, 0, 2)
    won = 1 / (1 + 10 ** (-points / 400))
    a, b = votes.player.T

    def after(more):
        same = jr.arena.count_votes([*a, 0], [*b, 2], [*votes.wins, more * won], [*votes.losses, more * (1 - won)])
        points, error = jr.arena.fit_strengths(same).difference(0, 2)
        return points / error

    assert after(needed - 1) < 1.95996 + 0.84162 <= after(needed)
    assert jr.arena.votes_needed(jr.arena.fit_strengths(table(games=5000)), 0, 4) == 0
    assert jr.arena.votes_needed(found, 0, 2, difference=0.0) == math.inf


@pytest.mark.parametrize("errors", ["sandwich", "bootstrap"])
def test_four_votes_that_are_one_tell_what_one_tells(errors):
    votes = drawn(0, votes=400)
    copies = jr.matches(np.repeat(votes.player, 4, axis=0), np.repeat(votes.score, 4))
    needed = []
    for x, cluster in (votes, np.arange(400)), (copies, np.repeat(np.arange(400), 4)):
        found = jr.arena.fit_strengths(x, cluster=cluster, errors=errors, samples=200)
        needed.append(jr.arena.votes_needed(found, 0, 1, difference=40.0))
    assert needed[1] == pytest.approx(4 * needed[0], abs=4) and needed[0] > 100


@pytest.mark.parametrize("model", ["bradley_terry", "davidson", "rao_kupper"])
def test_the_information_of_a_vote_is_its_mean_squared_slope(model):
    for eta in (-1.5, 0.0, 0.4):
        ends = [np.array(outcome_probabilities(model, eta + step, 0.7)) for step in (-1e-5, 0.0, 1e-5)]
        slope = (ends[2] - ends[0]) / 2e-5
        possible = ends[1] > 0
        information = (slope[possible] ** 2 / ends[1][possible]).sum()
        assert vote_information(model, eta, 0.7) == pytest.approx(information, rel=1e-6)


def likeliest(points, frequency, strength):
    """The largest log likelihood of three results whose strength, a function of p, is 0: by golden sections."""

    def of(draw):
        low, high = 0.0, 1.0 - draw
        for _ in range(100):  # the strength rises with the share of wins
            win = 0.5 * (low + high)
            p = np.array([1.0 - draw - win, draw, win])
            low, high = (win, high) if strength(p) < 0 else (low, win)
        return frequency @ np.log(np.maximum(p, 1e-300)), p

    low, high, golden = 1e-9, 1.0 - 1e-9, (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(120):
        one, two = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, two) if of(one)[0] > of(two)[0] else (one, high)
    return of(0.5 * (low + high))[1]


@pytest.mark.parametrize("kind", ["normalised", "logistic"])
@pytest.mark.parametrize("counts", mark_full([((30, 50, 40),), ((5, 200, 9),), ((300, 10, 290),)], ((30, 50, 40),)))
def test_the_ratio_is_that_of_constrained_maxima(kind, counts):
    points, frequency = np.array([0.0, 0.5, 1.0]), np.array(counts) / sum(counts)

    def strength(elo):
        def of(p):
            mean = p @ points
            if kind == "logistic":
                return mean - 1 / (1 + 10 ** (-elo / 400))
            deviation = math.sqrt(max(p @ points**2 - mean**2, 1e-300))
            return (mean - 0.5) - elo / sequential_testing.NORMALISED_ELO_UNIT * deviation

        return of

    p0, p1 = (likeliest(points, frequency, strength(elo)) for elo in (-3.0, 12.0))
    wanted = np.array(counts) @ np.log(p1 / p0)
    assert jr.arena.sprt(counts, -3.0, 12.0, kind=kind).llr == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_sequential_tests_end():
    assert jr.arena.sprt([200, 800, 360], 0, 5).decision == "H1"
    assert jr.arena.sprt([360, 800, 200], 0, 5).decision == "H0"
    going = jr.arena.sprt([100, 400, 104], 0, 5)
    assert going.decision == "continue" and going.lower == -going.upper == pytest.approx(math.log(0.05 / 0.95))
    assert going.games == 604 and going.score == pytest.approx((200 + 104) / 604)
    assert 0.5 < going.probability_better < 0.7
    pairs = jr.arena.pentanomial([1, 0.5, 0, 1, 0.5, 0.5, 0, 0])
    assert pairs.tolist() == [1, 0, 2, 1, 0]
    assert jr.arena.sprt(pairs, 0, 5).games == 8
    singles = np.random.default_rng(0).choice([0.0, 0.5, 1.0], 4000, p=[0.2, 0.55, 0.25])
    five = jr.arena.sprt(jr.arena.pentanomial(singles), 0, 5)
    three = jr.arena.sprt(np.bincount((2 * singles).astype(int)), 0, 5)
    assert five.normalised_elo == pytest.approx(three.normalised_elo, rel=0.05)  # independent games
    assert five.llr == pytest.approx(three.llr, rel=0.1)


# Whether strengths moved: against twins, on votes of players who did and who did not, and what is refused.

POINTS = 400.0 / np.log(10.0)
PLAYERS = 8


def drawn(seed, *, move=0.0, votes=1200, ties=0.0, columns=None, voters=None):
    """Votes in order of time on eight players, of whom player 4 gains `move` points in the middle."""
    random = np.random.default_rng(seed)
    a, b = draw_pairs(random, PLAYERS, votes).T
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
    np.testing.assert_allclose(moved.p, kolmogorov(far), rtol=1e-6)
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


def test_voters_who_come_and_go_hide_no_change():
    voter = np.random.default_rng(0).integers(0, 60, 4000)
    votes = drawn(3, votes=4000, move=250.0, columns={"voter": voter}, voters=voter)
    moved = jr.arena.detect_drift(votes, cluster="voter")
    assert moved.moved.tolist() == [i == 4 for i in range(PLAYERS)] and moved.p[4] < 1e-3


def test_who_cannot_be_compared_did_not_move():
    a, b = np.array([[0, 1], [1, 0]] * 30 + [[0, 2], [3, 4]]).T
    votes = jr.matches(np.stack([a, b], axis=1), [1.0, 1.0, 0.0] * 20 + [1.0, 1.0], time=np.arange(62.0))
    moved = jr.arena.detect_drift(votes, ties="half")
    assert np.isnan(moved.p[2:]).all() and np.isfinite(moved.p[:2]).all() and not moved.moved.any()
    assert moved.games.tolist() == [61, 60, 1, 1, 1] and "3" in moved.table()


def test_sittings_of_one_voter_raise_alarms_unless_they_count_as_one(monkeypatch):
    nothing = np.zeros(1200)
    monkeypatch.setattr(module, "_static_and_drifting_losses", lambda *_: (nothing, nothing, 1, 0))
    monkeypatch.setattr(module, "_build_drift_result", lambda found, votes, tests, *rest: tests[-1])
    voter = np.repeat(np.arange(30), 40)
    sets = [drawn(seed, columns={"voter": voter}, voters=voter) for seed in range(16)]
    assert sum(jr.arena.detect_drift(votes).any() for votes in sets) > 8
    assert sum(jr.arena.detect_drift(votes, cluster="voter").any() for votes in sets) <= 3


def fitted(*counts):
    return jr.arena.fit_strengths(jr.arena.count_votes(*counts) if counts else table())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: jr.arena.rank_sets(fitted(), level=1.0), "level must be"),
        (lambda: jr.arena.rank_sets(fitted()._replace(covariance=None)), "no covariance"),
        (lambda: fitted([0, 1, 0], [1, 0, 2], [2, 1, 1], [0] * 3).difference(0, 2), "no finite rating"),
        (lambda: jr.arena.sprt([1, 2], 0, 5), "3 counts of games or 5"),
        (lambda: jr.arena.sprt([0, 0, 0], 0, 5), "there is no game"),
        (lambda: jr.arena.sprt([1, -2, 3], 0, 5), "row 1 .*-2, below 0"),
        (lambda: jr.arena.pentanomial([1, 0, 1]), "3 games do not form pairs"),
        (lambda: jr.arena.pentanomial([1, 0.7]), "row 1 .*0.7"),
        (lambda: jr.arena.detect_drift(jr.matches([[0, 1]] * 2, [1.0, 0.0], time=[3.0, 3.0])), "have the same time"),
        (lambda: jr.arena.detect_drift(drawn(0, votes=2, columns={"x": [0, 1], "y": [0, 1]}), cluster=["x", "y"]),
         "one column"),
    ],
)  # fmt: skip
def test_refusals(call, said):
    with pytest.raises(ValueError, match=said):
        call()
