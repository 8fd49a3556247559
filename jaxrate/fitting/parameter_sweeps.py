"""Losses over grids and random draws of hyperparameters, over values of one, and as the history goes on."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxrate.core.argument_checks import (
    Numbers,
    check_count,
    enforce_argument_annotations,
    format_value_or_type,
    to_floats,
)
from jaxrate.core.array_types import HostArray
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, replace_params
from jaxrate.fitting.fit_problem import mean_loss, params_at, prepare_fit, unstack_params
from jaxrate.fitting.fit_results import Fit, LossProfile, RollingFits
from jaxrate.fitting.free_parameters import FreeParameterTransform, ParameterSettings, resolve_free_names
from jaxrate.fitting.history_loss_derivatives import (
    devices_for_settings,
    equal_size_index_chunks,
    settings_per_batch,
    summed_losses,
)
from jaxrate.fitting.hyperparameter_fit import resolve_objective
from jaxrate.fitting.objectives import Objective
from jaxrate.fitting.prediction_task import PredictionTask, make_prediction_task
from jaxrate.fitting.search import minimise_from_starts
from jaxrate.replay.padded_states_and_columns import sharding_devices

SETTINGS_PER_TASK = 8  # settings that an executor is given at a time, as many as share the vectors of a processor
MAX_FOLDS = 10**6
NOTHING_FREE = FreeParameterTransform((), (), (), ())


@enforce_argument_annotations
def sweep_parameters(
    system: RatingSystem | Fit,
    events: Any,
    params: Any,
    *,
    objective: Objective | None = None,
    executor: Executor | None = None,
) -> HostArray:
    """The mean losses of many settings, as many at once as take half a gigabyte, on a GPU a quarter of its memory.

        jr.fitting.sweep_parameters(jr.elo(), data, jr.elo().params._replace(k=np.array([10.0, 20.0, 40.0])))

    Args:
      system: a system, or a `Fit`, of which what it was fitted to is scored.
      events: the history, as for `fit`.
      params: the hyperparameters, of any `space`, with arrays that broadcast to some shape [...] in place of numbers:
        `system.params._replace(c=c[:, None], initial_deviation=deviation)` is a grid. The settings are spread over the
        devices of these arrays, if they lie on several, else over all of this process.
      objective: as for `fit`. None: that of the `Fit`, or the log loss of all events.
      executor: whose workers each take eight settings at a time, see `compare`; the losses are the same to rounding.

    Returns:
      [...] float64; NaN where the system fails.

    Raises:
      ValueError: as `fit`, and for a setting that the system's factory refuses, such as bounds that cross; also for
        settings on devices of other processes.
    """
    system, _, objective = resolve_objective(system, objective)
    if getattr(params, "_fields", None) != system.params._fields:
        example_params = ", ".join(f"{name}=..." for name in params) if isinstance(params, Mapping) else "k=values"
        example = f"jr.{system.name}().params._replace({example_params})"
        raise ValueError(f"params must be hyperparameters, as {example}, got {format_value_or_type(params)}")
    task = make_prediction_task(system, events, objective)
    shape = np.broadcast_shapes(*(np.shape(x) for x in params if x is not None))
    columns = jax.tree.map(lambda x: np.broadcast_to(np.asarray(x, np.float64), shape).ravel(), params)
    for one in unstack_params(columns):
        replace_params(system, one)
    return sweep_settings(task, columns, math.prod(shape), executor, sharding_devices(params)).reshape(shape)


def sweep_settings(
    task: PredictionTask, settings: Params, count: int, executor: Executor | None = None, devices: Sequence[Any] = ()
) -> HostArray:
    """[count] the mean losses of settings: leaves [count]."""
    devices = devices or devices_for_settings(task, count)
    size = min(max(len(devices), 1) * settings_per_batch(task, count, 1), count)
    if executor is not None:
        size, devices = min(size, SETTINGS_PER_TASK), []
    chunks = [jax.tree.map(lambda x: x[at], settings) for at in equal_size_index_chunks(count, size)]  # noqa: B023
    result = map_items(executor, partial(_summed_losses, task, size, devices), chunks)
    return np.concatenate(result)[:count] / task.weight.sum()


def _summed_losses(task: PredictionTask, size: int, devices: Sequence[Any], settings: Params) -> HostArray:
    """[size] the summed losses of settings, leaves [size]."""
    return summed_losses(task, ParameterSettings(NOTHING_FREE, np.zeros((size, 0)), settings), devices)


@enforce_argument_annotations
def profile_loss(
    system: RatingSystem | Fit,
    events: Any,
    name: str,
    values: Numbers,
    *,
    free: Sequence[str] | None = None,
    objective: Objective | None = None,
    steps: int = 100,
) -> LossProfile:
    """The least loss for each of some values of one parameter, all others fitted anew: all values at once.

        jr.fitting.profile_loss(jr.glicko(), data, "c", [5.0, 20.0, 50.0], free=["c", "initial_deviation"])

    (Where twice the summed log loss lies less than 3.84 above its least, is a 95% confidence interval.)

    Args:
      system: a system, or a `Fit`. Each search starts from `system.params`, best those of a `Fit`: then what it was
        fitted to is scored, and the others are those it freed.
      events: the history, as for `fit`.
      name: of the parameter, in any `space`.
      values: [V] the values at which the hyperparameter is held.
      free: the hyperparameters that are fitted anew, as for `fit`; none: the losses as they are.
      objective: what is minimised, as for `fit`.
      steps: the greatest number of steps of each search, as for `fit`.

    Raises:
      ValueError: as `fit`, and for a value that the system's factory refuses.
    """
    system, free, objective = resolve_objective(system, objective, free)
    task, value = make_prediction_task(system, events, objective), to_floats("values", values)
    if value.ndim != 1 or not value.size:
        raise ValueError(f"values must be [V] numbers, at least one, got the shape {value.shape}")
    for x in value:
        replace_params(system, system.params._replace(**{name: x}))
    others = [x for x in resolve_free_names(system, free) if x != name]
    return profile_task(task, name, value, others, steps)


def profile_task(
    task: PredictionTask, name: str, value: HostArray, others: Sequence[str], steps: int = 100, size: int | None = None
) -> LossProfile:
    """The profile of a parameter at these values [V], `size` of them at a time, with others of these names fitted."""
    system = task.system
    columns = jax.tree.map(lambda x: np.full(len(value), x, np.float64), system.params)._replace(**{name: value})
    if others:
        problem = prepare_fit(task, others)
        chunks = equal_size_index_chunks(len(value), size or settings_per_batch(task, len(value), 1 + len(others)))
        losses, best_params = [], []
        for indices in chunks:
            settings = jax.tree.map(lambda x: x[indices], columns)  # noqa: B023
            searches = minimise_from_starts(
                problem, np.repeat(problem.start[None], len(indices), axis=0), settings, steps
            )
            losses += [x.best.loss for x in searches]
            best_params.append(params_at(problem, np.stack([x.best.z for x in searches]), settings))
        columns = jax.tree.map(lambda *x: np.concatenate(x)[: len(value)], *best_params)
        loss = np.array(losses)[: len(value)]
    else:
        loss = sweep_settings(task, columns, len(value))
    total_weight = float(task.weight.sum())
    return LossProfile(value, loss, columns, system, name, total_weight, task.objective.loss, task.is_likelihood)


@enforce_argument_annotations
def fit_rolling(
    system: RatingSystem | Fit,
    events: Any,
    folds: int = 5,
    *,
    free: Sequence[str] | None = None,
    objective: Objective | None = None,
    steps: int = 100,
    executor: Executor | None = None,
) -> RollingFits:
    """Rolling-origin evaluation: fit the past, score the events that follow.

        jr.fitting.fit_rolling(jr.elo(), data, folds=2)

    The history is cut into folds + 1 parts of equally many events. Fold i is fitted to the first i + 1 parts, as by
    `fit`, and scored on the next one, whose events are rated on the way.

    Args:
      system: a system, or a `Fit`.
      events: the history, as for `fit`; of a `Fit`, all events are taken, be they fitted or not.
      folds: the number of folds, at least 1.
      free: the hyperparameters that are fitted, as for `fit`.
      objective: what is minimised, as for `fit`.
      steps: the greatest number of steps of each fit, as for `fit`.
      executor: whose workers each take a fold, see `compare`; the numbers are the same.

    Raises:
      ValueError: as `fit`, and if a part has nothing to score, and for the evidence, which is of a whole history.
    """
    check_count("folds", folds, 1, MAX_FOLDS)
    system, free, objective = resolve_objective(system, objective, free)
    if objective.by_evidence:
        raise ValueError("the evidence is of a whole history, and of no part; take objective=ahead()")
    task = make_prediction_task(system, events, objective._replace(data_share=1.0))
    if folds > task.event[-1]:
        raise ValueError(f"{folds} folds need more than {folds} events; take fewer folds")
    part = task.event * (folds + 1) // (task.event[-1] + 1)
    weights = [(task.weight * (part <= i), task.weight * (part == i + 1)) for i in range(folds)]
    for i, (_, next_weights) in enumerate(weights):
        if not next_weights.any():
            raise ValueError(f"nothing is scored in part {i + 2} of {folds + 1}; take fewer folds")
    fold_results = map_items(executor, partial(_evaluate_fold, task, free, steps), weights)
    params, fitted, default, count = zip(*fold_results, strict=True)
    return RollingFits(
        jax.tree.map(lambda *x: np.concatenate(x), *params), np.array(fitted), np.array(default), np.array(count)
    )


def _evaluate_fold(
    task: PredictionTask, free: Sequence[str] | None, steps: int, weights: tuple[HostArray, HostArray]
) -> tuple[Params, float, float, int]:
    """A fold's fields of `RollingFits`, from the weights [n] before it and in it; leaves of parameters are [1]."""
    past_weights, next_weights = weights
    problem = prepare_fit(task._replace(weight=past_weights), free)
    search = minimise_from_starts(problem, problem.start[None], task.system.params, steps)[0]
    fitted, default = (mean_loss(problem, z, next_weights) for z in (search.best.z, problem.start))
    params = params_at(problem, search.best.z[None], task.system.params)
    return params, fitted, default, int(np.count_nonzero(next_weights))
