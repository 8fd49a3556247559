"""Performances of players and of teams, slow and obviously right: sums over all opponents, bracketed roots.

Equation, lemma and theorem numbers are those of Ebtekar and Liu, "An Elo-like system for massive multiplayer
competitions" (2021).
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, expit

LOGISTIC = math.pi / math.sqrt(3.0)  # a logistic distribution of scale s has the standard deviation LOGISTIC s


def bracket(f):
    """Numbers between which the decreasing function changes its sign."""
    top = next(x for x in 2.0 ** np.arange(1000) if f(x) < 0.0)
    return -next(x for x in 2.0 ** np.arange(1000) if f(-x) > 0.0), top


def zero(f):
    """Where the decreasing function changes its sign."""
    return brentq(f, *bracket(f), xtol=1e-12, rtol=1e-15)


def hazard(z):
    """phi(z)/Phi(z), to full relative precision in both tails."""
    return math.sqrt(2.0 / math.pi) / erfcx(-np.asarray(z) / math.sqrt(2.0))


def loss(x, mu, delta, gaussian=False):
    """The l of Lemma 3.2, the derivative of log(1 - F)."""
    if gaussian:
        return -hazard((mu - x) / delta) / delta
    return -LOGISTIC / delta * expit(LOGISTIC * (x - mu) / delta)


def draw(x, mu, delta, gaussian=False, split_ties=False):
    """The d of Lemma 3.2, the derivative of log f; with `split_ties` half a loss and half a win, or so much of each."""
    if split_ties:
        of_loss, of_win = np.broadcast_to(0.5 if split_ties is True else split_ties, 2)
        return of_loss * loss(x, mu, delta, gaussian) + of_win * victory(x, mu, delta, gaussian)
    if gaussian:
        return (mu - x) / delta**2
    return LOGISTIC / delta * np.tanh(0.5 * LOGISTIC * (mu - x) / delta)


def victory(x, mu, delta, gaussian=False):
    """The v of Lemma 3.2, the derivative of log F."""
    if gaussian:
        return hazard((x - mu) / delta) / delta
    return LOGISTIC / delta * expit(LOGISTIC * (mu - x) / delta)


def groups(mu, delta, rank, own):
    """(mu, delta) of those better than rank `own`, of those who share it (the player himself too) and of the rest."""
    mu, delta, rank = map(np.asarray, (mu, delta, rank))
    return [(mu[these], delta[these]) for these in (rank < own, rank == own, rank > own)]


def balance(x, better, same, worse, split_ties=False, gaussian=False):
    """Q(x) of Theorem 3.3 against these groups of opponents."""
    lost = loss(x, *better, gaussian).sum()
    drawn = draw(x, *same, gaussian, split_ties).sum()
    return lost + drawn + victory(x, *worse, gaussian).sum()


def performances(mu, delta, rank, split_ties=False, gaussian=False):
    """The zero of Q for every participant [P]; those who tie have the same Q."""
    performance = np.empty(len(mu))
    for own in np.unique(rank):
        sides = groups(mu, delta, rank, own)
        performance[np.equal(rank, own)] = zero(lambda x, sides=sides: balance(x, *sides, split_ties, gaussian))
    return performance


def sharpness(x, own, mu, delta, rank, split_ties):
    """How fast Q of number `own` falls at x, but for his own term; of Gaussian performances, by central differences."""
    others = np.arange(len(rank)) != own
    sides = groups(np.asarray(mu)[others], np.asarray(delta)[others], np.asarray(rank)[others], rank[own])
    h = 1e-3 * delta[own]
    at = [balance(x + k * h, *sides, split_ties, gaussian=True) for k in (-2, -1, 1, 2)]
    return (8.0 * (at[1] - at[2]) - (at[0] - at[3])) / (12.0 * h)


def team_performances(rating, variance, noise, contest, split_ties, mean):
    """Section 7: (E[P_j], the new ratings, the new variances) [P] of members whose teams' p have been inferred.

    A team performs as the sum, or the mean, of its members' performances of variances `variance` + `noise`. Skills and
    that performance have a joint Gaussian distribution, of which the latter becomes known: to be p, and as exactly as
    the other terms of Q are curved there. Where everybody plays alone, it becomes known exactly.
    """
    number, rank = np.unique(contest.team, return_inverse=True)[1], np.asarray(contest.rank)
    members = [np.flatnonzero(number == k) for k in range(number.max() + 1)]
    part = [np.full(len(m), 1.0 / len(m) if mean else 1.0) for m in members]
    centre = np.array([c @ rating[m] for c, m in zip(part, members, strict=True)])
    square = np.array([c**2 @ (variance + noise)[m] for c, m in zip(part, members, strict=True)])
    first = rank[[m[0] for m in members]]
    p = performances(centre, np.sqrt(square), first, split_ties, gaussian=True)
    performance, new, left = (np.empty(len(rank)) for _ in range(3))
    for k, (m, c) in enumerate(zip(members, part, strict=True)):
        curvature = sharpness(p[k], k, centre, np.sqrt(square), first, split_ties)
        spread = 0.0 if len(members) == len(rank) else 1.0 / (1.0 / square[k] + curvature)  # of the performance now
        surprise = min(p[k], c.sum() * contest.ceiling) - centre[k]
        skills = np.diag(variance[m])
        covariance = skills @ c  # of the skills with the team's performance
        new[m] = rating[m] + covariance / square[k] * surprise
        gain = covariance / square[k]
        left[m] = np.diag(skills - np.outer(gain, gain) * (square[k] - spread))
        performance[m] = rating[m] + c * (variance + noise)[m] / square[k] * surprise
    return performance, new, left


def merge_seats(player, rating, variance, new, left):
    """(rating, variance) [P] from those that each seat alone would leave: every one is a factor of the one skill.

    By precisions, and precisions times means, less those of the prior, which each seat has in it. Approximate: no seat
    takes notice of what the others say of the player.
    """
    mean, square = np.empty(len(player)), np.empty(len(player))
    for i, who in enumerate(player):
        seats = np.flatnonzero(np.equal(player, who))
        precision = 1.0 / variance[i] + sum(1.0 / left[j] - 1.0 / variance[i] for j in seats)
        total = rating[i] / variance[i] + sum(new[j] / left[j] - rating[i] / variance[i] for j in seats)
        mean[i], square[i] = total / precision, 1.0 / precision
    return mean, square


def ranks_needed(perform, rating, rank, team=None):
    """[P] the worst rank, from 1, at which one performs at the rating before or above; 0 if at none.

    One's team moves to behind so many of the others, who stay in their order, and ties with nobody.
    """
    rank, team = np.asarray(rank), np.arange(len(rank)) if team is None else np.asarray(team)
    needed = np.zeros(len(rank), int)
    for own in np.unique(team):
        mine = team == own
        for place in np.unique([*rank[~mine], -1]):  # behind those of this rank and of better ones
            score = np.where(mine, place + 0.5, rank)
            new = (score < score[:, None]).sum(axis=1)
            if (perform(new)[mine] >= rating[mine] - 1e-6).all():
                needed[mine] = 1 + len(np.unique(team[~mine & (rank <= place)]))
    return needed
