"""Properties of replays of rounds."""

import math
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import build_rounds, slice_events
from jaxrate.history.ratings_at_times import ratings
from jaxrate.replay.blocks import arrange_blocks
from jaxrate.replay.checked_replay import Run
from jaxrate.replay.contest_checks import depends_on_time
from jaxrate.replay.event_prediction import predict
from jaxrate.testing.case_and_assertions import (
    SystemFormPrecision,
    as_float_arrays,
    assert_claim,
    assert_close_leaves,
    assert_equal_leaves,
    gather_player_rows,
    strict_precision,
)
from jaxrate.testing.replay_properties import player_ratings, replay_case_events, replay_first_season
from jaxrate.testing.synthetic_histories import (
    TIME_AFTER_EVENTS,
    block_of_contest_pairs,
    block_of_small_contests,
    column_names_read_by_rules,
    player_count,
    split_seasons,
)


def contests_one_by_one_equal_batches(case: SystemFormPrecision) -> None:
    """With other padding, for which a system may use other formulas."""
    events = split_seasons(case)[0]
    count = len(events.player_start) - 1
    blocks = [block_of_contest_pairs([[0, count]], count), block_of_small_contests(range(1, count), count)]
    one_by_one = replay_case_events(case, events, schedule=arrange_blocks(events, blocks))
    assert_close_leaves("the state", one_by_one.state, replay_first_season(case).state, 1e-9)
    assert_close_leaves("predictions", one_by_one.prediction, replay_first_season(case).prediction, 1e-5)


def times_must_not_decrease_where_the_clock_matters(case: SystemFormPrecision) -> None:
    system, events = case.system, split_seasons(case)[0]
    time = events.events.time.copy()
    time[-1] = -1.0
    disordered = events._replace(events=events.events._replace(time=time))
    if not depends_on_time(system, system.params):
        assert_equal_leaves(
            "predictions, although time does not matter",
            replay_case_events(case, disordered).prediction,
            replay_first_season(case).prediction,
        )
        return
    message = "nothing"
    try:
        replay_case_events(case, disordered)
    except ValueError as error:
        message = str(error)
    expected = f"row {events.player_start[-2]} (counting from 0): time -1.0 is earlier than {time[-2]}"
    assert_claim(
        message.startswith(expected), f"time decreases, and the error should say {expected!r}; it said {message!r}"
    )


IDLE_CASES = [(idle, again) for again in (True, False) for idle in ("alone", "none")]


@lru_cache(maxsize=4)
def replay_groups_with_idle_contests(case: SystemFormPrecision) -> tuple[Run, Any, Any]:
    """Groups of four players play the same contest, then an idle one as in `IDLE_CASES`, and some of them another.

    Returns the run, and the groups' ratings [4, 4] after it and later.
    """
    table = [(4 * g, 0.0, [0, 1, 1, 3]) for g in range(len(IDLE_CASES))]
    for g, (idle, _) in enumerate(IDLE_CASES):
        table += [(4 * g, 5.0, [0])] if idle == "alone" else []
    table += [(4 * g, 8.0, [2, 0, 3, 1]) for g, (_, again) in enumerate(IDLE_CASES) if again]
    rows = [(i, who + k, r, time) for i, (who, time, rank) in enumerate(table) for k, r in enumerate(rank)]
    contest, player, rank, time = np.array(rows).T
    constant_columns = {"weight": np.full(len(rank), 0.5), "time": time, "ceiling": np.full(len(rank), math.inf)}
    if "noise" in case.system.features:
        constant_columns["noise"] = np.ones(len(rank))
    further = dict.fromkeys(column_names_read_by_rules(case.system, case.form), 1.0 + rank)
    events = build_rounds(contest.astype(int), player.astype(int), rank, **constant_columns, columns=further)
    pairs = np.arange(len(table), dtype=np.int32).reshape(-1, 2)  # of contests without a common player
    result = replay_case_events(
        case, events, schedule=arrange_blocks(events, [block_of_contest_pairs(pairs, len(table))])
    )
    with strict_precision(case.double):
        state = jax.tree.map(lambda x: jnp.asarray(x[: 4 * len(IDLE_CASES)]), result.state)
        ratings_later = [ratings(case.system, state, time=time) for time in (None, TIME_AFTER_EVENTS)]
    return result, *(jax.tree.map(lambda x: np.asarray(x).reshape(len(IDLE_CASES), 4), x) for x in ratings_later)


def a_contest_of_one_changes_nothing(case: SystemFormPrecision) -> None:
    """Except for times."""
    result, now, later = replay_groups_with_idle_contests(case)
    for quantity, x in (("rating", later.mean), ("deviation", later.deviation)):
        if x is not None:
            assert_close_leaves(f"the {quantity} of players with a contest after it", x[0], x[1], 1e-13)
            assert_close_leaves(f"the {quantity} of players without a contest after it", x[2], x[3], 1e-13)
    assert_claim((now.mean[1] != now.mean[3]).all(), "a contest of four changes nothing")
    idle_predictions = result.prediction[np.isclose(result.prediction, 0.5)]
    assert_claim(
        len(idle_predictions) >= 2, f"the prediction of a contest of one should be 0.5; it is {result.prediction}"
    )


def rounds_are_predicted_as_in_a_run(case: SystemFormPrecision) -> None:
    """In contests without a common player, so that one does not change the prediction of the other."""
    system, state = case.system, replay_first_season(case).state
    two = slice_events(split_seasons(case)[1], 1, 3)
    num_players = player_count(case.form)
    future = two._replace(events=two.events._replace(time=np.full(2, TIME_AFTER_EVENTS)))
    schedule = arrange_blocks(future, [block_of_small_contests([0, 1], 2)])
    for known_rows in (
        state,
        gather_player_rows(state, slice(num_players // 2)),
    ):  # the others are newcomers
        expected = replay_case_events(
            case, future, state=known_rows, num_players=num_players, schedule=schedule
        ).prediction
        with strict_precision(case.double):
            device_state = jax.tree.map(jnp.asarray, known_rows)
            params = as_float_arrays(system.params)
            prediction = predict(system, device_state, future, params=params, num_players=num_players)
            assert_equal_leaves("the given state", device_state, known_rows)
        assert_close_leaves("predictions", np.asarray(prediction), expected, 1e-12)


FIXED_SCALES = ("topcoder",)  # constants in points are part of their rules
POINT_EXPONENTS = {  # units of hyperparameters, and their powers of points
    "points": 1,
    "points^2 per day": 2,
    "points per sqrt(period)": 1,
    "points per unit": 1,
}


def ratings_have_any_unit_and_zero(case: SystemFormPrecision) -> None:
    """Unless the scale is fixed: ratings scale with the unit of points, and shift with the initial rating."""
    system, (events, _), original = case.system, split_seasons(case), replay_first_season(case)
    if system.name in FIXED_SCALES:
        return
    params, first, tolerance = system.params, player_ratings(case, original.state), 1e-9 if case.double else 1e-4
    units = [(name, POINT_EXPONENTS.get(about.unit, 0)) for name, about in system.space._asdict().items()]
    values = {name: getattr(params, name) for name, _ in units}
    larger = params._replace(**{name: values[name] * 32.0**k for name, k in units if values[name] is not None})
    shift_of_zero = 8.0 * params.initial_rating  # twelve thousand points, if newcomers have 1500
    shifted = params._replace(initial_rating=params.initial_rating + shift_of_zero)
    for label, other, factor, shift in (
        ("32 times as large", larger, 32.0, 0.0),
        ("far away", shifted, 1.0, shift_of_zero),
    ):
        ceiling = None if events.events.ceiling is None else factor * events.events.ceiling + shift
        scaled = events._replace(events=events.events._replace(ceiling=ceiling))
        with strict_precision(case.double):
            float_params = as_float_arrays(other)
        result = replay_case_events(case, scaled, params=float_params)
        mean, deviation = player_ratings(case, result.state, float_params)
        assert_close_leaves(f"ratings {label}", (mean - shift) / factor, first.mean, tolerance)
        if deviation is not None:
            assert_close_leaves(f"deviations of ratings {label}", deviation / factor, first.deviation, tolerance)
        assert_close_leaves(f"predictions of ratings {label}", result.prediction, original.prediction, tolerance)
