"""Intervals of one hyperparameter by its likelihood profile, also where a fit leaves it open.

Twice the summed log loss above its least, all others fitted anew, has a chi-squared law of one degree of freedom at the
true value (Wilks 1938). Where predictions have no joint likelihood, as in contests, twice the sum is divided by the
factor that the variance of the contests' differences calls for (Varin, Reid and Firth 2011, section 2.4): near the best
value, the sum of differences d of contests is delta^2 H / 2 and their variance delta^2 J, so that 2 sum(d) / sqrt(sum
(d - mean d)^2) is about delta H / sqrt J, a standard normal. It needs no curvature.
"""

import math
from collections.abc import Callable
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem
from jaxrate.fitting.fit_problem import IneffectiveHyperparametersError, prepare_fit, replace_params_if_valid
from jaxrate.fitting.fit_results import Fit, LossProfile
from jaxrate.fitting.history_loss_derivatives import equal_size_index_chunks
from jaxrate.fitting.hyperparameter_fit import make_training_task
from jaxrate.fitting.losses import prediction_losses
from jaxrate.fitting.parameter_sweeps import profile_loss
from jaxrate.fitting.prediction_task import PredictionTask, replay_task

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
