"""What run.json tells of a rated history."""

from importlib.metadata import version
from typing import Any

import numpy as np

from jaxrate.records.contents import COUNTS
from jaxrate.records.folder import FORMAT
from jaxrate.records.rated import Rated, count_predictions
from jaxrate.system import RatingSystem
from jaxrate.systems import SYSTEMS
from jaxrate.systems.choosing import remade_by
from jaxrate.systems.rounds.densities import Density


def described(rated: Rated) -> dict[str, Any]:
    """What run.json tells of a rated history; ValueError if that cannot be kept."""
    system = rated.system
    settings = {name: x.name if isinstance(x, Density) else x for name, x in system.settings.items()}
    for name, value in settings.items():
        if not _plain(value):
            raise ValueError(f"{system.name} was made with {name} of its own, which a saved run cannot hold")
    params = {name: None if x is None else float(x) for name, x in system.params._asdict().items()}
    if system.name in SYSTEMS and not _comes_with_package(system, params):
        raise ValueError(f"this {system.name} is not the one of jaxrate; give a system of your own a name of its own")
    return {
        "format": FORMAT,
        "jaxrate": version("jaxrate"),
        "system": system.name,
        "settings": settings,
        "params": params,
        "period": None if rated.period is None else float(rated.period),
        COUNTS[rated.contests is not None]: count_predictions(rated),
        "players": len(rated.players),
        "last": rated.last,
        "clock": rated.clock,
        "options": rated.options,
        "categories": None if rated.categories is None else np.asarray(rated.categories).tolist(),
        "seasons": rated.seasons,
    } | dict.fromkeys(system.traits.remade, True)


def _comes_with_package(system: RatingSystem, params: dict[str, float | None]) -> bool:
    """Whether the system of that name has these rules, remade as they are."""
    try:
        return remade_by(system.traits.remade, SYSTEMS[system.name], system.settings | params).rules == system.rules
    except (TypeError, ValueError):
        return False


def _plain(value: Any) -> bool:
    """Whether JSON can hold it."""
    if isinstance(value, tuple):
        return all(map(_plain, value))
    return value is None or isinstance(value, (str, int, float))
