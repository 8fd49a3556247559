"""Intervals of one hyperparameter by its likelihood profile, also where a fit leaves it open.

Twice the summed log loss above its least, all others fitted anew, has a chi-squared law of one degree of freedom at the
true value (Wilks 1938). Where predictions have no joint likelihood, as in contests, twice the sum is divided by the
factor that the variance of the contests' differences calls for (Varin, Reid and Firth 2011, section 2.4): near the best
value, the sum of differences d of contests is delta^2 H / 2 and their variance delta^2 J, so that 2 sum(d) / sqrt(sum
(d - mean d)^2) is about delta H / sqrt J, a standard normal. It needs no curvature.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit, logit  # type: ignore[import-untyped]

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Params
from jaxrate.fitting.fit_problem import (
    IneffectiveHyperparametersError,
    prepare_fit,
    replace_params_if_valid,
    unstack_params,
)
from jaxrate.fitting.fit_results import Fit, LossProfile
from jaxrate.fitting.losses import prediction_losses
from jaxrate.fitting.parameter_sweeps import profile_task
from jaxrate.fitting.prediction_task import PredictionTask, make_prediction_task, replay_task

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
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be above 0 and below 1, got {level}")
    border = NormalDist().inv_cdf((1.0 + level) / 2.0)
    task = make_prediction_task(fit.system, events, fit.objective)
    others = _names_with_effect(task, tuple(x for x in fit.free if x != name))
    unbound, bind, slope = UNBOUNDED_NUMBERS[getattr(fit.system.space, name).space]
    best_value = getattr(fit.params, name)
    width, centre = _initial_width(fit, name, fit.standard_error[name] * slope(best_value)), unbound(best_value)
    curve = _try_values(task, name, others, None, centre + np.linspace(-width, width, INITIAL_VALUES))
    for _ in range(MAX_EXTENSIONS):
        ends = (curve.t[-1], width, curve.root[-1] < border), (curve.t[0], -width, curve.root[0] > -border)
        further = [end + along * np.array([0.25, 0.5, 0.75, 1.0]) for end, along, is_open in ends if is_open]
        curve = _try_values(task, name, others, curve, np.concatenate([np.empty(0), *further]))
    for _ in range(NUM_REFINEMENTS):
        is_outside = np.abs(curve.root) > border
        passes = np.flatnonzero(is_outside[1:] != is_outside[:-1])
        steps = [np.linspace(curve.t[i], curve.t[i + 1], BORDER_VALUES + 2)[1:-1] for i in passes]
        curve = _try_values(task, name, others, curve, np.concatenate([np.empty(0), *steps]))
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


def _try_values(
    task: PredictionTask, name: str, others: tuple[str, ...], curve: DevianceCurve | None, t: HostArray
) -> DevianceCurve:
    """The curve with further unbounded numbers t, as far as the factory allows them."""
    system = task.system
    unbound, bind, _ = UNBOUNDED_NUMBERS[getattr(system.space, name).space]
    values = np.array([float(bind(x)) for x in t.tolist()])
    changed = [replace_params_if_valid(system, system.params._replace(**{name: x})) for x in values.tolist()]
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
    prediction = replay_task(task, jax.tree.map(float, params))
    losses = prediction_losses(task.loss, prediction, task.score, jnp.asarray(task.weight, float))
    return np.bincount(task.event, np.asarray(losses, np.float64) * task.weight)
