"""What a rated history expects of any two players who meet next: with draws, and with the side or without."""

from base64 import b64encode
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.events import matches
from jaxrate.forecasts.pairwise_probabilities import Pairs, cross_approximation, neutral_context, predict_pairs
from jaxrate.forecasts.upcoming_events import add_draw_model
from jaxrate.league.prediction_columns import match_prediction_columns
from jaxrate.league.rated_history import Rated
from jaxrate.replay.event_prediction import predict
from jaxrate.types import HostArray


class MatchupTables(NamedTuple):
    """Expected scores of any two, and what else is known of them: element (a, b) of tables as `cross` makes them."""

    even: Pairs  # nobody has the side
    draw: Pairs | None  # the chance of a draw, as of `fixtures`; None if there are none, or too many numbers
    home: Pairs | None  # the expected score of a, who has the side; None if sides do not matter
    home_draw: Pairs | None  # the chance of a draw then


def build_matchup_tables(rated: Rated, players: HostArray) -> MatchupTables:
    """What is expected at the end of the history of every two of these players [N], best first."""
    even = predict_pairs(rated, players=players)
    player = np.asarray(players)[: even.left.shape[1]]
    sided = bool(getattr(rated.system.params, "side_advantage", 0.0)) or bool(rated.system.settings.get("own_side"))
    system = rated.system if rated.contests is not None else add_draw_model(rated, rated.system)
    full, rated_with_draws = (
        system is not rated.system or "draw" in rated.predictions.column_names,
        rated._replace(system=system),
    )
    return MatchupTables(
        even,
        _matchup_table(rated_with_draws, player, "draw", 0.0) if full else None,
        _matchup_table(rated_with_draws, player, "prediction", 1.0) if sided else None,
        _matchup_table(rated_with_draws, player, "draw", 1.0) if sided and full else None,
    )


def _matchup_table(rated: Rated, player: HostArray, column: str, side: float) -> Pairs | None:
    """A column of the predictions of all matches of two; None if it takes too many numbers.

    Everybody is there twice, so that the diagonal is that of equals.
    """
    count = len(rated.players)
    state = jax.tree.map(lambda x: np.concatenate([np.asarray(x)] * 2), rated.state)

    def values(a: Any, b: Any) -> Any:
        n = len(a)
        context = neutral_context(rated.system, n) | {"side": np.full(n, side)}
        coming = matches(
            np.stack([player[a], player[b] + count], axis=1), np.full(n, 0.5), np.full(n, rated.last or 0.0), **context
        )
        columns = match_prediction_columns(predict(rated.system, state, coming, num_players=2 * count))
        return np.asarray(columns[column], np.float64)

    packed_pairs = cross_approximation(values, len(player), skew=False)
    return None if packed_pairs is None else Pairs(*packed_pairs)


def encode_matchup_tables(tables: MatchupTables) -> dict[str, Any]:
    """The same as JSON, for the scripts of pages."""
    return {name: None if x is None else _encode_pairs(x) for name, x in tables._asdict().items()}


def _encode_pairs(table: Pairs) -> dict[str, Any]:
    left, right = (b64encode(x.astype("<i2").tobytes()).decode() for x in table[:2])
    return {"players": table.left.shape[1], "scale": table.scale.tolist(), "left": left, "right": right}
