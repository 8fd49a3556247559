"""The sides of contests, as tables of predictions have them: how many there are, and who of two won."""

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.history.event_columns import EventColumns
from jaxrate.history.history import History


def count_sides(table: EventColumns) -> HostArray:
    """[n] how many sides the contest of each participant has; who plays alone is one."""
    return np.asarray(table.get("teams", table["participants"]))


def has_two_sides(rated: History) -> bool:
    """Whether all events are between two: matches, or contests of two sides each, of which the members are known."""
    table = rated.events
    if rated.contests is None:
        return True
    is_known = "team" not in table or bool((table["team"] > 0).all())
    return len(table["row"]) > 0 and is_known and bool((count_sides(table) == 2).all())


def has_teammates(rated: History) -> bool:
    """Whether some play in teams, as the contests of the history have them."""
    table = rated.events
    if rated.contests is None or "team" not in table:
        return False
    return bool((table["teams"] < table["participants"]).any())


def side_score_by_participant(table: EventColumns) -> HostArray:
    """[n] the score of each participant's side in contests of two sides: 1, 0, or one half if they tie."""
    rank, first = table["rank"], np.flatnonzero(np.diff(table["event"], prepend=-1))
    size = np.diff(np.append(first, len(rank)))
    best, worst = (np.repeat(choose.reduceat(rank, first), size) for choose in (np.minimum, np.maximum))
    return np.where(best == worst, 0.5, np.where(rank == best, 1.0, 0.0))
