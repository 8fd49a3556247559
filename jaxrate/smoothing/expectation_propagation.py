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

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree

from jaxrate.core.array_types import Array
from jaxrate.core.rules import Rating
from jaxrate.events import Rounds
from jaxrate.numerics.linear_algebra import solve_definite_systems
from jaxrate.replay.execution import jit_with_small_matrix_compile_options
from jaxrate.smoothing.event_sites import (
    event_effects,
    event_predictions,
    event_sites_and_log_likelihoods,
    join_groups,
    map_events,
    sum_by_event,
)
from jaxrate.smoothing.forward_backward import (
    Cavity,
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
    site_message,
)
from jaxrate.smoothing.timelines import QueryNodes, Timelines
from jaxrate.systems.skills.belief_updates import attenuate, attenuation, make_precision_positive
from jaxrate.systems.skills.parts import (
    Constants,
    State,
    count_predictors,
    experience_points,
    init,
    participant_loadings,
    prepare,
)
from jaxrate.systems.skills.settings import ModelSettings

ANDERSON_DEPTH = 5  # past sweeps that are mixed
UNMIXED_SWEEPS = 3  # first sweeps that are not mixed, as they change much
SUM_WIDTH = 1024  # partial sums side by side


class AndersonHistory(NamedTuple):
    """Differences between consecutive sweeps among the last ones, for Anderson mixing."""

    images: GaussianSite  # [ANDERSON_DEPTH, size], flat, of the sites that a sweep produces
    residuals: Array  # [ANDERSON_DEPTH, size] of the changes of sites, in deviations
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
    flat_site, flat_image, flat_last = (jax.tree.map(jnp.ravel, x) for x in (site, image, last_image))
    new_residual = (flat_image.pull - flat_site.pull) * scale.ravel()
    is_worse = (count > 0) & (_inner_product(new_residual, new_residual) > _inner_product(residual, residual))
    num_kept = jnp.where(is_worse | (count < UNMIXED_SWEEPS), 0, history.num_kept + 1)
    slot = jnp.maximum(num_kept - 1, 0) % ANDERSON_DEPTH
    images = jax.tree.map(lambda old, x, y: old.at[slot].set(x - y), history.images, flat_image, flat_last)
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

    mixed = jax.tree.map(mix, flat_site, flat_image, images)
    precision, pull = jax.tree.map(lambda x, like: x.reshape(like.shape), mixed, image)
    return (
        GaussianSite(make_precision_positive(precision), pull),
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

    site: GaussianSite  # of participants
    cavity: Cavity  # of participants, given all other sites
    sweeps: Array  # how many sweeps were made
    change: Array  # the greatest in the last sweep, of a mean in deviations or a tenth of a relative one of a variance


class SweepInputs(NamedTuple):
    """The constants that all sweeps share."""

    constants: Constants
    dynamics: NodeDynamics
    effects: tuple[Array, ...]  # by group, what counts beside the parts


def prepare_sweep(model: ModelSettings, params: Any, timelines: Timelines) -> SweepInputs:
    """The constants, dynamics and effects that all sweeps share."""
    constants = prepare(model, params)
    constants = constants._replace(newcomer=jax.tree.map(jnp.zeros_like, constants.newcomer))
    events = timelines.events
    return SweepInputs(
        constants,
        make_node_dynamics(
            model, constants, timelines, join_groups(map_events(partial(participant_loadings, model), events))
        ),
        event_effects(model, constants, experience_points(constants, timelines.kind, timelines.games_before), events),
    )


def nodes_to_participants(values: Array, timelines: Timelines) -> Array:
    """[size, ...] the values of participants, from values of nodes [steps, ..., lanes]."""
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


def predict_and_find_cavities(
    model: ModelSettings, inputs: SweepInputs, timelines: Timelines, site: GaussianSite
) -> tuple[NodePrediction, Cavity]:
    """The past's predictions of nodes, and the cavities of participants."""
    node_sites, prediction, _ = filter_nodes(model, inputs, timelines, site)
    cavity = backward_pass(model, inputs.dynamics, prediction, node_sites)[0]
    return prediction, Cavity(*(nodes_to_participants(x, timelines) for x in cavity))


def compute_sites(
    model: ModelSettings, inputs: SweepInputs, timelines: Timelines, cavity: Cavity
) -> tuple[GaussianSite, Array]:
    """The sites of participants, given their cavities, nothing where nobody plays; and log likelihoods of events."""
    sites, terms = event_sites_and_log_likelihoods(model, inputs.constants, cavity, inputs.effects, timelines.events)
    return zero_padding_participants(timelines, sites), terms


def zero_padding_participants(timelines: Timelines, values: Any) -> Any:
    """Leaves [size, ...] of participants, with 0 where nobody plays."""

    def keep(x: Array) -> Array:
        mask = timelines.is_participant.reshape(-1, *(1 for _ in x.shape[1:]))
        return jnp.where(jnp.broadcast_to(mask, x.shape), x, 0.0)

    return jax.tree.map(keep, values)


def predictor_variances(cavity: Cavity) -> Array:
    """[..., k] the variances of linear predictors."""
    return jnp.diagonal(cavity.covariance, axis1=-2, axis2=-1)


def uninformative_sites(model: ModelSettings, timelines: Timelines) -> GaussianSite:
    """Sites of participants that say nothing."""
    count, size = len(timelines.node_of_player), count_predictors(model)
    return GaussianSite(*(jnp.zeros((count, *(size,) * n), timelines.elapsed.dtype) for n in (2, 1)))


class SweepLoopState(NamedTuple):
    """The state of the loop of sweeps."""

    sweep_result: SweepResult
    image: GaussianSite  # [...] the sites that the last sweep produced
    residual: Array  # [size]
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
    inputs, empty = prepare_sweep(model, params, timelines), uninformative_sites(model, timelines)

    def sweep_once(progress: SweepLoopState) -> SweepLoopState:
        (site, previous, count, _), *anderson = progress
        _, cavity = predict_and_find_cavities(model, inputs, timelines, site)
        variance, before = predictor_variances(cavity), predictor_variances(previous)
        movement = jnp.abs(cavity.mean - previous.mean) * lax.rsqrt(variance)
        movement = jnp.maximum(movement, VARIANCE_CHANGE_WEIGHT * jnp.abs(before / variance - 1.0))
        change = jnp.max(zero_padding_participants(timelines, movement))
        image, _ = compute_sites(model, inputs, timelines, cavity)
        scale = zero_padding_participants(timelines, jnp.sqrt(variance))
        site, *anderson = anderson_step(site, image, scale, count, *anderson)
        return SweepLoopState(SweepResult(site, cavity, count + 1, change), *anderson)

    dtype = empty.pull.dtype
    no_cavity = Cavity(empty.pull, empty.precision + jnp.inf)
    images = GaussianSite(*(jnp.zeros((ANDERSON_DEPTH, x.size), dtype) for x in empty))
    progress = SweepLoopState(
        SweepResult(site or empty, no_cavity, jnp.int32(0), jnp.full((), jnp.inf, dtype)),
        empty,
        empty.pull.ravel(),
        AndersonHistory(images, images.pull, jnp.zeros((ANDERSON_DEPTH, ANDERSON_DEPTH), dtype), jnp.int32(0)),
    )

    def has_not_converged(progress: SweepLoopState) -> Array:
        return (progress.sweep_result.sweeps < max_sweeps) & ~(progress.sweep_result.change <= tolerance)

    return lax.while_loop(has_not_converged, sweep_once, progress).sweep_result


class SmoothedQuantities(NamedTuple):
    """The smoothed ratings, the predictions, the state and the evidence."""

    rating: Rating  # [...] of participants, after the event
    components: Rating  # [..., D]
    state: State  # [num_players, ...] after the last event of each
    prediction: Array  # [size] expected scores of first players, or shares of participants, given all but the event
    evidence: Array  # the term of each match, or contest


@jit_with_small_matrix_compile_options
def smoothed_quantities(
    model: ModelSettings, params: Any, timelines: Timelines, site: GaussianSite
) -> SmoothedQuantities:
    """The smoothed ratings, predictions, state and evidence that follow from these sites."""
    inputs = prepare_sweep(model, params, timelines)
    node_sites, prediction, belief = filter_nodes(model, inputs, timelines, site)
    node_cavity, of_nodes = backward_pass(model, inputs.dynamics, prediction, node_sites, belief)
    newcomer = jnp.asarray(prepare(model, params).newcomer, site.pull.dtype)
    assert of_nodes is not None
    hindsight = NodeHindsight(*(nodes_to_participants(x, timelines) for x in of_nodes))
    cavity = Cavity(*(nodes_to_participants(x, timelines) for x in node_cavity))
    experience = experience_points(inputs.constants, timelines.kind, timelines.games_after)
    rating = hindsight.rating + newcomer[0]
    return SmoothedQuantities(
        Rating(rating if experience is None else rating + experience, jnp.sqrt(hindsight.rating_variance)),
        Rating(hindsight.mean + jnp.broadcast_to(newcomer, hindsight.mean.shape), jnp.sqrt(hindsight.variance)),
        _assemble_state(model, params, timelines, inputs, (node_sites, prediction, belief)),
        event_predictions(model, inputs.constants, cavity, inputs.effects, site, timelines.events),
        _event_log_evidence(timelines, site, prediction, cavity, compute_sites(model, inputs, timelines, cavity)[1]),
    )


def log_evidence_terms_and_next_sites(
    model: ModelSettings, params: Any, timelines: Timelines, site: GaussianSite
) -> tuple[Array, GaussianSite]:
    """The terms of matches or contests in the log evidence, with these sites, and those after one more sweep."""
    inputs = prepare_sweep(model, params, timelines)
    prediction, cavity = predict_and_find_cavities(model, inputs, timelines, site)
    renewed, log_likelihood = compute_sites(model, inputs, timelines, cavity)
    return _event_log_evidence(timelines, site, prediction, cavity, log_likelihood), renewed


def _event_log_evidence(
    timelines: Timelines, site: GaussianSite, prediction: NodePrediction, cavity: Cavity, log_likelihood: Array
) -> Array:
    """The log likelihood of each event in place of the integral of its sites, plus the terms of time."""
    prior, events = Cavity(*(nodes_to_participants(x, timelines) for x in prediction[:2])), timelines.events
    site_evidence = log_site_integral(prior, site) - log_site_integral(cavity, site)
    is_event = sum_by_event(timelines.is_participant.astype(site.pull.dtype), events) > 0
    terms = jnp.where(is_event, log_likelihood, 0.0)
    return terms + sum_by_event(zero_padding_participants(timelines, site_evidence), events)


def log_site_integral(belief: Cavity, site: GaussianSite) -> Array:
    """[...] the logarithms of the integrals of sites over the linear predictors of a belief."""
    message = site_message(belief, site)
    gain = attenuate(message, belief.covariance).surprise
    moved = jnp.sum(belief.covariance * message.surprise[..., None, :], axis=-1)
    peak = jnp.sum(belief.mean * (site.pull + message.surprise), axis=-1)
    return 0.5 * (peak + jnp.sum(gain * moved, axis=-1) - jnp.log(attenuation(site.precision, belief.covariance)))


@jit_with_small_matrix_compile_options
def ratings_at_query_time(
    model: ModelSettings, params: Any, timelines: Timelines, query: QueryNodes, site: GaussianSite
) -> Rating:
    """[some] the ratings, at the query time, of all players who have begun by then."""
    inputs = prepare_sweep(model, params, timelines)
    node_sites, prediction, belief = filter_nodes(model, inputs, timelines, site)
    hindsight: Any = backward_pass(model, inputs.dynamics, prediction, node_sites, belief)[1]
    at_query = NodeHindsight(*(gather_nodes(x, query.node) for x in hindsight))
    mean = at_query.rating + params.initial_rating
    kind = None if timelines.kind_at_node is None else gather_nodes(timelines.kind_at_node, query.node)
    experience = experience_points(inputs.constants, kind, query.games_before)
    return Rating(mean if experience is None else mean + experience, jnp.sqrt(at_query.rating_variance))


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
    loadings = gather_last_nodes(inputs.dynamics.loadings)
    posterior = jax.vmap(condition_belief_on_site, -1, 0)(belief, loadings, prediction, node_sites)
    newcomers = init(model, params, len(timelines.last_node))
    participant = gather_last_nodes(timelines.participant_at_node)

    def replace_played(old: Array, new: Array) -> Array:
        new = new.reshape(old.shape)
        played = (timelines.last_node < timelines.participant_at_node.size).reshape(-1, *(1 for _ in old.shape[1:]))
        return jnp.where(jnp.broadcast_to(played, old.shape), new, old)

    def replace_by_participants(old: Array | None, values: Array | None) -> Array | None:
        if old is None or values is None:
            return old
        return replace_played(old, values.at[participant].get(mode="clip"))

    return State(
        replace_played(newcomers.mean, newcomers.mean + posterior.mean.reshape(newcomers.mean.shape)),
        replace_played(newcomers.covariance, posterior.covariance),
        replace_by_participants(newcomers.games, timelines.games_after),
        timelines.last_time,
        replace_by_participants(newcomers.kind, timelines.kind),
        replace_by_participants(newcomers.season, timelines.season_after),
    )


TOLERANCE = 1e-5  # of the residual, beside the slope by the sites
NUM_DIRECTIONS, MAX_ITERATIONS = 10, 400


def evidence_depends_on_sites(model: ModelSettings, timelines: Timelines) -> bool:
    """Whether the evidence changes with the sites at rest, to first order."""
    is_of_contests = isinstance(timelines.events[0], Rounds)
    return is_of_contests and (bool(model.statistics) or model.quit is not None)


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
    """[...] the log evidence's slopes by what a sweep adds to sites, through all later sweeps; NaN if not solved."""
    deviation = jnp.sqrt(predictor_variances(sweep_result.cavity))
    deviation = jnp.where(zero_padding_participants(timelines, jnp.ones_like(deviation)) > 0, deviation, 1.0)
    unit = GaussianSite(1.0 / (deviation[..., :, None] * deviation[..., None, :]), 1.0 / deviation)
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
    """The terms of matches or contests in the log evidence at rest, near these sites, and with its slopes."""
    terms, renewed = log_evidence_terms_and_next_sites(model, params, timelines, site)
    if adjoint is None:
        return terms
    changes = (a * (new - old) for a, new, old in zip(adjoint, renewed, site, strict=True))
    change = sum(x.reshape(len(x), -1).sum(axis=-1) for x in changes)
    return terms + sum_by_event(zero_padding_participants(timelines, change), timelines.events)
