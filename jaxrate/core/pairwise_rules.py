"""Pairwise systems: formulas of one game serve a single match and a whole rating period.

    rows  = age(constants, rows, duration)                        # time passes
    guess = predict(constants, first, second, event)              # before the result is known
    terms = evidence(constants, first, second, event)             # what a game says about its first and second player
    rows  = apply(constants, rows, total)                         # of each player, the sums over their games

or, where sums over games are not enough,

    rows  = update(constants, rows, event)

`make_pairwise_rules` makes the rules of a replay of them. All games of a period are rated at the ratings before it. If
the system has a hyperparameter `period`, that time passes within a rating period, before its games count, and what the
period leaves is as of its end; without one it is dated by its begin. The field `time` of a state, if it has one, is
that of a player's last event.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.hashable_values import bind
from jaxrate.core.mean_reversion import AgeRule, age_and_revert, apply_seasons, elapsed_time, get_params
from jaxrate.core.rules import Constants, PrepareRule, Rules, State, prepare_params
from jaxrate.events import Matches, Periods

Terms: TypeAlias = tuple[Array, ...]  # numbers that add up over the games of a player
EvidenceRule: TypeAlias = Callable[[Constants, State, State, Any], tuple[Terms, Terms]]
ApplyRule: TypeAlias = Callable[[Constants, State, Terms], State]


class PairwiseRules(NamedTuple):
    """The formulas of a pairwise system; rows of both players have leaves [] of a match, [M] of a period's pairs."""

    predict: Callable[[Constants, State, State, Any], Array]  # the expected score of the first player of an event
    evidence: EvidenceRule | None = None  # of a game about its first and its second player
    apply: ApplyRule | None = None  # the rows after games of which the evidence adds up to a total
    age: AgeRule | None = None  # None: nothing changes with time, unless it reverts
    prepare: PrepareRule = prepare_params
    apply_period: ApplyRule | None = None  # of a rating period, where that time passes in it and not before the games
    update: Callable[[Constants, State, Any], State] | None = None  # in place of `evidence` and `apply`


def make_pairwise_rules(formulas: PairwiseRules, seasons: tuple[float, ...] = ()) -> Rules:
    """The rules of matches and of rating periods; ratings revert between seasons, which begin at these times."""
    rules = bind(pass_time, formulas.age, seasons), bind(predict_games, formulas), bind(rate_games, formulas, seasons)
    return Rules(formulas.prepare, *rules)


def pass_time(age: AgeRule | None, seasons: tuple[float, ...], constants: Constants, rows: State, time: Array) -> State:
    """The rows when the time has passed since their last event, and the seasons have begun that begin until then."""
    last = getattr(rows, "time", None)
    if last is None:
        return rows
    aged = age_and_revert(age, constants, rows, elapsed_time(time, last))
    return apply_seasons(seasons, constants, aged, last, time)


def rows_before_games(age: AgeRule | None, constants: Constants, rows: State, event: Matches | Periods) -> State:
    """The rows as the games of an event find them: the time within a rating period has passed."""
    length, last = rating_period_length(constants, event), getattr(rows, "time", None)
    if length is None or last is None:
        return rows
    passed = elapsed_within_period(event, length, last)
    aged = age_and_revert(age, constants, rows, passed)
    return jax.tree.map(
        lambda new, old: jnp.where(jnp.expand_dims(passed, (*range(1, old.ndim),)) > 0, new, old), aged, rows
    )


def elapsed_within_period(event: Any, period: float | Array, last: Array) -> Array:
    """[A] how much of the time since `last` passes within a rating period, before its games count."""
    return elapsed_time(event.time + period, last) - elapsed_time(event.time, last)


def rating_period_length(constants: Constants, event: Any) -> float | Array | None:
    """How much time a rating period takes; None for other events, and where the system has no `period`."""
    return getattr(get_params(constants), "period", None) if isinstance(event, Periods) else None


def seasons_applied_until(event: Any, last_time: Array) -> Array:
    """[A] since when seasons may begin within a rating period: those before have been seen to."""
    return jnp.where(jnp.isfinite(last_time), jnp.maximum(last_time, event.time), event.time)


def predict_games(formulas: PairwiseRules, constants: Constants, rows: State, event: Matches | Periods) -> Array:
    """Expected score [] of the first player of a match, or those [M] of the pairs of a period."""
    if formulas.apply_period is None:
        rows = rows_before_games(formulas.age, constants, rows, event)
    return formulas.predict(constants, *split_sides(rows, event), event)


def rate_games(
    formulas: PairwiseRules, seasons: tuple[float, ...], constants: Constants, rows: State, event: Matches | Periods
) -> State:
    """The rows after the games. Seasons that begin within a period follow its games."""
    length = rating_period_length(constants, event)
    if formulas.apply_period is None:
        rows = rows_before_games(formulas.age, constants, rows, event)
    elif length is not None:
        formulas = formulas._replace(apply=formulas.apply_period)
    end = event.time if length is None else event.time + length
    after = update_from_games(end, formulas, constants, rows, event)
    if length is None or not seasons:
        return after
    return apply_seasons(seasons, constants, after, seasons_applied_until(event, rows.time), end)


def update_from_games(end: Array, formulas: PairwiseRules, constants: Constants, rows: State, event: Any) -> State:
    """The rows after the games of an event that ends then, which a state with the field `time` says."""
    if formulas.update is not None:
        after: Any = formulas.update(constants, rows, event)
    else:
        assert formulas.evidence is not None and formulas.apply is not None
        evidence = formulas.evidence(constants, *split_sides(rows, event), event)
        after = rate_players(partial(formulas.apply, constants), rows, event, *evidence)
    last: Array | None = getattr(rows, "time", None)
    dated: State = after if last is None else after._replace(time=jnp.full_like(last, end))
    return dated


def split_sides(rows: State, event: Matches | Periods) -> tuple[State, State]:
    """The rows of the first and of the second player: leaves [] for a match, [M] for the pairs of a period."""
    first, second = event.sides
    return jax.tree.map(lambda x: x[first], rows), jax.tree.map(lambda x: x[second], rows)


def signed_side_advantage(event: Matches | Periods, points: float | Array) -> Array | float:
    """Rating points that the first player enjoys: `points` on their own side, minus that on the other, 0 if neutral."""
    return 0.0 if event.context.side is None else points * event.context.side


def sum_over_games(rows: State, event: Matches | Periods, first: Terms, second: Terms) -> Terms:
    """[A] of each player, the sums over their games of what these say about their first and second players."""
    total: Any = rate_players(lambda _, total: total, rows, event, first, second)
    return tuple(total)


def rate_players(
    rate: Callable[[State, Terms], State], rows: State, event: Matches | Periods, first: Terms, second: Terms
) -> State:
    """New rows from what the games say: `rate(rows, total)`, elementwise, on each player's total over their games.

    `first` and `second` are what each game says about its first and its second player; a game of weight w counts w
    times.
    """
    weight = event.context.weight
    if weight is not None:
        first, second = (tuple(weight * x for x in terms) for terms in (first, second))
    rows_of = event.participant_rows
    if rows_of is None:
        return jax.tree.map(lambda *x: jnp.stack(x), *map(rate, split_sides(rows, event), (first, second)))
    if has_launch_overhead():  # on a CPU all terms at once take longer
        terms = jnp.concatenate([jnp.stack(x, axis=-1) for x in (first, second)])
        none = jnp.zeros((*event.player.shape, len(first)), terms.dtype)
        return rate(rows, tuple(jnp.moveaxis(none.at[rows_of.ravel()].add(terms), -1, 0)))
    zero, (a, b) = jnp.zeros(event.player.shape, first[0].dtype), event.sides
    return rate(rows, tuple(zero.at[a].add(x).at[b].add(y) for x, y in zip(first, second, strict=True)))
