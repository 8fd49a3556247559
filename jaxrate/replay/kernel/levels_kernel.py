"""Matches in levels by one kernel for a GPU, which walks through all steps by itself.

A loop of XLA's is some kernels a step, and a step of few matches takes as long as their launches. Here one block of
threads, a thread a match, goes from step to step, and what would be a launch is a barrier. Under `jax.vmap`, by
hyperparameters or histories, each has a block of its own.

It relies on this. All ids of a step are different, so that no two threads write one row. Between reading rows and
writing them stands a barrier, and another between writing them and the next step: a barrier of a block orders its
accesses to global memory, whatever thread the compiler gives what to. Rows are read through the references that they
are written to, which the compiler therefore cannot take for constant. Loops must not be pipelined (`num_stages=1`): the
rows of the next step would be read too early. What is read ahead are events, which nobody writes.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from jaxrate.core.array_types import Array
from jaxrate.core.rules import Params, State
from jaxrate.core.system import random_draw_rule
from jaxrate.events import LAST_ID, Matches
from jaxrate.replay.kernel.scalar_jaxpr_evaluation import evaluate_jaxpr_on_scalars, unsupported_operations
from jaxrate.replay.scan_programs import (
    MatchProgramShape,
    ReplayRules,
    prepare_replay,
    rate_event,
    reorder_predictions,
    truncate_steps,
)

WARP = 32  # threads; fewer matches would be rated by several threads each
MATCHES_AT_ONCE = 1024  # matches that are rated at once: the threads that a block may have
HINT_NO_KERNEL = 'leave out engine="kernel"'


def replay_levels_in_kernel(
    rules: ReplayRules,
    shape: MatchProgramShape,
    params: Params,
    state: State,
    events: Matches,
    index: Array,
    key: Array | None,
    count: Array | None,
    *,
    interpret: bool = False,
) -> tuple[State, Any]:
    """What `programs.levels` returns; without derivatives.

    Args:
      interpret: without a GPU, for tests: it takes long.
    """
    del key
    events, index = truncate_steps((events, index), shape.steps)
    steps, width = index.shape
    lanes = min(max(1 << (width - 1).bit_length(), WARP), MATCHES_AT_ONCE)
    prepared = jax.tree.map(jnp.asarray, prepare_replay(rules, params))
    rate, guess = _make_scalar_match_function(rules, prepared, state, events)
    count = jnp.int32(steps) if count is None else count

    columns = [_pad_with_empty_slots(x, -width % lanes) for x in jax.tree.leaves(events)]
    numbers = jnp.stack(jax.tree.leaves(prepared))
    leaves, structure = jax.tree.flatten(state)
    room = [jax.ShapeDtypeStruct((steps, *x.shape, columns[0].shape[-1]), x.dtype) for x in jax.tree.leaves(guess)]
    given = [jnp.reshape(count, 1), numbers, *columns, *leaves]
    first = len(given) - len(leaves)
    walk = pl.pallas_call(
        partial(_kernel_body, rate, len(columns), len(leaves), lanes, interpret),
        [*(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves), *room],
        in_specs=[pl.no_block_spec] * len(given),
        out_specs=[pl.no_block_spec] * (len(leaves) + len(room)),
        input_output_aliases={first + i: i for i in range(len(leaves))},
        compiler_params=triton.CompilerParams(num_warps=lanes // WARP, num_stages=1),
        interpret=interpret,
        name="levels",
    )
    done = _refuse_derivatives(walk)(*given)
    made = [jnp.moveaxis(x, -1, 1)[:, :width] for x in done[len(leaves) :]]
    guess = jax.tree.unflatten(jax.tree.structure(guess), made)
    return jax.tree.unflatten(structure, done[: len(leaves)]), reorder_predictions(shape.size, index, guess)


def _make_scalar_match_function(
    rules: ReplayRules, prepared: Any, state: State, events: Matches
) -> tuple[Callable[..., Any], Any]:
    """Numbers to numbers of one match, and the shapes of its prediction; ValueError for rules that do not fit."""
    if random_draw_rule(rules) is not None:
        raise ValueError(f"the kernel knows no rules that draw random numbers: {HINT_NO_KERNEL}")
    if any(x.ndim != 1 for x in jax.tree.leaves(state)):
        raise ValueError(f"the kernel knows players of a few numbers each, and these have vectors: {HINT_NO_KERNEL}")
    if any(x.ndim or not jnp.issubdtype(x.dtype, jnp.floating) for x in jax.tree.leaves(prepared)):
        raise ValueError(f"the kernel knows rules of a few floats, and these have other constants: {HINT_NO_KERNEL}")

    def rate(prepared: Any, rows: State, match: Matches) -> Any:
        return rate_event(rules, prepared, rows, match, None)

    rows = jax.tree.map(lambda x: jax.ShapeDtypeStruct((2,), x.dtype), state)
    match = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:-1], x.dtype), events)
    closed, (_, guess) = jax.make_jaxpr(rate, return_shape=True)(prepared, rows, match)
    if unknown := unsupported_operations(closed):
        raise ValueError(
            f"the kernel knows arithmetic only, and these rules have {', '.join(sorted(unknown))}: {HINT_NO_KERNEL}"
        )
    return partial(evaluate_jaxpr_on_scalars, closed), guess


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

    def places(ref: Any, turn: Array) -> list[Any]:
        slots = pl.ds(lax.rem(turn, jnp.int32(parts)) * lanes, lanes)
        step = lax.div(turn, jnp.int32(parts))
        return [ref.at[step, *map(jnp.int32, at), slots] for at in np.ndindex(*ref.shape[1:-1])]

    def match(turn: Array) -> tuple[Array, ...]:
        return tuple(triton.load(at) for ref in events for at in places(ref, turn))

    def barrier() -> None:
        if not interpret:
            triton.debug_barrier()

    def one(turn: Array, match_now: tuple[Array, ...]) -> tuple[Array, ...]:
        sides = match_now[:2]
        rows = [triton.load(ref.at[jnp.clip(x, 0, players - 1)]) for ref in state for x in sides]
        barrier()
        following = match(jnp.minimum(turn + 1, last))
        found = [jnp.broadcast_to(x, (lanes,)) for x in rate([*numbers, *rows, *match_now])]
        for i, ref in enumerate(state):
            for j, x in enumerate(sides):
                triton.store(ref.at[x], found[2 * i + j], mask=(x >= 0) & (x < players))
        for at, x in zip([at for ref in guesses for at in places(ref, turn)], found[2 * leaves :], strict=True):
            triton.store(at, x)
        barrier()
        return following

    lax.fori_loop(0, last + 1, one, match(jnp.int32(0)))


def _refuse_derivatives(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with a ValueError for whoever differentiates it."""
    plain = jax.custom_jvp(function)

    @plain.defjvp
    def refuse(given: Any, tangents: Any) -> Any:
        raise ValueError(f"the kernel has no derivatives: {HINT_NO_KERNEL}")

    return plain
