"""States and columns with padding, so that few sizes are compiled.

What is spread over several devices: states along the players, by a `NamedSharding`, and settings.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxrate.core.argument_checks import check_not_traced, check_that, is_traced
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.hyperparameter_definitions import check_params
from jaxrate.core.memory_checks import check_memory_fits, device_memory_bytes, format_bytes
from jaxrate.core.rules import Params, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import LAST_ID, Matches
from jaxrate.replay.player_rows import gather_rows


def device_count(tree: Any) -> int:
    """Over how many devices it is spread; 1 for what is of NumPy or traced."""
    concrete = [x for x in jax.tree.leaves(tree) if isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer)]
    return max((len(x.sharding.device_set) for x in concrete), default=1)


def is_sharded(tree: Any) -> bool:
    return device_count(tree) > 1


def sharding_devices(tree: Any) -> list[Any]:
    """The devices over which it is spread, in order; none if it is not. ValueError if some are of other processes."""
    leaves = [x for x in jax.tree.leaves(tree) if device_count(x) > 1]
    elsewhere = "params lie on devices of other processes; give each process settings on its own devices"
    check_that(all(x.is_fully_addressable for x in leaves), elsewhere)
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


@partial(jax.jit, static_argnums=(0, 1, 2))
def append_newcomers(init: Any, num_newcomers: int, shardings: Any, params: Params, state: State) -> State:
    """A copy of a state with so many newcomers, spread as these shardings of its leaves say."""
    newcomers = init(params, num_newcomers)

    def join(x: Any, new: Any, sharding: Any) -> Any:
        return jax.lax.with_sharding_constraint(jnp.concatenate([x, new.astype(x.dtype)]), sharding)

    return jax.tree.map(join, state, newcomers, shardings)


# Numbers up to here cost nothing: they grow to a power of two, and larger ones by an eighth at most.
POWER_OF_TWO_LIMIT = 1 << 17
MIN_SIZE = 64  # of columns
MIN_SCHEDULE_STEPS = 32
# Sizes of events, each of which costs time, grow by a sixteenth, and by as much once more to whole vectors.
EVENT_SIZES_PER_OCTAVE = 16
MIN_EVENT_SIZE = 16  # of what is smoothed
VECTOR_LENGTH = 8  # numbers that a processor calculates at once


def padded_size(number: int, power_of_two_limit: int = POWER_OF_TWO_LIMIT, minimum: int = MIN_SIZE) -> int:
    """The least of the sizes in use that is not below a number."""
    if number <= max(power_of_two_limit, minimum):
        return max(1 << max(int(number) - 1, 0).bit_length(), minimum)
    return _round_up_by_octave_parts(number, 8)


def padded_event_size(number: int) -> int:
    """The size that events are padded to, close above a number: what is added to it is calculated for nothing.

    Whole vectors compile a third sooner than vectors with some numbers behind them: these are code of their own.
    """
    close = _round_up_by_octave_parts(number, EVENT_SIZES_PER_OCTAVE)
    vectors = -(-close // VECTOR_LENGTH) * VECTOR_LENGTH
    return vectors if EVENT_SIZES_PER_OCTAVE * (vectors - close) <= vectors else close


def _round_up_by_octave_parts(number: int, parts_per_octave: int) -> int:
    """The next multiple of the power of two that divides an octave into so many parts."""
    unit = 1 << max((number - 1).bit_length() - parts_per_octave.bit_length(), 0)
    return -(-number // unit) * unit


Tuple = TypeVar("Tuple", bound=tuple[Any, ...])

ALIGNED = 64  # bytes
ID_LIMIT, SPARSE_ID_FACTOR = 10**8, 1000  # ids above the first, and so many times the players named, are a mistake
SMALL_STATE_BYTES = 1 << 26  # bytes of a state that is made without asking
PEAK_STATE_COPIES = 2  # of the state at the peak of a run


def register_pytree_with_static_fields(*static: str) -> Callable[[type[Tuple]], type[Tuple]]:
    """Makes a NamedTuple a tree of arrays but for some fields, which are known when a program is compiled."""

    def register(kind: type[Tuple]) -> type[Tuple]:
        fields: Any = kind._fields  # type: ignore[attr-defined]
        moving = [name for name in fields if name not in static]

        def flatten(x: Any) -> Any:
            leaves = [(jax.tree_util.GetAttrKey(name), getattr(x, name)) for name in moving]
            return leaves, tuple(getattr(x, name) for name in static)

        def unflatten(static_values: Any, leaves: Any) -> Any:
            return kind(**dict(zip(moving, leaves, strict=True)), **dict(zip(static, static_values, strict=True)))

        jax.tree_util.register_pytree_with_keys(kind, flatten, unflatten)
        return kind

    return register


def pad_column(x: Any, length: int, fill: Any) -> Any:
    """A column of NumPy [n, ...] made [length, ...] by values that mean nothing."""
    x = np.asarray(x)
    if len(x) == length:
        return x
    longer = np.empty((length, *x.shape[1:]), x.dtype)
    longer[: len(x)] = x
    longer[len(x) :] = fill
    return longer


def unique_padding_ids(count: int) -> Any:
    """[count] ids past the end, each once."""
    return LAST_ID - np.arange(count, dtype=np.int32)


def allocate_aligned(shape: tuple[int, ...], kind: Any) -> Any:
    """Room for an array that XLA takes as it is, without a copy, where the CPU computes."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    room = np.empty(size + ALIGNED, np.uint8)
    skip = -room.ctypes.data % ALIGNED
    return room[skip : skip + size].view(kind).reshape(shape)


def _default_dtype_of_column(x: HostArray) -> Any:
    return np.int32 if x.dtype.kind in "iu" else jnp.result_type(float)


def to_default_dtype(x: Any) -> HostArray:
    """A column of NumPy, floats in the default precision, ids as int32."""
    x = np.asarray(x)
    return np.asarray(x, _default_dtype_of_column(x))


def pad_on_device(x: Any, length: int, fill: Any = None) -> Any:
    """A padded copy of a column on the device, in default precision; filled by `fill`, or its last value."""
    x = np.asarray(x)
    longer = allocate_aligned((length, *x.shape[1:]), _default_dtype_of_column(x))
    longer[: len(x)] = x
    longer[len(x) :] = fill if fill is not None else x[-1] if len(x) else 0
    return jax.device_put(longer)


def pad_matches_on_device(events: Matches, length: int) -> Matches:
    """Matches [n] made [length] on the device by draws of nobody, with the further columns of the last match."""
    more = length - len(events.score)
    past = unique_padding_ids(2 * more).reshape(more, 2)
    context = jax.tree.map(lambda x: pad_on_device(x, length, 0), events.context._replace(columns=None))
    columns = jax.tree.map(lambda x: pad_on_device(x, length), events.context.columns)
    return Matches(
        pad_on_device(events.player, length, past),
        pad_on_device(events.score, length, 0.5),
        pad_on_device(events.time, length),
        context._replace(columns=columns),
    )


def is_numpy_readable_without_copy(tree: Any) -> bool:
    """Whether NumPy reads the arrays without a copy and without compiling."""
    leaves = jax.tree.leaves(tree)
    plain = all(isinstance(x, np.ndarray) or jnp.issubdtype(x.dtype, np.number) or x.dtype == bool for x in leaves)
    return jax.default_backend() == "cpu" and not is_traced(tree) and plain and not is_sharded(tree)


def truncate_leaves(tree: Any, count: int) -> Any:
    """The first rows of every leaf."""
    if all(len(x) == count for x in jax.tree.leaves(tree)):
        return tree
    if is_numpy_readable_without_copy(tree):
        return jax.tree.map(lambda x: jax.device_put(np.asarray(x)[:count]), tree)
    return _truncate_leaves_jitted(tree, count)


@partial(jax.jit, static_argnums=1)
def _truncate_leaves_jitted(tree: Any, count: int) -> Any:
    return jax.tree.map(lambda x: x[:count], tree)


def read_rows_with_clipped_ids(state: Any, player: Any) -> Any:
    """The rows of some players, where an id past the end reads the last one: compiled for no number of players."""
    if not is_numpy_readable_without_copy((state, player)):
        return gather_rows(state, player)
    ids = np.asarray(player)
    return jax.tree.map(lambda x: np.asarray(x)[np.clip(ids, 0, max(len(x) - 1, 0))], state)


# --- States, with a row for everyone. ---


def resolve_params(system: RatingSystem, params: Params) -> Params:
    """The hyperparameters given, or the system's own; ValueError for a number that is out of its range."""
    if params is None:
        return system.params
    fields = getattr(system.params, "_fields", None)
    expected = f"params must be those of {system.name}: system.params._replace(...), of {', '.join(fields or ())}"
    check_that(getattr(params, "_fields", None) == fields, expected)
    if system.space is not None and not is_traced(params) and all(np.ndim(x) == 0 for x in params):
        check_params(system.name, params, system.space)
    return params


def init_state(system: RatingSystem, params: Params, num_players: int) -> State:
    """The state of newcomers, of which no two fields are one array: a replay takes over the memory of each."""
    seen = set[int]()

    def own_array(leaf: Any) -> Any:
        is_shared = id(leaf) in seen
        seen.add(id(leaf))
        return jnp.array(leaf, copy=True) if is_shared else leaf

    return jax.tree.map(own_array, system.init(params, num_players))


def init_or_copy_state(
    system: RatingSystem, params: Params, state: State, num_players: int | None, num_ids: int
) -> State:
    """A copy of the given state with newcomers, or a fresh one; ValueError if the events name further players."""
    rows = resolve_row_count(system, state, num_players, num_ids)
    return (
        init_state(system, params, rows)
        if state is None
        else _copy_state_with_newcomers(system, params, state, rows, rows)
    )


def init_or_copy_padded_state(
    system: RatingSystem, params: Params, state: State, num_players: int | None, num_ids: int
) -> tuple[State, int]:
    """A state with more rows than players, as many as are in use for others; and how many players there are.

    What is traced has the rows that it has: whoever traces it compiles for them. So has what is spread over devices, of
    which each has as many.
    """
    rows = resolve_row_count(system, state, num_players, num_ids)
    if state is not None and is_sharded(state):
        return _copy_state_with_newcomers(system, params, state, rows, rows), round_row_count_to_shards(state, rows)
    room = (
        rows
        if rows == 0 or is_traced((params, state))
        else padded_size(rows, SMALL_STATE_BYTES // max(_row_bytes(system), 1))
    )
    if state is None:
        # Under a derivative that is in no jit each operation would be compiled for itself.
        traced = is_traced(params)
        return _init_state_jitted(system.init, params, room) if traced else init_state(system, params, room), rows
    return _copy_state_with_newcomers(system, params, state, rows, room), rows


@partial(jax.jit, static_argnums=(0, 2))
def _init_state_jitted(init: Callable[[Params, int], State], params: Params, num_players: int) -> State:
    return init(params, num_players)


def resolve_row_count(system: RatingSystem, state: State, num_players: int | None, num_ids: int) -> int:
    """How many rows the state gets; ValueError if the events name further players, or if they do not fit."""
    check_not_traced("num_players", num_players, "give a number, as arrays of a length are made")
    have = count_players(state)
    rows = num_players if num_players is not None else num_ids if state is None else have
    check_that(rows >= num_ids, f"the events name player {num_ids - 1}, but there are only {rows} players")
    check_that(rows >= have, f"the state has {have} players, but there are only {rows} players")
    if rows > have:
        check_player_count_and_memory(system, rows, 1 if state is None else device_count(state))
    return rows


def _copy_state_with_newcomers(
    system: RatingSystem, params: Params, state: State, num_rows: int, num_padded_rows: int
) -> State:
    """A state's copy (replays work in place), with newcomers up to `num_rows` and padding behind them."""
    have = count_players(state)
    fresh = state_shapes(system, 1, params)
    alike = _check_shapes_and_compare_structure(system, state, fresh)
    other_rules = f"newcomers do not fit the state: it is of {system.name} with other rules switched on"
    check_that(alike or num_rows <= have, other_rules)
    state = make_sharding_automatic(state)
    if is_sharded(state):
        num_rows = round_row_count_to_shards(state, num_rows)
        if num_rows > have:
            shardings = jax.tree.map(lambda x: x.sharding, state)
            return append_newcomers(system.init, num_rows - have, shardings, params, state)
        num_padded_rows = num_rows
    count, more = num_rows - have, None
    if count:
        more = system.init(params, padded_size(count) if num_padded_rows > num_rows else count)
    numpy: Any = np if is_numpy_readable_without_copy((state, more)) else jnp
    leaves, structure = jax.tree.flatten(state)
    newcomers = [None] * len(leaves) if more is None else jax.tree.leaves(more)
    dtypes = map(_default_dtype, jax.tree.leaves(fresh if alike else state))  # whole numbers may be given for others

    copy = partial(_copy_leaf, numpy, count, num_padded_rows - have - count)
    return jax.tree.unflatten(structure, map(copy, leaves, dtypes, newcomers))


def _copy_leaf(
    numpy: Any, num_newcomers: int, num_padding: int, x: Array, dtype: Any, newcomers: Array | None
) -> Array:
    """A copy of a leaf with newcomers, if any, and padding."""
    if num_newcomers + num_padding == 0:
        return jnp.array(x, dtype)
    own = numpy.asarray(x, dtype)
    others = own[:0] if newcomers is None else numpy.asarray(newcomers)[:num_newcomers]
    last = (others if num_newcomers else own)[-1:]
    padding = numpy.broadcast_to(last, (num_padding, *x.shape[1:]))
    return jax.device_put(numpy.concatenate([own, others, padding]))


def _default_dtype(x: Array) -> Any:
    return jnp.result_type(float) if jnp.issubdtype(x.dtype, jnp.floating) else x.dtype


def check_ids_not_sparse(
    system: RatingSystem, player: Any, num_ids: int, num_players: int | None, num_rows: int
) -> None:
    """ValueError if ids are so high for so few events that a state for all up to them must be a mistake.

    `num_ids` is the largest id plus one, and `num_rows` how many players the state has already; a given `num_players`
    says that it is none.
    """
    if num_players is None and num_ids > max(num_rows, ID_LIMIT, SPARSE_ID_FACTOR * np.size(player)):
        need = format_bytes(_row_bytes(system) * num_ids)
        raise ValueError(
            f"the largest id is {num_ids - 1}, of {np.size(player):,} in all: a state for every id up to it would take "
            f"{need}; number the players from 0, as `read` does, or give num_players"
        )


def check_player_count_and_memory(system: RatingSystem, num_players: int, devices: int = 1) -> None:
    """ValueError if ids do not count so many players, or if their state does not fit into memory."""
    check_that(num_players <= LAST_ID, f"there may be {LAST_ID:,} players, got {num_players:,}")
    if num_players * _row_bytes(system) > SMALL_STATE_BYTES:
        have = device_memory_bytes(jax.devices()[0])
        have = have if have is None else have * devices
        check_memory_fits(
            f"a state of {num_players:,} players of {system.name}",
            PEAK_STATE_COPIES * num_players * _row_bytes(system),
            have,
        )


def _row_bytes(system: RatingSystem) -> int:
    """Bytes of a player's state."""
    return _count_row_bytes(state_shapes(system, 1))


def _count_row_bytes(state: State) -> int:
    return sum(math.prod(x.shape[1:]) * x.dtype.itemsize for x in jax.tree.leaves(state))


def count_players(state: State) -> int:
    """How many players a state has."""
    return 0 if state is None else len(jax.tree.leaves(state)[0])


def _check_shapes_and_compare_structure(system: RatingSystem, state: State, fresh: State) -> bool:
    """Whether a state has the same leaves as a fresh one; ValueError if it has, but of other shapes."""
    advice = "begin with system.init(params, num_players) or jr.history.initial_state"
    check_that(type(state) is type(fresh), f"the state is not of {system.name}; {advice}")
    (mine, structure), (wanted, form) = ([*jax.tree.flatten(tree)] for tree in (state, fresh))
    is_alike = bool(structure == form)
    shapes, expected = ([x.shape[1:] for x in leaves] for leaves in (mine, wanted))
    other_shapes = f"the state is of {system.name} with other settings: its leaves have other shapes"
    check_that(not is_alike or shapes == expected, other_shapes)
    return is_alike


def extend_state_if_needed(
    system: RatingSystem, params: Params, state: State, num_players: int | None, num_ids: int
) -> State:
    """The state, with newcomers if they are asked for; ValueError if others are named."""
    if num_players is not None or num_ids > count_players(state):
        return init_or_copy_state(system, params, state, num_players, num_ids)
    _check_shapes_and_compare_structure(system, state, state_shapes(system, 1, params))
    return state


def leaves_by_name(state: State) -> dict[str, Any]:
    """The leaves of a state, or their shapes, by name."""
    paths_and_leaves = jax.tree_util.tree_leaves_with_path(state)
    return {jax.tree_util.keystr(path, simple=True, separator="."): x for path, x in paths_and_leaves}


def state_shapes(system: RatingSystem, num_players: int, params: Params = None) -> State:
    """The shapes of a fresh state, traced once for all hyperparameters alike; None: those of the system."""
    return _init_state_jitted.eval_shape(system.init, system.params if params is None else params, num_players)


def max_step_matches_in_cache(state: State) -> int:
    """Matches per step whose rows stay in a cache on a CPU, elsewhere in a small part of the memory."""
    return max((1 << (18 if jax.default_backend() == "cpu" else 27)) // (2 * _count_row_bytes(state)), 1)
