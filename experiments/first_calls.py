"""What a first call costs, and what a second history of another length compiles.

    python experiments/first_calls.py             # minutes; writes experiments/results/first_calls.json
    python experiments/first_calls.py --quick     # two systems; writes nothing unless --out is given
    python experiments/first_calls.py --before FOLDER   # also with the jaxrate of that folder, each process in turn

Each system has three processes of its own, of which the one with the shortest first call counts. In it `run` rates a
history, then others: the same again, one match more, a third more of twice the players, a half. Seconds are of the
clock and of the processor; compilations are those that JAX reports.
"""

import time
from pathlib import Path

import jax
import numpy as np
from common import call_alone, circumstances, declare, parse, versions, write

import jaxrate as jr
from jaxrate.data.simulate import contests, league

MATCHES, PLAYERS = 2_000, 200
OF_CONTESTS = "elo_mmr", "elo_mmx", "codeforces", "topcoder"  # they rate matches as contests of two
CONTESTS, SIZE = 100, 30
TRIES = 3
LENGTHS = {"first": (1.0, 1), "again": (1.0, 1), "one more": (1.001, 1), "longer": (1.3, 2), "half": (0.5, 1)}


def history(system, times, crowd, seed):
    """Matches, rating periods of them where the system rates only those, or contests."""
    if system.name not in OF_CONTESTS:
        draws = 0.0 if system.name == "urnings" else 0.2
        found = league(PLAYERS * crowd, round(MATCHES * times), seed=seed, draws=draws).matches
        if system.name == "category_glicko":
            category = np.random.default_rng(seed).integers(0, 2, (len(found.score), 2))
            found = found._replace(context=found.context._replace(category=category))
        return found if jr.Matches in system.events else jr.periods(found, system.params.period)
    count = round(CONTESTS * times) + (times == 1.001)
    return contests(PLAYERS * crowd, count, size=SIZE, seed=seed).rounds


def measured(name):
    """Rows of one system, in this process."""
    compiled, rows, system = [], [], jr.extend.SYSTEMS[name]()
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, duration, **_: compiled.append(duration) if event.endswith("backend_compile_duration") else None
    )
    key = None if system.rules.draw is None else jax.random.key(0)
    jax.block_until_ready(jax.jit(lambda x: x + 1)(0))
    for what, (times, crowd) in LENGTHS.items():
        events = history(system, times, crowd, len(rows))
        compiled.clear()
        clock, processor = time.perf_counter(), time.process_time()
        jax.block_until_ready(jr.run(system, events, key=key))
        seconds = time.perf_counter() - clock, time.process_time() - processor
        rows.append({"call": what, "seconds": seconds[0], "processor": seconds[1], "compilations": len(compiled)})
        rows[-1]["seconds_compiling"] = sum(compiled)
    return rows


def main():
    arguments = {
        "before": {"type": Path, "help": "a folder with another version of jaxrate"},
        "only": {"nargs": "+", "choices": jr.extend.SYSTEMS, "default": [*jr.extend.SYSTEMS], "help": "some systems"},
    }
    options = parse(declare("two systems", arguments=arguments))
    rows = []
    for name in options.only[:2] if options.quick else options.only:
        for version, folder in versions(options.before).items():
            tries = [call_alone(measured, name, package=folder) for _ in range(1 if options.quick else TRIES)]
            found = min(tries, key=lambda rows: rows[0]["seconds"])
            rows += [{"system": name, "version": version} | row for row in found]
            calls = ", ".join(f"{x['call']} {x['seconds']:.2f} s ({x['compilations']})" for x in found)
            print(f"{name:16} {version:7} {calls}", flush=True)
    write(options.out, circumstances(), {"calls": rows})


if __name__ == "__main__":
    main()
