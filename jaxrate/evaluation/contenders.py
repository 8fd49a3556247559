"""Systems that are compared on the same events: fitted to the past, and replayed against the clock."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax

from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.system import RatingSystem
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.time_limited_fit import FitLimits, fit_with_time_limit, make_fixed_key


class Contender(NamedTuple):
    """A system to be compared, by match or in rating periods."""

    name: str
    period: float | None  # of rating periods
    system: RatingSystem


def fit_contenders(
    data: Dataset,
    contenders: list[Contender],
    system_choices: Mapping[str, Any],
    num_past: int,
    executor: Executor | None = None,
    watch: Callable[[float], None] | None = None,
    limits: FitLimits | None = None,
) -> tuple[list[Contender], dict[str, str]]:
    """The contenders with fitted systems, and why those given by name were not fitted ("" if they were)."""
    by_name = [form for form in contenders if not isinstance(system_choices[form.name], RatingSystem)]
    fit_tasks = [(form, tuple(system_choices[form.name])) for form in by_name]
    results = dict(
        zip(
            by_name, map_items(executor, partial(_fit_contender, data, num_past, limits), fit_tasks, watch), strict=True
        )
    )
    reasons = {form.name: reason for form, (_, reason) in results.items()}
    return [form._replace(system=results[form][0]) if form in results else form for form in contenders], reasons


def _fit_contender(
    data: Dataset, num_past: int, limits: FitLimits | None, fit_task: tuple[Contender, tuple[str, ...]]
) -> tuple[RatingSystem, str]:
    """The fitted system of a contender, and why not; fixed hyperparameters stay."""
    contender, fixed = fit_task
    return fit_with_time_limit(contender.system, data, num_past, contender.period, fixed, limits)


def time_replay(
    replay: Callable[..., Any], system: RatingSystem, events: Any, plan: Any, num_runs: int = 2
) -> tuple[Any, float]:
    """The result of `replay`, and the seconds of its last run: a second one, without compilation."""
    for _ in range(num_runs):
        start = time.perf_counter()
        result = jax.block_until_ready(replay(system, events, schedule=plan, key=make_fixed_key(system)))
        seconds = time.perf_counter() - start
    return result, seconds
