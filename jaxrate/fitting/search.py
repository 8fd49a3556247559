"""The search of `fit`: steps of L-BFGS, or of any other optimiser, from one start or from many at once."""

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from jaxrate.fitting.problem import IDLE, Problem, axes_of, columns_of, evaluate, made, params_at
from jaxrate.records.metrics import NumPy
from jaxrate.system import Params

REACH = 1.0  # no step is longer: in logarithms, in logits, or in units in which an event's slope is about 1
RENEWAL = 6  # steps after which coordinates are taken anew
SMALL = 1e-3  # standard errors: a gradient is zero if it promises a step of no more, unless rounding is worse
HALVINGS = 12
SWEEPS = 100
NEAR = 0.4  # relative: how far hyperparameters may be from those for which rules were made
PATIENCE = 5  # steps without a better validation loss


class Path(NamedTuple):
    """Where searches from S starts ended."""

    x: NumPy  # [S, k] the best points
    loss: NumPy  # [S] of training
    judged: NumPy  # [S] of validation, if there is one, else the same
    history: list[list[NumPy]]  # [S][steps + 1] both losses
    converged: list[bool]
    reason: list[str]
    problem: list[Problem]  # [S] with rules made for hyperparameters near the best


class _Points(NamedTuple):
    """Where S searches are."""

    x: NumPy  # [S, k]
    loss: NumPy  # [S, 2] of training and of validation
    slope: NumPy  # [S, k] of the first
    product: NumPy  # [S, k, k] see `calculate`
    fine: NumPy  # [S] whether all is finite and the system allows it


@lru_cache
def _quasi_newton() -> tuple[Any, ...]:
    return _vectorized(optax.chain(optax.scale_by_lbfgs(), optax.scale(-1.0)))


def _vectorized(optimizer: optax.GradientTransformation) -> tuple[Any, ...]:
    """Its two functions, for many starts; its numbers may be of any type, whatever is said about types elsewhere."""
    return tuple(
        jax.numpy_dtype_promotion("standard")(jax.jit(jax.vmap(x))) for x in (optimizer.init, optimizer.update)
    )


def minimise(
    problem: Problem,
    begin: NumPy,
    params: Params,
    optimizer: optax.GradientTransformation | None,
    steps: int,
    watch: Callable[[int, float], Any] | None = None,
) -> Path:
    """Search from all starts [S, k] at once, each with steps of its own; `params` are those not free, numbers or [S].

    Where rules are made for some hyperparameters, they are made anew on the way, and starts are searched one by one.
    """
    if len(begin) == 1 or not _made_to_measure(problem):
        return _minimise(problem, begin, params, optimizer, steps, watch)
    paths, columns = [], columns_of(params, len(begin))
    for i in range(len(begin)):
        one = jax.tree.map(lambda x: x[i : i + 1], columns)  # noqa: B023
        paths.append(_minimise(problem, begin[i : i + 1], one, optimizer, steps, watch))
    each = list(zip(*paths, strict=True))
    return Path(*(np.concatenate(part) for part in each[:3]), *(list(chain(*part)) for part in each[3:]))  # type: ignore[arg-type]


def _minimise(
    problem: Problem,
    begin: NumPy,
    params: Params,
    optimizer: optax.GradientTransformation | None,
    steps: int,
    watch: Callable[[int, float], Any] | None,
) -> Path:
    """Coordinates are z, x = origin + axes z: L-BFGS works where the curvature is about 1, other optimisers in x."""
    problem = _remade(problem, begin, params)
    search, judge = optimizer is None, int(problem.weight[1].any())
    init, update = _quasi_newton() if optimizer is None else _vectorized(optimizer)
    eps = float(np.finfo(jnp.result_type(float)).eps)
    enough = max(SMALL / math.sqrt(problem.weight[0].sum()), 32.0 * eps)
    here = best = _look(problem, begin, params)
    history = [[row] for row in here.loss]
    white = axes = np.repeat(problem.axes[None], len(begin), axis=0)
    if not search:
        axes = np.repeat(np.eye(begin.shape[1])[None, :, problem.active], len(begin), axis=0)
    origin, z = begin, np.zeros((len(begin), len(problem.active)))
    fresh = state = jax.tree.map(np.asarray, init(jnp.asarray(z, float)))
    since, converged = np.zeros(len(begin), int), np.zeros(len(begin), bool)
    remade = False
    reason = np.where(here.fine, "", "diverged").astype(object)

    def stop(which: NumPy, why: str, sure: bool) -> None:
        which = which & (reason == "")
        reason[which], converged[which] = why, sure

    for number in range(1, steps + 1):
        stop(np.linalg.norm(_along(white, here.slope), axis=1) <= enough, "gradient", True)
        if judge:
            stop(since >= PATIENCE, "validation", True)
        waiting = reason == ""
        if not waiting.any():
            break
        if search and problem.mode == "forward" and (remade or number % RENEWAL == 1 < number):
            origin, z, state = here.x, np.zeros_like(z), fresh
            white = axes = np.stack([_renew(*one, problem.active) for one in zip(axes, here.product, strict=True)])
        slope = _along(axes, here.slope)
        numbers = [jnp.asarray(np.where(here.fine[:, None], x, 0.0), float) for x in (slope, z)]
        step, state = update(numbers[0], state, numbers[1])
        step = np.asarray(step, np.float64)
        if search:
            step = _within_reach(axes, slope, np.where(np.sum(slope * step, axis=1, keepdims=True) < 0, step, -slope))
        noise, before = 4.0 * eps * np.abs(here.loss[:, 0]), here
        here, z, moved, ended, stuck, lost = _shorten(
            problem, params, search, axes, origin, z, step, slope, here, waiting, noise
        )
        stop(ended, "no further decrease", True)
        stop(stuck, "no further decrease", False)
        stop(lost, "diverged", False)
        if search:  # what curves downwards teaches L-BFGS nothing
            curved = np.sum((here.slope - before.slope) * (here.x - before.x), axis=1) > 0
            state = _choose(curved, state, fresh)
        for i in np.flatnonzero(moved):
            history[i].append(here.loss[i])
        slack = noise if search and not judge else 0.0
        lower = moved & (here.loss[:, judge] <= best.loss[:, judge] + slack)
        since = np.where(lower, 0, since + moved)
        best = _choose(lower, here, best)
        was, problem = problem, _remade(problem, here.x, params)
        remade = problem is not was
        if remade:
            here, state = _look(problem, here.x, params), fresh if search else state
            stop(~here.fine, "diverged", False)
            best = _choose(lower & here.fine, here, best)
        if watch is not None:
            watch(number, float(np.nanmin(best.loss[:, 0])))
    if not search:
        higher = np.array([rows[-1][0] > rows[0][0] for rows in history])
        reason[higher], converged[higher] = "diverged", False
    stop(np.ones(len(begin), bool), "steps", False)
    problems = [problem] * len(begin)
    return Path(best.x, best.loss[:, 0], best.loss[:, judge], history, converged.tolist(), reason.tolist(), problems)


def _shorten(
    problem: Problem,
    params: Params,
    search: bool,
    axes: NumPy,
    origin: NumPy,
    z: NumPy,
    step: NumPy,
    slope: NumPy,
    here: _Points,
    waiting: NumPy,
    noise: NumPy,
) -> tuple[_Points, NumPy, NumPy, NumPy, NumPy, NumPy]:
    """Ever shorter parts of the steps [S, m] from z, of the starts that are `waiting`, until one is good.

    For a search that is one with enough of the decrease that its slopes promise (Armijo), or, within the noise, with
    less slope; for other optimisers any that is finite and allowed.

    Returns:
      Where all are then and their z; which moved; which cannot fall by more than noise; which fell by no part of the
      step; and of which no part was finite and allowed.
    """
    promise, before = np.sum(slope * step, axis=1), here
    share, moved, ended = np.ones(len(z)), np.zeros(len(z), bool), np.zeros(len(z), bool)
    for _ in range(HALVINGS):
        ahead = np.where(waiting, share, 0.0)[:, None] * step
        trial = _look(problem, origin + np.einsum("skm,sm->sk", axes, z + ahead), params)
        rise = trial.loss[:, 0] - before.loss[:, 0]
        good = waiting & trial.fine
        if search:
            steep = np.linalg.norm(_along(axes, trial.slope), axis=1) >= np.linalg.norm(slope, axis=1)
            good &= (rise <= 1e-4 * share * promise) | ((rise <= noise) & ~steep)
        here = _choose(good, trial, here)
        z, moved = z + np.where(good[:, None], ahead, 0.0), moved | good
        waiting = waiting & ~good
        if search:
            ended |= waiting & trial.fine & (-0.5 * share * promise < noise)
            waiting &= ~ended
        if not waiting.any():
            break
        bend = np.where(trial.fine, rise - share * promise, np.inf)
        least = -0.5 * share * promise / np.where(bend > 0, bend, np.inf)
        share *= np.clip(np.nan_to_num(least), 0.1, 0.5) if search else 0.5
    return here, z, moved, ended, waiting & trial.fine, waiting & ~trial.fine


def _made_to_measure(problem: Problem) -> bool:
    """Whether rules are made for some hyperparameters, as are the kernel and the nodes of BlatMMR."""
    other = made(problem.system, jax.tree.map(lambda x: 1.01 * x, problem.system.params))
    return other is not None and other.rules != problem.system.rules


def _remade(problem: Problem, x: NumPy, params: Params) -> Problem:
    """Itself, or with rules made for x [S, k], where those it has are made for other hyperparameters, not near."""
    system, now = problem.system, jax.tree.map(lambda y: float(y[0]), params_at(problem, x, params))
    pairs = zip(jax.tree.leaves(now), jax.tree.leaves(system.params), strict=True)
    if all(abs(y - old) <= NEAR * max(abs(y), abs(old)) for y, old in pairs):
        return problem
    new = made(system, now)
    if new is None or new.rules == system.rules:
        return problem
    return problem._replace(system=new, task=problem.task._replace(system=new))


def _look(problem: Problem, x: NumPy, params: Params) -> _Points:
    columns = params_at(problem, x, params)
    each = [jax.tree.map(lambda y: y[i], columns) for i in range(len(x))]  # noqa: B023
    allowed = np.array([made(problem.system, one) is not None for one in each])
    loss, slope, product = evaluate(problem, problem.mode, x, params)
    finite = np.isfinite(loss).all(axis=1) & np.isfinite(slope).all(axis=1)
    return _Points(x, loss, slope, product, finite & allowed)


def _renew(axes: NumPy, product: NumPy, active: NumPy) -> NumPy:
    """[k, m] axes from the slopes here; the old ones where the events hardly tell, here, what is what."""
    if not (np.isfinite(product).all() and (np.diag(product)[active] > IDLE**2).all()):
        return axes
    try:
        return axes_of(product, active)
    except np.linalg.LinAlgError:
        return axes


def _along(axes: NumPy, slope: NumPy) -> NumPy:
    """[S, m] the slopes along axes [S, k, m]."""
    return np.einsum("skm,sk->sm", axes, slope)


def _within_reach(axes: NumPy, slope: NumPy, step: NumPy) -> NumPy:
    """[S, m] the steps, or, where one is longer than `REACH` in a parameter, one that is not.

    It is cut in each parameter alone, for what the events hardly tell is asked to go far, and would hold up the rest;
    or, as that may lead astray, it is the best within reach by the curvature of the axes: what promises more.
    """
    step = step.copy()
    for i in np.flatnonzero((np.abs(np.einsum("skm,sm->sk", axes, step)) > REACH).any(axis=1)):
        cut = np.linalg.lstsq(axes[i], np.clip(axes[i] @ step[i], -REACH, REACH))[0]
        step[i] = min(cut, _best_within_reach(axes[i], slope[i]), key=slope[i].dot)
    return step


def _best_within_reach(axes: NumPy, slope: NumPy) -> NumPy:
    """[m] to where a loss is least that is curved as the axes [k, m] say, by one parameter after the other."""
    moves = np.abs(axes).sum(axis=1) > 0
    inverse = np.linalg.inv(axes[moves])
    rise, bend, far = inverse.T @ slope, inverse.T @ inverse, np.zeros(len(slope))
    for _ in range(SWEEPS):
        for j in range(len(far)):
            far[j] = np.clip(far[j] - (rise[j] + bend[j] @ far) / bend[j, j], -REACH, REACH)
    return inverse @ far


def _choose(which: NumPy, new: Any, old: Any) -> Any:
    """Leaves [S, ...], of each start the new or the old."""
    return jax.tree.map(lambda x, y: np.where(which.reshape(-1, *(1,) * (np.ndim(x) - 1)), x, y), new, old)
