"""The columns of matches that settings of official rules name, games as each of their players sees them, and what the
games of an event add up to for their players.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import ArgumentRequirement
from jaxrate.core.array_types import Array
from jaxrate.core.pairwise_rules import Terms, split_sides, sum_over_games
from jaxrate.core.rules import Params
from jaxrate.events import fail_where

ADULT = 99.0  # years, of everybody where no columns have ages
SIGNED_SETTINGS = "handicap", "margin"  # whose columns may have numbers below 0
ColumnNames = tuple[tuple[str, tuple[str, ...]], ...]  # by setting: none, that of the match, or those of a and of b


def are_columns(value: Any, counts: tuple[int, ...]) -> bool:
    """Whether a value is the name of a column, or names of columns, and so many."""
    names = (value,) if isinstance(value, str) else value
    return isinstance(names, (list, tuple)) and len(names) in counts and all(isinstance(x, str) for x in names)


AgeColumns: TypeAlias = Annotated[
    Sequence[str],
    ArgumentRequirement("two columns, of the ages of a and of b", partial(are_columns, counts=(0, 2))),
]
MarginColumns: TypeAlias = Annotated[
    str | Sequence[str],
    ArgumentRequirement("a column of margins, or two, of points", partial(are_columns, counts=(0, 1, 2))),
]


def check_columns(names: ColumnNames, events: Any) -> None:
    """ValueError unless matches have the columns that settings name, with numbers that rules can take in all rows."""
    columns = events.flat.context.columns or {}
    for setting, name in ((setting, name) for setting, named in names for name in named):
        if name not in columns:
            fault = f"the matches need the column {name!r}, which {setting}= of the system names"
            raise ValueError(f"{fault}; read it by columns=[{name!r}]")
        values, needs = np.asarray(columns[name]), f"and {setting}= of the system needs one"
        refuse_bad_rows(np.isnan(values), f"column {name!r} has no number, {needs}")
        if setting not in SIGNED_SETTINGS:
            refuse_bad_rows(values < 0, f"column {name!r} has a number below 0, {needs} of at least 0")


def refuse_bad_rows(is_bad: Any, fault: str) -> None:
    """ValueError for the first row that is bad, of this fault."""
    fail_where(is_bad, lambda _row: fault)


class Game(NamedTuple):
    """A game as one of its players sees it; leaves [] of a match, [M] of a period."""

    score: Array  # of the player
    side: Array | float  # 1 on the player's own side, -1 on the opponent's
    columns: dict[str, tuple[Array, ...]]  # by setting; of two, the player's own comes first

    def column(self, setting: str, default: float | Array = 0.0) -> Array:
        """The number that a setting means, of the player if both have one; the default where it names no column."""
        named = self.columns.get(setting)
        return named[0] if named else jnp.full_like(self.score, default)

    @property
    def margin(self) -> Array:
        """The margin of the game, from its own column or from those of both sides' points; 0 without."""
        points = self.columns["margin"]
        return jnp.abs(points[0] - points[1] if len(points) == 2 else self.column("margin"))


def view_games(names: ColumnNames, event: Any) -> tuple[Game, Game]:
    """The games of an event as the first player sees them, and as the second."""
    context = event.context
    side = 0.0 if context.side is None else context.side
    first = {setting: tuple(context.columns[name] for name in named) for setting, named in names}
    second = {setting: values[::-1] for setting, values in first.items()}
    second["handicap"] = tuple(-stones for stones in first.get("handicap", ()))
    return Game(event.score, side, first), Game(1.0 - event.score, -side, second)


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
        """The sums that a player's games add up to."""

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
        if self.event.participant_rows is None:
            return jnp.ones_like(rows.rating)
        pair, weight = self.event.pair, self.event.context.weight
        _, number = jnp.unique(jnp.sort(pair, axis=1), axis=0, return_inverse=True, size=len(pair))
        meetings = jnp.zeros_like(weight).at[number.ravel()].add(weight)[number.ravel()]
        return jnp.zeros_like(rows.rating).at[pair].max(meetings[:, None])


def add_rating_changes(change: Callable[..., Terms], _params: Any, rows: Any, games: Games) -> Any:
    """The rule that adds to ratings the change by each game, `change(params, player, opponent, game)`."""
    return rows._replace(rating=rows.rating + games.total(change, rows, rows)[0])
