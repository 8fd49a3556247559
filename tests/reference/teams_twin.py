"""Skills of teams by plain loops: one dense Gaussian of all members of a contest, written from the text of the model.

A contest is a list of participants. The vector z of a contest holds the strength of every participant, the noise of
each performance, and what each team of several adds to its members; a player in several teams has a strength in each,
as if they were several alike. A team performs t = a' z, and all that a contest says is said of differences of these.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
from scipy.special import log_ndtr, ndtr

from tests.reference.skills_twin import Skills, condition, log_normal
from tests.reference.trueskill_twin import moments

OFF = {
    "team_noise": 0.0, "size_advantage": None, "quit_threshold": None, "team_performance": "sum", "covariates": {},
    "margin_scale": 1.0,
}  # fmt: skip


def participant(player, team, rank, weight=1.0, category=0, **columns):
    """One who takes part; `category` is that which they meet, or shares; columns are numbers by name."""
    return SimpleNamespace(player=player, team=team, rank=rank, weight=weight, category=category, columns=columns)


def slopes(lead, deviation, margin, tied):
    """First and second derivative by the lead of log P(difference above the margin, or within it), from moments."""
    mean, variance = moments(lead / deviation, margin / deviation, tied)
    return (mean - lead / deviation) / deviation, (variance - 1.0) / deviation**2


def link_slopes(lead, deviation, margin, tied):
    """The same of a link of the standing; without a margin a tie of two is half a win and half a loss."""
    if margin is not None or not tied:
        return slopes(lead, deviation, margin or 0.0, tied)
    win, loss = slopes(lead, deviation, 0.0, False), slopes(-lead, deviation, 0.0, False)
    return 0.5 * (win[0] - loss[0]), 0.5 * (win[1] + loss[1])


class TeamSkills(Skills):
    """Players age as those of matches do."""

    def __init__(self, outcome, **params):
        own = {name: params.pop(name, value) for name, value in OFF.items()}
        super().__init__(outcome, **params)
        self.__dict__ |= own
        self.beta = self.p.noise / math.sqrt(2.0)

    def kind_of(self, one):
        return int(one.columns["kind"]) if len(self.kinds) > 1 else 0

    def margin_between(self, contest, one, other):
        if self.p.draw_margin is None:
            return None
        sizes = [float(sum(x.team == name for x in contest)) for name in (one, other)]
        if self.team_performance == "mean":
            sizes = [1.0 / x for x in sizes]
        return self.p.draw_margin * math.sqrt(sum(sizes) / 2.0)

    def shares(self, contest, z):
        """[P] the share of the other teams that one's own should beat."""
        lead, shares = z.teams @ z.mean + z.team_constants, {}
        for k, name in enumerate(z.names):
            total = 0.0
            for j, other in enumerate(z.names):
                if j != k:
                    a = z.teams[k] - z.teams[j]
                    spread, margin = math.sqrt(a @ z.cov @ a), self.margin_between(contest, name, other) or 0.0
                    d = lead[k] - lead[j]
                    total += 0.5 * (ndtr((d - margin) / spread) + ndtr((d + margin) / spread))
            shares[name] = total / (len(z.names) - 1) if len(z.names) > 1 else 0.5
        return [shares[one.team] for one in contest]

    @staticmethod
    def quotient(mean, variance, prior_mean, prior_variance):
        return 1.0 / variance - 1.0 / prior_variance, mean / variance - prior_mean / prior_variance

    @staticmethod
    def times(z, rows, messages):
        """z after messages (precision, precision times mean) about rows' z."""
        rows, (one, two) = np.array(rows), np.transpose(messages)
        z.mean, z.cov, _ = condition(z.mean, z.cov, (one * rows.T) @ rows, two @ rows)

    def learn_statistics(self, z, contest):
        """Of each participant's own, as if those of the others were not known; the log likelihood."""
        messages, log = [], 0.0
        for i, one in enumerate(contest):
            others = [j for j, other in enumerate(contest) if other.team != one.team]
            a, row, mean, cov = z.rows[i] - z.rows[others].mean(axis=0), z.rows[i], z.mean, z.cov
            constant = z.constants[i] - z.constants[others].mean()
            for name, (scale, noise) in dict(self.p.statistics).items():
                value, m, square = scale * one.columns[name] - constant, a @ mean, a @ cov @ a + noise**2
                if not math.isnan(value):
                    log += math.log(scale) + log_normal(value, m, square)
                    gain = cov @ a / square
                    mean, cov = mean + gain * (value - m), cov - np.outer(gain, a @ cov)
            messages.append(self.quotient(row @ mean, row @ cov @ row, row @ z.mean, row @ z.cov @ row))
        self.times(z, z.rows, messages)
        return log

    def learn_quits(self, z, contest):
        messages, rows, log = [], [], 0.0
        for i, one in enumerate(contest):
            if math.isnan(one.columns["quit"]):
                continue
            row = z.rows[i].copy()
            row[len(contest) + i] = 1.0  # and the noise of the performance
            m, s = row @ z.mean, row @ z.cov @ row
            sign = -1.0 if one.columns["quit"] == 1.0 else 1.0
            lead = sign * (m + z.constants[i] - self.quit_threshold)
            first, second = slopes(lead, math.sqrt(s), 0.0, False)
            messages.append(self.quotient(m + sign * s * first, s + s * s * second, m, s))
            rows.append(row)
            log += log_ndtr(lead / math.sqrt(s))
        if rows:
            self.times(z, rows, messages)
        return log

    def learn_ties(self, z, contest, order, rank):
        """The row of z, the constant and a team of each level of a standing, from the best on; the log chance of ties.

        Without a draw margin, and of more than two teams, those who tie perform about a level that they share: each is
        ahead of it by a normal variable, of which z gets that of the first of them.
        """
        levels, log = [], 0.0
        groups = [[*x] for _, x in itertools.groupby(order, key=lambda k: rank[k])]
        if self.p.draw_margin is not None or len(order) == 2:
            groups = [[k] for k in order]
        for first, *others in groups:
            levels.append((z.teams[first], z.team_constants[first], first))
            if not others:
                continue
            sizes = [float(sum(x.team == z.names[k] for x in contest)) for k in (first, *others)]
            sizes = np.array(sizes) ** (-1.0 if self.team_performance == "mean" else 1.0)
            own, *spread = (0.5 * math.pi - 1.0) * self.beta**2 * sizes
            z.mean, z.teams, z.rows = (np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, 1)]) for x in (z.mean, z.teams, z.rows))
            z.cov = np.pad(z.cov, (0, 1))
            z.cov[-1, -1] = own
            level = z.teams[first] + np.eye(len(z.mean))[-1]
            ahead = z.teams[others] - level
            lead = ahead @ z.mean + z.team_constants[others] - z.team_constants[first]
            square = ahead @ z.cov @ ahead.T + np.diag(spread)
            gain = z.cov @ ahead.T @ np.linalg.inv(square)
            log -= 0.5 * (lead @ np.linalg.solve(square, lead) + np.linalg.slogdet(square)[1])
            log += 0.5 * np.linalg.slogdet(np.diag(spread) + own)[1]
            z.mean, z.cov = z.mean - gain @ lead, z.cov - gain @ ahead @ z.cov
            levels[-1] = level, z.team_constants[first], first
        width = len(z.mean)
        return [(np.pad(row, (0, width - len(row))), *x) for row, *x in levels], log

    def points_of(self, z, contest, rank):
        """By team; the mean of those who tie."""
        points = {one.team: one.columns["points"] for one in contest}
        own = dict(zip(z.names, rank, strict=True))
        return {x: np.mean([points[y] for y in z.names if own[x] == own[y]]) for x in z.names}

    def seats(self, contest):
        return [
            (one.player, self.pick(one.category, one.columns.get("side", 0.0))[None], self.kind_of(one))
            for one in contest
        ]

    def weight(self, contest):
        return float(len({one.team for one in contest}) > 1)

    def learn(self, _, contest, games, mean, covariance):
        variance = covariance[:, 0, 0]
        z = self.describe(contest, mean[:, 0], variance, games)
        log, M, h = self.tell(z, contest), [], []
        for i in range(len(contest)):
            precision, pull = self.quotient(z.mean[i], z.cov[i, i], mean[i, 0], variance[i])
            M.append([[precision]])
            h.append([pull])
        return M, h, log

    def predict(self, _, contest, games, mean, covariance):
        """[P] the shares of the other teams that one's own should beat."""
        return self.shares(contest, self.describe(contest, mean[:, 0], covariance[:, 0, 0], games))

    def linear(self, _, contest, games):
        """Of points without ties: the differences of neighbours."""
        count = len(contest)
        z = self.describe(contest, np.zeros(count), np.zeros(count), games)
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

    def describe(self, contest, mean, variance, games):
        """The prior of z, each team's row a and constant, and each participant's row and constant."""
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
            log += self.learn_statistics(z, contest)
        if self.quit_threshold is not None:
            log += self.learn_quits(z, contest)
        of_result = self.learn_margins if self.outcome == "margin" else self.learn_standing
        return log + of_result(z, contest, *self.order(z, contest))

    def link_chance(self, lead, deviation, margin, tied):
        """The log probability of a link of the standing; without a margin half that of a win and half of a loss."""
        if not tied:
            return log_ndtr((lead - (margin or 0.0)) / deviation)
        if margin is None:
            return 0.5 * (log_ndtr(lead / deviation) + log_ndtr(-lead / deviation))
        high, low = (log_ndtr((x - abs(lead)) / deviation) for x in (margin, -margin))
        return high + math.log1p(-math.exp(low - high))

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
