"""Float32 after a long history, against float64: what `experiments/precision.py` measures, bounded."""

from functools import lru_cache

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.data.simulate import contests, league
from jaxrate.replay.execution import CompilePolicy

SMALL = {"blat_mmr": {"size": 101, "half_width": 5.0, "kernel_width": 0.2}, "category_glicko": {"categories": 1}}
WORST = 1e-3  # of a rating, in units of its deviation; of a prediction a tenth of it
TOO_FINE = "urnings", "topcoder"  # random; of matches, volatilities fall below what float32 tells apart at 1500 points
KINDS = {"matches": jr.Matches, "periods": jr.Periods, "rounds": jr.Rounds}
CASES = [
    (name, form)
    for name in jr.extend.SYSTEMS
    for form, kind in KINDS.items()
    if kind in jr.extend.SYSTEMS[name]().events
]


@lru_cache
def history(form):
    """Hundreds of events for everybody, over decades."""
    if form == "rounds":
        return contests(40, 600, size=20, seed=1, days=20_000.0, drift=50.0).rounds
    matches = league(30, 10_000, seed=1, days=20_000.0, drift=50.0).matches
    return jr.periods(matches, 30.0) if form == "periods" else matches


def replay(system, events, double):
    with jax.enable_x64(double):
        key = None if system.rules.draw is None else jax.random.key(0)
        done = jr.run(system, events, key=key, policy=CompilePolicy(quick=True))
        return jax.tree.map(lambda x: np.asarray(x, np.float64), (jr.ratings(system, done.state), done.prediction))


AS_RULE = ("skills", "matches"), ("topcoder", "rounds")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param(*case, marks=() if case in AS_RULE else pytest.mark.full)
        for case in CASES
        if case[1] == "rounds" or case[0] not in TOO_FINE
    ],
)
def test_float32_is_near_float64_after_a_long_history(name, form):
    period = {"period": 30.0} if form == "periods" and name != "elo" else {}
    system, events = jr.extend.SYSTEMS[name](**SMALL.get(name, {}) | period), history(form)
    (rating, guess), (true, truth) = (replay(system, events, double) for double in (False, True))
    unit = 100.0 if true.deviation is None else true.deviation
    np.testing.assert_array_less(np.abs(rating.mean - true.mean) / unit, WORST)
    np.testing.assert_array_less(np.abs(guess - truth), 0.1 * WORST)
