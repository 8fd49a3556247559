"""`fit`: hyperparameters that predict a history best.

A loss is a mean of predictions made one step ahead, each before its result was known; so the summed log loss is a
likelihood, whose slopes, event by event, are uncorrelated (Dawid 1984), and standard errors follow from its curvature.
"""

import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Unpack

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from jaxrate.core.argument_checks import AnyNumber, Key, enforce_argument_annotations, to_floats
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.rules import Params, State
from jaxrate.core.system import RatingSystem, random_draw_rule, replace_params
from jaxrate.data.column_role_definitions import UnweightedColumns, suggest_role_on_unknown_argument
from jaxrate.data.saved_options import read_if_table
from jaxrate.events import LAST_ID, periods, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.evidence_objective import check_evidence_options, prepare_evidence_problem
from jaxrate.fitting.fit_problem import (
    NO_PRIOR,
    FitProblem,
    find_common_scale,
    is_hessian_affordable,
    mean_loss_derivatives,
    parameter_covariance_and_ratios,
    params_at,
    prepare_fit,
    prior_penalty,
)
from jaxrate.fitting.fit_results import Fit, FitOptions, HeldOutLosses
from jaxrate.fitting.losses import loss_label, make_replay_record_for_loss, prediction_losses
from jaxrate.fitting.multistart_search import SearchResult, concatenate_results, minimise_from_starts
from jaxrate.fitting.prediction_task import (
    PredictionTask,
    constant_prediction_loss,
    make_prediction_task,
    replay_task,
    split_training_validation_heldout_weights,
)
from jaxrate.replay.execution import CompilePolicy

ERROR_METHODS = "information", "products", "sandwich"
BYTES_PER_START = 1000.0  # bytes that a search takes, about


@suggest_role_on_unknown_argument
@enforce_argument_annotations
def fit(
    system: RatingSystem | Fit,
    events: Any,
    *,
    free: Sequence[str] | None = None,
    method: Literal["ahead", "evidence"] = "ahead",
    loss: str | Callable[[Array, Array], Array] | None = None,
    optimizer: optax.GradientTransformation | None = None,
    steps: int = 100,
    warm_up: AnyNumber | None = None,
    weight: Any = None,
    data_share: AnyNumber | None = None,
    validation: float | None = None,
    starts: int = 1,
    errors: str | None = None,
    mode: Literal["forward", "reverse"] | None = None,
    state: State = None,
    key: Key | None = None,
    watch: Callable[[int, float], Any] | None = None,
    executor: Executor | None = None,
    **columns: Unpack[UnweightedColumns],
) -> Fit:
    """The hyperparameters with which a system predicts a history best, starting from its own.

        fit = jr.fit(jr.elo(), data)
        jr.rate(fit.system, data)
        jr.fit(jr.elo(), "games.csv", a="a", b="b")

    Args:
      system: as from `glicko()`; `add_outcomes(trueskill())` is fitted to the probabilities of win, draw and loss. Or a
        `Fit`, to go on from: free names and options that are not given are its own.
      events: as for `run`, or a `Dataset`, or a table or path as `read` takes it.
      free: names of the parameters to fit. None: all except those that are switched off (None), those whose space is
        "fixed", those at a border of their space (0; for shares 0 or 1), bounds, and those without an effect of their
        own, such as the last of those in points where only ratios matter.
      method: "ahead": by predictions made one step ahead; or "evidence", of `skills`: by the probability of all results
        together (see `smooth`). Its `loss` is minus the logarithm of that, as a mean over matches or contests. It takes
        no options but `optimizer`, `steps`, `starts`, `key` and `watch`; no weights, no half wins, not "logistic".
      loss: what is minimised: "log_loss", "brier", "margin" (of margins), "joint" or "pairwise" (of contests). See
        `losses`. Or a function in JAX of predictions [n] (of a system that predicts in full [n, K]) and scores [n] that
        returns the loss of each, [n]. None: log_loss.
      optimizer: takes plain steps, as `optax.adam(0.05)`, in logarithms and logits. None: L-BFGS with a search along
        each step.
      steps: the maximum number of steps of the search.
      warm_up: a number of first matches of each player, or below 1 a first share of all events, that are not scored.
        They are rated, and predicted from little. None: 0.
      weight: [n] what each match, pair of a period, or participant of a round counts; 0: it is rated, but not scored.
        `np.arange(n) >= n // 2` scores the last half. None: 1. Or of a table the column of weights, as in `read`.
      data_share: the first share of the matches or contests, which is fitted, as 0.8. The rest is rated and scored
        afterwards (see `Fit.held_out`) and does not influence the fit. None: 1.
      validation: the last share of the fitted part to hold out for early stopping, as 0.2. Its loss decides when to
        stop, and which step was best. None: 0.
      starts: the number of points from which the search begins; all but one are random. The first has the system's own
        values, the others differ from these by factors of about e. The best result wins.
      errors: what standard errors are from: "information", "products" or "sandwich". "information": the curvature of
        the summed log loss, right if the system is; "products": the variation of the slopes between events, which takes
        no time and is also right if the system is (Berndt, Hall, Hall and Hausman 1974); or "sandwich": both, which is
        right even if the system is not, if draws count as half a win (they vary less than coins), and for any loss.
        None: information; products for long histories; sandwich for contests. Histories are long if predictions times
        pairs of parameters are 8 million or more; "sandwich" is for all losses but the log loss of matches.
      mode: "forward" or "reverse" derivatives. None: forward up to 16 free parameters.
      state: to carry on from, as in `run`; players beyond it are newcomers, who start as the parameters say.
      key: for random starts, and for systems that draw random numbers.
      watch: called after every step with its number and the least loss so far, and ends the search by True; not where
        an executor searches.
      executor: whose workers each search from one of the `starts`, see `compare`. The numbers are those of searches
        side by side, to rounding and how far a search goes.
      columns: those of a table, by role, as `read` takes them.

    Returns:
      `Fit`. Parameters about which the events say nothing are named in `open`, and have an error of inf; the others
      have their errors all the same. Of those that may all grow together without changing a prediction, as Elo-MMR's
      beta, gamma and initial deviation, `ratios` has what is determined. A bound that equals the initial value at the
      start moves with it, as `deviation_max` with `initial_deviation`. Any other bound moves when the value passes it
      (`Fit.moved_bounds`). If
      losses are not finite, or the last is above the first, the result is the best point seen, and `reason` is
      "diverged". Glicko-2's tau has a prior, the only one here, which counts as some results would.

    Raises:
      ValueError: for names that are unknown or cannot be freed, or of no effect; if nothing is left to fit or to score,
        or all are draws; if the loss is not finite at the start; for other bad arguments.
    """
    start_time = time.perf_counter()
    is_column = isinstance(weight, str)
    events = read_if_table("fit", events, {**columns, "weight": weight} if is_column else columns)
    weight = None if is_column else weight
    explicit_options = dict(loss=loss, warm_up=warm_up, weight=weight, data_share=data_share, validation=validation)
    further = {"errors": errors, "mode": mode, "state": state}
    system, free, options = resolve_options(system, free=free, key=key, **explicit_options, **further)
    _check_options(options, starts, steps)
    task = make_task_from_options(system, events, options)
    if method == "evidence":
        check_evidence_options(explicit_options | further)
        evidence_problem = prepare_evidence_problem(system, events)
        task = task._replace(evidence_problem=evidence_problem, weight=evidence_problem.weight)
    training, validation_weight, rest_weight = split_training_validation_heldout_weights(
        task, options.data_share, options.validation
    )
    problem = prepare_fit(task, system, free, training, validation_weight, options.mode)
    start_points = _draw_starting_points(problem, starts, options.key)
    if executor is None:
        searches = minimise_from_starts(problem, start_points, system.params, optimizer, steps, watch)
    else:
        searches = _search_starts_in_parallel(executor, problem, start_points, system.params, optimizer, steps)
    found = _describe_best(problem, searches, options)
    held_out = None if options.data_share == 1 else _held_out_losses(problem, searches, rest_weight)
    return found._replace(held_out=held_out, seconds=time.perf_counter() - start_time)


def _describe_best(problem: FitProblem, searches: SearchResult, options: FitOptions) -> Fit:
    """The fit that the best of the searches has found, with its errors."""
    system, best = problem.system, searches.best
    x, history, last_problem = searches.x[best], np.array(searches.history[best]), searches.problem[best]
    params = jax.tree.map(lambda y: float(y[0]), params_at(problem, x[None], system.params))
    product = searches.product[best] if problem.mode == "forward" else None
    names = [problem.free.names[i] for i in problem.active]
    errors = options.errors or _default_error_method(problem)
    scale = None if product is None else find_common_scale(last_problem, x, product)
    covariance, ratios = parameter_covariance_and_ratios(last_problem, x, errors, product, scale)
    error = np.sqrt(np.diag(covariance))
    open_names = tuple(np.array(names)[~np.isfinite(error)].tolist())
    converged, reason = searches.converged[best], searches.reason[best]
    if converged and reason != "validation" and open_names:
        converged, reason = False, "flat"
    return Fit(
        replace_params(system, params),
        params,
        tuple(names),
        tuple(np.delete(problem.free.names, problem.active).tolist()),
        dict(zip(names, (x * problem.unit)[problem.active].tolist(), strict=True)),
        float(searches.loss[best] - prior_penalty(problem, x[None])[0, 0] / problem.weight[0].sum()),
        history[:, 0],
        history[:, 1] if options.validation else None,
        dict(zip(names, error.tolist(), strict=True)),
        covariance,
        converged,
        reason,
        0.0,
        open_names,
        options._replace(errors=errors),
        moved_bounds=_changed_names(system.params, params, names),
        ratios=ratios,
    )


def _changed_names(old: Params, new: Params, names: Collection[str]) -> tuple[str, ...]:
    """The names of hyperparameters that differ, beside these."""
    pairs = zip(old._fields, old, new, strict=True)
    return tuple(name for name, before, after in pairs if before != after and name not in names)


def _default_error_method(problem: FitProblem) -> str:
    """The source of standard errors where none is chosen, see `fit`."""
    task = problem.task
    if task.evidence_problem is None and task.kind not in task.loss.likelihood:
        return "sandwich"
    return "information" if is_hessian_affordable(problem) else "products"


def resolve_options(
    system_or_fit: RatingSystem | Fit, **options: Any
) -> tuple[RatingSystem, Sequence[str] | None, FitOptions]:
    """The system, the names to free and the options: as given, else as in the `Fit`, if there is one."""
    given = {name: value for name, value in options.items() if value is not None}
    free = given.pop("free", None)
    if "weight" in given:
        given["weight"] = to_floats("weight", given["weight"]).copy()  # a copy, for it is remembered
    if isinstance(system_or_fit, Fit):
        free = system_or_fit.free if free is None else free
        return system_or_fit.system, free, system_or_fit.options._replace(**given)
    return system_or_fit, free, FitOptions(**given)


def _check_options(options: FitOptions, starts: int, steps: int) -> None:
    """ValueError for options that are wrong whatever the events are."""
    if not 0.0 < options.data_share <= 1.0:
        raise ValueError(f"data_share is a share of the events, above 0 and at most 1, got {options.data_share}")
    if not 0.0 <= options.validation < 1.0:
        raise ValueError(f"validation is a share of the events, from 0 and below 1, got {options.validation}")
    check_positive_integer("starts", starts)
    if steps < 0:
        raise ValueError(f"steps must be at least 0, got {steps}")
    check_memory_fits(f"{starts:,} searches", BYTES_PER_START * starts)
    if starts > 1 and options.key is None:
        raise ValueError("random starts need a key, such as key=jax.random.key(0)")
    if options.errors not in (None, *ERROR_METHODS):
        raise ValueError(f"errors must be one of {', '.join(ERROR_METHODS)}, got {options.errors!r}")


def make_task_from_options(system: RatingSystem, events: Any, options: FitOptions) -> PredictionTask:
    return make_prediction_task(
        system, events, options.loss, options.warm_up, options.weight, options.key, options.state
    )


def make_training_task(system: RatingSystem, events: Any, options: FitOptions) -> PredictionTask:
    """The task, scored on the predictions that a fit with these options minimises."""
    task = make_task_from_options(system, events, options)
    return task._replace(
        weight=split_training_validation_heldout_weights(task, options.data_share, options.validation)[0]
    )


def _held_out_losses(problem: FitProblem, searches: SearchResult, held_out_weight: HostArray) -> HeldOutLosses:
    """Mean losses by these weights [n]: with the starting hyperparameters, with the fitted ones, of a constant."""
    params, best = problem.system.params, searches.best
    start = mean_loss(problem, problem.start[None], params, held_out_weight)
    fitted = mean_loss(searches.problem[best], searches.x[best : best + 1], params, held_out_weight)
    constant = constant_prediction_loss(problem.task, problem.weight[0], held_out_weight)
    return HeldOutLosses(start, fitted, constant, int(np.count_nonzero(held_out_weight)))


def mean_loss(problem: FitProblem, x: HostArray, params: Params, weight: HostArray) -> float:
    """The mean loss by other weights [n] at x [1, k]; `params` are those that are not free.

    Of a short history with its slopes: their program is there, and that of losses alone would be compiled.
    """
    quantity = problem.mode if len(weight) <= CompilePolicy().short_history else "values"
    unbiased = problem._replace(weight=np.stack([weight, weight]), prior=NO_PRIOR)
    found = mean_loss_derivatives(unbiased, quantity, x, params)
    return float((found[0] if isinstance(found, tuple) else found)[0, 0])


def check_positive_integer(name: str, value: Any) -> None:
    if not (isinstance(value, int) and value >= 1):
        raise ValueError(f"{name} must be a whole number from 1, got {value!r}")


def _draw_starting_points(problem: FitProblem, starts: int, key: Array | None) -> HostArray:
    """[S, k] where searches start: the system's own values, and random ones about them."""
    points = np.repeat(problem.start[None], starts, axis=0)
    if starts > 1:
        assert key is not None
        offsets = jax.random.normal(jax.random.fold_in(key, LAST_ID), points[1:].shape)
        points[1:] += np.asarray(offsets, np.float64)
    return points


def _search_starts_in_parallel(
    executor: Executor,
    problem: FitProblem,
    starts: HostArray,
    params: Params,
    optimizer: optax.GradientTransformation | None,
    steps: int,
) -> SearchResult:
    """`minimise_from_starts` with each start [S, k] given to a worker, which returns no history."""
    search_one = partial(_search_from_start, problem, params, optimizer, steps)
    paths, systems = zip(*map_items(executor, search_one, [*starts[:, None]]), strict=True)
    base_task = problem.task
    tasks = [
        base_task
        if new == problem.system
        else base_task._replace(system=new, record=make_replay_record_for_loss(base_task.loss, new))
        for new in systems
    ]
    problems = [problem._replace(system=new, task=of) for new, of in zip(systems, tasks, strict=True)]
    return concatenate_results(paths)._replace(problem=problems)


def _search_from_start(
    problem: FitProblem, params: Params, optimizer: optax.GradientTransformation | None, steps: int, start: HostArray
) -> tuple[SearchResult, RatingSystem]:
    """The result of a search from one start [1, k], without its problem, and the system at its end."""
    search = minimise_from_starts(problem, start, params, optimizer, steps)
    return search._replace(problem=[]), search.problem[0].system


MAX_EVENTS = 100_000  # matches or participations that are fitted, the last ones
WARM_UP = 0.2  # first share of these that is rated and not scored, where there were more events before
MAX_STEPS = 50
TRUSTED_SHARE = 0.8  # of the past: what is fitted to it must predict the rest of the past about as well as the defaults
MIN_HARM = 0.005  # nats by which it may be worse: so much is chance, and fits that explode lose far more
TIME_LIMIT = 60.0  # seconds after which no step begins


class FitLimits(NamedTuple):
    """How much a fit may cost."""

    max_events: float  # matches or participations that are fitted, the last ones
    seconds: float  # after which no step begins


def fit_with_time_limit(
    system: RatingSystem,
    data: Dataset,
    num_past: int,
    period_length: float | None = None,
    fixed: Collection[str] = (),
    limits: FitLimits | None = None,
) -> tuple[RatingSystem, str]:
    """The system, fitted to the last matches or participations of the past, and why not ("" if it was).

    It keeps its hyperparameters if others, fitted to the first four fifths of the past, predict its last fifth
    clearly worse, as who explodes later may do. If the time ends with that fit, its hyperparameters are taken.

    Args:
      num_past: matches or contests before those that are scored.
      period_length: of rating periods; None: event by event.
      fixed: hyperparameters that stay as they are.
      limits: None: `MAX_EVENTS` and `TIME_LIMIT`.
    """
    limits = FitLimits(MAX_EVENTS, TIME_LIMIT) if limits is None else limits
    start_time = time.monotonic()
    start = data.events.start
    first_event = int(np.searchsorted(start, max(start[num_past] - limits.max_events, 0)))
    first_event = min(first_event, max(num_past - 1, 0))
    events = slice_events(data.events, first_event, num_past)
    events = events if period_length is None else periods(events, period_length)
    options: dict[str, Any] = {
        "errors": "products",
        "key": make_fixed_key(system),
        "warm_up": WARM_UP if first_event else 0,
    }

    def is_late(*_: Any) -> bool:
        return time.monotonic() - start_time > limits.seconds

    try:
        free = None
        if fixed:
            free = [name for name in fit(system, events, steps=0, **options).free if name not in fixed]
            if not free:
                return system, "nothing is left to fit"
        options |= {"free": free, "steps": MAX_STEPS, "watch": is_late}
        first = fit(system, events, data_share=TRUSTED_SHARE, **options)
        assert first.held_out is not None
        if not first.held_out.fitted <= first.held_out.start + MIN_HARM:
            return system, "fits to the first four fifths of the past lose to the defaults on its last fifth"
        return first.system if is_late() else fit(first.system, events, **options).system, ""
    except ValueError as error:
        return system, str(error)


def make_fixed_key(system: RatingSystem) -> Array | None:
    """A PRNG key, the same every time, if the system draws random numbers."""
    return None if random_draw_rule(system.rules) is None else jax.random.key(0)


@enforce_argument_annotations
def log_likelihood(
    system: RatingSystem | Fit,
    events: Any,
    params: Params | None = None,
    *,
    loss: str | None = None,
    warm_up: AnyNumber | None = None,
    weight: Any = None,
    state: State = None,
    key: Key | None = None,
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
      loss: "log_loss", or "margin": the density of margins, or the chance of scorelines, of skills that learn from
        these. None: "log_loss".
      warm_up, weight, state, key: what is scored, and how, as in `fit`.

    Returns:
      [] the sum over all that is scored.

    Raises:
      ValueError: for rounds, whose predictions have no joint likelihood (`fit` minimises a sum of losses, or of pairs);
        for other losses; and as `fit`.
    """
    system, _, options = resolve_options(system, loss=loss, warm_up=warm_up, weight=weight, state=state, key=key)
    task = make_training_task(system, events, options)
    if task.kind not in task.loss.likelihood:
        if not task.loss.likelihood:
            raise ValueError(f"the {loss_label(options.loss)} loss is no log likelihood; take log_loss")
        raise ValueError(
            f"{task.kind.__name__.lower()} have no likelihood: predictions of participants are not independent; give "
            "matches or periods"
        )
    prediction = replay_task(task, system.params if params is None else params)
    weight = jnp.asarray(task.weight, float)
    return -jnp.sum(weight * prediction_losses(task.loss, prediction, task.score, jnp.stack([weight, weight])))
