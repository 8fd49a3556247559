"""How fast skills are: against Glicko, against a compiled loop of the same formulas, and what their slopes cost.

    python experiments/skills_speed.py             # minutes; writes experiments/results/skills_speed.json
    python experiments/skills_speed.py --quick     # seconds, on a small league; writes nothing unless --out is given

Times are the best of a few calls that take turns in one process. Replays start from a fresh state, store every
prediction, and have their schedules made before. The loop is numba's, in float32 with fastmath, one match after the
other. Without the file of ATP tennis the matches are those of a simulated league, on random surfaces.
"""

import math
from functools import partial

import jax
import numpy as np
from common import circumstances, declare, distance, find, measure, parse, race, write
from speed_peers import F, compiled, numba

import jaxrate as jr
from jaxrate import parts
from jaxrate.data.simulate import league
from jaxrate.fitting.fit_problem import evaluate, mean_loss, prepare_fit
from jaxrate.fitting.prediction_task import make_prediction_task

SURFACES = 5
SIZE = 1 + SURFACES
EXPERIENCE = 20.0
CHECKED = 20_000  # matches whose predictions are compared
ROUNDING = 3e-6  # between their predictions in two float32 programs
REVERSION = 3000.0  # days

# --- Wins of two players with a modifier for each surface, as a loop. Every number is float32; the state changes in
# place. What a player brings is the common skill and one modifier, so P x is the sum of two columns. ---

ZERO, HALF, ONE, FAR = (F(x) for x in (0.0, 0.5, 1.0, 8.0))
SLACK = F(2 * SIZE * np.finfo(F).eps)
ROOT_HALF, DENSITY = F(0.5**0.5), F((0.5 / math.pi) ** 0.5)


@compiled
def chance(z):
    return HALF * math.erfc(-z * ROOT_HALF)


@compiled
def pass_time(covariance, passed, growth, highest):
    """Growth of the variances, never beyond the highest."""
    for j in range(SIZE):
        room = max(highest[j] - covariance[j, j], ZERO)
        covariance[j, j] += min(growth[j] * passed, room)


@compiled
def tell(mean, covariance, toward, push, lost):
    """The moments matched: m + P x push, P - P x x^T P lost, and to the diagonal what keeps P positive definite."""
    for j in range(SIZE):
        mean[j] += toward[j] * push
        scaled = toward[j] * lost
        for k in range(SIZE):
            covariance[j, k] -= scaled * toward[k]
        covariance[j, j] += SLACK * (covariance[j, j] + scaled * toward[j])


@compiled
def skills_loop(
    player, met, score, time, prediction, mean, covariance, games, last, growth, highest, square, experience
):
    toward_a, toward_b = np.empty(SIZE, F), np.empty(SIZE, F)
    for i in range(len(score)):
        a, b, now = player[i, 0], player[i, 1], time[i]
        u, v = met[i, 1], met[i, 0]  # where in theta the modifiers are that count
        pass_time(covariance[a], max(now - last[a], ZERO), growth, highest)
        pass_time(covariance[b], max(now - last[b], ZERO), growth, highest)
        for j in range(SIZE):
            toward_a[j] = covariance[a, j, 0] + covariance[a, j, u]
            toward_b[j] = covariance[b, j, 0] + covariance[b, j, v]
        ahead = mean[a, 0] + mean[a, u] - mean[b, 0] - mean[b, v]
        ahead += experience * (math.log1p(games[a]) - math.log1p(games[b]))
        inverse = ONE / math.sqrt(square + toward_a[0] + toward_a[u] + toward_b[0] + toward_b[v])
        prediction[i] = chance(ahead * inverse)
        sign = ONE if score[i] > HALF else -ONE
        z = sign * ahead * inverse
        if z < -FAR:
            push = -z - ONE / z
            lost = ONE - ONE / (z * z)
        else:
            push = DENSITY * math.exp(-HALF * z * z) / chance(z)
            lost = push * (push + z)
        push *= sign * inverse
        lost *= inverse * inverse
        tell(mean[a], covariance[a], toward_a, push, lost)
        tell(mean[b], covariance[b], toward_b, -push, lost)
        games[a] += ONE
        games[b] += ONE
        last[a] = last[b] = now


def loop_replay(system, matches, num_players):
    """A call that replays the matches by the loop, with the system's hyperparameters, and returns the predictions."""
    p = system.params
    player, met = (np.ascontiguousarray(x, np.uint32) for x in (matches.player, 1 + matches.context.category))
    score, days = (np.ascontiguousarray(x, F) for x in (matches.score, matches.time))
    highest = np.array([p.initial_deviation**2] + [p.initial_modifier_deviation**2] * SURFACES, F)
    growth = np.array([p.growth**2] + [p.modifier_growth**2] * SURFACES, F) / F(p.period)
    newcomer = np.array([p.initial_rating] + [0.0] * SURFACES, F)

    def call():
        prediction = np.empty(len(score), F)
        mean, covariance = np.tile(newcomer, (num_players, 1)), np.tile(np.diag(highest), (num_players, 1, 1))
        games, last = np.zeros(num_players, F), np.full(num_players, np.finfo(F).max, F)
        state = mean, covariance, games, last
        skills_loop(player, met, score, days, prediction, *state, growth, highest, F(p.noise**2), F(p.experience))
        return prediction

    return call


# --- The parts. ---


def history(options):
    """ATP tennis without walkovers, with its surfaces; else a league."""
    if not options.quick and (path := find(options, "atp.parquet", "a league instead")):
        return jr.read(path, time="t", drop="walkover", category="surface", sort=False).matches
    matches = league(*((1_000, 10_000) if options.quick else (10_000, 1_000_000)), activity=0.8).matches
    surface = np.random.default_rng(0).integers(0, SURFACES, len(matches.score))
    context = matches.context._replace(category=np.stack([surface, surface], axis=1))
    return matches._replace(time=np.floor(matches.time), context=context)


def rounds(options):
    return 1 if options.quick else 9


def part_one(options, matches):
    """One number a player."""
    plain = matches._replace(context=matches.context._replace(category=None))
    schedule = jr.extend.schedule_by_level(plain)
    systems = {
        "glicko": jr.glicko(),
        "skills, logistic": jr.skills(observe=parts.logistic()),
        "skills": jr.skills(),
        "skills, experience": jr.skills(parts.experience(EXPERIENCE)),
    }
    calls = {name: partial(jr.run, system, plain, schedule=schedule) for name, system in systems.items()}
    table = race(calls, len(plain.score), rounds(options))
    for row in table.values():
        row["of_glicko"] = row["million_per_second"] / table["glicko"]["million_per_second"]
    return {"one number a player": list(table.values())}


def part_six(options, matches):
    """A modifier for each of five surfaces, and experience."""
    system, num_players = (
        jr.skills(parts.modifier(SURFACES), parts.experience(EXPERIENCE)),
        int(matches.player.max()) + 1,
    )
    calls = {"levels": partial(jr.run, system, matches, schedule=jr.extend.schedule_by_level(matches))}
    if numba:
        calls["numba"] = loop_replay(system, matches, num_players)
    table = race(calls, len(matches.score), rounds(options))
    if numba:
        ours, loop = calls["levels"]().prediction, calls["numba"]()
        off = distance(ours[:CHECKED], loop[:CHECKED])
        if not off <= ROUNDING:
            print(f"WRONG: predictions differ from numba's by {off}")
        row = table["levels"]
        row["of_numba"] = row["million_per_second"] / table["numba"]["million_per_second"]
        row |= {"prediction_off_at_first": off, "prediction_off": distance(ours, loop)}
    return {"six numbers a player": list(table.values())}


def part_slopes(options, matches):
    """The loss, and with all its slopes, as `fit` evaluates them."""
    rows = []
    systems = {"one number a player": jr.skills(parts.skill(reversion=REVERSION), parts.experience(EXPERIENCE))}
    if not options.quick:
        systems["six numbers a player"] = jr.skills(
            parts.skill(reversion=REVERSION), parts.modifier(SURFACES), parts.experience(EXPERIENCE)
        )
    for name, system in systems.items():
        problem = prepare_fit(make_prediction_task(system, matches), None)
        k, calls = len(problem.start), {"values": partial(mean_loss, problem, problem.start, problem.task.weight)}
        calls["forward"] = partial(evaluate, problem, problem.start[None], system.params)
        table = race(calls, len(matches.score), 1 if options.quick else 5)
        loss, both = (table[way]["seconds"] for way in calls)
        row = {"system": name, "slopes": k, "loss_seconds": loss, "loss_and_slopes_seconds": both}
        rows.append(row | {"over_1_and_k_losses": both / loss / (1 + k)})
    return {"loss and slopes": rows}


PARTS = {"one": part_one, "six": part_six, "slopes": part_slopes}


def main():
    options = parse(declare(__doc__, "a small league, seconds in all", "atp.parquet"), __file__)
    jax.config.update("jax_enable_compilation_cache", False)
    report, matches, results = circumstances("numba"), history(options), {}
    for _, tables in measure({name: partial(part, matches=matches) for name, part in PARTS.items()}, options):
        results |= tables
    write(options.out, report, results)


if __name__ == "__main__":
    main()
