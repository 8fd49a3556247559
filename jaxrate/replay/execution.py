"""Programs that rate and predict a plan, and slopes of hyperparameters through them.

The programs themselves are pure functions in `scan_programs.py`.

Slopes of a replay by its hyperparameters, computed forwards, one axis for each, whoever asks for them.

Reverse mode keeps what every step computed, and JAX refuses the options of the compiler to a program that it
linearises: Elo-MMR's takes four times as long to compile. A few numbers of which all depends are better followed
forwards, as `fit` does. The slopes are a function of the hyperparameters like the replay itself, so that theirs, of any
order, are found in the same way.
"""

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial, wraps
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Jaxpr

from jaxrate.core.argument_checks import check_that, is_traced
from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.rules import Params, Record, State
from jaxrate.core.system import RatingSystem, full_leaf
from jaxrate.events import Matches, Periods, Ragged, Rounds, has_teammates
from jaxrate.replay.compiler_options import (
    ProgramTraits,
    compiler_options,
    cpu_compile_options,
    quick_compile_options,
)
from jaxrate.replay.padded_arrays import state_shapes
from jaxrate.replay.plan import (
    MATCH_SIZE,
    AnyEvents,
    PlacedEvents,
    Plan,
    cast_events,
    first_event_shape,
    place_events,
)
from jaxrate.replay.player_rows import gather_rows
from jaxrate.replay.scan_programs import (
    ReplayRules,
    Steps,
    draw_random_numbers_for_events,
    is_rated_in_tiles,
    make_replay_rules,
    predict_event_after_elapsed_time,
    prepare_replay,
    rate_event,
    replay_matches_of_any_ids_one_by_one,
    replay_matches_one_by_one,
    replay_steps,
)

SIMPLE_OPERATIONS = 200  # of rules that XLA makes one native loop of: skills has 193, 203 with experience is too much
SHAPE_OPERATIONS = {  # which cost nothing there: they move numbers, and compute none
    "broadcast_in_dim",
    "concatenate",
    "convert_element_type",
    "custom_jvp_call",
    "expand_dims",
    "jit",
    "pjit",
    "reduce_sum",
    "reshape",
    "slice",
    "squeeze",
    "stack",
    "unstack",
}
POLICY_VARIABLE = "JAXRATE_COMPILE"  # "quick": the default policy is to compile quickly


class CompilePolicy(NamedTuple):
    """How the programs of replays are compiled. `run` and `scan` take one; its fields change no prediction beyond
    rounding.
    """

    quick: bool = False  # in a sixth of the time, to slow code: for short replays, such as those of tests
    outermost: bool = False  # as at the top level, inside a vmap or forward derivative that is in no jit
    short_history: int = 1 << 14  # predictions up to which a history is replayed sooner than compiled with care


def compile_policy_from_environment() -> CompilePolicy:
    """The policy where none is named: quick if the environment says `JAXRATE_COMPILE=quick`."""
    return CompilePolicy(quick=os.environ.get(POLICY_VARIABLE) == "quick")


LEVELS = ProgramTraits()


Engine: TypeAlias = Literal["auto", "scan", "kernel"]


class ReplayOptions(NamedTuple):
    """How a plan is replayed."""

    engine: Engine = "scan"  # as of `run`; "auto": matches of one device are on a GPU, and no stream
    policy: CompilePolicy | None = None  # None: `compile_policy_from_environment`
    ids_checked: bool = True  # whether every id is known to have a row


CHECKED_REPLAY = ReplayOptions()


def replay_plan(
    rules: ReplayRules,
    params: Params,
    state: State,
    events: AnyEvents,
    plan: Plan,
    key: Array | None,
    options: ReplayOptions = CHECKED_REPLAY,
) -> tuple[State, Any]:
    """The state after a plan of checked events, and a prediction for each row of the events, or of their padding.

    At the top level it is executed in the memory of the state, and predictions have the room of the plan. Inside a
    transformation it is a pure function, and there are as many predictions as the events have rows.
    """
    policy = options.policy or compile_policy_from_environment()
    inside = is_inside_jax_transformation((params, state, events, plan, key))
    executed = not is_traced(plan) and (policy.outermost or not inside)
    if executed:
        columns, blocks = place_events(events, plan), _blocks_to_execute(plan)
    else:
        columns, blocks = cast_events(events, plan), _stack_equal_blocks(plan)
        has_padding = isinstance(events, PlacedEvents)
        options = options._replace(ids_checked=options.ids_checked and not has_padding)
    program = _compile_plan(rules, (params, state, columns, plan, key), options, policy)
    result = _state_and_prediction_buffer(rules, params, state, columns, plan, key)
    if executed and inside and len(blocks) > 1:
        result = _attach_zero_slopes(result, params)  # else the first block would have a program of its own
    calls = [(size, Steps(columns, number, key, count)) for size, number, count in blocks]
    if not inside:
        _compile_side_by_side(program, calls, lambda size, steps: (rules, size, params, result, steps))
    for size, steps in calls:
        result = program(rules, size, params, result, steps)
    return result


BlockCall = tuple[tuple[int, int], Any, Any]  # the size of a block, its numbers, and how many steps count


def _blocks_to_execute(plan: Plan) -> list[BlockCall]:
    """Blocks one after the other, each to the end of its events."""
    return [(size, number, np.int32(steps)) for (number, size), steps in zip(plan.blocks, plan.steps, strict=True)]


def _stack_equal_blocks(plan: Plan) -> list[BlockCall]:
    """Blocks of one shape in a row as one, [blocks, steps, width]; a single one without the steps that are empty."""
    if len(plan.blocks) == 1:
        (number, size), steps = plan.blocks[0], None if is_traced(plan) else int(plan.steps[0])
        return [(size, number[:steps], None)]
    groups = groupby(plan.blocks, lambda block: (block.size, block.number.shape))
    return [(size, jnp.stack([block.number for block in blocks]), None) for (size, _), blocks in groups]


def _state_and_prediction_buffer(
    rules: ReplayRules, params: Params, state: State, columns: PlacedEvents, plan: Plan, key: Array | None
) -> tuple[State, Any]:
    """What the first block goes on from: the state, and room for predictions unless its program makes that."""
    if len(plan.blocks) == 1 and (plan.kind is Matches or rules.record is None):
        return state, None
    return state, zero_predictions(rules, params, state, columns, plan, key)


def _compile_side_by_side(program: Any, calls: list[tuple[Any, Steps]], arguments: Callable[..., Any]) -> None:
    """Compile a program for calls of several shapes at once: XLA compiles on one core."""
    shapes = {(size, steps.number.shape): (size, steps) for size, steps in calls}.values()
    if len(shapes) > 1:
        with ThreadPoolExecutor() as pool:
            for task in [pool.submit(program.lower(*arguments(*call)).compile) for call in shapes]:
                task.result()


def _compile_plan(rules: ReplayRules, inputs: tuple[Any, ...], options: ReplayOptions, policy: CompilePolicy) -> Any:
    """The program of a plan, for these hyperparameters, state, placed events, plan and key."""
    params, state, columns, plan, _ = inputs
    replay: Any = replay_steps
    if options.engine != "scan":
        replay = _import_kernel_replay(options.engine)
    elif plan.is_stream:
        replay = replay_matches_one_by_one if options.ids_checked else replay_matches_of_any_ids_one_by_one
    return compile_replay(replay, inputs, policy, _plan_traits(rules, params, state, columns, plan, policy))


def _plan_traits(
    rules: ReplayRules, params: Params, state: State, columns: PlacedEvents, plan: Plan, policy: CompilePolicy
) -> ProgramTraits:
    """The traits of the program of a plan on which the options of the compiler depend."""
    short = not is_traced(plan) and plan.room[2] <= policy.short_history
    tiles = any(is_rated_in_tiles(columns.flat, block.size, block.number) for block in plan.blocks)
    traits = ProgramTraits(plan.kind, stream=plan.is_stream, short=short, tiles=tiles)
    if not has_launch_overhead() and (plan.kind is not Matches or plan.is_stream or short):
        return traits  # nothing depends on loops
    shapes = (first_event_shape(columns, size) for size in {block.size for block in plan.blocks})
    return traits._replace(
        inner_loops=any(has_loops(event_operations(rules, params, state, shape)) for shape in shapes)
    )


HIDDEN_LOOPS = "call_hi_primitive"  # since JAX 0.11: the loops of `jax.lax` that find a root


def has_loops(operations: tuple[str, ...]) -> bool:
    """Whether there is a loop among these operations."""
    return not {"while", "scan", HIDDEN_LOOPS}.isdisjoint(operations)


def event_operations(rules: ReplayRules, params: Params, state: State, event: Any) -> tuple[str, ...]:
    """The operations by which rules rate an event of some type, on leaves of a state [n, ...]."""
    rows = jax.tree.map(lambda x: jax.ShapeDtypeStruct((*event.player.shape, *x.shape[1:]), x.dtype), state)
    leaves, structure = jax.tree.flatten((params, rows, event))
    return _trace_event_operations(rules, structure, tuple(jax.typeof(x) for x in leaves))


@lru_cache
def _trace_event_operations(rules: ReplayRules, structure: Any, types: tuple[Any, ...]) -> tuple[str, ...]:
    def rate(params: Params, rows: State, event: Any) -> Any:
        drawn = None if rules.draw is None else rules.draw(jax.random.key(0))
        return rate_event(rules, prepare_replay(rules, params), rows, event, drawn)

    leaves = [jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in types]
    return tuple(_operations_of_jaxpr(jax.make_jaxpr(rate)(*jax.tree.unflatten(structure, leaves)).jaxpr, set()))


def _operations_of_jaxpr(jaxpr: Jaxpr, counted: set[int]) -> Iterator[str]:
    """The names of the operations of a function, and of the functions that it calls, once for each function."""
    for equation in jaxpr.eqns:
        name, about = equation.primitive.name, equation.params
        yield "unrolled" if name == "scan" and about["length"] <= about["unroll"] else name
        for value in jax.tree.leaves(about, is_leaf=lambda x: isinstance(x, (Jaxpr, ClosedJaxpr))):
            inner = getattr(value, "jaxpr", value)
            if isinstance(inner, Jaxpr) and id(inner) not in counted:
                counted.add(id(inner))
                yield from _operations_of_jaxpr(inner, counted)


@jax.jit
def _attach_zero_slopes(tree: Any, params: Params) -> Any:
    """The numbers of a tree, traced as the hyperparameters are, with slopes of 0, one for each setting."""
    nothing = sum(jnp.sum(jnp.where(jnp.zeros((), bool), x, 0.0)) for x in jax.tree.leaves(params))
    return jax.tree.map(lambda x: x + nothing if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)


def zero_predictions(
    rules: ReplayRules, params: Params, state: State, columns: PlacedEvents, plan: Plan, key: Array | None
) -> Any:
    """Zeros where blocks write predictions, of shapes inferred from a small event; ValueError for other rows."""
    is_period = plan.kind is Periods
    size = MATCH_SIZE if plan.kind is Matches else (3, 2) if is_period else (4, 2) if plan.has_teammates else (4, 4)
    shapes = _event_prediction.eval_shape(rules, params, state, first_event_shape(columns, size), key)
    count, row = (size[1], "pair of a period") if is_period else (size[0], "participant of a round")
    axes = 0 if plan.kind is Matches else 1
    for leaf in jax.tree.leaves(shapes):
        expected = f"record must return a row for each {row}, [{count}, ...] here, got {list(leaf.shape)}"
        check_that(axes == 0 or leaf.shape[:1] == (count,), expected)
    return jax.tree.map(lambda x: full_leaf((columns.num_rows, *x.shape[axes:]), 0, x.dtype), shapes)


@partial(jax.jit, static_argnums=0)  # for what infers takes long to trace
def _event_prediction(rules: ReplayRules, params: Params, state: State, event: Any, key: Array | None) -> Any:
    """The prediction of an event, or what is recorded of it."""
    inputs = rules, prepare_replay(rules, params), gather_rows(state, event.player), event
    if rules.record is None:
        return predict_event_after_elapsed_time(*inputs)
    return rate_event(*inputs, draw_random_numbers_for_events(rules, key, jnp.int32(0)))[1]


def _import_kernel_replay(engine: Engine) -> Any:
    """The other programs of levels: Pallas takes a tenth of a second to import, which few need."""
    from jaxrate.replay.kernel import levels_kernel

    by_choice, always = levels_kernel.replay_levels_in_kernel_if_faster, levels_kernel.replay_levels_in_kernel
    return by_choice if engine == "auto" else always


def compile_replay(
    replay: Callable[..., Any],
    inputs: tuple[Any, ...],
    policy: CompilePolicy | None = None,
    traits: ProgramTraits = LEVELS,
) -> Any:
    """A program under jit: in place at the top level, plain inside a transformation; its arguments are traced."""
    policy = compile_policy_from_environment() if policy is None else policy
    axes = max((x.ndim for x in jax.tree.leaves(inputs[1])), default=1)
    rounded_otherwise = traits.stream and jnp.result_type(float) == np.float64  # TrueSkill, by the older emitters
    traits = traits._replace(axes=axes, short=traits.short and not rounded_otherwise, slopes=policy.outermost)
    return _jit_replay(replay, is_inside_jax_transformation(inputs), policy, traits)


@lru_cache
def _jit_replay(replay: Callable[..., Any], inside: bool, policy: CompilePolicy, traits: ProgramTraits) -> Any:
    options = None
    if policy.outermost or not inside:  # only an outermost jit may have options
        options = quick_compile_options() if policy.quick else compiler_options(traits)
    return jax.jit(replay, static_argnums=(0, 1), donate_argnums=() if inside else 3, compiler_options=options)


def is_inside_jax_transformation(tree: Any) -> bool:
    """Whether it is inside somebody's transformation: something is traced, or all that is calculated would be."""
    return is_traced(tree) or is_everything_traced()


def is_everything_traced() -> bool:
    """Whether all that is calculated is traced, as inside a jit."""
    return is_traced(jax.device_put(np.zeros(())))


def skips_most_padding_work(system: RatingSystem, inputs: Any, history: Ragged) -> bool:
    """Whether a history's replay, by its own program on a CPU, does little for the padding of large rounds."""
    above = system.padding_skipped_above
    drifts = getattr(system.params, "drift", None) is not None  # which is of all rows
    if above is None or drifts or not isinstance(history.events, Rounds):
        return False
    large = np.max(np.diff(history.player_start), initial=0) > above
    alone = large and ("teams" not in system.features or not has_teammates(history))
    return alone and not has_launch_overhead() and not is_inside_jax_transformation(inputs)


def jit_with_small_matrix_compile_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under jit, its first argument static and of some `size`: long loops over vectors side by side.

    Of small matrices one thread takes a third less time over a step than two that wait for each other, and above a size
    of 2 the older emitters a tenth less. It may be called at the top level only.
    """

    @lru_cache
    def jit(size: int, policy: CompilePolicy) -> Any:
        options = quick_compile_options() if policy.quick else None
        if size > 1 and not policy.quick:
            passes = "dot-library-rewriter,cpu-parallel-task-assigner"
            options = cpu_compile_options({"xla_disable_hlo_passes": passes, "xla_cpu_use_fusion_emitters": size == 2})
        return jax.jit(function, static_argnums=0, compiler_options=options)

    @wraps(function)
    def call(fixed: Any, *arguments: Any) -> Any:
        return jit(min(fixed.size, 3), compile_policy_from_environment())(fixed, *arguments)

    return call


def jit_for_short_runs(*static_argnums: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for `jax.jit` of long programs that run for less time than it takes to compile them with care."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @lru_cache
        def jit(quick: bool) -> Any:
            options = quick_compile_options() if quick else cpu_compile_options({"xla_backend_optimization_level": 1})
            return jax.jit(function, static_argnums=static_argnums, compiler_options=options)

        return wraps(function)(lambda *arguments: jit(compile_policy_from_environment().quick)(*arguments))

    return decorate


# --- What rules are made of decides between a stream and levels. ---


def min_mean_width_for_levels(
    system: RatingSystem, params: Params, events: Matches, record: Record | None = None
) -> float:
    """Matches per step from which levels, made for this one replay, beat a stream.

    On a CPU, XLA compiles a stream of simple rules into one native loop. Wide steps can be up to three times as fast,
    but making them takes longer than the stream: ATP tennis 0.18 s in all against 0.04 s for Elo, 0.42 against 0.10 for
    Glicko. It does not for longer rules (TrueSkill: 14 times as long as levels), for those with an inner loop, in
    float64 or under differentiation, and no GPU runs a stream well.
    """
    double = jnp.result_type(float) == np.float64
    if double or jax.default_backend() != "cpu" or is_traced(params):
        return 2.0
    rows = state_shapes(system, 2, params)
    if any(x.shape != (2,) for x in jax.tree.leaves(rows)):
        return 2.0
    kind = jax.tree.map(lambda x: np.int32 if np.dtype(x.dtype).kind in "iu" else jnp.result_type(float), events)
    match = jax.tree.map(lambda x, kind: jax.ShapeDtypeStruct(np.shape(x)[1:], kind), events, kind)
    rules = make_replay_rules(system.rules, params, record)
    operations = event_operations(rules, params, rows, match)
    num_numeric = sum(name not in SHAPE_OPERATIONS for name in operations)
    return math.inf if num_numeric < SIMPLE_OPERATIONS and not has_loops(operations) else 2.0


MAX_FORWARD_PARAMETERS = 16  # up to which forward mode is faster: on tennis, reverse mode takes as long as for 25
MAX_SLOPE_BYTES = 1 << 30

Numbers = tuple[Array, ...]


def needs_hyperparameter_slopes_only(system: RatingSystem, params: Params, others: Any, num_players: int) -> bool:
    """Whether somebody transforms a replay, by a few of its hyperparameters and nothing else, outside of any jit.

    Not where the slopes of the state, as it is at the end, would take too much memory. Those of predictions are not
    counted: reverse mode keeps numbers for each event as well, of all that its update computes.
    """
    traced = [x for x in jax.tree.leaves(params) if is_traced(x)]
    is_few = 0 < len(traced) <= MAX_FORWARD_PARAMETERS
    are_numbers = all(x.ndim == 0 and _is_real(x) for x in traced)
    if not (is_few and are_numbers) or is_traced(others) or is_everything_traced():
        return False
    state = jax.tree.leaves(state_shapes(system, num_players))
    return len(traced) * sum(x.size * x.dtype.itemsize for x in state) <= MAX_SLOPE_BYTES


def replay_with_forward_slopes(
    value: Callable[[Params], Any], replay_near: Callable[[Params], Callable[[Params], Any]], params: Params
) -> Any:
    """value(params), whose slopes are computed forwards.

    `replay_near` makes the same function to be differentiated so, of sizes that are enough for hyperparameters such as
    those that it is given. These are numbers wherever they are known.
    """
    leaves, structure = jax.tree.flatten(params)
    traced = {i: x for i, x in enumerate(leaves) if is_traced(x)}

    def to_params(numbers: Numbers) -> Params:
        complete = dict(enumerate(leaves)) | dict(zip(traced, numbers, strict=True))
        return jax.tree.unflatten(structure, complete.values())

    def function_near(numbers: Numbers) -> Callable[[Numbers], Any]:
        replay = replay_near(to_params(numbers))
        return lambda numbers: replay(to_params(numbers))

    return _differentiate_forwards(lambda numbers: value(to_params(numbers)), function_near)(tuple(traced.values()))


def _differentiate_forwards(
    value: Callable[[Numbers], Any], function_near: Callable[[Numbers], Callable[[Numbers], Any]]
) -> Any:
    """value(numbers), whose slopes are those of a function, computed forwards, as are those of the slopes."""
    call = jax.custom_jvp(value)

    @call.defjvp
    def rule(numbers: tuple[Numbers], changes: tuple[Numbers]) -> tuple[Any, Any]:
        both = partial(_value_and_slopes, function_near(*numbers))
        found, slopes = _differentiate_forwards(both, lambda _: both)(*numbers)
        if not is_traced(slopes) and not bool(_are_all_finite(slopes)):
            # What overflows on the way may hardly count: backwards the small slopes behind it come first.
            return jax.jvp(value, numbers, changes)
        each = iter(_multiply_slopes_by_changes(*changes, slopes))
        return found, jax.tree.map(lambda x: next(each) if _is_real(x) else np.zeros(x.shape, jax.dtypes.float0), found)

    return call


def _value_and_slopes(function: Callable[[Numbers], Any], numbers: Numbers) -> tuple[Any, list[Array]]:
    """function(numbers), and the slopes [k, ...] of each of its leaves that are real, by all k numbers."""

    def real_leaves_and_result(numbers: Numbers) -> tuple[list[Array], Any]:
        found = function(numbers)
        return [x for x in jax.tree.leaves(found) if _is_real(x)], found

    def along(axis: Numbers) -> tuple[Any, list[Array]]:
        _, slopes, found = jax.jvp(real_leaves_and_result, (numbers,), (axis,), has_aux=True)
        return found, slopes

    axes = tuple(np.eye(len(numbers), dtype=x.dtype)[i] for i, x in enumerate(numbers))
    found, slopes = jax.vmap(along, out_axes=(None, 0))(axes)
    return found, slopes


def _is_real(x: Array) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.floating))


@jax.jit
def _are_all_finite(arrays: list[Array]) -> Array:
    """[] whether all numbers of these arrays are finite."""
    return jnp.stack([jnp.isfinite(x).all() for x in arrays]).all()


@jax.jit
def _multiply_slopes_by_changes(changes: Numbers, slopes: list[Array]) -> list[Array]:
    """The changes of leaves, whose slopes are as they are what is kept for reverse mode."""

    def add(x: Array) -> Array:
        change = jnp.stack([t.astype(x.dtype) for t in changes])
        return jnp.tensordot(change, x, axes=1, precision=lax.Precision.HIGHEST)

    return [add(x) for x in slopes]
