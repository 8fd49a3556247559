"""Many settings of the same history: their losses, and the least loss for each value of one parameter."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxrate.arguments import Key, Numbers, check_arguments, format_value, to_floats
from jaxrate.events import Array
from jaxrate.executors import Executor, each
from jaxrate.fitting.fit import fitted_task, resumed
from jaxrate.fitting.found import Fit, Options, Profile
from jaxrate.fitting.free import Free, free_names
from jaxrate.fitting.problem import params_at, prepare
from jaxrate.fitting.search import minimise
from jaxrate.fitting.slopes import at_once, calculate, chunks, devices_for
from jaxrate.fitting.task import Task
from jaxrate.records.metrics import NumPy
from jaxrate.replay.spread import devices_of
from jaxrate.system import Params, RatingSystem, State, remade

PIECE = 8  # settings that an executor is given at a time, as many as share the vectors of a processor


@check_arguments
def sweep(
    system: RatingSystem | Fit,
    events: Any,
    params: Any,
    *,
    loss: str | Callable[[Array, Array], Array] | None = None,
    warm_up: float | None = None,
    weight: Any = None,
    state: State = None,
    key: Key | None = None,
    executor: Executor | None = None,
) -> NumPy:
    """The mean losses of many settings, as many at once as take half a gigabyte, on a GPU a quarter of its memory.

        jr.sweep(jr.elo(), data, jr.elo().params._replace(k=np.array([10.0, 20.0, 40.0])))

    Args:
      system, events, loss, warm_up, weight, state, key: as for `fit`; of a `Fit`, what it was fitted to is scored.
      params: the hyperparameters, of any `space`, with arrays that broadcast to some shape [...] in place of numbers:
        `system.params._replace(c=c[:, None], initial_deviation=deviation)` is a grid. The settings are spread over the
        devices of these arrays, if they lie on several, else over all of this process.
      executor: whose workers each take eight settings at a time, see `compare`; the losses are the same to rounding.

    Returns:
      [...] float64; NaN where the system fails.

    Raises:
      ValueError: as `fit`, and for a setting that the system's factory refuses, such as bounds that cross; also for
        settings on devices of other processes.
    """
    system, _, options = resumed(system, None, loss=loss, warm_up=warm_up, weight=weight, state=state, key=key)
    if getattr(params, "_fields", None) != system.params._fields:
        named = ", ".join(f"{name}=..." for name in params) if isinstance(params, Mapping) else "k=values"
        example = f"jr.{system.name}().params._replace({named})"
        raise ValueError(f"params must be hyperparameters, as {example}, got {format_value(params)}")
    what, devices = fitted_task(system, events, options), devices_of(params)
    shape = np.broadcast_shapes(*(np.shape(x) for x in params if x is not None))
    columns = jax.tree.map(lambda x: np.broadcast_to(np.asarray(x, np.float64), shape).ravel(), params)
    count = math.prod(shape)
    systems = [remade(system, jax.tree.map(lambda x: x[i], columns)) for i in range(count)]  # noqa: B023
    if system.rules.sized is not None or all(one.rules == system.rules for one in systems):
        return _losses(what, columns, count, executor, devices).reshape(shape)
    found = each(executor, partial(_alone, events, options), systems)
    return np.concatenate(found).reshape(shape)


def _alone(events: Any, options: Options, system: RatingSystem) -> NumPy:
    """[1] the mean loss of a system whose rules are its own."""
    return _losses(fitted_task(system, events, options), system.params, 1)


def _losses(
    what: Task, columns: Params, count: int, executor: Executor | None = None, devices: Sequence[Any] = ()
) -> NumPy:
    """[count] the mean losses of settings: leaves [count], or one number."""
    columns = jax.tree.map(np.atleast_1d, columns)
    devices = devices or devices_for(what, count)
    size = min(max(len(devices), 1) * at_once(what, count, 1), count)
    if executor is not None:
        size, devices = min(size, PIECE), []
    pieces = [jax.tree.map(lambda x: x[at], columns) for at in chunks(count, size)]  # noqa: B023
    result = each(executor, partial(_summed, what, size, devices), pieces)
    return np.concatenate(result)[:count] / what.weight.sum()


def _summed(what: Task, size: int, devices: Sequence[Any], columns: Params) -> NumPy:
    """[size] the summed losses of settings, leaves [size]."""
    none, both = Free((), (), (), ()), np.stack([what.weight] * 2)
    given = np.zeros((size, 0)), np.zeros(0), columns, both
    losses: NumPy = calculate("values", what, none, *given, devices=devices)[:, 0]
    return losses


@check_arguments
def profile(
    system: RatingSystem | Fit,
    events: Any,
    name: str,
    values: Numbers,
    *,
    free: Sequence[str] | None = None,
    loss: str | Callable[[Array, Array], Array] | None = None,
    steps: int = 100,
    warm_up: float | None = None,
    weight: Any = None,
    mode: str | None = None,
    state: State = None,
    key: Key | None = None,
) -> Profile:
    """The least loss for each of some values of one parameter, all others fitted anew: all values at once.

        jr.profile(jr.glicko(), data, "c", [5.0, 20.0, 50.0], free=["c", "initial_deviation"])

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
    system, free, options = resumed(system, free, **given)
    what, value = fitted_task(system, events, options), to_floats("values", values)
    if value.ndim != 1:
        raise ValueError(f"values must be [V] numbers, got the shape {value.shape}")
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
