"""Expectation propagation along the standing of a round: what each link says, passed down and up the chain of teams."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import has_launch_overhead, stack_pair
from jaxrate.events import Rounds
from jaxrate.numerics.special_functions import normal_moments_above_margin, truncated_normal_moments
from jaxrate.systems.rounds.round_teams import Teams

EXTRA_SWEEPS = 8  # sweeps beyond the logarithm of the number of teams
STEPS_PER_PRODUCT = 16  # steps of a chain that are multiplied in one turn
IDENTITY_STEP = 0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 1.0  # of no step
UNINFORMATIVE_VARIANCE = 1e15  # variance of a message that says nothing, of a link whose teams have variance 1


class NeighbourDifferenceMessage(NamedTuple):
    """The message about a difference [T - 1] of neighbours."""

    mean: Array  # d
    variance: Array  # r


class PropagatedStanding(NamedTuple):
    """The messages of all links, and what comes to each team from the others."""

    link: NeighbourDifferenceMessage
    variance_from_above: Array  # [T] of each team's performance by itself and the links above it
    mean_from_above: Array  # [T] by how much the mean of that is ahead of M
    variance_from_below: Array  # [T]
    mean_from_below: Array  # [T]


LinkMoments: TypeAlias = Callable[[Array, Array, Array], tuple[Array, Array, Array, Array]]


def link_moments_with_draw_margin(event: Rounds) -> LinkMoments:
    """The moments of a difference beyond the margin, or within it where teams tie, as `truncated_normal_moments`."""
    if event.strict is None:
        return truncated_normal_moments
    return lambda lead, margin, tied: normal_moments_above_margin(lead, margin)


def propagate_standing(
    sweeps: int | None, link_moments: LinkMoments, mean: Array, variance: Array, margin: Array, teams: Teams
) -> PropagatedStanding:
    """Expectation propagation along a standing.

    Args:
      sweeps: of expectation propagation; None: as many as it takes.
      link_moments: of a difference N(lead, 1), of the lead, the margin and whether the two tie: what
        `truncated_normal_moments` returns.
      mean, variance: [T] M and V of the teams; 0 and 1 for padding.
      margin: [T - 1] of neighbours.
      teams: in the order of the standing.
    """
    tied, mask = teams.rank[:-1] == teams.rank[1:], teams.size[1:] > 0
    gap, free = mean[:-1] - mean[1:], UNINFORMATIVE_VARIANCE * (variance[:-1] + variance[1:])
    pass_chain = chain_marginals_parallel if has_launch_overhead() else chain_marginals

    def message(s: Array, m: Array) -> NeighbourDifferenceMessage:
        """From the variance of each team and the distance of its mean from M, without the link's own message."""
        square = s[0, :-1] + s[1, -2::-1]
        spread, ahead = jnp.sqrt(square), gap + (m[0, :-1] - m[1, -2::-1])
        _, w, left, centre = link_moments(ahead / spread, margin / spread, tied)
        w = jnp.maximum(w, 1.0 / UNINFORMATIVE_VARIANCE)
        return NeighbourDifferenceMessage(
            jnp.where(mask, spread * centre / w, 0.0), jnp.where(mask, square * left / w, free)
        )

    def passed(link: NeighbourDifferenceMessage) -> tuple[Array, Array]:
        """[2, T] s and m - M: what comes to each team from those above it; and, from the last team on, from below."""
        ways = stack_pair(link.variance, link.variance[::-1]), stack_pair(gap - link.mean, (link.mean - gap)[::-1])
        return pass_chain(both, *ways)

    enough = sweeps or count_sweeps_for_teams(jnp.sum(teams.size > 0))  # whatever the padding

    def sweep(carry: tuple[Any, ...], number: Array) -> tuple[tuple[Any, ...], None]:
        link = message(*carry[1:])
        return jax.tree.map(partial(jnp.where, number < enough), (link, *passed(link)), carry), None

    both = stack_pair(variance, variance[::-1])
    most = sweeps or (1 if len(mean) <= 2 else EXTRA_SWEEPS + (len(mean) - 1).bit_length())
    begin = NeighbourDifferenceMessage(gap, gap), both, jnp.zeros_like(both)
    (link, s, m), _ = lax.scan(sweep, begin, jnp.arange(most, dtype=jnp.int32))
    return PropagatedStanding(link, s[0], m[0], s[1, ::-1], m[1, ::-1])


def standing_to_team_messages(standing: PropagatedStanding, mean: Array) -> tuple[Array, Array]:
    """What a standing says of each team's performance: the precision [T], and that times the distance of the mean M."""
    link, s, m, t, n = standing
    gap, zero = mean[:-1] - mean[1:], jnp.zeros(1, mean.dtype)
    from_above = jnp.append(zero, 1.0 / (s[:-1] + link.variance)), jnp.append(zero, m[:-1] + gap - link.mean)
    from_below = jnp.append(1.0 / (t[1:] + link.variance), zero), jnp.append(n[1:] - gap + link.mean, zero)
    precision = from_above[0] + from_below[0]
    return precision, from_above[0] * from_above[1] + from_below[0] * from_below[1]


def count_sweeps_for_teams(count: Array) -> Array:
    """[] how many sweeps a round of so many teams takes: more by one for each doubling."""
    return EXTRA_SWEEPS + 32 - lax.clz(count.astype(jnp.int32) - 1)


def chain_marginals(variance: Array, message_variance: Array, step: Array) -> tuple[Array, Array]:
    """s and m - M [..., T] of the module's docstring for every team of a chain, one after the other.

    Args:
      variance: [..., T] V.
      message_variance: [..., T - 1] r.
      step: [..., T - 1] d and the difference of M, from each team to the next one.
    """

    def one(carry: tuple[Array, Array], entry: tuple[Array, ...]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        (s, m), (v, r, d) = carry, entry
        s = s + r
        share = v / (v + s)
        carry = s * share, share * (m + d)
        return carry, carry

    v, r, d = (jnp.moveaxis(x, -1, 0) for x in (variance, message_variance, step))
    # Of few teams there are many rounds at once, and more is done in a step than it takes to start it.
    _, (s, m) = lax.scan(one, (v[0], jnp.zeros_like(v[0])), (v[1:], r, d), unroll=len(r) < 16)
    s, m = jnp.concatenate([v[:1], s]), jnp.concatenate([jnp.zeros_like(v[:1]), m])
    return jnp.moveaxis(s, 0, -1), jnp.moveaxis(m, 0, -1)


def chain_marginals_parallel(variance: Array, message_variance: Array, step: Array) -> tuple[Array, Array]:
    """The same in a logarithmic number of operations.

    With s = A / B and m - M = N / B a step is linear: A' = V (A + r B), B' = A + (V + r) B, N' = V (N + d B). Steps in
    a row are products of such matrices, scaled so that the sum of those of A and B is 1. Each turn multiplies
    `STEPS_PER_PRODUCT` of them, in one kernel: those of so many teams in a row, then products of these. The first
    team's step forgets.
    """
    number = jnp.arange(variance.shape[-1], dtype=jnp.int32)
    r, d = (jnp.pad(x, [*[(0, 0)] * (x.ndim - 1), (1, 0)]) for x in (message_variance, step))
    size, one, none = variance + (variance + r + variance * r + 1.0), jnp.ones_like(variance), jnp.zeros_like(variance)
    steps = variance, variance * r, one, variance + r, none, variance * d, variance
    first = none, variance, none, one, none, none, none
    size = jnp.where(number == 0, variance + 1.0, size)
    product = tuple(jnp.where(number == 0, x, y) / size for x, y in zip(first, steps, strict=True))
    stride = 1
    while stride < len(number):
        before = product
        for i in range(1, STEPS_PER_PRODUCT):
            product = _compose_chain_steps(
                [_shift_right(x, i * stride, unit) for x, unit in zip(before, IDENTITY_STEP, strict=True)], product
            )
        stride *= STEPS_PER_PRODUCT
    _, s, _, below, _, m, _ = product
    return s / below, m / below


def _compose_chain_steps(earlier: Sequence[Array], later: Sequence[Array]) -> tuple[Array, ...]:
    """The steps `later` after the steps `earlier`."""
    (a, b, c, d, e, f, g), (h, i, j, k, p, q, u) = earlier, later
    product = h * a + i * c, h * b + i * d, j * a + k * c, j * b + k * d
    size = sum(product)
    return tuple(x / size for x in (*product, p * a + q * c + u * e, p * b + q * d + u * f, u * g))


def _shift_right(x: Array, places: int, fill: float) -> Array:
    """What stood so many places before [..., T]."""
    kept = x[..., : max(x.shape[-1] - places, 0)]
    return jnp.pad(kept, [*[(0, 0)] * (x.ndim - 1), (x.shape[-1] - kept.shape[-1], 0)], constant_values=fill)
