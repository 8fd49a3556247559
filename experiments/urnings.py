"""Figures 1 to 11 of "Urnings: a new method for tracking dynamically changing parameters" (Bolsinova and others 2022).

    python experiments/urnings.py          # half an hour: 1e8 games six times; writes PNGs and JSON, part by part
    python experiments/urnings.py --quick  # on 100 players and simulated histories; writes only to --out

simulation (section 3.1): a thousand players whose logits are quantiles of the standard normal distribution, in urns of
100 balls, matched by likeness of their urns (lambda = 2). Half of the balls are green, a fifth or four fifths; with the
correction for the matchmaking, and without; U2, and the paper's U1. Means are over the records after the first tenth,
as in the paper.

changes (section 1, "who has changed?"): the same players; then a tenth of them change, half of these up and half down
by so many logits, and `jr.urns.find_changed_skills` compares the urns with those some games per ball later. Also where
it says that it does not hold: with first urns that have not forgotten their start, and without the correction.

chess, movies, learners (sections 3.2 to 3.4): the paper's data are not public, so that others stand in: TCEC's games
between chess programs, each family of versions a player (21,000 games, not 2 million; urns of 50 balls, not 200);
MovieLens latest-small (100,000 reviews, not 20 million; movies of 20 balls, not 100, of users 10 as in the paper);
ASSISTments 2017 (940,000 answers, not 1.7 million; exercises of 200 balls and learners of 20 as in the paper). As
there, nobody knows who was matched with whom and why. Figures 7 and 9 are given twice. The paper looks at the urns
after the update, into which the answer has gone already; to predict, one has the urns before it. A game counts there
once either player has played 3 games per ball.

estimates: predictions from r / n, as in the paper, and from (r + 1) / (n + 2), as by default here. All games are scored
one step ahead, and those alone whose players both have played 3 games per ball. "impossible" counts the results to
which r / n gave no chance at all: their log loss is infinite, and is that of a probability of 2^-24 in the table. "off"
is how far the share of wins is from what was expected, root mean square over twenty bins of the expectation.
"""

import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import matplotlib
import numpy as np
from common import find, measure
from figures import BLUE, GREEN, ORANGE, RED, legend_above, plt, save
from pyarrow import parquet
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import binom, norm

import jaxrate as jr
from jaxrate.urns import matchmakers

# --- Section 3.1: figures 1 to 3. ---

SIZE, RECORDS, PIECES = 100, 5000, 10


class Setting(NamedTuple):
    variant: str
    share: float  # of green balls
    corrected: bool = True


PAPER, UNCORRECTED = Setting("U2", 0.5), Setting("U2", 0.5, corrected=False)
LOW, HIGH = Setting("U2", 0.2), Setting("U2", 0.8)
SETTINGS = PAPER, UNCORRECTED, LOW, HIGH, Setting("U1", 0.5), Setting("U1", 0.5, corrected=False)


class Played(NamedTuple):
    green: np.ndarray  # [records, num_players]
    games: np.ndarray  # [records]
    seconds: float

    @property
    def settled(self):
        """[records, num_players] r / n without the first tenth."""
        return self.green[len(self.green) // 10 :] / SIZE


def play(setting, truth, games, records):
    """In pieces, of which the states are small; compiling is not timed."""
    system, similar = jr.urnings(SIZE, variant=setting.variant), matchmakers.similarity_matchmaker(2.0)
    state = jr.urns.make_urns(np.full(len(truth), SIZE), setting.share)
    options = dict(matchmaker=similar, corrected=setting.corrected, record_every=games // records)
    keys = jax.random.split(jax.random.key(SETTINGS.index(setting)), PIECES)
    jr.urns.simulate_world(system, truth, games // PIECES, keys[0], state=state, **options)
    green, start = [], time.perf_counter()
    for key in keys:
        state, some, _ = jr.urns.simulate_world(system, truth, games // PIECES, key, state=state, **options)
        green.append(some.astype(np.int16))
    return Played(np.concatenate(green), games // records * np.arange(1, records + 1), time.perf_counter() - start)


def implied(truth, share):
    """[num_players] the proportions that have the same odds ratios as the true ones and this mean."""
    shift = brentq(lambda c: expit(logit(truth) + c).mean() - share, -20, 20)
    return expit(logit(truth) + shift)


def row(setting, truth, played):
    p, target = played.settled, implied(truth, setting.share)
    mean = p.mean(axis=0)
    slope, intercept = np.polyfit(logit(truth), logit(np.clip(mean, 1e-3, 1 - 1e-3)), 1)
    return {
        **setting._asdict(),
        "correlation": np.mean([np.corrcoef(truth, one)[0, 1] for one in p]),
        "correlation_end": np.corrcoef(truth, p[-1])[0, 1],
        "variance": p.var(axis=1).mean(),
        "variance_of_theory": target.var() + (target * (1 - target)).mean() / SIZE,
        "logit_slope": slope,
        "logit_intercept": intercept,
        "intercept_of_theory": (logit(target) - logit(truth)).mean(),
        "inside_ellipse": np.mean(np.abs(p - target) <= 1.96 * np.sqrt(target * (1 - target) / SIZE)),
        "million_games_per_second": played.games[-1] / played.seconds / 1e6,
    }


def ellipse(axes):
    """Where r / n of binomial urns is in 95 of 100 cases."""
    pi = np.linspace(0, 1, 501)
    width = 1.96 * np.sqrt(pi * (1 - pi) / SIZE)
    axes.plot(pi, pi - width, "k", pi, pi + width, "k", linewidth=1)


def figure_1(truth, played):
    figure, axes = plt.subplots(figsize=(5.2, 5))
    for setting, colour, label in ((UNCORRECTED, BLUE, "without correction"), (PAPER, RED, "with correction")):
        axes.plot(truth, played[setting].green[-1] / SIZE, ".", color=colour, markersize=3, label=label)
    ellipse(axes)
    axes.set(xlabel="true proportion $\\pi$", ylabel="scaled urning $r/n$ after the last game", aspect="equal")
    axes.legend(loc="upper left", markerscale=3)
    return figure


def figure_2(truth, played):
    """Two players, one tenth from either end; every tenth record."""
    figure, axes = plt.subplots(figsize=(9, 4))
    for place, player in enumerate((len(truth) // 10, len(truth) - 1 - len(truth) // 10)):
        for setting, colour in ((UNCORRECTED, BLUE), (PAPER, RED)):
            one = played[setting]
            label = "with correction" if setting.corrected else "without correction"
            line = axes.plot(one.games[::10] / 1e6, one.green[::10, player] / SIZE, color=colour, linewidth=0.8)
            line[0].set_label(None if place else label)
        axes.axhline(truth[player], color="black", linewidth=1.2)
    axes.set(xlabel="games (million)", ylabel="scaled urning $r/n$", ylim=(0, 1), xlim=(0, None))
    legend_above(figure, axes, 2)
    return figure


def figure_3(truth, played):
    """Dots are the simulation, lines the theory."""
    figure, panels = plt.subplots(1, 3, figsize=(12, 4))
    player = len(truth) // 2
    balls = np.arange(SIZE + 1)
    for setting, colour in ((LOW, BLUE), (PAPER, RED), (HIGH, GREEN)):
        p, target = played[setting].settled, implied(truth, setting.share)
        label = f"$R_+/(nN)$ = {setting.share:g}"
        panels[0].plot(truth[::10], p.mean(axis=0)[::10], ".", color=colour, label=label)
        panels[0].plot(truth, target, color=colour, linewidth=0.8)
        panels[1].plot(logit(truth)[::10], logit(p.mean(axis=0))[::10], ".", color=colour)
        panels[1].plot(logit(truth), logit(target), color=colour, linewidth=0.8)
        below = (p[:, player, None] <= (balls + 0.5) / SIZE).mean(axis=0)
        panels[2].plot(balls / SIZE, below, ".", color=colour, markersize=4)
        panels[2].step(balls / SIZE, binom.cdf(balls, SIZE, target[player]), color=colour, linewidth=0.8, where="post")
    panels[0].set(xlabel="true proportion $\\pi$", ylabel="mean scaled urning")
    panels[1].set(xlabel="logit of $\\pi$", ylabel="logit of the mean scaled urning")
    panels[2].set(xlabel="scaled urning of the median player", ylabel="cumulative distribution")
    legend_above(figure, panels[0], 3)
    return figure


def part_simulation(options):
    """A row of each setting, and the figures."""
    players, records = (100, 500) if options.quick else (1000, RECORDS)
    games = options.games or (50_000 if options.quick else 10**8)
    if games < records or games % records:
        raise SystemExit(f"--games must be a multiple of {records}")
    truth = expit(norm.ppf((np.arange(players) + 0.5) / players))
    played = {setting: play(setting, truth, games, records) for setting in SETTINGS}
    rows = [row(setting, truth, one) for setting, one in played.items()]
    figures = {"1": figure_1(truth, played), "2": figure_2(truth, played), "3": figure_3(truth, played)}
    save(figures, options.out, "urnings_figure")
    return {f"section 3.1, {players:,} players, {games:,} games": rows}


# --- Section 1: who has changed? ---

RATE = 0.05
STEPS = 0.5, 1, 3, 10  # games per ball between the two times
CHANGES = 0.0, 0.5, 1.0, 1.5  # logits


class World:
    """Urns at play."""

    def __init__(self, players, size, corrected, seed):
        self.logit = norm.ppf((np.arange(players) + 0.5) / players)
        self.size, self.corrected, self.key = size, corrected, jax.random.key(seed)
        self.system, self.matchmaker = jr.urnings(size), matchmakers.similarity_matchmaker(2.0)
        self.state = jr.urns.make_urns(np.full(players, size))

    def play(self, logits, per_ball=10):
        """States after `STEPS` games per ball, of those up to `per_ball`."""
        half = len(logits) * self.size // 4  # half a game per ball
        self.key, key = jax.random.split(self.key)
        options = dict(matchmaker=self.matchmaker, corrected=self.corrected, record_every=half, state=self.state)
        played = jr.urns.simulate_world(self.system, expit(logits), int(2 * per_ball) * half, key, **options)
        self.state = played.state
        return [self.state._replace(green=played.green[int(2 * x) - 1]) for x in STEPS if x <= per_ball]


def change_row(name, change, per_ball, results, moved):
    """Of the results of each try."""
    false = [x.changed & ~moved for x in results]
    found = [x.changed & moved for x in results]
    return {
        "urns": name,
        "change": change,
        "games_per_ball": per_ball,
        "p_up_to_5_percent_of_the_same": np.mean([(x.p <= RATE)[~moved].mean() for x in results]),
        "tries_with_a_false_one": np.mean([x.any() for x in false]),
        "false_of_the_called": np.mean(
            [x.sum() / max(y.changed.sum(), 1) for x, y in zip(false, results, strict=True)]
        ),
        "found_of_the_changed": np.mean([x.sum() / max(moved.sum(), 1) for x in found]) if moved.any() else None,
    }


def changes(players, size, tries):
    world, rows = World(players, size, True, 0), []
    world.play(world.logit)
    chosen = np.random.default_rng(0).permutation(players // 2)[: players // 20]
    moved = np.isin(np.arange(players), [chosen, players - 1 - chosen])
    for change in CHANGES:
        new, results = world.logit.copy(), []
        up = np.random.default_rng(1).choice([-change, change], len(chosen))
        new[chosen] += up
        new[players - 1 - chosen] -= up  # the mean proportion stays one half
        for _ in range(tries):
            before = world.state
            results.append(
                [jr.urns.find_changed_skills(before, after, false_discovery_rate=RATE) for after in world.play(new)]
            )
            world.play(world.logit)
        who = moved & (change > 0)
        rows += [
            change_row("at their law", change, *x, who) for x in zip(STEPS, zip(*results, strict=True), strict=True)
        ]
    return rows


def pitfalls(players, size, tries):
    """False alarms by first urns on the way, and by matchmaking without correction; nobody changes."""
    rows, nobody = [], np.zeros(players, bool)
    starts = {step: [] for step in STEPS}
    for seed in range(tries):
        world = World(players, size, True, 1000 + seed)
        first = world.play(world.logit)
        later = world.play(world.logit)[-1]
        for step, before in zip(STEPS, first, strict=True):
            starts[step].append(jr.urns.find_changed_skills(before, later, false_discovery_rate=RATE))
    rows += [change_row(f"{x:g} games per ball after the start", 0.0, 20 - x, y, nobody) for x, y in starts.items()]
    world, results = World(players, size, False, 1), []
    world.play(world.logit)
    for _ in range(tries):
        before = world.state
        results.append(jr.urns.find_changed_skills(before, world.play(world.logit)[-1], false_discovery_rate=RATE))
    return [*rows, change_row("matchmaking not corrected", 0.0, STEPS[-1], results, nobody)]


def part_changes(options):
    """Who is found, and false alarms."""
    sizes = (100, 20, 2) if options.quick else (1000, 100, 20)
    return {"changes": changes(*sizes), "where it does not hold": pitfalls(*sizes)}


# --- Sections 3.2 to 3.4: histories, and what their urns held. ---

BALLS = 50  # of a chess program's urn
MOVIE, USER, EXERCISE, LEARNER = 20, 10, 200, 20
TRIALS = "Test", "Calibration", "Odds"  # in the names of events that are no tournaments


class Replay(NamedTuple):
    """What the urns of both players held around each of n games, and how many games each had played before."""

    prediction: np.ndarray  # [n, ...]
    before: np.ndarray  # [n, 2] green balls
    after: np.ndarray  # [n, 2]
    size: np.ndarray  # [n, 2]
    games: np.ndarray  # [n, 2]
    state: object

    @property
    def settled(self):
        """Who has played 3 games per ball."""
        return (self.games >= 3 * self.size).all(axis=1)


def replay(system, matches, state, seed=0):
    history = jr.history.rating_history(system, matches, state=state, key=jax.random.key(seed))
    player, all_sizes = np.asarray(matches.player), np.asarray(history.state.size)
    size = all_sizes[player]
    before = np.rint(np.asarray(history.before.mean, np.float64) * size).astype(int)
    flat = player.ravel()
    order = np.argsort(flat, kind="stable")
    first = np.diff(flat[order], prepend=-1) != 0
    games, after = np.empty(len(flat), int), np.asarray(history.state.green)[flat]
    games[order] = np.arange(len(flat)) - np.maximum.accumulate(np.where(first, np.arange(len(flat)), 0))
    after[order[:-1]] = np.where(first[1:], after[order[:-1]], before.ravel()[order[1:]])
    prediction = np.asarray(history.prediction, np.float64)
    return Replay(prediction, before, after.reshape(-1, 2), size, games.reshape(-1, 2), history.state)


def chess(data, quick):
    """Games of two families, and their names."""
    if quick:
        random = np.random.default_rng(0)
        players, games, strength = 20, 20_000, random.normal(0, 0.4, 20)
        first = random.integers(0, players, games)
        player = np.stack([first, (first + random.integers(1, players, games)) % players], axis=1)
        lead = strength[player[:, 0]] - strength[player[:, 1]] + 0.1
        chance = np.stack([np.exp(-lead), np.full(games, 4.0), np.exp(lead)], axis=1)
        chance /= chance.sum(axis=1, keepdims=True)
        score = (random.random((games, 1)) > chance.cumsum(axis=1)[:, :2]).sum(axis=1) / 2
        return jr.matches(player, score, np.arange(games) // 50), [f"P{k}" for k in range(players)]
    table, who = (read_columns(data / f"chess_tcec{part}.parquet") for part in ("", "_players"))
    names, number = np.unique(np.asarray(who["family"], str), return_inverse=True)
    family = np.empty(int(who["id"].max()) + 1, int)
    family[who["id"]] = number
    player = family[np.stack([table["a"], table["b"]], axis=1)]
    trial = [any(word in event for word in TRIALS) for event in table["event"]]
    real = (player[:, 0] != player[:, 1]) & ~np.array(trial)
    return jr.matches(player[real], table["score"][real], table["t"][real]), names.tolist()


def read_columns(path):
    table = parquet.read_table(path)
    return {name: np.asarray(table[name]) for name in table.column_names}


def answers(data, name, quick, first, second, games):
    """Matches, the number of the first kind, and the names of all."""
    if not quick:
        table = read_columns(data / f"{name}.parquet")
        who = read_columns(data / f"{name}_players.parquet")
        time = table["t"] if "t" in table else table["step"]
        labels = who.get("name", np.char.add("exercise ", who["source_id"].astype(str)))
        matches = jr.matches(np.stack([table["a"], table["b"]], axis=1), table["score"], time)
        return matches, int((who["kind"] == who["kind"][0]).sum()), labels
    random = np.random.default_rng(1)
    skill = random.normal(0, 1, first + second)
    player = np.stack([random.integers(0, first, games), first + random.integers(0, second, games)], axis=1)
    won = random.random(games) < 1 / (1 + np.exp(-skill[player[:, 0]] + skill[player[:, 1]]))
    return jr.matches(player, won, np.arange(games) // 50), first, [f"P{k}" for k in range(first + second)]


def at_random(sizes, seed=0):
    """Urns that start anywhere, as in the paper."""
    return jr.urns.make_urns(sizes, np.random.default_rng(seed).integers(0, sizes + 1) / sizes)


DRAW_WEIGHTS = 1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 14.0, 20.0
SAGA = {
    "IV (1977)": "Star Wars: Episode IV",
    "V (1980)": "Star Wars: Episode V -",
    "VI (1983)": "Star Wars: Episode VI",
    "I (1999)": "Star Wars: Episode I -",
    "II (2002)": "Star Wars: Episode II -",
    "III (2005)": "Star Wars: Episode III",
}


def logit_of_urn(green, size):
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


def folder(options):
    """The folder of the histories, if they are there."""
    return options.quick or (find(options, "movielens_small.parquet") and Path(options.data))


def part_chess(options):
    """The weight of draws, and whether white and black are one skill."""
    if not (data := folder(options)):
        return None
    quick = options.quick
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
        lead = np.diff(-logit_of_urn(run.before, run.size), axis=1)[known, 0]
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
    save({"4": figure_4, "5": figure_5, "6": figure_6}, options.out, "urnings_figure")
    return results


def trace(axes, run, matches, player, start, colour, label, dates=False, number=False):
    """The urn of one player after each game, from game `start` on; of numbered games or by the clock."""
    event, side = np.nonzero(np.asarray(matches.player) == player)
    green, size, time = run.after[event, side], run.size[event, side], np.asarray(matches.time)[event]
    x = np.arange(len(event)) if number else time.astype("datetime64[D]") if dates else time
    axes.step(x[start:], (green / size)[start:], color=colour, linewidth=1.2, label=label, where="post")


# --- Movies and exercises: figures 7 to 11. ---


def expected_before(green, size):
    """The library's prediction."""
    lead = logit_of_urn(green[:, 0], size[:, 0]) - logit_of_urn(green[:, 1], size[:, 1])
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


def off_chance(name, run, score, least):
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


def part_movies(options):
    """Expected and observed shares of likes."""
    if not (data := folder(options)):
        return None
    quick = options.quick
    matches, movies, names = answers(data, "movielens_small", quick, 200, 100, 40_000)
    sizes = np.where(np.arange(len(names)) < movies, MOVIE, USER)
    run = replay(jr.urnings(), matches, at_random(sizes))
    score = np.asarray(matches.score)
    results = {"figure 7, observed less expected": off_chance("movies", run, score, 10)}
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
    save({"7": figure_7, "8": figure_8}, options.out, "urnings_figure")
    return results


def part_learners(options):
    """Expected and observed shares of right answers."""
    if not (data := folder(options)):
        return None
    quick = options.quick
    matches, learners, names = answers(data, "edu_assist2017_pid", quick, 200, 60, 60_000)
    sizes = np.where(np.arange(len(names)) < learners, LEARNER, EXERCISE)
    run = replay(jr.urnings(), matches, at_random(sizes))
    score, least = np.asarray(matches.score), 10 if quick else 100
    results = {"figure 9, observed less expected": off_chance("exercises", run, score, least)}
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
    mine = logit_of_urn(run.before[event, 0], LEARNER)[3 * LEARNER :]
    known = np.flatnonzero((games >= 3 * EXERCISE) & (np.arange(len(names)) >= learners))
    known = known if len(known) else busiest
    hard = logit_of_urn(np.asarray(run.state.green)[known], EXERCISE)
    share = (1 / (1 + np.exp(hard[None, :] - mine[:, None]))).mean(axis=1)
    figure_11, axes = plt.subplots(figsize=(8, 3.8))
    axes.plot(3 * LEARNER + np.arange(len(mine)), share, color=RED, linewidth=1)
    axes.set(xlabel="answers of the learner", ylabel="expected share right", ylim=(0, 1))
    axes.set_title(f"of the {len(known)} exercises, as difficult as they are at the end", fontsize=10)
    save({"9": figure_9, "10": figure_10, "11": figure_11}, options.out, "urnings_figure")
    return results


# --- Predictions by r / n. ---


def off(prediction, score, bins=20):
    which = np.minimum((prediction * bins).astype(int), bins - 1)
    count = np.maximum(np.bincount(which, minlength=bins), 1)
    gap = np.bincount(which, score - prediction, minlength=bins) / count
    return np.sqrt(np.average(gap**2, weights=count))


def rows_of(name, make, matches, state):
    score, rows = np.asarray(matches.score), []
    for estimate in ("mean", "share"):
        run = replay(jr.forecasts.add_outcomes(make(estimate=estimate)), matches, state)
        levels = run.prediction
        level = np.rint(score * (levels.shape[1] - 1)).astype(int)
        said = levels[np.arange(len(level)), level]
        expected = levels @ np.linspace(0, 1, levels.shape[1])
        for which, some in (("all", np.ones(len(score), bool)), ("settled", run.settled)):
            rows.append(
                {
                    "history": name,
                    "games": which,
                    "estimate": estimate,
                    "count": int(some.sum()),
                    "impossible": int((said[some] == 0).sum()),
                    "log_loss": -np.log(np.maximum(said[some], 2.0**-24)).mean(),
                    "brier": ((levels[some] - np.eye(levels.shape[1])[level[some]]) ** 2).sum(axis=1).mean(),
                    "off": off(expected[some], score[some]),
                }
            )
    return rows


def part_estimates(options):
    """Losses by both estimates."""
    if not (data := folder(options)):
        return None
    rows, (matches, names) = [], chess(data, options.quick)
    for weight in (2.0, 5.0):
        make, start = (
            partial(jr.urnings, BALLS, 3, draw_weight=weight),
            jr.urns.make_urns(np.full(2 * len(names), BALLS)),
        )
        rows += rows_of(f"chess, draw weight {weight:g}", make, jr.urns.split_by_side(matches), start)
    for name, file, sizes, quick in (
        ("movies", "movielens_small", (MOVIE, USER), (200, 100, 40_000)),
        ("exercises", "edu_assist2017_pid", (LEARNER, EXERCISE), (200, 60, 60_000)),
    ):
        matches, first, names = answers(data, file, options.quick, *quick)
        rows += rows_of(name, jr.urnings, matches, at_random(np.where(np.arange(len(names)) < first, *sizes)))
    return {"one step ahead": rows}


PARTS = {"simulation": part_simulation, "changes": part_changes, "chess": part_chess, "movies": part_movies}
PARTS |= {"learners": part_learners, "estimates": part_estimates}

if __name__ == "__main__":
    games = {"type": int, "help": "of each setting of the simulation, 1e8 by default; a multiple of 5,000"}
    measure(PARTS, "100 players, few games, simulated histories", "the histories", arguments={"games": games})
