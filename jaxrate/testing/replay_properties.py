"""Properties of replays in every form."""

from functools import lru_cache
from typing import Any

import jax
import numpy as np

from jaxrate.core.rules import Rating
from jaxrate.core.system import RatingSystem
from jaxrate.events import Ragged
from jaxrate.history.ratings_at_times import ratings
from jaxrate.replay.checked_replay import Run, run
from jaxrate.replay.execution import CompilePolicy
from jaxrate.testing.case_and_assertions import (
    SystemFormPrecision,
    as_float_arrays,
    assert_claim,
    assert_close_leaves,
    assert_equal_leaves,
    assert_with_label,
    gather_player_rows,
    make_key,
    strict_precision,
)
from jaxrate.testing.event_transforms import rename_players, reverse_results, shuffle_participants, swap_sides
from jaxrate.testing.synthetic_histories import (
    PERIOD_LENGTH,
    column_names_read_only_to_update,
    events_in_form,
    opposite_side_columns,
    player_count,
    schedule_for_form,
    split_seasons,
)


def replay_case_events(case: SystemFormPrecision, events: Any, **options: Any) -> Run:
    """Run the events of a case; the result has NumPy arrays."""
    system, form = case.system, case.form
    with strict_precision(case.double):
        default_options = {
            "num_players": player_count(form),
            "schedule": schedule_for_form(form, events),
            "params": as_float_arrays(system.params),
            "policy": CompilePolicy(quick=True),
        }
        result = run(system, events_in_form(form, events), key=make_key(system), **default_options | options)
        return jax.tree.map(np.asarray, result)


@lru_cache(maxsize=64)
def replay_first_season(case: SystemFormPrecision) -> Run:
    """The run of the first season."""
    return replay_case_events(case, split_seasons(case)[0])


def reverse_case_results(case: SystemFormPrecision, events: Any, first_event: int) -> Any:
    """The events with reversed results from this one on, and what their columns say of them."""
    evidence = column_names_read_only_to_update(case.system, case.form)
    return reverse_results(events, first_event, evidence, opposite_side_columns(case.system))


def player_ratings(case: SystemFormPrecision, state: Any, params: Any = None) -> Rating:
    """The ratings and deviations of all players."""
    with strict_precision(case.double):
        return jax.tree.map(np.asarray, ratings(case.system, state, params=params))


def participant_ids(events: Any) -> Any:
    """The ids of all participants, in increasing order."""
    return np.unique(events.flat.player)


def states_are_finite_and_predictions_are_probabilities(case: SystemFormPrecision) -> None:
    events, (state, prediction) = split_seasons(case)[0], replay_first_season(case)
    assert_claim(not any(np.isnan(x).any() for x in jax.tree.leaves(state)), "the state is not a number somewhere")
    assert_claim(
        all(np.isfinite(x).all() for x in jax.tree.leaves(player_ratings(case, state))), "a rating is not finite"
    )
    assert_claim(
        prediction.dtype == (np.float64 if case.double else np.float32), f"predictions are of {prediction.dtype}"
    )
    if isinstance(events, Ragged):
        assert_claim(
            ((prediction >= 0.0) & (prediction <= 1.0)).all(),
            "the share of the others whom somebody beats is not 0 to 1",
        )
        share = 0.5 * np.diff(events.player_start)
        total = np.add.reduceat(prediction, events.player_start[:-1])
        assert_with_label("sums of the shares of contests", np.testing.assert_allclose, total, share, rtol=1e-4)
    else:
        assert_claim(((prediction > 0.0) & (prediction < 1.0)).all(), "a prediction is not between 0 and 1")


def single_precision_agrees_with_double(case: SystemFormPrecision) -> None:
    double = case._replace(double=True)
    single_run, double_run = replay_first_season(case), replay_first_season(double)
    assert_with_label(
        "predictions", np.testing.assert_allclose, single_run.prediction, double_run.prediction, atol=1e-4
    )
    assert_close_leaves(
        "ratings and deviations", player_ratings(case, single_run.state), player_ratings(double, double_run.state), 1e-4
    )


def untouched_rows_are_inert(case: SystemFormPrecision) -> None:
    events, num_players = split_seasons(case)[0], player_count(case.form)
    with strict_precision(case.double):
        initial_state = case.system.init(as_float_arrays(case.system.params), num_players)
    idle = np.setdiff1d(np.arange(num_players), participant_ids(events))
    state = replay_first_season(case).state
    assert_equal_leaves(
        "the rows of players who never play", gather_player_rows(state, idle), gather_player_rows(initial_state, idle)
    )


def predictions_know_neither_their_result_nor_the_future(case: SystemFormPrecision) -> None:
    events, prediction = split_seasons(case)[0], replay_first_season(case).prediction
    if case.form == "rounds":
        first_changed, num_unaffected = (
            1,
            int(events.player_start[2]),
        )  # index of the first contest with another result, and rows before the contest after it
    else:
        first_changed = num_unaffected = int(np.searchsorted(events.time, 4 * PERIOD_LENGTH))
        num_unaffected = (
            int(np.searchsorted(events.time, 5 * PERIOD_LENGTH)) if case.form == "periods" else first_changed + 1
        )
    other_prediction = replay_case_events(case, reverse_case_results(case, events, first_changed)).prediction
    assert_equal_leaves(
        "predictions up to the first event that ends differently",
        prediction[:num_unaffected],
        other_prediction[:num_unaffected],
    )
    changed = np.mean(prediction[num_unaffected:] != other_prediction[num_unaffected:])
    assert_claim(changed > 0.3, f"only {changed:.0%} of the predictions after other results differ")


def a_better_result_gives_a_better_rating(case: SystemFormPrecision) -> None:
    events = split_seasons(case)[0]
    if case.form == "rounds":
        last = slice(events.player_start[-2], None)
        player, rank = events.events.player[last], events.events.rank[last]
        best, worst, number = player[rank == 0], player[rank == rank.max()], len(events.player_start) - 2
    else:
        best, worst, number = events.player[-1, :1], events.player[-1, 1:], len(events.score) - 1
    other = replay_case_events(case, reverse_case_results(case, events, number))
    rating_gain = player_ratings(case, replay_first_season(case).state).mean - player_ratings(case, other.state).mean
    assert_claim(
        (rating_gain[best] > 0.0).all(), "after a win in the last event somebody is not rated higher than after a loss"
    )
    assert_claim(
        (rating_gain[worst] < 0.0).all(), "after a loss in the last event somebody is not rated lower than after a win"
    )


def the_order_of_players_in_an_event_does_not_matter(case: SystemFormPrecision) -> None:
    """Except with further columns of matches, whose change under a swap is unknown."""
    events, original = split_seasons(case)[0], replay_first_season(case)
    if case.form != "rounds" and events.context.columns is not None:
        return
    if case.form == "rounds":
        chained = are_ties_of_neighbours(case.system)
        shuffle, order = shuffle_participants(events, renumber=not chained)
        result, expected = replay_case_events(case, shuffle), original.prediction[order]
    else:
        result, expected = replay_case_events(case, swap_sides(events)), 1.0 - original.prediction
    assert_close_leaves("the state", result.state, original.state, 1e-10)
    assert_close_leaves("predictions", result.prediction, expected, 1e-10)


def are_ties_of_neighbours(system: RatingSystem) -> bool:
    """Whether of teams that tie only neighbours in the order of their numbers are compared, as its paper says."""
    margins = (getattr(system.params, name, None) for name in ("draw_margin", "draw_probability"))
    return any(x is not None for x in margins) or str(system.settings.get("model")).endswith("_part")


def renaming_the_players_renames_the_rows(case: SystemFormPrecision) -> None:
    new_ids = np.random.default_rng(1).permutation(player_count(case.form))
    original, renamed = (
        replay_first_season(case),
        replay_case_events(case, rename_players(split_seasons(case)[0], new_ids)),
    )
    assert_close_leaves("the state", gather_player_rows(renamed.state, new_ids), original.state, 1e-10)
    assert_close_leaves("predictions", renamed.prediction, original.prediction, 1e-10)
