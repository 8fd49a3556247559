"""Goals with hindsight by plain loops: expectation propagation with a dense Gaussian for each team's whole history.

A team has a strength and a pace at each of its matches. What goals say of strength plus pace of who scores, and of
strength less pace of who defends, are numbers I and h: exp(h z - I z^2 / 2). Integrals are sums over fine grids, and
what is told without a match comes from matrices in which its numbers do not stand.
"""

import math

import numpy as np

from tests.reference.goals_twin import Q, log_likelihood, scoreline_probabilities

LOADINGS = np.array([[1.0, 1.0], [1.0, -1.0]])  # of strength and pace: who scores, who defends


class GoalsSmoother:
    """`games` are (first, second, time, goals, expected goals, lead without strengths, weight), in order of time."""

    def __init__(self, games, growth, initial, initial_pace, rate, dispersion, dependence, noise, scale):
        self.games, self.rate, self.dispersion, self.dependence = games, rate, dispersion, dependence
        self.noise, self.scale = noise, scale
        self.visits = {}  # by team: the numbers of its matches
        for i, (a, b, *_) in enumerate(games):
            self.visits.setdefault(a, []).append(i)
            self.visits.setdefault(b, []).append(i)
        self.prior = {}
        for name, visits in self.visits.items():
            time = np.array([games[i][2] for i in visits])
            shared = np.minimum(time[:, None], time[None, :]) - time[0]
            P = np.zeros((2 * len(visits),) * 2)
            P[::2, ::2] = initial**2 + growth**2 * shared
            P[1::2, 1::2] = initial_pace**2
            self.prior[name] = P
        self.site = {(i, name, role): np.zeros(2) for name, x in self.visits.items() for i in x for role in (0, 1)}

    def belief(self, name, without=(), match=None):
        """Mean and covariance [2, 2] of strength and pace at a match, or at all; sites `without` do not stand."""
        visits, prior = self.visits[name], self.prior[name]
        information, pull = np.zeros_like(prior), np.zeros(len(prior))
        for place, i in enumerate(visits):
            for role in (0, 1):
                if (i, role) not in without:
                    precision, h = self.site[i, name, role]
                    here = slice(2 * place, 2 * place + 2)
                    information[here, here] += precision * np.outer(LOADINGS[role], LOADINGS[role])
                    pull[here] += h * LOADINGS[role]
        P = prior @ np.linalg.inv(np.eye(len(prior)) + information @ prior)
        here = slice(None) if match is None else slice(2 * visits.index(match), 2 * visits.index(match) + 2)
        return (P @ pull)[here], P[here, here]

    def rows(self, i):
        a, b, _, goals, expected, lead, _ = self.games[i]
        return (a, b, goals[0], expected[0], lead), (b, a, goals[1], expected[1], -lead)

    def cavities(self, i, row):
        (scorer, defender, *_) = row
        for name, role in ((scorer, 0), (defender, 1)):
            m, P = self.belief(name, {(i, role)}, i)
            yield LOADINGS[role] @ m, LOADINGS[role] @ P @ LOADINGS[role]

    def inference(self, i, row):
        """By how much the log of the rate moves: its mean and variance before and after, and the log likelihood."""
        (m, s), (n, t) = self.cavities(i, row)
        _, _, goals, expected, lead = row
        mean, variance = math.log(self.rate) + 0.5 * Q * (m - n + lead), 0.25 * Q**2 * (s + t)
        variance += (Q * self.dispersion) ** 2
        x = mean + math.sqrt(variance) * np.linspace(-9.0, 9.0, 601)
        rates = np.exp(x)[None]
        log = log_likelihood((goals,), (expected,), rates, self.noise, self.scale, None)
        density = np.exp(log - log.max() - 0.5 * (x - mean) ** 2 / variance)
        before = np.exp(-0.5 * (x - mean) ** 2 / variance)
        evidence = math.log(density.sum() / before.sum()) + log.max()
        density = density / density.sum()
        after = density @ x
        return mean, variance, after, density @ (x - after) ** 2, evidence

    def converge(self, sweeps=30):
        for _ in range(sweeps):
            new = {}
            for i in range(len(self.games)):
                weight = self.games[i][-1]
                for row in self.rows(i):
                    (m, s), (n, t) = self.cavities(i, row)
                    mean, variance, after, spread, _ = self.inference(i, row)
                    told = 1.0 / spread - 1.0 / variance
                    for name, role, sign, z, other in ((row[0], 0, 1.0, m, t), (row[1], 1, -1.0, n, s)):
                        rest = 0.25 * Q**2 * other + (Q * self.dispersion) ** 2
                        observed = mean + (after - mean) / (spread * told)  # of variance 1 / told
                        own = 0.25 * Q**2 / (1.0 / told + rest)
                        value = z + sign * (observed - mean) / (0.5 * Q)
                        new[i, name, role] = weight * own * np.array([1.0, value])
            self.site = new

    def prediction(self, i):
        """The expected score of the first team, given all other matches."""
        a, b, *_, lead, _ = self.games[i]
        (m, P), (n, R) = (self.belief(name, {(i, 0), (i, 1)}, i) for name in (a, b))
        first, second = 0.5 * Q * np.array([[1.0, 1.0, -1.0, 1.0], [-1.0, 1.0, 1.0, 1.0]])
        directions = np.stack([first, second])
        mean = math.log(self.rate) + directions @ np.concatenate([m, n]) + 0.5 * Q * lead * np.array([1.0, -1.0])
        joint = np.zeros((4, 4))
        joint[:2, :2], joint[2:, 2:] = P, R
        covariance = directions @ joint @ directions.T + (Q * self.dispersion) ** 2 * np.eye(2)
        table = scoreline_probabilities(mean, covariance, self.dependence)
        return np.tril(table, -1).sum() + 0.5 * np.trace(table)
