"""Elo (1978), per match and per rating period.

    E  = 1 / (1 + 10^(-(r_a - r_b + side_advantage) / scale))
    r' = r + K sum (s - E)

The sum runs over a player's games in the period, all at the ratings before it; a single match is a period of one game.
Nothing ages, unless leads fade, by `reversion` and `season_keep`; a rating period is then dated by its begin. FIDE
truncates |r_a - r_b| at 400 (`limit`).
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import (
    MAYBE_NOT_NEGATIVE,
    MAYBE_POSITIVE,
    NOT_NEGATIVE,
    POSITIVE,
    RATING,
    SIDE_ADVANTAGE,
    Parameter,
    collect_params,
)
from jaxrate.core.rules import Params, Rating, Rules
from jaxrate.core.system import (
    FactoryCall,
    RatingSystem,
    elapsed_time,
    full_leaf,
    rate_players,
    signed_side_advantage,
    split_sides,
    system_factory,
)
from jaxrate.events import Matches, Periods
from jaxrate.systems import mean_reversion as fading


class Constants(NamedTuple):
    params: Params
    slope: float | Array  # of the log-odds, per point


class State(NamedTuple):
    rating: Array  # [num_players] points
    games: Array | None = None  # [num_players] games played (by weight), only if K depends on it
    time: Array | None = None  # [num_players] of the last event; inf before the first. None: nothing ages


def init(params: Params, num_players: int) -> State:
    games = None if params.k_new is None else full_leaf(num_players, 0.0)
    ages = params.reversion is not None or params.season_keep is not None
    return State(
        full_leaf(num_players, params.initial_rating), games, full_leaf(num_players, jnp.inf) if ages else None
    )


def prepare(params: Params) -> Constants:
    return Constants(params, math.log(10.0) / params.scale)


def advance(seasons: Sequence[float], constants: Constants, rows: State, time: Array) -> State:
    """Leads fade; Elo has no uncertainty that could grow."""
    params, last = constants.params, rows.time
    if last is None:
        return rows
    keep, _ = fading.lead_retention_and_growth_time(params.reversion, elapsed_time(time, last))
    rating = rows.rating if keep is None else fading.revert_rating(params, rows.rating, keep)
    if seasons:
        keep, _ = fading.season_lead_retention_and_added_variance(
            params.season_keep, 0.0, fading.count_seasons_begun(seasons, last, time)
        )
        rating = fading.revert_rating(params, rating, keep)
    return rows._replace(rating=rating)


def predict(constants: Constants, rows: State, event: Matches | Periods) -> Array:
    """Expected score of the first player."""
    params = constants.params
    first, second = split_sides(rows, event)
    difference = first.rating - second.rating
    if params.limit is not None:
        difference = jnp.clip(difference, -params.limit, params.limit)
    return jax.nn.sigmoid(constants.slope * (difference + signed_side_advantage(event, params.side_advantage)))


def update_from_totals(constants: Constants, rows: State, totals: tuple[Array, ...], time: Array) -> State:
    """r' = r + K sum (s - E)."""
    params, k = constants.params, constants.params.k
    games = None if rows.games is None else rows.games + totals[1]
    if rows.games is not None and params.k_new is not None and params.new_games is not None:
        k = jnp.where(rows.games < params.new_games, params.k_new, params.k)
    return State(rows.rating + k * totals[0], games, None if rows.time is None else jnp.full_like(rows.time, time))


def update(constants: Constants, rows: State, event: Matches | Periods, key: Array | None) -> State:
    """What one player gains at equal K, the other loses."""
    del key
    surprise = event.score - predict(constants, rows, event)
    games = () if rows.games is None else (jnp.ones_like(surprise),)
    return rate_players(
        partial(update_from_totals, constants, time=event.time), rows, event, (surprise, *games), (-surprise, *games)
    )


def summary(params: Params, rows: State) -> Rating:
    del params
    return Rating(rows.rating, None)


@system_factory
def elo(
    seasons: Sequence[Any] | Mapping[str, Any] | None = (),
    *,
    k: Annotated[float, Parameter(NOT_NEGATIVE, "points", "largest change of a rating in one match")] = 32.0,
    k_new: Annotated[
        float | None, Parameter(MAYBE_NOT_NEGATIVE, "points", "K of a player's first `new_games` games")
    ] = None,
    new_games: Annotated[
        float | None, Parameter(MAYBE_NOT_NEGATIVE, "games", "games before K settles", fitted=False)
    ] = None,
    scale: Annotated[
        float, Parameter(POSITIVE, "points", "rating difference that means odds of 10 to 1", fitted=False)
    ] = 400.0,
    limit: Annotated[
        float | None,
        Parameter(MAYBE_POSITIVE, "points", "larger rating differences count as this (FIDE: 400)", fitted=False),
    ] = None,
    initial_rating: Annotated[float, RATING] = 1500.0,
    side_advantage: Annotated[float, SIDE_ADVANTAGE] = 0.0,
    reversion: Annotated[float | None, fading.REVERSION] = None,
    season_keep: Annotated[float | None, fading.SEASON_KEEP] = None,
) -> RatingSystem:
    """Elo, of matches and of rating periods.

        jr.rate(jr.elo(k=32.0), data)

    `elo(k=20, k_new=40, new_games=30, limit=400)` is FIDE's.

    Args:
      seasons: the time at which each begins, increasing; numbers, or dates. Or the `seasons` of a dataset.

    Raises:
      ValueError: for an unknown name, a value out of range, or seasons that do not increase.
    """
    begin = fading.parse_season_starts("elo", seasons)
    params, space = collect_params(elo, locals())
    params = fading.fill_season_defaults("elo", begin, params, season_keep=fading.DEFAULT_SEASON_KEEP)
    if (params.k_new is None) != (params.new_games is None):
        raise ValueError("elo: k_new and new_games belong together; give both or neither")
    rules, make = Rules(prepare, bind(advance, begin), predict, update), FactoryCall(elo, (("seasons", begin),))
    return RatingSystem("elo", params, space, (Matches, Periods), init, rules, summary, make=make)
