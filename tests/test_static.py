"""Static strengths against their definitions, in both precisions, and the arena of language models."""

from pathlib import Path

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.arena import standard_errors
from jaxrate.arena import strength_fit as door
from jaxrate.arena.comparison_graph import find_comparable_players
from jaxrate.arena.newton import maximise_log_posterior, maximise_replicates
from tests.conftest import MOSTLY_DOUBLE, mark_full
from tests.reference import static_twin as twin

ARENA = Path(__file__).parents[2] / "shared" / "data" / "arena.parquet"
POINTS = 400.0 / np.log(10.0)
PLAYERS, VOTES = 6, 60
MODELS = {"davidson": "davidson", "rao_kupper": "rao_kupper", "half": "bradley_terry"}


@pytest.fixture
def votes():
    random = np.random.default_rng(3)
    a = random.integers(0, PLAYERS, VOTES)
    b = (a + random.integers(1, PLAYERS, VOTES)) % PLAYERS
    z = random.normal(size=(VOTES, 2)).round(1)
    z[:, 1] = 1.0
    eta = np.linspace(1, -1, PLAYERS)[a] - np.linspace(1, -1, PLAYERS)[b] + z @ [0.5, 0.3]
    score = np.clip(np.rint(1.0 / (1.0 + np.exp(-eta + random.logistic(size=VOTES))) * 2), 0, 2) / 2
    columns = {
        "length": z[:, 0],
        "first": z[:, 1],
        "voter": np.arange(VOTES) // 5,
        "prompt": random.integers(0, 9, VOTES),
    }
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
    assert found.log_likelihood == pytest.approx(
        twin.log_likelihood(model, x, singly(votes, names), PLAYERS), rel=1e-12
    )
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
    one, two, three = (
        jr.arena.fit_strengths(votes, errors="sandwich"),
        jr.arena.fit_strengths(table, errors="sandwich"),
        jr.arena.fit_strengths(weighed),
    )
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
    random = np.random.default_rng(0)
    a, b = np.triu_indices(5, 1)
    wins = random.binomial(60, 1 / (1 + np.exp((a - b) / 4)))
    column = {"voter": np.arange(len(a))} if cluster else None
    if cluster:
        a, b = np.tile(a, 12), np.tile(b, 12)
        wins = random.binomial(9, 1 / (1 + np.exp((a - b) / 4)))
        column = {"voter": np.arange(len(a)) // 2}
    table = jr.arena.count_votes(a, b, wins, (9 if cluster else 60) - wins, columns=column)
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


@pytest.mark.parametrize("each", [4, 4000], ids=["few", "many"])
def test_replicates_are_the_strengths_of_weighed_counts(each, monkeypatch):
    a, b = np.triu_indices(6, 1)
    wins = np.clip(np.rint(each / (1 + np.exp((a - b) / 3))), 1, each - 1)
    given = []
    monkeypatch.setattr(
        standard_errors, "maximise_replicates", lambda *x: given.append((x, maximise_replicates(*x))) or given[-1][1]
    )
    jr.arena.fit_strengths(jr.arena.count_votes(a, b, wins, each - wins), errors="bootstrap", samples=20)
    (model, _, problem, _, counts, x, _), (found, size) = given[0]
    with jax.enable_x64(True):
        exact = [maximise_log_posterior(True, model, problem, one, x) for one in counts]
    np.testing.assert_allclose(found, [end.x for end in exact], atol=1e-5)
    assert (np.asarray(size) <= 1e-4).all() and np.ptp(np.asarray(found), axis=0).max() > (1.0 if each < 10 else 0.01)


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


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        (lambda: one(wins=[0] * 3, losses=[0] * 3, ties=[4, 2, 3]), {}, "all 9 comparable votes are ties"),
        (lambda: one(wins=[0] * 3, losses=[0] * 3, ties=[4, 2, 3]), {"ties": "none"}, "no vote that is not a tie"),
        (lambda: one(wins=[0] * 3, losses=[0] * 3, ties=None), {}, "there is no vote"),
        (lambda: jr.arena.count_votes([], [], [], []), {}, "there is no vote"),
        (lambda: jr.matches([[0, 1]], [1.0]), {}, "give a prior"),
        (lambda: one(wins=[3, np.nan, 1]), {}, "row 1 .*wins is nan"),
        (lambda: one(wins=["3", "2", "1"]), {}, "wins must hold numbers"),
        (lambda: one(losses=[1, 2, -2]), {}, "row 2 .*losses is -2, below 0"),
        (lambda: one(b=[1, 1, 2]), {}, "row 1 .*both sides"),
        (lambda: one(b=["x", "y", "z"]), {}, "both be names, or both ids"),
        (one, {"anchors": {7: 1500}}, "no player|ids from 0 to 2"),
        (lambda: one(a=[0, 1, 0, 0], b=[1, 2, 2, 3], wins=[1, 1, 1, 0], losses=[1, 1, 1, 0], ties=None),
         {"anchors": {3: 1500}}, "anchor 3 plays in no match"),
        (one, {"anchors": {1: np.nan}}, "finite rating"),
        (one, {"prior": 0}, "prior must be"),
        (one, {"ties": "davidsson"}, "did you mean 'davidson'"),
        (one, {"errors": "jackknife"}, "errors must be one of"),
        (one, {"samples": 1}, "samples must be"),
        (one, {"covariates": ["style"]}, "no column 'style'"),
        (one, {"covariates": np.ones((3, 1))}, "covariates are names of columns of the data, got"),
        (lambda: one(columns={"style": [0, 0, 0]}), {"covariates": ["style"]}, "0 in every vote"),
        (lambda: one(columns={"style": [1, 2, 3]}), {"covariates": ["style"]}, "follows from players"),
        (lambda: one(columns={"voter": [1, 1, 1]}), {"cluster": "voter"}, "one cluster"),
        (one, {"cluster": [1, 2]}, "cluster has shape"),
        (one, {"cluster": ["x", "y", "z"]}, "not by 3"),
        (lambda: jr.matches([[0, 1]] * 2, [0.3, 1.0]), {}, "row 0 .*score 0.3"),
        (lambda: [1, 2], {}, "strengths are fitted to matches, counts"),
    ],
)  # fmt: skip
def test_refusals(make, options, said):
    with pytest.raises(ValueError, match=said):
        jr.arena.fit_strengths(make(), **options)


def test_a_covariate_that_tells_all_comes_to_an_end():
    a, b = np.tile([0, 0, 1], 4), np.tile([1, 2, 2], 4)
    z = np.tile([1.0, -1.0], 6)
    votes = jr.matches(np.stack([a, b], axis=1), (z > 0).astype(float), columns={"z": z})
    found = jr.arena.fit_strengths(votes, covariates=["z"])
    assert not found.converged and found.reason == "no maximum" and "not converged" in repr(found)


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


def test_what_did_not_converge_has_no_intervals():
    a, b = np.tile([0, 0, 1], 4), np.tile([1, 2, 2], 4)
    z = np.tile([1.0, -1.0], 6)
    votes = jr.matches(np.stack([a, b], axis=1), (z > 0).astype(float), columns={"z": z})
    found = jr.arena.fit_strengths(votes, covariates=["z"])
    assert not found.converged and " to " not in found.table() and "±" not in repr(found)
    for ask in (
        lambda: found.difference(0, 1),
        lambda: jr.arena.rank_sets(found),
        lambda: jr.arena.votes_needed(found, 0, 1),
    ):
        with pytest.raises(ValueError, match="did not converge"):
            ask()


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


@pytest.mark.full  # of more players; the twins above have the same formulas
@pytest.mark.skipif(not ARENA.exists(), reason="the arena's votes are not here")
def test_the_arena():
    arrow = pytest.importorskip("pyarrow.parquet")
    table = arrow.read_table(ARENA).to_pydict()
    votes = jr.arena.count_votes(*(table[name] for name in ("a", "b", "wins_a", "wins_b", "ties")))
    found = {ties: jr.arena.fit_strengths(votes, ties=ties) for ties in ("davidson", "rao_kupper", "half")}
    assert -found["davidson"].log_likelihood / found["davidson"].votes == pytest.approx(1.010007, abs=5e-7)
    assert -found["rao_kupper"].log_likelihood / found["rao_kupper"].votes == pytest.approx(1.0095, abs=5e-5)
    wins, (a, b) = np.zeros((129, 129)), votes.player.T
    wins[a, b], wins[b, a] = votes.wins + votes.ties / 2, votes.losses + votes.ties / 2
    np.testing.assert_allclose((found["half"].rating - 1500) / POINTS, twin.bradley_terry(wins), atol=1e-8)
