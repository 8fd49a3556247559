"""Predictions of Urnings from r / n, as in its paper, and from (r + 1) / (n + 2), as by default here.

    python experiments/urnings_estimates.py          # a minute; writes JSON
    python experiments/urnings_estimates.py --quick  # seconds, simulations; writes nothing unless --out is given

The histories, urns and starts are those of `urnings_data.py`. All games are scored one step ahead, and those alone
whose players both have played 3 games per ball. "impossible" counts the results to which r / n gave no chance at all:
their log loss is infinite, and is that of a probability of 2^-24 in the table. "off" is how far the share of wins is
from what was expected, root mean square over twenty bins of the expectation.
"""

from functools import partial
from pathlib import Path

import numpy as np
from common import circumstances, declare, find, parse, show, write
from urn_histories import BALLS, EXERCISE, LEARNER, MOVIE, USER, answers, at_random, chess, replay

import jaxrate as jr


def off(prediction, score, bins=20):
    which = np.minimum((prediction * bins).astype(int), bins - 1)
    count = np.maximum(np.bincount(which, minlength=bins), 1)
    gap = np.bincount(which, score - prediction, minlength=bins) / count
    return np.sqrt(np.average(gap**2, weights=count))


def rows_of(name, make, matches, state):
    score, rows = np.asarray(matches.score), []
    for estimate in ("mean", "share"):
        run = replay(jr.forecasts.add_outcomes(make(estimate=estimate)), matches, state)
        levels = run.prediction
        level = np.rint(score * (levels.shape[1] - 1)).astype(int)
        said = levels[np.arange(len(level)), level]
        expected = levels @ np.linspace(0, 1, levels.shape[1])
        for which, some in (("all", np.ones(len(score), bool)), ("settled", run.settled)):
            rows.append(
                {
                    "history": name,
                    "games": which,
                    "estimate": estimate,
                    "count": int(some.sum()),
                    "impossible": int((said[some] == 0).sum()),
                    "log_loss": -np.log(np.maximum(said[some], 2.0**-24)).mean(),
                    "brier": ((levels[some] - np.eye(levels.shape[1])[level[some]]) ** 2).sum(axis=1).mean(),
                    "off": off(expected[some], score[some]),
                }
            )
    return rows


def main():
    options = parse(declare(__doc__, "simulated histories", "the histories"), __file__)
    if not options.quick and not find(options, "movielens_small.parquet", "nothing to do"):
        return
    report, data, rows = circumstances(), Path(options.data), []
    matches, names = chess(data, options.quick)
    for weight in (2.0, 5.0):
        make, start = (
            partial(jr.urnings, BALLS, 3, draw_weight=weight),
            jr.urns.make_urns(np.full(2 * len(names), BALLS)),
        )
        rows += rows_of(f"chess, draw weight {weight:g}", make, jr.urns.split_by_side(matches), start)
    for name, file, sizes, quick in (
        ("movies", "movielens_small", (MOVIE, USER), (200, 100, 40_000)),
        ("exercises", "edu_assist2017_pid", (LEARNER, EXERCISE), (200, 60, 60_000)),
    ):
        matches, first, names = answers(data, file, options.quick, *quick)
        rows += rows_of(name, jr.urnings, matches, at_random(np.where(np.arange(len(names)) < first, *sizes)))
    results = {"one step ahead": rows}
    show(results)
    write(options.out, report, results)


if __name__ == "__main__":
    main()
