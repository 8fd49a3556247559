"""The search of `fit`: steps of L-BFGS, or of any other optimiser, from one start or from many at once.

`init` makes a `Search`, `step` takes it one step further, `stop` ends what has arrived; `minimise` calls them in turn.
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

from jaxrate.fitting.derivatives import LONG
from jaxrate.fitting.fit_problem import (
    IDLE_SLOPE,
    FitProblem,
    broadcast_params,
    decorrelating_axes,
    evaluate,
    has_parameter_specific_rules,
    params_at,
    remake_if_valid,
    remake_rules_if_far,
)
from jaxrate.fitting.trust_region import clip_to_trust_region
from jaxrate.system import Params
from jaxrate.types import Array, HostArray

AXES_RENEWAL = 6  # steps after which coordinates are taken anew; and after the third, for where it starts tells little
GRADIENT_TOLERANCE = (
    1e-3  # standard errors: a gradient is zero if it promises a step of no more, unless rounding is worse
)
MAX_HALVINGS = 12
SEVERAL = 4  # parameters from which, in long histories, a step is tried without slopes before it is taken
PATIENCE = 5  # steps without a better validation loss


class SearchResult(NamedTuple):
    """Where searches from S starts ended."""

    x: HostArray  # [S, k] the best points
    loss: HostArray  # [S] of training
    selection_loss: HostArray  # [S] of validation, if there is one, else the same
    product: HostArray  # [S, k, k] of the slopes there; 0 in reverse mode
    history: list[tuple[HostArray, ...]]  # [S][steps + 1] both losses
    converged: list[bool]
    reason: list[str]
    problem: list[FitProblem]  # [S] with rules made for hyperparameters near the best


class SearchPoints(NamedTuple):
    """Where S searches are."""

    x: HostArray  # [S, k]
    loss: HostArray  # [S, 2] of training and of validation
    slope: HostArray  # [S, k] of the first
    product: HostArray  # [S, k, k] see `calculate`
    fine: HostArray  # [S] whether all is finite and the system allows it


class SearchFrame(NamedTuple):
    """The coordinates z in which steps are taken: x = origin + axes z."""

    axes: HostArray  # [S, k, m]
    origin: HostArray  # [S, k]
    z: HostArray  # [S, m]


class StepMethod(NamedTuple):
    """How steps are found; L-BFGS shortens each until the loss falls, in axes along which it is curved by about 1."""

    init: Callable[[Array], Any]  # (z) -> memory
    update: Callable[[Array, Any, Array], tuple[Array, Any]]  # (slopes along the axes, memory, z) -> (step, memory)
    has_line_search: bool


class SearchState(NamedTuple):
    """S searches under way."""

    problem: FitProblem  # with rules made for hyperparameters near
    params: Params  # those that are not free, numbers or [S]
    current: SearchPoints
    best: SearchPoints
    frame: SearchFrame
    memory: Any  # of the method
    memory_reset: HostArray  # [S] whether the method begins anew with the next step
    remade: bool  # whether the last step has changed the rules
    number: int  # of steps taken
    since: HostArray  # [S] of them without a better judgement
    history: tuple[tuple[HostArray, ...], ...]  # [S][steps + 1] both losses
    reason: HostArray  # [S] why it ended, "" while it goes on
    converged: HostArray  # [S]


def _vectorize_optimizer(optimizer: optax.GradientTransformation, has_line_search: bool = False) -> StepMethod:
    """Its two functions, for many starts; its numbers may be of any type, whatever is said about types elsewhere."""
    init, update = (
        jax.numpy_dtype_promotion("standard")(jax.jit(jax.vmap(x))) for x in (optimizer.init, optimizer.update)
    )
    return StepMethod(init, update, has_line_search)


@lru_cache
def _lbfgs_method() -> StepMethod:
    """Where no step has shown the curvature, it is taken for 1 along every axis."""
    steps = optax.scale_by_lbfgs(scale_init_precond=False)
    return _vectorize_optimizer(optax.chain(steps, optax.scale(-1.0)), has_line_search=True)


def minimise(
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
    if len(starts) == 1 or not has_parameter_specific_rules(problem):
        return _run_search(init_search(problem, method, starts, params), method, steps, watch)
    at, columns = [slice(i, i + 1) for i in range(len(starts))], broadcast_params(params, len(starts))
    alone = (init_search(problem, method, starts[i], jax.tree.map(lambda x: x[i], columns)) for i in at)  # noqa: B023
    return concatenate_results([_run_search(search, method, steps, watch) for search in alone])


def concatenate_results(results: Sequence[SearchResult]) -> SearchResult:
    """Searches from one start, and those from another after them."""
    each = list(zip(*results, strict=True))
    return SearchResult(*(np.concatenate(part) for part in each[:4]), *(list(chain(*part)) for part in each[4:]))  # type: ignore[arg-type]


def _run_search(
    search: SearchState, method: StepMethod, steps: int, watch: Callable[[int, float], Any] | None
) -> SearchResult:
    for _ in range(steps):
        search = end_converged(search, method)
        if not _is_running(search).any():
            break
        search = advance_search(search, method)
        if watch is not None and watch(search.number, float(np.nanmin(search.best.loss[:, 0]))) is True:
            break
    if not method.has_line_search:
        higher = np.array([rows[-1][0] > rows[0][0] for rows in search.history])
        search = _end_searches(search._replace(reason=np.where(higher, "", search.reason)), higher, "diverged", False)
    search = _end_searches(search, _is_running(search), "steps", False)
    best, judge = search.best, _selection_loss_index(search.problem)
    found = best.x, best.loss[:, 0], best.loss[:, judge], best.product, list(search.history)
    return SearchResult(*found, search.converged.tolist(), search.reason.tolist(), [search.problem] * len(best.x))


def init_search(problem: FitProblem, method: StepMethod, starts: HostArray, params: Params) -> SearchState:
    """Searches that begin at points [S, k]."""
    count = len(starts)
    problem = remake_rules_if_far(problem, starts, params)
    known = problem.known if count == 1 and params is problem.system.params else None
    if known is not None and (starts == problem.start).all():
        here = SearchPoints(starts, *known, np.ones(1, bool))
    else:
        here = _evaluate_points(problem, starts, params)
    axes = problem.axes if method.has_line_search else np.eye(starts.shape[1])[:, problem.active]
    frame = SearchFrame(np.repeat(axes[None], count, axis=0), starts, np.zeros((count, len(problem.active))))
    history, reason = tuple((row,) for row in here.loss), np.where(here.fine, "", "diverged").astype(object)
    no, none = np.zeros(count, bool), np.zeros(count, int)
    return SearchState(
        problem, params, here, here, frame, _init_memory(method, frame), no, False, 0, none, history, reason, no
    )


def end_converged(search: SearchState, method: StepMethod) -> SearchState:
    """The searches, of which those have ended that are where they should be."""
    problem, here = search.problem, search.current
    axes = search.frame.axes if method.has_line_search else np.repeat(problem.axes[None], len(here.x), axis=0)
    enough = max(GRADIENT_TOLERANCE / math.sqrt(problem.weight[0].sum()), 32.0 * _machine_epsilon())
    search = _end_searches(
        search, np.linalg.norm(_slopes_along_axes(axes, here.slope), axis=1) <= enough, "gradient", True
    )
    return (
        _end_searches(search, search.since >= PATIENCE, "validation", True)
        if _selection_loss_index(problem)
        else search
    )


def advance_search(search: SearchState, method: StepMethod) -> SearchState:
    """The searches after one more step of those that go on."""
    search = _refresh_axes(search, method)
    before, frame = search.current, search.frame
    slope = _slopes_along_axes(frame.axes, before.slope)
    known = [jnp.asarray(np.where(before.fine[:, None], x, 0.0), float) for x in (slope, frame.z)]
    proposal, memory = method.update(known[0], search.memory, known[1])
    proposal, forget = np.asarray(proposal, np.float64), search.memory_reset
    if method.has_line_search:
        downhill = np.sum(slope * proposal, axis=1, keepdims=True) < 0
        proposal = clip_to_trust_region(frame.axes, slope, np.where(downhill, proposal, -slope))
    search, moved = _backtrack(search, method, proposal, slope)
    here, best, judge = search.current, search.best, _selection_loss_index(search.problem)
    if method.has_line_search:  # what curves downwards teaches L-BFGS nothing
        forget = ~(np.sum((here.slope - before.slope) * (here.x - before.x), axis=1) > 0)
    rows = zip(search.history, here.loss, moved, strict=True)
    slack = _loss_noise(before) if method.has_line_search and not judge else 0.0
    lower = moved & (here.loss[:, judge] <= best.loss[:, judge] + slack)
    history = tuple((*past, row) if new else past for past, row, new in rows)
    search = search._replace(
        best=_select_starts(lower, here, best),
        memory=memory,
        memory_reset=forget,
        number=search.number + 1,
        since=np.where(lower, 0, search.since + moved),
        history=history,
    )
    if method.has_line_search and not judge:  # two steps that together are worth no more than rounding
        fall = np.array([rows[-3][0] - rows[-1][0] if len(rows) > 2 else np.inf for rows in history])
        search = _end_searches(search, moved & (fall <= _loss_noise(here)), "no further decrease", True)
    return _refresh_rules(search, method, lower)


def _refresh_rules(search: SearchState, method: StepMethod, lower: HostArray) -> SearchState:
    """The searches with rules for where they are, if those that they have are made for elsewhere.

    `lower` are those that have just come to where it is best: it is what new rules say there that counts.
    """
    problem = remake_rules_if_far(search.problem, search.current.x, search.params)
    if problem is search.problem:
        return search._replace(remade=False)
    here = _evaluate_points(problem, search.current.x, search.params)
    search = _end_searches(search, ~here.fine, "diverged", False)
    best, forget = _select_starts(lower & here.fine, here, search.best), np.full(len(lower), method.has_line_search)
    return search._replace(problem=problem, current=here, best=best, memory_reset=forget, remade=True)


def _refresh_axes(search: SearchState, method: StepMethod) -> SearchState:
    """The searches, before a step, with new axes where it is time for them, and memories of nothing that misleads."""
    here, frame, forget = search.current, search.frame, search.memory_reset
    due = search.remade or search.number == 3 or search.number % AXES_RENEWAL == 0 < search.number
    if due and method.has_line_search and search.problem.mode == "forward":
        each, active = zip(frame.axes, here.product, strict=True), search.problem.active
        frame = SearchFrame(np.stack([_renew_axes(*one, active) for one in each]), here.x, np.zeros_like(frame.z))
        forget = np.ones_like(forget)
    if not forget.any():
        return search
    return search._replace(frame=frame, memory=_select_starts(forget, _init_memory(method, frame), search.memory))


def _backtrack(
    search: SearchState, method: StepMethod, proposal: HostArray, slope: HostArray
) -> tuple[SearchState, HostArray]:
    """Ever shorter parts of the steps [S, m], of the searches that go on, until one is good.

    For L-BFGS that is one with enough of the decrease that its slopes promise (Armijo), or, within the noise, with less
    slope; for other optimisers any that is finite and allowed.

    Returns:
      Where all are then, of which those have ended that cannot fall by more than noise, that fall by no part of the
      step, or of which no part is finite and allowed; and which moved.
    """
    before, here, frame, waiting = search.current, search.current, search.frame, _is_running(search)
    promise, noise, z = np.sum(slope * proposal, axis=1), _loss_noise(before), frame.z
    share, moved, ended = np.ones(len(z)), np.zeros(len(z), bool), np.zeros(len(z), bool)
    for _ in range(MAX_HALVINGS):
        part = np.where(waiting, share, 0.0)[:, None] * proposal
        enough = np.maximum(1e-4 * share * promise, noise) if method.has_line_search else np.inf
        x, most = _frame_to_params(frame._replace(z=z + part)), np.where(waiting, before.loss[:, 0] + enough, -np.inf)
        trial = _evaluate_points(search.problem, x, search.params, before, most)
        rise = trial.loss[:, 0] - before.loss[:, 0]
        good = waiting & trial.fine
        if method.has_line_search:
            steep = np.linalg.norm(_slopes_along_axes(frame.axes, trial.slope), axis=1) >= np.linalg.norm(slope, axis=1)
            good &= (rise <= 1e-4 * share * promise) | ((rise <= noise) & ~steep)
        here = _select_starts(good, trial, here)
        z, moved = z + np.where(good[:, None], part, 0.0), moved | good
        waiting = waiting & ~good
        if method.has_line_search:
            ended |= waiting & trial.fine & (-0.5 * share * promise < noise)
            waiting &= ~ended
        if not waiting.any():
            break
        bend = np.where(trial.fine, rise - share * promise, np.inf)
        least = -0.5 * share * promise / np.where(bend > 0, bend, np.inf)
        share *= np.clip(np.nan_to_num(least), 0.1, 0.5) if method.has_line_search else 0.5
    search = _end_searches(search, ended, "no further decrease", True)
    search = _end_searches(search, waiting & trial.fine, "no further decrease", False)
    search = _end_searches(search, waiting & ~trial.fine, "diverged", False)
    return search._replace(current=here, frame=frame._replace(z=z)), moved


def _is_running(search: SearchState) -> HostArray:
    """[S] which go on."""
    return search.reason == ""


def _end_searches(search: SearchState, selected: HostArray, end_reason: str, is_converged: bool) -> SearchState:
    """The searches, of which some [S] have ended, unless they had before."""
    selected = selected & _is_running(search)
    reason, converged = (
        np.where(selected, end_reason, search.reason),
        np.where(selected, is_converged, search.converged),
    )
    return search._replace(reason=reason.astype(object), converged=converged)


def _selection_loss_index(problem: FitProblem) -> int:
    """Which loss says what is best: of validation (1), if there is one, else of training (0)."""
    return int(problem.weight[1].any())


def _init_memory(method: StepMethod, frame: SearchFrame) -> Any:
    """The memory of a method that has taken no step yet."""
    return jax.tree.map(np.asarray, method.init(jnp.zeros_like(frame.z, float)))


def _frame_to_params(frame: SearchFrame) -> HostArray:
    """[S, k] x of the coordinates."""
    return frame.origin + np.einsum("skm,sm->sk", frame.axes, frame.z)


def _machine_epsilon() -> float:
    return float(np.finfo(jnp.result_type(float)).eps)


def _loss_noise(points: SearchPoints) -> HostArray:
    """[S] by how much rounding may move a loss."""
    return 4.0 * _machine_epsilon() * np.abs(points.loss[:, 0])


def _evaluate_points(
    problem: FitProblem,
    x: HostArray,
    params: Params,
    previous: SearchPoints | None = None,
    max_loss: HostArray | None = None,
) -> SearchPoints:
    """Points x [S, k], with the slopes of those `before` where slopes take long and no loss is as low as `most` [S]."""
    columns = params_at(problem, x, params)
    each = [jax.tree.map(lambda y: y[i], columns) for i in range(len(x))]  # noqa: B023
    allowed = np.array([remake_if_valid(problem.system, one) is not None for one in each])
    task = problem.task
    if previous is not None and task.history is None and len(task.weight) >= LONG and x.shape[1] >= SEVERAL:
        loss = evaluate(problem, "values", x, params)
        if not (loss[:, 0] <= max_loss).any():
            return previous._replace(x=x, loss=loss, fine=np.isfinite(loss).all(axis=1) & allowed)
    loss, slope, product = evaluate(problem, problem.mode, x, params)
    return SearchPoints(x, loss, slope, product, allowed & np.isfinite(np.hstack([loss, slope])).all(axis=1))


def _renew_axes(axes: HostArray, product: HostArray, active: HostArray) -> HostArray:
    """[k, m] axes from the slopes here; the old ones where the events hardly tell, here, what is what."""
    if not (np.isfinite(product).all() and (np.diag(product)[active] > IDLE_SLOPE**2).all()):
        return axes
    try:
        return decorrelating_axes(product, active)
    except np.linalg.LinAlgError:
        return axes


def _slopes_along_axes(axes: HostArray, slope: HostArray) -> HostArray:
    """[S, m] the slopes along axes [S, k, m]."""
    return np.einsum("skm,sk->sm", axes, slope)


def _select_starts(mask: HostArray, new: Any, old: Any) -> Any:
    """Leaves [S, ...], of each start the new or the old."""
    return jax.tree.map(lambda x, y: np.where(mask.reshape(-1, *(1,) * (np.ndim(x) - 1)), x, y), new, old)
