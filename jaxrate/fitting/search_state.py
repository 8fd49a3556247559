"""The state of the search of `fit`: points, coordinates and results of searches from many starts."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params
from jaxrate.fitting.fit_problem import FitProblem, mean_loss_derivatives, params_at, replace_params_if_valid
from jaxrate.fitting.history_loss_derivatives import LONG_HISTORY

MIN_TRIAL_PARAMETERS = 4  # parameters from which, in long histories, a step is tried without slopes before it is taken


class SearchResult(NamedTuple):
    """The results of searches from S starts."""

    x: HostArray  # [S, k] the best points
    loss: HostArray  # [S] of training
    selection_loss: HostArray  # [S] of validation, if there is one, else the same
    product: HostArray  # [S, k, k] of the slopes there; 0 in reverse mode
    history: list[tuple[HostArray, ...]]  # [S][steps + 1] both losses
    converged: list[bool]
    reason: list[str]
    problem: list[FitProblem]  # [S] with rules made for hyperparameters near the best


class SearchPoints(NamedTuple):
    """The points of S searches."""

    x: HostArray  # [S, k]
    loss: HostArray  # [S, 2] of training and of validation
    slope: HostArray  # [S, k] of the first
    product: HostArray  # [S, k, k] see `loss_derivatives`
    is_valid: HostArray  # [S] whether all is finite and the system allows it


class SearchCoordinates(NamedTuple):
    """The coordinates z in which steps are taken: x = origin + axes z."""

    axes: HostArray  # [S, k, m]
    origin: HostArray  # [S, k]
    z: HostArray  # [S, m]


class SearchOptimizer(NamedTuple):
    """An optimiser. L-BFGS shortens each step until the loss falls, along axes with a curvature of about 1."""

    init: Callable[[Array], Any]  # (z) -> memory
    update: Callable[[Array, Any, Array], tuple[Array, Any]]  # (slopes along the axes, memory, z) -> (step, memory)
    has_line_search: bool


class SearchState(NamedTuple):
    """The state of S searches."""

    problem: FitProblem  # with rules made for hyperparameters near
    params: Params  # those that are not free, numbers or [S]
    current: SearchPoints
    best: SearchPoints
    frame: SearchCoordinates
    memory: Any  # of the optimiser
    memory_reset: HostArray  # [S] whether the optimiser starts anew with the next step
    rules_changed: bool  # whether the last step has changed the rules
    num_steps: int  # steps taken
    steps_since_best: HostArray  # [S] steps without a better loss
    history: tuple[tuple[HostArray, ...], ...]  # [S][steps + 1] both losses
    reason: HostArray  # [S] why it ended, "" while it goes on
    converged: HostArray  # [S]


def is_running(search: SearchState) -> HostArray:
    """[S] whether a search is still running."""
    return search.reason == ""


def end_searches(search: SearchState, selected: HostArray, end_reason: str, is_converged: bool) -> SearchState:
    """The searches, with the selected ones [S] ended, unless they had ended before."""
    selected = selected & is_running(search)
    reason, converged = (
        np.where(selected, end_reason, search.reason),
        np.where(selected, is_converged, search.converged),
    )
    return search._replace(reason=reason.astype(object), converged=converged)


def selection_loss_index(problem: FitProblem) -> int:
    """The index of the loss that selects the best point: validation (1) if there is one, else training (0)."""
    return int(problem.weight[1].any())


def init_memory(method: SearchOptimizer, frame: SearchCoordinates) -> Any:
    """The memory of an optimiser before its first step."""
    return jax.tree.map(np.asarray, method.init(np.zeros(frame.z.shape, jnp.result_type(float))))


def coordinates_to_params(frame: SearchCoordinates) -> HostArray:
    """[S, k] the free parameters at the coordinates."""
    return frame.origin + np.einsum("skm,sm->sk", frame.axes, frame.z)


def machine_epsilon() -> float:
    return float(np.finfo(jnp.result_type(float)).eps)


def loss_rounding_noise(points: SearchPoints) -> HostArray:
    """[S] how much rounding may change a loss."""
    return 4.0 * machine_epsilon() * np.abs(points.loss[:, 0])


def evaluate_points(
    problem: FitProblem,
    x: HostArray,
    params: Params,
    previous: SearchPoints | None = None,
    max_loss: HostArray | None = None,
) -> SearchPoints:
    """The points x [S, k]; slopes are `previous` ones where they take long and no loss is at most `max_loss` [S]."""
    columns = params_at(problem, x, params)
    params_by_start = [jax.tree.map(lambda y: y[i], columns) for i in range(len(x))]  # noqa: B023
    allowed = np.array([replace_params_if_valid(problem.system, one) is not None for one in params_by_start])
    task = problem.task
    if (
        previous is not None
        and task.evidence_problem is None
        and len(task.weight) >= LONG_HISTORY
        and x.shape[1] >= MIN_TRIAL_PARAMETERS
    ):
        loss = mean_loss_derivatives(problem, "values", x, params)
        if not (loss[:, 0] <= max_loss).any():
            return previous._replace(x=x, loss=loss, is_valid=np.isfinite(loss).all(axis=1) & allowed)
    loss, slope, product = mean_loss_derivatives(problem, problem.mode, x, params)
    return SearchPoints(x, loss, slope, product, allowed & np.isfinite(np.hstack([loss, slope])).all(axis=1))


def slopes_along_axes(axes: HostArray, slope: HostArray) -> HostArray:
    """[S, m] the slopes along axes [S, k, m]."""
    return np.einsum("skm,sk->sm", axes, slope)


def replace_masked_starts(mask: HostArray, new: Any, old: Any) -> Any:
    """Leaves [S, ...]: new where `mask` is true, else old."""
    return jax.tree.map(lambda x, y: np.where(mask.reshape(-1, *(1,) * (np.ndim(x) - 1)), x, y), new, old)
