"""Expectation propagation: each sweep passes over all timelines with the current sites, then renews all sites."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.array_types import Array
from jaxrate.numerics.linear_systems import solve_definite_systems
from jaxrate.replay.execution import jit_with_small_matrix_compile_options
from jaxrate.rules import Rating
from jaxrate.smoothing.forward_backward import (
    GaussianSite,
    NodeDynamics,
    NodePrediction,
    backward_pass,
    forward_pass,
    make_node_dynamics,
    matches_to_nodes,
)
from jaxrate.smoothing.forward_backward import condition_belief_on_site as after
from jaxrate.smoothing.likelihood_sites import (
    log_site_integral,
    match_sites,
    meetings_from_cavities,
    result_log_likelihood,
)
from jaxrate.smoothing.timelines import QueryNodes, Timelines
from jaxrate.systems.skills.match_strengths import StrengthBelief, add_match_effects_to_lead, make_skill_loadings
from jaxrate.systems.skills.outcome_likelihoods import expected_score
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings, State, init, prepare

ANDERSON_DEPTH = 5  # past sweeps that are mixed
UNMIXED_SWEEPS = 3  # first sweeps that are not mixed, as they change much
SUM_WIDTH = 1024  # partial sums side by side
VARIANCE_CHANGE_WEIGHT = 0.1  # weight of the relative change of a variance: rounding moves variances more than means


class SweepResult(NamedTuple):
    """The result of the sweeps."""

    site: GaussianSite  # [2, size]
    cavity: StrengthBelief  # [2, size] of x^T theta above a newcomer's, given all other matches
    sweeps: Array  # how many sweeps were made
    change: Array  # the greatest in the last sweep, of a mean in deviations or a tenth of a relative one of a variance


class SmoothedQuantities(NamedTuple):
    """The smoothed ratings, the predictions, the state and the evidence."""

    rating: Rating  # [2, size] of both players of each match, after it
    components: Rating  # [2, size, D]
    state: State  # [num_players, ...] after the last match of each
    prediction: Array  # [size] expected scores, given all but the match
    evidence: Array  # [size] the term of each match


class SweepInputs(NamedTuple):
    """What all sweeps share."""

    constants: Constants
    dynamics: NodeDynamics
    offset: Array  # [size] the lead of the first of two equal players


def prepare_sweep(model: ModelSettings, params: Any, timelines: Timelines) -> SweepInputs:
    """The constants, dynamics and offsets that all sweeps share."""
    constants = prepare(model, params)
    constants = constants._replace(newcomer=jax.tree.map(jnp.zeros_like, constants.newcomer))
    games = None if params.experience is None else (timelines.games_before[0], timelines.games_before[1])
    offset = add_match_effects_to_lead(
        model, constants, jnp.zeros_like(timelines.events.score), games, timelines.events
    )
    return SweepInputs(
        constants, make_node_dynamics(model, constants, timelines, make_skill_loadings(model, timelines.events)), offset
    )


def nodes_to_matches(values: Array, timelines: Timelines) -> Array:
    """[2, size, ...] the values of both players of each match, from values of nodes [steps, ..., lanes]."""
    flat = jnp.moveaxis(values, -1, 1).reshape(-1, *values.shape[1:-1])
    return flat[timelines.node_of_player]


class AndersonHistory(NamedTuple):
    """Differences between consecutive sweeps among the last ones, for Anderson mixing."""

    images: GaussianSite  # [ANDERSON_DEPTH, 2, size] of the sites that a sweep produces
    residuals: Array  # [ANDERSON_DEPTH, 2, size] of the changes of sites, in deviations
    products: Array  # [ANDERSON_DEPTH, ANDERSON_DEPTH] inner products of the residuals
    num_kept: Array  # differences kept since the history was last cleared


class SweepLoopState(NamedTuple):
    """The state of the loop of sweeps."""

    sweep_result: SweepResult
    image: GaussianSite  # [2, size] the sites that the last sweep produced
    residual: Array  # [2, size]
    history: AndersonHistory


@jit_with_small_matrix_compile_options
def run_sweeps(
    model: ModelSettings,
    params: Any,
    timelines: Timelines,
    tolerance: Array,
    max_sweeps: Array,
    site: GaussianSite | None = None,
) -> SweepResult:
    """Sweep until no mean moves by more than `tolerance` deviations and no variance by ten times that, or `max_sweeps`.

    The sweeps begin with the given sites, or with none. Padding, where `is_match` is false, says nothing.
    """
    inputs = prepare_sweep(model, params, timelines)
    zero = jnp.zeros(timelines.node_of_player.shape, timelines.elapsed.dtype)
    is_match = jnp.broadcast_to(timelines.is_match, zero.shape)

    def sweep_once(progress: SweepLoopState) -> SweepLoopState:
        (site, previous, count, _), *anderson = progress
        node_sites = GaussianSite(*(matches_to_nodes(x, timelines) for x in site))
        cavity_nodes, _ = backward_pass(
            inputs.dynamics, forward_pass(model, inputs.constants, inputs.dynamics, node_sites)[0], node_sites
        )
        cavity_strength = StrengthBelief(None, *(nodes_to_matches(x, timelines) for x in cavity_nodes[1:]))
        movement = jnp.abs(cavity_strength.mean - previous.mean) * lax.rsqrt(cavity_strength.variance)
        movement = jnp.maximum(
            movement, VARIANCE_CHANGE_WEIGHT * jnp.abs(previous.variance / cavity_strength.variance - 1.0)
        )
        change = jnp.max(jnp.where(is_match, movement, 0.0))
        image = match_sites(
            model, inputs.constants, meetings_from_cavities(cavity_strength, inputs.offset), timelines.events
        )
        image = jax.tree.map(lambda x: jnp.where(is_match, x, 0.0), image)
        scale = jnp.where(is_match, jnp.sqrt(cavity_strength.variance), 0.0)
        site, *anderson = anderson_step(site, image, scale, count, *anderson)
        return SweepLoopState(SweepResult(site, cavity_strength, count + 1, change), *anderson)

    no_history = jnp.zeros((ANDERSON_DEPTH, *zero.shape), zero.dtype)
    initial = SweepResult(
        site or GaussianSite(zero, zero), StrengthBelief(None, zero, zero + jnp.inf), jnp.int32(0), zero[0, 0] + jnp.inf
    )
    progress = SweepLoopState(
        initial,
        GaussianSite(zero, zero),
        zero,
        AndersonHistory(
            GaussianSite(no_history, no_history),
            no_history,
            jnp.zeros((ANDERSON_DEPTH, ANDERSON_DEPTH), zero.dtype),
            jnp.int32(0),
        ),
    )

    def has_not_converged(progress: SweepLoopState) -> Array:
        return (progress.sweep_result.sweeps < max_sweeps) & ~(progress.sweep_result.change <= tolerance)

    return lax.while_loop(has_not_converged, sweep_once, progress).sweep_result


def anderson_step(
    site: GaussianSite,
    image: GaussianSite,
    scale: Array,
    count: Array,
    last_image: GaussianSite,
    residual: Array,
    history: AndersonHistory,
) -> tuple[GaussianSite, GaussianSite, Array, AndersonHistory]:
    """The sites of the next sweep (Anderson 1965, "Iterative procedures for nonlinear integral equations").

    They are the mixture of the last sweeps that would have changed the sites least. Where a sweep changes more than the
    one before, the history is cleared, and the sweep counts half.
    """
    new_residual = (image.pull - site.pull) * scale
    is_worse = (count > 0) & (_inner_product(new_residual, new_residual) > _inner_product(residual, residual))
    num_kept = jnp.where(is_worse | (count < UNMIXED_SWEEPS), 0, history.num_kept + 1)
    slot = jnp.maximum(num_kept - 1, 0) % ANDERSON_DEPTH
    images = jax.tree.map(lambda old, x, y: old.at[slot].set(x - y), history.images, image, last_image)
    change = new_residual - residual
    residuals = history.residuals.at[slot].set(change)
    row = jnp.stack([_inner_product(x, change) for x in residuals])
    products = history.products.at[slot].set(row).at[:, slot].set(row)
    in_use = jnp.arange(ANDERSON_DEPTH, dtype=num_kept.dtype) < num_kept
    size = jnp.where(
        in_use, jnp.maximum(jnp.sqrt(jnp.diagonal(products)), float(np.finfo(new_residual.dtype).tiny)), jnp.inf
    )
    gram = products / (size[None] * size[:, None]) + jnp.diag(
        jnp.where(in_use, 10.0 * float(np.finfo(new_residual.dtype).eps), 1.0)
    )
    target = jnp.stack([_inner_product(x, new_residual) for x in residuals]) / size
    coefficients = solve_definite_systems(gram[None], target[None])[0] / size
    step = jnp.where(is_worse, 0.5, 1.0)

    def mix(old: Array, now: Array, changes: Array) -> Array:
        return old + step * (now - old) - sum(coefficients[i] * changes[i] for i in range(ANDERSON_DEPTH))

    precision, pull = jax.tree.map(mix, site, image, images)
    return (
        GaussianSite(jnp.maximum(precision, 0.0), pull),
        image,
        new_residual,
        AndersonHistory(images, residuals, products, num_kept),
    )


def _inner_product(x: Array, y: Array) -> Array:
    """The inner product, by many partial sums side by side: fast, and with little rounding."""
    products = (x * y).reshape(-1)
    lanes = jnp.pad(products, (0, -len(products) % SUM_WIDTH)).reshape(-1, SUM_WIDTH)
    return jnp.sum(jnp.sum(lanes, axis=0))


@jit_with_small_matrix_compile_options
def smoothed_quantities(
    model: ModelSettings, params: Any, timelines: Timelines, site: GaussianSite
) -> SmoothedQuantities:
    """The smoothed ratings, predictions, state and evidence that follow from these sites."""
    inputs = prepare_sweep(model, params, timelines)
    node_sites = GaussianSite(*(matches_to_nodes(x, timelines) for x in site))
    prediction, belief = forward_pass(model, inputs.constants, inputs.dynamics, node_sites)
    cavity, hindsight = backward_pass(inputs.dynamics, prediction, node_sites, belief)
    newcomer = jnp.asarray(prepare(model, params).newcomer, site.pull.dtype).reshape(-1)
    mean, variance = (nodes_to_matches(x, timelines) for x in hindsight or ())
    mean = mean + jnp.broadcast_to(newcomer, mean.shape)
    cavity_strength = StrengthBelief(None, *(nodes_to_matches(x, timelines) for x in cavity[1:]))
    pair = meetings_from_cavities(cavity_strength, inputs.offset)
    weight = timelines.events.context.weight
    games = timelines.games_before + (1.0 if weight is None else weight[None])
    rating = mean[..., 0] if params.experience is None else mean[..., 0] + params.experience * jnp.log1p(games)
    return SmoothedQuantities(
        Rating(rating, jnp.sqrt(variance[..., 0])),
        Rating(mean, jnp.sqrt(variance)),
        _assemble_state(model, params, timelines, inputs, (node_sites, prediction, belief), games),
        expected_score(model, inputs.constants, pair),
        _match_log_evidence(model, inputs, timelines, site, (prediction, cavity_strength)),
    )


def log_evidence_terms(model: ModelSettings, params: Any, timelines: Timelines, site: GaussianSite) -> Array:
    """[size] the term of each match in the log evidence, with these sites."""
    inputs = prepare_sweep(model, params, timelines)
    node_sites = GaussianSite(*(matches_to_nodes(x, timelines) for x in site))
    prediction = forward_pass(model, inputs.constants, inputs.dynamics, node_sites)[0]
    cavity = backward_pass(inputs.dynamics, prediction, node_sites)[0]
    return _match_log_evidence(
        model,
        inputs,
        timelines,
        site,
        (prediction, StrengthBelief(None, *(nodes_to_matches(x, timelines) for x in cavity[1:]))),
    )


def _match_log_evidence(
    model: ModelSettings,
    inputs: SweepInputs,
    timelines: Timelines,
    site: GaussianSite,
    node_strengths: tuple[NodePrediction, StrengthBelief],
) -> Array:
    """[size] the log likelihood of each result in place of the integral of its sites, plus the terms of time."""
    prediction, cavity_strength = node_strengths
    prior_strength = StrengthBelief(None, *(nodes_to_matches(x, timelines) for x in prediction[:2]))
    weight = timelines.events.context.weight
    log_likelihood = result_log_likelihood(
        model, inputs.constants, meetings_from_cavities(cavity_strength, inputs.offset), timelines.events
    )
    site_evidence = jnp.sum(log_site_integral(prior_strength, site) - log_site_integral(cavity_strength, site), axis=0)
    return jnp.where(
        timelines.is_match, (log_likelihood if weight is None else weight * log_likelihood) + site_evidence, 0.0
    )


@jit_with_small_matrix_compile_options
def ratings_at_query_time(
    model: ModelSettings, params: Any, timelines: Timelines, query: QueryNodes, site: GaussianSite
) -> Rating:
    """[some] the ratings, at the query time, of all players who have begun by then."""
    inputs = prepare_sweep(model, params, timelines)
    node_sites = GaussianSite(*(matches_to_nodes(x, timelines) for x in site))
    prediction, belief = forward_pass(model, inputs.constants, inputs.dynamics, node_sites)
    hindsight: Any = backward_pass(inputs.dynamics, prediction, node_sites, belief)[1]
    mean, variance = (x[:, 0].reshape(-1)[query.node] for x in hindsight)
    mean = mean + params.initial_rating
    if params.experience is not None:
        mean = mean + params.experience * jnp.log1p(query.games_before)
    return Rating(mean, jnp.sqrt(variance))


@jit_with_small_matrix_compile_options
def filtered_final_state(model: ModelSettings, params: Any, timelines: Timelines, site: GaussianSite) -> State:
    """The filtered state of all players after their last matches, `timelines.last_node`, given the matches before."""
    inputs = prepare_sweep(model, params, timelines)
    node_sites, weight = GaussianSite(*(matches_to_nodes(x, timelines) for x in site)), timelines.events.context.weight
    forward = (node_sites, *forward_pass(model, inputs.constants, inputs.dynamics, node_sites))
    return _assemble_state(
        model, params, timelines, inputs, forward, timelines.games_before + (1.0 if weight is None else weight[None])
    )


def _assemble_state(
    model: ModelSettings, params: Any, timelines: Timelines, inputs: SweepInputs, forward_nodes: Any, games: Array
) -> State:
    """The rows of all players after their last matches; players without matches are newcomers."""

    def gather_last_nodes(x: Array) -> Array:
        """[..., num_players] of [steps, ..., lanes]."""
        step, lane = timelines.last_node // x.shape[-1], timelines.last_node % x.shape[-1]
        return jnp.moveaxis(x.at[step, ..., lane].get(mode="clip"), 0, -1)

    node_sites, prediction, belief = jax.tree.map(gather_last_nodes, forward_nodes)
    posterior = jax.vmap(after, -1, 0)(belief, gather_last_nodes(inputs.dynamics.coefficients), prediction, node_sites)
    newcomers = init(model, params, len(timelines.last_node))
    match = gather_last_nodes(timelines.participant_at_node)
    side, match = match // timelines.is_match.shape[0], match % timelines.is_match.shape[0]

    def replace_played(old: Array, new: Array) -> Array:
        new = new.reshape(old.shape)
        played = (timelines.last_node < timelines.participant_at_node.size).reshape(-1, *(1 for _ in old.shape[1:]))
        return jnp.where(jnp.broadcast_to(played, old.shape), new, old)

    mean = replace_played(newcomers.mean, newcomers.mean + posterior.mean.reshape(newcomers.mean.shape))
    games_played = (
        None if newcomers.games is None else replace_played(newcomers.games, games.at[side, match].get(mode="clip"))
    )
    time = replace_played(newcomers.time, timelines.events.time.at[match].get(mode="clip"))
    return State(mean, replace_played(newcomers.covariance, posterior.covariance), games_played, time)
