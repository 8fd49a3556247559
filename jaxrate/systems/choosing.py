"""Systems by name: made, adapted to data, and the one of those who name none."""

from collections.abc import Mapping
from typing import Any

from jaxrate.data.dataset import Dataset
from jaxrate.data.teams import alone, in_teams
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.system import Facts, RatingSystem
from jaxrate.systems import DEFAULTS, SYSTEMS
from jaxrate.text import near

NOTHING = Facts()


def default_name(data: Dataset) -> str:
    """The system of those who name none."""
    kind = "matches" if isinstance(data.events, Matches) else "teams" if in_teams(data) else "contests"
    return DEFAULTS[kind]


def make(name: str, changes: Mapping[str, Any], facts: Facts = NOTHING) -> RatingSystem:
    """The system of this name with these hyperparameters and settings, else as these facts ask for.

    A number may stand for a setting of several.

    Raises:
      ValueError: if there is no such system, or as its factory does.
    """
    if name not in SYSTEMS:
        raise ValueError(f"unknown system {name!r}{near(name, SYSTEMS)} (there are {', '.join(SYSTEMS)})")
    default = SYSTEMS[name]()
    several = {key for key, value in default.settings.items() if isinstance(value, tuple)}
    given = {key: (x,) if key in several and isinstance(x, (int, float)) else x for key, x in changes.items()}
    return SYSTEMS[name](**default.traits.adapt(facts, given))


def adapted(name: str, changes: Mapping[str, Any], period: float | None, data: Dataset) -> RatingSystem:
    """The system of this name for these data, in rating periods of this length or, if None, event by event."""
    score = data.events.score if isinstance(data.events, Matches) else None
    return make(name, changes, Facts(score, None if data.categories is None else len(data.categories), period))


def rates(system: RatingSystem, data: Dataset) -> bool:
    """Whether it rates such events, be it in rating periods."""
    kinds = (Matches, Periods) if isinstance(data.events, Matches) else (Rounds,)
    return any(kind in system.events for kind in kinds)


def those_with(trait: str) -> list[str]:
    """The names of the systems that have this one of their `Traits`."""
    return [name for name, new in SYSTEMS.items() if getattr(new().traits, trait)]


def as_known(system: RatingSystem, data: Dataset) -> Dataset:
    """The data, everyone on their own if the system knows no teams."""
    return alone(data) if in_teams(data) and not system.traits.teams else data
