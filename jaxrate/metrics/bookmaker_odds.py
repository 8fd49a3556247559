"""Probabilities from the odds of bookmakers.

Decimal odds o_k of the K outcomes of a match imply pi_k = 1 / o_k. Their sum is the booksum Pi, of which the part above
1 is the bookmaker's margin. Three methods remove it:

    proportional   p_k = pi_k / Pi
    power          p_k = pi_k^c, with the c for which they sum to 1 (Clarke, Kovalchik and Ingram 2017, "Adjusting
                   bookmaker's odds to allow for overround", American Journal of Sports Science 5)
    shin           p_k = (sqrt(z^2 + 4 (1 - z) pi_k^2 / Pi) - z) / (2 (1 - z)), with the share z of insiders for which
                   they sum to 1 (Shin 1993, "Measuring the incidence of insider trading in a market for
                   state-contingent claims", Economic Journal 103; Jullien and Salanié 1994)

The second and the third take more of the margin from outsiders than from favourites, as bookmakers do.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations, to_floats
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_or_list
from jaxrate.events import fail_where

ODDS_METHODS = "power", "proportional", "shin"
NUM_BISECTIONS = 60  # of the share of insiders or of the exponent, to the last digit


@enforce_argument_annotations
def probabilities_from_odds(odds: Any, *, method: str = "power") -> HostArray:
    """Probabilities from decimal odds, without the margin of the bookmaker.

        jr.metrics.probabilities_from_odds([[1.5, 4.2, 7.0]])  # of a win, a draw and a loss

    Args:
      odds: [n, K] decimal odds of the K outcomes, above 1; NaN where there are none.
      method: "power" (Clarke, Kovalchik and Ingram 2017), "proportional", or "shin" (Shin 1993).

    Returns:
      [n, K] probabilities, which sum to 1; NaN where odds are missing.

    Raises:
      ValueError: for odds that are not [n, K], another method, the first row with odds that are not above 1, and, by
        Shin's method, one whose inverses sum to less than 1.
    """
    check_odds_method(method)
    decimal = to_floats("odds", odds)
    if decimal.ndim != 2 or decimal.shape[1] < 2:
        raise ValueError(f"odds must be [n, K], of two outcomes or more, got the shape {decimal.shape}")
    check_decimal_odds(decimal)
    booksum = np.sum(1.0 / decimal, axis=1)  # NaN where odds are missing
    if method == "shin":
        message = "the inverse odds sum to {:.4f}, below 1, so Shin's method has no answer; take the power method"
        fail_where(booksum < 1.0 - 1e-12, lambda row: message.format(booksum[row]))
    has_odds, result = ~np.isnan(booksum), np.full(decimal.shape, np.nan)
    remove_margin = {"power": _power_probabilities, "shin": _shin_probabilities}.get(method, np.asarray)
    p = remove_margin(1.0 / decimal[has_odds])
    result[has_odds] = p / p.sum(axis=1, keepdims=True)
    return result


def check_decimal_odds(odds: HostArray) -> None:
    """ValueError for the first row of decimal odds [n, K] that are not above 1; NaN where there are none."""
    bad = ~((odds > 1.0) & (odds < np.inf)) & ~np.isnan(odds)
    message = "odds are {:g}; decimal odds are above 1, and empty where missing"
    fail_where(bad.any(axis=1), lambda row: message.format(odds[row, np.argmax(bad[row])]))


def check_odds_method(method: str) -> None:
    """ValueError unless there is such a method."""
    if method not in ODDS_METHODS:
        raise ValueError(f"unknown method of odds {method!r}{did_you_mean_or_list(method, ODDS_METHODS)}")


def _power_probabilities(implied: HostArray) -> HostArray:
    """[n, K] powers of inverse odds [n, K] that sum to 1, with exponents z / (1 - z)."""
    return _solve_for_sum_of_one(lambda z: implied ** (z / (1.0 - z)), len(implied))


def _shin_probabilities(implied: HostArray) -> HostArray:
    """[n, K] probabilities by Shin's formula, with the root in the denominator: it holds for z = 1, too."""
    squares = implied**2 / implied.sum(axis=1, keepdims=True)
    return _solve_for_sum_of_one(
        lambda z: 2.0 * squares / (np.sqrt(z**2 + 4.0 * (1.0 - z) * squares) + z), len(implied)
    )


def _solve_for_sum_of_one(probabilities: Callable[[HostArray], HostArray], count: int) -> HostArray:
    """[n, K] probabilities by numbers [n, 1] from 0 to 1 at which they sum to 1; the sums fall with these."""
    low, high = np.zeros((count, 1)), np.ones((count, 1))
    for _ in range(NUM_BISECTIONS):
        middle = 0.5 * (low + high)
        is_above = probabilities(middle).sum(axis=1, keepdims=True) > 1.0
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return probabilities(0.5 * (low + high))
