"""Outlines of rules: which operations they are made of, by tracing them on one match."""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr

from jaxrate.events import Matches
from jaxrate.replay.scan_programs import (
    ReplayRules,
    prepare_replay,
    rate_event,
)
from jaxrate.rules import Params, State


class RuleOutline(NamedTuple):
    """What is compiled for a match."""

    loops: bool  # whether there is a loop within it
    scalar_rows: bool  # whether a player is one number in each leaf of the state
    operations: int


def outline_rules(rules: ReplayRules, params: Params, state: State, match: Matches) -> RuleOutline:
    """The outline of rules, with leaves of a state [n, ...] and of a match [...] of these types."""
    state = jax.tree.map(lambda x: jax.ShapeDtypeStruct((2, *x.shape[1:]), x.dtype), state)
    leaves, structure = jax.tree.flatten((params, state, match))
    return _outline_rules(rules, structure, tuple(jax.typeof(x) for x in leaves))


@lru_cache
def _outline_rules(rules: ReplayRules, structure: Any, types: tuple[Any, ...]) -> RuleOutline:
    def rate(params: Params, state: State, match: Matches) -> Any:
        drawn = None if rules.draw is None else rules.draw(jax.random.key(0))
        return rate_event(rules, prepare_replay(rules, params), state, match, drawn)

    params, state, match = jax.tree.unflatten(structure, types)
    operations = _operation_names(jax.make_jaxpr(rate)(params, state, match).jaxpr, set())
    return RuleOutline("while" in operations, all(x.shape == (2,) for x in jax.tree.leaves(state)), len(operations))


def _operation_names(jaxpr: Jaxpr, counted: set[int]) -> list[str]:
    """The operations of a function, those of the functions that it calls among them, once for each function."""
    names = []
    for equation in jaxpr.eqns:
        names.append(equation.primitive.name)
        for value in jax.tree.leaves(equation.params, is_leaf=lambda x: isinstance(x, (Jaxpr, ClosedJaxpr))):
            inner = value.jaxpr if isinstance(value, ClosedJaxpr) else value
            if isinstance(inner, Jaxpr) and id(inner) not in counted:
                counted.add(id(inner))
                names += _operation_names(inner, counted)
    return names
