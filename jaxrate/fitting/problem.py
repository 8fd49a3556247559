"""What `fit` searches: hyperparameters as real numbers, coordinates from the slopes of events, and the curvature.

Parameters are searched by their logarithm, by the logit, or as they are (`space` of the system). Derivatives are taken
forwards, which needs no memory of the history. The mean product of the slopes of single events says how far apart
parameters lie in effect (Berndt, Hall, Hall and Hausman 1974): along the axes it is the unit matrix, and the size of a
gradient means the same whatever is fitted.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import Array
from jaxrate.fitting.free import Free, constrain, form_of, free_names
from jaxrate.fitting.losses import target
from jaxrate.fitting.slopes import calculate
from jaxrate.fitting.task import Task, has_draws
from jaxrate.records.metrics import NumPy
from jaxrate.system import Params, RatingSystem, remade

FORWARD = 16  # free parameters up to which forward mode is faster: on tennis, reverse mode takes as long as for 25
IDLE = 1e-5  # nats: where a parameter's unit changes an event's loss by less, the events say nothing about it
ALIKE = 1e-6  # of the variance of a parameter's slopes, left by those of others, from which it is one of its own
NEAR = 0.4  # relative: how far hyperparameters may be from those for which rules were made
OPEN = 4.0  # a parameter that may as well be 50 times larger or smaller is not known at all
FAR = 1000.0  # standard errors that single slopes promise: nor is a real one that may be so far
CURVED = 1 << 23  # predictions times pairs of parameters up to which curvature takes seconds, and not minutes
MIXED = 3.0  # a parameter whose error is by so much that of what is open is open as well


class Known(NamedTuple):
    """What was calculated at one point."""

    loss: NumPy  # [1, 2] of training and of validation
    slope: NumPy  # [1, k] of the first
    product: NumPy  # [1, k, k] see `calculate`


class NoEffectError(ValueError):
    """Some hyperparameters to fit change no prediction."""

    def __init__(self, system: str, names: tuple[str, ...]):
        idle = ", ".join(names)
        super().__init__(f"{system}: {idle} changes no prediction of these events; there is nothing to fit it by")
        self.names = names


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
    known: Known | None = None  # of these rules, at the start, with the system's own other parameters


def made(system: RatingSystem, params: Params) -> RatingSystem | None:
    """The system with these hyperparameters; None where its factory refuses them."""
    try:
        return remade(system, params)
    except ValueError:
        return None


def made_to_measure(problem: Problem) -> bool:
    """Whether rules are made for some hyperparameters by their factory, and are not `sized_for` those in use."""
    if problem.system.rules.sized is not None:
        return False
    other = made(problem.system, jax.tree.map(lambda x: 1.01 * x, problem.system.params))
    return other is not None and other.rules != problem.system.rules


def with_rules_near(problem: Problem, x: NumPy, params: Params) -> Problem:
    """Itself, or with rules made for x [S, k], where those it has are made for other hyperparameters, not near."""
    if problem.system.rules.sized is not None:
        return problem
    system, now = problem.system, jax.tree.map(lambda y: float(y[0]), params_at(problem, x, params))
    pairs = zip(jax.tree.leaves(now), jax.tree.leaves(system.params), strict=True)
    if all(abs(y - old) <= NEAR * max(abs(y), abs(old)) for y, old in pairs):
        return problem
    new = made(system, now)
    if new is None or new.rules == system.rules:
        return problem
    what = problem.task._replace(system=target(problem.task.loss, new))
    return problem._replace(system=new, task=what, known=None)


def prepare(
    what: Task,
    system: RatingSystem,
    free: Sequence[str] | None,
    training: NumPy,
    validation: NumPy | None = None,
    mode: str | None = None,
) -> Problem:
    """What is fitted, with coordinates for it from the slopes at the start.

    `training` and `validation` are what each prediction counts [n]: what is fitted, and what decides when to stop.
    """
    weight = np.stack([training, np.zeros_like(training) if validation is None else validation])
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
    first = Known(*evaluate(problem, "forward", start[None], params))
    loss, slope, product = (y[0] for y in first)
    if not (np.isfinite(loss).all() and np.isfinite(slope).all() and np.isfinite(product).all()):
        raise ValueError(f"{system.name}: the loss at the start is {loss[0]}, or has no slopes; start elsewhere")
    size, real = np.sqrt(np.diag(product)), np.array(form.spaces) == "real"
    active = size * np.where(real, np.maximum(np.abs(start), 1.0), 1.0) > IDLE
    if not active.all() and (free is not None or not active.any()):
        raise NoEffectError(system.name, tuple(np.array(names)[~active].tolist()))
    drawn = np.array([getattr(system.space, name).concerns_draws for name in names]) & active
    if drawn.any() and not has_draws(what, training):
        if free is not None or not (active & ~drawn).any():
            these = ", ".join(np.array(names)[drawn])
            raise ValueError(
                f"{system.name}: {these} says how often there are draws, and nothing is drawn to fit it by"
            )
        active &= ~drawn
    if free is None:
        active = _independent(product, active)
    unit = np.where(real & active, 1.0 / np.where(active, size, 1.0), 1.0)
    chosen = np.flatnonzero(active)
    product = product * unit * unit[:, None]
    first = Known(first.loss, first.slope * unit, product[None])
    return problem._replace(
        unit=unit,
        start=start / unit,
        active=chosen,
        axes=axes_of(product, chosen),
        known=first if mode == "forward" else None,
    )


def axes_of(product: NumPy, active: NumPy) -> NumPy:
    """[k, m] directions, in which the slopes with these products [k, k] are about 1 and uncorrelated."""
    among = product[np.ix_(active, active)]
    axes = np.zeros((len(product), len(active)))
    axes[active] = np.linalg.inv(np.linalg.cholesky(among + 1e-6 * np.diag(np.diag(among)))).T
    return axes


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
    columns = columns_of(params, len(x))
    sums = calculate(what, problem.task, problem.free, x, problem.unit, columns, problem.weight, problem.active)
    total = problem.weight.sum(axis=1)
    each = np.where(total > 0, total, 1.0)
    if isinstance(sums, tuple):
        return sums[0] / each, sums[1] / each[0], sums[2] / each[0]
    return sums / (each if what == "values" else each[0])


@partial(jax.jit, static_argnums=0)
def _constrained(form: Free, x: Array, unit: Array, params: Params) -> Params:
    """Leaves [S] of the hyperparameters of x [S, k] and of those that are not free, [S]."""
    return jax.vmap(lambda x, params: constrain(form, x, unit, params))(x, params)


def columns_of(params: Params, count: int) -> Params:
    """Leaves [count] of numbers or [count]."""
    return jax.tree.map(lambda x: np.broadcast_to(np.asarray(x, np.float64), count), params)


def params_at(problem: Problem, x: NumPy, params: Params) -> Params:
    """The hyperparameters at x [S, k]: leaves [S] float64."""
    unit, form = jnp.asarray(problem.unit, float), problem.free
    columns = jax.tree.map(lambda y: jnp.asarray(y, float), columns_of(params, len(x)))
    values = _constrained(form, jnp.asarray(x, float), unit, columns)
    touched = {form.names[i] for i in problem.active} | {bound for bound, *_ in form.kept}
    exact = {y: np.broadcast_to(v, len(x)) for y, v in params._asdict().items() if y not in touched and v is not None}
    return jax.tree.map(lambda y: np.asarray(y, np.float64), values)._replace(**exact)


def curved(problem: Problem) -> bool:
    """Whether it takes no minutes to find the curvature, or nothing can stand in for it."""
    what, count = problem.task, len(problem.active)
    return what.history is not None or len(what.weight) * count * (count + 1) // 2 <= CURVED


def covariance_of(problem: Problem, x: NumPy, errors: str, product: NumPy | None = None) -> NumPy:
    """[m, m] of the fitted parameters, at x [k], in their own units; inf in the rows and columns of those left open.

    `product` [k, k] is the mean product of the slopes there, if it is known.

    Open is what the loss is not curved upwards along, as far as the events can tell, and what has a logarithm or logit
    with a standard error above `OPEN`. Others have the errors that the rest of the curvature gives, and may move with
    what is open.
    """
    here, params = np.ix_(problem.active, problem.active), problem.task.system.params
    if product is None and errors != "information":
        product = evaluate(problem, "forward", x[None], params)[2][0]
    whole = product if errors == "products" else evaluate(problem, "hessian", x[None], params)[0]
    assert whole is not None
    curvature = whole[here]
    if not np.isfinite(curvature).all():
        return np.full(curvature.shape, np.inf)
    total, real = problem.weight[0].sum(), np.array(problem.free.spaces)[problem.active] == "real"
    far = np.where(real, FAR / math.sqrt(total), OPEN)
    covariance, loose = (far * part * far[:, None] for part in _known(total * far * curvature * far[:, None]))
    unknown = np.sqrt(np.diag(loose)) > MIXED * np.sqrt(np.diag(covariance))
    if errors == "sandwich":
        assert product is not None
        covariance = covariance @ (total * product[here]) @ covariance
    covariance += loose
    unknown |= ~real & (np.sqrt(np.diag(covariance)) > OPEN)
    unit, at = jnp.asarray(problem.unit, float), jnp.asarray(x, float)
    moved = jax.jacfwd(lambda x: constrain(problem.free, x, unit, params))(at)
    slope = np.array([getattr(moved, name) for name in problem.free.names], np.float64)[here]
    covariance = slope @ covariance @ slope.T
    covariance[(slope != 0.0) @ unknown] = np.inf
    return 0.5 * (covariance + covariance.T)


def _known(information: NumPy) -> tuple[NumPy, NumPy]:
    """[m, m] the inverse of what is known, in units of how far parameters may be, and directions of which nothing is.

    Nothing is known of a direction in which they may go so far, or in which rounding may be all there is.
    """
    bend, along = np.linalg.eigh(information)
    noise = np.finfo(jnp.result_type(float)).eps * (np.sqrt(np.abs(np.diag(information))) @ np.abs(along)) ** 2
    known = bend > np.maximum(noise, 1.0)
    return (along[:, known] / bend[known]) @ along[:, known].T, along[:, ~known] @ along[:, ~known].T
