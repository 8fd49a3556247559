"""Skills of teams by plain loops: one dense Gaussian of all members of a contest, written from the text of the model.

A contest is a list of participants. The vector z of a contest holds theta of every participant, the noise of each
performance, and what each team of several adds to its members; a player in several teams has a theta for each, as if
they were several alike. A team performs t = a' z, and all that a contest says is said of differences of these.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
from scipy.special import ndtr

from tests.reference.skills_twin import Skills
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

    def age(self, contest, time):
        for row in [self.player(*x) for x in {(one.player, self.kind_of(one)) for one in contest}]:
            if row.time is not None:
                self.pass_time(row, row.time, time)
                self.pass_seasons(row, row.time, time)

    def kind_of(self, one):
        return int(one.columns["kind"]) if len(self.kinds) > 1 else 0

    def describe(self, contest):
        """The prior of z, each team's row a and constant, and each participant's row x of theta and constant."""
        names = sorted({one.team for one in contest})
        size = len(self.newcomer)
        several = [k for k in names if sum(one.team == k for one in contest) > 1 and self.team_noise]
        count = len(contest)
        width = count * (size + 1) + len(several)
        mean, cov = np.zeros(width), np.zeros((width, width))
        rows, constants = np.zeros((count, width)), np.zeros(count)
        for i, one in enumerate(contest):
            row, place = self.player(one.player), slice(i * size, (i + 1) * size)
            mean[place], cov[place, place] = row.m, row.P
            cov[i * size, i * size] += row.kind.match_growth**2
            cov[count * size + i, count * size + i] = self.beta**2
            rows[i, place] = self.pick(one.category, one.columns.get("side", 0.0))
            constants[i] = row.kind.experience * math.log(1.0 + row.games)
            constants[i] += sum(worth * one.columns[name] for name, worth in self.covariates.items())
        for j in range(len(several)):
            cov[width - len(several) + j, width - len(several) + j] = self.team_noise**2
        teams = np.zeros((len(names), width))
        team_constants = np.zeros(len(names))
        for k, name in enumerate(names):
            members = [i for i, one in enumerate(contest) if one.team == name]
            whole = sum(contest[i].weight for i in members)
            for i in members:
                w = contest[i].weight / (whole if self.team_performance == "mean" else 1.0)
                teams[k] += w * rows[i]
                teams[k, count * size + i] = w
                origin = self.p.initial_rating if self.size_advantage is not None else 0.0
                team_constants[k] += w * (constants[i] - origin)
            if self.size_advantage is not None:
                team_constants[k] += self.size_advantage * math.log(whole)
            if name in several:
                teams[k, width - len(several) + several.index(name)] = 1.0
        return SimpleNamespace(
            names=names, mean=mean, cov=cov, rows=rows, constants=constants, teams=teams, team_constants=team_constants
        )

    def margin_between(self, contest, one, other):
        if self.p.draw_margin is None:
            return None
        sizes = [float(sum(x.team == name for x in contest)) for name in (one, other)]
        if self.team_performance == "mean":
            sizes = [1.0 / x for x in sizes]
        return self.p.draw_margin * math.sqrt(sum(sizes) / 2.0)

    def shares(self, contest, z=None):
        """[P] the share of the other teams that one's own should beat, by `describe` if not given."""
        z = self.describe(contest) if z is None else z
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

    def own_message(self, z, row, observations):
        """Precision and precision times mean of what dense observations (a, value, variance) say of row' z."""
        mean, cov = z.mean, z.cov
        for a, value, variance in observations:
            gain = cov @ a / (a @ cov @ a + variance)
            mean = mean + gain * (value - a @ mean)
            cov = cov - np.outer(gain, a @ cov)
        return self.quotient(row @ mean, row @ cov @ row, row @ z.mean, row @ z.cov @ row)

    @staticmethod
    def quotient(mean, variance, prior_mean, prior_variance):
        return 1.0 / variance - 1.0 / prior_variance, mean / variance - prior_mean / prior_variance

    @staticmethod
    def times(z, rows, messages):
        """z after messages (precision, precision times mean) about rows' z, by precision matrices."""
        rows, (one, two) = np.reshape(rows, (-1, len(z.mean))), np.reshape(messages, (-1, 2)).T
        precision = np.linalg.inv(z.cov)
        total = precision @ z.mean + two @ rows
        z.cov = np.linalg.inv(precision + (one * rows.T) @ rows)
        z.mean = z.cov @ total

    def learn_statistics(self, z, contest):
        messages = []
        for i, one in enumerate(contest):
            others = [j for j, other in enumerate(contest) if other.team != one.team]
            a = z.rows[i] - z.rows[others].mean(axis=0)
            constant = z.constants[i] - z.constants[others].mean()
            seen = [
                (a, scale * one.columns[name] - constant, noise**2)
                for name, (scale, noise) in dict(self.p.statistics).items()
                if not math.isnan(one.columns[name])
            ]
            messages.append(self.own_message(z, z.rows[i], seen))
        self.times(z, z.rows, messages)

    def learn_quits(self, z, contest):
        messages, rows = [], []
        for i, one in enumerate(contest):
            row = z.rows[i].copy()
            row[len(contest) * len(self.newcomer) + i] = 1.0  # and the noise of the performance
            m, s = row @ z.mean, row @ z.cov @ row
            sign = -1.0 if one.columns["quit"] == 1.0 else 1.0
            lead = sign * (m + z.constants[i] - self.quit_threshold)
            first, second = slopes(lead, math.sqrt(s), 0.0, False)
            message = self.quotient(m + sign * s * first, s + s * s * second, m, s)
            messages.append((0.0, 0.0) if math.isnan(one.columns["quit"]) else message)
            rows.append(row)
        self.times(z, rows, messages)

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

    def learn_order(self, z, contest, order, rank):
        """Expectation propagation: all sites of differences are renewed at once, as often as the library does."""
        levels, _ = self.learn_ties(z, contest, order, rank)
        pairs = [(one, two) for (*_, one), (*_, two) in itertools.pairwise(levels)]
        rows = [one - two for (one, *_), (two, *_) in itertools.pairwise(levels)]
        constants = [one - two for (_, one, _), (_, two, _) in itertools.pairwise(levels)]
        prior = SimpleNamespace(mean=z.mean, cov=z.cov)
        sites = [(0.0, 0.0)] * len(pairs)
        for _ in range(1 if len(order) == 2 else 8 + (len(order) - 1).bit_length()):
            renewed = []
            for k, (one, two) in enumerate(pairs):
                joint = SimpleNamespace(mean=prior.mean, cov=prior.cov)
                others = [j for j in range(len(pairs)) if j != k]
                self.times(joint, [rows[j] for j in others], [sites[j] for j in others])
                m, s = rows[k] @ joint.mean, rows[k] @ joint.cov @ rows[k]
                margin = self.margin_between(contest, z.names[one], z.names[two])
                first, second = link_slopes(m + constants[k], math.sqrt(s), margin, rank[one] == rank[two])
                renewed.append(self.quotient(m + s * first, s + s * s * second, m, s))
            sites = renewed
        self.times(z, rows, sites)

    def points_of(self, z, contest, rank):
        """By team; the mean of those who tie."""
        points = {one.team: one.columns["points"] for one in contest}
        own = dict(zip(z.names, rank, strict=True))
        return {x: np.mean([points[y] for y in z.names if own[x] == own[y]]) for x in z.names}

    def learn_points(self, z, contest, order, rank):
        """Differences of neighbours are what they are: a dense Kalman update of all at once, without further noise."""
        points = self.points_of(z, contest, rank)
        k = self.p.compression
        rows, values = [], []
        for one, two in itertools.pairwise(order):
            y = abs(points[z.names[one]] - points[z.names[two]]) * (rank[one] != rank[two])
            y = self.margin_scale * (y if k is None else k * math.log(1.0 + y / k))
            rows.append(z.teams[one] - z.teams[two])
            values.append(y - z.team_constants[one] + z.team_constants[two])
        a = np.array(rows)
        gain = z.cov @ a.T @ np.linalg.inv(a @ z.cov @ a.T)
        z.mean, z.cov = z.mean + gain @ (np.array(values) - a @ z.mean), z.cov - gain @ a @ z.cov

    def contest(self, time, contest):
        """[P] the shares expected of a contest, which is then learnt from."""
        self.age(contest, time)
        guess = self.shares(contest)
        z = self.describe(contest)
        for row in (self.player(one.player) for one in contest):
            row.time = row.time if row.time is None and len(z.names) == 1 else time
        if len(z.names) == 1:
            return guess
        before, size = (z.mean, z.cov), len(self.newcomer)
        if self.p.statistics:
            self.learn_statistics(z, contest)
        if self.quit_threshold is not None:
            self.learn_quits(z, contest)
        rank = [next(one.rank for one in contest if one.team == name) for name in z.names]
        order = sorted(range(len(rank)), key=lambda k: rank[k])
        learn = self.learn_points if self.outcome == "margin" else self.learn_order
        learn(z, contest, order, rank)
        for name in {one.player for one in contest}:
            seats = [slice(i * size, (i + 1) * size) for i, one in enumerate(contest) if one.player == name]
            prior = np.linalg.inv(before[1][seats[0], seats[0]])
            own = [np.linalg.inv(z.cov[s, s]) for s in seats]
            precision = prior + sum(x - prior for x in own)
            total = prior @ before[0][seats[0]]
            total = total + sum(x @ z.mean[s] - total for x, s in zip(own, seats, strict=True))
            row = self.player(name)
            row.P = np.linalg.inv(precision)
            row.m = row.P @ total
            row.games += 1.0
        return guess
