"""How fast, how small and how exact BlatMMR's algorithms are.

    python experiments/blatmmr_speed.py             # minutes; writes experiments/results/blatmmr_speed.json
    python experiments/blatmmr_speed.py --quick     # seconds, on small leagues; writes nothing unless --out is given

Times are the best of a few calls that take turns, on one schedule made before; every prediction is stored. The paper
reports 170 matches a second on one virtual CPU; its author's program was measured once, elsewhere, at about 460 per
CPU-second. Neither is run here.

The share of the bandwidth counts the state alone, two beliefs read and two written per match, against a copy of 256 MiB
in the same run: what a program limited by nothing but memory would reach.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from common import (
    add_only,
    circumstances,
    declare,
    distance,
    forget_peak,
    measure,
    parse,
    race,
    resident,
    spawn,
    tennis,
    write,
)

import jaxrate as jr
from jaxrate.data.simulate import league
from jaxrate.events import slice_events
from jaxrate.replay.padded_states_and_columns import max_step_matches_in_cache, state_shapes
from jaxrate.replay.schedule import make_plan

ALGORITHMS = ("low_rank", "fft", "naive")
COARSE = {"size": 257, "half_width": 3.5, "kernel_width": 0.055}  # still two steps of the grid
FEWER = {"fft": 50_000, "naive": 500}  # matches that the slower algorithms rate, of the middle of a history


def bandwidth(size):
    """Bytes a second that a copy of an array reads and writes."""
    x = jnp.ones(size, jnp.float32)
    copy = jax.jit(lambda x: x * 1.0001)
    jax.block_until_ready(copy(x))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        jax.block_until_ready(copy(x))
        times.append(time.perf_counter() - start)
    return 2 * x.nbytes / min(times)


def rates(data, matches, options, algorithms):
    """Rows: matches a second on the two grids by each algorithm, all in one run."""
    copied, rows = bandwidth(1 << 20 if options.quick else 1 << 26), []
    players, n = int(matches.player.max()) + 1, len(matches.score)
    for settings in ({},) if options.quick else ({}, COARSE):
        calls, numbers = {}, {"all": n}
        for algorithm, count in algorithms:
            system = jr.blat_mmr(algorithm=algorithm, **settings)
            count = min(n, max(count // 100, 10) if options.quick else count)
            some = jax.tree.map(lambda x, count=count: x[(n - count) // 2 :][:count], matches)
            arranged = make_plan(some, "levels", max_width=max_step_matches_in_cache(state_shapes(system, 2)))

            def call(system=system, some=some, arranged=arranged):
                return jr.run(system, some, schedule=arranged, num_players=players)

            calls[algorithm, count], numbers[algorithm, count] = call, count
        size = system.settings["size"]
        for (algorithm, count), row in race(calls, numbers, 1 if options.quick else 3).items():
            share = 4 * 4 * size * count / row["seconds"] / copied
            about = {"data": data, "size": size, "algorithm": algorithm, "matches": count, "seconds": row["seconds"]}
            rows.append(about | {"per_second": count / row["seconds"], "share_of_bandwidth": share})
    return rows


def part_atp(options):
    """Every algorithm on the tennis history, and the two fast ones on the same part of it."""
    matches = tennis(options)
    if matches is None:
        return None
    n = len(matches.score)
    ways = [("low_rank", n), ("low_rank", FEWER["fft"]), *FEWER.items()]
    rows = rates("league" if options.quick else "atp", matches, options, ways)
    best = {(x["size"], x["algorithm"]): x["per_second"] for x in rows}  # the later one: on the same matches
    sizes = dict.fromkeys(row["size"] for row in rows)
    ratios = [{"size": size, "ratio": best[size, "low_rank"] / best[size, "fft"]} for size in sizes]
    return {"matches a second": rows, "low_rank against fft": ratios}


def part_million(options):
    """A simulated million, by the fast algorithm."""
    n = 2_000 if options.quick else 1_000_000
    matches = league(n // 25, n, seed=2, activity=0.6).matches
    return {"matches a second": rates("simulated", matches, options, [("low_rank", n)])}


def part_accuracy(options):
    """Largest differences from the naive algorithm in float64, in natural units, after 300 matches of 30 players."""
    matches, rows = league(30, 20 if options.quick else 300, seed=3, draws=0.1).matches, []
    for beta in (0.8,) if options.quick else (0.8, 1.0):
        with jax.enable_x64(True):
            exact = moments(jr.blat_mmr(algorithm="naive", beta=beta), matches)
        for double in (False,) if options.quick else (False, True):
            for algorithm in ALGORITHMS[: 1 if options.quick else None]:
                with jax.enable_x64(double):
                    found = moments(jr.blat_mmr(algorithm=algorithm, beta=beta), matches)
                names = ("mean", "deviation", "prediction")
                off = {name: distance(x, y) for name, x, y in zip(names, exact, found, strict=True)}
                rows.append(
                    {"beta": beta, "precision": "float64" if double else "float32", "algorithm": algorithm} | off
                )
    return {"off naive float64": rows}


def moments(system, matches):
    """Means and deviations in natural units, and the predictions."""
    result = jr.run(system, matches)
    rating = jr.ratings(system, result.state)
    return *(np.asarray(x, np.float64) / jr.extend.luck.POINTS_PER_NATURAL_UNIT for x in rating), np.asarray(
        result.prediction
    )


def part_gradient(options):
    """Log loss of the tennis history and its slopes, beside central differences of it."""
    matches = tennis(options)
    if matches is None:
        return None
    matches = slice_events(matches, 0, 200) if options.quick else matches
    system = jr.blat_mmr()
    arranged = make_plan(matches, "levels", max_width=max_step_matches_in_cache(state_shapes(system, 2)))
    score = jnp.asarray(matches.score)

    def loss(params):
        p = jr.run(system, matches, params=params, schedule=arranged).prediction
        return -jnp.mean(jnp.log(jnp.where(score == 1.0, p, 1.0 - p)))  # every match has a winner

    names = ("beta", "prior_deviation", "kernel_width")

    def of_some(values):
        return loss(system.params._replace(**dict(zip(names, values, strict=True))))

    at = jnp.array([getattr(system.params, name) for name in names])
    seconds = {}
    for label, function in (("loss", of_some), ("loss_and_gradient", jax.jacfwd(lambda x: (of_some(x), x)))):
        for _ in range(2):
            start = time.perf_counter()
            found = jax.block_until_ready(function(at))
            seconds[label] = time.perf_counter() - start
    rows = []
    for i, name in enumerate(names):
        step = 0.05 * at[i]
        differences = (of_some(at.at[i].add(step)) - of_some(at.at[i].add(-step))) / (2.0 * step)
        rows.append({"parameter": name, "gradient": float(found[0][i]), "difference": float(differences)})
    return {"slopes": rows, "seconds": [seconds]}


def part_memory(options):
    """The peak of a fresh process above what it held before: the matches read, JAX started, something compiled."""
    if jax.default_backend() != "cpu" or sys.platform != "linux":
        print("the peak of the memory is read from Linux, on the CPU: skipped")
        return None
    path = Path(options.data) / "atp.parquet"
    if options.quick or not path.exists():
        print("of all of atp.parquet, if it is in the data folder, and not in the quick form: skipped")
        return None
    found = spawn("memory", __file__, "--memory", path)
    return found and {"peak of a run over ATP": [json.loads(found)]}


def memory(path):
    """A row about this process."""
    matches = jr.read(path, drop="walkover").matches
    system, players = jr.blat_mmr(), int(matches.player.max()) + 1
    jax.block_until_ready(jr.run(jr.elo(), matches))
    forget_peak()
    before = resident("VmRSS")
    jax.block_until_ready(jr.run(system, matches))
    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state_shapes(system, players)))
    above = resident("VmHWM") - before
    row = {"players": players, "state_mb": state / 1e6, "peak_mb": above}
    return row | {"beside_state_mb": above - state / 1e6}


PARTS = {"atp": part_atp, "million": part_million, "accuracy": part_accuracy, "gradient": part_gradient}
PARTS |= {"memory": part_memory}


def main():
    parser = declare(__doc__, "small leagues, seconds in all", "atp.parquet")
    add_only(parser, PARTS, "PART")
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    options = parse(parser, __file__)
    jax.config.update("jax_enable_compilation_cache", False)
    if options.memory:
        return print(json.dumps(memory(options.memory)))
    report = circumstances()
    write(options.out, report, dict(measure({name: PARTS[name] for name in options.only}, options)))


if __name__ == "__main__":
    main()
