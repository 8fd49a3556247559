"""Elo-MMR with any log-concave density of performances, slow and obviously right: brute-force integrals and bisection.

Lemma and theorem numbers are those of Ebtekar and Liu (2021). No SciPy.
"""

import math
from typing import NamedTuple

import numpy as np

from tests.reference.elo_mmr_twin import Belief, Factor, shorten
from tests.reference.performance_twin import bracket, groups

STEP, REACH = 0.01, 40.0  # of the integrals, in standard deviations


class Density(NamedTuple):
    """A density of mean 0 and variance 1: f(z) = scale exp(log(mean + scale z)) but for a factor."""

    log: object  # x -> the log of a density, but for a constant
    derivative: object  # of that
    mean: float
    scale: float

    def log_density(self, z):
        return self.log(self.mean + self.scale * np.asarray(z))

    def draw(self, z):
        """The d of Lemma 3.2, f'/f."""
        return self.scale * self.derivative(self.mean + self.scale * np.asarray(z))

    def hazard(self, z, sign):
        """f/F if the sign is -1, f/(1 - F) if it is 1: the inverse of the integral of f(z + sign t)/f(z) over t > 0."""
        z = np.asarray(z, float)
        t = np.arange(0.0, REACH, STEP)
        weight = np.full(len(t), STEP * 2.0 / 3.0)  # Simpson's rule
        weight[1::2] *= 2.0
        weight[0] *= 0.5
        with np.errstate(over="ignore"):  # where nearly everything lies on this side
            flat = [weight @ np.exp(self.log_density(x + sign * t) - self.log_density(x)) for x in z.ravel()]
        return 1.0 / np.reshape(flat, z.shape)

    def loss(self, z):
        """The l of Lemma 3.2."""
        return -self.hazard(z, 1.0)

    def victory(self, z):
        """The v of Lemma 3.2."""
        return self.hazard(z, -1.0)

    def below(self, z):
        """The cdf F."""
        above, under = self.hazard(z, 1.0), self.hazard(z, -1.0)
        return above / (above + under)

    def balance(self, x, better, same, worse, split_ties):
        """Q(x) of Theorem 3.3 against these groups of opponents."""
        z = [((x - mu) / delta, delta) for mu, delta in (better, same, worse)]
        lost, won = (self.loss(z[0][0]) / z[0][1]).sum(), (self.victory(z[2][0]) / z[2][1]).sum()
        share = 0.5 if split_ties is True else split_ties
        tied = share * (self.loss(z[1][0]) + self.victory(z[1][0])) if split_ties else self.draw(z[1][0])
        return lost + (tied / z[1][1]).sum() + won

    def performances(self, mu, delta, rank, split_ties=False):
        """The zero of Q for every participant [P]."""
        performance = np.empty(len(mu))
        for own in np.unique(rank):
            sides = groups(mu, delta, rank, own)
            performance[np.equal(rank, own)] = bisect(lambda x, s=sides: self.balance(x, *s, split_ties))
        return performance

    def learn(self, belief, performance, beta, history=None):
        """The belief after a performance of deviation beta: factors are f((p - s) / beta) to their multiplicity."""
        belief = shorten(belief, history)
        belief = belief._replace(factors=(*belief.factors, Factor(performance, beta**-2, beta)))

        def slope(s):
            """Of the log of the posterior: p = s + noise, so a factor's is -w beta d((p - s) / beta)."""
            factors = (-w * b * self.draw((p - s) / b) for p, w, b in belief.factors)
            return belief.weight * (belief.mean - s) + sum(factors)

        return Belief(bisect(slope), *belief[1:])

    def beats(self, lead, one, other):
        """The probability that a performance of deviation `one`, ahead by `lead`, exceeds one of deviation `other`."""
        z = np.arange(-20.0, 20.0, 0.02)
        density = np.exp(self.log_density(z))
        return density @ self.below((lead + one * z) / other) / density.sum()


def bisect(f):
    """Where the decreasing function changes its sign."""
    low, high = bracket(f)
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if f(middle) > 0.0 else (low, middle)
    return 0.5 * (low + high)


def standardised(log, derivative):
    """The density of mean 0 and variance 1."""
    x = np.arange(-60.0, 60.0, 0.001)
    weight = np.exp(log(x))
    mean = weight @ x / weight.sum()
    return Density(log, derivative, mean, math.sqrt(weight @ (x - mean) ** 2 / weight.sum()))


GUMBEL = standardised(lambda x: -x - np.exp(-x), lambda x: -1.0 + np.exp(-x))
LAPLACE = standardised(lambda x: -np.sqrt(0.25 + x**2), lambda x: -x / np.sqrt(0.25 + x**2))
LOGISTIC = standardised(lambda x: -2.0 * np.log(np.cosh(0.5 * x)), lambda x: -np.tanh(0.5 * x))
