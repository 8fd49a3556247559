"""Whether a fit should score the first events, where everybody is new: remedies against none, on what follows.

    python experiments/fit_cold_start.py          # 45 minutes; writes experiments/results/fit_cold_start.json
    python experiments/fit_cold_start.py --quick  # seconds, a simulated league; writes nothing unless --out is given

Every fit sees the first 75% of a history, cut to its first 200,000 matches, or a later stretch of as many. All of
them are rated; a remedy says what each counts. Scored is the mean log loss of the rest, one step ahead: the ratings go
on learning there, the hyperparameters do not. A newcomer's match is one in which somebody has played fewer than 10
before. The remedies:

- skip s: the first share s does not count.
- rising: the weight grows evenly from 0 to 1.
- halving: the weight doubles with every quarter of what is fitted.
- founders apart: matches of two players who both came in the first fifth do not count, then or later.
- founders' first 20: in the first fifth, matches count if both players have played 20 before.
- warm-up 10: in the whole of what is fitted, matches count if both players have played 10 before.

"hindsight" is no remedy: fitted to what is scored, it says what there is to gain.

Differences are those from the plain fit; below zero is better. Their standard errors are those of the means of 50
consecutive blocks, as neighbours in time share players. A history's verdict is of the mean of its systems, match by
match: a remedy wins, or loses, where the difference is more than two standard errors. Five histories of at least
40,000 matches decide ("large" in the verdict); the others are shorter, or later stretches of these.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from common import log_losses, measure, results_in
from fit_peers import numbered
from histories import read_history

import jaxrate as jr
from jaxrate.data.simulate import league
from jaxrate.events import slice_events

SHARE = 0.75  # of a history, that is fitted
MOST = 200_000  # matches of a history
SHARES = 0.1, 0.2, 1 / 3, 0.5  # that `skip` skips
FOUNDERS = 0.2  # the share in which founders come
YOUNG = 10  # games before which a player is a newcomer
BLOCKS = 50
LARGE = 40_000  # matches of the histories that decide


class Scored(NamedTuple):
    """The losses of what follows the fit [n], and what was fitted."""

    loss: np.ndarray
    initial_deviation: float
    reason: str  # why the search ended


def remedies(matches):
    """[n] what each match counts, by the name of the remedy."""
    n = len(matches.score)
    place, player = (np.arange(n) + 0.5) / n, np.asarray(matches.player)
    first = np.full(player.max() + 1, n)
    np.minimum.at(first, player, np.arange(n)[:, None])
    founders = (first[player] < FOUNDERS * n).all(axis=1)
    skips = {f"skip {share:.0%}": (place >= share).astype(float) for share in SHARES}
    return {
        "none": np.ones(n),
        **skips,
        "rising": place,
        "halving": 2.0 ** (4.0 * (place - 1.0)),
        "founders apart": (~founders).astype(float),
        "founders' first 20": ((place >= FOUNDERS) | jr.metrics.experience_mask(matches, 20)).astype(float),
        "warm-up 10": jr.metrics.experience_mask(matches, 10).astype(float),
    }


def score(found, matches, cut):
    """What the fitted system loses from match `cut` on."""
    guess = np.asarray(jr.run(found.system, matches).prediction)[cut:]
    loss = log_losses(guess, np.asarray(matches.score, np.float64)[cut:])
    return Scored(loss, found.params.initial_deviation, found.reason)


def fitted(system, matches, cut):
    """What follows, by the remedy of the fit."""
    past, rows = slice_events(matches, 0, cut), {}
    for name, weight in remedies(past).items():
        if weight.any():
            rows[name] = score(jr.fit(system, past, objective=jr.fitting.ahead(weight=weight)), matches, cut)
    late = np.arange(len(matches.score)) >= cut
    hindsight = jr.fit(system, matches, objective=jr.fitting.ahead(weight=late.astype(float)))
    rows["hindsight"] = score(hindsight, matches, cut)
    return rows


def blocked(difference):
    """The mean of differences, and its standard error from means of blocks."""
    blocks = min(BLOCKS, len(difference) // 2)
    each = np.array([block.mean() for block in np.array_split(difference, blocks)])
    return {"difference": difference.mean(), "error": each.std(ddof=1) / np.sqrt(blocks)}


def both(difference, young):
    """Of all matches, and of those of newcomers."""
    row = blocked(difference)
    if np.count_nonzero(young) > 2 * BLOCKS:
        row |= {f"newcomers_{key}": x for key, x in blocked(difference[young]).items()}
    return row


def systems_of(matches):
    draws = bool(np.any(np.asarray(matches.score) == 0.5))
    games = jr.trueskill if draws else partial(jr.trueskill, draw_probability=0.0)
    return {"glicko": jr.glicko(), "glicko2": jr.glicko2(), "trueskill": games(drift=0.01)}


def examine(name, load, options):
    """The tables of one history; None if it is not there."""
    if (matches := load(options)) is None:
        return None
    systems = systems_of(matches)
    systems = {"glicko": systems["glicko"]} if options.quick else systems
    n = len(matches.score)
    cut, players = int(SHARE * n), int(matches.player.max()) + 1
    young = ~jr.metrics.experience_mask(matches, YOUNG)[cut:]
    count = {"matches": n, "players": players, "scored": n - cut, "newcomers_scored": int(young.sum())}
    count["again"] = ", from " in name
    tables, means = {"history": [count]}, {}
    for system in systems.values():
        rows = fitted(system, matches, cut)
        plain = rows["none"].loss
        count[f"{system.name}_loss"] = plain.mean()
        count[f"{system.name}_newcomers_loss"] = plain[young].mean() if young.any() else None
        tables[system.name] = []
        for remedy, one in rows.items():
            means.setdefault(remedy, []).append(one.loss - plain)
            gain = {} if remedy == "none" else both(one.loss - plain, young)
            told = {"remedy": remedy, "initial_deviation": one.initial_deviation, "reason": one.reason}
            tables[system.name].append(told | gain)
        print(f"{name}: {system.name}", flush=True)
    del means["none"]
    tables["all systems"] = [{"remedy": remedy} | both(np.mean(x, axis=0), young) for remedy, x in means.items()]
    return tables


def verdict(options):
    """For each remedy, on how many histories of the file it wins and loses: on the large ones, and on the others."""
    rows = {}
    for name, tables in results_in(options.out).items():
        if name == "verdict":
            continue
        large = tables["history"][0]["matches"] >= LARGE and not tables["history"][0].get("again")
        where = "large" if large else "other"
        for row in tables["all systems"]:
            ratio = row["difference"] / row["error"] if row["error"] else 0.0
            counts = rows.setdefault(row["remedy"], {"remedy": row["remedy"]})
            sums = {"histories": 1, "lower": ratio < 0, "wins": ratio < -2, "loses": ratio > 2}
            for key, x in sums.items():
                counts[f"{where}_{key}"] = counts.get(f"{where}_{key}", 0) + int(x)
            counts[f"{where}_mean"] = counts.get(f"{where}_mean", 0.0) + row["difference"]
    for counts in rows.values():
        for where in ("large", "other"):
            if f"{where}_mean" in counts:
                counts[f"{where}_mean"] /= counts[f"{where}_histories"]
    return {"verdict": list(rows.values())}


# --- Histories. ---


def from_file(name, low=0):
    def load(options):
        if not (data := read_history(options, name)):
            return None
        matches = slice_events(data.matches, low, low + MOST)
        return matches._replace(player=numbered(matches.player))

    return load


SETS = {
    "go": from_file("go"),
    "tennis": from_file("tennis"),
    "football": from_file("football"),
    "basketball": from_file("basketball"),
    "films": from_file("films"),
    "go, from 600,000": from_file("go", 600_000),
    "tennis, from 500,000": from_file("tennis", 500_000),
    "computer chess": from_file("computer chess"),
    "american football": lambda options: jr.data.datasets.nfl().matches,
    "starcraft": from_file("starcraft"),
}
PARTS = {name: partial(examine, name, load) for name, load in SETS.items()} | {"verdict": verdict}

if __name__ == "__main__":
    small = partial(examine, "league", lambda options: league(60, 1_500, drift=60.0, seed=3).matches)
    in_quick = {"league": small, "verdict": verdict}
    measure(PARTS, "a simulated league, seconds in all", "the histories", digits=6, in_quick=in_quick)
