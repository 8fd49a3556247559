"""Separate leagues, each rated by itself."""

from collections.abc import Hashable
from functools import partial
from typing import Any

from jaxrate.core.argument_checks import Key, enforce_argument_annotations
from jaxrate.core.array_types import Array
from jaxrate.core.parallel_map import Executor, map_items
from jaxrate.core.system import RatingSystem
from jaxrate.data.league_split import split_by_league
from jaxrate.data.table_sources import add_location_to_data_errors
from jaxrate.events.dataset import Dataset, check_dataset
from jaxrate.history.dataset_rating import rate
from jaxrate.history.history import History


@enforce_argument_annotations
def rate_leagues(
    system: RatingSystem,
    data: Dataset,
    league: Any,
    *,
    period: float | None = None,
    key: Key | None = None,
    calibrate: bool | None = None,
    executor: Executor | None = None,
) -> dict[Hashable, History]:
    """Rate each league of a table alone, as `rate` does: players of one name in two leagues are two.

        table = {"a": ["Ada", "Eve", "Ada"], "b": ["Bo", "Al", "Bo"], "score": [1, 0, 1], "league": ["N", "S", "N"]}
        for name, rated in jr.history.rate_leagues(jr.elo(), jr.read(table), table["league"]).items():
            print(name, jr.leaderboard(rated))

    Args:
      system: as from `elo()`, `glicko()`, ...
      data: events and names, as from `read`.
      league: [N] which league each row of the source is of, of any hashable type; row i is that of number i in
        `data.rows`.
      period: the length of rating periods, as in `rate`.
      key, calibrate: as in `rate`; every league gets the same.
      executor: whose workers each rate a league, see `compare`; the numbers are the same.

    Returns:
      The `History` of each league, in order of first appearance.

    Raises:
      ValueError: as `rate`; for a row without a league, or a contest in several.
    """
    check_dataset("rate_leagues", data)
    with add_location_to_data_errors("", lambda row: f"row {row} (counting from 0)"):
        leagues = split_by_league(data, league)
    rate_one = partial(_rate_league, system, period, key, calibrate)
    return dict(zip(leagues, map_items(executor, rate_one, leagues.values()), strict=True))


def _rate_league(
    system: RatingSystem, period: float | None, key: Array | None, calibrate: bool | None, data: Dataset
) -> History:
    return rate(system, data, period=period, key=key, calibrate=calibrate)
