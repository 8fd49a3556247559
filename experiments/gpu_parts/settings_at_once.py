"""Many settings, or many histories, in one program, and the memory that they take.

Decides: how many settings `jr.fitting.sweep_parameters` should run together on a GPU, and whether by the kernel.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import jaxrate as jr
from gpu_parts.histories import TENNIS, resize_history, simulate_history
from gpu_parts.replay_clock import arrange_events, best_seconds, system_of
from jaxrate.replay.compiler_options import ProgramTraits, compiler_options, quick_compile_options
from jaxrate.replay.execution import compile_policy_from_environment
from jaxrate.replay.schedule import PlanShape, make_plan_of_shape

NUMBERS = 1, 16, 64, 256, 1_024
LEAGUE = {"history": "leagues", "matches": 10_000, "players": 1_000}  # many histories, each of this size
WIDTH = 64  # of the steps of each history
MADE = 8  # histories that differ
SYSTEMS = {"glicko": NUMBERS, "elo": (64,), "glicko2": (64,), "trueskill": (64,), "blat_mmr": (1, 16, 64)}


def cases(options):
    engines = ("scan", "kernel") if options.device == "gpu" else ("scan",)
    systems = {"glicko": (1, 4)} if options.quick else SYSTEMS
    for system, numbers in systems.items():
        for engine in engines if system != "blat_mmr" else ("scan",):
            for number in numbers:
                case = {"table": "settings", "system": system, "engine": engine, "settings": number}
                yield case | resize_history(TENNIS, options) | ({"width": 256} if engine == "kernel" else {})
    for engine in engines:
        for number in (2,) if options.quick else NUMBERS:
            yield {"table": "histories", "system": "glicko", "engine": engine, "histories": number} | resize_history(
                LEAGUE, options
            )


def run(case, options):
    rate, fixed, first, plan = (settings if case["table"] == "settings" else histories)(case)
    start = time.perf_counter()
    program = compiled(rate, fixed, first())
    compiling = time.perf_counter() - start
    _, best, found = best_seconds(first, lambda state: program(fixed, state), options.turns)
    assert all(np.isfinite(np.asarray(jnp.sum(x))) for x in jax.tree.leaves(found.prediction)), "not finite"
    rated = case["matches"] * case.get("settings", case.get("histories"))
    return {
        "rated": rated,
        "steps": int(plan.num_steps),
        "units": int(plan.num_steps) * plan.number.shape[-1],
        "compiling_seconds": compiling,
        "seconds": best,
        "million_per_second": rated / best / 1e6,
        "memory_bytes": program_memory(program),
    }


def compiled(function, fixed, state):
    """The program of what is mapped over settings or histories, compiled as a run's; it uses the state up."""
    options = quick_compile_options() if compile_policy_from_environment().quick else compiler_options(ProgramTraits())
    mapped = jax.jit(jax.vmap(function), donate_argnums=1, compiler_options=options)
    return mapped.lower(fixed, state).compile()


def program_memory(program):
    """What a program takes of the device's memory at most, with what it is given; results may replace that."""
    about = program.memory_analysis()
    sizes = about.argument_size_in_bytes, about.output_size_in_bytes, about.temp_size_in_bytes
    return sum(sizes) - about.alias_size_in_bytes


def settings(case):
    """One history by many settings, each of which has a state of its own."""
    system, plan = system_of(case), arrange_events(case)[1]
    params = jax.tree.map(lambda x: jnp.float32(x) * jnp.linspace(0.9, 1.1, case["settings"]), system.params)
    begin = jax.jit(jax.vmap(lambda params: system.init(params, plan.num_players)))

    def rate(params, state):
        return jr.scan(system, params, state, plan, engine=case["engine"])

    return rate, params, lambda: begin(params), plan


def histories(case):
    """Many histories of one shape by one setting; some are the same, which saves time to make them."""
    system, number = system_of(case), case["histories"]
    matches = [
        simulate_history("leagues", case["players"], case["matches"], None, seed) for seed in range(min(number, MADE))
    ]
    plans = [jr.extend.schedule_by_level(x, WIDTH) for x in matches]
    shape = PlanShape(WIDTH, max(x.size for x in plans), max(x.number.shape[0] for x in plans))
    plans = [make_plan_of_shape(x, shape) for x in matches]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *(plans[i % len(plans)] for i in range(number)))
    one = system.init(system.params, case["players"])
    begin = jax.jit(lambda: jax.tree.map(lambda x: jnp.broadcast_to(x, (number, *x.shape)), one))

    def rate(plan, state):
        return jr.scan(system, None, state, plan, engine=case["engine"])

    return rate, stacked, begin, plans[0]
