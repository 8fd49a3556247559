"""What the log evidence owes to the sites, where these move with the hyperparameters and it is not level in them.

Sites at rest are what a sweep makes of them, s = G(s, x), with the hyperparameters x. So the slopes of the evidence are

    dE/dx = E_x + a G_x,   a = E_s + a G_s

with the adjoints a of the sites (the implicit function theorem). They solve one linear system, whatever the number of
hyperparameters, by GMRES (Saad and Schultz 1986); sites count in deviations of the cavities there.

E is level in the sites, E_s = 0, where each site keeps the moments of a likelihood. What a contest says of statistics
and quits is no such likelihood: a participant's statistics are told as if those of the others were not known, and who
quit is told before the result, as a normal distribution.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxrate.array_types import Array
from jaxrate.events import Matches
from jaxrate.smoothing.event_sites import event_sums
from jaxrate.smoothing.expectation_propagation import SweepResult
from jaxrate.smoothing.forward_backward import GaussianSite
from jaxrate.smoothing.smoothed_ratings import log_evidence_terms_and_next_sites
from jaxrate.smoothing.timelines import Timelines
from jaxrate.systems.skills.settings_and_state import ModelSettings

TOLERANCE, RESTART, MAX_RESTARTS = 1e-5, 20, 20  # of GMRES


def evidence_depends_on_sites(model: ModelSettings, timelines: Timelines) -> bool:
    """Whether the evidence changes with the sites at rest, to first order."""
    return not isinstance(timelines.events, Matches) and (bool(model.statistics) or model.quit is not None)


def evidence_adjoints(
    model: ModelSettings, params: Any, timelines: Timelines, sweep_result: SweepResult
) -> GaussianSite:
    """[...] of participants: how much a unit that a sweep adds to a site adds to the log evidence."""
    variance = jnp.where(timelines.is_participant, sweep_result.cavity.variance, 1.0)
    unit = GaussianSite(1.0 / variance, lax.rsqrt(variance))

    def terms_and_next_sites(units: GaussianSite) -> tuple[Array, GaussianSite]:
        site = jax.tree.map(jnp.multiply, units, unit)
        terms, renewed = log_evidence_terms_and_next_sites(model, params, timelines, site)
        return terms, jax.tree.map(jnp.divide, renewed, unit)

    (terms, renewed), pull_back = jax.vjp(terms_and_next_sites, jax.tree.map(jnp.divide, sweep_result.site, unit))
    (direct,) = pull_back((jnp.ones_like(terms), jax.tree.map(jnp.zeros_like, renewed)))

    def subtract_swept_adjoint(adjoint: GaussianSite) -> GaussianSite:
        (swept,) = pull_back((jnp.zeros_like(terms), adjoint))
        return jax.tree.map(jnp.subtract, adjoint, swept)

    adjoint = jax.scipy.sparse.linalg.gmres(
        subtract_swept_adjoint, direct, tol=TOLERANCE, restart=RESTART, maxiter=MAX_RESTARTS, solve_method="incremental"
    )[0]
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
