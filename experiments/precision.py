"""How far float32 is from float64 after a long history, for every system.

    python experiments/precision.py           # about ten minutes; writes experiments/results/precision.json
    python experiments/precision.py --quick   # seconds, on small histories; writes nothing unless --out is given

Each history is replayed in both precisions by the default hyperparameters. The errors are those of final ratings, in
points and in units of the system's own deviation, and of the predictions: the worst of all, of the first tenth of the
history, and of the last, which would show an error that grows. Urnings move whole balls by random numbers, which are
other ones in float64: their predictions are compared from the same urns.
"""

import sys

import jax
import numpy as np
from common import measure
from histories import read_history, tennis

import jaxrate as jr
from jaxrate.data.simulate import contests, league
from jaxrate.events import slice_events

WEEK = 7.0
PAIRWISE = ("elo", "glicko", "glicko2", "trueskill", "weng_lin", "blat_mmr", "urnings")
PERIODS = ("elo", "glicko", "glicko2", "category_glicko")
ROUNDS = ("elo_mmr", "elo_mmx", "codeforces", "topcoder", "trueskill", "weng_lin")
QUICK = ("elo", "glicko", "urnings", "category_glicko", "elo_mmr")  # of each form: plain, and with rules of their own
SLOW = {"blat_mmr": 100_000, "weng_lin": 100_000}  # matches, or participations, that some are given


def replay(system, events, double):
    """Ratings, deviations and predictions, in float64 whatever they were computed in."""
    with jax.enable_x64(double):
        key = None if system.rules.draw is None else jax.random.key(0)
        done = jr.run(system, events, key=key)
        every = *jr.ratings(system, done.state), done.prediction
        return [None if x is None else np.asarray(x, np.float64) for x in every]


def same_urns(system, matches):
    """Predictions of all matches from the urns that they leave, in both precisions."""
    state = jr.run(system, matches, key=jax.random.key(0)).state
    for double in (False, True):
        with jax.enable_x64(double):
            yield np.asarray(jr.predict(system, jax.tree.map(np.asarray, state), matches), np.float64)


def row(history, name, form, system, events):
    """The errors of one system."""
    count = (
        len(events.score)
        if form == "matches"
        else len(events.events.player if form == "rounds" else events.events.score)
    )
    found = {"history": history, "system": name, "form": form}
    found |= {"matches" if form != "rounds" else "participations": count}
    if system.rules.draw is not None:
        one, other = same_urns(system, events)
        return found | {"prediction_worst": float(np.max(np.abs(one - other)))}
    (mean, _, guess), (true, deviation, truth) = (replay(system, events, double) for double in (False, True))
    off, wrong = np.abs(mean - true), np.abs(guess - truth)
    tenth = max(len(wrong) // 10, 1)
    return found | {
        "rating_worst": float(off.max()),
        "rating_median": float(np.median(off)),
        "deviations_worst": None if deviation is None else float(np.max(off / deviation)),
        "prediction_worst": float(wrong.max()),
        "first_tenth": float(wrong[:tenth].max()),
        "last_tenth": float(wrong[-tenth:].max()),
    }


def system_for(name, form):
    """The system as it is for such a history: Urnings have the scores of tennis, periods are weeks."""
    changes = {"period": WEEK} if form == "periods" and name != "elo" else {}
    return jr.extend.SYSTEMS[name](**changes | ({"categories": 1} if name == "category_glicko" else {}))


def choose(names, options):
    return [name for name in names if name in QUICK or not options.quick]


def of_matches(history, matches, options):
    rows = []
    for form, names in (("matches", PAIRWISE), ("periods", PERIODS)):
        for name in choose(names, options):
            some = slice_events(matches, 0, min(len(matches.score), SLOW.get(name, sys.maxsize)))
            if name == "category_glicko":
                some = some._replace(context=some.context._replace(category=None))
            events = jr.periods(some, WEEK) if form == "periods" else some
            rows.append(row(history, name, form, system_for(name, form), events))
    return rows


def of_rounds(history, rounds, options):
    rows = []
    for name in choose(ROUNDS, options):
        most = int(np.searchsorted(rounds.player_start, SLOW.get(name, sys.maxsize), side="right")) - 1
        rows.append(row(history, name, "rounds", system_for(name, "rounds"), slice_events(rounds, 0, most)))
    return rows


def part_tennis(options):
    """ATP tennis, match by match and in weeks."""
    if options.quick:
        return None
    matches = tennis(options)
    return matches and {"ATP tennis": of_matches("ATP tennis", matches, options)}


def part_league(options):
    """Many matches of few players, over decades."""
    n, players = (500, 20) if options.quick else (500_000, 100)
    matches = league(players, n, seed=1, days=20_000.0, drift=50.0).matches
    return {"simulated": of_matches(f"simulated, {players} players", matches, options)}


def part_codeforces(options):
    """The first contests of Codeforces."""
    if options.quick:
        return None
    if not (data := read_history(options, "codeforces")):
        return None
    first = slice_events(data.rounds, 0, int(np.searchsorted(data.rounds.player_start, 200_000)))
    return {"Codeforces": of_rounds("Codeforces", first, options)}


def part_contests(options):
    """Many contests of few players."""
    n, players, size = (10, 60, (20, 40)) if options.quick else (5_000, 200, (20, 60))
    rounds = contests(players, n, size=size, seed=1, days=5_000.0, drift=50.0, grid=20.0).rounds
    return {"simulated": of_rounds(f"simulated, {players} players", rounds, options)}


def part_level(options):
    """Elo after leagues of several lengths: the level of all ratings together, and what is left between players."""
    rows, players = [], 20 if options.quick else 100
    for n in (500,) if options.quick else (5_000, 50_000, 500_000):
        matches = league(players, n, seed=1, days=20_000.0, drift=50.0).matches
        (mean, *_), (true, *_) = (replay(jr.elo(), matches, double) for double in (False, True))
        off = mean - true
        rows.append({"matches_each": 2 * n // players, "level": float(abs(off.mean())), "spread": float(off.std())})
    return {"Elo": rows}


PARTS = {"tennis": part_tennis, "league": part_league, "codeforces": part_codeforces, "contests": part_contests}
PARTS |= {"level": part_level}


if __name__ == "__main__":
    jax.config.update("jax_enable_compilation_cache", False)
    measure(PARTS, "small histories, seconds in all", "atp.parquet and codeforces2020.parquet")
