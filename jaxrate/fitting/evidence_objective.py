"""Hyperparameters by the evidence: how likely all results are together, by expectation propagation.

At its fixed point the evidence does not change with the sites, to first order (Minka 2001, "Expectation propagation for
approximate Bayesian inference"; Seeger 2005, "Expectation propagation for exponential families"). So its slopes by
hyperparameters are those with the sites held fixed, and nothing has to be differentiated through the sweeps. That
holds where a site keeps the moments of a likelihood: not for half a win, for weights, or for Glicko's messages, which
are refused, and not for statistics and quits of contests, where adjoints of the sites add what is missing. And it holds
for chains that the sites do not change: where time leads a variance to its upper bound, what is added depends on what
was believed, and slopes are off by about one in a hundred. Goals keep moments by a rule of nodes, and slopes are off by
one in ten thousand, or by three in a thousand where nothing is known of teams.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem
from jaxrate.events import count_teams, has_tied_teams
from jaxrate.events.dataset import resolve_events_and_num_players
from jaxrate.fitting.free_parameters import FreeParameterTransform, ParameterSettings, to_hyperparameters
from jaxrate.replay.execution import jit_with_small_matrix_compile_options
from jaxrate.replay.player_rows import as_device_arrays
from jaxrate.smoothing.expectation_propagation import (
    SweepResult,
    evidence_adjoints,
    evidence_depends_on_sites,
    run_sweeps,
    settled_log_evidence_terms,
)
from jaxrate.smoothing.smoother import check_smoothable_events, resolve_smoothing_model
from jaxrate.smoothing.timelines import Timelines, build_timelines
from jaxrate.systems.skills.settings import ModelSettings

TOLERANCE, MAX_SWEEPS = 3e-4, 400


class EvidenceProblem(NamedTuple):
    """A history whose evidence is maximised."""

    model: ModelSettings
    timelines: Timelines
    weight: HostArray  # [n] of matches, or of participants, those of a contest 1 together


class StaticEvidenceArguments(NamedTuple):
    """Static values of a search."""

    model: ModelSettings
    free: FreeParameterTransform

    @property
    def size(self) -> int:
        return self.model.size


def prepare_evidence_problem(system: RatingSystem, data: Any) -> EvidenceProblem:
    """The problem of a history; ValueError where slopes of the evidence are not those with fixed sites."""
    params: Any = system.params
    model, history = resolve_smoothing_model(system), resolve_events_and_num_players(data)[0]
    if history.nouns == "periods":
        raise ValueError("the evidence is of matches or contests, each at its own time; take objective=ahead()")
    events = check_smoothable_events(model, history)
    flat: Any = events.flat
    if model.outcome == "logistic":
        reason = "has no slopes, as its messages are Glicko's; take `result`"
        raise ValueError(f"the evidence of skills that observe `logistic` {reason}")
    if flat.context.weight is not None and (np.asarray(flat.context.weight) != 1).any():
        raise ValueError("the evidence is of whole matches, but there are weights other than 1; leave them out")
    if model.outcome == "win" and params.draw_margin is None:
        _check_no_draws(events)
    timelines, _ = build_timelines(events, int(np.max(flat.player)) + 1, model)
    rows, is_contested = np.diff(events.start), count_teams(events) > 1
    return EvidenceProblem(model, timelines, np.repeat(is_contested / rows, rows))


def _check_no_draws(events: Any) -> None:
    """ValueError for a match that is drawn, or teams that tie, which have no likelihood without a draw margin."""
    of_contests = events.nouns == "contests"
    drawn: Any = () if of_contests else np.flatnonzero((events.score != 0) & (events.score != 1))
    if len(drawn) or (of_contests and has_tied_teams(events)):
        what = "teams tie, which" if of_contests else f"row {drawn[0]}"
        raise ValueError(f"{what} is no win and no loss: half a win has no likelihood; give a draw_margin")


@jit_with_small_matrix_compile_options
def _event_evidence_losses_and_slopes(
    statics: StaticEvidenceArguments,
    timelines: Timelines,
    sweep_result: SweepResult,
    x: Array,
    params: Params,
) -> Any:
    """[size] minus the log evidence of each match or contest, and the slopes [k, size]."""
    model, free = statics
    adjoint = None
    if evidence_depends_on_sites(model, timelines):
        adjoint = evidence_adjoints(model, to_hyperparameters(free, x, params), timelines, sweep_result)

    def negative_log_evidence(x: Array) -> Array:
        here = to_hyperparameters(free, x, params)
        return -settled_log_evidence_terms(model, here, timelines, sweep_result.site, adjoint)

    if not len(x):  # nothing is free: there are no slopes
        losses = negative_log_evidence(x)
        return losses, jnp.zeros((0, *losses.shape), losses.dtype)
    losses, slopes = lax.map(lambda along: jax.jvp(negative_log_evidence, (x,), (along,)), jnp.eye(len(x)))
    return losses[0], slopes


def negative_log_evidence(
    problem: EvidenceProblem, settings: ParameterSettings
) -> tuple[HostArray, HostArray, HostArray]:
    """[S] minus the log evidence of S settings, [S, k] its slopes, [S, k, k] sums of products of events' slopes."""
    results = []
    for i in range(len(settings.x)):
        params = jax.tree.map(lambda y: y[i], settings.params)  # noqa: B023
        results.append(_negative_log_evidence_at(problem, settings.free, settings.x[i], params))
    value, slope, product = (np.stack(y) for y in zip(*results, strict=True))
    return value, slope, product


def _negative_log_evidence_at(
    problem: EvidenceProblem, free: FreeParameterTransform, x: HostArray, params: Params
) -> tuple[float, HostArray, HostArray]:
    """The negative log evidence at x [k], its slopes [k] and products [k, k] of them; NaN if sweeps do not converge."""
    model, timelines, _ = problem
    point, other_params = as_device_arrays((x, params))
    sweep_result = run_sweeps(model, to_hyperparameters(free, point, other_params), timelines, TOLERANCE, MAX_SWEEPS)
    if not sweep_result.change <= TOLERANCE:
        return np.nan, np.full(len(x), np.nan), np.full((len(x), len(x)), np.nan)
    statics = StaticEvidenceArguments(model, free)
    event_terms = _event_evidence_losses_and_slopes(statics, timelines, sweep_result, point, other_params)
    losses, slope = (np.asarray(y, np.float64) for y in event_terms)
    return float(losses.sum()), slope.sum(axis=1), slope @ slope.T
