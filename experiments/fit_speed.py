"""A dozen hyperparameters of skills fitted at once to all of ATP tennis: seconds, losses, standard errors.

    python experiments/fit_speed.py             # 5 minutes; writes experiments/results/fit_speed.json
    python experiments/fit_speed.py --quick     # a minute, on a small league; writes nothing without --out

Skills learn from 936,248 results with surfaces, growth by time and by match, reversion, experience, and five covariates
made of the matches before, as the first player's less the second's: days of rest, whether their last match was given
up, matches in the last two weeks, on the same surface, and above the lowest tier (all but `hurt` as log(1 + x)).
"""

from functools import partial

import numpy as np
from common import find, fit_options, measure, timed

import jaxrate as jr
from jaxrate import parts
from jaxrate.data.simulate import league
from jaxrate.fitting.fit_problem import evaluate, mean_loss, prepare_fit
from jaxrate.fitting.prediction_task import make_prediction_task

COVARIATES = "rest", "hurt", "load", "surface_games", "tour_games"
YEAR, FORTNIGHT, HURT = 365.0, 14, 60.0  # days: rest counts up to, load of, and how long an injury is held against


def ranks(*keys):
    """[n] how many earlier rows have the same keys."""
    label = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        label = np.unique(label * (int(key.max()) + 1) + key, return_inverse=True)[1]
    order = np.argsort(label, kind="stable")
    group = label[order]
    begin = np.maximum.accumulate(np.where(np.diff(group, prepend=-1) != 0, np.arange(len(group)), 0))
    count = np.empty(len(group), np.int64)
    count[order] = np.arange(len(group)) - begin
    return count


def covariates(player, day, surface, given_up, tour):
    """Columns [n], the first player's less the second's, of matches [n] in order; `given_up` [n, 2] is by whom."""
    who, day = player.ravel(), np.repeat(day, 2).astype(np.int64)
    order = np.argsort(who, kind="stable")
    own, when = who[order], day[order]
    first = np.diff(own, prepend=-1) != 0
    rest = np.where(first, YEAR, np.clip(when - np.roll(when, 1), 0, YEAR))
    hurt = np.where(first | (rest >= HURT), 0.0, np.roll(given_up.ravel()[order], 1))
    key = own.astype(np.int64) * 10**6 + when - when.min()
    load = np.arange(len(own)) - np.searchsorted(key, key - FORTNIGHT)
    on_tour = np.cumsum(np.repeat(tour, 2)[order]) - np.repeat(tour, 2)[order]
    on_tour = on_tour - np.maximum.accumulate(np.where(first, on_tour, 0))
    surface_games = ranks(who, np.repeat(surface, 2))[order]
    columns = {}
    values = np.log1p(rest), hurt, np.log1p(load), np.log1p(surface_games), np.log1p(on_tour)
    for name, value in zip(COVARIATES, values, strict=True):
        both = np.empty(len(own))
        both[order] = value
        columns[name] = both[0::2] - both[1::2]
    return columns


def history(options):
    """Matches with surfaces and covariates, or None."""
    if options.quick:
        small = league(100, 1_000, activity=0.8).matches
        n, rng = len(small.score), np.random.default_rng(0)
        player, score, day = np.asarray(small.player), np.asarray(small.score), np.floor(small.time)
        surface, given_up, tour = rng.integers(0, 3, n), rng.random((n, 2)) < 0.03, rng.random(n) < 0.5
    else:
        from pyarrow import compute, parquet

        path = find(options, "atp.parquet")
        if not path:
            return None
        table = parquet.read_table(path)
        tour = compute.cast(compute.not_equal(compute.cast(table["source"], "string"), "futures"), "int32")
        table = table.append_column("tour", tour)
        columns = ["retired", "tour"]
        read = jr.read(table, time="t", drop="walkover", category="surface", columns=columns, sort=False).matches
        player, score, day = (np.asarray(x) for x in (read.player, read.score, read.time))
        surface, lost = np.asarray(read.context.category)[:, 0], np.stack([score == 0, score == 1], axis=1)
        retired, tour = (np.asarray(read.context.columns[name]) > 0 for name in columns)
        given_up = retired[:, None] & lost
    return jr.matches(player, score, day, category=surface, columns=covariates(player, day, surface, given_up, tour))


def system_for(matches):
    """Skills with twelve hyperparameters to fit."""
    return jr.skills(
        parts.skill(match_growth=3.0, reversion=3000.0),
        parts.modifier(int(matches.context.category.max()) + 1, deviation=60.0),
        parts.experience(),
        *map(parts.covariate, COVARIATES),
    )


def looks(options):
    """What it takes to look at the losses, and at the slopes, once it is compiled."""
    matches = history(options)
    if matches is None:
        return None
    system, n = system_for(matches), len(matches.score)
    problem = prepare_fit(make_prediction_task(system, matches), None)
    calls = {
        "values": partial(mean_loss, problem, problem.start, np.ones(n)),
        "forward": partial(evaluate, problem, problem.start[None], system.params),
    }
    rows = []
    for what in calls:
        first, again = (timed(calls[what])[1] for _ in "12")
        rows.append({"look": what, "matches": n, "first_seconds": first["seconds"]} | again)
    return {"looks": rows}


def dozen(options):
    """The fit: how long it takes, what it is worth, and what is found."""
    matches = history(options)
    if matches is None:
        return None
    system = system_for(matches)
    found, took = timed(lambda: jr.fit(system, matches, **fit_options(options.quick)))
    row = {
        "matches": len(matches.score),
        "parameters": len(found.free),
        "loss_at_start": found.loss_history[0],
        "loss": found.loss,
        "steps": len(found.loss_history) - 1,
        "reason": found.reason,
        "errors": found.objective.errors,
    }
    rows = [
        {"parameter": name, "start": getattr(system.params, name), "fitted": getattr(found.params, name)}
        | {"standard_error": found.standard_error[name]}
        for name in found.free
    ]
    steps = [{"step": i, "loss": loss} for i, loss in enumerate(found.loss_history)]
    return {"fit": [row | took], "parameters": rows, "steps": steps}


PARTS = {"looks": looks, "dozen": dozen}


if __name__ == "__main__":
    measure(PARTS, "a small league, a minute", "atp.parquet")
