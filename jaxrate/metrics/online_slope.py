"""The calibration slope of a system, learnt online from its predictions and their results, one step ahead.

A prediction p whose log-odds are x = logit p is calibrated to q = sigmoid(b x). What a match of weight w and score s
says of the slope b (Cox 1958, without an intercept, so that to swap both players changes nothing) are the gradient and
the curvature of its log likelihood,

    g = w (s - q) x,   h = w q (1 - q) x^2

The past counts less with every match that follows, by exp(-1 / M). One step of Newton learns from n matches:

    I <- exp(-n / M) I + sum h,   b <- b + sum g / I

Matches at one time are predicted by the slope before it. Beyond `STEPS_PER_MEMORY` matches, steps are of so many at a
time that each is a small part of what is known.
"""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.array_types import HostArray

MEMORY = 8000.0  # matches, M
PRIOR_INFORMATION = 10.0  # I before the first match: slopes of defaults are about 1, give or take 0.3
STEPS_PER_MEMORY = 64.0
MIN_SLOPE, MAX_SLOPE = 0.02, 20.0


class OnlineSlope(NamedTuple):
    """What is known of a slope, and of the matches from which the next step will learn."""

    slope: float = 1.0  # b
    information: float = PRIOR_INFORMATION  # I
    matches: float = 0.0  # learnt from
    new_matches: float = 0.0  # n
    gradient: float = 0.0  # sum g
    curvature: float = 0.0  # sum h

    def learn(self) -> "OnlineSlope":
        """The slope after its next step."""
        information = np.exp(-self.new_matches / MEMORY) * self.information + self.curvature
        slope = np.clip(self.slope + self.gradient / information, MIN_SLOPE, MAX_SLOPE)
        return OnlineSlope(float(slope), float(information), self.matches + self.new_matches)


def calibrate_online(
    prediction: HostArray, score: HostArray, weight: Any, begins_time: HostArray, state: OnlineSlope
) -> tuple[HostArray, OnlineSlope]:
    """The calibrated predictions [n], each of the matches before its time, and what is known after them.

    Args:
      prediction, score: [n] expected scores of player 0, and what they scored.
      weight: [n] of the matches. None: 1.
      begins_time: [n] whether a match is later than the one before it.
      state: what was known before.
    """
    p = np.asarray(prediction, np.float64)
    least = 0.5 * float(np.finfo(prediction.dtype).eps)
    p = np.clip(p, least, 1.0 - least)
    log_odds, score = np.log(p) - np.log1p(-p), np.asarray(score, np.float64)
    weight = np.ones(len(p)) if weight is None else np.asarray(weight, np.float64)
    starts = np.append(np.flatnonzero(begins_time), len(p))
    calibrated, begin = np.empty(len(p)), 0
    while begin < len(p):
        needed = max(min(state.matches, MEMORY) / STEPS_PER_MEMORY, 1.0) - state.new_matches
        if needed <= 0.0 and begins_time[begin]:
            state = state.learn()
            needed = max(min(state.matches, MEMORY) / STEPS_PER_MEMORY, 1.0)
        end = int(starts[np.searchsorted(starts, min(begin + max(needed, 1.0), len(p)))])
        block = slice(begin, end)
        x, w = log_odds[block], weight[block]
        q = 1.0 / (1.0 + np.exp(-state.slope * x))
        calibrated[block], begin = q, end
        state = state._replace(
            new_matches=state.new_matches + end - block.start,
            gradient=state.gradient + float(np.sum(w * (score[block] - q) * x)),
            curvature=state.curvature + float(np.sum(w * q * (1.0 - q) * x * x)),
        )
    return calibrated.astype(prediction.dtype), state
