"""Tables 1, 2 and 3 and figure 1 of "An Elo-like system for massive multiplayer competitions" (Ebtekar and Liu 2021).

    python experiments/elo_mmr_tables.py             # minutes; writes a PNG and JSON to experiments/results
    python experiments/elo_mmr_tables.py --quick     # seconds, a small set; writes nothing unless --out is given

In tables 2 and 3 all systems have their defaults on every set. The paper searches the hyperparameters of each system,
set and metric on a grid over the first tenth; so does the last table here, on grids of its own. Beside the paper's
numbers stand those of the reference program (the authors', in Rust) from runs on these files with the defaults, except
where the notes say otherwise. Its 100 opponents explain the differences on codeforces2020: Elo-MMR with 100 here gave
78.444 and 14.866. The paper's TopCoder data set is left out. Contests in which all tie are skipped, as by that program
(`skip_ties=True`).

The paper's program for TrueSkill is not TrueSkill (its truncated moments have a wrong kernel), and yet true TrueSkill
with its settings, a draw margin of 2 points among them, does as badly on codeforces2020: neighbours in a standing must
perform a margin apart, so a thousand ranks must spread over thousands of points. With a margin of 0.03 points (draw
probability 1e-4) it is on par with the other systems, at any number of ranks: in the table of distinct ranks, where
neighbours of synth_paper share theirs, it is the margin of 2 points that falls behind, where ranks are few.

Scored are contests from the tenth part on, and in them whoever had been in five that counted (section 6.3).
"""

import time
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow.parquet as pq
from common import circumstances, declare, find, parse, show, write
from figures import BLUE, RED, plt, save
from scipy.optimize import minimize

import jaxrate as jr
from jaxrate.data.simulate import contests
from jaxrate.events import slice_events

SCALE = {"initial_rating": 1500, "initial_deviation": 350, "tau": 35}
SYSTEMS = {
    "Codeforces": partial(jr.codeforces, skip_ties=True),
    "TopCoder": partial(jr.topcoder, skip_ties=True),
    "TrueSkill, margin 2": partial(jr.trueskill, beta=175, draw_probability=0.006447, **SCALE),
    "TrueSkill, margin 0.03": partial(jr.trueskill, beta=200, draw_probability=1e-4, **SCALE),
    "Elo-MMX": partial(jr.elo_mmx, skip_ties=True),
    "Elo-MMR(1)": partial(jr.elo_mmr, skip_ties=True),
}
RANKS = 3, 10, 30, 60, 200, 1000, 2500  # distinct ones, of synth_paper
METRICS = {"pairs": jr.metrics.pairwise_accuracy, "ranks": jr.metrics.rank_deviation}
TITLES = (
    "table 1",
    "table 2, percent",
    "table 3",
    "distinct ranks, percent",
    "slopes of the loss of the first tenth",
    "fitted to it, percent",
    "grid over it, percent",
)
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


def share_beaten(rounds):
    """[sum P] the share of the others whom each one beat; half of those with whom they tied."""
    size, rank = np.diff(rounds.player_start), rounds.events.rank
    group = np.repeat(rounds.player_start[:-1], size) + rank
    tied = np.bincount(group)[group]
    return 1.0 - (rank + 0.5 * (tied - 1)) / np.maximum(np.repeat(size, size) - 1, 1)


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


def fit(name, rounds, contest, quick):
    """Elo-MMR fitted to the first tenth of a set, as in section 6, but by slopes; scored on the rest.

    The loss is that of `predict`, the share of the others that each is expected to beat, as a log loss; it counts for
    those who have been in a contest before. What is searched are logarithms, over a factor of 20 to either side.
    """
    names, most = (FITTED[:1], 1) if quick else (FITTED, 15_000)
    system, head = SYSTEMS["Elo-MMR(1)"](), first_tenth(rounds, contest)
    size, beaten = np.diff(head.player_start), share_beaten(head)
    counts = jr.metrics.experience_mask(head, 1) & (np.repeat(size, size) > 1)
    begin = np.log([getattr(system.params, parameter) for parameter in names])

    def loss(logs):
        params = system.params._replace(**dict(zip(names, jnp.exp(logs), strict=True)))
        p, s = jr.run(system, head, params=params).prediction[counts], jnp.asarray(beaten[counts])
        return -jnp.mean(s * jnp.log(p) + (1.0 - s) * jnp.log1p(-p))

    def both(logs):
        slopes, value = jax.jacfwd(lambda x: (loss(x),) * 2, has_aux=True)(jnp.asarray(logs))
        return float(value), np.asarray(slopes)

    with jax.enable_x64(True):
        (before, slopes), steps = both(begin), 1e-3 * np.eye(len(begin))
        differences = [float(loss(begin + step) - loss(begin - step)) / 2e-3 for step in steps]
        bounds, limits = np.stack([begin - 3.0, begin + 3.0], axis=1), {"maxiter": most}
        found = minimize(both, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
    fitted = [float(x) for x in np.exp(found.x)]
    columns = zip(names, np.exp(begin), slopes, differences, fitted, strict=True)
    keys = "parameter", "default", "slope_in_log", "difference", "fitted"
    rows = [{"data": name} | dict(zip(keys, column, strict=True)) for column in columns]
    row = {"data": name, "loss": before, "fitted_loss": found.fun, "evaluations": found.nfev}
    _, rating = replay(SYSTEMS["Elo-MMR(1)"](**dict(zip(names, fitted, strict=True))), rounds)
    return rows, [row | quality(rounds, contest, rating)]


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


def main():
    out = "the JSON file; the figure goes beside it"
    options = parse(declare(__doc__, "small simulated contests", "the real sets", out), __file__)
    jax.config.update("jax_enable_compilation_cache", False)
    start, report = time.perf_counter(), circumstances("matplotlib")
    figure, results = figure_1(), {title: [] for title in TITLES}
    for name in ("small",) if options.quick else (*SETS, "simulated"):
        found = load(name, options)
        if found:
            measured = tables(name, *found, dict([*SYSTEMS.items()][: 1 if options.quick else None]))
            slopes = fit(name, *found, options.quick)
            ranks = distinct_ranks(name, *found) if name == "synth_paper" else []
            searched = grid(name, *found, list(GRIDS)[: 1 if options.quick else None])
            for title, rows in zip(TITLES, (*measured, ranks, *slopes, searched), strict=True):
                results[title] += rows
            print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    show(results)
    notes = {row["data"]: NOTES[row["data"]] for row in results["table 1"] if row["data"] in NOTES}
    print("", *(f"{name}: {note}" for name, note in notes.items()), sep="\n")
    print(f"({time.perf_counter() - start:.0f} s)")
    write(options.out, report | {"notes": notes}, results, 7)
    save({"1": figure}, options.out, "elo_mmr_figure")


if __name__ == "__main__":
    main()
