"""Every player's rating through a history."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.data.dataset import Dataset
from jaxrate.events import Array, Matches, Periods, Ragged
from jaxrate.replay.rows import shapes
from jaxrate.replay.run import run
from jaxrate.replay.state import chosen
from jaxrate.system import (
    Constants,
    Infer,
    Params,
    Rating,
    RatingSystem,
    Rules,
    State,
    bind,
    check_system,
    sides,
    sized_for,
)


class History(NamedTuple):
    """What `run` leaves behind, and the ratings on the way."""

    state: State  # leaves [num_players, ...]
    prediction: Any  # as in `Run`
    before: Rating  # leaves [n, 2] of both players of a match or pair, or [P] of participants, when the event begins

    def __repr__(self) -> str:
        lines = (f"  {name:<11} {shapes(part)}" for name, part in self._asdict().items())
        return "\n".join(["History", *lines])


def history(system: RatingSystem, events: Matches | Ragged | Dataset, **options: Any) -> History:
    """`run` with the same options, numbers and errors, recording the ratings that each event found."""
    return recorded(system, events, **options)[0]


def recorded(
    system: RatingSystem, events: Matches | Ragged | Dataset, infer: Infer | None = None, **options: Any
) -> tuple[History, Any]:
    """The same, and what the rule `infer` says of each event, in place of `update`; None without it."""
    check_system(system)
    rules = sized_for(system.rules, chosen(system, options.get("params")))
    rules = _recording(rules, system.summary, infer)
    state, seen = run(system._replace(rules=rules), events, **options)
    ((prediction, before), inferred) = seen if infer is not None else (seen, None)
    return History(state, prediction, before), inferred


def _recording(rules: Rules, summary: Any, infer: Infer | None) -> Rules:
    """Rules whose prediction is the pair of the prediction and the ratings of the event's players."""
    own = bind(_prepare, rules), bind(_advance, rules), bind(_predict, rules, summary), bind(_update, rules)
    return Rules(*own, rules.draw, infer=None if infer is None else bind(_infer, infer))


def _prepare(rules: Rules, params: Params) -> Constants:
    return rules.prepare(params), params


def _advance(rules: Rules, constants: Constants, rows: State, time: Array) -> State:
    return rules.advance(constants[0], rows, time)


def _predict(rules: Rules, summary: Any, constants: Constants, rows: State, event: Any) -> Any:
    seen = summary(constants[1], rows)
    if isinstance(event, Periods):
        seen = jax.tree.map(lambda *x: jnp.stack(x, axis=-1), *sides(seen, event))
    return rules.predict(constants[0], rows, event), seen


def _infer(infer: Infer, constants: Constants, rows: State, event: Any, key: Array | None) -> tuple[State, Any]:
    return infer(constants[0], rows, event, key)


def _update(rules: Rules, constants: Constants, rows: State, event: Any, key: Array | None) -> State:
    return rules.update(constants[0], rows, event, key)
