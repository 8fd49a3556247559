"""Elo-MMR with densities of performances other than the logistic one (sections 2, 3 and 7 of Ebtekar and Liu 2021).

    python experiments/elo_mmr_densities.py             # minutes; writes JSON to experiments/results
    python experiments/elo_mmr_densities.py --quick     # seconds, on a small set; writes nothing unless --out is given

Scored as in `elo_mmr_tables.py`, with the defaults, on the first 200 contests of codeforces2020; there as here contests
in which all tie are skipped. The mirrored Gumbel density is one of one's own: of the worst of many tries, whose lower
tail is the heavy one.
"""

import jax.numpy as jnp
import numpy as np
from common import add_only, declare, keep, parse
from elo_mmr_tables import load, quality, replay

import jaxrate as jr
from jaxrate.events import slice_events

CONTESTS = 200


def mirrored(x):
    """The log of the density of the least of many."""
    return x - jnp.exp(x)


DENSITIES = ["logistic", "normal", "laplace", "gumbel", jr.extend.densities.Density("mirrored gumbel", mirrored)]


def part_densities(options):
    """Pairs in the predicted order and ranks missed, in percent, and seconds with compilation."""
    found = load("small" if options.quick else "codeforces2020", options)
    if found is None:
        return None
    rounds, contest = found
    rounds = slice_events(rounds, 0, int(np.searchsorted(contest[rounds.player_start[:-1]], CONTESTS)))
    contest, rows = contest[: rounds.player_start[-1]], []
    for density in DENSITIES[: 3 if options.quick else None]:
        seconds, rating = replay(jr.elo_mmr(density=density, skip_ties=True), rounds)
        name = getattr(density, "name", density)
        rows.append({"density": name} | quality(rounds, contest, rating) | {"seconds": seconds})
    return {"densities": rows}


PARTS = {"densities": part_densities}


def main():
    parser = declare(__doc__, "a small set, seconds in all", "codeforces2020.parquet")
    add_only(parser, PARTS, "PART")
    keep(PARTS, parse(parser, __file__))


if __name__ == "__main__":
    main()
