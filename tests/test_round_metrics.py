"""Pair inversion, rank deviation and `seen` of rounds against values worked out by hand and slow twins."""

import sys
import warnings
from itertools import combinations

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.forecasts.pairwise_probabilities import build_matchup_tables
from jaxrate.metrics import experience_mask, pairwise_accuracy, rank_deviation
from jaxrate.metrics.prediction_metrics import numbers_that_predict_order
from tests.conftest import MOSTLY_SINGLE, refused

METRICS = [pairwise_accuracy, rank_deviation]
CASES = 80


def one_contest(rank):
    return jr.rounds(np.zeros(len(rank), int), np.arange(len(rank)), rank)


def slow(rounds, rating, mask):
    """Both metrics pair by pair and sort by sort; None if there is nothing to score."""
    right = distance = count = 0.0
    for start, end in zip(rounds.player_start, rounds.player_start[1:], strict=False):
        rank, team = rounds.events.rank[start:end], rounds.events.team[start:end]
        rows = [int(i) for i in np.flatnonzero(mask[start:end])]
        if len(set(rank.tolist())) < 2 or len({team[i] for i in rows}) < 2:
            continue
        x = {i: rating[start + i] for i in rows}
        listed = sorted(sorted(rows, key=lambda i: rank[i]), key=lambda i: -x[i])
        verdicts = []
        for i in rows:
            opponents = [j for j in listed if team[j] != team[i]]
            verdicts += [(x[i] - x[j]) * (rank[i] - rank[j]) <= 0 for j in opponents]
            place = sum(listed.index(j) < listed.index(i) for j in opponents)
            low, tied = sum(rank[j] < rank[i] for j in opponents), sum(rank[j] == rank[i] for j in opponents)
            distance += min(abs(place - k) for k in range(low, low + tied + 1)) / len(opponents)
        right += len(rows) * sum(verdicts) / len(verdicts)
        count += len(rows)
    return (right / count, distance / count) if count else None


def slow_seen(rounds, games):
    played, wanted = {}, []
    for start, end in zip(rounds.player_start, rounds.player_start[1:], strict=False):
        players, rank = rounds.events.player[start:end].tolist(), rounds.events.rank[start:end]
        wanted += [played.get(player, 0) >= games for player in players]
        if len(set(rank.tolist())) > 1:
            played |= {player: played.get(player, 0) + 1 for player in players}
    return wanted


def random_rounds(random, has_teams=False):
    """Contests of 1 to 12 of 15 players, with many ties, some of everybody, in an order that is not the standing."""
    sizes = random.integers(1, 13, random.integers(1, 9))
    player = np.concatenate([random.permutation(15)[:size] for size in sizes])
    rank = random.integers(0, random.integers(1, 14), len(player))
    team = random.integers(0, 4, len(player)) if has_teams else None
    rank = rank if team is None else (team + len(player)) % 3  # teams 0 and 3 tie
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of contests with one participant
        return jr.rounds(np.repeat(np.arange(len(sizes)), sizes), player, rank, team=team)


@pytest.mark.parametrize("has_teams", [False, True])
@pytest.mark.parametrize("sort_of_rating", ["all different", "some equal", "mostly equal"])
def test_random_rounds_equal_the_slow_twin(sort_of_rating, has_teams):
    random, scored = np.random.default_rng(7), 0
    for case in range(CASES):
        rounds = random_rounds(random, has_teams)
        n = len(rounds.events.rank)
        rating = random.normal(1500.0, 350.0, n)
        if sort_of_rating != "all different":
            rating = random.integers(0, 10 if sort_of_rating == "some equal" else 2, n).astype(float)
        mask = random.random(n) < (0.6 if case % 3 else 1.0)
        wanted = slow(rounds, rating, mask)
        if wanted is None:
            for metric in METRICS:
                with refused("no contests to score"):
                    metric(rounds, rating, mask=mask)
            continue
        scored += 1
        got = pairwise_accuracy(rounds, rating, mask=mask), rank_deviation(rounds, rating, mask=mask)
        assert got == pytest.approx(wanted, rel=1e-12, abs=1e-14)
        if mask.all():
            assert got == tuple(metric(rounds, rating) for metric in METRICS)
        for games in range(4):
            assert experience_mask(rounds, games).tolist() == slow_seen(rounds, games)
    assert scored > 0.8 * CASES


def test_team_mates_are_no_pair():
    """Two against two and one: of eight pairs of opponents the lower rated won three."""
    rounds = jr.rounds([0] * 5, [0, 1, 2, 3, 4], [0, 0, 1, 1, 2], team=[0, 0, 1, 1, 2])
    rating = [40.0, 10.0, 30.0, 20.0, 15.0]  # 10 won against 30, 20 and 15
    assert numbers_that_predict_order(rounds, "forecast", "rating") == "forecast"
    assert numbers_that_predict_order(one_contest([0, 1]), "forecast", "rating") == "rating"
    alone = np.array([True, True, False, False, False])
    shares = jr.metrics.ranking_metrics(rounds, rating, played=np.full(5, 5))
    assert shares["pair inversion"] == shares["pair inversion, 5plus"] == pytest.approx(5 / 8, rel=1e-14)
    assert jr.metrics.ranking_metrics(rounds, rating, mask=alone, played=np.full(5, 5))["pair inversion"] is None


def test_toy_contests_of_the_reference_program():
    """What Elo-MMR's own program prints of two small contests, after one that everybody is new to."""
    contest, player = [0] * 6 + [1] * 6 + [2] * 4, [0, 1, 2, 3, 4, 5, 5, 0, 4, 2, 1, 3, 1, 0, 3, 5]
    rank = [0, 1, 1, 3, 4, 4, 0, 1, 2, 2, 2, 5, 0, 0, 2, 3]
    first = [1833.1, 1595.4, 1595.4, 1446.3, 1295.1, 1295.1]
    second = [1790.7, 1531.9, 1531.9, 1325.8, 1375.1, 1541.1]
    rating = [1500.0] * 6 + [first[i] for i in player[6:12]] + [second[i] for i in player[12:]]
    rounds = jr.rounds(contest, player, rank)
    mask = experience_mask(rounds, 1)
    assert mask.tolist() == [False] * 6 + [True] * 10
    assert 100 * pairwise_accuracy(rounds, rating, mask=mask) == pytest.approx(66.66666666666667, rel=1e-12)
    assert 100 * rank_deviation(rounds, rating, mask=mask) == pytest.approx(31.333333333333336, rel=1e-12)


def test_large_contests_agree_with_all_pairs():
    random = np.random.default_rng(1)
    sizes = [3000, 1, 4096, 2, 777]
    contest, rank = np.repeat(np.arange(5), sizes), random.integers(0, 900, sum(sizes))
    player = np.concatenate([random.permutation(5000)[:size] for size in sizes])
    rating = np.round(random.normal(0.0, 100.0, len(rank)) - 0.3 * rank)
    with pytest.warns(UserWarning, match="one participant"):
        rounds = jr.rounds(contest, player, rank)
    total = 0.0
    for number in (0, 2, 3, 4):
        x, r = rating[contest == number], rank[contest == number]
        wrong = ((x[:, None] < x) & (r[:, None] < r)).sum()
        total += len(x) - 2.0 * wrong / (len(x) - 1)
    assert pairwise_accuracy(rounds, rating) == pytest.approx(total / (sum(sizes) - 1), rel=1e-12)
    assert rank_deviation(rounds, -rank) == 0.0
    shuffled = np.concatenate([random.permutation(np.flatnonzero(contest == number)) for number in range(5)])
    again = rounds._replace(events=rounds.events._replace(rank=rank[shuffled], player=player[shuffled]))
    assert pairwise_accuracy(again, rating[shuffled]) == pytest.approx(pairwise_accuracy(rounds, rating), rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rating": [1.0, 2.0]}, "must be [sum P] alike, got (3,), (2,) and (2,)"),
        ({"rating": [1.0, np.nan, 2.0]}, "row 1 (counting from 0): rating is nan"),
        ({"rating": [np.nan, 2.0, -np.inf], "mask": [False, True, True]}, "row 2 (counting from 0): rating is -inf"),
        ({"mask": [1, 1, 0]}, "mask must be boolean, got int64"),
        ({"mask": [True, False, False]}, "no contests to score"),
    ],
)
def test_bad_input_is_refused(metric, change, message):
    with refused(message):
        metric(**{"rounds": one_contest([0, 1, 2]), "rating": [1.0, 2.0, 3.0], **change})


def test_standings_of_all_and_of_those_who_play_often():
    """Six rounds of three who come as they are rated, and then a round the other way round."""
    contest = np.repeat(np.arange(7), 3)
    rounds = jr.rounds(contest, [0, 1, 2] * 7, [0, 1, 2] * 6 + [2, 1, 0])
    rating = np.tile([3.0, 2.0, 1.0], 7)
    found = jr.metrics.ranking_metrics(rounds, rating)
    assert found["pair inversion"] == pytest.approx(5 / 6) and found["pair inversion, 5plus"] == pytest.approx(1 / 2)
    assert found["rank deviation"] == pytest.approx(2 / 18)
    assert found["rank deviation, 5plus"] == pytest.approx(1 / 3)
    before = jr.metrics.ranking_metrics(rounds, rating, played=np.array([5, 5, 5]))
    assert before["pair inversion, 5plus"] == before["pair inversion"] == pytest.approx(6 / 7)
    last = jr.metrics.ranking_metrics(rounds, rating, mask=contest == 6)
    assert last["pair inversion"] == 0.0
    assert jr.metrics.ranking_metrics(rounds, rating, mask=contest == 0)["rank deviation"] is None


def test_duels_are_contests_of_two_sides():
    rounds = jr.rounds([0, 0, 0, 1, 1], [0, 1, 2, 0, 3], [1, 1, 0, 0, 0], team=[7, 7, 8, 1, 2])
    row, score = jr.metrics.contests_as_matches(rounds)
    assert row.tolist() == [0, 3] and score.tolist() == [0.0, 0.5]
    assert jr.metrics.contests_as_matches(jr.rounds([0, 0, 0], [0, 1, 2], [0, 1, 2])) is None


def predicted(system, state, a, b, time=0.0):
    played = jr.matches(np.stack([a, b], axis=1), np.full(len(a), 0.5), np.full(len(a), time))
    return np.asarray(jr.predict(system, state, played), np.float64)


@MOSTLY_SINGLE
def test_pairs_of_many_in_both_precisions(x64):
    state = jr.glicko().init(jr.glicko().params, 3000)
    random = np.random.default_rng(0)
    rating, deviation = random.normal(1500, 400, 3000), random.uniform(30, 350, 3000)
    state = state._replace(rating=rating.astype(state.rating.dtype), variance=(deviation**2).astype(state.rating.dtype))
    best = np.argsort(-rating)
    found = jr.forecasts.predict_pairs(jr.glicko(), state, best)
    a, b = random.integers(0, 1500, 200_000), random.integers(1500, 3000, 200_000)
    a[:1500], b[:1500] = 0, np.arange(1500, 3000)
    wanted = predicted(jr.glicko(), state, best[a], best[b])
    assert len(found.scale) < 20 and np.abs(found.probability(a, b) - wanted).max() < 1e-3


def test_pairs_of_the_best_where_all_take_too_many_numbers(monkeypatch):
    monkeypatch.setattr(sys.modules["jaxrate.forecasts.pairwise_probabilities"], "MAX_NUMBERS", 100)
    system = jr.elo()
    state = system.init(system.params, 64)._replace(rating=np.linspace(3000, 0, 64, dtype=np.float32))
    found = jr.forecasts.predict_pairs(system, state, np.arange(64))
    n = found.left.shape[1]
    assert n in (2, 4, 8, 16) and 2 * found.left.size <= 100
    a, b = np.array([*combinations(range(n), 2)]).T
    np.testing.assert_allclose(found.probability(a, b), predicted(system, state, a, b), atol=3e-4)


def test_any_two_of_two_kinds_meet_as_what_they_are():
    """A learner and an exercise as in a match of theirs, and two learners as if one were of neither side."""
    random = np.random.default_rng(5)
    player = np.stack([random.integers(0, 6, 90), random.integers(6, 9, 90)], axis=1)
    system = jr.skills(jr.parts.kinds("sides", growth=0, initial_deviation=80), jr.parts.skill(growth=20))
    state = jr.run(system, jr.matches(player, random.integers(0, 2, 90).astype(float), np.arange(90.0))).state
    found = jr.forecasts.predict_pairs(system, state, np.arange(9), time=95.0)
    met = jr.predict(system, state, jr.matches(player, np.zeros(90), np.full(90, 95.0)))
    np.testing.assert_allclose(found.probability(*player.T), met, atol=2.5e-4)
    as_one = jr.skills(jr.parts.skill(growth=20))
    of_learners = jr.forecasts.predict_pairs(as_one, state._replace(kind=None), np.arange(6), time=95.0)
    pair = np.triu_indices(6, 1)
    np.testing.assert_allclose(found.probability(*pair), of_learners.probability(*pair), atol=5e-4)


def test_equals_take_no_numbers_and_one_player_makes_no_pair():
    system = jr.elo()
    state = system.init(system.params, 5)
    found = jr.forecasts.predict_pairs(system, state, np.arange(5))
    assert found.left.shape == (0, 5) and found.probability(0, 1) == 0.5
    with refused("players must be [N] ids, of at least two"):
        jr.forecasts.predict_pairs(system, state, [1])


def test_any_two_with_draws_and_sides(league):
    """As the system predicts them, the first at home, the second, or nobody."""
    system = jr.forecasts.add_outcomes(jr.glicko(side_advantage=80), draw_odds=0.6)
    given = dict(zip("ab", league.player.T, strict=True)) | {"score": league.score, "home": np.ones(600)}
    rated = jr.rate(system, jr.read(given, side="home"))
    player = jr.history.rating_table(rated)["id"]
    found = build_matchup_tables(rated, player)
    a, b = np.divmod(np.arange(1600), 40)
    a, b = a[a != b], b[a != b]

    def value(table):
        return table.scale @ (table.left[:, a].astype(float) * table.right[:, b])

    for side, draw, score in ((0.0, found.draw, None), (1.0, found.home_draw, found.home)):
        pair = np.stack([player[a], player[b]], axis=1)
        coming = jr.matches(pair, np.full(len(a), 0.5), np.zeros(len(a)), side=np.full(len(a), side))
        wanted = jr.predict(system, rated.state, coming)
        half = np.asarray(wanted.draw)[:, 0] / 2
        even = found.even.probability(a, b) if score is None else value(score)
        np.testing.assert_allclose(even, np.asarray(wanted.win)[:, 0] + half, atol=5e-4)
        np.testing.assert_allclose(value(draw) / 2, half, atol=3e-4)
