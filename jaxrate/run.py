"""The runner: the only place that gathers, scatters or scans.

The scan carries the state *and the rows of the next event*, so that nothing reads the old state after it is written.
Read in two places, XLA would copy every leaf of the state at every step, and the cost of a match would grow with the
number of players.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.events import Array, Matches, Periods, Ragged, Rounds, check_order, teams_tie
from jaxrate.schedule import Block, Plan, blocks, gather_events, on_device, plan, sizes
from jaxrate.system import Constants, Params, RatingSystem, Rules, State, sides

SIMPLE = 300  # operations of rules that XLA compiles into one native loop


class Run(NamedTuple):
    """What a history leaves behind."""

    state: State  # leaves [num_players, ...]
    prediction: Any  # made before each event, in the order of the input: [n] matches, [M] pairs or [P] participants


def take(state: State, player: Array) -> State:
    """The rows of some players; an id past the end reads the last player."""
    return jax.tree.map(lambda x: x.at[player].get(mode="clip", wrap_negative_indices=False), state)


def put(state: State, player: Array, rows: State) -> State:
    """The state with these rows written. Ids must be distinct; one past the end is dropped.

    That they are distinct is said to XLA: without it the gradient of a scan keeps every state and takes 8 times as
    long.
    """

    def write(x: Array, y: Array) -> Array:
        return x.at[player].set(y, mode="drop", unique_indices=True, wrap_negative_indices=False)

    return jax.tree.map(write, state, rows)


def advance(rules: Rules, constants: Constants, rows: State, event: Any) -> State:
    """Let time pass until the event.

    For a match one player at a time: the time of a match meeting a pair of rows would make `vmap` transpose the pairs.
    """
    if not isinstance(event, Matches):
        return rules.advance(constants, rows, event.time)
    first, second = (rules.advance(constants, row, event.time) for row in sides(rows, event))
    return jax.tree.map(lambda a, b: jnp.stack([a, b]), first, second)


def step(rules: Rules, constants: Constants, rows: State, event: Any, drawn: Any) -> tuple[State, Any]:
    """One event on its rows: the rows after it, and the prediction before it."""
    rows = advance(rules, constants, rows, event)
    guess = rules.predict(constants, rows, event)
    return rules.update(constants, rows, event, drawn), guess


def run(
    system: RatingSystem,
    events: Matches | Ragged,
    *,
    params: Params = None,
    state: State = None,
    key: Array | None = None,
    schedule: str | Plan | list[Block] = "auto",
    num_players: int | None = None,
) -> Run:
    """Rate a history: predict every event, then learn from it.

    Args:
      system: as from `elo()`, `glicko()`, ...
      events: `Matches`, or the `Ragged` periods or rounds of `periods` and `rounds`, in order of time. (Rounds need
        only be in their own order where the system, with these hyperparameters, takes no notice of time.)
      params: hyperparameters, by default `system.params`; may be traced by `jax.grad` and `jax.vmap`.
      state: to carry on from, by default a fresh one.
      key: a PRNG key, which systems that draw random numbers need; event i gets `fold_in(key, i)`.
      schedule: how matches are replayed: one by one ("stream"), all matches without a common player at once
        ("levels"), or the faster of the two, making the levels included ("auto"); the numbers are the same. Periods and
        rounds are always in levels. Or what `by_level` made of these very events, which saves making it again: of
        matches it holds a copy, and `events` is then only counted.
      num_players: rows of the state, by default those of the given state, or the largest id plus one. Rows beyond a
        given state's are newcomers'.

    Returns:
      `Run(state, prediction)`.

    Raises:
      ValueError: for events that the system does not consume, bad rows (see `matches`), ids beyond the state, a
        schedule of other events, or no key where one is needed. Events must be concrete: under `jax.jit` they may not
        be among the traced arguments.
    """
    check_events(system, events, key)
    params = system.params if params is None else params
    flat = events.events if isinstance(events, Ragged) else events
    known = schedule.num_players if isinstance(schedule, Plan) else int(np.max(flat.player, initial=-1)) + 1
    state = start(system, params, state, num_players, known)
    if isinstance(events, Ragged):
        if isinstance(flat, Rounds) and system.clocked(params):
            check_order(events)
        return _run_ragged(system.rules, params, state, events, key, _steps(events, schedule))
    needed = worth(system, params, key, events) if schedule == "auto" and len(events.score) else 0.0
    arranged = plan(events, schedule, needed, most(state))
    if arranged.num_matches == 0:
        return Run(state, jnp.zeros(0))
    replay = _compiled(_stream if arranged.number is None else _levels, params, state, key)
    return Run(*replay(system.rules, arranged.num_matches, params, state, arranged.events, arranged.number, key))


def _steps(events: Ragged, schedule: str | Plan | list[Block]) -> Iterable[Block]:
    """The blocks of periods or rounds."""
    if isinstance(schedule, list):
        size = sizes(events)
        slots = [block.number[block.number < len(size)] for block in schedule]
        every = np.sort(np.concatenate([np.zeros(0, np.int32), *slots]))
        fits = all((size[x] <= block.size).all() for x, block in zip(slots, schedule, strict=True))
        if not (fits and np.array_equal(every, np.arange(len(size)))):
            raise ValueError(f"the schedule is not of these {len(size)} events; make it by by_level(events)")
        return schedule
    if schedule not in ("auto", "levels"):
        raise ValueError(f'the schedule of periods and rounds is "auto", "levels" or from by_level, got {schedule!r}')
    return blocks(events)


def start(system: RatingSystem, params: Params, state: State, num_players: int | None, known: int) -> State:
    """A copy of the given state with newcomers, or a fresh one; ValueError if the events name further players."""
    have = 0 if state is None else len(jax.tree.leaves(state)[0])
    rows = num_players if num_players is not None else known if state is None else have
    if rows < max(known, have):
        who = f"the events name player {known - 1}" if rows < known else f"the state has {have} players"
        raise ValueError(f"{who}, but there are only {rows} players")
    if state is None:
        return system.init(params, rows)

    def copy(x: Array) -> Array:  # the replay works in place, and in the default precision
        return jnp.array(x, float if jnp.issubdtype(x.dtype, jnp.floating) else None)

    fresh = jax.eval_shape(lambda p: system.init(p, 1), params)
    alike = _check_shapes(system, state, fresh)
    state = jax.tree.map(copy, state)
    if alike:
        state = jax.tree.map(lambda x, y: x.astype(y.dtype), state, fresh)  # whole numbers may have been given
    if rows == have:
        return state
    if not alike:
        raise ValueError(f"newcomers do not fit the state: it is of {system.name} with other rules switched on")
    newcomers = system.init(params, rows - have)
    return jax.tree.map(lambda x, new: jnp.concatenate([x, new]), state, newcomers)


def _check_shapes(system: RatingSystem, state: State, fresh: State) -> bool:
    """Whether a state has the same leaves as a fresh one; ValueError if it has, but of other shapes."""
    (mine, mold), (wanted, form) = ([*jax.tree.flatten(tree)] for tree in (state, fresh))
    if mold == form and any(x.shape[1:] != y.shape[1:] for x, y in zip(mine, wanted, strict=True)):
        raise ValueError(f"the state is of {system.name} with other settings: its leaves have other shapes")
    return bool(mold == form)


def worth(system: RatingSystem, params: Params, key: Array | None, events: Matches) -> float:
    """Matches per step from which levels, made for this one replay, beat a stream.

    On a CPU, XLA compiles a stream of simple rules into one native loop. Wide steps can be up to three times as fast,
    but making them takes longer than the stream: ATP tennis 0.18 s in all against 0.04 s for Elo, 0.42 against 0.10 for
    Glicko. It does not for rules with an inner loop or keys of their own, in float64 or under differentiation, and no
    GPU runs a stream well.
    """
    double = jnp.result_type(float) == np.float64
    hashes = key is not None and system.rules.draw is None
    if double or hashes or jax.default_backend() != "cpu" or _traced(params):
        return 2.0
    match = on_device(jax.tree.map(lambda x: np.asarray(x)[:1], events))
    leaves, structure = jax.tree.flatten((params, jax.tree.map(lambda x: x[0], match)))
    return math.inf if _simple(system.rules, system.init, structure, tuple(jax.typeof(x) for x in leaves)) else 2.0


def blank(system: RatingSystem, num_players: int) -> State:
    """The shapes of a fresh state."""
    return jax.eval_shape(lambda params: system.init(params, num_players), system.params)


def most(state: State) -> int:
    """Matches per step whose rows stay in a cache on a CPU, elsewhere in a small part of the memory."""
    row = sum(math.prod(x.shape[1:]) * x.dtype.itemsize for x in jax.tree.leaves(state))
    return max((1 << (18 if jax.default_backend() == "cpu" else 27)) // (2 * row), 1)


def _traced(tree: Any) -> bool:
    return any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(tree))


@lru_cache
def _simple(rules: Rules, init: Callable[[Params, int], State], structure: Any, types: tuple[Any, ...]) -> bool:
    """Whether the rules are few operations on one number of each leaf of the state, without a loop.

    `structure` and `types` are those of (params, match).
    """

    def rate(params: Params, match: Matches) -> Any:
        drawn = None if rules.draw is None else rules.draw(jax.random.key(0))
        return step(rules, rules.prepare(params), init(params, 2), match, drawn)

    params, match = jax.tree.unflatten(structure, types)
    leaves = jax.tree.leaves(jax.eval_shape(lambda p: init(p, 2), params))
    text = str(jax.make_jaxpr(rate)(params, match))
    return all(x.shape == (2,) for x in leaves) and "while" not in text and text.count(" = ") < SIMPLE


def _compiled(replay: Callable[..., Any], params: Params, state: State, key: Array | None, kind: type = Matches) -> Any:
    """`replay` under jit: in place at the top level, plain inside somebody's transformation."""
    inside = _traced((params, state, key, jnp.zeros(())))
    return _jit(replay, inside, kind, any(x.ndim > 1 for x in jax.tree.leaves(state)), _outermost.get())


@lru_cache
def _jit(replay: Callable[..., Any], inside: bool, kind: type, vectors: bool, outermost: bool = False) -> Any:
    """`kind` of events; `vectors`: a player is more than numbers."""
    options = _options(replay, kind, vectors) if outermost or not inside else None
    return jax.jit(replay, static_argnums=(0, 1), donate_argnums=() if inside else 3, compiler_options=options)


_outermost = ContextVar("outermost", default=False)


@contextmanager
def outermost() -> Iterator[None]:
    """Around runs that are batched or differentiated forwards but in no other jit, to compile them as others are.

    (Only an outermost jit may have options. Tennis takes twice as long without, Formula 1 three times.)
    """
    token = _outermost.set(True)
    try:
        yield
    finally:
        _outermost.reset(token)


def check_events(system: RatingSystem, events: Any, key: Array | None) -> None:
    """ValueError for events that a system does not consume, or if it needs a key."""
    kind = type(events.events) if isinstance(events, Ragged) else type(events)
    if kind not in system.events:
        names = " or ".join(e.__name__ for e in system.events)
        hint = ""
        if (kind, system.events) == (Matches, (Periods,)):
            hint = "; group them by periods(matches, length), or give `rate` a period"
        raise ValueError(f"{system.name} rates {names}, not {kind.__name__}{hint}")
    system.check(events)
    if system.rules.draw is not None and key is None:
        raise ValueError(f"{system.name} draws random numbers; give it a key, such as key=jax.random.key(0)")


def _options(replay: Callable[..., Any], kind: type, vectors: bool) -> dict[str, Any] | None:
    """What to tell XLA on a CPU."""
    if jax.default_backend() != "cpu" or (replay is _stream and not vectors):
        return None
    options: dict[str, Any]
    if kind is Rounds or vectors:  # it would hand thin matrix products to a library that takes twice as long over them
        options = {"xla_disable_hlo_passes": "dot-library-rewriter"}
    else:
        # It would spread the gather of 128 rows over threads as soon as a leaf of the state reached half a megabyte:
        # from 131,072 players on, a step took 3 times as long. (Work on vectors gains from threads.)
        options = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"}
    if kind is Rounds:  # the loops of rounds gain nothing from these, but would take twice as long to compile
        quicker: dict[str, Any] = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 2}
        options |= {name: value for name, value in quicker.items() if _known(name, value)}
    return options


@lru_cache
def _known(option: str, value: Any) -> bool:
    """Whether this version of XLA has an option."""
    try:
        jax.jit(lambda: 0, compiler_options={option: value}).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


def drawn_for(rules: Rules, key: Array | None, index: Array) -> Any:
    """What the rules draw for events [...], all at once: hashing within the loop takes longer than many a rule."""
    if key is None:
        return None

    def one(number: Array) -> Any:
        own = jax.random.fold_in(key, number)
        return own if rules.draw is None else rules.draw(own)

    flat = jax.vmap(one)(index.ravel())
    return jax.tree.map(lambda x: x.reshape(*index.shape, *x.shape[1:]), flat)


def _stream(
    rules: Rules, num_matches: int, params: Params, state: State, events: Matches, number: None, key: Array | None
) -> tuple[State, Any]:
    """One match after the other.

    Each player's row is carried in scalars of its own: as pairs they would be written in halves and read back whole,
    which stalls the store buffer (Glicko: 16 against 23 million matches/s).
    """
    del number

    def read(x: Array, i: Array) -> Array:
        return lax.dynamic_index_in_dim(x, i, keepdims=False, allow_negative_indices=False)

    def write(x: Array, y: Array, i: Array) -> Array:
        return lax.dynamic_update_index_in_dim(x, y, i, 0, allow_negative_indices=False)

    def rows_of(state: State, player: Array) -> tuple[State, State]:
        first, second = player[0], player[1]
        return jax.tree.map(lambda x: read(x, first), state), jax.tree.map(lambda x: read(x, second), state)

    def body(carry: tuple[Any, ...], entry: tuple[Matches, Any]) -> tuple[tuple[Any, ...], Any]:
        index, state, (first, second) = carry
        event, drawn = entry
        rows = jax.tree.map(lambda a, b: jnp.stack([a, b]), first, second)
        rows, guess = step(rules, constants, rows, event, drawn)
        for player, row in zip((event.player[0], event.player[1]), sides(rows, event), strict=True):
            state = jax.tree.map(partial(write, i=player), state, row)
        return (index + 1, state, rows_of(state, read(events.player, index + 1))), guess

    constants = rules.prepare(params)
    entries = events, drawn_for(rules, key, jnp.arange(num_matches, dtype=jnp.int32))
    (_, state, _), guess = lax.scan(body, (jnp.int32(0), state, rows_of(state, events.player[0])), entries)
    return state, guess


def _scan(
    one: Callable[[State, Any, Any], tuple[State, Any]], state: State, events: Any, drawn: Any
) -> tuple[State, Any]:
    """Steps of disjoint events: `one` rates a step's on their rows."""

    def body(carry: tuple[Array, State, State], entry: Any) -> tuple[tuple[Array, State, State], Any]:
        number, state, rows = carry
        event, drawn = entry
        rows, guess = one(rows, event, drawn)
        state = put(state, event.player, rows)
        following = lax.dynamic_index_in_dim(events.player, number + 1, keepdims=False)
        return (number + 1, state, take(state, following)), guess

    (_, state, _), guess = lax.scan(body, (jnp.int32(0), state, take(state, events.player[0])), (events, drawn))
    return state, guess


def _levels(
    rules: Rules, num_matches: int, params: Params, state: State, events: Matches, index: Array, key: Array | None
) -> tuple[State, Any]:
    """All matches of a step at once; slots are the last axis of events and the second of rows."""
    one = jax.vmap(partial(step, rules, rules.prepare(params)), in_axes=(1, -1, 0), out_axes=(1, 0))
    state, guess = _scan(one, state, events, drawn_for(rules, key, index))
    return state, _scatter(_zeros(num_matches, guess, 2), index, guess)


def _run_ragged(
    rules: Rules, params: Params, state: State, ragged: Ragged, key: Array | None, steps: Iterable[Block]
) -> Run:
    """A host loop over blocks of equal padded size; the state and the predictions stay on the device."""
    flat = on_device(ragged.events)
    if isinstance(flat, Rounds) and not teams_tie(ragged):
        flat = flat._replace(strict=jnp.zeros(flat.time.shape, bool))
    pairs = ragged.pair_start
    starts = tuple(None if x is None else jnp.asarray(x, jnp.int32) for x in (ragged.player_start, pairs))
    rate = _compiled(_block, params, state, key, type(flat))
    total = int((ragged.player_start if pairs is None else pairs)[-1])
    steps = list(steps)
    if not steps:
        return Run(state, jnp.zeros(0))

    def arguments(block: Block, so_far: tuple[State, Any]) -> tuple[Any, ...]:
        return rules, block.size, params, so_far, flat, starts, block.number, key

    prediction = _zeros(total, rate.eval_shape(*arguments(steps[0], (state, None)))[1], 3)
    kinds = {(block.size, block.number.shape): block for block in steps}.values()
    if len(kinds) > 1 and not _traced((params, state, key)):
        with ThreadPoolExecutor() as pool:  # XLA compiles on one core
            tasks = [pool.submit(rate.lower(*arguments(block, (state, prediction))).compile) for block in kinds]
            for task in tasks:
                task.result()
    for block in steps:
        state, prediction = rate(*arguments(block, (state, prediction)))
    return Run(state, prediction)


def _block(
    rules: Rules,
    size: tuple[int, int],
    params: Params,
    so_far: tuple[State, Any],
    flat: Periods | Rounds,
    starts: tuple[Array, Array | None],
    index: Array,
    key: Array | None,
) -> tuple[State, Any]:
    """Some steps, each of disjoint events under one vmap. Without predictions so far returns the padded guesses."""
    state, prediction = so_far
    events, position = gather_events(flat, starts, index, size)
    one = jax.vmap(partial(step, rules, rules.prepare(params)))
    state, guess = _scan(one, state, events, drawn_for(rules, key, index))
    return state, guess if prediction is None else _scatter(prediction, position, guess)


def _zeros(size: int, padded: Any, axes: int) -> Any:
    """Room for `size` predictions shaped like the padded ones behind their first `axes` axes."""
    return jax.tree.map(lambda x: jnp.zeros((size, *x.shape[axes:]), x.dtype), padded)


def _scatter(out: Any, position: Array, padded: Any) -> Any:
    """Put padded predictions where they belong; positions past the end are dropped."""

    def write(o: Array, x: Array) -> Array:
        return o.at[position.ravel()].set(x.reshape(-1, *o.shape[1:]), mode="drop", unique_indices=True)

    return jax.tree.map(write, out, padded)


def predict(
    system: RatingSystem,
    state: State,
    events: Matches | Ragged,
    *,
    params: Params = None,
    num_players: int | None = None,
) -> Any:
    """Predict upcoming matches or rounds from a state; nothing is learnt.

    Args:
      system: as from `elo()`, `elo_mmr()`, ...
      state: as `run` left it.
      events: [n] concrete `Matches`, or `Ragged` rounds, each predicted as of its own time; scores and ranks are not
        read. Systems of rounds say of a match who would do better in a contest.
      params: hyperparameters, by default `system.params`.
      num_players: as in `run`: rows beyond the state's are newcomers'.

    Returns:
      The system's predictions: of matches, leaves [n, ...], usually the expected score of player 0; of rounds, [P], the
      share of the others whom each participant is expected to beat. (His expected rank is 1 + (1 - share) (size - 1).)

    Raises:
      ValueError: for events that the system does not predict, bad rows, or ids beyond the state.
    """
    params = system.params if params is None else params
    if isinstance(events, Ragged) and isinstance(events.events, Rounds) and Rounds in system.events:
        known = int(np.max(events.events.player, initial=-1)) + 1
        state = _grown(system, params, state, num_players, known)
        rules, copy = _looking_on(system.rules), jax.tree.map(jnp.array, state)  # the replay works in place
        return _run_ragged(rules, params, copy, events, None, blocks(events)).prediction
    if not isinstance(events, Matches):
        kind = type(getattr(events, "events", events)).__name__
        kinds = "Matches" + (" or Rounds" if Rounds in system.events else "")
        raise ValueError(f"{system.name} predicts {kinds}, not {kind}")
    system.check(events._replace(score=np.zeros(len(events.score))))
    stream = plan(events, "stream")
    state = _grown(system, params, state, num_players, stream.num_players)
    return _predict(system.rules, params, state, stream.events)


def _grown(system: RatingSystem, params: Params, state: State, num_players: int | None, known: int) -> State:
    """The state, with newcomers if they are asked for; ValueError if others are named."""
    if num_players is not None or known > len(jax.tree.leaves(state)[0]):
        return start(system, params, state, num_players, known)
    _check_shapes(system, state, jax.eval_shape(lambda p: system.init(p, 1), params))
    return state


@lru_cache
def _looking_on(rules: Rules) -> Rules:
    """Rules that predict each event from the first state: time passes for the prediction only."""

    def advance(constants: Constants, rows: State, time: Array) -> State:
        return rows

    def predict(constants: Constants, rows: State, event: Any) -> Any:
        return rules.predict(constants, rules.advance(constants, rows, event.time), event)

    def update(constants: Constants, rows: State, event: Any, key: Array | None) -> State:
        return rows

    return Rules(rules.prepare, advance, predict, update)


@partial(jax.jit, static_argnums=0)
def _predict(rules: Rules, params: Params, state: State, events: Matches) -> Any:
    constants = rules.prepare(params)

    def one(rows: State, event: Matches) -> Any:
        return rules.predict(constants, advance(rules, constants, rows, event), event)

    return jax.vmap(one)(take(state, events.player), events)
