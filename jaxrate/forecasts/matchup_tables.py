"""Predictions for every two players, with or without partners, in few numbers."""

from base64 import b64encode
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import matches, rounds
from jaxrate.forecasts.draw_probabilities import add_draw_probabilities_if_needed
from jaxrate.forecasts.pairwise_probabilities import (
    LowRankPairProbabilities,
    cross_approximation,
    fill_result_columns,
    neutral_match_arguments,
    predict_pairs,
)
from jaxrate.history.event_columns import contest_prediction_columns, match_prediction_columns
from jaxrate.history.history import History
from jaxrate.history.ratings_at_times import category_number
from jaxrate.replay.event_prediction import predict
from jaxrate.systems.skills.settings_and_event_checks import contest_prior_columns


class Partners(NamedTuple):
    """Whom each of two players has in their team: so many, all as strong as one player of the history."""

    number: int  # at least 1
    model: int  # the id of that player


def typical_team_size(rated: History) -> int:
    """How many members most teams of a history have; the smaller number if two are as frequent, and 1 without teams."""
    table = rated.events
    if rated.contests is None or "team" not in table:
        return 1
    team = table["team"].astype(np.int64)
    known = team > 0
    if not known.any():
        return 1
    _, members = np.unique(np.stack([table["event"], team])[:, known], axis=1, return_counts=True)
    return int(np.argmax(np.bincount(members)))


def predict_pairs_with_partners(
    rated: History, players: HostArray, partners: Partners, category: int | None
) -> LowRankPairProbabilities:
    """The chances of each pair of players [N], each in a team with equal partners, at the end of the history.

    The state holds the partners besides everybody.
    """
    count, size = len(rated.players), 1 + partners.number

    def add_partners(leaf: Any) -> HostArray:
        rows = np.asarray(leaf)
        return np.concatenate([rows, np.repeat(rows[partners.model][None], 2 * partners.number, axis=0)])

    state = jax.tree.map(add_partners, rated.state)
    others = count + np.arange(2 * partners.number).reshape(2, -1)
    player, settings = np.asarray(players), rated.system.settings
    rank = np.repeat([0, 1], size)

    def probability_above_half(a: HostArray, b: HostArray) -> HostArray:
        n = len(a)
        sides = [np.column_stack([player[x], np.tile(y, (n, 1))]) for x, y in zip((a, b), others, strict=True)]
        zeros = {name: np.zeros(2 * size * n) for name in contest_prior_columns(settings)}
        upcoming = rounds(
            np.repeat(np.arange(n), 2 * size),
            np.concatenate(sides, axis=1).ravel(),
            np.tile(rank, n),
            team=np.tile(rank, n),
            time=np.full(2 * size * n, rated.last or 0.0),
            category=None if category is None else np.full(2 * size * n, category),
            columns=zeros or None,
        )
        prediction = predict(rated.system, state, fill_result_columns(rated.system, upcoming))
        share: Any = contest_prediction_columns(prediction, upcoming)["prediction"]
        return np.asarray(share, np.float64)[:: 2 * size] - 0.5

    while (factors := cross_approximation(probability_above_half, len(player))) is None:
        player = player[: (len(player) + 1) // 2]
    return LowRankPairProbabilities(*factors)


MAX_CATEGORIES = 6  # of pages, which take a table of each


class MatchupTables(NamedTuple):
    """Predictions for every two players, as factors from `cross_approximation`."""

    even: LowRankPairProbabilities  # nobody has the side
    draw: LowRankPairProbabilities | None  # the probability of a draw; None if there are none, or too many numbers
    home: LowRankPairProbabilities | None  # the expected score of a, who has the side; None if sides do not matter
    home_draw: LowRankPairProbabilities | None  # the chance of a draw then


def build_matchup_tables_by_category(
    rated: History, players: HostArray, partners: Partners | None = None
) -> dict[Any, MatchupTables]:
    """The tables of each category that both players meet, by its name; of a history without categories that of None.

    With `partners` they are those of teams. Empty for a single player, and for more than `MAX_CATEGORIES`.
    """
    categories = [None] if rated.categories is None else rated.categories.tolist()
    if len(players) < 2 or len(categories) > MAX_CATEGORIES:
        return {}
    if partners is not None:
        numbers = [None if x is None else category_number(rated, x) for x in categories]
        even = [predict_pairs_with_partners(rated, players, partners, x) for x in numbers]
        return {name: MatchupTables(x, None, None, None) for name, x in zip(categories, even, strict=True)}
    return {category: build_matchup_tables(rated, players, category) for category in categories}


def build_matchup_tables(rated: History, players: HostArray, category: Any = None) -> MatchupTables:
    """The tables for matches of these players [N], best first, in a category, at the end of the history."""
    even = predict_pairs(rated, players=players, category=category)
    number = None if category is None else category_number(rated, category)
    player = np.asarray(players)[: even.left.shape[1]]
    has_side = bool(getattr(rated.system.params, "side_advantage", 0.0)) or bool(rated.system.settings.get("own_side"))
    system = rated.system if rated.contests is not None else add_draw_probabilities_if_needed(rated, rated.system)
    has_draws, rated_with_draws = (
        system is not rated.system or "draw" in rated.events,
        rated._replace(system=system),
    )
    return MatchupTables(
        even,
        _predict_column_for_all_pairs(rated_with_draws, player, number, "draw", 0.0) if has_draws else None,
        _predict_column_for_all_pairs(rated_with_draws, player, number, "prediction", 1.0) if has_side else None,
        _predict_column_for_all_pairs(rated_with_draws, player, number, "draw", 1.0)
        if has_side and has_draws
        else None,
    )


def _predict_column_for_all_pairs(
    rated: History, player: HostArray, category: int | None, column: str, side: float
) -> LowRankPairProbabilities | None:
    """A column of the predictions of all matches of two players; None if it takes too many numbers.

    The state holds everybody twice, so that the diagonal is that of equals.
    """
    count = len(rated.players)
    state = jax.tree.map(lambda x: np.concatenate([np.asarray(x)] * 2), rated.state)

    def predict_column(a: Any, b: Any) -> Any:
        n = len(a)
        context = neutral_match_arguments(rated.system, n, category) | {"side": np.full(n, side)}
        upcoming = matches(
            np.stack([player[a], player[b] + count], axis=1), np.full(n, 0.5), np.full(n, rated.last or 0.0), **context
        )
        columns = match_prediction_columns(predict(rated.system, state, upcoming, num_players=2 * count))
        return np.asarray(columns[column], np.float64)

    packed_pairs = cross_approximation(predict_column, len(player), skew=False)
    return None if packed_pairs is None else LowRankPairProbabilities(*packed_pairs)


def encode_matchup_tables(tables: MatchupTables) -> dict[str, Any]:
    """The tables in JSON, for the scripts of pages."""
    return {name: None if x is None else _encode_pair_probabilities(x) for name, x in tables._asdict().items()}


def _encode_pair_probabilities(table: LowRankPairProbabilities) -> dict[str, Any]:
    left, right = (b64encode(x.astype("<i2").tobytes()).decode() for x in table[:2])
    return {"players": table.left.shape[1], "scale": table.scale.tolist(), "left": left, "right": right}
