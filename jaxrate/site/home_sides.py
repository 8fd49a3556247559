"""Who was at home, or had the side in another game, in each match."""

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.league.all_careers import Careers
from jaxrate.league.rated_history import Rated

GROUNDS = "neutral", "home", "away"  # of a player, by their side 0, 1 and -1


def home_sides(rated: Rated) -> HostArray | None:
    """[n] 1 where the first player of a match was at home, -1 where the second was, 0 on neutral ground.

    None if the predictions do not say it, or if nobody ever was at home.
    """
    if rated.contests is not None or "side" not in rated.predictions.column_names:
        return None
    side = np.sign(np.nan_to_num(rated.predictions["side"].to_numpy())).astype(int)
    return side if side.any() else None


def grounds_of_careers(rated: Rated, careers: Careers) -> HostArray | None:
    """[M] of each event of a career the ground for that player, as an index of `GROUNDS`; None if it is not known."""
    side = home_sides(rated)
    return None if side is None else careers.select_own_side(side, -side) % len(GROUNDS)
