"""BlatMMR with hindsight: whether beliefs that are not normal pay for what they cost.

    python experiments/blatmmr_hindsight.py           # minutes; writes experiments/results/blatmmr_hindsight.json
    python experiments/blatmmr_hindsight.py --quick   # seconds, on small leagues; writes nothing unless --out is given

A prototype, by belief propagation on the grid: a match tells either player its luck function, averaged over what all
other matches say of the opponent, and along the matches of a player these messages and the kernel are one pass forwards
and one backwards. All messages are renewed at once in every sweep, until no expected score moves by more than 0.0001.
Where nobody meets twice on any way this is exact, which "exact" compares with a sum over all strengths of everybody.

A random tenth of the matches is predicted from all others, by the filters from those before. They count with a weight
of 1e-9, so that they say nothing, and both systems are fitted to the others by their losses one step ahead: BlatMMR's
luck, kernel, prior and side, and the growth, deviation and side of `skills`, whose beliefs are normal. The simulated
games are those of BlatMMR itself. Each time is that of a second call. Errors of differences are standard errors.
"""

import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from common import add_only, declare, find, fit_options, forget_peak, keep, parse, resident

import jaxrate as jr
from jaxrate import parts
from jaxrate.events import slice_events
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.smoothing.timelines import build_timelines
from jaxrate.systems.skills.rules import find_smoothing_model

GRID = {"size": 181, "half_width": 4.5, "kernel_width": 0.12}
QUICK_GRID = GRID | {"size": 91, "kernel_width": 0.24}
MOST, STEPS, TENTH, LITTLE = 10_000, 6, 0.1, 1e-9
SETTLED, SWEEPS = 1e-4, 100
SCORES = 0.0, 0.5, 1.0
UNIT = 400.0 / np.log(10.0)
product_of = partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)


# --- The prototype. ---


def tables(params, lead, grid):
    """Strengths and the prior [n], how they spread [n, n], and what each score says of two of them [scores, n, n]."""
    x = np.linspace(-grid["half_width"], grid["half_width"], grid["size"])
    prior = np.exp(-0.5 * ((x - params.prior_mean) / params.prior_deviation) ** 2)
    kernel = np.exp(-0.5 * ((x[:, None] - x[None]) / params.kernel_width) ** 2)
    win = 0.5 * (1.0 - params.beta) + params.beta / (1.0 + np.exp(-(x[:, None] - x[None] + lead)))
    told = np.stack([win**s * (1.0 - win) ** (1.0 - s) for s in SCORES])
    return x, *(jnp.asarray(y, float) for y in (prior / prior.sum(), kernel / kernel.max(), told))


@jax.jit
def sweep(lines, given, message):
    """New messages [2, size, n], what all but a match says of its players, and its expected score."""
    _, prior, kernel, told = given
    size, n = lines.is_participant.shape[1], len(prior)
    flat = jnp.concatenate([message.reshape(2 * size, n), jnp.ones((1, n), message.dtype)])
    at_node = flat.at[lines.participant_at_node].get(
        mode="clip"
    )  # [steps, lanes, n]; where nobody stands it says nothing

    def onwards(belief, now):
        first, site = now
        belief = jnp.where(first[:, None], prior, belief)
        after = product_of(belief * site, kernel)
        return after / jnp.sum(after, axis=1, keepdims=True), belief

    def back(carry, now):
        future, ended = carry
        first, site = now
        future = jnp.where(ended[:, None], 1.0, future)
        before = product_of(future * site, kernel.T)
        return (before / jnp.max(before, axis=1, keepdims=True), first), future

    lanes = lines.participant_at_node.shape[1]
    ones = jnp.ones((lanes, n), prior.dtype)
    before = jax.lax.scan(onwards, ones, (lines.is_first, at_node))[1]
    after = jax.lax.scan(back, (ones, jnp.ones(lanes, bool)), (lines.is_first, at_node), reverse=True)[1]
    cavity = (before * after).reshape(-1, n)[lines.node_of_player]
    cavity = cavity / jnp.sum(cavity, axis=-1, keepdims=True)
    which = jnp.rint(2.0 * lines.events.score)[:, None]
    new = [0.0, 0.0]
    for i in range(len(SCORES)):
        new[0] = jnp.where(which == i, product_of(cavity[1], told[i].T), new[0])
        new[1] = jnp.where(which == i, product_of(cavity[0], told[i]), new[1])
    new = jnp.stack(new)
    said = (lines.events.context.weight > 0.5)[None, :, None]
    new = jnp.where(said, new / jnp.max(new, axis=-1, keepdims=True), 1.0)
    return new, cavity, jnp.sum(cavity[0] * product_of(cavity[1], told[-1].T), axis=-1)


def hindsight(matches, given, settled=SETTLED):
    """Means and deviations [n, 2] in points after each match, expected scores without it [n], and how many sweeps."""
    if matches.context.weight is None:
        matches = matches._replace(context=matches.context._replace(weight=np.ones(len(matches.score))))
    lines = build_timelines(matches, int(matches.player.max()) + 1, find_smoothing_model(jr.skills()))
    new, guess, change, count = jnp.ones((*lines.is_participant.shape, len(given[0])), float), jnp.inf, jnp.inf, 0
    while change > settled and count < SWEEPS:
        message, before, count = new, guess, count + 1
        new, cavity, guess = sweep(lines, given, message)
        change = jnp.max(jnp.where(lines.is_participant[0], jnp.abs(guess - before), 0.0))
    belief = np.asarray(cavity * message, float)[:, : len(matches.score)]
    belief /= belief.sum(axis=-1, keepdims=True)
    mean = belief @ given[0]
    deviation = np.sqrt(np.maximum(belief @ given[0] ** 2 - mean**2, 0.0))
    return UNIT * mean.T, UNIT * deviation.T, np.asarray(guess)[: len(matches.score)], count


def part_exact(options):
    """Against a sum over all strengths at all matches of everybody, where nobody meets twice on any way."""
    del options
    grid = GRID | {"size": 7}
    given = tables(jr.blat_mmr(beta=0.6, kernel_width=1.5, prior_deviation=1.2).params, 0.3, grid)
    player, score = np.array([[0, 1], [1, 2], [3, 1]]), np.array([1.0, 0.5, 0.0])
    mean, _, guess, count = hindsight(jr.matches(player, score, np.arange(3.0)), given, 1e-7)
    x, prior, kernel, told = (np.asarray(y, float) for y in given)
    kernel = kernel / kernel.sum(axis=1).max()
    chain = np.einsum("i,ij,jk->ijk", prior, kernel, kernel)  # of player 1, at their three matches
    one = [told[int(2 * s)] for s in score]
    joint = np.einsum("ijk,ai,jb,ck,a,b,c->ijkabc", chain, one[0], one[1], one[2], prior, prior, prior)
    joint /= joint.sum()
    nodes = {(0, 0): 3, (0, 1): 0, (1, 0): 1, (1, 1): 4, (2, 0): 5, (2, 1): 2}
    wanted = np.array([[joint.sum(axis=tuple({*range(6)} - {nodes[m, s]})) @ x for s in (0, 1)] for m in range(3)])
    without = np.einsum("ijk,ai,jb,a,b,c->kc", chain, one[0], one[1], prior, prior, prior)
    chance = np.sum(without * told[-1].T) / without.sum()
    return {"belief propagation": [
        {"points_off": np.abs(mean - UNIT * wanted).max(), "chance_off": abs(chance - guess[2]), "sweeps": count}
    ]}  # fmt: skip


# --- Histories. ---


def simulated(beta, options):
    """Games of BlatMMR's own model, and the strengths [n, 2] at each."""
    n = 400 if options.quick else MOST
    random, players = np.random.default_rng(0), max(n // 50, 10)
    strength, truth = random.normal(0.0, 0.9, players), np.empty((n, 2))
    player = np.stack([random.permutation(players)[:2] for _ in range(n)])
    score = np.empty(n)
    for i, pair in enumerate(player):
        truth[i] = strength[pair]
        chance = 0.5 * (1.0 - beta) + beta / (1.0 + np.exp(truth[i, 1] - truth[i, 0]))
        score[i] = random.random() < chance
        strength[pair] += random.normal(0.0, 0.12, 2)
    return jr.matches(player, score, np.arange(n, dtype=float)), UNIT * truth


def real(name, columns, options):
    path = None if options.quick else find(options, f"{name}.parquet")
    return path and (slice_events(jr.read(path, **columns).matches, 0, MOST), None)


def measured(load, options):
    """The table of one history; None if it is not there."""
    if not (history := load(options)):
        return None
    matches, truth = history
    out = np.random.default_rng(1).random(len(matches.score)) < TENTH
    known = matches._replace(context=matches.context._replace(weight=np.where(out, LITTLE, 1.0)))
    sided = () if matches.context.side is None else ("side_advantage",)
    grid = QUICK_GRID if options.quick else GRID
    luck, normal = (
        jr.fit(system, known, free=(*free, *sided), **fit_options(options.quick, STEPS, weight=~out))
        for system, free in (
            (jr.blat_mmr(**grid), ("beta", "kernel_width", "prior_deviation")),
            (jr.skills(parts.skill(match_growth=10.0)), ("growth", "match_growth", "initial_deviation")),
        )
    )
    given = tables(luck.params, luck.params.side_advantage / UNIT if sided else 0.0, grid)
    found, rows = {}, []
    for name, call in (
        ("BlatMMR, filter", lambda: (jr.run(luck.system, known).prediction, None, None, 1)),
        ("skills, filter", lambda: (jr.run(normal.system, known).prediction, None, None, 1)),
        ("BlatMMR, hindsight", lambda: by_grid(known, given)),
        ("skills, hindsight", lambda: by_moments(normal.system, known)),
    ):
        call()
        forget_peak()
        before, start = resident("VmRSS"), time.perf_counter()
        guess, mean, deviation, count = call()
        row = {"system": name, "seconds": time.perf_counter() - start, "sweeps": count}
        row |= {"mb": resident("VmHWM") - before}
        found[name] = np.asarray(guess, float)[out]
        row["log_loss"] = float(jr.metrics.log_loss(found[name], matches.score[out]))
        if truth is not None and mean is not None:
            lead = np.diff(mean - truth, axis=1)[:, 0]
            row["error_of_lead"] = np.sqrt(np.mean(lead**2))
            row["covered"] = np.mean(np.abs(lead) < 1.96 * np.sqrt((deviation**2).sum(axis=1)))
        rows.append(row)
    rows[2]["fitted"] = {name: getattr(luck.params, name) for name in luck.free}
    rows[3]["fitted"] = {name: getattr(normal.params, name) for name in normal.free}
    pairs = (("BlatMMR, filter", "BlatMMR, hindsight"), ("skills, filter", "skills, hindsight"))
    gains = []
    for one, other in (*pairs, ("skills, hindsight", "BlatMMR, hindsight")):
        gain = jr.metrics.compare_log_loss(found[one], found[other], matches.score[out])
        gains.append({"from": one, "to": other, "gain": gain.difference, "error": gain.error})
    return {f"{int(out.sum())} of {len(out)} matches held out": rows, "gains": gains}


def by_grid(matches, given):
    mean, deviation, guess, count = hindsight(matches, given)
    return guess, mean, deviation, count


def by_moments(system, matches):
    found = smooth_events(system, matches)
    return found.prediction, *(np.asarray(x) for x in found.rating), found.sweeps


PARTS = {
    "exact": part_exact,
    "simulated, luck 0.6": partial(measured, partial(simulated, 0.6)),
    "go_tygem": partial(measured, partial(real, "go_tygem", {"time": "t", "side": "a"})),
    "sc2_tlpd_korean": partial(measured, partial(real, "sc2_tlpd_korean", {"time": "time"})),
    "atp": partial(measured, partial(real, "atp", {"time": "t", "drop": "walkover", "sort": False})),
}


def main():
    parser = declare(__doc__, "small simulated leagues", "the histories")
    add_only(parser, PARTS, "PART")
    keep(PARTS, parse(parser, __file__))


if __name__ == "__main__":
    main()
