"""Which algorithms `auto` takes hangs on the device; what they calculate does not."""

import jax
import numpy as np

import jaxrate as jr
from jaxrate.systems.blat_mmr import algorithm_preferences
from jaxrate.systems.blat_mmr.algorithm_preferences import AlgorithmPreferences, device_preferences
from jaxrate.testing.cases import assert_close_leaves

WAYS = {
    "band": AlgorithmPreferences(("low_rank", "fft", "naive"), 100, "fft"),
    "fft": AlgorithmPreferences(("fft", "naive", "low_rank"), 0, "fft"),
    "naive": AlgorithmPreferences(("naive", "low_rank", "fft"), 0, "naive"),
}


def test_every_device_has_its_preferences(monkeypatch):
    table = algorithm_preferences.read_preferences()
    assert table.keys() == {"cpu", "gpu"} and device_preferences() is table["cpu"]
    for row in table.values():
        assert sorted(row.sums) == ["fft", "low_rank", "naive"] and row.wide_kernel in ("fft", "naive")
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert device_preferences() is table["gpu"]


def test_auto_follows_them_and_the_numbers_stay(monkeypatch):
    matches = jr.matches(np.array([[0, 1], [1, 2], [2, 0]]), np.array([1.0, 0.5, 0.0]))
    found = {}
    for way, preferences in WAYS.items():
        monkeypatch.setattr(algorithm_preferences, "read_preferences", lambda x=preferences: {"cpu": x})
        system = jr.blat_mmr(size=41, half_width=4.0, kernel_width=0.5)
        (model,) = system.rules.advance.bound_args
        assert (model.summing, model.spreading) == (preferences.sums[0], way)
        found[way] = jr.run(system, matches)
    for way in ("fft", "naive"):
        assert_close_leaves(way, found[way], found["band"], 2e-5)


def test_a_kernel_of_ones_own_width_has_no_matrix(monkeypatch):
    """Each match would make one."""
    monkeypatch.setattr(algorithm_preferences, "read_preferences", lambda: {"cpu": WAYS["naive"]})
    system = jr.blat_mmr(size=41, half_width=4.0, kernel="gaussian_by_time", kernel_width=0.5)
    assert system.rules.advance.bound_args[0].spreading == "fft"
