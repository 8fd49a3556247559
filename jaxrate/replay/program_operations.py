"""What the programs of rules are made of, which decides how they are compiled and in what order matches are rated."""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr

from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.rules import Params, State
from jaxrate.core.system import random_draw_rule
from jaxrate.events import Matches
from jaxrate.replay.blocks import BlockPlan, gather_events
from jaxrate.replay.row_gather_and_scatter import gather_rows
from jaxrate.replay.scan_programs import ReplayRules, prepare_replay, rate_event

LOOPS = "while", "call_hi_primitive"  # since JAX 0.11 the latter hides what a `custom_root` does


class MatchProgramComplexity(NamedTuple):
    """What is compiled for a match."""

    inner_loops: bool  # whether there is a loop within it
    nodes: bool  # whether there are vectors longer than any of a player, as over nodes of an integral
    operations: int


def match_program_features(rules: ReplayRules, params: Params, state: State, match: Matches) -> MatchProgramComplexity:
    """The outline of rules, with leaves of a state [n, ...] and of a match [...] of these types."""
    rows = jax.tree.map(lambda x: jax.ShapeDtypeStruct((2, *x.shape[1:]), x.dtype), state)
    return _match_program_features_cached(rules, *_structure_and_types((params, rows, match)))


@lru_cache
def _match_program_features_cached(
    rules: ReplayRules, structure: Any, types: tuple[Any, ...]
) -> MatchProgramComplexity:
    params, rows, match = _shapes_from_types(structure, types)
    jaxpr = jax.make_jaxpr(partial(_rate_one_event, rules))(params, rows, match).jaxpr
    operations = _operation_names_and_longest_axes(jaxpr, set())
    longest = max((n for x in jax.tree.leaves(rows) for n in x.shape), default=2)
    hidden = has_launch_overhead() and _program_has_loops(rules, params, rows, match)
    return MatchProgramComplexity(
        hidden or any(name in LOOPS for name, _ in operations),
        any(length > longest for _, length in operations),
        len(operations),
    )


def any_event_has_loops(rules: ReplayRules, params: Params, state: State, plan: BlockPlan) -> bool:
    """Whether there are loops within the periods or rounds of a plan, each of its padded size."""
    sizes = frozenset(block.size for block in plan.blocks)
    return _any_event_has_loops_cached(rules, sizes, *_structure_and_types((params, state, plan.events, plan.starts)))


@lru_cache
def _any_event_has_loops_cached(
    rules: ReplayRules, sizes: frozenset[tuple[int, int]], structure: Any, types: tuple[Any, ...]
) -> bool:
    params, state, flat, starts = _shapes_from_types(structure, types)

    def event_has_loops(size: tuple[int, int]) -> bool:
        events, _ = jax.eval_shape(lambda x, y: gather_events(x, y, jnp.zeros((1, 1), jnp.int32), size), flat, starts)
        event = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[2:], x.dtype), events)
        return _program_has_loops(rules, params, jax.eval_shape(gather_rows, state, event.player), event)

    return any(event_has_loops(size) for size in sizes)


def _program_has_loops(rules: ReplayRules, params: Params, rows: State, event: Any) -> bool:
    """Whether the program that rates an event of these types has loops, wherever they are hidden."""
    return "stablehlo.while" in jax.jit(partial(_rate_one_event, rules)).lower(params, rows, event).as_text()


def _structure_and_types(inputs: Any) -> tuple[Any, tuple[Any, ...]]:
    leaves, structure = jax.tree.flatten(inputs)
    return structure, tuple(jax.typeof(x) for x in leaves)


def _shapes_from_types(structure: Any, types: tuple[Any, ...]) -> Any:
    """What stands for inputs where they are traced."""
    leaves = [jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in types]
    return jax.tree.unflatten(structure, leaves)


def _rate_one_event(rules: ReplayRules, params: Params, rows: State, event: Any) -> Any:
    draw = random_draw_rule(rules)
    drawn = None if draw is None else draw(jax.random.key(0))
    return rate_event(rules, prepare_replay(rules, params), rows, event, drawn)


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
