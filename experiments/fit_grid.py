"""Fitting three parameters of Glicko to all of ATP tennis by slopes, beside looking at every point of a grid.

    python experiments/fit_grid.py          # minutes; writes experiments/results/fit_grid.json
    python experiments/fit_grid.py --quick  # seconds, one parameter, a league; writes nothing unless --out is given

The parameters are c, initial_deviation and deviation_max, in this order; the grid has seven values of each, the last
as a multiple of the second. Seconds are those of the wall, and of all cores of this process (`cpu`), which a busy
machine changes less. The first fit compiles ("cold"). Memory is what a call takes at its peak beyond what was held
before it, in a process of its own that has made the same call before (Linux's VmHWM).
"""

import argparse
import json
import os
import time
from functools import partial

import jax
import numpy as np
from common import circumstances, declare, find, forget_peak, parse, resident, rounded, show, spawn, write

import jaxrate as jr
from jaxrate.fitting.free_parameters import FreeParameterTransform, ParameterSettings
from jaxrate.fitting.history_loss_derivatives import summed_losses, summed_losses_and_slopes
from jaxrate.fitting.prediction_task import make_prediction_task

SYSTEM = jr.glicko(deviation_max=400)
FREE = "c", "initial_deviation", "deviation_max"
GRID = np.geomspace(10, 40, 7), np.geomspace(90, 360, 7), np.geomspace(1.05, 2.0, 7)


def losses(matches, most):
    """By the number k of free parameters, from 0: a call that takes the loss and its k slopes, as `fit` does."""
    what = make_prediction_task(SYSTEM, matches)
    params = jax.tree.map(lambda x: np.full(1, x), SYSTEM.params)
    calls = []
    for k in range(most + 1):
        free = FreeParameterTransform(FREE[:k], ("positive",) * k, ((),) * k, ())
        x = np.log([[getattr(SYSTEM.params, name) for name in free.names]])
        evaluate = summed_losses_and_slopes if k else summed_losses
        calls.append(partial(evaluate, what, ParameterSettings(free, x, params)))
    return calls


def cost(matches, path, most, rounds):
    """Seconds and memory of the loss and its slopes, and both over 1 + k times those of the loss alone."""
    calls = {f"loss and {k} slopes" if k else "loss": call for k, call in enumerate(losses(matches, most))}
    turns = [{way: timed(call)[1] for way, call in calls.items()} for _ in range(rounds + 1)]  # the first compiles
    rows = [{"way": way} | {x: min(turn[way][x] for turn in turns[1:]) for x in ("seconds", "cpu")} for way in calls]
    for k, row in enumerate(rows):
        row |= {f"{x}_over_1_and_k": row[x] / rows[0][x] / (1 + k) for x in ("seconds", "cpu")}
        text = None if path is None else spawn("memory", __file__, "--memory", str(k), "--data", path.parent)
        if text is not None:
            row["peak_mb"] = json.loads(text.splitlines()[-1])
            row["peak_over_1_and_k"] = row["peak_mb"] / rows[0]["peak_mb"] / (1 + k)
    return rows


def memory(matches, k):
    """MB that a call takes at its peak."""
    call = losses(matches, k)[k]
    call()
    forget_peak()
    before = resident("VmRSS")
    call()
    return resident("VmHWM") - before


def timed(call):
    """What it returns, and its seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def compare(matches, free, grid):
    """Rows of fits and of the grid, and the fit."""
    rows = []
    for way in ("fit, cold", "fit, warm"):
        fit, row = timed(lambda: jr.fit(SYSTEM, matches, free=free))
        row |= {"way": way, "steps": len(fit.loss_history) - 1, "converged": fit.converged, "reason": fit.reason}
        rows.append(row | {"loss": fit.loss} | {name: getattr(fit.params, name) for name in free})
    values = dict(zip(free, np.meshgrid(*grid, indexing="ij"), strict=False))
    if "deviation_max" in values:
        values["deviation_max"] = values["deviation_max"] * values["initial_deviation"]
    loss, row = timed(lambda: jr.fitting.sweep_parameters(SYSTEM, matches, SYSTEM.params._replace(**values)))
    best = np.unravel_index(np.nanargmin(loss), loss.shape)
    row |= {"way": "grid", "points": loss.size, "loss": loss[best], "fit_is_below_by": loss[best] - fit.loss}
    rows.append(row | {name: x[best] for name, x in values.items()})
    return rows, fit


def errors(matches, fit, precisions):
    """Standard errors at the optimum, by formula and precision."""
    rows = []
    for double in precisions:
        for formula in ("information", "sandwich"):
            with jax.enable_x64(double):
                here = jr.fit(fit.system, matches, free=fit.free, objective=jr.fitting.ahead(errors=formula), steps=0)
            row = {"errors": formula, "precision": "float64" if double else "float32", "loss": here.loss}
            rows.append(row | here.standard_error)
    return rows


def main():
    parser = declare(__doc__, "one parameter and a league, seconds in all", "atp.parquet")
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    options = parse(parser, __file__)
    jax.config.update("jax_enable_compilation_cache", False)
    path = None if options.quick else find(options, "atp.parquet", "nothing to do")
    if not options.quick and not path:
        return None
    if path:
        matches = jr.read(path, drop="walkover", time="t").matches
    else:
        matches = jr.data.simulate.league(100, 2000, drift=50.0).matches
    if options.memory is not None:
        return print(memory(matches, options.memory))
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"  # of the processes that measure memory: freed arrays are given back
    report, number = circumstances(), 1 if options.quick else len(FREE)
    results, (rows, fit) = {}, compare(matches, FREE[:number], GRID[:number])
    parts = {
        "fit and grid": lambda: rows,
        "loss and slopes": lambda: cost(matches, path, number, 2 if options.quick else 5),
        "standard errors": lambda: errors(matches, fit, (False,) if options.quick else (False, True)),
    }
    for title, part in parts.items():
        results[title] = rounded(part(), 9)
        show({title: results[title]})
        write(options.out, report, results, 9)


if __name__ == "__main__":
    main()
