"""What the Elo-MMR paper (Ebtekar and Liu 2021) proves or says in section 5, as pictures and numbers.

    python experiments/elo_mmr_properties.py           # one minute; writes PNGs and JSON to experiments/results
    python experiments/elo_mmr_properties.py --quick   # seconds, a part of it; writes nothing unless --out is given

The paper has no figures of these. One player is followed through events with K opponents of known ratings, whom they
never meet twice, so that nothing they do comes back to them. Chosen here are:

- Robust response (theorem 5.7), what one contest changes at most: they came in the middle of 40 opponents of their own
  rating thirty times ("consistent"), or by turns of such rated 600 points below and above ("volatile"), and now come
  in the middle of 40 who are rated x points above them. TrueSkill's margin is of 0.035 points.
- Volatility farming (section 5.1): 20 events played as well as they can, 20 in which they lose every other one on
  purpose, 30 as well as they can, beside the same played honestly: same opponents, same luck. Their strength is 2100
  unless said otherwise, the opponents are of 1500 +- 300, ten in each event. Of Glicko-2 an event is a rating period
  of ten games; in the picture tau is 1.2, the highest value its author recommends, and volatilities are bounded by 0.5.
- Aligned incentives (theorem 5.5): what they gained after winning three events, against the result in the one before.
"""

import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from common import circumstances, declare, parse, show, write
from figures import BLUE, GREEN, ORANGE, PURPLE, RED, plt, save
from scipy.special import expit

import jaxrate as jr
from jaxrate.replay.row_gather_and_scatter import gather_rows
from jaxrate.systems.elo_mmr import drift_and_noise, pseudodiffuse
from jaxrate.systems.rounds.performance_inference import C

TRUESKILL = partial(jr.trueskill, initial_rating=1500, initial_deviation=350, beta=200, tau=35, draw_probability=1e-4)
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
SYSTEMS = {
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


def robustness(quick):
    """The figure, rows about the systems, and rows about the bounds of Elo-MMR(rho)."""
    shift = np.linspace(-3000.0, 3000.0, 3 if quick else 61)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4))
    changes, limits = [], []
    for name, (factory, deviation, colour, style) in SYSTEMS.items():
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
    return figure, changes, limits


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


def farming(quick):
    """The figure, and a row for each system, of the rating of who loses on purpose less that of the honest one.

    The peak is the highest rating since the last lost event, the last lead the mean of that over the last ten events,
    and the largest lead that of any seed after any event.
    """
    seeds, rows = 10 if quick else 200, []
    figure, panels = plt.subplots(2, 2, figsize=(11, 6.6), sharex=True, sharey=True)
    for (name, factory, strength), panel in zip(FARMS, [*panels.T.ravel(), *[None] * len(FARMS)], strict=False):
        if quick and name not in QUICK:
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
    return figure, rows


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


def incentives(quick):
    """The figure, and for each system how far the rating falls as the first result gets better, and the least step."""
    figure, panels = plt.subplots(1, 4, figsize=(12, 3.4))
    beaten, rows = np.arange(11), []
    for (name, (factory, start, deviation, games)), panel in zip(CASES.items(), panels, strict=True):
        if quick and name not in QUICK:
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
    return figure, rows


def main():
    out = "the JSON file; the figures go beside it"
    options = parse(declare(__doc__, "few systems and seeds", out=out), __file__)
    start, report, figures, results = time.perf_counter(), circumstances("matplotlib"), {}, {}

    def tell(*titles):
        show({title: results[title] for title in titles})
        print(f"({time.perf_counter() - start:.0f} s)", flush=True)

    figures["robust"], results["robust response"], results["theorem 5.7"] = robustness(options.quick)
    tell("robust response", "theorem 5.7")
    figures["farming"], results["volatility farming"] = farming(options.quick)
    tell("volatility farming")
    figures["incentives"], results["aligned incentives"] = incentives(options.quick)
    tell("aligned incentives")
    write(options.out, report, results)
    save(figures, options.out, "elo_mmr")


if __name__ == "__main__":
    main()
