"""Work done by the workers of an executor is the work done here."""

import importlib.util
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.parallel_map import map_items

ENGINES = {
    "distributed": "distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None).get_executor()",
    "ray": "ray.util.multiprocessing.Pool(2)",
}
WORK = """
import sys
import jax
import numpy as np

import jaxrate as jr

if __name__ == "__main__":
    matches = jr.data.simulate.league(30, 600, seed=3).matches
    data = jr.data.Dataset(matches, np.arange(30), np.arange(600))
    system = jr.elo()
    settings = system.params._replace(k=np.linspace(4.0, 40.0, 12))

    def work(executor):
        yield jr.fitting.sweep_parameters(system, data, settings, executor=executor)
        yield [str(result) for result in jr.compare(data, ["elo", "glicko"], executor=executor).results]
        rated = jr.history.rate_leagues(system, data, np.arange(600) % 2, executor=executor)
        yield np.stack([one.state.rating for one in rated.values()])
        yield str(jr.fitting.fit_rolling(system, data, 2, executor=executor))
        found = jr.fit(system, data, starts=2, key=jax.random.key(0), executor=executor)
        yield np.round(np.log(found.params.k), 2)

    import {module}
    with {engine} as executor:
        there = [*work(executor)]
    for one, other in zip(there, work(None), strict=True):
        np.testing.assert_array_equal(one, other)
"""


class Pickled:
    """An executor that does here what was pickled."""

    def map(self, function, items):
        return [pickle.loads(pickle.dumps(partial(function, item)))() for item in items]


def league(players, count):
    return jr.data.Dataset(
        jr.data.simulate.league(players, count, seed=3).matches, np.arange(players), np.arange(count)
    )


def alike(one, other):
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    "executor", [Pickled(), pytest.param(ThreadPoolExecutor(2), marks=pytest.mark.full)], ids=["pickled", "threads"]
)
def test_the_numbers_are_the_same(executor):
    data, key = league(30, 600), jax.random.key(0)
    system = jr.elo()
    settings = system.params._replace(k=np.linspace(4.0, 40.0, 12))
    np.testing.assert_allclose(
        jr.fitting.sweep_parameters(system, data, settings, executor=executor),
        jr.fitting.sweep_parameters(system, data, settings),
        rtol=1e-6,
    )
    alike(jr.fitting.fit_rolling(system, data, 2, executor=executor), jr.fitting.fit_rolling(system, data, 2))
    options = {"starts": 2, "key": key, "errors": "products"}
    found, wanted = (jr.fit(system, data, **options, executor=x) for x in (executor, None))
    np.testing.assert_allclose(found.params.k, wanted.params.k, rtol=1e-3)
    np.testing.assert_allclose(found.loss, wanted.loss, rtol=1e-6)
    done = []
    compared = data, {"elo": {}, "fast": jr.elo(k=64)}, (None, 50.0)
    found = jr.compare(*compared[:2], lengths=compared[2], executor=executor, watch=done.append)
    assert found == jr.compare(*compared[:2], lengths=compared[2]) and done == [1 / 4, 1 / 2, 3 / 4, 1.0]


def test_workers_are_told_the_precision(x64):
    kinds = map_items(ThreadPoolExecutor(1), lambda size: jnp.zeros(size).dtype, [1, 2])
    assert kinds == [jnp.result_type(float)] * 2 == [np.float64 if x64 else np.float32] * 2


def test_rules_of_their_own_are_swept_and_searched_by_workers():
    """Where each setting has rules that are made for it."""
    system, data = jr.blat_mmr(size=31, half_width=3.0, kernel_width=0.6), league(20, 60)
    settings = system.params._replace(kernel_width=np.array([0.5, 0.9]))
    swept, wanted = (jr.fitting.sweep_parameters(system, data, settings, executor=x) for x in (Pickled(), None))
    np.testing.assert_allclose(swept, wanted, rtol=1e-6)


def test_processes():
    system, data = jr.elo(), league(30, 600)
    settings = system.params._replace(k=np.linspace(4.0, 40.0, 12))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        found = jr.fitting.sweep_parameters(system, data, settings, executor=executor)
    np.testing.assert_array_equal(found, jr.fitting.sweep_parameters(system, data, settings))


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_that_exist(engine, tmp_path):
    """In other processes, to the bit but for searches."""
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed: pip install 'jaxrate[cluster]'")
    script = tmp_path / "work.py"
    script.write_text(
        WORK.format(engine=ENGINES[engine], module=engine if engine == "distributed" else "ray.util.multiprocessing")
    )
    path = {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=os.environ | path)
    assert done.returncode == 0, done.stderr
