"""The sides of contests, as tables of predictions have them: how many there are, and who of two won."""

from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.history.rated_history import Rated


def count_sides(table: Any) -> HostArray:
    """[n] how many sides the contest of each participant has; who plays alone is one."""
    return np.asarray(table["teams" if "teams" in table.column_names else "participants"].to_numpy())


def has_two_sides(rated: Rated) -> bool:
    """Whether all events are between two: matches, or contests of two sides each, of which the members are known."""
    table = rated.predictions
    if rated.contests is None:
        return True
    is_known = "team" not in table.column_names or bool((table["team"].to_numpy() > 0).all())
    return len(table) > 0 and is_known and bool((count_sides(table) == 2).all())


def has_teammates(rated: Rated) -> bool:
    """Whether some play in teams, as the contests of the history have them."""
    table = rated.predictions
    if rated.contests is None or "team" not in table.column_names:
        return False
    return bool((table["teams"].to_numpy() < table["participants"].to_numpy()).any())


def side_score_by_participant(table: Any, contest: HostArray) -> HostArray:
    """[n] the score of each participant's side in contests [n] of two sides: 1, 0, or one half if they tie."""
    rank, first = table["rank"].to_numpy(), np.flatnonzero(np.diff(contest, prepend=-1))
    size = np.diff(np.append(first, len(rank)))
    best, worst = (np.repeat(choose.reduceat(rank, first), size) for choose in (np.minimum, np.maximum))
    return np.where(best == worst, 0.5, np.where(rank == best, 1.0, 0.0))
