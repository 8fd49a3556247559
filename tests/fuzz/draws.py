"""Hostile hyperparameters, states and histories, each within what it may be."""

import math

import jax
import jax.numpy as jnp
import numpy as np

import jaxrate as jr
from jaxrate.systems.blat_mmr.system import MAX_WEIGHTS
from jaxrate.systems.weng_lin import MODELS

WILDEST = 1e3  # volatility that Glicko-2 gives to somebody

SEASONS = {"seasons": (-1e9, 0.0, 1e9)}
STATIC = {
    "category_glicko": ({}, {"categories": 1}, {"outcome": "logistic"}, {"expansion": "map"}),
    "blat_mmr": (
        {"size": 31, "half_width": 3.0, "kernel_width": 0.4},
        {"luck": "trueskill(0.1)", "size": 31, "half_width": 3.0, "algorithm": "fft", "kernel_width": 0.4},
        {"luck": "laplace", "size": 15, "half_width": 3.0, "kernel": "laplace", "kernel_width": 0.9},
        {"size": 31, "half_width": 3.0, "kernel": "gaussian_by_time", "kernel_width": 0.4},
    ),
    "elo_mmr": ({"history": 2}, {"history": 3, "split_ties": True}, {"history": 2, "newcomer": (1e-3, 1e3)}),
    "elo_mmx": ({}, {"split_ties": True}, {"newcomer": (1e-3, 1e3)}),
    "codeforces": ({}, {"skip_ties": True}),
    "elo": ({}, SEASONS),
    "glicko": ({}, SEASONS),
    "glicko2": ({}, SEASONS),
    "trueskill": ({}, {"sweeps": 1}, SEASONS),
    "weng_lin": tuple({"model": model} for model in MODELS),
    "skills": (
        {"own_side": True, "experience": 20.0} | SEASONS,
        {"outcome": "margin", "form_deviation": 60.0},
        {"outcome": "margin", "statistics": ("xg", "shots"), "experience": 20.0} | SEASONS,
        {"statistics": ("xg",), "form_deviation": 60.0},
        {"outcome": "points", "margin": ("ga", "gb"), "own_side": True, "experience": 20.0} | SEASONS,
        {"outcome": "goals", "margin": ("ga", "gb")} | SEASONS,
        {"outcome": "goals", "margin": ("ga", "gb"), "expected_goals": ("xa", "xb"), "own_side": True},
    ),
    "urnings": ({}, {"outcomes": 3, "estimate": "share"}, {"outcomes": 3, "weights": (1, 2, 1), "variant": "U1"}),
}
FIXED = {"blat_mmr": ("beta", "temperature", "kernel_width")}  # its taps and nodes are cut for these
FIELD = ("elo_mmr", "elo_mmx", "codeforces", "topcoder")  # deviations of 1 to 2000, and ratings in proportion
LOWEST, HIGHEST = -1e5, 1e5  # of these ratings
SIZES = (65, 2, 1, 300, 9, 5)  # of contests
TEAMS = (5, 2, 1, 12, 9, 5)
PLAYERS = 320
WIDEST_STEP = 10.0  # weight of matches whose steps have no bound: ratings grow by it 16 times, and stay in float32


def magnitude(random, centre=1.0):
    return abs(centre or 1.0) * 10.0 ** random.uniform(-6.0, 6.0)


def value(random, about, default):
    """A value of a hyperparameter: its default, a border, or one of any size."""
    range_, kind = about.range, random.integers(4)
    if kind == 0 and default is not None:
        return default
    if range_.allows_inf and kind == 1:
        return math.inf
    if math.isfinite(range_.high) and math.isfinite(range_.low):
        ends = range_.low + 1e-6 * range_.above, range_.high - 1e-6 * range_.below
        return (*ends, random.uniform(*ends))[random.integers(3)]
    if range_.low == -math.inf:
        return random.choice([-1.0, 0.0, 1.0]) * magnitude(random, default)
    if kind == 1 and not range_.above:
        return range_.low
    number = magnitude(random, default)
    return float(np.clip(round(number), 2, 1e9)) if range_.whole else range_.low + number


def switched_off(random, system):
    """The hyperparameters that are None."""
    optional = (name for name, about in system.space._asdict().items() if about.range.optional)
    return tuple(name for name in optional if random.integers(2))


def bounded_for_goals(name, about, number):
    """A hyperparameter by which logs of rates are known to some units: sums of few nodes resolve no more."""
    if about.unit.startswith("points"):
        low = 1.0 if about.space == "positive" else -1e3
        return float(np.clip(number, low, 20.0 if name.endswith("match_growth") else 4e2))
    limits = {"goal_rate": (0.01, 100.0), "expected_goals_noise": (0.05, 1e6), "expected_goals_scale": (0.1, 10.0)}
    return float(np.clip(number, *limits.get(name, (-np.inf, np.inf))))


def settings(random, system, off, tries=200):
    """A system like this one with other hyperparameters, of which `off` are None; what is refused must be named."""
    for _ in range(tries):
        given = {}
        for name, about in system.space._asdict().items():
            default = getattr(system.params, name)
            fixed = name in FIXED.get(system.name, ())
            number = None if name in off else float(value(random, about, default))
            if system.name in FIELD and about.unit == "points" and about.space == "positive" and number is not None:
                number = float(np.clip(number, 1.0, 2000.0))
            if system.name in FIELD and name == "initial_rating":
                number = float(np.clip(number, LOWEST, HIGHEST))
            if system.settings.get("outcome") == "goals" and number is not None:
                number = bounded_for_goals(name, about, number)
            given[name] = default if fixed else number
        for name, about in system.space._asdict().items():
            chain = [x for x in (about.bounds[0], name, about.bounds[1]) if x and given[x] is not None]
            given |= dict(zip(chain, sorted(given[x] for x in chain), strict=True))
        try:
            return system.make(**system.settings, **given)
        except ValueError as error:
            assert str(error).startswith(f"{system.name}: "), f"the refusal does not say whose it is: {error}"
    return None


def spread(random, n, low=-6.0, high=6.0):
    """[n] sizes, alike or of all magnitudes."""
    return 10.0 ** random.uniform(low, high, n if random.integers(2) else (1,)) * np.ones(n)


def state(random, system, n, first):
    """A state of n players whose last events were before the time `first`."""
    fresh = jax.tree.map(np.array, system.init(system.params, n))
    params, changes = system.params, {}
    centre, in_field = getattr(params, "initial_rating", 0.0), system.name in FIELD

    def square(name, low, high):
        bounds = (getattr(params, x, None) for x in (low, high))
        shape = getattr(fresh, name).shape
        drawn = spread(random, math.prod(shape)).reshape(shape)
        drawn = np.clip(drawn, 1.0, 2000.0) if in_field else drawn
        return np.clip(drawn, *(x if x is not None else y for x, y in zip(bounds, (0.0, np.inf), strict=True))) ** 2

    if hasattr(fresh, "rating"):
        rating = centre + spread(random, n) * random.normal(size=n)
        changes["rating"] = np.clip(rating, LOWEST, HIGHEST) if in_field else rating
    if hasattr(fresh, "variance"):
        changes["variance"] = square("variance", "deviation_min", "deviation_max")
    if hasattr(fresh, "modifiers") and fresh.modifiers.shape[1] > 1:
        modifiers = spread(random, n)[:, None] * random.normal(size=fresh.modifiers.shape)
        changes["modifiers"] = modifiers - modifiers.mean(axis=1, keepdims=True)
        changes["modifier_variance"] = square("modifier_variance", "deviation_min", "modifier_deviation_max")
    if hasattr(fresh, "volatility"):
        volatility = np.sqrt(square("volatility", "volatility_min", "volatility_max"))
        changes["volatility"] = np.minimum(volatility, WILDEST)
    if getattr(fresh, "time", None) is not None:
        last = first - spread(random, n, -6.0, 12.0) * random.uniform(size=n)
        changes["time"] = np.where(random.integers(2, size=n), np.inf, last)
    if hasattr(fresh, "games") and fresh.games is not None and not hasattr(fresh, "past"):
        changes["games"] = random.integers(0, 10 ** random.integers(1, 7), n)
    if getattr(fresh, "past", None) is not None:  # of players without a contest: the rest follows from contests
        changes["past"] = fresh.past._replace(mean=changes["rating"], weight=1.0 / changes["variance"])
    if hasattr(fresh, "belief"):
        shape = fresh.belief.shape
        loose = spread(random, n, -2.0, 2.0).reshape(n, *[1] * (len(shape) - 1)) * random.normal(size=shape)
        loose = np.exp(loose - loose.max(axis=-1, keepdims=True))
        changes["belief"] = loose / loose.sum(axis=-1, keepdims=True)
    if hasattr(fresh, "green"):
        changes["size"] = np.maximum(spread(random, n, 0.0, 6.0).astype(np.int32), 2)
        changes["green"] = random.integers(0, changes["size"] + 1)
    for name, x in changes.items():
        changes[name] = jax.tree.map(lambda x, y: np.asarray(x, y.dtype), x, getattr(fresh, name))
    return fresh._replace(**changes)


def times(random, n):
    """[n] on one day, or ages apart."""
    return np.sort(random.choice([0.0, 1e9, -1e9]) + spread(random, 1, -6.0, 9.0) * random.uniform(size=n))


def league(random, system, n):
    """Matches of one player against seven others."""
    player = np.stack([np.zeros(n, int), 1 + np.arange(n) % 7], axis=1)
    score = random.choice([random.integers(0, 3, n) / 2, np.full(n, 0.5), np.ones(n)])
    side = random.choice([np.zeros(n), random.integers(-1, 2, n), random.uniform(-1, 1, n)])
    options = {"side": side, "category": random.integers(0, 3, (n, 2)), "weight": spread(random, n)}
    if str(system.settings.get("model")).startswith("thurstone") and jnp.result_type(float) == jnp.float32:
        # A surprise moves ratings by the weight times itself: beyond the other side, from match to match farther.
        options["weight"] = np.minimum(options["weight"], WIDEST_STEP)
    if system.settings.get("outcome") == "goals":
        options["weight"] = np.minimum(options["weight"], WIDEST_STEP)
    if system.name == "blat_mmr":  # which refuses more
        options["weight"] = np.minimum(options["weight"], MAX_WEIGHTS[jnp.result_type(float).name])
    if system.name == "skills":
        margin = system.settings["margin"] if system.settings["outcome"] in ("margin", "points") else ()
        columns = {name: np.where(score == 0.5, 0.0, spread(random, n, -3.0, 3.0)) for name in margin}
        if system.settings["outcome"] == "goals":
            most, least = np.rint(spread(random, n, -2.0, 3.0)), random.poisson(1.0, n)
            ahead = np.where(score == 0.5, least, least + most)
            pairs = (np.where(score < 0.5, least, ahead), np.where(score < 0.5, ahead, least))
            columns = dict(zip(system.settings["margin"], pairs, strict=True))
            columns |= {name: spread(random, n, -3.0, 3.0) for name in system.settings["expected_goals"]}
        for name in system.settings["statistics"]:
            columns[name] = np.where(random.integers(4, size=n), spread(random, n, -3.0, 3.0), np.nan)
            columns[name] *= random.choice([-1.0, 1.0], n)
        options["columns"] = columns or None
    if system.name == "category_glicko":
        options["category"] %= system.settings["categories"]
    if system.name == "urnings":
        del options["weight"]
        score = score if system.settings["outcomes"] == 3 else np.floor(score)
    return jr.matches(player, score, times(random, n), **options)


def contests(random, system):
    """Rounds of which player 0 takes part in every one; in half of them in teams of unequal size."""
    columns, in_teams = [], "teams" in system.features and random.integers(2)
    day = times(random, len(SIZES))
    for i, (size, count) in enumerate(zip(SIZES, TEAMS, strict=True)):
        player = np.append(0, 1 + random.permutation(PLAYERS - 1)[: size - 1])
        rank = random.choice([np.zeros(size), np.arange(size), random.integers(0, 4, size)])
        team = np.arange(size)
        if in_teams:
            team = np.append(np.arange(count), random.integers(0, random.integers(1, count + 1), size - count))
            rank = rank[team]
        weight = spread(random, size, -3.0, 3.0) if "teams" in system.features else np.full(size, magnitude(random))
        ceiling = random.choice([math.inf, random.uniform(LOWEST, HIGHEST)])
        columns.append([np.full(size, i), player, rank, team, weight, np.full(size, day[i]), np.full(size, ceiling)])
    contest, player, rank, team, weight, time, ceiling = (np.concatenate(x) for x in zip(*columns, strict=True))
    options = {"team": team} if "teams" in system.features else {}
    if system.name == "skills":
        n = len(player)
        margin = system.settings["margin"] if system.settings["outcome"] == "margin" else ()
        one_of_team = (np.searchsorted(contest, contest) + team).astype(int)
        further = dict.fromkeys(margin, spread(random, n, -3.0, 3.0)[one_of_team])
        if system.settings["own_side"]:
            further["side"] = random.integers(-1, 2, n)[one_of_team]
        for name in system.settings["statistics"]:
            further[name] = np.where(random.integers(4, size=n), spread(random, n, -3.0, 3.0), np.nan)
        options |= {"columns": further or None, "category": random.integers(0, 3, n)}
    return jr.rounds(contest, player, rank, weight=weight, time=time, ceiling=ceiling, **options)
