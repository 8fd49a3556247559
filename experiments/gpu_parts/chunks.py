"""A history longer than memory, in chunks: Glicko on the device alone, with transfers, and from files.

Two billion games are rated with reading left out: the chunks lie on the device and are rated again and again, later
each time. Reading is measured on fewer games, and its rate holds for any number. Decides: whether the reader or the
device is the bottleneck of `jr.rate` by chunks, and so what to make faster.
"""

import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxrate as jr
from gpu_parts.histories import DAYS, simulate_history
from gpu_parts.replay_clock import put_on_device, replay
from jaxrate.data.simulate import stream_league, write
from jaxrate.replay.schedule import PlanShape, make_plan_of_shape

GAMES = 2_000_000_000
CHUNK = {"matches": 10_000_000, "players": 1_000_000}
DISTINCT = 2  # chunks that lie on the device


def cases(options):
    chunk = {"matches": 2_000, "players": 300} if options.quick else CHUNK
    games = 6_000 if options.quick else GAMES if options.device == "gpu" else GAMES // 20
    yield {"table": "chunks", "way": "on the device", "system": "glicko", "games": games} | chunk
    yield {"table": "chunks", "way": "from the host", "system": "glicko", "games": 4 * chunk["matches"]} | chunk
    yield {"table": "chunks", "way": "from files", "system": "glicko", "games": chunk["matches"]} | chunk


def run(case, options):
    ways = {"on the device": rate_on_device, "from the host": rate_from_host, "from files": rate_from_files}
    seconds, games, more = ways[case["way"]](case)
    return {"rated": games, "seconds": seconds, "million_per_second": games / seconds / 1e6} | more


def plan_chunks(case):
    """Chunks of different games that one program rates."""
    found = [simulate_history("uniform", case["players"], case["matches"], None, seed) for seed in range(DISTINCT)]
    plans = [jr.extend.schedule_by_level(x) for x in found]
    shape = PlanShape(*map(max, zip(*map(PlanShape.of, plans), strict=True)))
    return found, [make_plan_of_shape(x, shape) for x in found], shape


def shift_plan_times(plan, number):
    """The same games as many histories later."""
    return plan._replace(events=plan.events._replace(time=plan.events.time + jnp.float32(DAYS * number)))


def rate_on_device(case):
    """Chunk after chunk, nothing read; predictions stay on the device, and their sum is kept."""
    system, (_, plans, _) = jr.glicko(), plan_chunks(case)
    plans, times = [put_on_device(plan) for plan in plans], -(-case["games"] // case["matches"])
    state = system.init(system.params, case["players"])
    state, _ = jax.block_until_ready(replay(system, plans[0], state))  # compiles
    shift_plan_times(plans[0], 1).events.time.block_until_ready()
    total, start = jnp.float32(0.0), time.perf_counter()
    for number in range(times):
        state, prediction = replay(system, shift_plan_times(plans[number % DISTINCT], number + 1), state)
        total = total + jnp.sum(prediction)
    assert np.isfinite(float(total)), "a prediction is not finite"
    return time.perf_counter() - start, times * case["matches"], {"chunks": times}


def rate_from_host(case):
    """Each chunk is arranged by the host and sent; how long both take alone."""
    system, (found, plans, shape) = jr.glicko(), plan_chunks(case)
    state, _ = jax.block_until_ready(replay(system, plans[0], system.init(system.params, case["players"])))
    times, arranging, sending, start = case["games"] // case["matches"], 0.0, 0.0, time.perf_counter()
    for number in range(times):
        before = time.perf_counter()
        plan = make_plan_of_shape(found[number % DISTINCT], shape)
        between = time.perf_counter()
        plan = jax.block_until_ready(put_on_device(shift_plan_times(plan, number + 1)))
        arranging, sending = arranging + between - before, sending + time.perf_counter() - between
        state, prediction = replay(system, plan, state)
    jax.block_until_ready(prediction)
    seconds = time.perf_counter() - start
    return seconds, times * case["matches"], {"arranging_seconds": arranging, "sending_seconds": sending}


def rate_from_files(case):
    """By `rate` in chunks: read, arranged, rated and written; only row and prediction of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "league.parquet"
        write(stream_league(case["players"], case["matches"]), path)
        start = time.perf_counter()
        chunk = max(case["matches"] // 4, 500)
        found = jr.rate(jr.glicko(), path, chunk=jr.history.Chunks(chunk, brief=True), out=Path(folder) / "out")
        seconds = time.perf_counter() - start
    return seconds, found.num_rows, {f"{kind}_seconds": x for kind, x in found.seconds.items() if kind != "all"}
