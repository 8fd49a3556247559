"""Skills by plain loops: dense matrices, one game at a time, every formula as it is written, with SciPy's normal law.

A history is a list of (time, games). A single match is a period of one game that takes no time (`duration`).
"""

import math
from types import SimpleNamespace

import numpy as np
from scipy.special import log_ndtr, ndtr

Q = math.log(10.0) / 400.0
OFF = {
    "match_growth": 0.0, "reversion": math.inf, "season_keep": 1.0, "season_growth": 0.0, "experience": 0.0,
    "draw_margin": None, "side_advantage": 0.0, "compression": None, "modifier_growth": 0.0, "own_side_growth": 0.0,
    "initial_modifier_deviation": 0.0, "initial_own_side_deviation": 0.0, "deviation_max": None, "weights": (),
    "side_since": 0.0, "side_trend": 0.0, "statistics": (), "form_deviation": None, "form_reversion": None,
    "initial_pace_deviation": None, "pace_growth": 0.0,
}  # fmt: skip


def game(
    a, b, score, side=0.0, weight=1.0, category=(0, 0), z=(), margin=0.0, kinds=(0, 0), season=None, statistics=()
):
    """A game of a against b; `category` is that of each, which the other meets, or their shares; `kinds` theirs.

    `statistics` are by how much a was ahead in each, NaN where it is missing.
    """
    known = {"score": score, "side": side, "weight": weight, "category": category, "z": z, "margin": margin}
    return SimpleNamespace(a=a, b=b, kinds=kinds, season=season, statistics=statistics, **known)


def hazard(z):
    """phi(z) / Phi(z)."""
    return math.exp(-0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - log_ndtr(z))


def density(z):
    return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


def log_normal(x, mean, variance):
    return -0.5 * (math.log(2.0 * math.pi * variance) + (x - mean) ** 2 / variance)


def condition(mean, covariance, M, h):
    """A normal law times exp(h z - z M z / 2), and the logarithm of the integral."""
    unit = np.eye(len(mean))
    after, V = covariance @ np.linalg.inv(unit + M @ covariance), h - M @ mean
    log = h @ mean - 0.5 * mean @ M @ mean + 0.5 * V @ after @ V - 0.5 * np.linalg.slogdet(unit + M @ covariance)[1]
    return mean + after @ V, after, log


class Skills:
    """Players, and what results and margins of two say of them, after statistics."""

    def __init__(self, outcome, categories=1, own_side=False, seasons=(), period=7.0, duration=0.0, **params):
        self.outcome, self.categories, self.own_side, self.seasons = outcome, categories, own_side, seasons
        self.p = SimpleNamespace(**(OFF | params))
        self.period, self.duration = period, duration
        p = self.p
        parts = [(p.initial_deviation, p.growth)]
        if categories > 1:
            parts += [(p.initial_modifier_deviation, p.modifier_growth)] * categories
        if own_side:
            parts += [(p.initial_own_side_deviation, p.own_side_growth)]
        self.pace = len(parts) if p.initial_pace_deviation is not None else None  # its place
        if self.pace is not None:
            parts += [(p.initial_pace_deviation, p.pace_growth)]
        if p.form_deviation is not None:
            parts += [(p.form_deviation, 0.0)]
        self.newcomer = np.zeros(len(parts))
        self.newcomer[0] = p.initial_rating
        self.kinds = [self.kind(parts, p.initial_deviation, p.growth, p.match_growth, p.experience)]
        if "second_kind_growth" in params:
            own = "initial_deviation", "growth", "match_growth", "experience"
            self.kinds.append(self.kind(parts, *(params.get(f"second_kind_{x}", getattr(p, x)) for x in own)))
        self.players = {}

    def kind(self, parts, deviation, growth, match_growth, experience):
        initial = np.array([x**2 for x, _ in [(deviation, growth), *parts[1:]]])
        highest = initial.copy()
        if self.p.deviation_max is not None:
            highest[0] = self.p.deviation_max**2
        growth = np.array([x**2 for _, x in [(deviation, growth), *parts[1:]]])
        worth = {"match_growth": match_growth, "experience": experience}
        return SimpleNamespace(initial=initial, growth=growth, highest=highest, **worth)

    def player(self, name, kind=0):
        if name not in self.players:
            own = self.kinds[kind]
            self.players[name] = SimpleNamespace(
                m=self.newcomer.copy(), P=np.diag(own.initial), games=0.0, time=None, kind=own, season=None
            )
        return self.players[name]

    def pass_time(self, one, since, until):
        """Growth and reversion by the clock."""
        periods = max(until - since, 0.0) / self.period
        keep = math.exp(-periods * self.period / self.p.reversion)
        if keep < 1.0:
            tau = self.p.reversion / self.period
            added = one.kind.growth * tau / 2.0 * (1.0 - keep**2)
        else:
            added = one.kind.growth * periods
        K = keep * np.eye(len(self.newcomer))
        if self.p.form_deviation is not None:  # stationary, so that a variance at its highest stays there
            K[-1, -1] = math.exp(-periods * self.period / self.p.form_reversion)
            added = np.append(added[:-1], self.p.form_deviation**2 * (1.0 - K[-1, -1] ** 2))
        one.m = self.newcomer + K @ (one.m - self.newcomer)
        one.P = K @ one.P @ K.T
        room = np.maximum(one.kind.highest - np.diag(one.P), 0.0)
        one.P = one.P + np.diag(np.minimum(added, room))

    def pass_seasons(self, one, since, until):
        for start in self.seasons:
            if since < start <= until:
                self.begin_season(one)

    def begin_season(self, one):
        keep = self.p.season_keep
        one.m = self.newcomer + keep * (one.m - self.newcomer)
        one.P = keep**2 * one.P
        room = max(one.kind.highest[0] - one.P[0, 0], 0.0)
        one.P[0, 0] += min(self.p.season_growth**2, room)

    def pick(self, met, side):
        x = [1.0]
        if self.categories > 1:
            x += list(met) if np.ndim(met) else [float(c == met) for c in range(self.categories)]
        x += [side] * self.own_side + [0.0] * (self.pace is not None)
        return np.array(x + [1.0] * (self.p.form_deviation is not None))

    def chance(self, d, variance):
        """The expected score of who is expected to be ahead by d, of this variance."""
        if self.outcome == "logistic":
            return 1.0 / (1.0 + math.exp(-Q * d / math.sqrt(1.0 + 3.0 * Q**2 * variance / math.pi**2)))
        spread, margin = math.sqrt(self.p.noise**2 + variance), self.p.draw_margin or 0.0
        return 0.5 * (ndtr((d - margin) / spread) + ndtr((d + margin) / spread))

    def message(self, g, mine, theirs, d, score, sign=1.0):
        """Precision and precision times (mean less prior mean) of what a game says of x^T theta of one player.

        `sign` is that of statistics, which are from the view of a.
        """
        if self.outcome == "logistic":
            attenuation = 1.0 / math.sqrt(1.0 + 3.0 * Q**2 * theirs / math.pi**2)
            expected = 1.0 / (1.0 + math.exp(-attenuation * Q * d))
            return (Q * attenuation) ** 2 * expected * (1.0 - expected), Q * attenuation * (score - expected)
        m, P, h = np.zeros(2), np.diag([mine, theirs]), np.array([1.0, -1.0])  # of both x^T theta, ahead of the prior
        for z, (scale, noise) in zip(g.statistics, self.p.statistics, strict=True):
            if not math.isnan(z):
                gain = P @ h / (h @ P @ h + noise**2)
                m = m + gain * (sign * scale * z - (d + h @ m))
                P = P - np.outer(gain, h @ P)
        first, second = self.slopes(g, d + h @ m, h @ P @ h, score)
        m, P = (
            m + P @ h * first,
            P + np.outer(P @ h, h @ P) * second,
        )  # the moments matched; then the prior is taken out
        return 1.0 / P[0, 0] - 1.0 / mine, m[0] / P[0, 0]

    def slopes(self, g, d, variance, score):
        """First and second derivative by d of the log chance of the result, where d has this variance."""
        if self.outcome == "margin":
            y, k = abs(g.margin), self.p.compression
            y = self.p.margin_scale * (y if k is None else k * math.log(1.0 + y / k)) * np.sign(score - 0.5)
            variance = self.p.noise**2 + variance
            return (y - d) / variance, -1.0 / variance
        spread, margin = math.sqrt(self.p.noise**2 + variance), self.p.draw_margin
        if margin is None:  # log Z = score log Phi(z) + (1 - score) log Phi(-z)
            z = d / spread
            first = (score * hazard(z) - (1.0 - score) * hazard(-z)) / spread
            win, loss = hazard(z) * (hazard(z) + z), hazard(-z) * (hazard(-z) - z)
            second = -(score * win + (1.0 - score) * loss) / spread**2
        elif score == 0.5:  # log Z = log(Phi(u) - Phi(l))
            u, low = (margin - d) / spread, (-margin - d) / spread
            mass = ndtr(u) - ndtr(low)
            slope = -(density(u) - density(low)) / mass
            second = (-(u * density(u) - low * density(low)) / mass - slope**2) / spread**2
            first = slope / spread
        else:
            sign = 1.0 if score > 0.5 else -1.0
            z = (sign * d - margin) / spread
            first, second = sign * hazard(z) / spread, -hazard(z) * (hazard(z) + z) / spread**2
        return first, second

    def age(self, time, games):
        """The names of those who play, who are as these games find them."""
        end = time + self.duration
        kinds = {name: kind for g in reversed(games) for name, _, kind in self.seats(g)}
        for name in kinds:
            one = self.player(name, kinds[name])
            if one.time is not None:
                self.pass_time(one, one.time, time)
                self.pass_seasons(one, one.time, time)
                one.time = max(one.time, time)
                self.pass_time(one, one.time, end)
            numbers = [g.season for g in games if getattr(g, "season", None) is not None and name in (g.a, g.b)]
            if numbers:
                last = max(numbers) if one.season is None else one.season
                for _ in range(int(max(numbers) - last)):
                    self.begin_season(one)
                one.season = max(*numbers, last)
        return kinds

    def known(self, time, g, count):
        """What `learn` and `predict` are told of an event that counts as so many matches for growth."""
        rows, mean, covariance = [], [], []
        for name, X, kind in self.seats(g):
            rows.append(self.player(name, kind))
            grown = rows[-1].P + np.diag(np.eye(len(X.T))[0]) * count * rows[-1].kind.match_growth ** 2
            mean.append(X @ rows[-1].m)
            covariance.append(X @ grown @ X.T)
        return time, g, [row.games for row in rows], np.array(mean), np.array(covariance)

    def play(self, time, games):
        """The predictions of the games of one event, which all count together."""
        names, end = self.age(time, games), time + self.duration
        predictions = [x for g in games for x in self.predict(*self.known(time, g, 1.0))]
        told, counts = {name: [] for name in names}, dict.fromkeys(names, 0.0)
        for g in games:
            if (weight := self.weight(g)) > 0:
                M, h, _ = self.learn(*self.known(time, g, weight))
                for (name, X, _), precision, pull in zip(self.seats(g), M, h, strict=True):
                    told[name].append((weight * X.T @ precision @ X, weight * X.T @ pull))
                for name in {name for name, *_ in self.seats(g)}:
                    counts[name] += weight
        for name in names:
            one, count = self.player(name), counts[name]
            one.P[0, 0] += count * one.kind.match_growth**2
            if told[name]:
                one.m, one.P, _ = condition(one.m, one.P, *map(sum, zip(*told[name], strict=True)))
            one.games, last = one.games + count, one.time
            if self.duration:
                self.pass_seasons(one, time if last is None else max(last, time), end)
            one.time = None if last is None and not count else end
        return predictions

    def seats(self, g):
        met = (g.a, g.category[1], g.side), (g.b, g.category[0], -g.side)
        return [(name, self.loadings(*other), kind) for (name, *other), kind in zip(met, g.kinds, strict=True)]

    def loadings(self, category, side):
        return self.pick(category, side)[None]

    def weight(self, g):
        return g.weight

    def offset(self, time, g, games):
        """What speaks for a beside the parts of players."""
        p = self.p
        side = p.side_advantage + p.side_trend * (time - p.side_since) / 365.25
        a, b = (self.kinds[kind].experience * math.log(1.0 + n) for kind, n in zip(g.kinds, games, strict=True))
        return side * g.side + np.dot(p.weights, g.z) + a - b

    def lead(self, time, g, games, mean, covariance):
        """Mean and variance of the lead of a."""
        return mean[0, 0] - mean[1, 0] + self.offset(time, g, games), covariance[:, 0, 0].sum()

    def learn(self, time, g, games, mean, covariance):
        (d, variance), s, M, h = self.lead(time, g, games, mean, covariance), covariance[:, 0, 0], [], []
        for side, sign, score in ((0, 1.0, g.score), (1, -1.0, 1.0 - g.score)):
            precision, V = self.message(g, s[side], s[1 - side], sign * d, score, sign)
            M.append([[precision]])
            h.append([V + precision * mean[side, 0]])
        return M, h, self.log_chance(g, d, variance)

    def predict(self, *known):
        return [self.chance(*self.lead(*known))]

    def linear(self, time, g, games):
        """Of margins."""
        y = np.sign(g.score - 0.5) * self.points(abs(g.margin)) - self.offset(time, g, games)
        return np.array([[1.0, -1.0]]), [y], np.array([[self.p.noise**2]])

    def points(self, margin):
        p, k = self.p, self.p.compression
        return p.margin_scale * (margin if k is None else k * math.log(1.0 + margin / k))

    def log_chance(self, g, d, variance):
        """Of the result; of a margin, its density in its own units, or of a draw that it is less than one half.

        Statistics, each in its own units, come first.
        """
        p, before = self.p, 0.0
        for z, (scale, noise) in zip(g.statistics, p.statistics, strict=True):
            if not math.isnan(z):
                square = variance + noise**2
                before += math.log(scale * density((scale * z - d) / math.sqrt(square)) / math.sqrt(square))
                d, variance = d + variance * (scale * z - d) / square, variance * noise**2 / square
        return before + self.log_chance_of_result(g, d, variance)

    def log_chance_of_result(self, g, d, variance):
        p = self.p
        if self.outcome == "logistic":
            e = 1.0 / (1.0 + math.exp(-Q * d / math.sqrt(1.0 + 3.0 * Q**2 * variance / math.pi**2)))
            return g.score * math.log(e) + (1.0 - g.score) * math.log(1.0 - e)
        spread, k = math.sqrt(p.noise**2 + variance), p.compression
        if self.outcome != "win":
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
