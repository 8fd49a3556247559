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
    whole = (
        jr.forecasts.RatingClassifier(side_advantage=60.0)
        .fit(X, y)
        .predict_proba([[*x[:2], X[-1][2], x[3]] for x in X[:50]])
    )
    np.testing.assert_allclose(on, whole, atol=1e-6)


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
        (np.array("Ada"), [1], "X must have rows of two players"),
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


CHECKS_OF_OTHER_ESTIMATORS = {  # checks of scikit-learn that do not apply, by reason
    "hyperparameters of the system, which **changes takes, are parameters": {
        "check_no_attributes_set_in_init",
        "check_do_not_raise_errors_in_init_or_set_params",  # an unknown system is refused at once
    },
    "X made of numbers in any number of columns, and y of any classes: here X names two players, and y has results": {
        *("check_classifier_data_not_an_array", "check_classifiers_classes", "check_classifiers_one_label"),
        *(
            "check_classifiers_regression_target",
            "check_classifiers_train",
            "check_complex_data",
            "check_dict_unchanged",
        ),
        *("check_dont_overwrite_parameters", "check_dtype_object", "check_estimator_sparse_array"),
        *("check_estimator_sparse_matrix", "check_estimator_sparse_tag", "check_estimators_dtypes"),
        *("check_estimators_empty_data_messages", "check_estimators_fit_returns_self", "check_estimators_nan_inf"),
        *("check_estimators_overwrite_params", "check_estimators_partial_fit_n_features", "check_estimators_pickle"),
        *("check_f_contiguous_array_estimator", "check_fit2d_1feature", "check_fit2d_1sample", "check_fit2d_predict1d"),
        *("check_fit_check_is_fitted", "check_fit_idempotent", "check_fit_score_takes_y"),
        *("check_methods_sample_order_invariance", "check_methods_subset_invariance", "check_n_features_in"),
        *("check_n_features_in_after_fitting", "check_pipeline_consistency", "check_positive_only_tag_during_fit"),
        *("check_readonly_memmap_input", "check_supervised_y_2d"),
    },
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # the class inherits nothing, and refuses names at once
def test_the_checks_of_scikit_learn_that_apply():
    """What else they check, of names: fits are alike, leave X as it was, and can be pickled."""
    check_estimator = pytest.importorskip("sklearn.utils.estimator_checks").check_estimator
    reasons = {name: reason for reason, names in CHECKS_OF_OTHER_ESTIMATORS.items() for name in names}
    model = jr.forecasts.RatingClassifier()
    checks = check_estimator(model, expected_failed_checks=reasons, on_skip=None, on_fail=None)
    results = {check["check_name"]: check for check in checks}
    assert [(name, x["exception"]) for name, x in results.items() if x["status"] == "failed"] == []
    passed = {name for name, x in results.items() if x["status"] == "passed"}
    assert len(passed) > 12 and not passed & reasons.keys()

    X, y = np.array([["Ada", "Bo"], ["Bo", "Cy"], ["Cy", "Ada"]], object), [1, 0, 1]
    before, model = X.copy(), model.fit(X, y)
    chance = model.predict_proba(X)
    for same in (pickle.loads(pickle.dumps(model)), jr.forecasts.RatingClassifier().fit(X, y), model.fit(X, y)):
        np.testing.assert_array_equal(same.predict_proba(X), chance)
    np.testing.assert_array_equal([model.predict_proba(X[i : i + 1])[0] for i in (2, 1, 0)][::-1], chance)
    assert (before == X).all() and model.n_features_in_ == 2
