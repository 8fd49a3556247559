"""What is compiled for a GPU: whole replays in one graph, with the numbers of the CPU's programs."""

import re
from importlib import import_module
from itertools import product
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.data.simulate import contests
from jaxrate.replay import compiler_options, execution, scan_programs
from jaxrate.replay.plan import place_events
from jaxrate.systems.rounds import performance_inference
from jaxrate.testing.cases import assert_close_leaves
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, mark_full, quick
from tests.reference import performance_twin as twin
from tests.test_elo_mmr import some_players

glicko2 = import_module("jaxrate.systems.glicko2")
RANDOM = np.random.default_rng
RATED = [
    *product(["matches"], ["glicko", "trueskill", "urnings", "skills"]),
    *product(["periods"], ["glicko", "category_glicko"]),
    *product(["rounds"], ["trueskill", "weng_lin", "elo_mmr", "elo_mmx", "codeforces", "topcoder"]),
]
RATED_USUALLY = (
    *product(["matches"], ["trueskill", "skills"]),
    ("periods", "category_glicko"),
    *product(["rounds"], ["weng_lin", "topcoder"]),
)


def test_all_options_of_a_graph_are_known_to_this_xla():
    options = compiler_options.REPLAY_CUDA_GRAPH_OPTIONS
    assert compiler_options.supported_xla_options(options) == options


def test_what_another_xla_does_not_know_is_left_out():
    options = compiler_options.REPLAY_CUDA_GRAPH_OPTIONS | {"xla_gpu_enable_command_buffer": "FUSION,NONSENSE"}
    assert set(compiler_options.supported_xla_options(options)) == {"xla_disable_hlo_passes"}


def on_gpu(function):
    """The function, traced as it would be for a GPU."""

    def traced(*args, **options):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jax, "default_backend", lambda: "gpu")
            return function(*args, **options)

    return traced


@pytest.mark.parametrize(
    ("name", "kind", "whole"),
    [
        ("glicko", jr.Matches, True),
        ("glicko", jr.Periods, True),
        ("weng_lin", jr.Rounds, True),
        ("category_glicko", jr.Periods, False),
        ("elo_mmr", jr.Matches, False),
        pytest.param("elo_mmr", jr.Rounds, False, marks=pytest.mark.full),
        ("codeforces", jr.Rounds, False),
    ],
)
def test_a_replay_is_one_graph_unless_there_are_loops_within_its_events(league, monkeypatch, name, kind, whole):
    traits, _ = program_for_gpu(monkeypatch, name, kind, league, 9)
    options = on_gpu(compiler_options.compiler_options)(traits)
    assert ("WHILE" in options["xla_gpu_enable_command_buffer"]) == whole


@pytest.mark.parametrize("name", mark_full(jr.extend.SYSTEMS, "codeforces"))
def test_every_loop_has_a_condition_that_launches_a_kernel(league, monkeypatch, name):
    """One that only returns a boolean launches none, and a CUDA graph then has the loop without an order."""
    for kind in jr.extend.SYSTEMS[name]().events:
        _, lower = program_for_gpu(monkeypatch, name, kind, league, 4096)  # rounds that no device compares in pairs
        text = lower()
        assert "stablehlo.while" in text and not re.search(r"cond \{\s*stablehlo\.return", text)


def program_for_gpu(monkeypatch, name, kind, league, size):
    """What decides how `run` compiles there, and a function that gives the program's text; rounds are of some size."""

    class Found(Exception):
        pass

    def compile_replay(replay, inside, policy, traits):
        def call(*inputs):
            raise Found(traits, lambda: on_gpu(jax.jit(replay, static_argnums=(0, 1)).lower)(*inputs).as_text())

        call.lower = call
        return call

    matches = league._replace(score=np.rint(league.score))
    rounds = {jr.Rounds: contests(size + 31, 3, size=size).rounds} if kind is jr.Rounds else {}
    events = {jr.Matches: matches, jr.Periods: jr.periods(matches, 100.0)._replace(length=None)} | rounds
    system = jr.extend.SYSTEMS[name](**{"categories": 1} if name == "category_glicko" else {})
    key = None if system.rules.draw is None else jax.random.key(0)
    monkeypatch.setattr(execution, "_jit_replay", compile_replay)
    with pytest.raises(Found) as found:
        on_gpu(jr.run)(system, events[kind], key=key, engine="scan")
    return found.value.args


def rated_in(form, name, league):
    """A system and a history of forty players in matches or periods, or of hundred in rounds.

    Rounds are of 90, more than a CPU compares with everybody, with ties, and in teams of two if there are any.
    """
    system, random = jr.extend.SYSTEMS[name](**{"categories": 2} if name == "category_glicko" else {}), RANDOM(0)
    if form == "rounds":
        size = 2 if "teams" in system.features else 1
        rounds = [random.permutation(100)[:90].reshape(-1, size).tolist() for _ in range(3)]
        return system, jr.data.from_teams(rounds, random.integers(0, 30, (3, 90 // size)).tolist()).rounds
    if name == "category_glicko":
        category = random.integers(0, 2, (len(league.score), 2))
        league = league._replace(context=league.context._replace(category=category))
    league = league._replace(score=np.rint(league.score)) if name == "urnings" else league
    return system, jr.periods(league, 30.0) if form == "periods" else league


@pytest.mark.parametrize(("form", "name"), mark_full(RATED, *RATED_USUALLY))
def test_a_history_is_rated_the_same(league, form, name):
    system, events = rated_in(form, name, league)
    plan = jr.extend.schedule_by_level(events, *([8] if form == "matches" else []))
    players, close = (100, 1e-3) if form == "rounds" else (40, 1e-5)
    assert_close_leaves(name, *both(system, events, plan, players), close)


def both(system, events, plan, players):
    """What a GPU's program and the CPU's say of the first block."""
    (number, size), rules = plan.blocks[0], scan_programs.make_replay_rules(system.rules, system.params)
    key = None if system.rules.draw is None else jax.random.key(0)
    columns, state = place_events(events, plan), system.init(system.params, players)

    def rate(params, state):
        steps = scan_programs.Steps(columns, number, key, np.int32(plan.steps[0]))
        return scan_programs.replay_steps(rules, size, params, (state, None), steps)

    return [quick(x)(system.params, state) for x in (on_gpu(rate), lambda *x: rate(*x))]


@MOSTLY_SINGLE
def test_performances_are_right_far_from_everybody(x64):
    """From all pairs, with players up to 300 scales apart, and ties; and their slopes."""

    def infer(deviation, centre, rank):
        event = SimpleNamespace(rank=rank, weight=jnp.append(jnp.ones(70), 0.0), present=None)
        sums = performance_inference.make_logistic_cdf_sums(centre, deviation, event, 72)
        return performance_inference.infer_logistic_performance(sums)

    @quick
    def infer_with_slopes(deviation, *others):
        return jax.jvp(lambda x: on_gpu(infer)(x, *others), (deviation,), (jnp.ones_like(deviation),))

    for deviation in (300.0, 20.0):
        centre, rank = some_players(70, second=deviation > 100.0)
        padded = np.append(centre, 0.0).astype(jnp.result_type(float)), np.append(rank, 71).astype(np.int32)
        found, slope = infer_with_slopes(np.full_like(padded[0], deviation), *padded)
        low, right, high = (twin.performances(centre, np.full(70, deviation + x), rank) for x in (-1e-3, 0.0, 1e-3))
        np.testing.assert_allclose(found[:70], right, rtol=0, atol=1e-6 if x64 else 0.05)
        np.testing.assert_allclose(slope[:70], (high - low) / 2e-3, rtol=0, atol=1e-4 if x64 else 1e-2)


@MOSTLY_DOUBLE
def test_volatilities_are_found_in_a_fixed_number_of_steps(x64):
    kind, random, n = np.float64 if x64 else np.float32, np.random.default_rng(0), 20_000
    games, far = random.integers(1, 30, n), np.exp(-random.exponential(2.0, n))
    g, expected = random.uniform(0.3, 1.0, n), np.minimum(far, 1.0 - 1e-6)
    surprise = g * games * np.where(random.random(n) < 0.5, 1.0 - expected, -expected)
    variance, volatility = (np.exp(random.uniform(*np.log(x), n)) for x in ((400.0, 4e6), (0.01, 1.0)))
    rows = glicko2.State(*(jnp.asarray(x, kind) for x in (0.0 * g, variance, volatility, 0.0 * g)))
    information, surprise = (jnp.asarray(x, kind) for x in (g * g * expected * (1.0 - expected) * games, surprise))

    def volatility_of(tau):
        constants = glicko2.prepare(jr.glicko2().params._replace(tau=tau))
        return jnp.log(glicko2.new_volatility(constants, rows, information, surprise))

    ways = [
        quick(lambda x, f=f: jax.jvp(f, (x,), (jnp.ones_like(x),)))
        for f in (lambda x: volatility_of(x), on_gpu(volatility_of))
    ]
    for tau in (0.2, 1.2, 3.0):
        (wanted, slope), (found, other) = (way(kind(tau)) for way in ways)
        assert_close_leaves("volatility", found, wanted, 1e-12 if x64 else 1e-5)
        assert_close_leaves("slope", other, slope, 1e-10 if x64 else 1e-3)
