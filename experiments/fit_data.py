"""Default hyperparameters against fitted ones on real histories, and the best of them against other libraries'.

    python experiments/fit_data.py           # an hour; writes experiments/results/fit_data.json, set by set
    python experiments/fit_data.py --quick   # seconds, on a simulated one; writes nothing unless --out is given

What is fitted knows the first 80% of the events, cut between two weeks. Scored is the mean log loss of the rest, one
step ahead: the ratings go on learning there, the hyperparameters do not. In matches a draw is half a win; in rounds
what is predicted is the share of the others that each one beats. Standard errors are those of the mean of paired
differences, match by match or contest by contest.

Slow systems (`learnt_from` in the table) are fitted to a stretch of matches before the cut, of fresh players, of which
the last half counts: category Glicko to 100,000, BlatMMR to 10,000. (Were they to carry on from ratings by the
defaults, deviations would be fitted to these.) Such fits, and all on tennis, take 15 steps at most. Category Glicko
starts from wide deviations: from its defaults the search on tennis ends where they vanish. The urns of Urnings have a
size, of 25, 50, 100 and 200 balls the best for what is fitted, and where there are sides a player has two of them. A
system "by the clock" has a drift per day beside that per match; "weekly" is in rating periods of a week, whose matches
are predicted all at once.

The peers are predicted from match by match too: riix (0.0.6 predicts a whole day at once if it gets one, so it gets one
match at a time, with its day), elote (Elo; its Glicko's probabilities are not Glickman's), openskill (Plackett-Luce)
and trueskill (the usual formula of its mu, sigma and beta, a draw being half a win, with the share of draws there was).
Their settings are searched by factors of 2, then of its root, until no neighbour is better or 12 were tried, from the
library's defaults (riix's Glicko and Glicko-2 from ours, as its unit of time is a day) on the last 40,000 matches
before the cut, of which the last half counts; on shorter histories on all. Then they rate all matches; of tennis those
from 200,000 before the cut on, and "same_start" is the difference if the best of jaxrate begins there too. No peer
takes sides; so the best of jaxrate is also fitted without them. The best system of either camp is the one with the
least loss on the last 20,000 matches, or half, of what is fitted: nothing is chosen by what is scored.
"""

import importlib.util
import math
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from common import add_only, circumstances, declare, parse, results_in, show, write
from fit_histories import QUICK, SETS, STRETCH, urns_of
from fit_peers import PEER_STRETCH, PEERS, cross_entropy, numbered, tune_peer

import jaxrate as jr
from jaxrate.core.system import replace_params
from jaxrate.events import slice_events
from jaxrate.fitting.prediction_task import make_prediction_task

STEPS = 15  # of fits on longer histories, and of those to a part
PEER_START = 200_000  # matches before the cut that peers rate at most
SIZES = 25.0, 50.0, 100.0, 200.0  # of urns
SEED = 0


class Scored(NamedTuple):
    """The losses of predictions [n], what each counts, and the number of its event."""

    loss: np.ndarray
    weight: np.ndarray
    event: np.ndarray

    def mean(self, low, high=None):
        """Of the events from `low` on, below `high`."""
        inside = (self.event >= low) & (self.event < (np.inf if high is None else high))
        return float(np.average(self.loss[inside], weights=self.weight[inside]))


def paired(one, other, low):
    """Mean loss of one less that of the other from event `low` on, and its standard error over events."""
    inside = one.event >= low
    weight, event = one.weight[inside], one.event[inside] - low
    total = np.bincount(event, weight * (one.loss[inside] - other.loss[other.event >= low]))
    count = np.bincount(event, weight)
    mean = total.sum() / count.sum()
    return {"difference": mean, "error": math.sqrt(((total - mean * count) ** 2).sum()) / count.sum()}


# --- jaxrate. ---


def score(system, events):
    key = jax.random.key(SEED)
    what = make_prediction_task(system, events, jr.fitting.ahead(key=key))
    key = key if system.rules.draw is not None else None
    guess = jr.run(system, events, schedule=what.schedule, key=key).prediction
    rounds = isinstance(events, jr.extend.Ragged) and events.pair_start is None
    event = what.event if rounds else np.arange(len(what.weight))
    return Scored(cross_entropy(guess, np.asarray(what.score, np.float64)), what.weight, event)


def tune(contender, events, steps):
    """The fitted system, and what is told of the fit."""
    if contender.start.name == "urnings":
        return tune_urns(contender.start, events)
    begin, weight = 0, None
    if contender.most and len(events.score) > contender.most:
        begin, weight = len(events.score) - contender.most, np.arange(contender.most) >= contender.most // 2
    learnt = contender.build(slice_events(events, begin, len(events.score)) if begin else events)
    steps = STEPS if begin else steps
    found = jr.fit(contender.start, learnt, objective=jr.fitting.ahead(weight=weight), steps=steps)
    fitted = {name: getattr(found.params, name) for name in found.free}
    fit = {"steps": len(found.loss_history) - 1, "reason": found.reason, "seconds": found.seconds}
    return found.system, {"fitted": fitted, **fit} | ({"learnt_from": contender.most} if begin else {})


def tune_urns(system, matches):
    """The size by trial, then the weight of draws by slopes, if there are any."""
    began, objective = time.perf_counter(), jr.fitting.ahead(key=jax.random.key(SEED))
    sides, settings = urns_of(matches), system.params._replace(size=np.array(SIZES))
    loss = jr.fitting.sweep_parameters(system, sides, settings, objective=objective)
    size = SIZES[int(np.argmin(loss))]
    system, fitted = replace_params(system, system.params._replace(size=size)), {"size": size}
    told = {"steps": 0, "reason": "grid"}
    if np.any(matches.score == 0.5):
        found = jr.fit(jr.forecasts.add_outcomes(system), sides, objective=objective)
        fitted |= {"draw_weight": found.params.draw_weight}
        told = {"steps": len(found.loss_history) - 1, "reason": found.reason}
        system = replace_params(system, found.params)
    return system, {"fitted": fitted, **told, "seconds": time.perf_counter() - began}


def compare(contender, history, steps):
    """A row of the table, the losses of the fitted system, and itself."""
    events, cut = history.events, history.cut
    system, told = tune(contender, slice_events(events, 0, cut), steps)
    all_events = contender.build(events)
    before, after = (score(each, all_events) for each in (contender.plain, system))
    row = {"system": contender.label, "default_loss": before.mean(cut), "fitted_loss": after.mean(cut)}
    row |= paired(after, before, cut)
    if isinstance(events, jr.extend.Ragged) and not len(events.events.team):
        for name, each in (("default_pairs", contender.plain), ("fitted_pairs", system)):
            rating = jr.history.rating_history(each, events).before.mean
            row[name] = jr.metrics.pairwise_accuracy(events, rating, mask=before.event >= cut)
    return row | told, after, system


def examine(name, history, pool, keep):
    """The tables of one set; `keep` gets what there is of them after every row."""
    events, cut = history.events, history.cut
    number = len(events.player_start) - 1 if isinstance(events, jr.extend.Ragged) else len(events.score)
    steps = STEPS if cut > STRETCH else 100
    about = {"events": number, "before_cut": cut, "scored": number - cut}
    waiting, low = {}, max(cut - PEER_START, 0)
    if history.peers:
        late = slice_events(events, low, number)
        player, result = numbered(late.player), np.asarray(late.score, np.float64)
        day = np.floor(np.asarray(late.time) - late.time[0]).astype(np.int64)
        waiting = {peer: pool.submit(tune_peer, peer, player, result, day, cut - low) for peer in history.peers}
    rows, peers, ours, theirs, systems = [], [], {}, {}, {}
    for contender in history.contenders:
        label = contender.label
        row, ours[label], systems[label] = compare(contender, history, steps)
        rows.append(row)
        print(f"{name}: {contender.label} {row['default_loss']:.5f} {row['fitted_loss']:.5f}", flush=True)
        keep({"histories": [about], "fitted": rows})

    def best(losses):
        return min(losses, key=lambda label: losses[label].mean(max(cut - PEER_STRETCH // 2, cut // 2), cut))

    chosen = next(contender for contender in history.contenders if contender.label == best(ours))
    sides = waiting and events.context.side is not None
    if sides:
        bare = events._replace(context=events.context._replace(side=None))
        label = f"{chosen.label}, without sides"
        row, without, _ = compare(chosen._replace(label=label), history._replace(events=bare), steps)
        rows.append(row)
    for peer, job in waiting.items():
        settings, tried, p, seconds = job.result()
        theirs[peer] = Scored(cross_entropy(p, result), np.ones(number - low), np.arange(low, number))
        row = {"peer": peer, "settings": settings, "tried": tried, "loss": theirs[peer].mean(cut), "seconds": seconds}
        peers.append(row)
        print(f"{name}: {peer} {row['loss']:.5f}", flush=True)
    tables = {"histories": [about], "fitted": rows}
    if theirs:
        peer = best(theirs)
        against = {"best": chosen.label, "best_peer": peer} | paired(ours[chosen.label], theirs[peer], cut)
        if sides:
            against |= {f"without_sides_{key}": x for key, x in paired(without, theirs[peer], cut).items()}
        if low:
            same = score(systems[chosen.label], chosen.build(late))
            same = same._replace(event=same.event + low)
            against |= {f"same_start_{key}": x for key, x in paired(same, theirs[peer], cut).items()}
        tables |= {"peers": peers, "best of jaxrate less the best peer": [against]}
    return tables


def brief(value):
    return " ".join(f"{key}={x:.4g}" for key, x in value.items()) if isinstance(value, dict) else value


def main():
    out = "the JSON file; sets in it that are not run are kept"
    parser = declare(__doc__, "a simulated history, seconds in all", "the histories", out)
    add_only(parser, SETS, "SET")
    options = parse(parser, __file__)
    report = circumstances("riix", "elote", "openskill", "trueskill")
    there = {peer for peer in PEERS if importlib.util.find_spec(peer.split()[0])}
    if missing := [peer for peer in PEERS if peer not in there]:
        print(f"not installed: {', '.join(missing)}: skipped")
    loaders = QUICK if options.quick else {name: SETS[name] for name in options.only}
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        for name, load in loaders.items():
            history = load(Path(options.data))
            if history is None:
                print(f"there is no history of {name} in the data folder: skipped")
                continue
            history = history._replace(peers=tuple(peer for peer in history.peers if peer in there))
            began = time.perf_counter()

            def keep(tables, name=name):
                write(options.out, report, results_in(options.out) | {name: tables}, 6)

            tables = examine(name, history, pool, keep)
            keep(tables)
            for title, rows in tables.items():
                show({f"{name}: {title}": [{key: brief(value) for key, value in row.items()} for row in rows]})
            print(f"({name}: {time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
