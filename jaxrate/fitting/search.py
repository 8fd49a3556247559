"""The search for the least loss, from several starts at once, by damped Fisher steps.

A step minimises the quadratic of the slopes and of a curvature, within a box about the point. The curvature is the mean
product of the slopes of single events, which is the Fisher information where the system is right (Berndt, Hall, Hall
and Hausman 1974), and a correction by what slopes at both ends of earlier steps have shown beyond it, as in structured
quasi-Newton methods for least squares (Dennis, Gay and Welsch 1981). The box grows and shrinks as steps keep what they
promise.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Params
from jaxrate.fitting.fit_problem import (
    MIN_INDEPENDENT_VARIANCE,
    FitProblem,
    LossesAndSlopes,
    evaluate,
    params_at,
    replace_params_if_valid,
    unstack_params,
)
from jaxrate.replay.player_rows import as_device_arrays

MAX_RADIUS = 1.0  # no step is longer: in logarithms, in logits, or in units in which an event's slope is about 1
MIN_RADIUS = 1e-4  # of a box in which no step lowers the loss
COORDINATE_SWEEPS = 100
GRADIENT_TOLERANCE = 1e-3  # standard errors: a gradient is zero if it promises no longer step
ROUNDING_SHARE = 0.1  # of what rounding may change a loss: nor does a gradient count that promises half of it
ACCEPTED_SHARE = 1e-4  # of the promised decrease that is enough
MIN_CURVATURE_SHARE = 0.05  # of the information that a corrected curvature has at least in every direction
MIN_SLOPE = 1e-6  # of an event by a parameter that may have ceased to have an effect


class SearchPoint(NamedTuple):
    """A point of a search."""

    z: HostArray  # [m]
    loss: float
    slope: HostArray  # [m]
    product: HostArray  # [m, m] see `LossesAndSlopes`
    is_valid: bool  # whether all is finite and the system allows it

    @property
    def failure(self) -> str:
        """The reason why a search ends that comes no further than here."""
        return "" if self.is_valid else "diverged"

    @property
    def rounding_noise(self) -> float:
        """How much rounding may change the loss."""
        return 4.0 * float(np.finfo(jnp.result_type(float)).eps) * abs(self.loss)

    @property
    def information(self) -> HostArray:
        """[m, m] the mean product of slopes, made definite: rounding may leave it short of that."""
        size = np.sqrt(np.diag(self.product)) + MIN_SLOPE
        values, axes = np.linalg.eigh(self.product / size / size[:, None])
        correlation = (axes * np.maximum(values, MIN_INDEPENDENT_VARIANCE)) @ axes.T
        return np.asarray(correlation * size * size[:, None])

    def gradient_size(self, information: HostArray) -> float:
        """The length of the gradient, in units in which the slopes of an event are about 1."""
        return math.sqrt(max(float(self.slope @ np.linalg.solve(information, self.slope)), 0.0))


class Search(NamedTuple):
    """A search from one start, as far as it has come."""

    point: SearchPoint
    best: SearchPoint
    history: tuple[float, ...]  # [steps + 1] losses
    correction: HostArray  # [m, m] of the information
    radius: float = MAX_RADIUS
    memory: Any = None  # of an optimiser
    reason: str = ""  # why it has ended

    @property
    def num_steps(self) -> int:
        """How many steps it has taken."""
        return len(self.history) - 1

    @property
    def is_converged(self) -> bool:
        """Whether a least loss was reached."""
        return self.reason in ("gradient", "no further decrease")

    @property
    def curvature(self) -> HostArray:
        """[m, m] the corrected information; that alone where the correction leaves little of it."""
        information = self.point.information
        inverse_root = np.linalg.inv(np.linalg.cholesky(information))
        corrected = information + self.correction
        shares = np.linalg.eigvalsh(inverse_root @ corrected @ inverse_root.T)
        return corrected if shares[0] >= MIN_CURVATURE_SHARE else information


class StepRule(NamedTuple):
    """How a search makes its steps."""

    propose: Callable[[Search], tuple[HostArray, Search]]  # the next step [m], and the search with a new memory
    accept: Callable[[Search, HostArray, SearchPoint], Search]  # the search after a step [m] to a point
    memory: Any = None  # that a search begins with


def minimise_from_starts(
    problem: FitProblem,
    starts: HostArray,
    params: Params,
    steps: int,
    optimizer: optax.GradientTransformation | None = None,
    watch: Callable[[int, float], Any] | None = None,
) -> list[Search]:
    """Search from all starts [S, m], whose points are evaluated together; `params` are those that are not free."""
    rule = FISHER_STEPS if optimizer is None else _optimizer_steps(problem, optimizer)
    is_known = len(starts) == 1 and params is problem.system.params and (starts == problem.start).all()
    points = _evaluate_points(problem, params, starts, problem.at_start if is_known else None)
    no_correction = np.zeros((starts.shape[1],) * 2)
    searches = [Search(x, x, (x.loss,), no_correction, memory=rule.memory, reason=x.failure) for x in points]
    while True:
        searches = [_end_if_done(problem, search, steps) for search in searches]
        if all(search.reason for search in searches):
            return searches
        later = _advance(problem, params, rule, searches)
        searches = later if watch is None else _tell_progress(watch, searches, later)


def _tell_progress(
    watch: Callable[[int, float], Any], before: Sequence[Search], after: Sequence[Search]
) -> list[Search]:
    """Searches after an evaluation, whose longest is told to `watch` if it has taken a step; ended if that says so."""
    steps_before, steps = (max(search.num_steps for search in searches) for searches in (before, after))
    if steps > steps_before and watch(steps, min(search.best.loss for search in after)) is True:
        return [search._replace(reason=search.reason or "steps") for search in after]
    return [*after]


def _advance(problem: FitProblem, params: Params, rule: StepRule, searches: Sequence[Search]) -> list[Search]:
    """The searches after one more evaluation of each; those that have ended keep their point."""
    proposals = [(np.zeros_like(x.point.z), x) if x.reason else rule.propose(x) for x in searches]
    points = _evaluate_points(problem, params, np.stack([x.point.z + step for step, x in proposals]))
    moves = zip(proposals, points, strict=True)
    return [x if x.reason else rule.accept(x, step, point) for (step, x), point in moves]


def _evaluate_points(
    problem: FitProblem, params: Params, z: HostArray, means: LossesAndSlopes | None = None
) -> list[SearchPoint]:
    """The points z [S, m] of searches, of which `means` may be known."""
    loss, slope, product = evaluate(problem, z, params) if means is None else means
    settings = unstack_params(params_at(problem, z, params))
    is_allowed = [replace_params_if_valid(problem.system, one) is not None for one in settings]
    is_valid = np.isfinite(loss) & np.isfinite(slope).all(axis=1) & np.isfinite(product).all(axis=(1, 2)) & is_allowed
    return [SearchPoint(*row) for row in zip(z, loss.tolist(), slope, product, is_valid.tolist(), strict=True)]


def _end_if_done(problem: FitProblem, search: Search, steps: int) -> Search:
    """The search, ended where its gradient is zero, after so many steps, or above its start."""
    point, total = search.point, problem.task.weight.sum()
    if search.reason:
        return search
    is_over = search.num_steps >= steps
    if is_over and point.loss > search.history[0] + point.rounding_noise:
        return search._replace(reason="diverged")
    least = max(GRADIENT_TOLERANCE / math.sqrt(total), math.sqrt(ROUNDING_SHARE * point.rounding_noise))
    if point.gradient_size(point.information) <= least:
        return search._replace(reason="gradient")
    return search._replace(reason="steps") if is_over else search


def _accept_fisher_step(search: Search, step: HostArray, new: SearchPoint) -> Search:
    """The search after a step: at the new point if that is lower as far as rounding can tell, else in a smaller box."""
    promised = -float(search.point.slope @ step + 0.5 * step @ search.curvature @ step)
    gain = search.point.loss - new.loss if new.is_valid else -math.inf
    is_lower = gain >= ACCEPTED_SHARE * promised
    if not is_lower and gain >= -search.point.rounding_noise:
        information = search.point.information
        is_lower = new.gradient_size(information) < search.point.gradient_size(information)
    return (_move_to_new_point if is_lower else _shrink_box)(search, step, new, promised, gain)


def _move_to_new_point(search: Search, step: HostArray, new: SearchPoint, promised: float, gain: float) -> Search:
    """The search at a new point; ended if its last two steps have gained no more than rounding."""
    search, size, noise = _learn_curvature(search, step, new), float(np.abs(step).max()), search.point.rounding_noise
    radius = min(max(search.radius, 2.0 * size), MAX_RADIUS) if gain > 0.75 * promised else search.radius
    radius = 0.5 * size if gain < 0.25 * promised else radius
    history = (*search.history, new.loss)
    is_done = len(history) > 2 and history[-3] - history[-1] <= noise
    best = new if new.loss <= search.best.loss + noise else search.best
    reason = "no further decrease" if is_done else ""
    return search._replace(point=new, best=best, history=history, radius=radius, reason=reason)


def _shrink_box(search: Search, step: HostArray, new: SearchPoint, promised: float, gain: float) -> Search:
    """The search in a smaller box; ended if that is tiny, or if no more than rounding was promised."""
    size = float(np.abs(step).max())
    if new.is_valid and (promised < search.point.rounding_noise or size <= MIN_RADIUS):
        return search._replace(reason="no further decrease")
    share = float(np.clip(0.5 * promised / (promised - gain), 0.1, 0.5)) if new.is_valid else 0.25
    return search._replace(radius=share * size, reason=new.failure if size <= MIN_RADIUS else "")


def _learn_curvature(search: Search, step: HostArray, new: SearchPoint) -> Search:
    """The search with a correction by which its curvature explains the change of the slopes along a step (BFGS)."""
    correction, change = search.curvature - search.point.information, new.slope - search.point.slope
    expected_change = (new.information + correction) @ step
    if not (step @ change > 0.0 and step @ expected_change > 0.0):
        return search
    learnt = np.outer(change, change) / (step @ change)
    forgotten = np.outer(expected_change, expected_change) / (step @ expected_change)
    return search._replace(correction=correction + learnt - forgotten)


def minimise_quadratic_in_box(slope: HostArray, curvature: HostArray, radius: float) -> HostArray:
    """[m] the step to the least quadratic loss within a radius in every parameter, by coordinate descent."""
    step = -np.linalg.solve(curvature, slope)
    if (np.abs(step) <= radius).all():
        return np.asarray(step)
    step = np.zeros(len(slope))
    for _ in range(COORDINATE_SWEEPS):
        for j in range(len(step)):
            step[j] = np.clip(step[j] - (slope[j] + curvature[j] @ step) / curvature[j, j], -radius, radius)
    return step


FISHER_STEPS = StepRule(
    lambda search: (minimise_quadratic_in_box(search.point.slope, search.curvature, search.radius), search),
    _accept_fisher_step,
)


def _optimizer_steps(problem: FitProblem, optimizer: optax.GradientTransformation) -> StepRule:
    """Steps of an optimiser of optax, all of which are taken as long as they lead somewhere."""
    update = jax.numpy_dtype_promotion("standard")(jax.jit(optimizer.update))

    def propose(search: Search) -> tuple[HostArray, Search]:
        slope, z = as_device_arrays((search.point.slope, search.point.z - problem.start))
        step, memory = update(slope, search.memory, z)
        return np.asarray(step, np.float64), search._replace(memory=memory)

    def accept(search: Search, step: HostArray, new: SearchPoint) -> Search:
        if not new.is_valid:
            return search._replace(reason=new.failure)
        best = new if new.loss <= search.best.loss else search.best
        return search._replace(point=new, best=best, history=(*search.history, new.loss))

    return StepRule(propose, accept, optimizer.init(jnp.zeros(len(problem.active), float)))
