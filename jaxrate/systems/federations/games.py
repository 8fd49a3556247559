"""What the games of an event add up to for their players."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.pairwise_rules import Terms, split_sides, sum_over_games
from jaxrate.core.rules import Params
from jaxrate.events import Matches
from jaxrate.systems.federations.game_columns import ADULT, ColumnNames, Game, view_games


class Results(NamedTuple):
    """What a player's games in an event add up to, [A]; games against unrated players do not count."""

    games: Array
    score: Array
    opponents: Array  # the sum of their ratings
    expected: Array  # the expected score
    age: Array  # years, the mean

    @property
    def pool(self) -> Array:
        """[A, 3] games, the sum of the opponents' ratings, and points: what a performance rating takes."""
        return jnp.stack([self.games, self.opponents, self.score], axis=-1)


class Games(NamedTuple):
    """The games of an event. Its methods take the players, and the same players as they are when others meet them."""

    params: Params
    event: Any  # of `Matches` or `Periods`
    names: ColumnNames
    expected: Callable[[Params, Any, Any, Any], Array]  # the rule of a player's expected score

    def total(self, terms: Callable[..., Terms], rows: Any, opponents: Any) -> Terms:
        """[A] of each player, the sums of `terms(params, player, opponent, game)` over their games."""
        players, others = split_sides(rows, self.event), split_sides(opponents, self.event)[::-1]
        views = view_games(self.names, self.event)
        first, second = (terms(self.params, *seen) for seen in zip(players, others, views, strict=True))
        return sum_over_games(rows, self.event, first, second)

    def results(self, rows: Any, opponents: Any) -> Results:
        """What the games add up to."""

        def terms(params: Any, player: Any, opponent: Any, game: Game) -> Terms:
            score, one = game.score, jnp.ones_like(game.score)
            counts = (opponent.rating > 0).astype(score.dtype) if hasattr(params, "unrated") else one
            counted = score, opponent.rating, self.expected(params, player, opponent, game)
            return counts, *(counts * x for x in counted), game.column("ages", ADULT), one

        *sums, played = self.total(terms, rows, opponents)
        totals = Results(*sums)
        return totals._replace(age=totals.age / jnp.maximum(played, 1e-6))

    def most_against_one(self, rows: Any) -> Array:
        """[A] the number of games against the opponent whom a player met most often."""
        if isinstance(self.event, Matches):
            return jnp.ones_like(rows.rating)
        pair, weight = self.event.pair, self.event.context.weight
        _, number = jnp.unique(jnp.sort(pair, axis=1), axis=0, return_inverse=True, size=len(pair))
        meetings = jnp.zeros_like(weight).at[number.ravel()].add(weight)[number.ravel()]
        return jnp.zeros_like(rows.rating).at[pair].max(meetings[:, None])


def add_changes(change: Callable[..., Terms], _params: Any, rows: Any, games: Games) -> Any:
    """The rule that adds to ratings the change by each game, `change(params, player, opponent, game)`."""
    return rows._replace(rating=rows.rating + games.total(change, rows, rows)[0])
