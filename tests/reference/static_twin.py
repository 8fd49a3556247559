"""Static strengths straight from their definitions: sums over single votes, slopes by complex steps.

A vote is (a, b, result, z): result 1, 0.5 or 0 of a; z the covariates in a's favour. The parameters are the log
strengths, the coefficients and, of models of ties, the logarithm of nu or theta.
"""

import numpy as np


def chance(model, x, vote, players):
    """The probability of what happened, of complex parameters [k] or of several [k, m] at once."""
    a, b, result, z = vote
    eta = x[a] - x[b] + sum(w * c for w, c in zip(x[players:], z, strict=False))
    p, q = np.exp(eta), 1.0
    if model == "bradley_terry":
        return (p / (p + q)) ** result * (q / (p + q)) ** (1 - result)
    if model == "davidson":
        tie = np.exp(x[-1]) * np.sqrt(p * q)
        return {1: p, 0.5: tie, 0: q}[result] / (p + q + tie)
    theta = np.exp(x[-1])
    win, loss = p / (p + theta * q), q / (q + theta * p)
    return {1: win, 0.5: 1.0 - win - loss, 0: loss}[result]


def scores(model, x, votes, players):
    """[n, k] the derivative of the log likelihood of each vote."""
    moved = x[:, None] + 1e-30j * np.eye(len(x))
    return np.array([np.log(chance(model, moved, vote, players)).imag / 1e-30 for vote in votes]).reshape(-1, len(x))


def fit(model, votes, players, extra, held=None, precision=0.0):
    """The maximum x, and the inverse of the curvature there among those who are free; sum-zero without `held`."""
    return maximum(lambda x: scores(model, x, votes, players), players, extra, model, held, precision)


def maximum(scores_of, players, extra, model, held=None, precision=0.0):
    held = held or {}
    x = np.zeros(players + extra)
    if model not in ("bradley_terry", "plackett_luce"):
        x[-1] = 0.1
    for player, strength in held.items():
        x[player] = strength
    free = np.array([i for i in range(len(x)) if i not in held])
    prior = np.where(np.arange(len(x)) < players, precision, 0.0)
    location = np.zeros(len(x))
    if not held and not precision:
        location[:players] = players**-0.5

    def slope(x):
        return (scores_of(x).sum(axis=0) - prior * x)[free]

    for _ in range(30):
        step = 1e-5 * np.eye(len(x))[free]
        curvature = -np.array([(slope(x + h) - slope(x - h)) / 2e-5 for h in step])
        curvature = 0.5 * (curvature + curvature.T) + np.outer(location[free], location[free])
        change = np.linalg.solve(curvature, slope(x))
        x[free] += change
        if np.abs(change).max() < 1e-12:
            break
    inverse = np.zeros((len(x), len(x)))
    inverse[np.ix_(free, free)] = np.linalg.inv(curvature)
    return x, inverse - np.outer(location, location)


def ranking_value(x, ranking, in_part):
    """The log likelihood of one ranking, a list of groups that tie, the best first, of complex strengths."""
    p, total = np.exp(x), 0.0
    for place, group in enumerate(ranking):
        if in_part and place == len(ranking) - 1:
            break
        left = sum(p[i] for rest in ranking[place:] for i in rest)
        for number, i in enumerate(group):
            total += np.log(p[i]) - np.log(left - number / len(group) * sum(p[j] for j in group))
    return total


def ranking_scores(x, rankings, weights, in_part):
    """[R, N] the derivative of the log likelihood of each ranking, by its weight; `in_part` [R] of its last place."""
    step = 1e-30j * np.eye(len(x))
    return np.array(
        [
            [w * ranking_value(x + h, *one).imag / 1e-30 for h in step]
            for *one, w in zip(rankings, in_part, weights, strict=True)
        ]
    )


def log_likelihood(model, x, votes, players):
    return sum(np.log(chance(model, x, vote, players)) for vote in votes)


def sandwich(model, x, inverse, votes, players, clusters=None):
    """The covariance by one or two columns of a few clusters, which no contrast's variance by curvature exceeds.

    Without them each vote is alone, and nothing is corrected.
    """
    score = scores(model, x, votes, players)

    def meat(labels):
        total = {}
        for label, one in zip(labels, score, strict=True):
            total[label] = total.get(label, 0.0) + one
        return sum(np.outer(one, one) for one in total.values()) * len(total) / (len(total) - 1)

    if clusters is None:
        return inverse @ score.T @ score @ inverse
    middle = sum(meat(one) for one in clusters)
    if len(clusters) == 2:
        middle -= meat([*zip(*clusters, strict=True)])
    value, vector = np.linalg.eigh(inverse)
    root = vector * np.sqrt(np.maximum(value, 0.0))
    value, vector = np.linalg.eigh(root.T @ middle @ root)
    return root @ vector @ np.diag(np.maximum(value, 1.0)) @ vector.T @ root.T


def bradley_terry(wins):
    """Log strengths [N] of mean zero from wins [N, N], by Newton's method on the definition."""
    games, x = wins + wins.T, np.zeros(len(wins))
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(x[None, :] - x[:, None]))
        weight = games * p * (1.0 - p)
        matrix = np.diag(weight.sum(axis=1)) - weight + 1.0
        x = x + np.linalg.solve(matrix, (wins - games * p).sum(axis=1))
    return x - x.mean()


def reach(arrows):
    """[N, N] who is reached from whom along arrows [N, N]."""
    found = arrows | np.eye(len(arrows), dtype=bool)
    for k in range(len(found)):
        found |= found[:, [k]] & found[[k], :]
    return found


def steps_of(player, votes, strength, chance):
    """[n] the score of each vote (a, b, score) on a player, of Bradley-Terry, and its information; 0 elsewhere."""
    out = np.zeros((2, len(votes)))
    for row, (a, b, score) in enumerate(votes):
        if player in (a, b):
            p = chance(strength[a] - strength[b])
            out[:, row] = (1.0 if player == a else -1.0) * (score - p), p * (1 - p)
    return out


def bridges(num_players, votes, strength, chance):
    """[N] the largest |sum of scores| over the root of their squares, each vote at a time of its own."""
    out = np.full(num_players, np.nan)
    for player in range(num_players):
        steps = steps_of(player, votes, strength, chance)[0]
        out[player] = np.abs(np.cumsum(steps)).max() / np.sqrt((steps**2).sum())
    return out


def walks(player, votes, cluster, strength, chance, samples):
    """p of a player by multiplying the walk of each cluster by a normal number, and the error of their change."""
    steps, weight = steps_of(player, votes, strength, chance)
    known = np.cumsum(weight)
    parts = []
    for one in np.unique(cluster):
        walk = np.cumsum(np.where(cluster == one, steps, 0.0))
        parts.append(walk - walk[-1] * known / known[-1])
    factor = np.sqrt(len(parts) / (len(parts) - 1))
    random, far = np.random.default_rng(1), np.abs(np.cumsum(steps)).max()
    drawn = factor * random.standard_normal((samples, len(parts))) @ np.stack(parts)
    half = np.searchsorted(known, known[-1] / 2)
    spread = factor * np.sqrt(sum(walk[half] ** 2 for walk in parts))
    return (np.abs(drawn).max(axis=1) >= far).mean(), spread * (1 / known[half] + 1 / (known[-1] - known[half]))


def mixture(guesses, scores):
    """Log losses of predictions [K, n] that are mixed by what each has earned before."""
    share, losses = np.ones(len(guesses)) / len(guesses), []
    for p, s in zip(np.transpose(guesses), scores, strict=True):
        guess = share @ p
        losses.append(-s * np.log(guess) - (1 - s) * np.log(1 - guess))
        share = share * p**s * (1 - p) ** (1 - s)
        share = share / share.sum()
    return losses, share
