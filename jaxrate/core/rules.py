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
None is switched off (no bound, no such rule): it is then no leaf of the tree.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from jaxrate.core.argument_checks import Hyperparameters, PlayerState
from jaxrate.core.array_types import Array
from jaxrate.events import Matches, Periods, Rounds

Params: TypeAlias = Hyperparameters  # a NamedTuple of floats (or None), one class per system
Constants = Any  # a NamedTuple of what its rules need of them
State: TypeAlias = PlayerState  # a NamedTuple of arrays [num_players, ...], one class per system


class Rating(NamedTuple):
    """What a player's row says in one or two numbers: the mean and, if the system has one, the deviation."""

    mean: Array
    deviation: Array | None


class RatedEvent(NamedTuple):
    """An event of a replay once it is rated, as `record` of `run` and `scan` sees it."""

    params: Params  # the hyperparameters, which may be traced
    constants: Constants  # what `prepare` of the rules made of them
    before: State  # the rows of the event's players when it begins, which the prediction is made from
    after: State  # the rows as the event left them
    predict: Callable[[], Any]  # makes the prediction, which few losses ask for
    event: Any  # of `Matches`, `Periods` or `Rounds`, as the rules see it
    inferred: Any = None  # by `infer` of the rules

    @property
    def prediction(self) -> Any:
        """The prediction of the event, before it was rated."""
        return self.predict()


class RuleByKind(NamedTuple):
    """A rule of which every kind of event has its own form; None: the rule takes no such events."""

    matches: Any = None
    periods: Any = None
    rounds: Any = None

    def __call__(self, constants: Constants, rows: State, event: Any) -> Any:
        return {Matches: self.matches, Periods: self.periods, Rounds: self.rounds}[type(event)](constants, rows, event)


PrepareRule: TypeAlias = Callable[[Params], Constants]
AdvanceRule: TypeAlias = Callable[[Constants, State, Array], State]
PredictRule: TypeAlias = Callable[[Constants, State, Any], Any] | RuleByKind
UpdateRule: TypeAlias = Callable[..., State] | RuleByKind
InferRule: TypeAlias = Callable[[Constants, State, Any], tuple[State, Any]] | RuleByKind


class Rules(NamedTuple):
    """The functions of a replay; hashable, so that they are static under jit. A system of matches needs the first four.

    Sizes of `prepare`, such as how many points carry an integral, may depend on hyperparameters, and must be known
    before values are. `prepare` has those for the system's own; `prepare_for` makes one for other hyperparameters:
    numbers, arrays of them, or traced ones, when they may be any.
    """

    prepare: PrepareRule  # what the rules need of the hyperparameters, once per run
    advance: AdvanceRule  # elapsed time passes, and nothing else: what happens once per event belongs to `update`
    predict: PredictRule  # of `Matches` the score of player 0 [], of `Periods` those of the pairs [M], of `Rounds` [P]
    update: UpdateRule  # the rows after the event, from the advanced rows before it; with `draw`, also of what is drawn
    infer: InferRule | None = None  # `update`, and what it infers on the way, which `record` sees
    outcomes: PredictRule | None = None  # what `jr.forecasts.add_outcomes` makes of a system with draws of its own
    draw: Callable[[Array], Any] | None = None  # the random numbers of an event, of its key: `run` then needs a key
    check_drawn: Callable[[Any], None] | None = None  # ValueError for numbers [n, ...] that `draw` never makes
    prepare_for: Callable[[Params], PrepareRule] | None = None

    def with_sizes_for(self, params: Params) -> "Rules":
        """The rules with sizes that hold for these hyperparameters."""
        return self if self.prepare_for is None else self._replace(prepare=self.prepare_for(params), prepare_for=None)


def prepare_params(params: Params) -> Constants:
    """The hyperparameters themselves: rules that need nothing else of them."""
    return params


def keep_rows(_constants: Constants, rows: State, _time: Array) -> State:
    """The rows as they are: no time passes."""
    return rows


Record: TypeAlias = Callable[[RatedEvent], Any]
