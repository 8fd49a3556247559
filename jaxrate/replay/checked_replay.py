"""The host's door to a replay: it checks events, arranges them and makes room. See `pure.py` and `sizes.py`."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import Key, check_arguments
from jaxrate.device import is_traced
from jaxrate.events import Matches, Ragged, Rounds, check_contest_time_order, has_teammates
from jaxrate.events.column_checks import check_not_traced
from jaxrate.events.dataset import Dataset, resolve_events
from jaxrate.replay.blocks import Blocks, arrange_blocks
from jaxrate.replay.compile_options import levels_threshold, matches_in_cache
from jaxrate.replay.gather import as_device_arrays, check_concrete, is_random_numbers, predict_event, prepare_replay
from jaxrate.replay.padding import pad_column, padded_size, read_rows, truncate_leaves
from jaxrate.replay.pure_scan import Run, check_engine, events_to_check, execute, predict_blocks, stream_plan
from jaxrate.replay.scan_programs import predict_block
from jaxrate.replay.schedule import Plan, make_plan
from jaxrate.replay.sharding import is_sharded, with_automatic_sharding
from jaxrate.replay.state import (
    check_contest_features,
    check_events,
    check_ids,
    count_players,
    extend_state,
    make_padded_state,
    resolve_params,
)
from jaxrate.system import Params, RatingSystem, Record, Rules, State, resolve_sizes

__all__ = ["Run", "predict", "run"]


@check_arguments
def run(
    system: RatingSystem,
    events: Matches | Ragged | Dataset,
    *,
    params: Params = None,
    state: State = None,
    key: Key | None = None,
    schedule: str | Plan | Blocks = "auto",
    num_players: int | None = None,
    engine: str = "scan",
    record: Record | None = None,
) -> Run:
    """Rate a history: predict every event, then learn from it.

        result = jr.run(jr.glicko(), data)
        result = jr.run(jr.glicko(), data, state=result.state)  # to carry on

    Args:
      system: as from `elo()`, `glicko()`, ...
      events: `Matches`, or the `Ragged` periods or rounds of `periods` and `rounds`, in order of time. (Rounds need
        only be in their own order where the system, with these hyperparameters, takes no notice of time.) Or a
        `Dataset`.
      params: hyperparameters, by default `system.params`; may be traced by `jax.grad` and `jax.vmap`.
      state: to carry on from, by default a fresh one. Spread over devices along the players, by a `NamedSharding`, it
        stays so, with as many rows on each: those beyond `num_players` are newcomers'. Matches are then in levels.
      key: a PRNG key, which systems that draw random numbers need; event i gets `fold_in(key, i)`. Or the numbers
        themselves: of Urnings [n, 2], from 0, below 1, the first to draw the mock game, the second to accept.
      schedule: how matches are replayed: one by one ("stream"), all matches without a common player at once
        ("levels"), or the faster of the two, making the levels included ("auto"); the numbers are the same. Periods and
        rounds are always in levels. Or what `by_level` made of these very events, which saves making it again: it holds
        a copy of matches, and `events` is then only counted.
      num_players: rows of the state, by default those of the given state, or the largest id plus one, or all whom a
        `Dataset` names. Rows beyond a given state's are newcomers'.
      engine: "scan", a loop that XLA compiles, or on a GPU "kernel": one kernel that walks through all levels, where
        the loop launches several for each. It takes matches and has no derivatives; the players of the system have a
        few numbers each, none random. Its numbers are those of the loop but for rounding, as far as that can be tried
        without a GPU: nobody has run it on one yet.
      record: what to keep of each event in place of its prediction: a function of a `RatedEvent`, which has the
        hyperparameters, the constants, the rows of the event's players before and after it, the prediction and the
        event. Of a match it returns leaves of any shape, of a period [pairs, ...], of a round [participants, ...]. Give
        the same function again: each new one is compiled.

    Returns:
      `Run(state, prediction)`. With `record` its results stand in the place of the predictions, stacked.

            def skills(rated):
                return rated.prediction, rated.before.rating, rated.after.rating

            prediction, before, after = jr.run(jr.elo(), data, record=skills).prediction  # [n], [n, 2], [n, 2]

    Raises:
      ValueError: for events that the system does not consume, teams that it does not know, bad rows (see `matches`),
        ids beyond the state, a schedule of other events, hyperparameters out of their range, no key where one is
        needed, numbers that the system could not have drawn, or an engine that does not fit. Also for traced events,
        which `scan` takes.
    """
    history, num_players = resolve_events(events, num_players, count_players(state))
    check_events(system, history, key)
    check_concrete(
        "run counts the events of a schedule", schedule, "; jr.scan(system, params, state, schedule) takes it"
    )
    params = resolve_params(system, params)
    system = system._replace(rules=system.rules._replace(record=record))
    rules = resolve_sizes(system.rules, params)
    flat = history.events if isinstance(history, Ragged) else history
    known = int(np.max(flat.player, initial=-1)) + 1
    if isinstance(schedule, (Plan, Blocks)):
        known = schedule.num_players
    check_ids(system, flat.player, known, num_players, count_players(state))
    state, rows = make_padded_state(system, params, state, num_players, known)
    if isinstance(history, Ragged):
        if isinstance(flat, Rounds) and system.depends_on_time(params):
            check_contest_time_order(history)
        way: Any = _arrange_blocks(history, schedule)
        n = way.num_rows
    else:
        schedule = "levels" if (engine, schedule) == ("kernel", "auto") else schedule
        needed = 1.0  # a step costs devices a word with each other, however many matches it has
        if schedule == "auto" and len(history.score) and not is_sharded(state):
            needed = levels_threshold(system, params, key, history)
        way = make_plan(history, schedule, needed, matches_in_cache(state))
        n = way.num_matches
    check_engine(engine, way, state)
    if n == 0:
        return Run(truncate_leaves(state, rows), jnp.zeros(0))
    if key is not None and is_random_numbers(key) and not is_traced(key):
        key = pad_column(key, padded_size(len(key)), 0.0)
    state, guess = execute(rules, params, state, way, key, ids_checked=True, exact_length=True, engine=engine)
    return Run(truncate_leaves(state, rows), truncate_leaves(guess, n))


def _arrange_blocks(events: Ragged, schedule: Any) -> Blocks:
    """Periods or rounds, arranged."""
    if isinstance(schedule, Blocks):
        starts = events.player_start if events.pair_start is None else events.pair_start
        if (schedule.num_events, schedule.num_rows) != (len(starts) - 1, starts[-1]):
            raise ValueError(f"the schedule is not of these {len(starts) - 1} events; make it by by_level(events)")
        if schedule.events.time.dtype != jnp.result_type(float):  # made in the other precision
            return arrange_blocks(events, [one._replace(number=np.asarray(one.number)) for one in schedule.blocks])
        return schedule
    if schedule not in ("auto", "levels"):
        raise ValueError(f'the schedule of periods and rounds is "auto", "levels" or from by_level, got {schedule!r}')
    return arrange_blocks(events)


@check_arguments
def predict(
    system: RatingSystem,
    state: State,
    events: Matches | Ragged | Dataset,
    *,
    params: Params = None,
    num_players: int | None = None,
) -> Any:
    """Predict upcoming matches or rounds from a state; nothing is learnt.

        jr.predict(system, result.state, jr.matches([[0, 1]], [0.5], [20_000.0]))  # whatever the score

    Args:
      system: as from `elo()`, `elo_mmr()`, ...
      state: as `run` left it.
      events: [n] `Matches` or `Ragged` rounds, each predicted as of its own time; scores and ranks are not read. Their
        columns may be traced, ids as well, which are then not checked; `player_start` may not. Systems of rounds say
        which player of a match would do better in a contest. Or a `Dataset` of either.
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
    events, num_players = resolve_events(events, num_players, count_players(state))
    params = resolve_params(system, params)
    rules = resolve_sizes(system.rules, params)
    if isinstance(events, Ragged) and isinstance(events.events, Rounds) and Rounds in system.events:
        check_not_traced(
            "player_start", events.player_start, "sizes of contests are shapes; what may be traced is `events`"
        )
        check_contest_features(system, events)
        known = 0 if is_traced(events.events.player) else int(np.max(events.events.player, initial=-1)) + 1
        if is_traced(events.events):
            return _predict_traced_rounds(
                rules, params, extend_state(system, params, state, num_players, known), events
            )
        copy, _ = make_padded_state(system, params, state, num_players, known)
        contests = arrange_blocks(events)
        if contests.num_rows == 0:
            return jnp.zeros(0)
        return truncate_leaves(predict_blocks(rules, params, copy, contests), contests.num_rows)
    if not isinstance(events, Matches):
        kind = type(getattr(events, "events", events)).__name__
        kinds = "Matches" + (" or Rounds" if Rounds in system.events else "")
        raise ValueError(f"{system.name} predicts {kinds}, not {kind}")
    system.check(events_to_check(events._replace(score=np.zeros(len(events.score)))))
    upcoming, _ = stream_plan(events)
    state = with_automatic_sharding(extend_state(system, params, state, num_players, upcoming.num_players))
    rows = read_rows(state, upcoming.events.player)
    return truncate_leaves(_predict_matches(rules, params, rows, upcoming.events), len(events.score))


def _predict_traced_rounds(rules: Rules, params: Params, state: State, contests: Ragged) -> Any:
    """Predictions [P] of contests that are traced, each padded to the largest."""
    flat: Any = contests.events
    start = np.asarray(contests.player_start)
    if start[-1] == 0:
        return jnp.zeros(0)
    known = np.zeros(len(start) - 1, bool)
    solo = None if is_traced(flat.team) or has_teammates(contests) else known
    most = int(np.diff(start).max())
    starts, every = (jnp.asarray(start, jnp.int32), None), jnp.arange(len(start) - 1, dtype=jnp.int32)[None]
    flat = as_device_arrays(flat)._replace(strict=None, solo=solo)
    return jax.jit(predict_block, static_argnums=(0, 1))(rules, (most, most), params, None, state, flat, starts, every)


@partial(jax.jit, static_argnums=0)
def _predict_matches(rules: Rules, params: Params, rows: State, events: Matches) -> Any:
    return jax.vmap(partial(predict_event, rules, prepare_replay(rules, params)))(rows, events)
