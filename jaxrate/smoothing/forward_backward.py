"""One pass forwards and one backwards over all timelines, with the sites of the matches held fixed.

Forwards it is the filter of the system: time passes, the match is played, and its site exp(h z - I z^2 / 2), of
z = x^T theta, is applied. Backwards it is the smoother of Bryson and Frazier (1963) in the form of Bierman (1973,
"Fixed interval smoothing with discrete measurements", International Journal of Control 18), for which no matrix is
inverted: with P x = u and x^T P x = s before a site, and q = 1 / (1 + s I),

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

from jaxrate.core import mean_reversion
from jaxrate.core.array_types import Array
from jaxrate.smoothing.timelines import Timelines
from jaxrate.systems.skills.belief_updates import (
    add_to_diagonal,
    append_form_retention_and_growth,
    condition_covariance_on_message,
    pad_common_skill_with_zeros,
    revert_means_and_grow_variances,
)
from jaxrate.systems.skills.match_strengths import StrengthBelief, covariance_with_strength
from jaxrate.systems.skills.settings import Constants, ModelSettings, State, newcomer_variances


class NodeDynamics(NamedTuple):
    """The changes at each node of the timelines that do not depend on results. Leaves [steps, ..., lanes]."""

    is_first: Array
    # the retained share of a lead, [..., D] with form, and [..., D] growth of variances
    transitions: tuple[tuple[Array | None, Array], ...]
    match_variance: Array | None  # growth of the variance of the common skill by the match
    coefficients: Array  # [D] x


class NodeBelief(NamedTuple):
    """The belief about a player at a node."""

    mean: Array  # [D, lanes], above a newcomer's
    covariance: Array  # [D, D, lanes]


class NodePrediction(NamedTuple):
    """The predicted strength at a node, before its site."""

    mean: Array  # [] x^T m
    variance: Array  # [] s
    cross_covariance: Array  # [D] u


class GaussianSite(NamedTuple):
    """A Gaussian factor exp(h z - I z^2 / 2) of a player's strength z in a match."""

    precision: Array  # I
    pull: Array  # h


def make_node_dynamics(
    model: ModelSettings, constants: Constants, timelines: Timelines, coefficients: Array | None
) -> NodeDynamics:
    """The dynamics of these timelines; `coefficients` are x [..., D] of participants, None if D = 1."""
    params = constants.params
    retention, elapsed = mean_reversion.lead_retention_and_growth_time(params.reversion, timelines.elapsed)
    growth = jnp.reshape(jnp.asarray(constants.growth, elapsed.dtype), (1, 1, -1))
    added = elapsed[..., None] * growth
    if model.form:
        retention, added = append_form_retention_and_growth(model, params, retention, added, timelines.elapsed)
        retention = jnp.moveaxis(retention, -1, 1)
    transitions = [(retention, jnp.moveaxis(added, -1, 1))]
    if timelines.seasons_begun is not None:
        season_retention, season_variance = mean_reversion.season_lead_retention_and_added_variance(
            params.season_keep, params.season_growth, timelines.seasons_begun
        )
        transitions.append(
            (
                season_retention,
                jnp.moveaxis(
                    pad_common_skill_with_zeros(
                        model, season_variance[..., None] if model.size == 1 else season_variance
                    ),
                    -1,
                    1,
                ),
            )
        )
    match_variance = None if constants.match_growth is None else constants.match_growth * timelines.game_count
    if coefficients is None:
        x = jnp.ones((*timelines.participant_at_node.shape, 1), elapsed.dtype)
    else:
        x = coefficients.reshape(-1, model.size).at[timelines.participant_at_node].get(mode="fill", fill_value=0)
    return NodeDynamics(timelines.is_first, tuple(transitions), match_variance, jnp.moveaxis(x, -1, 1))


def participants_to_nodes(values: Array, timelines: Timelines) -> Array:
    """[steps, lanes] the values of nodes, from those of participants; 0 at empty nodes."""
    return values.reshape(-1).at[timelines.participant_at_node].get(mode="fill", fill_value=0)


def forward_pass(
    model: ModelSettings, constants: Constants, dynamics: NodeDynamics, site: GaussianSite
) -> tuple[NodePrediction, NodeBelief]:
    """The predicted strengths and the beliefs at each node, before its site."""
    lanes, dtype = dynamics.is_first.shape[1], site.pull.dtype
    variance = jnp.reshape(jnp.asarray(newcomer_variances(model, constants.params), dtype), (model.size,))
    square = (model.size, model.size, lanes)
    newcomer = NodeBelief(
        jnp.zeros((model.size, lanes), dtype), jnp.broadcast_to(jnp.diag(variance)[..., None], square)
    )
    step_lanes = jax.vmap(partial(_forward_step, model, constants), -1, -1)

    def step(
        belief: NodeBelief, node_inputs: tuple[NodeDynamics, GaussianSite]
    ) -> tuple[NodeBelief, tuple[NodePrediction, NodeBelief]]:
        return step_lanes(_select_lanes(node_inputs[0].is_first, newcomer, belief), *node_inputs)

    return lax.scan(step, newcomer, (dynamics, site))[1]


def _forward_step(
    model: ModelSettings, constants: Constants, belief: NodeBelief, dynamics: NodeDynamics, site: GaussianSite
) -> tuple[NodeBelief, tuple[NodePrediction, NodeBelief]]:
    """The belief after a node, from that after the previous one; and the prediction and the belief before its site."""
    row = State(belief.mean, belief.covariance, jnp.zeros(()), jnp.zeros(()))
    if model.size == 1:
        row = row._replace(mean=belief.mean[0], covariance=belief.covariance[0, 0])
    for keep, added in dynamics.transitions:
        row = revert_means_and_grow_variances(model, constants, row, keep, added[0] if model.size == 1 else added)
    if dynamics.match_variance is not None:
        row = row._replace(
            covariance=add_to_diagonal(
                model, row.covariance, pad_common_skill_with_zeros(model, dynamics.match_variance)
            )
        )
    shape = (model.size,)
    belief = NodeBelief(jnp.reshape(row.mean, shape), jnp.reshape(row.covariance, shape * 2))
    cross_covariance = covariance_with_strength(belief.covariance, dynamics.coefficients)
    prediction = NodePrediction(
        jnp.sum(dynamics.coefficients * belief.mean),
        jnp.maximum(jnp.sum(dynamics.coefficients * cross_covariance), 0.0),
        cross_covariance,
    )
    return condition_belief_on_site(belief, dynamics.coefficients, prediction, site), (prediction, belief)


def _select_lanes(mask: Array, chosen_belief: NodeBelief, other_belief: NodeBelief) -> NodeBelief:
    """[..., lanes] the chosen belief where `mask` is true, the other one elsewhere."""
    return NodeBelief(
        *(jnp.where(jnp.broadcast_to(mask, x.shape), x, y) for x, y in zip(chosen_belief, other_belief, strict=True))
    )


def condition_belief_on_site(
    belief: NodeBelief, coefficients: Array, prediction: NodePrediction, site: GaussianSite
) -> NodeBelief:
    """The belief after the site of a node."""
    covariance, gain = condition_covariance_on_message(belief.covariance, coefficients, site.precision)
    return NodeBelief(belief.mean + gain * (site.pull - site.precision * prediction.mean), covariance)


class NodeHindsight(NamedTuple):
    """The belief about a player at a node given everything."""

    mean: Array  # [D], above a newcomer's
    variance: Array  # [D]
    common_and_last: Array  # [] the covariance of the common skill and the last part, which is form if there is any


def rating_in_hindsight(model: ModelSettings, hindsight: NodeHindsight) -> tuple[Array, Array]:
    """[...] what players would bring to a neutral match but for experience, above a newcomer's, and its variance.

    `hindsight` has means and variances [..., D]. With form they are of the sum of it and the common skill.
    """
    mean, variance, common_and_last = hindsight
    if not model.form:
        return mean[..., 0], variance[..., 0]
    both = variance[..., 0] + 2.0 * common_and_last + variance[..., -1]
    return mean[..., 0] + mean[..., -1], jnp.maximum(both, 0.0)


def backward_pass(
    dynamics: NodeDynamics, prediction: NodePrediction, site: GaussianSite, belief: NodeBelief | None = None
) -> tuple[StrengthBelief, NodeHindsight | None]:
    """The cavity of x^T theta at each node, without its own site; and with beliefs, the smoothed means and variances.

    Smoothed means and variances are [steps, D, lanes].
    """
    size, lanes = dynamics.coefficients.shape[1:]
    no_future = NodeBelief(jnp.zeros((size, lanes), site.pull.dtype), jnp.zeros((size, size, lanes), site.pull.dtype))
    step_lanes = jax.vmap(_backward_step, -1, -1)

    def step(
        carry: tuple[NodeBelief, Array],
        node_inputs: tuple[NodeDynamics, NodePrediction, GaussianSite, NodeBelief | None],
    ) -> Any:
        future, ended = carry
        before_site, outputs = step_lanes(_select_lanes(ended, no_future, future), *node_inputs)
        retention = _skill_retention_of_node(node_inputs[0])
        if retention is not None:
            kept = retention[:, None] * retention[None]
            before_site = NodeBelief(retention * before_site.mean, kept * before_site.covariance)
        return (before_site, node_inputs[0].is_first), outputs

    all_ended = jnp.ones(lanes, bool)
    return lax.scan(step, (no_future, all_ended), (dynamics, prediction, site, belief), reverse=True)[1]


def _skill_retention_of_node(dynamics: NodeDynamics) -> Array | None:
    """[D, lanes] the share of a lead that all transitions of a node retain, [1, lanes] where parts are alike.

    None if all of it.
    """
    retentions = [jnp.atleast_2d(keep) for keep, _ in dynamics.transitions if keep is not None]
    return math.prod(retentions[1:], start=retentions[0]) if retentions else None


def _backward_step(
    future: NodeBelief,
    dynamics: NodeDynamics,
    prediction: NodePrediction,
    site: GaussianSite,
    belief: NodeBelief | None,
) -> tuple[NodeBelief, tuple[StrengthBelief, NodeHindsight | None]]:
    """l and L before a node's site from those after it, with the cavity and the smoothed rating."""
    future_mean, future_information = future
    x, u = dynamics.coefficients, prediction.cross_covariance
    information_product = covariance_with_strength(future_information, u)
    a, b = jnp.maximum(jnp.sum(u * information_product), 0.0), jnp.sum(u * future_mean)
    q = 1.0 / (1.0 + prediction.variance * site.precision)
    scaled_precision, surprise = site.precision * q, (site.pull - site.precision * prediction.mean) * q
    f = 1.0 / (1.0 + a * scaled_precision)
    rounding = float(np.finfo(a.dtype).eps)
    cavity = StrengthBelief(
        None,
        prediction.mean - f * (b - a * surprise),
        jnp.maximum(prediction.variance - f * a, rounding * prediction.variance),
    )
    cross_term = information_product[:, None] * x[None, :]
    outer_term = (scaled_precision * (1.0 + scaled_precision * a)) * (x[:, None] * x[None, :])
    before_site = NodeBelief(
        future_mean - x * (scaled_precision * b + surprise),
        future_information - scaled_precision * (cross_term + cross_term.T) + outer_term,
    )
    if belief is None:
        return before_site, (cavity, None)
    mean, covariance = belief
    variance = jnp.diagonal(covariance)
    covariance_information = jnp.sum(
        covariance[:, :, None] * before_site.covariance[None], axis=1
    )  # P L, sooner than by a dot of two
    variance_reduction = jnp.sum(covariance * covariance_information, axis=1)
    hindsight = NodeHindsight(
        mean - covariance_with_strength(covariance, before_site.mean),
        jnp.maximum(variance - variance_reduction, rounding * variance),
        covariance[0, -1] - jnp.sum(covariance[-1] * covariance_information[0]),
    )
    return before_site, (cavity, hindsight)
