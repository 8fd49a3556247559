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

import math
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from common import find, log_losses, measure
from fit_peers import PEER_STRETCH, PEERS, WEEK, numbered, tune_peer
from histories import five_a_side, read_history
from pyarrow import parquet

import jaxrate as jr
from jaxrate.core.system import replace_params
from jaxrate.data.simulate import league
from jaxrate.events import slice_events
from jaxrate.fitting.prediction_task import make_prediction_task

SHARE = 0.8  # of the events are fitted
STRETCH = 100_000  # matches to which category Glicko is fitted at most
SHORT = 10_000  # the same of BlatMMR
STEPS = 15  # of fits on longer histories, and of those to a part
PEER_START = 200_000  # matches before the cut that peers rate at most
SIZES = 25.0, 50.0, 100.0, 200.0  # of urns
SEED = 0


class Contender(NamedTuple):
    """What is rated, and where its fit starts."""

    label: str
    plain: Any
    start: Any
    build: Any = lambda matches: matches  # events of matches
    most: int | None = None  # matches that it is fitted to at most


class History(NamedTuple):
    """Matches or rounds, of which the first `cut` are fitted."""

    events: Any
    cut: int
    contenders: list[Contender]
    peers: tuple[str, ...]


# --- Systems. ---


def urns_of(matches):
    return matches if matches.context.side is None else jr.urns.split_by_side(matches)


def weekly(matches):
    return jr.periods(matches, WEEK)


def of_matches(matches):
    """Every system that rates matches, or periods of them; with categories also by weeks."""
    draws = bool(np.any(matches.score == 0.5))
    category = matches.context.category
    games = jr.trueskill if draws else partial(jr.trueskill, draw_probability=0.0)
    urns = jr.urnings(outcomes=3 if draws else 2, draw_weight=1.0)
    races = partial(jr.category_glicko, 1 if category is None else int(np.max(category)) + 1, period=WEEK)
    wide = {"initial_deviation": 1000.0, "deviation_max": 1000.0}
    wide |= {"initial_modifier_deviation": 300.0, "modifier_deviation_max": 300.0, "match_weight": 0.5}
    systems = [
        Contender("elo", jr.elo(), jr.elo()),
        Contender("elo, K of newcomers", jr.elo(), jr.elo(k_new=64.0, new_games=20.0)),
        Contender("glicko", jr.glicko(), jr.glicko()),
        Contender("glicko2", jr.glicko2(), jr.glicko2()),
        Contender("weng_lin, Bradley-Terry", jr.weng_lin(), jr.weng_lin()),
        Contender("trueskill", jr.trueskill(), games()),
        Contender("trueskill, by the clock", jr.trueskill(), games(drift=0.01)),
        Contender("urnings", urns, urns, urns_of),
    ]
    if category is not None:
        systems += [
            Contender("glicko, weekly", jr.glicko(), jr.glicko(), weekly),
            Contender("glicko2, weekly", jr.glicko2(), jr.glicko2(), weekly),
            Contender("category_glicko, weekly", races(), races(**wide), weekly, STRETCH),
        ]
    return [*systems, Contender("blat_mmr", jr.blat_mmr(), jr.blat_mmr(), most=SHORT)]


def of_teams():
    models = "plackett_luce", "bradley_terry_full"
    systems = {"trueskill": jr.trueskill()} | {f"weng_lin, {model}": jr.weng_lin(model) for model in models}
    return [Contender(label, system, system) for label, system in systems.items()]


def of_rounds():
    """Every system that rates rounds."""
    systems = jr.elo_mmr(), jr.elo_mmx(), jr.codeforces(), jr.topcoder()
    return [Contender(system.name, system, system) for system in systems] + of_teams()


# --- Histories. ---


def between_weeks(day):
    """The first match of the first week after 80% of the matches."""
    week = np.floor(np.asarray(day) / WEEK)
    return int(np.searchsorted(week, week[int(SHARE * len(week))]))


def from_matches(name, peers=tuple(PEERS), **roles):
    def load(options):
        if not (data := read_history(options, name, **roles)):
            return None
        matches = data.matches._replace(player=numbered(data.matches.player))
        return History(matches, between_weeks(matches.time), of_matches(matches), peers)

    return load


def from_rounds(name):
    def load(options):
        if not (path := find(options, f"{name}.parquet")):
            return None
        contest, player, rank = parquet.read_table(path, columns=["contest", "player", "rank_lo"])
        events = jr.rounds(*(column.to_numpy() for column in (contest, player, rank)))
        return History(events, int(SHARE * (len(events.player_start) - 1)), of_rounds(), ())

    return load


def from_teams(options):
    if not (path := find(options, "lol_pro.parquet")):
        return None
    rows = five_a_side(path)
    team, player = (rows["side"] == "b").astype(int), rows["player"] - rows["player"].min()
    events = jr.rounds(rows["game"], player, 1.0 - rows["score"], team=team)
    return History(events, int(SHARE * (len(events.player_start) - 1)), of_teams(), ())


def simulated(options):
    matches = league(100, 2_000, draws=0.2, side_advantage=60.0, seed=3).matches
    some = [contender for contender in of_matches(matches) if contender.label == "elo"]
    return History(matches, between_weeks(matches.time), some, ("riix elo", "elote elo"))


# --- Losses. ---


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
    return Scored(log_losses(guess, np.asarray(what.score, np.float64)), what.weight, event)


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


def examine(name, load, options):
    """The tables of one set; None if it is not there."""
    if not (history := load(options)):
        return None
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        there = tuple(peer for peer in history.peers if getattr(options, peer.split()[0]))
        return examine_history(name, history._replace(peers=there), pool)


def examine_history(name, history, pool):
    """The tables; the peers are tuned in a process of their own meanwhile."""
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
        theirs[peer] = Scored(log_losses(p, result), np.ones(number - low), np.arange(low, number))
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


SETS = {
    "reddit": from_rounds("reddit"),
    "formula 1": from_rounds("f1_rounds"),
    "league of legends": from_teams,
    "starcraft": from_matches("starcraft", category=("race_a", "race_b")),
    "chess": from_matches("computer chess"),
    "football": from_matches("football"),
    "tennis": from_matches("tennis", category="surface"),
}
PARTS = {name: partial(examine, name, load) for name, load in SETS.items()}

if __name__ == "__main__":
    packages = dict.fromkeys(peer.split()[0] for peer in PEERS)
    small = {"league": partial(examine, "league", simulated)}
    measure(PARTS, "a simulated history, seconds in all", "the histories", packages, digits=6, in_quick=small)
