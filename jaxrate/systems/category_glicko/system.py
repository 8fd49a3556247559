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
"""

from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.factory_hyperparameters import collect_params
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import (
    MAYBE_POSITIVE,
    NOT_NEGATIVE,
    PERIOD,
    POSITIVE,
    RATING,
    SIDE_ADVANTAGE,
    Parameter,
    check_whole_number,
)
from jaxrate.core.rules import Params, Rating, Rules
from jaxrate.core.system import (
    EventCheck,
    FactoryCall,
    RatingSystem,
    clip_optional,
    signed_side_advantage,
    split_sides,
    system_factory,
)
from jaxrate.events import Matches, Periods, Ragged, fail_where
from jaxrate.systems.category_glicko.posterior import (
    OUTCOME_DISTRIBUTIONS,
    games_from_both_sides,
    log_likelihood_derivatives,
    log_prior_density_derivatives,
    maximize_posterior,
    strengths_to_rating_and_modifiers,
    sum_by_player_and_category,
    update_mean_variance,
)
from jaxrate.systems.category_glicko.state_and_strengths import (
    Constants,
    State,
    advance,
    advance_through_period,
    init,
    prepare,
    rows_before_games,
    split_into_single_category_pairs,
    strengths_against,
)


def predict(outcome: str, grows: str, constants: Constants, rows: State, event: Matches | Periods) -> Array:
    """Expected score of the first player."""
    rows = rows_before_games(grows, constants, rows, event)
    period, share = split_into_single_category_pairs(event, rows.modifiers.shape[-1])
    first, second = split_sides(rows, period)
    category: Any = period.context.category
    params = constants.params
    mine, variance = strengths_against(first, category[:, 1])
    other, other_variance = strengths_against(second, category[:, 0])
    lead = mine - other + signed_side_advantage(period, params.side_advantage)
    expected = OUTCOME_DISTRIBUTIONS[outcome].chance(lead / jnp.sqrt(params.scale**2 + variance + other_variance))
    if share is not None:
        expected = jnp.sum(share * expected.reshape(share.shape), axis=1)
    return expected[0] if isinstance(event, Matches) else expected


def update(
    law: str, expansion: str, grows: str, constants: Constants, rows: State, event: Periods, key: Array | None
) -> State:
    """Mode or maximum a posteriori, then modifiers of sum zero, then the bounds."""
    del key
    params, scale, outcome = constants.params, constants.params.scale, OUTCOME_DISTRIBUTIONS[law]
    if grows == "unplayed":  # a newcomer's first period counts: note 3 makes no exception
        rows = rows._replace(time=jnp.where(jnp.isinf(rows.time), event.time, rows.time))
    idle = advance_through_period(constants, rows, event)
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
    low, high = constants.low, constants.high
    return State(
        params.initial_rating + scale * (rating + excess),
        scale * (modifiers - excess[:, None]),
        clip_optional(scale**2 * variance, low.rating, high.rating),
        clip_optional(scale**2 * modifier_variance, low.modifier, high.modifier),
        before.time,
    )


def summary(params: Params, rows: State) -> Rating:
    del params
    return Rating(rows.rating, jnp.sqrt(rows.variance))


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
    outcome: str = "probit",
    expansion: str = "mode",
    grows: str = "all",
    *,
    scale: Annotated[
        float, Parameter(POSITIVE, "points", "deviation of the difference of two performances", fitted=False)
    ] = 1000.0,
    initial_rating: Annotated[float, RATING] = 1000.0,
    initial_deviation: Annotated[
        float,
        Parameter(POSITIVE, "points", "deviation of a newcomer's rating", bounds=("deviation_min", "deviation_max")),
    ] = 160.0,
    initial_modifier_deviation: Annotated[
        float,
        Parameter(
            POSITIVE,
            "points",
            "deviation of a newcomer's modifiers",
            bounds=("deviation_min", "modifier_deviation_max"),
        ),
    ] = 160.0,
    growth: Annotated[
        float, Parameter(NOT_NEGATIVE, "points per sqrt(period)", "growth of the deviations of an idle player")
    ] = 65.0,
    deviation_min: Annotated[
        float | None, Parameter(MAYBE_POSITIVE, "points", "smallest deviation of a rating or modifier")
    ] = 40.0,
    deviation_max: Annotated[float, Parameter(POSITIVE, "points", "largest deviation of a rating")] = 160.0,
    modifier_deviation_max: Annotated[float, Parameter(POSITIVE, "points", "largest deviation of a modifier")] = 160.0,
    match_weight: Annotated[float, Parameter(POSITIVE, "matches", "what a match of weight 1 counts as")] = 1.0,
    period: Annotated[float, PERIOD] = 14.0,
    side_advantage: Annotated[float, SIDE_ADVANTAGE] = 0.0,
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
    check_whole_number("category_glicko", "categories", categories, 1, 1000)
    for name, value, known in (
        ("outcome", outcome, OUTCOME_DISTRIBUTIONS),
        ("expansion", expansion, ("mode", "map")),
        ("grows", grows, ("all", "unplayed")),
    ):
        if value not in known:
            raise ValueError(f"category_glicko: {name} must be {' or '.join(known)}, got {value!r}")
    params, space = collect_params(category_glicko, locals())
    predicting, learning = bind(predict, outcome, grows), bind(update, outcome, expansion, grows)
    return RatingSystem(
        "category_glicko",
        params,
        space,
        (Periods,),
        bind(init, categories),
        Rules(bind(prepare, categories), advance, predicting, learning),
        summary,
        EventCheck(("categories",), bind(check_categories, categories)),
        FactoryCall(
            category_glicko,
            (("categories", categories), ("outcome", outcome), ("expansion", expansion), ("grows", grows)),
        ),
    )
