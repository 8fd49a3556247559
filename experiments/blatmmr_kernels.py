"""Kernels and priors of one's own in BlatMMR: whether another shape than the Gaussian predicts better.

    python experiments/blatmmr_kernels.py           # minutes; writes experiments/results/blatmmr_kernels.json
    python experiments/blatmmr_kernels.py --quick   # seconds, on a league; writes nothing unless --out is given

Every system is fitted to the first 70% of 10,000 matches of Go, by six steps, and scored on the rest by the mean log
loss, one step ahead. Standard errors are those of the mean of paired differences from the Gaussian kernel. The grid has
181 points to 4.5 natural units on either side.

The box is the smooth exp(-d^8), since slopes know nothing of the edges of a true one. "by strength" is a Gaussian
whose width grows as exp(slope x) with the strength x. "heavy" has the tails of a power, and the prior of "logistic
prior" those of a logistic distribution.
"""

import time
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from common import add_only, declare, find, fit_options, keep, parse

import jaxrate as jr
from jaxrate.data.simulate import league
from jaxrate.events import slice_events

LEARNT = 0.7
MOST = 10_000
GRID = {"size": 181, "half_width": 4.5, "kernel_width": 0.12}
QUICK_GRID = GRID | {"size": 91, "kernel_width": 0.24}
STEPS = 6


def box(d):
    return jnp.exp(-(d**8))


def heavy(d, tail: Annotated[float, "positive"] = 2.0):
    return (1.0 + d**2) ** -tail


def by_strength(x, y, width, slope=0.0):
    return jnp.exp(-0.5 * ((y - x) / (width * jnp.exp(slope * x))) ** 2)


def logistic(x, scale: Annotated[float, "positive"] = 0.5, middle=0.0):
    return 1.0 / jnp.cosh(0.5 * (x - middle) / scale) ** 2


Kernel = jr.extend.kernels.Kernel
SYSTEMS = {  # what the factory is given, and what is fitted beside beta, the side and the kernel's width
    "gaussian": ({}, ("prior_deviation",)),
    "box": ({"kernel": Kernel(box)}, ("prior_deviation",)),
    "heavy": ({"kernel": Kernel(heavy)}, ("prior_deviation", "tail")),
    "by strength": ({"kernel": Kernel(by_strength)}, ("prior_deviation", "slope")),
    "gaussian, logistic prior": ({"prior": logistic}, ("scale",)),
}


def losses(system, matches):
    p, s = np.asarray(jr.run(system, matches).prediction, np.float64), np.asarray(matches.score, np.float64)
    return -s * np.log(p) - (1.0 - s) * np.log1p(-p)


def table(matches, options):
    """A row for each system."""
    cut, rows, gaussian = int(LEARNT * len(matches.score)), [], None
    sided = () if matches.context.side is None else ("side_advantage",)
    grid, search = QUICK_GRID if options.quick else GRID, fit_options(options.quick, STEPS)
    for name, (given, free) in list(SYSTEMS.items())[: 2 if options.quick else None]:
        began = time.perf_counter()
        free = "beta", "kernel_width", *free, *sided
        found = jr.fit(jr.blat_mmr(**grid | given), slice_events(matches, 0, cut), free=free, **search)
        seconds = time.perf_counter() - began
        loss = losses(found.system, matches)[cut:]
        gaussian = loss if gaussian is None else gaussian
        apart = loss - gaussian
        row = {"system": name, "log_loss": loss.mean(), "difference": apart.mean()}
        row |= {"error": apart.std() / np.sqrt(len(apart)), "learnt": found.loss, "seconds": seconds}
        rows.append(row | {key: getattr(found.params, key) for key in found.free})
    return {f"{len(matches.score):,} matches, the last {len(matches.score) - cut:,} scored": rows}


def part_go(options):
    """The history of Go, or in quick mode a league."""
    if options.quick:
        return table(league(40, 400, seed=1).matches, options)
    path = find(options, "go_tygem.parquet")
    return path and table(slice_events(jr.read(path, time="t", side="a").matches, 0, MOST), options)


PARTS = {"go_tygem": part_go}


def main():
    parser = declare(__doc__, "a simulated league", "go_tygem.parquet")
    add_only(parser, PARTS, "HISTORY")
    keep(PARTS, parse(parser, __file__))


if __name__ == "__main__":
    main()
