"""Losses over grids and random draws of hyperparameters, and as the history goes on.

Intervals of one hyperparameter by its likelihood profile, also where a fit leaves it open.

Twice the summed log loss above its least, all others fitted anew, has a chi-squared law of one degree of freedom at the
true value (Wilks 1938). Where predictions have no joint likelihood, as in contests, twice the sum is divided by the
factor that the variance of the contests' differences calls for (Varin, Reid and Firth 2011, section 2.4): near the best
value, the sum of differences d of contests is delta^2 H / 2 and their variance delta^2 J, so that 2 sum(d) / sqrt(sum
(d - mean d)^2) is about delta H / sqrt J, a standard normal. It needs no curvature.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple, TypeAlias, Unpack

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import Numbers, enforce_argument_annotations, format_value_or_type, to_floats
from jaxrate.core.array_types import HostArray
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.rules import Params, SizedPrepare
from jaxrate.core.system import RatingSystem, replace_params
from jaxrate.fitting.fit_problem import (
    IneffectiveHyperparametersError,
    params_at,
    prepare_fit,
    replace_params_if_valid,
    unstack_params,
)
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
from jaxrate.fitting.losses import prediction_losses
from jaxrate.fitting.multistart_search import minimise_from_starts
from jaxrate.fitting.prediction_task import PredictionTask, replay_task
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


MAX_LOG_DISTANCE = (
    7.0  # a logarithm or logit of an open parameter is tried so far to either side: factors of about 1100
)
INITIAL_STANDARD_ERRORS = 5.0  # standard errors to either side that are tried first
INITIAL_VALUES = 15  # of the first profile
MAX_EXTENSIONS = 2  # how often as many more are tried beyond an end that is not refuted
BORDER_VALUES = 3  # values that are tried on the way across the border
VALUES_AT_ONCE = 8  # always as many, since another number would be compiled anew


class LikelihoodInterval(NamedTuple):
    """The values of a hyperparameter that the events do not refute."""

    name: str
    low: float  # -inf: none of the values that were tried bounds it from below
    high: float  # inf: nor from above
    level: float
    profile: LossProfile  # the values tried, for `jaxrate.plots.profile`
    deviance: HostArray  # [V] signed root of twice the summed loss above its least at each value

    def __repr__(self) -> str:
        tried, unit = self.profile.value, getattr(self.profile.system.space, self.name).unit
        sure = f"with {100 * self.level:g}% confidence"
        number = "" if unit in ("1", "share", "factor", "number") else f" {unit}"
        above = f"no value up to {tried.max():.4g}, the largest tried, is refuted"
        below = f"no value down to {tried.min():.4g}, the least tried, is refuted"
        low, high = f"{self.low:.4g}", f"{self.high:.4g}"
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"{self.name}: {low} to {high}{number} {sure}"
        if math.isfinite(self.low):
            return f"{self.name}: at least {low}{number} {sure}; {above}"
        if math.isfinite(self.high):
            return f"{self.name}: at most {high}{number} {sure}; {below}"
        return f"{self.name}: open; no value from {tried.min():.4g} to {tried.max():.4g}{number} is refuted {sure}"


@enforce_argument_annotations
def likelihood_interval(fit: Fit, events: Any, name: str, *, level: float = 0.95) -> LikelihoodInterval:
    """The values of a fitted hyperparameter that the events do not refute, whether or not it has a standard error.

        data = jr.data.datasets.nfl()
        fit = jr.fit(jr.glicko(), data, free=["c", "side_advantage"], errors="products")
        print(jr.fitting.likelihood_interval(fit, data, "side_advantage"))

    All others are fitted anew for each of some values, out to 5 standard errors, or by factors of 1100 where the fit
    leaves the parameter open, and three times as far where that does not reach an end. An end is where the loss rises
    too far for chance; an end at which it does not, is infinite: the interval is then one-sided, or the parameter open.
    (Values beyond what the factory of the system takes are not tried, and others without any effect stay as they are.)

    Args:
      fit: of the log loss, or another. Where its sum is no log likelihood, as in contests, the variance of the loss
        from contest to contest takes its place.
      events: the events to which the system was fitted.
      name: the hyperparameter, one of `fit.free`.
      level: the share of such intervals that hold the truth.

    Raises:
      ValueError: for a parameter that was not fitted, or a level that is not above 0 and below 1.
    """
    if name not in fit.free:
        raise ValueError(f"{name!r} was not fitted (those were {', '.join(fit.free)})")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be above 0 and below 1, got {level}")
    border = NormalDist().inv_cdf((1.0 + level) / 2.0)
    task = make_training_task(fit.system, events, fit.options)
    space, best_value = getattr(fit.system.space, name).space, getattr(fit.params, name)
    other_names = _names_with_effect(fit, task, tuple(x for x in fit.free if x != name))
    error = fit.standard_error[name] * _unconstraining_transform_derivative(space, best_value)
    width = MAX_LOG_DISTANCE * (1.0 if space != "real" else max(1.0, abs(best_value)))
    if math.isfinite(error) and error > 0.0:
        width = INITIAL_STANDARD_ERRORS * error
    width = width if space == "real" else min(width, MAX_LOG_DISTANCE)
    profile_at = partial(_profile_loss_at_values, fit, events, name, other_names, task, space)
    curve_of = partial(_deviance_curve, task, space)
    profile = profile_at(_to_unconstrained(space, best_value) + np.linspace(-width, width, INITIAL_VALUES))
    profile = _extend_open_ends(profile, profile_at, curve_of, width, border)
    profile = _refine_borders(profile, profile_at, curve_of, border)
    t, root = curve_of(profile)
    best_index = int(np.nanargmin(profile.loss))
    high = upper_border_crossing(t[best_index:], root[best_index:], border)
    low = -upper_border_crossing(-t[: best_index + 1][::-1], -root[: best_index + 1][::-1], border)
    low, high = (x if math.isinf(x) else _to_constrained(space, x) for x in (low, high))
    return LikelihoodInterval(name, low, high, level, profile, root)


Curve: TypeAlias = tuple[HostArray, HostArray]  # [N] unconstrained values, and signed roots of the deviance there


def _deviance_curve(task: PredictionTask, space: str, profile: LossProfile) -> Curve:
    return np.array([_to_unconstrained(space, x) for x in profile.value]), _signed_root_deviance(task, profile)


def _extend_open_ends(
    profile: LossProfile,
    profile_at: Callable[[HostArray], LossProfile],
    curve_of: Callable[[LossProfile], Curve],
    width: float,
    border: float,
) -> LossProfile:
    """The profile with values further out where its ends are within the border, as far as the factory allows them."""
    for _ in range(MAX_EXTENSIONS):
        ends = _profile_ends_and_whether_within_border(*curve_of(profile), border)
        points = [end + sign * width * np.array([0.25, 0.5, 0.75, 1.0]) for end, sign, is_open in ends if is_open]
        extension = profile_at(np.concatenate(points)) if points else None
        if extension is None or not len(extension.value):
            break
        profile = _merge_profiles(profile, extension)
    return profile


def _refine_borders(
    profile: LossProfile,
    profile_at: Callable[[HostArray], LossProfile],
    curve_of: Callable[[LossProfile], Curve],
    border: float,
) -> LossProfile:
    """The profile with more values where the deviance passes the border."""
    for _ in range(2):
        t, root = curve_of(profile)
        is_outside = np.abs(root) > border
        passes = np.flatnonzero(is_outside[1:] != is_outside[:-1])
        points = [np.linspace(t[i], t[i + 1], BORDER_VALUES + 2)[1:-1] for i in passes]
        if points:
            profile = _merge_profiles(profile, profile_at(np.concatenate(points)))
    return profile


def _names_with_effect(fit: Fit, task: PredictionTask, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of hyperparameters that change a prediction where the fit ended."""
    try:
        if names:
            prepare_fit(task, fit.system, names, task.weight, mode=fit.options.mode)
        return names
    except IneffectiveHyperparametersError as error:
        return _names_with_effect(fit, task, tuple(x for x in names if x not in error.names))


def _profile_ends_and_whether_within_border(
    t: HostArray, root: HostArray, border: float
) -> list[tuple[float, float, bool]]:
    """The last and the first value, with their direction and whether the deviance there is within the border."""
    return [(float(t[-1]), 1.0, bool(root[-1] < border)), (float(t[0]), -1.0, bool(root[0] > -border))]


def _to_unconstrained(space: str, x: float) -> float:
    return math.log(x) if space == "positive" else math.log(x / (1.0 - x)) if space == "unit" else float(x)


def _to_constrained(space: str, t: float) -> float:
    return math.exp(t) if space == "positive" else 1.0 / (1.0 + math.exp(-t)) if space == "unit" else t


def _unconstraining_transform_derivative(space: str, x: float) -> float:
    return 1.0 / x if space == "positive" else 1.0 / (x * (1.0 - x)) if space == "unit" else 1.0


def _profile_loss_at_values(
    fit: Fit, events: Any, name: str, other_names: tuple[str, ...], task: PredictionTask, space: str, t: HostArray
) -> LossProfile:
    """The profile at those of the unconstrained values t that the factory allows."""
    values = [_to_constrained(space, x) for x in t.tolist()]
    allowed_values = np.array(
        [x for x in values if replace_params_if_valid(fit.system, fit.params._replace(**{name: x})) is not None]
    )
    if other_names and len(allowed_values):
        batches = equal_size_index_chunks(len(allowed_values), VALUES_AT_ONCE)
        return _merge_profiles(*(profile_loss(fit, events, name, allowed_values[i]) for i in batches))
    params = jax.tree.map(lambda x: np.full(len(allowed_values), x), fit.params)._replace(**{name: allowed_values})
    likelihood, weight = task.kind in task.loss.likelihood, float(task.weight.sum())
    loss = (
        np.array([_event_losses(task, fit.system, _params_at(params, i)).sum() for i in range(len(allowed_values))])
        / weight
    )
    return LossProfile(allowed_values, loss, params, fit.system, name, weight, fit.options.loss, likelihood)


def _merge_profiles(*profiles: LossProfile) -> LossProfile:
    """Profiles as one, by increasing value, each value once."""
    value, order = np.unique(np.concatenate([x.value for x in profiles]), return_index=True)
    params = jax.tree.map(lambda *x: np.concatenate(x)[order], *(x.params for x in profiles))
    return profiles[0]._replace(value=value, loss=np.concatenate([x.loss for x in profiles])[order], params=params)


def _params_at(params: Params, i: int) -> Params:
    return jax.tree.map(lambda x: float(x[i]), params)


def _event_losses(task: PredictionTask, system: RatingSystem, params: Params) -> HostArray:
    """[events] the summed loss of each event."""
    prediction = replay_task(task, params)
    weight = jnp.asarray(task.weight, float)
    losses = (
        np.asarray(prediction_losses(task.loss, prediction, task.score, jnp.stack([weight, weight])), np.float64)
        * task.weight
    )
    return np.bincount(task.event, losses)


def _signed_root_deviance(task: PredictionTask, likelihood_profile: LossProfile) -> HostArray:
    """[V] the signed root of the deviance: below 0 for values under the best, standard normal at the truth."""
    best_index = int(np.nanargmin(likelihood_profile.loss))
    side = np.sign(np.arange(len(likelihood_profile.value)) - best_index)
    excess_loss = likelihood_profile.weight * np.maximum(
        np.nan_to_num(likelihood_profile.loss, nan=np.inf) - likelihood_profile.loss[best_index], 0.0
    )
    if likelihood_profile.likelihood:
        return np.asarray(side * np.sqrt(2.0 * excess_loss))
    least_losses = _event_losses(task, likelihood_profile.system, _params_at(likelihood_profile.params, best_index))
    spread = np.ones(len(likelihood_profile.value))
    for i in range(len(likelihood_profile.value)):
        difference = (
            _event_losses(task, likelihood_profile.system, _params_at(likelihood_profile.params, i)) - least_losses
        )
        spread[i] = math.sqrt(np.sum((difference - difference.mean()) ** 2))
    return np.asarray(side * 2.0 * excess_loss / np.where(spread > 0.0, spread, 1.0))


def upper_border_crossing(t: HostArray, root: HostArray, border: float) -> float:
    """The first t, from the best value up, at which the deviance reaches the border; inf if it never does."""
    running_max = np.maximum.accumulate(root)
    return float(np.interp(border, running_max, t)) if running_max[-1] >= border else math.inf
