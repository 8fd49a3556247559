"""Whole-history rating by Newton's method: the one most likely course of all players at once.

Coulom 2008, "Whole-history rating: a Bayesian rating system for players of time-varying strength". A player has one
number r for each date of theirs, which moves as a Wiener process; the first wins with the chance 1 / (1 + e^(b - a)).
The logarithm of the posterior is concave, so its maximum is found from zero. Steps come from conjugate gradients, for
which all that is said of one player, a tridiagonal matrix, is solved exactly.
"""

import numpy as np
from scipy.linalg import solveh_banded
from scipy.special import expit, log_expit


class WholeHistory:
    """Matches [n, 2] of players, the scores of the first, and whole dates; variances in natural units."""

    def __init__(self, player, score, date, variance, first_variance):
        player, date = np.asarray(player), np.asarray(date)
        both = np.stack([player.T.ravel(), np.tile(date, 2)], axis=1)
        self.who, place = np.unique(both, axis=0, return_inverse=True)  # [nodes, 2] player and date
        self.node, self.score = place.reshape(2, -1), np.asarray(score, float)
        same = self.who[1:, 0] == self.who[:-1, 0]
        gap = np.where(same, np.diff(self.who[:, 1]), 1)
        self.tie = np.where(same, 1.0 / (variance * gap), 0.0)  # precision between a node and the next
        begins = np.concatenate([[True], ~same])
        self.own = np.where(begins, 1.0 / first_variance, 0.0)

    def log_posterior(self, r):
        """Without the constants of the normal distributions."""
        lead = r[self.node[0]] - r[self.node[1]]
        said = self.score * log_expit(lead) + (1.0 - self.score) * log_expit(-lead)
        return said.sum() - 0.5 * (self.tie @ np.diff(r) ** 2 + self.own @ r**2)

    def _prior(self, r):
        """Its precision matrix times r."""
        pull = self.tie * np.diff(r)
        return self.own * r + np.concatenate([[0.0], pull]) - np.concatenate([pull, [0.0]])

    def _to_nodes(self, first, second):
        size = len(self.who)
        return np.bincount(self.node[0], first, size) + np.bincount(self.node[1], second, size)

    def slope(self, r):
        surprise = self.score - expit(r[self.node[0]] - r[self.node[1]])
        return self._to_nodes(surprise, -surprise) - self._prior(r)

    def step(self, r, tolerance):
        """Newton's."""
        slope, chance = self.slope(r), expit(r[self.node[0]] - r[self.node[1]])
        bend = chance * (1.0 - chance)
        diagonal = self._to_nodes(bend, bend) + self.own
        diagonal += np.concatenate([[0.0], self.tie]) + np.concatenate([self.tie, [0.0]])
        banded = np.stack([np.concatenate([[0.0], -self.tie]), diagonal])

        def curved(x):
            between = bend * (x[self.node[0]] - x[self.node[1]])
            return self._prior(x) + self._to_nodes(between, -between)

        x, rest = np.zeros_like(r), slope
        z = solveh_banded(banded, rest)
        along, size = z, rest @ z
        enough = tolerance**2 * size
        while size > enough:
            image = curved(along)
            share = size / (along @ image)
            x, rest = x + share * along, rest - share * image
            z = solveh_banded(banded, rest)
            size, before = rest @ z, size
            along = z + size / before * along
        return x

    def maximum(self, steps=8, tolerance=1e-6):
        """[nodes] where the posterior is greatest."""
        r = np.zeros(len(self.who))
        for _ in range(steps):
            r = r + self.step(r, tolerance)
        return r
