"""How far a step of the search may go."""

import numpy as np

from jaxrate.types import HostArray

TRUST_RADIUS = 1.0  # no step is longer: in logarithms, in logits, or in units in which an event's slope is about 1
COORDINATE_SWEEPS = 100


def clip_to_trust_region(axes: HostArray, slope: HostArray, step: HostArray) -> HostArray:
    """[S, m] the steps, or, where one is longer than `REACH` in a parameter, one that is not.

    It is cut in each parameter alone, for what the events hardly tell is asked to go far, and would hold up the rest;
    or, as that may lead astray, it is the best within reach by the curvature of the axes: what promises more.
    """
    step = step.copy()
    for i in np.flatnonzero((np.abs(np.einsum("skm,sm->sk", axes, step)) > TRUST_RADIUS).any(axis=1)):
        cut = np.linalg.lstsq(axes[i], np.clip(axes[i] @ step[i], -TRUST_RADIUS, TRUST_RADIUS))[0]
        step[i] = min(cut, minimise_in_trust_region(axes[i], slope[i]), key=slope[i].dot)
    return step


def minimise_in_trust_region(axes: HostArray, slope: HostArray) -> HostArray:
    """[m] to where a loss is least that is curved as the axes [k, m] say, by one parameter after the other."""
    moves = np.abs(axes).sum(axis=1) > 0
    inverse = np.linalg.inv(axes[moves])
    rise, bend, far = inverse.T @ slope, inverse.T @ inverse, np.zeros(len(slope))
    for _ in range(COORDINATE_SWEEPS):
        for j in range(len(far)):
            far[j] = np.clip(far[j] - (rise[j] + bend[j] @ far) / bend[j, j], -TRUST_RADIUS, TRUST_RADIUS)
    return inverse @ far
