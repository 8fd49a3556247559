"""What replays are as programs for a GPU, compiled for an H100 on a machine that has none: counts, and estimates.

    pip install 'jax[cuda12]'                          # of the same version as jax: the compiler is what is needed
    python experiments/gpu_programs.py                 # a minute; writes experiments/results/gpu_programs.json
    python experiments/gpu_programs.py --quick         # two systems; writes nothing unless --out is given
    python experiments/gpu_programs.py --before FOLDER # also with the jaxrate of that folder

Each system's program is the one that `run` would compile there, of matches, periods and rounds: the kernels, copies
and scatters of one step of its loop; the loops within a step, and how often it makes the host wait; how many CUDA
graphs it launches a step, 0 if the whole replay is one; and the bytes that a step's kernels write and read. Of some
systems also the program of many settings at once, as in `sweep`.

No time is measured. The estimates are of the constants below, and of those of `jaxrate/replay/estimates.py`, where the
counts of this version stand too.
"""

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import circumstances, declare, parse, show, tennis, versions, write

WAIT = 15e-6  # seconds that a value on its way to the host takes, or the launch of one more graph
TURNS = 4  # turns that a loop within a step takes, where their number is not known; none if it only repairs

WIDTH, PLAYERS, MATCHES, FIELD = 1_024, 20_000, 20_000, 2_048  # of what is compiled
SETTINGS, TRIED = 64, ("elo", "glicko", "glicko2", "trueskill", "blat_mmr")  # at once, of these systems
UNIFORM = 1_000_000, 10_000_000  # players and matches of the wide history

TARGET = Path(__file__).with_name("h100.txt")  # what XLA must know of the device

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
        yield "matches", found, jr.by_level(found, WIDTH)
    if jr.Periods in system.events:
        whole = found._replace(time=np.floor(found.time / found.time[-1] * 4) * 7.0)
        yield "periods", jr.periods(whole, 7.0), "auto"
    if jr.Rounds in system.events:
        yield "rounds", contests(2 * FIELD, 4, size=FIELD, seed=0).rounds, "auto"


def program(system, events, schedule):
    """What `run` would call: the jitted function, its static arguments, and the rest."""
    import jax

    import jaxrate as jr
    from jaxrate.replay import pure

    compiled = pure.compiled

    def instead(*given, **options):
        found = compiled(*given, **options)

        def call(rules, static, *rest):
            raise Caught(found, (rules, static), rest)

        call.lower = call
        return call

    pure.compiled = instead
    try:
        jr.run(system, events, schedule=schedule, key=None if system.rules.draw is None else jax.random.key(0))
    except Caught as caught:
        return caught.args
    finally:
        pure.compiled = compiled


def many(found, static, rest):
    """The same program of many settings at once: each has its own hyperparameters and state, the matches are shared."""
    import jax

    from jaxrate.replay.compiling import one_graph

    params, state, *others = rest
    wide = jax.tree.map(lambda x: jax.ShapeDtypeStruct((SETTINGS, *np.shape(x)), jax.typeof(x).dtype), (params, state))

    def together(params, state, *others):
        return jax.vmap(lambda params, state: found.__wrapped__(*static, params, state, *others))(params, state)

    return jax.jit(together, donate_argnums=1, compiler_options=one_graph()), (), (*wide, *others)


def size_of_step(static, rest):
    """Matches, players and pairs, or participants of a step."""
    events = rest[2]
    if not hasattr(events, "pair") and not hasattr(events, "rank"):
        return WIDTH
    players, others = static[1]
    return players + others if hasattr(events, "pair") else players


def compiled_text(found, static, rest):
    """The optimised program for an H100, and its launches, as text."""
    import jax
    from jax.experimental import topologies

    device = topologies.get_topology_desc(platform="cuda", target_config=TARGET.read_text(), topology="1x1x1")
    mesh = topologies.make_mesh(device, (1,), ("device",))
    there = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

    def shape(x):
        kind = x if isinstance(x, jax.ShapeDtypeStruct) else jax.typeof(x)
        return jax.ShapeDtypeStruct(kind.shape, kind.dtype, sharding=there, weak_type=kind.weak_type)

    with tempfile.TemporaryDirectory() as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_as_text": True, "xla_gpu_autotune_level": 0}
        text = found.lower(*static, *jax.tree.map(shape, rest)).compile(compiler_options=options).as_text()
        (launches,) = Path(folder).glob("*thunk_sequence_after_thunk_passes.txt")
        return text, launches.read_text()


# --- What is counted. ---


class Thunk(NamedTuple):
    indent: int
    kind: str
    name: str
    inside: list[Any]

    def all(self):
        yield self
        for one in self.inside:
            yield from one.all()


def launched(text):
    """The tree of what XLA's runtime launches."""
    stack = [Thunk(-4, "", "", [])]
    for line in text.splitlines():
        if line.strip() == "body:":  # what the condition of its loop launches came before
            while stack[-1].indent != len(line) - len(line.lstrip()) - 2:
                stack.pop()
        elif found := re.match(r"( *)\d+: (k\w+) +\[.*?\] *(\S*)", line):
            one = Thunk(len(found[1]), found[2], found[3], [])
            while stack[-1].indent >= one.indent:
                stack.pop()
            stack[-1].inside.append(one)
            stack.append(one)
    return stack[0]


class Computation(NamedTuple):
    """A computation of an optimised program."""

    lines: dict[str, tuple[str, str, str]]  # type, operation and the rest, by name
    root: str


def computations(text):
    found, lines, root = {}, {}, ""
    for line in text.splitlines():
        if begin := re.match(r"(?:ENTRY )?%(\S+) \(.*\{$", line):
            lines, root = {}, ""
            name = begin[1]
        elif line == "}":
            found[name] = Computation(lines, root)
        elif one := re.match(r"  (ROOT )?%(\S+) = (\(.*?\)|\S+) ([\w-]+)\((.*)", line):
            lines[one[2]] = one[3], one[4], one[5]
            root = one[2] if one[1] else root
    return found


def size_of(shape):
    """Bytes of a type, such as (f32[8,2]{1,0}, pred[])."""
    found = re.findall(r"([a-z]+)(\d*)\[([\d,]*)\]", shape)
    return sum(int(bits or 8) // 8 * math.prod(map(int, filter(None, sizes.split(",")))) for _, bits, sizes in found)


def loops_of(found, name):
    """(the line, the name of its body) of each loop in a computation, not those within."""
    for _, operation, rest in found[name].lines.values():
        if operation == "while":
            yield rest, re.search(r"body=%([\w.-]+)", rest)[1]


def turns_of(found, rest):
    """How many turns a loop takes; None: that is not known."""
    known = re.search(r'known_trip_count":\{"n":"(\d+)"', rest)
    condition = found[re.search(r"condition=%([\w.-]+)", rest)[1]]
    plain = "parameter", "get-tuple-element", "bitcast"
    repairs = all(operation in plain for _, operation, _ in condition.lines.values())  # goes on if told so
    return int(known[1]) if known else 0 if repairs else None


def within(found, name):
    """The lines of the loops in a computation and in their bodies."""
    for rest, body in loops_of(found, name):
        yield rest
        yield from within(found, body)


def written(found, name):
    """Bytes that the kernels of a computation write: what is written in place counts only as far as it changes."""
    total = 0
    for shape, operation, rest in found[name].lines.values():
        if operation == "while":
            turns = turns_of(found, rest)
            total += (TURNS if turns is None else turns) * written(found, re.search(r"body=%([\w.-]+)", rest)[1])
        elif operation == "fusion":
            inner = found[re.search(r"calls=%([\w.-]+)", rest)[1]]
            kind, last, given = inner.lines[inner.root]
            ends = re.findall(r"%([\w.-]+)", given.split(")")[0]) if last == "tuple" else [inner.root]
            for kind, last, given in (inner.lines[end] for end in ends):
                operands = re.findall(r"%([\w.-]+)", given.split(")")[0])
                if last == "scatter":
                    total += sum(size_of(inner.lines[x][0]) for x in operands[len(operands) // 2 + 1 :])
                elif last == "dynamic-update-slice":
                    total += size_of(inner.lines[operands[1]][0])
                else:
                    total += size_of(kind)
        elif operation in ("custom-call", "copy", "sort", "dot"):
            total += size_of(shape)
    return total


def turned(thunk, turns):
    """Kernels and copies that a thunk launches, if the loops in it take so many turns, in order of appearance."""
    if thunk.kind == "kWhile":
        times = next(turns)
        return times * sum([turned(one, turns) for one in thunk.inside])
    return (thunk.kind in LAUNCHED) + sum(turned(one, turns) for one in thunk.inside)


LAUNCHED = "kCustomKernel", "kKernel", "kCopy", "kGemm", "kMemset", "kMemzero", "kCuDnn", "kCustomCall", "kSort", "kCub"


def counts(text, launches):
    """The numbers of one step of the longest loop."""
    found, root = computations(text), launched(launches)
    (entry,) = re.findall(r"^ENTRY %(\S+)", text, re.M)
    _, body = max(loops_of(found, entry), key=lambda x: len(found[x[1]].lines))
    whole = max((x for x in root.all() if x.kind == "kWhile"), key=lambda x: sum(1 for _ in x.all()))
    inner = [*within(found, body)]
    turns = [turns_of(found, rest) for rest in inner]
    outer = next(rest for rest, name in loops_of(found, entry) if name == body)
    alone = not any(x is whole for top in root.inside if top.kind == "kCommandBuffer" for x in top.all())
    everything = list(whole.all())[1:]
    kinds = [x.kind for x in everything]
    waits = (turns_of(found, outer) is None) + sum(TURNS if x is None else x == 0 for x in turns)
    turns = iter([TURNS if x is None else x for x in turns])
    return {
        "kernels": sum(x in LAUNCHED and x != "kCopy" for x in kinds),
        "copies": kinds.count("kCopy"),
        "scatters": sum(x.name.startswith(("input_scatter", "wrapped_scatter", "loop_scatter")) for x in everything),
        "loops": kinds.count("kWhile"),
        "waits": waits if alone else 0,
        "graphs": kinds.count("kCommandBuffer"),
        "launches": sum(turned(x, turns) for x in whole.inside),
        "bytes": 2 * written(found, body),
    }


def measured(name, settings):
    """Rows of one system, in this process; if asked for, also of many settings at once."""
    import jax

    import jaxrate as jr

    system, rows = jr.SYSTEMS[name](), []
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
                plan = jr.by_level(matches)
                yield name, {"matches": plan.num_matches, "steps": plan.num_steps, "width": plan.number.shape[1]}
    finally:
        jax.default_backend = backend


def seconds(row, width):
    """Of a step of so many matches, if nothing but launches, waits and memory takes time."""
    from jaxrate.replay import estimates

    step = estimates.Step(row["launches"], row["bytes"], row["size"])
    return estimates.seconds(step, width) + (row["waits"] + row["graphs"]) * WAIT


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


def can_compile():
    """Whether programs for a GPU can be compiled here, which is made ready; if not, this is said."""
    os.environ |= {
        "JAX_PLATFORMS": "cpu",
        "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
        "JAX_ENABLE_COMPILATION_CACHE": "false",
    }
    found = any(importlib.util.find_spec(f"jax_cuda{version}_plugin") for version in (12, 13))
    if not found:
        print("JAX's CUDA packages are not installed (pip install 'jax[cuda12]'): skipped")
    return found


def main():
    import jaxrate as jr

    parser = declare(__doc__, "two systems, and a small league", data="atp.parquet")
    parser.add_argument("--before", type=Path, help="a folder with another version of jaxrate")
    parser.add_argument("--one", choices=jr.SYSTEMS, help="print the rows of one system")
    parser.add_argument("--settings", action="store_true", help="with --one: also many settings at once")
    parser.add_argument("--only", nargs="+", choices=jr.SYSTEMS, default=[*jr.SYSTEMS], help="some systems")
    options = parse(parser, __file__)
    if not can_compile():
        return
    if options.one:
        print(json.dumps(measured(options.one, options.settings)))
        return
    from jaxrate.replay import estimates

    folders = versions(options.before)
    arranged = dict(steps(options))
    names = ["glicko", "glicko2"] if options.quick and options.only == [*jr.SYSTEMS] else options.only
    rows = []
    for name in names:
        for version, folder in folders.items():
            settings = version == "now" and name in TRIED and not options.quick
            mine = [{"version": version} | estimated(row, arranged) for row in spawned(name, folder, settings)]
            rows += mine if options.before else [{k: x for k, x in row.items() if k != "version"} for row in mine]
    results = {"histories": [{"history": k} | x for k, x in arranged.items()], "step": rows}
    show(results)
    constants = {"kernel": estimates.KERNEL, "wait": WAIT, "bandwidth": estimates.BANDWIDTH, "turns": TURNS}
    sizes = {"width": WIDTH, "field": FIELD, "players": PLAYERS, "matches": MATCHES}
    write(options.out, circumstances("jax-cuda12-plugin"), {"constants": constants, "sizes": sizes} | results)


if __name__ == "__main__":
    main()
