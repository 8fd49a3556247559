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

from jaxrate.events import Array
from jaxrate.fitting.problem import (
    IDLE,
    Problem,
    axes_of,
    columns_of,
    evaluate,
    made,
    made_to_measure,
    params_at,
    with_rules_near,
)
from jaxrate.fitting.reach import within_reach
from jaxrate.fitting.slopes import LONG
from jaxrate.records.metrics import NumPy
from jaxrate.system import Params

RENEWAL = 6  # steps after which coordinates are taken anew; and after the third, for where it starts tells little
SMALL = 1e-3  # standard errors: a gradient is zero if it promises a step of no more, unless rounding is worse
HALVINGS = 12
SEVERAL = 4  # parameters from which, in long histories, a step is tried without slopes before it is taken
PATIENCE = 5  # steps without a better validation loss


class Path(NamedTuple):
    """Where searches from S starts ended."""

    x: NumPy  # [S, k] the best points
    loss: NumPy  # [S] of training
    judged: NumPy  # [S] of validation, if there is one, else the same
    product: NumPy  # [S, k, k] of the slopes there; 0 in reverse mode
    history: list[tuple[NumPy, ...]]  # [S][steps + 1] both losses
    converged: list[bool]
    reason: list[str]
    problem: list[Problem]  # [S] with rules made for hyperparameters near the best


class Points(NamedTuple):
    """Where S searches are."""

    x: NumPy  # [S, k]
    loss: NumPy  # [S, 2] of training and of validation
    slope: NumPy  # [S, k] of the first
    product: NumPy  # [S, k, k] see `calculate`
    fine: NumPy  # [S] whether all is finite and the system allows it


class Frame(NamedTuple):
    """The coordinates z in which steps are taken: x = origin + axes z."""

    axes: NumPy  # [S, k, m]
    origin: NumPy  # [S, k]
    z: NumPy  # [S, m]


class Method(NamedTuple):
    """How steps are found; L-BFGS shortens each until the loss falls, in axes along which it is curved by about 1."""

    init: Callable[[Array], Any]  # (z) -> memory
    update: Callable[[Array, Any, Array], tuple[Array, Any]]  # (slopes along the axes, memory, z) -> (step, memory)
    shortens: bool


class Search(NamedTuple):
    """S searches under way."""

    problem: Problem  # with rules made for hyperparameters near
    params: Params  # those that are not free, numbers or [S]
    here: Points
    best: Points
    frame: Frame
    memory: Any  # of the method
    forget: NumPy  # [S] whether the method begins anew with the next step
    remade: bool  # whether the last step has changed the rules
    number: int  # of steps taken
    since: NumPy  # [S] of them without a better judgement
    history: tuple[tuple[NumPy, ...], ...]  # [S][steps + 1] both losses
    reason: NumPy  # [S] why it ended, "" while it goes on
    converged: NumPy  # [S]


def _vectorized(optimizer: optax.GradientTransformation, shortens: bool = False) -> Method:
    """Its two functions, for many starts; its numbers may be of any type, whatever is said about types elsewhere."""
    init, update = (
        jax.numpy_dtype_promotion("standard")(jax.jit(jax.vmap(x))) for x in (optimizer.init, optimizer.update)
    )
    return Method(init, update, shortens)


@lru_cache
def _quasi_newton() -> Method:
    """Where no step has shown the curvature, it is taken for 1 along every axis."""
    steps = optax.scale_by_lbfgs(scale_init_precond=False)
    return _vectorized(optax.chain(steps, optax.scale(-1.0)), shortens=True)


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
    method = _quasi_newton() if optimizer is None else _vectorized(optimizer)
    if len(begin) == 1 or not made_to_measure(problem):
        return _follow(init(problem, method, begin, params), method, steps, watch)
    at, columns = [slice(i, i + 1) for i in range(len(begin))], columns_of(params, len(begin))
    alone = (init(problem, method, begin[i], jax.tree.map(lambda x: x[i], columns)) for i in at)  # noqa: B023
    return joined([_follow(search, method, steps, watch) for search in alone])


def joined(paths: Sequence[Path]) -> Path:
    """Searches from one start, and those from another after them."""
    each = list(zip(*paths, strict=True))
    return Path(*(np.concatenate(part) for part in each[:4]), *(list(chain(*part)) for part in each[4:]))  # type: ignore[arg-type]


def _follow(search: Search, method: Method, steps: int, watch: Callable[[int, float], Any] | None) -> Path:
    for _ in range(steps):
        search = stop(search, method)
        if not _going(search).any():
            break
        search = step(search, method)
        if watch is not None and watch(search.number, float(np.nanmin(search.best.loss[:, 0]))) is True:
            break
    if not method.shortens:
        higher = np.array([rows[-1][0] > rows[0][0] for rows in search.history])
        search = _end(search._replace(reason=np.where(higher, "", search.reason)), higher, "diverged", False)
    search = _end(search, _going(search), "steps", False)
    best, judge = search.best, _judge(search.problem)
    found = best.x, best.loss[:, 0], best.loss[:, judge], best.product, list(search.history)
    return Path(*found, search.converged.tolist(), search.reason.tolist(), [search.problem] * len(best.x))


def init(problem: Problem, method: Method, begin: NumPy, params: Params) -> Search:
    """Searches that begin at points [S, k]."""
    count = len(begin)
    problem = with_rules_near(problem, begin, params)
    known = problem.known if count == 1 and params is problem.system.params else None
    if known is not None and (begin == problem.start).all():
        here = Points(begin, *known, np.ones(1, bool))
    else:
        here = _look(problem, begin, params)
    axes = problem.axes if method.shortens else np.eye(begin.shape[1])[:, problem.active]
    frame = Frame(np.repeat(axes[None], count, axis=0), begin, np.zeros((count, len(problem.active))))
    history, reason = tuple((row,) for row in here.loss), np.where(here.fine, "", "diverged").astype(object)
    no, none = np.zeros(count, bool), np.zeros(count, int)
    return Search(problem, params, here, here, frame, _fresh(method, frame), no, False, 0, none, history, reason, no)


def stop(search: Search, method: Method) -> Search:
    """The searches, of which those have ended that are where they should be."""
    problem, here = search.problem, search.here
    axes = search.frame.axes if method.shortens else np.repeat(problem.axes[None], len(here.x), axis=0)
    enough = max(SMALL / math.sqrt(problem.weight[0].sum()), 32.0 * _rounding())
    search = _end(search, np.linalg.norm(_along(axes, here.slope), axis=1) <= enough, "gradient", True)
    return _end(search, search.since >= PATIENCE, "validation", True) if _judge(problem) else search


def step(search: Search, method: Method) -> Search:
    """The searches after one more step of those that go on."""
    search = _refreshed(search, method)
    before, frame = search.here, search.frame
    slope = _along(frame.axes, before.slope)
    known = [jnp.asarray(np.where(before.fine[:, None], x, 0.0), float) for x in (slope, frame.z)]
    ahead, memory = method.update(known[0], search.memory, known[1])
    ahead, forget = np.asarray(ahead, np.float64), search.forget
    if method.shortens:
        downhill = np.sum(slope * ahead, axis=1, keepdims=True) < 0
        ahead = within_reach(frame.axes, slope, np.where(downhill, ahead, -slope))
    search, moved = _shorten(search, method, ahead, slope)
    here, best, judge = search.here, search.best, _judge(search.problem)
    if method.shortens:  # what curves downwards teaches L-BFGS nothing
        forget = ~(np.sum((here.slope - before.slope) * (here.x - before.x), axis=1) > 0)
    rows = zip(search.history, here.loss, moved, strict=True)
    slack = _noise(before) if method.shortens and not judge else 0.0
    lower = moved & (here.loss[:, judge] <= best.loss[:, judge] + slack)
    history = tuple((*past, row) if new else past for past, row, new in rows)
    search = search._replace(
        best=_choose(lower, here, best),
        memory=memory,
        forget=forget,
        number=search.number + 1,
        since=np.where(lower, 0, search.since + moved),
        history=history,
    )
    if method.shortens and not judge:  # two steps that together are worth no more than rounding
        fall = np.array([rows[-3][0] - rows[-1][0] if len(rows) > 2 else np.inf for rows in history])
        search = _end(search, moved & (fall <= _noise(here)), "no further decrease", True)
    return _with_rules(search, method, lower)


def _with_rules(search: Search, method: Method, lower: NumPy) -> Search:
    """The searches with rules for where they are, if those that they have are made for elsewhere.

    `lower` are those that have just come to where it is best: it is what new rules say there that counts.
    """
    problem = with_rules_near(search.problem, search.here.x, search.params)
    if problem is search.problem:
        return search._replace(remade=False)
    here = _look(problem, search.here.x, search.params)
    search = _end(search, ~here.fine, "diverged", False)
    best, forget = _choose(lower & here.fine, here, search.best), np.full(len(lower), method.shortens)
    return search._replace(problem=problem, here=here, best=best, forget=forget, remade=True)


def _refreshed(search: Search, method: Method) -> Search:
    """The searches, before a step, with new axes where it is time for them, and memories of nothing that misleads."""
    here, frame, forget = search.here, search.frame, search.forget
    due = search.remade or search.number == 3 or search.number % RENEWAL == 0 < search.number
    if due and method.shortens and search.problem.mode == "forward":
        each, active = zip(frame.axes, here.product, strict=True), search.problem.active
        frame = Frame(np.stack([_renew(*one, active) for one in each]), here.x, np.zeros_like(frame.z))
        forget = np.ones_like(forget)
    if not forget.any():
        return search
    return search._replace(frame=frame, memory=_choose(forget, _fresh(method, frame), search.memory))


def _shorten(search: Search, method: Method, ahead: NumPy, slope: NumPy) -> tuple[Search, NumPy]:
    """Ever shorter parts of the steps [S, m], of the searches that go on, until one is good.

    For L-BFGS that is one with enough of the decrease that its slopes promise (Armijo), or, within the noise, with less
    slope; for other optimisers any that is finite and allowed.

    Returns:
      Where all are then, of which those have ended that cannot fall by more than noise, that fall by no part of the
      step, or of which no part is finite and allowed; and which moved.
    """
    before, here, frame, waiting = search.here, search.here, search.frame, _going(search)
    promise, noise, z = np.sum(slope * ahead, axis=1), _noise(before), frame.z
    share, moved, ended = np.ones(len(z)), np.zeros(len(z), bool), np.zeros(len(z), bool)
    for _ in range(HALVINGS):
        part = np.where(waiting, share, 0.0)[:, None] * ahead
        enough = np.maximum(1e-4 * share * promise, noise) if method.shortens else np.inf
        x, most = _place(frame._replace(z=z + part)), np.where(waiting, before.loss[:, 0] + enough, -np.inf)
        trial = _look(search.problem, x, search.params, before, most)
        rise = trial.loss[:, 0] - before.loss[:, 0]
        good = waiting & trial.fine
        if method.shortens:
            steep = np.linalg.norm(_along(frame.axes, trial.slope), axis=1) >= np.linalg.norm(slope, axis=1)
            good &= (rise <= 1e-4 * share * promise) | ((rise <= noise) & ~steep)
        here = _choose(good, trial, here)
        z, moved = z + np.where(good[:, None], part, 0.0), moved | good
        waiting = waiting & ~good
        if method.shortens:
            ended |= waiting & trial.fine & (-0.5 * share * promise < noise)
            waiting &= ~ended
        if not waiting.any():
            break
        bend = np.where(trial.fine, rise - share * promise, np.inf)
        least = -0.5 * share * promise / np.where(bend > 0, bend, np.inf)
        share *= np.clip(np.nan_to_num(least), 0.1, 0.5) if method.shortens else 0.5
    search = _end(search, ended, "no further decrease", True)
    search = _end(search, waiting & trial.fine, "no further decrease", False)
    search = _end(search, waiting & ~trial.fine, "diverged", False)
    return search._replace(here=here, frame=frame._replace(z=z)), moved


def _going(search: Search) -> NumPy:
    """[S] which go on."""
    return search.reason == ""


def _end(search: Search, which: NumPy, why: str, sure: bool) -> Search:
    """The searches, of which some [S] have ended, unless they had before."""
    which = which & _going(search)
    reason, converged = np.where(which, why, search.reason), np.where(which, sure, search.converged)
    return search._replace(reason=reason.astype(object), converged=converged)


def _judge(problem: Problem) -> int:
    """Which loss says what is best: of validation (1), if there is one, else of training (0)."""
    return int(problem.weight[1].any())


def _fresh(method: Method, frame: Frame) -> Any:
    """The memory of a method that has taken no step yet."""
    return jax.tree.map(np.asarray, method.init(jnp.zeros_like(frame.z, float)))


def _place(frame: Frame) -> NumPy:
    """[S, k] x of the coordinates."""
    return frame.origin + np.einsum("skm,sm->sk", frame.axes, frame.z)


def _rounding() -> float:
    return float(np.finfo(jnp.result_type(float)).eps)


def _noise(points: Points) -> NumPy:
    """[S] by how much rounding may move a loss."""
    return 4.0 * _rounding() * np.abs(points.loss[:, 0])


def _look(
    problem: Problem, x: NumPy, params: Params, before: Points | None = None, most: NumPy | None = None
) -> Points:
    """Points x [S, k], with the slopes of those `before` where slopes take long and no loss is as low as `most` [S]."""
    columns = params_at(problem, x, params)
    each = [jax.tree.map(lambda y: y[i], columns) for i in range(len(x))]  # noqa: B023
    allowed = np.array([made(problem.system, one) is not None for one in each])
    what = problem.task
    if before is not None and what.history is None and len(what.weight) >= LONG and x.shape[1] >= SEVERAL:
        loss = evaluate(problem, "values", x, params)
        if not (loss[:, 0] <= most).any():
            return before._replace(x=x, loss=loss, fine=np.isfinite(loss).all(axis=1) & allowed)
    loss, slope, product = evaluate(problem, problem.mode, x, params)
    return Points(x, loss, slope, product, allowed & np.isfinite(np.hstack([loss, slope])).all(axis=1))


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


def _choose(which: NumPy, new: Any, old: Any) -> Any:
    """Leaves [S, ...], of each start the new or the old."""
    return jax.tree.map(lambda x, y: np.where(which.reshape(-1, *(1,) * (np.ndim(x) - 1)), x, y), new, old)
