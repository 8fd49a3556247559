"""What the programs of rules are made of, which decides how they are compiled and in what order matches are rated."""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr

from jaxrate.backend_dependent_operations import has_launch_overhead
from jaxrate.events import Matches
from jaxrate.replay.blocks import BlockPlan, gather_events
from jaxrate.replay.row_gather_and_scatter import gather_rows
from jaxrate.replay.scan_programs import ReplayRules, prepare_replay, rate_event
from jaxrate.rules import Params, State
from jaxrate.system import random_draw_rule


class MatchProgramComplexity(NamedTuple):
    """What is compiled for a match."""

    loops: bool  # whether there is a loop within it
    scalar_rows: bool  # whether a player is one number in each leaf of the state
    nodes: bool  # whether there are vectors longer than any of a player, as over nodes of an integral
    operations: int


def match_program_features(rules: ReplayRules, params: Params, state: State, match: Matches) -> MatchProgramComplexity:
    """The outline of rules, with leaves of a state [n, ...] and of a match [...] of these types."""
    state = jax.tree.map(lambda x: jax.ShapeDtypeStruct((2, *x.shape[1:]), x.dtype), state)
    leaves, structure = jax.tree.flatten((params, state, match))
    return _match_program_features_cached(rules, structure, tuple(jax.typeof(x) for x in leaves))


@lru_cache
def _match_program_features_cached(
    rules: ReplayRules, structure: Any, types: tuple[Any, ...]
) -> MatchProgramComplexity:
    params, state, match = jax.tree.unflatten(structure, types)
    operations = _rating_operations(rules, params, state, match)
    longest = max((n for x in jax.tree.leaves(state) for n in x.shape), default=2)
    return MatchProgramComplexity(
        _has_loops(operations),
        all(x.shape == (2,) for x in jax.tree.leaves(state)),
        any(length > longest for _, length in operations),
        len(operations),
    )


def any_event_has_loops(rules: ReplayRules, params: Params, state: State, plan: BlockPlan) -> bool:
    """Whether there are loops within the periods or rounds of a plan, for a device on which kernels are launched."""

    def has_loops(size: tuple[int, int]) -> bool:
        events, _ = gather_events(plan.events, plan.starts, jnp.zeros((1, 1), jnp.int32), size)
        event = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[2:], x.dtype), events)
        rows = jax.eval_shape(gather_rows, state, event.player)
        return _has_loops(_rating_operations(rules, params, rows, event))

    return has_launch_overhead() and any(has_loops(size) for size in {block.size for block in plan.blocks})


def _has_loops(operations: list[tuple[str, int]]) -> bool:
    """On a CPU, only loops whose turns are not known when they are compiled: XLA unrolls others."""
    loops = ("while", "scan") if has_launch_overhead() else ("while",)
    return any(name in loops for name, _ in operations)


def _rating_operations(rules: ReplayRules, params: Params, rows: State, event: Any) -> list[tuple[str, int]]:
    """The operations that rate an event."""

    def rate(params: Params, rows: State, event: Any) -> Any:
        draw = random_draw_rule(rules)
        drawn = None if draw is None else draw(jax.random.key(0))
        return rate_event(rules, prepare_replay(rules, params), rows, event, drawn)

    return _operation_names_and_longest_axes(jax.make_jaxpr(rate)(params, rows, event).jaxpr, set())


def _operation_names_and_longest_axes(jaxpr: Jaxpr, counted: set[int]) -> list[tuple[str, int]]:
    """The operations of a function, each with the longest axis of what it gives.

    Those of the functions that it calls are among them, once for each function.
    """
    operations = []
    for equation in jaxpr.eqns:
        shapes = (getattr(x.aval, "shape", ()) for x in equation.outvars)
        operations.append((equation.primitive.name, max((n for shape in shapes for n in shape), default=1)))
        for value in jax.tree.leaves(equation.params, is_leaf=lambda x: isinstance(x, (Jaxpr, ClosedJaxpr))):
            inner = value.jaxpr if isinstance(value, ClosedJaxpr) else value
            if isinstance(inner, Jaxpr) and id(inner) not in counted:
                counted.add(id(inner))
                operations += _operation_names_and_longest_axes(inner, counted)
    return operations
