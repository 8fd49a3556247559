"""What a GPU computes, beside the CPU, other programs, and the same by other ways: `pytest -n 0 -m gpu` on one."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.data.simulate import contests, league
from jaxrate.replay import compiler_options, execution
from jaxrate.replay.execution import CompilePolicy
from jaxrate.replay.schedule import NARROW_WIDTH
from jaxrate.testing import properties
from jaxrate.testing.cases import FORMS, SystemFormPrecision, assert_close_leaves, split_seasons, strict_precision

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(jax.default_backend() != "gpu", reason="there is no GPU"),
    pytest.mark.filterwarnings("default"),
]
REFERENCE = Path(__file__).parent / "reference"
GRID = {"blat_mmr": {"size": 101, "half_width": 5.0, "kernel_width": 0.2}}
STREAMS = "elo", "glicko2", "blat_mmr"  # a state of few numbers, with a loop of its own, and of vectors
TOLERANCE = {True: 1e-8, False: 2e-4}  # in float64 or not, of ratings, deviations and predictions, relative
CASES = [
    SystemFormPrecision(jr.extend.SYSTEMS[name](**GRID.get(name, {})), form, double)
    for name, make in jr.extend.SYSTEMS.items()
    for form, kind in FORMS.items()
    if kind in make().events and (form != "stream" or name in STREAMS)
    for double in (True, False)
]
KERNEL_SYSTEMS = "elo", "glicko", "glicko2", "trueskill", "weng_lin", "skills"


def is_random(system):
    return system.rules.draw is not None


def ratings_and_predictions(system, run, double):
    """Ratings, deviations and predictions of a run, in float64, without those that a system lacks."""
    with strict_precision(double):
        found = [np.asarray(x, np.float64) for x in (*jr.ratings(system, run.state), run.prediction)]
    return [x for x in found if not np.isnan(x).all()]


def assert_close(found, wanted, tolerance):
    for x, y in zip(found, wanted, strict=True):
        assert np.isfinite(x).all()
        np.testing.assert_array_less(np.abs(x - y) / np.maximum(np.abs(y), 1.0), tolerance)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_system_keeps_its_contract(case):
    properties.states_are_finite_and_predictions_are_probabilities(case)
    if not case.double:
        return
    properties.untouched_rows_are_inert(case)
    properties.predictions_know_neither_their_result_nor_the_future(case)
    if not is_random(case.system):
        properties.a_better_result_gives_a_better_rating(case)
        properties.the_order_of_players_in_an_event_does_not_matter(case)
        properties.renaming_the_players_renames_the_rows(case)


@pytest.mark.parametrize("case", [x for x in CASES if x.form == "stream" and x.double], ids=str)
def test_streams_equal_levels(case):
    properties.stream_form_equals_levels_form(case)


@pytest.mark.parametrize("case", [x for x in CASES if x.form != "stream"], ids=str)
def test_ratings_are_those_of_a_cpu_in_float64(case):
    there = case._replace(double=case.double or not is_random(case.system))  # what is drawn hangs on the precision
    found = ratings_and_predictions(case.system, properties.replay_first_season(case), case.double)
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        run = properties.replay_case_events(there, split_seasons(there)[0])
        wanted = ratings_and_predictions(case.system, run, there.double)
    assert_close(found, wanted, TOLERANCE[case.double])


@pytest.mark.parametrize("players", [1_986, 3_000])  # padded to 2,048, the most that are compared in pairs, and more
@pytest.mark.parametrize("name", [name for name, make in jr.extend.SYSTEMS.items() if jr.Rounds in make().events])
def test_large_rounds_are_those_of_a_cpu_in_float64(name, players):
    system, events = jr.extend.SYSTEMS[name](), contests(players, 2, size=players, seed=0).rounds
    found = ratings_and_predictions(system, jr.run(system, events), False)
    with jax.default_device(jax.local_devices(backend="cpu")[0]), jax.enable_x64(True):
        wanted = ratings_and_predictions(system, jr.run(system, events, policy=CompilePolicy(quick=True)), True)
    assert_close(found, wanted, 5e-3 if name == "trueskill" else TOLERANCE[False])  # of its sweeps over so many


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize(
    ("system", "file", "keys"),
    [
        (jr.elo(), "elo_glicko", ("elo_per_match", ["rating"])),
        (jr.glicko(c=0), "elo_glicko", ("glicko_per_match", ["rating", "rd"])),
        (jr.glicko2(match_periods=1), "elo_glicko", ("glicko2_per_match", ["rating", "rd"])),
        (jr.trueskill(draw_probability=0.1), "trueskill", ("sequence", "0.1", ["mu", "sigma"])),
        (jr.weng_lin("plackett_luce"), "weng_lin", ("sequence", "plackett_luce", ["mean", "deviation"])),
    ],
    ids=lambda x: getattr(x, "name", None),
)
def test_ratings_are_those_of_other_programs(system, file, keys, double):
    games = np.array(json.loads((REFERENCE / "elo_glicko.json").read_text())["games"]["rows"])
    wanted, names = json.loads((REFERENCE / f"{file}.json").read_text()), keys[-1]
    for key in keys[:-1]:
        wanted = wanted[key]
    with jax.enable_x64(double):
        run = jr.run(system, jr.matches(games[:, 2:4].astype(int), games[:, 4]), policy=CompilePolicy(quick=True))
        found = [np.asarray(x, np.float64) for x in jr.ratings(system, run.state)]
    assert_close(found[: len(names)], [np.array(wanted[name]) for name in names], TOLERANCE[double])


@pytest.mark.parametrize("name", KERNEL_SYSTEMS)
@pytest.mark.parametrize(("width", "double"), [(64, True), (64, False), (256, False), (4_096, False)])
def test_the_kernel_agrees_with_the_loop_each_time(name, width, double):
    """A barrier that does not hold shows as numbers that differ, or that are not the same each time."""
    matches = league(3_000, 30_000, seed=0, days=18_000.0, activity=0.66).matches
    system, plan = jr.extend.SYSTEMS[name](), jr.extend.schedule_by_level(matches, width)
    with jax.enable_x64(double):
        wanted = jr.run(system, matches, schedule=plan, engine="scan")
        found = [jr.run(system, matches, schedule=plan, engine="kernel") for _ in range(5)]
        assert_close_leaves(name, found[0], wanted, 1e-9 if double else 1e-4)
        chosen = jr.run(system, matches, schedule=plan)
        for one, other in [(found[0], x) for x in found[1:]] + [
            (found[0] if width <= NARROW_WIDTH else wanted, chosen)
        ]:
            jax.tree.map(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize("name", ["elo", "glicko2"])
def test_the_kernel_agrees_with_the_loop_for_settings_at_once(name):
    matches = league(3_000, 30_000, seed=0, days=18_000.0, activity=0.66).matches
    system, plan = jr.extend.SYSTEMS[name](), jr.extend.schedule_by_level(matches, 256)

    def rate(factor, engine):
        params = jax.tree.map(lambda x: x * factor, jax.tree.map(jnp.asarray, system.params))
        state = system.init(params, plan.num_players)
        return jr.scan(system, params, state, matches, plan, engine=engine)

    factors = jnp.linspace(0.8, 1.2, 64)
    loop, kernel = (jax.jit(jax.vmap(lambda x, e=e: rate(x, e)))(factors) for e in ("scan", "kernel"))
    assert_close_leaves(name, kernel, loop, 1e-4)


@pytest.mark.parametrize("name", ["elo_mmr", "elo_mmx", "codeforces", "topcoder", "elo", "glicko2"])
def test_a_replay_in_one_graph_is_that_with_a_graph_for_each_step(name, monkeypatch):
    """With JAX 0.11.2 it was wrong for systems that have loops within their events."""
    system = jr.extend.SYSTEMS[name]()
    if jr.Rounds in system.events and name not in ("elo", "glicko2"):
        events = contests(50_000, 30, size=2_048, seed=0).rounds
    else:
        events = league(33_693, 100_000, seed=0, activity=0.66).matches
    runs = []
    for options in (compiler_options.STEP_CUDA_GRAPH_OPTIONS, compiler_options.REPLAY_CUDA_GRAPH_OPTIONS):
        monkeypatch.setattr(compiler_options, "STEP_CUDA_GRAPH_OPTIONS", options)
        monkeypatch.setattr(compiler_options, "REPLAY_CUDA_GRAPH_OPTIONS", options)
        execution._jit_replay.cache_clear()
        runs += [ratings_and_predictions(system, jr.run(system, events), False) for _ in range(3)]
    execution._jit_replay.cache_clear()
    for other in runs[1:]:
        assert_close(other, runs[0], 1e-4)
