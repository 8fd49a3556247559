"""One pass forwards and one backwards over all timelines, with what each match says held fixed.

Forwards it is the filter of the system: time passes, the match is played, and its site exp(h z - I z^2 / 2), of
z = x^T theta, is told. Backwards it is the smoother of Bryson and Frazier (1963) in the form of Bierman (1973, "Fixed
interval smoothing with discrete measurements", International Journal of Control 18), for which no matrix is inverted:
with P x = u and x^T P x = s before a site, and q = 1 / (1 + s I),

    l <- C^T l - x V q,   L <- C^T L C + x x^T I q,   C = 1 - u x^T I q,   V = h - I x^T m

and l <- k l, L <- k^2 L over time that leaves the share k of a lead. The smoothed moments are m - P l and P - P L P.
With a = u^T L u and b = u^T l of after the site, all but the site itself says of z that its mean and its variance are

    x^T m - f (b - a V q),   s - f a,   f = (1 + s I) / (1 + s I + a I)
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.smoothing.timelines import Timelines
from jaxrate.system import Rating
from jaxrate.systems import mean_reversion
from jaxrate.systems.skills.aging import add_to_diagonal, common_skill_vector, decay_and_grow
from jaxrate.systems.skills.match_strengths import Strength, covariance_with_strength
from jaxrate.systems.skills.model import Constants, Model, State, initial_variance
from jaxrate.systems.skills.posterior import _condition_on_message
from jaxrate.types import Array


class NodeDynamics(NamedTuple):
    """What happens at each node of the timelines, whatever the matches say. Leaves [steps, ..., lanes]."""

    first: Array
    transitions: tuple[tuple[Array | None, Array], ...]  # shares of a lead, and [..., D] what is added to the variances
    added: Array | None  # to the variance of the common skill, by the match
    picked: Array  # [D] x


class NodeBelief(NamedTuple):
    mean: Array  # [D, lanes], ahead of a newcomer
    covariance: Array  # [D, D, lanes]


class NodePrediction(NamedTuple):
    """A node before its site."""

    mean: Array  # [] x^T m
    variance: Array  # [] s
    toward: Array  # [D] u


class Site(NamedTuple):
    precision: Array  # I
    pull: Array  # h


def node_dynamics(model: Model, constants: Constants, lines: Timelines, coefficients: tuple[Any, Any]) -> NodeDynamics:
    """Of these timelines; `picked` are [size, D] x of the first players and of the second, None if D = 1."""
    params = constants.params
    keep, span = mean_reversion.decay_over_time(params.reversion, lines.elapsed)
    growth = jnp.reshape(jnp.asarray(constants.growth, span.dtype), (1, -1, 1))
    passages = [(keep, span[:, None] * growth)]
    if lines.begun is not None:
        kept, gain = mean_reversion.decay_over_seasons(params.season_keep, params.season_growth, lines.begun)
        passages.append(
            (kept, jnp.moveaxis(common_skill_vector(model, gain[..., None] if model.size == 1 else gain), -1, 1))
        )
    added = None
    if constants.match_growth is not None:
        weight = lines.events.context.weight
        both = jnp.ones((2, *lines.real.shape), span.dtype) if weight is None else jnp.stack([weight, weight])
        added = constants.match_growth * gather_at_nodes(both, lines)
    if coefficients[0] is None:
        x = jnp.ones((*lines.node.shape, 1), span.dtype)
    else:
        x = jnp.concatenate(coefficients).at[lines.node].get(mode="fill", fill_value=0)
    return NodeDynamics(lines.first, tuple(passages), added, jnp.moveaxis(x, -1, 1))


def gather_at_nodes(values: Array, lines: Timelines) -> Array:
    """[steps, lanes] values of both players of each match [2, size]; 0 where nobody stands."""
    return values.reshape(-1).at[lines.node].get(mode="fill", fill_value=0)


def forward_pass(
    model: Model, constants: Constants, dynamics: NodeDynamics, site: Site
) -> tuple[NodePrediction, NodeBelief]:
    """What is known at each node before its site, and the beliefs there."""
    lanes, dtype = dynamics.first.shape[1], site.pull.dtype
    variance = jnp.reshape(jnp.asarray(initial_variance(model, constants.params), dtype), (model.size,))
    square = (model.size, model.size, lanes)
    newcomer = NodeBelief(
        jnp.zeros((model.size, lanes), dtype), jnp.broadcast_to(jnp.diag(variance)[..., None], square)
    )
    one = jax.vmap(partial(_forward_step, model, constants), -1, -1)

    def step(
        belief: NodeBelief, now: tuple[NodeDynamics, Site]
    ) -> tuple[NodeBelief, tuple[NodePrediction, NodeBelief]]:
        return one(_select_lanes(now[0].first, newcomer, belief), *now)

    return lax.scan(step, newcomer, (dynamics, site))[1]


def _forward_step(
    model: Model, constants: Constants, belief: NodeBelief, dynamics: NodeDynamics, site: Site
) -> tuple[NodeBelief, tuple[NodePrediction, NodeBelief]]:
    """From the belief after a node to that after the next, and what is known before its site."""
    row = State(belief.mean, belief.covariance, jnp.zeros(()), jnp.zeros(()))
    if model.size == 1:
        row = row._replace(mean=belief.mean[0], covariance=belief.covariance[0, 0])
    for keep, added in dynamics.transitions:
        row = decay_and_grow(model, constants, row, keep, added[0] if model.size == 1 else added)
    if dynamics.added is not None:
        row = row._replace(
            covariance=add_to_diagonal(model, row.covariance, common_skill_vector(model, dynamics.added))
        )
    shape = (model.size,)
    belief = NodeBelief(jnp.reshape(row.mean, shape), jnp.reshape(row.covariance, shape * 2))
    toward = covariance_with_strength(belief.covariance, dynamics.picked)
    seen = NodePrediction(
        jnp.sum(dynamics.picked * belief.mean), jnp.maximum(jnp.sum(dynamics.picked * toward), 0.0), toward
    )
    return apply_site(belief, dynamics.picked, seen, site), (seen, belief)


def _select_lanes(mask: Array, chosen_belief: NodeBelief, other_belief: NodeBelief) -> NodeBelief:
    """[..., lanes] of the first in some lanes, of the other in the rest."""
    return NodeBelief(
        *(jnp.where(jnp.broadcast_to(mask, x.shape), x, y) for x, y in zip(chosen_belief, other_belief, strict=True))
    )


def apply_site(belief: NodeBelief, coefficients: Array, prediction: NodePrediction, site: Site) -> NodeBelief:
    """After the site of a node."""
    covariance, gain = _condition_on_message(belief.covariance, coefficients, site.precision)
    return NodeBelief(belief.mean + gain * (site.pull - site.precision * prediction.mean), covariance)


def backward_pass(
    dynamics: NodeDynamics, prediction: NodePrediction, site: Site, belief: NodeBelief | None = None
) -> tuple[Strength, Rating | None]:
    """What all but its site says of x^T theta at each node; and where beliefs are given, what they become in hindsight.

    Those are means and variances [steps, D, lanes].
    """
    size, lanes = dynamics.picked.shape[1:]
    nothing = NodeBelief(jnp.zeros((size, lanes), site.pull.dtype), jnp.zeros((size, size, lanes), site.pull.dtype))
    one = jax.vmap(_backward_step, -1, -1)

    def step(carry: tuple[NodeBelief, Array], now: tuple[NodeDynamics, NodePrediction, Site, NodeBelief | None]) -> Any:
        future, ended = carry
        before, found = one(_select_lanes(ended, nothing, future), *now)
        keep = _lead_retention(now[0])
        passed = (
            before
            if keep is None
            else NodeBelief(keep[None] * before.mean, (keep * keep)[None, None] * before.covariance)
        )
        return (passed, now[0].first), found

    end = jnp.ones(lanes, bool)
    return lax.scan(step, (nothing, end), (dynamics, prediction, site, belief), reverse=True)[1]


def _lead_retention(dynamics: NodeDynamics) -> Array | None:
    shares = [keep for keep, _ in dynamics.transitions if keep is not None]
    return math.prod(shares[1:], start=shares[0]) if shares else None


def _backward_step(
    future: NodeBelief, dynamics: NodeDynamics, prediction: NodePrediction, site: Site, belief: NodeBelief | None
) -> tuple[NodeBelief, tuple[Strength, Rating | None]]:
    """From l and L after a node's site to those before it."""
    push, hold = future
    x, u = dynamics.picked, prediction.toward
    met = covariance_with_strength(hold, u)
    a, b = jnp.maximum(jnp.sum(u * met), 0.0), jnp.sum(u * push)
    q = 1.0 / (1.0 + prediction.variance * site.precision)
    share, surprise = site.precision * q, (site.pull - site.precision * prediction.mean) * q
    f = 1.0 / (1.0 + a * share)
    least = float(np.finfo(a.dtype).eps)
    cavity = Strength(
        None,
        prediction.mean - f * (b - a * surprise),
        jnp.maximum(prediction.variance - f * a, least * prediction.variance),
    )
    side = met[:, None] * x[None, :]
    square = (share * (1.0 + share * a)) * (x[:, None] * x[None, :])
    before = NodeBelief(push - x * (share * b + surprise), hold - share * (side + side.T) + square)
    if belief is None:
        return before, (cavity, None)
    mean, covariance = belief
    variance = jnp.diagonal(covariance)
    both = jnp.sum(covariance[:, :, None] * before.covariance[None], axis=1)  # P L, sooner than by a dot of two
    lost = jnp.sum(covariance * both, axis=1)
    hindsight = Rating(
        mean - covariance_with_strength(covariance, before.mean), jnp.maximum(variance - lost, least * variance)
    )
    return before, (cavity, hindsight)
