"""Performances: at what rating would each participant's result have been expected? (Elo-MMR paper, section 3.1.)

Participant j performs at m_j plus noise of deviation delta_j. Whoever is in the group g of those who tied performed at
the zero of the paper's Q (Theorem 3.3), the sum over j of the victory function v_j of those whom g beat, of the loss
function l_j of those who beat g, and of the draw function d_j of its members, v_j + l_j if logistic.

Logistic, of scale s_j = delta_j sqrt 3 / pi and cdf F: v_j = (1 - F) / s_j and l_j = -F / s_j, so that Q = 0 is

    sum_j F_j / s_j + sum_(j in g) F_j / s_j = sum_(j beaten) 1 / s_j + sum_(j in g) 1 / s_j

whose first sum is the same function for everybody (`field.sums`). Gaussian, with the hazard h = phi / (1 - Phi):
v_j = h(-z) / delta_j, l_j = -h(z) / delta_j, d_j = -z / delta_j, z = (x - m_j) / delta_j; who beat whom then matters at
every x, so the sums are cumulative over the standings: tabulated for blocks of participants, direct within a block.

Of any other log-concave density the v, l and d are in `hazards`; the sums are those of the Gaussian.

With `split_ties` a tie counts as half a win and half a loss; with a number w as w of each, d_j = w (v_j + l_j) (the
footnote of section 3.1, whose Lemma 3.2 it keeps). All who tied solve the same equation.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxrate import numerics
from jaxrate.device import launches
from jaxrate.events import LAST_ID, Array, Rounds
from jaxrate.systems.rounds import field, one_by_one
from jaxrate.systems.rounds.field import SMALL, Field
from jaxrate.systems.rounds.standings import Curves, Guess, Hazard, cumulative

C = field.LOGISTIC.deviation  # of the docstrings: pi / sqrt 3
TieSplit = (
    bool | float
)  # False: a tie is one, True: half a win and half a loss; a number: so much of each, above 0, below 1


def tie_weight(split_ties: TieSplit) -> float | None:
    """What a tie counts of a win and of a loss; None: it counts as the density says, as one of each if logistic."""
    return None if split_ties is False else 0.5 if split_ties is True else split_ties


def _opponent_factor(split_ties: TieSplit) -> float:
    """How many times as many opponents a tie must outweigh if it counts less than half."""
    return 1.0 / min(1.0, 2.0 * (tie_weight(split_ties) or 1.0))


class LogisticSums(NamedTuple):
    """A round of logistic performances: sums over everybody, whatever the result."""

    everyone: Field
    of_all: field.Sums
    inverse: field.Inverse
    doubt: field.Doubt


def logistic_sums(
    centre: Array, deviation: Array, event: Rounds, points: int, split_ties: TieSplit = False
) -> LogisticSums:
    """Those of a round.

    Args:
      centre: [P] ratings before it.
      deviation: [P] of each one's performance about their rating: skill and noise together.
      event: the round; of it weights (0: padding) are read, and by `standing` ranks.
      points: of the table, which is for more than `field.SMALL` participants.
      split_ties: as of `logistic`.
    """
    there, inverse = field.real(event), C / deviation
    gain = jnp.where(there, inverse, 0.0)
    margin = jnp.log(2.0 * _opponent_factor(split_ties) * jnp.sum(gain) / jnp.min(jnp.where(there, gain, jnp.inf)))
    widest = jnp.max(jnp.where(there, deviation, 0.0)) / C
    everyone = Field(centre, inverse, gain, *field.reach(centre, widest * margin, there), field.unit(widest))
    return LogisticSums(everyone, *field.sums(field.logistic, everyone, points))


def logistic(known: LogisticSums, event: Rounds, split_ties: TieSplit) -> Array:
    """[P] performances of a round.

    Args:
      known: its sums.
      event: the round; of it ranks and weights (0: padding) are read.
      split_ties: count a tie as half a win and half a loss, or so much of each, not as one of each.
    """
    there, group = field.real(event), jnp.minimum(event.rank, len(event.rank) - 1)
    centre, inverse, gain, *_ = known.everyone
    share = tie_weight(split_ties) or 1.0  # of a win and of a loss
    if _at_once(event):
        return one_by_one.logistic(share, jnp.arange(len(group), dtype=jnp.int32), known.everyone, group)
    tied = field.sum_by(group, gain)  # [P] by group, as all that follows: a group's number is the rank of its members
    won, lost = numerics.sums_before(tied, after=True), numerics.sums_before(tied)
    from_below = won <= lost  # the smaller side keeps its relative accuracy
    target = jnp.where(from_below, won, lost) + share * tied

    def sums(x: Array, below: Array) -> tuple[Array, Array]:
        """The sums of all, in which those who tied count twice their share."""
        z = (x[group] - centre) * inverse
        value, _, density, _ = field.logistic(jnp.where(below[group], z, -z))
        again = field.sum_by(group, jnp.stack([gain * value, gain * inverse * density], axis=-1))
        total, slope = known.of_all(x, below)
        more = 2.0 * share - 1.0
        return total + more * again[:, 0], slope + more * again[:, 1]

    guess = known.inverse(jnp.log(won + 0.5 * tied) - jnp.log(lost + 0.5 * tied))  # exact if ties are split
    found = field.balance(known.of_all if share == 0.5 else sums, from_below, target, guess, tied > 0, known.everyone)[
        group
    ]
    again = partial(one_by_one.logistic, share)
    return numerics.mended(there & known.doubt(found), again, known.everyone, group, found)


def _at_once(event: Rounds) -> bool:
    """Whether everybody's performance is found from all pairs: without tables, and so without mending what they say."""
    return launches() and len(event.rank) <= field.small()


class Noise(NamedTuple):
    """What is asked of the density f of performances, of mean 0 and variance 1."""

    above: Hazard  # f / (1 - F) and its slope; of side 1 those of f mirrored
    draw: Callable[[Array], tuple[Array, Array]] | None  # f'/f and its slope; None: it is -z
    margins: Callable[[Array], tuple[Array, Array]]  # how far below and above everybody a tie outweighs so many


def _above(side: Any, y: Array) -> tuple[Array, Array]:
    h, _, rise, *_ = numerics.tail(y)
    return h, rise


def _margins(opponents: Array) -> tuple[Array, Array]:
    margin = jnp.sqrt(2.0 * jnp.log(4.0 * opponents))
    return margin, margin


NORMAL = Noise(_above, None, _margins)


class Standing(NamedTuple):
    """A round, in the order in which its participants came. A group's number is the place where it begins."""

    noise: Noise
    everyone: Field  # of gains 1 / delta, and 0 for padding
    group: Array  # [P] which each participant is in
    order: Array  # [P] who stands in a place
    begin: Array  # [P] where groups begin, if there are any
    end: Array  # [P] where they end; where they begin if there are none
    stiffness: Array  # [P] by group: the sum of 1 / delta^2 over its members
    mean: Array  # [P] and the mean of their ratings by these weights
    losses: Curves  # the sums of l over those before a place
    wins: Curves  # and of v over the others
    guess: Guess | None
    points: int


def standing(
    noise: Noise, centre: Array, deviation: Array, event: Rounds, points: int, split_ties: TieSplit = False
) -> Standing:
    """The round, with the arguments of `logistic_sums`.

    In large rounds each block of `standings.BLOCK` participants has a table of 3/2 so many points. They are read off by
    interpolation between six of them, which is off by at most h^6/205 of the sixth derivative.
    """
    there, num_players = field.real(event), len(event.rank)
    inverse = jnp.where(there, 1.0 / deviation, 0.0)
    group = jnp.minimum(event.rank, num_players - 1)
    begin = jnp.arange(num_players, dtype=jnp.int32)
    widest = jnp.max(jnp.where(there, deviation, 0.0))
    margins = noise.margins(_opponent_factor(split_ties) * jnp.sum(inverse) * widest)
    (low, _), (_, high) = (field.reach(centre, widest * margin, there) for margin in margins)
    # Sorting one array is four times as fast as sorting with an index beside it.
    short = num_players**2 <= LAST_ID
    order = jnp.sort(group * num_players + begin) % num_players if short else jnp.argsort(group)
    end = begin + field.sum_by(group, there.astype(jnp.int32))
    mean, stiffness = (field.sum_by(group, x) for x in (inverse**2 * (centre - low), inverse**2))
    mean = low + mean / jnp.where(end > begin, stiffness, 1.0)
    everyone = Field(centre, inverse, inverse, low, high, field.unit(widest))
    ordered = everyone._replace(centre=centre[order], inverse=inverse[order], gain=inverse[order])
    curves = cumulative(noise.above, ordered, 3 * points // 2)
    return Standing(noise, everyone, group, order, begin, end, stiffness, mean, *curves, points)


def general(known: Standing, event: Rounds, split_ties: TieSplit) -> Array:
    """The same of any, of a round in which everybody's place is known."""
    there = known.end > known.begin

    def again(who: Array, everyone: Field, group: Array) -> Array:
        q, alone = _one_by_one(known.noise, split_ties, who, everyone, group), jnp.ones_like(who, bool)
        return field.solve(q, everyone.centre[who], alone, everyone)

    if _at_once(event):
        return again(jnp.arange(len(event.rank), dtype=jnp.int32), known.everyone, known.group)
    start = known.mean if known.guess is None else known.guess(known.begin, known.end, known.stiffness, known.mean)
    found = field.solve(_q(known, split_ties), start, there, known.everyone)[known.group]
    return _mended(known, event, again, found)


def curvature(known: Standing, event: Rounds, split_ties: TieSplit, p: Array) -> Array:
    """[P] how sharply the ranks tell each performance `p`: -Q' there, without what one's own density adds to it.

    So with that density, normal and of deviation delta, a performance has the precision 1 / delta^2 + this (Laplace).
    """
    everyone, group, noise = known.everyone, known.group, known.noise
    own = _drawn(noise, split_ties, (p - everyone.centre) * everyone.inverse)[1] * everyone.inverse**2
    if _at_once(event):
        every = jnp.arange(len(group), dtype=jnp.int32)
        return jnp.maximum(own - _one_by_one(noise, split_ties, every, everyone, group)(p)[1], 0.0)
    found = _q(known, split_ties)(p[known.order])[1][group]  # a group's number is the place of one of its members

    def again(who: Array, everyone: Field, group: Array, p: Array) -> Array:
        return _one_by_one(noise, split_ties, who, everyone, group)(p[who])[1]

    return jnp.maximum(own - _mended(known, event, again, p, found), 0.0)


def _mended(known: Standing, event: Rounds, function: Callable[..., Array], *args: Array) -> Array:
    """args[-1] [P], or function(who, everyone, group, *args[:-1]) where the points of the tables are too far apart."""
    if len(known.group) <= SMALL:
        return args[-1]
    needed = field.real(event) & field.too_coarse(known.everyone, known.points // 2)
    return numerics.mended(needed, function, known.everyone, known.group, *args)


def _drawn(noise: Noise, split_ties: TieSplit, z: Array) -> tuple[Array, Array]:
    """What a tie with somebody of deviation 1 adds to Q, and its slope."""
    share = tie_weight(split_ties)
    if share is not None:
        (down, rise), (up, fall) = noise.above(0, z), noise.above(1, -z)
        return share * (up - down), -share * (fall + rise)
    return (-z, -jnp.ones_like(z)) if noise.draw is None else noise.draw(z)


def _q(known: Standing, split_ties: TieSplit) -> Callable[[Array], tuple[Array, Array]]:
    """Q and its slope, of ratings [P] by group."""
    begin, end, (centre, inverse, *_), group, noise = known.begin, known.end, known.everyone, known.group, known.noise
    share = tie_weight(split_ties)
    terms = [(1.0, known.losses(begin)), (1.0, known.wins(end))]
    if share is not None:
        rest = [(share, known.losses(end)), (share, known.wins(begin))]
        terms = [(1.0 - share, f) for _, f in terms] + rest

    def tied(x: Array) -> tuple[Array, Array]:
        """The sum of d over those who tied."""
        if noise.draw is None:
            return -known.stiffness * (x - known.mean), -known.stiffness
        value, slope = noise.draw((x[group] - centre) * inverse)
        both = field.sum_by(group, jnp.stack([inverse * value, inverse**2 * slope], axis=-1))
        return both[:, 0], both[:, 1]

    def q(x: Array) -> tuple[Array, Array]:
        found = [(part, f(x)) for part, f in terms]
        value, slope = (sum(part * both[i] for part, both in found) for i in (0, 1))
        drawn = (0.0, 0.0) if share is not None else tied(x)
        return value + drawn[0], slope + drawn[1]

    return q


def _one_by_one(
    noise: Noise, split_ties: TieSplit, who: Array, everyone: Field, group: Array
) -> Callable[[Array], tuple[Array, Array]]:
    """Q and its slope, of ratings [R] of some, from all [P]."""
    rank, others = group[who][:, None], group[None]
    centre, inverse = (x[None] for x in everyone[:2])

    def q(x: Array) -> tuple[Array, Array]:
        z = (x[:, None] - centre) * inverse
        (down, rise), (up, fall) = noise.above(0, z), noise.above(1, -z)
        draw, slope = _drawn(noise, split_ties, z)
        won, lost = others > rank, others < rank
        value = jnp.where(won, up, jnp.where(lost, -down, draw))
        steep = jnp.where(won, -fall, jnp.where(lost, -rise, slope))
        return jnp.sum(inverse * value, axis=1), jnp.sum(inverse**2 * steep, axis=1)

    return q
