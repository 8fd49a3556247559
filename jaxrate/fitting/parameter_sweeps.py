"""Losses over grids and random draws of hyperparameters, over values of one, and as the history goes on.

Intervals of one hyperparameter are those by its likelihood profile, also where a fit leaves it open.
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
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit, logit  # type: ignore[import-untyped]

from jaxrate.core.argument_checks import (
    Numbers,
    check_count,
    check_that,
    enforce_argument_annotations,
    format_value_or_type,
    to_floats,
)
from jaxrate.core.array_types import HostArray
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, replace_params
from jaxrate.fitting.fit_problem import (
    IneffectiveHyperparametersError,
    devices_for_settings,
    equal_size_index_chunks,
    mean_loss,
    params_at,
    prepare_fit,
    replace_params_if_valid,
    settings_per_batch,
    summed_losses,
    unstack_params,
)
from jaxrate.fitting.fit_results import Fit, LossProfile, RollingFits
from jaxrate.fitting.free_parameters import (
    FreeParameterTransform,
    ParameterSettings,
    hold_parameter,
    resolve_free_names,
)
from jaxrate.fitting.hyperparameter_fit import resolve_objective
from jaxrate.fitting.losses import Objective, prediction_losses
from jaxrate.fitting.prediction_task import PredictionTask, make_prediction_task, replay_predictions
from jaxrate.fitting.search import minimise_from_starts
from jaxrate.replay.padded_arrays import sharding_devices

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
      objective: as for `fit`. None: that of the `Fit`, or as for `fit`.
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
    devices, shape = sharding_devices(params), np.broadcast_shapes(*(np.shape(x) for x in params if x is not None))
    columns = jax.tree.map(lambda x: np.broadcast_to(np.asarray(x, np.float64), shape).ravel(), params)
    for one in unstack_params(columns):
        replace_params(system, one)
    return mean_losses_of_settings(task, columns, math.prod(shape), executor, devices).reshape(shape)


def mean_losses_of_settings(
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
        replace_params(system, hold_parameter(system, name, x))
    others = [x for x in resolve_free_names(system, free) if x != name]
    return profile_task(task, name, value, others, steps)


def profile_task(
    task: PredictionTask, name: str, value: HostArray, others: Sequence[str], steps: int = 100, size: int | None = None
) -> LossProfile:
    """The profile of a parameter at these values [V], `size` of them at a time, with others of these names fitted."""
    system = task.system
    held = hold_parameter(system, name, value)
    columns = jax.tree.map(lambda x: np.array(np.broadcast_to(x, value.shape), np.float64), held)
    if others:
        problem = prepare_fit(task, others)
        chunks = equal_size_index_chunks(len(value), size or settings_per_batch(task, len(value), 1 + len(others)))
        losses, best_params = [], []
        for indices in chunks:
            settings = jax.tree.map(lambda x: x[indices], columns)  # noqa: B023
            starts = np.repeat(problem.start[None], len(indices), axis=0)
            searches = minimise_from_starts(problem, starts, settings, steps)
            losses += [x.best.loss for x in searches]
            best_params.append(params_at(problem, np.stack([x.best.z for x in searches]), settings))
        columns = jax.tree.map(lambda *x: np.concatenate(x)[: len(value)], *best_params)
        loss = np.array(losses)[: len(value)]
    else:
        loss = mean_losses_of_settings(task, columns, len(value))
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
    check_that(not objective.by_evidence, "the evidence is of a whole history, and of no part; take objective=ahead()")
    task = make_prediction_task(system, events, objective._replace(data_share=1.0))
    check_that(folds <= task.event[-1], f"{folds} folds need more than {folds} events; take fewer folds")
    part = task.event * (folds + 1) // (task.event[-1] + 1)
    weights = [(task.weight * (part <= i), task.weight * (part == i + 1)) for i in range(folds)]
    for i, (_, next_weights) in enumerate(weights):
        if not next_weights.any():
            raise ValueError(f"nothing is scored in part {i + 2} of {folds + 1}; take fewer folds")
    fold_results = map_items(executor, partial(_evaluate_fold, task, free, steps), weights)
    params, *losses_and_counts = zip(*fold_results, strict=True)
    return RollingFits(jax.tree.map(lambda *x: np.concatenate(x), *params), *map(np.array, losses_and_counts))


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


MAX_LOG_DISTANCE = 7.0  # a logarithm or logit of an open parameter is tried so far to either side: factors of 1100
INITIAL_STANDARD_ERRORS = 5.0  # standard errors to either side that are tried first
INITIAL_VALUES = 15  # of the first profile
MAX_EXTENSIONS = 2  # how often as many more are tried beyond an end that is not refuted
NUM_REFINEMENTS = 2  # how often more values are tried where the deviance passes the border
BORDER_VALUES = 3  # values that are tried on the way across the border
VALUES_AT_ONCE = 8  # always as many, since another number would be compiled anew
UNBOUNDED_NUMBERS: dict[str, tuple[Callable[[float], float], Callable[[float], float], Callable[[float], float]]] = {
    "real": (float, float, lambda x: 1.0),  # by space: to an unbounded number, back, and the slope of the first
    "positive": (math.log, math.exp, lambda x: 1.0 / x),
    "unit": (logit, expit, lambda x: 1.0 / (x * (1.0 - x))),
}


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
        texts = {  # by whether the interval has a lower and an upper end
            (True, True): f"{low} to {high}{number} {sure}",
            (True, False): f"at least {low}{number} {sure}; {above}",
            (False, True): f"at most {high}{number} {sure}; {below}",
            (False, False): f"open; no value from {tried.min():.4g} to {tried.max():.4g}{number} is refuted {sure}",
        }
        return f"{self.name}: {texts[math.isfinite(self.low), math.isfinite(self.high)]}"


@enforce_argument_annotations
def likelihood_interval(fit: Fit, events: Any, name: str, *, level: float = 0.95) -> LikelihoodInterval:
    """The values of a fitted hyperparameter that the events do not refute, whether or not it has a standard error.

        data = jr.data.datasets.nfl()
        fit = jr.fit(jr.glicko(), data, free=["c", "side_advantage"])
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
    check_that(0.0 < level < 1.0, f"level must be above 0 and below 1, got {level}")
    border = NormalDist().inv_cdf((1.0 + level) / 2.0)
    task = make_prediction_task(fit.system, events, fit.objective)
    others = _names_with_effect(task, tuple(x for x in fit.free if x != name))
    unbound, bind, slope = UNBOUNDED_NUMBERS[getattr(fit.system.space, name).space]
    best_value = getattr(fit.params, name)
    width, centre = _initial_width(fit, name, fit.standard_error[name] * slope(best_value)), unbound(best_value)
    curve = _extend_deviance_curve(task, name, others, None, centre + np.linspace(-width, width, INITIAL_VALUES))
    for _ in range(MAX_EXTENSIONS):
        ends = (curve.t[-1], width, curve.root[-1] < border), (curve.t[0], -width, curve.root[0] > -border)
        further = [end + along * np.array([0.25, 0.5, 0.75, 1.0]) for end, along, is_open in ends if is_open]
        curve = _extend_deviance_curve(task, name, others, curve, np.concatenate([np.empty(0), *further]))
    for _ in range(NUM_REFINEMENTS):
        is_outside = np.abs(curve.root) > border
        passes = np.flatnonzero(is_outside[1:] != is_outside[:-1])
        steps = [np.linspace(curve.t[i], curve.t[i + 1], BORDER_VALUES + 2)[1:-1] for i in passes]
        curve = _extend_deviance_curve(task, name, others, curve, np.concatenate([np.empty(0), *steps]))
    low, high = (x if math.isinf(x) else bind(x) for x in curve.interval(border))
    return LikelihoodInterval(name, low, high, level, curve.profile, curve.root)


def _names_with_effect(task: PredictionTask, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of hyperparameters that change a prediction where the fit ended."""
    try:
        if names:
            prepare_fit(task, names)
        return names
    except IneffectiveHyperparametersError as error:
        return _names_with_effect(task, tuple(x for x in names if x not in error.names))


def _initial_width(fit: Fit, name: str, error: float) -> float:
    """How far unbounded numbers are tried to either side, of which the best has this standard error."""
    is_real = getattr(fit.system.space, name).space == "real"
    width = INITIAL_STANDARD_ERRORS * error if math.isfinite(error) and error > 0.0 else math.inf
    return min(width, MAX_LOG_DISTANCE * max(1.0, abs(getattr(fit.params, name))) if is_real else MAX_LOG_DISTANCE)


class DevianceCurve(NamedTuple):
    """The deviance at the values of a profile."""

    profile: LossProfile
    t: HostArray  # [V] the values as unbounded numbers
    root: HostArray  # [V] signed roots: below 0 for values under the best, standard normal at the truth

    def interval(self, border: float) -> tuple[float, float]:
        """The unbounded numbers to either side of the best value at which the deviance reaches the border."""
        best = int(np.nanargmin(self.profile.loss))
        high = upper_border_crossing(self.t[best:], self.root[best:], border)
        return -upper_border_crossing(-self.t[: best + 1][::-1], -self.root[: best + 1][::-1], border), high


def upper_border_crossing(t: HostArray, root: HostArray, border: float) -> float:
    """The first t, from the best value up, at which the deviance reaches the border; inf if it never does."""
    running_max = np.maximum.accumulate(root)
    return float(np.interp(border, running_max, t)) if running_max[-1] >= border else math.inf


def _extend_deviance_curve(
    task: PredictionTask, name: str, others: tuple[str, ...], curve: DevianceCurve | None, t: HostArray
) -> DevianceCurve:
    """The curve with further unbounded numbers t, as far as the factory allows them."""
    system = task.system
    unbound, bind, _ = UNBOUNDED_NUMBERS[getattr(system.space, name).space]
    values = np.array([float(bind(x)) for x in t.tolist()])
    changed = [replace_params_if_valid(system, hold_parameter(system, name, x)) for x in values.tolist()]
    values = values[[x is not None for x in changed]]
    if curve is not None and not len(values):
        return curve
    profiles = [profile_task(task, name, values, others, size=VALUES_AT_ONCE)]
    profile = _merge_profiles(profiles if curve is None else [curve.profile, *profiles])
    return DevianceCurve(profile, np.array([unbound(x) for x in profile.value]), _signed_root_deviance(task, profile))


def _merge_profiles(profiles: Sequence[LossProfile]) -> LossProfile:
    """Profiles as one, by increasing value, each value once."""
    value, order = np.unique(np.concatenate([x.value for x in profiles]), return_index=True)
    params = jax.tree.map(lambda *x: np.concatenate(x)[order], *(x.params for x in profiles))
    return profiles[0]._replace(value=value, loss=np.concatenate([x.loss for x in profiles])[order], params=params)


def _signed_root_deviance(task: PredictionTask, profile: LossProfile) -> HostArray:
    """[V] see `DevianceCurve`."""
    best = int(np.nanargmin(profile.loss))
    side = np.sign(np.arange(len(profile.value)) - best)
    excess_loss = profile.weight * np.maximum(np.nan_to_num(profile.loss, nan=np.inf) - profile.loss[best], 0.0)
    if profile.likelihood:
        return np.asarray(side * np.sqrt(2.0 * excess_loss))
    losses = np.stack([_event_losses(task, params) for params in unstack_params(profile.params)])
    spread = np.sqrt(len(losses[0])) * np.std(losses - losses[best], axis=1)
    return np.asarray(side * 2.0 * excess_loss / np.where(spread > 0.0, spread, 1.0))


def _event_losses(task: PredictionTask, params: Params) -> HostArray:
    """[events] the summed loss of each event."""
    prediction = replay_predictions(task, jax.tree.map(float, params))
    losses = prediction_losses(task.loss, prediction, task.score, jnp.asarray(task.weight, float))
    return np.bincount(task.event, np.asarray(losses, np.float64) * task.weight)
