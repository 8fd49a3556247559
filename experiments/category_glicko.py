"""Category Glicko on real histories, beside Glicko; its periods, and which variances grow; races; and how fast it is.

    python experiments/category_glicko.py           # minutes; writes a picture and JSON to experiments/results
    python experiments/category_glicko.py --quick   # on simulated histories; writes nothing unless --out is given

The length of the periods is chosen on StarCraft II (races), where the deviations grow with the time that passes however
it is cut: log loss one step ahead. At that length both systems are fitted by slopes, on the first half of StarCraft II,
and weekly on ten years of ATP tennis (the surface as the category of both players), and scored on the last half of the
history. The league has 10,000 players and 500 periods.

The paper lets only those variances grow that were not played in a period; by default here all grow with the time that
passes. "growth" has both, fitted to the first half of StarCraft II by periods of two lengths, and scored on the last
half. "balance" is that of its races over time, by TrueSkill, in which the match-up is a team-mate of the race that it
is named after, with a rating that begins at 0.
"""

import jax
import jax.numpy as jnp
import numpy as np
from common import fit_options, log_losses, mean_and_error, measure, race
from figures import plt, save
from histories import read_history
from scipy.optimize import minimize

import jaxrate as jr
from jaxrate.events import slice_events

LENGTHS = 1, 2, 3, 5, 7, 10, 14, 21, 28, 42, 60
VARIANTS = ("probit", "mode"), ("probit", "map"), ("logistic", "map")  # outcomes and expansions
BEST = 7.0  # days, the best of these by `part_period`
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


def part_period(options):
    """Log losses on the last half, by the length of the periods; growth is per 14 days throughout."""
    if options.quick or not (found := races(options)):
        return None
    matches = found[0]
    half, rows = len(matches.score) // 2, []
    for length in LENGTHS:
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
    return {"log loss by the length of periods": rows}


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
    return rows


def part_losses(options):
    """Both systems on two histories."""
    if options.quick:
        matches = league(2000, players=100, periods=20)
        return {"log loss": compare("league", matches, slice_events(matches, 0, 1000), SITE, SITE, 3, 1)}
    rows = []
    if found := races(options):
        matches = found[0]
        learnt = slice_events(matches, 0, len(matches.score) // 2)
        rows += compare("StarCraft II", matches, learnt, BEST, SITE, 3, 30)
    if data := read_history(options, "tennis", category="surface"):
        days = [np.datetime64(f"{year}-01-01").astype(int) for year in (2000, 2010)]
        learnt = slice_events(data.matches, *np.searchsorted(data.matches.time, days))
        rows += compare("ATP tennis", data.matches, learnt, 7.0, 7.0, len(data.categories), 12)
    return {"log loss": rows}


def part_speed(options):
    """Seconds of leagues of several lengths."""
    rows, variants = [], VARIANTS[: 1 if options.quick else None]
    for matches in (2_000,) if options.quick else (500_000, 2_000_000, 8_000_000):
        played = jr.periods(league(matches), SITE)
        plan = jr.extend.schedule_by_level(played)

        def rate(make, *settings, played=played, plan=plan, **changes):
            return jr.run(make(*settings, **changes), played, schedule=plan)

        calls = {f"{x}, {y}": lambda x=x, y=y, rate=rate: rate(jr.category_glicko, 3, x, y) for x, y in variants}
        calls["glicko"] = lambda rate=rate: rate(jr.glicko, period=SITE)
        rows += race(calls, matches, 1 if options.quick else 3, cold=("probit, mode",)).values()
    return {"speed": rows}


# --- Races. ---

MATCHUPS = {("Protoss", "Terran"): "PvT", ("Terran", "Zerg"): "TvZ", ("Zerg", "Protoss"): "ZvP"}
RACES = "Protoss", "Terran", "Zerg"
FIRST_DAY = np.datetime64("2010-08-03")


def part_growth(options):
    """Log losses on the last half, as they come and fitted to the first, both from where a first fit has ended."""
    if not (history := races(options)):
        return None
    matches, _ = history
    half, rows = len(matches.score) // 2, []
    learnt, score = slice_events(matches, 0, half), np.asarray(matches.score, np.float64)[half:]
    lengths, limit = ([SITE], 1) if options.quick else ((7.0, 14.0), 15)
    for length in lengths:
        events, learning, found = jr.periods(matches, length), jr.periods(learnt, length), {}
        systems = {
            grows: jr.category_glicko(grows=grows, period=length, growth=65.0 * (length / SITE) ** 0.5)
            for grows in ("all", "unplayed")
        }
        begin, _ = fit(systems["all"], learning, learnt.score, limit)
        for grows, system in systems.items():
            defaults = quality(jr.run(system, events).prediction[half:], score)
            params, _ = fit(system._replace(params=begin), learning, learnt.score, limit)
            guess = jr.run(system, events, params=params).prediction[half:]
            found[grows] = log_losses(guess, score)
            fitted = {"fitted": quality(guess, score)["log_loss"], "growth": params.growth}
            rows.append({"days": length, "grows": grows, "defaults": defaults["log_loss"], **fitted})
        rows[-1] |= mean_and_error(found["unplayed"] - found["all"])
    return {"fitted to the first half": rows}


def with_matchups(player, race, score, time):
    """Every match as a round of two teams: a player, and the match-up that is named after their race."""
    rounds = [[[f"player {k}"] for k in pair] for pair in player.tolist()]
    for teams, races in zip(rounds, race.tolist(), strict=True):
        for team, pair in zip(teams, (tuple(races), tuple(races[::-1])), strict=True):
            team += [MATCHUPS[pair]] if pair in MATCHUPS else []
    data = jr.data.from_teams(rounds, np.stack([1 - score, score], axis=1).tolist(), time=time.tolist())
    return data._replace(clock="dates")


def part_balance(options):
    """The ratings of the match-ups, and their picture."""
    if not (history := races(options)):
        return None
    matches, names = history
    time = np.asarray(matches.time) + float(FIRST_DAY.astype(int))
    data = with_matchups(matches.player, names[matches.context.category], np.asarray(matches.score), time)
    system = jr.trueskill(beta=100, tau=0, drift=1, draw_probability=0, initial_rating=0, initial_deviation=100)
    found = jr.fit(system, data, free=("initial_deviation", "drift"), **fit_options(options.quick, 40))
    rated, names = jr.rate(found.system, data), list(MATCHUPS.values())
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), sharey=True)
    rows = []
    for panel, name in zip(panels, names, strict=True):
        jr.plots.trajectory(rated, players=name, ax=panel)
        for text in list(panel.texts):  # the title names the line
            text.remove()
        panel.axhline(0.0, color="black", linewidth=0.8)
        panel.set(title=f"{name}: lead of the first race", ylabel="points (beta = 100)" if name == names[0] else "")
        rating, last = (jr.career(rated, name)[key] for key in ("rating", "deviation"))
        known = rating[len(rating) // 10 :]
        row = {"matches": len(rating), "mean_lead": rating.mean(), "least": known.min(), "most": known.max()}
        row |= {"lead_at_the_end": rating[-1], "deviation_at_the_end": last[-1]}
        rows.append({"match-up": name} | {key: float(x) for key, x in row.items()})
    save({"balance": figure}, options.out, "category")
    fitted = {name: float(getattr(found.params, name)) for name in ("initial_deviation", "drift")}
    return {"match-ups": rows, "fitted": [fitted]}


def races(options):
    """Matches of players with races, and the names of the races."""
    if options.quick:
        return league(300, players=30, periods=10), np.array(RACES)
    data = read_history(options, "starcraft", category=("race_a", "race_b"))
    return data and (data.matches, np.array(RACES)[np.asarray(data.categories)])


PARTS = {"speed": part_speed, "period": part_period, "losses": part_losses}
PARTS |= {"growth": part_growth, "balance": part_balance}

if __name__ == "__main__":
    measure(PARTS, "simulated histories", "sc2_tlpd_korean.parquet and atp.parquet", digits=6)
