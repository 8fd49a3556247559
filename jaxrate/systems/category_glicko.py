"""Glicko with categories of opponents (the system of Aligulac, for the races of StarCraft II; after Glickman 1999).

A player is a general rating zeta and a modifier eta^c for each category c, which sum to zero: against an opponent who
plays category c he has the strength zeta + eta^c. Of a game of i, in category a, against j, in category b,

    P(i wins) = F((zeta_i + eta_i^b - zeta_j - eta_j^a) / s),   F the standard normal distribution, s the scale

and, of normal beliefs about all four, F of the same difference over the root of s^2 and their four variances: that is
the prediction. Before a rating period, t periods after the player's last one, every variance grows by t growth^2, as in
Glicko. (The paper lets grow what was not played.) The games of the period, at the beliefs before it, then tell his
strengths M_c against the categories apart. Integrated over the opponent, a game says of M what I_jk of the paper does:

    l_c(M) = sum of w log F(+-(M - m) / v),   m = zeta_j + eta_j^a +- side,   v^2 = s^2 + var zeta_j + var eta_j^a

with + for a game won, - for one lost, and w its weight times `match_weight`; a draw is half of each. With
`expansion="mode"`, the paper's, M_c is the maximum of l_c and h_c = -l_c'' there. Of n categories played, whose
modifiers keep their sum,

    zeta^ = (sum M_c - sum eta^c) / n, of precision sum h_c,      eta^c^ = M_c - zeta^, of precision h_c

are combined with what was believed before by precisions; then the mean modifier moves into the rating, so that they sum
to zero and no strength changes. If all games against a category were won, or all lost, there is no such maximum: the
player gets that of

    log p(zeta) + sum_c (log p(eta^c) + l_c(zeta + eta^c)),   the sum of the modifiers of categories played kept,

with p the normal densities from before, and as variances one over each diagonal element of minus its Hessian, as if the
sum were free. `expansion="map"` gives this to everybody. With `outcome="logistic"` F and p are logistic of the same
variances, as on the site since. Categories that were not played keep modifier and variance. Bounds come last.
"""

import math
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr

from jaxrate.events import Array, Matches, Periods, Ragged, fail_where
from jaxrate.numerics import concave_maximum, decreasing_root, tail
from jaxrate.system import (
    Parameter,
    Rating,
    RatingSystem,
    Rules,
    advantage,
    bounded,
    check_bounds,
    elapsed,
    full,
    override,
    sides,
    square,
)

LOGISTIC = math.sqrt(3.0) / math.pi  # the scale of a logistic distribution of variance 1


class Params(NamedTuple):
    scale: float | Array = 1000.0
    initial_rating: float | Array = 1000.0
    initial_deviation: float | Array = 160.0
    initial_modifier_deviation: float | Array = 160.0
    growth: float | Array = 65.0
    deviation_min: float | Array | None = 40.0
    deviation_max: float | Array = 160.0
    modifier_deviation_max: float | Array = 160.0
    match_weight: float | Array = 1.0
    period: float | Array = 14.0
    side_advantage: float | Array = 0.0


SPACE = Params(
    scale=Parameter("fixed", "> 0", "points", "deviation of the difference of two performances"),
    initial_rating=Parameter("fixed", "any number", "points", "rating of a newcomer"),
    initial_deviation=Parameter("positive", "> 0", "points", "deviation of a newcomer's rating"),
    initial_modifier_deviation=Parameter("positive", "> 0", "points", "deviation of a newcomer's modifiers"),
    growth=Parameter("positive", ">= 0", "points per sqrt(period)", "growth of the deviations of an idle player"),
    deviation_min=Parameter("positive", "> 0 or None", "points", "smallest deviation of a rating or modifier"),
    deviation_max=Parameter("positive", "> 0", "points", "largest deviation of a rating"),
    modifier_deviation_max=Parameter("positive", "> 0", "points", "largest deviation of a modifier"),
    match_weight=Parameter("positive", "> 0", "matches", "what a match of weight 1 counts as"),
    period=Parameter("fixed", "> 0", "days, or the unit of time", "length of a rating period"),
    side_advantage=Parameter("real", "any number", "points", "rating points that the better side is worth"),
)


class Pair(NamedTuple):
    """Something of the rating, and of the modifiers."""

    rating: Any
    modifier: Any


class Constants(NamedTuple):
    params: Params
    growth: Pair  # of variances, per unit of time
    low: Pair  # bounds of the variances
    high: Pair


class State(NamedTuple):
    rating: Array  # [num_players] zeta, points
    modifiers: Array  # [num_players, categories] eta, points, against each category
    variance: Array  # [num_players] of the rating, as of `time`
    modifier_variance: Array  # [num_players, categories]
    time: Array  # [num_players] of the last event; inf before the first


class Games(NamedTuple):
    """The two sides of every game of a period, in units of the scale."""

    cell: Array  # [G] the player's position and the category of his opponent, as one number
    mean: Array  # [G] the opponent's strength
    deviation: Array  # [G] v, the deviation of the outcome
    won: Array  # [G] weights
    lost: Array  # [G]


Law = tuple[Array, Array]  # the derivative of the logarithm of a density, and minus its second derivative


def probit(z: Array, won: Array, lost: Array) -> Law:
    """Of `won` log Phi(z) + `lost` log Phi(-z)."""
    right, left = tail(z), tail(-z)
    return won * left[0] - lost * right[0], won * left[2] + lost * right[2]


def logistic(z: Array, won: Array, lost: Array) -> Law:
    """The same of the logistic distribution of variance 1."""
    p, q = jax.nn.sigmoid(z / LOGISTIC), jax.nn.sigmoid(-z / LOGISTIC)
    return (won * q - lost * p) / LOGISTIC, (won + lost) * (p * q) / LOGISTIC**2


def normal_density(x: Array, variance: Array) -> Law:
    return -x / variance, 1.0 / variance


def logistic_density(x: Array, variance: Array) -> Law:
    s = LOGISTIC * jnp.sqrt(variance)
    t = jnp.tanh(x / (2.0 * s))
    return -t / s, (1.0 - t * t) / (2.0 * s * s)


class Outcome(NamedTuple):
    chance: Any  # F, of variance 1
    evidence: Any
    density: Any
    reach: float  # as far as this outside of all opponents lies no maximum


OUTCOMES = {
    "probit": Outcome(ndtr, probit, normal_density, 10.0),
    "logistic": Outcome(lambda x: jax.nn.sigmoid(x / LOGISTIC), logistic, logistic_density, 25.0),
}


def init(categories: int, params: Params, num_players: int) -> State:
    """A single category has no modifier: it is 0, and known to be."""
    shape, modifier = (num_players, categories), params.initial_modifier_deviation if categories > 1 else 0.0
    return State(
        full(num_players, params.initial_rating),
        jnp.zeros(shape),
        full(num_players, params.initial_deviation**2),
        jnp.full(shape, modifier**2, dtype=jnp.result_type(float)),
        full(num_players, jnp.inf),
    )


def prepare(categories: int, params: Params) -> Constants:
    several = categories > 1
    growth, low = params.growth**2 / params.period, square(params.deviation_min)
    high = Pair(square(params.deviation_max), square(params.modifier_deviation_max))
    return Constants(params, Pair(growth, growth if several else 0.0), Pair(low, low if several else None), high)


def advance(constants: Constants, rows: State, time: Array) -> State:
    """Every variance grows by t growth^2, up to its bound."""
    growth, high, passed = constants.growth, constants.high, elapsed(time, rows.time)
    return rows._replace(
        variance=bounded(rows.variance + growth.rating * passed, None, high.rating),
        modifier_variance=bounded(rows.modifier_variance + growth.modifier * passed[..., None], None, high.modifier),
    )


def against(rows: State, category: Array) -> tuple[Array, Array]:
    """The strengths [...] against opponents who play these categories [...], and their variances."""

    def pick(x: Array) -> Array:
        return jnp.take_along_axis(x, category[..., None], axis=-1, mode="clip")[..., 0]

    return rows.rating + pick(rows.modifiers), rows.variance + pick(rows.modifier_variance)


def unmixed(event: Matches | Periods, categories: int) -> tuple[Periods, Array | None]:
    """The event as a period in which everybody plays one category.

    If players mix categories, a match is split into one of each pair of categories; the shares [M, categories^2].
    """
    if isinstance(event, Matches):
        context = jax.tree.map(lambda x: x[None], event.context)
        event = Periods(event.player, jnp.array([[0, 1]], jnp.int32), event.score[None], event.time, context)
    num_pairs, context = event.score.shape[0], event.context
    if context.category is None:
        return event._replace(context=context._replace(category=jnp.zeros((num_pairs, 2), jnp.int32))), None
    if jnp.issubdtype(context.category.dtype, jnp.integer):
        return event, None
    both = np.indices((categories, categories), np.int32).reshape(2, -1)
    share = context.category[:, 0, both[0]] * context.category[:, 1, both[1]]
    pair, score, context = jax.tree.map(
        lambda x: jnp.repeat(x, both.shape[1], axis=0), (event.pair, event.score, context._replace(category=None))
    )
    weight = None if context.weight is None else context.weight * share.ravel()
    context = context._replace(weight=weight, category=jnp.tile(both.T, (num_pairs, 1)))
    return event._replace(pair=pair, score=score, context=context), share


def predict(outcome: Outcome, constants: Constants, rows: State, event: Matches | Periods) -> Array:
    """Expected score of the first player."""
    period, share = unmixed(event, rows.modifiers.shape[-1])
    first, second = sides(rows, period)
    category: Any = period.context.category
    params = constants.params
    mine, variance = against(first, category[:, 1])
    other, other_variance = against(second, category[:, 0])
    lead = mine - other + advantage(period, params.side_advantage)
    expected = outcome.chance(lead / jnp.sqrt(params.scale**2 + variance + other_variance))
    if share is not None:
        expected = jnp.sum(share * expected.reshape(share.shape), axis=1)
    return expected[0] if isinstance(event, Matches) else expected


def games_of(constants: Constants, rows: State, period: Periods) -> Games:
    """Each game from both sides, in units of the scale; `rows` are so already."""
    context: Any = period.context
    params, (first, second) = constants.params, sides(rows, period)
    weight, lead = params.match_weight * context.weight, advantage(period, params.side_advantage / params.scale)
    cells, means, variances = [], [], []
    for me, opponent, theirs, mine, ahead in (
        (period.pair[:, 0], second, context.category[:, 1], context.category[:, 0], lead),
        (period.pair[:, 1], first, context.category[:, 0], context.category[:, 1], -lead),
    ):
        strength, variance = against(opponent, mine)
        cells.append(me * rows.modifiers.shape[-1] + theirs)
        means.append(strength - ahead)
        variances.append(1.0 + variance)
    first_won, second_won = weight * period.score, weight * (1.0 - period.score)
    return Games(
        jnp.concatenate(cells),
        jnp.concatenate(means),
        jnp.sqrt(jnp.concatenate(variances)),
        jnp.concatenate([first_won, second_won]),
        jnp.concatenate([second_won, first_won]),
    )


def by_cell(shape: tuple[int, ...], games: Games, *terms: Array) -> Array:
    """The sums [A, categories] of terms [G] over the games of each player against each category."""
    zero = jnp.zeros((shape[0] * shape[1], len(terms)), terms[0].dtype)
    sums = zero.at[games.cell].add(jnp.stack(terms, axis=-1), mode="drop").reshape(*shape, len(terms))
    return jnp.moveaxis(sums, -1, 0)


def likelihood(outcome: Outcome, games: Games, strength: Array) -> tuple[Array, Array]:
    """l_c' and h_c at strengths [A, categories]."""
    z = (strength.ravel()[games.cell] - games.mean) / games.deviation
    slope, curvature = outcome.evidence(z, games.won, games.lost)
    slope, curvature = by_cell(strength.shape, games, slope / games.deviation, curvature / games.deviation**2)
    return slope, curvature


def most_likely(outcome: Outcome, games: Games, finite: Array, guess: Array) -> Array:
    """The maxima M_c [A, categories] of the likelihoods where they are finite, elsewhere the guess."""
    reach = outcome.reach * jnp.max(games.deviation)
    low = jnp.minimum(jnp.min(guess), jnp.min(games.mean)) - reach
    high = jnp.maximum(jnp.max(guess), jnp.max(games.mean)) + reach

    def function(x: Array) -> tuple[Array, Array]:
        slope, curvature = likelihood(outcome, games, x)
        return jnp.where(finite, slope, guess - x), jnp.where(finite, -curvature, -1.0)

    return decreasing_root(function, guess, jnp.full_like(guess, low), jnp.full_like(guess, high))


def most_probable(outcome: Outcome, rows: State, games: Games, played: Array, guess: Array, ready: Array) -> Array:
    """The strengths [A, categories] at the maximum of prior times likelihood; the guess in rows that are `ready`."""
    count = jnp.maximum(jnp.sum(played.astype(guess.dtype), axis=1), 1.0)

    def function(x: Array) -> tuple[Array, Array]:
        slope, h = likelihood(outcome, games, x)
        (of_rating, q0), (of_modifiers, q) = prior(outcome, rows, *apart(rows, played, x))
        of_modifiers = jnp.where(played, of_modifiers, 0.0)
        shared = (of_rating - jnp.sum(of_modifiers, axis=1)) / count
        gradient = slope + of_modifiers + shared[:, None]
        newton = newton_step(gradient, h, q0, q, played)
        return jnp.where(played, gradient, guess - x), jnp.where(played, newton, guess - x)

    return concave_maximum(function, guess, ready)


def apart(rows: State, played: Array, strength: Array) -> tuple[Array, Array]:
    """Rating and modifiers of strengths against the categories played; those modifiers keep their sum."""
    count = jnp.maximum(jnp.sum(played.astype(strength.dtype), axis=1), 1.0)
    rating = jnp.sum(jnp.where(played, strength - rows.modifiers, 0.0), axis=1) / count
    return rating, jnp.where(played, strength - rating[:, None], rows.modifiers)


def prior(outcome: Outcome, rows: State, rating: Array, modifiers: Array) -> tuple[Law, Law]:
    """The laws of the densities from before. (A single modifier is known, and stays.)"""
    variance = jnp.where(rows.modifier_variance > 0, rows.modifier_variance, 1.0)
    return outcome.density(rating - rows.rating, rows.variance), outcome.density(modifiers - rows.modifiers, variance)


def newton_step(gradient: Array, h: Array, q0: Array, q: Array, played: Array) -> Array:
    """The step of Newton's method in the strengths [A, categories].

    In rating and modifiers it solves, with d_c = q_c + h_c over the categories played,
    d_c deta_c + h_c dzeta + lambda = g_c,   (q_0 + sum h) dzeta + sum h_c deta_c = sum g,   sum deta = 0.
    """
    tiny = float(np.finfo(h.dtype).eps)  # far from everything nothing is curved
    d = jnp.where(played, jnp.maximum(q + h, tiny), 1.0)

    def total(x: Array) -> Array:
        return jnp.sum(jnp.where(played, x, 0.0), axis=1)

    inverse, share, fall = total(1.0 / d), total(h / d), total(gradient / d)
    inverse = jnp.where(inverse > 0, inverse, 1.0)
    rating = (total(gradient * q / d) + fall * share / inverse) / jnp.maximum(
        q0 + total(h * q / d) + share**2 / inverse, tiny
    )
    common = (fall - share * rating) / inverse
    return rating[:, None] + (gradient - h * rating[:, None] - common[:, None]) / d


def update(
    outcome: Outcome, expansion: str, constants: Constants, rows: State, event: Periods, key: Array | None
) -> State:
    """Mode or maximum a posteriori, then modifiers of sum zero, then the bounds."""
    del key
    params, scale = constants.params, constants.params.scale
    period, _ = unmixed(event, rows.modifiers.shape[-1])
    before = State(
        (rows.rating - params.initial_rating) / scale,
        rows.modifiers / scale,
        rows.variance / scale**2,
        rows.modifier_variance / scale**2,
        jnp.full_like(rows.time, event.time),
    )
    games = games_of(constants, before, period)
    won, lost = by_cell(rows.modifiers.shape, games, games.won, games.lost)
    guess, played, finite = before.rating[:, None] + before.modifiers, (won > 0) | (lost > 0), (won > 0) & (lost > 0)
    plain = jnp.all(finite == played, axis=1) & (expansion == "mode")
    best = most_probable(outcome, before, games, played, guess, plain | ~jnp.any(played, axis=1))
    if expansion == "mode":
        best = jnp.where(plain[:, None], most_likely(outcome, games, finite, guess), best)
    h = likelihood(outcome, games, best)[1]
    rating, modifiers = apart(before, played, best)
    (_, q0), (_, q) = prior(outcome, before, rating, modifiers)
    rating, variance = learn(
        plain, jnp.any(played, axis=1), before.rating, before.variance, rating, jnp.sum(h, axis=1), q0
    )
    modifiers, modifier_variance = learn(
        plain[:, None], played, before.modifiers, before.modifier_variance, modifiers, h, q
    )
    excess = jnp.mean(modifiers, axis=1)
    low, high = constants.low, constants.high
    return State(
        params.initial_rating + scale * (rating + excess),
        scale * (modifiers - excess[:, None]),
        bounded(scale**2 * variance, low.rating, high.rating),
        bounded(scale**2 * modifier_variance, low.modifier, high.modifier),
        before.time,
    )


def learn(
    plain: Array, played: Array, mean: Array, variance: Array, found: Array, h: Array, q: Array
) -> tuple[Array, Array]:
    """New means and variances: combined by precisions where that is `plain`, else of the maximum with the prior."""
    left = variance / (1.0 + variance * h)
    changed = played & (variance > 0)
    alone = 1.0 / jnp.where(changed, q + h, 1.0)
    mean = jnp.where(plain, mean + left * h * (found - mean), jnp.where(played, found, mean))
    return mean, jnp.where(plain, left, jnp.where(changed, alone, variance))


def summary(params: Params, rows: State) -> Rating:
    del params
    return Rating(rows.rating, jnp.sqrt(rows.variance))


def check(categories: int, events: Matches | Ragged) -> None:
    """ValueError if the players of the matches have other categories than these, or none."""
    flat: Any = events.events if isinstance(events, Ragged) else events
    category = flat.context.category
    if category is None:
        if categories > 1:
            raise ValueError(
                "category_glicko needs the categories of both players of every match: category=... of `matches` or "
                "`read`, --category on the command line, or a single one by categories=1"
            )
        return
    have = f"category_glicko has {categories} of them; make it with categories=..."
    if category.ndim == 3:
        if category.shape[-1] != categories:
            raise ValueError(f"the matches have shares of {category.shape[-1]} categories, but {have}")
        return
    highest = np.max(category, axis=-1, initial=0)
    fail_where(highest >= categories, lambda row: f"category {highest[row]}, counting from 0, but {have}")


@lru_cache
def _functions(categories: int, outcome: str, expansion: str) -> tuple[Any, Rules, Any]:
    law = OUTCOMES[outcome]
    rules = Rules(partial(prepare, categories), advance, partial(predict, law), partial(update, law, expansion))
    return partial(init, categories), rules, partial(check, categories)


def category_glicko(
    categories: int = 3, outcome: str = "probit", expansion: str = "mode", **changes: float | None
) -> RatingSystem:
    """Glicko with categories, of rating periods. (Match by match no modifier would ever move.)

    Args:
      categories: how many there are; with one it is Glicko with a normal distribution.
      outcome: "probit" or "logistic".
      expansion: "mode" as in the paper, or "map".
      **changes: replace defaults of `Params`.

    Raises:
      ValueError: for an unknown name or a value out of range.
    """
    if isinstance(categories, bool) or not isinstance(categories, int) or categories < 1:
        raise ValueError(f"category_glicko: categories must be a whole number from 1, got {categories!r}")
    for name, value, known in (("outcome", outcome, OUTCOMES), ("expansion", expansion, ("mode", "map"))):
        if value not in known:
            raise ValueError(f"category_glicko: {name} must be {' or '.join(known)}, got {value!r}")
    params = override("category_glicko", Params(), SPACE, changes)
    check_bounds("category_glicko", params, "deviation")
    check_bounds("category_glicko", params, "modifier_deviation")
    first, rules, fits = _functions(categories, outcome, expansion)
    settings = {"categories": categories, "outcome": outcome, "expansion": expansion}
    return RatingSystem("category_glicko", params, SPACE, (Periods,), first, rules, summary, settings, check=fits)
