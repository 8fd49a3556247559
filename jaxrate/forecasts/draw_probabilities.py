"""Chances of draws of systems that predict an expected score: Davidson's, with odds that are fitted to results.

This is where all commands and pages learn how frequent draws are. Forecasts take the odds that make all results of the
history likeliest, which are the past of what is to come. A match of the history takes those of the matches before it.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.history.event_columns import match_prediction_columns
from jaxrate.history.history import History
from jaxrate.systems.prediction_wrapping import (
    add_outcomes,
    davidson_outcome_probabilities,
    find_own_draw_predict_rule,
    has_outcome_wrapper,
)

DRAW_SAMPLE_LIMIT = 100_000  # last matches from which the odds of a draw are fitted
MIN_LOG_DRAW_ODDS, MAX_LOG_DRAW_ODDS = -10.0, 5.0  # of log(draw_odds)
FIRST_FIT = 100  # matches, to which odds are fitted first
FIT_GROWTH = 1.25  # odds are fitted anew after so many times the matches, again and again
FIRST_DRAW_ODDS = 1.0  # of the matches before


def add_draw_probabilities_if_needed(rated: History, system: RatingSystem) -> RatingSystem:
    """The system with probabilities of draws, its own or fitted, if the history has plain draws without any."""
    if has_outcome_wrapper(system) or {"draw", "probability_1"} & rated.events.keys():
        return system
    expected, score = _expected_scores_and_scores(rated)
    if not _are_plain_results(score) or not (score == 0.5).any():
        return system
    if find_own_draw_predict_rule(system) is not None:
        return add_outcomes(system)
    return add_outcomes(system, draw_odds=fit_draw_odds(expected, score))


def add_fitted_outcomes(rated: History) -> History:
    """The history of matches with the chances of a win, a draw and a loss, by `draw_odds` that are fitted to results.

    Each match has those of the odds that make the results before it likeliest. They are fitted after 100 matches, and
    anew whenever there are a quarter more; before these they are 1. The system has the odds of all results, as
    `predict_fixtures` takes them. Its own draws do not count, and scores beside 0, 1/2 and 1 are not fitted.
    """
    expected, score = _expected_scores_and_scores(rated)
    odds, last = np.full(len(score), FIRST_DRAW_ODDS), FIRST_DRAW_ODDS
    if _are_plain_results(score):
        begin = FIRST_FIT
        while begin < len(score):
            odds[begin:] = fit_draw_odds(expected, score, begin)
            begin = int(FIT_GROWTH * begin)
        last = fit_draw_odds(expected, score)
    outcomes = davidson_outcome_probabilities(*(jnp.asarray(x, jnp.float32) for x in (expected, odds)))
    chances = match_prediction_columns(outcomes)
    del chances["prediction"]
    columns: dict[str, Any] = {}
    for name, values in rated.events.items():
        columns |= {name: values} | (chances if name == "prediction" else {})
    system = add_outcomes(rated.system, draw_odds=last)
    return rated._replace(system=system, events=columns)


@jax.jit
def _mean_draw_odds_loss(result: Array, expected: Array, weight: Array, log_odds: Array) -> Array:
    """The mean loss of results [n] of 0, 1 and 2 half points, given expected scores [n], with weights [n] of sum 1."""
    outcome = davidson_outcome_probabilities(expected, jnp.exp(log_odds))
    probability = jnp.stack([outcome.win[:, 1], outcome.draw[:, 0], outcome.win[:, 0]])
    chance = jnp.maximum(jnp.take_along_axis(probability, result[None], axis=0)[0], 1e-12)
    return -jnp.sum(weight * jnp.log(chance))


def fit_draw_odds(expected_scores: HostArray, score: HostArray, num_past: int | None = None) -> float:
    """The odds of a draw between equals that make scores [n] of 0, 1/2 and 1 likeliest, given the expected ones [n].

    `num_past`: of the first matches alone. Of more than `DRAW_SAMPLE_LIMIT` the last ones count.
    """
    end = len(score) if num_past is None else num_past
    begin = max(0, end - DRAW_SAMPLE_LIMIT)
    window = slice(begin, begin + DRAW_SAMPLE_LIMIT)  # of one size for all ends, so that it compiles once
    score, expected_scores = score[window], expected_scores[window]
    is_fitted = np.arange(begin, begin + len(score)) < end
    floats = (np.asarray(x, jnp.result_type(float)) for x in (expected_scores, is_fitted / is_fitted.sum()))
    result, expected, weight = jax.device_put((np.rint(2 * score).astype(np.int32), *floats))
    low, high, golden = MIN_LOG_DRAW_ODDS, MAX_LOG_DRAW_ODDS, (5**0.5 - 1) / 2
    for _ in range(30):
        lower, upper = high - golden * (high - low), low + golden * (high - low)
        losses = (_mean_draw_odds_loss(result, expected, weight, x) for x in (lower, upper))
        low, high = (low, upper) if next(losses) < next(losses) else (lower, high)
    return float(np.exp((low + high) / 2))


def _expected_scores_and_scores(rated: History) -> tuple[HostArray, HostArray]:
    """[n] the expected scores and the scores of all matches."""
    expected, score = (rated.events[name].astype(np.float64) for name in ("prediction", "score"))
    return expected, score


def _are_plain_results(score: HostArray) -> bool:
    """Whether scores [n] are wins, draws and losses, and some are there."""
    return bool(len(score) and np.isin(score, (0.0, 0.5, 1.0)).all())
