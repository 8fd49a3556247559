"""How fast, how small and how exact the systems of ranked rounds are.

    python experiments/elo_mmr_speed.py             # minutes; writes JSON and a PNG to experiments/results
    python experiments/elo_mmr_speed.py --quick     # seconds, on small histories; writes nothing unless --out is given

Everybody meets everybody: nothing is subsampled. Cold is the first run, with compilation of all sizes; warm the best of
some later ones. Predictions are made and stored in all of them. The reference program's seconds (the authors', in Rust,
two threads, other hardware) are from runs on the same file, that of Codeforces estimated from a part of it, those of
Elo-MMR and Elo-MMX with 100 opponents of each.
"""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from common import (
    add_only,
    clock,
    declare,
    find,
    forget_peak,
    keep,
    parse,
    resident,
    spawn,
)
from figures import plt

import jaxrate as jr
from jaxrate.data.simulate import contests
from jaxrate.events import Rounds, slice_events
from jaxrate.replay.padded_states_and_columns import state_shapes
from jaxrate.systems.rounds import cdf_sums, performance_inference

SYSTEMS = {"elo_mmr": jr.elo_mmr, "elo_mmx": jr.elo_mmx, "codeforces": jr.codeforces, "topcoder": jr.topcoder}
REFERENCE = {"elo_mmr": (33, 53), "elo_mmx": (33, 33), "codeforces": (1140, 1140), "topcoder": (611, 611)}
LENGTHS = 8, 16, 32, 64, 128, 256  # of histories; the last one is taken for the truth
PLAYERS = 100, 1000, 10_000, 16_783, 100_000, 200_000, 1_000_000


def read(options):
    """The rounds of codeforces2020, or simulated ones; None if there is no data."""
    if options.quick:
        return contests(300, 10, size=(50, 120), seed=1, grid=20).rounds
    path = find(options, "codeforces2020.parquet")
    return path and jr.read(path, rank="rank_lo", last_rank="rank_hi").rounds


def part_history(options):
    """All of the history by each system."""
    rounds = read(options)
    if rounds is None:
        return None
    n, rows = int(rounds.player_start[-1]), []
    scheduling = min(clock(lambda: jr.extend.schedule_by_level(rounds)) for _ in range(2))
    arranged = jr.extend.schedule_by_level(rounds)
    taken = zip(arranged.blocks, arranged.steps, strict=True)
    slots = sum(steps * block.number.shape[1] * block.size[0] for block, steps in taken)
    sizes = len({block.size for block in arranged.blocks})
    for name, make in [*SYSTEMS.items()][: 1 if options.quick else None]:
        system = make()
        cold = clock(lambda system=system: jr.run(system, rounds))
        warm = min(clock(lambda system=system: jr.run(system, rounds, schedule=arranged)) for _ in range(3))
        row = {"system": name, "cold": cold, "warm": warm, "participations_per_second": n / warm}
        row |= {"reference": "-".join(map(str, sorted(set(REFERENCE[name]))))} if not options.quick else {}
        rows.append(row)
    about = {"participations": n, "contests": len(rounds.player_start) - 1, "sizes": sizes, "fill": n / slots}
    return {"seconds": rows, "schedule": [about | {"seconds": scheduling}]}


def part_round(options):
    """One round of many sizes, everybody with some history behind them."""
    rows, before = [], 1 if options.quick else 2
    for name, make in [*SYSTEMS.items()][: 1 if options.quick else None]:
        for players in PLAYERS[1:2] if options.quick else PLAYERS:
            if name != "elo_mmr" and players > 200_000:
                continue
            system = make()
            rounds = contests(players, before + 1, size=players, seed=1, grid=5, days=2.0).rounds
            state = jr.run(system, slice_events(rounds, 0, before)).state
            last = slice_events(rounds, before, before + 1)
            arranged = jr.extend.schedule_by_level(last)
            times = []
            for _ in range(4):
                copy = jax.tree.map(jnp.copy, state)
                times.append(clock(lambda s=system, c=copy, r=last, a=arranged: jr.run(s, r, state=c, schedule=a)))
            rows.append({"system": name, "players": players, "seconds": min(times[1:])})
            rows[-1]["ns_per_player"] = 1e9 * min(times[1:]) / players
    if options.out and not options.quick:
        draw([row for row in rows if row["system"] == "elo_mmr"], options.out.parent / "elo_mmr_linear.png")
    return {"one round": rows}


def draw(rows, path):
    """Time against players (section 5.3: linear)."""
    players, times = (np.array([row[key] for row in rows]) for key in ("players", "seconds"))
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.loglog(players, times, "o-", label="one round of Elo-MMR, everybody against everybody")
    axes.loglog(players, times[-1] * players / players[-1], "--", color="grey", label="proportional to the players")
    axes.set(xlabel="players", ylabel="seconds")
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


def part_lengths(options):
    """What a bounded history costs: time, memory and the largest and usual error of the ratings."""
    rounds = read(options)
    if rounds is None:
        return None
    arranged, rows = jr.extend.schedule_by_level(rounds), []
    for rho in (1.0,) if options.quick else (1.0, 0.1):
        found = {}
        for history in LENGTHS[1:3][::-1] if options.quick else LENGTHS[::-1]:
            system = jr.elo_mmr(history=history, rho=rho)
            jax.block_until_ready(jr.run(system, rounds, schedule=arranged))
            start = time.perf_counter()
            state = jax.block_until_ready(jr.run(system, rounds, schedule=arranged)).state
            took = time.perf_counter() - start
            found[history] = np.asarray(state.rating, np.float64)
            off = np.abs(found[history] - next(iter(found.values())))
            size = sum(x.nbytes for x in jax.tree.leaves(state)) / 1e6
            row = {"rho": rho, "history": history, "seconds": took, "state_mb": size, "largest_error": off.max()}
            rows.append(row | {"99.9 %": np.quantile(off, 0.999), "rms": np.sqrt(np.mean(off**2))})
    return {"lengths of the history": rows}


def inferred(name, points, event, centre, deviation):
    """The performances of a round."""
    if name == "logistic":
        sums = performance_inference.make_logistic_cdf_sums(centre, deviation, event, points)
        return performance_inference.infer_logistic_performance(sums)
    known = performance_inference.make_round_standing_sums(
        performance_inference.NORMAL_NOISE, centre, deviation, event, points
    )
    return performance_inference.infer_performance_from_standing(known)


def part_accuracy(options):
    """Largest difference of the tabulated performances from sums over everybody, in rating points, of a round."""
    rows = []
    for players in (500,) if options.quick else (500, 3000):
        for spread in (900.0,) if options.quick else (300.0, 900.0):
            random = np.random.default_rng(players)
            centre = 1500 + spread * np.clip(random.normal(size=players), -3.5, 3.5)
            deviation = np.where(random.random(players) < 0.2, 401.0, random.uniform(211, 260, players))
            result = np.round((centre + deviation * random.normal(size=players)) / 10)
            rank = np.searchsorted(np.sort(-result), -result)
            for name in ("logistic", "gaussian")[: 1 if options.quick else None]:
                exact, small = None, cdf_sums.DIRECT_LIMIT
                for direct, double in ((True, True), (False, True), (False, False)):
                    cdf_sums.DIRECT_LIMIT = performance_inference.DIRECT_LIMIT = 10**9 if direct else small
                    with jax.enable_x64(double):
                        event = Rounds(None, jnp.asarray(rank, jnp.int32), None, jnp.ones(players), None)
                        points = cdf_sums.scale_table_points_to_precision(cdf_sums.count_table_points(200.0))
                        given = jnp.asarray(centre, float), jnp.asarray(deviation, float)
                        found = jax.jit(partial(inferred, name, points, event))(*given)
                        found = np.asarray(found, np.float64)
                    exact = found if direct else exact
                    if not direct:
                        about = {"players": players, "spread": spread, "performances": name}
                        about["precision"] = "float64" if double else "float32"
                        rows.append(about | {"largest_difference": np.abs(found - exact).max()})
                cdf_sums.DIRECT_LIMIT = performance_inference.DIRECT_LIMIT = small
    return {"off direct sums in float64": rows}


def part_memory(options):
    """The peak of a fresh process above what it held before: the contests read, JAX started, something compiled."""
    if jax.default_backend() != "cpu" or sys.platform != "linux":
        print("the peak of the memory is read from Linux, on the CPU: skipped")
        return None
    if options.quick or not (Path(options.data) / "codeforces2020.parquet").exists():
        return None
    found = spawn("memory", __file__, "--memory", "--data", options.data)
    return found and {"peak of a run over codeforces2020": [json.loads(found)]}


def memory(options):
    """A row about this process."""
    rounds = read(options)
    system, players = jr.elo_mmr(), int(rounds.events.player.max()) + 1
    jax.block_until_ready(jr.run(jr.elo_mmx(), slice_events(rounds, 0, 2)))
    forget_peak()
    before = resident("VmRSS")
    jax.block_until_ready(jr.run(system, rounds))
    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state_shapes(system, players)))
    return {"players": players, "state_mb": state / 1e6, "peak_mb": resident("VmHWM") - before}


PARTS = {"history": part_history, "round": part_round, "lengths": part_lengths, "accuracy": part_accuracy}
PARTS |= {"memory": part_memory}


def main():
    parser = declare(__doc__, "small histories, seconds in all", "codeforces2020.parquet")
    add_only(parser, PARTS, "PART")
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    options = parse(parser, __file__)
    jax.config.update("jax_enable_compilation_cache", False)
    if options.memory:
        return print(json.dumps(memory(options)))
    keep(PARTS, options)


if __name__ == "__main__":
    main()
