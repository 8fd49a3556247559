"""The losses of a history as functions of the free hyperparameters, with their slopes and curvature."""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.device import launches
from jaxrate.events import Array, Matches
from jaxrate.fitting import evidence
from jaxrate.fitting.free import Free, constrain
from jaxrate.fitting.losses import lost
from jaxrate.fitting.task import Task
from jaxrate.memory import of_device
from jaxrate.records.metrics import NumPy
from jaxrate.replay.compiling import blank, outermost
from jaxrate.replay.run import run
from jaxrate.replay.spread import is_spread, shared_out
from jaxrate.system import Params, RatingSystem, sized_for

MEMORY = 1 << 29  # bytes that settings computed at once may take
LONG = 1 << 17  # predictions from which slopes are taken in two halves at once: a replay keeps one core busy
ROW = 1024  # losses are summed so many at a time in the default precision, and these sums on the host in float64


@jax.jit
def _sums(weight: Array, x: Array) -> Array:
    """[..., rows] of weight x [..., n], ROW at a time."""
    x = weight * x
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % ROW)])
    return jnp.sum(padded.reshape(*x.shape[:-1], -1, ROW), axis=-1)


def _values(losses: Any, x: Array, weight: Array, event: Array | None) -> Any:
    """[2, rows] sums of the losses by each of two weights [2, n]."""
    del event
    return _sums(weight, losses(x)[None])


def _slopes(along: Array, losses: Any, x: Array, weight: Array, event: Array | None) -> Any:
    """The same, and the slopes [axes, n] of the losses along axes [axes, k]."""
    del event

    def push(tangent: Array) -> Any:
        return jax.jvp(losses, (x,), (tangent,))

    value, slope = jax.vmap(push, out_axes=(None, 0))(along)
    return _sums(weight, value[None]), slope


def _forward(each: Callable[[Any], Any], halves: int, count: int, weight: Array, event: Array | None) -> Any:
    """[S, 2, rows] sums, [S, k, rows] of slopes by the first weight, and [S, k, k] of products over events of these."""
    axes = jnp.eye(count)
    some = chunks(count, -(-count // halves))
    parts = _at_once(halves, [partial(each, partial(_slopes, axes[at])) for at in some])
    slope = parts[0][1] if len(parts) == 1 else jnp.concatenate([part[1] for part in parts], axis=1)[:, :count]

    def sums(slope: Array) -> tuple[Array, Array]:
        return _sums(weight[:1], slope), _products(weight[0], slope, event)

    return parts[0][0], *jax.vmap(sums)(slope)


@jax.jit
def _products(weight: Array, slope: Array, event: Array | None) -> Array:
    """[k, k] the sum, over events, of products of weighted slopes [k, n] that are summed over each."""
    whole = weight[None] * slope
    if event is not None:
        whole = jnp.zeros_like(whole).at[:, event].add(whole)
    return jnp.einsum("in,jn->ij", whole, whole, precision="highest")


def _reverse(losses: Any, x: Array, weight: Array, event: Array | None) -> Any:
    """Sums [2, rows], slopes [k, 1], and 0 for products."""
    del event

    def total(x: Array) -> Any:
        value = losses(x)
        return jnp.sum(weight[0] * value), _sums(weight, value[None])

    slope, value = jax.grad(total, has_aux=True)(x)
    return value, slope[:, None], jnp.zeros((len(x), len(x)))


def _bends(along: tuple[Array, Array], losses: Any, x: Array, weight: Array, event: Array | None) -> Any:
    """[pairs, rows] of the sums by the first weight: the second slopes along pairs of axes [pairs, k]."""
    del event

    def slope(x: Array, along: Array) -> Array:
        return jax.jvp(lambda x: _sums(weight[0], losses(x)), (x,), (along,))[1]

    def bend(one: Array, two: Array) -> Array:
        return jax.jvp(partial(slope, along=one), (x,), (two,))[1]

    return jax.vmap(bend)(*along)


_WHAT: dict[str, Any] = {"values": _values, "reverse": _reverse}


def at_once(what: Task, count: int, copies: int) -> int:
    """How many settings are computed at once by a device, of `count`, each with so many numbers for one."""
    state = blank(what.system, what.num_players)
    numbers = 6 * len(what.weight) + 2 * sum(math.prod(x.shape) for x in jax.tree.leaves(state))
    most = max(room() // (copies * numbers * jnp.dtype(float).itemsize), 1)
    return -(-count // -(-count // most))


def room() -> int:
    """Bytes that settings computed at once may take: where kernels are launched, as many as fit without crowding."""
    have = of_device(jax.devices()[0]) if launches() else None
    return MEMORY if have is None else max(int(have) // 4, MEMORY)


def devices_for(task: Task, count: int) -> list[Any]:
    """The devices over which so many settings are spread, unless the state is, or the user has chosen one."""
    chosen = jax.config.jax_default_device  # type: ignore[attr-defined]
    if count == 1 or is_spread(task.state) or chosen is not None:
        return []
    return jax.local_devices()


def _at_once(count: int, calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What they return; so many run at the same time, in threads to which the caller's precision is told."""
    double = jnp.result_type(float) == np.float64

    def call(one: Callable[[], Any]) -> Any:
        with jax.enable_x64(double):
            return jax.block_until_ready(one())

    if count == 1:
        return [jax.block_until_ready(one()) for one in calls]
    with ThreadPoolExecutor(count) as pool:
        return [task.result() for task in [pool.submit(copy_context().run, call, one) for one in calls]]


def chunks(count: int, size: int) -> Iterator[NumPy]:
    """Indices, always `size` at a time: the last one may be repeated."""
    for low in range(0, count, size):
        yield np.minimum(np.arange(low, low + size), count - 1)


def _sized(system: RatingSystem, free: Free, x: Array, unit: Array, params: Params) -> RatingSystem:
    """The system with rules whose sizes hold for all these settings."""
    if system.rules.sized is None:
        return system
    columns = jax.vmap(lambda x, params: constrain(free, x, unit, params))(x, params)
    return system._replace(rules=sized_for(system.rules, columns))


def calculate(
    what: str,
    task: Task,
    free: Free,
    x: NumPy,
    unit: NumPy,
    params: Params,
    weight: NumPy,
    curved: NumPy | None = None,
    devices: Sequence[Any] = (),
) -> Any:
    """Losses ("values"), their slopes ("forward", "reverse") or the "hessian", of many settings; each sum complete.

    Args:
      x: [S, k] the free parameters of each setting.
      unit: [k].
      params: leaves [S], the others.
      weight: [2, n] of training and of validation.
      curved: the parameters between which the hessian is wanted; 0 elsewhere. None: all.
      devices: over which the settings are spread. None given: all of this process, if there are several settings.

    Returns:
      Leaves [S, 2], [S, k] or [S, k, k].
    """
    if task.history is not None:
        return evidence.calculate(what, task.history, free, x, unit, params, curved)
    count, devices = len(x), list(devices) or devices_for(task, len(x))
    x, params = shared_out((x, params), devices)
    unit, weight = jax.tree.map(lambda y: jnp.asarray(y, float), (unit, weight))
    event = None if task.kind is Matches else jnp.asarray(task.event, jnp.int32)
    system = _sized(task.system, free, x, unit, params)

    def one(function: Any, x: Array, params: Params) -> Any:
        def losses(x: Array) -> Array:
            now = constrain(free, x, unit, params)
            options = dict(state=task.state, num_players=task.num_players, key=task.key, schedule=task.schedule)
            guess = run(system, task.events, params=now, **options).prediction
            return lost(task.loss, guess, task.score, weight)

        return function(losses, x, weight, event)

    def each(function: Any) -> Any:
        with nullcontext() if what == "reverse" else outermost():
            return jax.vmap(partial(one, function))(x, params)

    halves = 2 if len(task.weight) >= LONG and jax.default_backend() == "cpu" else 1
    if what == "hessian":
        axes, whole = jnp.eye(x.shape[1]), np.zeros((*x.shape, x.shape[1]))
        chosen = np.arange(x.shape[1]) if curved is None else curved
        i, j = (chosen[y] for y in np.triu_indices(len(chosen)))
        some = [*chunks(len(i), at_once(task, -(-len(i) // halves), halves * len(x)))]
        bends = _at_once(halves, [partial(each, partial(_bends, (axes[i[at]], axes[j[at]]))) for at in some])
        for at, bend in zip(some, bends, strict=True):
            whole[:, i[at], j[at]] = whole[:, j[at], i[at]] = np.asarray(bend, np.float64).sum(axis=-1)
        return whole[:count]
    result = _forward(each, halves, x.shape[1], weight, event) if what == "forward" else each(_WHAT[what])
    value, *slopes = result if isinstance(result, tuple) else (result,)
    totals = [np.asarray(y, np.float64)[:count].sum(axis=-1) for y in (value, *slopes[:1])]
    return (*totals, np.asarray(slopes[1], np.float64)[:count]) if slopes else totals[0]
