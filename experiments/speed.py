"""How fast jaxrate is, against compiled loops of the same formulas and against Python packages in the same run.

    python experiments/speed.py                     # an hour; writes experiments/results/speed.json, part by part
    python experiments/speed.py --only matches      # minutes; the other parts stay in the file
    python experiments/speed.py --quick             # on small leagues; writes nothing unless --out is given
    taskset -c 0 python experiments/speed.py --only live   # on two cores an update may wait for a second thread

Times are the best of a few calls that take turns, so that a busy moment hits all contenders; first calls, which
compile, are apart. Replays start from a fresh state and store every prediction; their plans are made before, but for
"whole call". Packages rate the first of the same matches or contests, one after the other: their speed does not depend
on how many. The contenders stand in speed_peers.py.

Contests are of players drawn at random. Hindsight is the whole call of `jr.smooth`, whose seconds are divided by
contests and sweeps; trueskillthroughtime makes as many sweeps as it takes to a change of 0.001. In "codeforces"
everybody meets everybody, and the seconds of the reference program (the authors', in Rust, two threads, other hardware)
are from runs on the same file, that of Codeforces' system estimated from a part of it, those of Elo-MMR and Elo-MMX
with 100 opponents of each. The paper of BlatMMR reports 170 matches a second on one virtual CPU.
"""

import itertools
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import jax
import numpy as np
from common import (
    call_alone,
    clock,
    distance,
    forget_peak,
    measure,
    race,
    resident,
    spawn,
    timed,
)
from figures import plt, save
from histories import HISTORIES, read_history, tennis
from speed_peers import MODELS, PEERS, SURFACES, loop_replay, make_history_through_time, numba, riix_replay

import jaxrate as jr
from jaxrate import parts
from jaxrate.data.simulate import contests, league
from jaxrate.events import slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.fit_problem import evaluate, mean_loss, prepare_fit
from jaxrate.fitting.prediction_task import make_prediction_task
from jaxrate.history.leaderboards import ranks_over_time
from jaxrate.replay import schedule
from jaxrate.replay.execution import min_mean_width_for_levels
from jaxrate.replay.padded_arrays import max_step_matches_in_cache, state_shapes
from jaxrate.smoothing.smoother import smooth_events

TOLERANCE = 1e-3  # between the predictions of two float32 programs
STREAMED = ("elo", "glicko", "glicko2")
SLOW = 50_000  # matches for the Glicko-2 stream
EXPERIENCE = parts.experience(20.0)
SYSTEMS = {  # of matches; skills with surfaces have six numbers of a player
    "elo": jr.elo,
    "glicko": jr.glicko,
    "glicko2": jr.glicko2,
    "trueskill": jr.trueskill,
    **{f"weng_lin {model}": partial(jr.weng_lin, model) for model in MODELS},
    "skills": jr.skills,
    "skills, logistic": partial(jr.skills, observe=parts.logistic()),
    "skills, experience": partial(jr.skills, EXPERIENCE),
    "skills, surfaces": partial(jr.skills, parts.modifier(SURFACES), EXPERIENCE),
}
LOOPED = ("elo", "glicko", "glicko2", "trueskill", "skills, surfaces")


def auto_plan(system, matches):
    """The plan that `run` makes by itself."""
    needed = min_mean_width_for_levels(system, system.params, matches)
    return schedule.make_plan(matches, min_mean_width=needed)


def placed_run(system, events, plan):
    """A run of events that are planned, checked and on the device before."""
    return partial(jr.run, system, plan.place(events), schedule=plan)


def peer_calls(options, name, events, num_players):
    """Calls of the packages that have a system, and how many events each rates."""
    calls, counts = {}, {}
    for package, (make, systems, most) in PEERS.items():
        if name in systems and getattr(options, package):
            n = num_events(events)
            way = f"package {package}"
            counts[way] = min(n, 20 if options.quick else most or n)
            calls[way] = make(name, slice_events(events, 0, counts[way]), num_players)
    return calls, counts


def num_events(events):
    return len(events.score) if isinstance(events, jr.Matches) else len(events.player_start) - 1


def against_peers(table, ours, options, name, system, events, num_players):
    """Rows of the packages, and in our row how many times as fast as the best it is, and how far its ratings are."""
    calls, counts = peer_calls(options, name, events, num_players)
    peers = race(calls, counts, 1 if options.quick else 3)
    if peers:
        best = max(peers, key=lambda way: peers[way]["million_per_second"])
        times = table[ours]["million_per_second"] / peers[best]["million_per_second"]
        table[ours] |= {"best_peer": best, "times_the_peer": times}
    for way in calls if name != "glicko2" else ():  # riix's has another clock
        if way != "package elote":  # whose Glicko is not Glickman's
            some = slice_events(events, 0, counts[way])
            rating = np.asarray(jr.run(system, some, num_players=num_players).state.rating, float)
            peers[way]["rating_off_ours"] = float(np.nanmax(np.abs(calls[way]() - rating)))
    return peers


# --- The parts: each returns its tables, lists of rows by title, or None if it is skipped. ---


def part_matches(options):
    """Tennis match by match: with plans made before, from host arrays, in the loops and by the packages."""
    if (matches := tennis(options, surfaces=True)) is None:
        return None
    num_players, rows, speed = int(matches.player.max()) + 1, [], {}
    plain = matches._replace(context=matches.context._replace(category=None))
    ways = ("levels", "stream") if jax.default_backend() == "cpu" else ("levels",)
    plans = {way: schedule.make_plan(plain, way) for way in ways}
    levels = {"steps": plans["levels"].num_steps, "width": plans["levels"].blocks[0].number.shape[1]}
    few = slice_events(plain, 0, min(SLOW, len(plain.score)))
    for name in ("elo", "trueskill", "skills, surfaces") if options.quick else SYSTEMS:
        system, events = SYSTEMS[name](), matches if name == "skills, surfaces" else plain
        calls, n = {"levels": placed_run(system, events, plans["levels"])}, {"all": len(events.score)}
        if name in STREAMED and "stream" in ways:
            some = few if name == "glicko2" else events
            calls["stream"] = placed_run(system, some, schedule.make_plan(some, "stream"))
            n["stream"] = len(some.score)
        calls["whole call"] = partial(jr.run, system, events)
        if numba and name in LOOPED:
            calls["numba"] = loop_replay(system, events, num_players)
        cold = [way for way in ways if way in calls and (name == "elo" or not options.quick)]
        table = race(calls, n, 1 if options.quick else 5, cold)
        best = max((way for way in ways if way in calls), key=lambda way: table[way]["million_per_second"])
        speed[name] = table[best]["million_per_second"]
        if "numba" in calls:
            table[best]["of_the_loop"] = speed[name] / table["numba"]["million_per_second"]
            off = distance(calls[best]().prediction, calls["numba"]()[: table[best]["matches"]])
            table[best]["prediction_off_the_loop"] = off
            if not off <= TOLERANCE:
                print(f"WRONG: {name} {best} differs from numba by {off}")
        if "glicko" in speed:
            table[best]["of_glicko"] = speed[name] / speed["glicko"]
        table |= against_peers(table, best, options, name, system, events, num_players)
        rows += [{"system": name} | row for row in table.values()]
    return {"levels": [{"players": num_players, "fill": plans["levels"].fill} | levels], "match by match": rows}


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
        table[way]["rating_off_riix"] = distance(calls[way]().state.rating, calls["riix"]())
    return {"weekly Glicko": list(table.values())}


FORMS = {  # contests, teams, and players of a team
    "2 against 2": (1_000_000, 2, 2),
    "5 against 5": (200_000, 2, 5),
    "teams of four, 20 players": (50_000, 5, 4),
    "8 players, free for all": (10_000, 8, 1),
}
IN_HINDSIGHT = {"2 against 2": 1_000_000, "5 against 5": 200_000, "teams of four, 20 players": 50_000}
GROWTH = parts.skill(match_growth=5.0)
OF_TEAMS = {
    "trueskill": jr.trueskill,
    "weng_lin plackett_luce": partial(jr.weng_lin, "plackett_luce"),
    "skills": partial(jr.skills, GROWTH),
    "skills, experience": partial(jr.skills, GROWTH, EXPERIENCE),
    "skills, margins": partial(jr.skills, GROWTH, observe=parts.margin("points")),
    "skills, two modes": partial(jr.skills, GROWTH, parts.modifier(2)),
}
QUICK_FORM, QUICK_TEAMS = "teams of four, 20 players", ("trueskill", "skills, margins")


def draw_contests(form, count, players):
    """Contests of players drawn at random, whose skills perform with noise, on a thousand days."""
    _, teams, size = FORMS[form]
    rng, each = np.random.default_rng(0), teams * size
    player = rng.integers(0, players, (count, each))
    while (twice := (np.diff(np.sort(player, axis=1), axis=1) == 0).any(axis=1)).any():
        player[twice] = rng.integers(0, players, (int(twice.sum()), each))
    performance = rng.normal(0.0, 150.0, players)[player] + rng.normal(0.0, 212.0, player.shape)
    rank = np.argsort(np.argsort(-performance.reshape(count, teams, size).sum(axis=2), axis=1), axis=1)
    ranks, contest = np.repeat(rank, size, axis=1).ravel(), np.repeat(np.arange(count), each)
    return jr.rounds(
        contest, player.ravel(), ranks, team=np.tile(np.repeat(np.arange(teams), size), count),
        time=np.floor(contest / count * 1000.0), columns={"points": -1.0 * ranks},
        category=np.repeat(rng.integers(0, 2, count), each),
    )  # fmt: skip


def part_contests(options):
    """Contests a second, forwards."""
    rows = []
    for form, (count, teams, size) in FORMS.items():
        if options.quick and form != QUICK_FORM:
            continue
        count, players = (100, 200) if options.quick else (count, 50_000)
        rounds = draw_contests(form, count, players)
        plan = jr.extend.schedule_by_level(rounds)
        names = QUICK_TEAMS if options.quick else OF_TEAMS
        calls = {name: partial(jr.run, OF_TEAMS[name](), rounds, schedule=plan) for name in names}
        table = race(calls, count, 1 if options.quick else 4, () if options.quick else ["trueskill"])
        for name in names:
            table |= against_peers(table, name, options, name, OF_TEAMS[name](), rounds, players)
        for row in table.values():
            rows.append(
                {"form": form, **row, "participations_a_second": row["million_per_second"] * 1e6 * teams * size}
            )
    return {"contests": rows}


def part_hindsight(options):
    """Microseconds of a contest and a sweep; the same model by trueskillthroughtime, and how far its means are."""
    rows = []
    names = [name for name in OF_TEAMS if name.startswith("skills")]
    for form, count in IN_HINDSIGHT.items():
        if options.quick and form != QUICK_FORM:
            continue
        count = 100 if options.quick else count
        rounds = draw_contests(form, count, 200 if options.quick else 50_000)
        for name in names[:1] if options.quick else names:
            rows.append(smoothed(form, name, OF_TEAMS[name](), rounds)[0])
        if options.trueskillthroughtime:
            few = draw_contests(form, count // 500 or 5, max(count // 5000, 25))
            model = parts.skill(initial_rating=0, initial_deviation=1.0, growth=0.05, deviation_max=1e4)
            system = jr.skills(model, observe=parts.result(noise=2.0**0.5), period=1.0)
            ours, found = smoothed(form, "skills", system, few)
            history = make_history_through_time(few)
            (_, sweeps), took = timed(partial(history.convergence, epsilon=1e-3, iterations=100, verbose=False))
            curves = {name: dict(curve) for name, curve in history.learning_curves().items()}
            flat = few.events
            days = flat.time if len(flat.time) == len(flat.player) else np.repeat(flat.time, np.diff(few.player_start))
            wanted = [curves[str(x)][int(day)].mu for x, day in zip(flat.player.tolist(), days, strict=True)]
            off = (np.array(wanted) - np.asarray(found.rating.mean)) / np.asarray(found.rating.deviation)
            row = hindsight_row(form, "trueskillthroughtime", few, int(sweeps), took["seconds"])
            row |= {"times_jaxrate": row["microseconds"] / rows[-1]["microseconds"]}
            if FORMS[form][1] == 2:  # it takes some standings of more teams for those of others
                row["greatest_difference_in_deviations"] = float(np.abs(off).max())
            rows += [ours, row]
    return {"hindsight, of a contest and a sweep": rows}


def smoothed(form, way, system, rounds):
    """The row of a few calls, and what comes out."""
    calls = [timed(lambda: smooth_events(system, rounds).rating)[1]["seconds"] for _ in range(3)]
    found = smooth_events(system, rounds)
    return hindsight_row(form, way, rounds, found.sweeps, min(calls[1:])) | {"first_seconds": calls[0]}, found


def hindsight_row(form, way, rounds, sweeps, seconds):
    row = {"form": form, "way": way, "contests": num_events(rounds), "sweeps": sweeps, "seconds": seconds}
    return row | {"microseconds": 1e6 * seconds / num_events(rounds) / sweeps}


ROUND_SYSTEMS = {"elo_mmr": jr.elo_mmr, "elo_mmx": jr.elo_mmx, "codeforces": jr.codeforces, "topcoder": jr.topcoder}
ROUND_SYSTEMS |= {"trueskill": jr.trueskill}
REFERENCE = {"elo_mmr": "33-53", "elo_mmx": "33", "codeforces": "1140", "topcoder": "611"}
LENGTHS = 256, 128, 64, 32, 16, 8  # of histories; the first one is taken for the truth
PLAYERS = 100, 1000, 10_000, 16_783, 100_000, 200_000, 1_000_000


def codeforces(options):
    """The rounds of Codeforces until 2020, or simulated ones; None if they are not there."""
    if options.quick:
        return contests(300, 10, size=(50, 120), seed=1, grid=20).rounds
    data = read_history(options, "codeforces")
    return data and data.rounds


def part_codeforces(options):
    """All of Codeforces by each system, and what a bounded history of Elo-MMR costs."""
    if (rounds := codeforces(options)) is None:
        return None
    n, rows = int(rounds.player_start[-1]), []
    scheduling = min(clock(lambda: jr.extend.schedule_by_level(rounds)) for _ in range(2))
    plan = jr.extend.schedule_by_level(rounds)
    for name in ["elo_mmr"] if options.quick else ROUND_SYSTEMS:
        system = ROUND_SYSTEMS[name]()
        cold = clock(partial(jr.run, system, rounds))
        warm = min(clock(partial(jr.run, system, rounds, schedule=plan)) for _ in range(3))
        row = {"system": name, "cold": cold, "warm": warm, "participations_per_second": n / warm}
        rows.append(row | {"reference": REFERENCE.get(name)})
    about = {"participations": n, "contests": num_events(rounds), "sizes": len({x.size for x in plan.blocks})}
    tables = {"seconds": rows, "schedule": [about | {"fill": plan.fill, "seconds": scheduling}]}
    return tables | {"lengths of the history": lengths(rounds, plan, options.quick)}


def lengths(rounds, plan, quick):
    """Time, memory and the largest and usual error of the ratings, by the performances kept of each player."""
    rows = []
    for rho in (1.0,) if quick else (1.0, 0.1):
        truth = None
        for history in LENGTHS[3:5] if quick else LENGTHS:
            call = partial(jr.run, jr.elo_mmr(history=history, rho=rho), rounds, schedule=plan)
            call()
            result, took = timed(call)
            rating = np.asarray(result.state.rating, np.float64)
            truth = rating if truth is None else truth
            off, size = np.abs(rating - truth), sum(x.nbytes for x in jax.tree.leaves(result.state)) / 1e6
            row = {"rho": rho, "history": history, "seconds": took["seconds"], "state_mb": size}
            rows.append(row | {"largest_error": off.max(), "rms": np.sqrt(np.mean(off**2))})
    return rows


def part_round(options):
    """One round of many sizes, everybody with some history behind them; the picture of Elo-MMR (section 5.3)."""
    rows, before = [], 1 if options.quick else 2
    for name, players in itertools.product(ROUND_SYSTEMS, PLAYERS):
        if (name, players) != ("elo_mmr", 1000) if options.quick else name != "elo_mmr" and players > 200_000:
            continue
        system, rounds = (
            ROUND_SYSTEMS[name](),
            contests(players, before + 1, size=players, seed=1, grid=5, days=2).rounds,
        )
        state, last = jr.run(system, slice_events(rounds, 0, before)).state, slice_events(rounds, before, before + 1)
        run_last, times = partial(jr.run, system, last, schedule=jr.extend.schedule_by_level(last)), []
        for _ in range(4):
            copy = jax.tree.map(jax.numpy.copy, state)
            times.append(clock(lambda run_last=run_last, copy=copy: run_last(state=copy)))
        row = {"system": name, "players": players, "seconds": min(times[1:])}
        rows.append(row | {"ns_per_player": 1e9 * row["seconds"] / players})
    shown = [row for row in rows if row["system"] == "elo_mmr"]
    players, times = (np.array([row[key] for row in shown]) for key in ("players", "seconds"))
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.loglog(players, times, "o-", label="one round of Elo-MMR, everybody against everybody")
    axes.loglog(players, times[-1] * players / players[-1], "--", color="grey", label="proportional to the players")
    axes.set(xlabel="players", ylabel="seconds")
    axes.grid(alpha=0.3)
    axes.legend()
    save({"linear": figure}, options.out, "elo_mmr")
    return {"one round": rows}


COARSE = {"size": 257, "half_width": 3.5, "kernel_width": 0.055}  # still two steps of the grid
ALGORITHMS = {"low_rank": 50_000, "fft": 50_000, "naive": 500}  # matches that each rates, of the middle of tennis


def part_blat_mmr(options):
    """BlatMMR by each algorithm on two grids: all of tennis by the fastest, and the same part of it by the others."""
    if (matches := tennis(options)) is None:
        return None
    rows, players, n = [], int(matches.player.max()) + 1, len(matches.score)
    for settings in ({},) if options.quick else ({}, COARSE):
        calls, numbers = {}, {}
        for algorithm, count in (("low_rank", n), *ALGORITHMS.items()):
            system = jr.blat_mmr(algorithm=algorithm, **settings)
            count = min(n, max(count // 100, 10) if options.quick else count)
            some = slice_events(matches, (n - count) // 2, (n - count) // 2 + count)
            width = max_step_matches_in_cache(state_shapes(system, 2))
            plan = schedule.make_plan(some, "levels", max_width=width)
            calls[algorithm, count] = partial(jr.run, system, some, schedule=plan, num_players=players)
            numbers[algorithm, count] = count
        for (algorithm, count), row in race(calls, numbers, 1 if options.quick else 3).items():
            row = row | {"way": algorithm, "per_second": count / row["seconds"]}
            rows.append({"size": system.settings["size"], "algorithm": algorithm} | row)
    return {"matches a second": rows}


def part_slopes(options):
    """The loss of tennis and with all its slopes, as `fit` evaluates them."""
    if (matches := tennis(options, surfaces=True)) is None:
        return None
    plain, old = matches._replace(context=matches.context._replace(category=None)), parts.skill(reversion=3000.0)
    systems = {"glicko": (jr.glicko(deviation_max=400), plain), "skills": (jr.skills(old, EXPERIENCE), plain)}
    systems["skills, surfaces"] = jr.skills(old, parts.modifier(SURFACES), EXPERIENCE), matches
    rows = []
    for name in ["glicko"] if options.quick else systems:
        system, events = systems[name]
        problem = prepare_fit(make_prediction_task(system, events), None)
        k, calls = len(problem.start), {"loss": partial(mean_loss, problem, problem.start, problem.task.weight)}
        calls["both"] = partial(evaluate, problem, problem.start[None], system.params)
        table = race(calls, len(events.score), 1 if options.quick else 5)
        loss, both = (table[way]["seconds"] for way in calls)
        row = {"system": name, "slopes": k, "loss_seconds": loss, "loss_and_slopes_seconds": both}
        rows.append(row | {"over_1_and_k_losses": both / loss / (1 + k)})
    return {"loss and slopes": rows}


def part_players(options):
    """How speed depends on the number of players."""
    sizes, n = ((10**3, 10**5), 10**5) if options.quick else ((10**4, 10**5, 10**6, 10**7), 10**6)
    names, activities = (("elo",), (0.0,)) if options.quick else (("elo", "glicko"), (0.0, 0.8))
    rows, slower, least = [], [], {}
    for activity, size in itertools.product(activities, sizes):
        matches = league(size, n, activity=activity).matches
        plans = {way: schedule.make_plan(matches, way) for way in ("levels", "stream")}
        for name in names:
            system = SYSTEMS[name]()
            calls = {way: placed_run(system, matches, plan) for way, plan in plans.items()}
            if numba:
                calls["numba"] = loop_replay(system, matches, size)
            for way, row in race(calls, n, 1 if options.quick else 3).items():
                case = {"activity": activity or "uniform", "system": name, "way": way}
                rows.append(case | {"players": size} | row)
                start = least.setdefault(tuple(case.values()), row["seconds"])
                if size == sizes[-1]:
                    slower.append(case | {"times_slower": row["seconds"] / start})
    return {"activity uniform or by Zipf": rows, "fewest to most players": slower}


def part_memory(options):
    """The peak of a fresh process above what it held before: the events read, JAX started, something compiled."""
    few, many = ("1000", "100000") if options.quick else ("10000", "10000000")
    cases = [(name, way, size) for name in ("elo", "glicko") for way in ("levels", "stream") for size in (few, many)]
    cases += [("blat_mmr", "levels", "tennis"), ("elo_mmr", "levels", "codeforces")]
    rows = []
    for case in cases[:2] if options.quick else cases:
        rows += filter(None, [call_alone(peak_memory, *case, options.data)])
    return {"memory in MB": rows}


def peak_memory(name, way, history, data):
    """A row about this process, by Linux's VmHWM, of a history or a league of so many players."""
    system, found = jr.extend.SYSTEMS[name](), HISTORIES.get(history)
    if found:
        data = jr.read(Path(data) / found[0], sort=False, **found[1])
        events = data.matches if history == "tennis" else data.rounds
    else:
        events = league(int(history), 1_000_000).matches
    jr.run(system, slice_events(events, 0, 2))  # loads the compiler
    forget_peak()
    before = resident("VmRSS")
    result = jax.block_until_ready(jr.run(system, events, schedule=way))
    state = sum(x.nbytes for x in jax.tree.leaves(result.state)) / 1e6
    return {"system": name, "way": way, "history": history, "state": state, "peak": resident("VmHWM") - before}


def part_schedule(options):
    """What a schedule costs to make, and what "auto" does about a player who is in every match."""
    n, rounds, rows, hubs = (20_000, 1, [], []) if options.quick else (1_000_000, 3, [], [])
    histories = {"uniform": league(n // 10, n).matches, "atp": None if options.quick else tennis(options)}
    for name, matches in ((name, matches) for name, matches in histories.items() if matches is not None):
        player = np.asarray(matches.player)
        calls = {"by_level": partial(jr.extend.schedule_by_level, matches)}
        calls["steps alone, width 64"] = partial(lambda ids: list(schedule.assign_steps_and_slots(ids, 64)), player)
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
            hubs.append(
                {"system": name, "auto_is": "stream" if auto.is_stream else "levels"} | row | {"times_stream": times}
            )
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
                tags |= {"Result": "1-0", "UTCDate": "2024.01.31", "UTCTime": "18:30:00", "WhiteElo": "1500"}
                tags |= {"BlackElo": "1600", "ECO": "B20", "TimeControl": "180+0", "Termination": "Normal"}
                file.write("".join(f'[{tag} "{value}"]\n' for tag, value in tags.items()) + f"\n{moves} 1-0\n\n")
        rows.append(timed_reading("PGN", jr.data.formats.pgn, path, games, options))
    return {"reading files": rows}


def timed_reading(kind, read, path, number, options):
    seconds = [clock(lambda: read(path)) for _ in range(1 if options.quick else 3)]
    row = {"kind": kind, "rows": number, "bytes_a_row": path.stat().st_size / number, "seconds": min(seconds)}
    return row | {"rows_per_s": number / min(seconds)}


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


def typical(call, times):
    """Microseconds of a call: the median, and what nine of ten take at most."""
    taken = np.empty(times)
    for i in range(times):
        start = time.perf_counter()
        call(i)
        taken[i] = time.perf_counter() - start
    return {"median_us": float(np.median(taken) * 1e6), "ninety_percent_us": float(np.quantile(taken, 0.9) * 1e6)}


def by_run(system, pairs, count):
    """Microseconds of a match as it was before there was `live`: `jr.run` of that match alone, from the state."""
    state = [jr.run(system, jr.matches([pairs[0]], [1.0], [0.0]), num_players=count).state]

    def update(i):
        one = jr.matches([pairs[i]], [1.0], [float(i)])
        state[0] = jax.block_until_ready(jr.run(system, one, state=state[0]).state)

    return typical(update, len(pairs))["median_us"]


def live_matches(options):
    """Updates of matches of two, each system among few and many players; a run of one match; openskill's `rate`."""
    rng, times, rows = np.random.default_rng(0), 50 if options.quick else 4000, []
    for count in (100, 1_000) if options.quick else (10_000, 1_000_000):
        a = rng.integers(0, count, times + 1)
        b = (a + rng.integers(1, count, times + 1)) % count
        for name in ("elo", "glicko", "glicko2", "trueskill"):
            live = jr.live.start_history(jr.extend.SYSTEMS[name](), range(count))
            pairs = [*zip(a.tolist(), b.tolist(), strict=True)]
            start = time.perf_counter()
            live.update(*pairs[times], 1.0, time=0.0)
            first = {"first_seconds": time.perf_counter() - start}
            row = typical(lambda i, live=live, pairs=pairs: live.update(*pairs[i], 1.0, time=float(i)), times)
            run = by_run(jr.extend.SYSTEMS[name](), pairs[: 3 if options.quick else 100], count)
            rows.append({"system": name, "players": count} | row | first | {"by_run_median_us": run})
    if options.openskill:
        from openskill.models import BradleyTerryFull

        model = BradleyTerryFull()
        players = [model.rating() for _ in range(1000)]

        def rate(i):
            x, y = i % 1000, (i * 7 + 1) % 1000
            [[players[x]], [players[y]]] = model.rate([[players[x]], [players[y]]])

        rows.append({"system": "openskill, BradleyTerryFull", "players": 1000} | typical(rate, times))
    return rows


def live_contests(options):
    """Contests of ten by Elo-MMR."""
    rng, times = np.random.default_rng(0), 5 if options.quick else 500
    live = jr.live.start_history(jr.elo_mmr(), range(10_000))
    names = [rng.choice(10_000, 10, replace=False).tolist() for _ in range(times + 1)]
    live.update_round(names[times])
    return [{"system": "elo_mmr"} | typical(lambda i: live.update_round(names[i]), times)]


def live_saving(options):
    """What it takes to keep 10,000 players: in JSON, and by `jr.save` with the table of 1,000 matches."""
    live = jr.live.start_history(jr.glicko(), [f"player {i}" for i in range(10_000)])
    for i in range(10 if options.quick else 1_000):
        live.update(f"player {i}", f"player {i + 1}", 1.0, time=float(i))
    live.to_json()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        jr.save(run, live.to_rated())
        ways = {"to_json": lambda i: live.to_json(), "save": lambda i: jr.save(run, live.to_rated())}
        return [{"way": way} | typical(call, 20) for way, call in ways.items()]


def part_live(options):
    """One update; those of contests of ten; and what it takes to keep 10,000 players."""
    tables = {"microseconds": live_matches, "contests of ten": live_contests, "10,000 players": live_saving}
    return {title: table(options) for title, table in tables.items()}


PARTS = {name.removeprefix("part_"): x for name, x in list(globals().items()) if name.startswith("part_")}

if __name__ == "__main__":
    jax.config.update("jax_enable_compilation_cache", False)
    packages = "numba", *PEERS, "trueskillthroughtime"
    measure(PARTS, "small leagues", "atp.parquet and codeforces2020.parquet", packages)
