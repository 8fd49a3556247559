"""Weng and Lin's systems, slow and obviously right: loops over teams, in the paper's terms.

`golden` reads the reference numbers beside this file.
"""

import json
import math
from pathlib import Path

from scipy.special import erfcx, ndtr

DEFAULTS = {"beta": 25.0 / 6.0, "tau": 25.0 / 300.0, "epsilon": 0.1, "kappa": 1e-4}
WINDOW = 4


def golden():
    return json.loads(Path(__file__).with_name("weng_lin.json").read_text())


def phi(x):
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def v(t, e):
    """Of a win: phi(t - e) / Phi(t - e)."""
    return math.sqrt(2.0 / math.pi) / erfcx((e - t) / math.sqrt(2.0))


def w(t, e):
    return v(t, e) * (v(t, e) + t - e)


def draw(t, e):
    """V and W with tildes."""
    a = abs(t)
    inside = ndtr(e - a) - ndtr(-e - a)
    change = (phi(-e - a) - phi(e - a)) / inside
    return math.copysign(change, -t), ((e - a) * phi(e - a) + (e + a) * phi(e + a)) / inside + change**2


def pair(model, variance, gap, total, order, p):
    """What team i gains by the comparison with q: its parts of Omega and Delta."""
    c = math.sqrt(total + 2.0 * p["beta"] ** 2) * (2.0 if model == "thurstone_mosteller_part" else 1.0)
    t, e, gamma = gap / c, p["epsilon"] / c, math.sqrt(variance) / c
    if model.startswith("bradley"):
        won = sigmoid(t)
        first, second = {1: 1.0, 0: 0.5, -1: 0.0}[order] - won, won * sigmoid(-t)
    elif order == 0:
        first, second = draw(t, e)
    else:
        first, second = order * v(order * t, e), w(order * t, e)
    return variance / c * first, gamma * variance / c**2 * second


def changes(model, teams, ranks, p):
    """Omega and Delta of teams [(mean, variance)] in the order of the standing."""
    if model == "plackett_luce":
        return plackett_luce(teams, ranks, p)
    result = []
    for i, (mean, variance) in enumerate(teams):
        near = [q for q in range(len(teams)) if q != i and (model.endswith("full") or abs(q - i) <= WINDOW)]
        parts = []
        for q in near:
            order = (ranks[q] > ranks[i]) - (ranks[q] < ranks[i])
            parts.append(pair(model, variance, mean - teams[q][0], variance + teams[q][1], order, p))
        count = 1 if model.endswith("full") else len(near)
        result.append(tuple(sum(x) / count for x in zip(*parts, strict=True)))
    return result


def plackett_luce(teams, ranks, p):
    c = math.sqrt(sum(variance + p["beta"] ** 2 for _, variance in teams))
    strength, every = [math.exp(mean / c) for mean, _ in teams], range(len(teams))
    tied = [ranks.count(rank) for rank in ranks]
    chosen_from = [sum(strength[r] for r in every if ranks[r] >= ranks[q]) for q in every]
    result = []
    for i, (_, variance) in enumerate(teams):
        shares = [(q, strength[i] / chosen_from[q]) for q in every if ranks[q] <= ranks[i]]
        omega = sum(((q == i) - share) / tied[q] for q, share in shares)
        delta = sum(share * (1.0 - share) / tied[q] for q, share in shares)
        gamma = math.sqrt(variance) / c
        result.append((variance / c * omega, gamma * variance / c**2 * delta))
    return result


def rate(model, teams, ranks, weights=None, **params):
    """Teams of (mean, deviation), as they are after the game. Those who tie stand in the order of the list."""
    p = DEFAULTS | params
    weights = weights or [[1.0] * len(team) for team in teams]
    if len(teams) < 2:
        return teams
    grown = [[(mean, deviation**2 + p["tau"] ** 2) for mean, deviation in team] for team in teams]
    sums = [tuple(map(sum, zip(*team, strict=True))) for team in grown]
    standing = sorted(range(len(teams)), key=lambda i: ranks[i])
    found = changes(model, [sums[i] for i in standing], [ranks[i] for i in standing], p)
    result = [[] for _ in teams]
    for i, (omega, delta) in zip(standing, found, strict=True):
        for (mean, variance), weight in zip(grown[i], weights[i], strict=True):
            share = weight * variance / sums[i][1]
            left = max(1.0 - share * delta, p["kappa"])
            result[i].append((mean + share * omega, math.sqrt(variance * left)))
    return result


def expected(model, teams, **params):
    """The share of the other teams that each is expected to beat."""
    p = DEFAULTS | params
    sums = [(sum(m for m, _ in team), sum(d**2 for _, d in team)) for team in teams]

    def beats(one, two):
        c = math.sqrt(one[1] + two[1] + 2.0 * p["beta"] ** 2) * (2.0 if model == "thurstone_mosteller_part" else 1.0)
        t, e = (one[0] - two[0]) / c, p["epsilon"] / c
        return 0.5 * (ndtr(t - e) + ndtr(t + e)) if model.startswith("thurstone") else sigmoid(t)

    if len(teams) < 2:
        return [0.5]
    every = range(len(teams))
    return [sum(beats(sums[i], sums[q]) for q in every if q != i) / (len(teams) - 1) for i in every]
