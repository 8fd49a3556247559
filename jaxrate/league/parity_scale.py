"""The scale of colours of expected scores, with one half in its middle."""

import numpy as np

from jaxrate.array_types import HostArray

LEAST_REACH = 10.0  # percents to either side of one half


def parity_limits(percent: HostArray) -> tuple[float, float]:
    """The ends of a scale around 50%, which reaches as far as the farthest of these percentages; NaN apart."""
    reach = float(np.nanmax(np.abs(percent - 50.0), initial=LEAST_REACH))
    return 50.0 - reach, 50.0 + reach
