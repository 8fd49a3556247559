"""Hindsight: how fast, in how many sweeps, how near to the truth, and beside other packages.

    python experiments/smoothing.py                 # minutes; writes experiments/results/smoothing.json
    python experiments/smoothing.py --only peers    # only a part; the others stay in the file
    python experiments/smoothing.py --quick         # seconds, on small leagues; writes nothing unless --out is given

Every time is the best of two calls after the first, which compiles, to a change of at most 0.001 deviations. Other
packages run once. Held-out matches count with a weight of 1e-9, so that they say nothing. Without the file of ATP
tennis parts that need it are skipped.
"""

import gc
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
from common import call_alone, forget_peak, measure, resident, timed
from histories import tennis
from scipy.special import ndtr

import jaxrate as jr
from jaxrate import parts
from jaxrate.data.simulate import league
from jaxrate.events import slice_events
from jaxrate.metrics.prediction_metrics import log_loss
from jaxrate.smoothing.expectation_propagation import (
    compute_sites,
    predict_and_find_cavities,
    predictor_variances,
    prepare_sweep,
    uninformative_sites,
)
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.smoothing.timelines import build_timelines
from jaxrate.systems.glicko import Q
from jaxrate.systems.skills.rules import find_smoothing_model
from jaxrate.systems.skills.system import skills_by_name

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.reference.whole_history_twin import WholeHistory

PEERS = "trueskillthroughtime", "kickscore"
# Fitted to tennis from 2000 to 2011, for KDD'19's protocol.
FITTED = {"growth": 9.6, "initial_deviation": 136.0, "match_growth": 9.1, "experience": 81.0}
SURFACES = {"modifier_growth": 2.8, "initial_modifier_deviation": 45.0}
SIGMA, GAMMA = 1.6, 0.036  # units of beta, and per square root of a day
LITTLE = 1e-9
QUICK_MATCHES = 1_000


def first_of(matches, most):
    return matches and slice_events(matches, 0, min(most or len(matches.score), len(matches.score)))


def system_of(matches):
    surfaces = matches.context.category is not None
    categories = int(matches.context.category.max()) + 1 if surfaces else 1
    return skills_by_name(categories=categories, **FITTED, **(SURFACES if surfaces else {}))


def best_of_two(call):
    """The best seconds, those of the first call, and what comes out."""
    (_, first), *later = [timed(lambda: call().state) for _ in range(3)]
    return {"seconds": min(x["seconds"] for _, x in later), "first_seconds": first["seconds"]}, call()


def part_size(options):
    """Seconds and memory by the length of a history, each in a process of its own."""
    every = "10000", "100000", "1000000", "10000000", "tennis", "tennis with surfaces"
    rows = []
    for name in ("1000",) if options.quick else every:
        rows += filter(None, [call_alone(of_length, name, options.data)])
    if not options.quick:
        picture(rows, options.out.parent / "smoothing_cost.png")
    return {"by length": rows}


def of_length(name, data):
    """The row of one history, in this process; None where there is no file."""
    if name.isdigit():
        matches = league(max(int(name) // 50, 20), int(name), activity=0.8).matches
    else:
        matches = tennis(SimpleNamespace(quick=False, data=data), surfaces="surfaces" in name)
    if matches is None:
        return None
    gc.collect()
    forget_peak()
    before, system, n = resident("VmRSS"), system_of(matches), len(matches.score)
    row, found = best_of_two(partial(smooth_events, system, matches))
    title = f"league of {n:,}" if name.isdigit() else name
    row = {"history": title, "matches": n, "numbers_a_player": find_smoothing_model(system).size} | row
    row |= {"sweeps": found.sweeps, "microseconds_a_match": 1e6 * row["seconds"] / n}
    return row | {"mb_at_most": resident("VmHWM"), "mb_before": before}


def picture(rows, path):
    """Seconds by matches, both by logarithms, beside a line of slope one."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    leagues, others = ([x for x in rows if x["history"].startswith("league") == y] for y in (True, False))
    n = np.array([x["matches"] for x in leagues])
    each = np.median([x["microseconds_a_match"] for x in leagues]) * 1e-6
    axes.loglog(n, each * n, color="0.7", label=f"{1e6 * each:.1f} microseconds a match")
    axes.loglog(n, [x["seconds"] for x in leagues], "o", label="simulated leagues")
    for row, marker in zip(others, "s^", strict=False):
        axes.loglog(row["matches"], row["seconds"], marker, label=row["history"])
    axes.set(xlabel="matches", ylabel="seconds to convergence", title="Hindsight by the length of a history")
    axes.legend()
    figure.savefig(path, dpi=110)


def part_whole_history(options):
    """Whole-history rating's joint maximum, by its twin: tennis by weeks, and how far the means of hindsight are."""
    matches = first_of(tennis(options), 20_000 if options.quick else None)
    if matches is None:
        return None
    start, week = time.perf_counter(), np.floor(matches.time / 7)
    twin = WholeHistory(matches.player, matches.score, week, 7 * 0.0003, 1.5**2)
    best = twin.maximum(steps=6, tolerance=1e-4)
    seconds = time.perf_counter() - start
    growth, deviation = (0.0003 * 7) ** 0.5 / Q, 1.5 / Q
    system = jr.skills(
        parts.skill(growth=growth, initial_deviation=deviation, deviation_max=1e5), observe=parts.logistic(), period=7.0
    )
    found = smooth_events(system, matches._replace(time=7 * week))
    off = np.asarray(found.rating.mean) - 1500.0 - best[twin.node].T / Q
    row = {"matches": len(matches.score), "nodes": len(twin.who), "newton_steps": 6, "seconds": seconds}
    row["log_posterior"] = twin.log_posterior(best)
    row["slope_at_most"] = float(np.abs(twin.slope(best)).max())
    row["mean_off_in_points"] = float(np.mean(off))
    row["spread_of_off_in_points"] = float(np.std(off))
    row["spread_of_off_in_deviations"] = float(np.std(off / np.asarray(found.rating.deviation)))
    return {"whole-history rating": [row]}


def part_sweeps(options):
    """Sweeps until no mean moves by more than 0.001 deviations, by how sites are renewed, all at once in each."""
    rows, matches = [], first_of(tennis(options), 100_000)
    if matches is None:
        return None
    for name, some in (("nfl margins", None),) if options.quick else (("wins", matches), ("nfl margins", None)):
        if some is None:
            data = jr.data.datasets.nfl()
            system = jr.skills(parts.seasons(data.seasons), observe=parts.margin(*data.margin, compression=10.0))
            some = slice_events(data.matches, 0, QUICK_MATCHES) if options.quick else data.matches
        else:
            system = system_of(some)
        row = {"history": name, "matches": len(some.score), "mixed": smooth_events(system, some).sweeps}
        for damping in (0.8,) if options.quick else (1.0, 0.8):
            row[f"damped {damping}"] = plain_sweeps(system, some, damping)
        rows.append(row)
    return {"sweeps": rows}


def plain_sweeps(system, matches, damping, most=400):
    """How many without mixing."""
    model, num_players = find_smoothing_model(system), int(matches.player.max()) + 1
    lines, _ = build_timelines(matches, num_players, model)
    made = jax.jit(partial(prepare_sweep, model))(system.params, lines)

    @jax.jit
    def sweep(made, lines, site):
        cavity = predict_and_find_cavities(model, made, lines, site)[1]
        new, _ = compute_sites(model, made, lines, cavity)
        return jax.tree.map(lambda x, y: x + damping * (y - x), site, new), cavity

    site, played = uninformative_sites(model, lines), np.asarray(lines.is_participant)
    before = np.inf
    for count in range(1, most):
        site, cavity = sweep(made, lines, site)
        mean, deviation = np.asarray(cavity.mean)[played], np.sqrt(np.asarray(predictor_variances(cavity))[played])
        if np.max(np.abs(mean - before) / deviation) <= 1e-3:
            return count
        before = mean
    return None


def part_peers(options):
    """The same model by other packages: wins, one number a player that drifts, all to about the same change."""
    n = 1_000 if options.quick else 20_000
    matches = first_of(tennis(options), n)
    if matches is None:
        return None
    system = jr.skills(
        parts.skill(initial_rating=0, initial_deviation=SIGMA, growth=GAMMA, deviation_max=1e4),
        observe=parts.result(noise=2.0**0.5),
        period=1.0,
    )
    row, found = best_of_two(partial(smooth_events, system, matches))
    rows = [{"package": "jaxrate", "matches": n, "sweeps": found.sweeps} | row]
    if options.trueskillthroughtime:
        rows.append(by_ttt(matches, found))
    if options.kickscore:
        rows.append(by_kickscore(slice_events(matches, 0, n // 10)))
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
    for surfaces in (True,) if options.quick else (False, True):
        matches = tennis(options, surfaces)
        if matches is None:
            return None
        random = np.random.default_rng(0)
        out = random.random(len(matches.score)) < 0.1
        context = matches.context._replace(weight=np.where(out, LITTLE, 1.0))
        known, system = matches._replace(context=context), system_of(matches)
        without = system.make(**system.settings, **(system.params._asdict() | {"experience": None}))
        ways = ("fitted", system), ("without experience", without)
        for name, used in ways[:1] if options.quick else ways:
            filtered, smoothed = (np.asarray(x(used, known).prediction, float)[out] for x in (jr.run, smooth_events))
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
                    "filter_calibration": jr.metrics.calibration(filtered, score).error,
                    "hindsight_calibration": jr.metrics.calibration(smoothed, score).error,
                }
            )
    return {"held-out matches": rows}


def part_drift(options):
    """Leagues whose skills drift as the model says: errors of means, and what 95% intervals cover."""
    rows = []
    n = 1_000 if options.quick else 100_000
    for players, growth in ((50, 12.0), (50, 40.0), (500, 12.0))[: 1 if options.quick else None]:
        random = np.random.default_rng(players)
        player = random.integers(0, players, n)
        player = np.stack([player, (player + random.integers(1, players, n)) % players], axis=1)
        when = np.arange(n) / players
        drift = growth * random.normal(size=(n, players)) * (1.0 / players / 7.0) ** 0.5
        skill = np.cumsum(drift, axis=0) + random.normal(0, 150, players)
        truth = np.take_along_axis(skill, player, axis=1) + 1500.0
        score = random.random(n) < ndtr((truth[:, 0] - truth[:, 1]) / 300.0)
        system, matches = jr.skills(parts.skill(growth=growth, deviation_max=1e4)), jr.matches(player, score, when)
        row = {"players": players, "matches": n, "growth": growth}
        middle = slice(n // 5, -(n // 5))
        for name, rating in (
            ("filter", jr.history.rating_history(system, matches, after=True).after),
            ("hindsight", smooth_events(system, matches).rating),
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
    "whole_history": part_whole_history,
    "sweeps": part_sweeps,
    "peers": part_peers,
    "held_out": part_held_out,
    "drift": part_drift,
}


if __name__ == "__main__":
    measure(PARTS, "small leagues, seconds in all", "atp.parquet", PEERS)
