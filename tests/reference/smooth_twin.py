"""Skills with hindsight by plain loops: expectation propagation with a dense Gaussian for each player's whole history.

Minka 2001, "Expectation propagation for approximate Bayesian inference"; Dangauthier, Herbrich, Minka and Graepel 2007,
"TrueSkill through time". A site is what a match says of x^T theta of one of its players, exp(h z - I z^2 / 2). A match
is told again by what all other matches say of its two players: their cavities. Nothing here is a recursion over time
but the prior: posteriors come from matrices over all matches of a player at once.
"""

import math
from types import SimpleNamespace

import numpy as np
from scipy.special import log_ndtr, ndtr

from tests.reference.skills_twin import Q, density


class Smoother:
    """`twin` is Skills, `games` a list of (time, game) in order of time."""

    def __init__(self, twin, games):
        self.twin, self.games = twin, games
        self.nodes = {}  # by player: of each match its number, its side, x, time and what it adds to the variance
        self.offset, count = [], {}
        for i, (time, g) in enumerate(games):
            met = (g.a, g.category[1], g.side), (g.b, g.category[0], -g.side)
            played = [count.get(name, 0.0) for name, *_ in met]
            self.offset.append(
                (twin.p.side_advantage + twin.p.side_trend * (time - twin.p.side_since) / 365.25) * g.side
                + np.dot(twin.p.weights, g.z)
                + twin.p.experience * (math.log(1.0 + played[0]) - math.log(1.0 + played[1]))
            )
            for side, (name, category, own) in enumerate(met):
                node = SimpleNamespace(
                    match=i, side=side, x=twin.pick(category, own), time=time, added=g.weight * twin.p.match_growth**2
                )
                self.nodes.setdefault(name, []).append(node)
                count[name] = count.get(name, 0.0) + g.weight
        self.games_played = count
        self.site = np.zeros((len(games), 2, 2))  # I and h

    def prior(self, name):
        """Mean [T D] and covariance [T D, T D] of a player at their matches, and of the last one what filtering leaves.

        How much a variance may grow depends on what it is, so it is filtered with the sites.
        """
        twin, nodes, D = self.twin, self.nodes[name], len(self.twin.newcomer)
        one = SimpleNamespace(m=twin.newcomer.copy(), P=np.diag(twin.kinds[0].initial), kind=twin.kinds[0])
        mean, S = np.tile(twin.newcomer, len(nodes)), np.zeros((len(nodes) * D,) * 2)
        S[:D, :D] = one.P
        for t, node in enumerate(nodes):
            here = slice(t * D, (t + 1) * D)
            if t:
                before, last = one.P, nodes[t - 1].time
                marker = SimpleNamespace(m=twin.newcomer + 1.0, P=one.P, kind=one.kind)
                for x in (one, marker):
                    twin.pass_time(x, last, node.time)
                    twin.pass_seasons(x, last, node.time)
                keep = marker.m - twin.newcomer  # of each part
                past = slice((t - 1) * D, t * D)
                S[here, : t * D] = keep[:, None] * S[past, : t * D]
                S[: t * D, here] = S[here, : t * D].T
                S[here, here] = np.outer(keep, keep) * (S[past, past] - before) + one.P
            S[t * D, t * D] += node.added
            one.P = one.P.copy()
            one.P[0, 0] += node.added
            precision, h = self.site[node.match, node.side]
            P = one.P @ np.linalg.inv(np.eye(D) + precision * np.outer(node.x, node.x) @ one.P)
            one.m, one.P = one.m + P @ node.x * (h - precision * node.x @ one.m), P
        return mean, S, one

    def posterior(self, name, without=(), prior=None):
        """Mean and covariance given all sites, but those of nodes `without`; and the logarithm of their integral."""
        nodes, D = self.nodes[name], len(self.twin.newcomer)
        mean, S, _ = prior or self.prior(name)
        A, h = np.zeros_like(S), np.zeros_like(mean)
        for t, node in enumerate(nodes):
            if t not in without:
                here = slice(t * D, (t + 1) * D)
                A[here, here] += self.site[node.match, node.side, 0] * np.outer(node.x, node.x)
                h[here] += self.site[node.match, node.side, 1] * node.x
        after = S @ np.linalg.inv(np.eye(len(S)) + A @ S)
        V = h - A @ mean
        integral = h @ mean - 0.5 * mean @ A @ mean + 0.5 * V @ after @ V
        return mean + after @ V, after, integral - 0.5 * np.linalg.slogdet(np.eye(len(S)) + A @ S)[1]

    def strengths(self, without_own):
        """[n, 2] means and variances of x^T theta, of all but the match's own site."""
        D, mean, variance = len(self.twin.newcomer), *np.zeros((2, len(self.games), 2))
        for name, nodes in self.nodes.items():
            prior = self.prior(name)
            for t, node in enumerate(nodes):
                m, P, _ = self.posterior(name, [t] if without_own else [], prior)
                here = slice(t * D, (t + 1) * D)
                mean[node.match, node.side] = node.x @ m[here]
                variance[node.match, node.side] = node.x @ P[here, here] @ node.x
        return mean, variance

    def sweep(self, damping=1.0):
        """Renew all sites at once; the greatest change of a site, relative to the greatest."""
        mean, variance = self.strengths(True)
        new = np.zeros_like(self.site)
        for i, (_, g) in enumerate(self.games):
            d = mean[i, 0] - mean[i, 1] + self.offset[i]
            for side, sign, score in ((0, 1.0, g.score), (1, -1.0, 1.0 - g.score)):
                precision, V = self.twin.message(g, variance[i, side], variance[i, 1 - side], sign * d, score, sign)
                new[i, side] = g.weight * np.array([precision, V + precision * mean[i, side]])
        step = damping * (new - self.site)
        self.site += step
        return np.max(np.abs(step) / np.max(np.abs(self.site), axis=(0, 1)))

    def converge(self, damping=1.0, tolerance=1e-12, most=300):
        for count in range(most):
            if self.sweep(damping) < tolerance:
                return count + 1
        raise AssertionError("it does not converge")

    def log_chance(self, g, d, variance):
        """Of the result; of a margin, its density in its own units, or of a draw that it is less than one half.

        Statistics, each in its own units, come first.
        """
        p, before = self.twin.p, 0.0
        for z, (scale, noise) in zip(g.statistics, p.statistics, strict=True):
            if not math.isnan(z):
                square = variance + noise**2
                before += math.log(scale * density((scale * z - d) / math.sqrt(square)) / math.sqrt(square))
                d, variance = d + variance * (scale * z - d) / square, variance * noise**2 / square
        return before + self.log_chance_of_result(g, d, variance)

    def log_chance_of_result(self, g, d, variance):
        p = self.twin.p
        if self.twin.outcome == "logistic":
            e = 1.0 / (1.0 + math.exp(-Q * d / math.sqrt(1.0 + 3.0 * Q**2 * variance / math.pi**2)))
            return g.score * math.log(e) + (1.0 - g.score) * math.log(1.0 - e)
        spread, k = math.sqrt(p.noise**2 + variance), p.compression
        if self.twin.outcome == "margin":
            size = abs(g.margin)

            def points(y):
                return p.margin_scale * (y if k is None else k * math.log(1.0 + y / k))

            if g.score == 0.5:
                return math.log(ndtr((points(0.5) - d) / spread) - ndtr((-points(0.5) - d) / spread))
            slope = p.margin_scale * (1.0 if k is None else 1.0 / (1.0 + size / k))
            z = (np.sign(g.score - 0.5) * points(size) - d) / spread
            return math.log(slope * density(z) / spread)
        margin = p.draw_margin
        if margin is None:
            return g.score * log_ndtr(d / spread) + (1.0 - g.score) * log_ndtr(-d / spread)
        if g.score == 0.5:
            return math.log(ndtr((margin - d) / spread) - ndtr((-margin - d) / spread))
        return log_ndtr(((1.0 if g.score > 0.5 else -1.0) * d - margin) / spread)

    def evidence(self):
        """Log marginal likelihood by the sites: all timelines, and each match by its cavities instead of its sites."""
        mean, variance = self.strengths(True)
        total = sum(self.posterior(name)[2] for name in self.nodes)
        for i, (_, g) in enumerate(self.games):
            d = mean[i, 0] - mean[i, 1] + self.offset[i]
            total += g.weight * self.log_chance(g, d, variance[i].sum())
            for side in (0, 1):
                (A, h), m, s = self.site[i, side], mean[i, side], variance[i, side]
                V = h - A * m
                total -= h * m - 0.5 * A * m * m + 0.5 * V * V * s / (1 + s * A) - 0.5 * math.log(1 + s * A)
        return total

    def parts(self):
        """[n, 2, D] means and variances of what is believed of theta, given everything."""
        D = len(self.twin.newcomer)
        mean, variance = np.zeros((2, len(self.games), 2, D))
        for name, nodes in self.nodes.items():
            m, P, _ = self.posterior(name)
            for t, node in enumerate(nodes):
                mean[node.match, node.side] = m[t * D : (t + 1) * D]
                variance[node.match, node.side] = np.diag(P)[t * D : (t + 1) * D]
        return mean, variance


def dense(smoother):
    """The exact posterior of all players at all their matches, where the matches have margins, and its log integral.

    Means [n, 2, D], variances [n, 2, D], and the density of all margins in rating points.
    """
    D, at, size = len(smoother.twin.newcomer), {}, 0
    for nodes in smoother.nodes.values():
        for t, node in enumerate(nodes):
            at[node.match, node.side] = slice(size + t * D, size + (t + 1) * D)
        size += len(nodes) * D
    m, S, H = np.zeros(size), np.zeros((size, size)), np.zeros((len(smoother.games), size))
    for name, nodes in smoother.nodes.items():
        first = at[nodes[0].match, nodes[0].side].start
        own = slice(first, first + len(nodes) * D)
        m[own], S[own, own], _ = smoother.prior(name)
        for node in nodes:
            H[node.match, at[node.match, node.side]] = (1.0 - 2.0 * node.side) * node.x
    p = smoother.twin.p
    k = p.compression
    y = [
        np.sign(g.score - 0.5) * p.margin_scale * (abs(g.margin) if k is None else k * math.log(1 + abs(g.margin) / k))
        for _, g in smoother.games
    ]
    R = np.diag([p.noise**2 / g.weight for _, g in smoother.games])
    surprise, spread = y - H @ m - smoother.offset, H @ S @ H.T + R
    gain = S @ H.T @ np.linalg.inv(spread)
    mean, variance = m + gain @ surprise, np.diag(S - gain @ H @ S)
    take = [[at[i, 0], at[i, 1]] for i in range(len(smoother.games))]
    log = -0.5 * (surprise @ np.linalg.solve(spread, surprise) + np.linalg.slogdet(2 * np.pi * spread)[1])
    return (*(np.array([[x[a], x[b]] for a, b in take]) for x in (mean, variance)), log)
