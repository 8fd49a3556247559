"""What a rating system is: pure functions, of which the rules see only the rows of the players in one event.

A rule never sees the other players. It gets `rows`, the part of the state that belongs to the players of one
event (every leaf has shape `[players in the event, ...]`), and never gathers, scatters, scans or batches: the
runner in `run.py` does that, once, for every system.

    constants = prepare(params)                   # once per run
    rows  = take(state, event.player)             # gather
    rows  = advance(constants, rows, event.time)  # elapsed time passes: uncertainty grows
    guess = predict(constants, rows, event)       # before the result is known
    rows  = update(constants, rows, event, key)   # after it
    state = put(state, event.player, rows)        # scatter

`prepare` computes what the rules need of the hyperparameters: XLA redoes arithmetic on scalars at every step of a loop,
each in a kernel of its own, so what does not depend on the event belongs there. Hyperparameters are an argument, never
a closure, so `jax.grad` and `jax.vmap` over them just work and changing them never recompiles. A parameter that is
`None` is switched off (no bound, no such rule): it is then no leaf of the tree.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from jaxrate.events import Array, Matches, Periods
from jaxrate.text import near

Params = Any  # a NamedTuple of floats (or None), one class per system
Constants = Any  # a NamedTuple of what its rules need of them
State = Any  # a NamedTuple of arrays [num_players, ...], one class per system


class Rating(NamedTuple):
    """What a player's row says in one or two numbers: the mean and, if the system has one, the deviation."""

    mean: Array
    deviation: Array | None


class Parameter(NamedTuple):
    """What a hyperparameter means and what `fit` may do with it."""

    space: str  # "real" | "positive" | "unit" | "fixed"
    range: str  # a key of RANGES
    unit: str
    meaning: str
    least: float = 0.0  # that the system's settings allow of a positive one


RANGES: dict[str, Callable[[float], bool]] = {
    "any number": math.isfinite,
    "> 0": lambda x: 0 < x < math.inf,
    ">= 0": lambda x: 0 <= x < math.inf,
    "> 0 or None": lambda x: 0 < x < math.inf,
    "0 to 1": lambda x: 0 <= x <= 1,
    "0 to 1, without 1": lambda x: 0 <= x < 1,
    ">= 0 or None": lambda x: 0 <= x < math.inf,
    ">= 0 or inf": lambda x: x >= 0,
    "above 0, below 1": lambda x: 0 < x < 1,
    "whole, from 1": lambda x: 1 <= x < math.inf and x == int(x),
    "-6000 to 9000": lambda x: -6000.0 <= x <= 9000.0,
}


class Advance(Protocol):
    """Let time pass for some rows. Elapsed time only: what happens once per match belongs to `update`."""

    def __call__(self, constants: Constants, rows: State, time: Array) -> State: ...


class Predict(Protocol):
    """The prediction for an event from advanced rows.

    For `Matches` the expected score of player 0 [], for `Periods` that of each pair's first player [M], for `Rounds`
    one value per participant [P].
    """

    def __call__(self, constants: Constants, rows: State, event: Any) -> Any: ...


class Update(Protocol):
    """The rows after the event, from the advanced rows before it.

    `key` is what `draw` of the rules made of the event's key; without `draw` the key, or None unless the caller gave
    one.
    """

    def __call__(self, constants: Constants, rows: State, event: Any, key: Any) -> State: ...


class Rules(NamedTuple):
    """The functions the runner calls; hashable, so that they are static under jit."""

    prepare: Callable[[Params], Constants]
    advance: Advance
    predict: Predict
    update: Update
    draw: Callable[[Array], Any] | None = None  # the random numbers of an event, of its key; then `run` needs a key


class RatingSystem(NamedTuple):
    """A rating system: data and pure functions, no hidden state."""

    name: str
    params: Params  # default hyperparameters
    space: Params  # the same fields, each a Parameter
    events: tuple[type, ...]  # what `update` consumes: Matches, Periods, Rounds
    init: Callable[[Params, int], State]  # (params, num_players) -> state
    rules: Rules
    summary: Callable[[Params, State], Rating]  # (params, rows) -> Rating
    settings: Mapping[str, Any] = MappingProxyType({})  # what else the factory was given, to be saved with a run
    clocked: Callable[[Params], bool] = lambda params: True  # whether elapsed time counts: rounds must come in order
    settled: Callable[[Params], Any] = lambda params: 0.0  # the deviation at which those who play on settle
    check: Callable[[Any], None] = lambda events: None  # ValueError if events lack what it needs; names the row


def override(name: str, defaults: Params, space: Params, changes: dict[str, float | None]) -> Params:
    """`defaults` with some values replaced; ValueError for an unknown name or a value out of range."""
    for field, value in changes.items():
        if field not in defaults._fields:
            hint = near(field, defaults._fields)
            raise ValueError(f"{name} has no parameter {field!r}{hint} (it has {', '.join(defaults._fields)})")
        allowed = getattr(space, field).range
        if value is None and allowed.endswith("None"):
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not RANGES[allowed](value):
            raise ValueError(f"{name}: {field} must be {allowed}, got {value!r}")
    return defaults._replace(**{k: v if v is None else float(v) for k, v in changes.items()})


def bounds_of(params: Params, quantity: str) -> tuple[str, str, str]:
    """The names of a quantity's lower bound, initial value and upper bound, if there are such parameters."""
    least = f"{quantity}_min" if f"{quantity}_min" in params._fields else quantity.rpartition("_")[2] + "_min"
    return least, f"initial_{quantity}", f"{quantity}_max"


def check_bounds(name: str, params: Params, quantity: str) -> None:
    """ValueError if the bounds of a quantity cross, or its initial value lies outside them."""
    names = bounds_of(params, quantity)
    low, first, high = (getattr(params, field) for field in names)
    if not (0.0 if low is None else low) <= first <= (math.inf if high is None else high):
        raise ValueError("{}: {}, {} and {} must not decrease".format(name, *names))


def elapsed(time: Array, last: Array) -> Array:
    """Time since `last`, never negative; zero for a player who has not played yet (`last` = inf)."""
    return jnp.maximum(time - last, 0.0)


def square(bound: float | Array | None) -> float | Array | None:
    """The bound of a variance from that of a deviation."""
    return None if bound is None else bound**2


def bounded(x: Array, low: float | Array | None, high: float | Array | None) -> Array:
    """`x` within bounds, where there are any."""
    x = x if low is None else jnp.maximum(x, low)
    return x if high is None else jnp.minimum(x, high)


def full(num_players: int, value: float | Array) -> Array:
    """[num_players] copies of a hyperparameter, in the default float precision."""
    return jnp.full(num_players, value, dtype=jnp.result_type(float))


# --- Pairwise systems: one formula serves a single match and a whole rating period. ---


def sides(rows: State, event: Matches | Periods) -> tuple[State, State]:
    """The rows of the first and of the second player: leaves [] for a match, [M] for the pairs of a period."""
    first, second = (event.pair[:, 0], event.pair[:, 1]) if isinstance(event, Periods) else (0, 1)
    return jax.tree.map(lambda x: x[first], rows), jax.tree.map(lambda x: x[second], rows)


def advantage(event: Matches | Periods, points: float | Array) -> Array | float:
    """Rating points that the first player enjoys: `points` on his side, minus that on the other, 0 if neutral."""
    return 0.0 if event.context.side is None else points * event.context.side


def rate_players(
    rate: Callable[[State, tuple[Array, ...]], State],
    rows: State,
    event: Matches | Periods,
    first: tuple[Array, ...],
    second: tuple[Array, ...],
) -> State:
    """New rows from what the games say: `rate(rows, total)`, elementwise, on each player's total over his games.

    `first` and `second` are what each game says about its first and its second player; a game of weight w counts w
    times.
    """
    weight = event.context.weight
    if weight is not None:
        first, second = (tuple(weight * x for x in terms) for terms in (first, second))
    if isinstance(event, Periods):
        a, b = event.pair[:, 0], event.pair[:, 1]
        zero = jnp.zeros(event.player.shape, first[0].dtype)
        return rate(rows, tuple(zero.at[a].add(x).at[b].add(y) for x, y in zip(first, second, strict=True)))
    return jax.tree.map(lambda *x: jnp.stack(x), *map(rate, sides(rows, event), (first, second)))
