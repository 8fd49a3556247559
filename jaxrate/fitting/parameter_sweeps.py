"""Losses over grids and random draws of hyperparameters, and as the history goes on."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Unpack

import jax
import numpy as np

from jaxrate.core.argument_checks import Numbers, enforce_argument_annotations, format_value_or_type, to_floats
from jaxrate.core.array_types import HostArray
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.rules import Params, SizedPrepare
from jaxrate.core.system import RatingSystem, replace_params
from jaxrate.fitting.fit_problem import params_at, prepare_fit, unstack_params
from jaxrate.fitting.fit_results import Fit, FitOptions, LossProfile, RefitOptions, RollingFits, ScoringOptions
from jaxrate.fitting.free_parameters import FreeParameterTransform, ParameterSettings, resolve_free_names
from jaxrate.fitting.history_loss_derivatives import (
    devices_for_settings,
    equal_size_index_chunks,
    loss_derivatives,
    settings_per_batch,
)
from jaxrate.fitting.hyperparameter_fit import (
    check_positive_integer,
    make_task_from_options,
    make_training_task,
    mean_loss,
    resolve_options,
)
from jaxrate.fitting.multistart_search import minimise_from_starts
from jaxrate.fitting.prediction_task import PredictionTask
from jaxrate.replay.sharding import sharding_devices

SETTINGS_PER_TASK = 8  # settings that an executor is given at a time, as many as share the vectors of a processor


@enforce_argument_annotations
def sweep_parameters(
    system: RatingSystem | Fit,
    events: Any,
    params: Any,
    *,
    executor: Executor | None = None,
    **options: Unpack[ScoringOptions],
) -> HostArray:
    """The mean losses of many settings, as many at once as take half a gigabyte, on a GPU a quarter of its memory.

        jr.fitting.sweep_parameters(jr.elo(), data, jr.elo().params._replace(k=np.array([10.0, 20.0, 40.0])))

    Args:
      system, events: as for `fit`; of a `Fit`, what it was fitted to is scored.
      params: the hyperparameters, of any `space`, with arrays that broadcast to some shape [...] in place of numbers:
        `system.params._replace(c=c[:, None], initial_deviation=deviation)` is a grid. The settings are spread over the
        devices of these arrays, if they lie on several, else over all of this process.
      executor: whose workers each take eight settings at a time, see `compare`; the losses are the same to rounding.
      options: loss, warm_up, weight, state and key, as for `fit`.

    Returns:
      [...] float64; NaN where the system fails.

    Raises:
      ValueError: as `fit`, and for a setting that the system's factory refuses, such as bounds that cross; also for
        settings on devices of other processes.
    """
    system, _, fit_options = resolve_options(system, **options)
    if getattr(params, "_fields", None) != system.params._fields:
        example_params = ", ".join(f"{name}=..." for name in params) if isinstance(params, Mapping) else "k=values"
        example = f"jr.{system.name}().params._replace({example_params})"
        raise ValueError(f"params must be hyperparameters, as {example}, got {format_value_or_type(params)}")
    task, devices = make_training_task(system, events, fit_options), sharding_devices(params)
    shape = np.broadcast_shapes(*(np.shape(x) for x in params if x is not None))
    columns = jax.tree.map(lambda x: np.broadcast_to(np.asarray(x, np.float64), shape).ravel(), params)
    count = math.prod(shape)
    systems = [replace_params(system, one) for one in unstack_params(columns)]
    if isinstance(system.rules.prepare, SizedPrepare) or all(one.rules == system.rules for one in systems):
        return _mean_losses(task, columns, count, executor, devices).reshape(shape)
    losses = map_items(executor, partial(_mean_loss_of_system, events, fit_options), systems)
    return np.concatenate(losses).reshape(shape)


def _mean_loss_of_system(events: Any, options: FitOptions, system: RatingSystem) -> HostArray:
    """[1] the mean loss of a system whose rules are its own."""
    return _mean_losses(make_training_task(system, events, options), system.params, 1)


def _mean_losses(
    task: PredictionTask, settings: Params, count: int, executor: Executor | None = None, devices: Sequence[Any] = ()
) -> HostArray:
    """[count] the mean losses of settings: leaves [count], or one number."""
    settings = jax.tree.map(np.atleast_1d, settings)
    devices = devices or devices_for_settings(task, count)
    size = min(max(len(devices), 1) * settings_per_batch(task, count, 1), count)
    if executor is not None:
        size, devices = min(size, SETTINGS_PER_TASK), []
    chunks = [jax.tree.map(lambda x: x[at], settings) for at in equal_size_index_chunks(count, size)]  # noqa: B023
    result = map_items(executor, partial(_summed_losses, task, size, devices), chunks)
    return np.concatenate(result)[:count] / task.weight.sum()


def _summed_losses(task: PredictionTask, size: int, devices: Sequence[Any], settings: Params) -> HostArray:
    """[size] the summed losses of settings, leaves [size]."""
    nothing_free = FreeParameterTransform((), (), (), ())
    points, weights = ParameterSettings(nothing_free, np.zeros((size, 0)), np.zeros(0), settings), [task.weight] * 2
    losses: HostArray = loss_derivatives("values", task, points, np.stack(weights), devices=devices)[:, 0]
    return losses


@enforce_argument_annotations
def profile_loss(
    system: RatingSystem | Fit,
    events: Any,
    name: str,
    values: Numbers,
    **options: Unpack[RefitOptions],
) -> LossProfile:
    """The least loss for each of some values of one parameter, all others fitted anew: all values at once.

        jr.fitting.profile_loss(jr.glicko(), data, "c", [5.0, 20.0, 50.0], free=["c", "initial_deviation"])

    (Where twice the summed log loss lies less than 3.84 above its least, is a 95% confidence interval.)

    Args:
      system, events: as for `fit`. Each search starts from `system.params`, best those of a `Fit`: then what it was
        fitted to is scored, and the others are those it freed.
      name: of the parameter, in any `space`.
      values: [V] the values at which the hyperparameter is held.
      options: free, loss, steps, warm_up, weight, mode, state and key, as for `fit`.

    Raises:
      ValueError: as `fit`, and for a value that the system's factory refuses.
    """
    steps = options.pop("steps", 100)
    system, free, fit_options = resolve_options(system, **options)
    task, value = make_training_task(system, events, fit_options), to_floats("values", values)
    if value.ndim != 1 or not value.size:
        raise ValueError(f"values must be [V] numbers, at least one, got the shape {value.shape}")
    for x in value:
        replace_params(system, system.params._replace(**{name: x}))
    other_names = tuple(x for x in resolve_free_names(system, free) if x != name)
    problem = prepare_fit(task, system, other_names, task.weight, mode=fit_options.mode)
    columns = jax.tree.map(lambda x: np.full(len(value), x, np.float64), system.params)._replace(**{name: value})
    size = settings_per_batch(task, len(value), 1 + len(other_names))
    losses, best_params = [], []
    for indices in equal_size_index_chunks(len(value), size):
        chunk_params = jax.tree.map(lambda x: x[indices], columns)  # noqa: B023
        searches = minimise_from_starts(
            problem, np.repeat(problem.start[None], size, axis=0), chunk_params, None, steps
        )
        losses.append(searches.loss)
        best_params.append(params_at(problem, searches.x, chunk_params))
    params = jax.tree.map(lambda *x: np.concatenate(x)[: len(value)], *best_params)
    profile_losses = np.concatenate(losses)[: len(value)]
    likelihood = task.kind in task.loss.likelihood
    total_weight = float(task.weight.sum())
    return LossProfile(value, profile_losses, params, system, name, total_weight, fit_options.loss, likelihood)


@enforce_argument_annotations
def fit_rolling(
    system: RatingSystem | Fit,
    events: Any,
    folds: int = 5,
    *,
    executor: Executor | None = None,
    **options: Unpack[RefitOptions],
) -> RollingFits:
    """Rolling-origin evaluation: fit the past, score the events that follow.

        jr.fitting.fit_rolling(jr.elo(), data, folds=2)

    The history is cut into folds + 1 parts of equally many events. Fold i is fitted to the first i + 1 parts, as by
    `fit`, and scored on the next one, whose events are rated on the way.

    Args:
      system, events: as for `fit`; of a `Fit`, all events are taken, be they fitted or not.
      folds: the number of folds, at least 1.
      executor: whose workers each take a fold, see `compare`; the numbers are the same.
      options: free, loss, steps, warm_up, weight, mode, state and key, as for `fit`.

    Raises:
      ValueError: as `fit`, and if a part has nothing to score.
    """
    check_positive_integer("folds", folds)
    steps = options.pop("steps", 100)
    system, free, fit_options = resolve_options(system, **options)
    task = make_task_from_options(system, events, fit_options)
    if folds > task.event[-1]:
        raise ValueError(f"{folds} folds need more than {folds} events; take fewer folds")
    fold_part = task.event * (folds + 1) // (task.event[-1] + 1)
    weights = [(task.weight * (fold_part <= i), task.weight * (fold_part == i + 1)) for i in range(folds)]
    for i, (_, next_weights) in enumerate(weights):
        if not next_weights.any():
            raise ValueError(f"nothing is scored in part {i + 2} of {folds + 1}; take fewer folds")
    fold_results = map_items(executor, partial(_evaluate_fold, task, system, free, fit_options.mode, steps), weights)
    params, fitted, default, count = zip(*fold_results, strict=True)
    return RollingFits(
        jax.tree.map(lambda *x: np.concatenate(x), *params), np.array(fitted), np.array(default), np.array(count)
    )


def _evaluate_fold(
    task: PredictionTask,
    system: RatingSystem,
    free: Sequence[str] | None,
    mode: str | None,
    steps: int,
    weights: tuple[HostArray, HostArray],
) -> tuple[Params, float, float, int]:
    """A fold's fields of `RollingFits`, from the weights [n] before it and in it; leaves of parameters are [1]."""
    past_weights, next_weights = weights
    problem = prepare_fit(task, system, free, past_weights, mode=mode)
    search = minimise_from_starts(problem, problem.start[None], system.params, None, steps)
    fitted = mean_loss(search.problem[0], search.x, system.params, next_weights)
    default = mean_loss(problem, problem.start[None], system.params, next_weights)
    return params_at(problem, search.x, system.params), fitted, default, int(np.count_nonzero(next_weights))
