"""TrueSkill (Herbrich, Minka and Graepel 2006) by plain loops: messages one by one down and up the chain of teams.

Moments of truncated variables are sums over fine nodes, so nothing here has a formula in common with the library.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)


class Params(NamedTuple):
    beta: float = 25.0 / 6.0
    tau: float = 25.0 / 300.0
    draw_probability: float = 0.1


class Normal(NamedTuple):
    """By precision and precision times mean, so that products and quotients are sums and differences."""

    precision: float = 0.0
    total: float = 0.0

    def times(self, other, power=1.0):
        return Normal(self.precision + power * other.precision, self.total + power * other.total)

    @property
    def mean(self):
        return self.total / self.precision

    @property
    def variance(self):
        return 1.0 / self.precision


def moments(lead, margin, inside):
    """Mean and variance of N(lead, 1) beyond the margin, or within it on either side."""
    low, high = (-margin, margin) if inside else (margin, margin + 1.0)
    if not inside:  # as far as the density is of any size
        distance = margin - lead
        high = margin + (40.0 / distance if distance > 4.0 else 13.0 - distance)
        low = max(margin, lead - 13.0)
    x = 0.5 * (low + high) + 0.5 * (high - low) * NODES
    log_density = -0.5 * (x - lead) ** 2
    p = WEIGHTS * np.exp(log_density - log_density.max())
    p /= p.sum()
    mean = p @ x
    return mean, p @ (x - mean) ** 2


def margin_of(params, players):
    return ndtri((params.draw_probability + 1.0) / 2.0) * math.sqrt(players) * params.beta


def rate(teams, ranks, weights=None, params=None, sweeps=60):
    """[teams][players] (mean, deviation) after a round, from those before it."""
    params = params or Params()
    weights = weights or [[1.0] * len(team) for team in teams]
    teams = [[(mean, math.hypot(deviation, params.tau)) for mean, deviation in team] for team in teams]
    order = sorted(range(len(teams)), key=lambda i: ranks[i])
    play = []
    for i in order:
        mean = sum(w * m for w, (m, _) in zip(weights[i], teams[i], strict=True))
        variance = sum(w * w * (s * s + params.beta**2) for w, (_, s) in zip(weights[i], teams[i], strict=True))
        play.append(Normal(1.0 / variance, mean / variance))
    down, up = [Normal() for _ in play], [Normal() for _ in play]  # what the neighbours say about each team

    def link(k):
        """The message about the difference of teams k and k + 1, and what is known of them without it."""
        above, below = play[k].times(down[k]), play[k + 1].times(up[k + 1])
        square = above.variance + below.variance
        ahead, spread = above.mean - below.mean, math.sqrt(square)
        margin = margin_of(params, len(teams[order[k]]) + len(teams[order[k + 1]]))
        tied = ranks[order[k]] == ranks[order[k + 1]]
        mean, variance = moments(ahead / spread, margin / spread, tied)
        after = Normal(1.0 / (square * variance), mean * spread / (square * variance))
        return after.times(Normal(1.0 / square, ahead / square), -1.0), above, below

    for _ in range(sweeps):
        for k in range(len(play) - 1):
            message, above, _ = link(k)
            variance = above.variance + message.variance
            down[k + 1] = Normal(1.0 / variance, (above.mean - message.mean) / variance)
        for k in reversed(range(len(play) - 1)):
            message, _, below = link(k)
            variance = below.variance + message.variance
            up[k] = Normal(1.0 / variance, (below.mean + message.mean) / variance)

    result = [None] * len(teams)
    for place, i in enumerate(order):
        told, own = down[place].times(up[place]), play[place]
        result[i] = []
        for w, (mean, deviation) in zip(weights[i], teams[i], strict=True):
            rest = Normal(1.0 / (own.variance - (w * deviation) ** 2), 0.0).variance  # of the team but for this skill
            skill = Normal(deviation**-2, mean / deviation**2)
            if told.precision > 0:  # told about the sum, hence about w times this skill, hence about the skill
                value, variance = told.mean - (own.mean - w * mean), told.variance + rest
                skill = skill.times(Normal(w * w / variance, w * value / variance))
            result[i].append((skill.mean, math.sqrt(skill.variance)))
    return result


def rate_seats(players, teams, ranks, weights=None, params=None):
    """{name: (mean, deviation)} after a round of `teams` of names, from `players` before it: a name may be in several.

    The factor graph has one skill for a name, and a performance for each seat. The message of a seat to the skill is
    what it says alone; the skill's marginal is the product of the prior and of all messages. Approximate: no seat is
    told, through the skill, what the others say, so the messages are those of the first pass.
    """
    params = params or Params()
    seats = rate([[players[name] for name in team] for team in teams], ranks, weights, params)
    result = {}
    for name, (mean, deviation) in players.items():
        square = deviation**2 + params.tau**2
        skill = prior = Normal(1.0 / square, mean / square)
        for team, rated in zip(teams, seats, strict=True):
            if name in team:
                mean, deviation = rated[team.index(name)]
                skill = skill.times(Normal(deviation**-2, mean / deviation**2).times(prior, -1.0))
        result[name] = (skill.mean, math.sqrt(skill.variance))
    return result


def win_draw_loss(one, two, params=None, side=0.0):
    """Of a match of two players, (mean, deviation) each."""
    params = params or Params()
    spread = math.sqrt(one[1] ** 2 + two[1] ** 2 + 2.0 * (params.tau**2 + params.beta**2))
    margin, ahead = margin_of(params, 2), one[0] - two[0] + side
    win, loss = ndtr((ahead - margin) / spread), ndtr((-ahead - margin) / spread)
    return win, 1.0 - win - loss, loss


def quality(teams, weights=None, params=None):
    """How likely a draw of all is, relative to that of equals whose skills are known, by matrices."""
    params = params or Params()
    weights = weights or [[1.0] * len(team) for team in teams]
    mean = np.array([m for team in teams for m, _ in team])
    cov = np.diag([s * s for team in teams for _, s in team])
    rows, start = [], np.cumsum([0, *map(len, teams)])
    for k in range(len(teams) - 1):
        row = np.zeros(len(mean))
        row[start[k] : start[k + 1]] = weights[k]
        row[start[k + 1] : start[k + 2]] = -np.array(weights[k + 1])
        rows.append(row)
    a = np.array(rows)
    noise = params.beta**2 * a @ a.T
    whole = noise + a @ cov @ a.T
    gap = a @ mean
    return math.sqrt(np.linalg.det(noise) / np.linalg.det(whole)) * math.exp(-0.5 * gap @ np.linalg.solve(whole, gap))
