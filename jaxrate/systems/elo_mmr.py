"""Elo-MMR (Ebtekar and Liu 2021, "An Elo-like system for massive multiplayer competitions").

A contest of weight w (times the contest's own, times a factor in a newcomer's first contests) lets a skill drift by
gamma^2 = w L^2, and a performance is skill plus noise of variance beta^2 = (1 + 1/w) L^2, so that deviations settle at
L, the limit. With drift by the clock, D per unit of time, gamma^2 grows by D days and beta^2 by D / w.

A belief is a Gaussian factor of weight w_0 about m, and one logistic factor of weight w_k and deviation beta_k about
each earlier performance p_k. Its mode mu is the rating. Before a contest, with kappa = sigma^2 / (sigma^2 + gamma^2)
and t = kappa^rho (Algorithm 2, the pseudodiffusion):

    A = t w_0,  B = (1 - t) (w_0 + sum w_k)
    m <- (A m + B mu) / (A + B),  w_0 <- kappa (A + B),  w_k <- t kappa w_k,  sigma^2 <- sigma^2 + gamma^2

In it everybody performs about mu with deviation sqrt(sigma^2 + beta^2), which gives his performance p (Theorem 3.3;
`performance.py`). It becomes a new factor of weight 1 / beta^2 (Algorithm 3, equations 5, 7, 8). With C = pi / sqrt 3

    mu solves w_0 (mu - m) + sum_k w_k beta_k C tanh(C (mu - p_k) / (2 beta_k)) = 0
    1/sigma^2 <- 1/sigma^2 + 1/beta^2

The last `history` performances are kept; older ones join the Gaussian factor with their weight (section 5.3).
Elo-MMX (the paper's Elo-MM chi) has Gaussian performances, and so only one Gaussian factor. A contest in which nobody
beats anybody changes nothing.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxrate.events import Array, Matches, Rounds
from jaxrate.numerics import decreasing_root
from jaxrate.system import Parameter, Rating, RatingSystem, Rules, elapsed, full, override
from jaxrate.systems.rounds import field, performance
from jaxrate.systems.rounds.field import HIGHEST, LOWEST, UNIT
from jaxrate.systems.rounds.performance import C

HISTORY = 32


class Params(NamedTuple):
    weight: float | Array | None = 0.2
    limit_deviation: float | Array | None = 80.0
    beta: float | Array | None = None
    gamma: float | Array | None = None
    drift: float | Array | None = None
    initial_rating: float | Array = 1500.0
    initial_deviation: float | Array = 350.0
    rho: float | Array = 1.0


class GaussianParams(NamedTuple):
    weight: float | Array | None = 0.2
    limit_deviation: float | Array | None = 80.0
    beta: float | Array | None = None
    gamma: float | Array | None = None
    drift: float | Array | None = None
    initial_rating: float | Array = 1500.0
    initial_deviation: float | Array = 350.0


SPACE = Params(
    weight=Parameter("positive", "> 0 or None", "1", "w: what a contest counts, gamma^2 / limit_deviation^2"),
    limit_deviation=Parameter("positive", ">= 0 or None", "points", "L: where deviations settle"),
    beta=Parameter("positive", "> 0 or None", "points", "noise of a performance; with gamma, in place of these two"),
    gamma=Parameter("positive", "> 0 or None", "points", "drift of a skill in every contest; goes with beta"),
    drift=Parameter("positive", ">= 0 or None", "points^2 per day", "D: drift by the clock; None: none"),
    initial_rating=Parameter("fixed", "-6000 to 9000", "points", "rating of a newcomer"),
    initial_deviation=Parameter("positive", "> 0", "points", "deviation of a newcomer"),
    rho=Parameter("positive", ">= 0 or inf", "1", "how fast drift makes earlier performances Gaussian"),
)


class Model(NamedTuple):
    """What is static."""

    history: int | None  # performances kept; None: Gaussian ones, which need not be
    split_ties: bool
    newcomer: tuple[float, ...]  # factors of the weight in the first contests
    points: int  # of tables, in float32


class Constants(NamedTuple):
    params: Params | GaussianParams
    weight: float | Array
    limit: float | Array  # L^2
    newcomer: Array  # the factors, and 1


class Past(NamedTuple):
    """The belief about a player of logistic performances."""

    mean: Array  # [num_players] of the Gaussian factor
    weight: Array  # [num_players] of the Gaussian factor
    performance: Array  # [num_players, history] one factor each, in a ring: number k stands in place k modulo history
    force: Array  # [num_players, history] w_k beta_k C, the most that it pulls; 0 where there is none yet
    inverse: Array  # [num_players, history] C / (2 beta_k)


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] sigma^2, as of `time`
    games: Array  # [num_players] contests that counted
    time: Array  # [num_players] of the last contest, counted or not; inf before the first that counted
    past: Past | None


def init(model: Model, params: Params | GaussianParams, num_players: int) -> State:
    square = params.initial_deviation**2
    rating, variance, time = (full(num_players, x) for x in (params.initial_rating, square, jnp.inf))
    past = None
    if model.history is not None:  # every leaf has memory of its own: the runner works in place
        mean, weight = full(num_players, params.initial_rating), full(num_players, 1.0 / square)
        none = (jnp.full((num_players, model.history), x, rating.dtype) for x in (0.0, 0.0, 1.0))
        past = Past(mean, weight, *none)
    return State(rating, variance, jnp.zeros(num_players, jnp.int32), time, past)


def prepare(model: Model, params: Params | GaussianParams) -> Constants:
    weight, limit = _usual(params)
    return Constants(params, weight, limit**2, jnp.array([*model.newcomer, 1.0], float))


def _usual(params: Params | GaussianParams) -> tuple[float | Array, float | Array]:
    """w and L, of beta and gamma if those are given."""
    weight, limit = params.weight, params.limit_deviation
    if params.beta is not None and params.gamma is not None:
        ratio = (params.beta / params.gamma) ** 2  # (1 + w) / w^2
        weight = (1.0 + jnp.sqrt(1.0 + 4.0 * ratio)) / (2.0 * ratio)
        limit = params.gamma / jnp.sqrt(weight)
    assert weight is not None and limit is not None
    return weight, limit


def advance(constants: Constants, rows: State, time: Array) -> State:
    """The pseudodiffusion by elapsed time."""
    if constants.params.drift is None:
        return rows
    return diffuse(rows, constants.params.drift * elapsed(time, rows.time), _rho(constants))


def _rho(constants: Constants) -> float | Array:
    return getattr(constants.params, "rho", 0.0)


def diffuse(rows: State, growth: Array, rho: float | Array, happens: bool | Array = True) -> State:
    """The pseudodiffusion of rows [P, ...], or of one, (Algorithm 2) by gamma^2 = growth [P]; rating and games stay.

    If it does not happen, only the variance is of use.
    """
    variance = rows.variance + growth
    if rows.past is None:
        return rows._replace(variance=variance)
    past = rows.past
    log_kappa = -jnp.log1p(growth / rows.variance)
    kappa = jnp.exp(log_kappa)
    finite = jnp.isfinite(jnp.asarray(rho))
    t = jnp.where(finite, jnp.exp(jnp.where(finite, rho, 0.0) * log_kappa), 0.0)
    kappa, t = (jnp.where(happens, x, 1.0) for x in (kappa, t))
    total = past.weight + jnp.sum(past.force * past.inverse, axis=-1) * (2.0 / C**2)
    a, b = t * past.weight, (1.0 - t) * total
    mean = past.mean + b / _safe(a + b) * (rows.rating - past.mean)
    past = past._replace(mean=mean, weight=kappa * (a + b), force=past.force * (t * kappa)[..., None])
    return rows._replace(variance=variance, past=past)


def _safe(total: Array) -> Array:
    """A sum of weights, to divide by; in float32 weights of long ago may all have vanished."""
    return jnp.where(total > 0, total, 1.0)


def noise(constants: Constants, rows: State, weight: Array) -> tuple[Array, Array]:
    """gamma^2 and beta^2 of a contest that counts `weight` for each."""
    w = constants.weight * weight * constants.newcomer[jnp.minimum(rows.games, len(constants.newcomer) - 1)]
    drift = 0.0 if constants.params.drift is None else constants.params.drift / w
    return w * constants.limit, (1.0 + 1.0 / w) * constants.limit + drift


def predict(model: Model, constants: Constants, rows: State, event: Rounds | Matches) -> Array:
    """The share of the others that each is expected to beat; of a match the probability that player 0 does better."""
    if isinstance(event, Matches):
        weight = jnp.ones(2, rows.rating.dtype) if event.context.weight is None else event.context.weight
        there = jnp.ones(2, bool)
    else:
        there = field.real(event)
        weight = field.weight(event)
    deviation = jnp.sqrt(rows.variance + sum(noise(constants, rows, weight)))
    kind = field.NORMAL if model.history is None else field.LOGISTIC
    below, _ = field.expected(kind, rows.rating, deviation, there, 2 * field.in_precision(model.points) // 3)
    share = field.share_of_others(below, there)
    return share[0] if isinstance(event, Matches) else share


def update(model: Model, constants: Constants, rows: State, event: Rounds, key: Array | None) -> State:
    """Let skills drift, infer the performances, and add them to the beliefs."""
    del key
    growth, square = noise(constants, rows, field.weight(event))
    contested = field.contested(event)
    drifted = diffuse(rows, growth, _rho(constants), contested)
    infer = performance.gaussian if model.history is None else performance.logistic
    deviation = jnp.sqrt(drifted.variance + square)
    p = infer(rows.rating, deviation, event, model.split_ties, field.in_precision(model.points))
    if event.ceiling is not None:
        p = jnp.minimum(p, event.ceiling)
    variance = drifted.variance * square / (drifted.variance + square)
    if drifted.past is None:
        rating, past = rows.rating + variance / square * (p - rows.rating), None
    else:
        past = add(drifted.past, p, square, jnp.where(contested, rows.games, -1))
        rating = mode(past, _guess(drifted.past, rows.rating, p, square))
    new = State(rating, variance, rows.games + 1, jnp.full_like(rows.time, event.time), None)
    old = rows._replace(time=jnp.where(jnp.isfinite(rows.time), event.time, jnp.inf), past=None)  # time has passed
    return jax.tree.map(lambda x, y: jnp.where(contested, x, y), new, old)._replace(past=past)


def add(past: Past, p: Array, square: Array, number: Array) -> Past:
    """Performance number `number` [P] (-1: none) of variance beta^2 = `square` joins; what it displaces is merged."""
    history = past.force.shape[1]
    slot = jnp.where(number < 0, -1, number % history)[:, None] == jnp.arange(history, dtype=jnp.int32)[None, :]
    old = jnp.sum(jnp.where(slot, past.force * past.inverse, 0.0), axis=1) * (2.0 / C**2)
    weight = past.weight + old
    mean = past.mean + old / _safe(weight) * (jnp.sum(jnp.where(slot, past.performance, 0.0), axis=1) - past.mean)
    beta = jnp.sqrt(square)[:, None]
    return Past(
        mean,
        weight,
        jnp.where(slot, p[:, None], past.performance),
        jnp.where(slot, C / beta, past.force),
        jnp.where(slot, 0.5 * C / beta, past.inverse),
    )


def mode(past: Past, guess: Array) -> Array:
    """The rating [P] at which the factors of a belief balance."""

    def pull(x: Array) -> tuple[Array, Array]:
        t = jnp.tanh((past.performance - x[:, None]) * past.inverse)
        value = past.weight * (past.mean - x) + jnp.sum(past.force * t, axis=1)
        return value, -past.weight - jnp.sum(past.force * past.inverse * (1.0 - t * t), axis=1)

    low, high = jnp.minimum(past.mean, LOWEST), jnp.maximum(past.mean, HIGHEST)
    return decreasing_root(pull, guess, low, high, UNIT)


def _guess(past: Past, rating: Array, p: Array, square: Array) -> Array:
    """The mode after performance p, were the factors before it, which balance at the rating, Gaussian ones."""
    z = (past.performance - rating[:, None]) * past.inverse
    stiffness = past.weight + jnp.sum(past.force * past.inverse * (1.0 - jnp.tanh(z) ** 2), axis=1)
    beta, distance = jnp.sqrt(square), p - rating
    force, inverse = C / beta, 0.5 * C / beta
    gap = jnp.abs(distance)
    pull = force * inverse
    step = jnp.minimum(gap * pull / (stiffness + pull), force / _safe(stiffness))  # too far
    for _ in range(3):  # Newton's, which come down to the root
        t = jnp.tanh((gap - step) * inverse)
        step -= (stiffness * step - force * t) / _safe(stiffness + pull * (1.0 - t * t))
    return lax.stop_gradient(rating + jnp.sign(distance) * step)


def summary(params: Params | GaussianParams, rows: State) -> Rating:
    del params
    return Rating(rows.rating, jnp.sqrt(rows.variance))


@lru_cache
def _bind(model: Model) -> tuple[Callable[[Any, int], State], Rules]:
    rules = Rules(partial(prepare, model), advance, partial(predict, model), partial(update, model))
    return partial(init, model), rules


def _clocked(params: Params | GaussianParams) -> bool:
    return params.drift is not None


def _settled(params: Params | GaussianParams) -> float | Array:
    return _usual(params)[1]


def elo_mmr(
    history: int = HISTORY, split_ties: bool = False, newcomer: Sequence[float] = (), **changes: float | None
) -> RatingSystem:
    """Elo-MMR(rho).

    Args:
      history: performances kept of each player, from 1: the memory, and most of the time, are proportional to it. What
        32 lose is measured in `experiments/elo_mmr_speed.py`.
      split_ties: count a tie as half a win and half a loss, not as one of each.
      newcomer: factors of the weight in a player's first contests, as (0.6, 0.8).
      **changes: replace defaults of `Params`. `beta` and `gamma`, the paper's parameters of a contest of weight 1,
        take the place of `weight` and `limit_deviation`. With a `drift`, contests must come in order of time.

    Raises:
      ValueError: for an unknown name or a value out of range.
    """
    if not (isinstance(history, int) and history >= 1):
        raise ValueError(f"elo_mmr: history must be a whole number from 1, got {history!r}")
    return _system("elo_mmr", history, split_ties, newcomer, changes)


def elo_mmx(split_ties: bool = False, newcomer: Sequence[float] = (), **changes: float | None) -> RatingSystem:
    """Elo-MMX, of Gaussian performances: `elo_mmr` without `history` and `rho`."""
    return _system("elo_mmx", None, split_ties, newcomer, changes)


def _system(
    name: str, history: int | None, split_ties: bool, newcomer: Sequence[float], changes: dict[str, float | None]
) -> RatingSystem:
    factors = tuple(float(x) for x in newcomer)
    if not all(0 < x < math.inf for x in factors):
        raise ValueError(f"{name}: factors for newcomers must be above 0, got {factors}")
    usual, paper = ("weight", "limit_deviation"), ("beta", "gamma")
    given = [x for x in paper if changes.get(x) is not None]
    if given and any(changes.get(x) is not None for x in usual):
        raise ValueError(f"{name}: give weight and limit_deviation, or beta and gamma, not both")
    if len(given) == 1:
        raise ValueError(f"{name}: beta and gamma go together; give both")
    params: Any = Params() if history is not None else GaussianParams()
    space = SPACE if history is not None else GaussianParams(*SPACE[:-1])
    params = override(name, params, space, changes | dict.fromkeys(usual if given else paper))
    if params.beta is None and (params.weight is None or params.limit_deviation is None):
        raise ValueError(f"{name}: weight and limit_deviation, or beta and gamma, must be given")
    square = params.beta**2 if given else (1.0 + 1.0 / params.weight) * params.limit_deviation**2
    square += 0.0 if params.drift is None or given else params.drift / params.weight
    if not square > 0:
        raise ValueError(f"{name}: a limit_deviation of 0 leaves performances without noise; give a drift as well")
    model = Model(history, bool(split_ties), factors, field.enough(math.sqrt(square)))
    settings = {"split_ties": model.split_ties, "newcomer": factors} | ({} if history is None else {"history": history})
    begin, rules = _bind(model)
    return RatingSystem(name, params, space, (Rounds,), begin, rules, summary, settings, _clocked, _settled)
