"""How fast jaxrate is, against compiled loops of the same formulas and against Python libraries in the same run.

    python experiments/speed.py             # minutes; writes experiments/results/speed.json
    python experiments/speed.py --quick     # seconds, on small leagues; writes nothing unless --out is given

Times are the best of a few calls that take turns, so that a busy moment hits all contenders; first calls, which
compile, are apart. Replays start from a fresh state and store every prediction. The contenders stand in
speed_peers.py.
"""

import argparse
import itertools
import json
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import jax
import numpy as np
from common import (
    add_only,
    circumstances,
    clock,
    declare,
    distance,
    forget_peak,
    look_for,
    measure,
    parse,
    race,
    resident,
    results_in,
    spawn,
    tennis,
    write,
)
from speed_peers import SYSTEMS, elote_replay, numba, numba_replay, riix_replay

import jaxrate as jr
from jaxrate.data.simulate import league
from jaxrate.events.dataset import Dataset
from jaxrate.history.leaderboards import ranks_over_time
from jaxrate.replay import schedule
from jaxrate.replay.execution import min_mean_width_for_levels
from jaxrate.replay.schedule import assign_steps_and_slots

TOLERANCE = 1e-3  # between the predictions of two float32 programs
SLOW = 50_000  # matches for the Glicko-2 stream
ELOTE = 20_000  # matches for elote


def all_ways():
    """How matches are replayed: no GPU runs a stream well."""
    return ("levels", "stream") if jax.default_backend() == "cpu" else ("levels",)


def auto_plan(system, matches):
    """The plan that `run` makes by itself."""
    needed = min_mean_width_for_levels(system, system.params, matches)
    return schedule.make_plan(matches, min_mean_width=needed)


def placed_run(system, events, plan):
    """A run of events that are planned, checked and on the device before."""
    return partial(jr.run, system, plan.place(events), schedule=plan)


def kind(plan):
    return "stream" if plan.is_stream else "levels"


# --- The parts: each returns its tables, lists of rows by title, or None if it is skipped. ---


def part_atp(options):
    """Match by match: with plans made before, from host arrays, in the loops and by the peers."""
    if (matches := tennis(options)) is None:
        return None
    n, num_players, rows, ratios = {"all": len(matches.score)}, int(matches.player.max()) + 1, [], []
    ways = all_ways()
    plans = {way: schedule.make_plan(matches, way) for way in ways}
    steps, width = plans["levels"].num_steps, plans["levels"].blocks[0].number.shape[1]
    levels = [{"players": num_players, "steps": steps, "width": width, "fill": plans["levels"].fill}]
    for name, make in [*SYSTEMS.items()][: 2 if options.quick else None]:
        system, peers = make(), {}
        if name == "glicko2" and "stream" in ways:
            few = jax.tree.map(lambda x: x[:SLOW], matches)
            plans["stream"] = schedule.make_plan(few, "stream")
            n["stream"] = len(few.score)
        auto = f"whole call, auto ({kind(auto_plan(system, matches))})"
        rated = {way: few if name == "glicko2" and way == "stream" else matches for way in plans}
        calls = {way: placed_run(system, rated[way], plan) for way, plan in plans.items()}
        calls[auto] = partial(jr.run, system, matches)
        if numba:
            calls["numba"] = numba_replay(name, matches, num_players)
        if options.riix:
            peers["riix"] = riix_replay(name, matches, num_players)
        if options.elote:
            n["elote"] = min(1_000 if options.quick else ELOTE, n["all"])
            peers["elote"] = elote_replay(name, jax.tree.map(lambda x: x[: n["elote"]], matches))
        cold = () if options.quick and name != "elo" else ways
        table = race(calls, n, 1 if options.quick else 5, cold) | race(peers, n, 1 if options.quick else 3)
        exact = calls["numba"]() if numba else None
        for way in (*ways, auto) if numba else ():
            off = distance(calls[way]().prediction, exact[: table[way]["matches"]])
            table[way]["prediction_off_numba"] = off
            if not off <= TOLERANCE:
                print(f"WRONG: {name} {way} differs from numba by {off}")
        if options.riix and name != "glicko2":  # whose clock differs
            table["riix"]["rating_off_ours"] = distance(calls[auto]().state.rating, peers["riix"]().ratings)
        rows += [{"system": name} | row for row in table.values()]
        speed = {way: row["million_per_second"] for way, row in table.items()}
        ours, peer = max(ways, key=speed.get), max(peers, key=speed.get, default=None)
        ratio = {"system": name, "best_way": ours, "share_of_numba": numba and speed[ours] / speed["numba"]}
        ratios.append(ratio | {"best_peer": peer, "times_the_peer": peer and speed[ours] / speed[peer]})
    return {"levels": levels, "match by match": rows, "best plan against numba and the best peer": ratios}


def part_periods(options):
    """Weekly Glicko: jaxrate from periods made before, with and without their schedule, and riix in batches."""
    if (matches := tennis(options)) is None:
        return None
    n, rounds, building = len(matches.score), 1 if options.quick else 3, partial(jr.periods, matches, length=7.0)
    system, weeks = jr.glicko(), building()
    calls = {"jaxrate": partial(jr.run, system, weeks)}
    calls["jaxrate, schedule made before"] = placed_run(system, weeks, jr.extend.schedule_by_level(weeks))
    ours = list(calls)
    if options.riix:
        calls["riix"] = riix_replay("glicko", matches, int(matches.player.max()) + 1, weekly=True)
    cold = [] if options.quick else ["jaxrate"]
    table = race(calls, n, rounds, cold) | race({"building the periods": building}, n, rounds)
    table["building the periods"]["weeks"] = len(weeks.player_start) - 1
    for way in ours if options.riix else ():
        table[way]["times_riix"] = table["riix"]["seconds"] / table[way]["seconds"]
        table[way]["rating_off_riix"] = distance(calls[way]().state.rating, calls["riix"]().ratings)
    return {"weekly Glicko": list(table.values())}


def part_players(options):
    """How speed and memory depend on the number of players."""
    sizes, n = ((10**3, 10**5), 10**5) if options.quick else ((10**4, 10**5, 10**6, 10**7), 10**6)
    names, activities = (("elo",), (0.0,)) if options.quick else (("elo", "glicko"), (0.0, 0.8))
    rows, slower, needs, least, ways = [], [], [], {}, all_ways()
    for activity, size in itertools.product(activities, sizes):
        matches = league(size, n, activity=activity).matches
        plans = {way: schedule.make_plan(matches, way) for way in ways}
        for name in names:
            run = partial(jr.run, SYSTEMS[name](), num_players=size)
            calls = {way: partial(run, plan.place(matches), schedule=plan) for way, plan in plans.items()}
            if numba:
                calls["numba"] = numba_replay(name, matches, size)
            table = race(calls, n, 1 if options.quick else 3)
            for way, row in table.items():
                case = {"activity": activity or "uniform", "system": name, "way": way}
                rows.append(case | {"players": size} | row)
                start = least.setdefault(tuple(case.values()), row["seconds"])
                if size == sizes[-1]:
                    slower.append(case | {"times_slower": row["seconds"] / start})
                if way in ways and size in (sizes[0], sizes[-1]) and not (options.quick and len(rows) > 1):
                    with tempfile.TemporaryDirectory() as folder:
                        path = Path(folder) / "league.npz"
                        np.savez(path, player=matches.player, score=matches.score, time=matches.time)
                        text = spawn("memory", __file__, "--memory", name, way, size, path)
                    needs += [] if text is None else [case | {"players": size} | json.loads(text.splitlines()[-1])]
    for few, many in itertools.permutations(needs, 2):
        if few["players"] < many["players"] and all(few[key] == many[key] for key in ("activity", "system", "way")):
            many["peak_per_state"] = (many["peak_replay"] - few["peak_replay"]) / (many["state"] - few["state"])
    return {"activity uniform or by Zipf": rows, "fewest to most players": slower, "memory in MB": needs}


def memory(name, way, num_players, path):
    """Peaks of memory in this process, in MB above what it held before it built the events.

    They are Linux's VmHWM, which can be reset after building.
    """
    system = SYSTEMS[name]()
    jax.block_until_ready(jr.run(system, league(100, 1_000).matches, schedule=way))  # loads the compiler
    before = resident("VmRSS")
    with np.load(path) as columns:
        matches = jr.matches(**columns)
    plan = schedule.make_plan(matches, way)
    building = resident("VmHWM") - before
    with suppress(OSError):
        forget_peak()
    run = jax.block_until_ready(jr.run(system, matches, schedule=plan, num_players=int(num_players)))
    peak = resident("VmHWM") - before
    state, events = (
        sum(getattr(x, "nbytes", 0) for x in jax.tree.leaves(tree)) / 1e6 for tree in (run.state, (plan, matches))
    )
    device = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    row = {"state": state, "events": events, "peak_building": building, "peak_replay": peak}
    return row | {"replay_ratio": peak / (state + events)} | ({} if device is None else {"device_peak": device / 1e6})


def part_schedule(options):
    """What a schedule costs to make, and what "auto" does about a player who is in every match."""
    n, rounds, rows, hubs = (20_000, 1, [], []) if options.quick else (1_000_000, 3, [], [])
    histories = {"uniform": league(n // 10, n).matches, "atp": None if options.quick else tennis(options)}
    for name, matches in ((name, matches) for name, matches in histories.items() if matches is not None):
        player = np.asarray(matches.player)
        calls = {"by_level": partial(jr.extend.schedule_by_level, matches)}
        calls["steps alone, width 64"] = partial(lambda ids: list(assign_steps_and_slots(ids, 64)), player)
        for row in race(calls, len(matches.score), rounds, calls).values():
            rows.append({"history": name} | row | {"seconds_per_million": 1 / row["million_per_second"]})
    n = 20_000 if options.quick else 300_000 if jax.default_backend() == "cpu" else 30_000
    hub = league(10_000, n).matches
    hub = hub._replace(player=np.stack([np.zeros(n, np.int32), 1 + hub.player[:, 0]], axis=1))
    for name in ("elo", "glicko"):
        system = SYSTEMS[name]()
        auto, stream = auto_plan(system, hub), schedule.make_plan(hub, "stream")
        plans = {"auto": auto, "stream": stream, "auto, whole call": "auto", "stream, whole call": "stream"}
        table = race({way: partial(jr.run, system, hub, schedule=plan) for way, plan in plans.items()}, n, rounds)
        for way, row in table.items():
            times = row["seconds"] / table[way.replace("auto", "stream")]["seconds"]
            hubs.append({"system": name, "auto_is": kind(auto)} | row | {"times_stream": times})
    return {"making a schedule": rows, "a player in every match": hubs}


def part_cli(options):
    """Wall clock of the command line, with all that a fresh process has to do."""
    if (matches := tennis(options)) is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(options.data) / "atp.parquet", Path(folder)
        if options.quick:
            columns = {"a": matches.player[:, 0], "b": matches.player[:, 1], "score": matches.score, "t": matches.time}
            path = out / "league.parquet"
            jr.data.write(columns | {"walkover": np.zeros(len(matches.score), bool)}, path)
        many = 10_000 if options.quick else 10_000_000
        file = [path, "--time", "t", "--column", "drop=walkover"]
        simulated = ["simulate", out / "big.parquet", "--matches", many, "--players", many // 10, "--activity", 0.8]
        commands = {
            "jaxrate --help": (["--help"], 0),
            "jaxrate rate --out": (["rate", *file, "--out", out / "run"], len(matches.score)),
            "jaxrate rate --state --player": (["rate", "--state", out / "run", "--player", "1"], 0),
            "jaxrate compare": (["compare", *file], len(matches.score)),
            "jaxrate rate --dry-run": (["rate", *file, "--dry-run"], len(matches.score)),
            "jaxrate simulate": (simulated, many),
        }
        if options.quick:
            commands = {title: commands[title] for title in ("jaxrate --help", "jaxrate rate --out")}
        rows = []
        for title, (command, number) in commands.items():
            seconds = []
            for _ in range(1 if options.quick else 3):
                start = time.perf_counter()
                if spawn(title, "-m", "jaxrate", *command) is None:
                    return None
                seconds.append(time.perf_counter() - start)
            rows.append({"command": title, "matches": number, "seconds": min(seconds)})
    return {"the command line": rows}


def part_files(options):
    """Reading text: a CSV file of matches, and a PGN file of games of two kilobytes."""
    n = 10_000 if options.quick else 1_000_000
    matches = league(n // 20, n, seed=1, activity=0.8).matches
    names = np.array([f"player number {i}" for i in range(n // 20)])
    games = max(n // 5, 1)
    moves = "\n".join(["1. e4 { [%eval 0.17] [%clk 0:03:00] } 1... c5 { [%eval 0.2] [%clk 0:03:00] }"] * 20)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "games.csv"
        a, b = names[matches.player.T]
        jr.data.write({"a": a, "b": b, "score": matches.score, "date": matches.time.astype("datetime64[D]")}, path)
        rows.append(timed_reading("CSV", jr.read, path, n, options))
        path = Path(folder) / "games.pgn"
        with path.open("w") as file:
            for i in range(games):
                tags = {
                    "Event": "Rated Blitz game",
                    "Site": f"https://example.org/{i:08}",
                    "White": a[i],
                    "Black": b[i],
                }
                tags |= {
                    "Black": b[i],
                    "Result": "1-0",
                    "UTCDate": "2024.01.31",
                    "UTCTime": "18:30:00",
                    "WhiteElo": "1500",
                }
                tags |= {"BlackElo": "1600", "ECO": "B20", "TimeControl": "180+0", "Termination": "Normal"}
                file.write("".join(f'[{tag} "{value}"]\n' for tag, value in tags.items()) + f"\n{moves} 1-0\n\n")
        rows.append(timed_reading("PGN", jr.data.formats.pgn, path, games, options))
    return {"reading files": rows}


def timed_reading(kind, read, path, number, options):
    seconds = [clock(lambda: read(path)) for _ in range(1 if options.quick else 3)]
    size = path.stat().st_size / number
    return {
        "kind": kind,
        "rows": number,
        "bytes_a_row": size,
        "seconds": min(seconds),
        "rows_per_s": number / min(seconds),
    }


def part_questions(options):
    """What is asked of a history of ten million participations, and its tables; leaderboards build on the second."""
    n, dates = (5_000, 6) if options.quick else (5_000_000, 60)
    matches = league(n // 10, n, days=20 * 365.0).matches
    data = Dataset(matches, np.arange(n // 10), np.arange(n), clock="dates")
    rated = jr.rate(jr.glicko(), data)
    _ = rated._replace().predictions, rated.rows.once_per_event()  # loads what first calls load
    middle, end = float(np.median(matches.time)), float(rated.last)
    times = np.linspace(middle, end, dates)
    tables = {
        "predictions, an Arrow table": lambda x: x.predictions,
        "participations": lambda x: x.rows,
        "participations and their ratings": lambda x: (x.rows.before, x.rows.after),
    }
    questions = {
        "a leaderboard at a time": partial(jr.leaderboard, as_of=middle),
        "peaks": jr.history.peak_ratings,
        f"ranks on {dates} dates": lambda x: ranks_over_time(x, times),
    }
    rows = []
    for title, ask in (tables | questions).items():
        fresh = rated._replace() if title in tables else rated  # whose tables are not made yet
        with suppress(OSError):
            forget_peak()
        before, seconds = resident("VmRSS"), clock(partial(ask, fresh))
        row = {"what": title, "participations": 2 * n, "seconds": seconds, "peak_MB": resident("VmHWM") - before}
        repeated = [] if title in tables else [clock(partial(ask, fresh)) for _ in range(2)]
        rows.append(row | {"seconds": min([seconds, *repeated])})
    return {"questions to a history": rows}


PARTS = {"atp": part_atp, "periods": part_periods, "players": part_players, "schedule": part_schedule}
PARTS |= {"files": part_files, "cli": part_cli, "questions": part_questions}


def main():
    parser = declare(
        __doc__, "small leagues, seconds in all", "atp.parquet", "the JSON file; with --only, its other parts are kept"
    )
    add_only(parser, PARTS, "PART")
    parser.add_argument("--memory", nargs=4, help=argparse.SUPPRESS)
    options = parse(parser, __file__)
    jax.config.update("jax_enable_compilation_cache", False)
    if options.memory:
        return print(json.dumps(memory(*options.memory)))
    look_for(options, "numba", "riix", "elote")
    report = circumstances("numba", "riix", "elote")
    results = results_in(options.out) if set(options.only) != set(PARTS) else {}
    for name, tables in measure({name: PARTS[name] for name in options.only}, options):
        results[name] = {"date": report["date"], "backend": report["backend"], **tables}
    write(options.out, report, results)


if __name__ == "__main__":
    main()
