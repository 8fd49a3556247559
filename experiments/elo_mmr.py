"""What "An Elo-like system for massive multiplayer competitions" (Ebtekar and Liu 2021) shows, proves and says.

    python experiments/elo_mmr.py           # minutes; writes PNGs and JSON to experiments/results, part by part
    python experiments/elo_mmr.py --quick   # a part of it, on small sets; writes nothing unless --out is given

tables: tables 1, 2 and 3, and figure 1. In tables 2 and 3 all systems have their defaults on every set. The paper
searches the hyperparameters of each system, set and metric on a grid over the first tenth; so does another table here,
on grids of its own, and one has Elo-MMR fitted to it by `jr.fit`. Beside the paper's numbers stand those of the
reference program (the authors', in Rust) from runs on these files with the defaults, except where the notes say
otherwise. Its 100 opponents explain the differences on codeforces2020: Elo-MMR with 100 here gave 78.444 and 14.866.
The paper's TopCoder data set is left out. Contests in which all tie are skipped, as by that program (`skip_ties=True`).
Scored are contests from the tenth part on, and in them whoever had been in five that counted (section 6.3).

The paper's program for TrueSkill is not TrueSkill (its truncated moments have a wrong kernel), and yet true TrueSkill
with its settings, a draw margin of 2 points among them, does as badly on codeforces2020: neighbours in a standing must
perform a margin apart, so a thousand ranks must spread over thousands of points. With a margin of 0.03 points (draw
probability 1e-4) it is on par with the other systems, at any number of ranks: in the table of distinct ranks, where
neighbours of synth_paper share theirs, it is the margin of 2 points that falls behind, where ranks are few.

In the next three one player is followed through events with K opponents of known ratings, whom they never meet twice,
so that nothing they do comes back to them. The paper has no figures of these. Chosen here are:

- robustness (theorem 5.7), what one contest changes at most: they came in the middle of 40 opponents of their own
  rating thirty times ("consistent"), or by turns of such rated 600 points below and above ("volatile"), and now come
  in the middle of 40 who are rated x points above them. TrueSkill's margin is of 0.035 points.
- farming (section 5.1): 20 events played as well as they can, 20 in which they lose every other one on purpose, 30 as
  well as they can, beside the same played honestly: same opponents, same luck. Their strength is 2100 unless said
  otherwise, the opponents are of 1500 +- 300, ten in each event. Of Glicko-2 an event is a rating period of ten games;
  in the picture tau is 1.2, the highest value its author recommends, and volatilities are bounded by 0.5.
- incentives (theorem 5.5): what they gained after winning three events, against the result in the one before.

densities (sections 2, 3 and 7): other densities of performances than the logistic one, with the defaults, on the first
200 contests of codeforces2020. The mirrored Gumbel density is of the worst of many tries, whose lower tail is heavy.

teams (section 7): Elo-MMX and Elo-MMR of whole teams, by club or by the five who play; Elo-MMX of each player alone,
all of a team with its rank; Elo-MMX of teams, shared among their members; and TrueSkill's teams. Two hyperparameters,
on a grid, and a factor of the logit are chosen by the log loss on the first half; scored is the second, one step ahead.
On three simulated leagues whose teams perform as the sum of their members, and on professional League of Legends.
"""

import time
from functools import partial
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow.parquet as pq
from common import find, fit_options, mean_and_error, measure
from figures import BLUE, GREEN, ORANGE, PURPLE, RED, plt, save
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, logit, ndtr

import jaxrate as jr
from jaxrate.data.simulate import contests
from jaxrate.events import slice_events
from jaxrate.replay.player_rows import gather_rows
from jaxrate.systems.elo_mmr import drift_and_noise, pseudodiffuse
from jaxrate.systems.rounds.performance_inference import C

SCALE = {"initial_rating": 1500, "initial_deviation": 350}
# --- Tables 1 to 3, and figure 1. ---

SYSTEMS = {
    "Codeforces": partial(jr.codeforces, skip_ties=True),
    "TopCoder": partial(jr.topcoder, skip_ties=True),
    "TrueSkill, margin 2": partial(jr.trueskill, beta=175, draw_probability=0.006447, tau=35, **SCALE),
    "TrueSkill, margin 0.03": partial(jr.trueskill, beta=200, draw_probability=1e-4, tau=35, **SCALE),
    "Elo-MMX": partial(jr.elo_mmx, skip_ties=True),
    "Elo-MMR(1)": partial(jr.elo_mmr, skip_ties=True),
}
RANKS = 3, 10, 30, 60, 200, 1000, 2500  # distinct ones, of synth_paper
METRICS = {"pairs": jr.metrics.pairwise_accuracy, "ranks": jr.metrics.rank_deviation}
FITTED = "weight", "limit_deviation", "rho"
WEIGHTS = {"weight": (0.1, 0.2, 0.4), "limit_deviation": (60.0, 80.0, 120.0)}
GRIDS = {
    "Codeforces": {"beta": (200.0, 315.0, 450.0), "weight": (0.5, 1.0, 2.0)},
    "TopCoder": {"weight_new": (0.4, 0.6, 0.8), "weight_limit": (0.1, 0.18, 0.3)},
    "TrueSkill, margin 0.03": {"beta": (140.0, 200.0, 280.0), "tau": (17.0, 35.0, 70.0)},
    "Elo-MMX": WEIGHTS,
    "Elo-MMR(1)": WEIGHTS | {"rho": (0.1, 1.0)},
}
SETS = "codeforces2020", "reddit", "synth_paper", "f1_rounds"
NOTES = {
    "codeforces2020": "the paper's set; Elo-MMX and Elo-MMR of the reference take 100 opponents of each, here all",
    "reddit": "the threads as their authors published them have fewer participants than the paper counts",
    "synth_paper": "drawn anew, but strengths deviate by 350, not 300 as in the paper: pairs are easier to tell",
    "f1_rounds": "not in the paper",
    "simulated": "drawn anew as the paper says: strengths deviate by 300, performances by 200",
}
PAPER = {"codeforces2020": "Codeforces", "reddit": "Reddit", "synth_paper": "Synthetic", "simulated": "Synthetic"}
TABLE_1 = {"Codeforces": (1087, 2999), "Reddit": (1000, 20), "Synthetic": (50, 2500)}
TABLE_2 = {  # pair inversion and rank deviation in percent, of the systems
    "Codeforces": ((78.3, 14.9), (78.5, 15.1), (61.7, 25.4), (61.7, 25.4), (78.5, 14.8), (78.6, 14.7)),
    "Reddit": ((61.5, 27.3), (61.4, 27.4), (61.5, 27.2), (61.5, 27.2), (61.6, 27.3), (61.6, 27.3)),
    "Synthetic": ((81.7, 12.9), (81.7, 12.8), (81.3, 13.1), (81.3, 13.1), (81.7, 12.8), (81.7, 12.8)),
}
TABLE_3 = {  # seconds on 24 cores
    "Codeforces": (212.9, 72.5, 67.2, 67.2, 31.4, 35.4),
    "Reddit": (1.19, 1.14, 0.44, 0.44, 1.14, 1.42),
    "Synthetic": (3.26, 1.00, 2.93, 2.93, 0.81, 0.85),
}
REFERENCE = {  # the reference program's table 2 on these files
    "codeforces2020": (None, (78.48705, 14.81948), None, None, (78.49615, 14.83438), (78.44255, 14.86689)),
    "reddit": ((59.80083, 29.04662), (60.75010, 28.41703), None, None, (60.89037, 28.39182), (60.82435, 28.40667)),
    "synth_paper": ((83.36543, 11.69955), (83.53168, 11.58583), None, None, (83.57265, 11.55658), (83.52950, 11.58486)),
    "f1_rounds": ((67.72859, 23.68769), (66.21868, 24.67607), None, None, (67.55379, 23.80266), (67.48774, 23.80414)),
}
REFERENCE_SECONDS = {
    "codeforces2020": ("1140 (estimated)", "611", "34", "34", "33", "33 to 53")
}  # two threads, another machine


def simulated(players, number):
    """Everybody is in every contest, and strengths change from day to day."""
    drift = 35.0 * np.sqrt(365.0)
    made = contests(players, number, size=players, days=number - 1.0, spread=300.0, drift=drift, noise=200.0)
    return made.rounds, np.repeat(np.arange(number), players)


def load(name, options):
    """The rounds of a set, and [sum P] the source's number of each participant's contest; None if it is not there."""
    if name in ("simulated", "small"):
        return simulated(*(2500, 50) if name == "simulated" else (60, 50))
    path = find(options, f"{name}.parquet")
    if not path:
        return None
    table = pq.read_table(path, columns=["contest", "player", "rank_lo"])
    contest, player, rank = (column.to_numpy() for column in table)
    return jr.rounds(contest, player, rank), contest


def replay(system, rounds, params=None):
    """Seconds, predictions and all ratings recorded, and [sum P] ratings before the contests."""
    start = time.perf_counter()
    rating = jax.block_until_ready(jr.history.rating_history(system, rounds, params=params)).before.mean
    return time.perf_counter() - start, rating


def quality(rounds, contest, rating):
    """The metrics in percent (section 6.2), of whom and of what contests section 6.3 says."""
    scored = jr.metrics.experience_mask(rounds, 5) & (contest >= (contest.max() + 1) // 10)
    return {key: 100.0 * metric(rounds, rating, mask=scored) for key, metric in METRICS.items()}


def tables(name, rounds, contest, systems):
    """Rows of the three tables, of the first systems or of all."""
    sizes, paper = np.diff(rounds.player_start), PAPER.get(name)
    size = {"contests": len(sizes), "participants": sizes.mean()}
    if paper:
        size |= dict(zip(("paper_contests", "paper_participants"), TABLE_1[paper], strict=True))
    measured, seconds = [], []
    for number, (label, factory) in enumerate(systems.items()):
        system, about = factory(), {"data": name, "system": label}
        _, (warm, rating) = (replay(system, rounds) for _ in range(2))
        row = about | quality(rounds, contest, rating)
        for place, key in enumerate(METRICS):
            if paper:
                row[f"paper_{key}"] = TABLE_2[paper][number][place]
            if name in REFERENCE and REFERENCE[name][number]:
                row[f"reference_{key}"] = REFERENCE[name][number][place]
                row[f"{key}_above_reference"] = row[key] - row[f"reference_{key}"]
        measured.append(row)
        row = about | {"seconds": warm, "million_per_second": len(contest) / warm / 1e6}
        for source, published in (("paper", TABLE_3.get(paper)), ("reference", REFERENCE_SECONDS.get(name))):
            row |= {f"{source}_seconds": published[number]} if published else {}
        seconds.append(row)
    return [{"data": name} | size], measured, seconds


def distinct_ranks(name, rounds, contest):
    """How the systems fare as neighbours in the standings share ranks, so that each contest has few."""
    rows = []
    for count in RANKS:
        size = np.repeat(np.diff(rounds.player_start), np.diff(rounds.player_start))
        coarse = jr.rounds(contest, rounds.events.player, rounds.events.rank * count // size)
        for label in list(SYSTEMS)[2:]:
            _, rating = replay(SYSTEMS[label](), coarse)
            rows.append({"data": name, "distinct_ranks": count, "system": label} | quality(coarse, contest, rating))
    return rows


def first_tenth(rounds, contest):
    return slice_events(rounds, 0, int(np.unique(contest[contest < (contest.max() + 1) // 10]).size))


def grid(name, rounds, contest, systems):
    """Hyperparameters that tell most pairs, or miss least ranks, of the first tenth; scored on the rest, as section 6.

    In the first tenth those count who have been in a contest before.
    """
    head, rows, sign = first_tenth(rounds, contest), [], {"pairs": -1.0, "ranks": 1.0}
    counts = jr.metrics.experience_mask(head, 1)
    for label in systems:
        system, tried = SYSTEMS[label](), []
        for values in product(*GRIDS[label].values()):
            params = system.params._replace(**dict(zip(GRIDS[label], values, strict=True)))
            _, rating = replay(system, head, params)
            tried.append((params, {key: metric(head, rating, mask=counts) for key, metric in METRICS.items()}))
        for key in METRICS:
            params = min(tried, key=lambda one: sign[key] * one[1][key])[0]
            _, rating = replay(system, rounds, params)
            row = {"data": name, "system": label, "metric": key, "found": quality(rounds, contest, rating)[key]}
            if name in PAPER:
                row["paper"] = TABLE_2[PAPER[name]][list(SYSTEMS).index(label)][list(METRICS).index(key)]
            rows.append(row | {parameter: getattr(params, parameter) for parameter in GRIDS[label]})
    return rows


def fit_first_tenth(name, rounds, contest, quick):
    """Elo-MMR fitted to the first tenth of a set, of whom had been in a contest before; scored on the rest."""
    head, system = first_tenth(rounds, contest), SYSTEMS["Elo-MMR(1)"]()
    counts = jr.metrics.experience_mask(head, 1) * 1.0
    search = fit_options(quick, weight=counts)
    found = jr.fit(system, head, free=list(FITTED[:1] if quick else FITTED), **search)
    _, rating = replay(found.system, rounds)
    row = {"data": name, "fitted_loss": found.loss} | {key: getattr(found.params, key) for key in found.free}
    return [row | quality(rounds, contest, rating)]


def figure_1():
    """L2 and LR of section 3.2, the costs of a performance x deviations away, and the densities whose logs they are."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    x, slope = np.linspace(-4.0, 4.0, 801), np.pi / np.sqrt(12.0)
    gaussian, logistic = 0.5 * x**2, 2.0 * np.log(np.cosh(slope * x))
    for panel, of_gaussian, of_logistic, names in (
        (left, gaussian, logistic, ("$L_2$", "$L_R$")),
        (right, np.exp(-gaussian) / np.sqrt(2.0 * np.pi), 0.5 * slope * np.exp(-logistic), ("Gaussian", "logistic")),
    ):
        for curve, label, colour in zip((of_gaussian, of_logistic), names, (BLUE, RED), strict=True):
            panel.plot(x, curve, color=colour, label=label)
        panel.set(xlabel="$x$ (standard deviations)", xlim=(-4, 4), ylim=(0, None))
        panel.legend()
    left.set(ylabel="penalty")
    right.set(ylabel="density")
    return figure


def part_tables(options):
    """A table of the tables for each set; the notes on the sets."""
    results = {}
    for name in ("small",) if options.quick else (*SETS, "simulated"):
        if not (found := load(name, options)):
            continue
        measured = tables(name, *found, dict([*SYSTEMS.items()][: 1 if options.quick else None]))
        made = dict(zip(("table 1", "table 2, percent", "table 3"), measured, strict=True))
        made["distinct ranks, percent"] = distinct_ranks(name, *found) if name == "synth_paper" else []
        made["fitted to the first tenth, percent"] = fit_first_tenth(name, *found, options.quick)
        made["grid over it, percent"] = grid(name, *found, list(GRIDS)[: 1 if options.quick else None])
        made["notes"] = [{"data": name, "note": NOTES[name]}] if name in NOTES else []
        results = {title: results.get(title, []) + rows for title, rows in made.items()}
    save({"1": figure_1()}, options.out, "elo_mmr_figure")
    return results


TRUESKILL = partial(jr.trueskill, beta=200, tau=35, draw_probability=1e-4, **SCALE)
GLICKO2 = partial(jr.glicko2, tau=1.2, volatility_max=0.5)
QUICK = "Codeforces", "TopCoder, rated 2400"  # all that --quick looks at, beside theorem 5.7


def known(system, rating, deviation, games=0):
    """The state of players whose ratings and deviations [n] are known."""
    state = system.init(system.params, len(rating))
    if hasattr(state, "games"):
        state = state._replace(games=np.full(len(rating), games, np.int32))
    if hasattr(state, "variance"):
        state = state._replace(variance=deviation**2)
    if getattr(state, "past", None) is not None:
        state = state._replace(past=state.past._replace(mean=rating, weight=deviation**-2.0))
    return jax.tree.map(lambda x: jnp.array(x, int if x.dtype.kind == "i" else float), state._replace(rating=rating))


def follow(system, start, opponents, score, deviation, games=0):
    """H players, each through T events with K opponents.

    Args:
      system: of contests, or Glicko-2.
      start: the players' rating.
      opponents: [T, H, K] the others' ratings.
      score: [T, H, K + 1] in the contest, the player's first; or of Glicko-2 [T, H, K] in the games of the period.
      deviation: the players', and the others'.
      games: contests that all have behind them.

    Returns:
      ([T + 1, H] ratings before, between and after the events, the state of the H players)
    """
    events, players, k = opponents.shape
    others = players + np.arange(opponents.size).reshape(opponents.shape)
    player = np.concatenate([np.broadcast_to(np.arange(players)[:, None], (events, players, 1)), others], axis=2)
    if score.shape[2] > k:
        number = np.repeat(np.arange(events * players), k + 1)
        history = jr.rounds(number, player.ravel(), -score.ravel())
    else:
        pairs = np.stack([np.broadcast_to(player[..., :1], others.shape), others], axis=-1).reshape(-1, 2)
        week = 7.0 * np.repeat(np.arange(events), players * k)
        history = jr.periods(jr.matches(pairs, score.ravel(), week), 7.0)
    rating = np.concatenate([np.full(players, start), opponents.ravel()])
    deviations = np.repeat(np.array(deviation, float), [players, opponents.size])
    rated = jr.history.rating_history(system, history, state=known(system, rating, deviations, games))
    before = np.asarray(rated.before.mean, float).reshape(events, players, -1)[..., 0]
    rows = gather_rows(rated.state, np.arange(players))
    return np.vstack([before, rows.rating]), rows


# --- Theorem 5.7: what one contest changes at most. ---

MIDDLE = np.concatenate([[0.0], np.arange(1.0, 21.0), -np.arange(1.0, 21.0)])  # scores of a player between 40 others
CAREERS = {"consistent": np.full(30, 1500.0), "volatile": np.tile([900.0, 2100.0], 15)}
FOLLOWED = {
    "Elo-MMR(1)": (jr.elo_mmr, 80.0, RED, "-"),
    "Elo-MMX": (jr.elo_mmx, 80.0, BLUE, "--"),
    "Codeforces": (jr.codeforces, 80.0, ORANGE, "-."),
    "TopCoder": (jr.topcoder, 200.0, GREEN, ":"),
    "TrueSkill": (TRUESKILL, 80.0, PURPLE, (0, (1, 1, 5, 1))),
}


def middle(system, levels, deviation):
    """H players who come in the middle of others of rating `levels` [T, H]; NaN: all tie, which `skip_ties` skips."""
    played = np.isfinite(levels)[..., None]
    opponents = np.repeat(np.where(played, levels[..., None], 1500.0), len(MIDDLE) - 1, axis=2)
    return follow(system, 1500.0, opponents, played * MIDDLE, (deviation, deviation))


def bounds(system, rows):
    """The least and the most [H] that theorem 5.7 says of the change by an endless performance in the next contest."""
    growth, square = drift_and_noise(system.rules.prepare(system.params), rows, jnp.ones_like(rows.rating), None)
    past = pseudodiffuse(rows, growth, system.params.rho).past
    push, curvature = C / jnp.sqrt(square), jnp.sum(past.force * past.inverse, axis=1)
    return np.asarray(push / (past.weight + curvature), float), np.asarray(push / past.weight, float)


def part_robustness(options):
    """Rows about the systems, and rows about the bounds of Elo-MMR(rho)."""
    quick = options.quick
    shift = np.linspace(-3000.0, 3000.0, 3 if quick else 61)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4))
    changes, limits = [], []
    for name, (factory, deviation, colour, style) in FOLLOWED.items():
        if quick and name not in QUICK:
            continue
        levels = np.repeat(CAREERS["consistent"][:, None], len(shift), axis=1)
        ratings, _ = middle(factory(), np.vstack([levels, 1500.0 + shift]), deviation)
        change = ratings[-1] - ratings[-2]
        left.plot(shift, change, color=colour, linestyle=style, label=name)
        best = {f"{x:.0f} points above": y for x, y in zip(shift, change, strict=True) if x in (300, 1000, 3000)}
        changes.append({"system": name} | best)
    for rho in (1.0,) if quick else np.geomspace(0.03, 10.0, 16):
        system, levels = jr.elo_mmr(rho=float(rho), skip_ties=True), np.stack(list(CAREERS.values()) * 3, axis=1)
        ratings, rows = middle(system, np.vstack([levels, np.repeat([-5500.0, 8500.0, np.nan], 2)]), 80.0)
        change, (low, high) = np.abs(ratings[-1] - ratings[-2]), bounds(system, rows)
        for i, name in enumerate(CAREERS):
            row = {"rho": rho, "career": name, "rating": ratings[-2, i], "least": low[4 + i], "down": change[i]}
            limits.append(row | {"up": change[2 + i], "most": high[4 + i]})
    rhos = [row["rho"] for row in limits[::2]]
    right.fill_between(rhos, *([row[key] for row in limits[::2]] for key in ("least", "most")), color="0.9")
    for key, text, va in (("most", "at most", "bottom"), ("least", "at least", "top")):
        right.plot(rhos, [row[key] for row in limits[::2]], color="black", linewidth=0.8)
        right.annotate(text, (rhos[-1], limits[-1][key]), (6, 0), textcoords="offset points", va=va)
    for i, (name, marker, colour) in enumerate((("consistent", "o", BLUE), ("volatile", "^", RED))):
        right.plot(rhos, [row["up"] for row in limits[i::2]], marker, color=colour, markersize=5, label=name)
    left.axhline(0.0, color="black", linewidth=0.6)
    left.set(
        xlabel="opponents' rating less one's own (points)", ylabel="change of the rating (points)", ylim=(-700, 700)
    )
    right.set(
        xlabel=r"$\rho$ of Elo-MMR", ylabel="limit of the change (points)", xscale="log", yscale="log", xlim=(0.025, 25)
    )
    left.legend()
    right.legend()
    save({"robust": figure}, options.out, "elo_mmr")
    return {"robust response": changes, "theorem 5.7": limits}


# --- Section 5.1: losing on purpose. ---

HONEST, FARMING, AFTER = 20, 20, 30
THROWN = np.zeros(HONEST + FARMING + AFTER, bool)
THROWN[HONEST : HONEST + FARMING : 2] = True
FARMS = (
    ("Glicko-2", GLICKO2, 2100.0),
    ("TopCoder", jr.topcoder, 2100.0),
    ("Elo-MMR(1)", jr.elo_mmr, 2100.0),
    ("Elo-MMX", jr.elo_mmx, 2100.0),
    ("Codeforces", jr.codeforces, 2100.0),
    ("TopCoder", jr.topcoder, 1800.0),
    ("TopCoder", jr.topcoder, 1500.0),
    ("Glicko-2", GLICKO2, 1500.0),
    ("Glicko-2, tau 0.5, no bound", jr.glicko2, 2100.0),
    ("Glicko-2, tau 0.75, no bound", partial(jr.glicko2, tau=0.75), 2100.0),
    ("Glicko-2, tau 1.2, no bound", partial(jr.glicko2, tau=1.2), 2100.0),
)


def farm(name, system, strength, seeds):
    """[T + 1, 2, seeds] ratings of the honest and of the one who loses on purpose."""
    random, shape = np.random.default_rng(0), (len(THROWN), seeds, 10)
    opponents = random.normal(1500.0, 300.0, shape)
    if name.startswith("Glicko-2"):
        score = (random.random(shape) < expit(np.log(10.0) / 400.0 * (strength - opponents))).astype(float)
        own, worst, deviation = slice(None), 0.0, (350.0, 50.0)
    else:
        score = np.concatenate([np.full((*shape[:2], 1), strength), opponents], axis=2)
        score += random.normal(0.0, 200.0, score.shape)
        own, worst, deviation = 0, -1e6, (350.0, 200.0 if name == "TopCoder" else 80.0)
    lost = score.copy()
    lost[THROWN, :, own] = worst
    both = np.concatenate([score, lost], axis=1)
    ratings, _ = follow(system, strength, np.concatenate([opponents] * 2, axis=1), both, deviation)
    return ratings.reshape(-1, 2, seeds)


def interval(values):
    """Half the 95% interval of a mean."""
    return 1.96 * values.std(ddof=1) / np.sqrt(len(values))


def part_farming(options):
    """A row for each system, of the rating of who loses on purpose less that of the honest one.

    The peak is the highest rating since the last lost event, the last lead the mean of that over the last ten events,
    and the largest lead that of any seed after any event.
    """
    seeds, rows = 10 if options.quick else 200, []
    figure, panels = plt.subplots(2, 2, figsize=(11, 6.6), sharex=True, sharey=True)
    for (name, factory, strength), panel in zip(FARMS, [*panels.T.ravel(), *[None] * len(FARMS)], strict=False):
        if options.quick and name not in QUICK:
            continue
        ratings = farm(name, factory(), strength, seeds)
        row = {"system": name, "strength": strength, "seeds": seeds, "diverged": not np.isfinite(ratings).all()}
        if not row["diverged"]:
            lead, peak = ratings[:, 1] - ratings[:, 0], ratings[HONEST + FARMING :].max(axis=0)
            gain, last = peak[1] - peak[0], lead[-10:].mean(axis=0)
            row |= {"peak_gain": gain.mean(), "peak_interval": interval(gain), "peaks_higher": (gain > 0).mean()}
            row |= {"last_lead": last.mean(), "last_interval": interval(last), "largest_lead": lead.max()}
        rows.append(row)
        if panel is not None:
            trajectories(panel, name, ratings)
    for panel in panels[-1]:
        panel.set(xlabel="events", xlim=(0, len(THROWN)))
    for panel in panels[:, 0]:
        panel.set(ylabel="rating (points)")
    handles = panels[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=4)
    save({"farming": figure}, options.out, "elo_mmr")
    return {"volatility farming": rows}


def trajectories(panel, name, ratings):
    """Means, and bands that hold nine seeds of ten."""
    event = np.arange(len(ratings))
    for i, (label, colour) in enumerate((("honest", BLUE), ("loses every other one on purpose", RED))):
        low, high = np.percentile(ratings[:, i], [5, 95], axis=1)
        panel.fill_between(event, low, high, color=colour, alpha=0.2, linewidth=0)
        panel.plot(event, ratings[:, i].mean(axis=1), color=colour, linestyle=("--", "-")[i], label=label)
    panel.axvspan(HONEST, HONEST + FARMING, color="0.92", zorder=0)
    panel.set_title(name)


# --- Theorem 5.5: is a better result ever worse? ---

CASES = {  # the system, the player's rating, the deviations, contests before
    "Glicko-2, volatility 0.2": (partial(jr.glicko2, tau=1.2, initial_volatility=0.2), 1500.0, (50.0, 50.0), 0),
    "TopCoder, rated 2400": (jr.topcoder, 2400.0, (200.0, 200.0), 20),
    "Elo-MMR(1)": (jr.elo_mmr, 1500.0, (80.0, 80.0), 0),
    "Elo-MMX": (jr.elo_mmx, 1500.0, (80.0, 80.0), 0),
}


def part_incentives(options):
    """For each system how far the rating falls as the first result gets better, and the least step."""
    figure, panels = plt.subplots(1, 4, figsize=(12, 3.4))
    beaten, rows = np.arange(11), []
    for (name, (factory, start, deviation, games)), panel in zip(CASES.items(), panels, strict=True):
        if options.quick and name not in QUICK:
            continue
        opponents = np.broadcast_to(1500.0 + np.linspace(-600.0, 600.0, 10), (4, 11, 10))
        count = np.stack([beaten, *[np.full(11, 10)] * 3])[..., None]
        won = (np.arange(10) < count).astype(float)  # the weaker ones
        if not name.startswith("Glicko-2"):
            won = np.concatenate([count - 0.5, np.broadcast_to(np.arange(10), won.shape)], axis=2)
        ratings, _ = follow(factory(), start, opponents, won, deviation, games)
        gain = ratings[-1] - start
        panel.plot(beaten, gain, "o-", color=RED if (np.diff(gain) < 0).any() else BLUE, markersize=4)
        panel.set(title=name, xlabel="beaten, of 10, in the first event", xticks=range(0, 11, 2))
        falls = np.maximum.accumulate(gain) - gain
        rows.append({"system": name, "falls_by": falls.max(), "least_step": np.diff(gain).min()})
    panels[0].set(ylabel="rating gained in four events")
    save({"incentives": figure}, options.out, "elo_mmr")
    return {"aligned incentives": rows}


# --- Densities. ---

CONTESTS = 200


def mirrored(x):
    """The log of the density of the least of many."""
    return x - jnp.exp(x)


DENSITIES = ["logistic", "normal", "laplace", "gumbel", jr.extend.densities.Density("mirrored gumbel", mirrored)]


def part_densities(options):
    """Pairs in the predicted order and ranks missed, in percent, and seconds with compilation."""
    found = load("small" if options.quick else "codeforces2020", options)
    if found is None:
        return None
    rounds, contest = found
    rounds = slice_events(rounds, 0, int(np.searchsorted(contest[rounds.player_start[:-1]], CONTESTS)))
    contest, rows = contest[: rounds.player_start[-1]], []
    for density in DENSITIES[: 3 if options.quick else None]:
        seconds, rating = replay(jr.elo_mmr(density=density, skip_ties=True), rounds)
        name = getattr(density, "name", density)
        rows.append({"density": name} | quality(rounds, contest, rating) | {"seconds": seconds})
    return {"densities": rows}


# --- Teams. ---


class League(NamedTuple):
    """Games of two teams of five."""

    club: np.ndarray  # [n, 2]
    member: np.ndarray  # [n, 2, 5]
    won: np.ndarray  # [n] by the first: 1 or 0
    truth: np.ndarray | None  # [n] how likely that was, if known


def simulated_league(teams, games, seed=0):
    """12 clubs of five; "kept", "exchanged" (before every fifth game two players of two clubs) or "drawn" each time."""
    random = np.random.default_rng(seed)
    skill, squad = random.normal(0.0, 200.0, 60), random.permutation(60).reshape(12, 5)
    club, member = np.empty((games, 2), int), np.empty((games, 2, 5), int)
    for game in range(games):
        club[game] = pair = random.choice(12, 2, replace=False)
        if teams == "drawn":
            squad = random.permutation(60).reshape(12, 5)
        elif teams == "exchanged" and game % 5 == 0:
            (a, b), seat = pair, random.integers(5, size=2)
            squad[a, seat[0]], squad[b, seat[1]] = squad[b, seat[1]], squad[a, seat[0]]
        member[game] = squad[pair]
    lead = skill[member].sum(axis=2) @ [1.0, -1.0]
    truth = ndtr(lead / (200.0 * np.sqrt(10.0)))
    return League(club, member, (random.random(games) < truth).astype(float), truth)


def professional(path):
    table = pq.read_table(path)
    member = np.stack([[table[f"p{side}{seat}"].to_numpy() for seat in range(5)] for side in "ab"])
    club = np.stack([table["a"].to_numpy(), table["b"].to_numpy()], axis=1)
    return League(club, member.transpose(2, 0, 1), table["score"].to_numpy().astype(float), None)


ELO_MMX = {"weight": (0.01, 0.03, 0.1, 0.3, 1.0), "limit_deviation": (20.0, 40.0, 80.0, 160.0, 320.0)}
BETA, DRIFT = (100.0, 200.0, 400.0, 800.0, 1600.0), (1.0, 4.0, 15.0, 60.0)
METHODS = {
    "Elo-MMX, clubs": (jr.elo_mmx, "club", ELO_MMX),
    "Elo-MMR(1), clubs": (jr.elo_mmr, "club", ELO_MMX),
    "Elo-MMX, fives": (jr.elo_mmx, "five", ELO_MMX),
    "Elo-MMX, players": (jr.elo_mmx, "player", ELO_MMX),
    "Elo-MMX, teams": (partial(jr.elo_mmx, beta=200, gamma=35), "team", {"beta": BETA, "gamma": DRIFT}),
    "TrueSkill, teams": (partial(jr.trueskill, draw_probability=1e-4, **SCALE), "team", {"beta": BETA, "tau": DRIFT}),
}


def rounds_of(league, unit):
    """The games as rounds of clubs, of the fives who play, of ten players, or of teams."""
    games, rank = len(league.won), np.stack([1.0 - league.won, league.won], axis=1)
    if unit in ("club", "five"):
        fives = np.unique(np.sort(league.member, axis=2).reshape(-1, 5), axis=0, return_inverse=True)[1]
        player = league.club if unit == "club" else fives.reshape(games, 2)
        return jr.rounds(np.arange(games).repeat(2), player.ravel(), rank.ravel())
    team = np.tile(np.arange(2).repeat(5), games) if unit == "team" else None
    return jr.rounds(np.arange(games).repeat(10), league.member.ravel(), rank.ravel().repeat(5), team=team)


def chance(system, rounds, unit, params, schedule):
    """[n] that the first team wins.

    Of players who are rated each alone: as if the team performed as the sum of its members.
    """
    if unit != "player":
        p = np.asarray(jr.run(system, rounds, params=params, schedule=schedule).prediction, float)
        return p.reshape(len(rounds.player_start) - 1, -1)[:, 0]
    before = jr.history.rating_history(system, rounds, params=params, schedule=schedule).before
    mean, deviation = (np.asarray(x, float).reshape(-1, 10) for x in before)
    spread = (1.0 + params.weight + 1.0 / params.weight) * params.limit_deviation**2
    return ndtr(mean @ np.repeat([1.0, -1.0], 5) / np.sqrt((deviation**2 + spread).sum(axis=1)))


def losses(p, won, factor=1.0):
    x = factor * logit(np.clip(p, 1e-6, 1.0 - 1e-6))
    return -won * log_expit(x) - (1.0 - won) * log_expit(-x)


def teams(name, league, quick):
    """Rows with the log losses on the last half, and how far they are above TrueSkill's, with standard errors."""
    half, found = len(league.won) // 2, {}
    for label, (factory, unit, grid) in METHODS.items():
        if quick and label not in ("Elo-MMX, teams", "TrueSkill, teams"):
            continue
        system, rounds = factory(), rounds_of(league, unit)
        schedule, best = jr.extend.schedule_by_level(rounds), (np.inf,)
        for values in product(*(x[1:2] if quick else x for x in grid.values())):
            chosen = dict(zip(grid, values, strict=True))
            p = chance(system, rounds, unit, system.params._replace(**chosen), schedule)
            search = minimize_scalar(lambda x, p=p: losses(p, league.won, x)[:half].mean(), bounds=(0.1, 20.0))
            if search.fun < best[0]:
                best = search.fun, chosen | {"factor": float(search.x)}, losses(p, league.won, search.x)[half:]
        found[label] = best[1:]
    if league.truth is not None:
        found["the truth"] = {}, losses(league.truth, league.won)[half:]
    found["nothing"] = {}, np.full(len(league.won) - half, np.log(2.0))
    rows, base = [], found["TrueSkill, teams"][1]
    for label, (chosen, loss) in found.items():
        row = {"league": name, "games": len(league.won), "system": label, "log_loss": loss.mean()}
        rows.append(row | mean_and_error(loss - base) | chosen)
    return rows


def part_teams(options):
    """Simulated leagues, and League of Legends."""
    rows = []
    for kind in ("kept",) if options.quick else ("kept", "exchanged", "drawn"):
        rows += teams(f"simulated, {kind}", simulated_league(kind, 200 if options.quick else 4000), options.quick)
    if not options.quick and (path := find(options, "lol_pro.parquet")):
        rows += teams("League of Legends", professional(path), options.quick)
    return {"teams": rows}


PARTS = {"tables": part_tables, "robustness": part_robustness, "farming": part_farming}
PARTS |= {"incentives": part_incentives, "densities": part_densities, "teams": part_teams}

if __name__ == "__main__":
    jax.config.update("jax_enable_compilation_cache", False)
    measure(PARTS, "small sets, few systems and seeds", "the real sets", digits=7)
