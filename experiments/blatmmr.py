"""The figures and the comparison of "Paired comparisons for games of chance" (Cowan 2023), the paper of BlatMMR.

    python experiments/blatmmr.py           # minutes; writes PNGs and JSON to experiments/results
    python experiments/blatmmr.py --quick   # seconds, on a small league; writes nothing unless --out is given

The paper's Duelyst II matches are not public. Figure 3.1 needs none. Figures 3.2 and 5.1 are made from a simulated
league of as many matches, with BlatMMR's own prior, luck beta = 0.8, a slow drift of the strengths and rare draws:
they show the shapes of the paper's figures, not its numbers. Opponents are drawn without regard to strength.

The comparison of section 5 is made on that league and on the real histories of the data folder. The paper goes through
the matches in order of time and names no rating periods for Glicko-2; here each match is one, and the clock counts for
no system, nor do sides. A match counts once both players' deviations are below 70 points, which each system decides for
itself; the paper averages over such matches, so that each system answers for others. All three are therefore also
compared on the matches that count for all. (In the Lichess games nearly nobody plays often enough to count: left out.)

"kernels" asks whether another shape than the Gaussian predicts better. Every system is fitted to the first 70% of
10,000 matches of Go, by six steps, and scored on the rest by the mean log loss, one step ahead. Standard errors are
those of the mean of paired differences from the Gaussian kernel. The grid has 181 points to 4.5 natural units on either
side. The box is the smooth exp(-d^8), since slopes know nothing of the edges of a true one. "by strength" is a Gaussian
whose width grows as exp(slope x) with the strength x. "heavy" has the tails of a power, and the prior of "logistic
prior" those of a logistic distribution.
"""

import time
from functools import partial
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from common import find, fit_options, log_losses, mean_and_error, measure
from figures import BLUE, GREEN, RED, legend_above, plt, save
from histories import read_history
from scipy.special import ndtr

import jaxrate as jr
from jaxrate.data.simulate import league
from jaxrate.events import slice_events

DUELYST = 1_126_592  # matches in the paper
SETTLED = 70.0  # points: matches count when both players' deviations are below
BLATMMR = "BlatMMR, β = 0.8"
SYSTEMS = {
    "Glicko-2": partial(jr.glicko2, tau=0.5, initial_deviation=200.0, initial_volatility=0.06, match_periods=1.0),
    BLATMMR: partial(jr.blat_mmr, beta=0.8),
    "BlatMMR, β = 0.9": partial(jr.blat_mmr, beta=0.9),
}
COLOURS = GREEN, RED, BLUE
SETS = ("atp", "go_tygem", "ncaa_basketball", "intl_football", "chess_tcec", "llmfao", "lol_pro", "sc2_tlpd_korean")
DROP = {"atp": "walkover"}
POINTS = 20_000  # of a system in a scatter plot: more would only cover each other


class Rated(NamedTuple):
    """What one system made of a history of n matches."""

    loss: np.ndarray  # [n] -log of the chance that it gave to the result
    mean: np.ndarray  # [n, 2] ratings before the match
    deviation: np.ndarray  # [n, 2]
    final: np.ndarray  # [num_players] ratings at the end

    @property
    def settled(self):
        return (self.deviation < SETTLED).all(axis=1)

    @property
    def gap(self):
        return np.abs(self.mean[:, 0] - self.mean[:, 1])


def rate(system, matches):
    """A draw has the loss of half a win and half a loss, -log sqrt(p (1 - p)); p is kept from 0 and 1 as in metrics."""
    history = jr.history.rating_history(system, matches._replace(time=np.zeros_like(matches.time)))
    loss = log_losses(history.prediction, matches.score)
    final = system.summary(system.params, history.state).mean
    return Rated(loss, *(np.asarray(x, np.float64) for x in (*history.before, final)))


def simulated(quick):
    """Like Duelyst II in its number of matches, in those of its two busiest players, and in how rare its draws are."""
    num_players, num_matches = (100, 2_000) if quick else (20_000, DUELYST)
    prior = SYSTEMS[BLATMMR]().params.prior_deviation * jr.extend.luck.POINTS_PER_NATURAL_UNIT
    return league(
        num_players, num_matches, days=365.0, spread=prior, drift=50.0, activity=0.34, draws=0.003, luck=0.8
    ).matches


# --- Figure 3.1: what a win against 2000 points is worth. ---

BETAS, SIGMAS, OPPONENT = (0.8, 0.99, 1.0), (50, 100, 150, 200, 250, 300), 2000.0


def gains(beta, means):
    """[6, n] m' - m by sigma and m, of n means in points: each prior wins a match against an opponent known exactly."""
    system = jr.blat_mmr("bradley_terry_400", half_width=5000.0, kernel="none", beta=beta)
    rating, n = 1500.0 + np.linspace(-5000.0, 5000.0, 1001), len(means)
    certain = np.tile(rating == OPPONENT, (n, 1))
    matches = jr.matches(np.arange(2 * n).reshape(2, n).T, np.ones(n))
    rows = []
    for sigma in SIGMAS:
        prior = np.exp(-0.5 * ((rating - means[:, None]) / sigma) ** 2)
        prior /= prior.sum(axis=1, keepdims=True)
        state = system.init(system.params, 2 * n)._replace(belief=np.concatenate([prior, certain]))
        after = jr.run(system, matches, state=state).state
        rows.append(np.asarray(system.summary(system.params, after).mean)[:n] - means)
    return np.stack(rows)


def equation_4(beta, sigma, means):
    """[n] the same by quadrature: beta int L0 (x - m) phi / ((1 - beta)/2 + beta int L0 phi).

    So equation (4) should read; its numerator is garbled in print.
    """
    z = np.linspace(-12.0, 12.0, 481)
    phi = np.exp(-0.5 * z**2) * (z[1] - z[0]) / np.sqrt(2.0 * np.pi)
    chance = 1.0 / (1.0 + 10.0 ** ((OPPONENT - means[:, None] - sigma * z) / 400.0))
    return beta * (chance @ (sigma * z * phi)) / ((1.0 - beta) / 2.0 + beta * (chance @ phi))


def figure_3_1(means):
    """The figure, rows with the maxima, and how far the library is from equation (4) at most."""
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True)
    colours, rows, off = plt.cm.viridis(np.linspace(0.0, 0.85, len(SIGMAS))), [], 0.0
    for panel, beta in zip(panels, BETAS, strict=True):
        with jax.enable_x64(True):
            table = gains(beta, means)
        for sigma, gain, colour in zip(SIGMAS, table, colours, strict=True):
            best = int(np.argmax(gain))
            panel.plot(means, gain, color=colour, label=rf"$\sigma$ = {sigma}")
            panel.plot(means[best], gain[best], "o", color=colour, markeredgecolor="black", clip_on=False, zorder=3)
            rows.append({"beta": beta, "sigma": sigma, "m_of_maximum": means[best], "maximum": gain[best]})
            off = max(off, np.abs(gain - equation_4(beta, sigma, means)).max())
        panel.axvline(OPPONENT, color="grey", linewidth=0.8, linestyle=":")
        panel.set(title=rf"$\beta$ = {beta:g}", xlabel="$m$ (points)", xlim=(0, 4000), xticks=range(0, 4001, 1000))
    panels[0].set(ylabel="$m' - m$ (points)", ylim=(0, None))
    figure.get_layout_engine().set(wspace=0.06)
    legend_above(figure, panels[0], 6)
    return figure, rows, off


# --- Figure 3.2: what each match was worth to the two busiest players. ---


def figure_3_2(matches, rated, skip=100):
    """The figure, and a row about each of the two; their first `skip` matches are left out."""
    figure, axes = plt.subplots(figsize=(7, 4.6))
    games = np.bincount(matches.player.ravel())
    rows = []
    for name, colour, player in zip("PQ", (RED, BLUE), np.argsort(-games)[:2], strict=True):
        number, side = np.nonzero(matches.player == player)
        mean, deviation = rated.mean[number, side], rated.deviation[number, side][skip:]
        change = np.diff(mean, append=rated.final[player])[skip:]
        lead = (mean - rated.mean[number, 1 - side])[skip:]
        label = f"{name}: {len(number):,} matches"
        draws = int(np.sum(matches.score[number[skip:]] == 0.5))
        axes.plot(lead, change, ".", color=colour, markersize=4, alpha=0.5, markeredgewidth=0, label=label)
        rank = 100.0 * np.mean(rated.final[games > 0] < rated.final[player])
        row = {"player": name, "matches": len(number), "percentile": rank, "draws_shown": draws}
        rows.append(row | {"deviation_least": deviation.min(), "deviation_most": deviation.max()})
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set(xlabel="rating difference to the opponent (points)", ylabel="change in rating (points)")
    figure.legend(loc="outside upper center", ncols=2, markerscale=4)
    return figure, rows


# --- Figure 5.1: where the log loss comes from. ---


def loss_by_gap(gap, loss, x, width=5.0):
    """[len(x)] the paper's sum of -log p K(x, |r_A - r_B|) / int_0^inf K(x, t) dt, which integrates to the mean loss.

    Matches are first added up in bins much narrower than the Gaussian K.
    """
    step = width / 10.0
    total = np.bincount((gap / step).astype(int), loss)
    centre = step * (np.arange(len(total)) + 0.5)
    curve = np.exp(-0.5 * ((x[:, None] - centre) / width) ** 2) @ total / ndtr(x / width)
    return curve * loss.mean() / np.trapezoid(curve, x)


def figure_5_1(rated):
    """Of each system `POINTS` matches that count for it on the left, all of them on the right."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), sharex=True)
    random, points = np.random.default_rng(0), []
    x = np.arange(max(one.gap[one.settled].max() for one in rated.values()) + 30.0)
    for number, (name, one) in enumerate(rated.items()):
        gap, loss = one.gap[one.settled], one.loss[one.settled]
        right.plot(x, loss_by_gap(gap, loss, x), color=COLOURS[number], label=name)
        some = random.permutation(len(gap))[:POINTS]
        points.append(np.stack([gap[some], loss[some], np.full(len(some), number)]))
    gap, loss, number = random.permutation(np.concatenate(points, axis=1), axis=1)  # no system on top
    left.scatter(gap, loss, c=np.array(COLOURS)[number.astype(int)], s=2, linewidths=0)
    left.set(xlabel="rating difference (points)", ylabel="log loss of a match", xlim=(0, None), ylim=(0, None))
    right.set(xlabel="rating difference (points)", ylabel="share of the log loss (per point)", ylim=(0, None))
    legend_above(figure, right, 3)
    return figure


# --- Section 5: average log losses. ---


def comparison(name, rated):
    """A row for each system: its average log loss on all matches, on those that count for it, and on the common ones.

    On these also how far it is above that of the paper's choice, and the standard error of that difference.
    """
    common = np.logical_and.reduce([one.settled for one in rated.values()])
    rows = []
    for system, one in rated.items():
        loss, above = one.loss, (one.loss - rated[BLATMMR].loss)[common]
        row = {"data": name, "system": system, "all": loss.size, "loss_all": loss.mean()}
        row |= {"own": int(one.settled.sum()), "loss_own": mean(loss[one.settled])}
        row |= {"common": int(common.sum()), "loss_common": mean(loss[common]), "above_0.8": mean(above)}
        rows.append(row | {"error": above.std(ddof=1) / np.sqrt(len(above)) if len(above) > 1 else None})
    return rows


def mean(values):
    return values.mean() if len(values) else None


def part_win(options):
    """Figure 3.1, and how far it is from equation (4)."""
    figure, rows, off = figure_3_1(np.arange(0.0, 4001.0, 200.0 if options.quick else 1.0))
    save({"3_1": figure}, options.out, "blatmmr_figure")
    return {"figure 3.1": rows, "figure 3.1, points off equation (4)": [{"largest": off}]}


def part_league(options):
    """Figures 3.2 and 5.1, and the comparison of section 5 on the simulated league and on real histories."""
    print("The paper's Duelyst II matches are not public: simulated and other real ones stand in for them.")
    matches, systems = simulated(options.quick), {name: make() for name, make in SYSTEMS.items()}
    rated = {name: rate(system, matches) for name, system in systems.items()}
    figure, busiest = figure_3_2(matches, rated[BLATMMR])
    save({"3_2": figure, "5_1": figure_5_1(rated)}, options.out, "blatmmr_figure")
    rows = comparison("simulated", rated)
    for name in SETS[-1:] if options.quick else SETS:
        if path := find(options, f"{name}.parquet"):
            real = jr.read(path, drop=DROP.get(name, ())).matches
            real = slice_events(real, 0, 500) if options.quick else real
            rows += comparison(name, {label: rate(system, real) for label, system in systems.items()})
    return {"figure 3.2": busiest, "section 5, average log loss": rows}


# --- Kernels and priors of one's own. ---

LEARNT = 0.7
MOST = 10_000
GRID = {"size": 181, "half_width": 4.5, "kernel_width": 0.12}
QUICK_GRID = GRID | {"size": 91, "kernel_width": 0.24}
STEPS = 6


def box(d):
    return jnp.exp(-(d**8))


def heavy(d, tail: Annotated[float, "positive"] = 2.0):
    return (1.0 + d**2) ** -tail


def by_strength(x, y, width, slope=0.0):
    return jnp.exp(-0.5 * ((y - x) / (width * jnp.exp(slope * x))) ** 2)


def logistic(x, scale: Annotated[float, "positive"] = 0.5, middle=0.0):
    return 1.0 / jnp.cosh(0.5 * (x - middle) / scale) ** 2


Kernel = jr.extend.kernels.Kernel
SHAPES = {  # what the factory is given, and what is fitted beside beta, the side and the kernel's width
    "gaussian": ({}, ("prior_deviation",)),
    "box": ({"kernel": Kernel(box)}, ("prior_deviation",)),
    "heavy": ({"kernel": Kernel(heavy)}, ("prior_deviation", "tail")),
    "by strength": ({"kernel": Kernel(by_strength)}, ("prior_deviation", "slope")),
    "gaussian, logistic prior": ({"prior": logistic}, ("scale",)),
}


def table(matches, options):
    """A row for each system."""
    cut, rows, gaussian = int(LEARNT * len(matches.score)), [], None
    sided = () if matches.context.side is None else ("side_advantage",)
    grid, search = QUICK_GRID if options.quick else GRID, fit_options(options.quick, STEPS)
    for name, (given, free) in list(SHAPES.items())[: 2 if options.quick else None]:
        began = time.perf_counter()
        free = "beta", "kernel_width", *free, *sided
        found = jr.fit(jr.blat_mmr(**grid | given), slice_events(matches, 0, cut), free=free, **search)
        seconds = time.perf_counter() - began
        loss = log_losses(jr.run(found.system, matches).prediction, matches.score)[cut:]
        gaussian = loss if gaussian is None else gaussian
        row = {"system": name, "log_loss": loss.mean()} | mean_and_error(loss - gaussian)
        row |= {"learnt": found.loss, "seconds": seconds}
        rows.append(row | {key: getattr(found.params, key) for key in found.free})
    return {f"{len(matches.score):,} matches, the last {len(matches.score) - cut:,} scored": rows}


def part_kernels(options):
    """The history of Go, or in quick mode a league."""
    if options.quick:
        return table(league(40, 400, seed=1).matches, options)
    data = read_history(options, "go")
    return data and table(slice_events(data.matches, 0, MOST), options)


PARTS = {"win": part_win, "league": part_league, "kernels": part_kernels}

if __name__ == "__main__":
    measure(PARTS, "a small league and some of one real set", "the real sets")
