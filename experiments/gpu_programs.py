"""What replays are as programs for a GPU, compiled for an H100 on a machine that has none: what they launch.

    pip install 'jax[cuda12]'                  # of the same version as jax: the compiler is what is needed
    python experiments/gpu_programs.py         # minutes; writes experiments/results/gpu_programs.json
    python experiments/gpu_programs.py --quick # two systems; writes nothing unless --out is given

Loop: a row for each system and kind of events, of the program that `run` would compile there. It has the kernels,
copies and scatters of one step of its loop; the loops within a step, and how often it makes the host wait; and how many
CUDA graphs it launches a step, 0 if the whole replay is one.

Kernel: a row for each system that `engine="kernel"` takes, of one setting and of 64 at once. It has the kernels that a
replay launches in all, and the copies of a leaf of the state; blocks and threads of the kernel that walks through the
levels, its registers, and how many bytes of them go to memory instead; the instructions of a level, with its barriers;
how many numbers it writes only if somebody plays in the slot; and how many it takes for constant, which none must be.

No time is measured: `gpu_record.py` does that.
"""

import importlib.util
import os
import re
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
from common import catch_replay, circumstances, declare, parse, show, write
from jax.experimental import topologies

import jaxrate as jr
from jaxrate.data.simulate import contests, league
from jaxrate.replay.compiler_options import REPLAY_CUDA_GRAPH_OPTIONS, supported_xla_options
from jaxrate.replay.kernel import levels_kernel
from jaxrate.replay.scan_programs import Steps, make_replay_rules

TARGET = Path(__file__).with_name("h100.txt")  # what XLA must know of the device
TURNS = 4  # turns that a loop within a step takes, where their number is not known
WIDTH, PLAYERS, MATCHES, FIELD = 1_024, 20_000, 20_000, 2_048  # of what is compiled
KERNEL_SYSTEMS = "elo", "glicko", "glicko2", "trueskill", "weng_lin", "skills"
KERNEL_WIDTH, SETTINGS = 64, (1, 64)


def can_compile():
    """Whether programs for a GPU can be compiled here, which is made ready; if not, this is said."""
    os.environ |= {
        "JAX_PLATFORMS": "cpu",
        "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
        "JAX_ENABLE_COMPILATION_CACHE": "false",
    }
    os.environ.pop("JAXRATE_COMPILE", None)  # programs are those that users have
    found = any(importlib.util.find_spec(f"jax_cuda{version}_plugin") for version in (12, 13))
    if not found:
        print("JAX's CUDA packages are not installed (pip install 'jax[cuda12]'): skipped")
    return found


def on_one_device():
    """The sharding of an array that lies on the H100."""
    device = topologies.get_topology_desc(platform="cuda", target_config=TARGET.read_text(), topology="1x1x1")
    mesh = topologies.make_mesh(device, (1,), ("device",))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())


def compiled_text(found, static, rest):
    """The optimised program for an H100, and its launches, as text."""
    there = on_one_device()

    def shape(x):
        kind = x if isinstance(x, jax.ShapeDtypeStruct) else jax.typeof(x)
        return jax.ShapeDtypeStruct(kind.shape, kind.dtype, sharding=there, weak_type=kind.weak_type)

    with tempfile.TemporaryDirectory() as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_as_text": True, "xla_gpu_autotune_level": 0}
        text = found.lower(*static, *jax.tree.map(shape, rest)).compile(compiler_options=options).as_text()
        (launches,) = Path(folder).glob("*thunk_sequence_after_thunk_passes.txt")
        return text, launches.read_text()


# --- What a step of the loop launches. ---


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


def loops_of(found, name):
    """(the line, the name of its body) of each loop in a computation, not those within."""
    for _, operation, rest in found[name].lines.values():
        if operation == "while":
            yield rest, re.search(r"body=%([\w.-]+)", rest)[1]


def turns_of(rest):
    """How many turns a loop takes; None: that is not known."""
    known = re.search(r'known_trip_count":\{"n":"(\d+)"', rest)
    return int(known[1]) if known else None


def within(found, name):
    """The lines of the loops in a computation and in their bodies."""
    for rest, body in loops_of(found, name):
        yield rest
        yield from within(found, body)


LAUNCHED = "kCustomKernel", "kKernel", "kGemm", "kMemset", "kMemzero", "kCuDnn", "kCustomCall", "kSort", "kCub"


def counts(text, launches):
    """The numbers of one step of the longest loop."""
    found, root = computations(text), launched(launches)
    (entry,) = re.findall(r"^ENTRY %(\S+)", text, re.M)
    _, body = max(loops_of(found, entry), key=lambda x: len(found[x[1]].lines))
    whole = max((x for x in root.all() if x.kind == "kWhile"), key=lambda x: sum(1 for _ in x.all()))
    inner = [*within(found, body)]
    turns = [turns_of(rest) for rest in inner]
    outer = next(rest for rest, name in loops_of(found, entry) if name == body)
    alone = not any(x is whole for top in root.inside if top.kind == "kCommandBuffer" for x in top.all())
    everything = list(whole.all())[1:]
    kinds = [x.kind for x in everything]
    waits = (turns_of(outer) is None) + sum(TURNS for x in turns if x is None)
    return {
        "kernels": sum(x in LAUNCHED for x in kinds),
        "copies": kinds.count("kCopy"),
        "scatters": sum(x.name.startswith(("input_scatter", "wrapped_scatter", "loop_scatter")) for x in everything),
        "loops": kinds.count("kWhile"),
        "waits": waits if alone else 0,
        "graphs": kinds.count("kCommandBuffer"),
    }


def histories(system):
    """Small histories of each kind that the system rates, as by `run`."""
    found = league(PLAYERS, MATCHES, seed=0, draws=0.0 if system.name == "urnings" else 0.2).matches
    if system.settings.get("categories", 1) > 1:
        category = np.random.default_rng(0).integers(0, 2, (len(found.score), 2))
        found = found._replace(context=found.context._replace(category=category))
    if jr.Matches in system.events:
        yield "matches", found, jr.extend.schedule_by_level(found, WIDTH)
    if jr.Periods in system.events:
        length = getattr(system.params, "period", 7.0)
        whole = found._replace(time=np.floor(found.time / found.time[-1] * 4) * length)
        yield "periods", jr.periods(whole, length), "auto"
    if jr.Rounds in system.events:
        yield "rounds", contests(2 * FIELD, 4, size=FIELD, seed=0).rounds, "auto"


def program(system, events, schedule):
    """What `run` would call: the jitted function, its static arguments, and the rest."""
    key = None if system.rules.draw is None else jax.random.key(0)
    found, arguments = catch_replay(lambda: jr.run(system, events, schedule=schedule, key=key))
    return found, arguments[:2], arguments[2:]


def count_steps(name):
    """A row for each kind of events that a system rates."""
    system = jr.extend.SYSTEMS[name]()
    arranged = [*histories(system)]
    with patch.object(jax, "default_backend", lambda: "gpu"):  # what the library asks to know for what it compiles
        for kind, events, schedule in arranged:
            yield {"system": name, "events": kind} | counts(*compiled_text(*program(system, events, schedule)))


# --- The kernel that walks through all levels. ---


def compile_kernel(system, settings, events, plan):
    """The optimised program, its launches, and the kernel's code, each as text."""
    there = on_one_device()

    def shape(x, *more):
        return jax.ShapeDtypeStruct((*more, *x.shape), x.dtype, sharding=there)

    rules, (number, size) = make_replay_rules(system.rules, system.params), plan.blocks[0]

    def replay(params, state, events, number, count):
        def one(params, state):
            steps = Steps(events, number, None, count)
            return levels_kernel.replay_levels_in_kernel(rules, size, params, (state, None), steps)

        return one(params, state) if settings == 1 else jax.vmap(one)(params, state)

    several = partial(jax.tree.map, lambda x: shape(x, *(() if settings == 1 else (settings,))))
    params = several(jax.tree.map(jnp.float32, system.params))
    state = several(jax.eval_shape(lambda x: system.init(x, plan.num_players), system.params))
    given = params, state, *jax.tree.map(shape, (plan.place(events), number, jnp.int32(plan.num_steps)))
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "xla_dump_to": folder,
            "xla_dump_hlo_as_text": True,
            "xla_gpu_autotune_level": 0,
        } | supported_xla_options(REPLAY_CUDA_GRAPH_OPTIONS)
        text = jax.jit(replay, donate_argnums=1).lower(*given).compile(compiler_options=options).as_text()
        launches = max(Path(folder).glob("*thunk_sequence*.txt"), key=lambda x: len(x.name)).read_text()
        (code,) = (x for x in map(Path.read_text, Path(folder).glob("*.ptx")) if ".entry levels(" in x)
        return text, launches, code


def registers(code):
    """Registers of a thread, and bytes that it keeps in memory for want of more; nothing without the assembler."""
    found = importlib.util.find_spec("nvidia.cuda_nvcc")
    for folder in found.submodule_search_locations if found else ():
        with tempfile.TemporaryDirectory() as out:
            (source := Path(out, "levels.ptx")).write_text(code)
            command = [Path(folder, "bin", "ptxas"), "-v", "-arch=sm_90a", source, "-o", Path(out, "levels.cubin")]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        spilt = sum(map(int, re.findall(r"(\d+) bytes spill", said)))
        return {"registers": int(re.search(r"Used (\d+) registers", said)[1]), "spilt": spilt}
    return {}


def loop_of(code):
    """The instructions of the longest loop, but for moves, which the assembler does without."""
    lines = [x.strip() for x in code.splitlines()]
    begins = {x[:-1]: i for i, x in enumerate(lines) if x.startswith("$") and x.endswith(":")}
    ends = {found[1]: i for i, x in enumerate(lines) if (found := re.search(r"bra(?:\.uni)?\s+(\$\w+);", x))}
    low, high = max(((begins[x], i) for x, i in ends.items() if begins[x] < i), key=lambda x: x[1] - x[0])
    found = [x.strip() for line in lines[low:high] if not line.startswith("//") for x in line.split(";")]
    return [x for x in found if re.match(r"@|[a-z]", x) and not x.startswith("mov.")]


def count_kernel(name, settings, events, plan):
    """The row of a system."""
    with patch.object(jax, "default_backend", lambda: "gpu"):
        text, launches, code = compile_kernel(jr.extend.SYSTEMS[name](), settings, events, plan)
    kernels = re.findall(r"kCustomKernel \[.*?\] (\S+) grid: \[(\d+),.*?threads: \[(\d+),", launches)
    ((blocks, threads),) = [(int(b), int(t)) for kernel, b, t in kernels if kernel == "levels"]
    loop = loop_of(code)
    leaf = rf"= f32\[(?:{settings},)?{plan.num_players}\]\S* copy\("
    return {
        "system": name,
        "settings": settings,
        "launches": len(kernels),
        "copies": len(re.findall(leaf, text)),
        "blocks": blocks,
        "threads": threads,
        **registers(code),
        "instructions": len(loop),
        "barriers": sum("bar.sync" in x for x in loop),
        "guarded": sum(x.startswith("@") and "st.global" in x for x in loop),
        "constant": code.count("ld.global.nc"),
    }


def main():
    only = {"nargs": "+", "choices": jr.extend.SYSTEMS, "help": "some systems"}
    options = parse(declare("two systems", arguments={"only": only}))
    if not can_compile():
        return
    names = options.only or (["elo", "glicko2"] if options.quick else [*jr.extend.SYSTEMS])
    matches = league(1_000, 10_000, seed=0).matches
    plan = jr.extend.schedule_by_level(matches, KERNEL_WIDTH)
    kernels = [
        count_kernel(name, number, matches, plan) for number in SETTINGS for name in names if name in KERNEL_SYSTEMS
    ]
    results = {"loop": [row for name in names for row in count_steps(name)], "kernel": kernels}
    show(results)
    sizes = {"width": WIDTH, "field": FIELD, "players": PLAYERS, "matches": MATCHES, "kernel_width": KERNEL_WIDTH}
    write(options.out, circumstances("jax-cuda12-plugin") | {"sizes": sizes}, results)


if __name__ == "__main__":
    main()
