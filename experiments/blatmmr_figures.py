"""The figures and the comparison of "Paired comparisons for games of chance" (Cowan 2023), the paper of BlatMMR.

    python experiments/blatmmr_figures.py             # minutes; writes PNGs and JSON to experiments/results
    python experiments/blatmmr_figures.py --quick     # seconds, on a small league; writes nothing unless --out is given

The paper's Duelyst II matches are not public. Figure 3.1 needs none. Figures 3.2 and 5.1 are made from a simulated
league of as many matches, with BlatMMR's own prior, luck beta = 0.8, a slow drift of the strengths and rare draws:
they show the shapes of the paper's figures, not its numbers. Opponents are drawn without regard to strength.

The comparison of section 5 is made on that league and on the real histories of the data folder. The paper goes through
the matches in order of time and names no rating periods for Glicko-2; here each match is one, and the clock counts for
no system, nor do sides. A match counts once both players' deviations are below 70 points, which each system decides for
itself; the paper averages over such matches, so that each system answers for others. All three are therefore also
compared on the matches that count for all. (In the Lichess games nearly nobody plays often enough to count: left out.)
"""

import time
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from common import circumstances, declare, find, parse, show, write
from figures import BLUE, GREEN, RED, legend_above, plt, save
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
    score, p = np.asarray(matches.score, np.float64), np.asarray(history.prediction, np.float64)
    p = np.clip(p, 2.0**-24, 1.0 - 2.0**-24)
    loss = -score * np.log(p) - (1.0 - score) * np.log1p(-p)
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


def main():
    out = "the JSON file; the figures go beside it"
    options = parse(declare(__doc__, "a small league and some of one real set", "the real sets", out), __file__)
    start, report = time.perf_counter(), circumstances("matplotlib")
    report["data"] = "the paper's Duelyst II matches are not public"
    print("The paper's Duelyst II matches are not public: simulated and other real ones stand in for them.")

    figures, results = {}, {}
    figures["3_1"], results["figure 3.1"], off = figure_3_1(np.arange(0.0, 4001.0, 200.0 if options.quick else 1.0))
    results["figure 3.1, points off equation (4)"] = [{"largest": off}]
    matches = simulated(options.quick)
    systems = {name: make() for name, make in SYSTEMS.items()}
    rated = {name: rate(system, matches) for name, system in systems.items()}
    figures["3_2"], results["figure 3.2"] = figure_3_2(matches, rated[BLATMMR])
    figures["5_1"] = figure_5_1(rated)
    results["section 5, average log loss"] = rows = comparison("simulated", rated)
    for name in SETS[-1:] if options.quick else SETS:
        if path := find(options, f"{name}.parquet"):
            real = jr.read(path, drop=DROP.get(name, ())).matches
            real = slice_events(real, 0, 500) if options.quick else real
            rows += comparison(name, {label: rate(system, real) for label, system in systems.items()})
    show(results)
    print(f"({time.perf_counter() - start:.0f} s)")
    write(options.out, report, results)
    save(figures, options.out, "blatmmr_figure")


if __name__ == "__main__":
    main()
