"""Work done by the workers of an executor is the work done here."""

import os
import pickle
import socket
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
from tests.conftest import mark_full


class Pickled:
    """An executor that does here what was pickled."""

    def map(self, function, items):
        return [pickle.loads(pickle.dumps(partial(function, item)))() for item in items]


def league(players, count):
    return jr.data.Dataset(
        jr.data.simulate.league(players, count, seed=3).matches, np.arange(players), np.arange(count)
    )


def alike(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize(
    "executor", [Pickled(), pytest.param(ThreadPoolExecutor(2), marks=pytest.mark.full)], ids=["pickled", "threads"]
)
def test_the_numbers_are_the_same(executor):
    data, system = league(30, 600), jr.elo()
    settings = system.params._replace(k=np.linspace(4.0, 40.0, 12))
    np.testing.assert_allclose(
        jr.fitting.sweep_parameters(system, data, settings, executor=executor),
        jr.fitting.sweep_parameters(system, data, settings),
        rtol=1e-6,
    )
    alike(jr.fitting.fit_rolling(system, data, 2, executor=executor), jr.fitting.fit_rolling(system, data, 2))
    done = []
    compared = data, {"elo": {}, "fast": jr.elo(k=64)}, (None, 50.0)
    found = jr.compare(*compared[:2], lengths=compared[2], executor=executor, watch=done.append)
    assert found == jr.compare(*compared[:2], lengths=compared[2]) and done == [1 / 4, 1 / 2, 3 / 4, 1.0]


def test_workers_are_told_the_precision(x64):
    kinds = map_items(ThreadPoolExecutor(1), lambda size: jnp.zeros(size).dtype, [1, 2])
    assert kinds == [jnp.result_type(float)] * 2 == [np.float64 if x64 else np.float32] * 2


def test_rules_of_their_own_are_swept_and_searched_by_workers():
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


# States and settings spread over eight devices, and over two processes, are rated as on one.

BEGIN = """
import re, sys
from functools import partial
from pathlib import Path

import pytest

import jax
import jax.numpy as jnp
import numpy as np

import jaxrate as jr

def spread_over(devices):
    return jax.NamedSharding(jax.make_mesh((devices,), ("players",)), jax.P("players"))

def fresh(system, players, sharding):
    return jax.jit(partial(system.init, system.params, players), out_shardings=sharding)()
"""
SETTINGS = """
matches = jr.data.simulate.league(43, 600, seed=1).matches
system = jr.elo()
k = np.linspace(2.0, 40.0, 16)
folder = Path(sys.argv[1])

def sweep(k):
    return jr.fitting.sweep_parameters(system, matches, system.params._replace(k=k))

swept = sweep(jax.device_put(jnp.asarray(k), spread_over(8)))
found = jr.fit(system, matches, free=("k",), starts=3, steps=4, objective=jr.fitting.ahead(errors="products"))
text = {path.name: path.read_text() for path in folder.glob("*after_optimizations.txt")}
spread = {name: x for name, x in text.items() if "num_partitions=8" in x}
assert any("steps" in x or "stream" in x for x in spread) and any("sums" in x for x in spread), [*text]
assert not [name for name, x in spread.items() if re.search("all-|collective-|reduce-scatter", x)]
with jax.default_device(jax.devices()[0]):
    np.testing.assert_allclose(swept, sweep(k), rtol=1e-6)
    np.testing.assert_allclose(found.loss, sweep(np.array([found.params.k]))[0], rtol=1e-6)
cases = int(sys.argv[2])
fewer = jax.device_put(jnp.asarray(k[:8]), spread_over(4))
for other in (k[:5], fewer)[:cases]:  # not as many on each, and fewer devices
    np.testing.assert_allclose(sweep(other), swept[: len(other)], rtol=1e-6)
"""
PLAYERS = """
matches = jr.data.simulate.league(43, 600, seed=1).matches
blat = jr.blat_mmr(size=31, half_width=3.0, kernel_width=0.6)
for system, events, rounding in (
    (jr.glicko(), matches, 0.0), (blat, matches, 1e-6), (jr.glicko(period=50.0), jr.periods(matches, 50.0), 0.0)
)[:cases]:
    state = fresh(system, 40, spread_over(8))
    done = jr.run(system, events, state=state, num_players=43)  # 3 newcomers, and 5 more for 6 rows on each device
    again = jr.run(system, events, state=done.state)
    alone = jr.run(system, events, num_players=48, schedule="levels")
    for one, other in ((done, alone), (again, jr.run(system, events, state=alone.state, schedule="levels"))):
        for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=rounding)
    for x in jax.tree.leaves(done.state):
        assert len(x.sharding.device_set) == 8 and x.addressable_shards[0].data.shape[0] == 6
    assert done.prediction.sharding.is_fully_replicated and len(state[0]) == 40  # and is left as it is
    guess, wanted = (jr.predict(system, x.state, matches) for x in (done, alone))
    np.testing.assert_allclose(guess, wanted, rtol=0, atol=rounding)
"""
PROCESS = """
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
matches = jr.data.simulate.league(43, 600, seed=1).matches
system = jr.glicko()
done = jr.run(system, matches, state=fresh(system, 40, spread_over(4)), num_players=43)
alone = jr.run(system, matches, num_players=44, schedule="levels")
np.testing.assert_array_equal(done.prediction, alone.prediction)
for x in done.state.rating.addressable_shards:
    np.testing.assert_array_equal(x.data, alone.state.rating[x.index])
assert len(done.state.rating.addressable_shards) == 2 and len(done.state.rating) == 44
try:
    spread = jax.jit(lambda: jnp.ones(4), out_shardings=spread_over(4))()
    jr.fitting.sweep_parameters(system, matches, system.params._replace(c=spread))
except ValueError as error:
    assert "devices of other processes" in str(error)
else:
    raise AssertionError
"""


def started(code, devices, *arguments, flags=""):
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count={devices} {flags}"
    environment = {"XLA_FLAGS": flags, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", BEGIN + code, *map(str, arguments)]
    return subprocess.Popen(command, env=os.environ | environment, stderr=subprocess.PIPE, text=True)


def well(*processes):
    """Whether all end without an error."""
    errors = [process.communicate(timeout=300)[1] for process in processes]
    for process, error in zip(processes, errors, strict=True):
        assert process.returncode == 0, error
    return True


@pytest.mark.parametrize("cases", mark_full([1, 3], 1))
def test_settings_and_players_on_eight_devices(tmp_path, cases):
    dump = f"--xla_dump_to={tmp_path} --xla_dump_hlo_as_text --xla_dump_hlo_module_re=.*(steps|stream|sums|products).*"
    assert well(started(SETTINGS + PLAYERS, 8, tmp_path, cases, flags=dump))


@pytest.mark.full
def test_players_of_two_processes():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    assert well(*(started(PROCESS, 2, address, number) for number in range(2)))
