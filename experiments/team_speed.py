"""Speed of contests of teams, forwards and with hindsight, beside trueskill, openskill and trueskillthroughtime.

    python experiments/team_speed.py           # minutes; writes experiments/results/team_speed.json
    python experiments/team_speed.py --quick   # a minute, on small leagues; writes nothing unless --out is given

Contests are of players drawn at random from many: two against two, five against five, and twenty players in five teams
of four. Every number is the best of three turns after a first one, which compiles. Forwards a replay starts from a
fresh state and stores every prediction; its schedule was made before. Hindsight is the whole call of `jr.smooth`, to
its usual tolerance, and its seconds are divided by contests and sweeps.

The packages rate one contest after the other, in Python, and are timed once, on a few hundred or thousand contests of
fewer players: ratios are of seconds a contest, or a contest and iteration, as if long histories cost no more of either.
trueskill and openskill (Plackett-Luce) go forwards and predict nothing. trueskillthroughtime makes a first pass when it
is given the history ("forwards"), and then as many iterations, to and fro, as it takes to a change of 0.001.
"""

import os
import time
from functools import partial

import numpy as np
from common import add_only, clock, declare, keep, look_for, parse
from team_hindsight import drawn_contests, line_ups, make_history_through_time, timed
from team_skills import FORMS, QUICK_FORMS
from trueskill_speed import openskill_replay, trueskill_replay

import jaxrate as jr
from jaxrate import parts
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.skills.system import skills_by_name

TURNS, DAYS, PLAYERS = 3, 1000, 50_000
SYSTEMS = {"skills": {}, "skills, experience": {"experience": 20.0}, "skills, two modes": {"categories": 2}}
HINDSIGHT = {"2 against 2": 200_000, "5 against 5": 50_000, "teams of four, 20 players": 20_000}
OF_PEERS = {"2 against 2": 2_000, "5 against 5": 1_000, "teams of four, 20 players": 300}
PACKAGES = "trueskill", "openskill", "trueskillthroughtime"


def form_of(form, contests):
    """A history of so many contests, and its teams and their size."""
    _, teams, size = FORMS[form]
    rng = np.random.default_rng(0)
    return drawn_contests(rng, contests, min(PLAYERS, max(200, contests // 10)), teams, size, DAYS), teams, size


def best_of_turns(call, turns):
    clock(call)
    return min(clock(call) for _ in range(turns))


def loaded():
    return {"load": round(os.getloadavg()[0], 1)}


def forwards(options):
    """Contests and participations a second."""
    rows = []
    for form, (contests, teams, size) in (QUICK_FORMS if options.quick else FORMS).items():
        rounds = form_of(form, contests)[0]
        schedule = jr.extend.schedule_by_level(rounds)
        for way, settings in SYSTEMS.items():
            system = skills_by_name(match_growth=5.0, **settings)
            before = loaded()
            seconds = best_of_turns(partial(jr.run, system, rounds, schedule=schedule), TURNS)
            rows.append(row_of(form, way, contests, teams * size, seconds) | before)
        rows += peers_forwards(options, form)
    return {"forwards": rows}


def row_of(form, way, contests, participants, seconds):
    a_second = contests / seconds
    row = {"form": form, "way": way, "contests": contests, "seconds": seconds, "contests_a_second": a_second}
    row |= {"participations_a_second": a_second * participants}
    print(row, flush=True)
    return row


def peers_forwards(options, form):
    """A row for each package that is there."""
    contests = OF_PEERS[form] // (20 if options.quick else 1)
    rounds, teams, size = form_of(form, contests)
    player, rank, day = line_ups(rounds, teams, size)
    results = [*zip(player, rank, strict=True)]
    calls = {
        "trueskill": lambda: trueskill_replay(results, draw_probability=0.0)(),
        "openskill": lambda: openskill_replay(results, "PlackettLuce")(),
        "trueskillthroughtime": partial(make_history_through_time, player, rank, day),
    }
    for package in PACKAGES:
        if getattr(options, package):
            before, seconds = loaded(), clock(calls[package])
            yield row_of(form, package, contests, teams * size, seconds) | before


def hindsight(options):
    """Microseconds of a contest and a sweep."""
    rows = []
    for form in QUICK_FORMS if options.quick else FORMS:
        contests = 100 if options.quick else HINDSIGHT[form]
        rounds = form_of(form, contests)[0]
        system, before = jr.skills(parts.skill(match_growth=5.0)), loaded()
        row, found = timed(partial(smooth_events, system, rounds), TURNS)
        rows.append(hindsight_row(form, "skills", contests, found.sweeps, row["seconds"]) | before)
        if options.trueskillthroughtime:
            contests = OF_PEERS[form] // (20 if options.quick else 1)
            history, before = make_history_through_time(*line_ups(*form_of(form, contests))), loaded()
            start = time.perf_counter()
            _, sweeps = history.convergence(epsilon=1e-3, iterations=30, verbose=False)
            seconds = time.perf_counter() - start
            theirs = hindsight_row(form, "trueskillthroughtime", contests, int(sweeps), seconds)
            ratio = theirs["microseconds"] / rows[-1]["microseconds"]
            rows.append(theirs | before | {"times_jaxrate": ratio})
    return {"hindsight, of a contest and a sweep": rows}


def hindsight_row(form, way, contests, sweeps, seconds):
    row = {"form": form, "way": way, "contests": contests, "sweeps": sweeps, "seconds": seconds}
    row |= {"microseconds": 1e6 * seconds / contests / sweeps}
    print(row, flush=True)
    return row


PARTS = {"forwards": forwards, "hindsight": hindsight}


if __name__ == "__main__":
    parser = declare(__doc__, "on small leagues")
    add_only(parser, PARTS, "PART")
    options = parse(parser, __file__)
    look_for(options, *PACKAGES)
    keep(PARTS, options)
