"""The runner: the only place that gathers, scatters or scans.

The scan carries the state *and the rows of the next event*, so that nothing reads the old state after it is written.
Read in two places, XLA would copy every leaf of the state at every step, and the cost of a match would grow with the
number of players.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.data.dataset import Dataset, open_data
from jaxrate.events import Array, Matches, Periods, Ragged, Rounds, check_order, some_in_teams, teams_tie
from jaxrate.replay.blocks import Block, blocks, gather_events, sizes
from jaxrate.replay.compiling import compiled, most, worth
from jaxrate.replay.rows import drawn_for, forecast, on_device, put, shapes, step, take, traced
from jaxrate.replay.schedule import Plan, plan
from jaxrate.replay.state import check_contests, check_events, check_ids, chosen, count, grown, start
from jaxrate.system import Constants, Params, RatingSystem, Rules, State, bind, sides, sized_for


class Run(NamedTuple):
    """What a history leaves behind."""

    state: State  # leaves [num_players, ...]
    prediction: Any  # made before each event, in the order of the input: [n] matches, [M] pairs or [P] participants

    def __repr__(self) -> str:
        return f"Run\n  state       {shapes(self.state)}\n  prediction  {shapes(self.prediction)}"


def run(
    system: RatingSystem,
    events: Matches | Ragged | Dataset,
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
        only be in their own order where the system, with these hyperparameters, takes no notice of time.) Or a
        `Dataset`.
      params: hyperparameters, by default `system.params`; may be traced by `jax.grad` and `jax.vmap`.
      state: to carry on from, by default a fresh one.
      key: a PRNG key, which systems that draw random numbers need; event i gets `fold_in(key, i)`. Or the numbers
        themselves: of Urnings [n, 2], from 0, below 1, the first to draw the mock game, the second to accept.
      schedule: how matches are replayed: one by one ("stream"), all matches without a common player at once
        ("levels"), or the faster of the two, making the levels included ("auto"); the numbers are the same. Periods and
        rounds are always in levels. Or what `by_level` made of these very events, which saves making it again: it holds
        a copy of matches, and `events` is then only counted.
      num_players: rows of the state, by default those of the given state, or the largest id plus one, or all whom a
        `Dataset` names. Rows beyond a given state's are newcomers'.

    Returns:
      `Run(state, prediction)`.

    Raises:
      ValueError: for events that the system does not consume, teams that it does not know, bad rows (see `matches`),
        ids beyond the state, a schedule of other events, hyperparameters out of their range, no key where one is
        needed, or numbers that the system could not have drawn. Events must be concrete: under `jax.jit` they may not
        be among the traced arguments.
    """
    history, num_players = open_data(events, num_players, count(state))
    check_events(system, history, key)
    params = chosen(system, params)
    rules = sized_for(system.rules, params)
    flat = history.events if isinstance(history, Ragged) else history
    known = schedule.num_players if isinstance(schedule, Plan) else int(np.max(flat.player, initial=-1)) + 1
    check_ids(system, flat.player, known, num_players, count(state))
    state = start(system, params, state, num_players, known)
    if isinstance(history, Ragged):
        if isinstance(flat, Rounds) and system.clocked(params):
            check_order(history)
        return _run_ragged(rules, params, state, history, key, _steps(history, schedule))
    needed = worth(system, params, key, history) if schedule == "auto" and len(history.score) else 0.0
    arranged = plan(history, schedule, needed, most(state))
    if arranged.num_matches == 0:
        return Run(state, jnp.zeros(0))
    stream = arranged.number is None
    replay = compiled(_stream if stream else _levels, params, state, key, stream=stream)
    return Run(*replay(rules, arranged.num_matches, params, state, arranged.events, arranged.number, key))


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
    if isinstance(flat, Rounds):
        known = jnp.zeros(flat.time.shape, bool)
        strict, solo = None if teams_tie(ragged) else known, None if some_in_teams(ragged) else known
        flat = flat._replace(strict=strict, solo=solo)
    pairs = ragged.pair_start
    begin = jnp.asarray(ragged.player_start, jnp.int32)
    starts = begin, None if pairs is None else jnp.asarray(pairs, jnp.int32)
    rate = compiled(_block, params, state, key, type(flat))
    total = int((ragged.player_start if pairs is None else pairs)[-1])
    steps = list(steps)
    if not steps:
        return Run(state, jnp.zeros(0))

    def first(params: Params, state: State) -> Any:
        """The prediction of the first event, padded, for its shape."""
        events, _ = gather_events(flat, starts, steps[0].number, steps[0].size)
        event = jax.tree.map(lambda x: x[0, 0], events)
        given = rules, rules.prepare(params), take(state, event.player), event
        return forecast(*given) if rules.infer is None else step(*given, key)[1]

    def arguments(block: Block, so_far: tuple[State, Any]) -> tuple[Any, ...]:
        return rules, block.size, params, so_far, flat, starts, block.number, key

    prediction = _zeros(total, jax.eval_shape(first, params, state), 1)
    kinds = {(block.size, block.number.shape): block for block in steps}.values()
    if len(kinds) > 1 and not traced((params, state, key)):
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
    """Some steps, each of disjoint events under one vmap."""
    state, prediction = so_far
    events, position = gather_events(flat, starts, index, size)
    one = jax.vmap(partial(step, rules, rules.prepare(params)))
    state, guess = _scan(one, state, events, drawn_for(rules, key, index))
    return state, _scatter(prediction, position, guess)


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
    events: Matches | Ragged | Dataset,
    *,
    params: Params = None,
    num_players: int | None = None,
) -> Any:
    """Predict upcoming matches or rounds from a state; nothing is learnt.

    Args:
      system: as from `elo()`, `elo_mmr()`, ...
      state: as `run` left it.
      events: [n] concrete `Matches`, or `Ragged` rounds, each predicted as of its own time; scores and ranks are not
        read. Systems of rounds say which player of a match would do better in a contest. Or a `Dataset` of either.
      params: hyperparameters, by default `system.params`.
      num_players: as in `run`: rows beyond the state's are newcomers'.

    Returns:
      The system's predictions: for matches, leaves [n, ...], usually the expected score of player 0; for rounds, [P],
      the share of the others whom each participant is expected to beat. The expected rank is then
      1 + (1 - share) (size - 1).

    Raises:
      ValueError: for events that the system does not predict, teams that it does not know, bad rows, ids beyond the
        state, or hyperparameters out of their range.
    """
    events, num_players = open_data(events, num_players, count(state))
    params = chosen(system, params)
    rules = sized_for(system.rules, params)
    if isinstance(events, Ragged) and isinstance(events.events, Rounds) and Rounds in system.events:
        check_contests(system, events)
        known = int(np.max(events.events.player, initial=-1)) + 1
        state = grown(system, params, state, num_players, known)
        rules, copy = _looking_on(rules), jax.tree.map(jnp.array, state)  # the replay works in place
        return _run_ragged(rules, params, copy, events, None, blocks(events)).prediction
    if not isinstance(events, Matches):
        kind = type(getattr(events, "events", events)).__name__
        kinds = "Matches" + (" or Rounds" if Rounds in system.events else "")
        raise ValueError(f"{system.name} predicts {kinds}, not {kind}")
    system.check(events._replace(score=np.zeros(len(events.score))))
    stream = plan(events, "stream")
    state = grown(system, params, state, num_players, stream.num_players)
    return _predict(rules, params, state, stream.events)


def _looking_on(rules: Rules) -> Rules:
    """Rules that predict each event from the first state: time passes for the prediction only."""
    return Rules(rules.prepare, _unaged, bind(_as_of_then, rules), _untaught)


def _unaged(constants: Constants, rows: State, time: Array) -> State:
    del constants, time
    return rows


def _untaught(constants: Constants, rows: State, event: Any, key: Array | None) -> State:
    del constants, event, key
    return rows


def _as_of_then(rules: Rules, constants: Constants, rows: State, event: Any) -> Any:
    return rules.predict(constants, rules.advance(constants, rows, event.time), event)


@partial(jax.jit, static_argnums=0)
def _predict(rules: Rules, params: Params, state: State, events: Matches) -> Any:
    return jax.vmap(partial(forecast, rules, rules.prepare(params)))(take(state, events.player), events)
