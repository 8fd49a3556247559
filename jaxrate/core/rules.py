"""The rules of a rating system: pure functions that see only the rows of the players in one event.

A rule never sees the other players. It gets `rows`, the part of the state that belongs to the players of one
event (every leaf has shape `[players in the event, ...]`), and never gathers, scatters, scans or batches: `replay/`
does that, once, for every system.

    constants = prepare(params)                   # once per run
    rows  = take(state, event.player)             # gather
    rows  = advance(constants, rows, event.time)  # elapsed time passes: uncertainty grows
    guess = predict(constants, rows, event)       # before the result is known
    rows  = update(constants, rows, event)        # after it
    state = put(state, event.player, rows)        # scatter

`prepare` computes what the rules need of the hyperparameters: XLA redoes arithmetic on scalars at every step of a loop,
each in a kernel of its own, so what does not depend on the event belongs there. Hyperparameters are an argument, never
a closure, so `jax.grad` and `jax.vmap` over them just work and changing them never recompiles. A parameter that is
`None` is switched off (no bound, no such rule): it is then no leaf of the tree.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from jaxrate.core.argument_checks import Hyperparameters, PlayerState
from jaxrate.core.array_types import Array

Params: TypeAlias = Hyperparameters  # a NamedTuple of floats (or None), one class per system
Constants = Any  # a NamedTuple of what its rules need of them
State: TypeAlias = PlayerState  # a NamedTuple of arrays [num_players, ...], one class per system


class Rating(NamedTuple):
    """What a player's row says in one or two numbers: the mean and, if the system has one, the deviation."""

    mean: Array
    deviation: Array | None


class PrepareRuleProtocol(Protocol):
    """What the rules need of the hyperparameters, computed once per run."""

    def __call__(self, params: Params, /) -> Constants: ...


class AdvanceRuleProtocol(Protocol):
    """Let time pass for some rows. Elapsed time only: what happens once per match belongs to `update`."""

    def __call__(self, constants: Constants, rows: State, time: Array, /) -> State: ...


class PredictRuleProtocol(Protocol):
    """The prediction for an event from advanced rows.

    For `Matches` the expected score of player 0 [], for `Periods` that of each pair's first player [M], for `Rounds`
    one value per participant [P].
    """

    def __call__(self, constants: Constants, rows: State, event: Any, /) -> Any: ...


class UpdateRuleProtocol(Protocol):
    """The rows after the event, from the advanced rows before it."""

    def __call__(self, constants: Constants, rows: State, event: Any, /) -> State: ...


class RatedEvent(NamedTuple):
    """An event of a replay once it is rated, as `record` of `run` and `scan` sees it."""

    params: Params  # the hyperparameters, which may be traced
    constants: Constants  # what `prepare` of the rules made of them
    before: State  # the rows of the event's players when it begins, which the prediction is made from
    after: State  # the rows as the event left them
    prediction: Any
    event: Any  # of `Matches`, `Periods` or `Rounds`, as the rules see it
    inferred: Any = None  # by an `InferringUpdate`


class SizedPrepare(NamedTuple):
    """A `prepare` with sizes that depend on hyperparameters, such as how many points carry an integral.

    Sizes are what must be known before values are. `sized` makes a `prepare` for hyperparameters: numbers or arrays of
    them, or traced, when they may be any. Values other than the system's own are then as right.
    """

    usual: PrepareRuleProtocol  # with sizes for the system's own hyperparameters
    sized: Callable[[Params], PrepareRuleProtocol]

    def __call__(self, params: Params) -> Constants:
        return self.usual(params)


class RandomUpdate(NamedTuple):
    """An `update` that uses random numbers: `run` then needs a key, and `update` gets what `draw` makes of it."""

    update: Callable[[Constants, State, Any, Any], State]  # of constants, rows, event and what is drawn
    draw: Callable[[Array], Any]  # the random numbers of an event, of its key
    check_drawn: Callable[[Any], None] | None = None  # ValueError for numbers [n, ...] that `draw` never makes

    def __call__(self, constants: Constants, rows: State, event: Any, drawn: Any) -> State:
        return self.update(constants, rows, event, drawn)


class InferringUpdate(NamedTuple):
    """An `update` that infers something on the way, which `record` sees as `inferred`; see `Performances`.

    `infer` takes what `update` takes, and returns the rows that `update` returns, and what is inferred.
    """

    update: UpdateRuleProtocol
    infer: Callable[[Constants, State, Any], tuple[State, Any]]

    def __call__(self, constants: Constants, rows: State, event: Any) -> State:
        return self.update(constants, rows, event)


class Rules(NamedTuple):
    """The functions of a replay; hashable, so that they are static under jit."""

    prepare: PrepareRuleProtocol | SizedPrepare
    advance: AdvanceRuleProtocol
    predict: PredictRuleProtocol
    update: UpdateRuleProtocol | RandomUpdate | InferringUpdate


def prepare_params(params: Params) -> Constants:
    """The hyperparameters themselves: rules that need nothing else of them."""
    return params


def keep_rows(_constants: Constants, rows: State, _time: Array) -> State:
    """The rows as they are: no time passes."""
    return rows


Record: TypeAlias = Callable[[RatedEvent], Any]
