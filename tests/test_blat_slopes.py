"""Derivatives of BlatMMR, and what is compiled."""

from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from tests.blat import (
    MATCHES,
    SETTING,
    SIZE,
    WIDTH,
)
from tests.conftest import mark_full, quick

pytestmark = pytest.mark.usefixtures("double")

LEARNABLE = {
    "low_rank": dict(algorithm="low_rank"),
    "fft": dict(algorithm="fft", draws="outside"),
    "naive": dict(algorithm="naive"),
    "by time": dict(kernel="gaussian_by_time"),
}


def log_loss(system):
    def loss(params):
        p = jr.run(system, MATCHES, params=params, schedule="stream").prediction
        score = jnp.asarray(MATCHES.score, p.dtype)
        return -jnp.mean(score * jnp.log(p) + (1.0 - score) * jnp.log1p(-p))

    return loss


@pytest.mark.parametrize("case", mark_full(LEARNABLE, "low_rank"))
def test_derivatives(case):
    # On a narrow grid: far from its edges the prior's mean has no part in any prediction.
    system = jr.blat_mmr(size=SIZE, half_width=2.5, kernel_width=0.1, **LEARNABLE[case], **SETTING)
    loss, params = log_loss(system), jax.tree.map(jnp.asarray, system.params)
    value_and_slope = quick(lambda params: (loss(params), jax.jacfwd(loss)(params)))  # one program for both
    _, slope = value_and_slope(params)
    for name in params._fields:
        value = float(getattr(params, name))
        step = 0.4 if name == "side_advantage" else 1e-4 * max(abs(value), 0.1)
        high, low = (
            float(value_and_slope(params._replace(**{name: jnp.asarray(value + d)}))[0]) for d in (step, -step)
        )
        assert abs(high - low) > 1e-9
        np.testing.assert_allclose(getattr(slope, name), (high - low) / (2 * step), rtol=1e-5, err_msg=name)


@pytest.mark.full  # those of contradicted certainties are in every run
@pytest.mark.parametrize("case", ["low_rank", "by time"])
def test_derivatives_are_finite_in_float32(case):
    with jax.enable_x64(False):
        system = jr.blat_mmr(size=SIZE, half_width=WIDTH, kernel_width=0.3, **LEARNABLE[case])
        slope = quick(jax.jacfwd(log_loss(system)))
        for beta in (0.8, 1.0):
            params = jax.tree.map(jnp.asarray, system.params._replace(beta=beta))
            assert all(bool(jnp.isfinite(x)) for x in slope(params))


def test_systems_alike_share_their_rules_and_new_parameters_compile_nothing():
    one, two = jr.blat_mmr(), jr.blat_mmr()
    assert one.rules == two.rules
    assert jr.blat_mmr(size=2001).rules != one.rules
    assert (
        jr.history.blat_mmr_beliefs.make_evidence_predicting_system(one).rules
        == jr.history.blat_mmr_beliefs.make_evidence_predicting_system(two).rules
    )
    setting = dict(size=SIZE, half_width=WIDTH, kernel_width=0.3)
    first, second = jr.blat_mmr(**setting), jr.blat_mmr(**setting, side_advantage=30, prior_mean=0.1)
    assert first.rules == second.rules
    jr.run(first, MATCHES)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(partial(noted, compiled))
    jr.run(second, MATCHES)
    jr.run(first, MATCHES, params=first.params._replace(beta=0.5, temperature=2.0, kernel_width=0.29))
    assert not compiled
    jr.run(jr.blat_mmr(**setting | dict(size=SIZE + 2)), MATCHES)
    assert compiled  # the listener works
    compiled.append(None)


def noted(compiled, event, duration, **_):
    if event.endswith("backend_compile_duration") and None not in compiled:
        compiled.append(event)


@pytest.mark.parametrize("kernel", mark_full(["none", "gaussian_by_time"], "gaussian_by_time"))
def test_derivatives_of_contradicted_certainties_are_finite(kernel):
    system = jr.blat_mmr("heaviside", support=[-1.0, 0.0, 1.0], kernel=kernel, beta=1.0)
    sure = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], np.float32)
    matches = jr.matches([[0, 1], [0, 1]], [1.0, 1.0], [0.0, 0.0])

    def mean(belief, params):
        state = system.init(system.params, 2)._replace(belief=belief)
        return jnp.sum(jr.ratings(system, jr.run(system, matches, state=state, params=params).state).deviation)

    for slope in jax.tree.leaves(quick(jax.grad(mean, argnums=(0, 1)))(sure, jax.tree.map(jnp.asarray, system.params))):
        assert np.isfinite(slope).all()


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
def test_slopes_of_the_log_loss_of_tennis():
    path = Path(__file__).parents[2] / "shared/data/atp.parquet"
    if not path.exists():
        pytest.skip("there is no tennis history beside the repository")
    matches = slice_events(jr.read(path, drop="walkover").matches, 500_000, 500_600)
    system, names = jr.blat_mmr(), ("beta", "prior_deviation", "kernel_width")
    with jax.enable_x64(True):
        arranged = jr.extend.schedule_by_level(matches, 32)

        def loss(values):
            params = system.params._replace(**dict(zip(names, values, strict=True)))
            p = jr.run(system, matches, params=params, schedule=arranged).prediction
            return -jnp.mean(jnp.log(jnp.where(matches.score == 1.0, p, 1.0 - p)))

        at = jnp.array([getattr(system.params, name) for name in names])
        step = 1e-4 * at
        around = at[None] + jnp.concatenate([-jnp.diag(step), jnp.diag(step)])
        low, high = quick(jax.vmap(loss))(around).reshape(2, 3)
        np.testing.assert_allclose(quick(jax.jacfwd(loss))(at), (high - low) / (2.0 * step), rtol=1e-5)
