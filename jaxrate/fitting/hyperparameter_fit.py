"""`fit`: hyperparameters that predict a history best.

A loss is a mean of predictions made one step ahead, each before its result was known; so the summed log loss is a
likelihood, whose slopes, event by event, are uncorrelated (Dawid 1984), and standard errors follow from its curvature.
"""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, Unpack

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from jaxrate.core.argument_checks import check_count, enforce_argument_annotations
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, replace_params
from jaxrate.data.column_role_definitions import Columns
from jaxrate.data.dataset_from_table import read_if_table
from jaxrate.events import periods, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.fit_problem import FitProblem, mean_loss, prepare_fit, prior_penalties
from jaxrate.fitting.fit_results import Fit, HeldOutLosses
from jaxrate.fitting.losses import DEFAULT_OBJECTIVE, Objective, ahead, loss_label, prediction_losses
from jaxrate.fitting.prediction_task import (
    PredictionTask,
    constant_prediction_loss,
    make_prediction_task,
    replay_predictions,
)
from jaxrate.fitting.search import Search, minimise_from_starts
from jaxrate.fitting.standard_errors import estimate_errors, fitted_params

MAX_STARTS = 100_000
MAX_SEARCH_STEPS = 10**9


@enforce_argument_annotations
def fit(
    system: RatingSystem | Fit,
    events: Any,
    *,
    free: Sequence[str] | None = None,
    objective: Objective | None = None,
    optimizer: optax.GradientTransformation | None = None,
    steps: int = 100,
    starts: int = 1,
    watch: Callable[[int, float], Any] | None = None,
    **columns: Unpack[Columns],
) -> Fit:
    """The hyperparameters with which a system predicts a history best, starting from its own.

        fit = jr.fit(jr.elo(), data)
        jr.rate(fit.system, data)
        jr.fit(jr.elo(), "games.csv", a="a", b="b")
        jr.fit(jr.elo(), data, objective=jr.fitting.ahead(loss="brier", data_share=0.8))

    Args:
      system: as from `glicko()`; `add_outcomes(trueskill())` is fitted to the probabilities of win, draw and loss. Or a
        `Fit`, to go on from: the free names and the objective are its own, unless they are given.
      events: as for `run`, or a `Dataset`, or a table or path as `read` takes it.
      free: names of the parameters to fit. None: all except those that are switched off (None), those whose space is
        "fixed", those at a border of their space (0; for shares 0 or 1), bounds, and those without an effect of their
        own, such as the last of those in points where only ratios matter.
      objective: what is minimised: `jr.fitting.ahead(...)`, the loss of predictions made one step ahead, of all events
        or of a first share, with weights; or `jr.fitting.evidence()`, minus the logarithm of the probability of all
        results together. None: the log loss of all events one step ahead, of goals that of scorelines.
      optimizer: takes plain steps, as `optax.adam(0.05)`, in logarithms and logits. None: damped Fisher steps.
      steps: the maximum number of steps of the search.
      starts: the number of points from which the search begins; all but one are random, and the same in every call. The
        first has the system's own values, the others differ from these by factors of about e. The best result wins.
      watch: called after every step with its number and the least loss so far, and ends the search by True.
      columns: those of a table, by role, as `read` takes them.

    Returns:
      `Fit`. Parameters about which the events say nothing are named in `open`, and have an error of inf; the others
      have their errors all the same. Of those that may all grow together without changing a prediction, as Elo-MMR's
      beta, gamma and initial deviation, `ratios` has what is determined. A bound that equals the initial value at the
      start moves with it, as the greatest deviation with the initial one. Others move when the value passes them
      (`Fit.moved_bounds`). If losses are not finite, or the last is above the first, the result is the best point seen,
      and `reason` is "diverged". Glicko-2's tau has a prior, the only one here, which counts as some results would.

    Raises:
      ValueError: for names that are unknown or cannot be freed, or of no effect; if nothing is left to fit or to score,
        or all are draws; if the loss is not finite at the start; for other bad arguments.
    """
    start_time = time.perf_counter()
    check_count("starts", starts, 1, MAX_STARTS)
    check_count("steps", steps, 0, MAX_SEARCH_STEPS)
    events = read_if_table("fit", events, columns)
    system, free, objective = resolve_objective(system, objective, free)
    problem = prepare_fit(make_prediction_task(system, events, objective), free)
    points = _draw_starting_points(problem, starts)
    searches = minimise_from_starts(problem, points, system.params, steps, optimizer, watch)
    best = searches[int(np.nanargmin([x.best.loss for x in searches]))]
    return fit_result_from_search(problem, best)._replace(seconds=time.perf_counter() - start_time)


def resolve_objective(
    system: RatingSystem | Fit, objective: Objective | None, free: Sequence[str] | None = None
) -> tuple[RatingSystem, Sequence[str] | None, Objective]:
    """The system, the names to free and the objective: as given, else those of the `Fit`, if there is one."""
    if isinstance(system, Fit):
        return system.system, system.free if free is None else free, objective or system.objective
    return system, free, objective or DEFAULT_OBJECTIVE


def _draw_starting_points(problem: FitProblem, starts: int) -> HostArray:
    """[S, m] where searches start: the system's own values, and random ones about them."""
    points = np.repeat(problem.start[None], starts, axis=0)
    if starts > 1:
        offsets = jax.random.normal(jax.random.key(0), points[1:].shape)
        points[1:] += np.asarray(offsets, np.float64)
    return points


def fit_result_from_search(problem: FitProblem, search: Search) -> Fit:
    """The public result of a search: its hyperparameters, loss and standard errors."""
    task, point, names = problem.task, search.best, problem.names
    params = fitted_params(problem, point.z)
    covariance, ratios, method = estimate_errors(problem, point)
    error = dict(zip(names, np.sqrt(np.diag(covariance)).tolist(), strict=True))
    open_names = tuple(name for name in names if not np.isfinite(error[name]))
    is_flat = search.is_converged and bool(open_names)
    moved = [x for x in params._fields if getattr(params, x) != getattr(task.system.params, x) and x not in names]
    return Fit(
        system=replace_params(task.system, params),
        params=params,
        free=names,
        idle=tuple(name for name in problem.free.names if name not in names),
        unconstrained=dict(zip(names, (point.z * problem.unit).tolist(), strict=True)),
        loss=point.loss - float(prior_penalties(problem, point.z[None]).loss[0]),
        loss_history=np.array(search.history),
        standard_error=error,
        covariance=covariance,
        converged=search.is_converged and not is_flat,
        reason="flat" if is_flat else search.reason,
        open=open_names,
        objective=task.objective._replace(errors=method),
        held_out=_held_out_losses(problem, point.z) if task.objective.data_share < 1 else None,
        moved_bounds=tuple(moved),
        ratios=ratios,
    )


def _held_out_losses(problem: FitProblem, z: HostArray) -> HeldOutLosses:
    """Mean losses of what is held out: with the starting hyperparameters, with the fitted ones, of a constant."""
    weight = problem.task.held_out_weight
    start, fitted = (mean_loss(problem, point, weight) for point in (problem.start, z))
    return HeldOutLosses(start, fitted, constant_prediction_loss(problem.task), int(np.count_nonzero(weight)))


MAX_EVENTS = 100_000  # matches or participations that are fitted, the last ones
WARM_UP = 0.2  # first share of these that is rated and not scored, where there were more events before
MAX_STEPS = 50
TRUSTED_SHARE = 0.8  # of the past: what is fitted to it must predict the rest of the past about as well as the defaults
MIN_HARM = 0.005  # nats by which it may be worse: so much is chance, and fits that explode lose far more
TIME_LIMIT = 60.0  # seconds after which no step begins


def fit_with_time_limit(
    system: RatingSystem,
    data: Dataset,
    num_past: int,
    period_length: float | None = None,
    fixed: Collection[str] = (),
    max_events: float = MAX_EVENTS,
    seconds: float = TIME_LIMIT,
) -> tuple[RatingSystem, str]:
    """The system, fitted to the last matches or participations of the past, and why not ("" if it was).

    It keeps its hyperparameters if others, fitted to the first four fifths of the past, predict its last fifth
    clearly worse, as who explodes later may do. If the time ends with that fit, its hyperparameters are taken. A side
    advantage that changes with time goes on as one that stays if that fit finds no clear change.

    Args:
      system: the system whose hyperparameters are fitted.
      data: the whole history.
      num_past: matches or contests before those that are scored.
      period_length: of rating periods; None: event by event.
      fixed: hyperparameters that stay as they are.
      max_events: matches or participations that are fitted, the last ones.
      seconds: after these no step begins.
    """
    start_time = time.monotonic()
    start = data.events.start
    first_event = int(np.searchsorted(start, max(start[num_past] - max_events, 0)))
    first_event = min(first_event, max(num_past - 1, 0))
    events = slice_events(data.events, first_event, num_past)
    events = events if period_length is None else periods(events, period_length)
    objective = ahead(warm_up=WARM_UP if first_event else 0, errors="products", key=make_fixed_key(system))

    def is_late(*_: Any) -> bool:
        return time.monotonic() - start_time > seconds

    try:
        options: dict[str, Any] = {"steps": MAX_STEPS, "watch": is_late}
        early = objective._replace(data_share=TRUSTED_SHARE)
        first = fit(_exclude_params_from_fits(system, fixed), events, objective=early, **options)
        assert first.held_out is not None
        if not first.held_out.fitted <= first.held_out.start + MIN_HARM:
            return system, "fits to the first four fifths of the past lose to the defaults on its last fifth"
        system = first.system
        if has_unclear_trend(first) and "side_since" not in fixed:  # then the side advantage stays as it is
            others = {name: value for name, value in first.params._asdict().items() if name != "side_trend"}
            system = system.make(**others, side_since=None)
        if is_late():
            return system, ""
        return fit(_exclude_params_from_fits(system, fixed), events, objective=objective, **options).system, ""
    except ValueError as error:
        return system, str(error)


def has_unclear_trend(fitted: Fit) -> bool:
    """Whether the side advantage changes with time, by less than two standard errors."""
    trend = getattr(fitted.params, "side_trend", None)
    return trend is not None and abs(trend) < 2.0 * fitted.standard_error.get("side_trend", 0.0)


def _exclude_params_from_fits(system: RatingSystem, names: Collection[str]) -> RatingSystem:
    """The system of which fits leave the hyperparameters of these names as they are."""
    held = {x: getattr(system.space, x)._replace(fitted=False) for x in system.space._fields if x in names}
    return system._replace(space=system.space._replace(**held))


def make_fixed_key(system: RatingSystem) -> Array | None:
    """A PRNG key, the same every time, if the system draws random numbers."""
    return None if system.rules.draw is None else jax.random.key(0)


@enforce_argument_annotations
def log_likelihood(
    system: RatingSystem | Fit, events: Any, params: Params | None = None, *, objective: Objective | None = None
) -> Array:
    """How likely the results of a history are under given hyperparameters: the sum of logarithms, each match predicted
    from those before (Dawid 1984).

        density = jax.jit(lambda c: jr.fitting.log_likelihood(jr.glicko(), data, jr.glicko().params._replace(c=c)))
        density(20.0), jax.grad(density)(20.0), jax.vmap(density)(jnp.array([10.0, 20.0, 40.0]))

    It is differentiable, and a function like any other under `jax.jit`, `jax.grad` and `jax.vmap`. The matches are put
    in order on the host, in every call outside of `jax.jit` and once within: samplers want it within.

    Args:
      system: as from `glicko()`; of `add_outcomes(system)` each result has a probability, of others half a win counts
        as half of the logarithm of either. Or a `Fit`: then of the events that it scored.
      events: matches, rating periods or a `Dataset`, concrete.
      params: leaves []; may be traced. None: the system's own.
      objective: `jr.fitting.ahead(...)`: what is scored, and how. Its loss is "log_loss", or "margin": the density of
        margins, or the chance of scorelines, of skills that learn from these. None: as for `fit`.

    Returns:
      [] the sum over all that is scored.

    Raises:
      ValueError: for rounds, whose predictions have no joint likelihood (`fit` minimises a sum of losses, or of pairs);
        for other losses and the evidence; and as `fit`.
    """
    system, _, objective = resolve_objective(system, objective)
    if objective.by_evidence:
        raise ValueError("the evidence is no sum of predictions; jr.smooth(...).hindsight.evidence has it")
    task = make_prediction_task(system, events, objective)
    if task.kind not in task.loss.likelihood:
        if not task.loss.likelihood:
            raise ValueError(f"the {loss_label(objective.loss)} loss is no log likelihood; take log_loss")
        reason = "predictions of participants are not independent; give matches or periods"
        raise ValueError(f"{task.kind.__name__.lower()} have no likelihood: {reason}")
    return -summed_loss(task, system.params if params is None else params)


def summed_loss(task: PredictionTask, params: Params) -> Array:
    """[] the loss of all that is scored, with these hyperparameters."""
    prediction, weight = replay_predictions(task, params), jnp.asarray(task.weight, float)
    return jnp.sum(weight * prediction_losses(task.loss, prediction, task.score, weight))


class SwitchOffLosses(NamedTuple):
    """Mean losses of a fit but for one hyperparameter that may be None."""

    off: float  # with None
    start: float  # with the value from which the fit began


def losses_with_parts_switched_off(fitted: Fit, start: RatingSystem, events: Any) -> dict[str, SwitchOffLosses]:
    """The losses of each hyperparameter that the events left open and that may be switched off, by its name."""
    objective, params = fitted.objective._replace(errors=None), fitted.params._asdict()

    def mean_loss_with(name: str, value: float | None) -> float:
        system = start.make(**params | {name: value})
        task = make_prediction_task(system, events, objective)
        return float(summed_loss(task, system.params)) / float(np.sum(task.weight))

    switches = [name for name in fitted.open if getattr(start.space, name).range.optional]
    return {
        name: SwitchOffLosses(mean_loss_with(name, None), mean_loss_with(name, getattr(start.params, name)))
        for name in switches
    }
