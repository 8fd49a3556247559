"""Davidson's draws, calibration and the likelihood of margins, number by number, as they are written."""

import math

from scipy.special import ndtr


def davidson(score, odds):
    """Win, draw and loss: log r by bisection, until win + draw / 2 is the expected score."""
    low, high = -60.0, 60.0
    for _ in range(200):
        root = math.exp(0.5 * (low + high))
        win, draw, loss = (x / (root**2 + odds * root + 1.0) for x in (root**2, odds * root, 1.0))
        if win + draw / 2.0 < score:
            low = math.log(root)
        else:
            high = math.log(root)
    return win, draw, loss


def calibrate(score, slope, intercept, side):
    odds = slope * math.log(score / (1.0 - score)) + intercept * side
    return 1.0 / (1.0 + math.exp(-odds))


def margin_loss(points, expected, variance, scale, compression):
    """-log of the density of `points` scored more than the other side, or of the probability of none."""

    def compressed(x):
        return scale * (x if compression is None else compression * math.log(1.0 + x / compression))

    spread = math.sqrt(variance)
    if points == 0:
        half = compressed(0.5)
        return -math.log(ndtr((half - expected) / spread) - ndtr((-half - expected) / spread))
    step = 1e-6 * abs(points)
    slope = (compressed(abs(points) + step) - compressed(abs(points) - step)) / (2.0 * step)
    z = (math.copysign(compressed(abs(points)), points) - expected) / spread
    return 0.5 * z**2 + math.log(spread * math.sqrt(2.0 * math.pi)) - math.log(slope)
