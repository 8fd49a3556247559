"""Codeforces, in the form of Ebtekar and Liu 2021 (section 6): no rounding, no correction of inflation.

With C = pi / sqrt 3 and W the weight of a contest, somebody rated x among its participants expects the rank

    R(x) = 1/2 + sum_j 1 / (1 + exp(-C sqrt(W) (r_j - x) / beta))

over all of them, player i at their own rating included. The performance of i lies where R is the geometric mean of the
rank (of a tie, in its middle) and of the expected one, R(perf) = sqrt(rank_i R(r_i)). The rating moves there by v =
weight W:

    r_i <- (r_i + v perf) / (1 + v)
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxrate import numerics
from jaxrate.events import Array, Matches, Rounds
from jaxrate.parameters import POSITIVE, RATING, Parameter, checked
from jaxrate.plain import bind
from jaxrate.system import Rating, RatingSystem, Rules, Traits, factory, full, never
from jaxrate.systems.rounds import duels, expected, field, inferred
from jaxrate.systems.rounds.field import Field

POINTS = 72  # of the tables, in float32: ratings lie the further apart the larger beta is


class Params(NamedTuple):
    beta: float | Array
    weight: float | Array
    initial_rating: float | Array


SPACE = Params(
    beta=Parameter("positive", POSITIVE, "points", "deviation of the difference of two performances"),
    weight=Parameter("positive", POSITIVE, "1", "what a contest counts against the rating before it"),
    initial_rating=RATING,
)


class State(NamedTuple):
    rating: Array  # [num_players] points


def init(params: Params, num_players: int) -> State:
    return State(full(num_players, params.initial_rating))


def prepare(params: Params) -> Params:
    return params


def advance(constants: Params, rows: State, time: Array) -> State:
    del constants, time
    return rows


def ranks(
    points: int, params: Params, rows: State, event: Rounds
) -> tuple[field.Sums, field.Inverse, Field, Array, Array]:
    """How many participants are expected below and above a rating; and, at each one's own, the same two."""
    there, rating = field.real(event), rows.rating
    scale = params.beta / (field.LOGISTIC.deviation * jnp.sqrt(field.weight(event)))
    gain = there.astype(scale.dtype)
    widest = jnp.max(jnp.where(there, scale, 0.0))
    ends = field.reach(rating, widest * jnp.log(4.0 * jnp.sum(gain) + 4.0), there)
    everyone = Field(rating, 1.0 / scale, gain, *ends, field.unit(widest))
    points = field.in_precision(points)
    sums, inverse, _ = field.sums(field.logistic, everyone, points)
    both = jnp.stack([sums(rating, side)[0] for side in (True, False)], axis=1)
    if len(rating) > field.small():
        both = numerics.mended(there & field.too_coarse(everyone, points), _own, everyone, both)
    below, above = jnp.clip(both, 0.5, jnp.maximum(jnp.sum(gain) - 0.5, 0.5)).T
    return sums, inverse, everyone, below, above


def _own(who: Array, everyone: Field) -> Array:
    """[R, 2] how many are expected below and above some of them."""
    return jnp.stack(
        [field.direct(field.logistic, everyone, everyone.centre[who], x)[0] for x in (True, False)], axis=1
    )


def predict(points: int, params: Params, rows: State, event: Rounds | Matches) -> Array:
    """The share of the others that each is expected to beat; of a match the probability that player 0 does better."""
    if isinstance(event, Matches):
        weight = field.weight(duels.match_as_contest(event))[0]
        lead = rows.rating[0] - rows.rating[1]
        return jax.nn.sigmoid(field.LOGISTIC.deviation * jnp.sqrt(weight) * lead / params.beta)
    there, (_, _, _, below, above) = field.real(event), ranks(points, params, rows, event)
    is_below = below < above
    return expected.share(field.without_oneself(is_below, jnp.where(is_below, below, above), there)[0], there)


def infer(
    points: int, skip_ties: bool, params: Params, rows: State, event: Rounds, key: Array | None
) -> tuple[State, inferred.Performances]:
    """Find the performances, and move towards them."""
    del key
    sums, inverse, everyone, below, above = ranks(points, params, rows, event)
    there, count = field.real(event), jnp.maximum(jnp.sum(everyone.gain), 1.0)
    rank = event.rank.astype(below.dtype) + 0.5 * field.tied(event).astype(below.dtype) + 0.5
    rank = jnp.where(there, rank, 1.0)
    # sqrt(rank R) = 1/2 + the number above, and = count + 1/2 - the number below, of which the smaller one is used.
    missing = 1.0 - rank / count, (below - 0.5) / count
    share = missing[0] + missing[1] - missing[0] * missing[1]
    share = jnp.where(there, share, 0.0)
    few = 0.5 + count * share / (1.0 + jnp.sqrt(jnp.maximum(1.0 - share, 1e-30)))  # above 0 for its slope
    many = jnp.sqrt(rank * (above + 0.5)) - 0.5
    target = jnp.where(few < many, few, many)
    ratio = jnp.log(target) - jnp.log(jnp.maximum(count - target, 0.0))
    guess = inverse(jnp.where(few < many, ratio, -ratio))
    p = field.balance(sums, few < many, target, guess, there, everyone)
    if len(p) > field.small():
        coarse = field.too_coarse(everyone, field.in_precision(points))
        p = numerics.mended(there & coarse, _balance, everyone, few < many, target, p)
    if event.ceiling is not None:
        p = jnp.minimum(p, event.ceiling)
    share = jax.nn.sigmoid(jnp.log(params.weight * field.weight(event)))  # v / (1 + v) of any v
    state = State(jnp.where(field.contested(event, skip_ties), rows.rating + share * (p - rows.rating), rows.rating))
    return state, inferred.performances(p, rows.rating, inferred.rank_by_sums(above - 0.5, everyone.gain, event), event)


def update(
    points: int, skip_ties: bool, params: Params, rows: State, event: Matches | Rounds, key: Array | None
) -> State:
    return infer(points, skip_ties, params, rows, duels.match_as_contest(event), key)[0]


def _balance(who: Array, everyone: Field, from_below: Array, target: Array) -> Array:
    """[R] the performances of some, from all [P]."""
    sums, there = partial(field.direct, field.logistic, everyone), jnp.ones_like(who, bool)
    return field.balance(sums, from_below[who], target[who], everyone.centre[who], there, everyone)


def summary(params: Params, rows: State) -> Rating:
    del params
    return Rating(rows.rating, None)


@factory
def codeforces(
    skip_ties: bool = False, *, beta: float = 315.08922206661885, weight: float = 1.0, initial_rating: float = 1500.0
) -> RatingSystem:
    """Codeforces, of rounds, and of matches as contests of two: won, lost or drawn.

        jr.run(jr.codeforces(), rounds)

    Args:
      skip_ties: contests in which all tie change nothing, as in the program of the paper's authors.
      beta: deviation of the difference of two performances (points, > 0).
      weight: what a contest counts against the rating before it (> 0).
      initial_rating: rating of a newcomer (points, any number).

    Raises:
      ValueError: for an unknown name or a value out of range.
    """
    skip_ties = bool(skip_ties)
    params = checked("codeforces", Params(beta, weight, initial_rating), SPACE)
    rules = Rules(prepare, advance, bind(predict, POINTS), bind(update, POINTS, skip_ties))
    traits = Traits(baseline=True, contests=True, infer=bind(infer, POINTS, skip_ties))
    static = (("skip_ties", skip_ties),)
    kinds, check = (Matches, Rounds), bind(duels.check_match_results, "codeforces")
    return RatingSystem(
        "codeforces", params, SPACE, kinds, init, rules, summary, static, never, check=check, traits=traits
    )
