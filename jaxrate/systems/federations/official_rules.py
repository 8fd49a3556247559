"""What makes a system of official rules, which are two functions:

    expected(params, player, opponent, game)  # the score that a player is expected to have
    rate(params, rows, games)                 # the players after the games of an event, who are in `rows` before

All games of a rating period count at the ratings before it. Where rules have unrated players, a rating of 0 is none.
Rules see games as their players do, with the columns of matches that settings name, and what games add up to. They
share curves of expected scores, the performance ratings that these mean, and rounding.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import cleandoc
from typing import Annotated, Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import ndtr

from jaxrate.core.argument_checks import ArgumentRequirement
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import ANY, MAYBE_POSITIVE, Parameter
from jaxrate.core.pairwise import PairwiseRules, Terms, split_sides, sum_over_games
from jaxrate.core.rules import Params, Rating
from jaxrate.core.system import FactoryArgs, RatingSystem, full_leaf, system_factory
from jaxrate.events import Matches, fail_where
from jaxrate.numerics.newton_roots_and_maxima import decreasing_root

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
        refuse_rows(np.isnan(values), f"column {name!r} has no number, {needs}")
        if setting not in SIGNED_SETTINGS:
            refuse_rows(values < 0, f"column {name!r} has a number below 0, {needs} of at least 0")


def refuse_rows(is_bad: Any, fault: str) -> None:
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
    """The system of official rules.

    Args:
      state: the class of the state, with a rating; a field `pool` has three numbers of a player.
      expected, rate: the rules.
      columns: by the name of a setting, the columns of matches that it names.
      start: what newcomers have in other fields than the rating, where it is not 0.
    """
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


def assume_rating(params: Any, row: Any) -> Any:
    """A player with the rating of the hyperparameter `unrated`, if there is one and the player has none."""
    unrated = getattr(params, "unrated", None)
    return row if unrated is None else row._replace(rating=jnp.where(row.rating > 0, row.rating, unrated))


def predict(names: ColumnNames, expected: Rule, params: Any, first: Any, second: Any, event: Any) -> Any:
    return expected(params, assume_rating(params, first), assume_rating(params, second), view_games(names, event)[0])


def update(names: ColumnNames, expected: Rule, rate: Rule, params: Any, rows: Any, event: Any) -> Any:
    return rate(params, rows, Games(params, event, names, expected))


def summarise(params: Any, rows: Any) -> Rating:
    return Rating(assume_rating(params, rows).rating, None)


def expected_by_logistic(difference: Array, scale: float | Array = 400.0) -> Array:
    """The expected score of a rating difference, where one of `scale` points means odds of 10 to 1."""
    return jax.nn.sigmoid(math.log(10.0) / scale * difference)


def expected_by_normal(difference: Array, deviation: float) -> Array:
    """The expected score of a rating difference, by the deviation of a difference of performances."""
    return ndtr(difference / deviation)


def expected_by_elo(_params: Any, player: Any, opponent: Any, _game: Any) -> Array:
    """Elo's rule of the expected score of a player."""
    return expected_by_logistic(player.rating - opponent.rating)


def expected_by_line(difference: Array, width: float | Array) -> Array:
    """The expected score of a rating difference, which rises from 0 to 1 in a line of this width."""
    return jnp.clip(0.5 + difference / width, 0.0, 1.0)


def round_half_away(x: Array, rounding: bool, digits: int = 0) -> Array:
    """`x` rounded to so many decimals, halves away from zero, if `rounding`; its slope is that of `x`."""
    if not rounding:
        return x
    scaled, slack = jnp.abs(x) * 10.0**digits, float(np.finfo(x.dtype).eps) ** 0.5  # a half may be just below
    rounded = jnp.sign(x) * jnp.floor(scaled + 0.5 + slack) / 10.0**digits
    return x + lax.stop_gradient(rounded - x)


def performance_ratings(
    games: Games, rows: Any, opponents: Any, is_asked: Array, prior: tuple[Any, Any, Any] = (0.0, 0.0, 0.5)
) -> Array:
    """[A] the ratings at which players score as expected; where several do, that which is nearest to the old one.

    Args:
      games: of the event.
      rows: the players.
      opponents: the same players as others meet them.
      is_asked: [A] whose rating is to be found; the others keep theirs.
      prior: the number of further games of each, the opponent's rating in them, and the share of their points.
    """
    results, (prior_games, prior_opponent, prior_share) = games.results(rows, opponents), prior
    least_pull = 64.0 * float(np.finfo(rows.rating.dtype).eps)  # to the old rating; it decides where all else is flat
    other = rows._replace(rating=jnp.broadcast_to(prior_opponent, rows.rating.shape))

    def excess(rating: Array) -> Array:
        players = rows._replace(rating=rating)
        surprise = results.score - games.results(players, opponents).expected
        prior_surprise = prior_games * (prior_share - games.expected(games.params, players, other, None))
        pull = least_pull * jnp.clip(rows.rating - rating, -0.5, 0.5)
        return jnp.where(is_asked, surprise + prior_surprise + pull, guess - rating)

    guess = jnp.where(is_asked, results.opponents / jnp.maximum(results.games, 1.0), rows.rating)
    ends = jnp.full_like(guess, -9000.0), jnp.full_like(guess, 9000.0)
    return decreasing_root(lambda x: jax.jvp(excess, (x,), (jnp.ones_like(x),)), guess, *ends, unit=1e-3)
