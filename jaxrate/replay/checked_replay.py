"""The door to a replay: `run` arranges a history and makes room, `scan` takes it as it is; both check it once.

`predict` tells upcoming events from a state.
"""

from functools import lru_cache, partial
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jax_core

from jaxrate.core.argument_checks import (
    CHECKED_BY_FUNCTION,
    Key,
    check_concrete,
    check_not_traced,
    check_that,
    enforce_argument_annotations,
    is_traced,
)
from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import check_accelerator_predictions_finite
from jaxrate.core.rules import Params, Record, Rules, State
from jaxrate.core.system import RatingSystem, check_event_type, check_period_length
from jaxrate.core.text_format import format_count
from jaxrate.events import (
    Matches,
    Ragged,
    Rounds,
    RowError,
    check_contest_time_order,
    count_teams,
    has_teammates,
    repeat_seat_mask,
)
from jaxrate.events.dataset import Dataset, resolve_events_and_num_players
from jaxrate.events.event_builders import check_events, check_matches
from jaxrate.replay.compiler_options import ProgramTraits
from jaxrate.replay.execution import (
    CompilePolicy,
    Engine,
    ReplayOptions,
    compile_policy_from_environment,
    compile_replay,
    min_mean_width_for_levels,
    needs_hyperparameter_slopes_only,
    replay_plan,
    replay_with_forward_slopes,
    skips_most_padding_work,
    zero_predictions,
)
from jaxrate.replay.padded_arrays import (
    check_ids_not_sparse,
    count_players,
    extend_state_if_needed,
    init_or_copy_padded_state,
    init_or_copy_state,
    is_sharded,
    make_sharding_automatic,
    max_step_matches_in_cache,
    pad_column,
    padded_size,
    read_rows_with_clipped_ids,
    resolve_params,
    resolve_row_count,
    truncate_leaves,
)
from jaxrate.replay.plan import AnyEvents, Block, PlacedEvents, Plan, event_starts, place_events
from jaxrate.replay.player_rows import describe_shapes
from jaxrate.replay.scan_programs import (
    ReplayRules,
    Steps,
    is_random_numbers,
    make_replay_rules,
    predict_block,
    predict_event_after_elapsed_time,
    prepare_replay,
)
from jaxrate.replay.schedule import check_schedule, make_plan, plan_narrow_and_wide_parts, plan_stream


def check_prng_key_or_numbers(system: RatingSystem, num_events: int | None, key: Any) -> None:
    """ValueError without a key that the system needs, or for numbers that it could not have drawn for the events."""
    draw: Any = system.rules.draw
    check: Any = system.rules.check_drawn
    missing = f"{system.name} draws random numbers; give it a key, such as key=jax.random.key(0)"
    check_that(draw is None or key is not None, missing)
    if not is_random_numbers(key):
        return
    check_that(draw and check, f"{system.name} takes no numbers of yours in place of a key")
    shape = (len(key) if num_events is None else num_events, *jax.eval_shape(draw, jax.random.key(0)).shape)
    check_that(key.shape == shape, f"key must be a PRNG key, or numbers of shape {shape}, got shape {key.shape}")
    if not is_traced(key):
        check(np.asarray(jnp.asarray(key, float)))


UNKNOWN_FEATURES = {  # what is said of contests with a feature that a system does not know
    "noise": "knows no noise of contests; rate them by {know}, or leave out `noise`",
    "seats": "rates nobody in several teams of one contest, but {where}; rate them by {know}, or give each "
    "participation a player of its own",
    "teams": "knows no teams, but {where}; rate them by {know}, or leave out `team`: everyone is then on their own, "
    "and team-mates are opponents who tie",
}


def unknown_feature_message(system: RatingSystem, feature: str, where: str) -> str:
    """A message that a system does not know a feature of contests, and where that was found."""
    from jaxrate.systems import systems_with_feature

    know = " or ".join(systems_with_feature(feature))
    return f"{system.name} {UNKNOWN_FEATURES[feature].format(know=know, where=where)}"


def check_contest_features_supported(system: RatingSystem, events: AnyEvents, has_teams: bool = True) -> None:
    """ValueError for contests with noise, teams, or players in several of them, if the system knows none."""
    flat: Any = events.flat
    if not isinstance(flat, Rounds):
        return
    has_rows = isinstance(events, Ragged) and not is_traced(events)
    found = {"noise": flat.noise is not None}
    if not has_rows:
        found |= {"seats": flat.seat is not None, "teams": has_teams}
    for feature in [name for name, is_found in found.items() if is_found and name not in system.features]:
        raise ValueError(unknown_feature_message(system, feature, "there are in these contests"))
    if has_rows:
        _check_seats_and_teams(system, events)


def _check_seats_and_teams(system: RatingSystem, contests: Any) -> None:
    """RowError for the first row in which a player is in a further team, or a contest has teams, if it knows none."""
    if "seats" not in system.features and len(further := np.flatnonzero(repeat_seat_mask(contests))):
        where = "the player of this row is in another team already"
        raise RowError(int(further[0]), unknown_feature_message(system, "seats", where))
    if "teams" not in system.features and has_teammates(contests):
        several = np.flatnonzero(count_teams(contests) < np.diff(contests.player_start))
        where = f"there are in {format_count(len(several), 'contest')}, this the first"
        raise RowError(int(contests.player_start[several[0]]), unknown_feature_message(system, "teams", where))


def depends_on_time(system: RatingSystem, params: Params) -> bool:
    """Whether elapsed time counts, with these hyperparameters: rounds must then come in order of time."""
    return _advance_uses_time(system.rules, system.init, jax.tree.structure(params))


def check_contest_order_if_time_matters(system: RatingSystem, params: Params, rounds: Ragged, *formatting: Any) -> None:
    """ValueError if the times of rounds decrease, and elapsed time counts; names the row."""
    if np.any(np.diff(rounds.events.time) < 0) and depends_on_time(system, params):
        check_contest_time_order(rounds, *formatting)


@lru_cache
def _advance_uses_time(rules: Rules, init: Any, structure: Any) -> bool:
    """Whether `advance` makes anything of the time."""
    number = jax.ShapeDtypeStruct((), jnp.result_type(float))

    def advance(time: Array, params: Params) -> State:
        return rules.advance(rules.prepare(params), init(params, 1), time)

    params = jax.tree.unflatten(structure, [number] * structure.num_leaves)
    program = jax.make_jaxpr(advance)(number, params).jaxpr
    reached = {program.invars[0]}
    for step in program.eqns:
        if any(x in reached for x in step.invars if not isinstance(x, jax_core.Literal)):
            reached.update(step.outvars)
    return any(x in reached for x in program.outvars if not isinstance(x, jax_core.Literal))


TRACED_HINT = (
    "; jr.scan(system, params, state, events) takes them, with a plan that jr.extend.schedule_by_level made outside"
)


class Run(NamedTuple):
    """The state after a history, and its predictions."""

    state: State  # leaves [num_players, ...]
    prediction: Any  # of each event, in the order of the input: [n] matches, [M] pairs or [P] participants; or `record`

    def __repr__(self) -> str:
        return f"Run\n  state       {describe_shapes(self.state)}\n  prediction  {describe_shapes(self.prediction)}"


@enforce_argument_annotations
def run(
    system: RatingSystem,
    events: AnyEvents | Dataset,
    *,
    params: Params = None,
    state: State = None,
    key: Key | None = None,
    schedule: str | Plan = "auto",
    num_players: int | None = None,
    engine: Engine = "auto",
    record: Record | None = None,
    policy: CompilePolicy | None = None,
) -> Run:
    """Rate a history: predict every event, then learn from it.

        result = jr.run(jr.glicko(), data)
        result = jr.run(jr.glicko(), data, state=result.state)  # to carry on

    Args:
      system: as from `elo()`, `glicko()`, ...
      events: `Matches`, or the `Ragged` periods or rounds of `periods` and `rounds`, in order of time. (If the system,
        with these hyperparameters, takes no notice of time, the times of rounds need not be in order.) Or a `Dataset`,
        or what `plan.place` made of events, with that plan as the schedule.
      params: hyperparameters, by default `system.params`; may be traced by `jax.grad` and `jax.vmap`.
      state: to carry on from, by default a fresh one. A state that a named sharding spreads over devices along the
        players stays spread, with equally many rows on each device; rows beyond `num_players` are newcomers'. Matches
        are then in levels.
      key: a PRNG key, which systems that draw random numbers need; event i gets `fold_in(key, i)`. Or the random
        numbers themselves: for Urnings [n, 2] in [0, 1), of which the first draws the mock game and the second accepts.
      schedule: how matches are replayed: one by one ("stream"), all matches without a common player at once ("levels"),
        or the faster of the two, making the levels included ("auto"); the numbers are the same. Periods and rounds are
        always in levels. Or the plan that `schedule_by_level` made of these events, or of others of the same players.
      num_players: rows of the state, by default those of the given state, or the largest id plus one, or all players
        that a `Dataset` names. Rows beyond those of a given state are newcomers'.
      engine: "scan", a loop that XLA compiles and that launches several kernels for each level; on a GPU also "kernel",
        a single kernel for all levels. The kernel takes matches only, and needs a system with a few numbers for each
        player, none of them random. Its numbers are those of the loop but for rounding. On an H100 it was 7 to 16 times
        as fast for narrow levels, as of tennis, and 23 times slower for wide ones. "auto" takes it on a GPU wherever it
        fits and levels have up to 1,024 matches, for histories of more than 16,384: it takes seconds to compile.
      record: a function that returns what to keep of each event in place of its prediction. It takes a `RatedEvent`,
        which has the hyperparameters, the constants, the rows of the event's players before and after it, the
        prediction and the event. For a match it returns leaves of any shape, for a period [pairs, ...], for a round
        [participants, ...]. Give the same function again, as each new one is compiled.
      policy: how the program is compiled, as a `jr.extend.CompilePolicy`. None: to be quick in the long run, or quickly
        if the environment says `JAXRATE_COMPILE=quick`.

    Returns:
      `Run(state, prediction)`. With `record` its results stand in the place of the predictions, stacked.

            def skills(rated):
                return rated.prediction, rated.before.rating, rated.after.rating

            prediction, before, after = jr.run(jr.elo(), data, record=skills).prediction  # [n], [n, 2], [n, 2]

    Raises:
      ValueError: for events that the system does not consume, teams that it does not know, bad rows (see `matches`),
        ids beyond the state, a schedule of other events, hyperparameters out of their range, no key where one is
        needed, numbers that the system could not have drawn, or an engine that does not fit. Also for traced events,
        which `scan` takes.
      FloatingPointError: for rounds, if a GPU predicted what is not a finite number.
    """
    history, num_players = resolve_events_and_num_players(events, num_players, count_players(state))
    check_concrete("run counts the events of a schedule", schedule, TRACED_HINT)
    params = resolve_params(system, params)
    check_system_takes_events(system, history, key, params)
    history = check_rows(system, history, params, schedule)
    player = history.flat.player
    num_ids = schedule.num_players if isinstance(schedule, Plan) else int(np.max(player, initial=-1)) + 1
    check_ids_not_sparse(system, player, num_ids, num_players, count_players(state))
    given, start = state, partial(init_or_copy_padded_state, system, num_players=num_players, num_ids=num_ids)
    rows = resolve_row_count(system, state, num_players, num_ids)
    policy = compile_policy_from_environment() if policy is None else policy
    forwards = not (is_sharded(state) or policy.outermost) and needs_hyperparameter_slopes_only(
        system, params, (state, key), rows
    )
    state, rows = (jax.eval_shape(lambda x: start(x, given)[0], params), rows) if forwards else start(params, state)
    plan = _plan_for_run(system, (params, state, key), history, schedule, engine, record)
    engine = resolve_engine(engine, plan, state, policy)
    if plan.num_rows == 0:
        return Run(truncate_leaves(start(params, given)[0], rows), jnp.zeros(0))
    key = _pad_random_numbers(key)

    def replay_near(policy: CompilePolicy, near: Params) -> Any:
        rules, options = make_replay_rules(system.rules, near, record), ReplayOptions(engine, policy)
        return lambda params: replay_plan(rules, params, start(params, given)[0], history, plan, key, options)

    if forwards:
        forward_policy = policy._replace(outermost=True)
        state, prediction = replay_with_forward_slopes(
            replay_near(policy, params), partial(replay_near, forward_policy), params
        )
    else:
        rules, options = make_replay_rules(system.rules, params, record), ReplayOptions(engine, policy)
        state, prediction = replay_plan(rules, params, state, history, plan, key, options)
    if plan.kind is Rounds and record is None:
        check_accelerator_predictions_finite(prediction)
    return Run(truncate_leaves(state, rows), truncate_leaves(prediction, plan.num_rows))


def _pad_random_numbers(key: Any) -> Any:
    """Random numbers in one of the sizes in use; a PRNG key, or what is traced, as it is."""
    if key is None or is_traced(key) or not is_random_numbers(key):
        return key
    return pad_column(key, padded_size(len(key)), 0.0)


def check_rows(system: RatingSystem, events: AnyEvents, params: Params, schedule: Any) -> AnyEvents:
    """Matches with checked columns, or others as they are; ValueError for contests that are not in order of time."""
    if isinstance(events, PlacedEvents):
        check_that(isinstance(schedule, Plan), "events that plan.place has placed are rated with schedule=plan")
        return events
    if isinstance(events.flat, Rounds):
        check_contest_order_if_time_matters(system, params, events)
    return check_events(events)


def _plan_for_run(
    system: RatingSystem, inputs: tuple[Params, State, Any], history: Any, schedule: Any, engine: str, record: Any
) -> Plan:
    """The plan of a history for a replay with these hyperparameters, state and key."""
    params, state, _ = inputs
    check_schedule(history, schedule)
    if isinstance(schedule, Plan):
        return schedule
    if isinstance(history, Ragged):
        return make_plan(history, tiled=skips_most_padding_work(system, inputs, history))
    schedule = "levels" if (engine, schedule) == ("kernel", "auto") else schedule
    max_width = max_step_matches_in_cache(state)
    if engine == "auto" and schedule != "stream" and jax.default_backend() == "gpu" and not is_sharded(state):
        parts = plan_narrow_and_wide_parts(history, max_width)
        if parts is not None:
            return parts
    needed = 1.0  # a step costs devices a word with each other, however many matches it has
    if schedule == "auto" and len(history.score) and not is_sharded(state):
        needed = min_mean_width_for_levels(system, params, history, record)
    return make_plan(history, schedule, min_mean_width=needed, max_width=max_width)


@enforce_argument_annotations
def scan(
    system: RatingSystem,
    params: Annotated[Params, CHECKED_BY_FUNCTION],
    state: Annotated[State, CHECKED_BY_FUNCTION],
    events: Annotated[AnyEvents, CHECKED_BY_FUNCTION],
    plan: Annotated[Plan | None, CHECKED_BY_FUNCTION] = None,
    *,
    key: Key | None = None,
    engine: Engine = "auto",
    record: Record | None = None,
) -> Run:
    """Rate a history: the pure function behind `run`, in which everything but the system may be traced.

    It goes under `jax.jit`, `jax.vmap`, `jax.grad`, `jax.jacfwd` and `jax.lax.scan`: by hyperparameters and state, by
    columns of the events, over histories of one shape, over chunks of a long one.

        plan = jr.extend.schedule_by_level(matches)  # outside

        @jax.jit
        def loss(weight):
            weighted = matches._replace(context=matches.context._replace(weight=weight))
            guess = jr.scan(system, system.params, state, weighted, plan).prediction
            return jnp.sum((guess - matches.score) ** 2)

    Values that are known are checked. Inside a transformation ids and times may be unknown, and are then not checked:
    ids must be from 0 and below the number of players, two different ones in each match, and events in order of time.
    Without a plan a match with an id outside of the state changes nothing, and its prediction is 0.

    Args:
      system: as from `elo()`, `glicko()`, ...
      params: hyperparameters; None: those of the system.
      state: leaves [num_players, ...], as from `system.init(params, num_players)` or `run`. It is left as it is.
      events: `Matches`, or the `Ragged` periods or contests that were planned; or as many others of the same players,
        and in contests of the same teams and ranks. Or what `plan.place` made of them, with predictions of the padding,
        too: histories of different lengths can so be stacked.
      plan: what `schedule_by_level` made of the events, to rate many at once. None: matches, one by one in their order.
      key: the key of random numbers, as in `run`.
      engine: as in `run`; under `jax.vmap` every setting, or history, has a block of threads of its own in the kernel,
        which is ahead of the loop up to some 256 of them.
      record: what to keep of each event, as in `run`.

    Returns:
      `Run(state, prediction)`, with a prediction for each match, pair of a period or participant of a contest. Those of
      padding are 0.

    Raises:
      ValueError: for events that the system does not consume, a plan of others, a state with too few rows, bad
        hyperparameters, no key where one is needed; for bad matches, if they are concrete; for an engine that does not
        fit.
    """
    params = resolve_params(system, params)
    check_that(state is not None, "give scan a state, such as system.init(params, num_players)")
    is_planned = isinstance(events, Matches if plan is None else (Matches, Ragged, PlacedEvents))
    kind = type(events).__name__
    check_that(is_planned, f"scan takes Matches, or events with a plan from schedule_by_level, not {kind} alone")
    check_event_type(system.name, system.events, type(events.flat))
    ids_checked = not is_traced(events.flat.player)
    if isinstance(events, Matches):
        events = check_untraced_columns(events)
    if plan is None:
        num_players = int(np.max(events.flat.player, initial=-1)) + 1 if ids_checked else 0
        plan = plan_stream(len(events.flat.time), num_players)
    several = "scan takes one plan at a time; map it over several by jax.vmap, or go on by jax.lax.scan"
    check_that(np.ndim(plan.num_players) == 0, several)
    plan.check_is_of(events)
    check_contest_features_supported(system, events, plan.has_teammates)
    engine = resolve_engine(engine, plan, state, compile_policy_from_environment())
    system.check(untraced_events_for_check(events))
    check_prng_key_or_numbers(system, None if is_traced(plan.num_events) else int(plan.num_events), key)
    rules = make_replay_rules(system.rules, params, record)
    num_ids = 0 if is_traced(plan.num_players) else int(plan.num_players)
    state = init_or_copy_state(system, params, state, None, num_ids)
    if (n := events.num_rows) == 0:
        return Run(state, jnp.zeros(0))
    options = ReplayOptions(engine, ids_checked=ids_checked)
    state, prediction = replay_plan(rules, params, state, events, plan, key, options)
    return Run(state, truncate_leaves(prediction, n))


def check_untraced_columns(matches: Matches) -> Matches:
    """The matches with their columns; ValueError for what is seen to be wrong with those that are not traced."""
    if not is_traced(matches):
        return check_matches(matches)
    right = check_matches(jax.tree_util.tree_map_with_path(_placeholder_if_traced, matches))

    def keep_known(x: Any, y: Any) -> Any:
        check_that(x.shape == y.shape, f"a traced column has shape {x.shape}, expected {y.shape}")
        return x if is_traced(x) else y

    return jax.tree.map(keep_known, matches, right)


def _placeholder_if_traced(path: Any, column: Any) -> Any:
    """A traced column of matches as right values of its shape and kind; any other as it is."""
    if not is_traced(column):
        return column
    name, kind = jax.tree_util.keystr(path, simple=True, separator="."), column.dtype.kind
    fills: dict[str, Any] = {"score": 0.5, "context.weight": 1.0}
    fills["player"] = [0, 1] if column.shape[-1:] == (2,) else 0  # which is refused
    fills["context.category"] = 1.0 / column.shape[-1] if column.ndim == 3 else 0
    return np.broadcast_to(np.asarray(fills.get(name, 0), np.int32 if kind in "iu" else np.float64), column.shape)


def untraced_events_for_check(events: AnyEvents) -> Any:
    """Events for the check of a system. Where any are traced or placed there are none, but with their columns."""
    if not (is_traced(events) or isinstance(events, PlacedEvents)):
        return events
    slots = events.flat.time.ndim - 1  # the last axis of matches that stand in the slots of their plan
    flat = jax.tree.map(lambda x: np.zeros((0, *x.shape[1 : x.ndim - slots]), x.dtype), events.flat)
    starts = jax.tree.map(lambda x: np.zeros(1, int), event_starts(events))
    return flat if isinstance(flat, Matches) else Ragged(flat, *starts)


def check_system_takes_events(
    system: RatingSystem, events: Any, key: Array | None, params: Params | None = None
) -> None:
    """ValueError for events, periods, teams, a key or random numbers that do not fit a system."""
    check_concrete("events are checked and arranged", events, TRACED_HINT)
    check_event_type(system.name, system.events, type(events.flat) if isinstance(events, PlacedEvents) else events)
    check_contest_features_supported(system, events, has_teams=getattr(events.flat, "solo", None) is None)
    check_period_length(system.name, system.params if params is None else params, getattr(events, "length", None))
    system.check(untraced_events_for_check(events))
    check_prng_key_or_numbers(system, None if isinstance(events, PlacedEvents) else len(events.flat.time), key)


def resolve_engine(engine: Engine, plan: Plan, state: State, policy: CompilePolicy) -> Engine:
    """The engine of a replay: "auto" only where steps decide; ValueError for a kernel that is missing or unfit."""
    obstacles = {
        "rates matches, not periods or rounds": plan.kind is not Matches,
        "is for one device, and the state is spread over several": is_sharded(state),
        f"is for a GPU, and this is a {jax.default_backend()}": jax.default_backend() != "gpu",
    }
    obstacle = next((text for text, holds in obstacles.items() if holds), None)
    if engine == "auto":
        return "scan" if obstacle or plan.is_stream or plan.room[2] <= policy.short_history else "auto"
    check_that(engine != "kernel" or not obstacle, f'engine="kernel" {obstacle}: leave it out')
    return engine


@enforce_argument_annotations
def predict(
    system: RatingSystem,
    state: State,
    events: Matches | Ragged | Dataset,
    *,
    params: Params = None,
    num_players: int | None = None,
) -> Any:
    """Predict upcoming matches or rounds from a state; nothing is learnt.

        jr.predict(system, result.state, jr.matches([[0, 1]], [0.5], [20_000.0]))  # whatever the score

    Args:
      system: as from `elo()`, `elo_mmr()`, ...
      state: the state of all players, as `run` left it.
      events: [n] `Matches` or `Ragged` rounds, each predicted as of its own time; scores and ranks are not read. Or a
        `Dataset` of either. Columns may be traced, except `player_start`; traced ids are not checked. For matches,
        systems of rounds predict which of the two would do better in a contest.
      params: hyperparameters, by default `system.params`.
      num_players: as in `run`: rows beyond the state's are newcomers'.

    Returns:
      The system's predictions: for matches, leaves [n, ...], usually the expected score of player 0; for rounds, [P],
      the share of the others whom each participant is expected to beat. The expected rank is then
      1 + (1 - share) (size - 1).

    Raises:
      ValueError: for events that the system does not predict, teams that it does not know, bad rows, ids beyond the
        state, or hyperparameters out of their range.
    """
    upcoming, num_players = resolve_events_and_num_players(events, num_players, count_players(state))
    params = resolve_params(system, params)
    rules = make_replay_rules(system.rules, params)
    if isinstance(upcoming.flat, Rounds) and Rounds in system.events:
        return _predict_contests(system, rules, params, state, upcoming, num_players)
    kinds = "Matches" + " or Rounds" * (Rounds in system.events)
    refusal = f"{system.name} predicts {kinds}, not {type(upcoming.flat).__name__}"
    check_that(isinstance(upcoming, Matches), refusal)
    n = len(upcoming.score)
    system.check(untraced_events_for_check(upcoming._replace(score=np.zeros(n))))
    matches = check_untraced_columns(upcoming)
    num_ids = 0 if is_traced(matches.player) else int(np.max(matches.player, initial=-1)) + 1
    state = make_sharding_automatic(extend_state_if_needed(system, params, state, num_players, num_ids))
    flat = place_events(matches, plan_stream(n, num_ids)).flat
    rows, policy = read_rows_with_clipped_ids(state, flat.player), compile_policy_from_environment()
    traits = ProgramTraits(Matches, short=n <= policy.short_history)
    program = compile_replay(_predict_matches, (params, state, flat), policy, traits)
    return truncate_leaves(program(rules, None, params, None, rows, flat), n)


def _predict_contests(
    system: RatingSystem, rules: ReplayRules, params: Params, state: State, contests: Ragged, num_players: int | None
) -> Any:
    """The predictions [P] of contests from one state, at their own times; traced contests are padded to the largest."""
    flat: Any = contests.events
    check_not_traced(
        "player_start", contests.player_start, "sizes of contests are shapes; what may be traced is `events`"
    )
    traced, in_teams = is_traced(flat), is_traced(flat.team) or has_teammates(contests)
    check_contest_features_supported(system, contests, in_teams and not is_traced(flat.team))
    num_ids = 0 if is_traced(flat.player) else int(np.max(flat.player, initial=-1)) + 1
    if traced:
        state = extend_state_if_needed(system, params, state, num_players, num_ids)
    else:
        system.check(contests)
        state, _ = init_or_copy_padded_state(system, params, state, num_players, num_ids)
    if contests.num_rows == 0:
        return jnp.zeros(0)
    if traced:
        sizes = np.diff(contests.player_start)
        every, most = Block(np.arange(len(sizes), dtype=np.int32)[None], (int(sizes.max()),) * 2), len(flat.player)
        room = len(sizes), most, most
        plan = Plan((every,), (1,), num_ids, len(sizes), most, Rounds, room, has_ties=True, has_teammates=in_teams)
    else:
        plan = make_plan(contests)
    columns = place_events(contests, plan)
    inputs, policy = (params, state, columns), compile_policy_from_environment()
    traits = ProgramTraits(Rounds, inner_loops=True, short=plan.room[2] <= policy.short_history)
    program, prediction = compile_replay(predict_block, inputs, policy, traits), None
    if len(plan.blocks) > 1:
        prediction = zero_predictions(rules, params, state, columns, plan, None)
    for block in plan.blocks:
        prediction = program(rules, block.size, params, prediction, state, Steps(columns, block.number))
    return truncate_leaves(prediction, len(flat.player))


def _predict_matches(
    rules: ReplayRules, _size: None, params: Params, _prediction: None, rows: State, events: Matches
) -> Any:
    """The predictions of matches from the rows of their players, as `predict_block` has them of rounds."""
    return jax.vmap(partial(predict_event_after_elapsed_time, rules, prepare_replay(rules, params)))(rows, events)
