"""Every player's rating through a history."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.argument_checks import check_arguments
from jaxrate.events import Matches, Periods, Ragged
from jaxrate.events.dataset import Dataset
from jaxrate.hashable import bind
from jaxrate.replay.checked_replay import run
from jaxrate.replay.gather import describe_shapes
from jaxrate.replay.state import resolve_params
from jaxrate.system import (
    Constants,
    Infer,
    Params,
    Rating,
    RatingSystem,
    Rules,
    State,
    Update,
    check_system,
    resolve_sizes,
    split_sides,
)


class History(NamedTuple):
    """What `run` leaves behind, and the ratings on the way."""

    state: State  # leaves [num_players, ...]
    prediction: Any  # as in `Run`
    before: Rating  # leaves [n, 2] of both players of a match or pair, or [P] of participants, when the event begins
    after: Rating | None = None  # the same as the event left them; None unless asked for

    def __repr__(self) -> str:
        fields = {name: part for name, part in self._asdict().items() if part is not None}
        lines = (f"  {name:<11} {describe_shapes(part)}" for name, part in fields.items())
        return "\n".join(["History", *lines])


@check_arguments
def rating_history(
    system: RatingSystem, events: Matches | Ragged | Dataset, *, after: bool = False, **options: Any
) -> History:
    """`run` with the same options, numbers and errors, recording the ratings that each event found.

    With `after` also those that it left: a rating period those of its end, beside each of its matches. The numbers are
    then those of `run` to rounding, as a compiler that has more to keep may round in another order.

        found = jr.league.rating_history(jr.elo(), jr.matches([[0, 1], [1, 2]], [1, 0.5]), after=True)
        change = found.after.mean - found.before.mean  # [2, 2]
    """
    return record_history(system, events, after=after, **options)[0]


def record_history(
    system: RatingSystem,
    events: Matches | Ragged | Dataset,
    infer: Infer | None = None,
    after: bool = False,
    **options: Any,
) -> tuple[History, Any]:
    """The history, and what the rule `infer` says of each event, in place of `update`; None without it."""
    check_system(system)
    rules = resolve_sizes(system.rules, resolve_params(system, options.get("params")))
    rules = make_recording_rules(rules, system.summary, infer, after)
    state, outputs = run(system._replace(rules=rules), events, **options)
    (prediction, before), (inferred, left) = outputs if rules.infer is not None else (outputs, (None, None))
    return History(state, prediction, before, left), inferred


def make_recording_rules(rules: Rules, summary: Any, infer: Infer | None = None, after: bool = False) -> Rules:
    """Rules that predict the pair of the prediction and the ratings of the event's players.

    What they infer is the pair of what `infer` does and the ratings `after`, each None unless it is asked for.
    """
    own = (
        bind(_prepare_with_params, rules),
        bind(_call_without_params, rules.advance),
        bind(_predict_and_record, rules, summary),
    )
    learn = (
        bind(_update_and_record, rules.update, infer, summary if after else None)
        if after or infer is not None
        else None
    )
    return Rules(*own, bind(_call_without_params, rules.update), rules.draw, infer=learn)


def _prepare_with_params(rules: Rules, params: Params) -> Constants:
    return rules.prepare(params), params


def _call_without_params(rule: Any, constants: Constants, *arguments: Any) -> Any:
    """A rule with the constants that are its own, and not the hyperparameters beside them."""
    return rule(constants[0], *arguments)


def _predict_and_record(rules: Rules, summary: Any, constants: Constants, rows: State, event: Any) -> Any:
    return rules.predict(constants[0], rows, event), _event_ratings(summary, constants, rows, event)


def _update_and_record(
    update: Update, infer: Infer | None, summary: Any, constants: Constants, rows: State, event: Any, key: Any
) -> tuple[State, Any]:
    rule: Any = update if infer is None else infer
    learnt = rule(constants[0], rows, event, key)
    rows, inferred = (learnt, None) if infer is None else learnt
    return rows, (inferred, None if summary is None else _event_ratings(summary, constants, rows, event))


def _event_ratings(summary: Any, constants: Constants, rows: State, event: Any) -> Rating:
    """The ratings of both players of a match or of each pair, or of participants."""
    rating = summary(constants[1], rows)
    if isinstance(event, Periods):
        rating = jax.tree.map(lambda *x: jnp.stack(x, axis=-1), *split_sides(rating, event))
    return rating
