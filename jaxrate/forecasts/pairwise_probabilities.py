"""Win probabilities of every pair of players, in a few numbers for each of them."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.argument_checks import check_arguments, check_concrete
from jaxrate.events import Matches, matches
from jaxrate.league.query_time import parse_time_after_end
from jaxrate.league.rated_history import Rated, unpack_rated
from jaxrate.league.ratings_at_times import ratings
from jaxrate.replay.event_prediction import predict
from jaxrate.system import RatingSystem, State
from jaxrate.systems.outcome_probabilities import expected_score
from jaxrate.types import HostArray

TOLERANCE = 2.5e-4  # of a probability
SAMPLE_SIZE = 100_000  # pairs that are checked at a time
ROOM = 1_500_000  # numbers that a description may have
INT16_MAX = np.iinfo(np.int16).max


class Pairs(NamedTuple):
    """P(a beats b), a draw half a win: 1/2 + sum_k scale[k] (left[k, a] right[k, b] - right[k, a] left[k, b])."""

    left: HostArray  # [K, N] 16-bit integers
    right: HostArray  # [K, N]
    scale: HostArray  # [K]

    def probability(self, a: Any, b: Any) -> HostArray:
        """[...] of the first [...] to beat the second [...], who are numbered as `pairs` was given them."""
        a, b = np.broadcast_arrays(a, b)
        left, right = self.left.astype(float), self.right.astype(float)
        return np.asarray(0.5 + self.scale @ (left[:, a] * right[:, b] - right[:, a] * left[:, b]))


@check_arguments
def predict_pairs(system: RatingSystem | Rated, state: State = None, players: Any = None, *, time: Any = None) -> Pairs:
    """What the system predicts of every two of these players, off by at most 0.00025 wherever that was checked.

        jr.forecasts.predict_pairs(rated, time="2026-01-01")

    Nobody has the side, and covariates are 0.

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

    Raises:
      ValueError: for fewer than two players, or as `jr.predict` does.
    """
    system, state, names = unpack_rated(rated := system, state)
    check_concrete("pairs are described", (state, players, time), "; jr.predict takes them")
    time = parse_time_after_end(rated, state, time, names)
    if time is None:
        time = (rated.last if isinstance(rated, Rated) else None) or 0.0
    if players is None:
        players = np.argsort(-np.asarray(ratings(system, state).mean), kind="stable")
    player = np.asarray(players)
    if player.ndim != 1 or len(player) < 2:
        raise ValueError("players must be [N] ids, of at least two")

    def beyond_half(a: HostArray, b: HostArray) -> HostArray:
        pair = player[np.stack([a, b], axis=1)]
        coming = matches(pair, np.full(len(a), 0.5), np.full(len(a), time), **neutral_context(system, len(a)))
        guess = predict(system, state, coming)
        return np.asarray(expected_score(guess), np.float64) - 0.5

    while (factors := cross_approximation(beyond_half, len(player))) is None:
        player = player[: (len(player) + 1) // 2]
    return Pairs(*factors)


def _outcome_columns(system: RatingSystem) -> tuple[str, ...]:
    """The columns of the margins and statistics that `skills` learns from."""
    margin = system.settings.get("margin", ()) if system.settings.get("outcome") == "margin" else ()
    return (*margin, *system.settings.get("statistics", ()))


def fill_missing_margins(system: RatingSystem, matches: Matches) -> Matches:
    """Matches with margins of 0 where they are to come and have none; no prediction depends on them."""
    columns = matches.context.columns or {}
    zero = {name: np.zeros(len(matches.score)) for name in _outcome_columns(system) if name not in columns}
    return matches._replace(context=matches.context._replace(columns={**columns, **zero} or None))


def neutral_context(system: RatingSystem, n: int) -> dict[str, Any]:
    """What else `skills` must be told of n matches: no side, covariates of 0, and margins that are to come."""
    settings, zero = system.settings, np.zeros(n)
    names = (*settings.get("covariates", ()), *_outcome_columns(system))
    side = {"side": zero} if settings.get("own_side") else {}
    return side | ({"columns": dict.fromkeys(names, zero)} if names else {})


def cross_approximation(
    matrix_entry: Any, n: int, *, skew: bool = True
) -> tuple[HostArray, HostArray, HostArray] | None:
    """The terms of a matrix [n, n] whose elements a function gives: left, right and scale; None if they are too many.

    Element (a, b) is sum_k scale[k] left[k, a] right[k, b]. If the matrix is skew, so that it is 0 on the diagonal and
    the function is not asked for that, left and right are also exchanged and subtracted.
    """
    random, everybody = np.random.default_rng(0), np.arange(n)
    left, right, scale = np.zeros((0, n)), np.zeros((0, n)), np.zeros(0)

    def terms(x: HostArray, y: HostArray, a: HostArray, b: HostArray) -> HostArray:
        return x[..., a] * y[..., b] - (y[..., a] * x[..., b] if skew else 0.0)

    def missing(a: HostArray, b: HostArray) -> HostArray:
        return np.asarray(matrix_entry(a, b) - scale @ terms(left, right, a, b))

    def row(one: Any, turned: bool = False) -> HostArray:
        """The row of one of them, or the column."""
        other = np.where(everybody == one, (one + 1) % n, everybody) if skew else everybody
        found = missing(*((other, np.full(n, one)) if turned else (np.full(n, one), other)))
        return np.where(everybody == one, 0.0, found) if skew else found

    known = -1
    while known < len(scale):  # the last sample needed one
        known = len(scale)
        if n * (n - 1) // 2 <= SAMPLE_SIZE:
            a, b = np.triu_indices(n, 1) if skew else np.divmod(np.arange(n * n), n)
        else:
            a, b = (random.beta(0.5, 0.5, (2, SAMPLE_SIZE)) * n).astype(np.int64)
            b = np.where(skew & (a == b), (a + 1) % n, b)
        rest = missing(a, b)
        while np.abs(rest).max() > TOLERANCE:
            if 2 * n * (len(scale) + 1) > ROOM:
                return None
            first = row(a[np.argmax(np.abs(rest))])
            at = np.argmax(np.abs(first))
            second = row(at, turned=not skew)
            u, v = (first, second) if skew else (second, first)
            high = np.abs(u).max() / INT16_MAX, np.abs(v).max() / INT16_MAX
            x, y, c = np.rint(u / high[0]), np.rint(v / high[1]), high[0] * high[1] / first[at]
            left, right, scale = np.vstack([left, x]), np.vstack([right, y]), np.append(scale, c)
            rest -= c * terms(x, y, a, b)
    return left.astype(np.int16), right.astype(np.int16), scale
