"""Sweeps: all timelines are passed over with the sites that there are, then all sites are made anew at once."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.numerics.special_functions import solve_definite
from jaxrate.replay.execution import jit_with_vector_loops
from jaxrate.smoothing.forward_backward import (
    NodeDynamics,
    NodePrediction,
    Site,
    backward_pass,
    forward_pass,
    gather_at_nodes,
    node_dynamics,
)
from jaxrate.smoothing.forward_backward import apply_site as after
from jaxrate.smoothing.likelihood_sites import log_site_integral, match_sites, pair_players, result_log_likelihood
from jaxrate.smoothing.timelines import QueryNodes, Timelines
from jaxrate.system import Rating
from jaxrate.systems.skills.match_strengths import Strength, make_loadings, performance_lead
from jaxrate.systems.skills.model import Constants, Model, State, init, prepare
from jaxrate.systems.skills.outcome_likelihoods import expected_score
from jaxrate.types import Array

ANDERSON_DEPTH = 5  # sweeps that are mixed
UNMIXED_SWEEPS = 3  # first sweeps that are not, as they go far
SUM_WIDTH = 1024  # sums side by side
VARIANCE_CHANGE_WEIGHT = (
    0.1  # what a change of a variance counts, relative to itself: rounding moves it more than means
)


class SweepResult(NamedTuple):
    """What the sweeps leave."""

    site: Site  # [2, size]
    cavity: Strength  # [2, size] of x^T theta, given all but the match, ahead of a newcomer
    sweeps: Array  # how many there were
    change: Array  # the greatest in the last, of a mean in units of its deviation, or a tenth of that of a variance


class SmoothedQuantities(NamedTuple):
    """What is known in the end."""

    rating: Rating  # [2, size] of both players of each match, as it left them
    parts: Rating  # [2, size, D]
    state: State  # [num_players, ...] after the last match of each
    prediction: Array  # [size] expected scores, given all but the match
    evidence: Array  # [size] its share of each match


class SweepInputs(NamedTuple):
    constants: Constants
    dynamics: NodeDynamics
    offset: Array  # [size] d where the players are equal


def prepare_sweep(model: Model, params: Any, lines: Timelines) -> SweepInputs:
    constants = prepare(model, params)
    constants = constants._replace(newcomer=jax.tree.map(jnp.zeros_like, constants.newcomer))
    games = None if params.experience is None else (lines.games[0], lines.games[1])
    offset = performance_lead(model, constants, jnp.zeros_like(lines.events.score), games, lines.events)
    return SweepInputs(constants, node_dynamics(model, constants, lines, make_loadings(model, lines.events)), offset)


def gather_at_players(values: Array, lines: Timelines) -> Array:
    """[2, size, ...] of both players of each match, of values [steps, ..., lanes]."""
    flat = jnp.moveaxis(values, -1, 1).reshape(-1, *values.shape[1:-1])
    return flat[lines.place]


class AndersonHistory(NamedTuple):
    """The last sweeps: by how much each differs from the one before it."""

    image: Site  # [KEPT, 2, size] of the sites that a sweep makes
    residual: Array  # [KEPT, 2, size] of by how much it changes them, in deviations
    products: Array  # [KEPT, KEPT] of the residuals
    known: Array  # how many there have been since the past was forgotten


class SweepProgress(NamedTuple):
    sweep_result: SweepResult
    image: Site  # [2, size] that the last sweep made
    residual: Array  # [2, size]
    past: AndersonHistory


@jit_with_vector_loops
def run_sweeps(
    model: Model, params: Any, lines: Timelines, tolerance: Array, max_sweeps: Array, site: Site | None = None
) -> SweepResult:
    """Until no mean moves by more than `tolerance` deviations, nor a variance by ten times that, or `most` times.

    It begins with these sites, or with none. Matches that are not `real` say nothing.
    """
    inputs = prepare_sweep(model, params, lines)
    zero = jnp.zeros(lines.place.shape, lines.elapsed.dtype)
    real = jnp.broadcast_to(lines.real, zero.shape)

    def again(progress: SweepProgress) -> SweepProgress:
        (site, before, count, _), *last = progress
        nodes = Site(*(gather_at_nodes(x, lines) for x in site))
        cavity, _ = backward_pass(
            inputs.dynamics, forward_pass(model, inputs.constants, inputs.dynamics, nodes)[0], nodes
        )
        here = Strength(None, *(gather_at_players(x, lines) for x in cavity[1:]))
        moved = jnp.abs(here.mean - before.mean) * lax.rsqrt(here.variance)
        moved = jnp.maximum(moved, VARIANCE_CHANGE_WEIGHT * jnp.abs(before.variance / here.variance - 1.0))
        change = jnp.max(jnp.where(real, moved, 0.0))
        image = match_sites(model, inputs.constants, pair_players(here, inputs.offset), lines.events)
        image = jax.tree.map(lambda x: jnp.where(real, x, 0.0), image)
        scale = jnp.where(real, jnp.sqrt(here.variance), 0.0)
        site, *last = anderson_step(site, image, scale, count, *last)
        return SweepProgress(SweepResult(site, here, count + 1, change), *last)

    none = jnp.zeros((ANDERSON_DEPTH, *zero.shape), zero.dtype)
    start = SweepResult(
        site or Site(zero, zero), Strength(None, zero, zero + jnp.inf), jnp.int32(0), zero[0, 0] + jnp.inf
    )
    progress = SweepProgress(
        start,
        Site(zero, zero),
        zero,
        AndersonHistory(Site(none, none), none, jnp.zeros((ANDERSON_DEPTH, ANDERSON_DEPTH), zero.dtype), jnp.int32(0)),
    )

    def unsettled(progress: SweepProgress) -> Array:
        return (progress.sweep_result.sweeps < max_sweeps) & ~(progress.sweep_result.change <= tolerance)

    return lax.while_loop(unsettled, again, progress).sweep_result


def anderson_step(
    site: Site, image: Site, scale: Array, count: Array, last_image: Site, residual: Array, history: AndersonHistory
) -> tuple[Site, Site, Array, AndersonHistory]:
    """The sites of the next sweep (Anderson 1965, "Iterative procedures for nonlinear integral equations").

    Of all mixtures of the last sweeps it takes the one that would have changed sites least. Where a sweep changes more
    than the one before it the past is forgotten, and it counts half.
    """
    new = (image.pull - site.pull) * scale
    worse = (count > 0) & (_inner_product(new, new) > _inner_product(residual, residual))
    known = jnp.where(worse | (count < UNMIXED_SWEEPS), 0, history.known + 1)
    slot = jnp.maximum(known - 1, 0) % ANDERSON_DEPTH
    images = jax.tree.map(lambda old, x, y: old.at[slot].set(x - y), history.image, image, last_image)
    change = new - residual
    residuals = history.residual.at[slot].set(change)
    row = jnp.stack([_inner_product(x, change) for x in residuals])
    products = history.products.at[slot].set(row).at[:, slot].set(row)
    use = jnp.arange(ANDERSON_DEPTH, dtype=known.dtype) < known
    size = jnp.where(use, jnp.maximum(jnp.sqrt(jnp.diagonal(products)), float(np.finfo(new.dtype).tiny)), jnp.inf)
    gram = products / (size[None] * size[:, None]) + jnp.diag(
        jnp.where(use, 10.0 * float(np.finfo(new.dtype).eps), 1.0)
    )
    wanted = jnp.stack([_inner_product(x, new) for x in residuals]) / size
    share = solve_definite(gram[None], wanted[None])[0] / size
    step = jnp.where(worse, 0.5, 1.0)

    def mixed(old: Array, now: Array, changes: Array) -> Array:
        return old + step * (now - old) - sum(share[i] * changes[i] for i in range(ANDERSON_DEPTH))

    precision, pull = jax.tree.map(mixed, site, image, images)
    return Site(jnp.maximum(precision, 0.0), pull), image, new, AndersonHistory(images, residuals, products, known)


def _inner_product(x: Array, y: Array) -> Array:
    """The sum of products, many sums side by side: fast, and of little rounding."""
    whole = (x * y).reshape(-1)
    wide = jnp.pad(whole, (0, -len(whole) % SUM_WIDTH)).reshape(-1, SUM_WIDTH)
    return jnp.sum(jnp.sum(wide, axis=0))


@jit_with_vector_loops
def smoothed_quantities(model: Model, params: Any, lines: Timelines, site: Site) -> SmoothedQuantities:
    """What is known with these sites."""
    inputs = prepare_sweep(model, params, lines)
    nodes = Site(*(gather_at_nodes(x, lines) for x in site))
    seen, belief = forward_pass(model, inputs.constants, inputs.dynamics, nodes)
    cavity, hindsight = backward_pass(inputs.dynamics, seen, nodes, belief)
    newcomer = jnp.asarray(prepare(model, params).newcomer, site.pull.dtype).reshape(-1)
    mean, variance = (gather_at_players(x, lines) for x in hindsight or ())
    mean = mean + jnp.broadcast_to(newcomer, mean.shape)
    here = Strength(None, *(gather_at_players(x, lines) for x in cavity[1:]))
    pair = pair_players(here, inputs.offset)
    weight = lines.events.context.weight
    games = lines.games + (1.0 if weight is None else weight[None])
    rating = mean[..., 0] if params.experience is None else mean[..., 0] + params.experience * jnp.log1p(games)
    return SmoothedQuantities(
        Rating(rating, jnp.sqrt(variance[..., 0])),
        Rating(mean, jnp.sqrt(variance)),
        _assemble_state(model, params, lines, inputs, (nodes, seen, belief), games),
        expected_score(model, inputs.constants, pair),
        _sum_log_evidence_terms(model, inputs, lines, site, (seen, here)),
    )


def log_evidence_terms(model: Model, params: Any, lines: Timelines, site: Site) -> Array:
    """[size] of the evidence, with these sites."""
    inputs = prepare_sweep(model, params, lines)
    nodes = Site(*(gather_at_nodes(x, lines) for x in site))
    seen = forward_pass(model, inputs.constants, inputs.dynamics, nodes)[0]
    cavity = backward_pass(inputs.dynamics, seen, nodes)[0]
    return _sum_log_evidence_terms(
        model, inputs, lines, site, (seen, Strength(None, *(gather_at_players(x, lines) for x in cavity[1:])))
    )


def _sum_log_evidence_terms(
    model: Model, inputs: SweepInputs, lines: Timelines, site: Site, node_strengths: tuple[NodePrediction, Strength]
) -> Array:
    """Of each match what its result says, in place of what its sites say, of its players; and what time adds."""
    seen, here = node_strengths
    before = Strength(None, *(gather_at_players(x, lines) for x in seen[:2]))
    weight = lines.events.context.weight
    chance = result_log_likelihood(model, inputs.constants, pair_players(here, inputs.offset), lines.events)
    said = jnp.sum(log_site_integral(before, site) - log_site_integral(here, site), axis=0)
    return jnp.where(lines.real, (chance if weight is None else weight * chance) + said, 0.0)


@jit_with_vector_loops
def ratings_at_moment(model: Model, params: Any, lines: Timelines, query: QueryNodes, site: Site) -> Rating:
    """[some] the ratings of all who have begun by a moment."""
    inputs = prepare_sweep(model, params, lines)
    nodes = Site(*(gather_at_nodes(x, lines) for x in site))
    seen, belief = forward_pass(model, inputs.constants, inputs.dynamics, nodes)
    hindsight: Any = backward_pass(inputs.dynamics, seen, nodes, belief)[1]
    mean, variance = (x[:, 0].reshape(-1)[query.place] for x in hindsight)
    mean = mean + params.initial_rating
    if params.experience is not None:
        mean = mean + params.experience * jnp.log1p(query.games)
    return Rating(mean, jnp.sqrt(variance))


@jit_with_vector_loops
def final_state(model: Model, params: Any, lines: Timelines, site: Site) -> State:
    """The state in which their last matches, by `lines.last`, leave the players, given what all before them say."""
    inputs = prepare_sweep(model, params, lines)
    nodes, weight = Site(*(gather_at_nodes(x, lines) for x in site)), lines.events.context.weight
    forward = (nodes, *forward_pass(model, inputs.constants, inputs.dynamics, nodes))
    return _assemble_state(
        model, params, lines, inputs, forward, lines.games + (1.0 if weight is None else weight[None])
    )


def _assemble_state(
    model: Model, params: Any, lines: Timelines, inputs: SweepInputs, forward: Any, games: Array
) -> State:
    """The rows of all players after their last matches; those without any are newcomers."""

    def at_last(x: Array) -> Array:
        """[..., num_players] of [steps, ..., lanes]."""
        step, lane = lines.last // x.shape[-1], lines.last % x.shape[-1]
        return jnp.moveaxis(x.at[step, ..., lane].get(mode="clip"), 0, -1)

    nodes, seen, belief = jax.tree.map(at_last, forward)
    learnt = jax.vmap(after, -1, 0)(belief, at_last(inputs.dynamics.picked), seen, nodes)
    fresh = init(model, params, len(lines.last))
    match = at_last(lines.node)
    side, match = match // lines.real.shape[0], match % lines.real.shape[0]

    def put(old: Array, new: Array) -> Array:
        new = new.reshape(old.shape)
        played = (lines.last < lines.node.size).reshape(-1, *(1 for _ in old.shape[1:]))
        return jnp.where(jnp.broadcast_to(played, old.shape), new, old)

    mean = put(fresh.mean, fresh.mean + learnt.mean.reshape(fresh.mean.shape))
    counted = None if fresh.games is None else put(fresh.games, games.at[side, match].get(mode="clip"))
    time = put(fresh.time, lines.events.time.at[match].get(mode="clip"))
    return State(mean, put(fresh.covariance, learnt.covariance), counted, time)
