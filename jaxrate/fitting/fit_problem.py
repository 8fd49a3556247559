"""The problem that `fit` solves: hyperparameters as real numbers, coordinates from slopes of events, curvature.

Parameters are searched by their logarithm, by the logit, or as they are (`space` of the system). Derivatives are taken
forwards, which needs no memory of the history. The mean product of the slopes of single events says how far apart
parameters lie in effect (Berndt, Hall, Hall and Hausman 1974): along the axes it is the unit matrix, and the size of a
gradient means the same whatever is fitted.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params, SizedPrepare
from jaxrate.core.system import RatingSystem, replace_params
from jaxrate.fitting.fit_results import HyperparameterRatio
from jaxrate.fitting.free_parameters import (
    FreeParameterTransform,
    ParameterSettings,
    make_free_parameters,
    resolve_free_names,
    to_hyperparameters,
)
from jaxrate.fitting.history_loss_derivatives import loss_derivatives
from jaxrate.fitting.losses import make_replay_record_for_loss
from jaxrate.fitting.prediction_task import PredictionTask, has_draws
from jaxrate.replay.execution import MAX_FORWARD_PARAMETERS
from jaxrate.replay.row_gather_and_scatter import as_device_arrays

IDLE_SLOPE = 1e-5  # nats: where a parameter's unit changes an event's loss by less, the events say nothing about it
MIN_INDEPENDENT_VARIANCE = (
    1e-6  # of the variance of a parameter's slopes, left by those of others, from which it is one of its own
)
RULES_TOLERANCE = 0.4  # relative: how far hyperparameters may be from those for which rules were made
OPEN_ERROR = 2.0  # a logarithm whose 95% interval reaches to 50 times as much, or as little, is not known at all
MAX_STANDARD_ERRORS = 1000.0  # standard errors that single slopes promise: nor is a real one that may be so far
MAX_HESSIAN_WORK = 1 << 23  # predictions times pairs of parameters up to which curvature takes seconds, and not minutes
UNKNOWN_VARIANCE = 1e100  # where nothing is known at all
INTERVAL_ERRORS = 1.96  # standard errors to either side: 95%
MAX_LOG_FACTOR = 700.0  # of an interval of a ratio of which nothing is known, which is then as good as infinite
POWER_TOLERANCE = 0.05  # how far the powers of a common scale may seem to be from whole numbers
NO_PRIOR = np.zeros((2, 1))
OPEN_ERROR_RATIO = 3.0  # a parameter whose error is by so much that of what is open is open as well


class LossesAndSlopes(NamedTuple):
    """The losses and slopes at one point."""

    loss: HostArray  # [1, 2] of training and of validation
    slope: HostArray  # [1, k] of the first
    product: HostArray  # [1, k, k] see `loss_derivatives`


class IneffectiveHyperparametersError(ValueError):
    """Some hyperparameters to fit change no prediction."""

    def __init__(self, system: str, names: tuple[str, ...]):
        idle = ", ".join(names)
        super().__init__(f"{system}: {idle} changes no prediction of these events; there is nothing to fit it by")
        self.names = names


class FitProblem(NamedTuple):
    """A task with its free parameters, weights and coordinates."""

    system: RatingSystem
    task: PredictionTask
    free: FreeParameterTransform  # of k parameters, some of which may be idle
    unit: HostArray  # [k] of real parameters; 1 for others
    start: HostArray  # [k]
    weight: HostArray  # [2, n] of training and of validation
    mode: str
    active: HostArray  # [m] the parameters that are not idle
    curvature: HostArray  # [m, m] the mean product of their slopes at the start
    prior: HostArray = NO_PRIOR  # [2, k] below what parameters are expected, and how precisely: 1 / variance, or 0
    start_evaluation: LossesAndSlopes | None = (
        None  # with these rules, at the start, with the system's own other parameters
    )


def replace_params_if_valid(system: RatingSystem, params: Params) -> RatingSystem | None:
    """The system with these hyperparameters; None where its factory refuses them."""
    try:
        return replace_params(system, params)
    except ValueError:
        return None


def rules_depend_on_param_values(problem: FitProblem) -> bool:
    """Whether rules are made for some hyperparameters by their factory, and not by a `SizedPrepare`."""
    if isinstance(problem.system.rules.prepare, SizedPrepare):
        return False
    other = replace_params_if_valid(problem.system, jax.tree.map(lambda x: 1.01 * x, problem.system.params))
    return other is not None and other.rules != problem.system.rules


def remake_rules_if_far(problem: FitProblem, x: HostArray, params: Params) -> FitProblem:
    """The problem, with rules remade for x [S, k] if its own were made for hyperparameters far from there."""
    if isinstance(problem.system.rules.prepare, SizedPrepare):
        return problem
    system, current_params = problem.system, jax.tree.map(lambda y: float(y[0]), params_at(problem, x, params))
    pairs = zip(jax.tree.leaves(current_params), jax.tree.leaves(system.params), strict=True)
    if all(abs(y - old) <= RULES_TOLERANCE * max(abs(y), abs(old)) for y, old in pairs):
        return problem
    new_system = replace_params_if_valid(system, current_params)
    if new_system is None or new_system.rules == system.rules:
        return problem
    task = problem.task._replace(system=new_system, record=make_replay_record_for_loss(problem.task.loss, new_system))
    return problem._replace(system=new_system, task=task, start_evaluation=None)


def prepare_fit(
    task: PredictionTask,
    system: RatingSystem,
    free: Sequence[str] | None,
    training_weights: HostArray,
    validation_weights: HostArray | None = None,
    mode: str | None = None,
) -> FitProblem:
    """The problem, with coordinates from the slopes at the start.

    `training_weights` and `validation_weights` are weights [n] of predictions: for the fit, and for the decision when
    to stop.
    """
    if not training_weights.any():
        raise ValueError("nothing is left to fit: all that is scored lies in the part that is held out")
    names = resolve_free_names(system, free)
    if not names:
        raise ValueError(f"{system.name} has no parameter to fit: none is free")
    free_parameters, start = make_free_parameters(system, names)
    mode = mode or ("forward" if len(names) <= MAX_FORWARD_PARAMETERS else "reverse")
    validation_weights = np.zeros_like(training_weights) if validation_weights is None else validation_weights
    problem = FitProblem(
        system,
        task,
        free_parameters,
        np.ones(len(names)),
        start,
        np.stack([training_weights, validation_weights]),
        mode,
        np.arange(len(names)),
        np.eye(len(names)),
        _make_prior(system, free_parameters),
    )
    evaluation = _evaluate_start(problem)
    product = evaluation.product[0]
    size, is_real = np.sqrt(np.diag(product)), np.array(free_parameters.spaces) == "real"
    has_effect = size * np.where(is_real, np.maximum(np.abs(start), 1.0), 1.0) > IDLE_SLOPE
    active = _select_active(problem, product, has_effect, is_named=free is not None)
    unit = np.where(is_real & active, 1.0 / np.where(active, size, 1.0), 1.0)
    active_indices = np.flatnonzero(active)
    product = product * unit * unit[:, None]
    evaluation = LossesAndSlopes(evaluation.loss, evaluation.slope * unit, product[None])
    return problem._replace(
        unit=unit,
        start=start / unit,
        active=active_indices,
        curvature=definite_product(product, active_indices),
        start_evaluation=evaluation if mode == "forward" else None,
    )


def _evaluate_start(problem: FitProblem) -> LossesAndSlopes:
    """Losses and slopes at the start; ValueError if they are not finite."""
    derivatives = mean_loss_derivatives(problem, "forward", problem.start[None], problem.system.params)
    evaluation = LossesAndSlopes(*derivatives)
    if not all(np.isfinite(x[0]).all() for x in evaluation):
        loss = evaluation.loss[0][0]
        raise ValueError(f"{problem.system.name}: the loss at the start is {loss}, or has no slopes; start elsewhere")
    return evaluation


def _select_active(problem: FitProblem, product: HostArray, has_effect: HostArray, *, is_named: bool) -> HostArray:
    """[k] which parameters are fitted of those that change predictions.

    ValueError for one that the user named and that is not. `product` [k, k] is the mean product of slopes of events.
    """
    system, names, active = problem.system, np.array(problem.free.names), has_effect
    if not active.all() and (is_named or not active.any()):
        raise IneffectiveHyperparametersError(system.name, tuple(names[~active].tolist()))
    concerns_draws = np.array([getattr(system.space, name).concerns_draws for name in names]) & active
    if concerns_draws.any() and not has_draws(problem.task, problem.weight[0]):
        active = active & ~concerns_draws
        if is_named or not active.any():
            reason = "says how often there are draws, and nothing is drawn to fit it by"
            raise ValueError(f"{system.name}: {', '.join(names[concerns_draws])} {reason}")
    return active if is_named else _independent_slope_mask(product, active)


def definite_product(product: HostArray, active: HostArray) -> HostArray:
    """[m, m] the mean product of slopes of active parameters, of [k, k] of all, made definite."""
    block = product[np.ix_(active, active)]
    return block + 1e-6 * np.diag(np.diag(block))


def _independent_slope_mask(product: HostArray, active: HostArray) -> HostArray:
    """[k] whether an active parameter's slopes are no linear combination of those before it."""
    active = active.copy()
    for i in np.flatnonzero(active):
        earlier = np.flatnonzero(active[:i])
        scale = np.sqrt(np.diag(product)[earlier])
        correlation = product[earlier, i] / scale / math.sqrt(product[i, i])
        explained = (
            correlation
            @ np.linalg.lstsq(product[np.ix_(earlier, earlier)] / scale / scale[:, None], correlation, rcond=None)[0]
        )
        active[i] = explained < 1.0 - MIN_INDEPENDENT_VARIANCE
    return active


def mean_loss_derivatives(problem: FitProblem, quantity: str, x: HostArray, params: Params) -> Any:
    """`loss_derivatives` at x [S, k], as means; the other parameters are one number or [S]."""
    settings = ParameterSettings(problem.free, x, problem.unit, broadcast_params(params, len(x)))
    sums = loss_derivatives(quantity, problem.task, settings, problem.weight, problem.active)
    total = problem.weight.sum(axis=1)
    each = np.where(total > 0, total, 1.0)
    if quantity == "hessian":
        return (sums + prior_curvature(problem, x[0])) / each[0]
    penalty = prior_penalty(problem, x)
    if isinstance(sums, tuple):
        pull = np.maximum(x - problem.prior[0], 0.0) * problem.prior[1]
        return (sums[0] + penalty) / each, (sums[1] + pull) / each[0], sums[2] / each[0]
    return (sums + penalty) / each


def _make_prior(system: RatingSystem, free: FreeParameterTransform) -> HostArray:
    """[2, k] see `FitProblem`."""
    priors = [getattr(system.space, name).prior for name in free.names]
    rows = [(0.0, 0.0) if prior is None else (math.log(prior[0]), prior[1] ** -2) for prior in priors]
    return np.array(rows).T


def prior_curvature(problem: FitProblem, x: HostArray) -> HostArray:
    """[k, k] what the priors add to the curvature of the summed loss at x [k]."""
    return np.diag(problem.prior[1] * (x > problem.prior[0]))


def prior_penalty(problem: FitProblem, x: HostArray) -> HostArray:
    """[S, 2] what the priors add to the summed losses of training and of validation at x [S, k]."""
    penalty = 0.5 * np.sum(problem.prior[1] * np.maximum(x - problem.prior[0], 0.0) ** 2, axis=1)
    return np.stack([penalty, np.zeros_like(penalty)], axis=1)


@partial(jax.jit, static_argnums=0)
def _batch_coordinates_to_hyperparameters(
    free: FreeParameterTransform, x: Array, unit: Array, params: Params
) -> Params:
    """Leaves [S] of the hyperparameters of x [S, k] and of those that are not free, [S]."""
    return jax.vmap(lambda x, params: to_hyperparameters(free, x, unit, params))(x, params)


@partial(jax.jit, static_argnums=0)
def _hyperparameter_slopes(free: FreeParameterTransform, x: Array, unit: Array, params: Params) -> Params:
    """Leaves [k] of slopes of the hyperparameters by x [k]."""
    slopes: Params = jax.jacfwd(lambda x: to_hyperparameters(free, x, unit, params))(x)
    return slopes


def broadcast_params(params: Params, count: int) -> Params:
    """Leaves [count] of numbers or [count]."""
    return jax.tree.map(lambda x: np.broadcast_to(np.asarray(x, np.float64), count), params)


def unstack_params(columns: Params) -> list[Params]:
    """The hyperparameters of each setting, from leaves [S]."""
    leaves, structure = jax.tree.flatten(columns)
    return [jax.tree.unflatten(structure, values) for values in zip(*leaves, strict=True)]


def params_at(problem: FitProblem, x: HostArray, params: Params) -> Params:
    """The hyperparameters at x [S, k]: leaves [S] float64."""
    free, host = problem.free, (x, problem.unit, broadcast_params(params, len(x)))
    values = _batch_coordinates_to_hyperparameters(free, *as_device_arrays(host))
    changed = {free.names[i] for i in problem.active} | {bound for bound, *_ in free.dependent_bounds}
    exact = {y: np.broadcast_to(v, len(x)) for y, v in params._asdict().items() if y not in changed and v is not None}
    return jax.tree.map(lambda y: np.asarray(y, np.float64), values)._replace(**exact)


def is_hessian_affordable(problem: FitProblem) -> bool:
    """Whether the curvature takes less than minutes to compute, or has no substitute."""
    task, count = problem.task, len(problem.active)
    return task.evidence_problem is not None or len(task.weight) * count * (count + 1) // 2 <= MAX_HESSIAN_WORK


class CommonScale(NamedTuple):
    """Hyperparameters that may all grow together without any change of a prediction: only their ratios matter."""

    direction: HostArray  # [m] of active parameters, as the search moves them
    powers: HostArray  # [m] whole numbers: of what factor each grows by; 0 of those that stay


def find_common_scale(problem: FitProblem, x: HostArray, product: HostArray) -> CommonScale | None:
    """The null vector of the slopes of all events at x [k], whose mean product is `product` [k, k]; None without one.

    The loss must be the same, too, where all of these are half as large again.
    """
    names, active_block = [problem.free.names[i] for i in problem.active], np.ix_(problem.active, problem.active)
    size = np.sqrt(np.diag(product)[problem.active])
    if len(names) < 2 or not (np.isfinite(product).all() and (size > 0).all()):
        return None
    eigenvalues, vectors = np.linalg.eigh(product[active_block] / size / size[:, None])
    if eigenvalues[0] > MIN_INDEPENDENT_VARIANCE or eigenvalues[1] <= MIN_INDEPENDENT_VARIANCE:
        return None
    direction, params = vectors[:, 0] / size, problem.system.params
    powers = _whole_powers(log_hyperparameter_slopes(problem, x) @ direction)
    if powers is None:
        return None
    here = jax.tree.map(lambda y: float(y[0]), params_at(problem, x[None], params))
    larger = {name: getattr(here, name) * 1.5**power for name, power in zip(names, powers, strict=True)}
    system = replace_params_if_valid(problem.system, here._replace(**larger))
    if system is None:
        return None
    points = np.stack([x, make_free_parameters(system, problem.free.names)[1] / problem.unit])
    before, after = (mean_loss_derivatives(problem, "forward", y[None], params)[0][0, 0] for y in points)
    same = abs(after - before) <= float(np.finfo(jnp.result_type(float)).eps) ** (2.0 / 3.0) * abs(before)
    return CommonScale(direction, powers) if same else None


def _whole_powers(growth: HostArray) -> HostArray | None:
    """[m] whole numbers, two or more of them above 0, to which growths are in proportion; None if none are."""
    growth = growth / growth[np.argmax(np.abs(growth))]
    growth = growth / np.min(np.abs(growth[np.abs(growth) > POWER_TOLERANCE]))
    powers = np.rint(growth)
    is_whole = (powers >= 0).all() and (np.abs(growth - powers) <= POWER_TOLERANCE).all()
    return powers if is_whole and np.count_nonzero(powers) >= 2 else None


def log_hyperparameter_slopes(problem: FitProblem, x: HostArray) -> HostArray:
    """[m, m] slopes of the logarithms of active hyperparameters at x [k]; 0 of one that is 0."""
    params = params_at(problem, x[None], problem.system.params)
    value = np.array([getattr(params, problem.free.names[i])[0] for i in problem.active])[:, None]
    return np.divide(_active_slopes(problem, x), value, out=np.zeros((len(value), len(value))), where=value != 0.0)


def _active_slopes(problem: FitProblem, x: HostArray) -> HostArray:
    """[m, m] slopes of active hyperparameters by active parameters at x [k]."""
    unit, point = as_device_arrays((problem.unit, x))
    jacobian = _hyperparameter_slopes(problem.free, point, unit, problem.task.system.params)
    slope = np.array([getattr(jacobian, name) for name in problem.free.names], np.float64)
    return slope[np.ix_(problem.active, problem.active)]


def parameter_covariance(problem: FitProblem, x: HostArray, errors: str, product: HostArray | None = None) -> HostArray:
    """[m, m] of the fitted parameters, at x [k], in their own units; inf in the rows and columns of those left open.

    `product` [k, k] is the mean product of the slopes there, if known.

    A parameter is open along which the loss does not curve upwards, as far as the events can tell, or whose logarithm
    or logit has a standard error above `OPEN_ERROR`. The others have the errors that the rest of the curvature gives,
    and may move with the open ones.
    """
    return _covariance_of_hyperparameters(problem, x, *coordinate_covariance(problem, x, errors, product, None))


def _covariance_of_hyperparameters(
    problem: FitProblem, x: HostArray, covariance: HostArray, is_open: HostArray
) -> HostArray:
    """[m, m] the covariance in the hyperparameters' own units, inf in rows and columns of those that are open."""
    slope = _active_slopes(problem, x)
    covariance = slope @ covariance @ slope.T
    covariance[(slope != 0.0) @ is_open] = np.inf
    return 0.5 * (covariance + covariance.T)


def parameter_covariance_and_ratios(
    problem: FitProblem, x: HostArray, errors: str, product: HostArray | None, scale: CommonScale | None
) -> tuple[HostArray, tuple[HyperparameterRatio, ...]]:
    """`parameter_covariance`, and the ratios of hyperparameters that have a common scale, with their intervals.

    The logarithm of a ratio does not move along the common scale: its variance is that of all other directions.
    """
    covariance = coordinate_covariance(problem, x, errors, product, scale)
    fitted = _covariance_of_hyperparameters(problem, x, *covariance)
    if scale is None:
        return fitted, ()
    names, slope = [problem.free.names[i] for i in problem.active], log_hyperparameter_slopes(problem, x)
    params, ratios = params_at(problem, x[None], problem.system.params), []
    below, *others = sorted(np.flatnonzero(scale.powers), key=lambda i: scale.powers[i])
    for i in others:
        power = float(scale.powers[i] / scale.powers[below])
        along = slope[i] - power * slope[below]
        value = float(getattr(params, names[i])[0] / getattr(params, names[below])[0] ** power)
        factor = math.exp(min(INTERVAL_ERRORS * math.sqrt(along @ covariance[0] @ along), MAX_LOG_FACTOR))
        ratios.append(HyperparameterRatio((names[i], names[below]), power, value, value / factor, value * factor))
    return fitted, tuple(ratios)


def coordinate_covariance(
    problem: FitProblem, x: HostArray, errors: str, product: HostArray | None, common_scale: CommonScale | None
) -> tuple[HostArray, HostArray]:
    """[m, m] of active parameters as the search moves them, and which of them are open, see `parameter_covariance`."""
    active_block, params = np.ix_(problem.active, problem.active), problem.task.system.params
    if product is None and errors != "information":
        product = mean_loss_derivatives(problem, "forward", x[None], params)[2][0]
    if errors == "products":
        assert product is not None
        curvature_matrix = product + prior_curvature(problem, x) / problem.weight[0].sum()
    else:
        curvature_matrix = mean_loss_derivatives(problem, "hessian", x[None], params)[0]
    curvature = curvature_matrix[active_block]
    if not np.isfinite(curvature).all():
        return UNKNOWN_VARIANCE * np.eye(len(curvature)), np.ones(len(curvature), bool)
    total, real = problem.weight[0].sum(), np.array(problem.free.spaces)[problem.active] == "real"
    scale = np.where(real, MAX_STANDARD_ERRORS / math.sqrt(total), OPEN_ERROR)
    information = total * scale * curvature * scale[:, None]
    if common_scale is not None:  # in single precision curvature knows the flat direction less exactly than slopes do
        flat = common_scale.direction / scale
        across = np.eye(len(flat)) - np.outer(flat, flat) / (flat @ flat)
        information = across @ information @ across
    covariance, unknown_directions = (
        scale * part * scale[:, None] for part in _inverse_information_and_unknown_directions(information)
    )
    is_open = np.sqrt(np.diag(unknown_directions)) > OPEN_ERROR_RATIO * np.sqrt(np.diag(covariance))
    if errors == "sandwich":
        assert product is not None
        covariance = covariance @ (total * product[active_block]) @ covariance
    covariance += unknown_directions
    is_open |= ~real & (np.sqrt(np.diag(covariance)) > OPEN_ERROR)
    return covariance, is_open if common_scale is None else is_open | (common_scale.powers != 0)


def _inverse_information_and_unknown_directions(information: HostArray) -> tuple[HostArray, HostArray]:
    """[m, m] the inverse of the known information, and the projection onto directions without information.

    A direction has none if parameters may go all their range along it, or if rounding may account for it.
    """
    eigenvalues, eigenvectors = np.linalg.eigh(information)
    noise = np.finfo(jnp.result_type(float)).eps * (np.sqrt(np.abs(np.diag(information))) @ np.abs(eigenvectors)) ** 2
    is_known = eigenvalues > np.maximum(noise, 1.0)
    return (eigenvectors[:, is_known] / eigenvalues[is_known]) @ eigenvectors[:, is_known].T, eigenvectors[
        :, ~is_known
    ] @ eigenvectors[:, ~is_known].T
