"""What a replay starts from: events that the system consumes, and a state with a row for everyone."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import LAST_ID, Array, Matches, Periods, Ragged, Rounds, RowError, count_teams, further_seats
from jaxrate.events.checks import check_known
from jaxrate.memory import check_room, in_words, of_device
from jaxrate.parameters import checked
from jaxrate.replay.rows import are_numbers, check_concrete, traced
from jaxrate.replay.sizes import on_host, roomy
from jaxrate.replay.spread import even, in_step, is_spread, longer, spread_over
from jaxrate.system import Params, RatingSystem, State, check_system

MANY, SPARSE = 10**8, 1000  # ids above the first, and above so many times the number of players named, are a mistake
SMALL = 1 << 26  # bytes of a state that is made without asking
COPIES = 2  # of the state at the peak of a run


TRACED = "; jr.scan(system, params, state, matches) takes them, or a plan that jr.by_level made outside"


def check_events(system: RatingSystem, events: Any, key: Array | None) -> None:
    """ValueError for events that a system does not consume, teams that it does not know, a key that it lacks, or
    numbers in place of one that it could not have drawn.
    """
    check_system(system)
    check_concrete("events are checked and arranged", events, TRACED)
    check_kind(system, type(events.events) if isinstance(events, Ragged) else type(events))
    check_contests(system, events)
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
    if are_numbers(key):
        check_numbers(system, len(key) if num_events is None else num_events, key)


def check_numbers(system: RatingSystem, num_events: int, numbers: Any) -> None:
    """ValueError unless the system could have drawn the numbers for so many events; names the row."""
    draw, check = system.rules.draw, system.traits.drawn
    if draw is None or check is None:
        raise ValueError(f"{system.name} takes no numbers of yours in place of a key")
    shape = (num_events, *jax.eval_shape(draw, jax.random.key(0)).shape)
    if numbers.shape != shape:
        raise ValueError(f"key must be a PRNG key, or numbers of shape {shape}, got shape {numbers.shape}")
    if not traced(numbers):
        check(np.asarray(jnp.asarray(numbers, float)))


def chosen(system: RatingSystem, params: Params) -> Params:
    """The hyperparameters given, or the system's own; ValueError for a number that is out of its range."""
    if params is None:
        return system.params
    fields = getattr(system.params, "_fields", None)
    if getattr(params, "_fields", None) != fields:
        raise ValueError(
            f"params must be those of {system.name}: system.params._replace(...), of {', '.join(fields or ())}"
        )
    if system.space is not None and not traced(params) and all(np.ndim(x) == 0 for x in params):
        checked(system.name, params, system.space)
    return params


def check_contests(system: RatingSystem, events: Any) -> None:
    """ValueError for contests with noise, with teams, or with players in several of them, if the system knows none.

    It would rate team-mates as opponents who tie.
    """
    if not (isinstance(events, Ragged) and isinstance(events.events, Rounds)):
        return
    check_noise(system, events.events)
    if events.events.seat is not None and not system.traits.seats:
        further = np.zeros(0) if traced(events.events.seat) else np.flatnonzero(further_seats(events))
        if len(further):
            raise RowError(int(further[0]), no_seats(system, "the player of this row is in another team already"))
    if system.traits.teams or traced(events.events.team):
        return
    size = np.diff(events.player_start)
    (several,) = np.nonzero(count_teams(events) < size)
    if len(several):
        many = f"there are in {len(several):,} contests" if len(several) > 1 else "there are in one contest"
        raise RowError(int(events.player_start[several[0]]), no_teams(system, f"{many}, this the first"))


def check_noise(system: RatingSystem, rounds: Any) -> None:
    """ValueError for contests with noise if the system knows none."""
    if rounds.noise is not None and not system.traits.noise:
        from jaxrate.systems.choosing import those_with

        know = " or ".join(those_with("noise"))
        raise ValueError(f"{system.name} knows no noise of contests; rate them by {know}, or leave out `noise`")


def no_seats(system: RatingSystem, where: str) -> str:
    """What to say of players in several teams of a contest, to a system that does not know them."""
    from jaxrate.systems.choosing import those_with

    know = " or ".join(those_with("seats"))
    return (
        f"{system.name} rates nobody in several teams of one contest, but {where}; rate them by {know}, or give each "
        "participation a player of its own"
    )


def no_teams(system: RatingSystem, where: str) -> str:
    """What to say of teams that a system does not know."""
    from jaxrate.systems.choosing import those_with

    know = " or ".join(those_with("teams"))
    return (
        f"{system.name} knows no teams, but {where}; rate them by {know}, or leave out `team`: "
        "everyone is then on their own, and team-mates are opponents who tie"
    )


def start(system: RatingSystem, params: Params, state: State, num_players: int | None, known: int) -> State:
    """A copy of the given state with newcomers, or a fresh one; ValueError if the events name further players."""
    rows = check_rows(system, state, num_players, known)
    return system.init(params, rows) if state is None else _copied(system, params, state, rows, rows)


def start_roomy(
    system: RatingSystem, params: Params, state: State, num_players: int | None, known: int
) -> tuple[State, int]:
    """The same with more rows than there are players, so that many as are in use for others; and how many there are.

    What is traced has the rows that it has: whoever traces it compiles for them. So has what is spread over devices, of
    which each has as many.
    """
    rows = check_rows(system, state, num_players, known)
    if is_spread(state):
        return _copied(system, params, state, rows, rows), even(state, rows)
    room = rows if rows == 0 or traced((params, state)) else roomy(rows, SMALL // max(_row(system), 1))
    if state is None:
        return system.init(params, room), rows
    return _copied(system, params, state, rows, room), rows


def check_rows(system: RatingSystem, state: State, num_players: int | None, known: int) -> int:
    """How many rows the state gets; ValueError if the events name further players, or if they do not fit."""
    check_known("num_players", num_players, "give a number, as arrays of a length are made")
    have = count(state)
    rows = num_players if num_players is not None else known if state is None else have
    if rows < max(known, have):
        who = f"the events name player {known - 1}" if rows < known else f"the state has {have} players"
        raise ValueError(f"{who}, but there are only {rows} players")
    if rows > have:
        check_players(system, rows, spread_over(state))
    return rows


def _copied(system: RatingSystem, params: Params, state: State, rows: int, room: int) -> State:
    """A copy of a state in the default precision, with newcomers up to `rows`, and up to `room` with whatever is last.

    The replay works in place.
    """
    have = count(state)
    fresh = jax.eval_shape(lambda p: system.init(p, 1), params)
    alike = _check_shapes(system, state, fresh)
    if rows > have and not alike:
        raise ValueError(f"newcomers do not fit the state: it is of {system.name} with other rules switched on")
    state = in_step(state)
    if is_spread(state):
        rows = even(state, rows)
        if rows > have:
            return longer(system.init, params, state, rows - have)
        room = rows
    more = None if rows == have else system.init(params, rows - have if room == rows else roomy(rows - have))
    numpy: Any = np if on_host((state, more)) else jnp
    # Whole numbers may have been given for others.
    dtypes = [x.dtype for x in jax.tree.leaves(fresh)] if alike else [*map(_usual, jax.tree.leaves(state))]
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


def _usual(x: Array) -> Any:
    return jnp.result_type(float) if jnp.issubdtype(x.dtype, jnp.floating) else x.dtype


def check_ids(system: RatingSystem, player: Any, known: int, num_players: int | None, have: int) -> None:
    """ValueError if ids are so high for so few events that a state for all up to them must be a mistake.

    `known` is the largest id plus one, and `have` how many players the state has already; a given `num_players` says
    that it is none.
    """
    if num_players is None and known > max(have, MANY, SPARSE * np.size(player)):
        need = in_words(_row(system) * known)
        raise ValueError(
            f"the largest id is {known - 1}, of {np.size(player):,} in all: a state for every id up to it would take "
            f"{need}; number the players from 0, as `read` does, or give num_players"
        )


def check_players(system: RatingSystem, rows: int, devices: int = 1) -> None:
    """ValueError if ids do not count so many players, or if their state does not fit into memory."""
    if rows > LAST_ID:
        raise ValueError(f"there may be {LAST_ID:,} players, got {rows:,}")
    if rows * _row(system) > SMALL:
        have = of_device(jax.devices()[0])
        have = have if have is None else have * devices
        check_room(f"a state of {rows:,} players of {system.name}", COPIES * rows * _row(system), have)


def _row(system: RatingSystem) -> int:
    """Bytes of a player's state."""
    try:
        return _counted(system.init, system.params, jnp.result_type(float))
    except TypeError:  # hyperparameters that do not hash
        return _counted.__wrapped__(system.init, system.params, jnp.result_type(float))


@lru_cache
def _counted(init: Any, params: Params, precision: Any) -> int:
    del precision  # but it is part of what is remembered
    leaves = jax.tree.leaves(jax.eval_shape(lambda p: init(p, 2), params))
    return sum(x.size * x.dtype.itemsize for x in leaves) // 2


def count(state: State) -> int:
    """How many players a state has."""
    return 0 if state is None else len(jax.tree.leaves(state)[0])


def _check_shapes(system: RatingSystem, state: State, fresh: State) -> bool:
    """Whether a state has the same leaves as a fresh one; ValueError if it has, but of other shapes."""
    if type(state) is not type(fresh):
        raise ValueError(f"the state is not of {system.name}; begin with system.init(params, num_players) or jr.start")
    (mine, mold), (wanted, form) = ([*jax.tree.flatten(tree)] for tree in (state, fresh))
    if mold == form and any(x.shape[1:] != y.shape[1:] for x, y in zip(mine, wanted, strict=True)):
        raise ValueError(f"the state is of {system.name} with other settings: its leaves have other shapes")
    return bool(mold == form)


def grown(system: RatingSystem, params: Params, state: State, num_players: int | None, known: int) -> State:
    """The state, with newcomers if they are asked for; ValueError if others are named."""
    if num_players is not None or known > count(state):
        return start(system, params, state, num_players, known)
    _check_shapes(system, state, jax.eval_shape(lambda p: system.init(p, 1), params))
    return state
