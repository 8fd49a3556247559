"""What a replay must keep, in every form."""

from functools import lru_cache
from typing import Any

import jax
import numpy as np

from jaxrate.events import Ragged
from jaxrate.records.readings import ratings
from jaxrate.replay.compiling import in_a_hurry
from jaxrate.replay.run import Run, run
from jaxrate.system import Rating
from jaxrate.testing.cases import Case, arrays, claim, equal, key, near, rows, strictly, told
from jaxrate.testing.changes import renamed, shuffled, swapped, upset
from jaxrate.testing.histories import EXTRA, LENGTH, as_replayed, evidence_read, players, schedule, seasons


def replay(case: Case, events: Any, **options: Any) -> Run:
    """A run, as arrays of NumPy."""
    system, form = case.system, case.form
    with strictly(case.double), in_a_hurry():
        usual = {"num_players": players(form), "schedule": schedule(form, events), "params": arrays(system.params)}
        done = run(system, as_replayed(form, events), key=key(system), **usual | options)
        return jax.tree.map(np.asarray, done)


@lru_cache(maxsize=64)
def season(case: Case) -> Run:
    """The run of the first season."""
    return replay(case, seasons(case)[0])


def rated(case: Case, state: Any) -> Rating:
    """Everybody's rating and deviation."""
    with strictly(case.double):
        return jax.tree.map(np.asarray, ratings(case.system, state))


def who_plays(events: Any) -> Any:
    """Everybody who takes part, in increasing order."""
    return np.unique(events.events.player if isinstance(events, Ragged) else events.player)


def states_are_finite_and_predictions_are_probabilities(case: Case) -> None:
    events, (state, guess) = seasons(case)[0], season(case)
    claim(not any(np.isnan(x).any() for x in jax.tree.leaves(state)), "the state is not a number somewhere")
    claim(all(np.isfinite(x).all() for x in jax.tree.leaves(rated(case, state))), "a rating is not finite")
    claim(guess.dtype == (np.float64 if case.double else np.float32), f"predictions are of {guess.dtype}")
    if isinstance(events, Ragged):
        claim(((guess >= 0.0) & (guess <= 1.0)).all(), "the share of the others whom somebody beats is not 0 to 1")
        share = 0.5 * np.diff(events.player_start)
        total = np.add.reduceat(guess, events.player_start[:-1])
        told("sums of the shares of contests", np.testing.assert_allclose, total, share, rtol=1e-4)
    else:
        claim(((guess > 0.0) & (guess < 1.0)).all(), "a prediction is not between 0 and 1")


def single_precision_agrees_with_double(case: Case) -> None:
    double = case._replace(double=True)
    one, other = season(case), season(double)
    told("predictions", np.testing.assert_allclose, one.prediction, other.prediction, atol=1e-4)
    near("ratings and deviations", rated(case, one.state), rated(double, other.state), 1e-4)


def untouched_rows_are_inert(case: Case) -> None:
    events, many = seasons(case)[0], players(case.form) + EXTRA
    with strictly(case.double):
        fresh = case.system.init(arrays(case.system.params), many)
    idle = np.setdiff1d(np.arange(many), who_plays(events))
    state = replay(case, events, num_players=many).state
    equal("the rows of players who never play", rows(state, idle), rows(fresh, idle))


def predictions_know_neither_their_result_nor_the_future(case: Case) -> None:
    events, one = seasons(case)[0], season(case).prediction
    if case.form == "rounds":
        since, known = 1, int(events.player_start[2])  # the first contest that ends differently, and what follows it
    else:
        since = known = int(np.searchsorted(events.time, 4 * LENGTH))
        known = int(np.searchsorted(events.time, 5 * LENGTH)) if case.form == "periods" else since + 1
    other = replay(case, upset(events, since, evidence_read(case.system, case.form))).prediction
    equal("predictions up to the first event that ends differently", one[:known], other[:known])
    changed = np.mean(one[known:] != other[known:])
    claim(changed > 0.3, f"of the predictions after other results only {changed:.0%} are other ones")


def a_better_result_gives_a_better_rating(case: Case) -> None:
    events = seasons(case)[0]
    if case.form == "rounds":
        last = slice(events.player_start[-2], None)
        player, rank = events.events.player[last], events.events.rank[last]
        best, worst, number = player[rank == 0], player[rank == rank.max()], len(events.player_start) - 2
    else:
        best, worst, number = events.player[-1, :1], events.player[-1, 1:], len(events.score) - 1
    other = replay(case, upset(events, number, evidence_read(case.system, case.form)))
    ahead = rated(case, season(case).state).mean - rated(case, other.state).mean
    claim((ahead[best] > 0.0).all(), "after a win in the last event somebody is not rated higher than after a loss")
    claim((ahead[worst] < 0.0).all(), "after a loss in the last event somebody is not rated lower than after a win")


def the_order_of_players_in_an_event_does_not_matter(case: Case) -> None:
    """Unless columns of the matches say something about one of the two: how they change is not known."""
    events, one = seasons(case)[0], season(case)
    if case.form != "rounds" and events.context.columns is not None:
        return
    if case.form == "rounds":
        shuffle, order = shuffled(events)
        result, wanted = replay(case, shuffle), one.prediction[order]
    else:
        result, wanted = replay(case, swapped(events)), 1.0 - one.prediction
    near("the state", result.state, one.state, 1e-10)
    near("predictions", result.prediction, wanted, 1e-10)


def renaming_the_players_renames_the_rows(case: Case) -> None:
    name = np.random.default_rng(1).permutation(players(case.form))
    one, other = season(case), replay(case, renamed(seasons(case)[0], name))
    near("the state", rows(other.state, name), one.state, 1e-10)
    near("predictions", other.prediction, one.prediction, 1e-10)
