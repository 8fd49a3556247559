"""What a GPU does: matches a second by the loop, the kernel and BlatMMR's algorithms, settings at once, fits, chunks.

    python experiments/gpu_record.py                # within nine minutes of one H100; writes results/gpu_record.json
    python experiments/gpu_record.py --only replays # the other parts of the file stay
    python experiments/gpu_record.py --quick        # small forms on this CPU; writes nothing unless --out is given

Each part has a process of its own on the device, and one on the cores of the host. A case that fails is a row with its
error, and a process that crashes or takes too long leaves the rows that it has written. Whether the numbers are right
is what the tests marked `gpu` ask: `pytest -m gpu`.

The order of the checks on the next device, each a reason to stop if it fails:

1. `pytest -m gpu tests/test_on_gpu.py`: the kernel and what `engine="auto"` takes agree with the loop, each time.
2. `--only graphs`: may whole replays with loops within their events be one CUDA graph? If so, `compiler_options` may
   say so for all.
3. `--only kernel replays settings`: is the kernel still ahead in narrow levels, and behind in wide ones? The width and
   the number of settings of the choice (`NARROW_WIDTH`, `KERNEL_SETTINGS`) follow from these; tests/test_kernel.py
   compares them with the file. Steps of 512 to 4,096 slots would tell the width itself, which now follows from a turn
   of 1,024 threads.
4. `jr.run(jr.glicko(), matches)` of 10 million matches, of which the first half has 2,000 players and the second a
   million: two blocks, one by the kernel and one by the loop, with the predictions of `engine="scan"`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
from common import circumstances, declare, parse, results_in, rounded, show, write

import jaxrate as jr
from jaxrate.data.simulate import contests, league, stream_league
from jaxrate.data.simulate import write as write_league
from jaxrate.replay.execution import ReplayOptions, replay_plan
from jaxrate.replay.plan import NO_SHAPES
from jaxrate.replay.scan_programs import make_replay_rules
from jaxrate.replay.schedule import make_plan
from jaxrate.systems.blat_mmr import settings as blat_mmr_settings
from jaxrate.testing.cases import make_key

DAYS = 18_000.0  # half a century, as of tennis
TURNS = 3  # of which the best counts
COMPILERS = 14  # programs that are compiled side by side
PART_SECONDS = 150.0  # after which the process of a part is ended
KERNEL_WIDTH = 256  # of the steps for the kernel where few play at the same time

# --- Histories like those that people have. ---


class History(NamedTuple):
    """What identifies a simulated history."""

    name: str
    players: int
    events: int  # matches, or contests
    participants: tuple[int, int] | None = None  # of a contest, the fewest and the most; None: matches
    activity: float = 0.0  # how unequally often players play
    period: float | None = None  # days of a rating period; None: match by match
    categories: int = 1


TENNIS = History("tennis", 33_693, 936_248, activity=0.66)  # with the skew that gives its 19,000 levels
UNIFORM = History("uniform", 1_000_000, 10_000_000)
PERIODS = History("periods", 20_000, 400_000, activity=0.5, period=14.0)
CATEGORIES = PERIODS._replace(name="periods, two categories", categories=2)
CONTESTS = History("contests", 100_000, 1_087, (500, 9_000))  # as of Codeforces
ROUNDS = History("rounds of 2,048", 50_000, 300, (2_048, 2_048))
MAKING = Lock()  # threads that compile ask for the same history


@cache
def _simulate(history: History) -> Any:
    if history.participants is not None:
        sizes = tuple(min(size, history.players // 3) for size in history.participants)
        return contests(history.players, history.events, size=sizes, seed=0, days=DAYS).rounds
    matches = league(history.players, history.events, seed=0, days=DAYS, activity=history.activity).matches
    if history.categories > 1:
        category = np.random.default_rng(0).integers(0, history.categories, (history.events, 2))
        matches = matches._replace(context=matches.context._replace(category=category))
    return matches if history.period is None else jr.periods(matches, history.period)


@cache
def _placed(history: History, width: int | None) -> Any:
    """The events of a history and their plan, on the device."""
    events = _simulate(history)
    plan = jr.extend.schedule_by_level(events, width)
    return plan.place(events), plan._replace(blocks=jax.device_put(plan.blocks))


# --- Replays. ---


class Case(NamedTuple):
    """A replay, or something like it, that is timed."""

    system: str
    history: History = TENNIS
    engine: str = "scan"
    width: int | None = None  # of the steps; None: as `schedule_by_level` chooses it
    number: int = 1  # of settings, starts or histories at once
    way: str = ""  # which algorithm, or where the matches come from

    def describe(self) -> dict[str, Any]:
        """What identifies the case in a table."""
        about = self._asdict() | {"history": self.history.name, "events": self.history.events}
        return {name: value for name, value in about.items() if value not in (None, "")}


def best_seconds(prepare, function, turns):
    """The seconds of the first call, which may compile, of the best of the others, and the last result.

    What a call is given is prepared anew for each, outside of the clock.
    """
    times = []
    for _ in range(1 + turns):
        given = jax.block_until_ready(prepare())
        start = time.perf_counter()
        result = jax.block_until_ready(function(given))
        times.append(time.perf_counter() - start)
    return times[0], min(times[1:], default=times[0]), result


def replay(system, events, plan, state, engine="scan"):
    """A run without the checks of the host; the state is used up."""
    rules = make_replay_rules(system.rules, system.params)
    return replay_plan(rules, system.params, state, events, plan, make_key(system), ReplayOptions(engine))


def time_replay(case, turns, system=None):
    """The times of a replay, and its log loss, which no device should change."""
    system = system or jr.extend.SYSTEMS[case.system]()
    with MAKING:
        events, (placed, plan) = _simulate(case.history), _placed(case.history, case.width)
    first, best, (_, prediction) = best_seconds(
        lambda: system.init(system.params, plan.num_players),
        lambda state: replay(system, placed, plan, state, case.engine),
        turns,
    )
    number = plan.num_rows
    prediction = np.asarray(prediction, np.float64)[:number]
    assert np.isfinite(prediction).all(), "a prediction is not finite"
    is_pairwise = case.history.participants is None and case.history.period is None
    loss = {"log_loss": float(jr.metrics.log_loss(prediction, events.score))} if is_pairwise else {}
    return {"rated": number, "first_seconds": first, "seconds": best, "million_per_second": number / best / 1e6} | loss


MATCH_SYSTEMS = "elo", "glicko", "glicko2", "trueskill", "weng_lin", "skills", "blat_mmr", "urnings"
KERNEL_SYSTEMS = "elo", "glicko", "glicko2", "trueskill", "weng_lin", "skills"
ROUND_SYSTEMS = "elo_mmr", "elo_mmx", "codeforces", "topcoder", "trueskill", "weng_lin"


def replay_cases(on_gpu):
    """Every system on the histories that it rates, by the loop; on a GPU also by the kernel."""
    yield from (Case(system, history) for history in (TENNIS, UNIFORM) for system in MATCH_SYSTEMS)
    yield from (Case(system, PERIODS) for system in ("elo", "glicko", "glicko2", "skills"))
    yield Case("category_glicko", CATEGORIES)
    yield from (Case(system, ROUNDS) for system in ROUND_SYSTEMS)
    yield from (Case(system, CONTESTS) for system in ("elo_mmr", "elo_mmx"))
    if on_gpu:
        for history, width in ((TENNIS, KERNEL_WIDTH), (UNIFORM, None)):
            yield from (Case(system, history, "kernel", width) for system in KERNEL_SYSTEMS)


# --- BlatMMR by each algorithm. ---

BLAT_HISTORY = History("uniform", 20_000, 100_000)
SUMS = "low_rank", "fft", "naive"
KERNELS = {"band": 10_000, "fft": 0, "naive": 0}  # taps up to which a band is taken
STEP = 14.0 / 1000  # of the grid of the factory
WIDTHS_COVERED = 5.3  # of a Gaussian kernel, in float32


def blat_mmr_cases(on_gpu):
    """Sums by each algorithm with a band of 12 taps to either side, and kernels of other widths by each."""
    slow = BLAT_HISTORY._replace(events=2_000)  # whole matrices are made anew for each match
    for sums, history, width in (("fft", BLAT_HISTORY, 1_024), ("naive", slow, 64)):
        yield Case("blat_mmr", history, width=width, way=f"sums {sums}", number=12)
    for taps in (12, 50, 100, 250):
        yield from (Case("blat_mmr", BLAT_HISTORY, width=1_024, way=f"kernel {x}", number=taps) for x in KERNELS)


def time_blat_mmr(case, turns):
    """The numbers of a replay by the algorithms of a case, as if they were the fastest."""
    what, name = case.way.split()
    first = name if what == "sums" else "low_rank"
    kernel = name if what == "kernel" else "band"
    order = first, *(x for x in SUMS if x != first)
    preferences = blat_mmr_settings.AlgorithmPreferences(order, KERNELS[kernel], "fft" if kernel == "band" else kernel)
    with MAKING, patch.object(blat_mmr_settings, "device_preferences", lambda: preferences):
        system = jr.blat_mmr(kernel_width=case.number * STEP / WIDTHS_COVERED * 0.999)
    return time_replay(case, turns, system)


def blat_mmr_preferences(rows):
    """The row of `PREFERENCES` of BlatMMR's settings for this kind of device; None unless all were measured."""
    rates = {(x["way"], x["number"]): x.get("million_per_second") for x in rows}
    if len(rates) < 14 or None in rates.values():
        return None
    taps = sorted({number for way, number in rates if way.startswith("kernel")})
    best = {x: max(KERNELS, key=lambda kernel, x=x: rates[f"kernel {kernel}", x]) for x in taps}
    sums = {"low_rank": rates["kernel band", 12], **{x: rates[f"sums {x}", 12] for x in SUMS[1:]}}
    wide = max(("fft", "naive"), key=lambda kernel: rates[f"kernel {kernel}", taps[-1]])
    band = max((x for x in taps if best[x] == "band"), default=0)
    return {"sums": sorted(sums, key=sums.get, reverse=True), "band_taps": band, "wide_kernel": wide}


# --- Many settings of one history in one program, and their memory. ---


def settings_cases(on_gpu):
    """One to a thousand settings of Glicko, and some of others; a CPU has no use for more than its cores."""
    numbers = (1, 16, 64, 256, 1_024) if on_gpu else (1, 16)
    for engine, width in (("scan", None), ("kernel", KERNEL_WIDTH))[: 2 if on_gpu else 1]:
        yield from (Case("glicko", TENNIS, engine, width, number) for number in numbers)
        yield from (Case(name, TENNIS, engine, width, numbers[-1] // 16) for name in ("elo", "glicko2", "trueskill"))
    yield from (Case("blat_mmr", TENNIS, number=number) for number in numbers[:3])


def time_settings(case, turns):
    """The times and the memory of a program that rates a history by several settings."""
    system = jr.extend.SYSTEMS[case.system]()
    with MAKING:
        events, plan = _placed(case.history, case.width)
    params = jax.tree.map(lambda x: jnp.float32(x) * jnp.linspace(0.9, 1.1, case.number), system.params)
    begin = jax.jit(jax.vmap(lambda params: system.init(params, plan.num_players)))

    def rate(params, state):
        return jr.scan(system, params, state, events, plan, engine=case.engine)

    start = time.perf_counter()
    program = jax.jit(jax.vmap(rate), donate_argnums=1).lower(params, begin(params)).compile()
    first = time.perf_counter() - start
    _, best, _ = best_seconds(lambda: begin(params), lambda state: program(params, state), turns)
    about, rated = program.memory_analysis(), case.history.events * case.number
    sizes = about.argument_size_in_bytes, about.output_size_in_bytes, about.temp_size_in_bytes
    memory = sum(sizes) - about.alias_size_in_bytes
    return {
        "rated": rated,
        "first_seconds": first,
        "seconds": best,
        "million_per_second": rated / best / 1e6,
        "memory_bytes": memory,
    }


# --- Fits from many starts. ---

FIT_HISTORY = History("tennis", 5_000, 50_000, activity=0.66)
FREE = {"glicko": ["c", "initial_deviation"], "skills": ["growth", "initial_deviation"]}


def fit_cases(on_gpu):
    """From one start and from many, which are searched together."""
    yield from (Case(system, FIT_HISTORY, number=number) for system, number in (("glicko", 1), ("glicko", 64)))
    yield Case("skills", FIT_HISTORY, number=64)


def time_fit(case, turns):
    """The seconds of a fit with its compilation, and its loss."""
    system, start = jr.extend.SYSTEMS[case.system](), time.perf_counter()
    options = {"starts": case.number, "steps": 25 if turns else 1, "objective": jr.fitting.ahead(errors="products")}
    with MAKING:
        events = _simulate(case.history)
    fit = jr.fit(system, events, free=FREE[case.system], **options)
    return {"seconds": time.perf_counter() - start, "loss": float(fit.loss)}


# --- A history longer than memory, by Glicko. ---

CHUNK = History("uniform", 1_000_000, 10_000_000)


def chunk_cases(on_gpu):
    """Chunks that lie on the device, that the host arranges and sends, and that come from files."""
    yield Case("glicko", CHUNK, number=200 if on_gpu else 10, way="on the device")
    yield Case("glicko", CHUNK, number=4, way="from the host")
    yield Case("glicko", CHUNK, way="from files")


def time_chunks(case, turns):
    """The seconds of so many chunks, which are rated again and again, later each time."""
    if case.way == "from files":
        return time_files(case)
    system = jr.glicko()
    with MAKING:
        matches = _simulate(case.history)
    plan = jr.extend.schedule_by_level(matches)
    sent, shapes = plan.place(matches), NO_SHAPES.add(plan)
    state, _ = jax.block_until_ready(replay(system, sent, plan, system.init(system.params, case.history.players)))
    start = time.perf_counter()
    for number in range(case.number):
        if case.way == "from the host":
            plan = make_plan(matches, shapes=shapes)
            sent = plan.place(matches)
        later = sent._replace(flat=sent.flat._replace(time=sent.flat.time + jnp.float32(DAYS * (number + 1))))
        state, prediction = replay(system, later, plan, state)
    assert np.isfinite(float(jnp.sum(prediction))), "a prediction is not finite"
    seconds, rated = time.perf_counter() - start, case.number * case.history.events
    return {"rated": rated, "seconds": seconds, "million_per_second": rated / seconds / 1e6}


def time_files(case):
    """The seconds of `rate` by chunks: read, arranged, rated and written; of each match its row and prediction."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "league.parquet"
        write_league(stream_league(case.history.players, case.history.events), path)
        start = time.perf_counter()
        chunks = jr.history.Chunks(max(case.history.events // 4, 500), brief=True)
        rated = jr.rate(jr.glicko(), path, chunk=chunks, out=Path(folder) / "out").num_rows
        seconds = time.perf_counter() - start
    return {"rated": rated, "seconds": seconds, "million_per_second": rated / seconds / 1e6}


# --- The parts, each in a process of its own. ---

PARTS = {
    "replays": (replay_cases, time_replay),
    "blat_mmr": (blat_mmr_cases, time_blat_mmr),
    "settings": (settings_cases, time_settings),
    "fits": (fit_cases, time_fit),
    "chunks": (chunk_cases, time_chunks),
}
SLOW_ON_HOST = 200_000  # matches of BlatMMR that the host rates


def cases_of_part(part, on_gpu, quick):
    """The cases; in a quick form the first and the last, small."""
    cases = [*PARTS[part][0](on_gpu)]
    if not on_gpu:
        few = TENNIS._replace(events=SLOW_ON_HOST)
        cases = [case._replace(history=few) if case[:2] == ("blat_mmr", TENNIS) else case for case in cases]
    if not quick:
        return cases
    small = []
    for case in (cases[0], cases[-1]):
        events = 4 if case.history.participants else 100 if case.system == "blat_mmr" else 2_000
        number = case.number if part == "blat_mmr" else 2  # there it is the taps of a kernel
        small.append(case._replace(history=case.history._replace(players=400, events=events), number=number))
    return small


def measure_part(part, options):
    """Print a line of JSON for each case: what identifies it, and its numbers or its error."""
    measure, on_gpu = PARTS[part][1], jax.default_backend() == "gpu"
    cases, turns = cases_of_part(part, on_gpu, options.quick), 0 if options.quick else TURNS if on_gpu else 1
    print(json.dumps({"backend": jax.devices()[0].device_kind}), flush=True)

    def compile_case(case):
        with suppress(Exception):  # which the case will tell when it is timed
            measure(case, 0)

    if on_gpu and part in ("replays", "blat_mmr"):
        with ThreadPoolExecutor(COMPILERS) as pool:
            list(pool.map(compile_case, cases[::-1]))  # the last ones take the longest
    for case in cases:
        try:
            found = measure(case, turns)
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"[:600]}
        print(json.dumps(case.describe() | rounded(found, 6)), flush=True)


def run_part(part, platform, options):
    """The rows of a part that a process of its own has printed when it ends, or when its time is up."""
    command = [sys.executable, __file__, "--part", part, *(["--quick"] if options.quick else [])]
    environment = os.environ | {"JAX_PLATFORMS": platform}
    with tempfile.TemporaryFile("w+") as printed:
        try:
            status = subprocess.run(command, env=environment, stdout=printed, timeout=PART_SECONDS).returncode
            ended = f"exit status {status}" if status else ""
        except subprocess.TimeoutExpired:
            ended = f"no end after {PART_SECONDS:g} s"
        printed.seek(0)
        first, *rows = [json.loads(line) for line in printed] or [{}]
    return first.get("backend"), rows + ([{"error": ended}] if ended else [])


def compare_rates(rows, others, *names):
    """How many times as many a second as the others: for cases that both had, told apart by these names."""
    rate = {tuple(x.get(name) for name in names): x.get("million_per_second") for x in others}
    compared = []
    for row in rows:
        key = tuple(row.get(name) for name in names)
        if row.get("million_per_second") and rate.get(key):
            shown = dict(zip(names, key, strict=True)) | {"engine": row.get("engine")}
            compared.append(shown | {"times_as_fast": row["million_per_second"] / rate[key]})
    return compared


def conclude(results):
    """Tables of what follows: the kernel beside the loop, the device beside the host, and BlatMMR's preferences."""
    of = {name: results.get(name, []) for part in PARTS for name in (part, f"{part} on the host")}
    measured = [*of["replays"], *of["settings"]]
    loop = [x for x in measured if x.get("engine") == "scan"]
    kernel = [x for x in measured if x.get("engine") == "kernel"]
    about = "system", "history", "number", "way"
    beside_host = [
        {"part": part} | row for part in PARTS for row in compare_rates(of[part], of[f"{part} on the host"], *about)
    ]
    preferences = blat_mmr_preferences(of["blat_mmr"])
    tables = {"the kernel beside the loop": compare_rates(kernel, loop, *about), "beside the host": beside_host}
    return tables | {"BlatMMR's preferences": [preferences] if preferences else []}


def main():
    only = {"nargs": "+", "choices": PARTS, "default": list(PARTS), "help": ", ".join(PARTS)}
    part = {"choices": PARTS, "help": "measure it in this process"}
    options = parse(declare("small forms, on this CPU", arguments={"only": only, "part": part}))
    if options.part:
        measure_part(options.part, options)
        return
    jax.config.update("jax_platforms", "cpu")  # this process leaves the device to those of the parts
    platforms = {"": "cpu"} if options.quick else {"": "cuda,cpu", " on the host": "cpu"}
    results, report, failed = results_in(options.out), circumstances(), False
    for part in options.only:
        for where, platform in platforms.items():
            backend, rows = run_part(part, platform, options)
            report |= {"backend": backend} if not where else {}
            results[part + where], failed = rows, failed or any("error" in row for row in rows)
            show({part + where: rows})
            write(options.out, report, results | {"conclusions": conclude(results)}, 6)
    show({title: rows for title, rows in conclude(results).items() if rows})
    if options.quick and failed:
        sys.exit("the quick form has failures")


if __name__ == "__main__":
    main()
