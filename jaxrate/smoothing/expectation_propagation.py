"""Sweeps of expectation propagation, mixed by Anderson's method."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.numerics.sums_and_recurrences import solve_definite_systems
from jaxrate.replay.execution import jit_with_small_matrix_compile_options
from jaxrate.smoothing.event_sites import event_sites, known_strength_offsets, participant_loadings
from jaxrate.smoothing.forward_backward import (
    GaussianSite,
    NodeDynamics,
    NodePrediction,
    backward_pass,
    forward_pass,
    make_node_dynamics,
    participants_to_nodes,
)
from jaxrate.smoothing.timelines import Timelines
from jaxrate.systems.skills.match_strengths import StrengthBelief
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings, prepare

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
    games = None if params.experience is None else timelines.games_before
    loadings = participant_loadings(model, timelines.events)
    return SweepInputs(
        constants,
        make_node_dynamics(model, constants, timelines, loadings),
        known_strength_offsets(model, constants, games, timelines.events),
    )


def nodes_to_participants(values: Array, timelines: Timelines) -> Array:
    """[..., ...] the values of participants, from values of nodes [steps, ..., lanes]."""
    return gather_nodes(values, timelines.node_of_player)


def gather_nodes(values: Array, nodes: Array) -> Array:
    """[..., ...] the values of these nodes [...], numbered through [steps, lanes]; `values` are [steps, ..., lanes]."""
    flat = jnp.moveaxis(values, -1, 1).reshape(-1, *values.shape[1:-1])
    return flat[nodes]


def predict_and_smooth_strengths(
    model: ModelSettings, inputs: SweepInputs, timelines: Timelines, site: GaussianSite
) -> tuple[NodePrediction, StrengthBelief]:
    """The past's predictions of nodes, and the cavities of participants [...]: all that is known but their own site."""
    node_sites = GaussianSite(*(participants_to_nodes(x, timelines) for x in site))
    prediction = forward_pass(model, inputs.constants, inputs.dynamics, node_sites)[0]
    cavity = backward_pass(inputs.dynamics, prediction, node_sites)[0]
    return prediction, StrengthBelief(None, *(nodes_to_participants(x, timelines) for x in cavity[1:]))


def renew_sites(
    model: ModelSettings, inputs: SweepInputs, timelines: Timelines, cavity_strength: StrengthBelief
) -> GaussianSite:
    """[...] the sites of participants, given their cavities; nothing where nobody plays."""
    sites = event_sites(model, inputs.constants, cavity_strength, inputs.offset, timelines.events)
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
