"""BlatMMR with any kernel and any prior (Model 2.16, sections 3.2 and 4.1), in loops over pairs of strengths.

A strength is a number, a point of R^3, or the mean of a distribution over strengths (Example 2.15). A kernel is a list
of rows: K[i][j] is how much of the mass at strength i goes to strength j, as kappa of strength i has it in (6).
"""

import math

import numpy as np

from tests.reference import blat_twin as twin


def between(x, function):
    """The kernel of a function of both strengths, from the first to the second."""
    return np.asarray(function(*np.meshgrid(x, x, indexing="ij")), float).tolist()


def of_distance(x, shape, components, step=None, edges="global"):
    """The kernel of a function of the distance in widths, mixed of (weight, width).

    On a grid of this step every component has mass one over all differences that it knows. Elsewhere it is a density,
    in R^d one of the Euclidean distance. With edges "source" every strength keeps its mass by each component.
    """
    rows = np.zeros((len(x), len(x)))
    for weight, width in components:
        if step is None:
            mass = width ** np.size(x[0])
        else:
            mass = np.sum(np.asarray(shape(step * np.arange(1 - len(x), len(x)) / width), float))
        for i, one in enumerate(x):
            apart = [other - one if np.ndim(one) == 0 else math.dist(one, other) for other in x]
            row = np.asarray(shape(np.array(apart) / width), float).tolist()
            total = sum(row) if edges == "source" else mass
            for j in range(len(x)):
                rows[i][j] += weight * row[j] / total
    return rows


def spread(p, kernel, edges):
    """The belief after the kernel. "source": every strength keeps its mass (6); "global": all of them together do."""
    after = [0.0] * len(p)
    for i, mass in enumerate(p):
        total = sum(kernel[i]) if edges == "source" else 1.0
        for j, share in enumerate(kernel[i]):
            after[j] += mass * share / total
    return np.array(after) / sum(after)


def league(history, luck, supports, beliefs, kernels, edges, inner=None, by_time=None):
    """Beliefs [player, n] and predictions, match by match: `history` is a list of (time, (a, b, score)).

    `supports` [player] are theirs, `beliefs` their priors, and `kernels` [player] follow every match. `inner` [player]
    makes these beliefs over distributions. `by_time(player, gap)` is the kernel of the time since the last match.
    """
    beliefs, predictions, last = [np.array(p) for p in beliefs], [], {}
    for time, (a, b, score) in history:
        for i in (a, b):
            gap, last[i] = time - last.get(i, time), time
            if by_time is not None and gap > 0:
                beliefs[i] = spread(beliefs[i], by_time(i, gap), edges)
        if inner is None:
            predictions.append(twin.expected_score(supports[a], beliefs[a], supports[b], beliefs[b], luck))
            after = twin.match(supports[a], beliefs[a], supports[b], beliefs[b], luck, score)
        else:
            of_a, of_b = ([*zip(supports[i], inner[i], strict=True)] for i in (a, b))
            wins, *after = twin.match_between_mixtures(beliefs[a], of_a, beliefs[b], of_b, luck, score)
            predictions.append(beliefs[a] @ wins @ beliefs[b])
        for i, (p, _) in zip((a, b), after, strict=True):
            beliefs[i] = p if kernels is None else spread(p, kernels[i], edges)
    return np.array(beliefs), np.array(predictions)
