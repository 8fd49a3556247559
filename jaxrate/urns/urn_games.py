"""Urnings with matchmaking by the urns: simulated games of known proportions, and histories of a known matchmaker.

The paper's matchmaker is followed game by game, without approximation. In the simulated world pairs are proposed at
random and play with the probability f of `matchmakers.py` (1 for `uniform_matchmaker`), which amounts to picking in
proportion to f. A proposal reads the urns of its two players and, in Q, the sum S of f over all pairs. A step takes
many proposals at once, all with the urns before it, and keeps those up to the first whose outcome might differ: because
an urn of its players changed in an earlier proposal, or because earlier changes of S might change its decision. The
rest are repeated in the next step. So the games do not depend on the size of a batch.
"""

from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.argument_checks import Key, Numbers, enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.core.rules import PredictRule
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_value_for_error
from jaxrate.events import Matches, fail_where, number_connected_groups
from jaxrate.replay.checked_replay import Run, check_system_takes_events
from jaxrate.replay.padded_arrays import init_or_copy_state
from jaxrate.replay.player_rows import as_device_arrays
from jaxrate.replay.scan_programs import draw_random_numbers_for_events
from jaxrate.systems.urnings import (
    Constants,
    State,
    acceptance_correction,
    draw_mock_score,
    green_gain_from_game,
    score_level,
    score_probabilities,
    unnormalised_simulated_score_probabilities,
)
from jaxrate.urns.matchmakers import (
    Matchmaker,
    UrnSimilarityTables,
    count_urn_values,
    full_precision_matmul,
    log_chooser_pair_probability,
    log_pair_probability_ratio,
    log_similar_pair_probability,
    log_uniform_pair_probability,
    pick_similar_pair,
    pick_uniform_pair,
    uniform_matchmaker,
)

TRIES_PER_STEP = 32  # proposals in a batch
TRIES_PER_CHUNK = 1 << 13  # proposals whose random numbers are drawn at once, at most
MAX_MOVE_EFFECT = 8.0  # f is from 0 to 1, so this bounds the effect of one move on another's change of S


class UrnGameSettings(NamedTuple):
    """The static rules of games."""

    variant: str
    proposes_pairs: bool  # whether pairs are proposed in batches, or picked by the matchmaker
    corrected: bool
    matchmaker: Matchmaker
    width: int = TRIES_PER_STEP


class ProposedPairs(NamedTuple):
    """Proposed pairs and their uniform random numbers; leaves [...]."""

    first: Array
    second: Array
    play_uniform: Array
    score_uniform: Array
    mock_uniform: Array
    move_uniform: Array


def play_in_batches(
    rule: UrnGameSettings, games: int, constants: Constants, skill: Array, table: Any, state: State, key: Array
) -> State:
    """Play this many games, in chunks of proposals."""
    size = min(TRIES_PER_CHUNK, 1 << (2 * games).bit_length())

    def play_chunk(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        number, left, state, count = carry
        proposals = _draw_proposals(jax.random.fold_in(key, number), size, len(skill), rule.width)

        def play_step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
            start, left, state, count = carry
            batch = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, start, rule.width), proposals)
            done, played, state, count = _play_batch(rule, constants, skill, table, state, count, batch, left)
            return start + done, left - played, state, count

        start = jnp.int32(0), left, state, count
        _, left, state, count = lax.while_loop(lambda x: (x[0] < size) & (x[1] > 0), play_step, start)
        return number + 1, left, state, count

    count = count_urn_values(table, state) if isinstance(table, UrnSimilarityTables) else None
    carry = jnp.uint32(0), jnp.int32(games), state, count
    return lax.while_loop(lambda x: x[1] > 0, play_chunk, carry)[2]


def _draw_proposals(key: Array, size: int, num_players: int, width: int) -> ProposedPairs:
    """[size + width] proposals, of which the last `width` are padding."""
    bits = jax.random.bits(key, (6, size), jnp.uint32)
    u = (bits >> 8).astype(jnp.result_type(float)) * 2.0**-24
    u = jnp.pad(u, ((0, 0), (0, width)), constant_values=1.0)
    one = (u[0] * num_players).astype(jnp.int32)
    two = (u[1] * (num_players - 1)).astype(jnp.int32)
    return ProposedPairs(one, two + (two >= one).astype(jnp.int32), *u[2:])


def _play_batch(
    rule: UrnGameSettings,
    constants: Constants,
    skill: Array,
    similarity: Any,
    state: State,
    count: Any,
    batch: ProposedPairs,
    games_left: Array,
) -> tuple[Array, Array, State, Any]:
    """The number of proposals that were decided, of games that were played, and the urns after them."""
    order = np.arange(rule.width, dtype=np.int32)
    first, second = (jax.tree.map(lambda x: x[k], state) for k in (batch.first, batch.second))  # noqa: B023

    def play_pair(
        first: State, second: State, lead: Array, score_uniform: Array, mock_uniform: Array
    ) -> tuple[Array, Array]:
        x = draw_mock_score(score_probabilities(constants, lead), score_uniform)
        simulated = unnormalised_simulated_score_probabilities(rule.variant, constants, first, second, x)
        gain = x - draw_mock_score(simulated, mock_uniform)
        return gain, jnp.asarray(acceptance_correction(rule.variant, constants, first, second, gain), lead.dtype)

    lead = skill[batch.first] - skill[batch.second]
    gain, acceptance = jax.vmap(play_pair)(first, second, lead, batch.score_uniform, batch.mock_uniform)
    plays, is_doubtful = batch.play_uniform < 1.0, jnp.zeros(rule.width, bool)
    moves = plays & (gain != 0) & (batch.move_uniform < acceptance)
    if count is not None:
        a, b = similarity.first[batch.first] + first.green, similarity.first[batch.second] + second.green
        f = similarity.table[a, b]
        plays = batch.play_uniform < f
        moves = moves & plays
        if rule.corrected:
            change, total = _total_similarity_changes(similarity, count, a, b, gain)
            bound = batch.move_uniform * (1.0 + change / total)
            ratio = acceptance * similarity.table[a + gain, b - gain] / jnp.where(plays, f, 1.0)
            moves = plays & (gain != 0) & (bound < ratio)
            error = batch.move_uniform * _bound_earlier_moves_error(moves, change, total)
            is_doubtful = plays & (gain != 0) & (abs(bound - ratio) <= error)
    pairs = [(x, y) for x in (batch.first, batch.second) for y in (batch.first, batch.second)]
    shares_player = reduce(jnp.logical_or, (x[:, None] == y[None, :] for x, y in pairs))
    is_stale = jnp.any(shares_player & moves[None, :] & (order[None, :] < order[:, None]), axis=1)
    is_undecided = is_stale | is_doubtful
    done = jnp.where(jnp.any(is_undecided), jnp.argmax(is_undecided).astype(jnp.int32), rule.width)
    done = jnp.minimum(done, jnp.sum(jnp.cumsum(plays, dtype=jnp.int32) <= games_left, dtype=jnp.int32))
    applied_gain = jnp.where(moves & (done > order), gain, 0)
    state = state._replace(green=state.green.at[batch.first].add(applied_gain).at[batch.second].add(-applied_gain))
    if count is not None:
        weight = (applied_gain != 0).astype(count.dtype)
        values = jnp.concatenate([a, b, a + applied_gain, b - applied_gain])
        count = count.at[values].add(jnp.concatenate([-weight, -weight, weight, weight]))
    return done, jnp.sum(plays & (done > order), dtype=jnp.int32), state, count


def _total_similarity_changes(
    similarity: UrnSimilarityTables, count: Array, a: Array, b: Array, gain: Array
) -> tuple[Array, Array]:
    """[width] the change of the sum of similarities by each proposed gain, and this sum, for urns of values a and b."""
    near = full_precision_matmul(similarity.table_of_others, count)
    total = 0.5 * (full_precision_matmul(count, near) + jnp.sum(count * (count - 1.0)))
    near = near + count
    ends = jnp.stack([a, a + gain, b, b - gain])
    sign = np.array([-1.0, 1.0, -1.0, 1.0], np.float32).astype(count.dtype)
    own = similarity.table[ends[:, None], ends[None, :]] * (sign[:, None] * sign[None, :])[:, :, None]
    return full_precision_matmul(sign, near[ends]) + 0.5 * jnp.sum(own, axis=(0, 1)), total


def _bound_earlier_moves_error(moves: Array, change: Array, total: Array) -> Array:
    """[width] a bound on the effect of earlier moves on (change of S) / S, plus rounding; 0 without earlier moves."""

    def exclusive_sum(x: Array) -> Array:
        return jnp.cumsum(x) - x

    number = exclusive_sum(moves.astype(change.dtype))
    drift = exclusive_sum(jnp.where(moves, abs(change) + MAX_MOVE_EFFECT * number, 0.0))
    least_total = jnp.maximum(total - drift, 0.0)
    error = (MAX_MOVE_EFFECT * number + abs(change) * drift / total) / jnp.where(least_total > 0, least_total, 1.0)
    error = jnp.where(least_total > 0, error, jnp.inf)
    return jnp.where(number > 0, error + 1e-5, 0.0)


class World(NamedTuple):
    """A simulated history of urns, with records at regular intervals."""

    state: State  # [num_players] at the end
    green: np.ndarray[Any, Any]  # [records, num_players] green balls at each record
    games: np.ndarray[Any, Any]  # [records] number of games before each record


@enforce_argument_annotations
def simulate_world(
    system: RatingSystem,
    proportions: Numbers,
    games: int,
    key: Key,
    *,
    matchmaker: Matchmaker | None = None,
    state: State | None = None,
    record_every: int | None = None,
    corrected: bool = True,
) -> World:
    """Simulate games of players with known proportions, who are rated by Urnings as they play.

        jr.urns.simulate_world(jr.urnings(20), [0.3, 0.5, 0.7], 100, jax.random.key(0))

    Args:
      system: from `urnings()`; the simulated games have its outcomes and weights.
      proportions: [num_players] above 0, below 1; the score of i against j follows the model.
      games: number of games.
      key: a PRNG key.
      matchmaker: from `jr.urns.matchmakers`, or your own. None: `uniform_matchmaker()`. Others than
        `uniform_matchmaker` and `similarity_matchmaker` cost time in proportion to num_players in each game.
      state: urns at the start, by default newcomers'.
      record_every: number of games between records of the urns. None: one record at the end.
      corrected: whether ratings are corrected by Q. Without it the ratings of matched players spread too far.

    Raises:
      ValueError: for another system, proportions out of range, less than two players or one game, a `record_every` that
        does not divide games, a state of other players, or a matchmaker that leaves groups of players who never meet.
    """
    constants = _prepare_constants(system)
    truth = np.asarray(proportions, np.float64)
    if truth.ndim != 1 or len(truth) < 2 or not ((truth > 0) & (truth < 1)).all():
        raise ValueError("proportions must be [num_players] numbers above 0 and below 1, of at least two players")
    record_every = games if record_every is None else record_every
    if games < 1 or record_every < 1 or games % record_every:
        got = " and ".join(map(format_value_for_error, (games, record_every)))
        raise ValueError(f"games must be at least 1, and a multiple of record_every; got {got}")
    state = system.init(system.params, len(truth)) if state is None else state
    if len(state.green) != len(truth):
        raise ValueError(f"there are {len(truth)} proportions, but {len(state.green)} urns")
    matchmaker = uniform_matchmaker() if matchmaker is None else matchmaker
    functions = matchmaker.pick, matchmaker.log_probability
    proposes_pairs = functions in (
        (pick_uniform_pair, log_uniform_pair_probability),
        (pick_similar_pair, log_similar_pair_probability),
    )
    table = _make_checked_matchmaker_table(matchmaker, state)
    rule = UrnGameSettings(system.settings["variant"], proposes_pairs, corrected, matchmaker)
    skill = jnp.asarray(np.log(truth) - np.log1p(-truth), float)
    keys = jax.random.split(key, games // record_every)
    state, green = _simulate_history(rule, record_every, constants, skill, table, State(*map(jnp.asarray, state)), keys)
    return World(state, np.asarray(green), record_every * np.arange(1, len(keys) + 1))


@enforce_argument_annotations
def replay_history(
    system: RatingSystem, matches: Matches, key: Key, *, matchmaker: Matchmaker, state: State | None = None
) -> Run:
    """Replay a history whose matchmaker is known, game by game, corrected by the ratio Q of its probabilities.

    Args:
      system: from `urnings()`.
      matches: [n] in order of time. If one player chooses the other, that is player 0.
      key: a PRNG key, or the numbers [n, 2], as for `run`: game i has the same random numbers.
      matchmaker: from `jr.urns.matchmakers`, or your own. A game costs time in proportion to num_players.
      state: urns at the start, by default newcomers'.

    Returns:
      `Run(state, prediction)`.

    Raises:
      ValueError: for another system, matches that `run` refuses, ids beyond the state, a matchmaker that leaves groups
        of players who never meet, or a match of two whom it could not have matched (names the first).
    """
    constants = _prepare_constants(system)
    check_system_takes_events(system, matches, key)
    state = init_or_copy_state(system, system.params, state, None, int(np.max(matches.player, initial=-1)) + 1)
    table = _make_checked_matchmaker_table(matchmaker, state)
    uniforms = draw_random_numbers_for_events(system.rules, key, jnp.arange(len(matches.score), dtype=jnp.int32))
    rules = system.settings["variant"], system.rules.predict, matchmaker
    games = as_device_arrays(matches), uniforms
    state, (prediction, is_possible) = _replay_games(*rules, constants, table, state, *games)
    message = (
        "the matchmaker could not have matched players {} and {}; drop such matches, or give the matchmaker that made "
        "them"
    )
    fail_where(~np.asarray(is_possible), lambda row: message.format(*np.asarray(matches.player)[row]))
    return Run(state, prediction)


def _prepare_constants(system: RatingSystem) -> Constants:
    """The constants of Urnings; ValueError for another system."""
    if system.name != "urnings":
        raise ValueError(f"only urnings has a matchmaker, not {system.name}")
    constants: Constants = system.rules.prepare(jax.tree.map(lambda x: jnp.asarray(x, float), system.params))
    return constants


def _make_checked_matchmaker_table(matchmaker: Matchmaker, state: State) -> Any:
    """The matchmaker's table; ValueError unless all players can meet, directly or through others."""
    table = matchmaker.table(state)
    if matchmaker.log_probability not in (
        log_uniform_pair_probability,
        log_similar_pair_probability,
        log_chooser_pair_probability,
    ):  # by these any two players may meet
        check_players_can_meet(matchmaker, table, state)
    return table


def check_players_can_meet(matchmaker: Matchmaker, table: Any, state: State) -> None:
    """ValueError if the players fall into groups that never meet with these urns."""
    num_players = len(state.green)
    players = jnp.arange(num_players, dtype=jnp.int32)

    def can_meet(player: Array) -> Array:
        pairs = jnp.stack([jnp.full_like(players, player), players], axis=-1)
        return jax.vmap(partial(matchmaker.log_probability, table, state))(pairs) > -jnp.inf

    group = number_connected_groups(num_players, *np.nonzero(lax.map(can_meet, players)))
    strangers = 1 + np.flatnonzero((group[1:] != group[0]) | (group[0] < 0))
    if len(strangers):
        raise ValueError(f"with this matchmaker players 0 and {strangers[0]} never meet, not even through others")


@partial(jax.jit, static_argnums=(0, 1))
def _simulate_history(
    rule: UrnGameSettings, record_every: int, constants: Constants, skill: Array, table: Any, state: State, keys: Array
) -> tuple[State, Array]:
    play = play_in_batches if rule.proposes_pairs else _play_sequentially

    def play_and_record(state: State, key: Array) -> tuple[State, Array]:
        state = play(rule, record_every, constants, skill, table, state, key)
        return state, state.green

    return lax.scan(play_and_record, state, keys)


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
    """The urns after a game with this score, by `uniforms` [2]; without a matchmaker Q is 1."""
    first, second = (jax.tree.map(lambda x: x[pair[k]], state) for k in (0, 1))  # noqa: B023
    ratio = (
        None
        if matchmaker is None
        else lambda gain: jnp.exp(log_pair_probability_ratio(matchmaker, table, state, pair, gain))
    )
    gain = green_gain_from_game(variant, constants, first, second, score, uniforms, ratio)
    return state._replace(green=state.green.at[pair].add(jnp.stack([gain, -gain])))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _replay_games(
    variant: str,
    predict: PredictRule,
    matchmaker: Matchmaker,
    constants: Constants,
    table: Any,
    state: State,
    matches: Matches,
    uniforms: Array,
) -> tuple[State, tuple[Array, Array]]:
    """The urns at the end; [n] predictions, and whether the matchmaker could have matched each pair."""

    def replay_game(state: State, entry: tuple[Matches, Array]) -> tuple[State, tuple[Array, Array]]:
        event, numbers = entry
        guess = predict(constants, jax.tree.map(lambda x: x[event.player], state), event)
        is_possible = matchmaker.log_probability(table, state, event.player) > -jnp.inf
        score = score_level(constants, event)
        after = _rate_game(variant, matchmaker, constants, table, state, event.player, score, numbers)
        return after, (guess, is_possible)

    return lax.scan(replay_game, state, (matches, uniforms))


def _play_sequentially(
    rule: UrnGameSettings, games: int, constants: Constants, skill: Array, table: Any, state: State, key: Array
) -> State:
    matchmaker = rule.matchmaker if rule.corrected else None

    def play_one_game(state: State, number: Array) -> tuple[State, None]:
        u = jax.random.uniform(jax.random.fold_in(key, number), (5,))
        pair = rule.matchmaker.pick(table, state, u[:2])
        score = draw_mock_score(score_probabilities(constants, skill[pair[0]] - skill[pair[1]]), u[2])
        return _rate_game(rule.variant, matchmaker, constants, table, state, pair, score, u[3:]), None

    return lax.scan(play_one_game, state, jnp.arange(games, dtype=jnp.uint32))[0]
