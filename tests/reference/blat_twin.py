"""BlatMMR (Cowan, "Paired comparisons for games of chance", 2023), slow and obviously right: dense sums in float64.

Equation, example and algorithm numbers are the paper's. A Dirac-only belief (Definition 2.12) is a support `x` [n] and
its probabilities `p` [n]; a strength may itself be a point of R^3, then the support is [n, 3]. A luck function takes
(x, y), which broadcast, and returns how likely x beats y.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr

GRID = np.linspace(-7.0, 7.0, 1001)  # (5): M = 7, n = 1000


# Luck functions


def bradley_terry(x, y):
    """Example 2.5 under x -> e^x: 1/(1 + exp(y - x))."""
    return expit(x - y)


def bradley_terry_400(x, y):
    """Example 2.5 under x -> 10^(x/400), Example 2.13."""
    return bradley_terry(x * math.log(10.0) / 400.0, y * math.log(10.0) / 400.0)


def ratio(x, y):
    """Examples 2.5 and 4.1: x/(x + y), strengths above 0."""
    return x / (x + y)


def thurstone_mosteller(x, y, scale=1.0):
    """Example 2.6: Phi((x - y)/scale); two performances of variance 1 have scale sqrt 2."""
    return ndtr((x - y) / scale)


def heaviside(x, y):
    """Definition 2.2, Example 2.4."""
    return np.where(x > y, 1.0, np.where(x == y, 0.5, 0.0))


def coin(x, y):
    """Example 2.4: one half, whoever plays."""
    return np.full(np.broadcast(x, y).shape, 0.5)


def trueskill(x, y, margin):
    """Example 2.7: one half within the margin, its ends included."""
    return np.where(x - y > margin, 1.0, np.where(x - y < -margin, 0.0, 0.5))


def fide(x, y):
    """Example 2.8: constant, and continuous, from a difference of 400."""
    return np.where(x - y > 400.0, 10.0 / 11.0, np.where(x - y < -400.0, 1.0 / 11.0, bradley_terry_400(x, y)))


def two_of_three(x, y):
    """Example 2.10: strengths in R^3, the last axis."""
    ahead, behind = (x > y).sum(-1), (y > x).sum(-1)
    return np.where(ahead >= 2, 1.0, np.where(behind >= 2, 0.0, 0.5))


def laplace_luck(x, y, components):
    """Section 4.3: sum_j p_j F(x - y | a_j) over the components (p_j, a_j)."""
    return sum(weight * laplace_cdf(x - y, width) for weight, width in components)


def mixed(luck, beta):
    """Example 2.9, section 4.2: (1 - beta)/2 + beta F."""
    return lambda x, y: (1.0 - beta) / 2.0 + beta * luck(x, y)


def laplace_pdf(x, b):
    """f(x|b) of section 4.3."""
    return np.exp(-np.abs(x) / b) / (2.0 * b)


def laplace_cdf(x, b):
    """F(x|b) of section 4.3."""
    tail = 0.5 * np.exp(-np.abs(x) / b)
    return np.where(x < 0.0, tail, 1.0 - tail)


LUCK = {
    "bradley_terry": bradley_terry,
    "bradley_terry_400": bradley_terry_400,
    "ratio": ratio,
    "thurstone_mosteller": thurstone_mosteller,
    "heaviside": heaviside,
    "coin": coin,
    "trueskill": partial(trueskill, margin=1.0),
    "fide": fide,
    "two_of_three": two_of_three,
    "duelyst": mixed(bradley_terry, 0.8),  # (2)
}


# Beliefs


def normal(x, mean=0.0, sd=0.7):
    """The normal density on the support x, normalised to sum 1; its defaults on GRID are the prior (5)."""
    weights = np.exp(-((x - mean) ** 2) / (2.0 * sd**2))
    return weights / weights.sum()


def moments(x, p):
    """Mean and variance."""
    mean = (p * x).sum()
    return mean, (p * (x - mean) ** 2).sum()


# Match processing


def expected_score(x, p, y, q, luck):
    """Model 2.1 averaged over both beliefs: sum_ij p_i q_j Lambda(x_i, y_j)."""
    return (p[:, None] * q[None, :] * luck(x[:, None], y[None, :])).sum()


def likelihood(wins, loses, q, theta=1.0, draws="inside", weight=1.0):
    """What (1) multiplies A's prior by: [n], for every i; (7) at theta 1 and 0.

    `wins` [n, m] is L(mu_i, mu'_j), `loses` [n, m] is L(mu'_j, mu_i); B is mu'_j with probability q_j.
    "inside": sum_j q_j L^theta L'^(1-theta), equation (1). "outside", the author's: (sum_j q_j L)^theta times
    (sum_j q_j L')^(1-theta).
    A match of weight w counts as w matches of the same two strengths.
    """
    if draws == "inside":
        return (wins**theta * loses ** (1.0 - theta)) ** weight @ q
    return ((wins @ q) ** theta * (loses @ q) ** (1.0 - theta)) ** weight


def posterior(p, likelihoods):
    """(1), (7): the normalised product and its sum, the evidence. Without any mass left the prior stays, evidence 0."""
    product = p * likelihoods
    evidence = product.sum()
    return (product / evidence, evidence) if evidence > 0.0 else (p, 0.0)


def match(x, p, y, q, luck, theta=1.0, draws="inside", against=None, weight=1.0):
    """A (x, p) scores theta against B (y, q): ((p', evidence), (q', evidence)), both from their priors (Example 4.1).

    `against(y, x)` is how likely B beats A where the game has sides; by default the game is symmetric: `luck(y, x)`.
    """
    wins = luck(x[:, None], y[None, :])
    loses = (against or luck)(y[None, :], x[:, None])
    return (
        posterior(p, likelihood(wins, loses, q, theta, draws, weight)),
        posterior(q, likelihood(loses.T, wins.T, p, 1.0 - theta, draws, weight)),
    )


def match_between_mixtures(alpha, players_a, beta, players_b, luck, theta=1.0, draws="inside"):
    """Example 2.15 with (1): nu_A = sum_i alpha_i delta of the distribution players_a[i] = (x_i, p_i), B likewise.

    Returns L [I, J], (alpha', evidence), (beta', evidence).
    """
    wins = np.array([[expected_score(*a, *b, luck) for b in players_b] for a in players_a])
    loses = np.array([[expected_score(*b, *a, luck) for b in players_b] for a in players_a])
    return (
        wins,
        posterior(alpha, likelihood(wins, loses, beta, theta, draws)),
        posterior(beta, likelihood(loses.T, wins.T, alpha, 1.0 - theta, draws)),
    )


# Kernel processing


class Kernel(NamedTuple):
    """A mixture around zero. No component at all is the identity (Example 2.17), and so is a width of 0."""

    components: tuple[tuple[float, float], ...] = ((1.0, 0.03),)  # (weight, width): sigma, or b of section 4.3
    shape: str = "gaussian"  # or "laplace"
    edges: str = "global"  # section 3.4: normalise the sum; "source": every point keeps its own mass, equation (6)
    step: float | None = None  # the grid's: components get mass 1 on the endless grid; None: the paper's bare densities


DUELYST = Kernel()

DENSITY = {
    "gaussian": lambda d, sigma: np.exp(-(d**2) / (2.0 * sigma**2)) / math.sqrt(2.0 * math.pi * sigma**2),
    "laplace": laplace_pdf,
}


def kernel_matrix(x, kernel, time=1.0):
    """K [to, from] on the support x; after `time` the variance is `time` times as large, whatever the shape."""
    if not kernel.components:
        return np.eye(len(x))
    density, total = DENSITY[kernel.shape], np.zeros((len(x), len(x)))
    for weight, width in kernel.components:
        b = width * math.sqrt(time)
        if b == 0.0:
            component = np.eye(len(x))
        else:
            component = density(x[:, None] - x[None, :], b)
            if kernel.edges == "source":
                component = component / component.sum(0)
            elif kernel.step is not None:
                reach = int(800.0 * b / kernel.step) + 1
                component = component / density(kernel.step * np.arange(-reach, reach + 1), b).sum()
        total += weight * component
    return total


def spread_by(matrix, p):
    """(8) with K [to, from] given.

    By (6) and Model 2.16 the mass at x_k goes to x by K(x_k, x); (8) writes K(x, x_k), the same but at the edges.
    """
    total = matrix @ p
    return total / total.sum()


def spread(x, p, kernel, time=1.0):
    """(8): the belief after the kernel."""
    return spread_by(kernel_matrix(x, kernel, time), p)


def can_be_seen(kernel, time):
    """Whether its narrowest component is wider than a step after `time`; a grid holds too little of less."""
    narrowest = min((width for _, width in kernel.components), default=0.0) * math.sqrt(time)
    return narrowest > (kernel.step or 0.0)


# A league


class Row(NamedTuple):
    """One match: Model 2.1 before it, and after it, kernel included, what is believed of the two."""

    prediction: float
    evidence: tuple[float, float]  # A's and B's; they differ for draws "outside"
    mean: tuple[float, float]
    variance: tuple[float, float]


def league(
    history,
    luck,
    x=GRID,
    kernel=DUELYST,
    kernels=None,
    growth=None,
    sides=None,
    draws="inside",
    start=None,
    prior=normal,
):
    """Beliefs {player: (x, p)} and one Row a match, match by match (section 4, steps 1 and 2).

    `history` is a list of (time, games), the games (a, b, score, side, weight), as in `twins`.
    `kernel` follows every match, `kernels` {player: Kernel} where a player has one of their own. `growth` is the Kernel
    of one unit of time: before the match, once for all of the time since it was last applied or, before that, since the
    player's first match; on a grid it waits until it `can_be_seen`. `sides` (white, black) are the luck functions of
    the two sides, for games whose side is 1 (A has white) or -1. `start` {player: (x, p)} holds first beliefs that are
    not `prior` on `x`.
    """
    beliefs, last, rows = dict(start or {}), {}, []
    for time, games in history:
        for a, b, score, side, weight in games:
            for player in (a, b):
                support, p = beliefs.get(player, (x, prior(x)))
                gap = time - last.setdefault(player, time)
                if growth is not None and can_be_seen(growth, gap):
                    p, last[player] = spread(support, p, growth, gap), time
                beliefs[player] = support, p
            mine, theirs = (luck, luck) if side == 0 else sides if side == 1 else sides[::-1]
            (xa, pa), (xb, pb) = beliefs[a], beliefs[b]
            prediction = expected_score(xa, pa, xb, pb, mine)
            (pa, evidence_a), (pb, evidence_b) = match(xa, pa, xb, pb, mine, score, draws, theirs, weight)
            for player, support, p in ((a, xa, pa), (b, xb, pb)):
                beliefs[player] = support, spread(support, p, (kernels or {}).get(player, kernel))
            mean, variance = zip(moments(*beliefs[a]), moments(*beliefs[b]), strict=True)
            rows.append(Row(prediction, (evidence_a, evidence_b), mean, variance))
    return beliefs, rows
