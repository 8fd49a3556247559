"""Section 3.1 of "Urnings: a new method for tracking dynamically changing parameters" (Bolsinova and others 2022).

    python experiments/urnings_simulation.py          # a quarter of an hour: 1e8 games each; writes PNGs and JSON
    python experiments/urnings_simulation.py --quick  # seconds, 100 players; writes nothing unless --out is given

A thousand players whose logits are quantiles of the standard normal distribution, in urns of 100 balls, matched by
likeness of their urns (lambda = 2). Half of the balls are green, a fifth or four fifths; with the correction for the
matchmaking, and without; U2, and the paper's U1. Means are over the records after the first tenth, as in the paper.
"""

import time
from typing import NamedTuple

import jax
import numpy as np
from common import circumstances, declare, parse, show, write
from figures import BLUE, GREEN, RED, legend_above, plt, save
from scipy.optimize import brentq
from scipy.stats import binom, norm

import jaxrate as jr
from jaxrate.urns import matchmakers

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


def logit(p):
    return np.log(p / (1 - p))


def expit(x):
    return 1 / (1 + np.exp(-x))


def play(setting, truth, games, records):
    """In pieces, to tell how far it is; compiling is not timed."""
    system, similar = jr.urnings(SIZE, variant=setting.variant), matchmakers.similarity_matchmaker(2.0)
    state = jr.urns.make_urns(np.full(len(truth), SIZE), setting.share)
    options = dict(matchmaker=similar, corrected=setting.corrected, record_every=games // records)
    keys = jax.random.split(jax.random.key(SETTINGS.index(setting)), PIECES)
    jr.urns.simulate_world(system, truth, games // PIECES, keys[0], state=state, **options)
    print(f"{setting.variant}, {setting.share:g} of the balls, {'' if setting.corrected else 'not '}corrected:", end="")
    green, start = [], time.perf_counter()
    for number, key in enumerate(keys):
        state, some, _ = jr.urns.simulate_world(system, truth, games // PIECES, key, state=state, **options)
        green.append(some.astype(np.int16))
        print(f" {(number + 1) / PIECES:.0%}", end="", flush=True)
    seconds = time.perf_counter() - start
    print(f", {games / seconds / 1e6:.2f} million games/s")
    return Played(np.concatenate(green), games // records * np.arange(1, records + 1), seconds)


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


def main():
    parser = declare(__doc__, "100 players and few games", out="the JSON file; the figures go beside it")
    parser.add_argument("--games", type=int, help="of each setting, 1e8 by default; a multiple of 5,000")
    options = parse(parser, __file__)
    players, records = (100, 500) if options.quick else (1000, RECORDS)
    games = options.games or (50_000 if options.quick else 10**8)
    if games < records or games % records:
        parser.error(f"--games must be a multiple of {records}")
    report = circumstances("matplotlib") | {"players": players, "games": games}

    truth = expit(norm.ppf((np.arange(players) + 0.5) / players))
    played = {setting: play(setting, truth, games, records) for setting in SETTINGS}
    rows = [row(setting, truth, one) for setting, one in played.items()]
    show({f"{players:,} players, {games:,} games": rows})
    figures = {"1": figure_1(truth, played), "2": figure_2(truth, played), "3": figure_3(truth, played)}
    write(options.out, report, {"section 3.1": rows})
    save(figures, options.out, "urnings_figure")


if __name__ == "__main__":
    main()
