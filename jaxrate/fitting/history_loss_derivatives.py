"""The summed losses of a history as functions of the free hyperparameters, and their slopes.

Derivatives are taken forwards, which needs no memory of the history.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.memory_checks import device_memory_bytes
from jaxrate.core.parallel_map import map_items
from jaxrate.core.rules import Params
from jaxrate.events import Matches
from jaxrate.fitting import evidence_objective
from jaxrate.fitting.free_parameters import ParameterSettings, to_hyperparameters
from jaxrate.fitting.losses import prediction_losses
from jaxrate.fitting.prediction_task import PredictionTask, replay_task
from jaxrate.replay.execution import Engine, compile_policy_from_environment
from jaxrate.replay.padded_states_and_columns import is_sharded, shard_hyperparameter_settings, state_shapes
from jaxrate.replay.row_gather_and_scatter import as_device_arrays

BATCH_MEMORY = 1 << 29  # bytes that settings computed together may take
KERNEL_SETTINGS = 256  # settings that the kernel of a GPU rates at once sooner than the loop (gpu_record.json)
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
    """[S, k, rows] sums of slopes [S, k, n], and [S, k, k] of products of the slopes of the events."""

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
            prediction = replay_task(task, to_hyperparameters(free, x, params), policy, engine)
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


def summed_curvature(task: PredictionTask, settings: ParameterSettings, indices: HostArray) -> HostArray:
    """[k, k] second slopes of the summed losses of one setting, between the free parameters of these; 0 elsewhere."""
    if task.evidence_problem is not None:
        return evidence_objective.negative_log_evidence_curvature(task.evidence_problem, settings, indices)
    k, weight = settings.x.shape[1], as_device_arrays(task.weight)
    axes, curvature = np.eye(k, dtype=jnp.result_type(float)), np.zeros((k, k))
    threads = _num_threads(task)
    first, second = (indices[y] for y in np.triu_indices(len(indices)))
    size = settings_per_batch(task, -(-len(first) // threads), copies_per_setting=threads)
    batches = [*equal_size_index_chunks(len(first), size)]
    evaluate = _evaluate_settings(task, settings, ())

    def evaluate_pairs(pairs: HostArray) -> Any:
        along = jax.device_put((axes[first[pairs]], axes[second[pairs]]))
        return evaluate(partial(_second_slopes, weight, along))[0]

    sums = _map_in_threads(threads, evaluate_pairs, batches)
    for pairs, slopes in zip(batches, sums, strict=True):
        i, j = first[pairs], second[pairs]
        curvature[i, j] = curvature[j, i] = np.asarray(slopes, np.float64).sum(axis=-1)
    return curvature


def _second_slopes(weight: Array, axis_pairs: tuple[Array, Array], losses: Callable[[Array], Array], x: Array) -> Array:
    """[pairs, rows] second slopes of the summed losses along pairs of axes [pairs, k]."""

    def slope(x: Array, axis: Array) -> Array:
        return jax.jvp(lambda x: _weighted_sums_in_chunks(weight, losses(x)), (x,), (axis,))[1]

    def second_slope(first_axis: Array, second_axis: Array) -> Array:
        return jax.jvp(partial(slope, axis=first_axis), (x,), (second_axis,))[1]

    return jax.vmap(second_slope)(*axis_pairs)


def _num_threads(task: PredictionTask) -> int:
    """How many parts of the slopes are computed side by side."""
    return 2 if len(task.weight) >= LONG_HISTORY and jax.default_backend() == "cpu" else 1


def _map_in_threads(num_threads: int, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """The results of a function, so many at a time."""
    if num_threads == 1:
        return map_items(None, function, items)
    with ThreadPoolExecutor(num_threads) as pool:
        return map_items(pool, function, items)
