"""What `engine="kernel"` is as a program for a GPU, compiled for an H100 on a machine that has none; and estimates.

    pip install 'jax[cuda12]'                # of the same version as jax: the compiler is what is needed
    python experiments/gpu_kernel.py         # half a minute; writes experiments/results/gpu_kernel.json
    python experiments/gpu_kernel.py --quick # two systems and a small league; writes nothing unless --out is given

One row for each system, of one setting and of 64 at once: how many kernels a replay launches in all, and how many
copies of a leaf of the state it makes; blocks and threads of the kernel that walks through the levels, its registers,
and how many bytes of them go to memory instead; how many instructions a level takes, with how many barriers; how many
numbers it writes only if somebody plays in the slot; and how many it takes for constant, which none must be.

No time is measured. The estimates are of the four constants below: a level loads the rows of its players, passes two
barriers, and does its instructions as if each waited for the one before.
"""

import importlib.util
import re
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from common import circumstances, declare, parse, show, tennis, write
from gpu_compiled import can_compile, on_one_device

CLOCK = 1.755e9  # cycles a second
LOAD = 300  # cycles until a number comes from the cache that all blocks share
BARRIER = 50  # cycles
INSTRUCTION = 6  # cycles until the next one can use what it computes; few take longer

SYSTEMS = "elo", "glicko", "glicko2", "trueskill", "weng_lin", "skills"
SETTINGS = 1, 64
WIDTHS = 64, 256


def compiled(system, settings, plan):
    """The optimised program, its launches, and the kernel's code, each as text."""
    import jax
    import jax.numpy as jnp

    from jaxrate.replay.compiler_options import REPLAY_CUDA_GRAPH_OPTIONS, supported_xla_options
    from jaxrate.replay.kernel import levels_kernel
    from jaxrate.replay.scan_programs import MatchProgramShape, make_replay_rules

    there = on_one_device()

    def shape(x, *more):
        return jax.ShapeDtypeStruct((*more, *x.shape), x.dtype, sharding=there)

    rules, size = make_replay_rules(system.rules, system.params), MatchProgramShape(plan.size, None, True)

    def replay(params, state, events, number, count):
        def one(params, state):
            return levels_kernel.replay_levels_in_kernel(rules, size, params, state, events, number, None, count)

        return one(params, state) if settings == 1 else jax.vmap(one)(params, state)

    several = partial(jax.tree.map, lambda x: shape(x, *(() if settings == 1 else (settings,))))
    params = several(jax.tree.map(jnp.float32, system.params))
    state = several(jax.eval_shape(lambda x: system.init(x, plan.num_players), system.params))
    given = params, state, *jax.tree.map(shape, (plan.events, plan.number, jnp.int32(plan.num_steps)))
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


def counted(name, settings, plan):
    import jaxrate as jr

    text, launches, code = compiled(jr.extend.SYSTEMS[name](), settings, plan)
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


def estimated(row, plans):
    """Million matches a second of the history, by the width of its levels; all settings at once on their own cores."""
    cycles = LOAD + BARRIER * row["barriers"] + INSTRUCTION * row["instructions"]
    seconds = {width: plan.num_steps * cycles / CLOCK for width, plan in plans.items()}
    rates = {width: row["settings"] * plan.num_matches / seconds[width] / 1e6 for width, plan in plans.items()}
    return row | {f"million_per_second_{width}": rate for width, rate in rates.items()}


def main():
    parser = declare(__doc__, "two systems, and a small league", data="atp.parquet")
    options = parse(parser, __file__)
    if not can_compile():
        return
    import jax

    import jaxrate as jr

    matches = tennis(options)
    if matches is None:
        return
    plans = {width: jr.extend.schedule_by_level(matches, width) for width in WIDTHS}
    jax.default_backend = lambda: "gpu"  # what the library asks to know for what it compiles
    names = ("elo", "glicko2") if options.quick else SYSTEMS
    rows = [estimated(counted(name, settings, plans[64]), plans) for settings in SETTINGS for name in names]
    arranged = [{"width": k, "matches": x.num_matches, "levels": x.num_steps} for k, x in plans.items()]
    results = {"history": arranged, "replay": rows}
    show(results)
    constants = {"clock": CLOCK, "load": LOAD, "barrier": BARRIER, "instruction": INSTRUCTION}
    write(options.out, circumstances("jax-cuda12-plugin"), {"constants": constants} | results)


if __name__ == "__main__":
    main()
