"""Rolling-origin evaluation."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxrate.argument_checks import Key, check_arguments
from jaxrate.fitting.fit_problem import params_at, prepare_fit
from jaxrate.fitting.fit_results import Fit, RollingFits
from jaxrate.fitting.hyperparameter_fit import check_count, mean_loss, resolve_options, task_from_options
from jaxrate.fitting.multistart_search import minimise
from jaxrate.fitting.prediction_task import PredictionTask
from jaxrate.parallel_map import Executor, map_items
from jaxrate.system import Params, RatingSystem, State
from jaxrate.types import Array, HostArray


@check_arguments
def fit_rolling(
    system: RatingSystem | Fit,
    events: Any,
    folds: int = 5,
    *,
    free: Sequence[str] | None = None,
    loss: str | Callable[[Array, Array], Array] | None = None,
    steps: int = 100,
    warm_up: float | None = None,
    weight: Any = None,
    mode: str | None = None,
    state: State = None,
    key: Key | None = None,
    executor: Executor | None = None,
) -> RollingFits:
    """Rolling-origin evaluation: fit the past, score what follows.

        jr.fitting.fit_rolling(jr.elo(), data, folds=2)

    The history is cut into folds + 1 parts of equally many events. Fold i is fitted to the first i + 1 parts, as by
    `fit`, and scored on the next one, whose events are rated on the way.

    Args:
      system, events, free, loss, steps, warm_up, weight, mode, state, key: as for `fit`; of a `Fit`, all events are
        taken, be they fitted or not.
      folds: from 1.
      executor: whose workers each take a fold, see `compare`; the numbers are the same.

    Raises:
      ValueError: as `fit`, and if a part has nothing to score.
    """
    check_count("folds", folds)
    explicit_options = dict(loss=loss, warm_up=warm_up, weight=weight, mode=mode, state=state, key=key)
    system, free, options = resolve_options(system, free, **explicit_options)
    task = task_from_options(system, events, options)
    part = task.event * (folds + 1) // (task.event[-1] + 1)
    weights = [(task.weight * (part <= i), task.weight * (part == i + 1)) for i in range(folds)]
    for i, (_, following) in enumerate(weights):
        if not following.any():
            raise ValueError(f"nothing is scored in part {i + 2} of {folds + 1}; take fewer folds")
    fold_results = map_items(executor, partial(_evaluate_fold, task, system, free, options.mode, steps), weights)
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
    """A fold's fields of `Rolling`, of what counts [n] before it and in it; leaves of the hyperparameters are [1]."""
    past, following = weights
    problem = prepare_fit(task, system, free, past, mode=mode)
    path = minimise(problem, problem.start[None], system.params, None, steps)
    fitted = mean_loss(path.problem[0], path.x, system.params, following)
    default = mean_loss(problem, problem.start[None], system.params, following)
    return params_at(problem, path.x, system.params), fitted, default, int(np.count_nonzero(following))
