"""The problem that `fit` solves: the mean loss of a history, with its slopes, as a function of a search's coordinates.

Parameters are searched by their logarithm, by the logit, or, in units that suit the events, as they are (`space` of the
system). The mean product of the slopes of single events says how far apart parameters lie in effect (Berndt, Hall, Hall
and Hausman 1974): it is the information of an event, and the size of a gradient in its units means the same whatever is
fitted. Derivatives are taken forwards, which needs no memory of the history.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import check_that
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.memory_checks import device_memory_bytes
from jaxrate.core.parallel_map import map_items
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, replace_params
from jaxrate.events import Matches
from jaxrate.fitting import evidence_objective
from jaxrate.fitting.free_parameters import (
    FreeParameterTransform,
    ParameterSettings,
    make_free_parameters,
    resolve_free_names,
    to_hyperparameters,
)
from jaxrate.fitting.losses import prediction_losses
from jaxrate.fitting.prediction_task import PredictionTask, has_draws, replay_predictions
from jaxrate.replay.execution import CompilePolicy, Engine, compile_policy_from_environment
from jaxrate.replay.padded_arrays import is_sharded, shard_hyperparameter_settings, state_shapes
from jaxrate.replay.player_rows import as_device_arrays

BATCH_MEMORY = 1 << 29  # bytes that settings computed together may take
KERNEL_SETTINGS = 256  # settings that the kernel of a GPU rates at once sooner than the loop (gpu_record.json)
MAX_DIFFERENCE_STEP = 0.1  # the longest step of differences of slopes
LONG_HISTORY = 1 << 17  # predictions from which two halves of the slopes run side by side: a replay keeps one core busy
SUM_ROW = 1024  # losses are summed so many at a time in the default precision, and these sums on the host in float64


class LossesAndSlopes(NamedTuple):
    """The losses of S settings with their slopes by k free parameters: sums over a history, or means."""

    loss: HostArray  # [S]
    slope: HostArray  # [S, k]
    product: HostArray  # [S, k, k] of the slopes of single events, each with each


@jax.jit
def _weighted_sums_in_chunks(weight: Array, x: Array) -> Array:
    """[..., rows] sums of weight x [..., n] over rows of `SUM_ROW` numbers."""
    x = jnp.broadcast_to(weight, x.shape) * x
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % SUM_ROW)])
    return jnp.sum(padded.reshape(*x.shape[:-1], -1, SUM_ROW), axis=-1)


def _losses_and_slopes(axes: Array, losses: Callable[[Array], Array], x: Array) -> tuple[Array, Array]:
    """The losses [n], and their slopes [axes, n] along axes [axes, k]."""

    def directional_slope(tangent: Array) -> Any:
        return jax.jvp(losses, (x,), (tangent,))

    value, slope = jax.vmap(directional_slope, out_axes=(None, 0))(axes)
    return value, slope


@jax.jit
def _slope_sums_and_products(weight: Array, slope: Array, event: Array | None) -> tuple[Array, Array]:
    """[S, k, rows] weighted sums of slopes [S, k, n], and [S, k, k] sums over events of products of their slopes."""

    def sums(slope: Array) -> tuple[Array, Array]:
        event_slopes = jnp.broadcast_to(weight, slope.shape) * slope
        if event is not None:
            event_slopes = jnp.zeros_like(event_slopes).at[:, event].add(event_slopes)
        products = jnp.einsum("in,jn->ij", event_slopes, event_slopes, precision="highest")
        return _weighted_sums_in_chunks(weight, slope), products

    return jax.vmap(sums)(slope)


def settings_per_batch(task: PredictionTask, count: int, copies_per_setting: int) -> int:
    """How many of `count` settings one device computes together, each of which needs `copies_per_setting`."""
    state = state_shapes(task.system, task.num_players)
    num_floats = 6 * len(task.weight) + 2 * sum(math.prod(x.shape) for x in jax.tree.leaves(state))
    max_settings = max(batch_memory_limit() // (copies_per_setting * num_floats * jnp.dtype(float).itemsize), 1)
    return -(-count // -(-count // max_settings))


def batch_memory_limit() -> int:
    """Bytes that settings computed together may take: on a GPU a quarter of its memory."""
    memory = device_memory_bytes(jax.devices()[0]) if has_launch_overhead() else None
    return BATCH_MEMORY if memory is None else max(int(memory) // 4, BATCH_MEMORY)


def devices_for_settings(task: PredictionTask, count: int) -> list[Any]:
    """The devices over which so many settings are spread, unless the state is, or the user has chosen one."""
    default_device = jax.config.jax_default_device  # type: ignore[attr-defined]
    if count == 1 or is_sharded(task.objective.state) or default_device is not None:
        return []
    return jax.local_devices()


def equal_size_index_chunks(count: int, size: int) -> Iterator[HostArray]:
    """Chunks of indices, each of `size`; the last index may be repeated."""
    for start in range(0, count, size):
        yield np.minimum(np.arange(start, start + size), count - 1)


def _evaluate_settings(
    task: PredictionTask, settings: ParameterSettings, devices: Sequence[Any]
) -> Callable[[Callable[..., Any]], Any]:
    """A function that evaluates another one, of the losses [n] by free parameters [k] and these, for all settings."""
    free = settings.free
    x, params = shard_hyperparameter_settings((settings.x, settings.params), list(devices))
    if task.system.rules.prepare_for is not None:
        columns = jax.vmap(partial(to_hyperparameters, free))(x, params)
        rules = task.system.rules.with_sizes_for(columns)
        task = task._replace(system=task.system._replace(rules=rules))
    policy = compile_policy_from_environment()._replace(outermost=True)
    engine: Engine = "auto" if len(settings.x) <= KERNEL_SETTINGS else "scan"

    def evaluate_setting(function: Callable[..., Any], x: Array, params: Params) -> Any:
        def losses(x: Array) -> Array:
            prediction = replay_predictions(task, to_hyperparameters(free, x, params), policy, engine)
            return prediction_losses(task.loss, prediction, task.score, as_device_arrays(task.weight))

        return function(losses, x)

    return lambda function: jax.block_until_ready(jax.vmap(partial(evaluate_setting, function))(x, params))


def summed_losses(task: PredictionTask, settings: ParameterSettings, devices: Sequence[Any] = ()) -> HostArray:
    """[S] the summed losses of settings; `devices` are those over which they are spread, empty: all of this process."""
    if task.evidence_problem is not None:
        return evidence_objective.negative_log_evidence(task.evidence_problem, settings)[0]
    count, weight = len(settings.x), as_device_arrays(task.weight)
    evaluate = _evaluate_settings(task, settings, devices or devices_for_settings(task, count))
    sums = evaluate(lambda losses, x: _weighted_sums_in_chunks(weight, losses(x)))
    return np.asarray(sums, np.float64)[:count].sum(axis=-1)


def summed_losses_and_slopes(task: PredictionTask, settings: ParameterSettings) -> LossesAndSlopes:
    """The summed losses of settings, with slopes by their free parameters."""
    if task.evidence_problem is not None:
        return LossesAndSlopes(*evidence_objective.negative_log_evidence(task.evidence_problem, settings))
    (count, k), weight = settings.x.shape, as_device_arrays(task.weight)
    event = None if task.kind is Matches else jax.device_put(np.asarray(task.event, np.int32))
    evaluate = _evaluate_settings(task, settings, devices_for_settings(task, count))
    threads, axes = _num_threads(task), np.eye(k, dtype=jnp.result_type(float))
    chunks = [jax.device_put(axes[at]) for at in equal_size_index_chunks(k, -(-k // threads))]
    parts = _map_in_threads(threads, lambda along: evaluate(partial(_losses_and_slopes, along)), chunks)
    slope = parts[0][1] if len(parts) == 1 else jnp.concatenate([x for _, x in parts], axis=1)[:, :k]
    sums = _weighted_sums_in_chunks(weight, parts[0][0]), *_slope_sums_and_products(weight, slope, event)
    loss, slope_sums, product = (np.asarray(y, np.float64)[:count] for y in sums)
    return LossesAndSlopes(loss.sum(axis=-1), slope_sums.sum(axis=-1), product)


def _num_threads(task: PredictionTask) -> int:
    """How many parts of the slopes are computed side by side."""
    return 2 if len(task.weight) >= LONG_HISTORY and jax.default_backend() == "cpu" else 1


def _map_in_threads(num_threads: int, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """The results of a function, so many at a time."""
    if num_threads == 1:
        return map_items(None, function, items)
    with ThreadPoolExecutor(num_threads) as pool:
        return map_items(pool, function, items)


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
    check_that(task.weight.any(), "nothing is left to fit: all that is scored lies in the part that is held out")
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
    active = _select_effective_parameters(task, names, product[0], has_effect, is_named=free is not None)
    unit = np.where(whole.is_real[active], 1.0 / size[active], 1.0)
    priors = [getattr(system.space, names[i]).prior for i in active]
    prior = np.array([(0.0, 0.0) if x is None else (math.log(x[0]), x[1] ** -2) for x in priors]).T
    problem = whole._replace(active=active, unit=unit, prior=prior)
    slope, product = slope[:, active] * unit, product[:, active[:, None], active] * unit * unit[:, None]
    return problem._replace(at_start=_add_prior(problem, problem.start[None], LossesAndSlopes(loss, slope, product)))


def _select_effective_parameters(
    task: PredictionTask, names: Sequence[str], product: HostArray, has_effect: HostArray, *, is_named: bool
) -> HostArray:
    """[m] numbers of the fitted parameters that change predictions; ValueError for a named one that does not."""
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


def mean_curvature(problem: FitProblem, z: HostArray, product: HostArray) -> HostArray:
    """[m, m] second slopes of the mean loss, with the prior, at a point z [m] with this mean product of slopes [m, m].

    They are differences of slopes over about a standard error to either side: so far the loss counts. Where variances
    are kept below a limit, second slopes at a point leave out its bends, and standard errors would be too large.
    """
    step = 1.0 / np.maximum(1.0 / MAX_DIFFERENCE_STEP, np.sqrt(problem.task.weight.sum() * np.diag(product)))
    ends = [[evaluate(problem, (z + x)[None], problem.system.params).slope[0] for x in (x, -x)] for x in np.diag(step)]
    curvature = np.array([(above - below) / (2.0 * h) for (above, below), h in zip(ends, step, strict=True)])
    return 0.5 * (curvature + curvature.T)


def mean_loss(problem: FitProblem, z: HostArray, weight: HostArray) -> float:
    """The mean loss by other weights [n] at a point z [m], without the prior."""
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
