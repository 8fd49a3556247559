"""Standard errors of fitted hyperparameters, which of them are left open, and ratios that alone are determined.

A parameter is open along which the loss does not curve upwards, as far as the events can tell, or whose logarithm or
logit has a standard error above `OPEN_ERROR`. The others have the errors that the rest of the curvature gives, and may
move with the open ones.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Params
from jaxrate.fitting.fit_problem import (
    MIN_INDEPENDENT_VARIANCE,
    FitProblem,
    evaluate,
    hyperparameter_slopes,
    mean_curvature,
    params_at,
    replace_params_if_valid,
)
from jaxrate.fitting.fit_results import HyperparameterRatio
from jaxrate.fitting.free_parameters import make_free_parameters
from jaxrate.fitting.search import SearchPoint

OPEN_ERROR = 2.0  # a logarithm whose 95% interval reaches to 50 times as much, or as little, is not known at all
OPEN_ERROR_RATIO = 3.0  # a parameter whose error is by so much that of what is open is open as well
MAX_STANDARD_ERRORS = 1000.0  # standard errors that single slopes promise: nor is a real one that may be so far
MAX_HESSIAN_WORK = 1 << 23  # predictions times pairs of parameters up to which curvature takes seconds, and not minutes
UNKNOWN_VARIANCE = 1e100  # where nothing is known at all
INTERVAL_ERRORS = 1.96  # standard errors to either side: 95%
MAX_LOG_FACTOR = 700.0  # of an interval of a ratio of which nothing is known, which is then as good as infinite
POWER_TOLERANCE = 0.05  # how far the powers of a common scale may seem to be from whole numbers


class CommonScale(NamedTuple):
    """Hyperparameters that may all grow together without any change of a prediction: only their ratios matter."""

    direction: HostArray  # [m] as the search moves them
    powers: HostArray  # [m] whole numbers: of what factor each grows by; 0 of those that stay


def estimate_errors(problem: FitProblem, point: SearchPoint) -> tuple[HostArray, tuple[HyperparameterRatio, ...], str]:
    """[m, m] the covariance at the end of a search, in own units, ratios that alone matter, and what errors are from.

    It is inf in the rows and columns of hyperparameters that are open. The logarithm of a ratio does not move along the
    common scale: its variance is that of all other directions.
    """
    method, scale = problem.task.objective.errors or _default_error_method(problem), find_common_scale(problem, point)
    covariance, is_open = coordinate_covariance(problem, point, method, scale)
    slope = hyperparameter_slopes(problem, point.z)
    in_own_units = slope @ covariance @ slope.T
    in_own_units[(slope != 0.0) @ is_open] = np.inf
    ratios = () if scale is None else _describe_ratios(problem, point, covariance, scale)
    return 0.5 * (in_own_units + in_own_units.T), ratios, method


def _default_error_method(problem: FitProblem) -> str:
    """The source of standard errors where none is chosen, see `ahead`."""
    task, count = problem.task, len(problem.active)
    if not task.is_likelihood:
        return "sandwich"
    is_affordable = task.evidence_problem is not None or len(task.weight) * count * (count + 1) // 2 <= MAX_HESSIAN_WORK
    return "information" if is_affordable else "products"


def coordinate_covariance(
    problem: FitProblem, point: SearchPoint, method: str, common_scale: CommonScale | None
) -> tuple[HostArray, HostArray]:
    """[m, m] the covariance of what the search moves, and [m] which of it is open."""
    curvature = point.product if method == "products" else mean_curvature(problem, point.z, point.product)
    if not np.isfinite(curvature).all():
        return UNKNOWN_VARIANCE * np.eye(len(curvature)), np.ones(len(curvature), bool)
    total, is_real = problem.task.weight.sum(), problem.is_real
    scale = np.where(is_real, MAX_STANDARD_ERRORS / math.sqrt(total), OPEN_ERROR)
    information = total * scale * curvature * scale[:, None]
    if common_scale is not None:  # in single precision curvature knows the flat direction less exactly than slopes do
        flat = common_scale.direction / scale
        across = np.eye(len(flat)) - np.outer(flat, flat) / (flat @ flat)
        information = across @ information @ across
    known, unknown = (scale * part * scale[:, None] for part in _invert_known_part(information))
    is_open = np.sqrt(np.diag(unknown)) > OPEN_ERROR_RATIO * np.sqrt(np.diag(known))
    if method == "sandwich":
        known = known @ (total * point.product) @ known
    covariance = known + unknown
    is_open |= ~is_real & (np.sqrt(np.diag(covariance)) > OPEN_ERROR)
    return covariance, is_open if common_scale is None else is_open | (common_scale.powers != 0)


def _invert_known_part(information: HostArray) -> tuple[HostArray, HostArray]:
    """[m, m] the inverse of the known information, and the projection onto directions without information."""
    values, vectors = np.linalg.eigh(information)
    noise = np.finfo(jnp.result_type(float)).eps * (np.sqrt(np.abs(np.diag(information))) @ np.abs(vectors)) ** 2
    is_known = values > np.maximum(noise, 1.0)
    known, unknown = vectors[:, is_known], vectors[:, ~is_known]
    return (known / values[is_known]) @ known.T, unknown @ unknown.T


def find_common_scale(problem: FitProblem, point: SearchPoint) -> CommonScale | None:
    """The null vector of the slopes of all events at a point; None without one."""
    names, size = problem.names, np.sqrt(np.diag(point.product))
    if len(names) < 2 or not (np.isfinite(point.product).all() and (size > 0).all()):
        return None
    eigenvalues, vectors = np.linalg.eigh(point.product / size / size[:, None])
    if eigenvalues[0] > MIN_INDEPENDENT_VARIANCE or eigenvalues[1] <= MIN_INDEPENDENT_VARIANCE:
        return None
    direction = vectors[:, 0] / size
    powers = _whole_powers(_log_slopes(problem, point.z) @ direction)
    if powers is None:
        return None
    here = fitted_params(problem, point.z)
    larger = {name: getattr(here, name) * 1.5**power for name, power in zip(names, powers, strict=True)}
    system = replace_params_if_valid(problem.system, here._replace(**larger))
    if system is None:
        return None
    unbounded = make_free_parameters(system, problem.free.names)[1]
    larger_loss = evaluate(problem, (unbounded[problem.active] / problem.unit)[None], problem.system.params).loss[0]
    tolerance = float(np.finfo(jnp.result_type(float)).eps) ** (2.0 / 3.0) * abs(point.loss)
    return CommonScale(direction, powers) if abs(larger_loss - point.loss) <= tolerance else None


def _whole_powers(growth: HostArray) -> HostArray | None:
    """[m] whole numbers, two or more of them above 0, to which growths are in proportion; None if none are."""
    growth = growth / growth[np.argmax(np.abs(growth))]
    growth = growth / np.min(np.abs(growth[np.abs(growth) > POWER_TOLERANCE]))
    powers = np.rint(growth)
    is_whole = (powers >= 0).all() and (np.abs(growth - powers) <= POWER_TOLERANCE).all()
    return powers if is_whole and np.count_nonzero(powers) >= 2 else None


def fitted_params(problem: FitProblem, z: HostArray) -> Params:
    """The hyperparameters at a point z [m] of a search, as numbers."""
    return jax.tree.map(lambda y: float(y[0]), params_at(problem, z[None], problem.system.params))


def _log_slopes(problem: FitProblem, z: HostArray) -> HostArray:
    """[m, m] slopes of the logarithms of fitted hyperparameters at a point z [m]; 0 of one that is 0."""
    params = fitted_params(problem, z)
    value = np.array([getattr(params, name) for name in problem.names])[:, None]
    slopes = hyperparameter_slopes(problem, z)
    return np.divide(slopes, value, out=np.zeros_like(slopes), where=value != 0.0)


def _describe_ratios(
    problem: FitProblem, point: SearchPoint, covariance: HostArray, scale: CommonScale
) -> tuple[HyperparameterRatio, ...]:
    """The ratios of hyperparameters that have a common scale, with their intervals."""
    names, slope, params, ratios = problem.names, _log_slopes(problem, point.z), fitted_params(problem, point.z), []
    below, *others = sorted(np.flatnonzero(scale.powers), key=lambda i: scale.powers[i])
    for i in others:
        power = float(scale.powers[i] / scale.powers[below])
        along = slope[i] - power * slope[below]
        value = float(getattr(params, names[i]) / getattr(params, names[below]) ** power)
        factor = math.exp(min(INTERVAL_ERRORS * math.sqrt(along @ covariance @ along), MAX_LOG_FACTOR))
        ratios.append(HyperparameterRatio((names[i], names[below]), power, value, value / factor, value * factor))
    return tuple(ratios)
