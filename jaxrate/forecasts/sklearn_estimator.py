"""A rating system as an estimator of scikit-learn, which need not be installed."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import check_that, is_list
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.dataset_from_table import read
from jaxrate.data.table_files import open_table_source
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset
from jaxrate.forecasts.upcoming_events import predict_fixtures
from jaxrate.history.dataset_rating import rate
from jaxrate.history.history import History
from jaxrate.systems.system_construction_by_name import make_system, make_system_for_data

COLUMN_ROLES = "a", "b", "time", "side"  # of the columns of X, in this order
RESULT_SCORES: dict[Any, float] = {"loss": 0.0, "draw": 0.5, "win": 1.0}  # what y may say instead of numbers
EXPECTED_LABELS_HINT = 'expected 1, 0.5 or 0, or "win", "draw" or "loss"'


class RatingClassifier:
    """A rating system with the methods of a classifier of scikit-learn: for pipelines, searches and cross-validation.

        model = jr.forecasts.RatingClassifier("glicko", c=30).fit([["Ada", "Bo"], ["Bo", "Cy"]], [1, 1])
        model.predict_proba([["Ada", "Cy"]])

    X is a frame, an array or a list of rows, whose columns in order are the two players, and perhaps the time of the
    match and the side (1 where the first player has home or white, -1 where the second has). y is the result of the
    first player: 1 or 0, or 1, 0.5 and 0, or "win", "draw" and "loss", which the measures of scikit-learn need where
    there are draws.

    `fit` replays the matches in the order of their rows, which must be the order of time. So cross-validation needs
    splits that keep the order, as scikit-learn's TimeSeriesSplit makes them. `partial_fit` carries on. `predict_proba`
    tells of each match what is expected of it after all that was fitted, whatever the matches beside it; a time before
    the end of what was fitted counts as that end. Players who were not fitted are newcomers.

    Attributes:
      rated_: the history, as from `rate`.
      classes_: the classes, in the order of the columns of `predict_proba`: two, or where a draw was fitted three,
        whose chances are as in `predict_fixtures`.
    """

    def __init__(self, system: str = "glicko", **changes: Any) -> None:
        """A classifier by the system of this name, with these hyperparameters and settings."""
        self.system, self.changes = system, changes

    def __repr__(self) -> str:
        return f"RatingClassifier({', '.join(f'{name}={x!r}' for name, x in self.get_params().items())})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The system, and the hyperparameters that were given."""
        del deep
        return {"system": self.system, **self.changes}

    def set_params(self, **params: Any) -> "RatingClassifier":
        """Change the system, or hyperparameters of it. ValueError if it has none of that name."""
        system = params.pop("system", self.system)
        make_system(system, self.changes | params)
        self.system, self.changes = system, self.changes | params
        return self

    def __sklearn_clone__(self) -> "RatingClassifier":
        return RatingClassifier(self.system, **self.changes)

    def __sklearn_tags__(self) -> Any:
        tags = import_module("sklearn.utils")
        target, inputs = tags.TargetTags(required=True), tags.InputTags(categorical=True, string=True)
        return tags.Tags("classifier", target, classifier_tags=tags.ClassifierTags(), input_tags=inputs)

    def fit(self, X: Any, y: Any) -> "RatingClassifier":
        """Rate the matches. ValueError as `read` and `rate` raise it, with rows counted from 0."""
        self.__dict__.pop("rated_", None)
        return self.partial_fit(X, y)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "RatingClassifier":
        """Carry on with further matches. `classes` may be given, as elsewhere, and is not needed."""
        del classes
        if y is None:
            raise ValueError("RatingClassifier requires y to be passed, but the target y is None: give the results")
        previous: History | None = getattr(self, "rated_", None)
        label, columns = np.asarray(y), _columns_by_role(X)
        if label.ndim != 1:
            raise ValueError(f"y must be [n] results, got the shape {label.shape}")
        score = np.array([RESULT_SCORES.get(x, x) for x in label.tolist()], object)
        is_no_result = ~np.isin(score, [0.0, 0.5, 1.0])
        fail_where(is_no_result, lambda row: f"y is {format_value_for_error(score[row])}, {EXPECTED_LABELS_HINT}")
        data = _columns_to_dataset(columns | {"score": score.astype(float)}, previous)
        system = make_system_for_data(self.system, self.changes, None, data) if previous is None else previous.system
        self.rated_, self.n_features_in_ = rate(system, data, onto=previous), len(columns)
        values = [0.0, 0.5, 1.0] if 0.5 in self.rated_.events["score"] else [0.0, 1.0]
        if label.dtype.kind in "OUT":
            self.classes_ = np.array(sorted(name for name, x in RESULT_SCORES.items() if x in values))
        else:
            self.classes_ = np.array(values, label.dtype if len(values) == 2 else float)
        return self

    def predict_proba(self, X: Any) -> HostArray:
        """[n, 2] or [n, 3] the probability of each of `classes_`. NotFittedError, a ValueError, before `fit`."""
        rated: History | None = getattr(self, "rated_", None)
        if rated is None:
            raise _make_not_fitted_error("nothing has been fitted; fit(X, y) comes first")
        data = _columns_to_dataset(_columns_by_role(X), rated, is_upcoming=True)
        if data.clock is not None and rated.last is not None:
            data = data._replace(events=data.matches._replace(time=np.maximum(data.matches.time, rated.last)))
        forecasts = predict_fixtures(rated, data, newcomers=True)
        has_draws = len(self.classes_) == 3
        win = np.asarray(forecasts["win" if has_draws else "expected"], float)
        loss = np.asarray(forecasts["loss"], float) if has_draws else 1.0 - win
        probability_by_score: dict[float, Any] = {0.0: loss, 0.5: forecasts.get("draw"), 1.0: win}
        scores = [float(RESULT_SCORES.get(x, x)) for x in self.classes_.tolist()]
        proba = np.empty((len(win), len(scores)))
        proba[forecasts["row"]] = np.stack([probability_by_score[x] for x in scores], axis=1)
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> HostArray:
        """[n] the likeliest class of each match. NotFittedError, a ValueError, before `fit`."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[likeliest]

    def score(self, X: Any, y: Any) -> float:
        """The share of the matches whose likeliest class came true."""
        return float(np.mean(self.predict(X) == np.asarray(y)))


def _make_not_fitted_error(message: str) -> ValueError:
    """scikit-learn's NotFittedError, which is a ValueError as well; a plain one where scikit-learn is not installed."""
    if find_spec("sklearn") is None:
        return ValueError(message)
    error: ValueError = import_module("sklearn.exceptions").NotFittedError(message)
    return error


def _columns_by_role(X: Any) -> dict[str, Any]:
    """The columns of a frame or of rows, by role. ValueError unless there are two to four."""
    if isinstance(X, (list, tuple, np.ndarray)) and not (is_list(X) and len(X) and isinstance(X[0], Mapping)):
        rows = np.array(X, object)
        check_that(rows.ndim == 2, "X must have rows of two players, and perhaps time and side")
        values = [column.tolist() for column in rows.T]
    else:
        table = open_table_source(X)
        loaded = table.load(table.names)
        values = [loaded[name] for name in table.names]
    if not 2 <= len(values) <= len(COLUMN_ROLES):
        raise ValueError(f"X must have two columns of players, and perhaps time and side, got {len(values)} columns")
    return dict(zip(COLUMN_ROLES, values, strict=False))


def _columns_to_dataset(columns: dict[str, Any], rated: History | None, is_upcoming: bool = False) -> Dataset:
    roles: dict[str, Any] = {name: name for name in columns if name in ("time", "side")}
    source = open_table_source(columns)._replace(noted=False)
    return read(source, **roles, history=rated, upcoming=is_upcoming)
