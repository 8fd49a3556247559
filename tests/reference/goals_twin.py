"""Goals by plain loops: likelihoods of counts, and integrals over a fine grid of the logs of both rates."""

import math

import numpy as np
from scipy.special import gammaln
from scipy.stats import poisson

from tests.reference.skills_twin import Q, Skills, log_normal

POINTS = 41  # of the grid, to each axis; the error of the sum falls with the exponential of their number squared


def correction(goals, rates, dependence):
    """Dixon and Coles' factor of a scoreline (1997, equation 4.2); the dependence is cut where it would be negative."""
    first, second = rates
    most = np.minimum(1.0, 1.0 / (first * second))
    rho = np.clip(dependence, -0.999 / np.maximum(first, second), 0.999 * most)
    cells = {(0, 0): 1.0 - first * second * rho, (0, 1): 1.0 + first * rho, (1, 0): 1.0 + second * rho}
    return (cells | {(1, 1): 1.0 - rho + 0.0 * first}).get(tuple(int(x) for x in goals), 1.0 + 0.0 * first)


def log_likelihood(goals, expected, rates, noise, scale, dependence):
    """Of goals of one side or both, and of the roots of expected goals; the dependence of both sides, or None."""
    total = 0.0 if dependence is None else np.log(correction(goals, rates, dependence))
    for y, rate in zip(goals, rates, strict=True):
        total = total + y * np.log(rate) - rate - gammaln(y + 1.0)
    for x, rate in zip(expected, rates, strict=True):
        if not math.isnan(x):
            off = (math.sqrt(x) - np.sqrt(scale * rate)) / noise
            total = total - 0.5 * off**2 - math.log(noise) - 0.5 * math.log(2.0 * math.pi)
    return total


def grid(mean, covariance, width=8.0):
    """Points [2, n] about a normal law of two numbers, and their probabilities."""
    z = np.linspace(-width, width, POINTS)
    z = np.stack(np.meshgrid(z, z, indexing="ij")).reshape(2, -1)
    weight = np.exp(-0.5 * (z**2).sum(axis=0))
    return mean[:, None] + np.linalg.cholesky(covariance) @ z, weight / weight.sum()


def posterior(mean, covariance, likelihood):
    """The log of the mean likelihood, and mean and covariance of two numbers given what has it."""
    points, weight = grid(mean, covariance)
    log = likelihood(np.exp(points))
    weight = weight * np.exp(log - log.max())
    total = weight.sum()
    weight = weight / total
    new = points @ weight
    return math.log(total) + log.max(), new, (weight * (points - new[:, None])) @ (points - new[:, None]).T


def scoreline_probabilities(mean, covariance, dependence, most=60):
    """[most, most] the chances of all scorelines, of normal logs of rates."""
    points, weight = grid(mean, covariance)
    first, second = np.exp(points)
    number = np.arange(most)[:, None]
    table = (weight * poisson.pmf(number, first)) @ poisson.pmf(number, second).T
    for goals in ((0, 0), (0, 1), (1, 0), (1, 1)):
        chance = np.prod([poisson.pmf(y, x) for y, x in zip(goals, (first, second), strict=True)], axis=0)
        table[goals] = (weight * chance * correction(goals, (first, second), dependence)).sum()
    return table


class Goals(Skills):
    """Goals, of lead and paces together. Integrals are sums over fine grids."""

    DIRECTIONS = np.array([[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])  # of strength and pace of both

    def loadings(self, category, side):
        return np.stack([self.pick(category, side), np.eye(len(self.newcomer))[self.pace]])

    def lead_and_paces(self, time, g, games, mean, covariance):
        """Mean and covariance of the lead and the sum of paces, and the joint law of both teams."""
        joint = np.zeros((4, 4))
        joint[:2, :2], joint[2:, 2:] = covariance
        both = self.DIRECTIONS @ mean.ravel() + [self.offset(time, g, games), 0.0]
        return both, self.DIRECTIONS @ joint @ self.DIRECTIONS.T, mean.ravel(), joint

    def learn(self, *known):
        both, covariance, mean, joint = self.lead_and_paces(*known)
        log, new, spread = self.infer(known[1], both, covariance)
        gain = joint @ self.DIRECTIONS.T @ np.linalg.inv(covariance)
        after, left = mean + gain @ (new - both), joint + gain @ (spread - covariance) @ gain.T
        M, h = [], []
        for own in (slice(0, 2), slice(2, 4)):
            prior, precision = np.linalg.inv(joint[own, own]), np.linalg.inv(left[own, own])
            M.append(precision - prior)
            h.append(precision @ after[own] - prior @ mean[own])
        return M, h, log

    def log_rates(self, both, covariance):
        """Mean and covariance of the logs of both rates, and what makes them of lead and paces."""
        L, p = 0.5 * Q * np.array([[1.0, 1.0], [-1.0, 1.0]]), self.p
        scatter = (Q * getattr(p, "goal_dispersion", 0.0)) ** 2 * np.eye(2)
        return math.log(p.goal_rate) + L @ both, L @ covariance @ L.T + scatter, L

    def infer(self, g, both, covariance):
        """The log likelihood, and mean and covariance of lead and paces given the goals."""
        logs, C, L = self.log_rates(both, covariance)
        p = self.p
        more = [getattr(p, x, y) for x, y in (("expected_goals_noise", None), ("expected_goals_scale", 1.0))]
        rho = getattr(p, "low_score_dependence", 0.0)
        log, new, spread = posterior(logs, C, lambda rates: log_likelihood(g.goals, g.expected, rates, *more, rho))
        gain = covariance @ L.T @ np.linalg.inv(C)
        return log, both + gain @ (new - logs), covariance + gain @ (spread - C) @ gain.T

    def chances(self, *known):
        """Of win, draw and loss."""
        logs, C, _ = self.log_rates(*self.lead_and_paces(*known)[:2])
        table = scoreline_probabilities(logs, C, getattr(self.p, "low_score_dependence", 0.0))
        return np.array([np.tril(table, -1).sum(), np.trace(table), np.triu(table, 1).sum()])

    def predict(self, *known):
        return [self.chances(*known) @ [1.0, 0.5, 0.0]]


class Points(Goals):
    """Points of both: their margin, and how many they are together."""

    def measured(self, g):
        """Margin and total in rating points, and the variances of their noises."""
        p = self.p
        total = p.margin_scale * (sum(g.goals) - 2.0 * p.point_rate)
        return np.array([np.sign(g.score - 0.5) * self.points(abs(g.margin)), total]), np.diag(
            np.square([p.noise, p.total_noise])
        )

    def infer(self, g, both, covariance):
        y, noise = self.measured(g)
        gain = covariance @ np.linalg.inv(covariance + noise)
        log = self.log_chance(g, both[0], covariance[0, 0]) + math.log(self.p.margin_scale)
        log += log_normal(y[1], both[1], covariance[1, 1] + noise[1, 1])
        return log, both + gain @ (y - both), covariance - gain @ covariance

    def predict(self, *known):
        return Skills.predict(self, *known)

    def total(self, *known):
        """Mean and deviation of both sides' points together."""
        both, covariance, *_ = self.lead_and_paces(*known)
        p = self.p
        deviation = math.sqrt(covariance[1, 1] + p.total_noise**2)
        return 2.0 * p.point_rate + both[1] / p.margin_scale, deviation / p.margin_scale

    def linear(self, time, g, games):
        y, noise = self.measured(g)
        return self.DIRECTIONS, y - [self.offset(time, g, games), 0.0], noise
