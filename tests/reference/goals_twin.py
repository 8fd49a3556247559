"""Skills of goals by plain loops: attack and defence, dense matrices, and integrals over a fine grid.

Each team has an attack, a defence and a side of its own. The logs of the goals that both sides should score are those
of equals, plus Q times the attack of one less the defence of the other, and half of what else speaks for the first.
"""

import math
from types import SimpleNamespace

import numpy as np
from scipy.special import gammaln
from scipy.stats import poisson

Q = math.log(10.0) / 400.0
POINTS = 41  # of the grid, to each axis; the error of the sum falls with the exponential of their number squared
OFF = {
    "match_growth": 0.0, "reversion": math.inf, "season_keep": 1.0, "season_growth": 0.0, "experience": 0.0,
    "side_advantage": 0.0, "own_side_growth": 0.0, "initial_own_side_deviation": 0.0, "goal_dispersion": 0.0,
    "low_score_dependence": 0.0, "expected_goals_noise": None, "expected_goals_scale": 1.0,
}  # fmt: skip
# Strength, pace and own side, of attack, defence and own side
PARTS = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
ABILITIES = np.linalg.inv(PARTS)


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


class Goals:
    def __init__(self, own_side=False, seasons=(), period=7.0, weights=(), **params):
        self.seasons, self.period, self.weights = seasons, period, weights
        self.p = p = SimpleNamespace(**(OFF | params))
        self.used = np.array([True, True, own_side])
        deviations = p.initial_deviation, p.initial_pace_deviation, p.initial_own_side_deviation
        growth = p.growth, p.pace_growth, p.own_side_growth
        self.highest, self.growth = (np.where(self.used, np.square(x), 0.0) for x in (deviations, growth))
        self.teams = {}

    def team(self, name):
        if name not in self.teams:
            covariance = ABILITIES @ np.diag(self.highest) @ ABILITIES.T
            self.teams[name] = SimpleNamespace(m=np.zeros(3), P=covariance, games=0.0, time=None)
        return self.teams[name]

    def advance(self, name, time):
        """The clock, and then the seasons that began."""
        one = self.team(name)
        if one.time is not None:
            passed, tau = max(time - one.time, 0.0), self.p.reversion
            keep = math.exp(-passed / tau)
            span = passed if keep == 1.0 else tau / 2.0 * (1.0 - keep**2)
            self.shrink(one, keep, self.growth * span / self.period)
            for start in self.seasons:
                if one.time < start <= time:
                    added = np.array([self.p.season_growth**2, 0.0, 0.0])
                    self.shrink(one, self.p.season_keep, added)
        one.time = time
        return one

    def shrink(self, one, keep, added):
        one.m, parts = keep * one.m, keep**2 * (PARTS @ one.P @ PARTS.T)
        room = np.maximum(self.highest - np.diag(parts), 0.0)
        one.P = ABILITIES @ (parts + np.diag(np.minimum(added, room))) @ ABILITIES.T

    def lead_without_abilities(self, a, b, side, z):
        """What speaks for the first team, but abilities, in points."""
        p, games = self.p, [self.team(x).games for x in (a, b)]
        ahead = side * p.side_advantage + sum(w * x for w, x in zip(self.weights, z, strict=True))
        return ahead + p.experience * (math.log1p(games[0]) - math.log1p(games[1]))

    def joint_belief(self, a, b, weight):
        """Mean [6] and covariance of the abilities of both teams in a match."""
        first, second = self.team(a), self.team(b)
        joint = np.zeros((6, 6))
        grown = ABILITIES @ np.diag([weight * self.p.match_growth**2, 0.0, 0.0]) @ ABILITIES.T
        joint[:3, :3], joint[3:, 3:] = first.P + grown, second.P + grown
        return np.append(first.m, second.m), joint

    def log_rates(self, a, b, side, z, weight=1.0):
        """Mean and covariance of both logs of rates, the directions [2, 6] of abilities, and their joint belief."""
        p, ahead = self.p, self.lead_without_abilities(a, b, side, z)
        half = 0.5 * side * self.used[2]
        directions = Q * np.array(
            [[1.0, 0.0, half, 0.0, -1.0, half], [0.0, -1.0, -half, 1.0, 0.0, -half]]
        )  # attack, defence and own side of the first, then of the second
        mean, joint = self.joint_belief(a, b, weight)
        logs = math.log(p.goal_rate) + directions @ mean + 0.5 * Q * ahead * np.array([1.0, -1.0])
        covariance = directions @ joint @ directions.T + (Q * p.goal_dispersion) ** 2 * np.eye(2)
        return logs, covariance, directions, mean, joint

    def predict(self, a, b, side=0.0, z=()):
        """The chances of loss, draw and win of the first."""
        logs, covariance, *_ = self.log_rates(a, b, side, z)
        table = scoreline_probabilities(logs, covariance, self.p.low_score_dependence)
        return np.array([np.triu(table, 1).sum(), np.trace(table), np.tril(table, -1).sum()])

    def goal_log_likelihood(self, a, b, goals, side=0.0, z=()):
        """How likely these goals are before the match."""
        logs, covariance, *_ = self.log_rates(a, b, side, z)
        missing = (math.nan, math.nan)
        dependence = self.p.low_score_dependence
        return posterior(logs, covariance, lambda x: log_likelihood(goals, missing, x, None, None, dependence))[0]

    def learn(self, a, b, goals, side=0.0, z=(), expected=(math.nan, math.nan), weight=1.0):
        """Both teams learn from the goals, and from expected goals."""
        p = self.p
        logs, covariance, directions, mean, joint = self.log_rates(a, b, side, z, weight)

        def likelihood(rates):
            noise, scale = p.expected_goals_noise, p.expected_goals_scale
            return log_likelihood(goals, expected, rates, noise, scale, p.low_score_dependence)

        _, new, spread = posterior(logs, covariance, likelihood)
        gain = joint @ directions.T @ np.linalg.inv(covariance)
        after = mean + gain @ (new - logs), joint + gain @ (spread - covariance) @ gain.T
        self.keep(a, b, joint, after, weight)

    def keep(self, a, b, joint, after, weight):
        """What is believed of each team after a match of this weight, from the joint belief after it."""
        for name, part in ((a, slice(0, 3)), (b, slice(3, 6))):
            one, used = self.team(name), self.used
            prior, m, P = joint[part, part][used][:, used], after[0][part][used], after[1][part, part][used][:, used]
            if weight == 1.0:
                one.m[used] = m
            else:
                told = np.linalg.inv(P) - np.linalg.inv(prior)
                shift = np.linalg.solve(P, m) - np.linalg.solve(prior, one.m[used])
                P = np.linalg.inv(np.linalg.inv(prior) + weight * told)
                one.m[used] = P @ (np.linalg.solve(prior, one.m[used]) + weight * shift)
            one.P = np.zeros((3, 3))
            one.P[np.ix_(used, used)] = P
            one.games += weight
