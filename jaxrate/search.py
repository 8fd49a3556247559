"""The search of `fit`: hyperparameters as real numbers, coordinates from the slopes of events, steps, and curvature.

Parameters are searched by their logarithm, by the logit, or as they are (`space` of the system). Derivatives are taken
forwards, which needs no memory of the history. The mean product of the slopes of single events says how far apart
parameters lie in effect (Berndt, Hall, Hall and Hausman 1974): L-BFGS works in coordinates where that is the unit
matrix, and the size of a gradient there means the same whatever is fitted.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from jaxrate.losses import Free, Task, calculate, constrain
from jaxrate.metrics import NumPy
from jaxrate.system import Params, RatingSystem, bounds_of
from jaxrate.systems import SYSTEMS
from jaxrate.text import near

FORWARD = 16  # free parameters up to which forward mode is faster: on tennis, reverse mode takes as long as for 25
REACH = 1.0  # no step is longer: in logarithms, in logits, or in units in which an event's slope is about 1
RENEWAL = 6  # steps after which coordinates are taken anew
SMALL = 1e-3  # standard errors: a gradient is zero if it promises a step of no more, unless rounding is worse
IDLE = 1e-5  # nats: where a parameter's unit changes an event's loss by less, the events say nothing about it
ALIKE = 1e-6  # of the variance of a parameter's slopes, left by those of others, from which it is one of its own
OPEN = 4.0  # a parameter that may as well be 50 times larger or smaller is not known at all
HALVINGS = 12
NEAR = 0.4  # relative: how far hyperparameters may be from those for which rules were made
PATIENCE = 5  # steps without a better validation loss


class Problem(NamedTuple):
    system: RatingSystem
    task: Task
    free: Free  # of k parameters, some of which may be idle
    unit: NumPy  # [k] in which real parameters are counted; 1 for others
    start: NumPy  # [k]
    weight: NumPy  # [2, n] of training and of validation
    mode: str
    active: NumPy  # [m] the parameters that are not idle
    axes: NumPy  # [k, m] directions, one event's slopes along which are about 1 and uncorrelated


class Path(NamedTuple):
    """Where searches from S starts ended."""

    x: NumPy  # [S, k] the best points
    loss: NumPy  # [S] of training
    judged: NumPy  # [S] of validation, if there is one, else the same
    history: list[list[NumPy]]  # [S][steps + 1] both losses
    converged: list[bool]
    reason: list[str]
    problem: list[Problem]  # [S] with rules made for hyperparameters near the best


def with_params(system: RatingSystem, params: Params) -> RatingSystem:
    """The system with other hyperparameters; ValueError where its factory refuses them."""
    params = jax.tree.map(float, params)
    if system.name not in SYSTEMS:
        return system._replace(params=params)
    make = partial(SYSTEMS[system.name], **system.settings)
    new = make(**params._asdict())
    plain = make(**system.params._asdict()).rules == system.rules  # not one with rules of its own, such as an outlook
    return new if plain else system._replace(params=params)


def _made(system: RatingSystem, params: Params) -> RatingSystem | None:
    """The system with these hyperparameters; None where its factory refuses them."""
    try:
        return with_params(system, params)
    except ValueError:
        return None


def free_names(system: RatingSystem, free: Sequence[str] | None) -> tuple[str, ...]:
    """Those to be freed; ValueError for one that cannot be."""
    fields, space = system.params._fields, system.space
    if free is None:
        bounds = {bound for x in fields for bound, _ in _bounds(system, x)}
        return tuple(x for x in fields if x not in bounds and not _refusal(system, x))
    for name in free:
        if name not in fields:
            can = ", ".join(x for x in fields if getattr(space, x).space != "fixed")
            raise ValueError(f"{system.name} has no parameter {name!r}{near(name, fields)} (it can fit {can})")
        if why := _refusal(system, name):
            raise ValueError(f"{system.name}: {name} {why}")
    if len(set(free)) < len(free):
        raise ValueError(f"free names a parameter twice: {', '.join(free)}")
    return tuple(free)


def _refusal(system: RatingSystem, name: str) -> str:
    """Why a parameter cannot be freed, or nothing."""
    value, about = getattr(system.params, name), getattr(system.space, name)
    if about.space == "fixed":
        return f"is fixed ({about.meaning}, {about.unit}) and is not fitted by slopes; compare values of it by `sweep`"
    if value is None:
        return "is switched off; give the system a value to start from"
    inside = {"positive": about.least < value < math.inf, "unit": 0.0 < value < 1.0, "real": math.isfinite(value)}
    if not inside[about.space]:
        return f"starts at {value:g}, the border of its space, which no step can leave; start from a value inside"
    return ""


def _bounds(system: RatingSystem, name: str) -> list[tuple[str, str]]:
    """The bounds, in use, of a quantity whose initial value is so named, with how each keeps to it."""
    if not name.startswith("initial_"):
        return []
    least, _, most = bounds_of(system.params, name.removeprefix("initial_"))
    return [(x, how) for x, how in ((least, "min"), (most, "max")) if getattr(system.params, x, None) is not None]


def prepare(what: Task, system: RatingSystem, free: Sequence[str] | None, weight: NumPy, mode: str | None) -> Problem:
    """What is fitted, with coordinates for it from the slopes at the start."""
    if mode not in (None, "forward", "reverse"):
        raise ValueError(f'mode must be "forward" or "reverse", got {mode!r}')
    if not weight[0].any():
        raise ValueError("nothing is left to fit: all that is scored lies in the part that is held out")
    names, params = free_names(system, free), system.params
    if not names:
        raise ValueError(f"{system.name} has no parameter to fit: none is free")
    form, start = form_of(system, names)
    mode = mode or ("forward" if len(names) <= FORWARD else "reverse")
    problem = Problem(
        system, what, form, np.ones(len(names)), start, weight, mode, np.arange(len(names)), np.eye(len(names))
    )
    loss, slope, product = (y[0] for y in evaluate(problem, "forward", start[None], params))
    if not (np.isfinite(loss).all() and np.isfinite(slope).all() and np.isfinite(product).all()):
        raise ValueError(f"{system.name}: the loss at the start is {loss[0]}, or has no slopes; start elsewhere")
    size, real = np.sqrt(np.diag(product)), np.array(form.spaces) == "real"
    active = size * np.where(real, np.maximum(np.abs(start), 1.0), 1.0) > IDLE
    if not active.all() and (free is not None or not active.any()):
        idle = ", ".join(np.array(names)[~active])
        raise ValueError(f"{system.name}: {idle} changes no prediction of these events; there is nothing to fit it by")
    if free is None:
        active = _independent(product, active)
    unit = np.where(real & active, 1.0 / np.where(active, size, 1.0), 1.0)
    chosen = np.flatnonzero(active)
    axes = _axes(product * unit * unit[:, None], chosen)
    return problem._replace(unit=unit, start=start / unit, active=chosen, axes=axes)


def _axes(product: NumPy, active: NumPy) -> NumPy:
    """[k, m] directions, in which the slopes with these products [k, k] are about 1 and uncorrelated."""
    among = product[np.ix_(active, active)]
    axes = np.zeros((len(product), len(active)))
    axes[active] = np.linalg.inv(np.linalg.cholesky(among + 1e-6 * np.diag(np.diag(among)))).T
    return axes


def form_of(system: RatingSystem, names: tuple[str, ...]) -> tuple[Free, NumPy]:
    """How parameters become free, and where they start [k]."""
    params, kept = system.params, []
    least = {name: getattr(system.space, name).least for name in names}
    anchors: dict[str, tuple[str | float, ...]] = {name: (value,) for name, value in least.items() if value}
    for name in params._fields:
        for bound, how in _bounds(system, name):
            apart = getattr(params, bound) != getattr(params, name)
            if bound in names:
                if not apart:
                    raise ValueError(
                        f"{system.name}: {bound} starts at {name}, the border of its space; start it apart"
                    )
                anchors[bound] = (*anchors.get(bound, ()), name)
            elif name in names:
                kept.append((bound, name, how if apart else "moves"))
    spaces, start = [], []
    for name in names:
        value, space = float(getattr(params, name)), getattr(system.space, name).space
        if name in anchors:
            space = "above" if name.endswith("_max") or least[name] else "below"
            ends = [y if isinstance(y, float) else float(getattr(params, y)) for y in anchors[name]]
            distance = math.log(value / max(ends)) if space == "above" else math.log(min(ends) / value)
        into = {"real": lambda: value, "positive": lambda: math.log(value)}  # noqa: B023
        into["unit"] = lambda: math.log(value / (1.0 - value))  # noqa: B023
        start.append(into[space]() if space in into else math.log(distance))
        spaces.append(space)
    return Free(names, tuple(spaces), tuple(anchors.get(x, ()) for x in names), tuple(kept)), np.array(start)


def _independent(product: NumPy, active: NumPy) -> NumPy:
    """[k] which active parameters have slopes that are no combination of those before."""
    active = active.copy()
    for i in np.flatnonzero(active):
        before = np.flatnonzero(active[:i])
        scale = np.sqrt(np.diag(product)[before])
        one = product[before, i] / scale / math.sqrt(product[i, i])
        explained = one @ np.linalg.lstsq(product[np.ix_(before, before)] / scale / scale[:, None], one, rcond=None)[0]
        active[i] = explained < 1.0 - ALIKE
    return active


def evaluate(problem: Problem, what: str, x: NumPy, params: Params) -> Any:
    """`calculate` at x [S, k], with means for sums; the other parameters are one number or [S]."""
    columns = _columns(params, len(x))
    sums = calculate(what, problem.task, problem.free, x, problem.unit, columns, problem.weight)
    total = problem.weight.sum(axis=1)
    each = np.where(total > 0, total, 1.0)
    if isinstance(sums, tuple):
        return sums[0] / each, sums[1] / each[0], sums[2] / each[0]
    return sums / (each if what == "values" else each[0])


def _columns(params: Params, count: int) -> Params:
    """Leaves [count] of numbers or [count]."""
    return jax.tree.map(lambda x: np.broadcast_to(np.asarray(x, np.float64), count), params)


def params_at(problem: Problem, x: NumPy, params: Params) -> Params:
    """The hyperparameters at x [S, k]: leaves [S] float64."""
    unit, form = jnp.asarray(problem.unit, float), problem.free
    columns = jax.tree.map(lambda y: jnp.asarray(y, float), _columns(params, len(x)))
    values = jax.vmap(lambda x, p: constrain(form, x, unit, p))(jnp.asarray(x, float), columns)
    touched = {form.names[i] for i in problem.active} | {bound for bound, *_ in form.kept}
    exact = {y: np.broadcast_to(v, len(x)) for y, v in params._asdict().items() if y not in touched and v is not None}
    return jax.tree.map(lambda y: np.asarray(y, np.float64), values)._replace(**exact)


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
    paths, columns = [], _columns(params, len(begin))
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
        promise = np.sum(slope * step, axis=1)
        noise, share, before, moved = 4.0 * eps * np.abs(here.loss[:, 0]), np.ones(len(z)), here, np.zeros(len(z), bool)
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
            waiting &= ~good
            if search:
                stop(waiting & trial.fine & (-0.5 * share * promise < noise), "no further decrease", True)
                waiting &= reason == ""
            if not waiting.any():
                break
            bend = np.where(trial.fine, rise - share * promise, np.inf)
            least = -0.5 * share * promise / np.where(bend > 0, bend, np.inf)
            share *= np.clip(np.nan_to_num(least), 0.1, 0.5) if search else 0.5
        stop(waiting & trial.fine, "no further decrease", False)
        stop(waiting, "diverged", False)
        if search:  # what curves downwards teaches L-BFGS nothing
            curved = np.sum((here.slope - before.slope) * (here.x - before.x), axis=1) > 0
            state = _choose(curved, state, fresh)
        for i in np.flatnonzero(moved):
            history[i].append(here.loss[i])
        slack = noise if search and not judge else 0.0
        lower = moved & (here.loss[:, judge] <= best.loss[:, judge] + slack)
        since = np.where(lower, 0, since + moved)
        best = _choose(lower, here, best)
        old, problem = problem, _remade(problem, here.x, params)
        remade = problem is not old
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


def _made_to_measure(problem: Problem) -> bool:
    """Whether rules are made for some hyperparameters, as are the kernel and the nodes of BlatMMR."""
    other = _made(problem.system, jax.tree.map(lambda x: 1.01 * x, problem.system.params))
    return other is not None and other.rules != problem.system.rules


def _remade(problem: Problem, x: NumPy, params: Params) -> Problem:
    """Itself, or with rules made for x [S, k], where those it has are made for other hyperparameters, not near."""
    system, now = problem.system, jax.tree.map(lambda y: float(y[0]), params_at(problem, x, params))
    pairs = zip(jax.tree.leaves(now), jax.tree.leaves(system.params), strict=True)
    if all(abs(y - old) <= NEAR * max(abs(y), abs(old)) for y, old in pairs):
        return problem
    new = _made(system, now)
    if new is None or new.rules == system.rules:
        return problem
    return problem._replace(system=new, task=problem.task._replace(system=new))


def _look(problem: Problem, x: NumPy, params: Params) -> _Points:
    columns = params_at(problem, x, params)
    each = [jax.tree.map(lambda y: y[i], columns) for i in range(len(x))]  # noqa: B023
    allowed = np.array([_made(problem.system, one) is not None for one in each])
    loss, slope, product = evaluate(problem, problem.mode, x, params)
    finite = np.isfinite(loss).all(axis=1) & np.isfinite(slope).all(axis=1)
    return _Points(x, loss, slope, product, finite & allowed)


def _renew(axes: NumPy, product: NumPy, active: NumPy) -> NumPy:
    """[k, m] axes from the slopes here; the old ones where the events hardly tell, here, what is what."""
    if not (np.isfinite(product).all() and (np.diag(product)[active] > IDLE**2).all()):
        return axes
    try:
        return _axes(product, active)
    except np.linalg.LinAlgError:
        return axes


def _along(axes: NumPy, slope: NumPy) -> NumPy:
    """[S, m] the slopes along axes [S, k, m]."""
    return np.einsum("skm,sk->sm", axes, slope)


def _within_reach(axes: NumPy, slope: NumPy, step: NumPy) -> NumPy:
    """[S, m] steps of at most `REACH` in every parameter: cut in each alone, or all alike if that would lead uphill.

    (What the events hardly tell is asked to go far, and would hold up the rest.)
    """
    far = np.einsum("skm,sm->sk", axes, step)
    cut = np.stack([np.linalg.lstsq(*one)[0] for one in zip(axes, np.clip(far, -REACH, REACH), strict=True)])
    alike = step * np.minimum(1.0, REACH / np.maximum(np.abs(far).max(axis=1, keepdims=True), 1e-300))
    return np.where(np.sum(slope * cut, axis=1, keepdims=True) < 0, cut, alike)


def _choose(which: NumPy, new: Any, old: Any) -> Any:
    """Leaves [S, ...], of each start the new or the old."""
    return jax.tree.map(lambda x, y: np.where(which.reshape(-1, *(1,) * (np.ndim(x) - 1)), x, y), new, old)


def covariance_of(problem: Problem, x: NumPy, errors: str) -> NumPy:
    """[m, m] of the fitted parameters, at x [k], in their own units; inf unless the loss is curved upwards there.

    Nor is it, as far as the events can tell, where a logarithm or logit has a standard error above `OPEN`.
    """
    here, params = np.ix_(problem.active, problem.active), problem.task.system.params
    curvature = evaluate(problem, "hessian", x[None], params)[0][here]
    axes = problem.axes[problem.active]
    if not np.isfinite(curvature).all():
        return np.full(curvature.shape, np.inf)
    bends = np.linalg.eigvalsh(axes.T @ curvature @ axes)
    if not bends[0] > max(1e-6, float(np.finfo(jnp.result_type(float)).eps) * bends[-1]):  # or it is rounding
        return np.full(curvature.shape, np.inf)
    covariance = np.linalg.inv(curvature)
    if errors == "sandwich":
        covariance = covariance @ evaluate(problem, "forward", x[None], params)[2][0][here] @ covariance
    covariance /= problem.weight[0].sum()
    real = np.array(problem.free.spaces)[problem.active] == "real"
    if (np.sqrt(np.diag(covariance))[~real] > OPEN).any():
        return np.full(curvature.shape, np.inf)
    unit, at = jnp.asarray(problem.unit, float), jnp.asarray(x, float)
    moved = jax.jacfwd(lambda x: constrain(problem.free, x, unit, params))(at)
    slope = np.array([getattr(moved, name) for name in problem.free.names], np.float64)[here]
    covariance = slope @ covariance @ slope.T
    return 0.5 * (covariance + covariance.T)
