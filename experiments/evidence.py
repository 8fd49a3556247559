"""What each kind of evidence is worth to skills, on public histories; `benchmarks.py` has the ceilings beside them.

    python experiments/evidence.py              # hours; writes experiments/results/evidence.json, part by part
    python experiments/evidence.py --only nfl   # a minute; the league ships, the rest looks for --data
    python experiments/evidence.py --quick      # seconds, on the first years of the NFL; writes nothing without --out

A loss is the mean log loss of predictions one step ahead, and hyperparameters see nothing of what is scored. They are
fitted by slopes to what came before: to the first four fifths of tennis, basketball and football, to the seasons until
1989 of the NFL, to 2000 until August 2011 of the tennis of Maystre, Kristof and Grossglauser (KDD 2019), and to the
first half of football with three outcomes. Ratings go on learning where predictions are scored.

`skills` is what `jaxrate fit --system skills` makes of a file, by one rule for all: what the history has is on. Margins
are observed, compressed, with the mean margin of what is fitted for a start; so are statistics, as the share of games,
of which what varies about the strengths of players is worth 300 points at the start. Seasons step, or the clock reverts
where there are none; players have sides of their own where there are sides, and modifiers where there are surfaces; and
experience counts. No hyperparameter sees what is scored. The rule is less pure: variants of it were compared once on
each history, with the losses of the past and of the scored part both in view; the losses of the past support what was
chosen. The 600 points that a mean margin is worth at the start were picked among 200, 300, 450 and 600 on whole
histories. Form, which players have beside their skill and lose within weeks, and a change of the side, which fits of
long histories add, are no part of the rule: one row of tennis has form, and was chosen so. "Without" rows are fitted
anew without one kind of evidence; the difference is that row's loss less the loss with all, with its standard error
over matches. Parts that begin with "further" do the same with one kind of evidence more, on four fifths of a history.

Those that begin with "hindsight" ask whether forecasts gain where the past is smoothed anew every so often, and
filtered on from there (`jr.forecasts.forecast_by_smoothing`), with the hyperparameters that results/evidence.json has
for the filter. A gain is the filter's mean log loss less that with hindsight, with its standard error over matches.

Sources: Maystre, Kristof and Grossglauser, "Pairwise comparisons with flexible time-dynamics", KDD 2019, tables 2 and
3 (batch methods refitted at each date); FiveThirtyEight's probabilities as published before each match; riix, elote,
openskill and trueskill as `fit_data.py` searched their settings.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from common import fit_options, log_losses, mean_and_error, measure, results_in
from histories import (
    KDD,
    KDD_CUT,
    KDD_LOSSES,
    RIIX_FOOTBALL,
    RIIX_TENNIS,
    days,
    read_history,
    read_tennis_of_kdd,
    read_tennis_with_games,
)

import jaxrate as jr
from jaxrate.events import slice_events
from jaxrate.systems.system_construction_by_name import make_system_for_data

LONG = 300_000  # matches from which fits take at most so many steps
STEPS = 20


class History(NamedTuple):
    """Matches, of which those before `cut` are fitted, from `begin` on, and the others are scored."""

    matches: Any
    cut: int
    begin: int = 0
    learnt: Any = None  # the dataset that is fitted, to which `skills` is adapted
    published: Any = ()  # (who, log loss, source)
    forecast: Any = None  # [n] published probabilities
    outcomes: int = 2  # 3: wins, draws and losses are predicted


class Told(NamedTuple):
    """How a fitted system predicts."""

    row: dict
    loss: np.ndarray  # [scored]


# --- Histories. ---


def begins(column, matches):
    """The first time of each season."""
    season, moment = np.asarray(column), np.asarray(matches.time)
    return moment[np.diff(season, prepend=season[0] - 1) > 0]


def dataset(matches, cut, margin=(), seasons=(), statistics=()):
    """What is fitted of these matches, with what they have."""
    players, categories = np.arange(int(matches.player.max()) + 1), matches.context.category
    return jr.data.Dataset(
        slice_events(matches, 0, cut),
        players,
        np.arange(cut),
        None if categories is None else np.arange(int(np.max(categories)) + 1),
        margin=tuple(margin),
        seasons={str(start): float(start) for start in seasons},
        statistics=tuple(statistics),
    )


def tennis(options):
    if not (data := read_history(options, "tennis", category="surface")):
        return None
    matches = data.matches
    cut = len(matches.score) * 4 // 5
    peers = (("riix, Glicko-2", RIIX_TENNIS, "fit_data.py"),)
    return History(matches, cut, 0, dataset(matches, cut), peers)


def tennis_games(options):
    """The same matches, of which the share of games is known once they are played."""
    data, _ = read_tennis_with_games(options)
    if data is None:
        return None
    cut = len(data.matches.score) * 4 // 5
    return History(data.matches, cut, 0, dataset(data.matches, cut, statistics=["games"]))


def tennis_kdd(walkovers, options):
    if not (data := read_tennis_of_kdd(options, **{"drop": ()} if walkovers else {})):
        return None
    matches = data.matches
    begin, cut = np.searchsorted(matches.time, days("2000-01-01", KDD_CUT)).tolist()
    published = tuple((who, loss, KDD) for who, loss in KDD_LOSSES.items())
    return History(matches, cut, begin, dataset(matches, cut), published)


def nfl(options):
    matches = jr.data.datasets.nfl().matches
    cut = int(np.searchsorted(matches.time, days("1990-03-01")[0]))
    seasons = begins(matches.context.columns["season"], matches)
    learnt = dataset(matches, cut, ("home_points", "away_points"), seasons)
    forecast = np.asarray(jr.data.datasets.nfl_forecast(), np.float64)
    if options.quick:
        few = 400
        return History(slice_events(matches, 0, few), few * 4 // 5, 0, learnt, (), forecast[:few])
    return History(matches, cut, 0, learnt, (), forecast)


def basketball(options):
    if not (data := read_history(options, "basketball", columns=["margin", "season"])):
        return None
    matches = data.matches
    cut, seasons = len(matches.score) * 4 // 5, begins(matches.context.columns["season"], matches)
    return History(matches, cut, 0, dataset(matches, cut, ("margin",), seasons))


def football(share, outcomes, options):
    columns = ["goals_a", "goals_b"]
    if not (data := read_history(options, "football", columns=columns)):
        return None
    matches = data.matches
    cut = int(len(matches.score) * share)
    learnt = dataset(matches, cut, columns)
    if outcomes == 2:
        peers = (("riix, Glicko-2, which knows no side", RIIX_FOOTBALL, "fit_data.py"),)
        return History(matches, cut, 0, learnt, peers)
    result = np.rint(2.0 * np.asarray(matches.score)).astype(int)
    share_of = np.bincount(result[:cut]) / cut
    frequencies = float(-np.log(share_of[result[cut:]]).mean())
    return History(matches, cut, 0, learnt, (("their frequencies until then", frequencies, "here"),), None, 3)


# --- Systems. ---


WITHOUT = {  # each kind of evidence: what the dataset and the settings are without it
    "margin": ({"margin": ()}, {}),
    "compression": ({}, {"compression": None}),
    "surfaces": ({"categories": None}, {}),
    "seasons": ({"seasons": None}, {"reversion": None}),
    "reversion": ({}, {"reversion": None}),
    "sides": ({}, {"own_side": False, "side_advantage": 0.0}),
    "own sides": ({}, {"own_side": False}),
    "experience": ({}, {"experience": None}),
}


def kinds(learnt):
    """The kinds of evidence that there are."""
    side, categories = learnt.matches.context.side is not None, learnt.categories is not None
    there = {"margin": learnt.margin, "compression": learnt.margin, "surfaces": categories, "experience": True}
    there |= {"seasons": learnt.seasons, "reversion": not learnt.seasons, "sides": side, "own sides": side}
    return [name for name in WITHOUT if there[name]]


def skills(learnt, without=()):
    """Skills with all kinds of evidence, without some."""
    fewer, changes = {}, {}
    for name in without:
        fewer, changes = fewer | WITHOUT[name][0], changes | WITHOUT[name][1]
    learnt = learnt._replace(**fewer)
    if not learnt.margin:
        changes.pop("compression", None)
    return make_system_for_data("skills", changes, None, learnt)


def lacking(history, without):
    """The history, whose sides are not known if they are among what it is to be without."""
    context = history.matches.context
    if "sides" not in without or context.side is None:
        return history
    return history._replace(matches=history.matches._replace(context=context._replace(side=None)))


def usual(matches, outcomes):
    """Systems that know results and sides alone."""
    side = {"side_advantage": 50.0} if matches.context.side is not None else {}
    systems = {"elo": jr.elo(**side), "glicko": jr.glicko(**side), "glicko2": jr.glicko2(**side)}
    return systems if outcomes == 2 else systems | {"trueskill": jr.trueskill()}


def losses(guess, score):
    """[n] the loss of each prediction, and [n] whether it has the winner right; NaN where nobody won."""
    score = np.asarray(score, np.float64)
    if isinstance(guess, jr.forecasts.OutcomeProbabilities):
        chance = np.stack([np.asarray(x, np.float64) for x in (guess.win[:, 1], guess.draw[:, 0], guess.win[:, 0])])
        loss = -np.log(np.maximum(chance, 2.0**-24))[np.rint(2.0 * score).astype(int), np.arange(len(score))]
        ahead = chance[2] > chance[0]
    else:
        loss, ahead = log_losses(guess, score), np.asarray(guess) > 0.5
    return loss, np.where(score == 0.5, np.nan, ahead == (score > 0.5))


def fitted(label, system, history, options):
    """A row of the table, and the losses of what is scored."""
    matches, cut, began = history.matches, history.cut, time.process_time()
    learnt = slice_events(matches, 0, cut)
    system = jr.forecasts.add_outcomes(system) if history.outcomes == 3 else system
    weight, steps = np.arange(cut) >= history.begin, STEPS if cut > LONG else 100
    found = jr.fit(system, learnt, **fit_options(options.quick, steps, weight=weight))
    loss, right = losses(jr.run(found.system, matches).prediction, matches.score)
    late = loss[cut:]
    row = {
        "system": label,
        "log_loss": late.mean(),
        "accuracy": np.nanmean(right[cut:]),
        "fitted_log_loss": loss[history.begin : cut].mean(),
        "fitted": {name: getattr(found.params, name) for name in found.free},
        "steps": len(found.loss_history) - 1,
        "reason": found.reason,
        "open": found.open,
        "seconds": found.seconds,
        "cpu_seconds": time.process_time() - began,
    }
    print(f"{label}: {row['log_loss']:.5f} ({found.reason}, {found.seconds:.0f} s)", flush=True)
    return Told(row, late)


def alone(load, options, **changes):
    """The table of one history: skills by the rule, with some further hyperparameters, and nothing else."""
    history = load(options)
    if history is None:
        return None
    n, cut = len(history.matches.score), history.cut
    system = make_system_for_data("skills", changes, None, history.learnt)
    label = ", ".join(["skills", *(f"{name} at first {x:g}" for name, x in changes.items())])
    row = fitted(label, system, history, options).row
    return {"history": [{"matches": n, "fitted": cut - history.begin, "scored": n - cut}], "systems": [row]}


def benchmark(load, options, evidence=True):
    """The tables of one benchmark, and of what its evidence is worth; None if its history is not there."""
    history = load(options)
    if history is None:
        return None
    matches, cut, learnt = history.matches, history.cut, history.learnt
    n = len(matches.score)
    tables = {"history": [{"matches": n, "fitted": cut - history.begin, "scored": n - cut}]}
    best = fitted("skills", skills(learnt), history, options)
    rows, others = [best.row], usual(matches, history.outcomes)
    for label, system in list(others.items())[: 1 if options.quick else None]:
        told = fitted(label, system, history, options)
        rows.append(told.row | mean_and_error(told.loss - best.loss))
    tables["systems"] = rows
    published = [{"who": who, "log_loss": loss, "source": source} for who, loss, source in history.published]
    if history.forecast is not None:
        theirs = log_losses(history.forecast, np.asarray(matches.score, np.float64))[cut:]
        published.append(
            {"who": "FiveThirtyEight", "log_loss": theirs.mean(), "source": "before each match"}
            | mean_and_error(theirs - best.loss)
        )
    if published:
        tables["published"] = published
    if not evidence:
        return tables
    there = kinds(learnt)
    without = {name: [name] for name in there} | {"all but sides": [name for name in there if name != "sides"]}
    rows = []
    for label, some in list(without.items())[: 1 if options.quick else None]:
        told = fitted(f"skills without {label}", skills(learnt, some), lacking(history, some), options)
        rows.append({"without": label} | told.row | mean_and_error(told.loss - best.loss))
    return tables | {"without one kind of evidence": rows}


# --- Evidence that is computed from the history itself. ---


def whole(name, options, most=None, **roles):
    """A history in order of time, its first matches at most."""
    data = read_history(options, name, sort=True, **roles)
    return data and data._replace(events=slice_events(data.matches, 0, most or len(data.rows)), rows=data.rows[:most])


def learners(options, most):
    """Answers of learners to exercises, each time the first of several in a row to the same one."""
    data = read_history(options, "learners")
    if data is None:
        return None
    order = np.argsort(data.matches.player[:, 0], kind="stable")
    is_first = np.append(True, (np.diff(data.matches.player[order], axis=0) != 0).any(axis=1))
    rows = np.sort(order[is_first])[:most]
    return data._replace(events=jax.tree.map(lambda x: np.asarray(x)[rows], data.matches), rows=data.rows[rows])


DATASETS = {
    "nfl": lambda options: jr.data.datasets.nfl(),
    "nba": partial(whole, "nba", season="season"),
    "basketball": partial(whole, "basketball", margin="margin", season="season"),
    "football": partial(whole, "football with grounds"),
    "australian football": partial(whole, "australian football"),
    "rugby league": partial(whole, "rugby league"),
    "clubs": partial(whole, "leagues", league_season="season"),
    "tennis": partial(whole, "tennis", category="surface"),
    "go": partial(whole, "go", most=100_000),
    "starcraft": partial(whole, "starcraft", time="time", category=["race_a", "race_b"]),
    "chess": partial(whole, "lichess"),
    "engines": partial(whole, "computer chess"),
    "learners": partial(learners, most=200_000),
}
RULES = {"learners": {"kinds": "sides", "categories": 1}}  # beside what the data say
KINDS = {"learners": ["leads by category"]}  # of evidence, where the others make no sense: steps are no days


def middle_of_past(data, cut):
    """The time half-way between the first match and the last one that is fitted."""
    return 0.5 * float(data.matches.time[0] + data.matches.time[cut - 1])


FURTHER = {  # the dataset, and changes of the system, with each kind of evidence; `cut` matches are fitted
    "rest": lambda data, cut: (jr.data.add_rest(data), {}),
    "layoff": lambda data, cut: (jr.data.add_layoff(data), {}),
    "ground": lambda data, cut: (jr.data.add_ground(data), {}),
    "leads by category": lambda data, cut: (jr.data.add_category_lead(data), {}),
    "relative margins": lambda data, cut: (jr.data.add_relative_margin(data), {}),
    "a side that changes": lambda data, cut: (data, {"side_since": middle_of_past(data, cut)}),
    "form": lambda data, cut: (data, {"form_deviation": 40.0}),
}


def has_evidence(data, name):
    """Whether the history can have this kind of evidence."""
    needs = {
        "ground": data.venues is not None,
        "leads by category": data.categories is not None,
        "relative margins": len(data.margin) == 2,
        "a side that changes": data.matches.context.side is not None,
    }
    return needs.get(name, True)


def further(name, load, options):
    """What each kind of further evidence adds to skills by the rule; None without the data."""
    data = load(options)
    if data is None:
        return None
    if options.quick:
        data = data._replace(events=slice_events(data.matches, 0, 400), rows=data.rows[:400])
    n = len(data.matches.score)
    cut = n * 4 // 5

    def fit_with(label, data, changes):
        system = make_system_for_data("skills", RULES.get(name, {}) | changes, None, data, 0.8, cut)
        return fitted(label, system, History(data.matches, cut), options)

    base, rows = fit_with("skills", data, {}), []
    kinds = KINDS.get(name) or [kind for kind in FURTHER if has_evidence(data, kind)]
    for kind in kinds[: 1 if options.quick else None]:
        told = fit_with(f"skills with {kind}", *FURTHER[kind](data, cut))
        rows.append({"with": kind} | told.row | mean_and_error(told.loss - base.loss))
    history = [{"matches": n, "fitted": cut, "scored": n - cut}]
    return {"history": history, "systems": [base.row], "with one kind of evidence more": rows}


# --- Forecasts that smooth the past anew every so often. ---

ONCE = 1e6  # days


def compared(system, history, label, refits):
    """A row for the filter, and one for each distance between refits."""
    matches, cut = history.matches, history.cut
    score, start = matches.score[cut:], matches.time[cut]
    rows, filtered = [], None
    for name, refit in (("never", None), ("once", ONCE), *((str(x), x) for x in refits)):
        began = time.perf_counter()
        found = (
            jr.forecasts.forecast_by_smoothing(system, matches, start=start, refit=refit)
            if refit
            else jr.run(system, matches)
        )
        guess = np.asarray(found.prediction)[cut:]
        row = {"hyperparameters": label, "refit": name, "log_loss": float(jr.metrics.log_loss(guess, score))}
        if refit:
            gain = jr.metrics.compare_log_loss(filtered, guess, score)
            row |= {"gain": gain.difference, "error": gain.error}
        else:
            filtered = guess
        rows.append(row | {"seconds": time.perf_counter() - began})
    return rows


def hindsight(name, load, refits, options):
    """The table of one history; None if it is not there."""
    history = load(options)
    if history is None:
        return None
    rows = []
    for label, without in (("fitted", []), ("without experience", ["experience"])):
        if fitted := fitted_to(name, label):
            system = skills(history.learnt, without)
            system = system._replace(params=system.params._replace(**fitted))
            rows += compared(system, history, label, (28.0,) if options.quick else refits)
    return {f"{len(history.matches.score) - history.cut} matches scored": rows}


def fitted_to(name, label):
    """Hyperparameters that `evidence.py` found; None if it was not asked."""
    found = results_in(Path(__file__).parent / "results" / "evidence.json")[name]
    if label == "fitted":
        return found["systems"][0]["fitted"]
    rows = found.get("without one kind of evidence", ())
    return next((row["fitted"] for row in rows if row["without"] == "experience"), None)


SMALL, LARGE = (91.0, 28.0, 7.0), (91.0, 28.0)  # days between smoothings


PARTS = {
    "nfl": partial(benchmark, nfl),
    "basketball": partial(benchmark, basketball),
    "football": partial(benchmark, partial(football, 0.8, 2)),
    "football, three outcomes": partial(benchmark, partial(football, 0.5, 3)),
    "tennis": partial(benchmark, tennis),
    "tennis, games and form": partial(alone, tennis_games, form_deviation=40.0),
    "tennis, games": partial(alone, tennis_games),
    "tennis, KDD 2019": partial(benchmark, partial(tennis_kdd, False), evidence=False),
    "tennis, KDD 2019, with walkovers": partial(benchmark, partial(tennis_kdd, True), evidence=False),
    **{f"further, {name}": partial(further, name, load) for name, load in DATASETS.items()},
    "hindsight, nfl": partial(hindsight, "nfl", nfl, SMALL),
    "hindsight, basketball": partial(hindsight, "basketball", basketball, SMALL),
    "hindsight, football": partial(hindsight, "football", partial(football, 0.8, 2), SMALL),
    "hindsight, tennis": partial(hindsight, "tennis", tennis, LARGE),
    "hindsight, tennis, KDD 2019": partial(hindsight, "tennis, KDD 2019", partial(tennis_kdd, False), LARGE),
}

if __name__ == "__main__":
    in_quick = {name: PARTS[name] for name in ("nfl", "further, nfl", "hindsight, nfl")}
    measure(PARTS, "the NFL's first years, seconds", "the histories", in_quick=in_quick)
