"""The problem that `fit` solves: the mean loss of a history as a function of the coordinates of a search.

Parameters are searched by their logarithm, by the logit, or, in units that suit the events, as they are (`space` of the
system). The mean product of the slopes of single events says how far apart parameters lie in effect (Berndt, Hall, Hall
and Hausman 1974): it is the information of an event, and the size of a gradient in its units means the same whatever is
fitted.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, replace_params
from jaxrate.fitting.free_parameters import (
    FreeParameterTransform,
    ParameterSettings,
    make_free_parameters,
    resolve_free_names,
    to_hyperparameters,
)
from jaxrate.fitting.history_loss_derivatives import (
    LossesAndSlopes,
    summed_curvature,
    summed_losses,
    summed_losses_and_slopes,
)
from jaxrate.fitting.prediction_task import PredictionTask, has_draws
from jaxrate.replay.execution import CompilePolicy
from jaxrate.replay.row_gather_and_scatter import as_device_arrays

IDLE_SLOPE = 1e-5  # nats: where a parameter's unit changes an event's loss by less, the events say nothing about it
MIN_INDEPENDENT_VARIANCE = 1e-6  # of a parameter's slopes, left by those of others, from which it is one of its own


class IneffectiveHyperparametersError(ValueError):
    """Some hyperparameters to fit change no prediction."""

    def __init__(self, system: str, names: tuple[str, ...]):
        idle = ", ".join(names)
        super().__init__(f"{system}: {idle} changes no prediction of these events; there is nothing to fit it by")
        self.names = names


class FitProblem(NamedTuple):
    """A task and the m hyperparameters that are fitted to it. A point z [m] of a search is z times `unit` unbounded."""

    task: PredictionTask
    free: FreeParameterTransform  # of k parameters, some of which may be idle
    active: HostArray  # [m] those that are not
    unit: HostArray  # [m] of real parameters; 1 for others
    unbounded: HostArray  # [k] where the search begins
    prior: HostArray  # [2, m] below what z is expected, and how precisely: 1 / variance, or 0
    at_start: LossesAndSlopes  # the means of one setting there

    @property
    def start(self) -> HostArray:
        """[m] where the search begins."""
        return np.asarray(self.unbounded[self.active] / self.unit)

    @property
    def system(self) -> RatingSystem:
        """The system from whose hyperparameters the search begins."""
        return self.task.system

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the m hyperparameters."""
        return tuple(self.free.names[i] for i in self.active)

    @property
    def is_real(self) -> HostArray:
        """[m] which hyperparameters are searched as they are."""
        return np.array([self.free.spaces[i] == "real" for i in self.active])


def replace_params_if_valid(system: RatingSystem, params: Params) -> RatingSystem | None:
    """The system with these hyperparameters; None where its factory refuses them."""
    try:
        return replace_params(system, params)
    except ValueError:
        return None


def prepare_fit(task: PredictionTask, free: Sequence[str] | None) -> FitProblem:
    """The problem of fitting the parameters of these names; None: all that `fit` takes by itself."""
    system = task.system
    if not task.weight.any():
        raise ValueError("nothing is left to fit: all that is scored lies in the part that is held out")
    names = resolve_free_names(system, free)
    if not names:
        raise ValueError(f"{system.name} has no parameter to fit: none is free")
    transform, unbounded = make_free_parameters(system, names)
    every, no_prior = np.arange(len(names)), np.zeros((2, len(names)))
    nothing = LossesAndSlopes(np.zeros(1), np.zeros((1, len(names))), np.zeros((1, len(names), len(names))))
    whole = FitProblem(task, transform, every, np.ones(len(names)), unbounded, no_prior, nothing)
    loss, slope, product = evaluate(whole, unbounded[None], system.params)
    if not all(np.isfinite(x).all() for x in (loss, slope, product)):
        raise ValueError(f"{system.name}: the loss at the start is {loss[0]}, or has no slopes; start elsewhere")
    size = np.sqrt(np.diag(product[0]))
    has_effect = size * np.where(whole.is_real, np.maximum(np.abs(unbounded), 1.0), 1.0) > IDLE_SLOPE
    active = _select_active(task, names, product[0], has_effect, is_named=free is not None)
    unit = np.where(whole.is_real[active], 1.0 / size[active], 1.0)
    problem = whole._replace(active=active, unit=unit, prior=_make_prior(system, [names[i] for i in active]))
    slope, product = slope[:, active] * unit, product[:, active[:, None], active] * unit * unit[:, None]
    return problem._replace(at_start=_add_prior(problem, problem.start[None], LossesAndSlopes(loss, slope, product)))


def _select_active(
    task: PredictionTask, names: Sequence[str], product: HostArray, has_effect: HostArray, *, is_named: bool
) -> HostArray:
    """[m] the numbers of those parameters that are fitted, of those that change predictions.

    ValueError for one that the user named and that is not. `product` [k, k] is the mean product of slopes of events.
    """
    system, all_names = task.system, np.array(names)
    if not has_effect.all() and (is_named or not has_effect.any()):
        raise IneffectiveHyperparametersError(system.name, tuple(all_names[~has_effect].tolist()))
    active = has_effect
    if not has_draws(task):
        active = has_effect & [not getattr(system.space, name).concerns_draws for name in names]
    if not active.any() or (is_named and not active.all()):
        reason = "says how often there are draws, and nothing is drawn to fit it by"
        raise ValueError(f"{system.name}: {', '.join(all_names[has_effect & ~active])} {reason}")
    return np.flatnonzero(active if is_named else _independent_slope_mask(product, active))


def _independent_slope_mask(product: HostArray, active: HostArray) -> HostArray:
    """[k] whether an active parameter's slopes are no linear combination of those before it."""
    active = active.copy()
    size = np.where(active, np.sqrt(np.diag(product)), 1.0)
    correlation = product / size / size[:, None]
    for i in np.flatnonzero(active):
        earlier = np.flatnonzero(active[:i])
        others, own = correlation[np.ix_(earlier, earlier)], correlation[earlier, i]
        active[i] = own @ np.linalg.lstsq(others, own, rcond=None)[0] < 1.0 - MIN_INDEPENDENT_VARIANCE
    return active


def _make_prior(system: RatingSystem, names: Sequence[str]) -> HostArray:
    """[2, m] see `FitProblem`."""
    priors = [getattr(system.space, name).prior for name in names]
    return np.array([(0.0, 0.0) if prior is None else (math.log(prior[0]), prior[1] ** -2) for prior in priors]).T


def prior_penalties(problem: FitProblem, z: HostArray) -> LossesAndSlopes:
    """What the prior, which counts as some results would, adds to the means at points z [S, m]."""
    expected, precision = problem.prior
    excess, total = np.maximum(z - expected, 0.0), problem.task.weight.sum()
    curvature = (precision / total * (excess > 0.0))[:, None] * np.eye(z.shape[1])
    return LossesAndSlopes(0.5 * np.sum(precision * excess**2, axis=1) / total, precision / total * excess, curvature)


def _add_prior(problem: FitProblem, z: HostArray, means: LossesAndSlopes) -> LossesAndSlopes:
    return LossesAndSlopes(*map(np.add, means, prior_penalties(problem, z)))


def _settings_at(problem: FitProblem, z: HostArray, params: Params) -> ParameterSettings:
    """The settings at points z [S, m]; the other parameters are one number or [S]."""
    x = np.repeat(problem.unbounded[None], len(z), axis=0)
    x[:, problem.active] = z * problem.unit
    columns = jax.tree.map(lambda y: np.broadcast_to(np.asarray(y, np.float64), len(z)), params)
    return ParameterSettings(problem.free, x, columns)


def evaluate(problem: FitProblem, z: HostArray, params: Params) -> LossesAndSlopes:
    """The mean losses with slopes at points z [S, m], and with the prior; other parameters are one number or [S]."""
    total, active, unit = problem.task.weight.sum(), problem.active, problem.unit
    sums = summed_losses_and_slopes(problem.task, _settings_at(problem, z, params))
    slope, product = sums.slope[:, active] * unit, sums.product[:, active[:, None], active] * unit * unit[:, None]
    return _add_prior(problem, z, LossesAndSlopes(sums.loss / total, slope / total, product / total))


def mean_curvature(problem: FitProblem, z: HostArray) -> HostArray:
    """[m, m] second slopes of the mean loss, with the prior, at a point z [m]."""
    settings, unit = _settings_at(problem, z[None], problem.system.params), problem.unit
    curvature = summed_curvature(problem.task, settings, problem.active)[np.ix_(problem.active, problem.active)]
    mean = curvature * unit * unit[:, None] / problem.task.weight.sum()
    return np.asarray(mean + prior_penalties(problem, z[None]).product[0])


def mean_loss(problem: FitProblem, z: HostArray, weight: HostArray) -> float:
    """The mean loss by other weights [n] at a point z [m], without the prior.

    Of a short history with its slopes: their program is there, and that of losses alone would be compiled.
    """
    task, settings = problem.task._replace(weight=weight), _settings_at(problem, z[None], problem.system.params)
    is_short = len(weight) <= CompilePolicy().short_history
    loss = summed_losses_and_slopes(task, settings).loss if is_short else summed_losses(task, settings)
    return float(loss[0] / weight.sum())


def unstack_params(columns: Params) -> list[Params]:
    """The hyperparameters of each setting, from leaves [S]."""
    leaves, structure = jax.tree.flatten(columns)
    return [jax.tree.unflatten(structure, values) for values in zip(*leaves, strict=True)]


@partial(jax.jit, static_argnums=0)
def _batch_to_hyperparameters(free: FreeParameterTransform, x: Array, params: Params) -> Params:
    """Leaves [S] of the hyperparameters of x [S, k] and of those that are not free, [S]."""
    return jax.vmap(partial(to_hyperparameters, free))(x, params)


def params_at(problem: FitProblem, z: HostArray, params: Params) -> Params:
    """The hyperparameters at points z [S, m]: leaves [S] float64; those that do not change are exact."""
    free, x, columns = _settings_at(problem, z, params)
    values = _batch_to_hyperparameters(free, *as_device_arrays((x, columns)))
    changed = {*problem.names} | {bound for bound, *_ in free.dependent_bounds}
    exact = {name: y for name, y in columns._asdict().items() if name not in changed and y is not None}
    return jax.tree.map(lambda y: np.asarray(y, np.float64), values)._replace(**exact)


@partial(jax.jit, static_argnums=0)
def _hyperparameter_slopes(free: FreeParameterTransform, x: Array, params: Params) -> Params:
    """Leaves [k] of slopes of the hyperparameters by x [k]."""
    slopes: Params = jax.jacfwd(lambda x: to_hyperparameters(free, x, params))(x)
    return slopes


def hyperparameter_slopes(problem: FitProblem, z: HostArray) -> HostArray:
    """[m, m] slopes of the fitted hyperparameters at a point z [m]."""
    x = _settings_at(problem, z[None], problem.system.params).x[0]
    slopes = _hyperparameter_slopes(problem.free, as_device_arrays(x), problem.system.params)
    rows = np.array([getattr(slopes, name) for name in problem.names], np.float64)
    return np.asarray(rows[:, problem.active] * problem.unit)
