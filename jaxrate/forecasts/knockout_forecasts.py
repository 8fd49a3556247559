"""Series, matchup matrices and knockout brackets from win probabilities, of a system or of your own."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.argument_checks import (
    MAX_SAMPLES,
    Key,
    Numbers,
    check_count,
    enforce_argument_annotations,
    is_iterable,
    is_traced,
)
from jaxrate.core.array_types import Array
from jaxrate.core.rules import Params, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import MAX_ABS_TIME, fail_where
from jaxrate.forecasts.pairwise_probabilities import predict_neutral_matches
from jaxrate.history.history import History, find_player_id, resolve_system_state_and_players
from jaxrate.history.ratings_at_times import parse_time_after_last_events
from jaxrate.replay.padded_arrays import count_players
from jaxrate.systems.prediction_wrapping import expected_score_from_prediction

CHUNK_NUMBERS = 1 << 22  # numbers, about, of what is simulated together


class SeriesProbabilities(NamedTuple):
    """Probabilities of how a series ends for one of the two players."""

    win: Array  # [...]
    final_won: Array  # [..., need] that the player wins, the other ending on 0, 1, ... games
    final_lost: Array  # [..., need] that the player loses, ending on 0, 1, ... games


@enforce_argument_annotations
def best_of(probability: Numbers, games: int, score: tuple[int, int] = (0, 0)) -> SeriesProbabilities:
    """A series of independent games, won by the first to win more than half of them: negative binomial distributions.

        jr.forecasts.best_of(0.6, 5, score=(1, 0)).win  # the first leads by one

    Every term is positive, so that nothing cancels, and derivatives are finite at 0 and 1 too.

    Args:
      probability: [...] to win a game; may be traced.
      games: at most so many, an odd number; need = (games + 1) / 2 of them win.
      score: games won so far, by the player and by the other. Where either has all they need, the series is decided.

    Raises:
      ValueError: if games is not odd, the score impossible, or a concrete probability outside [0, 1].
    """
    need, (won, lost) = (int(games) + 1) // 2, map(int, score)
    if games < 1 or games % 2 == 0:
        raise ValueError(f"games must be an odd number from 1, got {games}")
    if min(won, lost) < 0 or max(won, lost) > need or won + lost == 2 * need:
        raise ValueError(f"no series of first to {need} stands at {won}:{lost}")
    return _series_probabilities(_check_probability("probability", probability), need, np.array([won, lost], np.int32))


@partial(jax.jit, static_argnums=1)
def _series_probabilities(p: Array, need: int, score: Array) -> SeriesProbabilities:
    """The probabilities of a series to `need` wins, at chances p [...] of a game and a score [2] of games so far."""
    win = jnp.stack([p, 1.0 - p])[None]
    lose = win[:, ::-1]

    def play_game(probabilities: Array, _: None) -> tuple[Array, Array]:
        """[need + 1, 2, ...] the probability of each number of games won by either player alone; winners leave."""
        unfinished = jnp.concatenate([lose * probabilities[:-1], jnp.zeros_like(probabilities[:1])])
        return unfinished.at[1:].add(win * probabilities[:-1]), probabilities[-1]

    start = (jnp.arange(need + 1, dtype=score.dtype)[:, None] == score[None, :]).astype(p.dtype)
    start = jnp.broadcast_to(start.reshape(need + 1, 2, *[1] * p.ndim), (need + 1, 2, *p.shape))
    _, decided = lax.scan(play_game, start, length=2 * need)  # [2 need, 2, ...] who has won after 0, 1, ... games

    def final_score_probabilities(player: int) -> Array:
        """[..., need] that the player wins, by the games of the other."""
        games_of_other = jnp.arange(need, dtype=score.dtype) - score[1 - player]  # from now on
        num_games = jnp.where(games_of_other < 0, 2 * need, need - score[player] + games_of_other)
        return jnp.moveaxis(jnp.take(decided[:, player], num_games, axis=0, mode="fill", fill_value=0), 0, -1)

    won = final_score_probabilities(0)
    return SeriesProbabilities(jnp.sum(won, axis=-1), won, final_score_probabilities(1))


@enforce_argument_annotations
def matchup_matrix(
    system: RatingSystem | History,
    state: State = None,
    players: Any = None,
    *,
    time: Any = None,
    category: Any = None,
    params: Params = None,
) -> Array:
    """[N, N] the expected score of each player against each other one, 0.5 on the diagonal.

        jr.forecasts.matchup_matrix(rated, players=["Ada", "Bo", "Cy", "Di"])  # [4, 4]

    A draw is half a win in it, also where a bracket takes it for probabilities to win. Nobody has the side, and
    covariates are 0.

    Args:
      system: a system, or a rated history in place of system and state.
      state: the state that `jr.run` left.
      players: [N] distinct ids; of a rated history also names. None: everyone, in order of id.
      time: as of when, as in `ratings`. None: before all times, which ages nobody, since systems let no negative time
        pass.
      category: [N] integers, of each player in these matches, or [N, C] the shares of those they mix.
      params: hyperparameters, by default `system.params`.

    Raises:
      ValueError: for repeated players, bad ids or categories, or a system that predicts no expected scores.
    """
    rated = system
    system, state, names = resolve_system_state_and_players(system, state)
    query_time = parse_time_after_last_events(rated, state, time)
    if players is None:
        players = np.arange(count_players(state))
    are_named = names is not None and is_iterable(players)
    player = np.asarray([find_player_id(names, player) for player in players] if are_named else players)
    if player.ndim != 1 or len(np.unique(player)) < len(player):
        raise ValueError("players must be [N] distinct ids")
    if category is not None and np.shape(category)[:1] != player.shape:
        expected_shape = f"{player.shape}, or one row for each player"
        raise ValueError(f"category has shape {np.shape(category)}, expected {expected_shape}")
    sides = np.stack(np.triu_indices(len(player), 1), axis=1)
    category = None if category is None else np.asarray(category)[sides]
    time = -MAX_ABS_TIME if query_time is None else query_time
    prediction = predict_neutral_matches(system, state, player[sides], time, category, params=params)
    expected = expected_score_from_prediction(prediction)
    if np.shape(expected) != (len(sides),):
        raise ValueError(f"{system.name} predicts no expected scores of matches")
    return _matrix_of_pairs(len(player), expected)


@partial(jax.jit, static_argnums=0)
def _matrix_of_pairs(num_players: int, expected: Array) -> Array:
    """[N, N] from the scores of the first of each pair, row by row: one program, and not one for each operation."""
    first, second = np.triu_indices(num_players, 1)
    matrix = jnp.full((num_players, num_players), 0.5, expected.dtype)
    return matrix.at[first, second].set(expected).at[second, first].set(1.0 - expected)


@enforce_argument_annotations
def bracket_probabilities(win: Numbers, order: Any = None) -> Array:
    """Single elimination, exactly: the probability of each player to win their first r rounds.

        win = jr.forecasts.matchup_matrix(rated, players=["Ada", "Bo", "Cy", "Di"])
        jr.forecasts.bracket_probabilities(win)  # [4, 3] by rounds won

    A player wins round r by being there and beating whoever comes out of the opposite part of the bracket. That takes
    N^2 operations in all, not one for every outcome, so a thousand players are as exact as sixteen. Matches are
    independent.

    Args:
      win: [N, N] the probability of each player to beat each other one, or [R, N, N] of each round; may be traced.
        win[i, j] + win[j, i] = 1; the diagonal is not read. (`best_of(matchup_matrix(...), 5).win` is of series.)
      order: [2^R] the players as they stand in the bracket, from top to bottom, each at most once; -1 is a bye, which
        loses to every player. None: 0 to N - 1.

    Returns:
      [N, R + 1], r = 0 to R: the first column is 1, the last the probability to win the tournament. A bye counts as a
      round won. Players who are not in the order have zeros.

    Raises:
      ValueError: for an order that is no bracket, a shape that does not fit it, or concrete probabilities that are
        outside [0, 1] or do not add up.
    """
    return _exact_advancement_probabilities(*_check_bracket_input(win, order))


@jax.jit
def _exact_advancement_probabilities(win: Array, slot: Array) -> Array:
    probabilities = [jnp.ones(slot.shape, win.dtype)]
    for round_index in range(len(slot).bit_length() - 1):
        shape = -1, 2, 1 << round_index  # [matches, 2, who may play it]
        players, reach = slot.reshape(shape), probabilities[-1].reshape(shape)
        beats = _win_probability_in_round(win, round_index, players[:, :, :, None], players[:, ::-1, None, :])
        probabilities.append((reach * jnp.sum(beats * reach[:, ::-1, None, :], axis=3)).reshape(-1))
    return _scatter_to_players(jnp.stack(probabilities, axis=1), slot, win.shape[-1])


@enforce_argument_annotations
def simulate_bracket(key: Key, win: Numbers | Callable[[Any], Any], samples: int, order: Any = None) -> Array:
    """`bracket_probabilities` by simulation: how often each player won their first r rounds.

    Simulation allows uncertain strengths: a player better than believed is so in all rounds,
    which are then not independent. This is such a function, for ratings with deviations on the 400-point scale:

        rating = jr.ratings(system, state)
        def win(key):
            strength = rating.mean + rating.deviation * jax.random.normal(key, rating.mean.shape)
            return jax.nn.sigmoid((strength[:, None] - strength[None, :]) * math.log(10) / 400)

    Args:
      key: a PRNG key; tournament i has `fold_in(key, i)`, however many there are.
      win: as in `bracket_probabilities`, or a function of a key that makes it, called for every tournament.
      samples: how many tournaments; played in chunks, so that memory does not grow with them.
      order: as in `bracket_probabilities`.

    Returns:
      [N, R + 1] frequencies, of standard error sqrt(p (1 - p) / samples).

    Raises:
      ValueError: if there are no samples, or as `bracket_probabilities` does; numbers that a function makes are not
        checked.
    """
    check_count("samples", samples, 1, MAX_SAMPLES)
    if not callable(win):
        probabilities, slots = _check_bracket_input(win, order)
        return _simulate_fixed_bracket(key, probabilities, slots, int(samples), CHUNK_NUMBERS // len(slots))
    shape = jax.eval_shape(lambda k: jnp.asarray(win(k)), key).shape
    slots = _check_order(order, shape)  # (compiled anew by every call: what the function closes over may have changed)
    return _simulate_rounds_won(key, win, slots, shape[-1], int(samples), CHUNK_NUMBERS // math.prod(shape))


@partial(jax.jit, static_argnums=(3, 4))
def _simulate_fixed_bracket(key: Array, win: Array, slot: Array, samples: int, size: int) -> Array:
    return _simulate_rounds_won(key, lambda _: win, slot, win.shape[-1], samples, size)


def _simulate_rounds_won(
    key: Array, draw_probabilities: Callable[[Array], Any], slot: Array, players: int, samples: int, size: int
) -> Array:
    """Frequencies of rounds won, from simulations of `size` tournaments at a time."""
    slot, position = jnp.asarray(slot), jnp.arange(len(slot), dtype=jnp.int32)
    num_rounds = len(slot).bit_length() - 1

    def simulate_tournament(tournament_index: Array) -> Array:
        """[2^R, R + 1] whether the player of each place won their first r rounds."""
        drawing, playing = jax.random.split(jax.random.fold_in(key, tournament_index))
        win = jnp.asarray(draw_probabilities(drawing), float)

        def win_probability(upper: Array, lower: Array) -> Array:
            round_index = num_rounds - len(upper).bit_length()
            return _win_probability_in_round(win, round_index, slot[upper], slot[lower])

        remaining = play_knockout(position, jax.random.uniform(playing, slot.shape, win.dtype), win_probability)
        won = [jnp.repeat(x, len(slot) // len(x)) == position for x in remaining]
        return jnp.stack(won, axis=1).astype(jnp.int32)

    counts = sum_over_samples(simulate_tournament, samples, size)
    return _scatter_to_players(counts.astype(float) / samples, slot, players)


def play_knockout(contestants: Array, uniforms: Array, win_probability: Callable[[Array, Array], Array]) -> list[Array]:
    """The contestants [2^R] who remain after 0, 1, ..., R rounds, by random numbers [2^R]."""
    remaining = [contestants]
    while len(remaining[-1]) > 1:
        upper, lower = remaining[-1][::2], remaining[-1][1::2]
        wins, uniforms = uniforms[: len(upper)] < win_probability(upper, lower), uniforms[len(upper) :]
        remaining.append(jnp.where(wins, upper, lower))
    return remaining


def sum_over_samples(simulate_one: Callable[[Array], Any], samples: int, size: int) -> Any:
    """The sums of what `simulate_one` returns for the numbers 0, 1, ... of all samples, about `size` at a time."""
    size = max(1, min(samples, size))

    def add_chunk(total: Any, first_index: Array) -> tuple[Any, None]:
        index = first_index + jnp.arange(size, dtype=jnp.int32)
        is_counted = index < samples

        def add_counted(x: Array, y: Array) -> Array:
            return x + (is_counted.reshape(-1, *[1] * x.ndim).astype(x.dtype) * y).sum(axis=0, dtype=x.dtype)

        return jax.tree.map(add_counted, total, jax.vmap(simulate_one)(index)), None

    shapes = jax.eval_shape(simulate_one, jnp.zeros((), jnp.int32))
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    return lax.scan(add_chunk, zeros, jnp.arange(0, samples, size, dtype=jnp.int32))[0]


def _win_probability_in_round(win: Array, round_index: int, first: Array, second: Array) -> Array:
    """The probability of the first to beat the second in a round; of two byes, one half."""
    round_win = win if win.ndim == 2 else win[round_index]
    probability = round_win.at[first, second].get(mode="clip", wrap_negative_indices=False)
    against_bye = jnp.where(first < 0, 0.5, 1.0).astype(win.dtype)
    return jnp.where(second < 0, against_bye, jnp.where(first < 0, 0.0, probability))


def _scatter_to_players(values: Array, slot: Array, players: int) -> Array:
    """[players, R + 1] from [2^R, R + 1]."""
    row = jnp.where(slot < 0, players + jnp.arange(len(slot), dtype=slot.dtype), slot)
    return jnp.zeros((players, values.shape[1]), values.dtype).at[row].set(values, mode="drop", unique_indices=True)


def _check_bracket_input(win: Any, order: Any) -> tuple[Array, np.ndarray[Any, Any]]:
    """Checked probabilities, and the order."""
    probabilities = jnp.asarray(win, float)
    slot = _check_order(order, probabilities.shape)
    if not is_traced(win):
        array = np.where(np.eye(probabilities.shape[-1], dtype=bool), 0.5, np.asarray(win, np.float64))
        _check_probability("win", array)
        inconsistent = np.abs(array + np.swapaxes(array, -1, -2) - 1.0) > 1e-5
        if inconsistent.any():
            index = _first_true_index(inconsistent)
            other = array[*index[:-2], index[-1], index[-2]]
            raise ValueError(f"win{index} is {array[*index]}, of the other {other}: not 1 together")
    return probabilities, slot


def _check_order(order: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """[2^R] the players as they stand, checked against the shape of `win`."""
    if len(shape) not in (2, 3) or shape[-1] != shape[-2]:
        raise ValueError(f"win must be [N, N] or [R, N, N], got {shape}")
    slots = np.arange(shape[-1]) if order is None else np.asarray(order)
    if slots.ndim != 1 or slots.dtype.kind not in "iu" or len(slots).bit_count() != 1:
        raise ValueError(f"the order must be [2^R] ids, filled up with byes, -1; got {slots.dtype} {slots.shape}")
    fail_where((slots < -1) | (slots >= shape[-1]), lambda row: f"player {slots[row]} in the order is not in win")
    count = np.bincount(slots[slots >= 0].astype(np.int64))
    if count.max(initial=0) > 1:
        raise ValueError(f"player {np.argmax(count)} is in the order more than once")
    if len(shape) == 3 and 1 << shape[0] != len(slots):
        raise ValueError(f"a bracket of {len(slots)} has {len(slots).bit_length() - 1} rounds, but win has {shape[0]}")
    return slots.astype(np.int32)


def _check_probability(name: str, probability: Any) -> Array:
    """The probability in the default precision; ValueError if it is known and outside [0, 1]."""
    if not is_traced(probability):
        array = np.asarray(probability, np.float64)
        is_invalid = ~((array >= 0.0) & (array <= 1.0))
        if is_invalid.any():
            index = _first_true_index(is_invalid)
            raise ValueError(f"{name}{index or ''} is {array[*index]}, not in [0, 1]")
    return jnp.asarray(probability, float)


def _first_true_index(mask: Any) -> list[int]:
    """The index of the first True."""
    return [int(i) for i in np.unravel_index(np.argmax(mask), mask.shape)]
