"""What a replay starts from: events that the system consumes, and a state with a row for everyone."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxrate.events import Array, Matches, Periods, Ragged
from jaxrate.system import Params, RatingSystem, State


def check_events(system: RatingSystem, events: Any, key: Array | None) -> None:
    """ValueError for events that a system does not consume, or if it needs a key."""
    kind = type(events.events) if isinstance(events, Ragged) else type(events)
    if kind not in system.events:
        names = " or ".join(e.__name__ for e in system.events)
        hint = ""
        if (kind, system.events) == (Matches, (Periods,)):
            hint = "; group them by periods(matches, length), or give `rate` a period"
        raise ValueError(f"{system.name} rates {names}, not {kind.__name__}{hint}")
    system.check(events)
    if system.rules.draw is not None and key is None:
        raise ValueError(f"{system.name} draws random numbers; give it a key, such as key=jax.random.key(0)")


def start(system: RatingSystem, params: Params, state: State, num_players: int | None, known: int) -> State:
    """A copy of the given state with newcomers, or a fresh one; ValueError if the events name further players."""
    have = count(state)
    rows = num_players if num_players is not None else known if state is None else have
    if rows < max(known, have):
        who = f"the events name player {known - 1}" if rows < known else f"the state has {have} players"
        raise ValueError(f"{who}, but there are only {rows} players")
    if state is None:
        return system.init(params, rows)

    def copy(x: Array) -> Array:  # the replay works in place, and in the default precision
        return jnp.array(x, float if jnp.issubdtype(x.dtype, jnp.floating) else None)

    fresh = jax.eval_shape(lambda p: system.init(p, 1), params)
    alike = _check_shapes(system, state, fresh)
    state = jax.tree.map(copy, state)
    if alike:
        state = jax.tree.map(lambda x, y: x.astype(y.dtype), state, fresh)  # whole numbers may have been given
    if rows == have:
        return state
    if not alike:
        raise ValueError(f"newcomers do not fit the state: it is of {system.name} with other rules switched on")
    newcomers = system.init(params, rows - have)
    return jax.tree.map(lambda x, new: jnp.concatenate([x, new]), state, newcomers)


def count(state: State) -> int:
    """How many players a state has."""
    return 0 if state is None else len(jax.tree.leaves(state)[0])


def _check_shapes(system: RatingSystem, state: State, fresh: State) -> bool:
    """Whether a state has the same leaves as a fresh one; ValueError if it has, but of other shapes."""
    (mine, mold), (wanted, form) = ([*jax.tree.flatten(tree)] for tree in (state, fresh))
    if mold == form and any(x.shape[1:] != y.shape[1:] for x, y in zip(mine, wanted, strict=True)):
        raise ValueError(f"the state is of {system.name} with other settings: its leaves have other shapes")
    return bool(mold == form)


def grown(system: RatingSystem, params: Params, state: State, num_players: int | None, known: int) -> State:
    """The state, with newcomers if they are asked for; ValueError if others are named."""
    if num_players is not None or known > count(state):
        return start(system, params, state, num_players, known)
    _check_shapes(system, state, jax.eval_shape(lambda p: system.init(p, 1), params))
    return state
