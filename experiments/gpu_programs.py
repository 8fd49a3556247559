"""What replays are as programs for a GPU, compiled for an H100 on a machine that has none: counts, and estimates.

    pip install 'jax[cuda12]'                          # of the same version as jax: the compiler is what is needed
    python experiments/gpu_programs.py                 # a minute; writes experiments/results/gpu_programs.json
    python experiments/gpu_programs.py --quick         # two systems; writes nothing unless --out is given
    python experiments/gpu_programs.py --before FOLDER # also with the jaxrate of that folder

Each system's program is the one that `run` would compile there, of matches, periods and rounds: the kernels, copies
and scatters of one step of its loop; the loops within a step, and how often it makes the host wait; how many CUDA
graphs it launches a step, 0 if the whole replay is one; and the bytes that a step's kernels write and read. Of some
systems also the program of many settings at once, as in `sweep`.

No time is measured. The estimates are of `TURNS` in `gpu_compiled.py`, and of the constants in `gpu_estimates.py`.
`gpu_record.py` measures, and writes the table that `rate --dry-run` reads.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from common import circumstances, declare, parse, show, tennis, versions, write
from gpu_compiled import TURNS, can_compile, compiled_text, counts
from gpu_estimates import BANDWIDTH, KERNEL_SECONDS, WAIT, step_seconds, unit_seconds

WIDTH, PLAYERS, MATCHES, FIELD = 1_024, 20_000, 20_000, 2_048  # of what is compiled
SETTINGS, TRIED = 64, ("elo", "glicko", "glicko2", "trueskill", "blat_mmr")  # at once, of these systems
UNIFORM = 1_000_000, 10_000_000  # players and matches of the wide history

# --- The program that `run` compiles. ---


class Caught(Exception):
    """A program and its arguments, in place of the call."""


def histories(system):
    """Small histories of each kind that the system rates, as by `run`."""
    import jaxrate as jr
    from jaxrate.data.simulate import contests, league

    found = league(PLAYERS, MATCHES, seed=0, draws=0.0 if system.name == "urnings" else 0.2).matches
    if system.settings.get("categories", 1) > 1:
        category = np.random.default_rng(0).integers(0, 2, (len(found.score), 2))
        found = found._replace(context=found.context._replace(category=category))
    if jr.Matches in system.events:
        yield "matches", found, jr.extend.schedule_by_level(found, WIDTH)
    if jr.Periods in system.events:
        whole = found._replace(time=np.floor(found.time / found.time[-1] * 4) * 7.0)
        yield "periods", jr.periods(whole, 7.0), "auto"
    if jr.Rounds in system.events:
        yield "rounds", contests(2 * FIELD, 4, size=FIELD, seed=0).rounds, "auto"


def program(system, events, schedule):
    """What `run` would call: the jitted function, its static arguments, and the rest."""
    import jax

    import jaxrate as jr
    from jaxrate.core.system import random_draw_rule
    from jaxrate.replay import execution

    compiled = execution.compile_replay

    def instead(*given, **options):
        found = compiled(*given, **options)

        def call(rules, static, *rest):
            raise Caught(found, (rules, static), rest)

        call.lower = call
        return call

    execution.compile_replay = instead
    try:
        key = None if random_draw_rule(system.rules) is None else jax.random.key(0)
        jr.run(system, events, schedule=schedule, key=key)
    except Caught as caught:
        return caught.args
    finally:
        execution.compile_replay = compiled


def many(found, static, rest):
    """The same program of many settings at once: each has its own hyperparameters and state, the matches are shared."""
    import jax

    from jaxrate.replay.compiler_options import REPLAY_CUDA_GRAPH_OPTIONS, supported_xla_options

    params, state, *others = rest
    wide = jax.tree.map(lambda x: jax.ShapeDtypeStruct((SETTINGS, *np.shape(x)), jax.typeof(x).dtype), (params, state))

    def together(params, state, *others):
        return jax.vmap(lambda params, state: found.__wrapped__(*static, params, state, *others))(params, state)

    return (
        jax.jit(together, donate_argnums=1, compiler_options=supported_xla_options(REPLAY_CUDA_GRAPH_OPTIONS)),
        (),
        (*wide, *others),
    )


def size_of_step(static, rest):
    """Matches, players and pairs, or participants of a step."""
    events = rest[2]
    if not hasattr(events, "pair") and not hasattr(events, "rank"):
        return WIDTH
    players, others = static[1]
    return players + others if hasattr(events, "pair") else players


def measured(name, settings):
    """Rows of one system, in this process; if asked for, also of many settings at once."""
    import jax

    import jaxrate as jr

    system, rows = jr.extend.SYSTEMS[name](), []
    arranged = [*histories(system)]
    jax.default_backend = lambda: "gpu"  # what the library asks to know for what it compiles
    for kind, events, schedule in arranged:
        found, static, rest = program(system, events, schedule)
        about = {"system": name, "events": kind, "size": size_of_step(static, rest), "settings": 1}
        rows.append(about | counts(*compiled_text(found, static, rest)))
        if settings and kind == "matches":
            rows.append(about | {"settings": SETTINGS} | counts(*compiled_text(*many(found, static, rest))))
    return rows


# --- Estimates. ---


def steps(options):
    """(steps, matches, width) of two histories: how they are arranged for a GPU."""
    import jax

    import jaxrate as jr
    from jaxrate.data.simulate import league

    backend, jax.default_backend = jax.default_backend, lambda: "gpu"
    try:
        given = {"tennis": tennis(options)}
        given |= {} if options.quick else {"uniform": league(*UNIFORM, seed=0).matches}
        for name, matches in given.items():
            if matches is not None:
                plan = jr.extend.schedule_by_level(matches)
                yield name, {"matches": plan.num_matches, "steps": plan.num_steps, "width": plan.number.shape[1]}
    finally:
        jax.default_backend = backend


def seconds(row, width):
    """Of a step of so many matches, if nothing but launches, waits and memory takes time."""
    return max(step_seconds(row), width * unit_seconds(row))


def estimated(row, arranged):
    """Million matches a second of each history, those of all settings together."""
    if row["events"] != "matches":
        return row
    rate = {
        k: row["settings"] * x["matches"] / x["steps"] / seconds(row, x["width"]) / 1e6 for k, x in arranged.items()
    }
    return row | rate


def spawned(name, folder, settings):
    """The rows of a system in a process of its own, with the jaxrate of a folder."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, __file__, "--one", name, *(["--settings"] if settings else [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    import jaxrate as jr

    parser = declare(__doc__, "two systems, and a small league", data="atp.parquet")
    parser.add_argument("--before", type=Path, help="a folder with another version of jaxrate")
    parser.add_argument("--one", choices=jr.extend.SYSTEMS, help="print the rows of one system")
    parser.add_argument("--settings", action="store_true", help="with --one: also many settings at once")
    parser.add_argument(
        "--only", nargs="+", choices=jr.extend.SYSTEMS, default=[*jr.extend.SYSTEMS], help="some systems"
    )
    options = parse(parser, __file__)
    if not can_compile():
        return
    if options.one:
        print(json.dumps(measured(options.one, options.settings)))
        return
    folders = versions(options.before)
    arranged = dict(steps(options))
    names = ["glicko", "glicko2"] if options.quick and options.only == [*jr.extend.SYSTEMS] else options.only
    rows = []
    for name in names:
        for version, folder in folders.items():
            settings = version == "now" and name in TRIED and not options.quick
            mine = [{"version": version} | estimated(row, arranged) for row in spawned(name, folder, settings)]
            rows += mine if options.before else [{k: x for k, x in row.items() if k != "version"} for row in mine]
    results = {"histories": [{"history": k} | x for k, x in arranged.items()], "step": rows}
    show(results)
    constants = {
        "kernel": KERNEL_SECONDS,
        "wait": WAIT,
        "bandwidth": BANDWIDTH,
        "turns": TURNS,
    }
    sizes = {"width": WIDTH, "field": FIELD, "players": PLAYERS, "matches": MATCHES}
    write(options.out, circumstances("jax-cuda12-plugin"), {"constants": constants, "sizes": sizes} | results)


if __name__ == "__main__":
    main()
