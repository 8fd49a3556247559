"""Ratings, predictions, state and evidence that follow from sites.

The log evidence owes something to the sites as well, where these move with the hyperparameters and it is not level in
them.

Sites at rest are what a sweep makes of them, s = G(s, x), with the hyperparameters x. So the slopes of the evidence are

    dE/dx = E_x + a G_x,   a = E_s + a G_s

with the adjoints a of the sites (the implicit function theorem). They solve one linear system, whatever the number of
hyperparameters, by generalized conjugate residuals (Eisenstat, Elman and Schultz 1983); sites count in deviations of
the cavities there. A sweep is by far the longest part of the program to compile, and so it stands in the loop once.

E is level in the sites, E_s = 0, where each site keeps the moments of a likelihood. What a contest says of statistics
and quits is no such likelihood: a participant's statistics are told as if those of the others were not known, and who
quit is told before the result, as a normal distribution.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

from jaxrate.core.array_types import Array
from jaxrate.core.rules import Rating
from jaxrate.events import Matches
from jaxrate.numerics.sums_and_recurrences import log_factor_integral
from jaxrate.replay.execution import jit_with_small_matrix_compile_options
from jaxrate.smoothing.event_sites import event_log_likelihood, event_predictions, event_sums
from jaxrate.smoothing.expectation_propagation import (
    SweepInputs,
    SweepResult,
    gather_nodes,
    nodes_to_participants,
    predict_and_smooth_strengths,
    prepare_sweep,
    renew_sites,
)
from jaxrate.smoothing.forward_backward import (
    GaussianSite,
    NodeHindsight,
    NodePrediction,
    backward_pass,
    condition_belief_on_site,
    forward_pass,
    participants_to_nodes,
    rating_in_hindsight,
)
from jaxrate.smoothing.timelines import QueryNodes, Timelines
from jaxrate.systems.skills.match_strengths import StrengthBelief
from jaxrate.systems.skills.settings_and_state import ModelSettings, State, init, prepare


class SmoothedQuantities(NamedTuple):
    """The smoothed ratings, the predictions, the state and the evidence."""

    rating: Rating  # [...] of participants, after the event
    components: Rating  # [..., D]
    state: State  # [num_players, ...] after the last event of each
    prediction: Array  # [size] expected scores of matches, or shares of participants, given all but the event
    evidence: Array  # the term of each match [size], or contest


@jit_with_small_matrix_compile_options
def smoothed_quantities(
    model: ModelSettings, params: Any, timelines: Timelines, site: GaussianSite
) -> SmoothedQuantities:
    """The smoothed ratings, predictions, state and evidence that follow from these sites."""
    inputs = prepare_sweep(model, params, timelines)
    node_sites = GaussianSite(*(participants_to_nodes(x, timelines) for x in site))
    prediction, belief = forward_pass(model, inputs.constants, inputs.dynamics, node_sites)
    cavity, hindsight = backward_pass(inputs.dynamics, prediction, node_sites, belief)
    newcomer = jnp.asarray(prepare(model, params).newcomer, site.pull.dtype).reshape(-1)
    assert hindsight is not None
    hindsight = NodeHindsight(*(nodes_to_participants(x, timelines) for x in hindsight))
    rating, rating_variance = rating_in_hindsight(model, hindsight)
    mean = hindsight.mean + jnp.broadcast_to(newcomer, hindsight.mean.shape)
    cavity_strength = StrengthBelief(None, *(nodes_to_participants(x, timelines) for x in cavity[1:]))
    games = timelines.games_after
    rating = rating + newcomer[0]
    rating = rating if params.experience is None else rating + params.experience * jnp.log1p(games)
    return SmoothedQuantities(
        Rating(rating, jnp.sqrt(rating_variance)),
        Rating(mean, jnp.sqrt(hindsight.variance)),
        _assemble_state(model, params, timelines, inputs, (node_sites, prediction, belief)),
        event_predictions(
            model, inputs.constants, cavity_strength, site, inputs.offset, timelines.events, hindsight.variance
        ),
        _event_log_evidence(model, inputs, timelines, site, (prediction, cavity_strength)),
    )


def log_evidence_terms_and_next_sites(
    model: ModelSettings, params: Any, timelines: Timelines, site: GaussianSite
) -> tuple[Array, GaussianSite]:
    """The terms of matches [size] or contests in the log evidence, with these sites, and those after one more sweep."""
    inputs = prepare_sweep(model, params, timelines)
    prediction, cavity_strength = predict_and_smooth_strengths(model, inputs, timelines, site)
    terms = _event_log_evidence(model, inputs, timelines, site, (prediction, cavity_strength))
    return terms, renew_sites(model, inputs, timelines, cavity_strength)


def _event_log_evidence(
    model: ModelSettings,
    inputs: SweepInputs,
    timelines: Timelines,
    site: GaussianSite,
    node_strengths: tuple[NodePrediction, StrengthBelief],
) -> Array:
    """The log likelihood of each event in place of the integral of its sites, plus the terms of time."""
    prediction, cavity_strength = node_strengths
    prior_strength = StrengthBelief(None, *(nodes_to_participants(x, timelines) for x in prediction[:2]))
    log_likelihood = event_log_likelihood(model, inputs.constants, cavity_strength, inputs.offset, timelines.events)
    prior_integral, cavity_integral = (
        log_factor_integral(x.mean, x.variance, *site) for x in (prior_strength, cavity_strength)
    )
    site_evidence = jnp.where(timelines.is_participant, prior_integral - cavity_integral, 0.0)
    is_event = event_sums(timelines.is_participant.astype(site.pull.dtype), timelines.events) > 0
    return jnp.where(is_event, log_likelihood, 0.0) + event_sums(site_evidence, timelines.events)


@jit_with_small_matrix_compile_options
def ratings_at_query_time(
    model: ModelSettings, params: Any, timelines: Timelines, query: QueryNodes, site: GaussianSite
) -> Rating:
    """[some] the ratings, at the query time, of all players who have begun by then."""
    inputs = prepare_sweep(model, params, timelines)
    node_sites = GaussianSite(*(participants_to_nodes(x, timelines) for x in site))
    prediction, belief = forward_pass(model, inputs.constants, inputs.dynamics, node_sites)
    hindsight: Any = backward_pass(inputs.dynamics, prediction, node_sites, belief)[1]
    at_query = NodeHindsight(*(gather_nodes(x, query.node) for x in hindsight))
    mean, variance = rating_in_hindsight(model, at_query)
    mean = mean + params.initial_rating
    if params.experience is not None:
        mean = mean + params.experience * jnp.log1p(query.games_before)
    return Rating(mean, jnp.sqrt(variance))


@jit_with_small_matrix_compile_options
def filtered_final_state(model: ModelSettings, params: Any, timelines: Timelines, site: GaussianSite) -> State:
    """The filtered state of all players after their last events, `timelines.last_node`, given the events before."""
    inputs = prepare_sweep(model, params, timelines)
    node_sites = GaussianSite(*(participants_to_nodes(x, timelines) for x in site))
    forward = (node_sites, *forward_pass(model, inputs.constants, inputs.dynamics, node_sites))
    return _assemble_state(model, params, timelines, inputs, forward)


def _assemble_state(
    model: ModelSettings, params: Any, timelines: Timelines, inputs: SweepInputs, forward_nodes: Any
) -> State:
    """The rows of all players after their last events; players without events are newcomers."""

    def gather_last_nodes(x: Array) -> Array:
        """[..., num_players] of [steps, ..., lanes]."""
        step, lane = timelines.last_node // x.shape[-1], timelines.last_node % x.shape[-1]
        return jnp.moveaxis(x.at[step, ..., lane].get(mode="clip"), 0, -1)

    node_sites, prediction, belief = jax.tree.map(gather_last_nodes, forward_nodes)
    coefficients = gather_last_nodes(inputs.dynamics.coefficients)
    posterior = jax.vmap(condition_belief_on_site, -1, 0)(belief, coefficients, prediction, node_sites)
    newcomers = init(model, params, len(timelines.last_node))
    participant = gather_last_nodes(timelines.participant_at_node)

    def replace_played(old: Array, new: Array) -> Array:
        new = new.reshape(old.shape)
        played = (timelines.last_node < timelines.participant_at_node.size).reshape(-1, *(1 for _ in old.shape[1:]))
        return jnp.where(jnp.broadcast_to(played, old.shape), new, old)

    mean = replace_played(newcomers.mean, newcomers.mean + posterior.mean.reshape(newcomers.mean.shape))
    games = timelines.games_after.reshape(-1).at[participant].get(mode="clip")
    games_played = None if newcomers.games is None else replace_played(newcomers.games, games)
    covariance, season = replace_played(newcomers.covariance, posterior.covariance), newcomers.season
    if season is not None and timelines.season_after is not None:
        season = replace_played(season, timelines.season_after.reshape(-1).at[participant].get(mode="clip"))
    return State(mean, covariance, games_played, timelines.last_time, season=season)


TOLERANCE = 1e-5  # of the residual, beside the slope by the sites
NUM_DIRECTIONS, MAX_ITERATIONS = 10, 400


def evidence_depends_on_sites(model: ModelSettings, timelines: Timelines) -> bool:
    """Whether the evidence changes with the sites at rest, to first order."""
    return not isinstance(timelines.events, Matches) and (bool(model.statistics) or model.quit is not None)


class ConjugateResiduals(NamedTuple):
    """The state of the iterations that solve (I - J) a = b, with J the transposed slopes of a sweep."""

    iteration: Array
    right: Array  # [size] b, once the first iteration has found it
    solution: Array  # [size]
    residual: Array  # [size]
    directions: Array  # [NUM_DIRECTIONS, size] the latest that were searched
    images: Array  # [NUM_DIRECTIONS, size] (I - J) of them, orthonormal


def evidence_adjoints(
    model: ModelSettings, params: Any, timelines: Timelines, sweep_result: SweepResult
) -> GaussianSite:
    """[...] of participants: how much a unit that a sweep adds to a site adds to the log evidence; NaN if not found."""
    variance = jnp.where(timelines.is_participant, sweep_result.cavity.variance, 1.0)
    unit = GaussianSite(1.0 / variance, lax.rsqrt(variance))
    units, unflatten = ravel_pytree(jax.tree.map(jnp.divide, sweep_result.site, unit))

    def terms_and_next_sites(units: Array) -> tuple[Array, Array]:
        site = jax.tree.map(jnp.multiply, unflatten(units), unit)
        terms, renewed = log_evidence_terms_and_next_sites(model, params, timelines, site)
        return terms, ravel_pytree(jax.tree.map(jnp.divide, renewed, unit))[0]

    (terms, _), pull_back = jax.vjp(terms_and_next_sites, units)

    def is_unsolved(state: ConjugateResiduals) -> Array:
        unsolved = jnp.linalg.norm(state.residual) > TOLERANCE * jnp.linalg.norm(state.right)
        return (state.iteration == 0) | (unsolved & (state.iteration < MAX_ITERATIONS))

    def iterate(state: ConjugateResiduals) -> ConjugateResiduals:
        is_first = state.iteration == 0
        (pulled,) = pull_back((jnp.where(is_first, jnp.ones_like(terms), 0.0), state.residual))
        along = state.images @ (state.residual - pulled)
        image = state.residual - pulled - along @ state.images
        norm = jnp.where(is_first, 1.0, jnp.linalg.norm(image))
        image, direction = image / norm, (state.residual - along @ state.directions) / norm
        step = state.residual @ image
        slot = state.iteration % NUM_DIRECTIONS
        return ConjugateResiduals(
            state.iteration + 1,
            jnp.where(is_first, pulled, state.right),
            state.solution + step * direction,
            jnp.where(is_first, pulled, state.residual - step * image),
            state.directions.at[slot].set(direction),
            state.images.at[slot].set(jnp.where(is_first, 0.0, image)),
        )

    zero = jnp.zeros_like(units)
    none = jnp.zeros((NUM_DIRECTIONS, *zero.shape), zero.dtype)
    solved = lax.while_loop(is_unsolved, iterate, ConjugateResiduals(jnp.zeros((), int), zero, zero, zero, none, none))
    adjoint = unflatten(jnp.where(is_unsolved(solved), jnp.nan, solved.solution))
    return jax.tree.map(jnp.divide, adjoint, unit)


def settled_log_evidence_terms(
    model: ModelSettings, params: Any, timelines: Timelines, site: GaussianSite, adjoint: GaussianSite | None
) -> Array:
    """The terms of matches [size] or contests in the log evidence at rest, near these sites, and with its slopes.

    Without adjoints it is level in the sites.
    """
    terms, renewed = log_evidence_terms_and_next_sites(model, params, timelines, site)
    if adjoint is None:
        return terms
    change = sum(a * (new - old) for a, new, old in zip(adjoint, renewed, site, strict=True))
    return terms + event_sums(jnp.where(timelines.is_participant, change, 0.0), timelines.events)
