"""Hindsight: how fast, in how many sweeps, how near to the truth, and beside other packages.

    python experiments/smooth.py                    # minutes; writes experiments/results/smooth.json
    python experiments/smooth.py --only peers       # only a part; the others stay in the file
    python experiments/smooth.py --quick            # seconds, on small leagues; writes nothing unless --out is given

Every time is the best of two calls after the first, which compiles, to a change of at most 0.001 deviations. Other
packages run once. Held-out matches count with a weight of 1e-9, so that they say nothing. Without the file of ATP
tennis parts that need it are skipped.
"""

import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from common import add_only, declare, find, forget_peak, keep, look_for, parse, resident
from scipy.special import ndtr

import jaxrate as jr
from jaxrate.data.simulate import league
from jaxrate.events import part
from jaxrate.records.metrics import log_loss
from jaxrate.smoothing.passes import Site, at_nodes, backwards, forwards
from jaxrate.smoothing.sites import met, told
from jaxrate.smoothing.sweeps import at_players, problem
from jaxrate.smoothing.timelines import timelines
from jaxrate.systems.skills.strengths import Strength

PEERS = "trueskillthroughtime", "kickscore"
# Fitted to tennis from 2000 to 2011, for KDD'19's protocol.
FITTED = {"growth": 9.6, "initial_deviation": 136.0, "match_growth": 9.1, "experience": 81.0}
SURFACES = {"modifier_growth": 2.8, "initial_modifier_deviation": 45.0}
SIGMA, GAMMA = 1.6, 0.036  # units of beta, and per square root of a day
LITTLE = 1e-9


def tennis(options, surfaces=False, first=None):
    """ATP tennis without walkovers, or its first matches; in a quick form a league."""
    if options.quick:
        matches = league(300, 3000, activity=0.8).matches
        matches = matches._replace(time=np.floor(matches.time))
        surface = np.random.default_rng(0).integers(0, 5, (3000, 1)).repeat(2, axis=1)
        matches = matches._replace(context=matches.context._replace(category=surface if surfaces else None))
        return part(matches, 0, min(first or 3000, 3000))
    path = find(options, "atp.parquet")
    if path is None:
        return None
    more = {"category": "surface"} if surfaces else {}
    matches = jr.read(path, time="t", drop="walkover", sort=False, **more).matches
    return part(matches, 0, min(first or len(matches.score), len(matches.score)))


def system_of(matches):
    surfaces = matches.context.category is not None
    categories = int(matches.context.category.max()) + 1 if surfaces else 1
    return jr.skills(categories=categories, **FITTED, **(SURFACES if surfaces else {}))


def timed(call, rounds=2):
    """The best seconds, those of the first call, and what comes out."""
    seconds = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        found = call()
        jax.block_until_ready(found.state)
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds[1:]), "first_seconds": seconds[0]}, found


def part_size(options):
    """Seconds and memory by the length of a history."""
    rows = []
    histories = {}
    for n in (1_000, 3_000) if options.quick else (10_000, 100_000, 1_000_000, 3_000_000):
        histories[f"league of {n:,}"] = partial(lambda n: league(max(n // 50, 20), n, activity=0.8).matches, n)
    for surfaces in (False, True):
        histories["tennis with surfaces" if surfaces else "tennis"] = partial(tennis, options, surfaces)
    for name, make in histories.items():
        matches = make()
        if matches is None:
            continue
        jax.clear_caches()
        forget_peak()
        before = resident("VmRSS")
        row, found = timed(partial(jr.smooth, system_of(matches), matches))
        n = len(matches.score)
        row = {"history": name, "matches": n, "numbers_a_player": system_of(matches).traits.smoothed.size} | row
        row |= {"sweeps": found.sweeps, "microseconds_a_match": 1e6 * row["seconds"] / n}
        rows.append(row | {"mb_at_most": resident("VmHWM"), "mb_before": before})
    return {"by length": rows}


def part_sweeps(options):
    """Sweeps until no mean moves by more than 0.001 deviations, by how sites are renewed, all at once in each."""
    rows, matches = [], tennis(options, first=100_000)
    if matches is None:
        return None
    for name, some in (("wins", matches), ("nfl margins", None)):
        if some is None:
            data = jr.datasets.nfl()
            system, some = jr.skills("margin", margin=data.margin, seasons=data.seasons, compression=10.0), data.matches
        else:
            system = system_of(some)
        row = {"history": name, "matches": len(some.score), "mixed": jr.smooth(system, some).sweeps}
        for damping in (1.0, 0.8):
            row[f"damped {damping}"] = plain_sweeps(system, some, damping)
        rows.append(row)
    return {"sweeps": rows}


def plain_sweeps(system, matches, damping, most=400):
    """How many without mixing."""
    model, num_players = system.traits.smoothed, int(matches.player.max()) + 1
    lines = timelines(matches, num_players, model.seasons, model.size)
    made = jax.jit(partial(problem, model))(system.params, lines)

    @jax.jit
    def sweep(made, lines, site):
        nodes = Site(*(at_nodes(x, lines) for x in site))
        cavity, _ = backwards(made.way, forwards(model, made.constants, made.way, nodes)[0], nodes)
        here = Strength(None, *(at_players(x, lines) for x in cavity[1:]))
        new = told(model, made.constants, met(here, made.offset), lines.events)
        return jax.tree.map(lambda x, y: x + damping * (y - x), site, new), here

    zero = jnp.zeros(lines.place.shape)
    site, n = Site(zero, zero), len(matches.score)
    before = np.inf
    for count in range(1, most):
        site, here = sweep(made, lines, site)
        mean, deviation = np.asarray(here.mean)[:, :n], np.sqrt(np.asarray(here.variance)[:, :n])
        if np.max(np.abs(mean - before) / deviation) <= 1e-3:
            return count
        before = mean
    return None


def part_peers(options):
    """The same model by other packages: wins, one number a player that drifts, all to about the same change."""
    n = 1_000 if options.quick else 20_000
    matches = tennis(options, first=n)
    if matches is None:
        return None
    system = jr.skills(
        noise=2.0**0.5, initial_rating=0, initial_deviation=SIGMA, growth=GAMMA, period=1.0, deviation_max=1e4
    )
    row, found = timed(partial(jr.smooth, system, matches))
    rows = [{"package": "jaxrate", "matches": n, "sweeps": found.sweeps} | row]
    if options.trueskillthroughtime:
        rows.append(by_ttt(matches, found))
    if options.kickscore:
        rows.append(by_kickscore(part(matches, 0, n // 10)))
    each = rows[0]["seconds"] / n
    for other in rows[1:]:
        if "seconds" in other:
            other["times_jaxrate_by_match"] = other["seconds"] / other["matches"] / each
    return {"beside others": rows}


def by_ttt(matches, found):
    import trueskillthroughtime as ttt

    teams = [[[str(a)], [str(b)]] for a, b in matches.player.tolist()]
    results = [[float(s), 1.0 - float(s)] for s in matches.score]
    start = time.perf_counter()
    history = ttt.History(
        teams, results, [int(t) for t in matches.time], sigma=SIGMA, gamma=GAMMA, beta=1.0, p_draw=0.0
    )
    _, sweeps = history.convergence(epsilon=3e-4, iterations=100, verbose=False)
    seconds = time.perf_counter() - start
    then = {name: dict(curve) for name, curve in history.learning_curves().items()}
    mean, deviation = (np.asarray(x) for x in found.rating)
    wanted = [[then[str(x)][int(t)].mu for x in pair] for pair, t in zip(matches.player, matches.time, strict=True)]
    off = (np.array(wanted) - mean) / deviation
    return {
        "package": "trueskillthroughtime",
        "matches": len(teams),
        "sweeps": int(sweeps),
        "seconds": seconds,
        "greatest_difference_in_deviations": float(np.max(np.abs(off))),
    }


def by_kickscore(matches):
    """A Wiener process there begins at the same time for all, so numbers are not the same; it gets fewer matches."""
    import kickscore as ks

    start, begin = time.perf_counter(), float(matches.time[0])
    model = ks.BinaryModel(obs_type="probit")
    for player in np.unique(matches.player).tolist():
        kernel = ks.kernel.Constant(var=SIGMA**2 / 2) + ks.kernel.Wiener(var=GAMMA**2 / 2, t0=begin)
        model.add_item(str(player), kernel=kernel)
    for (a, b), score, when in zip(matches.player.tolist(), matches.score, matches.time, strict=True):
        won, lost = (str(a), str(b)) if score > 0.5 else (str(b), str(a))
        model.observe(winners=[won], losers=[lost], t=float(when))
    try:
        converged = model.fit(tol=1e-3, max_iter=100)
    except np.linalg.LinAlgError as error:
        return {"package": "kickscore", "matches": len(matches.score), "failed": str(error)}
    seconds = time.perf_counter() - start
    return {"package": "kickscore", "matches": len(matches.score), "seconds": seconds, "converged": bool(converged)}


def part_held_out(options):
    """A random tenth of the matches is predicted from all others, and by the filter from those before."""
    rows = []
    for surfaces in (False, True):
        matches = tennis(options, surfaces)
        if matches is None:
            return None
        random = np.random.default_rng(0)
        out = random.random(len(matches.score)) < 0.1
        context = matches.context._replace(weight=np.where(out, LITTLE, 1.0))
        known, system = matches._replace(context=context), system_of(matches)
        without = system.make(**system.settings, **(system.params._asdict() | {"experience": None}))
        for name, used in (("fitted", system), ("without experience", without)):
            filtered, smoothed = (np.asarray(x(used, known).prediction, float)[out] for x in (jr.run, jr.smooth))
            score = matches.score[out]
            each = [-np.log(np.where(score > 0.5, x, 1.0 - x)) for x in (filtered, smoothed)]
            rows.append(
                {
                    "surfaces": surfaces,
                    "hyperparameters": name,
                    "held_out": int(out.sum()),
                    "filter_log_loss": float(log_loss(filtered, score)),
                    "hindsight_log_loss": float(log_loss(smoothed, score)),
                    "error_of_difference": float(np.std(each[0] - each[1]) / out.sum() ** 0.5),
                }
            )
    return {"held-out matches": rows}


def part_drift(options):
    """Leagues whose skills drift as the model says: errors of means, and what 95 % intervals cover."""
    rows = []
    n = 3_000 if options.quick else 100_000
    for players, growth in ((50, 12.0), (50, 40.0), (500, 12.0)):
        random = np.random.default_rng(players)
        player = random.integers(0, players, n)
        player = np.stack([player, (player + random.integers(1, players, n)) % players], axis=1)
        when = np.arange(n) / players
        drift = growth * random.normal(size=(n, players)) * (1.0 / players / 7.0) ** 0.5
        skill = np.cumsum(drift, axis=0) + random.normal(0, 150, players)
        truth = np.take_along_axis(skill, player, axis=1) + 1500.0
        score = random.random(n) < ndtr((truth[:, 0] - truth[:, 1]) / 300.0)
        system, matches = jr.skills(growth=growth, deviation_max=1e4), jr.matches(player, score, when)
        row = {"players": players, "matches": n, "growth": growth}
        middle = slice(n // 5, -(n // 5))
        for name, rating in (
            ("filter", jr.history(system, matches, after=True).after),
            ("hindsight", jr.smooth(system, matches).rating),
        ):
            mean, deviation = (np.asarray(x, float) for x in rating)
            error = (mean - truth)[middle]
            lead = error[:, 0] - error[:, 1]
            spread = np.sqrt((deviation[middle] ** 2).sum(axis=1))
            row[f"{name}_error_of_lead"] = float(np.sqrt(np.mean(lead**2)))
            row[f"{name}_covered"] = float(np.mean(np.abs(lead) < 1.96 * spread))
        rows.append(row)
    return {"drifting leagues": rows}


PARTS = {
    "size": part_size,
    "sweeps": part_sweeps,
    "peers": part_peers,
    "held_out": part_held_out,
    "drift": part_drift,
}


def main():
    parser = declare(__doc__, "small leagues, seconds in all", "atp.parquet")
    add_only(parser, PARTS, "PART")
    options = parse(parser, __file__)
    look_for(options, *PEERS)
    keep(PARTS, options)


if __name__ == "__main__":
    main()
