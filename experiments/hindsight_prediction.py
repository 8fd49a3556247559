"""Whether forecasts gain where the past is smoothed anew every so often, and filtered on from there.

    python experiments/hindsight_prediction.py              # 20 minutes; writes results/hindsight_prediction.json
    python experiments/hindsight_prediction.py --only nfl   # a minute; the league ships, the rest looks for --data
    python experiments/hindsight_prediction.py --quick      # seconds, on the NFL's first years; writes only to --out

Systems and hyperparameters are those that `evidence.py` fitted, for the filter's forecasts, to what came before the
scored part: `skills` with all kinds of evidence, and without experience. From there on
`jr.forecasts.forecast_by_smoothing` smooths the past every so many days (`refit`), or once. A gain is the filter's mean
log loss less that with hindsight, with its standard error over matches.
"""

import time
from functools import partial
from pathlib import Path

import evidence
import numpy as np
from common import results_in

import jaxrate as jr

ONCE = 1e6  # days


def compared(system, history, label, refits):
    """A row for the filter, and one for each distance between refits."""
    matches, cut = history.matches, history.cut
    score, start = matches.score[cut:], matches.time[cut]
    rows, filtered = [], None
    for name, refit in (("never", None), ("once", ONCE), *((str(days), days) for days in refits)):
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


def tried(name, load, refits, options):
    """The table of one history; None if it is not there."""
    history = load(options)
    if history is None:
        return None
    rows = []
    for label, without in (("fitted", []), ("without experience", ["experience"])):
        if fitted := fitted_to(name, label):
            system = evidence.skills(history.learnt, without)
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


SMALL, LARGE = (91.0, 28.0, 7.0), (91.0, 28.0)
PARTS = {
    "nfl": (evidence.nfl, SMALL),
    "basketball": (evidence.basketball, SMALL),
    "football": (partial(evidence.football, 0.8, 2), SMALL),
    "tennis": (evidence.tennis, LARGE),
    "tennis, KDD 2019": (partial(evidence.tennis_kdd, False), LARGE),
}
PARTS = {name: partial(tried, name, *some) for name, some in PARTS.items()}


if __name__ == "__main__":
    evidence.run(__doc__, PARTS, __file__)
