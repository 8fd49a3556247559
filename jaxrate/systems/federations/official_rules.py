"""What makes a system of official rules, which are two functions:

    expected(params, player, opponent, game)  # the score that a player is expected to have
    rate(params, rows, games)                 # the players after the games of an event, who are in `rows` before

All games of a rating period count at the ratings before it. Where rules have unrated players, a rating of 0 is none.
"""

from collections.abc import Callable, Mapping
from inspect import cleandoc
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import ANY, MAYBE_POSITIVE, Parameter
from jaxrate.core.pairwise_rules import PairwiseRules
from jaxrate.core.rules import Rating
from jaxrate.core.system import FactoryArgs, RatingSystem, full_leaf, system_factory
from jaxrate.systems.federations.games import ColumnNames, Games, check_columns, view_games

INITIAL_RATING = Parameter(MAYBE_POSITIVE, "points", "rating of a newcomer", fitted=False, if_none="unrated")
UNRATED = Parameter(ANY, "points", "rating by which unrated players are predicted")
Rule = Callable[..., Any]


class RatingState(NamedTuple):
    """The state of a system that keeps a rating alone."""

    rating: Array  # [num_players] points


def official_factory(make: Callable[FactoryArgs, RatingSystem]) -> Callable[FactoryArgs, RatingSystem]:
    """The factory of a system of official rules, whose docstring also says what it raises (a decorator)."""
    raises = "ValueError: for an unknown name, a value out of range, or matches without a column that is named."
    make.__doc__ = f"{cleandoc(make.__doc__ or '')}\n\nRaises:\n  {raises}"
    return system_factory(make)


def official_system(state: Any, expected: Rule, rate: Rule, columns: Mapping[str, Any], **start: float) -> RatingSystem:
    """The system of the rules `expected` and `rate`; `columns` of matches by setting, newcomers' fields in `start`."""
    settings = {setting: tuple(x) if isinstance(x, list) else x for setting, x in columns.items()}
    names = tuple((setting, (x,) if isinstance(x, str) else x or ()) for setting, x in settings.items())
    rules = PairwiseRules(bind(predict, names, expected), update=bind(update, names, expected, rate))
    newcomers, check = bind(init, state, **start), bind(check_columns, names)
    return RatingSystem(newcomers, rules, summary=summarise, check_events=check, settings=settings)


def init(state: Any, params: Any, num_players: int, **start: float) -> Any:
    """Newcomers: `initial_rating`, where it is not None, and 0 in what `start` does not say."""
    rating = 0.0 if params.initial_rating is None else params.initial_rating
    values, shapes = dict.fromkeys(state._fields, 0.0) | {"rating": rating} | start, {"pool": (num_players, 3)}
    return state(*(full_leaf(shapes.get(field, num_players), value) for field, value in values.items()))


def fill_missing_rating(params: Any, row: Any) -> Any:
    """A player with the rating of the hyperparameter `unrated`, if there is one and the player has none."""
    unrated = getattr(params, "unrated", None)
    return row if unrated is None else row._replace(rating=jnp.where(row.rating > 0, row.rating, unrated))


def predict(names: ColumnNames, expected: Rule, params: Any, first: Any, second: Any, event: Any) -> Any:
    return expected(
        params, fill_missing_rating(params, first), fill_missing_rating(params, second), view_games(names, event)[0]
    )


def update(names: ColumnNames, expected: Rule, rate: Rule, params: Any, rows: Any, event: Any) -> Any:
    return rate(params, rows, Games(params, event, names, expected))


def summarise(params: Any, rows: Any) -> Rating:
    return Rating(fill_missing_rating(params, rows).rating, None)
