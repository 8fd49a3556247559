"""Several systems blended into one forecaster: their log-odds, weighted by how well they predicted.

    log-odds of the blend = sum_k w_k log(p_k / (1 - p_k))

There is no intercept: the order of the two players does not matter. The weights minimise the log loss of the
predictions so far, one step ahead, plus sum_k K (w_k - 1 / K)^2 / 2 of K systems. That is a prior by which all count
alike and the sum of the weights is 1 with a deviation of 1; it decides between systems that say the same, and is
outweighed by some hundred matches. The problem is strictly convex, and is solved by Newton's method. (Satopaa and
others 2014, "Combining multiple probability predictions using a simple logit model", with a weight for each
forecaster.)

No match is predicted with weights that have seen it: they are renewed whenever the history is a twentieth longer.
Log-odds count at most as much as the boldest of those to which the weights were fitted: a system that fails later, as
one of too bold hyperparameters may, does little harm before the next weights leave it out.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import (
    ArgumentRequirement,
    check_that,
    enforce_argument_annotations,
    format_value_or_type,
    is_iterable,
)
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.evaluation.scored_predictions import check_last_share, format_metric, make_scoring_target
from jaxrate.events import Matches
from jaxrate.events.dataset import Dataset
from jaxrate.metrics.logistic_regression import clipped_log_odds, fit_logistic_regression
from jaxrate.metrics.prediction_metrics import match_metrics
from jaxrate.replay.checked_replay import predict, run
from jaxrate.replay.schedule import get_or_make_levels_plan
from jaxrate.systems.prediction_wrapping import expected_score_from_prediction

Systems = ArgumentRequirement("systems, as [jr.elo(), jr.glicko()], or a mapping of them", is_iterable)
GROWTH = 1.05  # of the history, after which weights are fitted again
BOLDEST_SHARE = 0.999  # of the log-odds of a system, as far as they count
FIRST_FIT_MATCHES = 64  # matches after which weights are fitted for the first time


class Blend(NamedTuple):
    """Several systems that have rated the same matches, and the weight of each in a common forecast."""

    systems: dict[str, RatingSystem]  # by name
    weights: dict[str, float]  # of the log-odds, fitted to all matches, for later ones
    states: dict[str, State]  # after them
    prediction: HostArray  # [n] expected scores one step ahead, by weights fitted to earlier matches
    quality: dict[str, float]  # metrics by name, of the scored predictions
    limits: dict[str, float]  # as far as log-odds of each count

    def __repr__(self) -> str:
        weights = ", ".join(f"{weight:.2f} {name}" for name, weight in self.weights.items())
        quality = ", ".join(f"{name} {format_metric(name, value)}" for name, value in self.quality.items())
        return f"Blend of {weights}\n  {quality}"

    def predict(self, data: Any) -> HostArray:
        """[m] the expected scores of player 0 in upcoming matches, with the errors of `jr.predict`."""
        predictions = [predict(system, self.states[name], data) for name, system in self.systems.items()]
        x = log_odds_by_system([expected_score_from_prediction(guess) for guess in predictions])
        weights, limits = (np.array([*numbers.values()]) for numbers in (self.weights, self.limits))
        return _blend_log_odds(x, limits, weights)


@enforce_argument_annotations
def blend_systems(
    systems: Annotated[Mapping[str, RatingSystem] | Iterable[RatingSystem], Systems],
    data: Dataset,
    *,
    last: float = 1.0,
) -> Blend:
    """Rate the same matches by several systems, and weigh their predictions.

    A blend is better than the best of them where they err in different ways, and about as good elsewhere:

        both = jr.evaluation.blend_systems([jr.elo(k=20), jr.glicko(c=20)], jr.data.datasets.nfl(), last=0.2)
        print(both.weights, both.quality["log loss"])

    Each system predicts every match before it learns from it. Weights for a match are fitted to the predictions
    before it: they are renewed where the last share begins, and whenever the history is a twentieth longer since;
    before the 64th match all systems count alike. Hyperparameters are taken as they are. Fit them to what comes before
    the last share, or `quality` flatters the blend.

    Args:
      systems: two or more, as from `elo()`, `glicko()`, ...; two of one name by names of their own.
      data: the matches, as from `read`.
      last: score this last share of the matches only.

    Raises:
      ValueError: for fewer than two systems, two of one name, systems that draw random numbers, contests, a `last` that
        is not above 0 and at most 1, or as `run` does.
    """
    systems_by_name = name_systems(systems)
    for name, system in systems_by_name.items():
        _check_can_be_blended(name, system)
    if len(systems_by_name) < 2:
        raise ValueError(f"a blend takes two systems or more, got {len(systems_by_name)}")
    check_last_share(last)
    matches = data.matches
    cache: dict[int, Any] = {}
    plans = {name: get_or_make_levels_plan(x, matches, cache) for name, x in systems_by_name.items()}
    results = {name: run(x, matches, schedule=plans[name]) for name, x in systems_by_name.items()}
    target = make_scoring_target(data, last)
    expected_scores = [expected_score_from_prediction(result.prediction) for result in results.values()]
    weights, prediction, quality = blend_systems_one_step_ahead(
        expected_scores, target.score, target.weight, target.mask
    )
    states = {name: result.state for name, result in results.items()}
    limits = _log_odds_limits(log_odds_by_system(expected_scores))
    weight_by_name, limit_by_name = (dict(zip(systems_by_name, x.tolist(), strict=True)) for x in (weights, limits))
    return Blend(systems_by_name, weight_by_name, states, prediction, quality, limit_by_name)


def blend_systems_one_step_ahead(
    expected_scores: list[Any], scores: HostArray, weight: HostArray, mask: HostArray
) -> tuple[HostArray, HostArray, dict[str, float]]:
    """Weights [K] of expected scores [K][n], predictions [n] one step ahead, and metrics where `mask` [n] is true."""
    x, score = log_odds_by_system(expected_scores), np.asarray(scores, np.float64)
    weights, begin, prediction = np.full(x.shape[1], 1.0 / x.shape[1]), 0, np.empty(len(score))
    limits = np.full(x.shape[1], np.inf)
    end = max(int(np.argmax(mask)), FIRST_FIT_MATCHES)
    while begin < len(score):
        prediction[begin:end] = _blend_log_odds(x[begin:end], limits, weights)
        weights = fit_blend_weights(x[:end], score[:end], weight[:end], weights)
        limits = _log_odds_limits(x[:end])
        begin, end = end, math.ceil(GROWTH * end)
    return weights, prediction, match_metrics(prediction, score, weight=weight, mask=mask)


def log_odds_by_system(expected_scores: list[Any]) -> HostArray:
    """[n, K] the log-odds of expected scores [K][n], kept from 0 and 1 by the rounding of their type."""
    return np.stack([clipped_log_odds(p, float(np.finfo(np.asarray(p).dtype).eps)) for p in expected_scores], axis=1)


def fit_blend_weights(
    x: HostArray, score: HostArray, match_weights: HostArray, initial_weights: HostArray
) -> HostArray:
    """The weights [K] by which log-odds [n, K] predict scores [n] best, with weights of matches [n]."""
    num_systems = x.shape[1]
    fit = fit_logistic_regression(x, score, match_weights, initial_weights, float(num_systems), 1.0 / num_systems)
    return initial_weights if fit is None else fit[0]


def _log_odds_limits(x: HostArray) -> HostArray:
    """[K] the quantile `BOLDEST_SHARE` of each system's absolute log-odds, from log-odds [n, K] of earlier matches."""
    return np.asarray(np.quantile(np.abs(x), BOLDEST_SHARE, axis=0))


def _blend_log_odds(x: HostArray, limits: Any, weights: HostArray) -> HostArray:
    """[n] expected scores of the blend from log-odds [n, K], of which each counts within its limits."""
    from scipy.special import expit  # type: ignore[import-untyped]  # which takes long to load

    return np.asarray(expit(np.clip(x, -limits, limits) @ weights))


def name_systems(systems: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Systems, or names of systems, by name; ValueError for what is neither, and for a name that two have."""
    if isinstance(systems, Mapping):
        return dict(systems)
    by_name: dict[str, Any] = {}
    for system in [systems] if isinstance(systems, (str, RatingSystem)) else systems:
        if not isinstance(system, (str, RatingSystem)):
            raise ValueError(f"give systems, or their names, and not {format_value_or_type(system)}")
        name = system if isinstance(system, str) else system.name
        if name in by_name:
            raise ValueError(f"two systems have the name {name}; give each its own, as in {{'fast': {name}(...), ...}}")
        by_name[name] = system
    return by_name


def _check_can_be_blended(name: str, system: Any) -> None:
    """ValueError unless it is a system that predicts single matches, the same every time."""
    if not isinstance(system, RatingSystem):
        raise ValueError(f"blend takes systems, as jr.glicko(), and not {type(system).__name__}")
    if system.rules.draw is not None:
        raise ValueError(f"{name} draws random numbers, and would not predict the same twice; leave it out")
    check_that(Matches in system.events, f"{name} rates no single matches; leave it out")
