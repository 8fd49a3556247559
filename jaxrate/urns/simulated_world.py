"""Urnings where who met whom depended on the urns: games of known proportions, and histories of a known matchmaker.

The paper's matchmaker is followed game by game, without approximation. In the simulated world pairs are proposed at
random and play with the probability f of `matchmakers.py` (of `uniform`: 1), which is to pick in proportion to f. A try
reads the urns of its two players and, in Q, the sum S of f over all pairs. A step takes many tries at once, all from
the urns before it, and keeps those up to the first one of which another could come out: one of its players moved in an
earlier try, or the earlier moves might change its decision, by what they can at most change of S. The rest come again
in the next step. So the games do not depend on how many are tried at once.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.argument_checks import Key, Numbers, check_arguments
from jaxrate.events import Matches, fail_where
from jaxrate.replay.checked_replay import Run, check_events
from jaxrate.replay.gather import as_device_arrays
from jaxrate.replay.padded_arrays import make_state
from jaxrate.replay.scan_programs import draw_for_events
from jaxrate.system import Predict, RatingSystem
from jaxrate.systems.urnings.model import Constants, State
from jaxrate.systems.urnings.system import play_game, score_level
from jaxrate.text_format import format_cell
from jaxrate.types import Array
from jaxrate.urns.batched_games import GameRule, draw_true_score, play_in_batches
from jaxrate.urns.matchmakers import (
    Matchmaker,
    log_chooser_probability,
    log_pair_probability_ratio,
    log_similar_probability,
    log_uniform_probability,
    pick_similar,
    pick_uniform,
    uniform,
)


class World(NamedTuple):
    """A simulated history of urns."""

    state: State  # [num_players] at the end
    green: np.ndarray[Any, Any]  # [records, num_players] balls after every so many games
    games: np.ndarray[Any, Any]  # [records] games played before each record


@check_arguments
def simulate_world(
    system: RatingSystem,
    proportions: Numbers,
    games: int,
    key: Key,
    *,
    matchmaker: Matchmaker | None = None,
    state: State | None = None,
    every: int | None = None,
    corrected: bool = True,
) -> World:
    """Players of known proportions play so many games and are rated by Urnings as they go.

        jr.urns.simulate_world(jr.urnings(20), [0.3, 0.5, 0.7], 100, jax.random.key(0))

    Args:
      system: from `urnings()`; its outcomes and weights are also the truth's.
      proportions: [num_players] above 0, below 1; the score of i against j follows the model.
      games: how many.
      key: a PRNG key.
      matchmaker: from `jaxrate.matchmakers`, or of your own; None: `uniform()`. Any but `uniform` and `similar`
        costs num_players a game.
      state: urns to start from, by default newcomers'.
      every: record the urns after every so many games; None: only at the end.
      corrected: whether Q counts. Without it the ratings of matched players spread too far.

    Raises:
      ValueError: for another system, proportions out of range, less than two players or one game, `every` not a divisor
        of games, a state of other players, or a matchmaker by which not all players can meet, if only by way of others.
    """
    _check_urnings(system)
    truth = np.asarray(proportions, np.float64)
    if truth.ndim != 1 or len(truth) < 2 or not ((truth > 0) & (truth < 1)).all():
        raise ValueError("proportions must be [num_players] numbers above 0 and below 1, of at least two players")
    every = games if every is None else every
    if games < 1 or every < 1 or games % every:
        raise ValueError(
            f"games must be at least 1, and a multiple of every; got {format_cell(games)} and {format_cell(every)}"
        )
    state = system.init(system.params, len(truth)) if state is None else state
    if len(state.green) != len(truth):
        raise ValueError(f"there are {len(truth)} proportions, but {len(state.green)} urns")
    matchmaker = uniform() if matchmaker is None else matchmaker
    way = matchmaker.pick, matchmaker.log_probability
    tries = way in ((pick_uniform, log_uniform_probability), (pick_similar, log_similar_probability))
    table = _matchmaker_table(matchmaker, state)
    rule = GameRule(system.settings["variant"], tries, corrected, matchmaker)
    constants = _prepare_constants(system)
    skill = jnp.asarray(np.log(truth) - np.log1p(-truth), float)
    keys = jax.random.split(key, games // every)
    state, green = _simulate_history(rule, every, constants, skill, table, State(*map(jnp.asarray, state)), keys)
    return World(state, np.asarray(green), every * np.arange(1, len(keys) + 1))


@check_arguments
def replay_history(
    system: RatingSystem, matches: Matches, key: Key, *, matchmaker: Matchmaker, state: State | None = None
) -> Run:
    """`run` for a history whose matchmaker is known, game by game: Q is its ratio of probabilities of the pair.

    Args:
      system: from `urnings()`.
      matches: [n] in order of time. Where the matchmaker knows who chose whom, player 0 did.
      key: a PRNG key, or the numbers [n, 2], as for `run`: game i has the same random numbers.
      matchmaker: from `jaxrate.matchmakers`, or of your own. A game costs what `log_probability` does: num_players.
      state: urns to start from, by default newcomers'.

    Returns:
      `Run(state, prediction)`.

    Raises:
      ValueError: for another system, matches that `run` refuses, ids beyond the state, a matchmaker by which not all
        players can meet, or the first match of two whom it could not have matched as their urns then were.
    """
    _check_urnings(system)
    check_events(system, matches, key)
    state = make_state(system, system.params, state, None, int(np.max(matches.player, initial=-1)) + 1)
    table = _matchmaker_table(matchmaker, state)
    constants = _prepare_constants(system)
    uniforms = draw_for_events(system.rules, key, jnp.arange(len(matches.score), dtype=jnp.int32))
    rules = system.settings["variant"], system.rules.predict, matchmaker
    state, (prediction, possible) = _replay_games(*rules, constants, table, state, as_device_arrays(matches), uniforms)

    def say(row: int) -> str:
        one, two = np.asarray(matches.player)[row]
        return (
            f"the matchmaker could not have matched players {one} and {two}; drop such matches, or give the matchmaker "
            "that made them"
        )

    fail_where(~np.asarray(possible), say)
    return Run(state, prediction)


def _check_urnings(system: RatingSystem) -> None:
    if system.name != "urnings":
        raise ValueError(f"only urnings know a matchmaker, not {system.name}")


def _prepare_constants(system: RatingSystem) -> Constants:
    constants: Constants = system.rules.prepare(jax.tree.map(lambda x: jnp.asarray(x, float), system.params))
    return constants


def _matchmaker_table(matchmaker: Matchmaker, state: State) -> Any:
    """The matchmaker's table; ValueError unless all can meet."""
    table = matchmaker.table(state)
    if matchmaker.log_probability not in (
        log_uniform_probability,
        log_similar_probability,
        log_chooser_probability,
    ):  # by which anybody may meet anybody
        check_connected(matchmaker, table, state)
    return table


def check_connected(matchmaker: Matchmaker, table: Any, state: State) -> None:
    """ValueError if the players fall into groups that never meet, as the urns are."""
    num_players = len(state.green)
    player = jnp.arange(num_players, dtype=jnp.int32)

    def row(one: Array) -> Array:
        pairs = jnp.stack([jnp.full_like(player, one), player], axis=-1)
        return jax.vmap(partial(matchmaker.log_probability, table, state))(pairs) > -jnp.inf

    meets = np.array(lax.map(row, player))
    meets |= meets.T
    reached = np.zeros(num_players, bool)
    border = np.array([0])
    while border.size:
        reached[border] = True
        border = np.flatnonzero(meets[border].any(axis=0) & ~reached)
    if not reached.all():
        raise ValueError(
            f"by this matchmaker players 0 and {int(np.argmin(reached))} never meet, not even by way of others"
        )


@partial(jax.jit, static_argnums=(0, 1))
def _simulate_history(
    rule: GameRule, every: int, constants: Constants, skill: Array, table: Any, state: State, keys: Array
) -> tuple[State, Array]:
    games = play_in_batches if rule.tries else _play_one_by_one

    def record(state: State, key: Array) -> tuple[State, Array]:
        state = games(rule, every, constants, skill, table, state, key)
        return state, state.green

    return lax.scan(record, state, keys)


def _rate_game(
    variant: str,
    matchmaker: Matchmaker | None,
    constants: Constants,
    table: Any,
    state: State,
    pair: Array,
    score: Array,
    uniforms: Array,
) -> State:
    """The urns after a game that ended `score`, of `uniforms` [2]; without a matchmaker, Q is 1."""
    one, two = (jax.tree.map(lambda x: x[pair[k]], state) for k in (0, 1))  # noqa: B023
    ratio = (
        None
        if matchmaker is None
        else lambda gain: jnp.exp(log_pair_probability_ratio(matchmaker, table, state, pair, gain))
    )
    gain = play_game(variant, constants, one, two, score, uniforms, ratio)
    return state._replace(green=state.green.at[pair].add(jnp.stack([gain, -gain])))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _replay_games(
    variant: str,
    predict: Predict,
    matchmaker: Matchmaker,
    constants: Constants,
    table: Any,
    state: State,
    matches: Matches,
    uniforms: Array,
) -> tuple[State, tuple[Array, Array]]:
    """The urns at the end; [n] predictions, and whether the matchmaker could have matched the pairs."""

    def game(state: State, entry: tuple[Matches, Array]) -> tuple[State, tuple[Array, Array]]:
        event, numbers = entry
        guess = predict(constants, jax.tree.map(lambda x: x[event.player], state), event)
        possible = matchmaker.log_probability(table, state, event.player) > -jnp.inf
        score = score_level(constants, event)
        return _rate_game(variant, matchmaker, constants, table, state, event.player, score, numbers), (guess, possible)

    return lax.scan(game, state, (matches, uniforms))


def _play_one_by_one(
    rule: GameRule, games: int, constants: Constants, skill: Array, table: Any, state: State, key: Array
) -> State:
    matchmaker = rule.matchmaker if rule.corrected else None

    def game(state: State, number: Array) -> tuple[State, None]:
        u = jax.random.uniform(jax.random.fold_in(key, number), (5,))
        pair = rule.matchmaker.pick(table, state, u[:2])
        score = draw_true_score(constants, skill[pair[0]] - skill[pair[1]], u[2])
        return _rate_game(rule.variant, matchmaker, constants, table, state, pair, score, u[3:]), None

    return lax.scan(game, state, jnp.arange(games, dtype=jnp.uint32))[0]
