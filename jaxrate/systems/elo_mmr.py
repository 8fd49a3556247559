"""Elo-MMR (Ebtekar and Liu 2021) and Elo-MMX: ratings of massive rounds.

A contest of weight w (times the contest's own, times a factor in a newcomer's first contests) lets a skill drift by
gamma^2 = w L^2, and a performance is skill plus noise of variance beta^2 = (1 + 1/w) L^2, so that deviations settle at
L, the limit. With drift by the clock, D per unit of time, gamma^2 grows by D days and beta^2 by D / w; a beta that is
given stays as it is. The noise of a contest (section 3.1: "free to set beta differently for each contest") multiplies
its beta, whatever that is made of, and leaves gamma alone.

A belief is a Gaussian factor of weight w_0 about m, and one logistic factor of weight w_k and deviation beta_k about
each earlier performance p_k. Its mode mu is the rating. Before a contest, with kappa = sigma^2 / (sigma^2 + gamma^2)
and t = kappa^rho (Algorithm 2, the pseudodiffusion):

    A = t w_0,  B = (1 - t) (w_0 + sum w_k)
    m <- (A m + B mu) / (A + B),  w_0 <- kappa (A + B),  w_k <- t kappa w_k,  sigma^2 <- sigma^2 + gamma^2

In it a player performs about mu with deviation delta = sqrt(sigma^2 + beta^2), which gives their performance p
(Theorem 3.3; `performance_inference.py`). It becomes a new factor of weight 1 / beta^2 (Algorithm 3): mu is the zero
of equation (6), and sigma follows from (8). With C = pi / sqrt 3

    mu solves w_0 (mu - m) + sum_k w_k beta_k C tanh(C (mu - p_k) / (2 beta_k)) = 0     (6)
    1/sigma^2 <- 1/sigma^2 + 1/beta^2                                                   (8)

Where the paper's algorithms stand: Algorithm 1, a round, is `infer`, after `age` where time passes. Algorithm 2,
diffuse(gamma, rho), is `pseudodiffuse`: its w_G is A, its w_L is B, and p_0 is m. Of Algorithm 3, update, the
first phase is in `performance_inference`, and the second is `add_performance` and `posterior_mode`.

The last `history` performances are kept; older ones join the Gaussian factor with their weight (section 5.3).
Elo-MMX (the paper's Elo-MM chi) has Gaussian performances, and so only one Gaussian factor.
A contest in which all tie is one like others, as in the paper; the authors' program skips it, and so does `skip_ties`.

A factor of weight w and deviation beta about a performance p says w beta^2 log f((p - s) / beta) of a skill s, with the
density f of the noise. So it pulls s upwards by -w beta (f'/f)((p - s) / beta). Of logistic noise that is the paper's
w_k beta_k^2 / bar beta_k tanh((p_k - s) / (2 bar beta_k)), with bar beta = sqrt 3 / pi beta: the factor is `force`, and
1 / (2 bar beta) `inverse`, so that w_k is their product times `PerformanceInfluenceFunction.weight`.

Elo-MMX of teams (Ebtekar and Liu 2021, section 7).

Members perform at P_j, of mean mu_j and variance delta_j^2 = sigma_j^2 + beta_j^2, and their team at sum_j c_j P_j: of
c_j = 1 the sum, of c_j = 1 / n the mean of n members. It has a Gaussian belief, of mean M and variance V,

    M = sum_j c_j mu_j,   V = sum_j c_j^2 delta_j^2

so that Theorem 3.3 infers the team's performance p, the mode of what the ranks leave possible. How sharply they tell it
is the curvature there of all terms of Q but its own, C = -Q'(p) - 1 / V. By Laplace's approximation the performance has
the precision 1 / V + C after the round: its variance has fallen by the share K = C V / (1 + C V). What this says of the
members are "elementary facts about multivariate Gaussian distributions":

    E[P_j] = mu_j + c_j delta_j^2 / V (p - M)
    mu_j <- mu_j + c_j sigma_j^2 / V (p - M),   sigma_j^2 <- sigma_j^2 - K c_j^2 sigma_j^4 / V

The paper takes p for known: K = 1. That is nearly so among many teams; but of only two, the result tells which of them
performed better, and little about how well (K = 0.34 where they were alike). In rounds in which nobody has
team-mates K is 1, as in Elo-MMX of players. A ceiling lowers p, and leaves K as it is.

A player in several teams learns from each of them as if the others were those of somebody like them, and what the teams
say is multiplied (`rounds/round_teams.py`). The skill drifts once, by the largest of their weights.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core.argument_checks import CHECKED_BY_FUNCTION, check_count, check_that
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.pairwise_rules import pass_time
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.events import Matches, Rounds
from jaxrate.numerics import selective_evaluation
from jaxrate.numerics.newton_iterations import decreasing_root
from jaxrate.systems.rounds import cdf_sums, expected_wins, hazard_tables, performance_inference, round_teams
from jaxrate.systems.rounds.cdf_sums import UNIT_SCALES
from jaxrate.systems.rounds.expected_wins import ExpectedWinsIntegrationMethod
from jaxrate.systems.rounds.hazard_tables import Density, HazardTable
from jaxrate.systems.rounds.performance_inference import NORMAL_NOISE, C, Performances, TieWeights
from jaxrate.systems.rounds.round_teams import (
    Teams,
    gather_team_values_to_members,
    sum_by_team,
    teams_by_standing,
    teams_with_result_hidden,
)

MODE_DISTANCE = 2.0  # deviations: the mean and the mode of a density with one maximum are at most sqrt 3 apart


class PerformanceInfluenceFunction(NamedTuple):
    """How a performance pulls at a rating: by force pull((p - s) inverse), which is -w beta (f'/f)((p - s) / beta)."""

    pull: Callable[[Array], tuple[Array, Array]]  # and its slope
    force: float  # what the force is of w beta
    inverse: float  # what the inverse is of 1 / beta

    @property
    def weight(self) -> float:
        """The weight, one over force times inverse."""
        return 1.0 / (self.force * self.inverse)


def _logistic_pull_and_slope(y: Array) -> tuple[Array, Array]:
    t = jnp.tanh(y)
    return t, 1.0 - t * t


LOGISTIC_INFLUENCE = PerformanceInfluenceFunction(_logistic_pull_and_slope, C, 0.5 * C)


class PerformanceHistory(NamedTuple):
    """The belief about a player whose performances are not normal."""

    mean: Array  # [num_players] of the Gaussian factor
    weight: Array  # [num_players] of the Gaussian factor
    performance: Array  # [num_players, history] one factor each, in a ring: number k stands in place k modulo history
    force: Array  # [num_players, history] w_k beta_k, times `Influence.force`; 0 where there is none yet
    inverse: Array  # [num_players, history] `Influence.inverse` / beta_k


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] sigma^2, as of `time`
    games: Array  # [num_players] contests that counted
    time: Array  # [num_players] of the last contest, counted or not; inf before the first that counted
    past: PerformanceHistory | None


def pseudodiffuse(
    rows: State,
    drift_variance: Array,
    rho: float | Array,
    influence: PerformanceInfluenceFunction = LOGISTIC_INFLUENCE,
) -> State:
    """The pseudodiffusion of rows [P, ...], or of one, (Algorithm 2) by gamma^2 = growth [P]; rating and games stay."""
    past = rows.past
    if past is not None:
        past = diffuse_history(past, rows.rating, rows.variance, drift_variance, rho, True, influence)
    return rows._replace(variance=rows.variance + drift_variance, past=past)


def diffuse_history(
    past: PerformanceHistory,
    rating: Array,
    variance: Array,
    growth: Array,
    rho: float | Array,
    is_applied: bool | Array,
    influence: PerformanceInfluenceFunction,
) -> PerformanceHistory:
    """The past performances after diffusion where it happens, for beliefs with this rating and variance."""
    kappa = variance / (variance + growth)
    finite = jnp.isfinite(jnp.asarray(rho))
    t = jnp.where(finite, jnp.exp(-jnp.where(finite, rho, 0.0) * jnp.log1p(growth / variance)), 0.0)
    kappa, t = (jnp.where(is_applied, x, 1.0) for x in (kappa, t))
    total = past.weight + jnp.sum(past.force * past.inverse, axis=-1) * influence.weight
    a, b = t * past.weight, (1.0 - t) * total
    mean = past.mean + b / _guard_zero_divisor(a + b) * (rating - past.mean)
    return past._replace(mean=mean, weight=kappa * (a + b), force=past.force * (t * kappa)[..., None])


def _guard_zero_divisor(total: Array) -> Array:
    """A sum of weights, to divide by; in float32 weights of long ago may all have vanished."""
    return jnp.where(total > 0, total, 1.0)


def add_performance(
    past: PerformanceHistory,
    p: Array,
    noise_variance: Array,
    index: Array,
    influence: PerformanceInfluenceFunction = LOGISTIC_INFLUENCE,
) -> PerformanceHistory:
    """Performance number `index` [P] (-1: none) of variance beta^2 joins; the one displaced is merged."""
    history = past.force.shape[1]
    slot = jnp.where(index < 0, -1, index % history)[:, None] == jnp.arange(history, dtype=jnp.int32)[None, :]
    old = jnp.sum(jnp.where(slot, past.force * past.inverse, 0.0), axis=1) * influence.weight
    weight = past.weight + old
    mean = past.mean + old / _guard_zero_divisor(weight) * (
        jnp.sum(jnp.where(slot, past.performance, 0.0), axis=1) - past.mean
    )
    beta = jnp.sqrt(noise_variance)[:, None]
    return PerformanceHistory(
        mean,
        weight,
        jnp.where(slot, p[:, None], past.performance),
        jnp.where(slot, influence.force / beta, past.force),
        jnp.where(slot, influence.inverse / beta, past.inverse),
    )


def posterior_mode(
    history: PerformanceHistory,
    initial_guess: Array,
    noise_variance: Array,
    influence: PerformanceInfluenceFunction = LOGISTIC_INFLUENCE,
) -> Array:
    """The rating [P] at which the factors of a belief balance, the last one of variance beta^2 = `noise_variance`."""

    def pull(x: Array) -> tuple[Array, Array]:
        value, slope = influence.pull((history.performance - x[:, None]) * history.inverse)
        value = history.weight * (history.mean - x) + jnp.sum(history.force * value, axis=1)
        return value, -history.weight - jnp.sum(history.force * history.inverse * slope, axis=1)

    wide = MODE_DISTANCE * influence.inverse / history.inverse
    low = jnp.minimum(history.mean, jnp.min(history.performance - wide, axis=1))
    high = jnp.maximum(history.mean, jnp.max(history.performance + wide, axis=1))
    most = jnp.max(jnp.where(history.force > 0, history.inverse, 0.0), axis=1) / influence.inverse
    narrowest = lax.stop_gradient(1.0 / jnp.maximum(most**2, 1.0 / noise_variance))  # factor's variance
    return decreasing_root(pull, initial_guess, low, high, UNIT_SCALES * jnp.sqrt(narrowest))


def guess_posterior_mode(
    history: PerformanceHistory,
    rating: Array,
    performance: Array,
    noise_variance: Array,
    influence: PerformanceInfluenceFunction = LOGISTIC_INFLUENCE,
) -> Array:
    """The mode after a logistic performance p, were the factors before it, which balance at the rating, Gaussian."""
    z = (history.performance - rating[:, None]) * history.inverse
    stiffness = history.weight + jnp.sum(history.force * history.inverse * influence.pull(z)[1], axis=1)
    beta, distance = jnp.sqrt(noise_variance), performance - rating
    force, inverse, gap = influence.force / beta, influence.inverse / beta, jnp.abs(distance)
    pull = force * inverse
    step = jnp.minimum(gap * pull / (stiffness + pull), force / _guard_zero_divisor(stiffness))  # too far
    for _ in range(3):  # Newton's, which come down to the root
        t = jnp.tanh((gap - step) * inverse)
        step -= (stiffness * step - force * t) / _guard_zero_divisor(stiffness + pull * (1.0 - t * t))
    return lax.stop_gradient(rating + jnp.sign(distance) * step)


def resolve_noise_params(
    system_name: str, weight: float | None, limit: float | None, beta: float | None, gamma: float | None
) -> Any:
    """weight, limit_deviation, beta and gamma: two of them, the first two unless others are given."""
    if (beta, gamma) == (None, None):
        return 0.2 if weight is None else weight, 80.0 if limit is None else limit, None, None
    are_none = (weight, limit) == (None, None)
    check_that(are_none, f"{system_name}: give weight and limit_deviation, or beta and gamma, not both")
    check_that(None not in (beta, gamma), f"{system_name}: beta and gamma go together; give both")
    return None, None, beta, gamma


class ContestVariances(NamedTuple):
    """Variances of a contest of weight 1."""

    growth: float | Array  # gamma^2 = w L^2
    limit: float | Array  # L^2
    noise: float | Array  # beta^2 - L^2: L^2 / w, and of the drift D / w


def contest_variances(params: Any) -> ContestVariances:
    """The variances of a contest by weight and limit_deviation, or by beta and gamma, if those are given."""
    if params.beta is not None and params.gamma is not None:
        ratio = params.gamma / params.beta  # w / sqrt(1 + w)
        part = 2.0 / (ratio + jnp.sqrt(ratio**2 + 4.0))  # ratio / w, which is 1 if gamma is 0
        return ContestVariances(params.gamma**2, params.gamma * params.beta * part, (params.beta * part) ** 2)
    square = params.limit_deviation**2
    drift = 0.0 if params.drift is None else params.drift
    return ContestVariances(params.weight * square, square, (square + drift) / params.weight)


def drift_and_noise(constants: Any, rows: State, weight: Array, factor: Array | None) -> tuple[Array, Array]:
    """gamma^2 and beta^2 of a contest that counts `weight` for each, and is noisier than others by the factor []."""
    weight = weight * constants.newcomer[jnp.minimum(rows.games, len(constants.newcomer) - 1)]
    square = constants.limit + constants.noise / weight
    return constants.growth * weight, square if factor is None else factor**2 * square


TABLE_FACTOR = 4  # times the points of the tables: teams perform more evenly than players


def team_performance_priors(
    sum_or_mean: str | None, rating: Array, performance_variance: Array, event: Rounds, teams: Teams
) -> tuple[Array, Array, Array]:
    """The parts c_j [P] that members have in their teams' performances, and M and V [T]; 0, 0 and 1 for padding."""
    size = jnp.maximum(teams.size, 1).astype(rating.dtype)
    part = 1.0 / gather_team_values_to_members(teams, size) if sum_or_mean == "mean" else jnp.ones_like(rating)
    part = jnp.where(cdf_sums.participant_mask(event), part, 0.0)
    variance = jnp.where(teams.size > 0, sum_by_team(teams, part**2 * performance_variance), 1.0)
    return part, sum_by_team(teams, part * rating), variance


def infer_team_members(
    model: "ModelSettings", rating: Array, variance: Array, noise: Array, event: Rounds, table_points: int
) -> tuple[Performances, Array]:
    """[P] members' expected performances, given their teams', and variances sigma^2 after the round.

    `rating` is mu, `variance` sigma^2 and `noise` beta^2, each [P].
    """
    teams, square = teams_by_standing(event), variance + noise
    part, mean, spread = team_performance_priors(model.teams, rating, square, event, teams)
    standing = performance_inference.make_round_standing_sums(
        NORMAL_NOISE,
        mean,
        jnp.sqrt(spread),
        event._replace(rank=teams.rank, weight=(teams.size > 0).astype(mean.dtype)),
        TABLE_FACTOR * table_points,
        model.ties,
    )
    p = performance_inference.infer_performance_from_standing(standing)
    needed = performance_inference.bisected_worst_rank_keeping_rating(standing)
    information = spread * performance_inference.rank_information_about_performance(standing, p)
    information = jnp.where(jnp.any(teams.size > 1), information / (1.0 + information), 1.0)
    if event.ceiling is not None:
        ceiling = jnp.where(teams.size > 0, sum_by_team(teams, part), 1.0) * event.ceiling
        p, needed = jnp.minimum(p, ceiling), jnp.where(ceiling < mean, 0, needed)
    surprise, precision = (gather_team_values_to_members(teams, x) for x in ((p - mean) / spread, information / spread))
    left = jnp.maximum(1.0 - part**2 * variance * precision, noise / square)  # at least, were one's performance known
    performances = Performances(rating + part * square * surprise, gather_team_values_to_members(teams, needed))
    return performances, variance * left


WEIGHT = hyper.Parameter(hyper.MAYBE_POSITIVE, "1", "w: what a contest counts, gamma^2 / limit_deviation^2")
LIMIT_DEVIATION = hyper.Parameter(hyper.MAYBE_NOT_NEGATIVE, "points", "L: where deviations settle")
BETA = hyper.Parameter(
    hyper.MAYBE_POSITIVE,
    "points",
    "noise of a performance; with gamma, in place of these two",
    caution="it predicts best, but is some 15% below the true noise of performances; its interval is too narrow",
)
GAMMA = hyper.Parameter(
    hyper.MAYBE_NOT_NEGATIVE, "points", "drift of a skill in every contest; goes with beta; 0: skills stay"
)
DRIFT = hyper.Parameter(hyper.MAYBE_NOT_NEGATIVE, "points^2 per day", "D: drift by the clock; None: none")


def check_split_ties(name: str, split_ties: Any) -> tuple[bool | float | tuple[float, float], TieWeights]:
    """The setting of this name as it is kept, and what a tie counts by it; ValueError unless it is one."""
    if isinstance(split_ties, (bool, np.bool_)):
        return bool(split_ties), (0.5, 0.5) if split_ties else None
    if isinstance(split_ties, (float, np.floating)) and 0.0 < split_ties < 1.0:
        return float(split_ties), (float(split_ties), float(split_ties))
    if np.shape(split_ties) == (2,):
        of_loss, of_win = (float(x) for x in split_ties)
        if min(of_loss, of_win) > 0.0 and max(of_loss, of_win) <= 1.0:  # then they differ by less than 1
            return (of_loss, of_win), (of_loss, of_win)
    allowed = (
        "True, False, a number above 0 and below 1, or what a tie counts of a loss and of a win, above 0, at most 1"
    )
    raise ValueError(f"{name}: split_ties must be {allowed}, got {split_ties!r}")


class PerformanceMethods(NamedTuple):
    """How performances of a density are expected and inferred."""

    integrals: ExpectedWinsIntegrationMethod | None  # that expect performances; None: these are normal
    gather: Callable[[Array, Array, Rounds, int, TieWeights], Any]  # sums over a round, by ratings and deviations
    performances: Callable[[Any], Array]  # [P] of these sums
    worst_ranks: Callable[[Any], Array]  # [P] at which performances are at least the ratings
    influence: PerformanceInfluenceFunction  # of a performance on a belief


LOGISTIC_METHODS = PerformanceMethods(
    expected_wins.LOGISTIC_INTEGRALS,
    performance_inference.make_logistic_cdf_sums,
    performance_inference.infer_logistic_performance,
    performance_inference.logistic_worst_rank_keeping_rating,
    LOGISTIC_INFLUENCE,
)
NORMAL_METHODS = PerformanceMethods(
    None,
    partial(performance_inference.make_round_standing_sums, NORMAL_NOISE),
    performance_inference.infer_performance_from_standing,
    performance_inference.bisected_worst_rank_keeping_rating,
    LOGISTIC_INFLUENCE,  # which is not asked for: beliefs hold no performances
)
CLOSED_FORMS = {"logistic": LOGISTIC_METHODS, "normal": NORMAL_METHODS}  # densities that need no tables of their own


def find_performance_methods(density: Density, table: HazardTable | None) -> PerformanceMethods:
    """The methods of a density, by its table unless they are closed forms."""
    if table is None:
        return CLOSED_FORMS[density.name]

    def pull(y: Array) -> tuple[Array, Array]:
        value, slope = hazard_tables.log_density_slope(table, y)
        return -value, -slope

    about = hazard_tables.tabulate_density(density)
    return NORMAL_METHODS._replace(
        integrals=hazard_tables.make_expected_wins_integration_method(table, about),
        gather=partial(performance_inference.make_round_standing_sums, hazard_tables.make_noise_density(table)),
        influence=PerformanceInfluenceFunction(pull, 1.0, 1.0),
    )


class ModelSettings(NamedTuple):
    """The settings that are fixed before hyperparameters have values."""

    density: Density  # of the noise of a performance
    history: int | None  # performances kept; None: normal ones, which need not be
    ties: TieWeights
    skip_ties: bool  # contests in which all tie change nothing
    newcomer: tuple[float, ...]  # factors of the weight in the first contests
    points: int  # of tables, in float32
    teams: str | None = None  # what a team's performance is of its members', "sum" or "mean"; None: no teams


class Constants(NamedTuple):
    params: Any
    growth: float | Array  # gamma^2 of a contest of weight 1
    limit: float | Array  # L^2
    noise: float | Array  # beta^2 of a contest of weight 1, less L^2
    newcomer: Array  # the factors, and 1
    table: HazardTable | None  # of the density; None: it is the logistic or the normal one


DEFAULT_HISTORY = 32


def init(model: ModelSettings, params: Any, num_players: int) -> State:
    square = params.initial_deviation**2
    rating, variance, time = (full_leaf(num_players, x) for x in (params.initial_rating, square, jnp.inf))
    past = None
    if model.history is not None:  # every leaf has memory of its own: the runner works in place
        mean, weight = full_leaf(num_players, params.initial_rating), full_leaf(num_players, 1.0 / square)
        none = (full_leaf((num_players, model.history), x) for x in (params.initial_rating, 0.0, 1.0))
        past = PerformanceHistory(mean, weight, *none)
    return State(rating, variance, full_leaf(num_players, 0, jnp.int32), time, past)


def prepare(model: ModelSettings, params: Any) -> Constants:
    newcomer, table = jnp.array([*model.newcomer, 1.0], float), None
    if model.density.name not in CLOSED_FORMS:
        table = jax.tree.map(lambda x: jnp.asarray(x, float), hazard_tables.tabulate_density(model.density).table)
    return Constants(params, *contest_variances(params), newcomer, table)


def age(model: ModelSettings, constants: Constants, rows: State, duration: Array) -> State:
    """The pseudodiffusion by elapsed time."""
    if constants.params.drift is None:
        return rows
    influence = find_performance_methods(model.density, constants.table).influence
    return pseudodiffuse(rows, constants.params.drift * duration, _rho_or_zero(constants), influence)


def _rho_or_zero(constants: Constants) -> float | Array:
    return getattr(constants.params, "rho", 0.0)


def predict_match(model: ModelSettings, constants: Constants, rows: State, match: Matches) -> Array:
    """The probability that player 0 does better."""
    share = predict(model, constants, rows, round_teams.match_as_contest(match))
    return 0.5 * (1.0 + share[0] - share[1])  # the two add up to 1


def predict(model: ModelSettings, constants: Constants, rows: State, contest: Rounds) -> Array:
    """The share of the others that each is expected to beat."""
    mask, weight = cdf_sums.participant_mask(contest), cdf_sums.participant_weights(contest)
    square = rows.variance + sum(drift_and_noise(constants, rows, weight, contest.noise))
    points = 2 * model.points // 3
    if model.teams and contest.solo is None:
        teams = teams_with_result_hidden(contest)
        _, mean, variance = team_performance_priors(model.teams, rows.rating, square, contest, teams)
        there, points = teams.size > 0, TABLE_FACTOR * points
        below, _ = expected_wins.expected_normal_wins_and_losses(mean, jnp.sqrt(variance), there, points)
        return gather_team_values_to_members(teams, expected_wins.expected_win_share(below, there))
    integrals = find_performance_methods(model.density, constants.table).integrals
    priors = rows.rating, jnp.sqrt(square), mask
    if integrals is None:
        below, _ = expected_wins.expected_normal_wins_and_losses(*priors, points, count=contest.present)
    else:
        points = cdf_sums.scale_table_points_to_precision(points)
        below = expected_wins.expected_wins_by_integrals(integrals, *priors, points, contest.present)
    return expected_wins.expected_win_share(below, mask)


def infer(model: ModelSettings, constants: Constants, rows: State, event: Rounds) -> tuple[State, Performances]:
    """Let skills drift, infer the performances, and add them to the beliefs; the ranks that would have kept ratings."""
    growth, square = drift_and_noise(constants, rows, cdf_sums.participant_weights(event), event.noise)
    growth = event.combine_by_player(growth, "max")  # of all seats of a player
    contested = cdf_sums.is_rated_contest(event, model.skip_ties)
    methods = find_performance_methods(model.density, constants.table)
    drifted = rows.variance + growth
    variance = drifted * square / (drifted + square)
    share, points = variance / square, cdf_sums.scale_table_points_to_precision(model.points)
    if model.teams and event.solo is None:
        performances, variance = infer_team_members(model, rows.rating, drifted, square, event, points)
    else:
        sums = methods.gather(rows.rating, jnp.sqrt(drifted + square), event, points, model.ties)
        performances = performance_inference.apply_rating_ceiling(
            methods.performances(sums), rows.rating, methods.worst_ranks(sums), event
        )
    p = performances.performance
    if rows.past is None:
        change, kept = share * (p - rows.rating), variance / drifted
        change, merged = round_teams.merge_multi_team_evidence(event, change, kept)
        rating, past = rows.rating + change, None
        variance = variance if event.seat is None else drifted * merged
    else:

        def remember(belief: tuple[Array, PerformanceHistory], *columns: Array) -> tuple[Array, PerformanceHistory]:
            (rating, past), (variance, growth, square, p, index) = belief, columns
            past = diffuse_history(
                past, rating, variance, growth, _rho_or_zero(constants), contested, methods.influence
            )
            start = guess_posterior_mode(past, rating, p, square, methods.influence)
            past = add_performance(past, p, square, index, methods.influence)
            return posterior_mode(past, start, square, methods.influence), past

        columns = rows.variance, growth, square, p, jnp.where(contested, rows.games, -1)
        rating, past = selective_evaluation.replace_row_tiles(
            remember, event.present, (rows.rating, rows.past), *columns
        )
    new = State(rating, variance, rows.games + 1, jnp.full_like(rows.time, event.time), None)
    old = rows._replace(time=jnp.where(jnp.isfinite(rows.time), event.time, jnp.inf), past=None)  # time has passed
    return jax.tree.map(lambda x, y: jnp.where(contested, x, y), new, old)._replace(past=past), performances


@system_factory
def elo_mmr(
    history: int = DEFAULT_HISTORY,
    split_ties: bool | float | Sequence[float] = False,
    newcomer: Sequence[float] = (),
    density: Annotated[Density | str, CHECKED_BY_FUNCTION] = "logistic",
    skip_ties: bool = False,
    *,
    weight: Annotated[float | None, WEIGHT] = None,
    limit_deviation: Annotated[float | None, LIMIT_DEVIATION] = None,
    beta: Annotated[float | None, BETA] = None,
    gamma: Annotated[float | None, GAMMA] = None,
    drift: Annotated[float | None, DRIFT] = None,
    initial_rating: Annotated[float, hyper.RATING] = 1500.0,
    initial_deviation: Annotated[float, hyper.DEVIATION] = 350.0,
    rho: Annotated[
        float,
        hyper.Parameter(
            hyper.HyperparameterRange(">= 0 or inf", 0.0, allows_inf=True),
            "1",
            "how fast drift makes earlier performances Gaussian",
        ),
    ] = 1.0,
) -> RatingSystem:
    """Elo-MMR(rho), of rounds, and of matches as contests of two: won, lost or drawn.

        jr.run(jr.elo_mmr(), rounds)

    `beta` and `gamma`, the paper's parameters of a contest of weight 1, take the place of `weight` and
    `limit_deviation`, which are 0.2 and 80 if none of the four is given. With a `drift`, contests must come in order of
    time; it also adds to the noise of a performance, but not to a `beta` that is given.

    Args:
      history: performances kept of each player, from 1: the memory, and most of the time, are proportional to it. What
        32 lose is measured in `experiments/speed.py`.
      split_ties: count a tie as half a win and half a loss, not as one of each; a number above 0 and below 1: as so
        much of each; two numbers (w_l, w_v), above 0 and at most 1: as so much of a loss and of a win (footnote 2).
      newcomer: factors of the weight in a player's first contests, as (0.6, 0.8).
      density: of the noise of a performance: "logistic", "normal", "gumbel", "laplace", or a
        `jr.extend.densities.Density` of your own, log-concave and without a corner. The normal one makes it Elo-MMX:
        `history` and `rho` do not matter.
      skip_ties: contests in which all tie change nothing, as in the authors' program; not so in their paper.

    Raises:
      ValueError: for an unknown name, a value out of range, or a density that is not log-concave or finite: says where.
    """
    check_count("elo_mmr: history", history, 1, 10_000)
    weight, limit_deviation, beta, gamma = resolve_noise_params("elo_mmr", weight, limit_deviation, beta, gamma)
    params, space = hyper.collect_params(elo_mmr, locals())
    density = hazard_tables.parse_density(density)
    kept = None if density.name == "normal" else history
    system = _make_system("elo_mmr", params, density, kept, split_ties, newcomer, skip_ties)
    named = density.name if density.name in hazard_tables.DENSITIES else density
    return system._replace(features=("noise",), space=space, settings=system.settings | {"density": named})


@system_factory
def elo_mmx(
    split_ties: bool | float | Sequence[float] = False,
    newcomer: Sequence[float] = (),
    team_performance: Literal["sum", "mean"] = "sum",
    skip_ties: bool = False,
    *,
    weight: Annotated[float | None, WEIGHT] = None,
    limit_deviation: Annotated[float | None, LIMIT_DEVIATION] = None,
    beta: Annotated[float | None, BETA] = None,
    gamma: Annotated[float | None, GAMMA] = None,
    drift: Annotated[float | None, DRIFT] = None,
    initial_rating: Annotated[float, hyper.RATING] = 1500.0,
    initial_deviation: Annotated[float, hyper.DEVIATION] = 350.0,
) -> RatingSystem:
    """Elo-MMX, which is Elo-MMR with Gaussian performances: it has the arguments of `elo_mmr` but `history` and `rho`.

    It also rates teams (section 7). The performance of a team is inferred from the ranks of all teams. What its members
    learn follows from it: those with large deviations learn most. The paper takes the inferred performance for exact;
    here it keeps the variance that the ranks leave it (Laplace's approximation), as those of two teams say little. A
    weight is what the contest counts for a member; a ceiling is that of every member. Where teams differ in size, sums
    compare well only if a rating of 0 is that of a member who adds nothing: take `initial_rating=0`, or the mean.

        rounds = [[["Ada", "Bo"], ["Cy"]], [["Cy", "Ada"], ["Bo"]]]  # the winners first
        jr.run(jr.elo_mmx(initial_rating=0), jr.data.from_teams(rounds))

    A player may be in several teams of a contest, with a row in each (see `rounds`). What their teams say is then
    combined, without regard to what the teams share.

    Args:
      split_ties, newcomer: as in `elo_mmr`.
      team_performance: what the performance of a team is of its members', "sum" or "mean".
      skip_ties: as in `elo_mmr`.

    Raises:
      ValueError: for an unknown name or a value out of range.
    """
    weight, limit_deviation, beta, gamma = resolve_noise_params("elo_mmx", weight, limit_deviation, beta, gamma)
    params, space = hyper.collect_params(elo_mmx, locals())
    normal = hazard_tables.DENSITIES["normal"]
    system = _make_system("elo_mmx", params, normal, None, split_ties, newcomer, skip_ties, team_performance)
    return system._replace(features=("teams", "seats", "noise"), space=space)


def _make_system(
    name: str,
    params: Any,
    density: Density,
    history: int | None,
    split_ties: bool | float | Sequence[float],
    newcomer: Sequence[float],
    skip_ties: bool,
    teams: str | None = None,
) -> RatingSystem:
    """A system with these settings, without features; ValueError for wrong ones, or for performances without noise."""
    factors = tuple(float(x) for x in newcomer)
    are_positive = all(0 < x < math.inf for x in factors)
    check_that(are_positive, f"{name}: factors for newcomers must be above 0, got {factors}")
    if params.beta is None:
        square = (1.0 + 1.0 / params.weight) * params.limit_deviation**2
        square += 0.0 if params.drift is None else params.drift / params.weight
    else:
        square = params.beta**2
    without_noise = f"{name}: a limit_deviation of 0 leaves performances without noise; give a drift as well"
    check_that(square > 0, without_noise)
    split_ties, ties = check_split_ties(name, split_ties)
    is_closed_form = density.name in CLOSED_FORMS
    points = cdf_sums.count_table_points(math.sqrt(square), params.initial_deviation)
    points *= 1 if is_closed_form else hazard_tables.tabulate_density(density).fine
    model = ModelSettings(density, history, ties, bool(skip_ties), factors, points, teams)
    advance = bind(pass_time, bind(age, model), ())
    rules = (bind(rule, model) for rule in (predict, predict_match, infer))
    return RatingSystem(
        bind(init, model),
        round_teams.make_contest_rules(bind(prepare, model), advance, *rules),
        (Matches, Rounds),
        check_events=bind(round_teams.check_match_results, name),
        padding_skipped_above=0 if is_closed_form else None,
        params=params,
        settings={"split_ties": split_ties, "newcomer": factors, "skip_ties": bool(skip_ties)},
    )
