"""Plackett-Luce against its definition, and strengths as a system that learns nothing."""

import json
from pathlib import Path

import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import MOSTLY_DOUBLE, mark_full
from tests.reference import static_twin as twin

POINTS = 400.0 / np.log(10.0)
PLAYERS, CONTESTS = 6, 25
GIVEN = [{}, {"last_place_unranked": False}, {"anchors": {2: 1550.0}}, {"prior": 150.0}]


@pytest.fixture
def contests():
    """Rounds of two to five players with ties and weights, and the same as lists of groups."""
    random, table, lists = np.random.default_rng(5), [], []
    for contest in range(CONTESTS):
        who = random.permutation(PLAYERS)[: random.integers(2, 6)]
        performance = np.rint(-0.7 * who + 1.5 * random.gumbel(size=len(who)))
        weight = 1.0 + contest % 3
        table += [(contest, i, -x, weight) for i, x in zip(who, performance, strict=True)]
        lists.append(
            [[i for i, y in zip(who, performance, strict=True) if y == x] for x in sorted({*performance})[::-1]]
        )
    contest, player, rank, weight = np.array(table).T
    return jr.rounds(contest.astype(int), player.astype(int), rank, weight=weight), lists


@MOSTLY_DOUBLE
@pytest.mark.parametrize("given", mark_full(GIVEN, *GIVEN[:3]), ids=str)
def test_rankings_are_those_of_the_twin(contests, given, x64):
    rounds, lists = contests
    weights = 1.0 + np.arange(CONTESTS) % 3
    in_part = [given.get("last_place_unranked", True) and len(groups) > 1 for groups in lists]
    held = {i: (r - 1500) / POINTS for i, r in given.get("anchors", {}).items()}
    precision = (POINTS / given["prior"]) ** 2 if "prior" in given else 0.0

    def scores(x):
        return twin.ranking_scores(x, lists, weights, in_part)

    x, inverse = twin.maximum(scores, PLAYERS, 0, "plackett_luce", held, precision)
    found, robust = jr.arena.fit_strengths(rounds, **given), jr.arena.fit_strengths(rounds, errors="sandwich", **given)
    assert found.converged and not found.notes and found.votes == weights.sum()
    np.testing.assert_allclose(found.rating - 1500, x * POINTS, atol=1e-7)
    np.testing.assert_allclose(found.covariance, inverse * POINTS**2, atol=1e-3)
    squares = inverse @ scores(x).T @ scores(x) @ inverse * CONTESTS / (CONTESTS - 1)
    np.testing.assert_allclose(robust.covariance, squares * POINTS**2, atol=1e-3)
    value = sum(w * twin.ranking_value(x, *one) for *one, w in zip(lists, in_part, weights, strict=True))
    assert found.log_likelihood == pytest.approx(value, rel=1e-12)


def test_the_best_of_n_is_a_choice_against_all_others():
    """The choices of four of five are those of a multinomial logit, whoever is listed first."""
    random, x = np.random.default_rng(2), np.array([1.0, 0.5, 0.0, -0.5, -1.5])
    sets = [np.sort(random.permutation(5)[:4]) for _ in range(150)]
    best = np.array([s[np.argmax(x[s] + random.gumbel(size=4))] for s in sets])
    rank = 1 + (np.stack(sets) != best[:, None])
    rounds = jr.rounds(np.repeat(np.arange(150), 4), np.concatenate(sets), rank.ravel())
    found = jr.arena.fit_strengths(rounds)
    chance = np.zeros((150, 5))
    for row, s in zip(chance, sets, strict=True):
        row[s] = np.exp((found.rating[s] - 1500) / POINTS)
    chance /= chance.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(chance.sum(axis=0), np.bincount(best, minlength=5), atol=1e-5)
    assert not found.notes and np.isfinite(found.rating).all()


def test_rankings_of_two_are_matches():
    random = np.random.default_rng(1)
    player = np.array([random.permutation(4)[:2] for _ in range(60)])
    score = (random.random(60) < 0.6).astype(float)
    rounds = jr.rounds(np.repeat(np.arange(60), 2), player.ravel(), np.stack([1 - score, score], axis=1).ravel())
    one, two = jr.arena.fit_strengths(rounds), jr.arena.fit_strengths(jr.matches(player, score))
    np.testing.assert_allclose(one.rating, two.rating, atol=1e-7)
    np.testing.assert_allclose(one.covariance, two.covariance, atol=1e-4)
    np.testing.assert_array_equal(one.games, two.games)
    np.testing.assert_allclose(one.score, two.score)
    drawn = jr.arena.fit_strengths(rounds, errors="bootstrap", samples=300)
    np.testing.assert_allclose(
        drawn.standard_error, jr.arena.fit_strengths(rounds, errors="sandwich").standard_error, rtol=0.2
    )


def test_peers_find_the_same():
    known = json.loads((Path(__file__).parent / "reference" / "static_peers.json").read_text())
    winners = known["choix_pairwise"]["pairs"]
    lists = known["choix_rankings"]["rankings"]
    contest = [i for i, one in enumerate(lists) for _ in one]
    places = [np.arange(len(one)) for one in lists]
    found = {
        "choix_pairwise": jr.arena.fit_strengths(jr.arena.count_votes(*np.transpose(winners), np.ones(6), np.zeros(6))),
        "choix_rankings": jr.arena.fit_strengths(jr.rounds(contest, np.concatenate(lists), np.concatenate(places))),
        "evalica": jr.arena.fit_strengths(
            jr.matches(known["evalica"]["pairs"], known["evalica"]["score"]), ties="half"
        ),
    }
    for peer, one in found.items():
        np.testing.assert_allclose((one.rating - 1500) / POINTS, known[peer]["strength"], atol=1e-10)


def test_contests_in_which_somebody_cannot_be_compared():
    contest = np.repeat(np.arange(6), 3)
    player = np.array([3, 0, 1, 3, 1, 0, 0, 1, 4, 1, 0, 4, 0, 1, 4, 5, 6, 7])
    rounds = jr.rounds(contest, player, np.tile([0, 1, 2], 6))
    found = jr.arena.fit_strengths(jr.data.Dataset(rounds, np.array(list("abcdefgh")), np.arange(18)))
    pair = jr.arena.fit_strengths(jr.rounds(contest[:15], player[:15], np.tile([0, 1, 2], 5)), prior=300.0)
    assert np.isfinite(pair.rating).all()
    assert np.isfinite(found.rating).tolist() == [True, True, *[False] * 6]
    assert found.rating[3] == np.inf and found.rating[4] == -np.inf and np.isnan(found.rating[[2, 5, 6, 7]]).all()
    assert "without a match: c" in found.notes and "2 groups" in found.notes[0]


@pytest.mark.full  # votes are as well
def test_two_who_won_a_contest_each_are_equals():
    bare = jr.arena.fit_strengths(jr.rounds([0, 0, 1, 1], [0, 1, 1, 0], [0, 1, 0, 1]))
    assert bare.rating == pytest.approx([1500.0, 1500.0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ties": "half"}, "one model of ties"),
        ({"cluster": "voter"}, "one model of ties"),
        ({"anchors": {9: 1500.0}}, "ids|no player"),
    ],
)
def test_refusals(contests, options, said):
    with pytest.raises(ValueError, match=said):
        jr.arena.fit_strengths(contests[0], **options)


def test_further_refusals():
    teams = jr.rounds([0] * 4, range(4), [0, 0, 1, 1], team=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="and not to teams"):
        jr.arena.fit_strengths(teams)
    with pytest.raises(ValueError, match="last_place_unranked is for rounds"):
        jr.arena.fit_strengths(jr.matches([[0, 1]], [1.0]), last_place_unranked=True)
    with pytest.raises(ValueError, match="give a prior"):
        jr.arena.fit_strengths(jr.rounds([0] * 3, range(3), [0, 1, 2]))
    with pytest.raises(ValueError, match="periods"):
        jr.arena.fit_strengths(jr.periods(jr.matches([[0, 1]], [1.0]), 1.0))


@MOSTLY_DOUBLE
@pytest.mark.parametrize("ties", mark_full(["davidson", "rao_kupper", "half"], "davidson"))
def test_frozen_ratings_predict_as_the_model_does(league, ties, x64):
    found = jr.arena.fit_strengths(league._replace(context=league.context._replace(side=None)), ties=ties, prior=300.0)
    system = jr.arena.freeze_strengths(found)
    run = jr.run(system, league, num_players=40)
    np.testing.assert_array_equal(np.asarray(run.state.rating), found.rating.astype(run.state.rating.dtype))
    rows = [0, 17, 400]
    wanted = [found.probability(*league.player[i].tolist()) for i in rows]
    np.testing.assert_allclose(run.prediction[np.array(rows)], [w + t / 2 for w, t, _ in wanted], atol=2e-6)
    assert (
        system == jr.arena.freeze_strengths(found)
        and system.make is not None
        and jr.arena.freeze_strengths(found.rating).name == "frozen"
    )
    later = jr.predict(system, run.state, league)
    np.testing.assert_allclose(later, run.prediction, atol=1e-6)


@pytest.mark.full  # they are a system as others
def test_frozen_ratings_are_compared_with_other_systems():
    data = jr.data.datasets.nfl()
    past = data.matches
    found = jr.arena.fit_strengths(jr.matches(past.player[:8000], past.score[:8000]), prior=200.0)
    ratings = np.append(found.rating, np.full(len(data.players) - len(found.rating), 1500.0))
    compared = jr.compare(data, {"at rest": jr.arena.freeze_strengths(ratings), "glicko": jr.glicko()}, last=0.2)
    assert [one.name for one in compared.results] == ["glicko", "at rest"]


def test_frozen_refusals():
    with pytest.raises(ValueError, match="row 1 .*no finite rating"):
        jr.arena.freeze_strengths([1500.0, np.nan])
    with pytest.raises(ValueError, match="model must be"):
        jr.arena.freeze_strengths([1500.0], model="thurstone")
    with pytest.raises(ValueError, match="shape"):
        jr.arena.freeze_strengths(1500.0)
    with pytest.raises(ValueError, match="tie must be >= 1"):
        jr.arena.freeze_strengths([1500.0], model="rao_kupper", tie=0.5)
    with pytest.raises(ValueError, match="no parameter"):
        jr.arena.freeze_strengths([1500.0], k=3)
