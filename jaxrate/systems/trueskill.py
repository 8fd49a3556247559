"""TrueSkill (Herbrich, Minka and Graepel 2006, "TrueSkill: a Bayesian skill rating system").

Before an event every skill drifts: sigma^2 <- sigma^2 + tau^2. A participant performs at his skill plus noise of
variance beta^2, and a team t at the sum of its members' performances times their weights (partial play), which has mean

    M_t = sum w mu   and variance   V_t = sum w^2 (sigma^2 + beta^2)

A team beats the next one in the standing if it performs better by more than the draw margin, and ties if the difference
is within it. Where a share p of matches between equals is drawn, the margin of teams of n_1 and n_2 players is

    epsilon = Phi^-1((p + 1) / 2) sqrt(n_1 + n_2) beta

Of two sides, with c^2 = V_1 + V_2, t = (M_1 - M_2) / c and e = epsilon / c, the difference has after a win (a draw) the
mean and variance of N(t, 1) above e (inside [-e, e]), and v and w are the change of the mean and the loss of variance:

    mu <- mu +- w_i sigma^2 / c v,   sigma^2 <- sigma^2 (1 - w_i^2 sigma^2 / c^2 w)

Longer standings are chains of such differences, solved by expectation propagation. Each link k has an approximate
message about its difference, of mean d_k and variance r_k. Between the messages everything is Gaussian, and what comes
down the chain to a team, or up to it, has variance s and mean m:

    s' = V s+ / (V + s+),   m' = M + V / (V + s+) (m + d - M),   s+ = s + r

All messages are then made anew from the teams above and below each link, which is a sweep. For T teams there are
8 + log2 T of them, after which eight newcomers are within 1e-9 of their ratings of about 25, and random teams with
ties, partial play and wide margins within 1e-4; two sides need one. (Making messages one by one down the chain and up
again, as is usual, takes half as many sweeps, but cannot be done for all at once.)
"""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import erfc, erfinv

from jaxrate.events import Array, Matches, Rounds
from jaxrate.numerics import above, truncated
from jaxrate.system import Parameter, Rating, RatingSystem, Rules, advantage, elapsed, full, override
from jaxrate.systems.rounds import field
from jaxrate.systems.rounds.teams import Teams, by_number, each, line_up, total

EXTRA = 8  # sweeps beyond the logarithm of the number of teams
POINTS = 128  # of the tables that predictions of large rounds are read from, in float32
FREE = 1e15  # variance of a message that says nothing, of a link whose teams have variance 1


class Params(NamedTuple):
    beta: float | Array = 25.0 / 6.0
    tau: float | Array = 25.0 / 300.0
    draw_probability: float | Array = 0.1
    drift: float | Array | None = None
    initial_rating: float | Array = 25.0
    initial_deviation: float | Array = 25.0 / 3.0
    side_advantage: float | Array = 0.0


SPACE = Params(
    beta=Parameter("positive", "> 0", "points", "noise of a performance"),
    tau=Parameter("positive", ">= 0", "points", "drift of a skill in every match or round"),
    draw_probability=Parameter(
        "unit", "0 to 1, without 1", "1", "share of draws between equals, which sets the margin"
    ),
    drift=Parameter("positive", ">= 0 or None", "points^2 per day", "drift of a skill by the clock; None: none"),
    initial_rating=Parameter("fixed", "any number", "points", "rating of a newcomer"),
    initial_deviation=Parameter("positive", "> 0", "points", "deviation of a newcomer"),
    side_advantage=Parameter("real", "any number", "points", "rating points that the better side is worth"),
)


class Constants(NamedTuple):
    params: Params
    noise: float | Array  # beta^2
    growth: float | Array  # tau^2
    margin: float | Array  # of two teams with one player between them


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] sigma^2
    time: Array | None  # [num_players] of the last event; inf before the first. None: skills do not drift by the clock


def init(params: Any, num_players: int) -> State:
    rating, variance = full(num_players, params.initial_rating), full(num_players, params.initial_deviation**2)
    return State(rating, variance, None if params.drift is None else full(num_players, jnp.inf))


def prepare(params: Params) -> Constants:
    deviate = 2.0**0.5 * erfinv(jnp.asarray(params.draw_probability, float))  # Phi^-1((p + 1) / 2)
    return Constants(params, params.beta**2, params.tau**2, deviate * params.beta)


def advance(constants: Any, rows: State, time: Array) -> State:
    """The drift by elapsed time."""
    if rows.time is None or constants.params.drift is None:
        return rows
    return rows._replace(variance=rows.variance + constants.params.drift * elapsed(time, rows.time))


def lead(constants: Constants, rows: State, event: Matches) -> tuple[Array, Array, Array]:
    """By how much player 0 should perform better, the deviation c of that, and the margin."""
    spread = jnp.sqrt(jnp.sum(rows.variance) + 2.0 * (constants.growth + constants.noise))
    ahead = rows.rating[0] - rows.rating[1] + advantage(event, constants.params.side_advantage)
    return ahead, spread, 2.0**0.5 * jnp.asarray(constants.margin, spread.dtype)


def predict(constants: Constants, rows: State, event: Matches | Rounds) -> Array:
    """Expected score of player 0; of a round the share [P] of the other teams that one's own should beat.

    A draw is half a win. In rounds of more than `field.SMALL` participants the margin is that of teams of equal size.
    """
    if isinstance(event, Matches):
        return score(*lead(constants, rows, event))
    teams = by_number(event)
    mean, variance = performances(constants, rows, event, teams)
    there, deviation = teams.size > 0, jnp.sqrt(variance)
    if teams.member is not None:
        size = teams.size.astype(mean.dtype)
        margin = constants.margin * jnp.sqrt(size[:, None] + size[None, :])
        spread = jnp.sqrt(variance[:, None] + variance[None, :])
        p = score(mean[:, None] - mean[None, :], spread, margin)
        others = there[None, :] & ~jnp.eye(len(there), dtype=bool)
        count = jnp.sum(there.astype(mean.dtype)) - 1.0
        share = jnp.sum(jnp.where(others, p, 0.0), axis=1) / jnp.maximum(count, 1.0)
        return each(teams, jnp.where(count > 0, share, 0.5))
    margin = constants.margin * jnp.sqrt(2.0 * teams.size.astype(mean.dtype))
    below, _ = field.expected(field.NORMAL, mean, deviation, there, field.in_precision(POINTS), margin)
    return each(teams, field.share_of_others(below, there))


def score(ahead: Array, spread: Array, margin: Array) -> Array:
    """Expected score, a draw half a win, of who should perform better by so much."""
    low, high = (0.5 * erfc((0.5**0.5) * (x - ahead) / spread) for x in (margin, -margin))
    return 0.5 * (low + high)


def performances(constants: Constants, rows: State, event: Rounds, teams: Teams) -> tuple[Array, Array]:
    """M and V [T] of the teams, after the drift; 0 and 1 for padding."""
    square = event.weight**2 * (rows.variance + (constants.growth + constants.noise))
    return total(teams, event.weight * rows.rating), jnp.where(teams.size > 0, total(teams, square), 1.0)


def update(sweeps: int | None, constants: Constants, rows: State, event: Matches | Rounds, key: Array | None) -> State:
    """Let skills drift, and learn from who beat whom."""
    del key
    variance, contested = rows.variance + constants.growth, True
    if isinstance(event, Matches):
        ahead, spread, margin = lead(constants, rows, event)
        sign = jnp.where(event.score < 0.5, -1.0, 1.0)
        v, w, *_ = truncated(sign * ahead / spread, margin / spread, event.score == 0.5)
        push, information = sign * v / spread, w / spread**2
        push = jnp.stack([push, -push])
        kept = 1.0 - variance * information
        if event.context.weight is not None:  # so many times the message about the skill
            whole = kept + event.context.weight * variance * information
            push, kept = event.context.weight * push / whole, kept / whole
        rating, variance = rows.rating + variance * push, variance * kept
    else:
        teams = line_up(event)
        contested = teams.size[min(1, len(teams.size) - 1)] > 0  # by two teams, or more
        pull, information = (each(teams, x) for x in propagate(sweeps, constants, rows, event, teams))
        square = event.weight * variance
        rating = jnp.where(contested, rows.rating + square * pull, rows.rating)
        variance = jnp.where(contested, variance * (1.0 - event.weight * square * information), rows.variance)
    if rows.time is None:
        return State(rating, variance, None)
    return State(rating, variance, jnp.where(contested | jnp.isfinite(rows.time), event.time, jnp.inf))


class Link(NamedTuple):
    """The message about a difference [T - 1] of neighbours."""

    mean: Array  # d
    variance: Array  # r


def propagate(
    sweeps: int | None, constants: Constants, rows: State, event: Rounds, teams: Teams
) -> tuple[Array, Array]:
    """What a round says about the teams' performances: (m - M) / V and (V - s) / V^2 [T], of the mean m and variance s.

    That is how far a member of weight w moves, in units of w sigma^2, and how much he loses, in units of w^2 sigma^4.
    """
    mean, variance = performances(constants, rows, event, teams)
    size = teams.size.astype(mean.dtype)
    margin = constants.margin * jnp.sqrt(size[:-1] + size[1:])
    tied, there = teams.rank[:-1] == teams.rank[1:], teams.size[1:] > 0
    gap, free = mean[:-1] - mean[1:], FREE * (variance[:-1] + variance[1:])
    come = chain if jax.default_backend() == "cpu" else chain_at_once

    def message(down: tuple[Array, Array], up: tuple[Array, Array]) -> Link:
        """From the variance of each team and the distance of its mean from M, without the link's own message."""
        square = down[0][:-1] + up[0][1:]
        spread, ahead = jnp.sqrt(square), gap + (down[1][:-1] - up[1][1:])
        known = ahead / spread, margin / spread
        _, w, left, centre = truncated(*known, tied) if event.strict is None else above(*known)
        w = jnp.maximum(w, 1.0 / FREE)
        return Link(jnp.where(there, spread * centre / w, 0.0), jnp.where(there, square * left / w, free))

    def passed(link: Link) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """What comes to each team from the teams above it, and from those below, with its own performance."""
        ways = jnp.stack([link.variance, link.variance[::-1]]), jnp.stack([gap - link.mean, (link.mean - gap)[::-1]])
        s, m = come(jnp.stack([variance, variance[::-1]]), *ways)
        return (s[0], m[0]), (s[1, ::-1], m[1, ::-1])

    def sweep(told: tuple[Any, ...], _: None) -> tuple[tuple[Any, ...], None]:
        link = message(*told[1:])
        return (link, *passed(link)), None

    nothing = variance, jnp.zeros_like(mean)
    enough = sweeps or (1 if len(size) <= 2 else EXTRA + (len(size) - 1).bit_length())
    (link, (s, m), (t, n)), _ = lax.scan(sweep, (Link(gap, gap), nothing, nothing), length=enough)
    zero = jnp.zeros(1, mean.dtype)
    from_above = jnp.append(zero, 1.0 / (s[:-1] + link.variance)), jnp.append(zero, m[:-1] + gap - link.mean)
    from_below = jnp.append(1.0 / (t[1:] + link.variance), zero), jnp.append(n[1:] - gap + link.mean, zero)
    precision = from_above[0] + from_below[0]
    pull = from_above[0] * from_above[1] + from_below[0] * from_below[1]
    return pull / (1.0 + precision * variance), precision / (1.0 + precision * variance)


def chain(variance: Array, between: Array, step: Array) -> tuple[Array, Array]:
    """s and m - M [..., T] of the module's docstring for every team of a chain, one after the other.

    Args:
      variance: [..., T] V.
      between: [..., T - 1] r.
      step: [..., T - 1] d and the difference of M, from each team to the next one.
    """

    def one(carry: tuple[Array, Array], entry: tuple[Array, ...]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        (s, m), (v, r, d) = carry, entry
        s = s + r
        share = v / (v + s)
        carry = s * share, share * (m + d)
        return carry, carry

    v, r, d = (jnp.moveaxis(x, -1, 0) for x in (variance, between, step))
    # Of few teams there are many rounds at once, and more is done in a step than it takes to start it.
    _, (s, m) = lax.scan(one, (v[0], jnp.zeros_like(v[0])), (v[1:], r, d), unroll=len(r) < 16)
    s, m = jnp.concatenate([v[:1], s]), jnp.concatenate([jnp.zeros_like(v[:1]), m])
    return jnp.moveaxis(s, 0, -1), jnp.moveaxis(m, 0, -1)


def chain_at_once(variance: Array, between: Array, step: Array) -> tuple[Array, Array]:
    """The same in a logarithmic number of operations: a step of s is linear in its numerator and denominator."""

    def both(one: tuple[Array, ...], two: tuple[Array, ...]) -> tuple[Array, ...]:
        (a, b, c, d), (e, f, g, h) = one, two
        product = e * a + f * c, e * b + f * d, g * a + h * c, g * b + h * d
        largest = sum(product)
        return tuple(x / largest for x in product)

    def affine(one: tuple[Array, Array], two: tuple[Array, Array]) -> tuple[Array, Array]:
        return one[0] * two[0], two[0] * one[1] + two[1]

    first, rest = variance[..., :1], variance[..., 1:]
    size = rest + (rest + between + rest * between + 1.0)
    moves = rest / size, rest * between / size, 1.0 / size, (rest + between) / size
    a, b, c, d = lax.associative_scan(both, moves, axis=-1)
    s = jnp.concatenate([first, (a * first + b) / (c * first + d)], axis=-1)
    share = rest / (rest + (s[..., :-1] + between))
    _, m = lax.associative_scan(affine, (share, share * step), axis=-1)
    return s, jnp.concatenate([jnp.zeros_like(first), m], axis=-1)


def summary(params: Any, rows: State) -> Rating:
    del params
    return Rating(rows.rating, jnp.sqrt(rows.variance))


@lru_cache
def _rules(sweeps: int | None) -> Rules:
    return Rules(prepare, advance, predict, partial(update, sweeps))


def clocked(params: Any) -> bool:
    return params.drift is not None


def trueskill(sweeps: int | None = None, **changes: float | None) -> RatingSystem:
    """TrueSkill, of matches and of rounds: of many players, of teams, with ties and with partial play.

    A score above one half is a win of player 0, one half a draw. A match of weight w counts as w matches; in rounds
    weights are those of partial play. Those who tie are chained in the order of the numbers of their teams, without
    teams in that of the rows: among three or more that makes a difference.

    Args:
      sweeps: of expectation propagation, from 1. None: as many as it takes, see the module's docstring.
      **changes: replace defaults of `Params`, which are those of a rating of 25. For ratings about 1500 take
        `initial_rating=1500, initial_deviation=500, beta=250, tau=5`.

    Raises:
      ValueError: for an unknown name or a value out of range.
    """
    if sweeps is not None and not (isinstance(sweeps, int) and not isinstance(sweeps, bool) and sweeps >= 1):
        raise ValueError(f"trueskill: sweeps must be a whole number from 1, got {sweeps!r}")
    params = override("trueskill", Params(), SPACE, changes)
    rules, settings = _rules(sweeps), {"sweeps": sweeps}
    return RatingSystem("trueskill", params, SPACE, (Matches, Rounds), init, rules, summary, settings, clocked)
