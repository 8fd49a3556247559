"""Levels of matches in one launch on a GPU, by a kernel made of a system's rules.

A loop of XLA's is some kernels a step, and a step of few matches takes as long as their launches. Here one block of
threads, a thread a match, goes from step to step, and what would be a launch is a barrier. Under `jax.vmap`, by
hyperparameters or histories, each has a block of its own.

It relies on this. All ids of a step are different, so that no two threads write one row. Between reading rows and
writing them stands a barrier, and another between writing them and the next step: a barrier of a block orders its
accesses to global memory, whatever thread the compiler gives what to. Rows are read through the references that they
are written to, which the compiler therefore cannot take for constant. Loops must not be pipelined (`num_stages=1`): the
rows of the next step would be read too early. What is read ahead are events, which nobody writes.

Functions of small arrays taken apart into operations on single numbers, for programs that hold one in a register.

A kernel has a match in each thread, and there every number of it is a value of its own: a pair of ratings is two. The
compilers of kernels know neither slices of such pairs nor all functions, so what arranges numbers is done here, and
only arithmetic is left.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jax.extend.core import ClosedJaxpr, Literal

from jaxrate.core.array_types import Array
from jaxrate.core.rules import Params, State
from jaxrate.events import LAST_ID, Matches
from jaxrate.numerics.special_functions import normal_tail
from jaxrate.replay.plan import MATCH_SIZE, gather_events
from jaxrate.replay.scan_programs import (
    ReplayRules,
    Steps,
    prepare_replay,
    rate_event,
    reorder_predictions,
    replay_steps,
    scatter_predictions,
)
from jaxrate.replay.schedule import NARROW_WIDTH

ScalarIndices = np.ndarray[Any, Any]  # of whole numbers: which of the values stands where in an array

ARITHMETIC = {
    "abs", "add", "and", "atan", "cbrt", "clamp", "convert_element_type", "cos", "div", "eq", "exp", "exp2", "expm1",
    "floor", "ge", "gt", "integer_pow", "is_finite", "le", "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne",
    "neg", "not", "or", "pow", "rem", "rsqrt", "select_n", "sign", "sin", "sqrt", "square", "sub", "tan", "tanh", "xor",
}  # fmt: skip
REDUCTIONS = {
    "reduce_sum": lax.add,
    "reduce_max": lax.max,
    "reduce_min": lax.min,
    "reduce_and": lax.bitwise_and,
    "reduce_or": lax.bitwise_or,
}
EXPANDED_CALL = "call_hi_primitive"  # a function with rules of its own for slopes, since JAX 0.11
CALL_PRIMITIVES = {
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",
}
ROOT = 0.5**0.5


def erfc(x: Array) -> Array:
    """1 - erf(x), from the tail of the normal distribution: kernels know no such function."""
    far = jnp.abs(x)
    right = 2.0 * ROOT / np.pi**0.5 * jnp.exp(-far * far) / normal_tail(far / ROOT)[0]
    return jnp.where(x < 0, 2.0 - right, right)


def erf(x: Array) -> Array:
    """The error function; near 0 its series."""
    near, term, factor = jnp.zeros_like(x), x, 1.0
    for k in range(12):
        near = near + factor / (2 * k + 1) * term
        term, factor = term * x * x, -factor / (k + 1)
    return jnp.where(jnp.abs(x) < 0.5, 2.0 / np.pi**0.5 * near, 1.0 - erfc(x))


REPLACEMENTS = {"erf": erf, "erfc": erfc}


def unsupported_operations(closed_jaxpr: Any) -> set[str]:
    """The names of the operations in a function, as `jax.make_jaxpr` made it, that cannot be taken apart."""
    found: set[str] = set()
    for equation in closed_jaxpr.jaxpr.eqns:
        name = equation.primitive.name
        if (inner := _inner_jaxpr(equation)) is not None:
            found |= unsupported_operations(inner)
        elif (
            name not in ARITHMETIC
            and name not in REDUCTIONS
            and name not in REPLACEMENTS
            and name not in REARRANGEMENTS
        ):
            found.add(name)
    return found


def evaluate_jaxpr_on_scalars(closed_jaxpr: Any, scalars: list[Array]) -> list[Array]:
    """The numbers of a function's results, from those of its arguments, each array's in the order of its memory.

    Args:
      closed_jaxpr: as `jax.make_jaxpr` made it, without `unsupported_operations`.
      scalars: numbers, [] or all those of one shape, which stands for as many calls at once.
    """
    values, places, used = list(scalars), [], 0
    for variable in closed_jaxpr.jaxpr.invars:
        shape = variable.aval.shape
        size = int(np.prod(shape, dtype=int))
        places.append(np.arange(used, used + size).reshape(shape))
        used += size
    return [values[i] for found in _evaluate_jaxpr(closed_jaxpr, places, values) for i in found.ravel()]


def _evaluate_jaxpr(
    closed_jaxpr: Any, operand_indices: list[ScalarIndices], scalars: list[Array]
) -> list[ScalarIndices]:
    known = dict(zip(closed_jaxpr.jaxpr.invars, operand_indices, strict=True))
    known |= {
        v: _append_constant(x, v.aval, scalars)
        for v, x in zip(closed_jaxpr.jaxpr.constvars, closed_jaxpr.consts, strict=True)
    }

    def read(x: Any) -> ScalarIndices:
        return _append_constant(x.val, x.aval, scalars) if isinstance(x, Literal) else known[x]

    for equation in closed_jaxpr.jaxpr.eqns:
        found = _evaluate_equation(equation, [read(x) for x in equation.invars], scalars)
        known |= dict(zip(equation.outvars, found, strict=True))
    return [read(x) for x in closed_jaxpr.jaxpr.outvars]


def _evaluate_equation(
    equation: Any, operand_indices: list[ScalarIndices], scalars: list[Array]
) -> list[ScalarIndices]:
    name, params = equation.primitive.name, equation.params
    if (inner := _inner_jaxpr(equation)) is not None:
        return _evaluate_jaxpr(inner, operand_indices, scalars)
    if name in REARRANGEMENTS:
        found = REARRANGEMENTS[name](params, *operand_indices)
        return found if isinstance(found, list) else [found]
    if name in REDUCTIONS:
        return [_reduce_axes(REDUCTIONS[name], operand_indices[0], params["axes"], scalars)]
    function = REPLACEMENTS.get(name) or (lambda *x: equation.primitive.bind(*x, **params))
    return [_apply_elementwise(function, operand_indices, scalars)]


def _inner_jaxpr(equation: Any) -> Any:
    """The function that an equation calls; None if it calls none."""
    name = equation.primitive.name
    if name == EXPANDED_CALL:
        operation = partial(equation.primitive.to_lojax, **equation.params)
        return jax.make_jaxpr(operation)(*(x.aval for x in equation.invars))
    if name not in CALL_PRIMITIVES:
        return None
    inner = equation.params[CALL_PRIMITIVES[name]]
    return inner if hasattr(inner, "consts") else ClosedJaxpr(inner, ())


def _append_constant(value: Any, aval: Any, scalars: list[Array]) -> ScalarIndices:
    """Room for the numbers of a constant, of NumPy, which stand in the program itself."""
    array = np.asarray(value, aval.dtype)
    scalars += list(array.ravel())
    return np.arange(len(scalars) - array.size, len(scalars)).reshape(array.shape)


def _apply_elementwise(
    function: Callable[..., Array], operand_indices: list[ScalarIndices], scalars: list[Array]
) -> ScalarIndices:
    """Arithmetic on each number of some arrays."""
    operand_indices = [*np.broadcast_arrays(*operand_indices)]
    found = np.empty(operand_indices[0].shape, int)
    for at in np.ndindex(found.shape):
        found[at] = len(scalars)
        scalars.append(function(*broadcast_to_common_shape([scalars[x[at]] for x in operand_indices])))
    return found


def broadcast_to_common_shape(arrays: list[Array]) -> list[Array]:
    """Numbers of one shape."""
    shape = max((np.shape(x) for x in arrays), key=len)
    return [x if np.shape(x) == shape else jnp.broadcast_to(x, shape) for x in arrays]


def _reduce_axes(
    function: Callable[..., Array], x: ScalarIndices, axes: tuple[int, ...], scalars: list[Array]
) -> ScalarIndices:
    """Along each axis one number after the other."""
    for axis in sorted(axes, reverse=True):
        first, *rest = np.moveaxis(x, axis, 0)
        for other in rest:
            first = _apply_elementwise(function, [first, other], scalars)
        x = first
    return x


def _broadcast_indices(params: Any, x: ScalarIndices) -> ScalarIndices:
    shape = [1] * len(params["shape"])
    for axis, size in zip(params["broadcast_dimensions"], x.shape, strict=True):
        shape[axis] = size
    return np.broadcast_to(x.reshape(shape), params["shape"])


def _slice_indices(params: Any, x: ScalarIndices) -> ScalarIndices:
    strides = params["strides"] or (1,) * x.ndim
    return x[tuple(slice(*cut) for cut in zip(params["start_indices"], params["limit_indices"], strides, strict=True))]


REARRANGEMENTS: dict[str, Callable[..., Any]] = {
    "broadcast_in_dim": _broadcast_indices,
    "concatenate": lambda params, *x: np.concatenate(x, params["dimension"]),
    "copy": lambda params, x: x,
    "reshard": lambda params, x: x,
    "reshape": lambda params, x: x.reshape(params["new_sizes"]),
    "rev": lambda params, x: np.flip(x, params["dimensions"]),
    "slice": _slice_indices,
    "split": lambda params, x: np.split(x, np.cumsum(params["sizes"])[:-1], params["axis"]),
    "squeeze": lambda params, x: np.squeeze(x, params["dimensions"]),
    "stack": lambda params, *x: np.stack(x, params["axis"]),
    "stop_gradient": lambda params, x: x,
    "transpose": lambda params, x: np.transpose(x, params["permutation"]),
    "unstack": lambda params, x: [*np.moveaxis(x, params["axis"], 0)],
}


WARP = 32  # threads; fewer matches would be rated by several threads each
MAX_CONSTANTS = 64  # numbers, which each thread has in registers of its own
MATCHES_AT_ONCE = 1024  # matches that are rated at once: the threads that a block may have


def replay_levels_in_kernel_if_faster(
    rules: ReplayRules, size: tuple[int, int], params: Params, carry: tuple[State, Any], steps: Steps
) -> tuple[State, Any]:
    """What `replay_steps` returns of matches: by the kernel, if it takes the rules and few are rated at once."""
    is_wide = steps.number.shape[-1] > NARROW_WIDTH
    if is_wide or find_kernel_obstacle(rules, params, carry[0], steps.columns.flat):
        return replay_steps(rules, size, params, carry, steps)
    return replay_levels_in_kernel(rules, size, params, carry, steps)


def replay_levels_in_kernel(
    rules: ReplayRules,
    size: tuple[int, int],
    params: Params,
    carry: tuple[State, Any],
    steps: Steps,
    *,
    interpret: bool = False,
) -> tuple[State, Any]:
    """What `replay_steps` returns of matches, with the loop's derivatives; `interpret` is for tests without GPU."""
    if obstacle := find_kernel_obstacle(rules, params, carry[0], steps.columns.flat):
        raise ValueError(f'the kernel knows {obstacle}: leave out engine="kernel"')
    replay = jax.custom_jvp(partial(_replay_in_kernel, rules, interpret))
    replay.defjvp(partial(jax.jvp, partial(replay_steps, rules, size)))
    found: tuple[State, Any] = replay(params, carry, steps)
    return found


def _replay_in_kernel(
    rules: ReplayRules, interpret: bool, params: Params, carry: tuple[State, Any], steps: Steps
) -> tuple[State, Any]:
    """The state after the steps, and the predictions with theirs; without derivatives."""
    (state, prediction), (columns, number, _, count) = carry, steps
    index = number.reshape(-1, number.shape[-1])
    events, _ = gather_events(columns, index, MATCH_SIZE)
    num_steps, width = index.shape
    lanes = min(max(1 << (width - 1).bit_length(), WARP), MATCHES_AT_ONCE)
    prepared = jax.tree.map(jnp.asarray, prepare_replay(rules, params))
    closed, guess = _trace_match(rules, prepared, state, columns.flat)
    rate, count = partial(evaluate_jaxpr_on_scalars, closed), jnp.int32(num_steps) if count is None else count

    slots = [_pad_with_empty_slots(x, -width % lanes) for x in jax.tree.leaves(events)]
    numbers = jnp.concatenate([x.ravel() for x in jax.tree.leaves(prepared)])
    leaves, structure = jax.tree.flatten(state)
    room = [jax.ShapeDtypeStruct((num_steps, *x.shape, slots[0].shape[-1]), x.dtype) for x in jax.tree.leaves(guess)]
    given = [jnp.reshape(count, 1), numbers, *slots, *leaves]
    first = len(given) - len(leaves)
    walk = pl.pallas_call(
        partial(_kernel_body, rate, len(slots), len(leaves), lanes, interpret),
        [*(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves), *room],
        in_specs=[pl.no_block_spec] * len(given),
        out_specs=[pl.no_block_spec] * (len(leaves) + len(room)),
        input_output_aliases={first + i: i for i in range(len(leaves))},
        compiler_params=triton.CompilerParams(num_warps=lanes // WARP, num_stages=1),
        interpret=interpret,
        name="levels",
    )
    done = walk(*given)
    made = [jnp.moveaxis(x, -1, 1)[:, :width] for x in done[len(leaves) :]]
    state, guess = (
        jax.tree.unflatten(structure, done[: len(leaves)]),
        jax.tree.unflatten(jax.tree.structure(guess), made),
    )
    if prediction is None:
        return state, reorder_predictions(columns.num_rows, index, guess)
    return state, scatter_predictions(prediction, index, guess)


def find_kernel_obstacle(rules: ReplayRules, params: Params, state: State, columns: Matches) -> str:
    """What the kernel knows in place of these rules; nothing if it takes them."""
    if rules.draw is not None:
        return "no rules that draw random numbers"
    if any(x.ndim != 1 for x in jax.tree.leaves(state)):
        return "players of a few numbers each, and these have vectors"
    prepared = jax.tree.map(jnp.asarray, prepare_replay(rules, params))
    constants = jax.tree.leaves(prepared)
    are_floats = all(jnp.issubdtype(x.dtype, jnp.floating) for x in constants)
    if not are_floats or sum(x.size for x in constants) > MAX_CONSTANTS:
        return "rules of a few floats, and these have other constants"
    unknown = unsupported_operations(_trace_match(rules, prepared, state, columns)[0])
    return f"arithmetic only, and these rules have {', '.join(sorted(unknown))}" if unknown else ""


def _trace_match(rules: ReplayRules, prepared: Any, state: State, columns: Matches) -> tuple[Any, Any]:
    """The jaxpr that rates one match with such columns, and the shapes of its prediction."""

    def rate(prepared: Any, rows: State, match: Matches) -> Any:
        return rate_event(rules, prepared, rows, match, None)

    rows = jax.tree.map(lambda x: jax.ShapeDtypeStruct((2,), x.dtype), state)
    slots = columns.score.ndim - 1  # of matches that stand in the slots of their plan
    match = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1 : x.ndim - slots], x.dtype), columns)
    closed, (_, guess) = jax.make_jaxpr(rate, return_shape=True)(prepared, rows, match)
    return closed, guess


def _pad_with_empty_slots(x: Array, num_added: int) -> Array:
    """A column [..., width] with slots in which nobody plays."""
    if num_added == 0:
        return x
    ends = [(0, 0)] * (x.ndim - 1) + [(0, num_added)]
    return jnp.pad(x, ends, constant_values=LAST_ID) if x.dtype == jnp.int32 else jnp.pad(x, ends, mode="edge")


def _kernel_body(rate: Callable[..., Any], columns: int, leaves: int, lanes: int, interpret: bool, *refs: Any) -> None:
    """The kernel. Steps wider than `lanes` are rated in parts, one after the other."""
    count, constants, *rest = refs
    events, state, guesses = rest[:columns], rest[columns + leaves : columns + 2 * leaves], rest[columns + 2 * leaves :]
    parts, players = events[0].shape[-1] // lanes, state[0].shape[0]
    numbers = [triton.load(constants.at[jnp.int32(i)]) for i in range(constants.shape[0])]
    last = triton.load(count.at[jnp.int32(0)]) * parts - 1

    barrier: Callable[[], Any] = (lambda: None) if interpret else triton.debug_barrier

    def match(turn: Array) -> tuple[Array, ...]:
        return tuple(triton.load(at) for at in _slices_of_turn(events, turn, parts, lanes))

    def one(turn: Array, match_now: tuple[Array, ...]) -> tuple[Array, ...]:
        sides = match_now[:2]
        rows = [triton.load(ref.at[jnp.clip(x, 0, players - 1)]) for ref in state for x in sides]
        barrier()
        following = match(jnp.minimum(turn + 1, last))
        found = [jnp.broadcast_to(x, (lanes,)) for x in rate([*numbers, *rows, *match_now])]
        for i, ref in enumerate(state):
            for j, x in enumerate(sides):
                triton.store(ref.at[x], found[2 * i + j], mask=(x >= 0) & (x < players))
        for at, x in zip(_slices_of_turn(guesses, turn, parts, lanes), found[2 * leaves :], strict=True):
            triton.store(at, x)
        barrier()
        return following

    lax.fori_loop(0, last + 1, one, match(jnp.int32(0)))


def _slices_of_turn(refs: Iterable[Any], turn: Array, parts: int, lanes: int) -> list[Any]:
    """The slices of the arrays that hold the numbers of a turn, of which a step has so many."""
    slots = pl.ds(lax.rem(turn, jnp.int32(parts)) * lanes, lanes)
    step = lax.div(turn, jnp.int32(parts))
    return [ref.at[step, *map(jnp.int32, at), slots] for ref in refs for at in np.ndindex(*ref.shape[1:-1])]
