"""Performances inferred from places: roots of sums over all participants.

Participant j performs at m_j plus noise of deviation delta_j. Whoever is in the group g of those who tied performed at
the zero of the paper's Q (Theorem 3.3), the sum over j of the victory function v_j of those whom g beat, of the loss
function l_j of those who beat g, and of the draw function d_j of its members, v_j + l_j if logistic.

Logistic, of scale s_j = delta_j sqrt 3 / pi and cdf F: v_j = (1 - F) / s_j and l_j = -F / s_j, so that Q = 0 is

    sum_j F_j / s_j + sum_(j in g) F_j / s_j = sum_(j beaten) 1 / s_j + sum_(j in g) 1 / s_j

whose first sum is the same function for everybody (`cdf_sums`). Gaussian, with the hazard h = phi / (1 - Phi):
v_j = h(-z) / delta_j, l_j = -h(z) / delta_j, d_j = -z / delta_j, z = (x - m_j) / delta_j; who beat whom then matters at
every x, so the sums are cumulative over the standings: tabulated for blocks of participants, direct within one.

Of any other log-concave density the v, l and d are in `hazard_tables`, as `NoiseDensityFunctions`; the sums over the
standings, of the losses to those before a place and of the wins over those behind it, are those of the Gaussian.
With `split_ties` a tie counts as half a win and half a loss; with a number w as w of each, and with two numbers as w_l
of a loss and w_v of a win, d_j = w_l l_j + w_v v_j (footnote 2, in section 3.1, whose Lemma 3.2 it keeps). All who tied
solve the same equation.

What a round, once its result is known, says of the performances in it; and what it would have taken.

A performance is at least the rating before, mu, where the paper's Q(mu) >= 0 (Elo-MMR paper, Theorem 3.3: Q decreases).
Whoever comes alone behind some of the others, in the order in which these came, loses to them and beats the rest; their
own term of Q(mu), of a tie with themselves, vanishes if the density is symmetric. Moving down, Q(mu) falls, so there is
a worst rank at which it is still at least 0. Where l_j = v_j - g_j with constants g_j, as of logistic performances, the
g_j of those ahead may at most sum to the v_j(mu) of all others.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.events import LAST_ID, Rounds
from jaxrate.numerics import linear_algebra, selective_evaluation, special_functions
from jaxrate.numerics.newton_iterations import TiledRootInputs, decreasing_root
from jaxrate.numerics.special_functions import log_quotient_with_safe_slopes
from jaxrate.systems.rounds import cdf_sums
from jaxrate.systems.rounds.cdf_sums import DIRECT_LIMIT, Participants

BLOCK_SIZE = 4  # participants whose place in the standings is looked at one by one

Hazard = Callable[[Any, Array], tuple[Array, Array]]  # h and its slope; of side 1 that of the density mirrored
SumsAtPlace = Callable[[Array], Callable[[Array], tuple[Array, Array]]]
RootGuess = Callable[[Array, Array, Array, Array], Array]


class NoiseDensityFunctions(NamedTuple):
    """The functions of the density f of performances, of mean 0 and variance 1."""

    above: Hazard  # f / (1 - F) and its slope; of side 1 those of f mirrored
    hazards: Callable[[Array], tuple[Array, Array]]  # of z: that of side 0 there, and that of side 1 at -z
    draw: Callable[[Array], tuple[Array, Array]] | None  # f'/f and its slope; None: it is -z
    margins: Callable[[Array], tuple[Array, Array]]  # how far below and above everybody a tie outweighs so many


def _normal_hazard(side: Any, y: Array) -> tuple[Array, Array]:
    h, _, rise, *_ = special_functions.normal_tail(y)
    return h, rise


def _normal_bracket_margins(opponents: Array) -> tuple[Array, Array]:
    return (jnp.sqrt(2.0 * jnp.log(4.0 * opponents)),) * 2


NORMAL_NOISE = NoiseDensityFunctions(
    _normal_hazard, special_functions.normal_hazards_on_both_sides, None, _normal_bracket_margins
)


class BlockTable(NamedTuple):
    """Blocks of participants in the order of the standings, and the points at which their sums are tabulated."""

    columns: list[Array]  # centre and inverse deviation [block, blocks]
    size: int  # participants in a block
    low: Array  # the least rating
    per_point: Array  # the inverse of the distance of two points
    points: Array  # [points] ratings


def make_standing_sum_functions(
    noise: NoiseDensityFunctions, participants_by_standing: Participants, table_points: int
) -> tuple[SumsAtPlace, SumsAtPlace, RootGuess | None]:
    """Functions of k [P] and of x [P]: sums of l over those before place k, of v over the others; with slopes."""
    low, high, present = (getattr(participants_by_standing, name) for name in ("low", "high", "present"))
    num_players = len(participants_by_standing.centre)
    size = num_players + 1 if num_players <= DIRECT_LIMIT else BLOCK_SIZE
    columns = [jnp.pad(x, (0, size - num_players % size)).reshape(-1, size).T for x in participants_by_standing[:2]]
    per_point = (table_points - 5) / (high - low)  # three neighbours on each side of every rating
    at = low + jnp.arange(-2.0, table_points - 2.0) / per_point
    blocks = BlockTable(columns, size, low, per_point, at)
    if size > num_players:
        before, after = (partial(_sums_from_place, noise, blocks, None, side) for side in (0, 1))
        return before, after, None
    tabulate = partial(_tabulate_blocks, noise, at)
    if present is not None and selective_evaluation.has_tiles(num_players):
        tiles = selective_evaluation.count_row_tiles(present)
        tables = _exclusive_block_sums_by_tile(tabulate, columns, table_points, tiles)
    else:
        sums = linear_algebra.exclusive_prefix_or_suffix_sums
        losses, wins = tabulate(columns)
        tables = sums(losses, from_end=False), sums(wins, from_end=True)
    before, after = (partial(_sums_from_place, noise, blocks, table, side) for side, table in enumerate(tables))
    return before, after, partial(_guess_root, blocks, tables)


def _sums_from_place(
    noise: NoiseDensityFunctions, blocks: BlockTable, table: Array | None, side: int, k: Array
) -> Callable[[Array], tuple[Array, Array]]:
    """The sums over those before a place k [P], or of side 1 after it, with the whole blocks in a table."""
    sign, before = 1.0 - 2.0 * side, side == 0
    whole = k // blocks.size
    centre, inverse = (x[:, whole] for x in blocks.columns)  # [block, P]
    inside = (jnp.arange(blocks.size, dtype=jnp.int32)[:, None] < (k - whole * blocks.size)[None, :]) == before
    gain = jnp.where(inside, inverse, 0.0)

    def sums_and_slopes(x: Array) -> tuple[Array, Array]:
        h, rise = noise.above(side, sign * (x[None, :] - centre) * inverse)
        value, slope = jnp.sum(gain * h, axis=0), sign * jnp.sum(gain * inverse * rise, axis=0)
        if table is not None:
            place = (x - blocks.low) * blocks.per_point
            number = jnp.clip(place.astype(jnp.int32), 0, len(blocks.points) - 6)
            u = place - number.astype(x.dtype)
            more, steepness = cdf_sums.everett_interpolation([table[whole, number + i] for i in range(6)], u)
            value, slope = value + more, slope + steepness * blocks.per_point
        return -sign * value, -sign * slope

    return sums_and_slopes


def _tabulate_blocks(noise: NoiseDensityFunctions, points: Array, columns: list[Array]) -> tuple[Array, Array]:
    """[blocks, points] the sums of the hazards of both sides over each block."""
    centre, inverse = (x[:, :, None] for x in columns)
    lost, won = noise.hazards((points[None, None] - centre) * inverse)
    return _sum_members(inverse * lost), _sum_members(inverse * won)


def _sum_members(x: Array) -> Array:
    """The sum over the first axis, one by one: XLA is slower at a sum over one of three axes."""
    return sum((x[i] for i in range(1, len(x))), start=x[0])


def _guess_root(
    blocks: BlockTable, tables: tuple[Array, Array], begin: Array, end: Array, stiffness: Array, mean: Array
) -> Array:
    """The point between two where q changes its sign, were every block spread out evenly."""
    points, size = blocks.points, blocks.size
    sides = []
    for shift, table, k in zip((0, 1), tables, (begin, end), strict=True):  # one behind `end` is behind a block before
        whole = k // size
        left, right = jnp.maximum(whole - shift, 0), jnp.minimum(whole + 1, len(table) - 1) - shift
        sides.append((table, left, right, (k - whole * size).astype(points.dtype) / size))

    def q(point: Array) -> Array:
        lost, won = (
            (1.0 - part) * table[left, point] + part * table[right, point] for table, left, right, part in sides
        )
        return won - lost - stiffness * (points[point] - mean)

    def halve(turn: Array, cell: Array) -> Array:  # q falls
        trial = cell + (first_step >> turn)
        return jnp.where((trial <= len(points) - 2) & (q(jnp.minimum(trial, len(points) - 2)) > 0), trial, cell)

    first_step = jnp.int32(1 << ((len(points) - 2).bit_length() - 1))
    cell = lax.fori_loop(0, (len(points) - 2).bit_length(), halve, jnp.zeros_like(begin))
    left, right = q(cell), q(cell + 1)
    part = jnp.clip(left / jnp.where(left > right, left - right, 1.0), 0.0, 1.0)
    return points[cell] + part / blocks.per_point


def _exclusive_block_sums_by_tile(
    tabulate: Callable[[list[Array]], tuple[Array, Array]], columns: list[Array], table_points: int, tiles: Array
) -> tuple[Array, Array]:
    """[blocks, points] exclusive sums over blocks, in tiles: losses before each one, and wins after it."""
    size = selective_evaluation.TILE_ROWS // BLOCK_SIZE
    zeros = jnp.zeros((columns[0].shape[1], table_points), columns[0].dtype)
    before = np.tri(size + 1, size, -1)  # of each block those before it, and at last all
    after = np.vstack([before[:-1].T, before[-1:]])

    def read(table: Array, number: Array) -> Array:
        return lax.dynamic_slice_in_dim(table, number * size, size, axis=0, allow_negative_indices=False)

    def write(table: Array, values: Array, number: Array) -> Array:
        return lax.dynamic_update_slice_in_dim(table, values, number * size, axis=0, allow_negative_indices=False)

    def add(table: Array, total: Array, values: Array, number: Array, members: HostArray) -> tuple[Array, Array]:
        # One product reads the values, which may stand in the table: read once more, XLA would copy it for each tile.
        sums = jnp.dot(members.astype(values.dtype), values, precision=lax.Precision.HIGHEST)
        return write(table, total[None] + sums[:-1], number), total + sums[-1]

    def add_losses(number: Array, tables: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        losses, total, wins = tables
        lost, won = tabulate([lax.dynamic_slice_in_dim(x, number * size, size, axis=1) for x in columns])
        return *add(losses, total, lost, number, before), write(wins, won, number)

    def add_wins(turn: Array, tables: tuple[Array, Array]) -> tuple[Array, Array]:
        number = tiles - 1 - turn
        return add(*tables, read(tables[0], number), number, after)

    losses, total, wins = lax.fori_loop(0, tiles, add_losses, (zeros, zeros[0], zeros))
    wins, _ = lax.fori_loop(0, tiles, add_wins, (wins, zeros[0]))
    return write(losses, total[None], tiles), wins  # behind everybody all are before and nobody is after


def solve_ratings_for_target_sums(
    sum_function: Callable[..., tuple[Array, Array]],
    from_below: Array,
    target: Array,
    guess: Array,
    mask: Array,
    participants: Participants,
    tiles: TiledRootInputs | None = None,
) -> Array:
    """The ratings [P] at which sums are as given, where `mask`: of below or above a rating, whichever is smaller."""
    tiles = TiledRootInputs() if tiles is None else tiles

    def log_ratio(x: Array, mask: Array, from_below: Array, target: Array, *more: Array) -> tuple[Array, Array]:
        """The log ratio of the target to the sum at x, and its slope. In both tails it is nearly straight."""
        found, slope = sum_function(x, from_below, *more)
        found = jnp.where(mask, jnp.maximum(found, float(np.finfo(x.dtype).tiny)), 1.0)
        value = log_quotient_with_safe_slopes(jnp.where(mask, target, 1.0), found)
        return jnp.where(from_below, value, -value), -slope / found

    columns = mask, from_below, target, *tiles.columns
    return solve_ratings(log_ratio, guess, mask, participants, tiles._replace(columns=columns))


def solve_ratings(
    function: Callable[..., tuple[Array, Array]],
    guess: Array,
    mask: Array,
    participants: Participants,
    tiles: TiledRootInputs | None = None,
) -> Array:
    """The zeros of a function, decreasing, that comes with its slope, in the interval of everybody in the round."""
    tiles = TiledRootInputs() if tiles is None else tiles

    def where_asked(x: Array, mask: Array, guess: Array, *columns: Array) -> tuple[Array, Array]:
        value, slope = function(x, *columns)
        return jnp.where(mask, value, guess - x), jnp.where(mask, slope, -1.0)

    low, high = (jnp.broadcast_to(x, guess.shape) for x in (participants.low, participants.high))
    guess = lax.stop_gradient(jnp.where(mask, jnp.clip(guess, low, high), low))
    tiles = tiles._replace(columns=(mask, guess, *tiles.columns))
    return decreasing_root(where_asked, guess, low, high, participants.unit, tiles=tiles)


_LOG_ZERO = -1e30  # the log of what is not there


def exact_logistic_performance(
    tie_weights: tuple[float, float], indices: Array, participants: Participants, group: Array
) -> Array:
    """[R] the performances of some, where what they lack is balanced, without cancellation.

    Of those above x nearly all that was won of them is won too much, and of those below nearly all that was lost is
    lost too much. What these two differ by is a constant between two participants, and the rest are tails. They are
    summed relative to the largest, which may be too small for a float.
    """
    rank, others = group[indices][None, :, None], group[None, None]
    centre, inverse, gain = (x[None] for x in participants[:3])
    below = jnp.array([True, False])[:, None, None]  # of the two sums: over those below, and those above

    of_loss, of_win = tie_weights

    def tie_shares() -> tuple[Array, Array, Array]:  # anew each time: of all pairs they would fill the memory
        ahead = jnp.where(below, others - rank, rank - others)
        counts = (jnp.where(below, *pair) for pair in ((of_win, of_loss), (of_loss, of_win)))
        share, other_share = (jnp.where(ahead == 0, count, 1.0) * gain[None] for count in counts)
        return ahead, share, other_share

    ahead, share, _ = tie_shares()
    won, lost = jnp.sum(jnp.where(ahead >= 0, share, 0.0), axis=2)
    rounding = 8.0 * float(np.finfo(gain.dtype).eps)

    def log_ratio(x: Array) -> tuple[Array, Array]:
        ahead, share, other_share = tie_shares()
        both = jnp.where(ahead == 0, of_loss + of_win, 1.0) * gain[None]
        z = ((x[:, None] - centre) * inverse)[None]
        is_ahead = z >= 0
        inside = is_ahead == below
        if has_launch_overhead() and len(indices) == len(group):
            is_ahead = inside == below  # so each sum computes what follows anew: of all pairs it would fill the memory
        distance = jnp.where(is_ahead, z, -z)  # |z|, whose slope is not 0 at a centre
        near = 1.0 / (1.0 + jnp.exp(-distance))
        tail = jnp.where(inside & (gain > 0)[None], -distance, _LOG_ZERO)
        more = jnp.where(inside, jnp.where(ahead <= 0, -other_share, 0.0), jnp.where(ahead >= 0, share, 0.0))
        columns = jnp.broadcast_arrays(tail, both * near, both * (inverse[None] * near**2), more)
        top, (tails, flat), (more, size) = linear_algebra.exponentially_weighted_and_plain_row_sums(
            columns[0], tuple(columns[1:3]), (columns[3], jnp.abs(columns[3]))
        )
        constant = jnp.where(more > rounding * size, more, 0.0)
        base = lax.stop_gradient(jnp.where(constant > 0, 0.0, top))  # beside a constant no tail is too small
        part = jnp.exp(top - base)
        found = part * tails + constant
        found = jnp.where(found > 0, found, 1.0)  # in a padded round nobody is
        (up, down), (fall, rise) = base + jnp.log(found), part * flat / found
        return up - down, -fall - rise

    mask = participants.gain[indices] > 0
    # Nearly their performances, were the centres themselves logistic.
    all_gain = jnp.maximum(jnp.sum(gain), float(np.finfo(gain.dtype).tiny))
    mean = jnp.sum(gain * centre) / all_gain
    square = jnp.maximum(jnp.sum(gain * centre**2) / all_gain - mean**2, 0.0) / cdf_sums.LOGISTIC.deviation**2
    scale = jnp.sqrt(square + (jnp.sum((gain > 0).astype(gain.dtype)) / all_gain) ** 2)
    guess = mean + scale * jnp.log(jnp.where(mask, won, 1.0) / jnp.where(mask, lost, 1.0))
    return solve_ratings(log_ratio, guess, mask, participants)


C = cdf_sums.LOGISTIC.deviation  # of the docstrings: pi / sqrt 3
TieWeights = tuple[float, float] | None  # what a tie counts of a loss and of a win; None: what the density says
WHOLE_TIE = 1.0, 1.0  # what a logistic density says


def _opponent_count_factor_for_tie_weights(ties: TieWeights) -> float:
    """How many times as many opponents a tie must outweigh if it counts less than half."""
    return 1.0 / min(1.0, 2.0 * min(ties or WHOLE_TIE))


class LogisticCdfSums(NamedTuple):
    """A round of logistic performances: sums over everybody, whatever the result."""

    event: Rounds
    ties: TieWeights
    participants: Participants
    sums: cdf_sums.SumFunction
    inverse: cdf_sums.InverseFunction
    is_doubtful: cdf_sums.DoubtFunction


def make_logistic_cdf_sums(
    centre: Array, deviation: Array, event: Rounds, table_points: int, ties: TieWeights = None
) -> LogisticCdfSums:
    """The sums over logistic performances [P] of a round, about `centre`, of skill's and noise's common `deviation`."""
    mask, inverse = cdf_sums.participant_mask(event), C / deviation
    gain = jnp.where(mask, inverse, 0.0)
    margin = jnp.log(
        2.0 * _opponent_count_factor_for_tie_weights(ties) * jnp.sum(gain) / jnp.min(jnp.where(mask, gain, jnp.inf))
    )
    widest = jnp.max(jnp.where(mask, deviation, 0.0)) / C
    ends = cdf_sums.rating_interval(centre, widest * margin, mask)
    participants = Participants(centre, inverse, gain, *ends, cdf_sums.rating_rounding_unit(gain), event.present)
    functions = cdf_sums.make_cdf_sum_functions(cdf_sums.logistic_cdf_and_density, participants, table_points)
    return LogisticCdfSums(event, ties, participants, *functions)


def infer_logistic_performance(round_sums: LogisticCdfSums) -> Array:
    """[P] performances of a round."""
    event = round_sums.event
    there, group = cdf_sums.participant_mask(event), jnp.minimum(event.rank, len(event.rank) - 1)
    centre, inverse, gain, *_ = round_sums.participants
    of_loss, of_win = shares = round_sums.ties or WHOLE_TIE
    if len(event.rank) <= cdf_sums.max_pairwise_participants():  # then there are no tables
        everybody = jnp.arange(len(group), dtype=jnp.int32)
        return exact_logistic_performance(shares, everybody, round_sums.participants, group)
    # [P] by group, as all that follows: a group's number is the rank of its members.
    tied = cdf_sums.sum_by_group(group, gain, event.present)
    won, lost = (linear_algebra.exclusive_prefix_or_suffix_sums(tied, from_end=x) for x in (True, False))
    double = of_loss + of_win - 1.0  # how many times more those who tied count than in the sums of all

    def sums_of_tied(x: Array) -> tuple[Array]:
        """[P, 2] the sums over those who tied, and their slopes."""

        def add(sums: Array, group: Array, centre: Array, inverse: Array, gain: Array) -> Array:
            z = (x[group] - centre) * inverse
            value, _, density, _ = cdf_sums.logistic_cdf_and_density(jnp.where(from_below[group], z, -z))
            return sums.at[group].add(jnp.stack([gain * value, gain * inverse * density], axis=-1))

        zero = jnp.zeros((len(x), 2), x.dtype)
        return (selective_evaluation.add_row_tiles(add, event.present, zero, group, centre, inverse, gain),)

    def sums(x: Array, below: Array, of_tied: Array) -> tuple[Array, Array]:
        """The sums of all, in which those who tied count as a loss and as a win."""
        total, slope = round_sums.sums(x, below)
        return total + double * of_tied[:, 0], slope + double * of_tied[:, 1]

    def start(won: Array, lost: Array, tied: Array) -> tuple[Array, Array, Array]:
        below = won <= lost  # the smaller side keeps its relative accuracy
        part = of_win / (of_loss + of_win)  # exact if a tie is one game in all
        guess = round_sums.inverse(jnp.log(won + part * tied) - jnp.log(lost + (1.0 - part) * tied))
        return below, jnp.where(below, won + of_win * tied, lost + of_loss * tied), guess

    from_below, target, guess = selective_evaluation.map_row_tiles(start, event.present, won, lost, tied)
    split = double == 0.0
    tiles = TiledRootInputs(event.present, (), None if split else sums_of_tied)
    columns = from_below, target, guess, tied > 0
    function = round_sums.sums if split else sums
    performances = solve_ratings_for_target_sums(function, *columns, round_sums.participants, tiles)[group]
    recompute_rows = partial(exact_logistic_performance, shares)
    return selective_evaluation.evaluate_rows_where_needed(
        there & round_sums.is_doubtful(performances), recompute_rows, round_sums.participants, group, performances
    )


class RoundStandingSums(NamedTuple):
    """A round, in the order in which its participants came. A group's number is the place where it begins."""

    event: Rounds
    ties: TieWeights
    noise: NoiseDensityFunctions
    participants: Participants  # of gains 1 / delta, and 0 for padding
    group: Array  # [P] which each participant is in
    order: Array  # [P] who stands in a place
    begin: Array  # [P] where groups begin, if there are any
    end: Array  # [P] where they end; where they begin if there are none
    stiffness: Array  # [P] by group: the sum of 1 / delta^2 over its members
    mean: Array  # [P] and the mean of their ratings by these weights
    losses: SumsAtPlace  # the sums of l over those before a place
    wins: SumsAtPlace  # and of v over the others
    guess: RootGuess | None
    points: int


def make_round_standing_sums(
    noise: NoiseDensityFunctions,
    centre: Array,
    deviation: Array,
    event: Rounds,
    table_points: int,
    ties: TieWeights = None,
) -> RoundStandingSums:
    """The round, with the arguments of `make_logistic_cdf_sums`; large ones have tables of 3/2 `table_points`."""
    mask, num_players = cdf_sums.participant_mask(event), len(event.rank)
    inverse = jnp.where(mask, 1.0 / deviation, 0.0)
    group = jnp.minimum(event.rank, num_players - 1)
    begin = jnp.arange(num_players, dtype=jnp.int32)
    widest = jnp.max(jnp.where(mask, deviation, 0.0))
    margins = noise.margins(_opponent_count_factor_for_tie_weights(ties) * jnp.sum(inverse) * widest)
    (low, _), (_, high) = (cdf_sums.rating_interval(centre, widest * margin, mask) for margin in margins)
    # Sorting one array is four times as fast as sorting with an index beside it.
    short = num_players**2 <= LAST_ID
    order = jnp.sort(group * num_players + begin) % num_players if short else jnp.argsort(group)
    end = begin + cdf_sums.sum_by_group(group, mask.astype(jnp.int32), event.present)
    mean, stiffness = (cdf_sums.sum_by_group(group, x, event.present) for x in (inverse**2 * centre, inverse**2))
    mean = special_functions.differentiable_quotient(mean, jnp.where(end > begin, stiffness, 1.0))
    participants = Participants(
        centre, inverse, inverse, low, high, cdf_sums.rating_rounding_unit(inverse), event.present
    )
    ordered = participants._replace(centre=centre[order], inverse=inverse[order], gain=inverse[order])
    curves = make_standing_sum_functions(noise, ordered, 3 * table_points // 2)
    return RoundStandingSums(
        event, ties, noise, participants, group, order, begin, end, stiffness, mean, *curves, table_points
    )


def infer_performance_from_standing(standing: RoundStandingSums) -> Array:
    """Performances under any noise, of a round in which everybody's place is known."""
    event, everyone, group = standing.event, standing.participants, standing.group

    def recompute_rows(indices: Array, participants: Participants, group: Array) -> Array:
        q = _make_exact_q_function(standing.noise, standing.ties, indices, participants, group)
        return solve_ratings(q, participants.centre[indices], jnp.ones_like(indices, bool), participants)

    if cdf_sums.uses_all_pairs(len(event.rank)):
        return recompute_rows(jnp.arange(len(event.rank), dtype=jnp.int32), everyone, group)

    def solve(*groups: Array) -> Array:
        begin, end, stiffness, mean = groups
        some = standing._replace(begin=begin, end=end, stiffness=stiffness, mean=mean)
        start = mean if some.guess is None else some.guess(*groups)
        return solve_ratings(_make_group_q_function(some), start, end > begin, everyone)

    groups = standing.begin, standing.end, standing.stiffness, standing.mean
    alone = standing.noise.draw is None or standing.ties is not None  # groups need no other ones' sums
    performances = selective_evaluation.map_row_tiles(solve, event.present if alone else None, *groups)[group]
    return _recompute_where_table_coarse(standing, recompute_rows, performances)


def rank_information_about_performance(standing: RoundStandingSums, performance: Array) -> Array:
    """[P] how sharply the ranks tell each performance: -Q' there, without what one's own density adds to it.

    So with that density, normal and of deviation delta, a performance has the precision 1 / delta^2 + this (Laplace).
    """
    everyone, group, noise, ties = standing.participants, standing.group, standing.noise, standing.ties
    z = (performance - everyone.centre) * everyone.inverse
    own = _tie_contribution_to_q(noise, ties, z)[1] * everyone.inverse**2

    def recompute_rows(indices: Array, participants: Participants, group: Array, p: Array) -> Array:
        return _make_exact_q_function(noise, ties, indices, participants, group)(p[indices])[1]

    if cdf_sums.uses_all_pairs(len(group)):
        slope = recompute_rows(jnp.arange(len(group), dtype=jnp.int32), everyone, group, performance)
    else:
        slope = _make_group_q_function(standing)(performance[standing.order])[1]
        slope = slope[group]  # a group's number is the place of one of its members
        slope = _recompute_where_table_coarse(standing, recompute_rows, performance, slope)
    return jnp.maximum(own - slope, 0.0)


def _recompute_where_table_coarse(standing: RoundStandingSums, function: Callable[..., Array], *args: Array) -> Array:
    """args[-1] [P], or function(who, everyone, group, *args[:-1]) where the points of the tables are too far apart."""
    if len(standing.group) <= DIRECT_LIMIT:
        return args[-1]
    is_coarse = cdf_sums.is_table_too_coarse(standing.participants, standing.points // 2)
    needed = cdf_sums.participant_mask(standing.event) & is_coarse
    return selective_evaluation.evaluate_rows_where_needed(
        needed, function, standing.participants, standing.group, *args
    )


def _tie_contribution_to_q(noise: NoiseDensityFunctions, ties: TieWeights, z: Array) -> tuple[Array, Array]:
    """The term of a tie with somebody of deviation 1 in Q, and its slope."""
    if ties is not None:
        (down, rise), (up, fall) = noise.above(0, z), noise.above(1, -z)
        return ties[1] * up - ties[0] * down, -ties[1] * fall - ties[0] * rise
    return (-z, -jnp.ones_like(z)) if noise.draw is None else noise.draw(z)


def _make_group_q_function(standing: RoundStandingSums) -> Callable[[Array], tuple[Array, Array]]:
    """Q and its slope, of ratings [P] by group."""
    begin, end, group, noise, shares = standing.begin, standing.end, standing.group, standing.noise, standing.ties
    centre, inverse, *_ = standing.participants
    terms = [(1.0, standing.losses(begin)), (1.0, standing.wins(end))]
    if shares is not None:
        rest = zip(shares, (standing.losses(end), standing.wins(begin)), strict=True)
        terms = [*((1.0 - share, f) for share, (_, f) in zip(shares, terms, strict=True)), *rest]

    def tied_sums(x: Array) -> tuple[Array, Array]:
        """The sum of d over those who tied."""
        if noise.draw is None:
            return -standing.stiffness * (x - standing.mean), -standing.stiffness
        value, slope = noise.draw((x[group] - centre) * inverse)
        both = cdf_sums.sum_by_group(group, jnp.stack([inverse * value, inverse**2 * slope], axis=-1))
        return both[:, 0], both[:, 1]

    def q(x: Array) -> tuple[Array, Array]:
        found = [(part, f(x)) for part, f in terms]
        value, slope = (sum(part * both[i] for part, both in found) for i in (0, 1))
        drawn = (0.0, 0.0) if shares is not None else tied_sums(x)
        return value + drawn[0], slope + drawn[1]

    return q


def _make_exact_q_function(
    noise: NoiseDensityFunctions, ties: TieWeights, indices: Array, participants: Participants, group: Array
) -> Callable[[Array], tuple[Array, Array]]:
    """Q and its slope, of ratings [R] of some, from all [P]."""
    rank, others = group[indices][:, None], group[None]
    centre, inverse = (x[None] for x in participants[:2])

    def q(x: Array) -> tuple[Array, Array]:
        z = (x[:, None] - centre) * inverse
        (down, rise), (up, fall) = noise.above(0, z), noise.above(1, -z)
        draw, slope = _tie_contribution_to_q(noise, ties, z)
        won, lost = others > rank, others < rank
        value = jnp.where(won, up, jnp.where(lost, -down, draw))
        steep = jnp.where(won, -fall, jnp.where(lost, -rise, slope))
        return jnp.sum(inverse * value, axis=1), jnp.sum(inverse**2 * steep, axis=1)

    return q


class Performances(NamedTuple):
    """How well each participant of a contest did, as a rating, and the rank that would have kept theirs."""

    performance: Array  # [P] the rating at which the result would be expected; NaN where the contest did not count
    rank_needed: Array  # [P] from 1: the worst rank that would have kept the rating; 0: none would


def apply_rating_ceiling(performance: Array, rating: Array, rank_needed: Array, event: Rounds) -> Performances:
    """The performances up to the ceiling of the contest; where that is below the rating, no rank would have kept it."""
    if event.ceiling is None:
        return Performances(performance, rank_needed)
    return Performances(jnp.minimum(performance, event.ceiling), jnp.where(event.ceiling < rating, 0, rank_needed))


def worst_rank_with_limited_weight_ahead(max_weight_ahead: Array, weight: Array, event: Rounds) -> Array:
    """[P] the worst ranks at which the players ahead, who count `weight` each, sum to at most `max_weight_ahead`."""
    count = len(event.rank)
    rank = jnp.minimum(event.rank, count - 1)
    tied = cdf_sums.sum_by_group(rank, weight)
    # [P + 1] in the standings; of those tied, of all.
    ahead = jnp.append(linear_algebra.exclusive_prefix_or_suffix_sums(tied), jnp.sum(weight))
    max_weight_ahead = max_weight_ahead + _relative_sum_rounding(ahead) * (jnp.abs(max_weight_ahead) + weight)

    def last(most: Array) -> Array:
        return jnp.searchsorted(ahead, most, side="right").astype(jnp.int32) - 1

    without, own = last(max_weight_ahead), last(max_weight_ahead + weight)
    return _rank_excluding_self(jnp.where(without < rank, without, own), rank, event)


def logistic_worst_rank_keeping_rating(logistic_sums: LogisticCdfSums) -> Array:
    """[P] the worst ranks at which a performance among logistic ones is at least the rating."""
    event, (centre, _, gain, *_) = logistic_sums.event, logistic_sums.participants
    of_loss, of_win = logistic_sums.ties or WHOLE_TIE
    own = 0.5 * (1.0 - of_win + of_loss) * gain  # of the tie with oneself
    above = logistic_sums.sums(centre, False)[0]
    if len(centre) > cdf_sums.max_pairwise_participants():

        def recompute_rows(rows: Array, participants: Participants) -> Array:
            x = participants.centre[rows]
            return cdf_sums.direct_cdf_sums(cdf_sums.logistic_cdf_and_density, participants, x, False)[0]

        needed = cdf_sums.participant_mask(event) & logistic_sums.is_doubtful(centre)
        above = selective_evaluation.evaluate_rows_where_needed(
            needed, recompute_rows, logistic_sums.participants, above
        )
    return worst_rank_with_limited_weight_ahead(above - own, gain, event)


def bisected_worst_rank_keeping_rating(standing: RoundStandingSums) -> Array:
    """[P] the worst rank at which each participant of a contest keeps their rating, by bisection, for any noise."""
    event, noise, shares, (centre, inverse, *_) = standing.event, standing.noise, standing.ties, standing.participants
    centre, inverse = lax.stop_gradient((centre, inverse))
    count, rank = len(event.rank), jnp.minimum(event.rank, len(event.rank) - 1)
    players = jnp.sum(cdf_sums.participant_mask(event), dtype=jnp.int32)
    behind = jnp.append(rank[standing.order], count)
    begin = jnp.where(jnp.arange(count + 1, dtype=jnp.int32) < players, behind, players)  # of the group in a place
    zero = jnp.zeros_like(centre)
    lost, won = (sign * noise.above(side, zero)[0] for side, sign in ((0, -1.0), (1, 1.0)))  # at one's own rating
    drawn = zero if noise.draw is None else noise.draw(zero)[0]
    tied = drawn if shares is None else shares[0] * lost + shares[1] * won

    def search(rows: Array, losses_and_wins: Callable[[Array], tuple[Array, Array]]) -> Array:
        """[R] the last place, which begins a group, behind all before which Q(mu) >= 0, from these sums there."""
        own_rank, *own = (x[rows] for x in (rank, (lost - tied) * inverse, (won - tied) * inverse))

        def halve(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = ends
            middle = (low + high) // 2
            place = begin[middle]
            losses, wins = losses_and_wins(place)
            value = losses + wins - jnp.where(place > own_rank, *own)
            kept = value >= -_relative_sum_rounding(value) * (wins - losses)
            return jnp.where(kept, middle, low), jnp.where(kept, high, middle)

        ends = jnp.zeros_like(own_rank), jnp.full_like(own_rank, 1) + players
        return begin[lax.fori_loop(0, (count + 1).bit_length(), halve, ends)[0]]

    def recompute_rows(rows: Array, participants: Participants, group: Array) -> Array:
        centre, inverse = (x[None] for x in participants[:2])
        z = (participants.centre[rows][:, None] - centre) * inverse
        lost, won = (-inverse * noise.above(0, z)[0], inverse * noise.above(1, -z)[0])

        def losses_and_wins(place: Array) -> tuple[Array, Array]:
            before = group[None] < place[:, None]
            return jnp.sum(jnp.where(before, lost, 0.0), axis=1), jnp.sum(jnp.where(before, 0.0, won), axis=1)

        return search(rows, losses_and_wins)

    every = jnp.arange(count, dtype=jnp.int32)
    place = search(every, lambda place: (standing.losses(place)(centre)[0], standing.wins(place)(centre)[0]))
    return _rank_excluding_self(_recompute_where_table_coarse(standing, recompute_rows, place), rank, event)


def _relative_sum_rounding(x: Array) -> float:
    """How exact sums over everybody are, relative to what all count."""
    return 32.0 * float(np.finfo(x.dtype).eps)


def _rank_excluding_self(place: Array, rank: Array, event: Rounds) -> Array:
    """The rank in a place of the standings, without oneself."""
    place = jnp.minimum(place, jnp.sum(cdf_sums.participant_mask(event), dtype=jnp.int32))
    return place + 1 - (place > rank).astype(jnp.int32)
