"""Systems by name: made, adapted to data, and the one of those who name none."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrate.data.dataset import Dataset
from jaxrate.data.teams import alone, in_teams
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.system import RatingSystem
from jaxrate.systems import SYSTEMS
from jaxrate.text import near

TEAMS = ("trueskill", "weng_lin")  # systems to which a team is one


def default_name(data: Dataset) -> str:
    """The system of those who name none."""
    if isinstance(data.events, Matches):
        return "glicko"
    return "trueskill" if in_teams(data) else "elo_mmr"


def make(name: str, changes: Mapping[str, Any], period: float | None = None) -> RatingSystem:
    """The system of this name. If it ages by periods, their length is that of the rating periods, unless given.

    Raises:
      ValueError: if there is no such system, or as its factory does.
    """
    if name not in SYSTEMS:
        raise ValueError(f"unknown system {name!r}{near(name, SYSTEMS)} (there are {', '.join(SYSTEMS)})")
    default = SYSTEMS[name]()
    several = {key for key, value in default.settings.items() if isinstance(value, tuple)}
    given = {key: (x,) if key in several and isinstance(x, (int, float)) else x for key, x in changes.items()}
    aged = {"period": period} if period is not None and "period" in default.params._fields else {}
    return SYSTEMS[name](**aged | given)


def adapted(name: str, changes: Mapping[str, Any], period: float | None, data: Dataset) -> RatingSystem:
    """The system of this name for these data: as many categories or outcomes as they have, unless it was told."""
    default, found = make(name, {}), dict(changes)
    if "categories" in default.settings and data.categories is not None:
        found = {"categories": len(data.categories)} | found
    if isinstance(data.events, Matches) and "weights" not in found:
        found = outcomes_of(default, data.events) | found
    return make(name, found, period)


def outcomes_of(system: RatingSystem, matches: Matches) -> dict[str, Any]:
    """How many scores at equal distances there are in these matches, if the system asks."""
    if "outcomes" not in system.settings:
        return {}
    score = np.asarray(matches.score)
    fits = (m for m in range(1, 11) if np.allclose(score * m, np.rint(score * m), rtol=0.0, atol=1e-4))
    return {"outcomes": next(fits, 1) + 1}


def rates(system: RatingSystem, data: Dataset) -> bool:
    """Whether it rates such events, be it in rating periods."""
    kinds = (Matches, Periods) if isinstance(data.events, Matches) else (Rounds,)
    return any(kind in system.events for kind in kinds)


def knows_teams(system: RatingSystem) -> bool:
    """Whether a team is one to it."""
    return system.name in TEAMS


def known_by(what: str) -> str:
    """The names of the systems that take notice of teams or categories, for people to read."""
    return " and ".join({"teams": TEAMS, "categories": ("category_glicko",)}[what])


def as_known(system: RatingSystem, data: Dataset) -> Dataset:
    """The data, everyone on their own if the system knows no teams."""
    return alone(data) if in_teams(data) and not knows_teams(system) else data
