"""What the log evidence owes to the sites, where these move with the hyperparameters and it is not level in them.

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
from jaxrate.events import Matches
from jaxrate.smoothing.event_sites import event_sums
from jaxrate.smoothing.expectation_propagation import SweepResult
from jaxrate.smoothing.forward_backward import GaussianSite
from jaxrate.smoothing.smoothed_ratings import log_evidence_terms_and_next_sites
from jaxrate.smoothing.timelines import Timelines
from jaxrate.systems.skills.settings_and_state import ModelSettings

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
