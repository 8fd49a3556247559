"""What "Understanding the Glicko rating system" (a blog post of 2020) explains in words and two tables, as one picture.

    python experiments/glicko_intuition.py           # seconds; writes a PNG and JSON to experiments/results
    python experiments/glicko_intuition.py --quick   # seconds, coarser; writes nothing unless --out is given

Every curve is what `jr.glicko` does with matches made for it. The formulas are those of Glickman (1999), not of the
post, in whose g pi^2 divides too much (at RD 30 it gives 3.01, not 0.996) and whose second table is upside down: many
games make a small RD and a large g.
"""

import jax.numpy as jnp
import numpy as np
from common import measure
from figures import BLUE, GREEN, RED, plt, save
from scipy.stats import norm

import jaxrate as jr
from jaxrate.systems.glicko import attenuation

STYLES = ("-", "--", "-.", ":")
SYSTEM = jr.glicko(c=15.0)


def known(rating, deviation, system=SYSTEM):
    """The state of players whose ratings and deviations [n] are known."""
    state = system.init(system.params, len(rating))
    return state._replace(rating=jnp.asarray(rating, float), variance=jnp.asarray(deviation, float) ** 2)


def after(rating, deviation, score):
    """Ratings and deviations [k, 2] after a match of each of k pairs; the score [k] of the first."""
    pairs = np.arange(rating.size).reshape(-1, 2)
    played = jr.run(SYSTEM, jr.matches(pairs, score), state=known(rating.ravel(), deviation.ravel())).state
    return tuple(np.asarray(x, float).reshape(-1, 2) for x in jr.ratings(SYSTEM, played))


def gain(lead, own, other, score):
    """What the first player's rating changes by [k], who is `lead` points ahead; their RD are `own` and `other`."""
    lead, own, other, score = map(np.atleast_1d, np.broadcast_arrays(lead, own, other, score))
    rating = 1500.0 + np.stack([lead, np.zeros(lead.shape)], axis=1)
    return after(rating, np.stack([own, other], axis=1), score)[0][:, 0] - rating[:, 0]


def after_games(counts, gap):
    """RD of newcomers after periods of so many games [k] with opponents of RD 30, `gap` points away, won by turns."""
    hero = np.repeat(np.arange(len(counts)), counts)
    pairs = np.stack([hero, len(counts) + np.arange(len(hero))], axis=1)
    other = np.arange(pairs.max() + 1) >= len(counts)
    state = known(1500.0 + gap * other, np.where(other, 30.0, 350.0))
    played = jr.run(SYSTEM, jr.periods(jr.matches(pairs, np.arange(len(hero)) % 2), 7.0), state=state).state
    return np.asarray(jr.ratings(SYSTEM, played).deviation, float)[: len(counts)]


def after_rest(weeks, c):
    """RD of somebody of RD 50 after so many weeks [k]."""
    system = jr.glicko(c=c)
    state = known(np.full(len(weeks), 1500.0), np.full(len(weeks), 50.0), system)
    state = state._replace(time=jnp.asarray(-7.0 * weeks, float))
    return np.asarray(jr.ratings(system, state, time=0.0).deviation, float)


def picture(points):
    figure, panels = plt.subplots(2, 3, figsize=(13, 7.6))
    beliefs(panels[0, 0])
    lead, deviations = np.linspace(-800.0, 800.0, points), np.linspace(1.0, 350.0, points)

    panel = panels[0, 1]
    for score, colour, label in ((1.0, BLUE, "won"), (0.0, RED, "lost")):
        panel.plot(lead, gain(lead, 100.0, 30.0, score), color=colour, linestyle="-" if score else "--", label=label)
    for x, y, text in (
        (-780, 28, "won, expected to lose"),
        (780, 24, "won, expected to win"),
        (-780, -28, "lost, expected to lose"),
        (780, -28, "lost, expected to win"),
    ):
        panel.annotate(text, (x, y), ha="left" if x < 0 else "right", fontsize=9)
    panel.axhline(0.0, color="black", linewidth=0.6)
    panel.set(title="Surprise moves a rating", xlabel="rating less the opponent's", ylabel="change", ylim=(-60, 60))

    panel = panels[0, 2]
    for own, style in zip((350.0, 200.0, 100.0, 50.0), STYLES, strict=True):
        panel.plot(deviations, gain(0.0, own, deviations, 1.0), color=BLUE, linestyle=style, label=f"own RD {own:.0f}")
    panel.set(title="Both RD decide how far")
    panel.set(xlabel="opponent's RD", ylabel="gain by beating an equal", ylim=(0, 200))

    panel = panels[1, 0]
    panel.plot(deviations, attenuation(deviations**2), color=BLUE)
    panel.set(title="What a game against them counts", xlabel="opponent's RD", ylabel="g(RD)", ylim=(0, 1.05))

    panel, counts = panels[1, 1], np.arange(1, 31)
    for gap, style in zip((0.0, 200.0, 400.0, 800.0), STYLES, strict=True):
        panel.plot(np.append(0, counts), np.append(350.0, after_games(counts, gap)), color=GREEN, linestyle=style)
        panel.lines[-1].set_label(f"opponents {gap:.0f} points away" if gap else "equal opponents")
    panel.set(title="Playing makes sure", xlabel="games of a newcomer in a period", ylabel="RD", ylim=(0, 520))

    panel, weeks = panels[1, 2], np.arange(0.0, 105.0)
    for c, style in zip((63.2, 35.0, 15.0), STYLES, strict=False):
        panel.plot(weeks, after_rest(weeks, c), color=RED, linestyle=style, label=f"c = {c:g}")
    panel.set(title="Resting makes unsure, up to a limit", xlabel="periods without a game", ylabel="RD", ylim=(0, 360))
    panels[0, 1].legend(loc="upper right")
    panels[0, 2].legend(loc="center right", bbox_to_anchor=(1.0, 0.65))
    panels[1, 1].legend(loc="upper right")
    panels[1, 2].legend(loc="lower right")
    return figure


def beliefs(panel):
    """A newcomer beats a regular player: what is believed of both, before and after."""
    x = np.linspace(600.0, 2600.0, 801)
    before = np.array([[1500.0, 350.0], [1700.0, 80.0]])
    now = np.stack(after(*before.T, [1.0]), axis=-1)[0]
    for i, (name, colour) in enumerate((("newcomer, won", BLUE), ("regular, lost", RED))):
        panel.plot(x, norm.pdf(x, *before[i]), color=colour, linestyle="--")
        change = f"{now[i, 0] - before[i, 0]:+.0f}".replace("-", "\N{MINUS SIGN}")
        panel.plot(x, norm.pdf(x, *now[i]), color=colour, label=f"{name}: {change}")
    panel.set(title="A rating is a distribution (before: dashed)", xlabel="strength (points)", yticks=[])
    panel.set(ylabel="density", ylim=(0, 0.0068), xlim=(600, 2600))
    panel.legend(loc="upper left")


def part_tables(options):
    """Both tables of the post, and the picture of its words."""
    save({"intuition": picture(21 if options.quick else 161)}, options.out, "glicko")
    surprise = [
        {"result": result, "expected": expected, "lead": lead, "change": float(gain(lead, 100.0, 30.0, score)[0])}
        for result, score in (("win", 1.0), ("lose", 0.0))
        for expected, lead in (("lose", -400.0), ("win", 400.0))
    ]
    counts = np.array([1, 5, 30])
    games = [
        {"games": int(count), "RD": float(rd), "g": float(attenuation(rd**2))}
        for count, rd in zip(counts, after_games(counts, 0.0), strict=True)
    ]
    return {"first table: surprise": surprise, "second table: games, RD and g": games}


if __name__ == "__main__":
    measure({"tables": part_tables}, "fewer points of each curve")
