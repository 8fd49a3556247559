"""Elo, Glicko and Glicko-2, slow and obviously right: plain floats, one period at a time, straight from the papers.

A history is a list of (time, games), the games (a, b, score, side, weight). A single match is a period of one game.
"""

import math
from typing import NamedTuple


class Fading(NamedTuple):
    """How leads fade: tau of the Ornstein-Uhlenbeck process, and what seasons that begin at these times do."""

    tau: float = math.inf
    seasons: tuple = ()
    keep: float = 1.0
    growth: float = 0.0

    def clock(self, lead, variance, passed, rate):
        """A lead and a variance that grows by `rate` a unit of time, later."""
        k = math.exp(-passed / self.tau)
        return k * lead, k * k * variance + rate * (passed if k == 1.0 else self.tau / 2.0 * (1.0 - k * k))

    def season(self, lead, variance, since, until, maximum=math.inf):
        """One season after the other."""
        for begin in self.seasons:
            if since < begin <= until:
                lead, variance = self.keep * lead, min(self.keep**2 * variance + self.growth**2, maximum**2)
        return lead, variance


NEVER = Fading()


def elo(history, k=32.0, scale=400.0, side_advantage=0.0, k_new=None, new_games=0, limit=None, fading=NEVER):
    """Ratings and games by player, and the predictions in order."""
    rating, played, predictions, last = {}, {}, [], {}
    for time, games in history:
        for player in {player for game in games for player in game[:2]}:
            if player in last:
                lead, _ = fading.clock(rating[player] - 1500.0, 0.0, time - last[player], 0.0)
                rating[player] = 1500.0 + fading.season(lead, 0.0, last[player], time)[0]
            last[player] = time
        change, count = {}, {}
        for a, b, score, side, weight in games:
            difference = rating.get(a, 1500.0) - rating.get(b, 1500.0)
            if limit is not None:
                difference = max(-limit, min(limit, difference))
            expected = 1.0 / (1.0 + 10.0 ** (-(difference + side * side_advantage) / scale))
            predictions.append(expected)
            for player, gain in ((a, score - expected), (b, expected - score)):
                change[player] = change.get(player, 0.0) + weight * gain
                count[player] = count.get(player, 0.0) + weight
        for player in change:
            new = k_new is not None and played.get(player, 0.0) < new_games
            rating[player] = rating.get(player, 1500.0) + (k_new if new else k) * change[player]
            played[player] = played.get(player, 0.0) + count[player]
    return rating, predictions


def glicko(
    history,
    c=15.0,
    period=7.0,
    maximum=350.0,
    minimum=0.0,
    side_advantage=0.0,
    initial=(1500.0, 350.0),
    fading=NEVER,
    duration=0.0,
):
    """(rating, RD) by player, and the predictions in order. An event takes the time `duration`."""
    q = math.log(10.0) / 400.0

    def g(rd):
        return 1.0 / math.sqrt(1.0 + 3.0 * q**2 * rd**2 / math.pi**2)

    def expected(difference, rd):
        return 1.0 / (1.0 + 10.0 ** (-g(rd) * difference / 400.0))

    state, last, predictions = {}, {}, []
    for time, games in history:
        active = {player for game in games for player in game[:2]}
        before = {}
        for player in active:
            lead, variance = state.get(player, initial)
            lead, variance = lead - initial[0], variance**2
            if player in last:
                lead, variance = fading.clock(lead, variance, time - last[player], c**2 / period)
                variance = min(variance, maximum**2)
                lead, variance = fading.season(lead, variance, last[player], time, maximum)
                lead, variance = fading.clock(lead, variance, duration, c**2 / period)
                variance = min(variance, maximum**2)
            before[player] = initial[0] + lead, math.sqrt(variance)
        for a, b, _, side, _ in games:
            (ra, da), (rb, db) = before[a], before[b]
            predictions.append(expected(ra - rb + side * side_advantage, math.hypot(da, db)))
        for player in active:
            r, rd = before[player]
            information = total = 0.0
            for a, b, score, side, weight in games:
                if player in (a, b):
                    rj, dj = before[b if player == a else a]
                    lead = side * side_advantage * (1 if player == a else -1)
                    s = score if player == a else 1.0 - score
                    e = expected(r - rj + lead, dj)
                    information += weight * q**2 * g(dj) ** 2 * e * (1.0 - e)
                    total += weight * g(dj) * (s - e)
            variance = 1.0 / (1.0 / rd**2 + information)
            r, variance = r + q * variance * total, max(variance, minimum**2)
            lead, variance = fading.season(r - initial[0], variance, time, time + duration, maximum)
            state[player] = initial[0] + lead, math.sqrt(variance)
            last[player] = time + duration
    return state, predictions


def glicko2(
    history,
    tau=0.5,
    period=7.0,
    step=1.0,
    duration=None,
    side_advantage=0.0,
    initial=(1500.0, 350.0, 0.06),
    rd_range=(0.0, math.inf),
    volatility_range=(0.0, math.inf),
    fading=NEVER,
):
    """(rating, RD, volatility) by player, and the predictions in order.

    `step` periods pass in step 6 of every event; the clock then stands `duration` (by default `step` periods) later.
    """
    scale = 173.7178
    duration = step * period if duration is None else duration

    def g(phi):
        return 1.0 / math.sqrt(1.0 + 3.0 * phi**2 / math.pi**2)

    def expected(difference, phi):
        return 1.0 / (1.0 + math.exp(-g(phi) * difference))

    def clip(x, bounds):
        return max(bounds[0], min(bounds[1], x))

    state, last, predictions = {}, {}, []
    for time, games in history:
        active = {player for game in games for player in game[:2]}
        before = {}
        for player in active:
            r, rd, sigma = state.get(player, initial)
            lead, variance = r - initial[0], rd**2
            if player in last:
                lead, variance = fading.clock(
                    lead, variance, max(time - last[player], 0.0), (scale * sigma) ** 2 / period
                )
                variance = min(variance, rd_range[1] ** 2)
                lead, variance = fading.season(lead, variance, last[player], time, rd_range[1])
            before[player] = (initial[0] + lead) / scale, math.sqrt(variance) / scale, sigma
        for a, b, _, side, _ in games:
            (ma, pa, _), (mb, pb, _) = before[a], before[b]
            predictions.append(expected(ma - mb + side * side_advantage / scale, math.hypot(pa, pb)))
        for player in active:
            mu, phi, sigma = before[player]
            information = total = 0.0
            for a, b, score, side, weight in games:
                if player in (a, b):
                    mj, pj, _ = before[b if player == a else a]
                    lead = side * side_advantage * (1 if player == a else -1) / scale
                    e = expected(mu - mj + lead, pj)
                    information += weight * g(pj) ** 2 * e * (1.0 - e)
                    total += weight * g(pj) * ((score if player == a else 1.0 - score) - e)
            v = 1.0 / information
            new = clip(glicko2_volatility(phi, sigma, v, v * total, tau), volatility_range)
            centre = initial[0] / scale
            if duration:
                lead, star = fading.clock(mu - centre, phi**2, step * period, new**2 / period)
            else:  # a match takes its periods beside the clock
                lead, star = mu - centre, phi**2 + step * new**2
            after = 1.0 / (1.0 / star + 1.0 / v)
            lead, variance = lead + after * total, clip(scale * math.sqrt(after), rd_range) ** 2
            lead, variance = fading.season(scale * lead, variance, time, time + duration, rd_range[1])
            state[player] = initial[0] + lead, math.sqrt(variance), new
            last[player] = time + duration
    return state, predictions


def glicko2_volatility(phi, sigma, v, delta, tau):
    """Step 5 by bisection to the last bit, from a bracket found by doubling."""
    a = math.log(sigma**2)

    def f(x):
        y = math.exp(x)
        return y * (delta**2 - phi**2 - v - y) / (2.0 * (phi**2 + v + y) ** 2) - (x - a) / tau**2

    low = high = a
    width = tau
    while f(low) < 0.0:
        low, width = low - width, 2.0 * width
    while f(high) > 0.0:
        high, width = high + width, 2.0 * width
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if f(middle) > 0.0 else (low, middle)
    return math.exp(0.5 * low)
