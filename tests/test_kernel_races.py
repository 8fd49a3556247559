"""The kernel's own code on threads of Pallas's simulated GPU, which sees races and accesses outside of arrays.

JAX simulates kernels of Mosaic, not of Triton, so what is Triton's is replaced here: loads, stores and the barrier. A
simulated thread rates one match of a step. This shows where barriers must stand, and that every access is inside its
array. It cannot show what compilers make of the kernel, nor how a real GPU orders accesses.
"""

from functools import partial
from itertools import count
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu

import jaxrate as jr
from jaxrate.replay.kernel import levels_kernel
from jaxrate.testing.cases import assert_close_leaves
from tests.conftest import mark_full

simulator = pytest.importorskip("jax._src.pallas.mosaic_gpu.interpret.interpret_pallas_call")
pallas_core = pytest.importorskip("jax._src.pallas.core")
parameters = pytest.importorskip("jax._src.pallas.mosaic_gpu.interpret.params")
WARN = {"on_race": "warn"} if hasattr(parameters.InterpretGPUParams, "on_race") else {}  # later JAX else raises errors

PLAYERS, MATCHES = 5, 9
BARRIERS = "before writing", "before the next step"


class ThreadView:
    """A reference as one thread sees it: in columns of events its own slot, in leaves of the state a row."""

    def __init__(self, ref, thread=None):
        self.ref, self.thread, self.dtype = ref, thread, ref.dtype
        self.shape = ref.shape if thread is None else (*ref.shape[:-1], 1)

    @property
    def at(self):
        return self

    def __getitem__(self, index):
        *before, last = index if isinstance(index, tuple) else (index,)
        if self.thread is not None:
            return self.ref, (*before, self.thread), (1,)
        shape = jnp.shape(last)  # [1] of the player of a match, [] of a constant
        return self.ref, (*before, jnp.reshape(last, ())), shape


def load(place):
    ref, index, shape = place
    return jnp.reshape(ref[index], shape)


def store(place, value, mask=None):
    ref, index, _ = place

    def write():
        ref[index] = value[0]

    write() if mask is None else pl.when(mask[0])(write)


def simulate_on_threads(missing, threads):
    """In place of `pallas_call`: the kernel on simulated threads, without one of its barriers."""

    def pallas_call(kernel, shapes, **options):
        rate, columns, leaves, *_ = kernel.args
        aliases = {output: given for given, output in options["input_output_aliases"].items()}

        def call(*given):
            made = [given[aliases[i]] if i in aliases else jnp.zeros(x.shape, x.dtype) for i, x in enumerate(shapes)]
            number = count()

            def walk(before, after, barrier):
                def pass_barrier():
                    if BARRIERS[next(number) % len(BARRIERS)] != missing:
                        mosaic_gpu.barrier_arrive(barrier)
                        mosaic_gpu.barrier_wait(barrier)

                levels_kernel.triton = SimpleNamespace(load=load, store=store, debug_barrier=pass_barrier)
                thread = jax.lax.axis_index("thread")
                events = [ThreadView(x, thread) for x in before[2 : 2 + columns]]
                state, guesses = after[:leaves], [ThreadView(x, thread) for x in after[leaves:]]
                views = [*map(ThreadView, before[:2]), *events, *state, *map(ThreadView, state), *guesses]
                kernel.func(rate, columns, leaves, 1, False, *views)

            @pl.run_state
            def simulated(refs):
                mesh = mosaic_gpu.Mesh(num_threads=threads, thread_name="thread")

                @pallas_core.core_map(mesh, interpret=parameters.InterpretGPUParams(detect_races=True, **WARN))
                def block():
                    barrier = mosaic_gpu.Barrier(num_arrivals=threads)
                    pl.run_scoped(partial(walk, *refs), barrier, collective_axes="thread")

            return simulated((list(given), made))[1]

        return call

    return SimpleNamespace(pallas_call=pallas_call, ds=pl.ds, no_block_spec=pl.no_block_spec)


def rate_on_threads(monkeypatch, missing=None, threads=2):
    """What the kernel makes of a small history, what the loop does, and whether the kernel has a race.

    The last player has no row: with ids that are traced, and so not checked, their matches are nobody's.
    """
    random = np.random.default_rng(0)
    player = np.array([random.permutation(PLAYERS)[:2] for _ in range(MATCHES)])
    history, system = jr.matches(player, random.integers(0, 3, MATCHES) / 2), jr.glicko()
    plan, state = jr.extend.schedule_by_level(history, threads), system.init(system.params, PLAYERS - 1)
    assert plan.number.shape[1] == threads
    wanted = jax.jit(lambda plan: jr.scan(system, None, state, plan))(plan)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    for name in ("WARP", "MATCHES_AT_ONCE"):
        monkeypatch.setattr(levels_kernel, name, threads)
    monkeypatch.setattr(levels_kernel, "triton", levels_kernel.triton)  # put back after the test
    monkeypatch.setattr(levels_kernel, "pl", simulate_on_threads(missing, threads))
    program = partial(levels_kernel.replay_levels_in_kernel)  # another one, so that none is reused
    monkeypatch.setattr(levels_kernel, "replay_levels_in_kernel", program)
    simulator.reset_gpu_interpret_mode_state()
    found = jax.jit(lambda plan: jr.scan(system, None, state, plan, engine="kernel"))(plan)
    jax.block_until_ready(found)
    return found, wanted, simulator.get_races().races_found


def test_no_access_races_with_another_or_is_outside_of_its_array(monkeypatch):
    found, wanted, has_race = rate_on_threads(monkeypatch)
    assert_close_leaves("threads", found, wanted, 1e-6)
    assert not has_race


@pytest.mark.parametrize("missing", mark_full(BARRIERS, "before writing"))
def test_without_a_barrier_there_is_a_race(monkeypatch, missing):
    """It is seen only if the threads do not happen to take turns, as they seldom do on a busy machine."""
    assert any(rate_on_threads(monkeypatch, missing)[2] for _ in range(5))


def test_a_read_outside_of_the_state_is_seen(monkeypatch):
    """By one thread, as the others would wait for ever at the barrier for one that stops."""

    class WithoutClip:
        def __getattr__(self, name):
            return (lambda x, *_: x) if name == "clip" else getattr(jnp, name)

    monkeypatch.setattr(levels_kernel, "jnp", WithoutClip())
    with pytest.raises(jax.errors.JaxRuntimeError, match="Out-of-bounds"):
        rate_on_threads(monkeypatch, threads=1)
