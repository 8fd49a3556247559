"""Skills of points by plain loops: attack and defence, and dense Kalman filters of both teams together.

Where nothing is compressed, each side scores those of equals, plus the attack of one less the defence of the other and
half of what else speaks for it, by `margin_scale`, plus noise; the noises of both sides are of their difference and of
their sum, which do not depend on each other.
"""

import math

import numpy as np
from scipy.stats import norm

from tests.reference.goals_twin import Goals


class Points(Goals):
    def belief(self, a, b, side, z, weight=1.0):
        """Mean and covariance of lead and sum of paces, their directions [2, 6], and the joint belief."""
        own = side * self.used[2]
        directions = np.array([[1.0, 1.0, own, -1.0, -1.0, own], [1.0, -1.0, 0.0, 1.0, -1.0, 0.0]])
        mean, joint = self.joint_belief(a, b, weight)
        both = directions @ mean + [self.lead_without_abilities(a, b, side, z), 0.0]
        return both, directions @ joint @ directions.T, directions, mean, joint

    def noise(self):
        return np.diag(np.square([self.p.noise, self.p.total_noise]))

    def measured(self, points, score):
        """Margin and total in rating points; the margin has the sign of the score."""
        p, size = self.p, abs(points[0] - points[1])
        size = size if math.isinf(p.compression) else p.compression * math.log1p(size / p.compression)
        total = points[0] + points[1] - 2.0 * p.point_rate
        return p.margin_scale * np.array([np.sign(score - 0.5) * size, total])

    def predict(self, a, b, side=0.0, z=()):
        """The chance of a win of the first, and mean and deviation of both sides' points together."""
        both, covariance, *_ = self.belief(a, b, side, z)
        spread = np.sqrt(np.diag(covariance + self.noise()))
        total = 2.0 * self.p.point_rate + both[1] / self.p.margin_scale
        return norm.cdf(both[0] / spread[0]), total, spread[1] / self.p.margin_scale

    def log_density(self, a, b, points, score, side=0.0, z=()):
        """Of margin and total, of a match that is no draw."""
        both, covariance, *_ = self.belief(a, b, side, z)
        spread, p = np.sqrt(np.diag(covariance + self.noise())), self.p
        slope = p.margin_scale / (1.0 + abs(points[0] - points[1]) / p.compression), p.margin_scale
        y = self.measured(points, score)
        return sum(norm.logpdf(y, both, spread) + np.log(slope))

    def learn_points(self, a, b, points, score, side=0.0, z=(), weight=1.0):
        both, covariance, directions, mean, joint = self.belief(a, b, side, z, weight)
        gain = joint @ directions.T @ np.linalg.inv(covariance + self.noise())
        after = mean + gain @ (self.measured(points, score) - both), joint - gain @ directions @ joint
        self.keep(a, b, joint, after, weight)
