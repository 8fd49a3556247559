"""Matches in Parquet files rated by chunks: what it costs, in what memory, what each kind of work takes, and kills.

    python experiments/larger_than_memory.py           # 100 million matches; some minutes; writes results/
    python experiments/larger_than_memory.py --quick   # seconds; writes nothing unless --out is given
    python experiments/larger_than_memory.py --only long --matches 1000000000 --players 5000000 --system glicko --brief

The folder --work needs some 40 bytes for each match, or with --brief 12. What is simulated there stays.
"""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
from common import add_only, declare, keep, parse, resident, spawn

import jaxrate as jr

CHUNKED = """
import json, sys
import jaxrate as jr
from common import resident
games, out, name, brief, chunk = sys.argv[1:]
chunk = jr.history.Chunks(int(chunk), brief=brief == "1")
found = jr.rate(jr.extend.SYSTEMS[name](), games, chunk=chunk, out=out)
told = {"matches": found.num_rows, "players": len(found.players), "log_loss": found.quality["log loss"]}
print(json.dumps(told | {"seconds": found.seconds, "peak_mb": resident("VmHWM")}))
"""
WHOLE = """
import json, sys, time
import jaxrate as jr
from common import resident
games, out, name = sys.argv[1:]
start = time.perf_counter()
data = jr.read(games)
read = time.perf_counter()
rated = jr.rate(jr.extend.SYSTEMS[name](), data)
done = time.perf_counter()
jr.save(out, rated)
end = time.perf_counter()
seconds = {"reading": read - start, "rating": done - read, "writing": end - done, "all": end - start}
print(json.dumps({"matches": len(rated.predictions), "seconds": seconds, "peak_mb": resident("VmHWM")}))
"""
TIMED = """
import json, sys, time
import jax
import jaxrate as jr
from jaxrate.history.out_of_core import rating_by_chunks
games, out, name, chunk = sys.argv[1:]
replayed, rated, told = rating_by_chunks.replay_plan, [], []

def timed(*given, **options):
    start = time.perf_counter()
    done = jax.block_until_ready(replayed(*given, **options))
    rated.append(time.perf_counter() - start)
    return done

rating_by_chunks.replay_plan = timed
chunks = jr.history.Chunks(int(chunk), progress=lambda rows: told.append((rows, time.perf_counter())))
found = jr.rate(jr.extend.SYSTEMS[name](), games, chunk=chunks, out=out)
whole = found.num_rows // int(chunk)  # chunks, but for the last if it is shorter
late = told[whole // 2 - 1 : whole]
quarter = max(len(late) // 2, 1)
speeds = [(y[0] - x[0]) / (y[1] - x[1]) for x, y in zip(late, late[quarter:])]
told = {"rating_per_second": int(chunk) / min(rated[whole // 2 : whole]), "all_per_second": max(speeds)}
print(json.dumps(told | {"seconds": found.seconds}))
"""
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


def ran(code, *arguments):
    """What a script printed last, as JSON."""
    said = spawn("a run", "-c", f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{code}", *arguments)
    return said and json.loads(said.splitlines()[-1])


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
    found = ran(CHUNKED, games, out, options.system, int(options.brief), options.chunk)
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
            turns["by chunks"].append(ran(CHUNKED, games, out, name, 0, options.chunk))
            clean(out)
            turns["in memory"].append(ran(WHOLE, games / "league.parquet", out, name))
            clean(out)
        best = {way: min(found, key=lambda x: x["seconds"]["all"]) for way, found in turns.items()}
        whole = best["in memory"]["seconds"]["all"]
        for way, found in best.items():
            rows.append({"system": name} | row_of(way, found) | {"of_memory": found["seconds"]["all"] / whole})
    return {f"{matches:,} matches of {players:,} players": rows}


def alone(options):
    """Reading and writing by themselves: million rows a second."""
    from jaxrate.data.table_files import join_files
    from jaxrate.history.event_columns import make_event_columns, to_table_columns
    from jaxrate.history.out_of_core.chunk_reading import (
        OpenedTable,
        PlayerIds,
        find_time_order,
        read_event_chunks,
        resolve_table_reading,
    )
    from jaxrate.history.out_of_core.rating_by_chunks import _write_predictions_file as write_predictions_file

    matches, players = (20_000, 2_000) if options.quick else (10_000_000, 500_000)
    files, rng = join_files(simulated(options, matches, players)), np.random.default_rng(0)
    reading = resolve_table_reading(files, {})
    opened = OpenedTable(reading, find_time_order(reading), files, PlayerIds())
    start = time.perf_counter()
    last = [data for _, data in read_event_chunks(opened, options.chunk)][-1]
    reading, n = time.perf_counter() - start, len(last.rows)
    found = {name: rng.normal(1500.0, 300.0, (n, 2)).astype(np.float32) for name in ("rating", "deviation")}
    columns = to_table_columns(make_event_columns(last, rng.random(n, np.float32), found), _names(opened), None)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        write_predictions_file(options.work / "written.parquet", columns)
        times.append(time.perf_counter() - start)
    (options.work / "written.parquet").unlink()
    row = {"reading": matches / reading / 1e6, "writing": n / min(times) / 1e6, "columns_written": len(columns)}
    return {"million rows a second": [row | {"peak_mb": resident("VmHWM")}]}


def _names(opened):
    import pyarrow

    return pyarrow.array(opened.players.names)


def disorder(options):
    """The same matches in disorder, with names that are text: what DuckDB takes to put them in order."""
    import pyarrow
    from pyarrow import compute, parquet

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
    found = ran(CHUNKED, folder, out, "glicko2", 0, options.chunk)
    clean(out)
    ordering = {"ordering_million_per_second": matches / found["seconds"]["ordering"] / 1e6}
    return {f"{matches:,} matches of {players:,} players": [row_of("put in order", found) | ordering]}


def kills(options):
    """Runs that are killed at random moments, with a checkpoint after each chunk, and go on: are the files the same?"""
    matches, players, times = (20_000, 2_000, 1) if options.quick else (1_000_000, 50_000, 20)
    games, random_, killed = simulated(options, matches, players), random.Random(1), 0
    hurry = "from jaxrate.history.out_of_core import rating_by_chunks as files\n"
    hurry += "files.CHECKPOINT_SECONDS = files.CHECKPOINT_WORK_RATIO = 0.0\n"
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{hurry}{CHUNKED}"
    whole, out = clean(options.work / "whole"), clean(options.work / "out")
    arguments = "glicko2", "0", str(matches // (8 if options.quick else 40))
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, games, whole, *arguments], check=True, capture_output=True)
    took = time.perf_counter() - start
    while killed < times:
        process = subprocess.Popen([sys.executable, "-c", code, games, out, *arguments], stdout=subprocess.DEVNULL)
        while not any(out.glob("predictions/part-*")) and process.poll() is None:
            time.sleep(0.01)
        time.sleep(took * random_.random())
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (out / "ratings.parquet").exists():  # it had ended: begin anew
            clean(out)
    subprocess.run([sys.executable, "-c", code, games, out, *arguments], check=True, capture_output=True)
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
            found += filter(None, [ran(TIMED, games, out, name, chunk)])
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


def main():
    parser = declare(__doc__, "twenty thousand matches")
    add_only(parser, PARTS, "PART")
    parser.add_argument("--matches", type=int, default=100_000_000, help="of the part long")
    parser.add_argument("--players", type=int, default=5_000_000, help="of the part long")
    parser.add_argument("--system", default="glicko2", help="of the part long")
    parser.add_argument("--systems", nargs="*", help="of the part systems")
    parser.add_argument("--runs", type=int, default=2, help="of each system, of which the best counts")
    parser.add_argument("--brief", action="store_true", help="the part long writes row and prediction only")
    parser.add_argument("--chunk", type=int, default=1 << 20, help="matches rated at a time")
    parser.add_argument("--work", type=Path, default=Path("larger_than_memory"), help="a folder for all files")
    options = parse(parser, __file__)
    if options.quick:
        options.matches, options.players, options.chunk, options.runs = 20_000, 2_000, 5_000, 1
    there = options.work.exists()
    keep(PARTS, options)
    if options.quick and not there:
        clean(options.work)


if __name__ == "__main__":
    main()
