"""The losses of a history as functions of the free hyperparameters, with their slopes and curvature."""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.memory_checks import device_memory_bytes
from jaxrate.core.rules import Params, SizedPrepare
from jaxrate.core.system import RatingSystem, rules_with_sizes_for_params
from jaxrate.events import Matches
from jaxrate.fitting import evidence_objective
from jaxrate.fitting.free_parameters import ParameterSettings, to_hyperparameters
from jaxrate.fitting.losses import prediction_losses
from jaxrate.fitting.prediction_task import PredictionTask, replay_task
from jaxrate.replay.execution import compile_policy_from_environment
from jaxrate.replay.padded_states_and_columns import state_shapes
from jaxrate.replay.row_gather_and_scatter import as_device_arrays
from jaxrate.replay.sharding import is_sharded, shard_hyperparameter_settings

BATCH_MEMORY = 1 << 29  # bytes that settings computed together may take
LONG_HISTORY = 1 << 17  # predictions from which two halves of the slopes run side by side: a replay keeps one core busy
SUM_ROW = 1024  # losses are summed so many at a time in the default precision, and these sums on the host in float64


@jax.jit
def _weighted_sums_in_chunks(weight: Array, x: Array) -> Array:
    """[..., rows] sums of weight x [..., n] or [n] over rows of `SUM_ROW` numbers."""
    x = weight * (x[None] if x.ndim < weight.ndim else x)
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % SUM_ROW)])
    return jnp.sum(padded.reshape(*x.shape[:-1], -1, SUM_ROW), axis=-1)


def _weighted_loss_sums(losses: Any, x: Array, weight: Array, event: Array | None) -> Any:
    """[2, rows] sums of the losses by each of two weights [2, n]."""
    del event
    return _weighted_sums_in_chunks(weight, losses(x))


def _loss_sums_and_slopes(axes: Array, losses: Any, x: Array, weight: Array, event: Array | None) -> Any:
    """The weighted sums of the losses in chunks, and the slopes [axes, n] of the losses along axes [axes, k]."""
    del event

    def directional_slope(tangent: Array) -> Any:
        return jax.jvp(losses, (x,), (tangent,))

    value, slope = jax.vmap(directional_slope, out_axes=(None, 0))(axes)
    return _weighted_sums_in_chunks(weight, value), slope


def _forward_derivatives(
    map_settings: Callable[[Any], Any], num_threads: int, num_params: int, weight: Array, event: Array | None
) -> Any:
    """Sums [S, 2, rows] of losses, [S, k, rows] of slopes by the first weight, and [S, k, k] of their products."""
    axes = np.eye(num_params, dtype=jnp.result_type(float))
    axis_chunks = equal_size_index_chunks(num_params, -(-num_params // num_threads))
    parts = [partial(_loss_sums_and_slopes, jax.device_put(axes[at])) for at in axis_chunks]
    results = _run_in_threads(num_threads, [partial(map_settings, part) for part in parts])
    slope = (
        results[0][1] if len(results) == 1 else jnp.concatenate([part[1] for part in results], axis=1)[:, :num_params]
    )
    return results[0][0], *_slope_sums_and_products(weight, slope, event)


@jax.jit
def _slope_sums_and_products(weight: Array, slope: Array, event: Array | None) -> tuple[Array, Array]:
    """[S, k, rows] sums of slopes [S, k, n] by the first weight, and [S, k, k] of products of the events' slopes."""

    def sums(slope: Array) -> tuple[Array, Array]:
        event_slopes = weight[:1] * slope
        if event is not None:
            event_slopes = jnp.zeros_like(event_slopes).at[:, event].add(event_slopes)
        products = jnp.einsum("in,jn->ij", event_slopes, event_slopes, precision="highest")
        return _weighted_sums_in_chunks(weight[:1], slope), products

    return jax.vmap(sums)(slope)


def _reverse_gradient(losses: Any, x: Array, weight: Array, event: Array | None) -> Any:
    """Sums [2, rows], slopes [k, 1], and zeros for products."""
    del event

    def total_loss(x: Array) -> Any:
        value = losses(x)
        return jnp.sum(weight[0] * value), _weighted_sums_in_chunks(weight, value)

    slope, value = jax.grad(total_loss, has_aux=True)(x)
    return value, slope[:, None], jnp.zeros((len(x), len(x)))


def _second_derivatives(
    axis_pairs: tuple[Array, Array], losses: Any, x: Array, weight: Array, event: Array | None
) -> Any:
    """[pairs, rows] second slopes, along pairs of axes [pairs, k], of the sums by the first weight."""
    del event

    def slope(x: Array, axis: Array) -> Array:
        return jax.jvp(lambda x: _weighted_sums_in_chunks(weight[0], losses(x)), (x,), (axis,))[1]

    def second_slope(first_axis: Array, second_axis: Array) -> Array:
        return jax.jvp(partial(slope, axis=first_axis), (x,), (second_axis,))[1]

    return jax.vmap(second_slope)(*axis_pairs)


_DERIVATIVE_FUNCTIONS: dict[str, Any] = {"values": _weighted_loss_sums, "reverse": _reverse_gradient}


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
    if count == 1 or is_sharded(task.state) or default_device is not None:
        return []
    return jax.local_devices()


def _run_in_threads(num_threads: int, calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """The results of calls, `num_threads` of which run side by side in the caller's precision."""
    double = jnp.result_type(float) == np.float64

    def call(function: Callable[[], Any]) -> Any:
        with jax.enable_x64(double):
            return jax.block_until_ready(function())

    if num_threads == 1:
        return [jax.block_until_ready(one()) for one in calls]
    with ThreadPoolExecutor(num_threads) as pool:
        return [task.result() for task in [pool.submit(copy_context().run, call, one) for one in calls]]


def equal_size_index_chunks(count: int, size: int) -> Iterator[HostArray]:
    """Chunks of indices, each of `size`; the last index may be repeated."""
    for start in range(0, count, size):
        yield np.minimum(np.arange(start, start + size), count - 1)


def _resolve_sizes_for_settings(system: RatingSystem, settings: ParameterSettings) -> RatingSystem:
    """The system with rules whose sizes hold for all these settings."""
    if not isinstance(system.rules.prepare, SizedPrepare):
        return system
    free, unit = settings.free, settings.unit
    columns = jax.vmap(lambda x, params: to_hyperparameters(free, x, unit, params))(settings.x, settings.params)
    return system._replace(rules=rules_with_sizes_for_params(system.rules, columns))


def loss_derivatives(
    quantity: str,
    task: PredictionTask,
    settings: ParameterSettings,
    weight: HostArray,
    hessian_indices: HostArray | None = None,
    devices: Sequence[Any] = (),
) -> Any:
    """Summed losses ("values"), their slopes ("forward", "reverse") or the "hessian" of many settings.

    Args:
      weight: [2, n] of training and of validation.
      hessian_indices: the parameters between which the hessian is computed; 0 elsewhere. None: all.
      devices: over which the settings are spread. Empty: all of this process, if there are several settings.

    Returns:
      Leaves [S, 2], [S, k] or [S, k, k].
    """
    if task.evidence_problem is not None:
        return evidence_objective.negative_log_evidence_derivatives(
            quantity, task.evidence_problem, settings, hessian_indices
        )
    count, free = len(settings.x), settings.free
    devices = list(devices) or devices_for_settings(task, count)
    x, params = shard_hyperparameter_settings((settings.x, settings.params), devices)
    unit, weight = as_device_arrays((settings.unit, weight))
    event = None if task.kind is Matches else jax.device_put(np.asarray(task.event, np.int32))
    task = task._replace(system=_resolve_sizes_for_settings(task.system, ParameterSettings(free, x, unit, params)))

    policy = compile_policy_from_environment()._replace(outermost=quantity != "reverse")

    def evaluate_setting(function: Any, x: Array, params: Params) -> Any:
        def losses(x: Array) -> Array:
            setting = to_hyperparameters(free, x, unit, params)
            return prediction_losses(task.loss, replay_task(task, setting, policy), task.score, weight)

        return function(losses, x, weight, event)

    def evaluate_settings(function: Any) -> Any:
        return jax.vmap(partial(evaluate_setting, function))(x, params)

    halves = 2 if len(task.weight) >= LONG_HISTORY and jax.default_backend() == "cpu" else 1
    if quantity == "hessian":
        indices = np.arange(x.shape[1]) if hessian_indices is None else hessian_indices
        size = partial(settings_per_batch, task, copies_per_setting=halves * len(x))
        return _hessian(evaluate_settings, x, indices, halves, size)[:count]
    if quantity == "forward":
        result = _forward_derivatives(evaluate_settings, halves, x.shape[1], weight, event)
    else:
        result = evaluate_settings(_DERIVATIVE_FUNCTIONS[quantity])
    value, *slopes = result if isinstance(result, tuple) else (result,)
    totals = [np.asarray(y, np.float64)[:count].sum(axis=-1) for y in (value, *slopes[:1])]
    return (*totals, np.asarray(slopes[1], np.float64)[:count]) if slopes else totals[0]


def _hessian(
    map_settings: Callable[[Any], Any],
    x: Array,
    indices: HostArray,
    num_threads: int,
    pairs_per_batch: Callable[[int], int],
) -> HostArray:
    """[S, k, k] second slopes between the parameters of these indices; 0 elsewhere."""
    axes, hessian = np.eye(x.shape[1], dtype=x.dtype), np.zeros((*x.shape, x.shape[1]))
    i, j = (indices[y] for y in np.triu_indices(len(indices)))
    batches = [*equal_size_index_chunks(len(i), pairs_per_batch(-(-len(i) // num_threads)))]
    along = [jax.device_put((axes[i[at]], axes[j[at]])) for at in batches]
    slopes = _run_in_threads(num_threads, [partial(map_settings, partial(_second_derivatives, x)) for x in along])
    for at, slope in zip(batches, slopes, strict=True):
        hessian[:, i[at], j[at]] = hessian[:, j[at], i[at]] = np.asarray(slope, np.float64).sum(axis=-1)
    return hessian
