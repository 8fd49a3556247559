"""The trust region of the search: a box that bounds each step."""

import numpy as np

from jaxrate.core.array_types import HostArray

TRUST_RADIUS = 1.0  # no step is longer: in logarithms, in logits, or in units in which an event's slope is about 1
COORDINATE_SWEEPS = 100


def clip_to_trust_region(axes: HostArray, slope: HostArray, step: HostArray) -> HostArray:
    """[S, m] the steps, or, where one is longer than `TRUST_RADIUS` in a parameter, a shorter one.

    It is either clipped in each parameter by itself, since parameters that the events hardly determine take long steps
    and would hold up the rest, or the best step in the region by the curvature of the axes: the one that promises more.
    """
    step = step.copy()
    for i in np.flatnonzero((np.abs(np.einsum("skm,sm->sk", axes, step)) > TRUST_RADIUS).any(axis=1)):
        clipped = np.linalg.lstsq(axes[i], np.clip(axes[i] @ step[i], -TRUST_RADIUS, TRUST_RADIUS))[0]
        step[i] = min(clipped, minimise_quadratic_in_trust_region(axes[i], slope[i]), key=slope[i].dot)
    return step


def minimise_quadratic_in_trust_region(axes: HostArray, slope: HostArray) -> HostArray:
    """[m] the step to the least quadratic loss in the region, by coordinate descent; axes [k, m] give its curvature."""
    is_moving = np.abs(axes).sum(axis=1) > 0
    inverse = np.linalg.inv(axes[is_moving])
    slope_in_params, curvature, params_step = inverse.T @ slope, inverse.T @ inverse, np.zeros(len(slope))
    for _ in range(COORDINATE_SWEEPS):
        for j in range(len(params_step)):
            params_step[j] = np.clip(
                params_step[j] - (slope_in_params[j] + curvature[j] @ params_step) / curvature[j, j],
                -TRUST_RADIUS,
                TRUST_RADIUS,
            )
    return inverse @ params_step
