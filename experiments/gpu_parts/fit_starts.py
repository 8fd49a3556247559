"""A fit from many starts, which are searched together.

Decides: whether the guide advises a GPU for fits, and how many starts cost next to nothing.
"""

import time

import jax

import jaxrate as jr
from gpu_parts.histories import resize_history, simulate_history

HISTORY = {"history": "tennis", "matches": 50_000, "players": 5_000}
FREE = {"glicko": ["c", "initial_deviation"], "skills": ["growth", "initial_deviation"]}
STEPS = 25


def cases(options):
    for system, starts in (("glicko", 2),) if options.quick else (("glicko", 1), ("glicko", 64), ("skills", 64)):
        yield {"table": "fits", "system": system, "starts": starts} | resize_history(HISTORY, options)


def run(case, options):
    events = simulate_history(case["history"], case["players"], case["matches"])
    system, steps, losses = jr.extend.SYSTEMS[case["system"]](), 2 if options.quick else STEPS, []
    start = time.perf_counter()
    found = jr.fit(
        system,
        events,
        free=FREE[case["system"]],
        starts=case["starts"],
        steps=steps,
        errors="products",
        key=jax.random.key(0),
        watch=lambda step, loss: losses.append(time.perf_counter() - start),
    )
    seconds = time.perf_counter() - start
    later = (losses[-1] - losses[0]) / (len(losses) - 1) if len(losses) > 1 else None
    return {"seconds": seconds, "steps": len(losses), "seconds_of_a_later_step": later, "loss": float(found.loss)}
