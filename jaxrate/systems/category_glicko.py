"""Glicko with categories of opponents (the system of Aligulac, for the races of StarCraft II; after Glickman 1999).

A player is a general rating zeta and a modifier eta^c for each category c, which sum to zero: against an opponent who
plays category c they have the strength zeta + eta^c. In a game of i, in category a, against j, in category b,

    P(i wins) = F((zeta_i + eta_i^b - zeta_j - eta_j^a) / s),   F the standard normal distribution, s the scale

and, of normal beliefs about all four, F of the same difference over the root of s^2 and their four variances: that is
the prediction. In a rating period, t periods after the player's last one, every variance first grows by t growth^2, as
in Glicko. (With `grows="unplayed"`, note 3 of the paper, the period in which a player plays lets only the variances of
modifiers grow that were not played, those of newcomers too.) The games of the period, at the beliefs before it, then
tell their strengths M_c against the categories apart. Integrated over the opponent, a game says of M what I_jk of the
paper does:

    l_c(M) = sum of w log F(+-(M - m) / v),   m = zeta_j + eta_j^a +- side,   v^2 = s^2 + var zeta_j + var eta_j^a

with + for a game won, - for one lost, and w its weight times `match_weight`; a draw is half of each. With
`expansion="mode"`, the paper's, M_c is the maximum of l_c and h_c = -l_c'' there. If n categories were
played, whose modifiers keep their sum,

    zeta^ = (sum M_c - sum eta^c) / n, of precision sum h_c,      eta^c^ = M_c - zeta^, of precision h_c

are combined with what was believed before by precisions; then the mean modifier moves into the rating, so that they sum
to zero and no strength changes. If all games against a category were won, or all lost, there is no such maximum: the
player gets that of

    log p(zeta) + sum_c (log p(eta^c) + l_c(zeta + eta^c)),   the sum of the modifiers of categories played kept,

with p the normal densities from before, and as variances one over each diagonal element of minus its Hessian, as if the
sum were free. `expansion="map"` gives this to everybody. With `outcome="logistic"` F and p are logistic of the same
variances, as on the site since. Categories that were not played keep modifier and variance. Bounds come last.

The paper's names: W_j and L_j, the games won and lost, are the weights `PeriodGames.won` and `lost`; its M_j is M_c of
the category of j, and Theta^ is zeta^ and eta^. Note 1 is the sum that modifiers keep in the search for the maximum,
note 2 the mean that moves into the rating, note 3 `grows="unplayed"`, and note 4 the floor `deviation_min`.
"""

import math
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core.argument_checks import check_count
from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import concatenate_pair
from jaxrate.core.hashable_values import bind
from jaxrate.core.pairwise_rules import pass_time, rows_before_games, signed_side_advantage, split_sides
from jaxrate.core.rules import Params, RuleByKind, Rules
from jaxrate.core.system import RatingSystem, clip_optional, full_leaf, system_factory, variance_bound
from jaxrate.events import Matches, Periods, Ragged, fail_where
from jaxrate.numerics.newton_iterations import concave_function_argmax
from jaxrate.numerics.special_functions import differentiable_quotient, normal_tail


class Constants(NamedTuple):
    params: Params
    growth: Any  # of the variance of a rating, per unit of time
    modifier_growth: Any
    low: Any  # bounds of the variances
    modifier_low: Any
    high: Any
    modifier_high: Any


class State(NamedTuple):
    rating: Array  # [num_players] zeta, points
    modifiers: Array  # [num_players, categories] eta, points, against each category
    variance: Array  # [num_players] of the rating, as of `time`
    modifier_variance: Array  # [num_players, categories]
    time: Array  # [num_players] end of the last event; inf before the first


def init(categories: int, params: Params, num_players: int) -> State:
    """A single category has no modifier: it is 0, and known to be."""
    shape, modifier = (num_players, categories), params.initial_modifier_deviation if categories > 1 else 0.0
    return State(
        full_leaf(num_players, params.initial_rating),
        full_leaf(shape, 0.0),
        full_leaf(num_players, params.initial_deviation**2),
        full_leaf(shape, modifier**2),
        full_leaf(num_players, jnp.inf),
    )


def prepare(categories: int, params: Params) -> Constants:
    growth, low = params.growth**2 / params.period, variance_bound(params.deviation_min)
    high, modifier_high = params.deviation_max**2, params.modifier_deviation_max**2
    modifiers = (growth, low) if categories > 1 else (0.0, None)
    return Constants(params, growth, modifiers[0], low, modifiers[1], high, modifier_high)


def age(constants: Constants, rows: State, duration: Array) -> State:
    """Every variance grows by t growth^2, up to its bound."""
    modifier_variance = rows.modifier_variance + constants.modifier_growth * duration[..., None]
    return rows._replace(
        variance=jnp.minimum(rows.variance + constants.growth * duration, constants.high),
        modifier_variance=jnp.minimum(modifier_variance, constants.modifier_high),
    )


def strengths_against(rows: State, category: Array) -> tuple[Array, Array]:
    """The strengths [...] against opponents who play these categories [...], and their variances."""

    def pick(x: Array) -> Array:
        return jnp.take_along_axis(x, category[..., None], axis=-1, mode="clip")[..., 0]

    return rows.rating + pick(rows.modifiers), rows.variance + pick(rows.modifier_variance)


def split_into_single_category_pairs(event: Periods, categories: int) -> tuple[Periods, Array | None]:
    """The event as a period in which everybody plays one category."""
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


LOGISTIC_SCALE = math.sqrt(3.0) / math.pi  # the scale of a logistic distribution of variance 1


class PeriodGames(NamedTuple):
    """The two sides of every game of a period, in units of the scale."""

    cell: Array  # [G] the positions of player and the opponent's category, as one number
    mean: Array  # [G] the opponent's strength
    deviation: Array  # [G] v, the deviation of the outcome
    won: Array  # [G] weights
    lost: Array  # [G]


LogDerivatives = tuple[Array, Array]  # the derivative of the logarithm of a density, and minus its second derivative


def probit_log_likelihood_derivatives(z: Array, won: Array, lost: Array) -> LogDerivatives:
    """The slope and the curvature of `won` log Phi(z) + `lost` log Phi(-z) in z."""
    (right, left), _, (right_slope, left_slope), *_ = normal_tail(jnp.stack([z, -z]))
    return won * left - lost * right, won * left_slope + lost * right_slope


def logistic_log_likelihood_derivatives(z: Array, won: Array, lost: Array) -> LogDerivatives:
    """The slope and the curvature of `won` log F(z) + `lost` log F(-z) in z, F the logistic cdf of variance 1."""
    p, q = jax.nn.sigmoid(z / LOGISTIC_SCALE), jax.nn.sigmoid(-z / LOGISTIC_SCALE)
    return (won * q - lost * p) / LOGISTIC_SCALE, (won + lost) * (p * q) / LOGISTIC_SCALE**2


def unit_variance_logistic_cdf(x: Array) -> Array:
    return jax.nn.sigmoid(x / LOGISTIC_SCALE)


def normal_log_density_derivatives(x: Array, variance: Array) -> LogDerivatives:
    return differentiable_quotient(-x, variance), differentiable_quotient(1.0, variance)


def logistic_log_density_derivatives(x: Array, variance: Array) -> LogDerivatives:
    s = LOGISTIC_SCALE * jnp.sqrt(variance)
    t = jnp.tanh(x / (2.0 * s))
    return -t / s, differentiable_quotient(1.0 - t * t, 2.0 * s * s)


class OutcomeDistribution(NamedTuple):
    chance: Any  # F, of variance 1
    evidence: Any
    density: Any


OUTCOME_DISTRIBUTIONS = {
    "probit": OutcomeDistribution(ndtr, probit_log_likelihood_derivatives, normal_log_density_derivatives),
    "logistic": OutcomeDistribution(
        unit_variance_logistic_cdf, logistic_log_likelihood_derivatives, logistic_log_density_derivatives
    ),
}


def games_from_both_sides(constants: Constants, rows: State, period: Periods) -> PeriodGames:
    """Each game from both sides, in units of the scale; `rows` are so already."""
    context: Any = period.context
    params, (first, second) = constants.params, split_sides(rows, period)
    weight = params.match_weight * context.weight
    lead = signed_side_advantage(period, params.side_advantage / params.scale)
    cells, means, variances = [], [], []
    for me, opponent, theirs, mine, ahead in (
        (period.pair[:, 0], second, context.category[:, 1], context.category[:, 0], lead),
        (period.pair[:, 1], first, context.category[:, 0], context.category[:, 1], -lead),
    ):
        strength, variance = strengths_against(opponent, mine)
        cells.append(me * rows.modifiers.shape[-1] + theirs)
        means.append(strength - ahead)
        variances.append(1.0 + variance)
    won, lost = weight * period.score, weight * (1.0 - period.score)
    return PeriodGames(
        concatenate_pair(*cells),
        concatenate_pair(*means),
        jnp.sqrt(concatenate_pair(*variances)),
        concatenate_pair(won, lost),
        concatenate_pair(lost, won),
    )


def sum_by_player_and_category(shape: tuple[int, ...], games: PeriodGames, *terms: Array) -> Array:
    """The sums [A, categories] of terms [G] over the games of each player against each category."""
    zero = jnp.zeros((shape[0] * shape[1], len(terms)), terms[0].dtype)
    sums = zero.at[games.cell].add(jnp.stack(terms, axis=-1), mode="drop").reshape(*shape, len(terms))
    return jnp.moveaxis(sums, -1, 0)


@partial(jax.jit, static_argnums=0)
def log_likelihood_derivatives(
    outcome: OutcomeDistribution, games: PeriodGames, strength: Array
) -> tuple[Array, Array]:
    """l_c' and h_c at strengths [A, categories]."""
    z = (strength.ravel()[games.cell] - games.mean) / games.deviation
    slope, curvature = outcome.evidence(z, games.won, games.lost)
    terms = slope / games.deviation, curvature / games.deviation**2
    slope, curvature = sum_by_player_and_category(strength.shape, games, *terms)
    return slope, curvature


def maximize_posterior(
    outcome: OutcomeDistribution,
    rows: State,
    games: PeriodGames,
    played: Array,
    guess: Array,
    is_fixed: Array,
    by_likelihood: Array | None = None,
) -> Array:
    """Strengths [A, categories] of greatest posterior, or likelihood (`by_likelihood`), or the guess (`is_fixed`)."""
    count = jnp.maximum(jnp.sum(played.astype(guess.dtype), axis=1), 1.0)
    tiny = float(np.finfo(guess.dtype).tiny)

    def function(x: Array) -> tuple[Array, Array]:
        slope, h = log_likelihood_derivatives(outcome, games, x)
        (of_rating, q0), (of_modifiers, q) = log_prior_density_derivatives(
            outcome, rows, *strengths_to_rating_and_modifiers(rows, played, x)
        )
        of_modifiers = jnp.where(played, of_modifiers, 0.0)
        shared = (of_rating - jnp.sum(of_modifiers, axis=1)) / count
        gradient = slope + of_modifiers + shared[:, None]
        newton = newton_step(gradient, h, q0, q, played)
        if by_likelihood is not None:
            gradient = jnp.where(by_likelihood[:, None], slope, gradient)
            newton = jnp.where(by_likelihood[:, None], slope / jnp.maximum(h, tiny), newton)
        return jnp.where(played, gradient, guess - x), jnp.where(played, newton, guess - x)

    return concave_function_argmax(function, guess, is_fixed)


def strengths_to_rating_and_modifiers(rows: State, played: Array, strength: Array) -> tuple[Array, Array]:
    """Rating and modifiers of strengths against the categories played; those modifiers keep their sum."""
    count = jnp.maximum(jnp.sum(played.astype(strength.dtype), axis=1), 1.0)
    rating = jnp.sum(jnp.where(played, strength - rows.modifiers, 0.0), axis=1) / count
    return rating, jnp.where(played, strength - rating[:, None], rows.modifiers)


def log_prior_density_derivatives(
    outcome: OutcomeDistribution, rows: State, rating: Array, modifiers: Array
) -> tuple[LogDerivatives, LogDerivatives]:
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


def update_mean_variance(
    by_precision: Array, played: Array, mean: Array, variance: Array, optimum: Array, h: Array, q: Array
) -> tuple[Array, Array]:
    """Means and variances after games: prior and optimum weighted by precision, or the posterior maximum itself."""
    left = variance / (1.0 + variance * h)
    changed = played & (variance > 0)
    precision = jnp.maximum(q + h, float(np.finfo(h.dtype).tiny))  # 0 where nothing is curved
    alone = differentiable_quotient(1.0, jnp.where(changed, precision, 1.0))
    mean = jnp.where(by_precision, mean + left * h * (optimum - mean), jnp.where(played, optimum, mean))
    return mean, jnp.where(by_precision, left, jnp.where(changed, alone, variance))


def predict_match(outcome: str, constants: Constants, rows: State, match: Matches) -> Array:
    """Expected score of the first player of a match, as of a period of no length."""
    context = jax.tree.map(lambda x: x[None], match.context)
    period = Periods(match.player, jnp.array([[0, 1]], jnp.int32), match.score[None], match.time, context)
    return predict(outcome, "unplayed", constants, rows, period)[0]


def predict(outcome: str, grows: str, constants: Constants, rows: State, event: Periods) -> Array:
    """Expected scores [M] of the first players of a period."""
    if grows == "all":
        rows = rows_before_games(age, constants, rows, event)
    period, share = split_into_single_category_pairs(event, rows.modifiers.shape[-1])
    first, second = split_sides(rows, period)
    category: Any = period.context.category
    params = constants.params
    mine, variance = strengths_against(first, category[:, 1])
    other, other_variance = strengths_against(second, category[:, 0])
    lead = mine - other + signed_side_advantage(period, params.side_advantage)
    expected = OUTCOME_DISTRIBUTIONS[outcome].chance(lead / jnp.sqrt(params.scale**2 + variance + other_variance))
    return expected if share is None else jnp.sum(share * expected.reshape(share.shape), axis=1)


def update(law: str, expansion: str, grows: str, constants: Constants, rows: State, event: Periods) -> State:
    """Mode or maximum a posteriori, then modifiers of sum zero, then the bounds."""
    params, scale, outcome = constants.params, constants.params.scale, OUTCOME_DISTRIBUTIONS[law]
    if grows == "unplayed":  # a newcomer's first period counts: note 3 makes no exception
        rows = rows._replace(time=jnp.where(jnp.isinf(rows.time), event.time, rows.time))
    idle = rows_before_games(age, constants, rows, event)
    rows = idle if grows == "all" else rows
    period, _ = split_into_single_category_pairs(event, rows.modifiers.shape[-1])
    before = State(
        (rows.rating - params.initial_rating) / scale,
        rows.modifiers / scale,
        rows.variance / scale**2,
        rows.modifier_variance / scale**2,
        jnp.full_like(rows.time, event.time + params.period),
    )
    games = games_from_both_sides(constants, before, period)
    won, lost = sum_by_player_and_category(rows.modifiers.shape, games, games.won, games.lost)
    guess, played, finite = before.rating[:, None] + before.modifiers, (won > 0) | (lost > 0), (won > 0) & (lost > 0)
    plain = jnp.all(finite == played, axis=1) & (expansion == "mode")
    by_likelihood = plain if expansion == "mode" else None
    best = maximize_posterior(outcome, before, games, played, guess, ~jnp.any(played, axis=1), by_likelihood)
    h = log_likelihood_derivatives(outcome, games, best)[1]
    rating, modifiers = strengths_to_rating_and_modifiers(before, played, best)
    (_, q0), (_, q) = log_prior_density_derivatives(outcome, before, rating, modifiers)
    rating, variance = update_mean_variance(
        plain, jnp.any(played, axis=1), before.rating, before.variance, rating, jnp.sum(h, axis=1), q0
    )
    modifiers, modifier_variance = update_mean_variance(
        plain[:, None], played, before.modifiers, before.modifier_variance, modifiers, h, q
    )
    modifier_variance = jnp.where(played, modifier_variance, idle.modifier_variance / scale**2)
    excess = jnp.mean(modifiers, axis=1)
    return State(
        params.initial_rating + scale * (rating + excess),
        scale * (modifiers - excess[:, None]),
        clip_optional(scale**2 * variance, constants.low, constants.high),
        clip_optional(scale**2 * modifier_variance, constants.modifier_low, constants.modifier_high),
        before.time,
    )


def check_categories(categories: int, events: Matches | Ragged) -> None:
    """ValueError if the players of the matches have other categories than these, or none."""
    flat: Any = events.flat
    category = flat.context.category
    if category is None:
        if categories > 1:
            raise ValueError(
                "category_glicko needs the categories of both players of every match: category=... of `matches` or "
                "`read`, or a single one by categories=1; name its column, as category='surface'"
            )
        return
    have = f"category_glicko has {categories} of them; make it with categories=..."
    if category.ndim == 3:
        if category.shape[-1] != categories:
            raise ValueError(f"the matches have shares of {category.shape[-1]} categories, but {have}")
        return
    highest = np.max(category, axis=-1, initial=0)
    fail_where(highest >= categories, lambda row: f"category {highest[row]}, counting from 0, but {have}")


@system_factory
def category_glicko(
    categories: int = 3,
    outcome: Literal["probit", "logistic"] = "probit",
    expansion: Literal["mode", "map"] = "mode",
    grows: Literal["all", "unplayed"] = "all",
    *,
    scale: Annotated[
        float,
        hyper.Parameter(hyper.POSITIVE, "points", "deviation of the difference of two performances", fitted=False),
    ] = 1000.0,
    initial_rating: Annotated[float, hyper.RATING] = 1000.0,
    initial_deviation: Annotated[
        float,
        hyper.Parameter(
            hyper.POSITIVE, "points", "deviation of a newcomer's rating", bounds=("deviation_min", "deviation_max")
        ),
    ] = 160.0,
    initial_modifier_deviation: Annotated[
        float,
        hyper.Parameter(
            hyper.POSITIVE,
            "points",
            "deviation of a newcomer's modifiers",
            bounds=("deviation_min", "modifier_deviation_max"),
        ),
    ] = 160.0,
    growth: Annotated[
        float,
        hyper.Parameter(hyper.NOT_NEGATIVE, "points per sqrt(period)", "growth of the deviations of an idle player"),
    ] = 65.0,
    deviation_min: Annotated[
        float | None, hyper.Parameter(hyper.MAYBE_POSITIVE, "points", "smallest deviation of a rating or modifier")
    ] = 40.0,
    deviation_max: Annotated[float, hyper.Parameter(hyper.POSITIVE, "points", "largest deviation of a rating")] = 160.0,
    modifier_deviation_max: Annotated[
        float, hyper.Parameter(hyper.POSITIVE, "points", "largest deviation of a modifier")
    ] = 160.0,
    match_weight: Annotated[
        float, hyper.Parameter(hyper.POSITIVE, "matches", "what a match of weight 1 counts as")
    ] = 1.0,
    period: Annotated[float, hyper.PERIOD] = 14.0,
    side_advantage: Annotated[float, hyper.SIDE_ADVANTAGE] = 0.0,
) -> RatingSystem:
    """Glicko with categories, of rating periods. (Match by match no modifier would ever move.)

        jr.category_glicko(2, scale=400.0)

    Args:
      categories: how many there are; with one it is Glicko with a normal distribution.
      outcome: "probit" or "logistic".
      expansion: "mode" as in the paper, or "map".
      grows: which variances grow in a period for those who play in it, "all", or "unplayed" as in the paper: those of
        modifiers against categories that they did not meet.

    Raises:
      ValueError: for an unknown name, a value out of range, or bounds that cross.
    """
    check_count("category_glicko: categories", categories, 1, 1000)
    return RatingSystem(
        bind(init, categories),
        Rules(
            bind(prepare, categories),
            bind(pass_time, age, ()),
            RuleByKind(bind(predict_match, outcome), bind(predict, outcome, grows)),
            bind(update, outcome, expansion, grows),
        ),
        (Periods,),
        check_events=bind(check_categories, categories),
        features=("categories",),
    )
