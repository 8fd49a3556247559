"""Win probabilities of every pair of players, with or without partners, in a few numbers for each of them."""

from base64 import b64encode
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.argument_checks import check_concrete, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Params, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import matches, rounds
from jaxrate.forecasts.draw_probabilities import add_draw_probabilities_if_needed
from jaxrate.history.event_columns import contest_prediction_columns, match_prediction_columns
from jaxrate.history.history import History, resolve_system_state_and_players
from jaxrate.history.ratings_at_times import parse_time_after_last_events, ratings, resolve_category
from jaxrate.replay.checked_replay import predict
from jaxrate.systems.prediction_wrapping import expected_score_from_prediction
from jaxrate.systems.skills.settings import (
    SIDES,
    contest_prior_columns,
    contest_result_columns,
    match_prior_columns,
    match_result_columns,
)

TOLERANCE = 2.5e-4  # of a probability
SAMPLE_SIZE = 100_000  # pairs checked at a time
FIRST_SAMPLE = 10_000  # pairs of which the first terms are made
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

    Nobody has the side, and covariates are 0. Players are of the kind that they were, newcomers of the first one, and
    no new season of a league has begun. With `category="clay"` they play in that category.

    No formula of the system is needed: P - 1/2 is a skew-symmetric matrix, and since it changes smoothly with what the
    system knows of the two, nearly one of low rank. Cross approximation: the pair that is furthest off names a player,
    the player's row names the other about whom it says most, and a term is added that makes the rows of both right.
    All pairs are checked, or, where they are too many, one random sample after the other until one needs no term; the
    players at either end of the list are in it more often.

    Args:
      system: a system, or a rated history in place of system and state.
      state: the state that `jr.run` left.
      players: [N] distinct ids, best first. None: everyone. If N take too many numbers, as they may where a
        probability has a kink, the first half of them is described instead, and so on; the shape of `left` tells.
      time: as of when, as in `ratings`. None: the end of the rated history, or 0.
      category: what both meet, as the surface or the mode, by its name or number. Systems with categories need it.

    Raises:
      ValueError: for fewer than two players, if there is no such category, or as `jr.predict` does.
    """
    number = resolve_category(system, category)
    system, state, _ = resolve_system_state_and_players(rated := system, state)
    check_concrete("pairs are described", (state, players, time), "; jr.predict takes them")
    time = parse_time_after_last_events(rated, state, time)
    if time is None:
        time = (rated.last if isinstance(rated, History) else None) or 0.0
    if players is None:
        players = np.argsort(-np.asarray(ratings(system, state).mean), kind="stable")
    player = np.asarray(players)
    if player.ndim != 1 or len(player) < 2:
        raise ValueError("players must be [N] ids, of at least two")

    def predict_pair(a: HostArray, b: HostArray) -> Any:
        pair = player[np.stack([a, b], axis=1)]
        prediction = jax.tree.map(np.asarray, predict_neutral_matches(system, state, pair, time, number))
        return expected_score_from_prediction(prediction)

    return _factor_probabilities(predict_pair, len(player))


def _factor_probabilities(predict_pair: Callable[[HostArray, HostArray], Any], n: int) -> LowRankPairProbabilities:
    """The chances of all pairs of the first players of n, of as many as do not take too many numbers."""

    def probability_above_half(a: HostArray, b: HostArray) -> HostArray:
        return np.asarray(predict_pair(a, b), np.float64) - 0.5

    while (factors := cross_approximation(probability_above_half, n)) is None:
        n = (n + 1) // 2
    return factors


def predict_neutral_matches(
    system: RatingSystem,
    state: State,
    pairs: HostArray,
    time: Any,
    category: Any = None,
    side: float | None = None,
    params: Params = None,
) -> Any:
    """The predictions of matches [n, 2] at a time: nobody has the side, or as `side` says; covariates are 0.

    `category` is what both meet, or [n, 2] what each meets.
    """
    n, zero = len(pairs), np.zeros(len(pairs))
    if system.settings.get("kinds") == (SIDES,):  # any two may meet, each of the kind that they are
        system = system.make(**system.params._asdict(), kinds=("kind",))
    has_side = side is not None or needs_sides(system)
    sides = zero + (side or 0.0) if has_side else None
    category = np.full((n, 2), category) if np.ndim(category) == 0 and category is not None else category
    coming = matches(pairs, zero + 0.5, zero + time, side=sides, category=category)
    names = *match_prior_columns(system.settings), *match_result_columns(system.settings)
    return predict(system, state, fill_missing_columns(coming, names), params=params)


def fill_missing_columns(events: Any, names: Iterable[str]) -> Any:
    """`Matches` or `Ragged` rounds to come, with 0 in those columns of these names that they lack."""
    flat, columns = events.flat, events.columns
    zero = {name: np.zeros(len(flat.player)) for name in names if name not in columns}
    filled = {**zero, **columns} or None
    replaced = {"columns": filled} if events.nouns == "contests" else {"context": flat.context._replace(columns=filled)}
    return events.with_flat(flat._replace(**replaced))


def needs_sides(system: RatingSystem) -> bool:
    """Whether matches of the system must say who has the side."""
    return bool(system.settings.get("own_side") or system.settings.get("own_parts"))


def predict_shares_of_teams(
    system: RatingSystem, state: State, players: HostArray, team: HostArray, time: float, category: Any
) -> HostArray:
    """[n, P] the shares of the other teams to be beaten by players [n, P] of teams [P], in contests at a time."""
    n, size = players.shape
    category = None if category is None else np.full(n * size, category)
    contest, team, time_of_row = np.repeat(np.arange(n), size), np.tile(team, n), np.full(n * size, time)
    coming = rounds(contest, players.ravel(), team, team=team, time=time_of_row, category=category)
    names = *contest_prior_columns(system.settings), *contest_result_columns(system.settings)
    coming = fill_missing_columns(coming, names)
    share = contest_prediction_columns(predict(system, state, coming), coming)["prediction"]
    return np.asarray(share).reshape(n, size)


def cross_approximation(matrix_entry: Any, n: int, *, skew: bool = True) -> LowRankPairProbabilities | None:
    """The factors of a matrix [n, n] of which a function returns entries: left, right and scale; None if too many.

    Element (a, b) is sum_k scale[k] left[k, a] right[k, b]. If the matrix is skew, so that it is 0 on the diagonal and
    the function is not asked for that, left and right are also exchanged and subtracted.
    """
    random, all_indices = np.random.default_rng(0), np.arange(n)
    left, right, scale = np.zeros((0, n)), np.zeros((0, n)), np.zeros(0)

    def outer_terms(x: HostArray, y: HostArray, a: HostArray, b: HostArray) -> HostArray:
        return x[..., a] * y[..., b] - skew * (y[..., a] * x[..., b])

    def residual(a: HostArray, b: HostArray) -> HostArray:
        is_zero = skew & (a == b)
        entry = np.where(is_zero, 0.0, matrix_entry(a, np.where(is_zero, (b + 1) % n, b)))
        return np.asarray(entry - scale @ outer_terms(left, right, a, b))

    num_checked, size = -1, FIRST_SAMPLE
    while num_checked < len(scale) or size < SAMPLE_SIZE:  # the last sample needed one, or was the first
        num_checked, size = len(scale), FIRST_SAMPLE if num_checked < 0 else SAMPLE_SIZE
        if n * (n - 1) // 2 <= SAMPLE_SIZE:
            a, b = np.triu_indices(n, 1) if skew else np.divmod(np.arange(n * n), n)
        else:
            a, b = (random.beta(0.5, 0.5, (2, size)) * n).astype(np.int64)
        sample_residual = residual(a, b)
        while np.abs(sample_residual).max() > TOLERANCE:
            if 2 * n * (len(scale) + 1) > MAX_NUMBERS:
                return None
            first_line = residual(np.full(n, a[np.argmax(np.abs(sample_residual))]), all_indices)
            pivot = np.argmax(np.abs(first_line))
            pivots = np.full(n, pivot)
            if skew:
                u, v = first_line, residual(pivots, all_indices)
            else:
                u, v = residual(all_indices, pivots), first_line
            scales = np.abs(u).max() / INT16_MAX, np.abs(v).max() / INT16_MAX
            x, y, c = np.rint(u / scales[0]), np.rint(v / scales[1]), scales[0] * scales[1] / first_line[pivot]
            left, right, scale = np.vstack([left, x]), np.vstack([right, y]), np.append(scale, c)
            sample_residual -= c * outer_terms(x, y, a, b)
    return LowRankPairProbabilities(left.astype(np.int16), right.astype(np.int16), scale)


class EqualPartners(NamedTuple):
    """Whom each of two players has in their team: so many, all as strong as one player of the history."""

    number: int  # at least 1
    model: int  # the id of that player


def typical_team_size(rated: History) -> int:
    """How many members most teams of a history have; the smaller number if two are as frequent, and 1 without teams."""
    table = rated.events
    team = table.get("team", np.zeros(len(table["event"]))).astype(np.int64)
    _, members = np.unique(np.stack([table["event"], team])[:, team > 0], axis=1, return_counts=True)
    return int(np.argmax(np.bincount(members))) if len(members) else 1


def predict_pairs_with_partners(
    rated: History, players: HostArray, partners: EqualPartners, category: Any
) -> LowRankPairProbabilities:
    """The chances of each pair of players [N], each in a team with equal partners, at the end of the history."""
    count, size = len(rated.players), 1 + partners.number

    def add_partners(leaf: Any) -> HostArray:
        rows = np.asarray(leaf)
        return np.concatenate([rows, np.repeat(rows[partners.model][None], 2 * partners.number, axis=0)])

    state = jax.tree.map(add_partners, rated.state)
    others = count + np.arange(2 * partners.number).reshape(2, -1)
    team, time, number = np.repeat([0, 1], size), rated.last or 0.0, resolve_category(rated, category)

    def predict_pair(a: HostArray, b: HostArray) -> HostArray:
        sides = [np.column_stack([players[x], np.tile(y, (len(a), 1))]) for x, y in zip((a, b), others, strict=True)]
        return predict_shares_of_teams(rated.system, state, np.hstack(sides), team, time, number)[:, 0]

    return _factor_probabilities(predict_pair, len(players))


MAX_CATEGORIES = 6  # of pages, which take a table of each


class MatchupTables(NamedTuple):
    """Predictions for every two players, as factors from `cross_approximation`."""

    even: LowRankPairProbabilities  # nobody has the side
    draw: LowRankPairProbabilities | None = None  # the probability of a draw; None without, or with too many numbers
    home: LowRankPairProbabilities | None = None  # the expected score of a, who has the side; None if none matters
    home_draw: LowRankPairProbabilities | None = None  # the chance of a draw then


def build_matchup_tables_by_category(
    rated: History, players: HostArray, partners: EqualPartners | None = None
) -> dict[Any, MatchupTables]:
    """The tables of each category that both players meet, by its name; of a history without categories that of None.

    With `partners` they are those of teams. Empty for a single player, and for more than `MAX_CATEGORIES`.
    """
    categories = [None] if rated.categories is None else rated.categories.tolist()
    if len(players) < 2 or len(categories) > MAX_CATEGORIES:
        return {}
    if partners is None:
        return {name: build_matchup_tables(rated, players, name) for name in categories}
    return {name: MatchupTables(predict_pairs_with_partners(rated, players, partners, name)) for name in categories}


def build_matchup_tables(rated: History, players: HostArray, category: Any = None) -> MatchupTables:
    """The tables for matches of these players [N], best first, in a category, at the end of the history."""
    even = predict_pairs(rated, players=players, category=category)
    number = resolve_category(rated, category)
    players = np.asarray(players)[: even.left.shape[1]]
    has_side = bool(getattr(rated.system.params, "side_advantage", 0.0)) or bool(rated.system.settings.get("own_side"))
    system = rated.system if not rated.of_matches else add_draw_probabilities_if_needed(rated, rated.system)
    has_draws = system is not rated.system or "draw" in rated.events
    state = jax.tree.map(lambda x: np.concatenate([np.asarray(x)] * 2), rated.state)  # so that equals can meet

    def factor_column(column: str, side: float) -> LowRankPairProbabilities | None:
        def predict_column(a: HostArray, b: HostArray) -> HostArray:
            pairs = np.stack([players[a], players[b] + len(rated.players)], axis=1)
            prediction = predict_neutral_matches(system, state, pairs, rated.last or 0.0, number, side=side)
            return np.asarray(match_prediction_columns(prediction)[column], np.float64)

        return cross_approximation(predict_column, len(players), skew=False)

    return MatchupTables(
        even,
        factor_column("draw", 0.0) if has_draws else None,
        factor_column("prediction", 1.0) if has_side else None,
        factor_column("draw", 1.0) if has_side and has_draws else None,
    )


def encode_matchup_tables(tables: MatchupTables) -> dict[str, Any]:
    """The tables in JSON, for the scripts of pages."""

    def encode(table: LowRankPairProbabilities) -> dict[str, Any]:
        left, right = (b64encode(x.astype("<i2").tobytes()).decode() for x in table[:2])
        return {"players": table.left.shape[1], "scale": table.scale.tolist(), "left": left, "right": right}

    return {name: table and encode(table) for name, table in tables._asdict().items()}
