"""A replay as a pure function: of a system, hyperparameters, a state and events, all but the first traced or not."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import OWN, Key, check_arguments
from jaxrate.device import is_traced
from jaxrate.events import Matches, Periods, Ragged, Rounds, matches
from jaxrate.replay.blocks import Block, Blocks, gather_events
from jaxrate.replay.compile_options import (
    SHORT_HISTORY,
    compile_replay,
    is_forward_only,
    is_inside_transformation,
    outline_rules,
)
from jaxrate.replay.gather import (
    as_device_arrays,
    describe_shapes,
    gather_rows,
    predict_event,
    prepare_replay,
    rate_event,
)
from jaxrate.replay.padding import truncate_leaves
from jaxrate.replay.scan_programs import (
    MatchProgramShape,
    predict_block,
    replay_block,
    replay_block_chain,
    replay_levels,
    replay_stream,
)
from jaxrate.replay.schedule import Plan, check_matches, make_stream_plan
from jaxrate.replay.sharding import is_sharded
from jaxrate.replay.state import (
    check_contest_noise,
    check_key,
    check_kind,
    make_state,
    no_seats,
    resolve_params,
    teams_refusal,
)
from jaxrate.system import Params, RatingSystem, Record, Rules, State, check_system, full_leaf, resolve_sizes
from jaxrate.types import Array


class Run(NamedTuple):
    """What a history leaves behind."""

    state: State  # leaves [num_players, ...]
    prediction: Any  # of each event, in the order of the input: [n] matches, [M] pairs or [P] participants; or `record`

    def __repr__(self) -> str:
        return f"Run\n  state       {describe_shapes(self.state)}\n  prediction  {describe_shapes(self.prediction)}"


@check_arguments
def scan(
    system: RatingSystem,
    params: Annotated[Params, OWN],
    state: Annotated[State, OWN],
    events: Annotated[Matches | Plan | Blocks, OWN],
    key: Key | None = None,
    *,
    engine: str = "scan",
    record: Record | None = None,
) -> Run:
    """Rate a history: the pure function behind `run`, in which everything but the system may be traced.

    It goes under `jax.jit`, `jax.vmap`, `jax.grad`, `jax.jacfwd` and `jax.lax.scan`: by hyperparameters and state, by
    columns of the matches, over histories of one shape, over chunks of a long one.

        plan = jr.extend.schedule_by_level(matches)  # outside

        @jax.jit
        def loss(weight):
            guess = jr.scan(system, system.params, state, plan.but(weight=weight)).prediction
            return jnp.sum(jnp.where(plan.real, (guess - plan.padded(matches.score)) ** 2, 0.0))

    What must be known before values are, is checked where it is known: inside a transformation ids and times may not
    be. They are then taken as they are: ids from 0, below the number of players, two different ones in each match, in
    order of time. A match with an id outside of the state is nobody's: it changes nothing, and its prediction is 0.

    Args:
      system: as from `elo()`, `glicko()`, ...
      params: hyperparameters; None: those of the system.
      state: leaves [num_players, ...], as from `system.init(params, num_players)` or `run`. It is left as it is.
      events: `Matches`, replayed one by one in their order; or what `by_level` made of matches, periods or rounds,
        which rates many at once, and whose columns `but` changes. Plans of equal shapes can be stacked.
      key: as in `run`.
      record: as in `run`.
      engine: as in `run`; under `jax.vmap` every setting, or history, has a block of threads of its own.

    Returns:
      `Run(state, prediction)`, with a prediction for each match, or for a plan [plan.size], those past its matches 0.

    Raises:
      ValueError: for events that the system does not consume, a state with too few rows, bad hyperparameters, no key
        where one is needed; for bad matches, if they are concrete; for an engine that does not fit.
    """
    check_system(system)
    params = resolve_params(system, params)
    if state is None:
        raise ValueError("give scan a state, such as system.init(params, num_players)")
    if not isinstance(events, (Matches, Plan, Blocks)):
        kind = type(events).__name__
        raise ValueError(f"scan takes Matches, or a plan from by_level of any events, not {kind}")
    check_kind(system, type(events if isinstance(events, Matches) else events.events))
    if not isinstance(events, Matches):
        check_plan(system, events)
    plan, checked = stream_plan(events) if isinstance(events, Matches) else (events, False)
    check_engine(engine, plan, state)
    system.check(events_to_check(events if isinstance(events, Matches) else plan))
    count = plan.num_events if isinstance(plan, Blocks) else plan.num_matches
    check_key(system, None if is_traced(count) else int(count), key)
    known = 0 if is_traced(plan.num_players) else int(plan.num_players)
    rules = resolve_sizes(system.rules._replace(record=record), params)
    state = make_state(system, params, state, None, known)
    if plan.size == 0:
        return Run(state, jnp.zeros(0))
    state, guess = execute(rules, params, state, plan, key, checked, isinstance(events, Matches), engine)
    return Run(state, truncate_leaves(guess, len(events.score)) if isinstance(events, Matches) else guess)


def check_engine(engine: str, plan: Plan | Blocks, state: State) -> None:
    """ValueError for an engine that there is not, not here, or not for such a state or events arranged so."""
    if engine not in ("scan", "kernel"):
        raise ValueError(f'engine must be "scan" or "kernel", got {engine!r}')
    if engine == "kernel" and (isinstance(plan, Blocks) or plan.number is None):
        what = "periods or rounds" if isinstance(plan, Blocks) else "a stream"
        raise ValueError(f'engine="kernel" rates matches in levels, such as by_level makes, not {what}: leave it out')
    if engine == "kernel" and is_sharded(state):
        raise ValueError('engine="kernel" is for one device, and the state is spread over several: leave it out')
    if engine == "kernel" and jax.default_backend() != "gpu":
        raise ValueError(f'engine="kernel" is for a GPU, and this is a {jax.default_backend()}: leave it out')


def check_plan(system: RatingSystem, plan: Plan | Blocks) -> None:
    """ValueError for several plans at once, or contests of which the system does not know something."""
    if np.ndim(plan.num_players):
        raise ValueError("scan takes one plan at a time; map it over several by jax.vmap, or go on by jax.lax.scan")
    if isinstance(plan.events, Rounds):
        check_contest_noise(system, plan.events)
        if plan.events.seat is not None and not system.traits.seats:
            raise ValueError(no_seats(system, "some players of these contests are"))
        if plan.events.solo is None and not system.traits.teams:
            raise ValueError(teams_refusal(system, "there are in these contests"))


def stream_plan(events: Matches) -> tuple[Plan, bool]:
    """Matches one by one, and whether their ids are known; ValueError for what is seen to be wrong with them."""
    if not is_traced(events):
        return make_stream_plan(check_matches(events)), True
    context = events.context._asdict()
    columns = {name: _valid_stand_in(name, x) for name, x in (context.pop("columns") or {}).items()}
    given = {"player": events.player, "score": events.score, "time": events.time} | context
    right = matches(**{name: _valid_stand_in(name, x) for name, x in given.items()}, columns=columns or None)

    def known(x: Any, y: Any) -> Any:
        if x.shape != y.shape:
            raise ValueError(f"a traced column has shape {x.shape}, expected {y.shape}")
        return x if is_traced(x) else y

    n, ids = len(right.score), not is_traced(events.player)
    num_players = int(np.max(right.player, initial=-1)) + 1 if ids else 0
    return Plan(as_device_arrays(jax.tree.map(known, events, right)), None, num_players, n, n, n), ids


def _valid_stand_in(name: str, x: Any) -> Any:
    """A traced column as right values of its shape and kind; any other as it is."""
    if x is None or not is_traced(x):
        return x
    kind = np.int32 if x.dtype.kind in "iu" else np.float64
    fill: Any = {"player": [0, 1], "score": 0.5, "weight": 1.0}.get(name, 0)
    if name == "category" and x.ndim == 3:
        fill = 1.0 / x.shape[-1]
    if name == "player" and x.shape[-1:] != (2,):
        return np.zeros(x.shape, kind)  # which is refused
    return np.broadcast_to(np.asarray(fill, kind), x.shape)


def events_to_check(events: Matches | Plan | Blocks) -> Any:
    """Events for a system's check. Where anything is traced there are none, but with their columns."""
    if isinstance(events, Blocks):
        begins: Any = [
            x if x is None else np.zeros(1, int) if is_traced(events) else np.asarray(x) for x in events.starts
        ]
        return Ragged(_flat_events(events.events), *begins)
    if not isinstance(events, Plan) or events.number is None:
        return _flat_events(events.events if isinstance(events, Plan) else events)
    if is_traced(events):
        return jax.tree.map(lambda x: np.zeros((0, *x.shape[1:-1]), x.dtype), events.events)
    order = np.argsort(np.asarray(events.number), axis=None)[: int(events.num_matches)]

    def in_order(x: Any) -> Any:
        rows = np.moveaxis(np.asarray(x), -1, 1)
        return rows.reshape(-1, *rows.shape[2:])[order]

    return jax.tree.map(in_order, events.events)


def _flat_events(events: Any) -> Any:
    """Flat events of NumPy; none if any are traced."""
    return jax.tree.map(lambda x: np.zeros((0, *x.shape[1:]), x.dtype) if is_traced(events) else np.asarray(x), events)


def execute(
    rules: Rules,
    params: Params,
    state: State,
    plan: Plan | Blocks,
    key: Array | None,
    ids_checked: bool,
    exact_length: bool,
    engine: str = "scan",
) -> tuple[State, Any]:
    """The state, in place where nothing is traced, and the predictions, those past the events 0.

    Args:
      ids_checked: every id has its row.
      exact_length: where it is somebody's transformation that is compiled, it may be for the very length of the
        history.
    """
    given = params, state, plan, key
    forward, counted = is_forward_only(given), not is_traced(plan)
    if isinstance(plan, Blocks):
        return _execute_blocks(rules, params, state, plan, key, forward and counted)
    count = np.int32(plan.num_steps) if forward and counted else None
    steps = int(plan.num_steps) if counted and count is None else None
    size = int(plan.num_matches) if exact_length and steps is not None else plan.size
    way = replay_stream if plan.number is None else replay_levels if engine == "scan" else _kernel_program()
    short = forward and counted and plan.size <= SHORT_HISTORY
    loops = way is replay_levels and not short and _has_inner_loops(rules, params, state, plan.events)
    program = compile_replay(way, given, Matches, way is replay_stream, loops, short)
    done: tuple[State, Any] = program(
        rules, MatchProgramShape(size, steps, ids_checked), params, state, plan.events, plan.number, key, count
    )
    return done


def predict_blocks(rules: Rules, params: Params, state: State, plan: Blocks) -> Any:
    """The predictions of rounds from one state, each as of its own time: nothing is learnt."""
    prediction = _prediction_room(rules, params, state, plan, None)
    program = compile_replay(predict_block, (params, state, plan), Rounds, short=plan.size <= SHORT_HISTORY)
    for block in plan.blocks:
        prediction = program(rules, block.size, params, prediction, state, plan.events, plan.starts, block.number)
    return prediction


def _prediction_room(rules: Rules, params: Params, state: State, plan: Blocks, key: Array | None) -> Any:
    """Zeros [plan.size, ...] for the predictions."""
    flat, one = plan.events, plan.blocks[0]
    shape = _first_prediction.eval_shape(rules, one.size, params, state, flat, plan.starts, one.number, key)
    _check_recorded_rows(shape, flat, one.size)
    return jax.tree.map(lambda x: full_leaf((plan.size, *x.shape[1:]), 0, x.dtype), shape)


def _check_recorded_rows(shapes: Any, flat: Periods | Rounds, size: tuple[int, int]) -> None:
    """ValueError unless what is recorded of an event has a row for each pair of a period, or participant of a round."""
    count, rows = (size[1], "pair of a period") if isinstance(flat, Periods) else (size[0], "participant of a round")
    for leaf in jax.tree.leaves(shapes):
        if leaf.shape[:1] != (count,):
            raise ValueError(f"record must return a row for each {rows}, [{count}, ...] here, got {list(leaf.shape)}")


def _kernel_program() -> Any:
    """The other program of levels: Pallas takes a tenth of a second to import, which few need."""
    from jaxrate.replay.kernel import levels_kernel

    return levels_kernel.replay_levels_in_kernel


def _has_inner_loops(rules: Rules, params: Params, state: State, events: Matches) -> bool:
    """Whether there are loops within matches in levels."""
    match = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:-1], x.dtype), events)
    return outline_rules(rules, params, state, match).loops


def _execute_blocks(
    rules: Rules, params: Params, state: State, plan: Blocks, key: Array | None, counted: bool
) -> tuple[State, Any]:
    """A host loop over blocks of equal padded size; the state and the predictions stay on the device."""
    flat, starts = plan.events, plan.starts

    given = params, state, plan, key
    so_far = state, _prediction_room(rules, params, state, plan, key)
    if not counted:
        for _, alike in groupby(plan.blocks, lambda x: (x.size, x.number.shape)):
            several = [*alike]
            number = jnp.stack([x.number for x in several])
            program = compile_replay(replay_block_chain, given, type(flat))
            so_far = program(rules, several[0].size, params, so_far, flat, starts, number, key)
        return so_far
    program = compile_replay(replay_block, given, type(flat), short=plan.size <= SHORT_HISTORY)

    def arguments(one: Block, steps: int, so_far: Any) -> tuple[Any, ...]:
        return rules, one.size, params, so_far, flat, starts, one.number, key, np.int32(steps)

    kinds = {(one.size, one.number.shape): one for one in plan.blocks}.values()
    if len(kinds) > 1 and not is_inside_transformation(given):
        with ThreadPoolExecutor() as pool:  # XLA compiles on one core
            tasks = [pool.submit(program.lower(*arguments(one, 0, so_far)).compile) for one in kinds]
            for task in tasks:
                task.result()
    for one, steps in zip(plan.blocks, plan.steps, strict=True):
        so_far = program(*arguments(one, int(steps), so_far))
    return so_far


@partial(jax.jit, static_argnums=(0, 1))  # for what infers takes long to trace
def _first_prediction(
    rules: Rules,
    size: tuple[int, int],
    params: Params,
    state: State,
    flat: Periods | Rounds,
    starts: tuple[Array, Array | None],
    index: Array,
    key: Array | None,
) -> Any:
    """The prediction of the first event, padded, for its shape."""
    events, _ = gather_events(flat, starts, index, size)
    event = jax.tree.map(lambda x: x[0, 0], events)
    given = rules, prepare_replay(rules, params), gather_rows(state, event.player), event
    return predict_event(*given) if rules.record is None else rate_event(*given, key)[1]
