"""What speed.py races against: the same formulas in compiled loops, and Python libraries.

The loops are numba's, in float32 with fastmath, and change the state in place. riix is under a non-commercial licence:
it is called here, nothing of it is copied.
"""

import importlib
import math

import numpy as np

import jaxrate as jr

try:
    import numba
except ImportError:
    numba = None

SYSTEMS = {"elo": jr.elo, "glicko": jr.glicko, "glicko2": jr.glicko2}
F = np.float32
ZERO, HALF, ONE, TWO, THREE, PI_SQUARED, CLOSE = (F(x) for x in (0.0, 0.5, 1.0, 2.0, 3.0, math.pi**2, 1e-6))
NEVER = np.finfo(F).max  # when a newcomer last played: no time has passed since
compiled = numba.njit(fastmath=True) if numba else lambda function: function


@compiled
def sigmoid(x):
    return ONE / (ONE + math.exp(-x))


@compiled
def elo_loop(player, score, time, prediction, rating, k, slope):
    for i in range(len(score)):
        a, b = player[i, 0], player[i, 1]
        prediction[i] = sigmoid(slope * (rating[a] - rating[b]))
        change = k * (score[i] - prediction[i])
        rating[a] += change
        rating[b] -= change


@compiled
def glicko_loop(player, score, time, prediction, rating, variance, last, growth, variance_max, q):
    decay = THREE * q * q / PI_SQUARED
    for i in range(len(score)):
        a, b, now = player[i, 0], player[i, 1], time[i]
        variance_a = min(variance[a] + growth * max(now - last[a], ZERO), variance_max)
        variance_b = min(variance[b] + growth * max(now - last[b], ZERO), variance_max)
        lead = q * (rating[a] - rating[b])
        prediction[i] = sigmoid(lead / math.sqrt(ONE + decay * (variance_a + variance_b)))
        g_a, g_b = ONE / math.sqrt(ONE + decay * variance_a), ONE / math.sqrt(ONE + decay * variance_b)
        e_a, e_b = sigmoid(g_b * lead), sigmoid(-g_a * lead)
        variance_a /= ONE + variance_a * (q * q * g_b * g_b * e_a * (ONE - e_a))
        variance_b /= ONE + variance_b * (q * q * g_a * g_a * e_b * (ONE - e_b))
        rating[a] += q * variance_a * g_b * (score[i] - e_a)
        rating[b] += q * variance_b * g_a * (ONE - score[i] - e_b)
        variance[a], variance[b], last[a], last[b] = variance_a, variance_b, now, now


@compiled
def glicko2_function(x, a, square, spread, tau):
    y = math.exp(x)
    return y * (square - spread - y) / (TWO * (spread + y) * (spread + y)) - (x - a) / (tau * tau)


@compiled
def glicko2_side(variance, opponent, volatility, lead, score, tau):
    """Steps 3 to 7 of Glickman (2012) for one player: phi^2, volatility and the change of mu."""
    g = ONE / math.sqrt(ONE + THREE / PI_SQUARED * opponent)
    e = sigmoid(g * lead)
    information, surprise = g * g * e * (ONE - e), g * (score - e)
    a, square, spread = TWO * math.log(volatility), (surprise / information) ** 2, variance + ONE / information
    low, high = a, a - tau
    if square > spread:
        high = math.log(square - spread)
    else:
        while glicko2_function(high, a, square, spread, tau) < ZERO:
            high -= tau
    f_low, f_high = (glicko2_function(low, a, square, spread, tau), glicko2_function(high, a, square, spread, tau))
    for _ in range(100):
        if abs(high - low) <= CLOSE:
            break
        x = low + (low - high) * f_low / (f_high - f_low)
        f_x = glicko2_function(x, a, square, spread, tau)
        if f_x * f_high <= ZERO:
            low, f_low = high, f_high
        else:
            f_low *= HALF
        high, f_high = x, f_x
    variance /= ONE + variance * information
    return variance, math.exp(HALF * low), variance * surprise


@compiled
def glicko2_loop(player, score, time, prediction, mu, variance, volatility, last, rate, tau):
    for i in range(len(score)):
        a, b, now = player[i, 0], player[i, 1], time[i]
        variance_a = variance[a] + max(now - last[a], ZERO) * rate * volatility[a] * volatility[a]
        variance_b = variance[b] + max(now - last[b], ZERO) * rate * volatility[b] * volatility[b]
        lead = mu[a] - mu[b]
        prediction[i] = sigmoid(lead / math.sqrt(ONE + THREE / PI_SQUARED * (variance_a + variance_b)))
        new_a = glicko2_side(variance_a, variance_b, volatility[a], lead, score[i], tau)
        new_b = glicko2_side(variance_b, variance_a, volatility[b], -lead, ONE - score[i], tau)
        variance[a], volatility[a], last[a], mu[a] = new_a[0], new_a[1], now, mu[a] + new_a[2]
        variance[b], volatility[b], last[b], mu[b] = new_b[0], new_b[1], now, mu[b] + new_b[2]


def numba_replay(name, matches, num_players):
    """A call that replays the matches by a loop, at the default hyperparameters, and returns the predictions."""
    p = SYSTEMS[name]().params
    if name == "elo":
        loop, fresh, constants = elo_loop, [p.initial_rating], [p.k, math.log(10) / p.scale]
    elif name == "glicko":
        loop, fresh = glicko_loop, [p.initial_rating, p.initial_deviation**2, NEVER]
        constants = [p.c**2 / p.period, p.deviation_max**2, math.log(10) / 400]
    else:
        loop, fresh = glicko2_loop, [0.0, (p.initial_deviation / 173.7178) ** 2, p.initial_volatility, NEVER]
        constants = [1 / p.period, p.tau]
    player = np.ascontiguousarray(matches.player, np.uint32)  # unsigned: no test for negative ids
    score, days = (np.ascontiguousarray(x, F) for x in (matches.score, matches.time))

    def call():
        prediction = np.empty(len(score), F)
        state = [np.full(num_players, x, F) for x in fresh]
        loop(player, score, days, prediction, *state, *map(F, constants))
        return prediction

    return call


def riix_replay(name, matches, num_players, weekly=False):
    """A call that fits riix's model, day by day or in weekly batches, and returns it.

    Given a data frame, riix 0.0.6 with polars 2.1 pairs players and scores of different rows; arrays are safe.
    """
    from riix.utils.data_utils import MatchupDataset

    model = getattr(importlib.import_module(f"riix.models.{name}"), name.capitalize())
    step = np.floor(np.asarray(matches.time) / (7 if weekly else 1)).astype(np.int32)
    score, names = np.asarray(matches.score, np.float64), [str(i) for i in range(num_players)]
    dataset = MatchupDataset.init_from_arrays(step - step[0], matches.player, score, names)
    growth = {"c": 15.0 if weekly else 15.0 / math.sqrt(7.0)} if name == "glicko" else {}  # ours, per step

    def call():
        fitted = model(names, update_method="batched" if weekly else "iterative", **growth)
        fitted.fit_dataset(dataset)
        return fitted

    return call


def elote_replay(name, matches):
    """A call that lets elote's competitors play the matches."""
    kind = getattr(importlib.import_module("elote"), name.capitalize() + "Competitor")
    games = list(zip(*matches.player.T.tolist(), matches.score.tolist(), strict=True))

    def call():
        competitors = {i: kind() for i in np.unique(matches.player).tolist()}
        for a, b, score in games:
            first, second = competitors[a], competitors[b]
            (first.beat if score == 1 else first.lost_to if score == 0 else first.tied)(second)

    return call
