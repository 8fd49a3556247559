"""Finding the hyperparameters that predict a history best, and how sure they are.

Parameters are fitted as any real numbers: by their logarithm, by the logit, or as they are (`space` of the system). A
loss is a mean of predictions made one step ahead, each before its result was known; so the summed log loss is a
likelihood, whose slopes, event by event, are uncorrelated (Dawid 1984), and standard errors follow from its curvature.

Derivatives are taken forwards, which needs no memory of the history. At the start, the mean product of the slopes of
single events says how far apart parameters lie in effect (Berndt, Hall, Hall and Hausman 1974): L-BFGS works in
coordinates where that is the unit matrix, and the size of a gradient there means the same whatever is fitted.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from jaxrate.events import LAST_ID, Array, Ragged, Rounds
from jaxrate.losses import Free, Task, calculate, constrain, task
from jaxrate.metrics import NumPy
from jaxrate.run import blank, check_events
from jaxrate.system import Params, RatingSystem, State, bounds_of
from jaxrate.systems import SYSTEMS
from jaxrate.text import near

FORWARD = 16  # free parameters up to which forward mode is faster: on tennis, reverse mode takes as long as for 25
MEMORY = 1 << 29  # bytes that settings computed at once may take
REACH = 1.0  # no step is longer: in logarithms, in logits, or in units in which an event's slope is about 1
SMALL = 1e-3  # standard errors: a gradient is zero if it promises a step of no more, unless rounding is worse
IDLE = 1e-5  # nats: where a parameter's unit changes an event's loss by less, the events say nothing about it
ALIKE = 1e-6  # of the variance of a parameter's slopes, left by those of others, from which it is one of its own
OPEN = 4.0  # a parameter that may as well be 50 times larger or smaller is not known at all
HALVINGS = 12
PATIENCE = 5  # steps without a better validation loss


class Fit(NamedTuple):
    """The best hyperparameters found."""

    system: RatingSystem  # with them, ready for `run`
    params: Params
    free: tuple[str, ...]  # the names of the k that were fitted
    idle: tuple[str, ...]  # those that might have been, but change no prediction, or none that others do not as well
    unconstrained: dict[str, float]  # their logarithms, logits or values; of a bound, see `constrain` in `losses`
    loss: float  # mean over the matches (pairs, participants) scored for training
    loss_history: NumPy  # [steps + 1] of it, from the start
    validation_history: NumPy | None  # [steps + 1] the same of the validation part
    standard_error: dict[str, float]  # in the parameter's own unit; inf where the loss is not curved
    covariance: NumPy  # [k, k] in the parameters' own units
    converged: bool
    reason: str  # "gradient" | "validation" | "no further decrease" | "flat" | "steps" | "diverged"
    seconds: float


class Profile(NamedTuple):
    """The least loss for each of some values of one parameter."""

    value: NumPy  # [V]
    loss: NumPy  # [V]
    params: Params  # leaves [V]: the best for it


class Rolling(NamedTuple):
    """What was learnt from the past, scored on what followed: leaves [folds]."""

    params: Params  # leaves [folds]
    fitted: NumPy  # mean loss of these
    default: NumPy  # mean loss of the system's own parameters
    events: NumPy  # how many events were scored


class _Problem(NamedTuple):
    system: RatingSystem
    task: Task
    free: Free  # of k parameters, some of which may be idle
    unit: NumPy  # [k] in which real parameters are counted; 1 for others
    start: NumPy  # [k]
    weight: NumPy  # [2, n] of training and of validation
    mode: str
    active: NumPy  # [m] the parameters that are not idle
    axes: NumPy  # [k, m] directions, one event's slopes along which are about 1 and uncorrelated


class _Path(NamedTuple):
    """Where searches from S starts ended."""

    x: NumPy  # [S, k] the best points
    loss: NumPy  # [S] of training
    judged: NumPy  # [S] of validation, if there is one, else the same
    history: list[list[NumPy]]  # [S][steps + 1] both losses
    converged: list[bool]
    reason: list[str]


def fit(
    system: RatingSystem,
    events: Any,
    *,
    free: Sequence[str] | None = None,
    loss: str = "log_loss",
    optimizer: optax.GradientTransformation | None = None,
    steps: int = 100,
    warm_up: int = 0,
    weight: Any = None,
    validation: float = 0.0,
    starts: int = 1,
    errors: str | None = None,
    mode: str | None = None,
    state: State = None,
    key: Array | None = None,
    watch: Callable[[int, float], Any] | None = None,
) -> Fit:
    """The hyperparameters with which a system predicts a history best, starting from its own.

    Args:
      system: as from `glicko()`; `outlook(trueskill())` is fitted to the probabilities of win, draw and loss.
      events: as for `run`.
      free: names of the parameters to fit. None: all but those switched off (None), those whose space is "fixed", those
        at a border of their space (0, or 0 and 1 of shares), bounds, and those that change nothing, or nothing that
        those before do not, such as the last of those in points, where only ratios matter.
      loss: "log_loss", "brier" or, of rounds, "pairwise" (see `losses`).
      optimizer: takes plain steps, as `optax.adam(0.05)`, in logarithms and logits. None: L-BFGS with a search along
        each step.
      steps: at most so many.
      warm_up: matches of every player that are not scored, which are predicted from nothing.
      weight: [n] what each match, pair of a period, or participant of a round counts; 0: it is rated, but not scored.
        `np.arange(n) >= n // 2` scores the last half. None: 1.
      validation: the share of the events, the last ones, that are not fitted but decide when to stop, and which step
        was best.
      starts: of which all but one are random about the system's own values, by factors of about e; the best wins.
      errors: "information": standard errors from the curvature of the summed log loss, right if the system is; or
        "sandwich": also from how slopes vary from event to event, right where it is not, where draws are half a win
        (they vary less than coins), and for any loss. None: information for the log loss of matches, else sandwich.
      mode: "forward" or "reverse" derivatives. None: forward up to 16 free parameters.
      state: to carry on from, as in `run`; players beyond it are newcomers, who start as the parameters say.
      key: for random starts, and for systems that draw random numbers.
      watch: called after every step with its number and the least loss so far.

    Returns:
      `Fit`. Bounds go with what they bound: one that equals the initial value at the start moves with it
      (`deviation_max` with `initial_deviation`), any other gives way when that passes it. If steps lead to losses that
      are not finite, or end above the first, it is the best point seen, and `reason` is "diverged".

    Raises:
      ValueError: for names that are unknown or cannot be freed, or of no effect; if nothing is left to fit or to score,
        or every score is the same; if the loss is not finite at the start; for other bad arguments.
    """
    began = time.perf_counter()
    if not 0.0 <= validation < 1.0:
        raise ValueError(f"validation is a share of the events, from 0 and below 1, got {validation}")
    if not (isinstance(starts, int) and starts >= 1):
        raise ValueError(f"starts must be a whole number from 1, got {starts!r}")
    if starts > 1 and key is None:
        raise ValueError("random starts need a key, such as key=jax.random.key(0)")
    if errors not in (None, "information", "sandwich"):
        raise ValueError(f'errors must be "information" or "sandwich", got {errors!r}')
    what = _task(system, events, loss, warm_up, weight, key, state)
    if errors is None:
        ranks = isinstance(events, Ragged) and isinstance(events.events, Rounds)
        errors = "sandwich" if loss != "log_loss" or ranks else "information"
    later = what.event >= math.ceil((1.0 - validation) * (what.event[-1] + 1))
    parts = np.stack([what.weight * ~later, what.weight * later])
    if validation and not parts[1].any():
        raise ValueError(f"validation={validation} of the events leave nothing to validate on: none of them is scored")
    problem = _problem(what, system, free, parts, mode)
    begin = np.repeat(problem.start[None], starts, axis=0)
    if starts > 1:
        assert key is not None
        random = jax.random.normal(jax.random.fold_in(key, LAST_ID), begin[1:].shape)
        begin[1:] += np.asarray(random, np.float64)
    path = _minimise(problem, begin, system.params, optimizer, steps, watch)
    best = int(np.nanargmin(path.judged))
    x, history = path.x[best], np.array(path.history[best])
    params = jax.tree.map(lambda y: float(y[0]), _values(problem, x[None], system.params))
    covariance = _covariance(problem, x, errors)
    converged, reason = path.converged[best], path.reason[best]
    if converged and reason != "validation" and not np.isfinite(covariance).all():
        converged, reason = False, "flat"
    names = [problem.free.names[i] for i in problem.active]
    return Fit(
        with_params(system, params),
        params,
        tuple(names),
        tuple(name for name in problem.free.names if name not in names),
        dict(zip(names, (x * problem.unit)[problem.active].tolist(), strict=True)),
        float(path.loss[best]),
        history[:, 0],
        history[:, 1] if validation else None,
        dict(zip(names, np.sqrt(np.diag(covariance)).tolist(), strict=True)),
        covariance,
        converged,
        reason,
        time.perf_counter() - began,
    )


def sweep(
    system: RatingSystem,
    events: Any,
    params: Params,
    *,
    loss: str = "log_loss",
    warm_up: int = 0,
    weight: Any = None,
    state: State = None,
    key: Array | None = None,
) -> NumPy:
    """The mean losses of many settings, as many at once as take about half a gigabyte.

    Args:
      system, events, loss, warm_up, weight, state, key: as for `fit`.
      params: the hyperparameters, of any `space`, with arrays that broadcast to some shape [...] in place of numbers:
        `system.params._replace(c=c[:, None], initial_deviation=deviation)` is a grid.

    Returns:
      [...] float64; NaN where the system fails.

    Raises:
      ValueError: as `fit`, and for a setting that the system's factory refuses, such as bounds that cross.
    """
    what = _task(system, events, loss, warm_up, weight, key, state)
    shape = np.broadcast_shapes(*(np.shape(x) for x in params if x is not None))
    columns = jax.tree.map(lambda x: np.broadcast_to(np.asarray(x, np.float64), shape).ravel(), params)
    count = math.prod(shape)
    for i in range(count):
        with_params(system, jax.tree.map(lambda x: x[i], columns))  # noqa: B023
    size, both = _chunk(what, count, 1), np.stack([what.weight] * 2)
    result = []
    for some in _chunks(columns, count, size):
        result.append(
            calculate("values", what, Free((), (), (), ()), np.zeros((size, 0)), np.zeros(0), some, both)[:, 0]
        )
    return np.concatenate(result)[:count].reshape(shape) / what.weight.sum()


def profile(
    system: RatingSystem,
    events: Any,
    name: str,
    values: Any,
    *,
    free: Sequence[str] | None = None,
    loss: str = "log_loss",
    steps: int = 100,
    warm_up: int = 0,
    weight: Any = None,
    key: Array | None = None,
) -> Profile:
    """The least loss for each of some values of one parameter, all others fitted anew: all values at once.

    (Where twice the summed log loss lies less than 3.84 above its least, is a 95 % confidence interval.)

    Args:
      system, events, free, loss, steps, warm_up, weight, key: as for `fit`; each search starts from `system.params`,
        best those of a `Fit`.
      name: of the parameter, in any `space`.
      values: [V].

    Raises:
      ValueError: as `fit`, and for a value that the system's factory refuses.
    """
    what, value = _task(system, events, loss, warm_up, weight, key), np.asarray(values, np.float64)
    for x in value:
        with_params(system, system.params._replace(**{name: x}))
    others = tuple(x for x in _names(system, free) if x != name)
    problem = _problem(what, system, others, np.stack([what.weight, 0.0 * what.weight]), None)
    columns = jax.tree.map(lambda x: np.full(len(value), x, np.float64), system.params)._replace(**{name: value})
    size = _chunk(what, len(value), 1 + len(others))
    losses, found = [], []
    for some in _chunks(columns, len(value), size):
        path = _minimise(problem, np.repeat(problem.start[None], size, axis=0), some, None, steps)
        losses.append(path.loss)
        found.append(_values(problem, path.x, some))
    params = jax.tree.map(lambda *x: np.concatenate(x)[: len(value)], *found)
    return Profile(value, np.concatenate(losses)[: len(value)], params)


def rolling(
    system: RatingSystem,
    events: Any,
    folds: int = 5,
    *,
    free: Sequence[str] | None = None,
    loss: str = "log_loss",
    steps: int = 100,
    warm_up: int = 0,
    weight: Any = None,
    key: Array | None = None,
) -> Rolling:
    """Rolling-origin evaluation: fit the past, score what follows.

    The history is cut into folds + 1 parts of equally many events. Fold i is fitted to the first i + 1 parts, as by
    `fit`, and scored on the next one, whose events are rated on the way.

    Args:
      system, events, free, loss, steps, warm_up, weight, key: as for `fit`.
      folds: from 1.

    Raises:
      ValueError: as `fit`, and if a part has nothing to score.
    """
    if not (isinstance(folds, int) and folds >= 1):
        raise ValueError(f"folds must be a whole number from 1, got {folds!r}")
    what = _task(system, events, loss, warm_up, weight, key)
    part = what.event * (folds + 1) // (what.event[-1] + 1)
    params, fitted, default, count = [], [], [], []
    for i in range(folds):
        past, following = what.weight * (part <= i), what.weight * (part == i + 1)
        if not following.any():
            raise ValueError(f"nothing is scored in part {i + 2} of {folds + 1}; take fewer folds")
        problem = _problem(what, system, free, np.stack([past, 0.0 * past]), None)
        path = _minimise(problem, problem.start[None], system.params, None, steps)
        params.append(_values(problem, path.x, system.params))
        problem = problem._replace(weight=np.stack([past, following]))
        both = _at(problem, "values", np.concatenate([path.x, problem.start[None]]), system.params)[:, 1]
        fitted.append(both[0])
        default.append(both[1])
        count.append(np.count_nonzero(following))
    return Rolling(
        jax.tree.map(lambda *x: np.concatenate(x), *params), np.array(fitted), np.array(default), np.array(count)
    )


def with_params(system: RatingSystem, params: Params) -> RatingSystem:
    """The system with other hyperparameters; ValueError where its factory refuses them."""
    params = jax.tree.map(float, params)
    if system.name not in SYSTEMS:
        return system._replace(params=params)
    make = partial(SYSTEMS[system.name], **system.settings)
    new = make(**params._asdict())
    plain = make(**system.params._asdict()).rules == system.rules  # not one with rules of its own, such as an outlook
    return new if plain else system._replace(params=params)


def _allowed(system: RatingSystem, params: Params) -> bool:
    """Whether the system's factory takes these."""
    try:
        with_params(system, params)
    except ValueError:
        return False
    return True


def _task(
    system: RatingSystem,
    events: Any,
    loss: str,
    warm_up: int,
    weight: Any,
    key: Array | None,
    state: State = None,
) -> Task:
    check_events(system, events, key)
    key = key if system.rules.draw is not None else None
    return task(system, events, loss, warm_up, weight, key, state)


def _chunk(what: Task, count: int, copies: int) -> int:
    """How many settings are computed at once, of `count`, each with so many numbers for one."""
    state = blank(what.system, what.num_players)
    numbers = 6 * len(what.weight) + 2 * sum(math.prod(x.shape) for x in jax.tree.leaves(state))
    most = max(MEMORY // (copies * numbers * jnp.dtype(float).itemsize), 1)
    return -(-count // -(-count // most))


def _chunks(columns: Params, count: int, size: int) -> Iterator[Params]:
    """Leaves [count], always `size` at a time: the last one may be repeated."""
    for low in range(0, count, size):
        at = np.minimum(np.arange(low, low + size), count - 1)
        yield jax.tree.map(lambda x: x[at], columns)  # noqa: B023


def _names(system: RatingSystem, free: Sequence[str] | None) -> tuple[str, ...]:
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
    inside = {"positive": 0.0 < value < math.inf, "unit": 0.0 < value < 1.0, "real": math.isfinite(value)}
    if not inside[about.space]:
        return f"starts at {value:g}, the border of its space, which no step can leave; start from a value inside"
    return ""


def _bounds(system: RatingSystem, name: str) -> list[tuple[str, str]]:
    """The bounds, in use, of a quantity whose initial value is so named, with how each keeps to it."""
    if not name.startswith("initial_"):
        return []
    least, _, most = bounds_of(system.params, name.removeprefix("initial_"))
    return [(x, how) for x, how in ((least, "min"), (most, "max")) if getattr(system.params, x, None) is not None]


def _problem(what: Task, system: RatingSystem, free: Sequence[str] | None, weight: NumPy, mode: str | None) -> _Problem:
    """What is fitted, with coordinates for it from the slopes at the start."""
    if mode not in (None, "forward", "reverse"):
        raise ValueError(f'mode must be "forward" or "reverse", got {mode!r}')
    if not weight[0].any():
        raise ValueError("nothing is left to fit: all that is scored lies in the part that is held out")
    names, params = _names(system, free), system.params
    if not names:
        raise ValueError(f"{system.name} has no parameter to fit: none is free")
    form, start = _form(system, names)
    mode = mode or ("forward" if len(names) <= FORWARD else "reverse")
    problem = _Problem(
        system, what, form, np.ones(len(names)), start, weight, mode, np.arange(len(names)), np.eye(len(names))
    )
    loss, slope, product = (y[0] for y in _at(problem, "forward", start[None], params))
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
    near_unit = (product * unit * unit[:, None])[np.ix_(active, active)]
    ridge = 1e-6 * np.diag(np.diag(near_unit))
    axes = np.zeros((len(names), int(active.sum())))
    axes[active] = np.linalg.inv(np.linalg.cholesky(near_unit + ridge)).T
    return problem._replace(unit=unit, start=start / unit, active=np.flatnonzero(active), axes=axes)


def _form(system: RatingSystem, names: tuple[str, ...]) -> tuple[Free, NumPy]:
    """How parameters become free, and where they start [k]."""
    params, kept = system.params, []
    anchors: dict[str, tuple[str, ...]] = {}
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
            space = "above" if name.endswith("_max") else "below"
            ends = [float(getattr(params, anchor)) for anchor in anchors[name]]
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


def _at(problem: _Problem, what: str, x: NumPy, params: Params) -> Any:
    """`calculate` at x [S, k], with means for sums; the other parameters are one number or [S]."""
    columns = jax.tree.map(lambda y: np.broadcast_to(np.asarray(y, np.float64), len(x)), params)
    sums = calculate(what, problem.task, problem.free, x, problem.unit, columns, problem.weight)
    total = problem.weight.sum(axis=1)
    each = np.where(total > 0, total, 1.0)
    if isinstance(sums, tuple):
        return sums[0] / each, sums[1] / each[0], sums[2] / each[0]
    return sums / (each if what == "values" else each[0])


def _values(problem: _Problem, x: NumPy, params: Params) -> Params:
    """The hyperparameters at x [S, k]: leaves [S] float64."""
    unit, form = jnp.asarray(problem.unit, float), problem.free
    columns = jax.tree.map(lambda y: jnp.broadcast_to(jnp.asarray(y, float), len(x)), params)
    values = jax.vmap(lambda x, p: constrain(form, x, unit, p))(jnp.asarray(x, float), columns)
    touched = {form.names[i] for i in problem.active} | {bound for bound, *_ in form.kept}
    exact = {y: np.broadcast_to(v, len(x)) for y, v in params._asdict().items() if y not in touched and v is not None}
    return jax.tree.map(lambda y: np.asarray(y, np.float64), values)._replace(**exact)


@lru_cache
def _quasi_newton() -> tuple[Any, ...]:
    return _vectorized(optax.chain(optax.scale_by_lbfgs(), optax.scale(-1.0)))


def _vectorized(optimizer: optax.GradientTransformation) -> tuple[Any, ...]:
    """Its two functions, for many starts; its numbers may be of any type, whatever is said about types elsewhere."""
    return tuple(
        jax.numpy_dtype_promotion("standard")(jax.jit(jax.vmap(x))) for x in (optimizer.init, optimizer.update)
    )


def _minimise(
    problem: _Problem,
    begin: NumPy,
    params: Params,
    optimizer: optax.GradientTransformation | None,
    steps: int,
    watch: Callable[[int, float], Any] | None = None,
) -> _Path:
    """Search from all starts at once, each with steps of its own.

    L-BFGS works in coordinates z, x = begin + `axes` z, where the curvature is about 1; other optimisers in x.
    """
    search, judge = optimizer is None, int(problem.weight[1].any())
    init, update = _quasi_newton() if optimizer is None else _vectorized(optimizer)
    axes = problem.axes if search else np.eye(len(problem.axes))[:, problem.active]
    known = np.eye(axes.shape[1]) if search else problem.axes[problem.active]  # from slopes to those along `axes`
    number, eps = len(begin), float(np.finfo(jnp.result_type(float)).eps)
    enough = max(SMALL / math.sqrt(problem.weight[0].sum()), 32.0 * eps)

    def allowed(x: NumPy) -> NumPy:
        values = _values(problem, x, params)
        each = [jax.tree.map(lambda y: y[i], values) for i in range(number)]  # noqa: B023
        return np.array([_allowed(problem.system, one) for one in each])

    def look(z: NumPy) -> tuple[NumPy, NumPy, NumPy]:
        """[S, 2] the losses, [S, m] the slopes of the first, and [S] whether all is finite and the system allows it."""
        x = begin + z @ axes.T
        loss, slope, _ = _at(problem, problem.mode, x, params)
        return loss, slope @ axes, np.isfinite(loss).all(axis=1) & np.isfinite(slope).all(axis=1) & allowed(x)

    z = np.zeros((number, axes.shape[1]))
    loss, slope, fine = look(z)
    fresh = state = init(jnp.asarray(z, float))
    history = [[row] for row in loss]
    best, best_z, since = loss.copy(), z.copy(), np.zeros(number, int)
    reason = np.where(fine, "", "diverged").astype(object)
    converged = np.zeros(number, bool)

    def stop(which: NumPy, why: str, sure: bool) -> None:
        which = which & (reason == "")
        reason[which], converged[which] = why, sure

    for number_of_steps in range(1, steps + 1):
        stop(np.linalg.norm(slope @ known, axis=1) <= enough, "gradient", True)
        if judge:
            stop(since >= PATIENCE, "validation", True)
        waiting = reason == ""
        if not waiting.any():
            break
        numbers = [jnp.asarray(np.where(fine[:, None], y, 0.0), float) for y in (slope, z)]
        step, state = update(numbers[0], state, numbers[1])
        step = np.asarray(step, np.float64)
        if search:
            step = np.where(np.sum(slope * step, axis=1, keepdims=True) < 0, step, -slope)
            longest = np.abs(step @ axes.T).max(axis=1, keepdims=True)
            step *= np.minimum(1.0, REACH / np.maximum(longest, 1e-300))
        promise = np.sum(slope * step, axis=1)
        noise, share = 4.0 * eps * np.abs(loss[:, 0]), np.ones(number)
        old_z, old_slope = z, slope
        for _ in range(HALVINGS):
            trial = z + np.where(waiting, share, 0.0)[:, None] * step
            new_loss, new_slope, fine = look(trial)
            rise = new_loss[:, 0] - loss[:, 0]
            good = waiting & fine
            if search:
                flat = (rise <= noise) & (np.linalg.norm(new_slope, axis=1) < np.linalg.norm(slope, axis=1))
                good &= (rise <= 1e-4 * share * promise) | flat
            z, loss, slope = (
                np.where(good[:, None], *pair) for pair in ((trial, z), (new_loss, loss), (new_slope, slope))
            )
            waiting &= ~good
            if search:
                stop(waiting & fine & (-0.5 * share * promise < noise), "no further decrease", True)
                waiting &= reason == ""
            if not waiting.any():
                break
            bend = np.where(fine, rise - share * promise, np.inf)
            least = -0.5 * share * promise / np.where(bend > 0, bend, np.inf)
            share *= np.clip(np.nan_to_num(least), 0.1, 0.5) if search else 0.5
        stop(waiting & fine, "no further decrease", False)
        stop(waiting, "diverged", False)
        moved = (z != old_z).any(axis=1)
        if search:  # what curves downwards teaches L-BFGS nothing
            again = np.sum((slope - old_slope) * (z - old_z), axis=1) <= 0
            state = jax.tree.map(lambda new, now: jnp.where(_column(again, now), new, now), fresh, state)  # noqa: B023
        for i in np.flatnonzero(moved):
            history[i].append(loss[i])
        lower = moved & (loss[:, judge] <= best[:, judge] + (noise if search and not judge else 0.0))
        since = np.where(lower, 0, since + moved)
        best, best_z = np.where(lower[:, None], loss, best), np.where(lower[:, None], z, best_z)
        if watch is not None:
            watch(number_of_steps, float(np.nanmin(best[:, 0])))
    if not search:
        higher = np.array([rows[-1][0] > rows[0][0] for rows in history])
        reason[higher], converged[higher] = "diverged", False
    stop(np.ones(number, bool), "steps", False)
    return _Path(begin + best_z @ axes.T, best[:, 0], best[:, judge], history, converged.tolist(), reason.tolist())


def _column(which: NumPy, like: Array) -> NumPy:
    """[S, 1, ...] of [S], to choose among leaves."""
    return which.reshape(-1, *(1,) * (like.ndim - 1))


def _covariance(problem: _Problem, x: NumPy, errors: str) -> NumPy:
    """[m, m] of the fitted parameters, at x [k], in their own units; inf unless the loss is curved upwards there.

    Nor is it, as far as the events can tell, where a logarithm or logit has a standard error above `OPEN`.
    """
    here, params = np.ix_(problem.active, problem.active), problem.task.system.params
    curvature = _at(problem, "hessian", x[None], params)[0][here]
    curvature, axes = 0.5 * (curvature + curvature.T), problem.axes[problem.active]
    if not np.isfinite(curvature).all():
        return np.full(curvature.shape, np.inf)
    bends = np.linalg.eigvalsh(axes.T @ curvature @ axes)
    if not bends[0] > max(1e-6, float(np.finfo(jnp.result_type(float)).eps) * bends[-1]):  # or it is rounding
        return np.full(curvature.shape, np.inf)
    covariance = np.linalg.inv(curvature)
    if errors == "sandwich":
        covariance = covariance @ _at(problem, "forward", x[None], params)[2][0][here] @ covariance
    covariance /= problem.weight[0].sum()
    real = np.array(problem.free.spaces)[problem.active] == "real"
    if (np.sqrt(np.diag(covariance))[~real] > OPEN).any():
        return np.full(curvature.shape, np.inf)
    unit, at = jnp.asarray(problem.unit, float), jnp.asarray(x, float)
    moved = jax.jacfwd(lambda x: constrain(problem.free, x, unit, params))(at)
    slope = np.array([getattr(moved, name) for name in problem.free.names], np.float64)[here]
    covariance = slope @ covariance @ slope.T
    return 0.5 * (covariance + covariance.T)
