"""Skills with hindsight by plain loops: expectation propagation with a dense Gaussian for each player's whole history.

Minka 2001, "Expectation propagation for approximate Bayesian inference"; Dangauthier, Herbrich, Minka and Graepel 2007,
"TrueSkill through time". A site is what an event says of the linear predictors z = X theta of one who takes part,
exp(h z - z M z / 2). An event is told again by what all other events say of its participants: their cavities. Nothing
here is a recursion over time but the prior: posteriors come from matrices over all events of a player at once.

What an event is, is known by the twin that filters: who takes part with which X, as how many matches it counts, what it
says of its participants at given cavities and how likely it is there, and what is expected of it.
"""

from types import SimpleNamespace

import numpy as np

from tests.reference.skills_twin import condition


class Smoother:
    """`events` is a list of (time, event) in order of time."""

    def __init__(self, twin, events):
        self.twin, self.events = twin, events
        self.nodes, self.rows, self.games_before, played = {}, [], [], {}
        for time, event in events:
            seats, weight = twin.seats(event), twin.weight(event)
            first, seen = len(self.games_before), set()
            self.rows.append(list(range(first, first + len(seats))))
            for row, (name, X, kind) in zip(self.rows[-1], seats, strict=True):
                self.games_before.append(played.get(name, 0.0))
                self.nodes.setdefault(name, []).append(
                    SimpleNamespace(row=row, event=len(self.rows) - 1, X=X, kind=kind, time=time, learns=weight > 0,
                                    count=weight * (name not in seen))
                )  # fmt: skip
                seen.add(name)
            for name in seen:
                played[name] = played.get(name, 0.0) + weight
        for nodes in self.nodes.values():  # no time passes for newcomers
            begin = next((node for node in nodes if node.learns), nodes[0])
            kind, start = self.twin.kinds[begin.kind], begin.time
            for node in nodes:
                node.kind, node.time = kind, max(node.time, start)
        self.size, self.k = len(self.twin.newcomer), len(X)
        self.M, self.h = np.zeros((len(self.games_before), self.k, self.k)), np.zeros((len(self.games_before), self.k))

    def prior(self, name):
        """Mean [T D] and covariance [T D, T D] of a player at their events, and of the last one what filtering leaves.

        How much a variance may grow depends on what it is, so it is filtered with the sites.
        """
        twin, nodes, D = self.twin, self.nodes[name], self.size
        kind = nodes[0].kind
        one = SimpleNamespace(m=twin.newcomer.copy(), P=np.diag(kind.initial), kind=kind)
        mean, S = np.tile(twin.newcomer, len(nodes)), np.zeros((len(nodes) * D,) * 2)
        S[:D, :D] = one.P
        for t, node in enumerate(nodes):
            here = slice(t * D, (t + 1) * D)
            if t:
                before, last = one.P, nodes[t - 1].time
                marker = SimpleNamespace(m=twin.newcomer + 1.0, P=one.P, kind=kind)
                for x in (one, marker):
                    twin.pass_time(x, last, node.time)
                    twin.pass_seasons(x, last, node.time)
                keep = marker.m - twin.newcomer  # of each part
                past = slice((t - 1) * D, t * D)
                S[here, : t * D] = keep[:, None] * S[past, : t * D]
                S[: t * D, here] = S[here, : t * D].T
                S[here, here] = np.outer(keep, keep) * (S[past, past] - before) + one.P
            added = node.count * kind.match_growth**2
            S[t * D, t * D] += added
            one.P = one.P.copy()
            one.P[0, 0] += added
            one.m, one.P, _ = condition(one.m, one.P, *self.site(node))
        return mean, S, one

    def site(self, node):
        """M and h of a node, of all numbers of the player."""
        return node.X.T @ self.M[node.row] @ node.X, node.X.T @ self.h[node.row]

    def posterior(self, name, without=(), prior=None):
        """Mean and covariance given all sites, but those of nodes `without`; and the logarithm of their integral."""
        mean, S, _ = prior or self.prior(name)
        A, h = np.zeros_like(S), np.zeros_like(mean)
        for t, node in enumerate(self.nodes[name]):
            if t not in without:
                here = slice(t * self.size, (t + 1) * self.size)
                A[here, here], h[here] = self.site(node)
        return condition(mean, S, A, h)

    def cavities(self, whole_event=False):
        """Means [R, k] and covariances of linear predictors, of all but the own site, or all those of the event."""
        mean, covariance = np.zeros_like(self.h), np.zeros_like(self.M)
        for name, nodes in self.nodes.items():
            prior = self.prior(name)
            for t, node in enumerate(nodes):
                others = [i for i, x in enumerate(nodes) if x.event == node.event]
                m, P, _ = self.posterior(name, others if whole_event else [t], prior)
                here = slice(t * self.size, (t + 1) * self.size)
                mean[node.row], covariance[node.row] = node.X @ m[here], node.X @ P[here, here] @ node.X.T
        return mean, covariance

    def each_event(self, mean, covariance):
        """The rows of each event, as how many matches it counts, and what the twin is told of it."""
        for rows, (time, event) in zip(self.rows, self.events, strict=True):
            games = [self.games_before[row] for row in rows]
            yield rows, self.twin.weight(event), (time, event, games, mean[rows], covariance[rows])

    def sweep(self, damping=1.0):
        """Renew all sites at once; the greatest change of a site, relative to the greatest."""
        M, h = np.zeros_like(self.M), np.zeros_like(self.h)
        for rows, weight, known in self.each_event(*self.cavities()):
            if weight > 0:
                precision, pull, _ = self.twin.learn(*known)
                M[rows], h[rows] = weight * np.array(precision), weight * np.array(pull)
        steps = damping * (M - self.M), damping * (h - self.h)
        self.M, self.h = self.M + steps[0], self.h + steps[1]
        return max(np.max(np.abs(x)) / np.max(np.abs(y)) for x, y in zip(steps, (self.M, self.h), strict=True))

    def converge(self, damping=1.0, tolerance=1e-12, most=300):
        for count in range(most):
            if self.sweep(damping) < tolerance:
                return count + 1
        raise AssertionError("it does not converge")

    def predictions(self):
        """What is expected of each event, given all others."""
        return np.concatenate([self.twin.predict(*known) for _, _, known in self.each_event(*self.cavities(True))])

    def evidence(self):
        """Log marginal likelihood by the sites: all timelines, and each event by its cavities instead of its sites."""
        mean, covariance = self.cavities()
        total = sum(self.posterior(name)[2] for name in self.nodes)
        for rows, weight, known in self.each_event(mean, covariance):
            if weight > 0:
                total += weight * self.twin.learn(*known)[2]
                total -= sum(condition(mean[i], covariance[i], self.M[i], self.h[i])[2] for i in rows)
        return total

    def parts(self):
        """[R, D] means and variances of what is believed of theta, given everything."""
        return self.by_row({name: self.posterior(name)[:2] for name in self.nodes})

    def by_row(self, beliefs):
        """[R, D] means and variances, of the means and covariances of players."""
        mean, variance = np.zeros((2, len(self.games_before), self.size))
        for name, (m, P) in beliefs.items():
            for t, node in enumerate(self.nodes[name]):
                here = slice(t * self.size, (t + 1) * self.size)
                mean[node.row], variance[node.row] = m[here], np.diag(P)[here]
        return mean, variance


def dense(smoother):
    """The exact posterior of all players at all events, which observe linear predictors with noise, as margins are.

    Means [R, D], variances [R, D], and the log density of all that was observed, in rating points.
    """
    D, k, start, end = smoother.size, smoother.k, {}, 0
    for name, nodes in smoother.nodes.items():
        start[name], end = end, end + len(nodes) * D
    m, S, X = np.zeros(end), np.zeros((end, end)), np.zeros((len(smoother.games_before) * k, end))
    own = {name: slice(first, first + len(smoother.nodes[name]) * D) for name, first in start.items()}
    for name, nodes in smoother.nodes.items():
        m[own[name]], S[own[name], own[name]], _ = smoother.prior(name)
        for t, node in enumerate(nodes):
            X[node.row * k : (node.row + 1) * k, start[name] + t * D : start[name] + (t + 1) * D] = node.X
    H, values, noises = [], [], []
    for rows, weight, (time, event, games, *_) in smoother.each_event(smoother.h, smoother.M):
        a, y, noise = smoother.twin.linear(time, event, games)  # a [n, P k]
        H.append(a @ X[rows[0] * k : (rows[-1] + 1) * k])
        values.append(y)
        noises.append(noise / weight)
    H, values, R = np.concatenate(H), np.concatenate(values), np.zeros((len(np.concatenate(values)),) * 2)
    place = 0
    for noise in noises:
        R[place : place + len(noise), place : place + len(noise)] = noise
        place += len(noise)
    surprise, spread = values - H @ m, H @ S @ H.T + R
    gain = S @ H.T @ np.linalg.inv(spread)
    mean, covariance = m + gain @ surprise, S - gain @ H @ S
    log = -0.5 * (surprise @ np.linalg.solve(spread, surprise) + np.linalg.slogdet(2 * np.pi * spread)[1])
    return *smoother.by_row({name: (mean[x], covariance[x, x]) for name, x in own.items()}), log
