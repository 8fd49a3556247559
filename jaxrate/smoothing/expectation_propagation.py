"""Sweeps of expectation propagation, mixed by Anderson's method.

Ratings, predictions, state and evidence follow from the sites at rest.

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
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree

from jaxrate.core.array_types import Array
from jaxrate.core.rules import Rating
from jaxrate.events import Matches
from jaxrate.numerics.sums_and_recurrences import log_factor_integral, solve_definite_systems
from jaxrate.replay.execution import jit_with_small_matrix_compile_options
from jaxrate.smoothing.event_sites import inference_of_events
from jaxrate.smoothing.forward_backward import (
    GaussianSite,
    NodeBelief,
    NodeDynamics,
    NodeHindsight,
    NodePrediction,
    backward_pass,
    condition_belief_on_site,
    forward_pass,
    make_node_dynamics,
    participants_to_nodes,
    rating_in_hindsight,
)
from jaxrate.smoothing.timelines import QueryNodes, Timelines
from jaxrate.systems.skills.match_strengths import StrengthBelief
from jaxrate.systems.skills.settings import Constants, ModelSettings, State, init, prepare

ANDERSON_DEPTH = 5  # past sweeps that are mixed
UNMIXED_SWEEPS = 3  # first sweeps that are not mixed, as they change much
SUM_WIDTH = 1024  # partial sums side by side


class AndersonHistory(NamedTuple):
    """Differences between consecutive sweeps among the last ones, for Anderson mixing."""

    images: GaussianSite  # [ANDERSON_DEPTH, ...] of the sites that a sweep produces
    residuals: Array  # [ANDERSON_DEPTH, ...] of the changes of sites, in deviations
    products: Array  # [ANDERSON_DEPTH, ANDERSON_DEPTH] inner products of the residuals
    num_kept: Array  # differences kept since the history was last cleared


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
    square = jnp.diagonal(products)  # 0 where nothing changes
    in_use = (jnp.arange(ANDERSON_DEPTH, dtype=num_kept.dtype) < num_kept) & (
        square > float(np.finfo(new_residual.dtype).tiny)
    )
    size = jnp.where(in_use, jnp.sqrt(jnp.where(in_use, square, 1.0)), jnp.inf)
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


VARIANCE_CHANGE_WEIGHT = 0.1  # weight of the relative change of a variance: rounding moves variances more than means


class SweepResult(NamedTuple):
    """The result of the sweeps."""

    site: GaussianSite  # [...] of participants
    cavity: StrengthBelief  # [...] of x^T theta above a newcomer's, given all other sites
    sweeps: Array  # how many sweeps were made
    change: Array  # the greatest in the last sweep, of a mean in deviations or a tenth of a relative one of a variance


class SweepInputs(NamedTuple):
    """The constants that all sweeps share."""

    constants: Constants
    dynamics: NodeDynamics
    offset: Array  # of matches [size] the lead of the first of two equal players; of contests [size] points of members


def prepare_sweep(model: ModelSettings, params: Any, timelines: Timelines) -> SweepInputs:
    """The constants, dynamics and offsets that all sweeps share."""
    constants = prepare(model, params)
    constants = constants._replace(newcomer=jax.tree.map(jnp.zeros_like, constants.newcomer))
    games = timelines.games_before if hasattr(params, "experience") else None
    inference = inference_of_events(model, timelines.events)
    loadings = None if model.size == 1 else inference.loadings(model, timelines.events)
    return SweepInputs(
        constants,
        make_node_dynamics(model, constants, timelines, loadings),
        inference.offsets(model, constants, games, timelines.events),
    )


def nodes_to_participants(values: Array, timelines: Timelines) -> Array:
    """[..., ...] the values of participants, from values of nodes [steps, ..., lanes]."""
    return gather_nodes(values, timelines.node_of_player)


def gather_nodes(values: Array, nodes: Array) -> Array:
    """[..., ...] the values of these nodes [...], numbered through [steps, lanes]; `values` are [steps, ..., lanes]."""
    flat = jnp.moveaxis(values, -1, 1).reshape(-1, *values.shape[1:-1])
    return flat[nodes]


def filter_nodes(
    model: ModelSettings, inputs: SweepInputs, timelines: Timelines, site: GaussianSite
) -> tuple[GaussianSite, NodePrediction, NodeBelief]:
    """The sites, predictions and beliefs of nodes, from the past of each."""
    node_sites = GaussianSite(*(participants_to_nodes(x, timelines) for x in site))
    return node_sites, *forward_pass(model, inputs.constants, inputs.dynamics, node_sites)


def predict_and_smooth_strengths(
    model: ModelSettings, inputs: SweepInputs, timelines: Timelines, site: GaussianSite
) -> tuple[NodePrediction, StrengthBelief]:
    """The past's predictions of nodes, and the cavities of participants [...]: all that is known but their own site."""
    node_sites, prediction, _ = filter_nodes(model, inputs, timelines, site)
    cavity = backward_pass(inputs.dynamics, prediction, node_sites)[0]
    return prediction, StrengthBelief(None, *(nodes_to_participants(x, timelines) for x in cavity[1:]))


def renew_sites(
    model: ModelSettings, inputs: SweepInputs, timelines: Timelines, cavity_strength: StrengthBelief
) -> GaussianSite:
    """[...] the sites of participants, given their cavities; nothing where nobody plays."""
    find_sites = inference_of_events(model, timelines.events).sites
    sites = find_sites(model, inputs.constants, cavity_strength, inputs.offset, timelines.events)
    return jax.tree.map(lambda x: jnp.where(timelines.is_participant, x, 0.0), sites)


class SweepLoopState(NamedTuple):
    """The state of the loop of sweeps."""

    sweep_result: SweepResult
    image: GaussianSite  # [...] the sites that the last sweep produced
    residual: Array  # [...]
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

    The sweeps begin with the given sites, or with none. Where nobody plays, `is_participant`, nothing is said.
    """
    inputs = prepare_sweep(model, params, timelines)
    zero = jnp.zeros(timelines.node_of_player.shape, timelines.elapsed.dtype)
    is_participant = timelines.is_participant

    def sweep_once(progress: SweepLoopState) -> SweepLoopState:
        (site, previous, count, _), *anderson = progress
        _, cavity_strength = predict_and_smooth_strengths(model, inputs, timelines, site)
        movement = jnp.abs(cavity_strength.mean - previous.mean) * lax.rsqrt(cavity_strength.variance)
        movement = jnp.maximum(
            movement, VARIANCE_CHANGE_WEIGHT * jnp.abs(previous.variance / cavity_strength.variance - 1.0)
        )
        change = jnp.max(jnp.where(is_participant, movement, 0.0))
        image = renew_sites(model, inputs, timelines, cavity_strength)
        scale = jnp.where(is_participant, jnp.sqrt(cavity_strength.variance), 0.0)
        site, *anderson = anderson_step(site, image, scale, count, *anderson)
        return SweepLoopState(SweepResult(site, cavity_strength, count + 1, change), *anderson)

    no_history = jnp.zeros((ANDERSON_DEPTH, *zero.shape), zero.dtype)
    initial = SweepResult(
        site or GaussianSite(zero, zero),
        StrengthBelief(None, zero, zero + jnp.inf),
        jnp.int32(0),
        jnp.full((), jnp.inf, zero.dtype),
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
    node_sites, prediction, belief = filter_nodes(model, inputs, timelines, site)
    cavity, hindsight = backward_pass(inputs.dynamics, prediction, node_sites, belief)
    newcomer = jnp.asarray(prepare(model, params).newcomer, site.pull.dtype).reshape(-1)
    assert hindsight is not None
    hindsight = NodeHindsight(*(nodes_to_participants(x, timelines) for x in hindsight))
    rating, rating_variance = rating_in_hindsight(model, hindsight)
    mean = hindsight.mean + jnp.broadcast_to(newcomer, hindsight.mean.shape)
    cavity_strength = StrengthBelief(None, *(nodes_to_participants(x, timelines) for x in cavity[1:]))
    games = timelines.games_after
    rating = rating + newcomer[0]
    rating = rating + params.experience * jnp.log1p(games) if hasattr(params, "experience") else rating
    return SmoothedQuantities(
        Rating(rating, jnp.sqrt(rating_variance)),
        Rating(mean, jnp.sqrt(hindsight.variance)),
        _assemble_state(model, params, timelines, inputs, (node_sites, prediction, belief)),
        inference_of_events(model, timelines.events).predictions(
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
    inference, events = inference_of_events(model, timelines.events), timelines.events
    log_likelihood = inference.log_likelihood(model, inputs.constants, cavity_strength, inputs.offset, events)
    prior_integral, cavity_integral = (
        log_factor_integral(x.mean, x.variance, *site) for x in (prior_strength, cavity_strength)
    )
    site_evidence = jnp.where(timelines.is_participant, prior_integral - cavity_integral, 0.0)
    is_event = inference.sums(timelines.is_participant.astype(site.pull.dtype), events) > 0
    return jnp.where(is_event, log_likelihood, 0.0) + inference.sums(site_evidence, events)


@jit_with_small_matrix_compile_options
def ratings_at_query_time(
    model: ModelSettings, params: Any, timelines: Timelines, query: QueryNodes, site: GaussianSite
) -> Rating:
    """[some] the ratings, at the query time, of all players who have begun by then."""
    inputs = prepare_sweep(model, params, timelines)
    node_sites, prediction, belief = filter_nodes(model, inputs, timelines, site)
    hindsight: Any = backward_pass(inputs.dynamics, prediction, node_sites, belief)[1]
    at_query = NodeHindsight(*(gather_nodes(x, query.node) for x in hindsight))
    mean, variance = rating_in_hindsight(model, at_query)
    mean = mean + params.initial_rating
    if hasattr(params, "experience"):
        mean = mean + params.experience * jnp.log1p(query.games_before)
    return Rating(mean, jnp.sqrt(variance))


@jit_with_small_matrix_compile_options
def filtered_final_state(model: ModelSettings, params: Any, timelines: Timelines, site: GaussianSite) -> State:
    """The filtered state of all players after their last events, `timelines.last_node`, given the events before."""
    inputs = prepare_sweep(model, params, timelines)
    return _assemble_state(model, params, timelines, inputs, filter_nodes(model, inputs, timelines, site))


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
    sums = inference_of_events(model, timelines.events).sums
    return terms + sums(jnp.where(timelines.is_participant, change, 0.0), timelines.events)
