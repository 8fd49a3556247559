"""What every system must satisfy, claim by claim."""

import copy
import math
import pickle
import re
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.rules import Params, Rating
from jaxrate.core.system import RatingSystem, replace_params
from jaxrate.events import Matches, Periods, Rounds, build_rounds, matches, periods, rounds, slice_events
from jaxrate.history.ratings_at_times import ratings
from jaxrate.replay.checked_replay import Run, depends_on_time, predict, run, scan
from jaxrate.replay.execution import CompilePolicy
from jaxrate.replay.schedule import arrange_blocks
from jaxrate.systems.prediction_wrapping import (
    add_outcomes,
    find_own_draw_predict_rule,
    has_outcome_wrapper,
    scores_or_score_probabilities,
)
from jaxrate.testing import cases
from jaxrate.testing.cases import SystemFormPrecision, assert_claim, strict_precision


def slopes_are_finite(case: SystemFormPrecision) -> None:
    """The slopes of a run are finite in forward mode, which overflows first in float32."""
    system, events = case.system, cases.split_seasons(case)[0]
    options = {
        "num_players": cases.player_count(case.form),
        "schedule": cases.schedule_for_form(case.form, events),
        "key": cases.make_key(system),
    }

    def replay_summary(params: Params) -> Any:
        result = run(system, cases.events_in_form(case.form, events), params=params, **options)
        return reduce_run_to_scalar(system, params, result)

    with strict_precision(case.double):
        slopes = cases.jit_quickly(jax.jacfwd(replay_summary))(cases.as_float_arrays(system.params))
    assert_claim(all(bool(jnp.isfinite(x)) for x in jax.tree.leaves(slopes)), f"slopes are not finite: {slopes}")


def stream_form_equals_levels_form(case: SystemFormPrecision) -> None:
    by_levels = replay_first_season(case._replace(form="levels"))
    cases.assert_close_leaves("the state and the predictions", replay_first_season(case), by_levels, 1e-11)


def a_column_that_nobody_reads_changes_nothing(case: SystemFormPrecision) -> None:
    events = cases.split_seasons(case)[0]
    unread = {"unread": np.random.default_rng(7).normal(size=cases.MATCHES)}
    context = events.context._replace(columns=unread | (events.context.columns or {}))
    with_column = replay_case_events(case, events._replace(context=context))
    cases.assert_equal_leaves("the state and the predictions", replay_first_season(case), with_column)


def win_draw_and_loss_agree_with_the_expected_score(case: SystemFormPrecision) -> None:
    """Win and half a draw add up to the expected score, by the system's own draws, or else Davidson's."""
    system = case.system
    if has_outcome_wrapper(system):
        return
    draws = {} if find_own_draw_predict_rule(system) else {"draw_odds": 0.7, "draw_strength": 1e-3}
    full, plain = case._replace(system=add_outcomes(system, **draws)), replay_first_season(case)
    with_outcomes = replay_case_events(full, cases.split_seasons(case)[0])
    with strict_precision(case.double):
        chance = np.asarray(scores_or_score_probabilities(with_outcomes.prediction))
    assert_claim(chance.shape[1:] >= (2,), f"probabilities of the scores have shape {chance.shape}")
    assert_claim(((chance >= 0.0) & (chance <= 1.0)).all(), "a probability of a score is not within [0, 1]")
    cases.assert_with_label("sums of the chances", np.testing.assert_allclose, chance.sum(axis=1), 1.0, rtol=1e-12)
    mean = chance @ np.linspace(0.0, 1.0, chance.shape[1])
    cases.assert_with_label("expected scores", np.testing.assert_allclose, mean, plain.prediction, rtol=1e-12)
    cases.assert_close_leaves("the state", with_outcomes.state, plain.state, 1e-11)


def a_period_of_one_match_is_that_match(case: SystemFormPrecision) -> None:
    """If no time passes between the periods, and the system rates matches."""
    system, events = case.system, cases.split_seasons(case)[0]
    if Matches not in system.events:
        return
    if "match_periods" in system.params._fields:  # time that a match alone takes; leads fade in periods
        system = system._replace(params=system.params._replace(match_periods=1.0, reversion=None))
    events = events._replace(time=np.zeros(cases.MATCHES))
    one_match_periods = periods(events, period=np.arange(cases.MATCHES))
    one_match_periods = one_match_periods._replace(events=one_match_periods.events._replace(time=events.time))
    match_run = replay_case_events(case._replace(system=system, form="levels"), events)
    with strict_precision(case.double):
        params, policy = cases.as_float_arrays(system.params), CompilePolicy(quick=True)
        num_players, key = cases.player_count(case.form), cases.make_key(system)
        period_run = run(system, one_match_periods, params=params, num_players=num_players, key=key, policy=policy)
    if "time" in match_run.state._fields:  # the time of the last match or period differs
        match_run, period_run = (x._replace(state=x.state._replace(time=0.0)) for x in (match_run, period_run))
    cases.assert_close_leaves("the state and the predictions", match_run, period_run, 1e-10)


def every_game_of_a_period_counts(case: SystemFormPrecision) -> None:
    """Each win or loss of the player with most of them in the last rating period changes their rating by itself."""
    events = cases.split_seasons(case)[0]
    period = events.time // cases.PERIOD_LENGTH
    decided = np.flatnonzero((period == period[-1]) & (events.score != 0.5))
    player = np.bincount(events.player[decided].ravel()).argmax()
    rows = decided[(events.player[decided] == player).any(axis=1)]
    rating = player_ratings(case, replay_first_season(case).state).mean[player]
    for row in rows:
        other = reverse_case_results(case, reverse_case_results(case, events, row), row + 1)
        gain = rating - player_ratings(case, replay_case_events(case, other).state).mean[player]
        won = (events.score[row] == 1.0) == (events.player[row, 0] == player)
        assert_claim(
            gain > 0.0 if won else gain < 0.0,
            f"of the {len(rows)} games of a player in a rating period one does not count; add them up",
        )


def contests_one_by_one_equal_batches(case: SystemFormPrecision) -> None:
    """Contests one by one, with other padding and perhaps other formulas, give what batches of them give."""
    events = cases.split_seasons(case)[0]
    count = len(events.player_start) - 1
    blocks = [cases.block_of_contest_pairs([[0, count]], count), cases.block_of_small_contests(range(1, count), count)]
    one_by_one = replay_case_events(case, events, schedule=arrange_blocks(events, blocks))
    cases.assert_close_leaves("the state", one_by_one.state, replay_first_season(case).state, 1e-9)
    cases.assert_close_leaves("predictions", one_by_one.prediction, replay_first_season(case).prediction, 1e-5)


def times_must_not_decrease_where_the_clock_matters(case: SystemFormPrecision) -> None:
    system, events = case.system, cases.split_seasons(case)[0]
    time = events.events.time.copy()
    time[-1] = -1.0
    disordered = events._replace(events=events.events._replace(time=time))
    if not depends_on_time(system, system.params):
        runs = replay_case_events(case, disordered), replay_first_season(case)
        cases.assert_equal_leaves("predictions, although time does not matter", *(x.prediction for x in runs))
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
    """Groups of four players play the same contest, then an idle one as in `IDLE_CASES`, and some of them another."""
    table = [(4 * g, 0.0, [0, 1, 1, 3]) for g in range(len(IDLE_CASES))]
    for g, (idle, _) in enumerate(IDLE_CASES):
        table += [(4 * g, 5.0, [0])] if idle == "alone" else []
    table += [(4 * g, 8.0, [2, 0, 3, 1]) for g, (_, again) in enumerate(IDLE_CASES) if again]
    rows = [(i, who + k, r, time) for i, (who, time, rank) in enumerate(table) for k, r in enumerate(rank)]
    contest, player, rank, time = np.array(rows).T
    constant_columns = {"weight": np.full(len(rank), 0.5), "time": time, "ceiling": np.full(len(rank), math.inf)}
    if "noise" in case.system.features:
        constant_columns["noise"] = np.ones(len(rank))
    further = dict.fromkeys(cases.column_names_read_by_rules(case.system, case.form), 1.0 + rank)
    events = build_rounds(contest.astype(int), player.astype(int), rank, **constant_columns, columns=further)
    pairs = np.arange(len(table), dtype=np.int32).reshape(-1, 2)  # of contests without a common player
    result = replay_case_events(
        case, events, schedule=arrange_blocks(events, [cases.block_of_contest_pairs(pairs, len(table))])
    )
    with strict_precision(case.double):
        state = jax.tree.map(lambda x: jnp.asarray(x[: 4 * len(IDLE_CASES)]), result.state)
        ratings_later = [ratings(case.system, state, time=time) for time in (None, cases.TIME_AFTER_EVENTS)]
    return result, *(jax.tree.map(lambda x: np.asarray(x).reshape(len(IDLE_CASES), 4), x) for x in ratings_later)


def a_contest_of_one_changes_nothing(case: SystemFormPrecision) -> None:
    """Except for times."""
    result, now, later = replay_groups_with_idle_contests(case)
    for quantity, x in (("rating", later.mean), ("deviation", later.deviation)):
        if x is not None:
            cases.assert_close_leaves(f"the {quantity} of players with a contest after it", x[0], x[1], 1e-13)
            cases.assert_close_leaves(f"the {quantity} of players without a contest after it", x[2], x[3], 1e-13)
    assert_claim((now.mean[1] != now.mean[3]).all(), "a contest of four changes nothing")
    idle_predictions = result.prediction[np.isclose(result.prediction, 0.5)]
    assert_claim(
        len(idle_predictions) >= 2, f"the prediction of a contest of one should be 0.5; it is {result.prediction}"
    )


def rounds_are_predicted_as_in_a_run(case: SystemFormPrecision) -> None:
    """Rounds without a common player, which do not change each other, are predicted as a run predicts them."""
    system, state = case.system, replay_first_season(case).state
    two = slice_events(cases.split_seasons(case)[1], 1, 3)
    num_players = cases.player_count(case.form)
    future = two._replace(events=two.events._replace(time=np.full(2, cases.TIME_AFTER_EVENTS)))
    schedule = arrange_blocks(future, [cases.block_of_small_contests([0, 1], 2)])
    for known_rows in (state, cases.gather_player_rows(state, slice(num_players // 2))):  # the others are newcomers
        expected = replay_case_events(
            case, future, state=known_rows, num_players=num_players, schedule=schedule
        ).prediction
        with strict_precision(case.double):
            device_state = jax.tree.map(jnp.asarray, known_rows)
            params = cases.as_float_arrays(system.params)
            prediction = predict(system, device_state, future, params=params, num_players=num_players)
            cases.assert_equal_leaves("the given state", device_state, known_rows)
        cases.assert_close_leaves("predictions", np.asarray(prediction), expected, 1e-12)


FIXED_SCALES = ("topcoder",)  # constants in points are part of their rules
POINT_EXPONENTS = {  # units of hyperparameters, and their powers of points
    "points": 1,
    "points^2 per day": 2,
    "points per sqrt(period)": 1,
    "points per unit": 1,
}


def ratings_have_any_unit_and_zero(case: SystemFormPrecision) -> None:
    """Unless the scale is fixed: ratings scale with the unit of points, and shift with the initial rating."""
    system, (events, _), original = case.system, cases.split_seasons(case), replay_first_season(case)
    if system.name in FIXED_SCALES:
        return
    params, first, tolerance = system.params, player_ratings(case, original.state), 1e-9 if case.double else 1e-4
    units = [(name, POINT_EXPONENTS.get(about.unit, 0)) for name, about in system.space._asdict().items()]
    values = {name: getattr(params, name) for name, _ in units}
    larger = params._replace(**{name: values[name] * 32.0**k for name, k in units if values[name] is not None})
    shift_of_zero = 8.0 * params.initial_rating  # twelve thousand points, if newcomers have 1500
    shifted = params._replace(initial_rating=params.initial_rating + shift_of_zero)
    changes = ("32 times as large", larger, 32.0, 0.0), ("far away", shifted, 1.0, shift_of_zero)
    for label, other, factor, shift in changes:
        ceiling = None if events.events.ceiling is None else factor * events.events.ceiling + shift
        scaled = events._replace(events=events.events._replace(ceiling=ceiling))
        with strict_precision(case.double):
            float_params = cases.as_float_arrays(other)
        result = replay_case_events(case, scaled, params=float_params)
        mean, deviation = player_ratings(case, result.state, float_params)
        cases.assert_close_leaves(f"ratings {label}", (mean - shift) / factor, first.mean, tolerance)
        if deviation is not None:
            cases.assert_close_leaves(f"deviations of ratings {label}", deviation / factor, first.deviation, tolerance)
        cases.assert_close_leaves(f"predictions of ratings {label}", result.prediction, original.prediction, tolerance)


def replay_case_events(case: SystemFormPrecision, events: Any, **options: Any) -> Run:
    """Run the events of a case; the result has NumPy arrays."""
    system, form = case.system, case.form
    with strict_precision(case.double):
        default_options = {
            "num_players": cases.player_count(form),
            "schedule": cases.schedule_for_form(form, events),
            "params": cases.as_float_arrays(system.params),
            "policy": CompilePolicy(quick=True),
        }
        events, key = cases.events_in_form(form, events), cases.make_key(system)
        return jax.tree.map(np.asarray, run(system, events, key=key, **default_options | options))


@lru_cache(maxsize=64)
def replay_first_season(case: SystemFormPrecision) -> Run:
    """The run of the first season."""
    return replay_case_events(case, cases.split_seasons(case)[0])


def reverse_case_results(case: SystemFormPrecision, events: Any, first_event: int) -> Any:
    """The events with reversed results from this one on, and what their columns say of them."""
    evidence = cases.column_names_read_only_to_update(case.system, case.form)
    return cases.reverse_results(events, first_event, evidence, cases.opposite_side_columns(case.system))


def player_ratings(case: SystemFormPrecision, state: Any, params: Any = None) -> Rating:
    """The ratings and deviations of all players."""
    with strict_precision(case.double):
        return jax.tree.map(np.asarray, ratings(case.system, state, params=params))


def states_are_finite_and_predictions_are_probabilities(case: SystemFormPrecision) -> None:
    events, (state, prediction) = cases.split_seasons(case)[0], replay_first_season(case)
    assert_claim(not any(np.isnan(x).any() for x in jax.tree.leaves(state)), "the state is not a number somewhere")
    shown = jax.tree.leaves(player_ratings(case, state))
    assert_claim(all(np.isfinite(x).all() for x in shown), "a rating is not finite")
    dtype = np.float64 if case.double else np.float32
    assert_claim(prediction.dtype == dtype, f"predictions are of {prediction.dtype}")
    if case.form == "rounds":
        is_share = (prediction >= 0.0) & (prediction <= 1.0)
        assert_claim(is_share.all(), "the share of the others whom somebody beats is not 0 to 1")
        share = 0.5 * np.diff(events.player_start)
        total = np.add.reduceat(prediction, events.player_start[:-1])
        cases.assert_with_label("sums of the shares of contests", np.testing.assert_allclose, total, share, rtol=1e-4)
    else:
        assert_claim(((prediction > 0.0) & (prediction < 1.0)).all(), "a prediction is not between 0 and 1")


def single_precision_agrees_with_double(case: SystemFormPrecision) -> None:
    precisions = case, case._replace(double=True)
    states, predictions = zip(*map(replay_first_season, precisions), strict=True)
    cases.assert_with_label("predictions", np.testing.assert_allclose, *predictions, atol=1e-4)
    single, double = map(player_ratings, precisions, states)
    cases.assert_close_leaves("ratings and deviations", single, double, 1e-4)


def untouched_rows_are_inert(case: SystemFormPrecision) -> None:
    events, num_players = cases.split_seasons(case)[0], cases.player_count(case.form)
    with strict_precision(case.double):
        initial_state = case.system.init(cases.as_float_arrays(case.system.params), num_players)
    idle = np.setdiff1d(np.arange(num_players), events.flat.player)
    states = replay_first_season(case).state, initial_state
    idle_rows = (cases.gather_player_rows(x, idle) for x in states)
    cases.assert_equal_leaves("the rows of players who never play", *idle_rows)


def predictions_know_neither_their_result_nor_the_future(case: SystemFormPrecision) -> None:
    events, prediction = cases.split_seasons(case)[0], replay_first_season(case).prediction
    # The index of the first event with another result, and the number of predictions up to the event after it.
    if case.form == "rounds":
        first_changed, unaffected = 1, int(events.player_start[2])
    else:
        first_changed, next_period = (int(np.searchsorted(events.time, k * cases.PERIOD_LENGTH)) for k in (4, 5))
        unaffected = next_period if case.form == "periods" else first_changed + 1
    other = replay_case_events(case, reverse_case_results(case, events, first_changed)).prediction
    label = "predictions up to the first event that ends differently"
    cases.assert_equal_leaves(label, prediction[:unaffected], other[:unaffected])
    changed = np.mean(prediction[unaffected:] != other[unaffected:])
    assert_claim(changed > 0.3, f"only {changed:.0%} of the predictions after other results differ")


def a_better_result_gives_a_better_rating(case: SystemFormPrecision) -> None:
    events = cases.split_seasons(case)[0]
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
    events, original = cases.split_seasons(case)[0], replay_first_season(case)
    if case.form != "rounds" and events.context.columns is not None:
        return
    if case.form == "rounds":
        chained = are_ties_of_neighbours(case.system)
        shuffle, order = cases.shuffle_participants(events, renumber=not chained)
        result, expected = replay_case_events(case, shuffle), original.prediction[order]
    else:
        result, expected = replay_case_events(case, cases.swap_sides(events)), 1.0 - original.prediction
    cases.assert_close_leaves("the state", result.state, original.state, 1e-10)
    cases.assert_close_leaves("predictions", result.prediction, expected, 1e-10)


def are_ties_of_neighbours(system: RatingSystem) -> bool:
    """Whether of teams that tie only neighbours in the order of their numbers are compared, as its paper says."""
    margins = (getattr(system.params, name, None) for name in ("draw_margin", "draw_probability"))
    return any(x is not None for x in margins) or str(system.settings.get("model")).endswith("_part")


def renaming_the_players_renames_the_rows(case: SystemFormPrecision) -> None:
    new_ids = np.random.default_rng(1).permutation(cases.player_count(case.form))
    original = replay_first_season(case)
    renamed = replay_case_events(case, cases.rename_players(cases.split_seasons(case)[0], new_ids))
    cases.assert_close_leaves("the state", cases.gather_player_rows(renamed.state, new_ids), original.state, 1e-10)
    cases.assert_close_leaves("predictions", renamed.prediction, original.prediction, 1e-10)


MANY_PLAYERS = 7919  # a number of players that no other dimension has


def another_length_compiles_nothing(case: SystemFormPrecision) -> None:
    """A history with two events fewer and one player more."""
    events = cases.split_seasons(case)[0]
    count = len(events.flat.time)
    replay_case_events(case, events)
    with cases.record_compilations() as durations:
        replay_case_events(case, slice_events(events, 0, count - 2), num_players=cases.player_count(case.form) + 1)
    assert_claim(not durations, f"a history of two events fewer took {len(durations)} compilations")


def no_state_sized_copy_inside_the_loop(case: SystemFormPrecision) -> None:
    """XLA must not copy a leaf of the state at every step: an event would cost more, the more players there are."""
    system, chunk = case.system, cases.split_in_chunks(case, cases.split_seasons(case)[0])[0]
    with strict_precision(case.double):
        params = cases.as_float_arrays(system.params)
        replay = jax.jit(lambda params, state: scan(system, params, state, *chunk, key=cases.make_key(system)))
        lowered = replay.lower(params, system.init(params, MANY_PLAYERS))
        text: Any = lowered.compile(compiler_options={"xla_backend_optimization_level": "0"}).as_text()
    inner = text[: text.index("ENTRY")]
    assert_claim(re.search(rf"\[{MANY_PLAYERS}[,\]]", inner), "the loop does not hold the state")
    copies = re.findall(rf"= \S*\[{MANY_PLAYERS}[,\]]\S* copy\(", inner)
    assert_claim(not copies, f"at every step, {len(copies)} leaves of the state are copied")


DIFFERENCE_STEP = 1e-5  # of finite differences, relative to a hyperparameter, or to about 1 in a column


class ReplayInputs(NamedTuple):
    """The inputs of a replay."""

    params: Params
    chunks: Any  # leaves [chunks, ...]


def reduce_run_to_scalar(system: RatingSystem, params: Params, result: Run) -> Any:
    """A number that depends on every prediction and on the whole final state."""
    rating, deviation = ratings(system, result.state, time=cases.TIME_AFTER_EVENTS, params=params)
    random = np.random.default_rng(6)

    def weighted_mean(values: Any) -> Any:
        return jnp.mean(jnp.asarray(random.uniform(0.5, 1.5, values.shape), float) * values)

    return weighted_mean(result.prediction**2) + 1e-3 * (
        weighted_mean(rating) + (0.0 if deviation is None else weighted_mean(deviation))
    )


def replay_and_summarise(case: SystemFormPrecision, inputs: ReplayInputs) -> tuple[Any, Run]:
    """The summary of a history that is replayed in chunks, and its run."""
    system, params = case.system, inputs.params

    def replay_chunk(state: Any, chunk: Any) -> tuple[Any, Any]:
        result = scan(system, params, state, *chunk, key=cases.make_key(system))
        return result.state, result.prediction

    result = Run(*lax.scan(replay_chunk, system.init(params, cases.player_count(case.form)), inputs.chunks))
    return reduce_run_to_scalar(system, params, result), result


def perturbable_parameters(system: RatingSystem) -> dict[str, float]:
    """The hyperparameters for which slightly smaller and larger values are allowed."""
    values = {}
    for name, value in system.params._asdict().items():
        if value is None or not math.isfinite(value):
            continue
        allows, step = getattr(system.space, name).range.allows, DIFFERENCE_STEP * (abs(value) or 1.0)
        if allows(value - step) and allows(value + step):
            values[name] = float(value)
    return values


def make_histories_and_params(case: SystemFormPrecision) -> list[tuple[Any, Params]]:
    """Three histories of one shape, each with another value of the first perturbable hyperparameter."""
    first, second = cases.split_seasons(case)
    new_ids = np.random.default_rng(1).permutation(cases.player_count(case.form))
    changed = [*perturbable_parameters(case.system).items()][:1]
    params = [case.system.params._replace(**{name: k * x for name, x in changed}) for k in (1.0, 0.5, 0.75)]
    return [*zip((first, second, cases.rename_players(first, new_ids)), params, strict=True)]


def float_column_indices(chunks: Any) -> dict[str, int]:
    """The indices of columns of floats among the leaves, by name."""
    leaves = jax.tree_util.tree_leaves_with_path(chunks)
    named = ((jax.tree_util.keystr(path[-1:], simple=True), i, x) for i, (path, x) in enumerate(leaves))
    return {name: i for name, i, x in named if jnp.issubdtype(x.dtype, jnp.floating)}


def make_base_replay_inputs(case: SystemFormPrecision) -> ReplayInputs:
    """A history whose scores and times avoid points at which rules may switch formulas."""
    chunked = cases.stack_trees(cases.split_in_chunks(case, cases.split_seasons(case)[0]))
    leaves, structure = jax.tree.flatten(chunked)
    for name, i in float_column_indices(chunked).items():
        if name == "score":
            step = np.random.default_rng(3).uniform(0.01, 0.02, leaves[i].shape)
            leaves[i] = leaves[i] + np.where(leaves[i] < 1.0, step, -step)
        elif name == "time":
            leaves[i] = leaves[i] + 0.01
    params = cases.as_float_arrays(case.system.params)
    return jax.tree.map(np.asarray, ReplayInputs(params, jax.tree.unflatten(structure, leaves)))


def perturbation_directions(case: SystemFormPrecision, inputs: ReplayInputs) -> dict[str, ReplayInputs]:
    """Directions of perturbations: each hyperparameter alone, then all columns together."""
    random, zero = np.random.default_rng(5), jax.tree.map(np.zeros_like, inputs)
    directions = {}
    for name, value in perturbable_parameters(case.system).items():
        directions[name] = zero._replace(params=zero.params._replace(**{name: np.asarray(abs(value) or 1.0)}))
    leaves, structure = jax.tree.flatten(zero.chunks)
    for name, i in float_column_indices(inputs.chunks).items():
        x = jax.tree.leaves(inputs.chunks)[i]
        direction = 0.1 * x if name == "time" else random.uniform(0.5, 1.5, x.shape)
        leaves[i] = np.where(np.isfinite(x), direction, 0.0)
    columns_label = "the columns " + ", ".join(float_column_indices(inputs.chunks))
    return directions | {columns_label: zero._replace(chunks=jax.tree.unflatten(structure, leaves))}


def chunks_of_several_histories_in_one_batch_equal_runs(case: SystemFormPrecision) -> None:
    """Under jit, vmap and lax.scan, with other hyperparameters in each."""
    histories, inputs, lengths = make_histories_and_params(case), [], []
    with strict_precision(case.double):
        for events, params in histories:
            chunks = cases.split_in_chunks(case, events)
            lengths.append([len(x.score) if plan is None else int(plan.num_rows) for x, plan in chunks])
            inputs.append(ReplayInputs(cases.as_float_arrays(params), cases.stack_trees(chunks)))
        replay_batch = cases.jit_quickly(jax.vmap(lambda inputs: replay_and_summarise(case, inputs)[1]))
        runs = jax.tree.map(np.asarray, replay_batch(cases.stack_trees(inputs)))
    for i, ((events, params), length) in enumerate(zip(histories, lengths, strict=True)):
        with strict_precision(case.double):
            expected = replay_case_events(case, events, params=cases.as_float_arrays(params))
        prediction = np.concatenate([x[:n] for x, n in zip(runs.prediction[i], length, strict=True)])
        cases.assert_close_leaves("the state", jax.tree.map(lambda x, i=i: x[i], runs.state), expected.state, 1e-10)
        cases.assert_close_leaves("predictions", prediction, expected.prediction, 1e-10)


def slopes_equal_finite_differences(case: SystemFormPrecision) -> None:
    """The slopes in every hyperparameter and column of floats (scores, weights, times ...) equal finite differences."""
    with strict_precision(case.double):
        center = make_base_replay_inputs(case)
        directions = perturbation_directions(case, center)
        moved = [
            jax.tree.map(lambda x, y, by=by: x + (by * y).astype(x.dtype), center, direction)
            for direction in directions.values()
            for by in (-DIFFERENCE_STEP, DIFFERENCE_STEP)
        ]
        leaves, structure = jax.tree.flatten(center)
        float_indices = [i for i, x in enumerate(leaves) if x.dtype.kind == "f"]

        def summary_of_leaves(float_leaves: list[Any]) -> Any:
            filled = dict(enumerate(leaves)) | dict(zip(float_indices, float_leaves, strict=True))
            return replay_and_summarise(case, jax.tree.unflatten(structure, filled.values()))[0]

        def slopes_and_values(float_leaves: list[Any], moved: ReplayInputs) -> tuple[list[Any], Any]:
            values = jax.vmap(lambda inputs: replay_and_summarise(case, inputs)[0])(moved)
            return jax.grad(summary_of_leaves)(float_leaves), values

        program = cases.jit_quickly(slopes_and_values)  # one program, since compiling takes most of the time
        slopes, values = jax.tree.map(np.asarray, program([leaves[i] for i in float_indices], cases.stack_trees(moved)))
    low, high = values.reshape(-1, 2).T
    differences = dict(zip(directions, (high - low) / (2.0 * DIFFERENCE_STEP), strict=True))
    for name, direction in directions.items():
        direction_leaves = [x for x in jax.tree.leaves(direction) if x.dtype.kind == "f"]
        slope = sum(float(np.sum(x * y)) for x, y in zip(slopes, direction_leaves, strict=True))
        close = partial(np.testing.assert_allclose, rtol=2e-5, atol=1e-9)  # rounding of the differences
        cases.assert_with_label(f"the slope in {name}", close, slope, differences[name])
    assert_claim(all(np.isfinite(x).all() for x in slopes), "slopes are not finite")
    assert_claim(any(differences.values()) or not differences, "neither hyperparameters nor columns matter")


def parameters_are_described(system: RatingSystem) -> None:
    fields = getattr(system.space, "_fields", ())
    assert_claim(system.params._fields == fields, f"params has the fields {system.params._fields}, space has {fields}")
    for name, about in system.space._asdict().items():
        assert_claim(str(about.range) and about.unit and about.meaning, f"{name} lacks its range, unit or meaning")


def system_is_a_hashable_value(system: RatingSystem) -> None:
    """Pickled, copied or made again, it is equal and has the same hash."""
    copies = {"pickled": pickle.loads(pickle.dumps(system)), "copied": copy.deepcopy(system)}
    copies["made again"] = replace_params(system, system.params)
    for origin, other in copies.items():
        assert_claim(other == system and hash(other) == hash(system), f"{origin}, it differs: {other!r}")


def system_repr_is_one_line(system: RatingSystem) -> None:
    text = repr(system)
    assert_claim("\n" not in text and " at 0x" not in text, f"its repr shows lines or addresses: {text}")


def unsupported_events_are_refused(system: RatingSystem) -> None:
    league = matches([[0, 1]], [1.0])
    others: dict[type, Any] = {Matches: league, Periods: periods(league, 1.0), Rounds: rounds([0, 0], [0, 1], [1, 2])}
    kinds = " or ".join(kind.__name__ for kind in system.events)
    for kind in others.keys() - {*system.events}:
        message = "nothing"
        try:
            run(system, others[kind])
        except ValueError as error:
            message = str(error)
        expected = f"{system.name} rates {kinds}, not {kind.__name__}"
        assert_claim(
            message.startswith(expected), f"{kind.__name__} should be refused: {expected!r}; the error said {message!r}"
        )


def state_leaves_have_a_row_per_player(system: RatingSystem) -> None:
    """Every leaf of the state has a row for each player."""
    shapes = [np.shape(x) for x in jax.tree.leaves(system.init(system.params, 3))]
    assert_claim(shapes and all(shape[:1] == (3,) for shape in shapes), f"the state of 3 players has leaves {shapes}")
