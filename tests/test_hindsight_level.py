"""The level of ratings in hindsight: results tell differences only."""

from types import SimpleNamespace

import numpy as np

from jaxrate.site.hindsight_level import align_hindsight, hindsight_level


def test_a_pool_that_drifts_is_moved_and_differences_stay():
    """In hindsight all are 66 points higher, later 100, and the first of each match is 20 better than thought."""
    n = 4000
    rating = np.random.default_rng(0).normal(1500.0, 100.0, (n, 2))
    drift = np.where(np.arange(n) < n // 2, 66.0, 100.0)
    mean = rating + drift[:, None] + [20.0, -20.0]
    careers = SimpleNamespace(
        row=np.repeat(np.arange(n), 2), mean=rating.ravel(), gather_own_ratings=lambda x: x.ravel()
    )
    level = hindsight_level(careers, mean)
    np.testing.assert_allclose(level[[0, n // 4, -n // 4, n - 1]], [66.0, 66.0, 100.0, 100.0], atol=1e-6)
    moved = align_hindsight(careers, mean)
    np.testing.assert_allclose(moved[:, 0] - moved[:, 1], mean[:, 0] - mean[:, 1], atol=1e-9)
    assert abs((moved - rating).mean()) < 1e-6
