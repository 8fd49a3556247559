"""What is spread over several devices: states along the players, by a `NamedSharding`, and settings."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxrate.core.rules import Params, State


def device_count(tree: Any) -> int:
    """Over how many devices it is spread; 1 for what is of NumPy or traced."""
    concrete = [x for x in jax.tree.leaves(tree) if isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer)]
    return max((len(x.sharding.device_set) for x in concrete), default=1)


def is_sharded(tree: Any) -> bool:
    return device_count(tree) > 1


def sharding_devices(tree: Any) -> list[Any]:
    """The devices over which it is spread, in order; none if it is not. ValueError if some are of other processes."""
    leaves = [x for x in jax.tree.leaves(tree) if device_count(x) > 1]
    if not all(x.is_fully_addressable for x in leaves):
        raise ValueError("params lie on devices of other processes; give each process settings on its own devices")
    return sorted(leaves[0].sharding.device_set, key=lambda device: device.id) if leaves else []


def shard_hyperparameter_settings(tree: Any, devices: list[Any]) -> Any:
    """Leaves [S, ...] of NumPy, as floats on devices of which each has as many, the last setting repeated."""
    kind = jnp.result_type(float)
    if len(devices) < 2:  # a conversion on the device would be compiled
        return jax.tree.map(lambda x: jax.device_put(np.asarray(x, kind)), tree)
    along = NamedSharding(Mesh(np.array(devices), ("settings",)), PartitionSpec("settings"))

    def pad_and_spread(x: Any) -> Any:
        more = -len(x) % len(devices)
        return jax.device_put(np.concatenate([x, np.repeat(x[-1:], more, axis=0)]).astype(kind), along)

    return jax.tree.map(pad_and_spread, tree)


def make_sharding_automatic(state: State) -> State:
    """The state on a mesh where XLA divides the work by itself, also if its own mesh leaves that to the user."""

    def move_to_automatic_mesh(x: Any) -> Any:
        if not isinstance(x, jax.Array) or isinstance(x, jax.core.Tracer) or not isinstance(x.sharding, NamedSharding):
            return x
        mesh = Mesh(x.sharding.mesh.devices, x.sharding.mesh.axis_names)
        return jax.device_put(x, NamedSharding(mesh, x.sharding.spec))

    return jax.tree.map(move_to_automatic_mesh, state)


def round_row_count_to_shards(state: State, num_rows: int) -> int:
    """The least number of rows from `num_rows` on that every device has as many of."""
    shards = max(x.shape[0] // x.sharding.shard_shape(x.shape)[0] for x in jax.tree.leaves(state))
    return -(-num_rows // shards) * shards


def append_newcomers(init: Any, params: Params, state: State, num_newcomers: int) -> State:
    """A copy of a state with so many newcomers, spread as it is."""
    return _append_newcomers(init, num_newcomers, jax.tree.map(lambda x: x.sharding, state), params, state)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _append_newcomers(init: Any, num_newcomers: int, shardings: Any, params: Params, state: State) -> State:
    newcomers = init(params, num_newcomers)

    def join(x: Any, new: Any, sharding: Any) -> Any:
        return jax.lax.with_sharding_constraint(jnp.concatenate([x, new.astype(x.dtype)]), sharding)

    return jax.tree.map(join, state, newcomers, shardings)
