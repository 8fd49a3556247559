"""One pass forwards and one backwards over all timelines, with the sites of the matches held fixed.

Forwards it is the filter of the system: time passes, the match is played, and its site exp(h z - z M z / 2), of the
linear predictors z = X theta, is applied. Backwards it is the smoother of Bryson and Frazier (1963) in the form of
Bierman (1973, "Fixed interval smoothing with discrete measurements", International Journal of Control 18), for which
no covariance is inverted: with P X^T = U and X P X^T = S before a site of precision M and pull h,
K = (1 + M S)^-1 M and e = (1 + M S)^-1 (h - M X m),

    l <- l - X^T (K U^T l + e),   L <- C^T L C + X^T K X,   C = 1 - U K X

and l <- k l, L <- k^2 L over time that leaves the share k of a lead. The smoothed moments are m - P l and P - P L P.
With A = U^T L U and b = U^T l of after the site, all but the site itself says of z that its mean and covariance are

    X m - (1 + A K)^-1 (b - A e),   S - (1 + A K)^-1 A
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.smoothing.timelines import Timelines
from jaxrate.systems.skills.belief_updates import (
    Message,
    add_match_growth,
    attenuate,
    condition_on_message,
    multiply,
    multiply_rows,
    predictor_covariance,
    revert_means_and_grow_variances,
    season_transition,
    sum_outer_products,
    time_transition,
)
from jaxrate.systems.skills.parts import Constants, State, indices_counted_in_rating, select_by_player_kind
from jaxrate.systems.skills.settings import ModelSettings


class NodeDynamics(NamedTuple):
    """The changes at each node of the timelines that do not depend on results. Leaves [steps, ..., lanes]."""

    is_first: Array
    # the retained shares of leads, [D] or [1], and growth of variances [D]
    transitions: tuple[tuple[Array | None, Array], ...]
    game_count: Array  # as how many matches it counts
    kind: Array | None  # of the player
    loadings: Array  # [k, D] X


class NodeBelief(NamedTuple):
    """The belief about a player at a node."""

    mean: Array  # [D, lanes], above a newcomer's
    covariance: Array  # [D, D, lanes]


class NodePrediction(NamedTuple):
    """The linear predictors at a node, before its site."""

    mean: Array  # [k] X m
    covariance: Array  # [k, k] S
    cross_covariance: Array  # [k, D] U^T


class Cavity(NamedTuple):
    """The linear predictors of participants, by all that is known but their own site."""

    mean: Array  # [..., k] above a newcomer's
    covariance: Array  # [..., k, k]


class GaussianSite(NamedTuple):
    """A Gaussian factor exp(h z - z M z / 2) of a player's linear predictors z in a match."""

    precision: Array  # [..., k, k] M
    pull: Array  # [..., k] h


def make_node_dynamics(
    model: ModelSettings, constants: Constants, timelines: Timelines, loadings: Array
) -> NodeDynamics:
    """The dynamics of these timelines; `loadings` are X [..., k, D] of participants."""
    own = select_by_player_kind(constants, timelines.kind_at_node)
    transitions = [time_transition(model, constants, own, timelines.elapsed)]
    if timelines.seasons_begun is not None:
        transitions.append(season_transition(model, constants, timelines.seasons_begun))
    x = participants_to_nodes(loadings, timelines)
    return NodeDynamics(
        timelines.is_first,
        jax.tree.map(lambda x: jnp.moveaxis(x, -1, 1), tuple(transitions)),
        timelines.game_count,
        timelines.kind_at_node,
        x,
    )


def participants_to_nodes(values: Array, timelines: Timelines) -> Array:
    """[steps, ..., lanes] the values of nodes, from those of participants [size, ...]; 0 at empty nodes."""
    nodes = values.at[timelines.participant_at_node].get(mode="fill", fill_value=0)
    return jnp.moveaxis(nodes, 1, -1)


def forward_pass(
    model: ModelSettings, constants: Constants, dynamics: NodeDynamics, site: GaussianSite
) -> tuple[NodePrediction, NodeBelief]:
    """The predictors and the beliefs at each node, before its site."""
    lanes, dtype = dynamics.is_first.shape[1], site.pull.dtype
    none = jnp.zeros((model.size, model.size, lanes), dtype)
    step_lanes = jax.vmap(partial(_forward_step, model, constants), -1, -1)
    return lax.scan(lambda belief, inputs: step_lanes(belief, *inputs), NodeBelief(none[0], none), (dynamics, site))[1]


def _forward_step(
    model: ModelSettings, constants: Constants, belief: NodeBelief, dynamics: NodeDynamics, site: GaussianSite
) -> tuple[NodeBelief, tuple[NodePrediction, NodeBelief]]:
    """The belief after a node, from that after the previous one; and the prediction and the belief before its site."""
    own = select_by_player_kind(constants, dynamics.kind)
    newcomer = NodeBelief(
        jnp.zeros_like(belief.mean), jnp.diag(jnp.broadcast_to(jnp.asarray(own.variance), belief.mean.shape))
    )
    mean, covariance = jax.tree.map(partial(_select, dynamics.is_first), newcomer, belief)
    row = State(mean, covariance, games=None, time=jnp.zeros(()))
    for keep, added in dynamics.transitions:
        row = revert_means_and_grow_variances(constants, own, row, keep, added)
    covariance = add_match_growth(model, constants, row.covariance, dynamics.kind, dynamics.game_count)
    belief, loadings = NodeBelief(row.mean, covariance), dynamics.loadings
    toward = multiply_rows(covariance, loadings)
    prediction = NodePrediction(
        jnp.sum(loadings * row.mean[None], axis=-1), predictor_covariance(loadings, toward), toward
    )
    return condition_belief_on_site(belief, loadings, prediction, site), (prediction, belief)


def _select(mask: Array, chosen: Array, other: Array) -> Array:
    """[..., lanes] the chosen values where `mask` is true, others elsewhere."""
    return jnp.where(jnp.broadcast_to(mask, chosen.shape), chosen, other)


def site_message(prediction: NodePrediction | Cavity, site: GaussianSite) -> Message:
    """What a site says, from the mean of a prediction or cavity."""
    return Message(site.precision, site.pull - multiply(site.precision, prediction.mean))


def condition_belief_on_site(
    belief: NodeBelief, loadings: Array, prediction: NodePrediction, site: GaussianSite
) -> NodeBelief:
    """The belief after the site of a node."""
    covariance, change = condition_on_message(belief.covariance, loadings, site_message(prediction, site))
    return NodeBelief(belief.mean + change, covariance)


class NodeHindsight(NamedTuple):
    """The belief about a player at a node given everything."""

    mean: Array  # [D], above a newcomer's
    variance: Array  # [D]
    rating: Array  # [] what they would bring to a neutral match but for experience, above a newcomer's
    rating_variance: Array  # []


def backward_pass(
    model: ModelSettings,
    dynamics: NodeDynamics,
    prediction: NodePrediction,
    site: GaussianSite,
    belief: NodeBelief | None = None,
) -> tuple[Cavity, NodeHindsight | None]:
    """The cavity at each node, without its own site; and with the beliefs before sites, those given everything."""
    lanes, size = dynamics.is_first.shape[1], model.size
    no_future = jnp.zeros((size, size, lanes), site.pull.dtype)
    step_lanes = jax.vmap(partial(_backward_step, indices_counted_in_rating(model)), -1, -1)

    def step(carry: tuple[NodeBelief, Array], inputs: Any) -> Any:
        future, ended = carry
        future = jax.tree.map(partial(_select, ended), NodeBelief(no_future[0], no_future), future)
        before_site, outputs = step_lanes(future, *inputs)
        keep = _lead_retention_of_node(inputs[0])
        if keep is not None:
            before_site = NodeBelief(keep * before_site.mean, keep[:, None] * keep[None] * before_site.covariance)
        return (before_site, inputs[0].is_first), outputs

    start = NodeBelief(no_future[0], no_future), jnp.ones(lanes, bool)
    return lax.scan(step, start, (dynamics, prediction, site, belief), reverse=True)[1]


def _lead_retention_of_node(dynamics: NodeDynamics) -> Array | None:
    """[D, lanes], or [1, lanes], the share of a lead that all transitions of a node retain; None if all of it."""
    retentions = [keep for keep, _ in dynamics.transitions if keep is not None]
    return math.prod(retentions[1:], start=retentions[0]) if retentions else None


def _backward_step(
    rated: Any,
    future: NodeBelief,
    dynamics: NodeDynamics,
    prediction: NodePrediction,
    site: GaussianSite,
    belief: NodeBelief | None,
) -> tuple[NodeBelief, tuple[Cavity, NodeHindsight | None]]:
    """l and L before a node's site from those after it, with the cavity and the smoothed rating."""
    x, u = dynamics.loadings, prediction.cross_covariance
    product = multiply_rows(future.covariance, u)  # U^T L
    a, b = predictor_covariance(u, product), jnp.sum(u * future.mean[None], axis=-1)
    gain, error = attenuate(site_message(prediction, site), prediction.covariance)
    # (1 + A K)^-1 is what `attenuate` finds of A as the precision and of K as the covariance
    lost, moved = attenuate(Message(a, b - multiply(a, error)), gain)
    rounding = float(np.finfo(a.dtype).eps)
    unit = jnp.eye(len(b), dtype=a.dtype)
    covariance = prediction.covariance - lost
    least = jnp.where(unit > 0, rounding * prediction.covariance, -jnp.inf)
    cavity = Cavity(prediction.mean - moved, jnp.maximum(covariance, least))
    pulled = multiply(gain, b) + error
    crossed = jnp.sum(gain[..., None] * product[None], axis=1)  # K U^T L
    cross_term = jnp.sum(x[:, :, None] * crossed[:, None, :], axis=0)
    squared = gain + sum_outer_products(a, gain)  # K + K A K
    before_site = NodeBelief(
        future.mean - jnp.sum(x * pulled[:, None], axis=0),
        future.covariance - (cross_term + cross_term.T) + sum_outer_products(squared, x),
    )
    if belief is None:
        return before_site, (cavity, None)
    mean, variance = belief.mean - multiply(belief.covariance, before_site.mean), jnp.diagonal(belief.covariance)
    reduced = jnp.sum(belief.covariance[:, :, None] * before_site.covariance[None], axis=1)  # P L, sooner than by a dot
    reduction = jnp.sum(belief.covariance * reduced, axis=1)
    toward = jnp.sum(belief.covariance[:, rated], axis=1)  # the covariances of all numbers with the rating
    rating_variance = jnp.sum(toward[rated]) - jnp.sum(toward * multiply(before_site.covariance, toward))
    hindsight = NodeHindsight(
        mean,
        jnp.maximum(variance - reduction, rounding * variance),
        jnp.sum(mean[rated]),
        jnp.maximum(rating_variance, rounding * jnp.sum(toward[rated])),
    )
    return before_site, (cavity, hindsight)
