"""The time of one live update, among ten thousand players and a million, beside openskill's; of saving; of contests.

    taskset -c 0 python experiments/live.py   # on one core; half a minute; writes experiments/results/live.json
    python experiments/live.py --quick        # seconds; writes nothing unless --out is given

With two cores an update may wait for a second thread, which takes up to three times as long.
"""

import os
import tempfile
import time

import jax
import numpy as np
from common import add_only, declare, keep, look_for, parse

import jaxrate as jr

SYSTEMS = "elo", "glicko", "glicko2", "trueskill"


def typical(call, times):
    """Microseconds of a call: the median, and what nine of ten take at most."""
    taken = np.empty(times)
    for i in range(times):
        start = time.perf_counter()
        call(i)
        taken[i] = time.perf_counter() - start
    return {"median_us": float(np.median(taken) * 1e6), "ninety_percent_us": float(np.quantile(taken, 0.9) * 1e6)}


def by_run(system, pairs, count):
    """Microseconds of a match as it was before there was `live`: `jr.run` of that match alone, from the state."""
    state = [jr.run(system, jr.matches([pairs[0]], [1.0], [0.0]), num_players=count).state]

    def update(i):
        one = jr.matches([pairs[i]], [1.0], [float(i)])
        state[0] = jax.block_until_ready(jr.run(system, one, state=state[0]).state)

    return typical(update, len(pairs))["median_us"]


def matches(options):
    """Updates of matches of two, each system among few and many players; a run of one match; openskill's `rate`."""
    rng, times, rows = np.random.default_rng(0), 50 if options.quick else 4000, []
    for count in (100, 1_000) if options.quick else (10_000, 1_000_000):
        a = rng.integers(0, count, times + 1)
        b = (a + rng.integers(1, count, times + 1)) % count
        for name in SYSTEMS:
            live = jr.live.start_history(jr.extend.SYSTEMS[name](), range(count))
            pairs = [*zip(a.tolist(), b.tolist(), strict=True)]
            start = time.perf_counter()
            live.update(*pairs[times], 1.0, time=0.0)
            first = {"first_seconds": time.perf_counter() - start}
            row = typical(lambda i, live=live, pairs=pairs: live.update(*pairs[i], 1.0, time=float(i)), times)
            run = by_run(jr.extend.SYSTEMS[name](), pairs[: 3 if options.quick else 100], count)
            rows.append({"system": name, "players": count} | row | first | {"by_run_median_us": run})
    if options.openskill:
        from openskill.models import BradleyTerryFull

        model = BradleyTerryFull()
        players = [model.rating() for _ in range(1000)]

        def rate(i):
            x, y = i % 1000, (i * 7 + 1) % 1000
            [[players[x]], [players[y]]] = model.rate([[players[x]], [players[y]]])

        rows.append({"system": "openskill, BradleyTerryFull", "players": 1000} | typical(rate, times))
    return {"microseconds": rows}


def contests(options):
    """Contests of ten by Elo-MMR."""
    rng, times = np.random.default_rng(0), 5 if options.quick else 500
    live = jr.live.start_history(jr.elo_mmr(), range(10_000))
    names = [rng.choice(10_000, 10, replace=False).tolist() for _ in range(times + 1)]
    live.update_round(names[times])
    return {"contests of ten": [{"system": "elo_mmr"} | typical(lambda i: live.update_round(names[i]), times)]}


def saving(options):
    """What it takes to keep 10,000 players: in JSON, and by `jr.save` with the table of 1,000 matches."""
    live = jr.live.start_history(jr.glicko(), [f"player {i}" for i in range(10_000)])
    for i in range(10 if options.quick else 1_000):
        live.update(f"player {i}", f"player {i + 1}", 1.0, time=float(i))
    live.to_json()
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        jr.save(run, live.to_rated())
        ways = {"to_json": lambda i: live.to_json(), "save": lambda i: jr.save(run, live.to_rated())}
        return {"10,000 players": [{"way": way} | typical(call, 20) for way, call in ways.items()]}


PARTS = {"matches": matches, "contests": contests, "saving": saving}

if __name__ == "__main__":
    parser = declare(__doc__, "few players and few updates")
    add_only(parser, PARTS, "PART")
    options = parse(parser, __file__)
    look_for(options, "openskill")
    keep(PARTS, options)
