"""Sections 3.2 to 3.4 of "Urnings" (Bolsinova and others 2022): chess, reviews of movies, exercises of learners.

    python experiments/urnings_data.py          # a minute; writes PNGs and JSON to experiments/results
    python experiments/urnings_data.py --quick  # seconds, on simulated histories; writes nothing unless --out is given

The paper's data are not public, so that others stand in: TCEC's games between chess programs, each family of versions a
player (21,000 games, not 2 million; urns of 50 balls, not 200); MovieLens latest-small (100,000 reviews, not 20
million; movies of 20 balls, not 100, of users 10 as in the paper); ASSISTments 2017 (940,000 answers, not 1.7 million;
exercises of 200 balls and learners of 20 as in the paper). As there, nobody knows who was matched with whom and why.

Figures 7 and 9 are given twice. The paper looks at the urns after the update, into which the answer has gone already;
to predict, one has the urns before it. A game counts there once either player has played 3 games per ball.
"""

from functools import partial
from pathlib import Path

import jax
import matplotlib
import numpy as np
from common import circumstances, declare, find, parse, race, show, write
from figures import BLUE, ORANGE, RED, legend_above, plt, save
from urn_histories import BALLS, EXERCISE, LEARNER, MOVIE, USER, answers, at_random, chess, replay

import jaxrate as jr

DRAW_WEIGHTS = 1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 14.0, 20.0
SAGA = {
    "IV (1977)": "Star Wars: Episode IV",
    "V (1980)": "Star Wars: Episode V -",
    "VI (1983)": "Star Wars: Episode VI",
    "I (1999)": "Star Wars: Episode I -",
    "II (2002)": "Star Wars: Episode II -",
    "III (2005)": "Star Wars: Episode III",
}


def logit(green, size):
    return np.log((green + 1) / (size - green + 1))


def binned(x, width, *values):
    """Centres of the bins that hold something, how much, and means of the values there."""
    number, which = np.unique(np.floor(x / width).astype(int), return_inverse=True)
    count = np.bincount(which)
    return (number + 0.5) * width, count, *(np.bincount(which, value) / count for value in values)


def quality(name, matches, prediction, rows, settled):
    """Log losses one step ahead, all games and those that the paper looks at."""
    score = np.asarray(matches.score)
    row = {"history": name, "games": len(score), "log_loss": jr.metrics.log_loss(prediction, score)}
    if settled is not None and settled.any():
        row |= {"settled": int(settled.sum())}
        row |= {"log_loss_settled": jr.metrics.log_loss(prediction, score, mask=settled)}
        for other in (jr.elo(), jr.glicko()):
            theirs = jr.run(other, matches).prediction
            row[f"{other.name}_settled"] = jr.metrics.log_loss(theirs, score, mask=settled)
    rows.append(row)


# --- Chess: figures 4 to 6. ---


def figures_of_chess(data, quick):
    matches, names = chess(data, quick)
    sides, num_players = jr.urns.split_by_side(matches), len(names)
    start = jr.urns.make_urns(np.full(2 * num_players, BALLS))
    level = np.rint(2 * np.asarray(matches.score)).astype(int)
    results = {}

    def full(weight):
        return replay(jr.forecasts.add_outcomes(jr.urnings(BALLS, 3, draw_weight=weight)), sides, start)

    rows, runs = [], {weight: full(weight) for weight in DRAW_WEIGHTS}
    for weight, run in runs.items():
        known = (run.games >= BALLS).all(axis=1)
        loss = -np.log(run.prediction[np.arange(len(level)), level])
        rows.append({"draw_weight": weight, "log_loss": loss.mean(), "log_loss_known": loss[known].mean()})
    results["chess: likelihood of the draw weight, of win, draw and loss"] = rows
    best = min(rows, key=lambda row: row["log_loss_known"])["draw_weight"]

    figure_4, panels = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True)
    for panel, weight in zip(panels, (2.5, best), strict=True):
        run = runs[weight]
        known = (run.games >= BALLS).all(axis=1)
        lead = np.diff(-logit(run.before, run.size), axis=1)[known, 0]
        centre, count, *observed = binned(lead, 0.2, *(level[known] == k for k in range(3)))
        x = np.linspace(centre.min(), centre.max(), 201)
        expected = np.exp(np.stack([-x, np.full_like(x, np.log(weight)), x]))
        expected /= expected.sum(axis=0)
        for k, (colour, label) in enumerate(((BLUE, "loss"), ("tab:grey", "draw"), (RED, "win"))):
            panel.plot(x, expected[k], color=colour, label=label)
            panel.scatter(centre, observed[k], 80 * count / count.max() + 3, color=colour, alpha=0.6, linewidths=0)
        panel.set(title=f"draw weight {weight:g}", xlabel="logit of white less logit of black", ylim=(0, 1))
    panels[0].set_ylabel("probability")
    legend_above(figure_4, panels[0], 3)

    played = np.bincount(np.asarray(sides.player).ravel(), minlength=2 * num_players).reshape(-1, 2)
    run = runs[2.5]
    enough = (played >= 2 * BALLS).all(axis=1)
    white, black = (jax.tree.map(lambda x, k=k: np.asarray(x)[k::2][enough], run.state) for k in (0, 1))
    test = jr.urns.compare_skill(white, black)
    p, q = white.green / BALLS, black.green / BALLS
    both = (p + q) / 2
    outside = np.abs(p - q) > 1.96 * np.sqrt(2 * both * (1 - both) / BALLS)
    results["chess: are white and black one skill? (figure 5)"] = [
        {
            "players": int(enough.sum()),
            "correlation": test.correlation,
            "correlation_of_one_skill": test.correlations.mean(),
            "correlation_p": test.correlation_p,
            "white_less_black": test.difference,
            "least_of_one_skill": test.differences.min(),
            "most_of_one_skill": test.differences.max(),
            "difference_p": test.difference_p,
            "outside_ellipse": outside.mean(),
        }
    ]
    figure_5, axes = plt.subplots(figsize=(5.2, 5))
    axes.plot(p, q, "o", color=RED, markersize=4, alpha=0.7, markeredgewidth=0)
    middle = np.linspace(0, 1, 501)
    width = 1.96 * np.sqrt(2 * middle * (1 - middle) / BALLS) / 2
    axes.plot(middle + width, middle - width, "k", middle - width, middle + width, "k", linewidth=1)
    axes.set(xlabel="scaled urning, white", ylabel="scaled urning, black", xlim=(0, 1), ylim=(0, 1), aspect="equal")

    figure_6, panels = plt.subplots(1, 2, figsize=(11, 3.8), sharey=True)
    shown = [names[k] for k in np.argsort(-played.sum(axis=1))[:2]]
    for panel, name in zip(panels, shown, strict=True):
        for side, colour, label in ((0, ORANGE, "white"), (1, "black", "black")):
            trace(panel, run, sides, 2 * names.index(name) + side, BALLS, colour, label, dates=not quick)
        panel.set(title=name, ylim=(0, 1))
    panels[0].set_ylabel("scaled urning")
    legend_above(figure_6, panels[0], 2)
    return {"4": figure_4, "5": figure_5, "6": figure_6}, results


def trace(axes, run, matches, player, start, colour, label, dates=False, number=False):
    """The urn of one player after each game, from game `start` on; of numbered games or by the clock."""
    event, side = np.nonzero(np.asarray(matches.player) == player)
    green, size, time = run.after[event, side], run.size[event, side], np.asarray(matches.time)[event]
    x = np.arange(len(event)) if number else time.astype("datetime64[D]") if dates else time
    axes.step(x[start:], (green / size)[start:], color=colour, linewidth=1.2, label=label, where="post")


# --- Movies and exercises: figures 7 to 11. ---


def expected_before(green, size):
    """The library's prediction."""
    lead = logit(green[:, 0], size[:, 0]) - logit(green[:, 1], size[:, 1])
    return 1 / (1 + np.exp(-lead))


def expected_after(green, size):
    """By the scaled urnings as they are; one half if both urns are full, or empty."""
    up, down = green[:, 0] * (size[:, 1] - green[:, 1]), (size[:, 0] - green[:, 0]) * green[:, 1]
    return np.where(up + down > 0, up / np.maximum(up + down, 1), 0.5)


WHEN = (
    ("before", "before the answer", expected_before),
    ("after", "after the update, as in the paper", expected_after),
)


def by_urns(run, score, when, expected, least):
    """Of each pair of urns with enough games: [k, 2] the green balls, games, expected and observed share of wins."""
    settled = run.settled
    green, size = getattr(run, when)[settled], run.size[settled]
    pair, which = np.unique(green, axis=0, return_inverse=True)
    which = which.ravel()
    count = np.bincount(which)
    means = (np.bincount(which, x) / count for x in (expected(green, size), score[settled]))
    enough = count >= least
    return pair[enough], count[enough], *(x[enough] for x in means)


def off(name, run, score, least):
    """How far observed shares are from the expected ones, beside what chance makes of it."""
    rows = []
    for when, _, expected in WHEN:
        _, count, wanted, seen = by_urns(run, score, when, expected, least)
        chance = wanted * (1 - wanted) / count
        rows.append(
            {
                "history": name,
                "urns": when,
                "combinations": len(count),
                "games": int(count.sum()),
                "rms_off": np.sqrt(np.average((seen - wanted) ** 2, weights=count)),
                "rms_of_chance": np.sqrt(np.average(chance, weights=count)),
            }
        )
    return rows


def figures_of_movies(data, quick):
    matches, movies, names = answers(data, "movielens_small", quick, 200, 100, 40_000)
    sizes = np.where(np.arange(len(names)) < movies, MOVIE, USER)
    run = replay(jr.urnings(), matches, at_random(sizes))
    score = np.asarray(matches.score)
    results = {"figure 7, observed less expected": off("movies", run, score, 10)}
    rows = results["log loss one step ahead: movies"] = []
    quality("movies of 20, users of 10", matches, run.prediction, rows, run.settled)
    paper = replay(jr.urnings(), matches, at_random(np.where(np.arange(len(names)) < movies, 100, USER)))
    quality("movies of 100, users of 10, as in the paper", matches, paper.prediction, rows, None)

    figure_7, panels = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True)
    colours = plt.cm.viridis(np.linspace(0, 0.95, USER + 1))
    balls = np.arange(MOVIE + 1)
    for panel, (when, title, expected) in zip(panels, WHEN, strict=True):
        pair, count, _, seen = by_urns(run, score, when, expected, 10)
        for user, colour in enumerate(colours):
            mine = pair[:, 1] == user
            green = np.stack([balls, np.full_like(balls, user)], axis=1)
            panel.plot(balls / MOVIE, expected(green, np.array([[MOVIE, USER]])), color=colour, linewidth=1)
            area = 4 + 40 * np.sqrt(count[mine] / count.max())
            panel.scatter(pair[mine, 0] / MOVIE, seen[mine], area, color=colour, alpha=0.8, linewidths=0)
        panel.set(title=title, xlabel="scaled urning of the movie", ylim=(-0.02, 1.02))
    panels[0].set_ylabel("share of positive reviews")
    shades = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(0, 1), "viridis")
    figure_7.colorbar(shades, ax=panels, label="scaled urning of the user")

    figure_8, axes = plt.subplots(figsize=(8, 4.2))
    some = dict(zip("ABC", names[:3], strict=True)) if quick else SAGA
    for number, (label, title) in enumerate(some.items()):
        movie = next(k for k, name in enumerate(names) if str(name).startswith(title))
        trace(axes, run, matches, movie, 3 * MOVIE, f"C{number}", label, dates=not quick)
    axes.set(ylabel="scaled urning", ylim=(0, 1.02))
    legend_above(figure_8, axes, 6)
    return {"7": figure_7, "8": figure_8}, results, (matches, sizes)


def figures_of_learners(data, quick):
    matches, learners, names = answers(data, "edu_assist2017_pid", quick, 200, 60, 60_000)
    sizes = np.where(np.arange(len(names)) < learners, LEARNER, EXERCISE)
    run = replay(jr.urnings(), matches, at_random(sizes))
    score, least = np.asarray(matches.score), 10 if quick else 100
    results = {"figure 9, observed less expected": off("exercises", run, score, least)}
    rows = results["log loss one step ahead: exercises"] = []
    quality("learners of 20, exercises of 200", matches, run.prediction, rows, run.settled)

    figure_9, panels = plt.subplots(1, 2, figsize=(9.5, 4.8), sharey=True)
    for panel, (when, title, expected) in zip(panels, WHEN, strict=True):
        _, _, wanted, seen = by_urns(run, score, when, expected, least)
        panel.plot(wanted, seen, ".", color=BLUE, markersize=4, alpha=0.5, markeredgewidth=0)
        panel.plot([0, 1], [0, 1], "k", linewidth=1)
        panel.set(title=title, xlabel="expected share of right answers", aspect="equal")
    panels[0].set_ylabel("observed share of right answers")

    games = np.bincount(np.asarray(matches.player).ravel(), minlength=len(names))
    busiest = learners + np.argsort(-games[learners:])[:4]
    figure_10, axes = plt.subplots(figsize=(8, 4.2))
    for number, exercise in enumerate(busiest):
        start = min(3 * EXERCISE, games[exercise] // 2)
        trace(axes, run, matches, exercise, start, f"C{number}", names[exercise], number=True)
    axes.set(xlabel="answers to the exercise", ylabel="scaled urning (difficulty)", ylim=(0, 1))
    legend_above(figure_10, axes, 4)

    learner = int(np.argmax(games[:learners]))
    event = np.flatnonzero(np.asarray(matches.player)[:, 0] == learner)
    mine = logit(run.before[event, 0], LEARNER)[3 * LEARNER :]
    known = np.flatnonzero((games >= 3 * EXERCISE) & (np.arange(len(names)) >= learners))
    known = known if len(known) else busiest
    hard = logit(np.asarray(run.state.green)[known], EXERCISE)
    share = (1 / (1 + np.exp(hard[None, :] - mine[:, None]))).mean(axis=1)
    figure_11, axes = plt.subplots(figsize=(8, 3.8))
    axes.plot(3 * LEARNER + np.arange(len(mine)), share, color=RED, linewidth=1)
    axes.set(xlabel="answers of the learner", ylabel="expected share right", ylim=(0, 1))
    axes.set_title(f"of the {len(known)} exercises, as difficult as they are at the end", fontsize=10)
    return {"9": figure_9, "10": figure_10, "11": figure_11}, results, (matches, sizes)


def speed(histories, rounds):
    """Warm, with the schedule made in each call ("auto"), and made once ("levels")."""
    rows, key, system = [], jax.random.key(0), jr.urnings()
    for name, (matches, sizes) in histories.items():
        rate = partial(jr.run, system, matches, state=jr.urns.make_urns(sizes), key=key)
        once = jr.extend.schedule_by_level(matches)
        calls = {f"{name}, {way}": partial(rate, schedule=way) for way in ("auto", "stream")}
        calls[f"{name}, levels made before"] = partial(rate, schedule=once)
        rows += race(calls, len(matches.score), rounds).values()
    return rows


def main():
    out = "the JSON file; the figures go beside it"
    options = parse(declare(__doc__, "simulated histories", "the histories", out), __file__)
    if not options.quick and not find(options, "movielens_small.parquet", "nothing to do"):
        return
    report, data = circumstances("matplotlib"), Path(options.data)
    figures, results = figures_of_chess(data, options.quick)
    histories = {}
    for name, make in (("movies", figures_of_movies), ("exercises", figures_of_learners)):
        more, tables, histories[name] = make(data, options.quick)
        figures |= more
        results |= tables
    results["speed"] = speed(histories, 1 if options.quick else 5)
    show(results)
    write(options.out, report, results)
    save(figures, options.out, "urnings_figure")


if __name__ == "__main__":
    main()
