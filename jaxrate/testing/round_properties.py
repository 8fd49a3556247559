"""What replays of rounds must keep."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import build_rounds, slice_events
from jaxrate.league.ratings_at_times import ratings
from jaxrate.replay.blocks import Block, arrange_blocks
from jaxrate.replay.checked_replay import Run
from jaxrate.replay.event_prediction import predict
from jaxrate.testing.case_assertions import (
    Case,
    as_float_arrays,
    assert_claim,
    assert_close_leaves,
    assert_equal_leaves,
    gather_player_rows,
    strict_precision,
)
from jaxrate.testing.replay_properties import player_ratings, replay, replay_first_season
from jaxrate.testing.synthetic_histories import TIME_AFTER_EVENTS, split_seasons


def contests_one_by_one_equal_batches(case: Case) -> None:
    """Padded to more slots or to fewer, in which a system may calculate otherwise."""
    sizes = np.diff(split_seasons(case)[0].player_start)
    slots = [int(next(most for most in np.sort(sizes)[-2:] if n <= most)) for n in sizes]
    steps = [Block(np.array([[i]], np.int32), (n, n)) for i, n in enumerate(slots)]
    found = replay(case, split_seasons(case)[0], schedule=arrange_blocks(split_seasons(case)[0], steps))
    assert_close_leaves("the state", found.state, replay_first_season(case).state, 1e-9)
    assert_close_leaves("predictions", found.prediction, replay_first_season(case).prediction, 1e-5)


def times_must_not_decrease_where_the_clock_matters(case: Case) -> None:
    system, events = case.system, split_seasons(case)[0]
    time = events.events.time.copy()
    time[-1] = -1.0
    early = events._replace(events=events.events._replace(time=time))
    if not system.depends_on_time(system.params):
        assert_equal_leaves(
            "predictions, although no clock matters",
            replay(case, early).prediction,
            replay_first_season(case).prediction,
        )
        return
    said = "nothing"
    try:
        replay(case, early)
    except ValueError as error:
        said = str(error)
    wanted = f"row {events.player_start[-2]} (counting from 0): time -1.0 is earlier than {time[-2]}"
    assert_claim(said.startswith(wanted), f"time decreases, and the error should say {wanted!r}; it said {said!r}")


IDLE_CASES = [(idle, again) for again in (True, False) for idle in ("alone", "none")]


@lru_cache(maxsize=4)
def replay_idle_groups(case: Case) -> tuple[Run, Any, Any]:
    """Groups of four players play the same contest, then an idle one as in `IDLE`, and some of them another.

    Returns the run, and the groups' ratings [4, 4] after it and later.
    """
    table = [(4 * g, 0.0, [0, 1, 1, 3]) for g in range(len(IDLE_CASES))]
    for g, (idle, _) in enumerate(IDLE_CASES):
        table += [(4 * g, 5.0, [0])] if idle == "alone" else []
    table += [(4 * g, 8.0, [2, 0, 3, 1]) for g, (_, again) in enumerate(IDLE_CASES) if again]
    columns = [(i, who + k, r, time) for i, (who, time, rank) in enumerate(table) for k, r in enumerate(rank)]
    contest, player, rank, time = np.array(columns).T
    many = np.full(len(rank), 0.5)
    events = build_rounds(contest.astype(int), player.astype(int), rank, weight=many, time=time)
    done = replay(case, events, schedule="auto", num_players=4 * len(IDLE_CASES))
    with strict_precision(case.double):
        state = jax.tree.map(jnp.asarray, done.state)
        found = [ratings(case.system, state, time=time) for time in (None, TIME_AFTER_EVENTS)]
    return done, *(jax.tree.map(lambda x: np.asarray(x).reshape(len(IDLE_CASES), 4), x) for x in found)


def a_contest_of_one_changes_nothing(case: Case) -> None:
    """Beyond the clock."""
    done, now, later = replay_idle_groups(case)
    for what, x in (("rating", later.mean), ("deviation", later.deviation)):
        if x is not None:
            assert_close_leaves(f"the {what} of who has another contest after it", x[0], x[1], 1e-13)
            assert_close_leaves(f"the {what} of who has no contest after it", x[2], x[3], 1e-13)
    assert_claim((now.mean[1] != now.mean[3]).all(), "a contest of four changes nothing")
    alone = done.prediction[np.isclose(done.prediction, 0.5)]
    assert_claim(len(alone) >= 2, f"of a contest of one the prediction should be 0.5; it is {done.prediction}")


def rounds_are_predicted_as_in_a_run(case: Case) -> None:
    """Of contests without a common player: learning from one does not change what is said of the other."""
    system, state = case.system, replay_first_season(case).state
    two = slice_events(split_seasons(case)[1], 1, 3)
    known = int(two.events.player.max()) + 1
    coming = two._replace(events=two.events._replace(time=np.full(2, TIME_AFTER_EVENTS)))
    for few in (
        gather_player_rows(state, slice(known)),
        gather_player_rows(state, slice(known // 2)),
    ):  # the others are newcomers
        wanted = replay(case, coming, state=few, num_players=known, schedule="auto").prediction
        with strict_precision(case.double):
            given = jax.tree.map(jnp.asarray, few)
            params = as_float_arrays(system.params)
            found = predict(system, given, coming, params=params, num_players=known)
            assert_equal_leaves("the state that was given", given, few)
        assert_close_leaves("predictions", np.asarray(found), wanted, 1e-12)


POINT_EXPONENTS = {"points": 1, "points^2 per day": 2}  # units of hyperparameters, and their powers of points


def ratings_have_any_unit_and_zero(case: Case) -> None:
    """Unless the scale is fixed: in points of another size all is as large, and about another rating as far away."""
    system, (events, _), one = case.system, split_seasons(case), replay_first_season(case)
    if system.traits.fixed_scale:
        return
    params, first, tolerance = system.params, player_ratings(case, one.state), 1e-9 if case.double else 1e-4
    units = [(name, POINT_EXPONENTS.get(about.unit, 0)) for name, about in system.space._asdict().items()]
    values = {name: getattr(params, name) for name, _ in units}
    larger = params._replace(**{name: values[name] * 32.0**k for name, k in units if values[name] is not None})
    away = 8.0 * params.initial_rating  # twelve thousand points, if newcomers have 1500
    moved = params._replace(initial_rating=params.initial_rating + away)
    for what, other, factor, shift in (("32 times as large", larger, 32.0, 0.0), ("far away", moved, 1.0, away)):
        ceiling = None if events.events.ceiling is None else factor * events.events.ceiling + shift
        scaled = events._replace(events=events.events._replace(ceiling=ceiling))
        with strict_precision(case.double):
            given = as_float_arrays(other)
        done = replay(case, scaled, params=given)
        mean, deviation = player_ratings(case, done.state)
        assert_close_leaves(f"ratings {what}", (mean - shift) / factor, first.mean, tolerance)
        if deviation is not None:
            assert_close_leaves(f"deviations of ratings {what}", deviation / factor, first.deviation, tolerance)
        assert_close_leaves(f"predictions of ratings {what}", done.prediction, one.prediction, tolerance)
