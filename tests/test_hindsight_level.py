"""Ratings in hindsight beside those at the time: results tell differences only, and both are of the same field."""

from types import SimpleNamespace

import numpy as np

from jaxrate.site.hindsight_level import align_hindsight


def careers_of(rating):
    rows = np.repeat(np.arange(len(rating)), 2)
    return SimpleNamespace(row=rows, after=SimpleNamespace(mean=rating.ravel()), gather=np.ravel)


def test_a_field_that_drifts_is_moved_and_one_that_spreads_is_scaled():
    """In hindsight all are 66 points higher, later 100, and differences are half as large again."""
    n = 4000
    rating = np.random.default_rng(0).normal(1500.0, 100.0, (n, 2))
    drift = np.where(np.arange(n) < n // 2, 66.0, 100.0)
    mean, deviation = 1500.0 + 1.5 * (rating - 1500.0) + drift[:, None], np.full((n, 2), 60.0)
    moved, narrowed = align_hindsight(careers_of(rating), mean, deviation)
    some = np.r_[: n // 4, n - n // 4 : n]  # far from the jump
    np.testing.assert_allclose(moved[some], rating[some], atol=1e-6)
    np.testing.assert_allclose(narrowed[some], 40.0, atol=1e-6)


def test_lines_of_a_strong_player_end_together():
    """The strongest stood 150 points higher in hindsight, also where both lines knew all results."""
    n = 4000
    rating = np.random.default_rng(1).normal(1500.0, 100.0, (n, 2))
    rating[-1, 0] = 1800.0
    mean, deviation = 1500.0 + 1.5 * (rating - 1500.0), np.full((n, 2), 60.0)
    moved, _ = align_hindsight(careers_of(rating), mean, deviation)
    assert abs(moved[-1, 0] - 1800.0) < 1e-6


def test_a_field_of_equals_is_only_moved():
    rating, mean = np.full((10, 2), 1500.0), np.full((10, 2), 1600.0)
    moved, same = align_hindsight(careers_of(rating), mean, np.full((10, 2), 60.0))
    np.testing.assert_array_equal(moved, rating)
    np.testing.assert_array_equal(same, 60.0)
