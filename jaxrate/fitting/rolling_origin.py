"""Rolling-origin evaluation."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxrate.core.argument_checks import Key, enforce_argument_annotations
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.rules import Params, State
from jaxrate.core.system import RatingSystem
from jaxrate.fitting.fit_problem import params_at, prepare_fit
from jaxrate.fitting.fit_results import Fit, RollingFits
from jaxrate.fitting.hyperparameter_fit import (
    check_positive_integer,
    make_task_from_options,
    mean_loss,
    resolve_options,
)
from jaxrate.fitting.multistart_search import minimise_from_starts
from jaxrate.fitting.prediction_task import PredictionTask


@enforce_argument_annotations
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
    """Rolling-origin evaluation: fit the past, score the events that follow.

        jr.fitting.fit_rolling(jr.elo(), data, folds=2)

    The history is cut into folds + 1 parts of equally many events. Fold i is fitted to the first i + 1 parts, as by
    `fit`, and scored on the next one, whose events are rated on the way.

    Args:
      system, events, free, loss, steps, warm_up, weight, mode, state, key: as for `fit`; of a `Fit`, all events are
        taken, be they fitted or not.
      folds: the number of folds, at least 1.
      executor: whose workers each take a fold, see `compare`; the numbers are the same.

    Raises:
      ValueError: as `fit`, and if a part has nothing to score.
    """
    check_positive_integer("folds", folds)
    explicit_options = dict(loss=loss, warm_up=warm_up, weight=weight, mode=mode, state=state, key=key)
    system, free, options = resolve_options(system, free, **explicit_options)
    task = make_task_from_options(system, events, options)
    if folds > task.event[-1]:
        raise ValueError(f"{folds} folds need more than {folds} events; take fewer folds")
    fold_part = task.event * (folds + 1) // (task.event[-1] + 1)
    weights = [(task.weight * (fold_part <= i), task.weight * (fold_part == i + 1)) for i in range(folds)]
    for i, (_, next_weights) in enumerate(weights):
        if not next_weights.any():
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
    """A fold's fields of `RollingFits`, from the weights [n] before it and in it; leaves of parameters are [1]."""
    past_weights, next_weights = weights
    problem = prepare_fit(task, system, free, past_weights, mode=mode)
    search = minimise_from_starts(problem, problem.start[None], system.params, None, steps)
    fitted = mean_loss(search.problem[0], search.x, system.params, next_weights)
    default = mean_loss(problem, problem.start[None], system.params, next_weights)
    return params_at(problem, search.x, system.params), fitted, default, int(np.count_nonzero(next_weights))
