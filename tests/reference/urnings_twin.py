"""Urnings by enumeration: every probability of one game as a plain sum, whole systems as matrices, nothing drawn."""

import itertools
import math
from fractions import Fraction

import numpy as np


def falling(z, k):
    """z (z - 1) ... (z - k + 1)."""
    return math.prod(z - i for i in range(k))


def simulated(w, green, size):
    """s_x of the balls that two urns would draw, without putting them back."""
    m, (a, b), (n, k) = len(w) - 1, green, size
    return [
        w[x] * falling(a, x) * falling(n - a, m - x) * falling(b, m - x) * falling(k - b, x) if w[x] else 0.0
        for x in range(m + 1)
    ]


def observed(w, one, other):
    """P(x) of the score of a player of proportion `one` against `other`."""
    m = len(w) - 1
    p = np.array([w[x] * (one * (1 - other)) ** x * (other * (1 - one)) ** (m - x) for x in range(m + 1)])
    return p / p.sum()


def moves(family, w, green, size, x):
    """{new green balls: (probability that they are proposed, Z ratio)} after the score x; none if no balls fit."""
    m, (a, b) = len(w) - 1, green
    drawn_from = (green, size) if family == "U1" else ((a + x, b + m - x), (size[0] + m, size[1] + m))
    s = simulated(w, *drawn_from)
    result = {}
    for k, part in enumerate(s):
        if part > 0:
            new = a + x - k, b - x + k
            ratio = sum(s) / sum(simulated(w, new, size)) if family == "U1" else 1.0
            result[new] = part / sum(s), ratio
    return result


def likeness(lam, r, n, i, j):
    logit = [math.log((g + 1) / (k - g + 1)) for g, k in zip(r, n, strict=True)]
    return math.exp(-lam * (logit[i] - logit[j]) ** 2)


def pairs(matchmaker, lam, r, n):
    """{(i, j): probability}; in order for the chooser, who comes first, else i < j."""
    players = range(len(n))
    if matchmaker == "chooser":
        result = {}
        for i in players:
            like = {j: likeness(lam, r, n, i, j) for j in players if j != i}
            result |= {(i, j): f / sum(like.values()) / len(n) for j, f in like.items()}
        return result
    like = {(i, j): 1.0 if matchmaker == "uniform" else likeness(lam, r, n, i, j) for i in players for j in players[:i]}
    return {(j, i): f / sum(like.values()) for (i, j), f in like.items()}


def states(n, total):
    """Every way to share `total` green balls, in order."""
    return [r for r in itertools.product(*(range(k + 1) for k in n)) if sum(r) == total]


def transition(family, w, n, proportion, total, matchmaker="uniform", lam=None, corrected=True, accept=True):
    """The matrix of one game. Not `corrected`: without the matchmaker's ratio; not `accept`: without that of Z."""
    every = states(n, total)
    number = {r: i for i, r in enumerate(every)}
    matrix = np.zeros((len(every), len(every)))
    for r in every:
        before = pairs(matchmaker, lam, r, n)
        for (i, j), q in before.items():
            for x, p in enumerate(observed(w, proportion[i], proportion[j])):
                stay = q * p
                for (a, b), (chance, ratio) in moves(family, w, (r[i], r[j]), (n[i], n[j]), x).items():
                    new = list(r)
                    new[i], new[j] = a, b
                    if tuple(new) == r:
                        continue
                    ratio = ratio if accept else 1.0
                    if corrected:
                        ratio *= pairs(matchmaker, lam, new, n)[i, j] / q
                    go = q * p * chance * min(1.0, ratio)
                    matrix[number[r], number[tuple(new)]] += go
                    stay -= go
                matrix[number[r], number[r]] += stay
    return matrix


def target(n, proportion, total):
    """The product of binomials, given the sum."""
    p = np.array(
        [
            math.prod(math.comb(k, g) * q**g * (1 - q) ** (k - g) for g, k, q in zip(r, n, proportion, strict=True))
            for r in states(n, total)
        ]
    )
    return p / p.sum()


def stationary(matrix):
    """p = p P, by least squares."""
    size = len(matrix)
    equations = np.concatenate([matrix.T - np.eye(size), np.ones((1, size))])
    return np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)[0]


def two_sided(one, two):
    """Of two urns (r, n): how probable ways to share out their balls are that are no more probable than this one."""
    (r1, n1), (r2, n2) = one, two
    ways = {k: math.comb(n1, k) * math.comb(n2, r1 + r2 - k) for k in range(n1 + 1) if 0 <= r1 + r2 - k <= n2}
    return Fraction(sum(w for w in ways.values() if w <= ways[r1]), sum(ways.values()))


def step_up(p, rate):
    """Which of several hypotheses fall (Benjamini and Hochberg 1995): the k least p, to the last p <= k rate / N."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    many = max((k for k, i in enumerate(order, 1) if p[i] <= k * rate / len(p)), default=0)
    return [i in order[:many] for i in range(len(p))]
