"""Rolling-origin evaluation."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxrate.arguments import Key, check_arguments
from jaxrate.events import Array
from jaxrate.executors import Executor, each
from jaxrate.fitting.fit import check_count, mean_loss, resumed, task_of
from jaxrate.fitting.found import Fit, Rolling
from jaxrate.fitting.problem import params_at, prepare
from jaxrate.fitting.search import minimise
from jaxrate.fitting.task import Task
from jaxrate.records.metrics import NumPy
from jaxrate.system import Params, RatingSystem, State


@check_arguments
def rolling(
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
) -> Rolling:
    """Rolling-origin evaluation: fit the past, score what follows.

        jr.rolling(jr.elo(), data, folds=2)

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
    given = dict(loss=loss, warm_up=warm_up, weight=weight, mode=mode, state=state, key=key)
    system, free, options = resumed(system, free, **given)
    what = task_of(system, events, options)
    part = what.event * (folds + 1) // (what.event[-1] + 1)
    weights = [(what.weight * (part <= i), what.weight * (part == i + 1)) for i in range(folds)]
    for i, (_, following) in enumerate(weights):
        if not following.any():
            raise ValueError(f"nothing is scored in part {i + 2} of {folds + 1}; take fewer folds")
    found = each(executor, partial(_fold, what, system, free, options.mode, steps), weights)
    params, fitted, default, count = zip(*found, strict=True)
    return Rolling(
        jax.tree.map(lambda *x: np.concatenate(x), *params), np.array(fitted), np.array(default), np.array(count)
    )


def _fold(
    what: Task,
    system: RatingSystem,
    free: Sequence[str] | None,
    mode: str | None,
    steps: int,
    weight: tuple[NumPy, NumPy],
) -> tuple[Params, float, float, int]:
    """A fold's fields of `Rolling`, of what counts [n] before it and in it; leaves of the hyperparameters are [1]."""
    past, following = weight
    problem = prepare(what, system, free, past, mode=mode)
    path = minimise(problem, problem.start[None], system.params, None, steps)
    fitted = mean_loss(path.problem[0], path.x, system.params, following)
    default = mean_loss(problem, problem.start[None], system.params, following)
    return params_at(problem, path.x, system.params), fitted, default, int(np.count_nonzero(following))
