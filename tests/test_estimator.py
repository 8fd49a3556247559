"""The estimator for scikit-learn, without it and within it."""

import pickle

import numpy as np
import pytest

import jaxrate as jr

pytest.importorskip("pyarrow")
NAMES = np.array([f"Club {i:02}" for i in range(40)], object)


@pytest.fixture
def games(league):
    """X and y of a league with draws, sides and times."""
    a, b = NAMES[league.player].T
    rows = zip(a, b, league.time, np.resize([1, -1, 0], 600), strict=True)
    return [list(row) for row in rows], np.asarray(league.score)


def test_it_says_what_fixtures_say(games, no_errors):
    X, y = games
    model = jr.forecasts.RatingClassifier(side_advantage=60.0).fit(X[:500], y[:500])
    table = dict(zip(("a", "b", "time", "side"), zip(*X, strict=True), strict=True)) | {"score": y}
    data = jr.read({name: list(x)[:500] for name, x in table.items()}, side="side")
    rated = jr.rate(jr.glicko(side_advantage=60.0), data)
    coming = {name: list(table[name])[500:][::-1] for name in ("a", "b", "time", "side")}
    found = jr.forecasts.predict_fixtures(rated, coming, side="side")
    chance = model.predict_proba(X[500:])
    assert model.classes_.tolist() == [0.0, 0.5, 1.0] and chance.shape == (100, 3)
    order = 99 - found["row"]
    np.testing.assert_allclose(chance[order], np.stack([found[x] for x in ("loss", "draw", "win")], 1), atol=1e-6)
    assert model.score(X[500:], y[500:]) == np.mean(model.predict(X[500:]) == y[500:])
    on = model.partial_fit(X[500:], y[500:]).predict_proba(X[:50])  # whose times count as the end of what was fitted
    whole, at_end = jr.forecasts.RatingClassifier(side_advantage=60.0), [[*x[:2], X[-1][2], x[3]] for x in X[:50]]
    np.testing.assert_allclose(on, whole.fit(X, y).predict_proba(at_end), atol=1e-6)


def test_classes_without_draws():
    pairs = [("Ada", "Bo"), ("Bo", "Cy")]
    for y, classes in (([1, 0], [0, 1]), ([True, True], [False, True]), (["win", "win"], ["loss", "win"])):
        model = jr.forecasts.RatingClassifier("elo", k=20).fit(pairs, y)
        chance = model.predict_proba([["Ada", "somebody new"]])
        assert model.classes_.tolist() == classes and chance.sum() == pytest.approx(1.0)
        assert (chance[0, 1] > 0.5) == (y[0] != 0)
    assert repr(model) == "RatingClassifier(system='elo', k=20)" and model.set_params(k=30).get_params()["k"] == 30


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([["Ada", "Bo"]], [0.3], "y is 0.3, expected 1, 0.5 or 0"),
        ([["Ada", "Bo"]], None, "requires y to be passed"),
        ([["Ada"]], [1], "X must have two columns of players, and perhaps time and side, got 1"),
        (["Ada", "Bo"], [1, 0], "X must have rows of two players"),
        ([["Ada", "Bo"]], 1, "y must be .n. results, got the shape"),
        ([["Ada", "Ada"]], [1], "row 0"),
        ([["Ada", "Bo", 2.0], ["Ada", "Bo", 1.0]], [1, 0], "row 1"),
    ],
)
def test_refusals(X, y, message):
    with pytest.raises(ValueError, match=message):
        jr.forecasts.RatingClassifier().fit(X, y)


def test_it_must_be_fitted_and_has_hyperparameters_of_its_system():
    errors = pytest.importorskip("sklearn.exceptions")
    for method in (jr.forecasts.RatingClassifier.predict, jr.forecasts.RatingClassifier.predict_proba):
        with pytest.raises(errors.NotFittedError, match="nothing has been fitted"):
            method(jr.forecasts.RatingClassifier(), [["Ada", "Bo"]])
    model = jr.forecasts.RatingClassifier("elo")
    with pytest.raises(ValueError, match="tau"):
        model.set_params(tau=1.0)
    assert model.get_params() == {"system": "elo"}


def test_it_works_within_scikit_learn(games, no_errors):
    pytest.importorskip("sklearn")
    polars = pytest.importorskip("polars")
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X, y = games
    frame = polars.DataFrame(X, schema=["home", "away", "date", "side"], orient="row")
    model = jr.forecasts.RatingClassifier("glicko", side_advantage=60.0)
    assert is_classifier(model) and clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(FunctionTransformer(lambda X: X.select("home", "away", "date", "side")), model)
    split, words = TimeSeriesSplit(2), np.select([y == 1, y == 0], ["win", "loss"], "draw")
    fitted = pipeline.fit(frame[:200], words[:200])
    first = cross_val_score(pipeline, frame, words, cv=split, scoring="accuracy", error_score="raise")[0]
    assert first == fitted.score(frame[200:400], words[200:400]) > 0.3
    grid = {"ratingclassifier__c": [5.0, 500.0], "ratingclassifier__system": ["glicko"]}
    search = GridSearchCV(pipeline, grid, cv=split, scoring="neg_log_loss", error_score="raise").fit(frame, words)
    assert search.predict_proba(frame[:3]).shape == (3, 3)
    assert search.cv_results_["mean_test_score"].std() > 0


APPLY = """check_decision_proba_consistency check_estimator_cloneable check_estimator_repr check_estimators_unfitted
check_fit1d check_get_params_invariance check_mixin_order check_parameters_default_constructible check_requires_y_none
check_set_params check_supervised_y_no_nan check_valid_tag_types"""


@pytest.mark.filterwarnings("ignore::UserWarning")  # the class inherits nothing, and refuses names at once
def test_the_checks_of_scikit_learn_that_apply():
    check_estimator = pytest.importorskip("sklearn.utils.estimator_checks").check_estimator
    model = jr.forecasts.RatingClassifier()
    results = {x["check_name"]: x["exception"] for x in check_estimator(model, on_skip=None, on_fail=None)}
    assert {name: results[name] for name in APPLY.split()} == dict.fromkeys(APPLY.split())

    X, y = np.array([["Ada", "Bo"], ["Bo", "Cy"], ["Cy", "Ada"]], object), [1, 0, 1]
    before, model = X.copy(), model.fit(X, y)
    chance = model.predict_proba(X)
    for same in (pickle.loads(pickle.dumps(model)), jr.forecasts.RatingClassifier().fit(X, y), model.fit(X, y)):
        np.testing.assert_array_equal(same.predict_proba(X), chance)
    np.testing.assert_array_equal([model.predict_proba(X[i : i + 1])[0] for i in (2, 1, 0)][::-1], chance)
    assert (before == X).all() and model.n_features_in_ == 2
