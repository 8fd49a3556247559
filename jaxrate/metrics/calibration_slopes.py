"""The calibration slope: by what the log-odds of predictions should have been multiplied.

The scores s are regressed on the log-odds x of the predictions by a logistic regression, E s = sigmoid(a + b x) (Cox
1958, "Two further applications of a model for binary regression", Biometrika 45). With b = 1 predictions are as bold
as they should be, below 1 they are too bold, and above 1 too timid. The standard error is that of quasi-likelihood, so
that draws may count as half a win.

The calibration slope of a system, learnt online from its predictions and their results, one step ahead.

A prediction p whose log-odds are x = logit p is calibrated to q = sigmoid(b x). What a match of weight w and score s
says of the slope b (Cox 1958, without an intercept, so that to swap both players changes nothing) are the gradient and
the curvature of its log likelihood,

    g = w (s - q) x,   h = w q (1 - q) x^2

The past counts less with every match that follows, by exp(-1 / M). One step of Newton learns from n matches:

    I <- exp(-n / M) I + sum h,   b <- b + sum g / I

Matches at one time are predicted by the slope before it. Beyond `STEPS_PER_MEMORY` matches, steps are of so many at a
time that each is a small part of what is known.

Each team of a contest counts as half a match, of weight 1/2, against the others: p is the share of them that it should
beat, and s the share that it beats. Then q = sigmoid(b x + c), where c is that of the contest with which the shares sum
to half the teams, as they did before. Of two teams these are the chances of a match, and c = 0.
"""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.metrics.logistic_regression import clipped_log_odds, fit_logistic_regression
from jaxrate.metrics.prediction_metrics import (
    check_and_select_samples,
    mirror_winner_first,
    probability_clip_margin,
)
from jaxrate.numerics.newton_iterations import center_log_odds

MAX_ABS_SLOPE = 1e3  # beyond it predictions separate wins from losses, and there is no slope


class CalibrationSlope(NamedTuple):
    """The slope of a logistic regression of scores on the log-odds of predictions; 1 is best."""

    slope: float | None  # None where all predictions are equal, or separate wins from losses
    error: float | None  # standard error; None without a slope


NO_SLOPE = CalibrationSlope(None, None)


def calibration_slope(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> CalibrationSlope:
    """How bold predictions are: 1 is right, below 1 is too bold, above 1 too timid.

        jr.metrics.calibration_slope(jr.run(jr.elo(), matches).prediction, matches.score)

    If no first player lost, as in tables of winners and losers, each match counts from both sides.

    Args:
      prediction: [n] expected scores of player 0, or predictions in full.
      score: [n] of player 0, in [0, 1].
      weight: [n] of the matches. None: they count alike.
      mask: [n] boolean, of the matches to score. None: all.

    Raises:
      ValueError: as other metrics do.
    """
    from scipy.special import expit  # type: ignore[import-untyped]  # which takes long to load

    samples = check_and_select_samples(prediction, score, weight, mask)
    p, s, w = mirror_winner_first(*samples)
    log_odds = clipped_log_odds(p, probability_clip_margin(prediction))
    if np.ptp(log_odds[w > 0]) == 0.0 or np.count_nonzero(w[: len(samples[0])]) < 2:
        return NO_SLOPE
    x = np.stack([np.ones(len(log_odds)), log_odds], axis=1)
    fit = fit_logistic_regression(x, s, w, np.array([0.0, 1.0]))
    if fit is None or abs(fit[0][1]) > MAX_ABS_SLOPE:
        return NO_SLOPE
    coefficients, curvature = fit
    scores = x * (w * (s - expit(x @ coefficients)))[:, None]
    if len(p) > len(samples[0]):  # both sides of a match are one
        scores = scores[: len(p) // 2] + scores[len(p) // 2 :]
    inverse = np.linalg.inv(curvature)
    covariance = inverse @ (scores.T @ scores) @ inverse
    return CalibrationSlope(float(coefficients[1]), float(np.sqrt(covariance[1, 1])))


MEMORY = 8000.0  # matches, M
PRIOR_INFORMATION = 10.0  # I before the first match: slopes of defaults are about 1, give or take 0.3
STEPS_PER_MEMORY = 64.0
MIN_SLOPE, MAX_SLOPE = 0.02, 20.0


class OnlineSlope(NamedTuple):
    """A slope and its information, and sums over the matches from which the next step will learn."""

    slope: float = 1.0  # b
    information: float = PRIOR_INFORMATION  # I
    matches: float = 0.0  # learnt from
    new_matches: float = 0.0  # n
    gradient: float = 0.0  # sum g
    curvature: float = 0.0  # sum h

    def learn(self) -> "OnlineSlope":
        """The slope after its next step."""
        information = np.exp(-self.new_matches / MEMORY) * self.information + self.curvature
        slope = min(max(self.slope + self.gradient / information, MIN_SLOPE), MAX_SLOPE)
        return OnlineSlope(float(slope), float(information), self.matches + self.new_matches)


def calibrate_online(
    prediction: HostArray,
    score: HostArray,
    weight: Any,
    begins_time: HostArray,
    state: OnlineSlope,
    contest_start: HostArray | None = None,
) -> tuple[HostArray, OnlineSlope]:
    """The calibrated predictions [n], each of the matches before its time, and what is known after them.

    Args:
      prediction: [n] expected scores of player 0, or of the participants of contests.
      score: [n] what they scored.
      weight: [n] of the matches. None: 1. In contests half a match, divided by the size of the team; 0 without others.
      begins_time: [n] whether a match, or a contest, whose first row this is, is later than the one before it.
      state: what was known before.
      contest_start: [E + 1] where the rows of each contest begin. None: these are matches.
    """
    log_odds = clipped_log_odds(prediction, 0.5 * float(np.finfo(prediction.dtype).eps))
    n, score = len(log_odds), np.asarray(score, np.float64)
    weights: Any = None if weight is None else np.asarray(weight, np.float64)
    count = np.ones(n)
    if contest_start is not None and n:  # in halves, which sum without rounding
        first = contest_start[:-1]
        count = np.zeros(n)
        count[first] = 0.5 * np.rint(2.0 * np.add.reduceat(weights, first))
    matches_before, starts = np.append(0.0, np.cumsum(count)), np.append(np.flatnonzero(begins_time), n)
    calibrated, begin = np.empty(n), 0
    while begin < n:
        needed = max(min(state.matches, MEMORY) / STEPS_PER_MEMORY, 1.0) - state.new_matches
        if needed <= 0.0 and begins_time[begin]:
            state = state.learn()
            needed = max(min(state.matches, MEMORY) / STEPS_PER_MEMORY, 1.0)
        enough = max(matches_before.searchsorted(matches_before[begin] + max(needed, 1.0)), begin + 1)
        end = int(starts[starts.searchsorted(min(enough, n))])
        x = log_odds[begin:end]
        odds = state.slope * x
        if contest_start is not None:
            inside = slice(*np.searchsorted(contest_start, (begin, end)))
            odds = _center_contests(odds, weights[begin:end], contest_start[inside] - begin)
        q = 0.5 + 0.5 * np.tanh(0.5 * odds)  # SciPy's expit takes a tenth of a command to load
        calibrated[begin:end] = q
        surplus, spread = score[begin:end] - q, q
        if weights is not None:
            surplus, spread = weights[begin:end] * surplus, weights[begin:end] * q
        state = OnlineSlope(
            state.slope,
            state.information,
            state.matches,
            state.new_matches + float(matches_before[end] - matches_before[begin]),
            state.gradient + float(np.add.reduce(surplus * x)),
            state.curvature + float(np.add.reduce(spread * (1.0 - q) * x * x)),
        )
        begin = end
    return calibrated.astype(prediction.dtype), state


def _center_contests(log_odds: HostArray, weight: HostArray, start: HostArray) -> HostArray:
    """The log-odds [P] of contests that begin in these rows, with which the shares of each sum to half its teams."""
    size = np.diff(np.append(start, len(log_odds)))
    centered: HostArray = center_log_odds(log_odds, weight, lambda x: np.repeat(np.add.reduceat(x, start), size), np)
    return centered
