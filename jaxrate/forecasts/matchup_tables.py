"""Tables of predictions for every two players of a rated history: expected scores and draws, with and without sides."""

from base64 import b64encode
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import matches
from jaxrate.forecasts.draw_probabilities import add_draw_probabilities_if_needed
from jaxrate.forecasts.matchups_with_partners import Partners, predict_pairs_with_partners
from jaxrate.forecasts.pairwise_probabilities import (
    LowRankPairProbabilities,
    cross_approximation,
    neutral_match_arguments,
    predict_pairs,
)
from jaxrate.history.event_columns import match_prediction_columns
from jaxrate.history.history import History
from jaxrate.history.ratings_at_times import category_number
from jaxrate.replay.event_prediction import predict

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
