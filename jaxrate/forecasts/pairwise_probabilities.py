"""Win probabilities of every pair of players, in a few numbers for each of them."""

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.argument_checks import check_concrete, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.events import matches
from jaxrate.history.history import History, resolve_system_state_and_players
from jaxrate.history.ratings_at_times import category_number, parse_time_after_last_events, ratings
from jaxrate.replay.event_prediction import predict
from jaxrate.systems.prediction_wrapping import expected_score_from_prediction
from jaxrate.systems.skills.settings_and_event_checks import contest_result_columns, match_result_columns

TOLERANCE = 2.5e-4  # of a probability
SAMPLE_SIZE = 100_000  # pairs checked at a time
MAX_NUMBERS = 1_500_000  # most numbers of the factors
INT16_MAX = np.iinfo(np.int16).max


class LowRankPairProbabilities(NamedTuple):
    """P(a beats b), a draw half a win: 1/2 + sum_k scale[k] (left[k, a] right[k, b] - right[k, a] left[k, b])."""

    left: HostArray  # [K, N] 16-bit integers
    right: HostArray  # [K, N]
    scale: HostArray  # [K]

    def probability(self, a: Any, b: Any) -> HostArray:
        """[...] of the first [...] to beat the second [...], numbered as in `predict_pairs`."""
        a, b = np.broadcast_arrays(a, b)
        left, right = self.left.astype(float), self.right.astype(float)
        return np.asarray(0.5 + self.scale @ (left[:, a] * right[:, b] - right[:, a] * left[:, b]))

    def ordered_value(self, a: Any, b: Any) -> HostArray:
        """[...] of pairs in which order matters, as of a side: sum_k scale[k] left[k, a] right[k, b]."""
        a, b = np.broadcast_arrays(a, b)
        return np.asarray(self.scale @ (self.left.astype(float)[:, a] * self.right.astype(float)[:, b]))


@enforce_argument_annotations
def predict_pairs(
    system: RatingSystem | History, state: State = None, players: Any = None, *, time: Any = None, category: Any = None
) -> LowRankPairProbabilities:
    """The predictions for every two of these players, off by at most 0.00025 wherever that was checked.

        jr.forecasts.predict_pairs(rated, time="2026-01-01")

    Nobody has the side, and covariates are 0. With `category="clay"` they play in that category.

    No formula of the system is needed: P - 1/2 is a skew-symmetric matrix, and since it changes smoothly with what the
    system knows of the two, nearly one of low rank. Cross approximation: the pair that is furthest off names a player,
    the player's row names the other about whom it says most, and a term is added that makes the rows of both right.
    All pairs are checked, or, where they are too many, one random sample after the other until one needs no term; the
    players at either end of the list are in it more often.

    Args:
      system, state: as in `jr.predict`; or a rated history in place of both.
      players: [N] distinct ids, best first. None: everyone. If N take too many numbers, as they may where a
        probability has a kink, the first half of them is described instead, and so on; the shape of `left` tells.
      time: as of when, as in `ratings`. None: the end of the rated history, or 0.
      category: what both meet, as the surface or the mode, by its name or number. Systems with categories need it.

    Raises:
      ValueError: for fewer than two players, if there is no such category, or as `jr.predict` does.
    """
    number = None if category is None else category_number(system, category)
    system, state, names = resolve_system_state_and_players(rated := system, state)
    check_concrete("pairs are described", (state, players, time), "; jr.predict takes them")
    time = parse_time_after_last_events(rated, state, time, names)
    if time is None:
        time = (rated.last if isinstance(rated, History) else None) or 0.0
    if players is None:
        players = np.argsort(-np.asarray(ratings(system, state).mean), kind="stable")
    player = np.asarray(players)
    if player.ndim != 1 or len(player) < 2:
        raise ValueError("players must be [N] ids, of at least two")

    def probability_above_half(a: HostArray, b: HostArray) -> HostArray:
        pair = player[np.stack([a, b], axis=1)]
        neutral = neutral_match_arguments(system, len(a), number)
        upcoming = matches(pair, np.full(len(a), 0.5), np.full(len(a), time), **neutral)
        prediction = jax.tree.map(np.asarray, predict(system, state, upcoming))
        return np.asarray(expected_score_from_prediction(prediction), np.float64) - 0.5

    while (factors := cross_approximation(probability_above_half, len(player))) is None:
        player = player[: (len(player) + 1) // 2]
    return LowRankPairProbabilities(*factors)


def fill_result_columns(system: RatingSystem, events: Any) -> Any:
    """`Matches` or `Ragged` rounds to come, with 0 where their results will say more; no prediction depends on it."""
    columns, names, flat = events.columns, contest_result_columns(system.settings), events.flat
    zero = {name: np.zeros(len(flat.player)) for name in names if name not in columns}
    filled = columns | zero or None
    context = getattr(flat, "context", None)
    replaced = {"columns": filled} if context is None else {"context": context._replace(columns=filled)}
    return events.with_flat(flat._replace(**replaced))


def neutral_match_arguments(system: RatingSystem, n: int, category: int | None = None) -> dict[str, Any]:
    """Further arguments of `matches` for n neutral matches: no side, covariates and margins of 0, and the category."""
    settings, zero = system.settings, np.zeros(n)
    names = (*settings.get("covariates", ()), *match_result_columns(settings))
    side = {"side": zero} if settings.get("own_side") else {}
    met = {} if category is None else {"category": np.full((n, 2), category)}
    return side | met | ({"columns": dict.fromkeys(names, zero)} if names else {})


def cross_approximation(
    matrix_entry: Any, n: int, *, skew: bool = True
) -> tuple[HostArray, HostArray, HostArray] | None:
    """The factors of a matrix [n, n] of which a function returns entries: left, right and scale; None if too many.

    Element (a, b) is sum_k scale[k] left[k, a] right[k, b]. If the matrix is skew, so that it is 0 on the diagonal and
    the function is not asked for that, left and right are also exchanged and subtracted.
    """
    random, all_indices = np.random.default_rng(0), np.arange(n)
    left, right, scale = np.zeros((0, n)), np.zeros((0, n)), np.zeros(0)

    def outer_terms(x: HostArray, y: HostArray, a: HostArray, b: HostArray) -> HostArray:
        return x[..., a] * y[..., b] - (y[..., a] * x[..., b] if skew else 0.0)

    def residual(a: HostArray, b: HostArray) -> HostArray:
        return np.asarray(matrix_entry(a, b) - scale @ outer_terms(left, right, a, b))

    def residual_line(index: Any, is_column: bool = False) -> HostArray:
        """The residual of a row, or of a column."""
        other_index = np.where(all_indices == index, (index + 1) % n, all_indices) if skew else all_indices
        values = residual(*((other_index, np.full(n, index)) if is_column else (np.full(n, index), other_index)))
        return np.where(all_indices == index, 0.0, values) if skew else values

    num_checked = -1
    while num_checked < len(scale):  # the last sample needed one
        num_checked = len(scale)
        if n * (n - 1) // 2 <= SAMPLE_SIZE:
            a, b = np.triu_indices(n, 1) if skew else np.divmod(np.arange(n * n), n)
        else:
            a, b = (random.beta(0.5, 0.5, (2, SAMPLE_SIZE)) * n).astype(np.int64)
            b = np.where(skew & (a == b), (a + 1) % n, b)
        sample_residual = residual(a, b)
        while np.abs(sample_residual).max() > TOLERANCE:
            if 2 * n * (len(scale) + 1) > MAX_NUMBERS:
                return None
            first_line = residual_line(a[np.argmax(np.abs(sample_residual))])
            pivot = np.argmax(np.abs(first_line))
            second_line = residual_line(pivot, is_column=not skew)
            u, v = (first_line, second_line) if skew else (second_line, first_line)
            scales = np.abs(u).max() / INT16_MAX, np.abs(v).max() / INT16_MAX
            x, y, c = np.rint(u / scales[0]), np.rint(v / scales[1]), scales[0] * scales[1] / first_line[pivot]
            left, right, scale = np.vstack([left, x]), np.vstack([right, y]), np.append(scale, c)
            sample_residual -= c * outer_terms(x, y, a, b)
    return left.astype(np.int16), right.astype(np.int16), scale
