"""What a rated history expects of any two players who meet next: with draws, and with the side or without."""

from base64 import b64encode
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.data.tables import Values
from jaxrate.events import matches
from jaxrate.records.fixtures import with_draws
from jaxrate.records.outlooks import of_matches
from jaxrate.records.pairs import Pairs, cross, on_even_terms, pairs
from jaxrate.records.rated import Rated
from jaxrate.replay.run import predict


class Duels(NamedTuple):
    """Expected scores of any two, and what else is known of them: element (a, b) of tables as `cross` makes them."""

    even: Pairs  # nobody has the side
    draw: Pairs | None  # the chance of a draw, as of `fixtures`; None if there are none, or too many numbers
    home: Pairs | None  # the expected score of a, who has the side; None if sides do not matter
    home_draw: Pairs | None  # the chance of a draw then


def duels(rated: Rated, players: Values) -> Duels:
    """What is expected at the end of the history of every two of these players [N], best first."""
    even = pairs(rated, players=players)
    player = np.asarray(players)[: even.left.shape[1]]
    sided = bool(getattr(rated.system.params, "side_advantage", 0.0)) or bool(rated.system.settings.get("own_side"))
    system = rated.system if rated.contests is not None else with_draws(rated, rated.system)
    full, told = system is not rated.system or "draw" in rated.predictions.column_names, rated._replace(system=system)
    return Duels(
        even,
        _table(told, player, "draw", 0.0) if full else None,
        _table(told, player, "prediction", 1.0) if sided else None,
        _table(told, player, "draw", 1.0) if sided and full else None,
    )


def _table(rated: Rated, player: Values, column: str, side: float) -> Pairs | None:
    """A column of the predictions of all matches of two; None if it takes too many numbers.

    Everybody is there twice, so that the diagonal is that of equals.
    """
    count = len(rated.players)
    state = jax.tree.map(lambda x: np.concatenate([np.asarray(x)] * 2), rated.state)

    def values(a: Any, b: Any) -> Any:
        n = len(a)
        given = on_even_terms(rated.system, n) | {"side": np.full(n, side)}
        coming = matches(
            np.stack([player[a], player[b] + count], axis=1), np.full(n, 0.5), np.full(n, rated.last or 0.0), **given
        )
        found = of_matches(predict(rated.system, state, coming, num_players=2 * count))
        return np.asarray(found[column], np.float64)

    found = cross(values, len(player), skew=False)
    return None if found is None else Pairs(*found)


def packed(found: Duels) -> dict[str, Any]:
    """The same as JSON, for the scripts of pages."""
    return {name: None if x is None else _packed(x) for name, x in found._asdict().items()}


def _packed(table: Pairs) -> dict[str, Any]:
    left, right = (b64encode(x.astype("<i2").tobytes()).decode() for x in table[:2])
    return {"players": table.left.shape[1], "scale": table.scale.tolist(), "left": left, "right": right}
