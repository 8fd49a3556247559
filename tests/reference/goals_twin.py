"""Goals by plain loops: likelihoods of counts, and integrals over a fine grid of the logs of both rates."""

import math

import numpy as np
from scipy.special import gammaln
from scipy.stats import poisson

Q = math.log(10.0) / 400.0
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
