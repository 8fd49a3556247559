"""How fast TrueSkill and Weng-Lin are, against a compiled loop and the packages trueskill and openskill.

    python experiments/trueskill_speed.py             # minutes; writes experiments/results/trueskill_speed.json
    python experiments/trueskill_speed.py --quick     # seconds, on small leagues; writes nothing unless --out is given

Times are the best of a few calls that take turns. Replays start from a fresh state, store every prediction, and have
their schedules made before. The loop is numba's, in float32 with fastmath. The packages rate the first of the same
matches or rounds; their speed does not depend on how many.
"""

import importlib
import math
from functools import partial

import jax
import numpy as np
from common import circumstances, declare, look_for, measure, parse, race, tennis, write
from speed_peers import F, compiled, numba

import jaxrate as jr
from jaxrate.events import slice_events
from jaxrate.replay.compiler_options import ProgramTraits
from jaxrate.replay.execution import compile_replay
from jaxrate.replay.plan import place_events
from jaxrate.replay.scan_programs import Steps, make_replay_rules, replay_steps

FEW = 2000  # matches for the packages
SOME = 200  # rounds for them
PLAYERS = 100, 1000, 5000, 20_000, 100_000
MODELS = {
    "plackett_luce": "PlackettLuce",
    "bradley_terry_full": "BradleyTerryFull",
    "thurstone_mosteller_full": "ThurstoneMostellerFull",
}


# --- Two players: the same formulas as a loop. Every number is float32; the state changes in place. ---

ZERO, HALF, ONE, TWO, FAR = (F(x) for x in (0.0, 0.5, 1.0, 2.0, 8.0))
ROOT_HALF, DENSITY = F(0.5**0.5), F((0.5 / math.pi) ** 0.5)


@compiled
def below(x):
    return HALF * math.erfc(-x * ROOT_HALF)


@compiled
def density(x):
    return DENSITY * math.exp(-HALF * x * x)


@compiled
def trueskill_loop(player, score, prediction, rating, variance, beta, tau, margin):
    for i in range(len(score)):
        a, b = player[i, 0], player[i, 1]
        variance_a, variance_b = variance[a] + tau * tau, variance[b] + tau * tau
        c = math.sqrt(variance_a + variance_b + TWO * beta * beta)
        sign = -ONE if score[i] < HALF else ONE
        t, e = (rating[a] - rating[b]) / c, margin / c
        prediction[i] = HALF * (below(t - e) + below(t + e))
        t *= sign
        if score[i] == HALF:
            mass = below(e - t) - below(-e - t)
            v = (density(-e - t) - density(e - t)) / mass
            w = v * v + ((e - t) * density(e - t) + (e + t) * density(e + t)) / mass
        elif t - e < -FAR:
            v = e - t + ONE / (e - t)
            w = ONE - ONE / ((e - t) * (e - t))
        else:
            v = density(t - e) / below(t - e)
            w = v * (v + t - e)
        rating[a] += sign * variance_a / c * v
        rating[b] -= sign * variance_b / c * v
        variance[a] = variance_a * (ONE - variance_a / (c * c) * w)
        variance[b] = variance_b * (ONE - variance_b / (c * c) * w)


def loop_replay(matches, num_players):
    """A call that replays the matches by the loop, at the default hyperparameters, and returns the predictions."""
    p = jr.trueskill().params
    margin = math.sqrt(2.0) * float(jr.trueskill().rules.prepare(p).margin)
    player, score = np.ascontiguousarray(matches.player, np.uint32), np.ascontiguousarray(matches.score, F)

    def call():
        prediction = np.empty(len(score), F)
        state = np.full(num_players, p.initial_rating, F), np.full(num_players, p.initial_deviation**2, F)
        trueskill_loop(player, score, prediction, *state, F(p.beta), F(p.tau), F(margin))
        return prediction

    return call


# --- The packages: calls that rate rounds of teams from fresh ratings. ---


def trueskill_replay(rounds, **settings):
    package = importlib.import_module("trueskill")

    def call():
        world, ratings = package.TrueSkill(**settings), {}
        for teams, ranks in rounds:
            groups = [tuple(ratings.get(i) or world.create_rating() for i in team) for team in teams]
            for team, group in zip(teams, world.rate(groups, ranks=ranks), strict=True):
                ratings.update(zip(team, group, strict=True))
        return ratings

    return call


def openskill_replay(rounds, name):
    model = getattr(importlib.import_module("openskill.models"), name)

    def call():
        world, ratings = model(), {}
        for teams, ranks in rounds:
            groups = [[ratings.get(i) or world.rating() for i in team] for team in teams]
            for team, group in zip(teams, world.rate(groups, ranks=ranks), strict=True):
                ratings.update(zip(team, group, strict=True))
        return ratings

    return call


def off(state, ratings):
    """The largest difference of means from a package's."""
    ids = np.array([*ratings])
    return float(np.max(np.abs(np.asarray(state.rating)[ids] - [ratings[i].mu for i in ids.tolist()])))


def against(ours, peers, n, few, options, checks):
    """A row for each, with how many times the best package's speed it has, and how far its ratings are off."""
    repeat = 1 if options.quick else 5
    table = race(ours, n, repeat, () if options.quick else [next(iter(ours))]) | race(peers, few, min(repeat, 3))
    for way, (run, peer) in checks.items():
        if peer in peers:
            table[way]["times_the_package"] = table[way]["million_per_second"] / table[peer]["million_per_second"]
            table[way]["rating_off_the_package"] = off(run().state, peers[peer]())
    for row in table.values():
        row["a_second"] = 1e6 * row.pop("million_per_second")
    return list(table.values())


def part_two(options):
    """ATP tennis."""
    matches = tennis(options)
    if matches is None:
        return None
    n, num_players = len(matches.score), int(matches.player.max()) + 1
    few = 100 if options.quick else FEW
    head = jax.tree.map(lambda x: x[:few], matches)
    games = [([[a], [b]], [1 - s, s]) for (a, b), s in zip(head.player.tolist(), head.score.tolist(), strict=True)]
    ways, checks, peers = {}, {}, {}
    models = dict([*MODELS.items()][: 1 if options.quick else None])
    systems = {"trueskill": jr.trueskill()} | {f"weng_lin {x}": jr.weng_lin(x) for x in models}
    schedule = jr.extend.schedule_by_level(matches)
    for name, system in systems.items():
        ways[name] = partial(jr.run, system, matches, schedule=schedule)
        checks[name] = partial(jr.run, system, head), f"package of {name}"
    if numba:
        ways["numba, trueskill"] = loop_replay(matches, num_players)
    if options.trueskill:
        peers["package of trueskill"] = trueskill_replay(games)
    if options.openskill:
        peers |= {f"package of weng_lin {ours}": openskill_replay(games, theirs) for ours, theirs in models.items()}
    rows = against(ways, peers, n, few, options, checks)
    if numba:
        ours, loop = (next(row for row in rows if row["way"] == way) for way in ("trueskill", "numba, trueskill"))
        ours["share_of_numba"] = ours["a_second"] / loop["a_second"]
        difference = np.abs(np.asarray(ways["trueskill"]().prediction) - ways["numba, trueskill"]())
        ours["prediction_off_numba"] = float(difference.max())
    return {"two players": rows}


def drawn(number, players, pool, teams, some, seed=0):
    """Rounds of players drawn from a pool, in teams or each alone, in random order; some also as lists."""
    rng = np.random.default_rng(seed)
    player = np.stack([rng.choice(pool, players, replace=False) for _ in range(number)])
    team = np.arange(players) if teams is None else np.arange(players) * teams // players
    rank = np.stack([rng.permutation(team.max() + 1) for _ in range(number)])[:, team]
    rounds = jr.rounds(np.repeat(np.arange(number), players), player.ravel(), rank.ravel(), team=np.tile(team, number))
    lists = []
    for row, place in zip(player[:some].tolist(), rank[:some].tolist(), strict=True):
        sides = [[p for p, t in zip(row, team.tolist(), strict=True) if t == k] for k in range(team.max() + 1)]
        lists.append((sides, [place[team.tolist().index(k)] for k in range(team.max() + 1)]))
    return rounds, lists


def part_rounds(options):
    """Rounds of eight, and of five against five."""
    number, pool, some = (1000, 10_000, 20) if options.quick else (10_000, 100_000, SOME)
    results, kinds = {}, (("8 players, free for all", 8, None), ("5 against 5", 10, 2))
    for title, players, teams in kinds[1 if options.quick else 0 :]:
        rounds, lists = drawn(number, players, pool, teams, some)
        schedule, ways, checks, peers = jr.extend.schedule_by_level(rounds), {}, {}, {}
        head = slice_events(rounds, 0, some)
        for name, system in {
            "trueskill": jr.trueskill(),
            "weng_lin plackett_luce": jr.weng_lin("plackett_luce"),
        }.items():
            ways[name] = partial(jr.run, system, rounds, schedule=schedule)
            checks[name] = partial(jr.run, system, head, num_players=pool), f"package of {name}"
        if options.trueskill:
            peers["package of trueskill"] = trueskill_replay(lists)
        if options.openskill:
            peers["package of weng_lin plackett_luce"] = openskill_replay(lists, "PlackettLuce")
        results[f"rounds of {title}"] = against(ways, peers, number, some, options, checks)
    return results


def part_large(options):
    """One round of so many ranked newcomers: seconds, and the memory of its update beyond its arguments and results."""
    rows = []
    for players in PLAYERS[:1] if options.quick else PLAYERS:
        rounds = jr.rounds(np.zeros(players, int), np.arange(players), np.arange(players))
        system, schedule = jr.trueskill(), jr.extend.schedule_by_level(rounds)
        call = partial(jr.run, system, rounds, schedule=schedule)
        state, ((number, size),) = system.init(system.params, players), schedule.blocks
        steps = Steps(place_events(rounds, schedule), number, count=np.int32(1))
        program = compile_replay(replay_steps, (system.params, state), traits=ProgramTraits(type(rounds.events)))
        rules = make_replay_rules(system.rules, system.params)
        lowered = program.lower(rules, size, system.params, (state, None), steps)
        temporary = lowered.compile().memory_analysis().temp_size_in_bytes
        row = race({"trueskill": call}, 1, 2 if options.quick else 5, ["trueskill"])["trueskill"]
        one = {"players": players, "seconds": row["seconds"], "first_seconds": row["first_seconds"]}
        rows.append(one | {"bytes_a_player": temporary / players})
    return {"one round": rows}


PARTS = {"two": part_two, "rounds": part_rounds, "large": part_large}


def main():
    options = parse(declare(__doc__, "small leagues, seconds in all", "atp.parquet"), __file__)
    jax.config.update("jax_enable_compilation_cache", False)
    look_for(options, "trueskill", "openskill")
    report, results = circumstances("numba", "trueskill", "openskill"), {}
    for _, tables in measure(PARTS, options):
        results |= tables
    write(options.out, report, results)


if __name__ == "__main__":
    main()
