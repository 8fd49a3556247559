"""Category Glicko on real histories, beside Glicko; the length of its periods; and how fast it is.

    python experiments/category_glicko.py           # some minutes; writes experiments/results/category_glicko.json
    python experiments/category_glicko.py --quick   # seconds, on simulated ones; writes nothing unless --out is given

The length of the periods is chosen on StarCraft II (races), where the deviations grow with the time that passes however
it is cut: log loss one step ahead. At that length both systems are fitted by slopes, on the first half of StarCraft II,
and weekly on ten years of ATP tennis (the surface as the category of both players), and scored on the last half of the
history. The league has 10,000 players and 500 periods.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from common import circumstances, declare, find, parse, race, show, write
from scipy.optimize import minimize

import jaxrate as jr
from jaxrate.events import slice_events

LENGTHS = 1, 2, 3, 5, 7, 10, 14, 21, 28, 42, 60
VARIANTS = ("probit", "mode"), ("probit", "map"), ("logistic", "map")  # outcomes and expansions
SITE = 14.0  # days in a period of aligulac.com, by which deviations grow
FITTED = {
    "glicko": {"initial_deviation": "deviation_max", "c": None},
    "category_glicko": {
        "initial_deviation": "deviation_max",
        "initial_modifier_deviation": "modifier_deviation_max",
        "growth": None,
        "match_weight": None,
    },
}


def league(matches, players=10_000, periods=500, categories=3, seed=0):
    """Players of one category each, with a modifier against each; every period has its share of the matches."""
    random = np.random.default_rng(seed)
    first = random.integers(0, players, matches)
    player = np.stack([first, (first + random.integers(1, players, matches)) % players], axis=1)
    strength, modifier = random.normal(0, 0.5, players), random.normal(0, 0.2, (players, categories))
    modifier -= modifier.mean(axis=1, keepdims=True)
    category = random.integers(0, categories, players)[player]
    mine, other = (strength[p] + modifier[p, c] for p, c in zip(player.T, category.T[::-1], strict=True))
    score = (random.normal(size=matches) < mine - other).astype(float)
    time = np.floor(np.arange(matches) * (periods / matches)) * SITE
    return jr.matches(player, score, time, category=category)


def quality(prediction, score):
    p = np.asarray(prediction)
    return {"log_loss": jr.metrics.log_loss(p, score), "accuracy": jr.metrics.accuracy(p, score)}


def sweep(matches, lengths):
    """Log losses on the last half, by the length of the periods; growth is per 14 days throughout."""
    half, rows = len(matches.score) // 2, []
    for length in lengths:
        events = jr.periods(matches, float(length))._replace(length=None)  # growth is per 14 days
        row = {"days": length, "periods": len(events.player_start) - 1}
        for name, system in {
            "glicko": jr.glicko(period=SITE),
            "probit_mode": jr.category_glicko(),
            "logistic_map": jr.category_glicko(outcome="logistic", expansion="map"),
            "modifiers_of_60": jr.category_glicko(initial_modifier_deviation=60, modifier_deviation_max=60),
        }.items():
            guess = jr.run(system, events).prediction[half:]
            row[name] = quality(guess, matches.score[half:])["log_loss"]
        rows.append(row)
    return rows


def fit(system, events, score, limit):
    """Hyperparameters of the least log loss of these periods, by their slopes; no bound but that of newcomers."""
    names = FITTED[system.name]
    start = system.params._replace(deviation_min=None)
    begin = np.log([float(getattr(start, name)) for name in names])
    schedule, won = jr.extend.schedule_by_level(events), jnp.asarray(score, float)

    def params(x):
        values = dict(zip(names, jnp.exp(x), strict=True))
        return start._replace(**values, **{bound: values[name] for name, bound in names.items() if bound})

    def loss(x):
        p = jr.run(system, events, params=params(x), schedule=schedule).prediction
        return (-jnp.mean(won * jnp.log(p) + (1.0 - won) * jnp.log1p(-p)),) * 2

    def both(x):
        slopes, value = jax.jacfwd(loss, has_aux=True)(jnp.asarray(x, float))
        return float(value), np.asarray(slopes, float)

    found = minimize(both, begin, jac=True, method="L-BFGS-B", options={"maxiter": limit, "maxfun": 2 * limit})
    return jax.tree.map(float, params(jnp.asarray(found.x))), found.nfev


def compare(name, matches, learnt, length, unit, categories, limit):
    """Both systems as they come and fitted to `learnt`; log loss on the last half of all; growth is per unit."""
    half, rows = len(matches.score) // 2, []
    in_periods = lambda events: jr.periods(events, length)._replace(length=None)  # noqa: E731 (growth is per unit)
    events, learning = in_periods(matches), in_periods(learnt)
    single = matches._replace(context=matches.context._replace(category=None))
    rated = jr.run(jr.glicko(period=unit), single).prediction[half:]
    rows.append(
        {"history": name, "days": length, "system": "glicko, match by match", **quality(rated, matches.score[half:])}
    )
    for system in (jr.glicko(period=unit), jr.category_glicko(categories, period=unit)):
        defaults = quality(jr.run(system, events).prediction[half:], matches.score[half:])
        rows.append({"history": name, "system": system.name, "params": "defaults", **defaults})
        params, evaluations = fit(system, learning, learnt.score, limit)
        fitted = quality(jr.run(system, events, params=params).prediction[half:], matches.score[half:])
        found = {key: getattr(params, key) for key in FITTED[system.name]}
        rows.append({"history": name, "system": system.name, "params": "fitted", **fitted, **found})
        rows[-1]["evaluations"] = evaluations
        if system.name == "category_glicko":
            alone, one = jr.category_glicko(1, period=unit), in_periods(single)
            none = quality(jr.run(alone, one, params=params).prediction[half:], matches.score[half:])
            rows.append({"history": name, "system": "the same with one category", "params": "fitted", **none})
        show({f"{name}, so far": rows})
    return rows


def speed(sizes, rounds, variants):
    rows = []
    for matches in sizes:
        played = jr.periods(league(matches), SITE)
        schedule = jr.extend.schedule_by_level(played)

        def rate(system, played=played, schedule=schedule):
            return jr.run(system, played, schedule=schedule)

        calls = {
            f"{outcome}, {expansion}": lambda o=outcome, e=expansion, rate=rate: rate(jr.category_glicko(3, o, e))
            for outcome, expansion in variants
        }
        calls["glicko"] = lambda rate=rate: rate(jr.glicko(period=SITE))
        rows += race(calls, matches, rounds, cold=("probit, mode",)).values()
    return rows


def main():
    options = parse(declare(__doc__, "simulated histories, some parts only", "the histories"), __file__)
    if not options.quick and not find(options, "sc2_tlpd_korean.parquet", "nothing to do"):
        return
    report, data = circumstances(), Path(options.data)
    if options.quick:
        matches = league(2000, players=100, periods=20)
        results = {"speed": speed([2000], 1, VARIANTS[:1])}
        results["log loss"] = compare("league", matches, slice_events(matches, 0, 1000), SITE, SITE, 3, 1)
    else:
        races = jr.read(data / "sc2_tlpd_korean.parquet", category=("race_a", "race_b")).matches
        tennis = jr.read(data / "atp.parquet", time="t", drop="walkover", category="surface")
        time = tennis.matches.time
        years = [np.searchsorted(time, np.datetime64(f"{year}-01-01").astype(int)) for year in (2000, 2010)]
        results = {"speed": speed([500_000, 2_000_000, 8_000_000], 3, VARIANTS), "period": sweep(races, LENGTHS)}
        show(results)
        some = slice_events(tennis.matches, *years)
        days = float(min(results["period"], key=lambda row: row["probit_mode"])["days"])
        results["log loss"] = compare(
            "StarCraft II", races, slice_events(races, 0, len(races.score) // 2), days, SITE, 3, 30
        )
        results["log loss"] += compare("ATP tennis", tennis.matches, some, 7.0, 7.0, len(tennis.categories), 12)
    show(results)
    write(options.out, report, results, 6)


if __name__ == "__main__":
    main()
