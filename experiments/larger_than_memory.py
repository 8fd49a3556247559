"""Matches in Parquet files rated by chunks: what it costs, in what memory, what each kind of work takes, and kills.

    python experiments/larger_than_memory.py           # 100 million matches; some minutes; writes results/
    python experiments/larger_than_memory.py --quick   # seconds; writes nothing unless --out is given
    python experiments/larger_than_memory.py --only long --matches 1000000000 --players 5000000 --system glicko --brief

The folder --work needs some 40 bytes for each match, or with --brief 12. What is simulated there stays.
"""

import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
import pyarrow
from common import call_alone, measure, resident
from pyarrow import compute, parquet

import jaxrate as jr
from jaxrate.data.table_files import join_files
from jaxrate.history.event_columns import make_event_columns, to_table_columns
from jaxrate.history.out_of_core import rating_by_chunks
from jaxrate.history.out_of_core.chunk_reading import (
    OpenedTable,
    PlayerIds,
    find_time_order,
    read_event_chunks,
    resolve_table_reading,
)

# --- What has a process of its own. ---


def rate_by_chunks(games, out, name, brief, chunk, hurry=False):
    """Seconds and memory of a run; in a hurry it has a checkpoint after each chunk."""
    if hurry:
        rating_by_chunks.CHECKPOINT_SECONDS = rating_by_chunks.CHECKPOINT_WORK_RATIO = 0.0
    found = jr.rate(jr.extend.SYSTEMS[name](), games, chunk=jr.history.Chunks(chunk, brief=brief), out=out)
    row = {"matches": found.num_rows, "players": len(found.players), "log_loss": found.quality["log loss"]}
    return row | {"seconds": dict(found.seconds), "peak_mb": resident("VmHWM")}


def rate_in_memory(games, out, name):
    """The same of a run in memory."""
    start = time.perf_counter()
    data = jr.read(games)
    read = time.perf_counter()
    rated = jr.rate(jr.extend.SYSTEMS[name](), data)
    done = time.perf_counter()
    jr.save(out, rated)
    end = time.perf_counter()
    seconds = {"reading": read - start, "rating": done - read, "writing": end - done, "all": end - start}
    return {"matches": len(rated.predictions), "seconds": seconds, "peak_mb": resident("VmHWM")}


def rate_late_chunks(games, out, name, chunk):
    """Matches a second in the second half of a history: of rating alone, and of the quickest quarter with all work."""
    replayed, rated, told = rating_by_chunks.replay_plan, [], []

    def timed_replay(*given, **options):
        start = time.perf_counter()
        done = jax.block_until_ready(replayed(*given, **options))
        rated.append(time.perf_counter() - start)
        return done

    rating_by_chunks.replay_plan = timed_replay
    chunks = jr.history.Chunks(chunk, progress=lambda rows: told.append((rows, time.perf_counter())))
    found = jr.rate(jr.extend.SYSTEMS[name](), games, chunk=chunks, out=out)
    whole = found.num_rows // chunk  # chunks, but for the last if it is shorter
    late = told[whole // 2 - 1 : whole]
    speeds = [(y[0] - x[0]) / (y[1] - x[1]) for x, y in zip(late, late[max(len(late) // 2, 1) :], strict=False)]
    rates = {"rating_per_second": chunk / min(rated[whole // 2 : whole]), "all_per_second": max(speeds)}
    return rates | {"seconds": dict(found.seconds)}


SYSTEMS = "elo", "glicko", "glicko2", "trueskill", "skills", "blat_mmr"
KINDS = "ordering", "reading", "scheduling", "rating", "writing"


def simulated(options, matches, players):
    """The folder of a league that is in order of time, with whole numbers for names."""
    folder = options.work / f"league-{matches}-{players}"
    if not folder.exists():
        made = options.work / "made"
        made.mkdir(parents=True, exist_ok=True)
        jr.data.simulate.write(jr.data.simulate.stream_league(players, matches), made / "league.parquet")
        made.rename(folder)
    return folder


def row_of(way, found):
    """Seconds of each kind of work, and the whole."""
    n, seconds = found["matches"], found["seconds"]
    each = {kind: seconds[kind] for kind in (*KINDS, "all") if kind in seconds}
    return {
        "way": way,
        "matches": n,
        **each,
        "million_per_second": n / seconds["all"] / 1e6,
        "peak_mb": found["peak_mb"],
    }


def clean(folder):
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def long(options):
    """A history of the length that is asked for, by chunks."""
    games, out = simulated(options, options.matches, options.players), clean(options.work / "out")
    start = time.perf_counter()
    found = call_alone(rate_by_chunks, games, out, options.system, options.brief, options.chunk)
    process = time.perf_counter() - start
    size = sum(x.stat().st_size for x in out.rglob("*") if x.is_file())
    clean(out)
    row = {"system": options.system, "brief": options.brief, "players": options.players}
    row |= row_of("by chunks", found) | {"process_seconds": process, "bytes_written_per_match": size / found["matches"]}
    return {f"{options.system}, {found['matches']:,} matches": [row | {"log_loss": found["log_loss"]}]}


def beside(options):
    """By chunks and in memory, in turns: both read, rate and write all predictions."""
    matches, players = (20_000, 2_000) if options.quick else (10_000_000, 500_000)
    games, rows = simulated(options, matches, players), []
    for name in ("glicko2",) if options.quick else ("glicko", "glicko2"):
        turns = {"by chunks": [], "in memory": []}
        for _ in range(1 if options.quick else 3):
            out = clean(options.work / "out")
            turns["by chunks"].append(call_alone(rate_by_chunks, games, out, name, False, options.chunk))
            clean(out)
            turns["in memory"].append(call_alone(rate_in_memory, games / "league.parquet", out, name))
            clean(out)
        best = {way: min(found, key=lambda x: x["seconds"]["all"]) for way, found in turns.items()}
        whole = best["in memory"]["seconds"]["all"]
        for way, found in best.items():
            rows.append({"system": name} | row_of(way, found) | {"of_memory": found["seconds"]["all"] / whole})
    return {f"{matches:,} matches of {players:,} players": rows}


def alone(options):
    """Reading and writing by themselves: million rows a second."""
    matches, players = (20_000, 2_000) if options.quick else (10_000_000, 500_000)
    files, rng = join_files(simulated(options, matches, players)), np.random.default_rng(0)
    reading = resolve_table_reading(files, {})
    opened = OpenedTable(reading, find_time_order(reading), files, PlayerIds())
    start = time.perf_counter()
    last = [data for _, data in read_event_chunks(opened, options.chunk)][-1]
    reading, n = time.perf_counter() - start, len(last.rows)
    found = {name: rng.normal(1500.0, 300.0, (n, 2)).astype(np.float32) for name in ("rating", "deviation")}
    columns = to_table_columns(
        make_event_columns(last, rng.random(n, np.float32), found), pyarrow.array(opened.players.names), None
    )
    times = []
    for _ in range(3):
        start = time.perf_counter()
        rating_by_chunks._write_predictions_file(options.work / "written.parquet", columns)
        times.append(time.perf_counter() - start)
    (options.work / "written.parquet").unlink()
    row = {"reading": matches / reading / 1e6, "writing": n / min(times) / 1e6, "columns_written": len(columns)}
    return {"million rows a second": [row | {"peak_mb": resident("VmHWM")}]}


def disorder(options):
    """The same matches in disorder, with names that are text: what DuckDB takes to put them in order."""
    matches, players = (20_000, 2_000) if options.quick else (10_000_000, 500_000)
    games, folder = simulated(options, matches, players), options.work / "disorder"
    if not folder.exists():
        table = parquet.read_table(games / "league.parquet")
        table = table.take(pyarrow.array(np.random.default_rng(0).permutation(len(table))))
        for i, side in enumerate("ab"):
            table = table.set_column(
                i, side, compute.binary_join_element_wise("player", table[side].cast("string"), " ")
            )
        folder.mkdir()
        parquet.write_table(table, folder / "league.parquet")
    out = clean(options.work / "out")
    found = call_alone(rate_by_chunks, folder, out, "glicko2", False, options.chunk)
    clean(out)
    ordering = {"ordering_million_per_second": matches / found["seconds"]["ordering"] / 1e6}
    return {f"{matches:,} matches of {players:,} players": [row_of("put in order", found) | ordering]}


def kills(options):
    """Runs that are killed at random moments, with a checkpoint after each chunk, and go on: are the files the same?"""
    matches, players, times = (20_000, 2_000, 1) if options.quick else (1_000_000, 50_000, 20)
    games, random_, killed = simulated(options, matches, players), random.Random(1), 0
    whole, out = clean(options.work / "whole"), clean(options.work / "out")
    chunk = matches // (8 if options.quick else 40)
    start = time.perf_counter()
    call_alone(rate_by_chunks, games, whole, "glicko2", False, chunk, True)
    took = time.perf_counter() - start
    while killed < times:
        process = multiprocessing.get_context("spawn").Process(
            target=rate_by_chunks, args=(games, out, "glicko2", False, chunk, True)
        )
        process.start()
        while not any(out.glob("predictions/part-*")) and process.is_alive():
            time.sleep(0.01)
        time.sleep(took * random_.random())
        killed += process.is_alive()
        process.kill()
        process.join()
        if (out / "ratings.parquet").exists():  # it had ended: begin anew
            clean(out)
    call_alone(rate_by_chunks, games, out, "glicko2", False, chunk, True)
    same = [{x.name: x.read_bytes() for x in folder.rglob("*") if x.is_file()} for folder in (whole, out)]
    row = {"matches": matches, "kills": killed, "files": len(same[0]), "same_bytes": same[0] == same[1]}
    clean(whole), clean(out)
    return {"kill -9": [row]}


def systems(options):
    """What a billion matches of five million players would take by each system.

    Measured are chunks of the second half of a history, when the program is compiled and most players have come: the
    fastest of them as far as rating goes, and the quickest quarter with all that goes with it, in the best of some
    runs. BlatMMR has a fifth of a million players, whose state is larger than any cache as well.
    """
    rows = []
    for name in options.systems or (["glicko2"] if options.quick else SYSTEMS):
        matches, players = (20_000, 2_000) if options.quick else (20_000_000, 5_000_000)
        chunk = options.chunk
        if name == "blat_mmr" and not options.quick:
            matches, players, chunk = 1_000_000, 200_000, 1 << 17
        games, found = simulated(options, matches, players), []
        for _ in range(options.runs):
            out = clean(options.work / "out")
            found += filter(None, [call_alone(rate_late_chunks, games, out, name, chunk)])
            clean(out)
        if not found:
            if options.quick:
                sys.exit("the part systems has failed")
            continue
        system = jr.extend.SYSTEMS[name]()
        state = jax.eval_shape(lambda p, system=system: system.init(p, 1), system.params)
        size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state))
        row = {"system": name, "matches": matches, "players": players, "chunk": chunk, "runs": len(found)}
        best = {key: max(one[key] for one in found) / 1e6 for key in ("rating_per_second", "all_per_second")}
        seconds = max(found, key=lambda one: one["all_per_second"])["seconds"]
        slowest = max((kind for kind in KINDS if kind != "ordering"), key=seconds.get)
        row |= {"bytes_of_a_player": size} | best | {"slowest": slowest}
        rows.append(row | {"hours_for_a_billion": 1e3 / min(best.values()) / 3600})
    return {"each system, million matches a second": rows}


PARTS = {"alone": alone, "beside": beside, "disorder": disorder, "kills": kills, "long": long, "systems": systems}


ARGUMENTS = {
    "matches": {"type": int, "default": 100_000_000, "help": "of the part long"},
    "players": {"type": int, "default": 5_000_000, "help": "of the part long"},
    "system": {"default": "glicko2", "help": "of the part long"},
    "systems": {"nargs": "*", "help": "of the part systems"},
    "runs": {"type": int, "default": 2, "help": "of each system, of which the best counts"},
    "brief": {"action": "store_true", "help": "the part long writes row and prediction only"},
    "chunk": {"type": int, "default": 1 << 20, "help": "matches rated at a time"},
    "work": {"type": Path, "help": "a folder for all files; by default one that is removed"},
}


def with_work(part):
    """The part, with small numbers in a quick form, and a folder for its files."""

    def call(options):
        if options.quick:
            options.matches, options.players, options.chunk, options.runs = 20_000, 2_000, 5_000, 1
        if options.work:
            return part(options)
        with tempfile.TemporaryDirectory() as folder:
            options.work = Path(folder)
            tables = part(options)
        options.work = None
        return tables

    return call


if __name__ == "__main__":
    measure({name: with_work(part) for name, part in PARTS.items()}, "twenty thousand matches", arguments=ARGUMENTS)
