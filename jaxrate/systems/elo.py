"""Elo (1978), per match and per rating period.

    E  = 1 / (1 + 10^(-(r_a - r_b + side_advantage) / scale))
    r' = r + K sum (s - E)

The sum runs over a player's games in the period, all at the ratings before it; a single match is a period of one game.
Nothing ages, unless leads fade, by `reversion` and `season_keep`; a rating period is then dated by its begin. FIDE
truncates |r_a - r_b| at 400 (`limit`).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core import mean_reversion
from jaxrate.core.argument_checks import check_that
from jaxrate.core.array_types import Array
from jaxrate.core.pairwise_rules import PairwiseRules, Terms, signed_side_advantage
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.events import Matches, Periods


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


def predict(constants: Constants, first: State, second: State, event: Matches | Periods) -> Array:
    params, difference = constants.params, first.rating - second.rating
    if params.limit is not None:
        difference = jnp.clip(difference, -params.limit, params.limit)
    return jax.nn.sigmoid(constants.slope * (difference + signed_side_advantage(event, params.side_advantage)))


def evidence(constants: Constants, first: State, second: State, event: Matches | Periods) -> tuple[Terms, Terms]:
    """s - E and the game itself. What one player gains at equal K, the other loses."""
    surprise = event.score - predict(constants, first, second, event)
    game = () if first.games is None else (jnp.ones_like(surprise),)
    return (surprise, *game), (-surprise, *game)


def apply(constants: Constants, rows: State, total: Terms) -> State:
    """r' = r + K sum (s - E)."""
    params, k = constants.params, constants.params.k
    games = None if rows.games is None else rows.games + total[1]
    if rows.games is not None and params.k_new is not None:
        k = jnp.where(rows.games < params.new_games, params.k_new, k)
    return rows._replace(rating=rows.rating + k * total[0], games=games)


RULES = PairwiseRules(predict, evidence, apply, prepare=prepare)


@system_factory
def elo(
    seasons: Sequence[Any] | Mapping[str, Any] | None = (),
    *,
    k: Annotated[
        float, hyper.Parameter(hyper.NOT_NEGATIVE, "points", "largest change of a rating in one match")
    ] = 32.0,
    k_new: Annotated[
        float | None, hyper.Parameter(hyper.MAYBE_NOT_NEGATIVE, "points", "K of a player's first `new_games` games")
    ] = None,
    new_games: Annotated[
        float | None, hyper.Parameter(hyper.MAYBE_NOT_NEGATIVE, "games", "games before K settles", fitted=False)
    ] = None,
    scale: Annotated[
        float, hyper.Parameter(hyper.POSITIVE, "points", "rating difference that means odds of 10 to 1", fitted=False)
    ] = 400.0,
    limit: Annotated[
        float | None,
        hyper.Parameter(
            hyper.MAYBE_POSITIVE, "points", "larger rating differences count as this (FIDE: 400)", fitted=False
        ),
    ] = None,
    initial_rating: Annotated[float, hyper.RATING] = 1500.0,
    side_advantage: Annotated[float, hyper.SIDE_ADVANTAGE] = 0.0,
    reversion: Annotated[float | None, mean_reversion.REVERSION] = None,
    season_keep: Annotated[float | None, mean_reversion.SEASON_KEEP] = None,
) -> RatingSystem:
    """Elo, of matches and of rating periods.

        jr.rate(jr.elo(k=32.0), data)

    `elo(k=20, k_new=40, new_games=30, limit=400)` is FIDE's.

    Args:
      seasons: the time at which each begins, increasing; numbers, or dates. Or the `seasons` of a dataset.

    Raises:
      ValueError: for an unknown name, a value out of range, or seasons that do not increase.
    """
    belong_together = "elo: k_new and new_games belong together; give both or neither"
    check_that((k_new is None) == (new_games is None), belong_together)
    return RatingSystem(init, RULES)
