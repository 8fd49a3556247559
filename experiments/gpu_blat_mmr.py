"""BlatMMR's algorithms as programs for an H100, compiled on a machine that has none: what a step launches and moves.

    pip install 'jax[cuda12]'                  # of the same version as jax: the compiler is what is needed
    python experiments/gpu_blat_mmr.py         # a minute; writes experiments/results/gpu_blat_mmr.json
    python experiments/gpu_blat_mmr.py --quick # two of them; writes nothing unless --out is given

A row for each case of the part `blat_mmr` of `gpu_record.py`, which measures them: kernels and copies of a step, how
often the host waits in it and how many CUDA graphs it launches, kilobytes a match, and seconds of compiling. The
estimates are those of `gpu_programs.py`, which count no arithmetic: a product with the whole matrix takes 4 million
operations a match, which would be 17 million matches a second at 67 TFLOP/s.
"""

import time
from argparse import Namespace

from common import circumstances, declare, parse, show, write
from gpu_compiled import can_compile, compiled_text, counts
from gpu_estimates import BANDWIDTH, KERNEL_SECONDS, WAIT

NARROW = 64  # matches of a step of tennis
PLAYERS, MATCHES = 20_000, 20_000


def count_program(case, history):
    """The row of a case."""
    import gpu_programs
    from gpu_parts import blat_mmr_algorithms

    import jaxrate as jr

    system = blat_mmr_algorithms.system_by(case, Namespace(quick=False))
    width = case["width"]
    found, static, rest = gpu_programs.program(system, history, jr.extend.schedule_by_level(history, width))
    start = time.perf_counter()
    row = counts(*compiled_text(found, static, rest))
    seconds = time.perf_counter() - start
    step = row["launches"] * KERNEL_SECONDS + (row["waits"] + row["graphs"]) * WAIT
    about = {name: case[name] for name in ("table", "sums", "kernel", "taps", "width")}
    about |= {name: row[name] for name in ("kernels", "launches", "waits", "graphs")}
    each = row["bytes"] / width
    estimates = {"narrow": NARROW / max(step, NARROW * each / BANDWIDTH) / 1e6, "wide": BANDWIDTH / each / 1e6}
    return about | {"kilobytes_a_match": each / 1e3, "compiling_seconds": seconds} | estimates


def main():
    options = parse(declare(__doc__, "two of them"), __file__)
    if not can_compile():
        return
    import jax
    from gpu_parts import blat_mmr_algorithms

    from jaxrate.data.simulate import league

    history = league(PLAYERS, MATCHES, seed=0).matches
    jax.default_backend = lambda: "gpu"  # what the library asks to know for what it compiles
    cases = [*blat_mmr_algorithms.cases(Namespace(quick=False, device="gpu"))]
    rows = [count_program(case, history) for case in (cases[2:4] if options.quick else cases)]
    results = {"step": rows}
    show(results)
    constants = {"kernel": KERNEL_SECONDS, "wait": WAIT, "bandwidth": BANDWIDTH}
    write(options.out, circumstances("jax-cuda12-plugin"), {"constants": constants} | results)


if __name__ == "__main__":
    main()
