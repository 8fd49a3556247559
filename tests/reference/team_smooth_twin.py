"""Contests of teams with hindsight by plain loops: a dense Gaussian for each player's history and for each contest.

As in `smooth_twin`, a site is what a contest says of x^T theta of a participant, and each contest is told again by what
all other sites say of its participants. What it says then is computed on the dense vector of `teams_twin`: a strength
and the noise of every participant, and what each team adds. A player in several teams has a site in each.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
from scipy.special import log_ndtr, ndtr

from tests.reference.smooth_twin import Smoother
from tests.reference.teams_twin import TeamSkills, link_slopes


def log_normal(x, mean, variance):
    return -0.5 * (math.log(2.0 * math.pi * variance) + (x - mean) ** 2 / variance)


def log_site_integral(mean, variance, site):
    """The logarithm of the integral of exp(h z - I z^2 / 2) over N(mean, variance)."""
    precision, pull = site
    ratio = 1.0 + variance * precision
    surprise = pull - precision * mean
    peak = mean * (pull - 0.5 * precision * mean)
    return peak + 0.5 * (surprise**2 * variance / ratio - math.log(ratio))


class Contest(TeamSkills):
    """What is said of strengths s [P], one number a participant, which are believed to be N(mean, diag(variance))."""

    def __init__(self, twin):
        self.__dict__ |= twin.__dict__
        self.newcomer = np.zeros(1)

    def describe_strengths(self, contest, mean, variance, games):
        """As `describe`, of contests whose participants have played `games`."""
        names, count = sorted({one.team for one in contest}), len(contest)
        several = [k for k in names if sum(one.team == k for one in contest) > 1 and self.team_noise]
        width = 2 * count + len(several)
        noise = [self.beta**2] * count + [self.team_noise**2] * len(several)
        constants = np.array([self.kinds[0].experience * math.log(1.0 + n) for n in games])
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

    def learn(self, z, contest):
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
        prior, sites = (z.mean, z.cov), [(0.0, 0.0)] * len(pairs)

        def without(k):
            joint = SimpleNamespace(mean=prior[0], cov=prior[1])
            others = [j for j in range(len(pairs)) if j != k]
            self.times(joint, [rows[j] for j in others], [sites[j] for j in others])
            return rows[k] @ joint.mean, rows[k] @ joint.cov @ rows[k]

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
            sites = renewed
        for k in range(len(pairs)):
            m, s = without(k)
            log += chance(k, self.link_chance, m, s) - log_site_integral(m, s, sites[k])
        A, h, sites = np.array(rows), np.array([x for _, x in sites]), np.diag([x for x, _ in sites])
        self.times(z, rows, [(sites[k, k], h[k]) for k in range(len(pairs))])
        information, pull = A.T @ sites @ A, A.T @ h
        surprise = pull - information @ prior[0]
        log += pull @ prior[0] - 0.5 * prior[0] @ information @ prior[0] + 0.5 * surprise @ z.cov @ surprise
        return log - 0.5 * np.linalg.slogdet(np.eye(len(h)) + sites @ A @ prior[1] @ A.T)[1]

    def learn_margins(self, z, contest, order, rank):
        """Neighbour by neighbour, each given those before; of a tie the likelihood is that of less than half a unit."""
        points = self.points_of(z, contest, rank)
        k, log = self.p.compression, 0.0

        def in_points(y):
            return self.margin_scale * (y if k is None else k * math.log(1.0 + y / k))

        for one, two in itertools.pairwise(order):
            tied = rank[one] == rank[two]
            size = 0.0 if tied else abs(points[z.names[one]] - points[z.names[two]])
            a = z.teams[one] - z.teams[two]
            m, s = a @ z.mean + z.team_constants[one] - z.team_constants[two], a @ z.cov @ a
            if tied:
                log += math.log(ndtr((in_points(0.5) - m) / math.sqrt(s)) - ndtr((-in_points(0.5) - m) / math.sqrt(s)))
            else:
                slope = self.margin_scale / (1.0 + (0.0 if k is None else size / k))
                log += math.log(slope) + log_normal(in_points(size), m, s)
            gain = z.cov @ a / s
            z.mean, z.cov = z.mean + gain * (in_points(size) - m), z.cov - np.outer(gain, a @ z.cov)
        return log


class TeamSmoother(Smoother):
    """`twin` is TeamSkills, `contests` a list of (time, [participant]) in order of time.

    A node's `match` is the row of the participant, and its side is 0.
    """

    def __init__(self, twin, contests):
        self.twin, self.contests, self.nodes, self.rows = twin, contests, {}, []
        self.games, self.games_before = [x for _, contest in contests for x in contest], []
        played = {}
        for time, contest in contests:
            first, learns = len(self.games_before), len({one.team for one in contest}) > 1
            self.rows.append(range(first, first + len(contest)))
            seen = set()
            for row, one in zip(self.rows[-1], contest, strict=True):
                self.games_before.append(played.get(one.player, 0.0))
                added = twin.kinds[0].match_growth ** 2 * (learns and one.player not in seen)
                x = twin.pick(one.category, one.columns.get("side", 0.0))
                node = SimpleNamespace(match=row, side=0, x=x, time=time, added=added, learns=learns)
                self.nodes.setdefault(one.player, []).append(node)
                seen.add(one.player)
            for name in seen:
                played[name] = played.get(name, 0.0) + learns
        for nodes in self.nodes.values():  # no time passes for newcomers
            begin = next((node.time for node in nodes if node.learns), 0.0)
            for node in itertools.takewhile(lambda node: not node.learns, nodes):
                node.time = begin
        self.site = np.zeros((len(self.games), 1, 2))
        self.told = Contest(twin)

    def strengths(self, without_contest=False):
        """[n] means and variances of x^T theta, of all but the participant's own site, or all those of the contest."""
        mean, variance = np.zeros((2, len(self.games)))
        contest = np.repeat(np.arange(len(self.rows)), [len(x) for x in self.rows])
        D = len(self.twin.newcomer)
        for name, nodes in self.nodes.items():
            prior = self.prior(name)
            for t, node in enumerate(nodes):
                others = [k for k, x in enumerate(nodes) if contest[x.match] == contest[node.match]]
                m, P, _ = self.posterior(name, others if without_contest else [t], prior)
                here = slice(t * D, (t + 1) * D)
                mean[node.match], variance[node.match] = node.x @ m[here], node.x @ P[here, here] @ node.x
        return mean, variance

    def contests_at(self, mean, variance):
        """Each contest of two teams or more, its rows, and z at these strengths."""
        for rows, (_, contest) in zip(self.rows, self.contests, strict=True):
            if len({one.team for one in contest}) > 1:
                games = [self.games_before[i] for i in rows]
                yield rows, contest, self.told.describe_strengths(contest, mean[rows], variance[rows], games)

    def sweep(self, damping=1.0):
        mean, variance = self.strengths()
        new = np.zeros_like(self.site)
        for rows, contest, z in self.contests_at(mean, variance):
            self.told.learn(z, contest)
            for i, row in enumerate(rows):
                new[row, 0] = self.told.quotient(z.mean[i], z.cov[i, i], mean[row], variance[row])
        step = damping * (new - self.site)
        self.site = self.site + step
        return np.max(np.abs(step) / np.max(np.abs(self.site), axis=(0, 1)))

    def shares(self):
        """[n] the shares of the other teams that one's own should beat, given all other contests."""
        shares = np.full(len(self.games), 0.5)
        for rows, contest, z in self.contests_at(*self.strengths(without_contest=True)):
            own = self.told
            described, own.describe = own.describe, lambda _, z=z: z
            shares[rows] = own.shares(contest)
            own.describe = described
        return shares

    def evidence(self):
        mean, variance = self.strengths()
        total = sum(self.posterior(name)[2] for name in self.nodes)
        for rows, contest, z in self.contests_at(mean, variance):
            total += self.told.learn(z, contest)
            total -= sum(log_site_integral(mean[i], variance[i], self.site[i, 0]) for i in rows)
        return total

    def parts(self):
        """[n, D] means and variances of what is believed of theta, given everything."""
        D = len(self.twin.newcomer)
        mean, variance = np.zeros((2, len(self.games), D))
        for name, nodes in self.nodes.items():
            m, P, _ = self.posterior(name)
            for t, node in enumerate(nodes):
                here = slice(t * D, (t + 1) * D)
                mean[node.match], variance[node.match] = m[here], np.diag(P)[here]
        return mean, variance


def dense(smoother):
    """The exact posterior of all players at all their contests, where these have points without ties.

    Means [n, D], variances [n, D], and the log density of all differences of neighbours, in rating points.
    """
    D, at, size = len(smoother.twin.newcomer), {}, 0
    for nodes in smoother.nodes.values():
        for t, node in enumerate(nodes):
            at[node.match] = slice(size + t * D, size + (t + 1) * D)
        size += len(nodes) * D
    m, S = np.zeros(size), np.zeros((size, size))
    for name, nodes in smoother.nodes.items():
        first = at[nodes[0].match].start
        own = slice(first, first + len(nodes) * D)
        m[own], S[own, own], _ = smoother.prior(name)
    x = {node.match: node.x for nodes in smoother.nodes.values() for node in nodes}
    rows, values, noises = [], [], []
    count = len(smoother.games)
    k = smoother.twin.p.compression
    for which, contest, z in smoother.contests_at(np.zeros(count), np.ones(count)):
        order, _ = smoother.told.order(z, contest)
        points = {one.team: one.columns["points"] for one in contest}
        spread = np.diag(z.cov).copy()
        spread[: len(contest)] = 0.0
        differences = np.array([z.teams[one] - z.teams[two] for one, two in itertools.pairwise(order)])
        noises.append(differences @ np.diag(spread) @ differences.T)
        for a, (one, two) in zip(differences, itertools.pairwise(order), strict=True):
            row = np.zeros(size)
            for i, participation in enumerate(which):
                row[at[participation]] += a[i] * x[participation]
            y = abs(points[z.names[one]] - points[z.names[two]])
            y = smoother.twin.margin_scale * (y if k is None else k * math.log(1.0 + y / k))
            rows.append(row)
            values.append(y - z.team_constants[one] + z.team_constants[two])
    H, R = np.array(rows), np.zeros((len(rows),) * 2)
    place = 0
    for noise in noises:
        R[place : place + len(noise), place : place + len(noise)] = noise
        place += len(noise)
    surprise, spread = np.array(values) - H @ m, H @ S @ H.T + R
    gain = S @ H.T @ np.linalg.inv(spread)
    mean, variance = m + gain @ surprise, np.diag(S - gain @ H @ S)
    log = -0.5 * (surprise @ np.linalg.solve(spread, surprise) + np.linalg.slogdet(2 * np.pi * spread)[1])
    return (*(np.array([x[at[i]] for i in range(count)]) for x in (mean, variance)), log)
