"""The search for the least loss, from several starts at once, by steps within a region of trust.

A search is a generator: it yields a point, is sent the losses and slopes there, and returns its path at its end.
`minimise_from_starts` looks at the points of all searches together.
"""

import math
from collections.abc import Callable, Generator, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Params
from jaxrate.fitting.fit_problem import (
    IDLE_SLOPE,
    FitProblem,
    broadcast_params,
    definite_product,
    mean_loss_derivatives,
    params_at,
    remake_rules_if_far,
    replace_params_if_valid,
    rules_depend_on_param_values,
    unstack_params,
)
from jaxrate.fitting.history_loss_derivatives import LONG_HISTORY
from jaxrate.replay.row_gather_and_scatter import as_device_arrays

TRUST_RADIUS = 1.0  # no step is longer: in logarithms, in logits, or in units in which an event's slope is about 1
COORDINATE_SWEEPS = 100
MIN_TRIAL_PARAMETERS = 4  # parameters from which, in long histories, a step is tried without slopes before it is taken
AXES_RENEWAL = 6  # steps after which axes are renewed; and after the third, since those of the start say little
GRADIENT_TOLERANCE = 1e-3  # standard errors: a gradient is zero if it promises no longer step, unless rounding is worse
MAX_HALVINGS = 12
PATIENCE = 5  # steps without a better validation loss
ARMIJO_SHARE = 1e-4  # of the decrease that slopes promise, which is enough


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

    @property
    def best(self) -> int:
        """The number of the search with the least loss of selection."""
        return int(np.nanargmin(self.selection_loss))


class SearchPoint(NamedTuple):
    """A point of a search."""

    x: HostArray  # [k]
    loss: HostArray  # [2] of training and of validation
    slope: HostArray  # [k] of the first
    product: HostArray  # [k, k] see `loss_derivatives`
    is_valid: bool  # whether all is finite and the system allows it

    @property
    def rounding_noise(self) -> float:
        """How much rounding may change the loss."""
        return float(4.0 * machine_epsilon() * abs(self.loss[0]))


class Trial(NamedTuple):
    """A point that a search wants to look at."""

    problem: FitProblem
    x: HostArray  # [k]
    max_loss: float = math.inf  # up to which slopes are of use there
    num_steps: int = 0  # that the search has taken
    best_loss: float = math.inf  # so far


class SearchPath(NamedTuple):
    """The way of a search from one start."""

    problem: FitProblem
    best: SearchPoint
    history: tuple[HostArray, ...]  # [steps + 1] both losses
    reason: str  # why it ended
    is_converged: bool


Search = Generator[Trial, SearchPoint | None, SearchPath]  # it is sent None if it has to end


def machine_epsilon() -> float:
    return float(np.finfo(jnp.result_type(float)).eps)


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
    params_by_start = unstack_params(broadcast_params(params, len(starts)))
    evaluated, of_system = None, len(starts) == 1 and params is problem.system.params
    if problem.start_evaluation is not None and of_system and (starts == problem.start).all():
        loss, slope, product = (part[0] for part in problem.start_evaluation)
        evaluated = SearchPoint(starts[0], loss, slope, product, True)
    searches = [
        _search_from_start(problem, start, one, optimizer, steps, evaluated)
        for start, one in zip(starts, params_by_start, strict=True)
    ]
    size = 1 if len(starts) > 1 and rules_depend_on_param_values(problem) else len(starts)
    groups = [slice(i, i + size) for i in range(0, len(starts), size)]
    return _join_paths([path for at in groups for path in _run_searches(searches[at], params_by_start[at], watch)])


def _join_paths(paths: Sequence[SearchPath]) -> SearchResult:
    """The paths of several searches as one result."""
    problems, best, histories, reasons, converged = zip(*paths, strict=True)
    x, loss, product = (np.stack([getattr(point, name) for point in best]) for name in ("x", "loss", "product"))
    selection_loss = loss[:, _selection_loss_index(problems[0])]
    return SearchResult(x, loss[:, 0], selection_loss, product, [*histories], [*converged], [*reasons], [*problems])


def concatenate_results(results: Sequence[SearchResult]) -> SearchResult:
    """The results of several searches as one."""
    fields = list(zip(*results, strict=True))
    return SearchResult(*(np.concatenate(part) for part in fields[:4]), *(list(chain(*part)) for part in fields[4:]))  # type: ignore[arg-type]


def _selection_loss_index(problem: FitProblem) -> int:
    """The index of the loss that selects the best point: validation (1) if there is one, else training (0)."""
    return int(problem.weight[1].any())


def _run_searches(
    searches: Sequence[Search], params: Sequence[Params], watch: Callable[[int, float], Any] | None
) -> list[SearchPath]:
    """The paths of searches, whose points are looked at together; `params` are those not free of each.

    Searches that have ended keep their last point, so that programs are compiled for one number of points.
    """
    paths: dict[int, SearchPath] = {}
    trials: dict[int, Trial] = {}
    points: Sequence[SearchPoint | None] = [None] * len(searches)
    num_steps = 0
    while True:
        _advance_searches(searches, points, trials, paths)
        ended = [(len(path.history) - 1, float(path.best.loss[0])) for path in paths.values()]
        steps, losses = zip(*ended, *((trial.num_steps, trial.best_loss) for trial in trials.values()), strict=True)
        is_stopped = watch is not None and max(steps) > num_steps and watch(max(steps), min(losses)) is True
        num_steps = max(steps)
        if len(paths) == len(searches):
            return [paths[i] for i in range(len(searches))]
        found = look_at_points([trials[i] for i in range(len(searches))], params)
        points = [None] * len(searches) if is_stopped else found


def _advance_searches(
    searches: Sequence[Search],
    points: Sequence[SearchPoint | None],
    trials: dict[int, Trial],
    paths: dict[int, SearchPath],
) -> None:
    """Send searches their points; new trials, and the paths of those that end, are added by number."""
    for number in {*range(len(searches))} - {*paths}:
        try:
            trials[number] = searches[number].send(points[number])
        except StopIteration as end:
            paths[number] = end.value
            if number in trials:
                trials[number] = trials[number]._replace(max_loss=-math.inf)


def look_at_points(trials: Sequence[Trial], params: Sequence[Params]) -> list[SearchPoint]:
    """The points of searches; without slopes where these take long and no loss is wanted."""
    problem, x = trials[0].problem, np.stack([trial.x for trial in trials])
    columns = jax.tree.map(lambda *leaves: np.stack(leaves), *params)
    values = params_at(problem, x, columns)
    allowed = [replace_params_if_valid(problem.system, one) is not None for one in unstack_params(values)]
    task, size = problem.task, x.shape[1]
    max_loss = np.array([trial.max_loss for trial in trials])
    is_long = task.evidence_problem is None and len(task.weight) >= LONG_HISTORY and size >= MIN_TRIAL_PARAMETERS
    loss, slope, product = np.full((len(x), 2), -math.inf), np.zeros_like(x), np.zeros((len(x), size, size))
    if is_long and (max_loss < math.inf).all():
        loss = mean_loss_derivatives(problem, "values", x, columns)
    if (loss[:, 0] <= max_loss).any():
        loss, slope, product = mean_loss_derivatives(problem, problem.mode, x, columns)
    is_valid = np.isfinite(np.hstack([loss, slope])).all(axis=1) & allowed
    return [SearchPoint(*row) for row in zip(x, loss, slope, product, is_valid.tolist(), strict=True)]


class QuasiNewtonSteps:
    """Steps of BFGS, from the curvature that the slopes of single events promise, which is renewed on the way."""

    has_line_search = True

    def __init__(self, problem: FitProblem) -> None:
        self.active, self.is_renewed = problem.active, problem.mode == "forward"
        self.curvature, self.num_steps = problem.curvature, 0
        self.forget()

    def forget(self) -> None:
        """Take the curvature for that of the slopes."""
        self.inverse = np.linalg.inv(self.curvature)

    def propose(self, point: SearchPoint) -> HostArray:
        """[k] the next step."""
        is_due = self.num_steps == 3 or self.num_steps % AXES_RENEWAL == 0 < self.num_steps
        if is_due:
            self.renew(point)
        self.num_steps += 1
        slope, full_step = point.slope[self.active], np.zeros(len(point.x))
        step = -self.inverse @ slope
        step = step if slope @ step < 0 else -np.linalg.solve(self.curvature, slope)
        full_step[self.active] = clip_to_trust_region(slope, self.curvature, step)
        return full_step

    def renew(self, point: SearchPoint) -> None:
        """Take the curvature from the slopes here, but where the events hardly tell parameters apart."""
        if self.is_renewed:
            size = np.diag(point.product)[self.active]
            if np.isfinite(point.product).all() and (size > IDLE_SLOPE**2).all():
                self.curvature = definite_product(point.product, self.active)
            self.forget()

    def learn(self, old: SearchPoint, new: SearchPoint) -> None:
        """Learn from the slopes at both ends of a step; what curves downwards teaches nothing."""
        step, change = (new.x - old.x)[self.active], (new.slope - old.slope)[self.active]
        product = step @ change
        if not product > 0:
            self.forget()
            return
        shift = np.eye(len(step)) - np.outer(step, change) / product
        self.inverse = shift @ self.inverse @ shift.T + np.outer(step, step) / product


class OptimizerSteps:
    """Steps of an optimiser of optax."""

    has_line_search = False

    def __init__(self, problem: FitProblem, optimizer: optax.GradientTransformation) -> None:
        self.active, self.curvature, self.origin = problem.active, problem.curvature, problem.start
        self.update = jax.numpy_dtype_promotion("standard")(jax.jit(optimizer.update))
        self.memory = optimizer.init(jnp.zeros(len(self.active), float))

    def propose(self, point: SearchPoint) -> HostArray:
        """[k] the next step."""
        slope, z = as_device_arrays((point.slope[self.active], (point.x - self.origin)[self.active]))
        step, self.memory = self.update(slope, self.memory, z)
        full_step = np.zeros(len(point.x))
        full_step[self.active] = step
        return full_step

    def renew(self, point: SearchPoint) -> None:
        """An optimiser has a memory of its own."""

    def learn(self, old: SearchPoint, new: SearchPoint) -> None:
        """An optimiser learns from its next step."""


StepMethod: TypeAlias = QuasiNewtonSteps | OptimizerSteps


def clip_to_trust_region(slope: HostArray, curvature: HostArray, step: HostArray) -> HostArray:
    """[m] the step, or, where it is longer than `TRUST_RADIUS` in a parameter, a shorter one.

    It is either clipped in each parameter by itself, since parameters that the events hardly determine take long steps
    and would hold up the rest, or the best step in the region by the curvature [m, m]: the one that promises more.
    """
    if not (np.abs(step) > TRUST_RADIUS).any():
        return step
    clipped = np.clip(step, -TRUST_RADIUS, TRUST_RADIUS)
    return min(clipped, minimise_quadratic_in_trust_region(slope, curvature), key=slope.dot)


def minimise_quadratic_in_trust_region(slope: HostArray, curvature: HostArray) -> HostArray:
    """[m] the step to the least quadratic loss in the region, by coordinate descent."""
    step = np.zeros(len(slope))
    for _ in range(COORDINATE_SWEEPS):
        for j in range(len(step)):
            best = step[j] - (slope[j] + curvature[j] @ step) / curvature[j, j]
            step[j] = np.clip(best, -TRUST_RADIUS, TRUST_RADIUS)
    return step


def _search_from_start(
    problem: FitProblem,
    x: HostArray,
    params: Params,
    optimizer: optax.GradientTransformation | None,
    steps: int,
    evaluated: SearchPoint | None,
) -> Search:
    """Search from x [k], which may be `evaluated`; `params` are those that are not free."""
    remade = remake_rules_if_far(problem, x[None], params)
    point = evaluated if remade is problem and evaluated is not None else (yield Trial(remade, x))
    problem = remade
    assert point is not None
    steps_of = QuasiNewtonSteps(problem) if optimizer is None else OptimizerSteps(problem, optimizer)
    path, since_best = SearchPath(problem, point, (point.loss,), "" if point.is_valid else "diverged", False), 0
    for number in range(steps):
        path = _end_if_converged(path, point, steps_of, since_best)
        new, path = (None, path) if path.reason else (yield from _take_step(path, point, steps_of, number))
        if new is None:
            break
        steps_of.learn(point, new)
        path = _add_to_path(path, point, new, steps_of.has_line_search)
        since_best = 0 if path.best is new else since_best + 1
        path, point = yield from _remake_rules(path, new, params, steps_of)
    has_risen = optimizer is not None and path.history[-1][0] > path.history[0][0]
    return path._replace(reason="diverged", is_converged=False) if has_risen else _end(path, "steps")


def _remake_rules(
    path: SearchPath, point: SearchPoint, params: Params, steps_of: StepMethod
) -> Generator[Trial, SearchPoint | None, tuple[SearchPath, SearchPoint]]:
    """The path and its last point, with rules remade for where it is if its own were made for far away."""
    problem = remake_rules_if_far(path.problem, point.x[None], params)
    if problem is path.problem:
        return path, point
    new = yield Trial(problem, point.x, num_steps=len(path.history) - 1, best_loss=float(path.best.loss[0]))
    if new is None:
        return _end(path, "steps"), point
    if not new.is_valid:
        return _end(path._replace(problem=problem), "diverged"), new
    steps_of.renew(new)
    return path._replace(problem=problem, best=new if path.best is point else path.best), new


def _end(path: SearchPath, reason: str, is_converged: bool = False) -> SearchPath:
    """The path, ended for this reason unless it had ended before."""
    return path if path.reason else path._replace(reason=reason, is_converged=is_converged)


def _end_if_converged(path: SearchPath, point: SearchPoint, steps_of: StepMethod, since_best: int) -> SearchPath:
    """The path, ended where the gradient is zero, or where validation has long been better."""
    least = max(GRADIENT_TOLERANCE / math.sqrt(path.problem.weight[0].sum()), 32.0 * machine_epsilon())
    if _gradient_size(steps_of, point) <= least:
        return _end(path, "gradient", True)
    is_patient = since_best < PATIENCE or not _selection_loss_index(path.problem)
    return path if is_patient else _end(path, "validation", True)


def _gradient_size(steps_of: StepMethod, point: SearchPoint) -> float:
    """The length of the gradient, in units in which the slopes of an event are about 1."""
    slope = point.slope[steps_of.active]
    return math.sqrt(max(float(slope @ np.linalg.solve(steps_of.curvature, slope)), 0.0))


def _add_to_path(path: SearchPath, point: SearchPoint, new: SearchPoint, has_line_search: bool) -> SearchPath:
    """The path with a new point after this one, which may be the best; ended where steps gain only rounding."""
    index, history = _selection_loss_index(path.problem), (*path.history, new.loss)
    counts_rounding = has_line_search and not index
    slack = point.rounding_noise if counts_rounding else 0.0
    is_better = new.loss[index] <= path.best.loss[index] + slack
    path = path._replace(history=history, best=new if is_better else path.best)
    if counts_rounding and len(history) > 2 and history[-3][0] - history[-1][0] <= new.rounding_noise:
        path = _end(path, "no further decrease", True)
    return path


def _take_step(
    path: SearchPath, point: SearchPoint, steps_of: StepMethod, number: int
) -> Generator[Trial, SearchPoint | None, tuple[SearchPoint | None, SearchPath]]:
    """The next point and the path; or None and the path, ended.

    A step is shortened until it is accepted: by a line search if it has enough of the decrease that its slopes promise
    (Armijo) or, within rounding, less slope; else if it is finite and allowed. The search ends if it cannot fall by
    more than rounding, if it falls with no part of the step, or if no part is finite and allowed.
    """
    step, is_searching, share = steps_of.propose(point), steps_of.has_line_search, 1.0
    promised, best_loss = float(point.slope @ step), float(path.best.loss[0])
    trial: SearchPoint | None = None
    for _ in range(MAX_HALVINGS):
        most = point.loss[0] + max(ARMIJO_SHARE * share * promised, point.rounding_noise)
        trial = yield Trial(path.problem, point.x + share * step, most if is_searching else math.inf, number, best_loss)
        if trial is None:
            return None, _end(path, "steps")
        if trial.is_valid and (not is_searching or _is_low_enough(point, trial, share * promised, steps_of)):
            return trial, path
        if trial.is_valid and -0.5 * share * promised < point.rounding_noise:
            return None, _end(path, "no further decrease", True)
        share *= _shortening(float(trial.loss[0] - point.loss[0]), share * promised) if is_searching else 0.5
    is_valid = trial is not None and trial.is_valid
    return None, _end(path, "no further decrease" if is_valid else "diverged")


def _is_low_enough(point: SearchPoint, trial: SearchPoint, promised: float, steps_of: StepMethod) -> bool:
    """Whether the loss of a trial has enough of the decrease that is promised, or within rounding less slope."""
    increase = trial.loss[0] - point.loss[0]
    if increase <= ARMIJO_SHARE * promised:
        return True
    return increase <= point.rounding_noise and _gradient_size(steps_of, trial) < _gradient_size(steps_of, point)


def _shortening(increase: float, promised: float) -> float:
    """The factor of a step to the minimum of the parabola through both losses, with the slope at the start."""
    bend = increase - promised
    return float(np.clip(-0.5 * promised / bend, 0.1, 0.5)) if 0.0 < bend < math.inf else 0.1
