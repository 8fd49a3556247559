"""Weng and Lin (2011, "A Bayesian approximation method for online ranking"): five models of rounds of teams.

Before an event every variance s^2 grows by tau^2. A team i has the sums of its players' means and variances, m_i and
v_i. The event says A and B of it (the paper's Omega is v_i A, its Delta v_i^1.5 B), and a player of weight w learns

    mean <- mean + w s^2 A,   s^2 <- s^2 max(1 - w s^2 sqrt(v_i) B, kappa)

Full models compare i with every other team q, with c^2 = v_i + v_q + 2 beta^2 and t = (m_i - m_q) / c; A is the sum of
a / c and B that of b / c^3 (the paper's gamma is sqrt(v_i) / c):

    Bradley-Terry: a = (1, 1/2 or 0 for a win, a draw or a loss) - p,  b = p (1 - p),  p = 1 / (1 + e^-t)
    Thurstone-Mosteller: t plus standard normal noise proves to lie above e = epsilon / c, within e of 0, or below -e;
        a is the change of its mean, b the loss of variance (the paper's V and W)

In Plackett-Luce c^2 = sum_q (v_q + beta^2), and i has the share p_q of sum e^(m_r / c) over the teams r not ahead of q.
Each of the n_q teams that tie with q counts 1 / n_q; the sums are over the teams q not behind i:

    A = (1 / n_i - sum p_q / n_q) / c,   B = sum p_q (1 - p_q) / n_q / c^3

Partial models average over at most WINDOW teams ahead and as many behind in the standing, where those who tie stand by
their numbers. That and, in the partial Thurstone-Mosteller model, a c twice as large are openskill's (6.2); the paper
adds up one team on either side. A match is a round of two players: a score above 1/2 is a win of player 0.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import ndtr

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core.argument_checks import check_choice
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.pairwise_rules import pass_time, rate_players, signed_side_advantage
from jaxrate.core.rules import Params, RuleByKind, Rules
from jaxrate.core.system import RatingSystem, system_factory
from jaxrate.events import Matches, Rounds
from jaxrate.numerics.linear_algebra import exclusive_prefix_or_suffix_sums
from jaxrate.numerics.special_functions import truncated_normal_moments
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.rounds import cdf_sums
from jaxrate.systems.rounds.round_teams import (
    Teams,
    scale_performance_noise,
    sum_by_team,
    teams_by_standing,
    teams_with_result_hidden,
)
from jaxrate.systems.trueskill import (
    State,
    age,
    init,
    match_quality,
    round_outcome_probabilities,
    win_probabilities,
)

MODELS = "plackett_luce", *(f"{x}_{y}" for x in ("bradley_terry", "thurstone_mosteller") for y in ("full", "part"))
PARTIAL_WINDOW = 4
# A deviation of 0 would never change again.
KEPT_SHARE_RANGE = hyper.HyperparameterRange("above 0, to 1", 0.0, 1.0, above=True)


class Constants(NamedTuple):
    params: Params
    noise: float | Array  # 2 beta^2
    growth: float | Array  # tau^2
    scale: float  # of c


class TeamBelief(NamedTuple):
    """A team, or all of them in the order of the standing."""

    mean: Array
    variance: Array
    rank: Array
    number: Array  # from 0
    there: Array  # False for padding


def prepare(model: str, params: Params) -> Constants:
    return Constants(params, 2.0 * params.beta**2, params.tau**2, 2.0 if model == "thurstone_mosteller_part" else 1.0)


def expected_score(constants: Constants, lead: Array, variance: Array) -> Array:
    """Expected score against a team that is so many points below; the sum of the variances."""
    c, margin = constants.scale * jnp.sqrt(variance + constants.noise), constants.params.epsilon
    if margin is None:
        return jax.nn.sigmoid(lead / c)
    return 0.5 * (ndtr((lead - margin) / c) + ndtr((lead + margin) / c))


def comparison_terms(constants: Constants, lead: Array, variance: Array, sign: Array) -> tuple[Array, Array]:
    """a / c and b / c^3 of a win (`sign` 1), a draw (0) or a loss (-1) against a team that is so many points below."""
    c = constants.scale * jnp.sqrt(variance + constants.noise)
    t = lead / c
    if constants.params.epsilon is None:
        p, q = jax.nn.sigmoid(t), jax.nn.sigmoid(-t)
        a, b = 0.5 * (1.0 + sign) * q - 0.5 * (1.0 - sign) * p, p * q
    else:
        side = jnp.where(sign < 0, -1.0, 1.0)
        a, b, *_ = truncated_normal_moments(side * t, constants.params.epsilon / c, sign == 0)
        a = side * a
    return a / c, b / c**3


def team_beliefs(rows: State, event: Rounds, teams: Teams) -> TeamBelief:
    mask = cdf_sums.participant_mask(event)
    mean, variance = (sum_by_team(teams, jnp.where(mask, x, 0.0)) for x in (rows.rating, rows.variance))
    rank = teams.rank.astype(mean.dtype)  # (XLA's code for the processor cannot always compare integers among floats)
    return TeamBelief(mean, variance, rank, jnp.arange(len(mean), dtype=jnp.int32), teams.size > 0)


def map_over_teams(function: Callable[[TeamBelief], Any], beliefs: TeamBelief) -> Any:
    """A function of one team, which looks at all, for each; in large rounds for some at once, to limit the memory."""
    if len(beliefs.mean) <= cdf_sums.max_pairwise_participants():
        return jax.vmap(function)(beliefs)
    return lax.map(jax.checkpoint(function), beliefs, batch_size=cdf_sums.comparison_batch_size(len(beliefs.mean)))


def match_lead(constants: Constants, rows: State, match: Matches) -> Array:
    """The points by which player 0 leads, with those of the side."""
    return rows.rating[0] - rows.rating[1] + signed_side_advantage(match, constants.params.side_advantage)


def predict_match(constants: Constants, rows: State, match: Matches) -> Array:
    """Expected score of player 0."""
    return expected_score(constants, match_lead(constants, rows, match), jnp.sum(rows.variance))


def predict_round(constants: Constants, rows: State, event: Rounds) -> Array:
    """The share [P] of the other teams that one's own should beat."""
    constants, teams = scale_performance_noise(constants, event), teams_with_result_hidden(event)
    sides = team_beliefs(rows, event, teams)

    def beaten(me: TeamBelief) -> Array:
        p = expected_score(constants, me.mean - sides.mean, me.variance + sides.variance)
        return jnp.sum(jnp.where(sides.there & (sides.number != me.number), p, 0.0))

    others = jnp.sum(sides.there.astype(rows.rating.dtype)) - 1.0
    return jnp.where(others > 0, map_over_teams(beaten, sides) / jnp.maximum(others, 1.0), 0.5)[teams.of]


def predict_round_outcomes(constants: Constants, rows: State, event: Rounds) -> OutcomeProbabilities:
    """[P] who wins a round, of participants by their teams.

    Team i comes first with probability e^(m_i / c) / sum_q e^(m_q / c), as in Plackett-Luce and, by Luce's choice
    axiom, in Bradley-Terry, where nobody draws; c^2 is the mean of that of two teams. In Thurstone-Mosteller
    performances are normal.
    """
    share, constants = predict_round(constants, rows, event), scale_performance_noise(constants, event)
    teams = teams_with_result_hidden(event)
    sides = team_beliefs(rows, event, teams)
    noise = jnp.broadcast_to(jnp.asarray(0.5 * constants.noise, sides.mean.dtype), sides.mean.shape)
    variance = jnp.where(sides.there, sides.variance + noise, 1.0)
    if constants.params.epsilon is None:
        square = 2.0 * jnp.mean(variance, where=sides.there | ~jnp.any(sides.there))
        win = jax.nn.softmax(jnp.where(sides.there, sides.mean * lax.rsqrt(square), -jnp.inf))
    else:
        margin = 0.5**0.5 * constants.params.epsilon
        win = win_probabilities(teams, sides.mean, constants.scale**2 * variance, margin, jnp.ones_like(variance))
    quality = match_quality(noise, sides.mean, variance, sides.there)
    return round_outcome_probabilities(teams, win, share, quality)


def pairwise_update_terms(model: str, constants: Constants, beliefs: TeamBelief) -> tuple[Array, Array]:
    """A and B [P] of the teams."""

    def against(team: TeamBelief, others: TeamBelief) -> tuple[Array, Array]:
        sign = jnp.sign(others.rank - team.rank)
        a, b = comparison_terms(constants, team.mean - others.mean, team.variance + others.variance, sign)
        met = others.there & (others.number != team.number)
        count = jnp.maximum(jnp.sum(met.astype(team.mean.dtype)), 1.0) if model.endswith("part") else 1.0
        return jnp.sum(jnp.where(met, a, 0.0)) / count, jnp.sum(jnp.where(met, b, 0.0)) / count

    if model.endswith("full"):
        return map_over_teams(partial(against, others=beliefs), beliefs)
    last = len(beliefs.mean) - 1
    around = beliefs.number[:, None] + np.arange(-PARTIAL_WINDOW, PARTIAL_WINDOW + 1, dtype=np.int32)[None, :]
    others = jax.tree.map(lambda x: x[jnp.clip(around, 0, last)], beliefs)
    others = others._replace(there=others.there & (others.number == around))
    return jax.vmap(against)(beliefs, others)


def plackett_luce_update_terms(constants: Constants, beliefs: TeamBelief) -> tuple[Array, Array]:
    """A and B [P] of the teams, from sums by rank."""
    mean, mask = beliefs.mean, beliefs.there.astype(beliefs.mean.dtype)
    c = jnp.sqrt(jnp.where(jnp.any(beliefs.there), jnp.sum(mask * (beliefs.variance + 0.5 * constants.noise)), 1.0))
    best = lax.stop_gradient(jnp.max(jnp.where(beliefs.there, mean, -np.inf)))
    farthest = -0.43 * float(np.log(np.finfo(mean.dtype).tiny))  # beyond it squares would vanish
    e = mask * jnp.exp(-jnp.minimum(jnp.where(beliefs.there, best - mean, 0.0) / c, farthest))
    rank = beliefs.rank.astype(jnp.int32)
    by_rank, count = cdf_sums.sum_by_group(rank, jnp.stack([e, mask], axis=-1)).T
    below = by_rank + exclusive_prefix_or_suffix_sums(by_rank, from_end=True)
    inverse = jnp.where(count > 0, 1.0 / jnp.where(count > 0, below, 1.0), 0.0)
    both = jnp.stack([inverse, inverse**2], axis=-1)
    first, second = (both + exclusive_prefix_or_suffix_sums(both))[rank].T
    p, square = e * first, e * e * second
    return (1.0 / jnp.maximum(count[rank], 1.0) - p) / c, (p - square) / c**3


def update_from_terms(
    constants: Constants, rows: State, update_terms: tuple[Array, ...], team_variance: Array | None, time: Array
) -> State:
    """The rows from w A and w B; `team_variance` is the variance v_i, None if everybody is a team of one."""
    left = 1.0 - rows.variance * jnp.sqrt(rows.variance if team_variance is None else team_variance) * update_terms[1]
    time = None if rows.time is None else jnp.full_like(rows.time, time)
    return State(
        rows.rating + rows.variance * update_terms[0], rows.variance * jnp.maximum(left, constants.params.kappa), time
    )


def update_from_match(constants: Constants, rows: State, match: Matches) -> State:
    """Let skills drift, and learn."""
    grown, lead = rows._replace(variance=rows.variance + constants.growth), match_lead(constants, rows, match)
    sign = jnp.sign(match.score - 0.5).astype(lead.dtype)
    one, two = (comparison_terms(constants, x * lead, jnp.sum(grown.variance), x * sign) for x in (1.0, -1.0))
    return rate_players(
        partial(update_from_terms, constants, team_variance=None, time=match.time), grown, match, one, two
    )


def update_from_round(model: str, constants: Constants, rows: State, event: Rounds) -> State:
    """Let skills drift, and learn. A team alone learns nothing."""
    constants, teams = scale_performance_noise(constants, event), teams_by_standing(event)
    grown = rows._replace(variance=rows.variance + constants.growth)
    sides = team_beliefs(grown, event, teams)
    if model == "plackett_luce":
        terms = plackett_luce_update_terms(constants, sides)
    else:
        terms = pairwise_update_terms(model, constants, sides)
    a, b = (event.weight * x[teams.of] for x in terms)
    contested = cdf_sums.participant_mask(event) & (jnp.sum(sides.there.astype(jnp.int32)) > 1)
    new = update_from_terms(constants, grown, (a, b), jnp.where(contested, sides.variance[teams.of], 1.0), event.time)
    old = rows if rows.time is None else rows._replace(time=jnp.where(jnp.isfinite(rows.time), event.time, jnp.inf))
    return jax.tree.map(lambda x, y: jnp.where(contested, x, y), new, old)


@system_factory
def weng_lin(
    model: str = "bradley_terry_full",
    *,
    beta: Annotated[float, hyper.PERFORMANCE_NOISE] = 25.0 / 6.0,
    tau: Annotated[float, hyper.SKILL_DRIFT] = 25.0 / 300.0,
    epsilon: Annotated[
        float | None,
        hyper.Parameter(
            hyper.MAYBE_NOT_NEGATIVE, "points", "margin of a draw; of Thurstone-Mosteller only", concerns_draws=True
        ),
    ] = None,
    kappa: Annotated[
        float,
        hyper.Parameter(
            KEPT_SHARE_RANGE, "1", "least share of a variance that is left by a match or round", fitted=False
        ),
    ] = 1e-4,
    drift: Annotated[float | None, hyper.CLOCK_DRIFT] = None,
    initial_rating: Annotated[float, hyper.RATING] = 25.0,
    initial_deviation: Annotated[float, hyper.DEVIATION] = 25.0 / 3.0,
    side_advantage: Annotated[float, hyper.SIDE_ADVANTAGE] = 0.0,
) -> RatingSystem:
    """Weng and Lin's systems, of matches and of rounds.

        jr.run(jr.weng_lin("plackett_luce"), rounds)

    Only Thurstone-Mosteller's models have an `epsilon`, by default 0.1. With a `drift`, rounds must come in order of
    time.

    Args:
      model: the name of the model, one of `MODELS`.

    Raises:
      ValueError: for an unknown name or a value out of range.
    """
    check_choice("weng_lin: model", model, MODELS)
    if model.startswith("thurstone_mosteller"):
        epsilon = 0.1 if epsilon is None else epsilon
    elif epsilon is not None:
        raise ValueError(f"weng_lin: {model} has no epsilon")
    rules = Rules(
        bind(prepare, model),
        bind(pass_time, age, ()),
        RuleByKind(predict_match, rounds=predict_round),
        RuleByKind(update_from_match, rounds=bind(update_from_round, model)),
        outcomes=RuleByKind(rounds=predict_round_outcomes),
    )
    params, space = hyper.collect_params(weng_lin, locals())
    return RatingSystem(init, rules, (Matches, Rounds), features=("teams", "noise"), params=params, space=space)
