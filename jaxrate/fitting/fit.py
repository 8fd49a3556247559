"""Finding the hyperparameters that predict a history best, and how sure they are.

A loss is a mean of predictions made one step ahead, each before its result was known; so the summed log loss is a
likelihood, whose slopes, event by event, are uncorrelated (Dawid 1984), and standard errors follow from its curvature.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import optax  # type: ignore[import-untyped]

from jaxrate.events import LAST_ID, Array
from jaxrate.fitting.evidence import check_method, opened
from jaxrate.fitting.found import Fit, Options, Profile, Rest, Rolling
from jaxrate.fitting.free import Free, free_names
from jaxrate.fitting.problem import Problem, covariance_of, curved, evaluate, params_at, prepare
from jaxrate.fitting.search import Path, minimise
from jaxrate.fitting.slopes import at_once, calculate, chunks
from jaxrate.fitting.task import Task, constant_loss, parts, task
from jaxrate.memory import check_room
from jaxrate.records.metrics import NumPy
from jaxrate.system import Params, RatingSystem, State, remade

ERRORS = "information", "products", "sandwich"
PER_START = 1000.0  # bytes that a search keeps, about


def fit(
    system: RatingSystem | Fit,
    events: Any,
    *,
    free: Sequence[str] | None = None,
    method: str = "ahead",
    loss: str | None = None,
    optimizer: optax.GradientTransformation | None = None,
    steps: int = 100,
    warm_up: float | None = None,
    weight: Any = None,
    data_share: float | None = None,
    validation: float | None = None,
    starts: int = 1,
    errors: str | None = None,
    mode: str | None = None,
    state: State = None,
    key: Array | None = None,
    watch: Callable[[int, float], Any] | None = None,
) -> Fit:
    """The hyperparameters with which a system predicts a history best, starting from its own.

    Args:
      system: as from `glicko()`; `outlook(trueskill())` is fitted to the probabilities of win, draw and loss. Or a
        `Fit`, to go on from: free names and options that are not given are its own.
      events: as for `run`, or a `Dataset`.
      free: names of the parameters to fit. None: all but those switched off (None), those whose space is "fixed", those
        at a border of their space (0, or 0 and 1 of shares), bounds, and those that change nothing, or nothing that
        those before do not, such as the last of those in points, where only ratios matter.
      method: "ahead": by predictions made one step ahead; or "evidence", of `skills` of matches: by how likely all
        results are together (see `smooth`), of which `loss` is minus the mean logarithm. It takes none of the options
        but `optimizer`, `steps`, `starts`, `key` and `watch`; no weights, no half wins, and not "logistic".
      loss: "log_loss", "brier", of skills that learn from margins "margin" or, of rounds, "pairwise" (see `losses`).
        None: log_loss.
      optimizer: takes plain steps, as `optax.adam(0.05)`, in logarithms and logits. None: L-BFGS with a search along
        each step.
      steps: at most so many.
      warm_up: a whole number: the matches of every player that are not scored, which are predicted from nothing; a
        share below 1: the first part of all events, with 0.2 the first fifth, which is rated but not scored. None: 0.
      weight: [n] what each match, pair of a period, or participant of a round counts; 0: it is rated, but not scored.
        `np.arange(n) >= n // 2` scores the last half. None: 1.
      data_share: the share of the matches or contests, the first ones, that is fitted. The rest is rated and scored
        afterwards (see `Fit.rest`), and decides nothing. None: 1.
      validation: the share of the events to fit, the last ones, that are not fitted but decide when to stop, and which
        step was best. None: 0.
      starts: of which all but one are random about the system's own values, by factors of about e; the best wins.
      errors: "information": standard errors from the curvature of the summed log loss, right if the system is;
        "products": from how slopes vary from event to event in its place, which takes no time, and is right if the
        system is (Berndt, Hall, Hall and Hausman 1974); or "sandwich": from both, right where it is not, where draws
        are half a win (they vary less than coins), and for any loss. None: for the log loss of matches information,
        or, from 8 million predictions times pairs of parameters on, products; else sandwich.
      mode: "forward" or "reverse" derivatives. None: forward up to 16 free parameters.
      state: to carry on from, as in `run`; players beyond it are newcomers, who start as the parameters say.
      key: for random starts, and for systems that draw random numbers.
      watch: called after every step with its number and the least loss so far.

    Returns:
      `Fit`. What the events leave `open` is named, and has an error of inf; the others have theirs all the same. Bounds
      go with what they bound: one that equals the initial value at the start moves with it (`deviation_max` with
      `initial_deviation`), any other gives way when that passes it. If steps lead to losses that are not finite, or end
      above the first, it is the best point seen, and `reason` is "diverged".

    Raises:
      ValueError: for names that are unknown or cannot be freed, or of no effect; if nothing is left to fit or to score,
        or every score is the same; if the loss is not finite at the start; for other bad arguments.
    """
    began = time.perf_counter()
    given = dict(loss=loss, warm_up=warm_up, weight=weight, data_share=data_share, validation=validation)
    system, free, options = _resume(system, free, **given, errors=errors, mode=mode, state=state, key=key)
    _check(options, starts)
    what = _task(system, events, options)
    if method != "ahead":
        check_method(method, given | {"errors": errors, "mode": mode, "state": state})
        what = what._replace(history=opened(system, events))
    training, held_out, rest = parts(what, options.data_share, options.validation)
    problem = prepare(what, system, free, training, held_out, options.mode)
    likely = "information" if curved(problem) else "products"
    kind = options.errors or (likely if what.kind in what.loss.likelihood else "sandwich")
    path = minimise(problem, _begin(problem, starts, options.key), system.params, optimizer, steps, watch)
    best = int(np.nanargmin(path.judged))
    x, history = path.x[best], np.array(path.history[best])
    params = jax.tree.map(lambda y: float(y[0]), params_at(problem, x[None], system.params))
    product = path.product[best] if problem.mode == "forward" else None
    covariance = covariance_of(path.problem[best], x, kind, product)
    names = [problem.free.names[i] for i in problem.active]
    left_open = tuple(name for name, error in zip(names, np.diag(covariance), strict=True) if not np.isfinite(error))
    converged, reason = path.converged[best], path.reason[best]
    if converged and reason != "validation" and left_open:
        converged, reason = False, "flat"
    return Fit(
        remade(system, params),
        params,
        tuple(names),
        tuple(name for name in problem.free.names if name not in names),
        dict(zip(names, (x * problem.unit)[problem.active].tolist(), strict=True)),
        float(path.loss[best]),
        history[:, 0],
        history[:, 1] if options.validation else None,
        dict(zip(names, np.sqrt(np.diag(covariance)).tolist(), strict=True)),
        covariance,
        converged,
        reason,
        time.perf_counter() - began,
        left_open,
        options._replace(errors=kind),
        None if options.data_share == 1 else _rest(problem, path, best, rest),
    )


def _resume(
    start: RatingSystem | Fit, free: Sequence[str] | None, **given: Any
) -> tuple[RatingSystem, Sequence[str] | None, Options]:
    """The system, the names to free and the options: those given, else those of the `Fit` they come from, if any."""
    chosen = {name: value for name, value in given.items() if value is not None}
    if "weight" in chosen:
        chosen["weight"] = np.array(chosen["weight"], np.float64)  # a copy, for it is remembered
    if isinstance(start, Fit):
        return start.system, start.free if free is None else free, start.options._replace(**chosen)
    return start, free, Options(**chosen)


def _check(options: Options, starts: int) -> None:
    """ValueError for what is wrong whatever the events are."""
    if not 0.0 < options.data_share <= 1.0:
        raise ValueError(f"data_share is a share of the events, above 0 and at most 1, got {options.data_share}")
    if not 0.0 <= options.validation < 1.0:
        raise ValueError(f"validation is a share of the events, from 0 and below 1, got {options.validation}")
    _check_count("starts", starts)
    check_room(f"{starts:,} searches", PER_START * starts)
    if starts > 1 and options.key is None:
        raise ValueError("random starts need a key, such as key=jax.random.key(0)")
    if options.errors not in (None, *ERRORS):
        raise ValueError(f"errors must be one of {', '.join(ERRORS)}, got {options.errors!r}")


def _task(system: RatingSystem, events: Any, options: Options) -> Task:
    return task(system, events, options.loss, options.warm_up, options.weight, options.key, options.state)


def fitted_task(system: RatingSystem, events: Any, options: Options) -> Task:
    """The task, of which only what a fit with these options makes small is scored."""
    what = _task(system, events, options)
    return what._replace(weight=parts(what, options.data_share, options.validation)[0])


def _rest(problem: Problem, path: Path, best: int, rest: NumPy) -> Rest:
    """How what counts [n] was predicted with the hyperparameters of the start, and with the best."""
    params = problem.system.params
    start = _mean_loss(problem, problem.start[None], params, rest)
    fitted = _mean_loss(path.problem[best], path.x[best : best + 1], params, rest)
    constant = constant_loss(problem.task, problem.weight[0], rest)
    return Rest(start, fitted, constant, int(np.count_nonzero(rest)))


def _mean_loss(problem: Problem, x: NumPy, params: Params, weight: NumPy) -> float:
    """The mean loss by other weights [n] at x [1, k]; `params` are those that are not free."""
    return float(evaluate(problem._replace(weight=np.stack([weight, weight])), "values", x, params)[0, 0])


def _check_count(name: str, value: Any) -> None:
    if not (isinstance(value, int) and value >= 1):
        raise ValueError(f"{name} must be a whole number from 1, got {value!r}")


def _begin(problem: Problem, starts: int, key: Array | None) -> NumPy:
    """[S, k] where searches begin: at the system's own values, and at random about them."""
    begin = np.repeat(problem.start[None], starts, axis=0)
    if starts > 1:
        assert key is not None
        random = jax.random.normal(jax.random.fold_in(key, LAST_ID), begin[1:].shape)
        begin[1:] += np.asarray(random, np.float64)
    return begin


def sweep(
    system: RatingSystem | Fit,
    events: Any,
    params: Params,
    *,
    loss: str | None = None,
    warm_up: float | None = None,
    weight: Any = None,
    state: State = None,
    key: Array | None = None,
) -> NumPy:
    """The mean losses of many settings, as many at once as take about half a gigabyte.

    Args:
      system, events, loss, warm_up, weight, state, key: as for `fit`; of a `Fit`, what it was fitted to is scored.
      params: the hyperparameters, of any `space`, with arrays that broadcast to some shape [...] in place of numbers:
        `system.params._replace(c=c[:, None], initial_deviation=deviation)` is a grid.

    Returns:
      [...] float64; NaN where the system fails.

    Raises:
      ValueError: as `fit`, and for a setting that the system's factory refuses, such as bounds that cross.
    """
    system, _, options = _resume(system, None, loss=loss, warm_up=warm_up, weight=weight, state=state, key=key)
    what = fitted_task(system, events, options)
    shape = np.broadcast_shapes(*(np.shape(x) for x in params if x is not None))
    columns = jax.tree.map(lambda x: np.broadcast_to(np.asarray(x, np.float64), shape).ravel(), params)
    count = math.prod(shape)
    systems = [remade(system, jax.tree.map(lambda x: x[i], columns)) for i in range(count)]  # noqa: B023
    if system.rules.sized is not None or all(one.rules == system.rules for one in systems):
        return _losses(what, columns, count).reshape(shape)
    each = [_losses(fitted_task(one, events, options), one.params, 1) for one in systems]
    return np.concatenate(each).reshape(shape)


def _losses(what: Task, columns: Params, count: int) -> NumPy:
    """[count] the mean losses of settings: leaves [count], or one number."""
    columns = jax.tree.map(np.atleast_1d, columns)
    size, both = at_once(what, count, 1), np.stack([what.weight] * 2)
    result = []
    for at in chunks(count, size):
        some = jax.tree.map(lambda x: x[at], columns)  # noqa: B023
        result.append(
            calculate("values", what, Free((), (), (), ()), np.zeros((size, 0)), np.zeros(0), some, both)[:, 0]
        )
    return np.concatenate(result)[:count] / what.weight.sum()


def profile(
    system: RatingSystem | Fit,
    events: Any,
    name: str,
    values: Any,
    *,
    free: Sequence[str] | None = None,
    loss: str | None = None,
    steps: int = 100,
    warm_up: float | None = None,
    weight: Any = None,
    mode: str | None = None,
    state: State = None,
    key: Array | None = None,
) -> Profile:
    """The least loss for each of some values of one parameter, all others fitted anew: all values at once.

    (Where twice the summed log loss lies less than 3.84 above its least, is a 95 % confidence interval.)

    Args:
      system, events, free, loss, steps, warm_up, weight, mode, state, key: as for `fit`. Each search starts from
        `system.params`, best those of a `Fit`: then what it was fitted to is scored, and the others are those it freed.
      name: of the parameter, in any `space`.
      values: [V].

    Raises:
      ValueError: as `fit`, and for a value that the system's factory refuses.
    """
    given = dict(loss=loss, warm_up=warm_up, weight=weight, mode=mode, state=state, key=key)
    system, free, options = _resume(system, free, **given)
    what, value = fitted_task(system, events, options), np.asarray(values, np.float64)
    for x in value:
        remade(system, system.params._replace(**{name: x}))
    others = tuple(x for x in free_names(system, free) if x != name)
    problem = prepare(what, system, others, what.weight, mode=options.mode)
    columns = jax.tree.map(lambda x: np.full(len(value), x, np.float64), system.params)._replace(**{name: value})
    size = at_once(what, len(value), 1 + len(others))
    losses, found = [], []
    for at in chunks(len(value), size):
        some = jax.tree.map(lambda x: x[at], columns)  # noqa: B023
        path = minimise(problem, np.repeat(problem.start[None], size, axis=0), some, None, steps)
        losses.append(path.loss)
        found.append(params_at(problem, path.x, some))
    params = jax.tree.map(lambda *x: np.concatenate(x)[: len(value)], *found)
    loss_of = np.concatenate(losses)[: len(value)]
    likelihood = what.kind in what.loss.likelihood
    return Profile(value, loss_of, params, system, name, float(what.weight.sum()), options.loss, likelihood)


def rolling(
    system: RatingSystem | Fit,
    events: Any,
    folds: int = 5,
    *,
    free: Sequence[str] | None = None,
    loss: str | None = None,
    steps: int = 100,
    warm_up: float | None = None,
    weight: Any = None,
    mode: str | None = None,
    state: State = None,
    key: Array | None = None,
) -> Rolling:
    """Rolling-origin evaluation: fit the past, score what follows.

    The history is cut into folds + 1 parts of equally many events. Fold i is fitted to the first i + 1 parts, as by
    `fit`, and scored on the next one, whose events are rated on the way.

    Args:
      system, events, free, loss, steps, warm_up, weight, mode, state, key: as for `fit`; of a `Fit`, all events are
        taken, be they fitted or not.
      folds: from 1.

    Raises:
      ValueError: as `fit`, and if a part has nothing to score.
    """
    _check_count("folds", folds)
    given = dict(loss=loss, warm_up=warm_up, weight=weight, mode=mode, state=state, key=key)
    system, free, options = _resume(system, free, **given)
    what = _task(system, events, options)
    part = what.event * (folds + 1) // (what.event[-1] + 1)
    params, count, fitted, default = [], [], [], []
    for i in range(folds):
        past, following = what.weight * (part <= i), what.weight * (part == i + 1)
        if not following.any():
            raise ValueError(f"nothing is scored in part {i + 2} of {folds + 1}; take fewer folds")
        problem = prepare(what, system, free, past, mode=options.mode)
        path = minimise(problem, problem.start[None], system.params, None, steps)
        params.append(params_at(problem, path.x, system.params))
        fitted.append(_mean_loss(path.problem[0], path.x, system.params, following))
        default.append(_mean_loss(problem, problem.start[None], system.params, following))
        count.append(np.count_nonzero(following))
    return Rolling(
        jax.tree.map(lambda *x: np.concatenate(x), *params), np.array(fitted), np.array(default), np.array(count)
    )
