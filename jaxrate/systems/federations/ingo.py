"""The German Ingo rating, of tournaments as rating periods; lower numbers are better (Hoesslinger 1948).

    P = (mean of the opponents) - (100 S / n - 50),   R' = (d R + n P) / (d + n),   E = .5 + (R_j - R) / 100

with S points of n games and d 10 up to the age of 20, 15 up to 25, else 20. On Elo's scale it is 2840 - 8 R, which is
what tables show; the state has R.
"""

from typing import Annotated, Any

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import ANY, POSITIVE, Parameter
from jaxrate.core.rules import Params, Rating
from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.games import AgeColumns, Game, Games
from jaxrate.systems.federations.official_rules import RatingState, official_factory, official_system
from jaxrate.systems.federations.score_curves import expected_by_line


def expected(_params: Any, player: RatingState, opponent: RatingState, _game: Game) -> Array:
    return expected_by_line(opponent.rating - player.rating, width=100.0)


def rate(params: Any, rows: RatingState, games: Games) -> RatingState:
    results = games.results(rows, rows)
    inertia = params.inertia * jnp.where(results.age > 25.5, 1.0, jnp.where(results.age > 20.5, 0.75, 0.5))
    performances = results.opponents - 100.0 * results.score + 50.0 * results.games
    return RatingState((inertia * rows.rating + performances) / (inertia + results.games))


def summary(_params: Params, rows: RatingState) -> Rating:
    return Rating(2840.0 - 8.0 * rows.rating, None)


@official_factory
def ingo(
    ages: AgeColumns = (),
    *,
    inertia: Annotated[float, Parameter(POSITIVE, "games", "games that the old rating counts as, of adults")] = 20.0,
    initial_rating: Annotated[float, Parameter(ANY, "Ingo", "rating of a newcomer", fitted=False)] = 180.0,
) -> RatingSystem:
    """The Ingo rating, of matches and of rating periods.

        jr.rate(jr.federations.ingo(), data, period=30)

    Args:
      ages: the names of the two columns of the ages of a and b. Without them all are adults.
    """
    return official_system(RatingState, expected, rate, {"ages": ages})._replace(summary=summary)
