"""Static strengths against their definitions, in both precisions, and the arena of language models."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.arena import strength_fit as door
from jaxrate.arena.strength_fit import find_comparable_players
from tests.conftest import MOSTLY_DOUBLE, draw_pairs, mark_full, refused
from tests.reference import static_twin as twin

POINTS = 400.0 / np.log(10.0)
PLAYERS, VOTES = 6, 60
MODELS = {"davidson": "davidson", "rao_kupper": "rao_kupper", "half": "bradley_terry"}


@pytest.fixture
def votes():
    random = np.random.default_rng(3)
    a, b = draw_pairs(random, PLAYERS, VOTES).T
    z = random.normal(size=(VOTES, 2)).round(1)
    z[:, 1] = 1.0
    eta = np.linspace(1, -1, PLAYERS)[a] - np.linspace(1, -1, PLAYERS)[b] + z @ [0.5, 0.3]
    score = np.clip(np.rint(1.0 / (1.0 + np.exp(-eta + random.logistic(size=VOTES))) * 2), 0, 2) / 2
    columns = {"length": z[:, 0], "first": z[:, 1], "voter": np.arange(VOTES) // 5}
    columns |= {"prompt": random.integers(0, 9, VOTES)}
    return jr.matches(np.stack([a, b], axis=1), score, columns=columns)


def singly(votes, names):
    z = np.stack([votes.context.columns[name] for name in names], axis=1) if names else np.zeros((VOTES, 0))
    return [(a, b, s, x) for (a, b), s, x in zip(votes.player.tolist(), votes.score.tolist(), z, strict=True)]


def unit(model, names, found):
    """What a unit of each of the twin's parameters is worth."""
    return np.array([POINTS] * (PLAYERS + len(names)) + [found.tie] * (model != "bradley_terry"))


@MOSTLY_DOUBLE
@pytest.mark.parametrize(
    ("ties", "names"),
    [
        pytest.param(ties, names, id=f"{ties}-{'covariates' if names else 'plain'}",
                     marks=() if names and ties != "half" else pytest.mark.full)
        for ties in MODELS for names in ((), ("length", "first"))
    ],
)  # fmt: skip
def test_strengths_are_those_of_the_twin(votes, ties, names, x64):
    model, extra = MODELS[ties], len(names) + (ties != "half")
    x, inverse = twin.fit(model, singly(votes, names), PLAYERS, extra)
    found = jr.arena.fit_strengths(votes, ties=ties, covariates=names)
    value = [*found.rating - 1500, *found.coefficient.values()]
    error = [*found.standard_error, *found.coefficient_error.values()]
    if model != "bradley_terry":
        value, error = [*value, found.tie * np.log(found.tie)], [*error, found.tie_error]
    np.testing.assert_allclose(value, x * unit(model, names, found), atol=1e-7)
    np.testing.assert_allclose(error, np.sqrt(np.diag(inverse)) * unit(model, names, found), rtol=1e-6)
    likelihood = twin.log_likelihood(model, x, singly(votes, names), PLAYERS)
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-12)
    assert found.converged and found.votes == VOTES and not found.notes
    np.testing.assert_allclose(found.covariance, inverse[:PLAYERS, :PLAYERS] * POINTS**2, atol=1e-4)


@pytest.mark.parametrize("given", [{"anchors": {1: 1600.0, 4: 1450.0}}, {"prior": 100.0}], ids=["anchors", "prior"])
def test_anchors_and_priors(votes, given):
    held = {player: (rating - 1500) / POINTS for player, rating in given.get("anchors", {}).items()}
    precision = (POINTS / given["prior"]) ** 2 if "prior" in given else 0.0
    x, inverse = twin.fit("davidson", singly(votes, ()), PLAYERS, 1, held, precision)
    found = jr.arena.fit_strengths(votes, **given)
    np.testing.assert_allclose(found.rating - 1500, x[:PLAYERS] * POINTS, atol=1e-7)
    np.testing.assert_allclose(found.standard_error, np.sqrt(np.diag(inverse))[:PLAYERS] * POINTS, rtol=1e-6)
    assert found.is_anchor.tolist() == [i in held for i in range(PLAYERS)]
    assert found.log_likelihood == pytest.approx(twin.log_likelihood("davidson", x, singly(votes, ()), PLAYERS))


CLUSTERS = {"alone": None, "one way": "voter", "two ways": ("voter", "prompt")}
SANDWICHES = [(ties, cluster) for ties in MODELS for cluster in CLUSTERS]


@pytest.mark.parametrize(
    ("ties", "cluster"), mark_full(SANDWICHES, ("davidson", "alone"), ("rao_kupper", "one way"), ("half", "two ways"))
)
def test_sandwiches(votes, ties, cluster, double):
    model, names = MODELS[ties], ("length", "first")
    single = singly(votes, names)
    x, inverse = twin.fit(model, single, PLAYERS, 2 + (ties != "half"))
    columns = votes.context.columns
    cluster = CLUSTERS[cluster]
    labels = None if cluster is None else [columns[c] for c in ([cluster] if isinstance(cluster, str) else cluster)]
    wanted = twin.sandwich(model, x, inverse, single, PLAYERS, labels)
    found = jr.arena.fit_strengths(votes, ties=ties, covariates=names, cluster=cluster, errors="sandwich")
    np.testing.assert_allclose(found.covariance, wanted[:PLAYERS, :PLAYERS] * POINTS**2, atol=1e-3)
    errors = [*found.coefficient_error.values(), *([found.tie_error] if found.tie else [])]
    np.testing.assert_allclose(errors, (np.sqrt(np.diag(wanted)) * unit(model, names, found))[PLAYERS:], rtol=1e-5)


def test_counts_are_as_good_as_votes(votes):
    (a, b), score = votes.player.T, votes.score
    table = jr.arena.count_votes(a, b, score == 1, score == 0, score == 0.5)
    weighed = jr.matches(votes.player, score, weight=np.full(VOTES, 2.0))
    one, two = (jr.arena.fit_strengths(x, errors="sandwich") for x in (votes, table))
    three = jr.arena.fit_strengths(weighed)
    np.testing.assert_allclose(one.rating, two.rating, atol=1e-8)
    np.testing.assert_allclose(one.covariance, two.covariance, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(one.rating, three.rating, atol=1e-7)
    assert three.votes == 2 * VOTES
    named = jr.arena.count_votes([f"m{i}" for i in a], [f"m{i}" for i in b], score == 1, score == 0, score == 0.5)
    found = jr.arena.fit_strengths(named, anchors={"m3": 1000.0})
    assert found.rating[found.players.tolist().index("m3")] == pytest.approx(1000.0)
    assert "Davidson" in repr(found) and "m3" in found.table() and "<table>" in found._repr_html_()


def test_many_players_by_conjugate_gradients(votes, monkeypatch, double):
    dense = jr.arena.fit_strengths(votes, covariates=("length", "first"))
    monkeypatch.setattr(door, "MAX_DENSE_PLAYERS", 0)
    sparse = jr.arena.fit_strengths(votes, covariates=("length", "first"))
    np.testing.assert_allclose(sparse.rating, dense.rating, atol=1e-6)
    np.testing.assert_allclose([*sparse.coefficient.values()], [*dense.coefficient.values()], atol=1e-6)
    assert sparse.covariance is None and sparse.errors == "curvature, others held" and sparse.converged
    assert (sparse.standard_error < dense.standard_error * 1.2).all() and (sparse.standard_error > 0).all()
    with pytest.raises(ValueError, match="so many players"):
        jr.arena.fit_strengths(votes, cluster="voter")


@pytest.mark.parametrize("cluster", [None, "voter"])
def test_bootstraps_scatter_as_sandwiches_do(cluster):
    random, games = np.random.default_rng(0), 9 if cluster else 60
    a, b = np.tile(np.triu_indices(5, 1), 12 if cluster else 1)
    wins = random.binomial(games, 1 / (1 + np.exp((a - b) / 4)))
    table = jr.arena.count_votes(a, b, wins, games - wins, columns={"voter": np.arange(len(a)) // 2})
    drawn = jr.arena.fit_strengths(table, cluster=cluster, errors="bootstrap", samples=400)
    known = jr.arena.fit_strengths(table, cluster=cluster, errors="sandwich")
    assert drawn.samples.shape == (400, 5) and not drawn.notes
    np.testing.assert_allclose(drawn.standard_error, known.standard_error, rtol=0.15)
    again = jr.arena.fit_strengths(table, cluster=cluster, errors="bootstrap", samples=400)
    np.testing.assert_array_equal(again.samples, drawn.samples)


def test_intervals_of_a_prior_and_clusters_hold_the_truth():
    """300 newcomers of the prior have 2, 6 or 20 votes each; a voter has one or two votes."""
    random = np.random.default_rng(1)
    truth = np.concatenate([np.linspace(200, -200, 8), random.normal(0, 300, 300)])
    player = np.repeat(8 + np.arange(300), np.tile([2, 6, 20], 100))
    votes = len(player)
    player = np.stack([player, random.integers(0, 8, votes)], axis=1)
    voter = np.arange(votes) // np.where(player[:, 0] % 2, 1, 2)
    lead = truth[player[:, 0]] - truth[player[:, 1]]
    score = (random.random(votes) < 1 / (1 + 10 ** (-lead / 400))) * 1.0
    settings = {"prior": 300.0, "anchors": dict(enumerate(1500 + truth[:8]))}
    found = jr.arena.fit_strengths(jr.matches(player, score), cluster=voter, **settings)
    held = np.abs(found.rating - 1500 - truth)[8:] < found.half_width[8:]
    assert 0.93 <= held.mean() <= 0.97
    few = jr.matches(player[:100], score[:100])
    settings |= {"cluster": voter[:100], "anchors": {i: 1500 + truth[i] for i in set(player[:100, 1].tolist())}}
    errors = {"errors": "bootstrap", "samples": 200}, {"errors": "sandwich"}, {"cluster": None}
    drawn, known, bent = (jr.arena.fit_strengths(few, **settings | one).standard_error[8:].mean() for one in errors)
    assert 0.85 * known < drawn < 1.05 * known and bent <= known < 1.1 * bent


def test_few_clusters_make_nobody_sure():
    """Coins are tossed for six players in three languages, and in two."""
    random = np.random.default_rng(0)
    for count, errors_to_either_side in ((3, 4.303), (2, 12.706)):
        for _ in range(6):
            a = random.integers(0, 6, 600)
            data = jr.matches(np.stack([a, (a + random.integers(1, 6, 600)) % 6], axis=1), random.integers(0, 2, 600))
            found = jr.arena.fit_strengths(data, cluster=random.integers(0, count, 600))
            assert f"only {count} clusters" in found.notes[0]
            np.testing.assert_allclose(found.half_width, errors_to_either_side * found.standard_error, rtol=1e-3)
            assert (found.standard_error >= jr.arena.fit_strengths(data).standard_error * (1 - 1e-9)).all()
            assert not jr.arena.rank_sets(found, samples=500).surely_better.any()


@pytest.mark.parametrize("ties", ["davidson", "rao_kupper", "half"])
def test_comparable_votes_that_are_all_ties_are_refused_by_models_of_ties(ties):
    """Ada and Bo tie; Cy only won and Di only lost."""
    data = jr.read({"a": ["Cy", "Ada", "Ada"], "b": ["Ada", "Bo", "Di"], "score": [1.0, 0.5, 1.0], "time": [0, 1, 2]})
    if ties == "half":
        assert jr.arena.fit_strengths(data, ties=ties).rating.tolist() == [np.inf, 1500.0, 1500.0, -np.inf]
    else:
        for function in (jr.arena.fit_strengths, jr.arena.detect_drift):
            with pytest.raises(ValueError, match="all 1 comparable votes are ties"):
                function(data, ties=ties)


@pytest.mark.parametrize("seed", range(12))
def test_who_can_be_compared(seed):
    random = np.random.default_rng(seed)
    n = 9
    a, b = np.triu_indices(n, 1)
    met = random.random(len(a)) < (0.15, 0.3, 0.5)[seed % 3]
    a, b = a[met], b[met]
    win, loss = random.random((2, len(a))) < 0.5
    win |= ~loss
    anchors = np.array([0, 5]) if seed % 2 else np.zeros(0, int)
    arrows = np.zeros((n, n), bool)
    arrows[a[win], b[win]] = arrows[b[loss], a[loss]] = True
    arrows[np.ix_(anchors, anchors)] = True
    down, ways = twin.reach(arrows), twin.reach(arrows | arrows.T)
    both = down & down.T
    found = find_comparable_players(a, b, win, loss, n, anchors)
    assert (both[found.is_main][:, found.is_main]).all()
    member = np.flatnonzero(found.is_main)[0]
    np.testing.assert_array_equal(found.is_main, both[member])
    assert found.is_main.sum() == (both[0].sum() if seed % 2 else both.sum(axis=1).max())
    np.testing.assert_array_equal(found.only_lost, down[member] & ~found.is_main)
    np.testing.assert_array_equal(found.only_won, down[:, member] & ~found.is_main)
    plays = np.isin(np.arange(n), [*a, *b, *anchors])
    assert (found.component[~plays] == -1).all()
    same = found.component[:, None] == found.component[None, :]
    np.testing.assert_array_equal(same[plays][:, plays], ways[plays][:, plays])
    sizes = np.bincount(found.component[plays]) if plays.any() else np.ones(1)
    assert (np.diff(sizes) <= 0).all()


def test_who_cannot_be_compared_is_said_aloud():
    table = jr.arena.count_votes(list("AABCXP"), list("BCCDYA"), [3, 2, 4, 5, 1, 2], [2, 3, 1, 0, 1, 0])
    found = jr.arena.fit_strengths(table)
    rating = dict(zip(found.players, found.rating, strict=True))
    assert rating["D"] == -np.inf and rating["P"] == np.inf and np.isnan([rating["X"], rating["Y"]]).all()
    said = "\n".join(found.notes)
    assert "2 groups" in said and "only won" in said and "(X, Y)" in said and said.count("prior") == 2
    assert all(note in repr(found) for note in found.notes)
    assert np.mean([rating[name] for name in "ABC"]) == pytest.approx(1500.0)
    assert found.probability("P", "A")[0] == 1.0
    with pytest.raises(ValueError, match="cannot be compared"):
        found.probability("X", "A")
    kept = jr.arena.fit_strengths(table, prior=350.0)
    assert np.isfinite(kept.rating).all() and np.isfinite(kept.standard_error).all() and kept.converged
    assert "only the prior compares them" in kept.notes[0]


def one(**given):
    table = {"a": [0, 1, 0], "b": [1, 2, 2], "wins": [3, 2, 1], "losses": [1, 2, 2], "ties": [1, 0, 0]} | given
    return jr.arena.count_votes(**table)


def test_named_votes_are_counted_without_pyarrow(monkeypatch):
    for name in ("pyarrow", "duckdb"):
        monkeypatch.setitem(sys.modules, name, None)  # an import of it fails
    votes = one(a=["Cy", "Bo", "Cy"], b=["Bo", "Ada", "Ada"])
    assert votes.players.tolist() == ["Cy", "Bo", "Ada"] and votes.player.tolist() == [[0, 1], [1, 2], [0, 2]]


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        (lambda: one(wins=[0] * 3, losses=[0] * 3, ties=[4, 2, 3]), {"ties": "none"}, "no vote that is not a tie"),
        (lambda: one(wins=[0] * 3, losses=[0] * 3, ties=None), {}, "there is no vote"),
        (lambda: jr.matches([[0, 1]], [1.0]), {}, "give a prior"),
        (lambda: one(wins=[3, np.nan, 1]), {}, "row 1 .*wins is nan"),
        (lambda: one(losses=[1, 2, -2]), {}, "row 2 .*losses is -2, below 0"),
        (lambda: one(b=[1, 1, 2]), {}, "row 1 .*both sides"),
        (lambda: one(b=["x", "y", "z"]), {}, "row 0 .*0 and 'x' must both be names, or both ids"),
        *((lambda x=x: one(a=np.array(["x", x, "x"], object), b=["y"] * 3), {}, "row 1 .*both be names, or both ids")
          for x in (1.5, True, None)),
        (lambda: one(a=[0.0, 1.0, 0.0]), {}, "row 0 .*both be names, or both ids"),
        (one, {"anchors": {7: 1500}}, "no player|ids from 0 to 2"),
        (lambda: one(a=[0, 1, 0, 0], b=[1, 2, 2, 3], wins=[1, 1, 1, 0], losses=[1, 1, 1, 0], ties=None),
         {"anchors": {3: 1500}}, "anchor 3 plays in no match"),
        (one, {"covariates": ["style"]}, "no column 'style'"),
        (lambda: one(columns={"style": [0, 0, 0]}), {"covariates": ["style"]}, "0 in every vote"),
        (lambda: one(columns={"style": [1, 2, 3]}), {"covariates": ["style"]}, "follows from players"),
        (lambda: one(columns={"voter": [1, 1, 1]}), {"cluster": "voter"}, "one cluster"),
        (one, {"cluster": ["x", "y", "z"]}, "not by 3"),
        (lambda: jr.matches([[0, 1]] * 2, [0.3, 1.0]), {}, "row 0 .*score 0.3"),
        (lambda: jr.rounds([0, 0], [0, 1], [0, 1]), {"ties": "half"}, "one model of ties"),
        (lambda: jr.rounds([0] * 4, range(4), [0, 0, 1, 1], team=[0, 0, 1, 1]), {}, "and not to teams"),
        (lambda: jr.matches([[0, 1]], [1.0]), {"last_place_unranked": True}, "last_place_unranked is for rounds"),
        (lambda: jr.periods(jr.matches([[0, 1]], [1.0]), 1.0), {}, "periods"),
    ],
)  # fmt: skip
def test_refusals(make, options, said):
    with pytest.raises(ValueError, match=said):
        jr.arena.fit_strengths(make(), **options)


def test_a_covariate_that_tells_all_comes_to_an_end_and_has_no_intervals():
    a, b = np.tile([0, 0, 1], 4), np.tile([1, 2, 2], 4)
    z = np.tile([1.0, -1.0], 6)
    votes = jr.matches(np.stack([a, b], axis=1), (z > 0).astype(float), columns={"z": z})
    found = jr.arena.fit_strengths(votes, covariates=["z"])
    assert not found.converged and found.reason == "no maximum" and "not converged" in repr(found)
    assert " to " not in found.table() and "±" not in repr(found)
    for ask in (lambda: found.difference(0, 1), lambda: jr.arena.rank_sets(found)):
        with pytest.raises(ValueError, match="did not converge"):
            ask()


@pytest.mark.parametrize("ties", mark_full(["davidson", "rao_kupper"], "davidson"))
def test_ties_that_leave_ratings_without_a_maximum_are_refused(ties):
    """One win and one tie: 4689 to 4689 points, with an error of 0."""
    votes = jr.arena.count_votes(["a"], ["b"], wins=[1], losses=[0], ties=[1])
    with pytest.raises(ValueError, match="the likelihood has no maximum here.*prior=350, or take ties='half'"):
        jr.arena.fit_strengths(votes, ties=ties)
    kept = jr.arena.fit_strengths(votes, ties=ties, prior=350)
    assert kept.converged and 0 < kept.difference(0, 1)[0] < 500 < 5 * kept.difference(0, 1)[1]
    assert jr.arena.fit_strengths(votes, ties="half").converged


@pytest.mark.parametrize("errors", [None, "bootstrap"])
def test_a_likely_winner_among_many_ties_keeps_a_rating(errors):
    """Where someone also loses, ratings are finite however many ties there are."""
    votes = jr.arena.count_votes(["a"], ["b"], wins=[2], losses=[1], ties=[3000])
    found = jr.arena.fit_strengths(votes, errors=errors, samples=20)
    assert found.converged and np.isfinite(found.standard_error).all()


@pytest.mark.parametrize("errors", [None, "sandwich", "bootstrap"])
def test_errors_where_a_covariate_tells_all_and_nothing_bends_are_unknown(errors):
    votes = jr.matches([[0, 1], [1, 0]] * 2, [1, 1, 0, 1], columns={"x": np.ones(4)})
    found = jr.arena.fit_strengths(votes, covariates=["x"], errors=errors, samples=4)
    assert not found.converged and "not converged" in repr(found)
    assert not np.isfinite(found.standard_error).any() and not np.isfinite(found.coefficient_error["x"])


@pytest.mark.parametrize("ties", MODELS)
def test_who_only_lost_loses_surely_where_others_tie(ties):
    votes = jr.arena.count_votes(["A", "A"], ["B", "C"], wins=[2, 1], losses=[1, 0], ties=[2, 0])
    found = jr.arena.fit_strengths(votes, ties=ties)
    assert found.rating[2] == -np.inf
    assert found.probability("A", "C") == (1.0, 0.0, 0.0) and found.probability("C", "A") == (0.0, 0.0, 1.0)


MODES_PLAYERS = [f"player {i:02}" for i in range(12)]
COLUMNS = {"team": "team", "category": "mode", "statistics": "kills", "covariates": "party"}


@pytest.fixture(scope="module")
def table():
    """Matches of one and of two, whose players have a skill, and another in doubles, with draws and a statistic."""
    random, rows = np.random.default_rng(3), []
    skill = {"solo": random.normal(0, 1.5, 12)}
    skill["duo"] = skill["solo"] + random.normal(0, 0.7, 12)
    for contest in range(160):
        mode, size = [("solo", 1), ("duo", 2)][contest % 2]
        who = random.permutation(12)[: 2 * size].reshape(2, size)
        lead = skill[mode][who].sum(axis=1) @ (1, -1) + random.normal(0, 1)
        rank = (1, 1) if abs(lead) < 0.3 else (1, 2) if lead > 0 else (2, 1)
        for team, members in enumerate(who):
            for i in members:
                kills, party = skill[mode][i] + random.normal(), float(random.normal())
                rows.append((contest, MODES_PLAYERS[i], team, rank[team], mode, kills, party, 2.0 * contest))
    names = "contest", "player", "team", "rank", "mode", "kills", "party", "t"
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


@pytest.fixture(scope="module")
def rated(table):
    data = jr.read(table, **COLUMNS)
    system = jr.skills(
        parts.modifier(2),
        parts.experience(10.0),
        parts.team(noise=90.0),
        parts.covariate("party", 4.0),
        observe=(parts.result(draw_margin=60.0), parts.statistic("kills")),
    )
    return jr.rate(system, data)


def test_ratings_by_mode(rated):
    solo, duo = (jr.history.category_ratings(rated, name) for name in ("solo", "duo"))
    own, rating = jr.history.modifiers(rated), jr.ratings(rated)
    np.testing.assert_allclose(solo.mean, rating.mean + own.mean[:, 0], rtol=1e-6)
    np.testing.assert_allclose(duo.mean - solo.mean, own.mean[:, 1] - own.mean[:, 0], atol=1e-3)
    table = jr.history.rating_table(rated)
    np.testing.assert_allclose(table["modifier duo"], own.mean[table["id"], 1])
    np.testing.assert_allclose(table["deviation solo"], own.deviation[table["id"], 0])
    for function in (jr.history.category_ratings, jr.leaderboard, jr.forecasts.predict_pairs):
        with refused("no category 'trio' (there are solo, duo)"):
            function(rated, category="trio")
    with refused("elo has no modifiers; take category_glicko, or skills with categories"):
        jr.history.modifiers(jr.elo(), jr.elo().init(jr.elo().params, 2))


def test_leaderboards_of_a_mode(rated):
    assert jr.leaderboard(rated, category="duo", top=5).scope == "rating: where they meet duo"
    later = jr.leaderboard(rated, category="duo", as_of=400.0, cautious=2.0, among=rated.players[:4])
    one = jr.history.category_ratings(rated, "duo", time=400.0)
    np.testing.assert_allclose(later.rating, np.sort((one.mean - 2 * one.deviation)[:4])[::-1], rtol=1e-5)
    for moment in ("since", "as_of"):
        with refused("the history keeps ratings by category at its end only: leave out since"):
            jr.leaderboard(rated, category="duo", **{moment: 10.0})


def test_pairs_of_a_mode(rated):
    found = jr.forecasts.predict_pairs(rated, players=np.arange(12), category="duo")
    line_up = [tuple(rated.players[:2])]
    share = jr.forecasts.predict_fixtures(rated, line_up, category="duo", time=rated.last)["share"]
    assert found.probability(0, 1) == pytest.approx(share[0], abs=3e-4)
    solo, (a, b) = jr.forecasts.predict_pairs(rated, players=np.arange(12), category="solo"), np.triu_indices(12, 1)
    assert np.abs(solo.probability(a, b) - found.probability(a, b)).max() > 0.02


def test_balanced_teams_of_a_mode(rated):
    found = jr.forecasts.balance_teams(rated, MODES_PLAYERS[:6], category="duo", time_limit=20)
    mean = dict(zip(rated.players, np.asarray(jr.history.category_ratings(rated, "duo").mean, float), strict=True))
    np.testing.assert_allclose(found.strength, [sum(mean[x] for x in team) for team in found.teams], rtol=1e-6)
    line_up = [tuple(found.teams)]
    share = jr.forecasts.predict_fixtures(rated, line_up, category="duo")["share"]
    np.testing.assert_allclose(found.share, share[[0, 3]], atol=1e-5)
    assert jr.forecasts.balance_teams(rated, MODES_PLAYERS[:6], time_limit=20).share is None


CONTESTANTS, CONTESTS = 6, 25
GIVEN = [{}, {"last_place_unranked": False}, {"anchors": {2: 1550.0}}, {"prior": 150.0}]


@pytest.fixture
def contests():
    """Rounds of two to five players with ties and weights, and the same as lists of groups."""
    random, table, lists = np.random.default_rng(5), [], []
    for contest in range(CONTESTS):
        who = random.permutation(CONTESTANTS)[: random.integers(2, 6)]
        performance = np.rint(-0.7 * who + 1.5 * random.gumbel(size=len(who)))
        weight = 1.0 + contest % 3
        table += [(contest, i, -x, weight) for i, x in zip(who, performance, strict=True)]
        lists.append([who[performance == x].tolist() for x in sorted({*performance})[::-1]])
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

    x, inverse = twin.maximum(scores, CONTESTANTS, 0, "plackett_luce", held, precision)
    found, robust = jr.arena.fit_strengths(rounds, **given), jr.arena.fit_strengths(rounds, errors="sandwich", **given)
    assert found.converged and not found.notes and found.votes == weights.sum()
    np.testing.assert_allclose(found.rating - 1500, x * POINTS, atol=1e-7)
    np.testing.assert_allclose(found.covariance, inverse * POINTS**2, atol=1e-3)
    squares = inverse @ scores(x).T @ scores(x) @ inverse * CONTESTS / (CONTESTS - 1)
    np.testing.assert_allclose(robust.covariance, squares * POINTS**2, atol=1e-3)
    value = sum(w * twin.ranking_value(x, *one) for *one, w in zip(lists, in_part, weights, strict=True))
    assert found.log_likelihood == pytest.approx(value, rel=1e-12)


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
    known = jr.arena.fit_strengths(rounds, errors="sandwich")
    np.testing.assert_allclose(drawn.standard_error, known.standard_error, rtol=0.2)


def test_peers_find_the_same():
    known = json.loads((Path(__file__).parent / "reference" / "static_peers.json").read_text())
    winners = known["choix_pairwise"]["pairs"]
    lists = known["choix_rankings"]["rankings"]
    contest = [i for i, one in enumerate(lists) for _ in one]
    places = [np.arange(len(one)) for one in lists]
    events = {
        "choix_pairwise": jr.arena.count_votes(*np.transpose(winners), np.ones(6), np.zeros(6)),
        "choix_rankings": jr.rounds(contest, np.concatenate(lists), np.concatenate(places)),
        "evalica": jr.matches(known["evalica"]["pairs"], known["evalica"]["score"]),
    }
    for peer, one in events.items():
        found = jr.arena.fit_strengths(one, ties="half" if peer == "evalica" else None)
        np.testing.assert_allclose((found.rating - 1500) / POINTS, known[peer]["strength"], atol=1e-10)


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
    assert system == jr.arena.freeze_strengths(found) and system.factory is not None
    later = jr.predict(system, run.state, league)
    np.testing.assert_allclose(later, run.prediction, atol=1e-6)
    with pytest.raises(ValueError, match="row 1 .*no finite rating"):
        jr.arena.freeze_strengths([1500.0, np.nan])
    with pytest.raises(ValueError, match="tie must be >= 1"):
        jr.arena.freeze_strengths([1500.0], model="rao_kupper", tie=0.5)
