"""Skills with hindsight by plain loops: expectation propagation with a dense Gaussian for each player's whole history.

Minka 2001, "Expectation propagation for approximate Bayesian inference"; Dangauthier, Herbrich, Minka and Graepel 2007,
"TrueSkill through time". A site is what an event says of the linear predictors z = X theta of one who takes part,
exp(h z - z M z / 2). An event is told again by what all other events say of its participants: their cavities. Nothing
here is a recursion over time but the prior: posteriors come from matrices over all events of a player at once.

What an event is, is known by its observation: who takes part with which X, as how many matches it counts, what it says
of its participants at given cavities and how likely it is there, and what is expected of it.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
from scipy.special import log_ndtr, ndtr

from tests.reference.goals_twin import log_likelihood, posterior, scoreline_probabilities
from tests.reference.skills_twin import Q, density
from tests.reference.teams_twin import TeamSkills, link_slopes


def log_normal(x, mean, variance):
    return -0.5 * (math.log(2.0 * math.pi * variance) + (x - mean) ** 2 / variance)


def condition(mean, covariance, M, h):
    """A normal law times exp(h z - z M z / 2), and the logarithm of the integral."""
    unit = np.eye(len(mean))
    after, V = covariance @ np.linalg.inv(unit + M @ covariance), h - M @ mean
    log = h @ mean - 0.5 * mean @ M @ mean + 0.5 * V @ after @ V - 0.5 * np.linalg.slogdet(unit + M @ covariance)[1]
    return mean + after @ V, after, log


class Smoother:
    """`events` is a list of (time, event) in order of time."""

    def __init__(self, observation, events):
        self.of, self.twin, self.events = observation, observation.twin, events
        self.nodes, self.rows, self.games_before, played = {}, [], [], {}
        for time, event in events:
            seats, weight = observation.seats(event), observation.weight(event)
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
        """The rows of each event, as how many matches it counts, and what its observation is told of it."""
        for rows, (time, event) in zip(self.rows, self.events, strict=True):
            games = [self.games_before[row] for row in rows]
            yield rows, self.of.weight(event), (time, event, games, mean[rows], covariance[rows])

    def sweep(self, damping=1.0):
        """Renew all sites at once; the greatest change of a site, relative to the greatest."""
        M, h = np.zeros_like(self.M), np.zeros_like(self.h)
        for rows, weight, known in self.each_event(*self.cavities()):
            if weight > 0:
                precision, pull, _ = self.of.learn(*known)
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
        return np.concatenate([self.of.predict(*known) for _, _, known in self.each_event(*self.cavities(True))])

    def evidence(self):
        """Log marginal likelihood by the sites: all timelines, and each event by its cavities instead of its sites."""
        mean, covariance = self.cavities()
        total = sum(self.posterior(name)[2] for name in self.nodes)
        for rows, weight, known in self.each_event(mean, covariance):
            if weight > 0:
                total += weight * self.of.learn(*known)[2]
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
        a, y, noise = smoother.of.linear(time, event, games)  # a [n, P k]
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


class Filter:
    """Games one after the other, each learnt from at what is believed before it."""

    def __init__(self, observation):
        self.of, self.twin = observation, observation.twin

    def known(self, time, g, count):
        """What the observation is told of a game that counts as so many matches for growth."""
        rows, mean, covariance = [self.twin.player(name) for name in (g.a, g.b)], [], []
        for row, (_, X, _) in zip(rows, self.of.seats(g), strict=True):
            grown = row.P + np.diag(np.eye(len(row.m))[0]) * count * row.kind.match_growth**2
            mean.append(X @ row.m)
            covariance.append(X @ grown @ X.T)
        return time, g, [row.games for row in rows], np.array(mean), np.array(covariance)

    def learn(self, time, g):
        M, h, _ = self.of.learn(*self.known(time, g, g.weight))
        for (name, X, _), precision, pull in zip(self.of.seats(g), M, h, strict=True):
            row = self.twin.player(name)
            row.P[0, 0] += g.weight * row.kind.match_growth**2
            row.m, row.P, _ = condition(row.m, row.P, g.weight * X.T @ precision @ X, g.weight * X.T @ pull)
            row.games, row.time = row.games + g.weight, time


class Results:
    """Results and margins of two, after statistics; `twin` is Skills, and an event a game."""

    def __init__(self, twin):
        self.twin = twin

    def seats(self, g):
        met = (g.a, g.category[1], g.side), (g.b, g.category[0], -g.side)
        return [(name, self.loadings(*other), kind) for (name, *other), kind in zip(met, g.kinds, strict=True)]

    def loadings(self, category, side):
        return self.twin.pick(category, side)[None]

    def weight(self, g):
        return g.weight

    def offset(self, time, g, games):
        """What speaks for a beside the parts of players."""
        p = self.twin.p
        side = p.side_advantage + p.side_trend * (time - p.side_since) / 365.25
        a, b = (self.twin.kinds[kind].experience * math.log(1.0 + n) for kind, n in zip(g.kinds, games, strict=True))
        return side * g.side + np.dot(p.weights, g.z) + a - b

    def lead(self, time, g, games, mean, covariance):
        """Mean and variance of the lead of a."""
        return mean[0, 0] - mean[1, 0] + self.offset(time, g, games), covariance[:, 0, 0].sum()

    def learn(self, time, g, games, mean, covariance):
        (d, variance), s, M, h = self.lead(time, g, games, mean, covariance), covariance[:, 0, 0], [], []
        for side, sign, score in ((0, 1.0, g.score), (1, -1.0, 1.0 - g.score)):
            precision, V = self.twin.message(g, s[side], s[1 - side], sign * d, score, sign)
            M.append([[precision]])
            h.append([V + precision * mean[side, 0]])
        return M, h, self.log_chance(g, d, variance)

    def predict(self, *known):
        return [self.twin.chance(*self.lead(*known))]

    def linear(self, time, g, games):
        """Of margins."""
        y = np.sign(g.score - 0.5) * self.points(abs(g.margin)) - self.offset(time, g, games)
        return np.array([[1.0, -1.0]]), [y], np.array([[self.twin.p.noise**2]])

    def points(self, margin):
        p, k = self.twin.p, self.twin.p.compression
        return p.margin_scale * (margin if k is None else k * math.log(1.0 + margin / k))

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
        if self.twin.outcome != "win":
            if g.score == 0.5:
                half = self.points(0.5)
                return math.log(ndtr((half - d) / spread) - ndtr((-half - d) / spread))
            slope = p.margin_scale * (1.0 if k is None else 1.0 / (1.0 + abs(g.margin) / k))
            z = (np.sign(g.score - 0.5) * self.points(abs(g.margin)) - d) / spread
            return math.log(slope * density(z) / spread)
        margin = p.draw_margin
        if margin is None:
            return g.score * log_ndtr(d / spread) + (1.0 - g.score) * log_ndtr(-d / spread)
        if g.score == 0.5:
            return math.log(ndtr((margin - d) / spread) - ndtr((-margin - d) / spread))
        return log_ndtr(((1.0 if g.score > 0.5 else -1.0) * d - margin) / spread)


class Goals(Results):
    """Goals, of lead and paces together. Integrals are sums over fine grids."""

    DIRECTIONS = np.array([[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])  # of strength and pace of both

    def loadings(self, category, side):
        return np.stack([self.twin.pick(category, side), np.eye(len(self.twin.newcomer))[self.twin.pace]])

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
        L, p = 0.5 * Q * np.array([[1.0, 1.0], [-1.0, 1.0]]), self.twin.p
        scatter = (Q * getattr(p, "goal_dispersion", 0.0)) ** 2 * np.eye(2)
        return math.log(p.goal_rate) + L @ both, L @ covariance @ L.T + scatter, L

    def infer(self, g, both, covariance):
        """The log likelihood, and mean and covariance of lead and paces given the goals."""
        logs, C, L = self.log_rates(both, covariance)
        p = self.twin.p
        more = [getattr(p, x, y) for x, y in (("expected_goals_noise", None), ("expected_goals_scale", 1.0))]
        rho = getattr(p, "low_score_dependence", 0.0)
        log, new, spread = posterior(logs, C, lambda rates: log_likelihood(g.goals, g.expected, rates, *more, rho))
        gain = covariance @ L.T @ np.linalg.inv(C)
        return log, both + gain @ (new - logs), covariance + gain @ (spread - C) @ gain.T

    def chances(self, *known):
        """Of win, draw and loss."""
        logs, C, _ = self.log_rates(*self.lead_and_paces(*known)[:2])
        table = scoreline_probabilities(logs, C, getattr(self.twin.p, "low_score_dependence", 0.0))
        return np.array([np.tril(table, -1).sum(), np.trace(table), np.triu(table, 1).sum()])

    def predict(self, *known):
        return [self.chances(*known) @ [1.0, 0.5, 0.0]]


class Points(Goals):
    """Points of both: their margin, and how many they are together."""

    def measured(self, g):
        """Margin and total in rating points, and the variances of their noises."""
        p = self.twin.p
        total = p.margin_scale * (sum(g.goals) - 2.0 * p.point_rate)
        return np.array([np.sign(g.score - 0.5) * self.points(abs(g.margin)), total]), np.diag(
            np.square([p.noise, p.total_noise])
        )

    def infer(self, g, both, covariance):
        y, noise = self.measured(g)
        gain = covariance @ np.linalg.inv(covariance + noise)
        log = self.log_chance(g, both[0], covariance[0, 0]) + math.log(self.twin.p.margin_scale)
        log += log_normal(y[1], both[1], covariance[1, 1] + noise[1, 1])
        return log, both + gain @ (y - both), covariance - gain @ covariance

    def predict(self, *known):
        return Results.predict(self, *known)

    def total(self, *known):
        """Mean and deviation of both sides' points together."""
        both, covariance, *_ = self.lead_and_paces(*known)
        p = self.twin.p
        deviation = math.sqrt(covariance[1, 1] + p.total_noise**2)
        return 2.0 * p.point_rate + both[1] / p.margin_scale, deviation / p.margin_scale

    def linear(self, time, g, games):
        y, noise = self.measured(g)
        return self.DIRECTIONS, y - [self.offset(time, g, games), 0.0], noise


class Contests(TeamSkills):
    """Contests of teams: what is said of strengths [P], one number a participant, on the dense vector of `TeamSkills`.

    `twin` is TeamSkills, and an event a list of participants.
    """

    def __init__(self, twin):
        self.__dict__ |= twin.__dict__
        self.twin, self.newcomer = twin, np.zeros(1)

    def seats(self, contest):
        return [
            (one.player, self.twin.pick(one.category, one.columns.get("side", 0.0))[None], self.kind_of(one))
            for one in contest
        ]

    def weight(self, contest):
        return float(len({one.team for one in contest}) > 1)

    def learn(self, _, contest, games, mean, covariance):
        variance = covariance[:, 0, 0]
        z = self.describe_strengths(contest, mean[:, 0], variance, games)
        log, M, h = self.tell(z, contest), [], []
        for i in range(len(contest)):
            precision, pull = self.quotient(z.mean[i], z.cov[i, i], mean[i, 0], variance[i])
            M.append([[precision]])
            h.append([pull])
        return M, h, log

    def predict(self, _, contest, games, mean, covariance):
        """[P] the shares of the other teams that one's own should beat."""
        return self.shares(contest, self.describe_strengths(contest, mean[:, 0], covariance[:, 0, 0], games))

    def linear(self, _, contest, games):
        """Of points without ties: the differences of neighbours."""
        count = len(contest)
        z = self.describe_strengths(contest, np.zeros(count), np.zeros(count), games)
        order, _ = self.order(z, contest)
        points = {one.team: one.columns["points"] for one in contest}
        a = np.array([z.teams[one] - z.teams[two] for one, two in itertools.pairwise(order)])
        y = [
            self.in_points(abs(points[z.names[one]] - points[z.names[two]]))
            - z.team_constants[one]
            + z.team_constants[two]
            for one, two in itertools.pairwise(order)
        ]
        return a[:, :count], y, a @ z.cov @ a.T

    def in_points(self, margin):
        k = self.p.compression
        return self.margin_scale * (margin if k is None else k * math.log(1.0 + margin / k))

    def describe_strengths(self, contest, mean, variance, games):
        """As `describe`, of contests whose participants have played `games`."""
        names, count = sorted({one.team for one in contest}), len(contest)
        several = [k for k in names if sum(one.team == k for one in contest) > 1 and self.team_noise]
        width = 2 * count + len(several)
        noise = [self.beta**2] * count + [self.team_noise**2] * len(several)
        worth = [self.kinds[self.kind_of(one)].experience for one in contest]
        constants = np.array(worth) * np.log1p(games)
        constants += [sum(worth * one.columns[name] for name, worth in self.covariates.items()) for one in contest]
        teams, team_constants = np.zeros((len(names), width)), np.zeros(len(names))
        for k, name in enumerate(names):
            members = [i for i, one in enumerate(contest) if one.team == name]
            whole = sum(contest[i].weight for i in members)
            for i in members:
                w = contest[i].weight / (whole if self.team_performance == "mean" else 1.0)
                teams[k, i] = teams[k, count + i] = w
                origin = self.p.initial_rating if self.size_advantage is not None else 0.0
                team_constants[k] += w * (constants[i] - origin)
            if self.size_advantage is not None:
                team_constants[k] += self.size_advantage * math.log(whole)
            if name in several:
                teams[k, width - len(several) + several.index(name)] = 1.0
        return SimpleNamespace(
            names=names, mean=np.append(mean, np.zeros(width - count)), cov=np.diag(np.append(variance, noise)),
            rows=np.eye(count, width), constants=constants, teams=teams, team_constants=team_constants,
        )  # fmt: skip

    def order(self, z, contest):
        rank = [next(one.rank for one in contest if one.team == name) for name in z.names]
        return sorted(range(len(rank)), key=lambda k: rank[k]), rank

    def tell(self, z, contest):
        """Statistics, quits and the result, in this order, at z; the log likelihood of all."""
        log = 0.0
        if self.p.statistics:
            log += self.log_density_of_statistics(z, contest)
            self.learn_statistics(z, contest)
        if self.quit_threshold is not None:
            log += self.log_chance_of_quits(z, contest)
            self.learn_quits(z, contest)
        of_result = self.learn_margins if self.outcome == "margin" else self.learn_standing
        return log + of_result(z, contest, *self.order(z, contest))

    def log_density_of_statistics(self, z, contest):
        """Of each participant's own, as if those of the others were not known."""
        total = 0.0
        for i, one in enumerate(contest):
            others = [j for j, other in enumerate(contest) if other.team != one.team]
            a = z.rows[i] - z.rows[others].mean(axis=0)
            mean, variance = a @ z.mean + z.constants[i] - z.constants[others].mean(), a @ z.cov @ a
            for name, (scale, noise) in dict(self.p.statistics).items():
                value, square = scale * one.columns[name], variance + noise**2
                if not math.isnan(value):
                    total += math.log(scale) + log_normal(value, mean, square)
                    mean, variance = mean + variance * (value - mean) / square, variance * noise**2 / square
        return total

    def log_chance_of_quits(self, z, contest):
        total = 0.0
        for i, one in enumerate(contest):
            row = z.rows[i].copy()
            row[len(contest) + i] = 1.0
            lead = (row @ z.mean + z.constants[i] - self.quit_threshold) / math.sqrt(row @ z.cov @ row)
            if not math.isnan(one.columns["quit"]):
                total += log_ndtr(-lead if one.columns["quit"] == 1.0 else lead)
        return total

    def link_chance(self, lead, deviation, margin, tied):
        """The log probability of a link of the standing; without a margin half that of a win and half of a loss."""
        if not tied:
            return log_ndtr((lead - (margin or 0.0)) / deviation)
        if margin is None:
            return 0.5 * (log_ndtr(lead / deviation) + log_ndtr(-lead / deviation))
        return math.log(ndtr((margin - lead) / deviation) - ndtr((-margin - lead) / deviation))

    def learn_standing(self, z, contest, order, rank):
        """Sites of the differences of neighbours; the likelihood has their probabilities in place of their sites."""
        levels, log = self.learn_ties(z, contest, order, rank)
        pairs = [(one, two) for (*_, one), (*_, two) in itertools.pairwise(levels)]
        if not pairs:
            return log
        rows = [one - two for (one, *_), (two, *_) in itertools.pairwise(levels)]
        constants = [one - two for (_, one, _), (_, two, _) in itertools.pairwise(levels)]
        prior, sites = (z.mean, z.cov), np.zeros((len(pairs), 2))

        def told(kept):
            """z after the sites of some links."""
            a = np.array(rows)[kept]
            return condition(*prior, (a.T * sites[kept, 0]) @ a, a.T @ sites[kept, 1])

        def without(k):
            mean, covariance, _ = told([j for j in range(len(pairs)) if j != k])
            return rows[k] @ mean, rows[k] @ covariance @ rows[k]

        def chance(k, of, m, s):
            one, two = pairs[k]
            margin = self.margin_between(contest, z.names[one], z.names[two])
            return of(m + constants[k], math.sqrt(s), margin, rank[one] == rank[two])

        for _ in range(1 if len(order) == 2 else 8 + (len(order) - 1).bit_length()):
            renewed = []
            for k in range(len(pairs)):
                m, s = without(k)
                first, second = chance(k, link_slopes, m, s)
                renewed.append(self.quotient(m + s * first, s + s * s * second, m, s))
            sites = np.array(renewed)
        for k, (M, h) in enumerate(sites):
            m, s = without(k)
            site = condition(np.array([m]), np.array([[s]]), np.array([[M]]), np.array([h]))
            log += chance(k, self.link_chance, m, s) - site[2]
        z.mean, z.cov, integral = told(list(range(len(pairs))))
        return log + integral

    def learn_margins(self, z, contest, order, rank):
        """Neighbour by neighbour, each given those before; of a tie the likelihood is that of less than half a unit."""
        points = self.points_of(z, contest, rank)
        k, log = self.p.compression, 0.0
        for one, two in itertools.pairwise(order):
            tied = rank[one] == rank[two]
            size = 0.0 if tied else abs(points[z.names[one]] - points[z.names[two]])
            a = z.teams[one] - z.teams[two]
            m, s = a @ z.mean + z.team_constants[one] - z.team_constants[two], a @ z.cov @ a
            if tied:
                log += math.log(
                    ndtr((self.in_points(0.5) - m) / math.sqrt(s)) - ndtr((-self.in_points(0.5) - m) / math.sqrt(s))
                )
            else:
                slope = self.margin_scale / (1.0 + (0.0 if k is None else size / k))
                log += math.log(slope) + log_normal(self.in_points(size), m, s)
            gain = z.cov @ a / s
            z.mean, z.cov = z.mean + gain * (self.in_points(size) - m), z.cov - np.outer(gain, a @ z.cov)
        return log
