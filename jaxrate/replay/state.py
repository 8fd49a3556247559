"""What a replay starts from: events that the system consumes, and a state with a row for everyone."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.device import is_traced
from jaxrate.events import LAST_ID, Matches, Periods, Ragged, Rounds, RowError, count_teams, further_seats
from jaxrate.events.column_checks import check_not_traced
from jaxrate.memory_limits import check_memory_fits, device_memory, format_bytes
from jaxrate.parameters import check_params
from jaxrate.replay.gather import check_concrete, is_random_numbers
from jaxrate.replay.padding import is_on_host, padded_size
from jaxrate.replay.sharding import (
    append_newcomers,
    device_count,
    is_sharded,
    round_up_to_shards,
    with_automatic_sharding,
)
from jaxrate.system import Params, RatingSystem, State, check_system
from jaxrate.types import Array

ID_LIMIT, SPARSE_ID_FACTOR = (
    10**8,
    1000,
)  # ids above the first, and above so many times the number of players named, are a mistake
SMALL_STATE_BYTES = 1 << 26  # bytes of a state that is made without asking
PEAK_STATE_COPIES = 2  # of the state at the peak of a run


TRACED_HINT = (
    "; jr.scan(system, params, state, matches) takes them, or a plan that jr.extend.schedule_by_level made outside"
)


def check_events(system: RatingSystem, events: Any, key: Array | None) -> None:
    """ValueError for events that a system does not consume, teams that it does not know, a key that it lacks, or
    numbers in place of one that it could not have drawn.
    """
    check_system(system)
    check_concrete("events are checked and arranged", events, TRACED_HINT)
    check_kind(system, type(events.events) if isinstance(events, Ragged) else type(events))
    check_contest_features(system, events)
    system.check(events)
    check_key(system, len(events.player_start) - 1 if isinstance(events, Ragged) else len(events.score), key)


def check_kind(system: RatingSystem, kind: type) -> None:
    """ValueError unless the system rates events of this kind."""
    if kind not in system.events:
        names = " or ".join(e.__name__ for e in system.events)
        hint = ""
        if (kind, system.events) == (Matches, (Periods,)):
            hint = "; group them by periods(matches, length), or give `rate` a period"
        raise ValueError(f"{system.name} rates {names}, not {kind.__name__}{hint}")


def check_key(system: RatingSystem, num_events: int | None, key: Any) -> None:
    """ValueError without a key that the system needs, or for numbers that it could not have drawn for the events."""
    if system.rules.draw is not None and key is None:
        raise ValueError(f"{system.name} draws random numbers; give it a key, such as key=jax.random.key(0)")
    if is_random_numbers(key):
        check_numbers(system, len(key) if num_events is None else num_events, key)


def check_numbers(system: RatingSystem, num_events: int, numbers: Any) -> None:
    """ValueError unless the system could have drawn the numbers for so many events; names the row."""
    draw, check = system.rules.draw, system.traits.drawn
    if draw is None or check is None:
        raise ValueError(f"{system.name} takes no numbers of yours in place of a key")
    shape = (num_events, *jax.eval_shape(draw, jax.random.key(0)).shape)
    if numbers.shape != shape:
        raise ValueError(f"key must be a PRNG key, or numbers of shape {shape}, got shape {numbers.shape}")
    if not is_traced(numbers):
        check(np.asarray(jnp.asarray(numbers, float)))


def resolve_params(system: RatingSystem, params: Params) -> Params:
    """The hyperparameters given, or the system's own; ValueError for a number that is out of its range."""
    if params is None:
        return system.params
    fields = getattr(system.params, "_fields", None)
    if getattr(params, "_fields", None) != fields:
        raise ValueError(
            f"params must be those of {system.name}: system.params._replace(...), of {', '.join(fields or ())}"
        )
    if system.space is not None and not is_traced(params) and all(np.ndim(x) == 0 for x in params):
        check_params(system.name, params, system.space)
    return params


def check_contest_features(system: RatingSystem, events: Any) -> None:
    """ValueError for contests with noise, with teams, or with players in several of them, if the system knows none.

    It would rate team-mates as opponents who tie.
    """
    if not (isinstance(events, Ragged) and isinstance(events.events, Rounds)):
        return
    check_contest_noise(system, events.events)
    if events.events.seat is not None and not system.traits.seats:
        further = np.zeros(0) if is_traced(events.events.seat) else np.flatnonzero(further_seats(events))
        if len(further):
            raise RowError(int(further[0]), no_seats(system, "the player of this row is in another team already"))
    if system.traits.teams or is_traced(events.events.team):
        return
    size = np.diff(events.player_start)
    (several,) = np.nonzero(count_teams(events) < size)
    if len(several):
        many = f"there are in {len(several):,} contests" if len(several) > 1 else "there are in one contest"
        raise RowError(int(events.player_start[several[0]]), teams_refusal(system, f"{many}, this the first"))


def check_contest_noise(system: RatingSystem, rounds: Any) -> None:
    """ValueError for contests with noise if the system knows none."""
    if rounds.noise is not None and not system.traits.noise:
        from jaxrate.systems import systems_with_trait

        know = " or ".join(systems_with_trait("noise"))
        raise ValueError(f"{system.name} knows no noise of contests; rate them by {know}, or leave out `noise`")


def no_seats(system: RatingSystem, where: str) -> str:
    """What to say of players in several teams of a contest, to a system that does not know them."""
    from jaxrate.systems import systems_with_trait

    know = " or ".join(systems_with_trait("seats"))
    return (
        f"{system.name} rates nobody in several teams of one contest, but {where}; rate them by {know}, or give each "
        "participation a player of its own"
    )


def teams_refusal(system: RatingSystem, where: str) -> str:
    """What to say of teams that a system does not know."""
    from jaxrate.systems import systems_with_trait

    know = " or ".join(systems_with_trait("teams"))
    return (
        f"{system.name} knows no teams, but {where}; rate them by {know}, or leave out `team`: "
        "everyone is then on their own, and team-mates are opponents who tie"
    )


def make_state(system: RatingSystem, params: Params, state: State, num_players: int | None, num_ids: int) -> State:
    """A copy of the given state with newcomers, or a fresh one; ValueError if the events name further players."""
    rows = check_rows(system, state, num_players, num_ids)
    return system.init(params, rows) if state is None else _copy_state(system, params, state, rows, rows)


def make_padded_state(
    system: RatingSystem, params: Params, state: State, num_players: int | None, num_ids: int
) -> tuple[State, int]:
    """The same with more rows than there are players, so that many as are in use for others; and how many there are.

    What is traced has the rows that it has: whoever traces it compiles for them. So has what is spread over devices, of
    which each has as many.
    """
    rows = check_rows(system, state, num_players, num_ids)
    if is_sharded(state):
        return _copy_state(system, params, state, rows, rows), round_up_to_shards(state, rows)
    room = (
        rows
        if rows == 0 or is_traced((params, state))
        else padded_size(rows, SMALL_STATE_BYTES // max(_row_bytes(system), 1))
    )
    if state is None:
        return system.init(params, room), rows
    return _copy_state(system, params, state, rows, room), rows


def check_rows(system: RatingSystem, state: State, num_players: int | None, num_ids: int) -> int:
    """How many rows the state gets; ValueError if the events name further players, or if they do not fit."""
    check_not_traced("num_players", num_players, "give a number, as arrays of a length are made")
    have = count_players(state)
    rows = num_players if num_players is not None else num_ids if state is None else have
    if rows < max(num_ids, have):
        who = f"the events name player {num_ids - 1}" if rows < num_ids else f"the state has {have} players"
        raise ValueError(f"{who}, but there are only {rows} players")
    if rows > have:
        check_players(system, rows, device_count(state))
    return rows


def _copy_state(system: RatingSystem, params: Params, state: State, rows: int, room: int) -> State:
    """A copy of a state in the default precision, with newcomers up to `rows`, and up to `room` with whatever is last.

    The replay works in place.
    """
    have = count_players(state)
    fresh = jax.eval_shape(lambda p: system.init(p, 1), params)
    alike = _has_same_structure(system, state, fresh)
    if rows > have and not alike:
        raise ValueError(f"newcomers do not fit the state: it is of {system.name} with other rules switched on")
    state = with_automatic_sharding(state)
    if is_sharded(state):
        rows = round_up_to_shards(state, rows)
        if rows > have:
            return append_newcomers(system.init, params, state, rows - have)
        room = rows
    more = None if rows == have else system.init(params, rows - have if room == rows else padded_size(rows - have))
    numpy: Any = np if is_on_host((state, more)) else jnp
    # Whole numbers may have been given for others.
    dtypes = [x.dtype for x in jax.tree.leaves(fresh)] if alike else [*map(_default_dtype, jax.tree.leaves(state))]
    leaves, structure = jax.tree.flatten(state)
    newcomers = [None] * len(leaves) if more is None else jax.tree.leaves(more)

    def copy(x: Array, dtype: Any, new: Array | None) -> Array:
        parts = [x if x.dtype == dtype else numpy.asarray(x).astype(dtype)]
        if new is not None:
            parts.append(new[: rows - have] if numpy is jnp else np.asarray(new)[: rows - have])
        if room > rows:
            parts.append(numpy.broadcast_to(parts[-1][-1:], (room - rows, *x.shape[1:])))
        return jnp.array(parts[0]) if len(parts) == 1 else jax.device_put(numpy.concatenate(parts))

    return jax.tree.unflatten(structure, map(copy, leaves, dtypes, newcomers))


def _default_dtype(x: Array) -> Any:
    return jnp.result_type(float) if jnp.issubdtype(x.dtype, jnp.floating) else x.dtype


def check_ids(system: RatingSystem, player: Any, num_ids: int, num_players: int | None, num_rows: int) -> None:
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


def check_players(system: RatingSystem, rows: int, devices: int = 1) -> None:
    """ValueError if ids do not count so many players, or if their state does not fit into memory."""
    if rows > LAST_ID:
        raise ValueError(f"there may be {LAST_ID:,} players, got {rows:,}")
    if rows * _row_bytes(system) > SMALL_STATE_BYTES:
        have = device_memory(jax.devices()[0])
        have = have if have is None else have * devices
        check_memory_fits(
            f"a state of {rows:,} players of {system.name}", PEAK_STATE_COPIES * rows * _row_bytes(system), have
        )


def _row_bytes(system: RatingSystem) -> int:
    """Bytes of a player's state."""
    try:
        return _count_row_bytes(system.init, system.params, jnp.result_type(float))
    except TypeError:  # hyperparameters that do not hash
        return _count_row_bytes.__wrapped__(system.init, system.params, jnp.result_type(float))


@lru_cache
def _count_row_bytes(init: Any, params: Params, precision: Any) -> int:
    del precision  # but it is part of what is remembered
    leaves = jax.tree.leaves(jax.eval_shape(lambda p: init(p, 2), params))
    return sum(x.size * x.dtype.itemsize for x in leaves) // 2


def count_players(state: State) -> int:
    """How many players a state has."""
    return 0 if state is None else len(jax.tree.leaves(state)[0])


def _has_same_structure(system: RatingSystem, state: State, fresh: State) -> bool:
    """Whether a state has the same leaves as a fresh one; ValueError if it has, but of other shapes."""
    if type(state) is not type(fresh):
        raise ValueError(
            f"the state is not of {system.name}; begin with system.init(params, num_players) or jr.league.initial_state"
        )
    (mine, mold), (wanted, form) = ([*jax.tree.flatten(tree)] for tree in (state, fresh))
    if mold == form and any(x.shape[1:] != y.shape[1:] for x, y in zip(mine, wanted, strict=True)):
        raise ValueError(f"the state is of {system.name} with other settings: its leaves have other shapes")
    return bool(mold == form)


def extend_state(system: RatingSystem, params: Params, state: State, num_players: int | None, num_ids: int) -> State:
    """The state, with newcomers if they are asked for; ValueError if others are named."""
    if num_players is not None or num_ids > count_players(state):
        return make_state(system, params, state, num_players, num_ids)
    _has_same_structure(system, state, jax.eval_shape(lambda p: system.init(p, 1), params))
    return state


def leaves_by_name(state: State) -> dict[str, Any]:
    """The leaves of a state, or their shapes, by name."""
    paths_and_leaves = jax.tree_util.tree_leaves_with_path(state)
    return {jax.tree_util.keystr(path, simple=True, separator="."): x for path, x in paths_and_leaves}
