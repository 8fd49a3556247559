"""Category Glicko, slow and obviously right: plain floats, one player at a time, straight from the paper.

A history is a list of (time, games), the games (a, b, score, side, weight, mix_a, mix_b) with the shares of the
categories that each player plays.
"""

import math

import numpy as np


def probit(z):
    """log F, its derivative, and minus its second derivative."""
    if z > -30.0:
        p = 0.5 * math.erfc(-z / math.sqrt(2.0))
        value, slope = math.log(p), math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / p
    else:  # asymptotic series of Mills' ratio
        ratio = sum(c / (-z) ** k for c, k in ((1.0, 1), (-1.0, 3), (3.0, 5), (-15.0, 7), (105.0, 9)))
        value, slope = -0.5 * z * z - 0.5 * math.log(2.0 * math.pi) + math.log(ratio), 1.0 / ratio
    return value, slope, slope * (slope + z)


def logistic(z):
    c = math.pi / math.sqrt(3.0)
    q = 1.0 / (1.0 + math.exp(c * z)) if c * z < 700 else 0.0
    value = -math.log1p(math.exp(-c * z)) if z > 0 else c * z - math.log1p(math.exp(c * z))
    return value, c * q, c * c * q * (1.0 - q)


def normal_prior(x, variance):
    return -0.5 * x * x / variance, -x / variance, 1.0 / variance


def logistic_prior(x, variance):
    s = math.sqrt(3.0 * variance) / math.pi
    t = math.tanh(x / (2.0 * s))
    return -abs(x) / s - 2.0 * math.log1p(math.exp(-abs(x) / s)), -t / s, (1.0 - t * t) / (2.0 * s * s)


OUTCOMES = {"probit": (probit, normal_prior), "logistic": (logistic, logistic_prior)}


def likelihood(outcome, games, strength):
    """Value, slope and curvature of one category's; the games are (mean, deviation, won, lost)."""
    total = np.zeros(3)
    for mean, deviation, won, lost in games:
        z = (strength - mean) / deviation
        for sign, weight in ((1.0, won), (-1.0, lost)):
            if weight:
                value, slope, curvature = OUTCOMES[outcome][0](sign * z)
                total += weight * np.array([value, sign * slope / deviation, curvature / deviation**2])
    return total


def by_bisection(outcome, games):
    low, high = -1e5, 1e5
    for _ in range(100):
        middle = 0.5 * (low + high)
        if likelihood(outcome, games, middle)[1] > 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def at_maximum(outcome, games, rating, modifiers, variances):
    """Rating, modifiers and the diagonal of minus the Hessian, by Newton's method with a halved step."""
    played = sorted(games)
    density, size = OUTCOMES[outcome][1], 1 + len(played)
    mean = np.array([rating, *(modifiers[c] for c in played)])
    spread = np.array([variances[0], *(variances[1][c] for c in played)])

    def look(x):
        parts = np.array([density(a - m, v) for a, m, v in zip(x, mean, spread, strict=True)])
        value, slope, hessian = parts[:, 0].sum(), parts[:, 1].copy(), np.diag(-parts[:, 2])
        for i, c in enumerate(played, 1):
            more, force, h = likelihood(outcome, games[c], x[0] + x[i])
            value += more
            slope[[0, i]] += force
            hessian[np.ix_([0, i], [0, i])] -= h
        return value, slope, hessian

    x, close = mean, 1e-13 * max(1.0, np.abs(mean).max())
    for _ in range(1000):
        value, slope, hessian = look(x)
        kkt = np.zeros((size + 1, size + 1))
        kkt[:size, :size] = hessian
        kkt[size, 1:size] = kkt[1:size, size] = 1.0  # the sum of the modifiers stays
        step = np.linalg.solve(kkt, np.append(-slope, 0.0))[:size]
        while np.abs(step).max() > close and look(x + step)[0] < value + 0.25 * step @ slope - 1e-14 * abs(value):
            step = step / 2.0
        x = x + step
        if np.abs(step).max() <= close:
            break
    return x[0], dict(zip(played, x[1:], strict=True)), -np.diag(look(x)[2])


def category_glicko(
    history,
    categories,
    outcome="probit",
    expansion="mode",
    scale=1.0,
    initial=(0.0, 0.6, 0.5),
    growth=0.1,
    period=7.0,
    minimum=0.0,
    maxima=(1.0, 1.0),
    side_advantage=0.0,
    match_weight=1.0,
    grows="all",
):
    """(rating, modifiers, deviation, their deviations) by player, and the predictions in order."""
    state, last, predictions = {}, {}, []
    newcomer = initial[0], np.zeros(categories), initial[1], np.full(categories, initial[2] if categories > 1 else 0.0)
    for time, games in history:
        active = {player for game in games for player in game[:2]}
        before, own = {}, {}
        for player in active:
            rating, modifiers, deviation, deviations = state.get(player, newcomer)
            first = period if grows == "unplayed" else 0.0  # a newcomer's first period counts: note 3
            passed = time - last[player] if player in last else first
            own[player] = min(passed, first)  # of it in this period, when they play
            more = growth**2 * (passed - own[player]) / period
            deviation = min(math.sqrt(deviation**2 + more), maxima[0])
            if categories > 1:
                deviations = np.minimum(np.sqrt(deviations**2 + more), maxima[1])
            before[player] = rating, modifiers, deviation, deviations
        met = {player: {} for player in active}
        for a, b, score, side, weight, mix_a, mix_b in games:
            expected = 0.0
            for x, y in np.ndindex(categories, categories):  # a plays x, b plays y
                share = mix_a[x] * mix_b[y]
                if share == 0.0:
                    continue
                (ra, ea, da, va), (rb, eb, db, vb) = before[a], before[b]
                lead = side * side_advantage
                gap = (ra + ea[y] - rb - eb[x] + lead) / math.sqrt(scale**2 + da**2 + va[y] ** 2 + db**2 + vb[x] ** 2)
                expected += share * math.exp(OUTCOMES[outcome][0](gap)[0])
                w = weight * match_weight * share
                deviation = math.sqrt(scale**2 + db**2 + vb[x] ** 2)
                met[a].setdefault(y, []).append((rb + eb[x] - lead, deviation, w * score, w * (1.0 - score)))
                deviation = math.sqrt(scale**2 + da**2 + va[y] ** 2)
                met[b].setdefault(x, []).append((ra + ea[y] + lead, deviation, w * (1.0 - score), w * score))
            predictions.append(expected)
        for player in active:
            rating, modifiers, deviation, deviations = before[player]
            modifiers, deviations, played = modifiers.copy(), deviations.copy(), sorted(met[player])
            totals = {c: np.sum(np.array(met[player][c])[:, 2:], axis=0) for c in played}
            if expansion == "mode" and all(min(totals[c]) > 0 for c in played):
                best = {c: by_bisection(outcome, met[player][c]) for c in played}
                h = {c: likelihood(outcome, met[player][c], best[c])[2] for c in played}
                found = (sum(best.values()) - sum(modifiers[c] for c in played)) / len(played)
                precision = 1.0 / deviation**2 + sum(h.values())
                rating = (rating / deviation**2 + found * sum(h.values())) / precision
                deviation = precision**-0.5
                for c in played:
                    if deviations[c] > 0:
                        precision = 1.0 / deviations[c] ** 2 + h[c]
                        modifiers[c] = (modifiers[c] / deviations[c] ** 2 + (best[c] - found) * h[c]) / precision
                        deviations[c] = precision**-0.5
                rating, modifiers = rating + modifiers.mean(), modifiers - modifiers.mean()
            else:
                spread = deviation**2, np.where(deviations > 0, deviations, 1.0) ** 2
                rating, new, precisions = at_maximum(outcome, met[player], rating, modifiers, spread)
                deviation = precisions[0] ** -0.5
                for c, precision in zip(played, precisions[1:], strict=True):
                    modifiers[c] = new[c]
                    deviations[c] = precision**-0.5 if deviations[c] > 0 else 0.0
            for c in set(range(categories)) - set(played):
                deviations[c] = math.hypot(deviations[c], growth * math.sqrt(own[player] / period)) * (categories > 1)
            low = np.full(categories, minimum if categories > 1 else 0.0)
            deviations = np.minimum(np.maximum(deviations, low), maxima[1])
            state[player] = rating, modifiers, min(max(deviation, minimum), maxima[0]), deviations
            last[player] = time
    return state, predictions
