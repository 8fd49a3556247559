"""Blends by plain loops: gradient descent on the penalised loss, weights anew whenever the history has grown."""

import math


def chance(weights, guesses):
    z = sum(w * math.log(p / (1.0 - p)) for w, p in zip(weights, guesses, strict=True))
    return 1.0 / (1.0 + math.exp(-z))


def slopes(weights, rows, scores, counts):
    """Of sum c (-s log p - (1 - s) log(1 - p)) + K / 2 sum (w - 1 / K)^2."""
    k = len(weights)
    found = [k * (w - 1.0 / k) for w in weights]
    for guesses, score, count in zip(rows, scores, counts, strict=True):
        off = count * (chance(weights, guesses) - score)
        for i, p in enumerate(guesses):
            found[i] += off * math.log(p / (1.0 - p))
    return found


def fitted(rows, scores, counts, steps=4000):
    """By steps of 1 / L along the slope, where L bounds the curvature."""
    k = len(rows[0])
    bound = k + 0.25 * sum(c * sum(math.log(p / (1.0 - p)) ** 2 for p in x) for x, c in zip(rows, counts, strict=True))
    weights = [1.0 / k] * k
    for _ in range(steps):
        slope = slopes(weights, rows, scores, counts)
        weights = [w - x / bound for w, x in zip(weights, slope, strict=True)]
        if max(map(abs, slope)) < 1e-9:
            break
    return weights


def boldest(rows):
    """The 99.9th percentile of the size of each system's log-odds."""
    found = []
    for column in zip(*rows, strict=True):
        sizes = sorted(abs(math.log(p / (1.0 - p))) for p in column)
        place = 0.999 * (len(sizes) - 1)
        low = int(place)
        found.append(sizes[low] + (place - low) * (sizes[min(low + 1, len(sizes) - 1)] - sizes[low]))
    return found


def kept_within(p, limit):
    return min(max(p, 1.0 / (1.0 + math.exp(limit))), 1.0 / (1.0 + math.exp(-limit)))


def ahead(rows, scores, counts, begin, growth):
    """Predictions one step ahead, and the last weights."""
    weights, start, end, guesses = [1.0 / len(rows[0])] * len(rows[0]), 0, max(begin, 64), []
    limits = [30.0] * len(rows[0])
    while start < len(rows):
        guesses += [chance(weights, map(kept_within, x, limits)) for x in rows[start:end]]
        weights, limits = fitted(rows[:end], scores[:end], counts[:end]), boldest(rows[:end])
        start, end = end, math.ceil(growth * end)
    return guesses, weights
