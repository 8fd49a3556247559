"""What mean reversion is worth to Elo, Glicko, Glicko-2 and TrueSkill in league sports, by the clock and by season.

    python experiments/mean_reversion.py           # some minutes; writes experiments/results/mean_reversion.json
    python experiments/mean_reversion.py --quick   # seconds, Elo on the NFL's first years; writes nothing without --out

Every system is fitted by slopes to the past, without reversion, with `reversion`, with `seasons`, and with both (of
college basketball without and with seasons), and is scored by log loss on what follows: the NFL from 1990 on, and the
last fifth of college basketball. Ratings go on learning there; hyperparameters see nothing of it. Differences are to
the same system without reversion, with their standard errors over matches; those of a blend of all, which weighs by the
same past, to the best of them.
"""

import time

import numpy as np
from common import fit_options, log_losses, mean_and_error, measure
from histories import read_history

import jaxrate as jr
from jaxrate.evaluation.blending import blend_systems_one_step_ahead
from jaxrate.events import slice_events

FIT = {"steps": 40}
START = {  # hyperparameters at first
    "elo": {"side_advantage": 60.0},
    "glicko": {"side_advantage": 60.0, "initial_deviation": 150.0},
    "glicko2": {"side_advantage": 60.0, "initial_deviation": 150.0},
    "trueskill": {"side_advantage": 1.2, "initial_deviation": 3.0, "drift": 0.001},
}
YEARS = 3.0 * 365.25  # of `reversion`, at first


def ways(begin):
    """What is on, by its name."""
    clock, season = {"reversion": YEARS}, {"seasons": tuple(begin)}
    return {"none": {}, "clock": clock, "seasons": season, "both": clock | season}


def rows(matches, season, cut, systems, only=("none", "clock", "seasons", "both"), search=FIT):
    """A row for each system and way, fitted to the matches before `cut` and scored on the others."""
    moment, score = np.asarray(matches.time), np.asarray(matches.score, np.float64)
    begin = moment[np.diff(season, prepend=season[0] - 1) > 0].astype(float)
    guesses, best = {way: [] for way in only}, {}
    for name in systems:
        plain = None
        for way in only:
            began, given = time.perf_counter(), ways(begin)[way]
            found = jr.fit(jr.extend.SYSTEMS[name](**START[name] | given), slice_events(matches, 0, cut), **search)
            guesses[way].append(jr.run(found.system, matches).prediction)
            loss = log_losses(guesses[way][-1], score)[cut:]
            best[way] = min(best.get(way, loss), loss, key=np.mean)
            plain = loss if plain is None else plain
            row = {"system": name, "reverts": way, "log_loss": loss.mean()} | mean_and_error(loss - plain)
            values = {x: getattr(found.params, x) for x in found.free}
            yield row | {"seconds": time.perf_counter() - began} | values
    for way in only if len(systems) > 1 else ():
        weighting = np.ones(len(score)), np.arange(len(score)) >= cut
        weights, together, _ = blend_systems_one_step_ahead(guesses[way], score, *weighting)
        loss = log_losses(together, score)[cut:]
        row = {"system": "blend", "reverts": way, "log_loss": loss.mean()} | mean_and_error(loss - best[way])
        yield row | {f"weight_{name}": weight for name, weight in zip(systems, weights, strict=True)}


def nfl(options):
    matches = jr.data.datasets.nfl().matches
    if options.quick:
        matches = slice_events(matches, 0, 600)
    season = matches.context.columns["season"]
    cut = 480 if options.quick else int(np.searchsorted(season, 1990))
    systems, search = (["elo"], fit_options(options.quick)) if options.quick else (options.systems, FIT)
    return {f"matches {cut} to {len(season)}": [*rows(matches, season, cut, systems, search=search)]}


def basketball(options):
    if options.quick or not (data := read_history(options, "basketball", columns=["season"])):
        return None
    matches = data.matches
    cut = len(matches.score) * 4 // 5
    season = matches.context.columns["season"]
    return {"the last fifth": [*rows(matches, season, cut, options.systems, ("none", "seasons"))]}


PARTS = {"nfl": nfl, "basketball": basketball}


if __name__ == "__main__":
    systems = {"nargs": "+", "choices": START, "default": [*START], "metavar": "SYSTEM", "help": ", ".join(START)}
    measure(PARTS, "Elo on the first matches of the NFL", "ncaa_basketball.parquet", arguments={"systems": systems})
