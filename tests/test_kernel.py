"""The kernel that walks through all levels: interpreted, it rates as the loop does."""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu, triton
from scipy import special

import jaxrate as jr
from jaxrate.fitting import fit_problem
from jaxrate.replay import checked_replay, execution, schedule
from jaxrate.replay.kernel import levels_kernel
from jaxrate.testing.cases import PLAYERS, SystemFormPrecision, assert_close_leaves, split_seasons
from tests.conftest import MOSTLY_DOUBLE, mark_full, quick
from tests.test_contract import EVERY

RATED = ("elo", "elo_fading", "glicko", "glicko2", "trueskill", "weng_lin", "skills", "calibrated")
ROUNDING = 1e-6  # about eight units in the last place


@pytest.fixture
def interpreted(monkeypatch):
    """As on a GPU, but for the kernel, which is interpreted; the widths of the steps that it takes."""
    widths, replay = [], levels_kernel.replay_levels_in_kernel

    def interpret(rules, size, params, carry, steps):
        widths.append(steps.number.shape[-1])
        return replay(rules, size, params, carry, steps, interpret=True)

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(levels_kernel, "replay_levels_in_kernel", interpret)
    programs = [(levels_kernel, "replay_levels_in_kernel_if_faster"), (execution, "replay_steps")]
    for module, name in [*programs, (execution, "replay_matches_one_by_one")]:  # others, so that none is reused
        monkeypatch.setattr(module, name, partial(getattr(module, name)))
    return widths


@pytest.mark.parametrize("name", mark_full(RATED, "trueskill", "skills"))
def test_the_kernel_rates_as_the_loop_does(interpreted, name):
    """The contract's seasons, with sides, weights and draws, one carried on from the other; some slots are empty."""
    system, runs = EVERY[name], {}
    first, second = split_seasons(SystemFormPrecision(system, "levels", False))
    for engine in ("kernel", "scan"):
        before = jr.run(
            system, first, schedule=jr.extend.schedule_by_level(first, 8), num_players=PLAYERS + 9, engine=engine
        )
        after = jr.run(
            system, second, schedule=jr.extend.schedule_by_level(second, 8), state=before.state, engine=engine
        )
        runs[engine] = before.prediction, after
    assert_close_leaves(name, runs["kernel"], runs["scan"], ROUNDING)


@MOSTLY_DOUBLE
def test_outlooks_in_steps_wider_than_a_block(interpreted, monkeypatch, league, x64):
    monkeypatch.setattr(levels_kernel, "WARP", 4)
    monkeypatch.setattr(levels_kernel, "MATCHES_AT_ONCE", 4)
    system = jr.forecasts.add_outcomes(jr.elo())
    plan = jr.extend.schedule_by_level(league, 11)
    assert (np.asarray(plan.blocks[0].number)[: plan.steps[0], 8:] < plan.num_events).any()
    found, wanted = (jr.run(system, league, schedule=plan, engine=engine) for engine in ("kernel", "scan"))
    assert_close_leaves("outlook", found, wanted, 1e-12 if x64 else ROUNDING)


def test_settings_and_histories_have_blocks_of_their_own(interpreted, league):
    system = jr.glicko()
    others = league._replace(score=1.0 - league.score)
    plan = jr.extend.schedule_by_level(league, 8)
    histories = jax.tree.map(lambda *x: jnp.stack(x), league, others)

    def rated(engine):
        def one(growth, matches):
            params = system.params._replace(c=growth)
            return jr.scan(system, params, system.init(params, 40), matches, plan, engine=engine)

        grow = jnp.asarray([5.0, 50.0], float)
        return jax.jit(jax.vmap(jax.vmap(one, in_axes=(0, None)), in_axes=(None, 0)))(grow, histories)

    assert_close_leaves("blocks", rated("kernel"), rated("scan"), ROUNDING)


def sorting(system):
    def predict(constants, rows, event):
        return lax.sort(rows.rating)[0] / 4000.0

    return system._replace(rules=system.rules._replace(predict=predict))


def test_what_the_kernel_does_not_know_is_refused(interpreted, league):
    wins = league._replace(score=np.rint(league.score))
    cases = [
        (jr.urnings(), wins, {"key": jax.random.key(0)}, "rules that draw random numbers"),
        (EVERY["blat_mmr"], league, {}, "these have vectors"),
        (sorting(jr.glicko()), league, {}, "these rules have sort"),
        (jr.glicko(), jr.periods(league, 7.0), {}, "not periods or rounds"),
        (jr.glicko(), league, {"engine": "fast"}, "engine must be 'auto', 'scan' or 'kernel', got 'fast'"),
    ]
    for system, events, options, message in cases:
        with pytest.raises(ValueError, match=message):
            jr.run(system, events, **{"engine": "kernel"} | options)


def test_slopes_are_those_of_the_loop(interpreted, league):
    def slopes(differentiate, engine):
        def loss(k):
            return jnp.sum(
                jr.run(jr.elo(), league, params=jr.elo().params._replace(k=k), engine=engine).prediction ** 2
            )

        return differentiate(loss)(20.0)

    for differentiate in (jax.jacfwd, lambda loss: jax.jit(jax.grad(loss))):
        np.testing.assert_allclose(slopes(differentiate, "kernel"), slopes(differentiate, "scan"), rtol=1e-5)


# The choice between the kernel and the loop.

AT_ONCE = jr.extend.CompilePolicy(short_history=0)


@pytest.mark.parametrize(
    ("system", "options", "widths"),
    [
        ("glicko", {}, [64]),
        ("glicko", {"policy": None}, []),  # it is short
        ("glicko", {"engine": "scan"}, []),
        ("glicko", {"schedule": "stream"}, []),
        ("blat_mmr", {}, []),  # whose players are vectors
        ("urnings", {"key": jax.random.key(0)}, []),
    ],
)
def test_the_kernel_is_taken_where_it_fits(interpreted, league, system, options, widths):
    rounded = league._replace(score=np.rint(league.score))
    jr.run(EVERY[system], rounded, **{"policy": AT_ONCE, "schedule": "levels"} | options)
    assert interpreted == widths


@MOSTLY_DOUBLE
@pytest.mark.parametrize("name", ["glicko", "urnings", "outlook"])
def test_narrow_and_wide_parts_of_a_history_are_rated_in_turn(interpreted, monkeypatch, name, x64):
    """Of five players first, then of 400, then of five again; in three blocks, the same as in one."""
    for name_, value in dict(NARROW_WIDTH=8, PART_MATCHES=150, SAMPLE_MATCHES=150).items():
        monkeypatch.setattr(schedule, name_, value)
    monkeypatch.setattr(levels_kernel, "NARROW_WIDTH", 8)
    monkeypatch.setattr(schedule, "GPU_WIDTHS", (2, 64))
    random = np.random.default_rng(0)
    pairs = [[random.permutation(players)[:2] for _ in range(300)] for players in (5, 400, 5)]
    history = jr.matches(np.concatenate(pairs), random.integers(0, 2, 900), np.arange(900.0))
    system = {"glicko": jr.glicko(), "urnings": jr.urnings(), "outlook": jr.forecasts.add_outcomes(jr.elo())}[name]
    options = {"policy": AT_ONCE, "key": jax.random.key(0) if name == "urnings" else None}
    found = jr.run(system, history, **options)
    assert set(interpreted) == (set() if name == "urnings" else {2})
    plan = schedule.plan_narrow_and_wide_parts(jr.events.event_builders.check_matches(history), 64)
    assert [block.number.shape[1] for block in plan.blocks] == [2, 32, 2]
    wanted = jr.run(system, history, engine="scan", schedule=jr.extend.schedule_by_level(history, 8), **options)
    assert_close_leaves(name, found, wanted, 1e-12 if x64 else ROUNDING)
    engine = "scan" if name == "urnings" else "kernel"
    traced = jax.jit(lambda state: jr.scan(system, None, state, history, plan, key=options["key"], engine=engine))
    assert_close_leaves(name, traced(system.init(system.params, 400)), wanted, 1e-12 if x64 else ROUNDING)


def test_some_settings_are_swept_by_the_kernel_and_more_by_the_loop(interpreted, monkeypatch, league):
    monkeypatch.setattr(fit_problem, "compile_policy_from_environment", lambda: AT_ONCE)
    grid, losses = jr.elo().params._replace(k=np.array([10.0, 20.0, 40.0])), []
    for limit, widths in ((2, []), (3, [64])):
        monkeypatch.setattr(fit_problem, "KERNEL_SETTINGS", limit)
        losses.append(jr.fitting.sweep_parameters(jr.elo(), league, grid))
        assert interpreted == widths
    np.testing.assert_allclose(*losses, rtol=1e-6)


def test_the_kernel_is_for_one_gpu(league, interpreted, monkeypatch):
    monkeypatch.setattr(checked_replay, "is_sharded", lambda state: True)
    with pytest.raises(ValueError, match="the state is spread over several"):
        jr.run(jr.elo(), league, engine="kernel")
    monkeypatch.undo()
    with pytest.raises(ValueError, match='engine="kernel" is for a GPU, and this is a cpu: leave it out'):
        jr.run(jr.elo(), league, engine="kernel")


def test_functions_that_kernels_do_not_know(x64):
    x = np.linspace(-5.0, 8.0, 2001).astype(float if x64 else np.float32)
    for function, exact in ((levels_kernel.erf, special.erf), (levels_kernel.erfc, special.erfc)):
        np.testing.assert_allclose(quick(function)(x), exact(x.astype(float)), rtol=2e-14 if x64 else 5e-6)


def test_arrays_are_taken_apart():
    def function(x, y):
        table = jnp.stack([x, y], axis=1).reshape(2, 3).T
        parts = lax.split(jnp.flip(jnp.concatenate([x, y])), (2, 4))
        whole = jnp.max(table, axis=0) + jnp.min(table) * jnp.sum(jnp.where(table > 0.5, table, 2.0), axis=(0, 1))
        late = jnp.any(x > 0.9) & jnp.all(y > 0.1)
        return (
            whole,
            parts[1][1::2] * lax.expand_dims(x[0], (0,)),
            jnp.where(late, x, lax.stop_gradient(y)),
            np.arange(3.0),
        )

    numbers = [*np.random.default_rng(0).random((6, 20)).astype(jnp.result_type(float))]
    closed = jax.make_jaxpr(function)(*2 * (jnp.zeros(3),))
    assert not levels_kernel.unsupported_operations(closed)
    wanted = quick(jax.vmap(function))(*(np.stack(x, axis=1) for x in (numbers[:3], numbers[3:])))
    found = quick(partial(levels_kernel.evaluate_jaxpr_on_scalars, closed))(numbers)
    columns = np.concatenate([np.reshape(x, (20, -1)) for x in wanted], axis=1).T
    assert_close_leaves("numbers", [np.broadcast_to(x, 20) for x in found], [*columns], 1e-6)


# The kernel's own code on threads of Pallas's simulated GPU, which sees races and accesses outside of arrays.

simulator = pytest.importorskip("jax._src.pallas.mosaic_gpu.interpret.interpret_pallas_call")
pallas_core = pytest.importorskip("jax._src.pallas.core")
parameters = pytest.importorskip("jax._src.pallas.mosaic_gpu.interpret.params")
WARN = {"on_race": "warn"} if hasattr(parameters.InterpretGPUParams, "on_race") else {}  # later JAX else raises errors

RACE_PLAYERS, RACE_MATCHES = 5, 9


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


def simulate_on_threads(threads):
    """In place of `pallas_call`: the kernel on simulated threads."""

    def pallas_call(kernel, shapes, **options):
        rate, columns, leaves, *_ = kernel.args
        aliases = {output: given for given, output in options["input_output_aliases"].items()}

        def call(*given):
            made = [given[aliases[i]] if i in aliases else jnp.zeros(x.shape, x.dtype) for i, x in enumerate(shapes)]

            def walk(before, after, barrier):
                def pass_barrier():
                    mosaic_gpu.barrier_arrive(barrier)
                    mosaic_gpu.barrier_wait(barrier)

                levels_kernel.triton = SimpleNamespace(
                    load=load, store=store, debug_barrier=pass_barrier, CompilerParams=triton.CompilerParams
                )
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


@pytest.mark.parametrize("threads", [1, 2])  # one that stops leaves the other at the barrier for ever
def test_no_access_races_with_another_or_is_outside_of_its_array(monkeypatch, threads):
    """Of a small history, whose last player has no row: with ids that are traced their matches are nobody's.

    A race is seen only if the threads do not happen to take turns, as they seldom do on a busy machine.
    """
    random = np.random.default_rng(0)
    player = np.array([random.permutation(RACE_PLAYERS)[:2] for _ in range(RACE_MATCHES)])
    history, system = jr.matches(player, random.integers(0, 3, RACE_MATCHES) / 2), jr.glicko()
    plan, state = jr.extend.schedule_by_level(history, threads), system.init(system.params, RACE_PLAYERS - 1)
    assert plan.blocks[0].number.shape[1] == threads
    wanted = jax.jit(lambda *x: jr.scan(system, None, state, *x))(history, plan)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    for name in ("WARP", "MATCHES_AT_ONCE"):
        monkeypatch.setattr(levels_kernel, name, threads)
    monkeypatch.setattr(levels_kernel, "triton", levels_kernel.triton)  # put back after the test
    monkeypatch.setattr(levels_kernel, "pl", simulate_on_threads(threads))
    program = partial(levels_kernel.replay_levels_in_kernel)  # another one, so that none is reused
    monkeypatch.setattr(levels_kernel, "replay_levels_in_kernel", program)
    simulator.reset_gpu_interpret_mode_state()
    found = jax.jit(lambda *x: jr.scan(system, None, state, *x, engine="kernel"))(history, plan)
    if threads > 1:  # else it is a stream, in which matches of nobody are left out
        assert_close_leaves("threads", found, wanted, 1e-6)
    assert not simulator.get_races().races_found
