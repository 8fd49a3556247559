"""The search for the least loss, from several starts, by steps within a region of trust.

`init_search` makes a `SearchState`, `advance_search` takes one step, `end_converged` ends the searches that have
converged; `minimise_from_starts` calls them in turn.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params
from jaxrate.fitting.fit_problem import (
    IDLE_SLOPE,
    FitProblem,
    broadcast_params,
    decorrelating_axes,
    mean_loss_derivatives,
    params_at,
    remake_rules_if_far,
    replace_params_if_valid,
    rules_depend_on_param_values,
)
from jaxrate.fitting.history_loss_derivatives import LONG_HISTORY
from jaxrate.replay.row_gather_and_scatter import as_device_arrays

TRUST_RADIUS = 1.0  # no step is longer: in logarithms, in logits, or in units in which an event's slope is about 1
COORDINATE_SWEEPS = 100


def clip_to_trust_region(axes: HostArray, slope: HostArray, step: HostArray) -> HostArray:
    """[S, m] the steps, or, where one is longer than `TRUST_RADIUS` in a parameter, a shorter one.

    It is either clipped in each parameter by itself, since parameters that the events hardly determine take long steps
    and would hold up the rest, or the best step in the region by the curvature of the axes: the one that promises more.
    """
    step = step.copy()
    for i in np.flatnonzero((np.abs(np.einsum("skm,sm->sk", axes, step)) > TRUST_RADIUS).any(axis=1)):
        clipped = np.linalg.lstsq(axes[i], np.clip(axes[i] @ step[i], -TRUST_RADIUS, TRUST_RADIUS))[0]
        step[i] = min(clipped, minimise_quadratic_in_trust_region(axes[i], slope[i]), key=slope[i].dot)
    return step


def minimise_quadratic_in_trust_region(axes: HostArray, slope: HostArray) -> HostArray:
    """[m] the step to the least quadratic loss in the region, by coordinate descent; axes [k, m] give its curvature."""
    is_moving = np.abs(axes).sum(axis=1) > 0
    inverse = np.linalg.inv(axes[is_moving])
    slope_in_params, curvature, params_step = inverse.T @ slope, inverse.T @ inverse, np.zeros(len(slope))
    for _ in range(COORDINATE_SWEEPS):
        for j in range(len(params_step)):
            params_step[j] = np.clip(
                params_step[j] - (slope_in_params[j] + curvature[j] @ params_step) / curvature[j, j],
                -TRUST_RADIUS,
                TRUST_RADIUS,
            )
    return inverse @ params_step


MIN_TRIAL_PARAMETERS = 4  # parameters from which, in long histories, a step is tried without slopes before it is taken


class SearchResult(NamedTuple):
    """The results of searches from S starts."""

    x: HostArray  # [S, k] the best points
    loss: HostArray  # [S] of training
    selection_loss: HostArray  # [S] of validation, if there is one, else the same
    product: HostArray  # [S, k, k] of the slopes there; 0 in reverse mode
    history: list[tuple[HostArray, ...]]  # [S][steps + 1] both losses
    converged: list[bool]
    reason: list[str]
    problem: list[FitProblem]  # [S] with rules made for hyperparameters near the best


class SearchPoints(NamedTuple):
    """The points of S searches."""

    x: HostArray  # [S, k]
    loss: HostArray  # [S, 2] of training and of validation
    slope: HostArray  # [S, k] of the first
    product: HostArray  # [S, k, k] see `loss_derivatives`
    is_valid: HostArray  # [S] whether all is finite and the system allows it


class SearchCoordinates(NamedTuple):
    """The coordinates z in which steps are taken: x = origin + axes z."""

    axes: HostArray  # [S, k, m]
    origin: HostArray  # [S, k]
    z: HostArray  # [S, m]


class SearchOptimizer(NamedTuple):
    """An optimiser. L-BFGS shortens each step until the loss falls, along axes with a curvature of about 1."""

    init: Callable[[Array], Any]  # (z) -> memory
    update: Callable[[Array, Any, Array], tuple[Array, Any]]  # (slopes along the axes, memory, z) -> (step, memory)
    has_line_search: bool


class SearchState(NamedTuple):
    """The state of S searches."""

    problem: FitProblem  # with rules made for hyperparameters near
    params: Params  # those that are not free, numbers or [S]
    current: SearchPoints
    best: SearchPoints
    frame: SearchCoordinates
    memory: Any  # of the optimiser
    memory_reset: HostArray  # [S] whether the optimiser starts anew with the next step
    rules_changed: bool  # whether the last step has changed the rules
    num_steps: int  # steps taken
    steps_since_best: HostArray  # [S] steps without a better loss
    history: tuple[tuple[HostArray, ...], ...]  # [S][steps + 1] both losses
    reason: HostArray  # [S] why it ended, "" while it goes on
    converged: HostArray  # [S]


def is_running(search: SearchState) -> HostArray:
    """[S] whether a search is still running."""
    return search.reason == ""


def end_searches(search: SearchState, selected: HostArray, end_reason: str, is_converged: bool) -> SearchState:
    """The searches, with the selected ones [S] ended, unless they had ended before."""
    selected = selected & is_running(search)
    reason, converged = (
        np.where(selected, end_reason, search.reason),
        np.where(selected, is_converged, search.converged),
    )
    return search._replace(reason=reason.astype(object), converged=converged)


def selection_loss_index(problem: FitProblem) -> int:
    """The index of the loss that selects the best point: validation (1) if there is one, else training (0)."""
    return int(problem.weight[1].any())


def init_memory(method: SearchOptimizer, frame: SearchCoordinates) -> Any:
    """The memory of an optimiser before its first step."""
    return jax.tree.map(np.asarray, method.init(np.zeros(frame.z.shape, jnp.result_type(float))))


def coordinates_to_params(frame: SearchCoordinates) -> HostArray:
    """[S, k] the free parameters at the coordinates."""
    return frame.origin + np.einsum("skm,sm->sk", frame.axes, frame.z)


def machine_epsilon() -> float:
    return float(np.finfo(jnp.result_type(float)).eps)


def loss_rounding_noise(points: SearchPoints) -> HostArray:
    """[S] how much rounding may change a loss."""
    return 4.0 * machine_epsilon() * np.abs(points.loss[:, 0])


def evaluate_points(
    problem: FitProblem,
    x: HostArray,
    params: Params,
    previous: SearchPoints | None = None,
    max_loss: HostArray | None = None,
) -> SearchPoints:
    """The points x [S, k]; slopes are `previous` ones where they take long and no loss is at most `max_loss` [S]."""
    columns = params_at(problem, x, params)
    params_by_start = [jax.tree.map(lambda y: y[i], columns) for i in range(len(x))]  # noqa: B023
    allowed = np.array([replace_params_if_valid(problem.system, one) is not None for one in params_by_start])
    task = problem.task
    if (
        previous is not None
        and task.evidence_problem is None
        and len(task.weight) >= LONG_HISTORY
        and x.shape[1] >= MIN_TRIAL_PARAMETERS
    ):
        loss = mean_loss_derivatives(problem, "values", x, params)
        if not (loss[:, 0] <= max_loss).any():
            return previous._replace(x=x, loss=loss, is_valid=np.isfinite(loss).all(axis=1) & allowed)
    loss, slope, product = mean_loss_derivatives(problem, problem.mode, x, params)
    return SearchPoints(x, loss, slope, product, allowed & np.isfinite(np.hstack([loss, slope])).all(axis=1))


def slopes_along_axes(axes: HostArray, slope: HostArray) -> HostArray:
    """[S, m] the slopes along axes [S, k, m]."""
    return np.einsum("skm,sk->sm", axes, slope)


def replace_masked_starts(mask: HostArray, new: Any, old: Any) -> Any:
    """Leaves [S, ...]: new where `mask` is true, else old."""
    return jax.tree.map(lambda x, y: np.where(mask.reshape(-1, *(1,) * (np.ndim(x) - 1)), x, y), new, old)


AXES_RENEWAL = 6  # steps after which axes are renewed; and after the third, since those of the start say little
GRADIENT_TOLERANCE = (
    1e-3  # standard errors: a gradient is zero if it promises a step of no more, unless rounding is worse
)
MAX_HALVINGS = 12
PATIENCE = 5  # steps without a better validation loss


def _vectorize_optimizer(optimizer: optax.GradientTransformation, has_line_search: bool = False) -> SearchOptimizer:
    """The optimiser for many starts at once, under standard promotion of types."""
    init, update = (
        jax.numpy_dtype_promotion("standard")(jax.jit(jax.vmap(x))) for x in (optimizer.init, optimizer.update)
    )
    return SearchOptimizer(init, update, has_line_search)


@lru_cache
def _lbfgs_method() -> SearchOptimizer:
    """L-BFGS that takes the curvature for 1 along every axis until steps have shown it."""
    steps = optax.scale_by_lbfgs(scale_init_precond=False)
    return _vectorize_optimizer(optax.chain(steps, optax.scale(-1.0)), has_line_search=True)


def minimise_from_starts(
    problem: FitProblem,
    starts: HostArray,
    params: Params,
    optimizer: optax.GradientTransformation | None,
    steps: int,
    watch: Callable[[int, float], Any] | None = None,
) -> SearchResult:
    """Search from all starts [S, k] at once, each with steps of its own; `params` are those not free, numbers or [S].

    Where rules are made for some hyperparameters, they are made anew on the way, and starts are searched one by one.
    """
    method = _lbfgs_method() if optimizer is None else _vectorize_optimizer(optimizer)
    if len(starts) == 1 or not rules_depend_on_param_values(problem):
        return _run_search(init_search(problem, method, starts, params), method, steps, watch)
    slices, params_by_start = [slice(i, i + 1) for i in range(len(starts))], broadcast_params(params, len(starts))
    searches = (init_search(problem, method, starts[i], jax.tree.map(lambda x: x[i], params_by_start)) for i in slices)  # noqa: B023
    return concatenate_results([_run_search(search, method, steps, watch) for search in searches])


def concatenate_results(results: Sequence[SearchResult]) -> SearchResult:
    """The results of several searches as one."""
    fields = list(zip(*results, strict=True))
    return SearchResult(*(np.concatenate(part) for part in fields[:4]), *(list(chain(*part)) for part in fields[4:]))  # type: ignore[arg-type]


def _run_search(
    search: SearchState, method: SearchOptimizer, steps: int, watch: Callable[[int, float], Any] | None
) -> SearchResult:
    """The result after at most so many steps."""
    for _ in range(steps):
        search = end_converged(search, method)
        if not is_running(search).any():
            break
        search = advance_search(search, method)
        if watch is not None and watch(search.num_steps, float(np.nanmin(search.best.loss[:, 0]))) is True:
            break
    if not method.has_line_search:
        has_risen = np.array([rows[-1][0] > rows[0][0] for rows in search.history])
        search = end_searches(
            search._replace(reason=np.where(has_risen, "", search.reason)), has_risen, "diverged", False
        )
    search = end_searches(search, is_running(search), "steps", False)
    best, loss_index = search.best, selection_loss_index(search.problem)
    best_points = best.x, best.loss[:, 0], best.loss[:, loss_index], best.product, list(search.history)
    return SearchResult(*best_points, search.converged.tolist(), search.reason.tolist(), [search.problem] * len(best.x))


def init_search(problem: FitProblem, method: SearchOptimizer, starts: HostArray, params: Params) -> SearchState:
    """The state of searches that start at points [S, k]."""
    count = len(starts)
    problem = remake_rules_if_far(problem, starts, params)
    start_evaluation = problem.start_evaluation if count == 1 and params is problem.system.params else None
    if start_evaluation is not None and (starts == problem.start).all():
        start_points = SearchPoints(starts, *start_evaluation, np.ones(1, bool))
    else:
        start_points = evaluate_points(problem, starts, params)
    axes = problem.axes if method.has_line_search else np.eye(starts.shape[1])[:, problem.active]
    frame = SearchCoordinates(np.repeat(axes[None], count, axis=0), starts, np.zeros((count, len(problem.active))))
    history, reason = (
        tuple((row,) for row in start_points.loss),
        np.where(start_points.is_valid, "", "diverged").astype(object),
    )
    all_false, zeros = np.zeros(count, bool), np.zeros(count, int)
    return SearchState(
        problem,
        params,
        start_points,
        start_points,
        frame,
        init_memory(method, frame),
        all_false,
        False,
        0,
        zeros,
        history,
        reason,
        all_false,
    )


def end_converged(search: SearchState, method: SearchOptimizer) -> SearchState:
    """The searches, with those ended that have converged."""
    problem, current = search.problem, search.current
    axes = search.frame.axes if method.has_line_search else np.repeat(problem.axes[None], len(current.x), axis=0)
    max_gradient = max(GRADIENT_TOLERANCE / math.sqrt(problem.weight[0].sum()), 32.0 * machine_epsilon())
    search = end_searches(
        search, np.linalg.norm(slopes_along_axes(axes, current.slope), axis=1) <= max_gradient, "gradient", True
    )
    return (
        end_searches(search, search.steps_since_best >= PATIENCE, "validation", True)
        if selection_loss_index(problem)
        else search
    )


def advance_search(search: SearchState, method: SearchOptimizer) -> SearchState:
    """The searches after one more step of those that still run."""
    search = _refresh_axes_and_memory(search, method)
    previous, frame = search.current, search.frame
    slope = slopes_along_axes(frame.axes, previous.slope)
    method_inputs = as_device_arrays([np.where(previous.is_valid[:, None], x, 0.0) for x in (slope, frame.z)])
    proposal, memory = method.update(method_inputs[0], search.memory, method_inputs[1])
    proposal, reset_memory = np.asarray(proposal, np.float64), search.memory_reset
    if method.has_line_search:
        downhill = np.sum(slope * proposal, axis=1, keepdims=True) < 0
        proposal = clip_to_trust_region(frame.axes, slope, np.where(downhill, proposal, -slope))
    search, moved = _take_backtracked_steps(search, method, proposal, slope)
    current, best, loss_index = search.current, search.best, selection_loss_index(search.problem)
    if method.has_line_search:  # what curves downwards teaches L-BFGS nothing
        reset_memory = ~(np.sum((current.slope - previous.slope) * (current.x - previous.x), axis=1) > 0)
    rows = zip(search.history, current.loss, moved, strict=True)
    slack = loss_rounding_noise(previous) if method.has_line_search and not loss_index else 0.0
    is_better = moved & (current.loss[:, loss_index] <= best.loss[:, loss_index] + slack)
    history = tuple((*past, row) if new else past for past, row, new in rows)
    search = search._replace(
        best=replace_masked_starts(is_better, current, best),
        memory=memory,
        memory_reset=reset_memory,
        num_steps=search.num_steps + 1,
        steps_since_best=np.where(is_better, 0, search.steps_since_best + moved),
        history=history,
    )
    if method.has_line_search and not loss_index:  # two steps that together are worth no more than rounding
        decrease = np.array([rows[-3][0] - rows[-1][0] if len(rows) > 2 else np.inf for rows in history])
        search = end_searches(search, moved & (decrease <= loss_rounding_noise(current)), "no further decrease", True)
    return _remake_rules_if_far(search, method, is_better)


def _remake_rules_if_far(search: SearchState, method: SearchOptimizer, is_better: HostArray) -> SearchState:
    """The searches, with rules remade for where they are if their own were made for far away.

    `is_better` marks searches that have just reached their best point: its loss is then computed anew.
    """
    problem = remake_rules_if_far(search.problem, search.current.x, search.params)
    if problem is search.problem:
        return search._replace(rules_changed=False)
    current = evaluate_points(problem, search.current.x, search.params)
    search = end_searches(search, ~current.is_valid, "diverged", False)
    best, reset_memory = (
        replace_masked_starts(is_better & current.is_valid, current, search.best),
        np.full(len(is_better), method.has_line_search),
    )
    return search._replace(problem=problem, current=current, best=best, memory_reset=reset_memory, rules_changed=True)


def _refresh_axes_and_memory(search: SearchState, method: SearchOptimizer) -> SearchState:
    """The searches before a step: axes renewed when due, and memories cleared where they would mislead."""
    current, frame, reset_memory = search.current, search.frame, search.memory_reset
    is_due = search.rules_changed or search.num_steps == 3 or search.num_steps % AXES_RENEWAL == 0 < search.num_steps
    if is_due and method.has_line_search and search.problem.mode == "forward":
        axes_and_products, active = zip(frame.axes, current.product, strict=True), search.problem.active
        frame = SearchCoordinates(
            np.stack([_decorrelate_axes_if_informative(*one, active) for one in axes_and_products]),
            current.x,
            np.zeros_like(frame.z),
        )
        reset_memory = np.ones_like(reset_memory)
    if not reset_memory.any():
        return search
    return search._replace(
        frame=frame, memory=replace_masked_starts(reset_memory, init_memory(method, frame), search.memory)
    )


def _take_backtracked_steps(
    search: SearchState, method: SearchOptimizer, proposal: HostArray, slope: HostArray
) -> tuple[SearchState, HostArray]:
    """Shorten the steps [S, m] of running searches until each is accepted.

    L-BFGS accepts a step with enough of the decrease that its slopes promise (Armijo) or, within the noise, with less
    slope; other optimisers accept any that is finite and allowed.

    Returns:
      The searches, and whether each moved [S]. Searches have ended that cannot fall by more than noise, that fall with
      no part of the step, or of which no part is finite and allowed.
    """
    previous, accepted, frame, is_waiting = search.current, search.current, search.frame, is_running(search)
    promised_change, noise, z = np.sum(slope * proposal, axis=1), loss_rounding_noise(previous), frame.z
    share, is_moved, is_ended = np.ones(len(z)), np.zeros(len(z), bool), np.zeros(len(z), bool)
    for _ in range(MAX_HALVINGS):
        shortened_step = np.where(is_waiting, share, 0.0)[:, None] * proposal
        allowed_increase = np.maximum(1e-4 * share * promised_change, noise) if method.has_line_search else np.inf
        x, max_loss = (
            coordinates_to_params(frame._replace(z=z + shortened_step)),
            np.where(is_waiting, previous.loss[:, 0] + allowed_increase, -np.inf),
        )
        trial = evaluate_points(search.problem, x, search.params, previous, max_loss)
        increase = trial.loss[:, 0] - previous.loss[:, 0]
        is_accepted = is_waiting & trial.is_valid
        if method.has_line_search:
            is_steeper = np.linalg.norm(slopes_along_axes(frame.axes, trial.slope), axis=1) >= np.linalg.norm(
                slope, axis=1
            )
            is_accepted &= (increase <= 1e-4 * share * promised_change) | ((increase <= noise) & ~is_steeper)
        accepted = replace_masked_starts(is_accepted, trial, accepted)
        z, is_moved = z + np.where(is_accepted[:, None], shortened_step, 0.0), is_moved | is_accepted
        is_waiting = is_waiting & ~is_accepted
        if method.has_line_search:
            is_ended |= is_waiting & trial.is_valid & (-0.5 * share * promised_change < noise)
            is_waiting &= ~is_ended
        if not is_waiting.any():
            break
        curvature_estimate = np.where(trial.is_valid, increase - share * promised_change, np.inf)
        best_share = -0.5 * share * promised_change / np.where(curvature_estimate > 0, curvature_estimate, np.inf)
        share *= np.clip(np.nan_to_num(best_share), 0.1, 0.5) if method.has_line_search else 0.5
    search = end_searches(search, is_ended, "no further decrease", True)
    search = end_searches(search, is_waiting & trial.is_valid, "no further decrease", False)
    search = end_searches(search, is_waiting & ~trial.is_valid, "diverged", False)
    return search._replace(current=accepted, frame=frame._replace(z=z)), is_moved


def _decorrelate_axes_if_informative(axes: HostArray, product: HostArray, active: HostArray) -> HostArray:
    """[k, m] axes from the slopes here; the old ones where the events hardly tell parameters apart."""
    if not (np.isfinite(product).all() and (np.diag(product)[active] > IDLE_SLOPE**2).all()):
        return axes
    try:
        return decorrelating_axes(product, active)
    except np.linalg.LinAlgError:
        return axes
